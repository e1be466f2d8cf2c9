/* The verb mixers: the registry. */
#include <hopbound/ask_mixers.h>

#include <hopbound/mixers.h>
#include "desk.h"

static const hop_field OPTION_FIELDS[] = {
    {"name", HOP_TYPE_text, offsetof(hop_mixers_option, name), "", "", "as config.json has it", NULL, NULL},
    {"default", HOP_TYPE_count, offsetof(hop_mixers_option, initial), "", "", "at these sizes; null: none",
     NULL, NULL},
    {"help", HOP_TYPE_text, offsetof(hop_mixers_option, help), "", "", "what it does", NULL, NULL},
    {.name = NULL},
};
const hop_record hop_mixers_option_record = {"hop_mixers_option", "a setting of config.json",
                                             sizeof(hop_mixers_option), OPTION_FIELDS};
HOP_RECORD_TABLE(hop_mixers_tensor, HOP_MIXERS_TENSOR, "a tensor")
HOP_RECORD_TABLE(hop_mixers_row, HOP_MIXERS_ROW, "a mixer")
HOP_RECORD_TABLE(hop_mixers_answer, HOP_MIXERS_ANSWER, "the mixers at these sizes")

typedef struct mixers_args {
    hop_request ask;
    hop_opt_value d_model, heads, head_dim, tokens;
} mixers_args;

/* clang-format off */
#define AT(member) offsetof(mixers_args, member)
static const hop_opt OPTIONS[] = {
    {"d-model", 0, HOP_OPT_INT, AT(d_model), "N", "64", 1, 1 << 20, .help = "width of the residual stream"},
    {"heads", 0, HOP_OPT_INT, AT(heads), "H", "1", 1, 1 << 16, .help = "heads"},
    {"head-dim", 0, HOP_OPT_INT, AT(head_dim), "D", "64", 1, 1 << 16, .help = "numbers in a head's key"},
    {"tokens", 0, HOP_OPT_INT, AT(tokens), "T", "1024", 1, (int64_t)1 << 31,
     .help = "give the state's size after that many tokens"},
    {0},
};
/* clang-format on */

enum { MOST_MIXERS = 64, MOST_OPTIONS = HOP_OPTION_COUNT };

/* Some defaults follow from the widths; those of a mixer that cannot be built are its table's. */
static void fill_options(hop_keep *k, hop_mixers_row *out, const hop_mixer_ops *ops,
                         const hop_mixer_config *c)
{
    hop_mixers_option *list = hop_keep_bytes(k, MOST_OPTIONS, sizeof *list);
    for (const struct hop_option_default *o = ops->options; list && o && o->option != HOP_OPTION_COUNT; o++) {
        int64_t value = c ? c->option[o->option] : o->value;
        list[out->options.count++] =
            (hop_mixers_option){hop_option_name(o->option), value == HOP_OPTION_UNSET ? HOP_NO_COUNT : value,
                                hop_option_help(o->option)};
    }
    out->options.at = list;
}

static void fill_tensors(hop_keep *k, hop_mixers_row *out, const hop_mixer_ops *ops,
                         const hop_mixer_config *c)
{
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count = ops->params(c, params);
    hop_mixers_tensor *list = hop_keep_bytes(k, (size_t)count + 1, sizeof *list);
    out->parameters = 0;
    for (int i = 0; list && i < count; i++) {
        const hop_param *p = &params[i];
        int64_t *shape = hop_keep_bytes(k, 2, sizeof *shape);
        if (!shape) return;
        shape[0] = p->shape[0], shape[1] = p->shape[1];
        list[i] = (hop_mixers_tensor){hop_keep_text(k, p->name),
                                      {shape, p->shape[1]   ? 2
                                              : p->shape[0] ? 1
                                                            : 0}};
        out->parameters += p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
    }
    out->tensors.at = list;
    out->tensors.count = list ? count : 0;
}

