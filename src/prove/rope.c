/* Rotations by position. A token's angle follows from where it stands, so what its position decides is rotated
 * row by row, and a class of one token is rotated as a whole. Of what something else decides, in a class of
 * many positions, only the length is known. */
#include "analysis.h"

#include <string.h>

/* The pairs of one class. */
typedef struct turn {
    hop__memory *m;
    const hop_op *op;
    const float *table; /* frequencies of its own; NULL: from theta */
    double scale;       /* of cosines and sines */
    const hop__class *class;
    const hop__set *x;
    hop__set *y;
    double last;      /* position of the class's last token */
    hop__charge made; /* what products and sums of a pair lose, relative to its length */
} turn;

/* Read off the programs of both numbers of a pair: numbers up to `most`, cosines and sines. Their majorants are no more
 * than the pair's length; in double they are finite. */
static hop__charge pair_charge(const hop_op *op, double most)
{
    hop__charge c = {.rel = 0};
    for (int part = 0; part < 2; part++) {
        hop_arith p;
        hop_arith_open(&p, hop_op_program(op, part));
        hop__reading r = {.p = &p, .tokens = 1, .terms = 1, .size = {1, 1, 1, 1}};
        for (int i = 0; i < p.count; i++) {
            const bool number = i == hop_arith_find(&p, "a") || i == hop_arith_find(&p, "b");
            const double size = number ? most : 1;
            if (p.line[i]->prim == HOP_PRIM_INPUT) r.v[i] = hop__num_given((ival){-size, size}, HOP__NO_GRID);
        }
        hop__reading_run(&r);
        c.rel = ival_most(c.rel, r.v[p.reads].rel), c.abs = ival_most(c.abs, r.v[p.reads].abs);
    }
    return c;
}

/* Of pair e at a position. By a table angles are float32, as the kernel and Hugging Face have them. */
static double angle_of(const turn *t, int64_t e, double position)
{
    if (t->table) return (float)position * t->table[e];
    return position * pow(t->op->theta, -2.0 * (double)e / (double)t->op->rotary);
}

/* The largest angle by which any pair turns in so many tokens. */
static double most_turned(const turn *t, double tokens)
{
    double most = 0;
    for (int64_t e = 0; e < t->op->rotary / 2; e++) most = ival_most(most, fabs(angle_of(t, e, tokens)));
    return most;
}

/* Columns of the second numbers of pairs; -1: not the first number of one. */
static int64_t partner(const hop_op *op, int64_t c)
{
    int64_t half = op->rotary / 2;
    return c % op->dim < half ? c + half : -1;
}

static bool is_turned(const hop_op *op, int64_t c)
{
    return c % op->dim < op->rotary / 2 * 2;
}

/* What the kernel's angle and products and those made here may differ by, for a pair of this length: products
 * and sums as their programs have it; angles are doubles, and so are sines. By a table, other libraries count, too: their
 * frequencies may be some units away (power, reciprocal, product: 2^-21 of the angle has room for eight; `spread` says
 * more where they are mixed of two), and their cosines and sines, and these times scale, are float32 (2^-21 of the
 * length, for eight units more). */
static double lost(const turn *t, double length, double angle)
{
    double own = t->made.rel + (fabs(angle) + 4) * 0x1p-48, others = fabs(angle) * t->op->spread + 0x1p-21;
    return length == 0 ? 0 : length * (t->table ? own + t->scale * others : own) + t->made.abs;
}

static void rotate(const turn *t, double *a, double *b, double angle)
{
    double co = t->scale * cos(angle), si = t->scale * sin(angle), x = *a, y = *b;
    *a = x * co - y * si, *b = x * si + y * co;
}

/* Only lengths are known: [-r, r] for both. */
static void box_pair(turn *t, int64_t i, int64_t j, double length)
{
    double r = length == 0 ? 0 : ival_up(t->scale * length * (1 + 0x1p-20) + 0x1p-149);
    t->y->mid[i] = t->y->mid[j] = 0;
    t->y->rad[i] = t->y->rad[j] = r;
}

static double length_of(double a, double b)
{
    return sqrt(a * a + b * b) * HOP__ABOVE;
}

static double most_of(const hop__term *u, int64_t c)
{
    double most = 0;
    for (int64_t r = 0; r < u->rows; r++) most = ival_most(most, fabs(hop__term_at(u, r, c)));
    return most;
}

