/* HGRN2 (Qin et al. 2024, arXiv:2404.07904; layer as in flash-linear-attention).
 *
 *     q = SiLU(Wq x),  a = lb + (1 - lb) σ(Wf x),  k = 1 - a,  v = Wi x
 *     S = diag(a) S + k vᵀ,   o = scale qᵀS,   y = Wo RMSNorm(o), over all heads together
 *
 * The lower bound lb of the forget gate, which the paper learns for all layers of a network together, is 0
 * here, in every layer: what the reference has in its first layer, and wherever no bound is given.
 *
 * Options: value_dim (head_dim); norm (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V]. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, F, I, NORM, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_DECAY, WORK, BUFFERS };

static const struct hop_option_default hgrn2_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_COUNT, 0},
};

static int hgrn2_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = c->heads * c->head_dim, vw = c->heads * HOP__OPT(c, value_dim);
    out[Q] = (hop_param){"q_proj.weight", {kw, d}};
    out[F] = (hop_param){"f_proj.weight", {kw, d}};
    out[I] = (hop_param){"i_proj.weight", {vw, d}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"g_norm.weight", {vw, 0}};
    out[OUT] = (hop_param){"o_proj.weight", {d, vw}};
    return PARAMS;
}

static int64_t hgrn2_state(const hop_mixer_config *c)
{
    return c->heads * c->head_dim * HOP__OPT(c, value_dim);
}

static int hgrn2_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kn = tokens * c->heads * c->head_dim, vn = tokens * c->heads * HOP__OPT(c, value_dim);
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_KEY);
    n[B_Q] = n[B_K] = n[B_DECAY] = kn;
    n[B_V] = n[B_O] = vn;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

/* log a = logσ(f) and k = 1 - σ(f) = σ(-f), each from f itself: 1 - e^g would cancel. */
static void gates(const hop__mix *m)
{
    int64_t n = m->tokens * m->c->heads * m->c->head_dim;
    float *k = m->b[B_K], *g = m->b[B_DECAY];
    hop__project(m, g, m->w[F], NULL, m->c->heads * m->c->head_dim);
    for (int64_t i = 0; i < n; i++) k[i] = -g[i];
    hop__sigmoid(k, n);
    hop__logsigmoid(g, n);
    hop__cut(m, k, n);
    hop__cut(m, g, n);
}

static void hgrn2_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t v = HOP__OPT(c, value_dim), kw = c->heads * c->head_dim, vw = c->heads * v;
    hop__project(m, m->b[B_Q], m->w[Q], NULL, kw);
    hop__silu(m->b[B_Q], m->tokens * kw);
    hop__cut(m, m->b[B_Q], m->tokens * kw);
    gates(m);
    hop__project(m, m->b[B_V], m->w[I], NULL, vw);
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, v, HOP_GATE_KEY);
    s.form = m->form, s.scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    hop_scan_in in = {.q = m->b[B_Q], .k = m->b[B_K], .v = m->b[B_V], .g = m->b[B_DECAY]};
    hop_decay_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * vw);
    hop__rms(m, m->b[B_O], m->w[NORM], 1, vw);
    hop__output(m, m->b[B_O], m->w[OUT], vw);
}

static const hop__rule hgrn2_rule = {hgrn2_params, NULL, hgrn2_state, hgrn2_buffers, hgrn2_mix};
HOP__RECURRENT(hgrn2, "S = diag(a) S + (1 - a) v^T, a = sigmoid(Wf x), o = scale silu(Wq x)^T S",
               hop__ready_value_dim);
