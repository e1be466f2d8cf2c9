/* Questions and answers as data: what is made of the tables, and asking the library. */
#include <hopbound/verb.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test.h"

/* ---- records ------------------------------------------------------------------------------- */

typedef enum colour { RED, GREEN } colour;
static const char *const colour_words[] = {"red", "green", NULL};

#define LEAF(X, R)                                     \
    X(R, name, text, "", "leaf", "what it is called")  \
    X(R, size, count, "mm", "size", "how long it is")  \
    X(R, tint, word(colour), "", "tint", "its colour") \
    X(R, share, real, "", "", "a part of one")         \
    X(R, odd, maybe, "", "", "is it?")
HOP_RECORD(leaf, LEAF)
HOP_RECORD_TABLE(leaf, LEAF, "a leaf")

#define TREE(X, R)                                    \
    X(R, leaves, many(leaf), "", "", "all of them")   \
    X(R, best, one(leaf), "", "", "the best of them") \
    X(R, height, digits, "mm", "", "of it")           \
    X(R, rings, counts, "", "", "their widths")       \
    X(R, own, json, "", "", "anything")
HOP_RECORD(tree, TREE)
HOP_RECORD_TABLE(tree, TREE, "a tree")

static tree example(void)
{
    static const leaf leaves[] = {{"a,b", 3, GREEN, 0.5, 1},
                                  {"c|\"d\"", HOP_NO_COUNT, RED, NAN, HOP_NO_FLAG}};
    static const int64_t rings[] = {1, HOP_NO_COUNT};
    tree t = {.height = "1234567890123456789", .rings = {rings, 2}, .own = "{\"x\": [1]}"};
    t.leaves.at = leaves;
    t.leaves.count = 2;
    return t;
}

static void a_record_is_written_as_its_table_says(void **state)
{
    (void)state;
    const tree t = example();
    hop_json_writer w = {0};
    hop_record_json(&w, &tree_record, &t);
    assert_string_equal(
        w.text.s, "{\"leaves\":[{\"name\":\"a,b\",\"size\":3,\"tint\":\"green\",\"share\":0.5,\"odd\":true},"
                  "{\"name\":\"c|\\\"d\\\"\",\"size\":null,\"tint\":\"red\",\"share\":null,\"odd\":null}],"
                  "\"best\":null,\"height\":\"1234567890123456789\",\"rings\":[1,null],\"own\":{\"x\":[1]}}");
    hop_text_free(&w.text);
}

static void rows_are_quoted_as_csv_and_markdown_ask(void **state)
{
    (void)state;
    const tree t = example();
    hop_text csv = {0}, page = {0};
    hop_record_rows(&csv, &tree_record, &t, "leaves", HOP_FORMAT_CSV);
    hop_record_rows(&page, &tree_record, &t, "leaves", HOP_FORMAT_MARKDOWN);
    assert_string_equal(csv.s,
                        "name,size,tint,share,odd\n\"a,b\",3,green,0.5,true\n\"c|\"\"d\"\"\",,red,,\n");
    assert_string_equal(
        page.s, "| leaf | size | tint |\n|---|---:|---|\n| a,b | 3 | green |\n| c\\|\"d\" |  | red |\n");
    hop_text_free(&csv), hop_text_free(&page);
}

static void an_answer_without_a_list_has_no_rows(void **state)
{
    (void)state;
    const tree t = example();
    hop_text out = {0};
    assert_true(hop_record_rows(&out, &tree_record, &t, "branches", HOP_FORMAT_CSV)); /* the first list */
    assert_non_null(strstr(out.s, "name,size"));
    out.len = 0;
    assert_false(hop_record_rows(&out, &leaf_record, t.leaves.at, "leaves", HOP_FORMAT_CSV));
    assert_int_equal(out.len, 0);
    hop_text_free(&out);
}

