/* P5: one full layer and no linear one. The last token's query does not know z_0, so the reply to it, M =
 * H(d+2)p bits from z_1's player, must carry all of z_1: M >= m·log2 m. More hops contain one, since the
 * later functions may hand on what they get. */
#include "certificate.h"

void hop__p5(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, s->full == 1, hop__say(c, "one full layer, %s", hop__say_here(c, s->full)));
    hop__suppose(c, b, s->linear == 0, hop__say(c, "no linear layers, %s", hop__say_here(c, s->linear)));
    if (!b->applies) return;
    fmpz_t m;
    fmpz_init(m);
    hop__least_table(m, &s->reply);
    b->needs = c->by_sizes ? hop__say(c, "M >= m log2 m, m = %s", hop__say_integer(c, &c->sizes[0]))
                           : "M >= m log2 m bits";
    b->has = hop__say(c, "M = %sH(d+2)p = %s bits", hop__say_accumulators(c), hop__say_integer(c, &s->reply));
    bool here = c->by_sizes && hop__table_exceeds(&c->sizes[0], &s->reply);
    hop__certify(c, b, &(hop__proof){.by = "P5"}, here ? c->sizes : m, here ? c->hops : 1);
    hop__speak_at(c, b, m, 1);
    if (c->by_sizes) hop__speak_here(c, b, here);
    fmpz_clear(m);
}
