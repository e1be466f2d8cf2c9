/* two-sum, recall and khop, and every task through the one interface: solved a second time by brute force,
 * counted, sampled, checked, refused, written and read. */
#include <hopbound/tasks.h>

#include "test.h"

#define POISON (-77)
#define MOST   400 /* tokens of the longest prompt below */
#define RECALL(p, q, k, v)                                \
    {                                                     \
        .kind = HOP_TASK_RECALL, .recall = { p, q, k, v } \
    }
#define TWOSUM(len, m)                                \
    {                                                 \
        .kind = HOP_TASK_TWOSUM, .twosum = { len, m } \
    }
#define KHOP(len, a, h)                              \
    {                                                \
        .kind = HOP_TASK_KHOP, .khop = { len, a, h } \
    }

static hop_task ready(hop_task t)
{
    hop_error err = {0};
    assert_int_equal(hop_task_ready(&t, &err), HOP_OK);
    assert_true(t.length > 0 && t.length <= MOST && t.vocab > 0);
    return t;
}

static hop_task funccomp(int hops, int64_t m, int64_t fan)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    const int64_t fans[8] = {fan, fan, fan, fan, fan, fan, fan, fan};
    assert_int_equal(hop_funccomp_init(&t.funccomp, hops, m, fans, NULL), HOP_OK);
    return ready(t);
}

static const hop_task SIZES[] = {
    TWOSUM(1, 2),           TWOSUM(9, 2),
    TWOSUM(40, 7),          TWOSUM(60, 64),
    TWOSUM(200, 1000003),   RECALL(1, 1, 1, 1),
    RECALL(1, 4, 9, 3),     RECALL(5, 3, 5, 2),
    RECALL(16, 30, 20, 16), RECALL(60, 60, 1 << 30, 1 << 30),
    KHOP(1, 2, 1),          KHOP(12, 2, 3),
    KHOP(50, 5, 2),         KHOP(50, 5, 64),
    KHOP(33, 40, 4),
};
#define SIZE_COUNT (sizeof SIZES / sizeof SIZES[0])

/* ---- the definitions, read as plainly as they can be ---------------------------------------- */

static int64_t wanted(const hop_task *t, const int32_t *x, int64_t i)
{
    const int64_t last = t->length - 1;
    switch (t->kind) {
    case HOP_TASK_FUNCCOMP: return i == last ? hop_funccomp_solve(&t->funccomp, x, NULL) : -1;
    case HOP_TASK_TWOSUM:
        for (int64_t j = 0; j <= i; j++)
            if (((int64_t)x[i] + x[j]) % t->twosum.mod == 0) return 1;
        return 0;
    case HOP_TASK_RECALL:
        if (i < 2 * t->recall.pairs) return -1;
        for (int64_t p = 0; p < t->recall.pairs; p++)
            if (x[2 * p] == x[i]) return x[2 * p + 1];
        return -1;
    case HOP_TASK_KHOP: {
        if (i != last) return -1;
        int64_t at = last;
        for (int k = 0; k < t->khop.hops; k++) {
            int64_t found = 0;
            for (int64_t j = 1; j <= at; j++)
                if (x[j - 1] == x[at]) found = j;
            if (!found) return t->khop.alphabet;
            at = found;
        }
        return x[at];
    }
    }
    return -2;
}

static void assert_solved(const hop_task *t, const int32_t *tokens)
{
    int32_t targets[MOST + 1];
    int64_t asked = 0;
    for (int i = 0; i <= MOST; i++) targets[i] = POISON;
    int64_t got = hop_task_solve(t, tokens, targets);
    for (int64_t i = 0; i < t->length; i++) {
        assert_int_equal(targets[i], wanted(t, tokens, i));
        asked += targets[i] >= 0;
        assert_true(targets[i] < t->vocab);
    }
    assert_int_equal(got, asked);
    assert_int_equal(targets[t->length], POISON);
}

/* ---- solving -------------------------------------------------------------------------------- */

