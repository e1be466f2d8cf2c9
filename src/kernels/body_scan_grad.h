/* body_scan_grad.h - gradients of the scans in chunks, where one gate serves all keys.
 *
 * A first pass keeps the state before each chunk (delta: v - p and A, too); then the chunks are gone through
 * from the last to the first with dS, the gradient of the state after the chunk. In the notation of
 * body_scan_chunk.h, with P the coefficients of x in the output, A those in the solved rows, and every row
 * decayed to where it is used (q_s, k_s: from the start by far; k_e: to the end):
 *     o = q_s S + P x    x = beta (v - p)    p = k_s S + A x    S' = D S + k_eᵀ x    (decay: x = v)
 *     y = dx = k_e dS + Pᵀ d_o + Aᵀ z        z = dp = -beta y, from the last row up     dv = beta y
 *     dP = d_o xᵀ    dA = z xᵀ               lower, A strictly; P = (q kᵀ) ⊙ E and A = (k kᵀ) ⊙ E
 *     dq = far d_o Sᵀ + (dP ⊙ E) k           dk = end x dSᵀ + far z Sᵀ + (dP ⊙ E)ᵀ q + (W + Wᵀ) k, W = dA ⊙ E
 *     dS = D dS + q_sᵀ d_o + k_sᵀ z
 * so everything is products of small matrices and one triangular system, and S and dS are transposed once a
 * chunk. E has the decays, none above 1 and none divided by: no gate is too steep. */

typedef struct grad {
    scan s;
    const hop__scan_back *t;
    bool add;         /* not the first head of its key head */
    int64_t first, n; /* the chunk at hand */
    int64_t gated;    /* its length when grad_gates last made all it makes */
    ahead ahead;      /* rows of the one after it */
    bool far_apart;
    int64_t Kp, slot;
    float *kept, *kept_m; /* [chunks, slot]: the state [K, ld], delta: r = v - p [CHUNK, ld], A; mlstm's m */
    float *ds, *s_t, *ds_t;      /* [K, ld]; [cols, Kp] */
    float *x, *x_t, *y;          /* [CHUNK, ld], [cols, CHUNK], [CHUNK, ld] */
    float *d_o;                  /* [2 n, ld]: d_o, then z */
    float *q_r, *k_c, *k_e;      /* [CHUNK, Kp] */
    float *q_s;                  /* [2 n, Kp]: q_s, then k_s */
    float *k_ct;                 /* [K, CHUNK] */
    float *dq, *dk;              /* [CHUNK, Kp] */
    float *e, *p, *g, *w, *both; /* [CHUNK, CHUNK]: E, P, dP, dA, W + Wᵀ */
    float *ca;                   /* [CHUNK, K + CHUNK]: coefficients of r; [CHUNK, CHUNK]: of y */
    float *parts, *part_k;       /* see add_up: [2 CHUNK, LANES] of rows, of columns; [CHUNK] */
    scalars sc[HOP__SCAN_CHUNK];
    float far[HOP__SCAN_CHUNK], end[HOP__SCAN_CHUNK], beta[HOP__SCAN_CHUNK];
    float dm_own[HOP__SCAN_CHUNK]; /* mlstm: what the quotient gives m */
    float hi, lo;                  /* the chunk's decay */
    double head_gate, dm;
} grad;

/* ---- products -------------------------------------------------------------------------------- */

