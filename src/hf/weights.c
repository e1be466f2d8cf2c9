/* Numbers in a model's matrices, layer by layer, by the row `weights` that a family names: all, and those that one token passes. */
#include "room.h"

#include <string.h>

#define MOST_WEIGHTS ((int64_t)1 << 50) /* of a layer; more is a mistake */

/* Queries, keys, values and output. */
static int64_t of_attention(hop__hf *r, const hop_hf_layer *l)
{
    const hop_hf_plan *p = r->plan;
    const hop_hf_attention *a = strchr("Sh", l->letter) && p->sliding.kind[0] ? &p->sliding : &p->attention;
    int64_t queries = a->heads * a->qk_dim * (1 + hop__hf_out(r, "gate", 0));
    int64_t keys = (l->borrows_cache ? 0 : a->kv_heads) * (a->qk_dim + a->v_dim);
    return hop__hf_out(r, "attend", p->hidden * (queries + keys + a->heads * a->v_dim));
}

/* Of one layer: all numbers, and those that a token passes. */
static void of_layer(hop__hf *r, hop__span name, int64_t i, int64_t *all, int64_t *active)
{
    const hop_hf_layer *l = &r->plan->layers[i];
    bool attends = strchr("FSHhC", l->letter) != NULL, recurs = strchr("LHh", l->letter) != NULL;
    r->var_count = 0;
    r->layer = i;
    hop__hf_run(r, "weights", name);
    int64_t mixer = (attends ? of_attention(r, l) : 0) + (recurs ? r->plan->linear.weight_elems : 0);
    bool mixes = attends || recurs, block = !mixes || !hop__hf_out(r, "alone", 0);
    int64_t mlp = block ? hop__hf_out(r, "mlp", 0) : 0;
    *all = mixer + mlp;
    *active = mixer + (block ? hop__hf_out(r, "active", mlp) : 0);
    if ((recurs && !r->plan->linear.weight_elems) || *all < 0 || *all > MOST_WEIGHTS ||
        (attends && mixer < 1))
        r->status = HOP_EUNKNOWN;
}

/* What is read for this alone is no fact about layers: it is in no list of the plan, and nothing fails for it. */
void hop__hf_weights(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    hop__hf own = *r;
    hop__span name;
    int declared = p->declared_count, assumed = p->assumed_count;
    int64_t all = 0, active = 0, tables = p->vocabulary * p->hidden;
    if (!hop__hf_fact(r, "weights", &name) || tables < 1 || p->loops > 1 || p->tied) return;
    own.err = NULL;
    for (int64_t i = 0; i < p->count && own.status == HOP_OK; i++) {
        int64_t one, passed;
        of_layer(&own, name, i, &one, &passed);
        all += one, active += passed;
    }
    bool tied = hop__hf_out(&own, "tied", 0) != 0;
    p->declared_count = declared, p->assumed_count = assumed;
    if (own.status != HOP_OK || all > MOST_WEIGHTS) return;
    p->parameters = all + tables * (tied ? 1 : 2);
    p->active_parameters = active + tables * (tied ? 1 : 2);
}
