/* room.h - what the checker's files share.
 *
 * This room re-derives what a network answers, from config.json, model.safetensors and the equations alone.
 * It includes base and nothing else of ours: no kernel, no mixer, no operation list, no task, so that an
 * error there cannot repeat itself here. Everything is plain loops over doubles; speed is not an aim.
 *
 * Reading order: arith.c (what a number is), parts.c (what layers are made of), attend.c, recur.c, decay.c,
 * delta.c, rwkv.c, diagonal.c (the mixers), forward.c (a pass), config.c and tensors.c (files), task.c (right
 * answers), witness.c and check.c (claims and verdicts). drat.c stands alone. */
#ifndef HOP_CHECK_ROOM_H
#define HOP_CHECK_ROOM_H

#include <hopbound/check.h>
#include <hopbound/json.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- networks ------------------------------------------------------------------------------------ */

/* clang-format off */
#define HOP__OPTION_LIST(X)                                                                       \
    X(value_dim) X(conv) X(gate) X(norm) X(norm_groups) X(rope) X(normalise) X(feature) X(window) \
    X(block) X(topk) X(summary) X(expand) X(inner) X(state_dim) X(groups) X(dt_rank) X(rank)      \
    X(steps) X(negative) X(rope_dim) X(qk_norm) X(latent)
/* clang-format on */

typedef enum hop__option {
#define HOP__OPTION_ENUM(name) HOP__##name,
    HOP__OPTION_LIST(HOP__OPTION_ENUM)
#undef HOP__OPTION_ENUM
        HOP__OPTIONS
} hop__option;

struct hop__pass;

typedef struct hop__mixer {
    const char *name;
    bool recurrent; /* a linear mixer: what crosses a cut is its state */
    /* [tokens, d] from [tokens, d]; NULL when the pass has failed. */
    const double *(*mix)(struct hop__pass *p, const double *x);
    int64_t defaults[HOP__OPTIONS]; /* HOP__BY_WIDTH: hop__truth_layer_ready computes it */
    const char *takes;              /* the options that it has, with blanks between */
} hop__mixer;
#define HOP__BY_WIDTH (-1)

const hop__mixer *hop__mixer_find(const char *name); /* NULL: there is none */

typedef struct hop__truth_layer {
    const hop__mixer *mixer;
    int64_t number, heads, kv_heads, head_dim;
    double scale, theta; /* scale 0: the mixer's own; theta 0: no rotation, or the mixer's own */
    int64_t option[HOP__OPTIONS];
} hop__truth_layer;

typedef struct hop__tensor {
    const char *name;
    int rank;
    int64_t shape[2];
    double *v; /* float32 numbers, held as doubles */
} hop__tensor;

typedef enum hop__norm_kind { HOP__NORM_NONE, HOP__NORM_RMS, HOP__NORM_LAYER } hop__norm_kind;
typedef enum hop__mlp_kind { HOP__MLP_NONE, HOP__MLP_RELU, HOP__MLP_GELU, HOP__MLP_SWIGLU } hop__mlp_kind;

struct hop_truth {
    hop__truth_layer *layers;
    int64_t layer_count, d, vocab, positions, heads, kv_heads, head_dim, hidden, generate;
    double theta, scale, eps;
    hop__norm_kind norm;
    hop__mlp_kind mlp;
    bool learned, tied, bidirectional;
    hop__tensor *tensors; /* sorted by name */
    int64_t tensor_count;
    hop_json_doc config, *headers; /* keep the names */
    int64_t header_count;
    uint64_t config_hash, weights_hash;
};

/* Defaults first, then what was set: "heads", "scale", an option. */
void hop__truth_layer_init(hop__truth_layer *l, const hop_truth *n, const hop__mixer *m, int64_t number);
hop_status hop__truth_layer_set(hop__truth_layer *l, const char *name, double value, hop_error *err);
hop_status hop__truth_layer_ready(hop__truth_layer *l, const hop_truth *n, hop_error *err);

hop_status hop__config_read(hop_truth *n, hop_error *err); /* from n->config */
hop_status hop__tensors_read(hop_truth *n, const char *dir, hop_error *err);
int hop__tensor_order(const void *a, const void *b);

/* ---- passes -------------------------------------------------------------------------------------- */

