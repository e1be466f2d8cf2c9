/* test_trace_rows.c - what operations on rows form on their way is what their programs (hopbound/arith.h) say: number by
 * number, as test_trace.c does it of recurrences. */
#include "trace_rows.h"
#include "trace_seen.h"

enum { TOKENS = 5, ROW_IN = 4, PARAMS = 2 };

/* One operation: widths of its inputs and parameters, 0: none. Rows of a token, keys and values of its program. */
typedef struct row_case {
    hop_op op;
    int64_t in[ROW_IN], par[PARAMS];
    int64_t each, keys, values;
} row_case;

/* Inputs by their names: those of rows, groups and neighbours; see row_input. */
typedef struct place {
    const char *name;
    int of;             /* input, or ROW_IN + parameter */
    int64_t per, share; /* from one row of a token to the next; so many rows have the same */
} place;

typedef struct bench {
    const row_case *c;
    hop_list l;
    hop__exec w;
    float *x[ROW_IN], *par[PARAMS], *y;
    int64_t stride[ROW_IN];
    float constant[7]; /* eps, scale, half, before, n, lo, hi */
} bench;

static void bench_open(bench *b, const row_case *c, bool apart, double size)
{
    *b = (bench){.c = c, .w = {.l = &b->l, .sequences = 1, .tokens = TOKENS}};
    const double weights = size < 1 ? size : 1;
    for (int i = 0; i < ROW_IN; i++) {
        b->stride[i] = c->in[i] + (apart ? 3 : 0);
        if (c->in[i] > 0) b->x[i] = random_new(b->stride[i] * TOKENS, 10 + (uint64_t)i, size);
        b->l.width[HOP_FIRST_BUFFER + 1 + i] = b->stride[i], b->w.b[HOP_FIRST_BUFFER + 1 + i] = b->x[i];
    }
    for (int i = 0; i < PARAMS; i++)
        if (c->par[i] > 0) b->par[i] = random_new(c->par[i], 20 + (uint64_t)i, weights);
    b->l.width[HOP_FIRST_BUFFER] = c->op.width;
    b->w.b[HOP_FIRST_BUFFER] = b->y = floats_new(c->op.width * TOKENS);
    b->w.w = (const float *const *)b->par;
    const float constants[] = {
        (float)c->op.eps,        c->op.scaled || c->op.kind == HOP_OP_ACT ? (float)c->op.scale : 1,
        c->op.scaled ? 0.5f : 1, (float)c->op.before,
        (float)c->op.dim,        (float)c->op.lo,
        (float)c->op.hi};
    memcpy(b->constant, constants, sizeof constants);
}

static void bench_close(bench *b)
{
    for (int i = 0; i < ROW_IN; i++) hop_free(b->x[i]);
    for (int i = 0; i < PARAMS; i++) hop_free(b->par[i]);
    hop_free(b->y);
}

