/* What primitives of programs are charged, beside what float32 makes of them: numbers are drawn that a bound
 * allows, as exact value, majorant and number as it was formed; the primitive is done to all three, and the
 * bound of the result must hold them. */
#include "test.h"

#include <hopbound/base.h>
#include <hopbound/kernels.h>

#include "charge.h"
#include "analysis.h"

#include "charged.h"

enum { TIMES = 4000, MOST = 64 };

/* x: exact; X >= |x|: the same of absolute values; y: as it was formed; most: the largest number on the way. */
typedef struct formed {
    long double x, X;
    double y, most;
} formed;

/* y = prim(a, b, c), as a program of its own. */
typedef struct one {
    hop_line line[5];
    hop_program program;
    hop_arith p;
    hop__reading r;
    hop__num in[3];
    int y;
} one;

static void open_one(one *o, hop_prim prim, int operands, int axis, bool wide)
{
    static const char *const names[] = {"a", "b", "c"};
    *o = (one){.y = operands};
    for (int i = 0; i < operands; i++)
        o->line[i] = (hop_line){.name = names[i], .prim = HOP_PRIM_INPUT, .value = 1 << axis};
    o->line[operands] = (hop_line){.name = "y", .prim = prim, .axis = axis, .wide = wide, .value = 1};
    for (int i = 0; i < operands; i++) o->line[operands].of[i] = names[i];
    o->program = (hop_program){.op = "one", .form = "one", .part = {o->line}, .reads = "y"};
    hop_arith_open(&o->p, &o->program);
    o->r = (hop__reading){.p = &o->p, .tokens = 1, .terms = 1};
    for (int i = 0; i < HOP_AXES; i++) o->r.size[i] = 1;
}

static const hop__num *read_one(one *o)
{
    for (int i = 0; i < o->y; i++) o->r.v[i] = o->in[i];
    hop__reading_run(&o->r);
    return &o->r.v[o->y];
}

/* ---- drawing ----------------------------------------------------------------------------------------- */

static double size_drawn(hop_rng *rng)
{
    static const int exponents[] = {0, 0, 0, 3, -3, 20, -20, -66, -100, -126, -135, -140, 60, 118};
    return ldexp(1 + hop_rng_uniform(rng), exponents[below(rng, 14)]);
}

static hop__num uncertain(ival range, double mag, double rel, double abs, bool own)
{
    hop__num n = hop__num_given(range, HOP__NO_GRID);
    n.mag = own ? ival_mag(range) : mag, n.own = own, n.rel = rel, n.abs = abs;
    n.top = (n.mag * (1 + rel) + abs) * HOP__ABOVE;
    n.low = range.lo - (own ? fabs(range.lo) : n.mag) * rel - abs;
    return n;
}

/* Numbers that are given, or were formed before; sign: 1, of numbers above 0 only. */
static hop__num draw_num(hop_rng *rng, double size, int sign)
{
    double lo = hop__rounded(size * hop_rng_uniform(rng)),
           hi = hop__rounded(size * (1 + hop_rng_uniform(rng)));
    if (sign == 0 && below(rng, 3) == 0) lo = -lo;
    ival range = sign == 0 && below(rng, 4) == 0 ? (ival){-hi, -lo} : (ival){lo, hi};
    if (range.lo > range.hi) range = (ival){range.hi, range.lo};
    double rel = below(rng, 2) ? 0 : ldexp(1, -6 - below(rng, 18)),
           abs = below(rng, 2) ? 0 : ldexp(below(rng, 2) ? 1 : size, -149);
    if (below(rng, 4) == 0) abs = ldexp(size, -8 - below(rng, 20));
    return uncertain(range, ival_mag(range) * (1 + 3 * hop_rng_uniform(rng)), rel, abs, below(rng, 2));
}

/* One that the bound allows, most often at its ends. */
static formed draw(hop_rng *rng, const hop__num *n)
{
    double at = below(rng, 3) ? below(rng, 2) : hop_rng_uniform(rng),
           x = (float)(n->range.lo + at * (n->range.hi - n->range.lo));
    if (!(x >= n->range.lo && x <= n->range.hi)) x = n->range.lo;
    double X = n->own ? fabs(x) : fabs(x) + (n->mag - fabs(x)) * below(rng, 2), off = n->rel * X + n->abs;
    float y = (float)(x + (below(rng, 3) - 1) * off);
    while (fabs(y - x) > off && y != (float)x) y = nextafterf(y, (float)x);
    return (formed){x, X, y, fabs((double)y)};
}

