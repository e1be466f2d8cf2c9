/* Mamba, S6 (Gu, Dao 2023; layer as in state-spaces/mamba's mamba_simple).
 *
 *     x = SiLU(conv(Wx u) + bias), z = Wz u;  r, B, C = W x;  Δ = softplus(Wdt r + bdt), A = -exp(A_log)
 *     h = exp(ΔA) h + Δ B x, per channel;  y = Wo ((C·h + D ⊙ x) ⊙ SiLU(z))
 *
 * Options: expand 2, inner (expand d_model), state_dim 16, dt_rank (d_model / 16, rounded up), conv 4, gate 1
 * (z). Other people's: dt_norms, RMS norms of r, B and C, as Jamba and Falcon-Mamba have them. With conv 0 there is neither convolution nor SiLU before the scan. Heads are not used.
 *
 * State: [inner, state_dim] and (conv - 1) inputs of the convolution, inner each. */
#include "build.h"
#include "registry.h"

#include <math.h>

static const struct hop_option_default mamba_options[] = {
    {HOP_OPTION_expand, 2},     {HOP_OPTION_inner, HOP_OPTION_UNSET},
    {HOP_OPTION_state_dim, 16}, {HOP_OPTION_dt_rank, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},       {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static hop_status mamba_ready(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_inner, HOP__OPT(c, expand) * c->d_model);
    hop__option_default(c, HOP_OPTION_dt_rank, (c->d_model + 15) / 16);
    return HOP_OK;
}

static int mamba_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t inner = HOP__OPT(c, inner), states = HOP__OPT(c, state_dim), rank = HOP__OPT(c, dt_rank);
    int n = 0;
    hop__param(out, &n, "in_proj.weight", (HOP__OPT(c, gate) ? 2 : 1) * inner, c->d_model);
    if (HOP__OPT(c, conv) > 0) {
        hop__param(out, &n, "conv1d.weight", inner, HOP__OPT(c, conv));
        hop__param(out, &n, "conv1d.bias", inner, 0);
    }
    hop__param(out, &n, "x_proj.weight", rank + 2 * states, inner);
    hop__param(out, &n, "dt_proj.weight", inner, rank);
    hop__param(out, &n, "dt_proj.bias", inner, 0);
    hop__param(out, &n, "A_log", inner, states);
    hop__param(out, &n, "D", inner, 0);
    if (HOP__FOREIGN(c, dt_norms) != 0) {
        hop__param(out, &n, "dt_norm.weight", rank, 0);
        hop__param(out, &n, "b_norm.weight", states, 0);
        hop__param(out, &n, "c_norm.weight", states, 0);
    }
    hop__param(out, &n, "out_proj.weight", c->d_model, inner);
    return n;
}

/* A = -1 .. -N (S4D-real), step sizes log-uniform in [0.001, 0.1], Wdt within rank^(-1/2), D = 1:
 * mamba_simple. */
static void mamba_init(const hop_mixer_weights *w)
{
    int64_t states = HOP__OPT(w->c, state_dim), n;
    double bound = 1.0 / sqrt((double)HOP__OPT(w->c, dt_rank));
    float *a_log = hop__weight(w, "A_log", &n);
    hop__fill_conv(w, "conv1d.weight");
    hop__fill_conv(w, "conv1d.bias");
    hop__fill_uniform(w, "dt_proj.weight", -bound, bound);
    hop__fill_dt_bias(w, "dt_proj.bias");
    for (int64_t i = 0; i < n; i++) a_log[i] = (float)log((double)(i % states + 1));
}

static void mamba_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    int64_t inner = HOP__OPT(c, inner), states = HOP__OPT(c, state_dim), rank = HOP__OPT(c, dt_rank);
    hop__val in[4];
    hop__val x = hop__linear_rows(b, hop__x(b), "in_proj.weight", NULL, 0, inner);
    in[HOP_SELECTIVE_X] = x = hop__conv(b, x, "conv1d.weight", "conv1d.bias", true);
    hop__val low = hop__linear_rows(b, x, "x_proj.weight", NULL, 0, rank);
    hop__val bc = hop__linear_rows(b, x, "x_proj.weight", NULL, rank, 2 * states);
    low = hop__rms(b, low, "dt_norm.weight", 1);
    in[HOP_SELECTIVE_DELTA] = hop__step_size(b, hop__linear(b, low, "dt_proj.weight", "dt_proj.bias"));
    in[HOP_SELECTIVE_B] = hop__rms(b, hop__slice(bc, 0, states), "b_norm.weight", 1);
    in[HOP_SELECTIVE_C] = hop__rms(b, hop__slice(bc, states, states), "c_norm.weight", 1);
    hop__val o = hop__add(b, (hop_op){.kind = HOP_OP_SELECTIVE, .key_dim = states}, in, 4, "A_log", "D");
    if (HOP__OPT(c, gate)) {
        hop__val z = hop__linear_rows(b, hop__x(b), "in_proj.weight", NULL, inner, inner);
        o = hop__mul(b, o, hop__act(b, z, HOP_ACT_SILU));
    }
    hop__output(b, o, "out_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_mamba = {
    .name = "mamba",
    .equation = "h = exp(dt A) h + dt B x, y = (C.h + D x) SiLU(z), per channel",
    .kind = HOP_MIXER_RECURRENT,
    .spare = 2, /* B and C are made from channels */
    .options = mamba_options,
    .foreign = HOP__TAKES(norm_eps) | HOP__TAKES(dt_norms),
    .ready = mamba_ready,
    .params = mamba_params,
    .init = mamba_init,
    .list = mamba_list,
};
