/* What whole recurrences and means are charged, beside what float32 makes of them; and how often their one product is
 * rounded. Primitives: test_prove_charges.c. */
#include "test.h"

#include <hopbound/base.h>
#include <hopbound/kernels.h>

#include "charge.h"
#include "analysis.h"

#include "charged.h"

/* ---- whole recurrences --------------------------------------------------------------------------------- */

enum { TOKENS = 1 << 12 };

/* One number of a state over many tokens, token by token: o = scale q S, S = e S + k v. */
static void expect_recurrence(double g, const float *kv, double q, const char *what)
{
    hop__memory m = {0};
    hop__recurrence r = {.keys = 1, .values = 1, .tokens = TOKENS, .growth = 1, .amp = 1};
    assert_true(hop__recurrence_open(&m, &r, hop_scan_programs(HOP_ARITH_DECAY, HOP_GATE_TOKEN, false)));
    double most = 0;
    r.active = 0;
    for (int t = 0; t < TOKENS; t++) most = fmax(most, fabs((double)kv[t])), r.active += kv[t] != 0;
    const struct {
        const char *name;
        double lo, hi;
    } given[] = {{"g", g, g}, {"q", q, q}, {"k", -most, most}, {"v", 0.75, 0.75}, {"scale", 0.75, 0.75}};
    for (int i = 0; i < 5; i++)
        r.given[r.count++] =
            (hop__given){given[i].name, hop__num_given((ival){given[i].lo, given[i].hi}, HOP__NO_GRID)};
    hop__charge c = hop__recurrence_charge(&r);
    assert_true(c.fits);
    const double e = fabs(g) <= HOP_EXP_ONE ? 1 : exp(g);
    long double x = 0, X = 0;
    split h = split_of(e);
    float S = 0;
    for (int t = 0; t < TOKENS; t++) {
        float new = kv[t] * 0.75f;
        S = h.hi * S + (h.lo * S + new);
        x = x * expl(g) + (long double)kv[t] * 0.75L, X = X * expl(g) + fabsl(kv[t] * 0.75L);
    }
    double y = (float)q * S * 0.75f;
    x *= q * 0.75L, X *= q * 0.75L;
    if (!(fabsl(y - x) <= c.rel * X + c.abs))
        fail_msg("%s: %.12Lg is formed as %.9g, off by more than %.3g of %.9Lg and %.3g", what, x, y, c.rel,
                 X, c.abs);
    hop__memory_free(&m);
}

static void recurrences_are_off_by_what_they_are_charged(void **state)
{
    static float kv[TOKENS];
    (void)state;
    for (int t = 0; t < TOKENS; t++) kv[t] = t ? 0x1p-24f : 1;
    expect_recurrence(0, kv, 1, "what a state does not see");
    for (int t = 0; t < TOKENS; t++) kv[t] = t ? 0 : 1;
    expect_recurrence(-0.99 * HOP_EXP_ONE, kv, 1, "decays that are taken for 1");
    for (int t = 0; t < TOKENS; t++) kv[t] = 0x1p-148f; /* three quarters are rounded to 2 units */
    expect_recurrence(0, kv, 1, "what is below the normal numbers");
    hop_rng rng;
    hop_rng_init(&rng, 13, 1);
    for (int i = 0; i < 40; i++) {
        const double g = i % 4 == 0 ? 0 : -ldexp(hop_rng_uniform(&rng), -1 - below(&rng, 14)),
                     size = i % 3 ? 1 : 0x1p-120;
        for (int t = 0; t < TOKENS; t++) kv[t] = (float)(size * hop_rng_normal(&rng));
        expect_recurrence((float)g, kv, 1 + hop_rng_uniform(&rng), "any");
    }
    for (int i = 0; i < 200; i++) { /* one token: what is written and read is rounded */
        memset(kv, 0, sizeof kv);
        kv[TOKENS - 1] = 1 + (float)hop_rng_uniform(&rng);
        expect_recurrence(0, kv, (float)(1 + hop_rng_uniform(&rng)), "one");
    }
}

