/* Witnesses before the checker: true ones are confirmed; whatever is changed in one is rejected, field by
 * field with the reason, and byte by byte; what hangs on rounding is neither. */
#include "test.h"

#include <hopbound/check.h>
#include <hopbound/construct.h>
#include <hopbound/eval.h>
#include "room.h"

/* ---- a network that errs ------------------------------------------------------------------------- */

typedef struct scene {
    char dir[512], path[520], task[200], trace[4000];
    const char *kind;
    int64_t state_bits;
    int32_t tokens[2][40];
    int64_t length, right[2], answer[2], prefix;
    int prompts;
    uint64_t config_hash, weights_hash;
} scene;

static int64_t asked(const hop_model *m, const int32_t *tokens, int64_t count)
{
    float logits[64];
    hop_forward *f = NULL;
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.max_tokens = count}, NULL), HOP_OK);
    assert_int_equal(hop_forward_logits(f, tokens, count, logits, NULL), HOP_OK);
    hop_forward_free(f);
    return hop_argmax(logits, hop_model_config(m)->vocab);
}

static void save(scene *s, const hop_model *m, const char *name)
{
    hop_truth *t = NULL;
    test_path(s->dir, sizeof s->dir, name);
    snprintf(s->path, sizeof s->path, "%s/w.json", s->dir);
    assert_int_equal(hop_model_save(m, s->dir, NULL), HOP_OK);
    assert_int_equal(hop_truth_open(&t, s->dir, NULL), HOP_OK);
    s->config_hash = t->config_hash, s->weights_hash = t->weights_hash;
    hop_truth_free(t);
}

/* The second prompt: another value in the entry that is asked for, and the same answer. */
static bool paired(scene *s, const hop_model *m, const hop_funccomp *t)
{
    int64_t entry = s->tokens[0][3];
    memcpy(s->tokens[1], s->tokens[0], sizeof s->tokens[0]);
    s->prefix = entry + 1;
    for (int v = 0; v < 3; v++) {
        s->tokens[1][entry] = v;
        s->right[1] = hop_funccomp_solve(t, s->tokens[1], NULL);
        s->answer[1] = asked(m, s->tokens[1], 5);
        if (v != s->tokens[0][entry] && s->answer[1] == s->answer[0]) return true;
    }
    return false;
}

/* An input that is answered wrongly, and another with the same answer. */
static bool errs(scene *s, const hop_model *m, const hop_funccomp *t)
{
    for (int n = 0; n < 81; n++) {
        for (int i = 0, rest = n; i < 4; i++, rest /= 3) s->tokens[0][i] = rest % 3;
        s->tokens[0][4] = 0;
        s->right[0] = hop_funccomp_solve(t, s->tokens[0], NULL);
        s->answer[0] = asked(m, s->tokens[0], 5);
        if (s->answer[0] != s->right[0] && paired(s, m, t)) return true;
    }
    return false;
}

/* `full` for one hop over three values with one weight changed, the first that makes it err. */
static scene damaged(const char *kind)
{
    scene s = {.kind = kind, .length = 5, .prompts = strcmp(kind, "pair") == 0 ? 2 : 1};
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    hop_model *m = NULL;
    snprintf(s.task, sizeof s.task, "{\"name\":\"funccomp\",\"hops\":1,\"m\":3,\"fan\":[]}");
    assert_int_equal(hop_funccomp_init(&t.funccomp, 1, 3, NULL, NULL), HOP_OK);
    assert_int_equal(hop_task_ready(&t, NULL), HOP_OK);
    assert_int_equal(hop_construct(&m, "full", &t, &(hop_construct_options){0}, NULL), HOP_OK);
    bool found = false;
    for (int64_t i = 0; !found && i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        for (int64_t k = 0; !found && k < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); k++) {
            float old = w->data[k];
            w->data[k] = -3 * old;
            found = old != 0 && errs(&s, m, &t.funccomp);
            if (!found) w->data[k] = old;
        }
    }
    assert_true(found);
    if (s.prompts == 1) s.prefix = 0;
    save(&s, m, "witness-net");
    hop_model_free(m);
    return s;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static void put_prompts(const scene *s, hop_text *out)
{
    hop_text_add(out, "\"prompts\":[");
    for (int p = 0; p < s->prompts; p++) {
        hop_text_printf(out, "%s{\"tokens\":[", p ? "," : "");
        for (int64_t i = 0; i < s->length; i++)
            hop_text_printf(out, "%s%d", i ? "," : "", (int)s->tokens[p][i]);
        hop_text_printf(out, "],\"position\":%d,\"right\":%d,\"answer\":%d}", (int)s->length - 1,
                        (int)s->right[p], (int)s->answer[p]);
    }
    hop_text_add(out, "],\"differences\":[");
    bool comma = false;
    for (int64_t i = 0; s->prompts == 2 && i < s->length; i++)
        if (s->tokens[0][i] != s->tokens[1][i])
            hop_text_printf(out, "%s%d", comma ? "," : "", (int)i), comma = true;
    hop_text_printf(out, "],\"prefix\":%d,", (int)s->prefix);
}

