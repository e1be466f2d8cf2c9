/* body_scan_chunk.h - the chunked form: per chunk a triangular system and two products of matrices.
 *
 * With M = [ S ; x ], the state at the chunk's start above the rows x of its tokens:
 *     o  = cq · M                       (row t uses x up to token t)
 *     x  = beta v + ca · M              (delta: ca = -beta [k e^c | k·k_j e^(c_t - c_j)], strictly lower)
 *     S' = e^(c of the chunk) S + right · x
 * The system for x is what others call the WY or UT transform. It is solved for MR rows at a time, in
 * registers: first what all earlier rows contribute, a product like any other, then the MR rows among
 * themselves. dplr is the same with M = [ S ; p ; v ] and p in the place of x. */

/* Rows first .. first + rows - 1 of x: the product, what x held before, then each row in turn into those
 * below. */
INLINE void solve_tile(const tile_job *t, int64_t first, const int rows, const int wide)
{
    vf sum[MR][NV];
    tile_job so_far = *t;
    so_far.k += first;
    tile_sums(&so_far, first, sum, rows, wide);
    const float *own = t->a + first * t->rs + t->k + first; /* the rows' coefficients of each other */
    float *c = t->c + first * t->ldc;
    UNROLL for (int i = 0; i < rows; i++)
    {
        UNROLL for (int w = 0; w < wide; w++) sum[i][w] += v_load(c + i * t->ldc + w * LANES);
        UNROLL for (int j = 0; j < i; j++)
        {
            UNROLL for (int w = 0; w < wide; w++) sum[i][w] += own[i * t->rs + j] * sum[j][w];
        }
        UNROLL for (int w = 0; w < wide; w++) v_store(c + i * t->ldc + w * LANES, sum[i][w]);
    }
}

/* Rows of S: decayed, plus the product. */
INLINE void update_tile(const tile_job *t, int64_t first, const int rows, const int wide)
{
    vf sum[MR][NV];
    tile_sums(t, first, sum, rows, wide);
    const int64_t gs = t->step, ldc = t->ldc;
    const float *hi = t->hi + first * gs, *lo = t->lo + first * gs;
    const float *from = (t->old ? t->old : t->c) + first * ldc;
    float *c = t->c + first * ldc;
    UNROLL for (int i = 0; i < rows; i++)
    {
        UNROLL for (int w = 0; w < wide; w++)
        {
            vf old = v_load(from + i * ldc + w * LANES);
            v_store(c + i * ldc + w * LANES, hi[i * gs] * old + (lo[i * gs] * old + sum[i][w]));
        }
    }
}

/* Row t of the product is wanted with the terms up to token t: the last rows' own are zero behind it. */
INLINE void lower_tile(const tile_job *t, int64_t first, const int rows, const int wide)
{
    vf sum[MR][NV];
    tile_job so_far = *t;
    so_far.k += first + rows;
    tile_sums(&so_far, first, sum, rows, wide);
    tile_write(t, first, sum, rows, wide);
}

/* Always from 0 by MR: a row's bits depend on the tile it is in, and must not on how many rows follow. */
static void solve_wide(const tile_job *t, int64_t rows)
{
    tile_rows_from(t, 0, rows, NV, solve_tile);
}
static void solve_half(const tile_job *t, int64_t rows)
{
    tile_rows_from(t, 0, rows, 1, solve_tile);
}
static void update_wide(const tile_job *t, int64_t rows)
{
    tile_rows(t, rows, NV, update_tile);
}
static void update_half(const tile_job *t, int64_t rows)
{
    tile_rows(t, rows, 1, update_tile);
}
static void lower_wide(const tile_job *t, int64_t rows)
{
    tile_rows(t, rows, NV, lower_tile);
}
static void lower_half(const tile_job *t, int64_t rows)
{
    tile_rows(t, rows, 1, lower_tile);
}

typedef void panel_fn(const tile_job *t, int64_t rows);

/* Every panel of columns: t.b and t.c move along. */
static void columns_run(tile_job t, int64_t rows, int64_t cols, panel_fn *wide, panel_fn *half)
{
    for (int64_t j = 0; j < cols; j += NR, t.b += NR, t.c += NR) {
        (width_for(cols - j) == NV ? wide : half)(&t, rows);
        if (t.old) t.old += NR;
    }
}

/* What the chunk of head `next` from token `first` on will read, and what this one writes to `o`: rows of
 * heads that lie side by side are kilobytes apart, where no hardware prefetcher follows. What is wanted first
 * comes last. */
