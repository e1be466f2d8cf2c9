/* The ladder's page: what it must show, what it must never contain, and that it is well formed. */
#include <hopbound/over.h>

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_RUNGS 8

typedef struct sample {
    hop_ladder_row rungs[MAX_RUNGS];
    hop_ladder_margin layers[MAX_RUNGS * (MAX_RUNGS + 1)];
    hop_ladder_page page;
    char sizes[MAX_RUNGS][24], pattern[MAX_RUNGS][24];
} sample;

static sample *sample_new(int rungs)
{
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    int64_t layers = 0;
    for (int hops = 1; hops <= rungs; hops++) {
        hop_ladder_row *r = &s->rungs[hops - 1];
        *r = (hop_ladder_row){.built = true,
                              .hops = hops,
                              .n = 1000 + hops,
                              .sizes = s->sizes[hops - 1],
                              .kind = "full",
                              .pattern = s->pattern[hops - 1],
                              .verdict = HOP_LADDER_PROVED,
                              .layers = hops + 1,
                              .full_layers = hops + 1};
        snprintf(s->sizes[hops - 1], sizeof s->sizes[0], "m=16, fan %d", hops);
        snprintf(s->pattern[hops - 1], sizeof s->pattern[0], "full^%d", hops + 1);
        r->d_model = 15, r->head_dim = 11, r->parameters = 2070;
        r->log10_inputs = 20.4707, r->score_gap = 9.437, r->wrong_mass = 3.231e-4, r->clip_margin = 0.9951;
        r->readout_margin = 7.99, r->instances = r->correct = 1000;
        r->cut_bits = 8, r->cut_correct = 1000, r->seconds = 0.25;
        for (int l = 0; l <= hops; l++)
            s->layers[layers++] = (hop_ladder_margin){hops, l, 16, l, 9.437, 3.231e-4, 0.9951};
    }
    s->page = (hop_ladder_page){.rungs = s->rungs,
                                .rung_count = rungs,
                                .layers = s->layers,
                                .layer_count = layers,
                                .version = "0.2.0",
                                .isa = "avx2",
                                .command = "hopbound ladder -o ladder",
                                .model = "causal, <in one pass>",
                                .idealised = "activations are float32"};
    return s;
}

static hop_text render(const hop_ladder_page *page)
{
    hop_text t = {0};
    assert_int_equal(hop_report_ladder(&t, page), HOP_OK);
    assert_non_null(t.s);
    assert_int_equal(strlen(t.s), t.len); /* no NUL inside */
    return t;
}

static hop_text render_drawing(const hop_ladder_page *page)
{
    hop_text t = {0};
    assert_int_equal(hop_report_ladder_svg(&t, page), HOP_OK);
    assert_non_null(t.s);
    return t;
}

static void assert_has(const hop_text *t, const char *what)
{
    if (!strstr(t->s, what)) fail_msg("the page lacks: %s", what);
}

static void assert_lacks(const hop_text *t, const char *what)
{
    if (strstr(t->s, what)) fail_msg("the page contains: %s", what);
}

static int count(const hop_text *t, const char *what)
{
    int n = 0;
    for (const char *p = t->s; (p = strstr(p, what)); p += strlen(what)) n++;
    return n;
}

/* ---- a small checker of tags ------------------------------------------------------------------ */

typedef struct tag {
    const char *name;
    int len;
} tag;

static bool is_void(tag t)
{
    return (t.len == 4 && !strncmp(t.name, "meta", 4)) || (t.len == 2 && !strncmp(t.name, "br", 2));
}

/* The tag's ">", past quoted attributes; fails on a "<" or the text's end before it. */
static const char *tag_end(const char *p)
{
    for (char quote = 0; *p; p++) {
        if (quote) {
            if (*p == quote) quote = 0;
        } else if (*p == '"' || *p == '\'') {
            quote = *p;
        } else if (*p == '>') {
            return p;
        } else if (*p == '<') {
            break;
        }
    }
    fail_msg("a tag does not end");
    return p;
}

/* Every "&" starts a character reference. */
static void assert_references(const char *s)
{
    for (const char *p = s; (p = strchr(p, '&')); p++) {
        size_t n = strspn(p + 1, "#0123456789abcdefghijklmnopqrstuvwxyz");
        if (n == 0 || p[1 + n] != ';') fail_msg("a bare & at: %.20s", p);
    }
}

