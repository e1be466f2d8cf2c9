/* arith_run.c - programs evaluated in double, a line at a time over all its numbers: plain, and the truth. */
#include <hopbound/arith.h>

#include <math.h>
#include <string.h>

static bool along(const hop_arith_run *r, int line, int axis)
{
    return r->p->axes[line] >> axis & 1;
}

int64_t hop_arith_count(const hop_arith_run *r, int line)
{
    int64_t n = 1;
    for (int x = 0; x < HOP_AXES; x++)
        if (along(r, line, x)) n *= r->size[x];
    return n;
}

/* J has as many places as T has tokens. */
size_t hop_arith_room(const hop_arith *p, const int64_t size[HOP_AXES])
{
    hop_arith_run r = {.p = p};
    size_t all = 0;
    memcpy(r.size, size, sizeof r.size);
    for (int i = 0; i < p->count; i++) all += (size_t)hop_arith_count(&r, i);
    return all;
}

void hop_arith_place(hop_arith_run *r, double *room)
{
    for (int i = 0; i < r->p->count; i++) r->value[i] = room, room += hop_arith_count(r, i);
}

/* How far apart two neighbours along each axis lie; 0: the line does not vary along it. */
typedef struct steps {
    int64_t by[HOP_AXES];
} steps;

static steps steps_of(const hop_arith_run *r, int line)
{
    steps s = {{0}};
    int64_t by = 1;
    for (int x = HOP_AXES - 1; x >= 0; x--)
        if (line >= 0 && along(r, line, x)) s.by[x] = by, by *= r->size[x];
    return s;
}

/* One number of a line, and its place. */
typedef struct cell {
    const hop_arith_run *r;
    int line;
    int64_t at[HOP_AXES];
} cell;

static int64_t index_of(const steps *s, const int64_t at[HOP_AXES])
{
    int64_t i = 0;
    for (int x = 0; x < HOP_AXES; x++) i += s->by[x] * at[x];
    return i;
}

static double number(const cell *c, int line, const int64_t at[HOP_AXES])
{
    steps s = steps_of(c->r, line);
    return c->r->value[line][index_of(&s, at)];
}

/* The sum of a line along an axis, all other places being c's. */
static double sum_along(const cell *c, int line, int axis)
{
    double sum = 0;
    int64_t at[HOP_AXES];
    steps s = steps_of(c->r, line);
    memcpy(at, c->at, sizeof at);
    at[axis] = 0;
    const double *x = c->r->value[line] + index_of(&s, at);
    for (int64_t i = 0; i < c->r->size[axis]; i++) sum += x[i * s.by[axis]];
    return sum;
}

/* The product of a line over tokens from .. to. */
static double product(const cell *c, int line, int64_t from, int64_t to)
{
    double all = 1;
    int64_t at[HOP_AXES];
    memcpy(at, c->at, sizeof at);
    for (at[HOP_AXIS_T] = from; at[HOP_AXIS_T] <= to; at[HOP_AXIS_T]++) all *= number(c, line, at);
    return all;
}

/* a at token t. */
static double at_token(const cell *c, int line, int64_t t)
{
    int64_t at[HOP_AXES];
    memcpy(at, c->at, sizeof at);
    at[HOP_AXIS_T] = t;
    return number(c, line, at);
}

static double solved(const cell *c)
{
    const hop_arith *p = c->r->p;
    int64_t t = c->at[HOP_AXIS_T], at[HOP_AXES];
    double x = sum_along(c, p->b[c->line], HOP_AXIS_K);
    memcpy(at, c->at, sizeof at);
    for (int64_t j = 0; j < t; j++) {
        at[HOP_AXIS_J] = j;
        x += number(c, p->c[c->line], at) * at_token(c, c->line, j);
    }
    return number(c, p->a[c->line], c->at) + p->line[c->line]->value * x;
}

static double log_sigmoid(double x)
{
    return (x < 0 ? x : 0) - log1p(exp(-fabs(x)));
}

static double running_max(const cell *c)
{
    const hop_arith *p = c->r->p;
    int64_t t = c->at[HOP_AXIS_T];
    double before = t ? at_token(c, c->line, t - 1) : number(c, p->c[c->line], c->at);
    return (float)fmax(number(c, p->a[c->line], c->at) + before, number(c, p->b[c->line], c->at));
}

