/* Networks without a position table, where rotary embedding tells where tokens stand: in every shape that attends,
 * right, proved, and never proved when damaged so that they err. */
#include "against_truth.h"

enum { WALKS = 1000 };

typedef struct shape {
    const char *name, *pattern;
    hop_norm norm;
    int64_t heads, kv_heads, head_dim;
    double theta;
    bool tied;
    const char *mixer;
    struct {
        const char *name;
        double value;
    } options[4]; /* ended by one without a name */
} shape;

#define RMS HOP_NORM_RMS
static const shape SHAPES[] = {
    {"plain", "F^3", RMS, 1, 1, 16, 100, false, "full", {{0}}},
    {"no norms", "F^3", HOP_NORM_NONE, 1, 1, 16, 100, false, "full", {{0}}},
    {"tied", "F^4", RMS, 2, 1, 16, 100, true, "full", {{0}}},
    {"groups", "F^3", RMS, 4, 2, 16, 1e4, false, "full", {{0}}},
    {"in part", "F^3", RMS, 4, 2, 32, 100, false, "full", {{"rope_dim", 16}}},
    {"norms of queries",
     "F^3",
     RMS,
     2,
     1,
     32,
     100,
     false,
     "full",
     {{"qk_norm", 1}, {"gate", 1}, {"rope_dim", 16}}},
    {"windows", "W^3", RMS, 2, 2, 16, 100, false, "window", {{"window", 64}}},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static hop_status shape_of(const shape *s, hop_config *c)
{
    hop_config_init(c);
    hop_status status = hop_pattern_parse(&c->pattern, s->pattern, "deltanet", NULL);
    c->norm = s->norm, c->tied = s->tied;
    c->heads = s->heads, c->kv_heads = s->kv_heads, c->head_dim = s->head_dim, c->rope_theta = s->theta;
    for (int i = 0; status == HOP_OK && s->options[i].name; i++)
        status = hop_config_set(c, -1, s->mixer, s->options[i].name, s->options[i].value, NULL);
    return status;
}

static hop_model *in_shape(const shape *s, const hop_task *t, hop_error *err)
{
    hop_model *m = NULL;
    hop_config c;
    assert_int_equal(shape_of(s, &c), HOP_OK);
    hop_construct(&m, "rotary", t, &(hop_construct_options){.shape = &c}, err);
    hop_config_free(&c);
    return m;
}

static void every_shape_is_proved_and_right_on_every_small_input(void **state)
{
    static const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    (void)state;
    for (int i = 0; i < SHAPE_COUNT; i++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            subject s = {.kind = "rotary", .task = composition(&all[k])};
            hop_error err = {0};
            hop_model *m = in_shape(&SHAPES[i], &s.task, &err);
            if (!m) fail_msg("%s: %s", SHAPES[i].name, err.text);
            assert_null(hop_model_weight(m, "model.embed_positions.weight"));
            if (!proved_by_intervals(m, &s.task, SHAPES[i].name) || errs(m, &s))
                fail_msg("%s, %d hops: not proved, or not right", SHAPES[i].name, all[k].hops);
            hop_model_free(m);
        }
}

/* With the angles of today's models: base and numbers of a head that are turned. */
static void many_sizes_are_proved(void **state)
{
    static const struct {
        sizes size;
        double theta;
        int64_t head_dim, rotary;
    } all[] = {
        {{1, 300, {0}}, 1e4, 64, 64},         {{2, 30, {29}}, 5e5, 128, 128},
        {{3, 8, {4, 4}}, 1e4, 128, 64},       {{3, 7, {5, 6}}, 1e6, 128, 128},
        {{4, 16, {4, 4, 4}}, 5e5, 128, 128},  {{4, 16, {4, 4, 4}}, 1e7, 256, 64},
        {{4, 16, {4, 4, 4}}, 1e11, 128, 128}, {{6, 2, {2, 2, 3, 2, 2}}, 1e4, 64, 64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[32], pattern[16];
        hop_error err = {0};
        hop_task t = composition(&all[i].size);
        snprintf(name, sizeof name, "%zu: n %lld", i, (long long)t.length);
        snprintf(pattern, sizeof pattern, "F^%d", t.funccomp.hops + 2);
        shape s = {name,
                   pattern,
                   RMS,
                   8,
                   2,
                   all[i].head_dim,
                   all[i].theta,
                   false,
                   "full",
                   {{"rope_dim", (double)all[i].rotary}}};
        hop_model *m = in_shape(&s, &t, &err);
        if (!m) fail_msg("%s: %s", name, err.text);
        if (!proved_by_intervals(m, &t, name)) fail_msg("%s: not proved", name);
        hop_model_free(m);
    }
}

static void what_cannot_be_built_is_said_with_the_reason(void **state)
{
    static const sizes small = {2, 4, {4}};
    static const struct {
        shape s;
        const char *why;
    } all[] = {
        {{"few", "F^2", RMS, 1, 1, 64, 1e4, false, "full", {{0}}}, "2 hops need 3 layers that attend"},
        {{"short", "W^3", RMS, 1, 1, 64, 1e4, false, "window", {{"window", 8}}}, "the pattern has 0"},
        {{"mean", "F^3", HOP_NORM_LAYER, 1, 1, 64, 1e4, false, "full", {{0}}},
         "norm: layer takes the mean off"},
        {{"slow", "F^3", RMS, 1, 1, 64, 1e4, false, "full", {{"rope_dim", 0}, {"value_dim", 1}}},
         "with room for 0"},
    };
    (void)state;
    hop_task t = composition(&small);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_error err = {0};
        assert_null(in_shape(&all[i].s, &t, &err));
        if (!strstr(err.text, all[i].why)) fail_msg("%s: \"%s\"", all[i].s.name, err.text);
    }
}

static hop_model *walk(int64_t number, subject *s)
{
    static const sizes all[] = {{1, 3, {0}}, {1, 2, {0}}, {2, 2, {2}}};
    const shape *of = &SHAPES[number % SHAPE_COUNT];
    hop_rng rng;
    hop_error err;
    hop_rng_init(&rng, 78, (uint64_t)number);
    s->kind = "rotary";
    s->task = composition(&all[below(&rng, 40) ? below(&rng, 2) : 2]);
    hop_model *m = in_shape(of, &s->task, &err);
    for (int64_t i = 1 + below(&rng, 40); m && i > 0; i--) change(m, &rng);
    return m;
}

static const char *shape_name(int which)
{
    return SHAPES[which].name;
}

static void nothing_damaged_is_proved_and_errs(void **state)
{
    (void)state;
    tally t = campaign_judge((campaign){.make = walk, .count = WALKS}, SHAPE_COUNT, shape_name);
    assert_true(t.wrong > t.made / 20 && t.proved > t.made / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_proved_and_right_on_every_small_input),
        cmocka_unit_test(many_sizes_are_proved),
        cmocka_unit_test(what_cannot_be_built_is_said_with_the_reason),
        cmocka_unit_test(nothing_damaged_is_proved_and_errs),
    };
    return cmocka_run_group_tests_name("rotary", tests, NULL, NULL);
}
