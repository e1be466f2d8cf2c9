/* The primitives: range, majorant, rounding, underflow. */
#include "charge.h"

#include <hopbound/kernels.h>

#define UNIT   HOP_UNIT_ROUNDOFF
#define DOUBLE 0x1p-52       /* the same of double, with room for a few */
#define BELOW  0x1p-149      /* what is lost below the normal numbers, at the most */
#define FAINT  0x1p-118      /* exponentials below 2^-120 may be 0 */
#define SOME   (1 + 0x1p-20) /* what a few roundings of float32 make of what was lost before them */

hop__num hop__num_given(ival range, int grid)
{
    double mag = ival_mag(range);
    return (hop__num){.range = range, .mag = mag, .top = mag, .low = range.lo, .own = true, .grid = grid};
}

static hop__num point(double x)
{
    return hop__num_given(ival_point(x), hop__low_bit(x));
}

static bool is_zero(const hop__num *x)
{
    return x->mag == 0 && x->abs == 0;
}

/* Exactly this number. */
static bool is(const hop__num *x, double value)
{
    return x->range.lo == value && x->range.hi == value && x->rel == 0 && x->abs == 0;
}

static double more(double rel, double by)
{
    return ival_up(rel + by + rel * by);
}

static int lower(int a, int b)
{
    return a < b ? a : b;
}

static int grid_times(int a, int b)
{
    if (a == HOP__ANY_GRID || b == HOP__ANY_GRID) return HOP__ANY_GRID;
    return a == HOP__NO_GRID || b == HOP__NO_GRID ? HOP__NO_GRID : a + b;
}

static hop__num negated(hop__num x)
{
    x.range = (ival){-x.range.hi, -x.range.lo};
    x.low = -x.top, x.one = false;
    return x;
}

/* Signs are known, whatever is rounded here. */
static ival product(ival a, ival b)
{
    ival y = ival_mul(a, b);
    if (((a.lo >= 0 && b.hi <= 0) || (a.hi <= 0 && b.lo >= 0)) && y.hi > 0) y.hi = 0;
    if (((a.lo >= 0 && b.lo >= 0) || (a.hi <= 0 && b.hi <= 0)) && y.lo < 0) y.lo = 0;
    return y;
}

/* Times 0 is 0, whatever the other is, since that is finite; times 1 nothing is rounded. */
static hop__num times(hop__num a, hop__num b)
{
    if (is_zero(&a) || is_zero(&b)) return point(0);
    if (is(&b, 1)) return a;
    if (is(&a, 1)) return b;
    double ra = 1 + a.rel, rb = 1 + b.rel;
    return (hop__num){.range = product(a.range, b.range),
                      .mag = ival_up(a.mag * b.mag),
                      .rel = more(more(a.rel, b.rel), UNIT),
                      .abs = (a.abs * b.mag * rb + b.abs * a.mag * ra + a.abs * b.abs) * SOME + BELOW,
                      .low = -INFINITY,
                      .top = a.top * b.top * (1 + 2 * UNIT) + BELOW,
                      .own = a.own && b.own,
                      .grid = grid_times(a.grid, b.grid)};
}

/* a b, of which a factor back.mag is taken off by another that goes with it. */
static hop__num ratio(hop__num a, hop__num b, hop__num back)
{
    hop__num y = times(a, b);
    double most = ival_up(y.mag / back.mag);
    if (!(back.mag >= 1)) return y;
    y.mag = most, y.range = (ival){ival_most(y.range.lo, -most), ival_least(y.range.hi, most)},
    y.low = -INFINITY;
    return y;
}

