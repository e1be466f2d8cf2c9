/* parts.h - what the recurrent mixers are made of (room: mixers).
 *
 * A recurrent mixer writes a hop__rule: its parameters, its state, the buffers it works in, and ONE function
 * `mix` that takes a state from before the first to after the last of T >= 1 tokens. HOP__RECURRENT turns the
 * rule into the public table: forward is mix over the sequence from a zeroed state, in chunked form,
 * HOP__SEGMENT tokens at a time, so that the memory does not grow with the sequence; step is mix of one token
 * in recurrent form. When activations are cut to `bits`, both go token by token and the state is cut after
 * each: a state of that precision.
 *
 * Parameters and buffers are named by enums of the rule. A parameter that the options switch off has no name
 * in params() and is NULL in m->w and in init().
 *
 * A mixer's state is its matrices (per head [K, V]; with a normaliser [K, V + 1]), then the inputs that short
 * convolutions and token shifts remember, in the order in which they are computed. */
#ifndef HOP_MIXERS_PARTS_H
#define HOP_MIXERS_PARTS_H

#include <hopbound/kernels.h>
#include <hopbound/mixers.h>
#include <hopbound/scans.h>

enum { HOP__BUFFERS = 32, HOP__SEGMENT = 960 };

#define HOP__NORM_EPS 1e-5f

typedef struct hop__mix {
    const hop_mixer_config *c;
    const float *const *w; /* by the rule's enum; NULL: switched off */
    float *const *b;       /* the buffers, not zeroed */
    float *state;
    const float *x;        /* [tokens, d_model] */
    float *y;              /* [tokens - first, d_model] */
    int64_t tokens, first; /* first <= tokens: it may be that no row is wanted at all */
    int64_t position;      /* of row 0 in the sequence */
    int bits;
    hop_form form;
    hop_pool *pool;
} hop__mix;

typedef struct hop__rule {
    /* All parameters that there can be, by enum; those without a name do not exist. Returns how many in all.
     */
    int (*params)(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS]);
    /* Comes after matrices were filled normally with variance 1/fan-in and vectors with 1: sets what differs.
     */
    void (*init)(float *const *w, const hop_mixer_config *c, hop_rng *rng);
    int64_t (*state)(const hop_mixer_config *c); /* floats */
    /* Floats of each buffer (0: none); returns how many. No less for more tokens. */
    int (*buffers)(const hop_mixer_config *c, int64_t tokens, int threads, int64_t floats[HOP__BUFFERS]);
    void (*mix)(const hop__mix *m);
} hop__rule;

int hop__rule_params(const hop__rule *r, const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS]);
void hop__rule_init(const hop__rule *r, float *const *w, const hop_mixer_config *c, hop_rng *rng);
size_t hop__rule_scratch(const hop__rule *r, const hop_mixer_config *c, int64_t tokens, int threads);
size_t hop__rule_step_scratch(const hop__rule *r, const hop_mixer_config *c);
void hop__rule_forward(const hop__rule *r, const hop_mixer_config *c, const float *const *w,
                       const hop_mixer_io *io);
void hop__rule_step(const hop__rule *r, const hop_mixer_config *c, const float *const *w, float *state,
                    int64_t t, const hop_mixer_io *io);

/* Defines hop__mixer_<id> from id_rule and id_options (a static table ended by HOP_OPTION_COUNT); `ready_fn`
 * may be NULL. */
