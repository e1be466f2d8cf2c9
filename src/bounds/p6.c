/* P6: L-1 full layers, linear layers in every gap, L hops, at finite sizes. Sizes of the task and the proof's
 * own numbers x_l, s_l are searched (p6_search.c) and verified (p6_verify.c). With F < L-1 full layers the
 * theorem is used for F+1 hops, which L hops contain: the later functions hand on what they get. */
#include "certificate.h"
#include "p6.h"

void hop__p6_init(hop__p6_numbers *p, int hops, bool whole, const fmpz *state, const fmpz *reply)
{
    *p = (hop__p6_numbers){.hops = hops, .whole = whole, .state = state, .reply = reply};
}

bool hop__p6_holds(const hop__p6_numbers *p)
{
    return p->whole ? hop__p7g_verify(p, NULL) : hop__p6_verify(p, NULL);
}

void hop__p6_clear(hop__p6_numbers *p)
{
    for (int l = 0; l < p->hops; l++) fmpz_clear(&p->sizes[l]), fmpz_clear(&p->x[l]), fmpz_clear(&p->s[l]);
}

void hop__p6_set(hop__p6_numbers *to, const hop__p6_numbers *from)
{
    for (int l = 0; l < from->hops; l++) {
        fmpz_set(&to->sizes[l], &from->sizes[l]);
        fmpz_set(&to->x[l], &from->x[l]);
        fmpz_set(&to->s[l], &from->s[l]);
    }
}

/* x_0, x_1, s_1, .. */
static void certify(hop__case *c, hop_bound *b, const hop__p6_numbers *p)
{
    static const char *const names[] = {"x_0", "x_1", "s_1", "x_2", "s_2", "x_3", "s_3", "x_4",
                                        "s_4", "x_5", "s_5", "x_6", "s_6", "x_7", "s_7"};
    hop__proof proof = {.by = p->whole ? "P7G" : "P6", .names = names, .count = 2 * p->hops - 1};
    b->certificate = NULL; /* of other sizes */
    fmpz_set(&proof.of[0], &p->x[0]);
    for (int l = 1; l < p->hops; l++)
        fmpz_set(&proof.of[2 * l - 1], &p->x[l]), fmpz_set(&proof.of[2 * l], &p->s[l]);
    hop__certify(c, b, &proof, p->sizes, p->hops);
    hop__proof_clear(&proof);
}

static void speak(hop__case *c, hop_bound *b, const hop__p6_numbers *p)
{
    certify(c, b, p);
    hop__speak_at(c, b, p->sizes, p->hops);
    b->x = hop__say_list(c, p->x, p->hops, c->hops);
    b->s = hop__say_list(c, p->s + 1, p->hops - 1, c->hops);
}

/* The sizes that were asked for: is there an x and an s? */
static void speak_of_sizes(hop__case *c, hop_bound *b, hop__p6_numbers *p)
{
    for (int l = 0; l < p->hops; l++) fmpz_set(&p->sizes[l], &c->sizes[l]);
    bool found = hop__p6_search_fixed(p, c->q->progress, &c->stopped);
    hop__speak_here(c, b, found);
    if (!found) {
        b->why =
            !b->speaks_from
                ? "the search found no x, s at these sizes"
                : hop__say(c, "the search found no x, s at these sizes; at others it speaks from n = %s on",
                           b->speaks_from);
        return;
    }
    certify(c, b, p);
    b->x = hop__say_list(c, p->x, p->hops, c->hops);
    b->s = hop__say_list(c, p->s + 1, p->hops - 1, c->hops);
}

/* "1152, 1152, 1152" */
static const char *say_states(hop__case *c)
{
    const char *text = hop__say_integer(c, &c->hybrid.state[0]);
    for (int64_t e = 1; e <= c->hybrid.full && e < HOP__P6_MOST_HOPS; e++)
        text = hop__say(c, "%s, %s", text, hop__say_integer(c, &c->hybrid.state[e]));
    if (c->hybrid.full >= HOP__P6_MOST_HOPS) text = hop__say(c, "%s, ..", text);
    return text;
}

void hop__p6_speak(hop__case *c, hop_bound *b, bool whole)
{
    const hop__hybrid *s = &c->hybrid;
    int64_t hops = s->full + !whole;
    b->needs = "Delta_L >= n_{L-1} s_{L-1} log2 N_{L-1}, or an image that fails";
    b->has = hop__say(c, "M = %s; state bits a gap %s", hop__say_integer(c, &s->reply), say_states(c));
    int most = whole ? HOP__P7G_MOST_HOPS : HOP__P6_MOST_HOPS, asked = c->q->searched + !whole;
    if (c->q->searched && asked < most) most = asked;
    if (hops > most) {
        b->why = hop__say(c, "sizes are searched for up to %d full layers; beyond, they are too long",
                          most - !whole);
        return;
    }
    hop__p6_numbers p;
    hop__p6_init(&p, (int)hops, whole, s->state, &s->reply);
    if (hop__p6_search(&p, c->q->progress, &c->stopped))
        speak(c, b, &p);
    else
        b->why = "the search found no sizes that can be verified";
    if (c->by_sizes && !c->stopped) speak_of_sizes(c, b, &p);
    hop__p6_clear(&p);
}

void hop__p6(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, s->full >= 1, "a full layer (without one, P2 says more)");
    hop__suppose(c, b, s->full <= c->hops - 1,
                 hop__say(c, "at most L-1 = %s, %s", hop__say_layers(c, c->hops - 1, "full"),
                          hop__say_here(c, s->full)));
    if (b->applies) hop__p6_speak(c, b, false);
}
