/* hopbound/model.h - networks with weights: load, save, run whole sequences, run token by token.
 *
 *     hop_model *m;
 *     hop_model_open(&m, "ladder/full-3", &err);                  // config.json + model.safetensors
 *     hop_forward *f;
 *     hop_forward_new(&f, m, &(hop_forward_options){.pool = pool}, &err);
 *     hop_forward_logits(f, tokens, count, logits, &err);         // [vocab], at the last token
 *     hop_forward_free(f); hop_model_free(m);
 */
#ifndef HOPBOUND_MODEL_H
#define HOPBOUND_MODEL_H

#include <hopbound/base.h>
#include <hopbound/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- safetensors --------------------------------------------------------------------------- */

#define HOP_TENSOR_MAX_RANK  8
#define HOP_SAFETENSORS_HEAD 100000000 /* the format's own limit on the header, bytes */

#define HOP_DTYPE_LIST(X) \
    X(F64, 64)            \
    X(F32, 32)            \
    X(F16, 16)            \
    X(BF16, 16)           \
    X(I64, 64)            \
    X(I32, 32)            \
    X(I16, 16) X(I8, 8) X(U64, 64) X(U32, 32) X(U16, 16) X(U8, 8) X(BOOL, 8) X(F8_E5M2, 8) X(F8_E4M3, 8)

typedef enum hop_dtype {
#define HOP_DTYPE_ENUM(name, bits) HOP_DTYPE_##name,
    HOP_DTYPE_LIST(HOP_DTYPE_ENUM)
#undef HOP_DTYPE_ENUM
} hop_dtype;

/* One tensor of a file: in memory, or, where `data` is NULL, in the open file. */
typedef struct hop_tensor {
    const char *name;
    hop_dtype dtype;
    int rank;
    int64_t shape[HOP_TENSOR_MAX_RANK];
    int64_t elements;
    int64_t offset; /* of its first byte, among the data */
    const unsigned char *data;
    hop_input file; /* the safetensors' own */
    int64_t at;     /* of its first byte in that file */
} hop_tensor;

typedef struct hop_safetensors {
    hop_tensor *tensors; /* sorted by offset */
    int64_t count;
    hop_json_doc header;      /* names and metadata live here */
    const hop_json *metadata; /* object of strings, or NULL */
    hop_input file;           /* open as long as this is */
    hop_file bytes;           /* of one that was read whole */
} hop_safetensors;

/* Reads and checks a file: header length, JSON, dtypes, shapes times bits against offsets, offsets that start
 * at 0, touch, and end at the file's end; no name twice; metadata string to string. Empty and rank-0 tensors
 * are legal. HOP_EFORMAT names the tensor and the reason. On failure `s` is empty. The file stays open, and
 * tensors are read from it when they are asked for. HOP_EIO: no regular file (hop_file_load). */
hop_status hop_safetensors_open(hop_safetensors *s, const char *path, hop_error *err);
/* The same of a file that may be a pipe: that is read whole, and may bring a gigabyte. */
hop_status hop_safetensors_read(hop_safetensors *s, const char *path, hop_error *err);
/* The same over memory, which must outlive `s`. */
hop_status hop_safetensors_parse(hop_safetensors *s, const unsigned char *data, size_t size, hop_error *err);
void hop_safetensors_close(hop_safetensors *s);
const hop_tensor *hop_safetensors_find(const hop_safetensors *s, const char *name);
const char *hop_safetensors_meta(const hop_safetensors *s, const char *key); /* NULL: absent */
/* Copies as float32; F64, F32, F16, BF16 and the integers convert. HOP_EFORMAT for the others; HOP_EIO when the
 * file has been cut short since it was opened. */
hop_status hop_tensor_floats(const hop_tensor *t, float *out, hop_error *err);