static hop__num plus(hop__num a, hop__num b, double unit)
{
    if (is_zero(&a)) return b;
    if (is_zero(&b)) return a;
    return (hop__num){.range = ival_add(a.range, b.range),
                      .mag = ival_up(a.mag + b.mag),
                      .rel = more(ival_most(a.rel, b.rel), unit),
                      .abs = (a.abs + b.abs) * SOME,
                      .top = (a.top + b.top) * (1 + 2 * unit),
                      .low = (a.low + b.low) - 2 * unit * fabs(a.low + b.low),
                      .own = a.own && b.own && a.range.lo >= 0 && b.range.lo >= 0,
                      .grid = lower(a.grid, b.grid)};
}

/* Of n terms, of which `some` are not 0. */
static hop__num sum(hop__num a, double n, double some, double unit)
{
    if (is_zero(&a)) return a;
    ival all = {ival_least(0, n * a.range.lo), ival_most(0, n * a.range.hi)};
    return (hop__num){
        .range = {a.range.lo >= 0 ? 0 : ival_down(all.lo), a.range.hi <= 0 ? 0 : ival_up(all.hi)},
        .mag = ival_up(n * a.mag),
        .rel = more(a.rel, expm1(some * unit) * HOP__ABOVE),
        .abs = n * a.abs * (1 + a.rel + 2 * some * unit) * SOME,
        .low = -INFINITY,
        .top = n * a.top * (1 + 2 * some * unit),
        .own = a.own && (a.range.lo >= 0 || a.range.hi <= 0),
        .grid = a.grid};
}

static hop__num squared(hop__num a, bool wide)
{
    hop__num y = times(a, a);
    y.range = ival_square(a.range);
    if (y.range.lo < 0) y.range.lo = 0;
    if (wide)
        y.rel = more(more(a.rel, a.rel), DOUBLE), y.abs = (2 * a.mag * (1 + a.rel) + a.abs) * a.abs * SOME;
    return y;
}

/* The same of factors that are in double, as far as that is from float32's range. */
static hop__num wide_product(hop__num a, hop__num b)
{
    hop__num y = times(a, b);
    y.rel = more(more(a.rel, b.rel), DOUBLE);
    return y;
}

static hop__num single(hop__num a)
{
    a.rel = more(a.rel, UNIT), a.abs = a.abs * SOME + BELOW, a.top = a.top * (1 + 2 * UNIT) + BELOW;
    a.low = -INFINITY, a.one = false, a.grid = HOP__NO_GRID;
    return a;
}

/* A product of up to n decays, from 0 to 1 each: three roundings a decay, of two numbers that are at most
 * 1.83 times what they are together. */
static hop__num chain(hop__num e, double n)
{
    double most =
        ival_most(1, pow(ival_most(1, e.range.hi), n) * HOP__ABOVE * (e.range.hi > 1 ? 1 : HOP__BELOW));
    bool one = e.one && n * e.rel <= HOP_EXP_ONE; /* 1 + lo is 1, token after token */
    if (is(&e, 1)) return e;
    return (hop__num){.range = {ival_most(0, ival_down(pow(e.range.lo, n) * HOP__BELOW)), most},
                      .mag = most,
                      .rel = one ? 2 * n * e.rel : expm1(n * (log1p(e.rel) + 3 * UNIT)) * HOP__ABOVE,
                      .abs = one ? 0 : n * most * (e.abs + 3 * BELOW) * (1 + 8 * n * UNIT),
                      .one = one,
                      .low = -INFINITY,
                      .top = most * (1 + 0x1p-20),
                      .own = true,
                      .grid = HOP__NO_GRID};
}

/* What began as b and has passed up to n decays: multiplied by all of them together, or by one after the other, where
 * each may lose what is below the normal numbers. */
static hop__num carried(hop__num e, hop__num b, double n)
{
    hop__num all = chain(e, n), y = times(all, b);
    if (!is(&all, 1) && !is_zero(&b)) y.abs += 3 * n * BELOW * SOME;
    return y;
}

/* e s + new, where e = hi + lo: of hi s + (lo s + new) at most 3.3 units go to s, 2 to what is new. If hi is 1
 * and lo at most 2^-29, s + (lo s + 0) is s: a state that nothing is added to keeps what it is, while e s drifts
 * away from it; and where something is added, lo s and its roundings are less than half a unit of s. */
