/* The proof for function composition: the prompt's tokens as sets, the layers, the read-out; for a network
 * that generates, the same again with each generated token as one more class, which holds what the read-out
 * was shown to choose. */
#include "readout.h"

#include <stdio.h>
#include <string.h>

typedef struct proof {
    hop__analysis analysis;
    hop__memory memory[2], scratch; /* of layers in turn; of one operation */
    hop__memory kept, start;        /* of what is generated; of the streams before the first layer */
    hop_proof *out;
    hop_bounds_said *said;
    const float *tokens, *positions;
    int64_t d;
} proof;

/* ---- before the first layer ---------------------------------------------------------------------- */

static hop__set *token_set(proof *p, const hop__class *c)
{
    hop__memory *m = &p->start;
    hop__set *s = hop__set_new(m, p->d);
    if (!s || !hop__set_reserve(m, s, 1)) return NULL;
    if (c->player < 0 && c->tokens) { /* generated */
        if (c->made->vars == 0) {
            for (int64_t e = 0; e < p->d; e++) s->mid[e] = p->tokens[c->tokens[0] * p->d + e];
        } else {
            hop__term *t = hop__set_term_over(m, s, c->made, 0, p->d);
            for (int64_t i = 0; t && i < t->rows * p->d; i++)
                t->cell[i] = p->tokens[c->tokens[i / p->d] * p->d + i % p->d];
        }
    } else {
        int var = c->player < 0 ? HOP__W : HOP__R0 + c->player;
        hop__term *t = hop__set_add_term(m, s, var, hop__facts_values(&p->analysis.facts, c, var), NULL, 0);
        for (int64_t i = 0; t && i < t->rows * p->d; i++) t->cell[i] = p->tokens[i];
    }
    hop__set_canonical(m, s);
    return m->status == HOP_OK ? s : NULL;
}

static hop__set *position_set(proof *p, const hop__class *c)
{
    hop__memory *m = &p->start;
    hop__set *s = hop__set_new(m, p->d);
    hop__term *t = s && p->positions ? hop__set_add_term(m, s, HOP__POS, c->count, NULL, 0) : NULL;
    for (int64_t i = 0; t && i < t->rows * p->d; i++) t->cell[i] = p->positions[c->start * p->d + i];
    hop__set_canonical(m, s);
    return m->status == HOP_OK ? s : NULL;
}

static bool embed(proof *p, hop__set **x)
{
    for (int a = 0; a < p->analysis.facts.classes; a++) {
        const hop__class *c = &p->analysis.facts.class[a];
        hop__set *token = token_set(p, c), *position = token ? position_set(p, c) : NULL;
        token = hop__set_rounded(&p->start, token, p->analysis.bits);
        position = hop__set_rounded(&p->start, position, p->analysis.bits);
        x[a] = position
                   ? hop__set_rounded(&p->start, hop__set_add(&p->start, token, position), p->analysis.bits)
                   : NULL;
        if (!x[a]) return false;
    }
    return true;
}

/* ---- after the last ---------------------------------------------------------------------------- */

/* Is the leading token what the chain has reached at i_L, in every case? */
static bool answers_are_right(proof *p, const hop__readout *r)
{
    int k = 0, L = p->analysis.facts.task->hops;
    while (k < r->term.vars && r->term.var[k] != HOP__R0 + L) k++;
    if (k == r->term.vars || r->term.classes[k] != r->term.values[k]) return false;
    int64_t *value = hop__take(&p->kept, r->term.classes[k], sizeof *value);
    for (int64_t v = 0; value && v < r->term.values[k]; v++) value[r->term.of[k][v]] = v;
    for (int64_t row = 0; value && row < r->term.rows; row++)
        if (r->token[row] != value[hop__term_class(&r->term, k, row)]) return false;
    return value != NULL;
}

