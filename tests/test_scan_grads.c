/* test_scan_grads.c - gradients of decay, delta, dplr and mlstm: against central differences of the
 * double-precision truth, and, in larger shapes, every table against ref; and the files of tests/data/cores,
 * which others computed. */
#include <stdio.h>

#include "scan_case.h"

#include <hopbound/model.h>

/* Gradients of the arrays of a case, in their order. */
typedef struct grads {
    float *p[ARRAYS];
} grads;

static grads grads_new(const scan_case *s)
{
    grads g = {{0}};
    for (int a = 0; a < ARRAYS; a++)
        if (s->count[a]) g.p[a] = floats_new(s->count[a]);
    return g;
}

static void grads_free(grads *g)
{
    for (int a = 0; a < ARRAYS; a++) hop_free(g->p[a]);
}

static void backward(const scan_case *s, const grads *g, const float *d_o, hop_pool *pool)
{
    hop_scan_in in = case_in(s);
    hop_scan_grad want = {.d_o = d_o,
                          .dq = g->p[Q],
                          .dk = g->p[KEY],
                          .dv = g->p[VAL],
                          .dg = g->p[GATE],
                          .dbeta = g->p[BETA],
                          .da = g->p[A_],
                          .db = g->p[B_],
                          .du = g->p[U],
                          .di = g->p[IN],
                          .df = g->p[FORGET],
                          .d_state = g->p[STATE]};
    int64_t size = (int64_t)hop_scan_backward_scratch(&s->c, hop_pool_threads(pool));
    float *scratch = floats_new(size);
    poison(scratch, size);
    for (int a = 0; a < ARRAYS; a++)
        if (g->p[a]) poison(g->p[a], s->count[a]);
    switch (s->kind) {
    case DECAY: hop_decay_backward(&want, s->p[STATE], &in, &s->c, scratch, pool); break;
    case DELTA: hop_delta_backward(&want, s->p[STATE], &in, &s->c, scratch, pool); break;
    case DPLR: hop_dplr_backward(&want, s->p[STATE], &in, &s->c, scratch, pool); break;
    default: hop_mlstm_backward(&want, s->p[STATE], &in, &s->c, scratch, pool); break;
    }
    hop_free(scratch);
}

/* Floats of a row of array a that are numbers, and from row to row. */
static void extent(const scan_case *s, int a, int64_t *used, int64_t *stride)
{
    const hop_scan *c = &s->c;
    const int64_t keys = c->key_heads * c->key_dim;
    const int64_t gates = c->gate == HOP_GATE_KEY ? c->heads * c->key_dim : c->heads;
    *used = *stride = s->count[a];
    if (a == Q) *used = keys, *stride = c->q_stride;
    if (a == KEY || a == A_ || a == B_) *used = keys, *stride = c->k_stride;
    if (a == VAL) *used = c->heads * c->value_dim, *stride = c->v_stride;
    if (a == GATE && c->gate != HOP_GATE_HEAD) *used = gates, *stride = c->gate_stride;
    if (a == BETA) *used = c->heads, *stride = c->beta_stride;
    if (a == IN || a == FORGET) *used = c->heads, *stride = c->gate_stride;
}

static double loss(scan_case *s, const float *d_o)
{
    const hop_scan *c = &s->c;
    double sum = 0.0;
    truth_run(s);
    for (int64_t t = 0; t < c->tokens; t++)
        for (int64_t e = 0; e < c->heads * c->value_dim; e++)
            sum += d_o[t * c->o_stride + e] * s->truth[t * c->o_stride + e];
    return sum;
}

/* Central differences: off by about 1e-16 L/h + h², so some 1e-10 at h = 1e-5. */
static double *slopes(scan_case *s, const float *d_o, int a)
{
    double *out = doubles_new(s->count[a]);
    for (int64_t i = 0; i < s->count[a]; i++) {
        double x = s->d[a][i], h = 1e-5;
        s->d[a][i] = x + h;
        double up = loss(s, d_o);
        s->d[a][i] = x - h;
        out[i] = (up - loss(s, d_o)) / (2.0 * h);
        s->d[a][i] = x;
    }
    return out;
}

static void check_slopes(scan_case *s, const char *what)
{
    const double noise = 1e-4; /* of smaller gradients the differences know less than five digits */
    const hop__kernels *t;
    float *d_o = random_new(s->no, 77, 1.0);
    grads g = grads_new(s);
    for (int a = 0; a < ARRAYS; a++) {
        if (!s->count[a]) continue;
        int64_t used, stride;
        char name[80];
        double *want = slopes(s, d_o, a);
        extent(s, a, &used, &stride);
        snprintf(name, sizeof name, "%s %s gate %d bonus %d, array %d", what, kind_names[s->kind],
                 (int)s->c.gate, s->bonus, a);
        FOR_EACH_TABLE(t)
        {
            backward(s, &g, d_o, NULL);
            assert_near_over(noise, name, g.p[a], want, s->count[a] / stride, stride, used, 1e-5);
        }
        hop__kernels_use(&hop__kernels_ref);
        backward(s, &g, d_o, NULL);
        assert_near_over(10.0 * noise, name, g.p[a], want, s->count[a] / stride, stride, used, 1e-6);
        hop_free(want);
    }
    grads_free(&g);
    hop_free(d_o);
}

