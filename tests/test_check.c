/* The checker's forward pass against the program's, which share no code: every mixer, many shapes and
 * options, every arithmetic; its solver of the tasks against theirs; and its roundings against hand-made
 * values. */
#include "test.h"

#include <hopbound/construct.h>
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
};
#define SHAPE_COUNT ((int)(sizeof SHAPES / sizeof *SHAPES))
#define TOKENS      23
#define VOCAB       11

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
    hop_model_init_weights(m, 7);
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

static double *checkers_logits(const hop_truth *t, const hop_arithmetic *a, const int32_t *tokens)
{
    double *logits = malloc(sizeof(double) * TOKENS * VOCAB);
    hop_error err = {0};
    for (int at = 0; at < TOKENS; at++)
        if (hop_truth_logits(t, a, tokens, TOKENS, at, logits + at * VOCAB, &err) != HOP_OK)
            fail_msg("%s", err.text);
    return logits;
}

/* The largest difference relative to the largest number; and how many numbers differ by more than
 * `tolerance`. */
static double off_by(const float *a, const double *b, int *differ, double tolerance)
{
    double most = 0, size = 1e-30;
    for (int i = 0; i < TOKENS * VOCAB; i++) size = fmax(size, fabs(b[i]));
    *differ = 0;
    for (int i = 0; i < TOKENS * VOCAB; i++) {
        double off = fabs(a[i] - b[i]) / size;
        if (!(off <= most)) most = off;
        *differ += !(off <= tolerance);
    }
    return most;
}

#define FOR_EVERY_NETWORK(m, z)                                      \
    for (int index = 0; hop_mixer_at(index); index++)                \
        for (const shape *z = SHAPES; z < SHAPES + SHAPE_COUNT; z++) \
            for (hop_model *m = network(z, hop_mixer_at(index)); m; hop_model_free(m), m = NULL)

static void every_mixer_in_every_shape_is_what_the_checker_derives(void **state)
{
    (void)state;
    int32_t tokens[TOKENS];
    int networks = 0, differ;
    draw(tokens, 1);
    FOR_EVERY_NETWORK(m, z)
    {
        const char *name = hop_mixer_at(index)->name;
        hop_truth *t = written(m);
        float *got = all_logits(m, tokens, 0, NULL);
        double *want = checkers_logits(t, NULL, tokens), tolerance = TOLERANCE;
        if (strcmp(name, "mlstm") == 0) tolerance *= 10;
        double off = off_by(got, want, &differ, tolerance);
        if (getenv("HOPBOUND_TEST_VERBOSE")) print_message("%s %d: %.2g\n", name, (int)(z - SHAPES), off);
        if (differ) fail_msg("%s, shape %d: off by %g", name, (int)(z - SHAPES), off);
        free(got), free(want);
        hop_truth_free(t);
        networks++;
    }
    assert_true(networks >= 19 * (SHAPE_COUNT - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mixer_in_every_shape_is_what_the_checker_derives),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
