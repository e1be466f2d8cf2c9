/* body_back.h - gradients of what looks at one row or one channel: activations, norms, the short convolution,
 * the elementwise recurrence. */

/* ---- activations ------------------------------------------------------------------------------ */

typedef struct slope {
    vf y, dy; /* f(x), f'(x) */
} slope;

typedef slope slope_fn(vf x);

INLINE slope relu_slope(vf x)
{
    return (slope){relu_of(x, x), v_from_bits(v_bits(v_all(1.0f)) & v_lt((vf){0}, x))};
}

/* Φ(x) + x φ(x). One exponential serves both: Φ(-|x|) is e^(-x²/2) times a polynomial in 1/(1 + p|x|)
 * (Abramowitz and Stegun 7.1.26), off by less than 1e-7; gelu_of, which must be right in relation to itself
 * far out as well, takes another way. */
INLINE slope gelu_slope(vf x)
{
    vu in = v_lt(v_abs(x), v_all(20.0f)), below = v_lt(x, (vf){0});
    vf near = v_from_bits(v_bits(x) & in), e = v_exp_low(near * near * -0.5f);
    vf t = 1.0f / (v_abs(near) * 0.231641888f + 1.0f), p = t * 0.5307027145f - 0.7265760135f;
    p = p * t + 0.7107068705f;
    p = p * t - 0.142248368f;
    p = p * t + 0.127414796f;
    vf tail = p * t * e, phi = v_select(below, tail, 1.0f - tail);
    phi = v_select(in, phi, v_from_bits(v_bits(v_all(1.0f)) & ~below));
    return (slope){v_select(in, x * phi, v_select(below, (vf){0}, x)), phi + near * (e * 0.398942280f)};
}

/* s = 1 / (1 + e^-x): s + x s (1 - s). */
INLINE slope silu_slope(vf x)
{
    vf s = 1.0f / (v_exp(-x) + 1.0f);
    vf near = v_from_bits(v_bits(x) & v_lt(v_abs(x), v_all(88.0f))); /* beyond, x may be infinite */
    return (slope){x * s, s + near * s * (1.0f - s)};
}

INLINE void map_back(float *dx, float *y, const float *x, const float *dy, int64_t n, slope_fn *fn)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        slope f = fn(v_load(x + i));
        vf d = v_load(dy + i) * f.dy;
        if (y) v_store(y + i, f.y);
        v_store(dx + i, d);
    }
    if (i == n) return;
    slope f = fn(v_load_part(x + i, n - i));
    vf d = v_load_part(dy + i, n - i) * f.dy;
    if (y) v_store_part(y + i, f.y, n - i);
    v_store_part(dx + i, d, n - i);
}

static void relu_back(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    map_back(dx, y, x, dy, n, relu_slope);
}
static void gelu_back(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    map_back(dx, y, x, dy, n, gelu_slope);
}
static void silu_back(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    map_back(dx, y, x, dy, n, silu_slope);
}

static void swiglu_back(const hop_swiglu_grad *g, const float *gate, const float *up, const float *dy,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t k = hop__min(LANES, n - i);
        vf u = v_load_to(up, i, n), d = v_load_to(dy, i, n);
        slope f = silu_slope(v_load_to(gate, i, n));
        v_store_to(g->dgate + i, d * u * f.dy, k);
        v_store_to(g->dup + i, d * f.y, k);
        if (g->y) v_store_to(g->y + i, f.y * u, k);
    }
}

/* ---- norms ------------------------------------------------------------------------------------ */

typedef struct norm_row {
    float mean, s;           /* z = (x - mean) s */
    float about, along;      /* means of e = weight dy and of e z; without a mean, about is 0 */
    const float *x, *dy, *w; /* of this row */
} norm_row;

/* n floats from p on, n <= LANES. */
INLINE vf some(const float *p, const int64_t n)
{
    return n == LANES ? v_load(p) : v_load_part(p, n);
}

INLINE void norm_sums(const norm_row *r, int64_t i, const int64_t n, vf *about, vf *along)
{
    vf e = some(r->w + i, n) * some(r->dy + i, n);
    *about += e;
    *along += e * ((some(r->x + i, n) - r->mean) * r->s);
}

INLINE void norm_means(norm_row *r, int64_t n, const bool centred)
{
    vf about = (vf){0}, along = (vf){0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) norm_sums(r, i, LANES, &about, &along);
    if (i < n) norm_sums(r, i, n - i, &about, &along);
    r->about = centred ? v_sum(about) / (float)n : 0.0f;
    r->along = v_sum(along) / (float)n;
}

/* dx = s (e - mean e - z mean(e z)); dweight += dy z, dbias += dy. */
INLINE void norm_slice(const norm_row *r, const hop_norm_grad *g, float *dx, int64_t i, const int64_t n)
{
    vf dy = some(r->dy + i, n), z = (some(r->x + i, n) - r->mean) * r->s;
    vf d = (some(r->w + i, n) * dy - r->about - z * r->along) * r->s;
    if (g->add) d += some(dx + i, n);
    v_store_to(dx + i, d, n);
    if (g->dweight) v_store_to(g->dweight + i, some(g->dweight + i, n) + dy * z, n);
    if (g->dbias) v_store_to(g->dbias + i, some(g->dbias + i, n) + dy, n);
}