/* All members but the seal; the text is the caller's. */
static char *unsealed(const scene *s)
{
    hop_text out = {0};
    hop_text_printf(
        &out,
        "{\"format\":\"hopbound-witness\",\"version\":1,\"kind\":\"%s\",\"network\":{\"config_hash\":"
        "\"%016llx\",\"weights_hash\":\"%016llx\"},\"task\":%s,\"arithmetic\":{\"significant_bits\":0,"
        "\"state_bits\":%d,\"message_bits\":0,\"cuts\":[]},",
        s->kind, (unsigned long long)s->config_hash, (unsigned long long)s->weights_hash, s->task,
        (int)s->state_bits);
    put_prompts(s, &out);
    hop_text_printf(&out, "\"found\":{\"by\":\"guided\",\"seed\":4,\"tried\":17},\"trace\":[%s],", s->trace);
    assert_false(out.failed);
    return out.s;
}

static char *sealed(const char *members)
{
    hop_hash h;
    hop_text out = {0};
    hop_hash_init(&h);
    hop_hash_add(&h, members, strlen(members));
    hop_text_printf(&out, "%s\"seal\":\"%016llx\"}", members, (unsigned long long)hop_hash_end(&h));
    return out.s;
}

static hop_check verdict_of(const scene *s, const char *text, size_t size)
{
    hop_check c;
    hop_error err = {0};
    FILE *f = fopen(s->path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    fclose(f);
    if (hop_check_witness(&c, s->path, s->dir, NULL, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_true(c.why[0] && !strchr(c.why, '\n') && !(c.valid && c.rounding));
    return c;
}

static hop_check verdict(const scene *s)
{
    char *members = unsealed(s), *text = sealed(members);
    hop_check c = verdict_of(s, text, strlen(text));
    hop_text a = {.s = members}, b = {.s = text};
    hop_text_free(&a), hop_text_free(&b);
    return c;
}

/* The trace of both prompts, as the checker itself has it: what is tested is that another one is rejected. */
static void add_trace(scene *s)
{
    hop_truth *t = NULL;
    const hop_rounding a = {.state_bits = s->state_bits};
    hop__pass p[2];
    double logits[64];
    assert_int_equal(hop_truth_open(&t, s->dir, NULL), HOP_OK);
    for (int i = 0; i < 2; i++) {
        p[i] = (hop__pass){.net = t, .arith = &a, .watch = s->prefix, .traces = true};
        p[i].streams = calloc((size_t)(t->layer_count * s->length * t->d), sizeof(double));
        p[i].state_ends = calloc((size_t)t->layer_count, sizeof(int64_t));
        assert_int_equal(hop__pass_run(&p[i], s->tokens[i], s->length, s->length - 1, logits), HOP_OK);
    }
    hop_text out = {0};
    for (int64_t l = 0; l < t->layer_count; l++) {
        double last = 0, most = 0, state = 0;
        for (int64_t r = s->prefix; r < s->length; r++) {
            double sum = 0;
            for (int64_t e = 0; e < t->d; e++) {
                int64_t at = (l * s->length + r) * t->d + e;
                sum += pow(p[0].streams[at] - p[1].streams[at], 2);
            }
            last = sqrt(sum), most = fmax(most, last);
        }
        for (int64_t i = l ? p[0].state_ends[l - 1] : 0; i < p[0].state_ends[l]; i++)
            state += pow(p[0].states[i] - p[1].states[i], 2);
        hop_text_printf(&out, "%s{\"layer\":%d,\"mixer\":\"%s\",\"last_token\":%.9g,\"state\":", l ? "," : "",
                        (int)l, t->layers[l].mixer->name, last);
        if (t->layers[l].mixer->recurrent) hop_text_printf(&out, "%.9g", sqrt(state));
        hop_text_printf(&out, "%s,\"stream\":%.9g}", t->layers[l].mixer->recurrent ? "" : "null", most);
    }
    snprintf(s->trace, sizeof s->trace, "%s", out.s);
    hop_text_free(&out);
    for (int i = 0; i < 2; i++) hop__pass_close(&p[i]);
    hop_truth_free(t);
}

/* ---- tests --------------------------------------------------------------------------------------- */

static void a_wrong_answer_is_confirmed(void **state)
{
    (void)state;
    scene s = damaged("input");
    hop_check c = verdict(&s);
    if (!c.valid) fail_msg("%s", c.why);
    assert_string_equal(c.kind, "input");
    assert_true(c.margin >= 0 && c.spread == 0); /* all whole numbers */
}

static void two_prompts_with_one_answer_are_confirmed_with_their_trace(void **state)
{
    (void)state;
    scene s = damaged("pair");
    hop_check c = verdict(&s);
    assert_non_null(strstr(c.why, "trace"));
    add_trace(&s);
    c = verdict(&s);
    if (!c.valid) fail_msg("%s", c.why);
    s.kind = "input"; /* the second prompt is then a neighbour */
    c = verdict(&s);
    if (!c.valid) fail_msg("%s", c.why);
}

/* What stands in a true witness, what it is changed to, and a word of the reason. */
static const char *const CHANGES[][3] = {
    {"hopbound-witness", "hopbound-wittness", "format"},
    {"\"version\":1", "\"version\":2", "version"},
    {"\"kind\":\"pair\"", "\"kind\":\"pear\"", "kind"},
    {"\"kind\":\"pair\"", "\"kind\":\"collision\"", "not recurrent"},
    {"\"config_hash\":\"", "\"config_hash\":\"0", "config_hash"},
    {"\"weights_hash\":\"", "\"weights_hash\":\"x", "weights_hash"},
    {"\"hops\":1", "\"hops\":2", "fan"},
    {"\"m\":3", "\"m\":4", "tokens where"},
    {"funccomp", "funcomp", "task"},
    {"\"significant_bits\":0", "\"significant_bits\":24", "significant_bits"},
    {"\"state_bits\":0", "\"state_bits\":9", "arithmetic"},
    {"\"message_bits\":0", "\"message_bits\":16", "cuts"},
    {"\"cuts\":[]", "\"cuts\":[0,2]", "cuts"},
    {"\"position\":4", "\"position\":3", "prompts"},
    {"\"position\":4", "\"position\":5", "position"},
    {"\"differences\":[", "\"differences\":[9,", "differences"},
    {"\"prefix\":", "\"prefix\":-", "prefix"},
    {"\"found\":{\"by\":\"guided\"", "\"found\":{\"by\":\"magic\"", "found"},
    {"\"seed\":4", "\"seed\":4.5", "seed"},
    {"\"tried\":17", "\"tries\":17", "found"},
    {"\"mixer\":\"full\"", "\"mixer\":\"window\"", "trace"},
    {"\"layer\":0", "\"layer\":1", "trace"},
    {"\"stream\":", "\"stream\":1", "trace"},
    {"\"last_token\":", "\"last_token\":-1", "trace"},
    {"\"state\":null", "\"state\":0.5", "trace"},
    {"\"trace\":[", "\"extra\":0,\"trace\":[", "extra"},
    {"{\"format\"", "[{\"format\"", "line 1"},
};

/* `text` with the first `from` replaced. */
static char *changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at) fail_msg("no %s in %s", from, text);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void every_field_that_is_changed_is_rejected_with_the_reason(void **state)
{
    (void)state;
    scene s = damaged("pair");
    add_trace(&s);
    char *members = unsealed(&s);
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        char *other = changed(members, CHANGES[i][0], CHANGES[i][1]), *text = sealed(other);
        hop_check c = verdict_of(&s, text, strlen(text));
        if (c.valid || c.rounding || !strstr(c.why, CHANGES[i][2])) fail_msg("%s: %s", CHANGES[i][1], c.why);
        free(other), free(text);
    }
    for (int p = 0; p < 2; p++) /* numbers that are of this witness */
        for (int field = 0; field < 4; field++) {
            scene t = s;
            if (field == 0) t.right[p] = (t.right[p] + 1) % 3;
            if (field == 1) t.answer[p] = (t.answer[p] + 1) % 3;
            if (field == 2) t.answer[0] = t.answer[1] = -1;
            if (field == 3) t.config_hash ^= 1 + (uint64_t)p, t.weights_hash ^= (uint64_t)p;
            hop_check c = verdict(&t);
            static const char *const words[] = {"right answer is", "answer", "the network has an answer",
                                                "config.json"};
            if (c.valid || c.rounding || !strstr(c.why, words[field])) fail_msg("field %d: %s", field, c.why);
        }
    scene t = s;
    t.answer[0] = t.answer[1] = s.answer[0] == 2 ? 1 : 2; /* another answer, said twice */
    hop_check c = verdict(&t);
    assert_true(!c.valid && !c.rounding && strstr(c.why, "the network answers"));
    free(members);
}

static void every_byte_that_is_changed_is_rejected(void **state)
{
    (void)state;
    scene s = damaged("input");
    char *members = unsealed(&s), *text = sealed(members);
    size_t size = strlen(text);
    assert_true(verdict_of(&s, text, size).valid);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            text[i] ^= (char)(1 << bit);
            hop_check c = verdict_of(&s, text, size);
            if (c.valid) fail_msg("byte %zu, bit %d of %s", i, bit, text);
            text[i] ^= (char)(1 << bit);
        }
    for (size_t i = 0; i < size; i += 7) assert_false(verdict_of(&s, text, i).valid);
    free(members), free(text);
}

