/* P2, P4 and P5 in the bits of a cell. Everything is raised to powers of two and compared as integers: a
 * hop_exact_game's tables are at most 2^24, and every left side below is at most the number of tables. */
#include "theory.h"

static hop_answer verdict(bool impossible)
{
    return impossible ? HOP_ANSWER_IMPOSSIBLE : HOP_ANSWER_SILENT;
}

/* base^exponent > 2^bits; the power fits. */
static bool exceeds(int64_t base, int64_t exponent, int64_t bits)
{
    int64_t power = 1;
    while (exponent-- > 0) power *= base;
    return bits < 62 && power > (int64_t)1 << bits;
}

/* No messages: the state bits must tell all tables z_L apart, Q >= N log2 N. */
hop_answer hop__exact_p2(const hop_exact_game *g, hop_bits b)
{
    return verdict(b.message == 0 && exceeds(g->answers, g->answers, (int64_t)b.before + b.after));
}

/* Two hops: n_1 |V| log2(m n_1) > n_1 M + |V| B + A for |V| = 1 or v = ceil(m / 2^(A/m)). */
hop_answer hop__exact_p4(const hop_exact_game *g, hop_bits b)
{
    if (g->hops != 2) return HOP_ANSWER_SILENT;
    int64_t v = 1, mm = 1;
    for (int64_t k = 0; k < g->m; k++) mm *= g->m;
    for (; v < g->m; v++) { /* the least v with v^m 2^A >= m^m */
        int64_t power = 1;
        for (int64_t k = 0; k < g->m; k++) power *= v;
        if (b.before >= 24 || power << b.before >= mm) break;
    }
    bool impossible = false;
    for (int64_t k = 1; k <= v; k += v > 1 ? v - 1 : 1)
        impossible |= exceeds(g->answers, g->fan * k, g->fan * b.message + k * b.after + b.before);
    return verdict(impossible);
}

/* One hop, one full layer and no linear one: M >= m log2 m. */
hop_answer hop__exact_p5(const hop_exact_game *g, hop_bits b)
{
    return verdict(g->hops == 1 && b.before == 0 && b.after == 0 && exceeds(g->m, g->m, b.message));
}
