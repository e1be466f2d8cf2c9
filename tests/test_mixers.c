/* Laws that every mixer obeys, one loop over the registry: a mixer is tested the day it is listed. */
#include "test.h"

#include <hopbound/mixers.h>

/* Two ways of computing the same sums in float32 in different orders: a few ulps of the largest term, times
 * the depth of the computation. Measured: below 2e-6; the law is stated with room for other machines. */
#define TOLERANCE 1e-5

typedef struct subject {
    const hop_mixer_ops *ops;
    hop_mixer_config config;
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count;
    float *weights[HOP_MIXER_MAX_PARAMS];
} subject;

static const struct sizes {
    int64_t d_model, heads, kv_heads, head_dim;
    double rope_theta, scale;
    int plain; /* switches off what can be switched off */
} SIZES[] = {
    {16, 2, 2, 8, 0, 0, 0},
    {13, 6, 3, 5, 10000, 0, 0},
    {12, 3, 3, 4, 0, 0, 1},
    {1, 1, 1, 1, 0, 2, 1}, /* plain: a norm of one number only amplifies its rounding */
};
#define SIZE_COUNT (sizeof SIZES / sizeof *SIZES)

/* False when the mixer cannot be built with these sizes; it must then have said why. */
static bool configure(hop_mixer_config *c, const hop_mixer_ops *ops, const struct sizes *z)
{
    hop_error err = {0};
    hop_mixer_config_init(c);
    c->d_model = z->d_model;
    c->heads = z->heads;
    c->kv_heads = z->kv_heads;
    c->head_dim = z->head_dim;
    c->rope_theta = z->rope_theta;
    c->scale = z->scale;
    c->layer = 1;
    c->layers = 4;
    const char *const off[] = {"conv", "gate", "norm"};
    for (int i = 0; z->plain && i < 3; i++) hop_mixer_option_set(c, ops, off[i], 0, NULL);
    hop_mixer_option_set(c, ops, "window", 20, NULL); /* small, so that they matter at these lengths */
    hop_mixer_option_set(c, ops, "block", 8, NULL);
    hop_mixer_option_set(c, ops, "topk", 2, NULL);
    hop_status s = hop_mixer_config_ready(c, ops, &err);
    if (s != HOP_OK && (s != HOP_EDOMAIN || !err.text[0])) fail_msg("%s: %s", ops->name, err.text);
    return s == HOP_OK;
}

static bool subject_new(subject *s, const hop_mixer_ops *ops, const struct sizes *z)
{
    *s = (subject){.ops = ops};
    if (!configure(&s->config, ops, z)) return false;
    s->count = ops->params(&s->config, s->params);
    assert_in_range(s->count, 1, HOP_MIXER_MAX_PARAMS);
    for (int i = 0; i < s->count; i++)
        s->weights[i] =
            hop_alloc(sizeof(float) *
                      (size_t)(s->params[i].shape[0] * (s->params[i].shape[1] ? s->params[i].shape[1] : 1)));
    hop_rng rng;
    hop_rng_init(&rng, 11, 0);
    ops->init(s->weights, &s->config, &rng);
    return true;
}

static void subject_free(subject *s)
{
    for (int i = 0; i < s->count; i++) hop_free(s->weights[i]);
}

static float *random_rows(int64_t rows, int64_t d, uint64_t stream)
{
    float *x = hop_alloc(sizeof(float) * (size_t)(rows * d));
    hop_rng rng;
    hop_rng_init(&rng, 5, stream);
    for (int64_t i = 0; i < rows * d; i++) x[i] = (float)hop_rng_normal(&rng);
    return x;
}

