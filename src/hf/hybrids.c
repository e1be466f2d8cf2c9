/* Layer plans that follow from a rule: recurrences, alone and between attention. Layers are counted from 0
 * unless the family counts from 1. */
#include "room.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* `in` where the list names the layer, `out` elsewhere. */
static void from_indices(hop__hf *r, const hop_json *list, int64_t base, char in, char out)
{
    bool marked[HOP_HF_MAX_LAYERS] = {false};
    hop__hf_indices(r, list, base, marked);
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, marked[i] ? in : out);
}

void hop__hf_plan_linear(hop__hf *r)
{
    hop__hf_all(r, 'L', "model_type");
}

void hop__hf_plan_parallel(hop__hf *r)
{
    hop__hf_all(r, 'H', "model_type");
}

/* A stack of fewer than four layers has its full one at the end. */
void hop__hf_plan_olmo_hybrid(hop__hf *r)
{
    int64_t n = r->plan->count;
    for (int64_t i = 0; i < n; i++) hop__hf_letter(r, i, i % 4 == 3 || (n < 4 && i == n - 1) ? 'F' : 'L');
    hop__hf_source(r, "default rule");
}

/* ---- kimi ---------------------------------------------------------------------------------- */

/* The smallest and the largest number of a list join *lo and *hi. */
static void span(const hop_json *list, int64_t *lo, int64_t *hi)
{
    for (const hop_json *v = list ? list->child : NULL; v; v = v->next) {
        int64_t i;
        if (!hop_json_int(v, INT64_MIN / 2, INT64_MAX / 2, &i)) continue; /* refused when it is read */
        if (i < *lo) *lo = i;
        if (i > *hi) *hi = i;
    }
}

/* Most count from 1, some from 0; the lists' ends tell which. */
static int64_t first_number(hop__hf *r, const hop_json *linear, const hop_json *full)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN, n = r->plan->count;
    span(linear, &lo, &hi);
    span(full, &lo, &hi);
    if (lo == 0 && hi < n) return 0;
    if (hi == n && lo >= 1) return 1;
    hop__hf_fail(r, HOP_EDOMAIN,
                 "linear_attn_config: its layers go from %lld to %lld, so %lld layers are counted neither "
                 "from 0 nor from 1",
                 (long long)lo, (long long)hi, (long long)n);
    return 0;
}

void hop__hf_plan_kimi(hop__hf *r)
{
    const hop_json *linear = hop__hf_list(r, "linear_attn_config.kda_layers");
    const hop_json *full = hop__hf_list(r, "linear_attn_config.full_attn_layers");
    if (!linear && !full) { /* the rule is that of the family's own class */
        (r->family->period.letters ? hop__hf_plan_periodic : hop__hf_plan_needs_list)(r);
        return;
    }
    int64_t base = first_number(r, linear, full);
    if (r->status != HOP_OK) return;
    from_indices(r, linear ? linear : full, base, linear ? 'L' : 'F', linear ? 'F' : 'L');
    bool marked[HOP_HF_MAX_LAYERS] = {false};
    hop__hf_indices(r, full, base, marked);
    for (int64_t i = 0; i < r->plan->count && full && r->status == HOP_OK; i++)
        if (marked[i] != (r->plan->layers[i].letter == 'F'))
            hop__hf_fail(r, HOP_EDOMAIN,
                         "linear_attn_config: kda_layers and full_attn_layers do not agree on layer %lld",
                         (long long)(i + base));
    hop__hf_source(r, !linear ? base ? "linear_attn_config.full_attn_layers (1-based)"
                                     : "linear_attn_config.full_attn_layers (0-based)"
                      : base  ? "linear_attn_config.kda_layers (1-based)"
                              : "linear_attn_config.kda_layers (0-based)");
}

/* ---- groups and periods -------------------------------------------------------------------- */

/* The last layer of each group attends, and so do all in a group that is not whole. */
void hop__hf_plan_bailing(hop__hf *r)
{
    int64_t n = r->plan->count, group = hop__hf_size(r, "layer_group_size", 0);
    for (int64_t i = 0; i < n; i++)
        hop__hf_letter(r, i, (i + 1) % group == 0 || i >= n / group * group ? 'F' : 'L');
    hop__hf_source(r, "layer_group_size");
}

