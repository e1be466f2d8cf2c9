/* What the theorems that are one inequality print, verified; and their verifiers, given damaged integers. */
#ifndef HOP_TESTS_COUNT_ASK_H
#define HOP_TESTS_COUNT_ASK_H

#include "bounds_ask.h"

#include <math.h>

#include "count.h"

static inline int random_below(uint64_t *seed, int most)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return (int)((*seed >> 11) % (uint64_t)most);
}

static inline double random_part(uint64_t *seed)
{
    return (1 + random_below(seed, 1 << 20)) / (double)((1 << 20) + 1);
}

/* The integers of an answer, read from its text, verify. */
static inline bool answer_verifies(const hop_bound *r, const hop_arch *a, int hops,
                                   bool (*verify)(const hop__chosen *))
{
    hop__shape shape;
    hop__shape_init(&shape, a);
    hop__chosen c = {.reply = &shape.reply, .state = shape.state};
    for (int l = 0; l < hops; l++) fmpz_set_str(&c.sizes[l], r->sizes[l], 10);
    double *const line[] = {&c.line.a, &c.line.b, &c.line.v0, &c.line.v1};
    for (int k = 0, drawn = 0; r->choices[k]; k++) {
        if (drawn || strcmp(r->choice_names[k], "A") == 0)
            *line[drawn++] = strtod(r->choices[k], NULL);
        else
            fmpz_set_str(&c.of[k], r->choices[k], 10);
    }
    bool good = verify(&c);
    for (int l = 0; l < hops; l++) fmpz_clear(&c.sizes[l]);
    for (int k = 0; k < HOP__CHOICES; k++) fmpz_clear(&c.of[k]);
    hop__shape_clear(&shape);
    return good;
}

typedef struct count_example {
    int64_t sizes[HOP__COUNT_HOPS], choices[HOP__CHOICES], reply, state[HOP__COUNT_HOPS];
    hop__line line;
} count_example;

typedef double margin_fn(const int64_t *sizes, const int64_t *choices, int64_t reply, const int64_t *state);

static inline bool example_verifies(const count_example *e, bool (*verify)(const hop__chosen *))
{
    const fmpz reply = e->reply, state[HOP__COUNT_HOPS] = {e->state[0], e->state[1], e->state[2]};
    hop__chosen c = {.reply = &reply, .state = state, .line = e->line}; /* small integers own no memory */
    for (int l = 0; l < HOP__COUNT_HOPS; l++) c.sizes[l] = e->sizes[l];
    for (int k = 0; k < HOP__CHOICES; k++) c.of[k] = e->choices[k];
    return verify(&c);
}

/* Each example holds; with one or two of its numbers damaged it holds just where `margin` says so, and both
 * happen. Nothing below 1 is taken. */
static inline void damage_is_seen(const count_example *examples, size_t count, int sizes, int choices,
                                  bool (*verify)(const hop__chosen *), margin_fn *margin)
{
    uint64_t seed = 3;
    int held = 0, refused = 0;
    for (size_t i = 0; i < count; i++) {
        if (!example_verifies(&examples[i], verify)) fail_msg("example %zu", i);
        for (int k = 0; k < choices; k++)
            for (int bad = -1; bad <= 0; bad++) {
                count_example e = examples[i];
                e.choices[k] = bad;

                if (example_verifies(&e, verify)) fail_msg("example %zu, choice %d: %d", i, k, bad);
            }
        for (int trial = 0; trial < 2000; trial++) {
            count_example e = examples[i];
            int64_t *numbers[HOP__COUNT_HOPS + HOP__CHOICES + 1 + HOP__COUNT_HOPS];
            int n = 0;
            for (int l = 0; l < sizes; l++) numbers[n++] = &e.sizes[l];
            for (int k = 0; k < choices; k++) numbers[n++] = &e.choices[k];
            numbers[n++] = &e.reply;
            for (int k = 0; k < HOP__COUNT_HOPS; k++) numbers[n++] = &e.state[k];
            for (int k = 1 + random_below(&seed, 2); k > 0; k--) {
                int64_t *at = numbers[random_below(&seed, n)];
                double by = exp((random_part(&seed) - 0.5) * (trial % 2 ? 0.02 : 1));
                *at = (int64_t)ceil((double)*at * by) + random_below(&seed, 3) - 1;
                if (*at < 0) *at = 0;
            }
            double m = -2;
            bool positive = true;
            for (int k = 0; k < sizes; k++) positive = positive && e.sizes[k] >= 2;
            for (int k = 0; k < choices; k++) positive = positive && e.choices[k] >= 1;
            if (positive) m = margin(e.sizes, e.choices, e.reply, e.state);
            if (fabs(m) < 1e-11) continue;
            bool holds = example_verifies(&e, verify);
            if (holds != (m > 0))
                fail_msg("example %zu, trial %d: %d where the margin is %g", i, trial, holds, m);
            held += holds, refused += !holds;
        }
    }
    assert_true(held > 50 && refused > 50);
}

#endif