static bool by_position(const hop__term *u)
{
    return u->vars == 1 && u->var[0] == HOP__POS && !u->mixture;
}

/* ---- one token ----------------------------------------------------------------------------------- */

static void turn_one(turn *t)
{
    hop__set *y = t->y;
    for (int k = 0; k < t->x->terms; k++) {
        hop__term *v = hop__set_term_over(t->m, y, &t->x->term[k], 0, y->width);
        for (int64_t r = 0; v && r < v->rows; r++)
            for (int64_t c = 0; c < y->width; c++)
                *hop__term_cell(v, r, c) = hop__term_at(&t->x->term[k], r, c);
    }
    for (int64_t i = 0; t->m->status == HOP_OK && i < y->width; i++) {
        int64_t j = partner(t->op, i);
        if (j < 0 || (t->x->mag[i] == 0 && t->x->mag[j] == 0)) continue;
        double angle = angle_of(t, i % t->op->dim, t->last), co = t->scale * fabs(cos(angle)),
               si = t->scale * fabs(sin(angle));
        double ri = t->x->rad[i], rj = t->x->rad[j],
               own = lost(t, length_of(t->x->mag[i], t->x->mag[j]), angle);
        rotate(t, &y->mid[i], &y->mid[j], angle);
        for (int k = 0; k < y->terms; k++)
            for (int64_t r = 0; r < y->term[k].rows; r++)
                rotate(t, hop__term_cell(&y->term[k], r, i), hop__term_cell(&y->term[k], r, j), angle);
        y->rad[i] = ival_up((co * ri + si * rj) * HOP__ABOVE + own);
        y->rad[j] = ival_up((si * ri + co * rj) * HOP__ABOVE + own);
    }
}

/* ---- many ---------------------------------------------------------------------------------------- */

/* x with the middle of what other tables than the positions' have as a part of mid: that is turned row by row, and
 * only what they differ from it by is not. */
static const hop__set *centred(turn *t)
{
    hop__set *y = hop__set_copy(t->m, t->x);
    for (int k = 0; y && k < y->terms; k++) {
        hop__term *u = &y->term[k];
        for (int64_t c = u->first; !by_position(u) && c < u->first + u->count; c++) {
            ival x = hop__set_term_range(y, k, c);
            double middle = ival_mid(x);
            if (!is_turned(t->op, c) || middle == 0) continue;
            for (int64_t r = 0; r < u->rows; r++) *hop__term_cell(u, r, c) -= middle;
            y->mid[c] += middle;
            y->rad[c] = ival_up(y->rad[c] + 0x1p-50 * y->mag[c]);
        }
    }
    if (y) hop__set_unbound(y);
    hop__set_canonical(t->m, y);
    return t->m->status == HOP_OK ? y : NULL;
}

/* Tables of other variables go through where nothing turns; where something does, into the box. */
static void turn_others(turn *t)
{
    for (int k = 0; t->m->status == HOP_OK && k < t->x->terms; k++) {
        const hop__term *u = &t->x->term[k];
        if (by_position(u)) continue;
        hop__term *v = hop__set_term_like(t->m, t->y, u);
        for (int64_t r = 0; v && r < u->rows; r++)
            for (int64_t c = u->first; c < u->first + u->count; c++)
                if (!is_turned(t->op, c)) *hop__term_cell(v, r, c) = hop__term_at(u, r, c);
        for (int64_t i = 0; v && i < t->y->width; i++) {
            int64_t j = partner(t->op, i);
            double more = j < 0 ? 0 : t->scale * length_of(most_of(u, i), most_of(u, j));
            if (more != 0) t->y->rad[i] += more, t->y->rad[j] += more;
        }
    }
}

