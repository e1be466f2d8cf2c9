/* test_selective.c - the selective scan, forward and backward: every table against plain double loops written
 * here. */
#include <stdio.h>

#include "scan_case.h"

#include <hopbound/model.h>

/* The arrays of a case. */
enum { X, DELTA_, AA, BB, CC, DD, START, PARTS };

typedef struct select_case {
    hop_selective c;
    int64_t count[PARTS], used[PARTS], stride[PARTS];
    float *p[PARTS], *o, *d_o;
    double *d[PARTS], *truth, *last;
} select_case;

static void part(select_case *s, int a, int64_t rows, int64_t used, int64_t pad, double size)
{
    s->used[a] = used, s->stride[a] = used + pad, s->count[a] = rows * (used + pad);
    s->p[a] = random_new(s->count[a], 300 + (uint64_t)a, size);
    s->d[a] = doubles_new(s->count[a]);
}

static void sync(select_case *s)
{
    for (int a = 0; a < PARTS; a++)
        for (int64_t i = 0; i < s->count[a]; i++) s->d[a][i] = s->p[a][i];
}

/* delta in 0 .. 1, A in -2 .. 0, as after their activations. */
static select_case select_new(int64_t T, int64_t D, int64_t N)
{
    select_case s = {.c = {.tokens = T, .width = D, .states = N}};
    part(&s, X, T, D, 3, 1.0), part(&s, DELTA_, T, D, 1, 1.0), part(&s, AA, D, N, 0, 2.0);
    part(&s, BB, T, N, 2, 1.0), part(&s, CC, T, N, 1, 1.0), part(&s, DD, 1, D, 0, 1.0);
    part(&s, START, D, N, 0, 1.0);
    s.c.x_stride = s.stride[X], s.c.delta_stride = s.stride[DELTA_], s.c.b_stride = s.stride[BB];
    s.c.c_stride = s.stride[CC], s.c.o_stride = D + 5;
    for (int64_t i = 0; i < s.count[DELTA_]; i++) s.p[DELTA_][i] = fabsf(s.p[DELTA_][i]);
    for (int64_t i = 0; i < s.count[AA]; i++) s.p[AA][i] = -fabsf(s.p[AA][i]);
    s.o = floats_new(T * s.c.o_stride), s.d_o = random_new(T * s.c.o_stride, 398, 1.0);
    s.truth = doubles_new(T * s.c.o_stride), s.last = doubles_new(D * N);
    sync(&s);
    return s;
}

static void select_free(select_case *s)
{
    for (int a = 0; a < PARTS; a++) hop_free(s->p[a]), hop_free(s->d[a]);
    hop_free(s->o), hop_free(s->d_o), hop_free(s->truth), hop_free(s->last);
}

static hop_selective_in input(const select_case *s)
{
    return (hop_selective_in){s->p[X], s->p[DELTA_], s->p[AA], s->p[BB], s->p[CC], s->p[DD]};
}

static void truth_select(select_case *s)
{
    const hop_selective *c = &s->c;
    for (int64_t ch = 0; ch < c->width; ch++) {
        double *h = s->last + ch * c->states;
        for (int64_t n = 0; n < c->states; n++) h[n] = s->d[START][ch * c->states + n];
        for (int64_t t = 0; t < c->tokens; t++) {
            double x = s->d[X][t * c->x_stride + ch], delta = s->d[DELTA_][t * c->delta_stride + ch],
                   sum = s->d[DD][ch] * x;
            for (int64_t n = 0; n < c->states; n++) {
                h[n] = exp(delta * s->d[AA][ch * c->states + n]) * h[n] +
                       delta * s->d[BB][t * c->b_stride + n] * x;
                sum += s->d[CC][t * c->c_stride + n] * h[n];
            }
            s->truth[t * c->o_stride + ch] = sum;
        }
    }
}

static float *scratch_new(const hop_selective *c, bool backward, hop_pool *pool)
{
    int threads = hop_pool_threads(pool);
    int64_t size = (int64_t)(backward ? hop_selective_backward_scratch : hop_selective_scratch)(c, threads);
    float *scratch = floats_new(size);
    poison(scratch, size);
    return scratch;
}

/* From the initial state; returns the last one. */
static float *forward(select_case *s, hop_pool *pool)
{
    const int64_t size = s->c.width * s->c.states;
    float *state = floats_new(size), *scratch = scratch_new(&s->c, false, pool);
    hop_selective_in in = input(s);
    memcpy(state, s->p[START], sizeof(float) * (size_t)size);
    poison(s->o, s->c.tokens * s->c.o_stride);
    hop_selective_forward(s->o, state, &in, &s->c, scratch, pool);
    hop_free(scratch);
    return state;
}

static void check(select_case *s)
{
    const int64_t size = s->c.width * s->c.states;
    float *state = forward(s, NULL);
    assert_all_near("o", s->o, s->truth, s->c.tokens, s->c.o_stride, s->c.width, 1e-5);
    assert_all_near("state", state, s->last, 1, size, size, 1e-5);
    hop_free(state);
}

