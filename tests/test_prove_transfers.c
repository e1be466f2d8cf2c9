/* Transfer functions of what is done to a token alone, beside what float32 makes of numbers that a set or an
 * interval holds: in the worst order of a sum, with the worst exponential that kernels.h allows. */
#include "test.h"

#include <hopbound/base.h>
#include <hopbound/kernels.h>

#include "elements.h"
#include "analysis.h"

enum { TIMES = 3000, MOST = 64 };

/* Rounded to float32. GCC 12 forgets to when it makes two such numbers at once (-O2, both in one struct). */
static double as_float(double x)
{
    volatile float f = (float)x;
    return f;
}

static int below(hop_rng *rng, int n)
{
    return (int)hop_rng_below(rng, (uint64_t)n);
}

static double size_drawn(hop_rng *rng)
{
    static const int exponents[] = {0, 0, 0, 3, -3, 20, -20, -66, -100, -126, -135, -140, 60, 118};
    return ldexp(1 + hop_rng_uniform(rng), exponents[below(rng, 14)]);
}

static ival draw_range(hop_rng *rng, double size, bool above)
{
    double lo = as_float(size * hop_rng_uniform(rng)), hi = as_float(size * (1 + hop_rng_uniform(rng)));
    if (below(rng, 3) == 0) return ival_point(hi);
    return above || below(rng, 2) ? (ival){lo, hi} : below(rng, 2) ? (ival){-lo, hi} : (ival){-hi, -lo};
}

static double draw(hop_rng *rng, ival x)
{
    double y = as_float(x.lo + (below(rng, 2) ? below(rng, 2) : hop_rng_uniform(rng)) * (x.hi - x.lo));
    return y >= x.lo && y <= x.hi ? y : x.lo;
}

/* Is `y`, as it was formed, in the interval? One that says nothing holds everything; it must not be all there is. */
static int expect(ival x, double y, const char *what)
{
    if (x.lo == -INFINITY && x.hi == INFINITY) return 0;
    if (!(x.lo <= y && y <= x.hi))
        fail_msg("%s: %.17g is formed, not in [%.17g, %.17g]", what, y, x.lo, x.hi);
    return 1;
}

/* The worst exponentials that the contract of kernels.h allows. */
static double kernels_exp(hop_rng *rng, double x)
{
    double e = exp(x);
    if (fabs(x) <= HOP_EXP_ONE) return 1;
    if (e < 0x1p-120 && below(rng, 2)) return 0;
    double y = as_float(e * (1 + 0.85 * (below(rng, 3) - 1) * HOP_EXP_ERROR));
    return x <= 0 && y > 1 ? 1 : y;
}

/* ---- lines of programs ------------------------------------------------------------------------------- */

static double formed(hop_rng *rng, hop_prim prim, double a, double b)
{
    switch (prim) {
    case HOP_PRIM_MUL: return (float)a * (float)b;
    case HOP_PRIM_ADD: return (float)a + (float)b;
    case HOP_PRIM_SUB: return (float)a - (float)b;
    case HOP_PRIM_DIV: return (float)a / (float)b;
    case HOP_PRIM_SQRT: return sqrtf((float)a);
    case HOP_PRIM_EXP: return kernels_exp(rng, a);
    case HOP_PRIM_EXPF: return expf((float)a);
    case HOP_PRIM_EXPM1: return expm1f((float)a);
    case HOP_PRIM_LEAST: return a < b ? a : b;
    case HOP_PRIM_MAX: return a > b ? a : b;
    case HOP_PRIM_NEG: return -a;
    default: fail(); return 0;
    }
}