/* How a number is kept between two operations. */
typedef enum hop__how {
    HOP__DOUBLE, /* as it is, beyond float32's range as well */
    HOP__FLOAT,  /* the nearest float32 number */
    HOP__SHAKEN  /* moved by as much as float32 arithmetic might, in whatever order it sums; numbers that no
                    order rounds stay; sums that some order takes out of its range are no numbers. By how much
                    depends on the number and the pass's seed alone: equal  operations have equal results, as
                    on  a machine */
} hop__how;

typedef struct hop__pass {
    const hop_truth *net;
    const hop__truth_layer *layer; /* at hand */
    const hop_rounding *arith;
    hop__how how;
    uint64_t seed;
    int64_t tokens, only; /* only: the one row that the last layer need compute; -1: all */
    /* States of recurrent layers as token `watch` finds them are collected; -1: none are. */
    int64_t watch, state_count, state_room;
    double *states;
    /* If it traces: the residual stream behind every layer, [layers, tokens, d], and how many numbers of
     * states there are up to then. The last layer then computes all rows. */
    bool traces;
    double *streams;
    int64_t *state_ends;
    struct hop__block *blocks; /* memory of the layer at hand */
    hop_status failed;         /* sticky */
    hop_error err;
} hop__pass;

double *hop__rows(hop__pass *p, int64_t count); /* zeros; NULL and failed when there is no memory */
void hop__rows_free(hop__pass *p);
/* A tensor of the layer at hand, "mixer.NAME"; cols 0: a vector. NULL, and failed, when it is not as asked.
 */
const double *hop__mixer_tensor(hop__pass *p, const char *name, int64_t rows, int64_t cols);
const double *hop__tensor_find(hop__pass *p, const char *name, int64_t rows, int64_t cols);

double hop__layer_scale(const hop__pass *p, double otherwise); /* the layer's, a float32 number */

/* logits [vocab] at `position` of `count` tokens. */
hop_status hop__pass_run(hop__pass *p, const int32_t *tokens, int64_t count, int64_t position,
                         double *logits);
void hop__pass_close(hop__pass *p);

/* ---- arith.c ------------------------------------------------------------------------------------- */

double hop__keep(const hop__pass *p, double x); /* the result of one operation */
/* Σ a[i·sa] b[i·sb] + start, as float32 may sum it: in any order, fused or not. */
double hop__dot(const hop__pass *p, const double *a, int64_t sa, const double *b, int64_t sb, int64_t n,
                double start);
/* A sum of so many terms that has been formed; size: the sum of their sizes; mark: of the terms in their
 * order, since equal numbers summed in another order are another operation. */
double hop__keep_sum(const hop__pass *p, double sum, double size, int64_t terms, uint64_t mark);
uint64_t hop__mark(uint64_t mark, double x);        /* with one more term; 0 before the first */
double hop__to_significant(double x, int64_t bits); /* nearest, ties to even */
double hop__to_float_bits(double x,
                          int64_t bits); /* a sign, 8 bits of exponent (of 8 bits: 5), the rest fraction */
/* The result of an operation of a layer: rounded to fewer bits, where activations are. */
double *hop__done(const hop__pass *p, double *x, int64_t n);
/* Where the segment of token t begins; 0 when there are no cuts. */
int64_t hop__segment_start(const hop__pass *p, int64_t t);
/* Number x of token `from`, as token t > from remembers it. */
double hop__remembered(const hop__pass *p, double x, int64_t from, int64_t t);
/* A state after token t: rounded as the arithmetic says, and collected if it is the one to watch. */
void hop__state_after(hop__pass *p, double *state, int64_t n, int64_t t);
/* What a convolution or a shift remembers: rows x [tokens, width], `depth` of them. */
void hop__past_collect(hop__pass *p, const double *x, int64_t width, int64_t depth);

/* ---- parts.c: each returns rows of the pass, and NULL when it has failed ------------------------- */

typedef double hop__function(double x);
hop__function hop__copy, hop__relu, hop__gelu, hop__sigmoid, hop__silu, hop__softplus, hop__logsigmoid;

double *hop__affine(hop__pass *p, const double *x, int64_t rows, int64_t in, const double *w, int64_t stride,
                    const double *bias, int64_t out);
