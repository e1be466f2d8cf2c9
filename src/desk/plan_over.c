/* Hops against length of plans that are named: layer patterns, or ratios of linear layers to full ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "audit.h"
#include "over.h"
#include "plan.h"

typedef struct named {
    hop_config config;
    hop_arch arch;
    int64_t full;
    hop_plan_at at;
} named;

static hop_status look(over_view *v, void *of, int64_t n, hop_error *err)
{
    named *p = of;
    hop_plan_cost cost = {0};
    hop_status s = HOP_OK;
    p->at.n = n;
    for (int64_t i = 0; s == HOP_OK && i < p->config.pattern.layers; i++)
        s = hop_plan_cost_add(&cost, &p->config, i, &p->at, err);
    *v = (over_view){.arch = p->arch,
                     .full = p->full,
                     .kv_bytes = hop_known((int64_t)cost.kv_bytes, cost.kv_bytes < 0x1p62),
                     .state_bytes = hop_known((int64_t)cost.state_bytes, cost.state_bytes < 0x1p62)};
    for (int64_t i = 0; i < p->arch.count; i++)
        if (p->arch.layers[i].kind == HOP_LAYER_OTHER) v->uncovered = "layers are sparse";
    return s;
}

/* "3:1" of 48 layers is (L^3 F)^12, what is left linear; anything else is a pattern already. */
static hop_status pattern_of(hop_text *out, const char *text, const hop_opt_value *layers, hop_error *err)
{
    char *end = NULL;
    long long linear = strtoll(text, &end, 10), full = *end == ':' ? strtoll(end + 1, &end, 10) : 0;
    bool ratio = *text >= '0' && *text <= '9' && strchr(text, ':') && !*end;
    if (!ratio) {
        hop_text_add(out, text);
        return HOP_OK;
    }
    if (linear < 0 || full < 0 || linear + full < 1 || linear > HOP_PLAN_MAX_LAYERS ||
        full > HOP_PLAN_MAX_LAYERS)
        return hop_fail(err, HOP_EUSAGE, "%.40s: no ratio of linear layers to full ones", text);
    if (!layers->given)
        return hop_fail(err, HOP_EUSAGE, "--layers: missing: %.40s is a ratio, of how many layers?", text);
    int64_t times = layers->integer / (linear + full), left = layers->integer % (linear + full);
    if (times < 1)
        return hop_fail(err, HOP_EUSAGE, "%.40s: takes more than %lld layers", text,
                        (long long)layers->integer);
    hop_text_add(out, "(");
    if (linear) hop_text_printf(out, "L^%lld", linear);
    if (full) hop_text_printf(out, " F^%lld", full);
    hop_text_printf(out, ")^%lld", (long long)times);
    if (left) hop_text_printf(out, " L^%lld", (long long)left);
    return HOP_OK;
}

/* A plan of a model's layers. */
static hop_status read_like(model_view *v, over_subject *subject, hop_keep *k, const plan_args *a,
                            const like_model *m, const char *text, hop_error *err)
{
    hop_text pattern = {0}, printed = {0};
    hop_pattern p = {0};
    hop_status s = pattern_of(&pattern, text, &a->layers, err);
    if (s == HOP_OK) s = hop_pattern_parse(&p, hop_text_in(&pattern, &pattern), m->mixer, err);
    if (s == HOP_OK && p.layers > HOP_PLAN_MAX_LAYERS)
        s = hop_fail(err, HOP_EUSAGE, "%.40s: more than %d layers", text, HOP_PLAN_MAX_LAYERS);
    if (s == HOP_OK) s = hop__like_pattern(v, m, &p, err);
    if (s != HOP_OK) s = hop__asked(err, "", "");
    if (s == HOP_OK) hop_pattern_print(&p, &printed);
    *subject = (over_subject){.name = hop_keep_text(k, text),
                              .plan = hop_keep_grown(k, &printed),
                              .look = hop__model_look,
                              .of = v};
    hop_text_free(&pattern);
    hop_pattern_free(&p);
    return s;
}

