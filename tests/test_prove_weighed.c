/* A head of a recurrence beside its set: queries, keys, values, decays and corrections are drawn from what the
 * tokens may hold, the recurrence is run in double, and what the last token reads must lie in what it is said to. */
#include "test.h"

#include <hopbound/base.h>

#include "weigh.h"

enum { KEYS = 3, VALUES = 2, MOST = 12, TIMES = 1500, DRAWS = 12 };

typedef enum kind { DECAY, DELTA, DPLR, BONUS, KINDS } kind;

/* What the tokens may hold: token t's numbers, and how far each may be off. Tokens of one class, but the last. */
typedef struct head {
    kind kind;
    int tokens;
    bool fades;
    double q[KEYS], k[MOST][KEYS], v[MOST][VALUES], a[KEYS], b[KEYS], u[KEYS];
    double rad_q, rad_k, rad_v, low, beta; /* decays from low to 1; beta from 0 on */
} head;

static int below(hop_rng *rng, int n)
{
    return (int)hop_rng_below(rng, (uint64_t)n);
}

static double sign(hop_rng *rng, double by)
{
    return by * (below(rng, 3) - 1);
}

static double quarter(hop_rng *rng)
{
    return 0.25 * (below(rng, 9) - 4);
}

static head draw_head(hop_rng *rng)
{
    head h = {.kind = (kind)below(rng, KINDS),
              .tokens = 2 + below(rng, MOST - 2),
              .fades = below(rng, 2),
              .low = 0.5};
    const bool alike = below(rng, 2);          /* keys that meet */
    const double size = below(rng, 3) ? 1 : 2; /* such that a token's corrections enlarge the state */
    h.rad_q = below(rng, 3) ? 0 : 0x1p-5, h.rad_k = below(rng, 3) ? 0 : 0x1p-5,
    h.rad_v = below(rng, 3) ? 0 : 0x1p-5;
    h.beta = below(rng, 2) ? 1 : 0.5;
    for (int c = 0; c < KEYS; c++)
        h.q[c] = quarter(rng), h.a[c] = 0.1 * quarter(rng), h.b[c] = quarter(rng), h.u[c] = 4 * quarter(rng);
    for (int t = 0; t < h.tokens; t++) {
        for (int c = 0; c < KEYS; c++)
            h.k[t][c] = alike && t ? h.k[0][c] : alike || c == t % KEYS ? size * quarter(rng) : 0;
        for (int e = 0; e < VALUES; e++) h.v[t][e] = below(rng, 4) ? quarter(rng) : 0;
    }
    return h;
}

/* A table of positions: what tokens first .. first + count - 1 hold. */
static hop__set *places(hop__memory *m, const double *x, int64_t width, int64_t first, int64_t count,
                        double rad)
{
    hop__set *s = hop__set_new(m, width);
    hop__term *t = hop__set_add_term(m, s, HOP__POS, count, NULL, 0);
    assert_non_null(t);
    for (int64_t i = 0; i < count * width; i++) t->cell[i] = x[first * width + i];
    for (int64_t c = 0; c < width; c++) s->rad[c] = rad;
    hop__set_canonical(m, s);
    return s;
}

static hop__set *numbers(hop__memory *m, ival x, int64_t width)
{
    hop__set *s = hop__set_new(m, width);
    for (int64_t c = 0; s && c < width; c++) s->mid[c] = ival_mid(x), s->rad[c] = ival_rad(x);
    hop__set_canonical(m, s);
    assert_non_null(s);
    return s;
}

/* How far a token turns a state: see scan.c. */
static double turn_of(const head *h, int t)
{
    double square = 0, a = 0, b = 0;
    for (int c = 0; c < KEYS; c++) {
        square += (fabs(h->k[t][c]) + h->rad_k) * (fabs(h->k[t][c]) + h->rad_k);
        a += fabs(h->a[c]), b += fabs(h->b[c]);
    }
    return h->kind == DELTA ? h->beta * square : h->kind == DPLR ? a * b : 0;
}

static hop__recurrence made_of(hop__memory *m, const head *h)
{
    static const hop_arith_scan scans[] = {HOP_ARITH_DECAY, HOP_ARITH_DELTA, HOP_ARITH_DPLR, HOP_ARITH_DECAY};
    hop__recurrence r = {.keys = KEYS, .values = VALUES};
    static const char *const names[] = {"q", "k", "v", "beta", "a", "b", "u"};
    assert_true(hop__recurrence_open(
        m, &r,
        hop_scan_programs(scans[h->kind], h->fades ? HOP_GATE_TOKEN : HOP_GATE_NONE, h->kind == BONUS)));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        r.given[r.count++] = (hop__given){names[i], hop__num_given((ival){i == 3 ? 0 : -5, 5}, HOP__NO_GRID)};
    r.given[r.count++] = (hop__given){"g", hop__num_given((ival){-1, 0}, HOP__NO_GRID)};
    r.given[r.count++] = (hop__given){"scale", hop__num_given(ival_point(1), 0)};
    return r;
}

