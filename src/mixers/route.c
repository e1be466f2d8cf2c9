/* route.c - which experts a token takes, and with what weights (ROUTE in ops.h). */
#include "exec.h"

#include <math.h>

enum { MOST_GROUPS = 64 };

typedef struct choice {
    const hop_op *op;
    const float *p, *bias; /* bias may be NULL */
    bool open[MOST_GROUPS];
} choice;

static float key(const choice *c, int64_t e)
{
    return c->bias ? c->p[e] + c->bias[e] : c->p[e];
}

/* Is a before b? Of equal keys the first counts. */
static bool before(float key_a, int64_t a, float key_b, int64_t b)
{
    return key_a > key_b || (key_a == key_b && a < b);
}

/* The sum of a group's best two. */
static float group_score(const choice *c, int64_t g)
{
    float best = -INFINITY, second = -INFINITY;
    for (int64_t e = g * c->op->dim; e < (g + 1) * c->op->dim; e++) {
        const float k = key(c, e);
        if (k > best)
            second = best, best = k;
        else if (k > second)
            second = k;
    }
    return c->op->dim > 1 ? best + second : best;
}

static void open_groups(choice *c)
{
    float score[MOST_GROUPS];
    const int64_t groups = c->op->groups;
    if (groups == 1) c->open[0] = true;
    if (groups == 1) return;
    for (int64_t g = 0; g < groups; g++) score[g] = group_score(c, g);
    for (int64_t g = 0; g < groups; g++) {
        int64_t better = 0;
        for (int64_t o = 0; o < groups; o++) better += before(score[o], o, score[g], g);
        c->open[g] = better < c->op->block;
    }
}

/* The last that is chosen; -1: not all are numbers, or fewer. */
static int64_t last_chosen(const choice *c)
{
    int64_t last = -1;
    float last_key = INFINITY;
    for (int64_t e = 0; e < c->op->width; e++)
        if (key(c, e) != key(c, e)) return -1;
    for (int64_t k = 0; k < c->op->topk; k++) {
        int64_t next = -1;
        for (int64_t e = 0; e < c->op->width; e++)
            if (c->open[e / c->op->dim] && (last < 0 || before(last_key, last, key(c, e), e)) &&
                key(c, e) > -INFINITY && (next < 0 || before(key(c, e), e, key(c, next), next)))
                next = e;
        if (next < 0) return -1;
        last = next, last_key = key(c, next);
    }
    return last;
}

static void scores(float *y, const float *x, const hop_op *op)
{
    const int64_t n = op->width;
    float most = -INFINITY, sum = 0;
    for (int64_t e = 0; e < n; e++) y[e] = x[e], most = fmaxf(most, x[e]);
    if (op->act == HOP_ACT_SIGMOID) {
        hop__activate(HOP_ACT_SIGMOID, y, n);
        return;
    }
    for (int64_t e = 0; e < n; e++) y[e] -= most;
    hop__activate(HOP_ACT_EXP, y, n);
    for (int64_t e = 0; e < n; e++) sum += y[e];
    for (int64_t e = 0; e < n; e++) y[e] /= sum;
}

void hop__route_row(float *y, const float *x, const float *bias, const hop_op *op)
{
    choice c = {.op = op, .p = y, .bias = bias};
    scores(y, x, op);
    open_groups(&c);
    const int64_t last = last_chosen(&c);
    const float last_key = last < 0 ? NAN : key(&c, last);
    float sum = 0;
    for (int64_t e = 0; e < op->width; e++) { /* no number, no choice */
        if (last < 0) y[e] = NAN;
        const bool chosen = last < 0 || (c.open[e / op->dim] && !before(last_key, last, key(&c, e), e));
        if (!chosen) y[e] = 0;
        sum += y[e];
    }
    const float by = op->scaled ? sum + (float)op->eps : 1;
    for (int64_t e = 0; e < op->width; e++) y[e] = y[e] / by * (float)op->scale;
}
