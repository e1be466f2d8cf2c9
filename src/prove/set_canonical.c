/* Every set is made canonical by what makes it: rows that are equal become one, what does not vary goes to mid, and
 * what is known of each column is measured. */
#include "set_inside.h"

#include <string.h>

/* ---- equal rows ---------------------------------------------------------------------------- */

static uint64_t slice_hash(const hop__term *t, int k, int64_t c)
{
    uint64_t h = HOP__HASH;
    int64_t run = hop__term_step(t, k) * t->count;
    for (int64_t i = 0; i < hop__term_runs(t, k); i++)
        h = hop__hash_numbers(h, hop__term_run(t, k, c, i), run);
    return h;
}

static bool same_slice(const hop__term *t, int k, int64_t a, int64_t b)
{
    size_t run = sizeof(double) * (size_t)(hop__term_step(t, k) * t->count);
    for (int64_t i = 0; i < hop__term_runs(t, k); i++)
        if (memcmp(hop__term_run(t, k, a, i), hop__term_run(t, k, b, i), run) != 0) return false;
    return true;
}

/* Classes of variable k whose rows are equal become one. */
static void merge_classes(hop__memory *m, hop__term *t, int k)
{
    int64_t n = t->classes[k], size = 16, kept = 0;
    while (size < 2 * n) size *= 2;
    int32_t *table = hop__take(m, size, sizeof *table), *to = hop__take(m, n, sizeof *to);
    int32_t *first = hop__take(m, n, sizeof *first);
    if (m->status != HOP_OK) return;
    for (int64_t c = 0; c < n; c++) {
        uint64_t at = slice_hash(t, k, c) & (uint64_t)(size - 1);
        while (table[at] && !same_slice(t, k, first[table[at] - 1], c)) at = (at + 1) & (uint64_t)(size - 1);
        if (!table[at]) {
            first[kept] = (int32_t)c;
            table[at] = (int32_t)++kept;
        }
        to[c] = table[at] - 1;
    }
    if (kept == n) return;
    int32_t *of = hop__take(m, t->values[k], sizeof *of);
    if (m->status != HOP_OK) return;
    for (int64_t v = 0; v < t->values[k]; v++) of[v] = to[t->of[k][v]];
    hop__term old = *t;
    t->classes[k] = kept, t->rows = old.rows / n * kept, t->of[k] = of;
    /* In place: first[c] >= c, so that no run is written over before it has been moved. */
    size_t run = sizeof(double) * (size_t)(hop__term_step(t, k) * t->count);
    for (int64_t i = 0; i < hop__term_runs(t, k); i++)
        for (int64_t c = 0; c < kept; c++)
            memmove(hop__term_run(t, k, c, i), hop__term_run(&old, k, first[c], i), run);
}

/* ---- columns that do not vary -------------------------------------------------------------- */

/* No -0, so that equal rows have equal bits; and of the columns only those from the first to the last one
 * that is not all 0. */
static void trim(hop__term *t)
{
    int64_t lo = t->count, hi = -1;
    for (int64_t r = 0; r < t->rows; r++) {
        double *row = hop__term_row(t, r);
        for (int64_t i = 0; i < t->count; i++) row[i] += 0.0;
        for (int64_t i = 0; i < lo; i++)
            if (row[i] != 0) lo = i;
        for (int64_t i = t->count - 1; i > hi; i--)
            if (row[i] != 0) hi = i;
    }
    int64_t count = hi < lo ? 0 : hi - lo + 1;
    if (count == t->count) return;
    for (int64_t r = 0; r < t->rows; r++)
        memmove(t->cell + r * count, t->cell + r * t->count + (count ? lo : 0),
                sizeof(double) * (size_t)count);
    t->first += count ? lo : 0, t->count = count;
}

