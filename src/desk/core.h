/* Inside the room: what the verb `core` and the cores (core_*.c) share: one call reads inputs from a file and makes outputs. */
#ifndef HOP_DESK_CORE_H
#define HOP_DESK_CORE_H

#include <hopbound/kernels.h>
#include <hopbound/model.h>
#include <hopbound/scans.h>

#define CORE_MAX_OUTPUTS 20

typedef enum core_form { CORE_CHUNKED, CORE_RECURRENT, CORE_STEP } core_form;

typedef struct core_output {
    hop_tensor_out tensor; /* name and shape; its data is not used */
    float *data;           /* from hop_alloc, freed by core.c */
} core_output;

typedef struct core_job {
    const hop_safetensors *in;
    core_form form;
    bool scaled; /* `scale` was given; else the core sets its default */
    double scale;
    hop_pool *pool;
    core_output outputs[CORE_MAX_OUTPUTS]; /* filled by the core, also when it fails half-way */
    int output_count;
} core_job;

/* Errors name the tensor; the caller names the file. */
typedef hop_status core_fn(core_job *job, hop_error *err);

core_fn hop__core_attention, hop__core_decay, hop__core_delta, hop__core_dplr, hop__core_mlstm,
    hop__core_selective;

/* ---- tensors (core_tensors.c) ----------------------------------------------------------------- */

/* An output of that shape, zeroed; NULL with `err` set when there is no memory. */
float *hop__core_output_new(core_job *job, const char *name, int rank, const int64_t *shape, hop_error *err);
/* The tensor called `name` as floats (hop_free it), checked to have `rank` dimensions of at least 1. */
hop_status hop__core_input(const core_job *job, const char *name, int rank, float **data, int64_t *shape,
                           hop_error *err);

/* Shapes are words, a letter a dimension: "BTHK". core_dims says how long each is; 0: not known yet. */
typedef struct core_dims {
    int64_t of[128]; /* by letter */
} core_dims;

#define CORE_MAX_SHAPES 3

/* An input, the shapes it may have (told apart by their number of dimensions), and the output for its
 * gradient. */
typedef struct core_spec {
    const char *name, *shapes[CORE_MAX_SHAPES], *gradient;
} core_spec;

typedef struct core_tensor {
    float *data;       /* from hop_alloc */
    const char *given; /* its shape in the file; NULL: it is not there */
    const char *shape; /* its shape now, after core_expand */
} core_tensor;

/* Reads the tensor if it is there, and learns or checks its dimensions. */
hop_status hop__core_bind(const core_job *job, const core_spec *spec, core_dims *dims, core_tensor *out,
                          hop_error *err);
/* Repeats the tensor over the dimensions that `shape` has and it has not. */
hop_status hop__core_expand(core_tensor *t, const char *shape, const core_dims *dims, hop_error *err);
/* Adds `part`, shaped `shape` (batch b of it, when that starts with B), to `sum`, shaped `given`: sums over
 * the rest. */
void hop__core_add_up(float *sum, const char *given, const float *part, const char *shape, int64_t b,
                      const core_dims *dims);
/* Product of the dimensions; from_letter skips that many letters. */
int64_t hop__core_elements(const char *shape, int from_letter, const core_dims *dims);
float *hop__core_output_like(core_job *job, const char *name, const char *shape, const core_dims *dims,
                             hop_error *err);

/* ---- recurrences (core_recurrence.c) ----------------------------------------------------------- */

#define CORE_MAX_INPUTS 8
#define CORE_MAX_STATES 3

struct core_run;

/* What a recurrence takes and how it is computed; one const table each. Inputs are read in order, so that the
 * first ones say what B, T, .. are. The state of one sequence is, unit by unit (a head, a channel), its parts
 * behind each other. */
typedef struct core_kind {
    core_spec inputs[CORE_MAX_INPUTS];
    int needed; /* the first ones must be there */
    struct {
        core_spec initial;
        const char *final;
    } states[CORE_MAX_STATES];
    const char *output;                                      /* o's shape; do's too */
    bool unscaled;                                           /* the default of the scale is 1, not K^(-1/2) */
    hop_status (*check)(struct core_run *r, hop_error *err); /* what the letters do not say; may be NULL */
    size_t (*scratch)(const struct core_run *r, int threads);
    void (*forward)(const struct core_run *r);
    void (*backward)(const struct core_run *r);
} core_kind;

/* One sequence, or one token of it. */
typedef struct core_run {
    const core_kind *kind;
    core_dims dims;
    core_tensor inputs[CORE_MAX_INPUTS], initial[CORE_MAX_STATES], d_o;
    float scale;
    hop_form form;
    hop_pool *pool;
    float *scratch;
    int64_t tokens;
    const float *in[CORE_MAX_INPUTS]; /* NULL: not there */
    float *grad[CORE_MAX_INPUTS], *d_state;
    float *o, *state;          /* forward: the state before, then after */
    const float *start, *do_t; /* backward: the state before, and do */
} core_run;

hop_status hop__core_recurrence(core_job *job, const core_kind *kind, hop_error *err);

#endif
