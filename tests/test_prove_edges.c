/* Networks whose states hold tables, changed, and then driven to the edge of what is proved: a part of the
 * weights moves in some direction until the proof fails, and the last network that is still proved is run on
 * every input, in every form, with every kernel table. A proof that forgets a part of what may go wrong goes
 * on for too long. */
#include "against_truth.h"

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4000 };

/* ---- what they start from -------------------------------------------------------------------------- */

static hop_model *tables(hop_rng *rng, subject *s)
{
    static const char *const patterns[] = {"mamba2^2",    "mamba2^2", "mamba2^3",      "mamba2 full",
                                           "full mamba2", "gdn^2",    "kda^2",         "mamba2 gdn",
                                           "gdn mamba2",  "mamba2^3", "lightning full"};
    static const sizes all[] = {{1, 2, {0}}, {1, 3, {0}}, {2, 2, {2}}};
    hop_config c;
    hop_model *m = NULL;
    *s = (subject){.kind = "hybrid", .task = composition(&all[below(rng, 3)])};
    int64_t arithmetic = below(rng, 8);
    if (arithmetic == 0) s->bits = 16 + (int)below(rng, 8);
    if (arithmetic == 1 || arithmetic == 2) s->message = 10 + (int)below(rng, 12);
    hop_config_init(&c);
    if (hop_pattern_parse(&c.pattern, patterns[below(rng, 11)], "gdn", NULL) != HOP_OK) return NULL;
    int64_t keys = 1 + below(rng, 3), share = 1 + below(rng, 2), parts[] = {1, keys, keys * share};
    c.kv_heads = keys, c.heads = keys * share, c.head_dim = 4 + below(rng, 3);
    const struct {
        const char *mixer, *name;
        int64_t value;
    } own[] = {{"mamba2", "groups", keys},
               {"mamba2", "state_dim", 1 + below(rng, 6)},
               {"mamba2", "norm_groups", parts[below(rng, 3)]},
               {"mamba2", "conv", 1 + below(rng, 4)},
               {"mamba2", "gate", below(rng, 4) > 0},
               {"gdn", "gate", below(rng, 2)},
               {"gdn", "norm", below(rng, 3) > 0},
               {"kda", "norm", below(rng, 3) > 0}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (hop_config_set(&c, -1, own[i].mixer, own[i].name, (double)own[i].value, NULL) != HOP_OK)
            return NULL;
    c.norm = below(rng, 2) ? HOP_NORM_RMS : HOP_NORM_NONE, c.mlp = HOP_MLP_NONE;
    if (hop_construct(&m, "hybrid", &s->task, &(hop_construct_options){.shape = &c}, NULL) != HOP_OK)
        m = NULL;
    hop_config_free(&c);
    return m;
}

/* ---- changes ---------------------------------------------------------------------------------------- */

static const char *const parts_of_layers[] = {
    "mixer.in_proj.weight", "mixer.in_proj.weight",  "mixer.conv1d.weight",   "mixer.conv1d.bias",
    "mixer.dt_bias",        "mixer.A_log",           "mixer.A_log",           "mixer.D",
    "mixer.norm.weight",    "mixer.out_proj.weight", "mixer.q_proj.weight",   "mixer.k_proj.weight",
    "mixer.v_proj.weight",  "mixer.o_proj.weight",   "mixer.b_proj.weight",   "mixer.a_proj.weight",
    "mixer.g_proj.weight",  "mixer.o_norm.weight",   "mixer.q_conv1d.weight", "mixer.k_conv1d.weight",
};

static const hop_weight *any_part(const hop_model *m, hop_rng *rng)
{
    int64_t count = (int64_t)(sizeof parts_of_layers / sizeof *parts_of_layers);
    for (int i = 0; i < 50; i++) {
        const hop_weight *w = hop_model_layer_weight(m, below(rng, hop_model_config(m)->pattern.layers),
                                                     parts_of_layers[below(rng, count)]);
        if (w) return w;
    }
    return hop_model_weight_at(m, below(rng, hop_model_weight_count(m)));
}

static bool is_called(const hop_weight *w, const char *end)
{
    size_t n = strlen(w->name), k = strlen(end);
    return n >= k && strcmp(w->name + n - k, end) == 0;
}

static float drawn(hop_rng *rng, double lo, double hi)
{
    return (float)(lo + (hi - lo) * hop_rng_uniform(rng));
}

/* Rows of heads, or of the parts that in_proj makes, are put where others were, or beside them. */
static void copy_rows(const hop_weight *w, hop_rng *rng, int64_t n, bool add)
{
    int64_t cols = columns_of(w), from = below(rng, rows_of(w)), to = below(rng, rows_of(w));
    for (int64_t i = 0; i < n && from + i < rows_of(w) && to + i < rows_of(w); i++)
        for (int64_t c = 0; c < cols; c++) {
            float *y = &w->data[(to + i) * cols + c];
            *y = (add ? *y : 0) + w->data[(from + i) * cols + c];
        }
}

static void copy_columns(const hop_weight *w, hop_rng *rng, int64_t n, float by)
{
    int64_t cols = columns_of(w), from = below(rng, cols), to = below(rng, cols);
    for (int64_t i = 0; i < n && from + i < cols && to + i < cols; i++)
        for (int64_t r = 0; r < rows_of(w); r++)
            w->data[r * cols + to + i] = by * w->data[r * cols + from + i];
}

/* Heads of a Mamba-2 layer that forget, so that what is read depends on where it stands; some of them read so
 * little that the norm's eps counts. */
static void forget(const hop_model *m, hop_rng *rng)
{
    int64_t layer = below(rng, hop_model_config(m)->pattern.layers);
    const hop_weight *rate = hop_model_layer_weight(m, layer, "mixer.A_log"),
                     *step = hop_model_layer_weight(m, layer, "mixer.dt_bias");
    for (int64_t h = 0; rate && step && rows_of(rate) == rows_of(step) && h < rows_of(rate); h++) {
        if (below(rng, 3) == 0) continue;
        step->data[h] = drawn(rng, -22, 3);
        rate->data[h] = drawn(rng, -4, 0) - (float)log(log1p(exp(step->data[h])));
    }
}

/* One of its heads does what another does, which may share a part of the norm with it. */
static void double_head(const hop_model *m, hop_rng *rng)
{
    int64_t layer = below(rng, hop_model_config(m)->pattern.layers);
    const hop_weight *in = hop_model_layer_weight(m, layer, "mixer.in_proj.weight");
    hop_mixer_config c = hop_model_mixer_config(m, layer);
    int64_t from = below(rng, c.heads) * c.head_dim, to = below(rng, c.heads) * c.head_dim,
            parts = in && c.option[HOP_OPTION_gate] > 0 ? 2 : 1, cols = in ? columns_of(in) : 0;
    for (int64_t p = 0; in && p < parts; p++)
        for (int64_t i = p * c.heads * c.head_dim, n = 0; n < c.head_dim && from != to; n++)
            memcpy(in->data + (i + to + n) * cols, in->data + (i + from + n) * cols,
                   sizeof(float) * (size_t)cols);
}

static void harm(const hop_model *m, hop_rng *rng)
{
    int64_t kind = below(rng, 6);
    if (kind == 0) forget(m, rng);
    if (kind == 1) double_head(m, rng);
    if (kind <= 1) return;
    const hop_weight *w = any_part(m, rng);
    int64_t n = rows_of(w) * columns_of(w), cols = columns_of(w), row = below(rng, rows_of(w)),
            dim = hop_model_config(m)->head_dim;
    float *x = &w->data[below(rng, n)], power = ldexpf(1, (int)below(rng, 21) - 10);
    if (is_called(w, "A_log")) {
        float a = drawn(rng, -7, 1);
        for (int64_t i = 0; i < n; i++) w->data[i] = below(rng, 3) ? a : w->data[i];
    } else if (is_called(w, "dt_bias") || is_called(w, "D") || is_called(w, "conv1d.bias")) {
        *x = below(rng, 2) ? drawn(rng, -4, 4) : ldexpf(below(rng, 2) ? 1 : -1, (int)below(rng, 41) - 30);
    } else {
        switch (below(rng, 12)) {
        case 0: copy_rows(w, rng, 1 + below(rng, 2 * dim), false); break;
        case 1: copy_rows(w, rng, 1 + below(rng, 2 * dim), true); break;
        case 2: copy_columns(w, rng, 1 + below(rng, 2 * dim), below(rng, 2) ? 1 : -1); break;
        case 3:
            for (int64_t i = 0; i < n; i++) w->data[i] *= power;
            break;
        case 4:
        case 5:
            for (int64_t c = 0; c < cols; c++) w->data[row * cols + c] *= power;
            break;
        case 6:
            for (int64_t c = 0; c < cols; c++) w->data[row * cols + c] *= -1;
            break;
        case 7:
            for (int64_t c = 0; c < cols; c++) w->data[row * cols + c] = 0;
            break;
        case 8:
            for (int64_t i = 0; i < n; i++) w->data[i] += ldexpf((float)hop_rng_normal(rng), -8);
            break;
        case 9: w->data[below(rng, n)] += drawn(rng, -1, 1); break;
        default: change(m, rng);
        }
    }
}

/* ---- the edge ---------------------------------------------------------------------------------------- */

/* A direction: some weights of a tensor, by so much each; or all of them, in proportion. */
typedef struct way {
    const hop_weight *w;
    float *old, *by;
    int64_t n;
} way;

static way draw_way(const hop_model *m, hop_rng *rng)
{
    const hop_weight *places = hop_model_weight(m, "model.embed_positions.weight"),
                     *w = below(rng, 6) ? any_part(m, rng)
                                        : hop_model_weight_at(m, below(rng, hop_model_weight_count(m)));
    bool last = places && below(rng, 4) == 0; /* what the last token holds from the beginning */
    if (last) w = places;
    way d = {.w = w, .n = rows_of(w) * columns_of(w)};
    int64_t cols = columns_of(w), row = last ? rows_of(w) - 1 : below(rng, rows_of(w)),
            how = last ? 3 + below(rng, 2) : below(rng, 6),
            only = last ? row * cols + below(rng, cols) : below(rng, d.n);
    float sign = below(rng, 2) ? 1 : -1;
    d.old = malloc(sizeof *d.old * (size_t)d.n), d.by = calloc((size_t)d.n, sizeof *d.by);
    if (!d.old || !d.by) abort();
    memcpy(d.old, w->data, sizeof *d.old * (size_t)d.n);
    for (int64_t i = 0; i < d.n; i++) {
        bool in_row = i / cols == row, in_column = i % cols == row % cols;
        switch (how) {
        case 0: d.by[i] = sign * d.old[i]; break;
        case 1: d.by[i] = in_row ? sign * d.old[i] : 0; break;
        case 2: d.by[i] = in_column ? sign * d.old[i] : 0; break;
        case 3: d.by[i] = in_row ? (float)hop_rng_normal(rng) : 0; break;
        case 4: d.by[i] = i == only ? sign : 0; break;
        default: d.by[i] = (float)hop_rng_normal(rng); break;
        }
    }
    return d;
}

static void go(const way *d, double t)
{
    for (int64_t i = 0; i < d->n; i++) d->w->data[i] = (float)(d->old[i] + t * d->by[i]);
}

static bool proved(const hop_model *m, const subject *s)
{
    hop_proof p;
    const hop_progress progress = {.tick = go_on};
    const hop_prove_options how = {
        .method = HOP_PROVE_INTERVAL, .bits = s->bits, .message_bits = s->message, .progress = &progress};
    if (hop_prove(&p, m, &s->task, &how, NULL) != HOP_OK) return false;
    bool yes = p.verdict == HOP_PROVED;
    hop_proof_free(&p);
    return yes;
}

/* How far it is proved; -1: not at all. */
static double edge_of(const hop_model *m, const subject *s, const way *d)
{
    double good = 0, bad = 0x1p-16;
    go(d, 0);
    if (!proved(m, s)) return -1;
    for (; bad < 0x1p16; good = bad, bad *= 4) {
        go(d, bad);
        if (!proved(m, s)) break;
    }
    for (int i = 0; i < 8; i++) {
        double half = good > 0 ? sqrt(good * bad) : bad / 16;
        go(d, half);
        *(proved(m, s) ? &good : &bad) = half;
    }
    return good;
}

/* Found once, with the first kernel table: which way, and how far. */
typedef struct edge {
    bool found, proved;
    int way;
    double far;
} edge;

static edge edges[COUNT];

#define FAR_OFF 0x1p15 /* no edge: nothing depends on such weights */

static void drop_way(way *d)
{
    free(d->old), free(d->by);
}

/* Ways are drawn until one has an edge. */
static edge find_edge(const hop_model *m, const subject *s, hop_rng rng)
{
    edge e = {.found = true, .far = FAR_OFF};
    for (int i = 0; i < 6 && e.far >= FAR_OFF; i++) {
        way d = draw_way(m, &rng);
        e.way = i, e.far = edge_of(m, s, &d), e.proved = e.far >= 0;
        go(&d, 0);
        drop_way(&d);
    }
    return e;
}

static hop_model *at_the_edge(int64_t number, subject *s)
{
    hop_rng rng;
    edge *e = &edges[number];
    hop_rng_init(&rng, 20261118, (uint64_t)number);
    hop_model *m = tables(&rng, s);
    for (int64_t i = below(&rng, 5); m && i > 0; i--) harm(m, &rng);
    if (!m) return NULL;
    if (!e->found) *e = find_edge(m, s, rng);
    for (int i = 0; i <= e->way; i++) {
        way d = draw_way(m, &rng);
        if (i == e->way && e->proved) go(&d, e->far);
        drop_way(&d);
    }
    return m;
}

static void what_is_proved_at_the_edge_is_right(void **state)
{
    campaign c = {.make = at_the_edge, .count = COUNT};
    int64_t made = 0, proved_ones = 0, moved = 0, wrong = 0;
    (void)state;
    campaign_run(&c);
    for (int64_t i = 0; i < c.count; i++) {
        made += c.of[i].made, proved_ones += c.of[i].proved, wrong += c.of[i].wrong;
        moved += c.of[i].proved && edges[i].far > 0 && edges[i].far < FAR_OFF;
        if (c.of[i].proved && c.of[i].wrong) fail_msg("network %lld is proved, and errs", (long long)i);
    }
    free(c.of);
    print_message("%lld networks, %lld proved, %lld of them at an edge; %lld err\n", (long long)made,
                  (long long)proved_ones, (long long)moved, (long long)wrong);
    assert_true(moved > made / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_proved_at_the_edge_is_right),
    };
    return cmocka_run_group_tests_name("prove_edges", tests, NULL, NULL);
}
