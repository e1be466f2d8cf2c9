/* The programs that say what kernels form on their way: every form of a recurrence computes the same function. */
#include "test.h"

#include <hopbound/arith.h>
#include <hopbound/base.h>

enum { TOKENS = 7, KEYS = 3, VALUES = 4, ROOM = 1 << 16 };

/* Inputs of one sequence, by name: [T] or [T, K] or [T, V], whatever the program asks for. */
typedef struct inputs {
    hop_rng rng;
    double number[16][TOKENS * 16];
    const char *name[16];
    int count;
} inputs;

static double drawn(inputs *in, const char *name)
{
    double x = hop_rng_normal(&in->rng);
    if (strcmp(name, "g") == 0) return -fabs(x);
    if (strcmp(name, "a") == 0 || strcmp(name, "b") == 0) return 0.3 * x;
    if (strcmp(name, "A") == 0) return -fabs(x) - 0.1;
    if (strcmp(name, "delta") == 0) return fabs(x);
    if (strcmp(name, "beta") == 0) return 1 / (1 + exp(x));
    return x;
}

static const double *numbers_of(inputs *in, const char *name)
{
    for (int i = 0; i < in->count; i++)
        if (strcmp(in->name[i], name) == 0) return in->number[i];
    assert_true(in->count < 16);
    in->name[in->count] = name;
    for (int i = 0; i < TOKENS * 16; i++) in->number[in->count][i] = drawn(in, name);
    return in->number[in->count++];
}

/* Tokens first .. first + n - 1 of every input; S and m are state's. */
static void fill(hop_arith_run *r, inputs *in, int64_t first, const double *state, double m)
{
    for (int i = 0; i < r->p->count; i++) {
        const hop_line *l = r->p->line[i];
        if (l->prim != HOP_PRIM_INPUT) continue;
        int64_t count = hop_arith_count(r, i),
                each = count / (r->p->axes[i] >> HOP_AXIS_T & 1 ? r->size[HOP_AXIS_T] : 1);
        int64_t from = r->p->axes[i] >> HOP_AXIS_T & 1 ? first * each : 0;
        for (int64_t e = 0; e < count; e++) r->value[i][e] = numbers_of(in, l->name)[from + e];
        if (strcmp(l->name, "S") == 0) memcpy(r->value[i], state, sizeof(double) * (size_t)count);
        if (strcmp(l->name, "m") == 0) r->value[i][0] = m;
        if (strcmp(l->name, "v") == 0 && hop_arith_find(r->p, "divisor") >= 0)
            for (int64_t t = 0; t < r->size[HOP_AXIS_T]; t++) r->value[i][(t + 1) * each - 1] = 1;
    }
}

/* All tokens in units of `unit`; o [TOKENS, VALUES]. */
static void run(const hop_program *program, inputs *in, int64_t unit, double *o, double *state)
{
    static double room[ROOM];
    hop_arith p;
    hop_arith_open(&p, program);
    double m = 0;
    memset(state, 0, sizeof(double) * KEYS * VALUES);
    for (int64_t first = 0; first < TOKENS; first += unit) {
        int64_t n = unit < TOKENS - first ? unit : TOKENS - first;
        hop_arith_run r = {.p = &p, .size = {n, n, KEYS, VALUES}};
        assert_true(hop_arith_room(&p, r.size) <= ROOM);
        hop_arith_place(&r, room);
        fill(&r, in, first, state, m);
        hop_arith_evaluate(&r);
        int64_t each = hop_arith_count(&r, p.reads) / n;
        memcpy(o + first * each, r.value[p.reads], sizeof(double) * (size_t)(n * each));
        memcpy(state, r.value[p.next], sizeof(double) * (size_t)hop_arith_count(&r, p.next));
        int m1 = hop_arith_find(&p, "m1");
        if (m1 >= 0) m = r.value[m1][n - 1];
    }
}

static void assert_close(const double *a, const double *b, int n, const hop_program *p)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-11 * (1 + fabs(a[i])))) /* doubles, through 7 tokens */
            fail_msg("%s, %s: number %d is %g, not %g", p->op, p->form, i, b[i], a[i]);
}

static void every_form_computes_what_the_step_form_does(void **state)
{
    (void)state;
    int forms_seen = 0;
    for (int scan = HOP_ARITH_DECAY; scan <= HOP_ARITH_DIAGONAL; scan++)
        for (int gate = HOP_GATE_NONE; gate <= HOP_GATE_KEY; gate++)
            for (int bonus = 0; bonus < (scan == HOP_ARITH_DECAY ? 2 : 1); bonus++) {
                const hop_program *const *forms =
                    hop_scan_programs((hop_arith_scan)scan, (hop_gate)gate, bonus);
                static inputs in;
                in = (inputs){.count = 0};
                hop_rng_init(&in.rng, (uint64_t)(scan * 10 + gate), 0);
                double o[TOKENS * VALUES], s[KEYS * VALUES], o2[TOKENS * VALUES], s2[KEYS * VALUES];
                run(forms[0], &in, 1, o, s);
                assert_true(forms[0]->unit_is_token);
                for (int i = 1; forms[i]; i++)
                    for (int64_t unit = 1; unit <= TOKENS; unit += 3, forms_seen++) {
                        run(forms[i], &in, unit, o2, s2);
                        assert_close(o, o2, TOKENS * VALUES, forms[i]);
                        assert_close(s, s2, KEYS * VALUES, forms[i]);
                    }
            }
    assert_true(forms_seen > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_computes_what_the_step_form_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
