/* body_elem.h - maps over arrays, norms over rows, and the loop that measures the multiply-add peak. */

typedef vf map_fn(vf a, vf b);

/* y = fn(a, b), with the last, partial register padded by zeros. y may be a or b. */
INLINE void map(float *y, const float *a, const float *b, int64_t n, map_fn *fn)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) v_store(y + i, fn(v_load(a + i), v_load(b + i)));
    if (i < n) v_store_part(y + i, fn(v_load_part(a + i, n - i), v_load_part(b + i, n - i)), n - i);
}

INLINE vf exp_of(vf a, vf b)
{
    (void)b;
    return v_exp(a);
}

/* NaN stays NaN: only numbers below zero are replaced. */
INLINE vf relu_of(vf a, vf b)
{
    (void)b;
    return v_from_bits(v_bits(a) & ~v_lt(a, (vf){0}));
}

typedef struct value_slope {
    vf y, dy; /* f(x), f'(x) */
} value_slope;

/* x Φ(x) and Φ(x) + x φ(x), from one exponential: Φ(-a) = e^(-a²/2) t q(t), t = 1/(1 + 0.265 a), where t q(t)
 * is minimax of degree 9 in relative error for a in 0 .. 13.3 (1.1e-8; 3.7e-7 with its roundings), so that
 * the tail for x << 0 is right, too. Beyond 13.2 the exponential is 0. */
INLINE value_slope gelu_slope(vf x)
{
    static const float c[9] = {0.10574212f,   0.10523707f, 0.10277019f,  0.060038283f, 0.13861124f,
                               -0.117337644f, 0.2186894f,  -0.14466353f, 0.030912891f};
    vu in = v_lt(v_abs(x), v_all(20.0f)), below = v_lt(x, (vf){0});
    vf near = v_from_bits(v_bits(x) & in), e = v_exp_low(near * near * -0.5f);
    vf t = 1.0f / (v_abs(near) * 0.265f + 1.0f), q = v_all(c[8]);
    UNROLL for (int i = 7; i >= 0; i--) q = q * t + c[i];
    vf tail = q * t * e, phi = v_select(below, tail, 1.0f - tail);
    phi = v_select(in, phi, v_from_bits(v_bits(v_all(1.0f)) & ~below));
    vf y = v_select(in, x * phi, v_select(below, v_all(-0.0f), x));
    return (value_slope){y, phi + near * (e * 0.398942280f)};
}

INLINE vf gelu_of(vf x, vf b)
{
    (void)b;
    return gelu_slope(x).y;
}

INLINE vf silu_of(vf x, vf b)
{
    (void)b;
    return x / (v_exp(-x) + 1.0f);
}

INLINE vf swiglu_of(vf gate, vf up)
{
    return silu_of(gate, up) * up;
}

INLINE vf sum_of(vf a, vf b)
{
    return a + b;
}

static void vexp(float *y, const float *x, int64_t n)
{
    map(y, x, x, n, exp_of);
}
static void relu(float *y, const float *x, int64_t n)
{
    map(y, x, x, n, relu_of);
}
static void gelu(float *y, const float *x, int64_t n)
{
    map(y, x, x, n, gelu_of);
}
static void gelu_keep(float *y, float *slope, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        value_slope f = gelu_slope(v_load_to(x, i, n));
        v_store_to(y + i, f.y, n - i);
        v_store_to(slope + i, f.dy, n - i);
    }
}
static void swiglu(float *y, const float *gate, const float *up, int64_t n)
{
    TRACE_ONLY(for (int64_t i = 0; i < n; i += LANES) /* y may be gate */
               TRACE_SOME("s", silu_of(v_load_to(gate, i, n), (vf){0}), T, i, n - i < LANES ? n - i : LANES);)
    map(y, gate, up, n, swiglu_of);
    TRACE("y", y, ALONG(T, n, 1));
}
static void add(float *y, const float *a, const float *b, int64_t n)
{
    map(y, a, b, n, sum_of);
}

/* `wide` registers of columns from j on: their sums stay in registers. */
INLINE void columns(float *x, const float *by, float *sum, int64_t rows, int64_t width, int64_t j,
                    const int wide)
{
    vf s[4];
    UNROLL for (int w = 0; w < wide; w++) s[w] = sum ? v_load(sum + j + w * LANES) : (vf){0};
    for (int64_t i = j; i < rows * width; i += width) {
        UNROLL for (int w = 0; w < wide; w++)
        {
            vf v = v_load(x + i + w * LANES);
            if (by) v_store(x + i + w * LANES, v = v * v_load(by + i + w * LANES));
            s[w] += v;
        }
    }
    UNROLL for (int w = 0; sum && w < wide; w++) v_store(sum + j + w * LANES, s[w]);
}

static void mul_sum(float *x, const float *by, float *sum, int64_t rows, int64_t width)
{
    int64_t j = 0;
    for (; j + 4 * LANES <= width; j += 4 * LANES) columns(x, by, sum, rows, width, j, 4);
    for (; j + LANES <= width; j += LANES) columns(x, by, sum, rows, width, j, 1);
    for (; j < width; j++) {
        float s = sum ? sum[j] : 0.0f;
        for (int64_t i = j; i < rows * width; i += width) {
            if (by) x[i] *= by[i];
            s += x[i];
        }
        if (sum) sum[j] = s;
    }
}