/* One more class: the token that was chosen. */
static bool append(proof *p, const hop__readout *r)
{
    hop__facts *f = &p->analysis.facts;
    hop__memory *m = &p->kept;
    hop__term *t = hop__take(m, 1, sizeof *t);
    int64_t *tokens = hop__take(m, r->term.vars ? r->term.rows : 1, sizeof *tokens);
    if (m->status != HOP_OK) return false;
    if (f->classes == HOP__MOST_CLASSES) {
        m->status = HOP_EDOMAIN;
        return false;
    }
    *t = r->term;
    t->cell = NULL;
    memcpy(tokens, r->token, sizeof *tokens * (size_t)(t->vars ? t->rows : 1));
    for (int k = 0; k < t->vars; k++) {
        int32_t *of = hop__take(m, t->values[k], sizeof *of);
        if (!of) return false;
        memcpy(of, r->term.of[k], sizeof *of * (size_t)t->values[k]);
        t->of[k] = of;
    }
    f->class[f->classes++] = (hop__class){.start = f->length++,
                                          .count = 1,
                                          .player = HOP_PLAYER_QUERY,
                                          .chain = true,
                                          .made = t,
                                          .tokens = tokens};
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void blame(proof *p, const char *why)
{
    snprintf(p->out->why, sizeof p->out->why, "%s", why);
}

/* What stopped the analysis, as a reason or as a status. */
static hop_status stopped(proof *p, const hop__memory *m, hop_error *err)
{
    if (m->overflow) hop__blame(&p->analysis, "a number may leave the range of float32");
    if (m->overflow) blame(p, p->analysis.why);
    if (m->overflow) return HOP_OK;
    if (m->status == HOP_EDOMAIN) blame(p, "too many things vary at once");
    if (m->status == HOP_EDOMAIN || m->status == HOP_OK) return HOP_OK;
    return hop_fail(err, m->status, m->status == HOP_ESTOPPED ? "stopped on request" : "out of memory");
}

/* One pass over all classes; `last`: its read-out must be the answer, else it is one more token. */
static hop_status one_pass(proof *p, bool last, bool *go_on, hop_error *err)
{
    hop__analysis *w = &p->analysis;
    hop__sets x = {0};
    hop__readout r;
    *go_on = false;
    hop__memory_clear(&p->start);
    w->answering = w->facts.classes - 1;
    if (!embed(p, x) || p->start.overflow) return stopped(p, &p->start, err);
    if (!hop__analyse_layers(w, x, p->memory, p->out->margins, &p->out->margin_count))
        return stopped(p, w->m, err);
    if (!hop__leading_token(w, w->m, x[w->answering], &r) || w->m->overflow) return stopped(p, w->m, err);
    p->out->readout_margin = ival_least(p->out->readout_margin, r.margin);
    if (!(r.margin > 0)) {
        hop__blame(w, "read-out: a wrong logit may beat the right one's (margin %.4g)", r.margin);
        blame(p, w->why);
        return HOP_OK;
    }
    if (!last) {
        *go_on = append(p, &r);
        return *go_on ? HOP_OK : stopped(p, &p->kept, err);
    }
    p->said->proved = answers_are_right(p, &r);
    if (p->said->proved) return HOP_OK;
    hop__blame(w, "read-out: the token that leads is not what the look-ups reach");
    blame(p, w->why);
    return p->kept.status == HOP_OK ? HOP_OK : stopped(p, &p->kept, err);
}

hop_status hop__analyse_funccomp(hop_proof *out, hop_bounds_said *a, const hop_model *m, const hop_task *task,
                                 int64_t generates, const hop_prove_options *o, hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    proof p = {.out = out, .said = a, .d = c->d_model};
    p.analysis =
        (hop__analysis){.model = m, .pool = o->pool, .progress = o->progress, .observer = o->observer};
    p.analysis.bits = o->bits < 24 ? o->bits : 0;
    /* Numbers of P bits have a sign, 8 bits of exponent and P - 9 of fraction: half a unit in the last place.
     */
    if (o->message_bits > 0 && o->message_bits < 32)
        p.analysis.message = ldexp(1, 8 - o->message_bits) * HOP__ABOVE;
    p.analysis.scratch = &p.scratch;
    p.tokens = hop_model_weight(m, "model.embed_tokens.weight")->data;
    p.positions = positions ? positions->data : NULL;
    hop__facts_init(&p.analysis.facts, &task->funccomp, c->bidirectional);
    out->margins = hop_alloc(sizeof *out->margins * (size_t)c->pattern.layers);
    if (!out->margins) return hop_fail(err, HOP_ENOMEM, "out of memory");
    out->readout_margin = INFINITY;
    hop_status s = HOP_OK;
    bool go_on = true;
    int64_t passes = generates ? generates : 1;
    for (int64_t i = 0; s == HOP_OK && go_on && i < passes; i++)
        s = one_pass(&p, i + 1 == passes, &go_on, err);
    memcpy(a->hints, p.analysis.hints, sizeof a->hints);
    a->hint_count = p.analysis.hint_count;
    hop__memory_free(&p.scratch);
    hop__memory_free(&p.memory[0]);
    hop__memory_free(&p.memory[1]);
    hop__memory_free(&p.kept);
    hop__memory_free(&p.start);
    if (out->readout_margin == INFINITY) out->readout_margin = NAN;
    return s;
}
