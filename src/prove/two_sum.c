/* The proof for 2-Sum: is there a j <= i with x_i + x_j = 0 (mod M)?
 *
 * Before anything attends, a token is its own number c (variable R(0)) and its position. In the layer that
 * attends, let match = -c mod M. If every match outscores every other token, then for each c there are these
 * cases:
 *   - no token that a head looks at is a match: each head returns some mixture of the values of other
 * numbers. (Not possible when c is its own match: a token sees itself.) The answer must be 0;
 *   - a head sees a match: it returns the match's value, up to the weight of the others. The answer must
 * be 1. In full attention all heads see it. In sparse attention whose summary is a block's key (head h:
 * offset h mod B), a match in an earlier block at offset r makes such a block the best one for every head h =
 * r (mod B), as computed, because every match outscores every other key; in the own block all heads see it.
 * So some r is such that these heads see a match; of the others only that they return a mixture of any values
 * is used. All r = 0 .. B-1 are proved. From there on each case is followed by itself. A mixture stays one
 * through linear maps and straight lines, so that "any mixture of wrong codes is at least 2 away from the
 * right one" survives. Later layers must not mix tokens. */
#include "analysis.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST_RIVALS 64 /* different rows of the read-out */
#define NUMBER      HOP__R0
#define BIG         1e15 /* no token holds more in a later layer */

typedef struct proof {
    hop__analysis analysis;
    hop__memory memory;
    const hop_twosum *task;
    hop_proof *out;
    hop__layer_sets layer; /* the one that attends, up to that operation .. */
    const hop_op *op;      /* .. and what it is given */
    int number;
    hop__set *x, *q, *k, *v;
    hop__attention_loss loss;
    int64_t seen, offsets; /* tokens that a head sees at the most; 1, or B: offsets that heads watch */
    int64_t rivals;
    const float *rival[MOST_RIVALS]; /* rows of the read-out, those of 0 and 1 first */
    atomic_bool stopped, overflow, no_memory;
    double *margin, *gap, *mass, *clip; /* [mod] */
} proof;

/* ---- up to the layer that attends --------------------------------------------------------------- */

static hop__set *all_tokens(proof *p, const hop_model *m)
{
    const hop_config *c = hop_model_config(m);
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight"),
                     *places = hop_model_weight(m, "model.embed_positions.weight");
    hop__set *a = hop__set_new(&p->memory, c->d_model), *b = hop__set_new(&p->memory, c->d_model);
    if (!a || !b) return NULL;
    hop__term *t = hop__set_add_term(&p->memory, a, NUMBER, p->task->mod, NULL, 0);
    for (int64_t i = 0; t && i < t->rows * c->d_model; i++) t->cell[i] = tokens->data[i];
    t = places ? hop__set_add_term(&p->memory, b, HOP__POS, p->task->n, NULL, 0) : NULL;
    for (int64_t i = 0; t && i < t->rows * c->d_model; i++) t->cell[i] = places->data[i];
    hop__set_canonical(&p->memory, a);
    hop__set_canonical(&p->memory, b);
    return p->memory.status == HOP_OK ? hop__set_add(&p->memory, a, b) : NULL;
}

static bool is_zero(const hop__set *x)
{
    for (int64_t c = 0; c < x->width; c++)
        if (x->mag[c] != 0) return false;
    return true;
}

static bool looks_back(hop_op_kind k)
{
    return k == HOP_OP_ATTEND || k == HOP_OP_SPARSE;
}

static bool remembers(hop_op_kind k)
{
    return k == HOP_OP_SCAN || k == HOP_OP_SELECTIVE || k == HOP_OP_DIAGONAL || k == HOP_OP_CONV ||
           k == HOP_OP_SHIFT;
}

