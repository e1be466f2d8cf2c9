/* Layer plans that follow from a rule: attention of several kinds. Layers are counted from 0. The rules are
 * those of the models' configuration classes. */
#include "room.h"

#include <stdio.h>
#include <string.h>

#define ANY_WINDOW (INT64_MAX / 2)

void hop__hf_all(hop__hf *r, char letter, const char *source)
{
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, letter);
    hop__hf_source(r, source);
}

/* A family is known to attend to everything, unless its file has keys of something else. */
void hop__hf_plan_full(hop__hf *r)
{
    const char *key = hop__hf_telltale(r);
    if (key) hop__hf_unknown_rule(r, key);
    hop__hf_all(r, 'F', "no hybrid key");
}

void hop__hf_plan_needs_list(hop__hf *r)
{
    hop__hf_fail(r, HOP_EUNKNOWN,
                 "unknown layer plan: looked for layer_types, layers_block_type, hybrid_override_pattern, "
                 "attn_type_list, hybrid_layer_pattern, compress_ratios, sparse_attention_config");
}

/* ---- periods ------------------------------------------------------------------------------- */

/* Layers `from` to `to` - 1, counted anew: one of `length` has the second letter. */
static void repeat(hop__hf *r, int64_t from, int64_t to, int64_t length)
{
    int64_t at = r->family->period.first ? 0 : length - 1;
    for (int64_t i = from; i < to; i++)
        hop__hf_letter(r, i, r->family->period.letters[(i - from) % length == at]);
}

/* The first of the period's keys, or the rule. */
static void source_of_period(hop__hf *r)
{
    const char *keys = r->family->period.keys;
    char key[64];
    snprintf(key, sizeof key, "%.*s", keys ? (int)strcspn(keys, "|") : 0, keys ? keys : "");
    hop__hf_source(r, keys && hop__hf_has(r, keys) ? key : "default rule");
}

static int64_t period_length(hop__hf *r)
{
    const char *keys = r->family->period.keys;
    return keys ? hop__hf_size(r, keys, r->family->period.length) : r->family->period.length;
}

void hop__hf_plan_periodic(hop__hf *r)
{
    repeat(r, 0, r->plan->count, period_length(r));
    source_of_period(r);
}

/* The dense layers at the start have a period of their own, and the others are counted from behind them. */
void hop__hf_plan_cohere2_moe(hop__hf *r)
{
    int64_t dense = hop__hf_range(r, "first_k_dense_replace", 0, r->plan->count, 0);
    if (dense) repeat(r, 0, dense, hop__hf_size(r, "prefix_dense_sliding_window_pattern", 1));
    repeat(r, dense, r->plan->count, period_length(r));
    source_of_period(r);
    if (dense) hop__hf_source(r, "first_k_dense_replace, sliding_window_pattern");
}

