/* arith_run.c - programs evaluated in double, a line at a time over all its numbers: plain, and the truth.
 *
 * A line's numbers are computed row by row along its last axis, so that places are worked out once a row.
 * Lines that look along the tokens go back to what they made of the token before. */
#include <hopbound/arith.h>

#include <math.h>
#include <string.h>

enum { T = HOP_AXIS_T, J = HOP_AXIS_J, K = HOP_AXIS_K, V = HOP_AXIS_V };

static bool along(const hop_arith *p, int line, int axis)
{
    return p->axes[line] >> axis & 1;
}

static int64_t count_of(const hop_arith *p, const int64_t size[HOP_AXES], int line)
{
    int64_t n = 1;
    for (int x = 0; x < HOP_AXES; x++)
        if (along(p, line, x)) n *= size[x];
    return n;
}

int64_t hop_arith_count(const hop_arith_run *r, int line)
{
    return count_of(r->p, r->size, line);
}

/* J has as many places as T has tokens. */
size_t hop_arith_room(const hop_arith *p, const int64_t size[HOP_AXES])
{
    size_t all = 0;
    for (int i = 0; i < p->count; i++) all += (size_t)count_of(p, size, i);
    return all;
}

void hop_arith_place(hop_arith_run *r, double *room)
{
    for (int i = 0; i < r->p->count; i++) {
        int64_t by = 1;
        for (int x = HOP_AXES - 1; x >= 0; x--) {
            r->step[i][x] = along(r->p, i, x) ? by : 0;
            if (along(r->p, i, x)) by *= r->size[x];
        }
        r->value[i] = room, room += by;
    }
}

/* A row of a line: n numbers along `axis` from place `at` on, and its operands' numbers there. */
typedef struct row {
    const hop_arith_run *r;
    int line, axis;
    int64_t n, at[HOP_AXES];
    double *y;
    int operand[3];
    const double *x[3]; /* NULL: there is none */
    int64_t by[3];      /* from one number of the row to the next */
} row;

/* How far an operand's numbers are apart along another axis. */
static int64_t across(const row *w, int which, int axis)
{
    return w->operand[which] < 0 ? 0 : w->r->step[w->operand[which]][axis];
}

static double sum_along(const row *w, int which, int axis, int64_t i)
{
    const double *x = w->x[which] + i * w->by[which];
    const int64_t by = across(w, which, axis), n = w->r->size[axis];
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += x[k * by];
    return sum;
}

static double log_sigmoid(double x)
{
    return (x < 0 ? x : 0) - log1p(exp(-fabs(x)));
}

/* Number i of the row at token t, which comes from those of tokens before; by: from the row before. */
static double solved(const row *w, int64_t i, int64_t t, int64_t by)
{
    const int64_t next = across(w, 2, J);
    double x = sum_along(w, 1, K, i);
    for (int64_t j = 0; j < t; j++) x += w->x[2][i * w->by[2] + j * next] * w->y[i - (t - j) * by];
    return w->x[0][i * w->by[0]] + w->r->p->line[w->line]->value * x;
}

/* What looks along an axis; such rows run along K or V. False: it is none of these. */
static bool sequence_row(const row *w)
{
    const int64_t t = w->at[T], j = w->at[J], last = w->r->size[T] - 1, before = w->r->step[w->line][T];
    const double *a = w->x[0], *b = w->x[1], *c = w->x[2];
    const int64_t at = across(w, 0, T), sa = w->by[0], sb = w->by[1], sc = w->by[2];
    const hop_line *l = w->r->p->line[w->line];
    double *y = w->y;
#define ROW(value)                                     \
    for (int64_t i = 0; i < w->n; i++) y[i] = (value); \
    return true
    switch (l->prim) {
    case HOP_PRIM_SUM: ROW(sum_along(w, 0, l->axis, i) + (b ? b[i * sb] : 0));
    case HOP_PRIM_SUM2: ROW(sum_along(w, 0, K, i) + sum_along(w, 1, J, i) + (c ? c[i * sc] : 0));
    case HOP_PRIM_SOLVE: ROW(solved(w, i, t, before));
    case HOP_PRIM_RUNMAX: ROW((float)fmax(a[i * sa] + (t ? y[i - before] : c[i * sc]), b[i * sb]));
    case HOP_PRIM_PREV: ROW(t ? a[i * sa - at] : b[i * sb]);
    case HOP_PRIM_FAR: ROW(t ? y[i - before] * a[i * sa] : a[i * sa]);
    case HOP_PRIM_FARB: ROW(t ? y[i - before] * a[i * sa - at] : 1);
    case HOP_PRIM_DEC: ROW(j > t ? 0 : j < t ? y[i - before] * a[i * sa] : b ? b[i * sb] : 1);
    case HOP_PRIM_LOWER: ROW(j > t ? 0 : a[i * sa]);
    case HOP_PRIM_STRICT: ROW(j >= t ? 0 : a[i * sa]);
    case HOP_PRIM_END: ROW(a[i * sa + last * at]);
    case HOP_PRIM_ROWS: ROW(a[i * sa + j * at]);
    case HOP_PRIM_TOTAL: ROW(at ? sum_along(w, 0, T, i) : a[i * sa] * (double)(last + 1));
    case HOP_PRIM_ASIDE: ROW(a[i * sa + (w->r->size[V] - 1) * across(w, 0, V)]);
    default: return false;
    }
#undef ROW
}

