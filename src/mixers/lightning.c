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
#include "build.h"
#include "registry.h"

#include <math.h>

static const struct hop_option_default lightning_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static int lightning_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int n = 0;
    hop__param_qkv(out, &n, c, (const int64_t[]){kw, kw, vw});
    if (HOP__OPT(c, gate)) hop__param(out, &n, "output_gate.weight", vw, d);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "norm.weight", vw, 0);
    hop__param(out, &n, "out_proj.weight", d, vw);
    return n;
}

static double log_decay(const hop_mixer_config *c, int64_t head)
{
    const double own = HOP__FOREIGN(c, at_layer), all = HOP__FOREIGN(c, of_layers);
    const double layer = own > 0 ? own - 1 : (double)c->layer, layers = own > 0 ? all : (double)c->layers;
    double depth = 1.0 - layer / (layers - 1 + 1e-5) + 1e-5;
    return -exp2(-8.0 * (double)(head + 1) / (double)c->heads) * depth;
}

static void lightning_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__val q = hop__act(b, hop__linear(b, hop__x(b), "q_proj.weight", NULL), HOP_ACT_SILU);
    hop__val k = hop__act(b, hop__linear(b, hop__x(b), "k_proj.weight", NULL), HOP_ACT_SILU);
    hop__val v = hop__act(b, hop__linear(b, hop__x(b), "v_proj.weight", NULL), HOP_ACT_SILU);
    hop__val g = hop__constant(b, c->heads, log_decay);
    hop__val o = hop__scan_op(
        b, &(hop__scan){.core = HOP_CORE_DECAY,
                        .gate = HOP_GATE_HEAD,
                        .in = {[HOP_SCAN_Q] = q, [HOP_SCAN_K] = k, [HOP_SCAN_V] = v, [HOP_SCAN_G] = g},
                        .scale = hop__scale_or(c, 1.0)});
    o = hop__rms(b, o, "norm.weight", 1);
    o = hop__gate(b, o, "output_gate.weight", NULL, HOP_ACT_SIGMOID);
    hop__output(b, o, "out_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_lightning = {
    .name = "lightning",
    .equation = "S = e^(-slope_h) S + k v^T, q, k, v = silu(W x), o = q^T S",
    .kind = HOP_MIXER_RECURRENT,
    .pairs = true,
    .options = lightning_options,
    .foreign = HOP__TAKES(norm_eps) | HOP__TAKES(at_layer) | HOP__TAKES(of_layers),
    .ready = hop__ready_value_dim,
    .params = lightning_params,
    .list = lightning_list,
};