/* What attends, given the sets of its inputs. Returns false when the layer moves nothing between tokens. */
static bool take_operation(proof *p, int number)
{
    const hop_op *op = &p->layer.list.op[number];
    hop__memory *m = p->analysis.m;
    int64_t kd = op->key_dim, vd = op->value_dim;
    p->v = hop__set_columns(m, p->layer.buffer[op->in[2].buffer][0], op->in[2].column, op->kv_heads * vd);
    if (p->v) p->v = hop__set_folded(m, p->v);
    if (!p->v || is_zero(p->v)) return false;
    p->q = hop__set_columns(m, p->layer.buffer[op->in[0].buffer][0], op->in[0].column, op->heads * kd);
    p->k = hop__set_columns(m, p->layer.buffer[op->in[1].buffer][0], op->in[1].column, op->kv_heads * kd);
    if (p->q) p->q = hop__set_folded(m, p->q);
    if (p->k) p->k = hop__set_folded(m, p->k);
    p->op = op, p->number = number;
    return true;
}

/* Everything but the number goes into the box; of two tables that were too large to be one, the second, too.
 */
static void by_number(hop__memory *m, hop__set *x)
{
    for (int t = x ? x->terms - 1 : -1; t >= 0; t--)
        if (x->term[t].vars != 1 || x->term[t].var[0] != NUMBER) hop__set_drop_term(x, t);
    hop__set_join_alike(m, x);
    while (x && x->terms > 1) hop__set_drop_term(x, x->terms - 1);
    hop__set_canonical(m, x);
}

/* Does nothing from operation `i` on look at other tokens? */
static bool alone_from(proof *p, int i)
{
    for (; i < p->layer.list.op_count; i++) {
        hop_op_kind kind = p->layer.list.op[i].kind;
        if (!remembers(kind) && !looks_back(kind)) continue;
        hop__blame(&p->analysis, "layer %lld: more than one operation looks at other tokens",
                   (long long)p->analysis.layer);
        return false;
    }
    return p->analysis.m->status == HOP_OK;
}

/* Streams are followed here as x + f(norm(x)): no block's norm may stand elsewhere. */
static bool norms_stand_before(proof *p)
{
    hop__analysis *w = &p->analysis;
    const hop_config *c = hop_model_config(w->model);
    for (w->layer = 0; c->norm != HOP_NORM_NONE && w->layer < c->pattern.layers; w->layer++) {
        if (hop__layer_norms(w) == HOP_NORMS_BEFORE) continue;
        hop__blame(w, "layer %lld: for 2-Sum only norms before blocks are followed", (long long)w->layer);
        return false;
    }
    return true;
}

/* Goes to the first layer that moves anything; false: p->out->why, or the memory's status. */
static bool find_layer(proof *p)
{
    hop__analysis *w = &p->analysis;
    int64_t layers = hop_model_config(w->model)->pattern.layers;
    for (w->layer = 0; w->layer < layers; w->layer++) {
        if (!hop__layer_open(&p->layer, w)) return false;
        p->layer.buffer[HOP_X][0] = hop__layer_input(w, p->x);
        if (w->m->overflow) return false;
        for (int i = 0; w->m->status == HOP_OK && i < p->layer.list.op_count; i++) {
            hop_op_kind kind = p->layer.list.op[i].kind;
            if (remembers(kind)) {
                hop__blame(w, "layer %lld: for 2-Sum only attention is followed", (long long)w->layer);
                return false;
            }
            if (looks_back(kind) && take_operation(p, i)) return alone_from(p, i + 1);
            if (!hop__layer_op(&p->layer, i)) return false;
        }
        if (w->m->status != HOP_OK) return false;
        hop__set *sum = hop__set_add(w->m, p->x, p->layer.buffer[HOP_Y][0]);
        p->x = sum ? hop__set_mlp(w, 0, sum) : NULL;
        if (!p->x) return false;
    }
    hop__blame(w, "no layer moves anything between tokens");
    return false;
}

/* Which heads see what; false when that is not followed. */
static bool look_up(proof *p)
{
    const hop_op *op = p->op;
    int64_t n = p->task->n;
    p->seen = n, p->offsets = 1;
    if (op->bidirectional || (op->kind == HOP_OP_ATTEND && op->window > 0 && op->window < n)) {
        hop__blame(&p->analysis, "layer %lld: a head does not see just what came before",
                   (long long)p->analysis.layer);
        return false;
    }
    if (op->kind != HOP_OP_SPARSE || n <= (op->topk + 1) * op->block) return true;
    p->seen = (op->topk + 1) * op->block;
    p->offsets = op->block;
    if (op->summary == 1) return true;
    hop__blame(&p->analysis, "layer %lld: blocks are chosen by the mean of their keys",
               (long long)p->analysis.layer);
    return false;
}