/* The model as it stands. */
static hop_status over_itself(hop_response *out, over_question *q, const plan_args *a, const like_model *m,
                              hop_error *err)
{
    model_view own = m->own; /* what is seen at lengths is freed here, what was read by the model */
    over_subject subject = {.name = hop__audit_name(&out->memory, a->like.text),
                            .plan = hop__audit_plan(&out->memory, own.audit.plan.pattern),
                            .path = hop_keep_text(&out->memory, a->like.text),
                            .look = hop__model_look,
                            .of = &own};
    q->subjects = &subject, q->count = 1;
    hop_status s = hop__over(out, q, err);
    hop_audit_seen_free(&own.seen);
    return s;
}

static hop_status over_like(hop_response *out, over_question *q, const plan_args *a, const like_model *m,
                            hop_error *err)
{
    int count = (int)a->ask.operands.count, read = 0;
    hop_status s = HOP_OK;
    if (!count) return over_itself(out, q, a, m, err);
    model_view *plans = hop_keep_bytes(&out->memory, (size_t)count + 1, sizeof *plans);
    if (!plans) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (; s == HOP_OK && read < count; read++)
        s = read_like(&plans[read], &q->subjects[read], &out->memory, a, m, a->ask.operands.at[read], err);
    q->count = read;
    if (s == HOP_OK) s = hop__over(out, q, err);
    for (int i = 0; i < read; i++) hop__model_view_free(&plans[i]);
    return s;
}

static hop_status read_plan(named *p, over_subject *subject, hop_keep *k, const plan_args *a,
                            const char *text, hop_error *err)
{
    hop_text pattern = {0}, printed = {0};
    const hop_arch_options as = {.number_bits = a->bits.integer, .declared = true};
    hop_status s = hop__plan_config(&p->config, a, err);
    if (s == HOP_OK) s = pattern_of(&pattern, text, &a->layers, err);
    if (s == HOP_OK)
        s = hop_pattern_parse(&p->config.pattern, hop_text_in(&pattern, &pattern), a->mixer.text, err);
    if (s == HOP_OK && p->config.pattern.layers > HOP_PLAN_MAX_LAYERS)
        s = hop_fail(err, HOP_EUSAGE, "%.40s: more than %d layers", text, HOP_PLAN_MAX_LAYERS);
    if (s == HOP_OK) s = hop_arch_new(&p->arch, &p->config, &as, err);
    if (s != HOP_OK) s = hop__asked(err, "", s == HOP_EUNKNOWN ? "; `hopbound mixers` lists them" : "");
    if (s == HOP_OK) hop_pattern_print(&p->config.pattern, &printed);
    for (int64_t i = 0; i < p->arch.count; i++)
        if (p->arch.layers[i].kind == HOP_LAYER_FULL) p->full += p->arch.layers[i].repeat;
    p->at = (hop_plan_at){.number_bits = a->bits.integer, .cache_bits = a->cache_bits.integer};
    *subject = (over_subject){
        .name = hop_keep_text(k, text), .plan = hop_keep_grown(k, &printed), .look = look, .of = p};
    hop_text_free(&pattern);
    return s;
}

hop_status hop__plan_over(hop_response *out, const plan_args *a, const like_model *m, hop_error *err)
{
    int count = (int)a->ask.operands.count, read = 0;
    hop_keep *k = &out->memory;
    named *plans = hop_keep_bytes(k, (size_t)count + 1, sizeof *plans);
    over_subject *subjects = hop_keep_bytes(k, (size_t)count + 1, sizeof *subjects);
    over_question q = {.subjects = subjects, .picture = a->picture.text, .progress = &a->ask.progress};
    if (!plans || !subjects) return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (a->fit.text) hop__bytes_read(a->fit.text, &q.budget);
    hop_status s = hop__over_lengths(&q.lengths, a->over.text, a->n.integer, err);
    if (s == HOP_OK && m) return over_like(out, &q, a, m, err);
    for (; s == HOP_OK && read < count; read++)
        s = read_plan(&plans[read], &subjects[read], k, a, a->ask.operands.at[read], err);
    q.count = read;
    if (s == HOP_OK) s = hop__over(out, &q, err);
    for (int i = 0; i < read; i++) {
        hop_arch_free(&plans[i].arch);
        hop_config_free(&plans[i].config);
    }
    return s;
}
