/* Maps of sets, MLPs and read-outs, beside what they make of members: sets are drawn, with tables, mixtures and boxes, and
 * sums are taken in any order. */
#include "drawn_sets.h"

#include <hopbound/kernels.h>
#include <hopbound/model.h>

#include "analysis.h"
#include "readout.h"

enum { A = HOP__R0, B, AS = 3, BS = 4, MOST = 96, DRAWS = 24 };

typedef struct drawn {
    hop__memory m;
    drawing d;
    hop__set *x;
} drawn;

static int below(hop_rng *rng, int n)
{
    return drawn_below(rng, n);
}

static void drawn_open(drawn *s, hop_rng *rng, int64_t width)
{
    *s = (drawn){.d = {.rng = rng, .size = 1, .vars = 3, .var = {A, B, HOP__POS}}};
    s->d.m = &s->m;
    s->d.values[0] = AS, s->d.values[1] = BS, s->d.values[2] = 1 + below(rng, 20);
    s->x = hop__set_new(&s->m, width);
    assert_non_null(s->x);
}

/* Boxes, relative ones among them, and tables: some over two variables, some of columns of their own, some mixtures. Or
 * numbers alone. */
typedef enum drawn_kind { NUMBERS, TABLES, BOXES, RELATIVE } drawn_kind;
static void draw(drawn *s, drawn_kind kind)
{
    hop_rng *rng = s->d.rng;
    hop__set *x = s->x;
    for (int64_t c = 0; c < x->width; c++) {
        x->mid[c] = drawn_step(&s->d);
        if (kind >= BOXES && below(rng, 3) == 0) x->rad[c] = fabs(drawn_step(&s->d)) * 0x1p-4;
        if (kind == RELATIVE && below(rng, 3) == 0) x->rel[c] = 0x1p-5;
    }
    for (int n = kind == NUMBERS ? 0 : below(rng, 4); n > 0; n--) {
        hop__term *u = drawn_table(&s->d, x, (unsigned)(1 + below(rng, 6)));
        u->mixture = below(rng, 5) == 0;
        for (int64_t c = below(rng, 2) ? 1 + below(rng, (int)x->width) : x->width; c < x->width; c++)
            for (int64_t r = 0; r < u->rows; r++) *hop__term_cell(u, r, c) = 0;
    }
    hop__set_canonical(&s->m, x);
    assert_int_equal(s->m.status, HOP_OK);
}

static void draw_values(const drawn *s, int64_t value[DRAWN_VALUES])
{
    memset(value, 0, sizeof *value * DRAWN_VALUES);
    for (int k = 0; k < s->d.vars; k++) value[s->d.var[k]] = below(s->d.rng, (int)s->d.values[k]);
}

/* ---- maps ---------------------------------------------------------------------------------------------- */

/* x0 x1 + the block's number, x0², max(x1, 0). */
static void mixed_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const ival zero = {0, 0};
    (void)arg;
    y[0] = ival_add(ival_mul(x[0], x[1]), ival_point((double)block)), y[1] = ival_square(x[0]);
    y[2] = (ival){ival_most(x[1].lo, 0), ival_most(x[1].hi, 0)};
    if (x[1].hi <= 0) y[2] = zero;
}

static void expect_block(const hop__set *y, const int64_t value[], int64_t block, const float *x)
{
    const double a = x[0], b = x[1];
    drawn_expect(y, value, 3 * block, a * b + (double)block, "product");
    drawn_expect(y, value, 3 * block + 1, a * a, "square");
    drawn_expect(y, value, 3 * block + 2, b > 0 ? b : 0, "positive part");
}

static void maps_hold_what_becomes_of_members(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 51, 1);
    for (int i = 0; i < 800; i++) {
        drawn s;
        const int64_t blocks = 1 + below(&rng, 6);
        drawn_open(&s, &rng, 2 * blocks);
        draw(&s, RELATIVE);
        hop__set *y = (i % 2 ? hop__set_map : hop__set_map_relative)(
            &s.m, s.x, (hop__blocks){blocks, 2, 3, mixed_block, NULL});
        assert_true(y && !s.m.overflow);
        for (int d = 0; d < DRAWS; d++) {
            int64_t value[DRAWN_VALUES];
            float x[MOST];
            draw_values(&s, value);
            drawn_member(&s.d, s.x, value, x);
            for (int64_t b = 0; b < blocks; b++) expect_block(y, value, b, x + 2 * b);
        }
        hop__memory_free(&s.m);
    }
}

