/* What the tests of networks for function composition share: sizes, networks, all their answers, proofs, and
 * ways to spoil them. */
#ifndef HOPBOUND_FUNCCOMP_SUBJECT_H
#define HOPBOUND_FUNCCOMP_SUBJECT_H

#include "test.h"

#include <hopbound/construct.h>
#include <hopbound/layers.h>
#include <hopbound/verdict.h>

typedef struct sizes {
    int hops;
    int64_t m, fan[8];
} sizes;

/* Every linear mixer: a new one needs its line (test_hybrid.c counts the registry). */
static const char *const LINEAR_MIXERS[] = {
    "linear", "retnet", "lightning",    "gla",   "hgrn2", "mamba", "mamba2", "deltanet",
    "gdn",    "kda",    "deltaproduct", "rwkv6", "rwkv7", "mlstm", "rglru",  "based"};
enum { LINEAR_MIXER_COUNT = sizeof LINEAR_MIXERS / sizeof *LINEAR_MIXERS };

static inline hop_task task_of(const sizes *s)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    hop_error err = {0};
    if (hop_funccomp_init(&t.funccomp, s->hops, s->m, s->fan, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_task_ready(&t, &err) != HOP_OK) fail_msg("%s", err.text);
    return t;
}

/* `mixer` is a hybrid's; NULL for the other kinds. */
static inline hop_model *build(const char *kind, const char *mixer, const hop_task *t)
{
    hop_model *m = NULL;
    hop_error err = {0};
    if (hop_construct(&m, kind, t, &(hop_construct_options){.mixer = mixer}, &err) != HOP_OK)
        fail_msg("%s", err.text);
    return m;
}

/* ---- answers ------------------------------------------------------------------------------------ */

static inline int64_t answer_of(hop_forward *f, const hop_task *t, const int32_t *tokens, float *logits)
{
    hop_error err = {0};
    if (hop_forward_logits(f, tokens, t->length, logits, &err) != HOP_OK) fail_msg("%s", err.text);
    return hop_argmax(logits, t->vocab);
}

/* The same token by token; `d` is fresh or has been rewound to 0. */
static inline int64_t step_answer_of(hop_decoder *d, const hop_task *t, const int32_t *tokens, float *logits)
{
    assert_int_equal(hop_decoder_rewind(d, 0, NULL), HOP_OK);
    for (int64_t p = 0; p < t->length; p++)
        assert_int_equal(hop_decoder_step(d, tokens[p], p + 1 == t->length ? logits : NULL, NULL), HOP_OK);
    return hop_argmax(logits, t->vocab);
}

typedef struct tally {
    int64_t count;             /* inputs */
    int64_t wrong, step_wrong; /* as whole sequences, and token by token */
} tally;

/* Runs every input as a whole sequence, and token by token too if `steps`. Shares nothing with hop_prove's
 * enumeration. */
static inline tally answer_all(const hop_model *m, const hop_task *t, bool steps)
{
    int32_t tokens[64] = {0};
    float logits[64];
    tally all = {0};
    assert_true(t->length <= 64 && t->vocab <= 64);
    hop_forward *f;
    hop_decoder *d = NULL;
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
    if (steps) assert_int_equal(hop_decoder_new(&d, m, t->length, true, NULL), HOP_OK);
    for (int64_t p = 0; p >= 0; all.count++) {
        int64_t right = hop_funccomp_solve(&t->funccomp, tokens, NULL);
        all.wrong += answer_of(f, t, tokens, logits) != right;
        if (steps) all.step_wrong += step_answer_of(d, t, tokens, logits) != right;
        for (p = t->length - 1; p >= 0 && ++tokens[p] == hop_task_values(t, p); p--) tokens[p] = 0;
    }
    hop_decoder_free(d);
    hop_forward_free(f);
    return all;
}

static inline int64_t wrong_inputs(const hop_model *m, const hop_task *t, int64_t *count)
{
    tally all = answer_all(m, t, false);
    *count = all.count;
    return all.wrong;
}

/* ref sums in double, where what overflows in float32 need not: there a test cannot ask that a network errs.
 */
static inline bool sums_in_float32(void)
{
    return hop_kernels_selected() != HOP_ISA_REF;
}

/* Random inputs of any size, in float32 and with activations cut to 8 bits. */
static inline void assert_right_on_random_inputs(const hop_model *m, const hop_task *t)
{
    int32_t *tokens = malloc(sizeof *tokens * (size_t)t->length);
    float *logits = malloc(sizeof *logits * (size_t)t->vocab);
    for (int bits = 0; bits <= 8; bits += 8) {
        hop_forward *f;
        assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.bits = bits}, NULL), HOP_OK);
        for (uint64_t k = 0; k < 20; k++) {
            hop_rng rng;
            hop_rng_init(&rng, 9, k);
            hop_task_sample(t, &rng, tokens);
            assert_int_equal(answer_of(f, t, tokens, logits), hop_funccomp_solve(&t->funccomp, tokens, NULL));
        }
        hop_forward_free(f);
    }
    free(tokens);
    free(logits);
}

/* ---- proofs ------------------------------------------------------------------------------------- */

