/* The verb audit: what a real model's layers are, what they keep, and how many hops that gives. */
#include "audit.h"

#include <hopbound/ask_memory.h>
#include <hopbound/over.h>

#include <string.h>

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
    {"config", 0, HOP_OPT_JSON, AT(config), "JSON",
     .help = "the configuration itself, as config.json has it, instead of a PATH"},
    {"table", 0, HOP_OPT_FLAG, AT(table), .help = "a table also of one model, as --format csv and --report have it"},
    {"require-hops", 0, HOP_OPT_INT, AT(require_hops), "L", NULL, 1, HOP_MAX_HOPS,
     .help = "only whether so many hops are possible, and the exit code: 0 of all models, 10 impossible of one, 30 open of one"},
    {"memory", 0, HOP_OPT_FLAG, AT(memory),
     .help = "bytes that prompts of this length take: as the mathematics needs, and as llama.cpp, vLLM and transformers allocate"},
    {"fit", 0, HOP_OPT_TEXT, AT(fit), "SIZE",
     .help = "the same, and the longest prompt that fits so many bytes beside the weights: 24GiB, 80GB"},
    {"weights", 0, HOP_OPT_TEXT, AT(weights), "SIZE", .initial_help = "the file's own, or the parameters in the file's type",
     .help = "with --fit: bits a parameter, 4.5bpw, or bytes of all of them, 14GiB"},
    {"batch", 0, HOP_OPT_INT, AT(batch), "B", "1", 1, 1 << 20, .help = "with --memory, --fit: so many prompts at a time"},
    {"kv-type", 0, HOP_OPT_TEXT, AT(kv_type), "NAME", .initial_help = "as --cache-dtype",
     .help = "with --memory, --fit: type of keys and values: float16, fp8, q8_0, q4_0, .."},
    {"state-type", 0, HOP_OPT_TEXT, AT(state_type), "NAME", .initial_help = "as --state-dtype",
     .help = "with --memory, --fit: type of states, where the engine has none of its own"},
    {"over", 0, HOP_OPT_TEXT, AT(over), "A..B",
     .help = "hops and bytes against length, from A to B by factors of two or more, or at a list of lengths A,B,..: a row for "
             "each model, and where they first differ"},
    {"picture", 0, HOP_OPT_TEXT, AT(picture), "FILE.svg", .use = HOP_OPT_WRITES, .help = "with --over: also as a drawing"},
    {"report", 0, HOP_OPT_TEXT, AT(report), "FILE.html", .use = HOP_OPT_WRITES,
     .help = "of several models: also a page with a picture"},
    {0},
};
/* clang-format on */

/* Of bytes alone, and what is said of them alone. */
static hop_status check_memory(const audit_args *a, hop_error *err)
{
    const hop_opt_value *const own[] = {&a->batch, &a->kv_type, &a->state_type};
    static const char *const names[] = {"batch", "kv-type", "state-type"};
    bool counts = a->memory.flag || a->fit.text;
    for (int i = 0; i < 3; i++)
        if (own[i]->given && !counts)
            return hop_fail(err, HOP_EUSAGE, "--%s: needs --memory or --fit", names[i]);
    if (a->weights.given && !a->fit.text) return hop_fail(err, HOP_EUSAGE, "--weights: needs --fit");
    if (counts && (a->over.text || a->plan_only.flag || a->report.text || a->require_hops.given))
        return hop_fail(err, HOP_EUSAGE, "--%s: not with --%s", a->fit.text ? "fit" : "memory",
                        a->over.text        ? "over"
                        : a->plan_only.flag ? "plan-only"
                        : a->report.text    ? "report"
                                            : "require-hops");
    return HOP_OK;
}

static hop_status check(const audit_args *a, bool many, hop_error *err)
{
    const hop_opt_value *const values[] = {&a->state_dtype, &a->conv_dtype, &a->cache_dtype};
    static const char *const names[] = {"state-dtype", "conv-dtype", "cache-dtype"};
    for (int i = 0; i < 3; i++)
        if (values[i]->text && !hop_hf_dtype_bytes(values[i]->text))
            return hop_fail(
                err, HOP_EUSAGE,
                "--%s: %.40s: unknown (known: float64, float32, float16, bfloat16, float8_e4m3fn, "
                "float8_e5m2)",
                names[i], values[i]->text);
    if (!a->config.text == !a->ask.operands.count)
        return hop_fail(err, HOP_EUSAGE, a->config.text ? "--config: instead of a PATH" : "PATH..: missing");
    if (many && a->config.text) return hop_fail(err, HOP_EUSAGE, "--config: is one model, in no table");
    if (many && a->plan_only.flag) return hop_fail(err, HOP_EUSAGE, "--plan-only: is for one model");
    if (a->over.text && (a->config.text || a->plan_only.flag || a->n.given || a->report.text))
        return hop_fail(err, HOP_EUSAGE, "--over: not with --%s",
                        a->n.given          ? "n"
                        : a->config.text    ? "config"
                        : a->plan_only.flag ? "plan-only"
                                            : "report");
    if (a->require_hops.given && (a->over.text || a->plan_only.flag || a->report.text || a->table.flag))
        return hop_fail(err, HOP_EUSAGE, "--require-hops: not with --%s",
                        a->over.text        ? "over"
                        : a->plan_only.flag ? "plan-only"
                        : a->report.text    ? "report"
                                            : "table");
    if (a->picture.text && !a->over.text) return hop_fail(err, HOP_EUSAGE, "--picture: needs --over");
    return check_memory(a, err);
}