/* One token, many keys: the first counts, the others float32 does not see beside it. */
static void what_is_read_of_many_keys_is_off_by_what_it_is_charged(void **state)
{
    enum { KEYS = 64 };
    hop__memory m = {0};
    hop__recurrence r = {.keys = KEYS, .values = 1, .tokens = 1, .active = 1, .growth = 1, .amp = 1};
    const struct {
        const char *name;
        double lo;
    } given[] = {{"g", 0}, {"q", 1}, {"k", 0x1p-24}, {"v", 1}, {"scale", 1}};
    (void)state;
    assert_true(hop__recurrence_open(&m, &r, hop_scan_programs(HOP_ARITH_DECAY, HOP_GATE_NONE, false)));
    for (int i = 0; i < 5; i++) {
        ival range = {given[i].lo, i ? 1 : 0};
        r.given[r.count++] = (hop__given){given[i].name, hop__num_given(range, HOP__NO_GRID)};
    }
    const hop__charge c = hop__recurrence_charge(&r);
    float o = 0;
    for (int k = 0; k < KEYS; k++) o += k ? 0x1p-24f : 1;
    const double x = 1 + (KEYS - 1) * 0x1p-24;
    assert_true(c.fits && fabs(o - x) <= c.rel * x + c.abs);
    hop__memory_free(&m);
}

/* A block's keys add up to more than float32 has, where no key or score is large. */
static void keys_of_blocks_that_overflow_do_not_fit(void **state)
{
    hop_op op = {.kind = HOP_OP_SPARSE,
                 .heads = 1,
                 .kv_heads = 1,
                 .key_dim = 2,
                 .value_dim = 2,
                 .block = 64,
                 .scale = 1};
    const hop__attended a = {.q = 1e-33, .k = 5e36, .v = 1, .score = 2e4, .seen = 1};
    (void)state;
    assert_false(hop__attention_charge(&op, &a).fits);
    op.block = 0;
    assert_true(hop__attention_charge(&op, &a).fits);
}

/* The first weighs 1, all others less than float32 sees beside it. */
static void means_are_off_by_what_they_are_charged(void **state)
{
    (void)state;
    for (int64_t n = 16; n <= 1 << 16; n *= 4) {
        const float w = 0x1p-24f; /* of e^0, a score 16.6 below the largest; values 1 and 0 */
        float z = 1, y = 1;
        for (int64_t i = 1; i < n; i++) z += w, y += 0;
        long double x = 1 / (1 + (long double)(n - 1) * w);
        assert_true(fabsl(y / z - x) <= hop__attention_error(n) * x);
    }
}

/* Each rounding of docs/THEORY.md section 6.11, all of them one way; of tokens in blocks, for the players of 62 hops. */
static void no_rounding_of_a_mean_is_left_out(void **state)
{
    const long double u = HOP_UNIT_ROUNDOFF, e = HOP_EXP_ERROR;
    (void)state;
    for (int64_t n = 1; n <= 1 << 22; n *= 2) {
        const int64_t rescalings = n / HOP_ATTN_BLOCK + 2 * (62 + 2);
        long double sum = (1 + e) * (1 + u) * expl(88 * u);
        for (int64_t i = 0; i < rescalings; i++) sum *= (1 + e) * (1 + u) * (1 + u);
        for (int64_t i = 0; i < n; i++) sum *= 1 + u;
        const double said = hop__attention_error(n);
        assert_true(sum - 1 <= said && 1 - 1 / sum <= said);
        assert_true(n > 64 || said <= 1.05 * (double)(sum - 1)); /* and little else is charged */
        if (said >= 1) continue;
        const hop_op op = {.heads = 1, .kv_heads = 1, .key_dim = 1, .value_dim = 1, .scale = 1};
        const hop__attended a = {.q = 1, .k = 1, .v = 1, .score = 1, .seen = n};
        const hop__attention_loss loss = hop__attention_charge(&op, &a);
        assert_true(loss.fits && (1 + said) / (1 - said) * (1 + (double)u) - 1 <= loss.mean.rel);
    }
}

/* ---- one product ---------------------------------------------------------------------------------------- */

/* Where a token is that one reads: it is that one; before it in its unit; in an earlier unit. */
typedef enum where { OWN, BEFORE, EARLIER } where;

