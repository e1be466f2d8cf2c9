/* Networks that a prover called proved once, and that err: data/false_proofs. What went wrong in each but
 * the last is a number that some kernel form makes on its way and that no set was made for. */
#ifndef HOPBOUND_FOOLED_H
#define HOPBOUND_FOOLED_H

#include "against_truth.h"

typedef struct fooled {
    const char *name;
    sizes sizes;
    int message; /* the game in which it errs; 0: it errs as it is, and in any */
} fooled;

static const fooled FOOLED[] = {
    {"mamba-delta-x-underflow", {2, 8, {4}}, 0},    /* delta x is 0 before it meets B = 2^100 */
    {"rwkv7-bonus-overflow", {2, 8, {4}}, 0},       /* r k r_k are finite, the sum of forty is not; v is 0 */
    {"mlstm-key-underflow", {1, 31, {0}}, 0},       /* e^(i - m) k is 0: m is of a token whose key is 0 */
    {"linear-key-value-underflow", {1, 3, {0}}, 0}, /* k v is 0 where tokens come one by one */
    {"conv-bias-first",
     {1, 100, {0}},
     0}, /* a convolution's sum begins with its bias, and rounds beside it */
    {"norm-squares-faint", {1, 8, {0}}, 0},      /* squares near 2^-149, and no eps beside them */
    {"norm-squares-faint-gdn", {1, 16, {0}}, 0}, /* the same in front of a recurrence */
    {"query-faint-24", {1, 8, {0}}, 24}, /* queries below 2^-126 cross, where a unit stays what it is */
    {"query-faint-16", {1, 8, {0}}, 16},
    {"silent-crossing-24",
     {1, 8, {0}},
     24}, /* a partial softmax grows where it crosses, in a layer of zeros */
    {"silent-crossing-16", {1, 8, {0}}, 16},
    {"rope-constant-lost",
     {2, 16, {4}},
     0}, /* what tables over positions have in common, in a number that stays */
    {"norm-behind-bias", {1, 6, {0}}, 0},    /* the bias of the norm behind a block that says nothing */
    {"norm-behind-nothing", {2, 3, {2}}, 0}, /* 0/0 of a block that says nothing, by the norm behind it */
    {"scale-squared", {2, 3, {2}}, 0}, /* a scale is infinite once it is squared, and meets a query of 0 */
};
enum { FOOLED_COUNT = sizeof FOOLED / sizeof *FOOLED };

static inline hop_model *fooled_network(int number, subject *s)
{
    char path[512], name[128];
    hop_model *m = NULL;
    hop_error err = {0};
    *s = (subject){.kind = "hybrid", .mixer = FOOLED[number].name};
    s->task = composition(&FOOLED[number].sizes), s->message = FOOLED[number].message;
    snprintf(name, sizeof name, "false_proofs/%s", FOOLED[number].name);
    test_data(path, sizeof path, name);
    if (hop_model_open(&m, path, &err) != HOP_OK) fail_msg("%s", err.text);
    return m;
}

#endif
