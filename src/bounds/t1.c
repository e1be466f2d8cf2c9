/* T1: L full layers and nothing else cannot make L hops when Hdp <= n^(2^(-4L)), that is from n =
 * (Hdp)^(2^(4L)) on [CPW24, Theorem 1.1]. Fewer full layers are a special case: a layer can do nothing. The
 * sizes are those of its proof. Quoted at Hdp >= 2: below that the statement leaves constants open. It
 * supposes L <= O~(log log n), whose constants it leaves open, too; at the n that is quoted log2 log2 n is
 * 4L + log2 log2 Hdp, at least 4L. */
#include "room.h"

void hop__t1(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, s->full >= 1, "a full layer");
    hop__suppose(
        c, b, s->full <= c->hops,
        hop__say(c, "at most L = %s, %s", hop__say_layers(c, c->hops, "full"), hop__say_here(c, s->full)));
    hop__suppose(c, b, s->linear == 0, hop__say(c, "no linear layers, %s", hop__say_here(c, s->linear)));
    if (!b->applies) return;
    hop__note(
        c, b, true,
        "L <= O~(log log n), with constants that are not stated; from the n quoted on, 4L <= log2 log2 n");
    fmpz_t base, exponent;
    fmpz_init(exponent);
    fmpz_init_set(base, &s->width);
    if (fmpz_cmp_ui(base, 2) < 0) fmpz_set_ui(base, 2);
    fmpz_one_2exp(exponent, 4 * (ulong)c->hops);
    b->needs = hop__say(c, "Hdp > n^(2^-%d), or L > O~(log log n)", 4 * c->hops);
    b->has = hop__say(c, "Hdp = %s", hop__say_integer(c, base));
    hop__weigh_power(c, b, base, 4 * c->hops);
    hop__speak_from_power(c, b, base, exponent);
    fmpz_clear(base), fmpz_clear(exponent);
}
