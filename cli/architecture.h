/* An architecture from the command line: a layer pattern, widths, and the mixers' state sizes. */
#ifndef HOPBOUND_CLI_ARCHITECTURE_H
#define HOPBOUND_CLI_ARCHITECTURE_H

#include "cli.h"

typedef struct arch_args {
    opt_value pattern, mixer, heads, dim, d_model, bits, state_bits, window, block;
} arch_args;

extern const opt ARCH_OPTIONS[];
#define ARCH_GROUP(args, member)                                   \
    {                                                              \
        "Architecture", ARCH_OPTIONS, offsetof(args, member), NULL \
    }

typedef struct architecture {
    hop_arch arch;
    hop_text pattern; /* with the mixers' names */
    int64_t full, linear, other;
} architecture;

/* EXIT_DONE, or the line printed: EXIT_USAGE. Free in any case. */
int architecture_from_options(const common_args *a, const arch_args *o, architecture *out);
/* The configuration that the options describe; hop_config_free takes it back, on failure too. */
hop_status architecture_config(hop_config *c, const arch_args *o, hop_error *err);
void architecture_free(architecture *a);

#endif
