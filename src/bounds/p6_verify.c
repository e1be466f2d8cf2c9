/* The conditions of P6, checked from the integers alone. Shares nothing with the search that finds them.
 *
 * With N_l = m·n_1 .. n_l, n_0 = 1, s_0 = x_0 <= m, |W| = n_1 .. n_{L-1}, d_1 = 0, g_1 = A_0, and for l = 1 .. L-1
 *
 *   image l:  log2 C(N_{l-1}, s_l - 1) + x_l·n_{l-1}·s_{l-1}·log2((s_l - 1)/N_{l-1})  <=  -x_l·(d_l + g_l) - 1
 *   l = 1 < L-1:  d_2 = A_1,  g_2 = g_1 + M·(x_1·m + T_1)
 *   1 < l < L-1:  d_{l+1} = (L-l)·g_l + x_l·d_l + 1 + (A_0 + .. + A_l) + a_l + b_l,  g_{l+1} = 0
 *   l = L-1:      Δ_L = g_l + x_l·d_l + 1 + (A_0 + .. + A_{l-1}) + a_l + b_l
 *       b_l = M·(L-l)·T_l,  T_1 = (|W| + 1)·x_0,  T_{l+1} = (T_l + N_{l-1})·x_l
 *       a_l = x_l·l·(L-l)·N_{l-1}·M,  but  a_{L-1} = x_{L-1}·((L-2)·N_{L-2}·M + A_{L-1})
 *   end:  Δ_L < n_{L-1}·s_{L-1}·log2 N_{L-1}
 *
 * (T_l is the sum over i = -1 .. l-1 of tokens_i·x_i·x_{i+1} .. x_{l-1}, with x_{-1} = |W|.) d and g are exact
 * integers; log2 C(N, k) is bounded by N·h(k/N), the rest is balls. log2 0 is -infinity: s_l = 1 needs no
 * image. */
#include "p6.h"

#include <stdio.h>

/* One image condition: k = s_l - 1 >= 1, N, addresses = x_l·n_{l-1}·s_{l-1}, slack = x_l·Δ_l + 1. */
typedef struct image_case {
    const fmpz *k, *table, *addresses, *slack;
} image_case;

/* N·h(k/N) + addresses·log2(k/N) + slack. With r = k/N, N·h(r) = -k·log2 r - (N-k)·log2(1-r). */
static void image_excess(arb_t out, const void *ctx, slong prec)
{
    const image_case *i = ctx;
    arb_t r, log_r, t, two;
    fmpz_t f;
    arb_init(r), arb_init(log_r), arb_init(t), arb_init(two), fmpz_init(f);
    arb_set_fmpz(r, i->k);
    arb_div_fmpz(r, r, i->table, prec);
    arb_log(log_r, r, prec);
    fmpz_sub(f, i->addresses, i->k);
    arb_mul_fmpz(out, log_r, f, prec);
    arb_neg(t, r);
    arb_log1p(t, t, prec);
    fmpz_sub(f, i->k, i->table);
    arb_addmul_fmpz(out, t, f, prec);
    arb_const_log2(two, prec);
    arb_div(out, out, two, prec);
    arb_add_fmpz(out, out, i->slack, prec);
    arb_clear(r), arb_clear(log_r), arb_clear(t), arb_clear(two), fmpz_clear(f);
}

/* Of what is left: each table above is one of a share of 2^-each of all, together they are a share of 2^-joint of those. */
typedef struct left {
    fmpz_t joint, each;
} left;

static bool image_holds(const hop__p6_numbers *p, int l, const fmpz_t table, const left *d)
{
    if (fmpz_is_one(&p->s[l])) return true;
    if (fmpz_cmp(&p->s[l], table) > 0) return false; /* then k/N < 1 below */
    fmpz_t k, addresses, slack;
    fmpz_init(k), fmpz_init(addresses), fmpz_init(slack);
    fmpz_sub_ui(k, &p->s[l], 1);
    fmpz_mul(addresses, &p->x[l], l > 1 ? &p->s[l - 1] : &p->x[0]);
    if (l > 1) fmpz_mul(addresses, addresses, &p->sizes[l - 1]);
    fmpz_add(slack, d->joint, d->each);
    fmpz_mul(slack, slack, &p->x[l]);
    fmpz_add_ui(slack, slack, 1);
    image_case c = {k, table, addresses, slack};
    bool holds = hop__sign(image_excess, &c) < 0;
    fmpz_clear(k), fmpz_clear(addresses), fmpz_clear(slack);
    return holds;
}

