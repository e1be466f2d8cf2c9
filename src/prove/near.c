/* How often the one product that counts is rounded on its way through a program (docs/THEORY.md section 6.5). */
#include "charge.h"

#include <string.h>

/* A quantity that has not got that product. */
#define NONE (-INFINITY)

/* Its units in `line`, from those of the operands; decays are exactly 1, as computed. In a sum it is the product or
 * is among the others, which are charged elsewhere: what is added is no unit. Corrections are such others: what a
 * delta rule takes off what it writes, and whatever dplr's a meets. */
static double of_line(const hop_arith *p, const double *units, double state, int line)
{
    const double a = p->a[line] < 0 ? NONE : units[p->a[line]], b = p->b[line] < 0 ? NONE : units[p->b[line]],
                 c = p->c[line] < 0 ? NONE : units[p->c[line]];
    const char *name = p->line[line]->name;
    switch (p->line[line]->prim) {
    case HOP_PRIM_INPUT: return strcmp(name, "S") == 0 ? state : strcmp(name, "a") == 0 ? NONE : 0;
    case HOP_PRIM_NUMBER: return 0;
    case HOP_PRIM_COPY:
    case HOP_PRIM_LOWER:
    case HOP_PRIM_STRICT:
    case HOP_PRIM_END:
    case HOP_PRIM_ROWS:
    case HOP_PRIM_MILD:
    case HOP_PRIM_FAR:
    case HOP_PRIM_FARB:
    case HOP_PRIM_SUB:
    case HOP_PRIM_SOLVE: return a;
    case HOP_PRIM_MUL:
    case HOP_PRIM_RATIO: return a + b + 1;
    case HOP_PRIM_RECIP: return a + 1;
    case HOP_PRIM_ADD:
    case HOP_PRIM_SUM:
    case HOP_PRIM_PREV:
    case HOP_PRIM_PART:
    case HOP_PRIM_EITHER: return ival_most(a, b);
    case HOP_PRIM_SUM2: return ival_most(ival_most(a, b), c);
    case HOP_PRIM_FADE: return ival_most(b, c); /* a is 1 */
    case HOP_PRIM_TOTAL: return a;
    case HOP_PRIM_EXP: return a < INFINITY ? 0 : a; /* 1 */
    case HOP_PRIM_DEC: return p->b[line] < 0 ? a : a + b + 1;
    default: return INFINITY; /* no primitive of recurrences whose decays are 1 */
    }
}

/* Of the state behind a unit, and of what is read, from those of the state before. */
static double of_unit(const hop_arith *p, double *state)
{
    double units[HOP_ARITH_LINES] = {0};
    for (int i = 0; i < p->count; i++) units[i] = of_line(p, units, *state, i);
    if (p->next >= 0) *state = units[p->next];
    return units[p->reads];
}

double hop__product_units(const hop_arith *p)
{
    double state = NONE, own = of_unit(p, &state), later = of_unit(p, &state), most = ival_most(own, later);
    return most >= 0 ? most : INFINITY;
}
