/* Sets beside the numbers that they are said to contain: what a network computes, buffer by buffer and
 * layer by layer, on some inputs, in every form and with every kernel table, is kept; then the prover
 * analyses it, and at every set that it makes each kept number is looked up: not only in the range of its
 * column, but in the row that the input's variables decide. */
#ifndef HOPBOUND_CONTAINED_H
#define HOPBOUND_CONTAINED_H

#include "against_truth.h"
#include "analysis.h"
#include "token_variables.h"

#include <math.h>
#include <stdio.h>

enum { CONTAINED_RUNS = 64, CONTAINED_TOKENS = 64 };

/* One pass: an input, and where in `value` it is. */
typedef struct contained_run {
    int32_t tokens[CONTAINED_TOKENS];
    int isa, form;
    int64_t at;
} contained_run;

typedef struct contained {
    const hop_model *m;
    const subject *s;
    int64_t layers, length; /* positions, generated ones included */
    int64_t *offset;        /* [layers, HOP_LIST_OPS + 1]: of what an operation writes; last, of streams */
    int64_t *width;         /* the same: numbers a token */
    bool *once;             /* the same: one row for all tokens */
    int64_t floats;         /* of a pass */
    float *value;           /* [runs, floats] */
    contained_run run[CONTAINED_RUNS];
    int runs, form, isa;
    int64_t at_token; /* stepping: the token at hand */
    int op;           /* the operation that is being analysed */
    /* what came out */
    int64_t compared, violations, named; /* named: of those compared, quantities of programs */
    char where[240];                     /* the first violation */
} contained;

/* ---- layout ------------------------------------------------------------------------------------------ */

static inline int64_t contained_slot(int64_t layer, int op)
{
    return layer * (HOP_LIST_OPS + 1) + op;
}

static inline void contained_open(contained *c, const hop_model *m, const subject *s, int64_t generated)
{
    int64_t layers = hop_model_config(m)->pattern.layers, slots = layers * (HOP_LIST_OPS + 1);
    *c = (contained){.m = m, .s = s, .layers = layers, .length = s->task.length + generated};
    c->offset = calloc((size_t)slots, sizeof *c->offset), c->width = calloc((size_t)slots, sizeof *c->width);
    c->once = calloc((size_t)slots, sizeof *c->once);
    if (!c->offset || !c->width || !c->once || c->length > CONTAINED_TOKENS) abort();
    for (int64_t l = 0; l < layers; l++) {
        hop_list list;
        hop_mixer_config config = hop_model_mixer_config(m, l);
        hop_mixer_list(&list, hop_mixer_find(hop_pattern_mixer(&hop_model_config(m)->pattern, l)), &config);
        for (int op = 0; op <= HOP_LIST_OPS; op++) {
            int64_t slot = contained_slot(l, op);
            c->offset[slot] = c->floats;
            c->width[slot] = op == HOP_LIST_OPS   ? hop_model_config(m)->d_model
                             : op < list.op_count ? list.width[list.op[op].y]
                                                  : 0;
            c->once[slot] = op < list.op_count && list.op[op].kind == HOP_OP_CONSTANT;
            c->floats += c->width[slot] * c->length;
        }
    }
    c->value = malloc(sizeof *c->value * (size_t)(c->floats * CONTAINED_RUNS));
    if (!c->value) abort();
    for (int64_t i = 0; i < c->floats * CONTAINED_RUNS; i++) c->value[i] = NAN;
}

static inline void contained_close(contained *c)
{
    free(c->offset), free(c->width), free(c->once), free(c->value);
}

/* ---- passes -------------------------------------------------------------------------------------------- */

static inline void contained_keep(contained *c, int64_t slot, const float *rows, int64_t first, int64_t count)
{
    int64_t width = c->width[slot];
    float *to = c->value + c->run[c->runs].at + c->offset[slot] + first * width;
    if (first + count > c->length) abort();
    memcpy(to, rows, sizeof *to * (size_t)(count * width));
}

