/* scan_case.h - for tests of the scans: random inputs of every recurrence and gate, and the truth, each
 * equation in plain double loops over copies of the inputs in double, so that gradients can be had by moving
 * one of them a little. It shares nothing with src/kernels. */
#ifndef HOP_TESTS_SCAN_CASE_H
#define HOP_TESTS_SCAN_CASE_H

#include "kernel_tables.h"

#include <hopbound/scans.h>

typedef enum kind { DECAY, DELTA, DPLR, MLSTM, KINDS } kind;
static const char *const kind_names[KINDS] = {"decay", "delta", "dplr", "mlstm"};

/* The arrays of a case, in one order everywhere: as floats, as doubles, as gradients. */
typedef enum array { Q, KEY, VAL, GATE, BETA, A_, B_, U, IN, FORGET, STATE, ARRAYS } array;

typedef struct scan_case {
    kind kind;
    hop_scan c;
    int64_t count[ARRAYS]; /* floats; 0: not there */
    float *p[ARRAYS];
    double *d[ARRAYS];
    int64_t no;
    float *o, *scratch;
    double *truth; /* of o */
    double *last;  /* of the state after the last token */
    bool bonus;
} scan_case;

typedef struct scan_shape {
    int64_t T, H, KH, K, V;
} scan_shape;

static inline double *doubles_new(int64_t n)
{
    double *p = hop_alloc(sizeof(double) * (size_t)(n > 0 ? n : 1));
    assert_non_null(p);
    return p;
}

static inline void normalise(float *p, int64_t rows, int64_t stride, int64_t heads, int64_t dim)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t h = 0; h < heads; h++) {
            float *x = p + r * stride + h * dim;
            double sum = 1e-6;
            for (int64_t e = 0; e < dim; e++) sum += (double)x[e] * x[e];
            for (int64_t e = 0; e < dim; e++) x[e] = (float)(x[e] / sqrt(sum));
        }
}

static inline void case_sync(scan_case *s)
{
    for (int a = 0; a < ARRAYS; a++)
        for (int64_t i = 0; i < s->count[a]; i++) s->d[a][i] = s->p[a][i];
}

/* Keys of the delta rule are unit vectors and beta is in 0 .. 2, dplr is RWKV-7's (a = -κ, b = κη): then the
 * state stays bounded, as in every mixer. Rows are 3 floats longer than needed. */
static inline scan_case case_new(kind what, hop_gate gate, bool bonus, scan_shape z, uint64_t seed)
{
    scan_case s = {.kind = what, .bonus = bonus};
    hop_scan *c = &s.c;
    *c = (hop_scan){
        .tokens = z.T, .heads = z.H, .key_heads = z.KH, .key_dim = z.K, .value_dim = z.V, .gate = gate};
    c->q_stride = z.KH * z.K + 3, c->k_stride = z.KH * z.K + 1, c->v_stride = z.H * z.V + 3,
    c->o_stride = z.H * z.V + 2;
    c->gate_stride = gate == HOP_GATE_KEY && what != MLSTM ? z.H * z.K + 3 : z.H + 1,
    c->beta_stride = z.H + 3;
    c->scale = (float)(what == DPLR ? 1.0 : 1.0 / sqrt((double)z.K));
    int64_t *n = s.count;
    n[Q] = z.T * c->q_stride, n[KEY] = z.T * c->k_stride, n[VAL] = z.T * c->v_stride;
    n[GATE] = gate == HOP_GATE_NONE ? 0 : gate == HOP_GATE_HEAD ? z.H : z.T * c->gate_stride;
    n[BETA] = what == DELTA ? z.T * c->beta_stride : 0;
    n[A_] = n[B_] = what == DPLR ? n[KEY] : 0;
    n[U] = bonus ? z.H * z.K : 0;
    n[IN] = n[FORGET] = what == MLSTM ? z.T * c->gate_stride : 0;
    n[STATE] = z.H * (z.K * z.V + (what == MLSTM ? z.K + 1 : 0));
    for (int a = 0; a < ARRAYS; a++) {
        s.p[a] = n[a] ? random_new(n[a], seed * 100 + (uint64_t)a, a == IN || a == FORGET ? 4.0 : 1.0) : NULL;
        s.d[a] = n[a] ? doubles_new(n[a]) : NULL;
    }
    for (int64_t i = 0; i < n[GATE]; i++)
        s.p[GATE][i] *= -0.5f * fabsf(s.p[GATE][i]), s.p[GATE][i] = -fabsf(s.p[GATE][i]);
    for (int64_t i = 0; i < n[BETA]; i++) s.p[BETA][i] = 1.0f + s.p[BETA][i];
    if (what == DELTA) normalise(s.p[KEY], z.T, c->k_stride, z.KH, z.K);
    if (what == DPLR) normalise(s.p[A_], z.T, c->k_stride, z.KH, z.K);
    for (int64_t i = 0; i < n[B_]; i++) s.p[B_][i] = -s.p[A_][i] * (0.5f + 0.5f * s.p[B_][i]);
    s.no = z.T * c->o_stride;
    s.o = floats_new(s.no), s.truth = doubles_new(s.no), s.last = doubles_new(n[STATE]);
    case_sync(&s);
    return s;
}

