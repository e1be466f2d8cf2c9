/* AdamW (Loshchilov and Hutter 2019) with a warm-up and a cosine, in one pass over parameters, gradient and
 * moments. */
#include "room.h"

#include <math.h>

#define EPS        1e-8f
#define TASK_SPANS 16 /* chunks a task */

double hop__learning_rate(const hop_recipe *r, int64_t step)
{
    const double pi = 3.14159265358979323846;
    double rise = r->warmup > 0 && step < r->warmup ? (double)(step + 1) / (double)r->warmup : 1;
    double fall = 0.5 * (1 + cos(pi * (double)step / (double)r->steps));
    return r->lr * rise * (r->lr_end + (1 - r->lr_end) * fall);
}

typedef struct job {
    const hop__adamw *a;
    const hop__params *p;
    const float *g;
    /* the gradient's factor; a step's, with the first moment's correction in it; the second moment's; decay's
     */
    float shorten, rate, correct, keep, beta1, beta2;
} job;

static void step_span(const job *j, float *w, int64_t at, int64_t n)
{
    float *restrict first = j->a->first + at, *restrict second = j->a->second + at;
    const float *restrict g = j->g + at;
    for (int64_t i = 0; i < n; i++) {
        float x = g[i] * j->shorten;
        float m = j->beta1 * first[i] + (1 - j->beta1) * x;
        float v = j->beta2 * second[i] + (1 - j->beta2) * x * x;
        first[i] = fabsf(m) < 1e-30f ? 0 : m; /* no denormals, which are slow, where nothing happens */
        second[i] = v < 1e-37f ? 0 : v;
        w[i] = w[i] * j->keep - j->rate * m / (sqrtf(v * j->correct) + EPS);
    }
}

static void step_job(void *ctx, int64_t task, int worker)
{
    const job *j = ctx;
    (void)worker;
    int64_t from = task * TASK_SPANS * HOP__CHUNK, to = from + TASK_SPANS * HOP__CHUNK;
    for (int k = 0; k < 2; k++) { /* the part of the span that lies in each block */
        int64_t start = j->p->start[k], end = start + j->p->size[k];
        int64_t a = from > start ? from : start, b = to < end ? to : end;
        if (a < b) step_span(j, j->p->part[k] + (a - start), a, b - a);
    }
}

void hop__adamw_step(const hop__adamw *a, const hop_recipe *r, const hop__params *p,
                     const hop__batch_result *g, int64_t step, hop_pool *pool)
{
    double lr = hop__learning_rate(r, step), t = (double)(step + 1);
    job j = {.a = a, .p = p, .g = g->sum, .beta1 = (float)r->beta1, .beta2 = (float)r->beta2};
    j.shorten = r->clip > 0 && g->norm > r->clip ? (float)(r->clip / g->norm) : 1;
    j.rate = (float)(lr / (1 - pow(r->beta1, t)));
    j.correct = (float)(1 / (1 - pow(r->beta2, t)));
    j.keep = (float)(1 - lr * r->weight_decay);
    int64_t span = TASK_SPANS * HOP__CHUNK;
    hop_pool_run(pool, (p->floats + span - 1) / span, step_job, &j);
}
