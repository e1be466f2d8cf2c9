/* JSON: what is read, what is refused and where, what is written. Texts are parsed from blocks of their exact
 * size, so that the address sanitizer sees a byte read too many. */
#include "test.h"

#include <hopbound/json.h>

#include <locale.h>

static hop_status parse_bytes(hop_json_doc *doc, const char *text, size_t size, hop_error *err)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    hop_status s = hop_json_parse(doc, copy, size, err);
    free(copy); /* a document keeps nothing of its text */
    return s;
}

static hop_json_doc parse(const char *text)
{
    hop_json_doc doc = {0};
    hop_error err = {0};
    if (parse_bytes(&doc, text, strlen(text), &err) != HOP_OK) fail_msg("%s: %s", text, err.text);
    return doc;
}

/* Refused with HOP_EFORMAT, an empty document and one line that begins with `where`. */
static void refused_bytes(const char *text, size_t size, const char *where)
{
    hop_json_doc doc = {0};
    hop_error err = {0};
    hop_status s = parse_bytes(&doc, text, size, &err);
    if (s == HOP_OK) fail_msg("accepted: %.*s", (int)size, text);
    assert_int_equal(s, HOP_EFORMAT);
    assert_null(doc.root);
    assert_null(doc.memory);
    assert_null(strchr(err.text, '\n'));
    if (strncmp(err.text, where, strlen(where)) != 0)
        fail_msg("%.*s: \"%s\", not \"%s\"", (int)size, text, err.text, where);
}

static void refused(const char *text, const char *where)
{
    refused_bytes(text, strlen(text), where);
}

static char *rewrite(const char *text, bool pretty)
{
    hop_json_doc doc = parse(text);
    hop_json_writer w = {.pretty = pretty};
    hop_json_put_value(&w, doc.root);
    assert_false(w.text.failed);
    hop_json_free(&doc);
    return w.text.s;
}

static void rewritten(const char *text, bool pretty, const char *expected)
{
    char *s = rewrite(text, pretty);
    assert_string_equal(s, expected);
    free(s);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void every_kind_of_value_is_read(void **state)
{
    (void)state;
    hop_json_doc doc = parse(" {\"a\":[null,true,false,12,-1.5e2,\"x\"],\n\t\"b\":{},\r\n\"c\":[]} ");
    const hop_json *a = hop_json_get(doc.root, "a");
    assert_int_equal(doc.root->count, 3);
    assert_int_equal(a->count, 6);
    assert_int_equal(hop_json_at(a, 0)->type, HOP_JSON_NULL);
    assert_true(hop_json_at(a, 1)->boolean);
    assert_false(hop_json_at(a, 2)->boolean);
    assert_int_equal(hop_json_at(a, 3)->integer, 12);
    assert_true(hop_json_at(a, 4)->type == HOP_JSON_REAL && hop_json_at(a, 4)->real == -150);
    assert_string_equal(hop_json_at(a, 5)->string, "x");
    assert_null(hop_json_at(a, 6));
    assert_null(hop_json_at(doc.root, 0));
    assert_null(hop_json_get(a, "a"));
    assert_null(hop_json_get(NULL, "a"));
    assert_int_equal(hop_json_get(doc.root, "b")->type, HOP_JSON_OBJECT);
    assert_string_equal(doc.root->child->next->next->key, "c");
    hop_json_free(&doc);
    hop_json_free(&doc); /* of an empty document: fine */
}

static void integers_are_exact_to_the_last_bit_and_larger_ones_are_reals(void **state)
{
    (void)state;
    hop_json_doc doc =
        parse("[9223372036854775807,-9223372036854775808,9223372036854775808,-9223372036854775809,"
              "0,-0,9007199254740993,10000000000000000000000]");
    const hop_json *v = doc.root->child;
    assert_true(v->type == HOP_JSON_INT && v->integer == INT64_MAX);
    v = v->next;
    assert_true(v->type == HOP_JSON_INT && v->integer == INT64_MIN);
    v = v->next;
    assert_true(v->type == HOP_JSON_REAL && v->real == 0x1p63);
    v = v->next;
    assert_true(v->type == HOP_JSON_REAL && v->real == -0x1p63);
    v = v->next->next->next;
    assert_true(v->type == HOP_JSON_INT && v->integer == 9007199254740993);
    assert_true(v->next->type == HOP_JSON_REAL && v->next->real == 1e22);
    hop_json_free(&doc);
}

static void reals_are_rounded_correctly_and_not_a_number_is_read(void **state)
{
    (void)state;
    char text[2000] = "[NaN,Infinity,-Infinity,2.2250738585072011e-308,1e-999,0.1E+1,4.";
    memset(text + strlen(text), '0', 1500); /* longer than any buffer on the stack */
    strcat(text, "1]");
    hop_json_doc doc = parse(text);
    assert_true(isnan(hop_json_at(doc.root, 0)->real));
    assert_true(hop_json_at(doc.root, 1)->real == INFINITY);
    assert_true(hop_json_at(doc.root, 2)->real == -INFINITY);
    assert_true(hop_json_at(doc.root, 3)->real == 2.2250738585072011e-308);
    assert_true(hop_json_at(doc.root, 4)->real == 0);
    assert_true(hop_json_at(doc.root, 5)->real == 1);
    assert_true(hop_json_at(doc.root, 6)->real == 4);
    hop_json_free(&doc);
}

static void a_locale_with_a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < 4 && !found; i++) found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found) skip();
    rewritten("[1.5,0.1,1e300]", false, "[1.5,0.1,1e+300]");
    setlocale(LC_NUMERIC, "C");
}

