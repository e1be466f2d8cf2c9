/* The rounding lemma of docs/BOUNDS.md section 16: sums in float32 as it says, codes that are off by less
 * than it says, in networks as they run, and what it holds for is proved, also with messages of as few bits
 * as P1 asks. */
#include "bounds_ask.h"

#define answer_of answer_of_input
#include "funccomp_subject.h"
#undef answer_of

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- sums -------------------------------------------------------------------------------------------- */

static int64_t below(hop_rng *rng, int64_t count)
{
    return (int64_t)hop_rng_below(rng, (uint32_t)count);
}

/* A sum in some tree: of ones added in runs of about 2^24, where floats grow most, or of two trees. */
static float sum_of(hop_rng *rng, int64_t k, float leaf)
{
    if (k == 1) return leaf;
    if (below(rng, 3) == 0) {
        float sum = 0;
        for (int64_t i = 0; i < k; i++) sum += leaf;
        return sum;
    }
    int64_t left = below(rng, 2) ? k / 2 : 1 + below(rng, k - 1);
    return sum_of(rng, left, leaf) + sum_of(rng, k - left, leaf);
}

static void sums_grow_by_less_than_a_power(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 5, 0);
    for (int draw = 0; draw < 60; draw++) {
        int64_t k = 1 + below(&rng, 1 << (4 + draw % 20));
        float leaf = draw % 2 ? 1.0f : (float)(below(&rng, 1 << 24) + 1) / (1 << 24);
        assert_true(sum_of(&rng, k, leaf) <= leaf * pow((double)k, 1.05) * (1 + 1e-12));
    }
    /* beyond 2^24 each addition of a little more than 1 adds 2 */
    double parts = 0x1p24;
    float sum = 0x1p24f, step = 1.0000001f;
    for (int i = 0; i < 1 << 23; i++) sum += step, parts++;
    assert_true(sum > 1.3 * parts && sum <= step * pow(parts, 1.05));
}

/* Beside a number that counts, others move a sum by twice themselves at the most. */
static void what_counts_stays_beside_what_does_not(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 6, 0);
    for (int draw = 0; draw < 200; draw++) {
        float sum = 1;
        double others = 0;
        for (int64_t i = below(&rng, 100000); i > 0; i--) {
            float x = ldexpf((float)below(&rng, 1 << 20), -20 - (int)below(&rng, 40));
            sum += x * 0x1p-8f, others += (double)x * 0x1p-8;
        }
        assert_true(sum >= 1 && sum - 1 <= 2 * others);
    }
}

/* ---- codes in networks -------------------------------------------------------------------------------- */

typedef struct last {
    float x[4096];
    int64_t width;
} last;

static void keep_last(void *ctx, int64_t layer, const float *x, int64_t count)
{
    last *l = ctx;
    (void)layer;
    memcpy(l->x, x + (count - 1) * l->width, sizeof *x * (size_t)l->width);
}

/* Bit i of a value's code: digits lowest first, each in a code of its own. */
static int code_bit(const hop_funccomp *t, int64_t value, int i)
{
    for (int g = 0; g < t->hops; g++) {
        int64_t radix = g ? t->fan[g] : t->m, width = 1;
        while ((int64_t)1 << width < radix) width++;
        if (i < width) return value % radix >> i & 1 ? 1 : -1;
        i -= (int)width, value /= radix;
    }
    return 0;
}

typedef struct kept_case {
    const char *kind, *pattern;
    hop__registers_of by;
    sizes of;
    int64_t heads, dim;
} kept_case;

static const kept_case kept_cases[] = {
    {"full", "full^2", HOP__BY_LOOK_UPS, {1, 2, {0}}, 1, 3},
    {"full", "full^2", HOP__BY_LOOK_UPS, {1, 3, {0}}, 1, 4},
    {"full", "full^4", HOP__BY_LOOK_UPS, {3, 16, {8, 8}}, 2, 13},
    {"full", "full^3", HOP__BY_LOOK_UPS, {2, 40, {40}}, 1, 13},
    {"hybrid", "gdn full^3", HOP__BY_LOOK_UPS, {3, 5, {3, 7}}, 2, 16},
    {"hybrid", "gdn^2", HOP__BY_STATES, {1, 2, {0}}, 1, 4},
    {"hybrid", "gdn^4", HOP__BY_STATES, {2, 4, {4}}, 2, 16},
    {"hybrid", "kda^4", HOP__BY_STATES, {2, 6, {5}}, 3, 20},
    {"hybrid", "deltanet^6 full", HOP__BY_STATES, {2, 9, {9}}, 2, 24},
    {"hybrid", "mamba2^3 full", HOP__BY_STATES, {2, 16, {4}}, 2, 16},
    {"hybrid", "gdn^12", HOP__BY_STATES, {3, 16, {4, 4}}, 4, 32},
    {"mixed", "full linear full linear", HOP__BY_MAPS, {3, 6, {3, 4}}, 0, 0},
    {"mixed", "linear full linear^2", HOP__BY_MAPS, {3, 8, {2, 5}}, 0, 0},
};

