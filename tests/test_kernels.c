/* test_kernels.c - products, maps, norms, dispatch: every table against ref or against exact arithmetic.
 * Attention has its own file, test_attention.c. */
#include "kernel_tables.h"

#include <float.h>

/* ---- dispatch ------------------------------------------------------------------------------ */

static void every_isa_name_is_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < HOP_ISA_COUNT; i++) {
        hop_isa isa;
        assert_true(hop_isa_from_name(hop_isa_name((hop_isa)i), &isa));
        assert_int_equal(isa, i);
    }
    hop_isa isa;
    assert_false(hop_isa_from_name("mmx", &isa));
    assert_false(hop_isa_from_name(NULL, &isa));
}

static void the_environment_masks_the_cpu_until_somebody_selects(void **state)
{
    (void)state;
    setenv("HOPBOUND_ISA", "scalar", 1);
    hop__kernels_use(NULL); /* as at the start of the program */
    assert_int_equal(hop_kernels_selected(), HOP_ISA_SCALAR);
    setenv("HOPBOUND_ISA", "no such thing", 1);
    hop__kernels_use(NULL);
    assert_int_equal(hop_kernels_selected(), hop_isa_best());
    unsetenv("HOPBOUND_ISA");
    hop__kernels_use(NULL);
    assert_int_equal(hop_kernels_selected(), hop_isa_best());
    assert_int_equal(hop_kernels_select(HOP_ISA_REF, NULL), HOP_OK);
    assert_int_equal(hop_kernels_selected(), HOP_ISA_REF);
}

static void an_isa_this_machine_lacks_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(hop_kernels_select(HOP_ISA_SCALAR, NULL), HOP_OK);
    for (int i = 0; i <= HOP_ISA_COUNT; i++) {
        if (hop_isa_available((hop_isa)i)) continue;
        hop_error err = {0};
        assert_int_equal(hop_kernels_select((hop_isa)i, &err), HOP_EUNKNOWN);
        assert_true(err.text[0] != '\0');
        assert_int_equal(hop_kernels_selected(), HOP_ISA_SCALAR);
    }
}

/* ---- products ------------------------------------------------------------------------------ */

typedef struct product {
    int64_t m, n, k, ldc;
    hop_mat a, b;
    float *c;
} product;

/* Strides: 0 rows, 1 a transposed, 2 b transposed, 3 neither dimension contiguous. */
static product product_new(int64_t m, int64_t n, int64_t k, int strides, double size)
{
    product p = {m, n, k, n + 3, {0}, {0}, NULL};
    p.a = (hop_mat){random_new(2 * (m + 1) * (k + 2), 1, size), k + 2, 1};
    p.b = (hop_mat){random_new(2 * (k + 1) * (n + 2), 2, size), n + 2, 1};
    if (strides == 1) p.a.rs = 1, p.a.cs = m + 1;
    if (strides == 2) p.b.rs = 1, p.b.cs = k + 1;
    if (strides == 3) p.a.rs = 2 * k, p.a.cs = 2, p.b.rs = 2 * n, p.b.cs = 2;
    p.c = random_new(m * p.ldc, 3, size);
    return p;
}

static void product_free(product *p)
{
    hop_free((void *)p->a.p);
    hop_free((void *)p->b.p);
    hop_free(p->c);
}

/* The contract: within HOP_DOT_ERROR(k + 1) * sum |terms|, the old c being one more term. Columns behind n
 * are the caller's. */
static void check_product(product *p, bool accumulate)
{
    float *old = floats_new(p->m * p->ldc);
    memcpy(old, p->c, sizeof(float) * (size_t)(p->m * p->ldc));
    for (int64_t i = 0; !accumulate && i < p->m; i++) poison(p->c + i * p->ldc, p->n);
    hop_gemm(p->c, p->ldc, p->a, p->b, p->m, p->n, p->k, accumulate, NULL);
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double sum = accumulate ? old[i * p->ldc + j] : 0.0, size = fabs(sum);
            for (int64_t e = 0; e < p->k; e++) {
                double term = (double)p->a.p[i * p->a.rs + e * p->a.cs] * p->b.p[e * p->b.rs + j * p->b.cs];
                sum += term;
                size += fabs(term);
            }
            assert_near(p->c[i * p->ldc + j], sum, HOP_DOT_ERROR(p->k + 1) * size);
        }
        for (int64_t j = p->n; j < p->ldc; j++) assert_true(p->c[i * p->ldc + j] == old[i * p->ldc + j]);
    }
    hop_free(old);
}

