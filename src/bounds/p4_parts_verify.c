/* The inequality of P4', from the integers alone. With x_0·q <= m and δ = A_0/(x_0·q), two hops are
 * impossible if
 *
 *     n_1·x_0·q·Φ(x_1/q, δ)·log2(m·n_1)  >  (n_1+1)·x_0·M + x_1·A_1 + A_0. */
#include "count.h"

static void sides_difference(arb_t out, const void *ctx, slong prec)
{
    const hop__chosen *c = ctx;
    const fmpz *m = &c->sizes[0], *fan = &c->sizes[1], *starts = &c->of[0], *q = &c->of[1],
               *draws = &c->of[2];
    arb_t phi;
    fmpz_t f, values;
    fmpq_t delta;
    arb_init(phi), fmpz_init(f), fmpz_init(values), fmpq_init(delta);
    fmpz_mul(values, starts, q);
    fmpq_set_fmpz_frac(delta, &c->state[0], values);
    if (!hop__draws_phi(phi, &c->line, draws, q, delta, prec)) arb_indeterminate(phi);
    fmpz_mul(f, m, fan);
    hop__log2(out, f, prec);
    arb_mul(out, out, phi, prec);
    fmpz_mul(values, values, fan);
    arb_mul_fmpz(out, out, values, prec);
    fmpz_add_ui(f, fan, 1);
    fmpz_mul(f, f, starts);
    fmpz_mul(f, f, c->reply);
    fmpz_addmul(f, draws, &c->state[1]);
    fmpz_add(f, f, &c->state[0]);
    arb_sub_fmpz(out, out, f, prec);
    arb_clear(phi), fmpz_clear(f), fmpz_clear(values), fmpq_clear(delta);
}

bool hop__p4_parts_verify(const hop__chosen *c)
{
    fmpz_t values;
    fmpz_init(values);
    bool good = fmpz_cmp_ui(&c->sizes[0], 2) >= 0 && fmpz_cmp_ui(&c->sizes[1], 2) >= 0;
    for (int k = 0; k < 3; k++) good = good && fmpz_sgn(&c->of[k]) > 0;
    fmpz_mul(values, &c->of[0], &c->of[1]);
    good = good && fmpz_cmp(values, &c->sizes[0]) <= 0 && hop__sign(sides_difference, c) > 0;
    fmpz_clear(values);
    return good;
}