/* ---- judging ----------------------------------------------------------------------------------------- */

static void expect(const hop__num *n, formed f, const char *what)
{
    long double room = 1e-18L * f.X; /* what long doubles lose here */
    if (!isfinite(f.y) || !isfinite(f.most)) fail_msg("%s: formed as %g and said to be finite", what, f.y);
    if (!isfinite(n->rel)) return; /* nothing is said */
    if (!(fabsl(f.y - f.x) <= n->rel * f.X + n->abs + room))
        fail_msg("%s: %.17Lg is formed as %.9g, off by more than %g of %Lg and %g", what, f.x, f.y, n->rel,
                 f.X, n->abs);
    if (!(n->range.lo <= f.x + room && f.x <= n->range.hi + room))
        fail_msg("%s: %.17Lg is not in [%.17g, %.17g]", what, f.x, n->range.lo, n->range.hi);
    if (!(f.X <= n->mag + room)) fail_msg("%s: %Lg is more than %g", what, f.X, n->mag);
    if (!(f.most <= n->top)) fail_msg("%s: %.9g is formed on the way, more than %.9g", what, f.most, n->top);
    if (!(f.y >= n->low)) fail_msg("%s: %.9g is formed, less than %.9g", what, f.y, n->low);
    if (n->own && !(fabsl(f.X - fabsl(f.x)) <= room)) fail_msg("%s: %Lg is not |%Lg|", what, f.X, f.x);
    if (n->one && !(fabsl(1 - f.x) <= 0x1p-29L))
        fail_msg("%s: %Lg is no decay that changes nothing", what, f.x);
}

static formed rounded(long double x, long double X, double y, bool wide)
{
    if (!wide) y = (float)y;
    return (formed){x, X, y, fabs(y)};
}

/* Numbers near enough to each other that their sum has terms that both count; or not. */
static double beside(hop_rng *rng, double size)
{
    double other = below(rng, 3) ? size * ldexp(1, below(rng, 9) - 4) : size_drawn(rng);
    return other > 0x1p119 || other < 0x1p-145 ? size : other;
}

/* How often a bound was said to fit: a test of nothing would pass. */
static void enough(int fits, int times)
{
    if (!(fits > times / 4)) fail_msg("only %d of %d say anything", fits, times);
}

/* ---- primitives of one or two numbers ---------------------------------------------------------------- */

static formed of_two(hop_prim prim, formed a, formed b, bool wide)
{
    switch (prim) {
    case HOP_PRIM_MUL: return rounded(a.x * b.x, a.X * b.X, wide ? a.y * b.y : (float)a.y * (float)b.y, wide);
    case HOP_PRIM_ADD: return rounded(a.x + b.x, a.X + b.X, wide ? a.y + b.y : (float)a.y + (float)b.y, wide);
    case HOP_PRIM_SUB: return rounded(a.x - b.x, a.X + b.X, wide ? a.y - b.y : (float)a.y - (float)b.y, wide);
    case HOP_PRIM_DIV: return rounded(a.x / b.x, a.X / fabsl(b.x), (float)a.y / (float)b.y, false);
    case HOP_PRIM_MAX:
        return (formed){a.x > b.x ? a.x : b.x, fmaxl(a.X, b.X), fmax(a.y, b.y), fmax(a.y, b.y)};
    case HOP_PRIM_SQUARE:
        return rounded(a.x * a.x, a.X * a.X, wide ? a.y * a.y : (float)a.y * (float)a.y, wide);
    case HOP_PRIM_NEG: return (formed){-a.x, a.X, -a.y, fabs(a.y)};
    case HOP_PRIM_ABS: return (formed){fabsl(a.x), a.X, fabs(a.y), fabs(a.y)};
    case HOP_PRIM_RECIP: return rounded(1 / a.x, 1 / fabsl(a.x), 1 / (float)a.y, false);
    case HOP_PRIM_RSQRT: return rounded(1 / sqrtl(a.x), 1 / sqrtl(a.x), 1 / sqrtf((float)a.y), false);
    default: fail(); return a;
    }
}

