/* What a column of a set may be, as an interval. */
#include "set_inside.h"

/* NaN stays: it must fail whatever it is compared with. */
ival hop__set_within(const hop__set *s, int64_t c, ival x)
{
    return (ival){x.lo < s->least[c] ? s->least[c] : x.lo, x.hi > s->most[c] ? s->most[c] : x.hi};
}

ival hop__set_term_range(const hop__set *s, int t, int64_t c)
{
    const hop__term *u = &s->term[t];
    ival x = {INFINITY, -INFINITY};
    if (!hop__term_fills(u, c)) return ival_point(0);
    for (int64_t r = 0; r < u->rows; r++) x = ival_hull(x, ival_point(hop__term_at(u, r, c)));
    return x;
}

/* x, which mid and rows are, give or take what a column's numbers may be off. */
static ival around(const hop__set *s, int64_t c, ival x)
{
    if (s->rel[c] > 0) x = ival_widen(x, ival_up(s->rel[c] * ival_mag(x)));
    return ival_widen(x, s->rad[c]);
}

ival hop__set_range(const hop__set *s, int64_t c)
{
    ival x = ival_point(s->mid[c]);
    for (int t = 0; t < s->terms; t++) x = ival_add(x, hop__set_term_range(s, t, c));
    return hop__set_within(s, c, around(s, c, x));
}

double hop__set_largest(const hop__set *s)
{
    double most = 0;
    for (int64_t c = 0; c < s->width; c++) most = ival_most(most, s->mag[c]);
    return most;
}

/* Rows lie one after the other: they are read in that order, not column by column. */
void hop__set_ranges(const hop__set *s, ival *out)
{
    enum { AT_ONCE = 256 };
    for (int64_t c = 0; c < s->width; c++) out[c] = ival_point(s->mid[c]);
    for (int t = 0; t < s->terms; t++) {
        const hop__term *u = &s->term[t];
        for (int64_t from = 0; from < u->count; from += AT_ONCE) {
            ival x[AT_ONCE], *to = out + u->first + from;
            int64_t n = u->count - from < AT_ONCE ? u->count - from : AT_ONCE;
            for (int64_t i = 0; i < n; i++) x[i] = (ival){INFINITY, -INFINITY};
            for (int64_t r = 0; r < u->rows; r++)
                for (int64_t i = 0; i < n; i++)
                    x[i] = ival_hull(x[i], ival_point(hop__term_row(u, r)[from + i]));
            for (int64_t i = 0; i < n; i++) to[i] = ival_add(to[i], x[i]);
        }
    }
    for (int64_t c = 0; c < s->width; c++) out[c] = hop__set_within(s, c, around(s, c, out[c]));
}
