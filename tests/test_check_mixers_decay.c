/* The mixers of the decay core: against the checker's double-precision layers, at extreme gates, and what
 * constructions count on: a token with key 0 and decay 1 leaves the state as it is, to the bit. */
#include "mixer_subject.h"
#include "truth.h"

/* float32 against double through projections, 1100 tokens and norms; measured below 4e-6. */
#define TOLERANCE 1e-5

static const setup SETUPS[] = {
    {"linear", 11, 3, 5, {{"value_dim", 7}, {"feature", 0}}, 0},
    {"linear", 8, 2, 4, {{"feature", 1}, {"normalise", 1}, {"norm", 0}}, 0.3},
    {"linear", 9, 1, 6, {{"feature", 2}, {"normalise", 1}}, 0},
    {"linear", 9, 2, 3, {{"feature", 3}}, 0},
    {"retnet", 13, 3, 5, {{0}}, 0},
    {"retnet", 8, 2, 4, {{"value_dim", 3}, {"rope", 0}, {"norm", 0}, {"gate", 0}, {"conv", 3}}, 2},
    {"lightning", 11, 3, 5, {{"value_dim", 6}}, 0},
    {"lightning", 8, 5, 2, {{"norm", 0}, {"gate", 0}}, 0.5},
    {"gla", 13, 3, 5, {{"value_dim", 7}, {"rank", 3}}, 0},
    {"gla", 8, 2, 4, {{"conv", 4}, {"norm", 0}, {"gate", 0}}, 0},
    {"hgrn2", 11, 3, 5, {{"value_dim", 4}}, 0},
    {"hgrn2", 8, 2, 4, {{"norm", 0}}, 0},
    {"mamba2", 11, 6, 3, {{"state_dim", 5}, {"groups", 2}}, 0},
    {"mamba2", 7, 6, 3, {{"state_dim", 4}, {"groups", 3}, {"norm_groups", 2}}, 0},
    {"mamba2", 8, 2, 4, {{"state_dim", 7}, {"conv", 0}, {"gate", 0}, {"norm", 0}}, 0},
    {"mamba2", 5, 3, 4, {{"conv", 2}, {"groups", 3}, {"state_dim", 3}}, 0},
    {"rwkv6", 11, 3, 5, {{"value_dim", 4}, {"rank", 7}}, 0},
    {"rwkv6", 8, 2, 4, {{"gate", 0}, {"norm", 0}}, 0},
    {"mlstm", 11, 3, 5, {{"value_dim", 4}}, 0},
    {"mlstm", 8, 2, 4, {{"gate", 0}, {"norm", 0}}, 0},
    {"based", 11, 3, 5, {{"value_dim", 4}}, 0},
    {"based", 8, 2, 4, {{0}}, 0.2},
};
#define SETUP_COUNT (sizeof SETUPS / sizeof *SETUPS)

static double *truth(const subject *s, const float *x, int64_t T)
{
    return truth_of(s->ops, &s->c, s->params, s->count, s->w, x, T);
}

static void assert_true_to(const subject *s, const float *y, const double *o, int64_t n, const char *what,
                           double tolerance)
{
    double size = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(o[i]));
        double e = fabs(y[i] - o[i]);
        if (!(e <= error)) error = e;
    }
    if (!(error <= tolerance * size)) fail_msg("%s, %s: off by %g of %g", s->ops->name, what, error, size);
}

/* ---- the equations -------------------------------------------------------------------------- */

static void every_layer_agrees_with_its_equations(void **state)
{
    (void)state;
    const int64_t lengths[] = {1, 3, 65, 1100}; /* the last goes over more than one segment of forward */
    for (size_t i = 0; i < SETUP_COUNT; i++)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
            subject s = subject_new(&SETUPS[i]);
            float *x = random_rows(lengths[n], s.c.d_model), *y = run_forward(&s, x, lengths[n], 0);
            double *o = truth(&s, x, lengths[n]);
            assert_true_to(&s, y, o, lengths[n] * s.c.d_model, "forward", TOLERANCE);
            free(o);
            hop_free(x), hop_free(y);
            subject_free(&s);
        }
}

