/* Networks of ours as other people's classes read them: the table by which they are imported, read backwards. */
#include <hopbound/export.h>

#include <stdio.h>
#include <string.h>

#include "network.h"

#define MOST_TEXTS 8

/* One of their tensors. */
typedef struct theirs {
    const char *name;
    int64_t rows, cols, covered; /* covered: rows that some of ours goes to */
    bool vector;
    const float *data; /* ours, as it is; NULL: `made` */
    float *made;
} theirs;

typedef struct export
{
    const hop_model *m;
    const hop_hf_network *n;
    theirs *list;
    int64_t count;
}
export;

static int64_t columns(const hop_weight *w)
{
    return w->rank == 2 ? w->shape[1] : 1;
}

/* The same of the parts that stand beside each other. */
static int64_t part_columns(const hop_hf_tensor *t, const hop_weight *w)
{
    return columns(w) / t->beside;
}

hop_status hop_model_give(hop_model *m, const hop_hf_network *n, hop_error *err)
{
    for (int64_t i = 0; i < n->tensor_count; i++) {
        const hop_hf_tensor *t = &n->tensors[i];
        const hop_weight *w = t->count ? NULL : hop_model_weight(m, t->ours);
        if (t->count) continue;
        const int64_t floats = w ? w->shape[0] * columns(w) : -1;
        if (floats < 0 || (t->given && t->given_count != floats))
            return hop_fail(err, HOP_ESHAPE, "%s: the network has no such tensor", t->ours);
        for (int64_t k = 0; k < floats; k++) w->data[k] = t->given ? t->given[k] : t->fill;
    }
    return HOP_OK;
}

/* ---- which tensors, and how large ---------------------------------------------------------------- */

static theirs *find(const export *x, const char *name)
{
    for (int64_t i = x->count; i > 0; i--) /* pieces of one follow one another */
        if (strcmp(x->list[i - 1].name, name) == 0) return &x->list[i - 1];
    return NULL;
}

/* Rows of ours that come from a piece: pieces of whole tensors are alike, others share the rows by how many of each they
 * take; -1: it cannot be told. */
static int64_t share(const export *x, const hop_hf_tensor *t, const hop_weight *w, const hop_hf_piece *p)
{
    const int64_t rows = w->shape[0] * t->beside;
    int64_t all = 0, whole = 0;
    for (int64_t i = 0; i < t->count; i++) {
        const hop_hf_piece *q = &x->n->pieces[t->first + i];
        all += q->every ? q->take : 1;
        whole += q->every == 0;
    }
    if ((whole != 0 && whole != t->count) || rows % all != 0) return -1;
    return rows / all * (p->every ? p->take : 1);
}

static hop_status measure(export *x, const hop_hf_tensor *t, hop_error *err)
{
    const hop_weight *w = hop_model_weight(x->m, t->ours);
    if (!w) return hop_fail(err, HOP_EFORMAT, "%s: the network has no such tensor", t->ours);
    const int64_t cols = part_columns(t, w);
    for (int64_t i = 0; i < t->count; i++) {
        const hop_hf_piece *p = &x->n->pieces[t->first + i];
        const int64_t taken = share(x, t, w, p);
        if (taken < 0 || p->times == 0)
            return hop_fail(err, HOP_EDOMAIN, "tensor \"%s\": cannot be written", p->theirs);
        const bool same = t->count == 1 && t->beside == 1 && !p->every && p->plus == 0 && p->times == 1;
        const theirs one = {.name = p->theirs,
                            .rows = p->every ? taken / p->take * p->every : taken,
                            .cols = cols,
                            .vector = w->rank == 1,
                            .data = same ? w->data : NULL};
        theirs *seen = find(x, p->theirs);
        if (!seen) (seen = &x->list[x->count++])[0] = one;
        seen->covered += taken;
        if (seen->covered > seen->rows)
            return hop_fail(err, HOP_EDOMAIN, "tensor \"%s\": cannot be written: two of ours come from it",
                            p->theirs);
        if (seen->rows != one.rows || seen->cols != one.cols)
            return hop_fail(err, HOP_EDOMAIN, "tensor \"%s\": cannot be written: its parts differ",
                            p->theirs);
    }
    return HOP_OK;
}

/* ---- their numbers ------------------------------------------------------------------------------- */

