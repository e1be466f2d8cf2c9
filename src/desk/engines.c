/* What engines allocate for a batch of prompts, by their own rules; docs/FAMILIES.md, "Bytes as engines allocate them", says
 * where each was read. One whose rule for a family is not known is silent. */
#include "engines.h"

#include <hopbound/gguf.h>

#include <string.h>

static const engine_type types[] = {
    {"float32", 4, 1},     {"float16", 2, 1}, {"bfloat16", 2, 1}, {"float8_e4m3fn", 1, 1},
    {"float8_e5m2", 1, 1}, {"float64", 8, 1}, {"fp8", 1, 1},      {"f32", 4, 1},
    {"f16", 2, 1},         {"bf16", 2, 1},    {"q8_0", 34, 32},   {"q5_1", 24, 32},
    {"q5_0", 22, 32},      {"q4_1", 20, 32},  {"q4_0", 18, 32},   {"iq4_nl", 18, 32},
};
static const engine_type float32 = {"float32", 4, 1};

const engine_type *hop__engine_type(const char *name)
{
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

const char *hop__engine_types(void)
{
    return "float32, float16, bfloat16, float8_e4m3fn, float8_e5m2, float64, fp8, f32, f16, bf16, q8_0, "
           "q5_1, q5_0, "
           "q4_1, q4_0, iq4_nl";
}

/* ---- sums --------------------------------------------------------------------------------------- */

int64_t hop__engine_times(int64_t a, int64_t b)
{
    return a && b > INT64_MAX / a ? INT64_MAX : a * b;
}

int64_t hop__engine_plus(int64_t a, int64_t b)
{
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}

int64_t hop__engine_bytes(int64_t numbers, engine_type t)
{
    return hop__engine_times((numbers + t.block - 1) / t.block, t.bytes);
}

int64_t hop__engine_total(const engine_use *u)
{
    int64_t attention = hop__engine_plus(u->kv, u->index), states = hop__engine_plus(u->state, u->conv);
    return hop__engine_plus(hop__engine_plus(attention, states), u->padding);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* `rows` of keys and values and all tokens' keys to pick by, and the state, of a batch. */
static void put(engine_use *out, const engine_question *q, const hop_audit_layer *l, int64_t rows,
                int64_t all)
{
    *out = (engine_use){.state = hop__engine_times(q->batch, hop__engine_bytes(l->state, q->state)),
                        .conv = hop__engine_times(q->batch, hop__engine_bytes(l->conv, q->conv))};
    if (l->borrows) return;
    out->kv = hop__engine_times(hop__engine_times(q->batch, rows), hop__engine_bytes(l->row, q->kv));
    out->index = hop__engine_times(hop__engine_times(q->batch, all), hop__engine_bytes(l->index, q->kv));
}

static void add_layers(engine_use *out, const engine_question *q,
                       void layer(engine_use *, const engine_question *, const hop_audit_layer *))
{
    *out = (engine_use){0};
    for (int64_t i = 0; i < q->audit->plan.count; i++) {
        engine_use one;
        layer(&one, q, &q->audit->layers[i]);
        out->kv = hop__engine_plus(out->kv, one.kv), out->index = hop__engine_plus(out->index, one.index);
        out->state = hop__engine_plus(out->state, one.state),
        out->conv = hop__engine_plus(out->conv, one.conv);
    }
}

/* ---- the mathematics ---------------------------------------------------------------------------- */

static void needed_layer(engine_use *out, const engine_question *q, const hop_audit_layer *l)
{
    put(out, q, l, l->window ? least(l->window, q->n) : q->n, q->n);
}

static bool needed(engine_use *out, const engine_question *q, const char **why)
{
    *why = "what layers keep differs from one to the next";
    if (!q->audit->rows_known) return false;
    add_layers(out, q, needed_layer);
    return true;
}

/* What no engine's rule here covers; NULL: nothing of it. */
static const char *apart(const engine_question *q)
{
    const hop_hf_plan *p = &q->audit->plan;
    if (strcmp(p->model_type, "hopbound") == 0) return "a network of this program";
    if (!q->audit->rows_known) return "what layers keep differs from one to the next";
    return p->loops > 1 ? "the stack runs more than once" : NULL;
}

/* ---- llama.cpp: cells, padded; states in float32 ------------------------------------------------- */

enum { CELLS = 256, UBATCH = 512 };

static void llama_layer(engine_use *out, const engine_question *q, const hop_audit_layer *l)
{
    bool windows = false;
    int64_t cells = hop__engine_pad(q->n, CELLS), rows = cells;
    engine_question own = *q;
    own.state = own.conv = float32;
    if (!q->kv_given) own.kv = (engine_type){"float16", 2, 1};
    hop_gguf_knows(q->audit->plan.model_type, &windows);
    if (l->window && windows)
        rows = hop__engine_pad(least(cells, hop__engine_plus(l->window, UBATCH)), CELLS);
    put(out, &own, l, rows, cells);
}

static bool llama(engine_use *out, const engine_question *q, const char **why)
{
    bool windows;
    *why = apart(q);
    if (!*why && !hop_gguf_knows(q->audit->plan.model_type, &windows))
        *why = "no row of gguf.txt is about such files";
    if (*why) return false;
    add_layers(out, q, llama_layer);
    return true;
}

/* ---- transformers: what DynamicCache holds ---------------------------------------------------------- */

static void transformers_layer(engine_use *out, const engine_question *q, const hop_audit_layer *l)
{
    int64_t taps = q->audit->plan.linear.taps;
    engine_question own = *q;
    hop_audit_layer kept = *l;
    own.state = float32;
    if (taps > 1) kept.conv = l->conv / (taps - 1) * taps; /* the current token, too */
    put(out, &own, &kept, l->window ? least(l->window - 1, q->n) : q->n, q->n);
}

static bool transformers(engine_use *out, const engine_question *q, const char **why)
{
    *why = apart(q);
    if (!*why && q->audit->plan.kept_apart[0]) *why = q->audit->plan.kept_apart;
    for (int64_t i = 0; !*why && i < q->audit->plan.count; i++) {
        const hop_audit_layer *l = &q->audit->layers[i];
        if (strchr("FSC", l->letter) && l->conv)
            *why = "convolutions around attention are kept in other types";
        if (strchr("LHh", l->letter) && l->conv && q->audit->plan.linear.taps < 2)
            *why = "how many taps its convolutions have is not known";
    }
    if (*why) return false;
    add_layers(out, q, transformers_layer);
    return true;
}

/* ---- the table -------------------------------------------------------------------------------------- */

const engine hop__engines[] = {
    {"needed", "", needed, needed_layer},
    {"llama.cpp", "b21e4de", llama, llama_layer},
    {"vLLM", "a014e35", hop__engine_pages, NULL},
    {"transformers", "5.23.0", transformers, transformers_layer},
};
const int hop__engine_count = sizeof hop__engines / sizeof *hop__engines;
