/* Plans against every pattern of up to 8 layers, and the values at which verdicts change. */
#include "test.h"

#include <hopbound/bounds.h>
#include <hopbound/mixers.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 8

static const hop_config WIDTHS = {.d_model = 96, .heads = 2, .kv_heads = 2, .head_dim = 48},
                        WIDE = {.d_model = 600, .heads = 1, .kv_heads = 1, .head_dim = 64};

static hop_plan_question question(int hops, int64_t layers)
{
    return (hop_plan_question){.hops = hops,
                               .n = 300,
                               .layers = layers,
                               .mixer = "deltanet",
                               .widths = &WIDTHS,
                               .number_bits = 32,
                               .cache_bits = 16};
}

/* Is the pattern proved possible? Asked with one more layer of unknown kind, which P1 ignores and every other
 * theorem is silent about: that is what makes this quick. */
static bool possible(const char *pattern, const hop_plan_question *q)
{
    hop_config c;
    hop_arch arch;
    hop_bounds *b;
    hop_error err = {0};
    assert_int_equal(hop_config_copy(&c, q->widths, &err), HOP_OK);
    hop_pattern_free(&c.pattern);
    char longer[64];
    snprintf(longer, sizeof longer, "%s S", pattern);
    assert_int_equal(hop_pattern_parse(&c.pattern, longer, q->mixer, &err), HOP_OK);
    assert_int_equal(hop_arch_new(&arch, &c, &(hop_arch_options){.number_bits = 32, .declared = true}, &err),
                     HOP_OK);
    assert_int_equal(hop_bounds_new(&b, &(hop_question){.arch = &arch, .hops = q->hops, .n = q->n}, &err),
                     HOP_OK);
    bool yes = false;
    for (int i = 0; i < b->count; i++) yes = yes || b->results[i].answer == HOP_ANSWER_POSSIBLE;
    hop_bounds_free(b);
    hop_arch_free(&arch);
    hop_config_free(&c);
    return yes;
}

/* The fewest full layers of a possible pattern of so many layers, over all 2^layers of them; -1: none. A full
 * layer costs more than a linear one here, so that is the cheapest. */
static int fewest_full(const hop_plan_question *q, int layers)
{
    int best = -1;
    for (int bits = 0; bits < 1 << layers; bits++) {
        char pattern[DEEPEST + 1] = {0};
        int full = 0;
        for (int i = 0; i < layers; i++) {
            pattern[i] = bits >> i & 1 ? 'F' : 'L';
            full += bits >> i & 1;
        }
        if ((best < 0 || full < best) && possible(pattern, q)) best = full;
    }
    return best;
}

static const hop_plan *cheapest(const hop_plan *plans, int count)
{
    for (int i = 0; i < count; i++)
        if (plans[i].answer == HOP_ANSWER_POSSIBLE) return &plans[i];
    return NULL;
}

static void the_cheapest_plan_is_that_of_all_patterns_of_up_to_8_layers(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 4; hops++)
        for (int layers = 1; layers <= DEEPEST; layers++) {
            hop_plan_question q = question(hops, layers);
            hop_plan *plans;
            int count, full = fewest_full(&q, layers);
            hop_error err = {0};
            assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_OK);
            const hop_plan *best = cheapest(plans, count);
            assert_int_equal(best ? best->full : -1, full);
            for (int i = 0; i < count; i++) {
                double bytes = plans[i].cost.kv_bytes + plans[i].cost.state_bytes;
                assert_true(i == 0 || plans[i - 1].cost.kv_bytes + plans[i - 1].cost.state_bytes <= bytes);
                assert_int_equal(plans[i].answer == HOP_ANSWER_POSSIBLE, possible(plans[i].pattern, &q));
                assert_true(plans[i].full * 2 * 96 * 300 * 2 ==
                            (int64_t)plans[i].cost.kv_bytes); /* keys, values, 2 bytes */
            }
            hop_plans_free(plans, count);
        }
}

/* Without a depth: no pattern of up to 8 layers with fewer full ones, nor with as many and fewer layers. */
static void the_shallowest_plan_is_the_cheapest_of_all_depths(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 4; hops++) {
        hop_plan_question q = question(hops, 0);
        hop_plan *plans;
        int count, full = -1, depth = 0;
        hop_error err = {0};
        for (int layers = 1; layers <= DEEPEST; layers++) {
            int fewest = fewest_full(&q, layers);
            if (fewest < 0 || (full >= 0 && fewest >= full)) continue;
            full = fewest, depth = layers;
        }
        assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_OK);
        const hop_plan *best = cheapest(plans, count);
        assert_non_null(best);
        assert_int_equal(best->full, full);
        assert_int_equal(best->layers, depth);
        hop_plans_free(plans, count);
    }
}

/* The same where states hold tables, and a full layer may be the cheaper one: costs come from the plans of
 * every number of full layers. */
static void the_cheapest_plan_with_states_that_hold_tables_is_that_of_all_patterns(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 3; hops++)
        for (int layers = 1, most = getenv("HOPBOUND_LONG") ? DEEPEST : 6; layers <= most; layers++)
            for (int64_t n = 20; n <= 60; n += 40) {
                const int64_t every[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
                hop_plan_question q = question(hops, layers);
                hop_plan *all, *plans;
                int total, count;
                double best = INFINITY;
                hop_error err = {0};
                q.mixer = "linear", q.n = n, q.widths = &WIDE;
                q.full = every, q.full_count = layers + 1;
                assert_int_equal(hop_plans_find(&all, &total, &q, &err), HOP_OK);
                for (int bits = 0; bits < 1 << layers; bits++) {
                    char pattern[DEEPEST + 1] = {0};
                    int full = 0;
                    for (int i = 0; i < layers; i++)
                        pattern[i] = bits >> i & 1 ? 'F' : 'L', full += bits >> i & 1;
                    for (int i = 0; i < total; i++)
                        if (all[i].full == full && all[i].cost.kv_bytes + all[i].cost.state_bytes < best &&
                            possible(pattern, &q))
                            best = all[i].cost.kv_bytes + all[i].cost.state_bytes;
                }
                q.full_count = 0;
                assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_OK);
                const hop_plan *found = cheapest(plans, count);
                assert_true((found ? found->cost.kv_bytes + found->cost.state_bytes : INFINITY) == best);
                assert_true(best < INFINITY || layers <= hops);
                hop_plans_free(all, total);
                hop_plans_free(plans, count);
            }
}

static void questions_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    hop_plan *plans;
    int count;
    hop_error err = {0};
    hop_plan_question q = question(0, 4);
    assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_EDOMAIN);
    q = question(2, 4), q.mixer = "nothing";
    assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_EUNKNOWN);
    q.mixer = "full";
    assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_EDOMAIN);
    q = question(2, 4), q.full = (const int64_t[]){5}, q.full_count = 1;
    assert_int_equal(hop_plans_find(&plans, &count, &q, &err), HOP_EDOMAIN);
    assert_null(plans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_plan_is_that_of_all_patterns_of_up_to_8_layers),
        cmocka_unit_test(the_shallowest_plan_is_the_cheapest_of_all_depths),
        cmocka_unit_test(the_cheapest_plan_with_states_that_hold_tables_is_that_of_all_patterns),
        cmocka_unit_test(questions_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