/* Tables that would be large together are mapped piece by piece. */
static void maps_in_pieces_hold_what_becomes_of_members(void **state)
{
    enum { BLOCKS = 40 };
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 52, 1);
    for (int i = 0; i < 4; i++) {
        drawn s;
        drawn_open(&s, &rng, 2 * BLOCKS);
        for (int k = 0; k < 3; k++) s.d.values[k] = 30;
        for (unsigned k = 0; k < 3; k++) { /* each of few columns */
            hop__term *u = drawn_table(&s.d, s.x, 1u << k);
            for (int64_t c = 0; c < s.x->width; c++)
                for (int64_t r = 0; c % 8 != 2 * k && r < u->rows; r++) *hop__term_cell(u, r, c) = 0;
        }
        hop__set_canonical(&s.m, s.x);
        hop__set *y = hop__set_map(&s.m, s.x, (hop__blocks){BLOCKS, 2, 3, mixed_block, NULL});
        assert_non_null(y);
        for (int d = 0; d < DRAWS; d++) {
            int64_t value[DRAWN_VALUES];
            float x[MOST];
            draw_values(&s, value);
            drawn_member(&s.d, s.x, value, x);
            for (int64_t b = 0; b < BLOCKS; b++) expect_block(y, value, b, x + 2 * b);
        }
        hop__memory_free(&s.m);
    }
}

/* 2^-100 where x is below 0, x above: next to the others nothing is off, and among large ones much. */
static void faint_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    (void)arg, (void)block;
    *y = x->hi < 0    ? (ival){0x1p-100, 0x1.8p-100}
         : x->lo >= 4 ? ival_widen(*x, 0x1p-4)
                      : ival_widen(*x, 0x1p-6);
}

static void rows_are_off_by_what_the_worst_of_them_is(void **state)
{
    static const double rows[] = {-4, 1, 2, 4, 8};
    enum { ROWS = sizeof rows / sizeof *rows };
    (void)state;
    for (int from = 0; from < ROWS; from++) {
        hop__memory m = {0};
        hop__set *s = hop__set_new(&m, 1);
        hop__term *u = hop__set_add_term(&m, s, A, ROWS, NULL, 0);
        for (int r = 0; r < ROWS; r++) *hop__term_cell(u, r, 0) = rows[(r + from) % ROWS];
        hop__set_canonical(&m, s);
        hop__set *y = hop__set_map_relative(&m, s, (hop__blocks){1, 1, 1, faint_block, NULL});
        assert_non_null(y);
        for (int r = 0; r < ROWS; r++) {
            ival x = ival_point(rows[(r + from) % ROWS]), made;
            const int64_t value[DRAWN_VALUES] = {[A] = r};
            faint_block(NULL, 0, &x, &made);
            drawn_expect(y, value, 0, made.lo, "least"), drawn_expect(y, value, 0, made.hi, "most");
        }
        hop__memory_free(&m);
    }
}

static void endless_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    (void)arg, (void)block;
    *y = x->hi > 1 ? (ival){-INFINITY, INFINITY} : *x;
}

static void maps_that_may_overflow_are_told(void **state)
{
    (void)state;
    for (int table = 0; table < 2; table++) {
        hop__memory m = {0};
        hop__set *s = hop__set_new(&m, 1);
        hop__term *u = table ? hop__set_add_term(&m, s, A, 2, NULL, 0) : NULL;
        if (u)
            *hop__term_cell(u, 1, 0) = 2;
        else
            s->rad[0] = 2;
        hop__set_canonical(&m, s);
        hop__set_map(&m, s, (hop__blocks){1, 1, 1, endless_block, NULL});
        assert_true(m.overflow);
        hop__memory_free(&m);
    }
}

