/* What a line proves (lemma 3), in balls. With G(v) = 1 - e^-v - A·v + b·v·ln v, convex where v·e^-v <= b,
 * that is on [0, v_a] and from v_b on, v_a <= 1 <= v_b: G is least on one of these, G >= G(v_0) - |G'(v_0)|
 * on the first, which is no longer than 1, and G >= G(v_1) - v_1·G'(v_1) on the second if G'(v_1) >= 0. */
#include "draws.h"

#include <math.h>

/* G(v) and G'(v), v > 0. */
static void tangent(arb_t g, arb_t slope, const hop__line *line, const arb_t v, slong prec)
{
    arb_t decay, t;
    arb_init(decay), arb_init(t);
    arb_neg(decay, v);
    arb_exp(decay, decay, prec);
    arb_log(t, v, prec);
    arb_set_d(slope, line->b);
    arb_mul(t, t, slope, prec); /* b·ln v */
    arb_add(slope, slope, t, prec);
    arb_add(slope, slope, decay, prec);
    arb_set_d(g, line->a);
    arb_sub(slope, slope, g, prec);
    arb_sub(g, t, g, prec);
    arb_mul(g, g, v, prec);
    arb_sub(g, g, decay, prec);
    arb_add_ui(g, g, 1, prec);
    arb_clear(decay), arb_clear(t);
}

/* v·e^-v <= b? */
static bool convex_at(const arb_t v, double b, slong prec)
{
    arb_t t, limit;
    arb_init(t), arb_init(limit);
    arb_neg(t, v);
    arb_exp(t, t, prec);
    arb_mul(t, t, v, prec);
    arb_set_d(limit, b);
    bool convex = arb_le(t, limit);
    arb_clear(t), arb_clear(limit);
    return convex;
}

/* -C, from below. */
static bool lowest(arb_t low, const hop__line *line, slong prec)
{
    if (!(isfinite(line->a) && isfinite(line->b) && isfinite(line->v1) && line->b > 0 && line->v0 > 0 &&
          line->v0 <= 1 && line->v1 >= 1))
        return false;
    arb_t v0, v1, slope, other;
    arb_init(v0), arb_init(v1), arb_init(slope), arb_init(other);
    arb_set_d(v0, line->v0), arb_set_d(v1, line->v1);
    bool good = convex_at(v0, line->b, prec) && convex_at(v1, line->b, prec);
    tangent(other, slope, line, v1, prec);
    good = good && arb_is_nonnegative(slope);
    arb_submul(other, slope, v1, prec);
    tangent(low, slope, line, v0, prec);
    arb_abs(slope, slope);
    arb_sub(low, low, slope, prec);
    arb_min(low, low, other, prec);
    arb_clear(v0), arb_clear(v1), arb_clear(slope), arb_clear(other);
    return good;
}

/* b·λ·δ·ln 2 is what the missing entropy costs. */
static void subtract_loss(arb_t phi, const arb_t b, const arb_t lambda, const fmpq_t delta, slong prec)
{
    arb_t loss, two;
    arb_init(loss), arb_init(two);
    arb_set_fmpq(loss, delta, prec);
    arb_const_log2(two, prec);
    arb_mul(loss, loss, two, prec);
    arb_mul(loss, loss, lambda, prec);
    arb_submul(phi, loss, b, prec);
    arb_clear(loss), arb_clear(two);
}

/* 1 - e^-λ */
static void closed_form(arb_t phi, arb_t b, const arb_t lambda, slong prec)
{
    arb_neg(phi, lambda);
    arb_expm1(phi, phi, prec);
    arb_neg(phi, phi);
    arb_set_si(b, -1);
    arb_exp(b, b, prec);
}

/* λ·(A - b·ln λ) - C */
static bool by_line(arb_t phi, arb_t b, const hop__line *line, const arb_t lambda, slong prec)
{
    arb_t t;
    arb_init(t);
    arb_set_d(b, line->b);
    arb_log(t, lambda, prec);
    arb_mul(t, t, b, prec);
    arb_set_d(phi, line->a);
    arb_sub(phi, phi, t, prec);
    arb_mul(phi, phi, lambda, prec);
    bool good = lowest(t, line, prec);
    if (good) arb_add(phi, phi, t, prec);
    arb_clear(t);
    return good;
}

bool hop__draws_phi(arb_t phi, const hop__line *line, const fmpz_t x, const fmpz_t q, const fmpq_t delta,
                    slong prec)
{
    if (fmpz_sgn(x) <= 0 || fmpz_sgn(q) <= 0 || fmpq_sgn(delta) < 0) return false;
    bool good = true;
    arb_t lambda, b;
    arb_init(lambda), arb_init(b);
    arb_fmpz_div_fmpz(lambda, x, q, prec);
    if (line->b == 0)
        closed_form(phi, b, lambda, prec);
    else
        good = by_line(phi, b, line, lambda, prec);
    if (good) subtract_loss(phi, b, lambda, delta, prec);
    arb_clear(lambda), arb_clear(b);
    return good;
}
