/* What attention's arithmetic loses, read off its programs: scores, and means of values. */
#include "charge.h"
#include "analysis.h"

#include <hopbound/kernels.h>

#define UNIT HOP_UNIT_ROUNDOFF

static void give(hop__reading *r, const char *name, hop__num x)
{
    int i = hop_arith_find(r->p, name);
    if (i >= 0) r->v[i] = x;
}

static hop__num up_to(double mag)
{
    return hop__num_given((ival){-mag, mag}, HOP__NO_GRID);
}

/* What all its programs may be given. What is rounded to fewer bits is at most twice what it was; a partial softmax
 * that has crossed was enlarged by `grown`. */
static hop__reading read_attention(const hop_arith *p, const hop_op *op, const hop__attended *a,
                                   int64_t tokens, double grown)
{
    hop__reading r = {.p = p, .tokens = (double)tokens, .terms = (double)tokens, .round = a->round};
    double scale = hop__rounded(op->scale), n = (double)tokens, sum = 1.01 * n * grown,
           moved = hop__crossing(a->round, a->score);
    hop__reading_know(&r, "z", (ival){1, INFINITY}, INFINITY); /* the largest score's weight is e^0 */
    hop__reading_know(&r, "moved", (ival){-moved, moved}, HOP_UNIT_ROUNDOFF); /* of two numbers as they are */
    r.size[HOP_AXIS_T] = 1, r.size[HOP_AXIS_J] = n;
    r.size[HOP_AXIS_K] = (double)op->key_dim, r.size[HOP_AXIS_V] = (double)op->value_dim;
    give(&r, "q", up_to(a->q)), give(&r, "k", up_to(a->k)), give(&r, "v", up_to(a->v));
    give(&r, "scale", hop__num_given(ival_point(scale), HOP__NO_GRID));
    give(&r, "t", up_to(a->score)), give(&r, "m", up_to(a->score)), give(&r, "m0", up_to(a->score));
    give(&r, "m1", up_to(a->score + moved)), give(&r, "ma", up_to(a->score + moved)),
        give(&r, "mb", up_to(a->score + moved));
    give(&r, "z0", hop__num_given((ival){0, sum}, HOP__NO_GRID)), give(&r, "y0", up_to(sum * a->v));
    give(&r, "z", hop__num_given((ival){1, sum}, HOP__NO_GRID)), give(&r, "y", up_to(sum * a->v));
    give(&r, "wr", hop__num_given((ival){0, 2}, HOP__NO_GRID)), give(&r, "pr", up_to(4));
    give(&r, "a", up_to(sum * a->v)), give(&r, "b", up_to(sum * a->v));
    give(&r, "n", hop__num_given(ival_point(n), HOP__NO_GRID));
    hop__reading_run(&r);
    return r;
}

static const hop__num *line(const hop__reading *r, const char *name)
{
    return &r->v[hop_arith_find(r->p, name)];
}

static hop__reading read_form(hop_arith *p, hop_arith_attend which, const hop_op *op, const hop__attended *a,
                              double grown)
{
    hop_arith_open(p, hop_attention_program(which));
    return read_attention(p, op, a, which == HOP_ARITH_SUMMARIES ? op->block : a->seen, grown);
}

/* Rescalings of sums, and foldings of partial softmaxes: kernels have one for every HOP_ATTN_BLOCK tokens, and two for each
 * player whose keys are looked at alone. */
static double rescalings(int64_t n)
{
    return (double)n / 16 + 2 * HOP_MAX_HOPS;
}

/* What a line charges, relative to its majorant, where arguments of exponentials are as they were formed. */
static double cost(hop_arith_attend which, const char *name)
{
    static const char *const arguments[][2] = {
        [HOP_ARITH_ATTEND] = {"under", "rise"}, [HOP_ARITH_FOLD] = {"ra", "rb"}};
    hop_arith p;
    hop_arith_open(&p, hop_attention_program(which));
    hop__reading r = {.p = &p, .tokens = 1, .terms = 1, .size = {1, 1, 1, 1}};
    for (int i = 0; i < p.count; i++)
        if (p.line[i]->prim == HOP_PRIM_INPUT) r.v[i] = up_to(1);
    for (int i = 0; i < 2; i++) hop__reading_know(&r, arguments[which][i], (ival){-1, 0}, 0);
    hop__reading_run(&r);
    return line(&r, name)->rel;
}

