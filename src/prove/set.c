#include "set.h"

#include <hopbound/kernels.h>

#include <stdlib.h>
#include <string.h>

/* ---- memory -------------------------------------------------------------------------------- */

/* Blocks that are handed out piece by piece and used again after a clear: pages that are there already cost
 * less than new ones. */
struct hop__chunk {
    struct hop__chunk *next;
    size_t size, used;
    char pad[HOP_ALIGN - sizeof(void *) - 2 * sizeof(size_t)];
};

#define LEAST_CHUNK ((size_t)1 << 20)

void *hop__take(hop__memory *m, int64_t count, size_t size)
{
    size_t bytes;
    if (m->status != HOP_OK) return NULL;
    if (count < 0 || !hop_mul_size((size_t)count, size, &bytes) || bytes > SIZE_MAX / 4) {
        m->status = HOP_ENOMEM;
        return NULL;
    }
    bytes = (bytes + HOP_ALIGN - 1) / HOP_ALIGN * HOP_ALIGN + (bytes == 0) * HOP_ALIGN;
    struct hop__chunk **at = &m->chunks, *c = m->chunks;
    for (; c && c->size - c->used < bytes; c = c->next) at = &c->next;
    if (!c) {
        size_t room = bytes > LEAST_CHUNK ? bytes : LEAST_CHUNK;
        c = hop_alloc_raw(sizeof *c + room);
        if (!c) {
            m->status = HOP_ENOMEM;
            return NULL;
        }
        *c = (struct hop__chunk){.size = room};
        *at = c;
    }
    char *p = (char *)(c + 1) + c->used;
    c->used += bytes;
    return memset(p, 0, bytes);
}

void hop__memory_clear(hop__memory *m)
{
    for (struct hop__chunk *c = m->chunks; c; c = c->next) c->used = 0;
}

void hop__memory_free(hop__memory *m)
{
    while (m->chunks) {
        struct hop__chunk *next = m->chunks->next;
        hop_free(m->chunks);
        m->chunks = next;
    }
}

/* ---- numbers ------------------------------------------------------------------------------- */

int hop__low_bit(double x)
{
    int exponent;
    if (x == 0) return HOP__ANY_GRID;
    if (!isfinite(x)) return HOP__NO_GRID;
    double mantissa = frexp(x, &exponent); /* x = mantissa 2^exponent; 53 bits */
    int64_t whole = (int64_t)(fabs(mantissa) * 0x1p53);
    return exponent - 53 + __builtin_ctzll((unsigned long long)whole);
}

ival hop__float(ival x)
{
    if (!(x.lo > -HOP__LARGEST && x.hi < HOP__LARGEST)) return (ival){-INFINITY, INFINITY};
    if (ival_is_point(x) && (double)(float)x.lo == x.lo) return x;
    return ival_widen(x, HOP_UNIT_ROUNDOFF * ival_mag(x) + 0x1p-149);
}

/* Rounding does not change a sign. */
ival hop__times(ival a, ival b)
{
    if (b.lo == b.hi && fabs(b.lo) == 1) return ival_scale(a, b.lo);
    ival r = hop__float(ival_mul(a, b));
    if (((a.lo >= 0 && b.hi <= 0) || (a.hi <= 0 && b.lo >= 0)) && r.hi > 0) r.hi = 0;
    if (((a.lo >= 0 && b.lo >= 0) || (a.hi <= 0 && b.hi <= 0)) && r.lo < 0) r.lo = 0;
    return r;
}

/* ---- making -------------------------------------------------------------------------------- */

hop__set *hop__set_new(hop__memory *m, int64_t width)
{
    hop__set *s = hop__take(m, 1, sizeof *s);
    if (!s) return NULL;
    s->width = width;
    s->mid = hop__take(m, width, sizeof(double));
    s->rad = hop__take(m, width, sizeof(double));
    s->rel = hop__take(m, width, sizeof(double));
    s->mag = hop__take(m, width, sizeof(double));
    s->grid = hop__take(m, width, sizeof(int));
    s->least = hop__take(m, width, sizeof(double));
    s->most = hop__take(m, width, sizeof(double));
    hop__set_unbound(s);
    return m->status == HOP_OK ? s : NULL;
}