static void check_tables(select_case *s)
{
    const hop__kernels *t;
    truth_select(s);
    FOR_EACH_TABLE(t) check(s);
}

static const int64_t sizes[][3] = {{1, 1, 1},    {2, 3, 16},  {37, 10, 4},
                                   {64, 32, 16}, {65, 33, 7}, {1000, 70, 3}};

static void every_table_equals_the_equation(void **state)
{
    (void)state;
    for (int z = 0; z < 6; z++) {
        select_case s = select_new(sizes[z][0], sizes[z][1], sizes[z][2]);
        check_tables(&s);
        hop__kernels_use(&hop__kernels_ref);
        check(&s);
        select_free(&s);
    }
}

/* delta A from 0 to -1e30; and 10^5 tokens that are remembered for 10^4, which a biased e^x would show. */
static void extremes_and_long_sequences_stay_exact(void **state)
{
    static const float deltas[] = {0.0f, 1e30f, 60.0f, 1e-6f, 1.0f};
    (void)state;
    select_case s = select_new(200, 40, 5);
    for (int64_t i = 0; i < s.count[DELTA_]; i++) {
        s.p[DELTA_][i] = deltas[(i * 3 + i / 7) % 5];
        if (s.p[DELTA_][i] > 2.0f) s.p[X][i / s.stride[DELTA_] * s.stride[X] + i % s.stride[DELTA_]] = 0.0f;
    }
    sync(&s);
    check_tables(&s);
    select_free(&s);
    s = select_new(100000, 4, 3);
    for (int64_t i = 0; i < s.count[DELTA_]; i++) s.p[DELTA_][i] = 1e-4f;
    sync(&s);
    check_tables(&s);
    select_free(&s);
}

static void a_delta_of_zero_leaves_the_state_as_it_is(void **state)
{
    const hop__kernels *t;
    (void)state;
    select_case s = select_new(50, 21, 6);
    memset(s.p[DELTA_], 0, sizeof(float) * (size_t)s.count[DELTA_]);
    FOR_EACH_TABLE(t)
    {
        float *last = forward(&s, NULL);
        assert_memory_equal(last, s.p[START], sizeof(float) * 21 * 6);
        hop_free(last);
    }
    select_free(&s);
}

