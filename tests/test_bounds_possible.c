/* P1, and how many hops: what is said to be possible against the networks that are built. */
#include "bounds_ask.h"

#include <hopbound/construct.h>

/* Rows of layer 1's values that are not 0. */
static int64_t values_used(hop_model *m)
{
    const hop_weight *v = hop_model_layer_weight(m, 1, "mixer.v_proj.weight");
    int64_t used = 0;
    for (int64_t r = 0; r < v->shape[0]; r++) {
        bool any = false;
        for (int64_t c = 0; c < v->shape[1]; c++) any = any || v->data[r * v->shape[1] + c] != 0;
        used += any;
    }
    return used;
}

static void p1_asks_for_what_the_constructions_have(void **state)
{
    (void)state;
    static const int64_t fans[][3] = {{0}, {3}, {2, 3}, {5, 2, 9}};
    for (int hops = 1; hops <= 4; hops++) {
        hop_task task = {.kind = HOP_TASK_FUNCCOMP};
        hop_error err = {0};
        assert_int_equal(hop_funccomp_init(&task.funccomp, hops, 5, fans[hops - 1], &err), HOP_OK);
        assert_int_equal(hop_task_ready(&task, &err), HOP_OK);
        fmpz sizes[4] = {5, fans[hops - 1][0], fans[hops - 1][1], fans[hops - 1][2]};
        hop__need need = hop__need_of(hops, hop__bits_of(sizes, hops));
        const char *const kinds[] = {"full", "hybrid"};
        for (int k = 0; k < 2; k++) {
            hop_model *m = NULL;
            assert_int_equal(hop_construct(&m, kinds[k], &task, NULL, &err), HOP_OK);
            assert_int_equal(hop_model_config(m)->head_dim, need.key);
            assert_int_equal(hop_model_config(m)->d_model, need.width);
            assert_int_equal(hop_model_config(m)->mlp_hidden,
                             2 * need.value); /* two units a bit of the code */
            assert_int_equal(values_used(m), need.value);
            hop_model_free(m);
        }
        const struct {
            int64_t key, value, width;
            const char *lacks;
        } tries[] = {
            {need.key, need.value, need.width, NULL},
            {need.key - 1, need.value, need.width, "short of key dimension >= "},
            {need.key, need.value - 1, need.width, "short of value dimension >= "},
            {need.key, need.value, need.width - 1, "short of residual width >= "},
            {need.key, need.value, 0, NULL}, /* not counted */
        };
        for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
            hop_arch_layer layer = FULL(hops + 1, 1, tries[k].value, 32);
            layer.key_dim = tries[k].key;
            hop_arch a = {.layers = &layer, .count = 1, .width = tries[k].width};
            hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = hops, .m = 5, .fan = fans[hops - 1]});
            const hop_bound *r = result(b, "P1");
            assert_int_equal(r->answer, tries[k].lacks ? HOP_ANSWER_SILENT : HOP_ANSWER_POSSIBLE);
            if (tries[k].lacks) assert_non_null(strstr(r->why, tries[k].lacks));
            if (!tries[k].width) assert_non_null(strstr(r->has, "width unknown, not counted"));
            int unmet = 0;
            for (int h = 0; h < r->hypothesis_count; h++) unmet += !r->hypotheses[h].met;
            assert_int_equal(unmet, tries[k].lacks != NULL);
            hop_bounds_free(b);
        }
    }
}