/* bailing_moe: the same where the file has groups. */
void hop__hf_plan_bailing_moe(hop__hf *r)
{
    (hop__hf_has(r, "layer_group_size") ? hop__hf_plan_bailing : hop__hf_plan_full)(r);
}

/* The classes of both families have the same default. */
static int64_t read_offset(hop__hf *r)
{
    if (!hop__hf_has(r, "attn_layer_offset")) hop__hf_assume(r, "attn_layer_offset = 4");
    return hop__hf_range(r, "attn_layer_offset", 0, HOP__HF_MAX_SIZE, 4);
}

void hop__hf_plan_jamba(hop__hf *r)
{
    int64_t period = hop__hf_size(r, "attn_layer_period", 8), offset = read_offset(r);
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, i % period == offset ? 'F' : 'L');
    hop__hf_source(r, "attn_layer_period/offset");
}

/* Two recurrent layers and a hybrid one come first; then the period counts anew. */
void hop__hf_plan_zamba(hop__hf *r)
{
    int64_t period = hop__hf_size(r, "attn_layer_period", 6), offset = read_offset(r);
    for (int64_t i = 0; i < r->plan->count; i++)
        hop__hf_letter(r, i, i == 2 || (i > 2 && (i - 3) % period == offset) ? 'H' : 'L');
    hop__hf_source(r, "attn_layer_period/offset shifted by 3");
}

/* ---- numbers of layers --------------------------------------------------------------------- */

/* Without a list, the class has one for its own 54 layers. */
void hop__hf_plan_zamba2(hop__hf *r)
{
    const hop_json *list = hop__hf_list(r, "hybrid_layer_ids");
    if (list) {
        from_indices(r, list, 0, 'H', 'L');
        hop__hf_source(r, "hybrid_layer_ids");
        return;
    }
    if (r->plan->count != 54) hop__hf_plan_needs_list(r);
    for (int64_t i = 0; i < r->plan->count; i++)
        hop__hf_letter(r, i, (i > 0 && i <= 42 && i % 6 == 0) || i == 47 || i == 51 ? 'H' : 'L');
    hop__hf_source(r, "default rule");
}

void hop__hf_plan_indexed(hop__hf *r)
{
    const char *key = r->family->period.keys, *letters = r->family->period.letters;
    const hop_json *list = hop__hf_list(r, key);
    if (list) from_indices(r, list, 0, letters[1], letters[0]);
    hop__hf_source(r, key);
    if (!list) hop__hf_all(r, letters[!r->family->period.first], "default rule");
}

void hop__hf_plan_hymba(hop__hf *r)
{
    bool slides = hop__hf_has(r, "sliding_window");
    from_indices(r, hop__hf_list(r, "global_attn_idx"), 0, 'H', slides ? 'h' : 'H');
    hop__hf_source(r, "global_attn_idx");
}

/* ---- fla ----------------------------------------------------------------------------------- */

#define MOST_SPECS 64

bool hop__hf_spec(hop__hf *r, int k, char path[16])
{
    const hop_json *attn = hop__hf_find(r, "attn");
    if (!attn || r->status != HOP_OK) return false;
    bool one = attn->type == HOP_JSON_OBJECT;
    if (!one && (attn->type != HOP_JSON_ARRAY || attn->count > MOST_SPECS))
        hop__hf_fail(r, HOP_EFORMAT, "attn: neither an object nor a list of up to %d", MOST_SPECS);
    snprintf(path, 16, one ? "attn" : "attn.%d", k);
    return r->status == HOP_OK && (size_t)k < (one ? 1 : attn->count);
}

int64_t hop__hf_spec_size(hop__hf *r, const char *path, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "%s.%s", path, name);
    return hop__hf_size(r, key, -1);
}

/* The layers of one specification, which attend, all of them or in one window. */
static void read_spec(hop__hf *r, const char *path)
{
    char key[64];
    snprintf(key, sizeof key, "%s.layers", path);
    if (!hop__hf_has(r, key)) hop__hf_fail(r, HOP_EFORMAT, "%s: absent: which layers attend?", key);
    bool marked[HOP_HF_MAX_LAYERS] = {false};
    hop__hf_indices(r, hop__hf_list(r, key), 0, marked);
    int64_t window = hop__hf_spec_size(r, path, "window_size");
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        if (!marked[i]) continue;
        if (r->plan->layers[i].letter != 'L')
            hop__hf_fail(r, HOP_EDOMAIN, "attn: layer %lld stands in two of its members", (long long)i);
        hop__hf_letter(r, i, window ? 'S' : 'F');
        r->plan->layers[i].window = window;
    }
    if (window > r->plan->window) r->plan->window = window;
    hop__hf_source(r, "attn.layers");
}

