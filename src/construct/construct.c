/* The kinds by name. */
#include "construct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hop_construct_kind KINDS[] = {
#define KIND(id, name, task, choices, summary) {name, HOP_TASK_##task, choices, summary},
    HOP_CONSTRUCT_LIST(KIND)
#undef KIND
        {0}};

const hop_construct_kind *hop_construct_kinds(void)
{
    return KINDS;
}

hop_status hop_construct(hop_model **out, const char *kind, const hop_task *task,
                         const hop_construct_options *o, hop_error *err)
{
    typedef hop_status construct_fn(hop_model * *out, const hop_task *task, const hop_construct_options *o,
                                    hop_error *err);
    static construct_fn *const functions[] = {
#define FUNCTION(id, name, task, choices, summary) hop__construct_##id,
        HOP_CONSTRUCT_LIST(FUNCTION)
#undef FUNCTION
    };
    static const hop_construct_options none;
    int i = 0;
    *out = NULL;
    while (KINDS[i].name && strcmp(KINDS[i].name, kind) != 0) i++;
    const hop_construct_kind *k = &KINDS[i];
    if (!k->name) return hop_fail(err, HOP_EUNKNOWN, "%.60s: unknown kind", kind);
    if (task->kind != k->task)
        return hop_fail(err, HOP_EDOMAIN, "%s: is for the task %s", kind, hop_task_name(k->task));
    return functions[i](out, task, o ? o : &none, err);
}

hop_status hop__construct_config(hop_config *c, const char *pattern, const hop_task *task,
                                 const char *construction, hop_error *err)
{
    hop_config_init(c);
    hop_status s = hop_pattern_parse(&c->pattern, pattern, "", err);
    if (s != HOP_OK) return s;
    hop_json_writer w = {0};
    hop_task_write(task, &w);
    if (w.text.failed) hop_text_free(&w.text);
    c->task_json = w.text.s; /* plain heap memory: the config owns it now */
    c->construction_json = strdup(construction);
    if (!c->task_json || !c->construction_json) {
        hop_config_free(c);
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    c->vocab = task->vocab;
    c->max_positions = task->length;
    c->position_table = true;
    c->norm = HOP_NORM_NONE;
    c->mlp = HOP_MLP_RELU;
    return HOP_OK;
}
