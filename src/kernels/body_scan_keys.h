/* body_scan_keys.h - the coefficients of a chunk when each key has its own gate.
 *
 * e^(c_t - c_j) is a product, E_t / E_j, of a row's factor and a column's: rows times E_t, columns over E_j,
 * and all pairs are one product of matrices. E is carried by multiplying, so E_t / E_j has the errors of the
 * tokens from j to t only, however large the sum of the gates was before. That holds while E is far from what
 * a float cannot hold: tokens up to the first at which some key's E leaves 2^-32 .. 2^32 are `mild`; those
 * behind are left to body_scan_steep.h. (RWKV-7's strongest gate makes 2^-28 in a chunk of 32.) What is done
 * with a token's row depends on the gates up to it alone, thus outputs do not change with later tokens. */

/* dst = src * f * w, in whole registers. */
INLINE void weigh_row(float *dst, const float *src, float f, const float *w, int64_t K)
{
    for (int64_t k = 0; k < K; k += LANES) v_store(dst + k, v_load_to(src, k, K) * f * v_load(w + k));
}

/* dst = src e^g. */
INLINE void decay_more(float *dst, const float *src, const float *hi, const float *lo, int64_t K)
{
    for (int64_t k = 0; k < K; k += LANES) {
        vf d = v_load(src + k);
        v_store(dst + k, d * v_load(hi + k) + d * v_load(lo + k));
    }
}

/* Token t's decay of each key. */
static void decays_at(const chunk *h, int64_t t, float *hi, float *lo)
{
    scan *s = h->s;
    const int64_t K = s->K;
    if (s->g && s->c->gate == HOP_GATE_KEY) {
        gates_split(hi, lo, s->g + (h->first + t) * s->g_step, K);
        return;
    }
    float one[2];
    split(exp(scalars_at(s, h->first + t).log_gate), one, one + 1);
    for (int64_t k = 0; k < K; k += LANES) v_store(hi + k, v_all(one[0])), v_store(lo + k, v_all(one[1]));
}

/* The sum of the gates, for the decay of the state. */
static void sums_add(chunk *h, int64_t t)
{
    const scan *s = h->s;
    if (!s->g) return;
    const bool own = s->c->gate == HOP_GATE_KEY;
    const float *g = s->g + (h->first + t) * s->g_step;
    for (int64_t k = 0; own && k < s->K; k++) h->sum[k] += g[k];
    for (int64_t k = 0; !own && k < s->K; k++) h->sum[k] += *g;
}

/* A token's rows, inputs and results. */
typedef struct mild_rows {
    const float *q, *k, *a, *b, *hi, *lo, *before;
    float *after;             /* before e^g */
    float *cq, *ca;           /* q and a (delta: k) as seen from the chunk's start */
    float *k_there, *b_there; /* k and b as if they had been there at the chunk's start */
    float q_by, k_by;
} mild_rows;

/* Lanes k .. k + n - 1 of them; n is LANES but at the end. */
INLINE void mild_lanes(const mild_rows r, int64_t k, int64_t n, const hop__scan_kind kind, const bool bonus)
{
    const vf before = v_load(r.before + k), key = v_load_to(r.k + k, 0, n);
    const vf after = before * v_load(r.hi + k) + before * v_load(r.lo + k), back = 1.0f / after;
    TRACE_LANES("back", back, K, k, AT(T, 0));
    TRACE_LANES("qs", v_load_to(r.q + k, 0, n) * r.q_by, K, k, AT(T, 0));
    v_store(r.after + k, after);
    v_store(r.cq + k, v_load_to(r.q + k, 0, n) * r.q_by * (bonus ? before : after));
    v_store(r.k_there + k, key * back);
    if (kind == HOP__DELTA) v_store(r.ca + k, key * r.k_by * after);
    if (kind != HOP__DPLR) return;
    v_store(r.ca + k, v_load_to(r.a + k, 0, n) * before);
    v_store(r.b_there + k, v_load_to(r.b + k, 0, n) * back);
}

INLINE void mild_keys(const mild_rows r, int64_t K, const hop__scan_kind kind, const bool bonus)
{
    int64_t k = 0;
    for (; k + LANES <= K; k += LANES) mild_lanes(r, k, LANES, kind, bonus);
    if (k < K) mild_lanes(r, k, K - k, kind, bonus);
}

