#include "build.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- configuration ------------------------------------------------------------------------- */

void hop__option_default(hop_mixer_config *c, hop_option o, int64_t value)
{
    if (c->option[o] == HOP_OPTION_UNSET) c->option[o] = value;
}

hop_status hop__ready_value_dim(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    return HOP_OK;
}

hop_status hop__ready_wide(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_value_dim, 2 * c->head_dim);
    return HOP_OK;
}

hop_status hop__ready_centred(hop_mixer_config *c, const char *name, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    if (HOP__OPT(c, value_dim) > 1 || !HOP__OPT(c, norm)) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: its norm leaves nothing of a value_dim of 1; set norm to 0", name);
}

hop_status hop__ready_attention(hop_mixer_config *c, const char *name, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    if (HOP__OPT(c, rope_dim) <= c->head_dim) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: %lld numbers of a head of %lld cannot be rotated", name,
                    (long long)HOP__OPT(c, rope_dim), (long long)c->head_dim);
}

hop_status hop__ready_causal(const hop_mixer_config *c, const char *name, hop_error *err)
{
    if (c->bidirectional) return hop_fail(err, HOP_EDOMAIN, "%s: looks back only, not both ways", name);
    return HOP_OK;
}

double hop__scale_or(const hop_mixer_config *c, double otherwise)
{
    return c->scale != 0 ? c->scale : otherwise;
}

double hop__scale(const hop_mixer_config *c)
{
    return hop__scale_or(c, 1.0 / sqrt((double)c->head_dim));
}

/* ---- parameters ---------------------------------------------------------------------------- */

void hop__param(hop_param *out, int *n, const char *name, int64_t rows, int64_t cols)
{
    assert(*n < HOP_MIXER_MAX_PARAMS);
    out[(*n)++] = (hop_param){name, {rows, cols}};
}

void hop__param_qkv(hop_param *out, int *n, const hop_mixer_config *c, const int64_t width[3])
{
    static const char *const name[] = {"q_proj.weight", "k_proj.weight", "v_proj.weight"};
    for (int i = 0; i < 3; i++) hop__param(out, n, name[i], width[i], c->d_model);
}

static const char *const convs[] = {"q_conv1d.weight", "k_conv1d.weight", "v_conv1d.weight"};

void hop__param_convs(hop_param *out, int *n, int64_t taps, const int64_t width[3])
{
    for (int i = 0; taps > 0 && i < 3; i++) hop__param(out, n, convs[i], width[i], taps);
}

static int64_t value_dim(const hop_mixer_config *c)
{
    int64_t dim = hop__option_if_any(c, HOP_OPTION_value_dim);
    return dim ? dim : c->head_dim;
}

int hop__attention_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t qw = hop__key_width(c), kw = c->kv_heads * c->head_dim, dv = value_dim(c);
    int64_t latent = hop__option_if_any(c, HOP_OPTION_latent), from = latent ? latent : c->d_model;
    int64_t rotary = hop__option_if_any(c, HOP_OPTION_rope_dim);
    int n = 0;
    hop__param(out, &n, "q_proj.weight", qw, c->d_model);
    if (latent) hop__param(out, &n, "kv_a_proj.weight", latent, c->d_model);
    if (latent) hop__param(out, &n, "kv_a_norm.weight", latent, 0);
    hop__param(out, &n, "k_proj.weight", kw, from);
    hop__param(out, &n, "v_proj.weight", c->kv_heads * dv, from);
    if (hop__option_if_any(c, HOP_OPTION_qk_norm)) {
        const bool wide = HOP__FOREIGN(c, qk_norm_wide) != 0;
        hop__param(out, &n, "q_norm.weight", wide ? qw : c->head_dim, 0);
        hop__param(out, &n, "k_norm.weight", wide ? kw : c->head_dim, 0);
    }
    if (hop__option_if_any(c, HOP_OPTION_gate))
        hop__param(out, &n, "g_proj.weight", c->heads * dv, c->d_model);
    hop__param(out, &n, "o_proj.weight", c->d_model, c->heads * dv);
    if (HOP__FOREIGN(c, qkv_bias) != 0) {
        hop__param(out, &n, "q_proj.bias", qw, 0);
        hop__param(out, &n, "k_proj.bias", kw, 0);
        hop__param(out, &n, "v_proj.bias", c->kv_heads * dv, 0);
    }
    if (HOP__FOREIGN(c, out_bias) != 0) hop__param(out, &n, "o_proj.bias", c->d_model, 0);
    if (HOP__FOREIGN(c, rope_table) != 0)
        hop__param(out, &n, "rope.inv_freq", (rotary ? rotary : c->head_dim) / 2, 0);
    return n;
}

