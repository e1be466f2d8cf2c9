/* The law of what is possible: where P1 or P10 says so of an architecture at sizes, a network is built in that
 * architecture, and proved. Architectures are drawn at random: any linear mixer, full layers and windows in any
 * order, heads and widths that suffice or do not quite. HOPBOUND_LONG draws thirty times as many; one of
 * these, which was called possible and not proved, is always among them. */
#include "drawn_architecture.h"

enum { DRAWS = 100, ONCE_UNDECIDED = 1612 };

/* Which theorem calls it possible, or NULL. What is called possible by tables behind a product of maps is built
 * by `build mixed`, layer for layer: see test_mixed.c. */
static const char *possible_by(drawn *d, char *why, size_t size)
{
    static const char *const ids[] = {"P1", "P10"};
    hop_arch arch;
    const char *by = NULL;
    const hop_funccomp *t = &d->t.funccomp;
    if (!see_architecture(&arch, d, 32)) return NULL;
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
                print_message("%s: %s: %s; %s: %s\n", d.name, by, why, hop_verdict_name(p.verdict), p.why),
                    failed++;
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
