/* Networks in memory: their weights where they are, and passes over many prompts. */
#include "flat.h"

#include <hopbound/config.h>
#include <hopbound/model.h>

#include <string.h>

int hopflat_network_open(const char *dir, void **out, char *why)
{
    hop_error err = {0};
    hop_model *m = NULL;
    hop_status s = hop_model_open(&m, dir, &err);
    *out = m;
    return hopflat__told(s, &err, why);
}

int hopflat_network_save(const void *network, const char *dir, char *why)
{
    hop_error err = {0};
    return hopflat__told(hop_model_save(network, dir, &err), &err, why);
}

void hopflat_network_free(void *network)
{
    hop_model_free(network);
}

int64_t hopflat_network_weights(const void *network)
{
    return hop_model_weight_count(network);
}

int hopflat_network_weight(const void *network, int64_t i, const char **name, int64_t *shape, float **data)
{
    const hop_weight *w = hop_model_weight_at(network, i);
    *name = w->name;
    *data = w->data;
    memcpy(shape, w->shape, sizeof w->shape);
    return w->rank;
}

void hopflat_network_sizes(const void *network, int64_t sizes[4])
{
    const hop_config *c = hop_model_config(network);
    sizes[0] = c->vocab;
    sizes[1] = c->d_model;
    sizes[2] = c->max_positions;
    sizes[3] = hop_model_parameters(network);
}

char *hopflat_network_config(const void *network)
{
    hop_json_writer w = {0};
    hop_config_write(hop_model_config(network), &w);
    return hopflat__handed_out(&w.text);
}

/* ---- passes ---------------------------------------------------------------------------------- */

typedef struct passes {
    const hop_model *model;
    const int32_t *tokens;
    int64_t rows, count;
    hopflat_what what;
    float *out;
} passes;

static hop_status pass(const passes *p, hop_forward *f, int64_t row, hop_error *err)
{
    const hop_config *c = hop_model_config(p->model);
    const int32_t *tokens = p->tokens + row * p->count;
    int64_t wide = p->what == HOPFLAT_HIDDEN ? c->d_model : c->vocab;
    float *out = p->out + row * wide * (p->what == HOPFLAT_LAST ? 1 : p->count);
    switch (p->what) {
    case HOPFLAT_ALL: return hop_forward_all(f, tokens, p->count, out, err);
    case HOPFLAT_HIDDEN: return hop_forward_hidden(f, tokens, p->count, out, err);
    case HOPFLAT_LAST: break;
    }
    return hop_forward_logits(f, tokens, p->count, out, err);
}

int hopflat_network_pass(const void *network, const int32_t *tokens, const int64_t shape[2],
                         hopflat_what what, float *out, int threads, hopflat_watch *w, char *why)
{
    hop_error err = {0};
    hop_forward *f = NULL;
    passes p = {network, tokens, shape[0], shape[1], what, out};
    hop_pool *pool = hopflat__pool_take(threads);
    hop_progress progress = hopflat__progress(w);
    hop_forward_options o = {.max_tokens = p.count, .pool = pool, .progress = &progress};
    hop_status s = hop_forward_new(&f, network, &o, &err);
    for (int64_t row = 0; s == HOP_OK && row < p.rows; row++) {
        s = pass(&p, f, row, &err);
        if (s == HOP_OK && !hop_progress_tick(&progress, "prompts", (double)row + 1, (double)p.rows))
            s = hop_fail(&err, HOP_ESTOPPED, "stopped");
    }
    hop_forward_free(f);
    hopflat__pool_give(pool);
    return hopflat__told(s, &err, why);
}
