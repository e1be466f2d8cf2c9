/* hopbound mixers: the registry, for people and for scripts. */
#include "cli.h"

typedef struct mixers_args {
    common_args common;
    opt_value d_model, heads, head_dim, tokens;
} mixers_args;

static const opt OPTIONS[] = {
    {.name = "d-model",
     .kind = OPT_INT,
     .at = offsetof(mixers_args, d_model),
     .initial = "64",
     .min = 1,
     .max = 1 << 20,
     .metavar = "N",
     .help = "width of the residual stream"},
    {.name = "heads",
     .kind = OPT_INT,
     .at = offsetof(mixers_args, heads),
     .initial = "1",
     .min = 1,
     .max = 1 << 16,
     .metavar = "H",
     .help = "heads"},
    {.name = "head-dim",
     .kind = OPT_INT,
     .at = offsetof(mixers_args, head_dim),
     .initial = "64",
     .min = 1,
     .max = 1 << 16,
     .metavar = "D",
     .help = "numbers in a head's key"},
    {.name = "tokens",
     .kind = OPT_INT,
     .at = offsetof(mixers_args, tokens),
     .initial = "1024",
     .min = 1,
     .max = (int64_t)1 << 31,
     .metavar = "T",
     .help = "give the state's size after that many tokens"},
    {.name = NULL},
};

static int64_t param_elements(const hop_param *p)
{
    return p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
}

static void write_mixer(hop_json_writer *w, const hop_mixer_ops *ops, const hop_mixer_config *c,
                        int64_t tokens)
{
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count = ops->params(c, params);
    int64_t total = 0;
    hop_json_begin_object(w);
    hop_json_string(w, "name", ops->name);
    hop_json_string(w, "equation", ops->equation);
    hop_json_boolean(w, "recurrent", ops->recurrent);
    hop_json_key(w, "tensors");
    hop_json_begin_array(w);
    for (int i = 0; i < count; i++) {
        total += param_elements(&params[i]);
        hop_json_begin_object(w);
        hop_json_string(w, "name", params[i].name);
        hop_json_key(w, "shape");
        hop_json_begin_array(w);
        for (int r = 0; r < 2 && params[i].shape[r]; r++) hop_json_put_int(w, params[i].shape[r]);
        hop_json_end_array(w);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
    hop_json_integer(w, "parameters", total);
    hop_json_integer(w, "state_floats", ops->state_floats(c, tokens));
    hop_json_end_object(w);
}

static void print_mixer(hop_text *out, const hop_mixer_ops *ops, const hop_mixer_config *c, int64_t tokens)
{
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count = ops->params(c, params);
    int64_t total = 0;
    hop_text_printf(out, "%s\n  %s\n  weights", ops->name, ops->equation);
    for (int i = 0; i < count; i++) {
        total += param_elements(&params[i]);
        hop_text_printf(out, " %s[%lld", params[i].name, (long long)params[i].shape[0]);
        if (params[i].shape[1]) hop_text_printf(out, ",%lld", (long long)params[i].shape[1]);
        hop_text_add(out, "]");
    }
    hop_text_printf(out, ", %lld numbers\n  state   %lld numbers after %lld tokens, %s\n", (long long)total,
                    (long long)ops->state_floats(c, tokens), (long long)tokens,
                    ops->recurrent ? "whatever their number" : "growing with them");
}

static int cmd_mixers(common_args *common)
{
    const mixers_args *a = (const mixers_args *)common;
    const hop_mixer_config c = {.d_model = a->d_model.integer,
                                .heads = a->heads.integer,
                                .kv_heads = a->heads.integer,
                                .head_dim = a->head_dim.integer};
    hop_json_writer w = {0};
    hop_text out = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "d_model", c.d_model);
    hop_json_integer(&w, "heads", c.heads);
    hop_json_integer(&w, "head_dim", c.head_dim);
    hop_json_integer(&w, "tokens", a->tokens.integer);
    hop_json_key(&w, "mixers");
    hop_json_begin_array(&w);
    const hop_mixer_ops *ops;
    for (int i = 0; (ops = hop_mixer_at(i)); i++) {
        write_mixer(&w, ops, &c, a->tokens.integer);
        print_mixer(&out, ops, &c, a->tokens.integer);
    }
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    int code = common->json.flag ? print_json(common, &w) : print_text(common, &out);
    hop_text_free(&w.text);
    hop_text_free(&out);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound mixers",
     "What a pattern may name, and what each costs."},
    {"hopbound mixers --d-model 1024 --heads 16 --head-dim 64 --json",
     "The same at another size, for scripts."},
    {0},
};
const verb verb_mixers = {
    .name = "mixers",
    .summary = "lists the token mixers: their recurrences, parameters and state sizes",
    .description =
        "A mixer is a rule that lets a position use earlier ones. The state is what crosses a cut of "
        "the sequence: it is all that later tokens can know of earlier ones through that layer.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(mixers_args),
    .run = cmd_mixers,
};
/* clang-format on */
