/* From a config.json to the sizes of every layer. */
#include <hopbound/audit.h>
#include <hopbound/eval.h>
#include <hopbound/gguf.h>
#include <hopbound/layers.h>
#include <hopbound/mixers.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a*b + c, or the largest number. */
static int64_t mul_add(int64_t a, int64_t b, int64_t c)
{
    if (a && b > (INT64_MAX - c) / a) return INT64_MAX;
    return a * b + c;
}

/* ---- foreign models ------------------------------------------------------------------------ */

static hop_status size_layers(hop_audit *u, hop_error *err)
{
    const hop_hf_plan *p = &u->plan;
    u->layers = calloc((size_t)p->count, sizeof *u->layers);
    if (!u->layers) return hop_fail(err, HOP_ENOMEM, "out of memory");
    u->rows_known = !p->attention.kind[0] || p->attention.cache_elems > 0;
    for (int64_t i = 0; i < p->count; i++) {
        const hop_hf_layer *from = &p->layers[i];
        hop_audit_layer *l = &u->layers[i];
        *l = (hop_audit_layer){.letter = from->letter,
                               .sparse = from->sparse,
                               .chunked = from->chunked,
                               .borrows = from->borrows_cache,
                               .window = from->window};
        if (strchr("FSHhC", l->letter)) {
            bool slides = strchr("Sh", l->letter) && p->sliding.kind[0];
            const hop_hf_attention *a = slides ? &p->sliding : &p->attention;
            l->heads = a->heads;
            l->qk_dim = a->qk_dim;
            l->v_dim = a->v_dim;
            l->reply_dim = a->reply_dim;
            l->conv_before = a->conv_before;
            l->conv = a->conv_before + a->conv_after;
            l->row = a->cache_elems ? a->cache_elems : a->kv_heads * (a->qk_dim + a->v_dim);
            l->index = from->index;
        }
        if (strchr("LHh", l->letter)) {
            l->state = p->linear.recurrent_elems;
            l->conv += p->linear.conv_elems;
        }
    }
    return HOP_OK;
}

/* ---- networks of this program -------------------------------------------------------------- */

static void own_attention(hop_hf_attention *a, const hop_audit_layer *l, const hop_mixer_config *c)
{
    *a = (hop_hf_attention){.heads = c->heads,
                            .kv_heads = c->kv_heads,
                            .qk_dim = l->qk_dim,
                            .v_dim = l->v_dim,
                            .cache_elems = l->row};
    strcpy(a->kind, c->heads == c->kv_heads ? "mha" : "gqa");
}

static void own_layer(hop_audit *u, const hop_model *m, int64_t i)
{
    hop_hf_plan *p = &u->plan;
    hop_audit_layer *l = &u->layers[i];
    const char *name = hop_pattern_mixer(&hop_model_config(m)->pattern, i);
    const hop_mixer_ops *ops = hop_mixer_find(name);
    hop_mixer_config c = hop_model_mixer_config(m, i);
    bool recurrent = ops->kind == HOP_MIXER_RECURRENT;
    const bool alone = ops->kind == HOP_MIXER_ALONE;
    *l = (hop_audit_layer){.letter = recurrent ? 'L' : ops->kind == HOP_MIXER_FULL ? 'F' : alone ? '-' : 'S'};
    if (recurrent) {
        l->state = hop_mixer_state_floats(ops, &c, p->context);
        bool first = !p->linear.kind[0], same = strcmp(p->linear.kind, name) == 0;
        strcpy(p->linear.kind, first || same ? name : "several");
        if (first) p->linear.recurrent_elems = l->state;
        if (p->linear.recurrent_elems != l->state) p->linear.recurrent_elems = 0;
    } else if (!alone) {
        l->sparse = ops->kind == HOP_MIXER_SPARSE;
        l->window = ops->kind == HOP_MIXER_WINDOW ? c.option[HOP_OPTION_window] : 0;
        l->heads = c.heads;
        l->qk_dim = c.head_dim;
        l->v_dim = c.option[HOP_OPTION_value_dim] > 0 ? c.option[HOP_OPTION_value_dim] : c.head_dim;
        l->row = c.kv_heads * (l->qk_dim + l->v_dim);
        if (l->window) p->window = l->window;
        own_attention(&p->attention, l, &c);
    }
    p->layers[i] = (hop_hf_layer){.letter = l->letter, .sparse = l->sparse, .window = l->window};
    p->pattern[i] = l->letter;
}

