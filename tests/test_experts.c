/* Mixtures of experts beside their equation in plain loops, and which experts a token gets. */
#include "test.h"

#include <hopbound/mixers.h>

enum { D = 12, EXPERTS = 6, INNER = 5, SHARED = 7, TOKENS = 9 };

typedef struct case_ {
    const char *option[6];
    double value[6];
} case_;

static const case_ CASES[] = {
    {{"topk"}, {2}},
    {{"topk", "router_share"}, {3, 1}},
    {{"topk", "router_share", "router_sigmoid", "router_bias", "router_scale", "router_eps"},
     {2, 1, 1, 1, 2.5, 1e-20}},
    {{"topk", "router_sigmoid", "router_bias", "router_groups", "router_open"}, {3, 1, 1, 3, 2}},
    {{"topk", "shared", "shared_gate", "mlp_act"}, {2, SHARED, 1, 1}},
    {{"topk", "shared", "mlp_plain"}, {6, SHARED, 1}},
    {{"topk", "shared", "mlp_plain", "mlp_act"}, {3, SHARED, 1, 2}},
};

typedef struct net {
    hop_mixer_config c;
    const hop_mixer_ops *ops;
    hop_list list;
    hop_param param[HOP_MIXER_MAX_PARAMS];
    float *w[HOP_MIXER_MAX_PARAMS];
    int count;
} net;

static void net_new(net *n, const case_ *k, uint64_t seed)
{
    hop_rng rng;
    hop_error err;
    bool foreign;
    *n = (net){.ops = hop_mixer_find("moe")};
    hop_mixer_config_init(&n->c);
    n->c.d_model = D, n->c.heads = n->c.kv_heads = n->c.head_dim = 1;
    assert_int_equal(hop_mixer_option_set(&n->c, n->ops, "experts", EXPERTS, &err), HOP_OK);
    assert_int_equal(hop_mixer_option_set(&n->c, n->ops, "inner", INNER, &err), HOP_OK);
    for (int i = 0; i < 6 && k->option[i]; i++) {
        assert_int_equal(hop_mixer_foreign_set(&n->c, n->ops, k->option[i], k->value[i], &foreign, &err),
                         HOP_OK);
        if (!foreign)
            assert_int_equal(hop_mixer_option_set(&n->c, n->ops, k->option[i], (int64_t)k->value[i], &err),
                             HOP_OK);
    }
    assert_int_equal(hop_mixer_config_ready(&n->c, n->ops, &err), HOP_OK);
    hop_mixer_list(&n->list, n->ops, &n->c);
    n->count = n->ops->params(&n->c, n->param);
    hop_rng_init(&rng, seed, 0);
    for (int i = 0; i < n->count; i++) {
        int64_t size = n->param[i].shape[0] * (n->param[i].shape[1] ? n->param[i].shape[1] : 1);
        n->w[i] = hop_alloc(sizeof(float) * (size_t)size);
        for (int64_t e = 0; e < size; e++) n->w[i][e] = (float)(0.4 * hop_rng_normal(&rng));
    }
}

static void net_free(net *n)
{
    for (int i = 0; i < n->count; i++) hop_free(n->w[i]);
}

static const float *weight(const net *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->param[i].name, name) == 0) return n->w[i];
    return NULL;
}

static double foreign(const net *n, hop_foreign f)
{
    return n->c.foreign[f];
}

static void run(const net *n, float *y, const float *x, const hop_list_watch *watch)
{
    hop_arena scratch = {0};
    hop_error err;
    assert_int_equal(hop_arena_reserve(&scratch, hop_list_scratch(&n->list, 1, TOKENS, 1), &err), HOP_OK);
    const hop_mixer_io io = {.y = y, .x = x, .tokens = TOKENS, .scratch = &scratch, .watch = watch};
    hop_list_forward(&n->list, &n->c, (const float *const *)n->w, &io);
    hop_arena_free(&scratch);
}

static double dot(const float *w, int64_t row, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < D; i++) sum += (double)w[row * D + i] * x[i];
    return sum;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double act(const net *n, double x)
{
    const double kind = foreign(n, HOP_FOREIGN_mlp_act), positive = x > 0 ? x : 0;
    return kind == 0 ? x * sigmoid(x) : kind == 1 ? 0.5 * x * erfc(-x * sqrt(0.5)) : positive * positive;
}

