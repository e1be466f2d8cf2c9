/* What the theorems share: the question digested, and how a verdict is written down. One file a theorem; each
 * fills one hop_bound. */
#ifndef HOP_BOUNDS_ROOM_H
#define HOP_BOUNDS_ROOM_H

#include <hopbound/bounds.h>

#include "numbers.h"

#define HOP__GAPS (HOP_MAX_HOPS + 1)

/* ---- the architecture as the theorems see it (hybrid.c) ------------------------------------- */

/* A hybrid (F; K_0, .., K_F). Gaps are kept for as many full layers as a question can be about; with more, no
 * theorem here speaks of impossibility, and F is what matters. */
typedef struct hop__hybrid {
    int64_t full, linear, other; /* layers of each kind; one that is both counts twice, and a linear one
                                    without a state is none */
    int64_t layers[HOP__GAPS];   /* K_e: linear layers of gap e, for e <= min(full, HOP_MAX_HOPS) */
    fmpz state[HOP__GAPS];       /* A_e: their state bits together */
    fmpz total;                  /* Q: over all gaps */
    fmpz largest;                /* of the linear layers' S */
    fmpz reply;                  /* M = H(d+2)p, the largest of the full layers */
    fmpz width;                  /* Hdp, the largest */
    int64_t heads, dim, bits;    /* the largest of each, at least 1; dim of full layers */
} hop__hybrid;

void hop__hybrid_init(hop__hybrid *s, const hop_arch *a);
void hop__hybrid_clear(hop__hybrid *s);
hop_status hop__arch_check(const hop_arch *a, hop_error *err); /* HOP_EDOMAIN: layers that cannot be */

/* ---- one question --------------------------------------------------------------------------- */

typedef struct hop__strings hop__strings; /* every text of the answer, freed together */

typedef struct hop__case {
    const hop_question *q;
    int hops;
    hop__hybrid hybrid;
    bool asked;               /* a length or sizes were given */
    bool by_sizes;            /* sizes */
    fmpz n;                   /* the length asked for, or of the sizes */
    fmpz sizes[HOP_MAX_HOPS]; /* by_sizes: m, n_1, .. */
    hop__strings *strings;
    bool stopped; /* the progress said so */
} hop__case;

/* A text that lives as long as the answer; "" when memory is short, which is reported at the end. */
const char *hop__say(hop__case *c, const char *fmt, ...) HOP_PRINTF(2, 3);
const char *hop__say_integer(hop__case *c, const fmpz_t x); /* short: hop__print_integer */
const char *hop__say_digits(hop__case *c, const fmpz_t x);  /* all of them */
const char *hop__keep_text(hop__case *c, hop_text *t);      /* takes the text */
void *hop__keep_block(hop__case *c,
                      void *block); /* of malloc, freed with the answer; NULL when memory is short */
/* NULL-able lists of decimal numbers, `total` places, those from `count` on NULL. */
const char *const *hop__say_list(hop__case *c, const fmpz *list, int count, int total);

/* Two lists of texts as one. */
const char *const *hop__say_texts(hop__case *c, const char *const *first, int count,
                                  const char *const *second, int more);

/* "1 full layer", "2 full layers"; "here is 1", "here are 2". */
const char *hop__say_layers(hop__case *c, int64_t count, const char *kind);
const char *hop__say_here(hop__case *c, int64_t count);

/* "2 ", how many times H(d+2)p a reply is; "" for once. */
const char *hop__say_accumulators(hop__case *c);

/* "M = 160, A_0 = 0, A_1 = 1152 bits": a reply, and the states of every gap, up to three of them. */
const char *hop__say_bits(hop__case *c);

/* One hypothesis more; returns `met`. When it is not met and none was before, `why` says so. */
bool hop__suppose(hop__case *c, hop_bound *b, bool met, const char *text);
/* The same for a condition on widths, which leaves `applies` and `why` alone. */
void hop__note(hop__case *c, hop_bound *b, bool met, const char *text);
/* "every mixer is known": no layer of a kind that the theorem does not cover. */
bool hop__suppose_known_mixers(hop__case *c, hop_bound *b);
/* "no linear layer before the first full one": K_0 = 0. */
bool hop__suppose_nothing_first(hop__case *c, hop_bound *b);

/* The theorem says impossible at these sizes, so from their length on: sets speaks_from, sizes, and the
 * verdict for the length asked, with `why`. `count` sizes are given; more hops are fans of 2. */
