/* A layer of the encoder before its MLP: how far the right token's score leads, whoever asks and whatever
 * for; and the read-out, which is the same question.
 *
 * A token that composes asks for an address, and all that its query depends on is its value and one digit of
 * w: one class of queries for each entry of the table asked. A token that keeps what it has asks for its own
 * place: one class a place, and its value may be anything. So there are at most about twice as many classes
 * as tokens. */
#include "encoder_proof.h"

#include <stdio.h>

#define CHUNK 64 /* classes a task */

typedef struct worst {
    double gap, mass;
    int64_t class; /* where the gap is smallest */
} worst;

/* Who asks, and the classes of what is asked. */
typedef struct asking {
    hop__encoder *e;
    hop__boxes to; /* keys, or the read-out's rows */
    bool reading;  /* it is the read-out */
    int player;    /* who asks */
    hop__errand what;
    int64_t classes;
    worst *results; /* one a task */
    ival *x, *q;    /* [threads, d], [threads, width] */
    int *index;     /* [threads, width] */
} asking;

/* Digits of w that name an entry of the table asked, together with a value. */
static int64_t digits_asked(const hop_funccomp *t, const hop__errand *what)
{
    return what->target >= 2 ? t->fan[what->target - 1] : 1;
}

static int64_t count_classes(const asking *k)
{
    const hop__crowd *c = &k->e->crowd[k->player + 1];
    switch (k->what.asks) {
    case HOP__ASKS_NOBODY: return 0;
    case HOP__ASKS_ONE: return 1;
    case HOP__ASKS_SELF: return c->places;
    case HOP__ASKS_ENTRY: return digits_asked(k->e->a.task, &k->what) * c->values;
    }
    return 0;
}

/* The box of the tokens that ask, into x; returns the position of the right token. */
static int64_t asker_of(const asking *k, int64_t class, ival *x)
{
    const hop__encoder *e = k->e;
    const hop_funccomp *t = e->a.task;
    const hop__crowd *c = &e->crowd[k->player + 1];
    int target = k->what.target;
    int64_t first = target < 0 ? t->length - 1 : t->start[target];
    if (k->what.asks == HOP__ASKS_ONE) {
        for (int64_t i = 0; i < e->a.d; i++) x[i] = c->hull[i];
        return first;
    }
    if (k->what.asks == HOP__ASKS_SELF) {
        hop__crowd_load(e, c, class, x);
        return first + class;
    }
    int64_t u = class % c->values, digit = class / c->values;
    hop__crowd_load(e, c, hop__row_of_value(c, u), x);
    if (target >= 2) hop__crowd_meet(e, c, hop__row_of_digit(e, c, target - 1, digit), x);
    return first + digit * c->values + u; /* values: u < N_{target-2} */
}

/* The query's box; returns a bound of the sum of |q·key|. */
static double query_of(const asking *k, const ival *x, ival *q, int *index, int *n)
{
    hop__analysis *a = &k->e->a;
    double product = 0;
    *n = 0;
    for (int64_t r = 0; r < a->head_dim; r++) {
        q[r] = ival_widen(hop__sparse_box(&a->w.q, r, x),
                          hop__rounding(a, a->d, hop__sparse_mag(&a->w.q, r, x)));
        product = ival_up(product + ival_up(ival_mag(q[r]) * k->to.mag[r]));
        if (q[r].lo != 0 || q[r].hi != 0) index[(*n)++] = (int)r;
    }
    return product;
}

/* Prepares the contest of one class: q, slack; returns the right row. */
static int64_t prepare(const asking *k, int64_t class, hop__contest *c, ival *x, ival *q, int *index)
{
    hop__analysis *a = &k->e->a;
    *c = (hop__contest){.boxes = &k->to, .q = q, .index = index, .scale = a->scale};
    int64_t right = asker_of(k, class, x);
    double product = query_of(k, x, q, index, &c->n);
    /* Two scores as computed: the dot product, the scale (on either side of it, and with the logarithm's
     * base), the subtraction of the maximum; and this routine's own sums. */
    double own = (double)a->head_dim * 0x1p-50 * product;
    c->slack = 2 * hop__rounding(a, a->head_dim, product * (1 + 2 * a->scale)) +
               16 * HOP_UNIT_ROUNDOFF * product + own;
    c->slack = a->scale * c->slack * (1 + 1e-9) + (double)a->head_dim * 0x1p-140;
    return right;
}