static void lines_of_programs_hold_what_float32_makes(void **state)
{
    static const hop_prim prims[] = {HOP_PRIM_MUL,  HOP_PRIM_ADD,  HOP_PRIM_SUB,   HOP_PRIM_DIV,
                                     HOP_PRIM_SQRT, HOP_PRIM_EXP,  HOP_PRIM_EXPM1, HOP_PRIM_LEAST,
                                     HOP_PRIM_NEG,  HOP_PRIM_EXPF, HOP_PRIM_MAX};
    hop_rng rng;
    hop_rng_init(&rng, 1, 1);
    (void)state;
    for (size_t k = 0; k < sizeof prims / sizeof *prims; k++) {
        const hop_prim prim = prims[k];
        const hop_line list[] = {{.name = "a", .prim = HOP_PRIM_INPUT},
                                 {.name = "b", .prim = HOP_PRIM_INPUT},
                                 {.name = "y", .prim = prim, .of = {"a", "b"}},
                                 {.name = NULL}};
        const hop_program program = {.op = "one", .form = "row", .part = {list}, .reads = "y"};
        hop__memory m = {0};
        hop__elements e;
        int64_t told = 0;
        assert_true(hop__elements_open(&m, &e, &program, 1, 1));
        for (int i = 0; i < TIMES; i++) {
            const bool exponential = prim == HOP_PRIM_EXP || prim == HOP_PRIM_EXPM1 || prim == HOP_PRIM_EXPF;
            const bool above = prim == HOP_PRIM_DIV || prim == HOP_PRIM_SQRT;
            double size = exponential ? ldexp(1, below(&rng, 20) - 12) : size_drawn(&rng);
            ival a = draw_range(&rng, size, above),
                 b = draw_range(&rng, below(&rng, 2) ? size : size_drawn(&rng), above);
            if (exponential) a = (ival){-ival_mag(a), -0.5 * ival_mag(a)};
            hop__elements_give(&e, "a", &a), hop__elements_give(&e, "b", &b);
            ival y = *hop__elements_run(&e);
            for (int d = 0; d < 8; d++)
                told += expect(y, formed(&rng, prim, draw(&rng, a), draw(&rng, b)), hop_prim_name(prim));
        }
        assert_true(told > TIMES * 2);
        hop__memory_free(&m);
    }
}

static void quotients_by_what_may_be_zero_say_nothing(void **state)
{
    const hop_line list[] = {{.name = "a", .prim = HOP_PRIM_INPUT},
                             {.name = "b", .prim = HOP_PRIM_INPUT},
                             {.name = "y", .prim = HOP_PRIM_DIV, .of = {"a", "b"}},
                             {.name = NULL}};
    const hop_program program = {.op = "one", .form = "row", .part = {list}, .reads = "y"};
    const ival a = {1, 2}, bad[] = {{0, 1}, {-1, 1}, {-1, 0}, {0, 0}};
    hop__memory m = {0};
    hop__elements e;
    (void)state;
    assert_true(hop__elements_open(&m, &e, &program, 1, 1));
    for (int i = 0; i < 4; i++) {
        hop__elements_give(&e, "a", &a), hop__elements_give(&e, "b", &bad[i]);
        ival y = *hop__elements_run(&e);
        assert_true(y.lo == -INFINITY && y.hi == INFINITY);
    }
    hop__memory_free(&m);
}

/* One is large, and of the others float32 sees nothing beside it; or any. */
static void draw_terms(hop_rng *rng, double *x, int n, int how)
{
    double size = size_drawn(rng);
    for (int i = 0; i < n; i++) x[i] = how == 0 ? (i ? 0x1p-24 : 1) : as_float(size * hop_rng_normal(rng));
}

static double add_up(hop_rng *rng, const double *x, int n)
{
    int first = below(rng, 2) ? 0 : below(rng, n);
    float sum = 0;
    for (int i = 0; i < n; i++) sum += (float)x[(first + i) % n];
    return sum;
}

static void sums_of_rows_hold_what_float32_makes(void **state)
{
    const hop_line list[] = {{.name = "a", .prim = HOP_PRIM_INPUT, .value = 1 << HOP_AXIS_K},
                             {.name = "y", .prim = HOP_PRIM_SUM, .of = {"a"}, .axis = HOP_AXIS_K},
                             {.name = NULL}};
    const hop_program program = {.op = "one", .form = "row", .part = {list}, .reads = "y"};
    hop__memory m = {0};
    hop__elements e;
    hop_rng rng;
    int64_t told = 0;
    hop_rng_init(&rng, 2, 1);
    (void)state;
    assert_true(hop__elements_open(&m, &e, &program, MOST, 1));
    for (int i = 0; i < TIMES; i++) {
        double x[MOST];
        ival a[MOST];
        draw_terms(&rng, x, MOST, i % 2);
        for (int k = 0; k < MOST; k++) a[k] = ival_point(x[k]);
        hop__elements_give(&e, "a", a);
        told += expect(*hop__elements_run(&e), add_up(&rng, x, MOST), "sum");
    }
    assert_true(told > TIMES / 2);
    ival large[MOST];
    for (int k = 0; k < MOST; k++) large[k] = ival_point(k % 2 ? -9e36 : 9e36);
    hop__elements_give(&e, "a", large);
    assert_true(hop__elements_run(&e)->hi == INFINITY); /* in some order it overflows, though it is 0 */
    hop__memory_free(&m);
}

