/* The theorems against numbers that were computed elsewhere, and against brute force. Literals were computed
 * with Python's integers and 50-digit decimals. */
#include "bounds_ask.h"

/* ---- a configuration as an architecture --------------------------------------------------------- */

static void an_architecture_is_read_off_a_configuration(void **state)
{
    (void)state;
    hop_config c;
    hop_arch a;
    hop_error err = {0};
    const hop_arch_options o = {.number_bits = 16, .declared = true};
    hop_config_init(&c);
    c.d_model = 20;
    c.heads = c.kv_heads = 2;
    c.head_dim = 5;
    assert_int_equal(
        hop_pattern_parse(&c.pattern, "linear^4 full window^2 sparse lightning mamba rglru", "", NULL),
        HOP_OK);
    assert_int_equal(hop_config_set(&c, -1, "linear", "normalise", 1, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, -1, "window", "window", 3, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 1, "", "heads", 1, NULL), HOP_OK); /* one of the four is narrower */
    assert_int_equal(hop_config_set(&c, 6, "", "window", 1, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 3, "", "value_dim", 9, NULL), HOP_OK); /* what a token writes, */
    assert_int_equal(hop_config_set(&c, 4, "", "value_dim", 7, NULL), HOP_OK); /* and what it is told */
    assert_int_equal(hop_config_set(&c, 9, "", "inner", 11, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 9, "", "conv", 0, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 9, "", "state_dim", 3, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 10, "", "conv", 0, NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, -1, "sparse", "block", 7, NULL), HOP_OK);
    if (hop_arch_new(&a, &c, &o, &err) != HOP_OK) fail_msg("%s", err.text);
    const hop_arch_layer want[] = {
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 2, .dim = 5, .state_bits = 16 * 2 * (25 + 5)},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 1, .dim = 5, .state_bits = 16 * (25 + 5)},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 2, .dim = 5, .state_bits = 16 * 2 * (25 + 5)},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 2, .dim = 9, .state_bits = 16 * 2 * (45 + 5)},
        {.kind = HOP_LAYER_FULL, .repeat = 1, .heads = 2, .dim = 7, .key_dim = 5},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 2, .dim = 5, .state_bits = 16 * 2 * (2 * 2 * 5)},
        {.kind = HOP_LAYER_LOCAL, .repeat = 1, .heads = 2, .dim = 5}, /* sees itself alone */
        {.kind = HOP_LAYER_OTHER, .repeat = 1, .heads = 2, .dim = 5, .block = 7},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 5, .dim = 1, .state_bits = 16 * 2 * 25},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 9, .dim = 1, .state_bits = 16 * 3 * 11},
        {.kind = HOP_LAYER_LINEAR, .repeat = 1, .heads = 9, .dim = 1, .state_bits = 16 * 10},
    };
    assert_int_equal(a.count, sizeof want / sizeof *want);
    assert_int_equal(a.width, 20);
    for (int64_t i = 0; i < a.count; i++) {
        const hop_arch_layer *got = &a.layers[i], *l = &want[i];
        assert_true(got->kind == l->kind && got->repeat == l->repeat && got->number_bits == 16);
        assert_true(got->heads == l->heads && got->dim == l->dim && got->block == l->block);
        assert_int_equal(got->state_bits, l->state_bits);
        assert_int_equal(got->key_dim, l->key_dim);
    }
    hop_arch_free(&a);
    c.bidirectional = true;
    assert_int_equal(hop_arch_new(&a, &c, &o, NULL), HOP_EDOMAIN);
    assert_null(a.layers);
    hop_config_free(&c);
}

