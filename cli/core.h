/* What cmd_core.c and the cores (core_*.c) share: one call reads inputs from a file and makes outputs. */
#ifndef HOPBOUND_CLI_CORE_H
#define HOPBOUND_CLI_CORE_H

#include <hopbound/hopbound.h>

#define CORE_MAX_OUTPUTS 16

typedef enum core_form { CORE_CHUNKED, CORE_RECURRENT, CORE_STEP } core_form;

typedef struct core_output {
    hop_tensor_out tensor; /* name and shape; its data is not used */
    float *data;           /* from hop_alloc, freed by cmd_core.c */
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

core_fn core_attention;

/* An output of that shape, zeroed; NULL with `err` set when there is no memory. */
float *core_output_new(core_job *job, const char *name, int rank, const int64_t *shape, hop_error *err);
/* The tensor called `name` as floats (hop_free it), checked to have `rank` dimensions of at least 1. */
hop_status core_input(const core_job *job, const char *name, int rank, float **data, int64_t *shape,
                      hop_error *err);

#endif
