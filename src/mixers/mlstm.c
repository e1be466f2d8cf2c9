/* mLSTM, the matrix memory of xLSTM (Beck et al. 2024, arXiv:2405.04517; layer as in xLSTM-7B's mLSTMLayer).
 *
 *     i = Wi x + bi,  f = Wf x + bf (a number a head),   m' = max(logσ(f) + m, i)
 *     C = e^(logσ(f)+m-m') C + e^(i-m') k vᵀ,   n = e^(logσ(f)+m-m') n + e^(i-m') k
 *     h = scale qᵀC / (max(|scale q·n|, e^(-m')) + 1e-6),   y = Wo (LayerNorm_head(h) ⊙ σ(Wz x))
 *
 * Options: value_dim (head_dim; xLSTM-7B has 2 head_dim); norm (1), per head with mean, no bias; gate (1).
 * scale: head_dim^(-1/2). The gates are not soft-capped.
 *
 * State: per head C [K, V], n [K], m. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, K, V, I, I_BIAS, F, F_BIAS, GATE, NORM, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_Z, B_I, B_F, WORK, BUFFERS };

static const struct hop_option_default mlstm_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static hop_status mlstm_ready(hop_mixer_config *c, hop_error *err)
{
    return hop__ready_centred(c, "mlstm", err);
}

static int mlstm_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = c->heads * c->head_dim, vw = c->heads * HOP__OPT(c, value_dim);
    out[Q] = (hop_param){"q_proj.weight", {kw, d}};
    out[K] = (hop_param){"k_proj.weight", {kw, d}};
    out[V] = (hop_param){"v_proj.weight", {vw, d}};
    out[I] = (hop_param){"igate_preact.weight", {c->heads, d}};
    out[I_BIAS] = (hop_param){"igate_preact.bias", {c->heads, 0}};
    out[F] = (hop_param){"fgate_preact.weight", {c->heads, d}};
    out[F_BIAS] = (hop_param){"fgate_preact.bias", {c->heads, 0}};
    if (HOP__OPT(c, gate)) out[GATE] = (hop_param){"ogate_preact.weight", {vw, d}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"multihead_norm.weight", {vw, 0}};
    out[OUT] = (hop_param){"out_proj.weight", {d, vw}};
    return PARAMS;
}

/* xLSTM-7B: gates start from their biases alone, -10 for the input and 3 .. 6 over the heads for forgetting.
 */
static void mlstm_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    (void)rng;
    hop__fill(w[I], c->heads * c->d_model, 0.0);
    hop__fill(w[F], c->heads * c->d_model, 0.0);
    hop__fill(w[I_BIAS], c->heads, -10.0);
    for (int64_t h = 0; h < c->heads; h++)
        w[F_BIAS][h] = (float)(3.0 + (c->heads > 1 ? 3.0 * (double)h / (double)(c->heads - 1) : 0.0));
}

static int64_t mlstm_state(const hop_mixer_config *c)
{
    return c->heads * (c->head_dim * HOP__OPT(c, value_dim) + c->head_dim + 1);
}

static int mlstm_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kn = tokens * c->heads * c->head_dim, vn = tokens * c->heads * HOP__OPT(c, value_dim);
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_NONE);
    n[B_Q] = n[B_K] = kn;
    n[B_V] = n[B_O] = vn;
    if (HOP__OPT(c, gate)) n[B_Z] = vn;
    n[B_I] = n[B_F] = tokens * c->heads;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

static void mlstm_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t v = HOP__OPT(c, value_dim), vw = c->heads * v;
    hop__project(m, m->b[B_Q], m->w[Q], NULL, c->heads * c->head_dim);
    hop__project(m, m->b[B_K], m->w[K], NULL, c->heads * c->head_dim);
    hop__project(m, m->b[B_V], m->w[V], NULL, vw);
    hop__project(m, m->b[B_I], m->w[I], m->w[I_BIAS], c->heads);
    hop__project(m, m->b[B_F], m->w[F], m->w[F_BIAS], c->heads);
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, v, HOP_GATE_NONE);
    s.form = m->form, s.scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    hop_scan_in in = {.q = m->b[B_Q], .k = m->b[B_K], .v = m->b[B_V], .i = m->b[B_I], .f = m->b[B_F]};
    hop_mlstm_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * vw);
    hop__groupnorm(m, m->b[B_O], m->w[NORM], NULL, c->heads, v, 1e-6f);
    if (m->w[GATE]) {
        hop__project_rows(m, m->b[B_Z], m->w[GATE], NULL, vw);
        hop__gate(m, m->b[B_O], m->b[B_Z], vw, HOP__SIGMOID);
    }
    hop__output(m, m->b[B_O], m->w[OUT], vw);
}

static const hop__rule mlstm_rule = {mlstm_params, mlstm_init, mlstm_state, mlstm_buffers, mlstm_mix};
HOP__RECURRENT(mlstm,
               "C = e^(logsigmoid(f)+m-m') C + e^(i-m') k v^T, n likewise, h = q^T C / max(|q.n|, e^-m')",
               mlstm_ready);
