/* From P6's landscape to integers: rounding, then shrinking while every condition is verified. */
#include "p6_search.h"

#include <math.h>

#define MOST_ROUNDS 40
#define SEEN        80   /* relative errors of the checker's enclosures are below 2^-80, with much to spare */
#define SMALL_FAN   4096 /* a last size below this is worth the trouble of trying its neighbours */

/* x_l: the least integer, or a little more, with which the checker sees image l in its enclosures of 128 bits. */
static bool least_x(fmpz_t x, const fmpz_t k, const hop__p6_walk *w)
{
    const slong prec = 192;
    arb_t top, left, room;
    arb_init(top), arb_init(left), arb_init(room);
    hop__p6_image(top, left, k, w->table, prec);
    arb_add_ui(top, top, 1, prec);
    arb_mul_fmpz(left, left, w->addresses, prec);
    arb_sub_fmpz(left, left, w->delta, prec);
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

/* s_l and x_l for the sizes and x_0 that p has and the ratios of the place. */
static bool fill(hop__p6_numbers *p, const hop__p6_place *place)
{
    bool good = true;
    hop__p6_walk w;
    fmpz_t k;
    hop__p6_walk_init(&w, p);
    fmpz_init(k);
    for (int l = 1; good && l < p->hops; l++) {
        hop__scaled(k, w.table, place->ratio[l]);
        fmpz_add_ui(&p->s[l], k, 1);
        good = fmpz_cmp(&p->s[l], w.table) <= 0 && least_x(&p->x[l], k, &w);
        hop__p6_walk_step(&w, p, l);
    }
    hop__p6_walk_clear(&w);
    fmpz_clear(k);
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

/* Tries one move, or two; keeps them when some m makes the prompt shorter. */
static bool improve(hop__p6_numbers *p, hop__p6_place *place, const int what[2], double by, double other)
{
    hop__p6_numbers trial;
    hop__p6_place there = *place;
    fmpz_t length;
    fmpz_init(length);
    hop__p6_init(&trial, p->hops, p->whole, p->state, p->reply);
    hop__p6_set(&trial, p);
    hop__length(length, p->sizes, p->hops);
    move(&trial, &there, what[0], by);
    if (what[1] != what[0]) move(&trial, &there, what[1], other);
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

/* Rounding hurts where a size or an x is small: look around it. */
static void polish(hop__p6_numbers *p, hop__p6_place *place)
{
    int rounds = MOST_ROUNDS;
    for (double by = 0.5; by > 0x1p-12 && rounds-- > 0;) {
        bool better = false;
        int what[2];
        for (what[0] = 1; what[0] < 2 * p->hops; what[0]++)
            for (what[1] = 1; what[1] <= what[0]; what[1]++)
                for (int signs = 0; signs < 4; signs++)
                    better = improve(p, place, what, signs & 1 ? -by : by, signs & 2 ? -by : by) || better;
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
