/* Gradients of every mixer, one loop over the registry: parameters, inputs and initial state against central
 * differences of the list in double precision (list_truth.h), which is first compared with the walker. */
#include "list_truth.h"

#include <hopbound/kernels.h>

/* Float32 sums of some hundred terms against doubles, relative to the largest of the tensor. Measured: below
 * 1e-6, but 1.4e-5 for a window of one, whose gradients cancel, and 5e-5 for the gates of mlstm, whose do
 * nearly; the law is stated with room for other machines. */
#define TOLERANCE 1e-4

enum { SEQUENCES = 2, TOKENS = 19, SAMPLES = 4 };

static const struct sizes {
    int64_t d_model, heads, kv_heads, head_dim;
    double rope_theta;
    bool bidirectional;
    const char *options; /* those that a mixer does not take are passed over */
} SIZES[] = {
    {10, 2, 2, 4, 0, false, "state_dim=5 rank=3"},
    {13, 6, 3, 5, 10000, false, "state_dim=3 groups=2 rank=5 dt_rank=3 block=8"},
    {9, 3, 3, 4, 0, false, "conv=0 gate=0 norm=0 normalise=1 rope=0 state_dim=4 rank=2"},
    {8, 4, 2, 3, 0, false,
     "conv=2 negative=1 value_dim=7 feature=1 summary=1 groups=4 steps=3 state_dim=6 rank=4"},
    {7, 2, 1, 4, 100, true, "feature=3 conv=1 norm=0 normalise=0 state_dim=2 rank=1 inner=6"},
    {6, 1, 1, 6, 0, false, "feature=2 window=1 topk=1 state_dim=1 rank=2 conv=5"},
    /* as layers of other people's networks are */
    {9, 4, 2, 3, 0, false,
     "state_dim=4 groups=2 norm_groups=2 rank=2 dt_rank=3 qkv_bias=1 out_bias=1 dt_min=0.4 dt_max=0.9 "
     "dt_norms=1 "
     "norm_scale=1 norm_first=1 norm_eps=0.001 mlp_act=2 mlp_bias=1"},
};
#define SIZE_COUNT ((int)(sizeof SIZES / sizeof *SIZES))

/* Every mixer, and behind them the MLP that stands alone. */
static const hop_mixer_ops *trained(int index)
{
    int count = 0;
    while (hop_mixer_at(count)) count++;
    return index == count ? hop_mixer_find("mlp") : index < count ? hop_mixer_at(index) : NULL;
}

typedef struct subject {
    const hop_mixer_ops *ops;
    hop_mixer_config c;
    hop_list list;
    hop_reverse reverse;
    hop_param p[HOP_MIXER_MAX_PARAMS];
    int count;
    float *w[HOP_MIXER_MAX_PARAMS], *dw[HOP_MIXER_MAX_PARAMS];
    float *x, *dx, *y, *dy, *state, *dstate; /* of all sequences */
    double *angles;
    int64_t tokens;
    truth t;
} subject;

static int64_t size_of(const hop_param *p)
{
    return p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
}

static float *floats(int64_t n)
{
    return hop_alloc(sizeof(float) * (size_t)(n + 1));
}

static float *randoms(int64_t n, hop_rng *rng, double size)
{
    float *p = floats(n);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(size * hop_rng_normal(rng));
    return p;
}

static bool configure(hop_mixer_config *c, const hop_mixer_ops *ops, const struct sizes *z)
{
    char text[256], *rest = text, *word;
    hop_mixer_config_init(c);
    c->d_model = z->d_model, c->heads = z->heads, c->kv_heads = z->kv_heads, c->head_dim = z->head_dim;
    c->rope_theta = z->rope_theta, c->layer = 1, c->layers = 3;
    c->bidirectional = z->bidirectional && ops->kind == HOP_MIXER_FULL;
    hop_mixer_option_set(c, ops, "window", 5, NULL);
    hop_mixer_option_set(c, ops, "block", 4, NULL);
    hop_mixer_option_set(c, ops, "topk", 2, NULL);
    snprintf(text, sizeof text, "%s", z->options);
    while ((word = strtok_r(rest, " ", &rest))) {
        char *value = strchr(word, '=');
        *value++ = 0;
        bool foreign;
        hop_mixer_foreign_set(c, ops, word, atof(value), &foreign, NULL);
        if (!foreign) hop_mixer_option_set(c, ops, word, atoll(value), NULL);
    }
    return hop_mixer_config_ready(c, ops, NULL) == HOP_OK;
}

