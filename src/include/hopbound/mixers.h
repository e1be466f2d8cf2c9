/* hopbound/mixers.h - token mixers: one const table each, one registry line each.
 *
 * A mixer is a rule that lets position t use earlier positions. It declares its parameters and what it does,
 * as a list of operations (ops.h); two walkers run any list: forward (whole sequences) and step (a token at a
 * time, from a state). The laws in tests/test_mixers.c loop over the registry, so a mixer is tested the day
 * it is listed.
 *
 *     hop_mixer_config_ready(&c, ops, &err);
 *     hop_mixer_list(&list, ops, &c);                            a list serves all layers of one
 * configuration hop_arena_reserve(&scratch, hop_list_scratch(&list, 1, tokens, threads), &err);
 *     hop_list_forward(&list, &c, params, &io);
 */
#ifndef HOPBOUND_MIXERS_H
#define HOPBOUND_MIXERS_H

#include <hopbound/base.h>
#include <hopbound/kernels.h>
#include <hopbound/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ------------------------------------------------------------------------- */

#define HOP_OPTION_UNSET INT64_MIN

/* What a mixer may be told beyond widths and heads. Names are those of config.json. A mixer takes the options
 * that it lists (hop_mixer_ops.options) and has a default for each; giving it another is an error. */
#define HOP_MIXER_OPTION_LIST(X)                                                                   \
    X(value_dim, 1, 1 << 20, "numbers in a head's value")                                          \
    X(conv, 0, 64, "taps of the short convolutions; 0: none")                                      \
    X(gate, 0, 1, "the output is gated")                                                           \
    X(norm, 0, 1, "the output is normalised per head (or over the width, as the mixer has it)")    \
    X(norm_groups, 1, 1 << 16, "parts of the output that are normalised apart, of whole heads")    \
    X(rope, 0, 1, "queries and keys are rotated by their position")                                \
    X(rope_dim, 0, 1 << 20, "numbers of a head that are rotated, the first ones; 0: all")          \
    X(qk_norm, 0, 1, "queries and keys are normalised per head")                                   \
    X(latent, 0, 1 << 16, "keys and values come from so many normalised numbers (MLA); 0: from x") \
    X(normalise, 0, 1, "divide by the sum of the weights")                                         \
    X(feature, 0, 3, "feature map: 0 identity, 1 elu+1, 2 relu, 3 product of two affine maps")     \
    X(window, 1, INT64_MAX, "positions that are seen, the current one included")                   \
    X(block, 1, 1 << 20, "tokens in a block")                                                      \
    X(topk, 1, 1 << 20, "blocks that are looked into besides the current one; experts of a token") \
    X(experts, 1, 1 << 16, "experts, each of `inner` hidden units")                                \
    X(shared, 0, 1 << 20, "hidden units that all tokens have beside their experts'; 0: none")      \
    X(summary, 0, 1, "a block's summary: 0 mean of its keys, 1 head r takes the block's r-th key") \
    X(expand, 1, 64, "inner width as a multiple of the model's")                                   \
    X(inner, 1, 1 << 20, "inner width; beats expand")                                              \
    X(state_dim, 1, 1 << 16, "numbers in a channel's or head's state (N)")                         \
    X(groups, 1, 1 << 16, "groups that share B and C")                                             \
    X(dt_rank, 1, 1 << 16, "rank of the step size's projection")                                   \
    X(rank, 1, 1 << 16, "rank of low-rank gates")                                                  \
    X(steps, 1, 64, "delta steps a token")                                                         \
    X(negative, 0, 1, "beta in (0, 2) instead of (0, 1): negative eigenvalues")

typedef enum hop_option {
#define HOP_OPTION_ENUM(name, lo, hi, help) HOP_OPTION_##name,
    HOP_MIXER_OPTION_LIST(HOP_OPTION_ENUM)
#undef HOP_OPTION_ENUM
        HOP_OPTION_COUNT
} hop_option;

/* What layers of other people's networks have and ours do not, so that these can be run: numbers, 0 where there is
 * none. A mixer takes those in its mask (hop_mixer_ops.foreign), and every one those of the block that it stands in. */