/* What looks along an axis. */
static double sequence_number(const cell *c)
{
    const hop_arith *p = c->r->p;
    int i = c->line, a = p->a[i], b = p->b[i];
    int64_t t = c->at[HOP_AXIS_T], j = c->at[HOP_AXIS_J], last = c->r->size[HOP_AXIS_T] - 1, at[HOP_AXES];
    memcpy(at, c->at, sizeof at);
    switch (p->line[i]->prim) {
    case HOP_PRIM_SUM: return sum_along(c, a, p->line[i]->axis);
    case HOP_PRIM_SUM2: return sum_along(c, a, HOP_AXIS_K) + sum_along(c, b, HOP_AXIS_J);
    case HOP_PRIM_SOLVE: return solved(c);
    case HOP_PRIM_RUNMAX: return running_max(c);
    case HOP_PRIM_PREV: return t ? at_token(c, a, t - 1) : number(c, b, at);
    case HOP_PRIM_FAR: return product(c, a, 0, t);
    case HOP_PRIM_FARB: return product(c, a, 0, t - 1);
    case HOP_PRIM_DEC: return j > t ? 0 : product(c, a, j + 1, t) * (b < 0 ? 1 : at_token(c, b, j));
    case HOP_PRIM_LOWER: return j > t ? 0 : number(c, a, at);
    case HOP_PRIM_STRICT: return j >= t ? 0 : number(c, a, at);
    case HOP_PRIM_END: return at_token(c, a, last);
    case HOP_PRIM_ROWS: return at_token(c, a, j);
    case HOP_PRIM_TOTAL:
        return p->axes[a] >> HOP_AXIS_T & 1 ? sum_along(c, a, HOP_AXIS_T) : number(c, a, at) * (double)(last + 1);
    case HOP_PRIM_ASIDE: at[HOP_AXIS_V] = c->r->size[HOP_AXIS_V] - 1; return number(c, a, at);
    default: return NAN;
    }
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* What is made of single numbers; false: it is not. */
static bool element(const hop_line *l, double a, double b, double c, double *y)
{
    switch (l->prim) {
    case HOP_PRIM_NUMBER: *y = l->value; break;
    case HOP_PRIM_COPY:
    case HOP_PRIM_MILD: *y = a; break;
    case HOP_PRIM_PART: *y = a == 0 ? 0 : 1; break;
    case HOP_PRIM_MUL:
    case HOP_PRIM_RATIO: *y = a * b; break;
    case HOP_PRIM_ADD: *y = a + b; break;
    case HOP_PRIM_SUB:
    case HOP_PRIM_UNDER: *y = a - b; break;
    case HOP_PRIM_NEG: *y = -a; break;
    case HOP_PRIM_DIV: *y = a / b; break;
    case HOP_PRIM_MAX: *y = fmax(a, b); break;
    case HOP_PRIM_LEAST: *y = fmin(a, b); break;
    case HOP_PRIM_ABS: *y = fabs(a); break;
    case HOP_PRIM_SQUARE: *y = a * a; break;
    case HOP_PRIM_FADE: *y = a * b + c; break;
    case HOP_PRIM_EXP: *y = exp(a); break;
    case HOP_PRIM_RECIP: *y = 1 / a; break;
    case HOP_PRIM_LOGSIG: *y = log_sigmoid(a); break;
    case HOP_PRIM_PLAIN: *y = a * exp(b); break;
    case HOP_PRIM_SIGMOID: *y = 1 / (1 + exp(-a)); break;
    case HOP_PRIM_SILU: *y = silu(a); break;
    case HOP_PRIM_TANH: *y = tanh(a); break;
    case HOP_PRIM_SOFTPLUS: *y = -log_sigmoid(-a); break;
    case HOP_PRIM_ELU1: *y = a > 0 ? a + 1 : exp(a); break;
    case HOP_PRIM_RELU: *y = a > 0 ? a : 0; break;
    case HOP_PRIM_GELU: *y = 0.5 * a * erfc(-a * 0.70710678118654752440); break;
    case HOP_PRIM_EXPM1: *y = expm1(a); break;
    case HOP_PRIM_SQRT: *y = sqrt(a); break;
    case HOP_PRIM_RSQRT: *y = 1 / sqrt(a); break;
    default: return false;
    }
    return true;
}

/* All numbers of a line, along T first. */
static void evaluate_line(hop_arith_run *r, int i)
{
    const hop_arith *p = r->p;
    cell c = {.r = r, .line = i};
    steps s[3] = {steps_of(r, p->a[i]), steps_of(r, p->b[i]), steps_of(r, p->c[i])};
    const int operand[3] = {p->a[i], p->b[i], p->c[i]};
    double *y = r->value[i], x[3] = {0};
    int64_t n[HOP_AXES];
    for (int k = 0; k < HOP_AXES; k++) n[k] = along(r, i, k) ? r->size[k] : 1;
    for (c.at[0] = 0; c.at[0] < n[0]; c.at[0]++)
        for (c.at[1] = 0; c.at[1] < n[1]; c.at[1]++)
            for (c.at[2] = 0; c.at[2] < n[2]; c.at[2]++)
                for (c.at[3] = 0; c.at[3] < n[3]; c.at[3]++, y++) {
                    for (int k = 0; k < 3; k++)
                        if (operand[k] >= 0) x[k] = r->value[operand[k]][index_of(&s[k], c.at)];
                    if (!element(p->line[i], x[0], x[1], x[2], y)) *y = sequence_number(&c);
                }
}

void hop_arith_evaluate(hop_arith_run *r)
{
    for (int i = 0; i < r->p->count; i++)
        if (r->p->line[i]->prim != HOP_PRIM_INPUT) evaluate_line(r, i);
}
