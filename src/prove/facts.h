/* What a proof knows of a task: which tokens are alike, which variables decide what they hold, and what a
 * look-up at the right place brings. All that is said here of the task is said of every network alike;
 * nothing is known of how a network was made.
 *
 * Function composition. A class is a player: the positions of z_L, .., z_1, z_0, w, and each generated token.
 * Variables of a token: POS   which of the class's positions it stands at W     the value of w R(b)  what the
 * chain of look-ups has reached at i_b if it goes on from this token: for an entry of z_a, R(a) is its own
 * value and R(b) for b > a what z_{a+1} .. z_b make of it; for z_0, w and generated tokens R(b) = i_b They
 * are taken to be independent of each other, which can only make sets larger. A token that looks at the entry
 * of z_{b+1} at the address (w_b, R(b)) sees a token whose R(c) is its own R(c), c > b, by definition of the
 * task. */
#ifndef HOP_PROVE_FACTS_H
#define HOP_PROVE_FACTS_H

#include "set.h"

#include <hopbound/tasks.h>

enum { HOP__POS, HOP__W, HOP__R0 }; /* R(b) is HOP__R0 + b */

#define HOP__MOST_CLASSES (3 * HOP_MAX_HOPS)

typedef struct hop__class {
    int64_t start, count; /* positions */
    int player;           /* L .. 0; -1: w and what is generated */
    bool chain;           /* R(b) is i_b */
    /* Its token: variable R(player) of a prompt's, W of w's; of a generated one, which of the rows of `made`
     * .. */
    const hop__term *made;
    const int64_t *tokens; /* .. and which token belongs to each */
} hop__class;

typedef struct hop__facts {
    const hop_funccomp *task;
    int classes;
    hop__class class[HOP__MOST_CLASSES];
    int64_t length;     /* positions, generated ones included */
    bool bidirectional; /* everybody sees everybody */
} hop__facts;

/* The prompt's classes, in order of position. */
void hop__facts_init(hop__facts *f, const hop_funccomp *task, bool bidirectional);
int64_t hop__facts_values(const hop__facts *f, const hop__class *c, int var); /* 0: it has no such variable */

/* Where a token of class a looks: for each row of `q` (over variables of a; NULL: one row) the position
 * target[row], or -1: nowhere, of which the rule then says nothing. */
typedef enum hop__rule { HOP__RULE_NONE, HOP__RULE_FIXED, HOP__RULE_SELF, HOP__RULE_ADDRESS } hop__rule;
typedef struct hop__look_up {
    hop__rule rule;
    int b;            /* ADDRESS: of z_{b+1} at (w_b, R(b)) */
    int64_t position; /* FIXED */
    int source;       /* class of what is seen */
} hop__look_up;
hop__look_up hop__facts_look_up(hop__memory *m, const hop__facts *f, int a, const hop__term *q,
                                const int64_t *target);
/* What class a holds of a set that the tokens seen have: variables take the names they have for a; what has
 * none goes into the box. */
hop__set *hop__facts_seen(hop__memory *m, const hop__facts *f, int a, hop__look_up s, const hop__set *x);

#endif