static void assert_balanced(const char *s)
{
    tag open[64];
    int depth = 0;
    for (const char *p = s; (p = strchr(p, '<'));) {
        if (p[1] == '!') {
            p = tag_end(p + 1);
            continue;
        }
        bool closing = p[1] == '/';
        tag t = {p + 1 + closing, 0};
        while (isalnum((unsigned char)t.name[t.len])) t.len++;
        if (t.len == 0) fail_msg("a bare < at: %.20s", p);
        p = tag_end(p + 1);
        if (closing) {
            if (depth == 0) fail_msg("</%.*s> closes nothing", t.len, t.name);
            tag o = open[--depth];
            if (o.len != t.len || strncmp(o.name, t.name, (size_t)t.len) != 0)
                fail_msg("<%.*s> is closed by </%.*s>", o.len, o.name, t.len, t.name);
        } else if (p[-1] != '/' && !is_void(t)) {
            assert_true(depth < 64);
            open[depth++] = t;
        }
    }
    if (depth) fail_msg("<%.*s> stays open", open[depth - 1].len, open[depth - 1].name);
    assert_references(s);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void every_rung_appears_in_the_drawing_and_in_the_table(void **state)
{
    (void)state;
    sample *s = sample_new(MAX_RUNGS);
    hop_text t = render(&s->page);
    for (int hops = 1; hops <= MAX_RUNGS; hops++) {
        char want[80];
        snprintf(want, sizeof want, "<td data-label=\"hops\" class=\"num\">%d</td>", hops);
        assert_has(&t, want);
        snprintf(want, sizeof want, "<tspan class=\"var\">L</tspan> = %d</text>", hops);
        assert_has(&t, want);
        snprintf(want, sizeof want, "<code>full^%d</code>", hops + 1);
        assert_has(&t, want);
    }
    assert_int_equal(count(&t, "data-label=\"verdict\""), MAX_RUNGS);
    assert_int_equal(count(&t, "data-label=\"addresses\""), s->page.layer_count);
    hop_text_free(&t);
    free(s);
}

static void a_layer_with_a_margin_gets_a_solid_arrow_and_one_without_a_dashed_one(void **state)
{
    (void)state;
    sample *s = sample_new(3);
    hop_text t = render(&s->page);
    assert_int_equal(count(&t, "class=\"ask head\""), 2 + 3 + 4 + 1); /* and one in the legend */
    assert_int_equal(count(&t, "class=\"meant head\""), 1);
    hop_text_free(&t);

    s->layers[1].score_gap = -0.5; /* analysed, but not what was hoped for */
    s->page.layer_count -= 2;      /* the proof stopped before the last two layers of the last rung */
    t = render(&s->page);
    assert_int_equal(count(&t, "class=\"ask head\""), 1 + 3 + 2 + 1);
    assert_int_equal(count(&t, "class=\"meant head\""), 1 + 2 + 1);
    hop_text_free(&t);
    free(s);
}

/* "Any weights" of what, and what is left aside, on the page and under the drawing; of plans that are impossible
 * at longer prompts only, the head says so. */
static void what_verdicts_suppose_stands_beside_them(void **state)
{
    (void)state;
    sample *s = sample_new(1);
    hop_text t = render(&s->page);
    assert_int_equal(count(&t, "causal, &lt;in one pass&gt;"), 2); /* under the figure, and in its meaning */
    assert_int_equal(count(&t, "activations are float32"), 1);
    assert_has(&t, "at the same length or, where the row says so, from a longer one on");
    hop_text_free(&t);
    t = render_drawing(&s->page);
    assert_has(&t, "Any weights: causal, &lt;in one pass&gt;.");
    hop_text_free(&t);
    const hop_model_row row = {.model = "x",
                               .hops_impossible = 1,
                               .impossible_from_n = "99",
                               .impossible_log10_n = 1.99,
                               .impossible_by = "P2",
                               .impossible_at_n = 1,
                               .impossible_beyond_vocabulary = 1};
    const hop_models_answer models = {.n = 100, .models = {&row, 1}, .model = "causal", .idealised = "wide"};
    const int64_t lengths[] = {64, 128};
    const hop_over_point points[] = {{.name = "x", .n = 64, .hops_that_fit = 5, .hops_possible = 5},
                                     {.name = "x", .n = 128, .hops_that_fit = 6, .hops_possible = 3}};
    const hop_over_curve curve = {.name = "x<y"};
    const hop_over_answer over = {
        .lengths = {lengths, 2}, .points = {points, 2}, .curves = {&curve, 1}, .differ = "a < b"};
    t = (hop_text){0};
    assert_int_equal(hop_report_models(&t, &models, &over), HOP_OK);
    assert_has(&t, ">x&lt;y</text>");
    assert_has(&t, "<p>a &lt; b</p>");
    assert_has(
        &t,
        "any weights of networks that are causal. Possible is said of weights that are known, where wide.");
    assert_has(&t, ">99*</td>");
    hop_text_free(&t);
    free(s);
}

/* Green above, red below, told apart by words and shapes as well. */
static void both_halves_are_drawn_with_their_theorems(void **state)
{
    (void)state;
    sample *s = sample_new(1);
    hop_ladder_row below[2] = {
        {.hops = 1, .n = 37, .pattern = "L F L", .verdict = HOP_LADDER_IMPOSSIBLE, .theorem = "P4"},
        {.hops = 1, .n = 37, .pattern = "F^2", .verdict = HOP_LADDER_FROM_N, .theorem = "P7"}};
    below[1].speaks_from_n = "1149185";
    s->page.others = below, s->page.other_count = 2;
    hop_text t = render_drawing(&s->page);
    assert_has(&t, ">impossible</text>");
    assert_has(&t, "for any weights: theorem P4");
    assert_has(&t, "= 1,149,185 on: theorem P7");
    assert_has(&t, ">proved</text>");
    assert_int_equal(count(&t, "class=\"onfull mid\""), 2 + 1 + 2); /* F F above; L F L and F F below */
    assert_balanced(t.s);
    hop_text_free(&t);
    free(s);
}

static void numbers_are_written_for_people_and_bounds_are_rounded_to_the_safe_side(void **state)
{
    (void)state;
    sample *s = sample_new(1);
    s->rungs[0].n = 1234567;
    s->rungs[0].enumerated = 4096;
    s->rungs[0].readout_margin = -2.0;
    hop_text t = render(&s->page);
    assert_has(&t, ">1,234,567</td>");
    assert_has(&t, "3.0\u2009\u00d7\u200910<sup>20</sup>"); /* 10^20.4707 */
    assert_has(&t, "<small>4,096 run</small>");
    assert_has(&t, ">9.43</td>");                                 /* 9.437, at least */
    assert_has(&t, "3.24\u2009\u00d7\u200910<sup>\u22124</sup>"); /* 3.231e-4, at most */
    assert_has(&t, ">0.995</td>");
    assert_has(&t, ">\u22122.00</td>");
    assert_has(&t, "1,000\u2009/\u20091,000<small>8 bits</small>");
    hop_text_free(&t);
    free(s);
}

static void bounds_next_to_a_power_of_ten_stay_on_the_safe_side(void **state)
{
    (void)state;
    sample *s = sample_new(1);
    s->rungs[0].score_gap = 9.9999;
    s->rungs[0].wrong_mass = 0.0099999;
    s->rungs[0].clip_margin = 1.0;
    s->rungs[0].log10_inputs = 6.9999999;
    hop_text t = render(&s->page);
    assert_has(&t, ">9.90</td>");
    assert_has(&t, ">0.0100</td>");
    assert_has(&t, ">1.00</td>");
    assert_has(&t, "1.0\u2009\u00d7\u200910<sup>7</sup>");
    hop_text_free(&t);
    free(s);
}

static void a_number_that_is_not_finite_shows_as_a_dash(void **state)
{
    (void)state;
    sample *s = sample_new(1);
    hop_ladder_row *r = &s->rungs[0];
    r->score_gap = r->readout_margin = NAN;
    r->wrong_mass = r->seconds = INFINITY;
    r->clip_margin = r->log10_inputs = -INFINITY;
    r->instances = 0;
    s->layers[0].score_gap = s->layers[0].wrong_mass = s->layers[0].clip_margin = NAN;
    hop_text t = render(&s->page);
    assert_int_equal(count(&t, ">\u2013</td>"), 8 + 3);
    const char *body = strstr(t.s, "<main>");
    assert_non_null(body);
    assert_null(strstr(body, "nan"));
    assert_null(strstr(body, ">inf"));
    assert_null(strstr(body, ">-inf"));
    hop_text_free(&t);
    free(s);
}

static void text_is_escaped_wherever_a_caller_can_put_it(void **state)
{
    (void)state;
    const char *evil = "<b a=\"1\" c='2'>&amp;";
    const char *safe = "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;";
    sample *s = sample_new(1);
    hop_ladder_row *r = &s->rungs[0];
    r->sizes = r->pattern = r->why = evil;
    s->page.version = s->page.isa = s->page.command = evil;
    hop_text t = render(&s->page);
    assert_lacks(&t, "<b a");
    assert_lacks(&t, "<script");
    assert_int_equal(count(&t, safe), 7); /* sizes twice: table and drawing; the other five once */
    assert_balanced(t.s);
    hop_text_free(&t);
    free(s);
}

static void bytes_that_are_not_text_become_replacement_characters(void **state)
{
    (void)state;
    /* A control character, a stray byte, an overlong "/", a surrogate, a character cut by the field's end. */
    static const char *const bad[] = {"a\001b", "a\x80z", "a\xc0\xafz", "a\xed\xa0\x80z", "a\xe2\x80"};
    static const char *const shown[] = {"a\ufffdb", "a\ufffdz", "a\ufffd\ufffdz", "a\ufffd\ufffd\ufffdz",
                                        "a\ufffd\ufffd"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        sample *s = sample_new(1);
        char why[64], want[64];
        snprintf(why, sizeof why, "why %s", bad[i]);
        s->rungs[0].why = why;
        hop_text t = render(&s->page);
        snprintf(want, sizeof want, ": why %s</li>", shown[i]);
        assert_has(&t, want);
        hop_text_free(&t);
        free(s);
    }
}

static void why_a_network_is_not_proved_is_said_in_full(void **state)
{
    (void)state;
    sample *s = sample_new(2);
    hop_ladder_row *r = &s->rungs[1];
    char why[1000] = "";
    memset(why, 'w', sizeof why - 1);
    r->verdict = HOP_LADDER_REFUTED;
    r->why = why;
    hop_text t = render(&s->page);
    assert_has(&t, r->why);
    assert_has(&t, "<li class=\"v-refuted\"><var>L</var> = 2");
    assert_lacks(&t, "<li class=\"v-proved\"><var>L</var>"); /* nothing is to be said of the other */
    hop_text_free(&t);
    free(s);
}

static void the_page_needs_nothing_from_outside_and_runs_nothing(void **state)
{
    (void)state;
    static const char *const forbidden[] = {"http:",   "https:", "<script", "<link",
                                            "@import", "url(",   "src=",    "<img"};
    sample *s = sample_new(MAX_RUNGS);
    hop_text t = render(&s->page);
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) assert_lacks(&t, forbidden[i]);
    assert_int_equal(strncmp(t.s, "<!DOCTYPE html>\n<html lang=\"en\">", 32), 0);
    assert_has(&t, "<meta charset=\"utf-8\">");
    hop_text_free(&t);
    free(s);
}