static void give_constants(const bench *b)
{
    static const char *const names[] = {"eps", "scale", "half", "before", "n", "lo", "hi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) rows_constant(names[i], &b->constant[i]);
}

static void give(const bench *b, place p)
{
    const bool parameter = p.of >= ROW_IN;
    const float *from = parameter ? b->par[p.of - ROW_IN] : b->x[p.of];
    if (parameter && b->c->op.kind == HOP_OP_LERP) from += b->c->op.first_row * b->c->op.width;
    if (from)
        rows_input((row_input){p.name, from, b->c->each, parameter ? 0 : b->stride[p.of], p.per, p.share, 1});
}

static hop_op op_of(const row_case *c)
{
    hop_op op = c->op;
    op.y = HOP_FIRST_BUFFER;
    for (int i = 0; i < HOP_OP_INPUTS; i++)
        op.in[i].buffer = i < ROW_IN && c->in[i] > 0 ? HOP_FIRST_BUFFER + 1 + i : -1;
    for (int i = 0; i < HOP_OP_PARAMS; i++) op.par[i] = c->par[i] > 0 ? i : -1;
    return op;
}

static int programs_of(const hop_op *op, const hop_program *part[ROW_PARTS])
{
    int n = 0;
    while (n < ROW_PARTS && (part[n] = hop_op_program(op, n))) n++;
    if (op->kind == HOP_OP_GROUPNORM && op->par[1] < 0) n--; /* no bias is added */
    return n;
}

static void trace_row_op(bench *b, const place *places, int count)
{
    const hop_op op = op_of(b->c);
    const hop_program *part[ROW_PARTS];
    const int parts = programs_of(&op, part);
    const int64_t d = op.dim;
    float *pairs = NULL;
    for (int i = 0; i < count; i++) give(b, places[i]);
    give_constants(b);
    if (op.kind == HOP_OP_TAYLOR) { /* x_j of row (i, j) */
        pairs = floats_new(TOKENS * b->c->each);
        for (int64_t r = 0; r < TOKENS * b->c->each; r++)
            pairs[r] = b->x[0][r / b->c->each * b->stride[0] + r % b->c->each / (d * d) * d + r % d];
        rows_input((row_input){"b", pairs, b->c->each, b->c->each, 1, 1, 1});
    }
    rows_open(part, parts, op.kind == HOP_OP_GROUPNORM, TOKENS * b->c->each, b->c->keys, b->c->values);
    hop__row_op_traced(&b->w, &op, 0, 0, TOKENS);
    rows_close();
    hop_free(pairs);
}

#define NUMBERS(kind_, ...) \
    .op = {.kind = HOP_OP_##kind_, .width = 19, __VA_ARGS__}, .each = 19, .keys = 1, .values = 1
#define GROUPS(kind_, width_, dim_, ...) \
    .op = {.kind = HOP_OP_##kind_, .width = 3 * (width_), .groups = 3, .dim = (dim_), __VA_ARGS__}, .each = 3
#define ACT(act_, before_, scale_)                                                                 \
    {                                                                                              \
        {NUMBERS(ACT, .act = HOP_ACT_##act_, .before = (before_), .scale = (scale_)), .in = {19}}, \
        {                                                                                          \
            {                                                                                      \
                "a", 0, 1, 1                                                                       \
            }                                                                                      \
        }                                                                                          \
    }
#define PAR  ROW_IN
#define PAR2 (ROW_IN + 1)

static const struct {
    row_case c;
    place place[6];
} cases[] = {
    {{NUMBERS(MUL, .dim = 1), .in = {19, 19}}, {{"a", 0, 1, 1}, {"b", 1, 1, 1}}},
    {{.op = {.kind = HOP_OP_MUL, .width = 18, .dim = 6}, .in = {18, 3}, .each = 18, .keys = 1, .values = 1},
     {{"a", 0, 1, 1}, {"b", 1, 1, 6}}},
    {{NUMBERS(SUB), .in = {19, 19}}, {{"a", 0, 1, 1}, {"b", 1, 1, 1}}},
    {{NUMBERS(CLAMP, .lo = -0.3, .hi = 0.4), .in = {19}}, {{"a", 0, 1, 1}}},
    {{NUMBERS(ADD), .in = {19, 19}}, {{"a", 0, 1, 1}, {"b", 1, 1, 1}}},
    {{NUMBERS(LERP, .first_row = 1), .in = {19, 19}, .par = {57}},
     {{"a", 0, 1, 1}, {"b", 1, 1, 1}, {"w", PAR, 1, 1}}},
    {{NUMBERS(LERP), .in = {19, 19, 19}, .par = {19}},
     {{"a", 0, 1, 1}, {"b", 1, 1, 1}, {"c", 2, 1, 1}, {"w", PAR, 1, 1}}},
    {{NUMBERS(WEIGH), .in = {19}, .par = {19}}, {{"a", 0, 1, 1}, {"w", PAR, 1, 1}}},
    {{.op = {.kind = HOP_OP_SKIP, .width = 18, .dim = 6},
      .in = {18, 18},
      .par = {3},
      .each = 18,
      .keys = 1,
      .values = 1},
     {{"a", 0, 1, 1}, {"b", 1, 1, 1}, {"w", PAR, 1, 6}}},
    {{NUMBERS(BLEND), .in = {19, 19}, .par = {19}}, {{"a", 0, 1, 1}, {"b", 1, 1, 1}, {"w", PAR, 1, 1}}},
    {{.op = {.kind = HOP_OP_RATE, .width = 18, .groups = 3, .dim = 6},
      .in = {18},
      .par = {3},
      .each = 18,
      .keys = 1,
      .values = 1},
     {{"a", 0, 1, 1}, {"w", PAR, 1, 6}}},
    {{NUMBERS(LRU_RATE), .in = {19}, .par = {19}}, {{"a", 0, 1, 1}, {"w", PAR, 1, 1}}},
    {{NUMBERS(LRU_INPUT), .in = {19, 19, 19}}, {{"a", 0, 1, 1}, {"b", 1, 1, 1}, {"c", 2, 1, 1}}},
    {{GROUPS(BONUS, 7, 6), .in = {21, 18, 18, 21}, .par = {18}, .keys = 6, .values = 7},
     {{"a", 0, 7, 1}, {"b", 1, 6, 1}, {"c", 2, 6, 1}, {"v", 3, 7, 1}, {"w", PAR, 6, 1}}},
    {{GROUPS(DIVIDE, 7, 7, .eps = 1e-3), .in = {24}, .keys = 1, .values = 7},
     {{"a", 0, 8, 1}, {"b", 3, 8, 1}}},
    {{.op = {.kind = HOP_OP_TAYLOR, .width = 30, .groups = 3, .dim = 3, .scale = 0.7, .scaled = true},
      .in = {9},
      .each = 27,
      .keys = 1,
      .values = 1},
     {{"a", 0, 1, 3}}},
    {{.op = {.kind = HOP_OP_TAYLOR, .width = 30, .groups = 3, .dim = 3},
      .in = {9},
      .each = 27,
      .keys = 1,
      .values = 1},
     {{"a", 0, 1, 3}}},
    {{GROUPS(L2, 21, 21), .in = {63}, .keys = 21, .values = 1}, {{"x", 0, 21, 1}}},
    {{GROUPS(RMS, 21, 21, .eps = 1e-5), .in = {63}, .par = {21}, .keys = 21, .values = 1},
     {{"x", 0, 21, 1}, {"w", PAR, 0, 1}}},
    {{GROUPS(GROUPNORM, 21, 21, .eps = 1e-5), .in = {63}, .par = {63}, .keys = 21, .values = 1},
     {{"x", 0, 21, 1}, {"w", PAR, 21, 1}}},
    {{GROUPS(GROUPNORM, 21, 21, .eps = 1e-5), .in = {63}, .par = {63, 63}, .keys = 21, .values = 1},
     {{"x", 0, 21, 1}, {"w", PAR, 21, 1}, {"bias", PAR2, 21, 1}}},
    ACT(COPY, 0.7, 1.3),
    ACT(EXP, 0.7, 1.3),
    ACT(EXP1000, 2, 1),
    ACT(SIGMOID, 1, 1.3),
    ACT(SILU, 0.7, 1),
    ACT(TANH, 0.7, 1.3),
    ACT(SOFTPLUS, 0.7, 1.3),
    ACT(LOGSIGMOID, 1, 0.06),
    ACT(ELU1, 0.7, 1.3),
    ACT(RELU, 0.7, 1.3),
    ACT(GELU, 0.7, 1.3),
    ACT(RELU2, 0.7, 1.3),
};
enum { CASES = sizeof cases / sizeof *cases };

/* What an operation may be given: steps are not below 0, and what is divided by is above. */
static void make_lawful(bench *b, double size)
{
    for (int64_t i = 0; b->c->op.kind == HOP_OP_LRU_INPUT && i < b->stride[0] * TOKENS; i++)
        b->x[0][i] = -fabsf(b->x[0][i]);
    for (int64_t i = 0; b->c->op.kind == HOP_OP_DIVIDE && i < b->stride[0] * TOKENS; i++)
        b->x[0][i] = fabsf(b->x[0][i]) + (float)(0.1 * size);
}

static void trace_case_of(int i, bool apart, double size, const char *falsified)
{
    bench b;
    place places[6];
    int count = 0;
    bench_open(&b, &cases[i].c, apart, size);
    make_lawful(&b, size);
    for (; count < 6 && cases[i].place[count].name; count++) places[count] = cases[i].place[count];
    if (cases[i].c.op.kind == HOP_OP_DIVIDE) { /* the last of a group is what it is divided by */
        rows_input((row_input){"b", b.x[0] + cases[i].c.op.dim, 3, b.stride[0], 8, 1, 1});
        count = 1;
    }
    tracer.falsified = falsified;
    trace_row_op(&b, places, count);
    bench_close(&b);
}

static void what_rows_form_is_what_their_programs_say(void **state)
{
    static const double sizes[] = {1, 8, 0x1p-50, 0x1p-75, 0x1p-100, 0x1p-140};
    (void)state;
    tracer_reset();
    hop__kernels_use(&hop__kernels_traced);
    for (int i = 0; i < CASES; i++)
        for (int apart = 0; apart < 2; apart++)
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) trace_case_of(i, apart, sizes[n], NULL);
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 50000);
    assert_true(tracer.loose * 100 < tracer.compared);
    printf("%lld comparisons, %.3f of the bound at the most\n", (long long)tracer.compared, tracer.worst);
}

/* ---- convolutions ------------------------------------------------------------------------------ */

typedef struct conv_case {
    int64_t tokens, width, taps;
    bool silu, bias, past;
} conv_case;

/* Whole, and what is behind `cut` tokens from what it remembers of those before. */
static void trace_conv(const conv_case *c, double size, int64_t cut, const char *falsified)
{
    const int64_t W = c->width, S = c->taps, T = c->tokens;
    float *x = random_new((T + S - 1) * W, 1, size), *w = random_new(W * S, 2, size < 1 ? size : 1);
    float *bias = random_new(W, 3, size < 1 ? size * size : 1), *y = floats_new(T * W),
          *past = floats_new((S - 1) * W), none = 0;
    const hop_op op = {.kind = HOP_OP_CONV, .silu = c->silu};
    const hop_program *program = hop_op_program(&op, 0);
    if (!c->past) memset(x, 0, sizeof *x * (size_t)((S - 1) * W));
    memcpy(past, x, sizeof *x * (size_t)((S - 1) * W));
    tracer.falsified = falsified;
    for (int64_t first = 0, n = cut; first < T; first += n, n = T - first) {
        const hop_conv conv = {.tokens = n,
                               .width = W,
                               .size = S,
                               .x_stride = W,
                               .y_stride = W,
                               .silu = c->silu,
                               .past_stride = W};
        rows_input((row_input){"x", x + first * W, W, W, 1, 1, W});
        rows_input((row_input){"w", w, W, 0, S, 1, 1});
        rows_input((row_input){"bias", c->bias ? bias : &none, c->bias ? W : 0, 0, 1, 1, 1});
        rows_open(&program, 1, false, n * W, S, 1);
        hop_conv_forward(y + first * W, c->past || first > 0 ? past : NULL, x + (S - 1 + first) * W, w,
                         c->bias ? bias : NULL, &conv);
        memcpy(past, x + (first + n) * W, sizeof *x * (size_t)((S - 1) * W));
        rows_close();
    }
    hop_free(x), hop_free(w), hop_free(bias), hop_free(y), hop_free(past);
}

static void what_convolutions_form_is_what_their_programs_say(void **state)
{
    static const double sizes[] = {1, 8, 0x1p-62, 0x1p-73};
    (void)state;
    tracer_reset();
    hop__kernels_use(&hop__kernels_traced);
    for (int n = 0; n < 4 * 8 * 3; n++) {
        static const int64_t taps[] = {1, 4, 5, 19};
        const conv_case c = {9, n % 3 == 1 ? 8 : 21, taps[n / 24], n & 1, n & 2, n & 4};
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            trace_conv(&c, sizes[s], c.past ? 4 : 9, NULL);
    }
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 20000);
}

/* ---- SwiGLU ------------------------------------------------------------------------------------ */

static void trace_swiglu(int64_t n, double size, const char *falsified)
{
    const hop_program *program = hop_swiglu_program();
    float *gate = random_new(n, 1, size), *up = random_new(n, 2, size), *y = floats_new(n);
    tracer.falsified = falsified;
    rows_input((row_input){"gate", gate, n, 0, 1, 1, 1});
    rows_input((row_input){"up", up, n, 0, 1, 1, 1});
    rows_open(&program, 1, false, n, 1, 1);
    hop_swiglu(y, gate, up, n);
    rows_close();
    hop_free(gate), hop_free(up), hop_free(y);
}

static void what_swiglu_forms_is_what_its_program_says(void **state)
{
    static const double sizes[] = {1, 8, 60, 0x1p-62, 0x1p-73, 0x1p-140};
    (void)state;
    tracer_reset();
    hop__kernels_use(&hop__kernels_traced);
    for (int64_t n = 1; n <= 100; n += 33)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) trace_swiglu(n, sizes[s], NULL);
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared == (1 + 34 + 67 + 100) * 2 * 6);
}

