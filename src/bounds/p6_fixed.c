/* P6 at sizes that are given: is there an x and an s? The integers are searched themselves, since at small
 * sizes the landscape over the reals is off by more than there is to win.
 *
 * Given the x, each s_l should be as large as its image allows: a larger one helps everything that follows.
 * With k = s_l - 1 the image asks that
 *
 *     f(k) = N·h(k/N) + a·log2(k/N) + x_l·(d_l + g_l) + 1 <= 0,     a = x_l·n_{l-1}·s_{l-1}.
 *
 * k·f'(k) = k·log2(N/k - 1) + a/ln 2 is concave, positive at first and negative at last, so f rises and then
 * falls, to a positive value at k = N: it changes its sign once, and bisection finds where. (Where k is a small
 * part of N, C(N, k) is bounded a little more roughly: then it finds a change of sign.) What is left is
 * to choose x_0 .. x_{L-1}: moves by a factor, smaller and smaller, of one or of two neighbours, while what
 * the end lacks becomes less. */
#include "p6_search.h"

#include <math.h>

#define PREC       128
#define MOST_MOVES 4000 /* that are tried from one start */

/* One table on the way through the conditions. */
typedef struct stage {
    const fmpz *table;       /* N_{l-1} */
    fmpz_t addresses, slack; /* a; x_l·(d_l + g_l) + 1 */
} stage;

static bool image_holds(const stage *g, const fmpz_t k)
{
    arb_t sum, each;
    arb_init(sum), arb_init(each);
    hop__p6_image(sum, each, k, g->table, PREC);
    arb_submul_fmpz(sum, each, g->addresses, PREC);
    arb_add_fmpz(sum, sum, g->slack, PREC);
    bool holds = arb_is_negative(sum);
    arb_clear(sum), arb_clear(each);
    return holds;
}

/* The largest k < N whose image holds, to 40 bits; 0: none. */
static void largest_k(fmpz_t k, const stage *g)
{
    fmpz_t high, middle;
    fmpz_init(high), fmpz_init(middle);
    int64_t low_bit = -1, high_bit = (int64_t)fmpz_bits(g->table); /* 2^high_bit > N */
    while (high_bit - low_bit > 1) {
        int64_t bit = (low_bit + high_bit) / 2;
        fmpz_one_2exp(k, (ulong)bit);
        if (fmpz_cmp(k, g->table) < 0 && image_holds(g, k))
            low_bit = bit;
        else
            high_bit = bit;
    }
    fmpz_zero(k);
    if (low_bit >= 0) {
        fmpz_one_2exp(k, (ulong)low_bit);
        fmpz_one_2exp(high, (ulong)high_bit);
        if (fmpz_cmp(high, g->table) > 0) fmpz_set(high, g->table);
        for (int i = 0; i < 40; i++) {
            fmpz_add(middle, k, high);
            fmpz_fdiv_q_2exp(middle, middle, 1);
            if (fmpz_equal(middle, k)) break;
            fmpz_set(image_holds(g, middle) ? k : high, middle);
        }
    }
    fmpz_clear(high), fmpz_clear(middle);
}

/* s from x; returns log2 of what the end lacks, below 0 when it holds. */
static double lacking(hop__p6_numbers *p)
{
    stage g;
    hop__p6_walk w;
    hop__p6_walk_init(&w, p);
    fmpz_init(g.addresses), fmpz_init(g.slack);
    g.table = w.table;
    for (int l = 1; l < p->hops; l++) {
        fmpz_mul(g.addresses, w.addresses, &p->x[l]);
        fmpz_mul(g.slack, w.delta, &p->x[l]);
        fmpz_add_ui(g.slack, g.slack, 1);
        largest_k(&p->s[l], &g);
        fmpz_add_ui(&p->s[l], &p->s[l], 1);
        hop__p6_walk_step(&w, p, l);
    }
    double lacks = hop__to_log2(w.delta) - hop__to_log2(w.addresses) - log2(hop__to_log2(w.table));
    fmpz_clear(g.addresses), fmpz_clear(g.slack);
    hop__p6_walk_clear(&w);
    return lacks;
}

/* x_l times 2^by, at least 1 away, within its range; false: it stays. */
static bool move(hop__p6_numbers *p, int l, double by)
{
    fmpz_t old;
    fmpz_init_set(old, &p->x[l]);
    hop__scaled(&p->x[l], old, by);
    if (fmpz_equal(&p->x[l], old)) fmpz_add_si(&p->x[l], old, by > 0 ? 1 : -1);
    if (fmpz_sgn(&p->x[l]) <= 0) fmpz_one(&p->x[l]);
    if (l == 0 && fmpz_cmp(&p->x[0], &p->sizes[0]) > 0) fmpz_set(&p->x[0], &p->sizes[0]);
    bool moved = !fmpz_equal(&p->x[l], old);
    fmpz_clear(old);
    return moved;
}

/* Moves x_l, and x_{l+1} the other way when `pair`; keeps it when the end lacks less. */
static bool improve(hop__p6_numbers *p, double *lacks, int l, double by, bool pair)
{
    hop__p6_numbers trial;
    hop__p6_init(&trial, p->hops, p->whole, p->state, p->reply);
    hop__p6_set(&trial, p);
    bool moved = move(&trial, l, by);
    if (pair) moved = move(&trial, l + 1, -by) || moved;
    double now = moved ? lacking(&trial) : INFINITY;
    bool better = now < *lacks;
    if (better) {
        hop__p6_set(p, &trial);
        *lacks = now;
    }
    hop__p6_clear(&trial);
    return better;
}

bool hop__p6_fit(hop__p6_numbers *p)
{
    double lacks = lacking(p);
    int left = MOST_MOVES;
    for (double by = 2; by > 0x1p-12 && left > 0;) {
        bool better = false;
        for (int l = 0; l < p->hops; l++)
            for (int pair = 0; pair < (l + 1 < p->hops ? 2 : 1); pair++) {
                better = improve(p, &lacks, l, by, pair) || improve(p, &lacks, l, -by, pair) || better;
                left -= 2;
                if (lacks < 0 && hop__p6_holds(p)) return true;
            }
        if (!better) by /= 2;
    }
    return hop__p6_holds(p);
}
