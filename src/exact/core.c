/* Two hops, m = 2: what is left of any protocol when w's question cannot depend on i_1.
 *
 * Let a be the state that leaves z_2 before the epoch. If there are more functions z_1 than states, two of
 * them make z_1's player send on the same state; they differ at some z_0, so for that z_0 one leads to i_1 =
 * 0, the other to i_1 = 1, while z_0's and w's players know the same before the epoch. So z_2's reply to w is
 * r_w(z_2), whichever of the two it is; beside it w learns of z_2 only a and the last state after the epoch,
 * b_0(z_2) for the one function and b_1(z_2) for the other. Hence there are tables F with
 *
 *     z_2(w, u) = F[a][w][u][r_w][b_u]      for both u and every w, where a, r_w and b_u may depend on z_2.
 *
 * The formula asks for F such that every z_2 has an a, r and b. Given (a, b_0, b_1), a "box", the pairs
 * (z_2(w, 0), z_2(w, 1)) that F can make for w are at most 2^M, one for each r_w; a z_2 is made by a box if
 * all its pairs are. F has a variable for each entry and value, a box one for each w and pair, z_2 one for
 * each box. That a box makes at most 2^M pairs follows, but a solver that has it as a counter need not find
 * it again and again.
 * Likewise, for two values of w, a pair of one w is made by at least N^2 / 2^M boxes: each makes at most 2^M
 * of the N^2 pairs of the other w, and the pair occurs with all of them. (Most runs
 * without it did not end within 70 to 100 s, those with it took 4 to 50 s.)
 *
 * Names. Four steps, in this order, none of which undoes what an earlier one made:
 * 1. The a, and in every a the b_u, may be renamed, so the first z_2, all zeros, is made by a = b_0 = b_1 =
 * 0. Let r*_w be the reply with which it is: F[0][w][u][r*_w][0] = 0 for both u.
 * 2. The values other than 0 of each entry (w, u) of z_2 may be renamed, in all of F at once: that permutes
 *    the z_2, which are all asked for, and leaves the first one. So F[0][w][u][r*_w][1] is 0 or 1.
 * 3. The r of each (a, w) may be sorted by F[a][w][0][r][0]. Values must have their names by now: renaming
 *    them would undo the order.
 * 4. In (0, w), among the r that are equal in that order, r*_w may be the first: its value there, 0, is the
 *    least, so it becomes r = 0. Then F[0][w][u][0][0] = 0, and F[0][w][u][0][1] is 0 or 1. */
#include "encode.h"

#include <math.h>
#include <stdlib.h>

typedef struct core {
    hop__cnf *f;
    const hop_exact_game *g;
    hop_bits bits;
    int values, boxes;
    hop__label *F; /* [a][w][u][r][b] */
    int *pair;     /* [w][box][z_2(w,0) + values z_2(w,1)]: the box makes it */
} core;

double hop__core_clauses(const hop_exact_game *g, hop_bits b)
{
    if (g->hops != 2 || g->m != 2 || b.before >= 2) return INFINITY; /* 4 functions z_1 */
    double boxes = ldexp(1, b.before + 2 * b.after), replies = ldexp(1, b.message),
           pairs = (double)g->answers;
    pairs *= pairs;
    return (double)g->fan * boxes * pairs * (1 + 4 * replies) +
           (double)g->count[0] * boxes * (double)(g->fan + 1);
}

static const hop__label *entry(const core *c, int a, int64_t w, int u, int r, int b)
{
    return &c->F[((((a * c->g->fan + w) * 2 + u) << c->bits.message | r) << c->bits.after) | b];
}

static int box_state(const core *c, int box)
{
    return box >> (2 * c->bits.after);
}

static int box_last(const core *c, int box, int u)
{
    return box >> (u * c->bits.after) & ((1 << c->bits.after) - 1);
}

/* The box makes the pair with some r: both entries of F agree. */
static void add_pair(core *c, int64_t w, int box, int pair)
{
    const int a = box_state(c, box), replies = 1 << c->bits.message;
    const int values[] = {pair % c->values, pair / c->values};
    int first = c->f->vars + 1, made = first + replies;
    c->f->vars += replies + 1;
    c->pair[((int)w * c->boxes + box) * c->values * c->values + pair] = made;
    hop__cnf_put(c->f, -made);
    for (int r = 0; r < replies; r++) hop__cnf_put(c->f, first + r);
    hop__cnf_put(c->f, 0);
    for (int r = 0; r < replies; r++)
        for (int u = 0; u < 2; u++)
            hop__label_force(c->f, (int[]){-(first + r)}, 1, entry(c, a, w, u, r, box_last(c, box, u)),
                             values[u]);
}

/* At most `most` of `count` literals, by a counter: seen[k] once more than k are true. */
static void at_most(hop__cnf *f, const int *v, int count, int most)
{
    int before = 0;
    for (int i = 0; i < count; i++) {
        int seen = f->vars + 1;
        f->vars += most;
        hop__cnf_clause(f, (int[]){-v[i], seen}, 2);
        for (int k = 0; k < most && before; k++) {
            hop__cnf_clause(f, (int[]){-(before + k), seen + k}, 2);
            if (k + 1 < most) hop__cnf_clause(f, (int[]){-(before + k), -v[i], seen + k + 1}, 3);
        }
        if (before) hop__cnf_clause(f, (int[]){-(before + most - 1), -v[i]}, 2);
        before = seen;
    }
}

