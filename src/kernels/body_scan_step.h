/* body_scan_step.h - the recurrent form: a token at a time, also what generation and backward's recomputation
 * use.
 *
 * A token reads the state once (for p, if the recurrence has it) and then reads and writes it once: each row
 * is decayed, gets its terms, and goes into the output while it is in registers. Rows are taken in strips of
 * up to 4 registers, so that a broadcast key serves 4 multiply-adds. */

typedef struct step {
    const float *src; /* the state before; rows ld apart */
    float *dst;       /* and after: may be src */
    float *y;         /* output row, whole registers; NULL: not wanted */
    const float *q, *k, *b, *x, *p;
    const float *hi, *lo;
    int64_t g_step; /* 0: one gate for all keys */
    int64_t K, ld;
} step;

/* y = aᵀS over columns col .. */
INLINE void read_strip(float *y, const float *a, const float *s, int64_t K, int64_t ld, const int wide)
{
    vf sum[2][4];
    UNROLL for (int w = 0; w < wide; w++) sum[0][w] = sum[1][w] = (vf){0};
    int64_t k = 0;
    for (; k + 2 <= K; k += 2) {
        UNROLL for (int w = 0; w < wide; w++)
        {
            sum[0][w] += a[k] * v_load(s + k * ld + w * LANES);
            sum[1][w] += a[k + 1] * v_load(s + (k + 1) * ld + w * LANES);
        }
    }
    if (k < K) UNROLL for (int w = 0; w < wide; w++) sum[0][w] += a[k] * v_load(s + k * ld + w * LANES);
    UNROLL for (int w = 0; w < wide; w++) v_store(y + w * LANES, sum[0][w] + sum[1][w]);
}

static void state_read(float *y, const float *a, const float *s, int64_t K, int64_t ld)
{
    int64_t j = 0;
    for (; j + 4 * LANES <= ld; j += 4 * LANES) read_strip(y + j, a, s + j, K, ld, 4);
    for (; j < ld; j += LANES) read_strip(y + j, a, s + j, K, ld, 1);
}

INLINE void step_strip(const step *s, int64_t col, const int wide, const bool two, const bool before,
                       const bool out)
{
    const float *src = s->src + col, *hi = s->hi, *lo = s->lo;
    const int64_t ld = s->ld, gs = s->g_step;
    float *dst = s->dst + col;
    vf x[4], p[4], sum[4];
    UNROLL for (int w = 0; w < wide; w++)
    {
        x[w] = v_load(s->x + col + w * LANES);
        p[w] = two ? v_load(s->p + col + w * LANES) : (vf){0};
        sum[w] = (vf){0};
    }
    for (int64_t k = 0; k < s->K; k++, src += ld, dst += ld, hi += gs, lo += gs) {
        UNROLL for (int w = 0; w < wide; w++)
        {
            vf old = v_load(src + w * LANES), add = s->k[k] * x[w];
            TRACE_LANES("kv", add, V, col + w * LANES, AT(K, k), .otherwise = "kx");
            if (two) add += s->b[k] * p[w];
            if (two) TRACE_LANES("new", add, V, col + w * LANES, AT(K, k));
            add += *lo * old;
            vf now = *hi * old + add;
            v_store(dst + w * LANES, now);
            if (out) sum[w] += s->q[k] * (before ? old : now);
        }
    }
    if (out) UNROLL for (int w = 0; w < wide; w++) v_store(s->y + col + w * LANES, sum[w]);
}

INLINE void step_all(const step *s, const bool two, const bool before, const bool out)
{
    int64_t j = 0;
    for (; j + 4 * LANES <= s->ld; j += 4 * LANES) step_strip(s, j, 4, two, before, out);
    for (; j < s->ld; j += LANES) step_strip(s, j, 1, two, before, out);
}

static void step_run(const step *s, bool before)
{
    if (s->p && s->y)
        step_all(s, true, false, true);
    else if (s->p)
        step_all(s, true, false, false);
    else if (!s->y)
        step_all(s, false, false, false);
    else if (before)
        step_all(s, false, true, true);
    else
        step_all(s, false, false, true);
}

/* Rows that a token needs; each has room for whole registers. */
typedef struct token_rows {
    float *hi, *lo, *key; /* [K] */
    float *x, *p, *y;     /* [ld] */
} token_rows;

INLINE float *take(float **scratch, int64_t n)
{
    float *p = *scratch;
    *scratch += hop__round_up(n, HOP__PANEL_MAX);
    return p;
}

static token_rows token_rows_take(float **scratch, const scan *s)
{
    token_rows r = {.hi = take(scratch, s->K), .lo = take(scratch, s->K), .key = take(scratch, s->K)};
    r.x = take(scratch, s->ld), r.p = take(scratch, s->ld), r.y = take(scratch, s->ld);
    return r;
}

/* Sets r->hi and r->lo; returns how far apart they are (0: one for all). */
static int64_t token_gates(const scan *s, const scalars *sc, int64_t t, token_rows *r)
{
    if (s->g && s->c->gate == HOP_GATE_KEY) {
        gates_split(r->hi, r->lo, s->g + t * s->g_step, s->K);
        TRACE("e", r->hi, .lo = r->lo, ALONG(K, s->K, 1));
        return 1;
    }
    bool mine = s->kind == HOP__MLSTM || (s->g && s->c->gate == HOP_GATE_TOKEN);
    split(mine ? exp(sc->log_gate) : s->head_gate, r->hi, r->lo);
    TRACE("e", r->hi, .lo = r->lo);
    return 0;
}

