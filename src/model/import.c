/* Other people's networks: their tensors, in however many files, become ours as the table of the room hf says. Every
 * number of every file is used or named as left alone; what is not understood is refused. */
#include "import.h"

#include <hopbound/hf_network.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILES 4096

typedef struct theirs {
    char name[128]; /* as the table has it */
    const hop_tensor *tensor;
    const hop_hf_join *join; /* of the parts of one: the first of them is `tensor` */
    int64_t elements, used;  /* numbers */
} theirs;

typedef struct import {
    const char *dir;
    hop_hf_network n;
    hop_model *m;
    hop_safetensors *files;
    int64_t file_count, count;
    theirs *list; /* sorted by name */
    float *held;  /* the numbers of one of them */
    const theirs *held_of;
    char *filled; /* by our tensors */
} import;

/* ---- files --------------------------------------------------------------------------------------- */

static hop_status open_file(import *w, const char *name, hop_error *err)
{
    char path[4096];
    hop_status s = hop_path_join(path, sizeof path, w->dir, name, err);
    if (s != HOP_OK) return s;
    if (w->file_count == MOST_FILES) return hop_fail(err, HOP_EFORMAT, "%s: too many files", w->dir);
    s = hop_safetensors_open(&w->files[w->file_count], path, err);
    if (s != HOP_OK) return hop_fail_in(err, s, path);
    w->file_count++;
    return HOP_OK;
}

static hop_status open_shards(import *w, const hop_json *map, const char *index, hop_error *err)
{
    hop_status s = HOP_OK;
    if (!map || map->type != HOP_JSON_OBJECT)
        return hop_fail(err, HOP_EFORMAT, "%s: weight_map: not an object", index);
    for (const hop_json *v = map->child; v && s == HOP_OK; v = v->next) {
        if (v->type != HOP_JSON_STRING || !*v->string || strchr(v->string, '/') || v->string[0] == '.')
            return hop_fail(err, HOP_EFORMAT, "%s: weight_map: \"%.100s\" names no file of this directory",
                            index, v->key);
        const hop_json *u = map->child;
        while (u != v && strcmp(u->string, v->string) != 0) u = u->next;
        if (u == v) s = open_file(w, v->string, err);
    }
    return s;
}

static hop_status open_files(import *w, hop_error *err)
{
    char whole[4096], index[4096];
    hop_json_doc doc = {0};
    w->files = hop_alloc(sizeof *w->files * MOST_FILES);
    if (!w->files) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_status s = hop_path_join(whole, sizeof whole, w->dir, "model.safetensors", err);
    if (s == HOP_OK) s = hop_path_join(index, sizeof index, w->dir, "model.safetensors.index.json", err);
    if (s != HOP_OK) return s;
    if (hop_is_there(whole) || !hop_is_there(index)) return open_file(w, "model.safetensors", err);
    s = hop_json_load(&doc, index, err);
    if (s == HOP_OK) s = open_shards(w, hop_json_get(doc.root, "weight_map"), index, err);
    hop_json_free(&doc);
    return s;
}

/* Numbers of a row, of whatever dimensions. */
static int64_t row_of(const hop_tensor *t)
{
    return t->rank > 0 && t->shape[0] > 0 ? t->elements / t->shape[0] : 1;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const theirs *)a)->name, ((const theirs *)b)->name);
}

static hop_status list_tensors(import *w, hop_error *err)
{
    int64_t total = 0;
    for (int64_t f = 0; f < w->file_count; f++) total += w->files[f].count;
    w->list = hop_alloc(sizeof *w->list * (size_t)(total + w->n.join_count + 1));
    if (!w->list) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t f = 0; f < w->file_count; f++)
        for (int64_t i = 0; i < w->files[f].count; i++) {
            theirs *t = &w->list[w->count++];
            t->tensor = &w->files[f].tensors[i];
            t->elements = t->tensor->elements;
            if (strlen(t->tensor->name) >= sizeof t->name - 48)
                return hop_fail(err, HOP_EFORMAT, "%s: tensor \"%.60s..\": its name is too long", w->dir,
                                t->tensor->name);
            hop_hf_network_name(&w->n, t->name, t->tensor->name);
        }
    qsort(w->list, (size_t)w->count, sizeof *w->list, compare);
    for (int64_t i = 1; i < w->count; i++)
        if (strcmp(w->list[i - 1].name, w->list[i].name) == 0)
            return hop_fail(err, HOP_EFORMAT, "%s: tensor \"%s\": occurs twice", w->dir, w->list[i].name);
    return HOP_OK;
}

static theirs *find(const import *w, const char *name)
{
    theirs key;
    snprintf(key.name, sizeof key.name, "%s", name);
    return bsearch(&key, w->list, (size_t)w->count, sizeof key, compare);
}

