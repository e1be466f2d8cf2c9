/* model: networks on disk, whole sequences, token by token. */
#include "test.h"

#include <hopbound/model.h>

#include <unistd.h>

static hop_model *random_model(const char *pattern, hop_norm norm, hop_mlp mlp, bool tied)
{
    hop_config c;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "", NULL), HOP_OK);
    c.vocab = 23;
    c.d_model = 12;
    c.heads = 3;
    c.kv_heads = 1;
    c.max_positions = 150;
    c.position_table = true;
    c.norm = norm;
    c.mlp = mlp;
    c.mlp_hidden = 17;
    c.tied = tied;
    hop_model *m;
    hop_error err = {0};
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_config_free(&c);
    hop_model_init_weights(m, 42, NULL);
    /* Larger tables than a fresh network's, so that positions and tokens matter in a comparison. */
    const hop_weight *w = hop_model_weight(m, "model.embed_tokens.weight");
    for (int64_t i = 0; i < w->shape[0] * w->shape[1]; i++) w->data[i] *= 50;
    return m;
}

static void fill_tokens(int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)((i * i + 3 * i) % 23);
}

static void token_by_token_equals_the_whole_sequence_for_every_kind_of_block(void **state)
{
    (void)state;
    for (int norm = 0; norm < 3; norm++)
        for (int mlp = 0; mlp < 4; mlp++) {
            hop_model *m = random_model("full^3", (hop_norm)norm, (hop_mlp)mlp, mlp % 2);
            enum { N = 70, V = 23 };
            int32_t tokens[N];
            float all[N * V], one[V], last[V];
            fill_tokens(tokens, N);
            hop_forward *f;
            hop_decoder *d;
            assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
            assert_int_equal(hop_decoder_new(&d, m, 0, false, NULL), HOP_OK);
            assert_int_equal(hop_forward_all(f, tokens, N, all, NULL), HOP_OK);
            double size = 0, error = 0;
            for (int t = 0; t < N; t++) {
                assert_int_equal(hop_decoder_step(d, tokens[t], one, NULL), HOP_OK);
                for (int i = 0; i < V; i++) {
                    size = fmax(size, fabs((double)all[t * V + i]));
                    error = fmax(error, fabs((double)all[t * V + i] - (double)one[i]));
                }
            }
            /* Three layers in float32 summed in different orders; 1e-5 is the mixers' law, times the depth.
             */
            if (!(error <= 3e-5 * size)) fail_msg("norm %d, mlp %d: off by %g of %g", norm, mlp, error, size);
            assert_true(size > 0);
            assert_int_equal(hop_forward_logits(f, tokens, N, last, NULL), HOP_OK);
            for (int i = 0; i < V; i++)
                assert_true(fabs((double)last[i] - (double)all[(N - 1) * V + i]) <= 3e-5 * size);
            hop_forward_free(f);
            hop_decoder_free(d);
            hop_model_free(m);
        }
}

static void threads_change_no_bit_of_the_logits(void **state)
{
    (void)state;
    hop_pool *pool = hop_pool_new(3);
    int32_t tokens[150];
    float one[150 * 23], three[150 * 23];
    fill_tokens(tokens, 150);
    for (int wide = 0; wide < 2; wide++) { /* enough numbers for tables and norms to be shared out, too */
        hop_config c;
        hop_config_init(&c);
        assert_int_equal(hop_pattern_parse(&c.pattern, "full^2", "", NULL), HOP_OK);
        c.vocab = 23, c.max_positions = 150, c.heads = 2, c.mlp_hidden = 17;
        c.d_model = wide ? 256 : 12, c.norm = wide ? HOP_NORM_LAYER : HOP_NORM_RMS;
        hop_model *m;
        assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
        hop_model_init_weights(m, 42, NULL);
        hop_forward *a, *b;
        assert_int_equal(hop_forward_new(&a, m, &(hop_forward_options){0}, NULL), HOP_OK);
        assert_int_equal(hop_forward_new(&b, m, &(hop_forward_options){.pool = pool}, NULL), HOP_OK);
        assert_int_equal(hop_forward_all(a, tokens, 150, one, NULL), HOP_OK);
        assert_int_equal(hop_forward_all(b, tokens, 150, three, NULL), HOP_OK);
        assert_memory_equal(one, three, sizeof one);
        hop_forward_free(a);
        hop_forward_free(b);
        hop_model_free(m);
        hop_config_free(&c);
    }
    hop_pool_free(pool);
}

