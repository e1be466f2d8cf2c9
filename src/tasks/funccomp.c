/* L-sequential function composition: sizes, positions, sampling, the exact solver (docs/THEORY.md section 2).
 *
 * The prompt is z_L, .., z_1, z_0, w. Function z_l has N_{l-1} entries, so its tokens stand at
 * start[l] .. start[l] + N_{l-1} - 1; z_0 and w are one token each. Everything below follows from start[]. */
#include <hopbound/tasks.h>

#include <assert.h>
#include <math.h>

#define MAX_LENGTH ((int64_t)1 << 31)
#define MAX_INPUTS ((int64_t)1 << 62)

/* Entries of z_l, l >= 1, which is also how many values each of them takes. */
static int64_t table_size(const hop_funccomp *t, int l)
{
    return t->size[l - 1];
}

/* Fills fan[] and size[]; every size stays below MAX_LENGTH, so that sums of them cannot overflow. */
static hop_status init_sizes(hop_funccomp *t, const int64_t *fan, hop_error *err)
{
    t->fan[0] = 1;
    t->size[0] = t->m;
    for (int l = 1; l < t->hops; l++) {
        if (fan[l - 1] < 2)
            return hop_fail(err, HOP_EDOMAIN, "fan: n_%d is %lld, the least is 2", l, (long long)fan[l - 1]);
        if (fan[l - 1] > MAX_LENGTH / t->size[l - 1])
            return hop_fail(err, HOP_EDOMAIN, "the sizes make a prompt longer than 2^31 tokens");
        t->fan[l] = fan[l - 1];
        t->size[l] = t->size[l - 1] * fan[l - 1];
    }
    return HOP_OK;
}

hop_status hop_funccomp_init(hop_funccomp *t, int hops, int64_t m, const int64_t *fan, hop_error *err)
{
    *t = (hop_funccomp){0};
    if (hops < 1 || hops > HOP_MAX_HOPS)
        return hop_fail(err, HOP_EDOMAIN, "hops: %d is outside 1..%d", hops, HOP_MAX_HOPS);
    if (m < 2) return hop_fail(err, HOP_EDOMAIN, "m: %lld is below 2", (long long)m);
    if (m > MAX_LENGTH)
        return hop_fail(err, HOP_EDOMAIN, "m: %lld makes a prompt longer than 2^31 tokens", (long long)m);

    hop_funccomp made = {.hops = hops, .m = m};
    hop_status s = init_sizes(&made, fan, err);
    if (s != HOP_OK) return s;

    int64_t at = 0;
    for (int l = hops; l >= 1; l--) {
        made.start[l] = at;
        at += table_size(&made, l);
    }
    made.start[0] = at;
    made.length = at + 2; /* z_0 and w */
    if (made.length > MAX_LENGTH)
        return hop_fail(err, HOP_EDOMAIN, "the sizes make a prompt longer than 2^31 tokens");
    made.vocab = made.size[hops - 1];
    made.queries = made.vocab / m;
    *t = made;
    return HOP_OK;
}

int hop_funccomp_player(const hop_funccomp *t, int64_t position, int64_t *index)
{
    assert(position >= 0 && position < t->length);
    int player = t->hops;
    if (position == t->length - 1) {
        if (index) *index = 0;
        return -1;
    }
    while (player > 0 && position >= t->start[player - 1]) player--;
    if (index) *index = position - t->start[player];
    return player;
}

int64_t hop_funccomp_values(const hop_funccomp *t, int64_t position)
{
    int player = hop_funccomp_player(t, position, NULL);
    return player > 0 ? table_size(t, player) : player == 0 ? t->m : t->queries;
}

int64_t hop_funccomp_digit(const hop_funccomp *t, int64_t w, int l)
{
    assert(l >= 1 && l < t->hops);
    return w / (t->size[l - 1] / t->m) % t->fan[l];
}

void hop_funccomp_sample(const hop_funccomp *t, hop_rng *rng, int32_t *tokens)
{
    for (int l = t->hops; l >= 1; l--) {
        int64_t size = table_size(t, l);
        for (int64_t i = 0; i < size; i++)
            tokens[t->start[l] + i] = (int32_t)hop_rng_below(rng, (uint64_t)size);
    }
    tokens[t->start[0]] = (int32_t)hop_rng_below(rng, (uint64_t)t->m);
    tokens[t->length - 1] = (int32_t)hop_rng_below(rng, (uint64_t)t->queries);
}

int64_t hop_funccomp_solve(const hop_funccomp *t, const int32_t *tokens, int64_t *chain)
{
    int64_t w = tokens[t->length - 1];
    int64_t i = tokens[t->start[0]];
    if (chain) chain[0] = i;
    for (int l = 1; l <= t->hops; l++) {
        /* z_1 is asked at i_0 itself; z_l at the pair (w_{l-1}, i_{l-1}). */
        int64_t address = l == 1 ? i : hop_funccomp_digit(t, w, l - 1) * t->size[l - 2] + i;
        i = tokens[t->start[l] + address];
        if (chain) chain[l] = i;
    }
    return i;
}

hop_status hop_funccomp_check(const hop_funccomp *t, const int32_t *tokens, int64_t count, hop_error *err)
{
    if (count != t->length)
        return hop_fail(err, HOP_ERANGE, "%lld tokens where the sizes ask for %lld", (long long)count,
                        (long long)t->length);
    for (int64_t p = 0; p < count; p++) {
        int64_t values = hop_funccomp_values(t, p);
        if (tokens[p] < 0 || tokens[p] >= values)
            return hop_fail(err, HOP_ERANGE, "token %lld is %ld, outside 0..%lld", (long long)p,
                            (long)tokens[p], (long long)(values - 1));
    }
    return HOP_OK;
}

double hop_funccomp_log10_inputs(const hop_funccomp *t)
{
    double sum = log10((double)t->m) + log10((double)t->queries);
    for (int l = 1; l <= t->hops; l++) sum += (double)table_size(t, l) * log10((double)table_size(t, l));
    return sum;
}

int64_t hop_funccomp_inputs(const hop_funccomp *t)
{
    int64_t product = 1;
    for (int64_t p = t->length - 1; p >= 0;
         p--) { /* ends after at most 63 rounds: every factor but w's is >= 2 */
        int64_t values = hop_funccomp_values(t, p);
        if (product > MAX_INPUTS / values) return -1;
        product *= values;
    }
    return product;
}