/* What the last token may read. */
static hop__set *said(hop__memory *m, hop__analysis *w, const head *h)
{
    static float bonus[KEYS];
    const int n = h->tokens - 1;
    *w = (hop__analysis){.m = m, .answering = -1};
    w->facts =
        (hop__facts){.classes = 2, .length = h->tokens, .class = {{.count = n}, {.start = n, .count = 1}}};
    hop__sets q, k, v, f, turn, plain, y = {0};
    hop__reading_shape s = {
        .w = w, .heads = 1, .keys = KEYS, .values = VALUES, .q_heads = 1, .scale = 1, .steps = 1};
    for (int a = 0; a < 2; a++) {
        int64_t first = a ? n : 0, count = a ? 1 : n;
        double most = 0;
        q[a] = places(m, h->q, KEYS, 0, 1, h->rad_q); /* all ask the same */
        k[a] = places(m, h->k[0], KEYS, first, count, h->rad_k),
        v[a] = places(m, h->v[0], VALUES, first, count, h->rad_v);
        plain[a] = k[a], f[a] = numbers(m, (ival){h->low, 1}, 1);
        for (int64_t t = first; t < first + count; t++) most = fmax(most, turn_of(h, (int)t));
        turn[a] = numbers(m, ival_point(most * HOP__ABOVE), 1);
        if (h->kind == DELTA) { /* keys with their beta, from none of it to all */
            hop__set *all = hop__set_new(m, KEYS);
            for (int64_t t = first; t < first + count; t++)
                for (int c = 0; c < KEYS; c++)
                    all->rad[c] = fmax(all->rad[c], h->beta * (fabs(h->k[t][c]) + h->rad_k));
            hop__set_canonical(m, all);
            if (count > 1 || h->beta < 1) k[a] = all;
        }
    }
    for (int c = 0; c < KEYS; c++) bonus[c] = (float)h->u[c];
    s.q = q, s.k = k, s.v = v, s.made = made_of(m, h);
    if (h->fades) s.f = f, s.f_keys = 1;
    if (h->kind == DELTA || h->kind == DPLR) s.turn = turn;
    if (h->kind == DELTA) s.plain = plain, s.most_beta = h->beta;
    if (h->kind == BONUS) s.bonus = bonus;
    hop__weigh(&s, y);
    return m->status == HOP_OK && !m->overflow ? y[1] : NULL;
}

/* One token: o is what it reads, S what is left of the state. */
static void step(const head *h, int t, hop_rng *rng, double S[KEYS][VALUES], const double *q, double *o)
{
    const double fade = !h->fades       ? 1
                        : below(rng, 3) ? (below(rng, 2) ? h->low : 1)
                                        : h->low + (1 - h->low) * hop_rng_uniform(rng);
    const bool own =
        h->kind == DELTA && ((t < h->tokens - 1 && h->tokens > 2) || h->beta < 1); /* else beta is 1 */
    const double beta = own && below(rng, 3) == 0 ? h->beta * hop_rng_uniform(rng) : h->beta;
    double k[KEYS], v[VALUES], p;
    for (int c = 0; c < KEYS; c++) k[c] = h->k[t][c] + sign(rng, h->rad_k);
    for (int e = 0; e < VALUES; e++) {
        v[e] = h->v[t][e] + sign(rng, h->rad_v), o[e] = p = 0;
        for (int c = 0; c < KEYS; c++)
            o[e] += h->kind == BONUS ? q[c] * (S[c][e] + h->u[c] * k[c] * v[e]) : 0;
        for (int c = 0; c < KEYS; c++) p += h->kind == DPLR ? h->a[c] * S[c][e] : k[c] * fade * S[c][e];
        for (int c = 0; c < KEYS; c++) {
            const double new = h->kind == DELTA  ? beta *k[c] * (v[e] - p)
                               : h->kind == DPLR ? k[c] * v[e] + h->b[c] * p
                                                 : k[c] * v[e];
            S[c][e] = fade * S[c][e] + new;
            if (h->kind != BONUS) o[e] += q[c] * S[c][e];
        }
    }
}

static void what_is_read_lies_in_what_it_is_said_to(void **state)
{
    hop_rng rng;
    int64_t told = 0, known = 0;
    hop_rng_init(&rng, 1, 1);
    (void)state;
    for (int i = 0; i < TIMES; i++) {
        hop__memory m = {0};
        hop__analysis w;
        const head h = draw_head(&rng);
        const hop__set *y = said(&m, &w, &h);
        for (int d = 0; y && d < DRAWS; d++) {
            double S[KEYS][VALUES] = {{0}}, q[KEYS], o[VALUES];
            for (int c = 0; c < KEYS; c++) q[c] = h.q[c] + sign(&rng, h.rad_q);
            for (int t = 0; t < h.tokens; t++) step(&h, t, &rng, S, q, o);
            for (int e = 0; e < VALUES; e++) {
                ival is = hop__set_range(y, e);
                told++, known += is.hi - is.lo < 0.01;
                if (!(is.lo - 1e-12 <= o[e] && o[e] <= is.hi + 1e-12))
                    fail_msg("kind %d, %d tokens: %.9g is read, not in [%.9g, %.9g]", h.kind, h.tokens, o[e],
                             is.lo, is.hi);
            }
        }
        hop__memory_free(&m);
    }
    assert_true(told > TIMES * DRAWS && known > told / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_lies_in_what_it_is_said_to),
    };
    return cmocka_run_group_tests_name("prove_weighed", tests, NULL, NULL);
}