static void chunk_ahead(chunk *h, const scan *next, int64_t first, const float *o)
{
    const hop_scan *c = next->c;
    const int64_t n = hop__min(CHUNK, c->tokens - first), keys = first * c->k_stride;
    h->ahead.count = 0;
    if (!h->far_apart) return;
    ahead_add(&h->ahead, next->v + first * c->v_stride, c->v_stride, next->V, n);
    ahead_add(&h->ahead, next->k + keys, c->k_stride, next->K, n);
    ahead_add(&h->ahead, at_head(next->a, keys), c->k_stride, next->K, n);
    ahead_add(&h->ahead, at_head(next->b, keys), c->k_stride, next->K, n);
    if (c->gate == HOP_GATE_KEY)
        ahead_add(&h->ahead, at_head(next->g, first * next->g_step), next->g_step, next->K, n);
    ahead_add(&h->ahead, next->q + first * c->q_stride, c->q_stride, next->K, n);
    ahead_add(&h->ahead, o, c->o_stride, next->V, h->n);
    ahead_begin(&h->ahead);
}

/* v of the chunk as rows of M from `row` on, times beta for delta. */
static void values_load(chunk *h, int64_t row)
{
    const scan *s = h->s;
    float *x = h->m + row * s->ld;
    for (int64_t t = 0; t < h->n; t++, x += s->ld) {
        const float *v = s->v + (h->first + t) * s->c->v_stride;
        if (s->kind == HOP__DELTA)
            scale_row(x, v, h->beta[t], s->V);
        else
            row_copy(x, v, s->V);
        if (s->ld == s->V) continue;
        memset(x + s->V, 0, sizeof(float) * (size_t)(s->ld - s->V));
        if (s->kind == HOP__MLSTM) x[s->V] = 1.0f;
    }
    TRACE_TOKEN(h->first);
    if (s->kind == HOP__DELTA) TRACE("bv", h->m + row * s->ld, ALONG(T, h->n, s->ld), ALONG(V, s->V, 1));
}

/* x of delta, p of dplr. */
static void chunk_solve(chunk *h)
{
    const scan *s = h->s;
    const int64_t K = s->K, ld = s->ld;
    float *x = h->m + K * ld;
    if (s->kind == HOP__DPLR) {
        tile_job from_v = {
            .c = x, .ldc = ld, .a = h->ca + K + CHUNK, .rs = h->row, .cs = 1, .b = x + CHUNK * ld, .ldb = ld};
        from_v.ahead = &h->ahead;
        columns_run(from_v, h->n, s->cols, lower_wide, lower_half);
        TRACE("from_v", x, ALONG(T, h->n, ld), ALONG(V, s->cols, 1));
    }
    tile_job t = {.c = x, .ldc = ld, .a = h->ca, .rs = h->row, .cs = 1, .b = h->m, .ldb = ld, .k = K};
    t.ahead = &h->ahead;
    columns_run(t, h->n, s->cols, solve_wide, solve_half);
    TRACE("x", x, ALONG(T, h->n, ld), ALONG(V, s->cols, 1), .otherwise = "p");
}

static void chunk_output(chunk *h, float *o)
{
    const scan *s = h->s;
    const int64_t K = s->K, V = s->V, ld = s->ld, stride = s->c->o_stride;
    const bool direct = s->kind != HOP__MLSTM && V % LANES == 0;
    tile_job t = {.c = direct ? o : h->y, .ldc = direct ? stride : ld, .a = h->cq, .rs = h->row, .cs = 1};
    t.b = h->m, t.ldb = ld, t.k = K, t.ahead = &h->ahead;
    columns_run(t, h->n, s->cols, lower_wide, lower_half);
    TRACE("op", t.c, ALONG(T, h->n, t.ldc), ALONG(V, s->cols, 1), .otherwise = "o");
    if (s->kind == HOP__DPLR) {
        t.a += K + CHUNK, t.b += (K + CHUNK) * ld, t.k = 0, t.mode = TILE_ADD;
        columns_run(t, h->n, s->cols, lower_wide, lower_half);
        TRACE("o", t.c, ALONG(T, h->n, t.ldc), ALONG(V, s->cols, 1));
    }
    for (int64_t i = 0; !direct && i < h->n; i++) {
        TRACE_TOKEN(h->first + i);
        if (s->kind == HOP__MLSTM) mlstm_divide(h->y + i * ld, V, h->m_at[i]);
        memcpy(o + i * stride, h->y + i * ld, sizeof(float) * (size_t)V);
    }
}

