/* The sides from which a player's tokens are seen; see encoder_proof.h. */
#include "encoder_proof.h"

#include <stdlib.h>

/* ---- rows ----------------------------------------------------------------------------------- */

int64_t hop__row_of_value(const hop__crowd *c, int64_t u)
{
    return c->places + u;
}

int64_t hop__row_of_digit(const hop__encoder *e, const hop__crowd *c, int g, int64_t d)
{
    return c->places + c->values + e->digit_first[g] + d;
}

int64_t hop__crowd_rows(const hop__encoder *e, const hop__crowd *c)
{
    return c->places + c->values + e->digit_rows;
}

int hop__side_of_row(const hop__encoder *e, const hop__crowd *c, int64_t row)
{
    if (row < c->places) return 0;
    row -= c->places;
    if (row < c->values) return 1;
    int g = 1;
    while (row - c->values >= e->digit_first[g + 1]) g++;
    return 1 + g;
}

hop_status hop__crowd_new(hop__crowd *c, const hop__encoder *e, int64_t places, int64_t values,
                          hop_error *err)
{
    *c = (hop__crowd){.places = places, .values = values};
    size_t rows = (size_t)hop__crowd_rows(e, c), d = (size_t)e->a.d;
    c->box = hop_alloc(sizeof(hop__side) * rows * d);
    c->hull = hop_alloc(sizeof(ival) * 2 * d);
    if (c->box && c->hull) return HOP_OK;
    hop__crowd_free(c);
    return hop_fail(err, HOP_ENOMEM, "cannot hold what %lld kinds of tokens know", (long long)rows);
}

void hop__crowd_free(hop__crowd *c)
{
    hop_free(c->box);
    hop_free(c->hull);
    *c = (hop__crowd){0};
}

void hop__crowd_load(const hop__encoder *e, const hop__crowd *c, int64_t row, ival *x)
{
    const hop__side *box = c->box + row * e->a.d;
    for (int64_t k = 0; k < e->a.d; k++) x[k] = (ival){box[k].lo, box[k].hi};
}

static ival meet(ival x, ival y)
{
    return (ival){ival_most(x.lo, y.lo), ival_least(x.hi, y.hi)};
}

void hop__crowd_meet(const hop__encoder *e, const hop__crowd *c, int64_t row, ival *x)
{
    const hop__side *box = c->box + row * e->a.d;
    for (int64_t k = 0; k < e->a.d; k++) x[k] = meet(x[k], (ival){box[k].lo, box[k].hi});
}

static float float_down(double x)
{
    float f = (float)x;
    return f > x ? nextafterf(f, -INFINITY) : f;
}

static float float_up(double x)
{
    float f = (float)x;
    return f < x ? nextafterf(f, INFINITY) : f;
}

void hop__crowd_store(const hop__encoder *e, hop__crowd *c, int64_t row, const ival *x)
{
    hop__side *box = c->box + row * e->a.d;
    for (int64_t k = 0; k < e->a.d; k++) box[k] = (hop__side){float_down(x[k].lo), float_up(x[k].hi)};
}

/* The rows of one side: from *first to the result. */
static int64_t side_rows(const hop__encoder *e, const hop__crowd *c, int side, int64_t *first)
{
    *first = side == 0 ? 0 : side == 1 ? c->places : hop__row_of_digit(e, c, side - 1, 0);
    return side == 0   ? c->places
           : side == 1 ? c->places + c->values
                       : c->places + c->values + e->digit_first[side];
}

/* Every side covers all tokens of the player, so their hulls may be intersected, and the rows with the
 * result. */
void hop__crowd_settle(const hop__encoder *e, hop__crowd *c)
{
    int64_t d = e->a.d, rows = hop__crowd_rows(e, c), first;
    ival *h = c->hull + d;
    for (int64_t k = 0; k < d; k++) c->hull[k] = (ival){-INFINITY, INFINITY};
    for (int side = 0; side <= e->a.task->hops; side++) {
        int64_t end = side_rows(e, c, side, &first);
        hop__crowd_load(e, c, first, h);
        for (int64_t r = first + 1; r < end; r++)
            for (int64_t k = 0; k < d; k++)
                h[k] = ival_hull(h[k], (ival){c->box[r * d + k].lo, c->box[r * d + k].hi});
        for (int64_t k = 0; k < d; k++) c->hull[k] = meet(c->hull[k], h[k]);
    }
    for (int64_t r = 0; r < rows; r++) {
        hop__crowd_load(e, c, r, h);
        for (int64_t k = 0; k < d; k++) h[k] = meet(h[k], c->hull[k]);
        hop__crowd_store(e, c, r, h);
    }
}

void hop__encoder_any(hop__encoder *e)
{
    for (int64_t k = 0; k < e->a.d; k++) {
        e->a.any[k] = e->crowd[0].hull[k];
        for (int p = 0; p <= e->a.task->hops; p++)
            e->a.any[k] = ival_hull(e->a.any[k], e->crowd[p + 1].hull[k]);
    }
}

/* ---- the start ------------------------------------------------------------------------------ */

