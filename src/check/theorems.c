/* The checkers of proofs/Check.v, one a theorem. Each is proved there to imply what the certificate claims;
 * here they are written again, in integers, and compared with the extracted ones by a test. */
#include "certificate.h"
#include "powers.h"

#include <string.h>

#define PLUS(a, b)  hop__term_plus(&t, a, b)
#define LESS(a, b)  hop__term_less(&t, a, b)
#define TIMES(a, b) hop__term_times(&t, a, b)
#define NUMBER(n)   hop__term_number(&t, n)

static bool at_most(const fmpz *a, const fmpz *b)
{
    return fmpz_cmp(a, b) <= 0;
}

/* a^k·2^X < b^l */
static bool power_less(const fmpz *a, const fmpz *k, const fmpz *X, const fmpz *b, const fmpz *l)
{
    return hop__products_less(X, &(hop__power){a, k}, 1, &(hop__power){b, l}, 1);
}

static const fmpz *least(const fmpz *a, const fmpz *b)
{
    return fmpz_cmp(a, b) <= 0 ? a : b;
}

static bool ended(hop__terms *t, bool holds)
{
    hop__terms_drop(t, 0);
    return holds;
}

/* X < l·log2 b, which is kept for who asks. */
static bool weigh(const hop__bound_claim *c, const fmpz *X, const fmpz *b, const fmpz *l)
{
    if (c->sides) {
        fmpz_set(&c->sides->bits, X);
        fmpz_set(&c->sides->base, b);
        fmpz_set(&c->sides->times, l);
    }
    return hop__bits_below(X, b, l);
}

/* ---- one inequality or two ----------------------------------------------------------------------- */

/* 2^Q < N^N */
static bool p2_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *N = c->m;
    for (long l = 0; l < c->fan.count; l++) N = TIMES(N, &c->fan.of[l]);
    return ended(&t, weigh(c, c->state.of, N, N));
}

static bool p5_holds(const hop__bound_claim *c)
{
    return fmpz_is_zero(&c->state.of[1]) && weigh(c, c->reply, c->m, c->m);
}

static bool p4_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *m = c->m, *n = c->fan.of, *M = c->reply, *A = c->state.of, *B = A + 1, *V = c->given.of;
    const fmpz *bits = PLUS(PLUS(TIMES(n, M), TIMES(V, B)), A);
    return ended(&t, power_less(LESS(V, NUMBER(1)), m, A, m, m) && weigh(c, bits, TIMES(m, n), TIMES(n, V)));
}

static bool p7_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *m = c->m, *n = c->fan.of, *M = c->reply, *A1 = c->state.of + 1, *A2 = A1 + 1;
    const fmpz *z = c->given.of, *parts = z, *s = z + 1, *q = z + 2, *g = z + 3, *e = z + 4, *Y = z + 5;
    const fmpz *ts = TIMES(parts, s), *tq = TIMES(parts, q), *eg = TIMES(e, g), *eY = TIMES(e, Y);
    const fmpz *replies = PLUS(PLUS(TIMES(ts, q), m), PLUS(eg, TIMES(eg, parts)));
    const fmpz *bits = PLUS(PLUS(TIMES(M, replies), A1), TIMES(eY, A2));
    return ended(&t, at_most(ts, m) && at_most(tq, m) && at_most(eg, n) &&
                         power_less(LESS(Y, NUMBER(1)), ts, PLUS(TIMES(g, M), TIMES(ts, A1)), tq, ts) &&
                         weigh(c, bits, TIMES(m, n), TIMES(eg, Y)));
}

static bool p9_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *m = c->m, *n1 = c->fan.of, *n2 = n1 + 1, *M = c->reply, *A1 = c->state.of + 1, *A2 = A1 + 1;
    const fmpz *z = c->given.of, *u = z, *parts = z + 1, *s = z + 2, *q = z + 3, *g = z + 4, *e = z + 5,
               *Y = z + 6;
    const fmpz *ts = TIMES(parts, s), *uts = TIMES(u, ts), *utq = TIMES(TIMES(u, parts), q),
               *N1 = TIMES(m, n1), *eg = TIMES(e, g), *ueg = TIMES(u, eg);
    const fmpz *carried = least(TIMES(ts, A1), PLUS(A1, TIMES(ts, M)));
    const fmpz *replies =
        PLUS(PLUS(PLUS(TIMES(uts, q), LESS(N1, uts)), PLUS(m, ts)), PLUS(ueg, TIMES(ueg, parts)));
    const fmpz *bits = PLUS(PLUS(TIMES(M, replies), A1), TIMES(TIMES(e, Y), A2));
    return ended(&t,
                 at_most(u, n1) && at_most(ts, m) && at_most(utq, N1) && at_most(eg, n2) &&
                     power_less(LESS(Y, NUMBER(1)), uts, PLUS(TIMES(TIMES(u, g), M), carried), utq, uts) &&
                     weigh(c, bits, TIMES(N1, n2), TIMES(eg, Y)));
}

/* ---- by draws -------------------------------------------------------------------------------------- */

