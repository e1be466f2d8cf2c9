/* T2: L-1 full layers with up to 2^(3L²) linear layers before, between and after them cannot make L hops when
 * Hdp <= n^(2^(-4L-2)), that is from n = (Hdp)^(2^(4L+2)) on [YHLWL26, Theorem 1.1].
 *
 * The theorem's linear layers are linear attention with the heads of the full ones: H(d²+d)p bits of state. A
 * recurrence with more is counted as if d were larger, so large that its state fits; the theorem then speaks
 * of the larger machine. Where there are fewer than L-1 full layers, layers that do nothing may be put
 * anywhere, also to cut a long gap into pieces. */
#include "room.h"

/* The least d' >= d with H(d'² + d')p >= S. */
static void covering_dim(fmpz_t out, const hop__hybrid *s)
{
    fmpz_t share, unit, root;
    fmpz_init(share), fmpz_init(unit), fmpz_init(root);
    fmpz_set_si(out, s->dim);
    fmpz_set_si(unit, s->heads);
    fmpz_mul_si(unit, unit, s->bits);
    fmpz_cdiv_q(share, &s->largest, unit); /* d'² + d' >= share */
    fmpz_sqrt(root, share);
    if (!fmpz_is_zero(root)) fmpz_sub_ui(root, root, 1);
    for (;; fmpz_add_ui(root, root, 1)) {
        fmpz_add_ui(unit, root, 1);
        fmpz_mul(unit, unit, root);
        if (fmpz_cmp(unit, share) >= 0) break;
    }
    if (fmpz_cmp(root, out) > 0) fmpz_set(out, root);
    fmpz_clear(share), fmpz_clear(unit), fmpz_clear(root);
}

/* Do the gaps, long ones cut into pieces, fit the theorem's L gaps? */
static bool gaps_fit(const hop__hybrid *s, int hops)
{
    fmpz_t most, pieces, total;
    fmpz_init(most), fmpz_init(pieces), fmpz_init(total);
    fmpz_one_2exp(most, 3 * (ulong)hops * (ulong)hops);
    for (int64_t e = 0; e <= s->full; e++) {
        fmpz_set_si(pieces, s->layers[e]);
        fmpz_cdiv_q(pieces, pieces, most);
        if (fmpz_is_zero(pieces)) fmpz_one(pieces);
        fmpz_add(total, total, pieces);
    }
    bool fit = fmpz_cmp_si(total, hops) <= 0;
    fmpz_clear(most), fmpz_clear(pieces), fmpz_clear(total);
    return fit;
}

void hop__t2(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    bool few = hop__suppose(c, b, s->full <= c->hops - 1,
                            hop__say(c, "at most L-1 = %s, %s", hop__say_layers(c, c->hops - 1, "full"),
                                     hop__say_here(c, s->full)));
    hop__suppose(c, b, few && gaps_fit(s, c->hops),
                 hop__say(c, "at most 2^%d linear layers in each gap", 3 * c->hops * c->hops));
    if (!b->applies) return;
    fmpz_t base, exponent, dim;
    fmpz_init(exponent), fmpz_init(dim), fmpz_init(base);
    covering_dim(dim, s);
    fmpz_set_si(base, s->heads);
    fmpz_mul_si(base, base, s->bits);
    fmpz_mul(base, base, dim);
    if (fmpz_cmp(base, &s->width) < 0) fmpz_set(base, &s->width);
    if (fmpz_cmp_ui(base, 2) < 0) fmpz_set_ui(base, 2);
    fmpz_one_2exp(exponent, 4 * (ulong)c->hops + 2);
    b->needs = hop__say(c, "Hdp > n^(2^-%d)", 4 * c->hops + 2);
    b->has = fmpz_cmp_si(dim, s->dim) > 0
                 ? hop__say(c, "Hdp = %s (states of %s bits count as d = %s)", hop__say_integer(c, base),
                            hop__say_integer(c, &s->largest), hop__say_integer(c, dim))
                 : hop__say(c, "Hdp = %s", hop__say_integer(c, base));
    hop__weigh_power(c, b, base, 4 * c->hops + 2);
    hop__speak_from_power(c, b, base, exponent);
    fmpz_clear(base), fmpz_clear(exponent), fmpz_clear(dim);
}
