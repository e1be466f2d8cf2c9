/* Networks that nobody builds: a linear layer elsewhere, layers that do nothing in between, more heads than
 * are used. The prover knows no kinds, so it must follow these as it follows the built ones. */
#include "funccomp_subject.h"

#include "fields.h"

static hop_model *network(hop_config *c)
{
    hop_model *m = NULL;
    hop_error err = {0};
    if (hop_model_new(&m, c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_config_free(c);
    return m;
}

static void copy_part(const hop_weight *to, const hop_weight *from)
{
    assert_true(to && from && weight_elements(to) == weight_elements(from));
    memcpy(to->data, from->data, sizeof(float) * (size_t)weight_elements(to));
}

static void copy_tables(const hop_model *to, const hop_model *from)
{
    const char *const names[] = {"model.embed_tokens.weight", "model.embed_positions.weight",
                                 "lm_head.weight"};
    for (size_t i = 0; i < 3; i++)
        copy_part(hop_model_weight(to, names[i]), hop_model_weight(from, names[i]));
}

/* Every tensor of a layer that both have. */
static void copy_layer(const hop_model *to, int64_t layer, const hop_model *from, int64_t source)
{
    char prefix[48], name[160];
    snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)source);
    for (int64_t i = 0; i < hop_model_weight_count(from); i++) {
        const hop_weight *w = hop_model_weight_at(from, i);
        if (strncmp(w->name, prefix, strlen(prefix)) != 0) continue;
        snprintf(name, sizeof name, "model.layers.%lld.%s", (long long)layer, w->name + strlen(prefix));
        copy_part(hop_model_weight(to, name), w);
    }
}

/* A pattern where layer i of `good` is layer at[i] and all others are zero. */
static hop_model *spread(const hop_model *good, const char *pattern, const int64_t *at)
{
    const hop_config *old = hop_model_config(good);
    hop_config c;
    hop_error err = {0};
    assert_int_equal(hop_config_copy(&c, old, NULL), HOP_OK);
    hop_pattern_free(&c.pattern);
    if (hop_pattern_parse(&c.pattern, pattern, "deltanet", &err) != HOP_OK) fail_msg("%s", err.text);
    for (int64_t i = 0; i < c.setting_count; i++)
        if (c.settings[i].layer >= 0) c.settings[i].layer = at[c.settings[i].layer];
    hop_model *m = network(&c);
    copy_tables(m, good);
    for (int64_t i = 0; i < old->pattern.layers; i++) copy_layer(m, at[i], good, i);
    return m;
}

static void assert_proved(hop_model *m, const hop_task *t, const char *name)
{
    hop_proof p = prove(m, t, HOP_PROVE_INTERVAL);
    if (p.verdict != HOP_PROVED) fail_msg("%s: %s: %s", name, hop_verdict_name(p.verdict), p.why);
    assert_true(p.by_interval && p.covers && p.rests_on);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* ---- layers that do nothing ----------------------------------------------------------------------- */

static void layers_that_do_nothing_change_no_proof(void **state)
{
    (void)state;
    const sizes s = {2, 3, {4}};
    hop_task t = task_of(&s);
    hop_model *full = build("full", NULL, &t), *hybrid = build("hybrid", "gdn", &t);
    assert_proved(spread(full, "full^5", (int64_t[]){0, 2, 4}), &t, "full, with full layers between");
    assert_proved(spread(full, "gdn full mamba2 full^2 rwkv6 window", (int64_t[]){1, 3, 4}), &t,
                  "full, with others");
    assert_proved(spread(hybrid, "full^2 gdn deltanet full mlstm full", (int64_t[]){2, 4, 6}), &t, "hybrid");
    hop_model_free(full);
    hop_model_free(hybrid);
}

/* ---- F L F^(L-1) ---------------------------------------------------------------------------------- */

/* z_0's token looks up z_1 itself, and the linear layer carries i_1 to the last one. */
static hop_model *late_carrier(const hop_task *task)
{
    const hop_funccomp *t = &task->funccomp;
    hop_model *full = build("full", NULL, task), *hybrid = build("hybrid", "deltanet", task);
    char pattern[64];
    snprintf(pattern, sizeof pattern, t->hops > 1 ? "full deltanet full^%d" : "full deltanet", t->hops - 1);
    hop_config c;
    hop_error err = {0};
    assert_int_equal(hop_config_copy(&c, hop_model_config(hybrid), NULL), HOP_OK);
    hop_pattern_free(&c.pattern);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "deltanet", &err), HOP_OK);
    for (int64_t i = 0; i < c.setting_count; i++)
        if (c.settings[i].layer == 0) c.settings[i].layer = 1;
    hop_model *m = network(&c);
    copy_tables(m, full);
    for (int64_t e = 2; e <= t->hops; e++) copy_layer(m, e, full, e);
    copy_layer(m, 0, full, 1);
    copy_layer(m, 1, hybrid, 0);
    hop__fields f;
    hop__fields_init(&f, t);
    const hop_weight *q = hop_model_layer_weight(m, 0, "mixer.q_proj.weight");
    const hop_weight *v = hop_model_layer_weight(m, 1, "mixer.v_proj.weight");
    float beta = *hop__cell(q, f.hops + 2, f.reg);
    *hop__cell(q, 2, hop__fields_who(&f, -1)) = 0;
    *hop__cell(q, 2, hop__fields_who(&f, 0)) = 2 * beta; /* z_0's token asks .. */
    for (int i = 0; i < f.code.width[0]; i++) {
        *hop__cell(q, f.hops + 2 + i, f.reg + i) = 0;
        *hop__cell(q, f.hops + 2 + i, f.val + i) = beta; /* .. for the entry that its own value names */
    }
    for (int i = 0; i < f.bits; i++) {
        *hop__cell(v, i, f.val + i) = 0;
        *hop__cell(v, i, f.reg + i) = 1; /* what it found is what the state carries */
    }
    hop_model_free(full);
    hop_model_free(hybrid);
    return m;
}