#define HOP_FOREIGN_LIST(X)                                                          \
    X(norms, "the block's norms: one of hop_norms")                                  \
    X(norm_eps, "eps of the mixer's norms; 0: 1e-5")                                 \
    X(rope_table, "the rotation's frequencies are a tensor, and angles are float32") \
    X(rope_scale, "factor of its cosines and sines; 0: 1")                           \
    X(rope_spread, "how far frequencies of others are, relative; 0: 2^-21")          \
    X(qk_norm_wide, "norms of queries and keys are over all heads together")         \
    X(at_layer, "the layer's number in their network, from 1 on; 0: as in ours")     \
    X(of_layers, "and how many layers that has")                                     \
    X(qkv_bias, "queries, keys and values have biases")                              \
    X(out_bias, "the output has a bias")                                             \
    X(dt_min, "step sizes are at least that")                                        \
    X(dt_max, "step sizes are at most that; 0: as large as they are")                \
    X(dt_norms, "what step sizes are made of, B and C are normalised (Mamba)")       \
    X(norm_scale, "each number's own factor behind the norm of norm_groups")         \
    X(norm_first, "the norm comes before the gate (Mamba-2)")                        \
    X(conv_bias, "the short convolution and the products around it have biases")     \
    X(mlp_act, "of an MLP: 0 silu, 1 gelu, 2 relu^2")                                \
    X(mlp_plain, "an MLP without a gate")                                            \
    X(mlp_bias, "an MLP's three products have biases")                               \
    X(router_sigmoid, "experts are weighed by sigmoids of their scores")             \
    X(router_share, "the weights of a token's experts are divided by their sum")     \
    X(router_scale, "factor of these weights; 0: 1")                                 \
    X(router_eps, "is added to their sum")                                           \
    X(router_bias, "a bias counts where experts are chosen")                         \
    X(router_groups, "groups of experts; 0: one")                                    \
    X(router_open, "groups that a token's experts come from; 0: one")                \
    X(shared_gate, "what all tokens have is weighed by a sigmoid")                   \
    X(units, "their own class rounds products of its weights so many times more")    \
    X(beside, "the block reads what the block before it read, and has no norm")

typedef enum hop_foreign {
#define HOP_FOREIGN_ENUM(name, help) HOP_FOREIGN_##name,
    HOP_FOREIGN_LIST(HOP_FOREIGN_ENUM)
#undef HOP_FOREIGN_ENUM
        HOP_FOREIGN_COUNT
} hop_foreign;

#define HOP_FOREIGN_OF_BLOCKS \
    (UINT64_C(1) << HOP_FOREIGN_beside | UINT64_C(1) << HOP_FOREIGN_units | UINT64_C(1) << HOP_FOREIGN_norms)

/* Where the norms of a block stand, f its mixer or its MLP:
 * BEFORE: x + f(norm(x));   BEHIND: x + norm(f(x));   KEPT: norm(x) + f(norm(x)). */
typedef enum hop_norms { HOP_NORMS_BEFORE, HOP_NORMS_BEHIND, HOP_NORMS_KEPT } hop_norms;

/* Fill with hop_mixer_config_init, set what is wanted, then hop_mixer_config_ready. */
typedef struct hop_mixer_config {
    int64_t d_model;
    int64_t layer, layers;             /* this layer's number, and how many there are */
    int64_t heads, kv_heads, head_dim; /* kv_heads: key heads of attention, key heads of gdn and kda */
    double rope_theta;                 /* 0: none (full), or the mixer's own default */
    double scale;                      /* 0: head_dim^(-1/2) */
    bool bidirectional;                /* attention looks both ways: encoders */
    int64_t option[HOP_OPTION_COUNT];  /* HOP_OPTION_UNSET until ready */
    double foreign[HOP_FOREIGN_COUNT];
} hop_mixer_config;

/* A parameter tensor: rank 1 or 2, row-major; `name` is what follows "mixer." in the weight file. */
typedef struct hop_param {
    const char *name;
    int64_t shape[2]; /* [n] is {n, 0} */
} hop_param;

#define HOP_MIXER_MAX_PARAMS 32

