/* One question, all theorems. */
#include "case.h"

#include <hopbound/words.h>
#include <math.h>
#include <stdlib.h>

typedef struct theorem {
    const char *id, *statement;
    bool published;
    hop__theorem_fn *evaluate;
} theorem;

static const theorem theorems[] = {
#define ENTRY(name, id, published, statement) {id, statement, published, hop__##name},
    HOP__THEOREM_LIST(ENTRY)
#undef ENTRY
};

/* What the caller sees, and what belongs to it. */
typedef struct answer {
    hop_bounds seen;
    hop_bound results[HOP__THEOREMS];
    hop__strings strings;
} answer;

const char *const hop_answer_words[] = {"impossible", "possible", "silent", NULL};

const char *hop_answer_name(hop_answer a)
{
    return hop_answer_words[a];
}

/* ---- questions that make no sense ----------------------------------------------------------- */

static hop_status check_layer(const hop_arch_layer *l, int64_t number, hop_error *err)
{
    bool full = l->kind == HOP_LAYER_FULL || l->kind == HOP_LAYER_BOTH;
    bool linear = l->kind == HOP_LAYER_LINEAR || l->kind == HOP_LAYER_BOTH;
    if (l->repeat < 1)
        return hop_fail(err, HOP_EDOMAIN, "layer run %lld: repeated 0 times", (long long)number);
    if (full && (l->heads < 1 || l->dim < 1 || l->number_bits < 1))
        return hop_fail(err, HOP_EDOMAIN, "layer run %lld: heads, dimension and bits must be at least 1",
                        (long long)number);
    if (full && l->key_dim < 0)
        return hop_fail(err, HOP_EDOMAIN, "layer run %lld: keys of less than 0 numbers", (long long)number);
    if (linear && l->state_bits < 0)
        return hop_fail(err, HOP_EDOMAIN, "layer run %lld: a state of less than 0 bits", (long long)number);
    return HOP_OK;
}

hop_status hop__arch_check(const hop_arch *a, hop_error *err)
{
    hop_status s = HOP_OK;
    if (!a || a->count < 1) return hop_fail(err, HOP_EDOMAIN, "architecture: no layers");
    if (a->width < 0) return hop_fail(err, HOP_EDOMAIN, "architecture: a width below 0");
    if (a->accumulators < 0) return hop_fail(err, HOP_EDOMAIN, "architecture: accumulators below 0");
    for (int64_t i = 0; s == HOP_OK && i < a->count; i++) s = check_layer(&a->layers[i], i, err);
    return s;
}

