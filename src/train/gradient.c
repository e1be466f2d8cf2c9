/* Loss and gradient of a batch. A batch is cut into groups, whose number is the recipe's; a group's sequences
 * go through the network a few at a time, in order, and their gradients are added up in a block of the
 * group's own. The blocks are then added in order, columns shared out over the threads. So no bit depends on
 * who did what. */
#include "room.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define PASS_TOKENS 192 /* of a few short sequences that go through together, to fill the kernels */

/* What a worker needs to run sequences. */
typedef struct lane {
    hop_grad *grad;
    hop_instance one;
    int32_t *tokens;
    int64_t *row, *last, *wanted, *link; /* link: [pass, HOP_MAX_HOPS] */
    float *logits, *scratch;
} lane;

struct hop__gradient {
    const hop_recipe *recipe;
    hop_model *model;
    hop_packed *laid; /* its matrices, for all passes of a batch */
    const hop__chain *chain;
    hop__params params;
    hop_pool *pool;
    int workers;
    lane *lanes;
    hop__share share;
    hop_status *status; /* [groups] */
    const hop_task *task;
    const hop_progress *progress; /* asked by the thread that called, between passes */
    atomic_bool stopped;
    int64_t step, pass; /* pass: sequences at a time */
};

static int64_t pass_size(const hop_task *t, const hop_recipe *r)
{
    int64_t group = (r->batch + r->groups - 1) / r->groups, n = PASS_TOKENS / t->length;
    return n < 1 ? 1 : n < group ? n : group;
}

/* ---- a few sequences ------------------------------------------------------------------------- */

/* Loss of the answers, each sequence's mean; its gradient goes into the stream. */
static double teach_answers(hop__gradient *g, lane *l, int64_t rows, const float *scale, float *dblock)
{
    int64_t vocab = hop_model_config(g->model)->vocab;
    double loss = 0;
    hop_grad_logits(l->grad, l->row, rows, l->logits);
    for (int64_t r = 0; r < rows; r++)
        loss += (double)scale[r] * hop__cross_entropy(l->logits + r * vocab, vocab, l->wanted[r], scale[r]);
    hop_grad_dlogits(l->grad, l->row, rows, l->logits, dblock);
    return loss;
}

static double teach_chain(hop__gradient *g, lane *l, int64_t sequences, int links, float *dblock)
{
    double weight = g->recipe->chain_weight / (double)g->recipe->batch, loss = 0;
    int64_t wanted[PASS_TOKENS];
    for (int h = 0; h < g->chain->heads; h++) {
        int link = g->chain->head[h].link;
        if (link >= links) continue; /* an easier task that has no such hop */
        for (int64_t s = 0; s < sequences; s++) wanted[s] = l->link[s * HOP_MAX_HOPS + link];
        hop__chain_rows x = {.row = l->last, .wanted = wanted, .rows = sequences, .scale = (float)weight};
        x.stream = hop_grad_stream(l->grad, g->chain->head[h].stream);
        x.dstream = hop_grad_dstream(l->grad, g->chain->head[h].stream);
        loss += weight * hop__chain_step(g->chain, h, g->params.part[1], dblock, &x, l->scratch);
    }
    return loss;
}

/* Instances `number` .. of the seed through the network and back. */
static hop_status run_pass(hop__gradient *g, lane *l, uint64_t number, int64_t sequences, float *dblock,
                           double *loss)
{
    const hop_task *t = g->task;
    int64_t rows = 0, first = t->length - 1;
    int links = 0;
    float *weights = l->scratch; /* of the rows; the heads' scratch comes later */
    for (int64_t s = 0; s < sequences; s++) {
        hop_status got = hop_instance_sample(&l->one, t, g->recipe->seed, number + (uint64_t)s, NULL);
        if (got != HOP_OK) return got;
        memcpy(l->tokens + s * t->length, l->one.tokens, sizeof *l->tokens * (size_t)t->length);
        for (int64_t i = 0; i < t->length; i++)
            if (l->one.targets[i] >= 0) {
                if (i < first) first = i;
                l->row[rows] = s * t->length + i;
                l->wanted[rows] = l->one.targets[i];
                weights[rows++] = (float)(1.0 / ((double)g->recipe->batch * (double)l->one.asked));
            }
        l->last[s] = (s + 1) * t->length - 1;
        if (g->chain->heads) links = hop__chain_links(t, &l->one, l->link + s * HOP_MAX_HOPS);
    }
    hop_grad_last_from(l->grad, first);
    hop_status got = hop_grad_forward(l->grad, l->tokens, sequences, t->length, NULL);
    if (got != HOP_OK) return got;
    *loss += teach_answers(g, l, rows, weights, dblock);
    *loss += teach_chain(g, l, sequences, links, dblock + g->params.start[1]);
    hop_grad_backward(l->grad, dblock);
    return HOP_OK;
}