static void fewer_bits_change_the_logits_and_24_do_not(void **state)
{
    (void)state;
    hop_model *m = random_model("full^2", HOP_NORM_RMS, HOP_MLP_RELU, false);
    int32_t tokens[20];
    float logits[3][23];
    const int bits[] = {0, 24, 6};
    fill_tokens(tokens, 20);
    for (int i = 0; i < 3; i++) {
        hop_forward *f;
        assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.bits = bits[i]}, NULL), HOP_OK);
        assert_int_equal(hop_forward_logits(f, tokens, 20, logits[i], NULL), HOP_OK);
        hop_forward_free(f);
    }
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    assert_memory_not_equal(logits[0], logits[2], sizeof logits[0]);
    for (int i = 0; i < 23; i++) { /* what comes out has at most 6 significant bits */
        int e;
        float mantissa = frexpf(logits[2][i], &e) * 64;
        assert_true(mantissa == rintf(mantissa));
    }
    hop_model_free(m);
}

static void a_network_reads_back_what_it_saved(void **state)
{
    (void)state;
    char dir[512];
    test_path(dir, sizeof dir, "model_saved");
    hop_model *m = random_model("full^2", HOP_NORM_LAYER, HOP_MLP_GELU, false), *n = NULL;
    hop_error err = {0};
    if (hop_model_save(m, dir, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_model_open(&n, dir, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_int_equal(hop_model_weight_count(m), hop_model_weight_count(n));
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *a = hop_model_weight_at(m, i), *b = hop_model_weight_at(n, i);
        assert_string_equal(a->name, b->name);
        assert_memory_equal(a->data, b->data,
                            sizeof(float) * (size_t)(a->shape[0] * (a->rank == 2 ? a->shape[1] : 1)));
        assert_ptr_equal(hop_model_weight(m, a->name), a);
    }
    assert_int_equal(hop_model_parameters(m), hop_model_parameters(n));
    assert_null(hop_model_weight(m, "model.layers.01.mixer.q_proj.weight"));
    assert_null(hop_model_weight(m, "model.layers.2.mixer.q_proj.weight"));
    hop_model_free(m);
    hop_model_free(n);
}

/* Saves the network's tensors, all but those that `skip` names, plus `extra`, under `file`. */
static void write_tensors(const hop_model *m, const char *path, int64_t from, int64_t to,
                          const hop_tensor_out *extra)
{
    hop_tensor_out list[100];
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        list[n++] = (hop_tensor_out){
            .name = w->name, .rank = w->rank, .shape = {w->shape[0], w->shape[1]}, .data = w->data};
    }
    if (extra) list[n++] = *extra;
    assert_int_equal(hop_safetensors_write(path, list, n, NULL, NULL), HOP_OK);
}

static void refuses_to_open(const char *dir, hop_status status, const char *why)
{
    hop_model *m = NULL;
    hop_error err = {0};
    hop_status s = hop_model_open(&m, dir, &err);
    if (s != status || !strstr(err.text, why))
        fail_msg("status %d, \"%s\", not %d, \"%s\"", s, err.text, status, why);
    assert_null(m);
}

static void weight_files_that_do_not_fit_are_refused_by_name(void **state)
{
    (void)state;
    char dir[512], path[600], config[600];
    test_path(dir, sizeof dir, "model_misfit");
    hop_model *m = random_model("full", HOP_NORM_NONE, HOP_MLP_RELU, false);
    assert_int_equal(hop_model_save(m, dir, NULL), HOP_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    snprintf(config, sizeof config, "%s/config.json", dir);
    int64_t all = hop_model_weight_count(m);
    float numbers[24 * 12] = {0};

    write_tensors(m, path, 1, all, NULL);
    refuses_to_open(dir, HOP_EFORMAT, "embed_tokens.weight\" is missing");
    hop_tensor_out extra = {.name = "surplus", .rank = 1, .shape = {3}, .data = numbers};
    write_tensors(m, path, 0, all, &extra);
    refuses_to_open(dir, HOP_EFORMAT, "\"surplus\": the network has none");
    extra =
        (hop_tensor_out){.name = "model.embed_tokens.weight", .rank = 2, .shape = {12, 23}, .data = numbers};
    write_tensors(m, path, 1, all, &extra);
    refuses_to_open(dir, HOP_ESHAPE, "[12, 23], not [23, 12]");
    extra.rank = 1;
    write_tensors(m, path, 1, all, &extra);
    refuses_to_open(dir, HOP_ESHAPE, "[12], not [23, 12]");
    remove(path);
    refuses_to_open(dir, HOP_EIO, "model.safetensors");
    assert_int_equal(
        hop_file_write(
            config,
            "{\"model_type\": \"hopbound\", \"pattern\": \"zigzag\", \"vocab_size\": 3, \"hidden_size\": 2}",
            78, NULL),
        HOP_OK);
    refuses_to_open(dir, HOP_EFORMAT, "config.json");
    const char *unknown =
        "{\"model_type\": \"hopbound\", \"pattern\": \"zigzag\", \"vocab_size\": 3, \"hidden_size\": 2}";
    assert_int_equal(hop_file_write(config, unknown, strlen(unknown), NULL), HOP_OK);
    refuses_to_open(dir, HOP_EUNKNOWN, "unknown mixer \"zigzag\"");
    const char *deep = "{\"model_type\": \"hopbound\", \"pattern\": \"F^4000000000\", \"vocab_size\": 3, "
                       "\"hidden_size\": 2}";
    assert_int_equal(hop_file_write(config, deep, strlen(deep), NULL), HOP_OK);
    refuses_to_open(dir, HOP_EDOMAIN, "layers are more than");
    remove(config);
    refuses_to_open(dir, HOP_EIO, "config.json");
    refuses_to_open("/nonexistent", HOP_EIO, "no such directory");
    hop_model_free(m);
}

static void shards_are_found_through_their_index(void **state)
{
    (void)state;
    char dir[512], a[600], b[600], whole[600], index[600];
    test_path(dir, sizeof dir, "model_shards");
    hop_model *m = random_model("full", HOP_NORM_RMS, HOP_MLP_SWIGLU, false), *n = NULL;
    assert_int_equal(hop_model_save(m, dir, NULL), HOP_OK);
    snprintf(whole, sizeof whole, "%s/model.safetensors", dir);
    snprintf(a, sizeof a, "%s/part-1.safetensors", dir);
    snprintf(b, sizeof b, "%s/part-2.safetensors", dir);
    snprintf(index, sizeof index, "%s/model.safetensors.index.json", dir);
    remove(whole);
    int64_t all = hop_model_weight_count(m);
    write_tensors(m, a, 0, 3, NULL);
    write_tensors(m, b, 3, all, NULL);
    const char *map = "{\"weight_map\": {\"x\": \"part-1.safetensors\", \"y\": \"part-2.safetensors\", "
                      "\"z\": \"part-1.safetensors\"}}";
    assert_int_equal(hop_file_write(index, map, strlen(map), NULL), HOP_OK);
    hop_error err = {0};
    if (hop_model_open(&n, dir, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_model_free(n);
    write_tensors(m, b, 2, all, NULL); /* one tensor in both */
    refuses_to_open(dir, HOP_EFORMAT, "occurs twice");
    const char *outside = "{\"weight_map\": {\"x\": \"../part-1.safetensors\"}}";
    assert_int_equal(hop_file_write(index, outside, strlen(outside), NULL), HOP_OK);
    refuses_to_open(dir, HOP_EFORMAT, "names no file of this directory");
    remove(index);
    remove(a);
    remove(b);
    hop_model_free(m);
}

static void tokens_and_lengths_out_of_range_are_refused(void **state)
{
    (void)state;
    hop_model *m = random_model("full", HOP_NORM_NONE, HOP_MLP_NONE, true);
    hop_forward *f;
    hop_decoder *d;
    float logits[23];
    int32_t tokens[151] = {0};
    hop_error err = {0};
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
    assert_int_equal(hop_forward_logits(f, tokens, 151, logits, &err), HOP_ERANGE);
    assert_int_equal(hop_forward_logits(f, tokens, 0, logits, &err), HOP_ERANGE);
    tokens[3] = 23;
    assert_int_equal(hop_forward_logits(f, tokens, 10, logits, &err), HOP_ERANGE);
    assert_non_null(strstr(err.text, "position 3"));
    tokens[3] = -1;
    assert_int_equal(hop_forward_logits(f, tokens, 10, logits, &err), HOP_ERANGE);
    assert_int_equal(hop_decoder_new(&d, m, 2, false, NULL), HOP_OK);
    assert_int_equal(hop_decoder_step(d, 99, NULL, &err), HOP_ERANGE);
    assert_int_equal(hop_decoder_step(d, 1, NULL, &err), HOP_OK);
    assert_int_equal(hop_decoder_step(d, 1, NULL, &err), HOP_OK);
    assert_int_equal(hop_decoder_step(d, 1, NULL, &err), HOP_ERANGE);
    assert_int_equal(hop_decoder_rewind(d, 3, &err), HOP_ERANGE);
    assert_int_equal(hop_decoder_rewind(d, 1, &err), HOP_OK);
    assert_int_equal(hop_decoder_length(d), 1);
    hop_decoder_free(d);
    hop_forward_free(f);
    hop_model_free(m);
}

static void a_rewound_decoder_answers_as_a_fresh_one(void **state)
{
    (void)state;
    hop_model *m = random_model("full^2", HOP_NORM_RMS, HOP_MLP_RELU, false);
    hop_decoder *a, *b;
    float x[23], y[23];
    assert_int_equal(hop_decoder_new(&a, m, 20, false, NULL), HOP_OK);
    assert_int_equal(hop_decoder_new(&b, m, 20, false, NULL), HOP_OK);
    for (int i = 0; i < 10; i++) assert_int_equal(hop_decoder_step(a, i, NULL, NULL), HOP_OK);
    assert_int_equal(hop_decoder_rewind(a, 4, NULL), HOP_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(hop_decoder_step(b, i, NULL, NULL), HOP_OK);
    assert_int_equal(hop_decoder_step(a, 21, x, NULL), HOP_OK);
    assert_int_equal(hop_decoder_step(b, 21, y, NULL), HOP_OK);
    assert_memory_equal(x, y, sizeof x);
    hop_decoder_free(a);
    hop_decoder_free(b);
    hop_model_free(m);
}

/* Values and gradients, say, are blocks of one layout: what it says of one holds of the other. */
static void a_layout_is_a_network_without_its_floats(void **state)
{
    (void)state;
    hop_model *m = random_model("gdn full mamba2", HOP_NORM_LAYER, HOP_MLP_SWIGLU, false);
    hop_layout *alone;
    assert_int_equal(hop_layout_new(&alone, hop_model_config(m), NULL), HOP_OK);
    int64_t end = 0;
    assert_int_equal(hop_layout_count(alone), hop_model_weight_count(m));
    for (int64_t i = 0; i < hop_layout_count(alone); i++) {
        const hop_slot *s = hop_layout_at(alone, i), *same = hop_layout_at(hop_model_layout(m), i);
        const hop_weight *w = hop_model_weight(m, s->name);
        assert_string_equal(s->name, same->name);
        assert_int_equal(s->offset, same->offset);
        assert_int_equal(s->offset % 16, 0);
        assert_true(s->offset >= end); /* nothing overlaps */
        end = s->offset + hop_slot_floats(s);
        assert_ptr_equal(hop_layout_find(alone, s->name), s);
        assert_ptr_equal(w->data, hop_model_block(m) + s->offset);
        assert_int_equal(w->shape[0], s->shape[0]);
        assert_int_equal(w->rank, s->rank);
    }
    assert_true(end <= hop_layout_floats(alone));
    assert_non_null(hop_layout_layer_find(alone, 2, "mixer.A_log"));
    assert_null(hop_layout_layer_find(alone, 1, "mixer.A_log"));
    assert_null(hop_layout_at(alone, hop_layout_count(alone)));
    hop_layout_free(alone);
    hop_layout_free(NULL);
    hop_model_free(m);
}

static void argmax_takes_the_first_of_equals_and_refuses_nan(void **state)
{
    (void)state;
    assert_int_equal(hop_argmax((float[]){1, 3, 3, 2}, 4), 1);
    assert_int_equal(hop_argmax((float[]){1, NAN, 3}, 3), -1);
    assert_int_equal(hop_argmax((float[]){-INFINITY, -5}, 2), 1);
}

/* ---- deep networks -------------------------------------------------------------------------------- */

static hop_model *deep_model(const char *pattern, bool seeded, int64_t tie)
{
    hop_config c;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "", NULL), HOP_OK);
    c.vocab = 11;
    c.d_model = 6;
    c.heads = 2;
    c.max_positions = 20;
    c.mlp_hidden = 5;
    c.seeded = seeded;
    c.seed = 7;
    c.tie = tie;
    assert_int_equal(hop_config_set(&c, -1, "gdn", "value_dim", 4, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 1, "", "head_dim", 5, NULL), HOP_OK);
    hop_model *m;
    hop_error err = {0};
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_config_free(&c);
    hop_model_init_weights(m, 7, NULL);
    return m;
}

static hop_status logits_of(const hop_model *m, const hop_forward_options *o, float logits[11])
{
    int32_t tokens[9] = {1, 4, 1, 5, 9, 2, 6, 5, 3};
    hop_forward *f;
    hop_error err = {0};
    if (hop_forward_new(&f, m, o, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_status s = hop_forward_logits(f, tokens, 9, logits, &err);
    hop_forward_free(f);
    return s;
}

static void seeded_layers_are_the_stored_ones_of_that_seed(void **state)
{
    (void)state;
    hop_model *stored = deep_model("(gdn^3 full)^5 mamba", false, 0),
              *seeded = deep_model("(gdn^3 full)^5 mamba", true, 0);
    float a[11], b[11];
    assert_int_equal(logits_of(stored, &(hop_forward_options){0}, a), HOP_OK);
    assert_int_equal(logits_of(seeded, &(hop_forward_options){0}, b), HOP_OK);
    assert_memory_equal(a, b, sizeof a);
    assert_true(hop_model_weight_count(seeded) < 5); /* tables, norm, read-out */
    assert_int_equal(hop_model_parameters(seeded), hop_model_parameters(stored));
    hop_model_free(stored);
    hop_model_free(seeded);
}

static void tied_layers_repeat(void **state)
{
    (void)state;
    /* Tied to 2, layers 2, 3 are layers 0, 1 again, whatever was drawn in between. */
    hop_model *m = deep_model("gdn^6", true, 2), *untied = deep_model("gdn^6", true, 0);
    float a[11], b[11], c[11];
    assert_int_equal(logits_of(m, &(hop_forward_options){0}, a), HOP_OK);
    assert_int_equal(logits_of(m, &(hop_forward_options){0}, b), HOP_OK);
    assert_int_equal(logits_of(untied, &(hop_forward_options){0}, c), HOP_OK);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    hop_model_free(m);
    hop_model_free(untied);
}

static void seeded_networks_have_the_limits_of_stored_ones(void **state)
{
    (void)state;
    const struct {
        const char *pattern;
        int64_t d_model, heads, head_dim, layer;
        hop_status want;
    } cases[] = {
        {"full", 1 << 20, 1 << 20, 1 << 20, -1, HOP_EDOMAIN},         /* a tensor of 2^60 */
        {"deltaproduct", 1 << 20, 1 << 20, 1 << 20, -1, HOP_EDOMAIN}, /* and one of 2^63 */
        {"full^3", 1 << 19, 1 << 19, 1, 1,
         HOP_EDOMAIN}, /* only the layer with its own settings is too large */
        {"linear^4294967296", 1 << 16, 1 << 6, 1 << 10, -1, HOP_EDOMAIN}, /* 2^66 in all */
        {"linear^4294967296", 1 << 10, 1, 1 << 10, -1, HOP_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_config c;
        hop_config_init(&c);
        assert_int_equal(hop_pattern_parse(&c.pattern, cases[i].pattern, "", NULL), HOP_OK);
        c.vocab = 2, c.max_positions = 2, c.mlp = HOP_MLP_NONE;
        c.d_model = cases[i].d_model, c.heads = cases[i].heads, c.head_dim = cases[i].head_dim;
        if (cases[i].layer >= 0)
            assert_int_equal(hop_config_set(&c, cases[i].layer, "", "head_dim", 1 << 19, NULL), HOP_OK);
        c.seeded = true;
        hop_error err = {0};
        hop_model *m;
        if (hop_model_new(&m, &c, &err) != cases[i].want) fail_msg("case %zu: \"%s\"", i, err.text);
        if (m) assert_true(hop_model_parameters(m) > (int64_t)1 << 53);
        hop_model_free(m);
        hop_config_free(&c);
    }
}

static void a_pass_is_for_as_many_tokens_as_the_network_takes(void **state)
{
    (void)state;
    hop_model *m = deep_model("linear full", false, 0);
    hop_forward *f;
    /* More than the network takes is no more memory: these would be 2^62 rows. */
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.max_tokens = INT64_MAX / 2}, NULL),
                     HOP_OK);
    hop_forward_free(f);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.max_tokens = -1}, NULL), HOP_ERANGE);
    assert_null(f);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.bits = -1}, NULL), HOP_ERANGE);
    hop_model_free(m);
}

