/* Training: recipes, gradients of the chain's heads, bits that depend on nothing but the recipe, checkpoints.
 */
#include "test.h"

#include "room.h"

#include <hopbound/bounds.h>

#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- subjects --------------------------------------------------------------------------------- */

static const char *const FILES[] = {"config.json", "model.safetensors", HOP__CHECKPOINT, HOP__LOG};

/* A directory that is not there. */
static const char *fresh_dir(char *out, size_t size, const char *name)
{
    char path[4200];
    test_path(out, size, name);
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", out, FILES[i]);
        unlink(path);
    }
    rmdir(out);
    return out;
}

static hop_recipe recipe_of(const char *json)
{
    hop_recipe r;
    hop_json_doc doc = {0};
    hop_error err = {0};
    hop_recipe_init(&r);
    assert_int_equal(hop_json_parse(&doc, json, strlen(json), &err), HOP_OK);
    if (hop_recipe_read(&r, doc.root, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_json_free(&doc);
    return r;
}

#define TINY                                                                                             \
    "{\"pattern\": \"L F\", \"mixer\": \"gla\", \"d_model\": 16, \"heads\": 2, \"task\": {\"hops\": 2, " \
    "\"m\": 2, "                                                                                         \
    "\"fan\": [2]}, \"steps\": 24, \"batch\": 10, \"groups\": 4, \"warmup\": 4, \"eval_every\": 8, "     \
    "\"eval_count\": 64, \"checkpoint_every\": 6}"

static hop_file file_of(const char *dir, const char *name)
{
    char path[4200];
    hop_file f = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(hop_file_load(&f, path, SIZE_MAX, NULL), HOP_OK);
    return f;
}

static void assert_same_network(const char *a, const char *b)
{
    hop_file x = file_of(a, "model.safetensors"), y = file_of(b, "model.safetensors");
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    hop_file_free(&x);
    hop_file_free(&y);
}

/* ---- recipes ------------------------------------------------------------------------------------ */

static void a_recipe_reads_what_it_wrote(void **state)
{
    (void)state;
    hop_recipe r =
        recipe_of("{\"lr\": 0.1, \"steps\": 7.0, \"norm\": \"rms\", \"mixer\": \"gdn\", \"seed\": 9, "
                  "\"task\": {\"name\": \"khop\", \"n\": 9, \"alphabet\": 3, \"hops\": 2}}");
    assert_int_equal(r.steps, 7);
    assert_int_equal(r.norm, HOP_NORM_RMS);
    assert_int_equal(r.task.kind, HOP_TASK_KHOP);
    char *once = hop__recipe_text(&r);
    hop_recipe again = recipe_of(once);
    char *twice = hop__recipe_text(&again);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
}

static void bad_recipes_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *json, *names;
    } all[] = {
        {"[]", "object"},
        {"{\"stpes\": 1}", "stpes"},
        {"{\"steps\": 0}", "steps"},
        {"{\"steps\": 1.5}", "steps"},
        {"{\"steps\": \"1\"}", "steps"},
        {"{\"lr\": -1}", "lr"},
        {"{\"lr\": NaN}", "lr"},
        {"{\"beta2\": 1}", "beta2"},
        {"{\"norm\": \"batch\"}", "norm"},
        {"{\"norm\": 1}", "norm"},
        {"{\"pattern\": \"\"}", "pattern"},
        {"{\"mixer\": \"a name that is longer than any mixer's\"}", "mixer"},
        {"{\"seed\": -1}", "seed"},
        {"{\"task\": {\"hops\": 2}}", "task: m"},
        {"{\"task\": 3}", "task"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_recipe r, before;
        hop_json_doc doc = {0};
        hop_error err = {0};
        hop_recipe_init(&r);
        before = r;
        assert_int_equal(hop_json_parse(&doc, all[i].json, strlen(all[i].json), NULL), HOP_OK);
        if (hop_recipe_read(&r, doc.root, &err) == HOP_OK) fail_msg("%s was taken", all[i].json);
        if (!strstr(err.text, all[i].names)) fail_msg("%s: %s", all[i].json, err.text);
        assert_memory_equal(&r, &before, sizeof r);
        hop_json_free(&doc);
    }
}

static void a_curriculum_ends_in_the_task_itself(void **state)
{
    (void)state;
    hop_recipe r = recipe_of("{\"steps\": 100, \"curriculum\": \"hops\", \"curriculum_part\": 0.5, "
                             "\"task\": {\"hops\": 3, \"m\": 4, \"fan\": [2, 2]}}");
    const struct {
        int64_t step, hops;
    } all[] = {{0, 1}, {24, 1}, {25, 2}, {49, 2}, {50, 3}, {99, 3}};
    hop_task t;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(hop__recipe_task(&r, all[i].step, &t, NULL), HOP_OK);
        assert_int_equal(t.funccomp.hops, all[i].hops);
        assert_true(t.length <= r.task.length && t.vocab <= r.task.vocab);
    }
    r.curriculum = HOP_CURRICULUM_SIZES;
    assert_int_equal(hop__recipe_task(&r, 0, &t, NULL), HOP_OK);
    assert_int_equal(t.funccomp.m, 2);
    assert_int_equal(t.funccomp.hops, 3);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29. */
static void wilsons_interval_is_the_published_one(void **state)
{
    (void)state;
    const struct {
        int64_t correct, count;
        double low, high;
    } all[] = {
        {81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double low, high;
        hop_wilson(all[i].correct, all[i].count, 1.959964, &low, &high);
        assert_true(fabs(low - all[i].low) < 6e-5 && fabs(high - all[i].high) < 6e-5); /* four digits there */
    }
}

static void only_an_accuracy_surely_above_the_ceiling_is_a_bug(void **state)
{
    (void)state;
    hop_measure m = {.instances = 1000, .correct = 600};
    assert_true(hop_measure_above(&m, 0.5));
    assert_false(hop_measure_above(&m, 0.55)); /* 3.2 standard deviations */
    assert_false(hop_measure_above(&m, 1));
    assert_false(hop_measure_above(&m, NAN));
    hop_recipe r = recipe_of("{\"pattern\": \"L L\", \"mixer\": \"gla\", \"d_model\": 4, \"heads\": 1, "
                             "\"task\": {\"hops\": 1, \"m\": 256}}");
    hop_model *net = NULL;
    assert_int_equal(hop_recipe_model(&r, &net, NULL), HOP_OK);
    double two = hop_train_ceiling(hop_model_config(net), &r.task), bits;
    hop_model_free(net);
    assert_int_equal(hop_accuracy_ceiling(&bits, 256, 2 * 32 * 16, NULL),
                     HOP_OK); /* gla keeps 4 x 4 numbers */
    assert_true(two == bits && two < 1);
    snprintf(r.pattern, sizeof r.pattern, "L F");
    assert_int_equal(hop_recipe_model(&r, &net, NULL), HOP_OK);
    assert_true(isnan(hop_train_ceiling(hop_model_config(net), &r.task)));
    hop_model_free(net);
}

static void the_learning_rate_rises_then_falls_as_a_cosine(void **state)
{
    (void)state;
    hop_recipe r = recipe_of("{\"steps\": 1000, \"warmup\": 10, \"lr\": 0.5, \"lr_end\": 0.1}");
    assert_true(fabs(hop__learning_rate(&r, 0) - 0.05) < 1e-9);
    assert_true(fabs(hop__learning_rate(&r, 500) - 0.275) < 1e-9); /* halfway between 0.5 and 0.05 */
    assert_true(fabs(hop__learning_rate(&r, 1000) - 0.05) < 1e-9);
}

/* Against the definition in double precision: the mean of three steps on one number. */
static void adamw_steps_as_it_is_defined(void **state)
{
    (void)state;
    hop_recipe r =
        recipe_of("{\"steps\": 100, \"warmup\": 0, \"lr\": 0.1, \"clip\": 1, \"weight_decay\": 0.1}");
    float w = 2, first = 0, second = 0;
    hop__params p = {.part = {&w}, .size = {1}, .floats = 1};
    hop__adamw a = {&first, &second};
    double x = 2, m = 0, v = 0, gs[] = {0.5, -3, 0.25};
    for (int t = 0; t < 3; t++) {
        float given = (float)gs[t];
        hop__batch_result g = {.norm = fabs(gs[t]), .sum = &given};
        double lr = hop__learning_rate(&r, t), s = gs[t] / fmax(1, fabs(gs[t]));
        hop__adamw_step(&a, &r, &p, &g, t, NULL);
        m = 0.9 * m + 0.1 * s;
        v = 0.999 * v + 0.001 * s * s;
        x -= lr * (m / (1 - pow(0.9, t + 1)) / (sqrt(v / (1 - pow(0.999, t + 1))) + 1e-8) + 0.1 * x);
        assert_true(fabs(w - x) < 2e-6); /* a few roundings of numbers around 2 */
    }
}

/* The heads' loss as a function of its parameters and of the stream; central differences of the float loss
 * are good to about 1e-3 of the largest gradient at steps of 1e-2. */
static void a_heads_gradient_is_the_difference_quotient(void **state)
{
    (void)state;
    enum { d = 5, vocab = 4, rows = 3, floats = (2 + vocab) * d + vocab };
    hop__chain c = {.heads = 1, .d = d, .vocab = vocab, .floats = floats};
    float block[floats], dblock[floats] = {0}, stream[4 * d], dstream[4 * d] = {0}, unused[4 * d],
                         none[floats];
    float scratch[rows * (3 * d + vocab + 1)];
    const int64_t row[rows] = {3, 0, 2}, wanted[rows] = {1, 3, 0};
    hop_rng rng;
    hop_rng_init(&rng, 5, 0);
    hop__chain_draw(&c, block, 7);
    for (int i = 0; i < 4 * d; i++) stream[i] = (float)hop_rng_normal(&rng);
    for (int i = 0; i < 2 * d; i++) block[i] += 0.3f * (float)hop_rng_normal(&rng);
    hop__chain_rows x = {stream, dstream, row, wanted, rows, 0.5f};
    hop__chain_step(&c, 0, block, dblock, &x, scratch);
    x.dstream = unused;
    for (int i = 0; i < floats + 4 * d; i++) {
        float *at = i < floats ? &block[i] : &stream[i - floats], old = *at;
        double got = i < floats ? dblock[i] : dstream[i - floats];
        *at = old + 0.01f;
        double up = hop__chain_step(&c, 0, block, none, &x, scratch);
        *at = old - 0.01f;
        double down = hop__chain_step(&c, 0, block, none, &x, scratch);
        *at = old;
        double wanted_here = 0.5 * (up - down) / 0.02; /* the scale is the gradient's, not the loss's */
        if (fabs(got - wanted_here) > 2e-3) fail_msg("number %d: %g, not %g", i, got, wanted_here);
    }
}

/* ---- where heads read ------------------------------------------------------------------------------ */

static void heads_stand_after_the_layers_that_make_the_hops(void **state)
{
    (void)state;
    const struct {
        const char *pattern;
        int heads;
        int64_t stream[3]; /* of links 0, 1, ..; 0: no head */
    } all[] = {
        {"F F F", 2, {1, 2}}, {"L F F", 2, {1, 2}},       {"L F L", 2, {1, 2}},     {"F F", 1, {0, 1}},
        {"L L L", 2, {1, 2}}, {"L L F L F L", 2, {2, 3}}, {"F L L F F", 2, {3, 4}}, {"F", 0, {0, 0}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_recipe r = recipe_of("{}");
        hop_model *m = NULL;
        hop__chain c;
        snprintf(r.pattern, sizeof r.pattern, "%s", all[i].pattern);
        assert_int_equal(hop_recipe_model(&r, &m, NULL), HOP_OK);
        hop__chain_init(&c, &r, hop_model_config(m));
        if (c.heads != all[i].heads) fail_msg("%s: %d heads", all[i].pattern, c.heads);
        for (int h = 0; h < c.heads; h++) assert_int_equal(c.head[h].stream, all[i].stream[c.head[h].link]);
        hop_model_free(m);
    }
}

/* ---- the same bits ----------------------------------------------------------------------------------- */

static void run_with(const char *json, const char *dir, int threads, bool resume, const hop_progress *p,
                     hop_status wanted, hop_measure *last)
{
    hop_recipe r = recipe_of(json);
    hop_pool *pool = hop_pool_new(threads);
    hop_error err = {0};
    hop_measure unused;
    hop_train_options o = {.pool = pool, .dir = dir, .resume = resume, .progress = p};
    hop_status s = hop_train_run(&r, &o, last ? last : &unused, &err);
    if (s != wanted) fail_msg("status %d, not %d: %s", s, wanted, err.text);
    hop_pool_free(pool);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    char a[4096], b[4096], name[32];
    run_with(TINY, fresh_dir(a, sizeof a, "train-a"), 1, false, NULL, HOP_OK, NULL);
    for (int threads = 2; threads <= 5; threads++) {
        snprintf(name, sizeof name, "train-b%d", threads);
        run_with(TINY, fresh_dir(b, sizeof b, name), threads, false, NULL, HOP_OK, NULL);
        assert_same_network(a, b);
        fresh_dir(b, sizeof b, name);
    }
    fresh_dir(a, sizeof a, "train-a");
}

/* Says stop at its k-th tick, which may come from any thread. */
static bool stop_at(void *ctx, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    return atomic_fetch_sub((atomic_int *)ctx, 1) != 1;
}

static void a_stopped_training_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    char whole[4096], parts[4096];
    hop_measure once, again;
    run_with(TINY, fresh_dir(whole, sizeof whole, "train-whole"), 2, false, NULL, HOP_OK, &once);
    const int stops[] = {1, 2, 7, 40, 90, 200}; /* ticks come from steps and from instances of evaluations */
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        atomic_int k = stops[i];
        hop_progress p = {stop_at, &k};
        fresh_dir(parts, sizeof parts, "train-parts");
        run_with(TINY, parts, 2, false, &p, HOP_ESTOPPED, NULL);
        k = stops[i];
        run_with(TINY, parts, 1, true, &p, HOP_ESTOPPED, NULL);
        run_with(TINY, parts, 2, true, NULL, HOP_OK, &again);
        assert_same_network(whole, parts);
        assert_int_equal(again.correct, once.correct);
        assert_true(again.loss == once.loss);
        hop_file x = file_of(whole, HOP__LOG), y = file_of(parts, HOP__LOG);
        int lines[2] = {0};
        for (size_t c = 0; c < x.size; c++) lines[0] += x.data[c] == '\n';
        for (size_t c = 0; c < y.size; c++) lines[1] += y.data[c] == '\n';
        assert_int_equal(lines[0], 4); /* steps 8, 16, 24, and the last */
        assert_int_equal(lines[1], 4);
        hop_file_free(&x);
        hop_file_free(&y);
    }
    fresh_dir(whole, sizeof whole, "train-whole");
    fresh_dir(parts, sizeof parts, "train-parts");
}

/* ---- checkpoints -------------------------------------------------------------------------------------- */

static void damaged_checkpoints_and_those_of_other_recipes_are_refused(void **state)
{
    (void)state;
    char dir[4096], path[4200];
    run_with(TINY, fresh_dir(dir, sizeof dir, "train-damaged"), 1, false, NULL, HOP_OK, NULL);
    run_with(TINY, dir, 1, false, NULL, HOP_EIO, NULL); /* there is one already */
    hop_recipe r = recipe_of(TINY), kept;
    assert_int_equal(hop_train_recipe(&kept, dir, NULL), HOP_OK);
    assert_int_equal(kept.steps, r.steps);
    r.lr *= 2;
    hop_measure last;
    assert_int_equal(hop_train_run(&r, &(hop_train_options){.dir = dir, .resume = true}, &last, NULL),
                     HOP_EFORMAT);

    hop_file good = file_of(dir, HOP__CHECKPOINT);
    size_t size = good.size;
    unsigned char *bytes = malloc(size);
    memcpy(bytes, good.data, size);
    hop_file_free(&good);
    snprintf(path, sizeof path, "%s/%s", dir, HOP__CHECKPOINT);
    r.lr /= 2;
    hop_rng rng;
    hop_rng_init(&rng, 1, 1);
    for (int i = 0; i < 60; i++) { /* a bit anywhere, header and numbers; or an end too early */
        size_t at = (size_t)hop_rng_below(&rng, i % 2 ? size : 1200);
        unsigned char old = bytes[at];
        bytes[at] ^= (unsigned char)(1u << hop_rng_below(&rng, 8));
        assert_int_equal(hop_file_write(path, bytes, i % 10 == 9 ? at : size, NULL), HOP_OK);
        hop_error err = {0};
        hop_status s = hop_train_run(&r, &(hop_train_options){.dir = dir, .resume = true}, &last, &err);
        if (s != HOP_EFORMAT) fail_msg("byte %zu of %zu: status %d, %s", at, size, s, err.text);
        bytes[at] = old;
    }
    free(bytes);
    fresh_dir(dir, sizeof dir, "train-damaged");
}

static void a_gradient_that_is_not_finite_stops_and_the_checkpoint_stands(void **state)
{
    (void)state;
    char dir[4096];
    hop_recipe r = recipe_of(TINY);
    hop_measure last;
    hop_error err = {0};
    r.lr = 1e30;
    r.clip = 0;
    r.checkpoint_every = 1;
    fresh_dir(dir, sizeof dir, "train-nan");
    assert_int_equal(hop_train_run(&r, &(hop_train_options){.dir = dir}, &last, &err), HOP_ERANGE);
    assert_non_null(strstr(err.text, "step "));
    assert_non_null(strstr(err.text, "not finite"));
    hop_recipe kept;
    assert_int_equal(hop_train_recipe(&kept, dir, NULL), HOP_OK);
    hop_model *m = NULL;
    assert_int_equal(hop_model_open(&m, dir, NULL), HOP_OK);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        for (int64_t k = 0; k < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); k++)
            assert_true(isfinite(w->data[k]));
    }
    hop_model_free(m);
    fresh_dir(dir, sizeof dir, "train-nan");
}