/* A number as in gemma3, or letters that are cycled: "LLLG". Without a window nothing slides. */
void hop__hf_plan_exaone4(hop__hf *r)
{
    const char *key = "sliding_window_pattern", *cycle;
    const hop_json *v = hop__hf_find(r, key);
    if (hop__hf_is_null(r, "sliding_window")) {
        hop__hf_all(r, 'F', "sliding_window");
    } else if (hop__hf_is_null(r, key)) {
        hop__hf_fail(r, HOP_EUNKNOWN, "%s: null beside a sliding_window says nothing", key);
    } else if (!v || v->type != HOP_JSON_STRING) {
        hop__hf_plan_periodic(r);
    } else {
        size_t n = strlen(cycle = hop__hf_string(r, key));
        if (n == 0 || strspn(cycle, "LG") != n) {
            hop__hf_fail(r, HOP_EFORMAT, "%s: not made of L and G", key);
            return;
        }
        for (int64_t i = 0; i < r->plan->count; i++)
            hop__hf_letter(r, i, cycle[(size_t)i % n] == 'L' && i < r->plan->count - 1 ? 'S' : 'F');
        hop__hf_source(r, key);
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

/* Absent, it is the class's, which may be none; null is none. */
void hop__hf_plan_window(hop__hf *r)
{
    const char *keys = "sliding_window|window_size";
    bool given = hop__hf_has(r, keys),
         assumed = r->family->assume.window && !hop__hf_is_null(r, "sliding_window");
    hop__hf_all(r, given || assumed ? 'S' : 'F',
                given     ? "sliding_window"
                : assumed ? "default rule"
                          : "no hybrid key");
}

/* qwen2, qwen3: sliding_window alone means nothing. */
static bool uses_windows(hop__hf *r)
{
    return hop__hf_flag(r, "use_sliding_window", false) && !hop__hf_is_null(r, "sliding_window");
}

static int64_t max_window_layers(hop__hf *r)
{
    const char *key = "max_window_layers";
    int64_t assumed = r->family->period.length;
    if (!hop__hf_has(r, key)) hop__hf_assume(r, "%s = %lld", key, (long long)assumed);
    return hop__hf_range(r, key, 0, ANY_WINDOW, assumed);
}

static void windows_above(hop__hf *r, const char *source)
{
    int64_t first = max_window_layers(r);
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, i >= first ? 'S' : 'F');
    hop__hf_source(r, source);
}

void hop__hf_plan_windows_above(hop__hf *r)
{
    if (uses_windows(r))
        windows_above(r, "use_sliding_window, max_window_layers");
    else
        hop__hf_all(r, 'F', "no hybrid key");
}

/* dots1: nobody asks use_sliding_window. */
void hop__hf_plan_windows_above_always(hop__hf *r)
{
    if (hop__hf_is_null(r, "sliding_window"))
        hop__hf_all(r, 'F', "sliding_window");
    else
        windows_above(r, "max_window_layers");
}

/* qwen2_moe: every second layer slides, from the first on, below max_window_layers. */
void hop__hf_plan_windows_below(hop__hf *r)
{
    if (!hop__hf_flag(r, "use_sliding_window", false)) {
        hop__hf_all(r, 'F', "no hybrid key");
        return;
    }
    int64_t end = max_window_layers(r);
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, i % 2 == 0 && i < end ? 'S' : 'F');
    hop__hf_source(r, "use_sliding_window, max_window_layers");
}

/* qwen3_moe: all or nothing. */
void hop__hf_plan_windows_if_used(hop__hf *r)
{
    bool used = uses_windows(r);
    hop__hf_all(r, used ? 'S' : 'F', used ? "use_sliding_window" : "no hybrid key");
}

/* ---- layers without rotary positions ------------------------------------------------------- */

/* The second letter of the period where a layer has none. */
static void by_rotary(hop__hf *r)
{
    const hop_json *list = hop__hf_list(r, "no_rope_layers");
    if (!list) {
        hop__hf_plan_periodic(r);
        if (!hop__hf_has(r, "no_rope_layer_interval")) hop__hf_source(r, "no_rope_layer_interval default 4");
        return;
    }
    if ((int64_t)list->count != r->plan->count) {
        hop__hf_fail(r, HOP_EFORMAT, "no_rope_layers: %zu entries for %lld layers", list->count,
                     (long long)r->plan->count);
        return;
    }
    int64_t i = 0, rotary;
    for (const hop_json *v = list->child; v; v = v->next, i++) {
        if (!hop_json_int(v, 0, 1, &rotary)) {
            hop__hf_fail(r, HOP_EFORMAT, "no_rope_layers: entry %lld is not 0 or 1", (long long)i);
            return;
        }
        hop__hf_letter(r, i, r->family->period.letters[!rotary]);
    }
    hop__hf_source(r, "no_rope_layers");
}

/* Layers with rotary positions attend within a chunk, the others to everything. */
void hop__hf_plan_llama4(hop__hf *r)
{
    by_rotary(r);
    for (int64_t i = 0; i < r->plan->count; i++) r->plan->layers[i].chunked = true;
}

/* smollm3: it is the other way round, and only where windows are used. */
void hop__hf_plan_smollm3(hop__hf *r)
{
    if (hop__hf_flag(r, "use_sliding_window", false) && hop__hf_has(r, "sliding_window"))
        by_rotary(r);
    else
        hop__hf_all(r, 'F', "no hybrid key");
}

/* ---- by names ------------------------------------------------------------------------------ */