/* What has a bound has none behind a rounding. */
static void numbers_of_few_bits_leave_their_bounds(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 53, 1);
    for (int i = 0; i < 400; i++) {
        drawn s;
        drawn_open(&s, &rng, 4);
        draw(&s, BOXES);
        hop__set *y = hop__set_map(&s.m, s.x, (hop__blocks){2, 2, 3, mixed_block, NULL});
        const int bits = 2 + below(&rng, 6), message = 10 + below(&rng, 4);
        hop__set *few = hop__set_rounded(&s.m, y, bits),
                 *crossed = hop__set_crossed(&s.m, y, ldexp(1, 8 - message));
        assert_true(few && crossed);
        for (int d = 0; d < DRAWS; d++) {
            int64_t value[DRAWN_VALUES];
            float x[4];
            draw_values(&s, value);
            drawn_member(&s.d, s.x, value, x);
            for (int k = 0; k < 2; k++) {
                float made[2] = {x[2 * k] * x[2 * k], x[2 * k] * x[2 * k]};
                hop_round_significand(made, 1, bits), hop_round_float(made + 1, 1, message);
                drawn_expect(few, value, 3 * k + 1, made[0], "few bits");
                drawn_expect(crossed, value, 3 * k + 1, made[1], "crossed");
            }
        }
        hop__memory_free(&s.m);
    }
}

/* ---- networks of one layer ----------------------------------------------------------------------------- */

typedef struct small {
    hop_model *m;
    hop_rng *rng;
    int64_t d, hidden;
    hop__analysis w;
    const float *up, *up_bias, *gate, *down, *down_bias, *head;
    int bits;
} small;

static float *layer_part(const small *n, const char *name)
{
    const hop_weight *w = hop_model_layer_weight(n->m, 0, name);
    return w ? w->data : NULL;
}

static void fill(hop_rng *rng, float *to, int64_t n, bool coarse)
{
    for (int64_t i = 0; to && i < n; i++)
        to[i] = below(rng, 3) ? (coarse ? (float)(below(rng, 5) - 2) : (float)hop_rng_normal(rng)) : 0;
}

