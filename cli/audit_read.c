/* From a config.json to the sizes of every layer. */
#include "audit.h"

#include <stdlib.h>
#include <string.h>

/* a*b + c, or the largest number. */
static int64_t mul_add(int64_t a, int64_t b, int64_t c)
{
    if (a && b > (INT64_MAX - c) / a) return INT64_MAX;
    return a * b + c;
}

/* ---- foreign models ------------------------------------------------------------------------ */

static hop_status size_layers(audit *u, hop_error *err)
{
    const hop_hf_plan *p = &u->plan;
    u->layers = calloc((size_t)p->count, sizeof *u->layers);
    if (!u->layers) return hop_fail(err, HOP_ENOMEM, "out of memory");
    u->rows_known = !p->attention.kind[0] || p->attention.cache_elems > 0;
    for (int64_t i = 0; i < p->count; i++) {
        const hop_hf_layer *from = &p->layers[i];
        audit_layer *l = &u->layers[i];
        *l = (audit_layer){.letter = from->letter,
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
        }
        if (strchr("LHh", l->letter)) {
            l->state = p->linear.recurrent_elems;
            l->conv += p->linear.conv_elems;
        }
    }
    return HOP_OK;
}

/* ---- networks of this program -------------------------------------------------------------- */

static void own_attention(hop_hf_attention *a, const audit_layer *l, const hop_mixer_config *c)
{
    *a = (hop_hf_attention){.heads = c->heads,
                            .kv_heads = c->kv_heads,
                            .qk_dim = l->qk_dim,
                            .v_dim = l->v_dim,
                            .cache_elems = l->row};
    strcpy(a->kind, c->heads == c->kv_heads ? "mha" : "gqa");
}

