/* A layer's MLP and what it leaves behind.
 *
 * The MLP is piecewise linear in its input y. For each case the analysis finds which hidden units stay on one
 * side for every y in the box; those are substituted symbolically, so that y - (y - 1) is 1 and not an
 * interval of twice y's width; a unit that may change sides contributes its whole range. */
#include "analysis.h"

#define CHUNK 64 /* cases a task */

typedef struct writing {
    hop__analysis *a;
    const hop__after_mixer *from;
    int64_t width;      /* written coordinates after this layer */
    int *coordinate;    /* [width] */
    ival *reg;          /* [cases, width] */
    double *clip, *err; /* [tasks]: smallest clip margin, largest half-width */
    char *scratch;      /* per worker */
    size_t scratch_size;
} writing;

/* A worker's scratch: intervals for the mixer, y, hidden units, and one row of coefficients. */
typedef struct bench {
    ival *work, *y, *hidden, *coef;
    double *hidden_err;
    signed char *side; /* of every hidden unit: 1 active, -1 inactive, 0 either */
} bench;

static bench bench_of(const writing *w, int worker)
{
    const hop__analysis *a = w->a;
    bench b;
    b.work = (ival *)(w->scratch + (size_t)worker * w->scratch_size);
    b.y = b.work + a->widest;
    b.coef = b.y + a->d;
    b.hidden = b.coef + a->d;
    b.hidden_err = (double *)(b.hidden + a->w.up.rows);
    b.side = (signed char *)(b.hidden_err + a->w.up.rows);
    return b;
}

/* Ranges and sides of the hidden units; returns the smallest distance from changing sides. */
static double hidden_units(hop__analysis *a, bench *b)
{
    double margin = INFINITY;
    for (int64_t u = 0; u < a->w.up.rows; u++) {
        double bias = a->w.up_bias[u];
        ival z = ival_add(hop__sparse_box(&a->w.up, u, b->y), ival_point(bias));
        double err = hop__rounding(a, a->d + 1, hop__sparse_mag(&a->w.up, u, b->y) + fabs(bias));
        hop__grid grid = {.exact = true};
        hop__grid_add(&grid, ival_point(bias));
        hop__sparse_grid(&a->w.up, u, b->y, &grid);
        if (grid.exact) err = 0;
        z = ival_widen(z, err);
        b->hidden_err[u] = err;
        b->side[u] = z.lo > 0 ? 1 : z.hi <= 0 ? -1 : 0;
        double distance = b->side[u] > 0 ? z.lo : b->side[u] < 0 ? 0.0 - z.hi : -fmin(z.hi, -z.lo);
        margin = ival_least(margin, distance);
        b->hidden[u] = (ival){z.lo > 0 ? z.lo : 0, z.hi > 0 ? z.hi : 0};
    }
    return margin;
}

/* Coordinate c after the MLP: y_c + sum_u down[c,u] relu(up_u·y + bias_u) + bias_c. */
static ival after_mlp(hop__analysis *a, bench *b, int64_t c)
{
    const hop__sparse *down = &a->w.down, *up = &a->w.up;
    double bias = a->w.down_bias[c];
    if (down->start[c] == down->start[c + 1] && bias == 0) return b->y[c];
    ival sum = ival_point(bias);
    double err = 0, mag = fabs(bias) + ival_mag(b->y[c]);
    for (int64_t k = 0; k < a->d; k++) b->coef[k] = (ival){0, 0};
    b->coef[c] = ival_point(1);
    for (int64_t n = down->start[c]; n < down->start[c + 1]; n++) {
        int u = down->col[n];
        double v = down->val[n];
        mag += fabs(v) * ival_mag(b->hidden[u]);
        if (b->side[u] < 0) continue;
        if (b->side[u] == 0) {
            sum = ival_add(sum, ival_scale(b->hidden[u], v));
            continue;
        }
        err += fabs(v) * b->hidden_err[u];
        sum = ival_add(sum, ival_scale(ival_point(a->w.up_bias[u]), v));
        for (int64_t k = up->start[u]; k < up->start[u + 1]; k++)
            b->coef[up->col[k]] = ival_add(b->coef[up->col[k]], ival_scale(ival_point(up->val[k]), v));
    }
    for (int64_t k = 0; k < a->d; k++)
        if (b->coef[k].lo != 0 || b->coef[k].hi != 0) sum = ival_add(sum, ival_mul(b->y[k], b->coef[k]));
    /* Zeros add nothing and round nothing: only the entries that are there count. */
    double rounding = hop__rounding(a, down->start[c + 1] - down->start[c] + 2, mag);
    hop__grid grid = {.exact = true};
    hop__grid_add(&grid, ival_point(bias));
    hop__grid_add(&grid, b->y[c]);
    hop__sparse_grid(down, c, b->hidden, &grid);
    return ival_widen(sum, (err + (grid.exact ? 0 : rounding)) * (1 + 1e-9));
}