/* W x of the layer's input, W [out, d] by its name. */
double *hop__project(hop__pass *p, const double *x, const char *name, int64_t out);
double *hop__apply(hop__pass *p, const double *x, int64_t n, hop__function *f);
double *hop__multiply(hop__pass *p, const double *x, const double *y, int64_t n);
double *hop__columns(hop__pass *p, const double *x, int64_t all, int64_t first, int64_t count);
/* With SiLU; `name` NULL, or option conv 0: x itself. */
double *hop__convolve(hop__pass *p, double *x, int64_t width, const char *name, const char *bias, bool silu);
double *hop__unit(hop__pass *p, const double *x, int64_t groups, int64_t dim);
/* RoPE on the first `rotary` numbers of each group. */
double *hop__rotate(hop__pass *p, const double *x, int64_t groups, int64_t dim, int64_t rotary, double theta);
/* weight, bias: [dim] when `shared`, else [groups, dim]; bias may be NULL. */
typedef struct hop__norm_shape {
    int64_t rows, groups, dim;
    double eps;
    bool centred, shared;
} hop__norm_shape;
double *hop__normalise_rows(hop__pass *p, const double *x, const double *w, const double *bias,
                            const hop__norm_shape *z);
double *hop__rms_heads(hop__pass *p, double *o, int64_t groups, int64_t dim, const char *name);
double *hop__rms_groups(hop__pass *p, const double *x, int64_t groups, int64_t dim, const char *name);
double *hop__rate(hop__pass *p, const double *x, int64_t groups, int64_t dim, const double *a_log);

/* ---- recur.c ------------------------------------------------------------------------------------- */

/* S [heads, K, V]: S = diag(e^g) S, + b (aᵀS_before) for dplr, then + k vᵀ, or, with beta, `steps` times
 * + beta k (v - Sᵀk)ᵀ; o = scale qᵀS. With u the old S is read: o = scale qᵀ(S + diag(u) k vᵀ).
 * q, a, b [T, key_heads, K], k [T, steps, key_heads, K], v [T, steps, heads, V], beta [T, steps, heads],
 * g [T, heads, gates]: gates 0 (none), 1 or K. */
typedef struct hop__recurrence {
    const double *q, *k, *v, *g, *u, *beta, *a, *b;
    int64_t heads, key_heads, K, V, gates, steps;
    double scale;
} hop__recurrence;
double *hop__recur(hop__pass *p, const hop__recurrence *r);

/* The mixers. */
typedef const double *hop__mix(hop__pass *p, const double *x);
hop__mix hop__mix_attention, hop__mix_linear, hop__mix_retnet, hop__mix_lightning, hop__mix_gla,
    hop__mix_hgrn2, hop__mix_mamba2, hop__mix_rwkv6, hop__mix_mlstm, hop__mix_based, hop__mix_delta,
    hop__mix_rwkv7, hop__mix_mamba, hop__mix_rglru;

/* ---- task.c -------------------------------------------------------------------------------------- */

/* The right answer at `position` of these tokens; HOP_EFORMAT, HOP_EDOMAIN, HOP_ERANGE
 * say why they are no input of that task. */
hop_status hop__task_answer(const hop_json *task, const int32_t *tokens, int64_t count, int64_t position,
                            int64_t *answer, hop_error *err);

/* ---- witness.c ----------------------------------------------------------------------------------- */

typedef struct hop__prompt {
    int32_t *tokens;
    int64_t count, right, answer, position; /* position: where it is asked */
} hop__prompt;

typedef enum hop__kind { HOP__INPUT, HOP__PAIR, HOP__COLLISION } hop__kind;

typedef struct hop__claim {
    hop_json_doc doc;
    const hop_json *task, *trace;
    int64_t prompts; /* 1 or 2 */
    hop__prompt prompt[2];
    hop__kind kind;
    int64_t prefix;
    uint64_t config_hash, weights_hash;
    hop_rounding arith; /* the cuts are its own */
} hop__claim;

/* Reads and checks all that can be checked without the network. HOP_EFORMAT says what is wrong. */
hop_status hop__claim_parse(hop__claim *w, const char *text, size_t size, hop_error *err);
void hop__claim_free(hop__claim *w);

/* ---- drat.c -------------------------------------------------------------------------------------- */

hop_status hop__drat_judge(hop_check *out, FILE *formula, FILE *proof, const hop_progress *progress,
                           hop_error *err);

#endif
