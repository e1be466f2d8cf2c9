/* parts.c - from a rule to a mixer's table, and the pieces that mixers share. */
#include "parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- rules --------------------------------------------------------------------------------- */

int hop__rule_params(const hop__rule *r, const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop_param all[HOP_MIXER_MAX_PARAMS] = {{0}};
    int count = r->params(c, all), n = 0;
    assert(count <= HOP_MIXER_MAX_PARAMS);
    for (int i = 0; i < count; i++)
        if (all[i].name) out[n++] = all[i];
    return n;
}

/* Puts the pointers of the existing parameters to their places in the rule's enum. */
static void spread(const hop__rule *r, const hop_mixer_config *c, const float *const *packed,
                   const float *w[HOP_MIXER_MAX_PARAMS])
{
    hop_param all[HOP_MIXER_MAX_PARAMS] = {{0}};
    int count = r->params(c, all);
    for (int i = 0; i < HOP_MIXER_MAX_PARAMS; i++) w[i] = i < count && all[i].name ? *packed++ : NULL;
}

void hop__rule_init(const hop__rule *r, float *const *packed, const hop_mixer_config *c, hop_rng *rng)
{
    hop_param all[HOP_MIXER_MAX_PARAMS] = {{0}};
    float *w[HOP_MIXER_MAX_PARAMS] = {0};
    int count = r->params(c, all);
    for (int i = 0; i < count; i++) {
        const int64_t *shape = all[i].shape;
        if (!all[i].name) continue;
        w[i] = *packed++;
        if (shape[1])
            hop__fill_normal(w[i], shape[0] * shape[1], 1.0 / sqrt((double)shape[1]), rng);
        else
            hop__fill(w[i], shape[0], 1.0);
    }
    if (r->init) r->init(w, c, rng);
}

static size_t buffers_size(const hop__rule *r, const hop_mixer_config *c, int64_t tokens, int threads)
{
    int64_t floats[HOP__BUFFERS] = {0};
    int count = r->buffers(c, tokens, threads, floats);
    size_t bytes = 0;
    assert(count <= HOP__BUFFERS);
    for (int i = 0; i < count; i++)
        if (floats[i] > 0) bytes += hop_arena_floats_size((size_t)floats[i]);
    return bytes;
}

