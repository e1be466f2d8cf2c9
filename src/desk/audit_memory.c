/* Bytes that prompts take, by the mathematics and by engines' rules; and the longest prompt that fits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "audit.h"
#include "engines.h"

#include <hopbound/ask_memory.h>

HOP_RECORD_TABLE(hop_memory_layers, HOP_MEMORY_LAYERS, "layers that keep as much")
HOP_RECORD_TABLE(hop_memory_use, HOP_MEMORY_USE,
                 "what prompts take, by the mathematics or as an engine allocates it")
HOP_RECORD_TABLE(hop_memory_model, HOP_MEMORY_MODEL, "a model whose bytes are counted")
HOP_RECORD_TABLE(hop_memory_answer, HOP_MEMORY_ANSWER, "what prompts take, and how long a prompt fits")

#define COMMON_N 32768
#define LONGEST  ((int64_t)1 << 40)

typedef struct memory {
    hop_keep *keep;
    const audit_args *args;
    hop_memory_answer *out;
    hop_memory_model *models;
    hop_memory_use *uses;
    hop_model_refused *refused;
    int64_t budget; /* 0: none */
    bool many;      /* models: all at one length */
} memory;

/* ---- sizes as people write them ---------------------------------------------------------------- */

/* "4.5bpw": bits a parameter; false: it is something else. */
static bool read_bits(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && strcmp(end, "bpw") == 0 && *out > 0 && *out <= 64;
}

/* ---- weights ------------------------------------------------------------------------------------- */

static hop_status put_weights(const memory *m, hop_memory_model *row, const hop_audit *u, hop_error *err)
{
    const char *given = m->args->weights.text;
    int64_t numbers = u->parameters ? u->parameters : u->plan.parameters;
    double bits = 0;
    row->parameters = hop_known(numbers, numbers > 0);
    row->active_parameters = hop_known(u->plan.active_parameters, u->plan.active_parameters > 0);
    row->parameters_from = numbers == 0    ? NULL
                           : u->parameters ? "the file's tensors"
                                           : "the rules of its family";
    row->weight_bytes = HOP_NO_COUNT;
    if (given && hop__bytes_read(given, &row->weight_bytes)) return HOP_OK;
    if (given && !read_bits(given, &bits))
        return hop_fail(err, HOP_EUSAGE,
                        "--weights: %.40s: neither bits a parameter (4.5bpw) nor a size (14GiB)", given);
    if (given && !numbers)
        return hop_fail(err, HOP_EUSAGE,
                        "--weights: how many parameters %.60s has is not known; say their size (14GiB)",
                        u->plan.model_type);
    if (!given && u->weight_bytes > 0) row->weight_bytes = u->weight_bytes;
    if (!given && !u->weight_bytes) bits = 8.0 * hop_hf_dtype_bytes(u->plan.dtype);
    if (bits > 0 && numbers) row->weight_bytes = (int64_t)ceil((double)numbers * bits / 8);
    return HOP_OK;
}

/* ---- what is taken --------------------------------------------------------------------------------- */

static hop_status put_types(engine_question *q, const memory *m, const hop_audit *u, hop_error *err)
{
    const char *kv = m->args->kv_type.text ? m->args->kv_type.text : m->args->cache_dtype.text,
               *state = m->args->state_type.text ? m->args->state_type.text : m->args->state_dtype.text;
    const engine_type *types[] = {hop__engine_type(kv ? kv : u->cache.dtype),
                                  hop__engine_type(state ? state : u->state.dtype),
                                  hop__engine_type(u->conv.dtype)};
    if (!types[0] || !types[1])
        return hop_fail(err, HOP_EUSAGE, "--%s: %.40s: unknown (known: %s)",
                        types[0] ? "state-type" : "kv-type", types[0] ? state : kv, hop__engine_types());
    if (types[1]->block > 1)
        return hop_fail(err, HOP_EUSAGE, "--state-type: %.40s: states are kept in no blocks", state);
    q->kv = *types[0], q->state = *types[1], q->conv = *types[2];
    q->kv_given = kv != NULL, q->state_given = state != NULL;
    return HOP_OK;
}

static bool same(const hop_audit_layer *a, const hop_audit_layer *b)
{
    return a->letter == b->letter && a->window == b->window && a->row == b->row && a->index == b->index &&
           a->state == b->state && a->conv == b->conv && a->borrows == b->borrows;
}

/* Of each layer, those that keep alike in one line. */
static void put_layers(hop_keep *k, hop_memory_use *row, const engine *e, const engine_question *q)
{
    const hop_audit *u = q->audit;
    hop_memory_layers *lines = hop_keep_bytes(k, (size_t)u->plan.count, sizeof *lines);
    const hop_audit_layer **first = hop_keep_bytes(k, (size_t)u->plan.count, sizeof *first);
    if (!lines || !first) return;
    for (int64_t i = 0; i < u->plan.count; i++) {
        const hop_audit_layer *l = &u->layers[i];
        int64_t at = 0;
        while (at < row->layers.count && !same(first[at], l)) at++;
        if (at == row->layers.count) {
            engine_use one;
            e->layer(&one, q, l);
            first[at] = l;
            lines[at] = (hop_memory_layers){.letter = hop_keep_printf(k, "%c", l->letter),
                                            .window = hop_known(l->window, l->window > 0),
                                            .kv_bytes = one.kv,
                                            .index_bytes = one.index,
                                            .state_bytes = one.state,
                                            .conv_bytes = one.conv};
            row->layers.count++;
        }
        lines[at].layers++;
    }
    row->layers.at = lines;
}

