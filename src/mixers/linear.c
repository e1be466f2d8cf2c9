/* Linear attention (Katharopoulos et al. 2020, arXiv:2006.16236; layer as in flash-linear-attention).
 *
 *     S += φ(k) vᵀ,   o = scale φ(q)ᵀS,   y = Wo RMSNorm_head(o)
 *
 * Options: value_dim (head_dim); feature, the map φ of each head's q and k: 0 identity, 1 elu + 1 (default),
 * 2 relu, 3 (W1 x + b1) ⊙ (W2 x + b2) with maps of its own for q and k; normalise (0): o is divided by
 * scale φ(q)·Σφ(k) + 1e-10, so that 0/0 is 0; norm (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V]; with normalise [K, V + 1], the last column being Σφ(k). */
#include "build.h"
#include "registry.h"

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
    int64_t k = c->head_dim, v = HOP__OPT(c, value_dim);
    int n = 0;
    hop__param_qkv(out, &n, c, (const int64_t[]){hop__key_width(c), hop__key_width(c), hop__value_width(c)});
    for (int i = 0; HOP__OPT(c, feature) == PRODUCT && i < 8; i++)
        hop__param(out, &n, maps[i], k, i % 2 ? 0 : k);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "norm.weight", v, 0);
    hop__param(out, &n, "o_proj.weight", c->d_model, hop__value_width(c));
    return n;
}

static void linear_init(const hop_mixer_weights *w)
{
    hop__fill(w, "feature_map_q.layer1.bias", 0);
    hop__fill(w, "feature_map_q.layer2.bias", 0);
    hop__fill(w, "feature_map_k.layer1.bias", 0);
    hop__fill(w, "feature_map_k.layer2.bias", 0);
}

/* map: weight and bias of both layers of a product. */
static hop__val feature_map(hop_builder *b, hop__val x, const char *const map[4])
{
    int64_t feature = HOP__OPT(b->c, feature);
    if (feature == ELU1) return hop__act(b, x, HOP_ACT_ELU1);
    if (feature == RELU) return hop__act(b, x, HOP_ACT_RELU);
    if (feature == IDENTITY) return x;
    hop__val one = hop__linear(b, x, map[0], map[1]);
    hop__val two = hop__linear(b, x, map[2], map[3]);
    return hop__mul(b, one, two);
}

static void linear_list(hop_builder *b)
{
    static const char *const q_map[] = {"feature_map_q.layer1.weight", "feature_map_q.layer1.bias",
                                        "feature_map_q.layer2.weight", "feature_map_q.layer2.bias"};
    static const char *const k_map[] = {"feature_map_k.layer1.weight", "feature_map_k.layer1.bias",
                                        "feature_map_k.layer2.weight", "feature_map_k.layer2.bias"};
    const hop_mixer_config *c = b->c;
    hop__val q = feature_map(b, hop__linear(b, hop__x(b), "q_proj.weight", NULL), q_map);
    hop__val k = feature_map(b, hop__linear(b, hop__x(b), "k_proj.weight", NULL), k_map);
    hop__val v = hop__linear(b, hop__x(b), "v_proj.weight", NULL);
    if (HOP__OPT(c, normalise)) v = hop__append_one(b, v, c->heads);
    hop__val o = hop__scan_op(b, &(hop__scan){.core = HOP_CORE_DECAY,
                                              .in = {[HOP_SCAN_Q] = q, [HOP_SCAN_K] = k, [HOP_SCAN_V] = v},
                                              .scale = hop__scale(c)});
    if (HOP__OPT(c, normalise)) o = hop__divide(b, o, c->heads, 1e-10);
    o = hop__rms(b, o, "norm.weight", c->heads);
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_linear = {
    .name = "linear",
    .equation = "S = S + phi(k) v^T, o = scale phi(q)^T S [/ (scale phi(q).sum phi(k) + 1e-10)]",
    .kind = HOP_MIXER_RECURRENT,
    .maps = true,
    .options = linear_options,
    .ready = hop__ready_value_dim,
    .params = linear_params,
    .init = linear_init,
    .list = linear_list,
};
