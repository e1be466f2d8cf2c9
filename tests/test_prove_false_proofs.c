/* Networks that are right in exact arithmetic and wrong as `run` computes them, or right in one form of a
 * recurrence and wrong in another: what would fool a proof that reasons about the wrong arithmetic. Each is a
 * constructed network with some weights or sizes of its linear layers changed; none of them may be proved,
 * and where an input that errs is at hand, the verdict must be "refuted".
 *
 * That a network really errs depends on the order in which kernels sum, so it is asserted only where no order
 * is right: sums that overflow, or that cancel whatever comes first. */
#include "hybrid_subject.h"

/* One coordinate of the position table is multiplied by 2^30, and divided again wherever it is looked at. */
static void enlarge_coordinate(const hop_model *m, int64_t c)
{
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    for (int64_t p = 0; p < positions->shape[0]; p++) positions->data[p * positions->shape[1] + c] *= 0x1p30f;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        bool reads = strstr(w->name, "q_proj") || strstr(w->name, "k_proj") || strstr(w->name, "v_proj") ||
                     strstr(w->name, "up_proj.weight") || strstr(w->name, "lm_head");
        for (int64_t r = 0; reads && r < w->shape[0]; r++) w->data[r * w->shape[1] + c] *= 0x1p-30f;
    }
}

/* ---- what is asserted --------------------------------------------------------------------------- */

/* Not proved by intervals, by layer 0's fault, and by `auto` only if it is right; frees the network. Returns
 * how many inputs err, as whole sequences and token by token. */
static int64_t assert_not_proved(hop_model *m, const hop_task *t, const char *name)
{
    tally got = answer_all(m, t, true);
    hop_proof p = prove(m, t, HOP_PROVE_INTERVAL);
    if (p.verdict == HOP_PROVED) fail_msg("%s: proved, and %lld inputs err", name, (long long)got.wrong);
    if (p.verdict == HOP_REFUTED) assert_counterexample(m, t, &p);
    if (!strstr(p.why, "layer 0")) fail_msg("%s: %s", name, p.why);
    hop_proof_free(&p);
    p = prove(m, t, HOP_PROVE_AUTO);
    assert_int_equal(p.verdict, got.wrong ? HOP_REFUTED : HOP_PROVED);
    assert_false(p.by_interval);
    hop_proof_free(&p);
    hop_model_free(m);
    return got.wrong + got.step_wrong;
}

/* `wrong` inputs err; ref's sums in double need not. */
static void assert_errs(int64_t wrong)
{
    assert_true(wrong > 0 || !sums_in_float32());
}

/* ---- forms that differ --------------------------------------------------------------------------- */

static void keys_that_cancel_are_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    int64_t wrong = 0;
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++)
        for (int order = 0; order < CANCELLING_ORDERS; order++)
            for (size_t z = 0; z < sizeof all / sizeof *all; z++) {
                hop_task t = task_of(&all[z]);
                wrong += assert_not_proved(cancelling_hybrid(&t, mixers[i], order), &t, mixers[i]);
            }
    assert_errs(wrong);
}

/* The chunked form multiplies q and k first, the step form does not: a scale of 1e20 overflows in one of them
 * only. */
static void a_scale_that_overflows_in_one_form_is_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *good = build("hybrid", mixers[i], &t);
        hop_model *m = with_settings(good, (setting[]){{"scale", 1e20}, {0}});
        scale_weight(m, 0, Q_PROJ, 0, 0, 9e11f);
        scale_weight(m, 0, K_PROJ, 0, 0, 9e11f);
        scale_weight(m, 0, V_PROJ, 0, 0, 1e-30f);
        scale_weight(m, 0, O_PROJ, 0, 0, 1.2e-14f);
        hop_model_free(good);
        assert_errs(assert_not_proved(m, &t, mixers[i]));
    }
}

/* The same without a scale: flags of 2^30 and weights of 2^39 make queries and keys of 2^69, whose product is
 * infinite. */
