/* The cut behind z_L, as a pigeonhole formula that propagation alone refutes. */
#include "encode.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

double hop__cut_clauses(const hop_exact_game *g, int states)
{
    if (states > 20) return 1e18;
    double labels = (double)((int64_t)1 << states),
           tables = (double)least(g->count[0], ((int64_t)1 << states) + 1);
    return tables * (1 + tables * labels / 6 + labels / 2);
}

static void describe(hop__cnf *f, const hop_exact_game *g, int64_t tables, int64_t labels)
{
    hop_text_printf(
        &f->comment,
        "%d-hop function composition, m %lld, fan %lld, no messages: the cut behind z_%d.\n"
        "Variable k*%lld+s+1: the k-th of %lld tables z_%d leaves state s, of %lld.\n"
        "Every entry of z_%d is asked for by some input, so two tables never leave the same state.\n"
        "States are named in the order of first use: the k-th table (from 0) uses one of 0..k.\n"
        "Unsatisfiable: no protocol has so few states.\n",
        g->hops, (long long)g->m, (long long)g->fan, g->hops, (long long)labels, (long long)tables, g->hops,
        (long long)labels, g->hops);
}

void hop__cut_encode(hop__cnf *f, const hop_exact_game *g, int states)
{
    const int64_t labels = (int64_t)1 << states, tables = least(g->count[0], labels + 1);
    describe(f, g, tables, labels);
    f->vars = (int)(tables * labels);
    for (int64_t k = 0; k < tables; k++) {
        for (int64_t s = 0; s < least(k + 1, labels); s++) hop__cnf_put(f, (int)(k * labels + s + 1));
        hop__cnf_put(f, 0);
        for (int64_t s = 0; s < least(k + 1, labels); s++)
            for (int64_t j = s; j < k; j++) /* a table before the s-th cannot use s */
                hop__cnf_clause(f, (int[]){-(int)(j * labels + s + 1), -(int)(k * labels + s + 1)}, 2);
    }
}
