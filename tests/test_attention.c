/* test_attention.c - attention forward and backward: every table against a double-precision truth and against
 * ref. */
#include "attention_case.h"

/* The contract: quotient and weights within HOP_ATTN_ERROR(T) given the scores; a score is off by at most
 * x = HOP_DOT_ERROR(d + 1) * sum |q k| (one more rounding for the scale), which moves a weight, and their
 * sum, by at most a factor exp(2x). */
static void check_forward(const attention *a, int64_t row_step)
{
    const hop_attn *c = &a->c;
    for (int64_t r = 0; r < c->queries; r += row_step)
        for (int64_t h = 0; h < c->heads; h++) {
            for (int64_t e = 0; e < c->value_dim; e += 1 + e / 5) {
                truth t = truth_of(a, r, h, e);
                double x = HOP_DOT_ERROR(c->key_dim + 1) * t.reach;
                double bound = (HOP_ATTN_ERROR(c->tokens) + 2.0 * expm1(2.0 * x)) * t.size;
                assert_near(a->o[r * c->o_stride + h * c->value_dim + e], t.o, bound);
                assert_near(a->lse[h * c->queries + r], t.lse,
                            HOP_ATTN_ERROR(c->tokens) + 2.0 * x + 1e-6 * fabs(t.lse));
            }
            for (int64_t e = c->heads * c->value_dim; e < c->o_stride; e++)
                assert_true(isnan(a->o[r * c->o_stride + e])); /* the caller's */
        }
}

static void attention_keeps_its_error_contract_in_every_shape(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        attention a = attention_new(shapes[s], 2.0);
        FOR_EACH_TABLE(t)
        {
            forward(&a, NULL);
            check_forward(&a, 1 + a.c.queries / 19);
        }
        attention_free(&a);
    }
}

static void the_reference_keeps_the_same_contract(void **state)
{
    (void)state;
    hop__kernels_use(&hop__kernels_ref);
    for (int s = 0; s < SHAPES; s++) {
        attention a = attention_new(shapes[s], 2.0);
        forward(&a, NULL);
        check_forward(&a, 1 + a.c.queries / 5);
        attention_free(&a);
    }
}

static void attention_of_one_token_returns_its_value(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int bits = 0; bits <= 8; bits += 8) {
        attention a = attention_new((hop_attn)SHAPE(1, 2, 1, 9, 19, .bits = bits), 3.0);
        if (bits) hop_round_significand(a.v, a.nv, bits);
        FOR_EACH_TABLE(t)
        {
            forward(&a, NULL);
            for (int i = 0; i < 2 * 19; i++) assert_true(a.o[i] == a.v[i % 19]);
        }
        attention_free(&a);
    }
}

static void a_window_of_one_copies_the_values(void **state)
{
    const hop__kernels *t;
    (void)state;
    attention a = attention_new((hop_attn)SHAPE(75, 1, 1, 4, 6, .window = 1), 1.0);
    FOR_EACH_TABLE(t)
    {
        forward(&a, NULL);
        for (int64_t r = 0; r < 75; r++)
            for (int64_t e = 0; e < 6; e++)
                assert_true(a.o[r * a.c.o_stride + e] == a.v[r * a.c.v_stride + e]);
    }
    attention_free(&a);
}

/* Scores to ±1e4: all weights but the largest vanish, in float as in the truth; nothing overflows. Keys grow,
 * shrink or alternate, so that the running maximum rises in every block, never, or both. */
static void extreme_scores_pick_the_largest_and_stay_finite(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        attention a = attention_new((hop_attn)SHAPE(350, 1, 1, 2, 5, .scale = 1.0f), 1.0);
        for (int64_t j = 0; j < 350; j++) {
            float size = (float)(kind == 0 ? j : kind == 1 ? 350 - j : (j * 37) % 350) * 28.0f;
            a.k[j * a.c.k_stride] = size, a.k[j * a.c.k_stride + 1] = 0.0f;
            a.q[j * a.c.q_stride] = j % 2 ? 1.0f : -1.0f;
        }
        FOR_EACH_TABLE(t)
        {
            forward(&a, NULL);
            check_forward(&a, 3);
        }
        attention_free(&a);
    }
}

