/* body_scan_gates.h - the coefficients of a chunk: how much of each earlier token reaches each token.
 *
 * Inside a chunk, with c_t the sum of the gates up to token t and `right` the keys (dplr: b, then k) as
 * columns,
 *     o_t = [ q_t e^(c_t) | q_t·k_j e^(c_t - c_j) ] · [ S at the start ; x ]
 * and likewise the rows that x or p are solved from. This file fills those rows, `cq` and `ca`, when one gate
 * serves all keys; body_scan_keys.h does when each key has its own. Both leave `right` decayed to the end of
 * the chunk, which is what the new state is made of.
 *
 * One gate for all keys: the product of all pairs, then each coefficient times a decay that is carried from
 * token to token by multiplying (never by exponents' differences: those of large sums would cancel). */

typedef struct chunk {
    scan *s;
    ahead ahead; /* rows of the chunk that comes after this one */
    bool far_apart;
    int64_t first, n;   /* tokens first .. first + n - 1 */
    int64_t width, row; /* columns of right: CHUNK or 2 CHUNK; floats of a row of cq: K + width */
    float *m;           /* [K + width, ld]: the state, then x (dplr: p, then v) */
    float *cq, *ca;     /* [CHUNK, row] */
    float *q, *a;       /* [CHUNK, Kp]: rows on their way to cq, ca or right */
    float *right, *raw; /* [K, width] */
    float *hi, *lo;     /* [CHUNK, Kp] of vector gates; of the whole chunk: the first row, at the end */
    float *decay;       /* [CHUNK + 1, Kp] of vector gates: from the chunk's start to before each token */
    float *near;        /* [Kp]: decay since the start of a steep block */
    double *sum;        /* [K]: the gates of the chunk */
    float *beta, *key, *m_at; /* [CHUNK] */
    int64_t decay_step;       /* 0: hi[0], lo[0] decay every row of the state */
    float *y;
} chunk;

enum { CHUNK = HOP__SCAN_CHUNK };

/* Copies rows of k (and, before them, of b; else NULL) as columns; columns that no token fills are zero. */
static void columns_load(const chunk *h, float *dst, const float *k, const float *b, int64_t stride)
{
    const int64_t K = h->s->K;
    if (h->n < CHUNK) memset(dst, 0, sizeof(float) * (size_t)(K * h->width));
    if (b) transpose(dst, h->width, b, stride, h->n, K);
    transpose(dst + h->width - CHUNK, h->width, k, stride, h->n, K);
}

/* c[rows, columns] = a[rows, K] · right[K, columns], where `t` says what c and a are; whole panels are
 * written. */
static void pairs(chunk *h, tile_job t, int64_t col, int64_t cols, int64_t rows)
{
    t.ldc = h->row, t.cs = 1, t.k = h->s->K, t.ahead = &h->ahead;
    t.b = h->right + col, t.ldb = h->width;
    for (int64_t j = 0; j < cols; j += NR, t.c += NR, t.b += NR) panel(&t, rows, width_for(cols - j));
}

/* The pairs of all tokens with those up to them (and some behind), for the rows `t` says. */
static void pairs_lower(chunk *h, tile_job t, int64_t part, int64_t rows)
{
    for (int64_t j = 0; j < rows; j += NR, t.c += NR * (h->row + 1), t.a += NR * t.rs)
        pairs(h, t, part + j, NR, rows - j);
}

/* Zeros from column `from` of a row of CHUNK on. Not by a product: what is there may be infinite. */
INLINE void row_end(float *row, int64_t from)
{
    int64_t j = from - from % LANES;
    if (from % LANES) {
        vu keep = v_lt(v_iota(), v_all((float)(from - j) - 0.5f));
        v_store(row + j, v_from_bits(v_bits(v_load(row + j)) & keep));
        j += LANES;
    }
    for (; j < CHUNK; j += LANES) v_store(row + j, (vf){0});
}

/* ---- one gate for all keys ------------------------------------------------------------------- */

/* row[0 .. t] *= e * f; zero behind. */
INLINE void decay_row(float *row, const float *e, float f, int64_t t)
{
    for (int64_t j = 0; j <= t; j += LANES) v_store(row + j, v_load(row + j) * (v_load(e + j) * f));
    row_end(row, t + 1);
}