static void products_sums_and_quotients_are_off_by_what_they_are_charged(void **state)
{
    static const struct {
        hop_prim prim;
        int operands, sign;
        bool wide;
    } kinds[] = {{HOP_PRIM_MUL, 2, 0, false}, {HOP_PRIM_ADD, 2, 0, false},   {HOP_PRIM_SUB, 2, 0, false},
                 {HOP_PRIM_DIV, 2, 1, false}, {HOP_PRIM_MAX, 2, 0, false},   {HOP_PRIM_SQUARE, 1, 0, false},
                 {HOP_PRIM_NEG, 1, 0, false}, {HOP_PRIM_SQUARE, 1, 0, true}, {HOP_PRIM_ADD, 2, 0, true},
                 {HOP_PRIM_ABS, 1, 0, false}, {HOP_PRIM_RECIP, 1, 1, false}, {HOP_PRIM_RSQRT, 1, 1, false},
                 {HOP_PRIM_ADD, 2, 1, false}, {HOP_PRIM_MAX, 2, 1, false}};
    hop_rng rng;
    hop_rng_init(&rng, 1, 1);
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        one o;
        int fits = 0;
        open_one(&o, kinds[k].prim, kinds[k].operands, HOP_AXIS_K, kinds[k].wide);
        for (int i = 0; i < TIMES; i++) {
            double size = size_drawn(&rng);
            o.in[0] = draw_num(&rng, size, kinds[k].sign),
            o.in[1] = draw_num(&rng, beside(&rng, size), kinds[k].sign);
            const hop__num *n = read_one(&o);
            fits += o.r.fits;
            for (int d = 0; o.r.fits && d < 16; d++)
                expect(n, of_two(kinds[k].prim, draw(&rng, &o.in[0]), draw(&rng, &o.in[1]), kinds[k].wide),
                       hop_prim_name(kinds[k].prim));
        }
        enough(fits, TIMES);
    }
}

/* What may be 0 is said to have no reciprocal, whatever else is known of it. */
static void what_may_be_zero_is_not_divided_by(void **state)
{
    one o;
    (void)state;
    open_one(&o, HOP_PRIM_RECIP, 1, HOP_AXIS_K, false);
    const double abs[] = {0, 0, 2};
    const ival range[] = {{0, 1}, {-1, 2}, {1, 2}};
    for (int i = 0; i < 3; i++) {
        o.in[0] = uncertain(range[i], 2, 0, abs[i], true);
        read_one(&o);
        assert_false(o.r.fits);
    }
    o.in[0] = uncertain((ival){1, 2}, 2, 0, 0.25, true);
    read_one(&o);
    assert_true(o.r.fits);
}

/* Numbers of a grid: what is made of them is on the grid that is said. */
static void grids_are_those_of_the_results(void **state)
{
    static const hop_prim prims[] = {HOP_PRIM_MUL, HOP_PRIM_ADD, HOP_PRIM_SUB, HOP_PRIM_MAX};
    hop_rng rng;
    hop_rng_init(&rng, 2, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        int ga = below(&rng, 20) - 10, gb = below(&rng, 20) - 10;
        double a = ldexp(1 + 2 * below(&rng, 100), ga), b = ldexp(1 + 2 * below(&rng, 100), gb);
        hop_prim prim = prims[below(&rng, 4)];
        open_one(&o, prim, 2, HOP_AXIS_K, false);
        o.in[0] = hop__num_given((ival){-a, a}, ga), o.in[1] = hop__num_given((ival){-b, b}, gb);
        formed f = of_two(prim, (formed){a, a, a, a}, (formed){b, b, b, b}, true);
        assert_int_equal(hop__low_bit(a), ga);
        assert_true(hop__low_bit((double)f.x) >= read_one(&o)->grid);
    }
}

/* What is infinite on the way is never said to fit. */
static void what_overflows_does_not_fit(void **state)
{
    static const hop_prim prims[] = {HOP_PRIM_MUL, HOP_PRIM_ADD, HOP_PRIM_SUM, HOP_PRIM_RECIP, HOP_PRIM_EXP};
    one o;
    (void)state;
    for (int i = 0; i < 5; i++) {
        open_one(&o, prims[i], i < 2 ? 2 : 1, HOP_AXIS_K, false);
        o.r.size[HOP_AXIS_K] = 64;
        o.in[0] = hop__num_given(prims[i] == HOP_PRIM_RECIP ? (ival){1e-40, 1}
                                 : prims[i] == HOP_PRIM_EXP ? (ival){-1, 90}
                                                            : (ival){-9e36, 9e36},
                                 HOP__NO_GRID);
        o.in[1] = prims[i] == HOP_PRIM_MUL ? hop__num_given((ival){-2, 2}, HOP__NO_GRID) : o.in[0];
        read_one(&o);
        assert_false(o.r.fits);
    }
}

