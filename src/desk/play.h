/* Inside the room: what the files of the verb `play` share. */
#ifndef HOP_DESK_PLAY_H
#define HOP_DESK_PLAY_H

#include <hopbound/ask_play.h>
#include <hopbound/eval.h>
#include <hopbound/ranks.h>

#include "seats.h"

typedef struct play_args {
    hop_request ask;
    hop_size_args sizes;
    hop_seat_args seats;
    hop_opt_value count, input, bits, no_compare, transcript;
} play_args;

typedef struct playing {
    const play_args *args;
    const char *dir;
    hop_transport *transport;
    hop_exit told; /* how it ends, where another rank has said why; HOP_EXIT_DONE: it goes on */
    bool apart;    /* the other ranks do not know that it ended */
    hop_model *model;
    hop_pool *pool;
    hop_task task;
    bool sized;
    hop_jsonl in;
    bool ended;
    hop_instance one;
    hop_seats seats;
    hop_game *game;
    hop_forward *forward; /* under the game's arithmetic */
    float *hidden;
    hop_forward *ordinary;                           /* as `run` does */
    int64_t instances, with_answer, correct, tokens; /* tokens: of an instance */
    bool identical;
    double difference; /* of the logits from `run`'s, as a part of the largest; NaN: not compared */
    double seconds;
    hop_output written; /* --transcript */
    bool writes;
} playing;

/* Names the line of the input. Of ranks that a signal stops only the first says so: then HOP_OK, with `told`. */
hop_status hop__play_fail(playing *p, hop_status s, hop_error *err);
/* play_ranks.c: the step on rank 0, then on the others, so that what is wrong everywhere is said once. When one fails all
 * end alike, with its exit code, and none by force. */
hop_status hop__play_in_turn(playing *p, hop_status (*step)(playing *p, hop_error *err), hop_error *err);
/* --transcript: every message of every instance, a line each; play_lines.c */
void hop__play_message(void *playing_, const hop_message *m);
void hop__play_begin(playing *p);    /* the first line: who holds what */
void hop__play_instance(playing *p); /* before an instance's messages */
/* play_record.c */
hop_status hop__play_record(hop_response *out, const playing *p, hop_error *err);

#endif