static void buffers_take(float *b[HOP__BUFFERS], const hop__rule *r, const hop_mixer_config *c,
                         int64_t tokens, const hop_mixer_io *io, int threads)
{
    int64_t floats[HOP__BUFFERS] = {0};
    int count = r->buffers(c, tokens, threads, floats);
    for (int i = 0; i < HOP__BUFFERS; i++)
        b[i] = i < count && floats[i] > 0 ? hop_arena_floats(io->scratch, (size_t)floats[i]) : NULL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

size_t hop__rule_scratch(const hop__rule *r, const hop_mixer_config *c, int64_t tokens, int threads)
{
    return hop_arena_floats_size((size_t)r->state(c)) +
           buffers_size(r, c, least(tokens, HOP__SEGMENT), threads);
}

size_t hop__rule_step_scratch(const hop__rule *r, const hop_mixer_config *c)
{
    return buffers_size(r, c, 1, 1);
}

void hop__rule_forward(const hop__rule *r, const hop_mixer_config *c, const float *const *packed,
                       const hop_mixer_io *io)
{
    int64_t floats = r->state(c), span = io->bits > 0 ? 1 : least(io->tokens, HOP__SEGMENT);
    const float *w[HOP_MIXER_MAX_PARAMS];
    float *b[HOP__BUFFERS], *state = hop_arena_floats(io->scratch, (size_t)floats);
    spread(r, c, packed, w);
    buffers_take(b, r, c, span, io, io->bits > 0 ? 1 : hop_pool_threads(io->pool));
    memset(state, 0, sizeof(float) * (size_t)floats);
    for (int64_t t = 0; t < io->tokens; t += span) {
        int64_t n = least(span, io->tokens - t), first = io->first > t ? least(io->first - t, n) : 0;
        hop__mix m = {.c = c, .w = w, .b = b, .state = state, .x = io->x + t * c->d_model, .tokens = n};
        m.y = io->y + (t + first > io->first ? (t + first - io->first) * c->d_model : 0);
        m.first = first, m.position = t, m.bits = io->bits;
        m.form = io->bits > 0 ? HOP_FORM_RECURRENT : HOP_FORM_CHUNKED;
        m.pool = io->bits > 0 ? NULL : io->pool;
        r->mix(&m);
        hop__cut(&m, state, floats);
    }
}

void hop__rule_step(const hop__rule *r, const hop_mixer_config *c, const float *const *packed, float *state,
                    int64_t t, const hop_mixer_io *io)
{
    const float *w[HOP_MIXER_MAX_PARAMS];
    float *b[HOP__BUFFERS];
    spread(r, c, packed, w);
    buffers_take(b, r, c, 1, io, 1);
    hop__mix m = {.c = c, .w = w, .b = b, .state = state, .x = io->x, .y = io->y, .tokens = 1};
    m.position = t, m.bits = io->bits, m.form = HOP_FORM_RECURRENT;
    r->mix(&m);
    hop__cut(&m, state, r->state(c));
}

/* ---- configuration ------------------------------------------------------------------------- */

float hop__scale(const hop_mixer_config *c, double otherwise)
{
    return (float)(c->scale != 0 ? c->scale : otherwise);
}

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

hop_status hop__ready_centred(hop_mixer_config *c, const char *name, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    if (HOP__OPT(c, value_dim) > 1 || !HOP__OPT(c, norm)) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: its norm leaves nothing of a value_dim of 1; set norm to 0", name);
}

/* ---- projections and convolutions ---------------------------------------------------------- */

void hop__cut(const hop__mix *m, float *x, int64_t n)
{
    if (m->bits > 0) hop_cut(x, n, m->bits);
}

void hop__linear(const hop__mix *m, float *y, const float *x, const float *w, const float *bias, hop__shape s)
{
    hop_linear(y, x, w, bias, s.rows, s.out, s.in, m->pool);
    hop__cut(m, y, s.rows * s.out);
}

void hop__project(const hop__mix *m, float *y, const float *w, const float *bias, int64_t out)
{
    hop__linear(m, y, m->x, w, bias, (hop__shape){m->tokens, out, m->c->d_model});
}

void hop__project_rows(const hop__mix *m, float *y, const float *w, const float *bias, int64_t out)
{
    const float *x = m->x + m->first * m->c->d_model;
    hop__linear(m, y, x, w, bias, (hop__shape){hop__rows(m), out, m->c->d_model});
}

void hop__output(const hop__mix *m, const float *o, const float *w, int64_t in)
{
    hop__linear(m, m->y, o + m->first * in, w, NULL, (hop__shape){hop__rows(m), m->c->d_model, in});
}

int64_t hop__past_floats(const hop_mixer_config *c, int64_t width)
{
    int64_t taps = HOP__OPT(c, conv);
    return taps > 1 ? (taps - 1) * width : 0;
}

void hop__conv(const hop__mix *m, float *y, const float *x, float **past, hop__short s)
{
    hop_conv c = {.tokens = m->tokens, .width = s.width, .size = HOP__OPT(m->c, conv), .silu = true};
    c.x_stride = s.x_stride, c.y_stride = s.width;
    if (c.size == 0) {
        for (int64_t t = 0; t < m->tokens; t++)
            memcpy(y + t * s.width, x + t * s.x_stride, sizeof(float) * (size_t)s.width);
        return;
    }
    hop_conv_forward(y, c.size > 1 ? *past : NULL, x, s.w, s.bias, &c);
    hop__cut(m, y, m->tokens * s.width);
    *past += hop__past_floats(m->c, s.width);
}

void hop__project_conv(const hop__mix *m, float *y, float *raw, float **past, const float *w, hop__short s)
{
    bool plain = HOP__OPT(m->c, conv) == 0;
    hop__project(m, plain ? y : raw, w, NULL, s.width);
    s.x_stride = s.width;
    if (!plain) hop__conv(m, y, raw, past, s);
}

void hop__shift(const hop__mix *m, float *prev, float *past)
{
    size_t d = (size_t)m->c->d_model, rest = (size_t)(m->tokens - 1) * d;
    memcpy(prev, past, sizeof(float) * d);
    memcpy(prev + d, m->x, sizeof(float) * rest);
    memcpy(past, m->x + rest, sizeof(float) * d);
}

/* ---- norms, rotation, gates ---------------------------------------------------------------- */

/* Four sums, so that additions need not wait for each other. */
void hop__l2(float *x, int64_t rows, int64_t dim)
{
    for (int64_t r = 0; r < rows; r++, x += dim) {
        double s[4] = {0};
        for (int64_t i = 0; i < dim; i++) s[i & 3] += (double)x[i] * x[i];
        float inverse = (float)(1.0 / sqrt(s[0] + s[1] + s[2] + s[3] + 1e-6));
        for (int64_t i = 0; i < dim; i++) x[i] *= inverse;
    }
}

void hop__rope(const hop__mix *m, float *x, int64_t heads, int64_t dim)
{
    double theta = m->c->rope_theta > 0 ? m->c->rope_theta : 10000.0;
    hop_rope(x, m->tokens, heads * dim, heads, dim, m->position, theta);
    hop__cut(m, x, m->tokens * heads * dim);
}

void hop__rms(const hop__mix *m, float *o, const float *weight, int64_t groups, int64_t dim)
{
    if (!weight) return;
    o += m->first * groups * dim;
    hop_rmsnorm(o, o, weight, hop__rows(m) * groups, dim, HOP__NORM_EPS);
    hop__cut(m, o, hop__rows(m) * groups * dim);
}

void hop__groupnorm(const hop__mix *m, float *o, const float *weight, const float *bias, int64_t groups,
                    int64_t dim, float eps)
{
    if (!weight) return;
    o += m->first * groups * dim;
    for (int64_t r = 0; r < hop__rows(m); r++)
        for (int64_t g = 0; g < groups; g++) {
            float *p = o + (r * groups + g) * dim;
            hop_layernorm(p, p, weight + g * dim, bias ? bias + g * dim : NULL, 1, dim, eps);
        }
    hop__cut(m, o, hop__rows(m) * groups * dim);
}

void hop__gate(const hop__mix *m, float *o, float *z, int64_t width, hop__act act)
{
    int64_t n = hop__rows(m) * width;
    (act == HOP__SILU ? hop__silu : hop__sigmoid)(z, n);
    hop__cut(m, z, n);
    hop__mul(o + m->first * width, z, n);
    hop__cut(m, o + m->first * width, n);
}

/* ---- scans --------------------------------------------------------------------------------- */

hop_scan hop__scan(const hop_mixer_config *c, int64_t tokens, int64_t key_dim, int64_t value_dim,
                   hop_gate gate)
{
    hop_scan s = {.tokens = tokens, .heads = c->heads, .key_heads = c->heads, .scale = 1.0f, .gate = gate};
    s.key_dim = key_dim, s.value_dim = value_dim;
    s.q_stride = s.k_stride = c->heads * key_dim;
    s.v_stride = s.o_stride = c->heads * value_dim;
    s.gate_stride = gate == HOP_GATE_KEY ? c->heads * key_dim : c->heads;
    s.beta_stride = c->heads;
    return s;
}

int64_t hop__scan_work(const hop_scan *s, int threads)
{
    return (int64_t)hop_scan_scratch(s, threads);
}

void hop__append_one(float *y, const float *x, int64_t rows, int64_t dim)
{
    for (int64_t r = 0; r < rows; r++, x += dim, y += dim + 1) {
        memcpy(y, x, sizeof(float) * (size_t)dim);
        y[dim] = 1.0f;
    }
}

void hop__divide_by_last(float *y, const float *x, int64_t rows, int64_t dim, float eps)
{
    for (int64_t r = 0; r < rows; r++, x += dim + 1, y += dim)
        for (int64_t e = 0; e < dim; e++) y[e] = x[e] / (x[dim] + eps);
}