/* ---- activations --------------------------------------------------------------------------------------- */

/* As acts.c has them, of e = e^-|x|. */
static double act_formed(hop_prim act, float x, float e)
{
    switch (act) {
    case HOP_PRIM_SIGMOID: return (x < 0 ? e : 1.0f) / (1.0f + e);
    case HOP_PRIM_SILU: return x * ((x < 0 ? e : 1.0f) / (1.0f + e));
    case HOP_PRIM_SOFTPLUS: return (x > 0 ? x : 0.0f) + log1pf(e);
    case HOP_PRIM_TANH: return tanhf(x);
    case HOP_PRIM_ELU1: return x > 0 ? x + 1.0f : e;
    case HOP_PRIM_RELU: return x > 0 ? x : 0.0f;
    default: fail(); return 0;
    }
}

static void activations_hold_what_float32_makes(void **state)
{
    static const hop_prim acts[] = {HOP_PRIM_SIGMOID, HOP_PRIM_SILU, HOP_PRIM_SOFTPLUS,
                                    HOP_PRIM_TANH,    HOP_PRIM_ELU1, HOP_PRIM_RELU};
    hop_rng rng;
    hop_rng_init(&rng, 3, 1);
    (void)state;
    for (size_t k = 0; k < sizeof acts / sizeof *acts; k++)
        for (int i = 0; i < TIMES; i++) {
            ival x = draw_range(&rng, ldexp(1, below(&rng, 14) - 7), false),
                 y = hop__function_bounds(acts[k], x);
            for (int d = 0; d < 8; d++) {
                float v = (float)draw(&rng, x);
                assert_int_equal(expect(y, act_formed(acts[k], v, (float)kernels_exp(&rng, -fabs((double)v))),
                                        "activation"),
                                 1);
            }
        }
    for (int i = 0; i < TIMES; i++) {
        ival x = draw_range(&rng, ldexp(1, below(&rng, 20) - 12), true),
             y = hop__exp_bounds((ival){-x.hi, -x.lo});
        for (int d = 0; d < 8; d++) expect(y, kernels_exp(&rng, -draw(&rng, x)), "exp");
        float v = (float)draw(&rng, (ival){-6, 6}), g;
        hop_gelu(&g, &v, 1);
        expect(hop__function_bounds(HOP_PRIM_GELU, ival_point(v)), g, "gelu");
    }
    ival none = hop__function_bounds(HOP_PRIM_RELU, (ival){-INFINITY, INFINITY});
    assert_true(none.lo == -INFINITY && none.hi == INFINITY); /* what may be no number is not made one */
}

/* ---- sets of one vector -------------------------------------------------------------------------------- */

static hop__set *of_numbers(hop__memory *m, const double *x, int64_t n)
{
    hop__set *s = hop__set_new(m, n);
    assert_non_null(s);
    for (int64_t i = 0; i < n; i++) s->mid[i] = x[i];
    hop__set_canonical(m, s);
    return s;
}

static void linear_maps_hold_sums_in_any_order(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 4, 1);
    (void)state;
    int told = 0;
    for (int i = 0; i < TIMES; i++) {
        hop__memory m = {0};
        double x[MOST], t[MOST + 1];
        float w[MOST], bias = i % 4 < 2 ? 0 : i % 4 == 2 ? 1 : 100;
        draw_terms(&rng, x, MOST, i % 2);
        if (i % 4 == 2) x[0] = 0x1p-24;
        for (int k = 0; k < MOST; k++)
            w[k] = i % 2 ? (float)hop_rng_normal(&rng) : 1, t[k + 1] = (float)x[k] * w[k];
        t[0] = bias;
        hop__matrix map = {.w = w, .bias = &bias, .out = 1, .in = MOST, .row_step = MOST, .col_step = 1};
        hop__set *y = hop__set_linear(&m, of_numbers(&m, x, MOST), map);
        assert_non_null(y);
        if (!m.overflow)
            told += expect(hop__set_range(y, 0),
                           i % 2 ? add_up(&rng, t, MOST + 1) : add_up(&(hop_rng){0}, t, MOST + 1), "linear");
        hop__memory_free(&m);
    }
    assert_true(told > TIMES / 2);
}

