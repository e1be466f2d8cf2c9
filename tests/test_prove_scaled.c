/* Factors that multiply each other, scaled against each other up to the edge of float32, in every layer of
 * every kind of network: what a kernel forms on its way overflows or underflows although the network's
 * function is the same. Whatever is proved must be right: as a whole sequence, token by token and in
 * segments, with every kernel table. */
#include "fooled.h"
#include "scaled_networks.h"

#include <stdlib.h>

enum { FORMS = 4 };
static const char *const forms[FORMS] = {"whole", "by tokens", "in segments", "in segments of one token"};

typedef struct result {
    bool made, proved, wrong;
    int isa, form;
} result;

typedef struct all_of_them {
    int64_t count;
    int isa;      /* that is selected */
    bool running; /* those that are proved are run; else all are proved */
    result *of;
} all_of_them;

/* Inputs of a task in their order, if these are few; else some of them. */
enum { MOST_INPUTS = 64, SOME_INPUTS = 32, MOST_TOKENS = 64 };

static bool next_input(const hop_task *t, int32_t *tokens, int64_t number, hop_rng *rng)
{
    double inputs = pow(10, hop_task_log10_inputs(t));
    if (inputs > MOST_INPUTS) {
        hop_task_sample(t, rng, tokens);
        return number < SOME_INPUTS;
    }
    int64_t p = t->length - 1;
    if (number == 0) {
        memset(tokens, 0, sizeof *tokens * (size_t)t->length);
        return true;
    }
    while (p >= 0 && ++tokens[p] == hop_task_values(t, p)) tokens[p--] = 0;
    return p >= 0;
}

static bool wrong_rows(const hop_task *t, const float *logits, const int32_t *targets)
{
    for (int64_t i = 0; i < t->length; i++)
        if (targets[i] >= 0 && hop_argmax(logits + i * t->vocab, t->vocab) != targets[i]) return true;
    return false;
}

/* Whole sequences, or in segments that begin where `starts` says. */
static bool errs_whole(const hop_model *m, const subject *s, const hop_cuts *cuts)
{
    int32_t tokens[MOST_TOKENS] = {0}, targets[MOST_TOKENS];
    float *logits = malloc(sizeof *logits * (size_t)(s->task.length * s->task.vocab));
    hop_forward *f = NULL;
    hop_rng rng;
    bool wrong = false;
    hop_rng_init(&rng, 5, 0);
    const hop_forward_options o = {.bits = s->bits, .cuts = cuts};
    if (!logits || hop_forward_new(&f, m, &o, NULL) != HOP_OK) abort();
    for (int64_t i = 0; !wrong && next_input(&s->task, tokens, i, &rng); i++) {
        hop_task_solve(&s->task, tokens, targets);
        if (hop_forward_all(f, tokens, s->task.length, logits, NULL) != HOP_OK) abort();
        wrong = wrong_rows(&s->task, logits, targets);
    }
    hop_forward_free(f);
    free(logits);
    return wrong;
}

static bool errs_stepped(const hop_model *m, const hop_task *t)
{
    int32_t tokens[MOST_TOKENS] = {0}, targets[MOST_TOKENS];
    float *logits = malloc(sizeof *logits * (size_t)t->vocab);
    hop_decoder *d = NULL;
    hop_rng rng;
    bool wrong = false;
    hop_rng_init(&rng, 6, 0);
    if (!logits || hop_decoder_new(&d, m, t->length, true, NULL) != HOP_OK) abort();
    for (int64_t i = 0; !wrong && next_input(t, tokens, i, &rng); i++) {
        hop_task_solve(t, tokens, targets);
        if (hop_decoder_rewind(d, 0, NULL) != HOP_OK) abort();
        for (int64_t p = 0; p < t->length; p++) {
            if (hop_decoder_step(d, tokens[p], logits, NULL) != HOP_OK) abort();
            wrong = wrong || (targets[p] >= 0 && hop_argmax(logits, t->vocab) != targets[p]);
        }
    }
    hop_decoder_free(d);
    free(logits);
    return wrong;
}

/* In which form it errs; -1: in none. */
static int errs_in(const hop_model *m, const subject *s)
{
    const hop_task *t = &s->task;
    int64_t starts[MOST_TOKENS], n = 0;
    bool causal = !hop_model_config(m)->bidirectional, chain = strcmp(s->kind, "cot") == 0;
    if (t->length > MOST_TOKENS) return -1;
    if (chain) return errs_as_run(m, s) ? 0 : -1;
    if (!s->message && errs_whole(m, s, NULL)) return 0;
    if (causal && !s->message && !s->bits && errs_stepped(m, t)) return 1;
    if (!causal || s->bits) return -1;
    if (s->message) { /* a segment a player, as the game is played */
        for (int l = t->funccomp.hops; l >= 0; l--) starts[n++] = t->funccomp.start[l];
        starts[n++] = t->length - 1;
        return errs_whole(m, s, &(hop_cuts){.starts = starts, .count = n, .bits = s->message}) ? 2 : -1;
    }
    for (int64_t i = 0; i < t->length; i += 1 + i % 3) starts[n++] = i;
    if (errs_whole(m, s, &(hop_cuts){.starts = starts, .count = n, .bits = 32})) return 2;
    for (n = 0; n < t->length; n++) starts[n] = n;
    if (errs_whole(m, s, &(hop_cuts){.starts = starts, .count = n, .bits = 32})) return 3;
    return -1;
}