static void group_job(void *ctx, int64_t task, int worker)
{
    hop__gradient *g = ctx;
    const hop_recipe *r = g->recipe;
    int64_t group = hop__share_groups(&g->share, g->share.rank) + task;
    int64_t from = r->batch * group / r->groups, to = r->batch * (group + 1) / r->groups;
    memset(g->share.block[group], 0, sizeof(float) * (size_t)g->params.floats);
    g->share.loss[group] = 0;
    g->status[group] = HOP_OK;
    for (int64_t i = from; i < to && g->status[group] == HOP_OK; i += g->pass) {
        int64_t n = to - i < g->pass ? to - i : g->pass;
        if (worker == 0 && !hop_progress_tick(g->progress, "", 0, 0)) g->stopped = true;
        if (g->stopped) {
            g->status[group] = HOP_ESTOPPED;
            return;
        }
        uint64_t number = (uint64_t)g->step * (uint64_t)r->batch + (uint64_t)i;
        g->status[group] =
            run_pass(g, &g->lanes[worker], number, n, g->share.block[group], &g->share.loss[group]);
    }
}

/* ---- the groups' sum ---------------------------------------------------------------------------- */

static void sum_job(void *ctx, int64_t task, int worker)
{
    hop__gradient *g = ctx;
    int64_t chunk = hop__share_chunks(&g->share, g->share.rank) + task, from = chunk * HOP__CHUNK;
    int64_t n = g->params.floats - from < HOP__CHUNK ? g->params.floats - from : HOP__CHUNK;
    float *restrict sum = g->share.block[0] + from;
    (void)worker;
    for (int64_t b = 1; b < g->recipe->groups; b++) {
        const float *restrict x = g->share.block[b] + from;
        for (int64_t i = 0; i < n; i++) sum[i] += x[i];
    }
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += (double)sum[i] * (double)sum[i];
    g->share.square[chunk] = square;
}

hop_status hop__gradient_batch(hop__gradient *g, const hop_task *task, int64_t step, hop__batch_result *out,
                               hop_error *err)
{
    hop__share *s = &g->share;
    int64_t group = hop__share_groups(s, s->rank), groups = hop__share_groups(s, s->rank + 1) - group;
    int64_t chunks = hop__share_chunks(s, s->rank + 1) - hop__share_chunks(s, s->rank);
    g->task = task;
    g->step = step;
    hop_packed_update(g->laid, g->pool);
    hop_pool_run(g->pool, groups, group_job, g);
    if (g->stopped) return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    for (int64_t b = group; b < group + groups; b++)
        if (g->status[b] != HOP_OK)
            return hop_fail(err, g->status[b], "step %lld: %s", (long long)step,
                            hop_status_text(g->status[b]));
    hop_status got = hop__share_scatter(s, err);
    if (got != HOP_OK) return got;
    hop_pool_run(g->pool, chunks, sum_job, g);
    got = hop__share_gather(s, err);
    double square = 0;
    *out = (hop__batch_result){.sum = s->block[0]};
    for (int64_t b = 0; b < s->groups; b++) out->loss += s->loss[b];
    for (int64_t c = 0; c < s->chunks; c++) square += s->square[c];
    out->norm = sqrt(square);
    return got;
}

/* ---- where it breaks --------------------------------------------------------------------------- */

static bool all_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

int64_t hop__gradient_breaks(hop__gradient *g, const hop_task *task, int64_t step)
{
    lane *l = &g->lanes[0];
    const hop_config *c = hop_model_config(g->model);
    int64_t first = -1;
    hop_grad_last_from(l->grad, 0);
    for (int64_t i = 0; i < g->recipe->batch && first != 0; i++) {
        const uint64_t number = (uint64_t)step * (uint64_t)g->recipe->batch + (uint64_t)i;
        if (hop_instance_sample(&l->one, task, g->recipe->seed, number, NULL) != HOP_OK) break;
        if (hop_grad_forward(l->grad, l->one.tokens, 1, task->length, NULL) != HOP_OK) break;
        for (int64_t k = 0; k <= c->pattern.layers && (first < 0 || k < first); k++)
            if (!all_finite(hop_grad_stream(l->grad, k), task->length * c->d_model)) first = k;
    }
    return first;
}