static void the_worked_examples_come_out_as_by_hand(void **state)
{
    (void)state;
    static const struct {
        hop_task task;
        int32_t tokens[8], targets[8];
    } cases[] = {
        {TWOSUM(6, 5), {1, 2, 3, 0, 4, 4}, {0, 0, 1, 1, 1, 1}}, /* 2+3, 0+0, 1+4 */
        {TWOSUM(3, 4), {1, 2, 3}, {0, 1, 1}},                   /* 2+2 = 4 is its own partner */
        {RECALL(2, 3, 4, 5), {3, 4, 0, 8, 0, 3, 0}, {-1, -1, -1, -1, 8, 4, 8}},
        {KHOP(6, 4, 1), {2, 1, 0, 3, 0, 2}, {-1, -1, -1, -1, -1, 1}}, /* 2 was followed by 1 */
        {KHOP(6, 4, 2), {1, 2, 1, 0, 3, 2}, {-1, -1, -1, -1, -1, 2}}, /* 2 -> 1 (at 2) -> 2 (at 1) */
        {KHOP(3, 4, 1), {0, 1, 2}, {-1, -1, 4}},                      /* 2 was not there before */
        {KHOP(4, 3, 3), {0, 1, 2, 2}, {-1, -1, -1, 2}},               /* 2 follows 2: it stays where it is */
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        hop_task t = ready(cases[c].task);
        int32_t targets[MOST];
        assert_int_equal(hop_task_check(&t, cases[c].tokens, t.length, NULL), HOP_OK);
        hop_task_solve(&t, cases[c].tokens, targets);
        for (int64_t i = 0; i < t.length; i++) assert_int_equal(targets[i], cases[c].targets[i]);
    }
}

/* Every input in turn: `tokens` counts up like an odometer. False when it has wrapped around. */
static bool next_input(const hop_task *t, int32_t *tokens)
{
    for (int64_t p = 0; p < t->length; p++) {
        if (++tokens[p] < hop_task_values(t, p)) return true;
        tokens[p] = 0;
    }
    return false;
}

static void every_input_of_tiny_tasks_is_solved_as_defined_and_counted_once(void **state)
{
    (void)state;
    const hop_task tiny[] = {
        TWOSUM(1, 2),       TWOSUM(6, 3),       TWOSUM(5, 4),       TWOSUM(4, 7),
        RECALL(1, 2, 3, 2), RECALL(2, 1, 2, 2), RECALL(2, 2, 3, 2), RECALL(3, 1, 4, 1),
        KHOP(1, 3, 2),      KHOP(6, 3, 2),      KHOP(8, 2, 3),      KHOP(5, 4, 1),
    };
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        hop_task t = ready(tiny[i]);
        int32_t tokens[MOST] = {0};
        int64_t seen = 0;
        do {
            if (hop_task_check(&t, tokens, t.length, NULL) != HOP_OK) continue; /* recall: no such input */
            assert_solved(&t, tokens);
            seen++;
        } while (next_input(&t, tokens));
        assert_int_equal(seen, hop_task_inputs(&t));
        assert_true(fabs(hop_task_log10_inputs(&t) - log10((double)seen)) < 1e-9);
    }
}

static void samples_are_inputs_and_are_solved_as_defined(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        hop_task t = ready(SIZES[i]);
        for (uint64_t k = 0; k < 100; k++) {
            hop_error err = {0};
            hop_rng rng;
            int32_t tokens[MOST + 1], again[MOST];
            tokens[t.length] = POISON;
            hop_rng_init(&rng, 5, k);
            hop_task_sample(&t, &rng, tokens);
            assert_int_equal(tokens[t.length], POISON);
            assert_int_equal(hop_task_check(&t, tokens, t.length, &err), HOP_OK);
            assert_solved(&t, tokens);
            hop_rng_init(&rng, 5, k); /* depends on seed and stream only */
            hop_task_sample(&t, &rng, again);
            assert_memory_equal(tokens, again, (size_t)t.length * sizeof *tokens);
        }
    }
}

static void function_composition_is_the_same_through_the_common_interface(void **state)
{
    (void)state;
    hop_task t = funccomp(3, 3, 2);
    assert_int_equal(t.length, t.funccomp.length);
    assert_int_equal(t.vocab, t.funccomp.vocab);
    assert_int_equal(hop_task_inputs(&t), hop_funccomp_inputs(&t.funccomp));
    for (uint64_t k = 0; k < 50; k++) {
        hop_rng one, two;
        int32_t a[MOST], b[MOST];
        hop_rng_init(&one, 1, k);
        hop_rng_init(&two, 1, k);
        hop_task_sample(&t, &one, a);
        hop_funccomp_sample(&t.funccomp, &two, b);
        assert_memory_equal(a, b, (size_t)t.length * sizeof *a);
        assert_solved(&t, a);
    }
    for (int64_t p = 0; p < t.length; p++)
        assert_int_equal(hop_task_values(&t, p), hop_funccomp_values(&t.funccomp, p));
}