/* Do later layers leave every token alone, whatever the others hold? */
static bool nothing_moves_later(proof *p)
{
    hop__analysis w = p->analysis;
    hop__memory room = {0};
    bool alone = true;
    w.m = &room;
    w.observer = NULL; /* of what a token may hold there nothing is known */
    for (w.layer = p->analysis.layer + 1; alone && w.layer < hop_model_config(w.model)->pattern.layers;
         w.layer++) {
        hop__layer_sets l;
        hop__set *any = hop__set_new(&room, p->x->width);
        if (!any || !hop__layer_open(&l, &w)) break;
        for (int64_t c = 0; c < any->width; c++) any->rad[c] = BIG;
        hop__set_canonical(&room, any);
        l.buffer[HOP_X][0] = hop__layer_input(&w, any);
        for (int i = 0; alone && room.status == HOP_OK && i < l.list.op_count; i++)
            alone = hop__layer_op(&l, i);
        alone = alone && room.status == HOP_OK && !room.overflow && is_zero(l.buffer[HOP_Y][0]);
    }
    if (room.status == HOP_ENOMEM) p->analysis.m->status = HOP_ENOMEM;
    alone = alone && room.status == HOP_OK;
    if (!alone) hop__blame(&p->analysis, "layer %lld mixes tokens once more", (long long)w.layer - 1);
    hop__memory_free(&room);
    return alone;
}

/* ---- one number ---------------------------------------------------------------------------------- */

static const hop__term *number_term(const hop__set *x)
{
    return x->terms ? &x->term[0] : NULL; /* by_number has left no other */
}

/* Row of x where the number is u. */
static double value_at(const hop__set *x, int64_t u, int64_t c)
{
    const hop__term *t = number_term(x);
    return x->mid[c] + (t ? hop__term_at(t, t->of[0][u], c) : 0);
}

static void charge(proof *p)
{
    hop__attended a = {.q = hop__set_largest(p->q),
                       .k = hop__set_largest(p->k),
                       .v = hop__set_largest(p->v),
                       .seen = p->seen};
    a.score = a.q * a.k * fabs(hop__rounded(p->op->scale)) * (double)p->op->key_dim * 1.01;
    p->loss = hop__attention_charge(p->op, &a);
    if (!p->loss.fits) atomic_store(&p->overflow, true);
}

/* Score of `match` minus that of any other number, at least, for a head of number c. */
static double lead(proof *p, int64_t head, int64_t c, int64_t match)
{
    const hop_op *op = p->op;
    int64_t qc = head * op->key_dim, kc = head / (op->heads / op->kv_heads) * op->key_dim;
    double scale = hop__rounded(op->scale), mag = 0, box = 0, right = 0, best = -INFINITY;
    for (int64_t e = 0; e < op->key_dim; e++) {
        mag += p->q->mag[qc + e] * p->k->mag[kc + e];
        box += p->q->mag[qc + e] * p->k->rad[kc + e] + p->q->rad[qc + e] * p->k->mag[kc + e];
    }
    for (int64_t u = 0; u < p->task->mod; u++) {
        double s = 0;
        for (int64_t e = 0; e < op->key_dim; e++) s += value_at(p->q, c, qc + e) * value_at(p->k, u, kc + e);
        if (u == match)
            right = scale * s;
        else
            best = ival_most(best, scale * s);
    }
    double dim = (double)op->key_dim,
           error = (ival_most(p->loss.score.rel, HOP_DOT_ERROR(dim)) + 4 * HOP_UNIT_ROUNDOFF) * mag;
    return right - best - 2 * HOP__ABOVE * (fabs(scale) * (error + box) + p->loss.score.abs);
}

/* What the heads return: those that watch offset r (r < 0: none, and there is no match) the match's value,
 * the others a mixture. */
