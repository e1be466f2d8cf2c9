/* Gradients of whole networks: tables, norms, MLPs, read-out, against central differences of the network in
 * double precision; and what hop_grad promises of bits, rows and refusals. */
#include "list_truth.h"

#include <hopbound/grad.h>

/* As the mixers' law (test_grads.c), through up to three blocks. Measured: below 2e-5. */
#define TOLERANCE 2e-4

enum { V = 11, D = 8, SEQUENCES = 2, COUNT = 9, ROWS = SEQUENCES * COUNT, HIDDEN = 7, LAYERS_MOST = 4 };

static hop_model *network(const char *pattern, hop_norm norm, hop_mlp mlp, bool tied)
{
    hop_config c;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "", NULL), HOP_OK);
    c.vocab = V, c.d_model = D, c.heads = 2, c.kv_heads = 1, c.max_positions = 12, c.mlp_hidden = HIDDEN;
    c.position_table = !tied, c.norm = norm, c.mlp = mlp, c.tied = tied;
    hop_model *m;
    hop_error err = {0};
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_config_free(&c);
    hop_model_init_weights(m, 42, NULL);
    hop_rng rng;
    hop_rng_init(&rng, 4, 0);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        for (int64_t k = 0; k < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); k++)
            w->data[k] += (float)(0.3 * hop_rng_normal(&rng));
    }
    return m;
}

static void fill_tokens(int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)((i * i + 3 * i) % V);
}

/* ---- the network in doubles -------------------------------------------------------------------- */

typedef struct net {
    const hop_model *m;
    const hop_config *c;
    double *block;
    double stream[LAYERS_MOST + 1][COUNT * D]; /* of one sequence */
    double logits[COUNT * V];
} net;

static const double *slot(const net *n, int64_t layer, const char *part)
{
    const hop_layout *l = hop_model_layout(n->m);
    const hop_slot *s = layer < 0 ? hop_layout_find(l, part) : hop_layout_layer_find(l, layer, part);
    return s ? n->block + s->offset : NULL;
}

static void normed(const net *n, double *y, const double *x, const double *w, const double *b)
{
    for (int64_t t = 0; t < COUNT; t++, x += D, y += D) {
        double mean = 0, var = 0;
        for (int e = 0; n->c->norm == HOP_NORM_LAYER && e < D; e++) mean += x[e] / D;
        for (int e = 0; e < D; e++) var += (x[e] - mean) * (x[e] - mean) / D;
        for (int e = 0; e < D; e++)
            y[e] = n->c->norm == HOP_NORM_NONE
                       ? x[e]
                       : (x[e] - mean) / sqrt(var + n->c->norm_eps) * w[e] + (b ? b[e] : 0);
    }
}

static void times(double *y, const double *x, const double *w, const double *b, int64_t out, int64_t in)
{
    for (int64_t t = 0; t < COUNT; t++)
        for (int64_t o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int64_t i = 0; i < in; i++) sum += x[t * in + i] * w[o * in + i];
            y[t * out + o] = sum;
        }
}

static void mix(const net *n, int64_t layer, double *y, const double *x)
{
    const hop_layout *l = hop_model_layout(n->m);
    hop_mixer_config c = hop_model_mixer_config(n->m, layer);
    char name[HOP_MIXER_NAME_SIZE];
    snprintf(name, sizeof name, "%s", hop_pattern_mixer(&n->c->pattern, layer));
    const hop_mixer_ops *ops = hop_mixer_find(name);
    hop_list list;
    hop_param p[HOP_MIXER_MAX_PARAMS];
    truth t;
    hop_mixer_list(&list, ops, &c);
    truth_new(&t, &list, &c, COUNT);
    for (int i = 0, count = ops->params(&c, p); i < count; i++) {
        char part[96];
        snprintf(part, sizeof part, "mixer.%s", p[i].name);
        t.w[i] = n->block + hop_layout_layer_find(l, layer, part)->offset;
    }
    memcpy(t.b[HOP_X], x, sizeof(double) * COUNT * D);
    truth_run(&t);
    memcpy(y, t.b[HOP_Y], sizeof(double) * COUNT * D);
    truth_free(&t);
}

