/* ref_scan.c - the truth of the scans' gradients: each recurrence straight from its equation, in double, token by
 * token, whatever form is asked for (forward: ref_program.c). Scratch holds the states in double: every
 * REF_KEEP tokens it is kept, and the states between are computed again. */
#include "room.h"

#include <math.h>
#include <string.h>

enum { REF_KEEP = 2 * HOP__SCAN_BACK };

typedef struct head {
    hop__scan_kind kind;
    const hop_scan *c;
    const hop_scan_in *in;
    int64_t K, V, h, kh;
    int64_t size; /* doubles of a state: K·V; mlstm: then n, then m, as the caller's */
} head;

static head head_of(hop__scan_kind kind, const hop_scan *c, const hop_scan_in *in, int64_t h)
{
    const int64_t K = c->key_dim, V = c->value_dim, mlstm = kind == HOP__MLSTM ? K + 1 : 0;
    return (head){kind, c, in, K, V, h, h / (c->heads / c->key_heads), K * V + mlstm};
}

static const float *q_at(const head *d, int64_t t)
{
    return d->in->q + t * d->c->q_stride + d->kh * d->K;
}
static const float *k_at(const head *d, int64_t t)
{
    return d->in->k + t * d->c->k_stride + d->kh * d->K;
}
static const float *a_at(const head *d, int64_t t)
{
    return d->in->a + t * d->c->k_stride + d->kh * d->K;
}
static const float *b_at(const head *d, int64_t t)
{
    return d->in->b + t * d->c->k_stride + d->kh * d->K;
}
static const float *v_at(const head *d, int64_t t)
{
    return d->in->v + t * d->c->v_stride + d->h * d->V;
}
static double beta_at(const head *d, int64_t t)
{
    return d->in->beta[t * d->c->beta_stride + d->h];
}

static double decay_at(const head *d, int64_t t, int64_t k)
{
    switch (d->in->g ? d->c->gate : HOP_GATE_NONE) {
    case HOP_GATE_HEAD: return exp((double)d->in->g[d->h]);
    case HOP_GATE_TOKEN: return exp((double)d->in->g[t * d->c->gate_stride + d->h]);
    case HOP_GATE_KEY: return exp((double)d->in->g[t * d->c->gate_stride + d->h * d->K + k]);
    default: return 1.0;
    }
}

/* mlstm: the two factors and the new stabiliser, which is a float at every token, as it is between calls. */
typedef struct cell {
    double forget, input, m;
    bool forgot;
} cell;

static cell cell_at(const head *d, int64_t t, double m)
{
    double i = d->in->i[t * d->c->gate_stride + d->h], f = d->in->f[t * d->c->gate_stride + d->h];
    double kept = fmin(f, 0.0) - log1p(exp(-fabs(f))) + m;
    cell r = {.forgot = kept >= i};
    r.m = (float)fmax(kept, i);
    r.forget = exp(kept - r.m), r.input = exp(i - r.m);
    return r;
}

/* Column e of the state after token t, and x of delta (v - Sᵀk) or p of dplr (aᵀS). */
static double next_column(const head *d, int64_t t, int64_t e, const double *old, double *s)
{
    const int64_t K = d->K, V = d->V;
    double seen = 0.0, v = v_at(d, t)[e];
    if (d->kind == HOP__DELTA)
        for (int64_t k = 0; k < K; k++) seen += k_at(d, t)[k] * (decay_at(d, t, k) * old[k * V + e]);
    if (d->kind == HOP__DPLR)
        for (int64_t k = 0; k < K; k++) seen += a_at(d, t)[k] * old[k * V + e];
    for (int64_t k = 0; k < K; k++) {
        double kept = decay_at(d, t, k) * old[k * V + e];
        if (d->kind == HOP__DELTA)
            s[k * V + e] = kept + beta_at(d, t) * k_at(d, t)[k] * (v - seen);
        else
            s[k * V + e] = kept + k_at(d, t)[k] * v + (d->kind == HOP__DPLR ? b_at(d, t)[k] * seen : 0.0);
    }
    return d->kind == HOP__DELTA ? v - seen : seen;
}

