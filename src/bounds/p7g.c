/* P7G: L full layers, L hops, no linear layer before the first: P6 with one full layer more, found by the
 * same search and verified by conditions of its own (p7g_verify.c). More hops contain L of them. For two full
 * layers P7 is sharper; this one is kept as a check. */
#include "p6.h"

void hop__p7g(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, s->full >= 2, hop__say(c, "at least two full layers, %s", hop__say_here(c, s->full)));
    hop__suppose(
        c, b, s->full <= c->hops,
        hop__say(c, "at most L = %s, %s", hop__say_layers(c, c->hops, "full"), hop__say_here(c, s->full)));
    hop__suppose_nothing_first(c, b);
    if (b->applies) hop__p6_speak(c, b, true);
}
