/* Layer plans that follow from a rule: attention of several kinds. Layers are counted from 0. The rules are
 * those of the models' configuration classes. */
#include "room.h"

#include <string.h>

#define ANY_WINDOW (INT64_MAX / 2)

/* Every `period`-th layer is `last`, the others `rest`. */
static void periodic(hop__hf *r, int64_t period, char rest, char last)
{
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, (i + 1) % period ? rest : last);
}

/* Reads the period from `key`; the source says whether it is there. */
static int64_t read_period(hop__hf *r, const char *keys, const char *source, int64_t assumed)
{
    hop__hf_source(r, hop__hf_has(r, keys) ? source : "default rule");
    return hop__hf_size(r, keys, assumed);
}

void hop__hf_plan_full(hop__hf *r)
{
    hop__hf_fill(r, 'F');
    hop__hf_source(r, "no hybrid key");
}

void hop__hf_plan_needs_list(hop__hf *r)
{
    hop__hf_fail(r, HOP_EUNKNOWN,
                 "unknown layer plan: looked for layer_types, layers_block_type, hybrid_override_pattern, "
                 "attn_type_list, hybrid_layer_pattern, compress_ratios, sparse_attention_config");
}

/* ---- windows ------------------------------------------------------------------------------- */

void hop__hf_plan_window(hop__hf *r)
{
    if (!hop__hf_has(r, "sliding_window|window_size")) {
        hop__hf_plan_full(r);
        return;
    }
    hop__hf_fill(r, 'S');
    hop__hf_source(r, "sliding_window");
}

/* qwen2, qwen3: sliding_window alone means nothing. */
void hop__hf_plan_windows_above(hop__hf *r)
{
    if (!hop__hf_flag(r, "use_sliding_window", false)) {
        hop__hf_plan_full(r);
        return;
    }
    int64_t first = hop__hf_range(r, "max_window_layers", 0, ANY_WINDOW, 28);
    for (int64_t i = 0; i < r->plan->count; i++) hop__hf_letter(r, i, i >= first ? 'S' : 'F');
    hop__hf_source(r, "use_sliding_window, max_window_layers");
}

/* qwen3_moe: all or nothing. */
void hop__hf_plan_windows_if_used(hop__hf *r)
{
    if (!hop__hf_flag(r, "use_sliding_window", false)) {
        hop__hf_plan_full(r);
        return;
    }
    hop__hf_fill(r, 'S');
    hop__hf_source(r, "use_sliding_window");
}

void hop__hf_plan_gemma2(hop__hf *r)
{
    periodic(r, 2, 'S', 'F');
    hop__hf_source(r, "default rule");
}

void hop__hf_plan_gemma3(hop__hf *r)
{
    const char *key = "sliding_window_pattern|_sliding_window_pattern";
    periodic(r, read_period(r, key, "sliding_window_pattern", 6), 'S', 'F');
}

void hop__hf_plan_gemma3n(hop__hf *r)
{
    periodic(r, 5, 'S', 'F');
    hop__hf_source(r, "default rule");
}

void hop__hf_plan_cohere2(hop__hf *r)
{
    const char *key = "sliding_window_pattern|_sliding_window_pattern";
    periodic(r, read_period(r, key, "sliding_window_pattern", 4), 'S', 'F');
}

void hop__hf_plan_olmo3(hop__hf *r)
{
    periodic(r, 4, 'S', 'F');
    hop__hf_source(r, "default rule");
}

/* A number as in gemma3, or letters that are cycled: "LLLG". */
void hop__hf_plan_exaone4(hop__hf *r)
{
    const hop_json *v = hop__hf_find(r, "sliding_window_pattern");
    if (!hop__hf_has(r, "sliding_window")) {
        hop__hf_fill(r, 'F');
        hop__hf_source(r, "default rule");
    } else if (v && v->type == HOP_JSON_STRING) {
        const char *cycle = hop__hf_string(r, "sliding_window_pattern");
        size_t n = strlen(cycle);
        if (n == 0 || strspn(cycle, "LG") != n) {
            hop__hf_fail(r, HOP_EFORMAT, "sliding_window_pattern: not made of L and G");
            return;
        }
        for (int64_t i = 0; i < r->plan->count; i++)
            hop__hf_letter(r, i, cycle[(size_t)i % n] == 'L' && i < r->plan->count - 1 ? 'S' : 'F');
        hop__hf_source(r, "sliding_window_pattern");
    } else {
        periodic(r, read_period(r, "sliding_window_pattern", "sliding_window_pattern", 4), 'S', 'F');
    }
}

