/* Layer e, after its attention: what the last token knows once it has read the right token's value t.
 *
 * The head returns (1-eps) v_t + eps·(something between the smallest and largest value of any token), eps up
 * to the wrong mass. The MLP is piecewise linear in its input y. For each t the analysis finds which hidden
 * units stay on one side for every y in the box; those are substituted symbolically, so that y - (y - 1) is 1
 * and not an interval of twice y's width; a unit that may change sides contributes its whole range. */
#include "analysis.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 64 /* values a task */

typedef struct writing {
    hop__analysis *a;
    int e;
    double mass;        /* wrong mass, at most */
    double value_err;   /* rounding of the head's output, relative to the largest value */
    ival *place;        /* [head_dim]: what the right token's position adds to its value */
    int64_t count;      /* values t */
    int64_t width;      /* written coordinates after this layer */
    int *coordinate;    /* [width] */
    ival *reg;          /* [count, width] */
    double *clip, *err; /* [tasks]: smallest clip margin, largest half-width */
    char *scratch;      /* per worker */
    size_t scratch_size;
} writing;

/* A worker's scratch: intervals for the head's output, y, hidden units, and one row of coefficients. */
typedef struct bench {
    ival *head, *y, *hidden, *coef;
    double *hidden_err;
    signed char *side; /* of every hidden unit: 1 active, -1 inactive, 0 either */
} bench;

static bench bench_of(const writing *w, int worker)
{
    const hop__analysis *a = w->a;
    bench b;
    ival *p = (ival *)(w->scratch + (size_t)worker * w->scratch_size);
    b.head = p;
    b.y = b.head + a->head_dim;
    b.coef = b.y + a->d;
    b.hidden = b.coef + a->d;
    b.hidden_err = (double *)(b.hidden + a->w.up.rows);
    b.side = (signed char *)(b.hidden_err + a->w.up.rows);
    return b;
}

/* ---- attention's output and the residual sum ------------------------------------------------ */

/* Rounding of the weighted sum of values: relative, and absolute where products fall below the normal
 * numbers. */
static double head_error(const writing *w, int64_t r)
{
    double mag = ival_mag(w->a->values[r]);
    return mag == 0 ? 0 : w->value_err * mag + (double)w->a->tokens * 0x1p-140;
}

static void head_output(const writing *w, int64_t t, ival *head)
{
    const hop__analysis *a = w->a;
    const hop__sparse *m = &a->w.v;
    for (int64_t r = 0; r < a->head_dim; r++) {
        ival right = w->place[r];
        for (int64_t n = m->start[r]; n < m->start[r + 1]; n++)
            if (!a->written[m->col[n]])
                right =
                    ival_add(right, ival_scale(ival_point(a->token_table[t * a->d + m->col[n]]), m->val[n]));
        ival away = ival_add(a->values[r], ival_scale(right, -1));
        head[r] = ival_add(right, ival_mul((ival){0, w->mass}, away));
        head[r] = ival_widen(head[r], head_error(w, r));
    }
}

/* y = x + W_o head, for coordinate c; x: what was there. */
static ival residual(hop__analysis *a, int64_t c, ival x, const ival *head)
{
    ival y = ival_add(x, hop__sparse_box(&a->w.o, c, head));
    double mag = hop__sparse_mag(&a->w.o, c, head);
    return mag == 0 ? x : ival_widen(y, hop__rounding(a, a->head_dim, mag + ival_mag(x)));
}

/* ---- the MLP ------------------------------------------------------------------------------- */