/* One more line, and nothing else: it is in the JSON, the CSV, the Markdown and the page. */
static void a_field_that_is_added_in_one_place_is_everywhere(void **state)
{
    (void)state;
#define TALLER(X, R) LEAF(X, R) X(R, age, count, "years", "age", "since it was a bud")
    typedef struct taller {
        TALLER(HOP_FIELD_MEMBER, taller)
    } taller;
    static const hop_field fields[] = {TALLER(HOP_FIELD_ROW, taller){.name = NULL}};
    static const hop_record record = {"taller", "a leaf with an age", sizeof(taller), fields};
    static const hop_field list[] = {{"all", HOP_TYPE_many, 0, "", "", "leaves", &record, NULL},
                                     {.name = NULL}};
    static const hop_record outer = {"outer", "", sizeof(hop_records), list};
    const taller one = {.name = "x", .age = 7};
    const hop_records all = {&one, 1};
    hop_json_writer w = {0};
    hop_text csv = {0}, page = {0}, doc = {0};
    hop_record_json(&w, &outer, &all);
    hop_record_rows(&csv, &outer, &all, "all", HOP_FORMAT_CSV);
    hop_record_rows(&page, &outer, &all, "all", HOP_FORMAT_MARKDOWN);
    hop_record_doc(&doc, &outer);
    assert_non_null(strstr(w.text.s, "\"age\":7"));
    assert_non_null(strstr(csv.s, ",age\n"));
    assert_non_null(strstr(page.s, "| age |"));
    assert_non_null(strstr(doc.s, "| `all[].age` | an integer, years | since it was a bud |"));
    hop_text_free(&w.text), hop_text_free(&csv), hop_text_free(&page), hop_text_free(&doc);
}

/* ---- asking -------------------------------------------------------------------------------- */

static hop_status asked(const char *verb, const char *question, hop_text *out, hop_error *err)
{
    *err = (hop_error){0};
    *out = (hop_text){0};
    return hop_ask(verb, question, NULL, out, NULL, err);
}

static void a_question_in_json_is_answered_in_json(void **state)
{
    (void)state;
    hop_text out;
    hop_error err;
    hop_json_doc doc = {0};
    hop_status s = asked(
        "bound", "{\"pattern\": \"L F L\", \"mixer\": \"linear\", \"dim\": 8, \"bits\": 16, \"hops\": 2}",
        &out, &err);
    assert_int_equal(s, HOP_OK);
    assert_int_equal(hop_json_parse(&doc, out.s, out.len, &err), HOP_OK);
    assert_string_equal(hop_json_get(doc.root, "pattern")->string, "linear full linear");
    assert_true(hop_json_get(doc.root, "results")->count > 10);
    hop_json_free(&doc);
    hop_text_free(&out);
}

/* A verb that writes files, and one that reads them: no command line between. */
static void what_is_built_by_a_question_is_proved_by_one(void **state)
{
    (void)state;
    char dir[256], question[400];
    hop_text built, proved;
    hop_error err;
    test_path(dir, sizeof dir, "asked");
    snprintf(question, sizeof question,
             "{\"kind\": \"full\", \"hops\": 2, \"m\": 3, \"fan\": 2, \"output\": \"%s\"}", dir);
    assert_int_equal(asked("build", question, &built, &err), HOP_OK);
    snprintf(question, sizeof question, "{\"dir\": \"%s\"}", dir);
    assert_int_equal(asked("prove", question, &proved, &err), HOP_OK);
    assert_non_null(strstr(built.s, "\"sizes\":\"hops 2, m 3, fan 2\""));
    assert_non_null(strstr(proved.s, "\"verdict\":\"proved\""));
    assert_non_null(strstr(proved.s, "\"sizes\":\"hops 2, m 3, fan 2\""));
    hop_text_free(&built), hop_text_free(&proved);
}

