/* Exact thresholds: the game, its referee, the theorems in bits, and cells decided by the solver. */
#include "test.h"

#include <hopbound/exact.h>

/* One hop, m 2, no full layer, two state bits: z_1 sends its table, z_0 its entry. */
static hop_protocol *by_hand(void)
{
    hop_exact_game g;
    hop_protocol *p = NULL;
    assert_int_equal(hop_exact_game_init(&g, 1, 2, 2, NULL), HOP_OK);
    assert_int_equal(hop_protocol_new(&p, &g, (hop_bits){.after = 2}, NULL), HOP_OK);
    for (uint32_t z = 0; z < 4; z++) p->after[0][z] = z;
    for (uint32_t table = 0; table < 4; table++)
        for (uint32_t i = 0; i < 2; i++) p->after[1][table * 2 + i] = table >> i & 1;
    for (uint32_t s = 0; s < 4; s++) p->after[2][s] = s;
    return p;
}

static void the_game_answers_the_worked_example(void **state)
{
    (void)state;
    hop_exact_game g;
    assert_int_equal(hop_exact_game_init(&g, 2, 2, 2, NULL), HOP_OK);
    assert_int_equal(g.count[0], 256);
    assert_int_equal(g.count[1], 4);
    const int64_t x[] = {3 + 4 * (0 + 4 * (2 + 4 * 1)), 1 + 2 * 0, 0,
                         1}; /* z_2 = 3 0 2 1, z_1 = 1 0, z_0 = 0, w = 1 */
    assert_int_equal(hop_exact_game_answer(&g, x), 1);
}