/* What lines stand for whose numbers are some of their operands' or another. */
static void what_is_looked_up_is_one_of_what_it_may_be(void **state)
{
    static const hop_prim prims[] = {HOP_PRIM_LOWER, HOP_PRIM_STRICT, HOP_PRIM_PREV,
                                     HOP_PRIM_PART,  HOP_PRIM_EITHER, HOP_PRIM_ROWS};
    hop_rng rng;
    hop_rng_init(&rng, 3, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        hop_prim prim = prims[below(&rng, 6)];
        bool two = prim == HOP_PRIM_PREV || prim == HOP_PRIM_PART || prim == HOP_PRIM_EITHER;
        open_one(&o, prim, two ? 2 : 1, HOP_AXIS_K, false);
        double size = size_drawn(&rng);
        o.in[0] = draw_num(&rng, size, 0), o.in[1] = draw_num(&rng, beside(&rng, size), 0);
        const hop__num *n = read_one(&o);
        if (!o.r.fits) continue;
        for (int d = 0; d < 8; d++) expect(n, draw(&rng, &o.in[0]), hop_prim_name(prim));
        if (prim == HOP_PRIM_LOWER || prim == HOP_PRIM_STRICT) expect(n, (formed){0, 0, 0, 0}, "none");
        for (int d = 0; two && d < 8; d++) expect(n, draw(&rng, &o.in[1]), hop_prim_name(prim));
    }
}

/* ---- sums -------------------------------------------------------------------------------------------- */

/* Terms in some order: a large one first, or last, or anywhere. */
static formed add_up(hop_rng *rng, const formed *t, int n)
{
    formed f = {0};
    int first = below(rng, 3) ? 0 : below(rng, n);
    float sum = 0;
    for (int i = 0; i < n; i++) {
        const formed *u = &t[(first + i) % n];
        sum += (float)u->y, f.x += u->x, f.X += u->X;
        f.most = fmax(f.most, fabs((double)sum));
    }
    f.y = sum;
    return f;
}

/* n numbers: half a unit of the first each, which float32 does not see beside it; or any. */
static int draw_terms(hop_rng *rng, const hop__num *a, formed *t, int n, int how)
{
    for (int i = 0; i < n; i++) {
        t[i] = draw(rng, a);
        if (how == 0) t[i] = (formed){1, 1, 1, 1};
        if (how == 0 && i > 0) t[i] = (formed){0x1p-24L, 0x1p-24L, 0x1p-24, 0x1p-24};
        if (how == 1) { /* as far from what they are as may be, and all alike */
            double x = a->range.hi, off = a->rel * a->mag + a->abs;
            t[i] = (formed){x, a->mag, (float)(x + off), fabs(x + off)};
            if (a->own) t[i].X = fabs(x);
            if (fabsl(t[i].y - t[i].x) > a->rel * t[i].X + a->abs) t[i].y = x;
        }
    }
    return n;
}

static void sums_are_off_by_what_they_are_charged(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 4, 1);
    (void)state;
    int fits = 0;
    for (int i = 0; i < TIMES; i++) {
        one o;
        int n = 2 + below(&rng, MOST / 2 - 2), m = 1 + below(&rng, MOST / 2), how = below(&rng, 3),
            of = 1 + below(&rng, 3);
        bool two = of > 1;
        formed t[MOST + 1], *more = t + n;
        open_one(&o, two ? HOP_PRIM_SUM2 : HOP_PRIM_SUM, of, HOP_AXIS_K, false);
        o.r.size[HOP_AXIS_K] = n, o.r.size[HOP_AXIS_J] = m, o.r.terms = m;
        double size = size_drawn(&rng);
        for (int k = 0; k < 3; k++)
            o.in[k] = how == 0 ? hop__num_given((ival){0x1p-24, 1}, HOP__NO_GRID) : draw_num(&rng, size, 0);
        bool nothing = two && below(&rng, 2); /* none of the second is added to the first */
        if (nothing) o.in[1] = hop__num_given(ival_point(0), HOP__ANY_GRID);
        const hop__num *y = read_one(&o);
        fits += o.r.fits;
        if (!o.r.fits) continue;
        draw_terms(&rng, &o.in[0], t, n, how);
        if (nothing || !two) m = 0;
        if (m > 0) draw_terms(&rng, &o.in[1], more, m, how == 0 ? 2 : how);
        if (of > 2) draw_terms(&rng, &o.in[2], more + m, 1, how == 0 ? 2 : how);
        expect(y, add_up(&rng, t, n + m + (of > 2)), two ? "sum2" : "sum");
    }
    enough(fits, TIMES);
}

