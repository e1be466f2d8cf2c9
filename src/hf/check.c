/* A families' file of a user: every row is read through before one of them counts, so that what is wrong with
 * it is told by row and statement, and not when a model of that family comes along. */
#include "room.h"

#include <stdlib.h>
#include <string.h>

typedef struct checked {
    hop__hf r; /* with the file's rows, for rows that name others */
    hop__row row;
    hop__span rest; /* of the statement */
} checked;

/* ---- what stands behind the first word ------------------------------------------------------------- */

static const char *free_text(checked *c)
{
    return c->rest.at < c->rest.end ? NULL : "nothing follows";
}

static const char *nothing(checked *c)
{
    return c->rest.at < c->rest.end ? "nothing may follow" : NULL;
}

/* Takes an expression off what is left of the statement. */
static const char *read_expression(checked *c)
{
    hop__eval e = {.r = &c->r, .in = c->rest};
    hop__evaluate(&e);
    c->rest = e.in;
    return e.wrong;
}

static const char *at_end(checked *c)
{
    hop__span rest = c->rest, word = hop__span_word(&rest);
    return word.at < word.end ? "something else follows the expression" : NULL;
}

static const char *expression(checked *c)
{
    const char *wrong = read_expression(c);
    return wrong ? wrong : at_end(c);
}

/* CONDITION, and what follows a comma. */
static const char *condition_and_text(checked *c)
{
    const char *wrong = read_expression(c);
    if (wrong) return wrong;
    return hop__span_sign(&c->rest, ',') ? free_text(c) : "behind the expression a ',' is missing";
}

static const char *three_expressions(checked *c)
{
    const char *wrong = NULL;
    for (int k = 0; k < 2 && !wrong; k++) wrong = condition_and_text(c);
    return wrong ? wrong : expression(c);
}

static const char *variable(checked *c)
{
    hop__span name = hop__span_word(&c->rest);
    if (name.at == name.end || !hop__span_skip(&c->rest, "=")) return "let NAME = VALUE";
    return expression(c);
}

static const char *row_called(checked *c, const char *kind, const hop__row *not_this)
{
    hop__row row;
    hop__span name = hop__span_word(&c->rest);
    return hop__hf_row(&c->r, kind, name, not_this, &row) ? NULL : "there is no such row";
}

static const char *a_state(checked *c)
{
    const char *wrong = row_called(c, "state", NULL);
    return wrong ? wrong : nothing(c);
}

static const char *an_attention(checked *c)
{
    const char *wrong = row_called(c, "attention", NULL);
    return wrong ? wrong : nothing(c);
}

static const char *a_weighing(checked *c)
{
    const char *wrong = row_called(c, "weights", NULL);
    return wrong ? wrong : nothing(c);
}

static const char *same_kind(checked *c)
{
    char kind[16];
    hop__span_copy(kind, sizeof kind, c->row.kind);
    return row_called(c, kind, &c->row);
}

static const char *became(checked *c)
{
    const char *wrong = same_kind(c);
    return wrong || !hop__span_skip(&c->rest, "if") ? (wrong ? wrong : nothing(c)) : expression(c);
}

static const char *map(checked *c)
{
    hop__span pair = hop__span_word(&c->rest);
    if (pair.at == pair.end) return "word=LETTER is missing";
    for (; pair.at < pair.end; pair = hop__span_word(&c->rest))
        if (pair.end - pair.at < 3 || pair.end[-2] != '=' || !strchr("FLSHhGCE-PK", pair.end[-1]))
            return "not made of word=LETTER";
    return NULL;
}

static const char *last_letter(checked *c)
{
    bool one = c->rest.end - c->rest.at == 1 && strchr("FLSHhGCE-PK", *c->rest.at);
    return one ? NULL : "not a letter of a plan";
}

/* "layers 48, heads 16, tied": words that are known, and numbers. */
static const char *facts(checked *c, const char *words)
{
    hop__span one;
    char padded[40], word[32];
    while (hop__span_part(&c->rest, &one)) {
        hop__span_copy(word, sizeof word, hop__span_word(&one));
        hop__span number = hop__span_word(&one);
        padded[0] = ' ', padded[1] = 0;
        strcat(strcat(padded, word), " ");
        if (!strstr(words, padded)) return "a word in it is not known";
        bool open = hop__span_is(number, "?") && strstr(" kv_heads head_dim ", padded);
        if (number.at < number.end && !open && !(hop__span_real(number) <= 1e12)) return "not a number";
    }
    return NULL;
}

static const char *class_facts(checked *c)
{
    return facts(c, " layers hidden heads kv_heads head_dim window context ");
}

static const char *block_facts(checked *c)
{
    return facts(c, " theta rotary eps scale qk_norm gate tied groups norm_in_groups latent_queries relu "
                    "no_mlp ");
}

static const char *plan(checked *c)
{
    const char *wrong = NULL;
    if (hop__span_skip(&c->rest, "when") && (wrong = condition_and_text(c)) != NULL) return wrong;
    hop__span_tail(&c->rest, " as ");
    hop__span_tail(&c->rest, " by ");
    hop__span rest = c->rest, word = hop__span_word(&rest);
    if (hop__span_is(word, "full")) return NULL;
    if (!hop__hf_form_find(word)) return hop__hf_rule(&c->r, c->rest);
    hop__span key = hop__span_word(&rest);
    if (key.at == key.end) return "a key is missing";
    c->rest = rest;
    return hop__span_is(word, "specs") ? NULL : map(c);
}

