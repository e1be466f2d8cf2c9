#include "elements.h"
#include "analysis.h"

#include <hopbound/kernels.h>

static const ival anything = {-INFINITY, INFINITY};

static int64_t count_of(const hop__elements *e, int line)
{
    int64_t n = 1;
    for (int x = HOP_AXIS_K; x <= HOP_AXIS_V; x++)
        if (e->p.axes[line] >> x & 1) n *= e->size[x];
    return n;
}

bool hop__elements_open(hop__memory *m, hop__elements *e, const hop_program *program, int64_t keys,
                        int64_t values)
{
    int64_t all = 0;
    *e = (hop__elements){.size = {1, 1, keys, values}};
    hop_arith_open(&e->p, program);
    for (int i = 0; i < e->p.count; i++) all += count_of(e, i);
    e->room = hop__take(m, all, sizeof *e->room);
    if (m->status != HOP_OK) return false;
    ival *at = e->room;
    for (int i = 0; i < e->p.count; at += count_of(e, i++)) e->value[i] = at;
    return true;
}

void hop__elements_give(hop__elements *e, const char *name, const ival *x)
{
    int i = hop_arith_find(&e->p, name);
    if (i >= 0 && e->p.line[i]->prim == HOP_PRIM_INPUT) e->value[i] = x;
}

static ival plus(ival a, ival b)
{
    if (b.lo == 0 && b.hi == 0) return a;
    if (a.lo == 0 && a.hi == 0) return b;
    return hop__float(ival_add(a, b));
}

static ival minus(ival a)
{
    return (ival){-a.hi, -a.lo};
}

/* In any order; one number alone is what it is. */
static ival sum(const ival *x, int64_t n, ival more)
{
    ival all = {0, 0};
    double mag = 0, terms = 0;
    for (int64_t i = 0; i <= n; i++) {
        ival term = i < n ? x[i] : more;
        if (term.lo == 0 && term.hi == 0) continue;
        all = ival_add(all, term), mag += ival_mag(term), terms++;
    }
    if (!(mag * HOP__ABOVE < HOP__LARGEST) || terms > HOP__MOST_SUM) return anything;
    return terms < 2 ? all : ival_widen(all, HOP_DOT_ERROR(terms) * mag * HOP__ABOVE);
}

/* Of what is not 0, as it is formed. */
static ival quotient(ival a, ival b)
{
    if (!(b.lo > 0 || b.hi < 0)) return anything;
    if (a.lo == 0 && a.hi == 0) return a;
    return hop__float(ival_mul(a, (ival){ival_down(1 / b.hi), ival_up(1 / b.lo)}));
}

/* libm's, within a few units; infinity is as good as e^100 to whoever takes the smaller of it and 1e30. */
static ival exponential(ival a)
{
    ival y = hop__about((ival){exp(ival_least(a.lo, 100)), exp(ival_least(a.hi, 100))}, 0x1p-20);
    return (ival){ival_most(y.lo, 0), y.hi};
}

/* e^a - 1 of a <= 0, within a few units as libm has it. */
static ival less_one(ival a)
{
    if (!(a.hi <= 0)) return anything;
    if (a.lo == 0) return (ival){0, 0};
    ival y = hop__about((ival){expm1(a.lo), expm1(a.hi)}, 0x1p-21);
    return (ival){ival_most(y.lo, -1), ival_least(y.hi, 0)};
}

static ival root(ival a)
{
    if (!(a.lo >= 0)) return anything;
    if (a.hi == 0) return a;
    ival y = hop__float((ival){sqrt(a.lo) * HOP__BELOW, sqrt(a.hi) * HOP__ABOVE});
    return (ival){ival_most(y.lo, 0), y.hi};
}

static ival least(ival a, ival b)
{
    return (ival){ival_least(a.lo, b.lo), ival_least(a.hi, b.hi)};
}

static ival most(ival a, ival b)
{
    return (ival){ival_most(a.lo, b.lo), ival_most(a.hi, b.hi)};
}

static ival element(const hop_line *l, ival a, ival b)
{
    switch (l->prim) {
    case HOP_PRIM_NUMBER: return ival_point(l->value);
    case HOP_PRIM_COPY: return a;
    case HOP_PRIM_MUL: return hop__times(a, b);
    case HOP_PRIM_ADD: return plus(a, b);
    case HOP_PRIM_SUB: return plus(a, minus(b));
    case HOP_PRIM_NEG: return minus(a);
    case HOP_PRIM_DIV: return quotient(a, b);
    case HOP_PRIM_LEAST: return least(a, b);
    case HOP_PRIM_MAX: return most(a, b);
    case HOP_PRIM_EXPF: return exponential(a);
    case HOP_PRIM_EXPM1: return less_one(a);
    case HOP_PRIM_SQRT: return root(a);
    case HOP_PRIM_EXP:
    case HOP_PRIM_SIGMOID:
    case HOP_PRIM_SILU:
    case HOP_PRIM_TANH:
    case HOP_PRIM_SOFTPLUS:
    case HOP_PRIM_ELU1:
    case HOP_PRIM_RELU:
    case HOP_PRIM_GELU: return hop__function_bounds(l->prim, a);
    default: return anything;
    }
}

const ival *hop__elements_run(hop__elements *e)
{
    const hop_arith *p = &e->p;
    static const ival none = {0, 0};
    for (int i = 0; i < p->count; i++) {
        const hop_line *l = p->line[i];
        if (l->prim == HOP_PRIM_INPUT) continue;
        ival *y = (ival *)e->value[i];
        const ival *a = p->a[i] < 0 ? &none : e->value[p->a[i]], *b = p->b[i] < 0 ? &none : e->value[p->b[i]];
        if (l->prim == HOP_PRIM_SUM) {
            *y = sum(a, e->size[l->axis], *b);
            continue;
        }
        int64_t n = count_of(e, i), na = p->a[i] >= 0 && p->axes[p->a[i]] ? 1 : 0,
                nb = p->b[i] >= 0 && p->axes[p->b[i]] ? 1 : 0;
        for (int64_t k = 0; k < n; k++) y[k] = element(l, a[k * na], b[k * nb]);
    }
    return e->value[p->reads];
}
