/* Function composition: sizes, positions, sampling, solving, JSON. */
#include <hopbound/tasks.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Sizes that the tests loop over: one hop, the worked example, no powers of two, five hops. */
typedef struct sizes {
    int hops;
    int64_t m, fan[4];
} sizes;

static const sizes SIZES[] = {
    {1, 2, {0}},    {1, 7, {0}},       {2, 2, {2}},          {2, 5, {3}},
    {3, 6, {5, 3}}, {4, 2, {3, 2, 5}}, {5, 3, {2, 2, 3, 2}},
};
#define SIZE_COUNT (sizeof SIZES / sizeof SIZES[0])

static hop_funccomp make(const sizes *s)
{
    hop_funccomp t;
    hop_error err = {0};
    assert_int_equal(hop_funccomp_init(&t, s->hops, s->m, s->fan, &err), HOP_OK);
    return t;
}

/* The definition read from the back, sharing nothing with the library's solver: functions are cut off the
 * prompt's front as it says, the digits come out of w by repeated division, and the answer by recursion. */
static int64_t compose(const sizes *s, const int32_t *prompt, int l)
{
    int64_t length = 2, product = s->m;
    for (int k = 1; k <= s->hops; k++) {
        length += product;
        if (k < s->hops) product *= s->fan[k - 1];
    }
    if (l == 0) return prompt[length - 2];

    int64_t after = 2, table = s->m; /* tokens from z_l's first to the prompt's end; entries of z_l */
    for (int k = 1; k <= l; k++) {
        if (k > 1) table *= s->fan[k - 2];
        after += table;
    }
    int64_t w = prompt[length - 1], digit = 0;
    for (int k = 1; k < l; k++) {
        digit = w % s->fan[k - 1];
        w /= s->fan[k - 1];
    }
    int64_t stride = l >= 2 ? table / s->fan[l - 2] : 0;
    return prompt[length - after + digit * stride + compose(s, prompt, l - 1)];
}

static void the_worked_example_has_answer_1(void **state)
{
    (void)state;
    const int32_t prompt[] = {3, 0, 2, 1, 1, 0, 0, 1};
    hop_funccomp t = make(&SIZES[2]);
    int64_t chain[3];
    assert_int_equal(t.length, 8);
    assert_int_equal(hop_funccomp_solve(&t, prompt, chain), 1);
    assert_int_equal(chain[0], 0);
    assert_int_equal(chain[1], 1);
    assert_int_equal(chain[2], 1);
    assert_int_equal(hop_funccomp_solve(&t, prompt, NULL), 1);
}

/* Every input in turn: `tokens` counts up like an odometer. False when it has wrapped around. */
static int next_input(const hop_funccomp *t, int32_t *tokens)
{
    for (int64_t p = 0; p < t->length; p++) {
        if (++tokens[p] < hop_funccomp_values(t, p)) return 1;
        tokens[p] = 0;
    }
    return 0;
}

static void the_solver_agrees_with_another_on_every_input_of_tiny_sizes(void **state)
{
    (void)state;
    const sizes tiny[] = {{1, 2, {0}}, {1, 3, {0}}, {1, 4, {0}}, {1, 5, {0}}, {2, 2, {2}}};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        hop_funccomp t = make(&tiny[i]);
        int32_t tokens[16] = {0};
        int64_t seen = 0;
        do {
            assert_int_equal(hop_funccomp_solve(&t, tokens, NULL), compose(&tiny[i], tokens, tiny[i].hops));
            seen++;
        } while (next_input(&t, tokens));
        assert_int_equal(seen, hop_funccomp_inputs(&t)); /* counting by formula and by hand agree */
    }
}

static void the_solver_agrees_with_another_on_samples_of_every_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        hop_funccomp t = make(&SIZES[i]);
        int32_t *tokens = calloc((size_t)t.length, sizeof *tokens);
        for (uint64_t k = 0; k < 200; k++) {
            hop_rng rng;
            int64_t chain[HOP_MAX_HOPS];
            hop_rng_init(&rng, 7, k);
            hop_funccomp_sample(&t, &rng, tokens);
            assert_int_equal(hop_funccomp_solve(&t, tokens, chain),
                             compose(&SIZES[i], tokens, SIZES[i].hops));
            for (int l = 0; l <= t.hops; l++) assert_int_equal(chain[l], compose(&SIZES[i], tokens, l));
        }
        free(tokens);
    }
}

