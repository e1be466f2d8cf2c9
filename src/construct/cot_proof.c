/* The chain-of-thought network is right on every input: by induction over the stages. If all tokens up to
 * stage l are what they should be, the next one is; and the tokens of stage l are few: w at stage 0, an
 * address of z_l after that. There is one layer, so keys and values are table rows and nothing else. For each
 * stage and each address both heads' right tokens must lead; then, for each value v of the entry and each
 * digit d = w_l, the read-out must say d·N_{l-1} + v. */
#include "cot.h"
#include "prove.h"

#include <stdio.h>
#include <string.h>

#define HEADS 2

typedef struct stage {
    hop__analysis *a;
    int l;
    double mass[HEADS]; /* wrong mass of each head, at most */
    ival *place;        /* [rows of w.v]: what the right tokens' positions add to their values */
    ival *digit;        /* [digits of w_l, rows of w.v]: w's own value, over all w with that digit */
} stage;

/* ---- questions -------------------------------------------------------------------------------- */

static int64_t one_kind(const hop__analysis *a, const hop__question *q, int64_t token)
{
    (void)a, (void)q, (void)token;
    return 0;
}

static int64_t own_kind(const hop__analysis *a, const hop__question *q, int64_t token)
{
    (void)a;
    return q->e == 0 ? 0 : token; /* at stage 0 every w asks for z_0 */
}

static int64_t the_query(const hop__analysis *a, const hop__question *q, int64_t kind, int64_t i)
{
    (void)q, (void)kind, (void)i;
    return a->task->length - 1;
}

