/* Each function has the name that it has in proofs/Pow.v, where it is not C's own. */
#include "powers.h"

#define PRECISION 128
#define NEAR      1000 /* exponents this close are compared exactly */

/* x·2^e */
typedef struct enclosure {
    fmpz_t x, e;
} enclosure;

static void enclosure_init(enclosure *p)
{
    fmpz_init_set_ui(p->x, 1), fmpz_init(p->e);
}

static void enclosure_clear(enclosure *p)
{
    fmpz_clear(p->x), fmpz_clear(p->e);
}

/* Keeps the first 128 bits; what is dropped counts as nothing, or, `up`, as a whole unit. */
static void cut(enclosure *p, bool up)
{
    flint_bitcnt_t bits = fmpz_bits(p->x);
    if (bits <= PRECISION) return;
    fmpz_fdiv_q_2exp(p->x, p->x, bits - PRECISION);
    if (up) fmpz_add_ui(p->x, p->x, 1);
    fmpz_add_ui(p->e, p->e, bits - PRECISION);
}

/* base^exponent: squares from the highest bit on. */
static void power(enclosure *out, const hop__power *of, bool up)
{
    enclosure base;
    fmpz_one(out->x), fmpz_zero(out->e);
    flint_bitcnt_t bits = fmpz_bits(of->exponent);
    if (bits == 0) return;
    enclosure_init(&base);
    fmpz_set(base.x, of->base);
    cut(&base, up);
    fmpz_set(out->x, base.x), fmpz_set(out->e, base.e);
    for (flint_bitcnt_t i = bits - 1; i > 0; i--) {
        fmpz_mul(out->x, out->x, out->x);
        fmpz_mul_2exp(out->e, out->e, 1);
        if (fmpz_tstbit(of->exponent, i - 1)) {
            fmpz_mul(out->x, base.x, out->x);
            fmpz_add(out->e, base.e, out->e);
        }
        cut(out, up);
    }
    enclosure_clear(&base);
}

static void product(enclosure *out, const hop__power *of, int count, bool up)
{
    enclosure factor;
    enclosure_init(&factor);
    fmpz_one(out->x), fmpz_zero(out->e);
    for (int i = count - 1; i >= 0; i--) {
        power(&factor, &of[i], up);
        fmpz_mul(out->x, factor.x, out->x);
        fmpz_add(out->e, factor.e, out->e);
        cut(out, up);
    }
    enclosure_clear(&factor);
}

/* p < q */
static bool below(const enclosure *p, const enclosure *q)
{
    if (fmpz_is_zero(p->x)) return !fmpz_is_zero(q->x);
    fmpz_t gap, left, right;
    fmpz_init(gap), fmpz_init(left), fmpz_init(right);
    fmpz_sub(gap, q->e, p->e);
    bool less = false;
    if (fmpz_cmp_si(gap, NEAR) > 0) { /* x < 2^bits, and y >= 2^(bits-1) */
        fmpz_add_ui(left, p->e, fmpz_bits(p->x));
        fmpz_add_ui(right, q->e, fmpz_bits(q->x));
        less = !fmpz_is_zero(q->x) && fmpz_cmp(left, right) < 0;
    } else if (fmpz_sgn(gap) >= 0) {
        fmpz_mul_2exp(right, q->x, fmpz_get_ui(gap));
        less = fmpz_cmp(p->x, right) < 0;
    } else if (fmpz_cmp_si(gap, -NEAR) >= 0) {
        fmpz_neg(gap, gap);
        fmpz_mul_2exp(left, p->x, fmpz_get_ui(gap));
        less = fmpz_cmp(left, q->x) < 0;
    }
    fmpz_clear(gap), fmpz_clear(left), fmpz_clear(right);
    return less;
}

bool hop__products_less(const fmpz *shift, const hop__power *left, int lefts, const hop__power *right,
                        int rights)
{
    enclosure above, under;
    enclosure_init(&above), enclosure_init(&under);
    product(&above, left, lefts, true);
    fmpz_add(above.e, above.e, shift);
    product(&under, right, rights, false);
    bool less = below(&above, &under);
    enclosure_clear(&above), enclosure_clear(&under);
    return less;
}
