/* The exact network for function composition in an architecture with rotary embedding and gated MLPs, and with
 * nothing beside: rotary.h tells how, docs/THEORY.md section 5.9 why. */
#include "rotary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_ONE \
    65536.0         /* beside some hundred numbers of size 1: a norm's factor is known to a part in 10^7 */
#define SURPLUS  16 /* the wrong tokens together weigh e^-SURPLUS / 4 */
#define CONSTANT 1024.0 /* in a head whose queries and keys are normalised */

/* ---- the stream ------------------------------------------------------------------------------------ */

static int fields(const hop_funccomp *task, bool tied)
{
    return 3 * task->hops - tied; /* val, L-1 of dig, L+1 of reg, L-1 of adr */
}

static void place_fields(hop__circle *s, bool tied)
{
    int at = 1, size = 2 * s->turns.pairs, hops = s->task->hops;
    s->one = 0, s->val = at, at += size;
    for (int l = 1; l < hops; l++, at += size) s->dig[l] = at;
    for (int e = 0; e <= hops - tied; e++, at += size) s->reg[e] = at;
    s->adr[1] = s->reg[0];
    for (int e = 2; e <= hops; e++, at += size) s->adr[e] = at;
    if (tied) s->reg[hops] = s->val;
    s->width = at;
    s->gain = tied ? ceil(4 * s->turns.pairs / s->turns.lead) : 1;
}

/* e^(i f_j x) */
static void fill_number(const hop__circle *s, const hop_weight *w, int64_t row, int64_t at, int64_t x)
{
    int pairs = s->turns.pairs;
    for (int j = 0; j < pairs; j++) {
        *hop__cell(w, row, at + j) = (float)cos(s->turns.speed[j] * (double)x);
        *hop__cell(w, row, at + pairs + j) = (float)sin(s->turns.speed[j] * (double)x);
    }
}

static void fill_ends(hop_model *m, const hop__circle *s)
{
    const hop_funccomp *task = s->task;
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight"),
                     *head = hop_model_weight(m, "lm_head.weight"),
                     *norm = hop_model_weight(m, "model.norm.weight");
    int answer = s->reg[task->hops];
    for (int64_t t = 0; t < task->vocab; t++) {
        *hop__cell(tokens, t, s->one) = (float)s->constant;
        fill_number(s, tokens, t, s->val, t);
        for (int l = 1; l < task->hops; l++)
            fill_number(s, tokens, t, s->dig[l],
                        hop_funccomp_digit(task, t % task->queries, l) * task->size[l - 1]);
        if (head) fill_number(s, head, t, answer, t); /* not tied */
    }
    for (int i = 0; norm && i < 2 * s->turns.pairs; i++) norm->data[answer + i] = (float)s->root;
}

/* Behind such a norm stands the stream as it is, the constant as 1. */
static void fill_norm(const hop_weight *w, const hop__circle *s)
{
    for (int64_t k = 0; w && k < w->shape[0]; k++) w->data[k] = (float)s->root;
    if (w) w->data[s->one] = (float)(s->root / s->constant);
}

/* ---- a look-up ------------------------------------------------------------------------------------- */

/* Behind a norm over a head's numbers with the constant among them `times` is left of 1. */
static void fill_head_norm(const hop_weight *w, int64_t spare, double eps, double times)
{
    double root = sqrt(CONSTANT * CONSTANT / (double)w->shape[0] + eps);
    for (int64_t i = 0; i < w->shape[0]; i++) w->data[i] = (float)(root * times);
    w->data[spare] = 0;
}

/* A number of a head that no pair of ours has. */
static int64_t spare_of(const hop__circle *s)
{
    int64_t i = 0;
    for (int j = 0; j < s->turns.pairs; j++)
        if (s->turns.pair[j] == i) i++, j = -1;
    return i;
}

/* Numbers of a head that are turned: the first ones. */
static int64_t turned(const hop_mixer_config *c)
{
    int64_t some = c->option[HOP_OPTION_rope_dim];
    return some > 0 ? some : c->head_dim;
}

static void fill_queries(hop_model *m, const hop__circle *s, int64_t layer, int e, double times)
{
    const hop_mixer_config c = hop_model_mixer_config(m, layer);
    const hop_weight *q = hop_model_layer_weight(m, layer, "mixer.q_proj.weight"),
                     *k = hop_model_layer_weight(m, layer, "mixer.k_proj.weight");
    int64_t half = turned(&c) / 2, last = s->task->length - 1;
    for (int j = 0; j < s->turns.pairs; j++) {
        int64_t a = s->turns.pair[j], b = a + half, x = s->adr[e] + j, y = x + s->turns.pairs;
        double angle = s->turns.speed[j] * (double)(e > 0 ? s->task->start[e] - last : -1);
        float co = (float)(times * cos(angle)), si = (float)(times * sin(angle));
        *hop__cell(k, a, s->one) = 1;
        if (e == 0) { /* the token before */
            *hop__cell(q, a, s->one) = co, *hop__cell(q, b, s->one) = si;
        } else {
            *hop__cell(q, a, x) = co, *hop__cell(q, a, y) = -si;
            *hop__cell(q, b, x) = si, *hop__cell(q, b, y) = co;
        }
    }
}