static void a_norm_of_keys_takes_one_of_their_numbers(void **state)
{
    (void)state;
    const hop_arch_options o = {.number_bits = 32, .declared = true};
    const struct {
        int64_t head_dim, norm, key_dim;
    } all[] = {{5, 0, 5}, {5, 1, 4}, {2, 1, 1}, {1, 0, 1}, {1, 1, 1}}; /* never 0: that is "as values" */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_config c;
        hop_arch a;
        hop_config_init(&c);
        c.d_model = 64, c.heads = c.kv_heads = 1, c.head_dim = all[i].head_dim;
        assert_int_equal(hop_pattern_parse(&c.pattern, "full^2", "", NULL), HOP_OK);
        assert_int_equal(hop_config_set(&c, -1, "full", "qk_norm", (double)all[i].norm, NULL), HOP_OK);
        assert_int_equal(hop_config_set(&c, -1, "full", "value_dim", 9, NULL), HOP_OK);
        assert_int_equal(hop_arch_new(&a, &c, &o, NULL), HOP_OK);
        assert_int_equal(a.layers[0].key_dim, all[i].key_dim);
        hop_arch_free(&a);
        hop_config_free(&c);
    }
}

/* ---- the published theorems ------------------------------------------------------------------ */

static void t1_and_t2_speak_from_the_powers_that_they_state(void **state)
{
    (void)state;
    ARCH(full, FULL(2, 1, 8, 16));
    ARCH(hybrid, LINEAR(1, 1152), FULL(1, 1, 8, 16), LINEAR(1, 1152));
    ARCH(deeper, LINEAR(1, 1152), FULL(2, 1, 8, 16), LINEAR(1, 1152));
    const struct {
        const hop_arch *arch;
        int hops;
        const char *id, *from;
        double log10_n;
    } cases[] = {
        {&full, 2, "T1", "10^539.4", 539.4457522298543},
        {&full, 3, "T1", "10^8631.1", 8631.132035677669},
        {&hybrid, 2, "T2", "10^2157.8", 2157.783008919417},
        {&hybrid, 3, "T2", "10^34524.5", 34524.528142710675},
        {&deeper, 3, "T2", "10^34524.5", 34524.528142710675},
        {&hybrid, 64, "T2", "10^(9.76e+77)", 9.759929793889133e77},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_bounds *b = ask_at(cases[i].arch, cases[i].hops, 0);
        const hop_bound *r = result(b, cases[i].id);
        assert_string_equal(r->speaks_from, cases[i].from);
        assert_true(fabs(r->log10_n / cases[i].log10_n - 1) < 1e-12);
        assert_int_equal(r->answer, HOP_ANSWER_IMPOSSIBLE); /* from there on */
        hop_bounds_free(b);
        b = ask_at(cases[i].arch, cases[i].hops, INT64_MAX / 16);
        assert_int_equal(result(b, cases[i].id)->answer, HOP_ANSWER_SILENT);
        hop_bounds_free(b);
    }
}

static void t1_speaks_at_the_very_length(void **state)
{
    (void)state;
    ARCH(a, FULL(1, 1, 2, 1)); /* Hdp = 2: from 2^16 */
    assert_int_equal(answer_of(&a, 1, 65535, "T1"), HOP_ANSWER_SILENT);
    assert_int_equal(answer_of(&a, 1, 65536, "T1"), HOP_ANSWER_IMPOSSIBLE);
    hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = 1, .m = 65534});
    assert_int_equal(result(b, "T1")->answer, HOP_ANSWER_IMPOSSIBLE);
    hop_bounds_free(b);
}

static void t2_counts_the_layers_of_every_gap(void **state)
{
    (void)state;
    ARCH(fits, LINEAR(8, 100));
    ARCH(too_deep, LINEAR(9, 100));
    ARCH(two_full, LINEAR(1, 100), FULL(2, 1, 8, 16));
    hop_bounds *b = ask_at(&fits, 1, 0);
    assert_true(result(b, "T2")->applies); /* 2^(3·1) layers in the only gap */
    hop_bounds_free(b);
    b = ask_at(&too_deep, 1, 0);
    assert_false(result(b, "T2")->applies);
    hop_bounds_free(b);
    b = ask_at(&too_deep, 2, 0); /* 2^12 a gap */
    assert_true(result(b, "T2")->applies);
    hop_bounds_free(b);
    b = ask_at(&two_full, 2, 0); /* as many full layers as hops */
    assert_false(result(b, "T2")->applies);
    assert_non_null(strstr(result(b, "T2")->why, "at most L-1 = 1 full layer, here are 2"));
    hop_bounds_free(b);
}

