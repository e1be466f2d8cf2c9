/* body_selective_back.h - gradients of the selective scan; lanes are channels, as forward.
 *
 * A first pass keeps the state before every block of SEL_BACK tokens; then the blocks are gone through from
 * the last to the first, forward once more and back. Inside a block one state of each channel is finished
 * before the next one begins: it, its gradient and A's stay in registers, and what is kept of it for the way
 * back, its values before each token and the decays, in L1, where a block of all states would not fit. The
 * rows of dx and ddelta are sums over states; they are collected in L1 and leave once.
 *
 * The decay is a power of two, e^(delta A) = 2^(delta A2) with A2 = A log2 e: its exponent needs no reduction
 * with two parts of ln 2. That A2 is rounded moves A by half a unit, as delta A's rounding does forward. */

enum { SEL_BACK = HOP__SCAN_BACK };

/* What a block has in L1, at fixed distances: one pointer serves all of it. Rows are tokens. */
typedef struct sel_rows_back {
    float x[SEL_BACK * SEL], delta[SEL_BACK * SEL], wrote[SEL_BACK * SEL]; /* wrote = delta x */
    float d_o[SEL_BACK * SEL], dx[SEL_BACK * SEL], ddelta[SEL_BACK * SEL];
    float before[SEL_BACK * SEL], two[SEL_BACK * SEL], rest[SEL_BACK * SEL]; /* of the state at hand */
    float parts_b[SEL_BACK * LANES], parts_c[SEL_BACK * LANES];              /* by LANES: see add_up */
} sel_rows_back;

typedef struct sel_back {
    const hop__select_task *t;
    int64_t first, n;        /* the block's tokens */
    float *A, *A2, *dh, *dA; /* [N, SEL] */
    float *kept;             /* [blocks, N, SEL] */
    float *B, *C, *dB, *dC;  /* [N, SEL_BACK] */
    sel_rows_back *r;
    float dD[SEL];
} sel_back;

/* 2^z = two (1 + rest): the polynomial is exp_split's. Both are 0 below -126.5; NaN stays. */
INLINE void power_split(vf z, vf *two, vf *rest)
{
    const float magic = 12582912.0f + 127.0f;
    z = v_max(v_all(-127.0f), z);
    vf n = z + magic;
    vf f = z - (n - magic);
    vf p = f * 0.000153455819f + 0.0013400195f;
    p = p * f + 0.00961849143f;
    p = p * f + 0.0555032815f;
    p = p * f + 0.240226464f;
    p = p * f + 0.693147181f;
    *rest = p * f;
    *two = v_from_bits(v_bits(n) << 23);
}

/* Rows of the block, together, zeros where there are no channels. */
static void sel_load(float *dst, const float *src, int64_t stride, const sel_back *w)
{
    src += w->first * stride + w->t->first;
    for (int64_t i = 0; i < w->n; i++, dst += SEL, src += stride) {
        row_copy(dst, src, w->t->count);
        for (int64_t j = w->t->count; j < SEL; j++) dst[j] = 0.0f;
    }
}

static void sel_open(sel_back *w)
{
    const hop_selective *c = w->t->c;
    sel_rows_back *r = w->r;
    sel_load(r->x, w->t->in->x, c->x_stride, w);
    sel_load(r->delta, w->t->in->delta, c->delta_stride, w);
    for (int64_t i = 0; i < w->n * SEL; i += LANES)
        v_store(r->wrote + i, v_load(r->x + i) * v_load(r->delta + i));
    transpose(w->B, SEL_BACK, w->t->in->B + w->first * c->b_stride, c->b_stride, w->n, c->states);
}

/* Part `n` of N of the block from token `first` on is asked for: rows to read and, of this block, to write.
 * Always inlined: GCC takes a function that does nothing but ask for one that does nothing, and drops its
 * calls. */
INLINE void sel_ask(const sel_back *w, int64_t first, int64_t n, bool second)
{
    const hop__select_task *t = w->t;
    const hop_selective *c = t->c;
    const int64_t N = c->states;
    for (int64_t i = n * SEL_BACK / N; i < (n + 1) * SEL_BACK / N; i++) {
        if (second && i < w->n) {
            const int64_t at = w->first + i;
            if (t->g->dx) fetch_row(t->g->dx + at * c->x_stride + t->first, t->count);
            if (t->g->ddelta) fetch_row(t->g->ddelta + at * c->delta_stride + t->first, t->count);
        }
        if (first < 0 || first + i >= c->tokens) continue;
        fetch_row(t->in->x + (first + i) * c->x_stride + t->first, t->count);
        fetch_row(t->in->delta + (first + i) * c->delta_stride + t->first, t->count);
        if (second) fetch_row(t->g->d_o + (first + i) * c->o_stride + t->first, t->count);
    }
}