/* One linear layer whose state is a single number of 8 bits, so that of 27 tables two collide. */
static hop_model *small_state(void)
{
    hop_config c;
    hop_model *m = NULL;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, "linear", "", NULL), HOP_OK);
    c.vocab = 3, c.d_model = 4, c.max_positions = 5, c.position_table = true, c.head_dim = 1;
    c.norm = HOP_NORM_NONE, c.mlp = HOP_MLP_NONE;
    assert_int_equal(hop_config_set(&c, -1, "linear", "norm", 0, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, -1, "linear", "feature", 0, NULL), HOP_OK);
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    hop_config_free(&c);
    hop_model_init_weights(m, 1, NULL);
    return m;
}

static int64_t answer_and_state(const hop_truth *t, const hop_rounding *a, const int32_t *tokens,
                                double *number)
{
    double logits[3];
    hop__pass p = {.net = t, .arith = a, .how = HOP__FLOAT, .watch = 3};
    assert_int_equal(hop__pass_run(&p, tokens, 5, 4, logits), HOP_OK);
    assert_int_equal(p.state_count, 1);
    *number = p.states[0];
    hop__pass_close(&p);
    return logits[1] > logits[0] ? (logits[2] > logits[1] ? 2 : 1) : logits[2] > logits[0] ? 2 : 0;
}

