/* Sets whose truth is known: every operation is compared, case by case, with what it does to numbers. */
#include "test.h"

#include <hopbound/base.h>

#include "reader.h"

enum { A = 1, B = 2, AS = 24, BS = 512, HEADS = 24, WIDTH = 40, FILLED = 12, ALL = HEADS * WIDTH };

/* What head h holds in column c when the variables are a and b: something for some values of a, else 0. */
static double truth(int64_t column, int64_t a, int64_t b)
{
    int64_t h = column / WIDTH, c = column % WIDTH;
    hop_rng rng;
    hop_rng_init(&rng, (uint64_t)(b * FILLED + c), 7);
    if (a % HEADS != h || c >= FILLED) return 0;
    return (c % 3 == 0 ? 0.25 : 0) + (float)hop_rng_normal(&rng);
}

/* What a set says of column c in that case. */
static ival said(const hop__set *s, int64_t a, int64_t b, int64_t c)
{
    ival x = ival_point(s->mid[c]);
    for (int t = 0; t < s->terms; t++) {
        const hop__term *u = &s->term[t];
        int64_t row = 0;
        for (int k = 0; k < u->vars; k++) row = row * u->classes[k] + u->of[k][u->var[k] == A ? a : b];
        x = ival_add(x, ival_point(hop__term_at(u, row, c)));
    }
    if (s->rel[c] > 0) x = ival_widen(x, ival_up(s->rel[c] * ival_mag(x)));
    return ival_widen(x, s->rad[c]);
}

static void expect(const hop__set *s, int64_t a, int64_t b, int64_t c, double x, double near)
{
    ival is = said(s, a, b, c), range = hop__set_range(s, c);
    if (!(is.lo <= x && x <= is.hi && is.hi - is.lo <= near * (1 + fabs(x))))
        fail_msg("column %d at %d, %d is %.17g, not in [%.17g, %.17g]", (int)c, (int)a, (int)b, x, is.lo,
                 is.hi);
    if (!(range.lo <= x && x <= range.hi && fabs(x) <= s->mag[c]))
        fail_msg("column %d, which is %.17g, is not in its range", (int)c, x);
}

/* One head: a table over b, read for some values of a only. */
static hop__set *head(hop__memory *m, int64_t h)
{
    hop__set *x = hop__set_new(m, WIDTH), *by = hop__set_new(m, 1);
    hop__term *t = hop__set_add_term(m, x, B, BS, NULL, 0), *cases = hop__set_add_term(m, by, A, AS, NULL, 0);
    bool *where = hop__take(m, AS, sizeof *where);
    assert_non_null(t), assert_non_null(cases), assert_non_null(where);
    for (int64_t c = 0; c < FILLED; c++) x->mid[c] = c % 3 == 0 ? 0.25 : 0;
    for (int64_t b = 0; b < BS; b++)
        for (int64_t c = 0; c < FILLED; c++)
            *hop__term_cell(t, b, c) = truth(h * WIDTH + c, h, b) - x->mid[c];
    for (int64_t a = 0; a < AS; a++) where[a] = a % HEADS == h;
    hop__set_canonical(m, x);
    hop__set *y = hop__set_where(m, x, cases, where);
    assert_non_null(y);
    return y;
}

static hop__set *heads(hop__memory *m)
{
    const hop__set *each[HEADS];
    for (int64_t h = 0; h < HEADS; h++) each[h] = head(m, h);
    hop__set *all = hop__set_beside(m, each, HEADS);
    assert_non_null(all);
    return all;
}

/* Some cases, of every value of a. */
#define EACH_CASE(a, b)              \
    for (int64_t a = 0; a < AS; a++) \
        for (int64_t b = a % 5; b < BS; b += 37)

static void heads_that_read_in_turn_stand_apart(void **state)
{
    hop__memory m = {0};
    hop__set *s = heads(&m);
    (void)state;
    int apart = 0; /* and one table of which head reads, where its numbers do not vary otherwise */
    for (int t = 0; t < s->terms; t++) apart += s->term[t].count == FILLED && s->term[t].rows == 2 * BS;
    assert_true(apart == HEADS && s->terms == HEADS + 1);
    EACH_CASE(a, b) for (int64_t c = 0; c < ALL; c++) expect(s, a, b, c, truth(c, a, b), 1e-14);
    hop__memory_free(&m);
}

