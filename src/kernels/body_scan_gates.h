/* body_scan_gates.h - the coefficients of a chunk: how much of each earlier token reaches each token.
 *
 * Inside a chunk, with c_t the sum of the gates up to token t and `right` the keys (dplr: b, then k) as
 * columns,
 *     o_t = [ q_t e^(c_t) | q_t·k_j e^(c_t - c_j) ] · [ S at the start ; x ]
 * and likewise the rows that x or p are solved from. This file fills those rows, `cq` and `ca`, and leaves
 * `right` decayed to the end of the chunk, which is what the new state is made of. No positive exponent is
 * ever formed.
 *
 * One gate for all keys: the product of all pairs, then each coefficient times a decay that is carried from
 * token to token by multiplying (never by exponents' differences: those of large sums would cancel).
 *
 * A gate for each key: the columns themselves are carried. Tokens come in blocks of SUB; columns before the
 * block are held as they are at its start and meet rows that are decayed from there: a product of matrices,
 * both factors at most 1. Columns of the block itself, one or two registers of them, are decayed token by
 * token. Rows that see the state before their own token's gate (dplr's a, RWKV-6's q) are taken before the
 * multiplication, the others after. */

#if LANES >= 8
#define SUB LANES
#else
#define SUB 8
#endif

typedef struct chunk {
    scan *s;
    int64_t first, n;         /* tokens first .. first + n - 1 */
    int64_t width, row;       /* columns of right: CHUNK or 2 CHUNK; floats of a row of cq: K + width */
    float *m;                 /* [K + width, ld]: the state, then x (dplr: p, then v) */
    float *cq, *ca;           /* [CHUNK, row] */
    float *q, *a;             /* [CHUNK, K]: rows, vector gates: decayed from the start of their block */
    float *right, *raw;       /* [K, width] */
    float *hi, *lo;           /* [CHUNK, Kp] of vector gates; of the whole chunk: the first row, at the end */
    float *near, *far;        /* [Kp]: decay since the block's start; from the chunk's start to the block's */
    double *sum;              /* [K]: the gates of the chunk */
    float *beta, *key, *m_at; /* [CHUNK] */
    int64_t decay_step;       /* 0: hi[0], lo[0] decay every row of the state */
    float *y;
} chunk;

enum { CHUNK = HOP__SCAN_CHUNK };

/* Copies k (and b) of the chunk as columns. */
static void columns_load(chunk *h, float *dst)
{
    const scan *s = h->s;
    if (h->n < CHUNK) memset(dst, 0, sizeof(float) * (size_t)(s->K * h->width));
    if (s->b) transpose(dst, h->width, s->b + h->first * s->c->k_stride, s->c->k_stride, h->n, s->K);
    transpose(dst + (s->b ? CHUNK : 0), h->width, s->k + h->first * s->c->k_stride, s->c->k_stride, h->n,
              s->K);
}

/* c[rows, columns] = a[rows, K] · right[K, columns]; whole panels are written. */
static void pairs(const chunk *h, float *c, const float *a, int64_t col, int64_t cols, int64_t rows)
{
    const int64_t K = h->s->K;
    for (int64_t j = 0; j < cols; j += NR) {
        tile_job t = {.c = c + j,
                      .ldc = h->row,
                      .a = a,
                      .rs = K,
                      .cs = 1,
                      .b = h->right + col + j,
                      .ldb = h->width,
                      .k = K};
        panel(&t, rows, width_for(cols - j));
    }
}

/* ---- one gate for all keys ------------------------------------------------------------------- */

/* row[0 .. t] *= e * f; zero behind, to the end of the panel. */
INLINE void decay_row(float *row, const float *e, float f, int64_t t)
{
    int64_t j = 0;
    for (; j + LANES <= t + 1; j += LANES) v_store(row + j, v_load(row + j) * (v_load(e + j) * f));
    if (j <= t) {
        vu keep = v_lt(v_iota(),
                       v_all((float)(t - j) + 0.5f)); /* not by a product: what is behind may be infinite */
        v_store(row + j, v_from_bits(v_bits(v_load(row + j) * (v_load(e + j) * f)) & keep));
        j += LANES;
    }
    for (; j % NR; j += LANES) v_store(row + j, (vf){0});
}

