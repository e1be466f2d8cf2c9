#include "facts.h"

#include <string.h>

void hop__facts_init(hop__facts *f, const hop_funccomp *task, bool bidirectional)
{
    *f = (hop__facts){.task = task, .length = task->length, .bidirectional = bidirectional};
    for (int l = task->hops; l >= 1; l--)
        f->class[f->classes++] =
            (hop__class){.start = task->start[l], .count = task->size[l - 1], .player = l};
    f->class[f->classes++] = (hop__class){.start = task->start[0], .count = 1, .player = 0, .chain = true};
    f->class[f->classes++] =
        (hop__class){.start = task->length - 1, .count = 1, .player = HOP_PLAYER_QUERY, .chain = true};
}

/* Values of i_b. */
static int64_t reached(const hop_funccomp *t, int b)
{
    return b == 0 ? t->m : t->size[b - 1];
}

int64_t hop__facts_values(const hop__facts *f, const hop__class *c, int var)
{
    if (var == HOP__POS) return c->count;
    if (var == HOP__W) return f->task->queries;
    int b = var - HOP__R0;
    return b >= (c->chain ? 0 : c->player) && b <= f->task->hops ? reached(f->task, b) : 0;
}

/* ---- where a token looks ---------------------------------------------------------------------- */

static int class_at(const hop__facts *f, int64_t position)
{
    for (int c = 0; c < f->classes; c++)
        if (position >= f->class[c].start && position < f->class[c].start + f->class[c].count) return c;
    return -1;
}

static int place_of(const hop__term *q, int var)
{
    for (int k = 0; q && k < q->vars; k++)
        if (q->var[k] == var) return k;
    return -1;
}

/* The only value in class `c` of the k-th variable, -1: several. For W only its digit b counts. */
static int64_t only_value(const hop__facts *f, const hop__term *q, int k, int64_t c, int digit)
{
    int64_t found = -1;
    for (int64_t v = 0; v < q->values[k]; v++) {
        if (q->of[k][v] != c) continue;
        int64_t x = digit < 0 ? v : hop_funccomp_digit(f->task, v, digit);
        if (found >= 0 && found != x) return -1;
        found = x;
    }
    return found;
}

/* only_value for every class of a variable, into out [classes]. */
static void only_values(const hop__facts *f, const hop__term *q, int k, int digit, int64_t *out)
{
    for (int64_t c = 0; c < q->classes[k]; c++) out[c] = -1;
    for (int64_t v = 0; v < q->values[k]; v++) {
        int64_t c = q->of[k][v], x = digit < 0 ? v : hop_funccomp_digit(f->task, v, digit);
        out[c] = out[c] == -1 || out[c] == x ? x : -2;
    }
}

/* The only position that any row looks at; -1: several. */
static int64_t only_target(const hop__term *q, const int64_t *target)
{
    int64_t only = target[0];
    for (int64_t r = 1; q && r < q->rows; r++) {
        if (target[r] < 0 || target[r] == only) continue;
        if (only >= 0) return -1;
        only = target[r];
    }
    return only;
}

static bool self(const hop__facts *f, const hop__class *c, const hop__term *q, const int64_t *target)
{
    int k = place_of(q, HOP__POS);
    if (k < 0) return false;
    for (int64_t r = 0; r < q->rows; r++) {
        int64_t p = target[r] - c->start;
        if (target[r] < 0) continue;
        if (p < 0 || p >= c->count || q->of[k][p] != hop__term_class(q, k, r)) return false;
    }
    /* Every class of positions must be one position: else another of them would look at this one. */
    for (int64_t i = 0; i < q->classes[k]; i++)
        if (only_value(f, q, k, i, -1) < 0) return false;
    return true;
}

static bool address(const hop__facts *f, const hop__term *q, const int64_t *target, int b, int64_t *w,
                    int64_t *r)
{
    const hop_funccomp *t = f->task;
    int kr = place_of(q, HOP__R0 + b), kw = b > 0 ? place_of(q, HOP__W) : -1;
    if (kr < 0 || (b > 0 && kw < 0)) return false;
    only_values(f, q, kr, -1, r);
    if (kw >= 0) only_values(f, q, kw, b, w);
    for (int64_t i = 0; i < q->rows; i++) {
        int64_t value = r[hop__term_class(q, kr, i)], digit = kw >= 0 ? w[hop__term_class(q, kw, i)] : 0;
        if (target[i] < 0) continue;
        if (value < 0 || digit < 0) return false;
        int64_t index = (b > 0 ? digit * t->size[b - 1] : 0) + value;
        if (target[i] != t->start[b + 1] + index) return false;
    }
    return true;
}