static void columns_that_are_taken_are_one_table(void **state)
{
    hop__memory m = {0};
    hop__set *s = heads(&m), *copy = hop__set_copy(&m, s), *two = hop__set_columns(&m, s, WIDTH, 2 * WIDTH);
    int64_t back[ALL];
    (void)state;
    for (int64_t c = 0; c < ALL; c++) back[c] = ALL - 1 - c;
    hop__set *turned = hop__set_gather(&m, s, back, ALL), *joined = hop__set_joined(&m, two);
    assert_non_null(copy), assert_non_null(two), assert_non_null(turned), assert_non_null(joined);
    assert_int_equal(two->terms, 2);
    assert_int_equal(joined->terms, 1);
    hop__set *fixed = hop__set_copy(&m, s);
    hop__set_fix(&m, fixed, A, 3);
    EACH_CASE(a, b)
    {
        for (int64_t c = 0; c < ALL; c++) {
            expect(copy, a, b, c, truth(c, a, b), 1e-14);
            expect(turned, a, b, c, truth(back[c], a, b), 1e-14);
            expect(fixed, a, b, c, truth(c, 3, b), 1e-14);
        }
        for (int64_t c = 0; c < 2 * WIDTH; c++) {
            expect(two, a, b, c, truth(WIDTH + c, a, b), 1e-14);
            expect(joined, a, b, c, truth(WIDTH + c, a, b), 1e-14);
        }
    }
    hop__memory_free(&m);
}

/* Of all heads one reads at a time: what they may be off, relatively, is not added up. */
static void linear_maps_of_tables_apart_hold_what_numbers_give(void **state)
{
    enum { FEW = 3, MANY = 130 };
    static float w[MANY * ALL];
    hop_rng rng;
    hop_rng_init(&rng, 1, 2);
    (void)state;
    for (int64_t i = 0; i < MANY * ALL; i++) w[i] = (float)hop_rng_normal(&rng);
    for (int64_t out = FEW; out <= MANY; out += MANY - FEW)
        for (int relative = 0; relative < 2; relative++) {
            hop__memory m = {0};
            hop__set *s = heads(&m);
            for (int64_t c = 0; relative && c < ALL; c++) s->rel[c] = 1e-3;
            hop__matrix map = {.w = w, .out = out, .in = ALL, .row_step = ALL, .col_step = 1};
            hop__set *y = hop__set_linear(&m, s, map);
            assert_non_null(y);
            if (out == FEW) assert_int_equal(y->terms, 2);
            for (int64_t i = 0; i < out; i += 3) {
                double most = 0;
                EACH_CASE(a, b)
                {
                    double sum = 0, mag = 0;
                    for (int64_t c = a % HEADS * WIDTH; c < (a % HEADS + 1) * WIDTH; c++) {
                        sum += w[i * ALL + c] * truth(c, a, b);
                        mag += fabs(w[i * ALL + c] * truth(c, a, b));
                    }
                    most = fmax(most, mag);
                    expect(y, a, b, i, sum, 1);
                    expect(y, a, b, i, sum + (relative ? 9e-4 * mag : 0), 1);
                }
                /* float32 sums of all heads' numbers are allowed for, but rel only of the one that reads; the
                 * cases that are not looked at here may have somewhat more */
                assert_true(y->rad[i] < (relative ? 5e-3 : 1e-3) * most);
            }
            hop__memory_free(&m);
        }
}

static void square(const void *arg, int64_t block, const ival *x, ival *y)
{
    const double *by = arg;
    *y = hop__times(ival_mul(x[0], x[0]), ival_point(by[block]));
}

static void product(const void *arg, int64_t block, const ival *x, ival *y)
{
    (void)arg, (void)block;
    *y = hop__times(x[0], x[1]);
}