static void t2_counts_a_larger_state_as_a_larger_dimension(void **state)
{
    (void)state;
    ARCH(same, LINEAR(1, 1152), FULL(1, 1, 8, 16));   /* H(d²+d)p bits: d stays 8 */
    ARCH(larger, LINEAR(1, 1153), FULL(1, 1, 8, 16)); /* a bit more: d' = 9, Hdp = 144 */
    hop_bounds *b = ask_at(&same, 2, 0), *c = ask_at(&larger, 2, 0);
    assert_true(fabs(result(b, "T2")->log10_n - 1024 * log10(128)) < 1e-6);
    assert_true(fabs(result(c, "T2")->log10_n - 1024 * log10(144)) < 1e-6);
    hop_bounds_free(b);
    hop_bounds_free(c);
}

static void t6_and_p5_begin_where_a_table_no_longer_fits_a_reply(void **state)
{
    (void)state;
    ARCH(a, FULL(1, 1, 8, 16)); /* M = 160 */
    hop_bounds *b = ask_at(&a, 1, 0);
    assert_string_equal(result(b, "P5")->speaks_from, "35"); /* m = 33: 33^33 > 2^160 > 32^32 */
    assert_false(result(b, "T6")->applies);
    hop_bounds_free(b);
    b = ask_at(&a, 2, 0);
    assert_string_equal(result(b, "T6")->speaks_from, "101"); /* D = 33, as for P5; 33 + 66 + 2 tokens */
    hop_bounds_free(b);
}

/* ---- stacks without full layers ----------------------------------------------------------------- */

static void p2_finds_the_least_table_exactly(void **state)
{
    (void)state;
    static const struct {
        int64_t bits, entries;
    } least[] = {{0, 2}, {1, 2}, {2, 3}, {4, 3}, {5, 4}, {160, 33}, {1152, 158}, {8704, 889}};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        ARCH(a, LINEAR(1, least[i].bits));
        hop_bounds *b = ask_at(&a, 1, 0);
        assert_int_equal(strtoll(result(b, "P2")->speaks_from, NULL, 10), least[i].entries + 2);
        hop_bounds_free(b);
        assert_int_equal(answer_of(&a, 1, least[i].entries + 1, "P2"), HOP_ANSWER_SILENT);
        assert_int_equal(answer_of(&a, 1, least[i].entries + 2, "P2"), HOP_ANSWER_IMPOSSIBLE);
    }
}

static void the_largest_table_and_the_longest_code_are_those_of_a_full_search(void **state)
{
    (void)state;
    static const int64_t found[][4] = {
        /* hops, n, table, bits of the code */
        {1, 4, 2, 1},   {1, 31, 29, 5}, {1, 44, 42, 6}, {1, 63, 61, 6}, {1, 100, 98, 7}, {1, 200, 198, 8},
        {2, 8, 4, 2},   {2, 31, 26, 5}, {2, 44, 40, 6}, {2, 63, 58, 7}, {2, 100, 96, 8}, {2, 200, 196, 9},
        {3, 16, 8, 3},  {3, 31, 20, 5}, {3, 44, 36, 6}, {3, 63, 52, 7}, {3, 100, 92, 8}, {3, 200, 192, 9},
        {4, 32, 16, 4}, {4, 31, 0, 0},  {4, 44, 24, 5}, {4, 63, 40, 6}, {4, 100, 80, 7}, {4, 200, 184, 9}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        int hops = (int)found[i][0];
        fmpz sizes[4] = {0};
        fmpz_t n, table, length;
        fmpz_init_set_si(n, found[i][1]), fmpz_init(table), fmpz_init(length);
        bool fits = hop__largest_table(table, sizes, hops, n);
        assert_int_equal(fits ? fmpz_get_si(table) : 0, found[i][2]);
        assert_int_equal(hop__most_bits(hops, n).code, found[i][3]);
        if (fits) { /* and back: no shorter prompt has a table of that size */
            hop__sizes_for_table(sizes, hops, table);
            hop__length(length, sizes, hops);
            assert_true(fmpz_cmp(length, n) <= 0);
            fmpz_sub_ui(length, length, 1);
            fmpz_t less;
            fmpz_init(less);
            assert_true(!hop__largest_table(less, sizes, hops, length) || fmpz_cmp(less, table) < 0);
            fmpz_clear(less);
        }
        for (int l = 0; l < 4; l++) fmpz_clear(&sizes[l]);
        fmpz_clear(n), fmpz_clear(table), fmpz_clear(length);
    }
}

