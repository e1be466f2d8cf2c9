/* body_scan_grad.h - gradients of the scans in chunks: what both kinds of gates share.
 *
 * A first pass keeps the state before each chunk (and delta's v - p); then the chunks are gone through from
 * the last to the first with dS, the gradient of the state after the chunk. In the notation of
 * body_scan_chunk.h, with P the coefficients of x in the output, A those in the solved rows, and every row
 * decayed to where it is used: o = q_s S + P x     x = beta (v - p)    p = k_s S + A x    S' = D S + k_eᵀ x
 * (decay: x = v) y  = dx = k_e dS + Pᵀ d_o + Aᵀ z        z = dp = -beta y   solved from the last row up; dv =
 * beta y dP = d_o xᵀ, dA = z xᵀ (lower)          dq_s = d_o Sᵀ, dk_s = z Sᵀ, dk_e = x dSᵀ dS = D dS + q_sᵀ
 * d_o + k_sᵀ z so everything is products of small matrices and one triangular system, and S and dS are
 * transposed once a chunk. P = (q_r k_cᵀ) ⊙ E and A = (k_r k_cᵀ) ⊙ E give dq_r, dk_r and dk_c. With one gate
 * for all keys (this file) q_r and k_r = k_c are q and k as they are, and E has the decays, none above 1 and
 * none divided by: no gate is too steep. With a gate for each key see body_scan_grad_keys.h. */

typedef struct grad {
    scan s;
    const hop__scan_back *t;
    bool add;         /* not the first head of its key head */
    int64_t first, n; /* the chunk at hand */
    int64_t gated;    /* its length when grad_gates last made all it makes */
    ahead ahead;      /* rows of the one after it */
    bool far_apart;   /* all rows together do not fit into L2, so it is worth asking for them */
    int64_t Kp, slot;
    float *kept, *kept_m;   /* [chunks, slot]: the state [K, ld], delta: r = v - p [CHUNK, ld]; mlstm's m */
    float *ds, *s_t, *ds_t; /* [K, ld]; [cols, Kp] */
    float *x, *x_t, *y;     /* [CHUNK, ld], [cols, CHUNK], [CHUNK, ld] */
    float *d_o;             /* [2 n, ld]: d_o, then z */
    float *q_r, *k_r, *k_c, *k_e; /* [CHUNK, Kp] */
    float *q_s;                   /* [2 n, Kp]: q_s, then k_s */
    float *k_ct;                  /* [K, CHUNK] */
    float *dq_r, *dk_r, *dk_c;    /* [CHUNK, Kp] */
    float *dq_s, *dk_e;           /* [2 n, Kp]: dq_s, then dk_s; [CHUNK, Kp] */
    float *e, *p, *a, *g, *w;     /* [CHUNK, CHUNK]: E, P, A, dP, dA */
    float *ca;                    /* [CHUNK, row]: coefficients of r */
    float *parts, *part_k;        /* see add_up: [CHUNK, LANES], [CHUNK] */
    scalars sc[HOP__SCAN_CHUNK];
    float far[HOP__SCAN_CHUNK], end[HOP__SCAN_CHUNK], beta[HOP__SCAN_CHUNK];
    float dm_own[HOP__SCAN_CHUNK]; /* mlstm: what the quotient gives m */
    float hi, lo;                  /* the chunk's decay */
    double head_gate, dm;
} grad;

/* ---- products -------------------------------------------------------------------------------- */

/* Row j of the product with the terms from token j on: a holds zeros before it. */
INLINE void upper_tile(const tile_job *t, int64_t first, const int rows, const int wide)
{
    vf sum[MR][NV];
    tile_job rest = *t;
    rest.a += first * t->cs, rest.b += first * t->ldb, rest.k -= first;
    tile_sums(&rest, first, sum, rows, wide);
    tile_write(t, first, sum, rows, wide);
}

/* c += a c, strictly upper, from the last row up: what all later rows contribute, then the tile's among
 * themselves. */