static void queries_and_keys_that_overflow_in_one_form_are_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *m = build("hybrid", mixers[i], &t);
        enlarge_coordinate(m, flag_of(m, Q_PROJ));
        enlarge_coordinate(m, flag_of(m, K_PROJ));
        scale_weight(m, 0, Q_PROJ, 0, 0, 0x1p69f);
        scale_weight(m, 0, K_PROJ, 0, 0, 0x1p69f);
        scale_weight(m, 0, V_PROJ, 0, 0, 0x1p-69f);
        scale_weight(m, 0, O_PROJ, 0, 0, 0x1p-69f);
        assert_errs(assert_not_proved(m, &t, mixers[i]));
    }
}

/* ---- based ---------------------------------------------------------------------------------------- */

/* The first head finds z_0, and the values are the second's, which looks everywhere alike. */
static void a_second_head_of_based_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "based", &t);
    hop_model *m = with_settings(good, (setting[]){{"heads", 2}, {"kv_heads", 2}, {0}});
    const hop_weight *v = hop_model_layer_weight(good, 0, V_PROJ),
                     *o = hop_model_layer_weight(good, 0, O_PROJ);
    int64_t bits = v->shape[0], d = v->shape[1];
    *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = *cell(good, Q_PROJ, 0, flag_of(good, Q_PROJ));
    *cell(m, K_PROJ, 0, flag_of(good, K_PROJ)) = *cell(good, K_PROJ, 0, flag_of(good, K_PROJ));
    for (int64_t b = 0; b < bits; b++)
        for (int64_t c = 0; c < d; c++) {
            *cell(m, V_PROJ, bits + b, c) = v->data[b * d + c];
            *cell(m, O_PROJ, c, bits + b) = o->data[c * bits + b];
        }
    hop_model_free(good);
    assert_errs(assert_not_proved(m, &t, "two heads"));
}

/* s is what it was, but the squares of a key of 2^65 and more, and of a query of 2^-65, are not numbers of
 * float32. */
static void keys_of_based_that_overflow_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("hybrid", "based", &t);
    enlarge_coordinate(m, flag_of(m, K_PROJ));
    scale_weight(m, 0, K_PROJ, 0, 0, 0x1p65f);
    scale_weight(m, 0, Q_PROJ, 0, 0, 0x1p-65f);
    assert_errs(assert_not_proved(m, &t, "keys that overflow"));
}

/* Nobody asks for the second number of a key; but its square is infinite at the tokens of z_L, and 0 times
 * infinity is no number. */
static void features_of_based_that_overflow_are_not_proved(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 2; hops++) {
        sizes s = {hops, 2, {2}};
        hop_task t = task_of(&s);
        hop_model *good = build("hybrid", "based", &t);
        int64_t z0 = flag_of(good, K_PROJ);
        float root = *cell(good, K_PROJ, 0, z0);
        hop_model *m = hybrid_of(&t, "based", 2, (float[]){root, 0}, (float[]){root, 0});
        enlarge_coordinate(m, z0 + hops);
        *cell(m, K_PROJ, 1, z0 + hops) = 9e11f;
        hop_model_free(good);
        assert_errs(assert_not_proved(m, &t, "features that overflow"));
    }
}

/* Keys at right angles to the query: s = 401·409 - 409·401 = 0 and the weight is 1; but s²/2 is a sum of
 * three features of 10^10, of which float32 drops hundreds. z_0 outweighs all others a hundred times, and yet
 * does not. */
static void features_of_based_that_cancel_are_not_proved(void **state)
{
    (void)state;
    const float pairs[][2] = {{401, 409}, {397, 419}, {331, 499}};
    int64_t wrong = 0;
    for (int i = 0; i < 6; i++) {
        sizes s = {1 + i % 2, 2, {2}};
        hop_task t = task_of(&s);
        hop_model *good = build("hybrid", "based", &t);
        int64_t z0 = flag_of(good, K_PROJ);
        float own = sqrtf(200.0f * (float)t.length), x = pairs[i / 2][0], y = pairs[i / 2][1];
        hop_model *m = hybrid_of(&t, "based", 2, (float[]){x, -y}, (float[]){own / x, 0});
        for (int e = -1; e <= s.hops; e++) { /* every token but z_0's, w's too */
            if (e == 0) continue;
            *cell(m, K_PROJ, 0, z0 + e) = y;
            *cell(m, K_PROJ, 1, z0 + e) = x;
        }
        hop_model_free(good);
        wrong += assert_not_proved(m, &t, "features that cancel");
    }
    assert_errs(wrong);
}

