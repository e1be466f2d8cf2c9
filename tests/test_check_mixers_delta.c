/* window, sparse, deltanet, gdn, kda, deltaproduct, rwkv7, mamba, rglru against the checker's
 * double-precision layers; extreme gates; and what exact constructions count on. */
#include "layer_case.h"
#include "truth.h"

/* float32 sums in another order; relative to the largest output. Measured: below 3e-6. */
#define TOLERANCE 1e-5

static const setting SETTINGS[] = {
    {"window", "window=7", 9, 6, 3, 5, 10000, 0},
    {"window", "window=64", 16, 2, 2, 8, 0, 0.7},
    {"window", "window=1", 5, 1, 1, 3, 0, 0},
    {"sparse", "block=5 topk=3", 11, 6, 2, 7, 10000, 0},
    {"sparse", "block=4 topk=2 summary=1", 16, 6, 3, 4, 0, 0},
    {"sparse", "block=1 topk=4", 9, 2, 1, 3, 0, -0.8},
    {"deltanet", "", 19, 3, 3, 7, 0, 0},
    {"deltanet", "conv=0 norm=0 gate=1 negative=1 value_dim=5", 16, 2, 1, 8, 0, 0.9},
    {"gdn", "", 21, 6, 3, 5, 0, 0},
    {"gdn", "conv=3 value_dim=3 negative=1 gate=0", 17, 4, 1, 9, 0, 0},
    {"kda", "", 20, 6, 2, 5, 0, 0},
    {"kda", "conv=0 rank=3 value_dim=9 gate=0", 13, 2, 2, 11, 0, 0},
    {"deltaproduct", "", 19, 3, 3, 5, 0, 0},
    {"deltaproduct", "steps=4 conv=2 gate=0 value_dim=7 negative=0", 17, 2, 1, 6, 0, 0},
    {"rwkv7", "rank=5", 18, 3, 3, 6, 0, 0},
    {"rwkv7", "value_dim=9 norm=0 gate=0", 15, 2, 1, 5, 0, 0},
    {"mamba", "", 19, 1, 1, 1, 0, 0},
    {"mamba", "inner=13 state_dim=5 dt_rank=3 conv=0 gate=0", 11, 2, 1, 3, 0, 0},
    {"rglru", "", 18, 3, 3, 7, 0, 0},
    {"rglru", "inner=10 conv=0 gate=0", 11, 5, 5, 4, 0, 0},
};
#define SETTING_COUNT (sizeof SETTINGS / sizeof *SETTINGS)

