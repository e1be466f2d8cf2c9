/* The law between the rooms: whatever is proved of a network that can be built, the theorems call possible at
 * the same sizes and widths; nothing that is proved is called impossible; and what is possible within a
 * length is possible at every size that fits it. Networks and architectures are drawn at random.
 * HOPBOUND_LONG draws ten times as many. */
#include "bounds_ask.h"

#define answer_of answer_of_input
#include "funccomp_subject.h"
#undef answer_of

#include <stdlib.h>

static int draws(int count)
{
    return getenv("HOPBOUND_LONG") ? 10 * count : count;
}

static int64_t below(hop_rng *rng, int64_t count)
{
    return (int64_t)hop_rng_below(rng, (uint32_t)count);
}

/* ---- what is built and proved ------------------------------------------------------------------- */

typedef struct subject {
    const char *kind, *mixer;
    char pattern[64];
    bool shaped;
    hop_config shape;
} subject;

/* A random order of so many layers, F and L. */
static void draw_pattern(char *out, int layers, hop_rng *rng)
{
    for (int i = 0; i < layers; i++) out[i] = below(rng, 2) ? 'F' : 'L';
    out[layers] = 0;
}

/* A kind, its mixer, its pattern; some in the shape of a larger architecture. */
static void draw_subject(subject *s, int hops, hop_rng *rng)
{
    static const char *const kinds[] = {"full", "linear", "mixed", "hybrid", "hybrid", "hybrid"};
    *s = (subject){.kind = kinds[below(rng, 6)], .mixer = LINEAR_MIXERS[below(rng, LINEAR_MIXER_COUNT)]};
    bool shapes = strcmp(s->kind, "full") == 0 || strcmp(s->kind, "hybrid") == 0;
    if (strcmp(s->kind, "mixed") == 0) draw_pattern(s->pattern, hops + 1, rng);
    if (!shapes || below(rng, 2)) return;
    s->shaped = true;
    draw_pattern(s->pattern, hops + 1 + (int)below(rng, 4), rng);
    hop_config_init(&s->shape);
    s->shape.heads = 1 + below(rng, 3), s->shape.kv_heads = s->shape.heads;
    if (below(rng, 2)) s->shape.head_dim = 3 + below(rng, 12); /* some too narrow, some just wide enough */
    s->shape.norm = below(rng, 2) ? HOP_NORM_RMS : HOP_NORM_NONE;
    s->shape.mlp = HOP_MLP_RELU;
    assert_int_equal(hop_pattern_parse(&s->shape.pattern, s->pattern, s->mixer, NULL), HOP_OK);
}

static hop_model *build_subject(const subject *s, const hop_task *t)
{
    hop_model *m = NULL;
    hop_error err = {0};
    const hop_construct_options o = {.mixer = strcmp(s->kind, "hybrid") == 0 ? s->mixer : NULL,
                                     .pattern = strcmp(s->kind, "mixed") == 0 ? s->pattern : NULL,
                                     .shape = s->shaped ? &s->shape : NULL};
    hop_status got = hop_construct(&m, s->kind, t, &o, &err);
    if (got != HOP_OK && got != HOP_EDOMAIN)
        fail_msg("%s %s %s: %s", s->kind, s->mixer, s->pattern, err.text);
    return m; /* NULL: it cannot be */
}

