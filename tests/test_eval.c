/* Asking networks: one reading of how, batches, files. */
#include "funccomp_subject.h"

#include <hopbound/eval.h>

#include <sys/stat.h>
#include <unistd.h>

/* ---- how a network is asked ------------------------------------------------------------------- */

/* The network with another construction in its config. */
static hop_model *with_construction(hop_model *good, const char *json)
{
    hop_model *m = NULL;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    free(c.construction_json);
    c.construction_json = strdup(json);
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *to = hop_model_weight_at(m, i), *from = hop_model_weight_at(good, i);
        memcpy(to->data, from->data, sizeof(float) * (size_t)weight_elements(to));
    }
    hop_config_free(&c);
    hop_model_free(good);
    return m;
}

static void generate_is_a_whole_number_from_one_on_or_absent(void **state)
{
    (void)state;
    const struct {
        const char *json;
        int64_t count; /* -1: refused */
    } all[] = {
        {"", 0},
        {"{}", 0},
        {"{\"kind\": \"cot\"}", 0}, /* a kind decides nothing */
        {"{\"kind\": \"cot\", \"generate\": 3}", 3},
        {"{\"kind\": \"full\", \"generate\": 3}", 3},
        {"{\"generate\": 1048576}", 1048576},
        {"{\"generate\": 2.0}", 2},
        {"{\"generate\": 1048577}", -1},
        {"{\"generate\": 0}", -1},
        {"{\"generate\": -1}", -1},
        {"{\"generate\": 2.5}", -1},
        {"{\"generate\": \"3\"}", -1},
        {"{\"generate\": true}", -1},
        {"{\"generate\": [3]}", -1},
        {"{\"generate\": 1e300}", -1},
        {"[3]", -1},
        {"3", -1},
        {"{", -1},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_error err = {0};
        int64_t count = -7;
        hop_config c = {.construction_json = (char *)all[i].json};
        hop_status s = hop_generated_tokens(&c, &count, &err);
        if (s != (all[i].count < 0 ? HOP_EFORMAT : HOP_OK)) fail_msg("%s: %s", all[i].json, err.text);
        if (all[i].count >= 0)
            assert_int_equal(count, all[i].count);
        else
            assert_ptr_equal(strstr(err.text, "its construction: "), err.text);
    }
}

/* Right answers to 50 instances; -1 when they are refused. */
static int64_t run_some(const hop_model *m, const hop_task *t)
{
    hop_eval *e;
    int64_t correct = -1;
    if (hop_eval_open(&e, m, &(hop_eval_options){0}, NULL) != HOP_OK) return -1;
    hop_status s = hop_eval_sampled(e, t, 50, 1, &correct, NULL);
    hop_eval_close(e);
    return s == HOP_OK ? correct : -1; /* a chain may be longer than the network takes */
}

/* What is run is what is proved: proved only if all are right, no verdict if it cannot be run. Frees it. */
static hop_verdict agrees(hop_model *m, const hop_task *t)
{
    const hop_prove_method methods[] = {HOP_PROVE_AUTO, HOP_PROVE_INTERVAL};
    int64_t correct = run_some(m, t);
    hop_proof p = {.verdict = HOP_UNDECIDED};
    for (size_t i = 0; i < 2; i++) {
        hop_proof_free(&p);
        hop_status s = hop_prove(&p, m, t, &(hop_prove_options){.method = methods[i]}, NULL);
        if (correct < 0) assert_int_not_equal(s, HOP_OK);
        if (correct < 0) continue;
        assert_int_equal(s, HOP_OK);
        if (p.verdict == HOP_PROVED) assert_int_equal(correct, 50);
        if (p.verdict == HOP_REFUTED) {
            hop_instance one = {0};
            hop_eval *e;
            assert_int_equal(hop_instance_reserve(&one, t->length, NULL), HOP_OK);
            memcpy(one.tokens, p.counterexample, sizeof *one.tokens * (size_t)t->length);
            hop_instance_solve(&one, t);
            assert_int_equal(hop_eval_open(&e, m, &(hop_eval_options){0}, NULL), HOP_OK);
            assert_int_equal(hop_eval_run(e, &one, 1, NULL), HOP_OK);
            assert_true(one.status == HOP_OK && !hop_instance_correct(&one));
            hop_eval_close(e);
            hop_instance_free(&one);
        }
    }
    hop_verdict v = correct < 0 ? HOP_UNDECIDED : p.verdict;
    hop_proof_free(&p);
    hop_model_free(m);
    return v;
}

