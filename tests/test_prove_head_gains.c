/* Sets, and vectors drawn from them: whatever a transfer function does to a set, the set that it makes holds
 * what it does to the vectors. Of sets whose heads head_gain as a whole, and of cases that are taken together. */
#include "test.h"

#include <hopbound/base.h>

#include "analysis.h"

enum { VARS = 3, VALUES = 6, MOST = 24, TIMES = 4000, DRAWS = 24 };

/* What an input decides, and one vector that a set may be then. */
typedef struct vector {
    int64_t value[VARS];
    double x[MOST], factor[MOST]; /* factor: of the heads */
} vector;

static double one(hop_rng *rng) /* from -1 to 1, the ends most of all */
{
    double x = 2 * hop_rng_uniform(rng) - 1;
    return hop_rng_below(rng, 2) ? x : x < 0 ? -1 : 1;
}

static int64_t below(hop_rng *rng, int64_t n)
{
    return (int64_t)hop_rng_below(rng, (uint64_t)n);
}

/* Up to two tables, whose rows are often nearly alike; heads that are 0; what is off is small or large. */
static hop__set *draw_set(hop__memory *m, hop_rng *rng, int64_t heads, int64_t dim)
{
    int64_t width = heads * dim;
    hop__set *s = hop__set_new(m, width);
    double size = ldexp(1, (int)below(rng, 24) - (below(rng, 8) ? 16 : 146));
    bool none[MOST];
    for (int64_t h = 0; h < heads; h++) none[h] = below(rng, 3) == 0;
    assert_non_null(s);
    for (int64_t c = 0; c < width; c++) {
        if (none[c / dim]) continue;
        s->mid[c] = below(rng, 3) ? size * hop_rng_normal(rng) : 0;
        s->rad[c] = size * ldexp(1, -(int)below(rng, 22)); /* what is read is never known exactly */
        s->rel[c] = below(rng, 3) ? 0 : ldexp(1, -2 - (int)below(rng, 20));
    }
    for (int64_t n = below(rng, 3); n > 0; n--) {
        double apart = ldexp(1, -(int)below(rng, 26)); /* rows from each other */
        hop__term *t = hop__set_add_term(m, s, (int)below(rng, VARS), VALUES, NULL, VALUES);
        assert_non_null(t);
        for (int64_t c = 0; c < width; c++) {
            double middle = size * hop_rng_normal(rng);
            for (int64_t r = 0; r < t->rows; r++)
                if (!none[c / dim]) *hop__term_cell(t, r, c) = middle + apart * size * hop_rng_normal(rng);
        }
    }
    hop__set_canonical(m, s);
    for (int64_t c = 0; c < width; c++) { /* no row is beyond these as a whole */
        ival range = hop__set_range(s, c);
        if (below(rng, 3) == 0) s->least[c] = range.lo + s->rad[c] * hop_rng_uniform(rng);
        if (below(rng, 3) == 0) s->most[c] = range.hi - s->rad[c] * hop_rng_uniform(rng);
    }
    return s;
}

static double middle_of(const hop__set *s, const vector *v, int64_t c)
{
    double x = s->mid[c];
    for (int t = 0; t < s->terms; t++) {
        const hop__term *u = &s->term[t];
        int64_t row = 0;
        for (int k = 0; k < u->vars; k++) row = row * u->classes[k] + u->of[k][v->value[u->var[k]]];
        x += hop__term_at(u, row, c);
    }
    return x;
}

static double within(const hop__set *s, int64_t c, double x)
{
    return fmin(fmax(x, s->least[c]), s->most[c]);
}

static void draw_vector(vector *v, const hop__set *s, const hop__head_gain *w, hop_rng *rng)
{
    for (int k = 0; k < VARS; k++) v->value[k] = below(rng, VALUES);
    for (int64_t h = 0; h < s->width / w->dim; h++) v->factor[h] = 1 + w->by[h] * one(rng);
    for (int64_t c = 0; c < s->width; c++) {
        double x = middle_of(s, v, c), all = 1 - 0x1p-40; /* as near to the ends as doubles allow */
        v->x[c] = within(s, c, x + all * (s->rel[c] * one(rng) * fabs(x) + s->rad[c] * one(rng)));
    }
}

