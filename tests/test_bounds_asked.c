/* Whoever is asked says the same of one architecture at a length: `bound` hop by hop, `audit` and `bound
 * --hops auto` for the most hops, `plan` for its patterns. And what any of them calls possible at a length
 * is built and proved at sizes within that length. HOPBOUND_LONG draws fifty times as many architectures,
 * and the shapes of all models in tests/data/configs instead of a few. */
#include "drawn_architecture.h"

#include <hopbound/hf.h>

#include <dirent.h>

enum { DRAWS = 40, PLANS = 5, MODELS = 2, MOST_HOPS = 4, ONCE_APART = 50444 };

typedef struct tried {
    int asked, built, plans, models, failed;
} tried;

/* ---- what bound says -------------------------------------------------------------------------------------- */

typedef struct said {
    bool possible, impossible, by_maps; /* by_maps: `build mixed` makes it, as test_mixed.c tests */
} said;

static said bound_says(const hop_arch *a, int hops, int64_t n)
{
    said s = {0};
    hop_bounds *b = ask(&(hop_question){.arch = a, .hops = hops, .n = n, .searched = 1});
    for (int i = 0; i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        s.possible = s.possible || r->answer == HOP_ANSWER_POSSIBLE;
        s.impossible = s.impossible || r->answer == HOP_ANSWER_IMPOSSIBLE;
    }
    const hop_bound *p1 = result(b, "P1"), *p10 = result(b, "P10");
    bool maps = strstr(p10->why, "`build mixed`") || strstr(p10->why, "`build linear`");
    s.by_maps = p1->answer != HOP_ANSWER_POSSIBLE && maps;
    hop_bounds_free(b);
    return s;
}

/* ---- what is possible is built ------------------------------------------------------------------------------- */

/* Some sizes of so many hops within n tokens; false: there are none. */
static bool draw_sizes(sizes *z, int hops, int64_t n, hop_rng *rng)
{
    *z = (sizes){.hops = hops};
    if (n < (int64_t)2 << hops) return false;
    for (int k = 0; k < 50; k++) {
        int64_t table = z->m = 2 + below(rng, n / 2), all = table + 2;
        for (int l = 0; l < hops - 1; l++) z->fan[l] = 2 + below(rng, 3), table *= z->fan[l], all += table;
        if (all <= n) return true;
    }
    z->m = 2;
    for (int l = 0; l < hops - 1; l++) z->fan[l] = 2;
    return true;
}

static void build_and_prove(drawn *d, int hops, int64_t n, hop_rng *rng, tried *t)
{
    sizes z;
    hop_error err = {0};
    hop_config as = d->c;
    if (!draw_sizes(&z, hops, n, rng)) return;
    d->t = task_of(&z);
    if (hop_config_copy(&d->c, &as, NULL) != HOP_OK) fail_msg("no memory");
    hop_model *m = build_it(d, &err);
    hop_config_free(&d->c);
    d->c = as;
    hop_proof p = {0};
    if (m) p = prove(m, &d->t, HOP_PROVE_INTERVAL);
    if (!m || p.verdict != HOP_PROVED) {
        print_message("%s: %d hops possible within %d; m %d, fan %d,%d,%d: %s\n", d->name, hops, (int)n,
                      (int)z.m, (int)z.fan[0], (int)z.fan[1], (int)z.fan[2], m ? p.why : err.text);
        t->failed++;
    }
    t->built++;
    if (m) hop_proof_free(&p);
    hop_model_free(m);
}

/* ---- the law --------------------------------------------------------------------------------------------------- */

static void ask_all(drawn *d, int64_t n, hop_rng *rng, tried *t)
{
    hop_arch a;
    hop_reach r;
    hop_error err = {0};
    int most = 0;
    said at[HOP_MAX_HOPS] = {0};
    if (!see_architecture(&a, d, 32)) return;
    if (hop_reach_find(&r, &a, n, true, NULL, &err) != HOP_OK) fail_msg("%s", err.text);
    for (int hops = 1; hops <= r.fit && hops < HOP_MAX_HOPS; hops++) {
        at[hops] = bound_says(&a, hops, n);
        if (at[hops].possible && at[hops].impossible)
            fail_msg("%s: %d hops are both at %d", d->name, hops, (int)n);
        if (at[hops].possible && most == hops - 1) most = hops; /* and all fewer */
    }
    if (r.able != most) fail_msg("%s, n %d: audit says %d hops, bound %d", d->name, (int)n, r.able, most);
    if (r.unable && !at[r.unable].impossible)
        fail_msg("%s, n %d: audit says %d hops are impossible, bound does not", d->name, (int)n, r.unable);
    for (int hops = 1; hops <= r.fit && hops <= MOST_HOPS; hops++)
        if (at[hops].possible && !at[hops].by_maps) build_and_prove(d, hops, n, rng, t);
    t->asked++;
    hop_reach_free(&r);
    hop_arch_free(&a);
}

static void whoever_is_asked_says_the_same_and_it_is_built(void **state)
{
    (void)state;
    tried t = {0};
    int count = getenv("HOPBOUND_LONG") ? 50 * DRAWS : DRAWS;
    for (int k = 0; k < count; k++) {
        drawn d;
        hop_rng rng;
        hop_rng_init(&rng, 2029, k ? (uint64_t)k : ONCE_APART - 50000);
        draw(&d, k ? 50000 + k : ONCE_APART);
        ask_all(&d, 3 + below(&rng, 150), &rng, &t);
        hop_config_free(&d.c);
    }
    print_message("%d architectures, %d networks built and proved\n", t.asked, t.built);
    assert_int_equal(t.failed, 0);
    assert_true(t.built > count / 3); /* else nothing was tested */
}