static hop_status check_question(const hop_question *q, hop_error *err)
{
    if (q->hops < 1 || q->hops > HOP_MAX_HOPS)
        return hop_fail(err, HOP_EDOMAIN, "hops: %d is outside 1..%d", q->hops, HOP_MAX_HOPS);
    if (q->n < 0 || q->m < 0) return hop_fail(err, HOP_EDOMAIN, "sizes: below 0");
    if (q->n && q->m) return hop_fail(err, HOP_EDOMAIN, "a length or sizes, not both");
    if (q->m == 1) return hop_fail(err, HOP_EDOMAIN, "m: 1 is below 2");
    for (int l = 0; q->m && l < q->hops - 1; l++)
        if (q->fan[l] < 2) return hop_fail(err, HOP_EDOMAIN, "fan: %lld is below 2", (long long)q->fan[l]);
    return hop__arch_check(q->arch, err);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void case_init(hop__case *c, const hop_question *q, hop__strings *strings)
{
    *c =
        (hop__case){.q = q, .hops = q->hops, .asked = q->n || q->m, .by_sizes = q->m > 0, .strings = strings};
    hop__hybrid_init(&c->hybrid, q->arch);
    for (int l = 0; l < q->hops; l++) fmpz_set_si(&c->sizes[l], !q->m ? 0 : l ? q->fan[l - 1] : q->m);
    if (c->by_sizes)
        hop__length(&c->n, c->sizes, c->hops);
    else
        fmpz_set_si(&c->n, q->n);
}

static void case_clear(hop__case *c)
{
    hop__hybrid_clear(&c->hybrid);
    for (int l = 0; l < c->hops; l++) fmpz_clear(&c->sizes[l]);
    fmpz_clear(&c->n);
}

/* P3 at what was asked for. */
static void set_ceiling(hop_bounds *b, hop__case *c)
{
    fmpz_t table;
    fmpz_init(table);
    b->accuracy_ceiling = NAN;
    if (c->hybrid.full == 0 && c->hybrid.other == 0 && hop__asked_table(c, table) && fmpz_fits_si(table)) {
        b->accuracy_ceiling = hop__accuracy_ceiling(table, &c->hybrid.total);
        b->table = fmpz_get_si(table);
    }
    fmpz_clear(table);
}

static void evaluate_one(hop_bound *b, hop__case *c, int i)
{
    *b = (hop_bound){.id = theorems[i].id,
                     .statement = theorems[i].statement,
                     .published = theorems[i].published,
                     .applies = true,
                     .answer = HOP_ANSWER_SILENT,
                     .log10_n = INFINITY,
                     .log10_up_to = NAN,
                     .has_bits = NAN,
                     .needs_bits = NAN,
                     .needs = "",
                     .has = "",
                     .why = ""};
    theorems[i].evaluate(c, b);
}

static void evaluate_all(answer *a, hop__case *c)
{
    for (int i = 0; i < HOP__THEOREMS && !c->stopped; i++) {
        evaluate_one(&a->results[i], c, i);
        c->stopped = c->stopped || !hop_progress_tick(c->q->progress, "theorems", i + 1, HOP__THEOREMS);
    }
    if (!c->stopped) set_ceiling(&a->seen, c);
}

bool hop__speaks_of(int which, hop_answer given)
{
    bool builds = theorems[which].evaluate == hop__p1 || theorems[which].evaluate == hop__p10;
    return given == HOP_ANSWER_SILENT || builds == (given == HOP_ANSWER_POSSIBLE);
}

hop_status hop__ask_one(hop__opinion *out, const hop_question *q, int which, hop_error *err)
{
    *out = (hop__opinion){.id = theorems[which].id, .answer = HOP_ANSWER_SILENT};
    hop_status s = check_question(q, err);
    if (s != HOP_OK) return s;
    answer *a = calloc(1, sizeof *a);
    if (!a) return hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    hop__case c;
    case_init(&c, q, &a->strings);
    evaluate_one(&a->results[which], &c, which);
    case_clear(&c);
    out->answer = a->results[which].answer;
    out->log10_n = a->results[which].log10_n;
    if (c.stopped) s = hop_fail(err, HOP_ESTOPPED, "stopped");
    if (s == HOP_OK && a->strings.failed) s = hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    hop_bounds_free(&a->seen);
    return s;
}

hop_status hop_bounds_new(hop_bounds **out, const hop_question *q, hop_error *err)
{
    *out = NULL;
    hop_status s = check_question(q, err);
    if (s != HOP_OK) return s;
    answer *a = calloc(1, sizeof *a);
    if (!a) return hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    a->seen = (hop_bounds){.results = a->results, .count = HOP__THEOREMS};
    hop__case c;
    case_init(&c, q, &a->strings);
    evaluate_all(a, &c);
    case_clear(&c);
    if (c.stopped) s = hop_fail(err, HOP_ESTOPPED, "stopped");
    if (s == HOP_OK && a->strings.failed) s = hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    if (s == HOP_OK)
        *out = &a->seen;
    else
        hop_bounds_free(&a->seen);
    return s;
}

void hop_bounds_free(hop_bounds *b)
{
    if (!b) return;
    answer *a = (answer *)(void *)b; /* its first member */
    hop__strings_free(&a->strings);
    free(a);
}

void hop_bounds_leave(void)
{
    flint_cleanup();
}
