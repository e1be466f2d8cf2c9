/* hopbound/train.h - gradient descent: a recipe, a loop over fresh samples, checkpoints, held-out evaluation.
 *
 *     hop_recipe r;
 *     hop_recipe_init(&r);                            // the recipe that works; r.task: 2 hops, m 8, fan 4
 *     hop_recipe_read(&r, json, &err);                // what an object says otherwise
 *     hop_measure last;
 *     hop_train_run(&r, &(hop_train_options){.pool = pool, .dir = "net"}, &last, &err);
 *     last.accuracy, last.low, last.high, last.chance
 *
 * The same recipe gives the same bits for any number of threads and ranks, interrupted and taken up again or
 * not: sample i of step s is instance s * batch + i of the seed, a batch is cut into a fixed number of
 * groups, and the groups' gradients are added in their order.
 */
#ifndef HOPBOUND_TRAIN_H
#define HOPBOUND_TRAIN_H

#include <hopbound/base.h>
#include <hopbound/config.h>
#include <hopbound/json.h>
#include <hopbound/model.h>
#include <hopbound/ranks.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recipes --------------------------------------------------------------------------------- */

#define HOP_SUPERVISE_LIST(X)  X(ANSWER, "answer") X(CHAIN, "chain")
#define HOP_CURRICULUM_LIST(X) X(NONE, "none") X(HOPS, "hops") X(SIZES, "sizes")

typedef enum hop_supervise {
#define HOP_SUPERVISE_ENUM(id, text) HOP_SUPERVISE_##id,
    HOP_SUPERVISE_LIST(HOP_SUPERVISE_ENUM)
#undef HOP_SUPERVISE_ENUM
} hop_supervise;
typedef enum hop_curriculum {
#define HOP_CURRICULUM_ENUM(id, text) HOP_CURRICULUM_##id,
    HOP_CURRICULUM_LIST(HOP_CURRICULUM_ENUM)
#undef HOP_CURRICULUM_ENUM
} hop_curriculum;

/* Every number and word of a recipe but the task: kind, member, name (an option's; in JSON with _ for -),
 * what stands for it, default, least, most, help. WORD is one of a list. */
#define HOP_RECIPE_LIST(X)                                                                                 \
    X(TEXT, pattern, "pattern", "P", "F F F", 1, 255,                                                      \
      "the layers in order: F full, W window, S sparse, L the linear mixer, or names; ^k repeats, "        \
      "parentheses group")                                                                                 \
    X(TEXT, mixer, "mixer", "NAME", "deltanet", 1, 23, "what L stands for in the pattern")                 \
    X(INT, d_model, "d-model", "N", "64", 1, 65536, "width of the residual stream")                        \
    X(INT, heads, "heads", "H", "4", 1, 65536, "heads")                                                    \
    X(INT, head_dim, "head-dim", "D", "0", 0, 65536, "numbers in a head's key; 0: d-model over heads")     \
    X(WORD, norm, "norm", "NAME", "layer", 0, 0, "normalisation before mixers and MLPs")                   \
    X(WORD, mlp, "mlp", "NAME", "gelu", 0, 0, "the MLP after each mixer")                                  \
    X(INT, mlp_hidden, "mlp-hidden", "N", "0", 0, 1048576, "its hidden units; 0: 4 times d-model")         \
    X(REAL, token_std, "token-std", "X", "0.5", 0, 100,                                                    \
      "standard deviation of the token table at the start")                                                \
    X(REAL, position_std, "position-std", "X", "0.1", 0, 100,                                              \
      "the same of the position table; 0: there is none")                                                  \
    X(INT, steps, "steps", "N", "4000", 1, 1000000000000, "steps of the optimiser")                        \
    X(INT, batch, "batch", "N", "64", 1, 1048576, "sequences a step, fresh ones each time")                \
    X(INT, groups, "groups", "N", "8", 1, 4096,                                                            \
      "parts of a batch that threads and ranks share out; their gradients are added in order")             \
    X(REAL, lr, "lr", "X", "0.001", 0, 1e30, "learning rate after the warm-up")                            \
    X(REAL, lr_end, "lr-end", "X", "0", 0, 1, "part of it that is left at the end of the cosine")          \
    X(INT, warmup, "warmup", "N", "200", 0, 1000000000000, "steps in which the learning rate rises")       \
    X(REAL, clip, "clip", "X", "1", 0, 1e30, "longest gradient, others are shortened to it; 0: not")       \
    X(REAL, weight_decay, "weight-decay", "X", "0.01", 0, 100, "AdamW's")                                  \
    X(REAL, beta1, "beta1", "X", "0.9", 0, 1, "AdamW's, below 1")                                          \
    X(REAL, beta2, "beta2", "X", "0.999", 0, 1, "AdamW's, below 1")                                        \
    X(WORD, supervise, "supervise", "WHAT", "chain", 0, 0,                                                 \
      "answer: the loss is the answer's; chain: also that of heads that read i_l at the last token after " \
      "the layer that should know it, where the task has hops")                                            \
    X(REAL, chain_weight, "chain-weight", "X", "1", 0, 1000, "what the loss of such a head counts")        \
    X(WORD, curriculum, "curriculum", "OVER", "none", 0, 0,                                                \
      "easier tasks first: hops 1, 2, ..; or sizes of a quarter, a half, the whole")                       \
    X(REAL, curriculum_part, "curriculum-part", "X", "0.5", 0, 1,                                          \
      "part of the steps that easier tasks take")                                                          \
    X(REAL, target, "target", "X", "0", 0, 1, "stop at an evaluation with this accuracy; 0: do all steps") \
    X(INT, eval_every, "eval-every", "N", "250", 0, 1000000000000,                                         \
      "steps between evaluations; 0: only at the end")                                                     \
    X(INT, eval_count, "eval-count", "N", "1024", 1, 1000000000,                                           \
      "held-out instances; four times as many at the end")                                                 \
    X(INT, checkpoint_every, "checkpoint-every", "N", "250", 0, 1000000000000,                             \
      "steps between checkpoints; 0: only at the end and when it is stopped")

