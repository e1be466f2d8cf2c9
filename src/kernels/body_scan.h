/* body_scan.h - what both forms of the scans share: one head, its gates, its state as padded rows.
 *
 * All four recurrences are one: S = D S + k xᵀ (+ b pᵀ), D = diag(e^g), with
 *     decay  x = v
 *     delta  x = beta (v - p), p = (D k)ᵀS
 *     dplr   x = v, p = aᵀS
 *     mlstm  x = v with a column of ones behind it, so that the normaliser is a column of S; k is scaled by
 *            e^(i - m'), and g = logsigmoid(f) + m - m'.
 * Lanes run along the values, so nothing is ever summed across lanes; keys are broadcast.
 *
 * A decay is kept as two numbers, e^g = hi + lo. fl(e^g) alone is off by up to half a unit, always to the
 * same side when the gate is constant: at e^g = 1 - 2^-13 (a head of RetNet) a state would be off by 2^13
 * such errors. With the second number what remains is the rounding of the state itself, which has no
 * favourite side. A gate of 0 gives hi = 1, lo = 0: S hi + (S lo + 0) is S, bit for bit. */

typedef struct scan {
    hop__scan_kind kind;
    const hop_scan *c;
    int64_t K, V;
    int64_t cols, ld;       /* columns of the state in use (V, or V + 1), and from row to row */
    int64_t key_head, head; /* which */
    const float *q, *k, *v, *a, *b, *u, *g, *beta, *i, *f; /* of this head, token 0 */
    int64_t g_step;   /* from a token's gate to the next one's; 0: the head's */
    float m;          /* mlstm: the stabiliser */
    double head_gate; /* e^g when it is the head's */
    bool even;        /* one gate for all tokens: what follows from the place in a chunk alone is made once */
} scan;

INLINE const float *at_head(const float *p, int64_t offset)
{
    return p ? p + offset : NULL;
}

static scan scan_open(hop__scan_kind kind, const hop_scan *c, const hop_scan_in *in, int64_t h)
{
    const int64_t K = c->key_dim, V = c->value_dim, kh = h / (c->heads / c->key_heads);
    scan s = {
        .kind = kind, .c = c, .K = K, .V = V, .cols = V + (kind == HOP__MLSTM), .key_head = kh, .head = h};
    s.q = at_head(in->q, kh * K), s.k = at_head(in->k, kh * K), s.v = at_head(in->v, h * V);
    s.a = at_head(in->a, kh * K), s.b = at_head(in->b, kh * K), s.u = at_head(in->u, h * K);
    s.beta = at_head(in->beta, h), s.i = at_head(in->i, h), s.f = at_head(in->f, h);
    if (c->gate != HOP_GATE_NONE) s.g = at_head(in->g, c->gate == HOP_GATE_KEY ? h * K : h);
    s.g_step = c->gate == HOP_GATE_HEAD ? 0 : c->gate_stride;
    s.head_gate = s.g && c->gate == HOP_GATE_HEAD ? exp((double)s.g[0]) : 1.0;
    s.even = kind != HOP__MLSTM && (c->gate == HOP_GATE_NONE || c->gate == HOP_GATE_HEAD);
    return s;
}

/* Whether the state's rows can be used where the caller has them. */
INLINE bool state_in_place(const scan *s, int64_t unit)
{
    return s->kind != HOP__MLSTM && s->V % unit == 0;
}

/* Floats of one head's state. */
INLINE int64_t state_floats(const scan *s)
{
    return s->K * s->cols + (s->kind == HOP__MLSTM);
}

/* The caller's state (NULL: zeros) to rows `ld` apart with zeros behind, and back. */
static void state_load(scan *s, float *rows, const float *state)
{
    const int64_t K = s->K, V = s->V, ld = s->ld;
    memset(rows, 0, sizeof(float) * (size_t)(K * ld));
    s->m = 0.0f;
    if (!state) return;
    for (int64_t k = 0; k < K; k++) memcpy(rows + k * ld, state + k * V, sizeof(float) * (size_t)V);
    if (s->kind != HOP__MLSTM) return;
    for (int64_t k = 0; k < K; k++) rows[k * ld + V] = state[K * V + k];
    s->m = state[K * V + K];
}

static void state_store(const scan *s, float *state, const float *rows, float m)
{
    const int64_t K = s->K, V = s->V, ld = s->ld;
    for (int64_t k = 0; k < K; k++) memcpy(state + k * V, rows + k * ld, sizeof(float) * (size_t)V);
    if (s->kind != HOP__MLSTM) return;
    for (int64_t k = 0; k < K; k++) state[K * V + k] = rows[k * ld + V];
    state[K * V + K] = m;
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* e^x = hi + lo for x <= 88: 2^n and 2^n (e^r - 1), see exp_split; both 0 below -87. */
INLINE void v_exp_split(vf x, vf *hi, vf *lo)
{
    exp_parts e = exp_split(x);
    vu keep = ~v_lt(x, v_all(-87.0f));
    vf two = v_from_bits(e.two & keep);
    *hi = two;
    *lo = v_from_bits(v_bits(e.r * e.p * two) & keep);
}

/* n gates; hi and lo have room for whole registers. g NULL: all 0. A gate whose e^g no float holds is not
 * finite. */
static void gates_split(float *hi, float *lo, const float *g, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        vf h, l, x = g ? v_load_to(g, i, n) : (vf){0};
        v_exp_split(v_select(v_lt(v_all(89.0f), x), v_all(89.0f), x), &h, &l);
        v_store(hi + i, h);
        v_store(lo + i, l);
    }
}