/* Every size of at most `left` tokens more: the most bits of a code, and of what the stream holds. */
static void try_all_sizes(int64_t *sizes, int at, int hops, int64_t table, int64_t left, hop__bits *most)
{
    if (at == hops) {
        fmpz list[3] = {sizes[0], sizes[1], sizes[2]};
        hop__bits bits = hop__bits_of(list, hops);
        if (bits.code > most->code) most->code = bits.code;
        if (bits.stream > most->stream) most->stream = bits.stream;
        return;
    }
    for (sizes[at] = 2; table * sizes[at] <= left; sizes[at]++)
        try_all_sizes(sizes, at + 1, hops, table * sizes[at], left - table * sizes[at], most);
}

static void the_widest_stream_is_that_of_a_full_search(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 3; hops++) {
        int64_t before = 0;
        for (int64_t tokens = 1; tokens <= 150; tokens++) {
            int64_t sizes[3] = {0};
            hop__bits most = {0};
            fmpz_t n, least;
            fmpz_init_set_si(n, tokens), fmpz_init(least);
            try_all_sizes(sizes, 0, hops, 1, tokens - 2, &most);
            hop__bits found = hop__most_bits(hops, n);
            assert_int_equal(found.code, most.code);
            assert_int_equal(found.stream, most.stream);
            for (int64_t bits = before + 1; bits <= most.stream; bits++) { /* and back */
                hop__length_for_stream_bits(least, hops, bits);
                assert_int_equal(fmpz_get_si(least), tokens);
            }
            before = most.stream;
            fmpz_clear(n), fmpz_clear(least);
        }
    }
}

static void the_accuracy_ceiling_is_the_root_rounded_up(void **state)
{
    (void)state;
    static const struct {
        int64_t table, bits;
        double ceiling;
    } known[] = {
        {2, 0, 0.5},
        {2, 1, 0.88997213556164044874},
        {2, 2, 1},
        {16, 32, 0.71033068847584501471},
        {16, 63, 0.99904}, /* near 1; only its side is checked below */
        {16, 64, 1},
        {996, 8704, 0.91835269668263850286},
        {1000, 1, 0.00238975771096227057},
        {65536, 524288, 0.56180868814222601156},
        {1000000000, 1000000000, 0.041830566937043937359},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double got;
        assert_int_equal(hop_accuracy_ceiling(&got, known[i].table, known[i].bits, NULL), HOP_OK);
        if (known[i].bits == 63) {
            assert_true(got < 1 && got > 0.99);
            continue;
        }
        assert_true(got >= known[i].ceiling && got <= nextafter(nextafter(known[i].ceiling, 2), 2));
    }
    double last = 0;
    for (int64_t q = 0; q <= 70; q++) {
        double got;
        hop_accuracy_ceiling(&got, 16, q, NULL);
        assert_true(got > last || (got == 1 && q >= 64));
        last = got;
    }
    double unused;
    assert_int_equal(hop_accuracy_ceiling(&unused, 1, 5, NULL), HOP_EDOMAIN);
    assert_int_equal(hop_accuracy_ceiling(&unused, 5, -1, NULL), HOP_EDOMAIN);
    assert_int_equal(hop_accuracy_ceiling(&unused, 5, 0.5, NULL), HOP_EDOMAIN);
    assert_int_equal(hop_accuracy_ceiling(&unused, 5, NAN, NULL), HOP_EDOMAIN);
    assert_int_equal(hop_accuracy_ceiling(&unused, INT64_MAX, 0x1p80, NULL), HOP_OK); /* beyond 64 bits */
    assert_true(unused == 1);
}

