/* The layer plan: lists in the file beat every rule, then the family's statements count in their order, the
 * first that applies. A rule says for each layer, from 0 on, which letter it is: `F if (i+1) % 4 == 0, L`. */
#include "room.h"

#include <stdio.h>
#include <string.h>

void hop__hf_letter(hop__hf *r, int64_t layer, char letter)
{
    hop_hf_layer *l = &r->plan->layers[layer];
    l->sparse = letter == 'P';
    l->chunked = letter == 'K';
    l->letter = l->sparse || l->chunked ? 'S' : letter;
    if (!hop_hf_letter_means(l->letter)) hop__hf_fail(r, HOP_EFORMAT, "families: a layer without a letter");
}

bool hop__hf_any(const hop_hf_plan *p, const char *letters)
{
    for (int64_t i = 0; i < p->count; i++)
        if (strchr(letters, p->layers[i].letter)) return true;
    return false;
}

void hop__hf_all(hop__hf *r, char letter, const char *source)
{
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, letter);
    hop__hf_source(r, source);
}

/* ---- rules ------------------------------------------------------------------------------------------ */

/* Takes the next letter and its condition off; `holds`: in this layer. */
static const char *clause(hop__hf *r, hop__span *rule, int64_t layer, char *letter, bool *holds)
{
    hop__span name = hop__span_word(rule);
    bool single = name.end - name.at == 1 || (name.end - name.at == 2 && name.at[1] == ',');
    if (!single || !strchr("FLSHhGCE-PK", *name.at))
        return "a rule is letters with conditions: F if i > 3, L";
    *letter = *name.at;
    *holds = true;
    if (name.end - name.at == 2) return NULL;
    hop__eval e = {.r = r, .in = *rule, .layer = layer};
    if (hop__span_skip(&e.in, "if")) {
        *holds = hop__evaluate(&e) != 0;
        *rule = e.in;
    }
    hop__span_sign(rule, ',');
    return e.wrong;
}

/* The letter of a layer. */
static const char *letter_of(hop__hf *r, hop__span rule, int64_t layer, char *letter)
{
    bool holds = false;
    const char *wrong = NULL;
    while (!wrong && (!holds || r->checking)) {
        hop__span word = rule;
        if (hop__span_word(&word).at == word.at) break;
        wrong = clause(r, &rule, layer, letter, &holds);
    }
    return !wrong && !holds && r->checking ? "its last letter has a condition" : wrong;
}

const char *hop__hf_rule(hop__hf *r, hop__span rule)
{
    char letter = 0;
    if (r->checking) return letter_of(r, rule, 0, &letter);
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        letter_of(r, rule, i, &letter);
        hop__hf_letter(r, i, letter);
    }
    return NULL;
}

/* ---- statements --------------------------------------------------------------------------------------- */

/* `.. as TEXT`; or `.. by KEY or TEXT`: the first of the keys, where the file has one. */
static void name_source(hop__hf *r, hop__span as, hop__span by)
{
    char keys[HOP__HF_MAX_KEYS], text[96] = "default rule";
    hop__span given = hop__span_word(&by);
    hop__span_copy(keys, sizeof keys, given);
    bool has = keys[0] && hop__hf_has(r, keys);
    if (as.at < as.end) hop__span_copy(text, sizeof text, as);
    if (!has && hop__span_skip(&by, "or")) hop__span_copy(text, sizeof text, hop__span_until(&by, '\n'));
    if (has) snprintf(text, sizeof text, "%.*s", (int)strcspn(keys, "|"), keys);
    hop__hf_source(r, text);
}

/* Takes what follows `word` off the end of a text. */
hop__span hop__span_tail(hop__span *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text->at; (size_t)(text->end - at) > n; at++) {
        if (memcmp(at, word, n) != 0) continue;
        hop__span rest = {at + n, text->end};
        text->end = at;
        return rest;
    }
    return (hop__span){text->end, text->end};
}

/* A family is known to attend to everything, unless its file has keys of something else. */
static void everything(hop__hf *r)
{
    const char *key = hop__hf_telltale(r);
    if (key) hop__hf_unknown_rule(r, key);
    hop__hf_all(r, 'F', "no hybrid key");
}

static bool form_applies(hop__hf *r, hop__hf_form *form, hop__span text)
{
    char keys[HOP__HF_MAX_KEYS];
    hop__span as = hop__span_tail(&text, " as "), key = hop__span_word(&text);
    hop__span_copy(keys, sizeof keys, key);
    if (!form(r, keys, text)) return false;
    char source[96];
    hop__span_copy(source, sizeof source, as);
    if (source[0]) hop__hf_source(r, source);
    return true;
}