/* log(sigmoid(x)) without overflow. */
INLINE double log_sigmoid(double x)
{
    return (x < 0.0 ? x : 0.0) - log1p(exp(-fabs(x)));
}

/* The scalars of token t. mlstm's m moves on; it is a float at every token, as between calls, and what its
 * rounding adds to the exponent is taken back by the gate. */
typedef struct scalars {
    double log_gate; /* of scalar gates */
    float key;       /* what k is multiplied with */
    float beta, m;
    bool forgot; /* mlstm: m' came from the old m, not from i */
} scalars;

static scalars scalars_at(scan *s, int64_t t)
{
    scalars r = {.key = 1.0f, .beta = s->beta ? s->beta[t * s->c->beta_stride] : 1.0f};
    if (s->kind == HOP__MLSTM) {
        const double i = s->i[t * s->c->gate_stride], keep = log_sigmoid(s->f[t * s->c->gate_stride]);
        const double kept = keep + s->m;
        r.forgot = kept >= i;
        r.m = (float)(r.forgot ? kept : i);
        r.log_gate = kept - r.m;
        r.key = (float)exp(i - r.m);
        TRACE_TOKEN(t), TRACE_WIDE("keep", keep), TRACE_WIDE("m0", s->m), TRACE_WIDE("kept", kept);
        TRACE_WIDE("m1", r.m), TRACE_WIDE("g", r.log_gate), TRACE_WIDE("key", r.key);
        s->m = r.m;
    } else if (s->g && s->c->gate != HOP_GATE_KEY) {
        r.log_gate = s->g[t * s->g_step];
    }
    return r;
}

INLINE void split(double x, float *hi, float *lo)
{
    *hi = (float)x;
    *lo = (float)(x - *hi);
}

/* y = f x */
INLINE void scale_row(float *y, const float *x, float f, int64_t n)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) v_store(y + i, v_load(x + i) * f);
    for (; i < n; i++) y[i] = x[i] * f;
}

/* Lanes run along the row; the order is fixed. */
INLINE float row_dot(const float *a, const float *b, int64_t n)
{
    vf sum[2] = {(vf){0}, (vf){0}};
    float tail = 0.0f;
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        sum[0] += v_load(a + i) * v_load(b + i);
        sum[1] += v_load(a + i + LANES) * v_load(b + i + LANES);
    }
    for (; i < n; i++) tail += a[i] * b[i];
    return v_sum(sum[0] + sum[1]) + tail;
}

/* Whether all rows together do not fit into L2, so that it is worth asking for them. */
INLINE bool far_apart(const hop_scan *c)
{
    return c->tokens * (2 * c->q_stride + 2 * c->k_stride + 3 * c->v_stride) > (1 << 17);
}

/* Heads lie side by side, so a head's rows are kilobytes apart, each in a page of its own, where no hardware
 * prefetcher follows; asking for them one chunk ahead halves the time of a scan over 16 heads. */
/* Rows of token t, if there is one. */
INLINE void fetch_q(const scan *s, int64_t t)
{
    if (t < s->c->tokens) fetch_row(s->q + t * s->c->q_stride, s->K);
}

INLINE void fetch_v(const scan *s, int64_t t)
{
    if (t < s->c->tokens) fetch_row(s->v + t * s->c->v_stride, s->V);
}

INLINE void fetch_k(const scan *s, int64_t t)
{
    if (t >= s->c->tokens) return;
    fetch_row(s->k + t * s->c->k_stride, s->K);
    if (s->kind != HOP__DPLR) return;
    fetch_row(s->a + t * s->c->k_stride, s->K);
    fetch_row(s->b + t * s->c->k_stride, s->K);
}

INLINE void fetch_g(const scan *s, int64_t t)
{
    if (t < s->c->tokens && s->g && s->c->gate == HOP_GATE_KEY) fetch_row(s->g + t * s->g_step, s->K);
}

/* mlstm's quotient, in place: y holds q·C and, behind it, q·n. */
static void mlstm_divide(float *y, int64_t V, float m)
{
    float size = fabsf(y[V]), least = (float)exp(-(double)m);
    const float divisor = (size > least ? size : least) + 1e-6f, over = 1.0f / divisor;
    TRACE_WIDE("n", y[V]), TRACE_WIDE("size", size), TRACE_WIDE("bottom", least);
    TRACE_WIDE("divisor", divisor), TRACE_WIDE("over", over);
    scale_row(y, y, over, V);
    TRACE("h", y, ALONG(V, V, 1));
}