static void tags_are_balanced_for_any_number_of_rungs(void **state)
{
    (void)state;
    for (int rungs = 0; rungs <= MAX_RUNGS; rungs++) {
        sample *s = sample_new(rungs);
        hop_text t = render(&s->page);
        assert_balanced(t.s);
        hop_text_free(&t);
        t = render_drawing(&s->page);
        assert_balanced(t.s);
        hop_text_free(&t);
        free(s);
    }
}

static void a_page_of_nothing_is_a_page(void **state)
{
    (void)state;
    hop_ladder_page nothing = {0};
    hop_text t = render(&nothing);
    assert_has(&t, "nothing to show");
    assert_lacks(&t, "<table");
    assert_balanced(t.s);
    hop_text_free(&t);
    t = render_drawing(&nothing);
    assert_balanced(t.s);
    hop_text_free(&t);
}

static void absurd_rungs_are_not_drawn_but_listed(void **state)
{
    (void)state;
    sample *s = sample_new(3);
    s->rungs[0].hops = -5;
    s->rungs[1].layers = s->rungs[1].full_layers = INT64_MAX;
    s->rungs[2].hops = 2000000000;
    s->rungs[2].parameters = INT64_MIN;
    s->rungs[2].log10_inputs = 1e300;
    s->layers[0].layer = -1;
    s->layers[1].player = -1;
    hop_text t = render(&s->page);
    assert_int_equal(count(&t, "too tall to draw"), 3);
    assert_has(&t, "9,223,372,036,854,775,807");
    assert_has(&t, "\u22129,223,372,036,854,775,808");
    assert_has(&t, ">2,000,000,000</td>");
    assert_true(t.len < 100000);
    assert_balanced(t.s);
    hop_text_free(&t);
    free(s);
}