static void without_state_and_input_the_output_is_exactly_zero(void **state)
{
    const hop__kernels *t;
    (void)state;
    select_case s = select_new(50, 21, 6);
    memset(s.p[BB], 0, sizeof(float) * (size_t)s.count[BB]);
    memset(s.p[DD], 0, sizeof(float) * (size_t)s.count[DD]);
    memset(s.p[START], 0, sizeof(float) * 21 * 6);
    FOR_EACH_TABLE(t)
    {
        hop_free(forward(&s, NULL));
        for (int64_t i = 0; i < 50; i++)
            for (int64_t ch = 0; ch < 21; ch++) assert_true(s.o[i * s.c.o_stride + ch] == 0.0f);
    }
    select_free(&s);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void backward(select_case *s, float *const g[PARTS], hop_pool *pool)
{
    hop_selective_in in = input(s);
    hop_selective_grad want = {s->d_o, g[X], g[DELTA_], g[AA], g[BB], g[CC], g[DD], g[START]};
    float *scratch = scratch_new(&s->c, true, pool);
    for (int a = 0; a < PARTS; a++)
        if (g[a]) poison(g[a], s->count[a]);
    hop_selective_backward(&want, s->p[START], &in, &s->c, scratch, pool);
    hop_free(scratch);
}

static double loss(select_case *s)
{
    double sum = 0.0;
    truth_select(s);
    for (int64_t t = 0; t < s->c.tokens; t++)
        for (int64_t i = 0; i < s->c.width; i++)
            sum += s->d_o[t * s->c.o_stride + i] * s->truth[t * s->c.o_stride + i];
    return sum;
}

static void gradients_are_the_slopes_of_the_equation(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int64_t T = 1; T <= 35; T += 17) {
        select_case s = select_new(T, T == 18 ? 35 : 5, 3);
        float *g[PARTS];
        for (int a = 0; a < PARTS; a++) g[a] = floats_new(s.count[a]);
        for (int a = 0; a < PARTS; a++) {
            double *want = doubles_new(s.count[a]);
            for (int64_t i = 0; i < s.count[a]; i++) { /* off by some 1e-10, see test_scan_grads.c */
                double x = s.d[a][i], up;
                s.d[a][i] = x + 1e-5;
                up = loss(&s);
                s.d[a][i] = x - 1e-5;
                want[i] = (up - loss(&s)) / 2e-5;
                s.d[a][i] = x;
            }
            FOR_EACH_TABLE(t)
            {
                backward(&s, g, NULL);
                assert_near_over(1e-4, "slope", g[a], want, s.count[a] / s.stride[a], s.stride[a], s.used[a],
                                 1e-5);
            }
            hop__kernels_use(&hop__kernels_ref);
            backward(&s, g, NULL);
            assert_near_over(1e-3, "slope", g[a], want, s.count[a] / s.stride[a], s.stride[a], s.used[a],
                             1e-6);
            hop_free(want);
        }
        for (int a = 0; a < PARTS; a++) hop_free(g[a]);
        select_free(&s);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    hop_pool *pool = hop_pool_new(3);
    (void)state;
    hop_kernels_select(hop_isa_best(), NULL);
    select_case s = select_new(300, 150, 8);
    float *g[2][PARTS], *last[2];
    for (int i = 0; i < 2; i++) {
        for (int a = 0; a < PARTS; a++) g[i][a] = floats_new(s.count[a]);
        last[i] = forward(&s, i ? pool : NULL);
        backward(&s, g[i], i ? pool : NULL);
    }
    assert_memory_equal(last[0], last[1], sizeof(float) * 150 * 8);
    for (int a = 0; a < PARTS; a++) {
        assert_memory_equal(g[0][a], g[1][a], sizeof(float) * (size_t)s.count[a]);
        hop_free(g[0][a]), hop_free(g[1][a]);
    }
    hop_free(last[0]), hop_free(last[1]);
    select_free(&s);
    hop_pool_free(pool);
}

/* ---- the file -------------------------------------------------------------------------------- */

static float *tensor(const hop_safetensors *f, const char *name, int64_t *n)
{
    const hop_tensor *t = hop_safetensors_find(f, name);
    assert_non_null(t);
    *n = 1;
    for (int i = 0; i < t->rank; i++) *n *= t->shape[i];
    float *p = floats_new(*n);
    assert_int_equal(hop_tensor_floats(t, p, NULL), HOP_OK);
    return p;
}

/* got of batch entry b, summed over the batches for what they share. */
static void assert_tensor(const hop_safetensors *f, const char *name, const float *got)
{
    int64_t n;
    float *all = tensor(f, name, &n);
    double *want = doubles_new(n);
    for (int64_t i = 0; i < n; i++) want[i] = all[i];
    assert_all_near(name, got, want, 1, n, n, 1e-5);
    hop_free(all);
    hop_free(want);
}

static void the_file_of_others_agrees(void **state)
{
    static const char *const names[START] = {"x", "delta", "A", "B", "C", "D"};
    static const char *const grad_names[START] = {"dx", "ddelta", "dA", "dB", "dC", "dD"};
    const hop__kernels *t;
    char path[1000];
    hop_safetensors f = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/cores/selective.safetensors", getenv("HOPBOUND_TEST_DATA"));
    assert_int_equal(hop_safetensors_open(&f, path, NULL), HOP_OK);
    const int64_t *x = hop_safetensors_find(&f, "x")->shape, N = hop_safetensors_find(&f, "A")->shape[1];
    const int64_t B = x[0], T = x[1], D = x[2];
    hop_selective c = {T, D, N, D, D, N, N, D};
    FOR_EACH_TABLE(t)
    {
        float *in[START], *out[START], *o = floats_new(B * T * D), *last = floats_new(B * D * N), *d_o;
        int64_t n[START], no;
        d_o = tensor(&f, "do", &no);
        for (int a = 0; a < START; a++) in[a] = tensor(&f, names[a], &n[a]), out[a] = floats_new(n[a]);
        for (int64_t b = 0; b < B; b++) {
            const int64_t at[START] = {b * T * D, b * T * D, 0, b * T * N, b * T * N, 0};
            float *dA = floats_new(D * N), *dD = floats_new(D), *scratch = scratch_new(&c, true, NULL);
            hop_selective_in p = {in[X] + at[X],   in[DELTA_] + at[X], in[AA],
                                  in[BB] + at[BB], in[CC] + at[CC],    in[DD]};
            hop_selective_grad g = {
                d_o + at[X], out[X] + at[X], out[DELTA_] + at[X], dA, out[BB] + at[BB], out[CC] + at[CC], dD,
                NULL};
            hop_selective_forward(o + at[X], last + b * D * N, &p, &c, scratch, NULL);
            hop_selective_backward(&g, NULL, &p, &c, scratch, NULL);
            for (int64_t i = 0; i < D * N; i++) out[AA][i] += dA[i];
            for (int64_t i = 0; i < D; i++) out[DD][i] += dD[i];
            hop_free(dA), hop_free(dD), hop_free(scratch);
        }
        assert_tensor(&f, "o", o);
        assert_tensor(&f, "final_state", last);
        for (int a = 0; a < START; a++) {
            assert_tensor(&f, grad_names[a], out[a]);
            hop_free(in[a]), hop_free(out[a]);
        }
        hop_free(o), hop_free(last), hop_free(d_o);
    }
    hop_safetensors_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_equals_the_equation),
        cmocka_unit_test(extremes_and_long_sequences_stay_exact),
        cmocka_unit_test(a_delta_of_zero_leaves_the_state_as_it_is),
        cmocka_unit_test(without_state_and_input_the_output_is_exactly_zero),
        cmocka_unit_test(gradients_are_the_slopes_of_the_equation),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(the_file_of_others_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