static void gradients_are_the_slopes_of_the_equations(void **state)
{
    static const scan_shape shapes[] = {{1, 1, 1, 1, 1}, {19, 4, 2, 3, 5}, {37, 1, 1, 2, 9}};
    (void)state;
    for (int z = 0; z < 3; z++)
        for (int i = 0; i < VARIETIES; i++) {
            scan_case s = variety_new(i, shapes[z], (uint64_t)(40 + z));
            check_slopes(&s, "mild");
            case_free(&s);
        }
}

/* A gate of 0 and one of -60 or -1e4 beside it; mlstm with a large m, where the 1e-6 is felt. */
static void gradients_hold_at_extreme_gates(void **state)
{
    static const float gates[] = {0.0f, -60.0f, -1e4f, -0.2f};
    (void)state;
    for (int i = 0; i < VARIETIES; i++) {
        scan_case s = variety_new(i, (scan_shape){21, 2, 1, 3, 4}, 50);
        for (int64_t j = 0; j < s.count[GATE]; j++) s.p[GATE][j] = gates[(j * 7 + j / 5) % 4];
        for (int64_t j = 0; j < s.count[IN]; j++) s.p[IN][j] += 14.0f, s.p[FORGET][j] *= 3.0f;
        case_sync(&s);
        check_slopes(&s, "extreme");
        case_free(&s);
    }
}

/* Gates that hold, forget at once or underflow in a product of two, among mild ones; large sums of gates
 * before small ones; beta at its ends. (Not mlstm, see above: a denominator near 0 leaves few digits.) */
static void make_extreme(scan_case *s, uint64_t seed)
{
    static const float gates[] = {0.0f, -60.0f, -1e4f, -1e-6f, -0.1f, -40.0f, 0.0f, -1e30f, -0.003f, -88.0f};
    static const float betas[] = {0.0f, 2.0f, 1.0f};
    hop_rng rng;
    hop_rng_init(&rng, seed, 7);
    for (int64_t j = 0; j < s->count[GATE]; j++)
        if (hop_rng_below(&rng, 5) == 0) s->p[GATE][j] = gates[hop_rng_below(&rng, 10)];
    for (int64_t j = 0; j < s->count[BETA]; j++) s->p[BETA][j] = betas[hop_rng_below(&rng, 3)];
    case_sync(s);
}

static void check_forms(scan_case *s)
{
    const hop__kernels *t;
    float *d_o = random_new(s->no, 78, 1.0);
    grads ref = grads_new(s), got = grads_new(s);
    hop__kernels_use(&hop__kernels_ref);
    backward(s, &ref, d_o, NULL);
    for (int a = 0; a < ARRAYS; a++)
        for (int64_t j = 0; j < s->count[a]; j++) s->d[a][j] = ref.p[a][j];
    FOR_EACH_TABLE(t)
    for (int form = HOP_FORM_CHUNKED; form <= HOP_FORM_RECURRENT; form++) {
        s->c.form = (hop_form)form;
        backward(s, &got, d_o, NULL);
        for (int a = 0; a < ARRAYS; a++) {
            int64_t used, stride;
            if (!s->count[a]) continue;
            extent(s, a, &used, &stride);
            assert_all_near(kind_names[s->kind], got.p[a], s->d[a], s->count[a] / stride, stride, used, 1e-5);
        }
    }
    grads_free(&ref), grads_free(&got);
    hop_free(d_o);
}

static void every_table_and_form_has_the_reference_gradients(void **state)
{
    static const scan_shape shapes[] = {
        {100, 2, 1, 33, 20}, {64, 1, 1, 64, 64}, {1, 2, 2, 16, 3}, {500, 1, 1, 8, 17}, {33, 1, 1, 5, 49}};
    (void)state;
    for (int z = 0; z < 5; z++)
        for (int i = 0; i < VARIETIES; i++)
            for (int extreme = 0; extreme < 2; extreme++) {
                scan_case s = variety_new(i, shapes[z], (uint64_t)(60 + z));
                if (extreme) make_extreme(&s, (uint64_t)z);
                check_forms(&s);
                case_free(&s);
            }
}

static void unwanted_gradients_may_be_null(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int i = 0; i < VARIETIES; i++) {
        scan_case s = variety_new(i, (scan_shape){20, 2, 1, 5, 6}, 51);
        float *d_o = random_new(s.no, 79, 1.0);
        grads none = {{0}};
        FOR_EACH_TABLE(t) backward(&s, &none, d_o, NULL);
        hop__kernels_use(&hop__kernels_ref);
        backward(&s, &none, d_o, NULL);
        hop_free(d_o);
        case_free(&s);
    }
}

