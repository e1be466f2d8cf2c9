/* Networks of linear attention only: what the last token reads from each state, for every input.
 *
 * The layer's output at the last token is sum_j (φ(q)·φ(k_j)) v_j. Keys, values and features of the other
 * tokens are table rows through matrices (coordinates that earlier layers wrote must not be looked at), known
 * exactly but for the token's value. For each class of w and each case i there is one right token; every
 * other one must have φ(q)·φ(k_j) exactly 0, and the right one a product that is a whole number, as its value
 * is. Then nothing is rounded, in whichever form and order the kernels sum: all terms but one are 0. */
#include "prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* φ's two affine maps of one side, on top of the projection. */
typedef struct map {
    hop__sparse one, two;
    const float *bias1, *bias2;
} map;

/* A token that has feature a. */
typedef struct owner {
    int64_t token; /* -1: none, -2: several */
    double value;  /* its φ(k)_a */
    double total;  /* of |φ(k)_a| over all tokens */
} owner;

typedef struct looking {
    hop__analysis *a;
    int e;
    int64_t keys; /* K */
    double scale;
    map q, k;
    owner *owners;      /* [K] */
    double *factor;     /* [values]: what the right token adds for its value t; whole numbers */
    ival *proj, *phi;   /* [K] */
    ival value_any;     /* every token's v */
    double coefficient; /* φ(q)·φ(k) of the right token, the same for all queries */
    int64_t addresses;
} looking;

/* ---- weights ----------------------------------------------------------------------------------- */

static hop_status map_open(map *m, const hop_model *model, int e, const char *side, hop_error *err)
{
    const hop_weight *w[4];
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "mixer.feature_map_%s.layer%d.%s", side, 1 + i / 2,
                 i % 2 ? "bias" : "weight");
        w[i] = hop_model_layer_weight(model, e, name);
        if (!w[i])
            return hop_fail(err, HOP_EDOMAIN,
                            "layer %d: the analysis covers linear attention with product features", e);
    }
    m->bias1 = w[1]->data;
    m->bias2 = w[3]->data;
    hop_status s = hop__sparse_new(&m->one, w[0], err);
    return s == HOP_OK ? hop__sparse_new(&m->two, w[2], err) : s;
}

/* φ(x)_a for a projected x, exactly when all of it is whole. */
static ival feature(const map *m, int64_t a, const ival *x)
{
    ival one = ival_add(hop__sparse_box(&m->one, a, x), ival_point(m->bias1[a]));
    ival two = ival_add(hop__sparse_box(&m->two, a, x), ival_point(m->bias2[a]));
    /* Every partial sum must be a small whole number in float32 too. */
    double mag = hop__sparse_mag(&m->one, a, x) + hop__sparse_mag(&m->two, a, x) + fabs(m->bias1[a]) +
                 fabs(m->bias2[a]);
    if (!(mag < 0x1p20)) return (ival){-INFINITY, INFINITY};
    if (one.lo == 0 && one.hi == 0) return one; /* 0 times anything finite */
    return ival_mul(one, two);
}

static bool whole(ival x)
{
    return ival_is_point(x) && x.lo == floor(x.lo) && fabs(x.lo) < 0x1p20;
}

/* ---- keys -------------------------------------------------------------------------------------- */

/* Does a matrix look at written coordinates? */
static bool looks_at_written(const hop__analysis *a, const hop__sparse *s)
{
    for (int64_t n = 0; n < s->start[s->rows]; n++)
        if (a->written[s->col[n]]) return true;
    return false;
}

/* All projected keys must be points: the position's part exactly, no part of the token's value. */
static hop_status project_key(looking *l, int64_t position, hop_error *err)
{
    const hop__analysis *a = l->a;
    const hop__sparse *w = &a->w.k;
    for (int64_t r = 0; r < w->rows; r++) {
        ival sum = {0, 0};
        double mag = 0;
        for (int64_t n = w->start[r]; n < w->start[r + 1]; n++) {
            int c = w->col[n];
            ival x = a->token_hull[c];
            if (a->position_table) x = ival_add(x, ival_point(a->position_table[position * a->d + c]));
            sum = ival_add(sum, ival_scale(x, w->val[n]));
            mag += fabs(w->val[n]) * ival_mag(x);
        }
        if (!whole(sum) || !(mag < 0x1p20))
            return hop_fail(err, HOP_EDOMAIN, "layer %d: a key is not a whole number whatever the token",
                            l->e);
        l->proj[r] = sum;
    }
    return HOP_OK;
}