/* ---- making ----------------------------------------------------------------------------------- */

static hop_status lane_open(hop__gradient *g, lane *l, hop_error *err)
{
    int64_t tokens = g->pass * g->recipe->task.length, vocab = hop_model_config(g->model)->vocab;
    int64_t rows = hop_task_asks_everywhere(&g->recipe->task) ? tokens : g->pass;
    size_t scratch = hop__chain_scratch(g->chain, g->pass);
    hop_status s = hop_grad_new(&l->grad, g->model, g->pass, g->recipe->task.length, err);
    if (s == HOP_OK) hop_grad_use(l->grad, g->laid);
    if (s == HOP_OK) s = hop_instance_reserve(&l->one, g->recipe->task.length, err);
    if (s != HOP_OK) return s;
    l->tokens = hop_alloc(sizeof *l->tokens * (size_t)tokens);
    l->row = hop_alloc(sizeof *l->row * (size_t)tokens);
    l->wanted = hop_alloc(sizeof *l->wanted * (size_t)tokens);
    l->last = hop_alloc(sizeof *l->last * (size_t)g->pass);
    l->link = hop_alloc(sizeof *l->link * (size_t)g->pass * HOP_MAX_HOPS);
    l->logits = hop_alloc(sizeof(float) * (size_t)(rows * vocab));
    l->scratch = hop_alloc(sizeof(float) * (scratch > (size_t)tokens ? scratch : (size_t)tokens));
    return l->tokens && l->row && l->wanted && l->last && l->link && l->logits && l->scratch
               ? HOP_OK
               : hop_fail(err, HOP_ENOMEM, "a batch of %lld: out of memory", (long long)g->recipe->batch);
}

static void lane_close(lane *l)
{
    hop_grad_free(l->grad);
    hop_instance_free(&l->one);
    hop_free(l->tokens);
    hop_free(l->row);
    hop_free(l->wanted);
    hop_free(l->last);
    hop_free(l->link);
    hop_free(l->logits);
    hop_free(l->scratch);
}

/* Each lane was promised what it asked for; whether there is so much for all of them nobody was asked. */
static hop_status look_for_all(const hop__gradient *g, hop_error *err)
{
    size_t all;
    if (hop_mul_size(hop_grad_bytes(g->lanes[0].grad), (size_t)g->workers, &all) && hop_memory_has(all))
        return HOP_OK;
    return hop_fail(err, HOP_ENOMEM,
                    "%d passes at once take %.1f GB each, and there is not so much memory: fewer threads",
                    g->workers, (double)hop_grad_bytes(g->lanes[0].grad) / 1e9);
}

static hop_status make(hop__gradient *g, hop_transport *t, hop_error *err)
{
    hop_status s = hop__share_init(&g->share, t, g->recipe->groups, g->params.floats, err);
    if (s == HOP_OK) s = hop_packed_new(&g->laid, g->model, err);
    if (s != HOP_OK) return s;
    g->lanes = hop_alloc(sizeof *g->lanes * (size_t)g->workers);
    g->status = hop_alloc(sizeof *g->status * (size_t)g->recipe->groups);
    if (!g->lanes || !g->status) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; s == HOP_OK && i < g->workers; i++) {
        s = lane_open(g, &g->lanes[i], err);
        if (i == 0 && s == HOP_OK) s = look_for_all(g, err);
    }
    return s;
}

hop_status hop__gradient_new(hop__gradient **out, const hop_recipe *r, hop_model *m, const hop__chain *chain,
                             const hop__params *p, const hop_train_options *o, const hop_progress *progress,
                             hop_error *err)
{
    hop__gradient *g = *out = hop_alloc(sizeof *g);
    if (!g) return hop_fail(err, HOP_ENOMEM, "out of memory");
    *g = (hop__gradient){
        .recipe = r, .model = m, .chain = chain, .params = *p, .pool = o->pool, .progress = progress};
    g->workers = hop_pool_threads(o->pool);
    g->pass = pass_size(&r->task, r);
    hop_status s = make(g, o->ranks, err);
    if (s != HOP_OK) {
        hop__gradient_free(g);
        *out = NULL;
    }
    return s;
}

void hop__gradient_free(hop__gradient *g)
{
    if (!g) return;
    for (int i = 0; g->lanes && i < g->workers; i++) lane_close(&g->lanes[i]);
    hop__share_free(&g->share);
    hop_packed_free(g->laid);
    hop_free(g->lanes);
    hop_free(g->status);
    hop_free(g);
}
