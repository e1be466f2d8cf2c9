/* Mamba-2 (Dao and Gu 2024, arXiv:2405.21060; layer as in mamba_ssm).
 *
 *     (z, x, B, C, dt) = W_in u;  (x, B, C) = SiLU(conv(x, B, C));  dt = softplus(dt + dt_bias)
 *     S_h = e^(-e^A_log dt) S_h + B (dt x_h)ᵀ,   y_h = S_hᵀ C + D_h x_h,   out = Wo RMSNorm(y ⊙ SiLU(z))
 *
 * The gate comes before the norm, which is over all heads together or, with norm_groups, over as many parts
 * of consecutive heads apart, as in Nemotron-H and Zamba2; its weight is one for all parts (one for each
 * number, which other people's networks have, says nothing more: Wo follows). Heads are heads [P = head_dim];
 * consecutive heads share the B and C of a group. There is no scale. Other people's: norm_first, the norm
 * before the gate; norm_scale, factors of each number behind it; dt_min, dt_max.
 *
 * Options: state_dim (128), N; groups (1) and norm_groups (1), divisors of heads; conv (4); norm (1); gate
 * (1).
 *
 * State: per head [N, P], then the inputs of the convolution, (heads P + 2 groups N) (conv - 1). */
#include "build.h"
#include "registry.h"

static const struct hop_option_default mamba2_options[] = {
    {HOP_OPTION_state_dim, 128}, {HOP_OPTION_groups, 1}, {HOP_OPTION_conv, 4},  {HOP_OPTION_norm, 1},
    {HOP_OPTION_norm_groups, 1}, {HOP_OPTION_gate, 1},   {HOP_OPTION_COUNT, 0},
};

static hop_status mamba2_ready(hop_mixer_config *c, hop_error *err)
{
    int64_t groups = HOP__OPT(c, groups), parts = HOP__OPT(c, norm_groups);
    if (c->heads % groups != 0)
        return hop_fail(err, HOP_EDOMAIN, "mamba2: %lld heads are no multiple of %lld groups",
                        (long long)c->heads, (long long)groups);
    if (c->heads % parts != 0)
        return hop_fail(err, HOP_EDOMAIN, "mamba2: %lld heads are no multiple of %lld norm_groups",
                        (long long)c->heads, (long long)parts);
    return HOP_OK;
}

/* Columns of W_in's output: z, then what is convolved (x, B, C), then dt. */
typedef struct widths {
    int64_t inner, shared, conv, z, all; /* shared: B or C of all groups */
} widths;

static widths widths_of(const hop_mixer_config *c)
{
    widths w = {.inner = c->heads * c->head_dim, .shared = HOP__OPT(c, groups) * HOP__OPT(c, state_dim)};
    w.conv = w.inner + 2 * w.shared;
    w.z = HOP__OPT(c, gate) ? w.inner : 0;
    w.all = w.z + w.conv + c->heads;
    return w;
}

static int mamba2_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    widths w = widths_of(c);
    int n = 0;
    hop__param(out, &n, "in_proj.weight", w.all, c->d_model);
    if (HOP__OPT(c, conv) > 0) {
        hop__param(out, &n, "conv1d.weight", w.conv, HOP__OPT(c, conv));
        hop__param(out, &n, "conv1d.bias", w.conv, 0);
    }
    hop__param(out, &n, "dt_bias", c->heads, 0);
    hop__param(out, &n, "A_log", c->heads, 0);
    hop__param(out, &n, "D", c->heads, 0);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "norm.weight", w.inner / HOP__OPT(c, norm_groups), 0);
    if (HOP__OPT(c, norm) && HOP__FOREIGN(c, norm_scale) != 0) hop__param(out, &n, "norm.scale", w.inner, 0);
    hop__param(out, &n, "out_proj.weight", c->d_model, w.inner);
    return n;
}

