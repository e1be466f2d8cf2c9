/* An architecture from the command line. The state of a linear layer is what its mixer declares, at these
 * heads and in numbers of --bits bits: everything that crosses a cut, caches of short convolutions included.
 * Linear attention counts with its normaliser, as it was published; a sliding window is a recurrence whose
 * state is what the next token still sees of its cache, all but one of its rows. */
#include "architecture.h"

#include <stdlib.h>
#include <string.h>

const opt ARCH_OPTIONS[] = {
    {.name = "pattern",
     .letter = 'p',
     .kind = OPT_TEXT,
     .at = offsetof(arch_args, pattern),
     .required = true,
     .metavar = "LAYERS",
     .help = "layers in order: F full, L the linear mixer, W window, S sparse, or a mixer's name; ^k "
             "repeats, parentheses group: \"(gdn^3 full)^12\""},
    {.name = "mixer",
     .kind = OPT_TEXT,
     .at = offsetof(arch_args, mixer),
     .initial = "deltanet",
     .metavar = "NAME",
     .help = "what L stands for"},
    {.name = "heads",
     .kind = OPT_INT,
     .at = offsetof(arch_args, heads),
     .initial = "1",
     .min = 1,
     .max = 1 << 12,
     .metavar = "H",
     .help = "heads of every layer"},
    {.name = "dim",
     .kind = OPT_INT,
     .at = offsetof(arch_args, dim),
     .initial = "64",
     .min = 1,
     .max = 1 << 16,
     .metavar = "D",
     .help = "numbers in a head"},
    {.name = "d-model",
     .kind = OPT_INT,
     .at = offsetof(arch_args, d_model),
     .initial_help = "heads times dim",
     .min = 1,
     .max = 1 << 28,
     .metavar = "N",
     .help = "width of the residual stream: P1 counts it, and some mixers' states depend on it"},
    {.name = "bits",
     .kind = OPT_INT,
     .at = offsetof(arch_args, bits),
     .initial = "32",
     .min = 1,
     .max = 1024,
     .metavar = "P",
     .help = "bits of one number in the accumulator (bfloat16 with float32 sums: 32)"},
    {.name = "state-bits",
     .kind = OPT_INT,
     .at = offsetof(arch_args, state_bits),
     .initial_help = "as the mixer declares",
     .min = 0,
     .max = 1000000000000000000,
     .metavar = "S",
     .help = "state bits of each linear layer"},
    {.name = "window",
     .kind = OPT_INT,
     .at = offsetof(arch_args, window),
     .initial = "512",
     .min = 1,
     .max = (int64_t)1 << 31,
     .metavar = "W",
     .help = "positions that a window layer sees, its own included"},
    {.name = "block",
     .kind = OPT_INT,
     .at = offsetof(arch_args, block),
     .initial = "64",
     .min = 1,
     .max = 1 << 20,
     .metavar = "B",
     .help = "tokens in a block of a sparse layer"},
    {.name = NULL},
};

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
