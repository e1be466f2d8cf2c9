/* An MLP that stands in a pattern by itself: other people's blocks of one rule each, and what a block's own has not.
 *
 *     y = Wd (act(Wg x + bg) ⊙ (Wu x + bu)) + bd,   without a gate  y = Wd act(Wu x + bu) + bd
 *
 * Options: inner, its hidden units (4 d_model). Other people's: mlp_act, mlp_plain, mlp_bias. There is no state. */
#include "build.h"
#include "registry.h"

static const struct hop_option_default mlp_options[] = {
    {HOP_OPTION_inner, HOP_OPTION_UNSET},
    {HOP_OPTION_COUNT, 0},
};

static hop_status mlp_ready(hop_mixer_config *c, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_inner, 4 * c->d_model);
    return hop__ready_act(c, "mlp", err);
}

static int mlp_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    const int64_t hidden = HOP__OPT(c, inner), d = c->d_model;
    const bool gated = HOP__FOREIGN(c, mlp_plain) == 0, biased = HOP__FOREIGN(c, mlp_bias) != 0;
    int n = 0;
    if (gated) hop__param(out, &n, "gate_proj.weight", hidden, d);
    if (gated && biased) hop__param(out, &n, "gate_proj.bias", hidden, 0);
    hop__param(out, &n, "up_proj.weight", hidden, d);
    if (biased) hop__param(out, &n, "up_proj.bias", hidden, 0);
    hop__param(out, &n, "down_proj.weight", d, hidden);
    if (biased) hop__param(out, &n, "down_proj.bias", d, 0);
    return n;
}

static void mlp_init(const hop_mixer_weights *w)
{
    hop__fill(w, "gate_proj.bias", 0);
    hop__fill(w, "up_proj.bias", 0);
    hop__fill(w, "down_proj.bias", 0);
}

static const hop_act acts[] = {HOP_ACT_SILU, HOP_ACT_GELU, HOP_ACT_RELU2};

hop_status hop__ready_act(const hop_mixer_config *c, const char *name, hop_error *err)
{
    const double kind = HOP__FOREIGN(c, mlp_act);
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (kind == (double)i) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: mlp_act: no function has the number %g", name, kind);
}

hop__val hop__hidden(hop_builder *b, const hop__gated *p)
{
    const hop_act act = acts[(int)HOP__FOREIGN(b->c, mlp_act)];
    hop__val up = hop__linear(b, hop__x(b), p->up, p->up_bias);
    if (hop__find(b, p->gate) < 0) return hop__act(b, up, act);
    return hop__mul(b, hop__act(b, hop__linear(b, hop__x(b), p->gate, p->gate_bias), act), up);
}

static void mlp_list(hop_builder *b)
{
    const hop__gated p = {"gate_proj.weight", "gate_proj.bias", "up_proj.weight", "up_proj.bias"};
    hop__output(b, hop__hidden(b, &p), "down_proj.weight", "down_proj.bias");
}

const hop_mixer_ops hop__mixer_mlp = {
    .name = "mlp",
    .equation = "y = Wd (act(Wg x) * Wu x), each token alone",
    .kind = HOP_MIXER_ALONE,
    .options = mlp_options,
    .foreign = HOP__TAKES(mlp_act) | HOP__TAKES(mlp_plain) | HOP__TAKES(mlp_bias),
    .ready = mlp_ready,
    .params = mlp_params,
    .init = mlp_init,
    .list = mlp_list,
};