/* Instances, runs, games and trainings: what they answer is one object, and so is what is too long to be held. */
static void what_works_on_a_network_is_asked_the_same_way(void **state)
{
    (void)state;
    static const struct {
        const char *verb, *question, *holds; /* %s: a new directory */
    } asked_for[] = {
        {"task", "{\"m\": 2, \"fan\": 2, \"count\": 2}",
         "\"seed\":0,\"count\":2,\"instances\":[{\"tokens\":[1,3,2,2,1,0,1,0],"},
        {"build", "{\"kind\": \"hybrid\", \"m\": 3, \"fan\": 2, \"output\": \"%s/net\"}",
         "\"kind\":\"hybrid\""},
        {"run", "{\"dir\": \"%s/net\", \"count\": 9}",
         "{\"instances\":9,\"with_answer\":9,\"correct\":9,\"accuracy\":1.0,"},
        {"run", "{\"dir\": \"%s/net\", \"count\": 2, \"message_bits\": 16}",
         "\"message_bits\":16,\"players\":4,"},
        {"play", "{\"dir\": \"%s/net\", \"count\": 2}", "{\"instances\":2,\"identical\":true,"},
        {"train",
         "{\"output\": \"%s/learnt\", \"pattern\": \"F\", \"hops\": 1, \"m\": 2, \"steps\": 2, "
         "\"eval_count\": 4}",
         "\"steps\":2,"},
        {"ladder", "{\"output\": \"%s/ladder\", \"rungs\": 1, \"m\": 3, \"count\": 2, \"brief\": true}",
         "{\"rungs\":[{\"hops\":1,\"sizes\":\"m "
         "3\",\"n\":5,\"kind\":\"full\",\"built\":true,\"mixer\":null,"},
    };
    char dir[256], question[600];
    assert_non_null(mkdtemp((char *)(uintptr_t)test_path(dir, sizeof dir, "ask-XXXXXX")));
    for (size_t i = 0; i < sizeof asked_for / sizeof *asked_for; i++) {
        hop_text out;
        hop_error err;
        hop_json_doc doc = {0};
        snprintf(question, sizeof question, asked_for[i].question, dir);
        assert_int_equal(asked(asked_for[i].verb, question, &out, &err), HOP_OK);
        assert_int_equal(hop_json_parse(&doc, out.s, out.len, &err), HOP_OK);
        assert_non_null(strstr(out.s, asked_for[i].holds));
        assert_null(strchr(out.s, '\n'));
        hop_json_free(&doc);
        hop_text_free(&out);
    }
}

/* What the ladder's page says that it was made with: what was given, but for what changes no number. */
static void what_was_given_is_a_command_line_again(void **state)
{
    (void)state;
    struct given {
        hop_opt_value count, share, list, quick, slow, colour, name, kept, output;
    } args = {0};
#define AT(member) .at = offsetof(struct given, member)
    const hop_opt opts[] = {{.name = "count", .kind = HOP_OPT_INT, .max = 99, AT(count)},
                            {.name = "share", .kind = HOP_OPT_REAL, AT(share)},
                            {.name = "list", .kind = HOP_OPT_LIST, .max = 99, AT(list)},
                            {.name = "quick", .kind = HOP_OPT_FLAG, AT(quick)},
                            {.name = "slow", .kind = HOP_OPT_FLAG, AT(slow)},
                            {.name = "colour", .kind = HOP_OPT_CHOICE, .choices = colour_words, AT(colour)},
                            {.name = "name", .kind = HOP_OPT_TEXT, AT(name)},
                            {.name = "kept", .kind = HOP_OPT_INT, .max = 99, AT(kept)},
                            {.name = "output", .kind = HOP_OPT_TEXT, AT(output)},
                            {0}};
#undef AT
    const hop_opt_group groups[] = {{.title = "Options", .opts = opts}, {0}};
    static const char *const given[][2] = {{"count", "5"},  {"share", "0.25"}, {"list", "1,2"},
                                           {"quick", NULL}, {"slow", "false"}, {"colour", "green"},
                                           {"name", "x"},   {"output", "here"}};
    static const char *const but[] = {"output", NULL};
    hop_error err;
    hop_text out = {0};
    assert_true(hop_opts_init(groups, &args, &err));
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const hop_opt_group *g;
        const hop_opt *o = hop_opt_find(groups, given[i][0], strlen(given[i][0]), &g);
        hop_opt_value *v = hop_opt_at(g, o, &args);
        assert_true(hop_opt_read(o, given[i][1], v, &err));
        v->given = true;
    }
    hop_opts_command(&out, groups, &args, but);
    assert_string_equal(out.s, " --count 5 --share 0.25 --list 1,2 --quick --colour green --name x");
    hop_text_free(&out);
}

static bool take_lines(void *seen, const char *text, size_t length)
{
    if (text) hop_text_addn(seen, text, length);
    return true;
}