/* In double, and then rounded once. */
static void totals_are_off_by_what_they_are_charged(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 5, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        formed t[MOST], f = {0};
        int n = 2 + below(&rng, MOST - 2);
        open_one(&o, HOP_PRIM_TOTAL, 1, HOP_AXIS_T, false);
        o.r.size[HOP_AXIS_T] = n;
        o.in[0] = draw_num(&rng, size_drawn(&rng), 0);
        const hop__num *y = read_one(&o);
        if (!o.r.fits) continue;
        draw_terms(&rng, &o.in[0], t, n, 1 + below(&rng, 2));
        for (int k = 0; k < n; k++) f.x += t[k].x, f.X += t[k].X, f.y += t[k].y;
        expect(y, rounded(f.x, f.X, f.y, false), "total");
    }
}

/* x_t = a + sum b + sum of c_j x_j, where the solutions are at most what a and b allow. */
static void solutions_are_off_by_what_they_are_charged(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 6, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        formed t[2 * MOST];
        int k = 1 + below(&rng, 8), n = 2 + below(&rng, MOST - 2), m = 0, how = below(&rng, 3);
        double size = how == 2 ? 0x1p-131 : size_drawn(&rng) * 0x1p-10, a = size, b = size / 64;
        open_one(&o, HOP_PRIM_SOLVE, 3, HOP_AXIS_K, false);
        o.r.size[HOP_AXIS_K] = k, o.r.size[HOP_AXIS_J] = n;
        double x = a + k * b, c = how == 0 ? 0x1p-24 / (1 + 2 * (x / a - 1)) : how == 1 ? 1 : 0x1.8p-17;
        o.in[0] = hop__num_given((ival){-a, a}, HOP__NO_GRID),
        o.in[1] = hop__num_given((ival){-b, b}, HOP__NO_GRID);
        o.in[2] = hop__num_given((ival){-c, c}, HOP__NO_GRID);
        const hop__num *y = read_one(&o);
        if (!o.r.fits) continue;
        t[m++] = rounded(a * 0.5, a * 0.5, a * 0.5, false), t[0].x = t[0].X = t[0].y;
        for (int j = 0; j < k; j++) t[m++] = (formed){0, 0, 0, 0};
        for (int j = 0; j < n; j++) {
            double cj = hop__rounded(c * (how == 1 && j >= n / 2 ? -1 : 1)),
                   xj = hop__rounded(how == 2 ? a * 0.75 : a);
            t[m++] = rounded((long double)cj * xj, (long double)fabs(cj) * xj, (float)cj * (float)xj, false);
        }
        formed f = add_up(&(hop_rng){0}, t, m);
        f.X = x; /* of the solution; what cancels in it is charged as an error of the state is */
        if (how == 1) f.y = (double)f.x;
        if (fabsl(f.x) <= x) expect(y, f, "solve");
    }
}

/* ---- exponentials and decays --------------------------------------------------------------------------- */

/* The worst that the contract of kernels.h allows. */
static double kernels_exp(hop_rng *rng, double x)
{
    double e = exp(x);
    if (fabs(x) <= HOP_EXP_ONE) return 1;
    if (e < 0x1p-120 && below(rng, 2)) return 0;
    float y = (float)(e * (1 + 0.85 * (below(rng, 3) - 1) * HOP_EXP_ERROR));
    return x <= 0 && y > 1 ? 1 : y;
}

