/* body_attn_row.h - attention of one query row over many keys: what a token-by-token step does.
 *
 * One row cannot fill the lanes of a panel, so here lanes run along the head's dimensions for the dot
 * products and the sum of values, and along keys for the softmax. Bound by reading keys and values once. */

/* o[dim] = o * alpha + sum_j p[j] v[j*ld + ..], `wide` registers of it at a time. */
INLINE void add_values(float *o, const float *p, const float *v, int64_t ld, int64_t n, float alpha,
                       const int wide)
{
    vf sum[8];
    UNROLL for (int w = 0; w < wide; w++) sum[w] = (vf){0};
    for (int64_t j = 0; j < n; j++, v += ld)
        UNROLL for (int w = 0; w < wide; w++) sum[w] += p[j] * v_load(v + w * LANES);
    UNROLL for (int w = 0; w < wide; w++) v_store(o + w * LANES, v_load(o + w * LANES) * alpha + sum[w]);
}

static void row_values(float *o, const float *p, const float *v, const hop_attn *c, int64_t n, float alpha)
{
    int64_t e = 0, dim = c->value_dim, ld = c->v_stride;
    for (; e + 8 * LANES <= dim; e += 8 * LANES) add_values(o + e, p, v + e, ld, n, alpha, 8);
    for (; e + 2 * LANES <= dim; e += 2 * LANES) add_values(o + e, p, v + e, ld, n, alpha, 2);
    for (; e + LANES <= dim; e += LANES) add_values(o + e, p, v + e, ld, n, alpha, 1);
    float rest[LANES] = {
        0}; /* side by side, since one chain of additions after another would wait for each */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < dim - e; i++) rest[i] += p[j] * v[j * ld + e + i];
    for (int64_t i = 0; i < dim - e; i++) o[e + i] = o[e + i] * alpha + rest[i];
}

/* Weights in place of n scores, and the new maximum; the scores behind n up to a register are set here. */
INLINE float row_softmax(float *s, int64_t n, float *top)
{
    for (int64_t i = n; i < hop__round_up(n, LANES); i++) s[i] = -FLT_MAX;
    vf m = v_all(*top), sum = (vf){0};
    for (int64_t i = 0; i < n; i += LANES) m = v_max(v_load(s + i), m);
    *top = v_max_lane(m);
    for (int64_t i = 0; i < n; i += LANES) {
        vf e = v_exp_low(v_load(s + i) - *top);
        v_store(s + i, e);
        sum += e;
    }
    return v_sum(sum);
}

static void attn_row(const hop__attn_task *t, int64_t row)
{
    const hop_attn *c = t->c;
    int64_t kv = t->head / (c->heads / c->kv_heads), lo, hi;
    float *q = t->scratch, *o = q + c->key_dim, *out = t->o + row * c->o_stride + t->head * c->value_dim;
    float s[HOP__ATTN_KEYS], top = -FLT_MAX, sum = 0.0f;
    for (int64_t e = 0; e < c->key_dim; e++)
        q[e] = t->q[row * c->q_stride + t->head * c->key_dim + e] * c->scale;
    memset(o, 0, sizeof(float) * (size_t)c->value_dim);
    hop__attn_range(c, c->first + row, &lo, &hi);
    for (int64_t j = lo; j < hi; j += HOP__ATTN_KEYS) {
        int64_t n = hop__min(HOP__ATTN_KEYS, hi - j), i = 0;
        const float *k = t->k + j * c->k_stride + kv * c->key_dim;
        for (; i + 4 <= n; i += 4) dots(s + i, q, k + i * c->k_stride, c->k_stride, c->key_dim, 4);
        for (; i < n; i++) dots(s + i, q, k + i * c->k_stride, c->k_stride, c->key_dim, 1);
        TRACE_UNIT(.form = "block", .head = row, .first = j, .n = n, .state = o, .ld = 1, .m = top, .z = sum);
        TRACE("qs", q, ALONG(K, c->key_dim, 1));
        TRACE("s", s, ALONG(J, n, 1));
        float old = top, part = row_softmax(s, n, &top), alpha[LANES];
        v_store(alpha, v_exp_low(v_all(old - top)));
        sum = sum * alpha[0] + part;
        TRACE("m", &top, AT(J, 0));
        TRACE("w", s, ALONG(J, n, 1));
        TRACE("shrink", alpha, AT(J, 0));
        TRACE("z", &sum, AT(J, 0));
        row_values(o, s, t->v + j * c->v_stride + kv * c->value_dim, c, n, alpha[0]);
        TRACE("y", o, ALONG(V, c->value_dim, 1));
    }
    for (int64_t e = 0; e < c->value_dim; e++) out[e] = o[e] / sum;
    TRACE("o", out, ALONG(V, c->value_dim, 1));
    if (t->lse) t->lse[t->head * c->queries + row] = top + logf(sum);
}

static void attn_forward(const hop__attn_task *t)
{
    if (t->partial) /* never row by row: a row's bits must not depend on how many there are */
        attn_panels(t);
    else if (t->c->bits > 0 && t->c->bits < 24)
        attn_rounded(t);
    else if (t->rows <= HOP__ATTN_FEW)
        for (int64_t r = t->row; r < t->row + t->rows; r++) attn_row(t, r);
    else
        attn_panels(t);
}
