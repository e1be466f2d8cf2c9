/* protocol: numbers in bytes, who holds what, and games that must give the plain pass's bits. */
#include "test.h"

#include <hopbound/mixers.h>
#include <hopbound/protocol.h>

enum { VOCAB = 23, TOKENS = 70 };

/* ---- subjects --------------------------------------------------------------------------------------- */

typedef struct sizes {
    hop_norm norm;
    hop_mlp mlp;
    int64_t heads, kv_heads, head_dim, tokens;
    double rope;
    int64_t beside; /* this layer stands beside the one before; 0: none does */
    hop_norms norms;
} sizes;

static const sizes USUAL = {HOP_NORM_RMS, HOP_MLP_SWIGLU, 4, 2, 6, TOKENS, 10000, 0, HOP_NORMS_BEFORE};

static hop_model *random_model(const char *pattern, const sizes *z)
{
    hop_config c;
    hop_error err = {0};
    hop_model *m;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "gdn", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = 24, c.max_positions = z->tokens, c.position_table = true;
    c.heads = z->heads, c.kv_heads = z->kv_heads, c.head_dim = z->head_dim, c.rope_theta = z->rope;
    c.norm = z->norm, c.mlp = z->mlp, c.mlp_hidden = 30;
    const char *const small[][2] = {{"window", "window"}, {"sparse", "block"}};
    for (int i = 0; i < 2; i++) hop_config_set(&c, -1, small[i][0], small[i][1], 9, NULL);
    hop_config_set(&c, -1, "linear", "normalise", 1, NULL);
    for (int64_t i = 0; i < c.pattern.layers; i++) hop_config_set(&c, i, "", "norms", z->norms, NULL);
    if (z->beside) hop_config_set(&c, z->beside, "", "beside", 1, NULL);
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s: %s", pattern, err.text);
    hop_config_free(&c);
    hop_model_init_weights(m, 7, NULL);
    const hop_weight *w = hop_model_weight(m, "model.embed_tokens.weight");
    for (int64_t i = 0; i < w->shape[0] * w->shape[1]; i++) w->data[i] *= 30; /* so that tokens matter */
    return m;
}

static void fill_tokens(int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)((i * i + 5 * i) % VOCAB);
}

/* The plain pass under the arithmetic of these players. */
static float *plain_pass(const hop_model *m, const hop_player *players, int count, int bits, int64_t tokens)
{
    int64_t starts[HOP_MAX_PLAYERS];
    int32_t *input = malloc(sizeof *input * (size_t)tokens);
    float *hidden = hop_alloc(sizeof(float) * (size_t)(tokens * 24));
    hop_forward *f;
    hop_error err = {0};
    fill_tokens(input, tokens);
    for (int p = 0; p < count; p++) starts[p] = players[p].first;
    hop_cuts cuts = {.starts = starts, .count = count, .bits = bits};
    if (hop_forward_new(&f, m, &(hop_forward_options){.cuts = count ? &cuts : NULL}, &err) != HOP_OK ||
        hop_forward_hidden(f, input, tokens, hidden, &err) != HOP_OK)
        fail_msg("%s", err.text);
    hop_forward_free(f);
    free(input);
    return hidden;
}

typedef struct outcome {
    bool identical;
    hop_game *game;
} outcome;

static outcome play(const hop_model *m, const hop_player *players, int count, int bits, hop_transport *t)
{
    int64_t tokens = players[count - 1].first + players[count - 1].tokens;
    int32_t *input = malloc(sizeof *input * (size_t)tokens);
    float *hidden = plain_pass(m, players, count, bits, tokens);
    outcome o = {0};
    hop_error err = {0};
    fill_tokens(input, tokens);
    hop_game_options options = {.players = players, .count = count, .bits = bits, .transport = t};
    if (hop_game_new(&o.game, m, &options, &err) != HOP_OK || hop_game_play(o.game, input, &err) != HOP_OK ||
        hop_game_count(o.game, &err) != HOP_OK ||
        hop_game_compare(o.game, hidden, &o.identical, &err) != HOP_OK)
        fail_msg("%s", err.text);
    free(input);
    hop_free(hidden);
    return o;
}

