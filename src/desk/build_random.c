/* build random: any pattern, any sizes, weights drawn as the mixers' papers draw them. */
#include "build.h"

#include <string.h>

#define DEFAULT_VOCAB     64
#define DEFAULT_WIDTH     64
#define DEFAULT_POSITIONS 1024

/* The texts that say what the network is for and how it was made; the config owns them. */
static hop_status describe(hop_config *c, const build_args *a, const hop_task *task, hop_error *err)
{
    hop_json_writer for_what = {0}, how = {0};
    hop_json_begin_object(&how);
    hop_json_string(&how, "kind", "random");
    hop_json_integer(&how, "seed", a->ask.seed.integer);
    hop_json_end_object(&how);
    if (task) hop_task_write(task, &for_what);
    c->task_json = for_what.text.s;
    c->construction_json = how.text.s;
    return for_what.text.failed || how.text.failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : HOP_OK;
}

static hop_status configure(hop_config *c, const build_args *a, const hop_task *task, hop_error *err)
{
    hop_status s = hop__build_shape(c, a, NULL, err);
    if (s != HOP_OK) return s;
    if (!a->d_model.given) c->d_model = DEFAULT_WIDTH;
    c->vocab = a->vocab.given ? a->vocab.integer : task ? task->vocab : DEFAULT_VOCAB;
    c->max_positions = a->positions.given ? a->positions.integer : task ? task->length : DEFAULT_POSITIONS;
    c->seeded = a->seeded.flag;
    c->seed = (uint64_t)a->ask.seed.integer;
    c->tie = a->tie.integer;
    return describe(c, a, task, err);
}

hop_status hop__build_random(hop_model **out, const build_args *a, const hop_task *task, hop_error *err)
{
    hop_config c;
    hop_status s = configure(&c, a, task, err);
    if (s == HOP_OK) s = hop_config_validate(&c, err);
    if (s == HOP_OK) s = hop_model_new(out, &c, err);
    if (s == HOP_OK && !hop_model_init_weights(*out, (uint64_t)a->ask.seed.integer, &a->ask.progress))
        s = hop_fail(err, HOP_ESTOPPED, "stopped on request");
    hop_config_free(&c);
    return s;
}
