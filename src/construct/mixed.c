/* Full and linear layers in any order, one hop each: every hop is served by the next layer.
 *
 * Statement (docs/THEORY.md section 5.3). For any sizes and any pattern of L+1 layers, each full or linear
 * attention with a product of two affine maps as feature map, the network answers every input rightly. Layer
 * 0 brings z_0 to the last token; layer e looks up z_e: a full one by scores, as in section 5.1, a linear one
 * in its state, which holds the whole table, a row of B numbers for each of its N_{e-1} entries. Residual
 * stream:
 *
 *     who, at, val, dig   as in fields.h
 *     reg_e, e = 0 .. L   B numbers: the code of i_e, near ±1; each written once, so that nothing is erased
 *     and for every hop e that is linear:
 *     hot_w, hot_i        one-hot of the w-digit and of the i-part of a token's place in z_e (position table)
 *     one                 one-hot of w's digit e-1, the token read as w (token table)
 *     ind                 one-hot of i_{e-1}, made from reg_{e-1} by the MLP before:
 *                         relu(a) - relu(a-1), a = 2(bits that agree - bits that do not - all bits + 1),
 *                         which is 1 for the right number and 0 for every other as long as codes are off by
 *                         less than 1/(2·bits)
 *
 * A key's feature is the product of hot_w and hot_i, a query's that of one and ind: both are one-hot over the
 * entries, and meet in the right one only. */
#include "fields.h"
#include "map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_ENTRIES 2048      /* of a table that a state holds */
#define MOST_WIDTH   (1 << 20) /* of the stream */

typedef struct places {
    hop__fields f; /* who, at, val, dig; its reg is not used */
    const hop_funccomp *t;
    bool linear[HOP_MAX_HOPS + 1]; /* which layers are */
    int reg[HOP_MAX_HOPS + 1];
    int hot_w[HOP_MAX_HOPS + 1], hot_i[HOP_MAX_HOPS + 1], one[HOP_MAX_HOPS + 1], ind[HOP_MAX_HOPS + 1];
    int64_t d_model, hidden;
} places;

static bool places_init(places *p, const hop_funccomp *t)
{
    hop__fields_init(&p->f, t);
    p->t = t;
    p->hidden = 1;
    int64_t at = p->f.reg;
    for (int e = 0; e <= t->hops; e++) p->reg[e] = (int)at, at += p->f.bits;
    for (int e = 1; e <= t->hops; e++) {
        if (!p->linear[e]) continue;
        if (e >= 2) {
            p->hot_w[e] = (int)at, at += hop__map_digits(t, e);
            p->one[e] = (int)at, at += hop__map_digits(t, e);
        }
        p->hot_i[e] = (int)at, at += hop__map_inner(t, e);
        p->ind[e] = (int)at, at += hop__map_inner(t, e);
        if (at > MOST_WIDTH) return false;
        if (2 * hop__map_inner(t, e) > p->hidden) p->hidden = 2 * hop__map_inner(t, e);
    }
    p->d_model = at;
    return true;
}

/* ---- tables -------------------------------------------------------------------------------------- */

static void fill_tables(hop_model *m, const places *p)
{
    const hop_funccomp *t = p->t;
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight");
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    hop__fields f = p->f;
    f.reg = p->reg[t->hops]; /* what the read-out reads */
    hop__fill_tables(m, &f, t);
    for (int e = 1; e <= t->hops; e++) {
        if (!p->linear[e]) continue;
        for (int64_t v = 0; e >= 2 && v < t->vocab; v++)
            *hop__cell(tokens, v, p->one[e] + hop_funccomp_digit(t, v % t->queries, e - 1)) = 1;
        for (int64_t i = 0; i < t->size[e - 1]; i++) {
            if (e >= 2) *hop__cell(positions, t->start[e] + i, p->hot_w[e] + i / hop__map_inner(t, e)) = 1;
            *hop__cell(positions, t->start[e] + i, p->hot_i[e] + i % hop__map_inner(t, e)) = 1;
        }
    }
}

/* ---- a hop by a full layer ------------------------------------------------------------------------- */

static void fill_full(hop_model *m, const places *p, int e, float beta)
{
    const hop__fields *f = &p->f;
    const hop_weight *o = hop_model_layer_weight(m, e, "mixer.o_proj.weight");
    hop__fields as = *f;
    as.reg = e > 0 ? p->reg[e - 1] : p->reg[0];
    hop__fill_look_up(m, &as, e, e, beta);
    int address = f->hops + 2;
    for (int i = 0; i < f->bits; i++) { /* the answer goes to a register of its own, as it is */
        *hop__cell(o, as.reg + i, address + i) = 0;
        *hop__cell(o, p->reg[e] + i, address + i) = 1;
    }
}

/* ---- a hop by a linear layer ------------------------------------------------------------------------- */

