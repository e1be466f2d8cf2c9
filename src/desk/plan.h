/* The verb plan: its question. */
#ifndef HOP_DESK_PLAN_H
#define HOP_DESK_PLAN_H

#include <hopbound/bounds.h>
#include "desk.h"
#include "like.h"

typedef struct plan_args {
    hop_request ask;
    hop_opt_value hops, n, over, picture, like, exit_code, layers, full, mixer, d_model, heads, kv_heads,
        key_heads, dim, bits, cache_bits, fit;
} plan_args;

/* The widths that are asked about, without a pattern; hop_config_free takes it back. plan.c */
hop_status hop__plan_config(hop_config *c, const plan_args *a, hop_error *err);
/* Hops against length of the plans that are named, of `m` (may be NULL) without a name. plan_over.c */
hop_status hop__plan_over(hop_response *out, const plan_args *a, const like_model *m, hop_error *err);

#endif