static void a_linear_layer_after_the_first_look_up_is_proved(void **state)
{
    (void)state;
    const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}, {2, 6, {5}}, {3, 4, {3, 2}}, {4, 3, {2, 3, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        assert_proved(late_carrier(&t), &t, "full, deltanet, full ..");
    }
    hop_task t = task_of(&all[1]);
    hop_model *m = late_carrier(&t);
    tally got = answer_all(m, &t, true);
    assert_int_equal(got.wrong + got.step_wrong, 0);
    hop_model_free(m);
}

/* ---- several heads -------------------------------------------------------------------------------- */

/* Each head of a layer with `heads` of them carries a share of the code's bits; all ask the same. */
static hop_model *many_heads(const hop_task *task, int heads)
{
    hop_model *good = build("full", NULL, task);
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    c.heads = c.kv_heads = heads;
    hop_model *m = network(&c);
    copy_tables(m, good);
    int64_t dim = hop_model_config(good)->head_dim;
    for (int64_t l = 0; l < hop_model_config(good)->pattern.layers; l++) {
        const char *const same[] = {"mlp.up_proj.weight", "mlp.up_proj.bias", "mlp.down_proj.weight",
                                    "mlp.down_proj.bias"};
        for (int i = 0; i < 4; i++)
            copy_part(hop_model_layer_weight(m, l, same[i]), hop_model_layer_weight(good, l, same[i]));
        const char *const rows[] = {"mixer.q_proj.weight", "mixer.k_proj.weight", "mixer.v_proj.weight"};
        for (int i = 0; i < 3; i++) {
            const hop_weight *to = hop_model_layer_weight(m, l, rows[i]),
                             *from = hop_model_layer_weight(good, l, rows[i]);
            for (int h = 0; h < heads; h++)
                memcpy(to->data + h * weight_elements(from), from->data,
                       sizeof(float) * (size_t)weight_elements(from));
        }
        const hop_weight *to = hop_model_layer_weight(m, l, "mixer.o_proj.weight"),
                         *from = hop_model_layer_weight(good, l, "mixer.o_proj.weight");
        for (int64_t r = 0; r < from->shape[0]; r++)
            for (int64_t e = 0; e < dim; e++)
                to->data[r * to->shape[1] + (r % heads) * dim + e] = from->data[r * dim + e];
    }
    hop_model_free(good);
    return m;
}

static void look_ups_shared_by_several_heads_are_proved(void **state)
{
    (void)state;
    const sizes s = {2, 6, {5}};
    hop_task t = task_of(&s);
    for (int heads = 2; heads <= 5; heads += 3) assert_proved(many_heads(&t, heads), &t, "heads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_that_do_nothing_change_no_proof),
        cmocka_unit_test(a_linear_layer_after_the_first_look_up_is_proved),
        cmocka_unit_test(look_ups_shared_by_several_heads_are_proved),
    };
    return cmocka_run_group_tests_name("wired", tests, NULL, NULL);
}