static void mlp(const net *n, int64_t i, double *x)
{
    double in[COUNT * D], up[COUNT * HIDDEN], gate[COUNT * HIDDEN], out[COUNT * D];
    if (n->c->mlp == HOP_MLP_NONE) return;
    normed(n, in, x, slot(n, i, "post_mixer_layernorm.weight"), slot(n, i, "post_mixer_layernorm.bias"));
    times(up, in, slot(n, i, "mlp.up_proj.weight"), slot(n, i, "mlp.up_proj.bias"), HIDDEN, D);
    if (n->c->mlp == HOP_MLP_SWIGLU) times(gate, in, slot(n, i, "mlp.gate_proj.weight"), NULL, HIDDEN, D);
    for (int k = 0; k < COUNT * HIDDEN; k++)
        up[k] = n->c->mlp == HOP_MLP_RELU   ? t_act(HOP_ACT_RELU, up[k])
                : n->c->mlp == HOP_MLP_GELU ? t_act(HOP_ACT_GELU, up[k])
                                            : t_act(HOP_ACT_SILU, gate[k]) * up[k];
    times(out, up, slot(n, i, "mlp.down_proj.weight"), slot(n, i, "mlp.down_proj.bias"), D, HIDDEN);
    for (int k = 0; k < COUNT * D; k++) x[k] += out[k];
}

static void net_run(net *n, const int32_t *tokens)
{
    const double *table = slot(n, -1, "model.embed_tokens.weight"),
                 *positions = slot(n, -1, "model.embed_positions.weight"),
                 *head = slot(n, -1, "lm_head.weight");
    double in[COUNT * D], y[COUNT * D];
    for (int k = 0; k < COUNT * D; k++)
        n->stream[0][k] = table[tokens[k / D] * D + k % D] + (positions ? positions[k] : 0);
    for (int64_t i = 0; i < n->c->pattern.layers; i++) {
        double *x = n->stream[i + 1];
        normed(n, in, n->stream[i], slot(n, i, "input_layernorm.weight"), slot(n, i, "input_layernorm.bias"));
        mix(n, i, y, in);
        for (int k = 0; k < COUNT * D; k++) x[k] = n->stream[i][k] + y[k];
        mlp(n, i, x);
    }
    normed(n, in, n->stream[n->c->pattern.layers], slot(n, -1, "model.norm.weight"),
           slot(n, -1, "model.norm.bias"));
    times(n->logits, in, head ? head : table, NULL, V, D);
}

/* ---- the loss ---------------------------------------------------------------------------------- */

/* Random weights of logits of some rows, and of all streams. */
typedef struct wish {
    int64_t row[ROWS], rows;
    float dlogits[ROWS * V], dstream[LAYERS_MOST + 1][ROWS * D];
} wish;

static void wish_init(wish *w, int64_t from, bool streams)
{
    hop_rng rng;
    hop_rng_init(&rng, 9, 0);
    memset(w, 0, sizeof *w);
    for (int64_t r = 0; r < ROWS; r++)
        if (r % COUNT >= from) w->row[w->rows++] = r;
    for (int i = 0; i < ROWS * V; i++) w->dlogits[i] = (float)hop_rng_normal(&rng);
    for (int l = 0; streams && l <= LAYERS_MOST; l++)
        for (int i = 0; i < ROWS * D; i++)
            w->dstream[l][i] = i / D % COUNT >= from ? (float)hop_rng_normal(&rng) : 0.0f;
}

static double loss(net *n, const wish *w, const int32_t *tokens)
{
    double sum = 0;
    for (int s = 0; s < SEQUENCES; s++) {
        net_run(n, tokens + s * COUNT);
        for (int64_t i = 0; i < w->rows; i++)
            for (int v = 0; w->row[i] / COUNT == s && v < V; v++)
                sum += w->dlogits[i * V + v] * n->logits[w->row[i] % COUNT * V + v];
        for (int64_t l = 0; l <= n->c->pattern.layers; l++)
            for (int k = 0; k < COUNT * D; k++) sum += w->dstream[l][s * COUNT * D + k] * n->stream[l][k];
    }
    return sum;
}

static void both_ways(hop_grad *g, const wish *w, const int32_t *tokens, int64_t layers, float *dblock)
{
    float logits[ROWS * V];
    assert_int_equal(hop_grad_forward(g, tokens, SEQUENCES, COUNT, NULL), HOP_OK);
    hop_grad_logits(g, w->row, w->rows, logits);
    for (int64_t l = 0; l <= layers; l++)
        for (int i = 0; i < ROWS * D; i++) hop_grad_dstream(g, l)[i] += w->dstream[l][i];
    hop_grad_dlogits(g, w->row, w->rows, w->dlogits, dblock);
    hop_grad_backward(g, dblock);
}

