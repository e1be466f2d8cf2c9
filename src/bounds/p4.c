/* P4: one full layer, two hops, at finite size. With A_0 and A_1 state bits before and after the full layer,
 * M bits in a reply, v = ceil(m / 2^(A_0/m)): the sizes (m, n_1) are impossible if for some 1 <= V <= v
 *
 *     n_1·V·log2(m·n_1)  >  n_1·M + V·A_1 + A_0.
 *
 * It is linear in V, so V = 1 and V = v are tried. What is looked for is the pair with the shortest prompt.
 * At a fixed n_1, v and log2(m·n_1) grow with m, and where the inequality holds it stays true for larger v:
 * so it holds from some m(n_1) on. At a fixed m the difference of the sides is convex in n_1 and not positive
 * at 0: so it holds from some n_1 on, and m(n_1) never grows. An interval [a, b] of n_1 therefore has no
 * prompt shorter than that of m(b) and a: branch and bound, and what it finds is the least. Two hops are
 * contained in more: the later functions hand on what they get. */
#include "certificate.h"

#include <math.h>

#define MOST_NODES 100000 /* of the search; beyond, what was found stands, though a shorter one may exist */

typedef struct p4_case {
    const fmpz *before, *after, *reply; /* A_0, A_1, M */
    double dbefore, dafter, dreply;     /* the same, for guesses */
    hop__case *c;
    fmpz tail; /* the prompt has m·(1 + tail·n_1) + 2 tokens */
    fmpz best, m, fan;
    int64_t nodes; /* that were asked for; more than MOST_NODES: not all were seen */
} p4_case;

/* ---- the inequality, decided --------------------------------------------------------------- */

typedef struct p4_sides {
    const p4_case *p;
    const fmpz *m, *fan, *values; /* values: V */
} p4_sides;

/* m / 2^(A_0/m) */
static void kept_values(arb_t out, const void *ctx, slong prec)
{
    const p4_sides *s = ctx;
    arb_set_fmpz(out, s->p->before);
    arb_div_fmpz(out, out, s->m, prec);
    arb_neg(out, out);
    arb_t two;
    arb_init(two);
    arb_set_ui(two, 2);
    arb_pow(out, two, out, prec);
    arb_mul_fmpz(out, out, s->m, prec);
    arb_clear(two);
}

/* v. When A_0/m is an integer the quotient is a fraction with a power of two below; else it is irrational. */
static void count_values(fmpz_t v, const p4_case *p, const fmpz_t m)
{
    fmpz_t bits, rest;
    fmpz_init(bits), fmpz_init(rest);
    fmpz_fdiv_qr(bits, rest, p->before, m);
    if (fmpz_cmp_ui(bits, fmpz_bits(m)) >= 0) {
        fmpz_one(v);
    } else if (fmpz_is_zero(rest)) {
        fmpz_cdiv_q_2exp(v, m, fmpz_get_ui(bits));
    } else {
        p4_sides s = {p, m, NULL, NULL};
        if (!hop__ceiling(v, kept_values, &s)) fmpz_one(v);
    }
    fmpz_clear(bits), fmpz_clear(rest);
}

static void sides_difference(arb_t out, const void *ctx, slong prec)
{
    const p4_sides *s = ctx;
    fmpz_t t;
    fmpz_init(t);
    fmpz_mul(t, s->m, s->fan);
    hop__log2(out, t, prec);
    fmpz_mul(t, s->fan, s->values);
    arb_mul_fmpz(out, out, t, prec);
    fmpz_mul(t, s->fan, s->p->reply);
    fmpz_addmul(t, s->values, s->p->after);
    fmpz_add(t, t, s->p->before);
    arb_sub_fmpz(out, out, t, prec);
    fmpz_clear(t);
}

/* With which V? */
static bool impossible_with(fmpz_t v, const p4_case *p, const fmpz_t m, const fmpz_t fan)
{
    count_values(v, p, m);
    p4_sides s = {p, m, fan, v};
    bool found = hop__sign(sides_difference, &s) > 0;
    if (!found && !fmpz_is_one(v)) {
        fmpz_one(v);
        found = hop__sign(sides_difference, &s) > 0;
    }
    return found;
}

