/* Other people's networks as ours: rows of networks.txt, whose statements are executed in their order. The layer plan
 * and the sizes of attention are those of families.txt. */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char *const hop__hf_networks[];

static hop__span all_rows(void)
{
    return (hop__span){hop__hf_networks[1], hop__hf_networks[1] + strlen(hop__hf_networks[1])};
}

static bool find_row(hop__span text, hop__span name, hop__span *body)
{
    hop__row row;
    while (hop__row_next(&text, &row)) {
        hop__span word;
        hop__span_word(&row.names); /* the kind */
        while (hop__span_next(&row.names, &word))
            if (hop__span_same(word, name)) return *body = row.body, true;
    }
    return false;
}

bool hop_hf_network_known(const char *type)
{
    hop__span body;
    return *type && find_row(all_rows(), (hop__span){type, type + strlen(type)}, &body);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static bool is_key(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.|-", c);
}

static double real_of(hop__net *w, const char *keys, double otherwise)
{
    const hop_json *v = hop__hf_find(&w->r, keys);
    if (!v) {
        if (isnan(otherwise))
            hop__hf_fail(&w->r, HOP_EUNKNOWN, "%s: absent, and nothing else gives it", keys);
        return otherwise;
    }
    double value = v->type == HOP_JSON_INT ? (double)v->integer : v->type == HOP_JSON_REAL ? v->real : NAN;
    const hop_json *word = hop_json_get(v, "__float__"); /* as transformers writes what JSON has not got */
    if (word && word->type == HOP_JSON_STRING && strcmp(word->string, "Infinity") == 0) value = INFINITY;
    if (isnan(value) || value == -INFINITY) hop__hf_fail(&w->r, HOP_EFORMAT, "%s: not a number", keys);
    if (value != 0 && isfinite(value) && !isnormal((float)value))
        hop__hf_fail(&w->r, HOP_EDOMAIN, "%s: %g is beyond the normal numbers of float32", keys, value);
    return value;
}

/* root(EXPRESSION), as the nearest float32; root16(..), as the nearest bfloat16. */
static bool root(hop__net *w, hop__span *text, double *value)
{
    char name[16];
    hop__span rest = *text, word = {rest.at, rest.at};
    while (word.end < rest.end && is_key(*word.end)) word.end++;
    hop__span_copy(name, sizeof name, word);
    bool short16 = strcmp(name, "root16") == 0;
    rest.at = word.end;
    if ((!short16 && strcmp(name, "root") != 0) || !hop__span_sign(&rest, '(')) return false;
    *value = (float)sqrt((double)hop__hf_value(&w->r, hop__span_until(&rest, ')'), 0));
    if (short16) { /* 8 significant bits, ties to even, of a number that is neither tiny nor huge */
        int power = 0;
        double mantissa = frexp(*value, &power);
        *value = ldexp(rint(mantissa * 256), power - 8);
    }
    *text = rest;
    return true;
}

static double one_factor(hop__net *w, hop__span *text)
{
    char keys[HOP__HF_MAX_KEYS];
    double value;
    while (text->at < text->end && *text->at == ' ') text->at++;
    if (root(w, text, &value)) return value;
    hop__span name = {text->at, text->at};
    while (name.end < text->end && is_key(*name.end)) name.end++;
    text->at = name.end;
    value = hop__span_real(name);
    if (!isnan(value)) return value;
    hop__span_copy(keys, sizeof keys, name);
    for (int i = w->factor_count; i > 0; i--)
        if (strcmp(w->factor[i - 1].name, keys) == 0) return w->factor[i - 1].value;
    double otherwise = NAN;
    if (hop__span_sign(text, ':')) {
        hop__span number = {text->at, text->at};
        while (number.end < text->end && is_key(*number.end)) number.end++;
        text->at = number.end;
        otherwise = hop__span_real(number);
    } else {
        hop__span_sign(text, '!');
    }
    return real_of(w, keys, otherwise);
}

double hop__net_factor(hop__net *w, hop__span text)
{
    double value = one_factor(w, &text);
    while (w->r.status == HOP_OK) {
        if (hop__span_sign(&text, '*'))
            value *= one_factor(w, &text);
        else if (hop__span_sign(&text, '/'))
            value /= one_factor(w, &text);
        else
            break;
    }
    return value;
}

static void put_factor(hop__net *w, hop__span rest)
{
    hop__span name = hop__span_until(&rest, '=');
    double value = hop__net_factor(w, rest);
    if (w->factor_count == HOP__NET_MAX_FACTORS)
        return hop__hf_fail(&w->r, HOP_EFORMAT, "networks: too many factors");
    hop__span_copy(w->factor[w->factor_count].name, sizeof w->factor->name, name);
    w->factor[w->factor_count++].value = value;
}

/* ---- the configuration --------------------------------------------------------------------------- */

static void put_size(hop__net *w, hop__span rest)
{
    hop_config *c = &w->n->config;
    const struct {
        const char *name;
        int64_t *to;
    } sizes[] = {{"vocab", &c->vocab},      {"width", &c->d_model},     {"context", &c->max_positions},
                 {"heads", &c->heads},      {"kv_heads", &c->kv_heads}, {"head_dim", &c->head_dim},
                 {"hidden", &c->mlp_hidden}};
    hop__span name = hop__span_until(&rest, '=');
    int64_t value = hop__hf_value(&w->r, rest, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (hop__span_is(name, sizes[i].name)) *sizes[i].to = value;
    if (hop__span_is(name, "tied")) c->tied = value != 0;
    if (hop__span_is(name, "mlp")) c->mlp = value ? HOP_MLP_SWIGLU : HOP_MLP_NONE;
}

/* Where ours is 0, it is what there is without it; theirs would be a 0. A scale below it turns what is looked at around,
 * which not all ways to attend do alike. */
static void check_zero(hop__net *w, const char *name, double value)
{
    static const char *const unset[] = {"norm_eps", "dt_max", "router_scale", "scale"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (!(value > 0) && strcmp(name, unset[i]) == 0)
            hop__hf_fail(&w->r, HOP_EDOMAIN, "%s: %g cannot be run", name, value);
}

static void put_real(hop__net *w, hop__span rest)
{
    hop_config *c = &w->n->config;
    hop__span name = hop__span_until(&rest, '=');
    double value = hop__net_factor(w, rest);
    if (hop__span_is(name, "scale")) check_zero(w, "scale", value);
    if (hop__span_is(name, "norm_eps")) c->norm_eps = value;
    if (hop__span_is(name, "scale")) c->attention_scale = value;
}

/* `MIXER NAME = VALUE` for all layers of a mixer, or `LETTERS NAME = VALUE` for one of their layers. */
static void put_setting(hop__net *w, hop__span rest, int64_t layer, bool real)
{
    char whose[HOP_MIXER_NAME_SIZE], name[HOP_MIXER_NAME_SIZE];
    hop__span left = hop__span_until(&rest, '=');
    hop__span_copy(whose, sizeof whose, hop__span_word(&left));
    hop__span_copy(name, sizeof name, hop__span_word(&left));
    double value =
        real ? hop__net_factor(w, rest) : (double)hop__hf_value(&w->r, rest, layer < 0 ? 0 : layer);
    if (real) check_zero(w, name, value);
    if (isinf(value)) return; /* a limit that is none */
    if (w->r.status == HOP_OK)
        w->r.status = hop_config_set(&w->n->config, layer < 0 ? -1 : w->base[layer], layer < 0 ? whose : "",
                                     name, value, w->r.err);
}

/* ---- statements ---------------------------------------------------------------------------------- */

/* Takes the letters off: does this layer have one of them, or was it marked so? */
static bool is_of(hop__net *w, hop__span *rest, int64_t layer)
{
    hop__span letters = hop__span_word(rest);
    char mine = w->r.plan->layers[layer].letter;
    for (const char *at = letters.at; at < letters.end; at++)
        if (*at == mine || *at == '*' || (*at == w->mark[layer])) return true;
    return false;
}

/* `when CONDITION, ..` */
static bool holds(hop__net *w, hop__span *rest, int64_t layer)
{
    if (!hop__span_skip(rest, "when")) return true;
    hop__eval e = {.r = &w->r, .in = *rest, .layer = layer};
    bool yes = hop__evaluate(&e) != 0;
    hop__span_sign(&e.in, ',');
    *rest = e.in;
    return yes;
}

/* `mark LETTER if CONDITION`, the first that applies. */
static void put_mark(hop__net *w, hop__span rest, int64_t layer)
{
    hop__span letter = hop__span_word(&rest);
    if (w->mark[layer] == 0 && hop__span_skip(&rest, "if") && hop__hf_value(&w->r, rest, layer) != 0)
        w->mark[layer] = *letter.at;
}

/* `layer LETTERS = MIXER ..`: what stands in the place of such a layer, the first that applies; `then LETTERS = ..`: and
 * what behind it. Conditions are layer by layer, so all layers are gone through together once their statements have been
 * read: here the pattern is only collected. */
static void put_pattern(hop__net *w, hop__span body, hop_text *pattern, int64_t layer, int depth)
{
    hop__span name, rest, inner;
    while (w->r.status == HOP_OK && hop__statement_next(&body, &name, &rest)) {
        const bool first = hop__span_is(name, "layer");
        if (hop__span_is(name, "use") && depth < 8 && find_row(w->text, hop__span_word(&rest), &inner)) {
            put_pattern(w, inner, pattern, layer, depth + 1);
            continue;
        }
        if (hop__span_is(name, "mark")) put_mark(w, rest, layer);
        if (!(first ? w->base[layer + 1] == 0 : hop__span_is(name, "then"))) continue;
        if (!holds(w, &rest, layer) || !is_of(w, &rest, layer)) continue;
        hop__span word;
        hop__span_sign(&rest, '=');
        for (; hop__span_next(&rest, &word); w->base[layer + 1]++)
            hop_text_printf(pattern, "%.*s ", (int)(word.end - word.at), word.at);
    }
}

static void put_layers(hop__net *w, hop__span body)
{
    const hop_hf_plan *p = w->r.plan;
    hop_text pattern = {0};
    for (int64_t i = 0; w->r.status == HOP_OK && i < p->count; i++) {
        put_pattern(w, body, &pattern, i, 0);
        if (w->base[i + 1] == 0)
            hop__hf_fail(&w->r, HOP_EDOMAIN, "%s: layer %lld: %s: cannot be run", p->model_type, (long long)i,
                         hop_hf_letter_means(p->layers[i].letter));
        w->base[i + 1] += w->base[i];
    }
    if (w->r.status == HOP_OK && (pattern.failed || !pattern.s))
        hop__hf_fail(&w->r, HOP_ENOMEM, "out of memory");
    if (w->r.status == HOP_OK)
        w->r.status = hop_pattern_parse(&w->n->config.pattern, pattern.s, "", w->r.err);
    hop_text_free(&pattern);
}

static void put_rename(hop__net *w, hop__span rest)
{
    hop_hf_network *n = w->n;
    if (n->rename_count == HOP_HF_MAX_RENAMES) return;
    hop_hf_rename *to = &n->rename[n->rename_count++];
    hop__span_copy(to->from, sizeof to->from, hop__span_word(&rest));
    hop__span_copy(to->to, sizeof to->to, hop__span_word(&rest));
}

/* Statements that are of every layer, one after the other. */
static bool by_layer(hop__net *w, hop__span name, hop__span rest)
{
    static const char *const names[] = {"tensor", "fill", "own", "own_real", "rotate", "join"};
    size_t k = 0;
    while (k < 6 && !hop__span_is(name, names[k])) k++;
    for (int64_t i = 0; k < 6 && i < w->r.plan->count && w->r.status == HOP_OK; i++) {
        hop__span text = rest;
        if (!holds(w, &text, i)) continue;
        hop__span after = text;
        if (!is_of(w, &after, i)) continue;
        switch (k) {
        case 0: hop__net_tensor(w, after, i); break;
        case 1: hop__net_fill(w, after, i); break;
        case 4: hop__net_rotate(w, after, i); break;
        case 5: hop__net_join(w, after, i); break;
        default: put_setting(w, text, i, k == 3);
        }
    }
    return k < 6;
}

static void run(hop__net *w, hop__span body, int depth);

static void use(hop__net *w, hop__span name, int depth)
{
    hop__span body;
    if (depth < 8 && w->read_count < HOP__NET_MAX_ROWS && find_row(w->text, name, &body))
        run(w, body, depth);
    else
        hop__hf_fail(&w->r, HOP_EFORMAT, "networks: %.*s: no such row", (int)(name.end - name.at), name.at);
}

static void run(hop__net *w, hop__span body, int depth)
{
    hop__span name, rest;
    w->read[w->read_count++] = body;
    while (w->r.status == HOP_OK && hop__statement_next(&body, &name, &rest)) {
        if (by_layer(w, name, rest)) continue;
        if (!hop__span_is(name, "refuse") && !holds(w, &rest, 0)) continue;
        if (hop__span_is(name, "use")) {
            use(w, hop__span_word(&rest), depth + 1);
        } else if (hop__span_is(name, "let")) {
            hop__span variable = hop__span_until(&rest, '=');
            hop__hf_assign(&w->r, variable, hop__hf_value(&w->r, rest, 0));
        } else if (hop__span_is(name, "factor")) {
            put_factor(w, rest);
        } else if (hop__span_is(name, "inside")) {
            w->inside = hop__span_word(&rest);
        } else if (hop__span_is(name, "refuse")) {
            hop__hf_refuse_if(&w->r, rest);
        } else if (hop__span_is(name, "must")) {
            hop__net_must(w, rest);
        } else if (hop__span_is(name, "size")) {
            put_size(w, rest);
        } else if (hop__span_is(name, "real")) {
            put_real(w, rest);
        } else if (hop__span_is(name, "set") || hop__span_is(name, "give")) {
            put_setting(w, rest, -1, hop__span_is(name, "give"));
        } else if (hop__span_is(name, "table")) {
            hop__net_tensor(w, rest, -1);
        } else if (hop__span_is(name, "rename")) {
            put_rename(w, rest);
        } else if (hop__span_is(name, "ignore")) {
            hop_text_printf(&w->n->ignored, "%.*s\n", (int)(rest.end - rest.at), rest.at);
        }
    }
}

/* What the class rounds once more where multipliers went into weights; a row of the token table is rounded as there. */
static void put_units(hop__net *w)
{
    const hop_hf_network *n = w->n;
    const hop_pattern *p = &n->config.pattern;
    double units = 0;
    for (int64_t t = 0; t < n->tensor_count; t++)
        for (int64_t i = n->tensors[t].first; i < n->tensors[t].first + n->tensors[t].count; i++) {
            const double times = fabs(n->pieces[i].times);
            if (times == 1 || strcmp(n->tensors[t].ours, "model.embed_tokens.weight") == 0) continue;
            const bool near = times >= 1 / HOP_FOREIGN_MULTIPLE && times <= HOP_FOREIGN_MULTIPLE;
            units = fmax(units, near ? HOP_FOREIGN_UNITS : 1e9); /* which prove does not follow */
        }
    for (int64_t r = 0; units > 0 && r < p->run_count && w->r.status == HOP_OK; r++)
        w->r.status = hop_config_set(&w->n->config, -1, p->runs[r].mixer, "units", units, w->r.err);
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void read_network(hop__net *w)
{
    const char *type = w->r.plan->model_type, *every = "any";
    hop__span body, any, name = {type, type + strlen(type)};
    if (!find_row(w->text, name, &body) || !find_row(w->text, (hop__span){every, every + 3}, &any)) {
        hop__hf_fail(&w->r, HOP_EDOMAIN, "model_type: \"%s\": no network of this family can be opened", type);
        return;
    }
    w->base = calloc((size_t)w->r.plan->count + 1, sizeof *w->base);
    w->mark = calloc((size_t)w->r.plan->count + 1, sizeof *w->mark);
    if (!w->base || !w->mark) hop__hf_fail(&w->r, HOP_ENOMEM, "out of memory");
    if (w->r.status == HOP_OK) put_layers(w, body);
    if (w->r.status == HOP_OK) run(w, any, 0);
    if (w->r.status == HOP_OK) run(w, body, 0);
    if (w->r.status == HOP_OK && w->n->ignored.failed) hop__hf_fail(&w->r, HOP_ENOMEM, "out of memory");
    if (w->r.status == HOP_OK) put_units(w);
    if (w->r.status == HOP_OK) hop__net_check_keys(w);
    if (w->r.status == HOP_OK) w->r.status = hop_config_validate(&w->n->config, w->r.err);
    free(w->base);
    free(w->mark);
}

hop_status hop_hf_network_read(hop_hf_network *n, const hop_json *root, hop_error *err)
{
    hop_hf_plan plan;
    *n = (hop_hf_network){.tensors = NULL};
    hop_status s = hop_hf_read(&plan, root, NULL, err);
    if (s != HOP_OK) return s;
    hop__net w = {.n = n, .text = all_rows()};
    hop_config_init(&n->config);
    hop__hf_begin(&w.r, &plan, root, NULL, err);
    read_network(&w);
    hop_hf_free(&plan);
    if (w.r.status == HOP_OK) w.r.status = hop__net_own(n, root, err);
    if (w.r.status != HOP_OK) hop_hf_network_free(n);
    return w.r.status;
}

void hop_hf_network_free(hop_hf_network *n)
{
    for (int64_t i = 0; i < n->tensor_count; i++) free((void *)(uintptr_t)n->tensors[i].given);
    free(n->tensors);
    free(n->pieces);
    free(n->joins);
    free(n->parts);
    hop_config_free(&n->config);
    hop_text_free(&n->ignored);
    *n = (hop_hf_network){.tensors = NULL};
}

void hop_hf_network_name(const hop_hf_network *n, char out[128], const char *theirs)
{
    char name[128];
    snprintf(out, 128, "%s", theirs);
    for (int i = 0; i < n->rename_count; i++) {
        const char *from = n->rename[i].from, *at = strstr(out, from);
        if (!at || (*from != '.' && at != out)) continue;
        snprintf(name, sizeof name, "%.*s%s%s", (int)(at - out), out, n->rename[i].to, at + strlen(from));
        memcpy(out, name, sizeof name);
    }
}

const char *hop_hf_network_ignores(const hop_hf_network *n, const char *theirs, char *why, size_t size)
{
    hop__span all = {n->ignored.s, n->ignored.s + n->ignored.len};
    while (n->ignored.s && all.at < all.end) {
        hop__span line = hop__span_until(&all, '\n'), pattern = hop__span_word(&line);
        if (!hop__glob(pattern, theirs)) continue;
        while (line.at < line.end && *line.at == ' ') line.at++;
        hop__span_copy(why, size, line);
        return why;
    }
    return NULL;
}