/* What positions decide, before it is rotated: a row for each; NULL when they decide nothing. */
static hop__term *rows_of_positions(turn *t)
{
    int64_t width = t->y->width, count = t->class->count;
    int tables = 0;
    bool any = false;
    for (int64_t c = 0; c < width; c++) any = any || (is_turned(t->op, c) && t->x->mid[c] != 0);
    for (int k = 0; k < t->x->terms; k++) tables += by_position(&t->x->term[k]);
    hop__term *v = any || tables ? hop__set_add_term(t->m, t->y, HOP__POS, count, NULL, 0) : NULL;
    for (int k = 0; v && k < t->x->terms; k++) {
        const hop__term *u = &t->x->term[k];
        for (int64_t p = 0; by_position(u) && p < count; p++)
            for (int64_t c = u->first; c < u->first + u->count; c++)
                *hop__term_cell(v, p, c) += hop__term_at(u, u->of[0][p], c);
    }
    for (int64_t c = 0; v && tables > 1 && c < width; c++) t->y->rad[c] += 0x1p-48 * t->x->mag[c];
    return v;
}

static void turn_many(turn *t)
{
    hop__set *y = t->y;
    for (int64_t c = 0; c < y->width; c++)
        if (is_turned(t->op, c)) y->mid[c] = y->rad[c] = 0;
    turn_others(t);
    hop__term *v = rows_of_positions(t);
    for (int64_t i = 0; t->m->status == HOP_OK && i < y->width; i++) {
        int64_t j = partner(t->op, i);
        if (j < 0 || (t->x->mag[i] == 0 && t->x->mag[j] == 0)) continue;
        double length = length_of(t->x->mag[i], t->x->mag[j]);
        double box = t->scale * length_of(t->x->rad[i], t->x->rad[j]) +
                     lost(t, length, angle_of(t, i % t->op->dim, t->last));
        for (int64_t p = 0; v && p < t->class->count; p++) {
            double *row = hop__term_row(v, p); /* of all columns */
            row[i] += t->x->mid[i], row[j] += t->x->mid[j];
            rotate(t, &row[i], &row[j], angle_of(t, i % t->op->dim, (double)(t->class->start + p)));
        }
        y->rad[i] = ival_up((y->rad[i] + box) * HOP__ABOVE);
        y->rad[j] = ival_up((y->rad[j] + box) * HOP__ABOVE);
    }
}

/* ---- all that is known is lengths ---------------------------------------------------------------- */

static void turn_blindly(turn *t)
{
    for (int64_t i = 0; i < t->y->width; i++) {
        int64_t j = partner(t->op, i);
        if (j >= 0) box_pair(t, i, j, length_of(t->x->mag[i], t->x->mag[j]));
    }
    for (int k = 0; t->m->status == HOP_OK && k < t->x->terms; k++) {
        const hop__term *u = &t->x->term[k];
        hop__term *v = hop__set_term_like(t->m, t->y, u);
        for (int64_t r = 0; v && r < v->rows; r++)
            for (int64_t c = u->first; c < u->first + u->count; c++)
                if (!is_turned(t->op, c)) *hop__term_cell(v, r, c) = hop__term_at(u, r, c);
    }
}

/* All of what is turned but its tables: who turns it reads the same set. */
static hop__set *unturned(hop__memory *m, const hop__set *x)
{
    hop__set *y = hop__set_new(m, x->width);
    if (!y) return NULL;
    memcpy(y->mid, x->mid, sizeof(double) * (size_t)x->width);
    memcpy(y->rad, x->rad, sizeof(double) * (size_t)x->width);
    return y;
}

hop__set *hop__set_rope(hop__analysis *w, const hop_op *op, const float *table, int a, const hop__set *x)
{
    turn t = {.m = w->m, .op = op, .table = table, .class = &w->facts.class[a], .x = x};
    t.scale = table ? (float)op->scale : 1;
    double most = most_turned(&t, (double)w->facts.length);
    if (!isfinite(most)) w->m->overflow = true; /* an infinite angle has no sine */
    t.made = pair_charge(op, t.scale * hop__set_largest(x));
    bool known = w->facts.task && most < (table ? 0x1p20 : 0x1p40) &&
                 (double)t.class->count * (double)x->width <= (double)HOP__MOST_CELLS &&
                 t.class->count <= HOP__MOST_ROWS;
    t.last = (double)(t.class->start + t.class->count - 1);
    if (known && t.class->count > 1) t.x = centred(&t);
    t.y = t.x ? unturned(w->m, t.x) : NULL;
    if (!t.y) return NULL;
    if (!known)
        turn_blindly(&t);
    else if (t.class->count == 1)
        turn_one(&t);
    else
        turn_many(&t);
    hop__set_canonical(w->m, t.y);
    return w->m->status == HOP_OK ? t.y : NULL;
}