/* ---- rotations --------------------------------------------------------------------------------- */

typedef struct rope_case {
    int64_t groups, dim, rotary, position;
    double theta;
    bool table, given; /* frequencies of its own; angles that were made before */
} rope_case;

enum { PAIRS = 64, PAIR_INPUTS = 8 };

/* A pair's numbers, as they are rotated: those of the pair, its angle's and what that makes. */
static void pairs_of(const rope_case *c, const float *x, const float *rates, double in[PAIR_INPUTS][PAIRS])
{
    const int64_t half = c->rotary / 2, width = c->groups * c->dim;
    for (int64_t r = 0; r < TOKENS * c->groups * half; r++) {
        const int64_t t = r / (c->groups * half), g = r / half % c->groups, e = r % half;
        const float *pair = x + t * width + g * c->dim + e, position = (float)(c->position + t);
        const double rate = c->table ? rates[e] : pow(c->theta, -2.0 * (double)e / (double)c->rotary);
        const double angle = c->table ? (double)(position * rates[e]) : (double)(c->position + t) * rate;
        const float scale = c->table ? 1.25f : 1, cosine = (float)cos(angle), sine = (float)sin(angle);
        const float co = cosine * scale, si = sine * scale;
        const double numbers[PAIR_INPUTS] = {
            pair[0], pair[half], c->table ? co : cos(angle), c->table ? si : sin(angle), position, rate,
            cosine,  sine};
        for (int i = 0; i < PAIR_INPUTS; i++) in[i][r] = numbers[i];
    }
}