static void players_stand_in_prompt_order_and_indices_count_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        hop_funccomp t = make(&SIZES[i]);
        int64_t position = 0, table = 0;
        for (int player = t.hops; player >= -1; player--) {
            table = player >= 1 ? t.size[player - 1] : 1;
            if (player >= 0) assert_int_equal(t.start[player], position);
            for (int64_t k = 0; k < table; k++, position++) {
                int64_t index = -1;
                assert_int_equal(hop_funccomp_player(&t, position, &index), player);
                assert_int_equal(index, k);
                assert_int_equal(hop_funccomp_player(&t, position, NULL), player);
            }
        }
        assert_int_equal(position, t.length);
    }
}

static void a_position_takes_as_many_values_as_its_function_has_entries(void **state)
{
    (void)state;
    hop_funccomp t = make(&SIZES[4]); /* L=3, m=6, fan 5,3: N = 6, 30, 90 */
    assert_int_equal(t.length, 90 + 30 + 6 + 2);
    assert_int_equal(t.vocab, 90);
    assert_int_equal(t.queries, 15);
    for (int64_t p = 0; p < t.length; p++) {
        int64_t want = p < 90 ? 90 : p < 120 ? 30 : p < 127 ? 6 : 15;
        assert_int_equal(hop_funccomp_values(&t, p), want);
    }
}

static void the_digits_of_w_rebuild_w(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        hop_funccomp t = make(&SIZES[i]);
        for (int64_t w = 0; w < t.queries; w++) {
            int64_t rebuilt = 0;
            for (int l = t.hops - 1; l >= 1; l--) {
                int64_t digit = hop_funccomp_digit(&t, w, l);
                assert_in_range(digit, 0, t.fan[l] - 1);
                rebuilt = rebuilt * t.fan[l] + digit;
            }
            assert_int_equal(rebuilt, w);
        }
    }
}

static void sizes_that_make_no_task_are_refused(void **state)
{
    (void)state;
    const int64_t big = (int64_t)1 << 62;
    const struct {
        int hops;
        int64_t m, fan[3];
    } bad[] = {
        {0, 8, {0}},
        {-1, 8, {0}},
        {65, 2, {2, 2, 2}},
        {2147483647, 2, {2}},
        {1, 1, {0}},
        {1, 0, {0}},
        {1, -8, {0}},
        {1, INT64_MAX, {0}},
        {1, INT64_MIN, {0}},
        {2, 8, {1}},
        {2, 8, {0}},
        {2, 8, {-4}},
        {2, 8, {big}},
        {2, 8, {INT64_MIN}},
        {3, 1 << 20, {1 << 20, 1 << 20}},
        {4, 65536, {65536, 65536, 65536}},
        {1, ((int64_t)1 << 31) - 1, {0}}, /* one token too long */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hop_funccomp t;
        hop_error err = {0};
        assert_int_equal(hop_funccomp_init(&t, bad[i].hops, bad[i].m, bad[i].fan, &err), HOP_EDOMAIN);
        assert_int_equal(t.length, 0);
        assert_true(err.text[0] != 0 && !strchr(err.text, '\n'));
    }
}

static void the_longest_prompt_is_2_to_the_31(void **state)
{
    (void)state;
    hop_funccomp t;
    assert_int_equal(hop_funccomp_init(&t, 1, ((int64_t)1 << 31) - 2, NULL, NULL), HOP_OK);
    assert_int_equal(t.length, (int64_t)1 << 31);
    assert_int_equal(hop_funccomp_values(&t, 0), t.m);
    assert_int_equal(hop_funccomp_inputs(&t), -1);
}

