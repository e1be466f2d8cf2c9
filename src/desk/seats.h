/* Inside the room: the players of `play`, and of `run` under the same arithmetic. */
#ifndef HOP_DESK_SEATS_H
#define HOP_DESK_SEATS_H

#include <hopbound/protocol.h>

#include "desk.h"

typedef struct hop_seat_args {
    hop_opt_value players, cut;
} hop_seat_args;

typedef struct hop_seats {
    hop_player players[HOP_MAX_PLAYERS];
    int count;
} hop_seats;

extern const hop_opt hop__seat_options[];
#define HOP_SEAT_GROUP(args, member)                               \
    {                                                              \
        "Players", hop__seat_options, offsetof(args, member), NULL \
    }

/* For a sequence of that many tokens; `task` may be NULL. HOP_EUSAGE: the options make no players. */
hop_status hop__seats_read(const hop_seat_args *s, const hop_task *task, int64_t tokens, hop_seats *out,
                           hop_error *err);
hop_cuts hop__seats_cuts(const hop_seats *s, int64_t starts[HOP_MAX_PLAYERS], int bits);

#endif