/* What the theorems say of its layers at the sizes of its own task. */
static hop_status ask_own(hop_audit *u, const hop_config *c, const hop_audit_options *o, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_arch arch = {0};
    hop_bounds *b = NULL;
    if (!c->task_json || !*c->task_json || u->plan.tied) return HOP_OK;
    hop_status s = hop_json_parse(&doc, c->task_json, strlen(c->task_json), err);
    if (s == HOP_OK) s = hop_task_read(&u->own, doc.root, err);
    hop_json_free(&doc);
    u->own_known = s == HOP_OK && u->own.kind == HOP_TASK_FUNCCOMP;
    if (!u->own_known) return s;
    const hop_funccomp *t = &u->own.funccomp;
    s = hop_arch_new(&arch, c, &(hop_arch_options){.number_bits = o->bits, .declared = true}, err);
    const hop_question q = {.arch = &arch, .hops = t->hops, .m = t->m, .fan = t->fan + 1, .searched = 1};
    if (s == HOP_OK) s = hop_bounds_new(&b, &q, err);
    const hop_bound *by = hop_bounds_first(b, HOP_FIRST_POSSIBLE);
    if (!by) by = hop_bounds_first(b, HOP_FIRST_CERTIFIED);
    u->own_answer = by ? by->answer : HOP_ANSWER_SILENT;
    snprintf(u->own_by, sizeof u->own_by, "%s", by ? by->id : "");
    snprintf(u->own_why, sizeof u->own_why, "%s", by ? by->why : "");
    hop_bounds_free(b);
    hop_arch_free(&arch);
    return s;
}