static void expect_identical(const char *pattern, const sizes *z, int players, int bits)
{
    hop_model *m = random_model(pattern, z);
    hop_player who[HOP_MAX_PLAYERS];
    hop_transport *t;
    assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
    assert_int_equal(hop_players_even(who, players, z->tokens, NULL), HOP_OK);
    outcome o = play(m, who, players, bits, t);
    if (!o.identical)
        fail_msg("%s, %d players, %d bits: other bits than the plain pass", pattern, players, bits);
    for (int64_t i = 0; i < hop_transcript_edges(hop_game_transcript(o.game)); i++) {
        hop_edge e = hop_transcript_edge(hop_game_transcript(o.game), i);
        const char *name = hop_pattern_mixer(&hop_model_config(m)->pattern, e.layer);
        const bool alone = hop_mixer_find(name)->kind == HOP_MIXER_ALONE;
        assert_true((e.bits > 0) == !alone && e.bits == hop_edge_expected(m, who, &e, bits).bits);
    }
    hop_game_free(o.game);
    hop_transport_close(t, 0);
    hop_model_free(m);
}

/* ---- numbers ----------------------------------------------------------------------------------------- */

static void packed_numbers_come_back_as_the_kernels_round_them(void **state)
{
    (void)state;
    enum { N = 501 };
    float x[N], want[N], got[N];
    unsigned char bytes[4 * N + 1];
    hop_rng rng;
    hop_rng_init(&rng, 4, 0);
    for (int bits = HOP_MIN_NUMBER_BITS; bits <= 32; bits++) {
        for (int i = 0; i < N; i++) {
            uint32_t u = hop_rng_u32(&rng);
            if (i % 5 == 0) u = 0x7f800000u | (u & 0x80000003u); /* infinities and NaN */
            if (i % 5 == 1) u &= 0x800fffffu;                    /* denormals */
            memcpy(&x[i], &u, sizeof u);
        }
        memcpy(want, x, sizeof x);
        hop_round_float(want, N, bits);
        size_t size = hop_packed_size(N, bits);
        assert_int_equal(size, ((size_t)N * (size_t)bits + 7) / 8);
        memset(bytes, 0xa5, sizeof bytes);
        hop_pack(bytes, x, N, bits);
        assert_int_equal(bytes[size], 0xa5); /* and not a byte more */
        hop_unpack(got, bytes, N, bits);
        assert_memory_equal(got, want, sizeof got);
    }
    assert_int_equal(hop_packed_size(0, 10), 0);
    hop_pack(bytes, (float[]){1.0f, -2.0f}, 2, 16); /* bfloat16, most significant bits first */
    assert_memory_equal(bytes, ((unsigned char[]){0x3f, 0x80, 0xc0, 0x00}), 4);
}

static void players_of_a_task_hold_its_functions(void **state)
{
    (void)state;
    hop_funccomp t;
    hop_player p[HOP_MAX_PLAYERS];
    assert_int_equal(hop_funccomp_init(&t, 3, 6, (int64_t[]){5, 3}, NULL), HOP_OK);
    assert_int_equal(hop_players_of_funccomp(&t, p), 5);
    for (int64_t at = 0, i = 0; i < 5; at += p[i++].tokens) {
        assert_int_equal(p[i].first, at);
        for (int64_t k = 0; k < p[i].tokens; k++)
            assert_int_equal(hop_funccomp_player(&t, at + k, NULL), p[i].name);
    }
    assert_int_equal(p[4].first + p[4].tokens, t.length);
}