static void trace_rope(const rope_case *c, double size, const char *falsified)
{
    static const char *const names[PAIR_INPUTS] = {"a",        "b",    "co",     "si",
                                                   "position", "rate", "cosine", "sine"};
    static double in[PAIR_INPUTS][PAIRS];
    const int64_t width = c->groups * c->dim, half = c->rotary / 2, rows = TOKENS * c->groups * half;
    const float scale = 1.25f, rates[] = {1, 0.3f, 0.01f, 0.004f};
    const hop_op op = {.kind = HOP_OP_ROPE,
                       .y = HOP_FIRST_BUFFER,
                       .in = {{.buffer = HOP_FIRST_BUFFER + 1}},
                       .par = {c->table ? 0 : -1},
                       .width = width,
                       .groups = c->groups,
                       .dim = c->dim,
                       .rotary = c->rotary,
                       .theta = c->theta,
                       .scale = scale};
    float *x = random_new(TOKENS * width, 31, size), *y = floats_new(TOKENS * width);
    double *angles = doubles_new((c->position + TOKENS) * half * 2);
    const float *par[] = {rates};
    hop_list l = {0};
    hop__exec w = {.l = &l, .sequences = 1, .tokens = TOKENS, .position = c->position, .w = par};
    const hop_program *part[ROW_PARTS];
    assert_true(rows <= PAIRS && half <= 4);
    l.width[HOP_FIRST_BUFFER] = l.width[HOP_FIRST_BUFFER + 1] = width;
    w.b[HOP_FIRST_BUFFER] = y, w.b[HOP_FIRST_BUFFER + 1] = x;
    hop_rope_table(angles, c->position + TOKENS, c->rotary, c->theta);
    if (c->given) w.angles = angles;
    pairs_of(c, x, rates, in);
    tracer.falsified = falsified;
    for (int i = 0; i < PAIR_INPUTS; i++) /* an angle that was made before is not made */
        if (!c->given || i < 4) rows_wide(names[i], in[i]);
    rows_constant("scale", &scale);
    rows_open(part, programs_of(&op, part), false, rows, 1, 1);
    hop__row_op_traced(&w, &op, 0, 0, TOKENS);
    rows_close();
    hop_free(x), hop_free(y), hop_free(angles);
}

