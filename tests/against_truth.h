/* Many changed networks, each proved and run: what the proof by sets says against what `run` and the decoder
 * answer, on every input and with every kernel table of this machine. Networks are numbered and made anew
 * from their number, so that nothing is kept but verdicts. Work goes out to threads, where nothing may be
 * asserted: results are looked at afterwards. */
#ifndef HOPBOUND_AGAINST_TRUTH_H
#define HOPBOUND_AGAINST_TRUTH_H

#include "test.h"

#include <hopbound/construct.h>
#include <hopbound/layers.h>
#include <hopbound/verdict.h>

/* What networks start from: a kind, and the smallest tasks for it. */
typedef struct subject {
    const char *kind, *mixer; /* mixer NULL: the kind has none */
    hop_task task;
    int bits;    /* significant bits that activations are cut to; 0: float32 */
    int message; /* bits of numbers that cross between players; 0: all */
} subject;

typedef struct sizes {
    int hops;
    int64_t m, fan[8];
} sizes;

static inline hop_task composition(const sizes *s)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    if (hop_funccomp_init(&t.funccomp, s->hops, s->m, s->fan, NULL) != HOP_OK ||
        hop_task_ready(&t, NULL) != HOP_OK)
        abort();
    return t;
}

static inline hop_task two_sum(int64_t n, int64_t mod)
{
    hop_task t = {.kind = HOP_TASK_TWOSUM, .twosum = {.n = n, .mod = mod}};
    if (hop_task_ready(&t, NULL) != HOP_OK) abort();
    return t;
}

static inline hop_model *construct(const subject *s)
{
    hop_model *m = NULL;
    const hop_construct_options o = {.mixer = s->mixer, .block = 2, .topk = 1};
    if (hop_construct(&m, s->kind, &s->task, &o, NULL) != HOP_OK) abort();
    return m;
}

/* A linear mixer of the registry, the number-th of them; NULL: there are fewer. */
static inline const char *linear_mixer(int number)
{
    for (int i = 0; hop_mixer_at(i); i++)
        if (hop_mixer_at(i)->kind == HOP_MIXER_RECURRENT && number-- == 0) return hop_mixer_at(i)->name;
    return NULL;
}

/* ---- changes ------------------------------------------------------------------------------------ */

static inline int64_t rows_of(const hop_weight *w)
{
    return w->shape[0];
}

static inline int64_t columns_of(const hop_weight *w)
{
    return w->rank == 2 ? w->shape[1] : 1;
}

static inline int64_t below(hop_rng *rng, int64_t n)
{
    return (int64_t)hop_rng_below(rng, (uint64_t)n);
}

/* The same network with room to forge in: two more numbers in the stream, which are 1 for every token; more
 * hidden units, heads and key numbers. Old weights stand in the corner of the new tensors, numbers of vectors
 * go on as their last one. Some mixers lay out their rows otherwise: such networks err. */
static inline hop_model *with_room(const hop_model *good, hop_rng *rng)
{
    static const char *const more[] = {"head_dim", "state_dim", "rank", "heads", "value_dim"};
    const hop_config *old = hop_model_config(good);
    hop_config c;
    hop_model *m = NULL;
    if (hop_config_copy(&c, old, NULL) != HOP_OK) return NULL;
    c.d_model += 2, c.mlp_hidden += 2 * (c.mlp_hidden > 0);
    if (below(rng, 2)) c.heads *= 2, c.kv_heads *= 2;
    if (below(rng, 2)) c.head_dim++;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        hop_config tried;
        if (below(rng, 3) || hop_config_copy(&tried, &c, NULL) != HOP_OK) continue;
        bool heads = strcmp(more[i], "heads") == 0;
        bool fits = hop_config_set(&tried, 0, "", more[i], 2 + 2 * (strcmp(more[i], "value_dim") == 0),
                                   NULL) == HOP_OK &&
                    (!heads || hop_config_set(&tried, 0, "", "kv_heads", 2, NULL) == HOP_OK) &&
                    hop_model_new(&m, &tried, NULL) == HOP_OK;
        if (fits) hop_model_free(m);
        hop_config *kept = fits ? &c : &tried;
        hop_config_free(kept);
        if (fits) c = tried;
    }
    m = NULL;
    hop_status s = hop_model_new(&m, &c, NULL);
    hop_config_free(&c);
    for (int64_t i = 0; s == HOP_OK && i < hop_model_weight_count(m); i++) {
        const hop_weight *to = hop_model_weight_at(m, i), *from = hop_model_weight(good, to->name);
        bool tokens = strcmp(to->name, "model.embed_tokens.weight") == 0;
        for (int64_t r = 0; r < rows_of(to); r++)
            for (int64_t k = 0; k < columns_of(to); k++) {
                float *x = &to->data[r * columns_of(to) + k];
                bool within = from && r < rows_of(from) && k < columns_of(from);
                *x = tokens && k >= old->d_model ? 1 : 0;
                if (within) *x = from->data[r * columns_of(from) + k];
                if (!within && from && to->rank == 1) *x = from->data[rows_of(from) - 1];
            }
    }
    return s == HOP_OK ? m : NULL;
}

