/* body_attn_round.h - attention whose scores, weights and outputs are rounded to a few significant bits.
 *
 * What is rounded must not depend on block sizes, so nothing is rescaled: a panel's scores of all keys are
 * kept (tokens x NR floats), then max, weight = round(exp(s - max)), p = round(weight / sum), o = round(sum p
 * v). */

INLINE vf rounded_weight(float *s, vf top, rounding to)
{
    vf e = v_round_normal(v_exp_low(v_load(s) - top), to);
    v_store(s, e);
    return e;
}

INLINE vf rounded_weights(float *s, int64_t n, vf top, rounding to)
{
    const vf zero = (vf){0};
    vf part[4] = {zero, zero, zero, zero};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        UNROLL for (int u = 0; u < 4; u++) part[u] += rounded_weight(s + (i + u) * NR, top, to);
    for (; i < n; i++) part[0] += rounded_weight(s + i * NR, top, to);
    return (part[0] + part[1]) + (part[2] + part[3]);
}

INLINE void rounded_panel_softmax(float *s, int64_t n, const attn_panel *p, const hop_attn *c, rounding to)
{
    (void)c;
    TRACE_ONLY(const float *scores = s);
    for (int w = 0; w < p->wide; w++, s += LANES) {
        vf sum = (vf){0}, top = v_load(p->top + w * LANES);
        for (int64_t i = 0; i < n; i += HOP__ATTN_KEYS)
            sum += rounded_weights(s + i * NR, hop__min(HOP__ATTN_KEYS, n - i), top, to);
        trace_lanes("wr", p, c, scores, p->lo, n, w);
        for (int64_t i = 0; i < n; i++) v_store(s + i * NR, v_round(v_load(s + i * NR) / sum, to));
        v_store(p->sum + w * LANES, sum);
    }
    trace_each("z", p, c, p->sum, p->lo, n);
    trace_keys("pr", p, c, scores, p->lo, n);
}

/* Scores of keys [j, j + n), rounded, masked, and their maximum. */
static void rounded_scores(const hop__attn_task *t, const attn_panel *p, float *s, int64_t j, int64_t n)
{
    const hop_attn *c = t->c;
    rounding to = rounding_to(c->bits);
    tile_job job = {.c = s, .ldc = NR, .rs = c->k_stride, .cs = 1, .b = p->qt, .ldb = NR, .k = c->key_dim};
    job.a = t->k + j * c->k_stride + t->head / (c->heads / c->kv_heads) * c->key_dim;
    panel(&job, n, p->wide);
    for (int w = 0; w < p->wide; w++)
        for (int64_t i = 0; i < n; i++)
            v_store(s + i * NR + w * LANES, v_round(v_load(s + i * NR + w * LANES), to));
    mask_scores(s, NR, p, c, j, n);
    for (int w = 0; w < p->wide; w++) {
        vf top = v_load(p->top + w * LANES);
        for (int64_t i = 0; i < n; i++) top = v_max(v_load(s + i * NR + w * LANES), top);
        v_store(p->top + w * LANES, top);
    }
}

static void attn_rounded(const hop__attn_task *t)
{
    const hop_attn *c = t->c;
    attn_panel panels[HOP__ATTN_ROWS / NR];
    float *s = attn_open(panels, t);
    int64_t kv = t->head / (c->heads / c->kv_heads);
    for (int64_t r = 0; r < t->rows; r += NR) {
        const attn_panel *p = &panels[r / NR];
        for (int64_t j = p->lo; j < p->hi; j += HOP__ATTN_KEYS)
            rounded_scores(t, p, s + (j - p->lo) * NR, j, hop__min(HOP__ATTN_KEYS, p->hi - j));
        trace_scores("rounded", p, c, s, p->lo, p->hi - p->lo);
        trace_each("m", p, c, p->top, p->lo, p->hi - p->lo);
        rounded_panel_softmax(s, p->hi - p->lo, p, c, rounding_to(c->bits));
        for (int64_t j = p->lo; j < p->hi; j += HOP__ATTN_KEYS) {
            tile_job job = {.c = p->ot, .ldc = NR, .rs = 1, .cs = c->v_stride, .ldb = NR, .mode = TILE_ADD};
            job.a = t->v + j * c->v_stride + kv * c->value_dim;
            job.b = s + (j - p->lo) * NR;
            job.k = hop__min(HOP__ATTN_KEYS, p->hi - j);
            panel(&job, c->value_dim, p->wide);
        }
        for (int64_t i = 0; i < c->value_dim * NR; i += LANES)
            v_store(p->ot + i, v_round(v_load(p->ot + i), rounding_to(c->bits)));
        trace_sums("o", p, c, p->lo, p->hi - p->lo);
        for (int l = 0; t->lse && l < p->rows; l++)
            t->lse[t->head * c->queries + t->row + r + l] = p->top[l] + logf(p->sum[l]);
        transpose(t->o + (t->row + r) * c->o_stride + t->head * c->value_dim, c->o_stride, p->ot, NR,
                  c->value_dim, p->rows);
    }
}
