/* An architecture from a question: a layer pattern, widths, and the mixers' state sizes. */
#ifndef HOP_DESK_ARCHITECTURE_H
#define HOP_DESK_ARCHITECTURE_H

#include <hopbound/verb.h>
#include <hopbound/bounds.h>

typedef struct arch_args {
    hop_opt_value pattern, mixer, heads, dim, d_model, bits, accumulators, state_bits, window, block;
} arch_args;

extern const hop_opt hop__arch_options[];
#define ARCH_GROUP(args, member)                                        \
    {                                                                   \
        "Architecture", hop__arch_options, offsetof(args, member), NULL \
    }

typedef struct architecture {
    hop_arch arch;
    hop_text pattern; /* with the mixers' names */
    int64_t full, linear, other;
} architecture;

/* HOP_EUSAGE: it makes no sense. Free in any case. */
hop_status hop__architecture(architecture *out, const arch_args *o, hop_error *err);
void hop__architecture_free(architecture *a);
/* The configuration that the options describe; hop_config_free takes it back, on failure too. */
hop_status hop__architecture_config(hop_config *c, const arch_args *o, hop_error *err);

#endif
