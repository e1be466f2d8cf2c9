/* body_scan_back.h - gradients of the scans, token by token from the last to the first.
 *
 * A first pass keeps the state every HOP__SCAN_BACK tokens; then, from the last such block to the first, the
 * states of its tokens are computed again and kept, and the tokens are gone through backwards with dS, the
 * gradient of the state. So memory is a sixteenth of all states, and nothing is inverted (a decay may be 0).
 *
 * With dS of the state after a token, S the one before, D its decay (see body_scan.h for x and p):
 *     dS += scale q d_oᵀ                     dq = scale (D S d_o + k (x·d_o) + b (p·d_o)), so S' is not read
 *     decay  dk = dS v     dv = dSᵀk         dD = rows of dS ⊙ S               dS = D dS
 *     delta  dx = dSᵀk     dp = -beta dx     dv = beta dx, dbeta = dx·(v - p)
 *            dk = dS x + D S dp              dH = dS + k dpᵀ, dD = rows of dH ⊙ S, dS = D dH
 *     dplr   dp = dSᵀb     db = dS p         da = S dp                         dS = D dS + a dpᵀ
 * One pass down the columns for dx and dp, one along the rows for everything that is summed over values; that
 * one leaves registers of partial sums, added up at the end. */

enum { BACK = HOP__SCAN_BACK, SUMS = 5 };
enum { SUM_Q, SUM_K, SUM_D, SUM_A, SUM_B }; /* delta: SUM_A is S dp */

typedef struct back {
    scan s;
    const hop__scan_back *t;
    token_rows rows[BACK]; /* hi, lo, key, x, p, y of each token of the block */
    scalars sc[BACK];
    float *rest;          /* [BACK, ld]: delta: v - p */
    float *states;        /* [BACK + 1, K, ld] */
    float *kept;          /* [blocks, K, ld]: the state before each block */
    float *kept_m;        /* [blocks] */
    float *ds;            /* [K, ld] */
    float *d_o, *dx, *dp; /* [ld] */
    float *parts;         /* [SUMS, Kp, LANES] */
    float *sums;          /* [SUMS, Kp] */
    double head_gate;     /* its gradient */
    double dm;            /* mlstm: of the stabiliser */
    bool add;             /* not the first head of its key head */
} back;

/* ---- one token ------------------------------------------------------------------------------- */

typedef struct scan_rows {
    const float *q, *k, *a, *b; /* broadcast; q is scaled */
    const float *s;             /* the state before */
    const float *x, *p;         /* rows that meet dS: for dk, db */
    const float *hi, *lo;
    int64_t g_step;
} scan_rows;

/* dS takes what the output saw; dx = dSᵀk, dp = dSᵀb. */
INLINE void scan_strip(const back *w, int64_t col, const scan_rows *r, const int wide, const bool two,
                       const bool after)
{
    const int64_t ld = w->s.ld;
    vf d_o[4], x[4], p[4];
    UNROLL for (int i = 0; i < wide; i++)
    {
        d_o[i] = v_load(w->d_o + col + i * LANES);
        x[i] = p[i] = (vf){0};
    }
    float *ds = w->ds + col;
    for (int64_t k = 0; k < w->s.K; k++, ds += ld) {
        UNROLL for (int i = 0; i < wide; i++)
        {
            vf d = v_load(ds + i * LANES);
            if (after) {
                d += r->q[k] * d_o[i];
                v_store(ds + i * LANES, d);
            }
            x[i] += r->k[k] * d;
            if (two) p[i] += r->b[k] * d;
        }
    }
    UNROLL for (int i = 0; i < wide; i++)
    {
        v_store(w->dx + col + i * LANES, x[i]);
        if (two) v_store(w->dp + col + i * LANES, p[i]);
    }
}

INLINE void scan_strips(const back *w, const scan_rows *r, const bool two, const bool after)
{
    int64_t j = 0;
    for (; j + 4 * LANES <= w->s.ld; j += 4 * LANES) scan_strip(w, j, r, 4, two, after);
    for (; j < w->s.ld; j += LANES) scan_strip(w, j, r, 1, two, after);
}

