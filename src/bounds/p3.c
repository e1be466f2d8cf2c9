/* P3: how often a stack without full layers can be right. With z_L uniform and independent of the rest and
 * the entry asked for uniform, the accuracy is at most a = 1 - D, D the root in [0, 1-1/N] of
 *
 *     R(D) = log2 N - h(D) - D·log2(N-1) = Q/N,
 *
 * the converse of the rate-distortion theorem for a uniform N-ary source under Hamming distortion, which
 * holds at every block length. R falls with D, so it grows with a on [1/N, 1]; the root is bracketed between
 * neighbouring doubles, each side decided by balls, and the upper one is given. */
#include "room.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct rate_case {
    const fmpz *table, *bits;
    double accuracy;
} rate_case;

/* x·log2 x, 0 at 0; x is exact. */
static void x_log_x(arb_t out, const arb_t x, slong prec)
{
    if (arb_is_zero(x)) {
        arb_zero(out);
        return;
    }
    arb_log_base_ui(out, x, 2, prec);
    arb_mul(out, out, x, prec);
}

/* R(1 - a) - Q/N = log2 N + a log2 a + (1-a) log2 (1-a) - (1-a) log2(N-1) - Q/N */
static void rate_excess(arb_t out, const void *ctx, slong prec)
{
    const rate_case *r = ctx;
    arb_t a, d, t;
    fmpz_t less;
    arb_init(a), arb_init(d), arb_init(t), fmpz_init(less);
    arb_set_d(a, r->accuracy);
    arb_sub_ui(d, a, 1, ARF_PREC_EXACT);
    arb_neg(d, d);
    hop__log2(out, r->table, prec);
    x_log_x(t, a, prec);
    arb_add(out, out, t, prec);
    x_log_x(t, d, prec);
    arb_add(out, out, t, prec);
    fmpz_sub_ui(less, r->table, 1);
    hop__log2(t, less, prec);
    arb_submul(out, t, d, prec);
    arb_set_fmpz(t, r->bits);
    arb_div_fmpz(t, t, r->table, prec);
    arb_sub(out, out, t, prec);
    arb_clear(a), arb_clear(d), arb_clear(t), fmpz_clear(less);
}

double hop__accuracy_ceiling(const fmpz_t table, const fmpz_t bits)
{
    double entries = fmpz_get_d(table), low = 1 / entries, high = 1;
    if (!hop__table_exceeds(table, bits)) return 1;
    if (fmpz_is_zero(bits)) return low * entries < 1 ? nextafter(low, 1) : low;
    for (;;) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) return high;
        rate_case r = {table, bits, middle};
        if (hop__sign(rate_excess, &r) > 0)
            high = middle;
        else
            low = middle;
    }
}

hop_status hop_accuracy_ceiling(double *out, int64_t table, double state_bits, hop_error *err)
{
    if (table < 2)
        return hop_fail(err, HOP_EDOMAIN, "table: %lld entries are fewer than 2", (long long)table);
    if (!(state_bits >= 0) || isinf(state_bits) || floor(state_bits) != state_bits)
        return hop_fail(err, HOP_EDOMAIN, "state: %g bits are no whole number from 0 on", state_bits);
    fmpz_t n, q;
    fmpz_init_set_si(n, table), fmpz_init(q);
    fmpz_set_d(q, state_bits);
    *out = hop__accuracy_ceiling(n, q);
    fmpz_clear(n), fmpz_clear(q);
    hop_bounds_leave(); /* trainings ask from threads that end */
    return HOP_OK;
}

void hop_accuracy_print(char out[32], double ceiling)
{
    for (int digits = 6; digits <= 17; digits++) {
        double unit = pow(10, floor(log10(ceiling)) - digits + 1);
        snprintf(out, 32, "%.*g", digits, ceiling);
        for (int k = 1; k <= 2 && strtod(out, NULL) < ceiling; k++) /* the nearest is below: the next one */
            snprintf(out, 32, "%.*g", digits, ceiling + k * 0.75 * unit);
        double shown = strtod(out, NULL);
        if (shown >= ceiling && (shown < 1 || ceiling >= 1)) return;
    }
}

void hop__p3(hop__case *c, hop_bound *b)
{
    if (!hop__linear_only(c, b)) return;
    fmpz_t table;
    fmpz_init(table);
    b->has = hop__say(c, "Q = %s state bits", hop__say_integer(c, &c->hybrid.total));
    if (!hop__asked_table(c, table)) {
        b->why = c->asked ? "no sizes of that many hops fit the length"
                          : "no length given: the ceiling depends on it";
    } else {
        double most = hop__accuracy_ceiling(table, &c->hybrid.total);
        b->answer = most < 1 ? HOP_ANSWER_IMPOSSIBLE : HOP_ANSWER_SILENT;
        b->needs = "Q/N >= R(0) = log2 N bits an entry";
        b->has_bits = fmpz_get_d(&c->hybrid.total) / fmpz_get_d(table), b->needs_bits = hop__to_log2(table);
        char ceiling[32];
        hop_accuracy_print(ceiling, most);
        b->why = most < 1 ? hop__say(c, "accuracy at most %s on random tables of N = %s entries", ceiling,
                                     hop__say_integer(c, table))
                          : "the states are large enough for every table: no ceiling below 1";
    }
    fmpz_clear(table);
}
