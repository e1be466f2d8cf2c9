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

/* Multipliers so large, or so near 0, that what their class forms on the way could leave float32's range. */
static bool multipliers_followed(const hop_model *m, char *why, size_t size)
{
    for (int64_t i = 0; i < hop_model_config(m)->pattern.layers; i++)
        if (hop_model_mixer_config(m, i).foreign[HOP_FOREIGN_units] > HOP_FOREIGN_UNITS) {
            snprintf(why, size, "multipliers that are not between 2^-20 and 2^20 are not followed");
            return false;
        }
    return true;
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
    else if (finite_weights(m, p->why, sizeof p->why) && multipliers_followed(m, p->why, sizeof p->why))
        return fn(p, said, m, task, generates, o, err);
    return HOP_OK;
}