static void a_ceiling_is_printed_rounded_up(void **state)
{
    (void)state;
    static const struct {
        double ceiling;
        const char *shown;
    } cases[] = {{1, "1"},
                 {0.5, "0.5"},
                 {0.91835269668263850, "0.918353"},
                 {0.12345612, "0.123457"},
                 {0.0999999999, "0.1"},
                 {0.9999999, "0.9999999"},
                 {1.0000000000000001e-18, "1e-18"},
                 {1.0000000000000011e-18, "1.00001e-18"},
                 {2.389751e-05, "2.38976e-05"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[32];
        hop_accuracy_print(out, cases[i].ceiling);
        assert_string_equal(out, cases[i].shown);
    }
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) { /* never below, never far above */
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double ceiling = ldexp((double)(x >> 12), -52 - (int)(x % 40));
        char out[32];
        if (ceiling <= 0) continue;
        hop_accuracy_print(out, ceiling);
        assert_true(strtod(out, NULL) >= ceiling && strtod(out, NULL) <= ceiling * (1 + 2e-5));
        assert_true(strtod(out, NULL) < 1);
    }
}

/* ---- P4 -------------------------------------------------------------------------------------------- */

static void p4_finds_the_shortest_prompt_of_all(void **state)
{
    (void)state;
    static const int64_t shortest[][6] = {/* A_0, A_1, M, n, m, n_1: by trying every pair */
                                          {0, 0, 3, 8, 2, 2},          {0, 0, 4, 10, 2, 3},
                                          {0, 0, 40, 32, 10, 2},       {30, 10, 20, 98, 24, 3},
                                          {100, 100, 16, 674, 42, 15}, {0, 64, 24, 140, 6, 22},
                                          {64, 0, 24, 104, 34, 2},     {7, 1000, 9, 794, 4, 197}};
    for (size_t i = 0; i < sizeof shortest / sizeof *shortest; i++) {
        const int64_t *k = shortest[i];
        ARCH(a, LINEAR(1, k[0]), FULL(1, 1, k[2] - 2, 1), LINEAR(1, k[1]));
        hop_bounds *b = ask_at(&a, 2, 0);
        const hop_bound *r = result(b, "P4");
        assert_int_equal(strtoll(r->speaks_from, NULL, 10), k[3]);
        assert_int_equal(strtoll(r->sizes[0], NULL, 10), k[4]);
        assert_int_equal(strtoll(r->sizes[1], NULL, 10), k[5]);
        hop_bounds_free(b);
        const int64_t fan = k[5];
        b = ask(&(hop_question){.arch = &a, .hops = 2, .m = k[4], .fan = &fan});
        assert_int_equal(result(b, "P4")->answer, HOP_ANSWER_IMPOSSIBLE);
        hop_bounds_free(b);
    }
}

