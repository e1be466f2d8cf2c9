/* An architecture from the command line. The state of a linear layer is what its mixer declares, at these
 * heads and in numbers of --bits bits: everything that crosses a cut, caches of short convolutions included.
 * Linear attention counts with its normaliser, as it was published; a sliding window is a recurrence whose
 * state is what the next token still sees of its cache, all but one of its rows. */
#include "architecture.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define AT(member) offsetof(arch_args, member)
const opt ARCH_OPTIONS[] = {
    {"pattern", 'p', OPT_TEXT, AT(pattern), "LAYERS", .required = true,
     .help = "layers in order: F full, L the linear mixer, W window, S sparse, or a mixer's name; ^k "
             "repeats, parentheses group: \"(gdn^3 full)^12\""},
    {"mixer", 0, OPT_TEXT, AT(mixer), "NAME", "deltanet", .help = "what L stands for"},
    {"heads", 0, OPT_INT, AT(heads), "H", "1", 1, 1 << 12, .help = "heads of every layer"},
    {"dim", 0, OPT_INT, AT(dim), "D", "64", 1, 1 << 16, .help = "numbers in a head"},
    {"d-model", 0, OPT_INT, AT(d_model), "N", NULL, 1, 1 << 28, .initial_help = "heads times dim",
     .help = "width of the residual stream: P1 counts it, and some mixers' states depend on it"},
    {"bits", 0, OPT_INT, AT(bits), "P", "32", 1, 1024,
     .help = "bits of one number in the accumulator (bfloat16 with float32 sums: 32)"},
    {"state-bits", 0, OPT_INT, AT(state_bits), "S", NULL, 0, 1000000000000000000,
     .initial_help = "as the mixer declares",
     .help = "state bits of each linear layer"},
    {"window", 0, OPT_INT, AT(window), "W", "512", 1, (int64_t)1 << 31,
     .help = "positions that a window layer sees, its own included"},
    {"block", 0, OPT_INT, AT(block), "B", "64", 1, 1 << 20, .help = "tokens in a block of a sparse layer"},
    {0},
};
/* clang-format on */

static int64_t width_of(const arch_args *o)
{
    return o->d_model.given ? o->d_model.integer : o->heads.integer * o->dim.integer;
}

/* Numbers that cross a cut; EXIT_DONE or EXIT_USAGE. */
static int state_numbers(const common_args *a, const arch_args *o, const hop_mixer_ops *ops, int64_t *out)
{
    hop_mixer_config c;
    hop_error err = {0};
    hop_status s = HOP_OK;
    bool window = strcmp(ops->name, "window") == 0;
    hop_mixer_config_init(&c);
    c.heads = c.kv_heads = o->heads.integer;
    c.head_dim = o->dim.integer;
    c.d_model = width_of(o);
    if (strcmp(ops->name, "linear") == 0) s = hop_mixer_option_set(&c, ops, "normalise", 1, &err);
    if (window) s = hop_mixer_option_set(&c, ops, "window", o->window.integer, &err);
    if (s == HOP_OK) s = hop_mixer_config_ready(&c, ops, &err);
    if (s != HOP_OK) return fail(a, EXIT_USAGE, "--pattern: %s", err.text);
    *out = ops->state_floats(&c, window ? o->window.integer - 1 : 1); /* the next token's own row is new */
    return EXIT_DONE;
}

static int state_bits_of(const common_args *a, const arch_args *o, const hop_mixer_ops *ops, int64_t *bits)
{
    int64_t numbers = 0;
    if (o->state_bits.given) {
        *bits = o->state_bits.integer;
        return EXIT_DONE;
    }
    int code = state_numbers(a, o, ops, &numbers);
    if (code == EXIT_DONE && __builtin_mul_overflow(numbers, o->bits.integer, bits))
        return fail(a, EXIT_USAGE, "--pattern: %s: a state of more than 2^63 bits", ops->name);
    return code;
}

/* How many numbers a token of a linear layer writes. lightning's values pass an activation that is not odd: a
 * number and its sign take two. */
static void set_written(const hop_mixer_ops *ops, hop_arch_layer *l)
{
    if (strcmp(ops->name, "lightning") != 0) return;
    l->heads = (l->heads * l->dim + 1) / 2;
    l->dim = 1;
}

static int layer_of(const common_args *a, const arch_args *o, const hop_run *run, hop_arch_layer *out)
{
    const hop_mixer_ops *ops = hop_mixer_find(run->mixer);
    if (!ops)
        return fail(a, EXIT_USAGE, "--pattern: %s: unknown mixer; `hopbound mixers` lists them", run->mixer);
    *out = (hop_arch_layer){.repeat = run->count,
                            .heads = o->heads.integer,
                            .dim = o->dim.integer,
                            .number_bits = o->bits.integer};
    if (strcmp(ops->name, "full") == 0) {
        out->kind = HOP_LAYER_FULL;
    } else if (ops->recurrent || strcmp(ops->name, "window") == 0) {
        set_written(ops, out);
        int code = state_bits_of(a, o, ops, &out->state_bits);
        out->kind = out->state_bits ? HOP_LAYER_LINEAR : HOP_LAYER_LOCAL; /* a token that sees itself alone */
        return code;
    } else {
        out->kind = HOP_LAYER_OTHER;
        if (strcmp(ops->name, "sparse") == 0) out->block = o->block.integer;
    }
    return EXIT_DONE;
}

static int check_mixer(const common_args *a, const char *name)
{
    const hop_mixer_ops *ops = hop_mixer_find(name);
    if (!ops) return fail(a, EXIT_USAGE, "--mixer: %.40s: unknown mixer; `hopbound mixers` lists them", name);
    if (!ops->recurrent && strcmp(name, "window") != 0)
        return fail(a, EXIT_USAGE, "--mixer: %s: is not a linear mixer", name);
    return EXIT_DONE;
}

int architecture_from_options(const common_args *a, const arch_args *o, architecture *out)
{
    hop_pattern pattern = {0};
    hop_error err = {0};
    *out = (architecture){0};
    int code = check_mixer(a, o->mixer.text);
    if (code == EXIT_DONE && hop_pattern_parse(&pattern, o->pattern.text, o->mixer.text, &err) != HOP_OK)
        code = fail(a, EXIT_USAGE, "--%s", err.text);
    if (code == EXIT_DONE) {
        hop_pattern_print(&pattern, &out->pattern);
        out->layers = calloc((size_t)pattern.run_count, sizeof *out->layers);
        if (!out->layers) code = fail(a, EXIT_FAILED, "out of memory");
    }
    for (int64_t i = 0; code == EXIT_DONE && i < pattern.run_count; i++) {
        code = layer_of(a, o, &pattern.runs[i], &out->layers[i]);
        hop_layer_kind kind = out->layers[i].kind;
        if (kind == HOP_LAYER_FULL) out->full += pattern.runs[i].count;
        if (kind == HOP_LAYER_LINEAR) out->linear += pattern.runs[i].count;
        if (kind == HOP_LAYER_OTHER) out->other += pattern.runs[i].count;
    }
    out->arch = (hop_arch){.layers = out->layers, .count = pattern.run_count, .width = width_of(o)};
    hop_pattern_free(&pattern);
    return code;
}

void architecture_free(architecture *a)
{
    free(a->layers);
    hop_text_free(&a->pattern);
    *a = (architecture){0};
}