/* Standard output is a front's: its lines, beside the answer. */
static void lines_go_to_a_front_that_takes_them(void **state)
{
    (void)state;
    hop_text seen = {0}, out = {0};
    hop_error err = {0};
    const hop_front front = {.lines = take_lines, .ctx = &seen};
    char dir[256], question[600];
    test_path(dir, sizeof dir, "lined");
    snprintf(question, sizeof question, "{\"kind\": \"full\", \"m\": 3, \"fan\": 2, \"output\": \"%s\"}",
             dir);
    assert_int_equal(asked("build", question, &out, &err), HOP_OK);
    hop_text_free(&out);
    snprintf(question, sizeof question, "{\"dir\": \"%s\", \"count\": 1, \"predictions\": \"-\"}", dir);
    assert_int_equal(asked("run", question, &out, &err), HOP_EUSAGE);
    assert_string_equal(err.text, "-: there is no standard output here; name a file");
    hop_text_free(&out);
    assert_int_equal(hop_ask_from(&front, "run", question, &out, NULL, &err), HOP_OK);
    assert_non_null(strstr(seen.s, "{\"index\":0,"));
    assert_non_null(strstr(out.s, "{\"instances\":1,"));
    hop_text_free(&seen), hop_text_free(&out);
}

/* Dashes are underscores, numbers are texts, lists are lists: as each language likes it. */
static void a_question_may_be_written_in_several_ways(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "{\"pattern\": \"F F\", \"hops\": \"2\", \"m\": 64, \"fan\": [4], \"d-model\": 64}",
        "{\"pattern\": \"F F\", \"hops\": 2, \"m\": \"64\", \"fan\": 4, \"d_model\": 64}"};
    hop_text first, second;
    hop_error err;
    assert_int_equal(asked("bound", ways[0], &first, &err), HOP_OK);
    assert_int_equal(asked("bound", ways[1], &second, &err), HOP_OK);
    assert_string_equal(first.s, second.s);
    hop_text_free(&first), hop_text_free(&second);
}

static void a_wrong_question_is_refused_with_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *verb, *question, *line;
        hop_status status;
    } wrong[] = {
        {"bind", "", "bind: unknown verb", HOP_EUNKNOWN},
        {"bound", "", "--pattern: missing", HOP_EUSAGE},
        {"bound", "[]", "the question is no JSON object", HOP_EUSAGE},
        {"bound", "{\"patern\": \"F\"}", "patern: unknown option; did you mean pattern?", HOP_EUSAGE},
        {"bound", "{\"pattern\": {}}", "pattern: neither a number nor a text nor a list of them", HOP_EUSAGE},
        {"bound", "{\"pattern\": \"F\", \"dim\": 0}", "dim: 0 is outside 1..65536", HOP_EUSAGE},
        {"bound", "{\"pattern\": \"F\", \"operands\": [\"x\"]}", "operands: unknown option", HOP_EUSAGE},
        {"bound", "{\"pattern\": \"F\", \"curve\": 3}", "curve: takes no value", HOP_EUSAGE},
        {"plan", "{\"hops\": 1}", "--n: missing", HOP_EUSAGE},
        {"sweep", "{\"file\": \"x\", \"output\": \"y\"}", "no store for the results: built without SQLite",
         HOP_EIO},
        {"train", "{}", "--output: missing", HOP_EUSAGE},
        {"audit", "", "PATH..: missing", HOP_EUSAGE},
        {"audit", "{\"path\": \"x\", \"config\": {}}", "--config: instead of a PATH", HOP_EUSAGE},
        {"build", "{\"kind\": \"full\"}", "output: missing", HOP_EUSAGE},
        {"build", "{\"kind\": \"full\", \"tie\": 2, \"output\": \"x\"}", "--tie: full takes no such option",
         HOP_EUSAGE},
        {"build", "{\"kind\": \"full\", \"heads\": 0, \"output\": \"x\"}", "heads: 0 is outside 1..1048576",
         HOP_EUSAGE},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hop_text out;
        hop_error err;
        assert_int_equal(asked(wrong[i].verb, wrong[i].question, &out, &err), wrong[i].status);
        assert_string_equal(err.text, wrong[i].line);
        assert_int_equal(out.len, 0);
        hop_text_free(&out);
    }
}