typedef struct hop_recipe {
#define HOP_RECIPE_TEXT(member)                                                    char member[256];
#define HOP_RECIPE_INT(member)                                                     int64_t member;
#define HOP_RECIPE_REAL(member)                                                    double member;
#define HOP_RECIPE_WORD(member)                                                    int member; /* a hop_norm, hop_mlp, hop_supervise, hop_curriculum */
#define HOP_RECIPE_MEMBER(kind, member, name, metavar, initial, least, most, help) HOP_RECIPE_##kind(member)
    HOP_RECIPE_LIST(HOP_RECIPE_MEMBER)
#undef HOP_RECIPE_MEMBER
#undef HOP_RECIPE_TEXT
#undef HOP_RECIPE_INT
#undef HOP_RECIPE_REAL
#undef HOP_RECIPE_WORD
    uint64_t seed;
    hop_task task;
} hop_recipe;

void hop_recipe_init(hop_recipe *r);
/* The words that the key called so may be, NULL-terminated; NULL: it is no word. */
const char *const *hop_recipe_words(const char *key);
/* Changes what the object says: the keys of the list, "seed", "task". HOP_EFORMAT names a key that is unknown
 * or whose value is of the wrong type or out of range; `r` is then as it was. */
hop_status hop_recipe_read(hop_recipe *r, const hop_json *object, hop_error *err);
void hop_recipe_write(const hop_recipe *r, hop_json_writer *w); /* all of it: reads back to the same */
/* The network that it trains, its weights as they are before the first step. HOP_EDOMAIN, HOP_EFORMAT,
 * HOP_EUNKNOWN, HOP_ERANGE: there is no such network. */
hop_status hop_recipe_model(const hop_recipe *r, hop_model **out, hop_error *err);
/* Its shape alone, at once, however large it is. */
hop_status hop_recipe_layout(const hop_recipe *r, hop_layout **out, hop_error *err);

/* ---- measurements ---------------------------------------------------------------------------- */

typedef struct hop_measure {
    int64_t step;               /* after so many */
    double loss;                /* mean over the batches since the last measurement */
    int64_t instances, correct; /* held out; all answers right */
    double accuracy, low, high; /* correct of instances, and Wilson's interval of 95 % */
    double answers;             /* part of single answers that are right, where an instance asks several */
    double chance;              /* accuracy of whoever has not read the input */
    double ceiling;             /* P3's, hop_train_ceiling; NaN: it says nothing here */
    double seconds;             /* of steps alone, those of earlier processes counted */
    double tokens_per_second;   /* trained, over that time */
    bool last;                  /* the one at the end, on instances of its own */
} hop_measure;

/* Wilson's score interval of `correct` of `count`, z standard deviations to each side. */
void hop_wilson(int64_t correct, int64_t count, double z, double *low, double *high);

/* P3's ceiling on the accuracy of a network of linear layers only, states of 32-bit numbers; NaN for any
 * other network or task. */
double hop_train_ceiling(const hop_config *c, const hop_task *t);
/* The accuracy lies above it by five standard deviations: a bug. */
bool hop_measure_above(const hop_measure *m, double ceiling);

/* ---- training --------------------------------------------------------------------------------- */

typedef struct hop_train_options {
    hop_pool *pool;               /* NULL: this thread */
    const hop_progress *progress; /* counts tokens; false stops, after a checkpoint */
    /* A directory that becomes the network's: config.json, model.safetensors, checkpoint.safetensors,
     * log.jsonl. NULL: nothing is written. */
    const char *dir;
    bool resume; /* goes on from the checkpoint in `dir`, if there is one */
    /* Called after every evaluation. NULL: nobody is told. */
    void (*measured)(void *ctx, const hop_measure *m);
    void *ctx;
    /* Ranks that share each batch; all call with the same recipe, and rank 0 alone writes to `dir`, which all
     * can read. NULL: this process alone. */
    hop_transport *ranks;
} hop_train_options;

/* Trains. *last is the last measurement (step 0 and NaN when there was none). HOP_ESTOPPED: the progress said
 * so; the checkpoint is written. HOP_ERANGE: loss or gradient is not finite; `err` names step and layer or tensor, and
 * the checkpoint before stands. HOP_EIO, HOP_EFORMAT: a file cannot be written or is no checkpoint of this
 * recipe, or `dir` holds one and `resume` is false. What hop_recipe_model returns; HOP_ENOMEM. */
hop_status hop_train_run(const hop_recipe *r, const hop_train_options *o, hop_measure *last, hop_error *err);
/* The recipe of the checkpoint in `dir`. HOP_EIO: there is none. HOP_EFORMAT. */
hop_status hop_train_recipe(hop_recipe *r, const char *dir, hop_error *err);
bool hop_train_holds(const char *dir); /* a checkpoint, whose network stands beside it */

#ifdef __cplusplus
}
#endif
#endif