static hop__set *heads_return(const proof *p, hop__memory *m, int64_t match, int64_t r, double mass)
{
    const hop_op *op = p->op;
    int64_t mod = p->task->mod, dim = op->value_dim, group = op->heads / op->kv_heads;
    hop__set *o = hop__set_new(m, op->heads * dim);
    for (int64_t h = 0; o && h < op->heads; h++) {
        bool sees = r >= 0 && h % p->offsets == r;
        hop__term *t = NULL;
        if (!sees) {
            t = hop__set_add_term(m, o, HOP__W + (int)(1000 + h), mod, NULL, 0);
            if (!t) return NULL;
            t->mixture = true;
        }
        for (int64_t e = 0; e < dim; e++) {
            int64_t from = h / group * dim + e, to = h * dim + e;
            double lo = INFINITY, hi = -INFINITY;
            for (int64_t u = 0; u < mod; u++) {
                double v = value_at(p->v, u, from);
                lo = ival_least(lo, v), hi = ival_most(hi, v);
                if (t) *hop__term_cell(t, u, to) = v;
            }
            /* A mixture that excludes the match: its row is another's. */
            if (t && r < 0 && mod > 1) *hop__term_cell(t, match, to) = value_at(p->v, match ? 0 : 1, from);
            double largest = ival_most(fabs(lo), fabs(hi)) + p->v->rad[from];
            if (sees) o->mid[to] = value_at(p->v, match, from);
            if (largest == 0) continue;
            o->rad[to] =
                ival_up(p->v->rad[from] + (sees ? mass * (hi - lo + 2 * p->v->rad[from]) * HOP__ABOVE : 0) +
                        (p->loss.mean.rel + 0x1p-50) * largest + p->loss.mean.abs);
        }
    }
    hop__set_canonical(m, o);
    return o;
}

/* The right logit minus any other, at least. */
static double read_out(const proof *p, hop__memory *m, hop__analysis *w, const hop__set *x, int64_t answer)
{
    const hop_config *c = hop_model_config(w->model);
    const hop_weight *norm = hop_model_weight(w->model, "model.norm.weight"),
                     *bias = hop_model_weight(w->model, "model.norm.bias");
    hop__set *y =
        hop__set_norm(m, x, c->norm, norm ? norm->data : NULL, bias ? bias->data : NULL, c->norm_eps);
    double least = INFINITY;
    for (int64_t v = 0; y && v < p->rivals; v++) {
        if (v == answer) continue;
        const float *a = p->rival[answer], *b = p->rival[v];
        double sum = 0, mag = 0, box = 0;
        for (int64_t e = 0; e < y->width; e++) {
            double d = (double)a[e] - b[e];
            sum += d * y->mid[e], box += fabs(d) * y->rad[e];
            mag += (fabs((double)a[e]) + fabs((double)b[e])) * y->mag[e];
        }
        for (int t = 0; t < y->terms; t++) {
            double low = INFINITY;
            for (int64_t i = 0; i < y->term[t].rows; i++) {
                double s = 0;
                for (int64_t e = 0; e < y->width; e++)
                    s += ((double)a[e] - b[e]) * hop__term_at(&y->term[t], i, e);
                low = ival_least(low, s);
            }
            sum += low;
        }
        if (!(mag < HOP__LARGEST)) return -INFINITY;
        double k = (double)y->width;
        least = ival_least(least, sum - box * HOP__ABOVE - (HOP_DOT_ERROR(k + 1) + (k + 16) * 0x1p-48) * mag -
                                      k * 0x1p-148);
    }
    return y ? least : -INFINITY;
}