void hop__circle_look_up(hop_model *m, const hop__circle *s, int64_t layer, int e)
{
    const hop_mixer_config c = hop_model_mixer_config(m, layer);
    const hop_weight *v = hop_model_layer_weight(m, layer, "mixer.v_proj.weight"),
                     *o = hop_model_layer_weight(m, layer, "mixer.o_proj.weight");
    double scale = c.scale != 0 ? c.scale : 1 / sqrt((double)c.head_dim),
           beta = (log(4.0 * (double)s->task->length) + SURPLUS) / s->turns.lead;
    bool norms = c.option[HOP_OPTION_qk_norm] > 0, gate = c.option[HOP_OPTION_gate] > 0;
    fill_queries(m, s, layer, e, norms ? 1 : beta / scale);
    if (norms) {
        int64_t spare = spare_of(s);
        double eps = c.foreign[HOP_FOREIGN_norm_eps] > 0 ? c.foreign[HOP_FOREIGN_norm_eps] : 1e-5;
        *hop__cell(hop_model_layer_weight(m, layer, "mixer.q_proj.weight"), spare, s->one) = (float)CONSTANT;
        *hop__cell(hop_model_layer_weight(m, layer, "mixer.k_proj.weight"), spare, s->one) = (float)CONSTANT;
        fill_head_norm(hop_model_layer_weight(m, layer, "mixer.q_norm.weight"), spare, eps, beta / scale);
        fill_head_norm(hop_model_layer_weight(m, layer, "mixer.k_norm.weight"), spare, eps, 1);
    }
    for (int i = 0; i < 2 * s->turns.pairs; i++) {
        *hop__cell(v, i, s->val + i) = 1;
        *hop__cell(o, s->reg[e] + i, i) = (float)((e == s->task->hops ? s->gain : 1) * (gate ? 2 : 1));
    }
}

/* ---- a product ------------------------------------------------------------------------------------- */

/* x y = silu(x) y - silu(-x) y, since silu(x) - silu(-x) = x. */
static void fill_times(hop_model *m, int64_t layer, int64_t unit, int64_t x, int64_t y, int64_t to,
                       float sign)
{
    const hop_weight *gate = hop_model_layer_weight(m, layer, "mlp.gate_proj.weight"),
                     *up = hop_model_layer_weight(m, layer, "mlp.up_proj.weight"),
                     *down = hop_model_layer_weight(m, layer, "mlp.down_proj.weight");
    for (int k = 0; k < 2; k++) {
        *hop__cell(gate, unit + k, x) = *hop__cell(up, unit + k, y) = k ? -1 : 1;
        *hop__cell(down, to, unit + k) = sign;
    }
}