/* Tensors whose parts are there, all of them and of one shape but for their rows: these count as used by it. */
static hop_status join_tensors(import *w, hop_error *err)
{
    const int64_t stored = w->count;
    int64_t joined = 0;
    for (int64_t i = 0; i < w->n.join_count; i++) {
        const hop_hf_join *j = &w->n.joins[i];
        theirs one = {.join = j}, *part;
        snprintf(one.name, sizeof one.name, "%s", j->theirs);
        if (find(w, j->theirs) || !find(w, w->n.parts[j->first])) continue;
        for (int64_t p = 0; p < j->count; p++) {
            if (!(part = find(w, w->n.parts[j->first + p])))
                return hop_fail(err, HOP_EFORMAT, "tensor \"%s\" is missing", w->n.parts[j->first + p]);
            if (!one.tensor) one.tensor = part->tensor;
            if (row_of(part->tensor) != row_of(one.tensor))
                return hop_fail(err, HOP_ESHAPE, "tensor \"%s\": its rows are not those of \"%s\"",
                                part->name, w->n.parts[j->first]);
            one.elements += part->elements, part->used = part->elements;
        }
        w->list[stored + joined++] = one;
    }
    w->count += joined;
    qsort(w->list, (size_t)w->count, sizeof *w->list, compare);
    return HOP_OK;
}

/* ---- one tensor ------------------------------------------------------------------------------------ */

/* Rows of `cols` numbers; -1: it is no such matrix. A vector may have dimensions of 1 around it. */
static int64_t rows_of(const theirs *of, int64_t cols)
{
    const hop_tensor *t = of->tensor;
    int64_t trailing = 1, large = 0;
    int at = t->rank;
    for (int i = 0; i < t->rank; i++) large += t->shape[i] != 1;
    if (cols == 1 && large > 1) return -1;
    while (at > 0 && trailing < cols) trailing *= t->shape[--at];
    return trailing == cols && cols > 0 ? of->elements / cols : -1;
}

/* Of each the numbers are read once: pieces of one tensor follow one another. */
static hop_status hold(import *w, const theirs *t, hop_error *err)
{
    if (w->held_of == t) return HOP_OK;
    hop_free(w->held);
    w->held_of = NULL;
    w->held = hop_alloc_raw(sizeof(float) * (size_t)(t->elements + 1));
    if (!w->held) return hop_fail(err, HOP_ENOMEM, "tensor \"%s\": out of memory", t->name);
    hop_status s = t->join ? HOP_OK : hop_tensor_floats(t->tensor, w->held, err);
    float *at = w->held;
    for (int64_t p = 0; t->join && s == HOP_OK && p < t->join->count; p++) {
        const theirs *part = find(w, w->n.parts[t->join->first + p]);
        s = hop_tensor_floats(part->tensor, at, err);
        at += part->elements;
    }
    if (s == HOP_OK) w->held_of = t;
    return s;
}

static hop_status shape_wrong(const theirs *t, const hop_hf_tensor *ours, const hop_weight *to,
                              hop_error *err)
{
    hop_text got = {0};
    for (int i = 0; i < t->tensor->rank; i++)
        hop_text_printf(&got, "%s%lld", i ? ", " : "", (long long)t->tensor->shape[i]);
    hop_status s = hop_fail(err, HOP_ESHAPE, "tensor \"%s\": shape [%s] does not go into %s, [%lld, %lld]",
                            t->name, got.s ? got.s : "", ours->ours, (long long)to->shape[0],
                            (long long)(to->rank == 2 ? to->shape[1] : 1));
    hop_text_free(&got);
    return s;
}

/* Numbers of ours that one row of theirs becomes; rows of ours that there are of these. */
static int64_t cols_of(const hop_hf_tensor *ours, const hop_weight *to)
{
    return to->rank == 2 ? to->shape[1] / ours->beside : 1;
}

static int64_t all_rows(const hop_hf_tensor *ours, const hop_weight *to)
{
    return to->shape[0] * ours->beside;
}

/* Their numbers as ours, unless they are larger than what ours mean the same by. */
static hop_status put_numbers(float *y, const float *x, int64_t count, const hop_hf_piece *p, hop_error *err)
{
    if (p->plus == 0 && p->times == 1 && isinf(p->most)) {
        memcpy(y, x, sizeof *y * (size_t)count);
        return HOP_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        y[i] = (float)((double)(float)((double)x[i] + p->plus) * p->times);
        if (x[i] > p->most)
            return hop_fail(err, HOP_EDOMAIN, "tensor \"%s\": %g is larger than %g", p->theirs, (double)x[i],
                            p->most);
    }
    return HOP_OK;
}