static const rope_case ropes[] = {
    {3, 7, 6, 0, 1e4, false, false},       {2, 8, 8, 2000, 500, false, false},
    {3, 7, 4, 1000000, 1e4, false, false}, {3, 7, 6, 0, 1e4, false, true},
    {2, 8, 4, 300, 500, false, true},      {3, 7, 6, 0, 1e4, true, false},
    {2, 8, 8, 100000, 500, true, false},
};
enum { ROPES = sizeof ropes / sizeof *ropes };

static void what_rotations_form_is_what_their_programs_say(void **state)
{
    static const double sizes[] = {1, 1e30, 0x1p-120, 0x1p-140};
    (void)state;
    tracer_reset();
    hop__kernels_use(&hop__kernels_traced);
    for (int i = 0; i < ROPES; i++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) trace_rope(&ropes[i], sizes[n], NULL);
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 6 * ROPES * 4 * TOKENS * 4);
}

/* ---- plain products ---------------------------------------------------------------------------- */

/* Rows of a projection, with few rows and many; with the bias last and first; the transposed of a matrix. */
static void trace_product(int64_t rows, int64_t out, int64_t k, int way, double size, const char *falsified)
{
    const hop_program *program =
        hop_op_program(&(hop_op){.kind = HOP_OP_CONV}, 0); /* a sum of products, and a bias */
    float *x = random_new(rows * k, 41, size), *w = random_new(out * k, 42, 1),
          *bias = random_new(out, 43, size), *y = floats_new(rows * out), none = 0;
    const hop_product p = {
        .c = y, .ldc = out, .a = {x, k, 1}, .b = {w, 1, k}, .m = rows, .n = out, .k = k, .from = {bias, 0}};
    tracer.falsified = falsified;
    rows_input((row_input){"x", x, out, k, 0, 1, 1});
    rows_input((row_input){"w", w, out, 0, k, 1, 1});
    rows_input((row_input){"bias", way == 2 ? &none : bias, way == 2 ? 0 : out, 0, 1, 1, 1});
    rows_open(&program, 1, false, rows * out, k, 1);
    if (way == 0) hop_linear(y, x, w, bias, rows, out, k, NULL);
    if (way == 1) hop_multiply(&p, NULL);
    if (way == 2) hop_gemm(y, out, (hop_mat){x, k, 1}, (hop_mat){w, 1, k}, rows, out, k, false, NULL);
    TRACE_TOKEN(0);
    TRACE("y", y, ALONG(T, rows * out, 1));
    rows_close();
    hop_free(x), hop_free(w), hop_free(bias), hop_free(y);
}

