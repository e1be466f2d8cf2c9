/* Bounds for every input: which task's analysis speaks, and what a verdict by bounds covers. */
#include "analyse.h"

#include <hopbound/layers.h>
#include <hopbound/words.h>
#include <math.h>
#include <stdio.h>

const char *const hop_verdict_words[] = {"proved", "refuted", "undecided", NULL};

const char *hop_verdict_name(hop_verdict v)
{
    return hop_verdict_words[v];
}

void hop_proof_free(hop_proof *p)
{
    hop_free(p->margins);
    hop_free(p->counterexample);
    *p = (hop_proof){0};
}

static bool finite_weights(const hop_model *m, char *why, size_t size)
{
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        int64_t n = w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
        for (int64_t k = 0; k < n; k++) {
            if (isfinite(w->data[k])) continue;
            snprintf(why, size, "tensor %s has a number that is not finite", w->name);
            return false;
        }
    }
    return true;
}

/* The first operation of a layer that no transfer function here follows; NULL: all are. */
static const char *beyond(const hop_list *l)
{
    for (int i = 0; i < l->op_count; i++)
        if (l->op[i].kind == HOP_OP_ROPE && l->op[i].par[0] >= 0)
            return "a rotation by frequencies of its own";
    return NULL;
}

static bool all_followed(const hop_model *m, char *why, size_t size)
{
    const hop_pattern *p = &hop_model_config(m)->pattern;
    const char *what = NULL;
    for (int64_t i = 0; i < p->layers && !what; i++) {
        hop_list list;
        const hop_mixer_config c = hop_model_mixer_config(m, i);
        hop_mixer_list(&list, hop_mixer_find(hop_pattern_mixer(p, i)), &c);
        what = beyond(&list);
        if (what) snprintf(why, size, "layer %lld: %s is not followed", (long long)i, what);
    }
    return !what;
}

hop_status hop_prove_bounds(hop_proof *p, hop_bounds_said *said, const hop_model *m, const hop_task *task,
                            int64_t generates, const hop_prove_options *o, hop_error *err)
{
    hop__analyse_fn *fn = task->kind == HOP_TASK_FUNCCOMP ? hop__analyse_funccomp
                          : task->kind == HOP_TASK_TWOSUM ? hop__analyse_twosum
                                                          : NULL;
    *said = (hop_bounds_said){.proved = false};
    if (o->bits && (task->kind != HOP_TASK_FUNCCOMP || o->bits < 3))
        snprintf(p->why, sizeof p->why, "%s with %d bits is decided by enumeration only",
                 hop_task_name(task->kind), o->bits);
    else if (!fn)
        snprintf(p->why, sizeof p->why, "nothing is known of the task %s but by enumeration",
                 hop_task_name(task->kind));
    else if (hop_model_config(m)->seeded)
        snprintf(p->why, sizeof p->why, "the layers' weights are drawn from a seed, not stored");
    else if (finite_weights(m, p->why, sizeof p->why) && all_followed(m, p->why, sizeof p->why))
        return fn(p, said, m, task, generates, o, err);
    return HOP_OK;
}