static void segments_are_even_or_where_they_are_cut(void **state)
{
    (void)state;
    hop_player p[HOP_MAX_PLAYERS];
    hop_error err = {0};
    assert_int_equal(hop_players_even(p, 3, 11, NULL), HOP_OK);
    assert_true(p[0].tokens == 4 && p[1].tokens == 4 && p[2].tokens == 3 && p[2].first == 8);
    assert_int_equal(hop_players_even(p, 12, 11, &err), HOP_ERANGE);
    assert_int_equal(hop_players_even(p, 0, 11, &err), HOP_ERANGE);
    assert_int_equal(hop_players_cut(p, (int64_t[]){2, 10}, 2, 11, NULL), HOP_OK);
    assert_true(p[0].tokens == 2 && p[1].tokens == 8 && p[2].tokens == 1 && p[2].name == 2);
    const int64_t bad[][2] = {{0, 6}, {5, 5}, {6, 5}, {5, 11}, {5, 12}};
    const char *const blamed[] = {
        "a cut at 0:", "a cut at 5:", "a cut at 5:", "a cut at 11:", "a cut at 12:"};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(hop_players_cut(p, bad[i], 2, 11, &err), HOP_ERANGE);
        if (strncmp(err.text, blamed[i], strlen(blamed[i])) != 0) fail_msg("%s", err.text);
    }
}

/* ---- games -------------------------------------------------------------------------------------------- */

static void every_mixer_plays_the_plain_pass(void **state)
{
    (void)state;
    for (int i = 0; hop_mixer_at(i); i++) {
        char pattern[80];
        snprintf(pattern, sizeof pattern, "%s full %s", hop_mixer_at(i)->name, hop_mixer_at(i)->name);
        for (int bits = 32; bits >= 16; bits -= 16) expect_identical(pattern, &USUAL, 4, bits);
    }
}

static void every_kind_of_block_plays_the_plain_pass(void **state)
{
    (void)state;
    for (int norm = 0; norm < 3; norm++)
        for (int mlp = 0; mlp < 4; mlp++) {
            sizes z = USUAL;
            z.norm = (hop_norm)norm, z.mlp = (hop_mlp)mlp, z.rope = mlp % 2 ? 10000 : 0;
            expect_identical("full gdn full", &z, 5, 32 - 3 * mlp);
        }
}

/* Of which one reads what the one before read. */
static void blocks_beside_others_play_the_plain_pass(void **state)
{
    (void)state;
    sizes z = USUAL;
    z.beside = 2;
    expect_identical("gdn full mamba2 full", &z, 4, 32);
    expect_identical("gdn mamba2 full gdn", &z, 3, 16);
}

static void blocks_with_norms_elsewhere_play_the_plain_pass(void **state)
{
    (void)state;
    for (int norms = HOP_NORMS_BEHIND; norms <= HOP_NORMS_KEPT; norms++) {
        sizes z = USUAL;
        z.norms = (hop_norms)norms;
        expect_identical("gdn full mamba2 full", &z, 4, 32);
        expect_identical("full moe gdn mlp shortconv", &z, 3, 16);
    }
}

static void a_hybrid_of_twelve_layers_plays_the_plain_pass_for_any_players(void **state)
{
    (void)state;
    const char *pattern = "gdn full mamba2 window full rwkv7 sparse mlstm kda full deltanet rglru";
    static const int players[] = {1, 2, 7, TOKENS};
    for (int i = 0; i < 4; i++)
        for (int bits = 32; bits >= 10; bits -= 11) expect_identical(pattern, &USUAL, players[i], bits);
}

/* Queries of more rows than travel at once, keys of more than one block. */
static void long_segments_play_the_plain_pass(void **state)
{
    (void)state;
    sizes z = USUAL;
    z.tokens = 1300;
    expect_identical("full linear full", &z, 3, 32);
    expect_identical("full linear full", &z, 2, 13);
}