static void exponentials_are_off_by_what_they_are_charged(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 7, 1);
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        one o;
        int fits = 0;
        open_one(&o, HOP_PRIM_EXP, 1, HOP_AXIS_K, wide);
        for (int i = 0; i < TIMES; i++) {
            static const double sizes[] = {1, 8, 40, 70, 100, 0x1p-31, 0x1p-30, 0x1p-14, 0x1p-11, 0x1p-28};
            double size = sizes[below(&rng, 10)];
            ival range = {-size * (0.5 + hop_rng_uniform(&rng)), -size * 0.5 * hop_rng_uniform(&rng)};
            double rel = below(&rng, 2) ? 0 : ldexp(1, -10 - below(&rng, 14)),
                   abs = below(&rng, 2) ? 0 : ldexp(1, -8 - below(&rng, 20));
            range = (ival){hop__rounded(range.lo), hop__rounded(range.hi)};
            o.in[0] = uncertain(range, 3 * size, rel, abs, below(&rng, 2));
            const hop__num *n = read_one(&o);
            fits += o.r.fits;
            for (int d = 0; o.r.fits && d < 16; d++) {
                formed a = draw(&rng, &o.in[0]);
                double y = wide ? (float)exp(a.y) : kernels_exp(&rng, a.y);
                expect(n, (formed){expl(a.x), expl(a.x), y, 0}, "exp");
            }
        }
        enough(fits, TIMES);
    }
}

/* What a largest number is taken off of: both as they are, so that little is left to be uncertain. */
static void what_is_under_a_maximum_is_off_by_what_it_is_charged(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 8, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        bool wide = below(&rng, 2);
        open_one(&o, HOP_PRIM_UNDER, 2, HOP_AXIS_K, wide);
        double size = ldexp(1 + hop_rng_uniform(&rng), below(&rng, 12) - 4);
        o.in[1] = hop__num_given((ival){hop__rounded(-0.5 * size), hop__rounded(size)}, HOP__NO_GRID);
        o.in[0] = uncertain((ival){hop__rounded(-4 * size), hop__rounded(size)}, 5 * size,
                            below(&rng, 2) * 0x1p-20, below(&rng, 2) * 0x1p-18, below(&rng, 2));
        const hop__num *n = read_one(&o);
        if (!o.r.fits) continue;
        for (int d = 0; d < 8; d++) {
            formed m = draw(&rng, &o.in[1]), a = draw(&rng, &o.in[0]);
            if (d % 2 && m.x > 0)
                a = (formed){m.x * (1 + 0x1p-24L), o.in[0].own ? m.x * (1 + 0x1p-24L) : o.in[0].mag, m.x,
                             m.x};
            if (d % 2) a.y = (double)(wide ? a.x : (a.x = m.x)); /* a float */
            if (a.x > m.x * (1 + 0x1p-24L) || a.x > o.in[0].range.hi) continue;
            bool given = o.in[0].rel == 0 && o.in[0].abs == 0;
            if (given) a.y = (double)a.x;
            formed f = rounded(a.x - m.x, a.X + m.X, wide ? a.y - m.y : (float)a.y - (float)m.y, wide);
            if (given) f.X = fabsl(f.x); /* two numbers as they are */
            expect(n, f, "under");
        }
    }
}

/* A stabiliser, rounded at every token: the least and the largest that it comes to. */
static void running_maxima_are_where_they_are_said_to_be(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 9, 1);
    (void)state;
    for (int i = 0; i < 200; i++) {
        one o;
        const int tokens = 1 << below(&rng, 12);
        open_one(&o, HOP_PRIM_RUNMAX, 3, HOP_AXIS_T, false);
        double size = 1 + hop_rng_uniform(&rng), fade = below(&rng, 2) ? size : size * 0x1p-12;
        o.r.tokens = tokens, o.r.round = below(&rng, 2) ? 0 : 0x1p-10;
        o.in[0] = hop__num_given((ival){-fade, 0}, HOP__NO_GRID);
        o.in[1] = hop__num_given((ival){hop__rounded(-tokens * 2 * size), hop__rounded(size)}, HOP__NO_GRID);
        o.in[2] = hop__num_given((ival){0, hop__rounded(size)}, HOP__NO_GRID);
        const hop__num *n = read_one(&o);
        float m = (float)(below(&rng, 2) ? size : 0);
        for (int t = 0; t < tokens; t++) {
            double before = m * (1 - o.r.round), b = below(&rng, 2)    ? o.in[1].range.lo
                                                     : t == tokens / 2 ? size
                                                                       : -size;
            m = (float)fmax(b, before + (below(&rng, 4) ? o.in[0].range.lo : 0));
            m = nextafterf(m, -INFINITY); /* rounded down */
            double at = m * (m < 0 ? 1 + o.r.round : 1);
            if (!(n->range.lo <= at && at <= n->range.hi))
                fail_msg("%.9g at token %d of %d is not in [%.9g, %.9g]", at, t, tokens, n->range.lo,
                         n->range.hi);
        }
        float b = (float)size;
        assert_true(n->range.hi >= b * (1 + o.r.round) && n->range.hi >= nextafterf(b, INFINITY));
    }
}

