/* test_slopes.c - gradients of activations, norms, rotation, the short convolution and the elementwise
 * recurrence: every table, ref included, against central differences of the functions in double precision. */
#include "kernel_tables.h"

#define FOR_EACH_TABLE_AND_REF(t)              \
    const hop__kernels *list_[MAX_TABLES + 1]; \
    int all_ = fast_tables(list_);             \
    list_[all_++] = &hop__kernels_ref;         \
    for (int k_ = 0; k_ < all_ && (t = list_[k_], hop__kernels_use(t), 1); k_++)

static const double H = 1e-5; /* the differences are off by some 1e-10 */

/* ---- activations ------------------------------------------------------------------------------- */

static double relu_of(double x)
{
    return x > 0 ? x : 0;
}

static double gelu_of(double x)
{
    return 0.5 * x * erfc(-x * sqrt(0.5));
}

static double silu_of(double x)
{
    return x / (1 + exp(-x));
}

typedef struct map {
    void (*backward)(float *, float *, const float *, const float *, int64_t);
    double (*f)(double);
} map;

static const map maps[] = {
    {hop_relu_backward, relu_of}, {hop_gelu_backward, gelu_of}, {hop_silu_backward, silu_of}};

/* Values and slopes of a few units in the last place: gelu's Φ is good to 4e-7 of itself. */
static void activations_have_their_slopes_and_values(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (int m = 0; m < 3; m++)
        for (int64_t n = 1; n < 70; n++) {
            float *x = random_new(n, 7, 12.0), *dy = random_new(n, 8, 1.0), dx[71], y[71], alone[71];
            poison(dx, 71), poison(y, 71);
            maps[m].backward(dx, y, x, dy, n);
            for (int64_t i = 0; i < n; i++) {
                double slope = (maps[m].f(x[i] + H) - maps[m].f(x[i] - H)) / (2 * H);
                assert_near(dx[i], slope * dy[i], 2e-6);
                assert_near(y[i], maps[m].f(x[i]), 2e-6 * fmax(fabs(x[i]), 1));
            }
            assert_true(isnan(dx[n]) && isnan(y[n]));
            memcpy(alone, dy, sizeof(float) * (size_t)n); /* in place, without values: the same bits */
            maps[m].backward(alone, NULL, x, alone, n);
            assert_memory_equal(alone, dx, sizeof(float) * (size_t)n);
            hop_free(x), hop_free(dy);
        }
}

/* What is kept on the way forward is what backward finds: values to the bit, slopes too, whoever lies where.
 */
static void kept_slopes_of_gelu_are_those_of_backward(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (int64_t n = 1; n < 70; n++) {
        float *x = random_new(n, 7, 12.0), one[71], y[71], slope[71], dx[71], alone[71];
        for (int64_t i = 0; i < n; i++) one[i] = 1.0f;
        poison(y, 71), poison(slope, 71);
        hop_gelu_keep(y, slope, x, n);
        hop_gelu(alone, x, n);
        assert_memory_equal(y, alone, sizeof(float) * (size_t)n);
        hop_gelu_backward(dx, NULL, x, one, n);
        assert_memory_equal(slope, dx, sizeof(float) * (size_t)n);
        assert_true(isnan(y[n]) && isnan(slope[n]));
        memcpy(alone, x, sizeof(float) * (size_t)n);
        hop_gelu_keep(dx, alone, alone, n);
        assert_memory_equal(alone, slope, sizeof(float) * (size_t)n);
        hop_free(x);
    }
}

/* Down to where the exponential is 0, Φ is right in relation to itself: 3.7e-7 by the fit and its roundings,
 * and x² / 2, which is rounded before its exponential is taken: x² 2^-24. */
static void the_tail_of_gelu_is_right_in_relation_to_itself(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    for (double x = -13.0; x < 6.0; x += 1.0 / 1024) {
        float in = (float)x, y;
        hop_gelu(&y, &in, 1);
        assert_near(y, gelu_of(x), (7e-7 + x * x * 0x1p-24) * fabs(gelu_of(x)));
    }
}