static void what_is_short_is_named(void **state)
{
    (void)state;
    hop_arch_layer writes_little = LINEAR(1, 100000);
    writes_little.heads = 2, writes_little.dim = 3;
    hop_arch_layer forgets = LINEAR(1, 100000);
    forgets.forgets = true;
    const struct {
        hop_arch_layer linear, full;
        const char *why; /* NULL: possible */
    } cases[] = {
        {LINEAR(1, 7 * 16), FULL(1, 1, 10, 13), NULL},
        {LINEAR(1, 7 * 16 - 1), FULL(1, 1, 10, 13), "short of a linear state of >= 7 numbers (here 6)"},
        {writes_little, FULL(1, 1, 10, 13), "short of a linear state of >= 7 numbers (here 6)"},
        {LINEAR(1, 7 * 16), FULL(1, 1, 9, 13), "short of head dimension >= 10 (here 9)"},
        {LINEAR(1, 7 * 16), FULL(1, 1, 10, 12), "short of p >= 13 (here 12)"},
        {LINEAR(1, 16), FULL(1, 1, 9, 13),
         "dimension >= 10 (here 9), a linear state of >= 7 numbers (here 1)"},
        {forgets, FULL(1, 1, 10, 13), "does not apply: it takes L+1 = 2 full layers, or L = 1 and"},
        {LINEAR(1, 0), FULL(1, 1, 10, 13), "does not apply: it takes L+1 = 2 full layers, or L = 1 and"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ARCH(a, cases[i].linear, cases[i].full);
        hop_bounds *b = ask_at(&a, 1, 100); /* codes of 7 bits */
        const hop_bound *r = result(b, "P1");
        assert_int_equal(r->answer, cases[i].why ? HOP_ANSWER_SILENT : HOP_ANSWER_POSSIBLE);
        if (cases[i].why && !strstr(r->why, cases[i].why)) fail_msg("case %zu: %s", i, r->why);
        hop_bounds_free(b);
    }
}

static void the_length_that_a_width_allows_is_the_last_one(void **state)
{
    (void)state;
    for (int64_t width = 5; width <= 60; width += 5)
        for (int hops = 1; hops <= 3; hops++) {
            hop_arch_layer layer = FULL(hops + 1, 1, 14, 32);
            hop_arch a = {.layers = &layer, .count = 1, .width = width};
            hop_bounds *b = ask_at(&a, hops, 0);
            const char *up_to = strstr(result(b, "P1")->why, "up to n = ");
            long long n = up_to ? strtoll(up_to + strlen("up to n = "), NULL, 10) : (1 << (hops + 1)) - 1;
            hop_bounds_free(b);
            if (up_to) assert_int_equal(answer_of(&a, hops, n, "P1"), HOP_ANSWER_POSSIBLE);
            assert_int_equal(answer_of(&a, hops, n + 1, "P1"), HOP_ANSWER_SILENT);
        }
}

static void a_linear_layer_without_state_is_no_layer(void **state)
{
    (void)state;
    ARCH(alone, FULL(1, 1, 8, 16));
    ARCH(idle, LINEAR(2, 0), FULL(1, 1, 8, 16), LINEAR(1, 0));
    ARCH(both, BOTH(1, 8, 16, 0));
    const hop_arch *same[] = {&idle, &both};
    for (int hops = 1; hops <= 2; hops++)
        for (int k = 0; k < 2; k++) {
            hop_bounds *b = ask_at(&alone, hops, 100000), *c = ask_at(same[k], hops, 100000);
            for (int i = 0; i < b->count; i++) {
                assert_int_equal(b->results[i].applies, c->results[i].applies);
                assert_string_equal(b->results[i].why, c->results[i].why);
            }
            hop_bounds_free(b);
            hop_bounds_free(c);
        }
}

static void hops_are_counted_by_what_stands_where(void **state)
{
    (void)state;
    const hop_arch_layer F = FULL(1, 1, 64, 32), L = LINEAR(1, 100000), B = BOTH(1, 64, 32, 100000),
                         O = {.kind = HOP_LAYER_OTHER, .repeat = 1},
                         N = {.kind = HOP_LAYER_LOCAL, .repeat = 1};
    const struct {
        hop_arch_layer layers[5];
        int count, able, unable;
    } cases[] = {
        {{F}, 1, 0, 1},          {{L}, 1, 0, 1},          {{F, F}, 2, 1, 2},
        {{L, F}, 2, 1, 2},       {{F, L}, 2, 1, 2},       {{L, F, F}, 3, 2, 0},
        {{F, L, F}, 3, 2, 0},    {{F, F, L}, 3, 1, 0},    {{F, L, F, L, F}, 5, 3, 0},
        {{F, F, L, F}, 4, 2, 0}, {{B}, 1, 0, 2},          {{B, F}, 2, 1, 0},
        {{B, B, B}, 3, 2, 0},    {{O, L, N, F}, 4, 1, 0}, {{N, L, F, N}, 4, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_arch a = {.layers = cases[i].layers, .count = cases[i].count};
        hop_reach r;
        hop_error err = {0};
        assert_int_equal(hop_reach_find(&r, &a, 1000000000, true, NULL, &err), HOP_OK);
        if (r.able != cases[i].able || r.unable != cases[i].unable)
            print_message("case %zu: able %d, unable %d\n", i, r.able, r.unable);
        assert_int_equal(r.able, cases[i].able);
        assert_int_equal(r.unable, cases[i].unable);
        assert_true(r.unable == 0 || r.unable > r.able);
        assert_non_null(r.why_able);
        assert_non_null(r.why_unable);
        hop_reach_free(&r);
    }
}

static void widths_count_only_when_asked_for(void **state)
{
    (void)state;
    ARCH(narrow, LINEAR(1, 1152), FULL(3, 1, 8, 16));
    hop_reach r;
    hop_error err = {0};
    assert_int_equal(hop_reach_find(&r, &narrow, 100000, true, NULL, &err), HOP_OK);
    assert_int_equal(r.able, 0);
    assert_int_equal(r.able_by_layers, 3);
    hop_reach_free(&r);
    assert_int_equal(hop_reach_find(&r, &narrow, 100000, false, NULL, &err), HOP_OK);
    assert_int_equal(r.able, 3);
    assert_int_equal(r.needs_dim, 3 + 2 + 19);               /* codes of up to 19 bits fit 100,000 tokens */
    assert_int_equal(r.needs_width, 3 + 2 + 3 * 2 + 4 * 17); /* m = 3 and 17 bits of w, as (129, 257) */
    hop_reach_free(&r);
    assert_int_equal(hop_reach_find(&r, &narrow, 8, false, NULL, &err), HOP_OK); /* two hops take 8 tokens */
    assert_int_equal(r.able, 2);
    hop_reach_free(&r);
}

static void what_does_not_fit_the_length_is_not_open(void **state)
{
    (void)state;
    ARCH(five, FULL(5, 1, 64, 32));
    ARCH(one, FULL(1, 1, 64, 32));
    ARCH(recurrent, LINEAR(3, 100000));
    ARCH(starved, LINEAR(1, 1), FULL(1, 1, 64, 32));
    const struct {
        const hop_arch *arch;
        int64_t n;
        int able, fit;
        const char *why;
    } cases[] = {
        {&five, 3, 0, 0, "no task fits 3 tokens"},
        {&one, 3, 0, 0, "no task fits 3 tokens"},
        {&five, 4, 1, 1, "more do not fit the length"},
        {&five, 9, 2, 2, "more do not fit the length"},
        {&recurrent, 20, 0, 3, "P10 states that hold whole tables"},
        {&starved, 100, 0, 5, "one is short of a linear state of >= 7 numbers (here 0)"},
        {&one, 100, 0, 5, "takes two full layers, or one and a linear one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_reach r;
        hop_error err = {0};
        assert_int_equal(hop_reach_find(&r, cases[i].arch, cases[i].n, true, NULL, &err), HOP_OK);
        assert_int_equal(r.able, cases[i].able);
        assert_int_equal(r.fit, cases[i].fit);
        if (!strstr(r.why_able, cases[i].why)) fail_msg("case %zu: %s", i, r.why_able);
        hop_reach_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p1_asks_for_what_the_constructions_have),
        cmocka_unit_test(what_is_short_is_named),
        cmocka_unit_test(the_length_that_a_width_allows_is_the_last_one),
        cmocka_unit_test(a_linear_layer_without_state_is_no_layer),
        cmocka_unit_test(hops_are_counted_by_what_stands_where),
        cmocka_unit_test(widths_count_only_when_asked_for),
        cmocka_unit_test(what_does_not_fit_the_length_is_not_open),
    };
    return cmocka_run_group_tests_name("bounds_possible", tests, NULL, NULL);
}