/* Rows first .. tokens-1; poisoned first, so that a number nobody wrote shows. */
static float *run_forward(const subject *s, const float *x, int64_t tokens, int64_t first, hop_pool *pool)
{
    const hop_mixer_config *c = &s->config;
    hop_arena arena = {0};
    assert_int_equal(hop_arena_reserve(&arena, s->ops->scratch(c, tokens, hop_pool_threads(pool)), NULL),
                     HOP_OK);
    memset(arena.base, 0xff, arena.size);
    float *y = hop_alloc(sizeof(float) * (size_t)((tokens - first) * c->d_model));
    for (int64_t i = 0; i < (tokens - first) * c->d_model; i++) y[i] = NAN;
    hop_mixer_io io = {.y = y, .x = x, .tokens = tokens, .first = first, .scratch = &arena, .pool = pool};
    s->ops->forward(c, (const float *const *)s->weights, &io);
    hop_arena_free(&arena);
    return y;
}

static float *run_steps(const subject *s, const float *x, int64_t tokens)
{
    const hop_mixer_config *c = &s->config;
    float *y = hop_alloc(sizeof(float) * (size_t)(tokens * c->d_model));
    int64_t most = s->ops->state_floats(c, tokens);
    float *state = hop_alloc(sizeof(float) * (size_t)most);
    for (int64_t t = 0; t < tokens; t++) {
        /* Only as many floats as are declared survive from one token to the next. */
        int64_t declared = s->ops->state_floats(c, t);
        float *fresh = hop_alloc(sizeof(float) * (size_t)most);
        for (int64_t i = 0; i < most; i++) fresh[i] = NAN;
        memcpy(fresh, state, sizeof(float) * (size_t)declared);
        hop_free(state);
        state = fresh;
        hop_arena arena = {0};
        assert_int_equal(hop_arena_reserve(&arena, s->ops->step_scratch(c, t), NULL), HOP_OK);
        memset(arena.base, 0xff, arena.size);
        hop_mixer_io io = {.y = y + t * c->d_model, .x = x + t * c->d_model, .tokens = 1, .scratch = &arena};
        s->ops->step(c, (const float *const *)s->weights, state, t, &io);
        hop_arena_free(&arena);
    }
    hop_free(state);
    return y;
}

static void assert_close(const float *a, const float *b, int64_t n, const char *what)
{
    double size = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        size = fmax(size, fabs((double)b[i]));
        double e = fabs((double)a[i] - (double)b[i]);
        if (!(e <= error)) error = e;
    }
    if (!(error <= TOLERANCE * size)) fail_msg("%s: off by %g of %g", what, error, size);
}

#define FOR_EVERY_SUBJECT(s)                                                             \
    for (int index = 0; hop_mixer_at(index); index++)                                    \
        for (size_t which = 0; which < SIZE_COUNT; which++)                              \
            for (int once = subject_new(&(s), hop_mixer_at(index), &SIZES[which]); once; \
                 once = (subject_free(&(s)), 0))

static void every_mixer_can_be_built_in_most_sizes(void **state)
{
    (void)state;
    for (int index = 0; hop_mixer_at(index); index++) {
        size_t built = 0;
        hop_mixer_config c;
        for (size_t which = 0; which < SIZE_COUNT; which++)
            built += configure(&c, hop_mixer_at(index), &SIZES[which]);
        if (built + 1 < SIZE_COUNT) fail_msg("%s: only %zu sizes", hop_mixer_at(index)->name, built);
    }
}

static void steps_equal_forward(void **state)
{
    (void)state;
    const int64_t lengths[] = {1, 2, 63, 64, 65, 1000};
    subject s;
    FOR_EVERY_SUBJECT(s)
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int64_t n = lengths[k];
        float *x = random_rows(n, s.config.d_model, k), *whole = run_forward(&s, x, n, 0, NULL),
              *steps = run_steps(&s, x, n);
        assert_close(steps, whole, n * s.config.d_model, s.ops->name);
        hop_free(x);
        hop_free(whole);
        hop_free(steps);
    }
}

