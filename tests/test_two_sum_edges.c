/* Networks for 2-Sum that are changed little by little until they err: in one way each, so that each part of what the prover
 * takes off a lead is what decides somewhere. None that errs is proved, on all inputs; some of each kind are, and some err. */
#include "two_sum_subject.h"

#include <hopbound/kernels.h>

#include <math.h>

enum { STEPS = 36 };

/* Coordinates of the stream, as src/construct/two_sum.c has them, and one that nothing reads, where positions may stand. */
typedef struct places {
    int64_t bits, val, neg, one, reg, dist, spare;
} places;

static places places_of(const sizes *s)
{
    places p = {.bits = 1};
    while (((int64_t)1 << p.bits) < s->mod) p.bits++;
    p.neg = p.bits, p.one = 2 * p.bits, p.reg = p.one + 1;
    p.dist = p.reg + (s->block ? s->block : 1) * p.bits;
    p.spare = p.dist + (s->block ? s->block + 1 : 1);
    return p;
}

static float *cell(const hop_model *m, const char *name, int64_t row, int64_t column)
{
    const hop_weight *w = strncmp(name, "mixer", 5) == 0 || strncmp(name, "mlp", 3) == 0
                              ? hop_model_layer_weight(m, 0, name)
                              : hop_model_weight(m, name);
    return &w->data[w->rank == 2 ? row * w->shape[1] + column : row];
}

/* The network for `s` with a position table of zeros, and one coordinate more. */
static hop_model *roomy(const sizes *s)
{
    hop_model *from = network(s), *m;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(from), NULL), HOP_OK);
    assert_int_equal(c.d_model, places_of(s).spare);
    c.d_model++, c.position_table = true, c.max_positions = s->n;
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    for (int64_t k = 0; k < hop_model_weight_count(m); k++) {
        const hop_weight *to = hop_model_weight_at(m, k), *old = NULL;
        for (int64_t i = 0; i < hop_model_weight_count(from); i++)
            if (strcmp(hop_model_weight_at(from, i)->name, to->name) == 0) old = hop_model_weight_at(from, i);
        const int64_t width = to->rank == 2 ? to->shape[1] : 1,
                      had = old && old->rank == 2 ? old->shape[1] : 1;
        for (int64_t i = 0; i < to->shape[0]; i++)
            for (int64_t j = 0; j < width; j++)
                to->data[i * width + j] = old && i < old->shape[0] && j < had ? old->data[i * had + j] : 0;
    }
    hop_config_free(&c);
    hop_model_free(from);
    return m;
}

static void stand(const hop_model *m, const sizes *s, float by)
{
    for (int64_t p = 0; p < s->n; p++)
        *cell(m, "model.embed_positions.weight", p, places_of(s).spare) = p % 2 ? by : -by;
}

/* ---- changes --------------------------------------------------------------------------------------------- */

typedef void change_fn(const hop_model *m, const sizes *s, float by);

/* All keys have a large number in common: it is the same in all scores, which are rounded beside it. */
static void keys_beside_much(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    for (int64_t i = 0; i < p.bits; i++) *cell(m, "mixer.k_proj.weight", i, p.one) = floorf(by);
}

static void keys_that_know_their_place(const hop_model *m, const sizes *s, float by)
{
    stand(m, s, by);
    *cell(m, "mixer.k_proj.weight", 0, places_of(s).spare) = 1;
}

static void queries_that_know_their_place(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    stand(m, s, by);
    for (int64_t h = 0; h < (s->block ? s->block : 1); h++)
        *cell(m, "mixer.q_proj.weight", h * p.bits, p.spare) = *cell(m, "mixer.q_proj.weight", 0, p.neg);
}

static void values_that_know_their_place(const hop_model *m, const sizes *s, float by)
{
    stand(m, s, by);
    *cell(m, "mixer.v_proj.weight", 0, places_of(s).spare) = 1;
}

static void logits_that_know_their_place(const hop_model *m, const sizes *s, float by)
{
    stand(m, s, by);
    *cell(m, "lm_head.weight", 1, places_of(s).spare) = 1;
}

/* Of two logits a common number is in both, and both are rounded beside it. */
static void logits_beside_much(const hop_model *m, const sizes *s, float by)
{
    for (int64_t v = 0; v < s->mod; v++) *cell(m, "lm_head.weight", v, places_of(s).one) += by;
}

/* Values have a large number in common, which is taken off again behind the mean. */
static void values_beside_much(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    for (int64_t i = 0; i < p.bits; i++) {
        *cell(m, "mixer.v_proj.weight", i, p.one) = by;
        for (int64_t h = 0; h < (s->block ? s->block : 1); h++)
            for (int side = 0; side < 2; side++)
                *cell(m, "mlp.up_proj.weight", 2 * (h * p.bits + i) + side, p.one) = side ? -by : by;
    }
}