static void scan_columns(const back *w, const scan_rows *r)
{
    if (r->b)
        scan_strips(w, r, true, true);
    else if (w->s.u)
        scan_strips(w, r, false, false);
    else
        scan_strips(w, r, false, true);
}

INLINE void scan_row(const back *w, const scan_rows *r, int64_t k, const hop__scan_kind kind,
                     const bool before)
{
    const int64_t ld = w->s.ld, Kp = hop__round_up(w->s.K, HOP__PANEL_MAX);
    const float *s = r->s + k * ld, hi = r->hi[k * r->g_step], lo = r->lo[k * r->g_step];
    float *ds = w->ds + k * ld;
    vf sum[SUMS];
    UNROLL for (int i = 0; i < SUMS; i++) sum[i] = (vf){0};
    for (int64_t j = 0; j < ld; j += LANES) {
        vf d = v_load(ds + j), old = v_load(s + j), d_o = v_load(w->d_o + j);
        sum[SUM_Q] += d_o * old;
        sum[SUM_K] += d * v_load(r->x + j);
        if (kind == HOP__DELTA) {
            vf dp = v_load(w->dp + j);
            sum[SUM_A] += old * dp;
            d += r->k[k] * dp;
        }
        sum[SUM_D] += d * old;
        vf next = hi * d + lo * d;
        if (kind == HOP__DPLR) {
            vf dp = v_load(w->dp + j);
            sum[SUM_B] += d * v_load(r->p + j);
            sum[SUM_A] += old * dp;
            next += r->a[k] * dp;
        }
        if (before) next += r->q[k] * d_o;
        v_store(ds + j, next);
    }
    const int used = kind == HOP__DPLR ? SUM_B : kind == HOP__DELTA ? SUM_A : SUM_D;
    UNROLL for (int i = 0; i <= used; i++) v_store(w->parts + (i * Kp + k) * LANES, sum[i]);
}

/* y[k] = sum of the LANES floats of row k of part [K, LANES]. */
static void add_up(float *y, const float *part, int64_t K)
{
    vf sum[LANES];
    int64_t k = 0;
    for (; k + LANES <= K; k += LANES) {
        UNROLL for (int i = 0; i < LANES; i++) sum[i] = v_load(part + (k + i) * LANES);
        v_store(y + k, v_sums(sum));
    }
    for (; k < K; k++) y[k] = v_sum(v_load(part + k * LANES));
}

static void back_all_rows(const back *w, const scan_rows *r)
{
    const int64_t K = w->s.K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    const hop__scan_kind kind = w->s.kind;
    if (kind == HOP__DELTA)
        for (int64_t k = 0; k < K; k++) scan_row(w, r, k, HOP__DELTA, false);
    else if (kind == HOP__DPLR)
        for (int64_t k = 0; k < K; k++) scan_row(w, r, k, HOP__DPLR, false);
    else if (w->s.u)
        for (int64_t k = 0; k < K; k++) scan_row(w, r, k, HOP__DECAY, true);
    else
        for (int64_t k = 0; k < K; k++) scan_row(w, r, k, HOP__DECAY, false);
    const int used = kind == HOP__DPLR ? SUM_B : kind == HOP__DELTA ? SUM_A : SUM_D;
    for (int64_t i = 0; i <= used; i++) add_up(w->sums + i * Kp, w->parts + i * Kp * LANES, K);
}

/* ---- what goes out --------------------------------------------------------------------------- */

/* dst = (dst +) f * src, as this is the first head of its key head or not. */
static void emit(float *dst, const float *src, float f, int64_t n, bool add)
{
    if (!dst) return;
    if (add)
        for (int64_t i = 0; i < n; i++) dst[i] += f * src[i];
    else
        for (int64_t i = 0; i < n; i++) dst[i] = f * src[i];
}