static void what_is_proved_is_what_is_run_however_a_file_asks_for_it(void **state)
{
    (void)state;
    const char *const constructions[] = {"{\"kind\": \"full\", \"generate\": 3}",
                                         "{\"kind\": \"cot\", \"generate\": 3}",
                                         "{\"kind\": \"cot\", \"generate\": 2}",
                                         "{\"kind\": \"cot\"}",
                                         "{\"generate\": 1}",
                                         "{\"generate\": 0}",
                                         "{\"generate\": \"3\"}",
                                         "{}"};
    const char *const kinds[] = {"cot", "full", "hybrid", "linear", "encoder"};
    sizes two_hops = {2, 2, {2}};
    hop_task t = task_of(&two_hops);
    hop_task pairs = {.kind = HOP_TASK_TWOSUM, .twosum = {.n = 4, .mod = 3}};
    assert_int_equal(hop_task_ready(&pairs, NULL), HOP_OK);
    int proved = 0;
    for (size_t i = 0; i < sizeof constructions / sizeof *constructions; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            proved +=
                agrees(with_construction(build(kinds[k], NULL, &t), constructions[i]), &t) == HOP_PROVED;
        proved += agrees(with_construction(build("two-sum-full", NULL, &pairs), constructions[i]), &pairs) ==
                  HOP_PROVED;
    }
    /* The chains of three; the others where they answer at once, or say their answer as the only token they
     * generate, but for the encoder, which cannot generate, and 2-Sum, which answers everywhere. */
    assert_int_equal(proved, 2 + 2 * 5 + 3);
}

/* A network that was proved by its chain of three tokens, and run without one. */
static void a_chain_that_calls_itself_full_is_run_as_it_is_proved(void **state)
{
    (void)state;
    char path[512];
    hop_model *m = NULL;
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    const char *const broken[] = {"{\"kind\": \"full\", \"generate\": 0}",
                                  "{\"kind\": \"full\", \"generate\": \"3\"}"};
    test_data(path, sizeof path, "false_proofs/generate-kind");
    assert_int_equal(hop_model_open(&m, path, NULL), HOP_OK);
    assert_int_equal(run_some(m, &t), 50);
    assert_int_equal(agrees(m, &t), HOP_PROVED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hop_model_open(&m, path, NULL), HOP_OK);
        m = with_construction(m, broken[i]);
        assert_int_equal(run_some(m, &t), -1);
        agrees(m, &t);
    }
}

/* ---- batches ---------------------------------------------------------------------------------- */

/* A network that errs on some inputs: the token that means w is written over. */
static hop_model *spoiled(const hop_task *t)
{
    hop_model *m = build("full", NULL, t);
    const hop_weight *w = hop_model_weight(m, "model.embed_tokens.weight");
    memset(w->data, 0, sizeof(float) * (size_t)w->shape[1]);
    return m;
}