static void tables_that_leave_one_state_are_a_collision_and_others_are_not(void **state)
{
    (void)state;
    scene s = {.kind = "collision", .length = 5, .prompts = 2, .prefix = 3, .state_bits = 8};
    hop_model *m = small_state();
    hop_truth *t = NULL;
    const hop_rounding a = {.state_bits = 8};
    int confirmed = 0, rejected = 0, hanging = 0;
    snprintf(s.task, sizeof s.task, "{\"hops\":1,\"m\":3}");
    save(&s, m, "collision-net");
    assert_int_equal(hop_truth_open(&t, s.dir, NULL), HOP_OK);
    for (int x = 0; x < 27; x++)
        for (int y = 0; y < x; y++) {
            double number[2];
            for (int p = 0; p < 2; p++) {
                for (int i = 0, rest = p ? y : x; i < 3; i++, rest /= 3) s.tokens[p][i] = rest % 3;
                s.tokens[p][3] = 1, s.tokens[p][4] = 0;
                s.right[p] = s.tokens[p][1];
                s.answer[p] = answer_and_state(t, &a, s.tokens[p], &number[p]);
            }
            if (s.right[0] == s.right[1] || s.answer[0] != s.answer[1]) continue;
            add_trace(&s);
            hop_check c = verdict(&s);
            if (number[0] != number[1] && c.valid) fail_msg("%g and %g: %s", number[0], number[1], c.why);
            if (number[0] == number[1] && !c.valid && !c.rounding) fail_msg("%g: %s", number[0], c.why);
            confirmed += c.valid, hanging += c.rounding, rejected += !c.valid && !c.rounding;
        }
    assert_true(confirmed > 0 && rejected > 0 && hanging < confirmed);
    hop_truth_free(t);
    hop_model_free(m);
}

