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
#include "build.h"
#include "registry.h"

static const struct hop_option_default hgrn2_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_COUNT, 0},
};

static int hgrn2_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int n = 0;
    hop__param(out, &n, "q_proj.weight", kw, d);
    hop__param(out, &n, "f_proj.weight", kw, d);
    hop__param(out, &n, "i_proj.weight", vw, d);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "g_norm.weight", vw, 0);
    hop__param(out, &n, "o_proj.weight", d, vw);
    return n;
}

/* log a = logσ(f) and k = 1 - σ(f) = σ(-f), each from f itself: 1 - e^g would cancel. */
static void hgrn2_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__val q = hop__act(b, hop__linear(b, hop__x(b), "q_proj.weight", NULL), HOP_ACT_SILU);
    hop__val f = hop__linear(b, hop__x(b), "f_proj.weight", NULL);
    hop__val k = hop__act_scaled(b, f, HOP_ACT_SIGMOID, -1.0, 1.0);
    hop__val g = hop__act(b, f, HOP_ACT_LOGSIGMOID);
    hop__val v = hop__linear(b, hop__x(b), "i_proj.weight", NULL);
    hop__val o = hop__scan_op(
        b, &(hop__scan){.core = HOP_CORE_DECAY,
                        .gate = HOP_GATE_KEY,
                        .in = {[HOP_SCAN_Q] = q, [HOP_SCAN_K] = k, [HOP_SCAN_V] = v, [HOP_SCAN_G] = g},
                        .scale = hop__scale(c)});
    o = hop__rms(b, o, "g_norm.weight", 1);
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_hgrn2 = {
    .name = "hgrn2",
    .equation = "S = diag(a) S + (1 - a) v^T, a = sigmoid(Wf x), o = scale silu(Wq x)^T S",
    .kind = HOP_MIXER_RECURRENT,
    .options = hgrn2_options,
    .ready = hop__ready_value_dim,
    .params = hgrn2_params,
    .list = hgrn2_list,
};
