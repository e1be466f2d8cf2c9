/* Recurrences. Unrolled, each is a weighted sum of the values of all tokens so far:
 *
 *     o_T = sum over j <= T of a_Tj v_j,   a_Tj = scale · sum_c q_Tc d_c(j, T) k_jc,
 *
 * d(j, T) being what is left of the state that j wrote when T reads it: the decays of the tokens after j and,
 * for delta rules, their corrections, I + E with |E| at most a token's `turn`: they move what was written to
 * other coordinates, so that a_Tj may be off by |q||k_j| (product of 1 + turn, minus 1) even where no
 * coordinate of q meets one of k_j; where no two keys meet, corrections change nothing (see `slack`). Here
 * that sum is bounded, not the recurrence. One token of each class of queries is followed exactly, the one
 * that weighs most; all others go into the box with the sum of their weights, in absolute values and before
 * anything cancels. So does rounding: every form (token by token, in chunks, cut anywhere) adds up the same
 * products, and what it loses is relative to the sum of their absolute values.
 *
 * Where all numbers lie on a grid and all these absolute values together stay below 2^24 of its units,
 * nothing is rounded at all in any form. */
#include "reader.h"

/* A query that is too many things is taken as a box. */
static hop__set *one_query(hop__memory *m, const hop__set *q)
{
    hop__set *joined = hop__set_joined(m, q), *box = joined ? NULL : hop__set_columns(m, q, 0, q->width);
    while (box && box->terms) hop__set_drop_term(box, 0);
    if (box) hop__set_canonical(m, box);
    return joined ? joined : box;
}

/* What all classes read of head h, to heads [classes, heads]; all of it lies in w->m. */
static void read_heads(const hop__reading_shape *s, int64_t h, hop__set **heads)
{
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m;
    int64_t share = s->heads / s->q_heads;
    hop__sets k = {0}, v = {0};
    for (int p = 0; p < f->classes; p++) {
        if (s->k) k[p] = hop__set_columns(m, s->k[p], h * s->keys, s->keys);
        v[p] = hop__set_columns(m, s->v[p], h * s->values, s->values);
    }
    for (int a = 0; m->status == HOP_OK && a < f->classes; a++) {
        hop__sets va = {0};
        for (int p = 0; p < f->classes; p++) va[p] = hop__sees(f, a, p, false) ? v[p] : NULL;
        hop__reader r = {.s = s, .a = a, .head = h, .k = k, .v = va};
        if (s->head_gain && s->head_gain[a].by) r.head_gain = &s->head_gain[a].by[h];
        if (s->q) {
            hop__set *q = hop__set_columns(m, s->q[a], h / share * s->keys, s->keys);
            r.q = q ? one_query(m, q) : NULL;
            if (!r.q) return;
        }
        heads[a * s->heads + h] = hop__read_head(&r);
    }
}

/* Head by head: what one takes on the way is given back before the next. */
void hop__weigh(const hop__reading_shape *s, hop__set **y)
{
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m, own = {0};
    hop__set **heads = hop__take(m, s->heads * f->classes, sizeof *heads);
    for (int64_t h = 0; m->status == HOP_OK && h < s->heads; h++) {
        s->w->m = &own;
        read_heads(s, h, heads);
        s->w->m = m;
        m->overflow = m->overflow || own.overflow;
        if (own.status != HOP_OK) m->status = own.status;
        for (int a = 0; m->status == HOP_OK && a < f->classes; a++) {
            hop__set **to = &heads[a * s->heads + h];
            *to = hop__set_copy(m, *to);
            if (*to) hop__set_own(m, *to);
        }
        hop__memory_clear(&own);
    }
    hop__memory_free(&own);
    for (int a = 0; m->status == HOP_OK && a < f->classes; a++)
        y[a] = hop__set_beside(m, (const hop__set *const *)heads + a * s->heads, (int)s->heads);
}