/* ---- one state of NR channels ---------------------------------------------------------------- */

/* Over the block's tokens to `next`, the state after them. */
INLINE void sel_pass(const sel_back *w, float *next, const float *state, int64_t n, int64_t col)
{
    const sel_rows_back *r = w->r;
    const float *B = w->B + n * SEL_BACK;
    vf h[NV], A2[NV], two, rest;
    UNROLL for (int v = 0; v < NV; v++)
    {
        h[v] = v_load(state + n * SEL + col + v * LANES);
        A2[v] = v_load(w->A2 + n * SEL + col + v * LANES);
    }
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t at = i * SEL + col;
        UNROLL for (int v = 0; v < NV; v++)
        {
            power_split(v_load(r->delta + at + v * LANES) * A2[v], &two, &rest);
            h[v] = two * (h[v] + rest * h[v]) + B[i] * v_load(r->wrote + at + v * LANES);
        }
    }
    UNROLL for (int v = 0; v < NV; v++) v_store(next + n * SEL + col + v * LANES, h[v]);
}

/* Adds x to what earlier strips left, if there were any. */
INLINE void part_add(float *part, vf x, int64_t col)
{
    v_store(part, col ? v_load(part) + x : x);
}

/* The same once more; what the way back needs is kept, and what d_o makes of the states is dC. */
INLINE void sel_keep(const sel_back *w, const float *state, int64_t n, int64_t col)
{
    sel_rows_back *r = w->r;
    const float *B = w->B + n * SEL_BACK;
    vf h[NV], A2[NV], two, rest;
    UNROLL for (int v = 0; v < NV; v++)
    {
        h[v] = v_load(state + n * SEL + col + v * LANES);
        A2[v] = v_load(w->A2 + n * SEL + col + v * LANES);
    }
    for (int64_t i = 0; i < w->n; i++) {
        vf sum = (vf){0};
        UNROLL for (int v = 0; v < NV; v++)
        {
            const int64_t at = i * SEL + col + v * LANES;
            power_split(v_load(r->delta + at) * A2[v], &two, &rest);
            v_store(r->before + at, h[v]);
            v_store(r->two + at, two);
            v_store(r->rest + at, rest);
            h[v] = two * (h[v] + rest * h[v]) + B[i] * v_load(r->wrote + at);
            sum += h[v] * v_load(r->d_o + at);
        }
        part_add(r->parts_c + i * LANES, sum, col);
    }
}

