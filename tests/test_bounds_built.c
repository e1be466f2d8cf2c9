/* The law of what is possible: where P1 or P10 says so of an architecture at sizes, a network is built in that
 * architecture, and proved. Architectures are drawn at random: any linear mixer, full layers and windows in any
 * order, heads and widths that suffice or do not quite. HOPBOUND_LONG draws thirty times as many; one of
 * these, which was called possible and not proved, is always among them. */
#include "bounds_ask.h"

#define answer_of answer_of_input
#include "funccomp_subject.h"
#undef answer_of

#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 100, ONCE_UNDECIDED = 1612 };

static int64_t below(hop_rng *rng, int64_t count)
{
    return (int64_t)hop_rng_below(rng, (uint32_t)count);
}

typedef struct drawn {
    hop_config c;
    hop_task t;
    char name[400];
} drawn;

/* Layers in any order: one linear mixer, some full ones, some windows; or many layers of one mixer, whose states
 * share a table. */
static void draw_pattern(char *out, size_t size, bool deep, hop_rng *rng)
{
    static const char *const tables[] = {"gdn", "kda", "deltanet", "mamba2"};
    const char *linear = LINEAR_MIXERS[below(rng, LINEAR_MIXER_COUNT)];
    int64_t layers = 2 + below(rng, 5);
    out[0] = 0;
    if (deep || below(rng, 3) == 0) linear = tables[below(rng, 4)];
    if (deep) {
        snprintf(out, size, "%s^%d", linear, 4 + (int)below(rng, 40));
        return;
    }
    for (int64_t i = 0; i < layers; i++) {
        int64_t kind = below(rng, 8);
        const char *any = kind < 4 ? "full" : kind < 7 ? linear : "window";
        snprintf(out + strlen(out), size - strlen(out), "%s ", any);
    }
}

static void set(hop_config *c, const char *mixer, const char *option, int64_t value)
{
    hop_error err = {0};
    if (hop_config_set(c, -1, mixer, option, (double)value, &err) != HOP_OK) fail_msg("%s", err.text);
}

static void draw(drawn *d, int64_t number)
{
    hop_rng rng;
    char pattern[300];
    hop_rng_init(&rng, 2027, (uint64_t)number);
    bool deep = below(&rng, 3) == 0;
    draw_pattern(pattern, sizeof pattern, deep, &rng);
    sizes z = {.hops = 1 + (int)below(&rng, deep ? 2 : 3), .m = 2 + below(&rng, deep ? 100 : 12)};
    for (int l = 0; l < z.hops - 1; l++) z.fan[l] = 2 + below(&rng, 3);
    d->t = task_of(&z);
    hop_config_init(&d->c);
    assert_int_equal(hop_pattern_parse(&d->c.pattern, pattern, "gdn", NULL), HOP_OK);
    d->c.kv_heads = 1 + below(&rng, 3), d->c.heads = d->c.kv_heads * (1 + below(&rng, 2));
    d->c.head_dim = 1 + below(&rng, 24);
    d->c.d_model = below(&rng, 3) ? 8 + below(&rng, deep ? 200 : 100) : 0;
    set(&d->c, "window", "window", 1 + below(&rng, 4));
    set(&d->c, "mamba2", "state_dim", 1 + below(&rng, 16));
    set(&d->c, "mamba2", "groups", below(&rng, 2) ? 1 : d->c.kv_heads);
    if (below(&rng, 2)) set(&d->c, "gdn", "value_dim", 2 + below(&rng, 30));
    d->c.norm = below(&rng, 2) ? HOP_NORM_RMS : HOP_NORM_NONE;
    d->c.mlp = below(&rng, 2) ? HOP_MLP_SWIGLU : HOP_MLP_RELU;
    d->c.tied = below(&rng, 4) == 0;
    snprintf(d->name, sizeof d->name, "draw %d: %s, %d heads of %d, %d key heads, width %d, hops %d, m %d fan %d,%d",
             (int)number, pattern, (int)d->c.heads, (int)d->c.head_dim, (int)d->c.kv_heads, (int)d->c.d_model,
             z.hops, (int)z.m, (int)z.fan[0], (int)z.fan[1]);
}

