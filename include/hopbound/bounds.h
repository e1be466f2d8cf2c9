/* hopbound/bounds.h - what an architecture can and cannot do: every theorem, for any layer pattern.
 *
 * The theorems see little of a network: its full-attention layers and what one of them tells a token, its
 * recurrences and how many bits they carry across a cut, and in which order they stand. That is a hop_arch.
 *
 *     hop_arch arch = {.layers = layers, .count = 3};             // L F L
 *     hop_question q = {.arch = &arch, .hops = 2, .n = 40000};
 *     hop_bounds *b;
 *     hop_bounds_new(&b, &q, &err);
 *     for (int i = 0; i < b->count; i++) puts(b->results[i].why);
 *     hop_bounds_free(b);
 *
 * Whatever is claimed (impossible, possible, an n) was decided with integers or in ball arithmetic; doubles
 * appear only in searches, whose results are verified afterwards, and in what is printed.
 */
#ifndef HOPBOUND_BOUNDS_H
#define HOPBOUND_BOUNDS_H

#include <hopbound/base.h>
#include <hopbound/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- architectures ------------------------------------------------------------------------- */

typedef enum hop_layer_kind {
    HOP_LAYER_FULL,   /* softmax attention over all earlier positions */
    HOP_LAYER_LINEAR, /* a recurrence of any kind; also a sliding window, whose cache is its state */
    HOP_LAYER_BOTH,   /* the two side by side in one layer */
    HOP_LAYER_LOCAL,  /* mixes no tokens */
    HOP_LAYER_OTHER,  /* mixes tokens in a way that no theorem here covers: top-k sparse, .. */
} hop_layer_kind;

/* `repeat` equal layers in a row. */
typedef struct hop_arch_layer {
    hop_layer_kind kind;
    int64_t repeat;
    int64_t heads, dim;  /* full: H, d (of the values); linear: a token writes H·d numbers, 0: not counted */
    int64_t number_bits; /* p: bits of one number: in the accumulator; linear: in the state */
    int64_t state_bits;  /* linear: S, all that crosses a cut; 0: mixes no tokens */
    int64_t block;       /* other: B of (B,k)-sparse attention; 0: something else */
    int64_t key_dim;     /* full: of queries and keys; 0: the same as dim */
    int64_t reply_dim;   /* full: numbers of the vector that one softmax sums up, where they are more than the
                            dim that values are known to have: M counts them; 0: dim */
    int64_t rows, row_numbers; /* linear: its state can be read as a table of so many rows, each with a code
                                  of up to so many bits; 0: not known to */
    bool spread;    /* rows: over all heads, and several layers may hold one table; else one layer holds it,
                       behind  keys that are one-hot in the stream */
    bool convolved; /* linear: values pass an activation, or it is a window: it is known that .. */
    int64_t head_bits; /* .. a head hands on so many bits of a code: two numbers each behind an activation */
    bool forgets;      /* linear: need not carry from z_0 to w, as attention in chunks; in no construction */
} hop_arch_layer;

typedef struct hop_arch {
    const hop_arch_layer *layers; /* in order; neighbours may be equal */
    int64_t count;
    int64_t width; /* of the residual stream, for what is possible; 0: not counted, and said so */
    int64_t
        accumulators; /* that a full layer keeps at a cut, each of H(d+2)p bits: 2 where a softmax is summed up in
                             parts and merged; 0: 1. What is possible does not need more than one */
} hop_arch;

typedef struct hop_arch_options {
    int64_t number_bits; /* of one number in the accumulator */
    bool declared;       /* a linear layer's state is what its mixer declares, else it has state_bits; a
                            window of W tokens keeps W-1 rows either way */
    int64_t state_bits;
    int64_t accumulators; /* as in hop_arch */
} hop_arch_options;

/* The architecture of a configuration; hop_arch_free takes it back. HOP_EDOMAIN: it looks both ways, or a
 * mixer cannot be built so; HOP_EUNKNOWN, HOP_ERANGE, HOP_ENOMEM. On failure `out` is empty. */
hop_status hop_arch_new(hop_arch *out, const hop_config *c, const hop_arch_options *o, hop_error *err);
void hop_arch_free(hop_arch *a);

