/* Layer e, before its MLP: how far the right token's score leads, for everything the last token may ask.
 *
 * The last token's query is W_q x. Its unwritten coordinates are w's table rows, so the queries of all w fall
 * into classes of equal vectors (n_{e-1} of them in a sound construction, one for each digit w_{e-1}); its
 * written ones depend on the case i. Class and case together name the address, hence the right token. Keys
 * are W_k x: the part that comes from the position table is known exactly and goes into the rows; whatever
 * comes from the token's value or from written coordinates is an interval that is the same for all tokens and
 * goes into the slack. */
#include "analysis.h"
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ADDRESSES ((int64_t)1 << 28)
#define CHUNK         256 /* addresses a task */

/* One class of equal queries of one kind: a representative token w. */
typedef struct query_class {
    int64_t w, kind;
    const double *q; /* [head_dim], the part that w contributes */
    size_t bytes;    /* of q: qsort's comparison gets no other context */
} query_class;

/* The worst of a chunk of addresses. */
typedef struct chunk_result {
    double gap, mass;
    int64_t address; /* where the gap is smallest */
} chunk_result;

typedef struct asking {
    hop__analysis *a;
    const hop__question *what;
    hop__rows keys;
    double *key_width; /* [head_dim]: how much a key may vary beyond its row */
    double *key_mag;   /* [head_dim]: largest absolute key */
    double *vectors;   /* the classes' q */
    query_class *classes;
    int64_t class_count, addresses;
    chunk_result *results; /* one a task */
    int64_t first_task;    /* of the batch under way */
    double *q, *rad;       /* [threads, head_dim] */
    int *index;            /* [threads, head_dim] */
} asking;

/* ---- keys ---------------------------------------------------------------------------------- */

static void fill_keys(asking *k)
{
    hop__analysis *a = k->a;
    const hop__sparse *w = &a->w.k;
    for (int64_t r = 0; r < a->head_dim; r++) {
        ival box = {0, 0};
        int64_t row = k->what->first + r;
        for (int64_t n = w->start[row]; n < w->start[row + 1]; n++) {
            int c = w->col[n];
            box = ival_add(box, ival_scale(a->written[c] ? a->any[c] : a->token_hull[c], w->val[n]));
            if (a->written[c] || !a->position_table) continue;
            for (int64_t p = 0; p < a->tokens; p++)
                k->keys.row[p * a->head_dim + r] += w->val[n] * (double)a->position_table[p * a->d + c];
        }
        /* The program's own rounding: of tok + pos, and of the projection. */
        double err = hop__rounding(a, a->d, hop__sparse_mag(w, row, a->any));
        k->key_width[r] = ival_up(ival_up(box.hi - box.lo) + 2 * ival_up(err));
        k->key_mag[r] = ival_up(ival_mag(box) + 2 * err);
    }
    hop__rows_ready(&k->keys);
    for (int64_t r = 0; r < a->head_dim; r++) k->key_mag[r] = ival_up(k->key_mag[r] + k->keys.mag[r]);
}

/* ---- queries ------------------------------------------------------------------------------- */

static void query_of_w(const asking *k, int64_t w, double *out)
{
    const hop__analysis *a = k->a;
    const hop__sparse *m = &a->w.q;
    for (int64_t r = 0; r < a->head_dim; r++) {
        double sum = 0;
        int64_t row = k->what->first + r;
        for (int64_t n = m->start[row]; n < m->start[row + 1]; n++) {
            int c = m->col[n];
            if (a->written[c]) continue;
            double x = a->token_table[w * a->d + c];
            if (a->position_table) x += a->position_table[(a->tokens - 1) * a->d + c];
            sum += m->val[n] * x;
        }
        out[r] = sum + 0.0; /* -0 and 0 are one class */
    }
}

static int compare_classes(const void *x, const void *y)
{
    const query_class *a = x, *b = y;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return memcmp(a->q, b->q, a->bytes);
}

