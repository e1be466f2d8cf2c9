/* Hops against length: of models and of plans alike. */
#ifndef HOP_DESK_OVER_H
#define HOP_DESK_OVER_H

#include <hopbound/bounds.h>
#include <hopbound/over.h>
#include "desk.h"

#define OVER_MOST_LENGTHS 24

typedef struct over_lengths {
    int64_t at[OVER_MOST_LENGTHS];
    int count;
} over_lengths;

/* "32k..16M": the two and what lies between, by factors of two or more; "32k,100k,1M": these, which rise. Without a text
 * `alone`. HOP_EUSAGE, the line beginning with "--over: ". over_lengths.c */
hop_status hop__over_lengths(over_lengths *out, const char *text, int64_t alone, hop_error *err);

/* What there is at one length. */
typedef struct over_view {
    hop_arch arch; /* the subject's, until it is looked at again */
    int64_t full;
    int64_t stage;         /* lengths of one stage have one architecture */
    bool tied;             /* layers share their weights, which no construction knows */
    const char *uncovered; /* why nothing is said where no hop is known to be possible; NULL: none is */
    int64_t kv_bytes, state_bytes; /* HOP_NO_COUNT: not known */
} over_view;

/* A model or a plan. `of` is the caller's. */
typedef struct over_subject {
    const char *name, *plan, *path;
    hop_status (*look)(over_view *v, void *of, int64_t n, hop_error *err);
    void *of;
    /* The lengths from which on so many hops are impossible, at `stage`; held here, freed by hop__over. */
    hop_bounds *bounds[2];
    int hops[2];
    int64_t stage;
} over_subject;

typedef struct over_question {
    over_subject *subjects;
    int count;
    over_lengths lengths;
    const char *picture; /* NULL: none */
    int64_t budget;      /* bytes that keys, values and states may take; 0: nobody asks */
    const hop_progress *progress;
} over_question;

/* The whole answer, but `refused`. over.c */
hop_status hop__over(hop_response *out, const over_question *q, hop_error *err);

/* Hops possible at a length. over.c */
typedef struct over_able {
    int hops, fit;
    bool known;
    const char *why_not; /* where it is not known */
    char by[8];
} over_able;
hop_status hop__over_able(over_able *out, over_view *v, const over_subject *s, int64_t n, hop_error *err);

/* Fills all_that_fit_up_to, differ_at and differ of the answer, whose points are there. over_differ.c */
hop_status hop__over_differ(hop_keep *k, hop_over_answer *out, hop_over_curve *curves, const over_question *q,
                            hop_error *err);

#endif
