/* P8's inequality, from the integers alone. With κq <= n_1, νq <= n_2, g <= m, x_1 <= ⌈m/2^(A_0/g)⌉ and
 * δ = (A_0 + κqνM + A_1·x_1)/(κq·x_1), three hops are impossible if
 *
 *     ν·κq·x_1·q·Φ(x/q, δ)·log2 N_2
 *       >  A_0 + A_1 + x·x_1·(A_1 + A_2) + M·(x·N_1 + (m-g) + x_1·g + 1 + κqν·(1 + x_1)). */
#include "count.h"

typedef struct p8_case {
    const hop__chosen *c;
    const fmpz *q, *nu, *x, *window, *x1;
    fmpz rows, queries, table; /* κq, κqν, N_1 */
} p8_case;

/* m/2^(A_0/g) - (x_1 - 1) */
static void kept_values(arb_t out, const void *ctx, slong prec)
{
    const p8_case *p = ctx;
    fmpq_t share;
    arb_t two;
    fmpz_t f;
    fmpq_init(share), arb_init(two), fmpz_init(f);
    fmpq_set_fmpz_frac(share, &p->c->state[0], p->window);
    fmpq_neg(share, share);
    arb_set_fmpq(out, share, prec + 64);
    arb_set_ui(two, 2);
    arb_pow(out, two, out, prec + 64);
    arb_mul_fmpz(out, out, &p->c->sizes[0], prec);
    fmpz_sub_ui(f, p->x1, 1);
    arb_sub_fmpz(out, out, f, prec);
    fmpq_clear(share), arb_clear(two), fmpz_clear(f);
}

static void set_delta(fmpq_t delta, const p8_case *p)
{
    fmpz_t top, below;
    fmpz_init_set(top, &p->c->state[0]), fmpz_init(below);
    fmpz_addmul(top, &p->queries, p->c->reply);
    fmpz_addmul(top, &p->c->state[1], p->x1);
    fmpz_mul(below, &p->rows, p->x1);
    fmpq_set_fmpz_frac(delta, top, below);
    fmpz_clear(top), fmpz_clear(below);
}

static void set_costs(fmpz_t sum, const p8_case *p)
{
    fmpz_t f, g;
    fmpz_init(f), fmpz_init(g);
    fmpz_mul(sum, p->x, &p->table);
    fmpz_add(sum, sum, &p->c->sizes[0]);
    fmpz_sub(sum, sum, p->window);
    fmpz_addmul(sum, p->x1, p->window);
    fmpz_add_ui(sum, sum, 1);
    fmpz_add_ui(f, p->x1, 1);
    fmpz_addmul(sum, &p->queries, f);
    fmpz_mul(sum, sum, p->c->reply);
    fmpz_add(sum, sum, &p->c->state[0]);
    fmpz_add(sum, sum, &p->c->state[1]);
    fmpz_mul(f, p->x, p->x1);
    fmpz_add(g, &p->c->state[1], &p->c->state[2]);
    fmpz_addmul(sum, f, g);
    fmpz_clear(f), fmpz_clear(g);
}

static void sides_difference(arb_t out, const void *ctx, slong prec)
{
    const p8_case *p = ctx;
    arb_t phi;
    fmpz_t f;
    fmpq_t delta;
    arb_init(phi), fmpz_init(f), fmpq_init(delta);
    set_delta(delta, p);
    if (!hop__draws_phi(phi, &p->c->line, p->x, p->q, delta, prec)) arb_indeterminate(phi);
    fmpz_mul(f, &p->table, &p->c->sizes[2]);
    hop__log2(out, f, prec);
    arb_mul(out, out, phi, prec);
    fmpz_mul(f, &p->queries, p->x1);
    fmpz_mul(f, f, p->q);
    arb_mul_fmpz(out, out, f, prec);
    set_costs(f, p);
    arb_sub_fmpz(out, out, f, prec);
    arb_clear(phi), fmpz_clear(f), fmpq_clear(delta);
}

static bool in_range(const p8_case *p)
{
    const hop__chosen *c = p->c;
    bool good = fmpz_cmp(p->window, &c->sizes[0]) <= 0 && fmpz_cmp(&p->rows, &c->sizes[1]) <= 0;
    for (int l = 0; l < 3; l++) good = good && fmpz_cmp_ui(&c->sizes[l], 2) >= 0;
    fmpz_t f;
    fmpz_init(f);
    fmpz_mul(f, p->nu, p->q);
    good = good && fmpz_cmp(f, &c->sizes[2]) <= 0;
    fmpz_clear(f);
    return good && (fmpz_is_one(p->x1) || hop__sign(kept_values, p) > 0);
}

bool hop__p8_verify(const hop__chosen *c)
{
    for (int k = 0; k < 6; k++)
        if (fmpz_sgn(&c->of[k]) <= 0) return false;
    p8_case p = {c, &c->of[1], &c->of[2], &c->of[3], &c->of[4], &c->of[5], 0, 0, 0};
    fmpz_mul(&p.rows, &c->of[0], p.q);
    fmpz_mul(&p.queries, &p.rows, p.nu);
    fmpz_mul(&p.table, &c->sizes[0], &c->sizes[1]);
    bool holds = in_range(&p) && hop__sign(sides_difference, &p) > 0;
    fmpz_clear(&p.rows), fmpz_clear(&p.queries), fmpz_clear(&p.table);
    return holds;
}