/* Leads become smaller, and what others weigh larger. */
static void leads_that_fade(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    for (int64_t h = 0; h < (s->block ? s->block : 1); h++)
        for (int64_t i = 0; i < p.bits; i++) *cell(m, "mixer.q_proj.weight", h * p.bits + i, p.neg + i) /= by;
}

/* The same, where logits are rounded by more than what fading leads leave of their difference. */
static void close_logits_beside_much(const hop_model *m, const sizes *s, float by)
{
    logits_beside_much(m, s, 0x1p23f);
    leads_that_fade(m, s, by);
}

/* Products of logits that are finite, whose sum is not, though what they come to is. */
static void logits_of_infinite_parts(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    for (int64_t i = 0; i < s->n; i++) *cell(m, "model.embed_positions.weight", i, p.spare) = 1;
    *cell(m, "lm_head.weight", 1, p.one) = *cell(m, "lm_head.weight", 1, p.spare) = by;
    *cell(m, "lm_head.weight", 1, p.dist) = -1.1f * by;
}

/* Scores of blocks, which are not scaled: their products are infinite. Queries and keys alone grow, and scores shrink back. */
static void blocks_of_infinite_scores(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    for (int64_t i = 0; i < p.bits; i++) {
        *cell(m, "mixer.k_proj.weight", i, p.val + i) *= by;
        for (int64_t h = 0; h < s->block; h++)
            *cell(m, "mixer.q_proj.weight", h * p.bits + i, p.neg + i) *= by;
    }
}

/* A number of every token that logits are large in, and that is the same in all of them. */
static void numbers_beside_much(const hop_model *m, const sizes *s, float by)
{
    const places p = places_of(s);
    for (int64_t v = 0; v < s->mod; v++) {
        *cell(m, "model.embed_tokens.weight", v, p.dist) = by;
        *cell(m, "lm_head.weight", v, p.one) += v == 1 ? by : 0;
    }
}

static const struct {
    const char *name;
    change_fn *change;
    double first, step; /* amounts: first step^k */
    bool never;         /* what prover and kernels can do is so far apart that none is proved */
} kinds[] = {
    {"keys beside much", keys_beside_much, 0x1p15, 1.2, false},
    {"keys that know their place", keys_that_know_their_place, 0x1p-8, 1.4, false},
    {"queries that know their place", queries_that_know_their_place, 0x1p-8, 1.4, false},
    {"values that know their place", values_that_know_their_place, 0x1p-8, 1.3, false},
    {"logits that know their place", logits_that_know_their_place, 0x1p-6, 1.2, false},
    {"logits beside much", logits_beside_much, 1, 2, false},
    {"values beside much", values_beside_much, 1, 2, false},
    {"leads that fade", leads_that_fade, 1, 1.15, false},
    {"numbers beside much", numbers_beside_much, 1, 2, false},
    {"close logits beside much", close_logits_beside_much, 1, 1.05, true},
    {"logits of infinite parts", logits_of_infinite_parts, 0x1p100, 2, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_proved(const hop_model *m, const sizes *s)
{
    hop_proof p;
    hop_error err = {0};
    hop_task t = task_of(s->n, s->mod);
    if (hop_prove(&p, m, &t, &(hop_prove_options){.method = HOP_PROVE_INTERVAL}, &err) != HOP_OK)
        fail_msg("%s", err.text);
    const bool proved = p.verdict == HOP_PROVED;
    hop_proof_free(&p);
    return proved;
}

static void networks_on_the_edge_are_not_proved_if_they_err(void **state)
{
    static const sizes all[] = {{4, 3, 0, 0}, {5, 4, 0, 0}, {6, 2, 0, 0}, {4, 5, 0, 0}, {4, 3, 2, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const sizes *s = &all[i];
            int proved = 0, wrong = 0;
            if (s->block && kinds[kind].first >= 0x1p99) continue; /* layer 1 reads the distance, as .. */
            if (s->block && kinds[kind].change == numbers_beside_much) continue; /* .. here */
            for (int k = 0; k < STEPS && wrong < 6; k++) {
                const float by = (float)(kinds[kind].first * pow(kinds[kind].step, k));
                hop_model *m = roomy(s);
                kinds[kind].change(m, s, by);
                const bool errs = wrong_inputs(m, s) > 0, is = is_proved(m, s);
                if (is && errs) fail_msg("%s by %g, case %d: proved, and errs", kinds[kind].name, by, (int)i);
                proved += is, wrong += errs;
                hop_model_free(m);
            }
            if ((proved == 0 && !kinds[kind].never) || !wrong)
                fail_msg("%s, case %d: %d proved, %d err", kinds[kind].name, (int)i, proved, wrong);
        }
}

/* The network for `s` whose scores are scaled by so much less. */
static hop_model *scaled_less(const sizes *s, double by)
{
    hop_model *from = roomy(s), *m;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(from), NULL), HOP_OK);
    c.attention_scale = 1 / sqrt((double)c.head_dim) * by;
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    for (int64_t k = 0; k < hop_model_weight_count(m); k++) {
        const hop_weight *to = hop_model_weight_at(m, k);
        memcpy(to->data, hop_model_weight_at(from, k)->data,
               sizeof(float) * (size_t)(to->shape[0] * (to->rank == 2 ? to->shape[1] : 1)));
    }
    hop_config_free(&c);
    hop_model_free(from);
    return m;
}

static void blocks_whose_scores_overflow_are_not_proved(void **state)
{
    const sizes s = {8, 3, 2, 1};
    (void)state;
    for (int k = 0; k < 2; k++) {
        const int e = k ? 63 : 50;
        hop_model *m = scaled_less(&s, ldexp(1, -2 * e));
        blocks_of_infinite_scores(m, &s, ldexpf(1, e));
        assert_int_equal(is_proved(m, &s), k == 0);
        if (hop_kernels_selected() != HOP_ISA_REF) assert_int_equal(wrong_inputs(m, &s) > 0, k);
        hop_model_free(m);
    }
}

/* Layer 1's values are 0, and what its queries and keys read is 1: but their products are infinite, and 0 times what weights
 * these make is no number. */
static void a_later_layer_with_large_weights_is_not_silent(void **state)
{
    const sizes s = {5, 4, 2, 1};
    const places p = places_of(&s);
    (void)state;
    for (int k = 0; k < 2; k++) {
        const float large = k ? 1e20f : 0;
        hop_model *m = network(&s);
        hop_model_layer_weight(m, 1, "mixer.q_proj.weight")->data[p.one] = large;
        hop_model_layer_weight(m, 1, "mixer.k_proj.weight")->data[p.one] = large;
        assert_int_equal(is_proved(m, &s), k == 0);
        if (hop_kernels_selected() != HOP_ISA_REF) assert_int_equal(wrong_inputs(m, &s) > 0, k);
        hop_model_free(m);
    }
}

static bool is_one_of(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, parts[i])) return true;
    return false;
}