/* Slopes along random ways through each tensor, and along some of its elements. */
static void check_slopes(hop_model *m, net *n, const wish *w, const int32_t *tokens, const float *dblock,
                         const char *what)
{
    const hop_layout *l = hop_model_layout(m);
    hop_rng rng;
    hop_rng_init(&rng, 21, 0);
    for (int64_t i = 0; i < hop_layout_count(l); i++) {
        const hop_slot *s = hop_layout_at(l, i);
        const int64_t size = hop_slot_floats(s);
        double most = 0.1;
        for (int64_t k = 0; k < size; k++) most = fmax(most, fabs(dblock[s->offset + k]));
        for (int p = 0; p < 3; p++) {
            double *way = calloc((size_t)size, sizeof(double)), length = 0, found = 0, up, h = 1e-5;
            const float *from = hop_model_block(m) + s->offset;
            double *at = n->block + s->offset;
            if (p == 0)
                for (int64_t k = 0; k < size; k++) way[k] = hop_rng_normal(&rng);
            else
                way[(int64_t)(hop_rng_uniform(&rng) * (double)size)] = 1;
            for (int64_t k = 0; k < size; k++)
                length += way[k] * way[k], found += way[k] * dblock[s->offset + k];
            for (int64_t k = 0; k < size; k++) at[k] = from[k] + h * way[k];
            up = loss(n, w, tokens);
            for (int64_t k = 0; k < size; k++) at[k] = from[k] - h * way[k];
            double slope = (up - loss(n, w, tokens)) / (2 * h);
            for (int64_t k = 0; k < size; k++) at[k] = from[k];
            free(way);
            if (!(fabs(found - slope) <= TOLERANCE * most * sqrt(length)))
                fail_msg("%s: %s: %.9g, by differences %.9g (largest %.3g)", what, s->name, found, slope,
                         most);
        }
    }
}

static void check_network(const char *pattern, hop_norm norm, hop_mlp kind, bool tied, int64_t from)
{
    hop_model *m = network(pattern, norm, kind, tied);
    const int64_t floats = hop_layout_floats(hop_model_layout(m)),
                  layers = hop_model_config(m)->pattern.layers;
    static net n;
    static wish w;
    int32_t tokens[ROWS];
    char what[96];
    snprintf(what, sizeof what, "%s, norm %d, mlp %d, tied %d, from %d", pattern, norm, kind, tied,
             (int)from);
    n = (net){.m = m, .c = hop_model_config(m), .block = calloc((size_t)floats, sizeof(double))};
    for (int64_t i = 0; i < floats; i++) n.block[i] = hop_model_block(m)[i];
    fill_tokens(tokens, ROWS);
    wish_init(&w, from, from == 0);
    hop_grad *g;
    assert_int_equal(hop_grad_new(&g, m, SEQUENCES, COUNT, NULL), HOP_OK);
    float *dblock = hop_alloc(sizeof(float) * (size_t)floats);
    both_ways(g, &w, tokens, layers, dblock);
    check_slopes(m, &n, &w, tokens, dblock, what);
    /* The same when the last layer is told which rows are read. */
    hop_grad_last_from(g, from);
    float *again = hop_alloc(sizeof(float) * (size_t)floats);
    both_ways(g, &w, tokens, layers, again);
    for (int64_t i = 0; i < floats; i++)
        if (!(fabs((double)again[i] - dblock[i]) <= 1e-4 * (1 + fabs(dblock[i]))))
            fail_msg("%s: hint: %lld: %.9g, not %.9g", what, (long long)i, again[i], dblock[i]);
    hop_free(again);
    hop_free(dblock);
    hop_grad_free(g);
    free(n.block);
    hop_model_free(m);
}

static void gradients_of_networks_are_those_of_central_differences(void **state)
{
    (void)state;
    for (int norm = 0; norm < 3; norm++)
        for (int kind = 0; kind < 4; kind++)
            check_network("full gdn full", (hop_norm)norm, (hop_mlp)kind, kind % 2, 0);
    check_network("mamba2 full", HOP_NORM_LAYER, HOP_MLP_RELU, true, 0);
    check_network("rwkv7 window rglru", HOP_NORM_RMS, HOP_MLP_SWIGLU, false, 0);
}

