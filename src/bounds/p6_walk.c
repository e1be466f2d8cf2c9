/* What P6 and P7G keep count of from hop to hop, in integers, as the search follows it. p6_verify.c and p7g_verify.c
 * have the conditions and do not share this. */
#include "p6_search.h"

/* |W| */
static void count_queries(fmpz_t out, const hop__p6_numbers *p)
{
    fmpz_one(out);
    for (int l = 1; l < p->hops; l++) fmpz_mul(out, out, &p->sizes[l]);
}

void hop__p6_walk_init(hop__p6_walk *w, const hop__p6_numbers *p)
{
    fmpz_init_set(w->table, &p->sizes[0]), fmpz_init_set(w->addresses, &p->x[0]), fmpz_init(w->tokens);
    fmpz_init(w->joint), fmpz_init_set(w->each, &p->state[0]), fmpz_init(w->delta);
    count_queries(w->tokens, p);
    if (p->whole) {
        fmpz_mul(w->joint, &p->x[0], &p->state[1]);
        fmpz_mul(w->each, w->tokens, p->reply);
    }
    fmpz_add_ui(w->tokens, w->tokens, 1);
    fmpz_mul(w->tokens, w->tokens, &p->x[0]);
    fmpz_add(w->delta, w->joint, w->each);
}

void hop__p6_walk_clear(hop__p6_walk *w)
{
    fmpz_clear(w->table), fmpz_clear(w->addresses), fmpz_clear(w->tokens);
    fmpz_clear(w->joint), fmpz_clear(w->each), fmpz_clear(w->delta);
}

/* P6's first hop, unless it is the last: epoch 1 is fixed table by table. */
static void first_hop(hop__p6_walk *w, const hop__p6_numbers *p)
{
    fmpz_t t;
    fmpz_init_set(t, w->tokens);
    fmpz_addmul(t, &p->x[1], w->table);
    fmpz_addmul(w->each, t, p->reply);
    fmpz_set(w->joint, &p->state[1]);
    fmpz_clear(t);
}

/* Any other hop: all that is said is fixed together. */
static void later_hop(hop__p6_walk *w, const hop__p6_numbers *p, int l)
{
    int L = p->hops;
    bool last = !p->whole && l == L - 1; /* then player L-1 matters through its states alone */
    fmpz_t t;
    fmpz_init(t);
    fmpz_mul(w->joint, w->joint, &p->x[l]);
    fmpz_addmul_ui(w->joint, w->each, (ulong)(L - l));
    fmpz_add_ui(w->joint, w->joint, 1);
    for (int e = 0; e <= l - last; e++) fmpz_add(w->joint, w->joint, &p->state[e]);
    fmpz_mul(t, w->table, p->reply);
    fmpz_mul_si(t, t, last ? L - 2 : (slong)l * (L - l));
    if (last) fmpz_add(t, t, &p->state[l]);
    fmpz_addmul(w->joint, t, &p->x[l]);
    fmpz_mul(t, w->tokens, p->reply);
    fmpz_mul_si(t, t, L - l);
    fmpz_add(w->joint, w->joint, t);
    if (p->whole) {
        fmpz_set(t, &p->state[l + 1]);
        for (int k = 0; k <= l; k++) fmpz_mul(t, t, &p->x[k]);
        fmpz_add(w->joint, w->joint, t);
    }
    fmpz_zero(w->each);
    fmpz_clear(t);
}

void hop__p6_walk_step(hop__p6_walk *w, const hop__p6_numbers *p, int l)
{
    if (!p->whole && l == 1 && p->hops > 2)
        first_hop(w, p);
    else
        later_hop(w, p, l);
    fmpz_add(w->delta, w->joint, w->each);
    fmpz_add(w->tokens, w->tokens, w->table);
    fmpz_mul(w->tokens, w->tokens, &p->x[l]);
    fmpz_mul(w->table, w->table, &p->sizes[l]);
    fmpz_mul(w->addresses, &p->sizes[l], &p->s[l]);
}
