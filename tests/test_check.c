/* The checker's forward pass against the program's, which share no code: every mixer, many shapes and
 * options, every arithmetic; its solver of the tasks against theirs; and its roundings against hand-made
 * values. */
#include "test.h"

#include <hopbound/construct.h>
#include <hopbound/mixers.h>
#include <hopbound/model.h>
#include <hopbound/tasks.h>
#include "room.h"

/* float32 against double through a few layers with norms; relative to the largest logit. Measured: below 4e-6
 * but for mlstm, which divides by what may be small. */
#define TOLERANCE 2e-5

typedef struct shape {
    int64_t d, heads, kv_heads, head_dim;
    double theta, scale;
    hop_norm norm;
    hop_mlp mlp;
    bool positions, tied;
    const char *options[8]; /* "conv=0", of whatever mixer takes them */
} shape;

static const shape SHAPES[] = {
    {16, 2, 2, 8, 0, 0, HOP_NORM_RMS, HOP_MLP_SWIGLU, true, false, {"window=5", "block=4", "topk=2"}},
    {13,
     6,
     3,
     5,
     10000,
     0,
     HOP_NORM_LAYER,
     HOP_MLP_GELU,
     false,
     true,
     {"groups=3", "window=3", "block=3", "topk=1"}},
    {12,
     3,
     3,
     4,
     0,
     0.7,
     HOP_NORM_NONE,
     HOP_MLP_RELU,
     true,
     false,
     {"conv=0", "gate=0", "norm=0", "window=9", "block=2", "topk=3", "summary=1"}},
    {10,
     4,
     2,
     6,
     500,
     0,
     HOP_NORM_RMS,
     HOP_MLP_NONE,
     true,
     true,
     {"conv=3", "value_dim=7", "negative=1", "feature=3", "normalise=1", "rank=3", "steps=3", "state_dim=5"}},
    {9,
     2,
     1,
     5,
     0,
     0,
     HOP_NORM_LAYER,
     HOP_MLP_SWIGLU,
     false,
     false,
     {"inner=14", "dt_rank=2", "feature=2", "rope=0"}},
    {8,
     1,
     1,
     1,
     0,
     0,
     HOP_NORM_NONE,
     HOP_MLP_RELU,
     false,
     false,
     {"norm=0", "feature=0", "value_dim=3", "expand=1"}},
    {15,
     4,
     2,
     6,
     500,
     0,
     HOP_NORM_RMS,
     HOP_MLP_SWIGLU,
     true,
     false,
     {"latent=9", "rope_dim=4", "window=6", "qk_norm=1", "block=5", "value_dim=5"}},
    {12,
     2,
     1,
     5,
     100,
     0.6,
     HOP_NORM_RMS,
     HOP_MLP_NONE,
     false,
     true,
     {"rope_dim=3", "gate=1", "latent=4", "topk=1", "window=4", "block=3"}},
};
#define SHAPE_COUNT ((int)(sizeof SHAPES / sizeof *SHAPES))
#define TOKENS      23
#define VOCAB       11
#define STRIDE      2 /* tokens from one that is looked at to the next */

/* A network of two layers of a mixer around a full one, random weights, all of them moved; NULL when the
 * mixer cannot be built so. */
static hop_model *network(const shape *z, const hop_mixer_ops *ops)
{
    hop_config c;
    hop_model *m = NULL;
    char pattern[80];
    hop_config_init(&c);
    snprintf(pattern, sizeof pattern, "%s full %s", ops->name, ops->name);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = z->d, c.max_positions = TOKENS + 4, c.position_table = z->positions;
    c.heads = z->heads, c.kv_heads = z->kv_heads, c.head_dim = z->head_dim, c.rope_theta = z->theta;
    c.attention_scale = z->scale, c.norm = z->norm, c.mlp = z->mlp, c.tied = z->tied, c.mlp_hidden = 2 * z->d;
    for (int i = 0; i < 8 && z->options[i]; i++) {
        char name[32];
        int value = 0;
        hop_mixer_config probe;
        assert_int_equal(sscanf(z->options[i], "%31[^=]=%d", name, &value), 2);
        hop_mixer_config_init(&probe);
        if (hop_mixer_option_set(&probe, ops, name, value, NULL) == HOP_OK)
            assert_int_equal(hop_config_set(&c, i % 2 ? -1 : 0, i % 2 ? ops->name : "", name, value, NULL),
                             HOP_OK);
        if (i % 2 == 0 && hop_mixer_option_set(&probe, ops, name, value, NULL) == HOP_OK)
            assert_int_equal(hop_config_set(&c, 2, "", name, value, NULL), HOP_OK);
    }
    hop_status s = hop_model_new(&m, &c, NULL);
    hop_config_free(&c);
    if (s != HOP_OK) return NULL;
    hop_rng rng;
    hop_rng_init(&rng, 5, 0);
    hop_model_init_weights(m, 7, NULL);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        int64_t n = w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
        for (int64_t k = 0; k < n; k++) w->data[k] += (float)(0.1 * hop_rng_normal(&rng));
    }
    return m;
}