void hop__set_unbound(hop__set *s)
{
    for (int64_t c = 0; s->least && s->most && c < s->width; c++)
        s->least[c] = -INFINITY, s->most[c] = INFINITY;
}

static int64_t product(const hop__term *t)
{
    int64_t rows = 1;
    for (int k = 0; k < t->vars; k++) rows *= t->classes[k];
    return rows;
}

bool hop__set_reserve(hop__memory *m, hop__set *s, int terms)
{
    if (terms > HOP__MOST_TERMS && m->status == HOP_OK) m->status = HOP_EDOMAIN;
    if (m->status != HOP_OK) return false;
    if (terms <= s->room) return true;
    int room = terms < 4 ? 4 : 2 * terms;
    hop__term *t = hop__take(m, room, sizeof *t);
    if (!t) return false;
    if (s->terms) memcpy(t, s->term, sizeof *t * (size_t)s->terms);
    s->term = t, s->room = room;
    return true;
}

/* One more term with these variables and classes; rows zero. */
hop__term *hop__set_term_like(hop__memory *m, hop__set *s, const hop__term *like)
{
    if (!hop__set_reserve(m, s, s->terms + 1)) return NULL;
    hop__term t = *like;
    t.rows = product(&t);
    t.row = hop__take(m, t.rows * s->width, sizeof(double));
    if (!t.row) return NULL;
    s->term[s->terms] = t;
    return &s->term[s->terms++];
}

hop__term *hop__set_add_term(hop__memory *m, hop__set *s, int var, int64_t values, const int32_t *of,
                             int64_t classes)
{
    if (m->status != HOP_OK) return NULL;
    if (!of) {
        int32_t *own = hop__take(m, values, sizeof *own);
        for (int64_t i = 0; own && i < values; i++) own[i] = (int32_t)i;
        of = own;
        classes = values;
    }
    hop__term t = {.vars = 1, .var = {var}, .values = {values}, .classes = {classes}, .of = {of}};
    return m->status == HOP_OK ? hop__set_term_like(m, s, &t) : NULL;
}

int64_t hop__term_class(const hop__term *t, int k, int64_t row)
{
    for (int i = t->vars - 1; i > k; i--) row /= t->classes[i];
    return row % t->classes[k];
}

/* ---- equal rows ---------------------------------------------------------------------------- */

/* Rows between neighbours that differ in variable k only by one. */
static int64_t step_of(const hop__term *t, int k)
{
    int64_t step = 1;
    for (int i = t->vars - 1; i > k; i--) step *= t->classes[i];
    return step;
}

/* Visits the rows of class c of variable k. */
static int64_t slice_row(const hop__term *t, int k, int64_t c, int64_t i)
{
    int64_t step = step_of(t, k);
    return (i / step * t->classes[k] + c) * step + i % step;
}

