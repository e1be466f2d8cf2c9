/* Softmax attention: which token does a query see?
 *
 * A query is one of finitely many vectors, give or take a box; so is a key. For every query the scores of all
 * tokens that may be seen are bounded. Where one token outscores all others by a gap, the others together
 * have at most n e^-gap of the weight, so that the output is that token's value up to so much of the range of
 * all values. Which token it is is then read as a look-up of the task, if it is one (facts.h). Where no token
 * leads, the output is some mean of values: it lies in the box around all of them. */
#include "analysis.h"

#include <string.h>

enum { CASES = 64, KEYS = 512 }; /* of a tile of scores */

bool hop__sees(const hop__facts *f, int a, int p, bool bidirectional)
{
    return bidirectional || f->class[p].start < f->class[a].start + f->class[a].count;
}

bool hop__places_of(hop__memory *m, const hop__class *c, const hop__set *k, hop__places *p)
{
    *p = (hop__places){.rows = 1};
    for (int t = 0; t < k->terms; t++)
        if (k->term[t].vars == 1 && k->term[t].var[0] == HOP__POS && !k->term[t].mixture)
            p->term = &k->term[t];
    if (p->term) p->rows = p->term->rows;
    p->count = hop__take(m, p->rows, sizeof *p->count);
    p->first = hop__take(m, p->rows, sizeof *p->first);
    if (m->status != HOP_OK) return false;
    for (int64_t i = c->count - 1; i >= 0; i--) {
        int64_t row = p->term ? p->term->of[0][i] : 0;
        p->count[row]++;
        p->first[row] = c->start + i;
    }
    return true;
}

/* ---- scores -------------------------------------------------------------------------------- */

/* The keys of a class; what they add beside their place is between lo and hi for a given query. */
typedef struct keys {
    hop__places places;
    float *row;     /* [rows, dim] */
    int64_t others; /* rows of all other terms .. */
    float *other;   /* [others, dim] */
    int64_t *ends;  /* .. which end here, term by term */
    int terms;
} keys;

typedef struct scores {
    int classes;
    keys *keys; /* [classes]; row NULL: not seen */
    int64_t dim, cases;
    const float *q; /* [cases, dim] */
    double scale, slack;
    int64_t *target; /* [cases] */
    double *gap;     /* [tiles of cases] */
    int64_t *worst;  /* [tiles]: the case with the smallest gap */
} scores;

/* mid plus row r of a term; either may be NULL. */
static void to_float(float *to, const double *mid, const hop__term *t, int64_t r, int64_t dim)
{
    for (int64_t c = 0; c < dim; c++) to[c] = (float)((mid ? mid[c] : 0) + (t ? hop__term_at(t, r, c) : 0));
}

static bool keys_of(hop__memory *m, keys *k, const hop__class *c, const hop__set *x)
{
    if (!hop__places_of(m, c, x, &k->places)) return false;
    k->row = hop__take(m, k->places.rows * x->width, sizeof(float));
    k->ends = hop__take(m, x->terms, sizeof *k->ends);
    for (int t = 0; t < x->terms; t++)
        if (&x->term[t] != k->places.term) k->others += x->term[t].rows;
    k->other = hop__take(m, k->others * x->width, sizeof(float));
    if (m->status != HOP_OK) return false;
    for (int64_t r = 0; r < k->places.rows; r++)
        to_float(k->row + r * x->width, x->mid, k->places.term, r, x->width);
    int64_t at = 0;
    for (int t = 0; t < x->terms; t++) {
        if (&x->term[t] == k->places.term) continue;
        for (int64_t r = 0; r < x->term[t].rows; r++)
            to_float(k->other + at++ * x->width, NULL, &x->term[t], r, x->width);
        k->ends[k->terms++] = at;
    }
    return true;
}

/* The tile's scores of `count` rows; s [CASES, KEYS]. */
static void tile_scores(const scores *s, int64_t first, int64_t n, const float *row, int64_t count,
                        float *out)
{
    hop_gemm(out, KEYS, (hop_mat){s->q + first * s->dim, s->dim, 1}, (hop_mat){row, 1, s->dim}, n, count,
             s->dim, false, NULL);
}