INLINE void unsolve_tile(const tile_job *t, int64_t first, const int rows, const int wide)
{
    vf sum[MR][NV];
    tile_job rest = *t;
    const int64_t ldc = t->ldc;
    rest.a += (first + rows) * t->cs, rest.b += (first + rows) * t->ldb, rest.k -= first + rows;
    tile_sums(&rest, first, sum, rows, wide);
    const float *own = t->a + first * (t->rs + t->cs);
    float *c = t->c + first * ldc;
    UNROLL for (int i = rows - 1; i >= 0; i--)
    {
        UNROLL for (int w = 0; w < wide; w++) sum[i][w] += v_load(c + i * ldc + w * LANES);
        UNROLL for (int j = i + 1; j < rows; j++)
        {
            UNROLL for (int w = 0; w < wide; w++) sum[i][w] += own[i * t->rs + j * t->cs] * sum[j][w];
        }
        UNROLL for (int w = 0; w < wide; w++) v_store(c + i * ldc + w * LANES, sum[i][w]);
    }
}

static void upper_wide(const tile_job *t, int64_t rows)
{
    tile_rows(t, rows, NV, upper_tile);
}
static void upper_half(const tile_job *t, int64_t rows)
{
    tile_rows(t, rows, 1, upper_tile);
}
static void unsolve_wide(const tile_job *t, int64_t rows)
{
    tile_rows_up(t, rows, NV, unsolve_tile);
}
static void unsolve_half(const tile_job *t, int64_t rows)
{
    tile_rows_up(t, rows, 1, unsolve_tile);
}

static void grad_run(grad *w, tile_job t, int64_t rows, int64_t cols, panel_fn *wide, panel_fn *half)
{
    t.ahead = &w->ahead;
    columns_run(t, rows, cols, wide, half);
}

