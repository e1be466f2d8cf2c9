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

/* dst = src / w. */
INLINE void share_row(float *dst, const float *src, const float *w, int64_t K)
{
    for (int64_t k = 0; k < K; k += LANES) v_store(dst + k, v_load_to(src, k, K) / v_load(w + k));
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

/* Token t: its rows as seen from the chunk's start, into cq and ca; its columns as if it were there, as rows
 * of h->q and h->a. */
static void mild_token(chunk *h, int64_t t)
{
    scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX), key = (h->first + t) * c->k_stride;
    const float *before = h->decay + t * Kp;
    float *after = h->decay + (t + 1) * Kp, *cq = h->cq + t * h->row, *ca = h->ca + t * h->row;
    fetch_g(h->next, h->next_first + t), fetch_q(h->next, h->next_first + t),
        fetch_k(h->next, h->next_first + t);
    h->beta[t] = s->beta ? s->beta[(h->first + t) * c->beta_stride] : 1.0f;
    decays_at(h, t, h->hi, h->lo);
    sums_add(h, t);
    decay_more(after, before, h->hi, h->lo, K);
    weigh_row(cq, s->q + (h->first + t) * c->q_stride, c->scale, s->u ? before : after, K);
    if (s->kind == HOP__DELTA) weigh_row(ca, s->k + key, -h->beta[t], after, K);
    share_row(h->q + t * Kp, s->k + key, after, K);
    if (s->kind != HOP__DPLR) return;
    weigh_row(ca, s->a + key, 1.0f, before, K);
    share_row(h->a + t * Kp, s->b + key, after, K);
}

/* The first token that is not mild; n: none. */
static int64_t mild_end(const chunk *h)
{
    const int64_t Kp = hop__round_up(h->s->K, HOP__PANEL_MAX);
    for (int64_t t = 0; t < h->n; t++) {
        const float *e = h->decay + (t + 1) * Kp;
        vu mild = ~(vu){0};
        for (int64_t k = 0; k < h->s->K; k += LANES)
            mild &= v_lt(v_all(0x1p-32f), v_load(e + k)) & v_lt(v_load(e + k), v_all(0x1p32f));
        if (!v_every(mild)) return t;
    }
    return h->n;
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
    if (mild < h->n)
        coefficients_steep(h, mild);
    else
        columns_decay(h, h->decay + h->n * Kp, h->n);
    rows_end(h);
    for (int64_t k = 0; k < K; k++) h->near[k] = (float)h->sum[k];
    gates_split(h->hi, h->lo, h->near, K);
    h->decay_step = 1;
}