/* The small weight is seen alone: the other token's value is 0. Its relative error is the contract's, down to
 * exp(-83), however the difference of the scores was rounded. */
static void tiny_weights_keep_their_relative_error(void **state)
{
    const hop__kernels *t;
    (void)state;
    attention a = attention_new((hop_attn)SHAPE(5, 1, 1, 1, 1, .scale = 1.0f), 1.0);
    for (int64_t j = 0; j < 5; j++) a.v[j * a.c.v_stride] = j == 1 ? 1.0f : 0.0f;
    FOR_EACH_TABLE(t)
    for (double gap = 0.1; gap < 83.0; gap *= 1.003) {
        for (int64_t j = 0; j < 5; j++) {
            a.q[j * a.c.q_stride] = 1.0f;
            a.k[j * a.c.k_stride] = (float)(j == 0 ? 0.3 * gap : -0.7 * gap);
        }
        a.c.queries = gap > 40.0 ? 5 : 2; /* rows by panels, and one by one */
        forward(&a, NULL);
        truth want = truth_of(&a, 1, 0, 0);
        assert_near(a.o[a.c.o_stride], want.o, HOP_ATTN_ERROR(2) * want.o);
    }
    attention_free(&a);
}

/* Later tokens get numbers that would show in any sum. */
static void outputs_ignore_later_tokens_exactly(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int bits = 0; bits <= 11; bits += 11) {
        attention a = attention_new((hop_attn)SHAPE(140, 2, 1, 10, 12, .bits = bits), 1.0);
        FOR_EACH_TABLE(t)
        for (int64_t cut = 1; cut < 140; cut += 23) {
            forward(&a, NULL);
            float *first = floats_new(a.no);
            memcpy(first, a.o, sizeof(float) * (size_t)a.no);
            attention b = attention_new(a.c, 1.0);
            for (int64_t i = cut * b.c.k_stride; i < b.nk; i++) b.k[i] = 1e6f;
            for (int64_t i = cut * b.c.v_stride; i < b.nv; i++) b.v[i] = 1e30f;
            forward(&b, NULL);
            for (int64_t r = 0; r < cut; r++)
                assert_memory_equal(first + r * a.c.o_stride, b.o + r * a.c.o_stride, sizeof(float) * 24);
            attention_free(&b);
            hop_free(first);
        }
        attention_free(&a);
    }
}

/* Rows 40.. do not see tokens ..19, whose values would overflow any sum. */
static void values_outside_the_window_may_be_huge(void **state)
{
    const hop__kernels *t;
    (void)state;
    attention a = attention_new((hop_attn)SHAPE(140, 1, 1, 10, 12, .window = 21), 1.0);
    FOR_EACH_TABLE(t)
    {
        attention b = attention_new(a.c, 1.0);
        for (int64_t i = 0; i < 20 * b.c.v_stride; i++) b.v[i] = 3e38f;
        forward(&a, NULL);
        forward(&b, NULL);
        for (int64_t r = 40; r < 140; r++)
            assert_memory_equal(a.o + r * a.c.o_stride, b.o + r * a.c.o_stride, sizeof(float) * 12);
        attention_free(&b);
    }
    attention_free(&a);
}

/* Scores here are small integers, hence exact, and cutting hides all rounding but where exp or a quotient
 * falls within 2^-21 of a tie; then one weight moves by a unit, 2^(1-bits). So: nearly all outputs equal
 * ref's bit for bit, none is off by more than a few units of the largest value. */
static void cut_attention_equals_the_reference(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int bits = 1; bits < 24; bits += bits < 8 ? 1 : 5) {
        attention a = attention_new((hop_attn)SHAPE(210, 2, 1, 11, 13, .scale = 1.0f, .bits = bits), 2.0);
        for (int64_t i = 0; i < a.nq; i++) a.q[i] = rintf(a.q[i]);
        for (int64_t i = 0; i < a.nk; i++) a.k[i] = rintf(a.k[i]);
        hop_round_significand(a.v, a.nv, bits);
        hop__kernels_use(&hop__kernels_ref);
        forward(&a, NULL);
        float *want = floats_new(a.no);
        memcpy(want, a.o, sizeof(float) * (size_t)a.no);
        FOR_EACH_TABLE(t)
        {
            int64_t equal = 0, all = 0;
            forward(&a, NULL);
            for (int64_t i = 0; i < a.no; i++) {
                if (i % a.c.o_stride >= 26) continue;
                assert_near(a.o[i], want[i], 4.0 * ldexp(1.0, 1 - bits));
                equal += a.o[i] == want[i];
                all++;
            }
            if (bits <= 13 && equal < all * 95 / 100)
                fail_msg("%s, %d bits: %d of %d equal", t->name, bits, (int)equal, (int)all);
        }
        hop_free(want);
        attention_free(&a);
    }
}

