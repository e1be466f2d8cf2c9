/* Balls until they decide; integers of any size in few digits. */
#include "numbers.h"

#include <math.h>
#include <string.h>

#define FIRST_PRECISION 64
#define LAST_PRECISION  4096 /* bits: what is still open then is an equality */

int hop__sign(hop__real_fn *f, const void *ctx)
{
    int sign = 0;
    arb_t x;
    arb_init(x);
    for (slong prec = FIRST_PRECISION; sign == 0 && prec <= LAST_PRECISION; prec *= 4) {
        f(x, ctx, prec);
        if (arb_is_zero(x)) break;
        sign = arb_is_positive(x) ? 1 : arb_is_negative(x) ? -1 : 0;
    }
    arb_clear(x);
    return sign;
}

bool hop__ceiling(fmpz_t out, hop__real_fn *f, const void *ctx)
{
    bool known = false;
    arb_t x;
    arb_init(x);
    for (slong prec = FIRST_PRECISION; !known && prec <= LAST_PRECISION; prec *= 2) {
        f(x, ctx, prec);
        arb_ceil(x, x, prec);
        known = arb_get_unique_fmpz(out, x);
    }
    arb_clear(x);
    return known;
}

void hop__log2(arb_t out, const fmpz_t x, slong prec)
{
    arb_t two;
    arb_init(two);
    arb_log_fmpz(out, x, prec + 8);
    arb_const_log2(two, prec + 8);
    arb_div(out, out, two, prec);
    arb_clear(two);
}

/* ---- N log2 N ------------------------------------------------------------------------------ */

typedef struct table_case {
    const fmpz *table, *bits;
} table_case;

static void table_excess(arb_t out, const void *ctx, slong prec)
{
    const table_case *t = ctx;
    hop__log2(out, t->table, prec);
    arb_mul_fmpz(out, out, t->table, prec);
    arb_sub_fmpz(out, out, t->bits, prec);
}

bool hop__table_exceeds(const fmpz_t table, const fmpz_t bits)
{
    table_case t = {table, bits};
    return hop__sign(table_excess, &t) > 0;
}

/* N·log2 N grows with N. */
void hop__least_table(fmpz_t out, const fmpz_t bits)
{
    fmpz_t low, high, middle;
    fmpz_init_set_ui(low, 1); /* does not exceed: 0 */
    fmpz_init_set_ui(high, 2);
    fmpz_init(middle);
    while (!hop__table_exceeds(high, bits)) {
        fmpz_set(low, high);
        fmpz_mul_2exp(high, high, 1);
    }
    for (;;) {
        fmpz_sub(middle, high, low);
        if (fmpz_is_one(middle)) break;
        fmpz_fdiv_q_2exp(middle, middle, 1);
        fmpz_add(middle, middle, low);
        fmpz_set(hop__table_exceeds(middle, bits) ? high : low, middle);
    }
    fmpz_set(out, high);
    fmpz_clear(low);
    fmpz_clear(high);
    fmpz_clear(middle);
}

/* ---- logarithms ---------------------------------------------------------------------------- */

double hop__to_log2(const fmpz_t x)
{
    if (fmpz_sgn(x) <= 0) return -INFINITY;
    slong exponent;
    double part = fmpz_get_d_2exp(&exponent, x);
    return log2(part) + (double)exponent;
}

double hop__log10(const fmpz_t x)
{
    return hop__to_log2(x) * 0.30102999566398119521;
}

void hop__from_log2(fmpz_t out, double log2_of_it)
{
    if (log2_of_it <= 0) {
        fmpz_one(out);
    } else if (log2_of_it < 52) {
        fmpz_set_d(out, floor(exp2(log2_of_it) + 0.5));
    } else {
        double whole = floor(log2_of_it);
        fmpz_set_d(out, floor(exp2(log2_of_it - whole + 52)));
        fmpz_mul_2exp(out, out, (ulong)whole - 52);
    }
}

/* x·2^by */
void hop__scaled(fmpz_t out, const fmpz_t x, double by)
{
    double whole = floor(by);
    fmpz_t part;
    fmpz_init(part);
    fmpz_set_d(part, floor(exp2(by - whole + 50)));
    fmpz_mul(out, x, part);
    fmpz_clear(part);
    slong places = (slong)whole - 50;
    if (places >= 0)
        fmpz_mul_2exp(out, out, (ulong)places);
    else
        fmpz_fdiv_q_2exp(out, out, (ulong)-places);
    if (fmpz_sgn(out) <= 0) fmpz_one(out);
}

/* ---- words --------------------------------------------------------------------------------- */

void hop__print_power(hop_text *out, double log10_of_it)
{
    hop_text_printf(out,
                    log10_of_it < 100   ? "10^%.2f"
                    : log10_of_it < 1e7 ? "10^%.1f"
                                        : "10^(%.3g)",
                    log10_of_it);
}

void hop__print_integer(hop_text *out, const fmpz_t x)
{
    if (fmpz_sizeinbase(x, 2) > 62) {
        hop__print_power(out, hop__log10(x));
        return;
    }
    char digits[32];
    fmpz_get_str(digits, 10, x);
    if (strlen(digits) > HOP__EXACT_DIGITS)
        hop__print_power(out, hop__log10(x));
    else
        hop_text_add(out, digits);
}