/* Is x what column c may be? Doubles that are added up here are off by less than `more`. */
static void assert_holds(const hop__set *s, const vector *v, int64_t c, double x, const char *what)
{
    double middle = middle_of(s, v, c), off = s->rel[c] * fabs(middle) + s->rad[c],
           more = 0x1p-48 * (fabs(x) + fabs(middle));
    if (!(fabs(x - middle) <= off + more) || !(fabs(x) <= s->mag[c] + more) || !(x >= s->least[c] - more) ||
        !(x <= s->most[c] + more))
        fail_msg("%s: column %lld: %.17g is not %.17g give or take %g", what, (long long)c, x, middle, off);
}

typedef struct case_of {
    hop__memory m;
    int64_t heads, dim;
    hop__set *x;
    hop__head_gain head_gain;
    double by[MOST];
} case_of;

static void draw_case(case_of *k, hop_rng *rng)
{
    *k = (case_of){.heads = 1 + below(rng, 4), .dim = 1 + below(rng, 4)};
    k->x = draw_set(&k->m, rng, k->heads, k->dim);
    for (int64_t h = 0; h < k->heads; h++)
        k->by[h] = below(rng, 3) ? HOP__MOST_HEAD_GAIN * ldexp(1, -(int)below(rng, 24)) : 0;
    k->head_gain = (hop__head_gain){.dim = k->dim, .by = k->by};
}

static void what_has_a_gain_is_held_number_by_number(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 11, 1);
    for (int i = 0; i < TIMES; i++) {
        case_of k;
        vector v;
        draw_case(&k, &rng);
        int64_t from = below(&rng, k.heads * k.dim), width = k.heads * k.dim - from;
        const hop__set *y =
            hop__set_swung(&k.m, hop__set_columns(&k.m, k.x, from, width), &k.head_gain, from);
        assert_non_null(y);
        for (int n = 0; n < DRAWS; n++) {
            draw_vector(&v, k.x, &k.head_gain, &rng);
            for (int64_t c = 0; c < width; c++)
                assert_holds(y, &v, c, v.factor[(from + c) / k.dim] * v.x[from + c], "swung");
        }
        hop__memory_free(&k.m);
    }
}

/* Norms over a head, over several, and over parts of one. */
static void norms_of_what_has_a_gain_are_held(void **state)
{
    hop_rng rng;
    int64_t apart = 0;
    (void)state;
    hop_rng_init(&rng, 11, 2);
    for (int i = 0; i < TIMES; i++) {
        case_of k;
        vector v;
        float weight[MOST];
        draw_case(&k, &rng);
        int64_t width = k.heads * k.dim, dim = 1 + below(&rng, width);
        while (width % dim) dim--;
        const hop_op op = {.kind = HOP_OP_RMS,
                           .width = width,
                           .dim = dim,
                           .groups = width / dim,
                           .eps = ldexp(1, -(int)below(&rng, 40))};
        for (int64_t c = 0; c < dim; c++) weight[c] = (float)(below(&rng, 4) ? hop_rng_normal(&rng) : 1);
        const hop__set *y = hop__set_norm_op(&k.m, k.x, &op, weight, NULL, &k.head_gain);
        assert_non_null(y);
        for (int n = 0; n < DRAWS && !k.m.overflow; n++) {
            draw_vector(&v, k.x, &k.head_gain, &rng);
            for (int64_t c = 0; c < width; c++) v.x[c] *= v.factor[c / k.dim];
            for (int64_t c = 0; c < width; c++) {
                double sum = 0;
                for (int64_t e = c / dim * dim; e < c / dim * dim + dim; e++) sum += v.x[e] * v.x[e];
                double r = v.x[c] / sqrt(sum / (double)dim + (float)op.eps);
                assert_holds(y, &v, c, r * weight[c % dim], "norm");
            }
        }
        apart += dim > k.dim && !k.m.overflow;
        hop__memory_free(&k.m);
    }
    assert_true(apart > TIMES / 8);
}