/* One number of each quantity. Every product is formed too large by a unit, decays are 1, and what corrects is 0. */
static double formed_line(const hop_arith *p, const double *v, where at, double state, int i)
{
    const double a = p->a[i] < 0 ? 0 : v[p->a[i]], b = p->b[i] < 0 ? 0 : v[p->b[i]],
                 c = p->c[i] < 0 ? 0 : v[p->c[i]];
    const char *name = p->line[i]->name;
    switch (p->line[i]->prim) {
    case HOP_PRIM_INPUT:
        if (strcmp(name, "S") == 0) return state;
        if (strcmp(name, "g") == 0 || strcmp(name, "a") == 0 || strcmp(name, "b") == 0) return 0;
        if (strcmp(name, "u") == 0) return at == OWN;
        return at < EARLIER || strcmp(name, "q") == 0 || strcmp(name, "scale") == 0;
    case HOP_PRIM_NUMBER: return p->line[i]->value;
    case HOP_PRIM_MUL:
    case HOP_PRIM_RATIO: return a * b * (1 + HOP_UNIT_ROUNDOFF);
    case HOP_PRIM_RECIP: return 1 / a * (1 + HOP_UNIT_ROUNDOFF);
    case HOP_PRIM_DEC: return p->b[i] < 0 ? a : a * b * (1 + HOP_UNIT_ROUNDOFF);
    case HOP_PRIM_EXP: return exp(a);
    case HOP_PRIM_STRICT: return at == BEFORE ? a : 0;
    case HOP_PRIM_ADD:
    case HOP_PRIM_SUM:
    case HOP_PRIM_SUM2: return a + b + c;
    case HOP_PRIM_PART:
    case HOP_PRIM_EITHER: return fmax(a, b);
    case HOP_PRIM_SUB: return a - b;
    case HOP_PRIM_FADE: return a * b + c;
    case HOP_PRIM_SOLVE: return a + p->line[i]->value * b;
    default: return a;
    }
}

static double formed_of_one(const hop_arith *p, where at, double *state)
{
    double v[HOP_ARITH_LINES] = {0};
    for (int i = 0; i < p->count; i++) v[i] = formed_line(p, v, at, *state, i);
    *state = v[p->next];
    return v[p->reads];
}

static double units_formed(const hop_arith *p)
{
    double state = 0, none = 0, own = formed_of_one(p, OWN, &state), before = formed_of_one(p, BEFORE, &none);
    double most = fmax(fmax(own, before), formed_of_one(p, EARLIER, &state));
    return log(most) / log1p(HOP_UNIT_ROUNDOFF);
}

static void one_product_is_rounded_as_often_as_is_said(void **state)
{
    static const hop_arith_scan scans[] = {HOP_ARITH_DECAY, HOP_ARITH_DELTA, HOP_ARITH_DPLR};
    int forms = 0;
    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (int gate = HOP_GATE_NONE; gate <= HOP_GATE_KEY; gate++)
            for (int bonus = 0; bonus < (s == 0 ? 2 : 1); bonus++) {
                const hop_program *const *form = hop_scan_programs(scans[s], (hop_gate)gate, bonus);
                for (int i = 0; form[i]; i++, forms++) {
                    hop_arith p;
                    hop_arith_open(&p, form[i]);
                    const double said = hop__product_units(&p), found = units_formed(&p);
                    if (!(found > 2.5 && fabs(said - found) < 0.01))
                        fail_msg("%s, %s: rounded %g times, said %g", form[i]->op, form[i]->form, found,
                                 said);
                }
            }
    assert_true(forms > 30);
}

/* Gates that are no decays of 1, and quotients. */
static void of_other_recurrences_nothing_is_said_of_one_product(void **state)
{
    const hop_program *const *form = hop_scan_programs(HOP_ARITH_MLSTM, HOP_GATE_TOKEN, false);
    (void)state;
    for (int i = 0; form[i]; i++) {
        hop_arith p;
        hop_arith_open(&p, form[i]);
        assert_true(hop__product_units(&p) == INFINITY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrences_are_off_by_what_they_are_charged),
        cmocka_unit_test(what_is_read_of_many_keys_is_off_by_what_it_is_charged),
        cmocka_unit_test(keys_of_blocks_that_overflow_do_not_fit),
        cmocka_unit_test(means_are_off_by_what_they_are_charged),
        cmocka_unit_test(no_rounding_of_a_mean_is_left_out),
        cmocka_unit_test(one_product_is_rounded_as_often_as_is_said),
        cmocka_unit_test(of_other_recurrences_nothing_is_said_of_one_product),
    };
    return cmocka_run_group_tests_name("prove_charged_scans", tests, NULL, NULL);
}