static hop_model *build_kept(const kept_case *k, const hop_task *t)
{
    hop_model *m = NULL;
    hop_config c;
    hop_error err = {0};
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, k->pattern, "gdn", &err), HOP_OK);
    c.heads = c.kv_heads = k->heads, c.head_dim = k->dim, c.mlp = HOP_MLP_SWIGLU, c.mlp_hidden = 2;
    bool shaped = k->heads > 0;
    const hop_construct_options o = {.shape = shaped ? &c : NULL, .pattern = shaped ? NULL : k->pattern};
    if (hop_construct(&m, k->kind, t, &o, &err) != HOP_OK) fail_msg("%s: %s", k->pattern, err.text);
    hop_config_free(&c);
    return m;
}

/* Registers follow who, at, val and dig, and where networks are written into an architecture, a constant. */
static double most_off(const kept_case *k, const hop_task *task, const float *x, const int64_t *chain)
{
    const hop_funccomp *t = &task->funccomp;
    int bits = 0, first = 0, all[HOP_MAX_HOPS + 1] = {0};
    double off = 0;
    for (int g = 0; g < t->hops; g++) {
        int w = 1;
        while ((int64_t)1 << w < (g ? t->fan[g] : t->m)) w++;
        bits += w, first = g ? first : w, all[g + 1] = bits;
    }
    all[0] = first;
    int at = t->hops + 2 + 2 * bits + (bits - first) + (k->heads > 0);
    for (int e = 0; e <= t->hops; e++) {
        int own = all[e];
        for (int i = 0; i < own; i++) off = fmax(off, fabs(x[at + i] - code_bit(t, chain[e], i)));
        at += k->heads > 0 ? own : bits;
    }
    return off;
}

static int code_bits(const hop_funccomp *t)
{
    int bits = 0;
    for (int g = 0; g < t->hops; g++) {
        int w = 1;
        while ((int64_t)1 << w < (g ? t->fan[g] : t->m)) w++;
        bits += w;
    }
    return bits;
}

static void registers_are_off_by_less_than_the_lemma_says(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof kept_cases / sizeof *kept_cases; c++) {
        const kept_case *k = &kept_cases[c];
        hop_task t = task_of(&k->of);
        hop_model *m = build_kept(k, &t);
        last l = {.width = hop_model_config(m)->d_model};
        assert_true(l.width <= 4096);
        const hop_watch watch = {.stream = keep_last, .ctx = &l};
        int32_t *tokens = malloc(sizeof *tokens * (size_t)t.length);
        float *logits = malloc(sizeof *logits * (size_t)t.vocab);
        int64_t chain[HOP_MAX_HOPS + 1];
        double most = 0, may = hop__register_error(k->by, code_bits(&t.funccomp));
        hop_forward *f = NULL;
        hop_decoder *d = NULL;
        assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.watch = &watch}, NULL), HOP_OK);
        assert_int_equal(hop_decoder_new(&d, m, t.length, true, NULL), HOP_OK);
        hop_decoder_watch(d, &watch);
        for (uint64_t draw = 0; draw < 60; draw++) {
            hop_rng rng;
            hop_rng_init(&rng, 12, draw);
            hop_task_sample(&t, &rng, tokens);
            int64_t right = hop_funccomp_solve(&t.funccomp, tokens, chain);
            bool whole = draw % 3;
            assert_int_equal(right, whole ? answer_of_input(f, &t, tokens, logits)
                                          : step_answer_of(d, &t, tokens, logits));
            most = fmax(most, most_off(k, &t, l.x, chain));
        }
        print_message("%s: off by %.3g, at most %.3g\n", k->pattern, most, may);
        assert_true(most <= may && may <= 0.02);
        assert_true(hop__codes_are_kept(k->by, (hop__bits){.code = code_bits(&t.funccomp), .log2_n = 20}));
        hop_decoder_free(d);
        hop_forward_free(f);
        free(tokens), free(logits);
        hop_model_free(m);
    }
}

/* ---- few bits ------------------------------------------------------------------------------------------ */

