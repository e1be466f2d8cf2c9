/* P1: what is possible, by networks that are written down. L+1 full layers make L hops (docs/THEORY.md
 * section 5.1); so do L full layers and one linear layer before the first of them (section 5.2) or between
 * the first and the second, where the token of z_0 fetches i_1 and the state carries it to the last token.
 * Layers that are not needed do nothing: every mixer can be switched off by its output weights, so layers of
 * unknown kinds do no harm here.
 *
 * What the networks ask at codes of B bits, W of which are of w's digits: keys of L+2+B numbers and values of
 * B, a residual stream of L+2+3B+W, a linear layer that hands on the bits of m (i_0 and i_1 are below m) and
 * keeps them in its state, and numbers with enough bits. Of these last: t significant ones, 2^t >= 2(B+2), and 8
 * of exponent, which is ample for scores of (B+2)β: p = t + 8. A state is rounded at every cut that it crosses, of
 * which there are L+1: there 2^t >= 7(L+2), too. That rounding leaves codes as they are, in float32
 * and where what crosses between players has p bits, is asked of rounding.c at every length. MLPs of 2B hidden
 * units and tables are taken for granted.
 *
 * Or, with every look-up in a register of its own and one coordinate for the player that a layer asks for
 * (section 5.7, `build hybrid --pattern`): keys of B+1 numbers, a linear layer before the first full one that
 * hands on the bits of m alone, a wider stream, and float32. */
#include "room.h"

#include <stddef.h>

#define MOST_BITS 192 /* of a code, where no length is given: prompts of more than 10^40 tokens */

hop__need hop__need_of(int hops, hop__bits bits)
{
    int64_t significant = 3; /* the clip's */
    while (((int64_t)1 << significant) < 2 * (bits.code + 2)) significant++;
    int64_t kept = significant;
    while (((int64_t)1 << kept) < 7 * ((int64_t)hops + 2)) kept++;
    return (hop__need){.key = hops + 2 + bits.code,
                       .value = bits.code,
                       .bits = significant + 8,
                       .state = bits.first,
                       .head = bits.first,
                       .state_p = kept + 8,
                       .width = hops + 2 + bits.stream};
}

#define FLOAT_BITS 32

/* What the networks of section 5.7 ask. The answer is written where the token's own code stands, if need be. */
hop__need hop__need_of_registers(int hops, hop__bits bits)
{
    return (hop__need){.key = 1 + bits.code,
                       .value = bits.code,
                       .bits = FLOAT_BITS,
                       .state = bits.first,
                       .head = bits.first,
                       .state_p = FLOAT_BITS,
                       .width = hops + 3 + bits.stream - bits.code + bits.registers};
}

/* ---- what a layer has: 0 where it is not of the kind ------------------------------------------- */

static bool is_full(const hop_arch_layer *l)
{
    return l->kind == HOP_LAYER_FULL || l->kind == HOP_LAYER_BOTH;
}

static int64_t key_of(const hop_arch_layer *l)
{
    return !is_full(l) ? 0 : l->key_dim ? l->key_dim : l->dim;
}

static int64_t value_of(const hop_arch_layer *l)
{
    return is_full(l) ? l->dim : 0;
}

static int64_t bits_of(const hop_arch_layer *l)
{
    return is_full(l) ? l->number_bits : 0;
}

static int64_t state_p_of(const hop_arch_layer *l)
{
    bool linear = l->kind == HOP_LAYER_LINEAR || l->kind == HOP_LAYER_BOTH;
    return linear && l->state_bits > 0 ? l->number_bits : 0;
}

/* Numbers that a linear layer takes from one token to the next: no more than its state holds, and no more
 * than a token writes, where that is known. */
static int64_t carried(const hop_arch_layer *l)
{
    if ((l->kind != HOP_LAYER_LINEAR && l->kind != HOP_LAYER_BOTH) || l->forgets) return 0;
    int64_t kept = l->state_bits / (l->number_bits > 0 ? l->number_bits : 1), written = l->heads * l->dim;
    return l->kind == HOP_LAYER_LINEAR && written > 0 && written < kept ? written : kept;
}

bool hop__full_serves(const hop_arch_layer *l, const hop__need *need)
{
    return is_full(l) && key_of(l) >= need->key && value_of(l) >= need->value && bits_of(l) >= need->bits;
}

