/* list_truth.h - a layer's list of operations in plain loops and double precision, as ops.h says them: what
 * the walkers and their gradients are compared with. One sequence, whole. */
#ifndef HOPBOUND_LIST_TRUTH_H
#define HOPBOUND_LIST_TRUTH_H

#include "test.h"

#include <hopbound/mixers.h>

typedef struct truth {
    const hop_list *l;
    const hop_mixer_config *c;
    double *w[HOP_MIXER_MAX_PARAMS];
    double *state; /* before the first token */
    int64_t T;
    double *b[HOP_LIST_BUFFERS]; /* [T, width] */
} truth;

static double t_at(const truth *x, const hop_op *op, int i, int64_t t, int64_t e)
{
    hop_ref r = op->in[i];
    return x->b[r.buffer][t * x->l->width[r.buffer] + r.column + e];
}

static double t_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double t_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double t_act(hop_act act, double x)
{
    switch (act) {
    case HOP_ACT_COPY: return x;
    case HOP_ACT_EXP: return exp(x);
    case HOP_ACT_EXP1000: return fmin(exp(x), 1000.0);
    case HOP_ACT_SIGMOID: return t_sigmoid(x);
    case HOP_ACT_SILU: return x * t_sigmoid(x);
    case HOP_ACT_TANH: return tanh(x);
    case HOP_ACT_SOFTPLUS: return t_softplus(x);
    case HOP_ACT_LOGSIGMOID: return -t_softplus(-x);
    case HOP_ACT_ELU1: return x > 0 ? x + 1 : exp(x);
    case HOP_ACT_RELU: return x > 0 ? x : 0;
    case HOP_ACT_RELU2: return x > 0 ? x * x : 0;
    case HOP_ACT_GELU: return 0.5 * x * erfc(-x * sqrt(0.5));
    }
    return NAN;
}

/* ---- one row ----------------------------------------------------------------------------------- */

static void t_norm(const truth *x, const hop_op *op, int64_t t, double *y, bool centred)
{
    int64_t n = op->dim;
    for (int64_t g = 0; g < op->groups; g++) {
        double mean = 0, var = 0;
        for (int64_t e = 0; centred && e < n; e++) mean += t_at(x, op, 0, t, g * n + e) / (double)n;
        for (int64_t e = 0; e < n; e++) var += pow(t_at(x, op, 0, t, g * n + e) - mean, 2) / (double)n;
        for (int64_t e = 0; e < n; e++) {
            double z = (t_at(x, op, 0, t, g * n + e) - mean) / sqrt(var + op->eps);
            const double *w = x->w[op->par[0]], *w2 = op->par[1] < 0 ? NULL : x->w[op->par[1]];
            y[g * n + e] = centred ? z * w[g * n + e] + (w2 ? w2[g * n + e] : 0) : z * w[e];
        }
    }
}

static void t_groups(const truth *x, const hop_op *op, int64_t t, double *y)
{
    int64_t n = op->dim, groups = op->groups;
    for (int64_t g = 0; g < groups; g++) {
        double sum = 0, scale = op->scaled ? op->scale : 1, half = op->scaled ? 0.5 : 1;
        double *f = y + g * (op->width / groups);
        switch (op->kind) {
        case HOP_OP_L2:
            for (int64_t e = 0; e < n; e++) sum += pow(t_at(x, op, 0, t, g * n + e), 2);
            for (int64_t e = 0; e < n; e++) f[e] = t_at(x, op, 0, t, g * n + e) / sqrt(sum + 1e-6);
            break;
        case HOP_OP_ROPE:
            for (int64_t e = 0; e < n; e++) f[e] = t_at(x, op, 0, t, g * n + e);
            for (int64_t e = 0; e < n / 2; e++) {
                double a = t_at(x, op, 0, t, g * n + e), b = t_at(x, op, 0, t, g * n + e + n / 2);
                double angle = (double)t * pow(op->theta, -2.0 * (double)e / (double)n);
                f[e] = a * cos(angle) - b * sin(angle), f[e + n / 2] = a * sin(angle) + b * cos(angle);
            }
            break;
        case HOP_OP_TAYLOR:
            *f++ = 1;
            for (int64_t i = 0; i < n; i++) *f++ = scale * t_at(x, op, 0, t, g * n + i);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = i; j < n; j++)
                    *f++ = scale * scale * (i == j ? half : 1) * t_at(x, op, 0, t, g * n + i) *
                           t_at(x, op, 0, t, g * n + j);
            break;
        case HOP_OP_APPEND_ONE:
            for (int64_t e = 0; e < n; e++) f[e] = t_at(x, op, 0, t, g * n + e);
            f[n] = 1;
            break;
        case HOP_OP_DIVIDE:
            for (int64_t e = 0; e < n; e++)
                f[e] = t_at(x, op, 0, t, g * (n + 1) + e) / (t_at(x, op, 0, t, g * (n + 1) + n) + op->eps);
            break;
        default: /* REPEAT */
            for (int64_t e = 0; e < n; e++) f[e] = t_at(x, op, 0, t, g / op->times * n + e);
        }
    }
}