/* Does some row look nowhere? */
static bool partly(const hop__term *q, const int64_t *target)
{
    for (int64_t r = 0; q && r < q->rows; r++)
        if (target[r] < 0) return true;
    return false;
}

hop__look_up hop__facts_look_up(hop__memory *m, const hop__facts *f, int a, const hop__term *q,
                                const int64_t *target)
{
    const hop__class *c = &f->class[a];
    int64_t only = only_target(q, target), most = 1;
    const hop__look_up fixed = {
        .rule = HOP__RULE_FIXED, .position = only, .source = only < 0 ? -1 : class_at(f, only)};
    if (only >= 0 && !partly(q, target)) return fixed;
    if (q && self(f, c, q, target)) return (hop__look_up){.rule = HOP__RULE_SELF, .source = a};
    for (int k = 0; q && k < q->vars; k++) most = q->classes[k] > most ? q->classes[k] : most;
    int64_t *room = hop__take(m, 2 * most, sizeof *room);
    for (int b = c->chain ? 0 : c->player; q && room && b < f->task->hops; b++)
        if (address(f, q, target, b, room, room + most)) /* says more than where it is */
            return (hop__look_up){
                .rule = HOP__RULE_ADDRESS, .b = b, .source = class_at(f, f->task->start[b + 1])};
    return only >= 0 ? fixed : (hop__look_up){.rule = HOP__RULE_NONE, .source = -1};
}

/* ---- what it sees there ------------------------------------------------------------------------ */

/* A term over POS of the class seen, which a looks at by the address (w_b, R(b)): over these two instead. */
static bool address_term(hop__memory *m, const hop__facts *f, int b, const hop__term *t, hop__set *y)
{
    const hop_funccomp *k = f->task;
    int64_t digits = b > 0 ? k->fan[b] : 1, values = reached(k, b);
    if (t->vars != 1 || digits * values > HOP__MOST_ROWS || digits * values * t->count > HOP__MOST_CELLS)
        return false;
    int32_t *w = hop__take(m, k->queries, sizeof *w), *r = hop__take(m, values, sizeof *r);
    double *cell = hop__take(m, digits * values * t->count, sizeof *cell);
    if (m->status != HOP_OK) return false;
    for (int64_t i = 0; i < k->queries; i++) w[i] = b > 0 ? (int32_t)hop_funccomp_digit(k, i, b) : 0;
    for (int64_t i = 0; i < values; i++) r[i] = (int32_t)i;
    for (int64_t i = 0; i < digits * values; i++)
        memcpy(cell + i * t->count, hop__term_row(t, t->of[0][i]), sizeof *cell * (size_t)t->count);
    y->term[y->terms++] = (hop__term){.vars = 2,
                                      .var = {HOP__W, HOP__R0 + b},
                                      .values = {k->queries, values},
                                      .classes = {digits, values},
                                      .of = {w, r},
                                      .rows = digits * values,
                                      .first = t->first,
                                      .count = t->count,
                                      .cell = cell};
    return true;
}

/* Does variable `var` of the class seen mean the same to class a? */
static bool keeps_name(const hop__facts *f, int a, hop__look_up s, int var)
{
    if (var == HOP__W || s.rule == HOP__RULE_SELF) return true;
    if (var == HOP__POS) return false;
    if (s.rule == HOP__RULE_ADDRESS) return true;
    return f->class[a].chain && f->class[s.source].chain;
}

hop__set *hop__facts_seen(hop__memory *m, const hop__facts *f, int a, hop__look_up s, const hop__set *x)
{
    hop__set *y = hop__set_columns(m, x, 0, x->width);
    if (y && s.rule == HOP__RULE_FIXED) hop__set_fix(m, y, HOP__POS, s.position - f->class[s.source].start);
    for (int t = 0; y && m->status == HOP_OK && t < y->terms; t++) {
        bool fine = true;
        for (int k = 0; k < y->term[t].vars; k++) fine = fine && keeps_name(f, a, s, y->term[t].var[k]);
        if (fine) continue;
        if (!hop__set_reserve(m, y, y->terms + 1)) return NULL;
        hop__term *u = &y->term[t];
        if (!(s.rule == HOP__RULE_ADDRESS && u->var[0] == HOP__POS && address_term(m, f, s.b, u, y))) {
            hop__set_drop_term(y, t--);
            continue;
        }
        y->term[t] = y->term[y->terms - 1];
        y->terms--;
    }
    if (y) hop__set_unbound(y);
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}
