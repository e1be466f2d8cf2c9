/* What every token holds after a layer of the encoder.
 *
 * A token hears (1-eps)·v + eps·(something between the smallest and largest value of any token), v being the
 * right token's value and eps at most the wrong mass. That is projected and added, and the MLP follows, each
 * hidden unit that stays on one side of 0 substituted symbolically as in registers.c. This is done for every
 * side from which a player's tokens are seen:
 *
 * - place j: the right token is any of the target's; itself when it keeps what it has.
 * - digit (g, d): w is the same for both, so it is any token of the target when w_g = d.
 * - value u: a token that adopts has the value u afterwards when the right token had it before; what it was
 *   itself may be anything. One that does not adopt keeps its value.
 *
 * Margins: a unit's distance from changing sides is at least what the best of the sides says, the half-width
 * of a coordinate at most what the best of them says. */
#include "encoder_proof.h"

#define CHUNK 32 /* rows a task */

/* A worker's scratch. */
typedef struct bench {
    ival *x, *right, *head, *y, *coef, *hidden, *out;
    int *used; /* coordinates that have a coefficient */
    int64_t used_count;
    double *hidden_err;
    signed char *side; /* of every hidden unit: 1 active, -1 inactive, 0 either */
    double *near;      /* [sides, hidden]: smallest distance from changing sides so far */
    double *rad;       /* [sides, d]: largest half-width so far */
    char *memory;
} bench;

typedef struct writing {
    hop__encoder *e;
    hop__errand what;
    double mass;      /* wrong mass, at most */
    double value_err; /* rounding of the head's output, relative to the largest value */
    const hop__crowd *from, *target;
    hop__crowd *to;
    bool *read; /* [hidden]: does any coordinate use the unit? */
    bench *benches;
    int threads;
} writing;

static int sides(const hop__encoder *e)
{
    return e->a.task->hops + 1;
}

/* ---- attention ------------------------------------------------------------------------------ */

/* Rounding of the weighted sum of values: relative, and absolute where products fall below the normal
 * numbers. */
static double head_error(const writing *w, int64_t r)
{
    double mag = ival_mag(w->e->a.values[r]);
    return mag == 0 ? 0 : w->value_err * mag + (double)w->e->a.tokens * 0x1p-140;
}

/* y = x + W_o head, head being what comes back when `right` is the right token. NULL: anything may come back.
 */
static void attend(const writing *w, bench *b, const ival *right)
{
    hop__analysis *a = &w->e->a;
    for (int64_t r = 0; r < a->w.v.rows; r++) {
        ival v = a->values[r];
        if (right) {
            v = ival_widen(hop__sparse_box(&a->w.v, r, right),
                           hop__rounding(a, a->d, hop__sparse_mag(&a->w.v, r, right)));
            v = ival_add(v, ival_mul((ival){0, w->mass}, ival_add(a->values[r], ival_scale(v, -1))));
        }
        b->head[r] = ival_widen(v, head_error(w, r));
    }
    for (int64_t c = 0; c < a->d; c++) {
        double mag = hop__sparse_mag(&a->w.o, c, b->head);
        b->y[c] = b->x[c];
        if (mag == 0) continue;
        b->y[c] = ival_widen(ival_add(b->x[c], hop__sparse_box(&a->w.o, c, b->head)),
                             hop__rounding(a, a->w.o.cols, mag + ival_mag(b->x[c])));
    }
}

/* ---- MLP ------------------------------------------------------------------------------------ */

/* Ranges and sides of the hidden units; near: smallest distances from changing sides. */
static void hidden_units(hop__analysis *a, bench *b, double *near)
{
    for (int64_t u = 0; u < a->w.up.rows; u++) {
        double bias = a->w.up_bias[u];
        ival z = ival_add(hop__sparse_box(&a->w.up, u, b->y), ival_point(bias));
        double err = hop__rounding(a, a->d + 1, hop__sparse_mag(&a->w.up, u, b->y) + fabs(bias));
        z = ival_widen(z, err);
        b->hidden_err[u] = err;
        b->side[u] = z.lo > 0 ? 1 : z.hi <= 0 ? -1 : 0;
        near[u] = ival_least(near[u], b->side[u] > 0   ? z.lo
                                      : b->side[u] < 0 ? -z.hi
                                                       : -ival_least(z.hi, -z.lo));
        b->hidden[u] = (ival){z.lo > 0 ? z.lo : 0, z.hi > 0 ? z.hi : 0};
    }
}

/* Adds `by` to the coefficient of y_k. */
static void add_coef(bench *b, int k, ival by)
{
    if (b->coef[k].lo == 0 && b->coef[k].hi == 0) b->used[b->used_count++] = k;
    b->coef[k] = ival_add(b->coef[k], by);
}

