/* What the files of this room share. */
#ifndef HOP_TRAIN_ROOM_H
#define HOP_TRAIN_ROOM_H

#include <hopbound/eval.h>
#include <hopbound/grad.h>
#include <hopbound/train.h>

/* ---- recipe.c ---- */

/* The recipe as text, which whoever asks frees. NULL: out of memory. */
char *hop__recipe_text(const hop_recipe *r);
/* What is trained on at a step; `most` (may be NULL): the longest of all. */
hop_status hop__recipe_task(const hop_recipe *r, int64_t step, hop_task *out, hop_error *err);

/* ---- chain.c: heads that read a link of the chain off the residual stream; only training has them ---- */

#define HOP__MAX_HEADS HOP_MAX_HOPS

typedef struct hop__chain {
    int heads;
    struct {
        int link;       /* reads i_link */
        int64_t stream; /* after so many blocks */
        int64_t offset; /* of norm weight [d], norm bias [d], matrix [vocab, d], bias [vocab] in the block */
    } head[HOP__MAX_HEADS];
    int64_t d, vocab;
    int64_t floats; /* of a block of all heads' parameters */
} hop__chain;

void hop__chain_init(hop__chain *c, const hop_recipe *r, const hop_config *config);
void hop__chain_draw(const hop__chain *c, float *block, uint64_t seed);
/* i_0 .. of an instance; how many the task has, the answer not counted. */
int hop__chain_links(const hop_task *t, const hop_instance *x, int64_t *links);
size_t hop__chain_scratch(const hop__chain *c, int64_t rows); /* floats */

/* One head over `rows` last tokens: x[rows] rows of the stream, wanted tokens; adds the loss's gradients,
 * times `scale`, to dx's rows and to the head's part of dblock. Returns the sum of losses, not scaled. */
typedef struct hop__chain_rows {
    const float *stream;
    float *dstream;
    const int64_t *row;    /* of the streams */
    const int64_t *wanted; /* [rows] */
    int64_t rows;
    float scale;
} hop__chain_rows;
double hop__chain_step(const hop__chain *c, int head, const float *block, float *dblock,
                       const hop__chain_rows *x, float *scratch);
/* Cross entropy of softmax(logits[n]) at `wanted`; logits become its gradient times `scale`. */
double hop__cross_entropy(float *logits, int64_t n, int64_t wanted, float scale);

/* ---- gradient.c: loss and gradient of a batch ---- */

/* Parameters that are trained: the network's block, then, from a chunk's border on, the heads'. Gradients and
 * moments are blocks of `floats` floats. */
#define HOP__CHUNK 4096 /* floats that are reduced and stepped at a time */

typedef struct hop__params {
    float *part[2];
    int64_t size[2], start[2], floats;
} hop__params;

/* share.c: the groups' gradients, on one rank or several. Rank r has groups and chunks from
 * hop__share_groups(r), hop__share_chunks(r) on, up to those of r + 1. */
typedef struct hop__share {
    hop_transport *transport; /* NULL: one rank */
    int rank;
    int64_t groups, floats, chunks;
    float **block;  /* [groups], each [floats] */
    double *loss;   /* [groups] */
    double *square; /* [chunks]: of the summed gradient */
} hop__share;

hop_status hop__share_init(hop__share *s, hop_transport *t, int64_t groups, int64_t floats, hop_error *err);
void hop__share_free(hop__share *s);
int64_t hop__share_groups(const hop__share *s, int64_t rank);
int64_t hop__share_chunks(const hop__share *s, int64_t rank);
/* Afterwards the rank has its columns of all groups; and, once these are summed into block 0, all columns. */
hop_status hop__share_scatter(hop__share *s, hop_error *err);
hop_status hop__share_gather(hop__share *s, hop_error *err);

typedef struct hop__gradient hop__gradient;

typedef struct hop__batch_result {
    double loss;      /* mean over the batch */
    double norm;      /* of the gradient */
    const float *sum; /* the gradient [floats] */
} hop__batch_result;

hop_status hop__gradient_new(hop__gradient **out, const hop_recipe *r, hop_model *m, const hop__chain *chain,
                             const hop__params *p, const hop_train_options *o, const hop_progress *progress,
                             hop_error *err);
void hop__gradient_free(hop__gradient *g);
/* Of the batch of a step, over instances of `task`. HOP_ESTOPPED: `progress`, which is asked between
 * sequences, said so; the step is as if it had not begun. */
hop_status hop__gradient_batch(hop__gradient *g, const hop_task *task, int64_t step, hop__batch_result *out,
                               hop_error *err);

/* Behind how many blocks the batch of a step is first not finite, in any of its sequences; -1: nowhere. */
int64_t hop__gradient_breaks(hop__gradient *g, const hop_task *task, int64_t step);

/* ---- adamw.c ---- */

typedef struct hop__adamw {
    float *first, *second; /* moments, [floats] */
} hop__adamw;

double hop__learning_rate(const hop_recipe *r, int64_t step);
/* Step number `step`, from 0; the gradient is shortened to r->clip. */
void hop__adamw_step(const hop__adamw *a, const hop_recipe *r, const hop__params *p,
                     const hop__batch_result *g, int64_t step, hop_pool *pool);

/* ---- measure.c ---- */

typedef struct hop__heldout hop__heldout;
hop_status hop__heldout_new(hop__heldout **out, const hop_model *m, const hop_recipe *r, hop_pool *pool,
                            const hop_progress *progress, hop_error *err);
void hop__heldout_free(hop__heldout *e);
/* Fills instances, correct, accuracy and its interval, answers, chance; `last` as it is in m. */
/* Asks one instance: HOP_ERANGE where an answer is not finite. */
hop_status hop__heldout_probe(hop__heldout *e, int64_t step, hop_error *err);
hop_status hop__heldout_ask(hop__heldout *e, hop_measure *m, hop_error *err);

/* ---- checkpoint.c, log.c ---- */

/* All that a training is between two steps. */
typedef struct hop__state {
    int64_t step;
    int64_t measured; /* the step of the last evaluation; -1: none yet */
    int64_t reached;  /* 1: the target, no more steps */
    double best;      /* accuracy of an evaluation; -1: none yet */
    double loss;      /* mean between the last two evaluations */
    double seconds, tokens, loss_sum;
    int64_t loss_count;
    hop__params params;
    hop__adamw adam;
} hop__state;

#define HOP__CHECKPOINT "checkpoint.safetensors"
#define HOP__LOG        "log.jsonl"

hop_status hop__checkpoint_save(const hop__state *s, const hop_recipe *r, const char *dir, hop_error *err);
/* Into the blocks of `s`. */
hop_status hop__checkpoint_load(hop__state *s, const hop_recipe *r, const char *dir, hop_error *err);

/* The measurements up to a step stay; later lines, and one that was cut short, go. */
hop_status hop__log_begin(const char *dir, int64_t step, hop_error *err);
hop_status hop__log_add(const char *dir, const hop_measure *m, double lr, hop_error *err);

#endif