/* Layers with rotary positions attend within a chunk, the others to everything. */
void hop__hf_plan_llama4(hop__hf *r)
{
    const hop_json *list = hop__hf_list(r, "no_rope_layers");
    for (int64_t i = 0; i < r->plan->count; i++) r->plan->layers[i].chunked = true;
    if (!list) {
        bool given = hop__hf_has(r, "no_rope_layer_interval");
        periodic(r, hop__hf_size(r, "no_rope_layer_interval", 4), 'S', 'F');
        hop__hf_source(r, given ? "no_rope_layer_interval" : "no_rope_layer_interval default 4");
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
        hop__hf_letter(r, i, rotary ? 'S' : 'F');
    }
    hop__hf_source(r, "no_rope_layers");
}

/* attention_layers: ["global", "local", ..]; or attention_types: [[["global", "local"], 12]]. */
void hop__hf_plan_gpt_neo(hop__hf *r)
{
    const hop_json *list = hop__hf_list(r, "attention_layers");
    const hop_json *groups = list ? NULL : hop__hf_list(r, "attention_types");
    const hop_json *names = list ? list : groups ? hop_json_at(hop_json_at(groups, 0), 0) : NULL;
    if (list && (int64_t)list->count != r->plan->count)
        hop__hf_fail(r, HOP_EFORMAT, "attention_layers: %zu entries for %lld layers", list->count,
                     (long long)r->plan->count);
    if (groups && (groups->count != 1 || !names || names->type != HOP_JSON_ARRAY || names->count == 0))
        hop__hf_fail(r, HOP_EUNKNOWN, "attention_types: not one group of names");
    const hop_json *v = NULL;
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        if (names) v = v && v->next ? v->next : names->child;
        if (v && (v->type != HOP_JSON_STRING ||
                  (strcmp(v->string, "global") != 0 && strcmp(v->string, "local") != 0)))
            hop__hf_fail(r, HOP_EUNKNOWN, "attention_types: neither \"global\" nor \"local\"");
        else /* the class's default alternates, global first */
            hop__hf_letter(r, i, v ? (v->string[0] == 'g' ? 'F' : 'S') : i % 2 ? 'S' : 'F');
    }
    r->plan->window = hop__hf_size(r, "window_size", 256);
    hop__hf_source(r, list ? "attention_layers" : groups ? "attention_types" : "default rule");
}

/* phi3small: all but every so many-th attend to the blocks around and to some in stripes; 0 or null, which is
 * not the class's 2: all do. */
void hop__hf_plan_phi3small(hop__hf *r)
{
    const char *key = "dense_attention_every_n_layers";
    bool null = false;
    for (const hop_json *v = r->text->child; v; v = v->next)
        null = null || (v->type == HOP_JSON_NULL && strcmp(v->key, key) == 0);
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

/* deepseek_v32, glm 5: every layer picks its tokens. */
void hop__hf_plan_top_k(hop__hf *r)
{
    hop__hf_fill(r, 'S');
    for (int64_t i = 0; i < r->plan->count; i++) r->plan->layers[i].sparse = true;
    r->plan->index_topk = hop__hf_size(r, "index_topk", 2048);
    hop__hf_source(r, "model_type");
}

/* Without a list every layer compresses, by one ratio or the other. */
void hop__hf_plan_deepseek_v4(hop__hf *r)
{
    hop__hf_fill(r, 'S');
    for (int64_t i = 0; i < r->plan->count; i++) r->plan->layers[i].sparse = true;
    r->plan->index_topk = hop__hf_size(r, "index_topk", 512);
    hop__hf_source(r, "default rule");
}
