/* The conditions of P7G, checked from the integers alone. Shares nothing with the search that finds them.
 *
 * With N_l = m·n_1 .. n_l, n_0 = 1, |W| = n_1 .. n_{L-1}, A_0 = 0, s_0 = x_0 <= m, π_l = x_0 .. x_{l-1},
 *
 *   image 1:  log2 C(m, s_1 - 1) + x_1·x_0·log2((s_1 - 1)/m)  <=  -x_1·(M·|W| + x_0·A_1) - 1
 *   image l:  log2 C(N_{l-1}, s_l - 1) + x_l·n_{l-1}·s_{l-1}·log2((s_l - 1)/N_{l-1})  <=  -x_l·Δ_l - 1,   l >= 2
 *   Δ_2 = (L-1)·M·|W| + x_1·x_0·A_1 + c_1,   Δ_{l+1} = x_l·Δ_l + c_l
 *       c_l = 1 + (A_1 + .. + A_l) + x_l·l·(L-l)·N_{l-1}·M + π_l·x_l·A_{l+1}
 *           + M·(L-l)·(|W|·π_l + Σ_{i=0}^{l-1} tokens_i·x_i .. x_{l-1}),   tokens_0 = 1, tokens_i = N_{i-1}
 *   end:  Δ_L < n_{L-1}·s_{L-1}·log2 N_{L-1}
 *
 * Δ is an exact integer; log2 C(N, k) is bounded by k·log2(N/k) + (N-k)·log2(N/(N-k)). */
#include "p6.h"

#include <stdio.h>

typedef struct line {
    fmpz_t k, table, draws, limit; /* s_l - 1, N_{l-1}, x_l·n_{l-1}·s_{l-1}; x_l·(..) + 1 */
} line;

/* out += times·log2(above/below) */
static void add_log(arb_t out, const fmpz_t times, const fmpz_t above, const fmpz_t below, slong prec)
{
    arb_t t;
    arb_init(t);
    arb_fmpz_div_fmpz(t, above, below, prec);
    arb_log(t, t, prec);
    arb_mul_fmpz(t, t, times, prec);
    arb_add(out, out, t, prec);
    arb_clear(t);
}

/* The left side of an image less its right one. */
static void image_excess(arb_t out, const void *ctx, slong prec)
{
    const line *i = ctx;
    arb_t two;
    fmpz_t rest;
    arb_init(two), fmpz_init(rest);
    slong wide = prec + 2 * (slong)fmpz_bits(i->table); /* N/(N-k) may be close to 1 */
    arb_zero(out);
    fmpz_sub(rest, i->table, i->k);
    add_log(out, i->k, i->table, i->k, wide);
    add_log(out, rest, i->table, rest, wide);
    add_log(out, i->draws, i->k, i->table, wide);
    arb_const_log2(two, wide);
    arb_div(out, out, two, wide);
    arb_add_fmpz(out, out, i->limit, wide);
    arb_clear(two), fmpz_clear(rest);
}

/* `carried`: what x_l is multiplied with on the right side. */
static bool image_holds(const hop__p6_numbers *p, int l, const fmpz_t table, const fmpz_t carried)
{
    if (fmpz_cmp(&p->s[l], table) > 0) return false;
    if (fmpz_is_one(&p->s[l])) return true;
    line i;
    fmpz_init(i.k), fmpz_init_set(i.table, table), fmpz_init_set(i.draws, &p->x[l]), fmpz_init(i.limit);
    fmpz_sub_ui(i.k, &p->s[l], 1);
    fmpz_mul(i.draws, i.draws, l == 1 ? &p->x[0] : &p->s[l - 1]);
    if (l > 1) fmpz_mul(i.draws, i.draws, &p->sizes[l - 1]);
    fmpz_mul(i.limit, &p->x[l], carried);
    fmpz_add_ui(i.limit, i.limit, 1);
    bool holds = hop__sign(image_excess, &i) < 0;
    fmpz_clear(i.k), fmpz_clear(i.table), fmpz_clear(i.draws), fmpz_clear(i.limit);
    return holds;
}

/* tokens_i·x_i .. x_{l-1}, with tokens_{-1}·x_{-1} = |W|. */
static void add_questions(fmpz_t sum, const hop__p6_numbers *p, int i, int l)
{
    fmpz_t f;
    fmpz_init_set_ui(f, 1);
    if (i < 0)
        for (int k = 1; k < p->hops; k++) fmpz_mul(f, f, &p->sizes[k]);
    for (int k = 0; k < i; k++) fmpz_mul(f, f, &p->sizes[k]);
    for (int k = i < 0 ? 0 : i; k < l; k++) fmpz_mul(f, f, &p->x[k]);
    fmpz_add(sum, sum, f);
    fmpz_clear(f);
}

