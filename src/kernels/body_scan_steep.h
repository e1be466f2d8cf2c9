/* body_scan_steep.h - coefficients of tokens before which a key has forgotten nearly everything since the
 * chunk's start, so that body_scan_keys.h cannot divide by its decay.
 *
 * The columns themselves are carried. Tokens come in blocks of SUB; columns before the block are held as they
 * are at its start and meet rows that are decayed from there: a product of matrices, both factors at most 1.
 * Columns of the block itself, one or two registers of them, are decayed token by token. Rows that see the
 * state before their own token's gate (dplr's a, RWKV-6's q) are taken before the multiplication, the others
 * after. No positive exponent is formed here. */

#if LANES >= 8
#define SUB LANES
#else
#define SUB 8
#endif

typedef struct near_rows {
    const float *a, *q, *hi, *lo; /* of the token, [K] */
    float *a_out, *q_out;         /* SUB coefficients of the block; a_out NULL: none wanted */
    float *right;                 /* the block's columns, rows `width` apart */
    const float *raw;
    float a_by, q_by;       /* what the coefficients are multiplied with */
    int64_t K, width, lane; /* which column is the token's own */
} near_rows;

typedef enum when { BEFORE, AFTER, NEVER } when;

/* The block's columns move on by one token. Two sums each, so that the additions do not wait for each other.
 */
INLINE void near_token(const near_rows *r, const when a_when, const when q_when)
{
    enum { W = SUB / LANES };
    vf a_sum[2][W], q_sum[2][W];
    vu own[W];
    UNROLL for (int w = 0; w < W; w++)
    {
        a_sum[0][w] = a_sum[1][w] = q_sum[0][w] = q_sum[1][w] = (vf){0};
        vf lane = v_iota() + (float)(w * LANES) - (float)r->lane;
        own[w] = v_lt(v_abs(lane), v_all(0.5f));
    }
    float *right = r->right;
    const float *raw = r->raw;
    for (int64_t k0 = 0; k0 < r->K; k0 += 2) {
        UNROLL for (int i = 0; i < 2; i++)
        {
            const int64_t k = k0 + i;
            if (k >= r->K) break;
            UNROLL for (int w = 0; w < W; w++)
            {
                vf c = v_load(right + w * LANES);
                if (a_when == BEFORE) a_sum[i][w] += r->a[k] * c;
                if (q_when == BEFORE) q_sum[i][w] += r->q[k] * c;
                c = r->hi[k] * c + r->lo[k] * c;
                if (a_when == AFTER) a_sum[i][w] += r->a[k] * c;
                c += v_from_bits(v_bits(v_load(raw + w * LANES)) & own[w]);
                if (q_when == AFTER) q_sum[i][w] += r->q[k] * c;
                v_store(right + w * LANES, c);
            }
            right += r->width, raw += r->width;
        }
    }
    UNROLL for (int w = 0; w < W; w++)
    {
        if (a_when != NEVER) v_store(r->a_out + w * LANES, (a_sum[0][w] + a_sum[1][w]) * r->a_by);
        v_store(r->q_out + w * LANES, (q_sum[0][w] + q_sum[1][w]) * r->q_by);
    }
}

static void near_decay(const near_rows *r)
{
    near_token(r, NEVER, AFTER);
}
static void near_bonus(const near_rows *r)
{
    near_token(r, NEVER, BEFORE);
}
static void near_delta(const near_rows *r)
{
    near_token(r, AFTER, AFTER);
}
static void near_dplr(const near_rows *r)
{
    near_token(r, BEFORE, AFTER);
}

/* The columns pass all tokens of the block; rows are wanted from token `from` on. */
static void near_block(chunk *h, int64_t t0, int64_t t1, int64_t from)
{
    const scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    void (*const run)(const near_rows *) = s->kind == HOP__DPLR    ? near_dplr
                                           : s->kind == HOP__DELTA ? near_delta
                                           : s->u                  ? near_bonus
                                                                   : near_decay;
    const float *rows = s->kind == HOP__DELTA ? s->k : s->a;
    float unwanted[2][SUB];
    for (int64_t t = t0; t < t1; t++)
        for (int64_t part = 0; part < h->width; part += CHUNK) {
            near_rows r = {
                .q = s->q + (h->first + t) * c->q_stride, .hi = h->hi + t * Kp, .lo = h->lo + t * Kp};
            r.a = at_head(rows, (h->first + t) * c->k_stride);
            r.q_out = t < from ? unwanted[0] : h->cq + t * h->row + K + part + t0;
            r.a_out = t < from ? unwanted[1] : h->ca + t * h->row + K + part + t0;
            r.q_by = c->scale, r.a_by = s->kind == HOP__DELTA ? -h->beta[t] : 1.0f;
            r.right = h->right + part + t0, r.raw = h->raw + part + t0;
            r.K = K, r.width = h->width, r.lane = t - t0;
            run(&r);
        }
}