static void output_ignores_later_tokens(void **state)
{
    (void)state;
    subject s;
    FOR_EVERY_SUBJECT(s)
    {
        int64_t n = 100, kept = 37, d = s.config.d_model;
        float *x = random_rows(n, d, 1), *before = run_forward(&s, x, n, 0, NULL);
        for (int64_t i = kept * d; i < n * d; i++) x[i] = 1e3f * (float)(i % 7);
        float *after = run_forward(&s, x, n, 0, NULL);
        assert_memory_equal(before, after, sizeof(float) * (size_t)(kept * d)); /* to the bit */
        assert_memory_not_equal(before, after, sizeof(float) * (size_t)(n * d));
        hop_free(x);
        hop_free(before);
        hop_free(after);
    }
}

static void the_number_of_threads_changes_no_bit(void **state)
{
    (void)state;
    subject s;
    hop_pool *pool = hop_pool_new(3);
    FOR_EVERY_SUBJECT(s)
    {
        int64_t n = 500, d = s.config.d_model;
        float *x = random_rows(n, d, 2), *one = run_forward(&s, x, n, 0, NULL),
              *three = run_forward(&s, x, n, 0, pool);
        assert_memory_equal(one, three, sizeof(float) * (size_t)(n * d));
        hop_free(x);
        hop_free(one);
        hop_free(three);
    }
    hop_pool_free(pool);
}

static void the_last_rows_alone_are_the_last_rows_of_all(void **state)
{
    (void)state;
    subject s;
    FOR_EVERY_SUBJECT(s)
    for (int64_t first = 1; first < 130; first = first * 2 + 1) {
        int64_t n = 130, d = s.config.d_model;
        float *x = random_rows(n, d, 3), *all = run_forward(&s, x, n, 0, NULL),
              *some = run_forward(&s, x, n, first, NULL);
        assert_close(some, all + first * d, (n - first) * d, s.ops->name);
        hop_free(x);
        hop_free(all);
        hop_free(some);
    }
}

static void every_instruction_set_agrees_with_the_reference(void **state)
{
    (void)state;
    subject s;
    hop_isa before = hop_kernels_selected();
    FOR_EVERY_SUBJECT(s)
    {
        int64_t n = 200, d = s.config.d_model;
        float *x = random_rows(n, d, 4);
        assert_int_equal(hop_kernels_select(HOP_ISA_REF, NULL), HOP_OK);
        float *truth = run_forward(&s, x, n, 0, NULL);
        for (int isa = HOP_ISA_SCALAR; isa < HOP_ISA_COUNT; isa++) {
            if (!hop_isa_available((hop_isa)isa)) continue;
            assert_int_equal(hop_kernels_select((hop_isa)isa, NULL), HOP_OK);
            float *y = run_forward(&s, x, n, 0, NULL);
            assert_close(y, truth, n * d, hop_isa_name((hop_isa)isa));
            hop_free(y);
        }
        hop_free(x);
        hop_free(truth);
    }
    assert_int_equal(hop_kernels_select(before, NULL), HOP_OK);
}

static void a_recurrent_mixer_has_a_state_of_constant_size(void **state)
{
    (void)state;
    subject s;
    FOR_EVERY_SUBJECT(s)
    {
        int64_t a = s.ops->state_floats(&s.config, 10), b = s.ops->state_floats(&s.config, 1000);
        assert_true(s.ops->recurrent ? a == b : a <= b);
        assert_true(b > 0);
        assert_non_null(s.ops->equation);
        assert_ptr_equal(hop_mixer_find(s.ops->name), s.ops);
    }
    assert_null(hop_mixer_find("no such mixer"));
    assert_null(hop_mixer_at(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mixer_can_be_built_in_most_sizes),
        cmocka_unit_test(steps_equal_forward),
        cmocka_unit_test(output_ignores_later_tokens),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(the_last_rows_alone_are_the_last_rows_of_all),
        cmocka_unit_test(every_instruction_set_agrees_with_the_reference),
        cmocka_unit_test(a_recurrent_mixer_has_a_state_of_constant_size),
    };
    return cmocka_run_group_tests_name("mixers", tests, NULL, NULL);
}