static void products_of_any_shape_and_stride_keep_the_dot_error(void **state)
{
    static const int64_t shapes[][3] = {{1, 1, 1},    {1, 17, 5},   {2, 16, 64},  {3, 8, 12},   {5, 33, 7},
                                        {6, 16, 300}, {7, 15, 1},   {11, 31, 13}, {12, 32, 24}, {13, 1, 257},
                                        {24, 12, 12}, {25, 65, 41}, {61, 29, 3},  {64, 64, 64}, {250, 9, 10},
                                        {12, 530, 9}, {9, 4, 600},  {14, 40, 0}};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int strides = 0; strides < 4; strides++)
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                product p = product_new(shapes[s][0], shapes[s][1], shapes[s][2], strides, 1.0);
                check_product(&p, accumulate);
                product_free(&p);
            }
}

static void integer_matrices_multiply_exactly(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    {
        product p = product_new(37, 45, 700, 0, 50.0);
        float *a = (float *)p.a.p, *b = (float *)p.b.p;
        for (int64_t i = 0; i < 37 * 702; i++) a[i] = rintf(a[i]);
        for (int64_t i = 0; i < 700 * 47; i++) b[i] = rintf(b[i]);
        hop_gemm(p.c, p.ldc, p.a, p.b, 37, 45, 700, false, NULL);
        for (int64_t i = 0; i < 37; i++)
            for (int64_t j = 0; j < 45; j++) {
                int64_t sum = 0; /* at most 700·50·50 < 2^24: every partial sum is a float */
                for (int64_t e = 0; e < 700; e++) sum += (int64_t)a[i * 702 + e] * (int64_t)b[e * 47 + j];
                assert_true(p.c[i * p.ldc + j] == (float)sum);
            }
        product_free(&p);
    }
}

static void products_have_the_same_bits_for_any_number_of_threads(void **state)
{
    const hop__kernels *t;
    (void)state;
    hop_pool *pools[3] = {NULL, hop_pool_new(2), hop_pool_new(3)};
    FOR_EACH_TABLE(t)
    {
        enum { m = 131, n = 70, k = 300, size = m * (n + 3) };
        product p = product_new(m, n, k, 2, 1.0);
        float *first = floats_new(size);
        for (int i = 0; i < 3; i++) {
            poison(p.c, size);
            hop_gemm(p.c, p.ldc, p.a, p.b, m, n, k, false, pools[i]);
            if (i == 0) memcpy(first, p.c, sizeof(float) * size);
            for (int64_t r = 0; r < m; r++)
                assert_memory_equal(first + r * p.ldc, p.c + r * p.ldc, sizeof(float) * n);
        }
        hop_free(first);
        product_free(&p);
    }
    for (int i = 0; i < 3; i++) hop_pool_free(pools[i]);
}

/* k + 2 roundings: the terms and the bias. */
static void a_layer_is_its_product_plus_bias_for_any_number_of_rows(void **state)
{
    static const int64_t shapes[][3] = {{1, 1, 1},    {1, 24, 12}, {1, 300, 64}, {2, 7, 41},
                                        {3, 64, 100}, {4, 5, 6},   {50, 39, 65}};
    const hop__kernels *t;
    (void)state;
    hop_pool *pool = hop_pool_new(2);
    FOR_EACH_TABLE(t)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int with_bias = 0; with_bias < 2; with_bias++) {
            int64_t rows = shapes[s][0], out = shapes[s][1], in = shapes[s][2];
            float *x = random_new(rows * in, 4, 1.0), *w = random_new(out * in, 5, 1.0);
            float *bias = random_new(out, 6, 1.0), *y = floats_new(rows * out);
            poison(y, rows * out);
            hop_linear(y, x, w, with_bias ? bias : NULL, rows, out, in, pool);
            for (int64_t i = 0; i < rows * out; i++) {
                double sum = with_bias ? bias[i % out] : 0.0, size = fabs(sum);
                for (int64_t e = 0; e < in; e++) {
                    double term = (double)x[i / out * in + e] * w[i % out * in + e];
                    sum += term;
                    size += fabs(term);
                }
                assert_near(y[i], sum, HOP_DOT_ERROR(in + 1) * size);
            }
            hop_free(x), hop_free(w), hop_free(bias), hop_free(y);
        }
    hop_pool_free(pool);
}