static void attention_has_the_same_bits_for_any_number_of_threads(void **state)
{
    const hop__kernels *t;
    (void)state;
    hop_pool *pools[3] = {NULL, hop_pool_new(2), hop_pool_new(3)};
    for (int bits = 0; bits <= 9; bits += 9) {
        attention a = attention_new((hop_attn)SHAPE(333, 4, 2, 20, 24, .bits = bits), 1.0);
        float *first = floats_new(4 * a.no), *grads = floats_new(a.nq + a.nk + a.nv),
              *d_o = random_new(a.no, 30, 1.0);
        float *grads_first = floats_new(a.nq + a.nk + a.nv);
        FOR_EACH_TABLE(t)
        for (int i = 0; i < 3; i++) {
            forward(&a, pools[i]);
            poison(a.scratch, (int64_t)hop_attn_backward_scratch(&a.c, 3));
            hop_attn_grad g = {grads, grads + a.nq, grads + a.nq + a.nk, d_o};
            hop_attn_backward(&g, a.o, a.lse, a.q, a.k, a.v, &a.c, a.scratch, pools[i]);
            if (i == 0) memcpy(first, a.o, sizeof(float) * (size_t)a.no);
            if (i == 0) memcpy(grads_first, grads, sizeof(float) * (size_t)(a.nq + a.nk + a.nv));
            assert_memory_equal(first, a.o, sizeof(float) * (size_t)a.no);
            assert_memory_equal(grads_first, grads, sizeof(float) * (size_t)(a.nq + a.nk + a.nv));
        }
        hop_free(first), hop_free(grads), hop_free(d_o), hop_free(grads_first);
        attention_free(&a);
    }
    for (int i = 0; i < 3; i++) hop_pool_free(pools[i]);
}

/* Blocks only: no scores. 200,000 tokens of d = 64 must fit easily. */
static void scratch_is_linear_in_tokens(void **state)
{
    (void)state;
    hop_attn c = SHAPE(200000, 1, 1, 64, 64, .queries = 1000);
    assert_true(hop_attn_scratch(&c, 1) < 100000);
    c.queries = c.tokens, c.bits = 8;
    assert_true(hop_attn_scratch(&c, 1) < 130 * 200000);
}

/* ---- backward ------------------------------------------------------------------------------ */

static double loss_of(const attention *a, const float *d_o)
{
    double loss = 0.0;
    for (int64_t r = 0; r < a->c.queries; r++)
        for (int64_t h = 0; h < a->c.heads; h++)
            for (int64_t e = 0; e < a->c.value_dim; e++)
                loss += truth_of(a, r, h, e).o * d_o[r * a->c.o_stride + h * a->c.value_dim + e];
    return loss;
}

/* Central differences of the double-precision truth: inputs are floats near 1 moved by 2^-10, exactly, so the
 * difference is good to 2^-20 times a third derivative; 2e-4 covers that and the float gradients. */
static void check_gradient(attention *a, float *x, int64_t n, int64_t stride, int64_t used, const float *dx,
                           const float *d_o)
{
    for (int64_t i = 0; i < n; i++) {
        if (i % stride >= used) continue;
        float old = x[i];
        volatile float up = old + 0x1p-10f, down = old - 0x1p-10f;
        x[i] = up;
        double hi = loss_of(a, d_o);
        x[i] = down;
        double lo = loss_of(a, d_o);
        x[i] = old;
        assert_near(dx[i], (hi - lo) / ((double)up - (double)down), 2e-4);
    }
}

