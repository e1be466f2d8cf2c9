/* hopbound damage: a copy of a network with some weights changed, and which. */
#include "cli.h"


#define MOST_CHANGES 10000

typedef struct damage_args {
    common_args common;
    hop_opt_value output, flip, layer;
} damage_args;

/* clang-format off */
#define AT(member) offsetof(damage_args, member)
static const hop_opt OPTIONS[] = {
    {"output", 'o', HOP_OPT_TEXT, AT(output), "OUT", .required = true, .use = HOP_OPT_WRITES,
     .help = "directory for the damaged network, not DIR itself"},
    {"flip", 'k', HOP_OPT_INT, AT(flip), "K", "1", 1, MOST_CHANGES,
     .help = "weights to change: a weight changes its sign, a zero becomes its tensor's largest magnitude, or 1"},
    {"layer", 'l', HOP_OPT_INT, AT(layer), "L", NULL, 0, INT64_MAX, .initial_help = "any, and the tables",
     .help = "only weights of this layer, from 0 on"},
    {0},
};
/* clang-format on */

static int report_json(const damage_args *a, const hop_change *list, int64_t count)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_key(&w, "changed");
    hop_json_begin_array(&w);
    for (int64_t i = 0; i < count; i++) {
        hop_json_begin_object(&w);
        hop_json_string(&w, "tensor", list[i].tensor);
        hop_json_integer(&w, "index", list[i].index);
        hop_json_number(&w, "from", list[i].from);
        hop_json_number(&w, "to", list[i].to);
        hop_json_end_object(&w);
    }
    hop_json_end_array(&w);
    hop_json_string(&w, "dir", a->output.text);
    hop_json_end_object(&w);
    return print_json(&a->common, &w);
}

static int report_text(const damage_args *a, const hop_change *list, int64_t count)
{
    hop_text out = {0};
    hop_text_name(&out, a->output.text);
    hop_text_printf(&out, ": %lld weight%s changed\n", (long long)count,
                    count == 1 ? "" : "s");
    for (int64_t i = 0; i < count; i++)
        hop_text_printf(&out, "  %s[%lld]: %.9g, was %.9g\n", list[i].tensor, (long long)list[i].index,
                        (double)list[i].to, (double)list[i].from);
    return print_text(&a->common, &out);
}

static int damage(const damage_args *a, hop_model *m, hop_change *list)
{
    hop_error err = {0};
    int64_t count = a->flip.integer, layer = a->layer.given ? a->layer.integer : -1;
    if (hop_damage(m, layer, (uint64_t)a->common.seed.integer, list, count, &err) != HOP_OK)
        return fail_given(&a->common, a->layer.given ? "--layer or --flip: " : "--flip: ", &err, "");
    if (save_network(m, a->output.text, &err) != HOP_OK) return fail_error(&a->common, &err);
    return (a->common.json.flag ? report_json : report_text)(a, list, count);
}

static int cmd_damage(common_args *common)
{
    const damage_args *a = (const damage_args *)common;
    hop_error err = {0};
    hop_model *m = NULL;
    if (hop_model_open(&m, common->operand, &err) != HOP_OK) return fail_error(common, &err);
    hop_change *list = hop_alloc(sizeof *list * (size_t)a->flip.integer);
    int code = list ? damage(a, m, list) : fail(common, EXIT_FAILED, "out of memory");
    hop_free(list);
    hop_model_free(m);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound damage net -o damaged --layer 1", "Changes one weight of layer 1; then ask `prove damaged` and `refute damaged`."},
    {0},
};
const verb verb_damage = {
    .name = "damage",
    .summary = "writes a copy of a network with some weights changed, and says which",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "Chooses a tensor and then one of its weights, each equally likely, K times, and never one twice. The same seed "
        "changes the same weights. Not every damage harms: `prove` tells, and `refute` finds the input where it does.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(damage_args),
    .run = cmd_damage,
};
/* clang-format on */