/* What other terms of a class may add to the scores of each of the tile's queries. */
static void tile_others(const scores *s, const keys *k, int64_t first, int64_t n, double *lo, double *hi,
                        float *room)
{
    for (int64_t i = 0; i < n; i++) lo[i] = hi[i] = 0;
    int64_t from = 0;
    for (int t = 0; t < k->terms; t++) {
        double least[CASES], most[CASES];
        for (int64_t i = 0; i < n; i++) least[i] = INFINITY, most[i] = -INFINITY;
        for (int64_t at = from; at < k->ends[t]; at += KEYS) {
            int64_t count = k->ends[t] - at < KEYS ? k->ends[t] - at : KEYS;
            tile_scores(s, first, n, k->other + at * s->dim, count, room);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < count; j++) {
                    double x = s->scale * room[i * KEYS + j];
                    least[i] = ival_least(least[i], x), most[i] = ival_most(most[i], x);
                }
        }
        for (int64_t i = 0; i < n; i++) lo[i] += least[i], hi[i] += most[i];
        from = k->ends[t];
    }
}

int64_t hop__top_add(hop__top *t, const float *x, int64_t count, double scale, double offset)
{
    enum { LANES = 16 };
    float most[LANES], least[LANES], sum[LANES] = {0};
    int64_t found = -1, i = 0;
    for (int k = 0; k < LANES; k++) most[k] = -INFINITY, least[k] = INFINITY;
    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float v = x[i + k];
            most[k] = v > most[k] ? v : most[k];
            least[k] = v < least[k] ? v : least[k];
            sum[k] += v * 0.0f; /* NaN, or infinity, shows here */
        }
    for (; i < count; i++) {
        most[0] = x[i] > most[0] ? x[i] : most[0];
        least[0] = x[i] < least[0] ? x[i] : least[0];
        sum[0] += x[i] * 0.0f;
    }
    for (int k = 1; k < LANES; k++) {
        most[0] = most[k] > most[0] ? most[k] : most[0];
        least[0] = least[k] < least[0] ? least[k] : least[0];
        sum[0] += sum[k];
    }
    if (sum[0] != 0) t->second = INFINITY;
    /* Most tiles have nothing new. */
    if (!(ival_most(scale * most[0], scale * least[0]) + offset > t->second)) return -1;
    for (i = 0; i < count; i++) {
        double v = scale * x[i] + offset;
        if (!(v > t->second)) continue;
        if (!(v > t->best)) {
            t->second = v;
            continue;
        }
        t->second = t->best, t->best = v, found = i;
    }
    return found;
}

static void score_tile(void *ctx, int64_t tile, int worker)
{
    scores *s = ctx;
    float room[CASES * KEYS];
    double lo[CASES], hi[CASES], lower[CASES];
    hop__top top[CASES];
    int64_t first = tile * CASES, n = s->cases - first < CASES ? s->cases - first : CASES, where[CASES];
    (void)worker;
    for (int64_t i = 0; i < n; i++)
        top[i] = (hop__top){-INFINITY, -INFINITY}, lower[i] = -INFINITY, where[i] = -1;
    for (int p = 0; p < s->classes; p++) {
        const keys *k = &s->keys[p];
        if (!k->row) continue;
        tile_others(s, k, first, n, lo, hi, room);
        for (int64_t at = 0; at < k->places.rows; at += KEYS) {
            int64_t count = k->places.rows - at < KEYS ? k->places.rows - at : KEYS;
            tile_scores(s, first, n, k->row + at * s->dim, count, room);
            for (int64_t i = 0; i < n; i++) {
                int64_t j = hop__top_add(&top[i], room + i * KEYS, count, s->scale, hi[i]);
                if (j < 0) continue;
                lower[i] = top[i].best - hi[i] + lo[i];
                where[i] = k->places.count[at + j] == 1 ? k->places.first[at + j] : -1;
            }
        }
    }
    double gap = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double own = where[i] < 0 ? -INFINITY : lower[i] - top[i].second - s->slack;
        s->target[first + i] = where[i];
        if (!(own >= gap)) gap = own, s->worst[tile] = first + i;
    }
    s->gap[tile] = gap;
}

/* ---- a head -------------------------------------------------------------------------------- */

typedef struct head {
    hop__analysis *w;
    const hop_op *op;
    int a;                         /* the class that asks */
    hop__set *const *k, *const *v; /* of all classes, this head's columns; NULL: not seen */
    const hop__set *q;
    int64_t seen; /* tokens, at the most */
    double slack; /* of scores */
    hop__attention_loss loss;
} head;