hop_status hop__audit_config(hop_audit *u, const audit_args *a, const hop_audit_options *o, hop_error *err)
{
    hop_json_doc doc = {0};
    *u = (hop_audit){0};
    hop_status s = hop_json_parse(&doc, a->config.text, strlen(a->config.text), err);
    if (s != HOP_OK) return hop__asked(err, "--config: ", "");
    s = hop_audit_of(u, doc.root, o, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, "config");
}

static hop_status ask_one(hop_response *out, const audit_args *a, const hop_audit_options *o, hop_error *err)
{
    hop_audit u;
    hop_audit_seen h = {0};
    hop_status s =
        a->config.text ? hop__audit_config(&u, a, o, err) : hop_audit_read(&u, a->ask.operands.at[0], o, err);
    if (s == HOP_OK && !o->plan_only) s = hop_audit_see(&h, &u, o, err);
    if (s == HOP_OK)
        s = hop__audit_record(out, hop_request_operand(&a->ask, 0), &u, o->plan_only ? NULL : &h, err);
    hop_audit_seen_free(&h);
    hop_audit_free(&u);
    return s;
}

static hop_status ask_audit(hop_response *out, const void *request, hop_error *err)
{
    const audit_args *a = request;
    const char *path = hop_request_operand(&a->ask, 0);
    hop_hf_families *families = NULL;
    hop_audit_options o = {.n = a->n.given ? a->n.integer : 0,
                           .bits = a->bits.integer,
                           .state_dtype = a->state_dtype.text,
                           .conv_dtype = a->conv_dtype.text,
                           .cache_dtype = a->cache_dtype.text,
                           .plan_only = a->plan_only.flag,
                           .progress = &a->ask.progress};
    bool many = a->ask.operands.count > 1 || a->report.text || a->table.flag ||
                (path && hop__audit_is_collection(path));
    hop_status s = check(a, many, err);
    if (s == HOP_OK && a->families.text) s = hop_hf_families_load(&families, a->families.text, err);
    o.families = families;
    if (s == HOP_OK)
        s = a->require_hops.given           ? hop__audit_require(out, a, &o, err)
            : a->memory.flag || a->fit.text ? hop__audit_memory(out, a, &o, err)
            : a->over.text                  ? hop__audit_over(out, a, &o, err)
            : many                          ? hop__audit_table(out, a, &o, err)
                                            : ask_one(out, a, &o, err);
    hop_hf_families_free(families);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound audit config.json",
     "The layer plan, what the layers keep at the model's own context length, and how many hops that gives."},
    {"hopbound audit . --n 1000000 --state-dtype bfloat16",
     "The model in this directory at a million tokens, with states kept in 16 bits."},
    {"hopbound audit a/config.json b/config.json c.json d.json --n 128k",
     "How do these four models compare? One table at one length."},
    {"hopbound audit a.json b.json c.json d.json --over 32k..16M --picture hops.svg",
     "Where do these four models first differ? Hops and bytes against length."},
    {"hopbound audit config.json --n 128k --batch 4 --memory",
     "Bytes of four prompts of 131072 tokens, and what llama.cpp, vLLM and transformers allocate for them."},
    {"hopbound audit a.json b.json c.gguf --fit 24GiB --weights 4.5bpw",
     "How long a prompt fits into 24 GiB, beside weights of 4.5 bits each?"},
    {"hopbound audit config.json --require-hops 8 --n 128k",
     "Does it make 8 hops at 131072 tokens? The exit code says it to scripts."},
    {"hopbound audit models --format csv > models.csv",
     "All models of a directory, for a spreadsheet; --report models.html draws them."},
    {"hopbound audit config.json --format markdown > audit.md",
     "A section for the model card."},
    {0},
};
static const hop_other OTHERS[] = {
    {&hop_models_answer_record, "Of several models, of a directory, and with `--table` or `--report`"},
    {&hop_over_answer_record, "With `--over`"},
    {&hop_required_answer_record, "With `--require-hops`"},
    {&hop_memory_answer_record, "With `--memory` and `--fit`"},
    {0},
};
const hop_verb hop__verb_audit = {
    .name = "audit",
    .summary = "reads a model's config.json: its layers, what they keep, how many hops they make",
    .operand = "[PATH..]",
    .operand_help = "a Hugging Face config.json, or the directory that holds it, or a GGUF file, of several its first; "
                    "weights are not read. Several, or a directory of them (files *.json, *.gguf, directories with a "
                    "config.json): one table",
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
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_audit_answer_record,
    .others = OTHERS,
    .rows = "models",
    .rows_flag = "table",
    .request_size = sizeof(audit_args),
    .ask = ask_audit,
};
/* clang-format on */
