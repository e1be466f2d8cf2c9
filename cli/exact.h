/* hopbound exact: what its deciding and its report share. */
#ifndef HOPBOUND_CLI_EXACT_H
#define HOPBOUND_CLI_EXACT_H

#include "cli.h"

#define EXACT_MAX_CELLS 1024

typedef struct exact_args {
    common_args common;
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

/* Print the table and the thresholds. EXIT_DONE or EXIT_FAILED. */
int exact_report_text(const exact_args *a, const exact_table *t);
int exact_report_json(const exact_args *a, const exact_table *t);

#endif