static void chunk_update(chunk *h)
{
    const scan *s = h->s;
    const int64_t K = s->K, ld = s->ld;
    tile_job t = {.c = h->m,
                  .ldc = ld,
                  .a = h->right,
                  .rs = h->width,
                  .cs = 1,
                  .b = h->m + K * ld,
                  .ldb = ld,
                  .k = h->n};
    static const float one = 1.0f, zero = 0.0f;
    t.hi = h->hi, t.lo = h->lo, t.step = h->decay_step, t.ahead = &h->ahead;
    columns_run(t, K, s->cols, update_wide, update_half);
    TRACE("Sb", h->m, ALONG(K, K, ld), ALONG(V, s->cols, 1), .otherwise = "S1");
    if (s->kind != HOP__DPLR) return;
    t.a += CHUNK, t.b += CHUNK * ld, t.hi = &one, t.lo = &zero, t.step = 0;
    columns_run(t, K, s->cols, update_wide, update_half);
    TRACE("S1", h->m, ALONG(K, K, ld), ALONG(V, s->cols, 1));
}

static void chunk_run(chunk *h, float *o)
{
    scan *s = h->s;
    const bool vector = s->kind == HOP__DPLR || s->u || (s->g && s->c->gate == HOP_GATE_KEY);
    const bool solve = s->kind == HOP__DELTA || s->kind == HOP__DPLR;
    TRACE_UNIT(vector ? "mild" : "chunk", s->head, h->first, h->n, h->m, s->ld, s->m, 0.0f);
    if (vector)
        coefficients_vector(h);
    else
        coefficients_scalar(h);
    values_load(h, s->K + (s->kind == HOP__DPLR ? CHUNK : 0));
    if (solve) chunk_solve(h);
    chunk_output(h, o);
    chunk_update(h);
}

/* Heads share all of it but m. */
static chunk chunk_take(float *scratch, scan *s, int64_t heads)
{
    const int64_t K = s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    chunk h = {.s = s, .width = CHUNK * (s->kind == HOP__DPLR ? 2 : 1)};
    h.row = K + h.width;
    h.sum = (double *)take(&scratch, 2 * K); /* first: aligned for doubles */
    h.m = take(&scratch, heads * h.row * s->ld);
    h.cq = take(&scratch, CHUNK * h.row + HOP__PANEL_MAX),
    h.ca = take(&scratch, CHUNK * h.row + HOP__PANEL_MAX);
    h.q = take(&scratch, CHUNK * Kp), h.a = take(&scratch, CHUNK * Kp);
    h.right = take(&scratch, K * h.width), h.raw = take(&scratch, K * h.width);
    h.hi = take(&scratch, CHUNK * Kp), h.lo = take(&scratch, CHUNK * Kp);
    h.decay = take(&scratch, (CHUNK + 1) * Kp), h.near = take(&scratch, K);
    for (int64_t k = 0; k < Kp; k++) h.decay[k] = 1.0f;
    h.beta = take(&scratch, CHUNK), h.key = take(&scratch, CHUNK), h.m_at = take(&scratch, CHUNK);
    h.y = take(&scratch, CHUNK * s->ld);
    return h;
}

static void chunked(const hop__scan_task *t)
{
    const int64_t heads = t->heads;
    scan s[HOP__SCAN_HEADS];
    for (int64_t i = 0; i < heads; i++) {
        s[i] = scan_open(t->kind, t->c, t->in, t->head + i);
        s[i].ld = hop__round_up(s[i].cols, NR);
    }
    chunk h = chunk_take(t->scratch, s, heads);
    h.far_apart = far_apart(t->c);
    float *const m = h.m, *state = t->state ? t->state + t->head * state_floats(s) : NULL;
    const int64_t size = h.row * s->ld;
    for (int64_t i = 0; i < heads; i++)
        state_load(&s[i], m + i * size, state ? state + i * state_floats(s) : NULL);
    for (h.first = 0; h.first < t->c->tokens; h.first += CHUNK)
        for (int64_t i = 0; i < heads; i++) {
            const bool last = i + 1 == heads;
            h.s = &s[i], h.m = m + i * size, h.n = hop__min(CHUNK, t->c->tokens - h.first);
            float *o = t->o + h.first * t->c->o_stride + (t->head + i) * s->V;
            chunk_ahead(&h, last ? s : &s[i + 1], h.first + (last ? CHUNK : 0), o);
            chunk_run(&h, o);
        }
    for (int64_t i = 0; state && i < heads; i++)
        state_store(&s[i], state + i * state_floats(s), m + i * size, s[i].m);
}

/* So few tokens do not repay a chunk's preparations. */
static void scan_forward(const hop__scan_task *t)
{
    if (t->c->form != HOP_FORM_RECURRENT && t->c->tokens > HOP_ARITH_FEW) {
        chunked(t);
        return;
    }
    for (int64_t i = 0; i < t->heads; i++) recurrent(t, t->head + i);
}
