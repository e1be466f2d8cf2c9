/* partial.c - partial softmaxes that travel: folding two of them, dividing at the end, and making them fit
 * numbers of few bits. One body serves all tables: the work is small beside what makes the partials. */
#include "room.h"

#include <hopbound/arith_trace.h>

#include <string.h>

void hop_partial_fold(float *partials, const float *others, int64_t count, int64_t dim)
{
    for (int64_t i = 0; i < count; i++, partials += dim + 2, others += dim + 2) {
        float top = partials[0] > others[0] ? partials[0] : others[0];
        float weight[2] = {partials[0] - top, others[0] - top};
        TRACE_TOKEN(i);
        TRACE("m", &top, AT(V, 0));
        TRACE("ra", &weight[0], AT(V, 0));
        TRACE("rb", &weight[1], AT(V, 0));
        hop_vexp(weight, weight, 2);
        TRACE("wa", &weight[0], AT(V, 0));
        TRACE("wb", &weight[1], AT(V, 0));
        partials[0] = top;
        for (int64_t e = 1; e < dim + 2; e++) partials[e] = partials[e] * weight[0] + others[e] * weight[1];
        TRACE("y", partials + 1, ALONG(V, dim + 1, 1));
    }
}

void hop_partial_close(float *o, const float *partials, int64_t count, int64_t dim)
{
    for (int64_t i = 0; i < count; i++, o += dim, partials += dim + 2) {
        for (int64_t e = 0; e < dim; e++) o[e] = partials[2 + e] / partials[1];
        TRACE_TOKEN(i);
        TRACE("o", o, ALONG(V, dim, 1));
    }
}

void hop_partial_round(float *partials, int64_t count, int64_t dim, int bits)
{
    /* Maxima so large that rounding moves them further than this mean nothing at so few bits; what remains
     * must still be finite. */
    const float most = 60.0f;
    for (int64_t i = 0; bits < 32 && i < count; i++, partials += dim + 2) {
        float top = partials[0], by;
        hop_round_float(partials, 1, bits);
        TRACE_TOKEN(i);
        TRACE("m1", partials, AT(V, 0));
        by = top - partials[0];
        TRACE("moved", &by, AT(V, 0));
        by = by > most ? most : by < -most ? -most : by;
        TRACE("by", &by, AT(V, 0));
        hop_vexp(&by, &by, 1);
        TRACE("grow", &by, AT(V, 0));
        for (int64_t e = 1; e < dim + 2; e++) partials[e] *= by;
        TRACE("z1", partials + 1, AT(V, 0));
        TRACE("y1", partials + 2, ALONG(V, dim, 1));
        hop_round_float(partials + 1, dim + 1, bits);
        TRACE("zc", partials + 1, AT(V, 0));
        TRACE("yc", partials + 2, ALONG(V, dim, 1));
    }
}

/* Rounding on the bits is rounding of the number, denormals included, and a carry goes into the exponent as
 * it should. */
void hop_round_float(float *x, int64_t n, int bits)
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
