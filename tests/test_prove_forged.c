/* Networks made to fool the prover: for every linear mixer, every kind of construction and every tensor,
 * changes that exact arithmetic does not see, or hardly, and float32 does. Terms that cancel, in a projection
 * and in its successor; numbers off every grid; wide ones that are made narrow again elsewhere; biases;
 * scales that are no powers of two; gates that are not quite shut. Whatever is proved must answer every input
 * rightly, as a whole sequence and token by token, with every kernel table. */
#include "against_truth.h"

#define FAMILIES(X)                                                   \
    X(cancel_through, "cancelling pairs through a successor")         \
    X(cancel_stream, "cancelling pairs of what the stream has twice") \
    X(off_grid, "off-grid terms")                                     \
    X(wide_through, "wide values, narrowed by the successor")         \
    X(wide_stream, "wide coordinates of the stream")                  \
    X(bias, "biases")                                                 \
    X(scale, "scales that are no powers of two")                      \
    X(saturate, "gates near saturation")                              \
    X(unread, "numbers that nobody reads")                            \
    X(several, "several at once")

enum {
#define FAMILY_NUMBER(name, text) FAMILY_##name,
    FAMILIES(FAMILY_NUMBER)
#undef FAMILY_NUMBER
        FAMILY_COUNT
};

enum { MOST_TENSORS = 48, KINDS = 3, REPEATS = 3 };

/* ---- parts of a network ------------------------------------------------------------------------- */

typedef struct forgery {
    const hop_model *m;
    const hop_weight *w; /* the tensor to begin with */
    hop_rng *rng;
    int64_t d;
} forgery;

static float *at(const hop_weight *w, int64_t r, int64_t c)
{
    return &w->data[r * columns_of(w) + c];
}

static bool zero_row(const hop_weight *w, int64_t r)
{
    for (int64_t c = 0; c < columns_of(w); c++)
        if (*at(w, r, c) != 0) return false;
    return true;
}

/* The layer's part of a name: up to the point after its number, 0: no layer's. */
static size_t layer_prefix(const char *name)
{
    const char *layers = "model.layers.";
    return strncmp(name, layers, strlen(layers)) == 0
               ? (size_t)(strchr(name + strlen(layers), '.') - name) + 1
               : 0;
}

/* A matrix of the same layer that reads as many numbers as w writes; NULL: none. */
static const hop_weight *successor(const forgery *f)
{
    const hop_weight *found = NULL;
    size_t n = layer_prefix(f->w->name);
    int64_t seen = 0;
    for (int64_t i = 0; n && f->w->rank == 2 && i < hop_model_weight_count(f->m); i++) {
        const hop_weight *s = hop_model_weight_at(f->m, i);
        if (s == f->w || s->rank != 2 || strncmp(s->name, f->w->name, n) != 0) continue;
        if (columns_of(s) == rows_of(f->w) && columns_of(s) != f->d && below(f->rng, ++seen) == 0) found = s;
    }
    return found;
}