static void a_cut_pass_is_the_ordinary_one_but_for_rounding(void **state)
{
    (void)state;
    hop_model *m = random_model("gdn full window full", &USUAL);
    hop_player who[HOP_MAX_PLAYERS];
    assert_int_equal(hop_players_even(who, 6, TOKENS, NULL), HOP_OK);
    float *ordinary = plain_pass(m, NULL, 0, 0, TOKENS);
    double error[3] = {0}, size = 0;
    static const int bits[3] = {32, 20, 12};
    for (int i = 0; i < 3; i++) {
        float *cut = plain_pass(m, who, 6, bits[i], TOKENS);
        for (int k = 0; k < TOKENS * 24; k++) {
            error[i] = fmax(error[i], fabs((double)cut[k] - (double)ordinary[k]));
            size = fmax(size, fabs((double)ordinary[k]));
        }
        hop_free(cut);
    }
    hop_free(ordinary);
    /* Four layers, each within the mixers' law of 1e-5; then what 11 and 3 bits of fraction round, which must
     * be seen: else nothing was rounded. */
    assert_true(error[0] <= 4e-5 * size && error[1] > error[0] && error[2] > 4 * error[1]);
    hop_model_free(m);
}

/* Keys and values of different widths, from a latent vector, normalised, turned in part, gated: the plain
 * pass under cuts is the ordinary one, the game gives its bits, and replies have the values' width. */
static void attention_with_all_its_options_plays_the_plain_pass(void **state)
{
    (void)state;
    static const char *const options[][2] = {
        {"qk_norm", "1"}, {"rope_dim", "4"}, {"gate", "1"}, {"latent", "11"}};
    for (int64_t wide = 3; wide <= 9; wide += 6) { /* narrower and wider than keys of 6 */
        hop_model *random = random_model("full gdn full", &USUAL), *m = NULL;
        hop_config c;
        hop_player who[HOP_MAX_PLAYERS];
        hop_transport *t;
        assert_int_equal(hop_config_copy(&c, hop_model_config(random), NULL), HOP_OK);
        assert_int_equal(hop_config_set(&c, -1, "full", "value_dim", (double)wide, NULL), HOP_OK);
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            assert_int_equal(hop_config_set(&c, -1, "full", options[i][0], atof(options[i][1]), NULL),
                             HOP_OK);
        assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
        hop_model_init_weights(m, 7, NULL);
        assert_int_equal(hop_players_even(who, 4, TOKENS, NULL), HOP_OK);
        float *ordinary = plain_pass(m, NULL, 0, 0, TOKENS), *cut = plain_pass(m, who, 4, 32, TOKENS);
        double error = 0, size = 0;
        for (int k = 0; k < TOKENS * 24; k++) {
            error = fmax(error, fabs((double)cut[k] - (double)ordinary[k]));
            size = fmax(size, fabs((double)ordinary[k]));
        }
        assert_true(error <= 3e-5 * size); /* three layers, each within the mixers' law of 1e-5 */
        assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
        outcome o = play(m, who, 4, 16, t);
        assert_true(o.identical);
        for (int64_t i = 0; i < hop_transcript_edges(hop_game_transcript(o.game)); i++) {
            hop_edge e = hop_transcript_edge(hop_game_transcript(o.game), i);
            hop_edge_theory x = hop_edge_expected(m, who, &e, 16);
            assert_true(e.bits == x.bits && (e.kind == HOP_EDGE_STATE || x.dim == wide));
        }
        hop_game_free(o.game);
        hop_transport_close(t, 0);
        hop_free(ordinary), hop_free(cut);
        hop_config_free(&c);
        hop_model_free(m), hop_model_free(random);
    }
}