/* What is made of single numbers by few instructions. False: it is none of these. */
static bool quick_row(const row *w)
{
    const double *a = w->x[0], *b = w->x[1], *c = w->x[2];
    const int64_t n = w->n, sa = w->by[0], sb = w->by[1], sc = w->by[2];
    double *restrict y = w->y;
    switch (w->r->p->line[w->line]->prim) {
    case HOP_PRIM_MUL:
    case HOP_PRIM_RATIO:
        if (sa == 0 && sb == 1)
            for (int64_t i = 0; i < n; i++) y[i] = *a * b[i];
        else
            for (int64_t i = 0; i < n; i++) y[i] = a[i * sa] * b[i * sb];
        return true;
    case HOP_PRIM_ADD:
        for (int64_t i = 0; i < n; i++) y[i] = a[i * sa] + b[i * sb];
        return true;
    case HOP_PRIM_SUB:
    case HOP_PRIM_UNDER:
        for (int64_t i = 0; i < n; i++) y[i] = a[i * sa] - b[i * sb];
        return true;
    case HOP_PRIM_FADE:
        if (sa == 0 && sb == 1 && sc == 1)
            for (int64_t i = 0; i < n; i++) y[i] = *a * b[i] + c[i];
        else
            for (int64_t i = 0; i < n; i++) y[i] = a[i * sa] * b[i * sb] + c[i * sc];
        return true;
    case HOP_PRIM_COPY:
    case HOP_PRIM_EITHER:
    case HOP_PRIM_CROSS:
    case HOP_PRIM_SINGLE:
    case HOP_PRIM_MILD:
        for (int64_t i = 0; i < n; i++) y[i] = a[i * sa];
        return true;
    case HOP_PRIM_EXP:
        for (int64_t i = 0; i < n; i++) y[i] = exp(a[i * sa]);
        return true;
    default: return false;
    }
}

/* What is made of single numbers. */
static double element(const hop_line *l, double a, double b)
{
    switch (l->prim) {
    case HOP_PRIM_NUMBER: return l->value;
    case HOP_PRIM_PART: return a == 0 ? 0 : b;
    case HOP_PRIM_NEG: return -a;
    case HOP_PRIM_DIV: return a / b;
    case HOP_PRIM_MAX: return fmax(a, b);
    case HOP_PRIM_LEAST: return fmin(a, b);
    case HOP_PRIM_HELD: return fmax(-b, fmin(a, b));
    case HOP_PRIM_ABS: return fabs(a);
    case HOP_PRIM_SQUARE: return a * a;
    case HOP_PRIM_RECIP: return 1 / a;
    case HOP_PRIM_LOGSIG: return log_sigmoid(a);
    case HOP_PRIM_PLAIN: return a * exp(b);
    case HOP_PRIM_SIGMOID: return 1 / (1 + exp(-a));
    case HOP_PRIM_SILU: return a / (1 + exp(-a));
    case HOP_PRIM_TANH: return tanh(a);
    case HOP_PRIM_SOFTPLUS: return -log_sigmoid(-a);
    case HOP_PRIM_ELU1: return a > 0 ? a + 1 : exp(a);
    case HOP_PRIM_RELU: return a > 0 ? a : 0;
    case HOP_PRIM_GELU: return 0.5 * a * erfc(-a * 0.70710678118654752440);
    case HOP_PRIM_EXPF: return exp(a);
    case HOP_PRIM_EXPM1: return expm1(a);
    case HOP_PRIM_SQRT: return sqrt(a);
    case HOP_PRIM_RSQRT: return 1 / sqrt(a);
    default: return NAN;
    }
}

static void evaluate_row(const row *w)
{
    const hop_line *l = w->r->p->line[w->line];
    if (quick_row(w) || sequence_row(w)) return;
    for (int64_t i = 0; i < w->n; i++)
        w->y[i] = element(l, w->x[0] ? w->x[0][i * w->by[0]] : 0, w->x[1] ? w->x[1][i * w->by[1]] : 0);
}

/* The axis of a line's rows: its last, if that is K or V. -1: rows of one number. */
static int row_axis(const hop_arith *p, int line)
{
    return along(p, line, V) ? V : along(p, line, K) ? K : -1;
}

/* All numbers of a line, along T first. */
static void evaluate_line(hop_arith_run *r, int line)
{
    const hop_arith *p = r->p;
    row w = {
        .r = r, .line = line, .axis = row_axis(p, line), .operand = {p->a[line], p->b[line], p->c[line]}};
    int64_t n[HOP_AXES];
    w.n = w.axis < 0 ? 1 : r->size[w.axis], w.y = r->value[line];
    for (int x = 0; x < HOP_AXES; x++) n[x] = along(p, line, x) && x != w.axis ? r->size[x] : 1;
    for (int i = 0; i < 3; i++) w.by[i] = w.axis < 0 ? 0 : across(&w, i, w.axis);
    for (w.at[T] = 0; w.at[T] < n[T]; w.at[T]++)
        for (w.at[J] = 0; w.at[J] < n[J]; w.at[J]++)
            for (w.at[K] = 0; w.at[K] < n[K]; w.at[K]++, w.y += w.n) {
                for (int i = 0; i < 3; i++) {
                    const int64_t *by = w.operand[i] < 0 ? NULL : r->step[w.operand[i]];
                    w.x[i] =
                        !by ? NULL
                            : r->value[w.operand[i]] + w.at[T] * by[T] + w.at[J] * by[J] + w.at[K] * by[K];
                }
                evaluate_row(&w);
            }
}

void hop_arith_evaluate(hop_arith_run *r)
{
    for (int i = 0; i < r->p->count; i++)
        if (r->p->line[i]->prim != HOP_PRIM_INPUT) evaluate_line(r, i);
}
