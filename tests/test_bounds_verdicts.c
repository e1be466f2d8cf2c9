/* What is counted when a theorem is evaluated: replies with their maximum, windows with their rows, states at
 * their own precision; and what a statement supposes. */
#include "bounds_ask.h"

/* ---- published theorems --------------------------------------------------------------------------- */

/* With 33 bits there is a protocol at m 8, fan 2: the last token is told all of z_1 (8 entries of 3 bits),
 * z_0, and of z_2 the 8 entries at its own w, 4 bits each. d+1 numbers, 22 bits, would not do. */
static void t6_counts_the_maximum_of_a_reply(void **state)
{
    (void)state;
    ARCH(a, FULL(1, 1, 1, 11));
    hop_question q = {.arch = &a, .hops = 2, .m = 8, .fan = (const int64_t[]){2}};
    hop_bounds *b = NULL;
    assert_int_equal(hop_bounds_new(&b, &q, NULL), HOP_OK);
    assert_int_equal(result(b, "T6")->answer, HOP_ANSWER_SILENT);
    hop_bounds_free(b);
    q.m = 10; /* 10 log2 10 > 33 */
    assert_int_equal(hop_bounds_new(&b, &q, NULL), HOP_OK);
    assert_int_equal(result(b, "T6")->answer, HOP_ANSWER_IMPOSSIBLE);
    hop_bounds_free(b);
}

/* The published statement of T1 supposes L <= O~(log log n) and leaves its constants open: it is said. */
static void t1_is_quoted_with_its_hypothesis(void **state)
{
    (void)state;
    ARCH(a, FULL(2, 1, 8, 16));
    hop_bounds *b = ask_at(&a, 2, 0);
    assert_non_null(strstr(result(b, "T1")->statement, "L <= O~(log log n)"));
    assert_non_null(strstr(result(b, "T1")->needs, "or L > O~(log log n)"));
    hop_bounds_free(b);
}

/* ---- windows -------------------------------------------------------------------------------------- */

#define ROW_BITS (2 * 9 * 16) /* a key and a value */

/* What a window of `tokens` keeps, in bits, when states are said to have 96; -1: it has no state. */
static int64_t window_state(int64_t tokens)
{
    hop_config c;
    hop_arch arch;
    hop_config_init(&c);
    c.d_model = 30, c.head_dim = 9, c.heads = c.kv_heads = 1;
    assert_int_equal(hop_pattern_parse(&c.pattern, "W L", "deltanet", NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, -1, "window", "window", (double)tokens, NULL), HOP_OK);
    const hop_arch_options as = {.number_bits = 16, .state_bits = 96};
    assert_int_equal(hop_arch_new(&arch, &c, &as, NULL), HOP_OK);
    assert_int_equal(arch.layers[1].state_bits, 96);
    int64_t bits = arch.layers[0].kind == HOP_LAYER_LINEAR ? arch.layers[0].state_bits : -1;
    hop_arch_free(&arch);
    hop_config_free(&c);
    return bits;
}

static void a_window_keeps_its_rows_whatever_is_said_of_states(void **state)
{
    (void)state;
    assert_int_equal(window_state(1), -1); /* a token that sees itself alone */
    assert_int_equal(window_state(2), ROW_BITS);
    assert_int_equal(window_state(512), 511 * ROW_BITS);
}

/* ---- precision and width ------------------------------------------------------------------------------ */

/* A delta rule's state of 2,048 rows, codes of 64 bits, twice as many value heads as key heads; numbers of p
 * bits. */
static hop_arch_layer table_layer(int64_t p)
{
    return (hop_arch_layer){.kind = HOP_LAYER_LINEAR,
                            .repeat = 4,
                            .number_bits = p,
                            .state_bits = (int64_t)32 * 128 * 128 * p,
                            .rows = 2048,
                            .row_numbers = 64,
                            .spread = true};
}

static void a_state_holds_a_table_at_its_own_precision(void **state)
{
    (void)state;
    static const int64_t widths[] = {8, 16, 32};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const hop_arch_layer l[] = {table_layer(widths[i]), FULL(1, 16, 256, 32)};
        const hop_arch a = {.layers = l, .count = 2};
        int64_t held;
        assert_int_equal(hop_tables_held(&a, &held, NULL), HOP_OK);
        assert_int_equal(held > 0, widths[i] == 32);
        assert_int_equal(answer_of(&a, 2, 1000, "P10") == HOP_ANSWER_POSSIBLE, widths[i] == 32);
        /* P1 takes 11 bits or more to carry a code. */
        assert_int_equal(answer_of(&a, 1, 1000, "P1") == HOP_ANSWER_POSSIBLE, widths[i] > 8);
    }
}

/* Rows for all that a pattern of this mixer has, with `bits` of state said, or its own. */
static int64_t rows_of(const char *pattern, int64_t bits)
{
    hop_config c;
    hop_arch arch;
    hop_config_init(&c);
    c.d_model = 128, c.head_dim = 32, c.heads = 4, c.kv_heads = 2;
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "gdn", NULL), HOP_OK);
    const hop_arch_options as = {.number_bits = 32, .declared = bits == 0, .state_bits = bits};
    assert_int_equal(hop_arch_new(&arch, &c, &as, NULL), HOP_OK);
    int64_t rows = arch.layers[0].rows, own = arch.layers[0].state_bits;
    hop_arch_free(&arch);
    hop_config_free(&c);
    return bits ? rows : own;
}

static void a_state_that_is_said_to_be_smaller_holds_no_table(void **state)
{
    (void)state;
    int64_t own = rows_of("gdn", 0);
    assert_true(rows_of("gdn", own) > 0);
    assert_int_equal(rows_of("gdn", own - 1), 0);
}

static void a_reply_is_as_wide_as_what_a_softmax_sums_up(void **state)
{
    (void)state;
    const hop_arch_layer l[] = {
        {.kind = HOP_LAYER_FULL, .repeat = 1, .heads = 1, .dim = 8, .reply_dim = 16, .number_bits = 16}};
    const hop_arch wide = {.layers = l, .count = 1};
    ARCH(plain, FULL(1, 1, 16, 16));
    hop_bounds *a = ask_at(&wide, 1, 0), *b = ask_at(&plain, 1, 0);
    assert_string_equal(result(a, "P5")->speaks_from, result(b, "P5")->speaks_from);
    assert_string_equal(result(a, "T1")->speaks_from, result(b, "T1")->speaks_from);
    hop_bounds_free(a);
    hop_bounds_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t6_counts_the_maximum_of_a_reply),
        cmocka_unit_test(t1_is_quoted_with_its_hypothesis),
        cmocka_unit_test(a_window_keeps_its_rows_whatever_is_said_of_states),
        cmocka_unit_test(a_state_holds_a_table_at_its_own_precision),
        cmocka_unit_test(a_state_that_is_said_to_be_smaller_holds_no_table),
        cmocka_unit_test(a_reply_is_as_wide_as_what_a_softmax_sums_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