static void check_names_the_first_token_that_is_out_of_range(void **state)
{
    (void)state;
    hop_funccomp t = make(&SIZES[2]);
    hop_error err = {0};
    int32_t prompt[] = {3, 0, 2, 1, 1, 0, 0, 1};
    assert_int_equal(hop_funccomp_check(&t, prompt, 8, &err), HOP_OK);
    assert_int_equal(hop_funccomp_check(&t, prompt, 7, &err), HOP_ERANGE);
    assert_non_null(strstr(err.text, "7 tokens"));
    for (int64_t p = 0; p < t.length; p++) {
        const int32_t was = prompt[p],
                      wrong[] = {-1, (int32_t)hop_funccomp_values(&t, p), INT32_MAX, INT32_MIN};
        for (size_t k = 0; k < 4; k++) {
            char name[32];
            prompt[p] = wrong[k];
            assert_int_equal(hop_funccomp_check(&t, prompt, 8, &err), HOP_ERANGE);
            snprintf(name, sizeof name, "token %d ", (int)p);
            assert_non_null(strstr(err.text, name));
        }
        prompt[p] = was;
    }
}

static void samples_are_in_range_and_depend_on_seed_and_stream_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        hop_funccomp t = make(&SIZES[i]);
        int32_t *a = malloc((size_t)t.length * sizeof *a), *b = malloc((size_t)t.length * sizeof *b);
        for (uint64_t k = 0; k < 50; k++) {
            hop_rng rng;
            memset(a, 0xff, (size_t)t.length * sizeof *a); /* poison: every token must be written */
            hop_rng_init(&rng, 3, k);
            hop_funccomp_sample(&t, &rng, a);
            assert_int_equal(hop_funccomp_check(&t, a, t.length, NULL), HOP_OK);
            hop_rng_init(&rng, 3, k);
            hop_funccomp_sample(&t, &rng, b);
            assert_memory_equal(a, b, (size_t)t.length * sizeof *a);
        }
        free(a);
        free(b);
    }
}

/* Pearson's statistic over V equally likely values has mean V-1 and variance 2(V-1); eight standard
 * deviations plus a constant is exceeded by chance less than once in 10^6 for these V, and the seed is fixed.
 */
static void every_token_is_uniform(void **state)
{
    (void)state;
    enum { SAMPLES = 6000 };
    hop_funccomp t = make(&SIZES[3]); /* L=2, m=5, fan 3: values 15, 5, 5, 3 */
    int64_t count[32][16] = {{0}};
    int32_t tokens[32];
    assert_true(t.length <= 32 && t.vocab <= 16);
    for (uint64_t k = 0; k < SAMPLES; k++) {
        hop_rng rng;
        hop_rng_init(&rng, 11, k);
        hop_funccomp_sample(&t, &rng, tokens);
        for (int64_t p = 0; p < t.length; p++) count[p][tokens[p]]++;
    }
    for (int64_t p = 0; p < t.length; p++) {
        double values = (double)hop_funccomp_values(&t, p), expected = SAMPLES / values, chi2 = 0;
        for (int64_t v = 0; v < (int64_t)values; v++) {
            double off = (double)count[p][v] - expected;
            chi2 += off * off / expected;
        }
        assert_true(chi2 < (values - 1) + 8 * sqrt(2 * (values - 1)) + 10);
    }
}

static void inputs_are_counted_exactly_while_they_fit(void **state)
{
    (void)state;
    hop_funccomp t = make(&SIZES[0]);
    assert_int_equal(hop_funccomp_inputs(&t), 2 * 2 * 2); /* z_1, z_0; w has one value */
    t = make(&SIZES[2]);
    assert_int_equal(hop_funccomp_inputs(&t), 256 * 4 * 2 * 2);
    assert_true(fabs(hop_funccomp_log10_inputs(&t) - log10(4096.0)) < 1e-12);
    t = make(&SIZES[4]);
    assert_int_equal(hop_funccomp_inputs(&t), -1);
    double want = 90 * log10(90) + 30 * log10(30) + 7 * log10(6) + log10(15);
    assert_true(fabs(hop_funccomp_log10_inputs(&t) - want) < 1e-9);
    /* One hop: m^(m+1). The bound is 2^62, between 14^15 and 15^16. */
    const sizes edge[] = {{1, 14, {0}}, {1, 15, {0}}, {1, 16, {0}}};
    t = make(&edge[0]);
    assert_int_equal(hop_funccomp_inputs(&t), (int64_t)155568095557812224); /* 14^15 */
    t = make(&edge[1]);
    assert_int_equal(hop_funccomp_inputs(&t), -1); /* 15^16 > 2^62 */
    t = make(&edge[2]);
    assert_int_equal(hop_funccomp_inputs(&t), -1);
}