/* Every plan that plan shows is judged as bound and audit judge it, and is built where it is possible. */
static void plans_are_judged_as_bound_judges_them(void **state)
{
    (void)state;
    static const char *const mixers[] = {"gdn", "kda", "deltanet", "mamba2", "retnet", "rwkv7", "mlstm"};
    tried t = {0};
    int count = getenv("HOPBOUND_LONG") ? 50 * PLANS : PLANS;
    for (int k = 0; k < count; k++) {
        hop_rng rng;
        hop_rng_init(&rng, 2030, (uint64_t)k);
        int64_t kv = 1 + below(&rng, 2);
        hop_config shape = {.kv_heads = kv};
        hop_plan_question q = {.number_bits = 32, .cache_bits = 16, .widths = &shape};
        q.hops = 1 + (int)below(&rng, 3), q.n = 20 + below(&rng, 120), q.mixer = mixers[below(&rng, 7)];
        shape.heads = kv * (1 + below(&rng, 2)), shape.head_dim = 4 + below(&rng, 24);
        shape.d_model = 40 + below(&rng, 200);
        hop_plan *plans;
        hop_error err = {0};
        int found;
        hop_status s = hop_plans_find(&plans, &found, &q, &err);
        if (s != HOP_OK) fail_msg("%s", err.text);
        for (int i = 0; i < found; i++) {
            drawn d;
            hop_arch a;
            hop_reach r;
            hop_config_init(&d.c);
            assert_int_equal(hop_pattern_parse(&d.c.pattern, plans[i].pattern, q.mixer, NULL), HOP_OK);
            d.c.heads = shape.heads, d.c.kv_heads = shape.kv_heads;
            d.c.head_dim = shape.head_dim, d.c.d_model = shape.d_model;
            snprintf(d.name, sizeof d.name, "plan %d: %.300s", k, plans[i].pattern);
            assert_true(see_architecture(&a, &d, 32));
            assert_int_equal(hop_reach_find(&r, &a, q.n, true, NULL, NULL), HOP_OK);
            said b = bound_says(&a, q.hops, q.n);
            hop_answer answer = b.possible     ? HOP_ANSWER_POSSIBLE
                                : b.impossible ? HOP_ANSWER_IMPOSSIBLE
                                               : HOP_ANSWER_SILENT;
            if (answer != plans[i].answer || r.able != plans[i].able)
                fail_msg("%s: plan says %s and %d hops, bound %s, audit %d", d.name,
                         hop_answer_name(plans[i].answer), plans[i].able, hop_answer_name(answer), r.able);
            if (b.possible && !b.by_maps && plans[i].layers <= 64) build_and_prove(&d, q.hops, q.n, &rng, &t);
            t.plans++;
            hop_reach_free(&r);
            hop_arch_free(&a);
            hop_config_free(&d.c);
        }
        hop_plans_free(plans, found);
    }
    print_message("%d plans, %d networks built and proved\n", t.plans, t.built);
    assert_int_equal(t.failed, 0);
    assert_true(t.built > count);
}

/* ---- models -------------------------------------------------------------------------------------------------- */

/* A model's layers and heads, its width and recurrent heads scaled down; false: it is of a kind that is not built. */
static bool shape_of(drawn *d, const char *file)
{
    char path[600];
    hop_json_doc doc;
    hop_text notes = {0};
    hop_error err = {0};
    snprintf(path, sizeof path, "%s/configs/%s", getenv("HOPBOUND_TEST_DATA"), file);
    if (hop_hf_open(&doc, path, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_status s = hop_hf_shape(&d->c, &notes, doc.root, NULL, 128, &err);
    hop_json_free(&doc);
    hop_text_free(&notes);
    snprintf(d->name, sizeof d->name, "%.100s", file);
    d->c.mlp_hidden = 4;
    return s == HOP_OK;
}

static void models_are_built_as_far_as_they_are_called_possible(void **state)
{
    (void)state;
    tried t = {0};
    bool all = getenv("HOPBOUND_LONG") != NULL;
    char folder[600];
    snprintf(folder, sizeof folder, "%s/configs", getenv("HOPBOUND_TEST_DATA"));
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) && (all || t.models < MODELS);) {
        drawn d;
        hop_rng rng;
        hop_rng_init(&rng, 2031, strlen(e->d_name));
        if (!strstr(e->d_name, ".json") || !shape_of(&d, e->d_name)) continue;
        for (int k = 0; k < (all ? 4 : 1); k++) ask_all(&d, 12 + below(&rng, 60), &rng, &t);
        t.models++;
        hop_config_free(&d.c);
    }
    closedir(dir);
    print_message("%d models, %d networks built and proved\n", t.models, t.built);
    assert_int_equal(t.failed, 0);
    assert_true(t.models >= MODELS && t.built >= t.models);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_is_asked_says_the_same_and_it_is_built),
        cmocka_unit_test(plans_are_judged_as_bound_judges_them),
        cmocka_unit_test(models_are_built_as_far_as_they_are_called_possible),
    };
    return cmocka_run_group_tests_name("bounds_asked", tests, NULL, NULL);
}