/* The referee's other measure: the ordinary pass shares neither fold nor step with the game. */
static void logits_of_a_game_are_near_those_of_an_ordinary_pass(void **state)
{
    (void)state;
    hop_model *m = random_model("gdn full window full", &USUAL);
    hop_player who[HOP_MAX_PLAYERS];
    int32_t input[TOKENS];
    float logits[TOKENS * VOCAB];
    hop_transport *t;
    hop_forward *f;
    hop_error err = {0};
    double part;
    fill_tokens(input, TOKENS);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, &err), HOP_OK);
    assert_int_equal(hop_forward_all(f, input, TOKENS, logits, &err), HOP_OK);
    assert_int_equal(hop_players_even(who, 6, TOKENS, NULL), HOP_OK);
    assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
    outcome o = play(m, who, 6, 32, t);
    for (int64_t i = 0; i < TOKENS; i++) {
        float *row = logits + i * VOCAB, largest = 0, kept = row[3];
        for (int k = 0; k < VOCAB; k++) largest = fmaxf(largest, fabsf(row[k]));
        assert_int_equal(hop_game_difference(o.game, i, row, &part, &err), HOP_OK);
        /* Four layers within the mixers' law of 1e-5 each, and ten times that for what the norm before the
         * logits may stretch. */
        if (!(part <= 4e-4)) fail_msg("token %d: %g", (int)i, part);
        row[3] += row[3] > 0 ? -largest / 8 : largest / 8; /* no larger than the largest was */
        assert_int_equal(hop_game_difference(o.game, i, row, &part, &err), HOP_OK);
        assert_true(part > 0.12 && part < 0.15); /* an eighth; a seventh when it was the largest itself */
        row[3] = NAN;
        assert_int_equal(hop_game_difference(o.game, i, row, &part, &err), HOP_OK);
        assert_true(part > 1e300);
        row[3] = kept;
    }
    hop_game_free(o.game);
    hop_transport_close(t, 0);
    hop_forward_free(f);
    hop_model_free(m);
}

/* ---- edges ----------------------------------------------------------------------------------------------
 */

static void edges_carry_what_the_theory_says(void **state)
{
    (void)state;
    /* H = 4, d = 6, kv heads 2. linear: H (d d + d) numbers, key-value matrix and normaliser; window 9:
     * min(t, 9) rows of 2 * 2 * 6; full: T H (d + 2). Written out here, not asked of the mixers. */
    hop_model *m = random_model("linear full window", &USUAL);
    const hop_player who[] = {{.name = 3, .first = 0, .tokens = 5},
                              {.name = 2, .first = 5, .tokens = 40},
                              {.name = -1, .first = 45, .tokens = 25}};
    for (int bits = 10; bits <= 32; bits += 11) {
        const int64_t want[][5] = {
            {0, HOP_EDGE_STATE, 0, 1, 4 * (36 + 6)}, {0, HOP_EDGE_STATE, 1, 2, 4 * (36 + 6)},
            {1, HOP_EDGE_REPLY, 0, 1, 40 * 4 * 8},   {1, HOP_EDGE_REPLY, 0, 2, 25 * 4 * 8},
            {1, HOP_EDGE_REPLY, 1, 2, 25 * 4 * 8},   {2, HOP_EDGE_STATE, 0, 1, 5 * 24},
            {2, HOP_EDGE_STATE, 1, 2, 9 * 24}};
        enum { EDGES = sizeof want / sizeof want[0] };
        hop_transport *t;
        assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
        outcome o = play(m, who, 3, bits, t);
        const hop_transcript *s = hop_game_transcript(o.game);
        int64_t total = 0;
        assert_true(o.identical);
        assert_int_equal(hop_transcript_edges(s), EDGES);
        for (int i = 0; i < EDGES; i++) {
            hop_edge e = hop_transcript_edge(s, i);
            assert_true(e.layer == want[i][0] && e.layers == 1 && (int64_t)e.kind == want[i][1]);
            assert_true(e.from == want[i][2] && e.to == want[i][3]);
            assert_int_equal(e.bits, want[i][4] * bits);
            total += e.bits;
        }
        assert_int_equal(hop_transcript_total(s), total);
        assert_int_equal(hop_transcript_queries(s), (40 + 2 * 25) * 4 * 6 * bits);
        hop_game_free(o.game);
        hop_transport_close(t, 0);
    }
    hop_model_free(m);
}

