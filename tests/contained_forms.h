/* What forms of a recurrence make on their way beside the prover's bounds: the programs that say what
 * kernels form are evaluated in double on what the network gave the operation, and each named quantity is
 * looked up. */
#ifndef HOPBOUND_CONTAINED_FORMS_H
#define HOPBOUND_CONTAINED_FORMS_H

#include "charge.h"
#include "contained.h"

/* One head of a recurrence in one pass. */
typedef struct forms_head {
    const contained *c;
    const contained_run *run;
    const hop_op *op;
    const hop_list *list;
    int64_t layer, head; /* SELECTIVE, DIAGONAL: the channel */
    const float *par[HOP_OP_PARAMS];
} forms_head;

/* Row t of input i of the operation; NULL: that was not kept. */
static inline const float *forms_row(const forms_head *h, int i, int64_t t)
{
    hop_ref r = h->op->in[i];
    for (int k = 0; k < h->list->op_count; k++) {
        int64_t slot = contained_slot(h->layer, k);
        if (h->list->op[k].y != r.buffer) continue;
        return h->c->value + h->run->at + h->c->offset[slot] +
               (h->c->once[slot] ? 0 : t) * h->c->width[slot] + r.column;
    }
    return NULL;
}

static inline double forms_at(const forms_head *h, int i, int64_t t, int64_t col)
{
    const float *row = forms_row(h, i, t);
    return row ? row[col] : NAN;
}

/* Number c of an input at row `row` of the recurrence: a token has op->steps of them. */
static inline double forms_scan_input(const forms_head *h, const char *name, int64_t row, int64_t c)
{
    const hop_op *op = h->op;
    int64_t steps = op->steps > 1 ? op->steps : 1, t = row / steps, j = row % steps, K = op->key_dim;
    int64_t heads = op->heads, steps_of_token = heads, key = h->head % heads / (heads / op->kv_heads);
    int64_t head = h->head % steps_of_token;
    if (strcmp(name, "scale") == 0) return (float)op->scale;
    if (strcmp(name, "q") == 0) return j + 1 < steps ? 0 : forms_at(h, HOP_SCAN_Q, t, key * K + c);
    if (strcmp(name, "k") == 0) return forms_at(h, HOP_SCAN_K, t, (j * op->kv_heads + key) * K + c);
    if (strcmp(name, "v") == 0 && c == op->value_dim) return 1;
    if (strcmp(name, "v") == 0) return forms_at(h, HOP_SCAN_V, t, (j * heads + head) * op->value_dim + c);
    if (strcmp(name, "g") == 0 && j > 0) return 0;
    if (strcmp(name, "g") == 0)
        return forms_at(h, HOP_SCAN_G, t, op->gate == HOP_GATE_KEY ? head * K + c : head);
    if (strcmp(name, "beta") == 0) return forms_at(h, HOP_SCAN_BETA, t, j * heads + head);
    if (strcmp(name, "a") == 0) return forms_at(h, HOP_SCAN_A, t, key * K + c);
    if (strcmp(name, "b") == 0) return forms_at(h, HOP_SCAN_B, t, key * K + c);
    if (strcmp(name, "i") == 0) return forms_at(h, HOP_SCAN_I, t, head);
    if (strcmp(name, "f") == 0) return forms_at(h, HOP_SCAN_F, t, head);
    return strcmp(name, "u") == 0 ? h->par[0][head * K + c] : NAN;
}

static inline double forms_input(const forms_head *h, const char *name, int64_t row, int64_t c)
{
    int64_t e = h->head, K = h->op->key_dim;
    if (h->op->kind == HOP_OP_SCAN) return forms_scan_input(h, name, row, c);
    if (h->op->kind == HOP_OP_DIAGONAL) return forms_at(h, name[0] == 'a' ? 0 : 1, row, e);
    if (strcmp(name, "x") == 0) return forms_at(h, HOP_SELECTIVE_X, row, e);
    if (strcmp(name, "delta") == 0) return forms_at(h, HOP_SELECTIVE_DELTA, row, e);
    if (strcmp(name, "A") == 0) return -exp(fmin(h->par[0][e * K + c], 69));
    if (strcmp(name, "B") == 0) return forms_at(h, HOP_SELECTIVE_B, row, c);
    if (strcmp(name, "C") == 0) return forms_at(h, HOP_SELECTIVE_C, row, c);
    return strcmp(name, "D") == 0 && h->par[1] ? h->par[1][e] : 0;
}

