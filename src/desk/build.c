/* The verb build: writes a network whose weights are constructed, or drawn at random, not trained. */
#include "build.h"

#include <hopbound/construct.h>

#include <stdio.h>
#include <string.h>

#define NAME_OF(id, text) text,
static const char *const NORM_NAMES[] = {HOP_NORM_LIST(NAME_OF) NULL}; /* in the enums' order */
static const char *const MLP_NAMES[] = {HOP_MLP_LIST(NAME_OF) NULL};
#undef NAME_OF

/* clang-format off */
#define AT(member) offsetof(build_args, member)
static const hop_opt OPTIONS[] = {
    {"output", 'o', HOP_OPT_TEXT, AT(output), "DIR", .required = true, .use = HOP_OPT_WRITES,
     .help = "directory to write: config.json and model.safetensors"},
    {"mixer", 0, HOP_OPT_TEXT, AT(mixer), "NAME", .initial_help = "deltanet",
     .help = "hybrid: the linear layer; random: what L stands for in the pattern; `hopbound mixers` lists "
             "them"},
    {"like", 0, HOP_OPT_TEXT, AT(like), "CONFIG", .use = HOP_OPT_READS,
     .help = "instead of KIND: a hybrid in the architecture of a model, from its config.json: all layers, real heads; "
             "says what was scaled, assumed and left out, or why it cannot be"},
    {"families", 0, HOP_OPT_TEXT, AT(families), "FILE", .use = HOP_OPT_READS,
     .help = "--like: rules of model families, before the built-in ones; like src/hf/families.txt"},
    {"block", 0, HOP_OPT_INT, AT(block), "B", NULL, 1, 1 << 20,
     .initial_help = "the largest up to 4 that divides --n",
     .help = "two-sum-sparse: tokens in a block; divides --n"},
    {"topk", 0, HOP_OPT_INT, AT(topk), "K", NULL, 1, 1 << 20, .initial_help = "1",
     .help = "two-sum-sparse: blocks that are looked into"},
    {0},
};

static const hop_opt SHAPE_OPTIONS[] = {
    {"pattern", 0, HOP_OPT_TEXT, AT(pattern), "P", .initial_help = "the smallest; random: required",
     .help = "the layers in order: F full, W window, S sparse, L the linear mixer, or names; ^k repeats, "
             "parentheses group: (gdn^3 full)^12. Layers that are not needed pass the stream as it is; hybrid: where full "
             "layers are too few, states of gdn, kda, deltanet and mamba2 layers hold tables, which takes heads: --heads, --head-dim; "
             "mixed: L+1 of F and L (linear attention), all L if not given"},
    {"d-model", 0, HOP_OPT_INT, AT(d_model), "N", NULL, 1, 1 << 20,
     .initial_help = "the smallest; random: 64; --like: 1024, or the model's if smaller",
     .help = "width of the residual stream"},
    {"heads", 0, HOP_OPT_INT, AT(heads), "H", "1", 1, 1 << 20, .help = "heads; those that are not needed are silent"},
    {"kv-heads", 0, HOP_OPT_INT, AT(kv_heads), "K", NULL, 1, 1 << 20, .initial_help = "heads",
     .help = "heads of keys and values"},
    {"head-dim", 0, HOP_OPT_INT, AT(head_dim), "D", NULL, 1, 1 << 20,
     .initial_help = "the smallest, 64 with --rope; random: d-model over heads",
     .help = "numbers in a head's key"},
    {"norm", 0, HOP_OPT_CHOICE, AT(norm), "NAME", "rms", .choices = NORM_NAMES,
     .help = "normalisation before mixers and MLPs"},
    {"mlp", 0, HOP_OPT_CHOICE, AT(mlp), "NAME", "swiglu", .choices = MLP_NAMES,
     .help = "the MLP after each mixer"},
    {"mlp-hidden", 0, HOP_OPT_INT, AT(mlp_hidden), "N", NULL, 1, 1 << 20,
     .initial_help = "d-model; random: 4 times d-model; --like: 128",
     .help = "its hidden units"},
    {"rope", 0, HOP_OPT_TEXT, AT(rope), "THETA[,PART]", .initial_help = "none",
     .help = "rotary embedding in attention: its base, and the part of each head that is turned, from 0 to 1"},
    {0},
};