static void layers_of_a_very_deep_network_share_edges(void **state)
{
    (void)state;
    hop_config c;
    hop_model *m;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, "linear^40000 full linear^30000", "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = 24, c.max_positions = 3, c.head_dim = 2, c.heads = c.kv_heads = 1;
    c.norm = HOP_NORM_NONE, c.mlp = HOP_MLP_NONE, c.seeded = true, c.tie = 2;
    hop_config_set(&c, -1, "linear", "normalise", 1, NULL);
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    hop_config_free(&c);
    hop_model_init_weights(m, 1, NULL);
    hop_player who[HOP_MAX_PLAYERS];
    hop_transport *t;
    assert_int_equal(hop_players_even(who, 3, 3, NULL), HOP_OK);
    assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
    outcome o = play(m, who, 3, 32, t);
    const hop_transcript *s = hop_game_transcript(o.game);
    assert_int_equal(hop_transcript_edges(s), 2 + 3 + 2);
    const hop_edge first = hop_transcript_edge(s, 1), full = hop_transcript_edge(s, 4),
                   last = hop_transcript_edge(s, 5);
    assert_true(first.layer == 0 && first.layers == 40000 && first.bits == (int64_t)40000 * (4 + 2) * 32);
    assert_true(full.layer == 40000 && full.layers == 1 && full.bits == (2 + 2) * 32 && full.from == 1);
    assert_true(last.layer == 40001 && last.layers == 30000 && last.from == 0 && last.to == 1);
    assert_int_equal(hop_edge_expected(m, who, &last, 32).bits, last.bits);
    hop_game_free(o.game);
    hop_transport_close(t, 0);
    hop_model_free(m);
}

/* ---- a message is all that there is ---------------------------------------------------------------------
 */

/* Passes on to mailboxes, but flips the first bit (a sign) of the `victim`-th message of a kind. */
typedef struct corrupter {
    hop_transport base;
    hop_transport *under;
    int sent, victim;
} corrupter;

static hop_status corrupt_send(hop_transport *t, hop_route r, const void *bytes, size_t size, hop_error *err)
{
    corrupter *c = (corrupter *)t;
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes, size);
    if (c->sent++ == c->victim) copy[0] ^= 0x80;
    hop_status s = c->under->send(c->under, r, copy, size, err);
    free(copy);
    return s;
}

static hop_status corrupt_recv(hop_transport *t, hop_route r, void *bytes, size_t size, hop_error *err)
{
    corrupter *c = (corrupter *)t;
    return c->under->recv(c->under, r, bytes, size, err);
}

static void one_flipped_bit_in_any_message_is_noticed(void **state)
{
    (void)state;
    hop_model *m = random_model("gdn full", &USUAL);
    hop_player who[HOP_MAX_PLAYERS];
    assert_int_equal(hop_players_even(who, 3, TOKENS, NULL), HOP_OK);
    /* Two states, then 1 query and 1 reply, then 2 queries and 2 replies; -1: none is touched. */
    for (int victim = -1; victim < 8; victim++) {
        corrupter c = {.victim = victim};
        assert_int_equal(hop_transport_in_process(&c.under, NULL), HOP_OK);
        c.base = *c.under;
        c.base.send = corrupt_send;
        c.base.recv = corrupt_recv;
        outcome o = play(m, who, 3, 32, &c.base);
        assert_true(c.sent > 8);
        if (o.identical != (victim < 0)) fail_msg("message %d: identical %d", victim, o.identical);
        hop_game_free(o.game);
        hop_transport_close(c.under, 0);
    }
    hop_model_free(m);
}

