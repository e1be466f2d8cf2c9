/* What a recurrence loses: to rounding, in any form, and to the corrections of delta rules. */
#include "reader.h"

#include <hopbound/kernels.h>

#include <string.h>

/* ---- corrections --------------------------------------------------------------------------- */

/* The largest length of a query times that of a key. */
double hop__reader_lengths(const hop__reader *r)
{
    double q = 0, k = 0;
    for (int64_t c = 0; c < r->s->keys; c++) q += r->q->mag[c] * r->q->mag[c];
    for (int p = 0; p < r->s->w->facts.classes; p++) {
        double square = 0;
        for (int64_t c = 0; r->v[p] && c < r->s->keys; c++) square += r->k[p]->mag[c] * r->k[p]->mag[c];
        k = ival_most(k, square);
    }
    return sqrt(q) * sqrt(k) * HOP__ABOVE;
}

/* Tokens seen that turn anything. */
static double turning(const hop__reader *r)
{
    const hop__facts *f = &r->s->w->facts;
    double count = 0;
    for (int p = 0; r->s->turn && p < f->classes; p++)
        if (r->v[p] && hop__set_range(r->s->turn[p], r->head).hi > 0) count += (double)f->class[p].count;
    return count;
}

/* The product of 1 + turn over all tokens seen behind position `from`. */
double hop__reader_turns(const hop__reader *r, int64_t from)
{
    const hop__facts *f = &r->s->w->facts;
    double sum = 0;
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p]) continue;
        int64_t start = f->class[p].start, end = start + f->class[p].count,
                low = start > from ? start : from + 1;
        double turn = r->s->turn ? hop__set_range(r->s->turn[p], r->head).hi : 0;
        if (end > low) sum += (double)(end - low) * log1p(ival_most(0, turn)) * HOP__ABOVE;
    }
    return sum == 0 ? 1 : ival_up(exp(sum) * HOP__ABOVE);
}

/* ---- rounding ------------------------------------------------------------------------------ */

/* Relative rounding of a state's numbers on their way through n tokens: in the game it crosses as many cuts
 * as there are classes; with fewer bits it is cut after every token. */
static double rounded_states(const hop__analysis *w, double n)
{
    return w->message * (double)w->facts.classes + hop__cut_error(w->bits, 1) * n;
}

static void show(void *ctx, const hop__reading *x)
{
    const hop__reader *r = ctx;
    const hop__observer *o = r->s->w->observer;
    o->form(o->ctx, r->s->w, r->a, r->head, x);
}

hop__charge hop__reader_charge(const hop__reader *r, const hop__tally *t)
{
    const hop__reading_shape *s = r->s;
    const hop__class *c = &s->w->facts.class[r->a];
    hop__recurrence made = s->made;
    made.tokens = (double)(c->start + c->count) * s->steps;
    made.active = s->steps * ((double)t->nonzero + turning(r));
    made.growth = r->growth, made.amp = r->amp;
    made.round = s->w->message + hop__cut_error(s->w->bits, 1), made.bits = s->w->bits;
    made.crossings = rounded_states(s->w, made.tokens) * (1 + s->stabiliser);
    if (s->w->observer) made.look = show, made.ctx = (void *)(uintptr_t)r;
    return hop__recurrence_charge(&made);
}

/* Is every decay, over all n tokens, exactly 1 as it is computed? */
static bool decays_are_one(const hop__reading_shape *s, double n)
{
    double log_decay = INFINITY;
    for (int i = 0; i < s->made.count; i++)
        if (strcmp(s->made.given[i].name, "g") == 0) log_decay = s->made.given[i].num.mag;
    return !s->exps && (!s->f_keys || n * log_decay * HOP__ABOVE <= HOP_EXP_ONE);
}

/* Of M's own factors. No form has more than 9; it costs nothing, and leaves room for one that is counted wrongly. */
#define LEAST_UNITS 128

/* A sum in which one product M counts and all others are R together, in absolute values. Adding b to a float
 * a, fused or not, moves it by at most 2|b|, since a itself is a float that near: so whatever the order, and
 * wherever products are taken out of brackets, the sum as computed is M but for the roundings of M's own
 * factors and 2 R (docs/THEORY.md section 6.5). How many tokens there are is all the same. Decays that are computed as
 * 1 and are not are all together HOP_EXP_ONE away from it: the exact M is that much less, and what a kernel holds
 * beside a 1 (or a hundredth more) adds that much of M to R. Returns the first part, relative to M; infinity where
 * decays or corrections make more of it. */
double hop__near_error(const hop__reader *r)
{
    const hop__reading_shape *s = r->s;
    const hop__class *c = &s->w->facts.class[r->a];
    double n = (double)(c->start + c->count), cross = rounded_states(s->w, n) * (1 + s->stabiliser),
           units = 0;
    if (!decays_are_one(s, n) || r->growth > 1 || s->bonus || s->steps > 1 || !s->k || !r->q) return INFINITY;
    for (int i = 0; i < HOP__MOST_FORMS && s->made.form[i]; i++)
        units = ival_most(units, hop__product_units(s->made.form[i]));
    units = ival_most(units, LEAST_UNITS);
    return expm1(units * HOP_UNIT_ROUNDOFF + 4 * HOP_EXP_ONE + cross) * HOP__ABOVE;
}