static bool scaled_is_proved(const hop_model *m, const subject *s, bool *made)
{
    hop_proof p;
    const hop_progress progress = {.tick = go_on};
    const hop_prove_options how = {
        .method = HOP_PROVE_INTERVAL, .bits = s->bits, .message_bits = s->message, .progress = &progress};
    hop_status status = hop_prove(&p, m, &s->task, &how, NULL);
    bool proved = status == HOP_OK && p.verdict == HOP_PROVED;
    if (status == HOP_OK) hop_proof_free(&p);
    *made = status == HOP_OK || status == HOP_ESTOPPED;
    return proved;
}

static void one_of_them(void *ctx, int64_t number, int worker)
{
    all_of_them *c = ctx;
    result *r = &c->of[number];
    subject s = {0};
    (void)worker;
    if (c->running && (!r->proved || r->wrong)) return;
    hop_model *m = scaled_network(number, &s);
    if (m && !c->running) r->proved = scaled_is_proved(m, &s, &r->made);
    int form = m && c->running ? errs_in(m, &s) : -1;
    if (form >= 0) r->wrong = true, r->form = form, r->isa = c->isa;
    hop_model_free(m);
}

static void run_all(all_of_them *c)
{
    hop_pool *pool = hop_pool_new(0);
    hop_isa first = hop_kernels_selected();
    c->of = calloc((size_t)c->count, sizeof *c->of);
    assert_non_null(c->of);
    hop_pool_run(pool, c->count, one_of_them, c);
    c->running = true;
    for (int isa = 0; isa < HOP_ISA_COUNT; isa++) {
        if (!hop_isa_available((hop_isa)isa) || hop_kernels_select((hop_isa)isa, NULL) != HOP_OK) continue;
        c->isa = isa;
        hop_pool_run(pool, c->count, one_of_them, c);
    }
    assert_int_equal(hop_kernels_select(first, NULL), HOP_OK);
    hop_pool_free(pool);
}

static void nothing_scaled_is_proved_and_errs(void **state)
{
    static const char *const names[] = {
#define SCALED_TEXT(name, text) text,
        SCALED_FAMILIES(SCALED_TEXT)
#undef SCALED_TEXT
    };
    const char *asked = getenv("HOPBOUND_SCALED");
    all_of_them c = {.count = asked ? atoll(asked) : getenv("HOPBOUND_LONG") ? 40000 : 500};
    int64_t made[SCALED_FAMILY_COUNT] = {0}, proved[SCALED_FAMILY_COUNT] = {0}, bad = 0;
    (void)state;
    run_all(&c);
    for (int64_t i = 0; i < c.count; i++) {
        const result *r = &c.of[i];
        made[scaled_family(i)] += r->made, proved[scaled_family(i)] += r->proved;
        if (!r->proved || !r->wrong) continue;
        bad++;
        print_message("network %lld, %s, %s: proved, and errs %s with the kernels of %s\n", (long long)i,
                      scaled_subject_name(i), names[scaled_family(i)], forms[r->form],
                      hop_isa_name((hop_isa)r->isa));
    }
    for (int k = 0; k < SCALED_FAMILY_COUNT; k++)
        print_message("%-46s %6lld made, %6lld proved\n", names[k], (long long)made[k], (long long)proved[k]);
    free(c.of);
    assert_int_equal(bad, 0);
    for (int k = 0; k < SCALED_FAMILY_COUNT; k++)
        assert_true(made[k] > c.count / 20 && proved[k] > made[k] / 50);
}

/* As it is, in the game of 24 bits and of 32; or in the game in which it errs. */
static void what_fooled_the_prover_once_is_not_proved(void **state)
{
    static const int messages[] = {0, 24, 32};
    (void)state;
    for (int i = 0; i < 3 * FOOLED_COUNT; i++) {
        subject s = {0};
        bool made;
        hop_model *m = fooled_network(i / 3, &s);
        bool causal = !hop_model_config(m)->bidirectional; /* else nothing crosses */
        if (!s.message && causal) s.message = messages[i % 3];
        if (scaled_is_proved(m, &s, &made))
            fail_msg("%s is proved with messages of %d bits", FOOLED[i / 3].name, s.message);
        assert_true(made);
        hop_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_fooled_the_prover_once_is_not_proved),
                                       cmocka_unit_test(nothing_scaled_is_proved_and_errs)};
    return cmocka_run_group_tests_name("prove_scaled", tests, NULL, NULL);
}