static void fill(const export *x, const hop_hf_tensor *t)
{
    const hop_weight *w = hop_model_weight(x->m, t->ours);
    const int64_t cols = part_columns(t, w), high = w->shape[0];
    int64_t at = 0; /* of our rows, those of one part after the other */
    for (int64_t i = 0; i < t->count; i++) {
        const hop_hf_piece *p = &x->n->pieces[t->first + i];
        const theirs *to = find(x, p->theirs);
        const int64_t taken = share(x, t, w, p), take = p->every ? p->take : taken;
        if (to->data) continue;
        for (int64_t row = p->at, left = taken; left > 0; left -= take, row += p->every)
            for (int64_t r = 0; r < take; r++, at++) {
                const float *from = w->data + (at % high * t->beside + at / high) * cols;
                for (int64_t k = 0; k < cols; k++)
                    to->made[(row + r) * cols + k] = (float)((double)from[k] / p->times - p->plus);
            }
    }
}

/* Kernels of depthwise convolutions have a dimension of one channel between. */
static hop_tensor_out as_written(const theirs *t)
{
    hop_tensor_out out = {.name = t->name, .rank = t->vector ? 1 : 2, .data = t->data ? t->data : t->made};
    out.shape[0] = t->rows, out.shape[1] = t->cols;
    const char *dot = strstr(t->name, "conv1d.weight");
    if (!dot) dot = strstr(t->name, "conv.conv.weight");
    if (dot) out.rank = 3, out.shape[1] = 1, out.shape[2] = t->cols;
    return out;
}

static hop_status make(export *x, hop_error *err)
{
    hop_status s = HOP_OK;
    x->list = hop_alloc(sizeof *x->list * (size_t)(x->n->piece_count + 1));
    if (!x->list) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < x->n->tensor_count && s == HOP_OK; i++) s = measure(x, &x->n->tensors[i], err);
    for (int64_t i = 0; i < x->count && s == HOP_OK; i++) {
        theirs *t = &x->list[i];
        if (t->data) continue;
        t->made = hop_alloc(sizeof(float) * (size_t)(t->rows * t->cols));
        if (!t->made) s = hop_fail(err, HOP_ENOMEM, "tensor \"%s\": out of memory", t->name);
    }
    for (int64_t i = 0; i < x->n->tensor_count && s == HOP_OK; i++) fill(x, &x->n->tensors[i]);
    return s;
}

/* ---- the directory ------------------------------------------------------------------------------- */

static hop_status begin_weights(const export *x, hop_output *out, const char *dir, hop_error *err)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    char path[4096];
    hop_status s = hop_path_join(path, sizeof path, dir, "model.safetensors", err);
    if (s != HOP_OK) return s;
    hop_tensor_out *list = hop_alloc(sizeof *list * (size_t)(x->count + 1));
    if (!list) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    for (int64_t i = 0; i < x->count; i++) list[i] = as_written(&x->list[i]);
    s = hop__safetensors_begin(out, path, list, x->count, metadata, err);
    hop_free(list);
    return s;
}

static hop_status begin_text(hop_output *out, const char *dir, const hop_export_file *f, hop_error *err)
{
    char path[4096];
    hop_status s = hop_path_join(path, sizeof path, dir, f->name, err);
    if (s == HOP_OK) s = hop_output_open(out, path, err);
    if (s == HOP_OK) hop_output_write(out, f->text, strlen(f->text));
    return s;
}

hop_status hop_model_export(const hop_model *m, const hop_hf_network *n, const char *dir,
                            const hop_export_file *texts, int count, hop_error *err)
{
    export x = {.m = m, .n = n};
    hop_output files[1 + MOST_TEXTS] = {0};
    bool new = !hop_is_dir(dir);
    if (count > MOST_TEXTS) return hop_fail(err, HOP_ERANGE, "%s: too many files", dir);
    hop_status s = make(&x, err);
    if (s == HOP_OK) s = hop_make_dir(dir, err);
    if (s == HOP_OK) s = begin_weights(&x, &files[0], dir, err);
    for (int i = 0; i < count && s == HOP_OK; i++) s = begin_text(&files[1 + i], dir, &texts[i], err);
    if (s == HOP_OK) s = hop_output_commit_all(files, 1 + count, err);
    for (int i = 0; i < 1 + count; i++) hop_output_abort(&files[i]);
    for (int64_t i = 0; i < x.count; i++) hop_free(x.list[i].made);
    hop_free(x.list);
    if (s != HOP_OK && new) remove(dir);
    return s;
}