static void the_same_numbers_give_the_same_bytes(void **state)
{
    (void)state;
    sample *s = sample_new(4);
    hop_text a = render(&s->page), b = render(&s->page);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.s, b.s, a.len);
    hop_text_free(&a);
    hop_text_free(&b);
    free(s);
}

static void hybrids_share_a_row_and_what_was_not_built_has_its_theorem(void **state)
{
    (void)state;
    hop_ladder_row others[4] = {
        {.built = true,
         .hops = 2,
         .kind = "hybrid, <gdn>",
         .mixer = "<gdn>",
         .state_bits = 128,
         .verdict = HOP_LADDER_PROVED,
         .instances = 5,
         .correct = 5},
        {.built = true,
         .hops = 2,
         .kind = "hybrid, rwkv7",
         .mixer = "rwkv7",
         .state_bits = 976,
         .below_impossible_from_n = "28578",
         .below_theorem = "P4'",
         .verdict = HOP_LADDER_PROVED,
         .instances = 7,
         .correct = 7},
        {.hops = 2, .kind = "extremal", .pattern = "L^9", .verdict = HOP_LADDER_SILENT, .why = "theorem T2"},
        {.hops = 2, .kind = "fewer", .pattern = "F^2", .verdict = HOP_LADDER_FROM_N, .theorem = "P7"}};
    hop_ladder_row one = {.built = true,
                          .hops = 2,
                          .layers = 3,
                          .full_layers = 3,
                          .pattern = "full^3",
                          .verdict = HOP_LADDER_PROVED};
    one.state_limit = 208;
    others[3].speaks_from_n = "10^36.5";
    hop_ladder_page page = {.rungs = &one, .rung_count = 1, .others = others, .other_count = 4};
    hop_text t = render(&page);
    assert_has(&t, "Table 3");
    assert_has(&t, "<b>&lt;gdn&gt;</b> 128</span>");
    assert_int_equal(count(&t, "hybrids: one linear layer"), 1);
    assert_has(&t, "12\u2009/\u200912"); /* both together */
    assert_has(&t, "for 2 linear mixers, 1 of them with states of at most 208 bits");
    assert_has(&t, "<b>rwkv7</b> 976 bits, impossible below from <var>n</var> = 28,578</li>");
    assert_has(&t, "</svg>open</span><small>theorem T2</small>");
    assert_has(&t, "impossible from <var>n</var> = 10<sup>36.5</sup> on: theorem P7");
    assert_lacks(&t, "from_n<"); /* a word for programs */
    assert_balanced(t.s);
    hop_text_free(&t);
}

