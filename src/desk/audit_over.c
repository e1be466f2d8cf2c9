/* Hops against length: models, each read once and looked at as often as there are lengths. */
#include <stdlib.h>
#include <string.h>
#include "audit.h"
#include "like.h"

#define USUAL "32k..16M" /* of a page */

typedef struct models {
    model_view *at;
    over_subject *subjects;
    const char **refused;
    int count, refused_count;
} models;

static hop_status add_model(models *m, hop_keep *k, const audit_file *f, const hop_audit_options *o,
                            hop_error *err)
{
    model_view *to = &m->at[m->count];
    hop_error why = {0};
    hop_status s = hop_audit_read(&to->audit, f->path, o, &why);
    if (hop__audit_is_stray(f, s)) {
        m->refused[m->refused_count++] = hop_keep_text(k, why.text);
        return HOP_OK;
    }
    if (s != HOP_OK && err) *err = why;
    if (s != HOP_OK) return s;
    to->options = o;
    m->subjects[m->count++] = (over_subject){.name = hop__audit_name(k, f->path),
                                             .plan = hop__audit_plan(k, to->audit.plan.pattern),
                                             .path = f->path,
                                             .look = hop__model_look,
                                             .of = to};
    return HOP_OK;
}

static hop_status read_models(models *m, hop_keep *k, const audit_args *a, const hop_audit_options *o,
                              hop_error *err)
{
    audit_files files;
    hop_status s = hop__audit_files(&files, k, &a->ask.operands, err);
    if (s != HOP_OK) return s;
    m->at = hop_keep_bytes(k, (size_t)files.count + 1, sizeof *m->at);
    m->subjects = hop_keep_bytes(k, (size_t)files.count + 1, sizeof *m->subjects);
    m->refused = hop_keep_bytes(k, (size_t)files.count + 1, sizeof *m->refused);
    if (k->failed) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; s == HOP_OK && i < files.count; i++) s = add_model(m, k, &files.at[i], o, err);
    return s;
}

hop_status hop__audit_over(hop_response *out, const audit_args *a, const hop_audit_options *o, hop_error *err)
{
    models m = {0};
    over_question q = {.picture = a->picture.text, .progress = o->progress};
    hop_status s = hop__over_lengths(&q.lengths, a->over.text ? a->over.text : USUAL, 0, err);
    if (s == HOP_OK) s = read_models(&m, &out->memory, a, o, err);
    q.subjects = m.subjects, q.count = m.count;
    if (s == HOP_OK) s = hop__over(out, &q, err);
    if (s == HOP_OK) {
        hop_over_answer *answer = (hop_over_answer *)(uintptr_t)out->data;
        answer->refused = (hop_texts){m.refused, m.refused_count};
    }
    for (int i = 0; i < m.count; i++) hop__model_view_free(&m.at[i]);
    return s;
}