static void p4_of_the_example_begins_at_38215(void **state)
{
    (void)state;
    ARCH(a, LINEAR(1, 1152), FULL(1, 1, 8, 16), LINEAR(1, 1152));
    hop_bounds *b = ask_at(&a, 2, 40000);
    const hop_bound *r = result(b, "P4");
    assert_string_equal(r->speaks_from, "38215");
    assert_string_equal(r->sizes[0], "371");
    assert_string_equal(r->sizes[1], "102");
    assert_int_equal(r->answer, HOP_ANSWER_IMPOSSIBLE);
    hop_bounds_free(b);
    hop_answer last = HOP_ANSWER_SILENT;
    const int64_t lengths[] = {1, 100, 38214, 38215, 38216, 1000000, INT64_MAX / 2};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) { /* once impossible, always */
        hop_answer now = answer_of(&a, 2, lengths[i], "P4");
        assert_int_equal(now, lengths[i] >= 38215 ? HOP_ANSWER_IMPOSSIBLE : HOP_ANSWER_SILENT);
        assert_true(last == HOP_ANSWER_SILENT || now == HOP_ANSWER_IMPOSSIBLE);
        last = now;
    }
}

static void p4_says_when_its_search_was_cut(void **state)
{
    (void)state;
    ARCH(vast, FULL(1, 4096, 65536, 1024), LINEAR(1, 1000000000000000000));
    ARCH(small, FULL(1, 1, 8, 16), LINEAR(1, 1152));
    hop_bounds *b = ask_at(&vast, 2, 0);
    assert_non_null(strstr(result(b, "P4")->why, "a shorter n may exist"));
    hop_bounds_free(b);
    b = ask_at(&small, 2, 0);
    assert_null(strstr(result(b, "P4")->why, "a shorter n may exist"));
    hop_bounds_free(b);
}

static void more_hops_contain_fewer(void **state)
{
    (void)state;
    ARCH(a, LINEAR(1, 1152), FULL(1, 1, 8, 16), LINEAR(1, 1152));
    double last = 0;
    for (int hops = 2; hops <= 5; hops++) {
        hop_bounds *b = ask_at(&a, hops, 0);
        const hop_bound *p4 = result(b, "P4"), *p6 = result(b, "P6");
        assert_int_equal(p4->answer, HOP_ANSWER_IMPOSSIBLE);
        assert_true(p4->log10_n > last && p4->log10_n < p6->log10_n);
        if (hops > 2) assert_string_equal(p4->sizes[hops - 1], "2");
        last = p4->log10_n;
        hop_bounds_free(b);
    }
}

/* ---- honesty ------------------------------------------------------------------------------------------- */

static void an_unknown_mixer_silences_what_needs_to_know_all(void **state)
{
    (void)state;
    const hop_arch_layer layers[] = {
        LINEAR(1, 100), {.kind = HOP_LAYER_OTHER, .repeat = 1}, FULL(1, 1, 8, 16)};
    hop_arch a = {.layers = layers, .count = 3};
    hop_bounds *b = ask_at(&a, 2, 1000000000);
    for (int i = 0; i < b->count; i++) {
        assert_int_equal(b->results[i].answer, HOP_ANSWER_SILENT);
        assert_true(b->results[i].why[0] != 0);
    }
    assert_true(isnan(b->accuracy_ceiling));
    hop_bounds_free(b);
}

static void nothing_is_both_possible_and_impossible(void **state)
{
    (void)state;
    const int64_t lengths[] = {10, 1000, 1000000000};
    for (int shape = 0; shape < 31; shape++) { /* every pattern of up to four layers */
        hop_arch_layer layers[5];
        int count = 0;
        for (int bits = shape + 1; bits > 1; bits /= 2)
            if (count < 5)
                layers[count++] =
                    bits % 2 ? (hop_arch_layer)FULL(1, 1, 40, 16) : (hop_arch_layer)LINEAR(1, 1000);
        if (!count) continue;
        hop_arch a = {.layers = layers, .count = count};
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (int hops = 1; hops <= 3; hops++) {
                hop_bounds *b = ask_at(&a, hops, lengths[k]);
                bool can = false, cannot = false;
                for (int i = 0; i < b->count; i++) {
                    can = can || b->results[i].answer == HOP_ANSWER_POSSIBLE;
                    cannot = cannot || b->results[i].answer == HOP_ANSWER_IMPOSSIBLE;
                }
                assert_false(can && cannot);
                hop_bounds_free(b);
            }
    }
}