/* P1's first network with messages of exactly the bits that it asks for. */
static void what_p1_asks_of_p_is_enough(void **state)
{
    (void)state;
    int draws = getenv("HOPBOUND_LONG") ? 1000 : 40;
    for (int k = 0; k < draws; k++) {
        hop_rng rng;
        hop_rng_init(&rng, 14, (uint64_t)k);
        sizes z = {.hops = 1 + (int)below(&rng, 3), .m = 2 + below(&rng, k % 4 ? 20 : 200)};
        for (int l = 0; l < z.hops - 1; l++) z.fan[l] = 2 + below(&rng, 6);
        if (k % 5 == 0)
            z = (sizes){1 + (int)below(&rng, 8), 2, {2, 2, 2, 2, 2, 2, 2}}; /* short codes, many cuts */
        hop_task t = task_of(&z);
        const char *mixer = k % 2 ? LINEAR_MIXERS[below(&rng, LINEAR_MIXER_COUNT)] : NULL;
        hop_model *m = build(mixer ? "hybrid" : "full", mixer, &t);
        hop__need need = hop__need_of(z.hops, (hop__bits){.code = code_bits(&t.funccomp)});
        int64_t bits = mixer ? need.state_p : need.bits;
        assert_true(hop__codes_are_clipped(code_bits(&t.funccomp), bits));
        hop_proof p;
        const hop_prove_options o = {.method = HOP_PROVE_INTERVAL, .message_bits = (int)bits};
        assert_int_equal(hop_prove(&p, m, &t, &o, NULL), HOP_OK);
        if (p.verdict != HOP_PROVED)
            fail_msg("draw %d: %s, hops %d, m %d, fan %d,%d, %d bits: %s", k, mixer ? mixer : "full", z.hops,
                     (int)z.m, (int)z.fan[0], (int)z.fan[1], (int)bits, p.why);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

/* ---- where it ends -------------------------------------------------------------------------------------- */

static hop_answer answer_at(int hops, int64_t size, bool linear, const char *id)
{
    const hop_arch_layer all[] = {
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .number_bits = 32, .state_bits = 1 << 20},
        {.kind = HOP_LAYER_FULL, .repeat = hops + !linear, .heads = 1, .dim = 60000, .number_bits = 32}};
    const hop_arch a = {.layers = all + !linear, .count = 1 + linear};
    int64_t fan[HOP_MAX_HOPS];
    for (int l = 0; l < hops; l++) fan[l] = size;
    hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = hops, .m = size, .fan = fan, .searched = 1});
    hop_answer answer = result(b, id)->answer;
    assert_true(answer == HOP_ANSWER_POSSIBLE || strstr(result(b, id)->why, "rounding is not known"));
    hop_bounds_free(b);
    return answer;
}

/* Widths that are ample, and codes that are too long for float32, or too many tokens to carry z_0 past. */
static void longer_codes_are_not_called_possible(void **state)
{
    (void)state;
    const int64_t large = (int64_t)1 << 60;
    assert_int_equal(answer_at(10, large, false, "P1"), HOP_ANSWER_POSSIBLE);
    assert_int_equal(answer_at(16, large, false, "P1"), HOP_ANSWER_SILENT);
    assert_int_equal(answer_at(1, large, true, "P1"), HOP_ANSWER_POSSIBLE);
    assert_int_equal(answer_at(2, large, true, "P1"), HOP_ANSWER_SILENT);
    assert_true(hop__codes_are_clipped(192, hop__need_of(1, (hop__bits){.code = 192}).bits));
    assert_true(hop__codes_are_kept(HOP__BY_STATES, (hop__bits){.code = 300, .log2_n = 50}));
    assert_false(hop__codes_are_kept(HOP__BY_STATES, (hop__bits){.code = 300, .log2_n = 51}));
    assert_false(hop__codes_are_kept(HOP__BY_STATES, (hop__bits){.code = 400, .log2_n = 50}));
    assert_false(hop__codes_are_kept(HOP__BY_MAPS, (hop__bits){.code = 1000, .log2_n = 50}));
    assert_false(hop__codes_are_clipped(20, 10)); /* two significant bits */
    /* as docs/BOUNDS.md section 16 has it */
    assert_true(hop__codes_are_clipped(791, 32) && !hop__codes_are_clipped(792, 32));
    const int64_t ends[] = {[HOP__BY_LOOK_UPS] = 791, [HOP__BY_STATES] = 334, [HOP__BY_MAPS] = 790};
    for (int by = 0; by < 3; by++) {
        hop__registers_of of = (hop__registers_of)by;
        assert_true(hop__codes_are_kept(of, (hop__bits){.code = ends[by], .log2_n = 50}));
        assert_false(hop__codes_are_kept(of, (hop__bits){.code = ends[by] + 1, .log2_n = 50}));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_grow_by_less_than_a_power),
        cmocka_unit_test(what_counts_stays_beside_what_does_not),
        cmocka_unit_test(registers_are_off_by_less_than_the_lemma_says),
        cmocka_unit_test(what_p1_asks_of_p_is_enough),
        cmocka_unit_test(longer_codes_are_not_called_possible),
    };
    return cmocka_run_group_tests_name("bounds_rounding", tests, NULL, NULL);
}