/* ---- one question, all theorems ------------------------------------------------------------ */

/* Impossible at n means: some sizes whose prompt has at most n tokens cannot be solved; possible at n: all of
 * them can. With sizes, it is these sizes that are meant. With neither, "impossible" means from speaks_from
 * on and "possible" up to the length that `why` gives; both can then be true of one architecture. */
typedef struct hop_question {
    const hop_arch *arch;
    int hops;                     /* L >= 1 */
    int64_t n;                    /* tokens; 0: not asked. The best sizes for that length are searched */
    int64_t m;                    /* > 0: these sizes, instead of n */
    const int64_t *fan;           /* [hops - 1], with m */
    const hop_progress *progress; /* may be NULL */
    int searched; /* full layers up to which P6 and P7G are searched for, which takes time; 0: all they can */
} hop_question;

typedef enum hop_answer { HOP_ANSWER_IMPOSSIBLE, HOP_ANSWER_POSSIBLE, HOP_ANSWER_SILENT } hop_answer;
const char *hop_answer_name(hop_answer a); /* "impossible", "possible", "silent" */

/* A verdict never stands without what it supposes, which is said here once: impossible is said of any weights
 * of networks that are so, possible of weights that are known where this holds. */
#define HOP_BOUNDS_MODEL \
    "causal, in one pass, with partial softmaxes and states of p-bit numbers; MLPs and positions are free"
#define HOP_BOUNDS_IDEALISED                                                                           \
    "activations are float32, positions are read from tables, no rotary embedding, norm or cap on "    \
    "logits is in the way, and MLPs and the vocabulary are large enough; training need not find such " \
    "weights"

/* A condition of a theorem, and whether it holds here. */
typedef struct hop_hypothesis {
    const char *text;
    bool met;
} hop_hypothesis;

/* The integers that show that no network of these widths solves the task at these sizes: what the checker of
 * proofs/Check.v takes (proofs/CERTIFICATE.md). Decimal texts, which may be long; lists end with NULL. */
typedef struct hop_certificate {
    const char *by;                        /* "P4", "P9b": theorem and form */
    const char *m, *reply;                 /* m, M */
    const char *const *fan, *const *state; /* n_1 .. n_{L-1}; A_0 .. A_F */
    const char *const *names, *const *integers;
    /* Lines that show that draws spread, of P4', P8 and P9b: s, kap, E, D, G, then triples (a, u, w); else NULL. */
    const char *const *lines;
    const char *text; /* all of it, the line that hop_check_certificate takes */
    const char *has,
        *needs; /* the two sides of the theorem's inequality as numbers of bits, has < needs .. */
    double has_bits, needs_bits; /* .. and as doubles */
} hop_certificate;

/* How an impossibility is known: "machine-checked", or "on paper". */
const char *hop_proof_name(bool machine_checked);
/* A file for coqc with the closed theorem. */
void hop_certificate_coq(hop_text *out, const hop_certificate *c);

/* What one theorem says. Texts are owned by the hop_bounds. */
typedef struct hop_bound {
    const char *id;        /* "T1" .. "P10" */
    const char *statement; /* one line */
    bool published;        /* a published, asymptotic theorem; else one of ours, finite */
    bool applies;          /* its hypotheses about the pattern hold; `why` says which do not */
    hop_answer answer;
    /* The length from which the theorem speaks for this architecture; for "possible", up to which is in
     * `why`. speaks_from: "38215", or "10^2158.2" when that is longer than 18 digits; NULL: at no length, or
     * it does not depend on the length. log10_n belongs to it; infinity when NULL. */
    const char *speaks_from;
    double log10_n;
    const char *up_to;  /* possible, and no length asked: up to here, written as speaks_from; else NULL */
    double log10_up_to; /* NaN then */
    const char *needs, *has; /* the inequality's two sides, with numbers and units */
    /* The same as two numbers, at the certificate's sizes, or at the length asked: impossible is has < needs, for T1, T2 and
     * T5 has <= needs. NaN: they are not numbers here. */
    double has_bits, needs_bits;
    const char *why; /* one sentence, plain words */
    /* The sizes that show `speaks_from` (or the asked length), as decimal integers, which may be long:
     * m, n_1 ..; and P6's x_0 .. and s_1 ... NULL, or `hops` pointers each with NULL where there is none. */
    const char *const *sizes; /* [hops]: m, n_1, .., n_{L-1} */
    const char *const *x;     /* [hops]: x_0 .. x_{L-1} */
    const char *const *s;     /* [hops - 1]: s_1 .. s_{L-1} */
    /* Of `sizes`, accepted by the checker; NULL: the theorem is proved on paper only, or shows nothing. Its
     * integers are what the proof chooses. */
    const hop_certificate *certificate;
    const hop_hypothesis *hypotheses;
    int hypothesis_count;
} hop_bound;