/* W is v·m, rounded; their class forms m (v (n x)), with a rounding behind each. */
static void maps_with_multipliers_in_them_hold_what_is_multiplied_apart(void **state)
{
    int64_t beyond = 0;
    hop_rng rng;
    hop_rng_init(&rng, 11, 1);
    (void)state;
    for (int i = 0; i < 10 * TIMES; i++) {
        hop__memory m = {0};
        const int64_t in = 1 + below(&rng, 3);
        float w[3], v[3], sum = 0;
        double x[3], size = ldexp(1, below(&rng, 8) - 4);
        const float by = (float)(size * (0.5 + hop_rng_uniform(&rng))),
                    n = (float)(0.5 + hop_rng_uniform(&rng));
        for (int64_t k = 0; k < in; k++) {
            v[k] = (float)hop_rng_uniform(&rng), x[k] = (float)hop_rng_uniform(&rng);
            w[k] = (float)((double)v[k] * (float)((double)by * n));
        }
        for (int64_t k = 0; k < in; k++) sum += v[k] * (n * (float)x[k]);
        hop__matrix map = {
            .w = w, .out = 1, .in = in, .row_step = in, .col_step = 1, .later = HOP_FOREIGN_UNITS};
        hop__set *y = hop__set_linear(&m, of_numbers(&m, x, in), map);
        expect(hop__set_range(y, 0), (double)(by * sum), "multiplied apart");
        map.later = 0;
        const ival plain = hop__set_range(hop__set_linear(&m, of_numbers(&m, x, in), map), 0);
        beyond += (double)(by * sum) < plain.lo || (double)(by * sum) > plain.hi;
        hop__memory_free(&m);
    }
    assert_true(beyond > 0); /* else nothing was tested */
}

static void sums_of_streams_hold_what_float32_makes(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 5, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        hop__memory m = {0};
        double size = size_drawn(&rng), x = as_float(size * hop_rng_normal(&rng)),
               y = as_float(size * hop_rng_normal(&rng) * ldexp(1, below(&rng, 30)));
        hop__set *s = hop__set_add(&m, of_numbers(&m, &x, 1), of_numbers(&m, &y, 1));
        assert_non_null(s);
        if (!m.overflow) expect(hop__set_range(s, 0), (float)x + (float)y, "sum");
        hop__memory_free(&m);
    }
    hop__memory m = {0};
    double x = 1, y = 0x1p-60; /* the middle is a double, too */
    hop__set *s = of_numbers(&m, &x, 1);
    hop__set *t = of_numbers(&m, &y, 1), *sum = hop__set_add(&m, s, t);
    assert_true(sum->mid[0] - sum->rad[0] <= 1 && sum->mid[0] + sum->rad[0] > 1);
    hop__memory_free(&m);
}

/* Where a sum may leave float32's range in some order, it is said. */
static void what_may_overflow_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        hop__memory m = {0};
        const double x[2] = {8e36, -8e36}, y[2] = {i == 3 ? 1 : 7e36, i == 3 ? 1 : 7e36};
        const float w[2] = {i == 2 ? 0.125f : 1, 1};
        hop__matrix map = {.w = w, .out = 1, .in = 2, .row_step = 2, .col_step = 1};
        hop__set *s = of_numbers(&m, x, 2);
        if (i == 0 || i == 3) hop__set_add(&m, s, of_numbers(&m, y, 2));
        if (i == 1 || i == 2) hop__set_linear(&m, s, map);
        assert_int_equal(m.overflow, i < 2); /* 9e36 is within */
        hop__memory_free(&m);
    }
}

/* Multiples of 2^grid: 2^24 of them at the most, none of them a product that float32 rounds. */
static void sums_are_exact_only_on_grids_that_float32_has(void **state)
{
    (void)state;
    assert_true(hop__exact_sum(-3, 0x1p21 - 1) && hop__exact_sum(HOP__ANY_GRID, 1));
    assert_false(hop__exact_sum(-3, 0x1p21) || hop__exact_sum(HOP__NO_GRID, 1));
    assert_false(hop__exact_sum(-150, 0x1p-140) || hop__exact_sum(120, 0x1p121));
    assert_int_equal(hop__low_bit(0.75), -2);
    assert_int_equal(hop__low_bit(-0x1p-149), -149);
    assert_int_equal(hop__low_bit(0x1.8p-1073), -1074);
}

