/* The verb audit: from what was read to records. */
#ifndef HOP_DESK_AUDIT_H
#define HOP_DESK_AUDIT_H

#include <hopbound/audit.h>
#include "desk.h"

typedef struct audit_args {
    hop_request ask;
    hop_opt_value n, bits, plan_only, state_dtype, conv_dtype, cache_dtype, config, table, report, families;
} audit_args;

/* The verdicts in sentences; without theirs, none. audit_say.c */
hop_texts hop__audit_say(hop_keep *k, const hop_audit *u, const hop_audit_seen *h);
/* One model; `path` and `h` may be NULL. audit_record.c */
hop_status hop__audit_record(hop_response *out, const char *path, const hop_audit *u, const hop_audit_seen *h,
                             hop_error *err);
/* "(FSSSS)x2S(FSSSSS)x6F": repeated groups wherever they stand, taken greedily. */
const char *hop__audit_plan(hop_keep *k, const char *letters);
/* Many models: one row each, at a common length; and --report. audit_table.c */
hop_status hop__audit_table(hop_response *out, const audit_args *a, const hop_audit_options *o,
                            hop_error *err);
bool hop__audit_is_collection(const char *path); /* a directory of models, not of one */

#endif
