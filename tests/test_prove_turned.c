/* Rotations of sets, beside what the kernels make of their members: every number of every position, by hop_rope_part itself. */
#include "drawn_sets.h"

#include <hopbound/kernels.h>

#include "analysis.h"

enum { A = HOP__R0, B, AS = 3, BS = 4, MOST = 24, TIMES = 400, DRAWS = 24 };

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

/* What tables may be over: A, B and the position. */
static drawing drawing_of(turned *t, hop_rng *rng)
{
    return (drawing){.m = &t->m,
                     .rng = rng,
                     .size = t->size,
                     .vars = 3,
                     .var = {A, B, HOP__POS},
                     .values = {AS, BS, class_of(t)->count}};
}

static double step(turned *t, hop_rng *rng)
{
    drawing d = drawing_of(t, rng);
    return drawn_step(&d);
}

static void turned_init(turned *t, hop_rng *rng)
{
    static const double thetas[] = {1e4, 500, 2, 1, 1e-3};
    const int64_t count = drawn_below(rng, 3) ? 1 + drawn_below(rng, 40) : 1;
    *t = (turned){.size = drawn_below(rng, 4) ? 1 : 0x1p-139, .w.facts.classes = 1};
    t->w.m = &t->m, t->w.facts.task = &t->task;
    t->w.facts.class[0] = (hop__class){
        .start = drawn_below(rng, 2) ? drawn_below(rng, 3000) : drawn_below(rng, 50), .count = count};
    t->w.facts.length = class_of(t)->start + count + drawn_below(rng, 9);
    t->op = (hop_op){.kind = HOP_OP_ROPE, .groups = 1 + drawn_below(rng, 3), .dim = 1 + drawn_below(rng, 8)};
    t->op.spread = drawn_below(rng, 3) ? 0x1p-21 : 0x1p-12;
    t->op.rotary = drawn_below(rng, (int)t->op.dim + 1) / 2 * 2, t->op.theta = thetas[drawn_below(rng, 5)];
    t->op.width = t->op.groups * t->op.dim;
    t->x = hop__set_new(&t->m, t->op.width);
    assert_non_null(t->x);
}

/* A table over the first so many of A, B and the position, or over the position alone. */
static void add_table(turned *t, hop_rng *rng, int vars, bool position)
{
    drawing d = drawing_of(t, rng);
    drawn_table(&d, t->x, ((1u << vars) - 1) | (position ? 4u : 0))->mixture = drawn_below(rng, 8) == 0;
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
        x->mid[c] = step(t, rng) * (drawn_below(rng, 4) ? 1 : 64);
        if (drawn_below(rng, 3) == 0) x->rad[c] = fabs(step(t, rng)) * 0x1p-6;
    }
    for (int n = drawn_below(rng, 4); n > 0; n--) {
        int vars = drawn_below(rng, 3);
        add_table(t, rng, vars, vars == 0 || drawn_below(rng, 2));
    }
    if (drawn_below(rng, 3) == 0)
        add_constant_in_three(t, rng, drawn_below(rng, (int)x->width), 16 * t->size);
    if (drawn_below(rng, 2))
        hop__set_canonical(&t->m, x);
    else
        hop__set_measure(&t->m, x); /* whoever made it left it as it is */
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
        double far = t->op.spread > 0x1p-21 ? 0.99 * t->op.spread * (drawn_below(rng, 3) - 1) : 0;
        float angle = (float)position * nearby((float)(t->table[e] * (1 + far)), drawn_below(rng, 7) - 3);
        float co = nearby(cosf(angle), drawn_below(rng, 3) - 1) * (float)t->op.scale,
              si = nearby(sinf(angle), drawn_below(rng, 3) - 1) * (float)t->op.scale;
        for (int64_t g = 0; g < t->op.groups; g++) {
            float *a = x + g * t->op.dim + e, *b = a + half, one = *a * co, two = *b * si, three = *b * co,
                  four = *a * si;
            *a = one - two, *b = three + four;
        }
    }
}