static void backward_is_the_derivative_of_forward(void **state)
{
    static const hop_attn small[] = {SHAPE(7, 2, 1, 3, 2, .window = 0), SHAPE(6, 2, 2, 2, 3, .window = 3),
                                     SHAPE(5, 4, 2, 1, 1, .bidirectional = true),
                                     SHAPE(1, 1, 1, 2, 2, .window = 0)};
    const hop__kernels *t;
    (void)state;
    for (size_t s = 0; s < sizeof small / sizeof small[0]; s++) {
        attention a = attention_new(small[s], 1.0);
        float *dq = floats_new(a.nq), *dk = floats_new(a.nk), *dv = floats_new(a.nv),
              *d_o = random_new(a.no, 31, 1.0);
        FOR_EACH_TABLE(t)
        {
            poison(dq, a.nq), poison(dk, a.nk), poison(dv, a.nv);
            forward(&a, NULL);
            hop_attn_backward(&(hop_attn_grad){dq, dk, dv, d_o}, a.o, a.lse, a.q, a.k, a.v, &a.c, a.scratch,
                              NULL);
            check_gradient(&a, a.q, a.nq, a.c.q_stride, a.c.heads * a.c.key_dim, dq, d_o);
            check_gradient(&a, a.k, a.nk, a.c.k_stride, a.c.kv_heads * a.c.key_dim, dk, d_o);
            check_gradient(&a, a.v, a.nv, a.c.v_stride, a.c.kv_heads * a.c.value_dim, dv, d_o);
        }
        hop_free(dq), hop_free(dk), hop_free(dv), hop_free(d_o);
        attention_free(&a);
    }
}

/* Largest difference over largest element, or over 1, the size of the terms that cancel where a gradient is
 * 0. P inherits the rounding of lse (|lse| units), and sums run over up to 300 rows: 2e-5 is a few hundred
 * units. */
static void check_close(const float *got, const float *want, int64_t n, int64_t stride, int64_t used)
{
    double most = 1.0;
    for (int64_t i = 0; i < n; i++)
        if (i % stride < used) most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        if (i % stride < used) assert_near(got[i], want[i], 2e-5 * most);
}

static void backward_agrees_with_the_reference_in_every_shape(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        if (shapes[s].queries || shapes[s].tokens > 300) continue;
        attention a = attention_new(shapes[s], 1.5);
        int64_t n = a.nq + a.nk + a.nv;
        float *got = floats_new(n), *want = floats_new(n), *d_o = random_new(a.no, 32, 1.0);
        hop__kernels_use(&hop__kernels_ref);
        forward(&a, NULL);
        hop_attn_grad g = {want, want + a.nq, want + a.nq + a.nk, d_o};
        hop_attn_backward(&g, a.o, a.lse, a.q, a.k, a.v, &a.c, a.scratch, NULL);
        FOR_EACH_TABLE(t)
        {
            poison(got, n), poison(a.scratch, (int64_t)hop_attn_backward_scratch(&a.c, 3));
            g = (hop_attn_grad){got, got + a.nq, got + a.nq + a.nk, d_o};
            hop_attn_backward(&g, a.o, a.lse, a.q, a.k, a.v, &a.c, a.scratch, NULL);
            check_close(g.dq, want, a.nq, a.c.q_stride, a.c.heads * a.c.key_dim);
            check_close(g.dk, want + a.nq, a.nk, a.c.k_stride, a.c.kv_heads * a.c.key_dim);
            check_close(g.dv, want + a.nq + a.nk, a.nv, a.c.v_stride, a.c.kv_heads * a.c.value_dim);
        }
        hop_free(got), hop_free(want), hop_free(d_o);
        attention_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_keeps_its_error_contract_in_every_shape),
        cmocka_unit_test(the_reference_keeps_the_same_contract),
        cmocka_unit_test(attention_of_one_token_returns_its_value),
        cmocka_unit_test(a_window_of_one_copies_the_values),
        cmocka_unit_test(extreme_scores_pick_the_largest_and_stay_finite),
        cmocka_unit_test(tiny_weights_keep_their_relative_error),
        cmocka_unit_test(outputs_ignore_later_tokens_exactly),
        cmocka_unit_test(values_outside_the_window_may_be_huge),
        cmocka_unit_test(cut_attention_equals_the_reference),
        cmocka_unit_test(attention_has_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(scratch_is_linear_in_tokens),
        cmocka_unit_test(backward_is_the_derivative_of_forward),
        cmocka_unit_test(backward_agrees_with_the_reference_in_every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
