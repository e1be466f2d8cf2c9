/* body_attn.h - softmax attention forward, one task: up to 128 query rows of one head.
 *
 * Lanes are query rows. For a panel of NR rows and a block of 96 keys: scores = K · Qᵀ (k broadcast, a tile
 * of keys x rows), a lane-wise maximum, exp, and Oᵀ = Oᵀ * alpha + Vᵀ · P. Only Q and O are ever transposed;
 * keys and values are not. The rescaling of Oᵀ by alpha = exp(old max - new max) happens while the tile's sum
 * is added, so it costs nothing. The panels of a task take turns on a block of keys, which thus comes from
 * memory once per task.
 *
 * A masked score is -FLT_MAX, and a running maximum starts at half of that: so a masked weight is
 * exp(-FLT_MAX/2 or less) = 0 exactly, also in a block where the row sees nothing yet. (Values that a row of
 * the panel does not see must still be finite: 0 times infinity is NaN.) */

typedef struct attn_panel {
    float *qt, *ot;    /* [key_dim, NR], scaled; [value_dim, NR] */
    float *top, *sum;  /* [NR] running maximum, sum of weights */
    int64_t pos, rows; /* position of lane 0; lanes in use */
    int64_t lo, hi;    /* keys that some lane sees */
    int wide;
} attn_panel;

#include "body_attn_trace.h"

/* A block of keys and values of one key head; key `first` is at k[0]. */
typedef struct attn_keys {
    const float *k, *v;
    int64_t k_stride, v_stride, first;
} attn_keys;

/* How many of the keys [j, j + n) register w of the panel has to do with: those behind are later than all its
 * lanes. */
INLINE int64_t keys_seen(const attn_panel *p, const hop_attn *c, int w, int64_t j, int64_t n)
{
    if (c->bidirectional) return n;
    return hop__max(0, hop__min(n, p->pos + hop__min(p->rows, (w + 1) * LANES) - j));
}

/* -FLT_MAX into the scores of keys j .. j+n that a lane of register w does not see; s has rows `ld` apart. */
static void mask_register(float *s, int64_t ld, const attn_panel *p, const hop_attn *c, int w, int64_t j,
                          int64_t n)
{
    const int64_t first = p->pos + w * LANES;
    const bool early = c->window > 0 && j <= p->pos + p->rows - 1 - c->window;
    if (c->bidirectional) return;
    const vf lane = v_iota();
    for (int64_t i = early ? 0 : hop__max(0, first + 1 - j); i < n; i++) {
        float after = (float)(j + i - first); /* a lane below this number stands before the key */
        vu hide = v_lt(lane, v_all(after));
        if (early) hide |= ~v_lt(lane, v_all(after + (float)c->window));
        v_store(s + i * ld, v_select(hide, v_all(-FLT_MAX), v_load(s + i * ld)));
    }
}

static void mask_scores(float *s, int64_t ld, const attn_panel *p, const hop_attn *c, int64_t j, int64_t n)
{
    for (int w = 0; w < p->wide; w++) mask_register(s + w * LANES, ld, p, c, w, j, n);
}

/* c = a · panel for `few` rows in all registers of the panel and, behind those, up to `all` in the last one.
 */
INLINE void panel_stair(tile_job t, int64_t few, int64_t all, int wide)
{
    panel(&t, few, wide);
    if (all <= few) return;
    t.c += few * t.ldc + (wide - 1) * LANES, t.a += few * t.rs, t.b += (wide - 1) * LANES;
    panel(&t, all - few, 1);
}

/* Weights in place of the scores s[n, NR]; alpha for what was summed before. Four partial sums keep the error
 * of the denominator well below that of the numerator. */
INLINE void softmax_block(float *s, int64_t n, float *top, float *sum, float *alpha)
{
    vf old = v_load(top), m0 = old, m1 = old;
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
        m0 = v_max(v_load(s + i * NR), m0);
        m1 = v_max(v_load(s + (i + 1) * NR), m1);
    }
    if (i < n) m0 = v_max(v_load(s + i * NR), m0);
    m0 = v_max(m1, m0);
    const vf zero = (vf){0};
    vf part[4] = {zero, zero, zero, zero};
    for (i = 0; i + 4 <= n; i += 4) {
        UNROLL for (int u = 0; u < 4; u++)
        {
            vf e = v_exp_low(v_load(s + (i + u) * NR) - m0);
            v_store(s + (i + u) * NR, e);
            part[u] += e;
        }
    }
    for (; i < n; i++) {
        vf e = v_exp_low(v_load(s + i * NR) - m0);
        v_store(s + i * NR, e);
        part[0] += e;
    }
    vf a = v_exp_low(old - m0);
    v_store(alpha, a);
    v_store(top, m0);
    v_store(sum, v_load(sum) * a + ((part[0] + part[1]) + (part[2] + part[3])));
}