/* A long prompt whose partners are all at the wrong end: a solver that searches for each would take minutes.
 */
static void a_long_two_sum_is_solved_in_no_time(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    hop_task t = {.kind = HOP_TASK_TWOSUM, .twosum = {N, (int64_t)1 << 31}};
    int32_t *tokens = malloc(N * sizeof *tokens), *targets = malloc(N * sizeof *targets);
    assert_non_null(tokens);
    assert_non_null(targets);
    assert_int_equal(hop_task_ready(&t, NULL), HOP_OK);
    for (int i = 0; i < N; i++) tokens[i] = i < N / 2 ? i + 1 : INT32_MAX - (i - N / 2); /* 1.. and mod-1.. */
    assert_int_equal(hop_task_solve(&t, tokens, targets), N);
    for (int i = 0; i < N; i++) assert_int_equal(targets[i], i >= N / 2);
    free(tokens);
    free(targets);
}

/* ---- sampling ------------------------------------------------------------------------------- */

/* Chi-squared of `count` cells with the same expectation, against its mean plus seven deviations. */
static void assert_uniform(const int *cell, int count, int total)
{
    double expected = (double)total / count, sum = 0;
    for (int i = 0; i < count; i++) sum += (cell[i] - expected) * (cell[i] - expected) / expected;
    assert_true(sum < count - 1 + 7 * sqrt(2.0 * (count - 1)));
}

