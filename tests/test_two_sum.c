/* 2-Sum: the networks that are written down for it. */
#include "two_sum_subject.h"

/* ---- the constructions ----------------------------------------------------------------------- */

static void every_small_input_is_answered_rightly(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 5; n++)
        for (int64_t mod = 2; mod <= 5; mod++) {
            const sizes all[] = {{n, mod, 0, 0}, {n, mod, 1, 1}, {n, mod, 1, 2},
                                 {n, mod, 2, 1}, {n, mod, 3, 1}, {n, mod, 9, 7}};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                hop_model *m = network(&all[i]);
                assert_int_equal(wrong_inputs(m, &all[i]), 0);
                hop_model_free(m);
            }
        }
}

static void large_inputs_are_answered_rightly_in_float32_and_with_8_bits(void **state)
{
    (void)state;
    const sizes all[] = {{300, 50, 0, 0}, {300, 50, 4, 1},  {300, 50, 5, 2},   {300, 50, 7, 3},
                         {300, 50, 1, 1}, {300, 901, 0, 0}, {300, 901, 3, 1},  {301, 64, 16, 2},
                         {299, 2, 4, 1},  {130, 3, 7, 1},   {300, 50, 4, 500}, {20, 50, 64, 3}};
    int32_t x[512];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = network(&all[i]);
        for (int bits = 0; bits <= 8; bits += 8) {
            runner r = runner_of(m, &all[i], bits);
            for (uint64_t k = 0; k < 12; k++) {
                hop_rng rng;
                hop_rng_init(&rng, 5, k);
                sample(x, &all[i], &rng, k % 3 == 0 ? 1 : k % 3 == 1 ? 10 : 100);
                int64_t at = first_wrong(&r, x);
                if (at >= 0)
                    fail_msg("n %lld mod %lld block %lld topk %lld, %d bits, input %d: wrong at %lld",
                             (long long)all[i].n, (long long)all[i].mod, (long long)all[i].block,
                             (long long)all[i].topk, bits, (int)k, (long long)at);
            }
            runner_free(&r);
        }
        hop_model_free(m);
    }
}

/* One match, at each place in turn, and the last token asks. */
static void a_single_match_is_found_wherever_it_stands(void **state)
{
    (void)state;
    const sizes all[] = {{60, 40, 0, 0}, {60, 40, 4, 1}, {61, 40, 7, 1}, {59, 40, 5, 2}};
    int32_t x[64];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = network(&all[i]);
        runner r = runner_of(m, &all[i], 0);
        for (int64_t at = 0; at < all[i].n; at++) {
            for (int64_t j = 0; j < all[i].n; j++) x[j] = 1 + (int32_t)(j % 18);
            x[all[i].n - 1] = 7;
            x[at] = at == all[i].n - 1 ? 20 : 33;
            assert_int_equal(first_wrong(&r, x), -1);
        }
        runner_free(&r);
        hop_model_free(m);
    }
}

static void token_by_token_the_answers_are_the_same(void **state)
{
    (void)state;
    const sizes all[] = {{120, 31, 0, 0}, {120, 31, 5, 2}};
    int32_t x[128];
    float logits[31];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = network(&all[i]);
        hop_decoder *d;
        hop_rng rng;
        hop_rng_init(&rng, 8, i);
        sample(x, &all[i], &rng, 10);
        assert_int_equal(hop_decoder_new(&d, m, all[i].n, false, NULL), HOP_OK);
        for (int64_t t = 0; t < all[i].n; t++) {
            assert_int_equal(hop_decoder_step(d, x[t], logits, NULL), HOP_OK);
            assert_int_equal(hop_argmax(logits, 31), answer_at(x, t, 31));
        }
        hop_decoder_free(d);
        hop_model_free(m);
    }
}