static void maps_of_tables_apart_hold_what_numbers_give(void **state)
{
    hop__memory m = {0};
    hop__set *s = heads(&m);
    double by[ALL];
    (void)state;
    for (int64_t c = 0; c < ALL; c++) by[c] = (double)(c % 8);
    hop__set *y =
                 hop__set_map(&m, s, (hop__blocks){.count = ALL, .in = 1, .out = 1, .fn = square, .arg = by}),
             *z = hop__set_map(&m, s, (hop__blocks){.count = ALL / 2, .in = 2, .out = 1, .fn = product});
    assert_non_null(y), assert_non_null(z);
    assert_true(y->terms > 1);
    EACH_CASE(a, b) for (int64_t c = 0; c < ALL; c++)
    {
        double x = truth(c, a, b);
        expect(y, a, b, c, x * x * by[c], 1e-5);
        if (c % 2 == 0) expect(z, a, b, c / 2, x * truth(c + 1, a, b), 1e-5);
    }
    hop__memory_free(&m);
}

/* A stream that the heads are added to, all at once or one after the other. */
static void sums_of_tables_apart_are_one_table(void **state)
{
    hop__memory m = {0};
    hop__set *sum = hop__set_new(&m, WIDTH);
    (void)state;
    hop__set_canonical(&m, sum);
    for (int64_t h = 0; h < HEADS; h++) sum = hop__set_add(&m, sum, head(&m, h));
    static float w[WIDTH * ALL];
    for (int64_t c = 0; c < ALL; c++) w[c % WIDTH * ALL + c] = 1;
    hop__matrix map = {.w = w, .out = WIDTH, .in = ALL, .row_step = ALL, .col_step = 1};
    hop__set *once = hop__set_linear(&m, heads(&m), map);
    assert_non_null(sum), assert_non_null(once);
    assert_true(sum->terms == 1 && once->terms == 1);
    assert_int_equal(once->term[0].rows, BS); /* whoever reads reads the same */
    EACH_CASE(a, b) for (int64_t c = 0; c < WIDTH; c++)
    {
        double x = truth(a % HEADS * WIDTH + c, a, b);
        expect(sum, a, b, c, x, 1e-3);
        expect(once, a, b, c, x, 1e-3);
    }
    hop__memory_free(&m);
}

/* Two tables over the same variables that became small only after they had been refused as one: what adding
 * their rows loses stays in the box of a sum. */
static void sums_keep_what_joining_tables_loses(void **state)
{
    enum { VALUES = 4096 };
    hop__memory m = {0};
    hop__set *x = hop__set_new(&m, 1), *nothing = hop__set_new(&m, 1);
    int32_t *even = hop__take(&m, VALUES, sizeof *even), *odd = hop__take(&m, VALUES, sizeof *odd);
    (void)state;
    for (int32_t i = 0; i < VALUES; i++) even[i] = i / 2, odd[i] = (i + 1) / 2 % (VALUES / 2);
    for (int i = 0; i < 2; i++) {
        const int32_t *of = i ? odd : even;
        hop__term like = {.vars = 2, .var = {A, B}, .values = {VALUES, VALUES}, .of = {of, of}};
        like.classes[0] = like.classes[1] = VALUES / 2;
        hop__term *t = hop__set_term_over(&m, x, &like, 0, 1);
        assert_non_null(t);
        for (int64_t b = 0; b < VALUES / 2; b++)
            for (int64_t a = 1; a < VALUES / 2; a++)
                *hop__term_cell(t, a * (VALUES / 2) + b, 0) = b ? (i ? 0x1p-60 : 1) : 0;
    }
    hop__set_canonical(&m, x);
    hop__set_canonical(&m, nothing);
    assert_int_equal(m.status, HOP_OK);
    assert_true(x->terms == 2 && x->term[0].rows == 4 && x->term[1].rows == 4);
    hop__set *sum = hop__set_add(&m, x, nothing);
    assert_non_null(sum);
    assert_int_equal(sum->terms, 1);
    assert_true(sum->rad[0] >= 0x1p-60);
    hop__memory_free(&m);
}

/* A table that loses a variable may be joined with another, which loses one, too: u(a) is taken off 1000 in one table
 * and is in the next beside v(a, b), which is taken off in the third. Together they are 1000. */