/* ---- initial values ------------------------------------------------------------------------ */

static int64_t floats_of(const hop_param *p)
{
    return p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
}

static int find(const hop_param *p, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(p[i].name, name) == 0) return i;
    return -1;
}

float *hop__weight(const hop_mixer_weights *w, const char *name, int64_t *count)
{
    int i = find(w->param, w->count, name);
    *count = i < 0 ? 0 : floats_of(&w->param[i]);
    return i < 0 ? NULL : w->data[i];
}

void hop__fill(const hop_mixer_weights *w, const char *name, double value)
{
    int64_t n;
    float *p = hop__weight(w, name, &n);
    for (int64_t i = 0; i < n; i++) p[i] = (float)value;
}

void hop__fill_normal(const hop_mixer_weights *w, const char *name, double std)
{
    int64_t n;
    float *p = hop__weight(w, name, &n);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(std * hop_rng_normal(w->rng));
}

void hop__fill_uniform(const hop_mixer_weights *w, const char *name, double lo, double hi)
{
    int64_t n;
    float *p = hop__weight(w, name, &n);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(lo + (hi - lo) * hop_rng_uniform(w->rng));
}

void hop__fill_conv(const hop_mixer_weights *w, const char *name)
{
    double bound = 1.0 / sqrt((double)HOP__OPT(w->c, conv));
    if (HOP__OPT(w->c, conv) > 0) hop__fill_uniform(w, name, -bound, bound);
}

void hop__fill_convs(const hop_mixer_weights *w)
{
    for (int i = 0; i < 3; i++) hop__fill_conv(w, convs[i]);
}

void hop__fill_dt_bias(const hop_mixer_weights *w, const char *name)
{
    int64_t n;
    float *p = hop__weight(w, name, &n);
    for (int64_t i = 0; i < n; i++) {
        double dt = fmax(exp(log(0.001) + hop_rng_uniform(w->rng) * (log(0.1) - log(0.001))), 1e-4);
        p[i] = (float)(dt + log(-expm1(-dt))); /* the inverse of softplus */
    }
}

void hop__fill_log_uniform(const hop_mixer_weights *w, const char *name, double lo, double hi)
{
    int64_t n;
    float *p = hop__weight(w, name, &n);
    for (int64_t i = 0; i < n; i++) {
        double u = hop_rng_uniform(w->rng);
        p[i] = (float)log(hi < lo ? lo * (1.0 - u) : lo + (hi - lo) * u);
    }
}

void hop_mixer_init(const hop_mixer_ops *ops, float *const *params, const hop_mixer_config *c, hop_rng *rng)
{
    hop_mixer_weights w = {.c = c, .data = params, .rng = rng};
    w.count = ops->params(c, w.param);
    for (int i = 0; i < w.count; i++) {
        const hop_param *p = &w.param[i];
        if (p->shape[1])
            hop__fill_normal(&w, p->name, 1.0 / sqrt((double)p->shape[1]));
        else
            hop__fill(&w, p->name, 1.0);
    }
    if (ops->init) ops->init(&w);
}

/* ---- operations ---------------------------------------------------------------------------- */