static hop__num fade(hop__reading *r, hop__num e, hop__num s, hop__num new)
{
    /* A state that grows is not covered, but for what rounding a stabiliser makes. */
    if (!(e.range.lo >= 0 && (e.range.hi - 1) * r->tokens <= 0.5)) r->fits = false;
    if (is(&e, 1)) {
        r->carry = UNIT, r->add = more(new.rel, UNIT), r->keeps = true, r->drift = 0;
        return plus(s, new, UNIT);
    }
    r->keeps = e.one, r->drift = e.one ? e.rel : 0;
    r->carry = e.one ? 2 * UNIT : more(e.rel, 4 * UNIT), r->add = more(new.rel, 3 * UNIT);
    hop__num y = {.range = ival_add(ival_mul(e.range, s.range), new.range),
                  .mag = ival_up(e.mag * s.mag + new.mag),
                  .rel = ival_most(more(s.rel, r->carry + r->drift), r->add),
                  .low = -INFINITY,
                  .grid = HOP__NO_GRID};
    y.abs =
        (e.abs * s.mag * (1 + s.rel) + s.abs * (e.mag * (1 + e.rel) + e.abs) + new.abs + 3 * BELOW) * SOME;
    y.top = (1.9 * e.top * s.top + new.top) * (1 + 8 * UNIT); /* |hi| + |lo| */
    if (is_zero(&s)) y = new;
    return y;
}

/* x_t = a_t ± (sum b + sum of c x). The exact x is a ± sum b of the state that the token meets, which bounds
 * it; what one x is off reaches the others as an error in the state does, which is charged there. */
static hop__num solved(const hop__reading *r, hop__num a, hop__num b, hop__num c)
{
    double k = r->size[HOP_AXIS_K], n = r->size[HOP_AXIS_J], x = ival_up(a.mag + k * b.mag);
    if (is_zero(&b) && is_zero(&c)) return a;
    hop__num y = {.range = {-x, x}, .mag = x, .low = -INFINITY, .grid = HOP__NO_GRID};
    y.rel =
        more(ival_most(a.rel, ival_most(b.rel, more(c.rel, UNIT))), expm1((k + n + 2) * UNIT) * HOP__ABOVE);
    y.abs = (a.abs + k * b.abs + n * (c.abs * x + BELOW)) * (1 + 2 * (k + n + 2) * UNIT);
    y.top = (x + n * c.top * x * (1 + y.rel)) * (1 + y.rel) + y.abs;
    return y;
}

/* Where x is so far below 0 that e^x is next to nothing, its own error does not matter; where it is next to 0,
 * e^x is 1, or as two numbers 1 and lo, and differs from 1 by about x (kernels.h). */
static hop__num exponential(hop__num x, bool wide)
{
    if (is(&x, 0)) return point(1);
    double off = x.rel * (x.own ? ival_least(x.mag, 128) : x.mag) + x.abs, far = (x.mag + off) * HOP__ABOVE;
    bool one = far <= HOP_EXP_ONE;
    return (hop__num){.range = {exp(x.range.lo) * HOP__BELOW, ival_up(exp(x.range.hi) * HOP__ABOVE)},
                      .mag = ival_up(exp(x.range.hi) * HOP__ABOVE),
                      .rel = one ? far * 1.01 : more(wide ? UNIT : HOP_EXP_ERROR, expm1(off) * HOP__ABOVE),
                      .abs = one                ? 0
                             : wide             ? BELOW
                             : x.range.lo > -80 ? 0
                                                : FAINT,
                      .one = one,
                      .low = -INFINITY,
                      .top = exp(x.range.hi + off) * HOP__ABOVE * (1 + 2 * HOP_EXP_ERROR),
                      .own = true,
                      .grid = HOP__NO_GRID};
}