static void expect_members(turned *t, hop_rng *rng)
{
    for (int d = 0; d < DRAWS; d++) {
        const int64_t at = drawn_below(rng, (int)class_of(t)->count);
        const int64_t value[DRAWN_VALUES] = {
            [HOP__POS] = at, [A] = drawn_below(rng, AS), [B] = drawn_below(rng, BS)};
        const drawing of = drawing_of(t, rng);
        float x[MOST];
        drawn_member(&of, t->x, value, x);
        if (t->given)
            turn_as_others(t, rng, x, class_of(t)->start + at);
        else
            hop_rope_part(x, 1, t->op.width, t->op.groups, t->op.dim, t->op.rotary, class_of(t)->start + at,
                          t->op.theta);
        for (int64_t c = 0; c < t->y->width; c++) drawn_expect(t->y, value, c, x[c], "turned");
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
        if (drawn_below(&rng, 8) == 0) t.w.facts.task = NULL; /* positions are not known */
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
        t.given = true, t.op.scale = drawn_below(&rng, 2) ? 1 : 1.3465736;
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
    for (turned_init(&t, &rng); t.size < 1 || t.op.rotary < 4 || class_of(&t)->count < 20;
         turned_init(&t, &rng))
        hop__memory_free(&t.m);
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

/* What the chain's k-th table adds to a column at a position. */
static double linked(int64_t first, int64_t count, int k, int64_t p, int64_t c)
{
    return c >= first && c < first + count ? (double)((k + 1) * p + c % 7) : 0;
}

/* Large tables over the position, each of which has a column in common with the next: a sweep joins neighbours only, so that
 * some are left, whoever has swept. */
static void every_table_of_positions_is_turned(void **state)
{
    enum { LINKS = 5, WIDTH = 144, COUNT = 1024 };
    static const int64_t first[LINKS] = {0, 1, 70, 71, 140}, count[LINKS] = {2, 70, 2, 70, 4};
    (void)state;
    turned t = {.size = 1, .w.facts.classes = 1};
    t.w.m = &t.m, t.w.facts.task = &t.task, t.w.facts.length = COUNT;
    t.w.facts.class[0] = (hop__class){.count = COUNT};
    t.op = (hop_op){.kind = HOP_OP_ROPE, .groups = 1, .dim = WIDTH, .theta = 1e4};
    t.op.rotary = t.op.width = WIDTH;
    t.x = hop__set_new(&t.m, WIDTH);
    assert_non_null(t.x);
    for (int k = 0; k < LINKS; k++) {
        hop__term *u = hop__set_add_term(&t.m, t.x, HOP__POS, COUNT, NULL, 0);
        assert_non_null(u);
        for (int64_t i = 0; i < COUNT * WIDTH; i++)
            u->cell[i] = linked(first[k], count[k], k, i / WIDTH, i % WIDTH);
    }
    hop__set_canonical(&t.m, t.x);
    assert_int_equal(t.x->terms, 3);
    t.y = hop__set_rope(&t.w, &t.op, NULL, 0, t.x);
    assert_non_null(t.y);
    for (int64_t p = 0; p < COUNT; p++) {
        const int64_t value[DRAWN_VALUES] = {[HOP__POS] = p};
        float x[WIDTH] = {0};
        for (int64_t i = 0; i < LINKS * WIDTH; i++)
            x[i % WIDTH] += (float)linked(first[i / WIDTH], count[i / WIDTH], (int)(i / WIDTH), p, i % WIDTH);
        hop_rope_part(x, 1, WIDTH, 1, WIDTH, WIDTH, p, t.op.theta);
        for (int64_t c = 0; c < WIDTH; c++) drawn_expect(t.y, value, c, x[c], "turned");
    }
    for (int64_t c = 0; c < WIDTH; c++) assert_true(t.y->rad[c] <= 0.01); /* of thousands: number by number */
    hop__memory_free(&t.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_turned_holds_what_kernels_make_of_it),
        cmocka_unit_test(what_a_table_turns_holds_what_other_libraries_make_of_it),
        cmocka_unit_test(what_positions_decide_is_turned_number_by_number),
        cmocka_unit_test(what_all_have_in_common_is_turned),
        cmocka_unit_test(every_table_of_positions_is_turned),
    };
    return cmocka_run_group_tests_name("prove_turned", tests, NULL, NULL);
}