/* s² rounds to 2^-149 and half of it to 0: of z_0's weight, 1 + 100 + 100²/2, nothing is left but the term
 * that takes the 101 away. */
static void features_of_based_that_underflow_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "based", &t);
    const float scale = (float)sqrt(0.8 * 0x1p-149), q = 0x1p40f;
    hop_model *m = with_settings(good, (setting[]){{"head_dim", 2}, {"scale", scale}, {0}});
    *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = *cell(m, Q_PROJ, 1, flag_of(good, Q_PROJ)) = q;
    *cell(m, K_PROJ, 0, flag_of(good, K_PROJ)) = 100.8f / scale / q;
    *cell(m, K_PROJ, 1, flag_of(good, K_PROJ)) = -0.8f / scale / q;
    hop_model_free(good);
    assert_errs(assert_not_proved(m, &t, "features that underflow"));
}

/* ---- numbers that leave the range where nobody looks ------------------------------------------------ */

/* A second head has no values, but scores of 1e50: weights that are no numbers, whatever they weigh. */
static void infinite_scores_of_a_head_without_values_are_not_proved(void **state)
{
    (void)state;
    const char *const inputs[] = {Q_PROJ, K_PROJ, V_PROJ};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("full", NULL, &t);
    hop_model *m = with_settings(good, (setting[]){{"heads", 2}, {"kv_heads", 2}, {0}});
    int64_t dim = hop_model_layer_weight(good, 0, Q_PROJ)->shape[0], d = hop_model_config(good)->d_model;
    for (int i = 0; i < 3; i++)
        memcpy(cell(m, inputs[i], 0, 0), cell(good, inputs[i], 0, 0), sizeof(float) * (size_t)(dim * d));
    for (int64_t r = 0; r < d; r++)
        memcpy(cell(m, O_PROJ, r, 0), cell(good, O_PROJ, r, 0), sizeof(float) * (size_t)dim);
    for (int who = 0; who < s.hops + 2; who++)
        *cell(m, Q_PROJ, dim, who) = *cell(m, K_PROJ, dim, who) = 1e25f;
    hop_model_free(good);
    assert_errs(assert_not_proved(m, &t, "a head without values"));
}

/* SiLU of -1e60 is 0, but of minus infinity it is no number. */
static void a_convolution_that_overflows_is_not_proved(void **state)
{
    (void)state;
    const char *const convolutions[] = {"mixer.q_conv1d.weight", "mixer.k_conv1d.weight",
                                        "mixer.v_conv1d.weight"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "deltanet", &t);
    hop_model *m = with_settings(good, (setting[]){{"conv", 1}, {"head_dim", 2}, {0}});
    for (int i = 0; i < 3; i++) {
        const hop_weight *w = hop_model_layer_weight(m, 0, convolutions[i]);
        for (int64_t k = 0; k < weight_elements(w); k++) w->data[k] = 1;
    }
    *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = *cell(m, K_PROJ, 0, flag_of(good, K_PROJ)) = 1;
    *cell(m, Q_PROJ, 1, flag_of(good, Q_PROJ)) = 1e30f;
    *cell(m, convolutions[0], 1, 0) = -1e30f;
    hop_model_free(good);
    assert_errs(assert_not_proved(m, &t, "a convolution"));
}

/* A coordinate that is 0 at every token is mixed with the one before it by 9e36 + 3.4e38. */
static void an_infinite_mixing_of_zeros_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("hybrid", "rwkv6", &t);
    int64_t last = hop_model_config(m)->d_model - 1;
    *cell(m, "mixer.x_proj.0.linear.weight", 0, flag_of(m, "mixer.r_proj.linear.weight")) = 200;
    *cell(m, "mixer.x_proj.2.weight", last, 0) = 9e36f;
    *cell(m, "mixer.x_bias", 0, last) = 3.4e38f;
    assert_errs(assert_not_proved(m, &t, "zeros mixed"));
}