void hop_mixer_list(hop_list *out, const hop_mixer_ops *ops, const hop_mixer_config *c)
{
    hop_builder b = {.list = out, .c = c};
    b.params = ops->params(c, b.param);
    out->op_count = 0;
    out->buffer_count = HOP_FIRST_BUFFER;
    out->width[HOP_X] = out->width[HOP_Y] = c->d_model;
    ops->list(&b);
    hop__list_finish(out);
}

int64_t hop_mixer_state_floats(const hop_mixer_ops *ops, const hop_mixer_config *c, int64_t t)
{
    hop_list l;
    hop_mixer_list(&l, ops, c);
    return hop_list_state_floats(&l, t);
}

hop__val hop__x(const hop_builder *b)
{
    return (hop__val){HOP_X, 0, b->c->d_model};
}

int hop__find(const hop_builder *b, const char *name)
{
    return name ? find(b->param, b->params, name) : -1;
}

hop_op *hop__op(hop_builder *b, hop_op op, const hop__val *in, int inputs)
{
    hop_list *l = b->list;
    assert(l->op_count < HOP_LIST_OPS && l->buffer_count < HOP_LIST_BUFFERS && inputs <= HOP_OP_INPUTS);
    if (op.width == 0) op.width = in[0].width;
    if (op.width > HOP__TOO_WIDE) op.width = HOP__TOO_WIDE;
    if (op.groups == 0) op.groups = 1;
    if (op.dim == 0) op.dim = op.width / op.groups;
    if (op.steps == 0) op.steps = 1;
    if (op.before == 0) op.before = 1.0;
    if (op.scale == 0) op.scale = 1.0;
    op.par[0] = op.par[1] = -1;
    op.y = l->buffer_count++;
    op.state = -1;
    for (int i = 0; i < HOP_OP_INPUTS; i++)
        op.in[i] = i < inputs && in[i].width > 0 ? (hop_ref){in[i].buffer, in[i].column} : (hop_ref){-1, 0};
    l->width[op.y] = op.width;
    l->op[l->op_count] = op;
    return &l->op[l->op_count++];
}

hop__val hop__add(hop_builder *b, hop_op op, const hop__val *in, int inputs, const char *w, const char *w2)
{
    hop_op *added = hop__op(b, op, in, inputs);
    added->par[0] = hop__find(b, w), added->par[1] = hop__find(b, w2);
    return hop__result(added);
}

hop__val hop__result(const hop_op *op)
{
    return (hop__val){op->y, 0, op->width};
}

hop__val hop__linear_rows(hop_builder *b, hop__val x, const char *w, const char *bias, int64_t first,
                          int64_t rows)
{
    int i = hop__find(b, w);
    assert(i >= 0 && x.width % b->param[i].shape[1] == 0 && first + rows <= b->param[i].shape[0]);
    int64_t in = b->param[i].shape[1], groups = x.width / in;
    hop_op op = {.kind = HOP_OP_LINEAR, .width = groups * rows, .groups = groups, .dim = in, .row = in};
    op.first_row = first;
    return hop__add(b, op, &x, 1, w, bias);
}

hop__val hop__linear(hop_builder *b, hop__val x, const char *w, const char *bias)
{
    int i = hop__find(b, w);
    assert(i >= 0);
    return hop__linear_rows(b, x, w, bias, 0, b->param[i].shape[0]);
}

void hop__output(hop_builder *b, hop__val o, const char *w, const char *bias)
{
    hop__linear(b, o, w, bias);
    hop__end(b);
}

void hop__end(hop_builder *b)
{
    b->list->op[b->list->op_count - 1].y = HOP_Y;
    b->list->buffer_count--;
}

hop__val hop__conv(hop_builder *b, hop__val x, const char *w, const char *bias, bool silu)
{
    int i = hop__find(b, w);
    if (i < 0) return x;
    return hop__add(b, (hop_op){.kind = HOP_OP_CONV, .taps = b->param[i].shape[1], .silu = silu}, &x, 1, w,
                    bias);
}