static void small_open(small *n, hop_rng *rng, hop_mlp mlp, int64_t vocab, int64_t d, int64_t hidden)
{
    hop_config c;
    hop_error err = {0};
    *n = (small){.rng = rng, .d = d, .hidden = hidden};
    hop_config_init(&c);
    c.vocab = vocab, c.d_model = n->d, c.max_positions = 64, c.norm = HOP_NORM_NONE, c.mlp = mlp;
    c.mlp_hidden = n->hidden, c.heads = c.kv_heads = 1, c.head_dim = 1;
    assert_int_equal(hop_pattern_parse(&c.pattern, "F", "gdn", &err), HOP_OK);
    if (hop_model_new(&n->m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_config_free(&c);
    const bool coarse = below(rng, 2);
    float *part[] = {layer_part(n, "mlp.up_proj.weight"), layer_part(n, "mlp.up_proj.bias"),
                     layer_part(n, "mlp.gate_proj.weight"), layer_part(n, "mlp.down_proj.weight"),
                     layer_part(n, "mlp.down_proj.bias")};
    fill(rng, part[0], n->hidden * n->d, coarse), fill(rng, part[1], n->hidden, coarse);
    fill(rng, part[2], n->hidden * n->d, coarse), fill(rng, part[3], n->hidden * n->d, coarse);
    fill(rng, part[4], n->d, coarse);
    n->up = part[0], n->up_bias = part[1], n->gate = part[2], n->down = part[3], n->down_bias = part[4];
    n->w = (hop__analysis){.model = n->m, .facts = {.classes = 1, .length = 64}};
    n->w.facts.class[0] = (hop__class){.count = 20};
}

static void cut(const small *n, float *x, int64_t count)
{
    if (n->bits > 0) hop_round_significand(x, count, n->bits);
}

/* w x + bias, each sum in any order. */
static void mapped(const small *n, float *y, const float *w, const float *bias, const float *x, int64_t out,
                   int64_t in)
{
    double term[MOST];
    for (int64_t i = 0; i < out; i++) {
        for (int64_t k = 0; k < in; k++) term[k] = (double)w[i * in + k] * x[k];
        if (bias) term[in] = bias[i];
        y[i] = drawn_sum(n->rng, term, (int)(in + (bias ? 1 : 0)));
    }
    cut(n, y, out);
}

static void mlp_of(const small *n, hop_mlp kind, float *y, const float *x)
{
    float z[8], g[8];
    mapped(n, z, n->up, n->up_bias, x, n->hidden, n->d);
    if (kind == HOP_MLP_SWIGLU) {
        mapped(n, g, n->gate, NULL, x, n->hidden, n->d);
        hop_swiglu(z, g, z, n->hidden);
    } else {
        (kind == HOP_MLP_GELU ? hop_gelu : hop_relu)(z, z, n->hidden);
    }
    cut(n, z, n->hidden);
    mapped(n, y, n->down, n->down_bias, z, n->d, n->hidden);
    for (int64_t i = 0; i < n->d; i++) y[i] += x[i];
    cut(n, y, n->d);
}

/* Two numbers that are large, the same, and taken off each other in every argument: what that rounds is all there is. */
static void cancel_in_arguments(const small *n, drawn *s)
{
    const float by = ldexpf(1, below(n->rng, 20));
    if (n->d < 3) return;
    s->x->mid[1] = s->x->mid[0];
    for (int64_t j = 0; j < n->hidden; j++) {
        float *up = layer_part(n, "mlp.up_proj.weight") + j * n->d;
        up[0] = by, up[1] = -by;
    }
}

/* Two units that are nearly one, and taken off each other in every result. */
static void cancel_in_results(const small *n)
{
    float *up = layer_part(n, "mlp.up_proj.weight"), *down = layer_part(n, "mlp.down_proj.weight"),
          *gate = layer_part(n, "mlp.gate_proj.weight");
    if (n->hidden < 2) return;
    for (int64_t i = 0; i < n->d; i++) {
        up[n->d + i] = up[i] * 1.0625f, down[i * n->hidden + 1] = -down[i * n->hidden];
        if (gate) gate[n->d + i] = gate[i];
    }
}

/* Gates so far below 0 that what they are rounded by is what their functions vary by. */
static void close_gates(const small *n)
{
    float *gate = layer_part(n, "mlp.gate_proj.weight");
    for (int64_t i = 0; gate && i < n->hidden * n->d; i++) gate[i] = -4 * fabsf(gate[i]);
}

/* Products that are below the normal numbers where their factors are not. */
static void shrink_results(const small *n)
{
    float *down = layer_part(n, "mlp.down_proj.weight");
    const double by = ldexp(1 + hop_rng_uniform(n->rng), -below(n->rng, 60));
    for (int64_t i = 0; i < n->hidden * n->d; i++) down[i] = (float)(down[i] * by);
}

static void scale_biases(const small *n, double by)
{
    float *up = layer_part(n, "mlp.up_proj.bias"), *down = layer_part(n, "mlp.down_proj.bias");
    for (int64_t j = 0; up && j < n->hidden; j++) up[j] = (float)(up[j] * by);
    for (int64_t i = 0; down && i < n->d; i++) down[i] = (float)(down[i] * by);
}

static void mlps_hold_what_becomes_of_members(void **state)
{
    static const hop_mlp kinds[] = {HOP_MLP_RELU, HOP_MLP_RELU, HOP_MLP_RELU, HOP_MLP_GELU, HOP_MLP_SWIGLU};
    static const drawn_kind how[] = {BOXES, BOXES, TABLES, NUMBERS};
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 54, 1);
    for (int i = 0; i < 6000; i++) {
        const hop_mlp kind = kinds[i % 5];
        small n;
        drawn s;
        small_open(&n, &rng, kind, 4, 1 + below(&rng, 6), 1 + below(&rng, 6));
        drawn_open(&s, &rng, n.d);
        if (below(&rng, 3) == 0) s.d.size = ldexp(1, 4 - below(&rng, 144));
        if (below(&rng, 2)) scale_biases(&n, s.d.size);
        draw(&s, how[below(&rng, 4)]);
        if (s.x->terms == 0 && below(&rng, 2)) cancel_in_arguments(&n, &s);
        if (below(&rng, 3) == 0) cancel_in_results(&n);
        if (below(&rng, 2)) close_gates(&n);
        if (below(&rng, 3) == 0) shrink_results(&n);
        hop__set_unbound(s.x);
        hop__set_canonical(&s.m, s.x);
        n.w.m = &s.m, n.bits = n.w.bits = below(&rng, 2) ? 0 : 3 + below(&rng, 10);
        hop__set *y = hop__set_mlp(&n.w, 0, hop__set_rounded(&s.m, s.x, n.bits));
        assert_true(y && !s.m.overflow);
        for (int d = 0; d < DRAWS; d++) {
            int64_t value[DRAWN_VALUES];
            float x[8], made[8];
            draw_values(&s, value);
            drawn_member(&s.d, s.x, value, x);
            cut(&n, x, n.d);
            mlp_of(&n, kind, made, x);
            for (int64_t c = 0; c < n.d; c++) drawn_expect(y, value, c, made[c], hop_mlp_name(kind));
        }
        hop__memory_free(&s.m);
        hop_model_free(n.m);
    }
}

/* One unit, and one number: all roundings of few bits may add up. */
static void every_rounding_to_few_bits_counts(void **state)
{
    static const hop_mlp kinds[] = {HOP_MLP_RELU, HOP_MLP_GELU, HOP_MLP_SWIGLU};
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 59, 1);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 15000; k++) {
            const int64_t value[DRAWN_VALUES] = {0};
            float x, made;
            small n;
            drawn s;
            small_open(&n, &rng, kinds[i], 2, 1, 1);
            drawn_open(&s, &rng, 1);
            const bool alone =
                !n.gate && below(&rng, 2); /* a bias, and no stream beside what becomes of it */
            scale_biases(&n, alone ? 3 : 0), close_gates(&n);
            if (alone) layer_part(&n, "mlp.up_proj.weight")[0] = 0;
            if (n.gate) layer_part(&n, "mlp.up_proj.weight")[0] *= ldexpf(1, below(&rng, 12));
            n.w.m = &s.m, n.bits = n.w.bits = 3 + below(&rng, 3);
            if (alone) layer_part(&n, "mlp.down_proj.bias")[0] = 0;
            x = alone ? 0 : (float)hop_rng_normal(&rng), cut(&n, &x, 1);
            s.x->mid[0] = x;
            hop__set_canonical(&s.m, s.x);
            hop__set *y = hop__set_mlp(&n.w, 0, s.x);
            mlp_of(&n, kinds[i], &made, &x);
            drawn_expect(y, value, 0, made, hop_mlp_name(kinds[i]));
            hop__memory_free(&s.m);
            hop_model_free(n.m);
        }
}