static void the_state_has_the_size_that_is_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETUP_COUNT; i++) {
        subject s = subject_new(&SETUPS[i]);
        const char *name = s.ops->name;
        int64_t h = s.c.heads, k = s.c.head_dim, v = opt(&s, HOP_OPTION_value_dim),
                taps = opt(&s, HOP_OPTION_conv);
        int64_t past = taps > 1 ? taps - 1 : 0, expected = h * k * v;
        if (opt(&s, HOP_OPTION_normalise) == 1) expected += h * k;
        if (strcmp(name, "retnet") == 0 || strcmp(name, "gla") == 0) expected += past * h * (2 * k + v);
        if (strcmp(name, "rwkv6") == 0) expected += s.c.d_model;
        if (strcmp(name, "mlstm") == 0) expected += h * k + h;
        if (strcmp(name, "based") == 0) expected = h * (1 + k + k * (k + 1) / 2) * (v + 1);
        if (strcmp(name, "mamba2") == 0) {
            int64_t n = opt(&s, HOP_OPTION_state_dim);
            expected = h * k * n + past * (h * k + 2 * n * opt(&s, HOP_OPTION_groups));
        }
        assert_int_equal(hop_mixer_state_floats(s.ops, &s.c, 0), expected);
        subject_free(&s);
    }
}

/* ---- extreme gates -------------------------------------------------------------------------- */

/* Rows `from` .. of a matrix become 0 but for one column. */
static void only_column(subject *s, const char *name, int64_t from, int64_t column, float value)
{
    int i = find(s, name);
    assert_true(i >= 0);
    int64_t cols = s->params[i].shape[1];
    for (int64_t k = from * cols; k < size_of(&s->params[i]); k++)
        s->w[i][k] = k % cols == column ? value : 0.0f;
}

static void fill(subject *s, const char *name, float value)
{
    int i = find(s, name);
    for (int64_t k = 0; i >= 0 && k < size_of(&s->params[i]); k++) s->w[i][k] = value;
}

/* Row of in_proj at which dt begins: z, x, B, C come before. */
static int64_t dt_row(const subject *s)
{
    return s->params[find(s, "in_proj.weight")].shape[0] - s->c.heads;
}

/* x_0 is 1 or -1: log decays of about -60 (or far below) and 0, from token to token. */
static void make_extreme(subject *s, float size)
{
    const char *name = s->ops->name;
    if (strcmp(name, "gla") == 0) {
        only_column(s, "gk_proj.0.weight", 0, 0, 1.0f);
        only_column(s, "gk_proj.1.weight", 0, 0, 16.0f * size);
        fill(s, "gk_proj.1.bias", 0.0f);
    } else if (strcmp(name, "hgrn2") == 0) {
        only_column(s, "f_proj.weight", 0, 0, size);
    } else if (strcmp(name, "mamba2") == 0) {
        only_column(s, "in_proj.weight", dt_row(s), 0, size);
        fill(s, "dt_bias", 0.0f);
        fill(s, "A_log", 0.0f);
    } else if (strcmp(name, "rwkv6") == 0) {
        fill(s, "x_bias", 0.0f);
        fill(s, "x_proj.0.linear.weight", 0.0f);
        only_column(s, "w_proj.linear.lora.0.weight", 0, 0, 100.0f);
        only_column(s, "w_proj.linear.lora.2.weight", 0, 0, size > 100 ? size : logf(size));
        fill(s, "w_proj.linear.lora.2.bias", 0.0f);
    } else if (strcmp(name, "mlstm") == 0) {
        only_column(s, "fgate_preact.weight", 0, 0, size);
        only_column(s, "igate_preact.weight", 0, 0, size > 100 ? -size : 1.0f);
        fill(s, "igate_preact.bias", 0.0f);
    }
}

static void extreme_gates_are_exact_and_give_no_nan(void **state)
{
    (void)state;
    const float sizes[] = {60.0f, 1000.0f};
    for (size_t i = 0; i < SETUP_COUNT; i++)
        for (size_t n = 0; n < 2; n++) {
            subject s = subject_new(&SETUPS[i]);
            int64_t T = 150, d = s.c.d_model;
            make_extreme(&s, sizes[n]);
            /* mLSTM divides by q.n, which is as small as chance has it when n is the key of a single token.
             */
            double tolerance = strcmp(s.ops->name, "mlstm") == 0 ? 10 * TOLERANCE : TOLERANCE;
            float *x = random_rows(T, d), *step = hop_alloc(sizeof(float) * (size_t)(T * d));
            for (int64_t t = 0; t < T; t++) x[t * d] = t % 3 ? 1.0f : -1.0f;
            float *y = run_forward(&s, x, T, 0);
            double *o = truth(&s, x, T);
            float *memory = hop_alloc(sizeof(float) * (size_t)hop_mixer_state_floats(s.ops, &s.c, 0));
            for (int64_t t = 0; t < T; t++) run_step(&s, step + t * d, memory, x + t * d, t, 0);
            assert_true_to(&s, y, o, T * d, "extreme gates, forward", tolerance);
            assert_true_to(&s, step, o, T * d, "extreme gates, steps", tolerance);
            free(o);
            hop_free(x), hop_free(y), hop_free(step), hop_free(memory);
            subject_free(&s);
        }
}

