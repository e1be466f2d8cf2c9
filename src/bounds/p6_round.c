/* From P6's landscape to integers: rounding, then shrinking while every condition is verified. */
#include "p6_search.h"

#include <math.h>

#define MOST_ROUNDS 40
#define SEEN        80   /* relative errors of the checker's enclosures are below 2^-80, with much to spare */
#define SMALL_FAN   4096 /* a last size below this is worth the trouble of trying its neighbours */

/* x_l: the least integer, or a little more, with which the checker sees image l in its enclosures of 128 bits. */
static bool least_x(fmpz_t x, const fmpz_t k, const fmpz_t table, const fmpz_t addresses, const fmpz_t delta)
{
    const slong prec = 192;
    arb_t top, left, room;
    arb_init(top), arb_init(left), arb_init(room);
    hop__p6_image(top, left, k, table, prec);
    arb_add_ui(top, top, 1, prec);
    arb_mul_fmpz(left, left, addresses, prec);
    arb_sub_fmpz(left, left, delta, prec);
    bool good = arb_is_positive(left);
    if (good) {
        arb_div(top, top, left, prec);
        arb_mul_2exp_si(room, top, -SEEN);
        arb_add(top, top, room, prec);
        arf_t up;
        arf_init(up);
        arb_get_ubound_arf(up, top, prec);
        arf_get_fmpz(x, up, ARF_RND_CEIL);
        if (fmpz_sgn(x) <= 0) fmpz_one(x);
        arf_clear(up);
    }
    arb_clear(top), arb_clear(left), arb_clear(room);
    return good;
}

/* |W| */
static void count_queries(fmpz_t out, const hop__p6_numbers *p)
{
    fmpz_one(out);
    for (int l = 1; l < p->hops; l++) fmpz_mul(out, out, &p->sizes[l]);
}

void hop__p6_first(fmpz_t delta, const hop__p6_numbers *p)
{
    fmpz_set(delta, &p->state[0]);
    if (!p->whole) return;
    count_queries(delta, p);
    fmpz_mul(delta, delta, p->reply);
    fmpz_addmul(delta, &p->x[0], &p->state[1]);
}

/* The part of P7G's Δ_{l+1} that P6 does not have, but for what both do. */
static void advance_whole(fmpz_t delta, const hop__p6_numbers *p, int l)
{
    fmpz_t t;
    fmpz_init(t);
    if (l == 1) {
        count_queries(delta, p);
        fmpz_mul(delta, delta, p->reply);
        fmpz_mul_si(delta, delta, p->hops - 1);
        fmpz_mul(t, &p->x[0], &p->x[1]);
        fmpz_addmul(delta, t, &p->state[1]);
    } else {
        fmpz_mul(delta, delta, &p->x[l]);
    }
    fmpz_set(t, &p->state[l + 1]);
    for (int k = 0; k <= l; k++) fmpz_mul(t, t, &p->x[k]);
    fmpz_add(delta, delta, t);
    fmpz_clear(t);
}

void hop__p6_advance(fmpz_t delta, const hop__p6_numbers *p, int l, const fmpz_t table, const fmpz_t tokens)
{
    int L = p->hops;
    fmpz_t t;
    fmpz_init(t);
    if (p->whole)
        advance_whole(delta, p, l);
    else
        fmpz_mul(delta, delta, &p->x[l]);
    fmpz_add_ui(delta, delta, 1);
    for (int e = 0; e <= l; e++) fmpz_add(delta, delta, &p->state[e]);
    fmpz_mul(t, table, p->reply);
    fmpz_mul_si(t, t, p->whole || l < L - 1 ? (slong)l * (L - l) : L - 2);
    if (l == L - 1 && !p->whole) fmpz_add(t, t, &p->state[L - 1]);
    fmpz_addmul(delta, t, &p->x[l]);
    fmpz_mul(t, tokens, p->reply);
    fmpz_mul_si(t, t, L - l);
    fmpz_add(delta, delta, t);
    fmpz_clear(t);
}

/* s_l and x_l for the sizes and x_0 that p has and the ratios of the place. */
static bool fill(hop__p6_numbers *p, const hop__p6_place *place)
{
    bool good = true;
    fmpz_t table, delta, tokens, addresses, k;
    fmpz_init_set(table, &p->sizes[0]), fmpz_init(delta), fmpz_init_set_ui(tokens, 1);
    hop__p6_first(delta, p);
    fmpz_init_set(addresses, &p->x[0]), fmpz_init(k);
    for (int l = 1; l < p->hops; l++) fmpz_mul(tokens, tokens, &p->sizes[l]);
    fmpz_add_ui(tokens, tokens, 1);
    fmpz_mul(tokens, tokens, &p->x[0]);
    for (int l = 1; good && l < p->hops; l++) {
        hop__scaled(k, table, place->ratio[l]);
        fmpz_add_ui(&p->s[l], k, 1);
        good = fmpz_cmp(&p->s[l], table) <= 0 && least_x(&p->x[l], k, table, addresses, delta);
        hop__p6_advance(delta, p, l, table, tokens);
        fmpz_add(tokens, tokens, table);
        fmpz_mul(tokens, tokens, &p->x[l]);
        fmpz_mul(table, table, &p->sizes[l]);
        fmpz_mul(addresses, &p->sizes[l], &p->s[l]); /* that the next image has */
    }
    fmpz_clear(table), fmpz_clear(delta), fmpz_clear(tokens), fmpz_clear(addresses), fmpz_clear(k);
    return good;
}