static void answers_do_not_depend_on_threads_or_on_how_a_batch_is_cut(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    const int threads[] = {0, 1, 2, 5};
    const int64_t cuts[] = {COUNT, 1, 7};
    sizes s = {2, 3, {2}};
    hop_task t = task_of(&s);
    hop_model *m = spoiled(&t);
    hop_instance *batch;
    int32_t first[COUNT];
    int64_t correct = 0, counted;
    assert_int_equal(hop_instances_new(&batch, COUNT, 0, NULL), HOP_OK);
    for (size_t w = 0; w < 4; w++)
        for (size_t c = 0; c < 3; c++) {
            hop_pool *pool = threads[w] ? hop_pool_new(threads[w]) : NULL;
            hop_eval *e;
            assert_int_equal(hop_eval_open(&e, m, &(hop_eval_options){.pool = pool}, NULL), HOP_OK);
            for (int64_t i = 0; i < COUNT; i++)
                assert_int_equal(hop_instance_sample(&batch[i], &t, 3, (uint64_t)i, NULL), HOP_OK);
            for (int64_t i = 0; i < COUNT; i += cuts[c]) {
                int64_t n = COUNT - i < cuts[c] ? COUNT - i : cuts[c];
                assert_int_equal(hop_eval_run(e, batch + i, n, NULL), HOP_OK);
            }
            for (int64_t i = 0; i < COUNT; i++) {
                if (w == 0 && c == 0) first[i] = batch[i].answers[t.length - 1];
                if (w == 0 && c == 0) correct += hop_instance_correct(&batch[i]);
                assert_int_equal(batch[i].answers[t.length - 1], first[i]);
                assert_int_equal(batch[i].answers[0], HOP_NOT_ASKED);
            }
            assert_int_equal(hop_eval_sampled(e, &t, COUNT, 3, &counted, NULL), HOP_OK);
            assert_int_equal(counted, correct);
            hop_eval_close(e);
            hop_pool_free(pool);
        }
    assert_true(correct > 0 && correct < COUNT);
    hop_instances_free(batch, COUNT);
    hop_model_free(m);
}

static void the_first_wrong_one_is_found_and_those_before_it_are_run(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    sizes s = {2, 3, {2}};
    hop_task t = task_of(&s);
    hop_model *m = spoiled(&t);
    hop_instance *batch;
    int64_t first = -1;
    assert_int_equal(hop_instances_new(&batch, COUNT, 0, NULL), HOP_OK);
    for (int until = 0; until < 2; until++) {
        hop_eval *e;
        hop_pool *pool = hop_pool_new(3);
        const hop_eval_options o = {.pool = pool, .until_wrong = until};
        assert_int_equal(hop_eval_open(&e, m, &o, NULL), HOP_OK);
        for (int64_t i = 0; i < COUNT; i++)
            assert_int_equal(hop_instance_sample(&batch[i], &t, 8, (uint64_t)i, NULL), HOP_OK);
        assert_int_equal(hop_eval_run(e, batch, COUNT, NULL), HOP_OK);
        int64_t i = 0;
        while (i < COUNT && hop_instance_correct(&batch[i])) i++;
        assert_true(i < COUNT && batch[i].status == HOP_OK);
        if (until) assert_int_equal(i, first);
        first = i;
        hop_eval_close(e);
        hop_pool_free(pool);
    }
    hop_instances_free(batch, COUNT);
    hop_model_free(m);
}

static void what_a_network_does_not_take_is_said_of_the_instance(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("cot", NULL, &t);
    hop_instance *batch;
    hop_eval *e;
    assert_int_equal(hop_instances_new(&batch, 3, 0, NULL), HOP_OK);
    assert_int_equal(hop_eval_open(&e, m, &(hop_eval_options){0}, NULL), HOP_OK);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(hop_instance_sample(&batch[i], &t, 0, i, NULL), HOP_OK);
    batch[0].tokens[1] = 99;
    assert_int_equal(hop_instance_reserve(&batch[2], 60, NULL), HOP_OK);
    memset(batch[2].tokens, 0, 60 * sizeof *batch[2].tokens);
    assert_int_equal(hop_eval_run(e, batch, 3, NULL), HOP_OK);
    assert_int_equal(batch[0].status, HOP_ERANGE);
    assert_true(hop_instance_correct(&batch[1]) && batch[1].chain);
    assert_int_equal(batch[2].status, HOP_ERANGE);
    assert_non_null(strstr(batch[2].err.text, "60 tokens and 2 generated ones"));
    hop_eval_close(e);
    hop_instances_free(batch, 3);
    const hop_eval_options cut = {.bits = 8};
    assert_int_equal(hop_eval_open(&e, m, &cut, NULL), HOP_EDOMAIN);
    assert_null(e);
    hop_model_free(m);
}

