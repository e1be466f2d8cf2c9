#include "fields.h"

#include <math.h>

void hop__fields_init(hop__fields *f, const hop_funccomp *task)
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

int hop__fields_digit(const hop__fields *f, int l)
{
    return f->dig + f->code.offset[l] - f->code.width[0];
}

int hop__fields_who(const hop__fields *f, int player)
{
    return f->who + player + 1;
}

double hop__fields_beta(int64_t tokens)
{
    return log(4.0 * (double)tokens) + 1.0;
}

void hop__fill_tables(hop_model *m, const hop__fields *f, const hop_funccomp *task)
{
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight");
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    const hop_weight *head = hop_model_weight(m, "lm_head.weight");
    for (int64_t t = 0; t < task->vocab; t++) {
        hop__code_number(&f->code, f->hops, t, 1, hop__cell(tokens, t, f->val));
        if (head) hop__code_number(&f->code, f->hops, t, 1, hop__cell(head, t, f->reg)); /* not tied */
        for (int l = 1; l < f->hops; l++)
            hop__code_digit(&f->code, l, hop_funccomp_digit(task, t % task->queries, l), 1,
                            hop__cell(tokens, t, hop__fields_digit(f, l)));
    }
    for (int64_t p = 0; p < task->length; p++) {
        int64_t index;
        int player = hop_funccomp_player(task, p, &index);
        *hop__cell(positions, p, hop__fields_who(f, player)) = 1;
        if (player > 0) hop__code_number(&f->code, player, index, 1, hop__cell(positions, p, f->at));
    }
}

/* The head's coordinates: L+2 for who, then B for an address; values travel in the address places. */
void hop__fill_look_up(hop_model *m, const hop__fields *f, int64_t layer, int e, float beta)
{
    const hop_weight *q = hop_model_layer_weight(m, layer, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(m, layer, "mixer.k_proj.weight");
    const hop_weight *v = hop_model_layer_weight(m, layer, "mixer.v_proj.weight");
    const hop_weight *o = hop_model_layer_weight(m, layer, "mixer.o_proj.weight");
    int address = f->hops + 2;
    *hop__cell(q, e + 1, hop__fields_who(f, -1)) = 2 * beta; /* only the last token asks */
    for (int g = 0; g < e; g++) {
        bool from_w = g > 0 && g == e - 1;
        int source = from_w ? hop__fields_digit(f, g) : f->reg + f->code.offset[g];
        for (int i = 0; i < f->code.width[g]; i++)
            *hop__cell(q, address + f->code.offset[g] + i, source + i) = beta;
    }
    for (int i = 0; i < f->hops + 2; i++) *hop__cell(k, i, f->who + i) = 1;
    for (int i = 0; i < f->bits; i++) {
        *hop__cell(k, address + i, f->at + i) = 1;
        *hop__cell(v, address + i, f->val + i) = 1;
        *hop__cell(o, f->reg + i, address + i) = HOP__WRITE_GAIN;
    }
}

void hop__fill_clip(hop_model *m, const hop__fields *f, int64_t layer)
{
    const hop_weight *up = hop_model_layer_weight(m, layer, "mlp.up_proj.weight");
    const hop_weight *bias = hop_model_layer_weight(m, layer, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(m, layer, "mlp.down_proj.weight");
    for (int i = 0; i < f->bits; i++) {
        *hop__cell(up, 2 * i, f->reg + i) = 1;
        *hop__cell(up, 2 * i + 1, f->reg + i) = -1;
        bias->data[2 * i] = bias->data[2 * i + 1] = -1;
        *hop__cell(down, f->reg + i, 2 * i) = -1;
        *hop__cell(down, f->reg + i, 2 * i + 1) = 1;
    }
}