/* A file, several, a directory, and a configuration that is in the question. */
static void models_are_audited_from_files_and_from_the_question(void **state)
{
    (void)state;
#define SMALL \
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 3, \"hidden_size\": 64, \"num_attention_heads\": 2}"
    static const struct {
        const char *question, *holds; /* %s: the directory, or a file in it */
    } asked_for[] = {
        {"{\"config\": " SMALL ", \"n\": 100}", "{\"path\":null,\"model_type\":\"llama\",\"layers\":3,"},
        {"{\"path\": \"%s/a.json\", \"n\": 100}", "/a.json\",\"model_type\":\"llama\",\"layers\":3,"},
        {"{\"path\": [\"%s/a.json\", \"%s/a.json\"], \"n\": 100}",
         "{\"n\":100,\"models\":[{\"model\":\"a\","},
        {"{\"path\": \"%s\", \"n\": 100}", "/b.json\",\"why\":"},
    };
    char dir[512], path[600], question[2048];
    hop_error err = {0};
    assert_non_null(mkdtemp((char *)(uintptr_t)test_path(dir, sizeof dir, "ask-XXXXXX")));
    for (int i = 0; i < 2; i++) {
        const char *text = i ? "[]" : SMALL;
        snprintf(path, sizeof path, "%s/%c.json", dir, 'a' + i);
        assert_int_equal(hop_file_write(path, text, strlen(text), &err), HOP_OK);
    }
    for (size_t i = 0; i < sizeof asked_for / sizeof *asked_for; i++) {
        hop_text out;
        snprintf(question, sizeof question, asked_for[i].question, dir, dir);
        assert_int_equal(asked("audit", question, &out, &err), HOP_OK);
        assert_non_null(strstr(out.s, asked_for[i].holds));
        hop_text_free(&out);
    }
}

static void every_verb_says_what_it_answers(void **state)
{
    (void)state;
    size_t count;
    const hop_verb *const *verbs = hop_verbs(&count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(hop_verb_find(verbs[i]->name), verbs[i]);
        for (const hop_field *f = verbs[i]->answer->fields; f->name; f++) assert_true(f->doc && *f->doc);
    }
}

/* What a front is made of: every option and every member. */
static void every_verb_can_be_had_as_data(void **state)
{
    (void)state;
    hop_text out = {0};
    hop_json_doc doc = {0};
    hop_error err = {0};
    size_t count;
    const hop_verb *const *verbs = hop_verbs(&count);
    hop_verbs_json(&out);
    assert_int_equal(hop_json_parse(&doc, out.s, out.len, &err), HOP_OK);
    for (size_t i = 0; i < count; i++) {
        const hop_json *verb = hop_json_get(doc.root, verbs[i]->name);
        size_t options = 2, members = 0; /* seed and threads */
        for (const hop_opt_group *g = verbs[i]->groups; g->opts; g++)
            for (const hop_opt *o = g->opts; o->name; o++) options++;
        for (const hop_field *f = verbs[i]->answer->fields; f->name; f++) members++;
        assert_int_equal(hop_json_get(verb, "takes")->count, options);
        assert_int_equal(hop_json_get(verb, "answers")->count, members);
    }
    hop_json_free(&doc);
    hop_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_written_as_its_table_says),
        cmocka_unit_test(rows_are_quoted_as_csv_and_markdown_ask),
        cmocka_unit_test(an_answer_without_a_list_has_no_rows),
        cmocka_unit_test(a_field_that_is_added_in_one_place_is_everywhere),
        cmocka_unit_test(what_was_given_is_a_command_line_again),
        cmocka_unit_test(a_question_in_json_is_answered_in_json),
        cmocka_unit_test(what_is_built_by_a_question_is_proved_by_one),
        cmocka_unit_test(what_works_on_a_network_is_asked_the_same_way),
        cmocka_unit_test(lines_go_to_a_front_that_takes_them),
        cmocka_unit_test(a_question_may_be_written_in_several_ways),
        cmocka_unit_test(a_wrong_question_is_refused_with_one_line),
        cmocka_unit_test(models_are_audited_from_files_and_from_the_question),
        cmocka_unit_test(every_verb_says_what_it_answers),
        cmocka_unit_test(every_verb_can_be_had_as_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
