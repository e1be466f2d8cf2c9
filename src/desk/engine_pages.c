/* vLLM allocates pages, all of one size: a page holds so many tokens of a layer, or one state. Layers that keep alike are a
 * group, all groups have as many layers, and a request takes as many pages of each group as its layers need. */
#include "engines.h"

#include <string.h>

enum {
    TOKENS = 16,         /* in a page, at least */
    LATENT_TOKENS = 128, /* their multiple where layers with latent keys stand beside states */
    INDEX_TOKENS = 64,   /* in a page of keys to pick by, and of what is picked */
    IN_FLIGHT = 4096,    /* tokens whose step is not over: two batches of 2,048 */
    MOST_KINDS = 12
};

typedef enum page_kind { PAGE_ALL, PAGE_WINDOW, PAGE_CHUNK, PAGE_STATE } page_kind;

/* Layers that keep alike. */
typedef struct page_spec {
    page_kind kind;
    bool latent;
    int64_t token_bytes; /* of one token, or of the state */
    int64_t window, layers;
    int64_t tokens; /* in a page */
    bool index;
    int64_t state, conv; /* of the state's bytes */
} page_spec;

typedef struct pages {
    page_spec at[MOST_KINDS];
    int count;
    bool full; /* more kinds than there is room for */
} pages;

static void add(pages *p, page_spec s)
{
    for (int i = 0; i < p->count; i++) {
        page_spec *a = &p->at[i];
        if (a->kind == s.kind && a->token_bytes == s.token_bytes && a->window == s.window &&
            a->index == s.index) {
            a->layers++;
            return;
        }
    }
    s.layers = 1;
    if (p->count == MOST_KINDS)
        p->full = true;
    else
        p->at[p->count++] = s;
}

/* Keys to pick by are numbers of 8 bits, with a scale of 4 bytes for 128 of them. */
static int64_t index_bytes(int64_t numbers)
{
    return numbers + 4 * ((numbers + 127) / 128);
}

static void add_layer(pages *p, const engine_question *q, const hop_audit_layer *l)
{
    const hop_hf_plan *plan = &q->audit->plan;
    bool latent = strcmp(plan->attention.kind, "mla") == 0, picks = l->index > 0;
    if (l->row && !l->borrows)
        add(p, (page_spec){.kind = !l->window   ? PAGE_ALL
                                   : l->chunked ? PAGE_CHUNK
                                                : PAGE_WINDOW,
                           .latent = latent,
                           .tokens = picks ? INDEX_TOKENS : TOKENS,
                           .token_bytes = hop__engine_bytes(l->row, q->kv),
                           .window = l->window});
    if (picks && !l->borrows)
        add(p, (page_spec){.kind = PAGE_ALL,
                           .latent = true,
                           .index = true,
                           .tokens = INDEX_TOKENS,
                           .token_bytes = index_bytes(l->index)});
    if (!l->state && !(strchr("LHh", l->letter) && l->conv)) return;
    bool wide = strcmp(plan->linear.kind, "kda") == 0, own = q->state_given || plan->linear.declared_by[0];
    int64_t state = hop__engine_bytes(l->state, wide  ? (engine_type){"float32", 4, 1}
                                                : own ? q->state
                                                      : q->kv),
            conv = hop__engine_bytes(l->conv, q->conv);
    add(p, (page_spec){
               .kind = PAGE_STATE, .tokens = 1, .token_bytes = state + conv, .state = state, .conv = conv});
}

static int64_t page_bytes(const page_spec *s)
{
    return hop__engine_times(s->tokens, s->token_bytes);
}

/* Pages of one layer for a request of n tokens. */
static int64_t pages_of(const page_spec *s, int64_t n)
{
    int64_t held = n;
    if (s->kind == PAGE_STATE) return 1;
    if (s->kind == PAGE_WINDOW && held > s->window - 1 + IN_FLIGHT) held = s->window - 1 + IN_FLIGHT;
    if (s->kind == PAGE_CHUNK && held > s->window + IN_FLIGHT) held = s->window + IN_FLIGHT;
    return (held + s->tokens - 1) / s->tokens + (s->kind == PAGE_WINDOW);
}

/* A page of attention is made to hold a state. */
static void widen(pages *p)
{
    const page_spec *attends = NULL;
    int64_t state = 0, tokens;
    for (int i = 0; i < p->count; i++) {
        if (p->at[i].kind == PAGE_STATE && p->at[i].token_bytes > state) state = p->at[i].token_bytes;
        if (p->at[i].kind != PAGE_STATE && !p->at[i].index && !attends) attends = &p->at[i];
    }
    if (!state || !attends) return;
    int64_t unit = attends->latent ? LATENT_TOKENS : TOKENS;
    tokens = hop__engine_pad((state + attends->token_bytes - 1) / attends->token_bytes, unit);
    for (int i = 0; i < p->count; i++)
        if (p->at[i].kind != PAGE_STATE && p->at[i].tokens < tokens) p->at[i].tokens = tokens;
}

