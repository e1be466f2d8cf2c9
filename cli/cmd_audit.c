/* hopbound audit: what a real model's layers are, what they keep, and how many hops that gives. */
#include "audit.h"

static const char *const FORMATS[] = {"text", "markdown", "csv", "json", NULL};

/* clang-format off */
#define AT(member) offsetof(audit_args, member)
static const hop_opt OPTIONS[] = {
    {"n", 'n', HOP_OPT_INT, AT(n), "TOKENS", NULL, 1, (int64_t)1 << 40,
     .initial_help = "the model's context length",
     .help = "judge the model at this length; several models, at 32768 if it is not given"},
    {"bits", 0, HOP_OPT_INT, AT(bits), "P", "32", 1, 1024,
     .help = "bits of a number in attention's accumulator; 16-bit activations summed in float32 count as 32"},
    {"state-dtype", 0, HOP_OPT_TEXT, AT(state_dtype), "NAME",
     .initial_help = "what the file declares, else float32",
     .help = "precision of recurrent states: float32, bfloat16, .."},
    {"conv-dtype", 0, HOP_OPT_TEXT, AT(conv_dtype), "NAME", NULL, .initial_help = "bfloat16",
     .help = "precision of what short convolutions and token shifts keep"},
    {"cache-dtype", 0, HOP_OPT_TEXT, AT(cache_dtype), "NAME",
     .initial_help = "the weights', if it is one of 16 or 32 bits, else bfloat16",
     .help = "precision of the keys and values that attention keeps"},
    {"families", 0, HOP_OPT_TEXT, AT(families), "FILE", .use = HOP_OPT_READS,
     .help = "rules of model families, before the built-in ones; like src/hf/families.txt"},
    {"plan-only", 0, HOP_OPT_FLAG, AT(plan_only), .help = "the plan and the sizes, no theorems"},
    {"format", 0, HOP_OPT_CHOICE, AT(format), "NAME", "text", .choices = FORMATS,
     .help = "text for a screen, markdown for a model card, csv for a spreadsheet (of several models), json as --json"},
    {"report", 0, HOP_OPT_TEXT, AT(report), "FILE.html", .use = HOP_OPT_WRITES,
     .help = "of several models: also a page with a picture"},
    {0},
};
/* clang-format on */

static int check_dtypes(const audit_args *a)
{
    const hop_opt_value *const values[] = {&a->state_dtype, &a->conv_dtype, &a->cache_dtype};
    static const char *const names[] = {"state-dtype", "conv-dtype", "cache-dtype"};
    for (int i = 0; i < 3; i++)
        if (values[i]->text && !hop_hf_dtype_bytes(values[i]->text))
            return fail(&a->common, EXIT_USAGE,
                        "--%s: %.40s: unknown (known: float64, float32, float16, bfloat16, float8_e4m3fn, "
                        "float8_e5m2)",
                        names[i], values[i]->text);
    return EXIT_DONE;
}

/* A directory of models, not of one. */
static bool is_collection(const char *path)
{
    return hop_is_dir(path) && !audit_holds_config(path);
}

static int audit_all(common_args *common, const audit_args *a)
{
    hop_error err = {0};
    audit u;
    int code = EXIT_DONE;
    bool many = common->operand_count > 1 || a->report.text || a->format.choice == 2 ||
                is_collection(common->operand);
    if (many && a->plan_only.flag) return fail(common, EXIT_USAGE, "--plan-only: is for one model");
    if (many) return audit_table(a);
    if (audit_read(&u, a, common->operand, &err) != HOP_OK) return fail_error(common, &err);
    audit_hops h = {0};
    if (!a->plan_only.flag && audit_hops_find(&h, &u, a, 0, &err) != HOP_OK) {
        audit_free(&u);
        return fail_error(common, &err);
    }
    if (common->json.flag || a->format.choice == 3)
        code = audit_print_json(a, &u, &h);
    else
        code = (a->format.choice ? audit_print_markdown : audit_print_text)(a, &u, &h);
    audit_hops_free(&h);
    audit_free(&u);
    return code;
}

static int cmd_audit(common_args *common)
{
    audit_args *a = (audit_args *)common;
    hop_error err = {0};
    int code = check_dtypes(a);
    if (code != EXIT_DONE) return code;
    if (a->families.text && hop_hf_families_load(&a->rows, a->families.text, &err) != HOP_OK)
        return fail_error(common, &err);
    code = audit_all(common, a);
    hop_hf_families_free(a->rows);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound audit config.json",
     "The layer plan, what the layers keep at the model's own context length, and how many hops that gives."},
    {"hopbound audit . --n 1000000 --state-dtype bfloat16",
     "The model in this directory at a million tokens, with states kept in 16 bits."},
    {"hopbound audit a/config.json b/config.json c.json d.json --n 128k",
     "How do these four models compare? One table at one length."},
    {"hopbound audit models --format csv > models.csv",
     "All models of a directory, for a spreadsheet; --report models.html draws them."},
    {"hopbound audit config.json --format markdown > audit.md",
     "A section for the model card."},
    {0},
};
const verb verb_audit = {
    .name = "audit",
    .summary = "reads a model's config.json: its layers, what they keep, how many hops they make",
    .operand = "PATH..",
    .operand_help = "a Hugging Face config.json, or the directory that holds it; weights are not needed. Several, or a "
                    "directory of them (files *.json, directories with a config.json): one table",
    .description =
        "Letters of the plan: F full attention, L recurrent, S sliding, chunked or sparse attention, H full "
        "attention and a recurrence in one layer, h the same with a window, G a gated memory unit, C attention "
        "to another layer's cache, E experts and - an MLP without a mixer.\n\n"
        "What the file says is told apart from what its class assumes; the precision of states is mostly "
        "chosen when a model is run, so it can be given. Nothing is guessed: a family that is not known is refused "
        "unless the file lists its layers, and so are encoders, known keys of a wrong type, and keys of attention "
        "whose rule is not known; the line names them, exit 1.\n\n"
        "A hop costs a full layer (P1), or linear layers whose states hold its table (P10): so many are possible at "
        "the length, up to one n the states are known to hold a table, and from another on none of the prompt's length "
        "fits them (P2). docs/BOUNDS.md derives these.\n\n"
        "Layers that run several times in a forward pass are counted as often.",
    .colours = true,
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(audit_args),
    .run = cmd_audit,
};
/* clang-format on */