typedef struct hop_bounds {
    hop_bound *results; /* one a theorem, always all of them */
    int count;
    double accuracy_ceiling; /* P3 at the length or sizes asked; NaN without, and where a full layer is */
    int64_t table;           /* N_{L-1} that the ceiling is for; 0: none */
} hop_bounds;

/* HOP_EDOMAIN for a question that makes no sense, HOP_ESTOPPED when the progress says so, HOP_ENOMEM. */
hop_status hop_bounds_new(hop_bounds **out, const hop_question *q, hop_error *err);
void hop_bounds_free(hop_bounds *b);
/* Frees what big numbers keep for the calling thread: for threads that end after they have asked. */
void hop_bounds_leave(void);

/* Which theorem speaks first. Of those that say possible it is the one that reaches farthest, of all others the one
 * whose length is the shortest. CERTIFIED: of the impossible ones with a certificate, else of all impossible ones.
 * SPEAKS: that is, or will be at a longer prompt, impossible. FINITE: the same of theorems that are not published ones,
 * whose lengths are asymptotic. NULL: none does. */
typedef enum hop_first {
    HOP_FIRST_POSSIBLE,
    HOP_FIRST_IMPOSSIBLE,
    HOP_FIRST_CERTIFIED,
    HOP_FIRST_SILENT,
    HOP_FIRST_SPEAKS,
    HOP_FIRST_FINITE
} hop_first;
const hop_bound *hop_bounds_first(const hop_bounds *b, hop_first which);

/* ---- how many hops ------------------------------------------------------------------------- */

/* At the length n: the most hops that are possible, they and all fewer, and the fewest that are impossible. Fewer
 * hops may have longer tables: so more than `able` may be possible, too. */
typedef struct hop_reach {
    int able;                      /* 0: not even one */
    int able_by_layers;            /* by counting layers alone, as if all were wide enough; at least `able` */
    int unable;                    /* 0: none proved impossible at this length */
    int fit;                       /* hops that can be posed at this length; HOP_MAX_HOPS without one */
    char able_by[8], unable_by[8]; /* ids */
    bool machine_checked;          /* unable: by a theorem with a certificate */
    /* What `able` (where that is 0, able_by_layers) asks at this length of a head's keys, of p, and of the
     * residual stream. */
    int64_t needs_dim, needs_bits, needs_width;
    char *why_able, *why_unable; /* owned; one sentence each */
} hop_reach;

/* `widths`: ask of heads, states and stream what the constructions take; else count layers only (needs_dim,
 * needs_width say what they would have to be). */
hop_status hop_reach_find(hop_reach *r, const hop_arch *a, int64_t n, bool widths,
                          const hop_progress *progress, hop_error *err);
/* The same without what is impossible, which is the long part: unable is 0, why_unable NULL. */
hop_status hop_reach_possible(hop_reach *r, const hop_arch *a, int64_t n, bool widths, hop_error *err);
void hop_reach_free(hop_reach *r);

/* The shortest prompt of which one table no longer fits all states together: N log2 N > Q, one hop. From
 * there on a hop over such a table needs a full layer, for any weights (P2). "1234", or "10^20.3"; "" where there are no
 * states, or layers that no theorem covers. HOP_EDOMAIN, HOP_ENOMEM. */
hop_status hop_tables_outgrow(const hop_arch *a, char out[32], double *log10_n, hop_error *err);

/* The longest prompt of one hop whose table the states are known to hold (P10), without any full layer; 0:
 * none. From there to hop_tables_outgrow it is open. HOP_EDOMAIN, HOP_ENOMEM. */