/* ---- the last token, case by case ------------------------------------------------------------ */

static void write_chunk(void *ctx, int64_t task, int worker)
{
    writing *w = ctx;
    hop__analysis *a = w->a;
    bench b = bench_of(w, worker);
    int64_t end = (task + 1) * CHUNK < w->from->cases ? (task + 1) * CHUNK : w->from->cases;
    double clip = INFINITY, err = 0;
    for (int64_t t = task * CHUNK; t < end; t++) {
        w->from->last(w->from->ctx, t, b.y, b.work);
        if (a->w.up.rows) {
            clip = ival_least(clip, hidden_units(a, &b));
        }
        for (int64_t k = 0; k < w->width; k++) {
            ival x = a->w.up.rows ? after_mlp(a, &b, w->coordinate[k]) : b.y[w->coordinate[k]];
            w->reg[t * w->width + k] = x;
            err = ival_most(err, ival_rad(x));
        }
    }
    w->clip[task] = clip;
    w->err[task] = err;
}

/* ---- every token ------------------------------------------------------------------------------ */

static void bound_any(const writing *w, bench *b)
{
    hop__analysis *a = w->a;
    w->from->any(w->from->ctx, b->y, b->work);
    if (a->w.up.rows) hidden_units(a, b);
    for (int64_t c = 0; c < a->d; c++) a->any[c] = a->w.up.rows ? after_mlp(a, b, c) : b->y[c];
}

/* ---- putting it together ---------------------------------------------------------------------- */

static bool layer_writes(const writing *w, int64_t c)
{
    const hop__analysis *a = w->a;
    bool by_mlp = a->w.up.rows && (a->w.down.start[c] != a->w.down.start[c + 1] || a->w.down_bias[c] != 0);
    return by_mlp || w->from->writes(w->from->ctx, c);
}

static hop_status allocate(writing *w, hop_error *err)
{
    const hop__analysis *a = w->a;
    int64_t hidden = a->w.up.rows, tasks = (w->from->cases + CHUNK - 1) / CHUNK;
    w->coordinate = hop_alloc(sizeof(int) * (size_t)a->d);
    for (int64_t c = 0; w->coordinate && c < a->d; c++)
        if (a->written[c] || layer_writes(w, c)) w->coordinate[w->width++] = (int)c;
    w->reg = hop_alloc(sizeof(ival) * (size_t)(w->from->cases * w->width));
    w->clip = hop_alloc(sizeof(double) * (size_t)tasks);
    w->err = hop_alloc(sizeof(double) * (size_t)tasks);
    w->scratch_size =
        sizeof(ival) * (size_t)(a->widest + 2 * a->d + hidden) + (sizeof(double) + 1) * (size_t)hidden;
    w->scratch_size = (w->scratch_size + HOP_ALIGN - 1) / HOP_ALIGN * HOP_ALIGN;
    w->scratch = hop_alloc(w->scratch_size * (size_t)hop_pool_threads(a->options->pool));
    if (w->coordinate && w->reg && w->clip && w->err && w->scratch) return HOP_OK;
    return hop_fail(err, HOP_ENOMEM, "cannot hold what %lld values leave behind", (long long)w->from->cases);
}

/* The analysis' own tables move on to the next layer. */
static void adopt(writing *w)
{
    hop__analysis *a = w->a;
    hop_free(a->reg);
    a->reg = w->reg;
    w->reg = NULL;
    a->cases = w->from->cases;
    a->width = w->width;
    for (int64_t k = 0; k < w->width; k++) {
        int c = w->coordinate[k];
        a->written[c] = true;
        a->slot[c] = (int)k;
        a->last[c] = a->reg[k];
        for (int64_t t = 1; t < a->cases; t++) a->last[c] = ival_hull(a->last[c], a->reg[t * w->width + k]);
    }
}

hop_status hop__bound_mlp(hop__analysis *a, const hop__after_mixer *m, hop_margin *margin, hop_error *err)
{
    writing w = {.a = a, .from = m};
    hop_status s = allocate(&w, err);
    if (s == HOP_OK) {
        int64_t tasks = (m->cases + CHUNK - 1) / CHUNK;
        hop_pool_run(a->options->pool, tasks, write_chunk, &w);
        margin->clip_margin = INFINITY;
        margin->code_error = 0;
        for (int64_t i = 0; i < tasks; i++) {
            margin->clip_margin = ival_least(margin->clip_margin, w.clip[i]);
            margin->code_error = ival_most(margin->code_error, w.err[i]);
        }
        bench b = bench_of(&w, 0);
        bound_any(&w, &b);
        adopt(&w);
    }
    hop_free(w.coordinate);
    hop_free(w.reg);
    hop_free(w.clip);
    hop_free(w.err);
    hop_free(w.scratch);
    return s;
}
