/* hopbound build: writes a network whose weights are constructed, not trained. */
#include "cli.h"

#include <string.h>

typedef struct build_args {
    common_args common;
    size_args sizes;
    opt_value output;
} build_args;

static const opt OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(build_args, output),
     .required = true,
     .metavar = "DIR",
     .help = "directory to write: config.json and model.safetensors"},
    {.name = NULL},
};

/* The constructions; a new one is a line here. */
static const struct kind {
    const char *name;
    hop_status (*construct)(hop_model **out, const hop_funccomp *task, hop_error *err);
} KINDS[] = {
    {"full", hop_construct_full},
};
#define KIND_COUNT (sizeof KINDS / sizeof KINDS[0])

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strcmp(KINDS[i].name, name) == 0) return &KINDS[i];
    return NULL;
}

static int unknown_kind(const common_args *a)
{
    hop_text known = {0};
    for (size_t i = 0; i < KIND_COUNT; i++) hop_text_printf(&known, "%s%s", i ? ", " : "", KINDS[i].name);
    int code = fail(a, EXIT_USAGE, "%.60s: unknown kind (known: %s)", a->operand, known.s ? known.s : "");
    hop_text_free(&known);
    return code;
}

/* What was built. Numbers that the two forms share are listed once. */
static int report(const build_args *a, const hop_model *m, const hop_funccomp *task)
{
    const hop_config *c = hop_model_config(m);
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"layers",     c->pattern.layers      },
        {"d_model",    c->d_model             },
        {"heads",      c->heads               },
        {"head_dim",   c->head_dim            },
        {"mlp_hidden", c->mlp_hidden          },
        {"parameters", hop_model_parameters(m)},
        {"n",          task->length           }
    };
    hop_text pattern = {0};
    hop_pattern_print(&c->pattern, &pattern);
    hop_json_writer w = {0};
    hop_text out = {0}, sizes = {0};
    sizes_print(&sizes, task);

    hop_json_begin_object(&w);
    hop_json_string(&w, "kind", a->common.operand);
    hop_json_string(&w, "pattern", pattern.s ? pattern.s : "");
    hop_text_printf(&out, "%s: built %s for %s\n  %-11s %s\n", a->output.text, a->common.operand,
                    sizes.s ? sizes.s : "", "pattern", pattern.s ? pattern.s : "");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        hop_json_integer(&w, numbers[i].key, numbers[i].value);
        hop_text_printf(&out, "  %-11s %lld\n", numbers[i].key, (long long)numbers[i].value);
    }
    hop_json_string(&w, "dir", a->output.text);
    hop_json_key(&w, "task");
    hop_funccomp_write(task, &w);
    hop_json_end_object(&w);

    int code = a->common.json.flag ? print_json(&a->common, &w) : print_text(&a->common, &out);
    hop_text_free(&w.text);
    hop_text_free(&out);
    hop_text_free(&sizes);
    hop_text_free(&pattern);
    return code;
}

static int cmd_build(common_args *common)
{
    const build_args *a = (const build_args *)common;
    const struct kind *kind = find_kind(common->operand);
    hop_funccomp task;
    hop_model *m = NULL;
    hop_error err = {0};
    if (!kind) return unknown_kind(common);
    int code = sizes_from_options(common, &a->sizes, NULL, &task);
    if (code != EXIT_DONE) return code;
    if (kind->construct(&m, &task, &err) != HOP_OK) return fail_error(common, &err);
    code = hop_model_save(m, a->output.text, &err) == HOP_OK ? report(a, m, &task) : fail_error(common, &err);
    hop_model_free(m);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    SIZE_GROUP(build_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound build full --hops 3 --m 16 --fan 8,8 -o net",
     "Four full-attention layers that compose three functions."},
    {0},
};
const verb verb_build = {
    .name = "build",
    .summary = "writes a network with exact weights for the task",
    .operand = "KIND",
    .operand_help = "the construction: full (L+1 full-attention layers, one head each)",
    .description =
        "The weights are written down, not trained: every layer is one look-up, and a clip restores "
        "exact codes, so the network is right on every input of the sizes it was built for. `hopbound "
        "prove` checks that from the file. The directory has the layout of Hugging Face: config.json "
        "and model.safetensors.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(build_args),
    .run = cmd_build,
};
/* clang-format on */
