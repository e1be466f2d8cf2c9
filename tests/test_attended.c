/* Attention to sets, beside what attention makes of their members: in any order of its sums, by the kernels' own forward pass,
 * with few bits, and by partial softmaxes that cross from player to player. Queries look up what the task's tokens look up,
 * or nothing, by leads that hardly suffice. */
#include "drawn_sets.h"

#include <hopbound/kernels.h>

#include "analysis.h"
#include "token_variables.h"

enum { CODE = 8, DIM = CODE + 2, MOST_TOKENS = 160, MOST_HEADS = 2, MOST_VALUES = 3, DRAWS = 12 };

typedef struct attended {
    hop__memory m;
    hop_rng *rng;
    hop_funccomp t;
    hop__analysis w;
    hop_op op;
    hop__sets q, k, v, y;
    double lead; /* of a code's own score over that of one that differs in one bit */
    int message; /* bits of numbers that cross; 0: none does */
    struct {
        int how, b; /* of a class's first head: see draw_queries */
        int64_t fixed;
    } look[HOP__MOST_CLASSES];
    /* one input */
    int32_t tokens[MOST_TOKENS];
    float qs[MOST_TOKENS][MOST_HEADS * DIM], ks[MOST_TOKENS][MOST_HEADS * DIM],
        vs[MOST_TOKENS][MOST_HEADS * MOST_VALUES];
} attended;

static int below(hop_rng *rng, int n)
{
    return drawn_below(rng, n);
}

static const hop__class *class_of(const attended *a, int class)
{
    return &a->w.facts.class[class];
}

static int class_at(const attended *a, int64_t position)
{
    for (int p = 0; p < a->w.facts.classes; p++)
        if (position >= class_of(a, p)->start && position < class_of(a, p)->start + class_of(a, p)->count)
            return p;
    fail();
    return -1;
}

static double code(int64_t position, int64_t bit)
{
    return position >> bit & 1 ? 1 : -1;
}

/* Variables of a class: its position, w, and what the chain reaches from it on, as far as there is room. */
static drawing drawing_of(attended *a, int class)
{
    drawing d = {.m = &a->m, .rng = a->rng, .size = 1};
    for (int var = HOP__POS; var <= HOP__R0 + a->t.hops && d.vars < DRAWN_VARS; var++) {
        int64_t values = hop__facts_values(&a->w.facts, class_of(a, class), var);
        if (values > 0 && values <= 200) d.var[d.vars] = var, d.values[d.vars++] = values;
    }
    return d;
}

static unsigned only(const drawing *d, int var)
{
    for (int k = 0; k < d->vars; k++)
        if (d->var[k] == var) return 1u << k;
    return 0;
}

static hop__term *empty_table(const drawing *d, hop__set *x, unsigned which)
{
    hop__term *u = drawn_table(d, x, which);
    memset(u->cell, 0, sizeof *u->cell * (size_t)(u->rows * u->count));
    return u;
}

/* Small numbers that something else decides, and boxes, in the columns of the code. */
static void disturb(attended *a, const drawing *d, hop__set *x, int64_t first)
{
    const unsigned which = 1u << below(a->rng, d->vars);
    hop__term *u = below(a->rng, 3) == 0 ? empty_table(d, x, which) : NULL;
    const bool box = below(a->rng, 3) == 0;
    const double some = ldexp(1, -below(a->rng, 6));
    for (int64_t c = first; c < first + CODE; c++) {
        for (int64_t r = 0; u && r < u->rows; r++) *hop__term_cell(u, r, c) = drawn_step(d) * some;
        if (box) x->rad[c] = fabs(drawn_step(d)) * 0.5 * some;
    }
}

/* Keys say where their tokens stand; two of them may be the same. */
static void draw_keys(attended *a, int class, int64_t head, double beside)
{
    const drawing d = drawing_of(a, class);
    hop__set *x = a->k[class];
    const hop__class *c = class_of(a, class);
    const int64_t twin = below(a->rng, 4) ? -1 : below(a->rng, (int)c->count);
    hop__term *u = empty_table(&d, x, only(&d, HOP__POS));
    for (int64_t r = 0; r < c->count; r++)
        for (int64_t e = 0; e < CODE; e++)
            *hop__term_cell(u, r, head * DIM + e) = code(c->start + r - (r > 0 && r == twin), e);
    x->mid[head * DIM + CODE] = beside, x->mid[head * DIM + CODE + 1] = a->w.bits ? 0 : -beside;
    disturb(a, &d, x, head * DIM);
}