/* Initialised, then everything is moved a little: what starts at 0 or 1 must be seen, too. */
static bool subject_new(subject *s, const hop_mixer_ops *ops, const struct sizes *z, int64_t tokens)
{
    *s = (subject){.ops = ops, .tokens = tokens};
    if (!configure(&s->c, ops, z)) return false;
    hop_mixer_list(&s->list, ops, &s->c);
    hop_reverse_plan(&s->reverse, &s->list);
    s->count = ops->params(&s->c, s->p);
    hop_rng rng;
    hop_rng_init(&rng, 3, 0);
    for (int i = 0; i < s->count; i++)
        s->w[i] = floats(size_of(&s->p[i])), s->dw[i] = floats(size_of(&s->p[i]));
    hop_mixer_init(ops, s->w, &s->c, &rng);
    truth_new(&s->t, &s->list, &s->c, tokens);
    for (int i = 0; i < s->count; i++) {
        double size = s->p[i].shape[1] ? 0.7 / sqrt((double)s->p[i].shape[1]) : 0.3;
        s->t.w[i] = calloc((size_t)size_of(&s->p[i]), sizeof(double));
        for (int64_t k = 0; k < size_of(&s->p[i]); k++) {
            s->w[i][k] += (float)(size * hop_rng_normal(&rng));
            s->t.w[i][k] = s->w[i][k];
        }
    }
    int64_t rows = SEQUENCES * tokens * z->d_model, states = SEQUENCES * s->list.state_floats;
    s->x = randoms(rows, &rng, 1.0), s->dy = randoms(rows, &rng, 1.0);
    s->y = floats(rows), s->dx = floats(rows);
    s->angles = hop_alloc(sizeof(double) * (hop_tape_angles_size(&s->list, tokens) + 1));
    hop_tape_angles(s->angles, &s->list, tokens);
    s->state = randoms(states, &rng, 0.3), s->dstate = floats(states);
    return true;
}

static void subject_free(subject *s)
{
    for (int i = 0; i < s->count; i++) {
        hop_free(s->w[i]);
        hop_free(s->dw[i]);
        free(s->t.w[i]);
    }
    float *const all[] = {s->x, s->dx, s->y, s->dy, s->state, s->dstate};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hop_free(all[i]);
    truth_free(&s->t);
    hop_free(s->angles);
}

/* y, dx, dw, dstate; dy begins at row `back` of each sequence, y at row `first`. */
static void both_ways(subject *s, int64_t first, int64_t back, const float *dy)
{
    const int64_t rows = SEQUENCES * s->tokens * s->c.d_model;
    size_t kept = hop_tape_kept(&s->list, &s->reverse, SEQUENCES, s->tokens),
           scratch = hop_tape_scratch(&s->list, &s->reverse, SEQUENCES, s->tokens);
    hop_tape t = {.sequences = SEQUENCES, .tokens = s->tokens, .first = first, .back_first = back};
    t.x = s->x, t.y = s->y, t.state = s->state, t.dy = dy, t.dx = s->dx, t.dstate = s->dstate;
    t.kept = floats((int64_t)kept), t.scratch = floats((int64_t)scratch), t.angles = s->angles;
    memset(t.kept, 0xff, sizeof(float) * kept);
    memset(t.scratch, 0xff, sizeof(float) * scratch);
    for (int64_t i = 0; i < rows; i++) s->dx[i] = s->y[i] = NAN;
    for (int64_t i = 0; i < SEQUENCES * s->list.state_floats; i++) s->dstate[i] = NAN;
    for (int i = 0; i < s->count; i++) memset(s->dw[i], 0, sizeof(float) * (size_t)size_of(&s->p[i]));
    hop_tape_forward(&t, &s->list, &s->reverse, &s->c, (const float *const *)s->w);
    memset(t.scratch, 0xff, sizeof(float) * scratch);
    hop_tape_backward(&t, &s->list, &s->reverse, &s->c, (const float *const *)s->w, s->dw);
    hop_free(t.kept);
    hop_free(t.scratch);
}