/* The same for the read-out: the class is the answer, the query is all that w holds. */
static int64_t prepare_readout(const asking *k, int64_t answer, hop__contest *c, ival *x, int *index)
{
    hop__analysis *a = &k->e->a;
    const hop__crowd *w = &k->e->crowd[0];
    double logit = 0;
    *c = (hop__contest){.boxes = &k->to, .q = x, .index = index, .scale = 1};
    hop__crowd_load(k->e, w, hop__row_of_value(w, answer), x);
    for (int64_t i = 0; i < a->d; i++) {
        logit = ival_up(logit + ival_up(ival_mag(x[i]) * k->to.mag[i]));
        if (k->to.mag[i] != 0) index[c->n++] = (int)i; /* else nobody reads it */
    }
    c->slack = (2 * hop__rounding(a, a->d, logit) + (double)a->d * 0x1p-50 * logit) * (1 + 1e-9);
    return answer;
}

static void ask_chunk(void *ctx, int64_t task, int worker)
{
    asking *k = ctx;
    ival *x = k->x + worker * k->e->a.d, *q = k->q + worker * k->to.width;
    int *index = k->index + worker * k->to.width;
    int64_t end = (task + 1) * CHUNK < k->classes ? (task + 1) * CHUNK : k->classes;
    worst w = {.gap = INFINITY, .mass = 0, .class = -1};
    for (int64_t class = task * CHUNK; class < end; class ++) {
        hop__contest c;
        int64_t right =
            k->reading ? prepare_readout(k, class, &c, x, index) : prepare(k, class, &c, x, q, index);
        double mass, gap = hop__contest_lead(&c, right, &mass);
        w.mass = ival_most(w.mass, mass);
        if (!(gap >= w.gap)) w.class = class;
        w.gap = ival_least(w.gap, gap);
    }
    k->results[task] = w;
}

/* An input whose chain comes by the address is worth trying. */
static void add_hint(const asking *k, int64_t class)
{
    hop__analysis *a = &k->e->a;
    hop__hint h = {.player = k->what.target, .w = -1, .i = 0};
    if (k->what.asks != HOP__ASKS_ENTRY || class < 0) return;
    int64_t values = k->e->crowd[k->player + 1].values, digit = class / values;
    h.i = class % values;
    for (int64_t w = 0; h.player >= 2 && h.w < 0 && w < a->task->queries; w++)
        if (hop_funccomp_digit(a->task, w, h.player - 1) == digit) h.w = w;
    hop__add_hint(a, h);
}

static hop_status ask_all(asking *k, const char *what, worst *out, hop_error *err)
{
    const hop_prove_options *o = k->e->a.options;
    int64_t tasks = (k->classes + CHUNK - 1) / CHUNK;
    *out = (worst){.gap = INFINITY, .mass = 0, .class = -1};
    if (tasks == 0) return HOP_OK;
    k->results = hop_alloc(sizeof(worst) * (size_t)tasks);
    if (!k->results) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_pool_run(o->pool, tasks, ask_chunk, k);
    for (int64_t i = 0; i < tasks; i++) {
        if (!(k->results[i].gap >= out->gap)) out->class = k->results[i].class;
        out->gap = ival_least(out->gap, k->results[i].gap);
        out->mass = ival_most(out->mass, k->results[i].mass);
    }
    hop_free(k->results);
    k->results = NULL;
    bool on = hop_progress_tick(o->progress, what, k->player + 2, k->e->a.task->hops + 2);
    return on ? HOP_OK : hop_fail(err, HOP_ESTOPPED, "stopped on request");
}

/* ---- keys ----------------------------------------------------------------------------------- */

static void fill_keys(asking *k)
{
    hop__analysis *a = &k->e->a;
    for (int p = -1; p <= a->task->hops; p++) {
        const hop__crowd *c = &k->e->crowd[p + 1];
        int64_t first = p < 0 ? a->task->length - 1 : a->task->start[p];
        for (int64_t j = 0; j < c->places; j++) {
            hop__crowd_load(k->e, c, j, k->x);
            ival *row = k->to.row + (first + j) * a->head_dim;
            for (int64_t r = 0; r < a->head_dim; r++)
                row[r] = ival_widen(hop__sparse_box(&a->w.k, r, k->x),
                                    hop__rounding(a, a->d, hop__sparse_mag(&a->w.k, r, k->x)));
        }
    }
    hop__boxes_ready(&k->to);
}