/* e^x of x <= 0 is at most 1, rounded too. */
static hop__num decay(hop__num x, bool wide)
{
    hop__num e = exponential(x, wide);
    if (x.range.hi <= 0)
        e.mag = ival_least(e.mag, 1), e.range.hi = ival_least(e.range.hi, 1), e.top = ival_least(e.top, 1);
    return e;
}

/* Of what is above 0, as it is formed. */
static hop__num inverse(hop__reading *r, hop__num a)
{
    double off = (a.own ? a.rel : a.rel * a.mag / a.low) + a.abs / a.low;
    if (!(a.low > 0 && a.range.lo > 0)) r->fits = false;
    return (hop__num){.range = {ival_down(1 / a.range.hi), ival_up(1 / a.range.lo)},
                      .mag = ival_up(1 / a.range.lo),
                      .rel = off < 0.5 ? more(off / (1 - off) * HOP__ABOVE, UNIT) : INFINITY,
                      .abs = BELOW,
                      .low = -INFINITY,
                      .top = 1 / a.low * (1 + 2 * UNIT),
                      .own = true,
                      .grid = HOP__NO_GRID};
}

/* The same of its root: what a root is off is half of it, and it is rounded before it is inverted. */
static hop__num inverse_root(hop__reading *r, hop__num a)
{
    hop__num y = inverse(r, a);
    y.range = (ival){ival_down(HOP__BELOW / sqrt(a.range.hi)), ival_up(HOP__ABOVE / sqrt(a.range.lo))};
    y.mag = y.range.hi, y.rel = more(y.rel, 2 * UNIT), y.top = HOP__ABOVE / sqrt(a.low) * (1 + 4 * UNIT);
    return y;
}

static hop__num hull(hop__num a, hop__num b)
{
    return (hop__num){.range = ival_hull(a.range, b.range),
                      .mag = ival_most(a.mag, b.mag),
                      .rel = ival_most(a.rel, b.rel),
                      .abs = ival_most(a.abs, b.abs),
                      .top = ival_most(a.top, b.top),
                      .low = ival_least(a.low, b.low),
                      .own = a.own && b.own,
                      .grid = lower(a.grid, b.grid)};
}

static double log_sigmoid(double x)
{
    return (x < 0 ? x : 0) - log1p(exp(-fabs(x)));
}

static hop__num log_of_sigmoid(hop__num a)
{
    ival range = {ival_down(log_sigmoid(a.range.lo) * HOP__ABOVE),
                  ival_up(log_sigmoid(a.range.hi) * HOP__BELOW)};
    hop__num y = hop__num_given(range, HOP__NO_GRID);
    y.rel = 8 * DOUBLE;
    return y;
}

/* m is what it was rounded to: a choice, not a result. It is some token's b, or less by what a was since; and it began with
 * 0. */
static hop__num running_max(const hop__reading *r, hop__num a, hop__num b, hop__num before)
{
    ival range = {ival_most(b.range.lo, -r->tokens * a.mag), ival_most(b.range.hi, before.range.hi)};
    range.lo -= r->tokens * 2 * UNIT * ival_mag(range); /* rounded down at every token */
    return hop__num_given(ival_widen(range, (2 * UNIT + r->round) * ival_mag(range) + BELOW), HOP__NO_GRID);
}

/* Of two numbers as they are, what is formed is off by a unit of itself. */
static hop__num under(hop__num a, hop__num m, double unit)
{
    hop__num y = plus(a, negated(m), unit);
    bool given = a.rel == 0 && a.abs == 0 && m.rel == 0 && m.abs == 0;
    y.range.hi = ival_least(y.range.hi, ival_up(2 * UNIT * m.mag)),
    y.range.lo = ival_least(y.range.lo, y.range.hi);
    if (given) y.own = true, y.mag = ival_mag(y.range);
    return y;
}