/* c_l */
static void add_fixed(fmpz_t delta, const hop__p6_numbers *p, int l, const fmpz_t table)
{
    slong above = p->hops - l;
    fmpz_t f, sum;
    fmpz_init(f), fmpz_init(sum);
    fmpz_add_ui(delta, delta, 1);
    for (int e = 1; e <= l; e++) fmpz_add(delta, delta, &p->state[e]);
    fmpz_set(f, &p->state[l + 1]);
    for (int k = 0; k <= l; k++) fmpz_mul(f, f, &p->x[k]);
    fmpz_add(delta, delta, f);
    fmpz_mul(sum, &p->x[l], table); /* player l's own questions, in l epochs */
    fmpz_mul_si(sum, sum, l);
    for (int i = -1; i < l; i++) add_questions(sum, p, i, l);
    fmpz_mul_si(sum, sum, above);
    fmpz_addmul(delta, sum, p->reply);
    fmpz_clear(f), fmpz_clear(sum);
}

static void end_excess(arb_t out, const void *ctx, slong prec)
{
    const line *e = ctx; /* table, draws = n_{L-1}·s_{L-1}, limit = Δ_L */
    hop__log2(out, e->table, prec);
    arb_mul_fmpz(out, out, e->draws, prec);
    arb_sub_fmpz(out, out, e->limit, prec);
}

static bool in_range(const hop__p6_numbers *p)
{
    bool good = p->whole && p->hops >= 2 && p->hops <= HOP__P6_MOST_HOPS && fmpz_is_zero(&p->state[0]) &&
                fmpz_cmp(&p->x[0], &p->sizes[0]) <= 0;
    for (int l = 0; good && l < p->hops; l++)
        good = fmpz_cmp_ui(&p->sizes[l], 2) >= 0 && fmpz_sgn(&p->x[l]) > 0 && (!l || fmpz_sgn(&p->s[l]) > 0);
    return good;
}

/* Every image in turn; delta becomes Δ_L. */
static bool images_hold(fmpz_t delta, const hop__p6_numbers *p, char why[32])
{
    bool good = true;
    fmpz_t table, asked, carried;
    fmpz_init_set(table, &p->sizes[0]), fmpz_init_set(asked, p->reply), fmpz_init(carried);
    for (int l = 1; l < p->hops; l++) fmpz_mul(asked, asked, &p->sizes[l]); /* M·|W| */
    for (int l = 1; good && l < p->hops; l++) {
        snprintf(why, 32, "image %d", l);
        fmpz_set(carried, l == 1 ? asked : delta);
        if (l == 1) fmpz_addmul(carried, &p->x[0], &p->state[1]);
        good = image_holds(p, l, table, carried);
        if (l == 1) {
            fmpz_mul(delta, &p->x[0], &p->x[1]);
            fmpz_mul(delta, delta, &p->state[1]);
            fmpz_mul_si(carried, asked, p->hops - 1);
            fmpz_add(delta, delta, carried);
        } else {
            fmpz_mul(delta, delta, &p->x[l]);
        }
        add_fixed(delta, p, l, table);
        fmpz_mul(table, table, &p->sizes[l]);
    }
    fmpz_clear(table), fmpz_clear(asked), fmpz_clear(carried);
    return good;
}

bool hop__p7g_verify(const hop__p6_numbers *p, char why[32])
{
    char ignored[32];
    if (!why) why = ignored;
    snprintf(why, 32, "sizes");
    if (!in_range(p)) return false;
    int last = p->hops - 1;
    line e;
    fmpz_init(e.k), fmpz_init_set_ui(e.table, 1), fmpz_init(e.draws), fmpz_init(e.limit);
    bool good = images_hold(e.limit, p, why);
    if (good) {
        snprintf(why, 32, "end");
        for (int l = 0; l <= last; l++) fmpz_mul(e.table, e.table, &p->sizes[l]);
        fmpz_mul(e.draws, &p->sizes[last], &p->s[last]);
        good = hop__sign(end_excess, &e) > 0;
    }
    if (good) why[0] = 0;
    fmpz_clear(e.k), fmpz_clear(e.table), fmpz_clear(e.draws), fmpz_clear(e.limit);
    return good;
}