static void assert_agrees(const layer *l, const float *y, const float *x, int64_t T)
{
    int64_t d = l->c.d_model;
    double *truth = truth_of(l->ops, &l->c, l->p, l->count, l->w, x, T), size = 0, error = 0;
    for (int64_t i = 0; i < T * d; i++) {
        size = fmax(size, fabs(truth[i]));
        double e = fabs(y[i] - truth[i]);
        if (!(e <= error)) error = e;
    }
    if (getenv("HOPBOUND_TEST_VERBOSE")) print_message("%s T=%d: %g\n", l->ops->name, (int)T, error / size);
    if (!(error <= TOLERANCE * size))
        fail_msg("%s, T=%d: off by %g of %g", l->ops->name, (int)T, error, size);
    free(truth);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void forward_is_what_the_equations_say(void **state)
{
    (void)state;
    const int64_t lengths[] = {1, 65, 200};
    for (size_t s = 0; s < SETTING_COUNT; s++)
        for (int i = 0; i < 3; i++) {
            layer l;
            layer_new(&l, &SETTINGS[s], "");
            float *x = inputs(lengths[i], l.c.d_model), *y = forward(&l, x, lengths[i]);
            assert_agrees(&l, y, x, lengths[i]);
            hop_free(x);
            hop_free(y);
            layer_free(&l);
        }
}

/* Log decays of exactly 0 and of -60 (RWKV-7's own limits: 0 and -0.607) and beta of exactly 0 and 2,
 * switched from token to token by inputs 0 and 1. */
static void open_gates(layer *l)
{
    only(l, "b_proj.weight", 0, 200);
    only(l, "a_proj.weight", 1, 200);
    only(l, "f_proj.0.weight", 1, 1);
    only(l, "f_proj.1.weight", 0, 200);
    fill(l, "dt_bias", 0);
    if (strcmp(l->ops->name, "mamba") != 0) fill(l, "A_log", log(60.0 / 200.0));
    only(l, "w_lora.lora.0.weight", 1, 20);
    only(l, "w_lora.lora.2.weight", 0, 200);
    fill(l, "w_lora.lora.2.bias", 0);
    only(l, "dt_proj.weight", 0, 300);
    fill(l, "rg_lru.recurrent_param", 7.5);
}

/* Without the norm per head, which would blow up the rounding of heads that hold next to nothing. */
static void extreme_gates_stay_exact_and_finite(void **state)
{
    (void)state;
    for (size_t s = 6; s < SETTING_COUNT; s++) {
        layer l;
        int64_t T = 200;
        const char *name = SETTINGS[s].name;
        bool delta = strcmp(name, "rwkv7") != 0 && strcmp(name, "mamba") != 0 && strcmp(name, "rglru") != 0;
        layer_new(&l, &SETTINGS[s], delta ? "negative=1 norm=0" : "");
        open_gates(&l);
        float *x = inputs(T, l.c.d_model);
        for (int64_t t = 0; t < T; t++)
            for (int i = 0; i < 2; i++) x[t * l.c.d_model + i] = x[t * l.c.d_model + i] < 0 ? -1 : 1;
        float *y = forward(&l, x, T);
        assert_agrees(&l, y, x, T);
        hop_free(x);
        hop_free(y);
        layer_free(&l);
    }
}

/* A layer that only input 0 writes to, through key (mamba: B; rglru: nothing but the decay can), and that
 * never decays while input 1 is -1; input 2 at -1 makes beta 0. */
static const setting PLAIN[] = {
    {"deltanet", "conv=0 gate=1 negative=1", 9, 3, 3, 5, 0, 0},
    {"gdn", "conv=0 negative=1", 9, 4, 2, 5, 0, 0},
    {"kda", "conv=0 negative=1", 9, 4, 2, 5, 0, 0},
    {"deltaproduct", "conv=0 steps=3", 9, 2, 2, 5, 0, 0},
    {"rwkv7", "rank=4", 9, 2, 2, 5, 0, 0},
    {"mamba", "conv=0 inner=7", 9, 1, 1, 1, 0, 0},
    {"rglru", "conv=0", 9, 2, 2, 3, 0, 0},
};

static void plain_layer(layer *l, const setting *s)
{
    layer_new(l, s, "");
    only(l, "k_proj.weight", 0, 0.3);
    only(l, "b_proj.weight", 2, 200);
    only(l, "a_proj.weight", 1, 200);
    only(l, "f_proj.0.weight", 1, 1);
    only(l, "f_proj.1.weight", 0, 200);
    fill(l, "dt_bias", 0);
    fill(l, "x_k", 0);
    fill(l, "x_w", 0);
    only(l, "w_lora.lora.0.weight", 1, 20);
    only(l, "w_lora.lora.2.weight", 0, 200);
    fill(l, "w_lora.lora.2.bias", 0);
    fill(l, "g_norm.bias", 0);
    fill(l, "D", 0);
    if (strcmp(s->name, "mamba") == 0) { /* x is inputs 0 .. 6; the step's size comes from x[1] alone */
        fill(l, "in_proj.weight", 0);
        for (int64_t i = 0; i < 7; i++) weight(l, "in_proj.weight")[i * 9 + i] = 1;
        fill(l, "x_proj.weight", 0.25);
        for (int64_t i = 0; i < 7; i++) weight(l, "x_proj.weight")[i] = i == 1;
        fill(l, "dt_proj.weight", 200);
        fill(l, "dt_proj.bias", 0);
    }
    fill(l, "linear_x.bias", 0);
    fill(l, "linear_out.bias", 0);
    if (strcmp(s->name, "rglru") == 0) { /* both gates from input 1 */
        only(l, "linear_x.weight", 1, 1);
        fill(l, "rg_lru.recurrent_gate_weight", 100);
        fill(l, "rg_lru.recurrent_gate_bias", 0);
    }
}

static int64_t core_floats(const layer *l)
{
    if (strcmp(l->ops->name, "mamba") == 0)
        return option(l, HOP_OPTION_inner) * option(l, HOP_OPTION_state_dim);
    if (strcmp(l->ops->name, "rglru") == 0) return option(l, HOP_OPTION_inner);
    return l->c.heads * l->c.head_dim * option(l, HOP_OPTION_value_dim);
}

/* Tokens that write nothing leave every bit of the state; how = 0: key 0, 1: beta 0. */
static void hold(layer *l, int how)
{
    int64_t d = l->c.d_model, n = hop_mixer_state_floats(l->ops, &l->c, 0), core = core_floats(l);
    float *state = hop_alloc(sizeof(float) * (size_t)n), *kept = hop_alloc(sizeof(float) * (size_t)n);
    float *x = inputs(40, d), y[16];
    for (int64_t t = 0; t < 40; t++) {
        float *row = x + t * d;
        bool write = t < 10;
        row[0] = write || how == 1 ? row[0] : 0;
        row[1] = write ? 0.01f : -1; /* a little decay while writing, none after */
        row[2] = write || how == 0 ? 0.003f : -1;
        if (t == 10) memcpy(kept, state, sizeof(float) * (size_t)n);
        step(l, state, t, row, y);
    }
    double size = 0;
    for (int64_t i = 0; i < core; i++) size = fmax(size, fabs((double)kept[i]));
    assert_true(size > 0);
    assert_memory_equal(kept, state, sizeof(float) * (size_t)core);
    hop_free(state);
    hop_free(kept);
    hop_free(x);
}

static void tokens_that_write_nothing_leave_the_state_bit_for_bit(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof PLAIN / sizeof *PLAIN; s++) {
        layer l;
        plain_layer(&l, &PLAIN[s]);
        hold(&l, 0);
        if (weight(&l, "b_proj.weight")) hold(&l, 1);
        layer_free(&l);
    }
}