/* An argument, its product, and what that and the stream add up to, all of which lose half a unit of 3 bits. */
static void three_roundings_one_way_are_held(void **state)
{
    const int64_t value[DRAWN_VALUES] = {0};
    const float x = 0x1.ffp-4f;
    float made;
    hop_rng rng;
    small n;
    drawn s;
    (void)state;
    hop_rng_init(&rng, 60, 1);
    small_open(&n, &rng, HOP_MLP_RELU, 2, 1, 1);
    drawn_open(&s, &rng, 1);
    layer_part(&n, "mlp.up_proj.weight")[0] = 0, layer_part(&n, "mlp.down_proj.bias")[0] = 0;
    layer_part(&n, "mlp.up_proj.bias")[0] = layer_part(&n, "mlp.down_proj.weight")[0] = 0x1.1fffp0f;
    n.w.m = &s.m, n.bits = n.w.bits = 3;
    s.x->mid[0] = x;
    hop__set_canonical(&s.m, s.x);
    hop__set *y = hop__set_mlp(&n.w, 0, s.x);
    mlp_of(&n, HOP_MLP_RELU, &made, &x);
    assert_true(made == 1);
    drawn_expect(y, value, 0, made, "three roundings");
    hop__memory_free(&s.m);
    hop_model_free(n.m);
}

