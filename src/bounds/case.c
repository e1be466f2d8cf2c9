/* How a verdict is written down: texts that are freed together, hypotheses, and from which length on. */
#include "case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---------------------------------------------------------------------------------- */

/* A block that the answer owns; NULL, remembered, when there is no memory. */
static void *keep(hop__strings *s, void *block)
{
    if (block && (s->count & (s->count - 1)) == 0) { /* 0, 1, 2, 4, ..: full */
        void **more = realloc(s->blocks, sizeof *more * (s->count ? 2 * s->count : 1));
        if (!more) {
            free(block);
            block = NULL;
        } else {
            s->blocks = more;
        }
    }
    if (block)
        s->blocks[s->count++] = block;
    else
        s->failed = true;
    return block;
}

void *hop__keep_block(hop__case *c, void *block)
{
    return keep(c->strings, block);
}

void hop__strings_free(hop__strings *s)
{
    for (size_t i = 0; i < s->count; i++) free(s->blocks[i]);
    free(s->blocks);
    *s = (hop__strings){0};
}

const char *hop__keep_text(hop__case *c, hop_text *t)
{
    char *own = t->s && !t->failed ? strdup(t->s) : NULL;
    hop_text_free(t);
    own = keep(c->strings, own);
    return own ? own : "";
}

const char *hop__say(hop__case *c, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    text = keep(c->strings, text);
    return text ? text : "";
}

const char *hop__say_integer(hop__case *c, const fmpz_t x)
{
    hop_text t = {0};
    hop__print_integer(&t, x);
    return hop__keep_text(c, &t);
}

const char *hop__say_digits(hop__case *c, const fmpz_t x)
{
    char *digits = fmpz_get_str(NULL, 10, x); /* FLINT's memory is not ours to keep */
    const char *out = hop__say(c, "%s", digits);
    flint_free(digits);
    return out;
}

const char *const *hop__say_list(hop__case *c, const fmpz *list, int count, int total)
{
    const char **out = keep(c->strings, calloc((size_t)total + 1, sizeof *out));
    for (int i = 0; out && i < count; i++) out[i] = hop__say_digits(c, &list[i]);
    return out;
}

const char *const *hop__say_texts(hop__case *c, const char *const *first, int count,
                                  const char *const *second, int more)
{
    const char **out = keep(c->strings, calloc((size_t)(count + more) + 1, sizeof *out));
    for (int i = 0; out && i < count + more; i++) out[i] = i < count ? first[i] : second[i - count];
    return out;
}

const char *hop__say_layers(hop__case *c, int64_t count, const char *kind)
{
    return hop__say(c, "%lld %s layer%s", (long long)count, kind, count == 1 ? "" : "s");
}

const char *hop__say_here(hop__case *c, int64_t count)
{
    return hop__say(c, "here %s %lld", count == 1 ? "is" : "are", (long long)count);
}

const char *hop__say_accumulators(hop__case *c)
{
    int64_t count = c->q->arch->accumulators;
    return count > 1 ? hop__say(c, "%lld ", (long long)count) : "";
}

const char *hop__say_bits(hop__case *c)
{
    const char *text = hop__say(c, "M = %s", hop__say_integer(c, &c->hybrid.reply));
    for (int e = 0; e <= c->hybrid.full && e < 3; e++)
        text = hop__say(c, "%s, A_%d = %s", text, e, hop__say_integer(c, &c->hybrid.state[e]));
    return hop__say(c, "%s bits", text);
}

/* ---- hypotheses ----------------------------------------------------------------------------- */

#define MOST_HYPOTHESES 8

void hop__note(hop__case *c, hop_bound *b, bool met, const char *text)
{
    if (!b->hypotheses) b->hypotheses = keep(c->strings, calloc(MOST_HYPOTHESES, sizeof *b->hypotheses));
    if (!b->hypotheses || b->hypothesis_count == MOST_HYPOTHESES) return;
    hop_hypothesis *list = (hop_hypothesis *)(uintptr_t)b->hypotheses; /* ours until it is handed out */
    list[b->hypothesis_count++] = (hop_hypothesis){text, met};
}

bool hop__suppose(hop__case *c, hop_bound *b, bool met, const char *text)
{
    hop__note(c, b, met, text);
    if (!met && b->applies) {
        b->applies = false;
        b->why = hop__say(c, "does not apply: it takes %s", text);
    }
    return met;
}