/* Two rows of the read-out that differ in the last bit of one number: which logit is larger is a matter of
 * the order in which they are summed. */
static void an_answer_that_rounding_decides_is_neither_confirmed_nor_rejected(void **state)
{
    (void)state;
    scene s = {.kind = "input", .length = 5, .prompts = 1};
    hop_model *m = small_state();
    const hop_weight *w = hop_model_weight(m, "lm_head.weight");
    int hanging = 0;
    snprintf(s.task, sizeof s.task, "{\"hops\":1,\"m\":3}");
    memcpy(w->data + 4, w->data, 4 * sizeof(float));
    w->data[4] = nextafterf(w->data[4], 9);
    save(&s, m, "thin-net");
    for (int n = 0; n < 27; n++) {
        for (int i = 0, rest = n; i < 3; i++, rest /= 3) s.tokens[0][i] = rest % 3;
        s.tokens[0][3] = 0, s.right[0] = s.tokens[0][0];
        s.answer[0] = asked(m, s.tokens[0], 5);
        if (s.answer[0] == s.right[0] || s.answer[0] == 2) continue;
        hop_check c = verdict(&s);
        assert_true(c.rounding && !c.valid && strstr(c.why, "rounding"));
        hanging++;
    }
    assert_true(hanging > 0);
    hop_model_free(m);
}

/* Equal rows: the first of equals is the answer, and nothing that rounds can change it. */
static void an_exact_tie_goes_to_the_first_and_hangs_on_nothing(void **state)
{
    (void)state;
    scene s = {.kind = "input", .length = 5, .prompts = 1};
    hop_model *m = small_state();
    const hop_weight *w = hop_model_weight(m, "lm_head.weight");
    int confirmed = 0;
    snprintf(s.task, sizeof s.task, "{\"hops\":1,\"m\":3}");
    memcpy(w->data + 4, w->data, 4 * sizeof(float));
    save(&s, m, "tie-net");
    for (int n = 0; n < 27; n++) {
        for (int i = 0, rest = n; i < 3; i++, rest /= 3) s.tokens[0][i] = rest % 3;
        s.tokens[0][3] = 0, s.right[0] = s.tokens[0][0];
        s.answer[0] = asked(m, s.tokens[0], 5);
        if (s.answer[0] != 0 || s.right[0] == 0) continue;
        hop_check c = verdict(&s);
        if (!c.valid) fail_msg("%s", c.why);
        confirmed++;
    }
    assert_true(confirmed > 0);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_answer_is_confirmed),
        cmocka_unit_test(two_prompts_with_one_answer_are_confirmed_with_their_trace),
        cmocka_unit_test(every_field_that_is_changed_is_rejected_with_the_reason),
        cmocka_unit_test(every_byte_that_is_changed_is_rejected),
        cmocka_unit_test(tables_that_leave_one_state_are_a_collision_and_others_are_not),
        cmocka_unit_test(an_answer_that_rounding_decides_is_neither_confirmed_nor_rejected),
        cmocka_unit_test(an_exact_tie_goes_to_the_first_and_hangs_on_nothing),
    };
    return cmocka_run_group_tests_name("check_witness", tests, NULL, NULL);
}