void hop__speak_at(hop__case *c, hop_bound *b, const fmpz *sizes, int count);
/* The theorem says impossible from base^exponent on, at sizes of its own choice. base >= 2. */
void hop__speak_from_power(hop__case *c, hop_bound *b, const fmpz_t base, const fmpz_t exponent);
/* T1 and T2 as numbers: Hdp, and n^(2^-k) at the length asked for. */
void hop__weigh_power(const hop__case *c, hop_bound *b, const fmpz_t width, int k);
/* At the sizes asked for. */
void hop__speak_here(hop__case *c, hop_bound *b, bool impossible);

/* ---- the theorems ---------------------------------------------------------------------------- */

#define HOP__THEOREM_LIST(X)                                                                                 \
    X(t1, "T1", true, "L full layers fail at L hops when Hdp <= n^(2^(-4L)) and L <= O~(log log n)")         \
    X(t2, "T2", true, "L-1 full layers and up to 2^(3L^2) linear ones a gap fail when Hdp <= n^(2^(-4L-2))") \
    X(t5, "T5", true, "one (B,k)-sparse layer needs Hdp of order B log n for 2-Sum")                         \
    X(t6, "T6", true, "one full layer cannot compose two functions on D values when D log2 D > H(d+2)p")     \
    X(p1, "P1", false, "L+1 full layers, or L and a linear one before the first or second, do L hops")       \
    X(p2, "P2", false, "linear layers alone need N log2 N state bits in total, N = N_{L-1}")                 \
    X(p3, "P3", false, "linear layers alone: accuracy at most 1 - D, R(D) = Q/N")                            \
    X(p4, "P4", false, "one full layer fails at two hops: n_1 V log2 N_1 > n_1 M + V A_1 + A_0")             \
    X(p4_parts, "P4'", false, "one full layer fails at two hops, by draws of z_1")                           \
    X(p5, "P5", false, "one full layer alone fails at one hop when m log2 m > H(d+2)p")                      \
    X(p6, "P6", false, "L-1 full layers with linear ones in the gaps fail at L hops, at finite sizes")       \
    X(p7, "P7", false, "two full layers, none linear before the first, fail at two hops, at finite sizes")   \
    X(p7g, "P7G", false, "L full layers, none linear before the first, fail at L hops, at finite sizes")     \
    X(p8, "P8", false, "two full layers, linear ones anywhere, fail at three hops, at finite sizes")         \
    X(p9, "P9", false, "two full layers, none linear before the first, fail at three hops, at finite sizes") \
    X(p10, "P10", false,                                                                                     \
      "full layers, and linear ones whose states hold the tables, do L hops: one for z_0, then hop by hop")

typedef void hop__theorem_fn(hop__case *c, hop_bound *b);
#define HOP__DECLARE(name, id, published, statement) void hop__##name(hop__case *c, hop_bound *b);
HOP__THEOREM_LIST(HOP__DECLARE)
#undef HOP__DECLARE

/* One theorem alone, by its place in the list, 0 .. HOP__THEOREMS - 1; as hop_bounds_new otherwise. */
#define HOP__ONE(name, id, published, statement) +1
enum { HOP__THEOREMS = 0 HOP__THEOREM_LIST(HOP__ONE) };
#undef HOP__ONE
typedef struct hop__opinion {
    const char *id;
    hop_answer answer;
    double log10_n; /* from which it says impossible; infinity: from no length */
} hop__opinion;

hop_status hop__ask_one(hop__opinion *out, const hop_question *q, int which, hop_error *err);
bool hop__speaks_of(int which, hop_answer given); /* can this theorem give this answer? */

/* P4's inequality in doubles: a guess, which the theorem itself decides. A_0, A_1, M. */
bool hop__p4_seems(double before, double after, double reply, double m, double fan);

/* ---- sizes of the task (sizes.c) -------------------------------------------------------------- */

/* Prompt's length of these sizes: N_0 + .. + N_{L-1} + 2. */
void hop__length(fmpz_t out, const fmpz *sizes, int hops);
/* The shortest sizes whose largest table has at least `table` entries. */
void hop__sizes_for_table(fmpz *sizes, int hops, const fmpz_t table);
/* The largest table that fits n tokens; false when not even the smallest sizes fit. */
bool hop__largest_table(fmpz_t table, fmpz *sizes, int hops, const fmpz_t n);
/* What sizes take: B, the bits of the mixed-radix code, the sum of ceil(log2) of the sizes; and 3B and the
 * bits of w's digits, which the residual stream holds beside the players' L+2. */
