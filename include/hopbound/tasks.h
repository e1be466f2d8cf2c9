/* hopbound/tasks.h - the tasks: what an input looks like, what its right answer is. Knows no network.
 *
 *     hop_funccomp task;
 *     hop_funccomp_init(&task, 2, 2, (int64_t[]){2}, &err);     // the worked example of docs/THEORY.md
 *     hop_rng rng; hop_rng_init(&rng, seed, instance_number);
 *     hop_funccomp_sample(&task, &rng, tokens);                 // task.length tokens
 *     answer = hop_funccomp_solve(&task, tokens, NULL);
 */
#ifndef HOPBOUND_TASKS_H
#define HOPBOUND_TASKS_H

#include <hopbound/base.h>
#include <hopbound/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* L-sequential function composition, docs/THEORY.md section 2. Prompt: z_L, z_{L-1}, .., z_1, z_0, w. */
typedef struct hop_funccomp {
    int hops;                        /* L >= 1 */
    int64_t m;                       /* N_0 >= 2 */
    int64_t fan[HOP_MAX_HOPS];       /* fan[l] = n_l for l = 1..L-1, each >= 2; fan[0] = 1 */
    int64_t size[HOP_MAX_HOPS];      /* size[l] = N_l = m n_1 .. n_l, l = 0..L-1 */
    int64_t start[HOP_MAX_HOPS + 2]; /* start[l] = position of z_l's first token, l = 0..L */
    int64_t length;                  /* n: the last token, w, stands at length - 1 */
    int64_t queries;                 /* n_1 .. n_{L-1}: the values of w */
    int64_t vocab;                   /* N_{L-1}: tokens are 0 .. vocab-1, answers too */
} hop_funccomp;

/* `fan` holds n_1 .. n_{L-1}. HOP_EDOMAIN when a size is below 2, hops outside 1..HOP_MAX_HOPS, or the
 * length would exceed 2^31. */
hop_status hop_funccomp_init(hop_funccomp *t, int hops, int64_t m, const int64_t *fan, hop_error *err);

/* Values that the token at `position` may take: 0 .. result-1. */
int64_t hop_funccomp_values(const hop_funccomp *t, int64_t position);
/* Players are numbered by their tables: L, .., 0 hold z_L, .., z_0. */
enum {
    HOP_PLAYER_QUERY = -1, /* holds w */
    HOP_PLAYER_NONE = -2   /* nobody */
};
/* Player of a position: L .. 1 for z_L .. z_1, 0 for z_0, -1 for w. `index` (may be NULL): place in its
 * function. */
int hop_funccomp_player(const hop_funccomp *t, int64_t position, int64_t *index);
/* w's digit w_l (l = 1..L-1) of the number that its token is: w = w_1 + n_1 (w_2 + n_2 (..)). */
int64_t hop_funccomp_digit(const hop_funccomp *t, int64_t w, int l);

void hop_funccomp_sample(const hop_funccomp *t, hop_rng *rng, int32_t *tokens);
/* The answer i_L; chain (NULL, or L+1 long) receives i_0 .. i_L. Tokens must be in range. */
int64_t hop_funccomp_solve(const hop_funccomp *t, const int32_t *tokens, int64_t *chain);
/* HOP_ERANGE naming the first token that is out of range, or a wrong count. */
hop_status hop_funccomp_check(const hop_funccomp *t, const int32_t *tokens, int64_t count, hop_error *err);
/* log10 of the number of inputs; and the number itself when it is at most 2^62, else -1. */
double hop_funccomp_log10_inputs(const hop_funccomp *t);
int64_t hop_funccomp_inputs(const hop_funccomp *t);

/* {"name": "funccomp", "hops": .., "m": .., "fan": [..]} */
hop_status hop_funccomp_read(hop_funccomp *t, const hop_json *v, hop_error *err);
void hop_funccomp_write(const hop_funccomp *t, hop_json_writer *w);

/* ---- the other tasks ------------------------------------------------------------------------ */

/* 2-Sum (Match2): tokens x_1 .. x_n in [mod]; at every position i: is there j <= i with x_i + x_j = 0 (mod
 * mod)? The answer is the token 1 or 0. */
