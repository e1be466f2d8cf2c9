/* What `bound` prints for people: the answer, then every theorem, then what the symbols mean. */
#ifndef HOPBOUND_CLI_SHOW_BOUND_H
#define HOPBOUND_CLI_SHOW_BOUND_H

#include <hopbound/ask_bound.h>
#include "cli.h"

/* A paragraph on the symbols of these results, those that occur. */
void show_legend(hop_text *out, const hop_bound_result *const *results, int count);

#endif
