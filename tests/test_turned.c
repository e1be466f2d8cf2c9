/* Rotations of sets, beside what the kernels make of their members: every number of every position, by hop_rope_part itself. */
#include "test.h"

#include <hopbound/base.h>
#include <hopbound/kernels.h>

#include "analysis.h"
#include "set_inside.h"

enum { A = HOP__R0, B, AS = 3, BS = 4, MOST = 24, TIMES = 400, DRAWS = 24 };

static int below(hop_rng *rng, int n)
{
    return (int)hop_rng_below(rng, (uint64_t)n);
}

typedef struct turned {
    double size; /* of its numbers */
    hop__memory m;
    hop__analysis w;
    hop_funccomp task;
    hop_op op;
    float table[4]; /* frequencies, if they are given .. */
    bool given;     /* .. by a table */
    hop__set *x, *y;
} turned;

static const hop__class *class_of(const turned *t)
{
    return &t->w.facts.class[0];
}

/* Sums of a few of these are numbers of float32. */
static double step(const turned *t, hop_rng *rng)
{
    return below(rng, 3) ? (below(rng, 65) - 32) * 0x1p-4 * t->size : 0;
}

static void turned_init(turned *t, hop_rng *rng)
{
    static const double thetas[] = {1e4, 500, 2, 1, 1e-3};
    const int64_t count = below(rng, 3) ? 1 + below(rng, 40) : 1;
    *t = (turned){.size = below(rng, 4) ? 1 : 0x1p-139, .w.facts.classes = 1};
    t->w.m = &t->m, t->w.facts.task = &t->task;
    t->w.facts.class[0] =
        (hop__class){.start = below(rng, 2) ? below(rng, 3000) : below(rng, 50), .count = count};
    t->w.facts.length = class_of(t)->start + count + below(rng, 9);
    t->op = (hop_op){.kind = HOP_OP_ROPE, .groups = 1 + below(rng, 3), .dim = 1 + below(rng, 8)};
    t->op.spread = below(rng, 3) ? 0x1p-21 : 0x1p-12;
    t->op.rotary = below(rng, (int)t->op.dim + 1) / 2 * 2, t->op.theta = thetas[below(rng, 5)];
    t->op.width = t->op.groups * t->op.dim;
    t->x = hop__set_new(&t->m, t->op.width);
    assert_non_null(t->x);
}

/* A table over the first so many of A, B and the position, or over the position alone. */
static void add_table(turned *t, hop_rng *rng, int vars, bool position)
{
    hop__term like = {.mixture = below(rng, 8) == 0};
    const int var[] = {A, B};
    const int64_t values[] = {AS, BS};
    for (int k = 0; k < vars + position; k++) {
        bool last = k == vars;
        int64_t n = last ? class_of(t)->count : values[k];
        int32_t *of = hop__take(&t->m, n, sizeof *of);
        for (int64_t i = 0; i < n; i++) of[i] = (int32_t)i;
        like.var[k] = last ? HOP__POS : var[k], like.values[k] = like.classes[k] = n, like.of[k] = of;
    }
    like.vars = vars + position;
    hop__term *u = hop__set_term_over(&t->m, t->x, &like, 0, t->x->width);
    assert_non_null(u);
    for (int64_t i = 0; i < u->rows * u->count; i++) u->cell[i] = step(t, rng);
}

/* Three tables that are one number together, which two sweeps of joining and forgetting do not see: u(a) is taken
 * off in the first, comes back in the second beside v(a, b), and v goes in the third. */
static void add_constant_in_three(turned *t, hop_rng *rng, int64_t column, double number)
{
    double u[AS], v[AS][BS];
    for (int a = 0; a < AS; a++) {
        u[a] = step(t, rng);
        for (int b = 0; b < BS; b++) v[a][b] = step(t, rng);
    }
    for (int vars = 1; vars <= 3; vars++) {
        add_table(t, rng, vars < 3 ? vars : 2, vars == 3);
        hop__term *of = &t->x->term[t->x->terms - 1];
        of->mixture = false;
        int64_t row = 0;
        for (int a = 0; a < AS; a++)
            for (int b = 0; b < (vars > 1 ? BS : 1); b++)
                for (int64_t p = 0; p < (vars > 2 ? class_of(t)->count : 1); p++, row++) {
                    for (int64_t c = 0; c < t->x->width; c++) *hop__term_cell(of, row, c) = 0;
                    *hop__term_cell(of, row, column) = vars == 1   ? number - u[a]
                                                       : vars == 2 ? u[a] - v[a][b]
                                                                   : v[a][b];
                }
    }
}

