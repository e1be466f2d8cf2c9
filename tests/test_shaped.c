/* Networks in the shapes that real models have: norms, gated MLPs, grouped and normalised keys, rotary
 * embeddings in part or whole, latent keys, tied tables, layers that pass the stream as it is. All of them
 * are right and proved; and whatever is damaged in them, nothing that errs is. */
#include "against_truth.h"

#include <math.h>

enum { WALKS = 6000 };

typedef struct option {
    const char *mixer, *name;
    double value;
} option;

typedef struct shape {
    const char *name, *kind, *pattern;
    hop_norm norm;
    hop_mlp mlp;
    int64_t heads, kv_heads, head_dim;
    double theta;
    bool tied;
    option options[5];
} shape;

#define RMS HOP_NORM_RMS
#define GLU HOP_MLP_SWIGLU
static const shape SHAPES[] = {
    {"norms", "full", "F^3", RMS, GLU, 1, 1, 0, 0, false, {{0}}},
    {"no norms", "full", "F^3", HOP_NORM_NONE, HOP_MLP_GELU, 1, 1, 0, 0, false, {{0}}},
    {"tied", "full", "F^4", RMS, HOP_MLP_RELU, 2, 1, 0, 0, true, {{0}}},
    {"rope", "full", "F^3", RMS, GLU, 4, 2, 16, 1e4, false, {{0}}},
    {"rope in part", "full", "F^3", RMS, GLU, 4, 2, 16, 10, false, {{"full", "rope_dim", 6}}},
    {"norms of queries",
     "full",
     "F^3",
     RMS,
     GLU,
     2,
     1,
     16,
     1e4,
     false,
     {{"full", "qk_norm", 1}, {"full", "gate", 1}}},
    {"latent",
     "full",
     "F^3",
     RMS,
     GLU,
     2,
     2,
     12,
     0,
     false,
     {{"full", "latent", 16}, {"full", "value_dim", 8}}},
    {"window", "full", "W F W^2", RMS, HOP_MLP_NONE, 2, 1, 0, 0, false, {{0}}},
    {"gdn", "hybrid", "gdn^2 F^2 gdn", RMS, GLU, 2, 1, 8, 0, false, {{0}}},
    {"kda", "hybrid", "kda mamba2 F^2", RMS, GLU, 2, 1, 8, 100, false, {{"full", "rope_dim", 2}}},
    {"mamba2", "hybrid", "mamba2 gdn F^2", RMS, GLU, 2, 2, 8, 0, false, {{"mamba2", "state_dim", 2}}},
    {"norm in groups", "hybrid", "mamba2 F^2", RMS, GLU, 4, 2, 8, 0, false, {{"mamba2", "norm_groups", 2}}},
    {"lightning", "hybrid", "lightning F^2 lightning", RMS, GLU, 2, 1, 8, 0, false, {{0}}},
    {"deltanet", "hybrid", "L F^2", HOP_NORM_NONE, GLU, 1, 1, 8, 0, true, {{0}}},
    {"rwkv7", "hybrid", "rwkv7 F^2", RMS, GLU, 1, 1, 8, 0, false, {{0}}},
    /* hops by states that hold tables: in one head, across heads, across layers, before and behind attention
     */
    {"gdn tables", "hybrid", "gdn^5", RMS, GLU, 2, 1, 4, 0, false, {{0}}},
    {"kda tables", "hybrid", "F kda^2 F kda^2", RMS, GLU, 2, 2, 4, 0, true, {{0}}},
    {"deltanet tables", "hybrid", "L^5", HOP_NORM_NONE, GLU, 2, 1, 4, 0, false, {{"deltanet", "gate", 1}}},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static hop_status shape_of(const shape *s, hop_config *c)
{
    hop_config_init(c);
    hop_status status = hop_pattern_parse(&c->pattern, s->pattern, "deltanet", NULL);
    c->norm = s->norm, c->mlp = s->mlp, c->mlp_hidden = 3, c->tied = s->tied;
    c->heads = s->heads, c->kv_heads = s->kv_heads, c->head_dim = s->head_dim, c->rope_theta = s->theta;
    for (const option *o = s->options; status == HOP_OK && o->name; o++)
        status = hop_config_set(c, -1, o->mixer, o->name, o->value, NULL);
    return status;
}

static hop_model *in_shape(const shape *s, const hop_task *t)
{
    hop_model *m = NULL;
    hop_config c;
    hop_error err = {0};
    if (shape_of(s, &c) != HOP_OK ||
        hop_construct(&m, s->kind, t, &(hop_construct_options){.shape = &c}, &err) != HOP_OK)
        print_message("%s: %s\n", s->name, err.text);
    hop_config_free(&c);
    return m;
}

/* ---- they are right -------------------------------------------------------------------------------- */

static void every_shape_is_proved_and_right_on_every_small_input(void **state)
{
    static const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    (void)state;
    for (int i = 0; i < SHAPE_COUNT; i++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            subject s = {.kind = SHAPES[i].kind, .task = composition(&all[k])};
            hop_model *m = in_shape(&SHAPES[i], &s.task);
            assert_non_null(m);
            if (!proved_by_intervals(m, &s.task, SHAPES[i].name) || errs(m, &s))
                fail_msg("%s, %d hops: not proved, or not right", SHAPES[i].name, all[k].hops);
            hop_model_free(m);
        }
}

static void every_linear_mixer_makes_its_part_behind_a_norm(void **state)
{
    static const sizes small = {2, 3, {2}};
    (void)state;
    for (int i = 0; linear_mixer(i); i++) {
        char pattern[40];
        snprintf(pattern, sizeof pattern, "%s F^2", linear_mixer(i));
        shape s = {linear_mixer(i), "hybrid", pattern, RMS, GLU, 1, 1, 8, 0, false, {{0}}};
        hop_task t = composition(&small);
        hop_model *m = in_shape(&s, &t);
        assert_non_null(m);
        if (!proved_by_intervals(m, &t, s.name)) fail_msg("%s: not proved", s.name);
        hop_model_free(m);
    }
}

/* A thousand tokens, four hops, more layers and heads than are needed. */
static void a_long_one_is_proved(void **state)
{
    static const sizes large = {4, 16, {4, 4, 4}};
    static const shape s = {
        "long", "hybrid", "(gdn^2 F)^4", RMS, GLU, 8, 2, 32, 1e6, false, {{"full", "rope_dim", 8}}};
    hop_task t = composition(&large);
    (void)state;
    assert_true(t.length > 1000);
    hop_model *m = in_shape(&s, &t);
    assert_non_null(m);
    assert_true(proved_by_intervals(m, &t, s.name));
    hop_model_free(m);
}

/* ---- refusals -------------------------------------------------------------------------------------- */

static void what_cannot_be_built_is_said_with_the_reason(void **state)
{
    static const sizes small = {3, 8, {8, 8}};
    const struct {
        shape s;
        int64_t d_model;
        const char *why;
    } all[] = {
        {{"few", "full", "F^3", RMS, GLU, 1, 1, 0, 0, false, {{0}}},
         0,
         "the pattern has 3 that attend and 0 linear, which make 2 hops"},
        {{"fewer", "hybrid", "L^4 F", RMS, GLU, 1, 1, 8, 0, false, {{0}}},
         0,
         "the pattern has 1 that attend and 4 linear, which make 2 hops"},
        {{"behind", "hybrid", "F^3 L", RMS, GLU, 1, 1, 8, 0, false, {{0}}},
         0,
         "3 that attend and 1 linear, which make 2 hops"},
        {{"fast", "full", "F^4", RMS, GLU, 1, 1, 32, 10, false, {{0}}}, 0, "RoPE turns too much"},
        {{"small", "full", "F^4", RMS, GLU, 1, 1, 4, 0, false, {{0}}},
         0,
         "needs 7 numbers of a head; 4 are there"},
        {{"narrow", "full", "F^4", RMS, GLU, 1, 1, 0, 0, false, {{0}}}, 20, "hidden_size: these sizes need"},
        {{"mean", "full", "F^4", HOP_NORM_LAYER, GLU, 1, 1, 0, 0, false, {{0}}},
         0,
         "norm: layer takes the mean off"},
        {{"latent", "full", "F^4", RMS, GLU, 1, 1, 0, 0, false, {{"full", "latent", 9}}},
         0,
         "a latent vector needs"},
        {{"unknown", "full", "F^4 wonder", RMS, GLU, 1, 1, 0, 0, false, {{0}}}, 0, "unknown mixer"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = NULL;
        hop_config c;
        hop_error err = {0};
        hop_task t = composition(&small);
        assert_int_equal(shape_of(&all[i].s, &c), HOP_OK);
        c.d_model = all[i].d_model;
        hop_status got = hop_construct(&m, all[i].s.kind, &t, &(hop_construct_options){.shape = &c}, &err);
        if (got == HOP_OK || m || !strstr(err.text, all[i].why))
            fail_msg("%s: \"%s\"", all[i].s.name, err.text);
        hop_config_free(&c);
    }
}

/* What is short, and by how much. */
static void what_a_hop_lacks_is_named_with_its_number(void **state)
{
    static const sizes wide = {2, 256, {2}}, three = {3, 64, {2, 2}};
    const struct {
        const sizes *size;
        shape s;
        const char *why;
    } all[] = {
        {&three,
         {"layers", "full", "F^3", RMS, GLU, 1, 1, 0, 0, false, {{0}}},
         "hop 3 looks into 256 entries, and no layer is left"},
        {&three,
         {"entries", "hybrid", "gdn^4", RMS, GLU, 2, 2, 8, 0, false, {{0}}},
         "hop 1 looks into 64 entries, and what is left is 3 linear with room for 48 (16 short: 2 heads of "
         "8)"},
        {&three,
         {"a value", "hybrid", "F gdn^2", RMS, GLU, 1, 1, 9, 0, false, {{"gdn", "value_dim", 11}}},
         "what is left is 2 linear with values of 11 numbers (an entry takes 12)"},
        {&three,
         {"tables", "hybrid", "F gla^2", RMS, GLU, 1, 1, 64, 0, false, {{0}}},
         "what is left is 2 linear (gla states hold no table)"},
        {&three,
         {"idle", "hybrid", "gla^3 F", RMS, GLU, 1, 1, 64, 0, false, {{0}}},
         "no layer is left; 2 linear are idle (gla states hold no table)"},
        {&wide,
         {"carrier", "hybrid", "mamba2 F F", RMS, GLU, 1, 1, 10, 0, false, {{0}}},
         "layer 0 cannot bring the first number: mamba2: a head's value needs 16 numbers, and has 10"},
        {&wide,
         {"window",
          "full",
          "W F",
          RMS,
          GLU,
          1,
          1,
          10,
          0,
          false,
          {{"window", "window", 9}}}, /* W brings z_0 */
         "which make 1 hop; hop 2 looks into 512 entries, and no layer is left"},
        {&wide,
         {"no window", "full", "W F", RMS, GLU, 1, 1, 10, 0, false, {{"window", "window", 1}}},
         "hop 1 looks into 256 entries, and no layer is left"},
        {&wide,
         {"windows", "full", "F W^2", RMS, GLU, 1, 1, 10, 0, false, {{"window", "window", 9}}},
         "what is left is 2 that see fewer than 770 tokens"},
        {&wide,
         {"a window", "full", "W^2", RMS, GLU, 1, 1, 10, 0, false, {{"window", "window", 9}}},
         "hop 1 looks into 256 entries, and what is left is 1 that sees fewer than 770 tokens"},
        {&wide,
         {"nothing", "full", "W^2", RMS, GLU, 1, 1, 10, 0, false, {{"window", "window", 1}}},
         "no layer brings the first number to the last token: 2 that see fewer than 770 tokens"},
        {&wide,
         {"narrow", "hybrid", "F^2", RMS, GLU, 1, 1, 8, 0, false, {{0}}},
         "what is left is layer 1: a look-up needs 9 numbers of a head; 8 are there"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = NULL;
        hop_config c;
        hop_error err = {0};
        hop_task t = composition(all[i].size);
        assert_int_equal(shape_of(&all[i].s, &c), HOP_OK);
        hop_status got = hop_construct(&m, all[i].s.kind, &t, &(hop_construct_options){.shape = &c}, &err);
        if (got != HOP_EDOMAIN || m || !strstr(err.text, all[i].why))
            fail_msg("%s: \"%s\"", all[i].s.name, err.text);
        hop_config_free(&c);
    }
}

/* ---- what is not right is not proved ----------------------------------------------------------------- */

static hop_model *small_one(const char *name, subject *s)
{
    static const sizes small = {1, 3, {0}};
    *s = (subject){.kind = "full", .task = composition(&small)};
    for (int i = 0; i < SHAPE_COUNT; i++)
        if (strcmp(SHAPES[i].name, name) == 0) return in_shape(&SHAPES[i], &s->task);
    return NULL;
}

static void fill(const hop_model *m, int64_t layer, const char *part, float value)
{
    const hop_weight *w = hop_model_layer_weight(m, layer, part);
    assert_non_null(w);
    for (int64_t i = 0; i < rows_of(w) * columns_of(w); i++) w->data[i] = value;
}

/* 0 times what has overflowed is no number: a layer without output is not always silent. */
static void a_silent_layer_that_overflows_is_not_proved(void **state)
{
    const struct {
        const char *shape;
        int64_t layer; /* one that makes no look-up */
        const char *part[3];
    } all[] = {
        {"norms", 2, {"mixer.q_proj.weight", "mixer.k_proj.weight"}},
        {"norms", 2, {"mlp.gate_proj.weight", "mlp.up_proj.weight"}},
        {"rope", 2, {"mixer.v_proj.weight", "input_layernorm.weight"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        subject s;
        hop_model *m = small_one(all[i].shape, &s);
        assert_true(proved_by_intervals(m, &s.task, all[i].shape));
        for (int k = 0; all[i].part[k]; k++) fill(m, all[i].layer, all[i].part[k], 1e30f);
        assert_false(proved_by_intervals(m, &s.task, NULL));
        if (hop_kernels_selected() != HOP_ISA_REF) assert_true(errs(m, &s));
        hop_model_free(m);
    }
}

/* What is idle may hold any number that stays one: still proved, and right. */
static void a_silent_layer_may_compute_what_it_likes(void **state)
{
    static const char *const names[] = {"norms", "rope", "rope in part", "latent", "norms of queries"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        subject s;
        hop_rng rng;
        hop_model *m = small_one(names[i], &s);
        hop_rng_init(&rng, 5, i);
        for (int64_t k = 0; k < hop_model_weight_count(m); k++) {
            const hop_weight *w = hop_model_weight_at(m, k);
            bool idle =
                strstr(w->name, "layers.2.") && !strstr(w->name, "o_proj") && !strstr(w->name, "down_proj");
            for (int64_t n = 0; idle && n < rows_of(w) * columns_of(w); n++)
                w->data[n] = (float)hop_rng_normal(&rng);
        }
        assert_true(proved_by_intervals(m, &s.task, names[i]));
        assert_false(errs(m, &s));
        hop_model_free(m);
    }
}

/* A norm whose row has no large constant any more is not known by one factor; right or not, it must not be
 * taken for what it was. */
static void a_norm_without_its_constant_is_proved_only_if_right(void **state)
{
    (void)state;
    for (int e = -20; e <= 20; e += 4)
        for (int which = 0; which < 2; which++) {
            subject s;
            hop_model *m = small_one(which ? "norms of queries" : "norms", &s);
            const hop_weight *p = hop_model_weight(m, "model.embed_positions.weight");
            for (int64_t i = 0; i < rows_of(p) * columns_of(p); i++)
                if (p->data[i] > 1000) p->data[i] = ldexpf(p->data[i], i / columns_of(p) % 2 ? e : 0);
            if (proved_by_intervals(m, &s.task, NULL)) assert_false(errs(m, &s));
            hop_model_free(m);
        }
}

static hop_model *walk(int64_t number, subject *s)
{
    static const sizes all[] = {{1, 3, {0}}, {1, 2, {0}}, {2, 2, {2}}};
    static const int fewer[] = {8, 10, 12, 16, 20};
    const shape *of = &SHAPES[number % SHAPE_COUNT];
    hop_rng rng;
    hop_rng_init(&rng, 77, (uint64_t)number);
    s->kind = of->kind;
    s->task = composition(&all[below(&rng, 100) ? below(&rng, 2) : 2]);
    if (below(&rng, 4) == 0) s->bits = fewer[below(&rng, sizeof fewer / sizeof *fewer)];
    hop_model *m = in_shape(of, &s->task);
    for (int64_t i = 1 + below(&rng, 6); m && i > 0; i--) change(m, &rng);
    return m;
}

static const char *shape_name(int which)
{
    return SHAPES[which].name;
}

static void nothing_damaged_in_a_shape_is_proved_and_errs(void **state)
{
    (void)state;
    tally t = campaign_judge((campaign){.make = walk, .count = WALKS}, SHAPE_COUNT, shape_name);
    assert_true(t.wrong > t.made / 20 && t.proved > t.made / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_proved_and_right_on_every_small_input),
        cmocka_unit_test(every_linear_mixer_makes_its_part_behind_a_norm),
        cmocka_unit_test(a_long_one_is_proved),
        cmocka_unit_test(what_cannot_be_built_is_said_with_the_reason),
        cmocka_unit_test(what_a_hop_lacks_is_named_with_its_number),
        cmocka_unit_test(a_silent_layer_that_overflows_is_not_proved),
        cmocka_unit_test(a_silent_layer_may_compute_what_it_likes),
        cmocka_unit_test(a_norm_without_its_constant_is_proved_only_if_right),
        cmocka_unit_test(nothing_damaged_in_a_shape_is_proved_and_errs),
    };
    return cmocka_run_group_tests_name("shaped", tests, NULL, NULL);
}
