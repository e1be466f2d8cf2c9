/* An encoder of ceil(log2 L)+2 layers that solves L-sequential function composition, exactly, for every
 * input.
 *
 * Statement (docs/THEORY.md section 5.5). For any hops L and sizes m, n_1 .. n_{L-1} >= 2 the network built
 * here, whose attention looks both ways, answers every input rightly in float32, and also with activations
 * cut to 8 significant bits at the sizes tested. One head a layer; with B = bits of a number's code and W =
 * those of w's digits, head_dim = L+2+B, d_model = L+2+4B+2W, mlp_hidden <= 5B+2W: all O(L + log n).
 *
 * Why. Every token composes, not only the last. Besides the fields of fields.h there are wd, w's digits as
 * heard, and adr, what a token asks for beyond what it knows.
 *
 * - Layer 0: every token asks for w and copies its digits to wd. This alone needs attention that looks ahead.
 * - Round r = 1 .. ceil(log2 L), s = 2^(r-1): a token of z_l holds u, the result of z_l .. z_{l+s-1} on its
 *   entry; it asks the token of z_{l+s} at (w_{l+s-1}, u) for its result, and so holds that of z_l ..
 *   z_{l+2s-1}. Where l+s > L there is nothing left to compose, and the token asks for itself. In round 1
 *   results are still the tokens' own values (val), afterwards they are in reg; w asks for z_0 in round 1 and
 *   keeps its value after it.
 * - Last layer: w asks z_1 at i_0 for its result, which is that of all L functions.
 *
 * For L = 1 there are no digits and no rounds: layer 0 brings z_0 to w.
 *
 * Scores. Query: (B+2)·beta for the player, beta·(u + 2·adr) for the address; key: who and at. u is ±1
 * everywhere (the places of digits it does not have hold the code of 0), adr is ±1 where it speaks and 0
 * elsewhere, so every address place has one of the weights 1 and 3, with the right sign wherever the right
 * token has a digit. A token of the right player differs in at least one of them: 2·beta. A token of another
 * player gains at most the B places where the right one has no digit, and lacks B+2: 2·beta again. As in
 * fields.h the wrong tokens then weigh at most 1/(16 e^2 n) =: eps together. (wd is copied, not clipped: ±1
 * up to 2 eps of layer 0. That makes the weight 1 at least 1 - 4 eps, and the lead as much smaller.)
 *
 * The MLP. reg is clipped to exactly ±1 as in fields.h. adr is made anew: wd and at are each let through by a
 * flag f in {0,1} that depends on the player, x·f = relu(x + 2f - 2) - relu(-x + 2f - 2) for |x| < 2, and the
 * old adr is taken away by -relu(adr + 2) + 2. */
#include "fields.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* Who asks whom. */
typedef enum asks {
    ASKS_NOBODY, /* what it hears does not matter */
    ASKS_ONE,    /* the only token of z_0 or w */
    ASKS_SELF,   /* itself, so as to keep what it has */
    ASKS_ENTRY,  /* the entry of `target` at the address that its value and a digit of w name */
} asks;

/* What the tokens of one player do in one layer. */
typedef struct errand {
    asks asks;
    int target;
    bool adopts; /* the value that it hears becomes its own */
} errand;

static int rounds_of(int hops)
{
    int r = 0;
    while ((1 << r) < hops) r++;
    return r;
}

static errand errand_of(int hops, int64_t layer, int player)
{
    const errand nothing = {.asks = ASKS_NOBODY}, keep = {.asks = ASKS_SELF, .target = player},
                 start = {.asks = ASKS_ONE, .target = 0, .adopts = true};
    int rounds = rounds_of(hops);
    if (layer == 0 && hops == 1) return player == HOP_PLAYER_QUERY ? start : nothing;
    if (layer == 0) return (errand){.asks = ASKS_ONE, .target = -1};
    if (layer > rounds)
        return player == HOP_PLAYER_QUERY ? (errand){.asks = ASKS_ENTRY, .target = 1, .adopts = true}
                                          : nothing;
    int next = player + (1 << (layer - 1));
    if (player == HOP_PLAYER_QUERY) return layer == 1 ? start : keep;
    if (player == 0 || next > hops) return keep;
    return (errand){.asks = ASKS_ENTRY, .target = next, .adopts = true};
}

/* ---- weights -------------------------------------------------------------------------------- */

typedef struct builder {
    hop_model *model;
    hop__fields f;
    int wd, adr; /* where these fields begin */
    int hidden;  /* units of the current layer's MLP that are in use */
    float beta;
} builder;

static int hidden_needed(const hop__fields *f)
{
    int rounds = rounds_of(f->hops);
    return rounds == 0   ? 2 * f->bits
           : rounds == 1 ? 2 * f->bits + 2 * f->digit_bits
                         : 5 * f->bits + 2 * f->digit_bits;
}

/* The head copies `count` places from `source` to `to` and multiplies by `gain`. */
static void fill_copy(const builder *b, int64_t layer, int source, int to, int count, float gain)
{
    const hop_weight *v = hop_model_layer_weight(b->model, layer, "mixer.v_proj.weight");
    const hop_weight *o = hop_model_layer_weight(b->model, layer, "mixer.o_proj.weight");
    for (int i = 0; i < count; i++) {
        *hop__cell(v, i, source + i) = 1;
        *hop__cell(o, to + i, i) = gain;
    }
}