/* Pages of all layers become as large as the largest: by more tokens, or by what is left empty. */
static bool level(pages *p, int64_t *page)
{
    *page = 0;
    for (int i = 0; i < p->count; i++)
        if (page_bytes(&p->at[i]) > *page) *page = page_bytes(&p->at[i]);
    for (int i = 0; i < p->count; i++) {
        page_spec *s = &p->at[i];
        int64_t own = page_bytes(s);
        if (s->kind == PAGE_STATE) continue;
        if (*page % own == 0)
            s->tokens *= *page / own;
        else if (s->latent)
            return false;
    }
    return true;
}

/* All layers attend to everything, or all have one window, or all have a state: a page is what it is. */
static bool is_uniform(const pages *p)
{
    for (int i = 1; i < p->count; i++)
        if (p->at[i].kind != p->at[0].kind || p->at[i].window != p->at[0].window ||
            p->at[i].tokens != p->at[0].tokens)
            return false;
    return true;
}

static void put(engine_use *out, const page_spec *s, int64_t requests, int64_t n)
{
    int64_t all = hop__engine_times(hop__engine_times(requests, s->layers), pages_of(s, n));
    if (s->kind == PAGE_STATE) {
        out->state = hop__engine_plus(out->state, hop__engine_times(all, s->state));
        out->conv = hop__engine_plus(out->conv, hop__engine_times(all, s->conv));
    } else {
        int64_t *to = s->index ? &out->index : &out->kv;
        *to = hop__engine_plus(*to, hop__engine_times(all, page_bytes(s)));
    }
}

static int64_t grouped(const pages *p, int64_t page, int64_t n)
{
    int64_t least = INT64_MAX, most = 0, blocks = 0;
    for (int i = 0; i < p->count; i++) {
        least = p->at[i].layers < least ? p->at[i].layers : least;
        most = p->at[i].layers > most ? p->at[i].layers : most;
    }
    int64_t size = 2 * most < 3 * least ? most : least;
    for (int i = 0; i < p->count; i++)
        blocks = hop__engine_plus(
            blocks, hop__engine_times((p->at[i].layers + size - 1) / size, pages_of(&p->at[i], n)));
    return hop__engine_times(hop__engine_times(blocks, size), page);
}

/* Where the rules that are known end. */
static const char *why_not(const engine_question *q)
{
    static const char *const known[] = {
        "mamba1", "mamba2", "gated_deltanet", "kda", "lightning", "short_conv", "", NULL};
    const hop_hf_plan *p = &q->audit->plan;
    bool kind = false;
    for (int i = 0; known[i]; i++) kind = kind || strcmp(p->linear.kind, known[i]) == 0;
    if (strcmp(p->model_type, "hopbound") == 0) return "a network of this program";
    if (!q->audit->rows_known) return "what layers keep differs from one to the next";
    if (p->loops > 1) return "the stack runs more than once";
    if (!kind) return "how it keeps such states is not known";
    if (q->kv.block > 1) return "it has no such type of keys and values";
    for (int64_t i = 0; i < p->count; i++) {
        const hop_audit_layer *l = &q->audit->layers[i];
        if (l->sparse && !l->index) return "how it keeps what sparse attention picks from is not known";
        if (strchr("FSC", l->letter) && l->conv)
            return "how it keeps convolutions around attention is not known";
    }
    return NULL;
}

bool hop__engine_pages(engine_use *out, const engine_question *q, const char **why)
{
    pages p = {.count = 0};
    int64_t page, all;
    *out = (engine_use){0};
    *why = why_not(q);
    if (*why) return false;
    for (int64_t i = 0; i < q->audit->plan.count; i++) add_layer(&p, q, &q->audit->layers[i]);
    widen(&p);
    bool uniform = is_uniform(&p);
    if (p.full || (!uniform && !level(&p, &page))) *why = "its pages cannot be made of one size";
    if (*why) return false;
    for (int i = 0; i < p.count; i++) put(out, &p.at[i], q->batch, q->n);
    if (uniform) return true;
    all = hop__engine_times(grouped(&p, page, q->n), q->batch);
    out->padding = all - hop__engine_total(out);
    return true;
}
