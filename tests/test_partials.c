/* test_partials.c - partial softmaxes: every table against a double-precision truth, row by row the same
 * bits, folded to the whole, rounded to few bits. */
#include "attention_case.h"

/* Shapes as players have them: queries that come after all keys, and a segment's own. */
static const hop_attn parts[] = {
    SHAPE(1, 1, 1, 1, 1, .bidirectional = true),
    SHAPE(5, 3, 1, 15, 41, .queries = 1, .bidirectional = true),
    SHAPE(97, 2, 1, 41, 15, .queries = 300, .bidirectional = true),
    SHAPE(300, 4, 2, 16, 16, .queries = 37, .bidirectional = true),
    SHAPE(1, 2, 2, 8, 8, .window = 0),
    SHAPE(3, 1, 1, 64, 64, .window = 0),
    SHAPE(200, 6, 2, 24, 33, .window = 0),
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static int64_t partial_floats(const hop_attn *c)
{
    return c->heads * (c->value_dim + 2);
}

static float *partial(const attention *a, const hop_attn *c, const float *q, const float *k, const float *v)
{
    int64_t size = (int64_t)hop_attn_scratch(c, 1), n = c->queries * partial_floats(c);
    float *scratch = floats_new(size), *t = floats_new(n);
    (void)a;
    poison(scratch, size);
    poison(t, n);
    hop_attn_partial(t, q, k, v, c, scratch, NULL);
    hop_free(scratch);
    return t;
}

/* The tolerances are those of attention itself: see check_forward in test_attention.c. The sum has the
 * weights' error, and vector over sum must be the output. */
static void check_partials(const attention *a, const float *t, int64_t step)
{
    const hop_attn *c = &a->c;
    for (int64_t r = 0; r < c->queries; r += step)
        for (int64_t h = 0; h < c->heads; h++) {
            const float *at = t + r * partial_floats(c) + h * (c->value_dim + 2);
            for (int64_t e = 0; e < c->value_dim; e += 1 + e / 5) {
                truth w = truth_of(a, r, h, e);
                double x = HOP_DOT_ERROR(c->key_dim + 1) * w.reach, lse = (double)at[0] + log((double)at[1]);
                assert_near(lse, w.lse, HOP_ATTN_ERROR(c->tokens) + 2.0 * x + 1e-6 * fabs(w.lse));
                assert_near((double)at[2 + e] / at[1], w.o,
                            (HOP_ATTN_ERROR(c->tokens) + 2.0 * expm1(2.0 * x)) * w.size);
            }
        }
}

static void partials_hold_the_softmax_in_every_table(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int s = 0; s < PARTS; s++) {
        attention a = attention_new(parts[s], 2.0);
        FOR_EACH_TABLE(t)
        {
            float *got = partial(&a, &a.c, a.q, a.k, a.v);
            check_partials(&a, got, 1 + a.c.queries / 19);
            hop_free(got);
        }
        hop__kernels_use(&hop__kernels_ref);
        float *got = partial(&a, &a.c, a.q, a.k, a.v);
        check_partials(&a, got, 1 + a.c.queries / 5);
        hop_free(got);
        attention_free(&a);
    }
}

static void a_row_has_the_same_bits_alone_and_among_others(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int s = 0; s < PARTS; s++) {
        if (!parts[s].bidirectional) continue;
        attention a = attention_new(parts[s], 2.0);
        size_t row = sizeof(float) * (size_t)partial_floats(&a.c);
        FOR_EACH_TABLE(t)
        {
            float *all = partial(&a, &a.c, a.q, a.k, a.v);
            static const int64_t some[] = {1, 2, 5, 17};
            for (int64_t r = 0, i = 0; r < a.c.queries; r += some[i++ % 4]) {
                hop_attn c = a.c;
                c.queries = some[i % 4] < c.queries - r ? some[i % 4] : c.queries - r;
                float *few = partial(&a, &c, a.q + r * c.q_stride, a.k, a.v);
                assert_memory_equal(few, all + r * partial_floats(&c), row * (size_t)c.queries);
                hop_free(few);
            }
            hop_free(all);
        }
        attention_free(&a);
    }
}

static void partials_over_two_parts_fold_to_those_over_both(void **state)
{
    const hop__kernels *t;
    (void)state;
    attention a =
        attention_new((hop_attn)SHAPE(300, 4, 2, 16, 16, .queries = 37, .bidirectional = true), 2.0);
    FOR_EACH_TABLE(t)
    for (int64_t cut = 1; cut < 300; cut += 113) {
        hop_attn left = a.c, right = a.c;
        left.tokens = cut, right.tokens = 300 - cut;
        float *x = partial(&a, &left, a.q, a.k, a.v);
        float *y = partial(&a, &right, a.q, a.k + cut * a.c.k_stride, a.v + cut * a.c.v_stride);
        hop_partial_fold(x, y, 37 * 4, 16);
        check_partials(&a, x, 2);
        float o[16];
        hop_partial_close(o, x, 1, 16);
        for (int e = 0; e < 16; e++) assert_true(o[e] == x[2 + e] / x[1]);
        hop_free(x), hop_free(y);
    }
    attention_free(&a);
}

