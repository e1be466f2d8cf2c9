/* Architectures in a line, and questions about them. */
#ifndef HOP_TESTS_BOUNDS_ASK_H
#define HOP_TESTS_BOUNDS_ASK_H

#include "test.h"

#include <hopbound/bounds.h>

#include "room.h"

#define LINEAR(times, bits)                                                                  \
    {                                                                                        \
        .kind = HOP_LAYER_LINEAR, .repeat = (times), .number_bits = 16, .state_bits = (bits) \
    }
#define FULL(times, h, d, p)                                                                    \
    {                                                                                           \
        .kind = HOP_LAYER_FULL, .repeat = (times), .heads = (h), .dim = (d), .number_bits = (p) \
    }
#define BOTH(h, d, p, bits)                                                                \
    {                                                                                      \
        .kind = HOP_LAYER_BOTH, .repeat = 1, .heads = (h), .dim = (d), .number_bits = (p), \
        .state_bits = (bits)                                                               \
    }
#define ARCH(name, ...)                                   \
    const hop_arch_layer name##_layers[] = {__VA_ARGS__}; \
    const hop_arch name = {.layers = name##_layers, .count = sizeof name##_layers / sizeof *name##_layers}

static inline hop_bounds *ask(const hop_question *q)
{
    hop_bounds *b = NULL;
    hop_error err = {0};
    if (hop_bounds_new(&b, q, &err) != HOP_OK) fail_msg("%s", err.text);
    return b;
}

static inline hop_bounds *ask_at(const hop_arch *a, int hops, int64_t n)
{
    return ask(&(hop_question){.arch = a, .hops = hops, .n = n});
}

static inline const hop_bound *result(const hop_bounds *b, const char *id)
{
    for (int i = 0; i < b->count; i++)
        if (strcmp(b->results[i].id, id) == 0) return &b->results[i];
    fail_msg("no %s", id);
    return NULL;
}

static inline hop_answer answer_of(const hop_arch *a, int hops, int64_t n, const char *id)
{
    hop_bounds *b = ask_at(a, hops, n);
    hop_answer answer = result(b, id)->answer;
    hop_bounds_free(b);
    return answer;
}

#endif