/* Rounded to so many significant bits, to nearest. */
static double cut(double x, int bits)
{
    int e;
    double m = frexp(x, &e);
    return ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

static void numbers_of_few_bits_are_held(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 6, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        hop__memory m = {0};
        int bits = 1 + below(&rng, 23);
        double x =
            below(&rng, 2) ? as_float(hop_rng_normal(&rng) * size_drawn(&rng)) : below(&rng, 4000) - 2000;
        hop__set *s = hop__set_rounded(&m, of_numbers(&m, &x, 1), bits);
        if (fabs(x) > 0x1p-120) expect(hop__set_range(s, 0), cut(x, bits), "cut");
        hop__memory_free(&m);
    }
}

/* ---- norms --------------------------------------------------------------------------------------------- */

/* x / sqrt(mean x² + eps) w + b in float32, squares added up from the first to the last. */
static double norm_formed(const double *x, int n, double eps, float w, float b, bool centred)
{
    float sum = 0, mean = 0;
    for (int i = 0; i < n; i++) mean += (float)x[i];
    mean = centred ? mean / (float)n : 0;
    for (int i = 0; i < n; i++) sum += ((float)x[i] - mean) * ((float)x[i] - mean);
    float y = ((float)x[0] - mean) * (1 / sqrtf(sum / (float)n + (float)eps)) * w;
    return b != 0 ? y + b : y;
}

static void norms_hold_what_float32_makes(void **state)
{
    enum { ROW = 512 };
    hop_rng rng;
    hop_rng_init(&rng, 7, 1);
    (void)state;
    int told = 0;
    for (int i = 0; i < 500; i++) {
        hop__memory m = {0};
        double x[ROW];
        float w[ROW], b[ROW];
        bool centred = i % 4 == 3, bias = below(&rng, 2);
        for (int k = 0; k < ROW; k++) {
            x[k] = i % 2 ? as_float(hop_rng_normal(&rng))
                   : !k  ? 1
                   : i % 4 == 0
                       ? 0x1.fp-13                        /* squares that the sum does not see, .. */
                       : as_float(sqrt(16.49 * 0x1p-23)); /* .. and of which it loses half a unit each */
            if (centred) x[k] += 1000;                    /* beside which the rest is little */
            if (i % 4 == 1) x[k] = as_float(x[k] * 0x1p-60 * size_drawn(&rng));
            w[k] = 1 + (float)hop_rng_uniform(&rng), b[k] = bias ? (float)(1e4 * hop_rng_normal(&rng)) : 0;
        }
        hop__set *y = hop__set_norm(&m, of_numbers(&m, x, ROW), centred ? HOP_NORM_LAYER : HOP_NORM_RMS, w,
                                    bias ? b : NULL, 1e-6);
        assert_non_null(y);
        if (!m.overflow)
            told += expect(hop__set_range(y, 0), norm_formed(x, ROW, 1e-6, w[0], b[0], centred), "norm");
        hop__memory_free(&m);
    }
    assert_true(told > 500 / 4);
}

/* Squares that are below the normal numbers, beside an eps that is, too: what they lose is no rounding. */
static void norms_of_next_to_nothing_hold_what_float32_makes(void **state)
{
    enum { ROW = 8 };
    hop_rng rng;
    hop_rng_init(&rng, 9, 1);
    (void)state;
    int told = 0;
    for (int i = 0; i < 500; i++) {
        hop__memory m = {0};
        double x[ROW], eps = i % 2 ? 1e-40 : 3e-39;
        const double size = ldexp(1, -66 - below(&rng, 6));
        for (int k = 0; k < ROW; k++) x[k] = as_float(size * (1 + hop_rng_uniform(&rng)));
        hop__set *y = hop__set_norm(&m, of_numbers(&m, x, ROW), HOP_NORM_RMS, NULL, NULL, eps);
        assert_non_null(y);
        if (!m.overflow) told += expect(hop__set_range(y, 0), norm_formed(x, ROW, eps, 1, 0, false), "norm");
        hop__memory_free(&m);
    }
    assert_true(told > 100);
}

