/* triple.c - partial softmaxes that travel: folding two of them, dividing at the end, and making them fit
 * numbers of few bits. One body serves all tables: the work is small beside what makes the triples. */
#include "room.h"

#include <string.h>

void hop_triple_fold(float *triples, const float *others, int64_t count, int64_t dim)
{
    for (int64_t i = 0; i < count; i++, triples += dim + 2, others += dim + 2) {
        float top = triples[0] > others[0] ? triples[0] : others[0];
        float weight[2] = {triples[0] - top, others[0] - top};
        hop_vexp(weight, weight, 2);
        triples[0] = top;
        for (int64_t e = 1; e < dim + 2; e++) triples[e] = triples[e] * weight[0] + others[e] * weight[1];
    }
}

void hop_triple_close(float *o, const float *triples, int64_t count, int64_t dim)
{
    for (int64_t i = 0; i < count; i++, o += dim, triples += dim + 2)
        for (int64_t e = 0; e < dim; e++) o[e] = triples[2 + e] / triples[1];
}

void hop_triple_narrow(float *triples, int64_t count, int64_t dim, int bits)
{
    /* Maxima so large that rounding moves them further than this mean nothing at so few bits; what remains
     * must still be finite. */
    const float most = 60.0f;
    for (int64_t i = 0; bits < 32 && i < count; i++, triples += dim + 2) {
        float top = triples[0], by;
        hop_narrow(triples, 1, bits);
        by = top - triples[0];
        by = by > most ? most : by < -most ? -most : by;
        hop_vexp(&by, &by, 1);
        for (int64_t e = 1; e < dim + 2; e++) triples[e] *= by;
        hop_narrow(triples + 1, dim + 1, bits);
    }
}

/* Rounding on the bits is rounding of the number, denormals included, and a carry goes into the exponent as
 * it should. */
void hop_narrow(float *x, int64_t n, int bits)
{
    assert(bits >= 10 && bits <= 32);
    const uint32_t drop = (uint32_t)(32 - bits), unit = 1u << drop;
    for (int64_t i = 0; drop && i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], sizeof u);
        if ((u & 0x7fffffffu) > 0x7f800000u)
            u |= 0x400000u; /* a NaN whose low bits are dropped must not become an infinity */
        else
            u += unit / 2 - 1 + ((u >> drop) & 1u);
        u &= ~(unit - 1);
        memcpy(&x[i], &u, sizeof u);
    }
}