static const hop_opt RANDOM_OPTIONS[] = {
    {"vocab", 0, HOP_OPT_INT, AT(vocab), "N", NULL, 1, (int64_t)1 << 31, .initial_help = "the task's, else 64",
     .help = "different tokens"},
    {"positions", 0, HOP_OPT_INT, AT(positions), "T", NULL, 1, (int64_t)1 << 31,
     .initial_help = "the task's length, else 1024",
     .help = "the longest sequence"},
    {"seeded", 0, HOP_OPT_FLAG, AT(seeded),
     .help = "store no layers: they are drawn from the seed when they are needed, so that depth costs no "
             "memory"},
    {"tie", 0, HOP_OPT_INT, AT(tie), "K", NULL, 0, HOP_MAX_LAYERS, .initial_help = "0: all differ",
     .help = "with --seeded: layer i has the weights of layer i modulo K"},
    {0},
};
/* clang-format on */

/* ---- kinds ---------------------------------------------------------------------------------- */

/* The one kind that is not constructed. */
static const hop_construct_kind RANDOM = {"random", .choices = HOP_CHOOSES_MIXER | HOP_CHOOSES_SHAPE};

static bool is_random(const hop_construct_kind *k)
{
    return k == &RANDOM;
}

static const hop_construct_kind *find_kind(const char *name)
{
    const hop_construct_kind *k = hop_construct_kinds();
    while (k->name && strcmp(k->name, name) != 0) k++;
    return k->name ? k : strcmp(name, RANDOM.name) == 0 ? &RANDOM : NULL;
}

static hop_status unknown_kind(const char *name, hop_error *err)
{
    hop_text known = {0};
    for (const hop_construct_kind *k = hop_construct_kinds(); k->name; k++)
        hop_text_printf(&known, "%s, ", k->name);
    hop_fail(err, HOP_EUSAGE, "%.60s: unknown kind (known: %s%s)", name, known.s ? known.s : "", RANDOM.name);
    hop_text_free(&known);
    return HOP_EUSAGE;
}

static bool given(const build_args *a, const hop_opt *o)
{
    return ((const hop_opt_value *)(const void *)((const char *)a + o->at))->given;
}

/* An option that was given and that the kind does not take; NULL: none. */
static const hop_opt *foreign_option(const build_args *a, const hop_construct_kind *k)
{
    for (const hop_opt *o = OPTIONS; o->name; o++) {
        unsigned of = o->at == AT(mixer)                        ? HOP_CHOOSES_MIXER
                      : o->at == AT(block) || o->at == AT(topk) ? HOP_CHOOSES_BLOCKS
                                                                : 0;
        if (of && !(of & k->choices) && given(a, o)) return o;
    }
    for (const hop_opt *o = RANDOM_OPTIONS; o->name && !is_random(k); o++)
        if (given(a, o)) return o;
    for (const hop_opt *o = SHAPE_OPTIONS; o->name && !(k->choices & HOP_CHOOSES_SHAPE); o++)
        if (given(a, o) && !(o->at == AT(pattern) && k->choices & HOP_CHOOSES_PATTERN)) return o;
    return NULL;
}

/* Written as a model of its own class. */
static bool is_exported(const build_args *a, const hop_construct_kind *k)
{
    return a->like.text && strcmp(k->name, "rotary") == 0;
}

/* What may not stand beside --like. */
static hop_status check_like(const build_args *a, const hop_construct_kind *k, hop_error *err)
{
    for (const hop_opt *o = SHAPE_OPTIONS; o->name; o++)
        if (o->at != AT(d_model) && o->at != AT(mlp_hidden) && given(a, o))
            return hop_fail(err, HOP_EUSAGE, "--%s: --like takes it from the model", o->name);
    if (a->mixer.given) return hop_fail(err, HOP_EUSAGE, "--mixer: --like takes it from the model");
    if (strcmp(k->name, "hybrid") == 0 || is_exported(a, k)) return HOP_OK;
    return hop_fail(err, HOP_EUSAGE, "--like: is instead of a kind, and not for %s", k->name);
}