static void gradients_do_not_depend_on_threads(void **state)
{
    hop_pool *pool = hop_pool_new(3);
    (void)state;
    hop_kernels_select(hop_isa_best(), NULL);
    for (int i = 0; i < VARIETIES; i++) {
        scan_case s = variety_new(i, (scan_shape){70, 8, 4, 20, 20}, 52);
        float *d_o = random_new(s.no, 80, 1.0);
        grads one = grads_new(&s), many = grads_new(&s);
        backward(&s, &one, d_o, NULL);
        backward(&s, &many, d_o, pool);
        for (int a = 0; a < ARRAYS; a++)
            if (s.count[a]) assert_memory_equal(one.p[a], many.p[a], sizeof(float) * (size_t)s.count[a]);
        grads_free(&one), grads_free(&many);
        hop_free(d_o);
        case_free(&s);
    }
    hop_pool_free(pool);
}

/* ---- the files ------------------------------------------------------------------------------- */

static float *tensor(const hop_safetensors *f, const char *name, int64_t *n)
{
    const hop_tensor *t = hop_safetensors_find(f, name);
    if (!t) return NULL;
    *n = 1;
    for (int i = 0; i < t->rank; i++) *n *= t->shape[i];
    float *p = floats_new(*n);
    assert_int_equal(hop_tensor_floats(t, p, NULL), HOP_OK);
    return p;
}

/* One batch entry of a file's tensor against `got`. */
static void assert_tensor(const hop_safetensors *f, const char *name, int64_t batch, int64_t batches,
                          const float *got)
{
    int64_t n = 0;
    float *all = tensor(f, name, &n);
    if (!all) return;
    double *want = doubles_new(n);
    for (int64_t i = 0; i < n; i++) want[i] = all[i];
    n /= batches;
    assert_all_near(name, got, want + batch * n, 1, n, n, 1e-5);
    hop_free(all);
    hop_free(want);
}

static void check_file(const char *name, kind what)
{
    static const char *const names[ARRAYS] = {"q", "k", "v", "g", "beta", "a", "b", "u", "i", "f", NULL};
    static const char *const grad_names[ARRAYS] = {"dq", "dk", "dv", "dg", "dbeta", "da",
                                                   "db", "du", "di", "df", "dstate"};
    char path[1000];
    hop_safetensors f = {0};
    snprintf(path, sizeof path, "%s/cores/%s", getenv("HOPBOUND_TEST_DATA"), name);
    assert_int_equal(hop_safetensors_open(&f, path, NULL), HOP_OK);
    const hop_tensor *q = hop_safetensors_find(&f, "q"), *v = hop_safetensors_find(&f, "v");
    const int64_t B = q->shape[0], T = q->shape[1], H = q->shape[2], K = q->shape[3], V = v->shape[3];
    for (int64_t b = 0; b < B; b++)
        for (int form = HOP_FORM_CHUNKED; form <= HOP_FORM_RECURRENT; form++) {
            scan_case s = case_new(what, hop_safetensors_find(&f, "g") ? HOP_GATE_TOKEN : HOP_GATE_NONE,
                                   false, (scan_shape){T, H, H, K, V}, 1);
            hop_scan *c = &s.c;
            c->q_stride = c->k_stride = H * K, c->v_stride = c->o_stride = H * V,
            c->gate_stride = c->beta_stride = H;
            c->scale = (float)atof(hop_safetensors_meta(&f, "scale"));
            for (int a = 0; a < STATE; a++) {
                int64_t n;
                float *p = tensor(&f, names[a], &n);
                if (!p) continue;
                s.count[a] = n / B;
                memcpy(s.p[a], p + b * n / B, sizeof(float) * (size_t)(n / B));
                hop_free(p);
            }
            memset(s.p[STATE], 0, sizeof(float) * (size_t)s.count[STATE]);
            int64_t n;
            float *last = case_run(&s, (hop_form)form, NULL), *d_o = tensor(&f, "do", &n);
            assert_tensor(&f, "o", b, B, s.o);
            assert_tensor(&f, "final_state", b, B, last);
            grads g = grads_new(&s);
            backward(&s, &g, d_o + b * n / B, NULL);
            for (int a = 0; a < STATE; a++)
                if (s.count[a]) assert_tensor(&f, grad_names[a], b, B, g.p[a]);
            grads_free(&g);
            hop_free(last);
            hop_free(d_o);
            case_free(&s);
        }
    hop_safetensors_close(&f);
}

static void files_of_others_agree(void **state)
{
    const hop__kernels *t;
    (void)state;
    FOR_EACH_TABLE(t)
    {
        check_file("decay_scalar.safetensors", DECAY);
        check_file("delta_plain.safetensors", DELTA);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_slopes_of_the_equations),
        cmocka_unit_test(gradients_hold_at_extreme_gates),
        cmocka_unit_test(every_table_and_form_has_the_reference_gradients),
        cmocka_unit_test(unwanted_gradients_may_be_null),
        cmocka_unit_test(gradients_do_not_depend_on_threads),
        cmocka_unit_test(files_of_others_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