/* What is off by a part of itself still is: where x is beyond b, what is formed is b, or nearly as large. */
static hop__num held(hop__num a, hop__num b)
{
    a.range = (ival){ival_most(-b.mag, ival_least(a.range.lo, b.mag)),
                     ival_least(b.mag, ival_most(a.range.hi, -b.mag))};
    if (a.own) a.mag = ival_mag(a.range);
    a.top = ival_least(a.top, b.top), a.low = ival_most(a.low, -b.top);
    return a;
}

/* Rounded to numbers of fewer bits, whose exponents are float32's. */
static hop__num crossed(hop__num a, double round)
{
    if (is_zero(&a)) return a;
    a.rel = more(a.rel, round), a.abs = (a.abs + hop__crossing(round, 0)) * (1 + round) * SOME;
    a.top = (a.top + hop__crossing(round, a.top)) * (1 + 2 * UNIT), a.low = -INFINITY;
    return a;
}

static hop__num total(hop__num a, double n)
{
    hop__num y = sum(a, n, 1, UNIT);
    if (!is_zero(&a)) y.rel = more(a.rel, UNIT), y.abs += BELOW;
    return y;
}

static hop__num absolute(hop__num a)
{
    a.range = (ival){a.range.lo > 0 ? a.range.lo : a.range.hi < 0 ? -a.range.hi : 0, ival_mag(a.range)};
    a.low = 0;
    return a;
}

static hop__num larger(hop__num a, hop__num b)
{
    hop__num y = hull(a, b);
    y.range = (ival){ival_most(a.range.lo, b.range.lo), ival_most(a.range.hi, b.range.hi)};
    y.low = ival_most(a.low, b.low), y.own = y.own && a.range.lo >= 0 && b.range.lo >= 0;
    return y;
}

static hop__num mild(hop__num a)
{
    a.range.lo = ival_most(a.range.lo, 0x1p-33);
    a.range.hi = ival_most(a.range.hi, a.range.lo),
    a.low = ival_most(a.low, 0x1p-32); /* what is formed is looked at */
    return a;
}

/* What a stands for when it is e^m times as large. */
static hop__num plain(hop__num a, hop__num m)
{
    double by = exp(m.range.hi) * HOP__ABOVE;
    a.mag *= by, a.abs *= by, a.top *= by, a.low = -INFINITY;
    a.range = (ival){-a.mag, a.mag}, a.one = false;
    return a;
}

