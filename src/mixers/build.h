/* build.h - what a mixer's file is written with (room: mixers): parameters, initial values, and the list of
 * operations, one call an operation. Parameters go by their names in the weight file. A helper whose
 * parameter does not exist, because the options switched it off, adds nothing and returns what it was given;
 * products want theirs to exist. */
#ifndef HOP_MIXERS_BUILD_H
#define HOP_MIXERS_BUILD_H

#include <hopbound/mixers.h>

#define HOP__NORM_EPS 1e-5
#define HOP__TOO_MANY ((int64_t)1 << 60) /* numbers of a layer's state */
#define HOP__TOO_WIDE ((int64_t)1 << 54) /* numbers a token in a buffer */

#define HOP__OPT(c, name)     ((c)->option[HOP_OPTION_##name])
#define HOP__FOREIGN(c, name) ((c)->foreign[HOP_FOREIGN_##name])
#define HOP__TAKES(name)      (UINT64_C(1) << HOP_FOREIGN_##name) /* for hop_mixer_ops.foreign */
/* What attention of other people's networks may have. */
#define HOP__FOREIGN_ATTENTION                                                                          \
    (HOP__TAKES(norm_eps) | HOP__TAKES(rope_table) | HOP__TAKES(rope_scale) | HOP__TAKES(rope_spread) | \
     HOP__TAKES(qkv_bias) | HOP__TAKES(out_bias) | HOP__TAKES(qk_norm_wide))

/* ---- configuration ------------------------------------------------------------------------- */

/* For defaults that depend on the widths. */
void hop__option_default(hop_mixer_config *c, hop_option o, int64_t value);
hop_status hop__ready_value_dim(hop_mixer_config *c, hop_error *err); /* value_dim is head_dim if not given */
hop_status hop__ready_wide(hop_mixer_config *c, hop_error *err);      /* .. and here 2 head_dim */
/* For norms that take the mean off, after which a single number would always be 0: value_dim as above, and
 * refused when it is 1 and the norm is on. */
hop_status hop__ready_centred(hop_mixer_config *c, const char *name, hop_error *err);
/* For attention: value_dim is head_dim if not given; refuses what cannot be rotated. */
hop_status hop__ready_attention(hop_mixer_config *c, const char *name, hop_error *err);
/* For attention that only looks back. */
hop_status hop__ready_causal(const hop_mixer_config *c, const char *name, hop_error *err);

/* An option that a mixer need not take: 0 then. */
static inline int64_t hop__option_if_any(const hop_mixer_config *c, hop_option o)
{
    return c->option[o] > 0 ? c->option[o] : 0;
}

static inline int64_t hop__key_width(const hop_mixer_config *c)
{
    return c->heads * c->head_dim;
}

static inline int64_t hop__value_width(const hop_mixer_config *c)
{
    return c->heads * HOP__OPT(c, value_dim);
}

double hop__scale(const hop_mixer_config *c); /* head_dim^(-1/2) if it was not given */
double hop__scale_or(const hop_mixer_config *c, double otherwise);

/* ---- parameters ---------------------------------------------------------------------------- */

void hop__param(hop_param *out, int *n, const char *name, int64_t rows, int64_t cols);
/* {q,k,v}_proj.weight, and, when there are taps, {q,k,v}_conv1d.weight; widths of q, k, v. */
void hop__param_qkv(hop_param *out, int *n, const hop_mixer_config *c, const int64_t width[3]);
void hop__param_convs(hop_param *out, int *n, int64_t taps, const int64_t width[3]);
/* q_proj, k_proj, v_proj, o_proj of full, window and sparse, and what their options add. */
int hop__attention_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS]);

/* ---- initial values: nothing is done to what does not exist --------------------------------- */

float *hop__weight(const hop_mixer_weights *w, const char *name, int64_t *count); /* NULL: does not exist */
void hop__fill(const hop_mixer_weights *w, const char *name, double value);
void hop__fill_normal(const hop_mixer_weights *w, const char *name, double std);
void hop__fill_uniform(const hop_mixer_weights *w, const char *name, double lo, double hi);
/* As nn.Conv1d has it: uniform within 1/sqrt(taps); all three of q, k, v. */
void hop__fill_conv(const hop_mixer_weights *w, const char *name);
void hop__fill_convs(const hop_mixer_weights *w);
/* Mamba's step size: softplus(w) is log-uniform in [0.001, 0.1], at least 1e-4. */
void hop__fill_dt_bias(const hop_mixer_weights *w, const char *name);
/* log(lo + (hi - lo) u), u uniform in [0, 1); in (0, 1] when hi < lo. */
void hop__fill_log_uniform(const hop_mixer_weights *w, const char *name, double lo, double hi);

/* ---- operations ---------------------------------------------------------------------------- */

typedef struct hop_builder {
    hop_list *list;
    const hop_mixer_config *c;
    int params;
    hop_param param[HOP_MIXER_MAX_PARAMS];
} hop_builder;

/* Columns of a buffer; width 0: none. */
typedef struct hop__val {
    int buffer;
    int64_t column, width;
} hop__val;

static inline hop__val hop__slice(hop__val x, int64_t column, int64_t width)
{
    return (hop__val){x.buffer, x.column + column, width};
}