static hop_status fill_classes(asking *k, hop_error *err)
{
    const hop__analysis *a = k->a;
    int64_t n = k->what->askers;
    size_t vector = sizeof(double) * (size_t)a->head_dim;
    k->vectors = hop_alloc(vector * (size_t)n);
    k->classes = hop_alloc(sizeof(query_class) * (size_t)n);
    if (!k->vectors || !k->classes)
        return hop_fail(err, HOP_ENOMEM, "cannot hold %lld queries", (long long)n);
    for (int64_t w = 0; w < n; w++) {
        double *q = k->vectors + w * a->head_dim;
        query_of_w(k, w, q);
        k->classes[w] = (query_class){.w = w, .kind = k->what->kind(a, k->what, w), .q = q, .bytes = vector};
    }
    qsort(k->classes, (size_t)n, sizeof(query_class), compare_classes);
    for (int64_t w = 0; w < n; w++)
        if (w == 0 || compare_classes(&k->classes[k->class_count - 1], &k->classes[w]) != 0)
            k->classes[k->class_count++] = k->classes[w];
    k->addresses = k->class_count * a->cases;
    return HOP_OK;
}

/* One address: the query as centre and radius, the slack that covers everything but centre times row. */
static hop__lead look_up(const asking *k, int64_t address, double *q, double *rad, int *index)
{
    hop__analysis *a = k->a;
    const query_class *class = &k->classes[address / a->cases];
    int64_t i = address % a->cases;
    double slack = 0, product = 0;
    for (int64_t r = 0; r < a->head_dim; r++) {
        const hop__sparse *m = &a->w.q;
        int64_t row = k->what->first + r;
        ival box = ival_point(class->q[r]);
        double mag = fabs(class->q[r]);
        for (int64_t n = m->start[row]; n < m->start[row + 1]; n++) {
            int c = m->col[n];
            if (a->written[c]) box = ival_add(box, ival_scale(hop__case_box(a, i, c), m->val[n]));
            mag = ival_up(mag + fabs(m->val[n]) * ival_mag(hop__case_box(a, i, c)));
        }
        q[r] = ival_mid(box);
        rad[r] = ival_up(ival_rad(box) + hop__rounding(a, a->d, mag));
        double top = fabs(q[r]) + rad[r];
        slack += top * k->key_width[r] + 2 * rad[r] * k->key_mag[r];
        product += top * k->key_mag[r];
    }
    /* Scores as computed, twice (right and wrong): the dot product, the scale (on either side of it, and with
     * the logarithm's base), the subtraction of the maximum. */
    double score = product * (1 + 2 * a->scale);
    slack += 2 * hop__rounding(a, a->head_dim, score < product ? product : score) +
             16 * HOP_UNIT_ROUNDOFF * product + 1e-10 * product;
    slack = a->scale * slack * (1 + 1e-9) + (double)a->head_dim * 0x1p-140;
    return hop__rows_lead(&k->keys, q, k->what->right(a, k->what, class->kind, i), a->scale, slack, index);
}

static void look_up_chunk(void *ctx, int64_t number, int worker)
{
    asking *k = ctx;
    int64_t task = k->first_task + number, width = k->a->head_dim;
    int64_t end = (task + 1) * CHUNK < k->addresses ? (task + 1) * CHUNK : k->addresses;
    chunk_result worst = {.gap = INFINITY, .mass = 0, .address = -1};
    for (int64_t at = task * CHUNK; at < end; at++) {
        hop__lead lead =
            look_up(k, at, k->q + worker * width, k->rad + worker * width, k->index + worker * width);
        worst.mass = ival_most(worst.mass, lead.mass);
        if (!(lead.gap >= worst.gap)) worst.address = at;
        worst.gap = ival_least(worst.gap, lead.gap);
    }
    k->results[task] = worst;
}

static void note_result(asking *k, const chunk_result *r, hop_margin *margin)
{
    hop__analysis *a = k->a;
    margin->wrong_mass = ival_most(margin->wrong_mass, r->mass);
    margin->score_gap = ival_least(margin->score_gap, r->gap);
    if (r->address < 0 || r->mass < 0.25) return; /* a quarter is what the clip bears */
    hop__add_hint(a, (hop__hint){.player = k->what->e,
                                 .w = k->classes[r->address / a->cases].w,
                                 .i = r->address % a->cases});
}