typedef struct patience {
    int ticks;
} patience;

static bool tick(void *ctx, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    return --((patience *)ctx)->ticks > 0;
}

static void an_interrupted_pass_resumes_to_the_same_bits(void **state)
{
    (void)state;
    char path[512];
    test_path(path, sizeof path, "model_checkpoint.safetensors");
    remove(path);
    hop_model *m = deep_model("linear^3000", true, 4);
    float whole[11], resumed[11];
    assert_int_equal(logits_of(m, &(hop_forward_options){0}, whole), HOP_OK);
    int stops = 0;
    hop_status s = HOP_ESTOPPED;
    while (s == HOP_ESTOPPED && stops < 100) {
        patience p = {.ticks = 15};
        hop_progress progress = {.tick = tick, .ctx = &p};
        s = logits_of(m, &(hop_forward_options){.progress = &progress, .checkpoint = path}, resumed);
        stops += s == HOP_ESTOPPED;
    }
    assert_int_equal(s, HOP_OK);
    assert_true(stops >= 2);
    assert_memory_equal(whole, resumed, sizeof whole);
    assert_int_not_equal(access(path, F_OK), 0); /* done: the file is gone */
    /* A checkpoint of another network is refused, not taken. */
    patience p = {.ticks = 3};
    hop_progress progress = {.tick = tick, .ctx = &p};
    assert_int_equal(logits_of(m, &(hop_forward_options){.progress = &progress, .checkpoint = path}, resumed),
                     HOP_ESTOPPED);
    hop_model *other = deep_model("linear^3001", true, 4);
    assert_int_equal(logits_of(other, &(hop_forward_options){.checkpoint = path}, resumed), HOP_EFORMAT);
    remove(path);
    hop_model_free(m);
    hop_model_free(other);
}