static inline void contained_see(void *ctx, int64_t layer, int op, const float *rows, int64_t first,
                                 int64_t count)
{
    contained_keep(ctx, contained_slot(layer, op), rows, first, count);
}

static inline void contained_see_stream(void *ctx, int64_t layer, const float *x, int64_t count)
{
    contained *c = ctx;
    contained_keep(c, contained_slot(layer, HOP_LIST_OPS), x, c->at_token, count);
}

/* The forms: 0 whole, 1 token by token, 2 a segment a player with `bits` bits, 3 a segment a token. */
static inline void contained_pass(contained *c, int form, const int32_t *tokens)
{
    const hop_task *t = &c->s->task;
    const hop_list_watch buffers = {contained_see, c};
    const hop_watch watch = {.stream = contained_see_stream, .ctx = c, .buffers = &buffers};
    int64_t starts[CONTAINED_TOKENS], n = 0;
    contained_run *r = &c->run[c->runs];
    float *logits = malloc(sizeof *logits * (size_t)(c->length * t->vocab));
    if (!logits || c->runs >= CONTAINED_RUNS) abort();
    memcpy(r->tokens, tokens, sizeof *tokens * (size_t)t->length);
    r->form = form, r->isa = (int)hop_kernels_selected(), r->at = c->runs * c->floats, c->at_token = 0;
    if (form == 1) {
        hop_decoder *d = NULL;
        if (hop_decoder_new(&d, c->m, c->length, false, NULL) != HOP_OK) abort();
        hop_decoder_watch(d, &watch);
        for (int64_t p = 0; p < c->length; p++, c->at_token = p) {
            int64_t token = p < t->length ? tokens[p] : hop_argmax(logits, t->vocab);
            if (token < 0) break;
            r->tokens[p] = (int32_t)token;
            if (hop_decoder_step(d, (int32_t)token, logits, NULL) != HOP_OK) abort();
        }
        hop_decoder_free(d);
    } else {
        hop_forward *f = NULL;
        for (int l = form == 2 ? t->funccomp.hops : -1; l >= 0; l--) starts[n++] = t->funccomp.start[l];
        if (form == 2) starts[n++] = t->length - 1;
        for (; form == 3 && n < t->length; n++) starts[n] = n;
        const hop_cuts cuts = {.starts = starts, .count = n, .bits = c->s->message ? c->s->message : 32};
        const hop_forward_options o = {.bits = c->s->bits, .watch = &watch, .cuts = form > 1 ? &cuts : NULL};
        if (hop_forward_new(&f, c->m, &o, NULL) != HOP_OK) abort();
        if (hop_forward_all(f, tokens, t->length, logits, NULL) != HOP_OK) abort();
        hop_forward_free(f);
    }
    free(logits);
    c->runs++;
}

/* ---- looking numbers up ---------------------------------------------------------------------------- */

/* The row of a term for the token at `position` of a class; -1: any of them. */
static inline int64_t contained_row(const hop__facts *f, const hop__class *k, const contained_run *r,
                                    int64_t position, const hop__term *t)
{
    int64_t row = 0;
    if (t->mixture) return -1;
    for (int i = 0; i < t->vars; i++) {
        int64_t v = token_variable(f, k, r->tokens, position, t->var[i]);
        if (v < 0 || v >= t->values[i]) return -1;
        row = row * t->classes[i] + t->of[i][v];
    }
    return row;
}

static inline void contained_violated(contained *c, const hop__analysis *w, int op, const contained_run *r,
                                      int64_t position, int64_t col, const double x_mid_off[3])
{
    static const char *const forms[] = {"whole", "by tokens", "a segment a player", "a segment a token"};
    if (c->violations++) return;
    snprintf(c->where, sizeof c->where,
             "layer %lld, op %d, token %lld, column %lld, %s, %s: %.9g is not %.9g ± %.3g",
             (long long)w->layer, op, (long long)position, (long long)col, forms[r->form],
             hop_isa_name((hop_isa)r->isa), x_mid_off[0], x_mid_off[1], x_mid_off[2]);
}