/* The inputs of rows first .. of a unit; S and m are what the unit before left. */
static inline void forms_fill(const forms_head *h, hop_arith_run *r, int64_t first, const double *state,
                              double m)
{
    for (int i = 0; i < r->p->count; i++) {
        const hop_line *l = r->p->line[i];
        int64_t count = hop_arith_count(r, i);
        int64_t rows = r->p->axes[i] >> HOP_AXIS_T & 1 ? r->size[HOP_AXIS_T] : 1, each = count / rows;
        if (l->prim != HOP_PRIM_INPUT) continue;
        for (int64_t e = 0; e < count; e++)
            r->value[i][e] = strcmp(l->name, "S") == 0 ? state[e]
                             : strcmp(l->name, "m") == 0
                                 ? m
                                 : forms_input(h, l->name, first + e / each, e % each);
    }
}

/* Tokens of a unit before the first at which some key's decay is too far from 1 to be divided by; all of
 * them where the form divides by none. */
static inline int64_t forms_mild(const hop_arith_run *r)
{
    const int64_t n = r->size[HOP_AXIS_T];
    for (int i = 0; i < r->p->count; i++) {
        if (r->p->line[i]->prim != HOP_PRIM_MILD) continue;
        int64_t count = hop_arith_count(r, r->p->a[i]), each = count / n;
        for (int64_t e = 0; e < count; e++)
            if (!(r->value[r->p->a[i]][e] > 0x1p-32)) return e / each;
    }
    return n;
}

/* Has some decay left even double's range, so that dividing by it and multiplying again tells nothing? */
static inline bool forms_vanished(const hop_arith_run *r)
{
    for (int i = 0; i < r->p->count; i++)
        for (int64_t e = 0; r->p->line[i]->prim == HOP_PRIM_MILD && e < hop_arith_count(r, r->p->a[i]); e++)
            if (!(r->value[r->p->a[i]][e] > 0x1p-900)) return true;
    return false;
}

/* Is a line of pairs used for tokens before one's own only? */
static inline bool forms_strict(const hop_arith *p, int line)
{
    bool used = false;
    for (int i = line + 1; i < p->count; i++) {
        if (p->a[i] != line && p->b[i] != line && p->c[i] != line) continue;
        if (p->line[i]->prim != HOP_PRIM_STRICT && !forms_strict(p, i)) return false;
        used = true;
    }
    return used;
}

/* What decides which numbers of a line are formed. */
typedef struct forms_line {
    bool T, J, strict, steep, divided, end;
    int64_t n, rest; /* tokens of the unit; numbers of a line for each place along T and J */
} forms_line;

static inline forms_line forms_line_of(const hop_arith_run *r, int line)
{
    unsigned axes = r->p->axes[line];
    const char *name = r->p->line[line]->name;
    forms_line l = {.T = axes >> HOP_AXIS_T & 1, .J = axes >> HOP_AXIS_J & 1, .n = r->size[HOP_AXIS_T]};
    l.rest = hop_arith_count(r, line) / ((l.T ? l.n : 1) * (l.J ? l.n : 1));
    l.strict = l.T && l.J && forms_strict(r->p, line);
    l.steep = hop_arith_find(r->p, "dec") >= 0, l.end = hop_arith_find(r->p, "end") == line;
    l.divided = strcmp(name, "back") == 0 || strcmp(name, "kt") == 0 || strcmp(name, "bt") == 0;
    return l;
}

/* Is number e of a line formed at all? Of pairs only those with tokens up to one's own count; what is made
 * with a decay that was divided by, only where that was mild. */
static inline bool forms_formed(const forms_line *l, int64_t e, int64_t mild)
{
    int64_t at = e / l->rest, j = l->J ? at % l->n : 0, t = l->T ? at / (l->J ? l->n : 1) : 0;
    if (l->T && l->J && (j > t || (j == t && l->strict))) return false;
    if (mild == l->n || (l->steep && !l->divided)) return true;
    return (l->T || l->J) && (!l->T || t < mild) && (!l->J || j < mild) && !l->end;
}

/* A unit's named quantities against their bounds: what is formed differs from them by roundings, which
 * these allow. */
static inline void forms_compare(contained *c, const forms_head *h, const hop__reading *x,
                                 const hop_arith_run *r)
{
    int64_t mild = forms_mild(r);
    for (int i = 0; i < x->p->count; i++) {
        const hop_line *l = x->p->line[i];
        const hop__num *n = &x->v[i];
        double off = n->mag * n->rel + n->abs + 1e-9 * n->mag, most = n->top * (1 + 1e-6) + 1e-300;
        bool choice = l->prim == HOP_PRIM_PLAIN || l->prim == HOP_PRIM_MILD;
        forms_line formed = forms_line_of(r, i);
        for (int64_t e = 0; !choice && e < hop_arith_count(r, i); e++) {
            double v = r->value[i][e];
            if (!forms_formed(&formed, e, mild)) continue;
            c->compared++, c->named++;
            if (v >= n->range.lo - off && v <= n->range.hi + off && fabs(v) <= most) continue;
            if (c->violations++) continue;
            snprintf(c->where, sizeof c->where,
                     "layer %lld, op %d, head %lld, %s (%s): %.9g is not in [%.9g, %.9g], %.3g at most",
                     (long long)h->layer, c->op, (long long)h->head, l->name, hop_prim_name(l->prim), v,
                     n->range.lo, n->range.hi, n->top);
        }
    }
}

