/* One full-attention layer with two heads that solves L-sequential function composition by generating L+1
 * tokens.
 *
 * Statement (docs/THEORY.md section 5.4). The token generated at stage l is the number of the pair (w_l,
 * i_l), which is the address that the next stage asks for; the last one is the answer. Head 0 fetches w's
 * digits, head 1 the table entry that the stage's own token names. Residual stream:
 *     who    L+2, one-hot: the player, for tokens of the prompt (position table)
 *     stage  L+1, one-hot: l at position n-1+l (position table)
 *     at     B, ±1: place in the function (position table)
 *     val    B, ±1: the token's number (token table); for a generated token the address
 *     dig    ±1: the token read as w's digits (token table)
 *     wd     what head 0 brings
 *     reg    what head 1 brings, times 4; the read-out looks here
 * i_l < N_{l-1}, so digit l of its code is 0, all -1. At stage l the hidden unit relu(wd + stage_l - 3/2) is
 * 1/2 where w_l's bit is 1 and 0 elsewhere; 16 of it turn -4 into +4. Signs are all that the read-out needs:
 * the logit of the right number is sum |reg|, any other loses 2|reg_i| for each bit in which it differs. */
#include "fields.h"

#include <math.h>
#include <stdio.h>

/* Stage l = 0 .. L of the chain: the token at position n-1+l. */
static int64_t stage_position(const hop_funccomp *t, int l)
{
    return t->length - 1 + l;
}

/* The fields of a look-up, in other places, and two more. */
typedef struct layout {
    hop__fields f;
    int stage, wd;
} layout;

static void layout_init(layout *x, const hop_funccomp *task)
{
    hop__fields *f = &x->f;
    hop__fields_init(f, task);
    x->stage = f->d_model;
    x->wd = x->stage + f->hops + 1;
    f->d_model = x->wd + f->digit_bits;
}

static void fill_heads(hop_model *m, const layout *x, float beta)
{
    const hop__fields *f = &x->f;
    const hop_weight *q = hop_model_layer_weight(m, 0, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(m, 0, "mixer.k_proj.weight");
    const hop_weight *v = hop_model_layer_weight(m, 0, "mixer.v_proj.weight");
    const hop_weight *o = hop_model_layer_weight(m, 0, "mixer.o_proj.weight");
    int address = f->hops + 2, second = f->head_dim; /* rows of head 1 */
    for (int l = 0; l <= f->hops; l++) {
        *hop__cell(q, 0, x->stage + l) = 2 * beta; /* head 0: who = -1 */
        /* Head 1: the player counts for more than a whole address, because at stage 0 the own token is none.
         */
        *hop__cell(q, second + l + 1, x->stage + l) = (float)(f->bits + 2) * beta;
    }
    for (int i = 0; i < f->hops + 2; i++)
        *hop__cell(k, i, f->who + i) = *hop__cell(k, second + i, f->who + i) = 1;
    for (int i = 0; i < f->bits; i++) {
        *hop__cell(q, second + address + i, f->val + i) = beta;
        *hop__cell(k, second + address + i, f->at + i) = 1;
        *hop__cell(v, second + address + i, f->val + i) = 1;
        *hop__cell(o, f->reg + i, second + address + i) = 4;
    }
    for (int i = 0; i < f->digit_bits; i++) {
        *hop__cell(v, address + i, f->dig + i) = 1;
        *hop__cell(o, x->wd + i, address + i) = 1;
    }
}

static void fill_gate(hop_model *m, const layout *x)
{
    const hop__fields *f = &x->f;
    const hop_weight *up = hop_model_layer_weight(m, 0, "mlp.up_proj.weight");
    const hop_weight *bias = hop_model_layer_weight(m, 0, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(m, 0, "mlp.down_proj.weight");
    for (int l = 1; l < f->hops; l++)
        for (int i = 0; i < f->code.width[l]; i++) {
            int bit = f->code.offset[l] + i, unit = bit - f->code.width[0];
            *hop__cell(up, unit, x->wd + unit) = 1;
            *hop__cell(up, unit, x->stage + l) = 1;
            bias->data[unit] = -1.5f;
            *hop__cell(down, f->reg + bit, unit) = 16;
        }
}

hop_status hop__construct_cot(hop_model **out, const hop_task *task, const hop_construct_options *o,
                              hop_error *err)
{
    (void)o;
    layout x;
    hop_config c;
    char construction[64];
    const hop_funccomp *t = &task->funccomp;
    layout_init(&x, t);
    snprintf(construction, sizeof construction, "{\"kind\": \"cot\", \"generate\": %d}", t->hops + 1);
    hop_status s = hop__construct_config(&c, "full", task, construction, err);
    if (s != HOP_OK) return s;
    c.max_positions = t->length + t->hops;
    c.d_model = x.f.d_model;
    c.heads = 2;
    c.head_dim = x.f.head_dim;
    c.mlp_hidden = x.f.digit_bits ? x.f.digit_bits : 1;
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;
    float beta = (float)((log(4.0 * (double)(t->length + t->hops)) + 1.0) * sqrt((double)x.f.head_dim));
    hop__fill_tables(*out, &x.f, t);
    const hop_weight *positions = hop_model_weight(*out, "model.embed_positions.weight");
    for (int l = 0; l <= t->hops; l++) *hop__cell(positions, stage_position(t, l), x.stage + l) = 1;
    fill_heads(*out, &x, beta);
    if (x.f.digit_bits) fill_gate(*out, &x);
    return HOP_OK;
}