/* Which theorem calls it possible, or NULL. What is called possible by tables behind a product of maps is built
 * by `build mixed`, layer for layer: see test_mixed.c. */
static const char *possible_by(drawn *d, char *why, size_t size)
{
    static const char *const ids[] = {"P1", "P10"};
    hop_arch arch;
    hop_error err = {0};
    const char *by = NULL;
    const hop_funccomp *t = &d->t.funccomp;
    const hop_arch_options as = {.number_bits = 32, .declared = true};
    int64_t width = d->c.d_model;
    d->c.d_model = width ? width : 64;
    hop_status s = hop_arch_new(&arch, &d->c, &as, &err);
    d->c.d_model = width;
    if (s == HOP_EDOMAIN) return NULL; /* sizes that a mixer cannot have */
    if (s != HOP_OK) fail_msg("%s: %s", d->name, err.text);
    arch.width = width; /* 0: not counted, and the builder chooses */
    hop_bounds *b =
        ask(&(hop_question){.arch = &arch, .hops = t->hops, .m = t->m, .fan = t->fan + 1, .searched = 1});
    for (int i = 0; i < 2; i++) {
        const hop_bound *r = result(b, ids[i]);
        bool maps = strstr(r->why, "`build mixed`") || strstr(r->why, "`build linear`");
        if (r->answer != HOP_ANSWER_POSSIBLE || maps || by) continue;
        by = ids[i];
        snprintf(why, size, "%s", r->why);
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    return by;
}

/* As it was drawn; or, since the theorems leave norms, MLPs and the read-out free, without a norm, with ReLU. */
static hop_model *build_it(drawn *d, hop_error *err)
{
    hop_model *m = NULL;
    const hop_construct_options o = {.shape = &d->c};
    hop_status s = hop_construct(&m, "hybrid", &d->t, &o, err);
    if (s == HOP_EDOMAIN) {
        d->c.norm = HOP_NORM_NONE, d->c.mlp = HOP_MLP_RELU, d->c.tied = false;
        s = hop_construct(&m, "hybrid", &d->t, &o, err);
    }
    if (s != HOP_OK && s != HOP_EDOMAIN) fail_msg("%s: %s", d->name, err->text);
    return m;
}

static void what_is_called_possible_is_built_and_proved(void **state)
{
    (void)state;
    int count = getenv("HOPBOUND_LONG") ? 30 * DRAWS : DRAWS, by_p1 = 0, by_p10 = 0, failed = 0;
    for (int k = 0; k <= count; k++) {
        drawn d;
        char why[300] = "";
        hop_error err = {0};
        draw(&d, k < count ? k : ONCE_UNDECIDED);
        const char *by = possible_by(&d, why, sizeof why);
        hop_model *m = by ? build_it(&d, &err) : NULL;
        if (by && !m) print_message("%s: %s: %s; not built: %s\n", d.name, by, why, err.text), failed++;
        if (m) {
            hop_proof p = prove(m, &d.t, HOP_PROVE_INTERVAL);
            if (p.verdict != HOP_PROVED)
                print_message("%s: %s: %s; %s: %s\n", d.name, by, why, hop_verdict_name(p.verdict), p.why), failed++;
            hop_proof_free(&p);
            by_p1 += strcmp(by, "P1") == 0, by_p10 += strcmp(by, "P10") == 0;
        }
        hop_model_free(m);
        hop_config_free(&d.c);
    }
    print_message("%d architectures, %d possible by P1 and built, %d by P10\n", count, by_p1, by_p10);
    assert_int_equal(failed, 0);
    assert_true(by_p1 > count / 10 && by_p10 > count / 15); /* else nothing was tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_called_possible_is_built_and_proved),
    };
    return cmocka_run_group_tests_name("bounds_built", tests, NULL, NULL);
}