/* Keys [j, j + n) into one panel. Its first register may be done with them before its last one is. */
static void attn_block(const hop_attn *c, const attn_panel *p, const attn_keys *b, float *s, int64_t j,
                       int64_t n)
{
    float alpha[NR];
    const int64_t few = keys_seen(p, c, 0, j, n);
    tile_job scores = {.c = s, .ldc = NR, .rs = b->k_stride, .cs = 1, .b = p->qt, .ldb = NR, .k = c->key_dim};
    scores.a = b->k + (j - b->first) * b->k_stride;
    panel_stair(scores, few, n, p->wide);
    trace_scores("block", p, c, s, j, n);
    for (int w = 0; w < p->wide; w++) {
        const int64_t seen = w ? n : few;
        mask_register(s + w * LANES, NR, p, c, w, j, seen);
        softmax_block(s + w * LANES, seen, p->top + w * LANES, p->sum + w * LANES, alpha + w * LANES);
    }
    trace_softmax(p, c, s, alpha, j, n);
    tile_job values = {.c = p->ot, .ldc = NR, .rs = 1, .cs = b->v_stride, .b = s, .ldb = NR, .k = few};
    values.a = b->v + (j - b->first) * b->v_stride;
    values.mode = TILE_SCALE;
    values.alpha = alpha;
    values.more = n - few;
    if (values.more > 0)
        panel_more(&values, c->value_dim);
    else
        panel(&values, c->value_dim, p->wide);
    trace_sums("y", p, c, j, n);
}

/* Lays out the scratch of a task and fills panels; returns what is left of the scratch. */
static float *attn_open(attn_panel *panels, const hop__attn_task *t)
{
    const hop_attn *c = t->c;
    float *at = t->scratch;
    const float *q = t->q + t->row * c->q_stride + t->head * c->key_dim;
    panels_from_rows(at, q, c->q_stride, t->rows, c->key_dim, c->scale);
    float *ot = at + HOP__ATTN_ROWS * c->key_dim, *stats = ot + HOP__ATTN_ROWS * c->value_dim;
    memset(ot, 0, sizeof(float) * (size_t)(HOP__ATTN_ROWS * c->value_dim));
    for (int64_t r = 0, i = 0; r < t->rows; r += NR, i++) {
        attn_panel *p = &panels[i];
        *p = (attn_panel){.qt = at + r * c->key_dim, .ot = ot + r * c->value_dim, .top = stats + 2 * r};
        p->sum = p->top + NR;
        p->pos = c->first + t->row + r;
        p->rows = hop__min(NR, t->rows - r);
        p->wide = width_for(p->rows);
        int64_t unused;
        hop__attn_range(c, p->pos, &p->lo, &unused);
        hop__attn_range(c, p->pos + p->rows - 1, &unused, &p->hi);
        for (int l = 0; l < NR; l++) p->top[l] = -FLT_MAX / 2, p->sum[l] = 0.0f;
    }
    return stats + 2 * HOP__ATTN_ROWS;
}

/* The partial softmaxes of a panel's rows: maximum, sum, Oᵀ transposed back. */
static void attn_close_partial(const hop__attn_task *t, const attn_panel *p)
{
    const hop_attn *c = t->c;
    int64_t dim = c->value_dim + 2, stride = c->heads * dim;
    float *at = t->o + (p->pos - c->first) * stride + t->head * dim;
    transpose(at + 2, stride, p->ot, NR, c->value_dim, p->rows);
    for (int64_t r = 0; r < p->rows; r++, at += stride) {
        at[0] = p->top[r];
        at[1] = p->sum[r];
    }
}

/* o = Oᵀ / sum, transposed back, and lse = max + log sum. */
static void attn_close(const hop__attn_task *t, const attn_panel *p)
{
    const hop_attn *c = t->c;
    int64_t row = p->pos - c->first;
    float lse[NR];
    for (int w = 0; w < p->wide; w++) {
        vf sum = v_load(p->sum + w * LANES);
        v_store(lse + w * LANES, v_load(p->top + w * LANES) + v_log(sum));
        for (int64_t e = 0; e < c->value_dim; e++) {
            float *at = p->ot + e * NR + w * LANES;
            v_store(at, v_load(at) / sum);
        }
    }
    trace_sums("o", p, c, 0, c->tokens);
    transpose(t->o + row * c->o_stride + t->head * c->value_dim, c->o_stride, p->ot, NR, c->value_dim,
              p->rows);
    if (t->lse) memcpy(t->lse + t->head * c->queries + row, lse, sizeof(float) * (size_t)p->rows);
}

static attn_keys attn_gather(const hop__attn_task *t, float *scratch, int64_t j, int64_t n)
{
    const hop_attn *c = t->c;
    int64_t kv = t->head / (c->heads / c->kv_heads);
    attn_keys b = {.k_stride = c->k_stride, .v_stride = c->v_stride, .first = j};
    const float *k = t->k + j * c->k_stride + kv * c->key_dim,
                *v = t->v + j * c->v_stride + kv * c->value_dim;
    b.k = rows_gather(scratch, k, &b.k_stride, n, c->key_dim);
    b.v = rows_gather(scratch + HOP__ATTN_KEYS * c->key_dim, v, &b.v_stride, n, c->value_dim);
    return b;
}

static void attn_panels(const hop__attn_task *t)
{
    attn_panel panels[HOP__ATTN_ROWS / NR];
    int64_t count = (t->rows + NR - 1) / NR, end;
    float *s = attn_open(panels, t), *copy = s + HOP__ATTN_KEYS * NR;
    for (int64_t j = panels[0].lo; j < panels[count - 1].hi; j = end) {
        end = hop__min(j + HOP__ATTN_KEYS, panels[count - 1].hi);
        attn_keys b = attn_gather(t, copy, j, end - j);
        for (int64_t i = 0; i < count; i++) {
            int64_t lo = hop__max(j, panels[i].lo), hi = hop__min(end, panels[i].hi);
            if (lo < hi) attn_block(t->c, &panels[i], &b, s, lo, hi - lo);
        }
    }
    for (int64_t i = 0; i < count; i++) (t->partial ? attn_close_partial : attn_close)(t, &panels[i]);
}