static void draw_set(turned *t, hop_rng *rng)
{
    hop__set *x = t->x;
    for (int64_t c = 0; c < x->width; c++) {
        x->mid[c] = step(t, rng) * (below(rng, 4) ? 1 : 64);
        if (below(rng, 3) == 0) x->rad[c] = fabs(step(t, rng)) * 0x1p-6;
    }
    for (int n = below(rng, 4); n > 0; n--) {
        int vars = below(rng, 3);
        add_table(t, rng, vars, vars == 0 || below(rng, 2));
    }
    if (below(rng, 3) == 0) add_constant_in_three(t, rng, below(rng, (int)x->width), 16 * t->size);
    if (below(rng, 2))
        hop__set_canonical(&t->m, x);
    else
        hop__set_measure(&t->m, x); /* whoever made it left it as it is */
}

static int64_t row_of(const hop__term *u, const int64_t value[])
{
    int64_t row = 0;
    for (int k = 0; k < u->vars; k++) row = row * u->classes[k] + u->of[k][value[u->var[k]]];
    return row;
}

/* What column c is when the variables have these values; mixtures: any of their rows. */
static ival said(const hop__set *s, const int64_t value[], int64_t c)
{
    ival x = ival_point(s->mid[c]);
    for (int k = 0; k < s->terms; k++)
        x = ival_add(x, s->term[k].mixture
                            ? hop__set_term_range(s, k, c)
                            : ival_point(hop__term_at(&s->term[k], row_of(&s->term[k], value), c)));
    return ival_widen(x, s->rad[c]);
}

/* A member of x, of numbers of float32: a mixture is one of its rows. */
static void member(const turned *t, hop_rng *rng, const int64_t value[], float *to)
{
    int64_t rows[HOP__MOST_TERMS];
    for (int k = 0; k < t->x->terms; k++)
        rows[k] = t->x->term[k].mixture ? below(rng, (int)t->x->term[k].rows) : row_of(&t->x->term[k], value);
    for (int64_t c = 0; c < t->x->width; c++) {
        double x = t->x->mid[c] + (below(rng, 3) - 1) * t->x->rad[c];
        for (int k = 0; k < t->x->terms; k++) x += hop__term_at(&t->x->term[k], rows[k], c);
        to[c] = (float)x;
        assert_true((double)to[c] == x);
    }
}

static float nearby(float x, int units)
{
    for (; units > 0; units--) x = nextafterf(x, INFINITY);
    for (; units < 0; units++) x = nextafterf(x, -INFINITY);
    return x;
}

/* As another library may: frequencies up to three units away, or further if it is said, all in float32, every product
 * rounded. */
static void turn_as_others(const turned *t, hop_rng *rng, float *x, int64_t position)
{
    const int64_t half = t->op.rotary / 2;
    for (int64_t e = 0; e < half; e++) {
        double far = t->op.spread > 0x1p-21 ? 0.99 * t->op.spread * (below(rng, 3) - 1) : 0;
        float angle = (float)position * nearby((float)(t->table[e] * (1 + far)), below(rng, 7) - 3);
        float co = nearby(cosf(angle), below(rng, 3) - 1) * (float)t->op.scale,
              si = nearby(sinf(angle), below(rng, 3) - 1) * (float)t->op.scale;
        for (int64_t g = 0; g < t->op.groups; g++) {
            float *a = x + g * t->op.dim + e, *b = a + half, one = *a * co, two = *b * si, three = *b * co,
                  four = *a * si;
            *a = one - two, *b = three + four;
        }
    }
}

