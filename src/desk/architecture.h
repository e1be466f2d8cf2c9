/* An architecture from a question: a layer pattern, widths, and the mixers' state sizes. */
#ifndef HOP_DESK_ARCHITECTURE_H
#define HOP_DESK_ARCHITECTURE_H

#include <hopbound/verb.h>
#include <hopbound/bounds.h>

typedef struct arch_args {
    hop_opt_value pattern, like, mixer, heads, key_heads, dim, d_model, bits, accumulators, state_bits,
        window, block;
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

/* Widths as options give them, of any pattern. */
typedef struct arch_widths {
    const char *mixer; /* that key_heads is said of */
    int64_t heads, kv_heads, key_heads, dim,
        d_model;           /* the last four: 0 is as many as there are heads, and heads times dim */
    int64_t window, block; /* of such layers; 0: their own */
} arch_widths;
/* A configuration without a pattern, with what the theorems take for granted: linear attention with its normaliser, as
 * it was published. hop_config_free takes it back, on failure too. */
hop_status hop__widths(hop_config *c, const arch_widths *w, hop_error *err);

/* What the options say, or a model whose layers they are: at n tokens, 0: at any number. HOP_EUSAGE: it makes no sense.
 * Free in any case. */
hop_status hop__architecture(architecture *out, const arch_args *o, int64_t n, hop_error *err);
void hop__architecture_free(architecture *a);
/* The configuration that the options describe; hop_config_free takes it back, on failure too. */
hop_status hop__architecture_config(hop_config *c, const arch_args *o, hop_error *err);

#endif