static double t_element(const truth *x, const hop_op *op, int64_t t, int64_t e)
{
    const double *w = op->par[0] < 0 ? NULL : x->w[op->par[0]];
    double a = t_at(x, op, 0, t, e);
    switch (op->kind) {
    case HOP_OP_ACT: return op->scale * t_act(op->act, a * op->before);
    case HOP_OP_RATE: return -fmin(exp(w[e / op->dim]), 1e30) * a;
    case HOP_OP_MUL: return a * t_at(x, op, 1, t, e / op->dim);
    case HOP_OP_SUB: return a - t_at(x, op, 1, t, e);
    case HOP_OP_CLAMP: return fmin(fmax(a, op->lo), op->hi);
    case HOP_OP_ADD: return a + t_at(x, op, 1, t, e);
    case HOP_OP_LERP:
        return a + t_at(x, op, 1, t, e) *
                       ((op->in[2].buffer < 0 ? 0 : t_at(x, op, 2, t, e)) + w[op->first_row * op->width + e]);
    case HOP_OP_WEIGH: return a * w[e];
    case HOP_OP_SKIP: return a + t_at(x, op, 1, t, e) * w[e / op->dim];
    case HOP_OP_BLEND: return a * (1 + (t_at(x, op, 1, t, e) - 1) * w[e]);
    case HOP_OP_LRU_RATE: return -8 * a * fmin(t_softplus(w[e]), 1e30);
    case HOP_OP_LRU_INPUT: return sqrt(-expm1(2 * a)) * t_at(x, op, 1, t, e) * t_at(x, op, 2, t, e);
    case HOP_OP_BONUS: {
        int64_t g = e / (op->width / op->groups);
        double sum = 0;
        for (int64_t i = g * op->dim; i < (g + 1) * op->dim; i++)
            sum += t_at(x, op, 1, t, i) * t_at(x, op, 2, t, i) * w[i];
        return a + sum * t_at(x, op, 3, t, e);
    }
    default: fail(); return 0;
    }
}

static void t_product(const truth *x, const hop_op *op, int64_t t, double *y)
{
    const double *w = x->w[op->par[0]], *bias = op->par[1] < 0 ? NULL : x->w[op->par[1]];
    int64_t n = op->width / op->groups;
    for (int64_t g = 0; g < op->groups; g++)
        for (int64_t o = 0; o < n; o++) {
            bool blocks = op->kind == HOP_OP_BLOCKS;
            double sum = bias ? bias[blocks ? g * n + o : o] : 0;
            for (int64_t i = 0; i < op->dim; i++)
                sum += t_at(x, op, 0, t, g * op->dim + i) *
                       (blocks ? w[(g * op->dim + i) * op->dim + o]
                               : w[(op->first_row + o) * op->row + op->first_column + i]);
            y[g * n + o] = sum;
        }
}