/* ---- truth ------------------------------------------------------------------------------------- */

/* Something that the output depends on: values (floats and, for parameters, doubles) and their gradient. */
typedef struct leaf {
    const char *name;
    float *value, *grad;
    double *d; /* parameters */
    int64_t n;
} leaf;

static int leaves(const subject *s, leaf out[HOP_MIXER_MAX_PARAMS + 2])
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        out[n++] = (leaf){s->p[i].name, s->w[i], s->dw[i], s->t.w[i], size_of(&s->p[i])};
    out[n++] = (leaf){"input", s->x, s->dx, NULL, SEQUENCES * s->tokens * s->c.d_model};
    if (s->list.state_floats > 0)
        out[n++] = (leaf){"state", s->state, s->dstate, NULL, SEQUENCES * s->list.state_floats};
    return n;
}

/* Loss with leaf `l` moved by h along `way`; and y, if wanted. */
static double loss(subject *s, const leaf *l, const double *way, double h, double *y)
{
    const int64_t d = s->c.d_model, each = s->tokens * d;
    double sum = 0;
    for (int64_t i = 0; l->d && i < l->n; i++) l->d[i] = l->value[i] + h * way[i];
    for (int q = 0; q < SEQUENCES; q++) {
        for (int64_t i = 0; i < each; i++)
            s->t.b[HOP_X][i] = s->x[q * each + i] + (l->value == s->x ? h * way[q * each + i] : 0);
        for (int64_t i = 0, n = s->list.state_floats; i < n; i++)
            s->t.state[i] = s->state[q * n + i] + (l->value == s->state ? h * way[q * n + i] : 0);
        truth_run(&s->t);
        for (int64_t i = 0; i < each; i++) sum += s->dy[q * each + i] * s->t.b[HOP_Y][i];
        if (y) memcpy(y + q * each, s->t.b[HOP_Y], sizeof(double) * (size_t)each);
    }
    for (int64_t i = 0; l->d && i < l->n; i++) l->d[i] = l->value[i];
    return sum;
}

/* Along one way: off by about 1e-16 L / h + h², so some 1e-10. */
static double slope(subject *s, const leaf *l, const double *way)
{
    const double h = 1e-5;
    double up = loss(s, l, way, h, NULL);
    return (up - loss(s, l, way, -h, NULL)) / (2 * h);
}

/* Some elements, and two ways that all of them take part in. */
typedef struct probe {
    double *way, slope;
} probe;

static int probes(subject *s, const leaf *l, hop_rng *rng, probe out[SAMPLES + 2])
{
    int count = 0;
    for (int i = 0; i < SAMPLES + 2; i++) {
        if (i >= 2 && i - 2 >= l->n) break;
        double *way = calloc((size_t)l->n, sizeof(double));
        for (int64_t k = 0; i < 2 && k < l->n; k++) way[k] = hop_rng_normal(rng);
        if (i >= 2) way[l->n <= SAMPLES ? i - 2 : (int64_t)(hop_rng_uniform(rng) * (double)l->n)] = 1;
        out[count++] = (probe){way, slope(s, l, way)};
    }
    return count;
}

static void check_probes(const leaf *l, const probe *p, int count, const char *mixer, int size)
{
    double most = 0.1; /* a window of one has gradients that are 0, of terms that are not */
    for (int64_t k = 0; k < l->n; k++) most = fmax(most, fabs(l->grad[k]));
    for (int i = 0; i < count; i++) {
        double sum = 0, length = 0;
        for (int64_t k = 0; k < l->n; k++) sum += p[i].way[k] * l->grad[k], length += pow(p[i].way[k], 2);
        if (!(fabs(sum - p[i].slope) <= TOLERANCE * most * sqrt(length)))
            fail_msg("%s, size %d, %s, %s: %s: %.9g, by differences %.9g (largest %.3g)", mixer, size,
                     hop_isa_name(hop_kernels_selected()), l->name, i < 2 ? "all" : "one", sum, p[i].slope,
                     most);
    }
}