static bool impossible_at(const p4_case *p, const fmpz_t m, const fmpz_t fan)
{
    fmpz_t v;
    fmpz_init(v);
    bool found = impossible_with(v, p, m, fan);
    fmpz_clear(v);
    return found;
}

/* ---- the least m for an n_1 ----------------------------------------------------------------- */

bool hop__p4_seems(double before, double after, double reply, double m, double fan)
{
    double v = fmax(1, ceil(m * exp2(-before / m))), entry = log2(m * fan);
    return fan * v * entry > fan * reply + v * after + before || fan * entry > fan * reply + after + before;
}

/* Moves low (fails) and high (holds) next to where doubles see the change. */
static void narrow(const p4_case *p, const fmpz_t fan, fmpz_t low, fmpz_t high)
{
    double f = fmpz_get_d(fan), a = fmpz_get_d(low), b = fmpz_get_d(high);
    for (int i = 0; i < 200 && b - a > 1e-13 * b + 0.5; i++) {
        double middle = b / a > 4 ? sqrt(a * b) : a + (b - a) / 2;
        if (hop__p4_seems(p->dbefore, p->dafter, p->dreply, middle, f))
            b = middle;
        else
            a = middle;
    }
    fmpz_t guess;
    fmpz_init(guess);
    fmpz_set_d(guess, ceil(b * (1 + 1e-12)) + 1);
    if (fmpz_cmp(guess, high) < 0 && fmpz_cmp(guess, low) > 0)
        fmpz_set(impossible_at(p, guess, fan) ? high : low, guess);
    fmpz_set_d(guess, floor(a * (1 - 1e-12)) - 1);
    if (fmpz_cmp(guess, high) < 0 && fmpz_cmp(guess, low) > 0)
        fmpz_set(impossible_at(p, guess, fan) ? high : low, guess);
    fmpz_clear(guess);
}

/* m(n_1), if it is at most `most`. */
static bool least_m(fmpz_t m, const p4_case *p, const fmpz_t fan, const fmpz_t most)
{
    if (fmpz_cmp_ui(most, 2) < 0 || !impossible_at(p, most, fan)) return false;
    fmpz_t low, middle;
    fmpz_init_set_ui(low, 1);
    fmpz_init(middle);
    fmpz_set(m, most);
    narrow(p, fan, low, m);
    for (;;) {
        fmpz_sub(middle, m, low);
        if (fmpz_is_one(middle)) break;
        fmpz_fdiv_q_2exp(middle, middle, 1);
        fmpz_add(middle, middle, low);
        fmpz_set(impossible_at(p, middle, fan) ? m : low, middle);
    }
    fmpz_clear(low), fmpz_clear(middle);
    return true;
}

/* ---- branch and bound over n_1 --------------------------------------------------------------- */

static void tokens_of(fmpz_t n, const p4_case *p, const fmpz_t m, const fmpz_t fan)
{
    fmpz_mul(n, &p->tail, fan);
    fmpz_add_ui(n, n, 1);
    fmpz_mul(n, n, m);
    fmpz_add_ui(n, n, 2);
}

static void offer(p4_case *p, const fmpz_t m, const fmpz_t fan)
{
    fmpz_t n;
    fmpz_init(n);
    tokens_of(n, p, m, fan);
    if (fmpz_is_zero(&p->best) || fmpz_cmp(n, &p->best) < 0) {
        fmpz_set(&p->best, n);
        fmpz_set(&p->m, m);
        fmpz_set(&p->fan, fan);
    }
    fmpz_clear(n);
}

/* The most that m may be for m·(1 + tail·a) + 2 to be below the best. */
static void room_for_m(fmpz_t most, const p4_case *p, const fmpz_t a)
{
    fmpz_t unit;
    fmpz_init(unit);
    fmpz_mul(unit, &p->tail, a);
    fmpz_add_ui(unit, unit, 1);
    fmpz_sub_ui(most, &p->best, 3);
    fmpz_fdiv_q(most, most, unit);
    fmpz_clear(unit);
}

