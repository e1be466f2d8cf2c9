/* After the last layer: does the right answer's logit lead, whatever else the last token carries? */
#include "analysis.h"
#include "rows.h"

#define CHUNK 256

typedef struct reading {
    hop__analysis *a;
    hop__rows head;
    bool *halves;    /* [d]: the column holds whole and half numbers only */
    double *gap;     /* [tasks] */
    int64_t *answer; /* [tasks]: where it is smallest */
    double *q;       /* [threads, d] */
    int *index;      /* [threads, d] */
} reading;

static double lead_of(const reading *r, int64_t t, double *q, int *index)
{
    hop__analysis *a = r->a;
    double slack = 0, logit = 0;
    hop__grid grid = {.exact = true};
    for (int64_t c = 0; c < a->d; c++) {
        ival x = hop__case_box(a, t, c);
        q[c] = ival_mid(x);
        double rad = ival_rad(x), mag = r->head.mag[c];
        slack += 2 * rad * mag;
        logit += (fabs(q[c]) + rad) * mag;
        if (mag == 0)
            q[c] = 0; /* nobody reads it */
        else
            hop__grid_add(&grid, r->halves[c] && x.lo == floor(x.lo) ? ival_scale(x, mag) : (ival){0, 1});
    }
    double rounding = 2 * hop__rounding(a, a->d, logit) + 1e-10 * logit;
    if (!grid.exact) slack += rounding;
    return hop__rows_lead(&r->head, q, t, 1.0, slack * (1 + 1e-9), index).gap;
}

static void read_chunk(void *ctx, int64_t task, int worker)
{
    reading *r = ctx;
    int64_t d = r->a->d, end = (task + 1) * CHUNK < r->a->cases ? (task + 1) * CHUNK : r->a->cases;
    r->gap[task] = INFINITY;
    for (int64_t t = task * CHUNK; t < end; t++) {
        double gap = lead_of(r, t, r->q + worker * d, r->index + worker * d);
        if (!(gap >= r->gap[task])) r->answer[task] = t;
        r->gap[task] = ival_least(r->gap[task], gap);
    }
}

static hop_status read_all(reading *r, double *margin, hop_error *err)
{
    hop__analysis *a = r->a;
    const hop_config *c = hop_model_config(a->model);
    const float *head =
        hop_model_weight(a->model, c->tied ? "model.embed_tokens.weight" : "lm_head.weight")->data;
    size_t d = (size_t)a->d, threads = (size_t)hop_pool_threads(a->options->pool);
    int64_t tasks = (a->cases + CHUNK - 1) / CHUNK;
    hop_status s = hop__rows_new(&r->head, c->vocab, a->d, err);
    if (s != HOP_OK) return s;
    for (int64_t i = 0; i < c->vocab * a->d; i++) r->head.row[i] = head[i];
    hop__rows_ready(&r->head);
    r->gap = hop_alloc(sizeof(double) * (size_t)tasks);
    r->answer = hop_alloc(sizeof(int64_t) * (size_t)tasks);
    r->q = hop_alloc(sizeof(double) * d * threads);
    r->index = hop_alloc(sizeof(int) * d * threads);
    r->halves = hop_alloc(sizeof(bool) * d);
    if (!r->gap || !r->answer || !r->q || !r->index || !r->halves)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t k = 0; k < a->d; k++) {
        r->halves[k] = true;
        for (int64_t i = 0; i < c->vocab && r->halves[k]; i++)
            r->halves[k] = head[i * a->d + k] * 2 == floorf(head[i * a->d + k] * 2);
    }
    hop_pool_run(a->options->pool, tasks, read_chunk, r);
    *margin = INFINITY;
    for (int64_t i = 0; i < tasks; i++) {
        *margin = ival_least(*margin, r->gap[i]);
        /* An answer that may be misread: any input with that answer is worth trying. */
        if (!(r->gap[i] > 0))
            hop__add_hint(a, (hop__hint){.player = a->task->hops + 1, .w = -1, .i = r->answer[i]});
    }
    return HOP_OK;
}

hop_status hop__bound_readout(hop__analysis *a, double *margin, hop_error *err)
{
    reading r = {.a = a};
    hop_status s = read_all(&r, margin, err);
    hop__rows_free(&r.head);
    hop_free(r.halves);
    hop_free(r.gap);
    hop_free(r.answer);
    hop_free(r.q);
    hop_free(r.index);
    return s;
}