/* Products element by element to the bit; sums of 40 numbers up to 4: 40 roundings of a sum below 160. */
static void columns_are_multiplied_and_added_up(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (int64_t width = 1; width < 150; width += width < 20 ? 1 : 13)
        for (int kind = 1; kind < 4; kind++) {
            enum { rows = 40 };
            const int64_t n = rows * width;
            float *x = random_new(n + 1, 3, 2.0), *by = random_new(n, 4, 2.0), *was = floats_new(n + 1);
            float sum[151];
            memcpy(was, x, sizeof(float) * (size_t)(n + 1));
            for (int i = 0; i < 151; i++) sum[i] = 0.25f;
            hop_mul_sum(x, kind & 1 ? by : NULL, kind & 2 ? sum : NULL, rows, width);
            for (int64_t i = 0; i < n; i++) assert_true(x[i] == (kind & 1 ? was[i] * by[i] : was[i]));
            assert_true(x[n] == was[n] && sum[width] == 0.25f);
            for (int64_t j = 0; j < width; j++) {
                double want = 0.25;
                for (int64_t r = 0; kind & 2 && r < rows; r++) want += x[r * width + j];
                assert_near(sum[j], want, 40 * 160 * 0x1p-24);
            }
            hop_free(x), hop_free(by), hop_free(was);
        }
}

/* Where the functions are straight, and at infinity. */
static void far_out_slopes_are_exact(void **state)
{
    const float x[] = {0, 40, -40, 1e30f, -1e30f, INFINITY, -INFINITY, -120},
                want[] = {0.5f, 1, 0, 1, 0, 1, 0, 0};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (int m = 0; m < 3; m++) {
        float one[8] = {1, 1, 1, 1, 1, 1, 1, 1}, dx[8];
        if (t == &hop__kernels_ref && m > 0) continue; /* infinity times zero there, as written */
        maps[m].backward(dx, NULL, x, one, 8);
        for (int i = 0; i < 8; i++) assert_near(dx[i], m == 0 && i == 0 ? 0 : want[i], 1e-12);
    }
}

static void swiglu_has_its_slopes(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (int64_t n = 1; n < 50; n++) {
        float *gate = random_new(n, 7, 9.0), *up = random_new(n, 8, 2.0), *dy = random_new(n, 9, 1.0);
        float dgate[50], dup[50], y[50];
        hop_swiglu_backward(&(hop_swiglu_grad){dgate, dup, y}, gate, up, dy, n);
        for (int64_t i = 0; i < n; i++) {
            double slope = (silu_of(gate[i] + H) - silu_of(gate[i] - H)) / (2 * H);
            assert_near(dgate[i], dy[i] * up[i] * slope, 5e-6);
            assert_near(dup[i], dy[i] * silu_of(gate[i]), 1e-5);
            assert_near(y[i], silu_of(gate[i]) * up[i], 2e-5);
        }
        hop_free(gate), hop_free(up), hop_free(dy);
    }
}

/* ---- norms ------------------------------------------------------------------------------------- */

enum { ROWS = 19, DIM = 130 }; /* a block of registers, and some rows left over */

/* sum dy ⊙ norm(x). */
static double norm_loss(const double *x, const double *w, const double *b, const float *dy, int64_t dim,
                        bool centred)
{
    double sum = 0;
    for (int64_t r = 0; r < ROWS; r++, x += dim, dy += dim) {
        double mean = 0, var = 0;
        for (int64_t i = 0; centred && i < dim; i++) mean += x[i] / (double)dim;
        for (int64_t i = 0; i < dim; i++) var += (x[i] - mean) * (x[i] - mean) / (double)dim;
        for (int64_t i = 0; i < dim; i++) sum += dy[i] * ((x[i] - mean) / sqrt(var + 1e-5) * w[i] + b[i]);
    }
    return sum;
}

/* Sums of dim terms, relative to the largest number in them: 1e-5 has room for dim = 130. Two numbers that lie
 * close together are left out: their gradient is what cancels in it. */