INLINE float *grad_at(float *p, int64_t offset)
{
    return p ? p + offset : NULL;
}

static void emit_gate(back *w, int64_t t, const scan_rows *r, const float *d)
{
    const hop_scan *c = w->s.c;
    const int64_t K = w->s.K;
    float *dg = w->t->g->dg;
    if (!dg || c->gate == HOP_GATE_NONE) return;
    if (c->gate == HOP_GATE_KEY) {
        dg += t * c->gate_stride + w->s.head * K;
        for (int64_t k = 0; k < K; k++) dg[k] = d[k] * (r->hi[k] + r->lo[k]);
        return;
    }
    double all = row_sum(d, K) * ((double)*r->hi + *r->lo);
    w->head_gate += all;
    if (c->gate == HOP_GATE_TOKEN) dg[t * c->gate_stride + w->s.head] = (float)all;
}

/* mlstm: the gradients of the two factors, `forget` and `input` (of their logarithms), go to i, f and,
 * through the maximum, to m, whose own after this token is `dm`. h does not depend on m but for the 1e-6, so
 * most of this cancels; where m is large it does not. */
typedef struct mlstm_slopes {
    double di, df, dm; /* df: of logsigmoid(f); dm: of m before the token */
} mlstm_slopes;

INLINE mlstm_slopes mlstm_gates(double dm, double forget, double input, const scalars *sc)
{
    const double left = dm - forget - input, df = forget + (sc->forgot ? left : 0.0);
    return (mlstm_slopes){input + (sc->forgot ? 0.0 : left), df, df};
}

static void emit_mlstm(back *w, int64_t t, const scalars *sc, const float *k, const float *sums)
{
    const hop_scan *c = w->s.c;
    const int64_t Kp = hop__round_up(w->s.K, HOP__PANEL_MAX), at = t * c->gate_stride + w->s.head;
    const float *hi = w->rows[t % BACK].hi, *lo = w->rows[t % BACK].lo;
    double forget = 0.0, input = 0.0;
    for (int64_t i = 0; i < w->s.K; i++) {
        forget += (double)sums[SUM_D * Kp + i] * ((double)*hi + *lo);
        input += (double)sums[SUM_K * Kp + i] * k[i] * sc->key;
    }
    const mlstm_slopes d = mlstm_gates(w->dm, forget, input, sc);
    w->dm = d.dm;
    if (w->t->g->di) w->t->g->di[at] = (float)d.di;
    if (w->t->g->df) w->t->g->df[at] = (float)(d.df / (1.0 + exp((double)w->s.f[t * c->gate_stride])));
}

/* h = num / (max(|den|, e^-m) + 1e-6), both in y, scaled: d_o becomes the gradient of num and, behind it, of
 * den. Returns m's. */
static double mlstm_quotient(float *d_o, const float *y, int64_t V, double m)
{
    double den = y[V], least = exp(-m), dz = 0.0;
    double size = fabs(den), z = (size > least ? size : least) + 1e-6;
    for (int64_t j = 0; j < V; j++) {
        dz -= (double)d_o[j] * y[j] / (z * z);
        d_o[j] = (float)(d_o[j] / z);
    }
    d_o[V] = (float)(size >= least ? (den < 0.0 ? -dz : dz) : 0.0);
    return size < least ? -least * dz : 0.0;
}

/* RWKV-6's bonus: o += scale (sum q u k) v. */
static void emit_bonus(back *w, int64_t t, const float *q, const float *k, const float *v)
{
    const hop_scan *c = w->s.c;
    const hop_scan_grad *g = w->t->g;
    const int64_t K = w->s.K, head = w->s.head, kh = w->s.key_head;
    const float *u = w->s.u, *d_o = w->d_o;
    const float seen = c->scale * row_dot(v, d_o, w->s.V), reach = c->scale * bonus(q, u, k, K);
    for (int64_t i = 0; i < K; i++) {
        if (g->dq) g->dq[t * c->q_stride + kh * K + i] += seen * u[i] * k[i];
        if (g->dk) g->dk[t * c->k_stride + kh * K + i] += seen * u[i] * q[i];
        if (g->du) w->t->g->du[head * K + i] += seen * q[i] * k[i];
    }
    emit(grad_at(g->dv, t * c->v_stride + head * w->s.V), d_o, reach, w->s.V, true);
}