/* The rotation's angles are infinite; all that is rotated is 0. */
static void an_infinite_angle_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "retnet", &t);
    hop_model *m =
        with_settings(good, (setting[]){{"head_dim", 101}, {"scale", 1}, {"rope_theta", 5e-324}, {0}});
    *cell(m, Q_PROJ, 100, flag_of(good, Q_PROJ)) = *cell(m, K_PROJ, 100, flag_of(good, K_PROJ)) = 1;
    hop_model_free(good);
    assert_errs(assert_not_proved(m, &t, "an angle"));
}

/* ---- norms ------------------------------------------------------------------------------------------ */

/* What is divided by its own size does not depend on it; but the squares of 1e22 are infinite. */
static void norms_whose_squares_overflow_are_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"retnet", "gla", "gdn"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *good = build("hybrid", mixers[i], &t);
        hop_model *m = with_settings(good, (setting[]){{"norm", 1}, {0}});
        for (int64_t k = 0; k < hop_model_weight_count(m); k++) {
            const hop_weight *w = hop_model_weight_at(m, k);
            for (int64_t e = 0; strstr(w->name, "norm.weight") && e < weight_elements(w); e++) w->data[e] = 1;
        }
        scale_weight(m, 0, V_PROJ, 0, 0, 1e22f);
        hop_model_free(good);
        assert_errs(assert_not_proved(m, &t, mixers[i]));
    }
}

/* And those of 2^-80 are 0. The network is `full` with norms and without clips: what layer 0 writes is small
 * beside the rest, so that the norms hardly see it. */
static void norms_whose_squares_underflow_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("full", NULL, &t), *m = NULL;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    c.norm = HOP_NORM_RMS, c.norm_eps = 0;
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i), *from = hop_model_weight(good, w->name);
        bool clip = strstr(w->name, "down_proj"), writes = strstr(w->name, "o_proj");
        float by = clip ? 0 : writes || strstr(w->name, "embed") ? 0x1p-80f : 1;
        if (strstr(w->name, "layers.0.mixer.o_proj")) by *= 0x1p-10f;
        for (int64_t e = 0; e < weight_elements(w); e++) {
            bool reads = strstr(w->name, "layers.1.mixer.q_proj") && e % c.d_model >= c.d_model - 2;
            w->data[e] = !from ? 1 : from->data[e] * by * (reads ? 0x1p8f : 1);
        }
        if (strstr(w->name, "q_proj"))
            for (int64_t e = 0; e < weight_elements(w); e++) w->data[e] *= 4;
    }
    hop_config_free(&c);
    hop_model_free(good);
    assert_errs(assert_not_proved(m, &t, "squares that underflow"));
}

/* ---- linear stacks --------------------------------------------------------------------------------- */

/* z_0's feature is 2^30 + 1 - 2^30 of a key (1, 1, 1): 1, but for float32 0. */
static void features_of_a_linear_stack_that_cancel_are_not_proved(void **state)
{
    (void)state;
    const float orders[][3] = {{0x1p30f, 1, -0x1p30f}, {1, 0x1p30f, -0x1p30f}, {0x1p30f, -0x1p30f, 1}};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    int64_t wrong = 0;
    for (int i = 0; i < 3; i++) {
        hop_model *good = build("linear", NULL, &t);
        hop_model *m = with_settings(good, (setting[]){{"head_dim", 3}, {0}});
        int64_t z0 = flag_of(good, K_PROJ);
        *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = 1;
        *cell(m, "mixer.feature_map_q.layer1.weight", 0, 0) = 1;
        hop_model_layer_weight(m, 0, "mixer.feature_map_q.layer2.bias")->data[0] = 1;
        hop_model_layer_weight(m, 0, "mixer.feature_map_k.layer2.bias")->data[0] = 1;
        for (int r = 0; r < 3; r++) {
            *cell(m, K_PROJ, r, z0) = 1;
            *cell(m, "mixer.feature_map_k.layer1.weight", 0, r) = orders[i][r];
        }
        hop_model_free(good);
        wrong += assert_not_proved(m, &t, "features of a stack");
    }
    assert_errs(wrong);
}

