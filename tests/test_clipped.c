/* P1's network in a given architecture, in a stream as narrow as P1 counts: one register, and MLPs that clip. */
#include "against_truth.h"

#include <hopbound/bounds.h>

#include <stdio.h>

/* L hops: L+1 layers that attend, or L and one that brings something, before the first or behind it. */
static const struct {
    const char *pattern;
    int hops;
} PLANS[] = {
    {"F F", 1},       {"L F", 1},       {"F L", 1},   {"W F", 1},       {"F W", 1},
    {"F F F", 2},     {"L F F", 2},     {"F L F", 2}, {"F W F", 2},     {"F F L F", 2},
    {"L W F L F", 2}, {"F L L F F", 3}, {"F^4", 3},   {"W F L F F", 3},
};
enum { PLAN_COUNT = sizeof PLANS / sizeof *PLANS };

/* The architecture: widths that P1 asks for, and no more. */
static void shape_of(hop_config *c, int plan, const char *mixer, const hop_funccomp *t)
{
    int64_t bits = 0, digits = 0;
    for (int l = 0; l < t->hops; l++) {
        int64_t width = 1;
        while ((int64_t)1 << width < (l ? t->fan[l] : t->m)) width++;
        bits += width, digits += l ? width : 0;
    }
    hop_config_init(c);
    assert_int_equal(hop_pattern_parse(&c->pattern, PLANS[plan].pattern, mixer, NULL), HOP_OK);
    c->norm = HOP_NORM_NONE, c->mlp = HOP_MLP_RELU, c->heads = c->kv_heads = 2;
    c->head_dim = t->hops + 2 + bits, c->d_model = t->hops + 2 + 3 * bits + digits;
    assert_int_equal(hop_config_set(c, -1, "window", "window", 2, NULL), HOP_OK);
}

static hop_model *network(int plan, const char *mixer, const hop_task *t)
{
    hop_config c;
    hop_model *m = NULL;
    hop_error err = {0};
    shape_of(&c, plan, mixer, &t->funccomp);
    if (hop_construct(&m, "hybrid", t, &(hop_construct_options){.shape = &c}, &err) != HOP_OK)
        fail_msg("%s %s: %s", PLANS[plan].pattern, mixer, err.text);
    assert_int_equal(hop_model_config(m)->d_model, c.d_model);
    hop_config_free(&c);
    return m;
}

static void every_plan_is_proved_with_every_mixer_and_called_possible(void **state)
{
    (void)state;
    for (int plan = 0; plan < PLAN_COUNT; plan++)
        for (int i = 0; linear_mixer(i); i++) {
            if (!strchr(PLANS[plan].pattern, 'L') && i > 0) continue;
            hop_task t = composition(&(sizes){PLANS[plan].hops, 5, {3, 2}});
            hop_model *m = network(plan, linear_mixer(i), &t);
            hop_proof p;
            assert_int_equal(hop_prove(&p, m, &t, &(hop_prove_options){.method = HOP_PROVE_INTERVAL}, NULL),
                             HOP_OK);
            if (p.verdict != HOP_PROVED) fail_msg("%s %s: %s", PLANS[plan].pattern, linear_mixer(i), p.why);
            hop_proof_free(&p);
            hop_arch arch;
            hop_bounds *b = NULL;
            const hop_arch_options as = {.number_bits = 32, .declared = true};
            const hop_funccomp *f = &t.funccomp;
            assert_int_equal(hop_arch_new(&arch, hop_model_config(m), &as, NULL), HOP_OK);
            const hop_question q = {
                .arch = &arch, .hops = f->hops, .m = f->m, .fan = f->fan + 1, .searched = 1};
            assert_int_equal(hop_bounds_new(&b, &q, NULL), HOP_OK);
            bool possible = false;
            for (int k = 0; k < b->count; k++) {
                assert_true(b->results[k].answer != HOP_ANSWER_IMPOSSIBLE);
                possible = possible || b->results[k].answer == HOP_ANSWER_POSSIBLE;
            }
            if (!possible)
                fail_msg("%s %s: proved, and not called possible", PLANS[plan].pattern, linear_mixer(i));
            hop_bounds_free(b);
            hop_arch_free(&arch);
            hop_model_free(m);
        }
}

static void they_are_right_on_every_small_input(void **state)
{
    (void)state;
    for (int plan = 0; plan < PLAN_COUNT; plan++) {
        if (PLANS[plan].hops > 2) continue;
        for (int i = 0; linear_mixer(i); i += 5) {
            subject s = {.kind = "hybrid",
                         .task = composition(&(sizes){PLANS[plan].hops, PLANS[plan].hops == 1 ? 3 : 2, {2}})};
            hop_model *m = network(plan, linear_mixer(i), &s.task);
            if (errs(m, &s)) fail_msg("%s %s errs", PLANS[plan].pattern, linear_mixer(i));
            hop_model_free(m);
        }
    }
}

enum { WALKS = 400 };

static hop_model *walk(int64_t number, subject *s)
{
    hop_rng rng;
    int plan = (int)(number % PLAN_COUNT);
    hop_rng_init(&rng, 31, (uint64_t)number);
    if (PLANS[plan].hops > 2) return NULL;
    *s = (subject){.kind = "hybrid",
                   .task = composition(&(sizes){PLANS[plan].hops, PLANS[plan].hops == 1 ? 3 : 2, {2}})};
    hop_model *m = network(plan, linear_mixer((int)below(&rng, 16)), &s->task);
    int64_t changes = below(&rng, 4);
    for (int64_t i = 0; i < changes; i++) change(m, &rng);
    return m;
}

static const char *any_plan(int which)
{
    (void)which;
    return "clipped";
}

static void nothing_damaged_is_proved_and_errs(void **state)
{
    (void)state;
    tally t = campaign_judge((campaign){.make = walk, .count = WALKS}, 1, any_plan);
    assert_true(t.proved > 3 && t.wrong > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_proved_with_every_mixer_and_called_possible),
        cmocka_unit_test(they_are_right_on_every_small_input),
        cmocka_unit_test(nothing_damaged_is_proved_and_errs),
    };
    return cmocka_run_group_tests_name("clipped", tests, NULL, NULL);
}