/* ---- what is shown ------------------------------------------------------------------------------------- */

typedef struct shown {
    int often, last;  /* ticks within evaluations */
    double done;      /* the farthest that a tick was */
    bool back, other; /* one was less far than another before it; one had another total, or no name */
} shown;

static bool note(void *ctx, const char *what, double done, double total)
{
    shown *s = ctx;
    s->often += strncmp(what, "tokens: evaluation, ", 20) == 0;
    s->last += strcmp(what, "tokens: last evaluation, 64 of 64") == 0;
    s->back |= done < s->done;
    s->other |= strncmp(what, "tokens", 6) != 0 || total != 40 * 8 * 5;
    s->done = done;
    return true;
}

/* Tokens alone say how far a training is, whatever goes on within it. */
static void evaluations_show_how_far_they_are(void **state)
{
    (void)state;
    shown s = {0};
    run_with("{\"pattern\": \"F F\", \"d_model\": 16, \"heads\": 2, \"task\": {\"hops\": 1, \"m\": 3}, "
             "\"steps\": 40, "
             "\"batch\": 8, \"eval_every\": 20, \"eval_count\": 16}",
             NULL, 1, false, &(hop_progress){note, &s}, HOP_OK, NULL);
    assert_int_equal(s.often, 2 * 16);
    assert_int_equal(s.last, 1);
    assert_true(s.done == 40 * 8 * 5 && !s.back && !s.other);
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static void a_small_network_learns_one_hop(void **state)
{
    (void)state;
    hop_measure last;
    run_with("{\"pattern\": \"F F\", \"d_model\": 32, \"heads\": 2, \"task\": {\"hops\": 1, \"m\": 4}, "
             "\"steps\": 1500, "
             "\"batch\": 32, \"warmup\": 50, \"lr\": 0.003, \"eval_every\": 100, \"eval_count\": 256, "
             "\"target\": 1}",
             NULL, 2, false, NULL, HOP_OK, &last);
    assert_true(last.chance == 0.25);
    if (!(last.low > 0.95)) fail_msg("step %lld: accuracy %g", (long long)last.step, last.accuracy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recipe_reads_what_it_wrote),
        cmocka_unit_test(bad_recipes_are_refused_by_name),
        cmocka_unit_test(a_curriculum_ends_in_the_task_itself),
        cmocka_unit_test(wilsons_interval_is_the_published_one),
        cmocka_unit_test(only_an_accuracy_surely_above_the_ceiling_is_a_bug),
        cmocka_unit_test(the_learning_rate_rises_then_falls_as_a_cosine),
        cmocka_unit_test(adamw_steps_as_it_is_defined),
        cmocka_unit_test(a_heads_gradient_is_the_difference_quotient),
        cmocka_unit_test(heads_stand_after_the_layers_that_make_the_hops),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_stopped_training_goes_on_to_the_same_bits),
        cmocka_unit_test(damaged_checkpoints_and_those_of_other_recipes_are_refused),
        cmocka_unit_test(a_gradient_that_is_not_finite_stops_and_the_checkpoint_stands),
        cmocka_unit_test(evaluations_show_how_far_they_are),
        cmocka_unit_test(a_small_network_learns_one_hop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