/* Some rows of theirs to rows `at` .. of ours; returns how many by `at`. */
static hop_status put_piece(import *w, const hop_hf_tensor *ours, const hop_hf_piece *p, const hop_weight *to,
                            int64_t *at, hop_error *err)
{
    theirs *t = find(w, p->theirs);
    if (!t) return hop_fail(err, HOP_EFORMAT, "tensor \"%s\" is missing", p->theirs);
    const int64_t cols = cols_of(ours, to), rows = rows_of(t, cols), high = to->shape[0];
    const int64_t every = p->every ? p->every : rows, take = p->every ? p->take : rows;
    if (rows < 0 || (rows > 0 && rows % every != 0) ||
        (every && rows / every * take > all_rows(ours, to) - *at))
        return shape_wrong(t, ours, to, err);
    hop_status s = hold(w, t, err);
    if (s != HOP_OK) return s;
    for (int64_t from = p->at; s == HOP_OK && from < rows; from += every)
        for (int64_t r = 0; s == HOP_OK && r < take; r++, ++*at) {
            float *y = to->data + (*at % high * ours->beside + *at / high) * cols;
            s = put_numbers(y, w->held + (from + r) * cols, cols, p, err);
            t->used += cols;
        }
    return s;
}

static hop_status put_tensor(import *w, const hop_hf_tensor *ours, hop_error *err)
{
    const hop_weight *to = hop_model_weight(w->m, ours->ours);
    if (!to)
        return hop_fail(err, HOP_EFORMAT, "tensor \"%s\": the network has none of that name", ours->ours);
    const int64_t cols = to->rank == 2 ? to->shape[1] : 1, floats = to->shape[0] * cols;
    int64_t at = 0;
    hop_status s = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && i < ours->count; i++)
        s = put_piece(w, ours, &w->n.pieces[ours->first + i], to, &at, err);
    if (s != HOP_OK) return s;
    if (ours->count && at != all_rows(ours, to))
        return hop_fail(err, HOP_ESHAPE, "tensor \"%s\": %lld rows, where %s has %lld",
                        w->n.pieces[ours->first].theirs, (long long)at, ours->ours,
                        (long long)all_rows(ours, to));
    if (ours->given && ours->given_count != floats)
        return hop_fail(err, HOP_ESHAPE, "%s: %lld numbers, not %lld", ours->ours,
                        (long long)ours->given_count, (long long)floats);
    for (int64_t i = 0; !ours->count && i < floats; i++)
        to->data[i] = ours->given ? ours->given[i] : ours->fill;
    w->filled[to - w->m->weights] = 1;
    return HOP_OK;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

static hop_status check_all(const import *w, hop_error *err)
{
    char why[200];
    for (int64_t i = 0; i < hop_model_weight_count(w->m); i++)
        if (!w->filled[i])
            return hop_fail(err, HOP_EFORMAT, "tensor \"%s\": nothing says what it is",
                            hop_model_weight_at(w->m, i)->name);
    for (int64_t i = 0; i < w->count; i++) {
        const theirs *t = &w->list[i];
        if (t->used >= t->elements || hop_hf_network_ignores(&w->n, t->name, why, sizeof why)) continue;
        if (t->used == 0) return hop_fail(err, HOP_EUNKNOWN, "tensor \"%s\": not understood", t->name);
        return hop_fail(err, HOP_EUNKNOWN, "tensor \"%s\": only %lld of its %lld numbers are understood",
                        t->name, (long long)t->used, (long long)t->elements);
    }
    return HOP_OK;
}

static hop_status import_all(import *w, hop_error *err)
{
    hop_status s = hop_model_new(&w->m, &w->n.config, err);
    if (s == HOP_OK) s = open_files(w, err);
    if (s == HOP_OK) s = list_tensors(w, err);
    if (s == HOP_OK) s = join_tensors(w, err);
    if (s != HOP_OK) return s;
    w->filled = hop_alloc((size_t)hop_model_weight_count(w->m));
    if (!w->filled) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; s == HOP_OK && i < w->n.tensor_count; i++) s = put_tensor(w, &w->n.tensors[i], err);
    if (s == HOP_OK) s = check_all(w, err);
    return s == HOP_OK ? s : hop_fail_in(err, s, w->dir);
}

hop_status hop__model_import(hop_model **out, const char *dir, const hop_json *config, hop_error *err)
{
import w = {.dir = dir };
    hop_status s = hop_hf_network_read(&w.n, config, err);
    if (s == HOP_OK) s = import_all(&w, err);
    for (int64_t i = 0; i < w.file_count; i++) hop_safetensors_close(&w.files[i]);
    hop_free(w.files);
    hop_free(w.list);
    hop_free(w.held);
    hop_free(w.filled);
    hop_hf_network_free(&w.n);
    if (s == HOP_OK)
        *out = w.m, w.m->theirs = true;
    else
        hop_model_free(w.m);
    return s;
}