static void every_input_of_a_tiny_task_is_equally_likely(void **state)
{
    (void)state;
    const hop_task tiny[] = {TWOSUM(3, 3), RECALL(2, 1, 4, 2), RECALL(3, 1, 3, 1), KHOP(4, 2, 1)};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        hop_task t = ready(tiny[i]);
        int32_t kinds[128][8], tokens[MOST] = {0};
        int count = 0, seen[128] = {0}, total = 40000;
        do
            if (hop_task_check(&t, tokens, t.length, NULL) == HOP_OK)
                memcpy(kinds[count++], tokens, (size_t)t.length * sizeof *tokens);
        while (next_input(&t, tokens));
        assert_int_equal(count, hop_task_inputs(&t));
        for (int k = 0; k < total; k++) {
            hop_rng rng;
            hop_rng_init(&rng, 11, (uint64_t)k);
            hop_task_sample(&t, &rng, tokens);
            int at = 0;
            while (at < count && memcmp(kinds[at], tokens, (size_t)t.length * sizeof *tokens) != 0) at++;
            assert_true(at < count);
            seen[at]++;
        }
        assert_uniform(seen, count, total);
    }
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void sizes_give_length_and_vocabulary(void **state)
{
    (void)state;
    const struct {
        hop_task task;
        int64_t length, vocab;
    } cases[] = {
        {TWOSUM(9, 4), 9, 4},
        {RECALL(5, 3, 7, 2), 13, 9},
        {KHOP(12, 5, 2), 12, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hop_task t = ready(cases[i].task);
        assert_int_equal(t.length, cases[i].length);
        assert_int_equal(t.vocab, cases[i].vocab);
    }
}

static void sizes_that_make_no_task_are_refused_by_name(void **state)
{
    (void)state;
    const int64_t most = (int64_t)1 << 31;
    const struct {
        hop_task task;
        const char *names;
    } bad[] = {
        {TWOSUM(0, 3), "n:"},
        {TWOSUM(-1, 3), "n:"},
        {TWOSUM(4, 1), "mod:"},
        {TWOSUM(4, 0), "mod:"},
        {TWOSUM(most + 1, 3), "n:"},
        {TWOSUM(4, most + 1), "mod:"},
        {TWOSUM(INT64_MAX, INT64_MAX), "n:"},
        {RECALL(0, 1, 4, 4), "pairs:"},
        {RECALL(5, 1, 4, 4), "keys:"},
        {RECALL(1, 0, 4, 4), "queries:"},
        {RECALL(1, 1, 4, 0), "values:"},
        {RECALL(most, 1, most, 1), "pairs:"},
        {RECALL(1, 1, most, 1), "2^31"},
        {RECALL(most / 2, 1, most / 2, 1), "2^31"},
        {RECALL(1, INT64_MAX, 4, 4), "queries:"},
        {RECALL(1, 1, INT64_MAX, INT64_MAX), "keys:"},
        {KHOP(0, 2, 1), "n:"},
        {KHOP(4, 1, 1), "alphabet:"},
        {KHOP(4, 2, 0), "hops:"},
        {KHOP(4, 2, 65), "hops:"},
        {KHOP(4, most, 1), "alphabet:"},
        {KHOP(most + 1, 2, 1), "n:"},
        {{.kind = HOP_TASK_FUNCCOMP}, "funccomp"},
        {{.kind = (hop_task_kind)99}, "task"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hop_task t = bad[i].task;
        hop_error err = {0};
        assert_int_not_equal(hop_task_ready(&t, &err), HOP_OK);
        assert_non_null(strstr(err.text, bad[i].names));
    }
    const hop_task largest[] = {TWOSUM(most, most), KHOP(most, most - 1, 63),
                                RECALL(most / 2 - 1, 2, most / 2, most / 2)};
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; i++) {
        hop_task t = largest[i];
        assert_int_equal(hop_task_ready(&t, NULL), HOP_OK);
        assert_int_equal(hop_task_inputs(&t), -1);
    }
}

static void inputs_are_counted_exactly_while_they_fit(void **state)
{
    (void)state;
    const struct {
        hop_task task;
        int64_t inputs;
    } cases[] = {
        {TWOSUM(62, 2), (int64_t)1 << 62},    {TWOSUM(63, 2), -1},
        {KHOP(31, 4, 2), (int64_t)1 << 62},   {KHOP(32, 4, 2), -1},
        {RECALL(2, 3, 5, 7), 5 * 4 * 49 * 8}, {RECALL(1, 100, 1, 1), 1},
        {RECALL(40, 1, 40, 1), -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hop_task t = ready(cases[i].task);
        assert_int_equal(hop_task_inputs(&t), cases[i].inputs);
        if (cases[i].inputs > 0)
            assert_true(fabs(hop_task_log10_inputs(&t) - log10((double)cases[i].inputs)) < 1e-9);
        else
            assert_true(hop_task_log10_inputs(&t) > 18.6);
    }
}

/* ---- checking ------------------------------------------------------------------------------- */

static void tokens_that_are_no_input_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        hop_task task;
        int32_t tokens[8];
        int64_t count;
        const char *says;
    } bad[] = {
        {TWOSUM(3, 4), {0, 1, 2}, 2, "2 tokens where the sizes ask for 3"},
        {TWOSUM(3, 4), {0, 4, 2}, 3, "token 1 is 4, outside 0..3"},
        {TWOSUM(3, 4), {0, 1, -1}, 3, "token 2 is -1"},
        {KHOP(3, 4, 1), {0, 1, 4}, 3, "token 2 is 4, outside 0..3"}, /* the answer's own token is no input */
        {RECALL(2, 1, 3, 2), {0, 3, 1, 4, 0}, 4, "4 tokens"},
        {RECALL(2, 1, 3, 2), {3, 3, 1, 4, 0}, 5, "token 0 is 3"},
        {RECALL(2, 1, 3, 2), {0, 2, 1, 4, 0}, 5, "token 1 is 2, a key where a value belongs"},
        {RECALL(2, 1, 3, 2), {0, 5, 1, 4, 0}, 5, "token 1 is 5"},
        {RECALL(2, 1, 3, 2), {1, 3, 1, 4, 1}, 5, "token 2: key 1 was there before"},
        {RECALL(2, 1, 3, 2), {0, 3, 1, 4, 2}, 5, "token 4 asks for key 2"},
        {RECALL(2, 1, 3, 2), {0, 3, 1, 4, 3}, 5, "token 4 is 3"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hop_task t = ready(bad[i].task);
        hop_error err = {0};
        assert_int_equal(hop_task_check(&t, bad[i].tokens, bad[i].count, &err), HOP_ERANGE);
        assert_non_null(strstr(err.text, bad[i].says));
    }
}

/* ---- JSON and names ------------------------------------------------------------------------- */

static hop_status read_text(hop_task *t, const char *text, hop_error *err)
{
    hop_json_doc doc = {0};
    assert_int_equal(hop_json_parse(&doc, text, strlen(text), err), HOP_OK);
    hop_status s = hop_task_read(t, doc.root, err);
    hop_json_free(&doc);
    return s;
}

static void sizes_survive_a_round_trip_through_json(void **state)
{
    (void)state;
    for (size_t i = 0; i <= SIZE_COUNT; i++) {
        hop_task t = i < SIZE_COUNT ? ready(SIZES[i]) : funccomp(3, 4, 2), back;
        hop_error err = {0};
        hop_json_writer one = {0}, two = {0};
        hop_task_write(&t, &one);
        assert_int_equal(read_text(&back, one.text.s, &err), HOP_OK);
        assert_true(back.kind == t.kind && back.length == t.length && back.vocab == t.vocab);
        hop_task_write(&back, &two);
        assert_string_equal(one.text.s, two.text.s);
        hop_text_free(&one.text);
        hop_text_free(&two.text);
    }
    hop_task t;
    assert_int_equal(read_text(&t, "{\"hops\":1,\"m\":3}", NULL),
                     HOP_OK); /* without a name: the first task */
    assert_int_equal(t.kind, HOP_TASK_FUNCCOMP);
}

static void json_that_is_no_task_is_refused_and_leaves_nothing(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"[]", "object"},
        {"{\"name\":\"sorting\"}", "sorting"},
        {"{\"name\":3}", "name"},
        {"{\"name\":\"two-sum\",\"n\":4}", "mod: missing"},
        {"{\"name\":\"two-sum\",\"mod\":4}", "n: missing"},
        {"{\"name\":\"two-sum\",\"n\":4,\"mod\":1}", "mod"},
        {"{\"name\":\"two-sum\",\"n\":\"4\",\"mod\":3}", "n"},
        {"{\"name\":\"two-sum\",\"n\":4.5,\"mod\":3}", "n"},
        {"{\"name\":\"recall\",\"pairs\":4,\"queries\":1,\"keys\":3,\"values\":2}", "keys"},
        {"{\"name\":\"recall\",\"pairs\":4,\"queries\":1,\"keys\":4}", "values: missing"},
        {"{\"name\":\"khop\",\"n\":4,\"alphabet\":4,\"hops\":65}", "hops"},
        {"{\"name\":\"khop\",\"n\":4,\"alphabet\":4}", "hops: missing"},
        {"{\"name\":\"funccomp\",\"hops\":2,\"m\":2}", "fan"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hop_task t = {.length = 9};
        hop_error err = {0};
        assert_int_not_equal(read_text(&t, bad[i][0], &err), HOP_OK);
        assert_non_null(strstr(err.text, bad[i][1]));
        assert_int_equal(t.length, 0);
    }
}

