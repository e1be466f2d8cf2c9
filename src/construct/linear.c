/* Linear layers only: every table is kept whole in a state, and a look-up reads one entry of it.
 *
 * Statement (docs/THEORY.md section 5.3). L+1 layers of linear attention, φ being a product of two affine
 * maps. The state of layer e has one number for each entry of z_e: keys are one-hot, and the entry's value is
 * written into the mantissa of a single number, so that the state costs N·32 bits where theorem P2 demands
 * N·log2 N. All numbers are integers that float32 holds exactly, so nothing is rounded anywhere. Residual
 * stream:
 *     who      L+2, one-hot: the player (position table)
 *     hot_e    for each function z_e: one-hot of the w-digit and of the i-part of a token's place (position
 *              table)
 *     num      the token's value (token table)
 *     dig_l    one-hot of w's digit l when the token is read as w (token table)
 *     reg_e    i_e, as a number
 *     ind_e    i_e, one-hot: made from reg_e by hats relu(t-c+1) - 2 relu(t-c) + relu(t-c-1)
 * The address (w, i) of an entry is the product of two one-hot vectors, which is what φ computes. The answer
 * is read from reg_L - N/2 =: t by logits c·t - c²/2, largest at c = t. */
#include "construct.h"
#include "map.h"

#include <stdio.h>

typedef struct places {
    const hop_funccomp *t;
    int who, num;
    int hot_w[HOP_MAX_HOPS + 1], hot_i[HOP_MAX_HOPS + 1]; /* of z_e; hot_w from e = 2 on */
    int dig[HOP_MAX_HOPS];                                /* of w_l */
    int reg[HOP_MAX_HOPS + 1], ind[HOP_MAX_HOPS + 1];
    int d_model;
    int64_t hidden;
} places;

/* Values of i_e. */
static int64_t values(const hop_funccomp *t, int e)
{
    return e == 0 ? t->m : t->size[e - 1];
}

static bool places_init(places *p, const hop_funccomp *t)
{
    int64_t at = 0, L = t->hops;
    *p = (places){.t = t, .who = 0};
    at = L + 2;
    p->num = (int)at++;
    for (int e = 1; e <= L; e++) {
        p->hot_w[e] = (int)at;
        if (e >= 2) at += hop__map_digits(t, e);
        p->hot_i[e] = (int)at;
        at += hop__map_inner(t, e);
        if (at > 1 << 20) return false;
    }
    for (int l = 1; l < L; l++) {
        p->dig[l] = (int)at;
        at += t->fan[l];
    }
    for (int e = 0; e <= L; e++) p->reg[e] = (int)at++;
    for (int e = 0; e < L; e++) {
        p->ind[e] = (int)at;
        at += values(t, e);
        if (at > 1 << 20) return false;
        if (values(t, e) + 2 > p->hidden) p->hidden = values(t, e) + 2;
    }
    p->d_model = (int)at;
    return true;
}

static void fill_tables(hop_model *m, const places *p)
{
    const hop_funccomp *t = p->t;
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight");
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    const hop_weight *head = hop_model_weight(m, "lm_head.weight");
    for (int64_t v = 0; v < t->vocab; v++) {
        float c = (float)(v - t->vocab / 2);
        *hop__cell(tokens, v, p->num) = (float)v;
        for (int l = 1; l < t->hops; l++)
            *hop__cell(tokens, v, p->dig[l] + hop_funccomp_digit(t, v % t->queries, l)) = 1;
        *hop__cell(head, v, p->reg[t->hops]) = c;
        *hop__cell(head, v, p->who) = -c * c / 2; /* who = -1: 1 at the last token */
    }
    for (int64_t n = 0; n < t->length; n++) {
        int64_t index;
        int player = hop_funccomp_player(t, n, &index);
        *hop__cell(positions, n, p->who + player + 1) = 1;
        if (player < 1) continue;
        if (player >= 2) *hop__cell(positions, n, p->hot_w[player] + index / hop__map_inner(t, player)) = 1;
        *hop__cell(positions, n, p->hot_i[player] + index % hop__map_inner(t, player)) = 1;
    }
}

