/* A mixture of experts: MLPs of which every token takes a few.
 *
 *     w = the weights of the topk experts that Wr x scores highest (ROUTE in ops.h)
 *     y = sum over experts e of w_e Wd_e (act(Wg_e x) ⊙ Wu_e x)  +  the same of what all tokens share, times σ(Ws x)
 *
 * All experts are one MLP of experts · inner hidden units, of which those that a token did not choose are multiplied by
 * 0: what runs, proves or differentiates products and sums needs to know nothing else.
 *
 * Options: experts, topk (2), inner, the hidden units of an expert (4 d_model), shared, those that all tokens have (0).
 * Other people's: mlp_act, mlp_plain, router_*, shared_gate. There is no state. */
#include "build.h"
#include "registry.h"

static const struct hop_option_default moe_options[] = {
    {HOP_OPTION_experts, 8}, {HOP_OPTION_topk, 2},  {HOP_OPTION_inner, HOP_OPTION_UNSET},
    {HOP_OPTION_shared, 0},  {HOP_OPTION_COUNT, 0},
};

enum { MOST_GROUPS = 64 };

static int64_t groups_of(const hop_mixer_config *c)
{
    return HOP__FOREIGN(c, router_groups) > 0 ? (int64_t)HOP__FOREIGN(c, router_groups) : 1;
}

static int64_t open_of(const hop_mixer_config *c)
{
    return HOP__FOREIGN(c, router_open) > 0 ? (int64_t)HOP__FOREIGN(c, router_open) : 1;
}

static hop_status moe_ready(hop_mixer_config *c, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_inner, 4 * c->d_model);
    const int64_t experts = HOP__OPT(c, experts), groups = groups_of(c);
    if (groups > MOST_GROUPS || experts % groups || open_of(c) > groups)
        return hop_fail(err, HOP_EDOMAIN, "moe: %lld experts are not in %lld groups, of which %lld are open",
                        (long long)experts, (long long)groups, (long long)open_of(c));
    if (HOP__OPT(c, topk) > experts / groups * open_of(c))
        return hop_fail(err, HOP_EDOMAIN, "moe: a token cannot take %lld of %lld experts",
                        (long long)HOP__OPT(c, topk), (long long)(experts / groups * open_of(c)));
    return hop__ready_act(c, "moe", err);
}

static int moe_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    const int64_t d = c->d_model, experts = HOP__OPT(c, experts), hidden = experts * HOP__OPT(c, inner);
    const int64_t shared = HOP__OPT(c, shared);
    const bool gated = HOP__FOREIGN(c, mlp_plain) == 0;
    int n = 0;
    hop__param(out, &n, "router.weight", experts, d);
    if (HOP__FOREIGN(c, router_bias) != 0) hop__param(out, &n, "router.bias", experts, 0);
    if (gated) hop__param(out, &n, "gate_proj.weight", hidden, d);
    hop__param(out, &n, "up_proj.weight", hidden, d);
    hop__param(out, &n, "down_proj.weight", d, hidden);
    if (!shared) return n;
    if (gated) hop__param(out, &n, "shared.gate_proj.weight", shared, d);
    hop__param(out, &n, "shared.up_proj.weight", shared, d);
    hop__param(out, &n, "shared.down_proj.weight", d, shared);
    if (HOP__FOREIGN(c, shared_gate) != 0) hop__param(out, &n, "shared_gate.weight", 1, d);
    return n;
}

static void moe_init(const hop_mixer_weights *w)
{
    hop__fill(w, "router.bias", 0);
}

static hop__val routed(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    const double scale = HOP__FOREIGN(c, router_scale);
    hop__val scores = hop__linear(b, hop__x(b), "router.weight", NULL);
    hop_op op = {
        .kind = HOP_OP_ROUTE, .groups = groups_of(c), .block = open_of(c), .topk = HOP__OPT(c, topk)};
    op.act = HOP__FOREIGN(c, router_sigmoid) != 0 ? HOP_ACT_SIGMOID : HOP_ACT_EXP;
    op.scaled = HOP__FOREIGN(c, router_share) != 0;
    op.scale = scale > 0 ? scale : 1, op.eps = HOP__FOREIGN(c, router_eps);
    return hop__add(b, op, &scores, 1, "router.bias", NULL);
}

static void moe_list(hop_builder *b)
{
    const hop__gated own = {.gate = "gate_proj.weight", .up = "up_proj.weight"},
                     all = {.gate = "shared.gate_proj.weight", .up = "shared.up_proj.weight"};
    hop__val w = routed(b), h = hop__mul(b, hop__hidden(b, &own), w);
    if (HOP__OPT(b->c, shared) == 0) {
        hop__output(b, h, "down_proj.weight", NULL);
        return;
    }
    hop__val y = hop__linear(b, h, "down_proj.weight", NULL), s = hop__hidden(b, &all);
    if (hop__find(b, "shared_gate.weight") >= 0)
        s = hop__mul(b, s,
                     hop__act(b, hop__linear(b, hop__x(b), "shared_gate.weight", NULL), HOP_ACT_SIGMOID));
    s = hop__linear(b, s, "shared.down_proj.weight", NULL);
    hop__with(b, HOP_OP_ADD, (const hop__val[]){y, s}, 2, NULL);
    hop__end(b);
}

const hop_mixer_ops hop__mixer_moe = {
    .name = "moe",
    .equation = "y = sum_e w_e Wd_e (act(Wg_e x) * Wu_e x), each token alone",
    .kind = HOP_MIXER_ALONE,
    .options = moe_options,
    .foreign = HOP__TAKES(mlp_act) | HOP__TAKES(mlp_plain) | HOP__TAKES(router_sigmoid) |
               HOP__TAKES(router_share) | HOP__TAKES(router_scale) | HOP__TAKES(router_eps) |
               HOP__TAKES(router_bias) | HOP__TAKES(router_groups) | HOP__TAKES(router_open) |
               HOP__TAKES(shared_gate),
    .ready = moe_ready,
    .params = moe_params,
    .init = moe_init,
    .list = moe_list,
};
