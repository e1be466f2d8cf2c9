/* arith.c - programs with their names looked up, and what their quantities vary along. */
#include <hopbound/arith.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 1 << HOP_AXIS_T, J = 1 << HOP_AXIS_J, K = 1 << HOP_AXIS_K, V = 1 << HOP_AXIS_V };

const char *hop_prim_name(hop_prim p)
{
#define NAME(name) #name,
    static const char *const names[] = {HOP_PRIM_LIST(NAME)};
#undef NAME
    return names[p];
}

int hop_arith_find(const hop_arith *p, const char *name)
{
    for (int i = p->count - 1; name && i >= 0; i--)
        if (strcmp(p->line[i]->name, name) == 0) return i;
    return -1;
}

/* A program is a constant of this library: one with a hole in it is never run. */
static int operand(const hop_arith *p, const hop_program *of, const char *name)
{
    int i = hop_arith_find(p, name);
    if (name && i < 0) {
        fprintf(stderr, "hopbound: program %s, %s: no quantity %s\n", of->op, of->form, name);
        abort();
    }
    return i;
}

static unsigned axes_of(const hop_arith *p, int i)
{
    const hop_line *l = p->line[i];
    unsigned a = p->a[i] < 0 ? 0 : p->axes[p->a[i]], b = p->b[i] < 0 ? 0 : p->axes[p->b[i]],
             c = p->c[i] < 0 ? 0 : p->axes[p->c[i]];
    switch (l->prim) {
    case HOP_PRIM_INPUT: return (unsigned)l->value;
    case HOP_PRIM_RATIO: return a | b;
    case HOP_PRIM_SUM: return (a & ~(1u << l->axis)) | b;
    case HOP_PRIM_SUM2: return (a & ~(unsigned)K) | (b & ~(unsigned)J) | c;
    case HOP_PRIM_SOLVE: return a | (b & ~(unsigned)K) | T;
    case HOP_PRIM_FAR:
    case HOP_PRIM_FARB: return a | T;
    case HOP_PRIM_RUNMAX: return a | b | T;
    case HOP_PRIM_DEC: return a | (b & ~(unsigned)T) | T | J;
    case HOP_PRIM_LOWER:
    case HOP_PRIM_STRICT: return a | T | J;
    case HOP_PRIM_END:
    case HOP_PRIM_TOTAL: return a & ~(unsigned)T;
    case HOP_PRIM_ROWS: return a & T ? (a & ~(unsigned)T) | J : a;
    case HOP_PRIM_ASIDE: return a & ~(unsigned)V;
    default: return a | b | c;
    }
}

void hop_arith_open(hop_arith *p, const hop_program *program)
{
    *p = (hop_arith){0};
    for (int n = 0; n < HOP_PROGRAM_PARTS && program->part[n]; n++)
        for (const hop_line *l = program->part[n]; l->name; l++) {
            int i = p->count;
            if (i == HOP_ARITH_LINES) abort();
            p->line[i] = l;
            p->a[i] = operand(p, program, l->of[0]);
            p->b[i] = operand(p, program, l->of[1]);
            p->c[i] = operand(p, program, l->of[2]);
            p->axes[i] = axes_of(p, i);
            p->count++;
        }
    p->reads = operand(p, program, program->reads);
    p->state = hop_arith_find(p, "S");
    p->next = hop_arith_find(p, "S1");
}