static void fill_layer(hop_model *m, const places *p, int e)
{
    const hop_weight *q = hop_model_layer_weight(m, e, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(m, e, "mixer.k_proj.weight");
    int64_t n = hop__map_digits(p->t, e), parts = e ? hop__map_inner(p->t, e) : 0, first = e >= 2 ? n : 0;
    if (e == 0) {
        *hop__cell(q, 0, p->who) = 1;
        *hop__cell(k, 0, p->who + 1) = 1;
    }
    for (int64_t w = 0; e >= 2 && w < n; w++) {
        *hop__cell(q, w, p->dig[e - 1] + w) = 1;
        *hop__cell(k, w, p->hot_w[e] + w) = 1;
    }
    for (int64_t i = 0; i < parts; i++) {
        *hop__cell(q, first + i, p->ind[e - 1] + i) = 1;
        *hop__cell(k, first + i, p->hot_i[e] + i) = 1;
    }
    hop__map_fill(m, p->t, e, "q");
    hop__map_fill(m, p->t, e, "k");
    *hop__cell(hop_model_layer_weight(m, e, "mixer.v_proj.weight"), 0, p->num) = 1;
    *hop__cell(hop_model_layer_weight(m, e, "mixer.o_proj.weight"), p->reg[e], 0) = 1;
}

/* ind_e from reg_e; in the last layer, reg_L moved to the middle. */
static void fill_hats(hop_model *m, const places *p, int e)
{
    const hop_weight *up = hop_model_layer_weight(m, e, "mlp.up_proj.weight");
    const hop_weight *bias = hop_model_layer_weight(m, e, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(m, e, "mlp.down_proj.weight");
    if (e == p->t->hops) {
        hop_model_layer_weight(m, e, "mlp.down_proj.bias")->data[p->reg[e]] = -(float)(p->t->vocab / 2);
        return;
    }
    int64_t count = values(p->t, e);
    for (int64_t u = 0; u < count + 2; u++) { /* relu(t - (u - 1)) */
        *hop__cell(up, u, p->reg[e]) = 1;
        bias->data[u] = (float)(1 - u);
    }
    for (int64_t c = 0; c < count; c++) {
        *hop__cell(down, p->ind[e] + c, c) = 1;
        *hop__cell(down, p->ind[e] + c, c + 1) = -2;
        *hop__cell(down, p->ind[e] + c, c + 2) = 1;
    }
}

static hop_status set_sizes(hop_config *c, const hop_funccomp *t, hop_error *err)
{
    const struct {
        const char *name;
        double value;
    } same[] = {{"feature", 3}, {"norm", 0}, {"normalise", 0}, {"value_dim", 1}, {"scale", 1}};
    hop_status s = HOP_OK;
    for (size_t i = 0; s == HOP_OK && i < sizeof same / sizeof *same; i++)
        s = hop_config_set(c, -1, "linear", same[i].name, same[i].value, err);
    for (int e = 0; s == HOP_OK && e <= t->hops; e++)
        s = hop_config_set(c, e, "", "head_dim", (double)hop__map_keys(t, e), err);
    return s;
}

hop_status hop__construct_linear(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                 hop_error *err)
{
    (void)o;
    const hop_funccomp *t = &task->funccomp;
    places p;
    hop_config c;
    char pattern[32];
    /* Logits reach (N/2)²·3/2, which must stay well below 2^24; and φ's maps are matrices of N². */
    if (t->vocab > 2048 || !places_init(&p, t))
        return hop_fail(err, HOP_EDOMAIN,
                        "linear: tables of more than 2048 entries are too large to keep one-hot keys for");
    snprintf(pattern, sizeof pattern, "linear^%d", t->hops + 1);
    hop_status s = hop__construct_config(&c, pattern, task, "{\"kind\": \"linear\"}", err);
    if (s != HOP_OK) return s;
    c.d_model = p.d_model;
    c.head_dim = 1;
    c.mlp_hidden = p.hidden;
    s = set_sizes(&c, t, err);
    if (s == HOP_OK) s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;
    fill_tables(*out, &p);
    for (int e = 0; e <= t->hops; e++) {
        fill_layer(*out, &p, e);
        fill_hats(*out, &p, e);
    }
    return HOP_OK;
}
