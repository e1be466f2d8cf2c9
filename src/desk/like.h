/* A model of others where a verb takes layers: as it stands, and as plans that are made of its layers. */
#ifndef HOP_DESK_LIKE_H
#define HOP_DESK_LIKE_H

#include <hopbound/audit.h>
#include "over.h"

/* A model that is looked at at several lengths. */
typedef struct model_view {
    hop_audit audit;
    hop_audit_seen seen; /* at the length that was looked at last */
    const hop_audit_options *options;
    bool lent; /* all of `audit` but its layers and its pattern is another's */
} model_view;

/* An over_subject's; `of` is a model_view. */
hop_status hop__model_look(over_view *v, void *of, int64_t n, hop_error *err);
void hop__model_view_free(model_view *v);

/* What its layers are called in patterns, and which they are. */
typedef struct like_model {
    hop_audit_options options;
    model_view own;
    const hop_audit_layer *full, *linear, *window; /* NULL: it has none */
    char mixer[HOP_MIXER_NAME_SIZE];               /* of `linear`, as a word of patterns */
} like_model;

/* `bits` as audit takes them. The error names the option. hop__like_close is fine with an empty one. */
hop_status hop__like_open(like_model *m, const char *path, int64_t bits, hop_error *err);
void hop__like_close(like_model *m);
/* Layers of the model in an order of the asker's: hop__model_view_free takes them back. HOP_EUSAGE: it has no such layers,
 * or they share their weights. */
hop_status hop__like_pattern(model_view *out, const like_model *m, const hop_pattern *p, hop_error *err);
/* The layers that it was seen with last, as an architecture that stands by itself: hop_arch_free takes it back. */
hop_status hop__like_take(hop_arch *arch, const model_view *v, hop_error *err);
/* What the planner asks; `of` of the answer is `m`. */
hop_plan_layers hop__like_layers(const like_model *m);
/* Options of widths, which the model has; the first that is given is HOP_EUSAGE. Ended by NULL. */
typedef struct like_other {
    const char *name;
    const hop_opt_value *value;
} like_other;
hop_status hop__like_alone(const like_other *others, hop_error *err);

#endif