/* a_l + b_l */
static void told(fmpz_t bits, const hop__p6_numbers *p, int l, const fmpz_t table, const fmpz_t sum_t)
{
    int L = p->hops;
    fmpz_t t;
    fmpz_init(t);
    fmpz_mul(t, table, p->reply);
    fmpz_mul_si(t, t, l < L - 1 ? (slong)l * (L - l) : L - 2);
    if (l == L - 1) fmpz_add(t, t, &p->state[L - 1]);
    fmpz_mul(bits, t, &p->x[l]);
    fmpz_mul(t, sum_t, p->reply);
    fmpz_mul_si(t, t, L - l);
    fmpz_add(bits, bits, t);
    fmpz_clear(t);
}

/* d_{l+1} and g_{l+1}; at last d is Δ_L, and g 0. */
static void next_left(left *d, const hop__p6_numbers *p, int l, const fmpz_t table, const fmpz_t sum_t)
{
    int L = p->hops, last_state = l == L - 1 ? l - 1 : l;
    fmpz_t t;
    fmpz_init(t);
    if (l == 1 && L > 2) {
        fmpz_mul(t, &p->x[1], table);
        fmpz_add(t, t, sum_t);
        fmpz_addmul(d->each, t, p->reply);
        fmpz_set(d->joint, &p->state[1]);
    } else {
        fmpz_mul(d->joint, d->joint, &p->x[l]);
        fmpz_mul_si(t, d->each, L - l);
        fmpz_add(d->joint, d->joint, t);
        fmpz_add_ui(d->joint, d->joint, 1);
        for (int e = 0; e <= last_state; e++) fmpz_add(d->joint, d->joint, &p->state[e]);
        told(t, p, l, table, sum_t);
        fmpz_add(d->joint, d->joint, t);
        fmpz_zero(d->each);
    }
    fmpz_clear(t);
}

typedef struct end_case {
    const fmpz *table, *addresses, *delta;
} end_case;

static void end_excess(arb_t out, const void *ctx, slong prec)
{
    const end_case *e = ctx;
    hop__log2(out, e->table, prec);
    arb_mul_fmpz(out, out, e->addresses, prec);
    arb_sub_fmpz(out, out, e->delta, prec);
}

/* Every number in its range. */
static bool sizes_hold(const hop__p6_numbers *p)
{
    bool good = p->hops >= 2 && p->hops <= HOP__P6_MOST_HOPS && fmpz_cmp(&p->x[0], &p->sizes[0]) <= 0;
    for (int l = 0; good && l < p->hops; l++)
        good =
            fmpz_cmp_ui(&p->sizes[l], 2) >= 0 && fmpz_sgn(&p->x[l]) > 0 && (l == 0 || fmpz_sgn(&p->s[l]) > 0);
    return good;
}

bool hop__p6_verify(const hop__p6_numbers *p, char why[32])
{
    char ignored[32];
    int L = p->hops;
    snprintf(why ? why : ignored, sizeof ignored, "sizes");
    if (!sizes_hold(p)) return false;
    fmpz_t table, sum_t, addresses;
    left d;
    fmpz_init_set(table, &p->sizes[0]), fmpz_init(d.joint), fmpz_init_set(d.each, &p->state[0]);
    fmpz_init_set_ui(sum_t, 1), fmpz_init(addresses);
    for (int l = 1; l < L; l++) fmpz_mul(sum_t, sum_t, &p->sizes[l]);
    fmpz_add_ui(sum_t, sum_t, 1);
    fmpz_mul(sum_t, sum_t, &p->x[0]);
    bool good = true;
    for (int l = 1; good && l < L; l++) { /* table is N_{l-1}, sum_t is T_l */
        snprintf(why ? why : ignored, sizeof ignored, "image %d", l);
        good = image_holds(p, l, table, &d);
        next_left(&d, p, l, table, sum_t);
        fmpz_add(sum_t, sum_t, table);
        fmpz_mul(sum_t, sum_t, &p->x[l]);
        fmpz_mul(table, table, &p->sizes[l]);
    }
    if (good) {
        snprintf(why ? why : ignored, sizeof ignored, "end");
        fmpz_mul(addresses, &p->sizes[L - 1], &p->s[L - 1]);
        end_case e = {table, addresses, d.joint};
        good = hop__sign(end_excess, &e) > 0;
    }
    if (good && why) why[0] = 0;
    fmpz_clear(table), fmpz_clear(d.joint), fmpz_clear(d.each), fmpz_clear(sum_t), fmpz_clear(addresses);
    return good;
}