static void messages_wait_in_order_and_have_the_length_that_is_expected(void **state)
{
    (void)state;
    hop_transport *t;
    hop_error err = {0};
    char got[4] = "";
    const hop_route there = {.from = 0, .to = 1}, back = {.from = 1, .to = 0};
    assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
    assert_int_equal(t->send(t, there, "a", 2, NULL), HOP_OK);
    assert_int_equal(t->send(t, back, "b", 2, NULL), HOP_OK);
    assert_int_equal(t->send(t, there, "c", 2, NULL), HOP_OK);
    assert_int_equal(t->recv(t, back, got, 2, NULL), HOP_OK);
    assert_string_equal(got, "b");
    assert_int_equal(t->recv(t, there, got, 2, NULL), HOP_OK);
    assert_string_equal(got, "a");
    assert_int_equal(t->recv(t, there, got, 3, &err), HOP_EFORMAT);
    assert_int_equal(t->recv(t, there, got, 2, NULL), HOP_OK);
    assert_string_equal(got, "c");
    assert_int_equal(t->recv(t, there, got, 2, &err), HOP_EFORMAT);
    assert_int_equal(t->send(t, there, "left", 5, NULL), HOP_OK);
    hop_transport_close(t, 0);
}

static void what_cannot_be_played_is_refused(void **state)
{
    (void)state;
    hop_model *m = random_model("full", &USUAL);
    hop_transport *t;
    hop_game *g;
    hop_error err = {0};
    hop_player gap[] = {{.tokens = 5}, {.first = 6, .tokens = 2}}, many[] = {{.tokens = TOKENS + 1}},
               ok[] = {{.tokens = 5}};
    assert_int_equal(hop_transport_in_process(&t, NULL), HOP_OK);
    hop_game_options o = {.players = gap, .count = 2, .bits = 32, .transport = t};
    assert_int_equal(hop_game_new(&g, m, &o, &err), HOP_ERANGE);
    o.players = many, o.count = 1;
    assert_int_equal(hop_game_new(&g, m, &o, &err), HOP_ERANGE);
    o.players = ok, o.bits = 9;
    assert_int_equal(hop_game_new(&g, m, &o, &err), HOP_ERANGE);
    o.bits = 32;
    assert_int_equal(hop_game_new(&g, m, &o, &err), HOP_OK);
    assert_int_equal(hop_game_play(g, (int32_t[]){0, 1, VOCAB, 0, 0}, &err), HOP_ERANGE);
    hop_game_free(g);
    hop_transport_close(t, 0);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_numbers_come_back_as_the_kernels_round_them),
        cmocka_unit_test(players_of_a_task_hold_its_functions),
        cmocka_unit_test(segments_are_even_or_where_they_are_cut),
        cmocka_unit_test(every_mixer_plays_the_plain_pass),
        cmocka_unit_test(every_kind_of_block_plays_the_plain_pass),
        cmocka_unit_test(blocks_beside_others_play_the_plain_pass),
        cmocka_unit_test(blocks_with_norms_elsewhere_play_the_plain_pass),
        cmocka_unit_test(a_hybrid_of_twelve_layers_plays_the_plain_pass_for_any_players),
        cmocka_unit_test(long_segments_play_the_plain_pass),
        cmocka_unit_test(a_cut_pass_is_the_ordinary_one_but_for_rounding),
        cmocka_unit_test(attention_with_all_its_options_plays_the_plain_pass),
        cmocka_unit_test(logits_of_a_game_are_near_those_of_an_ordinary_pass),
        cmocka_unit_test(edges_carry_what_the_theory_says),
        cmocka_unit_test(layers_of_a_very_deep_network_share_edges),
        cmocka_unit_test(one_flipped_bit_in_any_message_is_noticed),
        cmocka_unit_test(messages_wait_in_order_and_have_the_length_that_is_expected),
        cmocka_unit_test(what_cannot_be_played_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