static void a_part_that_weighs_nothing_changes_nothing(void **state)
{
    (void)state;
    float x[4] = {100.0f, 1.5f, 3.0f, -1.0f}, y[4] = {-100.0f, 7.0f, 1e30f, 5.0f}, z[4];
    memcpy(z, x, sizeof z);
    hop_partial_fold(z, y, 1, 2);
    assert_memory_equal(z, x, sizeof z);
    hop_partial_fold(y, x, 1, 2); /* from either side */
    assert_memory_equal(y, x, sizeof y);
}

/* ---- few bits ------------------------------------------------------------------------------------ */

static float rounded(float x, int bits)
{
    hop_round_float(&x, 1, bits);
    return x;
}

/* Half a unit in the last place of a score of 1e10 is hundreds: whoever hands it on must weigh by the number
 * that is handed on. */
static void the_largest_score_weighs_one_however_large(void **state)
{
    const hop__kernels *t;
    (void)state;
    const hop_attn c = SHAPE(2, 1, 1, 2, 1, .queries = 1, .bidirectional = true, .scale = 0.4472136f,
                             .q_stride = 2, .k_stride = 2, .v_stride = 1);
    const float k[] = {1.1f, 1, 0, 0}, v[] = {-3, 5};
    attention a = {.c = c};
    for (int i = 0; i < 8; i++) {
        const float q[] = {1.2345678e10f * (1 + 0.3f * (float)i), 3};
        FOR_EACH_TABLE(t)
        {
            float *got = partial(&a, &c, q, k, v);
            assert_true(got[1] == 1 && got[2] == -3);
            hop_free(got);
        }
    }
}

static void rounded_numbers_are_the_nearest_of_their_bits(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 8, 0);
    for (int bits = 10; bits <= 32; bits++)
        for (int i = 0; i < 3000; i++) {
            float x = from_bits(hop_rng_u32(&rng));
            if (i % 3 == 0) x = from_bits(hop_rng_u32(&rng) & 0x80ffffffu); /* small and denormal ones */
            if (isnan(x)) continue;
            float y = rounded(x, bits);
            uint32_t u, unit = bits == 32 ? 1u : 1u << (32 - bits);
            memcpy(&u, &y, sizeof u);
            assert_int_equal(u & (unit - 1), 0);
            if (isinf(x)) assert_true(y == x);
            if (isinf(y)) continue;
            /* Its neighbours among the numbers of so many bits are no nearer. */
            float up = from_bits(u + unit), down = from_bits((u & 0x7fffffffu) ? u - unit : u);
            double off = fabs((double)y - (double)x);
            assert_true(isinf(up) || off <= fabs((double)up - (double)x));
            assert_true(off <= fabs((double)down - (double)x));
        }
    assert_true(rounded(1.00390625f, 16) == 1.0f);      /* 1 + 2^-8: a tie, to even */
    assert_true(rounded(1.01171875f, 16) == 1.015625f); /* 1 + 3 * 2^-8: a tie, to even */
    assert_true(isinf(rounded(3.4e38f, 10)) && isinf(rounded(INFINITY, 10)));
    assert_true(isnan(rounded(from_bits(0x7f800001u), 16)) && isnan(rounded(from_bits(0xffffffffu), 10)));
    assert_true(signbit(rounded(-0.0f, 10)));
}

/* Rounding the maximum alone would multiply a part's weight by e^(its rounding error): 40.4 to 40.5 at 16
 * bits. Relative to the rounded maximum nothing is lost but what sums and values lose themselves. */
static void rounded_partials_keep_their_weight(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        float t[4] = {40.4f + 3.7f * (float)i, 1.0f + 0.01f * (float)i, 2.0f, -0.5f}, x[4];
        memcpy(x, t, sizeof x);
        hop_partial_round(x, 1, 2, 16);
        for (int e = 0; e < 4; e++) assert_true(x[e] == rounded(x[e], 16));
        double moved = (double)x[0] - (double)t[0];
        for (int e = 1; e < 4; e++) /* half a unit in the last of 8 places, and exp's own error */
            assert_near(x[e] * exp(moved), t[e], fabs((double)t[e]) * (0x1p-8 + 1e-6));
        memcpy(x, t, sizeof x);
        hop_partial_round(x, 1, 2, 32);
        assert_memory_equal(x, t, sizeof x);
    }
    float far[4] = {1e30f, 5.0f, 1.0f, 2.0f}; /* meaningless at so few bits, but finite */
    hop_partial_round(far, 1, 2, 10);
    for (int e = 0; e < 4; e++) assert_true(isfinite(far[e]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partials_hold_the_softmax_in_every_table),
        cmocka_unit_test(a_row_has_the_same_bits_alone_and_among_others),
        cmocka_unit_test(partials_over_two_parts_fold_to_those_over_both),
        cmocka_unit_test(a_part_that_weighs_nothing_changes_nothing),
        cmocka_unit_test(the_largest_score_weighs_one_however_large),
        cmocka_unit_test(rounded_numbers_are_the_nearest_of_their_bits),
        cmocka_unit_test(rounded_partials_keep_their_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