/* Ranges and sides of the hidden units; returns the smallest distance from changing sides. */
static double hidden_units(hop__analysis *a, bench *b)
{
    double margin = INFINITY;
    for (int64_t u = 0; u < a->w.up.rows; u++) {
        double bias = a->w.up_bias[u];
        ival z = ival_add(hop__sparse_box(&a->w.up, u, b->y), ival_point(bias));
        double err = hop__rounding(a, a->d + 1, hop__sparse_mag(&a->w.up, u, b->y) + fabs(bias));
        z = ival_widen(z, err);
        b->hidden_err[u] = err;
        b->side[u] = z.lo > 0 ? 1 : z.hi <= 0 ? -1 : 0;
        double distance = b->side[u] > 0 ? z.lo : b->side[u] < 0 ? -z.hi : -fmin(z.hi, -z.lo);
        if (!(distance >= margin)) margin = distance;
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
    return ival_widen(sum, (err + hop__rounding(a, up->rows + 2, mag)) * (1 + 1e-9));
}

/* ---- the last token, value by value --------------------------------------------------------- */

static void write_chunk(void *ctx, int64_t task, int worker)
{
    writing *w = ctx;
    hop__analysis *a = w->a;
    bench b = bench_of(w, worker);
    int64_t end = (task + 1) * CHUNK < w->count ? (task + 1) * CHUNK : w->count;
    double clip = INFINITY, err = 0;
    for (int64_t t = task * CHUNK; t < end; t++) {
        head_output(w, t, b.head);
        for (int64_t c = 0; c < a->d; c++) b.y[c] = residual(a, c, a->last[c], b.head);
        if (a->w.up.rows) {
            double margin = hidden_units(a, &b);
            if (!(margin >= clip)) clip = margin;
        }
        for (int64_t k = 0; k < w->width; k++) {
            ival x = a->w.up.rows ? after_mlp(a, &b, w->coordinate[k]) : b.y[w->coordinate[k]];
            w->reg[t * w->width + k] = x;
            if (!(ival_rad(x) <= err)) err = ival_rad(x);
        }
    }
    w->clip[task] = clip;
    w->err[task] = err;
}

/* ---- every token ---------------------------------------------------------------------------- */

static void bound_any(const writing *w, bench *b)
{
    hop__analysis *a = w->a;
    for (int64_t r = 0; r < a->head_dim; r++) b->head[r] = ival_widen(a->values[r], head_error(w, r));
    for (int64_t c = 0; c < a->d; c++) b->y[c] = residual(a, c, a->any[c], b->head);
    if (a->w.up.rows) hidden_units(a, b);
    for (int64_t c = 0; c < a->d; c++) a->any[c] = a->w.up.rows ? after_mlp(a, b, c) : b->y[c];
}

/* ---- putting it together -------------------------------------------------------------------- */

static bool layer_writes(const hop__analysis *a, int64_t c)
{
    bool by_head = a->w.o.start[c] != a->w.o.start[c + 1];
    return by_head ||
           (a->w.up.rows && (a->w.down.start[c] != a->w.down.start[c + 1] || a->w.down_bias[c] != 0));
}

/* What a right token's value vector has besides its own token row: its position, written coordinates,
 * rounding. */
static void fill_place(writing *w)
{
    hop__analysis *a = w->a;
    const hop__sparse *m = &a->w.v;
    int64_t first = a->task->start[w->e], count = w->e == 0 ? 1 : a->task->size[w->e - 1];
    for (int64_t r = 0; r < a->head_dim; r++) {
        w->place[r] = (ival){0, 0};
        for (int64_t n = m->start[r]; n < m->start[r + 1]; n++) {
            int c = m->col[n];
            ival box = a->any[c];
            if (!a->written[c]) {
                box = ival_point(a->position_table ? a->position_table[first * a->d + c] : 0);
                for (int64_t p = first; a->position_table && p < first + count; p++)
                    box = ival_hull(box, ival_point(a->position_table[p * a->d + c]));
            }
            w->place[r] = ival_add(w->place[r], ival_scale(box, m->val[n]));
        }
        w->place[r] = ival_widen(w->place[r], hop__rounding(a, a->d, hop__sparse_mag(m, r, a->any)));
    }
}

static hop_status allocate(writing *w, hop_error *err)
{
    const hop__analysis *a = w->a;
    int64_t hidden = a->w.up.rows, tasks = (w->count + CHUNK - 1) / CHUNK;
    w->coordinate = hop_alloc(sizeof(int) * (size_t)a->d);
    for (int64_t c = 0; w->coordinate && c < a->d; c++)
        if (a->written[c] || layer_writes(a, c)) w->coordinate[w->width++] = (int)c;
    w->place = hop_alloc(sizeof(ival) * (size_t)a->head_dim);
    w->reg = hop_alloc(sizeof(ival) * (size_t)(w->count * w->width));
    w->clip = hop_alloc(sizeof(double) * (size_t)tasks);
    w->err = hop_alloc(sizeof(double) * (size_t)tasks);
    w->scratch_size =
        sizeof(ival) * (size_t)(a->head_dim + 2 * a->d + hidden) + (sizeof(double) + 1) * (size_t)hidden;
    w->scratch_size = (w->scratch_size + HOP_ALIGN - 1) / HOP_ALIGN * HOP_ALIGN;
    w->scratch = hop_alloc(w->scratch_size * (size_t)hop_pool_threads(a->options->pool));
    if (w->coordinate && w->place && w->reg && w->clip && w->err && w->scratch) return HOP_OK;
    return hop_fail(err, HOP_ENOMEM, "cannot hold what %lld values leave behind", (long long)w->count);
}

/* The analysis' own tables move on to the next layer. */
static void adopt(writing *w)
{
    hop__analysis *a = w->a;
    hop_free(a->reg);
    a->reg = w->reg;
    w->reg = NULL;
    a->cases = w->count;
    a->width = w->width;
    for (int64_t k = 0; k < w->width; k++) {
        int c = w->coordinate[k];
        a->written[c] = true;
        a->slot[c] = (int)k;
        a->last[c] = a->reg[k];
        for (int64_t t = 1; t < w->count; t++) a->last[c] = ival_hull(a->last[c], a->reg[t * w->width + k]);
    }
}

hop_status hop__bound_registers(hop__analysis *a, int e, hop_margin *margin, hop_error *err)
{
    writing w = {.a = a,
                 .e = e,
                 .mass = fmin(margin->wrong_mass, 1.0),
                 .count = e == 0 ? a->task->m : a->task->size[e - 1]};
    w.value_err = 3 * HOP_ATTN_ERROR(a->tokens);
    for (int64_t r = 0; r < a->head_dim; r++) {
        a->values[r] = hop__sparse_box(&a->w.v, r, a->any);
        a->values[r] = ival_widen(a->values[r], hop__rounding(a, a->d, hop__sparse_mag(&a->w.v, r, a->any)));
    }
    hop_status s = allocate(&w, err);
    if (s == HOP_OK) {
        int64_t tasks = (w.count + CHUNK - 1) / CHUNK;
        fill_place(&w);
        hop_pool_run(a->options->pool, tasks, write_chunk, &w);
        margin->clip_margin = INFINITY;
        margin->code_error = 0;
        for (int64_t i = 0; i < tasks; i++) {
            if (!(w.clip[i] >= margin->clip_margin)) margin->clip_margin = w.clip[i];
            if (!(w.err[i] <= margin->code_error)) margin->code_error = w.err[i];
        }
        bench b = bench_of(&w, 0);
        bound_any(&w, &b);
        adopt(&w);
    }
    hop_free(w.coordinate);
    hop_free(w.place);
    hop_free(w.reg);
    hop_free(w.clip);
    hop_free(w.err);
    hop_free(w.scratch);
    return s;
}
