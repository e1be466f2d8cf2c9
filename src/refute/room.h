/* A hunt: one search for a witness. Strategies take turns, each with a fixed amount of work in a turn, so
 * that the clock decides when the hunt ends and never what it finds. */
#ifndef HOP_REFUTE_ROOM_H
#define HOP_REFUTE_ROOM_H

#include <hopbound/layers.h>
#include <hopbound/refute.h>

#include <stdatomic.h>

typedef struct hop__hunt {
    const hop_model *model;
    const hop_task *task;
    const hop_refute_options *o;
    int64_t starts[HOP_MAX_HOPS + 2];
    hop_cuts cuts;         /* of the arithmetic; without starts there are none */
    hop_progress progress; /* asks the caller's, and the clock */
    double deadline;
    _Atomic bool late, interrupted;
    hop_eval *eval;
    int64_t generates;
    bool recurrent, keeps, causal; /* every layer is recurrent; one is; none looks ahead */
    int64_t full;                  /* layers with full attention */
    struct hop__strategy_state {
        int64_t next;  /* the number of its next try */
        void *memory;  /* its own, from one turn to the next */
    } * state;         /* of the strategy whose turn it is */
    int64_t tried;     /* in this turn */
    bool exhausted;    /* every input was run, and is right */
    hop_wrong wrong;   /* what was found: an input .. */
    hop_witness found; /* .. or a whole witness, with prompts == 2 */
} hop__hunt;

typedef struct hop__strategy {
    const char *name; /* as witnesses have it */
    bool (*applies)(const hop__hunt *h);
    /* One turn; later ones do more. HOP_ESTOPPED when the progress says so. */
    hop_status (*turn)(hop__hunt *h, int turn, hop_error *err);
    void (*end)(void *memory); /* frees what it kept; NULL: nothing */
} hop__strategy;

extern const hop__strategy hop__structured, hop__sampling, hop__guided, hop__collision, hop__fooling;

/* Something was found. */
static inline bool hop__caught(const hop__hunt *h)
{
    return h->wrong.tokens || h->found.prompts;
}
/* Instances of a batch: as many as keep the threads busy, fewer of long ones. */
int64_t hop__batch(const hop__hunt *h);
/* Tries in a turn, when `tokens` tokens are run in the first one and twice as many in each further one. */
int64_t hop__quota(const hop__hunt *h, int turn, int64_t tokens);
/* Runs a batch; the first wrong one becomes h->wrong. */
hop_status hop__ask(hop__hunt *h, hop_instance *batch, int64_t count, hop_error *err);

/* The network as the arithmetic has it; max_tokens 0: the task's length. */
hop_forward_options hop__forward_options(const hop__hunt *h, const hop_progress *progress);
/* Position of the entry that hop l (1 .. L) reads when the chain stands at i. */
int64_t hop__entry(const hop_funccomp *t, int l, int64_t w, int64_t i);
int32_t *hop__copy_tokens(const int32_t *tokens, int64_t count); /* NULL: no memory */

/* shrink.c: a witness around a wrong input, with a neighbour if there is one. */
hop_status hop__witness_of_input(hop_witness *w, const hop__hunt *h, const hop_wrong *wrong, hop_error *err);
/* Of a hunt whose model, task and options are set: what its layers are, and how they compute. HOP_EDOMAIN,
 * HOP_ERANGE. */
hop_status hop__hunt_ready(hop__hunt *h, hop_error *err);
/* trace.c: the trace of a witness with two prompts, as hop_witness_trace has it. */
hop_status hop__trace(hop_witness_layer **out, int64_t *count, const hop_witness *w, const hop__hunt *h,
                      hop_error *err);
void hop__witness_free(hop_witness *w);

#endif