static void sizes_survive_a_round_trip_through_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        hop_funccomp t = make(&SIZES[i]), back;
        hop_json_writer w = {0};
        hop_json_doc doc = {0};
        hop_funccomp_write(&t, &w);
        assert_false(w.text.failed);
        assert_int_equal(hop_json_parse(&doc, w.text.s, w.text.len, NULL), HOP_OK);
        assert_int_equal(hop_funccomp_read(&back, doc.root, NULL), HOP_OK);
        assert_memory_equal(&t, &back, sizeof t);
        hop_json_free(&doc);
        hop_text_free(&w.text);
    }
}

static void json_that_is_no_task_is_refused(void **state)
{
    (void)state;
    const char *bad[] = {
        "[]",
        "3",
        "null",
        "{}",
        "{\"hops\":2}",
        "{\"m\":2}",
        "{\"hops\":2,\"m\":2}",
        "{\"hops\":2,\"m\":2,\"fan\":[]}",
        "{\"hops\":2,\"m\":2,\"fan\":[2,2]}",
        "{\"hops\":2,\"m\":2,\"fan\":2}",
        "{\"hops\":2,\"m\":2,\"fan\":[1]}",
        "{\"hops\":2,\"m\":2,\"fan\":[\"2\"]}",
        "{\"hops\":2,\"m\":2,\"fan\":[2.5]}",
        "{\"hops\":0,\"m\":2,\"fan\":[]}",
        "{\"hops\":64,\"m\":2,\"fan\":[]}",
        "{\"hops\":2,\"m\":1,\"fan\":[2]}",
        "{\"hops\":\"2\",\"m\":2,\"fan\":[2]}",
        "{\"name\":\"khop\",\"hops\":1,\"m\":2}",
        "{\"name\":1,\"hops\":1,\"m\":2}",
        "{\"hops\":3,\"m\":1048576,\"fan\":[1048576,1048576]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hop_json_doc doc = {0};
        hop_funccomp t;
        hop_error err = {0};
        assert_int_equal(hop_json_parse(&doc, bad[i], strlen(bad[i]), &err), HOP_OK);
        assert_int_not_equal(hop_funccomp_read(&t, doc.root, &err), HOP_OK);
        assert_true(err.text[0] != 0);
        hop_json_free(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_has_answer_1),
        cmocka_unit_test(the_solver_agrees_with_another_on_every_input_of_tiny_sizes),
        cmocka_unit_test(the_solver_agrees_with_another_on_samples_of_every_size),
        cmocka_unit_test(players_stand_in_prompt_order_and_indices_count_up),
        cmocka_unit_test(a_position_takes_as_many_values_as_its_function_has_entries),
        cmocka_unit_test(the_digits_of_w_rebuild_w),
        cmocka_unit_test(sizes_that_make_no_task_are_refused),
        cmocka_unit_test(the_longest_prompt_is_2_to_the_31),
        cmocka_unit_test(check_names_the_first_token_that_is_out_of_range),
        cmocka_unit_test(samples_are_in_range_and_depend_on_seed_and_stream_only),
        cmocka_unit_test(every_token_is_uniform),
        cmocka_unit_test(inputs_are_counted_exactly_while_they_fit),
        cmocka_unit_test(sizes_survive_a_round_trip_through_json),
        cmocka_unit_test(json_that_is_no_task_is_refused),
    };
    return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