static hop_truth *written(const hop_model *m)
{
    char dir[512];
    hop_truth *t = NULL;
    hop_error err = {0};
    test_path(dir, sizeof dir, "check-net");
    assert_int_equal(hop_model_save(m, dir, NULL), HOP_OK);
    if (hop_truth_open(&t, dir, &err) != HOP_OK) fail_msg("%s", err.text);
    return t;
}

static void draw(int32_t *tokens, uint64_t seed)
{
    hop_rng rng;
    hop_rng_init(&rng, seed, 1);
    for (int i = 0; i < TOKENS; i++) tokens[i] = (int32_t)hop_rng_below(&rng, VOCAB);
}

/* The program's logits at every token. */
static float *all_logits(const hop_model *m, const int32_t *tokens, int bits, const hop_cuts *cuts)
{
    hop_forward *f = NULL;
    hop_error err = {0};
    float *logits = malloc(sizeof(float) * TOKENS * VOCAB);
    if (hop_forward_new(&f, m, &(hop_forward_options){.bits = bits, .cuts = cuts}, &err) != HOP_OK ||
        hop_forward_all(f, tokens, TOKENS, logits, &err) != HOP_OK)
        fail_msg("%s", err.text);
    hop_forward_free(f);
    return logits;
}

static double *checkers_logits(const hop_truth *t, const hop_rounding *a, hop__how how, const int32_t *tokens)
{
    double *logits = malloc(sizeof(double) * TOKENS * VOCAB);
    for (int at = 0; at < TOKENS; at += STRIDE) {
        hop__pass p = {.net = t, .arith = a, .how = how, .seed = 1, .watch = -1};
        if (hop__pass_run(&p, tokens, TOKENS, at, logits + at * VOCAB) != HOP_OK) fail_msg("%s", p.err.text);
        hop__pass_close(&p);
    }
    return logits;
}

/* The largest difference relative to the largest number; and how many numbers differ by more than
 * `tolerance`. */
static double off_by(const float *a, const double *b, int *differ, double tolerance)
{
    double most = 0, size = 1e-30;
    for (int i = 0; i < TOKENS * VOCAB; i++)
        if (i / VOCAB % STRIDE == 0) size = fmax(size, fabs(b[i]));
    *differ = 0;
    for (int i = 0; i < TOKENS * VOCAB; i++) {
        if (i / VOCAB % STRIDE) continue;
        double off = fabs(a[i] - b[i]) / size;
        if (!(off <= most)) most = off;
        *differ += !(off <= tolerance);
    }
    return most;
}

/* ---- the forward pass ---------------------------------------------------------------------------- */

/* Every mixer in every shape, saved once: how often, and how far off, in float32 and under two arithmetics.
 */
typedef enum way { PLAIN, SIGNIFICANT, MESSAGES, STATES, SHORT_STATES, WAYS } way;
static struct tally {
    int networks, same[WAYS];
    double off; /* PLAIN: the most */
} tallies[64];

static const int64_t STARTS[] = {0, 4, 9, 10, 17};
static const hop_rounding ROUNDINGS[WAYS] = {
    [SIGNIFICANT] = {.significant_bits = 7},
    [MESSAGES] = {.message_bits = 13, .cuts = STARTS, .cut_count = 5},
    [STATES] = {.state_bits = 12},
    [SHORT_STATES] = {.state_bits = 8},
};
/* The same for the program; where there is one, recurrent layers go token by token. */
static const hop_cuts CUTS[WAYS] = {
    [MESSAGES] = {.starts = STARTS, .count = 5, .bits = 13},
    [STATES] = {.starts = STARTS, .count = 1, .bits = 32, .kept = 12},
    [SHORT_STATES] = {.starts = STARTS, .count = 1, .bits = 32, .kept = 8},
};

/* The program's tables that sum in double round as the checker's float32 pass does, but for numbers that lie
 * so near the middle of two that float32 has moved them across. */