static void search(p4_case *p, const fmpz_t a, const fmpz_t b)
{
    if (p->c->stopped || p->nodes++ >= MOST_NODES) return;
    if (!hop_progress_tick(p->c->q->progress, "P4: sizes", (double)p->nodes, 0)) p->c->stopped = true;
    fmpz_t m, middle;
    fmpz_init(m), fmpz_init(middle);
    room_for_m(middle, p, a);
    if (least_m(m, p, b, middle)) {
        offer(p, m, b);
        fmpz_sub(middle, b, a);
        if (fmpz_sgn(middle) > 0) {
            fmpz_mul_2exp(m, a, 2);
            if (fmpz_cmp(m, b) < 0) {
                fmpz_mul(middle, a, b); /* far apart: the geometric mean */
                fmpz_sqrt(middle, middle);
            } else {
                fmpz_fdiv_q_2exp(middle, middle, 1);
                fmpz_add(middle, middle, a);
            }
            search(p, a, middle);
            fmpz_add_ui(middle, middle, 1);
            search(p, middle, b);
        }
    }
    fmpz_clear(m), fmpz_clear(middle);
}

/* The shortest prompt that is impossible. Some m = n_1 = 2^t is, since v comes as close to m as one likes. */
static void find_shortest(p4_case *p)
{
    fmpz_t a, b;
    fmpz_init_set_ui(a, 2), fmpz_init_set_ui(b, 2);
    while (!impossible_at(p, b, b)) fmpz_mul_2exp(b, b, 1);
    offer(p, b, b);
    fmpz_fdiv_q_2exp(b, &p->best, 1); /* m >= 2 */
    fmpz_fdiv_q(b, b, &p->tail);
    search(p, a, b);
    fmpz_clear(a), fmpz_clear(b);
}

static bool certify(const p4_case *p, hop_bound *b, const fmpz *sizes)
{
    static const char *const names[] = {"V"};
    hop__proof proof = {.by = "P4", .names = names, .count = 1};
    bool found = impossible_with(&proof.of[0], p, &sizes[0], &sizes[1]);
    if (found) b->certificate = NULL; /* of other sizes */
    if (found) hop__certify(p->c, b, &proof, sizes, 2);
    hop__proof_clear(&proof);
    return found;
}

void hop__p4(hop__case *c, hop_bound *b)
{
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 2, "at least two hops");
    hop__suppose(c, b, s->full == 1, hop__say(c, "one full layer, %s", hop__say_here(c, s->full)));
    if (!b->applies) return;
    p4_case p = {.before = &s->state[0], .after = &s->state[1], .reply = &s->reply, .c = c};
    p.dbefore = fmpz_get_d(p.before), p.dafter = fmpz_get_d(p.after), p.dreply = fmpz_get_d(p.reply);
    fmpz_one_2exp(&p.tail, (ulong)c->hops - 1);
    fmpz_sub_ui(&p.tail, &p.tail, 1); /* 1 + 2 + 4 + ..: the tables after n_1's have fans of 2 */
    find_shortest(&p);
    b->needs = "n_1 M + V A_1 + A_0 >= n_1 V log2(m n_1)";
    b->has = hop__say(c, "M = %s, A_0 = %s, A_1 = %s bits", hop__say_integer(c, p.reply),
                      hop__say_integer(c, p.before), hop__say_integer(c, p.after));
    const fmpz found[2] = {p.m, p.fan};
    if (!c->stopped) {
        certify(&p, b, found);
        hop__speak_at(c, b, found, 2);
    }
    if (p.nodes > MOST_NODES && !c->by_sizes)
        b->why = hop__say(c, "%s (a shorter n may exist: the search was cut)", b->why);
    if (c->by_sizes) hop__speak_here(c, b, certify(&p, b, c->sizes));
    fmpz_clear(&p.tail), fmpz_clear(&p.best), fmpz_clear(&p.m), fmpz_clear(&p.fan);
}