static bool stop_at_once(void *ctx, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    ++*(int *)ctx;
    return false;
}

static void a_tick_that_says_stop_ends_a_batch(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    const char *const kinds[] = {"cot", "full"};
    for (int k = 0; k < 2; k++) {
        int ticks = 0;
        int64_t correct;
        hop_progress progress = {.tick = stop_at_once, .ctx = &ticks};
        hop_model *m = build(kinds[k], NULL, &t);
        hop_eval *e;
        assert_int_equal(hop_eval_open(&e, m, &(hop_eval_options){.progress = &progress}, NULL), HOP_OK);
        assert_int_equal(hop_eval_sampled(e, &t, 100, 0, &correct, NULL), HOP_ESTOPPED);
        assert_int_equal(ticks, 1);
        hop_eval_close(e);
        hop_model_free(m);
    }
}

/* ---- files ------------------------------------------------------------------------------------ */

static void a_line_is_read_back_as_it_was_written(void **state)
{
    (void)state;
    hop_task all[2] = {
        {.kind = HOP_TASK_KHOP, .khop = {.n = 9, .alphabet = 3, .hops = 2}},
        {.kind = HOP_TASK_RECALL, .recall = {.pairs = 3, .queries = 2, .keys = 5, .values = 4}}};
    for (int k = 0; k < 2; k++) {
        hop_instance a = {0}, b = {0};
        hop_json_writer w = {0};
        hop_json_doc doc = {0};
        assert_int_equal(hop_task_ready(&all[k], NULL), HOP_OK);
        assert_int_equal(hop_instance_sample(&a, &all[k], 5, 6, NULL), HOP_OK);
        hop_instance_write(&a, &all[k], &w);
        assert_int_equal(hop_json_parse(&doc, w.text.s, w.text.len, NULL), HOP_OK);
        assert_int_equal(hop_instance_read(&b, doc.root, NULL), HOP_OK);
        assert_true(a.count == b.count && a.asked == b.asked);
        assert_memory_equal(a.tokens, b.tokens, sizeof *a.tokens * (size_t)a.count);
        assert_memory_equal(a.targets, b.targets, sizeof *a.targets * (size_t)a.count);
        hop_json_free(&doc);
        hop_text_free(&w.text);
        hop_instance_free(&a);
        hop_instance_free(&b);
    }
}

static void pipes_without_a_writer_and_devices_are_refused(void **state)
{
    (void)state;
    char path[512];
    hop_error err = {0};
    hop_jsonl in;
    test_path(path, sizeof path, "eval.pipe");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    double began = hop_now();
    assert_int_equal(hop_jsonl_open(&in, path, &err), HOP_EIO);
    assert_non_null(strstr(err.text, "a pipe that nobody writes to"));
    assert_true(hop_now() - began < 10);
    unlink(path);
    assert_int_equal(hop_jsonl_open(&in, "/dev/null", &err), HOP_EIO);
    assert_non_null(strstr(err.text, "/dev/null: neither a file nor a pipe"));
    assert_int_equal(hop_jsonl_open(&in, "/", &err), HOP_EIO);
    assert_non_null(strstr(err.text, "is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generate_is_a_whole_number_from_one_on_or_absent),
        cmocka_unit_test(what_is_proved_is_what_is_run_however_a_file_asks_for_it),
        cmocka_unit_test(a_chain_that_calls_itself_full_is_run_as_it_is_proved),
        cmocka_unit_test(answers_do_not_depend_on_threads_or_on_how_a_batch_is_cut),
        cmocka_unit_test(the_first_wrong_one_is_found_and_those_before_it_are_run),
        cmocka_unit_test(what_a_network_does_not_take_is_said_of_the_instance),
        cmocka_unit_test(a_tick_that_says_stop_ends_a_batch),
        cmocka_unit_test(a_line_is_read_back_as_it_was_written),
        cmocka_unit_test(pipes_without_a_writer_and_devices_are_refused),
    };
    return cmocka_run_group_tests_name("eval", tests, NULL, NULL);
}