static void next_mlstm(const head *d, int64_t t, const double *old, double *s)
{
    const int64_t K = d->K, V = d->V;
    cell r = cell_at(d, t, old[K * V + K]);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t e = 0; e < V; e++)
            s[k * V + e] = r.forget * old[k * V + e] + r.input * k_at(d, t)[k] * v_at(d, t)[e];
        s[K * V + k] = r.forget * old[K * V + k] + r.input * k_at(d, t)[k];
    }
    s[K * V + K] = r.m;
}

/* s may be old. `x` (may be NULL): what next_column gives. */
static void next_state(const head *d, int64_t t, const double *old, double *s, double *x)
{
    if (d->kind == HOP__MLSTM) {
        next_mlstm(d, t, old, s);
        return;
    }
    for (int64_t e = 0; e < d->V; e++) {
        double r = next_column(d, t, e, old, s);
        if (x) x[e] = r;
    }
}

static double read_column(const head *d, int64_t t, const double *column, int64_t step)
{
    double sum = 0.0;
    for (int64_t k = 0; k < d->K; k++) sum += q_at(d, t)[k] * column[k * step];
    return d->c->scale * sum;
}

/* mlstm: what q·C is divided by; *den is q·n. */
static double divisor(const head *d, int64_t t, const double *s, double *den)
{
    *den = read_column(d, t, s + d->K * d->V, 1);
    return fmax(fabs(*den), exp(-s[d->K * d->V + d->K])) + 1e-6;
}

