/* Sets walked and networks run side by side. A set that does not contain a number that a kernel computes
 * is a hole in the prover, whether or not an answer comes out wrong for it: every coordinate behind every
 * layer, and every buffer behind every operation, is compared with its set, for damaged, scaled and random
 * networks of every kind and mixer, as whole sequences, token by token and in segments, with every kernel
 * table. */
#include "contained_forms.h"
#include "fooled.h"
#include "varied_networks.h"

#include <hopbound/eval.h>

#include <stdlib.h>

/* Where the sets say nothing, because a number may overflow, nothing is compared. */
typedef struct sums {
    int64_t networks, proved, compared, named, violations, bad;
} sums;

/* Some inputs in the forms that a verdict speaks of; all tables in turn. */
static void keep_passes(contained *c, hop_rng *rng)
{
    const subject *s = c->s;
    int32_t tokens[CONTAINED_TOKENS];
    bool both = hop_model_config(c->m)->bidirectional, chain = strcmp(s->kind, "cot") == 0;
    bool game = s->task.kind == HOP_TASK_FUNCCOMP;
    hop_isa first = hop_kernels_selected();
    for (int i = 0; i < 3; i++)
        for (int isa = 0; isa < HOP_ISA_COUNT; isa++) {
            if (!hop_isa_available((hop_isa)isa)) continue;
            if (hop_kernels_select((hop_isa)isa, NULL) != HOP_OK) continue;
            hop_task_sample(&s->task, rng, tokens);
            if (!s->message && !chain) contained_pass(c, 0, tokens);
            if (!s->message && !s->bits && !both) contained_pass(c, 1, tokens);
            if (game && !s->bits && !both && !chain) contained_pass(c, 2, tokens);
            if (!s->message && !s->bits && !both && !chain) contained_pass(c, 3, tokens);
        }
    if (hop_kernels_select(first, NULL) != HOP_OK) abort();
}

static void compare(sums *all, const hop_model *m, const subject *s, int64_t number, const char *what)
{
    contained c;
    hop_rng rng;
    int64_t generated = 0;
    hop_rng_init(&rng, 77, (uint64_t)number);
    if (hop_generated_tokens(hop_model_config(m), &generated, NULL) != HOP_OK) abort();
    if (generated > 0) generated--; /* the last one is the answer, and goes nowhere */
    if (s->task.length + generated > CONTAINED_TOKENS) return;
    contained_open(&c, m, s, generated);
    keep_passes(&c, &rng);
    all->proved += contained_walk(&c);
    all->networks++, all->compared += c.compared, all->named += c.named;
    all->violations += c.violations, all->bad += c.violations > 0;
    if (c.violations > 0)
        print_message("%s %lld, %s: %lld of %lld outside: %s\n", what, (long long)number,
                      s->mixer ? s->mixer : s->kind, (long long)c.violations, (long long)c.compared, c.where);
    contained_close(&c);
}

static int64_t count_of(int64_t some, int64_t many)
{
    const char *asked = getenv("HOPBOUND_CONTAINED");
    return asked ? atoll(asked) : getenv("HOPBOUND_LONG") ? many : some;
}

static void judge(const sums *all)
{
    print_message("%lld networks, %lld proved; %lld numbers compared, %lld of them named on the way inside a "
                  "recurrence; %lld outside their sets\n",
                  (long long)all->networks, (long long)all->proved, (long long)all->compared,
                  (long long)all->named, (long long)all->violations);
    assert_int_equal(all->violations, 0);
    assert_true(all->networks > 0 && all->compared > 1000 * all->networks);
}

static void what_scaled_networks_compute_is_in_its_sets(void **state)
{
    sums all = {0};
    (void)state;
    for (int64_t i = 0, n = count_of(120, 20000); i < n; i++) {
        subject s = {0};
        hop_model *m = scaled_network(i * 7, &s);
        if (m) compare(&all, m, &s, i * 7, "scaled");
        hop_model_free(m);
    }
    judge(&all);
}

static void what_damaged_networks_compute_is_in_its_sets(void **state)
{
    sums all = {0};
    (void)state;
    for (int64_t i = 0, n = count_of(120, 20000); i < n; i++) {
        subject s = {0};
        hop_rng rng;
        hop_rng_init(&rng, 31, (uint64_t)i);
        hop_model *m = scaled_base(i, &s, &rng);
        for (int64_t k = 1 + below(&rng, 8); m && k > 0; k--) change(m, &rng);
        if (m) compare(&all, m, &s, i, "damaged");
        hop_model_free(m);
    }
    judge(&all);
}

/* The weights that training starts from: nothing is followed there, and everything is a box. */
static void what_random_networks_compute_is_in_its_sets(void **state)
{
    sums all = {0};
    (void)state;
    for (int64_t i = 0, n = count_of(60, 5000); i < n; i++) {
        subject s = {0};
        hop_rng rng;
        hop_rng_init(&rng, 32, (uint64_t)i);
        hop_model *m = scaled_base(i, &s, &rng);
        if (m) hop_model_init_weights(m, (uint64_t)i, NULL);
        if (m) compare(&all, m, &s, i, "random");
        hop_model_free(m);
    }
    judge(&all);
}

static void what_varied_networks_compute_is_in_their_sets(void **state)
{
    sums all = {0};
    (void)state;
    for (int64_t i = 0, n = count_of(20 * VARIED_COUNT, 1000 * VARIED_COUNT); i < n; i++) {
        subject s = {0};
        int kind = (int)(i % VARIED_COUNT);
        hop_model *m = varied_network(kind, i / VARIED_COUNT, &s);
        if (m) compare(&all, m, &s, i, VARIED[kind].name);
        hop_model_free(m);
    }
    judge(&all);
}

static void what_fooled_the_prover_is_in_its_sets(void **state)
{
    sums all = {0};
    (void)state;
    for (int i = 0; i < FOOLED_COUNT; i++) {
        subject s = {0};
        hop_model *m = fooled_network(i, &s);
        compare(&all, m, &s, i, "false proof");
        hop_model_free(m);
    }
    judge(&all);
}

/* Heads that see nothing but matches, as far as float32 can tell: what they return is a mean of equal numbers, which have all
 * their bits, and is off by that mean's roundings alone. */
static void what_matches_return_is_in_their_sets(void **state)
{
    sums all = {0};
    (void)state;
    for (int64_t i = 0; i < 6; i++) {
        subject s = {.kind = "two-sum-full", .task = two_sum(24 + 4 * i, 3)};
        hop_model *m = construct(&s);
        scaled_times(hop_model_layer_weight(m, 0, "mixer.q_proj.weight"), 64);
        scaled_times(hop_model_layer_weight(m, 0, "mixer.v_proj.weight"), 1 + 1.0 / (double)(3 + i));
        compare(&all, m, &s, i, "matches");
        hop_model_free(m);
    }
    judge(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_scaled_networks_compute_is_in_its_sets),
        cmocka_unit_test(what_damaged_networks_compute_is_in_its_sets),
        cmocka_unit_test(what_random_networks_compute_is_in_its_sets),
        cmocka_unit_test(what_varied_networks_compute_is_in_their_sets),
        cmocka_unit_test(what_fooled_the_prover_is_in_its_sets),
        cmocka_unit_test(what_matches_return_is_in_their_sets),
    };
    return cmocka_run_group_tests_name("prove_contained", tests, NULL, NULL);
}