static void what_products_come_to_is_what_their_program_says(void **state)
{
    static const int64_t shapes[][3] = {{1, 1, 1},   {1, 40, 33},  {2, 19, 300},
                                        {3, 17, 70}, {9, 33, 130}, {40, 21, 19}};
    static const double sizes[] = {1, 1e30, 0x1p-126, 0x1p-140};
    (void)state;
    tracer_reset();
    hop__kernels_use(&hop__kernels_traced);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int way = 0; way < 3; way++)
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
                trace_product(shapes[i][0], shapes[i][1], shapes[i][2], way, sizes[n], NULL);
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 15000);
}

/* ---- what is not as it is said ------------------------------------------------------------------- */

/* Each input of each operation, changed by 2^-5 for the programs alone. */
static void a_program_of_rows_that_says_something_else_is_found(void **state)
{
    static const char *const names[] = {"a",   "b",     "c",        "v",      "x",      "w",    "bias",
                                        "eps", "scale", "half",     "before", "n",      "gate", "up",
                                        "co",  "si",    "position", "rate",   "cosine", "sine"};
    const conv_case conv = {9, 21, 4, true, true, true};
    int tried = 0;
    (void)state;
    hop__kernels_use(&hop__kernels_traced);
    for (int i = 0; i <= CASES + 1 + ROPES + 3; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            tracer_reset();
            tracer.quiet = true;
            if (i < CASES)
                trace_case_of(i, false, 1, names[n]);
            else if (i == CASES)
                trace_conv(&conv, 1, 9, names[n]);
            else if (i == CASES + 1)
                trace_swiglu(21, 1, names[n]);
            else if (i < CASES + 2 + ROPES)
                trace_rope(&ropes[i - CASES - 2], 1, names[n]);
            else
                trace_product(3, 4, 5, i - CASES - 2 - ROPES, 1, names[n]);
            if (i > CASES + 1 && i < CASES + 2 + ROPES && ropes[i - CASES - 2].given &&
                (strcmp(names[n], "position") == 0 || strcmp(names[n], "rate") == 0))
                continue; /* of an angle that was made before */
            if (i == CASES + 1 + ROPES + 3 && strcmp(names[n], "bias") == 0) continue; /* there is none */
            /* Beside numbers that are not next to nothing a norm's eps is: less than what rounding may make. */
            if (!tracer.met || (strcmp(names[n], "eps") == 0 && cases[i].c.op.kind != HOP_OP_DIVIDE))
                continue;
            if (tracer.wrong == 0) fail_msg("%s of case %d: not found", names[n], i);
            tried++;
        }
    assert_true(tried > 60);
}

