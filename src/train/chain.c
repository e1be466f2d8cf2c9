/* Heads that are taught i_l at the last token, after the block that should know it: a layer norm and a matrix
 * each. They are the training's, not the network's. */
#include "room.h"

#include <hopbound/kernels.h>

#include <math.h>
#include <string.h>

#define EPS 1e-5f

/* ---- where they read -------------------------------------------------------------------------- */

static int64_t hops_of(const hop_task *t)
{
    return t->kind == HOP_TASK_FUNCCOMP ? t->funccomp.hops : t->kind == HOP_TASK_KHOP ? t->khop.hops : 0;
}

/* The block that makes hop l of `hops`, from 1: the last full layers make the hops, one each; where there are
 * too few of them, the last layers do. 0: none. What stands before the first hop is known a block earlier. */
static int64_t block_of_hop(const hop_pattern *p, int64_t hops, int64_t l)
{
    int64_t full = 0, block = p->layers;
    for (int64_t i = 0; i < p->layers; i++) full += strcmp(hop_pattern_mixer(p, i), "full") == 0;
    if (full < hops) {
        block = p->layers - (hops - l);
        return block > 0 ? block : 0;
    }
    if (l == 0) return block_of_hop(p, hops, 1) - 1;
    for (int64_t left = hops - l; block > 0; block--)
        if (strcmp(hop_pattern_mixer(p, block - 1), "full") == 0 && left-- == 0) return block;
    return 0;
}

void hop__chain_init(hop__chain *c, const hop_recipe *r, const hop_config *config)
{
    int64_t hops = r->supervise == HOP_SUPERVISE_CHAIN ? hops_of(&r->task) : 0;
    *c = (hop__chain){.d = config->d_model, .vocab = config->vocab};
    for (int64_t l = 0; l < hops && c->heads < HOP__MAX_HEADS; l++) {
        int64_t block = block_of_hop(&config->pattern, hops, l);
        if (block < 1 || (r->task.kind == HOP_TASK_KHOP && l == 0))
            continue; /* khop's i_0 is the last token */
        c->head[c->heads].link = (int)l;
        c->head[c->heads].stream = block;
        c->head[c->heads++].offset = c->floats;
        c->floats += (2 + c->vocab) * c->d + c->vocab;
    }
}

void hop__chain_draw(const hop__chain *c, float *block, uint64_t seed)
{
    double std = 1 / sqrt((double)c->d);
    for (int h = 0; h < c->heads; h++) {
        hop_rng rng;
        float *at = block + c->head[h].offset;
        hop_rng_init(&rng, seed, UINT64_MAX - (uint64_t)h); /* far from the streams of layers and instances */
        for (int64_t i = 0; i < c->d; i++) at[i] = 1, at[c->d + i] = 0;
        at += 2 * c->d;
        for (int64_t i = 0; i < c->vocab * c->d; i++) at[i] = (float)(std * hop_rng_normal(&rng));
        memset(at + c->vocab * c->d, 0, sizeof(float) * (size_t)c->vocab);
    }
}

/* ---- what they should read ---------------------------------------------------------------------- */

int hop__chain_links(const hop_task *t, const hop_instance *x, int64_t *links)
{
    if (t->kind == HOP_TASK_FUNCCOMP) {
        int64_t chain[HOP_MAX_HOPS + 1];
        hop_funccomp_solve(&t->funccomp, x->tokens, chain);
        memcpy(links, chain, sizeof *links * (size_t)t->funccomp.hops);
        return t->funccomp.hops;
    }
    if (t->kind != HOP_TASK_KHOP) return 0;
    links[0] = x->tokens[x->count - 1];
    for (int64_t l = 1; l < t->khop.hops && l < HOP_MAX_HOPS; l++) { /* the answer after fewer hops */
        hop_task fewer = *t;
        fewer.khop.hops = l;
        hop_task_solve(&fewer, x->tokens, x->answers);
        links[l] = x->answers[x->count - 1];
    }
    return (int)(t->khop.hops < HOP_MAX_HOPS ? t->khop.hops : HOP_MAX_HOPS);
}