static void coefficients_scalar(chunk *h)
{
    scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, n = h->n;
    const bool delta = s->kind == HOP__DELTA, head = s->kind != HOP__MLSTM && c->gate == HOP_GATE_HEAD;
    float hi[CHUNK], lo[CHUNK], e[CHUNK] = {0};
    double sum = 0.0;
    for (int64_t t = 0; t < n; t++) {
        scalars sc = scalars_at(s, h->first + t);
        fetch_q(s, h->first + t + CHUNK);
        h->beta[t] = sc.beta, h->key[t] = sc.key, h->m_at[t] = sc.m;
        sum += sc.log_gate;
        float far = (float)exp(sum);
        split(head ? s->head_gate : exp(sc.log_gate), hi + t, lo + t);
        scale_row(h->q + t * K, s->q + (h->first + t) * c->q_stride, c->scale, K);
        scale_row(h->cq + t * h->row, h->q + t * K, far, K);
        if (!delta) continue;
        memcpy(h->a + t * K, s->k + (h->first + t) * c->k_stride, sizeof(float) * (size_t)K);
        scale_row(h->ca + t * h->row, h->a + t * K, -far * sc.beta, K);
    }
    columns_load(h, h->right);
    for (int64_t j = 0; j < n; j += NR) {
        pairs(h, h->cq + j * h->row + K + j, h->q + j * K, j, NR, n - j);
        if (delta) pairs(h, h->ca + j * h->row + K + j, h->a + j * K, j, NR, n - j);
    }
    for (int64_t t = 0; t < n; t++) {
        fetch_k(s, h->first + t + CHUNK);
        for (int64_t j = 0; j < t; j += LANES) v_store(e + j, v_load(e + j) * hi[t] + v_load(e + j) * lo[t]);
        if (delta) decay_row(h->ca + t * h->row + K, e, -h->beta[t], t);
        e[t] = h->key[t];
        decay_row(h->cq + t * h->row + K, e, 1.0f, t);
    }
    for (int64_t k = 0; k < K; k++) {
        float *r = h->right + k * h->width;
        for (int64_t j = 0; j < n; j += LANES) v_store(r + j, v_load(r + j) * v_load(e + j));
    }
    split(exp(sum), h->hi, h->lo);
    h->decay_step = 0;
}

/* ---- a gate for each key --------------------------------------------------------------------- */