static bool linear_serves(const hop_arch_layer *l, const hop__need *need)
{
    bool carries = (l->kind == HOP_LAYER_LINEAR || l->kind == HOP_LAYER_BOTH) && l->state_bits > 0;
    if (l->convolved && l->head_bits < need->head) return false;
    return carries && !l->forgets && carried(l) >= need->state && l->number_bits >= need->state_p;
}

/* ---- counting ------------------------------------------------------------------------------------ */

int64_t hop__able_hops(const hop_arch *a, const hop__need *need, bool *linear)
{
    int64_t full = 0, before = 0;
    *linear = false;
    if (a->width && a->width < need->width) return 0;
    for (int64_t i = 0; i < a->count; i++)
        if (hop__full_serves(&a->layers[i], need)) full += a->layers[i].repeat;
    int64_t best = full - 1;
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        bool also_full = hop__full_serves(l, need);
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

/* The same of the networks of section 5.7, whose linear layer stands before all full ones. */
static int64_t hops_by_registers(const hop_arch *a, const hop__need *need, bool *linear)
{
    int64_t full = 0;
    *linear = false;
    if (a->width && a->width < need->width) return 0;
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        if (l->kind == HOP_LAYER_LINEAR && full == 0 && linear_serves(l, need)) *linear = true;
        if (hop__full_serves(l, need)) full += l->repeat;
    }
    return *linear ? full : full - 1;
}

bool hop__p1_able(const hop_arch *a, int hops, hop__bits bits, hop__need *need, bool *linear)
{
    *need = hop__need_of(hops, bits);
    if (hop__able_hops(a, need, linear) >= hops && hop__codes_are_clipped(bits.code, need->bits) &&
        (!*linear || hop__is_carried(bits)))
        return true;
    hop__need other = hop__need_of_registers(hops, bits);
    bool first;
    if (hop__able_hops(a, &(hop__need){0}, linear) < hops || hops_by_registers(a, &other, &first) < hops ||
        !hop__codes_are_kept(HOP__BY_LOOK_UPS, bits) || (first && !hop__is_carried(bits)))
        return false;
    *need = other, *linear = first && hops_by_registers(a, &other, &first) == hops;
    return true;
}

/* ---- what is short --------------------------------------------------------------------------------- */

typedef int64_t layer_fn(const hop_arch_layer *l);

static const struct demand {
    const char *what, *unit;
    size_t at; /* in a hop__need */
    layer_fn *has;
} demands[] = {
    {"key dimension", "", offsetof(hop__need, key), key_of},
    {"value dimension", "", offsetof(hop__need, value), value_of},
    {"p", "", offsetof(hop__need, bits), bits_of},
    {"a linear state of", " numbers", offsetof(hop__need, state), carried},
    {"p in a linear state", "", offsetof(hop__need, state_p), state_p_of},
    {"residual width", "", offsetof(hop__need, width), NULL},
};
#define DEMANDS ((int)(sizeof demands / sizeof *demands))

static int64_t *in_need(hop__need *need, const struct demand *d)
{
    return (int64_t *)(void *)((char *)need + d->at);
}

static int64_t most(const hop_arch *a, layer_fn *of)
{
    int64_t best = 0;
    for (int64_t i = 0; i < a->count; i++)
        if (of(&a->layers[i]) > best) best = of(&a->layers[i]);
    return best;
}

/* Do keys and values differ? Else "head dimension" says it for both. */
static bool keys_differ(const hop_arch *a)
{
    for (int64_t i = 0; i < a->count; i++)
        if (key_of(&a->layers[i]) != value_of(&a->layers[i])) return true;
    return false;
}

static bool demand_met(const hop_arch *a, int hops, const hop__need *need, const struct demand *d)
{
    bool linear;
    hop__need all = *need, alone = {0};
    *in_need(&alone, d) = *in_need(&all, d);
    return hop__able_hops(a, &alone, &linear) >= hops;
}

/* "head dimension >= 12 (here 8)" */
static void say_demand(hop_text *out, const hop_arch *a, const hop__need *need, const struct demand *d)
{
    hop__need all = *need;
    const char *what = d->has == key_of && !keys_differ(a) ? "head dimension" : d->what;
    hop_text_printf(out, "%s >= %lld%s ", what, (long long)*in_need(&all, d), d->unit);
    if (d->has || a->width)
        hop_text_printf(out, "(here %lld)", (long long)(d->has ? most(a, d->has) : a->width));
    else
        hop_text_add(out, "(unknown here, not counted)");
}

