/* The verb damage: a copy of a network with some weights changed, and which. */
#include <hopbound/ask_damage.h>

#include <hopbound/refute.h>
#include "desk.h"

HOP_RECORD_TABLE(hop_damage_change, HOP_DAMAGE_CHANGE, "a weight that was changed")
HOP_RECORD_TABLE(hop_damage_answer, HOP_DAMAGE_ANSWER, "what was changed")

#define MOST_CHANGES 10000

typedef struct damage_args {
    hop_request ask;
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

static hop_status damage(hop_response *response, const damage_args *a, hop_model *m, hop_change *list,
                         hop_error *err)
{
    hop_keep *k = &response->memory;
    int64_t count = a->flip.integer, layer = a->layer.given ? a->layer.integer : -1;
    hop_damage_answer *out = hop_response_begin(response, &hop_damage_answer_record, err);
    hop_damage_change *rows = hop_keep_bytes(k, (size_t)count, sizeof *rows);
    if (!out || !rows) return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (hop_damage(m, layer, (uint64_t)a->ask.seed.integer, list, count, err) != HOP_OK)
        return hop__asked(err, a->layer.given ? "--layer or --flip: " : "--flip: ", "");
    hop_status s = hop_save_network(m, a->output.text, err);
    if (s != HOP_OK) return s;
    for (int64_t i = 0; i < count; i++)
        rows[i] =
            (hop_damage_change){hop_keep_text(k, list[i].tensor), list[i].index, list[i].from, list[i].to};
    out->changed.at = rows;
    out->changed.count = count;
    out->dir = hop_keep_text(k, a->output.text);
    return hop_response_end(response, err);
}

static hop_status ask_damage(hop_response *out, const void *request, hop_error *err)
{
    const damage_args *a = request;
    hop_model *m = NULL;
    hop_status s = hop_model_open(&m, hop_request_operand(&a->ask, 0), err);
    if (s != HOP_OK) return s;
    hop_change *list = hop_alloc(sizeof *list * (size_t)a->flip.integer);
    s = list ? damage(out, a, m, list, err) : hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_free(list);
    hop_model_free(m);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound damage net -o damaged --layer 1", "Changes one weight of layer 1; then ask `prove damaged` and `refute damaged`."},
    {0},
};
const hop_verb hop__verb_damage = {
    .name = "damage",
    .summary = "writes a copy of a network with some weights changed, and says which",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "Chooses a tensor and then one of its weights, each equally likely, K times, and never one twice. The same seed "
        "changes the same weights. Not every damage harms: `prove` tells, and `refute` finds the input where it does.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_damage_answer_record,
    .rows = "changed",
    .request_size = sizeof(damage_args),
    .ask = ask_damage,
};
/* clang-format on */