static double bonus(const head *d, int64_t t)
{
    double sum = 0.0;
    for (int64_t k = 0; d->in->u && k < d->K; k++)
        sum += (double)q_at(d, t)[k] * d->in->u[d->h * d->K + k] * k_at(d, t)[k];
    return d->c->scale * sum;
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct grads {
    head d;
    const hop__scan_back *t;
    double *ds;                     /* gradient of the state */
    double *d_o, *x, *dx;           /* [V] */
    double *dq, *dk, *da, *db, *dg; /* [K] */
    double head_gate;
    bool add;
} grads;

/* mlstm: d_o of the quotient becomes that of q·C; what q·n and m get goes to ds at once. */
static void through_quotient(grads *w, int64_t t, const double *s)
{
    const head *d = &w->d;
    const int64_t K = d->K, V = d->V;
    double den, z = divisor(d, t, s, &den), dz = 0.0, least = exp(-s[K * V + K]);
    for (int64_t e = 0; e < V; e++) {
        dz -= w->d_o[e] * read_column(d, t, s + e, V) / (z * z);
        w->d_o[e] /= z;
    }
    if (fabs(den) < least) {
        w->ds[K * V + K] -= least * dz;
        return;
    }
    double dden = den < 0.0 ? -dz : dz;
    for (int64_t k = 0; k < K; k++) {
        w->ds[K * V + k] += d->c->scale * q_at(d, t)[k] * dden;
        w->dq[k] += d->c->scale * s[K * V + k] * dden;
    }
}

/* The output's part: dq, dS, and the bonus. `seen` is the state that q read. */
static void back_output(grads *w, int64_t t, const double *seen)
{
    const head *d = &w->d;
    const int64_t V = d->V;
    double reach = 0.0;
    for (int64_t e = 0; e < V; e++) reach += d->c->scale * v_at(d, t)[e] * w->d_o[e];
    for (int64_t k = 0; k < d->K; k++) {
        for (int64_t e = 0; e < V; e++) {
            w->dq[k] += d->c->scale * seen[k * V + e] * w->d_o[e];
            w->ds[k * V + e] += d->c->scale * q_at(d, t)[k] * w->d_o[e];
        }
        if (!d->in->u) continue;
        double u = d->in->u[d->h * d->K + k], q = q_at(d, t)[k], key = k_at(d, t)[k];
        w->dq[k] += u * key * reach;
        w->dk[k] += u * q * reach;
        if (w->t->g->du) w->t->g->du[d->h * d->K + k] += (float)(q * key * reach);
    }
}

/* From the gradient of the state after to that before, for decay, delta, dplr. dx: of v (delta: of beta (v -
 * p)). */
static void back_state(grads *w, int64_t t, const double *old)
{
    const head *d = &w->d;
    const int64_t K = d->K, V = d->V;
    for (int64_t e = 0; e < V; e++) {
        double *ds = w->ds + e, dx = 0.0, dp = 0.0, beta = d->kind == HOP__DELTA ? beta_at(d, t) : 1.0;
        for (int64_t k = 0; k < K; k++) {
            dx += ds[k * V] * k_at(d, t)[k];
            if (d->kind == HOP__DPLR) dp += ds[k * V] * b_at(d, t)[k];
        }
        w->dx[e] = dx;
        for (int64_t k = 0; k < K; k++) {
            double s = old[k * V + e], decay = decay_at(d, t, k), now = ds[k * V];
            w->dk[k] += now * (d->kind == HOP__DELTA ? beta * w->x[e] : v_at(d, t)[e]);
            if (d->kind == HOP__DELTA) {
                w->dk[k] -= decay * s * beta * dx;
                now -= k_at(d, t)[k] * beta * dx;
            }
            w->dg[k] += now * s * decay;
            ds[k * V] = now * decay;
            if (d->kind != HOP__DPLR) continue;
            w->db[k] += now * w->x[e];
            w->da[k] += s * dp;
            ds[k * V] += a_at(d, t)[k] * dp;
        }
    }
}

static void back_mlstm(grads *w, int64_t t, const double *old)
{
    const head *d = &w->d;
    const int64_t K = d->K, V = d->V, at = t * d->c->gate_stride + d->h;
    const hop_scan_grad *g = w->t->g;
    cell r = cell_at(d, t, old[K * V + K]);
    double forget = 0.0, input = 0.0, *dm = &w->ds[K * V + K];
    memset(w->dx, 0, sizeof(double) * (size_t)V);
    for (int64_t k = 0; k < K; k++) {
        double *n = &w->ds[K * V + k], row = *n;
        for (int64_t e = 0; e < V; e++) {
            double *ds = &w->ds[k * V + e];
            row += *ds * v_at(d, t)[e];
            forget += *ds * old[k * V + e];
            w->dx[e] += r.input * *ds * k_at(d, t)[k];
            *ds *= r.forget;
        }
        forget += *n * old[K * V + k];
        *n *= r.forget;
        w->dk[k] += r.input * row;
        input += k_at(d, t)[k] * row;
    }
    double total = *dm - forget * r.forget - input * r.input, f = d->in->f[t * d->c->gate_stride + d->h];
    double df = forget * r.forget + (r.forgot ? total : 0.0), di = input * r.input + (r.forgot ? 0.0 : total);
    *dm = df;
    if (g->di) g->di[at] = (float)di;
    if (g->df) g->df[at] = (float)(df / (1.0 + exp(f)));
}

static void emit(float *dst, int64_t at, const double *src, int64_t n, bool add)
{
    for (int64_t i = 0; dst && i < n; i++) dst[at + i] = (float)(src[i] + (add ? dst[at + i] : 0.0f));
}

static void emit_token(grads *w, int64_t t)
{
    const head *d = &w->d;
    const hop_scan *c = d->c;
    const hop_scan_grad *g = w->t->g;
    const int64_t K = d->K, key = t * c->k_stride + d->kh * K;
    double gate = 0.0, dbeta = 0.0, beta = d->kind == HOP__DELTA ? beta_at(d, t) : 1.0, reach = bonus(d, t);
    for (int64_t e = 0; e < d->V; e++) {
        if (d->kind == HOP__DELTA) dbeta += w->dx[e] * w->x[e];
        w->dx[e] = beta * w->dx[e] + reach * w->d_o[e];
    }
    if (g->dbeta && d->kind == HOP__DELTA) g->dbeta[t * c->beta_stride + d->h] = (float)dbeta;
    emit(g->dq, t * c->q_stride + d->kh * K, w->dq, K, w->add);
    emit(g->dk, key, w->dk, K, w->add);
    emit(d->kind == HOP__DPLR ? g->da : NULL, key, w->da, K, w->add);
    emit(d->kind == HOP__DPLR ? g->db : NULL, key, w->db, K, w->add);
    emit(g->dv, t * c->v_stride + d->h * d->V, w->dx, d->V, false);
    for (int64_t k = 0; k < K; k++) gate += w->dg[k];
    w->head_gate += gate;
    if (g->dg && c->gate == HOP_GATE_TOKEN) g->dg[t * c->gate_stride + d->h] = (float)gate;
    if (g->dg && c->gate == HOP_GATE_KEY) emit(g->dg, t * c->gate_stride + d->h * K, w->dg, K, false);
}

static void back_token(grads *w, int64_t t, const double *old, const double *now)
{
    const head *d = &w->d;
    memset(w->dq, 0, sizeof(double) * (size_t)(5 * d->K)); /* dk, da, db, dg lie behind it */
    for (int64_t e = 0; e < d->V; e++) w->d_o[e] = w->t->g->d_o[t * d->c->o_stride + d->h * d->V + e];
    if (d->kind == HOP__MLSTM) {
        through_quotient(w, t, now);
        back_output(w, t, now);
        back_mlstm(w, t, old);
    } else if (d->in->u) {
        back_state(w, t, old);
        back_output(w, t, old);
    } else {
        back_output(w, t, now);
        back_state(w, t, old);
    }
    emit_token(w, t);
}

static void back_head(grads *w, const float *state, double *states, double *kept)
{
    const head *d = &w->d;
    const int64_t size = d->size, T = d->c->tokens;
    const size_t bytes = sizeof(double) * (size_t)size;
    for (int64_t i = 0; i < size; i++) states[i] = state ? state[i] : 0.0;
    for (int64_t t = 0; t < T; t++) {
        if (t % REF_KEEP == 0) memcpy(kept + t / REF_KEEP * size, states, bytes);
        next_state(d, t, states, states, NULL);
    }
    memset(w->ds, 0, bytes);
    for (int64_t k = 0; w->t->g->du && k < d->K; k++) w->t->g->du[d->h * d->K + k] = 0.0f;
    for (int64_t first = (T - 1) / REF_KEEP * REF_KEEP; T > 0 && first >= 0; first -= REF_KEEP) {
        const int64_t n = hop__min(REF_KEEP, T - first);
        memcpy(states, kept + first / REF_KEEP * size, bytes);
        for (int64_t i = 0; i < n; i++)
            next_state(d, first + i, states + i * size, states + (i + 1) * size, NULL);
        for (int64_t i = n - 1; i >= 0; i--) {
            double *old = states + i * size, *now = old + size;
            next_state(d, first + i, old, now, w->x); /* the same state again, for x */
            back_token(w, first + i, old, now);
        }
    }
    if (w->t->g->dg && d->c->gate == HOP_GATE_HEAD) w->t->g->dg[d->h] = (float)w->head_gate;
    for (int64_t i = 0; w->t->g->d_state && i < size; i++)
        w->t->g->d_state[d->h * size + i] = (float)w->ds[i];
}

void hop__ref_scan_backward(const hop__scan_back *t)
{
    const int64_t group = t->c->heads / t->c->key_heads, blocks = (t->c->tokens + REF_KEEP - 1) / REF_KEEP;
    for (int64_t h = t->key_head * group; h < (t->key_head + 1) * group; h++) {
        grads w = {.d = head_of(t->kind, t->c, t->in, h), .t = t, .add = h > t->key_head * group};
        const int64_t K = w.d.K, V = w.d.V, size = w.d.size;
        double *p = (double *)t->scratch, *states = p, *kept = states + (REF_KEEP + 1) * size;
        w.ds = kept + blocks * size;
        w.dq = w.ds + size, w.dk = w.dq + K, w.da = w.dk + K, w.db = w.da + K, w.dg = w.db + K;
        w.d_o = w.dg + K, w.x = w.d_o + V, w.dx = w.x + V;
        back_head(&w, t->state ? t->state + h * size : NULL, states, kept);
    }
}