/* Number c in one case: through the rest of its layer and all later MLPs to the read-out. */
static double follow(const proof *p, hop__memory *m, int64_t c, int64_t r, double mass, double *clip)
{
    hop__analysis w = p->analysis;
    w.m = m;
    w.only = (hop__case){c, r, p->offsets};
    if (atomic_load(&p->overflow)) w.observer = NULL; /* scores may, and then nothing is said */
    w.margin = (hop_margin){.clip_margin = INFINITY};
    hop__layer_sets l = p->layer;
    l.w = &w;
    l.buffer = hop__take(m, l.list.buffer_count, sizeof *l.buffer);
    int64_t match = c ? p->task->mod - c : 0;
    for (int b = 0; m->status == HOP_OK && b < l.list.buffer_count; b++) {
        const hop__set *from = p->layer.buffer[b][0];
        if (!from) continue;
        l.buffer[b][0] = hop__set_columns(m, from, 0, from->width);
        if (l.buffer[b][0]) hop__set_fix(m, l.buffer[b][0], NUMBER, c);
    }
    hop__set *x = m->status == HOP_OK ? hop__set_columns(m, p->x, 0, p->x->width) : NULL;
    if (!x) return -INFINITY;
    hop__set_fix(m, x, NUMBER, c);
    l.buffer[p->op->y][0] = heads_return(p, m, match, r, mass);
    if (w.observer && m->status == HOP_OK && !m->overflow) w.observer->buffer(w.observer->ctx, &l, p->number);
    for (int i = p->number + 1; m->status == HOP_OK && i < l.list.op_count; i++) hop__layer_op(&l, i);
    if (m->status != HOP_OK) return -INFINITY;
    x = hop__set_add(m, x, l.buffer[HOP_Y][0]);
    if (x) x = hop__set_mlp(&w, 0, x);
    *clip = ival_least(*clip, w.margin.clip_margin);
    if (w.observer && x && !m->overflow) w.observer->stream(w.observer->ctx, &w, &x);
    for (w.layer++; x && w.layer < hop_model_config(w.model)->pattern.layers; w.layer++) {
        for (int64_t e = 0; e < x->width; e++)
            if (!(x->mag[e] < BIG)) m->overflow = true; /* nothing_moves_later supposes so */
        x = hop__set_mlp(&w, 0, x);
    }
    double margin = x ? read_out(p, m, &w, x, r >= 0) : -INFINITY;
    return m->status == HOP_OK && !m->overflow ? margin : -INFINITY;
}

static void one_number(void *ctx, int64_t c, int worker)
{
    proof *p = ctx;
    int64_t mod = p->task->mod, match = c ? mod - c : 0;
    (void)worker;
    if (atomic_load(&p->stopped)) return;
    p->gap[c] = p->margin[c] = p->clip[c] = INFINITY;
    for (int64_t h = 0; h < p->op->heads; h++) p->gap[c] = ival_least(p->gap[c], lead(p, h, c, match));
    p->mass[c] = p->gap[c] > 0 ? ival_least(1, (double)p->seen * ival_up(exp(-p->gap[c])) * HOP__ABOVE) : 1;
    hop_status status = HOP_OK;
    for (int64_t r = match == c ? 0 : -1; status == HOP_OK && r < p->offsets; r++) {
        hop__memory m = {0};
        double margin = p->gap[c] > 0 || r < 0 ? follow(p, &m, c, r, p->mass[c], &p->clip[c]) : -INFINITY;
        p->margin[c] = ival_least(p->margin[c], margin);
        status = m.status;
        if (m.overflow) atomic_store(&p->overflow, true);
        hop__memory_free(&m);
    }
    if (status == HOP_ENOMEM) atomic_store(&p->no_memory, true);
    if (status != HOP_OK) p->margin[c] = NAN; /* too many things at once: not proved */
    if (!hop_progress_tick(p->analysis.progress, "numbers", (double)(c + 1), (double)mod))
        atomic_store(&p->stopped, true);
}

/* ---- the whole --------------------------------------------------------------------------------- */

static bool take_rivals(proof *p)
{
    const hop_config *c = hop_model_config(p->analysis.model);
    const float *head =
        hop_model_weight(p->analysis.model, c->tied ? "model.embed_tokens.weight" : "lm_head.weight")->data;
    for (int64_t v = 0; v < c->vocab; v++) {
        const float *row = head + v * c->d_model;
        bool known =
            false; /* rows of 0 and 1 again are rivals: sums of equal terms may differ in their order */
        for (int64_t i = 2; i < p->rivals && !known && v > 1; i++)
            known = memcmp(p->rival[i], row, sizeof *row * (size_t)c->d_model) == 0;
        if (known) continue;
        if (p->rivals == MOST_RIVALS) {
            hop__blame(&p->analysis, "read-out: more than %d different rows", MOST_RIVALS);
            return false;
        }
        p->rival[p->rivals++] = row;
    }
    return true;
}