/* Rows of the block as they are seen from its start: h->q, h->a. */
static void near_weigh(chunk *h, int64_t t0, int64_t t1)
{
    const scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    for (int64_t k = 0; k < Kp; k++) h->near[k] = 1.0f;
    for (int64_t t = t0; t < t1; t++) {
        const float *q = s->q + (h->first + t) * c->q_stride;
        const int64_t key = (h->first + t) * c->k_stride;
        if (s->u) weigh_row(h->q + t * Kp, q, c->scale, h->near, K);
        if (s->kind == HOP__DPLR) weigh_row(h->a + t * Kp, s->a + key, 1.0f, h->near, K);
        decay_more(h->near, h->near, h->hi + t * Kp, h->lo + t * Kp, K);
        if (!s->u) weigh_row(h->q + t * Kp, q, c->scale, h->near, K);
        if (s->kind == HOP__DELTA) weigh_row(h->a + t * Kp, s->k + key, -h->beta[t], h->near, K);
    }
}

/* Columns 0 .. cols - 1 times a number for each key. */
static void columns_decay(chunk *h, const float *by, int64_t cols)
{
    for (int64_t k = 0; k < h->s->K; k++)
        for (int64_t part = 0; part < h->width; part += CHUNK) {
            float *r = h->right + k * h->width + part;
            for (int64_t j = 0; j < cols; j += LANES) v_store(r + j, v_load(r + j) * by[k]);
        }
}

/* The rows of the block from `from` on, and all columns. */
static void steep_block(chunk *h, int64_t t0, int64_t t1, int64_t from)
{
    const scan *s = h->s;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    near_weigh(h, t0, t1);
    trace_weighed(h, t0, t1);
    for (int64_t part = 0; part < h->width; part += CHUNK)
        /* By fours: two rows alone would wait for their additions. */
        for (int64_t t = hop__max(t0, from); t < t1; t += 4) {
            const int64_t rows = hop__min(4, t1 - t), at = t * h->row + K + part;
            pairs(h, (tile_job){.c = h->cq + at, .a = h->q + t * Kp, .rs = Kp}, part, t0, rows);
            if (s->kind == HOP__DELTA || s->kind == HOP__DPLR)
                pairs(h, (tile_job){.c = h->ca + at, .a = h->a + t * Kp, .rs = Kp}, part, t0, rows);
        }
    near_block(h, t0, t1, from);
    columns_decay(h, h->near, t0);
    trace_columns(h, t1);
    trace_block(h, t0, t1, hop__max(t0, from));
}

/* Tokens from .. n - 1; `right` has the columns before them divided by their decay. */
static void coefficients_steep(chunk *h, int64_t from)
{
    const scan *s = h->s;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX), start = from - from % SUB;
    const int64_t key = h->first * s->c->k_stride;
    columns_load(h, h->raw, s->k + key, at_head(s->b, key), s->c->k_stride);
    columns_decay(h, h->decay + start * Kp, start);
    TRACE_STEEP(from);
    trace_rows(h, from, h->n);
    trace_divided(h, start);
    trace_columns(h, start);
    for (int64_t k = 0; k < K; k++)
        for (int64_t part = 0; part < h->width; part += CHUNK)
            memset(h->right + k * h->width + part + start, 0, sizeof(float) * (size_t)(CHUNK - start));
    for (int64_t t = start; t < h->n; t++) decays_at(h, t, h->hi + t * Kp, h->lo + t * Kp);
    TRACE("e", h->hi + start * Kp, .lo = h->lo + start * Kp, AT(T, start), ALONG(T, h->n - start, Kp),
          ALONG(K, K, 1));
    for (int64_t t = start; t < h->n; t += SUB) steep_block(h, t, hop__min(h->n, t + SUB), from);
}
