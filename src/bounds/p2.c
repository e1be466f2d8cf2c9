/* P2: no full layer at all. After z_L has been read, the Q state bits of the stack are all that the rest of
 * the prompt sees of it, and every entry of it is asked for by some continuation: Q >= N·log2 N, N = N_{L-1}.
 */
#include "certificate.h"

#include <math.h>
#include <stdio.h>

bool hop__linear_only(hop__case *c, hop_bound *b)
{
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hybrid.full == 0,
                 hop__say(c, "no full layer, %s", hop__say_here(c, c->hybrid.full)));
    return b->applies;
}

bool hop__asked_table(hop__case *c, fmpz_t table)
{
    fmpz sizes[HOP_MAX_HOPS] = {0};
    bool known = c->by_sizes;
    fmpz_one(table);
    if (c->by_sizes)
        for (int l = 0; l < c->hops; l++) fmpz_mul(table, table, &c->sizes[l]);
    else if (c->asked)
        known = hop__largest_table(table, sizes, c->hops, &c->n);
    for (int l = 0; l < c->hops; l++) fmpz_clear(&sizes[l]);
    return known;
}

void hop__p2(hop__case *c, hop_bound *b)
{
    if (!hop__linear_only(c, b)) return;
    fmpz sizes[HOP_MAX_HOPS] = {0};
    fmpz_t table;
    fmpz_init(table);
    if (hop__asked_table(c, table))
        b->needs = hop__say(c, "Q >= N log2 N = %.6g bits, N = %s",
                            exp2(hop__to_log2(table)) * hop__to_log2(table), hop__say_integer(c, table));
    else
        b->needs = "Q >= N log2 N bits";
    b->has = hop__say(c, "Q = %s state bits", hop__say_integer(c, &c->hybrid.total));
    bool here = c->by_sizes && hop__table_exceeds(table, &c->hybrid.total);
    hop__least_table(table, &c->hybrid.total);
    hop__sizes_for_table(sizes, c->hops, table);
    hop__certify(c, b, &(hop__proof){.by = "P2"}, here ? c->sizes : sizes, c->hops);
    hop__speak_at(c, b, sizes, c->hops);
    if (c->by_sizes) hop__speak_here(c, b, here);
    for (int l = 0; l < c->hops; l++) fmpz_clear(&sizes[l]);
    fmpz_clear(table);
}

hop_status hop_tables_outgrow(const hop_arch *a, char out[32], double *log10_n, hop_error *err)
{
    hop__hybrid hybrid;
    hop_text text = {0};
    hop_status s = hop__arch_check(a, err);
    *out = 0, *log10_n = INFINITY;
    if (s != HOP_OK) return s;
    hop__hybrid_init(&hybrid, a);
    if (!fmpz_is_zero(&hybrid.total) && hybrid.other == 0) { /* others may keep what no state does */
        fmpz_t n;
        fmpz_init(n);
        hop__least_table(n, &hybrid.total);
        fmpz_add_ui(n, n, 2);
        hop__print_integer(&text, n);
        *log10_n = hop__to_log2(n) * log10(2);
        fmpz_clear(n);
        if (text.s && !text.failed)
            snprintf(out, 32, "%s", text.s);
        else
            s = hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    }
    hop_text_free(&text);
    hop__hybrid_clear(&hybrid);
    return s;
}