/* Of a head's scores: the sums of absolute products, and what boxes make of them, at the most; floats below the normal
 * numbers, which rows are taken as here, among them. */
typedef struct score_sums {
    double mag, box;
} score_sums;

static score_sums sum_scores(const head *h)
{
    score_sums s = {0, 0};
    for (int64_t c = 0; c < h->q->width; c++) {
        double km = 0, kr = 0, q = h->q->mag[c];
        for (int p = 0; p < h->w->facts.classes; p++) {
            if (!h->k[p]) continue;
            km = ival_most(km, h->k[p]->mag[c]), kr = ival_most(kr, h->k[p]->rad[c]);
        }
        s.mag += q * km;
        s.box += q * kr + h->q->rad[c] * km;
        if (q != 0 && km != 0) s.box += (q + km) * 0x1p-149;
    }
    return (score_sums){s.mag * HOP__ABOVE, s.box * HOP__ABOVE};
}

/* What the head loses; infinite scores make weights that are no numbers, and 0 times these is none. */
static void charge_head(head *h)
{
    int64_t dim = h->q->width;
    double scale = fabs(hop__rounded(h->op->scale));
    score_sums s = sum_scores(h);
    hop__attended a = {
        .q = hop__set_largest(h->q), .score = scale * s.mag * 1.01, .seen = h->seen, .round = h->w->message};
    for (int p = 0; p < h->w->facts.classes; p++)
        if (h->k[p])
            a.k = ival_most(a.k, hop__set_largest(h->k[p])), a.v = ival_most(a.v, hop__set_largest(h->v[p]));
    h->loss = hop__attention_charge(h->op, &a);
    if (!h->loss.fits) h->w->m->overflow = true;
    /* Twice the error of a score: the kernels' and, scores being made here as well, ours; and scores that are cut. */
    double error =
        2 * (ival_most(h->loss.score.rel, HOP_DOT_ERROR((double)dim)) + 4 * HOP_UNIT_ROUNDOFF) * s.mag;
    error += hop__cut_error(h->w->bits, s.mag);
    h->slack =
        2 * HOP__ABOVE * (scale * (error + s.box) + h->loss.score.abs + (double)dim * (scale + 1) * 0x1p-146);
}

/* Weights that are cut, divided by their sum, and cut again, c at most each: (1 + c)² / (1 - c) is below 1 +
 * 4c for 3 bits or more. The mean itself is cut as every result is. */
static double cut_weights(const hop__analysis *w, double mag)
{
    return 4 * hop__cut_error(w->bits, mag);
}

/* Do all tokens of the class see the token that they look at? */
static bool looks_there(const head *h, hop__look_up s, const int64_t *target, int64_t cases)
{
    const hop__class *c = &h->w->facts.class[h->a];
    if (s.rule == HOP__RULE_SELF) return true;
    for (int64_t i = 0; i < cases; i++) {
        if (!h->op->bidirectional && target[i] > c->start) return false;
        if (h->op->window > 0 && c->start + c->count - 1 - target[i] >= h->op->window) return false;
    }
    return true;
}

/* The first value of a variable in the row's class; -1: the row does not depend on it. */
static int64_t value_in(const hop__term *t, int64_t row, int var)
{
    for (int k = 0; t && k < t->vars; k++)
        for (int64_t v = 0; t->var[k] == var && v < t->values[k]; v++)
            if (t->of[k][v] == hop__term_class(t, k, row)) return v;
    return -1;
}

/* An input whose chain passes here is worth running. */
static void add_hint(const head *h, const hop__term *t, int64_t row)
{
    hop__analysis *w = h->w;
    if (h->a != w->answering || w->hint_count == HOP_HINTS) return;
    for (int b = w->facts.task->hops - 1; b >= 0; b--) {
        int64_t i = value_in(t, row, HOP__R0 + b);
        if (i < 0) continue;
        w->hints[w->hint_count++] = (hop_hint){.player = b + 1, .w = value_in(t, row, HOP__W), .i = i};
        return;
    }
}