/* ---- recurrences that carry more than the weights of their tokens say --------------------------------- */

/* z_0's token has the coordinate `flag`, an entry of z_1's the next one. */
static int64_t entry_flag(const hop_model *good, const char *key)
{
    return flag_of(good, key) + 1;
}

/* The query is (1, 0) and the entries' key (0, 1), so that they weigh nothing; but z_0's key is (1, 1), and
 * its correction moves what they wrote to where the query looks. */
static void corrections_that_turn_a_state_are_not_proved(void **state)
{
    (void)state;
    const struct {
        const char *mixer, *query, *turn;
        float length; /* of z_0's key before it is normalised; rwkv7 turns by k_k k */
    } all[] = {{"deltanet", Q_PROJ, NULL, 1},
               {"gdn", Q_PROJ, NULL, 1},
               {"kda", Q_PROJ, NULL, 1},
               {"rwkv7", "mixer.r_proj.weight", "mixer.k_k", 1}};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *good = build("hybrid", all[i].mixer, &t);
        hop_model *m = with_settings(good, (setting[]){{"head_dim", 2}, {"scale", 1}, {0}});
        int64_t z0 = flag_of(good, K_PROJ), z1 = entry_flag(good, K_PROJ);
        const hop_weight *v = hop_model_layer_weight(m, 0, V_PROJ);
        const hop_weight *hold = hop_model_layer_weight(m, 0, "mixer.w_lora.lora.2.bias"),
                         *turn = all[i].turn ? hop_model_layer_weight(m, 0, all[i].turn) : NULL,
                         *eta = hop_model_layer_weight(m, 0, "mixer.a_lora.lora.2.bias"),
                         *rate = hop_model_layer_weight(m, 0, "mixer.A_log");
        *cell(m, all[i].query, 0, flag_of(good, all[i].query)) = 1;
        *cell(m, K_PROJ, 0, z0) = *cell(m, K_PROJ, 1, z0) = *cell(m, K_PROJ, 1, z1) = all[i].length;
        for (int64_t r = 0; r < v->shape[0]; r++) *cell(m, V_PROJ, r, z1) = 100;
        for (int64_t e = 0; hold && e < 2; e++) hold->data[e] = -200, turn->data[e] = 1, eta->data[e] = 200;
        for (int64_t e = 0; rate && e < weight_elements(rate); e++) rate->data[e] = -200;
        hop_model_free(good);
        assert_true(assert_not_proved(m, &t, all[i].mixer) > 0);
    }
}

/* Nobody asks for the second number of a key. In a chunk it is divided by its decay since the start, 2^-19 at
 * the last entry, and is infinite there. */
static void keys_that_overflow_where_decays_are_divided_by_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "gla", &t);
    hop_model *m = hybrid_of(&t, "gla", 2, (float[]){1, 0}, (float[]){1, 0});
    const hop_weight *gate = hop_model_layer_weight(m, 0, "mixer.gk_proj.1.bias");
    *cell(m, K_PROJ, 1, entry_flag(good, K_PROJ)) = 1e35f;
    gate->data[0] = 200, gate->data[1] = -69;
    hop_model_free(good);
    int64_t wrong = assert_not_proved(m, &t, "divided keys");
    assert_true(wrong > 0 || !sums_in_float32());
}

/* A second head asks for nothing, and nothing is made of what it says. But its state is infinite, and 0 times
 * infinity is no number. */