/* Each of from, plus, times and sum there or not; rows of their own, one for all, or c itself. c to the bit.
 */
static void what_meets_a_product_on_its_way_is_what_is_done_to_it_after(void **state)
{
    static const int64_t shapes[][3] = {{1, 1, 1},    {5, 33, 7},    {13, 32, 300}, {24, 16, 70},
                                        {64, 64, 64}, {270, 20, 10}, {30, 530, 65}, {14, 40, 0}};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int with = 0; with < 48; with++) {
            const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2], ld = n + 3;
            product p = product_new(m, n, k, with % 4, 1.0);
            float *more[3], *want = floats_new(m * ld), *sum = random_new(n, 9, 1.0), *sums = floats_new(n);
            double *size = calloc((size_t)n, sizeof *size);
            for (int i = 0; i < 3; i++) more[i] = random_new(m * ld, (uint64_t)(20 + i), 1.0);
            hop_product x = {.c = p.c, .ldc = ld, .a = p.a, .b = p.b, .m = m, .n = n, .k = k};
            if (with & 1) x.from = with & 32 ? (hop_rows){p.c, ld} : (hop_rows){more[0], 0};
            if (with & 2) x.plus = (hop_rows){more[1], with & 16 ? 0 : ld};
            if (with & 4) x.times = (hop_rows){more[2], with & 16 ? 0 : ld};
            if (with & 8) x.sum = sum;
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < ld; j++)
                    want[i * ld + j] = x.from.p && j < n ? x.from.p[i * x.from.stride + j] : p.c[i * ld + j];
            memcpy(sums, sum, sizeof(float) * (size_t)n);
            hop_gemm(want, ld, p.a, p.b, m, n, k, x.from.p != NULL, NULL);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    float *w = &want[i * ld + j];
                    if (x.plus.p) *w += x.plus.p[i * x.plus.stride + j];
                    if (x.times.p) *w *= x.times.p[i * x.times.stride + j];
                    sums[j] += *w, size[j] += fabs(*w);
                }
            hop_multiply(&x, NULL);
            assert_memory_equal(want, p.c, sizeof(float) * (size_t)(m * ld));
            for (int64_t j = 0; x.sum && j < n; j++) /* the last factor may be fused with the sum */
                assert_near(sum[j], sums[j], 2 * HOP_DOT_ERROR(m + 1) * (size[j] + 1.0));
            free(size);
            for (int i = 0; i < 3; i++) hop_free(more[i]);
            hop_free(want), hop_free(sum), hop_free(sums);
            product_free(&p);
        }
}

static void a_matrix_laid_out_before_gives_the_same_bits(void **state)
{
    static const int64_t rows[] = {1, 4, 12, 50, 128, 270}, terms[] = {1, 31, 64, 130, 600};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (int s = 0; s < 6 * 5 * 2; s++) {
        const int64_t m = rows[s % 6], k = terms[s / 6 % 5], n = 96;
        product p = product_new(m, n, k, s >= 30 ? 2 : 0, 1.0);
        float *want = floats_new(m * p.ldc), *laid = floats_new(k * n);
        hop_gemm(want, p.ldc, p.a, p.b, m, n, k, false, NULL);
        assert_true(hop_panels_fit(n) && !hop_panels_fit(n + 1) && !hop_panels_fit(0));
        hop_panels(laid, p.b, k, n);
        const hop_product x = {.c = p.c, .ldc = p.ldc, .a = p.a, .panels = laid, .m = m, .n = n, .k = k};
        hop_multiply(&x, NULL);
        for (int64_t i = 0; i < m; i++)
            assert_memory_equal(want + i * p.ldc, p.c + i * p.ldc, sizeof(float) * (size_t)n);
        hop_free(want), hop_free(laid);
        product_free(&p);
    }
    assert_int_equal(hop_kernels_select(HOP_ISA_REF, NULL), HOP_OK);
    assert_false(hop_panels_fit(32)); /* the truth reads matrices as they lie */
}

/* ---- maps ---------------------------------------------------------------------------------- */