static void expect_members(const turned *t, hop_rng *rng)
{
    for (int d = 0; d < DRAWS; d++) {
        const int64_t at = below(rng, (int)class_of(t)->count);
        const int64_t value[] = {[HOP__POS] = at, [HOP__W] = 0, [A] = below(rng, AS), [B] = below(rng, BS)};
        float x[MOST];
        member(t, rng, value, x);
        if (t->given)
            turn_as_others(t, rng, x, class_of(t)->start + at);
        else
            hop_rope_part(x, 1, t->op.width, t->op.groups, t->op.dim, t->op.rotary, class_of(t)->start + at,
                          t->op.theta);
        for (int64_t c = 0; c < t->y->width; c++) {
            ival is = said(t->y, value, c);
            if (!(is.lo <= x[c] && x[c] <= is.hi && fabs((double)x[c]) <= t->y->mag[c]))
                fail_msg("number %d of position %d is %.9g, not in [%.17g, %.17g]", (int)c, (int)at, x[c],
                         is.lo, is.hi);
        }
    }
}

static void what_is_turned_holds_what_kernels_make_of_it(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 41, 1);
    for (int i = 0; i < TIMES; i++) {
        turned t;
        turned_init(&t, &rng);
        draw_set(&t, &rng);
        if (below(&rng, 8) == 0) t.w.facts.task = NULL; /* positions are not known */
        t.y = hop__set_rope(&t.w, &t.op, t.given ? t.table : NULL, 0, t.x);
        assert_non_null(t.y);
        expect_members(&t, &rng);
        hop__memory_free(&t.m);
    }
}

static void what_a_table_turns_holds_what_other_libraries_make_of_it(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 44, 1);
    for (int i = 0; i < TIMES; i++) {
        turned t;
        turned_init(&t, &rng);
        t.given = true, t.op.scale = below(&rng, 2) ? 1 : 1.3465736;
        for (int64_t e = 0; e < t.op.rotary / 2; e++)
            t.table[e] = (float)pow(t.op.theta, -2.0 * (double)e / (double)t.op.rotary);
        draw_set(&t, &rng);
        t.y = hop__set_rope(&t.w, &t.op, t.table, 0, t.x);
        assert_non_null(t.y);
        expect_members(&t, &rng);
        hop__memory_free(&t.m);
    }
}

/* Not by making everything a box. */
static void what_positions_decide_is_turned_number_by_number(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 42, 1);
    for (int i = 0; i < TIMES; i++) {
        turned t;
        turned_init(&t, &rng);
        add_table(&t, &rng, 0, true);
        t.x->term[0].mixture = false;
        for (int64_t c = 0; c < t.x->width; c++) t.x->mid[c] = step(&t, &rng);
        hop__set_canonical(&t.m, t.x);
        t.y = hop__set_rope(&t.w, &t.op, t.given ? t.table : NULL, 0, t.x);
        assert_non_null(t.y);
        expect_members(&t, &rng);
        for (int64_t c = 0; c < t.y->width; c++) assert_true(t.y->rad[c] <= 0x1p-20);
        hop__memory_free(&t.m);
    }
}

/* What all tokens nearly have goes round, and only what they differ by is a box. */
static void what_all_have_in_common_is_turned(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 43, 1);
    turned t;
    do turned_init(&t, &rng);
    while (t.size < 1 || t.op.rotary < 4 || class_of(&t)->count < 20);
    hop__term *u = hop__set_add_term(&t.m, t.x, A, AS, NULL, 0);
    assert_non_null(u);
    for (int64_t a = 0; a < AS; a++)
        for (int64_t c = 0; c < t.x->width; c++) *hop__term_cell(u, a, c) = 8 + 0x1p-4 * (double)a;
    hop__set_canonical(&t.m, t.x);
    t.y = hop__set_rope(&t.w, &t.op, t.given ? t.table : NULL, 0, t.x);
    assert_non_null(t.y);
    expect_members(&t, &rng);
    for (int64_t c = 0; c < t.op.rotary; c++) assert_true(t.y->rad[c] <= 0.1);
    hop__memory_free(&t.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_turned_holds_what_kernels_make_of_it),
        cmocka_unit_test(what_a_table_turns_holds_what_other_libraries_make_of_it),
        cmocka_unit_test(what_positions_decide_is_turned_number_by_number),
        cmocka_unit_test(what_all_have_in_common_is_turned),
    };
    return cmocka_run_group_tests_name("turned", tests, NULL, NULL);
}