/* The token's weights, 0 for experts that it has not. */
static void route(const net *n, double w[EXPERTS], const float *x)
{
    const float *bias = weight(n, "router.bias");
    const bool sigmoids = foreign(n, HOP_FOREIGN_router_sigmoid) != 0;
    int64_t groups = (int64_t)foreign(n, HOP_FOREIGN_router_groups),
            open = (int64_t)foreign(n, HOP_FOREIGN_router_open);
    double p[EXPERTS], key[EXPERTS], sum = 0;
    bool taken[EXPERTS] = {false}, shut[EXPERTS] = {false};
    for (int e = 0; e < EXPERTS; e++) p[e] = dot(weight(n, "router.weight"), e, x), sum += exp(p[e]);
    for (int e = 0; e < EXPERTS; e++) p[e] = sigmoids ? sigmoid(p[e]) : exp(p[e]) / sum;
    for (int e = 0; e < EXPERTS; e++) key[e] = p[e] + (bias ? (double)bias[e] : 0);
    if (groups > 1) { /* of two experts each, so that a group's best two are all of it */
        assert_int_equal(EXPERTS / groups, 2);
        for (int g = 0; g < groups; g++) {
            int better = 0;
            for (int o = 0; o < groups; o++)
                better += key[2 * o] + key[2 * o + 1] > key[2 * g] + key[2 * g + 1];
            shut[2 * g] = shut[2 * g + 1] = better >= open;
        }
    }
    sum = 0;
    for (int64_t k = 0; k < n->c.option[HOP_OPTION_topk]; k++) {
        int best = -1;
        for (int e = 0; e < EXPERTS; e++)
            if (!taken[e] && !shut[e] && (best < 0 || key[e] > key[best])) best = e;
        taken[best] = true, sum += p[best];
    }
    double by = foreign(n, HOP_FOREIGN_router_share) != 0 ? sum + foreign(n, HOP_FOREIGN_router_eps) : 1;
    double scale = foreign(n, HOP_FOREIGN_router_scale) > 0 ? foreign(n, HOP_FOREIGN_router_scale) : 1;
    for (int e = 0; e < EXPERTS; e++) w[e] = taken[e] ? scale * p[e] / by : 0;
}

/* y += by · the MLP of units first .. first + hidden - 1; `row`: numbers of a row of down. */
static void mlp(const net *n, double y[D], const float *x, const char *of, const int64_t first_hidden_row[3],
                double by)
{
    char gate[40], up[40], down[40];
    snprintf(gate, sizeof gate, "%sgate_proj.weight", of), snprintf(up, sizeof up, "%sup_proj.weight", of);
    snprintf(down, sizeof down, "%sdown_proj.weight", of);
    for (int64_t h = first_hidden_row[0]; h < first_hidden_row[0] + first_hidden_row[1]; h++) {
        double u = dot(weight(n, up), h, x);
        u = weight(n, gate) ? act(n, dot(weight(n, gate), h, x)) * u : act(n, u);
        for (int64_t i = 0; i < D; i++) y[i] += by * u * weight(n, down)[i * first_hidden_row[2] + h];
    }
}

static void experts_are_their_equation(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        net n;
        hop_rng rng;
        float x[TOKENS * D], y[TOKENS * D];
        net_new(&n, &CASES[k], 7 + k);
        hop_rng_init(&rng, 3, k);
        for (int i = 0; i < TOKENS * D; i++) x[i] = (float)hop_rng_normal(&rng), y[i] = NAN;
        run(&n, y, x, NULL);
        for (int t = 0; t < TOKENS; t++) {
            double w[EXPERTS], truth[D] = {0};
            route(&n, w, x + t * D);
            for (int64_t e = 0; e < EXPERTS; e++)
                mlp(&n, truth, x + t * D, "", (const int64_t[]){e * INNER, INNER, EXPERTS * INNER}, w[e]);
            const float *s = weight(&n, "shared_gate.weight");
            if (weight(&n, "shared.up_proj.weight"))
                mlp(&n, truth, x + t * D, "shared.", (const int64_t[]){0, SHARED, SHARED},
                    s ? sigmoid(dot(s, 0, x + t * D)) : 1);
            for (int i = 0; i < D; i++) /* some dozens of float32 terms of about 1 */
                if (!(fabs(y[t * D + i] - truth[i]) <= 1e-5))
                    fail_msg("case %zu, token %d: %g, not %g", k, t, y[t * D + i], truth[i]);
        }
        net_free(&n);
    }
}

