/* The game as a formula: one variable label for every message that any input makes somebody send.
 *
 * Satisfied = a protocol. The ways to write it:
 *
 * DIRECT: exactly the game.
 *
 * RELAXED: the game made easier, so only its impossibility counts. Whoever stands between z_L and w tells w
 * all it knew before the epoch, and the last state that reaches w may be any function of z_L, .., z_0.
 *
 * AFFINE: without messages, every table an affine function over GF(2) of the states for each input of its
 * player. Then all that is sent is affine in the bits of z_L's table, and it is enough that things agree
 * where at most one of these bits is set. A restriction, so only its protocols count; it finds them where
 * DIRECT is lost.
 *
 * PICKED: each bit of a message is a bit of z_L's table or fixed, the other inputs given; where there are
 * messages, z_L sends no state before the epoch, and players between it and w reply only if they are open. A
 * restriction too.
 *
 * Labels' names do not matter, so the k-th input (from 0) in a fixed order may be asked to use a label <= k:
 * rename the labels of a message in the order in which they first appear; whoever receives it undoes the
 * renaming. The renamings of different messages do not disturb each other when they are made in the order:
 * states before the epoch player by player, then replies, then states after it. (Not in AFFINE
 * and PICKED, which a renaming may leave.)
 *
 * A player i whose whole knowledge before the epoch fits into the message bits loses nothing by replying with
 * it to everybody: a reply is a function of that knowledge and of the question, and who hears it knows the
 * question. Such players are called open. When player 1 can hear, in all its tokens together, as many bits as
 * its state has, that state may be any function of z_L and its own input: z_L knows what player 1 asks with,
 * hence its input, computes the state and sends it. */
#ifndef HOPBOUND_EXACT_ENCODE_H
#define HOPBOUND_EXACT_ENCODE_H

#include <hopbound/exact.h>
#include "cnf.h"

typedef enum hop__mode { HOP__DIRECT, HOP__RELAXED, HOP__AFFINE, HOP__PICKED } hop__mode;

typedef struct hop__encoding {
    const hop_exact_game *game;
    hop_bits bits;
    hop__mode mode;
    int open; /* players open .. players - 2 are */
    hop__cnf *f;
    hop__label *start;                                       /* [x_0]: state that leaves player 0 */
    hop__label *before[HOP_EXACT_PLAYERS];                   /* p >= 1: [state in][x_p] */
    hop__label *state[HOP_EXACT_PLAYERS];                    /* p >= 2: state in, see hop__state_label */
    hop__label *reply[HOP_EXACT_PLAYERS][HOP_EXACT_PLAYERS]; /* see hop__reply_at */
    hop__label *chain[HOP_EXACT_PLAYERS]; /* state that leaves p after the epoch, [prefix] */
    hop__label *after[HOP_EXACT_PLAYERS]; /* tables, see hop__after_at */
} hop__encoding;

/* What a player goes by when it applies its table after the epoch. */
typedef struct hop__view {
    const int64_t *x;                 /* inputs; it looks at its own and at those of open players before it */
    int64_t state[HOP_EXACT_PLAYERS]; /* states in, before the epoch */
    int64_t heard[HOP_EXACT_PLAYERS]; /* replies of those who are not open */
    int64_t chain;                    /* state in, after it */
} hop__view;

hop_status hop__encoding_new(hop__encoding **out, const hop_exact_game *g, hop_bits bits, hop__mode mode,
                             hop_error *err);
void hop__encoding_free(hop__encoding *e);
/* Clauses it will take, counted without making them. */
double hop__encoding_clauses(const hop_exact_game *g, hop_bits bits, hop__mode mode);
/* The protocol in a model of a DIRECT or AFFINE formula. */
hop_status hop__encoding_protocol(const hop__encoding *e, const signed char *model, hop_protocol **out,
                                  hop_error *err);

/* ---- shared by its files --------------------------------------------------------------------- */

int hop__first_open(const hop_exact_game *g, hop_bits bits, hop__mode mode);
bool hop__restricted(const hop__encoding *e); /* AFFINE or PICKED */
/* Values of the state that leaves player 0 before the epoch. */
int hop__start_bits(const hop__encoding *e);
/* The label of p's state in, p >= 1. It depends on z_L through the state that left it, `start`. */
const hop__label *hop__state_label(const hop__encoding *e, const int64_t *x, int p, int64_t start);
int64_t hop__states(const hop__encoding *e, int player); /* values of its state in before the epoch */
/* Whether the formula speaks of this z_L. */
bool hop__in_formula(const hop__encoding *e, int64_t x0);
int hop__reply_bits(const hop__encoding *e, int to);
bool hop__has_reply(const hop__encoding *e, int from, int to); /* one that is a label */
/* The state that leaves p after the epoch has no table: it may be anything. */
bool hop__chain_is_free(const hop__encoding *e, int p);
int64_t hop__inputs_before(const hop_exact_game *g, int from, int to); /* product of count[from .. to - 1] */
int64_t hop__index(const hop_exact_game *g, const int64_t *x, int from,
                   int to); /* of x[from .. to-1]; x[from] fastest */
int64_t hop__reply_at(const hop__encoding *e, const hop__view *v, int from, int to);
int64_t hop__after_at(const hop__encoding *e, const hop__view *v, int p);
int64_t hop__after_size(const hop__encoding *e, int p);
/* The clauses that say: player p's table gives the state that leaves it, or for the last player the answer.
 */
void hop__encode_player(hop__encoding *e, int p);

/* ---- pigeonholes (pigeonhole.c) ---------------------------------------------------------------- */

/* Without messages all that is ever known of z_L is the `states` bits that leave it, so no two tables may
 * leave the same; the first 2^states + 1 of them are asked to. */
double hop__cut_clauses(const hop_exact_game *g, int states);
void hop__cut_encode(hop__cnf *f, const hop_exact_game *g, int states);

/* Two hops, m = 2: the part of RELAXED in which w does not know i_1 when it asks (core.c). Infinity
 * where there need be no such part. */
double hop__core_clauses(const hop_exact_game *g, hop_bits bits);
void hop__core_encode(hop__cnf *f, const hop_exact_game *g, hop_bits bits);

#endif
