/* Linear attention (Katharopoulos et al. 2020, arXiv:2006.16236; layer as in flash-linear-attention).
 *
 *     S += φ(k) vᵀ,   o = scale φ(q)ᵀS,   y = Wo RMSNorm_head(o)
 *
 * Options: value_dim (head_dim); feature, the map φ of each head's q and k: 0 identity, 1 elu + 1 (default),
 * 2 relu, 3 (W1 x + b1) ⊙ (W2 x + b2) with maps of its own for q and k; normalise (0): o is divided by
 * scale φ(q)·Σφ(k) + 1e-10, so that 0/0 is 0; norm (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V]; with normalise [K, V + 1], the last column being Σφ(k). */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, K, V, Q1, Q1_BIAS, Q2, Q2_BIAS, K1, K1_BIAS, K2, K2_BIAS, NORM, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_ONE, B_TWO, B_ROW, WORK, BUFFERS };
enum { IDENTITY, ELU1, RELU, PRODUCT };

static const struct hop_option_default linear_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_feature, ELU1},
    {HOP_OPTION_normalise, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_COUNT, 0},
};

static int linear_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    static const char *const maps[] = {"feature_map_q.layer1.weight", "feature_map_q.layer1.bias",
                                       "feature_map_q.layer2.weight", "feature_map_q.layer2.bias",
                                       "feature_map_k.layer1.weight", "feature_map_k.layer1.bias",
                                       "feature_map_k.layer2.weight", "feature_map_k.layer2.bias"};
    int64_t d = c->d_model, k = c->head_dim, v = HOP__OPT(c, value_dim);
    out[Q] = (hop_param){"q_proj.weight", {c->heads * k, d}};
    out[K] = (hop_param){"k_proj.weight", {c->heads * k, d}};
    out[V] = (hop_param){"v_proj.weight", {c->heads * v, d}};
    for (int i = 0; HOP__OPT(c, feature) == PRODUCT && i < 8; i++)
        out[Q1 + i] = (hop_param){maps[i], {k, i % 2 ? 0 : k}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"norm.weight", {v, 0}};
    out[OUT] = (hop_param){"o_proj.weight", {d, c->heads * v}};
    return PARAMS;
}

static void linear_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    (void)rng;
    for (int i = Q1_BIAS; i <= K2_BIAS; i += 2) hop__fill(w[i], c->head_dim, 0.0);
}

/* What a value has: the normaliser is one more. */
static int64_t stored(const hop_mixer_config *c)
{
    return HOP__OPT(c, value_dim) + HOP__OPT(c, normalise);
}

static int64_t linear_state(const hop_mixer_config *c)
{
    return c->heads * c->head_dim * stored(c);
}

static int linear_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kn = tokens * c->heads * c->head_dim, vn = tokens * c->heads * HOP__OPT(c, value_dim);
    hop_scan s = hop__scan(c, tokens, c->head_dim, stored(c), HOP_GATE_NONE);
    n[B_Q] = n[B_K] = kn;
    n[B_V] = n[B_O] = vn;
    if (HOP__OPT(c, feature) == PRODUCT) n[B_ONE] = n[B_TWO] = kn;
    if (HOP__OPT(c, normalise)) n[B_ROW] = 2 * (vn + tokens * c->heads); /* values, then outputs */
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

/* x [tokens, heads, K] in place; `map` is the first of the four parameters of a product. */
static void feature_map(const hop__mix *m, float *x, int map)
{
    int64_t k = m->c->head_dim, rows = m->tokens * m->c->heads, n = rows * k;
    float *one = m->b[B_ONE], *two = m->b[B_TWO];
    switch (HOP__OPT(m->c, feature)) {
    case IDENTITY: return;
    case ELU1: hop__elu_plus_one(x, n); break;
    case RELU: hop_relu(x, x, n); break;
    default:
        hop__linear(m, one, x, m->w[map], m->w[map + 1], (hop__shape){rows, k, k});
        hop__linear(m, two, x, m->w[map + 2], m->w[map + 3], (hop__shape){rows, k, k});
        for (int64_t i = 0; i < n; i++) x[i] = one[i] * two[i];
    }
    hop__cut(m, x, n);
}

static void linear_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t v = HOP__OPT(c, value_dim), rows = m->tokens * c->heads;
    float *value = m->b[B_V], *o = m->b[B_O];
    hop__project(m, m->b[B_Q], m->w[Q], NULL, c->heads * c->head_dim);
    hop__project(m, m->b[B_K], m->w[K], NULL, c->heads * c->head_dim);
    hop__project(m, m->b[B_V], m->w[V], NULL, c->heads * v);
    feature_map(m, m->b[B_Q], Q1);
    feature_map(m, m->b[B_K], K1);
    if (HOP__OPT(c, normalise)) {
        value = m->b[B_ROW], o = value + rows * (v + 1);
        hop__append_one(value, m->b[B_V], rows, v);
    }
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, stored(c), HOP_GATE_NONE);
    s.form = m->form, s.scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    hop_scan_in in = {.q = m->b[B_Q], .k = m->b[B_K], .v = value};
    hop_decay_forward(o, m->state, &in, &s, m->b[WORK], m->pool);
    if (HOP__OPT(c, normalise)) hop__divide_by_last(m->b[B_O], o, rows, v, 1e-10f);
    hop__cut(m, m->b[B_O], rows * v);
    hop__rms(m, m->b[B_O], m->w[NORM], c->heads, v);
    hop__output(m, m->b[B_O], m->w[OUT], c->heads * v);
}

static const hop__rule linear_rule = {linear_params, linear_init, linear_state, linear_buffers, linear_mix};
HOP__RECURRENT(linear, "S = S + phi(k) v^T, o = scale phi(q)^T S [/ (scale phi(q).sum phi(k) + 1e-10)]",
               hop__ready_value_dim);