void hop__say_shortage(hop_text *out, const hop_arch *a, int hops, const hop__need *need)
{
    bool any = false;
    for (int i = 0; i < DEMANDS; i++) {
        const struct demand *d = &demands[i];
        if ((d->has == value_of && !keys_differ(a)) || demand_met(a, hops, need, d)) continue;
        if (any) hop_text_add(out, ", ");
        say_demand(out, a, need, d);
        any = true;
    }
    if (any) return;
    hop_text_add(out, "layers that have all of this at once: ");
    hop__say_need(out, need);
}

void hop__say_need(hop_text *out, const hop__need *need)
{
    hop_text_printf(out, "head dimension >= %lld, p >= %lld, residual width >= %lld", (long long)need->key,
                    (long long)need->bits, (long long)need->width);
}

/* ---- at the length that was asked for --------------------------------------------------------- */

static const char *way(hop__case *c, bool linear)
{
    return linear ? hop__say(c, "%s and a linear one that carries z_0 or i_1 to the last token",
                             hop__say_layers(c, c->hops, "full"))
                  : hop__say(c, "%s, one look-up each", hop__say_layers(c, c->hops + 1, "full"));
}

/* The widths that are asked for, as what is needed and as hypotheses. */
static void set_needs(hop__case *c, hop_bound *b, const hop__need *need)
{
    hop_text t = {0};
    hop__say_need(&t, need);
    hop_text_printf(&t, "; values of %lld numbers, also in a linear layer's state", (long long)need->value);
    b->needs = hop__keep_text(c, &t);
    for (int i = 0; i < DEMANDS; i++) {
        say_demand(&t, c->q->arch, need, &demands[i]);
        hop__note(c, b, demand_met(c->q->arch, c->hops, need, &demands[i]), hop__keep_text(c, &t));
    }
}

static void answer_at(hop__case *c, hop_bound *b, hop__bits bits)
{
    bool linear;
    hop__need need;
    bool able = hop__p1_able(c->q->arch, c->hops, bits, &need, &linear);
    set_needs(c, b, &need);
    if (able) {
        b->answer = HOP_ANSWER_POSSIBLE;
        b->why = hop__say(c, "possible: %s", way(c, linear));
        return;
    }
    if (hop__able_hops(c->q->arch, &need, &linear) >= c->hops) {
        b->why = hop__say(c, HOP__NOT_KEPT, (long long)bits.code);
        return;
    }
    hop_text t = {0};
    hop_text_add(&t, "enough layers, but short of ");
    hop__say_shortage(&t, c->q->arch, c->hops, &need);
    b->why = hop__keep_text(c, &t);
}

/* The most bits of a code that the layers' widths allow; MOST_BITS: that many or more. */
static int64_t bits_that_fit(const hop__case *c, bool *linear)
{
    int64_t bits = c->hops - 1;
    for (bool more = true; more && bits < MOST_BITS;) {
        bool serves;
        hop__need need = hop__need_of(c->hops, (hop__bits){.code = bits + 1, .first = bits + 1});
        need.width = 0;
        more = hop__able_hops(c->q->arch, &need, &serves) >= c->hops;
        if (!more) break;
        bits++;
        *linear = serves;
    }
    return bits;
}

static bool able_within(const hop__case *c, const fmpz_t n)
{
    hop__need need;
    bool linear;
    return hop__p1_able(c->q->arch, c->hops, hop__most_bits(c->hops, n), &need, &linear);
}

/* n, at which P1 serves, becomes the longest prompt at which it does: by halves, below the length whose codes
 * no key can hold. */
static void reach_further(const hop__case *c, fmpz_t n)
{
    int64_t keys = most(c->q->arch, key_of) - 1;
    fmpz_t beyond, half;
    fmpz_init(beyond), fmpz_init(half);
    hop__length_for_code_bits(beyond, c->hops, (keys < MOST_BITS ? keys : MOST_BITS) + 1);
    fmpz_add_ui(half, n, 1); /* mostly this is the end */
    while (fmpz_cmp(half, n) > 0 && fmpz_cmp(half, beyond) < 0) {
        fmpz_set(able_within(c, half) ? n : beyond, half);
        fmpz_add(half, n, beyond);
        fmpz_fdiv_q_2exp(half, half, 1);
    }
    fmpz_clear(beyond), fmpz_clear(half);
}