static void questions_without_sense_are_refused(void **state)
{
    (void)state;
    ARCH(good, FULL(1, 1, 8, 16));
    ARCH(no_heads, FULL(1, 0, 8, 16));
    ARCH(negative, LINEAR(1, -1));
    const hop_arch empty = {0}, thin = {.layers = good_layers, .count = 1, .width = -1};
    const hop_arch_layer keyless_layer = {
        .kind = HOP_LAYER_FULL, .repeat = 1, .heads = 1, .dim = 8, .number_bits = 16, .key_dim = -1};
    const hop_arch keyless = {.layers = &keyless_layer, .count = 1};
    const int64_t fan1 = 1;
    const hop_question bad[] = {
        {.arch = &good, .hops = 0},          {.arch = &good, .hops = 65},
        {.arch = &good, .hops = 1, .n = -1}, {.arch = &good, .hops = 1, .n = 5, .m = 5},
        {.arch = &good, .hops = 1, .m = 1},  {.arch = &good, .hops = 2, .m = 2, .fan = &fan1},
        {.arch = &no_heads, .hops = 1},      {.arch = &negative, .hops = 1},
        {.arch = &empty, .hops = 1},         {.arch = &thin, .hops = 1},
        {.arch = &keyless, .hops = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hop_bounds *b = NULL;
        hop_error err = {0};
        assert_int_equal(hop_bounds_new(&b, &bad[i], &err), HOP_EDOMAIN);
        assert_null(b);
        assert_true(err.text[0] != 0);
    }
}

static bool refuse(void *ctx, const char *what, double done, double total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return false;
}

static void it_stops_when_told_to(void **state)
{
    (void)state;
    ARCH(a, LINEAR(1, 1152), FULL(3, 1, 8, 16), LINEAR(1, 1152));
    const hop_progress stop = {refuse, NULL};
    hop_bounds *b = NULL;
    hop_error err = {0};
    hop_question q = {.arch = &a, .hops = 4, .progress = &stop};
    assert_int_equal(hop_bounds_new(&b, &q, &err), HOP_ESTOPPED);
    hop_reach r;
    assert_int_equal(hop_reach_find(&r, &a, 100, true, &stop, &err), HOP_ESTOPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_architecture_is_read_off_a_configuration),
        cmocka_unit_test(a_norm_of_keys_takes_one_of_their_numbers),
        cmocka_unit_test(t1_and_t2_speak_from_the_powers_that_they_state),
        cmocka_unit_test(t1_speaks_at_the_very_length),
        cmocka_unit_test(t2_counts_the_layers_of_every_gap),
        cmocka_unit_test(t2_counts_a_larger_state_as_a_larger_dimension),
        cmocka_unit_test(t6_and_p5_begin_where_a_table_no_longer_fits_a_reply),
        cmocka_unit_test(p2_finds_the_least_table_exactly),
        cmocka_unit_test(the_largest_table_and_the_longest_code_are_those_of_a_full_search),
        cmocka_unit_test(the_widest_stream_is_that_of_a_full_search),
        cmocka_unit_test(the_accuracy_ceiling_is_the_root_rounded_up),
        cmocka_unit_test(a_ceiling_is_printed_rounded_up),
        cmocka_unit_test(p4_finds_the_shortest_prompt_of_all),
        cmocka_unit_test(p4_of_the_example_begins_at_38215),
        cmocka_unit_test(p4_says_when_its_search_was_cut),
        cmocka_unit_test(more_hops_contain_fewer),
        cmocka_unit_test(an_unknown_mixer_silences_what_needs_to_know_all),
        cmocka_unit_test(nothing_is_both_possible_and_impossible),
        cmocka_unit_test(questions_without_sense_are_refused),
        cmocka_unit_test(it_stops_when_told_to),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