typedef struct near_rows {
    const float *a, *q, *hi, *lo; /* of the token, [K] */
    float *a_out, *q_out;         /* SUB coefficients of the block; a_out NULL: none wanted */
    float *right;                 /* the block's columns, rows `width` apart */
    const float *raw;
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
        if (a_when != NEVER) v_store(r->a_out + w * LANES, a_sum[0][w] + a_sum[1][w]);
        v_store(r->q_out + w * LANES, q_sum[0][w] + q_sum[1][w]);
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

static void near_block(chunk *h, int64_t t0, int64_t t1)
{
    const scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    void (*const run)(const near_rows *) = s->kind == HOP__DPLR    ? near_dplr
                                           : s->kind == HOP__DELTA ? near_delta
                                           : s->u                  ? near_bonus
                                                                   : near_decay;
    const float *rows = s->kind == HOP__DELTA ? s->k : s->a;
    for (int64_t t = t0; t < t1; t++) {
        fetch_q(s, h->first + t + CHUNK), fetch_k(s, h->first + t + CHUNK);
        for (int64_t part = 0; part < h->width; part += CHUNK) {
            near_rows r = {
                .q = s->q + (h->first + t) * c->q_stride, .hi = h->hi + t * Kp, .lo = h->lo + t * Kp};
            r.a = at_head(rows, (h->first + t) * c->k_stride);
            r.q_out = h->cq + t * h->row + K + part + t0, r.a_out = h->ca + t * h->row + K + part + t0;
            r.right = h->right + part + t0, r.raw = h->raw + part + t0;
            r.K = K, r.width = h->width, r.lane = t - t0;
            run(&r);
        }
    }
}

/* dst = src * f * w, over K; and far = dst * e. */
INLINE void weigh(float *near, float *far, const float *src, float f, const float *w, const float *e,
                  int64_t K)
{
    for (int64_t k = 0; k < K; k++) near[k] = src[k] * f * w[k], far[k] = near[k] * e[k];
}

/* Rows of the block as they are seen from its start (h->q, h->a) and from the chunk's (cq, ca). */
static void weigh_rows(chunk *h, int64_t t0, int64_t t1)
{
    const scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    for (int64_t k = 0; k < K; k++) h->near[k] = 1.0f;
    for (int64_t t = t0; t < t1; t++) {
        const float *q = s->q + (h->first + t) * c->q_stride, *hi = h->hi + t * Kp, *lo = h->lo + t * Kp;
        const int64_t key = (h->first + t) * c->k_stride;
        float *far_q = h->cq + t * h->row, *far_a = h->ca + t * h->row;
        if (s->u) weigh(h->q + t * K, far_q, q, 1.0f, h->near, h->far, K);
        if (s->kind == HOP__DPLR) weigh(h->a + t * K, far_a, s->a + key, 1.0f, h->near, h->far, K);
        for (int64_t k = 0; k < K; k++) h->near[k] = h->near[k] * hi[k] + h->near[k] * lo[k];
        if (!s->u) weigh(h->q + t * K, far_q, q, 1.0f, h->near, h->far, K);
        if (s->kind == HOP__DELTA) weigh(h->a + t * K, far_a, s->k + key, 1.0f, h->near, h->far, K);
    }
}

/* What the block does to everything before it: its columns decay, the start is further away. */
static void block_pass(chunk *h, int64_t t0)
{
    const int64_t K = h->s->K;
    for (int64_t k = 0; k < K; k++) {
        for (int64_t part = 0; part < h->width; part += CHUNK) {
            float *r = h->right + k * h->width + part;
            for (int64_t j = 0; j < t0; j += LANES) v_store(r + j, v_load(r + j) * h->near[k]);
        }
        h->far[k] *= h->near[k];
    }
}

static void vector_gates(chunk *h)
{
    scan *s = h->s;
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    memset(h->sum, 0, sizeof(double) * (size_t)K);
    for (int64_t t = 0; t < h->n; t++) {
        scalars sc = scalars_at(s, h->first + t);
        fetch_g(s, h->first + t + CHUNK);
        h->beta[t] = sc.beta;
        if (s->g && s->c->gate == HOP_GATE_KEY) {
            const float *g = s->g + (h->first + t) * s->g_step;
            gates_split(h->hi + t * Kp, h->lo + t * Kp, g, K);
            for (int64_t k = 0; k < K; k++) h->sum[k] += g[k];
        } else {
            float hi, lo;
            split(exp(sc.log_gate), &hi, &lo);
            for (int64_t k = 0; k < K; k++)
                h->hi[t * Kp + k] = hi, h->lo[t * Kp + k] = lo, h->sum[k] += sc.log_gate;
        }
    }
}

static void coefficients_vector(chunk *h)
{
    scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K;
    vector_gates(h);
    columns_load(h, h->raw);
    memset(h->right, 0, sizeof(float) * (size_t)(K * h->width));
    for (int64_t k = 0; k < K; k++) h->far[k] = 1.0f;
    for (int64_t t0 = 0; t0 < h->n; t0 += SUB) {
        const int64_t t1 = hop__min(h->n, t0 + SUB);
        weigh_rows(h, t0, t1);
        for (int64_t part = 0; part < h->width; part += CHUNK)
            for (int64_t t = t0; t < t1;
                 t += 4) { /* by fours: two rows alone would wait for their additions */
                const int64_t rows = hop__min(4, t1 - t);
                pairs(h, h->cq + t * h->row + K + part, h->q + t * K, part, t0, rows);
                if (s->kind == HOP__DELTA || s->kind == HOP__DPLR)
                    pairs(h, h->ca + t * h->row + K + part, h->a + t * K, part, t0, rows);
            }
        near_block(h, t0, t1);
        block_pass(h, t0);
    }
    for (int64_t t = 0; t < h->n; t++) {
        float *cq = h->cq + t * h->row, *ca = h->ca + t * h->row;
        const int64_t q = (h->first + t) * c->q_stride, k = (h->first + t) * c->k_stride;
        if (s->u) cq[K + t] = bonus(s->q + q, s->u, s->k + k, K);
        scale_row(cq, cq, c->scale, h->row);
        if (s->kind == HOP__DELTA) scale_row(ca, ca, -h->beta[t], h->row);
    }
    for (int64_t k = 0; k < K; k++) h->near[k] = (float)h->sum[k];
    gates_split(h->hi, h->lo, h->near, K);
    h->decay_step = 1;
}