static int walk_networks(void **state)
{
    (void)state;
    hop_isa before = hop_kernels_selected();
    int32_t tokens[TOKENS];
    draw(tokens, 2);
    for (int i = 0; hop_mixer_at(i); i++)
        for (const shape *z = SHAPES; z < SHAPES + SHAPE_COUNT; z++) {
            hop_model *m = network(z, hop_mixer_at(i));
            if (!m) continue;
            hop_truth *t = written(m);
            for (int how = 0; how < WAYS; how++) {
                int differ;
                assert_int_equal(hop_kernels_select(how == PLAIN ? before : HOP_ISA_REF, NULL), HOP_OK);
                float *got = all_logits(m, tokens, (int)ROUNDINGS[how].significant_bits,
                                        CUTS[how].count ? &CUTS[how] : NULL);
                double *want =
                    checkers_logits(t, &ROUNDINGS[how], how == PLAIN ? HOP__DOUBLE : HOP__FLOAT, tokens);
                double off = off_by(got, want, &differ, TOLERANCE);
                if (how == PLAIN && !(off <= tallies[i].off)) tallies[i].off = off;
                tallies[i].same[how] += differ == 0;
                free(got), free(want);
            }
            tallies[i].networks++;
            hop_truth_free(t);
            hop_model_free(m);
        }
    return hop_kernels_select(before, NULL) == HOP_OK ? 0 : 1;
}

static void every_mixer_in_every_shape_is_what_the_checker_derives(void **state)
{
    (void)state;
    for (int i = 0; hop_mixer_at(i); i++) {
        if (getenv("HOPBOUND_TEST_VERBOSE"))
            print_message("%s: %.2g\n", hop_mixer_at(i)->name, tallies[i].off);
        if (tallies[i].same[PLAIN] < tallies[i].networks)
            fail_msg("%s: off by %g", hop_mixer_at(i)->name, tallies[i].off);
        assert_true(tallies[i].networks >= SHAPE_COUNT - 1);
    }
}

/* A rounding that is left out, or put elsewhere, shows in every network; a number that lies in the middle, in
 * one now and then. */
static void most_agree(way how)
{
    for (int i = 0; hop_mixer_at(i); i++)
        if (3 * tallies[i].same[how] < 2 * tallies[i].networks)
            fail_msg("%s: %d of %d networks agree", hop_mixer_at(i)->name, tallies[i].same[how],
                     tallies[i].networks);
}

static void activations_cut_to_bits_are_cut_where_the_program_cuts_them(void **state)
{
    (void)state;
    most_agree(SIGNIFICANT);
}

static void messages_are_rounded_where_the_game_rounds_them(void **state)
{
    (void)state;
    most_agree(MESSAGES);
}

