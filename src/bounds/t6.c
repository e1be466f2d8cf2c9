/* T6: one full layer cannot compose two functions on a domain of D values when D·log2 D > H(d+1)p [PNP24,
 * Theorem 1]. No running maximum is among the d+1 numbers there; a partial softmax as it is computed has one,
 * so that what a token learns is M = H(d+2)p bits, and that is what is compared. Two of our hops with w fixed
 * are such a composition, on the domain [m]; and L >= 2 hops contain two, since the later functions, which
 * come first in the prompt, may hand on what they get. */
#include "room.h"

void hop__t6(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 2, "at least two hops");
    hop__suppose(c, b, s->full == 1, hop__say(c, "one full layer, %s", hop__say_here(c, s->full)));
    hop__suppose(c, b, s->linear == 0, hop__say(c, "no linear layers, %s", hop__say_here(c, s->linear)));
    if (!b->applies) return;
    fmpz_t domain;
    fmpz_init(domain);
    hop__least_table(domain, &s->reply);
    b->needs = c->by_sizes ? hop__say(c, "M >= m log2 m, m = %s", hop__say_integer(c, &c->sizes[0]))
                           : "M >= D log2 D bits";
    b->has = hop__say(c, "M = %sH(d+2)p = %s bits", hop__say_accumulators(c), hop__say_integer(c, &s->reply));
    const fmpz *table = c->by_sizes ? &c->sizes[0] : domain;
    b->has_bits = fmpz_get_d(&s->reply), b->needs_bits = fmpz_get_d(table) * hop__to_log2(table);
    hop__speak_at(c, b, domain, 1);
    if (c->by_sizes) hop__speak_here(c, b, hop__table_exceeds(&c->sizes[0], &s->reply));
    fmpz_clear(domain);
}