/* What all theorems say together of a network's layers at the sizes of its task. */
static hop_answer judged(const hop_config *c, const hop_funccomp *t, const char **by)
{
    hop_arch arch;
    hop_error err = {0};
    hop_answer answer = HOP_ANSWER_SILENT;
    const hop_arch_options as = {.number_bits = 32, .declared = true};
    if (hop_arch_new(&arch, c, &as, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_bounds *b =
        ask(&(hop_question){.arch = &arch, .hops = t->hops, .m = t->m, .fan = t->fan + 1, .searched = 1});
    *by = "";
    for (int i = 0; i < b->count; i++) {
        if (b->results[i].answer == HOP_ANSWER_SILENT) continue;
        if (answer != HOP_ANSWER_SILENT && answer != b->results[i].answer)
            fail_msg("%s and %s contradict each other", *by, b->results[i].id);
        answer = b->results[i].answer;
        *by = b->results[i].id;
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    return answer;
}

static void what_is_proved_is_called_possible(void **state)
{
    (void)state;
    int built = 0, proved = 0, shaped = 0;
    for (int k = 0; k < draws(400); k++) {
        hop_rng rng;
        hop_rng_init(&rng, 10, (uint64_t)k);
        sizes z = {.hops = 1 + (int)below(&rng, 3), .m = 2 + below(&rng, 6)};
        for (int l = 0; l < z.hops - 1; l++) z.fan[l] = 2 + below(&rng, 3);
        hop_task t = task_of(&z);
        subject s;
        const char *by;
        draw_subject(&s, z.hops, &rng);
        hop_model *m = build_subject(&s, &t);
        if (m) {
            hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
            hop_answer said = judged(hop_model_config(m), &t.funccomp, &by);
            if (p.verdict == HOP_PROVED && said != HOP_ANSWER_POSSIBLE)
                fail_msg("draw %d: %s %s %s at %d hops, m %lld is proved, and the theorems say %s %s", k,
                         s.kind, s.mixer, s.pattern, z.hops, (long long)z.m, hop_answer_name(said), by);
            built++, proved += p.verdict == HOP_PROVED, shaped += s.shaped && p.verdict == HOP_PROVED;
            hop_proof_free(&p);
        }
        hop_model_free(m);
        if (s.shaped) hop_config_free(&s.shape);
    }
    print_message("%d built, %d proved, %d of them in a larger architecture\n", built, proved, shaped);
    assert_true(proved > 200 && shaped > 40); /* else nothing was tested */
}

/* Heads of six numbers make the first two hops here, whose addresses have four bits at the most; the last one,
 * of six bits, is made by states. So is what a full layer is asked for: its own look-up, not the longest. */
static void a_full_layer_needs_room_for_its_own_look_up(void **state)
{
    (void)state;
    hop_task t = task_of(&(sizes){.hops = 3, .m = 5, .fan = {2, 3}});
    static const char *const patterns[] = {"F F F gdn gdn F gdn", "F F gdn F gdn^3", "gdn F F gdn^3"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (int64_t dim = 5; dim < 8; dim++) {
            subject s = {.kind = "hybrid", .mixer = "gdn", .shaped = true};
            const char *by;
            hop_config_init(&s.shape);
            s.shape.heads = s.shape.kv_heads = 2, s.shape.head_dim = dim;
            s.shape.norm = HOP_NORM_RMS, s.shape.mlp = HOP_MLP_RELU, s.shape.d_model = 37;
            assert_int_equal(hop_pattern_parse(&s.shape.pattern, patterns[i], "gdn", NULL), HOP_OK);
            hop_model *m = build_subject(&s, &t);
            hop_answer said = judged(&s.shape, &t.funccomp, &by);
            if ((said == HOP_ANSWER_POSSIBLE) != (m != NULL))
                fail_msg("%s, heads of %lld: %s, and %s", patterns[i], (long long)dim, hop_answer_name(said),
                         m ? "built" : "not built");
            if (m) {
                hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
                assert_int_equal(p.verdict, HOP_PROVED);
                hop_proof_free(&p);
            }
            hop_model_free(m);
            hop_config_free(&s.shape);
        }
}

/* One look-up among four takes keys of three numbers, and one more behind a norm of queries and keys: what
 * is called possible is what is built, at every width. */
static void a_norm_of_queries_and_keys_takes_a_number_of_both_rooms(void **state)
{
    (void)state;
    hop_task t = task_of(&(sizes){.hops = 1, .m = 4});
    for (int norm = 0; norm < 2; norm++)
        for (int64_t dim = 1; dim < 7; dim++) {
            subject s = {.kind = "full", .shaped = true};
            const char *by;
            hop_config_init(&s.shape);
            s.shape.d_model = 64, s.shape.heads = s.shape.kv_heads = 1, s.shape.head_dim = dim;
            assert_int_equal(hop_pattern_parse(&s.shape.pattern, "full^2", "", NULL), HOP_OK);
            assert_int_equal(hop_config_set(&s.shape, -1, "full", "qk_norm", norm, NULL), HOP_OK);
            assert_int_equal(hop_config_set(&s.shape, -1, "full", "value_dim", 8, NULL), HOP_OK);
            hop_model *m = build_subject(&s, &t);
            hop_answer said = judged(&s.shape, &t.funccomp, &by);
            assert_true((m != NULL) == (dim >= 3 + norm));
            assert_true((said == HOP_ANSWER_POSSIBLE) == (m != NULL));
            if (m) {
                hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
                assert_int_equal(p.verdict, HOP_PROVED);
                hop_proof_free(&p);
            }
            hop_model_free(m);
            hop_config_free(&s.shape);
        }
}

/* ---- lengths and sizes ---------------------------------------------------------------------------- */

static void draw_layer(hop_arch_layer *l, hop_rng *rng)
{
    int64_t rows = (int64_t)1 << below(rng, 9), numbers = 2 + below(rng, 20);
    bool full = below(rng, 2);
    *l = (hop_arch_layer){.kind = full ? HOP_LAYER_FULL : HOP_LAYER_LINEAR,
                          .repeat = 1 + below(rng, 2),
                          .heads = 1,
                          .dim = 4 + below(rng, 40),
                          .number_bits = below(rng, 8) ? 32 : 16,
                          .state_bits = full ? 0 : rows * numbers * 32,
                          .rows = full ? 0 : rows,
                          .row_numbers = full ? 0 : numbers};
}

/* Sizes that fit n tokens: tables are drawn as long as they do. */
static bool draw_sizes(int64_t *m, int64_t *fan, int hops, int64_t n, hop_rng *rng)
{
    int64_t table = *m = 2 + below(rng, n), length = *m + 2;
    for (int l = 0; l < hops - 1; l++) {
        fan[l] = 2 + below(rng, 6);
        table *= fan[l];
        length += table;
    }
    return length <= n;
}

static bool any_says(const hop_question *q, hop_answer answer)
{
    for (int i = 0; i < HOP__THEOREMS; i++) {
        hop__opinion of;
        hop_error err = {0};
        if (!hop__speaks_of(i, answer)) continue;
        if (hop__ask_one(&of, q, i, &err) != HOP_OK) fail_msg("%s", err.text);
        if (of.answer == answer) return true;
    }
    return false;
}

static void what_is_possible_within_a_length_is_possible_at_all_sizes_that_fit_it(void **state)
{
    (void)state;
    int tried = 0;
    for (int k = 0; k < draws(6000); k++) {
        hop_rng rng;
        hop_rng_init(&rng, 11, (uint64_t)k);
        hop_arch_layer layers[5];
        int count = 1 + (int)below(&rng, 5), hops = 1 + (int)below(&rng, 3);
        for (int i = 0; i < count; i++) draw_layer(&layers[i], &rng);
        const hop_arch arch = {
            .layers = layers, .count = count, .width = below(&rng, 3) ? 0 : 20 + below(&rng, 400)};
        int64_t n = ((int64_t)2 << hops) + below(&rng, (int64_t)1 << (3 + below(&rng, 9))), m, fan[2];
        const hop_question at_length = {.arch = &arch, .hops = hops, .n = n, .searched = 1};
        if (!any_says(&at_length, HOP_ANSWER_POSSIBLE)) continue;
        assert_false(any_says(&at_length, HOP_ANSWER_IMPOSSIBLE));
        for (int i = 0; i < 8; i++) {
            if (!draw_sizes(&m, fan, hops, n, &rng)) continue;
            const hop_question at_sizes = {.arch = &arch, .hops = hops, .m = m, .fan = fan, .searched = 1};
            if (!any_says(&at_sizes, HOP_ANSWER_POSSIBLE))
                fail_msg("draw %d: %d hops are possible within %lld tokens, and not at m %lld", k, hops,
                         (long long)n, (long long)m);
            assert_false(any_says(&at_sizes, HOP_ANSWER_IMPOSSIBLE));
            tried++;
        }
    }
    print_message("%d sizes\n", tried);
    assert_true(tried > 1000);
}

/* `--solve` asks only those theorems that can give an answer. */
static void a_theorem_gives_the_answers_that_it_is_asked_for(void **state)
{
    (void)state;
    int said[2] = {0};
    for (int k = 0; k < 200; k++) {
        hop_rng rng;
        hop_rng_init(&rng, 12, (uint64_t)k);
        hop_arch_layer layers[3];
        int count = 1 + (int)below(&rng, 3);
        for (int i = 0; i < count; i++) draw_layer(&layers[i], &rng);
        const hop_arch arch = {.layers = layers, .count = count};
        hop_bounds *b = ask(&(hop_question){
            .arch = &arch, .hops = 1 + (int)below(&rng, 2), .n = 8 << below(&rng, 20), .searched = 1});
        assert_int_equal(b->count, HOP__THEOREMS);
        for (int i = 0; i < b->count; i++) {
            assert_true(hop__speaks_of(i, b->results[i].answer));
            if (b->results[i].answer != HOP_ANSWER_SILENT)
                said[b->results[i].answer == HOP_ANSWER_POSSIBLE]++;
        }
        hop_bounds_free(b);
    }
    assert_true(said[0] > 10 && said[1] > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_proved_is_called_possible),
        cmocka_unit_test(a_full_layer_needs_room_for_its_own_look_up),
        cmocka_unit_test(a_norm_of_queries_and_keys_takes_a_number_of_both_rooms),
        cmocka_unit_test(what_is_possible_within_a_length_is_possible_at_all_sizes_that_fit_it),
        cmocka_unit_test(a_theorem_gives_the_answers_that_it_is_asked_for),
    };
    return cmocka_run_group_tests_name("bounds_law", tests, NULL, NULL);
}