/* ---- what constructions count on ------------------------------------------------------------ */

static void set_column(subject *s, const char *name, int64_t column, float value)
{
    int i = find(s, name);
    assert_true(i >= 0);
    int64_t cols = s->params[i].shape[1];
    for (int64_t r = 0; r < s->params[i].shape[0]; r++) s->w[i][r * cols + column] = value;
}

/* The token e_1 gets key 0 and decay 1 (where the mixer has a gate), others whatever they have. */
static void make_holding(subject *s)
{
    const char *name = s->ops->name;
    if (strcmp(name, "hgrn2") == 0) {
        set_column(s, "f_proj.weight", 1, 200.0f);
    } else if (strcmp(name, "mamba2") == 0) {
        int64_t d = s->c.d_model, b = dt_row(s) - opt(s, HOP_OPTION_groups) * opt(s, HOP_OPTION_state_dim);
        float *in = weight(s, "in_proj.weight");
        for (int64_t r = 0; r < b; r++) in[r * d + 1] = 0.0f; /* C stays, so that something is read */
        for (int64_t r = dt_row(s); r < dt_row(s) + s->c.heads; r++) in[r * d + 1] = -300.0f;
    } else if (strcmp(name, "rwkv6") == 0) {
        fill(s, "x_bias", 0.0f);
        fill(s, "x_proj.0.linear.weight", 0.0f);
        set_column(s, "k_proj.linear.weight", 1, 0.0f);
        fill(s, "w_proj.linear.lora.2.weight", 0.0f);
        fill(s, "w_proj.linear.lora.2.bias", -200.0f);
        fill(s, "g_norm.bias", 0.0f);
    } else {
        set_column(s, "k_proj.weight", 1, 0.0f);
    }
    if (strcmp(name, "gla") == 0) {
        only_column(s, "gk_proj.0.weight", 0, 1, 1.0f);
        only_column(s, "gk_proj.1.weight", 0, 0, 200.0f);
    } else if (strcmp(name, "mlstm") == 0) {
        fill(s, "igate_preact.weight", 0.0f);
        fill(s, "igate_preact.bias", 0.0f);
        fill(s, "fgate_preact.weight", 0.0f);
        fill(s, "fgate_preact.bias", 200.0f);
    }
}

static const setup HOLDERS[] = {
    {"linear", 11, 3, 5, {{"feature", 0}, {"norm", 0}}, 0},
    {"linear", 8, 2, 4, {{"feature", 2}}, 0},
    {"gla", 13, 3, 5, {{"value_dim", 7}}, 0},
    {"hgrn2", 11, 3, 5, {{0}}, 0},
    {"mamba2", 11, 6, 3, {{"state_dim", 5}, {"groups", 2}, {"conv", 0}, {"gate", 0}, {"norm", 0}}, 0},
    {"rwkv6", 11, 3, 5, {{"value_dim", 4}}, 0},
    {"mlstm", 11, 3, 5, {{"value_dim", 4}}, 0},
    {"retnet", 11, 3, 5, {{0}}, 0},
    {"lightning", 11, 3, 5, {{0}}, 0},
};

/* Has the mixer a gate that can be 1? */
static bool holds(const subject *s)
{
    return strcmp(s->ops->name, "retnet") != 0 && strcmp(s->ops->name, "lightning") != 0;
}

