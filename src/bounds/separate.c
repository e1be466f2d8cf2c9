/* The separation at one length: possible above, impossible below, at one width and one precision.
 *
 * The width depends on the sizes (a head must hold an address of B bits), and the sizes at which a theorem
 * speaks depend on the width. So: start with B = 1, ask the theorems where they speak at that width, take the
 * B of these sizes and the state that a linear layer then has, and so on. Both grow together, and where they
 * meet the theorem speaks about the very network that is written down. */
#include "room.h"

#include <hopbound/bounds.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS 64

/* ---- rows -------------------------------------------------------------------------------------- */

typedef struct plan {
    hop_arch_layer layers[2 * HOP_MAX_HOPS + 1];
    int64_t count, full, linear;
    char pattern[96];
} plan;

static hop_arch_layer layer_of(const hop_separation *s, hop_layer_kind kind, int64_t repeat)
{
    bool full = kind == HOP_LAYER_FULL;
    return (hop_arch_layer){.kind = kind,
                            .repeat = repeat,
                            .heads = 1,
                            .dim = full ? s->dim : s->code_bits,
                            .number_bits = s->bits,
                            .state_bits = full ? 0 : s->state_bits};
}

/* "F^3", "F" */
static void power(char *out, size_t size, const char *letter, int64_t count)
{
    if (count == 1)
        snprintf(out, size, "%s", letter);
    else
        snprintf(out, size, "%s^%lld", letter, (long long)count);
}

static plan plan_of(const hop_separation *s, int row)
{
    plan p = {.count = 1};
    int64_t L = s->hops;
    char gap[32];
    power(gap, sizeof gap, "L", s->linear);
    switch (row) {
    case HOP_ROW_FULL:
    case HOP_ROW_FEWER:
        p.full = row == HOP_ROW_FULL ? L + 1 : L;
        p.layers[0] = layer_of(s, HOP_LAYER_FULL, p.full);
        power(p.pattern, sizeof p.pattern, "F", p.full);
        break;
    case HOP_ROW_HYBRID:
        p.full = L, p.count = 2;
        p.layers[0] = layer_of(s, HOP_LAYER_LINEAR, 1), p.layers[1] = layer_of(s, HOP_LAYER_FULL, L);
        memcpy(p.pattern, "L ", 2);
        power(p.pattern + 2, sizeof p.pattern - 2, "F", L);
        break;
    case HOP_ROW_GAPS:
        p.full = L - 1, p.count = 2 * L - 1;
        for (int64_t i = 0; i < p.count; i++)
            p.layers[i] = layer_of(s, i % 2 ? HOP_LAYER_FULL : HOP_LAYER_LINEAR, i % 2 ? 1 : s->linear);
        if (L == 1)
            snprintf(p.pattern, sizeof p.pattern, "%s", gap);
        else if (L == 2)
            snprintf(p.pattern, sizeof p.pattern, "%s F %s", gap, gap);
        else
            snprintf(p.pattern, sizeof p.pattern, "(%s F)^%lld %s", gap, (long long)L - 1, gap);
        break;
    default:
        p.layers[0] = layer_of(s, HOP_LAYER_LINEAR, s->linear * L + L - 1);
        power(p.pattern, sizeof p.pattern, "L", s->linear * L + L - 1);
    }
    for (int64_t i = 0; i < p.count; i++)
        if (p.layers[i].kind == HOP_LAYER_LINEAR) p.linear += p.layers[i].repeat;
    return p;
}

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

/* A verdict is better than none, one that is machine-checked than one on paper. */
static int weight_of(const hop_bound *x)
{
    return x->answer == HOP_ANSWER_SILENT ? 0 : x->answer == HOP_ANSWER_IMPOSSIBLE && x->certificate ? 2 : 1;
}

/* What is said of a row: the theorem that decides it, or the one that will be the first to. */
static void say_row(hop_separation_row *r, const hop_bounds *b)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < b->count; i++) {
        const hop_bound *x = &b->results[i];
        if (!weight_of(x) && (!x->applies || !x->speaks_from)) continue;
        bool better = !best || weight_of(x) > weight_of(best) ||
                      (weight_of(x) == weight_of(best) && x->log10_n < best->log10_n);
        if (better) best = x;
    }
    r->answer = HOP_ANSWER_SILENT, r->log10_n = INFINITY;
    if (!best) return;
    r->answer = best->answer;
    r->log10_n = best->log10_n;
    r->machine_checked = best->certificate != NULL;
    copy_text(r->theorem, sizeof r->theorem, best->id);
    if (best->answer != HOP_ANSWER_POSSIBLE)
        copy_text(r->speaks_from, sizeof r->speaks_from, best->speaks_from);
    copy_text(r->needs, sizeof r->needs, best->needs);
    copy_text(r->has, sizeof r->has, best->has);
}