#define HOP__RECURRENT(id, line, ready_fn)                                                             \
    static int id##_list(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])               \
    {                                                                                                  \
        return hop__rule_params(&id##_rule, c, out);                                                   \
    }                                                                                                  \
    static void id##_fill(float *const *w, const hop_mixer_config *c, hop_rng *rng)                    \
    {                                                                                                  \
        hop__rule_init(&id##_rule, w, c, rng);                                                         \
    }                                                                                                  \
    static int64_t id##_floats(const hop_mixer_config *c, int64_t t)                                   \
    {                                                                                                  \
        (void)t;                                                                                       \
        return id##_rule.state(c);                                                                     \
    }                                                                                                  \
    static size_t id##_scratch(const hop_mixer_config *c, int64_t tokens, int threads)                 \
    {                                                                                                  \
        return hop__rule_scratch(&id##_rule, c, tokens, threads);                                      \
    }                                                                                                  \
    static void id##_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io) \
    {                                                                                                  \
        hop__rule_forward(&id##_rule, c, w, io);                                                       \
    }                                                                                                  \
    static size_t id##_step_scratch(const hop_mixer_config *c, int64_t t)                              \
    {                                                                                                  \
        (void)t;                                                                                       \
        return hop__rule_step_scratch(&id##_rule, c);                                                  \
    }                                                                                                  \
    static void id##_step(const hop_mixer_config *c, const float *const *w, float *state, int64_t t,   \
                          const hop_mixer_io *io)                                                      \
    {                                                                                                  \
        hop__rule_step(&id##_rule, c, w, state, t, io);                                                \
    }                                                                                                  \
    const hop_mixer_ops hop__mixer_##id = {                                                            \
        .name = #id,                                                                                   \
        .equation = line,                                                                              \
        .recurrent = true,                                                                             \
        .options = id##_options,                                                                       \
        .ready = ready_fn,                                                                             \
        .params = id##_list,                                                                           \
        .init = id##_fill,                                                                             \
        .state_floats = id##_floats,                                                                   \
        .scratch = id##_scratch,                                                                       \
        .forward = id##_forward,                                                                       \
        .step_scratch = id##_step_scratch,                                                             \
        .step = id##_step,                                                                             \
    }

/* ---- configuration ------------------------------------------------------------------------- */

#define HOP__OPT(c, name) ((c)->option[HOP_OPTION_##name])

float hop__scale(const hop_mixer_config *c, double otherwise); /* c->scale if it was given */
/* For defaults that depend on the widths. */
void hop__option_default(hop_mixer_config *c, hop_option o, int64_t value);
hop_status hop__ready_value_dim(hop_mixer_config *c, hop_error *err); /* value_dim is head_dim if not given */
/* For norms that take the mean off, after which a single number would always be 0: value_dim as above, and
 * refused when it is 1 and the norm is on. */
hop_status hop__ready_centred(hop_mixer_config *c, const char *name, hop_error *err);

/* ---- initialisation: nothing is done when w is NULL ----------------------------------------- */

void hop__fill(float *w, int64_t count, double value);
void hop__fill_normal(float *w, int64_t count, double std, hop_rng *rng);
void hop__fill_uniform(float *w, int64_t count, double lo, double hi, hop_rng *rng);
/* As nn.Conv1d has it: uniform within 1/sqrt(taps). */
void hop__fill_conv(float *w, int64_t width, int64_t taps, hop_rng *rng);
/* Mamba's step size: softplus(w) is log-uniform in [0.001, 0.1], at least 1e-4. */
void hop__fill_dt_bias(float *w, int64_t count, hop_rng *rng);

/* ---- projections and convolutions; outputs are cut to m->bits ------------------------------- */

static inline int64_t hop__rows(const hop__mix *m) /* rows that are wanted */
{
    return m->tokens - m->first;
}

void hop__cut(const hop__mix *m, float *x, int64_t n);
/* y [rows, out] = x [rows, in] wᵀ + bias (may be NULL). */
typedef struct hop__shape {
    int64_t rows, out, in;
} hop__shape;
void hop__linear(const hop__mix *m, float *y, const float *x, const float *w, const float *bias,
                 hop__shape s);
/* The same for all tokens of m->x; and for the wanted rows only, which output gates are (y starts at row
 * `first`). */
void hop__project(const hop__mix *m, float *y, const float *w, const float *bias, int64_t out);
void hop__project_rows(const hop__mix *m, float *y, const float *w, const float *bias, int64_t out);
/* m->y = the wanted rows of o [tokens, in] times wᵀ. */
void hop__output(const hop__mix *m, const float *o, const float *w, int64_t in);

/* ShortConv: y [tokens, width] = SiLU(conv(x)), taps as the option conv says. Its inputs of the last tokens
 * are at *past, which is moved behind them: hop__past_floats(c, width). With conv 0 there is neither
 * convolution nor SiLU: y = x. y is not x. */
typedef struct hop__short {
    const float *w, *bias; /* [width, taps]; bias may be NULL */
    int64_t width, x_stride;
} hop__short;
int64_t hop__past_floats(const hop_mixer_config *c, int64_t width);
void hop__conv(const hop__mix *m, float *y, const float *x, float **past, hop__short s);
/* y [tokens, width] = ShortConv(m->x wᵀ); `raw` [tokens, width] is not touched when conv is 0. */
void hop__project_conv(const hop__mix *m, float *y, float *raw, float **past, const float *w, hop__short s);
/* prev[t] = x[t-1]: RWKV's token shift. The last row is kept in past [d_model]. */
void hop__shift(const hop__mix *m, float *prev, float *past);

/* ---- activations, in place ----------------------------------------------------------------- */

/* What constructions count on: sigmoid(-x) and softplus(-x) are 0 or below 1e-37, sigmoid(x) is 1 and
 * logsigmoid(x) above -1e-37 for x >= 88, so that e to the power of these is exactly 1. */

void hop__exp(float *x, int64_t n);
void hop__sigmoid(float *x, int64_t n);
void hop__silu(float *x, int64_t n);
void hop__tanh(float *x, int64_t n);
void hop__softplus(float *x, int64_t n);
void hop__logsigmoid(float *x, int64_t n);
void hop__elu_plus_one(float *x, int64_t n);
void hop__mul(float *x, const float *y, int64_t n); /* x *= y */

/* ---- heads and norms, in place; cut to m->bits ---------------------------------------------- */

void hop__l2(float *x, int64_t rows, int64_t dim); /* x / sqrt(sum x^2 + 1e-6) for every row */
/* Rotates all tokens; theta is 10000 if it was not given. */
void hop__rope(const hop__mix *m, float *x, int64_t heads, int64_t dim);

/* On the wanted rows of o [tokens, groups * dim]; weight [dim]. A NULL weight: nothing is done. */
void hop__rms(const hop__mix *m, float *o, const float *weight, int64_t groups, int64_t dim);
/* Mean and variance of each group; weight and bias (may be NULL) [groups * dim]. */
void hop__groupnorm(const hop__mix *m, float *o, const float *weight, const float *bias, int64_t groups,
                    int64_t dim, float eps);
/* o *= act(z), z [wanted rows, width] being overwritten. */
typedef enum hop__act { HOP__SIGMOID, HOP__SILU } hop__act;
void hop__gate(const hop__mix *m, float *o, float *z, int64_t width, hop__act act);

/* ---- scans --------------------------------------------------------------------------------- */

/* q, k, v, o packed, c->heads heads, as many key heads, no gate, scale 1, chunked; mixers set
 * s.form = m->form. The gate is packed, too: [tokens, heads] or [tokens, heads * key_dim]. */
hop_scan hop__scan(const hop_mixer_config *c, int64_t tokens, int64_t key_dim, int64_t value_dim,
                   hop_gate gate);
/* Floats of scratch, for buffers(). */
int64_t hop__scan_work(const hop_scan *s, int threads);

/* A normaliser is one more value that is always 1: y [rows, dim + 1] = x [rows, dim] with 1 appended .. */
void hop__append_one(float *y, const float *x, int64_t rows, int64_t dim);
/* .. and in the end y [rows, dim] = x [rows, dim + 1] without its last, divided by the last + eps. */
void hop__divide_by_last(float *y, const float *x, int64_t rows, int64_t dim, float eps);

#endif