/* Queries ask for one place, for their own, for what the chain has reached, or for nothing. */
static void draw_queries(attended *a, int class, int64_t head, double beside)
{
    const drawing d = drawing_of(a, class);
    const hop__class *c = class_of(a, class);
    hop__set *x = a->q[class];
    const int b = c->chain ? below(a->rng, a->t.hops) : c->player, how = below(a->rng, b < a->t.hops ? 4 : 2);
    const double sign = a->op.scale < 0 ? -1 : 1;
    hop__term *u = how == 0   ? NULL
                   : how == 1 ? empty_table(&d, x, only(&d, HOP__POS))
                   : how == 2 ? empty_table(&d, x, only(&d, HOP__R0 + b) | (b > 0 ? only(&d, HOP__W) : 0))
                              : drawn_table(&d, x, 1u << below(a->rng, d.vars));
    const int64_t fixed = below(a->rng, (int)a->t.length);
    if (head == 0) a->look[class].how = how, a->look[class].b = b, a->look[class].fixed = fixed;
    for (int64_t r = 0; how < 3 && r < (u ? u->rows : 1); r++) {
        int64_t digit = 0, to = how == 1 ? c->start + r : fixed;
        for (int k = 0; how == 2 && k < u->vars; k++)
            if (u->var[k] == HOP__W) digit = hop_funccomp_digit(&a->t, hop__term_class(u, k, r), b);
        for (int k = 0; how == 2 && k < u->vars; k++)
            if (u->var[k] != HOP__W)
                to = a->t.start[b + 1] + (b > 0 ? digit * a->t.size[b - 1] : 0) + hop__term_class(u, k, r);
        for (int64_t e = 0; e < CODE; e++) {
            double *cell = u ? hop__term_cell(u, r, head * DIM + e) : &x->mid[head * DIM + e];
            *cell = sign * code(to, e);
        }
    }
    for (int64_t e = 0; u && e < x->width; e++)
        for (int64_t r = 0; e / DIM != head && r < u->rows; r++) *hop__term_cell(u, r, e) = 0;
    x->mid[head * DIM + CODE] = x->mid[head * DIM + CODE + 1] = beside;
    for (int64_t r = 0; u && r < u->rows; r++)
        for (int64_t e = CODE; e < DIM; e++) *hop__term_cell(u, r, head * DIM + e) = 0;
    disturb(a, &d, x, head * DIM);
}

static void draw_values(attended *a, int class)
{
    drawing d = drawing_of(a, class);
    hop__set *x = a->v[class];
    const int how = below(a->rng, 12);
    if (how == 0) return; /* nothing to be had */
    d.size = how == 1 ? 0x1p-138 : how == 2 ? 0x1p100 : 1;
    for (int n = 1 + below(a->rng, 2); n > 0; n--) drawn_table(&d, x, 1u << below(a->rng, d.vars));
    for (int64_t c = 0; c < x->width; c++) {
        x->mid[c] = drawn_step(&d) * (below(a->rng, 4) ? 1 : 16);
        if (below(a->rng, 4) == 0) x->rad[c] = fabs(drawn_step(&d)) * 0x1p-4;
    }
}