static hop_status ask(hop_bounds **b, const hop_separation *s, const plan *p, bool here,
                      const hop_progress *progress, hop_error *err)
{
    const hop_arch arch = {.layers = p->layers, .count = p->count};
    const hop_question q = {.arch = &arch,
                            .hops = s->hops,
                            .m = here ? s->m : 0,
                            .fan = here ? s->fan + 1 : NULL,
                            .progress = progress};
    return hop_bounds_new(b, &q, err);
}

/* ---- widths ------------------------------------------------------------------------------------- */

static void take_width(hop_separation *s, int64_t code_bits, int64_t state_numbers)
{
    s->code_bits = code_bits;
    s->dim = s->hops + 2 + code_bits;
    s->message_bits = (s->dim + 2) * s->bits;
    s->state_bits = state_numbers * s->bits;
}

static int64_t bits_of_size(int64_t x)
{
    int64_t b = 0;
    for (x--; x > 0; x >>= 1) b++;
    return b;
}

/* B, n and the numbers of a state at the sizes; false when the prompt has 2^62 tokens or more, or no state
 * can be had. */
static bool measure(const hop_separation *s, int64_t *code_bits, int64_t *tokens, int64_t *state)
{
    int64_t table = s->m, n = s->m + 2, bits = bits_of_size(s->m);
    for (int l = 1; l < s->hops; l++) {
        if (table > ((int64_t)1 << 61) / s->fan[l]) return false;
        table *= s->fan[l];
        n += table;
        bits += bits_of_size(s->fan[l]);
    }
    *code_bits = bits, *tokens = n;
    if (n >= (int64_t)1 << 62) return false;
    *state = s->state_numbers ? s->state_numbers(s, s->state_of) : bits;
    return *state > 0;
}

hop_status hop_separation_at(hop_separation *s, const hop_progress *progress, hop_error *err)
{
    int64_t bits, state;
    if (s->hops < 1 || s->hops >= HOP_MAX_HOPS || s->linear < 1 || !measure(s, &bits, &s->n, &state))
        return hop_fail(err, HOP_EDOMAIN, "no such sizes");
    take_width(s, bits, state);
    fmpz sizes[HOP_MAX_HOPS];
    for (int l = 0; l < s->hops; l++) fmpz_init_set_si(&sizes[l], l ? s->fan[l] : s->m);
    s->width = hop__need_of(s->hops, hop__bits_of(sizes, s->hops)).width;
    for (int l = 0; l < s->hops; l++) fmpz_clear(&sizes[l]);
    for (int row = 0; row < HOP_ROWS; row++) {
        plan p = plan_of(s, row);
        hop_bounds *b;
        hop_status got = ask(&b, s, &p, true, progress, err);
        if (got != HOP_OK) return got;
        s->rows[row] = (hop_separation_row){.full_layers = p.full, .linear_layers = p.linear};
        memcpy(s->rows[row].pattern, p.pattern, sizeof p.pattern);
        say_row(&s->rows[row], b);
        hop_bounds_free(b);
    }
    return HOP_OK;
}

/* ---- the search --------------------------------------------------------------------------------- */

/* Sizes at which the theorem that speaks first says that a row is impossible, into m and fan; *n: log10 of
 * the length. False: at none that fit. */
static bool first_sizes(const hop_bounds *b, int hops, int64_t *m, int64_t *fan, double *n)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < b->count; i++) {
        const hop_bound *x = &b->results[i];
        if (x->answer != HOP_ANSWER_POSSIBLE && x->applies && x->speaks_from && x->sizes &&
            (!best || x->log10_n < best->log10_n))
            best = x;
    }
    if (!best || !(best->log10_n < 18.6)) return false;
    *n = best->log10_n;
    for (int l = 0; l < hops; l++) {
        if (!best->sizes[l] || strlen(best->sizes[l]) > 18) return false;
        int64_t v = strtoll(best->sizes[l], NULL, 10);
        if (l == 0)
            *m = v;
        else
            fan[l] = v;
    }
    return true;
}

static bool wanted(const hop_separation *s, int row, bool fewer)
{
    return row == HOP_ROW_GAPS || row == HOP_ROW_LINEAR || (row == HOP_ROW_FEWER && (fewer || s->hops == 1));
}

/* The longest of the wanted rows' shortest sizes, at the present width. */
static hop_status hardest_sizes(hop_separation *s, bool fewer, const hop_progress *progress, hop_error *err)
{
    double hardest = -1;
    int64_t m = 0, fan[HOP_MAX_HOPS] = {0};
    for (int row = 0; row < HOP_ROWS; row++) {
        if (!wanted(s, row, fewer)) continue;
        plan p = plan_of(s, row);
        hop_bounds *b;
        hop_status got = ask(&b, s, &p, false, progress, err);
        if (got != HOP_OK) return got;
        double n = 0;
        bool fits = first_sizes(b, s->hops, &m, fan, &n);
        hop_bounds_free(b);
        if (!fits)
            return hop_fail(err, HOP_EDOMAIN, "%s: no theorem speaks at a length below 2^62", p.pattern);
        if (n <= hardest) continue;
        hardest = n;
        s->m = m;
        memcpy(s->fan, fan, sizeof fan);
    }
    return HOP_OK;
}