/* Also where all that is added up is 0 together. */
static void mlps_that_may_overflow_are_told(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 55, 1);
    for (int kind = HOP_MLP_NONE + 1; kind <= HOP_MLP_SWIGLU; kind++)
        for (int cancels = 0; cancels < 2; cancels++) {
            drawn s;
            small n;
            small_open(&n, &rng, (hop_mlp)kind, 4, 3, 4);
            drawn_open(&s, &rng, n.d);
            scale_biases(&n, 0);
            for (int64_t i = 0; i < n.hidden * n.d; i++) {
                layer_part(&n, "mlp.up_proj.weight")[i] = 1;
                layer_part(&n, "mlp.down_proj.weight")[i] = i % n.hidden % 2 && cancels ? -1e19f : 1e19f;
                if (n.gate) layer_part(&n, "mlp.gate_proj.weight")[i] = 1;
            }
            for (int64_t c = 0; c < n.d; c++) s.x->mid[c] = 0x1p63;
            hop__set_canonical(&s.m, s.x);
            n.w.m = &s.m;
            hop__set_mlp(&n.w, 0, s.x);
            assert_true(s.m.overflow);
            hop__memory_free(&s.m);
            hop_model_free(n.m);
        }
}

/* ---- the read-out ------------------------------------------------------------------------------------------ */

/* Rows of the read-out alone, or beside a number that all tokens have and logits are rounded beside. */
static void draw_head(small *n, int64_t vocab, double beside)
{
    const bool coarse = below(n->rng, 2);
    float *head = hop_model_weight(n->m, "lm_head.weight")->data;
    for (int64_t v = 0; v < vocab; v++)
        for (int64_t c = 0; c < n->d; c++)
            head[v * n->d + c] = c == 0 && beside != 0 ? (float)beside
                                 : coarse              ? (float)(below(n->rng, 9) - 4)
                                                       : (float)hop_rng_normal(n->rng);
    n->head = head;
}

static int64_t best_of(const small *n, int64_t vocab, const float *x)
{
    int64_t best = 0;
    float most = -INFINITY;
    for (int64_t v = 0; v < vocab; v++) {
        double term[MOST];
        for (int64_t c = 0; c < n->d; c++) term[c] = (double)n->head[v * n->d + c] * x[c];
        float logit = drawn_sum(n->rng, term, (int)n->d);
        cut(n, &logit, 1);
        if (v == 0 || logit > most) best = v, most = logit;
    }
    return best;
}

static void the_token_that_leads_leads_for_every_member(void **state)
{
    static const drawn_kind how[] = {BOXES, BOXES, TABLES, NUMBERS};
    hop_rng rng;
    int told = 0;
    (void)state;
    hop_rng_init(&rng, 56, 1);
    for (int i = 0; i < 3000; i++) {
        const int64_t vocab = i % 100 == 0 ? 700 : 2 + below(&rng, 6);
        small n;
        drawn s;
        hop__readout out;
        small_open(&n, &rng, HOP_MLP_NONE, vocab, 1 + below(&rng, 6), 1);
        drawn_open(&s, &rng, n.d);
        if (i % 10 == 0) s.d.values[2] = 200, drawn_table(&s.d, s.x, 4); /* more rows than a tile has */
        draw(&s, how[below(&rng, 4)]);
        if (i % 3 == 0) { /* one number large, and known */
            for (int k = 0; k < s.x->terms; k++)
                for (int64_t r = 0; r < s.x->term[k].rows; r++)
                    if (hop__term_fills(&s.x->term[k], 0)) *hop__term_cell(&s.x->term[k], r, 0) = 0;
            s.x->mid[0] = 1, s.x->rad[0] = 0;
            hop__set_unbound(s.x);
            hop__set_canonical(&s.m, s.x);
        }
        draw_head(&n, vocab, i % 3 == 0 ? ldexp(1, below(&rng, 30)) : 0);
        n.w.m = &s.m, n.bits = n.w.bits = i % 5 == 1 ? 3 + below(&rng, 8) : 0;
        hop__set *x_cut = hop__set_rounded(&s.m, s.x, n.bits);
        assert_true(x_cut && hop__leading_token(&n.w, &s.m, x_cut, &out));
        for (int d = 0; out.margin > 0 && !s.m.overflow && d < (i % 10 ? DRAWS : 10 * DRAWS); d++, told++) {
            int64_t value[DRAWN_VALUES];
            float x[8];
            draw_values(&s, value);
            drawn_member(&s.d, s.x, value, x);
            cut(&n, x, n.d);
            assert_int_equal(best_of(&n, vocab, x),
                             out.token[out.term.vars ? drawn_row(&out.term, value) : 0]);
        }
        hop__memory_free(&s.m);
        hop_model_free(n.m);
    }
    assert_true(told > 3000);
}