void hop__p6_start_x(hop__p6_numbers *p, const hop__p6_place *place)
{
    for (int l = 1; l < p->hops; l++) fmpz_one(&p->x[l]);
    hop__from_log2(&p->x[0], fmax(0, place->x0));
    if (fmpz_cmp(&p->x[0], &p->sizes[0]) > 0) fmpz_set(&p->x[0], &p->sizes[0]);
    fill(p, place);
}

static bool works(hop__p6_numbers *p, const hop__p6_place *place)
{
    return fill(p, place) && hop__p6_holds(p);
}

/* The place in integers; the last size grows until all holds. */
static bool settle(hop__p6_numbers *p, const hop__p6_place *place)
{
    hop__from_log2(&p->x[0], place->x0);
    for (int l = 0; l < p->hops; l++) {
        hop__from_log2(&p->sizes[l], place->sizes[l]);
        if (fmpz_cmp_ui(&p->sizes[l], 2) < 0) fmpz_set_ui(&p->sizes[l], 2);
    }
    if (fmpz_cmp(&p->x[0], &p->sizes[0]) > 0) fmpz_set(&p->x[0], &p->sizes[0]);
    if (works(p, place)) return true;
    fmpz *last = &p->sizes[p->hops - 1];
    for (double by = 0x1p-40; by < 2; by *= 4) {
        hop__scaled(last, last, log2(1 + by));
        fmpz_add_ui(last, last, 1);
        if (works(p, place)) return true;
    }
    return false;
}

/* Makes one size as small as it goes with everything else in proportion. */
static void shrink_size(hop__p6_numbers *p, const hop__p6_place *place, int l)
{
    hop__p6_numbers trial;
    hop__p6_init(&trial, p->hops, p->whole, p->state, p->reply);
    for (double by = 0.25; by > 0x1p-30;) {
        hop__p6_set(&trial, p);
        hop__scaled(&trial.sizes[l], &p->sizes[l], log2(1 - by));
        bool less = fmpz_cmp(&trial.sizes[l], &p->sizes[l]) < 0 && fmpz_cmp_ui(&trial.sizes[l], 2) >= 0;
        if (less && works(&trial, place))
            hop__p6_set(p, &trial);
        else
            by /= 2;
    }
    hop__p6_clear(&trial);
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* The most that m may be for the prompt to be shorter than `length` at the other sizes. */
static void room_for_m(fmpz_t m, const hop__p6_numbers *p, const fmpz_t length)
{
    fmpz_t unit, table;
    fmpz_init_set_ui(unit, 1), fmpz_init_set_ui(table, 1);
    for (int l = 1; l < p->hops; l++) {
        fmpz_mul(table, table, &p->sizes[l]);
        fmpz_add(unit, unit, table);
    }
    fmpz_sub_ui(m, length, 3);
    fmpz_fdiv_q(m, m, unit);
    fmpz_clear(unit), fmpz_clear(table);
}

/* Moves one of n_1 .. (numbers 1 .. L-1), x_0 (L) or the ratios (L+1 .. 2L-1), by 2^by. */
static void move(hop__p6_numbers *p, hop__p6_place *place, int what, double by)
{
    int L = p->hops;
    if (what > L) {
        place->ratio[what - L] = fmin(-0x1p-20, place->ratio[what - L] + by);
        return;
    }
    fmpz *number = what < L ? &p->sizes[what] : &p->x[0];
    fmpz_t old;
    fmpz_init_set(old, number);
    hop__scaled(number, old, by);
    if (fmpz_equal(number, old)) fmpz_add_si(number, old, by > 0 ? 1 : -1);
    if (fmpz_cmp_ui(number, what < L ? 2 : 1) < 0) fmpz_set(number, old);
    fmpz_clear(old);
}

/* Tries one move; keeps it when some m makes the prompt shorter. */
static bool improve(hop__p6_numbers *p, hop__p6_place *place, int what, double by)
{
    hop__p6_numbers trial;
    hop__p6_place there = *place;
    fmpz_t length;
    fmpz_init(length);
    hop__p6_init(&trial, p->hops, p->whole, p->state, p->reply);
    hop__p6_set(&trial, p);
    hop__length(length, p->sizes, p->hops);
    move(&trial, &there, what, by);
    room_for_m(&trial.sizes[0], &trial, length);
    bool better = fmpz_cmp(&trial.x[0], &trial.sizes[0]) <= 0 && works(&trial, &there);
    if (better) {
        hop__p6_set(p, &trial);
        *place = there;
        shrink_size(p, place, 0);
    }
    hop__p6_clear(&trial);
    fmpz_clear(length);
    return better;
}

/* Rounding hurts where a size is small: look around it. */
static void polish(hop__p6_numbers *p, hop__p6_place *place)
{
    int rounds = MOST_ROUNDS;
    for (double by = 0.5; by > 0x1p-12 && rounds-- > 0;) {
        bool better = false;
        for (int what = 1; what < 2 * p->hops; what++)
            better = improve(p, place, what, by) || improve(p, place, what, -by) || better;
        if (!better) by /= 2;
    }
}

bool hop__p6_round(hop__p6_numbers *p, const hop__p6_place *from)
{
    hop__p6_place place = *from;
    if (!settle(p, &place)) return false;
    for (int l = p->hops - 1; l >= 0; l--) shrink_size(p, &place, l);
    if (fmpz_cmp_ui(&p->sizes[p->hops - 1], SMALL_FAN) < 0) polish(p, &place);
    return works(p, &place);
}