hop__val hop__x(const hop_builder *b);
int hop__find(const hop_builder *b, const char *name); /* -1: does not exist */
/* Adds an operation. What `op` leaves 0 gets the usual: as many numbers as the first input, one group, all of
 * them in it, factors and steps of 1. The pointer is valid until the next is added. */
hop_op *hop__op(hop_builder *b, hop_op op, const hop__val *in, int inputs);
hop__val hop__result(const hop_op *op);
/* The same with its parameters, each of which may be NULL. */
hop__val hop__add(hop_builder *b, hop_op op, const hop__val *in, int inputs, const char *w, const char *w2);

/* y = x wᵀ + bias (may be NULL), from the tensors' shapes; and some of w's rows. */
hop__val hop__linear(hop_builder *b, hop__val x, const char *w, const char *bias);
hop__val hop__linear_rows(hop_builder *b, hop__val x, const char *w, const char *bias, int64_t first,
                          int64_t rows);
/* The last operation. */
void hop__output(hop_builder *b, hop__val o, const char *w, const char *bias);
/* The last operation that was added is. */
void hop__end(hop_builder *b);
/* ShortConv with SiLU, or without. */
hop__val hop__conv(hop_builder *b, hop__val x, const char *w, const char *bias, bool silu);
/* ShortConv(x wᵀ). */
hop__val hop__project_conv(hop_builder *b, const char *w, const char *conv);
hop__val hop__act(hop_builder *b, hop__val x, hop_act act);
/* Step sizes: softplus(x), within dt_min and dt_max. */
hop__val hop__step_size(hop_builder *b, hop__val x);
hop__val hop__act_scaled(hop_builder *b, hop__val x, hop_act act, double before, double scale);
/* An operation that looks at `groups` groups alike, or at none; w may be NULL. */
hop__val hop__grouped(hop_builder *b, hop_op_kind kind, hop__val x, int64_t groups, const char *w);
hop__val hop__rope(hop_builder *b, hop__val x, int64_t groups, int64_t rotary, double theta); /* 0: all */
hop__val hop__rms(hop_builder *b, hop__val x, const char *w, int64_t groups);
hop__val hop__groupnorm(hop_builder *b, hop__val x, const char *w, const char *bias, int64_t groups,
                        double eps);
/* Elementwise with one parameter (may be NULL). */
hop__val hop__with(hop_builder *b, hop_op_kind kind, const hop__val *in, int inputs, const char *w);
hop__val hop__mul(hop_builder *b, hop__val x, hop__val y); /* y may be narrower: MUL's dim */
hop__val hop__repeat(hop_builder *b, hop__val x, int64_t groups, int64_t times);
hop__val hop__append_one(hop_builder *b, hop__val x, int64_t groups);
hop__val hop__divide(hop_builder *b, hop__val x, int64_t groups, double eps);
hop__val hop__constant(hop_builder *b, int64_t width, double (*f)(const hop_mixer_config *, int64_t));
/* o ⊙ act(x wᵀ + bias). */
hop__val hop__gate(hop_builder *b, hop__val o, const char *w, const char *bias, hop_act act);

/* What is 0 gets the usual: as many key heads as heads, head_dim, one step. */
typedef struct hop__scan {
    hop_core core;
    hop_gate gate;
    hop__val in[HOP_OP_INPUTS]; /* by HOP_SCAN_* */
    int64_t key_heads, key_dim, steps;
    double scale;
    const char *u;
} hop__scan;
hop__val hop__scan_op(hop_builder *b, const hop__scan *s);

/* The whole of full, window and sparse but for what is their own in the operation, which is returned before
 * the output projection is added: see hop__attention_end. */
hop_op *hop__attention(hop_builder *b, hop_op_kind kind);
void hop__attention_end(hop_builder *b, const hop_op *op);

/* mlp.c: act(Wg x) ⊙ Wu x, or act(Wu x) where there is no gate; parameters by their names. */
typedef struct hop__gated {
    const char *gate, *gate_bias, *up, *up_bias;
} hop__gated;
hop__val hop__hidden(hop_builder *b, const hop__gated *p);
hop_status hop__ready_act(const hop_mixer_config *c, const char *name, hop_error *err);

/* list.c: what is derived from the operations. */
void hop__list_finish(hop_list *l);
/* A place for each buffer, in floats a token, that those alive together do not share; returns how many there
 * are. What is in `keep` (may be NULL) lives to the end. `over`: a result may lie where an input was read for
 * the last time. The gradients of buffers live as long as these do, so the way back has the same places. */
int64_t hop__lay_buffers(const hop_list *l, const bool *keep, bool over, int64_t offset[HOP_LIST_BUFFERS]);

typedef enum hop__op_class {
    HOP__ROWS,
    HOP__PRODUCT,
    HOP__SEQUENCE,
    HOP__ATTENTION,
    HOP__CONSTANT
} hop__op_class;

#define HOP__KEEPS_Y (1u << HOP_OP_INPUTS)

/* `over`: so many of the first inputs may lie where the result goes, being read element by element. `keeps`:
 * what backward reads, the inputs by their bit, and the result. */
typedef struct hop__op_facts {
    const char *name;
    hop__op_class class;
    int over;
    unsigned keeps;
} hop__op_facts;
const hop__op_facts *hop__facts(hop_op_kind k);
bool hop__op_is_rowwise(hop_op_kind k); /* looks at one row at a time, and is no product */

#endif