/* Columns in which a term does not vary belong to mid. Is there one? */
static bool settle_columns(hop__set *s, hop__term *t)
{
    bool any = false;
    for (int64_t c = t->first; c < t->first + t->count; c++) {
        double first = *hop__term_cell(t, 0, c);
        int64_t r = 0;
        if (first == 0) continue;
        while (r < t->rows && *hop__term_cell(t, r, c) == first) r++;
        if (r < t->rows && t->rows > 1) continue;
        hop__set_add_mid(s, c, first);
        for (r = 0; r < t->rows; r++) *hop__term_cell(t, r, c) = 0;
        any = true;
    }
    return any;
}

/* ---- mag and grid -------------------------------------------------------------------------- */

/* A term's part in what is known of the columns: row by row, as they lie; most [count]: room. */
static void measure_term(const hop__set *s, const hop__term *u, double *most)
{
    int *grid = s->grid + u->first;
    bool any = false;
    for (int64_t i = 0; i < u->count; i++) most[i] = 0, any = any || grid[i] != HOP__NO_GRID;
    for (int64_t r = 0; r < u->rows; r++) {
        const double *row = hop__term_row(u, r);
        for (int64_t i = 0; i < u->count; i++) most[i] = ival_most(most[i], fabs(row[i]));
        for (int64_t i = 0; any && i < u->count; i++) {
            if (grid[i] == HOP__NO_GRID || row[i] == 0) continue;
            int low = hop__low_bit(row[i]);
            grid[i] = low < grid[i] ? low : grid[i];
        }
    }
    for (int64_t i = 0; i < u->count; i++) {
        s->mag[u->first + i] += most[i];
        if (u->mixture && most[i] > 0) grid[i] = HOP__NO_GRID;
    }
}

void hop__set_measure(hop__memory *m, hop__set *s)
{
    for (int64_t c = 0; c < s->width; c++) {
        s->mag[c] = fabs(s->mid[c]);
        s->grid[c] = s->rad[c] == 0 && s->rel[c] == 0 ? hop__low_bit(s->mid[c]) : HOP__NO_GRID;
    }
    double *most = s->terms ? hop__take(m, s->width, sizeof *most) : NULL;
    for (int t = 0; most && t < s->terms; t++) measure_term(s, &s->term[t], most);
    double up =
        1 + ival_most(0x1p-48, (s->terms + 8) * 0x1p-52); /* a sum over terms, of numbers not below 0 */
    for (int64_t c = 0; c < s->width; c++) {
        s->mag[c] = s->mag[c] * (1 + s->rel[c]) + s->rad[c];
        if (s->mag[c] != 0) s->mag[c] = ival_up(s->mag[c] * up);
        if (!(s->mag[c] < HOP__LARGEST)) m->overflow = true;
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* False: some table has fewer variables than before, or columns, and may now be joined with another. */
static bool is_settled(hop__memory *m, hop__set *s)
{
    hop__term joint;
    bool settled = true;
    for (int t = 0; t < s->terms; t++) trim(&s->term[t]);
    for (int a = 0; a < s->terms; a++)
        for (int b = s->terms - 1; b > a; b--)
            if (hop__term_pays(m, &joint, &s->term[a], &s->term[b])) hop__set_join_two(m, s, a, b);
    for (int t = s->terms - 1; m->status == HOP_OK && t >= 0; t--) {
        hop__term *u = &s->term[t];
        for (int k = u->vars - 1; m->status == HOP_OK && u->count && k >= 0; k--) {
            merge_classes(m, u, k);
            if (u->classes[k] == 1) hop__term_forget(u, k), settled = false;
        }
        if (m->status == HOP_OK && settle_columns(s, u)) trim(u), settled = false;
        if (u->count == 0 || u->rows == 1) hop__set_remove_term(s, t); /* all of it is in mid now */
    }
    return settled || s->terms < 2;
}

/* What this has been done to it leaves as it is. */
void hop__set_canonical(hop__memory *m, hop__set *s)
{
    if (m->status != HOP_OK || !s) return;
    while (m->status == HOP_OK && !is_settled(m, s)) continue;
    if (m->status == HOP_OK) hop__set_measure(m, s);
}