static void escapes_and_surrogate_pairs_become_utf8(void **state)
{
    (void)state;
    hop_json_doc doc =
        parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\xF0\x9F\x98\x80 \x7f\"");
    const char *expected = "\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF0\x9F\x98\x80 \x7f";
    assert_string_equal(doc.root->string, expected);
    assert_int_equal(doc.root->count, strlen(expected));
    hop_json_free(&doc);
}

static void a_byte_order_mark_is_passed_over_at_the_start_only(void **state)
{
    (void)state;
    hop_json_doc doc = parse("\xEF\xBB\xBF{}");
    hop_json_free(&doc);
    refused("[\xEF\xBB\xBF]", "line 1, column 2: expected a value");
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    refused("", "line 1, column 1: expected a value, but the text ends");
    refused("  \n ", "line 2, column 2: expected a value, but the text ends");
    refused("{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3, column 3: the key \"a\" occurs twice");
    refused("{\"a\\n\":1,\"a\\u000a\":2}", "line 1, column 10: the key \"a \" occurs twice");
    refused("[\"\xE2\x82\xAC\", x]", "line 1, column 7: expected a value"); /* columns are characters */
    refused("[1\n,\n\n 2 3]", "line 4, column 4: expected ',' or ']'");
    refused("{\"a\" 1}", "line 1, column 6: expected ':' after a key");
    refused("{a:1}", "line 1, column 2: expected a key in quotes");
    refused("{\"a\":1,}", "line 1, column 8: expected a key in quotes");
    refused("[1,]", "line 1, column 4: expected a value");
    refused("1 2", "line 1, column 3: something follows the value");
    refused("\"ab\ncd\"", "line 1, column 4: control character in a string");
    refused("\"ab", "line 1, column 4: the text ends inside a string");
    refused("\"ab\\", "line 1, column 5: the text ends inside a string");
    refused("1e999", "line 1, column 1: the number is too large");
}