static inline hop_proof prove(const hop_model *m, const hop_task *t, hop_prove_method method)
{
    hop_proof p;
    hop_error err = {0};
    if (hop_prove(&p, m, t, &(hop_prove_options){.method = method}, &err) != HOP_OK) fail_msg("%s", err.text);
    return p;
}

/* Enumeration alone, and intervals with the decoder beside them, both prove a small network. */
static inline void assert_proved_both_ways(const hop_model *m, const hop_task *t, const char *name)
{
    hop_proof p = prove(m, t, HOP_PROVE_ENUMERATE);
    if (p.verdict != HOP_PROVED) fail_msg("%s: %s", name, p.why);
    hop_proof_free(&p);
    p = prove(m, t, HOP_PROVE_AUTO);
    if (!p.by_interval || !p.by_enumeration) fail_msg("%s: %s", name, p.why);
    hop_proof_free(&p);
}

static inline void assert_right_on_small_inputs(const char *kind)
{
    const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build(kind, NULL, &t);
        assert_proved_both_ways(m, &t, kind);
        hop_model_free(m);
    }
}

/* ---- damage ------------------------------------------------------------------------------------- */

static inline int64_t weight_elements(const hop_weight *w)
{
    return w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
}

/* Changes one random weight in one of several ways. */
static inline void damage(hop_model *m, hop_rng *rng)
{
    const hop_weight *w =
        hop_model_weight_at(m, (int64_t)hop_rng_below(rng, (uint64_t)hop_model_weight_count(m)));
    float *x = &w->data[hop_rng_below(rng, (uint64_t)weight_elements(w))];
    switch (hop_rng_below(rng, 5)) {
    case 0: *x = *x == 0 ? 1 : 0; break;
    case 1: *x = -*x + (*x == 0); break;
    case 2: *x += (float)hop_rng_normal(rng); break;
    case 3: *x += 100 * (float)hop_rng_normal(rng); break;
    default: *x *= (float)hop_rng_uniform(rng); break;
    }
}

typedef struct verdicts {
    int proved, refuted, missed; /* missed: undecided, but inputs are wrong */
} verdicts;

/* The prover against the truth, where the truth can be had: whatever one weight of a network is changed to,
 * "proved" is only ever said of one that answers every input rightly, and "refuted" only with an input that
 * it really gets wrong. Trials `first`, first + stride, .. below `end` draw from streams of their own. */
typedef struct trials {
    uint64_t seed;
    int first, stride, end;
} trials;

/* A refuting input is really answered as the proof says, and really wrong. */
static inline void assert_counterexample(const hop_model *m, const hop_task *t, const hop_proof *p)
{
    float logits[64];
    hop_forward *f;
    assert_true(t->vocab <= 64);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
    assert_int_equal(answer_of(f, t, p->counterexample, logits), p->got);
    assert_int_equal(hop_funccomp_solve(&t->funccomp, p->counterexample, NULL), p->expected);
    assert_int_not_equal(p->got, p->expected);
    hop_forward_free(f);
}

static inline verdicts try_damage(const char *kind, const char *mixer, const hop_task *t, const trials *of)
{
    verdicts sum = {0};
    bool generates = strcmp(kind, "cot") == 0; /* its answer is not one forward's */
    for (int k = of->first; k < of->end; k += of->stride) {
        hop_rng rng;
        hop_rng_init(&rng, of->seed, (uint64_t)k);
        hop_model *m = build(kind, mixer, t);
        damage(m, &rng);
        hop_proof p = prove(m, t, HOP_PROVE_INTERVAL), truth = prove(m, t, HOP_PROVE_ENUMERATE);
        bool right = generates ? truth.verdict == HOP_PROVED : answer_all(m, t, false).wrong == 0;
        assert_int_equal(truth.verdict, right ? HOP_PROVED : HOP_REFUTED);
        if (p.verdict == HOP_PROVED && !right)
            fail_msg("trial %d, %s %s: proved, but %s", k, kind, mixer ? mixer : "", truth.why);
        if (p.verdict == HOP_REFUTED) assert_false(right);
        if (p.verdict == HOP_REFUTED && !generates) assert_counterexample(m, t, &p);
        sum.refuted += p.verdict == HOP_REFUTED;
        sum.proved += p.verdict == HOP_PROVED;
        sum.missed += p.verdict == HOP_UNDECIDED && !right;
        hop_proof_free(&p);
        hop_proof_free(&truth);
        hop_model_free(m);
    }
    return sum;
}

/* rows, cols 0: all of them. layer -1: not a layer's. */
static inline void scale_weight(const hop_model *m, int64_t layer, const char *part, int64_t rows,
                                int64_t cols, float by)
{
    const hop_weight *w = layer < 0 ? hop_model_weight(m, part) : hop_model_layer_weight(m, layer, part);
    int64_t width = w->rank == 2 ? w->shape[1] : 1;
    for (int64_t r = 0; r < (rows ? rows : w->shape[0]); r++)
        for (int64_t c = 0; c < (cols ? cols : width); c++) w->data[r * width + c] *= by;
}

#endif