static hop_status check_options(const build_args *a, const hop_construct_kind *k, hop_error *err)
{
    const hop_opt *foreign = foreign_option(a, k);
    if (foreign) return hop_fail(err, HOP_EUSAGE, "--%s: %s takes no such option", foreign->name, k->name);
    if (a->families.text && !a->like.text) return hop_fail(err, HOP_EUSAGE, "--families: is for --like");
    if (a->like.text && check_like(a, k, err) != HOP_OK) return HOP_EUSAGE;
    if (is_random(k) && !a->pattern.text) return hop_fail(err, HOP_EUSAGE, "--pattern: missing");
    if (a->tie.given && !a->seeded.flag) return hop_fail(err, HOP_EUSAGE, "--tie: needs --seeded");
    return HOP_OK;
}

/* The kind and the task that are asked for. */
static hop_status read_question(const build_args *a, const hop_construct_kind **kind, hop_task *task,
                                hop_error *err)
{
    const char *name = hop_request_operand(&a->ask, 0);
    if (!name && !a->like.text)
        return hop_fail(err, HOP_EUSAGE, "KIND: missing; `hopbound build --help` explains");
    const hop_construct_kind *k = find_kind(name ? name : "hybrid");
    if (!k) return unknown_kind(name, err);
    *kind = k;
    hop_status s = check_options(a, k, err);
    if (s == HOP_OK) s = hop_sizes_read(&a->sizes, k->task, NULL, task, err);
    if (s != HOP_OK) return s;
    if (!is_random(k) && task->kind != k->task)
        return hop_fail(err, HOP_EUSAGE, "--task: %s is for %s", k->name, hop_task_name(k->task));
    if (a->block.given && task->length % a->block.integer != 0)
        return hop_fail(err, HOP_EUSAGE, "--block %lld: does not divide the %lld tokens",
                        (long long)a->block.integer, (long long)task->length);
    return HOP_OK;
}

/* ---- the verb ------------------------------------------------------------------------------- */

/* What the options ask for and what cannot be made of it is a wrong question; the rest, a file that cannot be read
 * among it, is failure. */
static hop_status not_made(const build_args *a, hop_status s, hop_error *err)
{
    bool asked =
        s == HOP_EUNKNOWN || s == HOP_EDOMAIN || s == HOP_ERANGE || (s == HOP_EFORMAT && !a->like.text);
    return asked ? hop__asked(err, "", "") : s;
}

/* In the smallest architecture, or in the one that the options or a model's file describe. */
static hop_status construct(hop_model **out, const build_args *a, const hop_construct_kind *k,
                            const hop_task *task, hop_text *notes, hop_error *err)
{
    hop_construct_options o = {.mixer = a->mixer.text,
                               .pattern = a->pattern.text,
                               .block = a->block.integer,
                               .topk = a->topk.integer};
    hop_config shape = {0};
    bool shaped = false;
    for (const hop_opt *i = SHAPE_OPTIONS; i->name && k->choices & HOP_CHOOSES_SHAPE; i++)
        shaped = shaped || given(a, i);
    hop_status s = HOP_OK;
    if (a->like.text) {
        s = hop__build_like(&shape, notes, a, err);
        o.shape = &shape;
    } else if (shaped) {
        char pattern[64];
        int hops = task->funccomp.hops;
        bool hybrid = k->choices & HOP_CHOOSES_MIXER;
        snprintf(pattern, sizeof pattern, hybrid ? "L F^%d" : "F^%d", hybrid ? hops : hops + 1);
        s = hop__build_shape(&shape, a, pattern, err);
        o.shape = &shape;
    }
    if (s == HOP_OK) s = hop_construct(out, k->name, task, &o, err);
    if (s == HOP_OK && a->like.text) hop__build_like_changed(notes, &shape, *out);
    hop_config_free(&shape);
    return s;
}