static void what_rfc_8259_forbids_is_refused(void **state)
{
    (void)state;
    /* clang-format off */
    static const char *const bad[] = {
        "01", "-01", "+1", ".5", "1.", "1.e1", "1e", "1e+", "-", "--1", "0x10", "1_000", "nul", "nullx",
        "True", "nan", "-NaN", "+Infinity", "inf", "'a'", "[", "]", "{", "}", "[}", "{]", "[1", "{\"a\"",
        "{\"a\":", "{\"a\":1", "[,]", "[1,,2]", "{,}", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u\"",
        "\"\\u0000\"", "\"\\ud800\"", "\"\\ud800\\n\"", "\"\\ud800\\u0041\"", "\"\\udc00\\ud800\"",
        "\"\t\"", "\"a\x01\"", "// x\n1", "/* */ 1", "{1:2}", "\f1", "\v1", "\xC2\xA0[1]", "\\u0031",
        "{\"a\":1 \"b\":2}", "{\"a\":1,\"b\"}",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refused(bad[i], "line ");
    refused_bytes("1\0", 2, "line 1, column 2: something follows");
    refused_bytes("\"\0\"", 3, "line 1, column 2: control character");
    refused_bytes("\"\\\0\"", 4, "line 1, column 2: unknown escape");
}

static void bad_utf8_is_refused(void **state)
{
    (void)state;
    /* clang-format off */
    static const char *const bad[] = {
        "\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xE2\x82",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xF8\x88\x80\x80", "\xFE", "\xFF", "\xF0\x9F\x98", "\xE2\x28\xA1",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[16];
        snprintf(text, sizeof text, "\"a%s\"", bad[i]);
        refused(text, "line 1, column 3: not UTF-8");
    }
}

static void nesting_is_taken_to_128_and_no_deeper(void **state)
{
    (void)state;
    char text[2 * HOP_JSON_MAX_DEPTH + 3];
    for (int depth = HOP_JSON_MAX_DEPTH; depth <= HOP_JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = 0;
        if (depth == HOP_JSON_MAX_DEPTH)
            rewritten(text, false, text);
        else
            refused(text, "line 1, column 129: nested deeper than 128");
    }
    size_t size = 1000000;
    char *deep = malloc(size);
    assert_non_null(deep);
    memset(deep, '[', size);
    refused_bytes(deep, size, "line 1, column 129: nested deeper than 128");
    free(deep);
}

static void a_text_cut_anywhere_is_refused(void **state)
{
    (void)state;
    const char *text =
        "{\"a\\u00e9\\ud83d\\ude00\": [1, -2.5e+10, true, null, NaN, {\"\xE2\x82\xAC\": \"\\n\"}]}";
    for (size_t n = 0; n < strlen(text); n++) refused_bytes(text, n, "line 1, column ");
}

static void duplicate_keys_are_found_in_large_objects(void **state)
{
    (void)state;
    enum { KEYS = 200000 };
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        snprintf(key, sizeof key, "model.layers.%d.weight", i);
        hop_json_integer(&w, key, i);
    }
    hop_json_end_object(&w);
    hop_json_doc doc = parse(w.text.s);
    assert_int_equal(doc.root->count, KEYS);
    hop_json_free(&doc);

    w.text.s[--w.text.len] = 0; /* the closing brace */
    hop_json_integer(&w, "model.layers.777.weight", 0);
    hop_text_add(&w.text, "}");
    refused(w.text.s, "line 1, column ");
    hop_text_free(&w.text);
}