/* A layer's tensors to be filled. */
typedef struct hop_mixer_weights {
    const hop_mixer_config *c;
    int count;
    hop_param param[HOP_MIXER_MAX_PARAMS];
    float *const *data;
    hop_rng *rng;
} hop_mixer_weights;

/* How a layer meets the rest of a sequence. */
typedef enum hop_mixer_kind {
    HOP_MIXER_RECURRENT, /* a linear mixer: the state's size does not depend on t */
    HOP_MIXER_FULL,      /* attends to all positions */
    HOP_MIXER_WINDOW,    /* to the last ones */
    HOP_MIXER_SPARSE,    /* to some that it chooses */
    HOP_MIXER_ALONE      /* to none: there is no state */
} hop_mixer_kind;

/* A layer's state read as a table: keys that pass an activation can be made one-hot from a code, so that
 * every one of the heads that have keys of their own holds `rows` rows, each with the `numbers` numbers of a
 * value. No heads: it cannot. */
typedef struct hop_mixer_table {
    int64_t heads, rows;
    int64_t share;   /* value heads that read by a head's keys; the first of them holds the rows */
    int64_t numbers; /* a number and its sign take two */
} hop_mixer_table;

struct hop_builder;

typedef struct hop_mixer_ops {
    const char *name;     /* as in configs: "full" */
    const char *equation; /* one line, for people */
    hop_mixer_kind kind;
    bool forgets;  /* its state is what the last tokens were, and nothing older */
    bool pairs;    /* values pass an activation that is not odd: a number and its sign take two */
    int64_t spare; /* of its `inner` channels, which keep no value: they tell the others when to write */
    bool maps; /* keys may be a product of two affine maps, so that they are one-hot: a state is a table */
    /* Defaults of the options it takes; an option that is not listed is not taken. Ended by HOP_OPTION_COUNT.
     * A default of HOP_OPTION_UNSET is computed by `ready`. */
    const struct hop_option_default {
        hop_option option;
        int64_t value;
    } * options;
    uint64_t foreign; /* which of HOP_FOREIGN_LIST it takes, by their bits */
    /* Computes what depends on the widths (value_dim, inner, dt_rank, ..) and refuses, with HOP_EDOMAIN and
     * one line, what cannot be built: heads that do not match, blocks that do not fit. NULL: nothing to do.
     */
    hop_status (*ready)(hop_mixer_config *c, hop_error *err);
    /* The parameters, in the order they are laid out; returns how many. */
    int (*params)(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS]);
    /* Comes after matrices were filled normally with variance 1/fan-in and vectors with 1, and sets what
     * differs, as its paper has it. NULL: nothing does. Called by hop_mixer_init. */
    void (*init)(const hop_mixer_weights *w);
    void (*list)(struct hop_builder *b);                 /* what it does; called by hop_mixer_list */
    hop_mixer_table (*table)(const hop_mixer_config *c); /* NULL: its state cannot be read so */
} hop_mixer_ops;

const hop_mixer_ops *hop_mixer_find(const char *name); /* NULL: unknown */
const hop_mixer_ops *hop_mixer_at(int index);          /* NULL past the end; those that mix tokens */
const hop_mixer_ops *hop_mixer_other(int index);       /* the others, which only other people's blocks have */

void hop_mixer_config_init(hop_mixer_config *c); /* all zero, options unset */
/* HOP_EUNKNOWN: the mixer takes no such option; HOP_ERANGE. The text names mixer, option and range. */
hop_status hop_mixer_option_set(hop_mixer_config *c, const hop_mixer_ops *ops, const char *name,
                                int64_t value, hop_error *err);
/* One of HOP_FOREIGN_LIST: *known says whether it is one. HOP_EUNKNOWN: the mixer does not take it. */
hop_status hop_mixer_foreign_set(hop_mixer_config *c, const hop_mixer_ops *ops, const char *name,
                                 double value, bool *known, hop_error *err);
/* Puts defaults where nothing was set and checks; after this the config can be used. */
hop_status hop_mixer_config_ready(hop_mixer_config *c, const hop_mixer_ops *ops, hop_error *err);
const char *hop_option_name(hop_option o);
const char *hop_option_help(hop_option o);

