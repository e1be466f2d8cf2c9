/* The runs of a sweep file. */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan {
    hop_recipe *list;
    int64_t count, room;
    const hop_progress *progress;
} plan;

static hop_status add(plan *p, const hop_recipe *r, hop_error *err)
{
    if (p->count == HOP_MAX_SWEEP) return hop_fail(err, HOP_EFORMAT, "more than %d runs", HOP_MAX_SWEEP);
    if (p->count % 256 == 0 && !hop_progress_tick(p->progress, "runs listed", (double)p->count, 0))
        return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    if (p->count == p->room) {
        int64_t room = 2 * p->room + 16;
        hop_recipe *more = realloc(p->list, sizeof *more * (size_t)room);
        if (!more) return hop_fail(err, HOP_ENOMEM, "%lld runs: out of memory", (long long)room);
        p->list = more;
        p->room = room;
    }
    p->list[p->count++] = *r;
    return HOP_OK;
}

/* What the object says over `r`; the run's number, from 1, stands before what is wrong with it. */
static hop_status read_over(hop_recipe *r, const hop_json *object, int64_t number, hop_error *err)
{
    char run[32];
    snprintf(run, sizeof run, "run %lld", (long long)number);
    hop_status s = hop_recipe_read(r, object, err);
    return s == HOP_OK ? s : hop_fail_in(err, s, run);
}

/* All values of a key and of those after it. */
static hop_status add_grid(plan *p, const hop_json *key, const hop_recipe *base, hop_error *err)
{
    if (!key) return add(p, base, err);
    if (key->type != HOP_JSON_ARRAY || key->count == 0)
        return hop_fail(err, HOP_EFORMAT, "grid: %.60s: not a list of values", key->key);
    hop_status s = HOP_OK;
    for (const hop_json *v = key->child; s == HOP_OK && v; v = v->next) {
        hop_recipe r = *base;
        hop_json member = *v; /* the value, as if it stood in a recipe */
        member.key = key->key;
        member.next = NULL;
        const hop_json object = {.type = HOP_JSON_OBJECT, .child = &member, .count = 1};
        s = read_over(&r, &object, p->count + 1, err);
        if (s == HOP_OK) s = add_grid(p, key->next, &r, err);
    }
    return s;
}

/* One grid, or a list of them, one after the other. */
static hop_status add_grids(plan *p, const hop_json *grid, const hop_recipe *base, hop_error *err)
{
    bool several = grid->type == HOP_JSON_ARRAY;
    hop_status s = HOP_OK;
    for (const hop_json *g = several ? grid->child : grid; s == HOP_OK && g; g = several ? g->next : NULL)
        s = g->type == HOP_JSON_OBJECT
                ? add_grid(p, g->child, base, err)
                : hop_fail(err, HOP_EFORMAT, "grid: neither an object nor a list of objects");
    return s;
}

static hop_status read_plan(plan *p, const hop_json *root, hop_error *err)
{
    hop_recipe base;
    hop_recipe_init(&base);
    if (!root || root->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "a sweep is an object");
    for (const hop_json *v = root->child; v; v = v->next)
        if (strcmp(v->key, "base") != 0 && strcmp(v->key, "grid") != 0 && strcmp(v->key, "runs") != 0)
            return hop_fail(err, HOP_EFORMAT, "%.60s: unknown key (known: base, grid, runs)", v->key);
    const hop_json *said = hop_json_get(root, "base"), *grid = hop_json_get(root, "grid"),
                   *runs = hop_json_get(root, "runs");
    hop_status s = said ? hop_recipe_read(&base, said, err) : HOP_OK;
    if (s != HOP_OK) return hop_fail_in(err, s, "base");
    if (runs && runs->type != HOP_JSON_ARRAY) return hop_fail(err, HOP_EFORMAT, "runs: not a list");
    if (!grid && !runs) s = add(p, &base, err);
    if (grid) s = add_grids(p, grid, &base, err);
    for (const hop_json *v = runs ? runs->child : NULL; s == HOP_OK && v; v = v->next) {
        hop_recipe r = base;
        s = read_over(&r, v, p->count + 1, err);
        if (s == HOP_OK) s = add(p, &r, err);
    }
    if (s == HOP_OK && p->count == 0)
        s = hop_fail(err, HOP_EFORMAT, "no runs: grid and runs, where they are given, are empty");
    return s;
}

hop_status hop_sweep_read(hop_recipe **list, int64_t *count, const hop_json *root,
                          const hop_progress *progress, hop_error *err)
{
    plan p = {.progress = progress};
    hop_status s = read_plan(&p, root, err);
    if (s != HOP_OK) {
        free(p.list);
        p = (plan){0};
    }
    *list = p.list;
    *count = p.count;
    return s;
}
