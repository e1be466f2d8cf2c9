/* The inside of a network, shared by the files of this room. */
#ifndef HOP_MODEL_NETWORK_H
#define HOP_MODEL_NETWORK_H

#include <hopbound/layers.h>

/* One block's weights; NULL where the config has none. */
typedef struct hop__block {
    const hop_mixer_ops *ops;
    const hop_list *list; /* what its mixer does */
    hop_norms norms;      /* where they stand */
    const float *mixer[HOP_MIXER_MAX_PARAMS];
    const float *norm1, *norm1_bias, *norm2, *norm2_bias;
    const float *gate, *up, *up_bias, *down, *down_bias;
} hop__block;

/* A tensor of a block: its name after "model.layers.N.", its shape, and which member of hop__block points to
 * it. */
typedef struct hop__part {
    char name[64];
    int64_t shape[2]; /* [n] is {n, 0} */
    size_t slot;      /* offset of the pointer in hop__block */
} hop__part;

#define HOP__MAX_PARTS (HOP_MIXER_MAX_PARAMS + 9)

/* A mixer as some layers have it; their numbers aside, they are all alike. */
typedef struct hop__plan {
    const hop_mixer_ops *ops;
    hop_mixer_config config;
    hop_list list;
} hop__plan;

/* A layer with settings of its own. */
typedef struct hop__special {
    int64_t layer;
    const hop__plan *plan;
} hop__special;

struct hop_layout {
    hop_config config;
    /* How each layer's mixer is configured: by run of the pattern, and the exceptions in order of their
     * layers. */
    hop__plan **plans;
    int64_t plan_count;
    const hop__plan **run_plan;
    int64_t *run_start; /* [runs + 1] */
    hop__special *specials;
    int64_t special_count;
    hop_slot *slots; /* of stored tensors in file order: tables, layers, read-out */
    int64_t count, floats;
    int64_t *first_slot; /* [layers + 1]; NULL when layers are seeded */
};

struct hop_model {
    hop_layout *layout;
    float *data;         /* a block of the layout */
    hop_weight *weights; /* its slots with their floats */
    hop__block *layers;  /* NULL when layers are seeded */
    const float *tokens, *positions, *norm, *norm_bias, *head;
    bool theirs; /* it was read from a directory of others, as networks.txt says */
};

/* plan.c */
hop_status hop__plan_all(hop_layout *l, hop_error *err);
const hop__plan *hop__layer_plan(const hop_layout *l, int64_t layer);
hop_mixer_config hop__layer_mixer(const hop_layout *l, int64_t layer);
bool hop__is_beside(const hop_layout *l, int64_t layer);    /* it reads what the layer before read */
int64_t hop__layer_run(const hop_layout *l, int64_t layer); /* which run of the pattern it belongs to */

/* layout.c */

/* The tensors of one layer; returns how many. */
int hop__layer_parts(const hop_layout *l, int64_t layer, hop__part out[HOP__MAX_PARTS]);
int hop__plan_parts(const hop_config *c, const hop__plan *plan, hop__part out[HOP__MAX_PARTS]);
/* As they are laid out, each from a cache line on; for a tensor beyond all limits, a number beyond them. */
int64_t hop__part_floats(const hop__part *p);
int64_t hop__parts_floats(const hop__part *parts, int count);
/* A stored layer's tensors in a block of the layout. */
void hop__bind(hop__block *out, const hop_layout *l, int64_t layer, const float *block);

/* safetensors_write.c: opened and filled; to be committed. On failure there is nothing to commit. */
hop_status hop__safetensors_begin(hop_output *out, const char *path, const hop_tensor_out *tensors,
                                  int64_t count, const char *const *metadata, hop_error *err);

/* source.c: layers one after another, stored or made from the seed when they are asked for. */

/* Layers of one mixer without settings of their own have tensors of one shape. */
typedef struct hop__layer_kind {
    const hop__plan *plan;
    int count;
    hop__part parts[HOP__MAX_PARTS];
} hop__layer_kind;

/* Room for one seeded layer. */
typedef struct hop__drawn {
    int64_t stream; /* of the weights that it holds; -1: none */
    float *data;
    hop__block layer;
} hop__drawn;

typedef struct hop__source {
    const hop_model *model;
    hop__layer_kind *shapes;
    int *shape_of_run;
    int64_t shape_count, each; /* each: buffers of a shape; one, or one for each tied layer */
    hop__drawn *drawn;         /* [shapes, each], and one more for layers with settings of their own */
    float *buffer;
} hop__source;

hop_status hop__source_open(hop__source *s, const hop_model *m, hop_error *err);
const hop__block *hop__source_layer(hop__source *s, int64_t layer); /* valid until the next call */
void hop__source_close(hop__source *s);
/* Draws one layer's weights as hop_model_init_weights does; data[i] belongs to the i-th of its parts. */
void hop__init_layer(const hop_model *m, int64_t layer, const hop__part *parts, int count, float *const *data,
                     uint64_t seed);