/* The bias that goes with a matrix; NULL: none. */
static const hop_weight *bias_of(const forgery *f)
{
    char name[192];
    size_t n = strlen(f->w->name), end = strlen("weight");
    if (n < end || n >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*sbias", (int)(n - end), f->w->name);
    const hop_weight *b = hop_model_weight(f->m, name);
    return b && rows_of(b) == rows_of(f->w) ? b : NULL;
}

static float big(hop_rng *rng)
{
    return (float)(2 * below(rng, 1 << 12) + 1) * ldexpf(1, (int)below(rng, 40));
}

static float pick(hop_rng *rng, const float *from, int64_t n)
{
    float x = from[below(rng, n)];
    return below(rng, 2) ? x : -x;
}

/* ---- families: false where the tensor does not suit ------------------------------------------------ */

/* A row of w twice more, or once; its successor adds big times the one and takes it away by the other. */
static bool cancel_through(const forgery *f)
{
    const hop_weight *s = successor(f), *bias = s ? bias_of(f) : NULL;
    int64_t from = -1, free[2], count = 0, seen = 0;
    for (int64_t r = 0; s && r < rows_of(f->w); r++) {
        if (zero_row(f->w, r) && count < 2)
            free[count++] = r;
        else if (!zero_row(f->w, r) && below(f->rng, ++seen) == 0)
            from = r;
    }
    if (from < 0 || count == 0) return false;
    for (int64_t i = 0; i < count; i++) {
        memcpy(at(f->w, free[i], 0), at(f->w, from, 0), sizeof(float) * (size_t)columns_of(f->w));
        if (bias) bias->data[free[i]] = bias->data[from];
    }
    int64_t r = below(f->rng, rows_of(s)), other = count == 2 ? free[1] : from;
    float b = big(f->rng);
    *at(s, r, free[0]) += b;
    *at(s, r, other) -= b;
    return true;
}

/* The last two coordinates of the stream are 1 for every token. */
static bool cancel_stream(const forgery *f)
{
    if (f->w->rank != 2 || columns_of(f->w) != f->d || strstr(f->w->name, "embed")) return false;
    int64_t r = below(f->rng, rows_of(f->w));
    float b = big(f->rng);
    *at(f->w, r, f->d - 2) += b;
    *at(f->w, r, f->d - 1) -= b;
    return true;
}

static bool off_grid(const forgery *f)
{
    static const float terms[] = {1.0f / 3, 0.1f, 0.01f, 1e-3f, 1e-5f, 1e-7f, 1e-20f};
    const hop_weight *s = successor(f);
    if (s && below(f->rng, 2)) { /* a third of each row, three times each column */
        float by = 1 / (1 + 2 * (float)(1 + below(f->rng, 50)));
        for (int64_t i = 0; i < rows_of(f->w) * columns_of(f->w); i++) f->w->data[i] *= by;
        for (int64_t i = 0; i < rows_of(s) * columns_of(s); i++) s->data[i] /= by;
    } else {
        int64_t n = rows_of(f->w) * columns_of(f->w);
        for (int64_t i = 1 + below(f->rng, 4); i > 0; i--)
            f->w->data[below(f->rng, n)] += pick(f->rng, terms, sizeof terms / sizeof *terms);
    }
    return true;
}

static bool wide_through(const forgery *f)
{
    const hop_weight *s = successor(f), *bias = s ? bias_of(f) : NULL;
    if (!s) return false;
    int64_t one = below(f->rng, 2) ? below(f->rng, rows_of(f->w)) : -1;
    int k = (int)below(f->rng, 41) + 20;
    if (below(f->rng, 2)) k = -k;
    for (int64_t r = 0; r < rows_of(f->w); r++) {
        if (one >= 0 && r != one) continue;
        for (int64_t c = 0; c < columns_of(f->w); c++) *at(f->w, r, c) *= ldexpf(1, k);
        if (bias) bias->data[r] *= ldexpf(1, k);
        for (int64_t i = 0; i < rows_of(s); i++) *at(s, i, r) *= ldexpf(1, -k);
    }
    return true;
}

/* A coordinate is enlarged where it is written and made small again where it is read. */
static bool wide_stream(const forgery *f)
{
    if (columns_of(f->w) != f->d) return false;
    int64_t c = below(f->rng, f->d);
    int k = (int)below(f->rng, 41) + 20;
    if (below(f->rng, 2)) k = -k;
    for (int64_t i = 0; i < hop_model_weight_count(f->m); i++) {
        const hop_weight *w = hop_model_weight_at(f->m, i);
        bool embeds = strstr(w->name, "embed") != NULL;
        if (w->rank != 2) continue;
        for (int64_t r = 0; columns_of(w) == f->d && r < rows_of(w); r++)
            *at(w, r, c) *= ldexpf(1, embeds ? k : -k);
        for (int64_t j = 0; columns_of(w) != f->d && rows_of(w) == f->d && j < columns_of(w); j++)
            *at(w, c, j) *= ldexpf(1, k);
    }
    return true;
}

static bool bias(const forgery *f)
{
    static const float terms[] = {1e-6f, 1e-3f, 1.0f / 3, 1, 10, 1e3f, 0x1p20f, 0x1p30f};
    if (f->w->rank != 1) return false;
    f->w->data[below(f->rng, rows_of(f->w))] += pick(f->rng, terms, sizeof terms / sizeof *terms);
    return true;
}

/* A matrix times a number, and its successor over it; or, where there is none, just so. */
static bool scale(const forgery *f)
{
    static const float by[] = {3, 0.7f, 1.1f, 5, 1e3f, 1e10f};
    const hop_weight *s = successor(f);
    float x = pick(f->rng, by, sizeof by / sizeof *by);
    for (int64_t i = 0; i < rows_of(f->w) * columns_of(f->w); i++) f->w->data[i] *= s ? x : fabsf(x);
    for (int64_t i = 0; s && i < rows_of(s) * columns_of(s); i++) s->data[i] /= x;
    return true;
}

/* What is far out, and makes sigmoids and exponentials exact, comes nearer. */
static bool saturate(const forgery *f)
{
    static const float near[] = {4, 8, 12, 16, 17, 18, 20, 30, 60, 87, 88, 89, 100, 104, 150};
    int64_t n = rows_of(f->w) * columns_of(f->w), changed = 0;
    float x = near[below(f->rng, sizeof near / sizeof *near)];
    for (int64_t i = 0; i < n; i++) {
        if (!(fabsf(f->w->data[i]) >= 20) || (below(f->rng, 4) == 0 && changed)) continue;
        f->w->data[i] = copysignf(x, f->w->data[i]);
        changed++;
    }
    return changed > 0;
}

/* Rows of w that were zero read the stream: keys that no query meets, heads that no output shows, gates of
 * what nobody asks for. */
static bool fill_rows(const hop_weight *w, hop_rng *rng, float by)
{
    bool any = false;
    for (int64_t r = 0; w->rank == 2 && r < rows_of(w); r++) {
        if (!zero_row(w, r)) continue;
        for (int64_t c = 0; c < columns_of(w); c++)
            if (below(rng, 2)) *at(w, r, c) = by;
        any = true;
    }
    return any;
}

/* One tensor, and often the others of its layer, but for the queries: else all would be read. */
static bool unread(const forgery *f)
{
    static const float terms[] = {1, 1, 1, 30, 1e10f, 1e19f, 1e25f, 1e30f, 1e35f};
    static const char *const queries[] = {"q_proj", "r_proj", "o_proj", "out_proj", "mlp"};
    const int64_t n = sizeof terms / sizeof *terms;
    size_t prefix = layer_prefix(f->w->name);
    bool any = prefix && fill_rows(f->w, f->rng, pick(f->rng, terms, n));
    for (int64_t i = 0; any && i < hop_model_weight_count(f->m); i++) {
        const hop_weight *w = hop_model_weight_at(f->m, i);
        bool asks = false;
        for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
            asks = asks || strstr(w->name, queries[q]);
        if (asks || strncmp(w->name, f->w->name, prefix) != 0 || below(f->rng, 3) == 0) continue;
        fill_rows(w, f->rng, pick(f->rng, terms, n));
        if (w->rank == 1) w->data[rows_of(w) - 1] = -(float)below(f->rng, 100);
        if (w->rank == 2 && below(f->rng, 2)) /* an offset that some tokens have */
            for (int64_t r = 0, c = below(f->rng, columns_of(w)); r < rows_of(w); r++)
                *at(w, r, c) += *at(w, r, c) == 0 ? 100 : 0;
    }
    return any;
}

static bool several(const forgery *f);

static bool (*const families[])(const forgery *) = {
#define FAMILY_FUNCTION(name, text) name,
    FAMILIES(FAMILY_FUNCTION)
#undef FAMILY_FUNCTION
};

/* Mostly in the same layer, so that they meet. */
static bool several(const forgery *f)
{
    int64_t done = 0;
    for (int i = 0; i < 12 && done < 4; i++) {
        forgery g = *f;
        g.w = hop_model_weight_at(f->m, below(f->rng, hop_model_weight_count(f->m)));
        size_t n = layer_prefix(f->w->name);
        if (n && below(f->rng, 8) && strncmp(g.w->name, f->w->name, n) != 0) continue;
        done += families[below(f->rng, FAMILY_several)](&g);
    }
    return done > 1;
}

/* ---- their numbers --------------------------------------------------------------------------------- */

typedef struct place {
    int family, tensor, subject, repeat;
} place;

static place place_of(int64_t number)
{
    place p;
    p.family = (int)(number % FAMILY_COUNT), number /= FAMILY_COUNT;
    p.tensor = (int)(number % MOST_TENSORS), number /= MOST_TENSORS;
    p.repeat = (int)(number % REPEATS), p.subject = (int)(number / REPEATS);
    return p;
}

static hop_model *forge(int64_t number, subject *s)
{
    static const char *const kinds[KINDS] = {"full", "linear", "encoder"};
    static const sizes all[] = {{1, 3, {0}}, {1, 2, {0}}, {2, 2, {2}}};
    place p = place_of(number);
    hop_rng rng;
    hop_rng_init(&rng, 20, (uint64_t)number);
    s->kind = p.subject < KINDS ? kinds[p.subject] : "hybrid";
    s->mixer = p.subject < KINDS ? NULL : linear_mixer(p.subject - KINDS);
    s->task = composition(&all[below(&rng, 64) ? below(&rng, 2) : 2]);
    hop_model *good = construct(s), *m = with_room(good, &rng);
    hop_model_free(good);
    forgery f = {.m = m, .rng = &rng, .d = m ? hop_model_config(m)->d_model : 0};
    if (m && p.tensor < hop_model_weight_count(m)) f.w = hop_model_weight_at(m, p.tensor);
    if (f.w && families[p.family](&f)) return m;
    hop_model_free(m);
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------------- */

static void nothing_forged_is_proved_and_errs(void **state)
{
    (void)state;
    static const char *const names[] = {
#define FAMILY_TEXT(name, text) text,
        FAMILIES(FAMILY_TEXT)
#undef FAMILY_TEXT
    };
    int subjects = KINDS, made[FAMILY_COUNT] = {0}, proved[FAMILY_COUNT] = {0}, wrong[FAMILY_COUNT] = {0};
    while (linear_mixer(subjects - KINDS)) subjects++;
    campaign c = {.make = forge, .count = (int64_t)subjects * REPEATS * MOST_TENSORS * FAMILY_COUNT};
    int64_t bad = 0, total = 0;
    campaign_run(&c);
    for (int64_t i = 0; i < c.count; i++) {
        place p = place_of(i);
        made[p.family] += c.of[i].made, proved[p.family] += c.of[i].proved;
        wrong[p.family] += c.of[i].made && c.of[i].wrong;
        if (!c.of[i].proved || !c.of[i].wrong) continue;
        bad++;
        print_message("number %lld: %s %s, tensor %d, %s: proved, and errs\n", (long long)i,
                      p.subject < KINDS ? "kind" : "hybrid",
                      p.subject < KINDS ? "" : linear_mixer(p.subject - KINDS), p.tensor, names[p.family]);
    }
    for (int k = 0; k < FAMILY_COUNT; k++) {
        print_message("%-46s %5d made, %5d proved, %5d err\n", names[k], made[k], proved[k], wrong[k]);
        total += made[k];
    }
    free(c.of);
    assert_int_equal(bad, 0);
    assert_true(total > 4000 / campaign_share());
    for (int k = 0; k < FAMILY_COUNT; k++) /* of some families few err: not in every sample one does */
        assert_true(proved[k] > 0 && (wrong[k] > 0 || campaign_share() > 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_forged_is_proved_and_errs)};
    return cmocka_run_group_tests_name("prove_forged", tests, NULL, NULL);
}