static void plans_are_drawn_as_chips_or_written_out(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        int full, linear;
        const char *power;
    } cases[] = {{"L F L", 1, 2, NULL},
                 {"(L F)^2 L", 2, 3, NULL},
                 {"L^(2^12) F L^(2^12)", 1, 2, "<sup>2<sup>12</sup></sup>"},
                 {"(L^(2^27) F)^2 L^(2^27)", 2, 3, "<sup>2<sup>27</sup></sup>"},
                 {"F^3", 3, 0, NULL},
                 {"L^16 F", 1, 1, "<sup>16</sup>"},
                 {"F^2 full", 0, 0, NULL},
                 {"(F", 0, 0, NULL},
                 {"F)", 0, 0, NULL},
                 {"((F)^2)^2", 0, 0, NULL},
                 {"F^", 0, 0, NULL},
                 {"(F)^0", 0, 0, NULL},
                 {"(L F)^9 L", 0, 0, NULL},
                 {"F^(2^3", 0, 0, NULL},
                 {"()^3", 0, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_ladder_row below = {.hops = 1, .verdict = HOP_LADDER_IMPOSSIBLE, .theorem = "P4"};
        hop_ladder_row one = {.built = true, .hops = 1, .verdict = HOP_LADDER_UNDECIDED};
        below.pattern = cases[i].pattern;
        hop_ladder_page page = {.rungs = &one, .rung_count = 1, .others = &below, .other_count = 1};
        hop_text t = render(&page);
        int fulls = 2 + 1, linears = 1; /* the rung's own plan, and the caption */
        assert_int_equal(count(&t, "chip f\">F"), fulls + cases[i].full);
        assert_int_equal(count(&t, "chip l\">L"), linears + cases[i].linear);
        if (cases[i].power) assert_has(&t, cases[i].power);
        assert_balanced(t.s);
        hop_text_free(&t);
        t = render_drawing(&page);
        assert_balanced(t.s);
        hop_text_free(&t);
    }
}

/* ---- the other sections ------------------------------------------------------------------------- */

/* Two hops, m = 2, n_1 = 2: z_2 = 3 1 0 2, z_1 = 1 0, z_0 = 1, w = 1: i_0 = 1, i_1 = 0, the answer is 0. */
static const int32_t walk_tokens[] = {3, 1, 0, 2, 1, 0, 1, 1};
static const int walk_players[] = {2, 2, 2, 2, 1, 1, 0, -1};
static const int64_t walk_indices[] = {0, 1, 2, 3, 0, 1, 0, 0};
static const hop_demonstration_step walk_steps[] = {{6, -1, -1, 1}, {5, -1, 1, 0}, {2, 1, 0, 0}};
static const hop_demonstration walk = {.hops = 2,
                                       .m = 2,
                                       .fan = 2,
                                       .tokens = walk_tokens,
                                       .players = walk_players,
                                       .indices = walk_indices,
                                       .length = 8,
                                       .steps = walk_steps,
                                       .upper = "F^3",
                                       .lower = "L F L",
                                       .theorem = "P4",
                                       .lower_tokens = 4673,
                                       .log10_inputs = 4,
                                       .verdict = HOP_LADDER_PROVED,
                                       .right = true,
                                       .dir = "play-2"};