/* Every 257th bit pattern of all floats (tools: the whole range was run once, docs/SPEED.md). */
static void exp_keeps_its_error_over_all_floats(void **state)
{
    enum { block = 1 << 14 };
    const hop__kernels *t;
    (void)state;
    float *x = floats_new(block), *y = floats_new(block);
    FOR_EACH_TABLE(t)
    for (uint64_t u = 0; u < (1ull << 32); u += 257ull * block) {
        for (int i = 0; i < block; i++) x[i] = from_bits((uint32_t)(u + 257ull * (uint64_t)i));
        poison(y, block);
        hop_vexp(y, x, block);
        for (int i = 0; i < block; i++) {
            double want = exp((double)x[i]);
            if (isnan(x[i]))
                assert_true(isnan(y[i]));
            else if (want < 0x1p-120)
                assert_true(y[i] >= 0.0f && y[i] < 0x1p-120f &&
                            y[i] <= (1 + HOP_EXP_ERROR) * want + 0x1p-149);
            else if (want > FLT_MAX)
                assert_true(isinf(y[i]) || x[i] < 88.7229f);
            else
                assert_near(y[i], want, HOP_EXP_ERROR * want);
        }
    }
    hop_free(x), hop_free(y);
}

static void exp_of_zero_is_one_and_of_minus_infinity_zero(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    {
        float x[4] = {0.0f, -0.0f, -INFINITY, INFINITY}, y[4];
        hop_vexp(y, x, 4);
        assert_true(y[0] == 1.0f && y[1] == 1.0f && y[2] == 0.0f && isinf(y[3]));
    }
}

static void exp_of_next_to_nothing_is_one(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (uint32_t u = 0; u < 1u << 30; u += 9973) {
        float x[16], y[16];
        for (uint32_t i = 0; i < 16; i++) x[i] = (i & 1 ? -1.0f : 1.0f) * from_bits(u + i);
        hop_vexp(y, x, 16);
        for (int i = 0; i < 16; i++)
            if (fabs((double)x[i]) <= HOP_EXP_ONE) assert_true(y[i] == 1.0f);
    }
}

/* docs/THEORY.md section 6.5: whatever the order, fused or not, a sum differs from any one of its products by
 * that product's own rounding and twice the others. */
static void a_sum_differs_from_one_product_by_twice_the_others(void **state)
{
    enum { TERMS = 300 };
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 5, 1);
    for (int round = 0; round < 2000; round++) {
        float a[TERMS], b[TERMS], sum = 0, part[3] = {0};
        double others = 0, scale = ldexp(1, -(int)hop_rng_below(&rng, 60));
        int at = (int)hop_rng_below(&rng, TERMS), fused = round & 1;
        for (int i = 0; i < TERMS; i++) {
            a[i] = (float)(hop_rng_normal(&rng) * (i == at ? 1 : scale)), b[i] = (float)hop_rng_normal(&rng);
            if (i != at) others += fabs((double)a[i] * b[i]);
        }
        for (int i = 0; i < TERMS; i++) { /* three sums that are added up in the end */
            float *to = &part[hop_rng_below(&rng, 3)];
            *to = fused ? fmaf(a[i], b[i], *to) : *to + a[i] * b[i];
        }
        sum = part[2] + (part[0] + part[1]);
        double own = (double)a[at] * b[at];
        assert_true(fabs(sum - own) <=
                    2 * HOP_UNIT_ROUNDOFF * fabs(own) + 2 * others * (1 + 1e-4) + 0x1p-140);
    }
}

static void call_gelu(float *y, const float *a, const float *b, int64_t n)
{
    (void)b;
    hop_gelu(y, a, n);
}

static void call_relu(float *y, const float *a, const float *b, int64_t n)
{
    (void)b;
    hop_relu(y, a, n);
}

/* Lengths around a register; nothing behind the end is touched. 1e-6: a dozen roundings; gelu's tail, where
 * exp(-x²/2) amplifies the rounding of x², is covered by 1e-6 of |x| because it is itself below that. */
