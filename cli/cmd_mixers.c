/* hopbound mixers: the registry, for people and for scripts. */
#include "cli.h"

typedef struct mixers_args {
    common_args common;
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

/* A mixer at the sizes that were asked for, or why it cannot be built there. */
typedef struct entry {
    const hop_mixer_ops *ops;
    hop_mixer_config config;
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int param_count;
    int64_t weights, state;
    bool built;
    hop_error err;
} entry;

static int64_t param_elements(const hop_param *p)
{
    return p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
}

static void entry_make(entry *e, const hop_mixer_ops *ops, const mixers_args *a)
{
    *e = (entry){.ops = ops};
    hop_mixer_config *c = &e->config;
    hop_mixer_config_init(c);
    c->d_model = a->d_model.integer;
    c->heads = c->kv_heads = a->heads.integer;
    c->head_dim = a->head_dim.integer;
    c->layers = 1;
    e->built = hop_mixer_config_ready(c, ops, &e->err) == HOP_OK;
    if (!e->built) return;
    e->param_count = ops->params(c, e->params);
    for (int i = 0; i < e->param_count; i++) e->weights += param_elements(&e->params[i]);
    e->state = hop_mixer_state_floats(ops, c, a->tokens.integer);
}

/* ---- for scripts ---------------------------------------------------------------------------- */

static void write_options(hop_json_writer *w, const entry *e)
{
    hop_json_key(w, "options");
    hop_json_begin_array(w);
    for (const struct hop_option_default *o = e->ops->options; o && o->option != HOP_OPTION_COUNT; o++) {
        hop_json_begin_object(w);
        hop_json_string(w, "name", hop_option_name(o->option));
        hop_json_key(w, "default");
        int64_t value = e->built ? e->config.option[o->option] : o->value; /* some follow from the widths */
        if (value == HOP_OPTION_UNSET)
            hop_json_put_null(w);
        else
            hop_json_put_int(w, value);
        hop_json_string(w, "help", hop_option_help(o->option));
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void write_tensors(hop_json_writer *w, const entry *e)
{
    hop_json_key(w, "tensors");
    hop_json_begin_array(w);
    for (int i = 0; i < e->param_count; i++) {
        const hop_param *p = &e->params[i];
        hop_json_begin_object(w);
        hop_json_string(w, "name", p->name);
        hop_json_key(w, "shape");
        hop_json_begin_array(w);
        for (int r = 0; r < 2 && p->shape[r]; r++) hop_json_put_int(w, p->shape[r]);
        hop_json_end_array(w);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void write_entry(hop_json_writer *w, const entry *e)
{
    hop_json_begin_object(w);
    hop_json_string(w, "name", e->ops->name);
    hop_json_string(w, "equation", e->ops->equation);
    hop_json_boolean(w, "recurrent", e->ops->kind == HOP_MIXER_RECURRENT);
    write_options(w, e);
    if (e->built) {
        write_tensors(w, e);
        hop_json_integer(w, "parameters", e->weights);
        hop_json_integer(w, "state_floats", e->state);
        hop_json_integer(w, "state_bytes", e->state * (int64_t)sizeof(float));
    } else {
        hop_json_string(w, "why", e->err.text);
    }
    hop_json_end_object(w);
}

/* ---- for people ----------------------------------------------------------------------------- */

static void print_built(hop_text *out, const entry *e, int64_t tokens)
{
    hop_text_add(out, "  weights");
    for (int i = 0; i < e->param_count; i++) {
        hop_text_printf(out, " %s[%lld", e->params[i].name, (long long)e->params[i].shape[0]);
        if (e->params[i].shape[1]) hop_text_printf(out, ",%lld", (long long)e->params[i].shape[1]);
        hop_text_add(out, "]");
    }
    hop_text_printf(out, ", %lld numbers\n  state   %lld numbers after %lld tokens, %s\n",
                    (long long)e->weights, (long long)e->state, (long long)tokens,
                    e->ops->kind == HOP_MIXER_RECURRENT ? "whatever their number"
                                                        : "depending on their number");
}

static void print_options(hop_text *out, const entry *e)
{
    for (const struct hop_option_default *o = e->ops->options; o && o->option != HOP_OPTION_COUNT; o++) {
        int64_t value = e->built ? e->config.option[o->option] : o->value;
        char text[24] = "-";
        if (value != HOP_OPTION_UNSET) snprintf(text, sizeof text, "%lld", (long long)value);
        hop_text_printf(out, "  %-7s %-10s %6s  %s\n", o == e->ops->options ? "options" : "",
                        hop_option_name(o->option), text, hop_option_help(o->option));
    }
}

static void print_entry(hop_text *out, const entry *e, int64_t tokens)
{
    hop_text_printf(out, "%s\n  %s\n", e->ops->name, e->ops->equation);
    if (e->built)
        print_built(out, e, tokens);
    else
        hop_text_printf(out, "  cannot be built at these sizes: %s\n", e->err.text);
    print_options(out, e);
}

/* One line; what each costs at these sizes is behind its name. */
static void print_line(hop_text *out, const entry *e, int64_t tokens)
{
    (void)tokens;
    hop_text_printf(out, "%-13s %s\n", e->ops->name, e->ops->equation);
}

static int unknown_mixer(const common_args *a)
{
    const char *names[64];
    size_t count = 0;
    for (int i = 0; hop_mixer_at(i) && count < 64; i++) names[count++] = hop_mixer_at(i)->name;
    const char *meant = hop_closest_name(a->operand, names, count);
    return fail(a, EXIT_USAGE, "%.60s: unknown mixer%s%s%s", a->operand,
                meant ? "; did you mean " : "; `hopbound mixers` lists them", meant ? meant : "",
                meant ? "?" : "");
}

static int cmd_mixers(common_args *common)
{
    const mixers_args *a = (const mixers_args *)common;
    if (common->operand && !hop_mixer_find(common->operand)) return unknown_mixer(common);
    hop_json_writer w = {0};
    hop_text out = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "d_model", a->d_model.integer);
    hop_json_integer(&w, "heads", a->heads.integer);
    hop_json_integer(&w, "head_dim", a->head_dim.integer);
    hop_json_integer(&w, "tokens", a->tokens.integer);
    hop_json_key(&w, "mixers");
    hop_json_begin_array(&w);
    for (int i = 0; hop_mixer_at(i); i++) {
        entry e;
        if (common->operand && hop_mixer_at(i) != hop_mixer_find(common->operand)) continue;
        entry_make(&e, hop_mixer_at(i), a);
        write_entry(&w, &e);
        (common->operand ? print_entry : print_line)(&out, &e, a->tokens.integer);
    }
    if (!common->operand) hop_text_add(&out, "`hopbound mixers NAME`: its weights, state and options.\n");
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    int code = common->json.flag ? print_json(common, &w) : print_text(common, &out);
    hop_text_free(&w.text);
    hop_text_free(&out);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound mixers",
     "What a pattern may name, a line each."},
    {"hopbound mixers gdn --d-model 1024 --heads 16",
     "What one costs at these sizes, and its options."},
    {"hopbound mixers --d-model 1024 --heads 16 --head-dim 64 --json",
     "The same at another size, for scripts."},
    {0},
};
const verb verb_mixers = {
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
    .args_size = sizeof(mixers_args),
    .run = cmd_mixers,
};
/* clang-format on */