static inline void case_free(scan_case *s)
{
    for (int a = 0; a < ARRAYS; a++) hop_free(s->p[a]), hop_free(s->d[a]);
    hop_free(s->o), hop_free(s->truth), hop_free(s->last);
}

static inline hop_scan_in case_in(const scan_case *s)
{
    float *const *p = s->p;
    return (hop_scan_in){p[Q], p[KEY], p[VAL], p[GATE], p[BETA], p[A_], p[B_], p[U], p[IN], p[FORGET]};
}

/* ---- the truth ------------------------------------------------------------------------------- */

static inline double truth_gate(const scan_case *s, int64_t t, int64_t h, int64_t k)
{
    const hop_scan *c = &s->c;
    switch (s->kind == MLSTM ? HOP_GATE_NONE : c->gate) {
    case HOP_GATE_HEAD: return exp(s->d[GATE][h]);
    case HOP_GATE_TOKEN: return exp(s->d[GATE][t * c->gate_stride + h]);
    case HOP_GATE_KEY: return exp(s->d[GATE][t * c->gate_stride + h * c->key_dim + k]);
    default: return 1.0;
    }
}

/* One token of one head that is not mlstm's: S [K, V] in place, o [V]. */
static inline void truth_token(const scan_case *s, int64_t t, int64_t h, double *S, double *o)
{
    const hop_scan *c = &s->c;
    const int64_t K = c->key_dim, V = c->value_dim, kh = h / (c->heads / c->key_heads),
                  key = t * c->k_stride + kh * K;
    const double *q = s->d[Q] + t * c->q_stride + kh * K, *k = s->d[KEY] + key,
                 *v = s->d[VAL] + t * c->v_stride + h * V;
    for (int64_t e = 0; e < V; e++) {
        double p = 0.0, sum = 0.0;
        for (int64_t i = 0; s->bonus && i < K; i++)
            sum += q[i] * (S[i * V + e] + s->d[U][h * K + i] * k[i] * v[e]);
        for (int64_t i = 0; s->kind == DPLR && i < K; i++) p += s->d[A_][key + i] * S[i * V + e];
        for (int64_t i = 0; i < K; i++) S[i * V + e] *= truth_gate(s, t, h, i);
        for (int64_t i = 0; s->kind == DELTA && i < K; i++) p += k[i] * S[i * V + e];
        double x = s->kind == DELTA ? s->d[BETA][t * c->beta_stride + h] * (v[e] - p) : v[e];
        for (int64_t i = 0; i < K; i++) {
            S[i * V + e] += k[i] * x + (s->kind == DPLR ? s->d[B_][key + i] * p : 0.0);
            if (!s->bonus) sum += q[i] * S[i * V + e];
        }
        o[e] = c->scale * sum;
    }
}

static inline void truth_mlstm(const scan_case *s, int64_t t, int64_t h, double *S, double *o)
{
    const hop_scan *c = &s->c;
    const int64_t K = c->key_dim, V = c->value_dim, kh = h / (c->heads / c->key_heads);
    const double *q = s->d[Q] + t * c->q_stride + kh * K, *k = s->d[KEY] + t * c->k_stride + kh * K;
    const double *v = s->d[VAL] + t * c->v_stride + h * V, i = s->d[IN][t * c->gate_stride + h];
    double f = s->d[FORGET][t * c->gate_stride + h], *n = S + K * V, *m = n + K, den = 0.0;
    double kept = (f > 0 ? -log1p(exp(-f)) : f - log1p(exp(f))) + *m, now = kept > i ? kept : i;
    for (int64_t j = 0; j < K; j++) {
        for (int64_t e = 0; e < V; e++)
            S[j * V + e] = exp(kept - now) * S[j * V + e] + exp(i - now) * k[j] * v[e];
        n[j] = exp(kept - now) * n[j] + exp(i - now) * k[j];
        den += c->scale * q[j] * n[j];
    }
    *m = now;
    double z = (fabs(den) > exp(-now) ? fabs(den) : exp(-now)) + 1e-6;
    for (int64_t e = 0; e < V; e++) {
        double all = 0.0;
        for (int64_t j = 0; j < K; j++) all += c->scale * q[j] * S[j * V + e];
        o[e] = all / z;
    }
}

/* Fills truth and last. */
static inline void truth_run(scan_case *s)
{
    const hop_scan *c = &s->c;
    const int64_t size = s->count[STATE] / c->heads;
    memcpy(s->last, s->d[STATE], sizeof(double) * (size_t)s->count[STATE]);
    for (int64_t h = 0; h < c->heads; h++)
        for (int64_t t = 0; t < c->tokens; t++) {
            double *o = s->truth + t * c->o_stride + h * c->value_dim;
            (s->kind == MLSTM ? truth_mlstm : truth_token)(s, t, h, s->last + h * size, o);
        }
}