static hop_status all_numbers(proof *p, hop_bounds_said *a, hop_error *err)
{
    hop_margin *g = &p->out->margins[p->analysis.layer];
    int64_t mod = p->task->mod;
    hop_pool_run(p->analysis.pool, mod, one_number, p);
    if (atomic_load(&p->stopped)) return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    if (atomic_load(&p->no_memory)) return hop_fail(err, HOP_ENOMEM, "out of memory");
    *g = (hop_margin){.layer = p->analysis.layer,
                      .player = HOP_PLAYER_QUERY,
                      .addresses = mod,
                      .score_gap = INFINITY,
                      .clip_margin = INFINITY};
    p->out->readout_margin = INFINITY;
    for (int64_t c = 0; c < mod; c++) {
        g->score_gap = ival_least(g->score_gap, p->gap[c]);
        g->wrong_mass = ival_most(g->wrong_mass, p->mass[c]);
        g->clip_margin = ival_least(g->clip_margin, p->clip[c]);
        p->out->readout_margin = ival_least(p->out->readout_margin, p->margin[c]);
    }
    a->proved = p->out->readout_margin > 0 && !atomic_load(&p->overflow);
    if (atomic_load(&p->overflow))
        hop__blame(&p->analysis, "layer %lld: a number may leave the range of float32",
                   (long long)p->analysis.layer);
    if (!(g->score_gap > 0))
        hop__blame(&p->analysis, "layer %lld: a wrong token's score may beat a match's (gap %.4g)",
                   (long long)p->analysis.layer, g->score_gap);
    if (!a->proved)
        hop__blame(&p->analysis, "read-out: a wrong logit may beat the right one's (margin %.4g)",
                   p->out->readout_margin);
    return HOP_OK;
}

static hop_status analyse(proof *p, hop_bounds_said *a, hop_error *err)
{
    hop__memory *m = p->analysis.m;
    int64_t mod = p->task->mod;
    p->x = all_tokens(p, p->analysis.model);
    bool go_on = p->x && norms_stand_before(p) && find_layer(p) && look_up(p) && nothing_moves_later(p) &&
                 take_rivals(p);
    if (go_on) {
        by_number(m, p->q);
        by_number(m, p->k);
        by_number(m, p->v);
        if (m->status == HOP_OK) charge(p);
        p->margin = hop__take(m, mod, sizeof(double)), p->gap = hop__take(m, mod, sizeof(double));
        p->mass = hop__take(m, mod, sizeof(double)), p->clip = hop__take(m, mod, sizeof(double));
    }
    if (m->status == HOP_EDOMAIN) hop__blame(&p->analysis, "too many things vary at once");
    if (m->overflow) hop__blame(&p->analysis, "a number may leave the range of float32");
    if (m->status == HOP_ENOMEM) return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (!go_on || m->status != HOP_OK || m->overflow) return HOP_OK;
    for (int64_t i = 0; i < hop_model_config(p->analysis.model)->pattern.layers; i++)
        p->out->margins[i] = (hop_margin){
            .layer = i, .player = HOP_PLAYER_NONE, .score_gap = INFINITY, .clip_margin = INFINITY};
    p->out->margin_count = hop_model_config(p->analysis.model)->pattern.layers;
    return all_numbers(p, a, err);
}

hop_status hop__analyse_twosum(hop_proof *out, hop_bounds_said *a, const hop_model *m, const hop_task *task,
                               int64_t generates, const hop_prove_options *o, hop_error *err)
{
    proof p = {.task = &task->twosum, .out = out};
    p.analysis = (hop__analysis){.model = m, .pool = o->pool, .progress = o->progress, .m = &p.memory};
    p.analysis.observer = o->observer;
    p.analysis.facts = (hop__facts){
        .classes = 1, .length = task->length, .bidirectional = hop_model_config(m)->bidirectional};
    p.analysis.facts.class[0] = (hop__class){.start = 0, .count = task->length, .player = HOP_PLAYER_QUERY};
    out->margins = hop_alloc(sizeof *out->margins * (size_t)hop_model_config(m)->pattern.layers);
    if (!out->margins) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_status s = HOP_OK;
    if (generates)
        hop__blame(&p.analysis, "2-Sum is answered at every token, not after some are generated");
    else
        s = analyse(&p, a, err);
    if (!a->proved) snprintf(out->why, sizeof out->why, "%s", p.analysis.why);
    hop__memory_free(&p.memory);
    return s;
}