/* What q saw: of the state before S d_o is there, decayed if q came after; then what the token itself wrote.
 */
static void emit_query(back *w, int64_t t, const scan_rows *r)
{
    const hop_scan *c = w->s.c;
    const int64_t K = w->s.K;
    float *sums = w->sums; /* SUM_Q is the first */
    const float wrote = row_dot(w->d_o, r->x, w->s.ld) * w->sc[t % BACK].key;
    const float passed = r->b ? row_dot(w->d_o, r->p, w->s.ld) : 0.0f;
    for (int64_t k = 0; !w->s.u && k < K; k++) {
        float decayed = (r->hi[k * r->g_step] + r->lo[k * r->g_step]) * sums[k];
        sums[k] = decayed + r->k[k] * wrote + (r->b ? r->b[k] * passed : 0.0f);
    }
    emit(grad_at(w->t->g->dq, t * c->q_stride + w->s.key_head * K), sums, c->scale, K, w->add);
}

static void emit_token(back *w, int64_t t, const scan_rows *r, const float *q, const float *k)
{
    const hop_scan *c = w->s.c;
    const hop_scan_grad *g = w->t->g;
    const int64_t K = w->s.K, V = w->s.V, Kp = hop__round_up(K, HOP__PANEL_MAX), head = w->s.head;
    const int64_t at_k = t * c->k_stride + w->s.key_head * K;
    const scalars *sc = &w->sc[t % BACK];
    float *sums = w->sums;
    const bool delta = w->s.kind == HOP__DELTA;
    emit_query(w, t, r);
    emit(grad_at(g->dv, t * c->v_stride + head * V), w->dx, delta ? sc->beta : sc->key, V, false);
    emit_gate(w, t, r, sums + SUM_D * Kp);
    if (w->s.kind == HOP__MLSTM) emit_mlstm(w, t, sc, k, sums);
    for (int64_t i = 0; delta && i < K; i++)
        sums[SUM_K * Kp + i] += (r->hi[i * r->g_step] + r->lo[i * r->g_step]) * sums[SUM_A * Kp + i];
    emit(grad_at(g->dk, at_k), sums + SUM_K * Kp, sc->key, K, w->add);
    if (w->s.kind == HOP__DPLR) {
        emit(grad_at(g->da, at_k), sums + SUM_A * Kp, 1.0f, K, w->add);
        emit(grad_at(g->db, at_k), sums + SUM_B * Kp, 1.0f, K, w->add);
    }
    if (w->s.u) emit_bonus(w, t, q, k, w->s.v + t * c->v_stride);
    if (delta && g->dbeta) {
        g->dbeta[t * c->beta_stride + head] = row_dot(w->dx, w->rest + (t % BACK) * w->s.ld, V);
    }
}

static void back_token(back *w, int64_t t)
{
    const scan *s = &w->s;
    const hop_scan *c = s->c;
    const int64_t i = t % BACK, K = s->K, ld = s->ld, size = K * ld;
    const token_rows *tr = &w->rows[i];
    const float *q = s->q + t * c->q_stride, *k = s->k + t * c->k_stride;
    memset(w->d_o, 0, sizeof(float) * (size_t)ld);
    memcpy(w->d_o, w->t->g->d_o + t * c->o_stride + s->head * s->V, sizeof(float) * (size_t)s->V);
    if (s->kind == HOP__MLSTM) {
        scale_row(tr->y, tr->y, c->scale, ld);
        w->dm += mlstm_quotient(w->d_o, tr->y, s->V, w->sc[i].m);
    }
    float *scaled = w->sums; /* free until the rows are done */
    scale_row(scaled, q, c->scale, K);
    scan_rows r = {.q = scaled, .k = k, .s = w->states + i * size};
    r.hi = tr->hi, r.lo = tr->lo, r.g_step = s->g && c->gate == HOP_GATE_KEY;
    r.x = s->kind == HOP__DELTA ? tr->x : value_row(s, t, tr->x), r.p = tr->p;
    if (s->kind == HOP__DPLR) r.a = s->a + t * c->k_stride, r.b = s->b + t * c->k_stride;
    scan_columns(w, &r);
    if (s->kind == HOP__DELTA) scale_row(w->dp, w->dx, -w->sc[i].beta, ld);
    back_all_rows(w, &r);
    emit_token(w, t, &r, q, k);
}