static int64_t the_entry(const hop__analysis *a, const hop__question *q, int64_t kind, int64_t i)
{
    (void)i;
    return a->task->start[q->e] + kind;
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Row r of W_v times the token rows of one token. */
static ival value_of(const hop__analysis *a, int64_t r, int64_t token)
{
    const hop__sparse *m = &a->w.v;
    ival sum = {0, 0};
    for (int64_t n = m->start[r]; n < m->start[r + 1]; n++)
        sum = ival_add(sum, ival_scale(ival_point(a->token_table[token * a->d + m->col[n]]), m->val[n]));
    return sum;
}

static int64_t head_of(const hop__analysis *a, int64_t r)
{
    return r / a->head_dim;
}

static void fill_place(stage *s)
{
    hop__analysis *a = s->a;
    const hop__sparse *m = &a->w.v;
    const hop_funccomp *t = a->task;
    for (int64_t r = 0; r < m->rows; r++) {
        bool entry = head_of(a, r) == 1;
        int64_t from = entry ? t->start[s->l] : t->length - 1, count = entry ? hop__stage_values(t, s->l) : 1;
        if (entry && s->l == 0) count = 1;
        s->place[r] = (ival){0, 0};
        for (int64_t n = m->start[r]; n < m->start[r + 1]; n++) {
            ival box = ival_point(a->position_table ? a->position_table[from * a->d + m->col[n]] : 0);
            for (int64_t p = from; a->position_table && p < from + count; p++)
                box = ival_hull(box, ival_point(a->position_table[p * a->d + m->col[n]]));
            s->place[r] = ival_add(s->place[r], ival_scale(box, m->val[n]));
        }
        s->place[r] = ival_widen(s->place[r], hop__rounding(a, a->d, hop__sparse_mag(m, r, a->any)));
    }
}

static int64_t digit_count(const stage *s)
{
    return hop__stage_has_digit(s->a->task, s->l) ? s->a->task->fan[s->l] : 1;
}

static void fill_digits(stage *s)
{
    const hop__analysis *a = s->a;
    int64_t rows = a->w.v.rows, digits = digit_count(s);
    for (int64_t i = 0; i < digits * rows; i++) s->digit[i] = (ival){1, -1}; /* nothing yet */
    for (int64_t w = 0; w < a->task->queries; w++) {
        int64_t d = digits > 1 ? hop_funccomp_digit(a->task, w, s->l) : 0;
        for (int64_t r = 0; r < rows; r++) {
            ival *box = &s->digit[d * rows + r], v = value_of(a, r, w);
            *box = box->lo > box->hi ? v : ival_hull(*box, v);
        }
    }
}

/* ---- after the attention ----------------------------------------------------------------------- */

static ival residual(hop__analysis *a, int64_t c, ival x, const ival *head)
{
    double mag = hop__sparse_mag(&a->w.o, c, head);
    if (mag == 0) return x;
    return ival_widen(ival_add(x, hop__sparse_box(&a->w.o, c, head)),
                      hop__rounding(a, a->w.o.cols, mag + ival_mag(x)));
}

static double sum_error(const hop__analysis *a, int64_t r)
{
    double mag = ival_mag(a->values[r]);
    return mag == 0 ? 0 : 3 * HOP_ATTN_ERROR(a->tokens) * mag + (double)a->tokens * 0x1p-140;
}

/* Case t is the number that should come out: digit t / N_{l-1} of w, value t mod N_{l-1} of the entry. */
static void last_after(void *ctx, int64_t t, ival *y, ival *work)
{
    stage *s = ctx;
    hop__analysis *a = s->a;
    int64_t rows = a->w.v.rows, values = hop__stage_values(a->task, s->l);
    for (int64_t r = 0; r < rows; r++) {
        ival own = head_of(a, r) == 0 ? s->digit[t / values * rows + r] : value_of(a, r, t % values);
        ival right = ival_add(own, s->place[r]), away = ival_add(a->values[r], ival_scale(right, -1));
        work[r] =
            ival_widen(ival_add(right, ival_mul((ival){0, s->mass[head_of(a, r)]}, away)), sum_error(a, r));
    }
    for (int64_t c = 0; c < a->d; c++) y[c] = residual(a, c, a->last[c], work);
}

static void any_after(void *ctx, ival *y, ival *work)
{
    hop__analysis *a = ((stage *)ctx)->a;
    for (int64_t r = 0; r < a->w.v.rows; r++) work[r] = ival_widen(a->values[r], sum_error(a, r));
    for (int64_t c = 0; c < a->d; c++) y[c] = residual(a, c, a->any[c], work);
}

static bool heads_write(void *ctx, int64_t c)
{
    const hop__sparse *o = &((stage *)ctx)->a->w.o;
    return o->start[c] != o->start[c + 1];
}

/* ---- one stage ---------------------------------------------------------------------------------- */

/* The last token's rows at this stage, and every token's. */
static void start_stage(const stage *s)
{
    hop__analysis *a = s->a;
    const hop_funccomp *t = a->task;
    int64_t askers = s->l == 0 ? t->queries : hop__stage_values(t, s->l);
    a->tokens = hop__stage_position(t, s->l) + 1;
    a->cases = 1;
    a->width = 0;
    for (int64_t c = 0; c < a->d; c++) {
        ival token = ival_point(a->token_table[c]), place = {0, 0};
        for (int64_t k = 0; k < askers; k++)
            token = ival_hull(token, ival_point(a->token_table[k * a->d + c]));
        a->written[c] = false;
        a->slot[c] = -1;
        a->any[c] = a->token_hull[c];
        a->last[c] = token;
        if (!a->position_table) continue;
        place = ival_point(a->position_table[c]);
        for (int64_t p = 0; p < a->tokens; p++)
            place = ival_hull(place, ival_point(a->position_table[p * a->d + c]));
        a->any[c] = ival_add(a->any[c], place);
        a->last[c] = ival_add(token, ival_point(a->position_table[(a->tokens - 1) * a->d + c]));
        a->any[c] = ival_widen(a->any[c], HOP_UNIT_ROUNDOFF * ival_mag(a->any[c]));
        a->last[c] = ival_widen(a->last[c], HOP_UNIT_ROUNDOFF * ival_mag(a->last[c]));
    }
    for (int64_t r = 0; r < a->w.v.rows; r++) {
        a->values[r] = hop__sparse_box(&a->w.v, r, a->any);
        a->values[r] = ival_widen(a->values[r], hop__rounding(a, a->d, hop__sparse_mag(&a->w.v, r, a->any)));
        hop__rounding(a, 1, ival_mag(a->values[r]) * (double)a->tokens);
    }
}

static hop_status run_stage(stage *s, hop_margin *margin, double *readout, hop_error *err)
{
    hop__analysis *a = s->a;
    const hop_funccomp *t = a->task;
    int64_t askers = s->l == 0 ? t->queries : hop__stage_values(t, s->l);
    hop__question ask[HEADS] = {
        {.e = s->l, .first = 0, .askers = askers, .kind = one_kind, .right = the_query},
        {.e = s->l, .first = a->head_dim, .askers = askers, .kind = own_kind, .right = the_entry},
    };
    start_stage(s);
    for (int h = 0; h < HEADS; h++) {
        hop_margin one;
        hop_status got = hop__bound_question(a, &ask[h], &one, err);
        if (got != HOP_OK) return got;
        s->mass[h] = one.wrong_mass < 1 ? one.wrong_mass : 1;
        one.score_gap = h ? ival_least(margin->score_gap, one.score_gap) : one.score_gap;
        one.wrong_mass = h ? ival_most(margin->wrong_mass, one.wrong_mass) : one.wrong_mass;
        *margin = one;
    }
    fill_place(s);
    fill_digits(s);
    hop__after_mixer after = {.cases = hop__stage_values(t, s->l) * digit_count(s),
                              .last = last_after,
                              .any = any_after,
                              .writes = heads_write,
                              .ctx = s};
    hop_status got = hop__bound_mlp(a, &after, margin, err);
    return got == HOP_OK ? hop__bound_readout(a, readout, err) : got;
}

static hop_status run_stages(hop__analysis *a, hop_proof *p, hop_error *err)
{
    int stages = a->task->hops + 1;
    int64_t most = 1;
    for (int l = 1; l < a->task->hops; l++) most = a->task->fan[l] > most ? a->task->fan[l] : most;
    stage s = {.a = a};
    s.place = hop_alloc(sizeof(ival) * (size_t)a->widest);
    s.digit = hop_alloc(sizeof(ival) * (size_t)(a->widest * most));
    p->margins = hop_alloc(sizeof(hop_margin) * (size_t)stages);
    hop_status got = s.place && s.digit && p->margins ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    p->readout_margin = INFINITY;
    for (s.l = 0; got == HOP_OK && s.l < stages; s.l++) {
        double readout = NAN;
        got = run_stage(&s, &p->margins[s.l], &readout, err);
        if (got == HOP_OK) p->margin_count++;
        p->readout_margin = ival_least(p->readout_margin, readout);
    }
    hop_free(s.place);
    hop_free(s.digit);
    return got;
}

static void out_of_scope(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    hop_mixer_config mixer = hop_model_mixer_config(m, 0);
    hop__plain_scope(m, task, why, size);
    if (why[0]) return;
    if (c->pattern.layers != 1 || strcmp(c->pattern.runs[0].mixer, "full") != 0 || mixer.heads != HEADS ||
        mixer.kv_heads != HEADS)
        snprintf(why, size, "the analysis of chains covers one full layer with two heads");
    if (mixer.rope_theta != 0 || mixer.scale < 0)
        snprintf(why, size, "the analysis of chains covers neither RoPE nor negative scales");
    int64_t generated;
    if (hop_generated_tokens(c, &generated, NULL) != HOP_OK || generated != task->funccomp.hops + 1)
        snprintf(why, size, "the analysis of chains covers %d generated tokens for %d hops",
                 task->funccomp.hops + 1, task->funccomp.hops);
}

hop_status hop__prove_cot(hop_proof *p, const hop_model *m, const hop_task *task, const hop_prove_options *o,
                          bool *proved, hop__hint *hints, int *hint_count, hop_error *err)
{
    (void)hints;
    *proved = false;
    *hint_count = 0;
    out_of_scope(m, task, p->why, sizeof p->why);
    if (p->why[0]) return HOP_OK;
    hop__analysis a = {.model = m, .task = &task->funccomp, .options = o};
    hop_status s = hop__analysis_open(&a, 0, err);
    if (s == HOP_OK) s = run_stages(&a, p, err);
    if (s == HOP_OK) hop__analysis_verdict(&a, p, proved);
    hop__analysis_close(&a);
    return hop__analysis_status(p, s, err);
}
