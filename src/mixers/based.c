/* Based (Arora et al. 2024, arXiv:2402.18668): linear attention by the Taylor expansion of exp to second
 * order.
 *
 *     o_t = Σ_{j<=t} w_tj v_j / (Σ_{j<=t} w_tj + 1e-6),   w = 1 + s + s²/2,   s = scale q_t·k_j,   y = Wo o
 *
 * w = φ(q)·φ(k) with the features 1, x_i, and x_i x_j for i <= j: 1 + d + d(d+1)/2 of them, for d = head_dim.
 * Those of q carry the factors: 1, scale, scale² (scale²/2 where i = j).
 *
 * Options: value_dim (head_dim). scale: head_dim^(-1/2).
 *
 * State: per head [1 + d + d(d+1)/2, V + 1], the last column being the normaliser Σφ(k). */
#include "build.h"
#include "registry.h"

static const struct hop_option_default based_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_COUNT, 0},
};

static int based_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int n = 0;
    hop__param_qkv(out, &n, c, (const int64_t[]){kw, kw, vw});
    hop__param(out, &n, "o_proj.weight", d, vw);
    return n;
}

static int64_t features(const hop_mixer_config *c)
{
    return 1 + c->head_dim + c->head_dim * (c->head_dim + 1) / 2;
}

static hop__val taylor(hop_builder *b, const char *w, bool scaled)
{
    const hop_mixer_config *c = b->c;
    hop__val x = hop__linear(b, hop__x(b), w, NULL);
    hop_op op = {.kind = HOP_OP_TAYLOR, .groups = c->heads, .dim = c->head_dim, .scaled = scaled};
    op.width = c->heads * features(c), op.scale = hop__scale(c);
    return hop__add(b, op, &x, 1, NULL, NULL);
}

static void based_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__val q = taylor(b, "q_proj.weight", true);
    hop__val k = taylor(b, "k_proj.weight", false);
    hop__val v = hop__append_one(b, hop__linear(b, hop__x(b), "v_proj.weight", NULL), c->heads);
    hop__val o = hop__scan_op(b, &(hop__scan){.core = HOP_CORE_DECAY,
                                              .in = {[HOP_SCAN_Q] = q, [HOP_SCAN_K] = k, [HOP_SCAN_V] = v},
                                              .key_dim = features(c),
                                              .scale = 1.0});
    o = hop__divide(b, o, c->heads, 1e-6);
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_based = {
    .name = "based",
    .equation = "o = sum w v / (sum w + 1e-6), w = 1 + s + s^2/2, s = scale q.k",
    .kind = HOP_MIXER_RECURRENT,
    .options = based_options,
    .ready = hop__ready_value_dim,
    .params = based_params,
    .list = based_list,
};