static void fill_row(hop_keep *k, hop_mixers_row *out, const hop_mixer_ops *ops, const mixers_args *a)
{
    hop_mixer_config c;
    hop_error err = {0};
    hop_mixer_config_init(&c);
    c.d_model = a->d_model.integer;
    c.heads = c.kv_heads = a->heads.integer;
    c.head_dim = a->head_dim.integer;
    c.layers = 1;
    bool built = hop_mixer_config_ready(&c, ops, &err) == HOP_OK;
    *out = (hop_mixers_row){.name = ops->name,
                            .equation = ops->equation,
                            .recurrent = ops->kind == HOP_MIXER_RECURRENT,
                            .parameters = HOP_NO_COUNT,
                            .state_floats = HOP_NO_COUNT,
                            .state_bytes = HOP_NO_COUNT,
                            .why = hop_keep_text(k, err.text)};
    fill_options(k, out, ops, built ? &c : NULL);
    if (!built) return;
    fill_tensors(k, out, ops, &c);
    out->state_floats = hop_mixer_state_floats(ops, &c, a->tokens.integer);
    out->state_bytes = out->state_floats * (int64_t)sizeof(float);
}

static hop_status unknown_mixer(const char *name, hop_error *err)
{
    const char *names[MOST_MIXERS];
    size_t count = 0;
    for (int i = 0; hop_mixer_at(i) && count < MOST_MIXERS; i++) names[count++] = hop_mixer_at(i)->name;
    const char *meant = hop_closest_name(name, names, count);
    return hop_fail(err, HOP_EUSAGE, "%.60s: unknown mixer%s%s%s", name,
                    meant ? "; did you mean " : "; `hopbound mixers` lists them", meant ? meant : "",
                    meant ? "?" : "");
}

static hop_status ask_mixers(hop_response *response, const void *request, hop_error *err)
{
    const mixers_args *a = request;
    const char *name = hop_request_operand(&a->ask, 0);
    const hop_mixer_ops *one = name ? hop_mixer_find(name) : NULL;
    hop_keep *k = &response->memory;
    if (name && !one) return unknown_mixer(name, err);
    hop_mixers_answer *out = hop_response_begin(response, &hop_mixers_answer_record, err);
    hop_mixers_row *rows = hop_keep_bytes(k, MOST_MIXERS, sizeof *rows);
    if (!out || !rows) return hop_fail(err, HOP_ENOMEM, "out of memory");
    *out = (hop_mixers_answer){.d_model = a->d_model.integer,
                               .heads = a->heads.integer,
                               .head_dim = a->head_dim.integer,
                               .tokens = a->tokens.integer};
    for (int i = 0; hop_mixer_at(i) && out->mixers.count < MOST_MIXERS; i++)
        if (!one || hop_mixer_at(i) == one) fill_row(k, &rows[out->mixers.count++], hop_mixer_at(i), a);
    if (one && out->mixers.count == 0) fill_row(k, &rows[out->mixers.count++], one, a);
    out->mixers.at = rows;
    return hop_response_end(response, err);
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound mixers",
     "What a pattern may name, a line each."},
    {"hopbound mixers gdn --d-model 1024 --heads 16",
     "What one costs at these sizes, and its options."},
    {"hopbound mixers --d-model 1024 --heads 16 --head-dim 64 --json",
     "The same at another size, for scripts."},
    {0},
};
const hop_verb hop__verb_mixers = {
    .name = "mixers",
    .summary = "lists the token mixers: their recurrences, parameters and state sizes",
    .operand = "[NAME]",
    .operand_help = "one of them, with its weights, state and options; without it, a line for each",
    .description =
        "A mixer is a rule that lets a position use earlier ones. The state is what crosses a cut of the "
        "sequence: it is all that later tokens can know of earlier ones through that layer. Options are "
        "set in config.json, for a mixer or for one layer; the defaults shown are those at these sizes. A "
        "mixer that cannot be built at these sizes says why.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_mixers_answer_record,
    .rows = "mixers",
    .request_size = sizeof(mixers_args),
    .ask = ask_mixers,
};
/* clang-format on */