/* ---- along the sequence ------------------------------------------------------------------------ */

/* Input e of `from` rows before or behind the first token. */
static double t_past(const truth *x, const hop_op *op, int64_t from, int64_t e, int64_t kept)
{
    if (from >= 0) return t_at(x, op, 0, from, e);
    return x->state[op->state + (from + kept) * op->width + e];
}

static void t_conv(const truth *x, const hop_op *op, double *y)
{
    const double *w = x->w[op->par[0]], *bias = op->par[1] < 0 ? NULL : x->w[op->par[1]];
    for (int64_t t = 0; t < x->T; t++)
        for (int64_t e = 0; e < op->width; e++) {
            double sum = bias ? bias[e] : 0;
            for (int64_t j = 0; j < op->taps; j++)
                sum += w[e * op->taps + j] * t_past(x, op, t - op->taps + 1 + j, e, op->taps - 1);
            y[t * op->width + e] = op->silu ? sum * t_sigmoid(sum) : sum;
        }
}

/* One head of a scan: S [K, V], and mlstm's n [K] and m. */
typedef struct t_head {
    double S[160 * 64], n[160], m;
} t_head;

static double t_gate(const truth *x, const hop_op *op, int64_t t, int64_t h, int64_t k)
{
    switch (op->gate) {
    case HOP_GATE_NONE: return 0;
    case HOP_GATE_HEAD: return t_at(x, op, HOP_SCAN_G, 0, h);
    case HOP_GATE_TOKEN: return t_at(x, op, HOP_SCAN_G, t, h);
    case HOP_GATE_KEY: return t_at(x, op, HOP_SCAN_G, t, h * op->key_dim + k);
    }
    return NAN;
}

/* Step n of token t. */
static void t_update(const truth *x, const hop_op *op, t_head *s, int64_t t, int64_t h, int64_t n)
{
    int64_t K = op->key_dim, V = op->value_dim, kh = h / (op->heads / op->kv_heads);
    int64_t at_k = (n * op->kv_heads + kh) * K, at_v = (n * op->heads + h) * V;
    double k[160], v[64], m = s->m, keep = 1, write = 1;
    for (int64_t i = 0; i < K; i++) k[i] = t_at(x, op, HOP_SCAN_K, t, at_k + i);
    for (int64_t j = 0; j < V; j++) v[j] = t_at(x, op, HOP_SCAN_V, t, at_v + j);
    if (op->core == HOP_CORE_MLSTM) {
        double f = -t_softplus(-t_at(x, op, HOP_SCAN_F, t, h)), in = t_at(x, op, HOP_SCAN_I, t, h);
        s->m = fmax(f + m, in);
        keep = exp(f + m - s->m), write = exp(in - s->m);
        for (int64_t i = 0; i < K; i++) s->n[i] = keep * s->n[i] + write * k[i];
    }
    for (int64_t j = 0; j < V; j++) {
        double passed = 0, held = 0;
        for (int64_t i = 0; op->core == HOP_CORE_DPLR && i < K; i++)
            passed += t_at(x, op, HOP_SCAN_A, t, at_k + i) * s->S[i * V + j];
        for (int64_t i = 0; i < K; i++) s->S[i * V + j] *= n == 0 ? keep * exp(t_gate(x, op, t, h, i)) : 1;
        for (int64_t i = 0; op->core == HOP_CORE_DELTA && i < K; i++) held += k[i] * s->S[i * V + j];
        double beta = op->core == HOP_CORE_DELTA ? t_at(x, op, HOP_SCAN_BETA, t, n * op->heads + h) : write;
        for (int64_t i = 0; i < K; i++) {
            s->S[i * V + j] += beta * k[i] * (v[j] - held);
            if (op->core == HOP_CORE_DPLR) s->S[i * V + j] += t_at(x, op, HOP_SCAN_B, t, at_k + i) * passed;
        }
    }
}

