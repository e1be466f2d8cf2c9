/* The images of P6 and P7G as the checker sees them (proofs/CheckHops.v). */
#include "p6_search.h"

/* (k - N)·ln(1 - k/N) */
static void the_rest(arb_t out, const fmpz_t k, const fmpz_t table, slong prec)
{
    fmpz_t f;
    fmpz_init(f);
    arb_set_fmpz(out, k);
    arb_div_fmpz(out, out, table, prec);
    arb_neg(out, out);
    arb_log1p(out, out, prec);
    fmpz_sub(f, k, table);
    arb_mul_fmpz(out, out, f, prec);
    fmpz_clear(f);
}

/* ln(N/k) */
static void log_part(arb_t out, const fmpz_t k, const fmpz_t table, slong prec)
{
    arb_set_fmpz(out, table);
    arb_div_fmpz(out, out, k, prec);
    arb_log(out, out, prec);
}

void hop__p6_image(arb_t choices, arb_t each, const fmpz_t k, const fmpz_t table, slong prec)
{
    arb_t t;
    arb_init(t);
    log_part(each, k, table, prec);
    arb_mul_fmpz(choices, each, k, prec);
    if (fmpz_bits(k) + HOP__P6_SMALL_PART < fmpz_bits(table)) {
        arb_log_ui(t, 3, prec);
        arb_mul_fmpz(t, t, k, prec);
    } else {
        the_rest(t, k, table, prec);
    }
    arb_add(choices, choices, t, prec);
    arb_const_log2(t, prec);
    arb_div(choices, choices, t, prec);
    arb_div(each, each, t, prec);
    arb_clear(t);
}
