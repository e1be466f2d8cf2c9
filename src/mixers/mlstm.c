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
#include "build.h"
#include "registry.h"

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
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int n = 0;
    hop__param_qkv(out, &n, c, (const int64_t[]){kw, kw, vw});
    hop__param(out, &n, "igate_preact.weight", c->heads, d);
    hop__param(out, &n, "igate_preact.bias", c->heads, 0);
    hop__param(out, &n, "fgate_preact.weight", c->heads, d);
    hop__param(out, &n, "fgate_preact.bias", c->heads, 0);
    if (HOP__OPT(c, gate)) hop__param(out, &n, "ogate_preact.weight", vw, d);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "multihead_norm.weight", vw, 0);
    hop__param(out, &n, "out_proj.weight", d, vw);
    return n;
}

/* xLSTM-7B: gates start from their biases alone, -10 for the input and 3 .. 6 over the heads for forgetting.
 */
static void mlstm_init(const hop_mixer_weights *w)
{
    int64_t heads;
    float *f = hop__weight(w, "fgate_preact.bias", &heads);
    hop__fill(w, "igate_preact.weight", 0);
    hop__fill(w, "fgate_preact.weight", 0);
    hop__fill(w, "igate_preact.bias", -10.0);
    for (int64_t h = 0; h < heads; h++)
        f[h] = (float)(3.0 + (heads > 1 ? 3.0 * (double)h / (double)(heads - 1) : 0.0));
}

static void mlstm_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__scan s = {.core = HOP_CORE_MLSTM, .scale = hop__scale(c)};
    s.in[HOP_SCAN_Q] = hop__linear(b, hop__x(b), "q_proj.weight", NULL);
    s.in[HOP_SCAN_K] = hop__linear(b, hop__x(b), "k_proj.weight", NULL);
    s.in[HOP_SCAN_V] = hop__linear(b, hop__x(b), "v_proj.weight", NULL);
    s.in[HOP_SCAN_I] = hop__linear(b, hop__x(b), "igate_preact.weight", "igate_preact.bias");
    s.in[HOP_SCAN_F] = hop__linear(b, hop__x(b), "fgate_preact.weight", "fgate_preact.bias");
    hop__val o = hop__groupnorm(b, hop__scan_op(b, &s), "multihead_norm.weight", NULL, c->heads, 1e-6);
    o = hop__gate(b, o, "ogate_preact.weight", NULL, HOP_ACT_SIGMOID);
    hop__output(b, o, "out_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_mlstm = {
    .name = "mlstm",
    .equation = "C = e^(logsigmoid(f)+m-m') C + e^(i-m') k v^T, n likewise, h = q^T C / max(|q.n|, e^-m')",
    .kind = HOP_MIXER_RECURRENT,
    .options = mlstm_options,
    .ready = mlstm_ready,
    .params = mlstm_params,
    .init = mlstm_init,
    .list = mlstm_list,
};