static uint64_t slice_hash(const hop__term *t, int k, int64_t c, int64_t width)
{
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < t->rows / t->classes[k]; i++) {
        const double *r = t->row + slice_row(t, k, c, i) * width;
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
        if (memcmp(t->row + slice_row(t, k, a, i) * width, t->row + slice_row(t, k, b, i) * width,
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
            memcpy(row + slice_row(t, k, c, i) * width, old.row + slice_row(&old, k, first[c], i) * width,
                   sizeof(double) * (size_t)width);
}

static void forget_var(hop__term *t, int k)
{
    t->vars--;
    for (int i = k; i < t->vars; i++) {
        t->var[i] = t->var[i + 1];
        t->values[i] = t->values[i + 1];
        t->classes[i] = t->classes[i + 1];
        t->of[i] = t->of[i + 1];
    }
}

static void remove_term(hop__set *s, int t)
{
    s->terms--;
    for (int i = t; i < s->terms; i++) s->term[i] = s->term[i + 1];
}

/* mid[c] += x, what is lost goes to the box. */
static void add_mid(hop__set *s, int64_t c, double x)
{
    double sum = s->mid[c] + x;
    if (!(sum - s->mid[c] == x && sum - x == s->mid[c])) s->rad[c] = ival_up(s->rad[c] + 0x1p-52 * fabs(sum));
    s->mid[c] = sum;
}

/* ---- joining ------------------------------------------------------------------------------- */

bool hop__term_joint(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b, int64_t width)
{
    *out = *a;
    for (int k = 0; k < b->vars; k++) {
        int at = 0;
        while (at < out->vars && out->var[at] != b->var[k]) at++;
        if (at == HOP__TERM_VARS) return false;
        if (at == out->vars) {
            out->vars++;
            out->var[at] = b->var[k], out->values[at] = b->values[k];
            out->classes[at] = b->classes[k], out->of[at] = b->of[k];
            continue;
        }
        int64_t values = b->values[k], pairs = out->classes[at] * b->classes[k];
        if (pairs > HOP__MOST_CELLS) return false;
        int32_t *seen = hop__take(m, pairs, sizeof *seen), *of = hop__take(m, values, sizeof *of);
        if (m->status != HOP_OK) return false;
        int32_t count = 0;
        for (int64_t v = 0; v < values; v++) {
            int64_t pair = out->of[at][v] * b->classes[k] + b->of[k][v];
            if (!seen[pair]) seen[pair] = ++count;
            of[v] = seen[pair] - 1;
        }
        out->classes[at] = count;
        out->of[at] = of;
    }
    double rows = 1;
    for (int k = 0; k < out->vars; k++) rows *= (double)out->classes[k];
    return rows <= (double)HOP__MOST_ROWS && rows * (double)width <= (double)HOP__MOST_CELLS;
}

int32_t *hop__term_rows_within(hop__memory *m, const hop__term *fine, const hop__term *coarse)
{
    int32_t *row_of = hop__take(m, fine->rows, sizeof *row_of);
    for (int k = 0; row_of && k < coarse->vars; k++) {
        int at = 0;
        while (fine->var[at] != coarse->var[k]) at++;
        int32_t *to = hop__take(m, fine->classes[at], sizeof *to);
        if (!to) return NULL;
        for (int64_t v = 0; v < coarse->values[k]; v++) to[fine->of[at][v]] = coarse->of[k][v];
        int64_t step = step_of(coarse, k);
        for (int64_t r = 0; r < fine->rows; r++)
            row_of[r] += (int32_t)(to[hop__term_class(fine, at, r)] * step);
    }
    return row_of;
}

/* Puts terms a < b of s in place of a as one; false when that would be too large. */
bool hop__set_join_two(hop__memory *m, hop__set *s, int a, int b)
{
    hop__term t;
    if (s->term[a].mixture || s->term[b].mixture ||
        !hop__term_joint(m, &t, &s->term[a], &s->term[b], s->width))
        return false;
    t.rows = product(&t);
    t.row = hop__take(m, t.rows * s->width, sizeof(double));
    const int32_t *ra = hop__term_rows_within(m, &t, &s->term[a]),
                  *rb = hop__term_rows_within(m, &t, &s->term[b]);
    if (m->status != HOP_OK) return false;
    double *lost = hop__take(m, s->width, sizeof *lost);
    for (int64_t r = 0; lost && r < t.rows; r++) {
        const double *x = s->term[a].row + ra[r] * s->width, *y = s->term[b].row + rb[r] * s->width;
        double *z = t.row + r * s->width;
        for (int64_t c = 0; c < s->width; c++) {
            z[c] = x[c] + y[c];
            if (x[c] != 0 && y[c] != 0 && !(z[c] - x[c] == y[c] && z[c] - y[c] == x[c]))
                lost[c] = fmax(lost[c], 0x1p-52 * fabs(z[c]));
        }
    }
    for (int64_t c = 0; lost && c < s->width; c++)
        if (lost[c] > 0) s->rad[c] = ival_up(s->rad[c] + lost[c]);
    s->term[a] = t;
    remove_term(s, b);
    return true;
}

hop__set *hop__set_joined(hop__memory *m, const hop__set *x)
{
    for (int t = 0; t < x->terms; t++)
        if (x->term[t].mixture) return NULL;
    hop__set *s = hop__set_columns(m, x, 0, x->width);
    while (s && m->status == HOP_OK && s->terms > 1)
        if (!hop__set_join_two(m, s, 0, 1)) return NULL;
    return s;
}

static bool same_vars(const hop__term *a, const hop__term *b)
{
    if (a->vars != b->vars || a->mixture || b->mixture) return false;
    for (int i = 0; i < a->vars; i++) {
        bool found = false;
        for (int j = 0; j < b->vars; j++) found = found || a->var[i] == b->var[j];
        if (!found) return false;
    }
    return true;
}

void hop__set_fix(hop__memory *m, hop__set *s, int var, int64_t value)
{
    for (int t = 0; m->status == HOP_OK && t < s->terms; t++)
        for (int k = s->term[t].vars - 1; k >= 0; k--) {
            hop__term *u = &s->term[t], old = *u;
            if (u->var[k] != var) continue;
            int64_t c = old.of[k][value], rest = old.rows / old.classes[k];
            double *row = hop__take(m, rest * s->width, sizeof *row);
            if (!row) return;
            for (int64_t i = 0; i < rest; i++)
                memcpy(row + i * s->width, old.row + slice_row(&old, k, c, i) * s->width,
                       sizeof(double) * (size_t)s->width);
            u->rows = rest, u->row = row;
            forget_var(u, k);
        }
    hop__set_tidy(m, s);
}

/* ---- what is known of each column ------------------------------------------------------------ */

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

/* Column c's rel goes into its rad. */
static void settle_column(hop__set *s, int64_t c)
{
    if (s->rel[c] == 0) return;
    s->rad[c] = ival_up(s->rad[c] + ival_up(s->rel[c] * s->mag[c]));
    s->rel[c] = 0;
}

hop__set *hop__set_settled(hop__memory *m, hop__set *x)
{
    bool any = false;
    for (int64_t c = 0; x && c < x->width; c++) any = any || x->rel[c] != 0;
    hop__set *y = any ? hop__set_columns(m, x, 0, x->width) : x;
    for (int64_t c = 0; any && y && c < y->width; c++) settle_column(y, c);
    if (any) hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

void hop__set_drop_term(hop__set *s, int t)
{
    for (int64_t c = 0; c < s->width; c++) {
        settle_column(s, c);
        ival range = hop__set_term_range(s, t, c);
        add_mid(s, c, ival_is_point(range) ? range.lo : ival_mid(range));
        if (ival_is_point(range)) continue;
        s->rad[c] = ival_up(s->rad[c] + ival_rad(range));
        s->grid[c] = HOP__NO_GRID;
    }
    remove_term(s, t);
}

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

/* Columns in which a term does not vary belong to mid. */
static void settle_columns(hop__set *s, hop__term *t)
{
    for (int64_t c = 0; c < s->width; c++) {
        double first = t->row[c];
        int64_t r = 0;
        if (first == 0) continue;
        while (r < t->rows && t->row[r * s->width + c] == first) r++;
        if (r < t->rows) continue;
        add_mid(s, c, first);
        for (r = 0; r < t->rows; r++) t->row[r * s->width + c] = 0;
    }
}

void hop__set_tidy(hop__memory *m, hop__set *s)
{
    if (m->status != HOP_OK || !s) return;
    for (int a = 0; a < s->terms; a++)
        for (int b = s->terms - 1; b > a; b--)
            if (same_vars(&s->term[a], &s->term[b])) hop__set_join_two(m, s, a, b);
    for (int t = s->terms - 1; m->status == HOP_OK && t >= 0; t--) {
        hop__term *u = &s->term[t];
        for (int64_t i = 0; i < u->rows * s->width; i++)
            u->row[i] += 0.0; /* no -0: equal rows have equal bits */
        for (int k = u->vars - 1; m->status == HOP_OK && k >= 0; k--) {
            merge_classes(m, u, k, s->width);
            if (u->classes[k] == 1) forget_var(u, k);
        }
        if (m->status == HOP_OK) settle_columns(s, u);
        if (u->rows == 1) remove_term(s, t); /* all of it is in mid now */
    }
    if (m->status == HOP_OK) hop__set_measure(m, s);
}

void hop__set_own(hop__memory *m, hop__set *s)
{
    for (int t = 0; t < s->terms; t++)
        for (int k = 0; k < s->term[t].vars; k++) {
            int32_t *of = hop__take(m, s->term[t].values[k], sizeof *of);
            if (!of) return;
            memcpy(of, s->term[t].of[k], sizeof *of * (size_t)s->term[t].values[k]);
            s->term[t].of[k] = of;
        }
}

/* ---- columns ------------------------------------------------------------------------------- */

/* Columns from .. of x become columns `at` .. of y, which has terms of its own for them. */
static void put_columns(hop__memory *m, hop__set *y, int64_t at, const hop__set *x, int64_t from,
                        int64_t width)
{
    memcpy(y->mid + at, x->mid + from, sizeof(double) * (size_t)width);
    memcpy(y->rad + at, x->rad + from, sizeof(double) * (size_t)width);
    memcpy(y->rel + at, x->rel + from, sizeof(double) * (size_t)width);
    memcpy(y->least + at, x->least + from, sizeof(double) * (size_t)width);
    memcpy(y->most + at, x->most + from, sizeof(double) * (size_t)width);
    for (int t = 0; t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        bool any = false;
        for (int64_t r = 0; r < u->rows && !any; r++)
            for (int64_t c = 0; c < width && !any; c++) any = u->row[r * x->width + from + c] != 0;
        hop__term *v = any ? hop__set_term_like(m, y, u) : NULL;
        if (!v) continue;
        for (int64_t r = 0; r < u->rows; r++)
            memcpy(v->row + r * y->width + at, u->row + r * x->width + from, sizeof(double) * (size_t)width);
        for (int i = y->terms - 2; i >= 0; i--)
            if (same_vars(&y->term[i], v) && hop__set_join_two(m, y, i, y->terms - 1)) break;
    }
}

hop__set *hop__set_gather(hop__memory *m, const hop__set *x, const int64_t *column, int64_t width)
{
    hop__set *y = hop__set_new(m, width);
    for (int t = 0; y && t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        hop__term *v = hop__set_term_like(m, y, u);
        for (int64_t r = 0; v && r < u->rows; r++)
            for (int64_t c = 0; c < width; c++) v->row[r * width + c] = u->row[r * x->width + column[c]];
    }
    for (int64_t c = 0; y && c < width; c++) {
        y->mid[c] = x->mid[column[c]], y->rad[c] = x->rad[column[c]], y->rel[c] = x->rel[column[c]];
        y->least[c] = x->least[column[c]], y->most[c] = x->most[column[c]];
    }
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

hop__set *hop__set_columns(hop__memory *m, const hop__set *x, int64_t from, int64_t width)
{
    hop__set *y = hop__set_new(m, width);
    if (!y) return NULL;
    put_columns(m, y, 0, x, from, width);
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

hop__set *hop__set_beside(hop__memory *m, const hop__set *const *sets, int count)
{
    int64_t width = 0, at = 0;
    for (int i = 0; i < count; i++) width += sets[i]->width;
    hop__set *y = hop__set_new(m, width);
    for (int i = 0; y && i < count; at += sets[i++]->width) put_columns(m, y, at, sets[i], 0, sets[i]->width);
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

bool hop__exact_sum(int grid, double mag)
{
    return grid != HOP__NO_GRID &&
           (grid == HOP__ANY_GRID || (grid > -140 && grid < 100 && mag < ldexp(1.0, 24 + grid)));
}

hop__set *hop__set_add(hop__memory *m, const hop__set *x, const hop__set *y)
{
    hop__set *s = hop__set_new(m, x->width);
    x = hop__set_settled(m, (hop__set *)x), y = hop__set_settled(m, (hop__set *)y);
    if (!s || !x || !y) return NULL;
    put_columns(m, s, 0, x, 0, x->width);
    put_columns(m, s, 0, y, 0, x->width); /* mid and rad are y's now, and what joining rows has lost */
    hop__set_unbound(s);
    for (int64_t c = 0; m->status == HOP_OK && c < x->width; c++) {
        int grid = x->grid[c] < y->grid[c] ? x->grid[c] : y->grid[c];
        double mag = x->mag[c] + y->mag[c];
        bool one = x->mag[c] == 0 || y->mag[c] == 0;
        bool both = x->rad[c] != 0 && s->rad[c] != 0;
        s->rad[c] += x->rad[c];
        if (both) s->rad[c] = ival_up(s->rad[c]);
        if (!one && !hop__exact_sum(grid, mag))
            s->rad[c] = ival_up(s->rad[c] + HOP_UNIT_ROUNDOFF * mag + 0x1p-149);
        add_mid(s, c, x->mid[c]);
        if (!(mag < HOP__LARGEST)) m->overflow = true;
    }
    hop__set_tidy(m, s);
    return m->status == HOP_OK ? s : NULL;
}