static hop__num line(hop__reading *r, int i)
{
    static const hop__num none = {.rel = 0};
    const hop_arith *p = r->p;
    const hop__num *v = r->v, a = p->a[i] < 0 ? none : v[p->a[i]], b = p->b[i] < 0 ? point(1) : v[p->b[i]],
                   c = p->c[i] < 0 ? none : v[p->c[i]];
    const double n = r->size[HOP_AXIS_T];
    const bool wide = p->line[i]->wide;
    switch (p->line[i]->prim) {
    case HOP_PRIM_INPUT: return v[i];
    case HOP_PRIM_NUMBER: return point(p->line[i]->value);
    case HOP_PRIM_COPY:
    case HOP_PRIM_END:
    case HOP_PRIM_ROWS:
    case HOP_PRIM_ASIDE: return a;
    case HOP_PRIM_LOWER:
    case HOP_PRIM_STRICT: return hull(a, point(0));
    case HOP_PRIM_PREV:
    case HOP_PRIM_PART:
    case HOP_PRIM_EITHER: return hull(a, b);
    case HOP_PRIM_MILD: return mild(a);
    case HOP_PRIM_MUL: return wide ? wide_product(a, b) : times(a, b);
    case HOP_PRIM_SINGLE: return single(a);
    case HOP_PRIM_RATIO: return ratio(a, b, c);
    case HOP_PRIM_ADD: return plus(a, b, wide ? DOUBLE : UNIT);
    case HOP_PRIM_SUB: return plus(a, negated(b), wide ? DOUBLE : UNIT);
    case HOP_PRIM_UNDER: return under(a, b, wide ? DOUBLE : UNIT);
    case HOP_PRIM_HELD: return held(a, b);
    case HOP_PRIM_CROSS: return crossed(a, r->round);
    case HOP_PRIM_NEG: return negated(a);
    case HOP_PRIM_ABS: return absolute(a);
    case HOP_PRIM_MAX: return larger(a, b);
    case HOP_PRIM_SQUARE: return squared(a, wide);
    case HOP_PRIM_DIV: return times(a, inverse(r, b));
    case HOP_PRIM_RSQRT: return inverse_root(r, a);
    case HOP_PRIM_SUM: {
        double terms = r->size[p->line[i]->axis];
        double some = p->line[i]->axis == HOP_AXIS_J ? r->terms : terms, unit = wide ? DOUBLE : UNIT;
        if (p->b[i] < 0) return sum(a, terms, some, unit);
        return plus(sum(a, terms, some + 1, unit), sum(b, 1, some + 1, unit), unit);
    }
    case HOP_PRIM_SUM2: {
        double k = r->size[HOP_AXIS_K], some = k + r->terms + (p->c[i] >= 0);
        hop__num two = plus(sum(a, k, some, UNIT), sum(b, r->size[HOP_AXIS_J], some, UNIT), UNIT);
        return p->c[i] < 0 ? two : plus(two, sum(c, 1, some, UNIT), UNIT);
    }
    case HOP_PRIM_FADE: return fade(r, a, b, c);
    case HOP_PRIM_SOLVE: return solved(r, a, b, c);
    case HOP_PRIM_EXP: return decay(a, wide);
    case HOP_PRIM_RECIP: return inverse(r, a);
    case HOP_PRIM_LOGSIG: return log_of_sigmoid(a);
    case HOP_PRIM_RUNMAX: return running_max(r, a, b, c);
    case HOP_PRIM_FAR:
    case HOP_PRIM_FARB: return chain(a, n);
    case HOP_PRIM_DEC: return hull(carried(a, b, n), point(0));
    case HOP_PRIM_TOTAL: return total(a, n);
    case HOP_PRIM_PLAIN: return plain(a, b);
    default: r->fits = false; return none; /* not a primitive of recurrences */
    }
}

void hop__reading_know(hop__reading *r, const char *line, ival within, double rel)
{
    int i = hop_arith_find(r->p, line);
    if (i >= 0 && r->knows < HOP__MOST_KNOWN) r->known[r->knows++] = (hop__known){i, within, rel};
}

static void narrow(hop__num *x, const hop__known *k)
{
    x->range = (ival){ival_most(x->range.lo, k->within.lo), ival_least(x->range.hi, k->within.hi)};
    if (k->rel < INFINITY) x->own = true, x->rel = ival_least(x->rel, k->rel);
    if (x->own) x->mag = ival_least(x->mag, ival_mag(x->range));
    x->top = ival_least(x->top, (x->mag * (1 + x->rel) + x->abs) * HOP__ABOVE);
}

void hop__reading_run(hop__reading *r)
{
    r->fits = true, r->keeps = false, r->carry = r->add = r->drift = 0;
    for (int i = 0; i < r->p->count; i++) {
        hop__num *x = &r->v[i];
        *x = line(r, i);
        for (int k = 0; k < r->knows; k++)
            if (r->known[k].line == i) narrow(x, &r->known[k]);
        double low = x->range.lo - (x->own ? fabs(x->range.lo) : x->mag) * x->rel - x->abs;
        if (r->p->line[i]->prim != HOP_PRIM_MILD) x->low = ival_most(x->low, low);
        if (r->p->line[i]->prim != HOP_PRIM_PLAIN && !(x->top < HOP__LARGEST)) r->fits = false;
        if (!(x->range.lo <= x->range.hi)) r->fits = false;
    }
}