/* ---- loss and gradient --------------------------------------------------------------------------- */

double hop__cross_entropy(float *logits, int64_t n, int64_t wanted, float scale)
{
    float most = logits[0];
    for (int64_t i = 1; i < n; i++) most = logits[i] > most ? logits[i] : most;
    double sum = 0, at = (double)logits[wanted] - most;
    for (int64_t i = 0; i < n; i++) logits[i] -= most;
    hop_vexp(logits, logits, n);
    for (int64_t i = 0; i < n; i++) sum += (double)logits[i];
    float by = (float)(scale / sum);
    for (int64_t i = 0; i < n; i++) logits[i] *= by;
    logits[wanted] -= scale;
    return log(sum) - at;
}

size_t hop__chain_scratch(const hop__chain *c, int64_t rows)
{
    return (size_t)(rows * (3 * c->d + c->vocab + 1));
}

/* dx += the gradient through a layer norm; `unit` is (x - mean) / deviation, dy the gradient of its output.
 */
static void norm_back(float *dx, const float *dy, const float *unit, const float *weight, float inverse,
                      int64_t d)
{
    double mean = 0, along = 0;
    for (int64_t i = 0; i < d; i++) {
        double g = (double)dy[i] * weight[i];
        mean += g;
        along += g * unit[i];
    }
    mean /= (double)d;
    along /= (double)d;
    for (int64_t i = 0; i < d; i++)
        dx[i] += (float)(inverse * ((double)dy[i] * weight[i] - mean - unit[i] * along));
}

double hop__chain_step(const hop__chain *c, int head, const float *block, float *dblock,
                       const hop__chain_rows *x, float *scratch)
{
    int64_t d = c->d, vocab = c->vocab, rows = x->rows;
    const float *weight = block + c->head[head].offset, *bias = weight + d, *matrix = bias + d;
    float *dweight = dblock + c->head[head].offset, *dbias = dweight + d, *dmatrix = dbias + d;
    float *unit = scratch, *normed = unit + rows * d, *dnormed = normed + rows * d;
    float *logits = dnormed + rows * d, *inverse = logits + rows * vocab;
    double loss = 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *in = x->stream + x->row[r] * d;
        double mean = 0, square = 0;
        for (int64_t i = 0; i < d; i++) mean += (double)in[i];
        mean /= (double)d;
        for (int64_t i = 0; i < d; i++) square += (in[i] - mean) * (in[i] - mean);
        inverse[r] = (float)(1 / sqrt(square / (double)d + (double)EPS));
        for (int64_t i = 0; i < d; i++) {
            unit[r * d + i] = (float)((in[i] - mean) * inverse[r]);
            normed[r * d + i] = unit[r * d + i] * weight[i] + bias[i];
        }
    }
    hop_linear(logits, normed, matrix, matrix + vocab * d, rows, vocab, d, NULL);
    for (int64_t r = 0; r < rows; r++)
        loss += hop__cross_entropy(logits + r * vocab, vocab, x->wanted[r], x->scale);
    hop_gemm(dmatrix, d, (hop_mat){logits, 1, vocab}, (hop_mat){normed, d, 1}, vocab, d, rows, true, NULL);
    hop_gemm(dnormed, d, (hop_mat){logits, vocab, 1}, (hop_mat){matrix, d, 1}, rows, d, vocab, false, NULL);
    for (int64_t r = 0; r < rows; r++) {
        const float *dy = dnormed + r * d, *u = unit + r * d;
        for (int64_t i = 0; i < vocab; i++) dmatrix[vocab * d + i] += logits[r * vocab + i];
        for (int64_t i = 0; i < d; i++) dweight[i] += dy[i] * u[i], dbias[i] += dy[i];
        norm_back(x->dstream + x->row[r] * d, dy, u, weight, inverse[r], d);
    }
    return loss;
}