typedef struct hop__bits {
    int64_t code, stream;
    int64_t first;     /* of m alone: what z_0 takes */
    int64_t registers; /* of i_0, i_0, i_1, .., i_{L-2}: where every look-up has a register of its own */
    double log2_n;     /* of the length, at the most */
} hop__bits;

hop__bits hop__bits_of(const fmpz *sizes, int hops);
/* The most of each that any sizes of at most n tokens have, `registers` no less; 0 when none fit. */
hop__bits hop__most_bits(int hops, const fmpz_t n);
/* The shortest length at which some sizes have at least so many of them. */
void hop__length_for_code_bits(fmpz_t n, int hops, int64_t bits);
void hop__length_for_stream_bits(fmpz_t n, int hops, int64_t bits);

/* ---- stacks without full layers (p2.c, p3.c) ----------------------------------------------------- */

bool hop__linear_only(hop__case *c, hop_bound *b); /* supposes it */
/* The largest table at the sizes or the length asked for; false without, and when nothing fits. */
bool hop__asked_table(hop__case *c, fmpz_t table);
/* P3's bound on the accuracy, rounded up. */
double hop__accuracy_ceiling(const fmpz_t table, const fmpz_t bits);

/* ---- rounding (rounding.c): the lemma of docs/BOUNDS.md section 16 --------------------------------- */

/* What brings the bits of an address: full layers; and states behind a SiLU, or behind a product of maps. */
typedef enum hop__registers_of { HOP__BY_LOOK_UPS, HOP__BY_STATES, HOP__BY_MAPS } hop__registers_of;

/* Is the network with one register, whose clip makes every bit ±1 again, right with all codes of so many bits
 * or fewer, where what crosses between players has p bits? */
bool hop__codes_are_clipped(int64_t bits, int64_t p);
/* .. and those with a register for each look-up, in float32? */
bool hop__codes_are_kept(hop__registers_of by, hop__bits bits);
/* .. and does any linear mixer hand z_0 or i_1 on beside so many tokens? */
bool hop__is_carried(hop__bits bits);
#define HOP__NOT_KEPT                                                                                      \
    "wide enough, but rounding is not known to keep codes of %lld bits at such a length (docs/BOUNDS.md, " \
    "section 16)"
/* By how much a bit is off behind a full layer's look-up at an address whose bits are off by `off`; behind any
 * of a network's, with codes of so many bits; infinity: not known. */
double hop__look_up_error(int64_t bits, double off);
double hop__register_error(hop__registers_of by, int64_t bits);

/* ---- P1's counting (p1.c) ---------------------------------------------------------------------- */

/* What the constructions ask; 0: nothing. */
typedef struct hop__need {
    int64_t key, value; /* full layers: dimensions of a head */
    int64_t bits;       /* full layers: p */
    int64_t state;      /* a linear layer: numbers that its state keeps, and that a token hands on */
    int64_t head;       /* .. and bits that one of its heads hands on, where that is known */
    int64_t state_p;    /* .. and its p */
    int64_t width;      /* of the residual stream */
} hop__need;

bool hop__full_serves(const hop_arch_layer *l, const hop__need *need);
hop__need hop__need_of(int hops, hop__bits bits);
hop__need hop__need_of_registers(int hops, hop__bits bits); /* of the networks in a given architecture */
/* P1 at these bits, by either of its two networks: *need is what the one that serves asks, or the first. */
bool hop__p1_able(const hop_arch *a, int hops, hop__bits bits, hop__need *need, bool *linear);
/* Most hops that the layers which meet `need` are good for; `linear` tells whether a linear layer serves. */
int64_t hop__able_hops(const hop_arch *a, const hop__need *need, bool *linear);
/* The able half of a hop_reach. */
void hop__find_able(hop_reach *r, const hop_arch *a, int64_t n, bool widths);
/* P10 at this length (p10.c). */
bool hop__state_able(const hop_arch *a, int hops, int64_t n);
/* "head dimension >= 12 (here 8), p >= 12 (here 8)": what keeps `hops` from being met, when it is not. */
void hop__say_shortage(hop_text *out, const hop_arch *a, int hops, const hop__need *need);
/* "head dimension >= 12, p >= 12, residual width >= 31". */
void hop__say_need(hop_text *out, const hop__need *need);

#endif