static void grad_chain(grad *w, chain h, int64_t cols)
{
    h.Kp = w->Kp, h.t.ahead = &w->ahead;
    for (int64_t j = 0; j < cols; j += NR) {
        (width_for(cols - j) == NV ? chain_wide : chain_half)(&h.t, w->n);
        h.t.b += NR, h.t.c += NR;
        if (h.parts) h.with += NR;
        for (int m = 0; m < h.count; m++) h.more[m].b += NR;
    }
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

/* What the chunk from token `next` on will read in the first or the second pass and, in the second, what this
 * one writes at its end: asked for at its beginning, which is early enough, and was faster than a chunk
 * before. What is wanted first comes last. */
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
        ahead_add(&w->ahead, slot, 64, 64, w->slot / 64);
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

/* ---- one gate for all keys ------------------------------------------------------------------- */

/* Decays of the chunk's tokens: E, far (from the start to each), end (from each to the end), and the whole.
 */
static void grad_gates(grad *w)
{
    scan *s = &w->s;
    const int64_t n = w->n;
    if (s->even && w->gated == n) { /* as they were */
        for (int64_t t = 0; t < n; t++) w->beta[t] = scalars_at(s, w->first + t).beta;
        return;
    }
    w->gated = n;
    float hi[CHUNK], lo[CHUNK];
    vf e[CHUNK / LANES] = {(vf){0}};
    double all = 1.0;
    gates_open(s, w->first, n, w->sc, hi, lo);
    for (int64_t t = 0; t < n; t++) {
        all *= (double)hi[t] + lo[t];
        w->far[t] = (float)all, w->beta[t] = w->sc[t].beta;
        decays_next(w->e + t * CHUNK, e, hi[t], lo[t], w->sc[t].key, t);
    }
    memcpy(w->end, w->e + (n - 1) * CHUNK, sizeof w->end);
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

/* r of the chunk and A, below the state in its slot: r = v - k_s S - A x, x = beta r. */
static void grad_rest(grad *w, float *state)
{
    const scan *s = &w->s;
    const int64_t K = s->K, ld = s->ld, n = w->n, row = K + CHUNK;
    float *r = state + K * ld, *a = r + CHUNK * ld, less[CHUNK] = {0};
    for (int64_t t = 0; t < n; t++) less[t] = -w->beta[t];
    rows_load(r, ld, s->v + w->first * s->c->v_stride, s->c->v_stride, n, s->V);
    grad_pairs(w, a, w->k_c, w->Kp, w->k_ct, K);
    for (int64_t t = 0; t < n; t++, a += CHUNK) {
        float *ca = w->ca + t * row;
        scale_row(ca, w->k_c + t * w->Kp, -w->far[t], K);
        decay_row(a, w->e + t * CHUNK, 1.0f, t - 1);
        for (int64_t j = 0; j < t; j += LANES) v_store(ca + K + j, v_load(a + j) * v_load(less + j));
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
        w->dm_own[i] = (float)mlstm_quotient(d_o, w->y + i * ld, V, w->sc[i].m);
    }
}

/* y and, below d_o, z; dv and dbeta go out. */
static void grad_rows(grad *w, const float *state)
{
    const scan *s = &w->s;
    const hop_scan_grad *g = w->t->g;
    const int64_t K = s->K, V = s->V, ld = s->ld, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    float *z = w->d_o + n * ld;
    const float *r = state + K * ld;
    chain h = {.t = {.c = w->y, .ldc = ld, .a = w->k_e, .rs = w->Kp, .cs = 1, .b = w->ds, .ldb = ld, .k = K}};
    h.more[0] = (tile_job){.a = w->p, .rs = 1, .cs = CHUNK, .b = w->d_o, .ldb = ld, .k = n};
    h.more[1] = (tile_job){.a = w->ca, .rs = 1, .cs = CHUNK, .b = w->y, .ldb = ld, .k = n};
    h.count = delta ? 2 : 1, h.reach[0] = FROM_FIRST, h.reach[1] = BEHIND, h.solve = delta;
    grad_chain(w, h, s->cols);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = w->first + i;
        const float *y = w->y + i * ld;
        const float beta = delta ? w->beta[i] : 1.0f;
        if (g->dv) scale_row(g->dv + at * s->c->v_stride + s->head * V, y, beta, V);
        if (!delta) continue;
        scale_row(z + i * ld, y, -beta, ld);
        if (g->dbeta) g->dbeta[at * s->c->beta_stride + s->head] = row_dot(y, r + i * ld, V);
    }
}

/* Rows of q and d_o, the pairs P, and (delta) A's coefficients -beta A in ca. */
static void grad_open(grad *w, const float *a)
{
    const scan *s = &w->s;
    const hop_scan *c = s->c;
    const int64_t K = s->K, Kp = w->Kp, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    const float *d_o = w->t->g->d_o + s->head * s->V;
    for (int64_t t = 0; t < n; t++) {
        scale_row(w->q_r + t * Kp, s->q + (w->first + t) * c->q_stride, c->scale, K);
        scale_row(w->q_s + t * Kp, w->q_r + t * Kp, w->far[t], K);
        if (!delta) continue;
        scale_row(w->q_s + (n + t) * Kp, w->k_c + t * Kp, w->far[t], Kp);
        scale_row(w->ca + t * CHUNK, a + t * CHUNK, -w->beta[t], CHUNK);
    }
    rows_load(w->d_o, s->ld, d_o + w->first * c->o_stride, c->o_stride, n, s->V);
    grad_pairs(w, w->p, w->q_r, Kp, w->k_ct, K);
    for (int64_t t = 0; t < n; t++) decay_row(w->p + t * CHUNK, w->e + t * CHUNK, 1.0f, t);
}

/* dP and dA, E multiplied in; where P was, P dP + A dA, of which the gates' gradients are made; and W + Wᵀ.
 */
static void grad_pair_slopes(grad *w, const float *a)
{
    const scan *s = &w->s;
    const int64_t ld = s->ld, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    transpose(w->x_t, CHUNK, w->x, ld, n, s->cols);
    grad_pairs(w, w->g, w->d_o, ld, w->x_t, s->cols);
    if (delta) grad_pairs(w, w->w, w->d_o + n * ld, ld, w->x_t, s->cols);
    for (int64_t t = 0; t < n; t++) {
        float *p = w->p + t * CHUNK, *g = w->g + t * CHUNK, *da = w->w + t * CHUNK;
        row_end(g, t + 1);
        if (delta) row_end(da, t);
        for (int64_t j = 0; j <= t; j += LANES) {
            vf e = v_load(w->e + t * CHUNK + j), dp = v_load(g + j), both = v_load(p + j) * dp;
            v_store(g + j, dp * e);
            if (delta) {
                both += v_load(a + t * CHUNK + j) * v_load(da + j);
                v_store(da + j, v_load(da + j) * e);
            }
            v_store(p + j, both);
        }
    }
    if (!delta) return;
    transpose(w->both, CHUNK, w->w, CHUNK, n, n);
    for (int64_t i = 0; i < n * CHUNK; i += LANES)
        v_store(w->both + i, v_load(w->both + i) + v_load(w->w + i));
}

/* dq and dk; of their products with states the gates' gradients have partial sums, if there are any. */
static void grad_key_rows(grad *w, const float *state, bool gates)
{
    const scan *s = &w->s;
    const int64_t Kp = w->Kp, ld = s->ld, n = w->n;
    const bool delta = s->kind == HOP__DELTA;
    float *parts = gates ? w->parts : NULL;
    transpose(w->s_t, Kp, state, ld, s->K, s->cols);
    transpose(w->ds_t, Kp, w->ds, ld, s->K, s->cols);
    if (gates) memset(parts, 0, sizeof(float) * 2 * CHUNK * LANES);
    chain h = {.t = {.c = w->dq, .ldc = Kp, .a = w->d_o, .rs = ld, .cs = 1, .b = w->s_t, .ldb = Kp}};
    h.t.k = s->cols, h.factor = w->far, h.with = w->q_s, h.parts = parts;
    h.more[0] = (tile_job){.a = w->g, .rs = CHUNK, .cs = 1, .b = w->k_c, .ldb = Kp};
    h.count = 1, h.reach[0] = UP_TO_LAST;
    grad_chain(w, h, s->K);
    if (delta) {
        h.t.c = w->dk, h.t.a = w->d_o + n * ld, h.with = w->q_s + n * Kp, h.count = 0;
        grad_chain(w, h, s->K);
    }
    h.t.c = w->dk, h.t.a = w->x, h.t.b = w->ds_t, h.t.mode = delta ? TILE_ADD : TILE_SET;
    h.factor = w->end, h.with = w->k_e, h.parts = gates ? parts + CHUNK * LANES : NULL;
    h.more[0] = (tile_job){.a = w->g, .rs = 1, .cs = CHUNK, .b = w->q_r, .ldb = Kp, .k = n};
    h.more[1] = (tile_job){.a = w->both, .rs = CHUNK, .cs = 1, .b = w->k_c, .ldb = Kp, .k = n};
    h.count = delta ? 2 : 1, h.reach[0] = FROM_FIRST, h.reach[1] = EVERY;
    grad_chain(w, h, s->K);
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
    const int64_t n = w->n;
    memset(column, 0, sizeof(float) * CHUNK);
    add_up(w->part_k, w->parts + CHUNK * LANES, n);
    memcpy(column, w->part_k, sizeof(float) * (size_t)n);
    vf first = dot_parts(w->ds, state, s->K * s->ld) * (w->hi + w->lo);
    for (int64_t t = n - 1; t >= 0; t--) {
        first += v_load(w->parts + t * LANES);
        vf sum = first;
        for (int64_t j = 0; j <= t; j += LANES) {
            vf c = v_load(column + j) + v_load(w->p + t * CHUNK + j);
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
    float slope[CHUNK + HOP__PANEL_MAX], column[CHUNK];
    grad_gate_slopes(w, state, slope, column);
    if (s->kind == HOP__MLSTM) {
        grad_stabiliser(w, slope, column);
        return;
    }
    for (int64_t i = 0; i < w->n; i++) {
        w->head_gate += slope[i];
        if (s->c->gate == HOP_GATE_TOKEN)
            w->t->g->dg[(w->first + i) * s->c->gate_stride + s->head] = slope[i];
    }
}

static void grad_emit(grad *w)
{
    const scan *s = &w->s;
    const hop_scan *c = s->c;
    for (int64_t t = 0; t < w->n; t++) {
        const int64_t at = w->first + t, of = s->key_head * s->K;
        emit(grad_at(w->t->g->dq, at * c->q_stride + of), w->dq + t * w->Kp, c->scale, s->K, w->add);
        emit(grad_at(w->t->g->dk, at * c->k_stride + of), w->dk + t * w->Kp, 1.0f, s->K, w->add);
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
    const float *state = w->kept + w->first / CHUNK * w->slot, *a = state + (s->K + CHUNK) * s->ld;
    const bool gates = s->kind == HOP__MLSTM || (w->t->g->dg && s->c->gate != HOP_GATE_NONE);
    s->m = w->kept_m[w->first / CHUNK];
    grad_ahead(w, w->first - CHUNK, true);
    grad_gates(w);
    grad_keys(w);
    grad_values(w, state);
    grad_open(w, a);
    if (s->kind == HOP__MLSTM) grad_quotients(w, state);
    grad_rows(w, state);
    grad_pair_slopes(w, a);
    grad_key_rows(w, state, gates);
    if (gates) grad_gates_out(w, state);
    grad_emit(w);
    grad_state(w);
}

static void grad_take(grad *w, float *p)
{
    const scan *s = &w->s;
    const int64_t K = s->K, Kp = w->Kp, ld = s->ld, chunks = (s->c->tokens + CHUNK - 1) / CHUNK;
    w->slot = s->kind == HOP__DELTA ? (K + CHUNK) * ld + CHUNK * CHUNK : K * ld;
    w->kept = take(&p, chunks * w->slot), w->kept_m = take(&p, chunks);
    /* Columns behind K are summed with the others and must be numbers. */
    float *padded = p;
    w->s_t = take(&p, s->cols * Kp), w->ds_t = take(&p, s->cols * Kp);
    w->q_r = take(&p, CHUNK * Kp), w->q_s = take(&p, 2 * CHUNK * Kp);
    if (Kp > K) memset(padded, 0, sizeof(float) * (size_t)(p - padded));
    w->ds = take(&p, K * ld);
    w->x = take(&p, CHUNK * ld), w->x_t = take(&p, s->cols * CHUNK), w->y = take(&p, CHUNK * ld);
    w->d_o = take(&p, 2 * CHUNK * ld);
    w->k_c = take(&p, CHUNK * Kp), w->k_e = take(&p, CHUNK * Kp), w->k_ct = take(&p, K * CHUNK);
    w->dq = take(&p, CHUNK * Kp), w->dk = take(&p, CHUNK * Kp);
    w->e = take(&p, CHUNK * CHUNK), w->p = take(&p, CHUNK * CHUNK), w->both = take(&p, CHUNK * CHUNK);
    w->g = take(&p, CHUNK * CHUNK), w->w = take(&p, CHUNK * CHUNK);
    w->ca = take(&p, CHUNK * (K + CHUNK));
    w->parts = take(&p, 2 * CHUNK * LANES), w->part_k = take(&p, CHUNK);
}

static void grad_head(const hop__scan_back *t, int64_t h)
{
    const hop_scan *c = t->c;
    const hop_scan_grad *g = t->g;
    grad w = {.s = scan_open(t->kind, c, t->in, h), .t = t, .add = h % (c->heads / c->key_heads) != 0};
    w.Kp = hop__round_up(c->key_dim, HOP__PANEL_MAX);
    w.far_apart = far_apart(c);
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