static void own_layer(audit *u, const hop_model *m, int64_t i)
{
    hop_hf_plan *p = &u->plan;
    audit_layer *l = &u->layers[i];
    const char *name = hop_pattern_mixer(&hop_model_config(m)->pattern, i);
    const hop_mixer_ops *ops = hop_mixer_find(name);
    hop_mixer_config c = hop_model_mixer_config(m, i);
    bool recurrent = ops->kind == HOP_MIXER_RECURRENT;
    *l = (audit_layer){.letter = recurrent ? 'L' : ops->kind == HOP_MIXER_FULL ? 'F' : 'S'};
    if (recurrent) {
        l->state = hop_mixer_state_floats(ops, &c, p->context);
        bool first = !p->linear.kind[0], same = strcmp(p->linear.kind, name) == 0;
        strcpy(p->linear.kind, first || same ? name : "several");
        if (first) p->linear.recurrent_elems = l->state;
        if (p->linear.recurrent_elems != l->state) p->linear.recurrent_elems = 0;
    } else {
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
static hop_status ask_own(audit *u, const hop_config *c, const audit_args *a, hop_error *err)
{
    audit_own *own = &u->own;
    hop_json_doc doc = {0};
    hop_arch arch = {0};
    hop_bounds *b = NULL;
    if (!c->task_json || !*c->task_json || u->plan.tied) return HOP_OK;
    hop_status s = hop_json_parse(&doc, c->task_json, strlen(c->task_json), err);
    if (s == HOP_OK) s = hop_task_read(&own->task, doc.root, err);
    hop_json_free(&doc);
    own->known = s == HOP_OK && own->task.kind == HOP_TASK_FUNCCOMP;
    if (!own->known) return s;
    const hop_arch_options as = {.number_bits = a->bits.integer, .declared = true};
    s = hop_arch_new(&arch, c, &as, err);
    const hop_funccomp *t = &own->task.funccomp;
    const hop_question q = {.arch = &arch, .hops = t->hops, .m = t->m, .fan = t->fan + 1, .searched = 1};
    if (s == HOP_OK) s = hop_bounds_new(&b, &q, err);
    own->answer = HOP_ANSWER_SILENT;
    for (int i = 0; b && i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        if (r->answer == HOP_ANSWER_SILENT || own->by[0]) continue;
        own->answer = r->answer;
        snprintf(own->by, sizeof own->by, "%s", r->id);
        snprintf(own->why, sizeof own->why, "%s", r->why);
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    return s;
}

/* Only sizes are wanted, so the network gets no tables and no stored weights. */
static hop_status own_model(audit *u, const hop_json *root, const audit_args *a, hop_error *err)
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
    if (s == HOP_OK && !a->plan_only.flag) s = ask_own(u, &c, a, err);
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

static precision choose(const hop_opt_value *given, const char *declared, const char *assumed)
{
    precision p = {.dtype = given->text ? given->text
                            : declared  ? declared
                                        : assumed,
                   .how = given->text ? "given"
                          : declared  ? "declared"
                                      : "assumed"};
    p.bytes = hop_hf_dtype_bytes(p.dtype);
    return p;
}

static void set_precisions(audit *u, const audit_args *a)
{
    const hop_hf_plan *p = &u->plan;
    const char *state = p->linear.declared_by[0] ? p->linear.state_dtype : NULL;
    bool wide = strcmp(p->dtype, "float32") == 0; /* caches follow the weights, unless those are quantized */
    u->state = choose(&a->state_dtype, state, "float32");
    u->conv = choose(&a->conv_dtype, NULL, "bfloat16");
    u->cache = choose(&a->cache_dtype, NULL,
                      wide                                ? "float32"
                      : hop_hf_dtype_bytes(p->dtype) == 2 ? p->dtype
                                                          : "bfloat16");
    u->n = a->n.given ? a->n.integer : p->context;
    u->n_from = a->n.given           ? "given"
                : p->context_assumed ? "the class's context length, assumed"
                                     : "the context length in the file";
}

/* What is assumed is listed, wherever it is said again. */
static void note_assumed(audit *u, const char *what, const precision *by)
{
    hop_hf_plan *p = &u->plan;
    if (strcmp(by->how, "assumed") != 0 || p->assumed_count == HOP_HF_MAX_NOTES) return;
    hop_hf_note *note = &p->assumed[p->assumed_count++];
    snprintf(note->text, sizeof note->text, "%s dtype = %s", what, by->dtype);
}

static void note_precisions(audit *u)
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

hop_status audit_of(audit *u, const hop_json *root, const audit_args *a, hop_error *err)
{
    const char *type = NULL;
    hop_status s;
    *u = (audit){0};
    hop_json_read_string(root, "model_type", &type, NULL);
    if (type && strcmp(type, "hopbound") == 0) {
        s = own_model(u, root, a, err);
    } else {
        s = hop_hf_read(&u->plan, root, a->rows, err);
        if (s == HOP_OK) s = size_layers(u, err);
    }
    if (s == HOP_OK) {
        set_precisions(u, a);
        note_precisions(u);
        hop_hf_short(u->plan.pattern, &u->compressed);
        if (u->compressed.failed) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    if (s != HOP_OK) audit_free(u);
    return s;
}

hop_status audit_read(audit *u, const audit_args *a, const char *path, hop_error *err)
{
    hop_json_doc doc;
    *u = (audit){0};
    hop_status s = hop_hf_open(&doc, path, err);
    if (s != HOP_OK) return s;
    s = audit_of(u, doc.root, a, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

void audit_free(audit *u)
{
    hop_hf_free(&u->plan);
    hop_text_free(&u->compressed);
    free(u->layers);
    *u = (audit){0};
}

/* ---- sums ---------------------------------------------------------------------------------- */

int64_t audit_layer_bytes(const audit *u, const audit_layer *l, int64_t n)
{
    int64_t rows = l->window && l->window < n ? l->window : n;
    int64_t bytes = l->state * u->state.bytes + l->conv * u->conv.bytes;
    if (!l->row || l->borrows) return bytes;
    if (!u->rows_known || n == 0) return -1;
    return mul_add(rows, l->row * u->cache.bytes, bytes);
}

int64_t audit_total_bytes(const audit *u, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < u->plan.count; i++) {
        int64_t bytes = audit_layer_bytes(u, &u->layers[i], n);
        if (bytes < 0) return -1;
        total = bytes > INT64_MAX - total ? INT64_MAX : total + bytes;
    }
    return total;
}

int64_t audit_all_states(const audit *u)
{
    int64_t total = 0;
    for (int64_t i = 0; i < u->plan.count; i++)
        total += u->layers[i].state * u->state.bytes + u->layers[i].conv * u->conv.bytes;
    return total;
}

int64_t audit_state_bytes(const audit *u)
{
    const hop_hf_linear *l = &u->plan.linear;
    if (!l->kind[0] || (l->recurrent_elems == 0 && l->conv_elems == 0)) return -1;
    return l->recurrent_elems * u->state.bytes + l->conv_elems * u->conv.bytes;
}

int64_t audit_row_bytes(const audit *u)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < u->plan.count; i++) {
        const audit_layer *l = &u->layers[i];
        if (l->row && !l->borrows && (!l->window || l->window > u->n)) bytes += l->row * u->cache.bytes;
    }
    return u->rows_known ? bytes : -1;
}