/* v of token t as a whole number of registers: in place, or copied to `row`. */
static const float *value_row(const scan *s, int64_t t, float *row)
{
    const float *v = s->v + t * s->c->v_stride;
    if (s->ld == s->V) return v;
    memset(row + s->V, 0, sizeof(float) * (size_t)(s->ld - s->V));
    memcpy(row, v, sizeof(float) * (size_t)s->V);
    if (s->kind == HOP__MLSTM) row[s->V] = 1.0f;
    return row;
}

/* One token from state src to dst. r->x and r->p are left with x (delta: v - p, the caller's beta not yet in
 * it, goes to `rest` if wanted) and p. `y`: whether the output row r->y is wanted. */
static scalars token_step(scan *s, int64_t t, const float *src, float *dst, token_rows *r, float *rest,
                          bool y)
{
    enum { tokens_ahead = 4 };
    const int64_t K = s->K, ld = s->ld;
    TRACE_UNIT("step", s->head, t, 1, src, ld, s->m, 0.0f);
    fetch_q(s, t + tokens_ahead), fetch_k(s, t + tokens_ahead), fetch_v(s, t + tokens_ahead),
        fetch_g(s, t + tokens_ahead);
    scalars sc = scalars_at(s, t);
    step st = {.src = src, .dst = dst, .y = y ? r->y : NULL, .hi = r->hi, .lo = r->lo, .K = K, .ld = ld};
    st.q = s->q + t * s->c->q_stride, st.k = s->k + t * s->c->k_stride;
    st.g_step = token_gates(s, &sc, t, r);
    st.x = value_row(s, t, r->x);
    if (s->kind == HOP__MLSTM) {
        scale_row(r->key, st.k, sc.key, K);
        TRACE("kk", r->key, ALONG(K, K, 1));
        st.k = r->key;
    } else if (s->kind == HOP__DELTA) {
        for (int64_t k = 0; k < K; k++) r->key[k] = st.k[k] * (r->hi[k * st.g_step] + r->lo[k * st.g_step]);
        state_read(r->p, r->key, src, K, ld);
        TRACE("ke", r->key, ALONG(K, K, 1));
        TRACE("p", r->p, ALONG(V, ld, 1));
        for (int64_t j = 0; j < ld; j += LANES) {
            vf left = v_load(st.x + j) - v_load(r->p + j);
            TRACE_LANES("left", left, V, j, AT(T, 0));
            if (rest) v_store(rest + j, left);
            v_store(r->x + j, left * sc.beta);
        }
        st.x = r->x;
        TRACE("x", r->x, ALONG(V, ld, 1));
    } else if (s->kind == HOP__DPLR) {
        state_read(r->p, s->a + t * s->c->k_stride, src, K, ld);
        st.b = s->b + t * s->c->k_stride, st.p = r->p;
        TRACE("p", r->p, ALONG(V, ld, 1));
    }
    step_run(&st, s->u != NULL);
    TRACE("S1", dst, ALONG(K, K, ld), ALONG(V, s->cols, 1));
    if (y) TRACE("y", r->y, ALONG(V, ld, 1));
    return sc;
}

/* What RWKV-6's bonus adds to q·S: sum of q u k, times v. */
INLINE float bonus(const float *q, const float *u, const float *k, int64_t K)
{
    vf sum = (vf){0};
    float tail = 0.0f;
    int64_t i = 0;
    for (; i + LANES <= K; i += LANES) sum += v_load(q + i) * v_load(u + i) * v_load(k + i);
    for (; i < K; i++) tail += q[i] * u[i] * k[i];
    return v_sum(sum) + tail;
}

static void recurrent_tokens(scan *s, float *state, float *o, float *scratch)
{
    const hop_scan *c = s->c;
    token_rows r = token_rows_take(&scratch, s);
    for (int64_t t = 0; t < c->tokens; t++) {
        scalars sc = token_step(s, t, state, state, &r, NULL, true);
        float *row = o + t * c->o_stride;
        scale_row(r.y, r.y, c->scale, s->ld);
        TRACE("ys", r.y, ALONG(V, s->ld, 1), .otherwise = "o");
        if (s->kind == HOP__MLSTM) mlstm_divide(r.y, s->V, sc.m);
        if (s->u) {
            const float *v = s->v + t * c->v_stride;
            float extra = c->scale * bonus(s->q + t * c->q_stride, s->u, s->k + t * c->k_stride, s->K);
            TRACE_WIDE("w", bonus(s->q + t * c->q_stride, s->u, s->k + t * c->k_stride, s->K));
            TRACE_WIDE("ws", extra);
            for (int64_t j = 0; j < s->V; j++) r.y[j] += extra * v[j];
            TRACE("o", r.y, ALONG(V, s->V, 1));
        }
        memcpy(row, r.y, sizeof(float) * (size_t)s->V);
    }
}

/* The caller's state where it lies, if its rows are whole registers. */
static void recurrent(const hop__scan_task *t, int64_t head)
{
    scan s = scan_open(t->kind, t->c, t->in, head);
    float *scratch = t->scratch, *mine = t->state ? t->state + head * state_floats(&s) : NULL;
    float *o = t->o + head * s.V, *rows;
    if (mine && state_in_place(&s, LANES)) {
        s.ld = s.V;
        recurrent_tokens(&s, mine, o, scratch);
        return;
    }
    s.ld = hop__round_up(s.cols, LANES);
    rows = take(&scratch, s.K * s.ld);
    state_load(&s, rows, mine);
    recurrent_tokens(&s, rows, o, scratch);
    if (mine) state_store(&s, mine, rows, s.m);
}