/* A pass over `tokens` that goes on from the checkpoint or, with ticks > 0, is stopped there. */
static hop_status pass(const hop_model *m, const int32_t tokens[9], const char *path, int ticks,
                       hop_error *err)
{
    patience p = {.ticks = ticks};
    hop_progress progress = {.tick = tick, .ctx = &p};
    hop_forward_options o = {.checkpoint = path, .progress = ticks ? &progress : NULL};
    hop_forward *f;
    float logits[11];
    assert_int_equal(hop_forward_new(&f, m, &o, err), HOP_OK);
    hop_status s = hop_forward_logits(f, tokens, 9, logits, err);
    hop_forward_free(f);
    return s;
}

/* The checkpoint again, with `layer` for its layer (NULL: its own), its number `at` (-1: none) a little
 * changed, and a checksum that fits, if wanted. */
static void forge(const char *path, const char *layer, int64_t at, bool checksum)
{
    float x[9 * 6];
    char old[24], digest[24], sum[24];
    hop_safetensors f;
    assert_int_equal(hop_safetensors_open(&f, path, NULL), HOP_OK);
    assert_int_equal(hop_tensor_floats(&f.tensors[0], x, NULL), HOP_OK);
    snprintf(old, sizeof old, "%s", layer ? layer : hop_safetensors_meta(&f, "layer"));
    snprintf(digest, sizeof digest, "%s", hop_safetensors_meta(&f, "digest"));
    snprintf(sum, sizeof sum, "%s", hop_safetensors_meta(&f, "checksum"));
    hop_safetensors_close(&f);
    if (at >= 0) x[at] = nextafterf(x[at], 9.0f);
    hop_hash h;
    hop_hash_init(&h);
    hop_hash_add(&h, digest, strlen(digest));
    hop_hash_add(&h, old, strlen(old));
    hop_hash_add(&h, x, sizeof x);
    if (checksum) snprintf(sum, sizeof sum, "%016llx", (unsigned long long)hop_hash_end(&h));
    const char *const metadata[] = {"layer", old, "digest", digest, "checksum", sum, NULL};
    hop_tensor_out t = {.name = "x", .rank = 2, .shape = {9, 6}, .data = x};
    assert_int_equal(hop_safetensors_write(path, &t, 1, metadata, NULL), HOP_OK);
}