/* ---- running the kernels --------------------------------------------------------------------- */

/* Tokens first .. first + count - 1, from and to `state` (may be NULL), in scratch of exactly the promised
 * size. */
static inline void case_part(scan_case *s, float *state, int64_t first, int64_t count, hop_form form,
                             hop_pool *pool)
{
    hop_scan c = s->c;
    c.tokens = count, c.form = form;
    hop_scan_in in = case_in(s);
    in.q += first * c.q_stride, in.k += first * c.k_stride, in.v += first * c.v_stride;
    if (in.g && c.gate != HOP_GATE_HEAD) in.g += first * c.gate_stride;
    if (in.beta) in.beta += first * c.beta_stride;
    if (in.a) in.a += first * c.k_stride, in.b += first * c.k_stride;
    if (in.i) in.i += first * c.gate_stride, in.f += first * c.gate_stride;
    int64_t size = (int64_t)hop_scan_scratch(&c, hop_pool_threads(pool));
    float *scratch = floats_new(size), *o = s->o + first * c.o_stride;
    poison(scratch, size);
    switch (s->kind) {
    case DECAY: hop_decay_forward(o, state, &in, &c, scratch, pool); break;
    case DELTA: hop_delta_forward(o, state, &in, &c, scratch, pool); break;
    case DPLR: hop_dplr_forward(o, state, &in, &c, scratch, pool); break;
    default: hop_mlstm_forward(o, state, &in, &c, scratch, pool); break;
    }
    hop_free(scratch);
}

/* The whole case from its initial state; returns the state after, to be freed. */
static inline float *case_run(scan_case *s, hop_form form, hop_pool *pool)
{
    float *state = floats_new(s->count[STATE]);
    memcpy(state, s->p[STATE], sizeof(float) * (size_t)s->count[STATE]);
    poison(s->o, s->no);
    case_part(s, state, 0, s->c.tokens, form, pool);
    return state;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* All numbers within `tolerance` of the largest one (or of `least`, if they are all smaller); rows `stride`
 * apart of which `used` are ours. */
static inline void assert_near_over(double least, const char *what, const float *got, const double *want,
                                    int64_t rows, int64_t stride, int64_t used, double tolerance)
{
    double most = least;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < used; i++) most = fmax(most, fabs(want[r * stride + i]));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < stride; i++) {
            double off = fabs(got[r * stride + i] - want[r * stride + i]);
            if (i >= used) {
                assert_true(isnan(got[r * stride + i])); /* the caller's */
            } else if (!(off <= tolerance * most)) {
                fail_msg("table %s, %s, row %d, element %d: got %.9g, want %.9g, largest %.4g",
                         hop__kernels_get()->name, what, (int)r, (int)i, (double)got[r * stride + i],
                         want[r * stride + i], most);
            }
        }
}

static inline void assert_all_near(const char *what, const float *got, const double *want, int64_t rows,
                                   int64_t stride, int64_t used, double tolerance)
{
    assert_near_over(1e-30, what, got, want, rows, stride, used, tolerance);
}

static inline void assert_case(const scan_case *s, const float *state, const char *form, double tolerance)
{
    const hop_scan *c = &s->c;
    char what[160];
    snprintf(what, sizeof what, "%s %s gate %d bonus %d T=%d H=%d/%d K=%d V=%d", kind_names[s->kind], form,
             (int)c->gate, s->bonus, (int)c->tokens, (int)c->heads, (int)c->key_heads, (int)c->key_dim,
             (int)c->value_dim);
    assert_all_near(what, s->o, s->truth, c->tokens, c->o_stride, c->heads * c->value_dim, tolerance);
    if (state) assert_all_near(what, state, s->last, 1, s->count[STATE], s->count[STATE], tolerance);
}

/* Kind, gate and bonus of every recurrence there is. */
typedef struct variety {
    kind kind;
    hop_gate gate;
    bool bonus;
} variety;

static const variety varieties[] = {
    {DECAY, HOP_GATE_NONE, false}, {DECAY, HOP_GATE_HEAD, false},  {DECAY, HOP_GATE_TOKEN, false},
    {DECAY, HOP_GATE_KEY, false},  {DECAY, HOP_GATE_KEY, true},    {DECAY, HOP_GATE_TOKEN, true},
    {DECAY, HOP_GATE_HEAD, true},  {DECAY, HOP_GATE_NONE, true},   {DELTA, HOP_GATE_NONE, false},
    {DELTA, HOP_GATE_HEAD, false}, {DELTA, HOP_GATE_TOKEN, false}, {DELTA, HOP_GATE_KEY, false},
    {DPLR, HOP_GATE_KEY, false},   {DPLR, HOP_GATE_NONE, false},   {MLSTM, HOP_GATE_NONE, false},
};
enum { VARIETIES = sizeof varieties / sizeof varieties[0] };

static inline scan_case variety_new(int i, scan_shape z, uint64_t seed)
{
    return case_new(varieties[i].kind, varieties[i].gate, varieties[i].bonus, z, seed);
}

#endif