static void states_are_rounded_after_every_token_where_the_program_rounds_them(void **state)
{
    (void)state;
    most_agree(STATES);
    most_agree(SHORT_STATES);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static void roundings_are_those_of_the_kernels_and_of_e5m2(void **state)
{
    (void)state;
    static const double e5m2[][2] = {
        {1.0, 1.0},           {1.1, 1.0},           {1.125, 1.0},         {1.375, 1.5},
        {1.2, 1.25},          {57344, 57344},       {61439, 57344},       {61440, INFINITY},
        {-1e6, -INFINITY},    {0x1p-14, 0x1p-14},   {0x1p-16, 0x1p-16},   {0x1p-17, 0},
        {0x1.8p-17, 0x1p-16}, {0x1.8p-16, 0x1p-15}, {0x1.4p-15, 0x1p-15}, {-0.3, -0.3125}};
    for (size_t i = 0; i < sizeof e5m2 / sizeof *e5m2; i++)
        if (hop__to_float_bits(e5m2[i][0], 8) != e5m2[i][1])
            fail_msg("%a becomes %a, not %a", e5m2[i][0], hop__to_float_bits(e5m2[i][0], 8), e5m2[i][1]);
    hop_rng rng;
    hop_rng_init(&rng, 3, 0);
    for (int n = 0; n < 100000; n++) {
        uint32_t u = hop_rng_u32(&rng);
        int bits = 10 + n % 23;
        float x, near;
        if (n % 3 == 0) u &= 0x80ffffff; /* the smallest ones too */
        memcpy(&x, &u, sizeof x);
        if (!isfinite(x)) continue;
        near = x;
        hop_round_float(&near, 1, bits);
        assert_true(hop__to_float_bits(x, bits) == near);
        near = x;
        hop_round_significand(&near, 1, 1 + n % 23);
        if (fabsf(x) >= 0x1p-126f) assert_true(hop__to_significant(x, 1 + n % 23) == near);
    }
}

static double worst(const hop_truth *t, const int32_t *tokens, int64_t count, double *moved)
{
    int64_t vocab = hop_truth_vocab(t);
    double *a = malloc(sizeof *a * (size_t)vocab), *b = malloc(sizeof *b * (size_t)vocab), most = 0;
    const hop_rounding none = {0};
    *moved = 0;
    for (uint64_t seed = 1; seed < 4; seed++) {
        hop__pass p = {.net = t, .arith = &none, .how = HOP__SHAKEN, .seed = seed, .watch = -1};
        assert_int_equal(hop_truth_logits(t, NULL, tokens, count, count - 1, a, NULL), HOP_OK);
        assert_int_equal(hop__pass_run(&p, tokens, count, count - 1, b), HOP_OK);
        hop__pass_close(&p);
        for (int64_t i = 0; i < vocab; i++)
            most = fmax(most, fabs(a[i])), *moved = fmax(*moved, fabs(a[i] - b[i]));
    }
    free(a), free(b);
    return *moved / most;
}

static void shaking_moves_what_rounds_and_nothing_else(void **state)
{
    (void)state;
    hop_task task = {.kind = HOP_TASK_FUNCCOMP};
    hop_model *m = NULL;
    double moved;
    int32_t tokens[TOKENS];
    assert_int_equal(hop_funccomp_init(&task.funccomp, 2, 2, (const int64_t[]){2}, NULL), HOP_OK);
    assert_int_equal(hop_task_ready(&task, NULL), HOP_OK);
    assert_int_equal(hop_construct(&m, "full", &task, &(hop_construct_options){0}, NULL), HOP_OK);
    hop_truth *t = written(m);
    worst(t, (const int32_t[]){3, 0, 2, 1, 1, 0, 0, 1}, 8, &moved);
    assert_true(moved == 0); /* the clip mends what softmax rounds; all else is whole numbers */
    hop_truth_free(t);
    hop_model_free(m);
    m = network(&SHAPES[0], hop_mixer_find("gdn"));
    t = written(m);
    draw(tokens, 4);
    double relative = worst(t, tokens, TOKENS, &moved);
    assert_true(moved > 0 && relative < 1e-4);
    hop_truth_free(t);
    hop_model_free(m);
}

/* ---- tasks --------------------------------------------------------------------------------------- */

static void right_answers_are_those_of_the_tasks(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"name\":\"funccomp\",\"hops\":3,\"m\":3,\"fan\":[2,3]}", "{\"hops\":1,\"m\":4}",
        "{\"name\":\"two-sum\",\"n\":9,\"mod\":7}",
        "{\"name\":\"recall\",\"pairs\":4,\"queries\":3,\"keys\":6,\"values\":5}",
        "{\"name\":\"khop\",\"n\":14,\"alphabet\":3,\"hops\":2}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint64_t seed = 0; seed < 200; seed++) {
            hop_json_doc doc = {0};
            hop_task task;
            hop_rng rng;
            int32_t tokens[64], targets[64];
            assert_int_equal(hop_json_parse(&doc, texts[i], strlen(texts[i]), NULL), HOP_OK);
            assert_int_equal(hop_task_read(&task, doc.root, NULL), HOP_OK);
            hop_rng_init(&rng, seed, i);
            hop_task_sample(&task, &rng, tokens);
            hop_task_solve(&task, tokens, targets);
            for (int64_t at = 0; at < task.length; at++) {
                int64_t answer = -7;
                hop_status s = hop__task_answer(doc.root, tokens, task.length, at, &answer, NULL);
                assert_int_equal(s == HOP_OK, targets[at] >= 0);
                if (s == HOP_OK) assert_int_equal(answer, targets[at]);
            }
            tokens[seed % (uint64_t)task.length] = (int32_t)task.vocab;
            int64_t answer;
            assert_int_not_equal(
                hop__task_answer(doc.root, tokens, task.length, task.length - 1, &answer, NULL), HOP_OK);
            assert_int_not_equal(
                hop__task_answer(doc.root, tokens, task.length - 1, task.length - 2, &answer, NULL), HOP_OK);
            hop_json_free(&doc);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mixer_in_every_shape_is_what_the_checker_derives),
        cmocka_unit_test(activations_cut_to_bits_are_cut_where_the_program_cuts_them),
        cmocka_unit_test(messages_are_rounded_where_the_game_rounds_them),
        cmocka_unit_test(states_are_rounded_after_every_token_where_the_program_rounds_them),
        cmocka_unit_test(roundings_are_those_of_the_kernels_and_of_e5m2),
        cmocka_unit_test(shaking_moves_what_rounds_and_nothing_else),
        cmocka_unit_test(right_answers_are_those_of_the_tasks),
    };
    return cmocka_run_group_tests_name("check", tests, walk_networks, NULL);
}