static hop_status find_owners(looking *l, hop_error *err)
{
    const hop__analysis *a = l->a;
    for (int64_t k = 0; k < l->keys; k++) l->owners[k].token = -1;
    for (int64_t p = 0; p < a->tokens; p++) {
        hop_status s = project_key(l, p, err);
        if (s != HOP_OK) return s;
        for (int64_t k = 0; k < l->keys; k++) {
            ival phi = feature(&l->k, k, l->proj);
            if (!whole(phi))
                return hop_fail(err, HOP_EDOMAIN, "layer %d: a feature is not a whole number", l->e);
            if (phi.lo == 0) continue;
            l->owners[k].token = l->owners[k].token == -1 ? p : -2;
            l->owners[k].value = phi.lo;
            l->owners[k].total += fabs(phi.lo);
        }
    }
    return HOP_OK;
}

/* ---- queries ------------------------------------------------------------------------------------ */

static int64_t right_token(const looking *l, int64_t w, int64_t i)
{
    const hop_funccomp *t = l->a->task;
    if (l->e == 0) return t->start[0];
    return t->start[l->e] + (l->e >= 2 ? hop_funccomp_digit(t, w, l->e - 1) * t->size[l->e - 2] : 0) + i;
}

/* The query of token w in case i. */
static hop_status project_query(looking *l, int64_t w, int64_t i, hop_error *err)
{
    const hop__analysis *a = l->a;
    const hop__sparse *m = &a->w.q;
    for (int64_t r = 0; r < m->rows; r++) {
        ival sum = {0, 0};
        double mag = 0;
        for (int64_t n = m->start[r]; n < m->start[r + 1]; n++) {
            int c = m->col[n];
            ival x = a->written[c] ? hop__case_box(a, i, c) : ival_point(a->token_table[w * a->d + c]);
            if (!a->written[c] && a->position_table)
                x = ival_add(x, ival_point(a->position_table[(a->tokens - 1) * a->d + c]));
            sum = ival_add(sum, ival_scale(x, m->val[n]));
            mag += fabs(m->val[n]) * ival_mag(x);
        }
        if (!whole(sum) || !(mag < 0x1p20))
            return hop_fail(err, HOP_EDOMAIN, "layer %d: a query is not a whole number", l->e);
        l->proj[r] = sum;
    }
    return HOP_OK;
}

/* Features that two sparse maps can make non-zero are few; but all K are looked at, so that nothing is taken
 * on trust. */
static hop_status ask(looking *l, int64_t w, int64_t i, hop_error *err)
{
    int64_t right = right_token(l, w, i);
    double coefficient = 0;
    hop_status s = project_query(l, w, i, err);
    for (int64_t k = 0; s == HOP_OK && k < l->keys; k++) {
        ival phi = feature(&l->q, k, l->proj);
        if (phi.lo == 0 && phi.hi == 0) continue;
        if (!whole(phi))
            return hop_fail(err, HOP_EDOMAIN, "layer %d: a query's feature is not a whole number", l->e);
        if (l->owners[k].token == -1) continue; /* nobody writes there */
        if (l->owners[k].token != right) {
            hop__add_hint(l->a, (hop__hint){.player = l->e, .w = w, .i = i});
            return hop_fail(err, HOP_EDOMAIN, "layer %d: w = %lld, i = %lld reads another token's entry",
                            l->e, (long long)w, (long long)i);
        }
        coefficient += phi.lo * l->owners[k].value;
    }
    if (s != HOP_OK) return s;
    if (coefficient == 0 || !(fabs(coefficient) < 0x1p20) ||
        (l->addresses && coefficient != l->coefficient)) {
        hop__add_hint(l->a, (hop__hint){.player = l->e, .w = w, .i = i});
        return hop_fail(err, HOP_EDOMAIN,
                        "layer %d: w = %lld, i = %lld reads nothing, or with another weight", l->e,
                        (long long)w, (long long)i);
    }
    l->coefficient = coefficient;
    l->addresses++;
    return HOP_OK;
}

/* One w for each digit that this layer's query can depend on, plus a check that no other digit matters: all w
 * when they are few. */