static void round_significand(float *x, int64_t n, int bits)
{
    rounding c = rounding_to(bits);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) v_store(x + i, v_round(v_load(x + i), c));
    if (i < n) v_store_part(x + i, v_round(v_load_part(x + i, n - i), c), n - i);
}

/* n floats from p on, n <= LANES. */
INLINE vf some(const float *p, const int64_t n)
{
    return n == LANES ? v_load(p) : v_load_part(p, n);
}

/* Sum of (x - mean)^power, power 1 or 2: that of the lanes, and of what fills no register. */
INLINE vf row_moment(const float *x, int64_t n, float mean, const int power, float *tail)
{
    vf sum = (vf){0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vf v = v_load(x + i) - mean;
        sum += power == 2 ? v * v : v;
    }
    for (*tail = 0.0f; i < n; i++) *tail += power == 2 ? (x[i] - mean) * (x[i] - mean) : x[i] - mean;
    return sum;
}

INLINE float row_sum(const float *x, int64_t n)
{
    float tail;
    vf sum = row_moment(x, n, 0.0f, 1, &tail);
    return v_sum(sum) + tail;
}

/* Norms take LANES rows at a time: their sums across lanes are then folded together, and no row waits for the
 * root of another. */
typedef struct norm_rows {
    float mean[LANES], s[LANES]; /* z = (x - mean) s */
} norm_rows;

/* The same of `rows` <= LANES rows. */
INLINE vf row_moments(const float *x, int64_t rows, int64_t n, const float mean[LANES], const int power)
{
    vf sum[LANES];
    float tail[LANES] = {0};
    for (int64_t r = 0; r < LANES; r++)
        sum[r] = r < rows ? row_moment(x + r * n, n, mean[r], power, &tail[r]) : (vf){0};
    return v_sums(sum) + v_load(tail);
}

/* Of rows t .. t + rows - 1. */
INLINE void norm_factors(norm_rows *f, const float *x, int64_t t, int64_t rows, const hop__norm *c,
                         const bool centred)
{
    const float n = (float)c->dim;
    (void)t;
    memset(f->mean, 0, sizeof f->mean);
    if (centred) {
        const vf total = row_moments(x, rows, c->dim, f->mean, 1);
        TRACE_SOME("total", total, T, t, rows);
        v_store(f->mean, total / n);
        TRACE("middle", f->mean, AT(T, t), ALONG(T, rows, 1));
    }
    const vf sum = row_moments(x, rows, c->dim, f->mean, 2);
    TRACE_SOME("sum", sum, T, t, rows);
    TRACE_SOME("mean", sum / n, T, t, rows);
    v_store(f->s, sum / n + c->eps);
    TRACE("whole", f->s, AT(T, t), ALONG(T, rows, 1));
    for (int64_t r = 0; r < rows; r++) f->s[r] = 1.0f / sqrtf(f->s[r]);
    TRACE("by", f->s, AT(T, t), ALONG(T, rows, 1));
}

/* Numbers i .. of row t + r. */
INLINE void norm_write(float *y, const float *x, const norm_rows *f, int64_t t, int64_t r, const hop__norm *c,
                       int64_t i, const int64_t n)
{
    const vf d = some(x + i, n) - f->mean[r], z = d * f->s[r], w = z * some(c->weight + i, n);
    (void)t;
    v_store_to(y + i, c->bias ? w + some(c->bias + i, n) : w, n);
    TRACE_SOME("d", d, K, i, n, AT(T, t + r), .otherwise = "x");
    TRACE_SOME("z", z, K, i, n, AT(T, t + r));
    TRACE_SOME("y", w, K, i, n, AT(T, t + r));
    TRACE("biased", y + i, AT(T, t + r), AT(K, i), ALONG(K, n, 1), .otherwise = "y");
}

INLINE void norm(float *y, const float *x, const hop__norm *c, const bool centred)
{
    for (int64_t t = 0; t < c->rows; t += LANES) {
        const int64_t rows = hop__min(LANES, c->rows - t);
        norm_rows f;
        norm_factors(&f, x, t, rows, c, centred);
        for (int64_t r = 0; r < rows; r++, x += c->dim, y += c->dim) {
            int64_t i = 0;
            for (; i + LANES <= c->dim; i += LANES) norm_write(y, x, &f, t, r, c, i, LANES);
            if (i < c->dim) norm_write(y, x, &f, t, r, c, i, c->dim - i);
        }
    }
}

static void rmsnorm(float *y, const float *x, const hop__norm *c)
{
    norm(y, x, c, false);
}
static void layernorm(float *y, const float *x, const hop__norm *c)
{
    norm(y, x, c, true);
}

/* 12 independent chains hide the latency (4 cycles x 2 units need 8). The factor and addend come from memory
 * that the compiler cannot see through; x = x/2 + 1/2 stays finite. */
static double fma_loop(int64_t rounds)
{
    enum { chains = 12 };
    volatile float half = 0.5f;
    vf sum[chains], factor = v_all(half), addend = v_all(half);
    UNROLL for (int i = 0; i < chains; i++) sum[i] = v_all((float)i);
    for (int64_t r = 0; r < rounds; r++)
        UNROLL for (int i = 0; i < chains; i++) sum[i] = sum[i] * factor + addend;
    vf total = sum[0];
    for (int i = 1; i < chains; i++) total += sum[i];
    half = v_sum(total);
    return 2.0 * chains * LANES * (double)rounds;
}