hop_status hop_tables_held(const hop_arch *a, int64_t *n, hop_error *err);

/* ---- plans ----------------------------------------------------------------------------------- */

#define HOP_PLAN_MAX_LAYERS 4096

/* At token n; flops of the mixers, MLPs left out: two a weight, attention's scores and values, six a number of a
 * state; infinite: not known. */
typedef struct hop_plan_cost {
    double kv_bytes, state_bytes, flops_per_token;
} hop_plan_cost;

/* Layers that are no mixers of ours: which there are, and a pattern of "full" and the question's `mixer` as an architecture
 * (hop_arch_free takes it back) with what it costs; asked by any thread. */
typedef struct hop_plan_layers {
    bool full, linear;
    bool spread; /* several linear layers may hold one table */
    hop_status (*make)(hop_arch *arch, hop_plan_cost *cost, const void *of, const hop_pattern *p, int64_t n,
                       hop_error *err);
    const void *of;
} hop_plan_layers;

typedef struct hop_plan_question {
    int hops;
    int64_t n;
    int64_t layers; /* 0: as few as it takes */
    const int64_t
        *full; /* [full_count]: these numbers of full layers only; none: those around `hops`, and 0 */
    int full_count;
    const char *mixer;             /* of the linear layers */
    const hop_config *widths;      /* of all layers; its pattern does not matter */
    const hop_plan_layers *others; /* instead of widths; NULL: none */
    int64_t number_bits,
        cache_bits;               /* of a number in the accumulator and in states; of one in the KV cache */
    const hop_progress *progress; /* may be NULL */
    hop_pool *pool;               /* of threads, which change no result; NULL: this one alone */
} hop_plan_question;

typedef struct hop_plan_at {
    int64_t n, number_bits, cache_bits; /* as in a question */
} hop_plan_at;

/* Adds what a layer costs. HOP_EUNKNOWN, HOP_EDOMAIN. */
hop_status hop_plan_cost_add(hop_plan_cost *out, const hop_config *c, int64_t layer, const hop_plan_at *at,
                             hop_error *err);

typedef struct hop_plan {
    char *pattern; /* owned */
    int64_t layers, full;
    hop_answer answer; /* silent: neither proved possible nor impossible */
    char by[8];        /* the theorem that says so; silent: that speaks first; "": none does */
    int able;          /* the most hops that are proved possible for it at this length */
    char impossible_from[32],
        impossible_by[8]; /* longer prompts are impossible from here on; "": not known */
    double impossible_log10;
    char why[240];
    hop_plan_cost cost;
} hop_plan;

/* Plans, the cheapest (bytes, then flops) first. HOP_EDOMAIN, HOP_EUNKNOWN, HOP_ESTOPPED, HOP_ENOMEM. */
hop_status hop_plans_find(hop_plan **out, int *count, const hop_plan_question *q, hop_error *err);
void hop_plans_free(hop_plan *plans, int count);

/* ---- where the verdict changes ------------------------------------------------------------------ */

/* Id, name, range, what it is. */
#define HOP_UNKNOWN_LIST(X)                                                                     \
    X(N, "n", 1, (int64_t)1 << 59, "the length")                                                \
    X(STATE, "state", 0, (int64_t)1 << 50, "state bits of each linear layer, windows excepted") \
    X(DIM, "dim", 1, 1 << 16, "numbers in a head")                                              \
    X(BITS, "bits", 1, 1024, "bits of a number")                                                \
    X(FULL, "full", 0, 0, "full layers among as many layers, spread evenly")

typedef enum hop_unknown {
#define HOP_UNKNOWN_ENUM(id, name, least, most, help) HOP_UNKNOWN_##id,
    HOP_UNKNOWN_LIST(HOP_UNKNOWN_ENUM)
#undef HOP_UNKNOWN_ENUM
} hop_unknown;
const char *hop_unknown_name(hop_unknown u);

typedef struct hop_solve_question {
    hop_unknown unknown;
    const hop_config *config; /* pattern and widths */
    hop_arch_options options;
    const char *mixer;  /* FULL: of the other layers */
    bool width_follows; /* DIM: d_model is heads times it */
    int hops;
    int64_t n, m; /* as in hop_question; not for N */
    const int64_t *fan;
    const hop_progress *progress;
} hop_solve_question;