static void what_is_canonical_stays_what_it_is(void **state)
{
    enum { CS = 5 };
    static const int64_t values[] = {4, 3, CS};
    hop__memory m = {0};
    hop__set *x = hop__set_new(&m, 1);
    hop_rng rng;
    hop_rng_init(&rng, 3, 1);
    (void)state;
    double u[4], v[4][3];
    for (int a = 0; a < 4; a++) {
        u[a] = (double)hop_rng_below(&rng, 100);
        for (int b = 0; b < 3; b++) v[a][b] = (double)hop_rng_below(&rng, 100);
    }
    for (int vars = 1; vars <= 3; vars++) {
        hop__term like = {.vars = vars};
        int32_t *of = hop__take(&m, CS, sizeof *of);
        for (int32_t i = 0; i < CS; i++) of[i] = i;
        for (int k = 0; k < vars; k++)
            like.var[k] = A + k, like.values[k] = like.classes[k] = values[k], like.of[k] = of;
        hop__term *t = hop__set_term_over(&m, x, &like, 0, 1);
        assert_non_null(t);
        for (int64_t r = 0; r < t->rows; r++) {
            int64_t ab = vars == 3 ? r / CS : r, a = vars == 1 ? r : ab / 3, b = ab % 3;
            *hop__term_cell(t, r, 0) = vars == 1 ? 1000 - u[a] : vars == 2 ? u[a] - v[a][b] : v[a][b];
        }
    }
    hop__set_canonical(&m, x);
    assert_int_equal(m.status, HOP_OK);
    assert_true(x->terms == 0 && x->mid[0] == 1000);
    hop__memory_free(&m);
}

/* What is off relative to itself stays so where every case has one term that is not 0: in a linear map of heads,
 * and in a stream to which layer after layer adds something or nothing. Where numbers cancel, it does not. */
static void what_is_relative_stays_so_beside_zeros(void **state)
{
    const double rel = 0x1p-12;
    hop__memory m = {0};
    hop__set *sum = hop__set_new(&m, WIDTH);
    (void)state;
    hop__set_canonical(&m, sum);
    for (int64_t h = 0; h < HEADS; h++) {
        hop__set *x = hop__set_joined(&m, head(&m, h)); /* what is read as one table, and what is not as 0 */
        for (int64_t c = 0; c < FILLED; c++) x->rel[c] = rel;
        hop__set_canonical(&m, x);
        sum = hop__set_add_relative(&m, sum, hop__set_merged(&m, x));
        assert_non_null(sum);
    }
    for (int64_t c = 0; c < FILLED; c++)
        assert_true(sum->rel[c] > 0 && sum->rel[c] < 1.02 * rel && sum->rad[c] < 0x1p-15);
    EACH_CASE(a, b)
    for (int64_t c = 0; c < FILLED; c++)
        for (int i = -1; i < 2; i++)
            expect(sum, a, b, c, truth(a % HEADS * WIDTH + c, a, b) * (1 + i * rel), 1e-3);
    static float w[WIDTH * ALL];
    for (int64_t c = 0; c < ALL; c++) w[c % WIDTH * ALL + c] = 1;
    hop__set *all = heads(&m);
    for (int64_t c = 0; c < ALL; c++)
        if (all->mag[c] > 0) all->rel[c] = rel;
    hop__set_canonical(&m, all);
    hop__matrix map = {.w = w, .out = WIDTH, .in = ALL, .row_step = ALL, .col_step = 1};
    hop__set *once = hop__set_linear(&m, all, map);
    EACH_CASE(a, b)
    for (int64_t c = 0; c < FILLED; c++)
        for (int i = -1; i < 2; i++)
            expect(once, a, b, c, truth(a % HEADS * WIDTH + c, a, b) * (1 + i * rel),
                   1); /* too many to be one */

    hop__set *x = head(&m, 0), *minus = head(&m, 0);
    for (int64_t c = 0; c < FILLED; c++) x->rel[c] = rel;
    for (int t = 0; t < minus->terms; t++)
        for (int64_t i = 0; i < minus->term[t].rows * minus->term[t].count; i++) minus->term[t].cell[i] *= -1;
    for (int64_t c = 0; c < WIDTH; c++) minus->mid[c] *= -1;
    hop__set_unbound(minus), hop__set_canonical(&m, x), hop__set_canonical(&m, minus);
    hop__set *nothing = hop__set_add_relative(&m, x, minus);
    for (int64_t c = 0; c < FILLED; c++)
        assert_true(nothing->rel[c] == 0 && nothing->rad[c] >= rel * x->mag[c] / 2);
    hop__memory_free(&m);
}

