/* L+1 full-attention layers that solve L-sequential function composition, exactly, for every input.
 *
 * Statement (docs/THEORY.md section 5.1). For any hops L and sizes m, n_1 .. n_{L-1} >= 2 the network built
 * here answers every input rightly in float32, and also with activations cut to 8 significant bits at the
 * sizes tested. One head a layer; with B = bits of a number's code, head_dim = L+2+B and d_model =
 * L+2+3B+(w's bits), which is O(L + log n).
 *
 * The residual stream has five fields:
 *     who   L+2 numbers, one-hot: the token's player (position table)
 *     at    B numbers ±1: the token's place in its function (position table)
 *     val   B numbers ±1: the token's value (token table)
 *     dig   ±1: the token's value read as w's digits (token table)
 *     reg   B numbers: what the last token has found so far, 0 at first
 * Layer e lets the last token ask for player e at the address (w_{e-1}, reg), and adds 4 × the answer's code
 * to reg. The MLP then clips reg to ±1. It needs two hidden units a bit, because the residual stream does
 * half of the work: y + [relu(-y-1) - relu(y-1)] = clip(y, -1, 1). With the old content between -1 and 1 and
 * the answer's weight at least 3/4, |y| >= 4·(1/2) - 1 = 1. For |y| >= 1 every step of it is exact in binary
 * floating point of any precision (y - 1 is a multiple of y's last place and no larger), so reg is exactly ±1
 * again. */
#include <hopbound/construct.h>

#include "code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_GAIN 4.0f

typedef struct fields {
    hop__code code;
    int hops, bits, digit_bits; /* digit_bits: w's digits, l = 1 .. L-1 */
    int who, at, val, dig, reg; /* where each field begins */
    int d_model, head_dim;
} fields;

static void fields_init(fields *f, const hop_funccomp *task)
{
    hop__code_init(&f->code, task);
    f->hops = task->hops;
    f->bits = hop__code_bits(&f->code);
    f->digit_bits = f->bits - f->code.width[0];
    f->who = 0;
    f->at = f->who + f->hops + 2;
    f->val = f->at + f->bits;
    f->dig = f->val + f->bits;
    f->reg = f->dig + f->digit_bits;
    f->d_model = f->reg + f->bits;
    f->head_dim = f->hops + 2 + f->bits;
}

/* Where w_l's code begins. */
static int digit_at(const fields *f, int l)
{
    return f->dig + f->code.offset[l] - f->code.width[0];
}

static int who_of(const fields *f, int player)
{
    return f->who + player + 1; /* players -1, 0, .., L */
}

/* Element (row, col) of a weight. */
static float *cell(const hop_weight *w, int64_t row, int64_t col)
{
    return w->data + row * w->shape[1] + col;
}

static void fill_tables(hop_model *m, const fields *f, const hop_funccomp *task)
{
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight");
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    const hop_weight *head = hop_model_weight(m, "lm_head.weight");
    for (int64_t t = 0; t < task->vocab; t++) {
        hop__code_number(&f->code, f->hops, t, 1, cell(tokens, t, f->val));
        hop__code_number(&f->code, f->hops, t, 1, cell(head, t, f->reg));
        for (int l = 1; l < f->hops; l++)
            hop__code_digit(&f->code, l, hop_funccomp_digit(task, t % task->queries, l), 1,
                            cell(tokens, t, digit_at(f, l)));
    }
    for (int64_t p = 0; p < task->length; p++) {
        int64_t index;
        int player = hop_funccomp_player(task, p, &index);
        *cell(positions, p, who_of(f, player)) = 1;
        if (player > 0) hop__code_number(&f->code, player, index, 1, cell(positions, p, f->at));
    }
}

/* The head's coordinates: L+2 for who, then B for an address; values travel in the address places. */
static void fill_attention(hop_model *m, const fields *f, int e, float beta)
{
    const hop_weight *q = hop_model_layer_weight(m, e, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(m, e, "mixer.k_proj.weight");
    const hop_weight *v = hop_model_layer_weight(m, e, "mixer.v_proj.weight");
    const hop_weight *o = hop_model_layer_weight(m, e, "mixer.o_proj.weight");
    int address = f->hops + 2;
    *cell(q, e + 1, who_of(f, -1)) = 2 * beta; /* only the last token asks */
    for (int g = 0; g < e; g++) {
        bool from_w = g > 0 && g == e - 1;
        int source = from_w ? digit_at(f, g) : f->reg + f->code.offset[g];
        for (int i = 0; i < f->code.width[g]; i++)
            *cell(q, address + f->code.offset[g] + i, source + i) = beta;
    }
    for (int i = 0; i < f->hops + 2; i++) *cell(k, i, f->who + i) = 1;
    for (int i = 0; i < f->bits; i++) {
        *cell(k, address + i, f->at + i) = 1;
        *cell(v, address + i, f->val + i) = 1;
        *cell(o, f->reg + i, address + i) = WRITE_GAIN;
    }
}

static void fill_clip(hop_model *m, const fields *f, int e)
{
    const hop_weight *up = hop_model_layer_weight(m, e, "mlp.up_proj.weight");
    const hop_weight *bias = hop_model_layer_weight(m, e, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(m, e, "mlp.down_proj.weight");
    for (int i = 0; i < f->bits; i++) {
        *cell(up, 2 * i, f->reg + i) = 1;
        *cell(up, 2 * i + 1, f->reg + i) = -1;
        bias->data[2 * i] = bias->data[2 * i + 1] = -1;
        *cell(down, f->reg + i, 2 * i) = -1;
        *cell(down, f->reg + i, 2 * i + 1) = 1;
    }
}

static char *task_text(const hop_funccomp *task)
{
    hop_json_writer w = {0};
    hop_funccomp_write(task, &w);
    if (w.text.failed) hop_text_free(&w.text);
    return w.text.s; /* plain heap memory: the config owns it now */
}

hop_status hop_construct_full(hop_model **out, const hop_funccomp *task, hop_error *err)
{
    fields f;
    fields_init(&f, task);
    hop_config c;
    hop_config_init(&c);
    char pattern[32];
    snprintf(pattern, sizeof pattern, "full^%d", task->hops + 1);
    hop_status s = hop_pattern_parse(&c.pattern, pattern, "", err);
    if (s != HOP_OK) return s;
    c.vocab = task->vocab;
    c.d_model = f.d_model;
    c.max_positions = task->length;
    c.position_table = true;
    c.head_dim = f.head_dim;
    c.norm = HOP_NORM_NONE;
    c.mlp = HOP_MLP_RELU;
    c.mlp_hidden = 2 * f.bits;
    c.task_json = task_text(task);
    c.construction_json = strdup("{\"kind\": \"full\"}");
    s = c.task_json && c.construction_json ? hop_model_new(out, &c, err)
                                           : hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_config_free(&c);
    if (s != HOP_OK) return s;

    /* A wrong token's score is at least 2 beta below the right one's, so all of them together weigh at most
     * n·exp(-2 beta) = 1/(16 e^2 n). The theory needs half of this beta; the rest pays for 8-bit scores. */
    double beta = log(4.0 * (double)task->length) + 1.0;
    fill_tables(*out, &f, task);
    for (int e = 0; e <= task->hops; e++) {
        fill_attention(*out, &f, e,
                       (float)(beta * sqrt((double)f.head_dim))); /* the mixer divides by the root */
        fill_clip(*out, &f, e);
    }
    return HOP_OK;
}