static void a_state_that_overflows_unread_is_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "gla"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    for (int i = 0; i < 2; i++) {
        hop_model *good = build("hybrid", mixers[i], &t);
        hop_model *m = with_settings(good, (setting[]){{"heads", 2}, {"kv_heads", 2}, {"scale", 1}, {0}});
        const hop_weight *v = hop_model_layer_weight(good, 0, V_PROJ),
                         *o = hop_model_layer_weight(good, 0, O_PROJ),
                         *gate = hop_model_layer_weight(m, 0, "mixer.gk_proj.1.bias");
        int64_t bits = v->shape[0], d = v->shape[1];
        *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = 1;
        *cell(m, K_PROJ, 0, flag_of(good, K_PROJ)) = 1;
        *cell(m, K_PROJ, 1, entry_flag(good, K_PROJ)) = 1e30f;
        for (int64_t e = 0; gate && e < 2; e++) gate->data[e] = 200;
        for (int64_t b = 0; b < bits; b++)
            for (int64_t c = 0; c < d; c++) {
                *cell(m, V_PROJ, b, c) = v->data[b * d + c];
                *cell(m, V_PROJ, bits + b, c) = 1e30f * v->data[b * d + c];
                *cell(m, O_PROJ, c, b) = o->data[c * bits + b];
            }
        hop_model_free(good);
        int64_t wrong = assert_not_proved(m, &t, mixers[i]);
        assert_true(wrong > 0 || !sums_in_float32());
    }
}

/* The stabiliser of mlstm follows the entries down to e^-88, so that their keys, 10^35, are not multiplied by
 * their input gate e^-88. */
static void keys_of_mlstm_that_overflow_without_their_gate_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "mlstm", &t);
    hop_model *m = with_settings(good, (setting[]){{"head_dim", 2}, {"scale", 1}, {0}});
    int64_t z0 = flag_of(good, K_PROJ), z1 = z0 + 1;
    *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = 1;
    *cell(m, K_PROJ, 0, z0) = 1;
    *cell(m, K_PROJ, 1, z1) = 1e35f;
    *cell(m, "mixer.igate_preact.weight", 0, z1) = -88;
    *cell(m, "mixer.fgate_preact.weight", 0, z1) = -400;
    scale_weight(m, 0, V_PROJ, 0, 0, 1e4f);
    scale_weight(m, 0, "mixer.out_proj.weight", 0, 0, 1e-4f);
    hop_model_free(good);
    int64_t wrong = assert_not_proved(m, &t, "mlstm's keys");
    assert_true(wrong > 0 || !sums_in_float32());
}

/* A step of 10^25 times a channel of 10^20, times B of 10^-25: infinite where the first two come first. */
static void steps_of_mamba_that_overflow_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("hybrid", "mamba", &t);
    const hop_weight *in = hop_model_layer_weight(m, 0, "mixer.in_proj.weight"),
                     *step = hop_model_layer_weight(m, 0, "mixer.dt_proj.bias");
    int64_t bits = in->shape[0] - 2;
    for (int64_t i = 0; i < weight_elements(step); i++) step->data[i] = 1e25f;
    scale_weight(m, 0, "mixer.in_proj.weight", bits, 0, 1e20f);
    for (int64_t c = 0; c < bits + 2; c++) *cell(m, "mixer.x_proj.weight", 1, c) *= 2e-25f;
    scale_weight(m, 0, "mixer.out_proj.weight", 0, 0, 1e-20f);
    int64_t wrong = assert_not_proved(m, &t, "mamba's steps");
    assert_true(wrong > 0 || !sums_in_float32());
}

/* The square of 2^70 is infinite: a norm makes 0 of it. */
static void a_norm_that_overflows_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "gla", &t);
    hop_model *m = with_settings(good, (setting[]){{"norm", 1}, {0}});
    const hop_weight *norm = hop_model_layer_weight(m, 0, "mixer.g_norm.weight");
    for (int64_t i = 0; i < weight_elements(norm); i++) norm->data[i] = 1;
    scale_weight(m, 0, V_PROJ, 0, 0, 0x1p70f);
    hop_model_free(good);
    int64_t wrong = assert_not_proved(m, &t, "a norm");
    assert_true(wrong > 0 || !sums_in_float32());
}

/* ---- what crosses between players -------------------------------------------------------------------- */

/* Not proved with what crosses rounded to 16 bits, and wrong then; frees the network. A number of 16 bits is
 * a multiple of 2^-133. */