static hop__num draw_decay(hop_rng *rng, bool *next)
{
    ival range = {0.25 + 0.5 * hop_rng_uniform(rng), 1};
    if (below(rng, 3) == 0) range.hi = range.lo;
    *next = below(rng, 4) == 0;
    if (*next) range = (ival){1 - 0x1p-31 * hop_rng_uniform(rng), 1};
    hop__num e = uncertain(range, 1,
                           *next           ? 0x1p-31
                           : below(rng, 2) ? 0
                                           : ldexp(1, -12 - below(rng, 12)),
                           0, true);
    e.top = 1, e.one = *next;
    return e;
}

/* As a kernel has it: next to 1 it is 1. */
static formed decay_drawn(hop_rng *rng, const hop__num *e, bool next)
{
    formed f = draw(rng, e);
    if (next)
        f = (formed){below(rng, 2) ? e->range.lo : 1, 0, 1, 1}, f.X = f.x;
    else if (e->rel == 0)
        f.y = (double)f.x;
    if (f.y > 1) f.y = 1;
    return f;
}

/* hi s + (lo s + new), fused or not: so much of what fades is off, and so much of what is new. */
static void fading_is_off_by_what_it_is_charged(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 10, 1);
    (void)state;
    int fits = 0;
    for (int i = 0; i < 4 * TIMES; i++) {
        one o;
        bool next;
        open_one(&o, HOP_PRIM_FADE, 3, HOP_AXIS_K, false);
        double size = size_drawn(&rng);
        o.in[0] = draw_decay(&rng, &next);
        if (below(&rng, 8) == 0) o.in[0] = hop__num_given(ival_point(1), 0), next = false;
        o.in[1] = draw_num(&rng, size, 0), o.in[2] = draw_num(&rng, beside(&rng, size), 0);
        if (below(&rng, 4) == 0)
            o.in[2] = draw_num(&rng, size * 0x1p40 < 1e30 ? size * 0x1p40 : size, 0), o.in[2].rel = 0;
        const hop__num *n = read_one(&o);
        fits += o.r.fits;
        for (int d = 0; o.r.fits && d < 8; d++) {
            formed e = decay_drawn(&rng, &o.in[0], next), s = draw(&rng, &o.in[1]), c = draw(&rng, &o.in[2]);
            split h = split_of(e.y);
            float S = (float)s.y, C = (float)c.y, part = below(&rng, 2) ? fmaf(h.lo, S, C) : h.lo * S + C,
                  y = below(&rng, 2) ? fmaf(h.hi, S, part) : h.hi * S + part;
            formed f = {e.x * s.x + c.x, e.X * s.X + c.X, y, fmax(fabs((double)y), fabs((double)part))};
            expect(n, f, "fade");
            long double carried = (1 + o.in[1].rel) * (1 + o.r.carry) * (1 + o.r.drift) - 1,
                        room = carried * e.X * s.X + o.r.add * c.X + n->abs;
            if (!(fabsl(f.y - f.x) <= room * (1 + 1e-9L) + 1e-18L * f.X)) /* what goes to whom */
                fail_msg("fade: %.17Lg of %Lg and %Lg is formed as %.9g: carried %g, added %g", f.x,
                         e.X * s.X, c.X, f.y, o.r.carry, o.r.add);
        }
    }
    enough(fits, 4 * TIMES);
    one o;
    open_one(&o, HOP_PRIM_FADE, 3, HOP_AXIS_K, false);
    o.r.tokens = 1e6;
    o.in[0] = hop__num_given((ival){0.5, 1.001}, HOP__NO_GRID);
    o.in[1] = o.in[2] = hop__num_given((ival){0, 1}, HOP__NO_GRID);
    read_one(&o);
    assert_false(o.r.fits); /* a state that grows without end */
}