static void an_instance_is_played_to_where_the_smaller_network_lacks_an_entry(void **state)
{
    (void)state;
    sample *s = sample_new(2);
    s->page.demonstration = &walk;
    hop_text t = render(&s->page);
    assert_int_equal(count(&t, "<li class=\"step\">"), 3 + 3);
    assert_has(
        &t, "<var>z</var><sub>2</sub> at (<var>w</var><sub>1</sub>, <var>i</var><sub>1</sub>) = (1, 0) and "
            "finds <var>i</var><sub>2</sub> = 0, the answer");
    assert_int_equal(count(&t, "tok asked\">"), 3 + 2 + 1);   /* a look-up each; one in the legend */
    assert_int_equal(count(&t, "tok lacking\">0</span>"), 1); /* the entry that nobody can ask for */
    assert_int_equal(count(&t, "tok maybe\">"), 1 + 1);       /* the other entry of w's row; the legend */
    assert_has(&t, "at <var>n</var> = 4,673, in Figure 1, theorem P4 leaves no way");
    assert_has(&t, "<script>");
    hop_text_free(&t);
    free(s);
}

static void the_map_shows_its_first_setting_and_carries_all_of_them(void **state)
{
    (void)state;
    enum { FULLS = HOP_MAP_HOPS + 2 };
    hop_map_row rows[HOP_MAP_HOPS * FULLS];
    for (int i = 0; i < HOP_MAP_HOPS * FULLS; i++)
        rows[i] = (hop_map_row){.possible_to = NAN, .impossible_from = INFINITY};
    hop_map_row *two = &rows[1 * FULLS]; /* two hops */
    two[2].possible_to = 4, two[1].impossible_from = 3.67;
    snprintf(two[2].to, sizeof two[2].to, "10000");
    snprintf(two[1].from, sizeof two[1].from, "4673");
    snprintf(two[1].theorem, sizeof two[1].theorem, "P4");
    hop_ladder_known hops[HOP_MAP_HOPS] = {{0}};
    for (int h = 0; h < HOP_MAP_HOPS; h++) hops[h].verdict = HOP_LADDER_POSSIBLE;
    const hop_ladder_model model = {.name = "</script><b>",
                                    .plan = "(LLLF)x12",
                                    .context = 262144,
                                    .full_layers = 12,
                                    .hops = {hops, HOP_MAP_HOPS}};
    hop_map map = {.linear = {1},
                   .dims = {32},
                   .bits = {16},
                   .linear_count = 1,
                   .dim_count = 1,
                   .bit_count = 1,
                   .rows = rows,
                   .row_count = HOP_MAP_HOPS * FULLS,
                   .models = &model,
                   .model_count = 1,
                   .hops = 2};
    sample *s = sample_new(2);
    s->page.map = &map;
    hop_text t = render(&s->page);
    assert_has(&t, "possible up to <var>n</var> = 10,000</p>");
    assert_has(&t, "impossible from <var>n</var> = 4,673 on (P4, on paper)</p>");
    assert_int_equal(count(&t, "open at every length</p>"), 2); /* 0 and 3 full layers */
    assert_has(&t, "data-full=\"4\" hidden>");                  /* more than these hops can use */
    assert_has(&t, "[4.0,\"10000\",null,\"\",\"\",false]");
    assert_has(&t, "\"\\u003c/script>\\u003cb>\"");
    assert_int_equal(count(&t, "</script>"), 2); /* the data's and the script's */
    hop_text_free(&t);
    free(s);
}

static void stairs_link_their_proofs_and_their_absence_is_said(void **state)
{
    (void)state;
    const hop_stair cells[] = {{.message = 0,
                                .after = 0,
                                .verdict = HOP_LADDER_IMPOSSIBLE,
                                .theorems = "P2 P4",
                                .proof = "exact/a.drat"},
                               {.message = 1, .after = 0, .verdict = HOP_LADDER_POSSIBLE},
                               {.message = 0, .after = 1, .verdict = HOP_LADDER_UNDECIDED},
                               {.message = 1, .after = 1, .verdict = HOP_LADDER_POSSIBLE}};
    const hop_thresholds thresholds = {
        .hops = 2, .m = 2, .fan = 2, .most_message = 1, .most_after = 1, .cells = cells, .cell_count = 4};
    sample *s = sample_new(1);
    s->page.thresholds = &thresholds, s->page.thresholds_count = 1, s->page.solver = "cadical 1";
    hop_text t = render(&s->page);
    assert_has(&t, "<td class=\"no said\"><a href=\"exact/a.drat\">no</a><small>P2 P4</small></td>");
    assert_has(&t, "<td class=\"open\">?</td>");
    assert_int_equal(count(&t, "<td class=\"yes\">yes</td>"), 2);
    assert_has(&t, "cadical 1");
    assert_lacks(&t, "<script");
    assert_balanced(t.s);
    hop_text_free(&t);
    s->page.thresholds_count = 0, s->page.no_thresholds = "no solver <here>";
    t = render(&s->page);
    assert_has(&t, "no solver &lt;here&gt;");
    assert_lacks(&t, "class=\"thresholds\"");
    hop_text_free(&t);
    free(s);
}

