/* Layer e, between its attention and its MLP: the head returns (1-eps) v_t + eps·(something between the
 * smallest and largest value of any token), eps up to the wrong mass; it is projected and added to the
 * residual stream. */
#include "analysis.h"

typedef struct writing {
    hop__analysis *a;
    int e;
    double mass;      /* wrong mass, at most */
    double value_err; /* rounding of the head's output, relative to the largest value */
    ival *place;      /* [rows of w.v]: what the right token's position adds to its value */
} writing;

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
    for (int64_t r = 0; r < a->w.v.rows; r++) {
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
    return mag == 0 ? x : ival_widen(y, hop__rounding(a, a->w.o.cols, mag + ival_mag(x)));
}

/* What a right token's value vector has besides its own token row: its position, written coordinates,
 * rounding. */
static void fill_place(writing *w)
{
    hop__analysis *a = w->a;
    const hop__sparse *m = &a->w.v;
    int64_t first = a->task->start[w->e], count = w->e == 0 ? 1 : a->task->size[w->e - 1];
    for (int64_t r = 0; r < a->w.v.rows; r++) {
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

static void last_after(void *ctx, int64_t t, ival *y, ival *work)
{
    writing *w = ctx;
    head_output(w, t, work);
    for (int64_t c = 0; c < w->a->d; c++) y[c] = residual(w->a, c, w->a->last[c], work);
}

static void any_after(void *ctx, ival *y, ival *work)
{
    writing *w = ctx;
    hop__analysis *a = w->a;
    for (int64_t r = 0; r < a->w.v.rows; r++) work[r] = ival_widen(a->values[r], head_error(w, r));
    for (int64_t c = 0; c < a->d; c++) y[c] = residual(a, c, a->any[c], work);
}

static bool head_writes(void *ctx, int64_t c)
{
    const hop__sparse *o = &((writing *)ctx)->a->w.o;
    return o->start[c] != o->start[c + 1];
}

hop_status hop__bound_heads(hop__analysis *a, int e, hop_margin *margin, hop_error *err)
{
    writing w = {
        .a = a, .e = e, .mass = fmin(margin->wrong_mass, 1.0), .value_err = 3 * HOP_ATTN_ERROR(a->tokens)};
    w.place = hop_alloc(sizeof(ival) * (size_t)a->widest);
    if (!w.place) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t r = 0; r < a->w.v.rows; r++) {
        a->values[r] = hop__sparse_box(&a->w.v, r, a->any);
        a->values[r] = ival_widen(a->values[r], hop__rounding(a, a->d, hop__sparse_mag(&a->w.v, r, a->any)));
        hop__rounding(
            a, 1, ival_mag(a->values[r]) * (double)a->tokens); /* summed before it is divided: may overflow */
    }
    fill_place(&w);
    hop__after_mixer after = {.cases = e == 0 ? a->task->m : a->task->size[e - 1],
                              .last = last_after,
                              .any = any_after,
                              .writes = head_writes,
                              .ctx = &w};
    hop_status s = hop__bound_mlp(a, &after, margin, err);
    hop_free(w.place);
    return s;
}