static void check_output(const subject *s, const double *y, int size)
{
    double most = 1e-3;
    const int64_t n = SEQUENCES * s->tokens * s->c.d_model;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(y[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(s->y[i] - y[i]) <= TOLERANCE * most))
            fail_msg("%s, size %d, %s: output %lld is %.9g, in doubles %.9g", s->ops->name, size,
                     hop_isa_name(hop_kernels_selected()), (long long)i, s->y[i], y[i]);
}

static void check_subject(subject *s, int size)
{
    leaf l[HOP_MIXER_MAX_PARAMS + 2];
    probe p[HOP_MIXER_MAX_PARAMS + 2][SAMPLES + 2];
    int n = leaves(s, l), counts[HOP_MIXER_MAX_PARAMS + 2];
    double *y = calloc((size_t)(SEQUENCES * s->tokens * s->c.d_model), sizeof(double));
    hop_rng rng;
    hop_rng_init(&rng, 17, 0);
    loss(s, &(leaf){0}, NULL, 0, y);
    for (int i = 0; i < n; i++) counts[i] = probes(s, &l[i], &rng, p[i]);
    for (int isa = 0; isa < HOP_ISA_COUNT; isa++) {
        if (hop_kernels_select((hop_isa)isa, NULL) != HOP_OK) continue;
        both_ways(s, 0, 0, s->dy);
        check_output(s, y, size);
        for (int i = 0; i < n; i++) check_probes(&l[i], p[i], counts[i], s->ops->name, size);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < counts[i]; k++) free(p[i][k].way);
    free(y);
}

static void every_gradient_of_every_mixer_is_that_of_central_differences(void **state)
{
    (void)state;
    const hop_mixer_ops *ops;
    for (int m = 0; (ops = trained(m)); m++) {
        int seen = 0;
        for (int z = 0; z < SIZE_COUNT; z++) {
            subject s;
            if (!subject_new(&s, ops, &SIZES[z], TOKENS)) continue;
            check_subject(&s, z);
            subject_free(&s);
            seen++;
        }
        assert_in_range(seen, 4, SIZE_COUNT);
    }
}

/* The laws are about operations: none, and no kind of one, is left out by the sizes above. */
static void every_operation_is_met(void **state)
{
    (void)state;
    bool kinds[HOP_OP_COUNT] = {false}, acts[HOP_ACT_RELU2 + 1] = {false}, gates[4][4] = {{false}};
    const hop_mixer_ops *ops;
    for (int m = 0; (ops = trained(m)); m++)
        for (int z = 0; z < SIZE_COUNT; z++) {
            hop_mixer_config c;
            hop_list l;
            if (!configure(&c, ops, &SIZES[z])) continue;
            hop_mixer_list(&l, ops, &c);
            for (int i = 0; i < l.op_count; i++) {
                kinds[l.op[i].kind] = true;
                if (l.op[i].kind == HOP_OP_ACT) acts[l.op[i].act] = true;
                if (l.op[i].kind == HOP_OP_SCAN) gates[l.op[i].core][l.op[i].gate] = true;
            }
        }
    for (int i = 0; i < HOP_OP_COUNT; i++) {
        const hop_list one = {.op_count = 1, .op = {{.kind = (hop_op_kind)i, .par = {-1, -1}}}};
        kinds[i] |= hop_list_forward_only(&one) != NULL;
    }
    for (int i = 0; i < HOP_OP_COUNT; i++)
        if (!kinds[i]) fail_msg("%s", hop_op_name((hop_op_kind)i));
    for (int i = 0; i <= HOP_ACT_RELU2; i++)
        if (!acts[i]) fail_msg("activation %d", i);
    for (int g = 0; g < 4; g++) assert_true(gates[HOP_CORE_DECAY][g]);
    assert_true(gates[HOP_CORE_DELTA][HOP_GATE_TOKEN] && gates[HOP_CORE_DELTA][HOP_GATE_KEY]);
    assert_true(gates[HOP_CORE_DPLR][HOP_GATE_KEY] && gates[HOP_CORE_MLSTM][HOP_GATE_NONE]);
}

/* Longer than a chunk of the scans and a block of attention. */
static void gradients_hold_over_longer_sequences(void **state)
{
    (void)state;
    const hop_mixer_ops *ops;
    for (int m = 0; (ops = trained(m)); m++) {
        subject s;
        if (!subject_new(&s, ops, &SIZES[0], 71)) continue;
        check_subject(&s, 0);
        subject_free(&s);
    }
}