static bool separates(const hop_separation *s, bool fewer)
{
    for (int row = 0; row < HOP_ROWS; row++)
        if (wanted(s, row, fewer) && s->rows[row].answer != HOP_ANSWER_IMPOSSIBLE) return false;
    return s->rows[HOP_ROW_FULL].answer == HOP_ANSWER_POSSIBLE &&
           s->rows[HOP_ROW_HYBRID].answer == HOP_ANSWER_POSSIBLE;
}

/* Where the theorem's shortest sizes need a longer code than the width they were found at, the next width has
 * longer sizes; but at the width itself there may be others, a little longer than the shortest, whose codes
 * fit. For two hops these are looked through: for each way to share out the bits of a code, and for each fan
 * with that many, the least m with the rest. Guesses in doubles; each is asked for as any sizes are. */
typedef struct guess {
    int64_t n, m, fan;
} guess;

static int by_length(const void *a, const void *b)
{
    const guess *x = a, *y = b;
    return (x->n > y->n) - (x->n < y->n);
}

/* The least m of so many bits at which P4 seems to speak; 0: none. */
static int64_t least_m(const hop_separation *s, int64_t bits, int64_t fan)
{
    double states = (double)(s->linear * s->state_bits), reply = (double)s->message_bits;
    int64_t low = (int64_t)1 << (bits - 1), high = (int64_t)1 << bits;
    if (!hop__p4_seems(states, states, reply, (double)high, (double)fan)) return 0;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (hop__p4_seems(states, states, reply, (double)middle, (double)fan))
            high = middle;
        else
            low = middle;
    }
    return high;
}

#define SHORT_CODES 24 /* bits; longer ones have too many fans to look through */
#define GUESSES     64

/* The shortest guess of each way to share out the bits of each width. */
static int64_t gather(const hop_separation *s, guess *out)
{
    hop_separation at = *s;
    int64_t count = 0;
    for (int64_t width = 2; width <= s->code_bits && width <= SHORT_CODES; width++) {
        for (int64_t bits = 1; bits < width; bits++) {
            guess best = {.n = s->n};
            int64_t code, n, state; /* of all sizes with so many bits, these among them */
            at.m = (int64_t)1 << (width - bits), at.fan[1] = (int64_t)1 << bits;
            if (!measure(&at, &code, &n, &state)) continue;
            take_width(&at, width, state);
            for (int64_t f = ((int64_t)1 << (bits - 1)) + 1; f <= (int64_t)1 << bits; f++) {
                if (2 * f > best.n) break;
                int64_t m = least_m(&at, width - bits, f);
                n = m * (f + 1) + 2;
                if (m && n < best.n) best = (guess){n, m, f};
            }
            if (best.n < s->n && count < GUESSES) out[count++] = best;
        }
    }
    qsort(out, (size_t)count, sizeof *out, by_length);
    return count;
}

static hop_status shorten(hop_separation *s, bool fewer, const hop_progress *progress, hop_error *err)
{
    guess list[GUESSES];
    if (s->hops != 2 || fewer) return HOP_OK;
    int64_t count = gather(s, list);
    for (int64_t i = 0; i < count; i++) {
        hop_separation t = *s;
        t.m = list[i].m, t.fan[1] = list[i].fan;
        hop_status got = hop_separation_at(&t, progress, err);
        if (got != HOP_OK) return got;
        if (!separates(&t, fewer)) continue;
        *s = t;
        break;
    }
    return HOP_OK;
}

hop_status hop_separation_find(hop_separation *s, bool fewer, const hop_progress *progress, hop_error *err)
{
    if (s->hops < 1 || s->hops >= HOP_MAX_HOPS || s->linear < 1 || s->bits < 10 || s->bits > 32)
        return hop_fail(err, HOP_EDOMAIN, "hops, bits (10 to 32) or linear layers out of range");
    int64_t width = 1, kept = 1;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        int64_t bits, n, state;
        take_width(s, width, kept);
        hop_status got = hardest_sizes(s, fewer, progress, err);
        if (got != HOP_OK) return got;
        if (!measure(s, &bits, &n, &state)) return hop_fail(err, HOP_EDOMAIN, "the prompt would be too long");
        if (bits <= width && state <= kept) {
            got = hop_separation_at(s, progress, err);
            if (got != HOP_OK) return got;
            if (separates(s, fewer)) return shorten(s, fewer, progress, err);
            if (s->rows[HOP_ROW_FULL].answer != HOP_ANSWER_POSSIBLE)
                return hop_fail(err, HOP_EDOMAIN,
                                "numbers of %d bits are too few for the networks that are written down",
                                s->bits);
        }
        bool wider = bits > width || state > kept;
        width = !wider ? width + 1 : bits > width ? bits : width;
        kept = !wider ? kept + 1 : state > kept ? state : kept;
    }
    return hop_fail(err, HOP_EDOMAIN, "no sizes were found");
}