/* In batches, so that progress is told and a wish to stop is heard. */
static hop_status look_up_all(asking *k, hop_margin *margin, hop_error *err)
{
    hop__analysis *a = k->a;
    int64_t tasks = (k->addresses + CHUNK - 1) / CHUNK, batch = 16 * hop_pool_threads(a->options->pool);
    char what[64];
    snprintf(what, sizeof what, "layer %d of %d: %lld addresses", k->what->e + 1, a->task->hops + 1,
             (long long)k->addresses);
    for (int64_t done = 0; done < tasks; done += batch) {
        int64_t n = tasks - done < batch ? tasks - done : batch;
        k->first_task = done;
        hop_pool_run(a->options->pool, n, look_up_chunk, k);
        if (!hop_progress_tick(a->options->progress, what, (double)(done + n), (double)tasks))
            return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    margin->score_gap = INFINITY;
    margin->wrong_mass = 0;
    for (int64_t i = 0; i < tasks; i++) note_result(k, &k->results[i], margin);
    /* Weights and sums as the kernels compute them; and weights that are too small to be accurate. */
    margin->wrong_mass =
        margin->wrong_mass * (1 + 4 * HOP_ATTN_ERROR(a->tokens)) + (double)a->tokens * 0x1p-118;
    return HOP_OK;
}

/* Every token asks, not only the last one, and a score that overflows anywhere ends in a NaN that spreads.
 * Queries may be scaled before or after the product. */
static void check_all_scores(const asking *k)
{
    hop__analysis *a = k->a;
    double score = 0, factor = 1 + 2 * a->scale;
    for (int64_t r = 0; r < a->head_dim; r++) {
        double mag = hop__sparse_mag(&a->w.q, k->what->first + r, a->any),
               q = ival_up(mag + hop__rounding(a, a->d, mag));
        hop__rounding(a, 1, q * factor);
        score += q * factor * k->key_mag[r];
    }
    hop__rounding(a, a->head_dim, score);
}

static hop_status ask(asking *k, hop_margin *margin, hop_error *err)
{
    const hop__analysis *a = k->a;
    size_t width = (size_t)a->head_dim, threads = (size_t)hop_pool_threads(a->options->pool);
    hop_status s = hop__rows_new(&k->keys, a->tokens, a->head_dim, err);
    if (s != HOP_OK) return s;
    k->key_width = hop_alloc(sizeof(double) * width);
    k->key_mag = hop_alloc(sizeof(double) * width);
    k->q = hop_alloc(sizeof(double) * width * threads);
    k->rad = hop_alloc(sizeof(double) * width * threads);
    k->index = hop_alloc(sizeof(int) * width * threads);
    if (!k->key_width || !k->key_mag || !k->q || !k->rad || !k->index)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    fill_keys(k);
    check_all_scores(k);
    s = fill_classes(k, err);
    if (s != HOP_OK) return s;
    margin->addresses = k->addresses;
    if (k->addresses > MAX_ADDRESSES)
        return hop_fail(err, HOP_EDOMAIN, "layer %d: more than %lld different queries", k->what->e,
                        (long long)MAX_ADDRESSES);
    k->results = hop_alloc(sizeof *k->results * (size_t)((k->addresses + CHUNK - 1) / CHUNK));
    return k->results ? look_up_all(k, margin, err) : hop_fail(err, HOP_ENOMEM, "out of memory");
}

hop_status hop__bound_question(hop__analysis *a, const hop__question *q, hop_margin *margin, hop_error *err)
{
    asking k = {.a = a, .what = q};
    *margin = (hop_margin){.layer = q->e, .player = q->e};
    hop_status s = ask(&k, margin, err);
    hop__rows_free(&k.keys);
    hop_free(k.key_width);
    hop_free(k.key_mag);
    hop_free(k.vectors);
    hop_free(k.classes);
    hop_free(k.results);
    hop_free(k.q);
    hop_free(k.rad);
    hop_free(k.index);
    return s;
}

/* ---- a chain of look-ups ---------------------------------------------------------------------- */

static int64_t digit_of_w(const hop__analysis *a, const hop__question *q, int64_t w)
{
    return q->e >= 2 ? hop_funccomp_digit(a->task, w, q->e - 1) : 0;
}

static int64_t entry(const hop__analysis *a, const hop__question *q, int64_t digit, int64_t i)
{
    const hop_funccomp *t = a->task;
    if (q->e == 0) return t->start[0];
    return t->start[q->e] + (q->e >= 2 ? digit * t->size[q->e - 2] : 0) + i;
}

hop_status hop__bound_attention(hop__analysis *a, int e, hop_margin *margin, hop_error *err)
{
    hop__question q = {.e = e, .askers = a->task->queries, .kind = digit_of_w, .right = entry};
    return hop__bound_question(a, &q, margin, err);
}