/* mamba_ssm's: A uniform in [1, 16], dt log-uniform in [0.001, 0.1], D = 1, the convolution as nn.Conv1d. */
static void mamba2_init(const hop_mixer_weights *w)
{
    hop__fill_conv(w, "conv1d.weight");
    hop__fill_conv(w, "conv1d.bias");
    hop__fill_dt_bias(w, "dt_bias");
    hop__fill_log_uniform(w, "A_log", 1.0, 16.0);
}

static hop__val gated(hop_builder *b, hop__val o, int64_t width)
{
    if (width == 0) return o;
    hop__val z = hop__linear_rows(b, hop__x(b), "in_proj.weight", NULL, 0, width);
    return hop__mul(b, o, hop__act(b, z, HOP_ACT_SILU));
}

static hop__val normed(hop_builder *b, hop__val o)
{
    o = hop__rms(b, o, "norm.weight", HOP__OPT(b->c, norm_groups));
    return hop__find(b, "norm.scale") < 0 ? o : hop__with(b, HOP_OP_WEIGH, &o, 1, "norm.scale");
}

static void mamba2_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    widths w = widths_of(c);
    hop__val xbc = hop__linear_rows(b, hop__x(b), "in_proj.weight", NULL, w.z, w.conv);
    xbc = hop__conv(b, xbc, "conv1d.weight", "conv1d.bias", true);
    hop__val dt = hop__linear_rows(b, hop__x(b), "in_proj.weight", "dt_bias", w.z + w.conv, c->heads);
    dt = hop__step_size(b, dt);
    hop__val x = hop__slice(xbc, 0, w.inner), g = hop__grouped(b, HOP_OP_RATE, dt, c->heads, "A_log");
    hop__scan s = {.core = HOP_CORE_DECAY, .gate = HOP_GATE_TOKEN, .scale = 1.0};
    s.key_heads = HOP__OPT(c, groups), s.key_dim = HOP__OPT(c, state_dim);
    s.in[HOP_SCAN_K] = hop__slice(xbc, w.inner, w.shared);
    s.in[HOP_SCAN_Q] = hop__slice(xbc, w.inner + w.shared, w.shared);
    s.in[HOP_SCAN_V] = hop__mul(b, x, dt);
    s.in[HOP_SCAN_G] = g;
    hop__val o = hop__scan_op(b, &s);
    o = hop__add(b, (hop_op){.kind = HOP_OP_SKIP, .dim = c->head_dim}, (const hop__val[]){o, x}, 2, "D",
                 NULL);
    o = HOP__FOREIGN(c, norm_first) != 0 ? gated(b, normed(b, o), w.z) : normed(b, gated(b, o, w.z));
    hop__output(b, o, "out_proj.weight", NULL);
}

/* Heads of a group share their keys, so that one of them is read. Without a norm what is read has a size that
 * step and gate decide. */
static hop_mixer_table mamba2_table(const hop_mixer_config *c)
{
    if (HOP__OPT(c, conv) <= 0 || HOP__OPT(c, norm) <= 0) return (hop_mixer_table){0};
    return (hop_mixer_table){.heads = HOP__OPT(c, groups),
                             .rows = HOP__OPT(c, state_dim),
                             .share = c->heads / HOP__OPT(c, groups),
                             .numbers = c->head_dim};
}

const hop_mixer_ops hop__mixer_mamba2 = {
    .name = "mamba2",
    .equation = "S = e^(-e^A_log dt) S + B (dt x)^T, dt = softplus(.), y = S^T C + D x",
    .kind = HOP_MIXER_RECURRENT,
    .options = mamba2_options,
    .foreign = HOP__TAKES(norm_eps) | HOP__TAKES(norm_scale) | HOP__TAKES(norm_first) | HOP__TAKES(dt_min) |
               HOP__TAKES(dt_max),
    .ready = mamba2_ready,
    .params = mamba2_params,
    .init = mamba2_init,
    .list = mamba2_list,
    .table = mamba2_table,
};
