/* The players of `play`, and of `run` under the same arithmetic. */
#ifndef HOPBOUND_CLI_SEATS_H
#define HOPBOUND_CLI_SEATS_H

#include "cli.h"

typedef struct seat_args {
    hop_opt_value players, cut;
} seat_args;

typedef struct seats {
    hop_player players[HOP_MAX_PLAYERS];
    int count;
} seats;

extern const hop_opt SEAT_OPTIONS[];
#define SEAT_GROUP(args, member)                              \
    {                                                         \
        "Players", SEAT_OPTIONS, offsetof(args, member), NULL \
    }

/* For a sequence of that many tokens; `task` may be NULL. EXIT_DONE, or EXIT_USAGE with the line printed. */
int seats_from_options(const common_args *a, const seat_args *s, const hop_task *task, int64_t tokens,
                       seats *out);
hop_cuts seats_cuts(const seats *s, int64_t starts[HOP_MAX_PLAYERS], int bits);

#endif
