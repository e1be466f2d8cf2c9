/* Laws that every mixer obeys, one loop over the registry: a mixer is tested the day it is listed. */
#include "test.h"

#include <hopbound/mixers.h>

/* Two ways of computing the same sums in float32 in different orders: a few ulps of the largest term, times
 * the depth of the computation. Measured: below 2e-6; the law is stated with room for other machines. */
#define TOLERANCE 1e-5

typedef struct subject {
    const hop_mixer_ops *ops;
    hop_mixer_config config;
    hop_list list;
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count;
    float *weights[HOP_MIXER_MAX_PARAMS];
    bool steady;
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
    hop_mixer_list(&s->list, ops, &s->config);
    s->count = ops->params(&s->config, s->params);
    assert_in_range(s->count, 1, HOP_MIXER_MAX_PARAMS);
    for (int i = 0; i < s->count; i++)
        s->weights[i] =
            hop_alloc(sizeof(float) *
                      (size_t)(s->params[i].shape[0] * (s->params[i].shape[1] ? s->params[i].shape[1] : 1)));
    hop_rng rng;
    hop_rng_init(&rng, 11, 0);
    hop_mixer_init(ops, s->weights, &s->config, &rng);
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

/* Rows first .. tokens-1 of each sequence; poisoned first, so that a number nobody wrote shows. */
static float *run_sequences(const subject *s, const float *x, int64_t sequences, int64_t tokens,
                            int64_t first, hop_pool *pool)
{
    const hop_mixer_config *c = &s->config;
    int64_t floats = sequences * (tokens - first) * c->d_model;
    hop_arena arena = {0};
    size_t bytes = hop_list_scratch(&s->list, sequences, tokens, hop_pool_threads(pool));
    assert_int_equal(hop_arena_reserve(&arena, bytes, NULL), HOP_OK);
    memset(arena.base, 0xff, arena.size);
    float *y = hop_alloc(sizeof(float) * (size_t)floats);
    for (int64_t i = 0; i < floats; i++) y[i] = NAN;
    hop_mixer_io io = {.y = y, .x = x, .sequences = sequences, .tokens = tokens, .first = first};
    io.steady = s->steady, io.scratch = &arena, io.pool = pool;
    hop_list_forward(&s->list, c, (const float *const *)s->weights, &io);
    hop_arena_free(&arena);
    return y;
}

static float *run_forward(const subject *s, const float *x, int64_t tokens, int64_t first, hop_pool *pool)
{
    return run_sequences(s, x, 1, tokens, first, pool);
}

static float *run_steps(const subject *s, const float *x, int64_t tokens)
{
    const hop_mixer_config *c = &s->config;
    float *y = hop_alloc(sizeof(float) * (size_t)(tokens * c->d_model));
    int64_t most = hop_mixer_state_floats(s->ops, c, tokens);
    float *state = hop_alloc(sizeof(float) * (size_t)most);
    for (int64_t t = 0; t < tokens; t++) {
        /* Only as many floats as are declared survive from one token to the next. */
        int64_t declared = hop_mixer_state_floats(s->ops, c, t);
        float *fresh = hop_alloc(sizeof(float) * (size_t)most);
        for (int64_t i = 0; i < most; i++) fresh[i] = NAN;
        memcpy(fresh, state, sizeof(float) * (size_t)declared);
        hop_free(state);
        state = fresh;
        hop_arena arena = {0};
        assert_int_equal(hop_arena_reserve(&arena, hop_list_step_scratch(&s->list, 1, t), NULL), HOP_OK);
        memset(arena.base, 0xff, arena.size);
        hop_mixer_io io = {.y = y + t * c->d_model, .x = x + t * c->d_model, .tokens = 1, .scratch = &arena};
        hop_list_step(&s->list, c, (const float *const *)s->weights, state, 0, t, &io);
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

/* Those that mix tokens, and behind them the others. */
static const hop_mixer_ops *any_at(int index)
{
    int mixers = 0;
    while (hop_mixer_at(mixers)) mixers++;
    return index < mixers ? hop_mixer_at(index) : hop_mixer_other(index - mixers);
}

#define FOR_EVERY_SUBJECT(s)                                                       \
    for (int index = 0; any_at(index); index++)                                    \
        for (size_t which = 0; which < SIZE_COUNT; which++)                        \
            for (int once = subject_new(&(s), any_at(index), &SIZES[which]); once; \
                 once = (subject_free(&(s)), 0))

static void every_mixer_can_be_built_in_most_sizes(void **state)
{
    (void)state;
    for (int index = 0; any_at(index); index++) {
        size_t built = 0;
        hop_mixer_config c;
        for (size_t which = 0; which < SIZE_COUNT; which++)
            built += configure(&c, any_at(index), &SIZES[which]);
        if (built + 1 < SIZE_COUNT) fail_msg("%s: only %zu sizes", any_at(index)->name, built);
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

/* Wide and long enough that rows, channels and convolutions are shared out, too. */
static void a_wide_layer_has_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    static const struct sizes wide[] = {{128, 4, 4, 32, 0, 0, 0}, {131, 3, 3, 43, 10000, 0, 0}};
    hop_pool *pool = hop_pool_new(3);
    for (int index = 0; any_at(index / 2); index++) {
        subject s;
        int64_t n = 1100, d = wide[index % 2].d_model;
        assert_true(subject_new(&s, any_at(index / 2), &wide[index % 2]));
        float *x = random_rows(n, d, 6), *one = run_forward(&s, x, n, 0, NULL),
              *three = run_forward(&s, x, n, 0, pool);
        assert_memory_equal(one, three, sizeof(float) * (size_t)(n * d));
        hop_free(x);
        hop_free(one);
        hop_free(three);
        subject_free(&s);
    }
    hop_pool_free(pool);
}

/* To the bit; where there are so few rows that a product would sum them in another order, steady. */
static void sequences_together_are_what_each_is_alone(void **state)
{
    (void)state;
    static const struct {
        int64_t sequences, tokens, first;
    } cases[] = {{5, 1, 0}, {3, 70, 0}, {3, 70, 69}, {40, 9, 4}, {2, 1000, 0}};
    subject s;
    hop_pool *pool = hop_pool_new(3);
    FOR_EVERY_SUBJECT(s)
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        int64_t d = s.config.d_model, n = cases[k / 2].tokens, first = cases[k / 2].first, rows = n - first;
        float *x = random_rows(cases[k / 2].sequences * n, d, k);
        s.steady = n < 4;
        float *all = run_sequences(&s, x, cases[k / 2].sequences, n, first, k % 2 ? pool : NULL);
        for (int64_t i = 0; i < cases[k / 2].sequences; i++) {
            float *alone = run_forward(&s, x + i * n * d, n, first, NULL);
            assert_memory_equal(all + i * rows * d, alone, sizeof(float) * (size_t)(rows * d));
            hop_free(alone);
        }
        hop_free(x);
        hop_free(all);
    }
    hop_pool_free(pool);
}

/* Three sequences, `count` of them from `first` on, a token at a time: y [count, tokens, d]. */
static float *step_some(const subject *s, const float *x, int64_t first, int64_t count, int64_t tokens)
{
    int64_t d = s->config.d_model, stride = hop_list_state_floats(&s->list, tokens) + 5;
    float *y = hop_alloc(sizeof(float) * (size_t)(count * tokens * d)),
          *rows = hop_alloc(sizeof(float) * (size_t)(2 * count * d)),
          *memory = hop_alloc(sizeof(float) * (size_t)(count * stride));
    for (int64_t t = 0; t < tokens; t++) {
        hop_arena arena = {0};
        assert_int_equal(hop_arena_reserve(&arena, hop_list_step_scratch(&s->list, count, t), NULL), HOP_OK);
        memset(arena.base, 0xff, arena.size);
        for (int64_t i = 0; i < count; i++)
            memcpy(rows + i * d, x + ((first + i) * tokens + t) * d, sizeof(float) * (size_t)d);
        hop_mixer_io io = {.y = rows + count * d, .x = rows, .sequences = count, .tokens = 1, .steady = true};
        io.scratch = &arena;
        hop_list_step(&s->list, &s->config, (const float *const *)s->weights, memory, stride, t, &io);
        for (int64_t i = 0; i < count; i++)
            memcpy(y + (i * tokens + t) * d, rows + (count + i) * d, sizeof(float) * (size_t)d);
        hop_arena_free(&arena);
    }
    hop_free(rows);
    hop_free(memory);
    return y;
}

static void sequences_step_together(void **state)
{
    (void)state;
    subject s;
    FOR_EVERY_SUBJECT(s)
    {
        int64_t n = 40, size = n * s.config.d_model;
        float *x = random_rows(3 * n, s.config.d_model, 8), *all = step_some(&s, x, 0, 3, n);
        for (int64_t i = 0; i < 3; i++) {
            float *alone = step_some(&s, x, i, 1, n);
            assert_memory_equal(all + i * size, alone, sizeof(float) * (size_t)size);
            hop_free(alone);
        }
        hop_free(x);
        hop_free(all);
    }
}

/* Every buffer in a place of its own, and nothing in the place of what it was made from: the same bits. */
static void buffers_that_share_memory_change_no_bit(void **state)
{
    (void)state;
    subject s;
    FOR_EVERY_SUBJECT(s)
    for (int64_t first = 0; first < 130; first += 43) {
        int64_t n = 130, d = s.config.d_model;
        float *x = random_rows(n, d, 9), *shared = run_forward(&s, x, n, first, NULL);
        s.list.row_floats = 0;
        for (int b = HOP_FIRST_BUFFER; b < s.list.buffer_count; b++) {
            s.list.offset[b] = s.list.row_floats;
            s.list.row_floats += (s.list.width[b] + 15) / 16 * 16;
        }
        float *apart = run_forward(&s, x, n, first, NULL);
        assert_memory_equal(shared, apart, sizeof(float) * (size_t)((n - first) * d));
        hop_mixer_list(&s.list, s.ops, &s.config);
        hop_free(x);
        hop_free(shared);
        hop_free(apart);
    }
}

/* What those who walk a list count on. */
static void a_list_writes_each_buffer_once_and_uses_every_parameter(void **state)
{
    (void)state;
    subject s;
    FOR_EVERY_SUBJECT(s)
    {
        bool written[HOP_LIST_BUFFERS] = {[HOP_X] = true}, used[HOP_MIXER_MAX_PARAMS] = {0};
        const hop_list *l = &s.list;
        int64_t past = 0;
        for (int i = 0; i < l->op_count; i++) {
            const hop_op *op = &l->op[i];
            for (int k = 0; k < HOP_OP_INPUTS; k++) {
                hop_ref r = op->in[k];
                if (r.buffer < 0) continue;
                assert_true(r.buffer < l->buffer_count && written[r.buffer]);
                assert_true(r.column >= 0 && r.column < l->width[r.buffer]);
            }
            for (int k = 0; k < HOP_OP_PARAMS; k++) {
                assert_true(op->par[k] >= -1 && op->par[k] < s.count);
                if (op->par[k] >= 0) used[op->par[k]] = true;
            }
            assert_false(written[op->y]);
            written[op->y] = true;
            assert_int_equal(op->width, l->width[op->y]);
            if (op->kind == HOP_OP_CONV) past += (op->taps - 1) * op->width;
            if (op->kind == HOP_OP_SHIFT) past += op->width;
            if (past > 0 && (op->kind == HOP_OP_CONV || op->kind == HOP_OP_SHIFT))
                assert_true(op->state >= l->state_floats - l->past_floats); /* behind the matrices */
        }
        assert_true(written[HOP_Y]);
        assert_int_equal(l->op[l->op_count - 1].y, HOP_Y);
        for (int i = 0; i < s.count; i++)
            if (!used[i]) fail_msg("%s: nobody reads %s", s.ops->name, s.params[i].name);
        assert_int_equal(l->past_floats, past);
        assert_int_equal(l->attends, s.ops->kind != HOP_MIXER_RECURRENT && s.ops->kind != HOP_MIXER_ALONE);
    }
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
        int64_t a = hop_mixer_state_floats(s.ops, &s.config, 10),
                b = hop_mixer_state_floats(s.ops, &s.config, 1000);
        assert_true(s.ops->kind == HOP_MIXER_RECURRENT ? a == b : a <= b);
        assert_true(s.ops->kind != HOP_MIXER_ALONE || b == 0);
        assert_true(b > 0 || s.ops->kind == HOP_MIXER_ALONE || s.ops->forgets);
        assert_non_null(s.ops->equation);
        assert_ptr_equal(hop_mixer_find(s.ops->name), s.ops);
    }
    assert_null(hop_mixer_find("no such mixer"));
    assert_null(hop_mixer_at(-1));
}

/* Based's features of 2^20 heads of 2^20 numbers: their number squared does not fit 64 bits. */
static void a_layer_whose_sizes_do_not_fit_is_refused(void **state)
{
    (void)state;
    hop_error err = {0};
    hop_mixer_config c;
    hop_mixer_config_init(&c);
    c.d_model = 1, c.heads = c.kv_heads = c.head_dim = 1 << 20;
    assert_int_equal(hop_mixer_config_ready(&c, hop_mixer_find("based"), &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "2^54"));
    c.heads = c.kv_heads = 1; /* fits, but no machine holds it: the arena must be asked and refuse */
    hop_list l;
    hop_arena arena = {0};
    assert_int_equal(hop_mixer_config_ready(&c, hop_mixer_find("based"), &err), HOP_OK);
    hop_mixer_list(&l, hop_mixer_find("based"), &c);
    assert_int_equal(hop_arena_reserve(&arena, hop_list_scratch(&l, 1, 1000, 2), &err), HOP_ENOMEM);
    assert_int_equal(hop_arena_reserve(&arena, hop_list_step_scratch(&l, 1, 1000), &err), HOP_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mixer_can_be_built_in_most_sizes),
        cmocka_unit_test(steps_equal_forward),
        cmocka_unit_test(output_ignores_later_tokens),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(a_wide_layer_has_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(sequences_together_are_what_each_is_alone),
        cmocka_unit_test(sequences_step_together),
        cmocka_unit_test(buffers_that_share_memory_change_no_bit),
        cmocka_unit_test(a_list_writes_each_buffer_once_and_uses_every_parameter),
        cmocka_unit_test(the_last_rows_alone_are_the_last_rows_of_all),
        cmocka_unit_test(every_instruction_set_agrees_with_the_reference),
        cmocka_unit_test(a_layer_whose_sizes_do_not_fit_is_refused),
        cmocka_unit_test(a_recurrent_mixer_has_a_state_of_constant_size),
    };
    return cmocka_run_group_tests_name("mixers", tests, NULL, NULL);
}
