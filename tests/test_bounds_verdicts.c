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
    assert_non_null(strstr(result(b, "T1")->needs, "L <= O~(log log n)"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t6_counts_the_maximum_of_a_reply),
        cmocka_unit_test(t1_is_quoted_with_its_hypothesis),
        cmocka_unit_test(a_window_keeps_its_rows_whatever_is_said_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