static void where_a_network_fails_is_drawn_beside_the_one_that_works(void **state)
{
    (void)state;
    sample *s = sample_new(2);
    hop_failure_trace fall = {
        .hops = 2, .value = {17, 4}, .right = {17, 4}, .answer = {9, 9}, .layer_count = 1, .above_count = 2};
    snprintf(fall.pattern, sizeof fall.pattern, "L F <b>");
    snprintf(fall.file, sizeof fall.file, "below/witness.json");
    snprintf(fall.place, sizeof fall.place, "z_2(5)");
    snprintf(fall.above, sizeof fall.above, "deltanet full^2");
    fall.layers[0] = (hop_failure_layer){.mixer = "deltanet", .own = 2.5, .state = NAN};
    fall.above_layers[0] =
        (hop_failure_layer){.mixer = "full", .own = 1, .stream = 3, .state = 0.125, .last_token = 0.75};
    fall.above_layers[1] =
        (hop_failure_layer){.mixer = "full", .own = INFINITY, .stream = 1e-30, .state = 1e300};
    s->page.failures = &fall;
    s->page.failure_count = 1;
    hop_text t = render(&s->page);
    assert_has(&t, "Where they fail");
    assert_has(&t, "it is 17 in one and 4 in the other");
    assert_has(&t, "This network says 9 to both.");
    assert_has(&t, "below/witness.json");
    assert_has(&t, "deltanet full^2, which works</th>");
    assert_has(&t, "L F &lt;b&gt;");
    assert_has(&t, "0.125");
    assert_lacks(&t, "nan");
    assert_balanced(t.s);
    hop_text_free(&t);
    s->page.failure_count = 0;
    t = render(&s->page);
    assert_lacks(&t, "Where they fail");
    hop_text_free(&t);
    free(s);
}

/* ---- what was learnt ----------------------------------------------------------------------------- */

static hop_learnt learnt_row(int curve, const char *pattern, int64_t entries, double mean)
{
    hop_learnt r = {.curve = curve, .hops = 2, .seeds = 3, .entries = entries, .tokens = entries + 6};
    r.side = curve % 2 ? HOP_LEARNT_BELOW : HOP_LEARNT_ABOVE, r.d_model = 64, r.steps = 4000;
    r.mean = mean, r.least = mean * 0.9, r.most = mean, r.chance = 1.0 / (double)entries, r.ceiling = NAN;
    snprintf(r.pattern, sizeof r.pattern, "%s", pattern);
    snprintf(r.mixer, sizeof r.mixer, "mixer%d", curve);
    snprintf(r.sizes, sizeof r.sizes, "m %d", (int)entries);
    return r;
}

static hop_text render_learnt(const hop_learnt *rows, int64_t count)
{
    hop_text t = {0};
    assert_int_equal(hop_report_learnt_svg(&t, rows, count, "7 runs < 8."), HOP_OK);
    assert_balanced(t.s);
    assert_has(&t, "7 runs &lt; 8.");
    return t;
}

/* All curves end at one accuracy, the worst case, wherever that is. */
static void names_of_curves_keep_off_each_other_and_in_the_chart(void **state)
{
    (void)state;
    for (int plans = 1; plans <= 24; plans++)
        for (double end = 0; end <= 1; end += 0.5) {
            hop_learnt rows[24];
            double height = 0, last = 0;
            for (int i = 0; i < plans; i++) rows[i] = learnt_row(i, "L F F", 8, end);
            hop_text t = render_learnt(rows, plans);
            assert_int_equal(count(&t, " curve\">"), plans);
            assert_int_equal(sscanf(strstr(t.s, "viewBox=\"0 0 "), "viewBox=\"0 0 %*f %lf", &height), 1);
            const char *p = t.s;
            for (int i = 0; i < plans; i++) {
                double x, y;
                p = strstr(p, "<text class=\"name\"");
                assert_non_null(p);
                assert_int_equal(sscanf(p++, "<text class=\"name\" x=\"%lf\" y=\"%lf\"", &x, &y), 2);
                assert_true(i == 0 || fabs(last - y) >= 14.9); /* a line; written with one decimal */
                assert_true(y > 10 && y < height - 60);
                last = y;
            }
            hop_text_free(&t);
        }
}