static void an_empty_state_gives_exactly_nothing(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof PLAIN / sizeof *PLAIN; s++) {
        layer l;
        int64_t T = 70;
        plain_layer(&l, &PLAIN[s]);
        fill(&l, "r_k", 0); /* RWKV-7's bonus is no part of the state */
        float *x = inputs(T, l.c.d_model);
        for (int64_t t = 0; t < T; t++) x[t * l.c.d_model] = 0, x[t * l.c.d_model + 1] = -1;
        float *y = forward(&l, x, T);
        for (int64_t i = 0; i < T * l.c.d_model; i++)
            if (y[i] != 0)
                fail_msg("%s: token %d gives %g", l.ops->name, (int)(i / l.c.d_model), (double)y[i]);
        hop_free(x);
        hop_free(y);
        layer_free(&l);
    }
}

static void what_cannot_be_built_is_refused(void **state)
{
    (void)state;
    hop_error err = {0};
    hop_mixer_config c;
    hop_mixer_config_init(&c);
    c.d_model = 8, c.heads = 3, c.kv_heads = 3, c.head_dim = 4;
    c.option[HOP_OPTION_inner] = 10;
    assert_int_equal(hop_mixer_config_ready(&c, hop_mixer_find("rglru"), &err), HOP_EDOMAIN);
    assert_string_equal(err.text, "rglru: inner width 10 is no multiple of 3 heads");
    c.option[HOP_OPTION_steps] = 1;
    assert_int_equal(hop_mixer_config_ready(&c, hop_mixer_find("deltaproduct"), &err), HOP_EDOMAIN);
    c.bidirectional = true;
    assert_int_equal(hop_mixer_config_ready(&c, hop_mixer_find("window"), &err), HOP_EDOMAIN);
    assert_int_equal(hop_mixer_config_ready(&c, hop_mixer_find("sparse"), &err), HOP_EDOMAIN);
}

/* With keys of 0 every summary scores the same. */
static void of_blocks_that_score_the_same_the_earlier_ones_are_taken(void **state)
{
    (void)state;
    for (int s = 3; s < 6; s++) {
        layer l;
        layer_new(&l, &SETTINGS[s], "");
        fill(&l, "k_proj.weight", 0);
        float *x = inputs(65, l.c.d_model), *y = forward(&l, x, 65);
        assert_agrees(&l, y, x, 65);
        hop_free(x);
        hop_free(y);
        layer_free(&l);
    }
}

/* The cache of a window is full after W tokens, and what a step leaves is no more than that. */
static void a_window_keeps_as_many_tokens_as_it_sees(void **state)
{
    (void)state;
    layer l;
    layer_new(&l, &SETTINGS[0], "");
    int64_t row = 2 * l.c.kv_heads * l.c.head_dim;
    for (int64_t t = 0; t < 20; t++)
        assert_int_equal(hop_mixer_state_floats(l.ops, &l.c, t), (t < 7 ? t : 7) * row);
    layer_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_what_the_equations_say),
        cmocka_unit_test(extreme_gates_stay_exact_and_finite),
        cmocka_unit_test(tokens_that_write_nothing_leave_the_state_bit_for_bit),
        cmocka_unit_test(an_empty_state_gives_exactly_nothing),
        cmocka_unit_test(what_cannot_be_built_is_refused),
        cmocka_unit_test(of_blocks_that_score_the_same_the_earlier_ones_are_taken),
        cmocka_unit_test(a_window_keeps_as_many_tokens_as_it_sees),
    };
    return cmocka_run_group_tests_name("mixers (delta)", tests, NULL, NULL);
}