static bool applies(hop__hf *r, hop__span text)
{
    if (hop__span_skip(&text, "when")) {
        hop__eval e = {.r = r, .in = text};
        if (!hop__evaluate(&e) || r->status != HOP_OK) return r->status != HOP_OK;
        hop__span_sign(&e.in, ',');
        text = e.in;
    }
    hop__span rest = text;
    hop__span word = hop__span_word(&rest);
    hop__hf_form *form = hop__hf_form_find(word);
    if (form) return form_applies(r, form, rest);
    if (hop__span_is(word, "full")) {
        everything(r);
        return true;
    }
    hop__span as = hop__span_tail(&text, " as ");
    hop__span by = hop__span_tail(&text, " by ");
    hop__hf_rule(r, text);
    name_source(r, as, by);
    return true;
}

static void add_value(hop__hf *r, hop_text *out, hop__span name)
{
    char key[64];
    const hop__var *v = hop__hf_var(r, name);
    hop__span_copy(key, sizeof key, name);
    const hop_json *json = hop__hf_find(r, key);
    if (v)
        hop_text_printf(out, "%lld", (long long)v->value);
    else if (json && json->type == HOP_JSON_STRING)
        hop_text_printf(out, "\"%.60s\"", json->string);
    else if (json && json->type == HOP_JSON_INT)
        hop_text_printf(out, "%lld", (long long)json->integer);
}

static void fail_with(hop__hf *r, hop__span text)
{
    hop_text out = {0};
    while (text.at < text.end) {
        const char *open = memchr(text.at, '{', (size_t)(text.end - text.at));
        hop_text_addn(&out, text.at, (size_t)((open ? open : text.end) - text.at));
        text.at = open ? open + 1 : text.end;
        if (open) add_value(r, &out, hop__span_until(&text, '}'));
    }
    hop__hf_fail(r, HOP_EUNKNOWN, "%s", out.s ? out.s : "refused");
    hop_text_free(&out);
}

void hop__hf_refuse_if(hop__hf *r, hop__span text)
{
    hop__eval e = {.r = r, .in = text};
    if (!hop__evaluate(&e)) return;
    hop__span_sign(&e.in, ',');
    fail_with(r, hop__span_until(&e.in, '\n'));
}

/* `let`, `refuse` and `plan` of a row, in their order. */
static bool plan_from(hop__hf *r, const hop__row *row)
{
    hop__span body = row->body, name, rest;
    bool done = false;
    while (!done && r->status == HOP_OK && hop__statement_next(&body, &name, &rest)) {
        if (hop__span_is(name, "plan")) {
            done = applies(r, rest);
        } else if (hop__span_is(name, "refuse")) {
            hop__hf_refuse_if(r, rest);
        } else if (hop__span_is(name, "let")) {
            hop__span variable = hop__span_until(&rest, '=');
            hop__hf_assign(r, variable, hop__hf_value(r, rest, 0));
        }
    }
    return done || r->status != HOP_OK;
}

/* The row itself, or the one that it is like, that has statements of a plan. */
static hop__row planning_row(const hop__hf *r, hop__span *first)
{
    hop__hf at = {.row = r->row, .families = r->families, .built_in = r->built_in};
    for (int i = 0; i < 8; i++) {
        hop__span body = at.row.body, name;
        while (hop__statement_next(&body, &name, first))
            if (hop__span_is(name, "plan")) return at.row;
        if (!hop__hf_like(r, &at.row)) break;
    }
    return r->row;
}

/* A statement of a plan speaks of the key. */
static bool is_planned(const hop__row *row, const char *key)
{
    hop__span body = row->body, name, rest;
    char text[512];
    while (hop__statement_next(&body, &name, &rest)) {
        hop__span_copy(text, sizeof text, rest);
        if (hop__span_is(name, "plan") && strstr(text, key)) return true;
    }
    return false;
}

/* What numbers in these lists mean is the family's: it has a statement about them, or nobody knows. */
static void refuse_foreign_lists(hop__hf *r, const hop__row *row)
{
    char key[64];
    for (int k = 0; hop__hf_word(r, "numbered", k, key); k++) {
        const hop_json *v = hop__hf_find(r, key);
        if (v && v->count > 0 && !is_planned(row, key)) hop__hf_unknown_rule(r, key);
    }
}

static void unknown_plan(hop__hf *r)
{
    if (!r->row.names.at)
        hop__hf_fail(r, HOP_EUNKNOWN,
                     "unknown family: model_type \"%s\", and none of layer_types, layers_block_type, "
                     "hybrid_override_pattern, linear_attn_config, ssm_cfg says what its layers are",
                     r->plan->model_type);
    else
        hop__hf_fail(r, HOP_EUNKNOWN,
                     "unknown layer plan: looked for layer_types, layers_block_type, "
                     "hybrid_override_pattern, attn_type_list, hybrid_layer_pattern, compress_ratios, "
                     "sparse_attention_config");
}

void hop__hf_plan(hop__hf *r)
{
    hop__span first;
    const hop__row row = planning_row(r, &first);
    if (plan_from(r, &r->common)) return;
    refuse_foreign_lists(r, &row);
    if (r->status == HOP_OK && !plan_from(r, &row)) unknown_plan(r);
}
