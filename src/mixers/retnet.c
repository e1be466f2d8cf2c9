/* RetNet's multi-scale retention (Sun et al. 2023, arXiv:2307.08621; layer as in flash-linear-attention).
 *
 *     S = γ_h S + k vᵀ,  γ_h = 1 - 2^(-5-h),   o = scale qᵀS,   y = Wo (RMSNorm_head(o) ⊙ swish(Wg x))
 *
 * Options: value_dim (2 head_dim); rope (1), with rope_theta (10000); conv (0: none), a short convolution of
 * q, k and v; norm (1); gate (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V], then the inputs of the convolutions of q, k, v. */
#include "build.h"
#include "registry.h"

#include <math.h>

static const struct hop_option_default retnet_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rope, 1},
    {HOP_OPTION_conv, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static int retnet_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int n = 0;
    hop__param_qkv(out, &n, c, (const int64_t[]){kw, kw, vw});
    hop__param_convs(out, &n, HOP__OPT(c, conv), (const int64_t[]){kw, kw, vw});
    if (HOP__OPT(c, gate)) hop__param(out, &n, "g_proj.weight", vw, d);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "g_norm.weight", HOP__OPT(c, value_dim), 0);
    hop__param(out, &n, "o_proj.weight", d, vw);
    return n;
}

static double log_decay(const hop_mixer_config *c, int64_t head)
{
    (void)c;
    return log1p(-exp2(-5.0 - (double)head));
}

static void retnet_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    double theta = c->rope_theta > 0 ? c->rope_theta : 10000.0;
    hop__val q = hop__project_conv(b, "q_proj.weight", "q_conv1d.weight");
    hop__val k = hop__project_conv(b, "k_proj.weight", "k_conv1d.weight");
    hop__val v = hop__project_conv(b, "v_proj.weight", "v_conv1d.weight");
    if (HOP__OPT(c, rope)) q = hop__rope(b, q, c->heads, 0, theta);
    if (HOP__OPT(c, rope)) k = hop__rope(b, k, c->heads, 0, theta);
    hop__val g = hop__constant(b, c->heads, log_decay);
    hop__val o = hop__scan_op(
        b, &(hop__scan){.core = HOP_CORE_DECAY,
                        .gate = HOP_GATE_HEAD,
                        .in = {[HOP_SCAN_Q] = q, [HOP_SCAN_K] = k, [HOP_SCAN_V] = v, [HOP_SCAN_G] = g},
                        .scale = hop__scale(c)});
    o = hop__rms(b, o, "g_norm.weight", c->heads);
    o = hop__gate(b, o, "g_proj.weight", NULL, HOP_ACT_SILU);
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_retnet = {
    .name = "retnet",
    .equation = "S = (1 - 2^(-5-h)) S + k v^T, q and k rotated, o = scale q^T S",
    .kind = HOP_MIXER_RECURRENT,
    .options = retnet_options,
    .ready = hop__ready_wide,
    .params = retnet_params,
    .init = hop__fill_convs,
    .list = retnet_list,
};