/* A pair is made by so many boxes: at most the other boxes do not make it. */
static void add_spread(core *c)
{
    const int pairs = c->values * c->values, need = (pairs + (1 << c->bits.message) - 1) >> c->bits.message;
    int not_made[64];
    if (c->g->fan != 2 || c->boxes > 64 || need >= c->boxes) return;
    for (int w = 0; w < 2; w++)
        for (int pair = 0; pair < pairs; pair++) {
            for (int box = 0; box < c->boxes; box++)
                not_made[box] = -c->pair[(w * c->boxes + box) * pairs + pair];
            at_most(c->f, not_made, c->boxes, c->boxes - need);
        }
}

static void add_tables(core *c)
{
    const int pairs = c->values * c->values;
    for (int64_t z = 0; z < c->g->count[0]; z++) {
        int first = c->f->vars + 1;
        c->f->vars += c->boxes;
        for (int box = 0; box < (z ? c->boxes : 1); box++) hop__cnf_put(c->f, first + box); /* see "Names" */
        hop__cnf_put(c->f, 0);
        for (int box = 0; box < c->boxes; box++) {
            int64_t rest = z;
            for (int64_t w = 0; w < c->g->fan;
                 w++, rest /= pairs) /* m = 2: a pair is two digits of the table */
                hop__cnf_clause(
                    c->f,
                    (int[]){-(first + box), c->pair[((int)w * c->boxes + box) * pairs + (int)(rest % pairs)]},
                    2);
        }
    }
}

static void name(core *c)
{
    const int replies = 1 << c->bits.message;
    for (int64_t w = 0; w < c->g->fan; w++) {
        for (int a = 0; a < 1 << c->bits.before; a++)
            for (int r = 0; r + 1 < replies; r++)
                for (int v = 0; v < c->values; v++) {
                    int guard[32], n = hop__label_not(entry(c, a, w, 0, r, 0), v, guard);
                    for (int less = 0; less < v; less++) {
                        int m = hop__label_not(entry(c, a, w, 0, r + 1, 0), less, guard + n);
                        hop__cnf_clause(c->f, guard, n + m);
                    }
                }
        for (int u = 0; u < 2; u++) {
            hop__label_force(c->f, NULL, 0, entry(c, 0, w, u, 0, 0), 0);
            if (c->bits.after) hop__label_at_most(c->f, entry(c, 0, w, u, 0, 1), 1);
        }
    }
}

static void describe(const core *c)
{
    hop_text_printf(
        &c->f->comment,
        "2-hop function composition, m 2, fan %lld. State bits before the epoch: %d, message "
        "bits in it: %d, state "
        "bits after it: %d.\n"
        "The states, %d, are fewer than the 4 functions z_1, so two of them, u = 0 and u = 1, look "
        "the same to w when it "
        "asks, and lead to\nentry (w,0) and entry (w,1) of z_2. Every protocol then gives tables "
        "F with z_2(w,u) = "
        "F[a][w][u][r_w][b_u]: a is\nz_2's state before the epoch, r_w its reply to w, b_u the "
        "last state after it.\n"
        "The formula asks for such an F. First come F's entries, a variable for each value; then "
        "for each w, box "
        "(a,b_0,b_1) and pair\n(z_2(w,0), z_2(w,1)) one for each r and one that says the box "
        "makes it; then for each "
        "z_2 one for each box that makes it.\nAdded, because they follow: a box makes at most "
        "2^message pairs of each w; with fan 2, a pair is made by "
        "at least\n(number of pairs)/2^message boxes. Added, by renaming, in this order: the first z_2, "
        "all zeros, is made by box 0 with\nsome r; by new names for values other than 0 of z_2's "
        "entries, F[0][w][u][r][1] is 0 or 1 for that r; the r of each\n(a,w) are sorted by "
        "F[a][w][0][r][0], that one first, so it is r = 0.\n"
        "Unsatisfiable: there is no protocol.\n",
        (long long)c->g->fan, c->bits.before, c->bits.message, c->bits.after, 1 << c->bits.before);
}

void hop__core_encode(hop__cnf *f, const hop_exact_game *g, hop_bits bits)
{
    core c = {.f = f,
              .g = g,
              .bits = bits,
              .values = (int)g->answers,
              .boxes = 1 << (bits.before + 2 * bits.after)};
    const int pairs = c.values * c.values;
    const int64_t entries = (2 * g->fan) << (bits.before + bits.message + bits.after);
    c.F = malloc((size_t)entries * sizeof *c.F);
    c.pair = malloc((size_t)(g->fan * c.boxes * pairs) * sizeof *c.pair);
    f->failed = !c.F || !c.pair;
    if (!f->failed) {
        describe(&c);
        for (int64_t k = 0; k < entries; k++) c.F[k] = hop__label_new(f, c.values);
        for (int64_t w = 0; w < g->fan; w++)
            for (int box = 0; box < c.boxes; box++) {
                for (int pair = 0; pair < pairs; pair++) add_pair(&c, w, box, pair);
                at_most(f, &c.pair[((int)w * c.boxes + box) * pairs], pairs, 1 << bits.message);
            }
        add_spread(&c);
        add_tables(&c);
        name(&c);
    }
    free(c.F);
    free(c.pair);
}