/* attn is null, or says which layers attend: an object, or a list of objects, each for layers of its own. */
void hop__hf_plan_fla(hop__hf *r)
{
    char path[16];
    hop__hf_plan_linear(r);
    for (int k = 0; hop__hf_spec(r, k, path); k++) read_spec(r, path);
}

/* Without attn, the class takes the odd layers of its first 18. */
void hop__hf_plan_samba(hop__hf *r)
{
    if (hop__hf_has(r, "attn")) {
        hop__hf_plan_fla(r);
        return;
    }
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, i % 2 && i < 18 ? 'S' : 'L');
    hop__hf_source(r, "default rule");
}

void hop__hf_plan_mamba_ssm(hop__hf *r)
{
    from_indices(r, hop__hf_list(r, "attn_layer_idx"), 0, 'F', 'L');
    hop__hf_source(r, "attn_layer_idx");
}

/* ---- by their own rules -------------------------------------------------------------------- */

/* Names that are cycled; attention is local. */
void hop__hf_plan_recurrent_gemma(hop__hf *r)
{
    const hop_json *list = hop__hf_list(r, "block_types|_block_types"), *v = NULL;
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        if (list) v = v && v->next ? v->next : list->child;
        const char *name = !list                        ? (i % 3 == 2 ? "attention" : "recurrent")
                           : v->type == HOP_JSON_STRING ? v->string
                                                        : "";
        if (strcmp(name, "attention") != 0 && strcmp(name, "recurrent") != 0)
            hop__hf_fail(r, HOP_EUNKNOWN, "block_types: \"%.60s\" is neither recurrent nor attention", name);
        hop__hf_letter(r, i, name[0] == 'a' ? 'S' : 'L');
    }
    r->plan->window = hop__hf_size(r, "attention_window_size", 2048);
    hop__hf_source(r, list ? "block_types" : "default rule");
}

/* sliding_window is a number, or one a layer with null where the layer does not slide. */
static int64_t phi4flash_window(hop__hf *r, int64_t layer)
{
    const hop_json *v = hop__hf_find(r, "sliding_window");
    int64_t w = 0;
    if (!v || v->type != HOP_JSON_ARRAY) return hop__hf_size(r, "sliding_window", 2047);
    v = hop_json_at(v, (size_t)layer);
    if (v && v->type != HOP_JSON_NULL && !hop_json_int(v, 1, HOP__HF_MAX_SIZE, &w))
        hop__hf_fail(r, HOP_EFORMAT, "sliding_window: entry %lld is no window", (long long)layer);
    return w;
}

/* The first half alternates Mamba and windows; then one Mamba and one full layer, whose state and cache all
 * later layers use. */
void hop__hf_plan_phi4flash(hop__hf *r)
{
    int64_t half = r->plan->count / 2, step = hop__hf_size(r, "mb_per_layer", 2);
    const hop_json *list = hop__hf_find(r, "sliding_window");
    if (step != 2) hop__hf_fail(r, HOP_EUNKNOWN, "mb_per_layer: %lld is not 2", (long long)step);
    if (hop__hf_is_null(r, "sliding_window"))
        hop__hf_fail(r, HOP_EUNKNOWN, "sliding_window: null, not a window");
    if (list && list->type == HOP_JSON_ARRAY && (int64_t)list->count != r->plan->count)
        hop__hf_fail(r, HOP_EFORMAT, "sliding_window: %zu entries for %lld layers", list->count,
                     (long long)r->plan->count);
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        hop_hf_layer *l = &r->plan->layers[i];
        bool slides = i % 2 && i < half && (l->window = phi4flash_window(r, i)) > 0;
        l->letter = i % 2 == 0 ? (i < half + 2 ? 'L' : 'G') : slides ? 'S' : i < half + 2 ? 'F' : 'C';
        if (l->window > r->plan->window) r->plan->window = l->window;
    }
    hop__hf_source(r, "mb_per_layer(default 2) + num_hidden_layers/2 rule");
}