static void fill_attention(const builder *b, int64_t layer)
{
    const hop__fields *f = &b->f;
    const hop_weight *q = hop_model_layer_weight(b->model, layer, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(b->model, layer, "mixer.k_proj.weight");
    int address = f->hops + 2, rounds = rounds_of(f->hops);
    bool by_address = layer > 0;
    for (int i = 0; i < f->hops + 2; i++) *hop__cell(k, i, f->who + i) = 1;
    for (int i = 0; i < f->bits; i++) *hop__cell(k, address + i, f->at + i) = 1;
    for (int player = HOP_PLAYER_QUERY; player <= f->hops; player++) {
        errand e = errand_of(f->hops, layer, player);
        if (e.asks == ASKS_NOBODY) continue;
        *hop__cell(q, e.target + 1, hop__fields_who(f, player)) =
            (by_address ? (float)f->bits + 2 : 2) * b->beta;
    }
    int result = layer <= 1 ? f->val : f->reg;                 /* where the tokens of tables have theirs */
    int own = layer <= 1 && layer <= rounds ? f->val : f->reg; /* in the last layer it is w that asks */
    for (int i = 0; i < f->bits && by_address; i++) {
        *hop__cell(q, address + i, own + i) = b->beta;
        *hop__cell(q, address + i, b->adr + i) = 2 * b->beta;
    }
    if (layer == 0 && f->hops > 1)
        fill_copy(b, layer, f->dig, b->wd, f->digit_bits, 1);
    else
        fill_copy(b, layer, result, f->reg, f->bits, HOP__WRITE_GAIN);
}

/* One hidden unit: relu(by·x + bias), added `down` times to coordinate `to`. Returns its number. */
static int fill_unit(builder *b, int64_t layer, int x, float by, float bias, int to, float down)
{
    int unit = b->hidden++;
    *hop__cell(hop_model_layer_weight(b->model, layer, "mlp.up_proj.weight"), unit, x) = by;
    hop_model_layer_weight(b->model, layer, "mlp.up_proj.bias")->data[unit] = bias;
    *hop__cell(hop_model_layer_weight(b->model, layer, "mlp.down_proj.weight"), to, unit) = down;
    return unit;
}

/* Adds coordinate x to coordinate `to` for the tokens of players first .. last. */
static void fill_gate(builder *b, int64_t layer, int x, int to, int first, int last)
{
    const hop_weight *up = hop_model_layer_weight(b->model, layer, "mlp.up_proj.weight");
    for (int sign = 1; sign >= -1; sign -= 2) {
        int unit = fill_unit(b, layer, x, (float)sign, -2, to, (float)sign);
        for (int p = first; p <= last; p++) *hop__cell(up, unit, hop__fields_who(&b->f, p)) = 2;
    }
}

/* What the tokens will ask for in layer + 1, a round: those with a next function for its digit of w, those of
 * tables without one for their own place. */
static void fill_next(builder *b, int64_t layer)
{
    const hop__fields *f = &b->f;
    int step = 1 << layer;
    for (int g = 0; g < f->hops; g++)
        for (int i = 0; i < f->code.width[g]; i++) {
            int place = f->code.offset[g] + i, l = g + 1 - step; /* z_l asks z_{g+1}, where w_g matters */
            int done = f->hops - step + 1;                       /* the first without a next one */
            if (done < g + 1) done = g + 1;                      /* z_1 .. z_g have no digit g */
            fill_gate(b, layer, f->at + place, b->adr + place, done, f->hops);
            if (l >= 1) fill_gate(b, layer, b->wd + place - f->code.width[0], b->adr + place, l, l);
            if (layer == 0) continue; /* there is no old one */
            fill_unit(b, layer, b->adr + place, 1, 2, b->adr + place, -1);
            hop_model_layer_weight(b->model, layer, "mlp.down_proj.bias")->data[b->adr + place] = 2;
        }
}

static void fill_layer(builder *b, int64_t layer)
{
    int rounds = rounds_of(b->f.hops);
    fill_attention(b, layer);
    b->hidden = 0;
    if (layer > 0 || b->f.hops == 1) {
        hop__fill_clip(b->model, &b->f, layer); /* takes the first units */
        b->hidden = 2 * b->f.bits;
    }
    if (layer < rounds) fill_next(b, layer);
}

hop_status hop__construct_encoder(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                  hop_error *err)
{
    (void)o;
    builder b = {0};
    hop_config c;
    char pattern[32];
    hop__fields_init(&b.f, &task->funccomp);
    b.wd = b.f.d_model;
    b.adr = b.wd + b.f.digit_bits;
    b.f.d_model = b.adr + b.f.bits;
    int layers = rounds_of(b.f.hops) + 2;
    snprintf(pattern, sizeof pattern, "full^%d", layers);
    hop_status s = hop__construct_config(&c, pattern, task, "{\"kind\": \"encoder\"}", err);
    if (s != HOP_OK) return s;
    c.bidirectional = true;
    c.d_model = b.f.d_model;
    c.head_dim = b.f.head_dim;
    c.mlp_hidden = hidden_needed(&b.f);
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;

    b.model = *out;
    b.beta = (float)(hop__fields_beta(task->length) *
                     sqrt((double)b.f.head_dim)); /* the mixer divides by the root */
    hop__fill_tables(*out, &b.f, &task->funccomp);
    for (int64_t layer = 0; layer < layers; layer++) fill_layer(&b, layer);
    return HOP_OK;
}
