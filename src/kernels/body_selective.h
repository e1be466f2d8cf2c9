/* body_selective.h - the selective scan of Mamba, the elementwise recurrence, the short convolution: lanes
 * are channels.
 *
 * The selective scan spends its time on e^(delta A), one for each state of each channel and token, so states
 * of NR channels are taken together and B and C are broadcast. A task has 32 channels, whatever the
 * registers: their x and delta are padded, and A and the state turned over, [states, 32], once. */

enum { SEL = HOP__SELECT_WIDTH, SEL_BACK = HOP__SCAN_BACK };

/* [count, N] to [N, SEL] with zeros behind (src NULL: all zeros), and back. */
static void states_load(float *dst, const float *src, int64_t count, int64_t N)
{
    memset(dst, 0, sizeof(float) * (size_t)(N * SEL));
    if (src) transpose(dst, SEL, src, N, count, N);
}

static void states_store(float *dst, const float *src, int64_t count, int64_t N)
{
    if (dst) transpose(dst, N, src, SEL, N, count);
}

INLINE const float *channels(float *row, const float *src, int64_t count)
{
    if (count == SEL) return src;
    memset(row, 0, sizeof(float) * SEL);
    memcpy(row, src, sizeof(float) * (size_t)count);
    return row;
}

typedef struct sel_token {
    const float *x, *delta, *B, *C, *A, *skip;
    const float *src;
    float *dst, *y; /* y NULL: not wanted */
    int64_t N;
} sel_token;

INLINE void sel_strip(const sel_token *t, int64_t col, const bool out)
{
    vf x[NV], delta[NV], dx[NV], sum[NV], hi, lo;
    UNROLL for (int w = 0; w < NV; w++)
    {
        x[w] = v_load(t->x + col + w * LANES), delta[w] = v_load(t->delta + col + w * LANES);
        dx[w] = delta[w] * x[w];
        sum[w] = out && t->skip ? x[w] * v_load(t->skip + col + w * LANES) : (vf){0};
    }
    const float *A = t->A + col, *src = t->src + col;
    float *dst = t->dst + col;
    for (int64_t n = 0; n < t->N; n++, A += SEL, src += SEL, dst += SEL) {
        UNROLL for (int w = 0; w < NV; w++)
        {
            vf old = v_load(src + w * LANES);
            v_exp_split(delta[w] * v_load(A + w * LANES), &hi, &lo);
            vf now = hi * old + (lo * old + t->B[n] * dx[w]);
            v_store(dst + w * LANES, now);
            if (out) sum[w] += t->C[n] * now;
        }
    }
    if (out) UNROLL for (int w = 0; w < NV; w++) v_store(t->y + col + w * LANES, sum[w]);
}

static void sel_step(const sel_token *t)
{
    for (int64_t j = 0; j < SEL; j += NR) {
        if (t->y)
            sel_strip(t, j, true);
        else
            sel_strip(t, j, false);
    }
}

typedef struct sel_rows {
    float x[SEL], delta[SEL], skip[SEL], y[SEL];
} sel_rows;

static sel_token sel_at(const hop__select_task *t, int64_t i, sel_rows *r)
{
    const hop_selective *c = t->c;
    sel_token s = {.B = t->in->B + i * c->b_stride, .C = t->in->C + i * c->c_stride, .N = c->states};
    s.x = channels(r->x, t->in->x + i * c->x_stride + t->first, t->count);
    s.delta = channels(r->delta, t->in->delta + i * c->delta_stride + t->first, t->count);
    return s;
}