static void a_file_is_loaded_and_its_errors_begin_with_its_path(void **state)
{
    (void)state;
    hop_json_doc doc = {0};
    hop_error err = {0};
    char path[4096];
    test_path(path, sizeof path, "json-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    fputs("[1, 2", f);
    fclose(f);
    assert_int_equal(hop_json_load(&doc, path, &err), HOP_EFORMAT);
    assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
    assert_non_null(strstr(err.text, ": line 1, column 6: expected ',' or ']'"));
    assert_int_equal(hop_file_write(path, "[1, 2]", 6, NULL), HOP_OK);
    assert_int_equal(hop_json_load(&doc, path, &err), HOP_OK);
    assert_int_equal(doc.root->count, 2);
    hop_json_free(&doc);
    assert_int_equal(hop_file_write(path, "", 0, NULL), HOP_OK);
    assert_int_equal(hop_json_load(&doc, path, NULL), HOP_EFORMAT);
    remove(path);
    assert_int_equal(hop_json_load(&doc, path, &err), HOP_EIO);
    assert_null(doc.root);
}

/* ---- typed reading ------------------------------------------------------------------------- */

static void typed_reading_keeps_defaults_and_names_the_key(void **state)
{
    (void)state;
    hop_json_doc doc = parse("{\"i\":7,\"f\":4.0,\"h\":4.5,\"n\":null,\"s\":\"x\",\"b\":true,\"big\":1e30,"
                             "\"e\":9007199254740992.0}");
    hop_error err = {0};
    int64_t i = 5;
    double d = 0.5;
    bool b = false;
    const char *s = "default";
    assert_int_equal(hop_json_read_int(doc.root, "absent", 0, 9, &i, &err), HOP_OK);
    assert_int_equal(hop_json_read_int(doc.root, "n", 0, 9, &i, &err), HOP_OK);
    assert_int_equal(i, 5);
    assert_int_equal(hop_json_read_int(doc.root, "i", 0, 9, &i, &err), HOP_OK);
    assert_int_equal(i, 7);
    assert_int_equal(hop_json_read_int(doc.root, "f", 0, 9, &i, &err), HOP_OK);
    assert_int_equal(i, 4);
    assert_int_equal(hop_json_read_int(doc.root, "i", 0, 6, &i, &err), HOP_EFORMAT);
    assert_string_equal(err.text, "i: 7 is not in [0, 6]");
    static const char *const no_integers[] = {"h", "s", "b", "big", "e"};
    for (size_t k = 0; k < 5; k++) {
        assert_int_equal(hop_json_read_int(doc.root, no_integers[k], 0, INT64_MAX, &i, &err), HOP_EFORMAT);
        assert_int_equal(strncmp(err.text, no_integers[k], strlen(no_integers[k])), 0);
    }
    assert_int_equal(i, 4);
    assert_int_equal(hop_json_read_real(doc.root, "i", &d, &err), HOP_OK);
    assert_true(d == 7);
    assert_int_equal(hop_json_read_real(doc.root, "h", &d, &err), HOP_OK);
    assert_true(d == 4.5);
    assert_int_equal(hop_json_read_real(doc.root, "s", &d, &err), HOP_EFORMAT);
    assert_int_equal(hop_json_read_bool(doc.root, "b", &b, &err), HOP_OK);
    assert_true(b);
    assert_int_equal(hop_json_read_bool(doc.root, "i", &b, &err), HOP_EFORMAT);
    assert_int_equal(hop_json_read_string(doc.root, "s", &s, &err), HOP_OK);
    assert_string_equal(s, "x");
    assert_int_equal(hop_json_read_string(doc.root, "b", &s, &err), HOP_EFORMAT);
    assert_string_equal(err.text, "b: not a string");
    assert_false(hop_json_int(NULL, 0, 9, &i));
    hop_json_free(&doc);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void reals_are_written_short_and_read_back_to_the_same_bits(void **state)
{
    (void)state;
    rewritten("[0.1,4.0,-0.0,1e22,1e300,3.141592653589793,5e-324,1.7976931348623157e308,100000.0]", false,
              "[0.1,4.0,-0.0,1e+22,1e+300,3.141592653589793,4.94065645841247e-324,1.7976931348623157e+308,"
              "100000.0]");
    rewritten("[NaN,Infinity,-Infinity]", false, "[null,null,null]");
    hop_rng rng;
    hop_rng_init(&rng, 1, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = hop_rng_u64(&rng);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        hop_json_writer w = {0};
        hop_json_put_real(&w, v);
        hop_json_doc doc = parse(w.text.s);
        assert_int_equal(doc.root->type, HOP_JSON_REAL);
        assert_memory_equal(&doc.root->real, &v, sizeof v);
        hop_json_free(&doc);
        hop_text_free(&w.text);
    }
}

static void strings_are_escaped_and_what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    hop_json_writer w = {0};
    hop_json_begin_array(&w);
    hop_json_put_string(&w, "a\"b\\c/\b\f\n\r\t\x01\x1f\x7f\xE2\x82\xAC");
    hop_json_put_string(&w, "x\xFFy\xE2\x82");
    hop_json_put_string(&w, NULL);
    hop_json_end_array(&w);
    assert_string_equal(w.text.s, "[\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xE2\x82\xAC\","
                                  "\"x\xEF\xBF\xBDy\xEF\xBF\xBD\xEF\xBF\xBD\",null]");
    hop_text_free(&w.text);
}

static void pretty_text_has_members_on_lines_and_short_arrays_in_one(void **state)
{
    (void)state;
    rewritten(
        "{\"a\":[1,2.5,\"x\"],\"b\":{},\"c\":[],\"d\":{\"e\":[[1,2],[3]],\"f\":[{\"g\":null}]}}", true,
        "{\n  \"a\": [1, 2.5, \"x\"],\n  \"b\": {},\n  \"c\": [],\n  \"d\": {\n    \"e\": [\n      [1, 2],\n"
        "      [3]\n    ],\n    \"f\": [\n      {\n        \"g\": null\n      }\n    ]\n  }\n}");
    rewritten("[]", true, "[]");
    rewritten("3", true, "3");
}

static void pretty_and_compact_texts_say_the_same(void **state)
{
    (void)state;
    hop_json_writer w = {0};
    hop_json_begin_array(&w);
    for (int i = 0; i < 500; i++) hop_json_put_int(&w, i * 7919);
    hop_json_begin_object(&w);
    hop_json_string(&w, "s", "t");
    hop_json_number(&w, "x", 0.25);
    hop_json_boolean(&w, "y", false);
    hop_json_end_object(&w);
    hop_json_put_bool(&w, true);
    hop_json_end_array(&w);
    char *pretty = rewrite(w.text.s, true), *again = rewrite(pretty, false);
    assert_string_equal(again, w.text.s);
    size_t longest = 0;
    for (const char *line = pretty; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strcspn(line, "\n") > longest) longest = strcspn(line, "\n");
    assert_in_range(longest, 90, 120);
    free(pretty);
    free(again);
    hop_text_free(&w.text);
}

static void what_is_not_known_is_written_as_null(void **state)
{
    (void)state;
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_known(&w, "a", 7, true);
    hop_json_known(&w, "b", 7, false);
    hop_json_string(&w, "c", NULL);
    hop_json_number(&w, "d", NAN);
    hop_json_null(&w, "e");
    hop_json_integers(&w, "f", (const int64_t[]){1, -2}, 2);
    hop_json_integers(&w, "g", NULL, 0);
    hop_json_end_object(&w);
    assert_string_equal(w.text.s,
                        "{\"a\":7,\"b\":null,\"c\":null,\"d\":null,\"e\":null,\"f\":[1,-2],\"g\":[]}");
    hop_text_free(&w.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_read),
        cmocka_unit_test(integers_are_exact_to_the_last_bit_and_larger_ones_are_reals),
        cmocka_unit_test(reals_are_rounded_correctly_and_not_a_number_is_read),
        cmocka_unit_test(a_locale_with_a_decimal_comma_changes_nothing),
        cmocka_unit_test(escapes_and_surrogate_pairs_become_utf8),
        cmocka_unit_test(a_byte_order_mark_is_passed_over_at_the_start_only),
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(what_rfc_8259_forbids_is_refused),
        cmocka_unit_test(bad_utf8_is_refused),
        cmocka_unit_test(nesting_is_taken_to_128_and_no_deeper),
        cmocka_unit_test(a_text_cut_anywhere_is_refused),
        cmocka_unit_test(duplicate_keys_are_found_in_large_objects),
        cmocka_unit_test(a_file_is_loaded_and_its_errors_begin_with_its_path),
        cmocka_unit_test(typed_reading_keeps_defaults_and_names_the_key),
        cmocka_unit_test(reals_are_written_short_and_read_back_to_the_same_bits),
        cmocka_unit_test(strings_are_escaped_and_what_is_not_utf8_is_replaced),
        cmocka_unit_test(pretty_text_has_members_on_lines_and_short_arrays_in_one),
        cmocka_unit_test(pretty_and_compact_texts_say_the_same),
        cmocka_unit_test(what_is_not_known_is_written_as_null),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