static int lower(int a, int b)
{
    return a < b ? a : b;
}

/* Is nothing rounded, whatever the form? The sum of absolute products in units of the grid must stay below
 * 2^24, and no product on the way may be too small for float32. */
bool hop__reading_is_exact(const hop__reader *r, const hop__tally *t, int64_t e)
{
    const hop__reading_shape *s = r->s;
    if (s->f_keys || s->exps || s->turn || s->bonus || !s->k || !r->q || s->w->message > 0 || s->w->bits > 0)
        return false;
    int q = HOP__ANY_GRID, k = HOP__ANY_GRID, v = HOP__ANY_GRID; /* of what meets anything */
    int grid = HOP__ANY_GRID;
    double sum = 0;
    for (int64_t c = 0; c < s->keys; c++)
        for (int p = 0; p < s->w->facts.classes; p++) {
            if (!r->v[p] || r->q->mag[c] == 0 || r->k[p]->mag[c] == 0) continue;
            if (r->q->grid[c] == HOP__NO_GRID || r->k[p]->grid[c] == HOP__NO_GRID) return false;
            q = lower(q, r->q->grid[c]), k = lower(k, r->k[p]->grid[c]);
            grid = lower(grid, r->q->grid[c] + r->k[p]->grid[c]);
        }
    for (int p = 0; p < s->w->facts.classes; p++) {
        if (!r->v[p] || t->all[p] == 0 || r->v[p]->mag[e] == 0) continue;
        v = lower(v, r->v[p]->grid[e]);
        sum += t->all[p] * r->v[p]->mag[e];
    }
    if (v == HOP__NO_GRID) return false;
    if (grid == HOP__ANY_GRID || v == HOP__ANY_GRID || sum == 0) return true;
    grid += v + hop__low_bit(hop__rounded(s->scale));
    return grid > -140 && grid < 100 && sum * fabs(s->scale) * HOP__ABOVE < ldexp(1.0, 24 + grid) &&
           hop__recurrence_on_grids(s->made, q, k, v);
}

/* ---- keys that do not meet ----------------------------------------------------------------- */

/* For each coordinate the two largest of all tokens' keys, in absolute values. */
static bool add_largest(const hop__reader *r, int p, double *first, double *second)
{
    const hop__reading_shape *s = r->s;
    hop__memory *m = s->w->m;
    hop__places places;
    const hop__set *k = hop__set_columns(m, s->plain[p], r->head * s->keys, s->keys);
    if (!k || !hop__places_of(m, &s->w->facts.class[p], k, &places)) return false;
    const float *rows = hop__absolute_rows(m, k, places.term, places.rows);
    for (int64_t j = 0; rows && j < places.rows; j++)
        for (int64_t c = 0; c < s->keys; c++) {
            double x = rows[j * s->keys + c];
            if (!(x <= first[c])) {
                second[c] = places.count[j] > 1 ? x : first[c];
                first[c] = x;
            } else if (!(x <= second[c])) {
                second[c] = x;
            }
        }
    return m->status == HOP_OK;
}

/* A delta rule writes u_t = v_t - (what the state has at k_t). The state is a sum of decayed beta_j k_j u_j,
 * so that |u_t - v_t| <= g · sum over j < t of |u_j|, g = the most that two tokens' keys have in common,
 * sum_c |k_tc||beta_j k_jc|; hence |u_t - v_t| <= |v| (e^(n g) - 1), v the largest value. At any coordinate
 * one of two tokens has no more than the second largest there: g <= beta · sum_c first_c second_c. Every form
 * adds up these same products, so that its rounding is a part of g. Nor does an error d in the state grow
 * much: token t takes s_t = k_t·d off, |s_t| <= |k|_1 |d| e^(n g), and writes beta k_t s_t. */
static void find_slack(hop__reader *r)
{
    const hop__reading_shape *s = r->s;
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m;
    double *first = hop__take(m, s->keys, sizeof *first), *second = hop__take(m, s->keys, sizeof *second);
    double meet = 0, n = 0, largest = 1, beta = ival_most(1, s->most_beta);
    if (!s->plain || s->steps > 1 || m->status != HOP_OK) return;
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p]) continue;
        if (!add_largest(r, p, first, second)) return;
        n += (double)f->class[p].count;
    }
    for (int64_t c = 0; c < s->keys; c++) {
        meet += first[c] * second[c];
        largest = ival_most(largest, first[c]);
    }
    meet *= beta * HOP__ABOVE;
    if (!(n * meet <= 0x1p-20) || !(largest <= 0x1p10)) return;
    hop__reader apart = *r;
    apart.growth = 1, apart.amp = 1 + 1.01 * n * beta * (double)s->keys * largest * largest;
    /* Rounding makes g at most twice as large, which is in `slack`; where it may do more, nothing is said. */
    hop__charge c = hop__reader_charge(&apart, &(hop__tally){.nonzero = (int64_t)n});
    if (!(c.fits && c.rel < 0.5)) return;
    apart.slack = 2 * n * meet;
    *r = apart;
}

void hop__find_turns(hop__reader *r)
{
    r->growth = hop__reader_turns(r, -1), r->amp = 1;
    if (!(r->growth > 1)) return;
    r->amp = r->growth * sqrt((double)r->s->keys) * HOP__ABOVE; /* lengths grow by it */
    find_slack(r);
}
