/* Every set is tidied by what makes it: rows that are equal become one, what does not vary goes to mid, and
 * what is known of each column is measured. */
#include "set_inside.h"

#include <string.h>

/* ---- equal rows ---------------------------------------------------------------------------- */

static uint64_t slice_hash(const hop__term *t, int k, int64_t c, int64_t width)
{
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < t->rows / t->classes[k]; i++) {
        const double *r = t->row + hop__term_slice(t, k, c, i) * width;
        for (int64_t e = 0; e < width; e++) {
            uint64_t bits;
            memcpy(&bits, &r[e], sizeof bits);
            h = (h ^ bits) * 1099511628211u;
            h ^= h >> 29;
        }
    }
    return h;
}

static bool same_slice(const hop__term *t, int k, int64_t a, int64_t b, int64_t width)
{
    for (int64_t i = 0; i < t->rows / t->classes[k]; i++)
        if (memcmp(t->row + hop__term_slice(t, k, a, i) * width, t->row + hop__term_slice(t, k, b, i) * width,
                   sizeof(double) * (size_t)width) != 0)
            return false;
    return true;
}

/* Classes of variable k whose rows are equal become one. */
static void merge_classes(hop__memory *m, hop__term *t, int k, int64_t width)
{
    int64_t n = t->classes[k], size = 16, kept = 0;
    while (size < 2 * n) size *= 2;
    int32_t *table = hop__take(m, size, sizeof *table), *to = hop__take(m, n, sizeof *to);
    int32_t *first = hop__take(m, n, sizeof *first);
    if (m->status != HOP_OK) return;
    for (int64_t c = 0; c < n; c++) {
        uint64_t at = slice_hash(t, k, c, width) & (uint64_t)(size - 1);
        while (table[at] && !same_slice(t, k, first[table[at] - 1], c, width))
            at = (at + 1) & (uint64_t)(size - 1);
        if (!table[at]) {
            first[kept] = (int32_t)c;
            table[at] = (int32_t)++kept;
        }
        to[c] = table[at] - 1;
    }
    if (kept == n) return;
    int32_t *of = hop__take(m, t->values[k], sizeof *of);
    int64_t rest = t->rows / n;
    double *row = hop__take(m, rest * kept * width, sizeof *row);
    if (m->status != HOP_OK) return;
    for (int64_t v = 0; v < t->values[k]; v++) of[v] = to[t->of[k][v]];
    hop__term old = *t;
    t->classes[k] = kept, t->rows = rest * kept, t->row = row, t->of[k] = of;
    for (int64_t c = 0; c < kept; c++)
        for (int64_t i = 0; i < rest; i++)
            memcpy(row + hop__term_slice(t, k, c, i) * width,
                   old.row + hop__term_slice(&old, k, first[c], i) * width, sizeof(double) * (size_t)width);
}

/* Columns in which a term does not vary belong to mid. */
static void settle_columns(hop__set *s, hop__term *t)
{
    for (int64_t c = 0; c < s->width; c++) {
        double first = t->row[c];
        int64_t r = 0;
        if (first == 0) continue;
        while (r < t->rows && t->row[r * s->width + c] == first) r++;
        if (r < t->rows) continue;
        hop__set_add_mid(s, c, first);
        for (r = 0; r < t->rows; r++) t->row[r * s->width + c] = 0;
    }
}

/* ---- mag and grid -------------------------------------------------------------------------- */

/* A term's part in what is known of columns from .. from + n - 1: row by row, as they lie. */
static void measure_term(const hop__set *s, const hop__term *u, int64_t from, int64_t n)
{
    enum { AT_ONCE = 256 };
    double most[AT_ONCE];
    for (; n > 0; from += AT_ONCE, n -= AT_ONCE) {
        int64_t count = n < AT_ONCE ? n : AT_ONCE;
        for (int64_t c = 0; c < count; c++) most[c] = 0;
        for (int64_t r = 0; r < u->rows; r++) {
            const double *row = u->row + r * s->width + from;
            for (int64_t c = 0; c < count; c++) {
                if (row[c] == 0) continue;
                most[c] = ival_most(most[c], fabs(row[c]));
                if (s->grid[from + c] == HOP__NO_GRID) continue;
                int low = hop__low_bit(row[c]);
                s->grid[from + c] = low < s->grid[from + c] ? low : s->grid[from + c];
            }
        }
        for (int64_t c = 0; c < count; c++) {
            s->mag[from + c] += most[c];
            if (u->mixture && most[c] > 0) s->grid[from + c] = HOP__NO_GRID;
        }
    }
}

void hop__set_measure(hop__memory *m, hop__set *s)
{
    for (int64_t c = 0; c < s->width; c++) {
        s->mag[c] = fabs(s->mid[c]);
        s->grid[c] = s->rad[c] == 0 && s->rel[c] == 0 ? hop__low_bit(s->mid[c]) : HOP__NO_GRID;
    }
    for (int t = 0; t < s->terms; t++) measure_term(s, &s->term[t], 0, s->width);
    for (int64_t c = 0; c < s->width; c++) {
        s->mag[c] = s->mag[c] * (1 + s->rel[c]) + s->rad[c];
        if (s->mag[c] != 0) s->mag[c] = ival_up(s->mag[c] * (1 + 0x1p-48));
        if (!(s->mag[c] < HOP__LARGEST)) m->overflow = true;
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

void hop__set_tidy(hop__memory *m, hop__set *s)
{
    if (m->status != HOP_OK || !s) return;
    for (int a = 0; a < s->terms; a++)
        for (int b = s->terms - 1; b > a; b--)
            if (hop__term_same_vars(&s->term[a], &s->term[b])) hop__set_join_two(m, s, a, b);
    for (int t = s->terms - 1; m->status == HOP_OK && t >= 0; t--) {
        hop__term *u = &s->term[t];
        for (int64_t i = 0; i < u->rows * s->width; i++)
            u->row[i] += 0.0; /* no -0: equal rows have equal bits */
        for (int k = u->vars - 1; m->status == HOP_OK && k >= 0; k--) {
            merge_classes(m, u, k, s->width);
            if (u->classes[k] == 1) hop__term_forget(u, k);
        }
        if (m->status == HOP_OK) settle_columns(s, u);
        if (u->rows == 1) hop__set_remove_term(s, t); /* all of it is in mid now */
    }
    if (m->status == HOP_OK) hop__set_measure(m, s);
}
