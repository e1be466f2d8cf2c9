/* Plans from the layers of a model: an audit whose layers stand in another order, so that what audit says of the model
 * itself, and what is said of a plan like it, come from the same lines. */
#include "like.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- at a length ----------------------------------------------------------------------------- */

hop_status hop__model_look(over_view *v, void *of, int64_t n, hop_error *err)
{
    model_view *m = of;
    m->audit.n = n;
    hop_audit_seen_free(&m->seen);
    hop_status s = hop_audit_layers(&m->seen, &m->audit, m->options, err);
    if (s != HOP_OK) return s;
    int64_t total = hop_audit_total_bytes(&m->audit, n), states = hop_audit_all_states(&m->audit);
    *v = (over_view){.arch = m->seen.arch,
                     .full = m->seen.full,
                     .stage = m->seen.counts[HOP_AUDIT_COVERED],
                     .tied = m->audit.plan.tied,
                     .uncovered = hop_audit_uncovered(&m->audit, &m->seen),
                     .kv_bytes = hop_known(total - states, total >= 0),
                     .state_bytes = states};
    return HOP_OK;
}

void hop__model_view_free(model_view *v)
{
    hop_audit_seen_free(&v->seen);
    if (v->lent) {
        free(v->audit.layers);
        free(v->audit.plan.pattern);
    } else {
        hop_audit_free(&v->audit);
    }
    *v = (model_view){0};
}

/* ---- the model ------------------------------------------------------------------------------- */

static const hop_audit_layer *first(const hop_audit *u, const char *letters)
{
    for (; *letters; letters++)
        for (int64_t i = 0; i < u->plan.count; i++)
            if (u->layers[i].letter == *letters && !u->layers[i].borrows &&
                (*letters != 'S' || (u->layers[i].window && !u->layers[i].sparse)))
                return &u->layers[i];
    return NULL;
}

/* The kind of its recurrence, if patterns can spell it. */
static void name_linear(like_model *m)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *kind = m->own.audit.plan.linear.kind;
    bool plain = *kind >= 'a' && *kind <= 'z' && strspn(kind, letters) == strlen(kind);
    strcpy(m->mixer, m->linear == m->window && m->window ? "window" : plain ? kind : "linear");
}

hop_status hop__like_open(like_model *m, const char *path, int64_t bits, hop_error *err)
{
    *m = (like_model){.options = {.bits = bits}};
    m->own.options = &m->options;
    hop_status s = hop_audit_read(&m->own.audit, path, &m->options, err);
    if (s != HOP_OK) return s;
    m->full = first(&m->own.audit, "FH");
    m->window = first(&m->own.audit, "S");
    m->linear = first(&m->own.audit, "LhS");
    name_linear(m);
    return HOP_OK;
}

void hop__like_close(like_model *m)
{
    hop__model_view_free(&m->own);
    *m = (like_model){0};
}

hop_status hop__like_alone(const like_other *others, hop_error *err)
{
    for (; others->name; others++)
        if (others->value->given)
            return hop_fail(err, HOP_EUSAGE, "--%s: not with --like, whose model has its own", others->name);
    return HOP_OK;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const hop_audit_layer *called(const like_model *m, const char *name)
{
    return strcmp(name, m->mixer) == 0   ? m->linear
           : strcmp(name, "full") == 0   ? m->full
           : strcmp(name, "window") == 0 ? m->window
                                         : NULL;
}

hop_status hop__like_pattern(model_view *out, const like_model *m, const hop_pattern *p, hop_error *err)
{
    const hop_audit *own = &m->own.audit;
    *out = (model_view){.audit = *own, .options = &m->options, .lent = true};
    hop_audit *u = &out->audit;
    u->layers = NULL, u->plan.layers = NULL, u->plan.pattern = NULL, u->own_known = false;
    if (own->plan.tied)
        return hop_fail(err, HOP_EUSAGE,
                        "--like: layers of %.60s share their weights: plans of them are not read",
                        own->plan.model_type);
    for (int64_t i = 0; i < p->run_count; i++)
        if (!called(m, p->runs[i].mixer))
            return hop_fail(err, HOP_EUSAGE, "--like: %.60s has no %s layer%s%s%s", own->plan.model_type,
                            p->runs[i].mixer, m->full ? "; it has full" : "",
                            m->linear ? m->full ? " and " : "; it has " : "", m->linear ? m->mixer : "");
    u->plan.count = p->layers;
    u->layers = calloc((size_t)p->layers, sizeof *u->layers);
    u->plan.pattern = calloc((size_t)p->layers + 1, 1);
    if (!u->layers || !u->plan.pattern) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0, at = 0; i < p->run_count; i++)
        for (int64_t k = 0; k < p->runs[i].count; k++, at++) {
            u->layers[at] = *called(m, p->runs[i].mixer);
            u->plan.pattern[at] = u->layers[at].letter;
        }
    return HOP_OK;
}

hop_status hop__like_take(hop_arch *arch, const model_view *v, hop_error *err)
{
    size_t size = (size_t)v->seen.arch.count * sizeof *arch->layers;
    hop_arch_layer *layers = hop_alloc(size ? size : 1);
    if (!layers) return hop_fail(err, HOP_ENOMEM, "out of memory");
    memcpy(layers, v->seen.arch.layers, size);
    *arch = v->seen.arch;
    arch->layers = layers;
    return HOP_OK;
}

static hop_status make(hop_arch *arch, hop_plan_cost *cost, const void *of, const hop_pattern *p, int64_t n,
                       hop_error *err)
{
    model_view v;
    over_view seen;
    hop_status s = hop__like_pattern(&v, of, p, err);
    if (s == HOP_OK) s = hop__model_look(&seen, &v, n, err);
    if (s == HOP_OK)
        *cost = (hop_plan_cost){.kv_bytes = (double)seen.kv_bytes,
                                .state_bytes = (double)seen.state_bytes,
                                .flops_per_token = INFINITY};
    if (s == HOP_OK) s = hop__like_take(arch, &v, err);
    hop__model_view_free(&v);
    return s;
}

hop_plan_layers hop__like_layers(const like_model *m)
{
    return (hop_plan_layers){.full = m->full != NULL,
                             .linear = m->linear != NULL,
                             .spread = m->linear && m->own.audit.plan.linear.key_rows > 0 && m->linear->state,
                             .make = make,
                             .of = m};
}