/* ---- one head -------------------------------------------------------------------------------- */

static void copy_state(float *dst, const float *src, int64_t n)
{
    memcpy(dst, src, sizeof(float) * (size_t)n);
}

static void scan_block(back *w, int64_t first, int64_t n)
{
    scan *s = &w->s;
    const int64_t size = s->K * s->ld;
    copy_state(w->states, w->kept + first / BACK * size, size);
    s->m = w->kept_m[first / BACK];
    for (int64_t i = 0; i < n; i++) {
        float *from = w->states + i * size, *rest = w->rest + i * s->ld;
        w->sc[i] = token_step(s, first + i, from, from + size, &w->rows[i], rest, s->kind == HOP__MLSTM);
    }
    for (int64_t i = n - 1; i >= 0; i--) back_token(w, first + i);
}

static void back_run_head(back *w, const float *state)
{
    scan *s = &w->s;
    const hop_scan_grad *g = w->t->g;
    const int64_t K = s->K, size = K * s->ld, T = s->c->tokens;
    float *now = w->states;
    state_load(s, now, state);
    for (int64_t t = 0; t < T; t++) {
        if (t % BACK == 0) {
            copy_state(w->kept + t / BACK * size, now, size);
            w->kept_m[t / BACK] = s->m;
        }
        token_step(s, t, now, now, &w->rows[0], NULL, false);
    }
    memset(w->ds, 0, sizeof(float) * (size_t)size);
    if (g->du) memset(g->du + s->head * K, 0, sizeof(float) * (size_t)K);
    w->head_gate = w->dm = 0.0;
    for (int64_t first = (T - 1) / BACK * BACK; T > 0 && first >= 0; first -= BACK)
        scan_block(w, first, hop__min(BACK, T - first));
    if (g->dg && s->c->gate == HOP_GATE_HEAD) g->dg[s->head] = (float)w->head_gate;
    if (g->d_state) state_store(s, g->d_state + s->head * state_floats(s), w->ds, (float)w->dm);
}

static void back_head(const hop__scan_back *t, int64_t h)
{
    const hop_scan *c = t->c;
    const int64_t Kp = hop__round_up(c->key_dim, HOP__PANEL_MAX);
    back w = {.s = scan_open(t->kind, c, t->in, h), .t = t, .add = h % (c->heads / c->key_heads) != 0};
    w.s.ld = hop__round_up(w.s.cols, LANES);
    float *p = t->scratch;
    const int64_t size = w.s.K * w.s.ld, blocks = (c->tokens + BACK - 1) / BACK;
    for (int i = 0; i < BACK; i++) w.rows[i] = token_rows_take(&p, &w.s);
    w.states = take(&p, (BACK + 1) * size), w.kept = take(&p, blocks * size), w.kept_m = take(&p, blocks);
    w.rest = take(&p, BACK * w.s.ld), w.ds = take(&p, size);
    w.d_o = take(&p, w.s.ld), w.dx = take(&p, w.s.ld), w.dp = take(&p, w.s.ld);
    w.parts = take(&p, SUMS * Kp * LANES), w.sums = take(&p, SUMS * Kp);
    back_run_head(&w, t->state ? t->state + h * state_floats(&w.s) : NULL);
}