/* Coordinate c after the MLP: y_c + sum_u down[c,u] relu(up_u·y + bias_u) + bias_c. coef is all zero before
 * and after. */
static ival after_mlp(hop__analysis *a, bench *b, int64_t c)
{
    const hop__sparse *down = &a->w.down, *up = &a->w.up;
    double bias = a->w.down_bias[c];
    if (down->start[c] == down->start[c + 1] && bias == 0) return b->y[c];
    ival sum = ival_point(bias);
    double err = 0, mag = fabs(bias) + ival_mag(b->y[c]);
    b->used_count = 0;
    add_coef(b, (int)c, ival_point(1));
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
            add_coef(b, up->col[k], ival_scale(ival_point(up->val[k]), v));
    }
    for (int64_t i = 0; i < b->used_count; i++) { /* one listed twice is zero the second time */
        int k = b->used[i];
        if (b->coef[k].lo != 0 || b->coef[k].hi != 0) sum = ival_add(sum, ival_mul(b->y[k], b->coef[k]));
        b->coef[k] = (ival){0, 0};
    }
    return ival_widen(sum, (err + hop__rounding(a, up->rows + 2, mag)) * (1 + 1e-9));
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void load_hull(const hop__encoder *e, const hop__crowd *c, ival *x)
{
    for (int64_t k = 0; k < e->a.d; k++) x[k] = c->hull[k];
}

/* Row `row` of the crowd afterwards: which of the tokens before are meant (into x), and which are their right
 * tokens. */
static const ival *before_row(const writing *w, bench *b, int64_t row, int side)
{
    const hop__encoder *e = w->e;
    if (side == 1 && w->what.adopts) {
        load_hull(e, w->from, b->x);
        hop__crowd_load(e, w->target, hop__row_of_value(w->target, row - w->to->places), b->right);
        return b->right;
    }
    int64_t digits =
        w->to->places + w->to->values; /* digits stand behind the values, which may have become more */
    hop__crowd_load(e, w->from, side >= 2 ? row - digits + w->from->places + w->from->values : row, b->x);
    if (w->what.asks == HOP__ASKS_NOBODY) return NULL;
    if (w->what.asks == HOP__ASKS_SELF) return b->x;
    if (side >= 2)
        hop__crowd_load(e, w->target, row - digits + w->target->places + w->target->values, b->right);
    else
        load_hull(e, w->target, b->right);
    return b->right;
}

static void write_chunk(void *ctx, int64_t task, int worker)
{
    writing *w = ctx;
    hop__analysis *a = &w->e->a;
    bench *b = &w->benches[worker];
    int64_t rows = hop__crowd_rows(w->e, w->to), end = (task + 1) * CHUNK < rows ? (task + 1) * CHUNK : rows;
    for (int64_t row = task * CHUNK; row < end; row++) {
        int side = hop__side_of_row(w->e, w->to, row);
        attend(w, b, before_row(w, b, row, side));
        if (a->w.up.rows) hidden_units(a, b, b->near + side * a->w.up.rows);
        for (int64_t c = 0; c < a->d; c++) {
            b->out[c] = a->w.up.rows ? after_mlp(a, b, c) : b->y[c];
            b->rad[side * a->d + c] = ival_most(b->rad[side * a->d + c], ival_rad(b->out[c]));
        }
        hop__crowd_store(w->e, w->to, row, b->out);
    }
}

/* ---- scratch -------------------------------------------------------------------------------- */

static bool bench_new(bench *b, const hop__encoder *e)
{
    size_t d = (size_t)e->a.d, v = (size_t)e->a.w.v.rows, h = (size_t)e->a.w.up.rows, n = (size_t)sides(e);
    size_t uses = h ? (size_t)e->a.w.up.start[h] + 1 : 1;
    b->memory = hop_alloc(sizeof(ival) * (5 * d + v + h) + sizeof(double) * (h + n * (h + d)) +
                          sizeof(int) * uses + h);
    if (!b->memory) return false;
    b->x = (ival *)(void *)b->memory;
    b->right = b->x + d;
    b->y = b->right + d;
    b->coef = b->y + d;
    b->out = b->coef + d;
    b->head = b->out + d;
    b->hidden = b->head + v;
    b->hidden_err = (double *)(b->hidden + h);
    b->near = b->hidden_err + h;
    b->rad = b->near + n * h;
    b->used = (int *)(b->rad + n * d);
    b->side = (signed char *)(b->used + uses);
    return true;
}

static hop_status benches_new(writing *w, hop_error *err)
{
    const hop__sparse *down = &w->e->a.w.down;
    bool ok = true;
    w->threads = hop_pool_threads(w->e->a.options->pool);
    w->benches = hop_alloc(sizeof(bench) * (size_t)w->threads);
    w->read = hop_alloc(sizeof(bool) * (size_t)(down->cols + 1));
    for (int i = 0; w->benches && i < w->threads; i++) ok = bench_new(&w->benches[i], w->e) && ok;
    if (!w->benches || !w->read || !ok) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t n = 0; down->rows && n < down->start[down->rows]; n++) w->read[down->col[n]] = true;
    return HOP_OK;
}