static void a_checkpoint_that_was_changed_is_refused(void **state)
{
    (void)state;
    static const int32_t tokens[9] = {1, 4, 1, 5, 9, 2, 6, 5, 3};
    static const char *const layers[] = {"-4000",     "0",      "1200", "3000001", "9223372036854775808",
                                         "129 ",      " 129",   "+129", "0129",    "",
                                         "129 or so", "1.29e2", "130"};
    char path[512];
    hop_error err = {0};
    test_path(path, sizeof path, "model_forged.safetensors");
    hop_model *m = deep_model("linear^1200", false, 0);
    remove(path);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int checksum = 0; checksum < 2; checksum++) {
            assert_int_equal(pass(m, tokens, path, 3, &err), HOP_ESTOPPED);
            forge(path, layers[i], -1, checksum);
            /* With a checksum that fits, the last is a layer like another. */
            bool fine = checksum && strcmp(layers[i], "130") == 0;
            hop_status s = pass(m, tokens, path, 0, &err);
            if (s != (fine ? HOP_OK : HOP_EFORMAT)) fail_msg("layer \"%s\" is taken", layers[i]);
            remove(path);
        }
    for (int64_t at = 0; at < 9 * 6; at++) {
        assert_int_equal(pass(m, tokens, path, 3, &err), HOP_ESTOPPED);
        forge(path, NULL, at, false);
        assert_int_equal(pass(m, tokens, path, 0, &err), HOP_EFORMAT);
        assert_non_null(strstr(err.text, "damaged"));
        remove(path);
    }
    hop_model_free(m);
}

