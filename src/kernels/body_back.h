/* body_back.h - gradients of what looks at one row or one channel: activations, norms, the short convolution,
 * the elementwise recurrence. */

/* ---- activations ------------------------------------------------------------------------------ */

typedef value_slope slope_fn(vf x);

INLINE value_slope relu_slope(vf x)
{
    return (value_slope){relu_of(x, x), v_from_bits(v_bits(v_all(1.0f)) & v_lt((vf){0}, x))};
}

/* s = 1 / (1 + e^-x): s + x s (1 - s). */
INLINE value_slope silu_slope(vf x)
{
    vf s = 1.0f / (v_exp(-x) + 1.0f);
    vf near = v_from_bits(v_bits(x) & v_lt(v_abs(x), v_all(88.0f))); /* beyond, x may be infinite */
    return (value_slope){x * s, s + near * s * (1.0f - s)};
}

INLINE void map_back(float *dx, float *y, const float *x, const float *dy, int64_t n, slope_fn *fn)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        value_slope f = fn(v_load(x + i));
        vf d = v_load(dy + i) * f.dy;
        if (y) v_store(y + i, f.y);
        v_store(dx + i, d);
    }
    if (i == n) return;
    value_slope f = fn(v_load_part(x + i, n - i));
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
        value_slope f = silu_slope(v_load_to(gate, i, n));
        v_store_to(g->dgate + i, d * u * f.dy, k);
        v_store_to(g->dup + i, d * f.y, k);
        if (g->y) v_store_to(g->y + i, f.y * u, k);
    }
}

/* ---- norms ------------------------------------------------------------------------------------ */

typedef struct norm_block {
    norm_rows f;
    float about[LANES], along[LANES]; /* means of e = weight dy and of e z; without a mean, about is 0 */
    const float *x, *dy;              /* of these rows */
    float *dx;
    int64_t rows, dim;
} norm_block;

INLINE void norm_sums(const norm_block *b, const float *weight, int64_t r, int64_t i, const int64_t n,
                      vf *about, vf *along)
{
    vf e = some(weight + i, n) * some(b->dy + r * b->dim + i, n);
    *about += e;
    *along += e * ((some(b->x + r * b->dim + i, n) - b->f.mean[r]) * b->f.s[r]);
}

INLINE void norm_means(norm_block *b, const float *weight, const bool centred)
{
    vf about[LANES], along[LANES];
    for (int64_t r = 0; r < LANES; r++) about[r] = along[r] = (vf){0};
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t i = 0;
        for (; i + LANES <= b->dim; i += LANES) norm_sums(b, weight, r, i, LANES, &about[r], &along[r]);
        if (i < b->dim) norm_sums(b, weight, r, i, b->dim - i, &about[r], &along[r]);
    }
    v_store(b->about, centred ? v_sums(about) / (float)b->dim : (vf){0});
    v_store(b->along, v_sums(along) / (float)b->dim);
}

/* A register of columns, all rows: dx = s (e - mean e - z mean(e z)); dweight += dy z, dbias += dy. */
INLINE void norm_columns(const norm_block *b, const hop_norm_grad *g, const float *weight, int64_t i,
                         const int64_t n)
{
    const bool add = g->add;
    vf w = some(weight + i, n), dw = g->dweight ? some(g->dweight + i, n) : (vf){0},
       db = g->dbias ? some(g->dbias + i, n) : (vf){0};
    for (int64_t r = 0; r < b->rows; r++) {
        const int64_t at = r * b->dim + i;
        vf dy = some(b->dy + at, n), z = (some(b->x + at, n) - b->f.mean[r]) * b->f.s[r];
        vf d = (w * dy - b->about[r] - z * b->along[r]) * b->f.s[r];
        if (add) d += some(b->dx + at, n);
        v_store_to(b->dx + at, d, n);
        dw += dy * z;
        db += dy;
    }
    if (g->dweight) v_store_to(g->dweight + i, dw, n);
    if (g->dbias) v_store_to(g->dbias + i, db, n);
}

INLINE void norm_back(const hop_norm_grad *g, const float *x, const hop__norm *c, const bool centred)
{
    for (int64_t t = 0; t < c->rows; t += LANES) {
        norm_block b = {.rows = hop__min(LANES, c->rows - t), .dim = c->dim};
        int64_t i = 0;
        b.x = x + t * c->dim, b.dy = g->dy + t * c->dim, b.dx = g->dx + t * c->dim;
        norm_factors(&b.f, b.x, 0, b.rows, c, centred);
        norm_means(&b, c->weight, centred);
        for (; i + LANES <= c->dim; i += LANES) norm_columns(&b, g, c->weight, i, LANES);
        if (i < c->dim) norm_columns(&b, g, c->weight, i, c->dim - i);
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