/* Sums of weights, and of weights times values, over n tokens, relative to these of absolute values (docs/THEORY.md section
 * 6.11): a token's product is formed once; whatever was summed before is multiplied and added to once a rescaling; every
 * token is added once; and what arguments of exponentials are rounded by, which rise by 88 altogether where a weight is any. */
double hop__attention_error(int64_t n)
{
    const double again = ival_most(cost(HOP_ARITH_ATTEND, "y_less"), cost(HOP_ARITH_FOLD, "aw")) + UNIT;
    return expm1(((double)n + 88) * UNIT + cost(HOP_ARITH_ATTEND, "wv") + rescalings(n) * again) * HOP__ABOVE;
}

/* Of their quotient. */
static double quotient_error(double sums)
{
    return sums < 1 ? (2 * sums / (1 - sums) * (1 + UNIT) + UNIT) * HOP__ABOVE : INFINITY;
}

/* What is lost at a rescaling below the normal numbers, over a sum that is at least `least`. */
static double faint(const hop_op *op, const hop__attended *a, double grown, double least, bool *fits)
{
    hop_arith p, f;
    hop__reading block = read_form(&p, HOP_ARITH_ATTEND, op, a, 1),
                 fold = read_form(&f, HOP_ARITH_FOLD, op, a, grown);
    *fits = *fits && block.fits && fold.fits;
    return (line(&block, "o")->abs + fold.v[f.reads].abs / least) * HOP__ABOVE;
}

/* Means: their weights are off as hop__attention_error says; partial softmaxes are rounded where they cross; and
 * every rescaling may lose what is below the normal numbers. */
static void charge_mean(hop__attention_loss *c, const hop_op *op, const hop__attended *a)
{
    hop__attended ones = *a;
    double grown = 1, least = 1, times = rescalings(a->seen) + 1;
    ones.v = 1;
    c->mean = (hop__charge){.rel = quotient_error(hop__attention_error(a->seen))};
    if (a->round > 0) {
        hop_arith p;
        hop__reading r =
            read_form(&p, HOP_ARITH_CROSS, op, a, 1); /* finite where a fold is, which is given as much */
        c->mean.rel += r.v[p.reads].rel, c->mean.abs += r.v[p.reads].abs;
        grown = ival_most(1, line(&r, "grow")->top), least = line(&r, "zc")->low;
        if (!(least > 0)) c->fits = false; /* a sum that may be nothing, or less, bounds no quotient */
    }
    c->mean.abs += times * faint(op, a, grown, least, &c->fits);
    c->mean.rel += times * faint(op, &ones, grown, least, &c->fits);
}

hop__attention_loss hop__attention_charge(const hop_op *op, const hop__attended *a)
{
    hop_arith p;
    hop__attention_loss c = {.fits = true};
    hop__reading r = read_form(&p, HOP_ARITH_ATTEND, op, a, 1);
    const hop__num *s = line(&r, "s"), *s1 = line(&r, "s1");
    c.score = (hop__charge){.rel = ival_most(s->rel, s1->rel), .abs = ival_most(s->abs, s1->abs)};
    /* A largest score that is moved too far takes its sums along no more. */
    if (!(hop__crossing(a->round, a->score) < 59)) c.score.abs = INFINITY;
    c.fits = r.fits && read_form(&p, HOP_ARITH_ROUNDED, op, a, 1).fits;
    if (op->block > 0) c.fits = c.fits && read_form(&p, HOP_ARITH_SUMMARIES, op, a, 1).fits;
    charge_mean(&c, op, a);
    if (!(c.mean.rel >= 0 && c.mean.abs >= 0)) c.fits = false; /* not a number */
    return c;
}