static hop_status ask_all(looking *l, hop_error *err)
{
    hop__analysis *a = l->a;
    for (int64_t w = 0; w < a->task->queries; w++) {
        for (int64_t i = 0; i < a->cases; i++) {
            hop_status s = ask(l, w, i, err);
            if (s != HOP_OK) return s;
        }
        if (!hop_progress_tick(a->options->progress, "queries", (double)(w + 1), (double)a->task->queries))
            return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    return HOP_OK;
}

/* ---- values and taking over --------------------------------------------------------------------- */

static hop_status find_values(looking *l, int64_t count, hop_error *err)
{
    const hop__analysis *a = l->a;
    const hop__sparse *v = &a->w.v;
    double most = 0;
    if (v->rows != 1)
        return hop_fail(err, HOP_EDOMAIN, "layer %d: the analysis covers values of one number", l->e);
    for (int64_t t = 0; t < a->task->vocab; t++) {
        ival sum = {0, 0};
        for (int64_t n = v->start[0]; n < v->start[1]; n++) {
            int c = v->col[n];
            if (a->position_table)
                for (int64_t p = 0; p < a->tokens; p++)
                    if (a->position_table[p * a->d + c] != 0)
                        return hop_fail(err, HOP_EDOMAIN, "layer %d: a value depends on the place", l->e);
            sum = ival_add(sum, ival_scale(ival_point(a->token_table[t * a->d + c]), v->val[n]));
        }
        if (!whole(sum) || v->start[1] - v->start[0] > 1)
            return hop_fail(err, HOP_EDOMAIN, "layer %d: a value is not one whole number", l->e);
        if (t < count) l->factor[t] = sum.lo;
        most = fmax(most, fabs(sum.lo));
    }
    l->value_any = (ival){-most, most};
    return HOP_OK;
}

static void last_after(void *ctx, int64_t t, ival *y, ival *work)
{
    looking *l = ctx;
    hop__analysis *a = l->a;
    ival o = ival_scale(ival_point(l->coefficient * l->factor[t]), l->scale);
    (void)work;
    for (int64_t c = 0; c < a->d; c++) {
        ival add = hop__sparse_box(&a->w.o, c, &o);
        hop__grid grid = {.exact = true};
        y[c] = ival_add(a->last[c], add);
        if (add.lo == 0 && add.hi == 0) continue;
        hop__grid_add(&grid, add);
        hop__grid_add(&grid, a->last[c]);
        if (!grid.exact) y[c] = ival_widen(y[c], hop__rounding(a, 4, ival_mag(add) + ival_mag(a->last[c])));
    }
}

/* |φ(q)_a| of any token, at most. */
static double feature_reach(const looking *l, int64_t k)
{
    const hop__analysis *a = l->a;
    const hop__sparse *maps[] = {&l->q.one, &l->q.two};
    const double bias[] = {fabs(l->q.bias1[k]), fabs(l->q.bias2[k])};
    double product = 1;
    for (int i = 0; i < 2; i++) {
        double sum = bias[i];
        for (int64_t n = maps[i]->start[k]; n < maps[i]->start[k + 1]; n++)
            sum += fabs(maps[i]->val[n]) * hop__sparse_mag(&a->w.q, maps[i]->col[n], a->any);
        product *= sum;
    }
    return product;
}

/* Other tokens may read anything. What they get must only stay finite: nobody looks at it, but 0 times
 * infinity would show. */
static void any_after(void *ctx, ival *y, ival *work)
{
    looking *l = ctx;
    hop__analysis *a = l->a;
    (void)work;
    double reach = 0;
    for (int64_t k = 0; k < l->keys; k++)
        reach += feature_reach(l, k) * l->owners[k].total * ival_mag(l->value_any);
    reach = 1.01 * reach * (1 + l->scale);
    hop__rounding(a, 1, reach);
    ival o = {-reach, reach};
    for (int64_t c = 0; c < a->d; c++) y[c] = ival_add(a->any[c], hop__sparse_box(&a->w.o, c, &o));
}

static bool layer_writes(void *ctx, int64_t c)
{
    const hop__sparse *o = &((looking *)ctx)->a->w.o;
    return o->start[c] != o->start[c + 1];
}

/* ---- one layer ----------------------------------------------------------------------------------- */

static hop_status look(looking *l, hop_margin *margin, hop_error *err)
{
    hop__analysis *a = l->a;
    int64_t count = l->e == 0 ? a->task->m : a->task->size[l->e - 1];
    if (looks_at_written(a, &a->w.k) || looks_at_written(a, &a->w.v))
        return hop_fail(err, HOP_EDOMAIN, "layer %d: a key or value looks at what earlier layers wrote",
                        l->e);
    hop_status s = map_open(&l->q, a->model, l->e, "q", err);
    if (s == HOP_OK) s = map_open(&l->k, a->model, l->e, "k", err);
    l->owners = hop_alloc(sizeof *l->owners * (size_t)l->keys);
    l->factor = hop_alloc(sizeof(double) * (size_t)count);
    l->proj = hop_alloc(sizeof(ival) * (size_t)l->keys);
    if (!l->owners || !l->factor || !l->proj) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = find_values(l, count, err);
    if (s == HOP_OK) s = find_owners(l, err);
    if (s == HOP_OK) s = ask_all(l, err);
    if (s != HOP_OK) return s;
    *margin = (hop_margin){.layer = l->e, .player = l->e, .addresses = l->addresses, .score_gap = INFINITY};
    hop__after_mixer after = {
        .cases = count, .last = last_after, .any = any_after, .writes = layer_writes, .ctx = l};
    return hop__bound_mlp(a, &after, margin, err);
}

static hop_status run_layer(hop__analysis *a, int e, hop_margin *margin, hop_error *err)
{
    hop_mixer_config c = hop_model_mixer_config(a->model, e);
    looking l = {.a = a,
                 .e = e,
                 .keys = c.head_dim,
                 .scale = (float)(c.scale != 0 ? c.scale : 1 / sqrt((double)c.head_dim))};
    hop_status s = HOP_OK;
    if (c.heads != 1 || c.option[HOP_OPTION_norm] || c.option[HOP_OPTION_normalise] ||
        c.option[HOP_OPTION_feature] != 3)
        s = hop_fail(
            err, HOP_EDOMAIN,
            "layer %d: the analysis covers linear attention with one head, product features, no norm", e);
    if (s == HOP_OK) s = hop__analysis_layer(a, e, err);
    if (s == HOP_OK) s = look(&l, margin, err);
    map *maps[] = {&l.q, &l.k};
    for (int i = 0; i < 2; i++) {
        hop__sparse_free(&maps[i]->one);
        hop__sparse_free(&maps[i]->two);
    }
    hop_free(l.owners);
    hop_free(l.factor);
    hop_free(l.proj);
    return s;
}

hop_status hop__prove_linear(hop_proof *p, const hop_model *m, const hop_task *task,
                             const hop_prove_options *o, bool *proved, hop__hint *hints, int *hint_count,
                             hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    *proved = false;
    *hint_count = 0;
    hop__plain_scope(m, task, p->why, sizeof p->why);
    for (int64_t r = 0; !p->why[0] && r < c->pattern.run_count; r++)
        if (strcmp(c->pattern.runs[r].mixer, "linear") != 0)
            snprintf(p->why, sizeof p->why, "no analysis covers a stack with %s layers and no full one",
                     c->pattern.runs[r].mixer);
    if (!p->why[0] && c->pattern.layers != task->funccomp.hops + 1)
        snprintf(p->why, sizeof p->why, "the analysis covers %d linear layers for %d hops",
                 task->funccomp.hops + 1, task->funccomp.hops);
    if (p->why[0]) return HOP_OK;
    hop_error local = {0};
    if (!err) err = &local;
    hop__analysis a = {.model = m, .task = &task->funccomp, .options = o};
    hop_status s = hop__analysis_open(&a, 0, err);
    p->margins = hop_alloc(sizeof(hop_margin) * (size_t)c->pattern.layers);
    if (!p->margins) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int e = 0; s == HOP_OK && e <= task->funccomp.hops; e++) {
        s = run_layer(&a, e, &p->margins[e], err);
        if (s == HOP_OK) p->margin_count++;
    }
    if (s == HOP_OK) s = hop__bound_readout(&a, &p->readout_margin, err);
    if (s == HOP_OK) hop__analysis_verdict(&a, p, proved);
    memcpy(hints, a.hints, sizeof a.hints);
    *hint_count = a.hint_count;
    hop__analysis_close(&a);
    return hop__analysis_status(p, s, err);
}