/* Products of decays over a chunk's tokens, as two numbers each; and what is carried through them. */
static void products_of_decays_are_off_by_what_they_are_charged(void **state)
{
    static const hop_prim prims[] = {HOP_PRIM_FAR, HOP_PRIM_FARB, HOP_PRIM_DEC};
    hop_rng rng;
    hop_rng_init(&rng, 11, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        bool next;
        int n = 1 + below(&rng, HOP_ARITH_CHUNK);
        const hop_prim prim = prims[below(&rng, 3)];
        bool carried = prim == HOP_PRIM_DEC && below(&rng, 2);
        open_one(&o, prim, carried ? 2 : 1, HOP_AXIS_T, false);
        o.in[1] = draw_num(&rng, size_drawn(&rng), 0);
        o.in[0] = draw_decay(&rng, &next), o.r.size[HOP_AXIS_T] = n;
        if (!next && below(&rng, 4) == 0)
            o.in[0] = uncertain((ival){0x1p-12, 0x1p-9}, 0x1p-9, 0, 0, true), o.in[0].top = 1;
        const hop__num *y = read_one(&o);
        if (!o.r.fits) continue;
        for (int d = 0; d < 8; d++) {
            int terms = 1 + below(&rng, n);
            formed f = carried ? draw(&rng, &o.in[1]) : (formed){1, 1, 1, 1};
            float p = (float)f.y;
            for (int k = 0; k < terms; k++) {
                formed e = decay_drawn(&rng, &o.in[0], next);
                if (next) e.x = e.X = o.in[0].range.lo;
                split h = split_of(e.y);
                p = below(&rng, 2) ? fmaf(h.hi, p, h.lo * p) : h.hi * p + h.lo * p, f.x *= e.x, f.X *= e.X;
            }
            f.y = p, f.most = fabs((double)p);
            expect(y, f, carried ? "carried" : "far");
        }
    }
}

/* What a number stands for when it is e^m times as large. */
static void what_a_stabiliser_was_taken_off_is_as_uncertain_as_it_is_large(void **state)
{
    hop_rng rng;
    hop_rng_init(&rng, 12, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        one o;
        open_one(&o, HOP_PRIM_PLAIN, 2, HOP_AXIS_K, false);
        o.in[0] = draw_num(&rng, 1 + hop_rng_uniform(&rng), 0);
        o.in[1] = hop__num_given((ival){0, 10 * hop_rng_uniform(&rng)}, HOP__NO_GRID);
        const hop__num *n = read_one(&o);
        formed a = draw(&rng, &o.in[0]);
        long double by = expl(o.in[1].range.hi);
        assert_true(fabsl(a.y - a.x) * by <= n->rel * a.X * by + n->abs + 1e-15L * by);
        assert_true(a.X * by <= n->mag * (1 + 1e-12));
    }
}

/* ---- float32 -------------------------------------------------------------------------------------------- */

/* As two neighbours: see hop__rounded. */
static void round_both(ival *y, double a, double b)
{
    *y = (ival){hop__rounded(a), hop__rounded(b)};
}

static void numbers_are_rounded_beside_each_other(void **state)
{
    void (*volatile both)(ival * y, double a, double b) = round_both; /* not known when this is compiled */
    ival y;
    (void)state;
    both(&y, 1 + 0x1p-30, 0.1);
    assert_true(y.lo == 1 && y.hi == 0x1.99999ap-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_sums_and_quotients_are_off_by_what_they_are_charged),
        cmocka_unit_test(what_may_be_zero_is_not_divided_by),
        cmocka_unit_test(grids_are_those_of_the_results),
        cmocka_unit_test(what_overflows_does_not_fit),
        cmocka_unit_test(what_is_looked_up_is_one_of_what_it_may_be),
        cmocka_unit_test(sums_are_off_by_what_they_are_charged),
        cmocka_unit_test(totals_are_off_by_what_they_are_charged),
        cmocka_unit_test(solutions_are_off_by_what_they_are_charged),
        cmocka_unit_test(exponentials_are_off_by_what_they_are_charged),
        cmocka_unit_test(what_is_under_a_maximum_is_off_by_what_it_is_charged),
        cmocka_unit_test(running_maxima_are_where_they_are_said_to_be),
        cmocka_unit_test(fading_is_off_by_what_it_is_charged),
        cmocka_unit_test(products_of_decays_are_off_by_what_they_are_charged),
        cmocka_unit_test(what_a_stabiliser_was_taken_off_is_as_uncertain_as_it_is_large),
        cmocka_unit_test(numbers_are_rounded_beside_each_other),
    };
    return cmocka_run_group_tests_name("prove_charges", tests, NULL, NULL);
}
