/* P7's inequality, from the integers alone. With σt <= m, tq <= m, e = ⌊n_1/γ⌋ >= 1 and δ = γM/(σt) + A_1,
 * two hops are impossible if γ·log2 N_1 > A_2 and
 *
 *     e·t·q·2^-δ·(γ·log2(m·n_1) - A_2)  >  M·(σtq + m + eγ(t+1)) + A_1. */
#include "count.h"

typedef struct p7_case {
    const hop__chosen *c;
    const fmpz *t, *sigma, *q, *gamma;
    fmpz groups;
} p7_case;

/* γ·log2(m·n_1) - A_2 */
static void group_gain(arb_t out, const void *ctx, slong prec)
{
    const p7_case *p = ctx;
    fmpz_t table;
    fmpz_init(table);
    fmpz_mul(table, &p->c->sizes[0], &p->c->sizes[1]);
    hop__log2(out, table, prec);
    arb_mul_fmpz(out, out, p->gamma, prec);
    arb_sub_fmpz(out, out, &p->c->state[2], prec);
    fmpz_clear(table);
}

/* 2^-δ */
static void kept_share(arb_t out, const p7_case *p, slong prec)
{
    arb_t two;
    fmpz_t f;
    fmpz_init(f);
    arb_init(two);
    fmpz_mul(f, p->gamma, p->c->reply);
    arb_set_fmpz(out, f);
    fmpz_mul(f, p->sigma, p->t);
    arb_div_fmpz(out, out, f, prec);
    arb_add_fmpz(out, out, &p->c->state[1], prec);
    arb_neg(out, out);
    arb_set_ui(two, 2);
    arb_pow(out, two, out, prec);
    arb_clear(two), fmpz_clear(f);
}

static void sides_difference(arb_t out, const void *ctx, slong prec)
{
    const p7_case *p = ctx;
    arb_t share;
    fmpz_t f, replies;
    arb_init(share), fmpz_init(f), fmpz_init(replies);
    group_gain(out, p, prec);
    kept_share(share, p, prec);
    arb_mul(out, out, share, prec);
    fmpz_mul(f, &p->groups, p->t);
    fmpz_mul(f, f, p->q);
    arb_mul_fmpz(out, out, f, prec);
    fmpz_mul(replies, p->sigma, p->t);
    fmpz_mul(replies, replies, p->q);
    fmpz_add(replies, replies, &p->c->sizes[0]);
    fmpz_add_ui(f, p->t, 1);
    fmpz_mul(f, f, p->gamma);
    fmpz_addmul(replies, f, &p->groups);
    fmpz_mul(replies, replies, p->c->reply);
    fmpz_add(replies, replies, &p->c->state[1]);
    arb_sub_fmpz(out, out, replies, prec);
    arb_clear(share), fmpz_clear(f), fmpz_clear(replies);
}

static bool in_range(const p7_case *p)
{
    const fmpz *m = &p->c->sizes[0];
    fmpz_t f;
    fmpz_init(f);
    bool good = fmpz_cmp_ui(m, 2) >= 0 && fmpz_cmp_ui(&p->c->sizes[1], 2) >= 0;
    for (int k = 0; k < 4; k++) good = good && fmpz_sgn(&p->c->of[k]) > 0;
    fmpz_mul(f, p->sigma, p->t);
    good = good && fmpz_cmp(f, m) <= 0;
    fmpz_mul(f, p->t, p->q);
    good = good && fmpz_cmp(f, m) <= 0;
    fmpz_clear(f);
    return good && fmpz_is_zero(&p->c->state[0]);
}

bool hop__p7_verify(const hop__chosen *c)
{
    p7_case p = {c, &c->of[0], &c->of[1], &c->of[2], &c->of[3], 0};
    if (!in_range(&p)) return false;
    fmpz_fdiv_q(&p.groups, &c->sizes[1], p.gamma);
    bool holds =
        fmpz_sgn(&p.groups) > 0 && hop__sign(group_gain, &p) > 0 && hop__sign(sides_difference, &p) > 0;
    fmpz_clear(&p.groups);
    return holds;
}