static void a_checkpoint_is_refused_when_anything_changed_that_its_numbers_depend_on(void **state)
{
    (void)state;
    int32_t tokens[9] = {1, 4, 1, 5, 9, 2, 6, 5, 3};
    char path[512];
    hop_error err = {0};
    test_path(path, sizeof path, "model_changed.safetensors");
    remove(path);
    hop_model *m = deep_model("linear^1200", false, 0);
    assert_int_equal(pass(m, tokens, path, 3, &err), HOP_ESTOPPED);
    /* The first, the last and a random number of every tensor. */
    hop_rng rng;
    hop_rng_init(&rng, 3, 0);
    for (int64_t i = 0; i < hop_model_weight_count(m); i += 1 + (int64_t)hop_rng_below(&rng, 40)) {
        const hop_weight *w = hop_model_weight_at(m, i);
        int64_t n = w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
        const int64_t at[] = {0, n - 1, (int64_t)hop_rng_below(&rng, (uint64_t)n)};
        for (int k = 0; k < 3; k++) {
            float was = w->data[at[k]];
            w->data[at[k]] = nextafterf(was, 9.0f);
            if (pass(m, tokens, path, 0, &err) != HOP_EFORMAT)
                fail_msg("%s[%lld] changed", w->name, (long long)at[k]);
            w->data[at[k]] = was;
        }
    }
    for (int t = 0; t < 9; t++) {
        tokens[t] ^= 1;
        assert_int_equal(pass(m, tokens, path, 0, &err), HOP_EFORMAT);
        tokens[t] ^= 1;
    }
    assert_int_equal(pass(m, tokens, path, 0, &err), HOP_OK);
    hop_model_free(m);
}