void hop__circle_product(hop_model *m, const hop__circle *s, int64_t layer, int e)
{
    int pairs = s->turns.pairs, x = s->dig[e], y = s->reg[e], to = s->adr[e + 1];
    for (int j = 0; j < pairs; j++) {
        fill_times(m, layer, 8 * j, x + j, y + j, to + j, 1);
        fill_times(m, layer, 8 * j + 2, x + pairs + j, y + pairs + j, to + j, -1);
        fill_times(m, layer, 8 * j + 4, x + j, y + pairs + j, to + pairs + j, 1);
        fill_times(m, layer, 8 * j + 6, x + pairs + j, y + j, to + pairs + j, 1);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static bool attends(const hop_config *c, int64_t layer, int64_t tokens, hop_mixer_config *own)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    if (!ops || hop_config_mixer(c, ops, layer, own, NULL) != HOP_OK) return false;
    if (own->foreign[HOP_FOREIGN_beside] != 0) return false; /* it has no norm of its own to set */
    if (own->foreign[HOP_FOREIGN_norms] != HOP_NORMS_BEFORE) return false;
    if (!(own->rope_theta > 0) && own->foreign[HOP_FOREIGN_rope_table] == 0) return false;
    return ops->kind == HOP_MIXER_FULL ||
           (ops->kind == HOP_MIXER_WINDOW && own->option[HOP_OPTION_window] >= tokens);
}

/* Pairs for which there is room in the stream, in a head's values and in an MLP. */
static int most_pairs(const hop_config *c, const hop_mixer_config *own, const hop_funccomp *task)
{
    int64_t values = own->option[HOP_OPTION_value_dim] / 2,
            width = (c->d_model - 1) / 2 / fields(task, c->tied),
            hidden = task->hops > 1 ? c->mlp_hidden / 8 : HOP__MOST_PAIRS;
    int64_t least = values < width ? values : width;
    least = hidden < least ? hidden : least;
    return least < HOP__MOST_PAIRS ? (int)least : HOP__MOST_PAIRS;
}

static hop_status choose_layers(const hop_config *c, const hop_funccomp *task, int64_t *layer, hop_error *err)
{
    int found = 0;
    hop_mixer_config own;
    for (int64_t i = 0; i < c->pattern.layers && found <= task->hops; i++)
        if (attends(c, i, task->length, &own)) layer[found++] = i;
    if (found > task->hops) return HOP_OK;
    return hop_fail(
        err, HOP_EDOMAIN,
        "%d hops need %d layers that attend to all tokens with rotary embedding; the pattern has %d",
        task->hops, task->hops + 1, found);
}

static hop_status choose_sizes(hop_config *c, hop__circle *s, int64_t first, const float *table,
                               hop_error *err)
{
    hop_mixer_config own;
    if (c->norm == HOP_NORM_LAYER)
        return hop_fail(err, HOP_EDOMAIN,
                        "norm: layer takes the mean off, of which nothing is known; rms or none");
    if (s->task->hops > 1 && c->mlp != HOP_MLP_SWIGLU)
        return hop_fail(err, HOP_EDOMAIN, "mlp: products need gated units; swiglu");
    attends(c, first, s->task->length, &own);
    const hop__rotation r = {.theta = own.rope_theta, .table = table, .turned = turned(&own)};
    hop_status status = hop__turns_init(&s->turns, &r, s->task->length, most_pairs(c, &own, s->task), err);
    if (status != HOP_OK) return status;
    place_fields(s, c->tied);
    s->constant = c->norm == HOP_NORM_RMS ? LARGE_ONE : 1;
    s->root = sqrt(s->constant * s->constant / (double)c->d_model + c->norm_eps);
    return HOP_OK;
}

static void fill(hop_model *m, const hop__circle *s, const int64_t *layer)
{
    fill_ends(m, s);
    for (int e = 0; e <= s->task->hops; e++) {
        fill_norm(hop_model_layer_weight(m, layer[e], "input_layernorm.weight"), s);
        hop__circle_look_up(m, s, layer[e], e);
        if (e == 0 || e == s->task->hops) continue;
        fill_norm(hop_model_layer_weight(m, layer[e], "post_mixer_layernorm.weight"), s);
        hop__circle_product(m, s, layer[e], e);
    }
}

static hop_status shape_config(hop_config *c, const hop_task *task, const hop_config *shape,
                               const float *frequencies, hop_error *err)
{
    char pattern[32];
    snprintf(pattern, sizeof pattern, "F^%d", task->funccomp.hops + 1);
    hop_config own;
    hop_status s = hop__construct_config(&own, pattern, task, "{\"kind\": \"rotary\"}", err);
    if (s != HOP_OK) return s;
    if (shape) {
        s = hop_config_copy(c, shape, err);
        if (s == HOP_OK) {
            free(c->task_json), free(c->construction_json);
            c->task_json = own.task_json, c->construction_json = own.construction_json;
            own.task_json = own.construction_json = NULL;
            c->vocab = own.vocab;
            if (c->max_positions < own.max_positions) c->max_positions = own.max_positions;
        }
        hop_config_free(&own);
    } else {
        *c = own;
        c->norm = HOP_NORM_RMS, c->mlp = HOP_MLP_SWIGLU;
    }
    c->position_table = false;
    if (c->rope_theta == 0 && !frequencies) c->rope_theta = 10000;
    if (c->head_dim == 0) c->head_dim = 64;
    if (c->d_model == 0) c->d_model = 1 + 2 * HOP__MOST_PAIRS * fields(&task->funccomp, c->tied);
    if (c->mlp_hidden == 0) c->mlp_hidden = 8 * HOP__MOST_PAIRS;
    return s == HOP_OK ? hop_config_validate(c, err) : s;
}

hop_status hop__construct_rotary(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                 hop_error *err)
{
    hop__circle s = {.task = &task->funccomp};
    hop_config c;
    int64_t layer[HOP_MAX_HOPS + 1];
    hop_status status = shape_config(&c, task, o->shape, o->frequencies, err);
    if (status != HOP_OK) return status;
    status = choose_layers(&c, s.task, layer, err);
    if (status == HOP_OK) status = choose_sizes(&c, &s, layer[0], o->frequencies, err);
    if (status == HOP_OK) status = hop_model_new(out, &c, err);
    if (status == HOP_OK) fill(*out, &s, layer);
    hop_config_free(&c);
    return status;
}