/* Token t: rows into cq and ca, columns as rows of h->q and h->a. */
static void mild_token(chunk *h, int64_t t)
{
    scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX), key = (h->first + t) * c->k_stride;
    h->beta[t] = s->beta ? s->beta[(h->first + t) * c->beta_stride] : 1.0f;
    decays_at(h, t, h->hi, h->lo);
    TRACE_TOKEN(h->first + t);
    TRACE("e", h->hi, .lo = h->lo, ALONG(K, K, 1));
    sums_add(h, t);
    mild_rows r = {.q = s->q + (h->first + t) * c->q_stride, .k = s->k + key, .hi = h->hi, .lo = h->lo};
    r.a = at_head(s->a, key), r.b = at_head(s->b, key), r.q_by = c->scale, r.k_by = -h->beta[t];
    r.before = h->decay + t * Kp, r.after = h->decay + (t + 1) * Kp;
    r.cq = h->cq + t * h->row, r.ca = h->ca + t * h->row;
    r.k_there = h->q + t * Kp, r.b_there = h->a + t * Kp;
    if (s->kind == HOP__DPLR)
        mild_keys(r, K, HOP__DPLR, false);
    else if (s->kind == HOP__DELTA)
        mild_keys(r, K, HOP__DELTA, false);
    else
        s->u ? mild_keys(r, K, HOP__DECAY, true) : mild_keys(r, K, HOP__DECAY, false);
}

/* Whether no key's decay to after token first, .., last is too far from 1 to divide by. */
static bool mild_all(const chunk *h, int64_t first, int64_t last)
{
    const int64_t K = h->s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    vu mild = ~(vu){0};
    for (int64_t t = first; t <= last; t++)
        for (int64_t k = 0; k < K; k += LANES) {
            const vf e = v_load(h->decay + (t + 1) * Kp + k);
            mild &= v_lt(v_all(0x1p-32f), e) & v_lt(e, v_all(0x1p32f));
        }
    return v_every(mild);
}

/* The first token that is not mild; n: none. */
static int64_t mild_end(const chunk *h)
{
    if (mild_all(h, 0, h->n - 1)) return h->n;
    int64_t t = 0;
    while (mild_all(h, t, t)) t++;
    return t;
}

/* No coefficients of later tokens, and which of the token's own. */
static void rows_end(chunk *h)
{
    const scan *s = h->s;
    for (int64_t t = 0; t < h->n; t++)
        for (int64_t part = 0; part < h->width; part += CHUNK) {
            float *cq = h->cq + t * h->row + s->K + part, *ca = h->ca + t * h->row + s->K + part;
            row_end(cq, t + 1);
            if (s->kind != HOP__DECAY) row_end(ca, t);
            if (!s->u) continue;
            const float *q = s->q + (h->first + t) * s->c->q_stride;
            cq[t] = s->c->scale * bonus(q, s->u, s->k + (h->first + t) * s->c->k_stride, s->K);
            TRACE_TOKEN(h->first + t), TRACE_WIDE("ws", cq[t]);
            TRACE_WIDE("w", bonus(q, s->u, s->k + (h->first + t) * s->c->k_stride, s->K));
        }
}

static void coefficients_steep(chunk *h, int64_t from);
static void columns_decay(chunk *h, const float *by, int64_t cols);

static void coefficients_vector(chunk *h)
{
    const scan *s = h->s;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    memset(h->sum, 0, sizeof(double) * (size_t)K);
    for (int64_t t = 0; t < h->n; t++) mild_token(h, t);
    const int64_t mild = mild_end(h);
    columns_load(h, h->right, h->q, s->b ? h->a : NULL, Kp);
    for (int64_t part = 0; part < h->width; part += CHUNK) {
        pairs_lower(h, (tile_job){.c = h->cq + K + part, .a = h->cq, .rs = h->row}, part, mild);
        if (s->kind != HOP__DECAY)
            pairs_lower(h, (tile_job){.c = h->ca + K + part, .a = h->ca, .rs = h->row}, part, mild);
    }
    trace_mild(h, mild);
    if (mild < h->n)
        coefficients_steep(h, mild);
    else
        columns_decay(h, h->decay + h->n * Kp, h->n);
    rows_end(h);
    TRACE_ROWS("mild");
    trace_coefficients(h, 0, mild, h->n);
    for (int64_t k = 0; k < K; k++) h->near[k] = (float)h->sum[k];
    gates_split(h->hi, h->lo, h->near, K);
    h->decay_step = 1;
    TRACE_ROWS(mild < h->n ? "steep" : "mild");
    trace_right(h);
}