static void attended_open(attended *a, hop_rng *rng, bool many)
{
    static const double leads[] = {0.3, 1, 2, 3, 4, 6, 10, 30};
    const int hops = many ? 1 : 1 + below(rng, 2);
    const int64_t fan[] = {2};
    *a = (attended){.rng = rng, .lead = leads[below(rng, 8)] * (1 + 0.5 * hop_rng_uniform(rng))};
    assert_int_equal(hop_funccomp_init(&a->t, hops, many ? 100 : 2 + below(rng, 4), fan, NULL), HOP_OK);
    const int64_t kv = 1 + below(rng, 2);
    a->op = (hop_op){.kind = HOP_OP_ATTEND,
                     .heads = kv == 2 || below(rng, 2) ? 2 : 1,
                     .kv_heads = kv,
                     .key_dim = DIM,
                     .value_dim = 1 + below(rng, MOST_VALUES),
                     .scale = hop__rounded(a->lead / 2 * (below(rng, 4) ? 1 : -1)),
                     .window = below(rng, 4) ? 0 : 1 + below(rng, 8),
                     .bidirectional = below(rng, 4) == 0};
    if (a->op.bidirectional) a->op.window = 0;
    a->w.m = &a->m, a->w.answering = -1;
    hop__facts_init(&a->w.facts, &a->t, a->op.bidirectional);
    if (below(rng, 3) == 0) a->w.bits = 3 + below(rng, 10);
    if (below(rng, 3) == 0 && a->w.bits == 0 && a->op.window == 0 && !a->op.bidirectional)
        a->message = 11 + below(rng, 8), a->w.message = ldexp(1, 8 - a->message);
    /* Products that cancel, beside which scores are rounded by about their leads; or, of few bits, are in all of them. */
    const double beside = below(rng, 3) ? 0 : ldexp(1, a->w.bits ? 1 + below(rng, 4) : 8 + below(rng, 5));
    for (int p = 0; p < a->w.facts.classes; p++) {
        a->q[p] = hop__set_new(&a->m, a->op.heads * DIM), a->k[p] = hop__set_new(&a->m, kv * DIM);
        a->v[p] = hop__set_new(&a->m, kv * a->op.value_dim);
        assert_true(a->q[p] && a->k[p] && a->v[p]);
        for (int64_t h = 0; h < a->op.heads; h++) draw_queries(a, p, h, beside);
        for (int64_t h = 0; h < kv; h++) draw_keys(a, p, h, beside);
        draw_values(a, p);
        hop__set_canonical(&a->m, a->q[p]), hop__set_canonical(&a->m, a->k[p]);
        hop__set_canonical(&a->m, a->v[p]);
    }
}

/* ---- members ------------------------------------------------------------------------------------------- */

static void values_of(const attended *a, int64_t position, int64_t value[DRAWN_VALUES])
{
    const hop__class *c = class_of(a, class_at(a, position));
    for (int var = 0; var < DRAWN_VALUES; var++) {
        value[var] =
            var <= HOP__R0 + a->t.hops ? token_variable(&a->w.facts, c, a->tokens, position, var) : 0;
        if (value[var] < 0) value[var] = 0;
    }
}

/* Where the first head of a token looks; -1: nowhere. */
static int64_t target_of(const attended *a, int64_t who)
{
    const int class = class_at(a, who), b = a->look[class].b;
    const hop__facts *f = &a->w.facts;
    if (a->look[class].how == 0) return a->look[class].fixed;
    if (a->look[class].how == 1) return who;
    if (a->look[class].how == 3) return -1;
    int64_t reached = token_variable(f, class_of(a, class), a->tokens, who, HOP__R0 + b),
            digit = b > 0 ? hop_funccomp_digit(&a->t, a->tokens[a->t.length - 1], b) : 0;
    return a->t.start[b + 1] + (b > 0 ? digit * a->t.size[b - 1] : 0) + reached;
}

/* All tokens' members. In every second input boxes are such that the first head of one token sees its target least. */
static void draw_input(attended *a, bool pushed)
{
    float up[MOST_HEADS * DIM] = {0}, down[MOST_HEADS * DIM] = {0}, ask[MOST_HEADS * DIM] = {0};
    const int64_t n = a->t.length, who = below(a->rng, (int)n);
    hop_funccomp_sample(&a->t, a->rng, a->tokens);
    const int64_t target = target_of(a, who), other = below(a->rng, (int)n);
    for (int64_t e = 0; e < CODE && target >= 0; e++) {
        up[e] = (float)code(target, e), down[e] = -up[e];
        ask[e] = (float)((code(other, e) - code(target, e)) * (a->op.scale < 0 ? -1 : 1));
    }
    for (int64_t i = 0; i < n; i++) {
        const int class = class_at(a, i);
        drawing d = drawing_of(a, class);
        int64_t value[DRAWN_VALUES];
        values_of(a, i, value);
        d.push = pushed ? ask : NULL;
        drawn_member(&d, a->q[class], value, a->qs[i]);
        d.push = pushed ? (i == target ? down : up) : NULL;
        drawn_member(&d, a->k[class], value, a->ks[i]);
        d.push = NULL;
        drawn_member(&d, a->v[class], value, a->vs[i]);
    }
}

/* ---- what attention makes of them ------------------------------------------------------------------------ */

static bool seen(const attended *a, int64_t i, int64_t j)
{
    return a->op.bidirectional || (j <= i && (a->op.window == 0 || i - j < a->op.window));
}

