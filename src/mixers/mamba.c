/* Mamba, S6 (Gu, Dao 2023; layer as in state-spaces/mamba's mamba_simple).
 *
 *     x = SiLU(conv(Wx u) + bias), z = Wz u;  r, B, C = W x;  Δ = softplus(Wdt r + bdt), A = -exp(A_log)
 *     h = exp(ΔA) h + Δ B x, per channel;  y = Wo ((C·h + D ⊙ x) ⊙ SiLU(z))
 *
 * Options: expand 2, inner (expand d_model), state_dim 16, dt_rank (d_model / 16, rounded up), conv 4, gate 1
 * (z). With conv 0 there is neither convolution nor SiLU before the scan. Heads are not used.
 *
 * State: [inner, state_dim] and (conv - 1) inputs of the convolution, inner each. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { IN, CONV, CONV_BIAS, X, DT, DT_BIAS, A_LOG, SKIP, OUT, PARAMS };
enum { B_RAW, B_X, B_LOW, B_BC, B_DELTA, B_A, B_O, B_Z, WORK, BUFFERS };

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
    out[IN] = (hop_param){"in_proj.weight", {(HOP__OPT(c, gate) ? 2 : 1) * inner, c->d_model}};
    if (HOP__OPT(c, conv) > 0) {
        out[CONV] = (hop_param){"conv1d.weight", {inner, HOP__OPT(c, conv)}};
        out[CONV_BIAS] = (hop_param){"conv1d.bias", {inner, 0}};
    }
    out[X] = (hop_param){"x_proj.weight", {rank + 2 * states, inner}};
    out[DT] = (hop_param){"dt_proj.weight", {inner, rank}};
    out[DT_BIAS] = (hop_param){"dt_proj.bias", {inner, 0}};
    out[A_LOG] = (hop_param){"A_log", {inner, states}};
    out[SKIP] = (hop_param){"D", {inner, 0}};
    out[OUT] = (hop_param){"out_proj.weight", {c->d_model, inner}};
    return PARAMS;
}

/* A = -1 .. -N (S4D-real), step sizes log-uniform in [0.001, 0.1], Wdt within rank^(-1/2), D = 1:
 * mamba_simple. */
static void mamba_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    int64_t inner = HOP__OPT(c, inner), states = HOP__OPT(c, state_dim), taps = HOP__OPT(c, conv);
    double bound = 1.0 / sqrt((double)HOP__OPT(c, dt_rank)), bias = taps > 0 ? 1.0 / sqrt((double)taps) : 0;
    hop__fill_conv(w[CONV], inner, taps, rng);
    hop__fill_uniform(w[CONV_BIAS], inner, -bias, bias, rng);
    hop__fill_uniform(w[DT], inner * HOP__OPT(c, dt_rank), -bound, bound, rng);
    hop__fill_dt_bias(w[DT_BIAS], inner, rng);
    for (int64_t i = 0; i < inner * states; i++) w[A_LOG][i] = (float)log((double)(i % states + 1));
}

static int64_t mamba_state(const hop_mixer_config *c)
{
    int64_t inner = HOP__OPT(c, inner);
    return inner * HOP__OPT(c, state_dim) + hop__past_floats(c, inner);
}

static hop_selective selective(const hop_mixer_config *c, int64_t tokens)
{
    int64_t inner = HOP__OPT(c, inner), states = HOP__OPT(c, state_dim);
    return (hop_selective){.tokens = tokens,
                           .width = inner,
                           .states = states,
                           .x_stride = inner,
                           .delta_stride = inner,
                           .b_stride = 2 * states,
                           .c_stride = 2 * states,
                           .o_stride = inner};
}

static int mamba_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t floats[HOP__BUFFERS])
{
    int64_t inner = HOP__OPT(c, inner), states = HOP__OPT(c, state_dim);
    hop_selective s = selective(c, tokens);
    floats[B_RAW] = HOP__OPT(c, conv) > 0 ? tokens * inner : 0;
    floats[B_X] = floats[B_DELTA] = floats[B_O] = tokens * inner;
    floats[B_LOW] = tokens * HOP__OPT(c, dt_rank);
    floats[B_BC] = tokens * 2 * states;
    floats[B_A] = inner * states;
    floats[B_Z] = HOP__OPT(c, gate) ? tokens * inner : 0;
    floats[WORK] = (int64_t)hop_selective_scratch(&s, threads);
    return BUFFERS;
}

/* A = -exp(A_log), kept finite: a step size of exactly 0 then holds whatever A_log is. */
static void rates(float *a, const float *a_log, int64_t n)
{
    for (int64_t i = 0; i < n; i++) a[i] = fminf(a_log[i], 69.0f);
    hop__exp(a, n);
    for (int64_t i = 0; i < n; i++) a[i] = -a[i];
}

static void mamba_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t inner = HOP__OPT(c, inner), states = HOP__OPT(c, state_dim), rank = HOP__OPT(c, dt_rank);
    float *x = m->b[B_X], *delta = m->b[B_DELTA], *bc = m->b[B_BC], *o = m->b[B_O], *z = m->b[B_Z];
    float *past = m->state + inner * states;
    hop__short s = {.w = m->w[CONV], .bias = m->w[CONV_BIAS], .width = inner};
    hop__project_conv(m, x, m->b[B_RAW], &past, m->w[IN], s);
    hop__linear(m, m->b[B_LOW], x, m->w[X], NULL, (hop__shape){m->tokens, rank, inner});
    hop__linear(m, bc, x, m->w[X] + rank * inner, NULL, (hop__shape){m->tokens, 2 * states, inner});
    hop__linear(m, delta, m->b[B_LOW], m->w[DT], m->w[DT_BIAS], (hop__shape){m->tokens, inner, rank});
    hop__softplus(delta, m->tokens * inner);
    hop__cut(m, delta, m->tokens * inner);
    rates(m->b[B_A], m->w[A_LOG], inner * states);
    hop_selective shape = selective(c, m->tokens);
    hop_selective_in in = {
        .x = x, .delta = delta, .A = m->b[B_A], .B = bc, .C = bc + states, .D = m->w[SKIP]};
    hop_selective_forward(o, m->state, &in, &shape, m->b[WORK], m->pool);
    hop__cut(m, o, m->tokens * inner);
    if (z) {
        hop__project_rows(m, z, m->w[IN] + inner * c->d_model, NULL, inner);
        hop__gate(m, o, z, inner, HOP__SILU);
    }
    hop__output(m, o, m->w[OUT], inner);
}

static const hop__rule mamba_rule = {
    .params = mamba_params,
    .init = mamba_init,
    .state = mamba_state,
    .buffers = mamba_buffers,
    .mix = mamba_mix,
};

HOP__RECURRENT(mamba, "h = exp(dt A) h + dt B x, y = (C.h + D x) SiLU(z), per channel", mamba_ready);