/* c[t, j] = a[t, ..] · b[.., j] for j <= t (and some behind); a has rows rs apart, b [k, CHUNK]. */
static void grad_pairs(grad *w, float *c, const float *a, int64_t rs, const float *b, int64_t k)
{
    const int64_t n = w->n;
    for (int64_t j = 0; j < n; j += NR) {
        const int64_t first = hop__min(LANES, n - j);
        tile_job t = {.c = c + j * CHUNK + j, .ldc = CHUNK, .a = a + j * rs, .rs = rs, .cs = 1};
        t.b = b + j, t.ldb = CHUNK, t.k = k, t.ahead = &w->ahead;
        panel(&t, first, 1);
        t.c += first * CHUNK, t.a += first * rs;
        panel(&t, n - j - first, NV);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* n rows of `dim` floats, zeros behind to `ld`. */
static void rows_load(float *dst, int64_t ld, const float *src, int64_t stride, int64_t n, int64_t dim)
{
    for (int64_t i = 0; i < n; i++, dst += ld, src += stride) {
        row_copy(dst, src, dim);
        if (ld > dim) memset(dst + dim, 0, sizeof(float) * (size_t)(ld - dim));
    }
}

/* The rows at `p` of the chunk from token `first` on are to be asked for. */
static void grad_ask(grad *w, const float *p, int64_t first, int64_t stride, int64_t dim)
{
    if (p) ahead_add(&w->ahead, p + first * stride, stride, dim, hop__min(CHUNK, w->s.c->tokens - first));
}

/* What the chunk from token `next` on will read in the first or the second pass, and what it or this one will
 * write: rows of heads side by side lie 4 KB apart, where those of two chunks fall into the same few sets of
 * the cache, so what is written at a chunk's end is asked for at its beginning and not before. What is wanted
 * first comes last. */
static void grad_ahead(grad *w, int64_t next, bool second)
{
    const scan *s = &w->s;
    const hop_scan *c = s->c;
    const hop_scan_grad *g = w->t->g;
    w->ahead.count = 0;
    if (!w->far_apart) return;
    const float *slot = w->kept + next / CHUNK * w->slot;
    if (next >= 0 && next < c->tokens) {
        if (second) {
            grad_ask(w, g->d_o + s->head * s->V, next, c->o_stride, s->V);
            grad_ask(w, s->q, next, c->q_stride, s->K);
        } else if (next + CHUNK < c->tokens) {
            slot += w->slot; /* what it will write */
        }
        ahead_add(&w->ahead, slot, s->ld, s->ld, w->slot / s->ld);
        if (!second || s->kind != HOP__DELTA) grad_ask(w, s->v, next, c->v_stride, s->V);
        grad_ask(w, s->k, next, c->k_stride, s->K);
    }
    if (second) {
        grad_ask(w, grad_at(g->dk, s->key_head * s->K), w->first, c->k_stride, s->K);
        grad_ask(w, grad_at(g->dq, s->key_head * s->K), w->first, c->q_stride, s->K);
        grad_ask(w, grad_at(g->dv, s->head * s->V), w->first, c->v_stride, s->V);
    }
    ahead_begin(&w->ahead);
}

/* dst[i] = f (a[i] + fb b[i] + fc c[i]), added to what is there if `add`; c may be NULL, dst too. */
static void emit_sum(float *restrict dst, const float *a, const float *b, const float *c, const float f[3],
                     int64_t n, bool add)
{
    int64_t i = 0;
    if (!dst) return;
    for (; i + LANES <= n; i += LANES) {
        vf sum = v_load(a + i) + f[1] * v_load(b + i);
        if (c) sum += f[2] * v_load(c + i);
        sum *= f[0];
        v_store(dst + i, add ? v_load(dst + i) + sum : sum);
    }
    for (; i < n; i++) {
        float sum = a[i] + f[1] * b[i] + (c ? f[2] * c[i] : 0.0f);
        dst[i] = (add ? dst[i] : 0.0f) + f[0] * sum;
    }
}

/* ---- one gate for all keys ------------------------------------------------------------------- */

/* Decays of the chunk's tokens: E, far (from the start to each), end (from each to the end), and the whole.
 */
static void grad_gates(grad *w)
{
    scan *s = &w->s;
    if (s->even && w->gated == w->n) { /* as they were */
        for (int64_t t = 0; t < w->n; t++) w->beta[t] = scalars_at(s, w->first + t).beta;
        return;
    }
    w->gated = w->n;
    float e[CHUNK] = {0}, hi, lo;
    double all = 1.0;
    for (int64_t t = 0; t < w->n; t++) {
        const scalars sc = w->sc[t] = scalars_at(s, w->first + t);
        const double one = s->even ? s->head_gate : exp(sc.log_gate);
        float *row = w->e + t * CHUNK;
        all *= one;
        split(one, &hi, &lo);
        w->far[t] = (float)all, w->beta[t] = sc.beta;
        for (int64_t j = 0; j < t; j += LANES) v_store(e + j, v_load(e + j) * hi + v_load(e + j) * lo);
        e[t] = sc.key;
        for (int64_t j = 0; j < CHUNK; j += LANES) v_store(row + j, v_load(e + j));
    }
    memcpy(w->end, e, sizeof e);
    split(all, &w->hi, &w->lo);
}

/* k of the chunk, also as columns and as it is at the end. */
static void grad_keys(grad *w)
{
    const scan *s = &w->s;
    const int64_t K = s->K, Kp = w->Kp, n = w->n;
    rows_load(w->k_c, Kp, s->k + w->first * s->c->k_stride, s->c->k_stride, n, K);
    for (int64_t t = 0; t < n; t++) scale_row(w->k_e + t * Kp, w->k_c + t * Kp, w->end[t], Kp);
    transpose(w->k_ct, CHUNK, w->k_c, Kp, n, K);
}

/* r of the chunk, below the state in its slot: r = v - k_s S - A x, x = beta r. */
static void grad_rest(grad *w, float *state)
{
    const scan *s = &w->s;
    const int64_t K = s->K, ld = s->ld, n = w->n, row = K + CHUNK;
    float *r = state + K * ld, less[CHUNK] = {0};
    rows_load(r, ld, s->v + w->first * s->c->v_stride, s->c->v_stride, n, s->V);
    grad_pairs(w, w->a, w->k_c, w->Kp, w->k_ct, K);
    for (int64_t t = 0; t < n; t++) {
        float *ca = w->ca + t * row;
        scale_row(ca, w->k_c + t * w->Kp, -w->far[t], K);
        const float *a = w->a + t * CHUNK, *e = w->e + t * CHUNK; /* behind token t they are not looked at */
        for (int64_t j = 0; j < t; j += LANES)
            v_store(ca + K + j, v_load(a + j) * v_load(e + j) * v_load(less + j));
        less[t] = -w->beta[t];
    }
    tile_job t = {.c = r, .ldc = ld, .a = w->ca, .rs = row, .cs = 1, .b = state, .ldb = ld, .k = K};
    grad_run(w, t, n, s->cols, solve_wide, solve_half);
}

/* x of the chunk. */
static void grad_values(grad *w, const float *state)
{
    const scan *s = &w->s;
    const float *r = state + s->K * s->ld;
    for (int64_t t = 0; s->kind == HOP__DELTA && t < w->n; t++)
        scale_row(w->x + t * s->ld, r + t * s->ld, w->beta[t], s->ld);
    if (s->kind == HOP__DELTA) return;
    rows_load(w->x, s->ld, s->v + w->first * s->c->v_stride, s->c->v_stride, w->n, s->V);
    for (int64_t t = 0; s->kind == HOP__MLSTM && t < w->n; t++) w->x[t * s->ld + s->V] = 1.0f;
}

/* The first pass: the state before each chunk. */
static void grad_forward(grad *w, const float *state)
{
    scan *s = &w->s;
    const int64_t K = s->K, ld = s->ld, T = s->c->tokens;
    state_load(s, w->kept, state);
    for (w->first = 0; w->first < T; w->first += CHUNK) {
        float *now = w->kept + w->first / CHUNK * w->slot;
        w->kept_m[w->first / CHUNK] = s->m;
        w->n = hop__min(CHUNK, T - w->first);
        const bool last = w->first + CHUNK >= T;
        if (last && s->kind != HOP__DELTA) return;
        grad_ahead(w, w->first + CHUNK, false);
        grad_gates(w);
        grad_keys(w);
        if (s->kind == HOP__DELTA) grad_rest(w, now);
        if (last) return;
        grad_values(w, now);
        tile_job t = {.c = now + w->slot, .ldc = ld, .a = w->k_e, .rs = 1, .cs = w->Kp, .b = w->x, .ldb = ld};
        t.k = w->n, t.hi = &w->hi, t.lo = &w->lo, t.old = now;
        grad_run(w, t, K, s->cols, update_wide, update_half);
    }
}

/* mlstm: o again, and through the quotient: d_o becomes the gradient of num and, behind it, of den. */
static void grad_quotients(grad *w, const float *state)
{
    const scan *s = &w->s;
    const int64_t V = s->V, ld = s->ld;
    tile_job t = {.c = w->y, .ldc = ld, .a = w->q_s, .rs = w->Kp, .cs = 1, .b = state, .ldb = ld, .k = s->K};
    grad_run(w, t, w->n, s->cols, panel_wide, panel_half);
    t = (tile_job){
        .c = w->y, .ldc = ld, .a = w->p, .rs = CHUNK, .cs = 1, .b = w->x, .ldb = ld, .mode = TILE_ADD};
    grad_run(w, t, w->n, s->cols, lower_wide, lower_half);
    for (int64_t i = 0; i < w->n; i++) {
        float *d_o = w->d_o + i * ld;
        w->dm_own[i] = mlstm_quotient(d_o, w->y + i * ld, V, w->sc[i].m);
    }
}

/* y and, below d_o, z; dv and dbeta go out. */
static void grad_rows(grad *w, const float *state)
{
    const scan *s = &w->s;
    const hop_scan_grad *g = w->t->g;
    const int64_t K = s->K, V = s->V, ld = s->ld, n = w->n;
    float *z = w->d_o + n * ld;
    const float *r = state + K * ld;
    tile_job t = {.c = w->y, .ldc = ld, .a = w->k_e, .rs = w->Kp, .cs = 1, .b = w->ds, .ldb = ld, .k = K};
    grad_run(w, t, n, s->cols, panel_wide, panel_half);
    t = (tile_job){.c = w->y, .ldc = ld, .a = w->p, .rs = 1, .cs = CHUNK, .b = w->d_o, .ldb = ld, .k = n};
    t.mode = TILE_ADD;
    grad_run(w, t, n, s->cols, upper_wide, upper_half);
    if (s->kind == HOP__DELTA) {
        t.a = w->ca, t.b = w->y;
        grad_run(w, t, n, s->cols, unsolve_wide, unsolve_half);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = w->first + i;
        const float *y = w->y + i * ld;
        const float beta = s->kind == HOP__DELTA ? w->beta[i] : 1.0f;
        if (g->dv) scale_row(g->dv + at * s->c->v_stride + s->head * V, y, beta, V);
        if (s->kind != HOP__DELTA) continue;
        scale_row(z + i * ld, y, -beta, ld);
        if (g->dbeta) g->dbeta[at * s->c->beta_stride + s->head] = row_dot(y, r + i * ld, V);
    }
}

/* Rows of q and d_o, the pairs P and (delta) A, and A's coefficients -beta A in ca. */
static void grad_open(grad *w)
{
    const scan *s = &w->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = w->Kp, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    const float *d_o = w->t->g->d_o + s->head * s->V;
    for (int64_t t = 0; t < n; t++) {
        scale_row(w->q_r + t * Kp, s->q + (w->first + t) * c->q_stride, c->scale, K);
        scale_row(w->q_s + t * Kp, w->q_r + t * Kp, w->far[t], K);
        if (delta) scale_row(w->q_s + (n + t) * Kp, w->k_c + t * Kp, w->far[t], K);
    }
    rows_load(w->d_o, s->ld, d_o + w->first * c->o_stride, c->o_stride, n, s->V);
    grad_pairs(w, w->p, w->q_r, Kp, w->k_ct, K);
    if (delta) grad_pairs(w, w->a, w->k_c, Kp, w->k_ct, K);
    for (int64_t t = 0; t < n; t++) {
        const float *e = w->e + t * CHUNK;
        float *a = w->a + t * CHUNK, *ca = w->ca + t * CHUNK;
        decay_row(w->p + t * CHUNK, e, 1.0f, t);
        if (!delta) continue;
        decay_row(a, e, 1.0f, t);
        a[t] = 0.0f;
        scale_row(ca, a, -w->beta[t], CHUNK);
    }
}

/* dP and dA; of these, before E is multiplied in, the gates' gradients are made. */
static void grad_pair_slopes(grad *w)
{
    const scan *s = &w->s;
    const int64_t ld = s->ld, n = w->n;
    transpose(w->x_t, CHUNK, w->x, ld, n, s->cols);
    grad_pairs(w, w->g, w->d_o, ld, w->x_t, s->cols);
    if (s->kind == HOP__DELTA) grad_pairs(w, w->w, w->d_o + n * ld, ld, w->x_t, s->cols);
    for (int64_t t = 0; t < n; t++) {
        row_end(w->g + t * CHUNK, t + 1);
        if (s->kind == HOP__DELTA) row_end(w->w + t * CHUNK, t);
    }
}

/* What S and dS give: dq_s, dk_s, dk_e. */
static void grad_state_rows(grad *w, const float *state)
{
    const scan *s = &w->s;
    const int64_t ld = s->ld, n = w->n;
    transpose(w->s_t, w->Kp, state, ld, s->K, s->cols);
    transpose(w->ds_t, w->Kp, w->ds, ld, s->K, s->cols);
    tile_job t = {
        .c = w->dq_s, .ldc = w->Kp, .a = w->d_o, .rs = ld, .cs = 1, .b = w->s_t, .ldb = w->Kp, .k = s->cols};
    grad_run(w, t, s->kind == HOP__DELTA ? 2 * n : n, s->K, panel_wide, panel_half);
    t.c = w->dk_e, t.a = w->x, t.b = w->ds_t;
    grad_run(w, t, n, s->K, panel_wide, panel_half);
}

/* dq_r = dP k_c, dk_c = dPᵀ q_r + dAᵀ k_r, dk_r = dA k_c; `dk_r` may be dk_c, when k_r is k_c. */
static void grad_pair_rows(grad *w, const float *k_r)
{
    const scan *s = &w->s;
    const int64_t Kp = w->Kp, n = w->n;
    tile_job lower = {.c = w->dq_r, .ldc = Kp, .a = w->g, .rs = CHUNK, .cs = 1, .b = w->k_c, .ldb = Kp};
    tile_job upper = {
        .c = w->dk_c, .ldc = Kp, .a = w->g, .rs = 1, .cs = CHUNK, .b = w->q_r, .ldb = Kp, .k = n};
    grad_run(w, lower, n, s->K, lower_wide, lower_half);
    grad_run(w, upper, n, s->K, upper_wide, upper_half);
    if (s->kind != HOP__DELTA) return;
    upper.a = w->w, upper.b = k_r, upper.mode = TILE_ADD;
    grad_run(w, upper, n, s->K, upper_wide, upper_half);
    lower.c = w->dk_r, lower.a = w->w, lower.mode = w->dk_r == w->dk_c ? TILE_ADD : TILE_SET;
    grad_run(w, lower, n, s->K, lower_wide, lower_half);
}

/* Registers of partial sums of a[i] b[i]; four chains, so that none waits for its own additions. */
INLINE vf dot_parts(const float *a, const float *b, int64_t n)
{
    vf part[4] = {(vf){0}, (vf){0}, (vf){0}, (vf){0}};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        UNROLL for (int w = 0; w < 4; w++) part[w] += v_load(a + i + w * LANES) * v_load(b + i + w * LANES);
    vf sum = (part[0] + part[1]) + (part[2] + part[3]);
    for (; i < n; i += LANES) sum += v_load_to(a, i, n) * v_load_to(b, i, n);
    return sum;
}

/* The gates' gradients. Token t's gate is in the decay from column j (the state: far; or a token before t) to
 * row s (a token from t on; or the end), so its gradient is the sum of P dP + A dA over that rectangle:
 * nothing is subtracted, so that small gradients beside large ones are not lost. slope[t] is left for mlstm,
 * with the sums of whole columns, diagonal included, in `column`. */
static void grad_gate_slopes(grad *w, const float *state, float *slope, float *column)
{
    const scan *s = &w->s;
    const int64_t K = s->K, Kp = w->Kp, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    for (int64_t t = 0; t < n; t++)
        v_store(w->parts + t * LANES, dot_parts(w->k_e + t * Kp, w->dk_e + t * Kp, K));
    memset(column, 0, sizeof(float) * CHUNK);
    add_up(w->part_k, w->parts, n);
    memcpy(column, w->part_k, sizeof(float) * (size_t)n);
    vf first = dot_parts(w->ds, state, K * s->ld) * (w->hi + w->lo);
    for (int64_t t = n - 1; t >= 0; t--) {
        const float *p = w->p + t * CHUNK, *g = w->g + t * CHUNK, *a = w->a + t * CHUNK,
                    *da = w->w + t * CHUNK;
        first += dot_parts(w->q_s + t * Kp, w->dq_s + t * Kp, K);
        if (delta) first += dot_parts(w->q_s + (n + t) * Kp, w->dq_s + (n + t) * Kp, K);
        vf sum = first;
        for (int64_t j = 0; j <= t; j += LANES) {
            vf c = v_load(column + j) + v_load(p + j) * v_load(g + j);
            if (delta) c += v_load(a + j) * v_load(da + j);
            v_store(column + j, c);
            sum += v_from_bits(v_bits(c) & v_lt(v_iota() + (float)j, v_all((float)t - 0.5f)));
        }
        v_store(w->parts + t * LANES, sum);
    }
    add_up(slope, w->parts, n);
}

/* mlstm: see emit_mlstm. */
static void grad_stabiliser(grad *w, const float *slope, const float *column)
{
    const scan *s = &w->s;
    for (int64_t i = w->n - 1; i >= 0; i--) {
        const int64_t at = (w->first + i) * s->c->gate_stride;
        w->dm += w->dm_own[i];
        const mlstm_slopes d = mlstm_gates(w->dm, slope[i], column[i], &w->sc[i]);
        w->dm = d.dm;
        if (w->t->g->di) w->t->g->di[at + s->head] = (float)d.di;
        if (w->t->g->df) w->t->g->df[at + s->head] = (float)(d.df / (1.0 + exp((double)s->f[at])));
    }
}

static void grad_gates_out(grad *w, const float *state)
{
    const scan *s = &w->s;
    const hop_gate gate = s->c->gate;
    const bool mlstm = s->kind == HOP__MLSTM;
    float slope[CHUNK + HOP__PANEL_MAX], column[CHUNK];
    if (!mlstm && (!w->t->g->dg || gate == HOP_GATE_NONE)) return;
    grad_gate_slopes(w, state, slope, column);
    if (mlstm) grad_stabiliser(w, slope, column);
    for (int64_t i = 0; !mlstm && i < w->n; i++) {
        w->head_gate += slope[i];
        if (gate == HOP_GATE_TOKEN) w->t->g->dg[(w->first + i) * s->c->gate_stride + s->head] = slope[i];
    }
}

static void grad_emit(grad *w)
{
    const scan *s = &w->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = w->Kp, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    for (int64_t t = 0; t < n; t++) {
        const float *dk_s = delta ? w->dq_s + (n + t) * Kp : NULL;
        const float of_q[3] = {c->scale, w->far[t], 0.0f}, of_k[3] = {1.0f, w->end[t], w->far[t]};
        float *dq = grad_at(w->t->g->dq, (w->first + t) * c->q_stride + s->key_head * K);
        float *dk = grad_at(w->t->g->dk, (w->first + t) * c->k_stride + s->key_head * K);
        emit_sum(dq, w->dq_r + t * Kp, w->dq_s + t * Kp, NULL, of_q, K, w->add);
        emit_sum(dk, w->dk_c + t * Kp, w->dk_e + t * Kp, dk_s, of_k, K, w->add);
    }
}

/* dS goes on to the state before the chunk. */
static void grad_state(grad *w)
{
    const scan *s = &w->s;
    tile_job t = {.c = w->ds, .ldc = s->ld, .a = w->q_s, .rs = 1, .cs = w->Kp, .b = w->d_o, .ldb = s->ld};
    t.k = s->kind == HOP__DELTA ? 2 * w->n : w->n, t.hi = &w->hi, t.lo = &w->lo;
    grad_run(w, t, s->K, s->cols, update_wide, update_half);
}

static void grad_chunk(grad *w)
{
    scan *s = &w->s;
    const float *state = w->kept + w->first / CHUNK * w->slot;
    s->m = w->kept_m[w->first / CHUNK];
    grad_ahead(w, w->first - CHUNK, true);
    grad_gates(w);
    grad_keys(w);
    grad_values(w, state);
    grad_open(w);
    if (s->kind == HOP__MLSTM) grad_quotients(w, state);
    grad_rows(w, state);
    grad_pair_slopes(w);
    grad_state_rows(w, state);
    grad_gates_out(w, state);
    for (int64_t t = 0; t < w->n; t++) {
        decay_row(w->g + t * CHUNK, w->e + t * CHUNK, 1.0f, t);
        if (s->kind == HOP__DELTA) decay_row(w->w + t * CHUNK, w->e + t * CHUNK, 1.0f, t - 1);
    }
    grad_pair_rows(w, w->k_c);
    grad_emit(w);
    grad_state(w);
}

static void grad_take(grad *w, float *p)
{
    const scan *s = &w->s;
    const int64_t K = s->K, Kp = w->Kp, ld = s->ld, chunks = (s->c->tokens + CHUNK - 1) / CHUNK;
    w->slot = (K + (s->kind == HOP__DELTA ? CHUNK : 0)) * ld;
    w->kept = take(&p, chunks * w->slot), w->kept_m = take(&p, chunks);
    w->ds = take(&p, K * ld), w->s_t = take(&p, s->cols * Kp), w->ds_t = take(&p, s->cols * Kp);
    w->x = take(&p, CHUNK * ld), w->x_t = take(&p, s->cols * CHUNK), w->y = take(&p, CHUNK * ld);
    w->d_o = take(&p, 2 * CHUNK * ld);
    w->q_r = take(&p, CHUNK * Kp), w->k_c = take(&p, CHUNK * Kp), w->k_e = take(&p, CHUNK * Kp);
    w->q_s = take(&p, 2 * CHUNK * Kp), w->k_ct = take(&p, K * CHUNK);
    w->dq_r = take(&p, CHUNK * Kp), w->dk_c = w->dk_r = take(&p, CHUNK * Kp);
    w->dq_s = take(&p, 2 * CHUNK * Kp), w->dk_e = take(&p, CHUNK * Kp);
    w->e = take(&p, CHUNK * CHUNK), w->p = take(&p, CHUNK * CHUNK), w->a = take(&p, CHUNK * CHUNK);
    w->g = take(&p, CHUNK * CHUNK), w->w = take(&p, CHUNK * CHUNK);
    w->ca = take(&p, CHUNK * (K + CHUNK));
    w->parts = take(&p, CHUNK * LANES), w->part_k = take(&p, CHUNK);
}

static void grad_head(const hop__scan_back *t, int64_t h)
{
    const hop_scan *c = t->c;
    const hop_scan_grad *g = t->g;
    grad w = {.s = scan_open(t->kind, c, t->in, h), .t = t, .add = h % (c->heads / c->key_heads) != 0};
    w.Kp = hop__round_up(c->key_dim, HOP__PANEL_MAX);
    w.far_apart = c->tokens * (2 * c->q_stride + 2 * c->k_stride + 3 * c->v_stride) > (1 << 17);
    w.s.ld = hop__round_up(w.s.cols, LANES);
    grad_take(&w, t->scratch);
    memset(w.ds, 0, sizeof(float) * (size_t)(w.s.K * w.s.ld));
    grad_forward(&w, t->state ? t->state + h * state_floats(&w.s) : NULL);
    for (w.first = (c->tokens - 1) / CHUNK * CHUNK; c->tokens > 0 && w.first >= 0; w.first -= CHUNK) {
        w.n = hop__min(CHUNK, c->tokens - w.first);
        grad_chunk(&w);
    }
    if (g->dg && c->gate == HOP_GATE_HEAD) g->dg[h] = (float)w.head_gate;
    if (g->d_state) state_store(&w.s, g->d_state + h * state_floats(&w.s), w.ds, (float)w.dm);
}

static void scan_backward(const hop__scan_back *t)
{
    const hop_scan *c = t->c;
    const int64_t group = c->heads / c->key_heads;
    const bool keys = t->kind == HOP__DPLR || t->in->u || (t->in->g && c->gate == HOP_GATE_KEY);
    const bool chunked = c->form != HOP_FORM_RECURRENT && !keys;
    for (int64_t h = t->key_head * group; h < (t->key_head + 1) * group; h++)
        (chunked ? grad_head : back_head)(t, h);
}