/* One change of many kinds: a sign, a zero, exchanged rows, powers of two, a unit in the last place. */
static inline void swap_rows(const hop_weight *w, int64_t a, int64_t b)
{
    for (int64_t c = 0; c < columns_of(w); c++) {
        float *x = &w->data[a * columns_of(w) + c], *y = &w->data[b * columns_of(w) + c], old = *x;
        *x = *y, *y = old;
    }
}

static inline void change(const hop_model *m, hop_rng *rng)
{
    const hop_weight *w = hop_model_weight_at(m, below(rng, hop_model_weight_count(m)));
    int64_t n = rows_of(w) * columns_of(w), row = below(rng, rows_of(w)), cols = columns_of(w);
    float *x = &w->data[below(rng, n)];
    for (int i = 0; i < 4 && *x == 0; i++) x = &w->data[below(rng, n)]; /* most weights are 0 */
    float power = ldexpf(1, (int)below(rng, 9) - 4);
    switch (below(rng, 12)) {
    case 0: *x = -*x; break;
    case 1: *x = *x == 0; break;
    case 2: swap_rows(w, row, below(rng, rows_of(w))); break;
    case 3: *x *= power; break;
    case 4:
        for (int64_t c = 0; c < cols; c++) w->data[row * cols + c] *= power;
        break;
    case 5:
        for (int64_t i = 0; i < n; i++) w->data[i] *= power;
        break;
    case 6: *x = nextafterf(*x, below(rng, 2) ? INFINITY : -INFINITY); break;
    case 7:
        for (int64_t i = 0; i < n; i++) w->data[i] = nextafterf(w->data[i], w->data[i] < 0 ? -INFINITY : 0);
        break;
    case 8: *x += (float)hop_rng_normal(rng); break;
    case 9: *x += 0x1p-12f * (float)hop_rng_normal(rng); break;
    case 10: *x *= ldexpf(1, (int)below(rng, 121) - 60); break;
    default: w->data[below(rng, n)] += (float)below(rng, 3) - 1; break;
    }
}

/* ---- the truth ---------------------------------------------------------------------------------- */

/* Does it err on any input, as `run` asks it? */
static inline bool errs_as_run(const hop_model *m, const subject *s)
{
    hop_proof p;
    const hop_prove_options o = {.method = HOP_PROVE_ENUMERATE, .bits = s->bits, .message_bits = s->message};
    if (hop_prove(&p, m, &s->task, &o, NULL) != HOP_OK) return true;
    bool wrong = p.verdict != HOP_PROVED;
    hop_proof_free(&p);
    return wrong;
}

/* Does it err on any input, token by token? */
static inline bool errs_by_steps(const hop_model *m, const hop_task *t)
{
    int32_t tokens[32] = {0}, targets[32];
    float logits[64];
    hop_decoder *d = NULL;
    if (t->length > 32 || t->vocab > 64 || hop_decoder_new(&d, m, t->length, true, NULL) != HOP_OK) abort();
    bool wrong = false;
    for (int64_t p = 0; p >= 0 && !wrong;) {
        hop_task_solve(t, tokens, targets);
        if (hop_decoder_rewind(d, 0, NULL) != HOP_OK) abort();
        for (int64_t i = 0; i < t->length; i++) {
            if (hop_decoder_step(d, tokens[i], logits, NULL) != HOP_OK) abort();
            wrong = wrong || (targets[i] >= 0 && hop_argmax(logits, t->vocab) != targets[i]);
        }
        for (p = t->length - 1; p >= 0 && ++tokens[p] == hop_task_values(t, p); p--) tokens[p] = 0;
    }
    hop_decoder_free(d);
    return wrong;
}

/* A chain of thought is stepped by `run` itself, and an encoder cannot be. */
static inline bool errs(const hop_model *m, const subject *s)
{
    bool steps =
        strcmp(s->kind, "cot") != 0 && !hop_model_config(m)->bidirectional && !s->bits && !s->message;
    return errs_as_run(m, s) || (steps && errs_by_steps(m, &s->task));
}