/* block.c: the parts of a block that look at one token only. */

/* y = norm(x) row by row, rounded to `bits`; returns x itself when there is no norm. weight NULL: a block beside the
 * one before, which left in y what both read. */
const float *hop__norm(const hop_model *m, float *y, const float *x, const float *weight, const float *bias,
                       int64_t rows, int bits, hop_pool *pool);
/* What the mixer is given of x: its norm, or x itself. Where the norm is kept, x becomes it. */
const float *hop__enter(const hop_model *m, const hop__block *l, float *normed, float *x, int64_t rows,
                        int bits, hop_pool *pool);
/* How rows are computed. */
typedef struct hop__arith {
    int bits;    /* round to that many significant bits; 0: do not */
    bool steady; /* a row's bits do not depend on how many rows are computed together (slower for few) */
} hop__arith;
/* x += y, then x += mlp(norm(x)), with norms where the block has them. scratch: hop__finish_floats(m, rows). */
void hop__finish(const hop_model *m, const hop__block *l, float *x, const float *y, int64_t rows,
                 hop__arith how, float *scratch);
size_t hop__finish_floats(const hop_model *m, int64_t rows);
/* x = token row + position row. work: [d_model] */
void hop__embed(const hop_model *m, float *x, int32_t token, int64_t position, int bits, float *work);
/* logits [rows, vocab] of x [rows, d_model]; work: [rows, d_model]. */
void hop__read_out(const hop_model *m, float *logits, const float *x, int64_t rows, hop__arith how,
                   float *work, hop_pool *pool);
/* HOP_ERANGE naming the token or the length that the network does not take. */
hop_status hop__check_token(const hop_model *m, int32_t token, int64_t position, hop_error *err);

/* cut.c: the layers of a pass over a sequence that is cut into segments. */

/* The most that any layer takes, in floats, for sequences of `tokens`. */
/* Numbers of a value of attention, whose keys have head_dim. */
static inline int64_t hop__value_dim(const hop_mixer_config *c)
{
    return c->option[HOP_OPTION_value_dim] > 0 ? c->option[HOP_OPTION_value_dim] : c->head_dim;
}

typedef struct hop__cut_sizes {
    size_t q, k, v, o, partials; /* of a row of a full layer */
    size_t attention;            /* hop_attn_partial's scratch */
    size_t state;
    size_t step; /* bytes of the mixers' scratch */
} hop__cut_sizes;
hop__cut_sizes hop__cut_measure(const hop_model *m, int64_t tokens, int threads);

typedef struct hop__cut {
    hop_cuts at; /* the starts are its own */
    float *memory, *q, *sent, *k, *v, *partials, *reply, *o, *work, *state;
    hop_arena step;
    hop_pool *pool;
    const hop_watch *watch; /* NULL: nobody looks */
} hop__cut;
hop_status hop__cut_open(hop__cut *c, const hop_model *m, const hop_cuts *at, int64_t tokens, hop_pool *pool,
                         hop_error *err);
void hop__cut_close(hop__cut *c);
/* HOP_EDOMAIN, HOP_ERANGE: no cut of this network's sequences. */
hop_status hop__cut_valid(const hop_model *m, const hop_cuts *at, hop_error *err);
/* HOP_ERANGE when a segment begins behind the sequence. */
hop_status hop__cut_check(const hop_cuts *at, int64_t count, hop_error *err);
/* y = the mixer of `layer` over x [count, d_model]. */
void hop__cut_mix(hop__cut *c, const hop__block *l, const hop_mixer_config *mixer, float *y, const float *x,
                  int64_t count);
/* Whether its queries are sent along the cuts, and not its state. */
static inline bool hop__is_full(const hop_mixer_ops *ops)
{
    return ops->kind == HOP_MIXER_FULL;
}

/* saved.c: a forward pass that can be interrupted and taken up again. */

#define HOP__DIGITS 17 /* a hash in hexadecimal, and the end of the string */

typedef struct hop__saved {
    const char *path;         /* NULL: nothing is kept */
    double next;              /* time of the next saving */
    int64_t count, d, layers; /* tokens, d_model and layers of the pass */
    char digest[HOP__DIGITS]; /* of everything that its numbers depend on */
} hop__saved;

/* Before a pass over `tokens`. HOP_ENOMEM. */
hop_status hop__saved_begin(hop__saved *s, const hop_model *m, const int32_t *tokens, int64_t count, int bits,
                            hop_error *err);
/* The layer to go on with and x [count, d] filled; 0, and x as it was, when there is no file. HOP_EFORMAT,
 * HOP_EIO: the file is of something else, or damaged; x may hold anything. */
hop_status hop__saved_load(const hop__saved *s, float *x, int64_t *layer, hop_error *err);
hop_status hop__saved_store(const hop__saved *s, const float *x, int64_t layer, hop_error *err);

#endif