static void norms_have_their_slopes(void **state)
{
    static const int64_t dims[] = {3, 7, 8, 15, 33, 64, DIM};
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (size_t z = 0; z < sizeof dims / sizeof *dims; z++)
        for (int kind = 0; kind < 4; kind++) { /* centred or not, added or set */
            const int64_t dim = dims[z], n = ROWS * dim;
            double v[ROWS * DIM + 2 * DIM], *w = v + n, *b = w + dim;
            float *x = random_new(n, 9, 3.0), *weight = random_new(dim, 10, 2.0),
                  *dy = random_new(n, 11, 1.0);
            float dx[ROWS * DIM], dw[2 * DIM + 2];
            for (int64_t i = 0; i < n; i++) v[i] = x[i], dx[i] = kind < 2 ? NAN : 0.5f;
            for (int64_t i = 0; i < dim; i++) w[i] = weight[i], b[i] = 0.25;
            for (int64_t i = 0; i < 2 * DIM + 2; i++) dw[i] = 0.125f;
            hop_norm_grad g = {.dy = dy, .dx = dx, .dweight = dw, .add = kind >= 2};
            if (kind % 2) g.dbias = dw + dim + 1;
            (kind % 2 ? hop_layernorm_backward : hop_rmsnorm_backward)(&g, x, weight, ROWS, dim, 1e-5f);
            for (int64_t i = 0; i < n + 2 * dim; i += 1 + n / 40) {
                double old = v[i], up;
                v[i] = old + H, up = norm_loss(v, w, b, dy, dim, kind % 2);
                v[i] = old - H;
                double slope = (up - norm_loss(v, w, b, dy, dim, kind % 2)) / (2 * H);
                v[i] = old;
                if (i < n) assert_near(dx[i], slope + (kind < 2 ? 0 : 0.5), 1e-5);
                if (i >= n && i < n + dim) assert_near(dw[i - n], slope + 0.125, 1e-5);
                if (i >= n + dim && kind % 2) assert_near(dw[i - n + 1], slope + 0.125, 1e-5);
            }
            assert_true(dw[dim] == 0.125f); /* behind the weights nothing was touched */
            hop_free(x), hop_free(weight), hop_free(dy);
        }
}

static void a_table_of_angles_rotates_to_the_same_bits_and_back(void **state)
{
    enum { rows = 5, heads = 2, dim = 7, stride = heads * dim + 1, first = 3, half = dim / 2 };
    float *x = random_new(rows * stride, 12, 1.0), y[rows * stride], z[rows * stride];
    double table[(first + rows) * half * 2];
    (void)state;
    memcpy(y, x, sizeof y), memcpy(z, x, sizeof z);
    hop_rope(y, rows, stride, heads, dim, first, 100.0);
    assert_true(fabsf(y[0] - x[0]) > 1e-3f);
    hop_rope_table(table, first + rows, dim, 100.0);
    hop_rope_by(z, rows, stride, heads, dim, table, first, false);
    assert_memory_equal(y, z, sizeof y);
    hop_rope_by(z, rows, stride, heads, dim, table, first, true);
    for (int i = 0; i < rows * stride; i++) assert_near(z[i], x[i], 1e-6);
    hop_free(x);
}

/* ---- convolution ------------------------------------------------------------------------------- */

typedef struct conv_case {
    hop_conv c;
    int64_t n[5]; /* x, w, bias, past, dy */
    float *p[5];
    double *d[4];
} conv_case;

enum { CX, CW, CB, CP, CDY };

static double conv_loss(const conv_case *s)
{
    const hop_conv *c = &s->c;
    double sum = 0;
    for (int64_t t = 0; t < c->tokens; t++)
        for (int64_t i = 0; i < c->width; i++) {
            double z = s->d[CB][i];
            for (int64_t j = 0; j < c->size; j++) {
                const int64_t from = t - c->size + 1 + j;
                z += s->d[CW][i * c->size + j] * (from < 0 ? s->d[CP][(from + c->size - 1) * c->width + i]
                                                           : s->d[CX][from * c->x_stride + i]);
            }
            sum += s->p[CDY][t * c->y_stride + i] * (c->silu ? silu_of(z) : z);
        }
    return sum;
}

static void check_conv(const conv_case *s, bool add)
{
    float *g[4];
    for (int a = 0; a < 4; a++) {
        g[a] = floats_new(s->n[a]);
        for (int64_t i = 0; i < s->n[a]; i++) g[a][i] = a == CP || (a == CX && !add) ? NAN : 0.5f;
    }
    hop_conv_grad grad = {
        .dy = s->p[CDY], .dx = g[CX], .dw = g[CW], .dbias = g[CB], .dpast = g[CP], .add = add};
    hop_conv_backward(&grad, s->p[CP], s->p[CX], s->p[CW], s->p[CB], &s->c);
    for (int a = 0; a < 4; a++)
        for (int64_t i = 0; i < s->n[a]; i += 1 + s->n[a] / 30) {
            if (a == CX && i % s->c.x_stride >= s->c.width) continue;
            double *at = s->d[a] + i, old = *at, up;
            *at = old + H, up = conv_loss(s);
            *at = old - H;
            double slope = (up - conv_loss(s)) / (2 * H);
            *at = old;
            assert_near(g[a][i], slope + (a == CP || (a == CX && !add) ? 0 : 0.5), 2e-5);
        }
    for (int a = 0; a < 4; a++) hop_free(g[a]);
}

