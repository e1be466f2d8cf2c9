/* Heads that are too large or too small as a whole, where nothing takes that away: each number is, by itself.
 */
#include "analysis.h"

hop__set *hop__set_swung(hop__memory *m, const hop__set *x, const hop__head_gain *s, int64_t from)
{
    bool any = false;
    for (int64_t c = 0; s->by && c < x->width; c++) any = any || s->by[(from + c) / s->dim] > 0;
    if (!any) return (hop__set *)x;
    hop__set *y = hop__set_copy(m, x);
    for (int64_t c = 0; y && c < y->width; c++) {
        double by = s->by[(from + c) / s->dim];
        if (by == 0 || y->mag[c] == 0) continue;
        y->rel[c] = ival_up(ival_up((1 + y->rel[c]) * (1 + by)) - 1);
        y->rad[c] = ival_up(y->rad[c] * (1 + by) * HOP__ABOVE);
        y->least[c] = -INFINITY, y->most[c] = INFINITY;
    }
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}