/* Writing: float32 tensors and string metadata, atomically. */
typedef struct hop_tensor_out {
    const char *name;
    int rank;
    int64_t shape[HOP_TENSOR_MAX_RANK];
    const float *data;
} hop_tensor_out;
hop_status hop_safetensors_write(const char *path, const hop_tensor_out *tensors, int64_t count,
                                 const char *const *metadata, /* key, value, .., NULL; or NULL */
                                 hop_error *err);

/* ---- layouts ------------------------------------------------------------------------------- */

/* Where the tensors of a network lie in one block of floats: names, shapes, offsets; no floats. Values,
 * gradients and an optimiser's moments are blocks of one layout. Seeded layers have no tensors in it. It never
 * changes, so threads may share it. */
typedef struct hop_layout hop_layout;

typedef struct hop_slot {
    char name[96]; /* in the file */
    int rank;
    int64_t shape[2];
    int64_t offset; /* floats before it in the block; every tensor starts on a cache line */
} hop_slot;

/* HOP_EDOMAIN, HOP_ERANGE, HOP_EUNKNOWN: what the configuration asks for cannot be built. HOP_ENOMEM. */
hop_status hop_layout_new(hop_layout **out, const hop_config *c, hop_error *err);
void hop_layout_free(hop_layout *l);
const hop_config *hop_layout_config(const hop_layout *l);
int64_t hop_layout_floats(const hop_layout *l); /* of a block */
int64_t hop_layout_count(const hop_layout *l);  /* of tensors, in file order */
const hop_slot *hop_layout_at(const hop_layout *l, int64_t i);
const hop_slot *hop_layout_find(const hop_layout *l, const char *name); /* NULL: there is none */
const hop_slot *hop_layout_layer_find(const hop_layout *l, int64_t layer, const char *part);
int64_t hop_slot_floats(const hop_slot *s); /* without what fills its last cache line */

/* ---- networks ------------------------------------------------------------------------------ */

/* Passes of several threads may read one at once; whoever writes its weights must be alone. */
typedef struct hop_model hop_model;

hop_status hop_model_new(hop_model **out, const hop_config *c, hop_error *err); /* all weights zero */
/* Draws all weights as the mixers' papers have it. False: it was stopped; `p` may be NULL. */
bool hop_model_init_weights(hop_model *m, uint64_t seed, const hop_progress *p);
/* A directory with config.json and model.safetensors (or shards with model.safetensors.index.json). */
hop_status hop_model_open(hop_model **out, const char *dir, hop_error *err);
hop_status hop_model_save(const hop_model *m, const char *dir, hop_error *err);
void hop_model_free(hop_model *m);

const hop_config *hop_model_config(const hop_model *m);
const hop_layout *hop_model_layout(const hop_model *m);
float *hop_model_block(hop_model *m); /* the weights, as the layout has them */
int64_t hop_model_parameters(const hop_model *m);
/* A weight tensor by its name in the file; NULL when the network has none of that name (seeded layers have
 * none). */
typedef struct hop_weight {
    const char *name; /* the layout's */
    int rank;
    int64_t shape[2];
    float *data;
} hop_weight;
const hop_weight *hop_model_weight(const hop_model *m, const char *name);
/* "model.layers.<layer>.<part>" */
const hop_weight *hop_model_layer_weight(const hop_model *m, int64_t layer, const char *part);
int64_t hop_model_weight_count(const hop_model *m);
const hop_weight *hop_model_weight_at(const hop_model *m, int64_t i);

/* ---- whole sequences ----------------------------------------------------------------------- */

/* A sequence cut into segments, as if each were held by another machine (protocol.h runs it so). What crosses
 * a cut is rounded to numbers of `bits` bits (hop_round_float): a full layer's queries, and the partial
 * softmaxes that answer them; every other layer's state. Softmax is folded segment by segment, other mixers
 * go token by token, and a row's bits do not depend on how many rows are computed together. */
typedef struct hop_cuts {
    const int64_t *starts; /* where segments begin: 0, then increasing */
    int64_t count;
    int bits; /* 10 to 32 */
    /* After every token, each number of a recurrent layer's state is rounded to so many bits: 8 (a sign, 5 bits of
     * exponent, 2 of fraction) or 10 to 32, as above; 0: it is kept in float32. Not for segments held apart. */
    int kept;
} hop_cuts;