static void a_curve_of_any_row_is_drawn_or_said_to_be_missing(void **state)
{
    (void)state;
    hop_learnt rows[40];
    for (int i = 0; i < 40; i++) rows[i] = learnt_row(i / 2, "F<&F", i % 2 ? 8 : 1000, 0.5);
    hop_text t = render_learnt(rows, 40);
    assert_int_equal(count(&t, " curve\">"), 20);
    assert_lacks(&t, "more plans");
    assert_has(&t, "F&lt;&amp;F mixer3");
    assert_true(strstr(t.s, ">8</text>") < strstr(t.s, ">1,000</text>")); /* whatever the rows' order */
    hop_text_free(&t);
    for (int i = 0; i < 40; i++) rows[i].curve = i;
    t = render_learnt(rows, 40);
    assert_has(&t, "There are more plans or sizes than are drawn here.");
    hop_text_free(&t);
    for (int i = 0; i < 40; i++) rows[i].curve = 0, rows[i].entries = i + 1;
    t = render_learnt(rows, 40);
    assert_has(&t, "There are more plans or sizes than are drawn here.");
    hop_text_free(&t);
    t = render_learnt(NULL, 0);
    assert_int_equal(count(&t, " curve\">"), 0);
    hop_text_free(&t);
}

static void a_ceiling_is_drawn_where_it_is_below_one_and_a_gap_where_a_size_is_missing(void **state)
{
    (void)state;
    hop_learnt rows[] = {learnt_row(0, "L L", 8, 0.5), learnt_row(0, "L L", 32, 0.25),
                         learnt_row(1, "F", 16, 1)};
    hop_text t = render_learnt(rows, 3);
    assert_int_equal(count(&t, ">P3</text>"), 0);
    assert_int_equal(count(&t, "class=\"v-pen\""), 3 + 1); /* a bar a row, and a line over the gap */
    hop_text_free(&t);
    rows[0].ceiling = 1, rows[1].ceiling = 0.75;
    t = render_learnt(rows, 3);
    assert_int_equal(count(&t, ">P3</text>"), 1);
    hop_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrids_share_a_row_and_what_was_not_built_has_its_theorem),
        cmocka_unit_test(plans_are_drawn_as_chips_or_written_out),
        cmocka_unit_test(an_instance_is_played_to_where_the_smaller_network_lacks_an_entry),
        cmocka_unit_test(the_map_shows_its_first_setting_and_carries_all_of_them),
        cmocka_unit_test(stairs_link_their_proofs_and_their_absence_is_said),
        cmocka_unit_test(where_a_network_fails_is_drawn_beside_the_one_that_works),
        cmocka_unit_test(every_rung_appears_in_the_drawing_and_in_the_table),
        cmocka_unit_test(a_layer_with_a_margin_gets_a_solid_arrow_and_one_without_a_dashed_one),
        cmocka_unit_test(what_verdicts_suppose_stands_beside_them),
        cmocka_unit_test(both_halves_are_drawn_with_their_theorems),
        cmocka_unit_test(numbers_are_written_for_people_and_bounds_are_rounded_to_the_safe_side),
        cmocka_unit_test(bounds_next_to_a_power_of_ten_stay_on_the_safe_side),
        cmocka_unit_test(a_number_that_is_not_finite_shows_as_a_dash),
        cmocka_unit_test(text_is_escaped_wherever_a_caller_can_put_it),
        cmocka_unit_test(bytes_that_are_not_text_become_replacement_characters),
        cmocka_unit_test(why_a_network_is_not_proved_is_said_in_full),
        cmocka_unit_test(the_page_needs_nothing_from_outside_and_runs_nothing),
        cmocka_unit_test(tags_are_balanced_for_any_number_of_rungs),
        cmocka_unit_test(a_page_of_nothing_is_a_page),
        cmocka_unit_test(absurd_rungs_are_not_drawn_but_listed),
        cmocka_unit_test(the_same_numbers_give_the_same_bytes),
        cmocka_unit_test(names_of_curves_keep_off_each_other_and_in_the_chart),
        cmocka_unit_test(a_curve_of_any_row_is_drawn_or_said_to_be_missing),
        cmocka_unit_test(a_ceiling_is_drawn_where_it_is_below_one_and_a_gap_where_a_size_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
