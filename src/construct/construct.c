/* The kinds by name. */
#include "construct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef hop_status construct_fn(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                hop_error *err);

static const struct kind {
    const char *id, *summary;
    construct_fn *construct;
} kinds[] = {
#define KIND(id, summary) {#id, summary, hop__construct_##id},
    HOP_CONSTRUCT_LIST(KIND)
#undef KIND
};
#define KIND_COUNT (sizeof kinds / sizeof *kinds)

/* C names have underscores where users write dashes. */
static bool same_name(const char *id, const char *name)
{
    for (; *id && *name; id++, name++)
        if (*id != *name && !(*id == '_' && *name == '-')) return false;
    return *id == *name;
}

static const struct kind *find(const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (same_name(kinds[i].id, name)) return &kinds[i];
    return NULL;
}

const char *const *hop_construct_kinds(void)
{
    static const char *const names[] = {"full",    "hybrid",       "linear",         "cot",
                                        "encoder", "two-sum-full", "two-sum-sparse", NULL};
    return names;
}

const char *hop_construct_summary(const char *kind)
{
    const struct kind *k = find(kind);
    return k ? k->summary : NULL;
}

hop_status hop_construct(hop_model **out, const char *kind, const hop_task *task,
                         const hop_construct_options *o, hop_error *err)
{
    static const hop_construct_options none;
    const struct kind *k = find(kind);
    *out = NULL;
    if (!k) return hop_fail(err, HOP_EUNKNOWN, "%.60s: unknown kind", kind);
    hop_task_kind wanted = strncmp(kind, "two-sum", 7) == 0 ? HOP_TASK_TWOSUM : HOP_TASK_FUNCCOMP;
    if (task->kind != wanted)
        return hop_fail(err, HOP_EDOMAIN, "%s: is for the task %s", kind, hop_task_name(wanted));
    return k->construct(out, task, o ? o : &none, err);
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
