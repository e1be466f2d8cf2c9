/* The verb exact: what its parts share. */
#ifndef HOP_DESK_EXACT_H
#define HOP_DESK_EXACT_H

#include <hopbound/ask_exact.h>
#include "desk.h"

#define MAX_BITS        24
#define EXACT_MAX_CELLS 1024

typedef struct exact_args {
    hop_request ask;
    hop_opt_value hops, m, fan, full_layers, state_bits, message_bits, before, after, budget, proof, protocol;
} exact_args;

/* The cells asked for, in order, and what was found. */
typedef struct exact_table {
    bool full, split; /* one full layer; bits before and after it asked for apart */
    hop_bits bits[EXACT_MAX_CELLS];
    hop_exact_cell cells[EXACT_MAX_CELLS];
    int count;
    const hop_exact *exact; /* to ask the theorems about other cells */
    double seconds;
    char solver[64];
} exact_table;

/* By default up to where a protocol is obvious: all of z_L in the states, or of what w can ask for in a message. */
hop_status hop__exact_cells(const exact_args *a, const hop_exact_game *g, exact_table *t, hop_error *err);
hop_status hop__exact_record(hop_response *response, const exact_args *a, const exact_table *t,
                             hop_error *err);

#endif