static void widths_are_log_m_and_block_times_log_m(void **state)
{
    (void)state;
    for (int64_t bits = 1; bits <= 12; bits++)
        for (int64_t block = 0; block <= 8; block += 4) {
            sizes s = {100, (int64_t)1 << bits, block, 1};
            hop_model *m = network(&s);
            const hop_config *c = hop_model_config(m);
            int64_t heads = block ? block : 1;
            hop_mixer_config mixer = hop_model_mixer_config(m, 0);
            assert_int_equal(c->pattern.layers, block ? 2 : 1);
            assert_false(c->position_table);
            assert_int_equal(c->heads * c->head_dim, heads * bits);
            assert_int_equal(c->d_model, 2 * bits + 1 + heads * (bits + 1) + (block ? 1 : 0));
            assert_int_equal(c->mlp_hidden, 2 * heads * bits);
            if (block) assert_int_equal(mixer.option[HOP_OPTION_block], block);
            if (block) assert_int_equal(mixer.option[HOP_OPTION_topk], 1);
            assert_string_equal(c->construction_json,
                                block == 0   ? "{\"kind\": \"two-sum-full\"}"
                                : block == 4 ? "{\"kind\": \"two-sum-sparse\", \"block\": 4, \"topk\": 1}"
                                             : "{\"kind\": \"two-sum-sparse\", \"block\": 8, \"topk\": 1}");
            hop_model_free(m);
        }
}

static void blocks_must_divide_the_tokens_and_do_when_none_is_given(void **state)
{
    (void)state;
    const int64_t bad[][2] = {{50, 7}, {50, 1000000}, {50, 51}, {50, 100}, {1, 2}, {4, 3}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hop_task t = task_of(bad[i][0], 10);
        hop_model *m;
        hop_error err = {0};
        char line[96];
        hop_construct_options o = {.block = bad[i][1]};
        assert_int_equal(hop_construct(&m, "two-sum-sparse", &t, &o, &err), HOP_EDOMAIN);
        snprintf(line, sizeof line, "two-sum-sparse: block %d: does not divide the %d tokens", (int)bad[i][1],
                 (int)bad[i][0]);
        assert_string_equal(err.text, line);
        assert_null(m);
    }
    const int64_t chosen[][2] = {{1, 1}, {2, 2}, {6, 3}, {50, 2}, {49, 1}, {12, 4}, {64, 4}};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        hop_task t = task_of(chosen[i][0], 10);
        hop_model *m;
        assert_int_equal(hop_construct(&m, "two-sum-sparse", &t, NULL, NULL), HOP_OK);
        assert_int_equal(hop_model_config(m)->heads, chosen[i][1]);
        hop_model_free(m);
    }
}

static void blocks_that_cannot_be_are_refused_with_a_line(void **state)
{
    (void)state;
    hop_task t = task_of(100, 10);
    const hop_construct_options bad[] = {
        {.block = -1}, {.topk = -3}, {.block = (int64_t)1 << 21}, {.block = 4, .topk = (int64_t)1 << 40}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hop_model *m;
        hop_error err = {0};
        assert_int_equal(hop_construct(&m, "two-sum-sparse", &t, &bad[i], &err), HOP_EDOMAIN);
        assert_null(m);
        assert_non_null(strstr(err.text, "two-sum-sparse"));
    }
    t = task_of(1 << 20, 1 << 20);
    hop_model *m;
    hop_error err = {0};
    assert_int_equal(
        hop_construct(&m, "two-sum-sparse", &t, &(hop_construct_options){.block = 1 << 20}, &err),
        HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "hidden units"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_input_is_answered_rightly),
        cmocka_unit_test(large_inputs_are_answered_rightly_in_float32_and_with_8_bits),
        cmocka_unit_test(a_single_match_is_found_wherever_it_stands),
        cmocka_unit_test(token_by_token_the_answers_are_the_same),
        cmocka_unit_test(widths_are_log_m_and_block_times_log_m),
        cmocka_unit_test(blocks_must_divide_the_tokens_and_do_when_none_is_given),
        cmocka_unit_test(blocks_that_cannot_be_are_refused_with_a_line),
    };
    return cmocka_run_group_tests_name("two_sum", tests, NULL, NULL);
}
