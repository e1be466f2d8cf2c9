/* trace_seen.h - which quantities of a program must be told by name: all but copies and terms of sums. */
#ifndef HOP_TESTS_TRACE_SEEN_H
#define HOP_TESTS_TRACE_SEEN_H

#include <hopbound/arith.h>

static inline bool is_copy(hop_prim p)
{
    return p == HOP_PRIM_COPY || p == HOP_PRIM_ROWS || p == HOP_PRIM_END || p == HOP_PRIM_PREV ||
           p == HOP_PRIM_ASIDE || p == HOP_PRIM_MILD || p == HOP_PRIM_PART || p == HOP_PRIM_EITHER ||
           p == HOP_PRIM_INPUT || p == HOP_PRIM_NUMBER;
}

/* Used by sums only, or by products that are: then it is multiplied and added in one loop. */
static inline bool is_term(const hop_arith *p, int line)
{
    bool used = false;
    if (p->line[line]->prim != HOP_PRIM_MUL && p->line[line]->prim != HOP_PRIM_RATIO &&
        p->line[line]->prim != HOP_PRIM_SQUARE)
        return false;
    for (int i = line + 1; i < p->count; i++) {
        if (p->a[i] != line && p->b[i] != line && p->c[i] != line) continue;
        hop_prim by = p->line[i]->prim;
        used = true;
        if (by != HOP_PRIM_SUM && by != HOP_PRIM_SUM2 && by != HOP_PRIM_SOLVE && !is_term(p, i)) return false;
    }
    return used;
}

#endif