static void gradients_at_the_last_tokens_are_those_of_central_differences(void **state)
{
    (void)state;
    check_network("full^2", HOP_NORM_LAYER, HOP_MLP_GELU, false, COUNT - 1);
    check_network("gdn full", HOP_NORM_RMS, HOP_MLP_SWIGLU, true, COUNT - 3);
    check_network("full mamba", HOP_NORM_NONE, HOP_MLP_RELU, false, COUNT - 2);
    check_network("full mlstm", HOP_NORM_LAYER, HOP_MLP_NONE, false, COUNT - 1);
}

/* ---- what else it promises --------------------------------------------------------------------- */

static void its_streams_have_the_bits_of_a_plain_pass(void **state)
{
    (void)state;
    const char *const patterns[] = {"full^3", "gdn full", "mamba rwkv6 based"};
    for (int p = 0; p < 3; p++) {
        hop_model *m = network(patterns[p], HOP_NORM_LAYER, HOP_MLP_SWIGLU, false);
        int32_t tokens[ROWS];
        float hidden[COUNT * D], all[COUNT * V], logits[ROWS * V];
        int64_t row[ROWS];
        hop_forward *f;
        hop_grad *g;
        fill_tokens(tokens, ROWS);
        for (int64_t i = 0; i < ROWS; i++) row[i] = i;
        assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
        assert_int_equal(hop_grad_new(&g, m, SEQUENCES, COUNT + 2, NULL), HOP_OK);
        assert_int_equal(hop_grad_forward(g, tokens, SEQUENCES, COUNT, NULL), HOP_OK);
        hop_grad_logits(g, row, ROWS, logits);
        for (int s = 0; s < SEQUENCES; s++) {
            assert_int_equal(hop_forward_hidden(f, tokens + s * COUNT, COUNT, hidden, NULL), HOP_OK);
            assert_int_equal(hop_forward_all(f, tokens + s * COUNT, COUNT, all, NULL), HOP_OK);
            const float *mine = hop_grad_stream(g, hop_model_config(m)->pattern.layers) + s * COUNT * D;
            assert_memory_equal(hidden, mine, sizeof hidden);
            assert_memory_equal(all, logits + s * COUNT * V, sizeof all);
        }
        hop_forward_free(f);
        hop_grad_free(g);
        hop_model_free(m);
    }
}

/* Two passes of one leave nothing behind that the next would see. */
static void the_same_pass_has_the_same_bits(void **state)
{
    (void)state;
    hop_model *m = network("full gla mamba", HOP_NORM_RMS, HOP_MLP_GELU, true);
    const int64_t floats = hop_layout_floats(hop_model_layout(m));
    float *a = hop_alloc(sizeof(float) * (size_t)floats), *b = hop_alloc(sizeof(float) * (size_t)floats);
    int32_t tokens[ROWS], other[ROWS] = {0};
    static wish w;
    hop_grad *g;
    fill_tokens(tokens, ROWS);
    wish_init(&w, 0, true);
    assert_int_equal(hop_grad_new(&g, m, SEQUENCES, COUNT, NULL), HOP_OK);
    both_ways(g, &w, tokens, 3, a);
    assert_int_equal(hop_grad_forward(g, other, 1, 3, NULL), HOP_OK);
    both_ways(g, &w, tokens, 3, b);
    assert_memory_equal(a, b, sizeof(float) * (size_t)floats);
    hop_free(a);
    hop_free(b);
    hop_grad_free(g);
    hop_model_free(m);
}

/* Gradients and the last stream of two passes over a network wide enough for panels; `l` may be NULL. */
static void wide_pass(const hop_model *m, const hop_packed *l, int64_t from, float *stream, float *dblock)
{
    const int64_t d = hop_model_config(m)->d_model;
    int32_t tokens[ROWS];
    hop_grad *g;
    fill_tokens(tokens, ROWS);
    assert_int_equal(hop_grad_new(&g, m, SEQUENCES, COUNT, NULL), HOP_OK);
    hop_grad_use(g, l);
    hop_grad_last_from(g, from);
    assert_int_equal(hop_grad_forward(g, tokens, SEQUENCES, COUNT, NULL), HOP_OK);
    for (int64_t s = 0; s < SEQUENCES; s++)
        for (int64_t t = from; t < COUNT; t++)
            for (int64_t e = 0; e < d; e++) {
                int64_t at = (s * COUNT + t) * d + e;
                stream[at] = hop_grad_stream(g, 2)[at];
                hop_grad_dstream(g, 2)[at] = (float)((at * 7919) % 17 - 8) / 8;
            }
    hop_grad_backward(g, dblock);
    hop_grad_free(g);
}