/* "global", "local": `names` again and again for layers `from` to `to` - 1. */
static void global_or_local(hop__hf *r, const hop_json *names, int64_t from, int64_t to)
{
    const hop_json *v = NULL;
    for (int64_t i = from; i < to && r->status == HOP_OK; i++) {
        v = v && v->next ? v->next : names->child;
        bool text = v->type == HOP_JSON_STRING;
        if (!text || (strcmp(v->string, "global") != 0 && strcmp(v->string, "local") != 0))
            hop__hf_fail(r, HOP_EUNKNOWN, "%s: neither \"global\" nor \"local\"", "attention_types");
        else
            hop__hf_letter(r, i, v->string[0] == 'g' ? 'F' : 'S');
    }
}

/* attention_layers: ["global", "local", ..]; or attention_types: [[["global", "local"], 12], ..]. The class's
 * default alternates, global first. */
void hop__hf_plan_gpt_neo(hop__hf *r)
{
    const hop_json *list = hop__hf_list(r, "attention_layers");
    const hop_json *groups = list ? NULL : hop__hf_list(r, "attention_types");
    int64_t n = r->plan->count, done = 0, times;
    if (!list && !groups) hop__hf_plan_periodic(r);
    if (list && (int64_t)list->count != n)
        hop__hf_fail(r, HOP_EFORMAT, "attention_layers: %zu entries for %lld layers", list->count,
                     (long long)n);
    if (list) global_or_local(r, list, 0, n);
    for (const hop_json *g = groups ? groups->child : NULL; g && r->status == HOP_OK; g = g->next) {
        const hop_json *names = hop_json_at(g, 0), *count = hop_json_at(g, 1);
        bool whole = names && names->type == HOP_JSON_ARRAY && names->count && count &&
                     hop_json_int(count, 0, HOP_HF_MAX_LAYERS, &times) && names->count <= HOP_HF_MAX_LAYERS &&
                     (int64_t)names->count * times <= n - done;
        if (!whole) {
            hop__hf_fail(r, HOP_EFORMAT, "attention_types: not groups of names for %lld layers",
                         (long long)n);
            return;
        }
        global_or_local(r, names, done, done + (int64_t)names->count * times);
        done += (int64_t)names->count * times;
    }
    if (groups && done != n)
        hop__hf_fail(r, HOP_EFORMAT, "attention_types: %lld entries for %lld layers", (long long)done,
                     (long long)n);
    r->plan->window = hop__hf_size(r, "window_size", 256);
    if (list || groups) hop__hf_source(r, list ? "attention_layers" : "attention_types");
}

/* ---- attention that picks or compresses ---------------------------------------------------- */

static void all_sparse(hop__hf *r, const char *source, int64_t top_k)
{
    hop__hf_all(r, 'S', source);
    for (int64_t i = 0; i < r->plan->count; i++) r->plan->layers[i].sparse = true;
    r->plan->index_topk = hop__hf_size(r, "index_topk", top_k);
}

/* deepseek_v32, glm 5: every layer picks its tokens. */
void hop__hf_plan_top_k(hop__hf *r)
{
    all_sparse(r, "model_type", 2048);
}

/* Without a list every layer compresses, by one ratio or the other. */
void hop__hf_plan_deepseek_v4(hop__hf *r)
{
    all_sparse(r, "default rule", 512);
}

/* phi3small: all but every so many-th attend to the blocks around and to some in stripes; 0 or null, which is
 * not the class's 2: all do. */
void hop__hf_plan_phi3small(hop__hf *r)
{
    const char *key = "dense_attention_every_n_layers";
    bool null = hop__hf_is_null(r, key);
    int64_t period = hop__hf_range(r, key, 0, HOP__HF_MAX_SIZE, null ? 0 : 2);
    if (!null && !hop__hf_has(r, key)) hop__hf_assume(r, "%s = 2", key);
    for (int64_t i = 0; i < r->plan->count; i++) {
        bool dense = period && (i + 1) % period == 0;
        hop__hf_letter(r, i, dense ? 'F' : 'S');
        r->plan->layers[i].sparse = !dense;
    }
    strcpy(r->plan->remark, "sparse layers attend to the last blocks of tokens and to stripes before them");
    hop__hf_source(r, key);
}