static void t_scan(const truth *x, const hop_op *op, double *y)
{
    int64_t K = op->key_dim, V = op->value_dim;
    int64_t floats = K * V + (op->core == HOP_CORE_MLSTM ? K + 1 : 0);
    const double *u = op->par[0] < 0 ? NULL : x->w[op->par[0]];
    assert_true(K <= 160 && V <= 64);
    for (int64_t h = 0; h < op->heads; h++) {
        static t_head s;
        const double *from = x->state + op->state + h * floats;
        int64_t kh = h / (op->heads / op->kv_heads);
        memcpy(s.S, from, sizeof(double) * (size_t)(K * V));
        memcpy(s.n, from + K * V, sizeof(double) * (size_t)(op->core == HOP_CORE_MLSTM ? K : 0));
        s.m = op->core == HOP_CORE_MLSTM ? from[K * V + K] : 0;
        for (int64_t t = 0; t < x->T; t++) {
            double bonus = 0, q[160], z = 1, size = 0;
            for (int64_t i = 0; i < K; i++) q[i] = op->scale * t_at(x, op, HOP_SCAN_Q, t, kh * K + i);
            for (int64_t i = 0; u && i < K; i++)
                bonus += q[i] * u[h * K + i] * t_at(x, op, HOP_SCAN_K, t, kh * K + i);
            for (int64_t n = 0; !u && n < op->steps; n++) t_update(x, op, &s, t, h, n);
            for (int64_t i = 0; op->core == HOP_CORE_MLSTM && i < K; i++) size += q[i] * s.n[i];
            if (op->core == HOP_CORE_MLSTM) z = fmax(fabs(size), exp(-s.m)) + 1e-6;
            for (int64_t j = 0; j < V; j++) {
                double sum = u ? bonus * t_at(x, op, HOP_SCAN_V, t, h * V + j) : 0;
                for (int64_t i = 0; i < K; i++) sum += q[i] * s.S[i * V + j];
                y[t * op->width + h * V + j] = sum / z;
            }
            if (u) t_update(x, op, &s, t, h, 0);
        }
    }
}

static void t_selective(const truth *x, const hop_op *op, double *y)
{
    int64_t N = op->key_dim;
    for (int64_t e = 0; e < op->width; e++) {
        double h[64];
        memcpy(h, x->state + op->state + e * N, sizeof(double) * (size_t)N);
        for (int64_t t = 0; t < x->T; t++) {
            double in = t_at(x, op, HOP_SELECTIVE_X, t, e), delta = t_at(x, op, HOP_SELECTIVE_DELTA, t, e);
            double sum = op->par[1] < 0 ? 0 : x->w[op->par[1]][e] * in;
            for (int64_t n = 0; n < N; n++) {
                double A = -exp(fmin(x->w[op->par[0]][e * N + n], 69));
                h[n] = exp(delta * A) * h[n] + delta * t_at(x, op, HOP_SELECTIVE_B, t, n) * in;
                sum += t_at(x, op, HOP_SELECTIVE_C, t, n) * h[n];
            }
            y[t * op->width + e] = sum;
        }
    }
}

/* Whether key j is seen by the query at t of a head: the blocks whose summaries score best, and its own. */
static bool t_sees(const truth *x, const hop_op *op, int64_t h, int64_t t, int64_t j)
{
    if (op->bidirectional) return true;
    if (j > t || (op->window > 0 && j + op->window <= t)) return false;
    if (op->kind != HOP_OP_SPARSE || t / op->block <= op->topk || j / op->block == t / op->block) return true;
    int64_t D = op->key_dim, lane = h / (op->heads / op->kv_heads) * D, better = 0;
    double score[256];
    assert_true(t / op->block < 256);
    for (int64_t block = 0; block < t / op->block; block++) {
        score[block] = 0;
        for (int64_t i = 0; i < op->block; i++)
            for (int64_t e = 0; e < D; e++)
                if (op->summary == 0 || i == h % op->block)
                    score[block] += op->scale * t_at(x, op, 0, t, h * D + e) *
                                    t_at(x, op, 1, block * op->block + i, lane + e) /
                                    (op->summary == 0 ? (double)op->block : 1.0);
    }
    for (int64_t block = 0; block < t / op->block; block++)
        better += score[block] > score[j / op->block] ||
                  (score[block] == score[j / op->block] && block < j / op->block);
    return better < op->topk;
}