static void logits_that_may_overflow_are_told(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 57, 1);
    for (int large = 0; large < 2; large++) {
        drawn s;
        small n;
        hop__readout out;
        small_open(&n, &rng, HOP_MLP_NONE, 3, 2, 1);
        drawn_open(&s, &rng, n.d);
        draw_head(&n, 3, 0);
        hop_model_weight(n.m, "lm_head.weight")->data[0] = large ? 1e20f : 1e16f;
        s.x->mid[0] = 0x1p62;
        hop__set_canonical(&s.m, s.x);
        n.w.m = &s.m;
        assert_true(hop__leading_token(&n.w, &s.m, s.x, &out));
        assert_int_equal(s.m.overflow, large);
        hop__memory_free(&s.m);
        hop_model_free(n.m);
    }
}

/* Of numbers that come tile by tile; what is not finite counts as a second one that nothing leads. */
static void the_two_largest_are_found(void **state)
{
    hop_rng rng;
    (void)state;
    hop_rng_init(&rng, 58, 1);
    for (int i = 0; i < 3000; i++) {
        float x[MOST];
        const double scale = below(&rng, 2) ? 0.5 : -2, none = i % 3 ? 0 : i % 2 ? INFINITY : NAN;
        hop__top top = {-INFINITY, -INFINITY};
        double best = -INFINITY, second = -INFINITY;
        int64_t at = -1, said = -1;
        for (int tile = 0; tile < 3; tile++) {
            const int n = 1 + below(&rng, MOST - 1);
            const double offset = below(&rng, 5) - 2;
            for (int k = 0; k < n; k++) {
                x[k] = (float)(below(&rng, 400) - 200);
                double v = scale * x[k] + offset;
                if (v > best)
                    second = best, best = v, at = tile * MOST + k;
                else if (v > second)
                    second = v;
            }
            if (tile == 1 && none != 0) x[below(&rng, n)] = (float)none;
            int64_t found = hop__top_add(&top, x, n, scale, offset);
            if (found >= 0) said = tile * MOST + found;
        }
        if (none != 0) {
            assert_false(top.best - top.second > 0);
            continue;
        }
        assert_true(top.best == best && top.second == second && said == at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_hold_what_becomes_of_members),
        cmocka_unit_test(maps_in_pieces_hold_what_becomes_of_members),
        cmocka_unit_test(rows_are_off_by_what_the_worst_of_them_is),
        cmocka_unit_test(maps_that_may_overflow_are_told),
        cmocka_unit_test(numbers_of_few_bits_leave_their_bounds),
        cmocka_unit_test(mlps_hold_what_becomes_of_members),
        cmocka_unit_test(every_rounding_to_few_bits_counts),
        cmocka_unit_test(three_roundings_one_way_are_held),
        cmocka_unit_test(mlps_that_may_overflow_are_told),
        cmocka_unit_test(the_token_that_leads_leads_for_every_member),
        cmocka_unit_test(logits_that_may_overflow_are_told),
        cmocka_unit_test(the_two_largest_are_found),
    };
    return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