/* Looks into a pass; called in the pass's own thread. Either may be NULL. */
typedef struct hop_watch {
    /* Behind each layer: the residual stream [count, d_model]; hop_forward_logits has only the last row of the last
     * layer. */
    void (*stream)(void *ctx, int64_t layer, const float *x, int64_t count);
    /* The state that token `at` finds in a recurrent layer; only under cuts, where these go token by token. */
    void (*state)(void *ctx, int64_t layer, const float *state, int64_t floats);
    int64_t at;
    void *ctx;
    const struct hop_list_watch *buffers; /* for other rooms (mixers.h of src/include); else NULL */
} hop_watch;

/* Room for one pass at a time, of one thread; the model must outlive it. */
typedef struct hop_forward hop_forward;

typedef struct hop_forward_options {
    int64_t max_tokens; /* 0, and more than that: the network's max_positions */
    int bits; /* round tables, activations, attention weights to that many significant bits; 0: do not */
    hop_pool *pool;               /* shares the work inside one sequence; may be NULL */
    const hop_progress *progress; /* deep networks tick layer by layer; may be NULL */
    /* A file that keeps where a pass stands: written now and then and when it is stopped, taken up by the
     * next pass over the same tokens, removed when that is done. NULL: none. The result has the same bits
     * either way. */
    const char *checkpoint;
    /* Runs under the arithmetic of a cut sequence; not together with `bits` or `checkpoint`. NULL: does not.
     */
    const hop_cuts *cuts;
    const hop_watch *watch; /* NULL: nobody looks */
} hop_forward_options;

/* HOP_ERANGE: max_tokens or bits below 0. HOP_EDOMAIN, HOP_ENOMEM. */
hop_status hop_forward_new(hop_forward **out, const hop_model *m, const hop_forward_options *o,
                           hop_error *err);
void hop_forward_free(hop_forward *f);
/* Logits at the last token: [vocab]. HOP_ERANGE for a token or a length that the network does not take,
 * HOP_ESTOPPED when the progress says so, HOP_EFORMAT when the checkpoint is of another pass. */
hop_status hop_forward_logits(hop_forward *f, const int32_t *tokens, int64_t count, float *logits,
                              hop_error *err);
/* Logits at every token: [count, vocab]. */
hop_status hop_forward_all(hop_forward *f, const int32_t *tokens, int64_t count, float *logits,
                           hop_error *err);
/* The residual stream behind the last layer, at every token: [count, d_model]. */
hop_status hop_forward_hidden(hop_forward *f, const int32_t *tokens, int64_t count, float *hidden,
                              hop_error *err);
/* Index of the largest; the first of equals; -1 when any is NaN. */
int64_t hop_argmax(const float *x, int64_t n);

/* ---- token by token ------------------------------------------------------------------------ */

/* The state of one text, for one thread at a time; the model must outlive it. */
typedef struct hop_decoder hop_decoder;

/* `keep`: the states after every token are kept, so that recurrent layers can be rewound too; costs their
 * size a token. HOP_EDOMAIN for networks that look both ways or whose layers are seeded. */
hop_status hop_decoder_new(hop_decoder **out, const hop_model *m, int64_t max_tokens, bool keep,
                           hop_error *err);
void hop_decoder_free(hop_decoder *d);
/* Takes one token; logits [vocab], or NULL when they are not wanted. */
hop_status hop_decoder_step(hop_decoder *d, int32_t token, float *logits, hop_error *err);
void hop_decoder_watch(hop_decoder *d,
                       const hop_watch *watch); /* as a pass is looked into; NULL: nobody does */
int64_t hop_decoder_length(const hop_decoder *d);
/* Forgets all tokens from `length` on. HOP_EDOMAIN for recurrent layers whose states were not kept, unless
 * length is 0. */
hop_status hop_decoder_rewind(hop_decoder *d, int64_t length, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
