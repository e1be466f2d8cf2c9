/* A hop by a state: a linear layer whose state holds the entries of a table, or a part of them, and whose
 * last token reads the one that is asked for.
 *
 * Statement (docs/THEORY.md section 5.8). Keys and queries pass a SiLU, and SiLU(±STEEP) is STEEP or, to
 * 2^-120, 0. So the coordinate that belongs to entry a of z_e is made from codes without any one-hot field in
 * the stream:
 *
 *     key     STEEP (sum over the bits of an address of c_i(a) at_i + 2 [I am of z_e] - B - 1)
 *     query   STEEP (sum of c_i(a) x_i + 2 [I am w] - B - 1),   x = the register, and w's digit
 *
 * is STEEP where all bits agree and the token is the right one, and -STEEP or less elsewhere. Behind the norm
 * of length 1 every entry has a coordinate of its own, in some head: no two keys meet, so that a delta rule
 * has nothing to correct, and a query meets one entry's key in one head and none in all others, which return
 * 0. All heads write to the same register. Where a table has more entries than a state has rows, the next
 * layers hold the rest: an address that a layer does not hold reads 0 there, too. */
#include "wiring.h"

#include <math.h>

#define STEEP 100.0f

/* What is written down for one layer. */
typedef struct desk {
    hop__site s;
    hop__fields f; /* bits and register of what is looked up */
    const hop__stream *stream;
    hop__assignment assignment;
    hop_mixer_table table;
    int bits; /* of an address */
} desk;

int64_t hop__table_entries(const hop_config *c, const hop__stream *s, int64_t layer, int e)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    const hop__wiring *w = ops ? hop__wiring_of(ops->name) : NULL;
    hop_mixer_config own;
    if (!w || !ops->table || hop_config_mixer(c, ops, layer, &own, NULL) != HOP_OK) return 0;
    hop_mixer_table t = ops->table(&own);
    return t.numbers >= 2 * hop__stream_bits(s, e) ? t.heads * t.rows : 0;
}

/* Row `row` of a place is STEEP where the code that the token has, digit by digit, is that of `entry` and its
 * player is `asker`. */
static void fill_match(const desk *d, hop__place place, int64_t row, int64_t entry, int asker)
{
    const hop_weight *w = place.w;
    const hop__fields *f = &d->stream->f;
    float code[64 * HOP_MAX_HOPS];
    int e = d->assignment.e;
    row += place.row;
    hop__code_number(&f->code, e, entry, STEEP, code);
    for (int p = -1; p <= f->hops; p++)
        *hop__cell(w, row, hop__fields_who(f, p)) = STEEP * (float)((p == asker ? 2 : 0) - d->bits - 1);
    for (int g = 0; g < e; g++) {
        bool from_w = asker < 0 && g > 0 && g == e - 1;
        int from = from_w      ? hop__fields_digit(f, g)
                   : asker < 0 ? d->stream->reg[e - 1] + f->code.offset[g]
                               : f->at + f->code.offset[g];
        for (int i = 0; i < f->code.width[g]; i++) *hop__cell(w, row, from + i) = code[f->code.offset[g] + i];
    }
}

/* Only z_e's tokens write. Without a beta they do so because all other keys are 0. */
static void fill_beta(const desk *d)
{
    const hop_weight *b = hop__site_tensor(&d->s, "b_proj.weight");
    float yes = d->s.c.option[HOP_OPTION_negative] > 0 ? 0 : HOP__FAR; /* 2 sigmoid(0), or sigmoid(FAR): 1 */
    for (int64_t h = 0; b && h < b->shape[0]; h++)
        for (int p = -1; p <= d->f.hops; p++)
            *hop__cell(b, h, hop__fields_who(&d->f, p)) = p == d->assignment.e ? yes : -HOP__FAR;
}

void hop__fill_table(hop_model *m, const hop__stream *stream, int64_t layer, hop__assignment assignment)
{
    desk d = {.f = stream->f,
              .stream = stream,
              .assignment = assignment,
              .bits = stream->f.code.offset[assignment.e]};
    d.f.bits = hop__stream_bits(stream, assignment.e);
    d.f.reg = assignment.e == stream->f.hops ? stream->f.reg : stream->reg[assignment.e];
    d.s = hop__site_at(m, &d.f, layer);
    d.table = hop_mixer_find(d.s.w->mixer)->table(&d.s.c);
    hop__place q = hop__site_place(&d.s, HOP__QUERY), k = hop__site_place(&d.s, HOP__KEY);
    bool norm = d.s.c.option[HOP_OPTION_norm] > 0;
    float gain = hop__site_gain(&d.s) * (assignment.e == stream->f.hops ? stream->gain : 1);
    if (!norm) gain /= d.s.w->gain;
    for (int64_t i = 0; i < assignment.count; i++) {
        fill_match(&d, q, i, assignment.first + i, -1);
        fill_match(&d, k, i, assignment.first + i, assignment.e);
    }
    for (int64_t h = 0; h * d.table.rows < assignment.count; h++) {
        int64_t first = h * d.table.share * d.table.numbers;
        hop__site_value(&d.s, first);
        hop__site_open(&d.s, first, stream->one);
        hop__site_write(&d.s, first, gain);
    }
    hop__site_constants(&d.s);
    fill_beta(&d);
    hop__site_dress(&d.s);
}