/* In float32, every sum in an order of its own; exponentials as good as they can be. */
static void by_hand(attended *a, int64_t i, int64_t h, float *o)
{
    const int64_t kv = h / (a->op.heads / a->op.kv_heads), dim = a->op.value_dim;
    double term[MOST_TOKENS], weight[MOST_TOKENS];
    float s[MOST_TOKENS], top = -INFINITY;
    for (int64_t j = 0; j < a->t.length; j++) {
        for (int e = 0; e < DIM; e++)
            term[e] = (double)(float)(a->qs[i][h * DIM + e] * (float)a->op.scale) * a->ks[j][kv * DIM + e];
        s[j] = seen(a, i, j) ? drawn_sum(a->rng, term, DIM) : -INFINITY;
        top = s[j] > top ? s[j] : top;
    }
    for (int64_t j = 0; j < a->t.length; j++) term[j] = weight[j] = (float)exp((double)(s[j] - top));
    const float sum = drawn_sum(a->rng, term, (int)a->t.length);
    for (int64_t e = 0; e < dim; e++) {
        for (int64_t j = 0; j < a->t.length; j++) term[j] = weight[j] * a->vs[j][kv * dim + e];
        o[e] = drawn_sum(a->rng, term, (int)a->t.length) / sum;
    }
}

static hop_attn shape_of(const attended *a)
{
    return (hop_attn){.tokens = a->t.length,
                      .queries = a->t.length,
                      .heads = a->op.heads,
                      .kv_heads = a->op.kv_heads,
                      .key_dim = DIM,
                      .value_dim = a->op.value_dim,
                      .q_stride = MOST_HEADS * DIM,
                      .k_stride = MOST_HEADS * DIM,
                      .v_stride = MOST_HEADS * MOST_VALUES,
                      .o_stride = MOST_HEADS * MOST_VALUES,
                      .scale = (float)a->op.scale,
                      .window = a->op.window,
                      .bidirectional = a->op.bidirectional,
                      .bits = a->w.bits};
}

/* Every player looks at its own keys; what comes from others is rounded on its way. */
static void by_players(attended *a, int64_t i, float *o, float *scratch)
{
    enum { MOST_PARTIALS = MOST_HEADS * (MOST_VALUES + 2) };
    float all[MOST_PARTIALS], one[MOST_PARTIALS];
    const int own = class_at(a, i);
    for (int p = own; p >= 0; p--) {
        const hop__class *c = class_of(a, p);
        hop_attn shape = shape_of(a);
        shape.tokens = p == own ? i - c->start + 1 : c->count, shape.queries = 1;
        shape.first = p == own ? i - c->start : 0, shape.bidirectional = p != own;
        hop_attn_partial(p == own ? all : one, a->qs[i], a->ks[c->start], a->vs[c->start], &shape, scratch,
                         NULL);
        if (p == own) continue;
        hop_partial_round(one, a->op.heads, a->op.value_dim, a->message);
        hop_partial_fold(all, one, a->op.heads, a->op.value_dim);
    }
    hop_partial_close(o, all, a->op.heads, a->op.value_dim);
}

static void expect(const attended *a, int64_t i, const float *o, int64_t first, int64_t count,
                   const char *how)
{
    int64_t value[DRAWN_VALUES];
    values_of(a, i, value);
    for (int64_t c = 0; c < count; c++) drawn_expect(a->y[class_at(a, i)], value, first + c, o[c], how);
}

static void compare(attended *a)
{
    static float o[MOST_TOKENS][MOST_HEADS * MOST_VALUES];
    const hop_attn c = shape_of(a);
    float *scratch = hop_alloc(sizeof *scratch * hop_attn_scratch(&c, 1));
    const int64_t dim = a->op.value_dim;
    assert_non_null(scratch);
    hop_attn_forward(o[0], NULL, a->qs[0], a->ks[0], a->vs[0], &c, scratch, NULL);
    for (int64_t i = 0; i < a->t.length; i++) {
        if (a->message == 0) expect(a, i, o[i], 0, a->op.heads * dim, "forward");
        for (int64_t h = 0; h < a->op.heads && a->w.bits == 0 && a->message == 0; h++) {
            by_hand(a, i, h, o[i]);
            expect(a, i, o[i], h * dim, dim, "by hand");
        }
        if (a->message == 0) continue;
        by_players(a, i, o[i], scratch);
        expect(a, i, o[i], 0, a->op.heads * dim, "by players");
    }
    hop_free(scratch);
}

typedef void attend_fn(hop__analysis *w, const hop__inputs *x, hop__set **y);

static void attend(attended *a, attend_fn *fn)
{
    const hop__inputs x = {.op = &a->op, .in = {a->q, a->k, a->v}};
    fn(&a->w, &x, a->y);
    assert_int_equal(a->m.status, HOP_OK);
    for (int p = 0; p < a->w.facts.classes; p++) a->y[p] = hop__set_rounded(&a->m, a->y[p], a->w.bits);
}