static void check_packed(const char *mixer, hop_mlp mlp, int64_t from)
{
    hop_config c;
    hop_model *m;
    hop_packed *l;
    hop_error err = {0};
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s^2", mixer);
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, mixer, NULL), HOP_OK);
    c.vocab = V, c.d_model = 64, c.heads = 2, c.max_positions = COUNT, c.norm = HOP_NORM_LAYER, c.mlp = mlp;
    c.mlp_hidden = 96;
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s: %s", mixer, err.text);
    hop_config_free(&c);
    hop_model_init_weights(m, 3, NULL);
    const size_t floats = (size_t)hop_layout_floats(hop_model_layout(m)), rows = (size_t)ROWS * 64;
    float *block[2], *stream[2];
    assert_int_equal(hop_packed_new(&l, m, NULL), HOP_OK);
    hop_packed_update(l, NULL); /* of weights that change: it must not be these that count */
    for (size_t i = 0; i < floats; i++) hop_model_block(m)[i] *= 1.25f;
    hop_packed_update(l, NULL);
    for (int i = 0; i < 2; i++) {
        block[i] = hop_alloc(sizeof(float) * floats), stream[i] = hop_alloc(sizeof(float) * rows);
        wide_pass(m, i ? l : NULL, from, stream[i], block[i]);
    }
    if (memcmp(stream[0], stream[1], sizeof(float) * rows) != 0 ||
        memcmp(block[0], block[1], sizeof(float) * floats) != 0)
        fail_msg("%s, mlp %d, from %d: other bits", mixer, mlp, (int)from);
    for (int i = 0; i < 2; i++) hop_free(block[i]), hop_free(stream[i]);
    hop_packed_free(l);
    hop_model_free(m);
}

static void weights_laid_out_for_products_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; hop_mixer_at(i); i++) {
        check_packed(hop_mixer_at(i)->name, HOP_MLP_GELU, 0);
        check_packed(hop_mixer_at(i)->name, HOP_MLP_SWIGLU, COUNT - 2);
    }
    check_packed("full", HOP_MLP_RELU, 0);
    check_packed("gdn", HOP_MLP_NONE, 0);
    check_packed("full", HOP_MLP_NONE, COUNT - 1);
}

static void what_cannot_be_trained_is_refused_in_one_line(void **state)
{
    (void)state;
    hop_config c;
    hop_model *m, *seeded;
    hop_grad *g;
    hop_error err = {0};
    int32_t tokens[COUNT] = {0};
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, "gdn^3", "", NULL), HOP_OK);
    c.vocab = V, c.d_model = D, c.heads = 2, c.max_positions = 12, c.seeded = true;
    assert_int_equal(hop_model_new(&seeded, &c, NULL), HOP_OK);
    hop_config_free(&c);
    assert_int_equal(hop_grad_new(&g, seeded, 1, 5, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "seed"));
    assert_null(g);
    hop_model_free(seeded);
    m = network("full", HOP_NORM_RMS, HOP_MLP_RELU, false);
    assert_int_equal(hop_grad_new(&g, m, 1, 13, &err), HOP_ERANGE);
    assert_int_equal(hop_grad_new(&g, m, 0, 5, &err), HOP_ERANGE);
    assert_int_equal(hop_grad_new(&g, m, 1, 5, &err), HOP_OK);
    assert_int_equal(hop_grad_forward(g, tokens, 1, 6, &err), HOP_ERANGE);
    assert_int_equal(hop_grad_forward(g, tokens, 2, 5, &err), HOP_ERANGE);
    tokens[2] = V;
    assert_int_equal(hop_grad_forward(g, tokens, 1, 5, &err), HOP_ERANGE);
    assert_non_null(strstr(err.text, "token 11 at position 2"));
    hop_grad_free(g);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_networks_are_those_of_central_differences),
        cmocka_unit_test(gradients_at_the_last_tokens_are_those_of_central_differences),
        cmocka_unit_test(its_streams_have_the_bits_of_a_plain_pass),
        cmocka_unit_test(the_same_pass_has_the_same_bits),
        cmocka_unit_test(weights_laid_out_for_products_change_no_bit),
        cmocka_unit_test(what_cannot_be_trained_is_refused_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