/* ---- running ---------------------------------------------------------------------------------- */

/* What the layer does. The list depends on the configuration but for its `layer`. */
void hop_mixer_list(hop_list *out, const hop_mixer_ops *ops, const hop_mixer_config *c);
void hop_mixer_init(const hop_mixer_ops *ops, float *const *params, const hop_mixer_config *c, hop_rng *rng);
/* Numbers that cross the cut after t tokens; a recurrence's state is all zero before the first. */
int64_t hop_list_state_floats(const hop_list *l, int64_t t);
int64_t hop_mixer_state_floats(const hop_mixer_ops *ops, const hop_mixer_config *c, int64_t t);

/* Looks into a list that is run: behind each operation the rows of the buffer that it wrote, [count,
 * width], which stand at position first .. of their sequence (CONSTANT: its one row). Called in the thread
 * that runs the list. */
typedef struct hop_list_watch {
    void (*buffer)(void *ctx, int64_t layer, int op, const float *rows, int64_t first, int64_t count);
    void *ctx;
} hop_list_watch;

/* What a list works on. Rows below `first` need no output (the last layer of a network that is read only at
 * the end computes one row); `y` holds rows first .. tokens-1 of each sequence. */
typedef struct hop_mixer_io {
    float *y;          /* [sequences, tokens - first, d_model] */
    const float *x;    /* [sequences, tokens, d_model] */
    int64_t sequences; /* 0: 1 */
    int64_t tokens, first;
    int64_t position; /* of row 0 in its sequence: hop_attention_* */
    int bits;         /* round activations to that many significant bits; 0: do not */
    bool steady;      /* a row's bits do not depend on how many rows are computed together; slower for few */
    hop_arena *scratch;
    hop_pool *pool;
    const hop_list_watch *watch; /* NULL: nobody looks. Of one sequence only */
} hop_mixer_io;

/* Bytes that forward takes from the arena for at most so many sequences of at most so many tokens. */
size_t hop_list_scratch(const hop_list *l, int64_t sequences, int64_t tokens, int threads);
void hop_list_forward(const hop_list *l, const hop_mixer_config *c, const float *const *params,
                      const hop_mixer_io *io);
/* Token t (0-based) of each sequence, in the calling thread: reads the first hop_list_state_floats(l, t)
 * floats of the sequence's state, writes those of t + 1. `state`: [sequences, stride]. io->tokens is 1. */
size_t hop_list_step_scratch(const hop_list *l, int64_t sequences, int64_t t);
void hop_list_step(const hop_list *l, const hop_mixer_config *c, const float *const *params, float *state,
                   int64_t stride, int64_t t, const hop_mixer_io *io);

/* ---- backward ----------------------------------------------------------------------------------- */

/* Who trains goes through a list twice: forward, keeping what backward reads, and then from its end. What
 * follows from the list for that, once for all layers that share it: */
typedef struct hop_reverse {
    int64_t kept[HOP_LIST_BUFFERS]; /* floats a token before each buffer in `kept`, where those that backward
                                       does not read share places */
    int64_t lse[HOP_LIST_OPS];      /* the same for attention's log-sum-exp: [heads, tokens] of a sequence */
    int64_t grad[HOP_LIST_BUFFERS]; /* and for gradients in scratch */
    int64_t kept_floats, grad_floats;      /* a token */
    bool add[HOP_LIST_OPS][HOP_OP_INPUTS]; /* of an input's gradient there is something already */
    bool zero[HOP_LIST_BUFFERS];           /* readers overlap: the gradient begins with zeros */
    int zero_at[HOP_LIST_BUFFERS];         /* before this operation, the last that reads the buffer */
} hop_reverse;
void hop_reverse_plan(hop_reverse *r, const hop_list *l);

/* Parameters as hop_panels lays them out for y = x wᵀ and for dx = dy w; NULL where one is not. Only those
 * that a list multiplies by as a whole may be there: hop_list_whole. */