static void games_that_cannot_be_listed_are_refused(void **state)
{
    (void)state;
    const int64_t bad[][3] = {{1, 1, 2}, {1, 9, 2}, {2, 2, 5},        {2, 2, 1},
                              {3, 2, 2}, {0, 2, 2}, {1, INT64_MAX, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hop_exact_game g;
        hop_error err = {0};
        assert_int_equal(hop_exact_game_init(&g, (int)bad[i][0], bad[i][1], bad[i][2], &err), HOP_EDOMAIN);
        assert_true(err.text[0] != 0);
    }
}

static void a_protocol_made_by_hand_passes_and_every_broken_one_is_refused(void **state)
{
    (void)state;
    hop_protocol *p = by_hand();
    hop_error err = {0};
    assert_int_equal(hop_protocol_check(p, &err), HOP_OK);
    const struct {
        int player, entries;
    } tables[] = {{0, 4}, {1, 8}, {2, 2}}; /* states 2 and 3 never reach w */
    for (size_t t = 0; t < 3; t++)
        for (int k = 0; k < tables[t].entries; k++) {
            uint32_t *entry = &p->after[tables[t].player][k], was = *entry;
            *entry ^= 1;
            assert_int_equal(hop_protocol_check(p, &err), HOP_EDOMAIN);
            assert_non_null(strstr(err.text, "answers"));
            *entry = was;
        }
    p->after[0][3] = 4; /* three bits */
    assert_int_equal(hop_protocol_check(p, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "too long"));
    hop_protocol_free(p);
}

/* Deciding; cells are small enough for less than a second. */
static hop_exact_cell decide(int hops, int64_t m, hop_bits bits)
{
    const hop_exact_options o = {.hops = hops, .m = m, .fan = 2, .budget = 60};
    hop_exact *x = NULL;
    hop_error err = {0};
    hop_exact_cell c = {0};
    if (hop_exact_new(&x, &o, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_exact_decide(x, bits, true, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    if (c.verdict == HOP_CELL_POSSIBLE) assert_int_equal(hop_protocol_check(c.protocol, &err), HOP_OK);
    hop_exact_free(x);
    c.protocol = NULL;
    return c;
}

static void two_entries_need_two_state_bits(void **state)
{
    (void)state;
    assert_int_equal(decide(1, 2, (hop_bits){.after = 1}).verdict, HOP_CELL_IMPOSSIBLE);
    assert_int_equal(decide(1, 2, (hop_bits){.after = 2}).verdict, HOP_CELL_POSSIBLE);
    assert_int_equal(decide(1, 2, (hop_bits){.after = 3}).verdict, HOP_CELL_POSSIBLE);
}

static void one_full_layer_alone_needs_the_whole_table_as_P5_says(void **state)
{
    (void)state;
    for (int message = 0; message <= 5; message++) { /* 27 tables: 5 bits */
        hop_exact_cell c = decide(1, 3, (hop_bits){.message = message});
        assert_int_equal(c.verdict, message < 5 ? HOP_CELL_IMPOSSIBLE : HOP_CELL_POSSIBLE);
        assert_int_equal(c.p5, message < 5 ? HOP_ANSWER_IMPOSSIBLE : HOP_ANSWER_SILENT);
    }
}

static void one_state_bit_after_the_full_layer_saves_one_message_bit_in_two_hops(void **state)
{
    (void)state;
    hop_exact_cell c = decide(2, 2, (hop_bits){.message = 2, .after = 1});
    assert_int_equal(c.verdict, HOP_CELL_IMPOSSIBLE);
    assert_int_equal(c.p4, HOP_ANSWER_IMPOSSIBLE);
    c = decide(2, 2, (hop_bits){.message = 3});
    assert_int_equal(c.verdict, HOP_CELL_IMPOSSIBLE);
    c = decide(2, 2, (hop_bits){.message = 4});
    assert_int_equal(c.verdict, HOP_CELL_POSSIBLE);
    assert_int_equal(c.p4, HOP_ANSWER_SILENT);
}

static void the_theorems_speak_where_their_inequalities_hold(void **state)
{
    (void)state;
    const struct {
        hop_bits bits;
        hop_answer p2, p4;
    } cells[] = {
        {{3, 0, 3}, HOP_ANSWER_IMPOSSIBLE, HOP_ANSWER_SILENT}, /* 64 states for 256 tables */
        {{2, 0, 2}, HOP_ANSWER_IMPOSSIBLE, HOP_ANSWER_SILENT}, /* 4 > 4 does not hold */
        {{1, 0, 1}, HOP_ANSWER_IMPOSSIBLE, HOP_ANSWER_IMPOSSIBLE},
        {{0, 3, 0}, HOP_ANSWER_SILENT, HOP_ANSWER_IMPOSSIBLE}, /* 8 > 6 */
        {{0, 2, 1}, HOP_ANSWER_SILENT, HOP_ANSWER_IMPOSSIBLE}, /* 8 > 6 */
        {{1, 1, 1}, HOP_ANSWER_SILENT, HOP_ANSWER_IMPOSSIBLE}, /* 8 > 5 */
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        hop_exact_cell c = decide(2, 2, cells[i].bits);
        assert_int_equal(c.verdict, HOP_CELL_IMPOSSIBLE);
        assert_int_equal(c.p2, cells[i].p2);
        assert_int_equal(c.p4, cells[i].p4);
        assert_false(hop_exact_refutes(&c));
    }
}

static void a_protocol_where_a_theorem_says_impossible_refutes_it(void **state)
{
    (void)state;
    hop_exact_cell c = {.verdict = HOP_CELL_POSSIBLE,
                        .p2 = HOP_ANSWER_SILENT,
                        .p4 = HOP_ANSWER_SILENT,
                        .p5 = HOP_ANSWER_SILENT};
    assert_false(hop_exact_refutes(&c));
    c.p4 = HOP_ANSWER_IMPOSSIBLE;
    assert_true(hop_exact_refutes(&c));
    c.verdict = HOP_CELL_UNDECIDED;
    assert_false(hop_exact_refutes(&c));
    c = (hop_exact_cell){.verdict = HOP_CELL_POSSIBLE,
                         .p2 = HOP_ANSWER_SILENT,
                         .p4 = HOP_ANSWER_SILENT,
                         .p5 = HOP_ANSWER_SILENT,
                         .refuted_below = true};
    assert_true(hop_exact_refutes(&c));
}

static void without_time_a_cell_is_undecided(void **state)
{
    (void)state;
    const hop_exact_options o = {.hops = 2, .m = 2, .fan = 2, .budget = 1e-9};
    hop_exact *x = NULL;
    hop_exact_cell c;
    assert_int_equal(hop_exact_new(&x, &o, NULL), HOP_OK);
    assert_int_equal(hop_exact_decide(x, (hop_bits){1, 1, 1}, true, &c, NULL), HOP_OK);
    assert_int_equal(c.verdict, HOP_CELL_UNDECIDED);
    assert_string_equal(c.by, "budget spent");
    hop_exact_free(x);
}

static void bits_that_make_no_sense_are_refused_and_a_cell_too_big_is_undecided(void **state)
{
    (void)state;
    const hop_exact_options o = {.hops = 1, .m = 7, .linear_only = true, .budget = 60};
    hop_exact *x = NULL;
    hop_exact_cell c;
    hop_error err = {0};
    assert_int_equal(hop_exact_new(&x, &o, &err), HOP_OK);
    assert_int_equal(hop_exact_decide(x, (hop_bits){.after = -1}, true, &c, &err), HOP_ERANGE);
    assert_int_equal(hop_exact_decide(x, (hop_bits){.message = 25}, true, &c, &err), HOP_ERANGE);
    assert_int_equal(hop_exact_decide(x, (hop_bits){.message = 1}, true, &c, &err), HOP_EDOMAIN);
    assert_int_equal(hop_exact_decide(x, (hop_bits){.after = 12}, true, &c, &err), HOP_OK);
    assert_int_equal(c.verdict, HOP_CELL_UNDECIDED);
    assert_string_equal(c.by, "too big");
    assert_int_equal(c.p2, HOP_ANSWER_IMPOSSIBLE); /* 7^7 tables */
    assert_int_equal(hop_exact_fits(x, (hop_bits){.after = 12}, &err), HOP_ERANGE);
    assert_non_null(strstr(err.text, "clauses"));
    assert_int_equal(hop_exact_fits(x, (hop_bits){.after = 2}, &err), HOP_OK);
    hop_exact_free(x);
}

static void P5_is_silent_about_a_stack_without_a_full_layer(void **state)
{
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        const hop_exact_options o = {.hops = 1, .m = 3, .linear_only = linear};
        hop_exact *x = NULL;
        hop_exact_cell before, after;
        assert_int_equal(hop_exact_new(&x, &o, NULL), HOP_OK);
        hop_exact_theorems(x, (hop_bits){0}, &before);
        assert_int_equal(before.verdict, HOP_CELL_UNDECIDED);
        assert_int_equal(hop_exact_decide(x, (hop_bits){0}, true, &after, NULL), HOP_OK);
        assert_int_equal(before.p2, HOP_ANSWER_IMPOSSIBLE);
        assert_int_equal(before.p5, linear ? HOP_ANSWER_SILENT : HOP_ANSWER_IMPOSSIBLE);
        assert_int_equal(after.p2, before.p2);
        assert_int_equal(after.p5, before.p5);
        hop_exact_free(x);
    }
}

static void a_protocol_fits_up_to_tables_of_2_to_the_28_entries(void **state)
{
    (void)state;
    hop_exact_game g;
    hop_protocol *p = NULL;
    assert_int_equal(hop_exact_game_init(&g, 2, 2, 2, NULL), HOP_OK);
    assert_true(hop_protocol_fits(&g, (hop_bits){.message = 9}));              /* w: 2 * 2^27 */
    assert_false(hop_protocol_fits(&g, (hop_bits){.message = 9, .after = 1})); /* w: 2 * 2^28 */
    assert_false(hop_protocol_fits(&g, (hop_bits){.message = 24, .after = 24}));
    assert_int_equal(hop_protocol_new(&p, &g, (hop_bits){.message = 9, .after = 1}, NULL), HOP_ERANGE);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_game_answers_the_worked_example),
        cmocka_unit_test(games_that_cannot_be_listed_are_refused),
        cmocka_unit_test(a_protocol_made_by_hand_passes_and_every_broken_one_is_refused),
        cmocka_unit_test(two_entries_need_two_state_bits),
        cmocka_unit_test(one_full_layer_alone_needs_the_whole_table_as_P5_says),
        cmocka_unit_test(one_state_bit_after_the_full_layer_saves_one_message_bit_in_two_hops),
        cmocka_unit_test(the_theorems_speak_where_their_inequalities_hold),
        cmocka_unit_test(a_protocol_where_a_theorem_says_impossible_refutes_it),
        cmocka_unit_test(without_time_a_cell_is_undecided),
        cmocka_unit_test(bits_that_make_no_sense_are_refused_and_a_cell_too_big_is_undecided),
        cmocka_unit_test(P5_is_silent_about_a_stack_without_a_full_layer),
        cmocka_unit_test(a_protocol_fits_up_to_tables_of_2_to_the_28_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