static void options_that_a_mixer_does_not_take_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        int64_t layer;
        const char *mixer, *name, *why;
        double value;
    } cases[] = {
        {-1, "gdn", "window", "takes no option \"window\"", 4},
        {-1, "zigzag", "conv", "unknown mixer \"zigzag\"", 4},
        {0, "", "head_dim", "head_dim", 0},
        {1, "", "conv", "conv", 1000},
        {0, "", "heads", "not a whole number", 1.5},
        {9, "", "heads", "no layer 9", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_config c;
        hop_model *m;
        hop_error err = {0};
        hop_config_init(&c);
        assert_int_equal(hop_pattern_parse(&c.pattern, "full gdn", "", NULL), HOP_OK);
        c.vocab = c.d_model = 4;
        assert_int_equal(
            hop_config_set(&c, cases[i].layer, cases[i].mixer, cases[i].name, cases[i].value, NULL), HOP_OK);
        if (hop_model_new(&m, &c, &err) == HOP_OK) fail_msg("%s was accepted", cases[i].name);
        if (!strstr(err.text, cases[i].why)) fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].why);
        hop_config_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_by_token_equals_the_whole_sequence_for_every_kind_of_block),
        cmocka_unit_test(threads_change_no_bit_of_the_logits),
        cmocka_unit_test(fewer_bits_change_the_logits_and_24_do_not),
        cmocka_unit_test(a_network_reads_back_what_it_saved),
        cmocka_unit_test(weight_files_that_do_not_fit_are_refused_by_name),
        cmocka_unit_test(shards_are_found_through_their_index),
        cmocka_unit_test(tokens_and_lengths_out_of_range_are_refused),
        cmocka_unit_test(a_rewound_decoder_answers_as_a_fresh_one),
        cmocka_unit_test(seeded_layers_are_the_stored_ones_of_that_seed),
        cmocka_unit_test(tied_layers_repeat),
        cmocka_unit_test(seeded_networks_have_the_limits_of_stored_ones),
        cmocka_unit_test(a_pass_is_for_as_many_tokens_as_the_network_takes),
        cmocka_unit_test(an_interrupted_pass_resumes_to_the_same_bits),
        cmocka_unit_test(a_checkpoint_that_was_changed_is_refused),
        cmocka_unit_test(a_checkpoint_is_refused_when_anything_changed_that_its_numbers_depend_on),
        cmocka_unit_test(options_that_a_mixer_does_not_take_are_refused_by_name),
        cmocka_unit_test(a_layout_is_a_network_without_its_floats),
        cmocka_unit_test(argmax_takes_the_first_of_equals_and_refuses_nan),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
