/* What a column of a set may be, as an interval. */
#include "set_inside.h"

/* NaN stays: it must fail whatever it is compared with. */
ival hop__set_within(const hop__set *s, int64_t c, ival x)
{
    return (ival){x.lo < s->least[c] ? s->least[c] : x.lo, x.hi > s->most[c] ? s->most[c] : x.hi};
}

ival hop__set_term_range(const hop__set *s, int t, int64_t c)
{
    ival x = {INFINITY, -INFINITY};
    for (int64_t r = 0; r < s->term[t].rows; r++)
        x = ival_hull(x, ival_point(s->term[t].row[r * s->width + c]));
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

/* Rows lie one after the other: they are read in that order, not column by column. */
void hop__set_ranges(const hop__set *s, ival *out)
{
    enum { AT_ONCE = 256 };
    for (int64_t from = 0; from < s->width; from += AT_ONCE) {
        int64_t n = s->width - from < AT_ONCE ? s->width - from : AT_ONCE;
        for (int64_t c = 0; c < n; c++) out[from + c] = ival_point(s->mid[from + c]);
        for (int t = 0; t < s->terms; t++) {
            ival x[AT_ONCE];
            for (int64_t c = 0; c < n; c++) x[c] = (ival){INFINITY, -INFINITY};
            for (int64_t r = 0; r < s->term[t].rows; r++)
                for (int64_t c = 0; c < n; c++)
                    x[c] = ival_hull(x[c], ival_point(s->term[t].row[r * s->width + from + c]));
            for (int64_t c = 0; c < n; c++) out[from + c] = ival_add(out[from + c], x[c]);
        }
    }
    for (int64_t c = 0; c < s->width; c++) out[c] = hop__set_within(s, c, around(s, c, out[c]));
}
