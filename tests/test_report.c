/* The ladder's page: what it must show, what it must never contain, and that it is well formed. */
#include <hopbound/report.h>

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
    hop_rung rungs[MAX_RUNGS];
    hop_rung_layer layers[MAX_RUNGS * (MAX_RUNGS + 1)];
    hop_ladder_page page;
} sample;

static sample *sample_new(int rungs)
{
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    int64_t layers = 0;
    for (int hops = 1; hops <= rungs; hops++) {
        hop_rung *r = &s->rungs[hops - 1];
        *r = (hop_rung){
            .hops = hops, .m = 16, .tokens = 1000 + hops, .layers = hops + 1, .full_layers = hops + 1};
        snprintf(r->sizes, sizeof r->sizes, "m=16, fan %d", hops);
        snprintf(r->kind, sizeof r->kind, "full");
        snprintf(r->pattern, sizeof r->pattern, "full^%d", hops + 1);
        snprintf(r->verdict, sizeof r->verdict, "proved");
        r->d_model = 15, r->head_dim = 11, r->parameters = 2070;
        r->log10_inputs = 20.4707, r->score_gap = 9.437, r->wrong_mass = 3.231e-4, r->clip_margin = 0.9951;
        r->readout_margin = 7.99, r->instances = r->correct = 1000, r->cut_instances = r->cut_correct = 500;
        r->cut_bits = 8, r->seconds = 0.25;
        for (int l = 0; l <= hops; l++)
            s->layers[layers++] = (hop_rung_layer){hops, l, 16, l, 9.437, 3.231e-4, 0.9951};
    }
    s->page = (hop_ladder_page){.rungs = s->rungs,
                                .rung_count = rungs,
                                .layers = s->layers,
                                .layer_count = layers,
                                .version = "0.1.0",
                                .isa = "avx2",
                                .command = "hopbound ladder -o ladder"};
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

/* Green above, red below, told apart by words and shapes as well. */
static void both_halves_are_drawn_with_their_theorems(void **state)
{
    (void)state;
    sample *s = sample_new(1);
    hop_rung below[2] = {{.hops = 1, .tokens = 37, .pattern = "L F L", .verdict = "impossible", .theorem = "P4"},
                         {.hops = 1, .tokens = 37, .pattern = "F^2", .verdict = "from_n", .theorem = "P7"}};
    snprintf(below[1].speaks_from, sizeof below[1].speaks_from, "1149185");
    s->page.others = below, s->page.other_count = 2;
    hop_text t = render_drawing(&s->page);
    assert_has(&t, ">impossible</text>");
    assert_has(&t, "for any weights: theorem P4");
    assert_has(&t, "= 1149185 on: theorem P7");
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
    s->rungs[0].tokens = 1234567;
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
    assert_has(&t, "500\u2009/\u2009500<small>8 bits</small>");
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
    hop_rung *r = &s->rungs[0];
    r->score_gap = r->readout_margin = NAN;
    r->wrong_mass = r->seconds = INFINITY;
    r->clip_margin = r->log10_inputs = -INFINITY;
    r->instances = r->cut_instances = 0;
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
    hop_rung *r = &s->rungs[0];
    snprintf(r->sizes, sizeof r->sizes, "%s", evil);
    snprintf(r->pattern, sizeof r->pattern, "%s", evil);
    snprintf(r->why, sizeof r->why, "%s", evil);
    snprintf(r->verdict, sizeof r->verdict, "<script>x");
    s->page.version = s->page.isa = s->page.command = evil;
    hop_text t = render(&s->page);
    assert_lacks(&t, "<b a");
    assert_lacks(&t, "<script");
    assert_has(&t, "&lt;script&gt;x");
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
        snprintf(s->rungs[0].why, sizeof s->rungs[0].why, "why %s", bad[i]);
        hop_text t = render(&s->page);
        char want[64];
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
    hop_rung *r = &s->rungs[1];
    snprintf(r->verdict, sizeof r->verdict, "refuted");
    memset(r->why, 'w', sizeof r->why - 1);
    hop_text t = render(&s->page);
    assert_has(&t, r->why);
    assert_has(&t, "1&#160;<span class=\"mark v-proved\">");
    assert_has(&t, "1&#160;<span class=\"mark v-refuted\">");
    assert_lacks(&t, "1&#160;<span class=\"mark v-undecided\">");
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

static void other_networks_have_a_table_of_their_own(void **state)
{
    (void)state;
    hop_rung others[2] = {
        {.hops = 2,
         .kind = "hybrid, <gdn>",
         .pattern = "gdn full^2",
         .layers = 3,
         .full_layers = 2,
         .parameters = 10,
         .state_bits = 128,
         .verdict = "proved",
         .instances = 5,
         .correct = 5},
        {.hops = 2, .kind = "extremal hybrid", .pattern = "L^9", .verdict = "silent", .why = "theorem T2"}};
    hop_rung one = {.hops = 2, .layers = 3, .full_layers = 3, .pattern = "full^3", .verdict = "proved"};
    hop_ladder_page page = {.rungs = &one,
                            .rung_count = 1,
                            .others = others,
                            .other_count = 2,
                            .version = "1",
                            .isa = "x",
                            .command = "y"};
    hop_text out = {0};
    assert_int_equal(hop_report_ladder(&out, &page), HOP_OK);
    assert_non_null(strstr(out.s, "Table 3"));
    assert_non_null(strstr(out.s, "hybrid, &lt;gdn&gt;"));
    assert_non_null(strstr(out.s, "silent<small>theorem T2</small>"));
    hop_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_networks_have_a_table_of_their_own),
        cmocka_unit_test(every_rung_appears_in_the_drawing_and_in_the_table),
        cmocka_unit_test(a_layer_with_a_margin_gets_a_solid_arrow_and_one_without_a_dashed_one),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
