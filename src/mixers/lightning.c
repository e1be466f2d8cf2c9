/* Lightning attention as in MiniMax-01 (arXiv:2501.08313; MiniMaxLightningAttention in Transformers).
 *
 *     q, k, v = SiLU(W x),   S = e^(-slope_h) S + k vᵀ,   o = qᵀS,   y = Wo (RMSNorm(o) ⊙ σ(Wg x))
 *     slope_h = 2^(-8(h+1)/H) (1 - l/(L - 1 + 1e-5) + 1e-5)   in layer l of L, heads h counted from 0
 *
 * The norm is over all heads together. There is no head_dim^(-1/2); a scale that is given is used.
 *
 * Options: value_dim (head_dim); norm (1); gate (1).
 *
 * State: per head [K, V]. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, K, V, GATE, NORM, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_Z, B_DECAY, WORK, BUFFERS };

static const struct hop_option_default lightning_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static int lightning_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = c->heads * c->head_dim, vw = c->heads * HOP__OPT(c, value_dim);
    out[Q] = (hop_param){"q_proj.weight", {kw, d}};
    out[K] = (hop_param){"k_proj.weight", {kw, d}};
    out[V] = (hop_param){"v_proj.weight", {vw, d}};
    if (HOP__OPT(c, gate)) out[GATE] = (hop_param){"output_gate.weight", {vw, d}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"norm.weight", {vw, 0}};
    out[OUT] = (hop_param){"out_proj.weight", {d, vw}};
    return PARAMS;
}

static int64_t lightning_state(const hop_mixer_config *c)
{
    return c->heads * c->head_dim * HOP__OPT(c, value_dim);
}

static int lightning_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kn = tokens * c->heads * c->head_dim, vn = tokens * c->heads * HOP__OPT(c, value_dim);
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_HEAD);
    n[B_Q] = n[B_K] = kn;
    n[B_V] = n[B_O] = vn;
    if (HOP__OPT(c, gate)) n[B_Z] = vn;
    n[B_DECAY] = c->heads;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

static void project_silu(const hop__mix *m, float *y, const float *w, int64_t width)
{
    hop__project(m, y, w, NULL, width);
    hop__silu(y, m->tokens * width);
    hop__cut(m, y, m->tokens * width);
}

static void lightning_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t v = HOP__OPT(c, value_dim), vw = c->heads * v;
    float *decay = m->b[B_DECAY];
    double depth = 1.0 - (double)c->layer / ((double)(c->layers - 1) + 1e-5) + 1e-5;
    project_silu(m, m->b[B_Q], m->w[Q], c->heads * c->head_dim);
    project_silu(m, m->b[B_K], m->w[K], c->heads * c->head_dim);
    project_silu(m, m->b[B_V], m->w[V], vw);
    for (int64_t h = 0; h < c->heads; h++)
        decay[h] = (float)(-exp2(-8.0 * (double)(h + 1) / (double)c->heads) * depth);
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, v, HOP_GATE_HEAD);
    s.form = m->form, s.scale = hop__scale(c, 1.0);
    hop_scan_in in = {.q = m->b[B_Q], .k = m->b[B_K], .v = m->b[B_V], .g = decay};
    hop_decay_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * vw);
    hop__rms(m, m->b[B_O], m->w[NORM], 1, vw);
    if (m->w[GATE]) {
        hop__project_rows(m, m->b[B_Z], m->w[GATE], NULL, vw);
        hop__gate(m, m->b[B_O], m->b[B_Z], vw, HOP__SIGMOID);
    }
    hop__output(m, m->b[B_O], m->w[OUT], vw);
}

static const hop__rule lightning_rule = {lightning_params, NULL, lightning_state, lightning_buffers,
                                         lightning_mix};
HOP__RECURRENT(lightning, "S = e^(-slope_h) S + k v^T, q, k, v = silu(W x), o = q^T S", hop__ready_value_dim);