/* Hull of rows first .. first+count-1 of a table; all zero when there is no table. */
static void rows_hull(const hop__encoder *e, const float *table, int64_t first, int64_t count, ival *out)
{
    int64_t d = e->a.d;
    for (int64_t k = 0; k < d; k++) {
        out[k] = ival_point(table ? table[first * d + k] : 0);
        for (int64_t r = first + 1; table && r < first + count; r++)
            out[k] = ival_hull(out[k], ival_point(table[r * d + k]));
    }
}

static void put_sum(const hop__encoder *e, hop__crowd *c, int64_t row, const ival *position,
                    const ival *token, ival *x)
{
    for (int64_t k = 0; k < e->a.d; k++) {
        x[k] = ival_add(position[k], token[k]);
        bool exact = ival_mag(position[k]) == 0 || ival_mag(token[k]) == 0;
        if (!exact)
            x[k] = ival_widen(x[k], HOP_UNIT_ROUNDOFF * ival_mag(x[k]) + 0x1p-149); /* the sum, rounded */
    }
    hop__crowd_store(e, c, row, x);
}

/* The rows for w_g = 0 .. n_g - 1. Only of w itself does the digit say something. */
static void fill_digits(hop__encoder *e, int player, int g, const ival *position, const ival *token, ival *x)
{
    const hop_funccomp *t = e->a.task;
    hop__crowd *c = &e->crowd[player + 1];
    ival *one = x + 3 * e->a.d;
    hop__side *box = c->box + hop__row_of_digit(e, c, g, 0) * e->a.d;
    for (int64_t i = 0; i < t->fan[g] * e->a.d; i++) box[i] = (hop__side){INFINITY, -INFINITY};
    for (int64_t w = 0; player < 0 && w < c->values; w++)
        for (int64_t k = 0; k < e->a.d; k++) {
            float v = e->a.token_table[w * e->a.d + k];
            hop__side *b = &box[hop_funccomp_digit(t, w, g) * e->a.d + k];
            *b = (hop__side){v < b->lo ? v : b->lo, v > b->hi ? v : b->hi};
        }
    for (int64_t d = 0; d < t->fan[g]; d++) {
        int64_t row = hop__row_of_digit(e, c, g, d);
        hop__crowd_load(e, c, row, one);
        put_sum(e, c, row, position, player < 0 ? one : token, x);
    }
}

/* work: 4 boxes. */
static hop_status fill_crowd(hop__encoder *e, int player, ival *work, hop_error *err)
{
    const hop_funccomp *t = e->a.task;
    hop__crowd *c = &e->crowd[player + 1];
    int64_t first = player < 0 ? t->length - 1 : t->start[player],
            places = player < 1 ? 1 : t->size[player - 1];
    int64_t values = hop_funccomp_values(t, first);
    hop_status s = hop__crowd_new(c, e, places, values, err);
    if (s != HOP_OK) return s;
    ival *x = work, *position = x + e->a.d, *token = position + e->a.d, *one = token + e->a.d;
    rows_hull(e, e->a.position_table, first, places, position);
    rows_hull(e, e->a.token_table, 0, values, token);
    for (int64_t j = 0; j < places; j++) {
        rows_hull(e, e->a.position_table, first + j, 1, one);
        put_sum(e, c, j, one, token, x);
    }
    for (int64_t u = 0; u < values; u++) {
        rows_hull(e, e->a.token_table, u, 1, one);
        put_sum(e, c, hop__row_of_value(c, u), position, one, x);
    }
    for (int g = 1; g < t->hops; g++) fill_digits(e, player, g, position, token, work);
    hop__crowd_settle(e, c);
    return HOP_OK;
}

/* Rows that all crowds have together in the end, when every value is one of N_{L-1}. */
static bool too_many_rows(const hop__encoder *e)
{
    const hop_funccomp *t = e->a.task;
    double rows = (double)t->length + (t->hops + 2.0) * ((double)t->vocab + (double)e->digit_rows);
    return rows * (double)e->a.d * sizeof(hop__side) * 2 > (double)HOP__ENCODER_BYTES;
}

hop_status hop__encoder_start(hop__encoder *e, hop_error *err)
{
    const hop_funccomp *t = e->a.task;
    hop_status s = hop__analysis_open(&e->a, 0, err);
    if (s != HOP_OK) return s;
    for (int g = 1; g < t->hops; g++) {
        e->digit_first[g] = e->digit_rows;
        e->digit_rows += t->fan[g];
    }
    e->digit_first[t->hops] = e->digit_rows;
    if (too_many_rows(e))
        return hop_fail(err, HOP_EDOMAIN,
                        "the interval analysis of encoders does not cover sizes as large as these");
    ival *work = hop_alloc(sizeof(ival) * 4 * (size_t)e->a.d);
    if (!work) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int p = -1; s == HOP_OK && p <= t->hops; p++) s = fill_crowd(e, p, work, err);
    hop_free(work);
    return s;
}

void hop__encoder_finish(hop__encoder *e)
{
    for (int p = -1; p <= e->a.task->hops; p++) hop__crowd_free(&e->crowd[p + 1]);
    hop__analysis_close(&e->a);
}