/* All rows that the class has seen, unit by unit. */
static inline void forms_run(contained *c, const forms_head *h, const hop__reading *x, int64_t rows)
{
    enum { ROWS = 5 };
    bool scan = h->op->kind == HOP_OP_SCAN, ones = scan && h->op->core == HOP_CORE_MLSTM;
    int64_t unit = x->size[HOP_AXIS_T] > 1 ? ROWS : 1, m1 = hop_arith_find(x->p, "m1");
    int64_t K = h->op->kind == HOP_OP_DIAGONAL ? 1 : h->op->key_dim, V = scan ? h->op->value_dim + ones : 1;
    double *state = calloc((size_t)(K * V), sizeof *state), m = 0, *room = NULL;
    const int64_t size[HOP_AXES] = {unit, unit, K, V};
    room = malloc(sizeof *room * hop_arith_room(x->p, size));
    if (!state || !room) abort();
    for (int64_t first = 0; first < rows; first += unit) {
        int64_t n = unit < rows - first ? unit : rows - first;
        hop_arith_run r = {.p = x->p, .size = {n, n, K, V}};
        hop_arith_place(&r, room);
        forms_fill(h, &r, first, state, m);
        hop_arith_evaluate(&r);
        if (forms_mild(&r) < n && hop_arith_find(x->p, "dec") < 0) break; /* another form's then */
        if (forms_vanished(&r)) break;
        forms_compare(c, h, x, &r);
        if (x->p->next >= 0)
            memcpy(state, r.value[x->p->next], sizeof *state * (size_t)hop_arith_count(&r, x->p->next));
        if (m1 >= 0) m = r.value[m1][n - 1];
    }
    free(state), free(room);
}

/* Of every few passes one: the quantities do not depend on the kernels but for the operation's inputs. */
static inline void contained_form(void *ctx, const hop__analysis *w, int a, int64_t head,
                                  const hop__reading *x)
{
    contained *c = ctx;
    hop_list list;
    hop_mixer_config config = hop_model_mixer_config(w->model, w->layer);
    const hop_mixer_ops *ops =
        hop_mixer_find(hop_pattern_mixer(&hop_model_config(w->model)->pattern, w->layer));
    hop_param params[HOP_MIXER_MAX_PARAMS] = {{0}};
    hop_mixer_list(&list, ops, &config);
    ops->params(&config, params);
    const hop_op *op = &list.op[c->op];
    forms_head h = {.c = c, .op = op, .list = &list, .layer = w->layer, .head = head};
    /* Where an operation before it may leave the range, nothing is claimed of the layer, nor told of where it is. */
    if (op->kind != HOP_OP_SCAN && op->kind != HOP_OP_SELECTIVE && op->kind != HOP_OP_DIAGONAL) return;
    for (int i = 0; i < HOP_OP_PARAMS; i++) {
        char name[96];
        if (op->par[i] < 0) continue;
        snprintf(name, sizeof name, "mixer.%s", params[op->par[i]].name);
        h.par[i] = hop_model_layer_weight(w->model, w->layer, name)->data;
    }
    const hop__class *k = &w->facts.class[a];
    int64_t tokens = k->start + k->count < c->length ? k->start + k->count : c->length;
    for (int i = (int)((head + a) % 7); i < c->runs; i += 16) {
        h.run = &c->run[i];
        forms_run(c, &h, x, tokens * (op->steps > 1 ? op->steps : 1));
    }
}

/* Analyses the network beside what was kept. Returns whether it is proved. */
static inline bool contained_walk(contained *c)
{
    hop_proof p;
    const hop_progress progress = {.tick = go_on};
    const hop__observer observer = {contained_buffer, contained_stream, contained_form, c};
    const hop_prove_options how = {.method = HOP_PROVE_INTERVAL,
                                   .bits = c->s->bits,
                                   .message_bits = c->s->message,
                                   .progress = &progress,
                                   .observer = &observer};
    if (hop_prove(&p, c->m, &c->s->task, &how, NULL) != HOP_OK) return false;
    bool proved = p.verdict == HOP_PROVED;
    hop_proof_free(&p);
    return proved;
}

#endif
