/* What attention's arithmetic loses, read off its programs: scores, and means of values. */
#include "charge.h"
#include "walk.h"

static void give(hop__reading *r, const char *name, hop__num x)
{
    int i = hop_arith_find(r->p, name);
    if (i >= 0) r->v[i] = x;
}

static hop__num up_to(double mag)
{
    return hop__num_given((ival){-mag, mag}, HOP__NO_GRID);
}

/* What is rounded to fewer bits is at most twice what it was. */
static hop__reading read_attention(const hop_arith *p, const hop_op *op, const hop__attended *a, int64_t tokens)
{
    hop__reading r = {.p = p, .tokens = (double)tokens, .terms = (double)tokens};
    double scale = (float)op->scale, score = a->q * a->k * fabs(scale) * (double)op->key_dim * 1.01, n = (double)tokens;
    hop__reading_know(&r, "z", (ival){1, INFINITY}, INFINITY); /* the largest score's weight is e^0 */
    r.size[HOP_AXIS_T] = 1, r.size[HOP_AXIS_J] = n;
    r.size[HOP_AXIS_K] = (double)op->key_dim, r.size[HOP_AXIS_V] = (double)op->value_dim;
    give(&r, "q", up_to(a->q)), give(&r, "k", up_to(a->k)), give(&r, "v", up_to(a->v));
    give(&r, "scale", hop__num_given(ival_point(scale), HOP__NO_GRID));
    give(&r, "t", up_to(score)), give(&r, "m", up_to(score)), give(&r, "m0", up_to(score));
    give(&r, "z0", hop__num_given((ival){0, 1.01 * n}, HOP__NO_GRID)), give(&r, "y0", up_to(1.01 * n * a->v));
    give(&r, "wr", hop__num_given((ival){0, 2}, HOP__NO_GRID)), give(&r, "pr", up_to(4));
    give(&r, "ma", up_to(score)), give(&r, "mb", up_to(score));
    give(&r, "a", up_to(1.01 * n * ival_most(1, a->v))), give(&r, "b", up_to(1.01 * n * ival_most(1, a->v)));
    give(&r, "n", hop__num_given(ival_point(n), HOP__NO_GRID));
    hop__reading_run(&r);
    return r;
}

static void add_line(hop__charge *c, const hop__reading *r, const char *name)
{
    int i = hop_arith_find(r->p, name);
    if (i < 0) return;
    c->rel = ival_most(c->rel, r->v[i].rel), c->abs = ival_most(c->abs, r->v[i].abs);
}

hop__charge hop__attention_charge(const hop_op *op, const hop__attended *a)
{
    hop__charge c = {.fits = true};
    for (int which = HOP_ARITH_ATTEND; which <= HOP_ARITH_SUMMARIES; which++) {
        hop_arith p;
        if (which == HOP_ARITH_SUMMARIES && op->block <= 0) continue;
        hop_arith_open(&p, hop_attention_program((hop_arith_attend)which));
        hop__reading r = read_attention(&p, op, a, which == HOP_ARITH_SUMMARIES ? op->block : a->seen);
        if (which == HOP_ARITH_ATTEND) add_line(&c, &r, "s"), add_line(&c, &r, "s1");
        c.fits = c.fits && r.fits;
    }
    return c;
}
