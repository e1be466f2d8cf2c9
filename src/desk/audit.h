/* The verb audit: from what was read to records. */
#ifndef HOP_DESK_AUDIT_H
#define HOP_DESK_AUDIT_H

#include <hopbound/audit.h>
#include "desk.h"

typedef struct audit_args {
    hop_request ask;
    hop_opt_value n, bits, plan_only, state_dtype, conv_dtype, cache_dtype, config, table, report, families,
        over, picture, require_hops, memory, fit, weights, batch, kv_type, state_type;
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
/* Hops against length, of one model or many: --over. audit_over.c */
hop_status hop__audit_over(hop_response *out, const audit_args *a, const hop_audit_options *o,
                           hop_error *err);

/* Do they make so many hops: --require-hops. audit_require.c */
hop_status hop__audit_require(hop_response *out, const audit_args *a, const hop_audit_options *o,
                              hop_error *err);
/* Bytes that prompts take: --memory, --fit. audit_memory.c */
hop_status hop__audit_memory(hop_response *out, const audit_args *a, const hop_audit_options *o,
                             hop_error *err);
/* The configuration that was given instead of a file. audit.c */
hop_status hop__audit_config(hop_audit *u, const audit_args *a, const hop_audit_options *o, hop_error *err);

/* ---- which files: audit_files.c ---------------------------------------------------------------- */

typedef struct audit_file {
    const char *path;
    bool named; /* by the asker, not found in a directory */
} audit_file;

typedef struct audit_files {
    audit_file *at;
    int count, room;
} audit_files;

/* The paths, and what is in those that are directories of models. All is kept in `k`. */
hop_status hop__audit_files(audit_files *out, hop_keep *k, const hop_texts *paths, hop_error *err);
bool hop__audit_is_collection(const char *path);             /* a directory of models, not of one */
bool hop__audit_is_stray(const audit_file *f, hop_status s); /* in a directory and no model: a line, no end */
const char *hop__audit_name(hop_keep *k, const char *path);  /* the file's name, or its directory's */
const char *hop__audit_plain(hop_keep *k, const char *text, size_t length); /* of a file, in one line */

#endif