/* Where the head looks, and by what lead; rule NONE: nowhere in particular. */
static hop__look_up find_look_up(const head *h, double *gap, int64_t *cases)
{
    hop__memory *m = h->w->m;
    hop__look_up none = {.rule = HOP__RULE_NONE, .source = -1};
    hop__set *q = hop__set_joined(m, h->q);
    *gap = -INFINITY;
    if (!q) return none;
    const hop__term *t = q->terms ? &q->term[0] : NULL;
    scores s = {.classes = h->w->facts.classes, .dim = q->width, .cases = t ? t->rows : 1};
    int64_t tiles = (s.cases + CASES - 1) / CASES;
    float *rows = hop__take(m, s.cases * s.dim, sizeof *rows);
    s.keys = hop__take(m, s.classes, sizeof *s.keys);
    s.target = hop__take(m, s.cases, sizeof *s.target);
    s.gap = hop__take(m, tiles, sizeof *s.gap);
    s.worst = hop__take(m, tiles, sizeof *s.worst);
    for (int p = 0; p < s.classes; p++)
        if (h->k[p] && (m->status != HOP_OK || !keys_of(m, &s.keys[p], &h->w->facts.class[p], h -> k[p])))
            return none;
    if (m->status != HOP_OK) return none;
    for (int64_t i = 0; i < s.cases; i++) to_float(rows + i * s.dim, q->mid, t, i, s.dim);
    s.q = rows;
    s.scale = hop__rounded(h->op->scale);
    s.slack = h->slack;
    *cases = s.cases;
    /* One tile tells most classes that look nowhere from those that do. */
    hop_pool_run(NULL, 1, score_tile, &s);
    *gap = s.gap[0];
    if (*gap > 0) hop_pool_run(h->w->pool, tiles, score_tile, &s);
    for (int64_t i = 0; *gap > 0 && i < tiles; i++) *gap = ival_least(*gap, s.gap[i]);
    if (!(*gap > 0)) {
        for (int64_t i = 0; i < (s.gap[0] > 0 ? tiles : 1); i++)
            if (!(s.gap[i] > 0)) add_hint(h, t, s.worst[i]);
        return none;
    }
    hop__look_up look_up = hop__facts_look_up(h->w->m, &h->w->facts, h->a, t, s.target);
    return look_up.rule != HOP__RULE_NONE && looks_there(h, look_up, s.target, s.cases) ? look_up : none;
}

/* Everything that a mean of values may be, column c: it lies between the least and the largest. */
static ival values_hull(const head *h, int64_t c)
{
    ival x = {INFINITY, -INFINITY};
    for (int p = 0; p < h->w->facts.classes; p++)
        if (h->v[p]) x = ival_hull(x, hop__set_range(h->v[p], c));
    return x;
}

static void report(const head *h, hop__look_up s, double gap, double mass, int64_t cases)
{
    hop_margin *g = &h->w->margin;
    if (h->a != h->w->answering) return;
    g->score_gap = ival_least(g->score_gap, gap);
    g->wrong_mass = ival_most(g->wrong_mass, mass);
    g->addresses += cases;
    if (s.rule != HOP__RULE_NONE) g->player = h->w->facts.class[s.source].player;
}

static hop__set *head_output(const head *h)
{
    hop__memory *m = h->w->m;
    double gap = -INFINITY, mass = 1;
    int64_t cases = 0, width = h->v[h->a]->width;
    bool any = false;
    for (int64_t c = 0; c < width && !any; c++) any = values_hull(h, c).lo != 0 || values_hull(h, c).hi != 0;
    if (!any) return hop__set_new(m, width); /* nothing to be had */
    bool asks = false;                       /* a query of zeros has no preference: its mean is any */
    for (int64_t c = 0; c < h->q->width && !asks; c++) asks = h->q->mag[c] != 0;
    hop__look_up s = {.rule = HOP__RULE_NONE, .source = -1};
    if (asks) s = find_look_up(h, &gap, &cases);
    if (m->status != HOP_OK) return NULL;
    hop__set *y;
    if (s.rule != HOP__RULE_NONE) {
        mass = ival_least(1, (double)h->seen * ival_up(exp(-gap)) * HOP__ABOVE);
        y = hop__facts_seen(m, &h->w->facts, h->a, s, h->v[s.source]);
    } else {
        y = hop__set_new(m, width);
    }
    if (asks) report(h, s, gap, mass, cases);
    for (int64_t c = 0; y && c < width; c++) {
        ival hull = values_hull(h, c);
        double mag = ival_mag(hull);
        if (mag == 0) continue;
        double lost = (h->loss.mean.rel * mag + h->loss.mean.abs) * HOP__ABOVE + cut_weights(h->w, mag);
        if (s.rule == HOP__RULE_NONE) {
            y->mid[c] = ival_mid(hull);
            y->rad[c] = ival_up(ival_rad(hull) + lost);
        } else {
            y->rad[c] = ival_up(y->rad[c] + mass * (hull.hi - hull.lo) * HOP__ABOVE + lost);
        }
    }
    hop__set_canonical(m, y);
    if (asks && s.rule == HOP__RULE_NONE && h->a == h->w->answering && !m->overflow)
        hop__blame(
            h->w,
            "layer %lld, attention: at one of %lld queries no token's score leads the others' (gap %.4g)",
            (long long)h->w->layer, (long long)cases, gap);
    return m->status == HOP_OK ? y : NULL;
}