static bool p4_draws_hold(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *m = c->m, *n = c->fan.of, *M = c->reply, *A = c->state.of, *B = A + 1;
    const fmpz *z = c->given.of, *parts = z, *s = z + 1, *q = z + 2, *x = z + 3, *S = z + 4, *Y = z + 5;
    const fmpz *ts = TIMES(parts, s), *replies = PLUS(TIMES(n, parts), parts);
    const fmpz *bits = PLUS(PLUS(TIMES(M, replies), TIMES(x, B)), A);
    return ended(&t, at_most(ts, m) && at_most(TIMES(parts, q), m) &&
                         fmpz_cmp(TIMES(LESS(Y, NUMBER(1)), s), S) < 0 &&
                         weigh(c, bits, TIMES(m, n), TIMES(n, Y)) && hop__spreads(A, ts, q, x, S, &c->way));
}

static bool p8_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *m = c->m, *n1 = c->fan.of, *n2 = n1 + 1, *M = c->reply, *A0 = c->state.of, *A1 = A0 + 1,
               *A2 = A1 + 1;
    const fmpz *z = c->given.of, *g = z, *k = z + 1, *q = z + 2, *nu = z + 3, *x1 = z + 4, *x = z + 5,
               *S = z + 6;
    const fmpz *one = NUMBER(1), *J = TIMES(x1, A1), *J1 = PLUS(J, one), *kq = TIMES(k, q),
               *kqnu = TIMES(kq, nu), *N1 = TIMES(m, n1);
    const fmpz *replies =
        PLUS(PLUS(PLUS(TIMES(x, N1), TIMES(x1, g)), PLUS(LESS(m, g), one)), PLUS(kqnu, TIMES(kqnu, x1)));
    const fmpz *states = PLUS(PLUS(PLUS(A0, A1), J1), PLUS(TIMES(x, PLUS(J1, one)), TIMES(TIMES(x, x1), A2)));
    return ended(&t, at_most(g, m) && at_most(kq, n1) && at_most(TIMES(q, nu), n2) &&
                         power_less(LESS(x1, one), g, A0, m, g) &&
                         weigh(c, PLUS(states, TIMES(M, replies)), TIMES(N1, n2), TIMES(nu, S)) &&
                         hop__spreads(PLUS(PLUS(A0, TIMES(kqnu, M)), J1), TIMES(kq, x1), q, x, S, &c->way));
}

static bool p9_draws_hold(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *m = c->m, *n1 = c->fan.of, *n2 = n1 + 1, *M = c->reply, *A1 = c->state.of + 1, *A2 = A1 + 1;
    const fmpz *z = c->given.of, *u = z, *parts = z + 1, *s = z + 2, *q = z + 3, *x = z + 4, *A = z + 5,
               *Y = z + 6;
    const fmpz *ts = TIMES(parts, s), *uts = TIMES(u, ts), *ut = TIMES(u, parts), *N1 = TIMES(m, n1),
               *un2 = TIMES(u, n2);
    const fmpz *carried = least(TIMES(ts, A1), PLUS(A1, TIMES(ts, M)));
    const fmpz *replies =
        PLUS(PLUS(PLUS(TIMES(uts, q), LESS(N1, uts)), PLUS(m, ts)), PLUS(un2, TIMES(un2, parts)));
    const fmpz *bits = PLUS(PLUS(TIMES(M, replies), A1), TIMES(TIMES(n2, TIMES(parts, x)), A2));
    return ended(&t, fmpz_sgn(s) > 0 && fmpz_sgn(q) > 0 && at_most(u, n1) && at_most(ts, m) &&
                         at_most(TIMES(ut, q), N1) && at_most(PLUS(TIMES(u, M), carried), TIMES(A, s)) &&
                         weigh(c, bits, TIMES(N1, n2), TIMES(n2, Y)) &&
                         hop__spreads(A, ut, q, x, Y, &c->way));
}

/* ---- hop by hop -------------------------------------------------------------------------------------- */

/* With C = C(N, j), j = s - 1: 2·C·j^(x·k)·2^(x·d) < N^(x·k), where C is at most N^N/(j^j·(N-j)^(N-j)), or, which
 * an enclosure can hold when j is a small part of a large N, (3N)^j/j^j. */
static bool image_holds(const fmpz *N, const fmpz *s, const fmpz *x, const fmpz *k, const fmpz *d)
{
    hop__terms t;
    t.used = 0;
    const fmpz *j = LESS(s, NUMBER(1)), *rest = LESS(N, j), *xk = TIMES(x, k),
               *bits = PLUS(TIMES(x, d), NUMBER(1));
    const hop__power wide[] = {{j, xk}, {N, N}}, narrow[] = {{j, xk}, {TIMES(NUMBER(3), N), j}},
                     right[] = {{N, xk}, {j, j}, {rest, rest}};
    return ended(&t, at_most(s, N) && (hop__products_less(bits, wide, 2, right, 3) ||
                                       hop__products_less(bits, narrow, 2, right, 2)));
}