/* The product of what head_gains with what does not, as float32 has it, head_gains as much. */
static void products_of_what_has_a_gain_have_one(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 11, 3);
    for (int i = 0; i < TIMES; i++) {
        case_of k;
        vector v;
        draw_case(&k, &rng);
        int64_t width = k.heads * k.dim;
        hop__set *gate = draw_set(&k.m, &rng, k.heads, k.dim), *y = NULL, *a[1] = {k.x}, *b[1] = {gate};
        const hop_op op = {.kind = HOP_OP_MUL, .width = width, .dim = 1, .groups = 1};
        hop__analysis w = {.m = &k.m, .facts = {.classes = 1}};
        const hop__inputs in = {.op = &op, .in = {a, b}, .head_gain = &k.head_gain};
        hop__local_op(&w, &in, &y);
        assert_non_null(y);
        for (int n = 0; n < DRAWS && !k.m.overflow; n++) {
            vector g;
            draw_vector(&v, k.x, &k.head_gain, &rng);
            g = v;
            for (int64_t c = 0; c < width; c++) {
                double middle = middle_of(gate, &v, c);
                g.x[c] = middle + (1 - 0x1p-20) * gate->rad[c] * one(&rng); /* room to be a float */
                v.x[c] = middle_of(k.x, &v, c) + (1 - 0x1p-20) * k.x->rad[c] * one(&rng);
            }
            for (int64_t c = 0; c < width; c++) {
                double f = v.factor[c / k.dim];
                float x = (float)(f * v.x[c]), z = (float)g.x[c];
                bool in_both = x / f == within(k.x, c, x / f) && z == within(gate, c, z) &&
                               fabs(x / f - middle_of(k.x, &v, c)) <= k.x->rad[c] &&
                               fabs(z - middle_of(gate, &v, c)) <= gate->rad[c];
                if (in_both) assert_holds(y, &v, c, (double)(x * z) / f, "product");
            }
        }
        hop__memory_free(&k.m);
    }
}

static void what_is_merged_holds_what_it_was(void **state)
{
    hop_rng rng;
    int64_t fewer = 0;
    (void)state;
    hop_rng_init(&rng, 11, 4);
    for (int i = 0; i < TIMES; i++) {
        case_of k;
        vector v;
        int64_t before = 0, after = 0;
        draw_case(&k, &rng);
        if (below(&rng, 2)) { /* a table over two variables */
            const hop__set *joined = hop__set_joined(&k.m, k.x);
            if (joined) k.x = (hop__set *)joined;
            hop__set_canonical(&k.m, k.x);
        }
        memset(k.by, 0, sizeof k.by);
        for (int t = 0; t < k.x->terms; t++) before += k.x->term[t].rows;
        hop__set *y = hop__set_merged(&k.m, hop__set_columns(&k.m, k.x, 0, k.x->width));
        assert_non_null(y);
        for (int t = 0; t < y->terms; t++) after += y->term[t].rows;
        fewer += after < before;
        for (int n = 0; n < DRAWS; n++) {
            draw_vector(&v, k.x, &k.head_gain, &rng);
            for (int64_t c = 0; c < k.x->width; c++) assert_holds(y, &v, c, v.x[c], "merged");
        }
        hop__memory_free(&k.m);
    }
    assert_true(fewer > TIMES / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_a_gain_is_held_number_by_number),
        cmocka_unit_test(norms_of_what_has_a_gain_are_held),
        cmocka_unit_test(products_of_what_has_a_gain_have_one),
        cmocka_unit_test(what_is_merged_holds_what_it_was),
    };
    return cmocka_run_group_tests_name("prove_head_gains", tests, NULL, NULL);
}