/* dh += C d_o; then dB, dx, ddelta and dA, and dh = e^(delta A) dh for the token before. */
INLINE void sel_return(const sel_back *w, int64_t n, int64_t col)
{
    sel_rows_back *r = w->r;
    const float *B = w->B + n * SEL_BACK, *C = w->C + n * SEL_BACK;
    vf dh[NV], dA[NV], A[NV];
    UNROLL for (int v = 0; v < NV; v++)
    {
        const int64_t at = n * SEL + col + v * LANES;
        dh[v] = v_load(w->dh + at), dA[v] = v_load(w->dA + at), A[v] = v_load(w->A + at);
    }
    for (int64_t i = w->n - 1; i >= 0; i--) {
        vf sum = (vf){0};
        UNROLL for (int v = 0; v < NV; v++)
        {
            const int64_t at = i * SEL + col + v * LANES;
            vf d = dh[v] + C[i] * v_load(r->d_o + at);
            dh[v] = v_load(r->two + at) * (d + d * v_load(r->rest + at));
            vf gate = dh[v] * v_load(r->before + at); /* of the exponent */
            sum += d * v_load(r->wrote + at);
            v_store(r->dx + at, v_load(r->dx + at) + B[i] * d);
            v_store(r->ddelta + at, v_load(r->ddelta + at) + gate * A[v]);
            dA[v] += gate * v_load(r->delta + at);
        }
        part_add(r->parts_b + i * LANES, sum, col);
    }
    UNROLL for (int v = 0; v < NV; v++)
    {
        const int64_t at = n * SEL + col + v * LANES;
        v_store(w->dh + at, dh[v]);
        v_store(w->dA + at, dA[v]);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void sel_first_pass(sel_back *w)
{
    const hop_selective *c = w->t->c;
    const int64_t N = c->states;
    float *state = w->kept;
    for (w->first = 0; w->first + SEL_BACK < c->tokens; w->first += SEL_BACK, state += N * SEL) {
        w->n = SEL_BACK;
        sel_open(w);
        for (int64_t n = 0; n < N; n++) {
            sel_ask(w, w->first + SEL_BACK, n, false);
            for (int64_t j = 0; j < SEL; j += NR) sel_pass(w, state + N * SEL, state, n, j);
        }
    }
}

/* dx and ddelta: what the sums over states stand for, and the skip's part. */
static void sel_emit(sel_back *w)
{
    const hop__select_task *t = w->t;
    const hop_selective *c = t->c;
    const sel_rows_back *r = w->r;
    for (int64_t i = 0; i < w->n; i++)
        for (int64_t j = 0; j < t->count; j += LANES) {
            const int64_t at = i * SEL + j, token = w->first + i, ch = t->first + j, n = t->count - j;
            vf sum = v_load(r->dx + at), x = v_load(r->x + at), d_o = v_load(r->d_o + at);
            vf dx = sum * v_load(r->delta + at);
            if (t->in->D) dx += v_load_to(t->in->D + ch, 0, n) * d_o;
            v_store(w->dD + j, v_load(w->dD + j) + d_o * x);
            if (t->g->dx) v_store_to(t->g->dx + token * c->x_stride + ch, dx, n);
            if (t->g->ddelta)
                v_store_to(t->g->ddelta + token * c->delta_stride + ch, v_load(r->ddelta + at) + sum * x, n);
        }
}

static void sel_block(sel_back *w)
{
    const hop__select_task *t = w->t;
    const int64_t N = t->c->states;
    const float *state = w->kept + w->first / SEL_BACK * N * SEL;
    sel_rows_back *r = w->r;
    sel_open(w);
    transpose(w->C, SEL_BACK, t->in->C + w->first * t->c->c_stride, t->c->c_stride, w->n, N);
    sel_load(r->d_o, t->g->d_o, t->c->o_stride, w);
    memset(r->dx, 0, sizeof(float) * SEL_BACK * SEL);
    memset(r->ddelta, 0, sizeof(float) * SEL_BACK * SEL);
    for (int64_t n = 0; n < N; n++) {
        sel_ask(w, w->first - SEL_BACK, n, true);
        for (int64_t j = 0; j < SEL; j += NR) {
            sel_keep(w, state, n, j);
            sel_return(w, n, j);
        }
        add_up(w->dB + n * SEL_BACK, r->parts_b, w->n);
        add_up(w->dC + n * SEL_BACK, r->parts_c, w->n);
    }
    sel_emit(w);
    transpose(t->part + w->first * 2 * N, 2 * N, w->dB, SEL_BACK, N, w->n);
    transpose(t->part + w->first * 2 * N + N, 2 * N, w->dC, SEL_BACK, N, w->n);
}

static void sel_take(sel_back *w, float *p)
{
    const int64_t N = w->t->c->states, size = N * SEL, blocks = (w->t->c->tokens + SEL_BACK - 1) / SEL_BACK;
    w->A = take(&p, size), w->A2 = take(&p, size), w->dh = take(&p, size), w->dA = take(&p, size);
    w->kept = take(&p, blocks * size);
    w->r = (sel_rows_back *)take(&p, sizeof *w->r / sizeof(float));
    w->B = take(&p, N * SEL_BACK), w->C = take(&p, N * SEL_BACK);
    w->dB = take(&p, N * SEL_BACK), w->dC = take(&p, N * SEL_BACK);
}

static void select_backward(const hop__select_task *t)
{
    const int64_t N = t->c->states, size = N * SEL, T = t->c->tokens;
    sel_back w = {.t = t};
    sel_take(&w, t->scratch);
    states_load(w.A, t->in->A + t->first * N, t->count, N);
    for (int64_t i = 0; i < size; i += LANES) v_store(w.A2 + i, v_load(w.A + i) * 1.44269504f);
    memset(w.dh, 0, sizeof(float) * (size_t)size);
    memset(w.dA, 0, sizeof(float) * (size_t)size);
    if (T > 0) states_load(w.kept, t->start ? t->start + t->first * N : NULL, t->count, N);
    sel_first_pass(&w);
    for (w.first = (T - 1) / SEL_BACK * SEL_BACK; T > 0 && w.first >= 0; w.first -= SEL_BACK) {
        w.n = hop__min(SEL_BACK, T - w.first);
        sel_block(&w);
    }
    states_store(t->g->d_state ? t->g->d_state + t->first * N : NULL, w.dh, t->count, N);
    states_store(t->g->dA ? t->g->dA + t->first * N : NULL, w.dA, t->count, N);
    if (t->g->dD) memcpy(t->g->dD + t->first, w.dD, sizeof(float) * (size_t)t->count);
}
