/* One move along the margin's gradient in token space: where the embedding of a token stands, the margin's
 * gradient says how much each other token would lower it, to first order. Only where the network can be
 * differentiated as it is run: in float32, uncut. */
#include "slope.h"

#include <math.h>
#include <string.h>

#define STEEPEST 8 /* positions among which one is drawn */

struct hop__slope {
    const hop_model *model;
    hop_grad *grad;
    float *dblock, *logits, *dlogits;
    int64_t count, vocab, d;
};

hop__slope *hop__slope_new(const hop_model *m, int64_t tokens)
{
    hop__slope *s = hop_alloc(sizeof *s);
    if (!s) return NULL;
    *s = (hop__slope){.model = m, .count = tokens};
    s->vocab = hop_model_config(m)->vocab;
    s->d = hop_model_config(m)->d_model;
    s->dblock = hop_alloc(sizeof(float) * (size_t)hop_layout_floats(hop_model_layout(m)));
    s->logits = hop_alloc(sizeof(float) * (size_t)s->vocab);
    s->dlogits = hop_alloc(sizeof(float) * (size_t)s->vocab);
    if (!s->dblock || !s->logits || !s->dlogits || hop_grad_new(&s->grad, m, 1, tokens, NULL) != HOP_OK) {
        hop__slope_free(s);
        return NULL;
    }
    hop_grad_last_from(s->grad, tokens - 1);
    return s;
}

void hop__slope_free(hop__slope *s)
{
    if (!s) return;
    hop_grad_free(s->grad);
    hop_free(s->dblock);
    hop_free(s->logits);
    hop_free(s->dlogits);
    hop_free(s);
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The gradient of logit[right] minus the best other one, at the embeddings. */
static const float *gradient(hop__slope *s, const int32_t *tokens, int64_t right)
{
    int64_t last = s->count - 1, rival = -1;
    if (hop_grad_forward(s->grad, tokens, 1, s->count, NULL) != HOP_OK) return NULL;
    hop_grad_logits(s->grad, &last, 1, s->logits);
    for (int64_t v = 0; v < s->vocab; v++)
        if (v != right && (rival < 0 || s->logits[v] > s->logits[rival])) rival = v;
    if (rival < 0) return NULL;
    memset(s->dlogits, 0, sizeof(float) * (size_t)s->vocab);
    s->dlogits[right] = 1;
    s->dlogits[rival] = -1;
    hop_grad_dlogits(s->grad, &last, 1, s->dlogits, s->dblock);
    hop_grad_backward(s->grad, s->dblock);
    return hop_grad_dstream(s->grad, 0);
}

bool hop__slope_move(hop__slope *s, const hop_task *t, int64_t right, hop_rng *rng, int32_t *tokens)
{
    const float *g = gradient(s, tokens, right);
    const hop_weight *table = hop_model_weight(s->model, "model.embed_tokens.weight");
    int64_t steepest[STEEPEST], found = 0;
    double size[STEEPEST];
    if (!g || !table) return false;
    for (int64_t p = 0; p < s->count; p++) {
        double n = dot(g + p * s->d, g + p * s->d, s->d);
        if (!(n > 0)) continue;
        int64_t at = found < STEEPEST ? found++ : STEEPEST;
        for (; at > 0 && size[at - 1] < n; at--)
            if (at < STEEPEST) size[at] = size[at - 1], steepest[at] = steepest[at - 1];
        if (at < STEEPEST) size[at] = n, steepest[at] = p;
    }
    if (found == 0) return false;
    int64_t p = steepest[hop_rng_below(rng, (uint64_t)found)], best = -1;
    double lowest = 0, here = dot(g + p * s->d, table->data + tokens[p] * s->d, s->d);
    for (int64_t v = 0; v < hop_task_values(t, p); v++) {
        double change = dot(g + p * s->d, table->data + v * s->d, s->d) - here;
        if (change < lowest) lowest = change, best = v;
    }
    if (best < 0) return false;
    tokens[p] = (int32_t)best;
    return true;
}
