#include "delta.h"

int hop__delta_params(hop_param *out, const hop_mixer_config *c, const hop__delta *d)
{
    int64_t kw = d->key_heads * c->head_dim, vw = hop__value_width(c), s = d->steps;
    const int64_t width[] = {kw, s * kw, s * vw};
    int n = 0;
    hop__param_qkv(out, &n, c, width);
    hop__param(out, &n, "b_proj.weight", s * d->beta_heads, c->d_model);
    hop__param_convs(out, &n, HOP__OPT(c, conv), width);
    if (HOP__OPT(c, gate) && !d->low_rank_gate) hop__param(out, &n, "g_proj.weight", vw, c->d_model);
    if (HOP__OPT(c, norm)) hop__param(out, &n, "o_norm.weight", HOP__OPT(c, value_dim), 0);
    hop__param(out, &n, "o_proj.weight", c->d_model, vw);
    return n;
}

void hop__delta_inputs(hop_builder *b, const hop__delta *d, hop__scan *s)
{
    const hop_mixer_config *c = b->c;
    *s = (hop__scan){.core = HOP_CORE_DELTA, .key_heads = d->key_heads, .steps = d->steps};
    s->scale = hop__scale(c);
    hop__val q = hop__project_conv(b, "q_proj.weight", "q_conv1d.weight");
    s->in[HOP_SCAN_Q] = hop__grouped(b, HOP_OP_L2, q, d->key_heads, NULL);
    hop__val k = hop__project_conv(b, "k_proj.weight", "k_conv1d.weight");
    s->in[HOP_SCAN_K] = hop__grouped(b, HOP_OP_L2, k, d->steps * d->key_heads, NULL);
    s->in[HOP_SCAN_V] = hop__project_conv(b, "v_proj.weight", "v_conv1d.weight");
    hop__val beta = hop__linear(b, hop__x(b), "b_proj.weight", NULL);
    beta = hop__act_scaled(b, beta, HOP_ACT_SIGMOID, 1.0, HOP__OPT(c, negative) ? 2.0 : 1.0);
    s->in[HOP_SCAN_BETA] = hop__repeat(b, beta, d->steps * c->heads, c->heads / d->beta_heads);
}

void hop__delta_decay_params(hop_param *out, int *n, const hop_mixer_config *c)
{
    hop__param(out, n, "a_proj.weight", c->heads, c->d_model);
    hop__param(out, n, "A_log", c->heads, 0);
    hop__param(out, n, "dt_bias", c->heads, 0);
}

/* flash-linear-attention; step sizes as Mamba-2's. */
void hop__delta_decay_init(const hop_mixer_weights *w)
{
    hop__fill_convs(w);
    hop__fill_log_uniform(w, "A_log", 16.0, 0.0);
    hop__fill_dt_bias(w, "dt_bias");
}

void hop__delta_decay(hop_builder *b, hop__scan *s)
{
    hop__val g = hop__act(b, hop__linear(b, hop__x(b), "a_proj.weight", "dt_bias"), HOP_ACT_SOFTPLUS);
    s->gate = HOP_GATE_TOKEN;
    s->in[HOP_SCAN_G] = hop__grouped(b, HOP_OP_RATE, g, b->c->heads, "A_log");
}

hop__val hop__delta_read(hop_builder *b, const hop__scan *s)
{
    return hop__rms(b, hop__scan_op(b, s), "o_norm.weight", b->c->heads);
}

void hop__delta_output(hop_builder *b, hop__val o)
{
    hop__output(b, hop__gate(b, o, "g_proj.weight", NULL, HOP_ACT_SILU), "o_proj.weight", NULL);
}

hop_mixer_table hop__delta_table(const hop_mixer_config *c, const hop__delta *d)
{
    if (HOP__OPT(c, conv) <= 0) return (hop_mixer_table){0};
    return (hop_mixer_table){.heads = d->key_heads,
                             .rows = c->head_dim,
                             .share = c->heads / d->key_heads,
                             .numbers = HOP__OPT(c, value_dim)};
}
