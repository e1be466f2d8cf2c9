/* hopbound play: what the verb gathers and its report tells. */
#ifndef HOPBOUND_CLI_PLAY_H
#define HOPBOUND_CLI_PLAY_H

#include "cli.h"
#include "seats.h"

typedef struct play_result {
    const common_args *common;
    const hop_model *model;
    const seats *seats;
    const hop_transcript *transcript; /* of one instance */
    const char *transport;
    int ranks, bits;
    int64_t instances, with_answer, correct, tokens; /* tokens: of an instance */
    bool compared, identical;
    double difference; /* of the logits from `run`'s, as a part of the largest; below 0: not compared */
    double seconds;
} play_result;

/* Every edge carried what its formula says. */
bool play_as_formulas(const play_result *r);
int play_report(const play_result *r); /* prints, as --json says; an exit code */

#endif