static void fill_linear(hop_model *m, const places *p, int e)
{
    const hop_weight *q = hop_model_layer_weight(m, e, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(m, e, "mixer.k_proj.weight");
    const hop_weight *v = hop_model_layer_weight(m, e, "mixer.v_proj.weight");
    const hop_weight *o = hop_model_layer_weight(m, e, "mixer.o_proj.weight");
    int64_t n = hop__map_digits(p->t, e), parts = e ? hop__map_inner(p->t, e) : 0, first = e >= 2 ? n : 0;
    if (e == 0) {
        *hop__cell(q, 0, hop__fields_who(&p->f, -1)) = 1;
        *hop__cell(k, 0, hop__fields_who(&p->f, 0)) = 1;
    }
    for (int64_t w = 0; e >= 2 && w < n; w++) {
        *hop__cell(q, w, p->one[e] + w) = 1;
        *hop__cell(k, w, p->hot_w[e] + w) = 1;
    }
    for (int64_t i = 0; i < parts; i++) {
        *hop__cell(q, first + i, p->ind[e] + i) = 1;
        *hop__cell(k, first + i, p->hot_i[e] + i) = 1;
    }
    hop__map_fill(m, p->t, e, "q");
    hop__map_fill(m, p->t, e, "k");
    for (int i = 0; i < p->f.bits; i++) {
        *hop__cell(v, i, p->f.val + i) = 1;
        *hop__cell(o, p->reg[e] + i, i) = 1;
    }
}

/* ind of hop e from reg_{e-1}, by the MLP of layer e-1: two units a number. */
static void fill_indicator(hop_model *m, const places *p, int e)
{
    const hop_weight *up = hop_model_layer_weight(m, e - 1, "mlp.up_proj.weight");
    const hop_weight *bias = hop_model_layer_weight(m, e - 1, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(m, e - 1, "mlp.down_proj.weight");
    int count = e >= 2 ? e - 1 : 1, bits = p->f.code.offset[count]; /* digits of i_{e-1}, and their bits */
    for (int64_t c = 0; c < hop__map_inner(p->t, e); c++)
        for (int u = 0; u < 2; u++) {
            int64_t unit = 2 * c + u;
            hop__code_number(&p->f.code, count, c, 2, hop__cell(up, unit, p->reg[e - 1]));
            bias->data[unit] = (float)(2 - 2 * bits - u);
            *hop__cell(down, p->ind[e] + c, unit) = u ? -1 : 1;
        }
}

/* ---- the whole ------------------------------------------------------------------------------------------
 */

/* Which layers are linear; the pattern in its shortest form. */
static hop_status read_pattern(places *p, const char *text, int hops, hop_text *shown, hop_error *err)
{
    hop_pattern pattern;
    hop_status s = hop_pattern_parse(&pattern, text, "linear", err);
    if (s != HOP_OK) return s;
    if (pattern.layers != hops + 1)
        s = hop_fail(err, HOP_EDOMAIN, "mixed: a pattern of %lld layers where %d hops take %d",
                     (long long)pattern.layers, hops, hops + 1);
    for (int e = 0; s == HOP_OK && e <= hops; e++) {
        const char *mixer = hop_pattern_mixer(&pattern, e);
        p->linear[e] = strcmp(mixer, "linear") == 0;
        if (!p->linear[e] && strcmp(mixer, "full") != 0)
            s = hop_fail(err, HOP_EDOMAIN, "mixed: layer %d is %.40s: layers are full or linear", e, mixer);
    }
    if (s == HOP_OK) hop_pattern_print(&pattern, shown);
    if (s == HOP_OK && (!shown->s || shown->failed)) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_pattern_free(&pattern);
    return s;
}

static hop_status check_tables(const places *p, const hop_funccomp *t, hop_error *err)
{
    for (int e = 1; e <= t->hops; e++)
        if (p->linear[e] && t->size[e - 1] > MOST_ENTRIES)
            return hop_fail(err, HOP_EDOMAIN,
                            "mixed: layer %d is linear, and its table has %lld entries; more than %d are not "
                            "made: keys are one-hot, and their maps matrices of as many rows and columns",
                            e, (long long)t->size[e - 1], MOST_ENTRIES);
    return HOP_OK;
}

static hop_status set_sizes(hop_config *c, const places *p, hop_error *err)
{
    const struct {
        const char *name;
        double value;
    } same[] = {{"feature", 3}, {"norm", 0}, {"normalise", 0}, {"value_dim", p->f.bits}, {"scale", 1}};
    hop_status s = HOP_OK;
    bool any = false;
    for (int e = 0; e <= p->t->hops; e++) any = any || p->linear[e];
    for (size_t i = 0; any && s == HOP_OK && i < sizeof same / sizeof *same; i++)
        s = hop_config_set(c, -1, "linear", same[i].name, same[i].value, err);
    for (int e = 0; s == HOP_OK && e <= p->t->hops; e++)
        if (p->linear[e]) s = hop_config_set(c, e, "", "head_dim", (double)hop__map_keys(p->t, e), err);
    return s;
}

static void fill(hop_model *m, const places *p)
{
    float beta = (float)(hop__fields_beta(p->t->length) * sqrt((double)p->f.head_dim));
    fill_tables(m, p);
    for (int e = 0; e <= p->t->hops; e++) {
        if (p->linear[e])
            fill_linear(m, p, e);
        else
            fill_full(m, p, e, beta);
        if (e > 0 && p->linear[e]) fill_indicator(m, p, e);
    }
}

hop_status hop__construct_mixed(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                hop_error *err)
{
    const hop_funccomp *t = &task->funccomp;
    places p = {0};
    hop_config c;
    hop_text pattern = {0};
    char all[32];
    snprintf(all, sizeof all, "linear^%d", t->hops + 1);
    hop_status s = read_pattern(&p, o->pattern ? o->pattern : all, t->hops, &pattern, err);
    if (s == HOP_OK) s = check_tables(&p, t, err);
    if (s == HOP_OK && !places_init(&p, t))
        s = hop_fail(err, HOP_EDOMAIN, "mixed: one-hot fields wider than %d numbers", MOST_WIDTH);
    if (s == HOP_OK) s = hop__construct_config(&c, pattern.s, task, "{\"kind\": \"mixed\"}", err);
    hop_text_free(&pattern);
    if (s != HOP_OK) return s;
    c.d_model = p.d_model;
    c.head_dim = p.f.head_dim;
    c.mlp_hidden = p.hidden;
    s = set_sizes(&c, &p, err);
    if (s == HOP_OK) s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s == HOP_OK) fill(*out, &p);
    return s;
}