bool hop__suppose_known_mixers(hop__case *c, hop_bound *b)
{
    return hop__suppose(c, b, c->hybrid.other == 0,
                        "full and linear layers only, no sparse or unknown mixer");
}

bool hop__suppose_nothing_first(hop__case *c, hop_bound *b)
{
    return hop__suppose(
        c, b, c->hybrid.layers[0] == 0,
        hop__say(c, "no linear layer before the first full one, %s", hop__say_here(c, c->hybrid.layers[0])));
}

/* ---- lengths -------------------------------------------------------------------------------- */

static void judge(hop__case *c, hop_bound *b, bool speaks)
{
    const char *from = b->speaks_from;
    if (!c->asked) {
        b->answer = HOP_ANSWER_IMPOSSIBLE;
        b->why = hop__say(c, "impossible from n = %s on", from);
    } else if (speaks) {
        b->answer = HOP_ANSWER_IMPOSSIBLE;
        b->why = hop__say(c, "impossible from n = %s on, so at n = %s", from, hop__say_integer(c, &c->n));
    } else {
        b->why = hop__say(c, "speaks from n = %s on; silent at n = %s", from, hop__say_integer(c, &c->n));
    }
}

void hop__speak_at(hop__case *c, hop_bound *b, const fmpz *sizes, int count)
{
    fmpz all[HOP_MAX_HOPS];
    fmpz_t n;
    fmpz_init(n);
    for (int l = 0; l < c->hops; l++) {
        fmpz_init_set_ui(&all[l], 2);
        if (l < count) fmpz_set(&all[l], &sizes[l]);
    }
    hop__length(n, all, c->hops);
    b->sizes = hop__say_list(c, all, c->hops, c->hops);
    b->speaks_from = hop__say_integer(c, n);
    b->log10_n = hop__log10(n);
    if (!c->by_sizes) judge(c, b, fmpz_cmp(&c->n, n) >= 0);
    for (int l = 0; l < c->hops; l++) fmpz_clear(&all[l]);
    fmpz_clear(n);
}

void hop__speak_from_power(hop__case *c, hop_bound *b, const fmpz_t base, const fmpz_t exponent)
{
    bool speaks = false;
    hop_text t = {0};
    arb_t x;
    arb_init(x);
    hop__log2(x, base, 128);
    arb_mul_fmpz(x, x, exponent, 128);
    double bits = arf_get_d(arb_midref(x), ARF_RND_NEAR); /* at most 64·2^258 */
    b->log10_n = bits * 0.30102999566398119521;
    if (bits < 128) { /* else it is longer than any length that can be asked for */
        fmpz_t n;
        fmpz_init(n);
        fmpz_pow_ui(n, base, fmpz_get_ui(exponent));
        hop__print_integer(&t, n);
        speaks = fmpz_cmp(&c->n, n) >= 0;
        fmpz_clear(n);
    } else {
        hop__print_power(&t, b->log10_n);
    }
    b->speaks_from = hop__keep_text(c, &t);
    arb_clear(x);
    if (c->by_sizes && c->hops > 1)
        b->why = hop__say(c, "speaks of sizes of its own, from n = %s on, not of these", b->speaks_from);
    else
        judge(c, b, speaks); /* one hop has one size, and it follows from n */
}

void hop__speak_here(hop__case *c, hop_bound *b, bool impossible)
{
    b->answer = impossible ? HOP_ANSWER_IMPOSSIBLE : HOP_ANSWER_SILENT;
    b->why = impossible
                 ? "impossible at these sizes: it has less than it needs"
                 : hop__say(c,
                            b->speaks_from ? "silent at these sizes; at others it speaks from n = %s on"
                                           : "silent at these sizes%s",
                            b->speaks_from ? b->speaks_from : "");
    if (impossible) b->sizes = hop__say_list(c, c->sizes, c->hops, c->hops);
}

void hop__weigh_power(const hop__case *c, hop_bound *b, const fmpz_t width, int k)
{
    if (!c->asked) return;
    b->has_bits = fmpz_get_d(width);
    b->needs_bits = exp2(ldexp(hop__to_log2(&c->n), -k));
}