/* ---- the statements -------------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
    const char *name;
    bool family; /* of a family, not of a state or attention */
    const char *(*check)(checked *c);
} statements[] = {
    {"like", true, same_kind},             {"class", true, class_facts},        {"plan", true, plan},
    {"let", true, variable},               {"means", true, map},
    {"refuse", true, condition_and_text},
    {"last", true, last_letter},           {"window", true, expression},        {"slides", true, expression},
    {"topk", true, expression},            {"topk_where_listed", true, nothing}, {"topk_tokens", true, nothing},
    {"layers", true, condition_and_text},  {"loops", true, expression},         {"shared", true, expression},
    {"state", true, a_state},              {"attention", true, an_attention},   {"known", true, free_text},
    {"differential", true, nothing},       {"remark", true, free_text},         {"block", true, block_facts},
    {"left_out", true, free_text},         {"unlike", true, free_text},
    {"weights", true, a_weighing},         {"unrotated", true, expression},       {"index", true, expression},         {"kept_apart", true, free_text},
    {"kind", false, free_text},            {"shape", false, three_expressions}, {"use", false, same_kind},
    {"become", false, became},             {"refuse", false, condition_and_text},
    {"remark", false, free_text},          {"float32", false, free_text},
};
/* clang-format on */

static const char *check_statement(checked *c, hop__span name)
{
    bool family = hop__span_is(c->row.kind, "family");
    if (!family && hop__span_skip(&c->rest, "=")) return expression(c);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (statements[i].family == family && hop__span_is(name, statements[i].name))
            return statements[i].check(c);
    return "there is no such statement";
}

static hop_status fail_at(const checked *c, hop__span name, const char *why, hop_error *err)
{
    char kind[16], first[48], what[48];
    hop__span names = c->row.names;
    hop__span_word(&names);
    hop__span_copy(kind, sizeof kind, c->row.kind);
    hop__span_copy(first, sizeof first, hop__span_word(&names));
    hop__span_copy(what, sizeof what, name);
    return hop_fail(err, HOP_EFORMAT, "%s %s: %s: %s", kind, first, what, why);
}

static hop_status check_row(checked *c, hop_error *err)
{
    hop__span body = c->row.body, name, names = c->row.names;
    bool known = hop__span_is(c->row.kind, "family") || hop__span_is(c->row.kind, "state") ||
                 hop__span_is(c->row.kind, "attention") || hop__span_is(c->row.kind, "weights");
    if (!known) return fail_at(c, c->row.kind, "rows begin with family, state, attention or weights", err);
    hop__span_word(&names);
    hop__span first = hop__span_word(&names);
    if (first.at == first.end) return fail_at(c, c->row.kind, "its name is missing", err);
    while (hop__statement_next(&body, &name, &c->rest)) {
        const char *wrong = check_statement(c, name);
        if (wrong) return fail_at(c, name, wrong, err);
    }
    return HOP_OK;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static hop_status check_all(const hop_hf_families *f, hop_error *err)
{
    hop__span text = {f->text, f->text + f->size}, before = text;
    checked c = {.r = {.checking = true, .families = f, .built_in = hop__hf_built_in()}};
    hop_status s = HOP_OK;
    int rows = 0;
    if (memchr(f->text, 0, f->size)) return hop_fail(err, HOP_EFORMAT, "a byte 0 in a text");
    while (s == HOP_OK && hop__row_next(&text, &c.row)) {
        if (!rows++) before.end = c.row.names.at;
        s = check_row(&c, err);
    }
    hop__span name, rest;
    if (s == HOP_OK && hop__statement_next(&before, &name, &rest) && rows)
        return hop_fail(err, HOP_EFORMAT, "a statement before the first row");
    return s != HOP_OK || rows ? s : hop_fail(err, HOP_EFORMAT, "no row in it");
}

hop_status hop_hf_families_parse(hop_hf_families **f, const char *text, size_t size, hop_error *err)
{
    *f = NULL;
    if (size > HOP_HF_MAX_FAMILIES)
        return hop_fail(err, HOP_EFORMAT, "%zu bytes, more than %d", size, HOP_HF_MAX_FAMILIES);
    hop_hf_families *new = calloc(1, sizeof *new);
    if (new) new->text = malloc(size + 1);
    if (!new || !new->text) {
        free(new);
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    if (size) memcpy(new->text, text, size);
    new->text[size] = 0;
    new->size = size;
    hop_status s = check_all(new, err);
    if (s == HOP_OK)
        *f = new;
    else
        hop_hf_families_free(new);
    return s;
}

hop_status hop_hf_families_load(hop_hf_families **f, const char *path, hop_error *err)
{
    hop_file file = {0};
    *f = NULL;
    hop_status s = hop_file_read(&file, path, HOP_HF_MAX_FAMILIES, err);
    if (s != HOP_OK) return s;
    s = hop_hf_families_parse(f, (const char *)file.data, file.size, err);
    hop_file_free(&file);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

void hop_hf_families_free(hop_hf_families *f)
{
    if (f) free(f->text);
    free(f);
}