/* N: possible up to `possible`, impossible from `impossible` on; the others: impossible up to `impossible`,
 * possible from `possible` on. -1: at no value. Everywhere: at every value of the range. */
typedef struct hop_solution {
    int64_t possible, impossible;
    bool possible_everywhere, impossible_everywhere;
    char possible_by[8], impossible_by[8];
    char impossible_from[32]; /* N: also where it is longer than an integer, "10^20.3"; "": not known */
} hop_solution;

/* HOP_EDOMAIN: no length is given; HOP_ESTOPPED, HOP_ENOMEM. */
hop_status hop_solve(hop_solution *out, const hop_solve_question *q, hop_error *err);

/* ---- the separation at one length ------------------------------------------------------------ */

/* One width for all rows: a head of the full network that is written down for these sizes, d = L+2+B numbers,
 * where B is the sum of the bits of m, n_1, ..; the state of its linear layer, B numbers or more; numbers of
 * `bits` bits. At one prompt, some layer plans are possible and others are not. */
typedef struct hop_separation_row {
    char pattern[96];                   /* as hop_pattern_parse reads it, with F and L */
    int64_t full_layers, linear_layers; /* in it */
    hop_answer answer;                  /* at these sizes */
    char theorem[8];                    /* that says so; when silent, the one that speaks first. "": none */
    bool machine_checked;               /* what it says is impossible, here or from speaks_from on */
    char speaks_from[32];               /* impossible at this width from here on; "": not known */
    double log10_n;
    char needs[160], has[160]; /* the theorem's inequality */
} hop_separation_row;

enum {
    HOP_ROW_FULL,   /* F^(L+1) */
    HOP_ROW_HYBRID, /* L F^L */
    HOP_ROW_FEWER,  /* F^L: a full layer fewer, and no linear one */
    HOP_ROW_GAPS,   /* L-1 full layers, `linear` linear ones in every gap */
    HOP_ROW_LINEAR, /* as many layers, all linear */
    HOP_ROWS
};

typedef struct hop_separation {
    int hops, bits;
    int64_t linear; /* linear layers a gap */
    /* Numbers that a linear layer keeps at these m and fan, of which `state_of` is told; NULL: B of them, the
     * fewest with which the hybrids that are written down work. 0: it cannot be had at such sizes. */
    int64_t (*state_numbers)(const struct hop_separation *s, const void *state_of);
    const void *state_of;
    int64_t m, fan[HOP_MAX_HOPS], n;  /* the sizes; n tokens */
    int64_t code_bits, dim;           /* B, d */
    int64_t message_bits, state_bits; /* M = (d+2) bits; S = B bits, or what state_numbers says */
    int64_t width;                    /* of the residual stream of the networks that are written down */
    hop_separation_row rows[HOP_ROWS];
} hop_separation;

/* Fills the rest at given hops, bits, linear, m and fan. HOP_EDOMAIN, HOP_ESTOPPED, HOP_ENOMEM. */
hop_status hop_separation_at(hop_separation *s, const hop_progress *progress, hop_error *err);
/* Finds m and fan for given hops, bits and linear: the shortest sizes, as far as the theorems' own searches
 * go, at which HOP_ROW_GAPS and HOP_ROW_LINEAR (for one hop: HOP_ROW_FEWER too; with `fewer`: for any) are
 * impossible. HOP_EDOMAIN where no theorem speaks at sizes below 2^62 tokens. */
hop_status hop_separation_find(hop_separation *s, bool fewer, const hop_progress *progress, hop_error *err);

/* ---- P3: the accuracy ceiling -------------------------------------------------------------- */

/* The most accuracy a stack of recurrences with `state_bits` in total can have on tables of N entries, an
 * upper bound correct to the last digit of the double, rounded up. state_bits: whole, of any size. */
hop_status hop_accuracy_ceiling(double *out, int64_t table, double state_bits, hop_error *err);
/* It in six digits or so, rounded up, and below 1 where it is: "0.918353", "2.38976e-05". */
void hop_accuracy_print(char out[32], double ceiling);

#ifdef __cplusplus
}
#endif
#endif
