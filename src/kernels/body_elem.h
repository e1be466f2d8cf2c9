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

/* Φ(x) = erfc(-x/√2)/2, erfc by W. J. Cody's form in t = 1/(1 + z/2) as fitted in Numerical Recipes (erfcc):
 * relative error below 1.2e-7 everywhere before rounding, so the tail for x << 0 is right, too. */
INLINE vf normal_below(vf x)
{
    static const float c[10] = {-1.26551223f, 1.00002368f,  0.37409196f, 0.09678418f,  -0.18628806f,
                                0.27886807f,  -1.13520398f, 1.48851587f, -0.82215223f, 0.17087277f};
    vf z = v_abs(x) * 0.707106781f, t = 1.0f / (z * 0.5f + 1.0f), p = v_all(c[9]);
    UNROLL for (int i = 8; i >= 0; i--) p = p * t + c[i];
    vf half = t * v_exp_low(p - z * z) * 0.5f; /* Φ(-|x|) */
    return v_select(v_lt(x, (vf){0}), half, 1.0f - half);
}

INLINE vf gelu_of(vf x, vf b)
{
    (void)b;
    vf y = x * normal_below(x);
    return v_select(v_lt(v_abs(x), v_all(20.0f)), y, v_select(v_lt(x, (vf){0}), v_all(-0.0f), x));
}

INLINE vf swiglu_of(vf gate, vf up)
{
    return gate / (v_exp(-gate) + 1.0f) * up;
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
static void swiglu(float *y, const float *gate, const float *up, int64_t n)
{
    map(y, gate, up, n, swiglu_of);
}
static void add(float *y, const float *a, const float *b, int64_t n)
{
    map(y, a, b, n, sum_of);
}

static void round_significand(float *x, int64_t n, int bits)
{
    rounding c = rounding_to(bits);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) v_store(x + i, v_round(v_load(x + i), c));
    if (i < n) v_store_part(x + i, v_round(v_load_part(x + i, n - i), c), n - i);
}

/* Sum of (x - mean)^power, power 1 or 2. */
INLINE float row_moment(const float *x, int64_t n, float mean, const int power)
{
    vf sum = (vf){0};
    float tail = 0.0f;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vf v = v_load(x + i) - mean;
        sum += power == 2 ? v * v : v;
    }
    for (; i < n; i++) tail += power == 2 ? (x[i] - mean) * (x[i] - mean) : x[i] - mean;
    return v_sum(sum) + tail;
}

static void rmsnorm(float *y, const float *x, const hop__norm *c)
{
    for (int64_t r = 0; r < c->rows; r++, x += c->dim, y += c->dim) {
        float s = 1.0f / sqrtf(row_moment(x, c->dim, 0.0f, 2) / (float)c->dim + c->eps);
        for (int64_t i = 0; i < c->dim; i++) y[i] = x[i] * s * c->weight[i];
    }
}

static void layernorm(float *y, const float *x, const hop__norm *c)
{
    for (int64_t r = 0; r < c->rows; r++, x += c->dim, y += c->dim) {
        float mean = row_moment(x, c->dim, 0.0f, 1) / (float)c->dim;
        float s = 1.0f / sqrtf(row_moment(x, c->dim, mean, 2) / (float)c->dim + c->eps);
        for (int64_t i = 0; i < c->dim; i++) y[i] = (x[i] - mean) * s * c->weight[i];
        for (int64_t i = 0; c->bias && i < c->dim; i++) y[i] += c->bias[i];
    }
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
