/* network.h - reading rows of networks.txt (room: hf). */
#ifndef HOP_HF_NETWORK_ROOM_H
#define HOP_HF_NETWORK_ROOM_H

#include "room.h"

#include <hopbound/hf_network.h>

#define HOP__NET_MAX_ROWS    24
#define HOP__NET_MAX_FACTORS 16

/* A network that is being read. */
typedef struct hop__net {
    hop__hf r;
    hop_hf_network *n;
    hop__span text;                    /* all rows */
    hop__span read[HOP__NET_MAX_ROWS]; /* those that were used; a key that they name is known */
    int read_count;
    hop__span inside; /* what {x} is in their names */
    struct {
        char name[32];
        double value;
    } factor[HOP__NET_MAX_FACTORS]; /* a later one beats an earlier one of its name */
    int factor_count;
    int64_t *base; /* [layers + 1]: which of our layers each of theirs begins with */
    char *mark;    /* [layers]: what a row says of each, 0: nothing */
    int64_t tensor_room, piece_room, join_room, part_room;
} hop__net;

/* A number: factors with '*' and '/' between. A factor is digits, KEY:default, KEY!, root(EXPRESSION)
 * or one that a row has named. */
double hop__net_factor(hop__net *w, hop__span text);

/* network_tensors.c: `[LETTERS] OURS[@k] = SOURCE, ..`; layer -1: it is of no layer. */
void hop__net_tensor(hop__net *w, hop__span rest, int64_t layer);
/* `[LETTERS] THEIRS = PART, .. over E`. */
void hop__net_join(hop__net *w, hop__span rest, int64_t layer);
/* `OURS[@k] COUNT NUMBER`: all the same. */
void hop__net_fill(hop__net *w, hop__span rest, int64_t layer);
/* A tensor that follows from the configuration; `data` [count] becomes the network's. */
void hop__net_given(hop__net *w, const char *ours, float *data, int64_t count);
/* The name in the network, "model.layers.3.mixer.D", of "mixer.D" or "mixer.D@1" in their layer. */
void hop__net_ours(hop__net *w, char out[96], hop__span name, int64_t layer);

/* frequencies.c: `LETTERS KEY DIM`, the rotation's frequencies as the object KEY says, of DIM numbers a head. */
void hop__net_rotate(hop__net *w, hop__span rest, int64_t layer);

/* resize.c: task and construction of a network that we wrote. */
hop_status hop__net_own(hop_hf_network *n, const hop_json *root, hop_error *err);

/* network_keys.c: fails by the first key that no row names. */
void hop__net_check_keys(hop__net *w);
/* `KEY WORD ..`: it is absent, null, or one of these. */
void hop__net_must(hop__net *w, hop__span rest);

#endif