/* The longest prompt of which all is at most `budget`; 0: not even one token. What is taken never falls with n. */
static int64_t longest(const engine *e, engine_question q, int64_t budget)
{
    int64_t low = 0, high = LONGEST;
    const char *why;
    engine_use use;
    while (low < high) {
        q.n = low + (high - low + 1) / 2;
        bool fits = e->all(&use, &q, &why) && hop__engine_total(&use) <= budget;
        if (fits)
            low = q.n;
        else
            high = q.n - 1;
    }
    return low;
}

static void put_use(memory *m, const engine *e, const engine_question *q, const hop_memory_model *model)
{
    engine_use use;
    const char *why = NULL;
    hop_memory_use *row = &m->uses[m->out->uses.count++];
    bool known = e->all(&use, q, &why);
    *row = (hop_memory_use){.model = model->model,
                            .by = e->name,
                            .version = hop_keep_text(m->keep, e->version),
                            .n = q->n,
                            .kv_bytes = hop_known(use.kv, known),
                            .index_bytes = hop_known(use.index, known),
                            .state_bytes = hop_known(use.state, known),
                            .conv_bytes = hop_known(use.conv, known),
                            .padding_bytes = hop_known(use.padding, known),
                            .bytes = HOP_NO_COUNT,
                            .longest = HOP_NO_COUNT,
                            .not_known = known ? NULL : hop_keep_text(m->keep, why)};
    if (!known) return;
    row->bytes = hop__engine_total(&use);
    if (e->layer) put_layers(m->keep, row, e, q);
    if (!m->budget) return;
    int64_t weights = model->weight_bytes == HOP_NO_COUNT ? 0 : model->weight_bytes;
    int64_t most = weights >= m->budget ? 0 : longest(e, *q, m->budget - weights);
    row->any_length = most == LONGEST;
    row->longest = hop_known(most, !row->any_length);
}

static hop_status put_model(memory *m, const char *path, const hop_audit *u, hop_error *err)
{
    engine_question q = {.audit = u, .n = u->n, .batch = m->args->batch.integer};
    hop_memory_model *row = &m->models[m->out->subjects.count++];
    if (m->many && !m->args->n.given) q.n = COMMON_N;
    if (!q.n && m->budget) q.n = 1;
    if (!q.n) return hop_fail(err, HOP_EUSAGE, "--n: missing: the file gives no context length");
    hop_status s = put_types(&q, m, u, err);
    if (s != HOP_OK) return s;
    bool states = false, rows = false;
    for (int64_t i = 0; i < u->plan.count; i++)
        states = states || u->layers[i].state, rows = rows || u->layers[i].row;
    *row = (hop_memory_model){.model = path ? hop__audit_name(m->keep, path) : "config",
                              .path = hop_keep_text(m->keep, path),
                              .plan = hop__audit_plan(m->keep, u->plan.pattern),
                              .kv_type = rows ? q.kv.name : NULL,
                              .state_type = states ? q.state.name : NULL,
                              .context = hop_known(u->plan.context, u->plan.context > 0)};
    s = put_weights(m, row, u, err);
    for (int i = 0; s == HOP_OK && i < hop__engine_count; i++) put_use(m, &hop__engines[i], &q, row);
    return s;
}

static hop_status put_file(memory *m, const audit_file *f, const hop_audit_options *o, hop_error *err)
{
    hop_audit u;
    hop_error why = {0};
    hop_status s = hop_audit_read(&u, f->path, o, &why);
    if (hop__audit_is_stray(f, s)) {
        m->refused[m->out->refused.count++] = (hop_model_refused){f->path, hop_keep_text(m->keep, why.text)};
        return HOP_OK;
    }
    if (s == HOP_OK) s = put_model(m, f->path, &u, &why);
    hop_audit_free(&u);
    if (s != HOP_OK && err) *err = why;
    return s;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static hop_status begin(memory *m, hop_response *response, const audit_args *a, int files, hop_error *err)
{
    *m = (memory){.keep = &response->memory, .args = a};
    m->out = hop_response_begin(response, &hop_memory_answer_record, err);
    if (!m->out) return HOP_ENOMEM;
    if (a->fit.text && !hop__bytes_read(a->fit.text, &m->budget))
        return hop_fail(err, HOP_EUSAGE, "--fit: %.40s: not a size, like 24GiB", a->fit.text);
    m->models = hop_keep_bytes(m->keep, (size_t)files + 1, sizeof *m->models);
    m->uses = hop_keep_bytes(m->keep, ((size_t)files + 1) * (size_t)hop__engine_count, sizeof *m->uses);
    m->refused = hop_keep_bytes(m->keep, (size_t)files + 1, sizeof *m->refused);
    if (m->keep->failed) return hop_fail(err, HOP_ENOMEM, "out of memory");
    m->out->batch = a->batch.integer;
    m->out->budget_bytes = hop_known(m->budget, m->budget > 0);
    m->out->subjects.at = m->models, m->out->uses.at = m->uses, m->out->refused.at = m->refused;
    return HOP_OK;
}

hop_status hop__audit_memory(hop_response *response, const audit_args *a, const hop_audit_options *o,
                             hop_error *err)
{
    memory m;
    hop_audit_options sizes = *o;
    audit_files files = {0};
    sizes.plan_only = true;
    hop_status s =
        a->config.text ? HOP_OK : hop__audit_files(&files, &response->memory, &a->ask.operands, err);
    if (s == HOP_OK) s = begin(&m, response, a, files.count, err);
    m.many = files.count > 1;
    if (s == HOP_OK && a->config.text) {
        hop_audit u;
        s = hop__audit_config(&u, a, &sizes, err);
        if (s == HOP_OK) s = put_model(&m, NULL, &u, err);
        hop_audit_free(&u);
    }
    for (int i = 0; s == HOP_OK && i < files.count; i++) s = put_file(&m, &files.at[i], &sizes, err);
    return s == HOP_OK ? hop_response_end(response, err) : s;
}
