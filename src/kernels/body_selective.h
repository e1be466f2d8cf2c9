/* body_selective.h - the selective scan of Mamba, the elementwise recurrence, the short convolution: lanes
 * are channels.
 *
 * The selective scan spends its time on e^(delta A), one for each state of each channel and token, so states
 * of NR channels are taken together and B and C are broadcast. A task has 32 channels, whatever the
 * registers: their x and delta are padded, and A and the state turned over, [states, 32], once. */

enum { SEL = HOP__SELECT_WIDTH };

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
    float *state, *y;
    int64_t N;
} sel_token;

INLINE void sel_strip(const sel_token *t, int64_t col)
{
    vf x[NV], delta[NV], dx[NV], sum[NV], hi, lo;
    UNROLL for (int w = 0; w < NV; w++)
    {
        x[w] = v_load(t->x + col + w * LANES), delta[w] = v_load(t->delta + col + w * LANES);
        dx[w] = delta[w] * x[w];
        sum[w] = t->skip ? x[w] * v_load(t->skip + col + w * LANES) : (vf){0};
        TRACE_LANES("dx", dx[w], V, col + w * LANES, AT(K, 0));
        TRACE_LANES("skip", sum[w], V, col + w * LANES, AT(K, 0));
    }
    const float *A = t->A + col;
    float *state = t->state + col;
    for (int64_t n = 0; n < t->N; n++, A += SEL, state += SEL) {
        UNROLL for (int w = 0; w < NV; w++)
        {
            vf old = v_load(state + w * LANES);
            const vf gate = delta[w] * v_load(A + w * LANES);
            v_exp_split(gate, &hi, &lo);
            vf now = hi * old + (lo * old + t->B[n] * dx[w]);
            TRACE_LANES("g", gate, V, col + w * LANES, AT(K, n));
            TRACE_TWO("e", hi, lo, V, col + w * LANES, AT(K, n));
            TRACE_LANES("S1", now, V, col + w * LANES, AT(K, n));
            v_store(state + w * LANES, now);
            sum[w] += t->C[n] * now;
        }
    }
    UNROLL for (int w = 0; w < NV; w++) v_store(t->y + col + w * LANES, sum[w]);
}

typedef struct sel_rows {
    float x[SEL], delta[SEL], skip[SEL], y[SEL];
} sel_rows;

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
        sel_token s = {.A = A, .skip = skip, .state = state, .y = t->count == SEL ? o : r.y, .N = N};
        s.B = t->in->B + i * c->b_stride, s.C = t->in->C + i * c->c_stride;
        s.x = channels(r.x, t->in->x + i * c->x_stride + t->first, t->count);
        s.delta = channels(r.delta, t->in->delta + i * c->delta_stride + t->first, t->count);
        TRACE_UNIT("step", t->first, i, 1, state, SEL, 0.0f, 0.0f);
        for (int64_t j = 0; j < SEL; j += NR) sel_strip(&s, j);
        TRACE("o", s.y, ALONG(V, t->count, 1));
        if (t->count < SEL) memcpy(o, r.y, sizeof(float) * (size_t)t->count);
    }
    states_store(t->state ? t->state + at : NULL, state, t->count, N);
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
        TRACE_UNIT("step", 0, t, 1, old, 0, 0.0f, 0.0f);
        for (; i < c->width; i++) h[i] = a[i] * (old ? old[i] : 0.0f) + b[i];
        TRACE("S1", h, ALONG(V, c->width, 1));
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
        TRACE_SOME("s", sum, T, t * c->width, n, .otherwise = "y");
        if (c->silu) sum = sum / (v_exp(-sum) + 1.0f);
        TRACE_SOME("y", sum, T, t * c->width, n);
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
        TRACE("s", &sum, AT(T, t * c->width), .otherwise = "y");
        y[t * c->y_stride] = c->silu ? sum / (1.0f + expf(-sum)) : sum;
        TRACE("y", y + t * c->y_stride, AT(T, t * c->width));
    }
}

static void conv(float *y, const float *past, const float *x, const float *w, const float *bias,
                 const hop_conv *c)
{
    float taps[TAPS * LANES] = {0};
    for (int64_t i = 0; c->size > TAPS && i < c->width; i++) {
        TRACE_TOKEN(i); /* rows: channels of a token, token after token */
        conv_long(y + i, past ? past + i : NULL, x + i, w + i * c->size, bias ? bias[i] : 0.0f, c);
    }
    for (int64_t i = 0; c->size <= TAPS && i < c->width; i += LANES) {
        const int64_t n = hop__min(LANES, c->width - i);
        for (int64_t j = 0; j < c->size; j++)
            for (int64_t l = 0; l < n; l++) taps[j * LANES + l] = w[(i + l) * c->size + j];
        vf b = !bias ? (vf){0} : n == LANES ? v_load(bias + i) : v_load_part(bias + i, n);
        TRACE_TOKEN(i);
        conv_strip(y + i, past ? past + i : NULL, x + i, c, taps, b, n);
    }
}
