/* Bytes that prompts take: as their layers need them, and as engines allocate them. */
#ifndef HOP_DESK_ENGINES_H
#define HOP_DESK_ENGINES_H

#include <hopbound/audit.h>

/* Numbers by blocks: `bytes` for `block` of them. */
typedef struct engine_type {
    const char *name;
    int bytes, block;
} engine_type;

/* The type called so; NULL: there is none. */
const engine_type *hop__engine_type(const char *name);
const char *hop__engine_types(void); /* their names, for who has given another */

typedef struct engine_question {
    const hop_audit *audit;
    int64_t n, batch;
    engine_type kv, conv, state; /* as needed */
    bool kv_given, state_given;
} engine_question;

/* Bytes of what is allocated. */
typedef struct engine_use {
    int64_t kv, index, state, conv;
    int64_t padding; /* of pages, and of layers that fill groups up */
} engine_use;
int64_t hop__engine_total(const engine_use *u);

typedef struct engine {
    const char *name, *version; /* what its rules were read from; "": the mathematics */
    /* Of a batch of n tokens each, and what one of the layers takes of that. NULL: it is not known, and *why. */
    bool (*all)(engine_use *out, const engine_question *q, const char **why);
    void (*layer)(engine_use *out, const engine_question *q,
                  const hop_audit_layer *l); /* NULL: as `all` says */
} engine;

extern const engine hop__engines[];
extern const int hop__engine_count;

/* vLLM's own rule, which groups layers: engine_pages.c */
bool hop__engine_pages(engine_use *out, const engine_question *q, const char **why);

/* So many bytes, at most the largest number. */
int64_t hop__engine_times(int64_t a, int64_t b);
int64_t hop__engine_plus(int64_t a, int64_t b);
int64_t hop__engine_bytes(int64_t numbers, engine_type t);
static inline int64_t hop__engine_pad(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

#endif