static void benches_free(writing *w)
{
    for (int i = 0; w->benches && i < w->threads; i++) hop_free(w->benches[i].memory);
    hop_free(w->benches);
    hop_free(w->read);
}

/* ---- margins -------------------------------------------------------------------------------- */

static void clear_margins(writing *w)
{
    int64_t h = w->e->a.w.up.rows, d = w->e->a.d;
    for (int i = 0; i < w->threads; i++) {
        for (int64_t k = 0; k < sides(w->e) * h; k++) w->benches[i].near[k] = INFINITY;
        for (int64_t k = 0; k < sides(w->e) * d; k++) w->benches[i].rad[k] = 0;
    }
}

static bool written(const hop__analysis *a, int64_t c)
{
    bool mlp = a->w.up.rows && (a->w.down.start[c] != a->w.down.start[c + 1] || a->w.down_bias[c] != 0);
    return mlp || a->w.o.start[c] != a->w.o.start[c + 1];
}

static void note_margins(const writing *w, hop_margin *margin)
{
    const hop__analysis *a = &w->e->a;
    int64_t h = a->w.up.rows, d = a->d;
    for (int64_t u = 0; u < h; u++) {
        double best = -INFINITY;
        for (int side = 0; side < sides(w->e); side++) {
            double least = INFINITY;
            for (int i = 0; i < w->threads; i++) least = ival_least(least, w->benches[i].near[side * h + u]);
            best = ival_most(best, least);
        }
        if (w->read[u]) margin->clip_margin = ival_least(margin->clip_margin, best);
    }
    for (int64_t c = 0; c < d; c++) {
        double best = INFINITY;
        for (int side = 0; side < sides(w->e); side++) {
            double most = 0;
            for (int i = 0; i < w->threads; i++) most = ival_most(most, w->benches[i].rad[side * d + c]);
            best = ival_least(best, most);
        }
        if (written(a, c)) margin->code_error = ival_most(margin->code_error, best);
    }
}

/* ---- all players ---------------------------------------------------------------------------- */

/* Every token's value vector at this layer, between them. */
static void bound_values(hop__analysis *a)
{
    for (int64_t r = 0; r < a->w.v.rows; r++) {
        double err = hop__rounding(a, a->d, hop__sparse_mag(&a->w.v, r, a->any));
        a->values[r] = ival_widen(hop__sparse_box(&a->w.v, r, a->any), err);
        hop__rounding(
            a, 1, ival_mag(a->values[r]) * (double)a->tokens); /* summed before it is divided: may overflow */
    }
}

static hop_status write_player(writing *w, int player, hop_margin *margin, hop_error *err)
{
    hop__encoder *e = w->e;
    w->mass = e->mass[player + 1];
    w->from = &e->crowd[player + 1];
    w->target = &e->crowd[w->what.asks == HOP__ASKS_NOBODY ? player + 1 : w->what.target + 1];
    hop_status s =
        hop__crowd_new(w->to, e, w->from->places, w->what.adopts ? w->target->values : w->from->values, err);
    if (s != HOP_OK) return s;
    clear_margins(w);
    hop_pool_run(e->a.options->pool, (hop__crowd_rows(e, w->to) + CHUNK - 1) / CHUNK, write_chunk, w);
    if (w->what.asks != HOP__ASKS_NOBODY) note_margins(w, margin);
    hop__crowd_settle(e, w->to);
    return HOP_OK;
}

hop_status hop__encoder_write(hop__encoder *e, int64_t layer, hop_margin *margin, hop_error *err)
{
    hop__crowd after[HOP_MAX_HOPS + 1] = {0};
    writing w = {.e = e, .value_err = 3 * HOP_ATTN_ERROR(e->a.tokens)};
    int hops = e->a.task->hops;
    bool last = layer == hop__encoder_rounds(hops) + 1; /* only w's token is computed */
    margin->clip_margin = INFINITY;
    margin->code_error = 0;
    bound_values(&e->a);
    hop_status s = benches_new(&w, err);
    for (int p = -1; s == HOP_OK && p <= (last ? -1 : hops); p++) {
        w.what = hop__encoder_errand(hops, layer, p);
        w.to = &after[p + 1];
        s = write_player(&w, p, margin, err);
    }
    for (int p = -1; p <= (last ? -1 : hops); p++) {
        hop__crowd_free(s == HOP_OK ? &e->crowd[p + 1] : &after[p + 1]);
        if (s == HOP_OK) e->crowd[p + 1] = after[p + 1];
    }
    benches_free(&w);
    return s;
}