static void select_forward(const hop__select_task *t)
{
    const hop_selective *c = t->c;
    const int64_t N = c->states, at = t->first * N;
    float *A = t->scratch, *state = A + N * SEL;
    sel_rows r;
    states_load(A, t->in->A + at, t->count, N);
    states_load(state, t->state ? t->state + at : NULL, t->count, N);
    const float *skip = t->in->D ? channels(r.skip, t->in->D + t->first, t->count) : NULL;
    for (int64_t i = 0; i < c->tokens; i++) {
        float *o = t->o + i * c->o_stride + t->first;
        sel_token s = sel_at(t, i, &r);
        s.A = A, s.src = s.dst = state, s.skip = skip, s.y = t->count == SEL ? o : r.y;
        sel_step(&s);
        if (t->count < SEL) memcpy(o, r.y, sizeof(float) * (size_t)t->count);
    }
    states_store(t->state ? t->state + at : NULL, state, t->count, N);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* A first pass keeps the state every SEL_BACK tokens. Then, from the last block of tokens to the first, its
 * states are computed again and kept with their decays, so that the way back needs no exponential; what does
 * not depend on the gradient of the state, dC, is made on that way, too. */
typedef struct sel_back {
    const hop__select_task *t;
    float *A, *dh, *dA;   /* [N, SEL] */
    float *states, *kept; /* [SEL_BACK + 1, N, SEL], [blocks, N, SEL] */
    float *hi, *lo;       /* [SEL_BACK, N, SEL]: e^(delta A) */
    float *parts;         /* [N, LANES], of dB or dC over channels: see add_up */
    float dD[SEL];
} sel_back;

typedef struct sel_grads {
    const float *d_o;
    float dx[SEL], ddelta[SEL];
} sel_grads;

/* Adds x to what earlier strips left, if there were any. */
INLINE void part_add(float *part, vf x, int64_t col)
{
    v_store(part, col ? v_load(part) + x : x);
}

/* The state after a token, its decays, and what d_o makes of it for dC. */
INLINE void sel_keep_strip(const sel_back *w, const sel_token *t, int64_t slot, const float *d_o, int64_t col)
{
    vf delta[NV], dx[NV], out[NV], hi, lo;
    UNROLL for (int v = 0; v < NV; v++)
    {
        delta[v] = v_load(t->delta + col + v * LANES);
        dx[v] = delta[v] * v_load(t->x + col + v * LANES);
        out[v] = v_load(d_o + col + v * LANES);
    }
    for (int64_t n = 0; n < t->N; n++) {
        const int64_t at = n * SEL + col, row = slot * t->N * SEL + at;
        vf sum = (vf){0};
        UNROLL for (int v = 0; v < NV; v++)
        {
            vf old = v_load(t->src + at + v * LANES);
            v_exp_split(delta[v] * v_load(t->A + at + v * LANES), &hi, &lo);
            vf now = hi * old + (lo * old + t->B[n] * dx[v]);
            v_store(t->dst + at + v * LANES, now);
            v_store(w->hi + row + v * LANES, hi);
            v_store(w->lo + row + v * LANES, lo);
            sum += out[v] * now;
        }
        part_add(w->parts + n * LANES, sum, col);
    }
}

/* dh += C d_o; then dB (summed over channels into `parts`), dA, and dh = e dh for the token before. */
INLINE void sel_back_strip(const sel_back *w, const sel_token *t, int64_t slot, sel_grads *g, int64_t col)
{
    vf x[NV], delta[NV], wrote[NV], d_o[NV], dx[NV], ddelta[NV];
    UNROLL for (int v = 0; v < NV; v++)
    {
        x[v] = v_load(t->x + col + v * LANES), delta[v] = v_load(t->delta + col + v * LANES);
        wrote[v] = delta[v] * x[v], d_o[v] = v_load(g->d_o + col + v * LANES);
        dx[v] = ddelta[v] = (vf){0};
    }
    for (int64_t n = 0; n < t->N; n++) {
        const int64_t at = n * SEL + col, row = slot * t->N * SEL + at;
        vf sum = (vf){0};
        UNROLL for (int v = 0; v < NV; v++)
        {
            float *dh = w->dh + at + v * LANES, *dA = w->dA + at + v * LANES;
            vf d = v_load(dh) + t->C[n] * d_o[v];
            vf kept = d * v_load(w->hi + row + v * LANES) + d * v_load(w->lo + row + v * LANES);
            vf gate = kept * v_load(t->src + at + v * LANES); /* of the exponent */
            sum += d * wrote[v];
            dx[v] += t->B[n] * d;
            ddelta[v] += gate * v_load(w->A + at + v * LANES);
            v_store(dA, v_load(dA) + gate * delta[v]);
            v_store(dh, kept);
        }
        part_add(w->parts + n * LANES, sum, col);
    }
    UNROLL for (int v = 0; v < NV; v++)
    {
        v_store(g->ddelta + col + v * LANES, ddelta[v] + dx[v] * x[v]);
        v_store(g->dx + col + v * LANES, dx[v] * delta[v]);
    }
}

static void sel_keep_token(const sel_back *w, int64_t i, int64_t slot)
{
    const hop__select_task *t = w->t;
    const int64_t N = t->c->states, size = N * SEL;
    sel_rows r;
    sel_token s = sel_at(t, i, &r);
    s.A = w->A, s.src = w->states + slot * size, s.dst = w->states + (slot + 1) * size;
    const float *d_o = channels(r.y, t->g->d_o + i * t->c->o_stride + t->first, t->count);
    for (int64_t j = 0; j < SEL; j += NR) sel_keep_strip(w, &s, slot, d_o, j);
    add_up(t->part + i * 2 * N + N, w->parts, N);
}

static void sel_back_token(sel_back *w, int64_t i, int64_t slot)
{
    const hop__select_task *t = w->t;
    const hop_selective *c = t->c;
    const int64_t N = c->states;
    sel_rows r;
    sel_grads g;
    sel_token s = sel_at(t, i, &r);
    g.d_o = channels(r.y, t->g->d_o + i * c->o_stride + t->first, t->count);
    s.src = w->states + slot * N * SEL;
    for (int64_t j = 0; j < SEL; j += NR) sel_back_strip(w, &s, slot, &g, j);
    add_up(t->part + i * 2 * N, w->parts, N);
    for (int64_t j = 0; j < t->count; j += LANES) {
        const int64_t n = t->count - j, at = t->first + j;
        vf d_o = v_load(g.d_o + j), dx = v_load(g.dx + j);
        v_store(w->dD + j, v_load(w->dD + j) + d_o * v_load(s.x + j));
        if (t->in->D) dx += v_load_to(t->in->D + at, 0, n) * d_o;
        if (t->g->dx) v_store_to(t->g->dx + i * c->x_stride + at, dx, n);
        if (t->g->ddelta) v_store_to(t->g->ddelta + i * c->delta_stride + at, v_load(g.ddelta + j), n);
    }
}

static void select_backward(const hop__select_task *t)
{
    const hop_selective *c = t->c;
    const int64_t N = c->states, size = N * SEL, T = c->tokens;
    sel_back w = {.t = t, .A = t->scratch};
    w.dh = w.A + size, w.dA = w.dh + size, w.states = w.dA + size, w.hi = w.states + (SEL_BACK + 1) * size;
    w.lo = w.hi + SEL_BACK * size, w.kept = w.lo + SEL_BACK * size;
    w.parts = w.kept + (T + SEL_BACK - 1) / SEL_BACK * size;
    sel_rows r;
    states_load(w.A, t->in->A + t->first * N, t->count, N);
    states_load(w.states, t->start ? t->start + t->first * N : NULL, t->count, N);
    memset(w.dh, 0, sizeof(float) * (size_t)(2 * size)); /* dA lies behind it */
    for (int64_t i = 0; i < T; i++) {
        if (i % SEL_BACK == 0) copy_state(w.kept + i / SEL_BACK * size, w.states, size);
        sel_token s = sel_at(t, i, &r);
        s.A = w.A, s.src = s.dst = w.states;
        sel_step(&s);
    }
    for (int64_t first = (T - 1) / SEL_BACK * SEL_BACK; T > 0 && first >= 0; first -= SEL_BACK) {
        const int64_t n = hop__min(SEL_BACK, T - first);
        copy_state(w.states, w.kept + first / SEL_BACK * size, size);
        for (int64_t i = 0; i < n; i++) sel_keep_token(&w, first + i, i);
        for (int64_t i = n - 1; i >= 0; i--) sel_back_token(&w, first + i, i);
    }
    states_store(t->g->d_state ? t->g->d_state + t->first * N : NULL, w.dh, t->count, N);
    states_store(t->g->dA ? t->g->dA + t->first * N : NULL, w.dA, t->count, N);
    if (t->g->dD) memcpy(t->g->dD + t->first, w.dD, sizeof(float) * (size_t)t->count);
}

/* ---- elementwise recurrence and short convolution -------------------------------------------- */

/* Row by row: the row before is still in L1. */
static void diagonal(float *h, const float *start, const float *a, const float *b, const hop__diagonal *c)
{
    for (int64_t t = 0; t < c->tokens; t++, h += c->stride, a += c->stride, b += c->stride) {
        const float *old = t ? h - c->stride : start;
        int64_t i = 0;
        for (; i + LANES <= c->width; i += LANES) {
            vf from = old ? v_load(old + i) : (vf){0};
            v_store(h + i, v_load(a + i) * from + v_load(b + i));
        }
        for (; i < c->width; i++) h[i] = a[i] * (old ? old[i] : 0.0f) + b[i];
    }
}

enum { TAPS = 16 }; /* of a convolution whose weights are held turned over */

/* Channels i .. i + n - 1 of all tokens. taps[j]: their weights of input t - size + 1 + j. */
static void conv_strip(float *y, const float *past, const float *x, const hop_conv *c, const float *taps,
                       vf bias, int64_t n)
{
    const int64_t S = c->size;
    for (int64_t t = 0; t < c->tokens; t++) {
        vf sum = bias;
        for (int64_t j = 0; j < S; j++) {
            const int64_t from = t - S + 1 + j;
            if (from < 0 && !past) continue;
            const float *p = from < 0 ? past + (from + S - 1) * c->past_stride : x + from * c->x_stride;
            sum += v_load(taps + j * LANES) * (n == LANES ? v_load(p) : v_load_part(p, n));
        }
        if (c->silu) sum = sum / (v_exp(-sum) + 1.0f);
        if (n == LANES)
            v_store(y + t * c->y_stride, sum);
        else
            v_store_part(y + t * c->y_stride, sum, n);
    }
}

/* More taps than usual: one channel after the other. */
static void conv_long(float *y, const float *past, const float *x, const float *w, float bias,
                      const hop_conv *c)
{
    const int64_t S = c->size;
    for (int64_t t = 0; t < c->tokens; t++) {
        float sum = bias;
        for (int64_t j = 0; j < S; j++) {
            const int64_t from = t - S + 1 + j;
            if (from < 0)
                sum += past ? w[j] * past[(from + S - 1) * c->past_stride] : 0.0f;
            else
                sum += w[j] * x[from * c->x_stride];
        }
        y[t * c->y_stride] = c->silu ? sum / (1.0f + expf(-sum)) : sum;
    }
}

static void conv(float *y, const float *past, const float *x, const float *w, const float *bias,
                 const hop_conv *c)
{
    float taps[TAPS * LANES] = {0};
    for (int64_t i = 0; c->size > TAPS && i < c->width; i++)
        conv_long(y + i, past ? past + i : NULL, x + i, w + i * c->size, bias ? bias[i] : 0.0f, c);
    for (int64_t i = 0; c->size <= TAPS && i < c->width; i += LANES) {
        const int64_t n = hop__min(LANES, c->width - i);
        for (int64_t j = 0; j < c->size; j++)
            for (int64_t l = 0; l < n; l++) taps[j * LANES + l] = w[(i + l) * c->size + j];
        vf b = !bias ? (vf){0} : n == LANES ? v_load(bias + i) : v_load_part(bias + i, n);
        conv_strip(y + i, past ? past + i : NULL, x + i, c, taps, b, n);
    }
}