void hop__attend(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    const hop_op *op = x->op;
    const hop__facts *f = &w->facts;
    int64_t group = op->heads / op->kv_heads;
    hop__set **heads = hop__take(w->m, op->heads * f->classes, sizeof *heads); /* [classes, heads] */
    hop__sets k = {0}, v = {0};
    for (int64_t i = 0; w->m->status == HOP_OK && i < op->heads; i++) {
        for (int p = 0; i % group == 0 && p < f->classes; p++) {
            k[p] = hop__set_columns(w->m, x->in[1][p], i / group * op->key_dim, op->key_dim);
            v[p] = hop__set_columns(w->m, x->in[2][p], i / group * op->value_dim, op->value_dim);
        }
        for (int a = 0; w->m->status == HOP_OK && a < f->classes; a++) {
            hop__sets ka = {0}, va = {0};
            head h = {.w = w, .op = op, .a = a, .k = ka, .v = va};
            for (int p = 0; p < f->classes; p++) {
                if (!hop__sees(f, a, p, op->bidirectional)) continue;
                ka[p] = k[p], va[p] = v[p];
                int64_t end = f->class[p].start + f->class[p].count;
                h.seen = end > h.seen ? end : h.seen;
            }
            h.q = hop__set_columns(w->m, x->in[0][a], i * op->key_dim, op->key_dim);
            if (h.q) charge_head(&h), heads[a * op->heads + i] = head_output(&h);
        }
    }
    for (int a = 0; w->m->status == HOP_OK && a < f->classes; a++)
        y[a] = hop__set_beside(w->m, (const hop__set *const *)heads + a * op->heads, (int)op->heads);
}

void hop__attend_any(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    const hop_op *op = x->op;
    const hop__facts *f = &w->facts;
    int64_t group = op->heads / op->kv_heads, width = op->value_dim;
    hop__attended most = {.seen = f->length, .round = w->message};
    for (int a = 0; a < f->classes; a++) {
        most.q = ival_most(most.q, hop__set_largest(x->in[0][a])),
        most.k = ival_most(most.k, hop__set_largest(x->in[1][a]));
        most.v = ival_most(most.v, hop__set_largest(x->in[2][a]));
    }
    most.score = most.q * most.k * fabs(hop__rounded(op->scale)) * (double)op->key_dim * 1.01;
    hop__attention_loss loss = hop__attention_charge(op, &most);
    if (!loss.fits) w->m->overflow = true;
    for (int a = 0; w->m->status == HOP_OK && a < f->classes; a++) {
        y[a] = hop__set_new(w->m, op->heads * width);
        for (int64_t c = 0; y[a] && c < op->heads * width; c++) {
            ival hull = {INFINITY, -INFINITY};
            for (int p = 0; p < f->classes; p++)
                if (hop__sees(f, a, p, op->bidirectional))
                    hull =
                        ival_hull(hull, hop__set_range(x->in[2][p], c / width / group * width + c % width));
            if (hull.lo == 0 && hull.hi == 0) continue;
            y[a]->mid[c] = ival_mid(hull);
            y[a]->rad[c] =
                ival_up(ival_rad(hull) + (loss.mean.rel * ival_mag(hull) + loss.mean.abs) * HOP__ABOVE +
                        cut_weights(w, ival_mag(hull)));
        }
        hop__set_canonical(w->m, y[a]);
    }
}