hop__val hop__project_conv(hop_builder *b, const char *w, const char *conv)
{
    return hop__conv(b, hop__linear(b, hop__x(b), w, NULL), conv, NULL, true);
}

hop__val hop__act_scaled(hop_builder *b, hop__val x, hop_act act, double before, double scale)
{
    hop_op op = {.kind = HOP_OP_ACT, .act = act, .before = before, .scale = scale};
    return hop__add(b, op, &x, 1, NULL, NULL);
}

hop__val hop__act(hop_builder *b, hop__val x, hop_act act)
{
    return hop__act_scaled(b, x, act, 1.0, 1.0);
}

hop__val hop__step_size(hop_builder *b, hop__val x)
{
    const double least = HOP__FOREIGN(b->c, dt_min), most = HOP__FOREIGN(b->c, dt_max);
    x = hop__act(b, x, HOP_ACT_SOFTPLUS);
    if (least == 0 && most == 0) return x;
    return hop__add(b, (hop_op){.kind = HOP_OP_CLAMP, .lo = least, .hi = most > 0 ? most : FLT_MAX}, &x, 1,
                    NULL, NULL);
}

hop__val hop__grouped(hop_builder *b, hop_op_kind kind, hop__val x, int64_t groups, const char *w)
{
    return hop__add(b, (hop_op){.kind = kind, .groups = groups}, &x, 1, w, NULL);
}

hop__val hop__rope(hop_builder *b, hop__val x, int64_t groups, int64_t rotary, double theta)
{
    hop_op op = {.kind = HOP_OP_ROPE, .groups = groups, .theta = theta};
    op.rotary = rotary ? rotary : x.width / groups;
    if (HOP__FOREIGN(b->c, rope_scale) != 0) op.scale = HOP__FOREIGN(b->c, rope_scale);
    op.spread = fmax(HOP__FOREIGN(b->c, rope_spread), 0x1p-21);
    return hop__add(b, op, &x, 1, "rope.inv_freq", NULL);
}

hop__val hop__rms(hop_builder *b, hop__val x, const char *w, int64_t groups)
{
    double eps = HOP__FOREIGN(b->c, norm_eps);
    if (hop__find(b, w) < 0) return x;
    hop_op op = {.kind = HOP_OP_RMS, .groups = groups, .eps = eps > 0 ? eps : HOP__NORM_EPS};
    return hop__add(b, op, &x, 1, w, NULL);
}

hop__val hop__groupnorm(hop_builder *b, hop__val x, const char *w, const char *bias, int64_t groups,
                        double eps)
{
    if (hop__find(b, w) < 0) return x;
    return hop__add(b, (hop_op){.kind = HOP_OP_GROUPNORM, .groups = groups, .eps = eps}, &x, 1, w, bias);
}

hop__val hop__with(hop_builder *b, hop_op_kind kind, const hop__val *in, int inputs, const char *w)
{
    return hop__add(b, (hop_op){.kind = kind}, in, inputs, w, NULL);
}

hop__val hop__mul(hop_builder *b, hop__val x, hop__val y)
{
    const hop_op op = {.kind = HOP_OP_MUL, .dim = x.width / y.width};
    return hop__add(b, op, (const hop__val[]){x, y}, 2, NULL, NULL);
}

hop__val hop__repeat(hop_builder *b, hop__val x, int64_t groups, int64_t times)
{
    const hop_op op = {.kind = HOP_OP_REPEAT, .width = x.width * times, .groups = groups, .times = times};
    return times == 1 ? x : hop__add(b, op, &x, 1, NULL, NULL);
}

hop__val hop__append_one(hop_builder *b, hop__val x, int64_t groups)
{
    hop_op op = {.kind = HOP_OP_APPEND_ONE, .width = x.width + groups, .groups = groups};
    op.dim = x.width / groups;
    return hop__add(b, op, &x, 1, NULL, NULL);
}