static void maps_agree_with_ref_for_all_lengths(void **state)
{
    void (*maps[])(float *, const float *, const float *, int64_t) = {hop_add, hop_swiglu, call_gelu,
                                                                      call_relu};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (int f = 0; f < 4; f++)
        for (int64_t n = 0; n < 70; n++) {
            float *a = random_new(n, 7, 12.0), *b = random_new(n, 8, 1.0), want[71], got[71];
            if (n > 4) a[1] = -1e30f, a[2] = 1e30f, a[3] = 0.0f, b[1] = b[2] = 0.5f;
            poison(got, 71);
            maps[f](got, a, b, n);
            hop__kernels_use(&hop__kernels_ref);
            maps[f](want, a, b, n);
            hop__kernels_use(t);
            for (int64_t i = 0; i < n; i++)
                assert_near(got[i], want[i], 1e-6 * fmax(fabs(want[i]), fmin(1.0, fabs(a[i]))));
            assert_true(isnan(got[n]));
            hop_free(a), hop_free(b);
        }
}

/* A sum of dim squares, a root, a quotient, two products: (dim + 8) units, bounded by 1e-5 here. */
static void norms_agree_with_ref(void **state)
{
    static const int64_t dims[] = {1, 2, 7, 8, 15, 33, 64, 130};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++)
        for (int kind = 0; kind < 3; kind++) {
            enum { rows = 37 }; /* more than two blocks of registers, and some left over */
            int64_t dim = dims[d], n = rows * dim;
            float *x = random_new(n, 9, 3.0), *w = random_new(dim, 10, 2.0), *b = random_new(dim, 11, 1.0);
            float *got = floats_new(n), *want = floats_new(n);
            for (int ref = 0; ref < 2; ref++) {
                float *y = ref ? want : got;
                hop__kernels_use(ref ? &hop__kernels_ref : t);
                poison(y, n);
                if (kind == 0)
                    hop_rmsnorm(y, x, w, rows, dim, 1e-5f);
                else
                    hop_layernorm(y, x, w, kind == 1 ? b : NULL, rows, dim, 1e-5f);
            }
            /* A layer norm of one number divides rounding errors by sqrt(eps). */
            for (int64_t i = 0; i < n; i++) assert_near(got[i], want[i], 1e-5 + 1e-5 * fabs(want[i]));
            hop_free(x), hop_free(w), hop_free(b), hop_free(got), hop_free(want);
        }
}

static void cutting_is_exact_rounding_for_every_width(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (int bits = 1; bits <= 24; bits++)
        for (uint64_t u = (uint64_t)bits; u < (1ull << 32); u += 500009 * 101) {
            float x[2] = {from_bits((uint32_t)u), from_bits((uint32_t)u & 0xffff8000u)}, y[2] = {x[0], x[1]};
            hop_round_significand(y, 2, bits);
            for (int i = 0; i < 2; i++) {
                int e;
                double m = frexp(x[i], &e);
                float want = isfinite(x[i]) ? (float)ldexp(rint(ldexp(m, bits)), e - bits) : x[i];
                if (isnan(x[i]))
                    assert_true(isnan(y[i]));
                else
                    assert_true(y[i] == want && signbit(y[i]) == signbit(x[i]));
            }
        }
    float tie[4] = {1.5f, 3.0f, 2.5f, 0x1.8p-140f};
    hop_round_significand(tie, 2, 1); /* with one bit the kept digit is 1, odd, so ties go up */
    hop_round_significand(tie + 2, 1, 2);
    hop_round_significand(tie + 3, 1, 1);
    assert_true(tie[0] == 2.0f && tie[1] == 4.0f && tie[2] == 2.0f && tie[3] == 0x1p-139f);
}

static void rope_turns_pairs_by_the_position(void **state)
{
    (void)state;
    enum { rows = 3, heads = 2, dim = 7, stride = heads * dim + 1 };
    float *x = random_new(rows * stride, 12, 1.0), y[rows * stride];
    memcpy(y, x, sizeof y);
    hop_rope(y, rows, stride, heads, dim, 5, 10000.0);
    for (int r = 0; r < rows; r++)
        for (int h = 0; h < heads; h++)
            for (int e = 0; e < dim / 2; e++) {
                const float *p = x + r * stride + h * dim + e, *got = y + r * stride + h * dim + e;
                double a = (5 + r) * pow(10000.0, -2.0 * e / dim);
                assert_near(got[0], p[0] * cos(a) - p[3] * sin(a), 2e-7); /* two roundings of numbers < 2 */
                assert_near(got[3], p[0] * sin(a) + p[3] * cos(a), 2e-7);
                assert_true(y[r * stride + h * dim + 6] == x[r * stride + h * dim + 6]); /* the odd one */
            }
    assert_true(y[stride - 1] == x[stride - 1]);
    hop_free(x);
}

