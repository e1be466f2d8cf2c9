/* P9's inequalities, from the integers alone. With s = σt <= m, u <= n_1, u·t·q <= N_1, a_1 = min(s·A_1,
 * A_1 + s·M) (0 if A_1 = 0), three hops are impossible if
 *
 * (a) for e = ⌊n_2/γ⌋ >= 1, δ = (uγM + a_1)/(us) and γ·log2 N_2 > A_2
 *     e·u·t·q·2^-δ·(γ·log2 N_2 - A_2)  >  M·(usq + N_1 - us + m + s + u·eγ·(1+t)) + A_1;
 * (b) for δ = (uM + a_1)/(us)
 *     n_2·u·t·q·Φ(x/q, δ)·log2 N_2  >  M·(usq + N_1 - us + m + s + u·n_2·(1+t)) + A_1 + A_2·n_2·t·x. */
#include "count.h"

typedef struct p9_case {
    const hop__chosen *c;
    const fmpz *u, *t, *q, *gamma, *x; /* γ = 1 in form (b), x NULL in form (a) */
    fmpz starts, table, groups;        /* s, N_1, e = ⌊n_2/γ⌋ */
} p9_case;

/* (uγM + a_1)/(us) */
static void set_delta(fmpq_t delta, const p9_case *p)
{
    fmpz_t top, each;
    fmpz_init(top), fmpz_init(each);
    const fmpz *between = &p->c->state[1];
    if (!fmpz_is_zero(between)) {
        fmpz_mul(top, &p->starts, between);
        fmpz_set(each, between);
        fmpz_addmul(each, &p->starts, p->c->reply);
        if (fmpz_cmp(each, top) < 0) fmpz_set(top, each);
    }
    fmpz_mul(each, p->u, p->c->reply);
    fmpz_mul(each, each, p->gamma);
    fmpz_add(top, top, each);
    fmpz_mul(each, p->u, &p->starts);
    fmpq_set_fmpz_frac(delta, top, each);
    fmpz_clear(top), fmpz_clear(each);
}

static void entry_bits(arb_t out, const p9_case *p, slong prec)
{
    fmpz_t table;
    fmpz_init(table);
    fmpz_mul(table, &p->table, &p->c->sizes[2]);
    hop__log2(out, table, prec);
    fmpz_clear(table);
}

/* γ·log2 N_2 - A_2 */
static void group_gain(arb_t out, const void *ctx, slong prec)
{
    const p9_case *p = ctx;
    entry_bits(out, p, prec);
    arb_mul_fmpz(out, out, p->gamma, prec);
    arb_sub_fmpz(out, out, &p->c->state[2], prec);
}

/* The right side. */
static void set_costs(fmpz_t sum, const p9_case *p)
{
    fmpz_t f, g;
    fmpz_init(f), fmpz_init(g);
    fmpz_mul(f, p->u, &p->starts);
    fmpz_mul(sum, f, p->q);
    fmpz_add(sum, sum, &p->table);
    fmpz_sub(sum, sum, f);
    fmpz_add(sum, sum, &p->c->sizes[0]);
    fmpz_add(sum, sum, &p->starts);
    fmpz_add_ui(f, p->t, 1);
    fmpz_mul(f, f, p->u);
    fmpz_mul(g, &p->groups, p->gamma);
    fmpz_addmul(sum, f, g);
    fmpz_mul(sum, sum, p->c->reply);
    fmpz_add(sum, sum, &p->c->state[1]);
    if (p->x) {
        fmpz_mul(f, &p->c->state[2], &p->c->sizes[2]);
        fmpz_mul(f, f, p->t);
        fmpz_addmul(sum, f, p->x);
    }
    fmpz_clear(f), fmpz_clear(g);
}

static void sides_difference(arb_t out, const void *ctx, slong prec)
{
    const p9_case *p = ctx;
    arb_t share;
    fmpz_t f;
    fmpq_t delta;
    arb_init(share), fmpz_init(f), fmpq_init(delta);
    set_delta(delta, p);
    if (p->x) {
        entry_bits(out, p, prec);
        if (!hop__draws_phi(share, &p->c->line, p->x, p->q, delta, prec)) arb_indeterminate(share);
    } else {
        group_gain(out, p, prec);
        arb_set_fmpq(share, delta, prec);
        arb_neg(share, share);
        arb_t two;
        arb_init(two);
        arb_set_ui(two, 2);
        arb_pow(share, two, share, prec);
        arb_clear(two);
    }
    arb_mul(out, out, share, prec);
    fmpz_mul(f, &p->groups, p->u);
    fmpz_mul(f, f, p->t);
    fmpz_mul(f, f, p->q);
    arb_mul_fmpz(out, out, f, prec);
    set_costs(f, p);
    arb_sub_fmpz(out, out, f, prec);
    arb_clear(share), fmpz_clear(f), fmpq_clear(delta);
}

static bool in_range(const p9_case *p)
{
    const hop__chosen *c = p->c;
    bool good = fmpz_is_zero(&c->state[0]) && fmpz_sgn(&p->groups) > 0;
    for (int l = 0; l < 3; l++) good = good && fmpz_cmp_ui(&c->sizes[l], 2) >= 0;
    fmpz_t f;
    fmpz_init(f);
    fmpz_mul(f, p->u, p->t);
    fmpz_mul(f, f, p->q);
    good = good && fmpz_cmp(&p->starts, &c->sizes[0]) <= 0 && fmpz_cmp(p->u, &c->sizes[1]) <= 0 &&
           fmpz_cmp(f, &p->table) <= 0;
    fmpz_clear(f);
    return good;
}

static bool holds(const hop__chosen *c, const fmpz *gamma, const fmpz *x)
{
    for (int k = 0; k < 5; k++)
        if (fmpz_sgn(&c->of[k]) <= 0) return false;
    p9_case p = {.c = c, .u = &c->of[0], .t = &c->of[1], .q = &c->of[3], .gamma = gamma, .x = x};
    fmpz_mul(&p.starts, &c->of[2], p.t);
    fmpz_mul(&p.table, &c->sizes[0], &c->sizes[1]);
    fmpz_fdiv_q(&p.groups, &c->sizes[2], gamma);
    bool good = in_range(&p) && (x || hop__sign(group_gain, &p) > 0) && hop__sign(sides_difference, &p) > 0;
    fmpz_clear(&p.starts), fmpz_clear(&p.table), fmpz_clear(&p.groups);
    return good;
}

bool hop__p9_groups_verify(const hop__chosen *c)
{
    return holds(c, &c->of[4], NULL);
}

bool hop__p9_draws_verify(const hop__chosen *c)
{
    const fmpz one = 1;
    return holds(c, &one, &c->of[4]);
}