typedef struct hop_twosum {
    int64_t n, mod; /* n >= 1, mod >= 2 */
} hop_twosum;

/* Multi-query associative recall: `pairs` pairs (key, value) with different keys, then `queries` keys out of
 * them; at each of these the answer is the key's value. Keys are tokens 0 .. keys-1, values keys ..
 * keys+values-1. */
typedef struct hop_recall {
    int64_t pairs, queries, keys, values; /* keys >= pairs >= 1 */
} hop_recall;

/* k-hop induction: n tokens over an alphabet. hop(i) = the last j <= i with j >= 1 whose left neighbour
 * x_{j-1} equals x_i; the answer, at the last position, is the token where `hops` such steps lead, or the
 * token `alphabet` when a step leads nowhere. */
typedef struct hop_khop {
    int64_t n, alphabet, hops;
} hop_khop;

/* ---- any task -------------------------------------------------------------------------------- */

#define HOP_TASK_LIST(X) X(FUNCCOMP, "funccomp") X(TWOSUM, "two-sum") X(RECALL, "recall") X(KHOP, "khop")

typedef enum hop_task_kind {
#define HOP_TASK_ENUM(id, name) HOP_TASK_##id,
    HOP_TASK_LIST(HOP_TASK_ENUM)
#undef HOP_TASK_ENUM
} hop_task_kind;

typedef struct hop_task {
    hop_task_kind kind;
    int64_t length, vocab; /* of an input; answers are tokens too */
    union {
        hop_funccomp funccomp;
        hop_twosum twosum;
        hop_recall recall;
        hop_khop khop;
    };
} hop_task;

const char *hop_task_name(hop_task_kind kind);
bool hop_task_from_name(const char *name, hop_task_kind *out);

/* A size of a task, under the name that it has in JSON and as an option. */
typedef struct hop_task_size {
    const char *name; /* NULL ends a list */
    size_t at;        /* in hop_task, an int64_t */
    int64_t min, max;
    int64_t initial; /* when nobody says */
} hop_task_size;

/* NULL for funccomp, whose sizes are a list and what follows from it. */
const hop_task_size *hop_task_sizes(hop_task_kind kind);
int64_t hop_task_size_get(const hop_task *t, const hop_task_size *z);
void hop_task_size_set(hop_task *t, const hop_task_size *z, int64_t value);

/* Fills length and vocab from the sizes of its kind, which must be set. HOP_EDOMAIN when they make no task.
 * For funccomp call hop_funccomp_init on the member first. */
hop_status hop_task_ready(hop_task *t, hop_error *err);
int64_t hop_task_values(const hop_task *t, int64_t position); /* tokens that may stand there: 0 .. result-1 */
void hop_task_sample(const hop_task *t, hop_rng *rng, int32_t *tokens);
/* targets[length]: the answer wanted at each position, -1 where none is. Returns how many are. */
int64_t hop_task_solve(const hop_task *t, const int32_t *tokens, int32_t *targets);
bool hop_task_asks_everywhere(const hop_task *t); /* at many tokens; else at the last only */
hop_status hop_task_check(const hop_task *t, const int32_t *tokens, int64_t count, hop_error *err);
double hop_task_log10_inputs(const hop_task *t);
int64_t hop_task_inputs(const hop_task *t); /* -1: more than 2^62 */
/* {"name": "two-sum", "n": .., "mod": ..}, {"name": "recall", "pairs": ..}, {"name": "khop", "n": ..,
 * "alphabet": .., ..} */
hop_status hop_task_read(hop_task *t, const hop_json *v, hop_error *err);
void hop_task_write(const hop_task *t, hop_json_writer *w);
void hop_task_write_members(const hop_task *t, hop_json_writer *w); /* into an object that is open */

/* Function composition: an input that makes the last token ask for (w, i) of `player` is worth trying; w -1:
 * any. */
typedef struct hop_hint {
    int player;
    int64_t w, i;
} hop_hint;

#ifdef __cplusplus
}
#endif
#endif