/* n_1 .. n_{L-1} of the hops that the certificate has. */
static const fmpz *queries(hop__terms *t, const hop__bound_claim *c)
{
    const fmpz *W = hop__term_number(t, 1);
    for (long l = 0; 2 * l + 1 < c->given.count; l++) W = hop__term_times(t, W, &c->fan.of[l]);
    return W;
}

static bool p6_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *M = c->reply, *x0 = c->given.of, *one = NUMBER(1);
    long hops = c->given.count / 2; /* L - 1 */
    const fmpz *P = c->m, *k = x0, *d = NUMBER(0), *g = c->state.of, *S = g,
               *asked = TIMES(x0, PLUS(one, queries(&t, c)));
    bool holds = hops > 0 && at_most(x0, c->m);
    for (long l = 0; holds && l < hops; l++) {
        const fmpz *x = x0 + 1 + 2 * l, *s = x + 1, *n = &c->fan.of[l], *A = &c->state.of[l + 1];
        const fmpz *h = NUMBER((ulong)(hops - l)), *hM = TIMES(h, M);
        const fmpz *kept = PLUS(TIMES(h, g), PLUS(TIMES(x, d), one));
        holds = fmpz_sgn(x) > 0 && image_holds(P, s, x, k, PLUS(d, g));
        if (l == hops - 1) {
            const fmpz *own = PLUS(TIMES(NUMBER((ulong)l), TIMES(P, M)), A);
            const fmpz *bits = PLUS(PLUS(kept, S), PLUS(TIMES(x, own), TIMES(asked, M)));
            holds = holds && weigh(c, bits, TIMES(n, P), TIMES(n, s));
            break;
        }
        const fmpz *own = TIMES(x, TIMES(NUMBER((ulong)l + 1), TIMES(P, hM)));
        S = PLUS(S, A);
        d = l == 0 ? A : PLUS(PLUS(kept, S), PLUS(own, TIMES(asked, hM)));
        g = l == 0 ? PLUS(g, TIMES(PLUS(TIMES(x, P), asked), M)) : NUMBER(0);
        asked = TIMES(x, PLUS(P, asked));
        P = TIMES(n, P);
        k = TIMES(n, s);
    }
    return ended(&t, holds);
}

static bool p7g_holds(const hop__bound_claim *c)
{
    hop__terms t;
    t.used = 0;
    const fmpz *M = c->reply, *x0 = c->given.of, *A1 = c->state.of + 1, *W = queries(&t, c);
    long hops = c->given.count / 2;
    const fmpz *P = c->m, *k = x0, *d = TIMES(x0, A1), *first = TIMES(W, M), *asked = x0, *p = x0, *S = A1;
    bool holds = at_most(x0, c->m);
    for (long l = 0; holds && l < hops; l++) {
        const fmpz *x = x0 + 1 + 2 * l, *s = x + 1, *n = &c->fan.of[l], *A = &c->state.of[l + 2];
        const fmpz *h = NUMBER((ulong)(hops - l)), *hM = TIMES(h, M), *one = NUMBER(1);
        holds = fmpz_sgn(x) > 0 && image_holds(P, s, x, k, PLUS(d, first));
        const fmpz *own = TIMES(x, TIMES(NUMBER((ulong)l + 1), TIMES(P, hM)));
        const fmpz *told =
            PLUS(PLUS(S, PLUS(own, TIMES(asked, hM))), PLUS(TIMES(TIMES(p, W), hM), TIMES(TIMES(x, p), A)));
        d = PLUS(PLUS(TIMES(h, first), PLUS(TIMES(x, d), one)), told);
        first = NUMBER(0);
        asked = TIMES(x, PLUS(P, asked));
        p = TIMES(x, p);
        S = PLUS(S, A);
        P = TIMES(n, P);
        k = TIMES(n, s);
    }
    return ended(&t, holds && weigh(c, PLUS(d, first), P, k));
}

/* ---- which is which ------------------------------------------------------------------------------------ */

const hop__bound_rule *hop__rule_called(const char *by)
{
    static const hop__bound_rule rules[] = {
        {"P2", "P2.v", "P2", 0, 0, 0, false, false, p2_holds},
        {"P4", "P4.v", "P4", 2, 1, 1, false, false, p4_holds},
        {"P4'", "P4prime.v", "P4'", 2, 1, 6, true, false, p4_draws_hold},
        {"P5", "P5.v", "P5", 1, 1, 0, false, true, p5_holds},
        {"P6", "P6.v", "P6", 0, -1, -1, false, false, p6_holds},
        {"P7", "P7.v", "P7", 2, 2, 6, false, true, p7_holds},
        {"P7G", "P7G.v", "P7G", 0, -1, -1, false, true, p7g_holds},
        {"P8", "P8.v", "P8", 3, 2, 7, true, false, p8_holds},
        {"P9", "P9.v", "P9", 3, 2, 7, false, true, p9_holds},
        {"P9b", "P9b.v", "P9b", 3, 2, 7, true, true, p9_draws_hold},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].by, by) == 0) return &rules[i];
    return NULL;
}