static void a_token_without_key_leaves_the_state_to_the_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof HOLDERS / sizeof *HOLDERS; i++) {
        subject s = subject_new(&HOLDERS[i]);
        make_holding(&s);
        int64_t d = s.c.d_model, n = hop_mixer_state_floats(s.ops, &s.c, 0), T = 200, busy = 40;
        int64_t matrices = n - (strcmp(s.ops->name, "rwkv6") == 0 ? d : 0); /* the token shift does change */
        float *x = random_rows(T, d), *y = hop_alloc(sizeof(float) * (size_t)d);
        float *memory = hop_alloc(sizeof(float) * (size_t)n), *before = hop_alloc(sizeof(float) * (size_t)n);
        for (int64_t t = 0; t < T; t++)
            for (int64_t e = 0; e < d; e++)
                if (e == 1 || t >= busy) x[t * d + e] = t >= busy && e == 1;

        run_step(&s, y, memory, x + busy * d, 0, 0); /* a fresh state is read as exactly 0 */
        for (int64_t e = 0; e < d; e++) assert_true(y[e] == 0.0f);
        memset(memory, 0, sizeof(float) * (size_t)n);

        for (int64_t t = 0; t < T && holds(&s); t++) {
            memcpy(before, memory, sizeof(float) * (size_t)n);
            run_step(&s, y, memory, x + t * d, t, 0);
            if (t >= busy) assert_memory_equal(before, memory, sizeof(float) * (size_t)matrices);
        }
        float *all = run_forward(&s, x, T, 0); /* chunked: the same state is read at every later chunk */
        for (int64_t t = 65; t < T && holds(&s); t++)
            assert_memory_equal(all + t * d, all + 64 * d, sizeof(float) * (size_t)d);
        hop_free(x), hop_free(y), hop_free(memory), hop_free(before), hop_free(all);
        subject_free(&s);
    }
}

/* ---- precision and refusals ----------------------------------------------------------------- */

static void cutting_to_bits_is_the_same_in_both_forms_and_cuts_the_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETUP_COUNT; i++) {
        subject s = subject_new(&SETUPS[i]);
        int64_t T = 40, d = s.c.d_model, n = hop_mixer_state_floats(s.ops, &s.c, 0);
        float *x = random_rows(T, d), *whole = run_forward(&s, x, T, 8),
              *y = hop_alloc(sizeof(float) * (size_t)d);
        float *memory = hop_alloc(sizeof(float) * (size_t)n), *cut = hop_alloc(sizeof(float) * (size_t)n);
        for (int64_t t = 0; t < T; t++) {
            run_step(&s, y, memory, x + t * d, t, 8);
            assert_memory_equal(y, whole + t * d, sizeof(float) * (size_t)d);
            memcpy(cut, memory, sizeof(float) * (size_t)n);
            hop_round_significand(cut, n, 8);
            assert_memory_equal(cut, memory, sizeof(float) * (size_t)n);
        }
        hop_free(x), hop_free(whole), hop_free(y), hop_free(memory), hop_free(cut);
        subject_free(&s);
    }
}

static void what_cannot_be_built_is_refused_with_a_reason(void **state)
{
    (void)state;
    const setup bad[] = {
        {"mamba2", 8, 3, 4, {{"groups", 2}}, 0},
        {"mamba2", 8, 3, 4, {{"norm_groups", 2}}, 0},
        {"mlstm", 8, 3, 4, {{"value_dim", 1}}, 0},
        {"rwkv6", 8, 3, 1, {{0}}, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const hop_mixer_ops *ops = hop_mixer_find(bad[i].mixer);
        hop_mixer_config c;
        hop_error err = {0};
        hop_mixer_config_init(&c);
        c.d_model = bad[i].d_model, c.heads = c.kv_heads = bad[i].heads, c.head_dim = bad[i].head_dim;
        for (int k = 0; bad[i].options[k].name; k++)
            assert_int_equal(
                hop_mixer_option_set(&c, ops, bad[i].options[k].name, bad[i].options[k].value, &err), HOP_OK);
        assert_int_equal(hop_mixer_config_ready(&c, ops, &err), HOP_EDOMAIN);
        assert_non_null(strstr(err.text, bad[i].mixer));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_agrees_with_its_equations),
        cmocka_unit_test(the_state_has_the_size_that_is_documented),
        cmocka_unit_test(extreme_gates_are_exact_and_give_no_nan),
        cmocka_unit_test(a_token_without_key_leaves_the_state_to_the_bit),
        cmocka_unit_test(cutting_to_bits_is_the_same_in_both_forms_and_cuts_the_state),
        cmocka_unit_test(what_cannot_be_built_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests_name("check_mixers_decay", tests, NULL, NULL);
}