static void every_task_has_a_name_that_finds_it(void **state)
{
    (void)state;
    static const char *const names[] = {"funccomp", "two-sum", "recall", "khop"};
    hop_task_kind kind;
    for (int i = 0; i < 4; i++) {
        assert_string_equal(hop_task_name((hop_task_kind)i), names[i]);
        assert_true(hop_task_from_name(names[i], &kind) && kind == (hop_task_kind)i);
    }
    assert_false(hop_task_from_name("sorting", &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_examples_come_out_as_by_hand),
        cmocka_unit_test(every_input_of_tiny_tasks_is_solved_as_defined_and_counted_once),
        cmocka_unit_test(samples_are_inputs_and_are_solved_as_defined),
        cmocka_unit_test(function_composition_is_the_same_through_the_common_interface),
        cmocka_unit_test(a_long_two_sum_is_solved_in_no_time),
        cmocka_unit_test(every_input_of_a_tiny_task_is_equally_likely),
        cmocka_unit_test(sizes_give_length_and_vocabulary),
        cmocka_unit_test(sizes_that_make_no_task_are_refused_by_name),
        cmocka_unit_test(inputs_are_counted_exactly_while_they_fit),
        cmocka_unit_test(tokens_that_are_no_input_are_refused_by_name),
        cmocka_unit_test(sizes_survive_a_round_trip_through_json),
        cmocka_unit_test(json_that_is_no_task_is_refused_and_leaves_nothing),
        cmocka_unit_test(every_task_has_a_name_that_finds_it),
    };
    return cmocka_run_group_tests_name("tasks_more", tests, NULL, NULL);
}