/* ---- rows without a gradient ------------------------------------------------------------------- */

static double distance(const float *a, const float *b, int64_t n)
{
    double most = 1e-3, worst = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
    for (int64_t i = 0; i < n; i++) {
        double off = fabs((double)a[i] - b[i]) / most;
        worst = off <= worst ? worst : off; /* NaN stays */
    }
    return worst;
}

static void rows_without_a_gradient_may_be_left_out(void **state)
{
    (void)state;
    const int64_t firsts[][2] = {{0, 18}, {18, 18}, {0, 7}, {3, 12}};
    const hop_mixer_ops *ops;
    for (int m = 0; (ops = trained(m)); m++)
        for (int f = 0; f < 4; f++) {
            subject a, b;
            const struct sizes *z = &SIZES[f % 2];
            if (!subject_new(&a, ops, z, TOKENS) || !subject_new(&b, ops, z, TOKENS)) continue;
            const int64_t back = firsts[f][1], d = z->d_model, rows = TOKENS - back;
            float *late = floats(SEQUENCES * rows * d);
            for (int64_t i = 0; i < SEQUENCES * TOKENS * d; i++) {
                int64_t t = i / d % TOKENS, q = i / d / TOKENS;
                if (t < back) a.dy[i] = 0.0f;
                if (t >= back) late[(q * rows + t - back) * d + i % d] = a.dy[i];
            }
            both_ways(&a, 0, 0, a.dy);
            both_ways(&b, firsts[f][0], back, late);
            leaf x[HOP_MIXER_MAX_PARAMS + 2], y[HOP_MIXER_MAX_PARAMS + 2];
            int n = leaves(&a, x);
            leaves(&b, y);
            for (int i = 0; i < n; i++) {
                double off = distance(x[i].grad, y[i].grad, x[i].n);
                if (!(off <= 1e-5))
                    fail_msg("%s: rows %lld and %lld: %s is off by %g", ops->name, (long long)firsts[f][0],
                             (long long)back, x[i].name, off);
            }
            hop_free(late);
            subject_free(&a);
            subject_free(&b);
        }
}

static void gradients_of_parameters_are_added(void **state)
{
    (void)state;
    const hop_mixer_ops *ops;
    for (int m = 0; (ops = trained(m)); m++) {
        subject s;
        if (!subject_new(&s, ops, &SIZES[0], TOKENS)) continue;
        both_ways(&s, 0, 0, s.dy);
        size_t kept = hop_tape_kept(&s.list, &s.reverse, SEQUENCES, TOKENS),
               scratch = hop_tape_scratch(&s.list, &s.reverse, SEQUENCES, TOKENS);
        float *once[HOP_MIXER_MAX_PARAMS];
        hop_tape t = {.sequences = SEQUENCES, .tokens = TOKENS, .x = s.x, .y = s.y, .dy = s.dy, .dx = s.dx};
        t.state = s.state, t.angles = s.angles, t.kept = floats((int64_t)kept),
        t.scratch = floats((int64_t)scratch);
        for (int i = 0; i < s.count; i++) {
            once[i] = floats(size_of(&s.p[i]));
            memcpy(once[i], s.dw[i], sizeof(float) * (size_t)size_of(&s.p[i]));
        }
        hop_tape_forward(&t, &s.list, &s.reverse, &s.c, (const float *const *)s.w);
        hop_tape_backward(&t, &s.list, &s.reverse, &s.c, (const float *const *)s.w, s.dw);
        for (int i = 0; i < s.count; i++) {
            for (int64_t k = 0; k < size_of(&s.p[i]); k++) s.dw[i][k] -= once[i][k];
            assert_true(distance(once[i], s.dw[i], size_of(&s.p[i])) <= 1e-5);
            hop_free(once[i]);
        }
        hop_free(t.kept);
        hop_free(t.scratch);
        subject_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_of_every_mixer_is_that_of_central_differences),
        cmocka_unit_test(every_operation_is_met),
        cmocka_unit_test(gradients_hold_over_longer_sequences),
        cmocka_unit_test(rows_without_a_gradient_may_be_left_out),
        cmocka_unit_test(gradients_of_parameters_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