static void convolutions_have_their_slopes(void **state)
{
    static const int64_t taps[] = {1, 2, 4, 20};
    const hop__kernels *t;
    (void)state;
    for (int z = 0; z < 8; z++) {
        const int64_t T = z == 5 ? 2 : 11, width = 5 + 9 * z, size = taps[z % 4];
        conv_case s = {.c = {T, width, size, width + 1, width + 2, z % 2 == 1, 0}};
        const int64_t n[] = {T * (width + 1), width * size, width, (size - 1) * width, T * (width + 2)};
        for (int a = 0; a < 5; a++) {
            s.n[a] = n[a], s.p[a] = random_new(n[a], 600 + (uint64_t)a, 1.0);
            if (a < 4) s.d[a] = malloc(sizeof(double) * (size_t)(n[a] + 1));
            for (int64_t i = 0; a < 4 && i < n[a]; i++) s.d[a][i] = s.p[a][i];
        }
        FOR_EACH_TABLE_AND_REF(t)
        for (int add = 0; add < 2; add++) check_conv(&s, add);
        for (int a = 0; a < 5; a++) hop_free(s.p[a]);
        for (int a = 0; a < 4; a++) free(s.d[a]);
    }
}

/* ---- elementwise recurrence -------------------------------------------------------------------- */

static double diagonal_loss(const double *a, const double *b, const double *start, const float *dh, int64_t T,
                            int64_t width)
{
    double sum = 0;
    for (int64_t i = 0; i < width; i++) {
        double h = start[i];
        for (int64_t t = 0; t < T; t++) {
            h = a[t * width + i] * h + b[t * width + i];
            sum += dh[t * width + i] * h;
        }
    }
    return sum;
}

static void the_diagonal_recurrence_has_its_slopes(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE_AND_REF(t)
    for (int64_t width = 1; width < 40; width += 12) {
        enum { T = 9 };
        const int64_t n = T * width, all = 2 * n + width;
        float *x = random_new(all, 500, 1.0), *dh = random_new(n, 501, 1.0), *h = floats_new(n),
              *g = floats_new(all);
        double *v = malloc(sizeof(double) * (size_t)all);
        for (int64_t i = 0; i < all; i++) v[i] = x[i], g[i] = NAN;
        memcpy(h, x + 2 * n, sizeof(float) * (size_t)width);
        float *now = floats_new(width);
        memcpy(now, x + 2 * n, sizeof(float) * (size_t)width);
        hop_diagonal_forward(h, now, x, x + n, T, width, width);
        hop_diagonal_backward(&(hop_diagonal_grad){dh, g, g + n, g + 2 * n}, x + 2 * n, x, h, T, width,
                              width);
        for (int64_t i = 0; i < all; i += 1 + all / 60) {
            double old = v[i], up;
            v[i] = old + H, up = diagonal_loss(v, v + n, v + 2 * n, dh, T, width);
            v[i] = old - H;
            double slope = (up - diagonal_loss(v, v + n, v + 2 * n, dh, T, width)) / (2 * H);
            v[i] = old;
            assert_near(g[i], slope, 5e-6);
        }
        hop_free(x), hop_free(dh), hop_free(h), hop_free(g), hop_free(now), free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_have_their_slopes_and_values),
        cmocka_unit_test(kept_slopes_of_gelu_are_those_of_backward),
        cmocka_unit_test(the_tail_of_gelu_is_right_in_relation_to_itself),
        cmocka_unit_test(columns_are_multiplied_and_added_up),
        cmocka_unit_test(far_out_slopes_are_exact),
        cmocka_unit_test(swiglu_has_its_slopes),
        cmocka_unit_test(norms_have_their_slopes),
        cmocka_unit_test(a_table_of_angles_rotates_to_the_same_bits_and_back),
        cmocka_unit_test(convolutions_have_their_slopes),
        cmocka_unit_test(the_diagonal_recurrence_has_its_slopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