/* The longest prompt for which the first network's widths suffice; 0: not even for the shortest. *at_least:
 * they suffice for all that is looked at. */
static void first_network_up_to(const hop__case *c, fmpz_t n, bool *at_least)
{
    bool linear = false;
    int64_t bits = bits_that_fit(c, &linear), stream = c->q->arch->width - c->hops - 2;
    *at_least = false;
    fmpz_zero(n);
    if (bits < c->hops || (c->q->arch->width && stream < 4 * (int64_t)c->hops - 1)) return;
    fmpz_t other;
    fmpz_init(other);
    hop__length_for_code_bits(n, c->hops, bits + 1);
    *at_least = bits == MOST_BITS;
    if (c->q->arch->width && stream < 4 * MOST_BITS) {
        hop__length_for_stream_bits(other, c->hops, stream + 1);
        *at_least = *at_least && fmpz_cmp(n, other) <= 0;
        if (fmpz_cmp(other, n) < 0) fmpz_set(n, other);
    }
    fmpz_sub_ui(n, n, 1);
    while (linear && !hop__is_carried((hop__bits){.log2_n = hop__to_log2(n)})) {
        fmpz_fdiv_q_2exp(n, n, 1);
        *at_least = true;
    }
    fmpz_clear(other);
}

/* Up to which length the widths suffice. */
static void answer_up_to(hop__case *c, hop_bound *b)
{
    bool linear, at_least;
    hop__need need;
    fmpz_t n, shortest;
    fmpz_init(n), fmpz_init(shortest);
    fmpz_one_2exp(shortest, (ulong)c->hops + 1);
    first_network_up_to(c, n, &at_least);
    if (fmpz_is_zero(n) && able_within(c, shortest)) fmpz_set(n, shortest);
    if (fmpz_is_zero(n)) {
        answer_at(c, b, hop__most_bits(c->hops, shortest)); /* what the shortest prompt of all asks */
    } else {
        if (!at_least) reach_further(c, n);
        hop__p1_able(c->q->arch, c->hops, hop__most_bits(c->hops, n), &need, &linear);
        set_needs(c, b, &need);
        b->answer = HOP_ANSWER_POSSIBLE;
        b->up_to = hop__say_integer(c, n);
        b->log10_up_to = hop__log10(n);
        b->why =
            hop__say(c, "possible up to n = %s%s: %s", b->up_to, at_least ? " at least" : "", way(c, linear));
    }
    fmpz_clear(n), fmpz_clear(shortest);
}

static const char *say_has(hop__case *c)
{
    const hop_arch *a = c->q->arch;
    const char *width =
        a->width ? hop__say(c, "width %lld", (long long)a->width) : "width unknown, not counted";
    const char *heads = keys_differ(a) ? hop__say(c, "keys %lld, values %lld", (long long)most(a, key_of),
                                                  (long long)most(a, value_of))
                                       : hop__say(c, "dimension %lld", (long long)most(a, key_of));
    return hop__say(c, "%s (%s, p = %lld); %s (carrying %lld numbers); %s",
                    hop__say_layers(c, c->hybrid.full, "full"), heads, (long long)most(a, bits_of),
                    hop__say_layers(c, c->hybrid.linear, "linear"), (long long)most(a, carried), width);
}

void hop__p1(hop__case *c, hop_bound *b)
{
    bool linear;
    bool enough = hop__able_hops(c->q->arch, &(hop__need){0}, &linear) >= c->hops;
    b->has = say_has(c);
    if (!hop__suppose(c, b, enough,
                      hop__say(c, "L+1 = %s, or L = %d and a linear one before the first or second",
                               hop__say_layers(c, c->hops + 1, "full"), c->hops)))
        return;
    if (!c->asked) {
        answer_up_to(c, b);
        return;
    }
    hop__bits bits = c->by_sizes ? hop__bits_of(c->sizes, c->hops) : hop__most_bits(c->hops, &c->n);
    if (bits.code > 0)
        answer_at(c, b, bits);
    else
        b->why = "no sizes of that many hops fit the length";
}
