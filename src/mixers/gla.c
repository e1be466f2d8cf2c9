/* Gated linear attention (Yang et al. 2023, arXiv:2312.06635; layer as in flash-linear-attention).
 *
 *     S = diag(e^g) S + k vᵀ,  g = logσ(W2 W1 x + b) / 16,   o = scale qᵀS
 *     y = Wo (RMSNorm_head(o) ⊙ swish(Wg x))
 *
 * Options: value_dim (head_dim; the paper's models have 2 head_dim); rank (16), of W2 W1; conv (0: none), a
 * short convolution of q, k and v; norm (1); gate (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V], then the inputs of the convolutions of q, k, v. */
#include "build.h"
#include "registry.h"

static const struct hop_option_default gla_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rank, 16},
    {HOP_OPTION_conv, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static int gla_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int n = 0;
    hop__param_qkv(out, &n, c, (const int64_t[]){kw, kw, vw});
    hop__param_convs(out, &n, HOP__OPT(c, conv), (const int64_t[]){kw, kw, vw});
    hop__param(out, &n, "gk_proj.0.weight", HOP__OPT(c, rank), d);
    hop__param(out, &n, "gk_proj.1.weight", kw, HOP__OPT(c, rank));
    hop__param(out, &n, "gk_proj.1.bias", kw, 0);
    if (HOP__OPT(c, gate)) hop__param(out, &n, "g_proj.weight", vw, d);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "g_norm.weight", HOP__OPT(c, value_dim), 0);
    hop__param(out, &n, "o_proj.weight", d, vw);
    return n;
}

static void gla_init(const hop_mixer_weights *w)
{
    hop__fill_convs(w);
    hop__fill(w, "gk_proj.1.bias", 0);
}

static void gla_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__val q = hop__project_conv(b, "q_proj.weight", "q_conv1d.weight");
    hop__val k = hop__project_conv(b, "k_proj.weight", "k_conv1d.weight");
    hop__val v = hop__project_conv(b, "v_proj.weight", "v_conv1d.weight");
    hop__val low = hop__linear(b, hop__x(b), "gk_proj.0.weight", NULL);
    hop__val g = hop__linear(b, low, "gk_proj.1.weight", "gk_proj.1.bias");
    g = hop__act_scaled(b, g, HOP_ACT_LOGSIGMOID, 1.0, 1.0 / 16.0);
    hop__val o = hop__scan_op(
        b, &(hop__scan){.core = HOP_CORE_DECAY,
                        .gate = HOP_GATE_KEY,
                        .in = {[HOP_SCAN_Q] = q, [HOP_SCAN_K] = k, [HOP_SCAN_V] = v, [HOP_SCAN_G] = g},
                        .scale = hop__scale(c)});
    o = hop__rms(b, o, "g_norm.weight", c->heads);
    o = hop__gate(b, o, "g_proj.weight", NULL, HOP_ACT_SILU);
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_gla = {
    .name = "gla",
    .equation = "S = diag(e^g) S + k v^T, g = logsigmoid(W2 W1 x + b)/16, o = scale q^T S",
    .kind = HOP_MIXER_RECURRENT,
    .options = gla_options,
    .ready = hop__ready_value_dim,
    .params = gla_params,
    .init = gla_init,
    .list = gla_list,
};