/* The network for `s` under norms that are no more than factors, as its stream is so small beside their eps. */
static hop_model *under_norms(const sizes *s, hop_norms where)
{
    static const char *const writers[] = {"embed_tokens", "o_proj", "down_proj"};
    static const char *const readers[] = {"q_proj", "k_proj", "v_proj", "up_proj.weight"};
    const float small = 0x1p-20f;
    hop_model *from = network(s), *m;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(from), NULL), HOP_OK);
    c.norm = HOP_NORM_RMS, c.norm_eps = 1;
    assert_int_equal(hop_config_set(&c, 0, "", "norms", where, NULL), HOP_OK);
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    hop_config_free(&c);
    for (int64_t k = 0; k < hop_model_weight_count(m); k++) {
        const hop_weight *to = hop_model_weight_at(m, k), *old = hop_model_weight(from, to->name);
        const bool last = strcmp(to->name, "model.norm.weight") == 0;
        float by = is_one_of(to->name, writers, 3) ? small : 1;
        if (where != HOP_NORMS_BEFORE && is_one_of(to->name, readers, 4)) by /= small;
        if (!old && (last || where == HOP_NORMS_BEFORE)) by /= small;
        for (int64_t i = 0; i < to->shape[0] * (to->rank == 2 ? to->shape[1] : 1); i++)
            to->data[i] = by * (old ? old->data[i] : 1);
    }
    hop_model_free(from);
    return m;
}

/* A norm's weight that turns a sign. Where nothing but what attends reads it, that does no harm; where the stream goes on from
 * it, or what heads return goes through it, all answers are wrong. (Modulo 2 each number is its own match.) */
static void norms_elsewhere_are_not_followed(void **state)
{
    const sizes s = {6, 2, 0, 0};
    const places p = places_of(&s);
    (void)state;
    for (int where = HOP_NORMS_BEFORE; where <= HOP_NORMS_KEPT; where++) {
        hop_model *m = under_norms(&s, (hop_norms)where);
        float *norm = &hop_model_layer_weight(m, 0, "input_layernorm.weight")
                           ->data[where == HOP_NORMS_BEHIND ? p.reg : p.one];
        *norm = -*norm;
        assert_int_equal(is_proved(m, &s), where == HOP_NORMS_BEFORE);
        assert_int_equal(wrong_inputs(m, &s), where == HOP_NORMS_BEFORE ? 0 : 64);
        hop_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_on_the_edge_are_not_proved_if_they_err),
        cmocka_unit_test(blocks_whose_scores_overflow_are_not_proved),
        cmocka_unit_test(a_later_layer_with_large_weights_is_not_silent),
        cmocka_unit_test(norms_elsewhere_are_not_followed),
    };
    return cmocka_run_group_tests_name("two_sum_edges", tests, NULL, NULL);
}