/* A token's numbers against a class's set; head_gain: of its buffer, may be NULL. */
static inline void contained_token(contained *c, const hop__analysis *w, int op, int class, const hop__set *s,
                                   const hop__head_gain *head_gain, const contained_run *r, int64_t position)
{
    const hop__facts *f = &w->facts;
    const hop__class *k = &f->class[class];
    int64_t slot = contained_slot(w->layer, op), rows[HOP__MOST_TERMS];
    const float *x = c->value + r->at + c->offset[slot] + (c->once[slot] ? 0 : position) * c->width[slot];
    for (int t = 0; t < s->terms; t++) rows[t] = contained_row(f, k, r, position, &s->term[t]);
    for (int64_t e = 0; e < s->width; e++) {
        ival in = ival_point(s->mid[e]);
        for (int t = 0; t < s->terms; t++) {
            const hop__term *u = &s->term[t];
            if (!hop__term_fills(u, e)) continue;
            in = ival_add(in, rows[t] < 0 ? hop__set_term_range(s, t, e)
                                          : ival_point(hop__term_at(u, rows[t], e)));
        }
        if (s->rel[e] > 0) in = ival_widen(in, s->rel[e] * ival_mag(in));
        double by = head_gain && head_gain->by ? head_gain->by[e / head_gain->dim] : 0;
        in = ival_widen(in, s->rad[e] * (1 + 1e-12));
        if (in.lo < s->least[e]) in.lo = s->least[e];
        if (in.hi > s->most[e]) in.hi = s->most[e];
        if (by > 0) in = ival_mul(in, (ival){1 - by, 1 + by});
        c->compared++;
        double room = (in.hi - in.lo) / 2 + 0x1p-60 * ival_mag(in);
        if (x[e] >= in.lo - 0x1p-60 * ival_mag(in) && x[e] <= in.hi + 0x1p-60 * ival_mag(in)) continue;
        contained_violated(c, w, op, r, position, e, (double[]){x[e], (in.lo + in.hi) / 2, room});
    }
}

/* Does a set of 2-Sum's speak of the token at this position? */
static inline bool contained_meant(const contained *c, const hop__analysis *w, const contained_run *r,
                                   int64_t position)
{
    int64_t mod = c->s->task.twosum.mod, block = w->only.offsets;
    bool match = false;
    if (w->only.offsets == 0) return true;
    if (r->tokens[position] != w->only.number) return false;
    for (int64_t j = 0; j <= position; j++) {
        if ((r->tokens[j] + r->tokens[position]) % mod != 0) continue;
        if (w->only.offset < 0) return false;
        match = match || block == 1 || j / block == position / block || j % block == w->only.offset;
    }
    return match || w->only.offset < 0;
}

static inline void contained_sets(contained *c, const hop__analysis *w, int op, hop__set *const *x,
                                  const hop__head_gain *head_gain)
{
    for (int i = 0; i < c->runs; i++)
        for (int a = 0; a < w->facts.classes; a++) {
            const hop__class *k = &w->facts.class[a];
            for (int64_t p = k->start; p < k->start + k->count && p < c->length; p++)
                if (contained_meant(c, w, &c->run[i], p))
                    contained_token(c, w, op, a, x[a], head_gain ? &head_gain[a] : NULL, &c->run[i], p);
        }
}

static inline void contained_buffer(void *ctx, const hop__layer_sets *l, int op)
{
    int y = l->list.op[op].y;
    ((contained *)ctx)->op = op + 1;
    contained_sets(ctx, l->w, op, l->buffer[y], l->head_gain ? l->head_gain[y] : NULL);
}

static inline void contained_stream(void *ctx, const hop__analysis *w, hop__set *const *x)
{
    contained_sets(ctx, w, HOP_LIST_OPS, x, NULL);
}

#endif