/* Several tables, so that one factor stands for all rows: it varies, is rounded, and enlarges the box. */
static void one_factor_for_all_rows_holds_each(void **state)
{
    enum { WIDTH = 32, ROWS = 3 };
    hop_rng rng;
    hop_rng_init(&rng, 8, 1);
    (void)state;
    for (int i = 0; i < 200; i++) {
        hop__memory m = {0};
        hop__set *s = hop__set_new(&m, WIDTH);
        const double rad = i % 3 == 0 ? 0x1p-12 : 0;
        const bool varies = i % 3 == 1;
        float w[WIDTH];
        double cell[2][ROWS][WIDTH] = {{{0}}};
        for (int c = 0; c < WIDTH; c++) {
            s->mid[c] = c < WIDTH - 4 ? as_float(8 + hop_rng_uniform(&rng)) : 0, s->rad[c] = rad,
            w[c] = 1 + (float)hop_rng_uniform(&rng);
            for (int t = 0; t < 2; t++)
                for (int r = 0; c == WIDTH - 1 - t && r < ROWS; r++)
                    cell[t][r][c] = varies ? as_float(r) : 0x1p-10 * (r - 1);
        }
        for (int t = 0; t < 2; t++) {
            hop__term *u = hop__set_add_term(&m, s, HOP__POS + t, ROWS, NULL, ROWS);
            for (int r = 0; r < ROWS; r++)
                for (int c = 0; c < WIDTH; c++) *hop__term_cell(u, r, c) = cell[t][r][c];
        }
        hop__set_canonical(&m, s);
        hop__set *y = hop__set_norm(&m, s, HOP_NORM_RMS, w, NULL, 1e-6);
        assert_non_null(y);
        for (int d = 0; d < 16; d++) {
            double x[WIDTH];
            int row[2] = {below(&rng, ROWS), below(&rng, ROWS)};
            for (int c = 0; c < WIDTH; c++)
                x[c] = s->mid[c] + (below(&rng, 3) - 1) * rad + cell[0][row[0]][c] + cell[1][row[1]][c];
            for (int c = 0; c < WIDTH; c++) x[c] = as_float(x[c]);
            expect(hop__set_range(y, 0), norm_formed(x, WIDTH, 1e-6, w[0], 0, false), "one factor");
        }
        hop__memory_free(&m);
    }
}

/* Squares that may leave float32's range, row by row and with one factor for all rows. */
static void norms_that_may_overflow_are_told(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        hop__memory m = {0};
        const double x[2] = {1e19, 1e19};
        const float w[2] = {1, 1};
        hop__set *s = of_numbers(&m, x, 2);
        for (int t = 0; t < 2 && i; t++) { /* two tables in one group */
            hop__term *u = hop__set_add_term(&m, s, HOP__POS + t, 2, NULL, 2);
            *hop__term_cell(u, 1, t) = 1e15;
        }
        hop__set_canonical(&m, s);
        hop__set_norm(&m, s, HOP_NORM_RMS, w, NULL, 1e-6);
        assert_true(m.overflow);
        hop__memory_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_programs_hold_what_float32_makes),
        cmocka_unit_test(quotients_by_what_may_be_zero_say_nothing),
        cmocka_unit_test(sums_of_rows_hold_what_float32_makes),
        cmocka_unit_test(activations_hold_what_float32_makes),
        cmocka_unit_test(linear_maps_hold_sums_in_any_order),
        cmocka_unit_test(maps_with_multipliers_in_them_hold_what_is_multiplied_apart),
        cmocka_unit_test(sums_of_streams_hold_what_float32_makes),
        cmocka_unit_test(what_may_overflow_is_told),
        cmocka_unit_test(sums_are_exact_only_on_grids_that_float32_has),
        cmocka_unit_test(numbers_of_few_bits_are_held),
        cmocka_unit_test(norms_hold_what_float32_makes),
        cmocka_unit_test(norms_of_next_to_nothing_hold_what_float32_makes),
        cmocka_unit_test(norms_that_may_overflow_are_told),
        cmocka_unit_test(one_factor_for_all_rows_holds_each),
    };
    return cmocka_run_group_tests_name("prove_transfers", tests, NULL, NULL);
}