static hop_status build(hop_response *out, const build_args *a, const hop_construct_kind *k,
                        const hop_task *task, hop_error *err)
{
    hop_model *m = NULL;
    hop_text notes = {0};
    bool exported = is_exported(a, k);
    hop_status s = is_random(k) ? hop__build_random(&m, a, task, err)
                   : exported   ? hop__build_export(&m, &notes, a, k->name, task, err)
                                : construct(&m, a, k, task, &notes, err);
    if (s != HOP_OK) s = not_made(a, s, err);
    if (s == HOP_OK && notes.failed) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK && !exported) s = hop_save_network(m, a->output.text, err);
    if (s == HOP_OK) s = hop__build_record(out, a, m, task, &notes, err);
    hop_model_free(m);
    hop_text_free(&notes);
    return s;
}

static hop_status ask_build(hop_response *out, const void *request, hop_error *err)
{
    const build_args *a = request;
    const hop_construct_kind *k = NULL;
    hop_task task;
    hop_status s = read_question(a, &k, &task, err);
    if (s != HOP_OK) return s;
    return build(out, a, k, is_random(k) && !hop_sizes_given(&a->sizes) ? NULL : &task, err);
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_SIZE_GROUP(build_args, sizes),
    {.title = "Shape of full, hybrid and random networks", .opts = SHAPE_OPTIONS},
    {.title = "Random networks", .opts = RANDOM_OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound build full --hops 3 --m 16 --fan 8,8 -o net",
     "Four full-attention layers that compose three functions."},
    {"hopbound build hybrid --mixer mamba2 --hops 3 -o net",
     "One Mamba-2 layer and three full-attention layers that do the same."},
    {"hopbound build mixed --pattern \"L F L L\" --hops 3 --m 8 --fan 4,4 -o net",
     "Two hops by states that hold their tables, one by a full layer."},
    {"hopbound build hybrid --pattern '(gdn^3 F)^4' --heads 8 --kv-heads 2 --head-dim 64 --rope 1e6,0.25 -o net",
     "The same in sixteen layers as models have them: norms, gated MLPs, grouped keys, rotary embeddings."},
    {"hopbound build hybrid --pattern 'gdn^6' --heads 4 --head-dim 32 --hops 3 --m 8 --fan 2,2 -o net",
     "Three hops without any full layer: states of gdn layers hold the tables."},
    {"hopbound build --like config.json --hops 4 -o net", "In the architecture of a model."},
    {"hopbound build two-sum-sparse --n 64 --mod 32 --block 8 --topk 1 -o net",
     "Sparse attention that solves 2-Sum with as many heads as a block has tokens."},
    {"hopbound build random --pattern 'L^4096 F L^4096' --mixer gdn --d-model 16 --hops 2 --seeded -o deep",
     "Random weights, none of them stored but the tables."},
    {0},
};
#define KIND_HELP(id, name, task, choices, summary) name ": " summary "; "
const hop_verb hop__verb_build = {
    .name = "build",
    .summary = "writes a network with exact weights for the task, or with random ones",
    .operand = "[KIND]",
    .operand_help = HOP_CONSTRUCT_LIST(KIND_HELP) "random: any --pattern, with weights drawn from --seed",
    .description =
        "The weights are written down, not trained: every layer is one look-up, and a clip restores "
        "exact codes, so the network is right on every input of the sizes it was built for. `hopbound "
        "prove` checks that from the file. The directory has the layout of Hugging Face: config.json "
        "and model.safetensors.\n\n"
        "state_bits is what the recurrent layers' states hold, 32 bits a number. p2_bits is what a network "
        "without full layers needs at least for these sizes: N log2 N, N being the entries of the last "
        "function; state_ratio is their quotient, for such a network.\n\n"
        "random draws weights from --seed as the mixers' papers have it; if sizes of a task are given, they "
        "are stored with it.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_build_answer_record,
    .of_files = true,
    .request_size = sizeof(build_args),
    .ask = ask_build,
};
/* clang-format on */