static void assert_not_proved_at_16_bits(hop_model *m, const hop_task *t, const char *name)
{
    hop_proof p;
    for (int method = 0; method < 2; method++) {
        const hop_prove_options o = {.method = method ? HOP_PROVE_ENUMERATE : HOP_PROVE_INTERVAL,
                                     .message_bits = 16};
        assert_int_equal(hop_prove(&p, m, t, &o, NULL), HOP_OK);
        if (p.verdict == HOP_PROVED) fail_msg("%s: proved by %s", name, method ? "enumeration" : "intervals");
        hop_proof_free(&p);
    }
    hop_model_free(m);
}

/* A convolution's past of 1.5 units crosses as 2. */
static void a_past_below_the_normal_numbers_is_not_proved(void **state)
{
    (void)state;
    const char *const convolutions[] = {"mixer.q_conv1d.weight", "mixer.k_conv1d.weight",
                                        "mixer.v_conv1d.weight"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "deltanet", &t);
    hop_model *m = with_settings(good, (setting[]){{"conv", 2}, {0}});
    for (int i = 0; i < 3; i++) {
        const hop_weight *w = hop_model_layer_weight(m, 0, convolutions[i]);
        for (int64_t k = 0; k < weight_elements(w); k++) w->data[k] = i == 0 ? 3.4e38f : (float)(k % 2);
    }
    *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = 1.75f * 0x1p-133f;
    *cell(m, Q_PROJ, 0, flag_of(good, K_PROJ)) = -1.5f * 0x1p-133f;
    hop_model_free(good);
    assert_not_proved_at_16_bits(m, &t, "a past");
}

/* A state of half a unit crosses as 0. */
static void a_state_below_the_normal_numbers_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("hybrid", "linear", &t);
    scale_weight(m, 0, V_PROJ, 0, 0, 0x1p-134f);
    scale_weight(m, 0, Q_PROJ, 0, 0, 0x1p100f);
    scale_weight(m, 0, O_PROJ, 0, 0, 0x1p34f);
    assert_not_proved_at_16_bits(m, &t, "a state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_cancel_are_not_proved),
        cmocka_unit_test(a_scale_that_overflows_in_one_form_is_not_proved),
        cmocka_unit_test(queries_and_keys_that_overflow_in_one_form_are_not_proved),
        cmocka_unit_test(a_second_head_of_based_is_not_proved),
        cmocka_unit_test(keys_of_based_that_overflow_are_not_proved),
        cmocka_unit_test(features_of_based_that_overflow_are_not_proved),
        cmocka_unit_test(features_of_based_that_cancel_are_not_proved),
        cmocka_unit_test(features_of_based_that_underflow_are_not_proved),
        cmocka_unit_test(infinite_scores_of_a_head_without_values_are_not_proved),
        cmocka_unit_test(a_convolution_that_overflows_is_not_proved),
        cmocka_unit_test(an_infinite_mixing_of_zeros_is_not_proved),
        cmocka_unit_test(an_infinite_angle_is_not_proved),
        cmocka_unit_test(norms_whose_squares_overflow_are_not_proved),
        cmocka_unit_test(norms_whose_squares_underflow_are_not_proved),
        cmocka_unit_test(features_of_a_linear_stack_that_cancel_are_not_proved),
        cmocka_unit_test(corrections_that_turn_a_state_are_not_proved),
        cmocka_unit_test(keys_that_overflow_where_decays_are_divided_by_are_not_proved),
        cmocka_unit_test(a_state_that_overflows_unread_is_not_proved),
        cmocka_unit_test(keys_of_mlstm_that_overflow_without_their_gate_are_not_proved),
        cmocka_unit_test(steps_of_mamba_that_overflow_are_not_proved),
        cmocka_unit_test(a_norm_that_overflows_is_not_proved),
        cmocka_unit_test(a_past_below_the_normal_numbers_is_not_proved),
        cmocka_unit_test(a_state_below_the_normal_numbers_is_not_proved),
    };
    return cmocka_run_group_tests_name("prove_false_proofs", tests, NULL, NULL);
}
