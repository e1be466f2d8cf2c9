/* test_trace.c - what the kernels' bodies form on their way is what their programs (hopbound/arith.h) say: every
 * intermediate that the traced table (hopbound/arith_trace.h) tells is compared with the quantity of that name, evaluated in double
 * on the same inputs and the same state before the unit, within the bound of trace_bound.h. */
#include "trace_case.h"
#include "trace_seen.h"

static const int64_t lengths[] = {1, 2, 4, 5, 9, 31, 32, 33, 41, 64, 65, 70};

static scan_case steep_case(int i, scan_shape z, float steepness)
{
    scan_case s = variety_new(i, z, (uint64_t)(17 * i + z.T));
    for (int64_t j = 0; j < s.count[GATE]; j++) s.p[GATE][j] *= steepness;
    for (int64_t j = 0; j < s.count[BETA]; j++)
        s.p[BETA][j] *= 0.5f; /* else bounds of 32 rows solved blow up */
    return s;
}

static void scan_all(void)
{
    static const float steepness[] = {0.0f, 0.3f, 6.0f, 60.0f};
    for (int i = 0; i < VARIETIES; i++)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
            for (int g = 0; g < 4; g++) {
                if (g > 0 && varieties[i].gate == HOP_GATE_NONE) continue;
                const bool shared = varieties[i].kind != DPLR && n % 2;
                scan_case s = steep_case(i, (scan_shape){lengths[n], 2, shared ? 1 : 2, 5, 9}, steepness[g]);
                for (int form = HOP_FORM_CHUNKED; form <= HOP_FORM_RECURRENT; form++)
                    trace_scan(&s, i, (hop_form)form);
                case_free(&s);
            }
}

static void what_scans_form_is_what_their_programs_say(void **state)
{
    (void)state;
    tracer_reset();
    scan_all();
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 1000000);
    /* A bound that is no smaller than what it bounds would find nothing. */
    assert_true(tracer.loose * 100 < tracer.compared);
    printf("%lld comparisons, %.3f of the bound at the most\n", (long long)tracer.compared, tracer.worst);
}

static void what_selective_scans_form_is_what_their_programs_say(void **state)
{
    (void)state;
    tracer_reset();
    for (int64_t T = 1; T < 40; T += 19)
        for (int64_t width = 1; width <= CHANNELS; width += 13)
            for (int d = 0; d < 2; d++) trace_selective(T, width, 5, d);
    for (int64_t T = 1; T < 40; T += 19)
        for (int64_t width = 1; width <= CHANNELS; width += 13) trace_diagonal(T, width);
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 10000);
    assert_true(tracer.loose * 100 < tracer.compared);
}

/* Each input of each recurrence, changed by 2^-8 for the programs alone. */
static void a_program_that_says_something_else_is_found(void **state)
{
    static const char *const inputs[] = {"q", "k", "v", "g", "beta", "a", "b", "u", "i", "f", "scale", "S"};
    (void)state;
    int tried = 0;
    for (int i = 0; i < VARIETIES; i++)
        for (size_t n = 0; n < sizeof inputs / sizeof *inputs; n++)
            for (int form = HOP_FORM_CHUNKED; form <= HOP_FORM_RECURRENT; form++) {
                scan_case s = steep_case(i, (scan_shape){40, 1, 1, 5, 9}, 1.0f);
                tracer_reset();
                tracer.falsified = inputs[n], tracer.quiet = true;
                trace_scan(&s, i, (hop_form)form);
                if (tracer.met && tracer.wrong == 0) fail_msg("%s of variety %d: not found", inputs[n], i);
                tried += tracer.met;
                case_free(&s);
            }
    assert_true(tried > 150);
}

/* ---- coverage -------------------------------------------------------------------------------- */

/* What no kernel puts down, beyond terms of sums and copies, and why. */
static const struct {
    const char *name, *why;
} unseen[] = {
    {"bp", "a fused multiply-add puts it into `new`"},
    {"wv", "a fused multiply-add puts it into `o`"},
    {"new", "chunks and the selective scan: the sum in a register that the faded state is added to"},
    {"new_b", "likewise"},
    {"new_v", "likewise"},
    {"ov", "likewise, added to `op`"},
    {"db", "a register of decay_row"},
    {"met", "a register of decay_row; `c` is what is left of it"},
    {"kb", "a register between two products, to `ca` and `kd`"},
    {"near_pair", "a register that is multiplied by scale, to `near_C`"},
    {"near_pair_b", "likewise, to `near_Cb`"},
    {"near_meet", "delta: a register that is multiplied by beta, to `near_c`"},
    {"above", "an argument of exp, to `key`"},
    {"least", "an argument of exp, to `bottom`"},
    {"larger", "an operand of `divisor`"},
    {"cm", "`cS` where decays are mild"},
    {"cam", "`ca` where decays are mild"},
    {"km",
     "a column is multiplied by the decay up to a block's start, not its own: `near` of the token before"},
    {"bm", "likewise, `near_b`"},
    {"plain", "not formed: what `o` stands for"},
    {"back",
     "steep: told before it is known that the chunk is; compared as a line of `mild`, where it is the same"},
    {"qs", "likewise"},
    {"far_pair", "`C` is compared in its place, with the same numbers"},
    {"far_pair_b", "likewise `Cb`"},
    {"far_meet", "likewise `c`"},
    {"far_asked", "likewise `cv`"},
};
enum { UNSEEN = sizeof unseen / sizeof *unseen };

static int listed(const char *name)
{
    for (int u = 0; u < UNSEEN; u++)
        if (strcmp(unseen[u].name, name) == 0) return u;
    return -1;
}

/* Every line of every program that the cases above have run. */
static void every_name_is_traced_or_listed(void **state)
{
    bool needed[UNSEEN] = {false};
    (void)state;
    assert_true(tracer.programs >= 30);
    for (int n = 0; n < tracer.programs; n++) {
        hop_arith p;
        hop_arith_open(&p, tracer.program[n]);
        int traced = 0, terms = 0, copies = 0, others = 0;
        for (int i = 0; i < p.count; i++) {
            const hop_line *l = p.line[i];
            int u = listed(l->name);
            if (tracer.seen[n][i]) {
                traced++;
            } else if (is_copy(l->prim)) {
                copies += l->prim != HOP_PRIM_INPUT && l->prim != HOP_PRIM_NUMBER;
            } else if (u >= 0) {
                others++, needed[u] = true;
            } else if (is_term(&p, i)) {
                terms++;
            } else {
                fail_msg("%s, %s: %s is not traced", tracer.program[n]->op, tracer.program[n]->form, l->name);
            }
        }
        printf("%-9s %-5s: %2d traced, %2d terms of sums, %2d copies, %2d listed\n", tracer.program[n]->op,
               tracer.program[n]->form, traced, terms, copies, others);
    }
    for (int u = 0; u < UNSEEN; u++)
        if (!needed[u]) fail_msg("%s is listed as unseen, and is seen", unseen[u].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_says_something_else_is_found),
        cmocka_unit_test(what_scans_form_is_what_their_programs_say),
        cmocka_unit_test(what_selective_scans_form_is_what_their_programs_say),
        cmocka_unit_test(every_name_is_traced_or_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
