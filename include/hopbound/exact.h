/* hopbound/exact.h - tiny sizes, decided: is there ANY protocol with so many state and message bits?
 *
 * The players hold z_L, .., z_1, z_0, w in prompt order and play the game behind every network with at most
 * one full layer, the game of P2, P4 and P5: a chain of `before` bits from player to player, then one epoch
 * in which every later player hears `message` bits a token from every earlier one, which answers from what it
 * knew before the epoch to a question that may hold all the asker knew, then a chain of `after` bits. Nothing
 * else limits the players, so "impossible" holds for any weights of causal networks of those widths, in one pass.
 * Whether a protocol exists is a finite question, put to the SAT solver CaDiCaL, which runs as a child
 * process.
 *
 *     hop_exact *x;
 *     hop_exact_options o = {.hops = 1, .m = 3, .budget = 60};
 *     hop_exact_new(&x, &o, &err);
 *     hop_exact_cell cell;
 *     hop_exact_decide(x, (hop_bits){.after = 4}, true, &cell, &err);  // impossible: 27 tables, 16 states
 *     hop_exact_free(x);
 */
#ifndef HOPBOUND_EXACT_H
#define HOPBOUND_EXACT_H

#include <hopbound/base.h>
#include <hopbound/bounds.h>
#include <hopbound/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the game ------------------------------------------------------------------------------ */

#define HOP_EXACT_PLAYERS 4 /* at most: two hops */

/* How much crosses a cut. No full layer is message = 0 and before = 0. */
typedef struct hop_bits {
    int before;  /* bits of all states of the linear layers before the full one */
    int message; /* bits a token hears from each earlier player in the full layer */
    int after;   /* bits of all states of the linear layers after it */
} hop_bits;

/* Who holds what. Players are numbered in prompt order: 0 holds z_L, the last holds w. */
typedef struct hop_exact_game {
    int hops, players;
    int64_t m, fan;                    /* fan: n_1, for two hops */
    int64_t count[HOP_EXACT_PLAYERS];  /* inputs of a player */
    int64_t tokens[HOP_EXACT_PLAYERS]; /* and how many tokens write one down */
    int64_t answers;                   /* N_{L-1} */
} hop_exact_game;

/* HOP_EDOMAIN for sizes that are no task, or so large that the inputs cannot be listed (above 2^24). */
hop_status hop_exact_game_init(hop_exact_game *g, int hops, int64_t m, int64_t fan, hop_error *err);
/* The right answer to inputs x[players]. x[0] is the number of the table z_L, its entry 0 the lowest digit.
 */
int64_t hop_exact_game_answer(const hop_exact_game *g, const int64_t *x);

/* A protocol is its players' tables. Each is indexed by what that player knows then, and by nothing else:
 *   before[p]    [state in][input]                                       -> state out, < 2^before
 *   reply[i][j]  [input of i][state in of i][input of j][state in of j]  -> < 2^(message * tokens of j)
 *   after[p]     [state in][input][before's state in][replies heard]     -> state out, < 2^after
 *   after[last]  the same                                                -> the answer
 * Before's state in is 0 for player 0. The replies heard are one number, player 0's in the lowest bits.
 * Tables of players who have nobody after them are NULL. */
typedef struct hop_protocol {
    hop_exact_game game;
    hop_bits bits;
    uint32_t *before[HOP_EXACT_PLAYERS];
    uint32_t *reply[HOP_EXACT_PLAYERS][HOP_EXACT_PLAYERS];
    uint32_t *after[HOP_EXACT_PLAYERS];
} hop_protocol;

/* Whether no table would have more than 2^28 entries. */
bool hop_protocol_fits(const hop_exact_game *g, hop_bits bits);
/* All tables zero. HOP_ENOMEM; HOP_ERANGE when it does not fit. */
hop_status hop_protocol_new(hop_protocol **out, const hop_exact_game *g, hop_bits bits, hop_error *err);
void hop_protocol_free(hop_protocol *p);
/* Plays it on every input. HOP_OK: right on all. HOP_EDOMAIN, naming the input: wrong on it, or a message
 * longer than its bits. */
hop_status hop_protocol_check(const hop_protocol *p, hop_error *err);
/* One object with the sizes, the bits and every table. */
void hop_protocol_write(const hop_protocol *p, hop_json_writer *w);

/* ---- deciding ------------------------------------------------------------------------------ */

typedef enum hop_cell_verdict { HOP_CELL_UNDECIDED, HOP_CELL_IMPOSSIBLE, HOP_CELL_POSSIBLE } hop_cell_verdict;
const char *hop_cell_verdict_name(hop_cell_verdict v);

/* Texts are constants; the protocol belongs to the hop_exact. */
typedef struct hop_exact_cell {
    hop_bits bits;
    hop_cell_verdict verdict;
    double seconds;               /* spent on it, smaller cells that it rests on not counted */
    const char *by;               /* which argument decided: "cut", "direct", ..; or why none did */
    hop_bits from;                /* the cell whose protocol it is; bits itself, or fewer */
    const hop_protocol *protocol; /* possible: checked on all inputs */
    hop_answer p2, p4, p5;        /* what the theorems say: impossible, or silent */
    bool refuted_below;           /* the protocol is from a cell that a theorem calls impossible */
} hop_exact_cell;

/* A theorem says impossible, here or where the protocol is from, and there is a protocol. */
bool hop_exact_refutes(const hop_exact_cell *c);

typedef struct hop_exact_options {
    int hops; /* 1 or 2 */
    int64_t m, fan;
    bool linear_only;      /* no full layer: message and before are 0, and P5, which is about one, silent */
    double budget;         /* seconds for everything; 0: no limit */
    uint64_t seed;         /* the solver's */
    const char *proof_dir; /* NULL, or where impossible cells leave NAME.cnf and NAME.drat */
    const hop_progress *progress;
} hop_exact_options;

typedef struct hop_exact hop_exact; /* one thread at a time */
/* HOP_EDOMAIN for sizes outside what can be decided; HOP_EIO when there is no solver. */
hop_status hop_exact_new(hop_exact **out, const hop_exact_options *o, hop_error *err);
void hop_exact_free(hop_exact *x);
const char *hop_exact_solver(const hop_exact *x); /* "cadical 1.5.3" */
/* Decides one cell, and first those with fewer bits that have not been looked at: fewer bits are cheaper to
 * decide, and a protocol found there is one here. It may take half of the time that is left, and all of it
 * when it is the last that will be asked for. Otherwise undecided, by "share spent" or "budget spent"; by
 * "too big" when no formula is small enough to be tried; by "no formula decides it" when those that are have
 * all been answered. HOP_ERANGE or HOP_EDOMAIN for bits that make no sense, HOP_ESTOPPED. */
hop_status hop_exact_decide(hop_exact *x, hop_bits bits, bool last, hop_exact_cell *out, hop_error *err);
/* Whether some formula for the cell is small enough to be tried. HOP_ERANGE, saying how big they are. */
hop_status hop_exact_fits(const hop_exact *x, hop_bits bits, hop_error *err);
/* The cell as it is before anybody looked at it: undecided, with what the theorems say. */
void hop_exact_theorems(const hop_exact *x, hop_bits bits, hop_exact_cell *out);

#ifdef __cplusplus
}
#endif
#endif