typedef struct seen {
    const net *n;
    float w[TOKENS * EXPERTS];
} seen;

static void look(void *ctx, int64_t layer, int op, const float *rows, int64_t first, int64_t count)
{
    seen *s = ctx;
    (void)layer, (void)first;
    if (s->n->list.op[op].kind == HOP_OP_ROUTE) memcpy(s->w, rows, sizeof(float) * (size_t)(count * EXPERTS));
}

/* What the prover takes for granted of ROUTE, to the bit; sigmoids of far negative scores may all be 0. */
static void weights_are_parts_of_one(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        net n;
        hop_rng rng;
        float x[TOKENS * D], y[TOKENS * D];
        hop_rng_init(&rng, 5, k);
        net_new(&n, &CASES[k], 70 + k);
        const double scale =
            foreign(&n, HOP_FOREIGN_router_scale) > 0 ? foreign(&n, HOP_FOREIGN_router_scale) : 1;
        for (int times = 0; times < 50; times++) {
            seen s = {.n = &n};
            for (int i = 0; i < TOKENS * D; i++) x[i] = (float)ldexp(hop_rng_normal(&rng), times / 4);
            run(&n, y, x, &(hop_list_watch){look, &s});
            for (int t = 0; t < TOKENS; t++) {
                int64_t positive = 0;
                for (int e = 0; e < EXPERTS; e++) {
                    assert_true(s.w[t * EXPERTS + e] >= 0 && s.w[t * EXPERTS + e] <= (float)scale);
                    positive += s.w[t * EXPERTS + e] > 0;
                }
                assert_true(positive <= n.c.option[HOP_OPTION_topk]);
            }
        }
        net_free(&n);
    }
}

static void of_equal_scores_the_first_counts_and_what_is_no_number_spreads(void **state)
{
    (void)state;
    net n;
    float x[TOKENS * D] = {0}, y[TOKENS * D];
    net_new(&n, &CASES[1], 1);
    seen s = {.n = &n};
    x[3 * D + 2] = NAN; /* the fourth token's */
    run(&n, y, x, &(hop_list_watch){look, &s});
    for (int e = 0; e < EXPERTS; e++) {
        assert_true(s.w[e] == (e < 3 ? 1.0f / 6 / (3 * (1.0f / 6)) : 0.0f));
        assert_true(isnan(s.w[3 * EXPERTS + e]) && isnan(y[3 * D]));
    }
    net_free(&n);
}

static void groups_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const case_ bad[] = {{{"topk", "router_groups"}, {1, 4}}, /* 6 experts in 4 groups */
                                {{"topk", "router_groups", "router_open"}, {1, 2, 3}},
                                {{"topk", "router_groups", "router_open"}, {3, 3, 1}},
                                {{"topk"}, {7}},
                                {{"topk", "mlp_act"}, {1, 99}}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const hop_mixer_ops *ops = hop_mixer_find("moe");
        hop_mixer_config c;
        hop_error err;
        bool known;
        hop_mixer_config_init(&c);
        c.d_model = D, c.heads = c.kv_heads = c.head_dim = 1;
        assert_int_equal(hop_mixer_option_set(&c, ops, "experts", EXPERTS, &err), HOP_OK);
        for (int i = 0; i < 6 && bad[k].option[i]; i++) {
            assert_int_equal(hop_mixer_foreign_set(&c, ops, bad[k].option[i], bad[k].value[i], &known, &err),
                             HOP_OK);
            if (!known)
                assert_int_equal(
                    hop_mixer_option_set(&c, ops, bad[k].option[i], (int64_t)bad[k].value[i], &err), HOP_OK);
        }
        assert_int_equal(hop_mixer_config_ready(&c, ops, &err), HOP_EDOMAIN);
        assert_non_null(strstr(err.text, "moe: "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_are_their_equation),
        cmocka_unit_test(weights_are_parts_of_one),
        cmocka_unit_test(of_equal_scores_the_first_counts_and_what_is_no_number_spreads),
        cmocka_unit_test(groups_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