typedef struct hop_panel_set {
    const float *forward[HOP_MIXER_MAX_PARAMS], *backward[HOP_MIXER_MAX_PARAMS];
} hop_panel_set;
/* Whether all that the list does with parameter `param`, of this shape, is to multiply rows by all of it. */
bool hop_list_whole(const hop_list *l, int param, const int64_t shape[2]);

/* The name of an operation that has no way back; NULL: all have one. */
const char *hop_list_forward_only(const hop_list *l);

/* Whole sequences, by the calling thread. Forward computes rows first .. tokens-1 of the output; backward may
 * be told of a later first row: then the gradient of all rows before is zero. */
typedef struct hop_tape {
    int64_t sequences, tokens;
    int64_t first;               /* of y */
    int64_t back_first;          /* of dy; no less than `first` */
    const float *x;              /* [sequences, tokens, d_model] */
    float *y;                    /* [sequences, tokens - first, d_model] */
    const float *state;          /* [sequences, state_floats] before the first token; NULL: zeros */
    float *kept;                 /* hop_tape_kept floats; from forward to backward */
    const float *plus;           /* what y is added to, laid out as y is; NULL: nothing */
    const hop_panel_set *panels; /* the parameters as products read them; NULL: as they lie */
    const double *angles; /* hop_tape_angles of `tokens` or more; lists without rotations do not look */
    float *scratch;       /* hop_tape_scratch floats */
    const float *dy;      /* [sequences, tokens - back_first, d_model] */
    float *dx;            /* overwritten, as is .. */
    float *dstate;        /* .. this; NULL: not wanted */
} hop_tape;
/* Floats for at most so many sequences of at most so many tokens. */
size_t hop_tape_kept(const hop_list *l, const hop_reverse *r, int64_t sequences, int64_t tokens);
size_t hop_tape_scratch(const hop_list *l, const hop_reverse *r, int64_t sequences, int64_t tokens);
/* The table of the list's rotations, which all have one dim and theta; it depends on these and `tokens` only.
 * Doubles, 0: it has none. */
size_t hop_tape_angles_size(const hop_list *l, int64_t tokens);
void hop_tape_angles(double *angles, const hop_list *l, int64_t tokens);
/* The bits of hop_list_forward, but for recurrences over more tokens than it takes at a time. */
void hop_tape_forward(const hop_tape *t, const hop_list *l, const hop_reverse *r, const hop_mixer_config *c,
                      const float *const *params);
/* Adds to dparams, in an order that depends on the shapes only. Of a choice (SPARSE) the gradient is that of
 * what was chosen. */
void hop_tape_backward(const hop_tape *t, const hop_list *l, const hop_reverse *r, const hop_mixer_config *c,
                       const float *const *params, float *const *dparams);

/* ---- attention in pieces ------------------------------------------------------------------------ */

/* For whoever holds a segment of a sequence and not all of it (model.h's hop_split): a query's softmax is
 * folded from partial softmaxes (kernels.h), one for each segment. A row's bits do not depend on how many
 * rows are computed together, nor on where the segment's memory begins. The list is that of a HOP_MIXER_FULL
 * layer; what it does before and behind its ATTEND looks at one token only, and what is behind reads nothing
 * from before it but x. io: one sequence, all of its rows; scratch as hop_list_scratch says. */

/* q [tokens, heads, key_dim], k and v [tokens, kv_heads, ..] of io->x, whose row 0 stands at io->position. */
typedef struct hop_attention_rows {
    float *q, *k, *v;
} hop_attention_rows;
void hop_attention_project(const hop_attention_rows *out, const hop_list *l, const hop_mixer_config *c,
                           const float *const *params, const hop_mixer_io *io);
/* What hop_attn_partial takes: `queries` rows that stand after all `keys` keys, or, when `own`, the same
 * rows, which see themselves and those before. */
hop_attn hop_attention_shape(const hop_list *l, int64_t keys, int64_t queries, bool own);
/* io->y from what the rows attended to, o [tokens, heads, value_dim]; io->x may still be read. */
void hop_attention_output(const float *o, const hop_list *l, const hop_mixer_config *c,
                          const float *const *params, const hop_mixer_io *io);

#ifdef __cplusplus
}
#endif
#endif