/* Is one of its values known far better than that it is some mean? */
static bool follows(const attended *a)
{
    for (int p = 0; p < a->w.facts.classes; p++)
        for (int t = 0; t < a->y[p]->terms; t++)
            if (a->y[p]->term[t].rows > 1) return true;
    return false;
}

static void what_is_attended_to_holds_what_kernels_make_of_it(void **state)
{
    hop_rng rng;
    int followed = 0, judged = 0;
    (void)state;
    hop_rng_init(&rng, 61, 1);
    for (int i = 0; i < 3600; i++) {
        static attended a;
        const bool many = i % 24 == 0; /* queries of more rows than a tile has */
        attended_open(&a, &rng, many);
        attend(&a, i % 3 ? hop__attend : hop__attend_any);
        followed += follows(&a), judged += !a.m.overflow;
        for (int d = 0; d < (many ? 4 : DRAWS) && !a.m.overflow; d++) {
            draw_input(&a, d % 2);
            compare(&a);
        }
        hop__memory_free(&a.m);
    }
    assert_true(followed > 200 && judged > 2000);
}

/* Of queries that fill more than a tile the last ones have the smallest lead. */
static void the_lead_of_the_last_queries_counts(void **state)
{
    static attended a;
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 64, 1);
    attended_open(&a, &rng, true);
    a.op.heads = a.op.kv_heads = 1, a.op.window = 0, a.op.bidirectional = false, a.op.scale = 10;
    a.message = a.w.bits = 0, a.w.message = 0;
    for (int p = 0; p < a.w.facts.classes; p++) {
        const drawing d = drawing_of(&a, p);
        const hop__class *c = class_of(&a, p);
        a.q[p] = hop__set_new(&a.m, DIM), a.k[p] = hop__set_new(&a.m, DIM);
        a.v[p] = hop__set_new(&a.m, a.op.value_dim);
        hop__term *k = empty_table(&d, a.k[p], only(&d, HOP__POS)),
                  *q = c->chain ? empty_table(&d, a.q[p], only(&d, HOP__R0)) : NULL;
        drawn_table(&d, a.v[p], only(&d, HOP__POS));
        for (int64_t e = 0; e < CODE; e++) {
            for (int64_t r = 0; r < c->count; r++) *hop__term_cell(k, r, e) = code(c->start + r, e);
            for (int64_t r = 0; q && r < q->rows; r++)
                *hop__term_cell(q, r, e) = code(a.t.start[1] + r, e) * (r < q->rows - 20 ? 1 : 0.25);
        }
        hop__set_canonical(&a.m, a.q[p]), hop__set_canonical(&a.m, a.k[p]);
        hop__set_canonical(&a.m, a.v[p]);
    }
    attend(&a, hop__attend);
    assert_true(follows(&a) && !a.m.overflow);
    for (int d = 0; d < 40; d++) {
        draw_input(&a, false);
        compare(&a);
    }
    hop__memory_free(&a.m);
}

/* Scores that are infinite make weights that are no numbers, and 0 times these is none. */
static void scores_that_may_overflow_are_told(void **state)
{
    static attend_fn *const both[] = {hop__attend, hop__attend_any};
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 62, 1);
    for (int i = 0; i < 2; i++) {
        static attended a;
        do attended_open(&a, &rng, false);
        while (a.op.bidirectional && (hop__memory_free(&a.m), true));
        for (int p = 0; p < a.w.facts.classes; p++) {
            a.q[p]->mid[0] = 0x1p80, a.k[p]->mid[0] = 0x1p80;
            hop__set_unbound(a.q[p]), hop__set_unbound(a.k[p]);
            hop__set_canonical(&a.m, a.q[p]), hop__set_canonical(&a.m, a.k[p]);
        }
        for (int p = 0; p < a.w.facts.classes; p++) a.v[p] = hop__set_new(&a.m, a.v[p]->width);
        assert_false(a.m.overflow);
        attend(&a, both[i]);
        assert_true(a.m.overflow);
        hop__memory_free(&a.m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_attended_to_holds_what_kernels_make_of_it),
        cmocka_unit_test(the_lead_of_the_last_queries_counts),
        cmocka_unit_test(scores_that_may_overflow_are_told),
    };
    return cmocka_run_group_tests_name("attended", tests, NULL, NULL);
}
