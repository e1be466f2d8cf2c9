/* Inside the room: the ladder's rungs: networks that are built, proved and run, and what is known of those that are not. */
#ifndef HOP_DESK_LADDER_H
#define HOP_DESK_LADDER_H

#include <hopbound/ask_ladder.h>
#include <hopbound/bounds.h>
#include <hopbound/construct.h>
#include <hopbound/eval.h>
#include <hopbound/exact.h>
#include <hopbound/isa.h>
#include <hopbound/mixers.h>
#include <hopbound/layers.h>
#include <hopbound/model.h>
#include <hopbound/protocol.h>
#include <hopbound/prove.h>
#include <hopbound/refute.h>
#include <hopbound/tasks.h>
#include <hopbound/verdict.h>
#include <hopbound/version.h>

#include <stdio.h>

#include "desk.h"

#define MOST_RUNGS       16
#define MOST_OTHERS      32 /* a rung */
#define MOST_FAILURES    4  /* a rung */
#define MOST_MODELS      24
#define THRESHOLD_TABLES 2
#define MOST_LEARNT      64
#define LEARNT_DIR       "learnt"
#define THRESHOLD_DIR    "exact" /* proofs, below the directory that is written */

typedef struct ladder_args {
    hop_request ask;
    hop_opt_value output, rungs, m, fan, bits, count, precision, brief, train, seeds, train_steps;
} ladder_args;

/* What the page's other sections show, and what belongs to it. */
typedef struct ladder_demonstration {
    hop_demonstration page;
    hop_demonstration_step steps[3];
    int32_t *tokens;
    int *players;
    int64_t *indices;
} ladder_demonstration;

typedef struct ladder_map {
    hop_map page;
    hop_map_row *rows;
    hop_ladder_model models[MOST_MODELS];
} ladder_map;

typedef struct ladder_thresholds {
    hop_thresholds page[THRESHOLD_TABLES];
    hop_stair *cells[THRESHOLD_TABLES];
    int count;
    char solver[64], missing[400]; /* missing: why there are none */
} ladder_thresholds;

typedef struct ladder {
    const ladder_args *args;
    hop_response *out; /* keeps the rows' texts */
    hop_pool *pool;
    hop_ladder_row rungs[MOST_RUNGS];
    hop_ladder_margin layers[MOST_RUNGS * (MOST_RUNGS + 1)];
    hop_ladder_row others[MOST_RUNGS * MOST_OTHERS];
    hop_failure_trace failures[MOST_RUNGS * MOST_FAILURES];
    int64_t rung_count, layer_count, other_count, failure_count;
    hop_verdict worst;
    ladder_demonstration demonstration;
    ladder_map map;
    ladder_thresholds thresholds;
    hop_learnt learnt[MOST_LEARNT];
    int64_t learnt_count;
} ladder;

/* Climbs one rung: the full network into rungs and layers, unless --brief the others too. */
hop_status hop__ladder_climb(ladder *l, int hops, hop_error *err);
/* ladder_others.c, ladder_known.c */
hop_status hop__ladder_others(ladder *l, const hop_task *t, hop_error *err);
/* Of the others from number `from` on, hybrids with larger states than the rows below count with: from which
 * length on these rows are impossible with their states. */
hop_status hop__ladder_own_lengths(ladder *l, const hop_separation *s, int64_t from, hop_error *err);
hop_status hop__ladder_known(ladder *l, const hop_separation *s, hop_error *err);
/* ladder_below.c: networks of the plans that cannot work, and the prompts that each confuses, for the rows of
 * the task's rung; and a short look for the same in a network that does work. */
hop_status hop__ladder_below(ladder *l, const hop_task *t, hop_error *err);
hop_status hop__ladder_look(ladder *l, hop_ladder_row *r, const hop_model *m, const hop_task *t,
                            hop_error *err);
/* Sizes for a rung: those given; else the shortest at which both halves speak; else ones that run. */
hop_status hop__ladder_sizes(ladder *l, int hops, hop_separation *s, hop_error *err);

/* Builds a network of a kind, writes it under DIR/name, reads it back, proves and runs that: what is in the
 * row is true of the file. `margins`: keep them in l->layers. */
typedef struct ladder_job {
    const char *kind, *mixer, *name;
    int64_t count; /* instances */
    bool rounded;  /* run them with fewer bits too */
    bool messages; /* prove it under the game's arithmetic, too */
    bool margins;
    bool look; /* for an input that it answers wrongly */
} ladder_job;
/* Instances to run: what --count says, or `most`, fewer of long ones. */
int64_t hop__ladder_count(const ladder *l, int64_t tokens, int64_t most);
/* A row of which nothing is known but its place. */
void hop__ladder_begin(hop_ladder_row *r, int64_t hops, int64_t n, int64_t head_dim);
hop_status hop__ladder_row(ladder *l, hop_ladder_row *r, const hop_task *t, const ladder_job *job,
                           hop_error *err);

/* ---- the page's other sections: a file each ------------------------------------------------------ */

hop_status hop__ladder_demonstration_make(ladder *l, hop_error *err);
void hop__ladder_demonstration_free(ladder *l);
hop_status hop__ladder_map_make(ladder *l, hop_error *err);
void hop__ladder_map_free(ladder *l);
hop_status hop__ladder_models(ladder *l, hop_error *err);
hop_status hop__ladder_thresholds_make(ladder *l, hop_error *err);
void hop__ladder_thresholds_free(ladder *l);

/* ---- ladder_train.c: what gradient descent finds ------------------------------------------------- */

hop_status hop__ladder_train(ladder *l, hop_error *err);

/* ---- ladder_save.c ------------------------------------------------------------------------------- */

/* Writes the page, its drawings and ladder.json, the answer, into the directory; the page's path goes to a->report.
 * `groups`: the verb's options, for the command that made it. */
hop_status hop__ladder_save(ladder *l, hop_ladder_answer *a, const hop_opt_group *groups, hop_error *err);

#endif