/* ---- coverage ------------------------------------------------------------------------------------ */

/* What is no number of its own, beyond terms of sums and copies, and why. */
static const struct {
    const char *form, *name, *why;
} unseen[] = {
    {"row", "rest", "lru_input: a sign, which the root's argument has"},
    {"relu2", "r", "in place: its square, `f`, is told"},
    {"logsigmoid", "minus", "a sign"},
    {"logsigmoid", "s", "`f` with the other sign"},
    {"exp1000", "e", "in place: the smaller of it and 1000, `f`, is told"},
};
enum { UNSEEN = sizeof unseen / sizeof *unseen };

static void every_name_of_rows_is_traced_or_listed(void **state)
{
    bool needed[UNSEEN] = {false};
    (void)state;
    for (int n = 0; n < tracer.programs; n++) {
        hop_arith p;
        hop_arith_open(&p, tracer.program[n]);
        for (int i = 0; i < p.count; i++) {
            bool known = tracer.seen[n][i] || is_copy(p.line[i]->prim) || is_term(&p, i);
            for (int u = 0; u < UNSEEN; u++) {
                if (strcmp(unseen[u].name, p.line[i]->name) != 0 ||
                    strcmp(unseen[u].form, tracer.program[n]->form) != 0)
                    continue;
                needed[u] = needed[u] || !known, known = true;
            }
            if (!known)
                fail_msg("%s, %s: %s is not traced", tracer.program[n]->op, tracer.program[n]->form,
                         p.line[i]->name);
        }
    }
    for (int u = 0; u < UNSEEN; u++)
        if (!needed[u]) fail_msg("%s is listed as unseen, and is seen", unseen[u].name);
}

static bool was_run(const hop_program *p)
{
    for (int n = 0; n < tracer.programs; n++)
        if (tracer.program[n] == p) return true;
    return false;
}

/* Every program of every operation that has one is among those that were run, and SwiGLU's. */
static void every_program_of_rows_is_run(void **state)
{
    (void)state;
    for (int k = 0; k < HOP_OP_COUNT; k++)
        for (int form = 0; form < 2 * (HOP_ACT_GELU + 1); form++) {
            hop_op op = {.kind = (hop_op_kind)k, .act = (hop_act)(form / 2), .silu = form % 2};
            op.in[2].buffer = form % 2 ? 2 : -1, op.par[0] = form % 2 ? 0 : -1;
            for (int part = 0; part < ROW_PARTS; part++) {
                const hop_program *p = hop_op_program(&op, part);
                if (!p) break;
                if (!was_run(p)) fail_msg("%s, %s is not run", p->op, p->form);
            }
        }
    assert_true(was_run(hop_swiglu_program()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_of_rows_that_says_something_else_is_found),
        cmocka_unit_test(what_rows_form_is_what_their_programs_say),
        cmocka_unit_test(what_convolutions_form_is_what_their_programs_say),
        cmocka_unit_test(what_swiglu_forms_is_what_its_program_says),
        cmocka_unit_test(what_rotations_form_is_what_their_programs_say),
        cmocka_unit_test(what_products_come_to_is_what_their_program_says),
        cmocka_unit_test(every_name_of_rows_is_traced_or_listed),
        cmocka_unit_test(every_program_of_rows_is_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