static void t_attend(const truth *x, const hop_op *op, double *y)
{
    int64_t D = op->key_dim, V = op->value_dim;
    for (int64_t h = 0; h < op->heads; h++)
        for (int64_t t = 0; t < x->T; t++) {
            int64_t kv = h / (op->heads / op->kv_heads);
            double sum = 0, *o = y + t * op->width + h * V;
            for (int64_t j = 0; j < V; j++) o[j] = 0;
            for (int64_t j = 0; j < x->T; j++) {
                if (!t_sees(x, op, h, t, j)) continue;
                double s = 0;
                for (int64_t e = 0; e < D; e++)
                    s += t_at(x, op, 0, t, h * D + e) * t_at(x, op, 1, j, kv * D + e);
                s = exp(s * op->scale);
                sum += s;
                for (int64_t e = 0; e < V; e++) o[e] += s * t_at(x, op, 2, j, kv * V + e);
            }
            for (int64_t e = 0; e < V; e++) o[e] /= sum;
        }
}

/* ---- all of it --------------------------------------------------------------------------------- */

static void t_op(const truth *x, const hop_op *op)
{
    double *y = x->b[op->y];
    switch (op->kind) {
    case HOP_OP_CONV: t_conv(x, op, y); return;
    case HOP_OP_SCAN: t_scan(x, op, y); return;
    case HOP_OP_SELECTIVE: t_selective(x, op, y); return;
    case HOP_OP_ATTEND:
    case HOP_OP_SPARSE: t_attend(x, op, y); return;
    default: break;
    }
    for (int64_t t = 0; t < x->T; t++, y += op->width) {
        switch (op->kind) {
        case HOP_OP_LINEAR:
        case HOP_OP_BLOCKS: t_product(x, op, t, y); break;
        case HOP_OP_RMS: t_norm(x, op, t, y, false); break;
        case HOP_OP_GROUPNORM: t_norm(x, op, t, y, true); break;
        case HOP_OP_L2:
        case HOP_OP_ROPE:
        case HOP_OP_TAYLOR:
        case HOP_OP_APPEND_ONE:
        case HOP_OP_DIVIDE:
        case HOP_OP_REPEAT: t_groups(x, op, t, y); break;
        case HOP_OP_SHIFT:
            for (int64_t e = 0; e < op->width; e++) y[e] = t_past(x, op, t - 1, e, 1);
            break;
        case HOP_OP_CONSTANT:
            for (int64_t e = 0; e < op->width; e++) y[e] = op->constant(x->c, e);
            break;
        case HOP_OP_DIAGONAL:
            for (int64_t e = 0; e < op->width; e++)
                y[e] = t_at(x, op, 0, t, e) * (t > 0 ? y[e - op->width] : x->state[op->state + e]) +
                       t_at(x, op, 1, t, e);
            break;
        default:
            for (int64_t e = 0; e < op->width; e++) y[e] = t_element(x, op, t, e);
        }
    }
}

/* The output is x->b[HOP_Y]; the input is x->b[HOP_X]. */
static void truth_run(const truth *x)
{
    for (int i = 0; i < x->l->op_count; i++) t_op(x, &x->l->op[i]);
}

static void truth_new(truth *x, const hop_list *l, const hop_mixer_config *c, int64_t tokens)
{
    *x = (truth){.l = l, .c = c, .T = tokens};
    x->state = calloc((size_t)l->state_floats + 1, sizeof(double));
    for (int i = 0; i < l->buffer_count; i++)
        x->b[i] = calloc((size_t)(tokens * l->width[i]), sizeof(double));
}

static void truth_free(truth *x)
{
    free(x->state);
    for (int i = 0; i < x->l->buffer_count; i++) free(x->b[i]);
}

#endif