hop__val hop__divide(hop_builder *b, hop__val x, int64_t groups, double eps)
{
    const hop_op op = {.kind = HOP_OP_DIVIDE, .width = x.width - groups, .groups = groups, .eps = eps};
    return hop__add(b, op, &x, 1, NULL, NULL);
}

hop__val hop__constant(hop_builder *b, int64_t width, double (*f)(const hop_mixer_config *, int64_t))
{
    return hop__add(b, (hop_op){.kind = HOP_OP_CONSTANT, .width = width, .constant = f}, NULL, 0, NULL, NULL);
}

hop__val hop__gate(hop_builder *b, hop__val o, const char *w, const char *bias, hop_act act)
{
    if (hop__find(b, w) < 0) return o;
    return hop__mul(b, o, hop__act(b, hop__linear(b, hop__x(b), w, bias), act));
}

hop__val hop__scan_op(hop_builder *b, const hop__scan *s)
{
    hop_op op = {.kind = HOP_OP_SCAN, .core = s->core, .gate = s->gate, .scale = s->scale};
    op.steps = s->steps ? s->steps : 1;
    op.width = s->in[HOP_SCAN_V].width / op.steps;
    op.heads = b->c->heads;
    op.kv_heads = s->key_heads ? s->key_heads : op.heads;
    op.key_dim = s->key_dim ? s->key_dim : b->c->head_dim;
    op.value_dim = op.width / op.heads;
    return hop__add(b, op, s->in, HOP_OP_INPUTS, s->u, NULL);
}

/* ---- attention ----------------------------------------------------------------------------- */

/* What leads to a choice must have the same bits however many rows are computed together. */
static hop__val projected(hop_builder *b, hop__val x, const char *w, const char *bias, bool steady)
{
    hop__val y = hop__linear(b, x, w, bias);
    b->list->op[b->list->op_count - 1].steady = steady;
    return y;
}

/* Queries and keys: their norms, then their rotation. */
static hop__val rotated(hop_builder *b, hop__val x, const char *norm, int64_t heads)
{
    x = hop__rms(b, x, norm, HOP__FOREIGN(b->c, qk_norm_wide) != 0 ? 1 : heads);
    if (!(b->c->rope_theta > 0) && HOP__FOREIGN(b->c, rope_table) == 0) return x;
    return hop__rope(b, x, heads, hop__option_if_any(b->c, HOP_OPTION_rope_dim), b->c->rope_theta);
}

hop_op *hop__attention(hop_builder *b, hop_op_kind kind)
{
    const hop_mixer_config *c = b->c;
    bool steady = kind == HOP_OP_SPARSE;
    hop__val q = rotated(b, projected(b, hop__x(b), "q_proj.weight", "q_proj.bias", steady), "q_norm.weight",
                         c->heads),
             x = hop__x(b);
    if (hop__option_if_any(c, HOP_OPTION_latent))
        x = hop__rms(b, projected(b, x, "kv_a_proj.weight", NULL, steady), "kv_a_norm.weight", 1);
    hop__val k =
        rotated(b, projected(b, x, "k_proj.weight", "k_proj.bias", steady), "k_norm.weight", c->kv_heads);
    hop__val v = projected(b, x, "v_proj.weight", "v_proj.bias", steady);
    hop_op op = {.kind = kind, .heads = c->heads, .kv_heads = c->kv_heads, .scale = hop__scale(c)};
    op.dim = op.key_dim = c->head_dim, op.value_dim = value_dim(c), op.width = c->heads * op.value_dim;
    return hop__op(b, op, (const hop__val[]){q, k, v}, 3);
}

void hop__attention_end(hop_builder *b, const hop_op *op)
{
    hop__val o = hop__gate(b, hop__result(op), "g_proj.weight", NULL, HOP_ACT_SIGMOID);
    hop__output(b, o, "o_proj.weight", "o_proj.bias");
}
