/* P1: what is possible, by networks that are written down. L+1 full layers make L hops (docs/THEORY.md
 * section 5.1); so do L full layers and one linear layer before the first of them (section 5.2) or between
 * the first and the second, where the token of z_0 fetches i_1 and the state carries it to the last token.
 * Layers that are not needed do nothing: every mixer can be switched off by its output weights, so layers of
 * unknown kinds do no harm here.
 *
 * What the networks ask at codes of B bits: heads of L+2+B numbers, a state of B numbers, and numbers with
 * enough bits. Of these last: with queries that are powers of two times ±1 the scores are β times integers of
 * at most B+2, exact but for one rounding by the scale, which moves them by less than β/2 when there are t
 * significant bits and 2^t >= 2(B+2). A gap of 2β shrinks to β, which at β = ln(4n)+1 still leaves a wrong
 * mass below 1/(4e), and the clip does the rest (section 5.1). With 8 bits of exponent, which is ample for
 * scores of (B+2)β, that is p = t + 8. */
#include "room.h"

#define MOST_BITS 192 /* of a code, where no length is given: prompts of more than 10^40 tokens */

hop__need hop__need_of(int hops, int64_t code_bits)
{
    int64_t significant = 3; /* the clip's */
    while (((int64_t)1 << significant) < 2 * (code_bits + 2)) significant++;
    return (hop__need){.dim = hops + 2 + code_bits, .bits = significant + 8, .state = code_bits};
}

static bool full_serves(const hop_arch_layer *l, const hop__need *need)
{
    if (l->kind != HOP_LAYER_FULL && l->kind != HOP_LAYER_BOTH) return false;
    return !need || (l->dim >= need->dim && l->number_bits >= need->bits);
}

static bool linear_serves(const hop_arch_layer *l, const hop__need *need)
{
    if (l->kind != HOP_LAYER_LINEAR && l->kind != HOP_LAYER_BOTH) return false;
    int64_t number = l->number_bits > 0 ? l->number_bits : 1;
    return need ? l->state_bits / number >= need->state : l->state_bits > 0;
}

int64_t hop__able_hops(const hop_arch *a, const hop__need *need, bool *linear)
{
    int64_t full = 0, before = 0;
    for (int64_t i = 0; i < a->count; i++)
        if (full_serves(&a->layers[i], need)) full += a->layers[i].repeat;
    int64_t best = full - 1;
    *linear = false;
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        bool also_full = full_serves(l, need);
        if (linear_serves(l, need)) { /* a layer that is both serves as one of the two */
            int64_t after = full - before - also_full, hops = (before > 0) + after;
            if (hops > best) {
                best = hops;
                *linear = true;
            }
        }
        if (also_full) before += l->repeat;
    }
    return best > 0 ? best : 0;
}

/* ---- at the length that was asked for --------------------------------------------------------- */

static const char *way(hop__case *c, bool linear)
{
    return linear ? hop__say(c, "%d full layers and a linear one that carries z_0 or i_1 to the last token",
                             c->hops)
                  : hop__say(c, "%d full layers, one look-up each", c->hops + 1);
}

static void say_need(hop__case *c, hop_bound *b, const hop__need *need)
{
    b->needs =
        hop__say(c, "head dimension >= %lld, p >= %lld; if a linear layer serves, a state of %lld numbers",
                 (long long)need->dim, (long long)need->bits, (long long)need->state);
}

static void answer_at(hop__case *c, hop_bound *b, int64_t code_bits)
{
    bool linear;
    hop__need need = hop__need_of(c->hops, code_bits);
    say_need(c, b, &need);
    if (hop__able_hops(c->q->arch, &need, &linear) >= c->hops) {
        b->answer = HOP_ANSWER_POSSIBLE;
        b->why = hop__say(c, "possible: %s", way(c, linear));
    } else {
        b->why = hop__say(
            c, "enough layers, but too narrow: needs head dimension >= %lld (has %lld), p >= %lld (has %lld)",
            (long long)need.dim, (long long)c->shape.dim, (long long)need.bits, (long long)c->shape.bits);
    }
}

/* Up to which length the widths suffice. */
static void answer_up_to(hop__case *c, hop_bound *b)
{
    bool linear = false, more = true;
    int64_t bits = c->hops - 1;
    while (bits < MOST_BITS && more) {
        bool serves;
        hop__need need = hop__need_of(c->hops, bits + 1);
        more = hop__able_hops(c->q->arch, &need, &serves) >= c->hops;
        if (more) {
            bits++;
            linear = serves;
        }
    }
    if (bits < c->hops) {
        answer_at(c, b, c->hops); /* the shortest prompt of all is too long */
        return;
    }
    fmpz_t n;
    fmpz_init(n);
    hop__length_for_code_bits(n, c->hops, bits + 1);
    fmpz_sub_ui(n, n, 1);
    hop__need need = hop__need_of(c->hops, bits);
    say_need(c, b, &need);
    b->answer = HOP_ANSWER_POSSIBLE;
    b->why = hop__say(c, "possible up to n = %s%s: %s", hop__say_integer(c, n), more ? " at least" : "",
                      way(c, linear));
    fmpz_clear(n);
}

void hop__p1(hop__case *c, hop_bound *b)
{
    bool linear;
    bool enough = hop__able_hops(c->q->arch, NULL, &linear) >= c->hops;
    b->has = hop__say(c, "%lld full layers of dimension %lld, p = %lld; %lld linear layers",
                      (long long)c->shape.full, (long long)c->shape.dim, (long long)c->shape.bits,
                      (long long)c->shape.linear);
    if (!hop__suppose(c, b, enough,
                      hop__say(c,
                               "L+1 = %d full layers, or L = %d and a linear one before the first or second",
                               c->hops + 1, c->hops)))
        return;
    if (!c->asked) {
        answer_up_to(c, b);
        return;
    }
    int64_t bits = c->by_sizes ? hop__code_bits_of(c->sizes, c->hops) : hop__most_code_bits(c->hops, &c->n);
    if (bits > 0)
        answer_at(c, b, bits);
    else
        b->why = "no sizes of that many hops fit the length";
}