/* No weight is below 0 only if none is at any position, also where two tables tell positions apart that are
 * too large to be one. */
static void own_weights_are_of_every_position(void **state)
{
    enum { KEYS = 128, PLACES = 1 << 20, LOW = 5 };
    hop__memory m = {0};
    hop__analysis w = {.m = &m};
    w.facts.classes = 1, w.facts.length = PLACES, w.facts.class[0].count = PLACES;
    hop__set *q = hop__set_new(&m, KEYS), *k = hop__set_new(&m, KEYS), *v = hop__set_new(&m, 1);
    int32_t *own_row = hop__take(&m, PLACES, sizeof *own_row),
            *parity = hop__take(&m, PLACES, sizeof *parity);
    (void)state;
    for (int32_t i = 0; i < PLACES; i++) own_row[i] = i, parity[i] = i % 2;
    hop__term like = {.vars = 1, .var = {HOP__POS}, .values = {PLACES}, .classes = {PLACES}, .of = {own_row}};
    hop__term *each = hop__set_term_over(&m, k, &like, 0, 1);
    assert_non_null(each);
    for (int64_t i = 0; i < PLACES; i++) *hop__term_cell(each, i, 0) = i == LOW ? -8 : 1 + (double)i / PLACES;
    hop__term *two = hop__set_add_term(&m, k, HOP__POS, PLACES, parity, 2);
    assert_non_null(two);
    for (int64_t r = 0; r < 2; r++) *hop__term_cell(two, r, KEYS - 1) = 0.25 * (double)(r + 1);
    q->mid[0] = q->mid[KEYS - 1] = v->mid[0] = 1;
    hop__set_canonical(&m, q), hop__set_canonical(&m, v), hop__set_canonical(&m, k);
    k = m.status == HOP_OK ? hop__set_columns(&m, k, 0, KEYS) : NULL;
    assert_non_null(k);
    assert_int_equal(k->terms, 2);
    hop__reading_shape s = {
        .w = &w, .heads = 1, .keys = KEYS, .values = 1, .q_heads = 1, .scale = 1, .steps = 1};
    s.q = &q, s.k = &k, s.v = &v;
    hop__reader r = {.s = &s, .q = q, .k = &k, .v = &v, .growth = 1};
    double ratio, own = hop__own_weight(&r, 1, &ratio);
    assert_true(own == -1); /* nothing is said */
    hop__memory_free(&m);
}

/* A bound that is none must not become one again. */
static void what_is_no_number_spreads_through_intervals(void **state)
{
    (void)state;
    const ival bad[] = {{NAN, 1}, {-1, NAN}, {NAN, NAN}}, good[] = {{1, 2}, {-2, 3}, {0.5, 0.5}};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            ival all[] = {ival_mul(bad[i], good[k]),     ival_mul(good[k], bad[i]),
                          ival_square(bad[i]),           ival_scale(bad[i], good[k].hi),
                          ival_add(bad[i], good[k]),     ival_hull(good[k], bad[i]),
                          ival_widen(bad[i], good[k].hi)};
            for (size_t n = 0; n < sizeof all / sizeof *all; n++)
                assert_false(all[n].lo > -1e300 && all[n].hi < 1e300);
            assert_false(ival_mag(bad[i]) < 1e300);
        }
    assert_false(ival_most(NAN, 1) < 2 || ival_most(1, NAN) < 2 || ival_least(NAN, 1) < 2 ||
                 ival_least(1, NAN) < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_number_spreads_through_intervals),
        cmocka_unit_test(heads_that_read_in_turn_stand_apart),
        cmocka_unit_test(columns_that_are_taken_are_one_table),
        cmocka_unit_test(linear_maps_of_tables_apart_hold_what_numbers_give),
        cmocka_unit_test(maps_of_tables_apart_hold_what_numbers_give),
        cmocka_unit_test(sums_of_tables_apart_are_one_table),
        cmocka_unit_test(sums_keep_what_joining_tables_loses),
        cmocka_unit_test(what_is_canonical_stays_what_it_is),
        cmocka_unit_test(what_is_relative_stays_so_beside_zeros),
        cmocka_unit_test(own_weights_are_of_every_position),
    };
    return cmocka_run_group_tests_name("prove_sets", tests, NULL, NULL);
}