/* Is it proved, in float32, by intervals? If not, and there is a name, why. */
static inline bool proved_by_intervals(const hop_model *m, const hop_task *t, const char *name)
{
    hop_proof p;
    if (hop_prove(&p, m, t, &(hop_prove_options){.method = HOP_PROVE_INTERVAL}, NULL) != HOP_OK) return false;
    bool yes = p.verdict == HOP_PROVED;
    if (!yes && name) print_message("%s: %s: %s\n", name, hop_verdict_name(p.verdict), p.why);
    hop_proof_free(&p);
    return yes;
}

/* ---- many of them -------------------------------------------------------------------------------- */

typedef struct outcome {
    int bits;
    bool made, proved, wrong; /* wrong: on some input, with the table that was selected; then with any */
} outcome;

/* All of them take minutes: every tenth is tried, unless HOPBOUND_LONG asks for all. Which ones looks random,
 * so that every kind and every family has its share. */
static inline int64_t campaign_share(void)
{
    return getenv("HOPBOUND_LONG") ? 1 : 10;
}

static inline bool campaign_takes(int64_t number)
{
    return ((uint64_t)number * 0x9e3779b97f4a7c15u >> 32) % (uint64_t)campaign_share() == 0;
}

/* Network `number`, and what it is of; NULL: there is none. */
typedef hop_model *make_fn(int64_t number, subject *s);

typedef struct campaign {
    make_fn *make;
    int64_t count;
    outcome *of; /* [count] */
    bool again;  /* only those that are proved, and only run */
} campaign;

/* The search for a counter-example takes the longest, and is not what is tested here. */
static inline bool go_on(void *ctx, const char *what, double done, double total)
{
    (void)ctx, (void)done, (void)total;
    return !what || strncmp(what, "search", 6) != 0;
}

static inline void one_network(void *ctx, int64_t number, int worker)
{
    campaign *c = ctx;
    outcome *o = &c->of[number];
    const hop_progress progress = {.tick = go_on};
    subject s = {0};
    (void)worker;
    if (!campaign_takes(number)) return;
    if (c->again && (!o->proved || o->wrong)) return;
    hop_model *m = c->make(number, &s);
    o->made = m != NULL, o->bits = s.bits;
    if (m && !c->again) {
        hop_proof p;
        const hop_prove_options how = {
            .method = HOP_PROVE_INTERVAL, .bits = s.bits, .message_bits = s.message, .progress = &progress};
        hop_status status = hop_prove(&p, m, &s.task, &how, NULL);
        o->proved = status == HOP_OK && p.verdict == HOP_PROVED;
        if (status == HOP_OK) hop_proof_free(&p);
        o->made = status == HOP_OK || status == HOP_ESTOPPED;
    }
    if (m) o->wrong = errs(m, &s);
    hop_model_free(m);
}

static inline void campaign_run(campaign *c)
{
    hop_pool *pool = hop_pool_new(0);
    hop_isa first = hop_kernels_selected();
    c->of = calloc((size_t)c->count, sizeof *c->of);
    assert_non_null(c->of);
    hop_pool_run(pool, c->count, one_network, c);
    c->again = true;
    for (int isa = 0; isa < HOP_ISA_COUNT; isa++)
        if ((hop_isa)isa != first && hop_isa_available((hop_isa)isa) &&
            hop_kernels_select((hop_isa)isa, NULL) == HOP_OK)
            hop_pool_run(pool, c->count, one_network, c);
    assert_int_equal(hop_kernels_select(first, NULL), HOP_OK);
    hop_pool_free(pool);
}

/* What became of them. Outcome i is of family i % families, whose name is for messages. */
typedef struct tally {
    int64_t made, proved, wrong, fewer; /* fewer: proved with fewer bits */
} tally;

/* Runs it: nothing is proved that errs, and of every family something is. */
static inline tally campaign_judge(campaign c, int families, const char *(*name)(int family))
{
    tally t = {0};
    int64_t bad = 0;
    int64_t *here = calloc((size_t)families, sizeof *here);
    assert_non_null(here);
    campaign_run(&c);
    for (int64_t i = 0; i < c.count; i++) {
        const outcome *o = &c.of[i];
        t.made += o->made, t.proved += o->proved, t.wrong += o->made && o->wrong,
            t.fewer += o->proved && o->bits;
        here[i % families] += o->proved;
        if (!o->proved || !o->wrong) continue;
        bad++;
        print_message("number %lld, %s: proved, and errs\n", (long long)i, name((int)(i % families)));
    }
    free(c.of);
    print_message("%lld made, %lld proved (%lld with fewer bits), %lld err\n", (long long)t.made,
                  (long long)t.proved, (long long)t.fewer, (long long)t.wrong);
    assert_int_equal(bad, 0);
    for (int k = 0; k < families; k++)
        if (here[k] == 0) fail_msg("%s: nothing proved", name(k));
    free(here);
    return t;
}

#endif