/* Every token asks every token; a score that overflows anywhere ends in a NaN that spreads. Queries may be
 * scaled before or after the product. */
static void check_all_scores(const asking *k)
{
    hop__analysis *a = &k->e->a;
    double score = 0, factor = 1 + 2 * a->scale;
    for (int64_t r = 0; r < a->head_dim; r++) {
        double mag = hop__sparse_mag(&a->w.q, r, a->any), q = ival_up(mag + hop__rounding(a, a->d, mag));
        hop__rounding(a, 1, q * factor);
        score += q * factor * k->to.mag[r];
    }
    hop__rounding(a, a->head_dim, score);
}

static hop_status asking_new(asking *k, hop__encoder *e, int64_t count, int64_t width, hop_error *err)
{
    size_t threads = (size_t)hop_pool_threads(e->a.options->pool);
    *k = (asking){.e = e};
    k->x = hop_alloc(sizeof(ival) * (size_t)e->a.d * threads);
    k->q = hop_alloc(sizeof(ival) * (size_t)width * threads);
    k->index = hop_alloc(sizeof(int) * (size_t)width * threads);
    hop_status s = hop__boxes_new(&k->to, count, width, err);
    return s != HOP_OK || (k->x && k->q && k->index) ? s : hop_fail(err, HOP_ENOMEM, "out of memory");
}

static void asking_free(asking *k)
{
    hop__boxes_free(&k->to);
    hop_free(k->x);
    hop_free(k->q);
    hop_free(k->index);
}

static hop_status ask_players(asking *k, int64_t layer, hop_margin *margin, hop_error *err)
{
    hop__encoder *e = k->e;
    int hops = e->a.task->hops;
    char what[64];
    snprintf(what, sizeof what, "layer %lld of %d", (long long)layer + 1, hop__encoder_rounds(hops) + 2);
    hop_status s = HOP_OK;
    for (int p = -1; s == HOP_OK && p <= hops; p++) {
        worst w;
        k->player = p;
        k->what = hop__encoder_errand(hops, layer, p);
        k->classes = count_classes(k);
        s = ask_all(k, what, &w, err);
        margin->addresses += k->classes;
        margin->score_gap = ival_least(margin->score_gap, w.gap);
        /* Weights and sums as the kernels compute them; and weights that are too small to be accurate. */
        w.mass = w.mass * (1 + 4 * HOP_ATTN_ERROR(e->a.tokens)) + (double)e->a.tokens * 0x1p-118;
        if (k->classes) margin->wrong_mass = ival_most(margin->wrong_mass, w.mass);
        e->mass[p + 1] = k->classes && w.mass < 1 ? w.mass : 1;
        if (!(w.mass < 0.25)) add_hint(k, w.class); /* a quarter is what the clip bears */
    }
    return s;
}

hop_status hop__encoder_scores(hop__encoder *e, int64_t layer, hop_margin *margin, hop_error *err)
{
    asking k;
    *margin = (hop_margin){.layer = layer, .player = (int)layer, .score_gap = INFINITY};
    hop_status s = asking_new(&k, e, e->a.tokens, e->a.head_dim, err);
    if (s == HOP_OK) {
        fill_keys(&k);
        check_all_scores(&k);
        s = ask_players(&k, layer, margin, err);
    }
    asking_free(&k);
    return s;
}

/* ---- read-out ------------------------------------------------------------------------------- */

hop_status hop__encoder_readout(hop__encoder *e, double *margin, hop_error *err)
{
    asking k;
    worst w;
    const hop_config *c = hop_model_config(e->a.model);
    const float *head =
        hop_model_weight(e->a.model, c->tied ? "model.embed_tokens.weight" : "lm_head.weight")->data;
    hop_status s = asking_new(&k, e, c->vocab, e->a.d, err);
    if (s == HOP_OK) {
        for (int64_t i = 0; i < c->vocab * e->a.d; i++) k.to.row[i] = ival_point(head[i]);
        hop__boxes_ready(&k.to);
        k.reading = true;
        k.player = -1;
        k.classes = e->crowd[0].values;
        s = ask_all(&k, "read-out", &w, err);
    }
    if (s == HOP_OK) {
        *margin = w.gap;
        if (!(w.gap > 0))
            hop__add_hint(&e->a, (hop__hint){.player = e->a.task->hops + 1, .w = -1, .i = w.class});
    }
    asking_free(&k);
    return s;
}