enum { BLOCK_ROWS = 37, BLOCK_DIM = 19, BLOCK_ALL = BLOCK_ROWS * BLOCK_DIM };

/* Every kernel that works on rows or numbers alone, on rows first .. first + count - 1. */
static void all_rows(float *y, const float *x, const float *w, int64_t first, int64_t count)
{
    int64_t at = first * BLOCK_DIM, n = count * BLOCK_DIM;
    float *out = y + at;
    const float *in = x + at;
    hop_rmsnorm(out, in, w, count, BLOCK_DIM, 1e-5f), out += BLOCK_ALL;
    hop_layernorm(out, in, w, w, count, BLOCK_DIM, 1e-5f), out += BLOCK_ALL;
    hop_vexp(out, in, n), out += BLOCK_ALL;
    hop_relu(out, in, n), out += BLOCK_ALL;
    hop_gelu(out, in, n), out += BLOCK_ALL;
    hop_swiglu(out, in, in, n), out += BLOCK_ALL;
    hop_add(out, in, in, n), out += BLOCK_ALL;
    hop_vexp(out, in, n), hop_round_significand(out, n, 7), out += BLOCK_ALL;
    hop_vexp(out, in, n), hop_rope(out, count, BLOCK_DIM, 1, BLOCK_DIM, first, 1e4);
}

static void rows_have_the_same_bits_however_many_are_computed_together(void **state)
{
    (void)state;
    enum { KERNELS = 9 };
    float *x = random_new(BLOCK_ALL, 3, 4.0), *w = random_new(BLOCK_DIM, 4, 1.0);
    float *whole = floats_new(KERNELS * BLOCK_ALL), *blocks = floats_new(KERNELS * BLOCK_ALL);
    const hop__kernels *t;
    FOR_EACH_TABLE(t)
    {
        all_rows(whole, x, w, 0, BLOCK_ROWS);
        for (int64_t block = 1; block < BLOCK_ROWS; block += 5) {
            poison(blocks, KERNELS * BLOCK_ALL);
            for (int64_t r = 0; r < BLOCK_ROWS; r += block)
                all_rows(blocks, x, w, r, r + block < BLOCK_ROWS ? block : BLOCK_ROWS - r);
            assert_memory_equal(whole, blocks, sizeof(float) * KERNELS * BLOCK_ALL);
        }
    }
    hop_free(x), hop_free(w), hop_free(whole), hop_free(blocks);
}

static void the_peak_is_measured_and_wider_tables_are_not_slower(void **state)
{
    (void)state;
    assert_int_equal(hop_kernels_select(HOP_ISA_SCALAR, NULL), HOP_OK);
    double scalar = hop_peak_gflops(NULL);
    assert_int_equal(hop_kernels_select(hop_isa_best(), NULL), HOP_OK);
    assert_true(scalar > 0.01 && hop_peak_gflops(NULL) > 0.5 * scalar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_isa_name_is_read_back),
        cmocka_unit_test(the_environment_masks_the_cpu_until_somebody_selects),
        cmocka_unit_test(an_isa_this_machine_lacks_is_refused_and_changes_nothing),
        cmocka_unit_test(products_of_any_shape_and_stride_keep_the_dot_error),
        cmocka_unit_test(integer_matrices_multiply_exactly),
        cmocka_unit_test(products_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(a_layer_is_its_product_plus_bias_for_any_number_of_rows),
        cmocka_unit_test(what_meets_a_product_on_its_way_is_what_is_done_to_it_after),
        cmocka_unit_test(a_matrix_laid_out_before_gives_the_same_bits),
        cmocka_unit_test(exp_keeps_its_error_over_all_floats),
        cmocka_unit_test(exp_of_zero_is_one_and_of_minus_infinity_zero),
        cmocka_unit_test(exp_of_next_to_nothing_is_one),
        cmocka_unit_test(a_sum_differs_from_one_product_by_twice_the_others),
        cmocka_unit_test(maps_agree_with_ref_for_all_lengths),
        cmocka_unit_test(norms_agree_with_ref),
        cmocka_unit_test(cutting_is_exact_rounding_for_every_width),
        cmocka_unit_test(rope_turns_pairs_by_the_position),
        cmocka_unit_test(rows_have_the_same_bits_however_many_are_computed_together),
        cmocka_unit_test(the_peak_is_measured_and_wider_tables_are_not_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