INLINE void norm_row_back(const norm_row *r, const hop_norm_grad *g, float *dx, int64_t n)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) norm_slice(r, g, dx, i, LANES);
    if (i < n) norm_slice(r, g, dx, i, n - i);
}

INLINE void norm_back(const hop_norm_grad *g, const float *x, const hop__norm *c, const bool centred)
{
    const float n = (float)c->dim;
    for (int64_t t = 0; t < c->rows; t++) {
        norm_row r = {.x = x + t * c->dim, .dy = g->dy + t * c->dim, .w = c->weight};
        if (centred) r.mean = row_moment(r.x, c->dim, 0.0f, 1) / n;
        r.s = 1.0f / sqrtf(row_moment(r.x, c->dim, r.mean, 2) / n + c->eps);
        norm_means(&r, c->dim, centred);
        norm_row_back(&r, g, g->dx + t * c->dim, c->dim);
    }
}

static void rmsnorm_back(const hop_norm_grad *g, const float *x, const hop__norm *c)
{
    norm_back(g, x, c, false);
}
static void layernorm_back(const hop_norm_grad *g, const float *x, const hop__norm *c)
{
    norm_back(g, x, c, true);
}

/* ---- short convolution ------------------------------------------------------------------------ */

/* n <= LANES channels from the last token to the first. `seen` holds the gradients before the activation of
 * the tokens t .. t + S - 1, nearest first. */
INLINE void conv_back_strip(const hop_conv_grad *g, const float *past, const float *x, const float *taps,
                            vf bias, const hop_conv *c, int64_t n, const int64_t S)
{
    vf seen[HOP_CONV_MOST], dw[HOP_CONV_MOST], db = (vf){0};
    for (int64_t j = 0; j < S; j++) seen[j] = dw[j] = (vf){0};
    for (int64_t t = c->tokens - 1; t > -S; t--) {
        for (int64_t j = S - 1; j > 0; j--) seen[j] = seen[j - 1];
        seen[0] = (vf){0};
        if (t >= 0) {
            vf in[HOP_CONV_MOST], z = bias;
            for (int64_t j = 0; j < S; j++) {
                const int64_t from = t - S + 1 + j;
                const float *p = from < 0 ? past + (from + S - 1) * c->past_stride : x + from * c->x_stride;
                in[j] = from < 0 && !past ? (vf){0} : v_load_to(p, 0, n);
                z += v_load(taps + j * LANES) * in[j];
            }
            vf d = v_load_to(g->dy + t * c->y_stride, 0, n);
            if (c->silu) d = d * silu_slope(z).dy;
            for (int64_t j = 0; j < S; j++) dw[j] += d * in[j];
            db += d;
            seen[0] = d;
        } else if (!g->dpast) {
            break;
        }
        vf sum = (vf){0};
        for (int64_t j = 0; j < S; j++) sum += v_load(taps + (S - 1 - j) * LANES) * seen[j];
        float *dx = t < 0 ? g->dpast + (t + S - 1) * c->past_stride : g->dx + t * c->x_stride;
        if (t >= 0 && g->add) sum += v_load_to(dx, 0, n);
        v_store_to(dx, sum, n);
    }
    for (int64_t j = 0; j < S; j++)
        for (int64_t l = 0; l < n; l++) g->dw[l * S + j] += ((const float *)&dw[j])[l];
    if (g->dbias) v_store_to(g->dbias, v_load_to(g->dbias, 0, n) + db, n);
}

static void conv_back(const hop_conv_grad *g, const float *past, const float *x, const float *w,
                      const float *bias, const hop_conv *c)
{
    float taps[HOP_CONV_MOST * LANES];
    const int64_t S = c->size;
    for (int64_t i = 0; i < c->width; i += LANES) {
        const int64_t n = hop__min(LANES, c->width - i);
        hop_conv_grad part = *g;
        part.dy += i, part.dx += i, part.dw += i * S;
        if (g->dbias) part.dbias += i;
        if (g->dpast) part.dpast += i;
        memset(taps, 0, sizeof(float) * (size_t)(S * LANES));
        for (int64_t j = 0; j < S; j++)
            for (int64_t l = 0; l < n; l++) taps[j * LANES + l] = w[(i + l) * S + j];
        vf b = bias ? v_load_to(bias, i, c->width) : (vf){0};
        const float *before = past ? past + i : NULL;
        if (S == 4 && n == LANES)
            conv_back_strip(&part, before, x + i, taps, b, c, LANES, 4);
        else
            conv_back_strip(&part, before, x + i, taps, b, c, n, S);
    }
}

/* ---- elementwise recurrence ------------------------------------------------------------------- */

static void diagonal_back(const hop_diagonal_grad *g, const float *start, const float *a, const float *h,
                          const hop__diagonal *c)
{
    for (int64_t i = 0; i < c->width; i += LANES) {
        const int64_t n = hop__min(LANES, c->width - i);
        vf d = (vf){0};
        for (int64_t t = c->tokens - 1; t >= 0; t--) {
            const int64_t at = t * c->stride + i;
            d += v_load_to(g->dh + at, 0, n);
            vf old = t > 0 ? v_load_to(h + at - c->stride, 0, n) : (vf){0};
            if (t == 0 && start) old = v_load_to(start + i, 0, n);
            v_store_to(g->da + at, d * old, n);
            v_store_to(g->db + at, d, n);
            d = d * v_load_to(a + at, 0, n);
        }
        if (g->d_state) v_store_to(g->d_state + i, d, n);
    }
}