/* Only sizes are wanted, so the network gets no tables and no stored weights. */
static hop_status own_model(hop_audit *u, const hop_json *root, const hop_audit_options *o, hop_error *err)
{
    hop_hf_plan *p = &u->plan;
    hop_config c;
    hop_model *m = NULL;
    int64_t generated = 0;
    hop_status s = hop_config_read(&c, root, err);
    if (s != HOP_OK) return s;
    p->context = c.max_positions;
    p->hidden = c.d_model;
    c.vocab = c.max_positions = 1;
    c.position_table = false;
    c.seeded = true;
    if (c.pattern.layers > HOP_HF_MAX_LAYERS)
        s = hop_fail(err, HOP_EDOMAIN, "pattern: %lld layers are more than %d; ask `hopbound bound`",
                     (long long)c.pattern.layers, HOP_HF_MAX_LAYERS);
    else if (c.bidirectional)
        s = hop_fail(err, HOP_EDOMAIN, "bidirectional: the theorems are about decoders");
    if (s == HOP_OK) s = hop_model_new(&m, &c, err);
    if (s == HOP_OK) {
        p->count = c.pattern.layers;
        p->loops = 1;
        p->tied = c.tie > 0 && c.tie < p->count;
        p->layers = calloc((size_t)p->count, sizeof *p->layers);
        p->pattern = calloc((size_t)p->count + 1, 1);
        u->layers = calloc((size_t)p->count, sizeof *u->layers);
        if (!p->layers || !p->pattern || !u->layers) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    for (int64_t i = 0; s == HOP_OK && i < p->count; i++) own_layer(u, m, i);
    if (s == HOP_OK && !o->plan_only) s = ask_own(u, &c, o, err);
    snprintf(p->declared[0].text, sizeof p->declared[0].text, "pattern of %lld layer%s, hidden_size = %lld",
             (long long)c.pattern.layers, c.pattern.layers == 1 ? "" : "s", (long long)c.d_model);
    snprintf(p->declared[1].text, sizeof p->declared[1].text, "max_position_embeddings = %lld",
             (long long)p->context);
    p->declared_count = 2;
    if (s == HOP_OK) s = hop_generated_tokens(&c, &generated, err);
    if (generated)
        snprintf(p->declared[p->declared_count++].text, sizeof p->declared[0].text,
                 "generate = %lld tokens, each a pass of its own: the verdicts are about one pass",
                 (long long)generated);
    strcpy(p->model_type, "hopbound");
    strcpy(p->source, "pattern");
    strcpy(p->dtype, "float32");
    strcpy(p->linear.state_dtype, "float32");
    strcpy(p->linear.declared_by, "model_type");
    u->rows_known = true;
    hop_model_free(m);
    hop_config_free(&c);
    return s;
}

/* ---- precision and length ------------------------------------------------------------------ */

static hop_audit_precision choose(const char *given, const char *declared, const char *assumed)
{
    const char *dtype = given ? given : declared ? declared : assumed;
    return (hop_audit_precision){dtype, hop_hf_dtype_bytes(dtype),
                                 given      ? HOP_AUDIT_GIVEN
                                 : declared ? HOP_AUDIT_DECLARED
                                            : HOP_AUDIT_ASSUMED};
}

static void set_precisions(hop_audit *u, const hop_audit_options *o)
{
    const hop_hf_plan *p = &u->plan;
    const char *state = p->linear.declared_by[0] ? p->linear.state_dtype : NULL;
    bool wide = strcmp(p->dtype, "float32") == 0; /* caches follow the weights, unless those are quantized */
    u->state = choose(o->state_dtype, state, "float32");
    u->conv = choose(o->conv_dtype, NULL, "bfloat16");
    u->cache = choose(o->cache_dtype, NULL,
                      wide                                ? "float32"
                      : hop_hf_dtype_bytes(p->dtype) == 2 ? p->dtype
                                                          : "bfloat16");
    u->n = o->n ? o->n : p->context;
    u->n_from = o->n                 ? "given"
                : p->context_assumed ? "the class's context length, assumed"
                                     : "the context length in the file";
}

/* What is assumed is listed, wherever it is said again. */
static void note_assumed(hop_audit *u, const char *what, const hop_audit_precision *by)
{
    hop_hf_plan *p = &u->plan;
    if (by->how != HOP_AUDIT_ASSUMED || p->assumed_count == HOP_HF_MAX_NOTES) return;
    hop_hf_note *note = &p->assumed[p->assumed_count++];
    snprintf(note->text, sizeof note->text, "%s dtype = %s", what, by->dtype);
}

static void note_precisions(hop_audit *u)
{
    bool states = false, convs = false, rows = false;
    for (int64_t i = 0; i < u->plan.count; i++) {
        states = states || u->layers[i].state;
        convs = convs || u->layers[i].conv;
        rows = rows || u->layers[i].row;
    }
    if (states) note_assumed(u, "state", &u->state);
    if (convs) note_assumed(u, "conv", &u->conv);
    if (rows) note_assumed(u, "cache", &u->cache);
}

/* ---- the whole ----------------------------------------------------------------------------- */

hop_status hop_audit_of(hop_audit *u, const hop_json *root, const hop_audit_options *o, hop_error *err)
{
    const char *type = NULL;
    hop_status s;
    *u = (hop_audit){0};
    hop_json_read_string(root, "model_type", &type, NULL);
    if (type && strcmp(type, "hopbound") == 0) {
        s = own_model(u, root, o, err);
    } else {
        s = hop_hf_read(&u->plan, root, o->families, err);
        if (s == HOP_OK) s = size_layers(u, err);
    }
    if (s == HOP_OK) {
        set_precisions(u, o);
        note_precisions(u);
    } else {
        hop_audit_free(u);
    }
    return s;
}

/* Its metadata, and whether its tensors are those of such layers. */
static hop_status read_gguf(hop_audit *u, const char *path, const hop_audit_options *o, hop_error *err)
{
    hop_gguf g;
    hop_json_doc doc = {0};
    hop_status s = hop_gguf_open(&g, path, err);
    if (s == HOP_OK) s = hop_gguf_config(&doc, &g, err);
    if (s == HOP_OK) s = hop_audit_of(u, doc.root, o, err);
    if (s == HOP_OK) s = hop_gguf_check(&g, &u->plan, err);
    if (s == HOP_OK && g.splits == 1) u->parameters = g.parameters, u->weight_bytes = g.weight_bytes;
    if (s != HOP_OK) hop_audit_free(u);
    hop_json_free(&doc);
    hop_gguf_free(&g);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

hop_status hop_audit_read(hop_audit *u, const char *path, const hop_audit_options *o, hop_error *err)
{
    hop_json_doc doc;
    *u = (hop_audit){0};
    if (hop_gguf_is(path)) return read_gguf(u, path, o, err);
    hop_status s = hop_hf_open(&doc, path, err);
    if (s != HOP_OK) return s;
    s = hop_audit_of(u, doc.root, o, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

void hop_audit_free(hop_audit *u)
{
    hop_hf_free(&u->plan);
    free(u->layers);
    *u = (hop_audit){0};
}

/* ---- sums ---------------------------------------------------------------------------------- */

int64_t hop_audit_layer_bytes(const hop_audit *u, const hop_audit_layer *l, int64_t n)
{
    int64_t rows = l->window && l->window < n ? l->window : n;
    int64_t bytes = l->state * u->state.bytes + l->conv * u->conv.bytes;
    if (!l->row || l->borrows) return bytes;
    if (!u->rows_known || n == 0) return -1;
    return mul_add(rows, (l->row + l->index) * u->cache.bytes, bytes);
}

int64_t hop_audit_total_bytes(const hop_audit *u, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < u->plan.count; i++) {
        int64_t bytes = hop_audit_layer_bytes(u, &u->layers[i], n);
        if (bytes < 0) return -1;
        total = bytes > INT64_MAX - total ? INT64_MAX : total + bytes;
    }
    return total;
}

int64_t hop_audit_all_states(const hop_audit *u)
{
    int64_t total = 0;
    for (int64_t i = 0; i < u->plan.count; i++)
        total += u->layers[i].state * u->state.bytes + u->layers[i].conv * u->conv.bytes;
    return total;
}

int64_t hop_audit_state_bytes(const hop_audit *u)
{
    const hop_hf_linear *l = &u->plan.linear;
    if (!l->kind[0] || (l->recurrent_elems == 0 && l->conv_elems == 0)) return -1;
    return l->recurrent_elems * u->state.bytes + l->conv_elems * u->conv.bytes;
}

int64_t hop_audit_row_bytes(const hop_audit *u)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < u->plan.count; i++) {
        const hop_audit_layer *l = &u->layers[i];
        if (l->row && !l->borrows && (!l->window || l->window > u->n))
            bytes += (l->row + l->index) * u->cache.bytes;
    }
    return u->rows_known ? bytes : -1;
}