/* The scalars of n tokens, and e^gate = hi + lo of each. */
static void gates_open(scan *s, int64_t first, int64_t n, scalars *sc, float *hi, float *lo)
{
    const bool each = !s->even && s->kind != HOP__MLSTM;
    float gate[CHUNK] = {0};
    for (int64_t t = 0; t < n; t++) {
        sc[t] = scalars_at(s, first + t);
        gate[t] = (float)sc[t].log_gate;
        if (!each) split(s->even ? s->head_gate : exp(sc[t].log_gate), hi + t, lo + t);
    }
    if (each) gates_split(hi, lo, gate, n);
}

/* Row t of the decays from each column's token to token t, from the row before, which stays in registers: a
 * number written into it in memory would be waited for when it is read. Column t begins with `key`. */
INLINE void decays_next(float *row, vf e[CHUNK / LANES], float hi, float lo, float key, int64_t t)
{
    static const float unit[2 * CHUNK] = {[CHUNK] = 1.0f};
    UNROLL for (int j = 0; j < CHUNK / LANES; j++)
    {
        e[j] = e[j] * hi + (e[j] * lo + v_load(unit + CHUNK - t + j * LANES) * key);
        v_store(row + j * LANES, e[j]);
    }
}

static void coefficients_scalar(chunk *h)
{
    scan *s = h->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, n = h->n;
    const bool delta = s->kind == HOP__DELTA;
    float hi[CHUNK], lo[CHUNK], row[CHUNK] = {0};
    scalars sc[CHUNK];
    double all = 1.0;
    gates_open(s, h->first, n, sc, hi, lo);
    TRACE_TOKEN(h->first);
    TRACE("e", hi, .lo = lo, ALONG(T, n, 1));
    for (int64_t t = 0; t < n; t++) {
        TRACE_TOKEN(h->first + t);
        h->beta[t] = sc[t].beta, h->key[t] = sc[t].key, h->m_at[t] = sc[t].m;
        all *= (double)hi[t] + lo[t];
        const float far = (float)all;
        scale_row(h->q + t * K, s->q + (h->first + t) * c->q_stride, c->scale, K);
        scale_row(h->cq + t * h->row, h->q + t * K, far, K);
        TRACE_WIDE("far", far);
        TRACE("qs", h->q + t * K, ALONG(K, K, 1));
        TRACE("cS", h->cq + t * h->row, ALONG(K, K, 1));
        if (!delta) continue;
        row_copy(h->a + t * K, s->k + (h->first + t) * c->k_stride, K);
        scale_row(h->ca + t * h->row, h->a + t * K, -far * sc[t].beta, K);
        TRACE_WIDE("fb", far * sc[t].beta);
        TRACE("ca", h->ca + t * h->row, ALONG(K, K, 1), .negated = true);
    }
    columns_load(h, h->right, s->k + h->first * c->k_stride, NULL, c->k_stride);
    pairs_lower(h, (tile_job){.c = h->cq + K, .a = h->q, .rs = K}, 0, n);
    if (delta) pairs_lower(h, (tile_job){.c = h->ca + K, .a = h->a, .rs = K}, 0, n);
    TRACE_TOKEN(h->first);
    TRACE("pair", h->cq + K, ALONG(T, n, h->row), ALONG(J, n, 1), .lower = UP_TO_OWN);
    if (delta) TRACE("meet", h->ca + K, ALONG(T, n, h->row), ALONG(J, n, 1), .lower = UP_TO_OWN);
    vf e[CHUNK / LANES] = {(vf){0}};
    for (int64_t t = 0; t < n; t++) {
        decays_next(row, e, hi[t], lo[t], h->key[t], t);
        TRACE("dec", row, AT(T, t), ALONG(J, n, 1));
        if (delta) decay_row(h->ca + t * h->row + K, row, -h->beta[t], t - 1);
        decay_row(h->cq + t * h->row + K, row, 1.0f, t);
    }
    for (int64_t k = 0; k < K; k++) {
        float *r = h->right + k * h->width;
        for (int64_t j = 0; j < n; j += LANES) v_store(r + j, v_load(r + j) * v_load(row + j));
    }
    split(all, h->hi, h->lo);
    h->decay_step = 0;
    TRACE("C", h->cq + K, ALONG(T, n, h->row), ALONG(J, n, 1));
    if (delta) TRACE("c", h->ca + K, ALONG(T, n, h->row), ALONG(J, n, 1), .negated = true);
    TRACE("right", h->right, ALONG(K, K, h->width), ALONG(J, n, 1));
    TRACE("fade", h->hi, .lo = h->lo);
}
