/* 2-Sum, also called Match2: at every position, is there an earlier token (or this one) that with this one
 * adds up to nothing modulo `mod`? (docs/THEORY.md section 5.6) */
#include "room.h"

#include <math.h>

static const hop__field FIELDS[] = {
    {"n", offsetof(hop_task, twosum.n), false, 1, HOP__MAX_LENGTH},
    {"mod", offsetof(hop_task, twosum.mod), false, 2, HOP__MAX_LENGTH},
    {0},
};

static hop_status ready(hop_task *t, hop_error *err)
{
    (void)err;
    t->length = t->twosum.n;
    t->vocab = t->twosum.mod; /* at least 2, so 0 and 1 are tokens */
    return HOP_OK;
}

static int64_t values(const hop_task *t, int64_t position)
{
    (void)position;
    return t->twosum.mod;
}

static void sample(const hop_task *t, hop_rng *rng, int32_t *tokens)
{
    for (int64_t i = 0; i < t->length; i++) tokens[i] = (int32_t)hop_rng_below(rng, (uint64_t)t->twosum.mod);
}

/* ---- solving ------------------------------------------------------------------------------- */

static bool before(const int32_t *x, int32_t a, int32_t b)
{
    return x[a] != x[b] ? x[a] < x[b] : a < b;
}

static void sift(int32_t *heap, int64_t root, int64_t count, const int32_t *x)
{
    int32_t moving = heap[root];
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(x, heap[child], heap[child + 1])) child++;
        if (!before(x, moving, heap[child])) break;
        heap[root] = heap[child];
    }
    heap[root] = moving;
}

/* Positions ordered by token, then by position. Heap sort: no memory, and no input is slow. */
static void sort_positions(int32_t *order, int64_t count, const int32_t *x)
{
    for (int64_t i = 0; i < count; i++) order[i] = (int32_t)i;
    for (int64_t i = count / 2; i-- > 0;) sift(order, i, count, x);
    for (int64_t last = count - 1; last > 0; last--) {
        int32_t largest = order[0];
        order[0] = order[last];
        order[last] = largest;
        sift(order, 0, last, x);
    }
}

/* `targets` first holds the sorted positions. They fill 31 bits, so the answer of position p goes to the sign
 * of targets[p] until no more of them is wanted. Tokens are met in rising order, so their partners mod - x
 * fall, and one finger from each end finds every pair of groups. */
static int64_t solve(const hop_task *t, const int32_t *tokens, int32_t *targets)
{
    int64_t n = t->length, above = n; /* order[above] on: tokens larger than any partner still to come */
    sort_positions(targets, n, tokens);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t x = tokens[targets[begin] & INT32_MAX], partner = x ? t->twosum.mod - x : 0;
        for (end = begin; end < n && tokens[targets[end] & INT32_MAX] == x;) end++;
        int64_t first = begin; /* of the partner's group, if it has one */
        if (x) {
            while (above > 0 && tokens[targets[above - 1] & INT32_MAX] > partner) above--;
            for (first = above; first > 0 && tokens[targets[first - 1] & INT32_MAX] == partner;) first--;
            if (first == above) continue;
        }
        int32_t earliest = targets[first] & INT32_MAX;
        for (int64_t i = begin; i < end; i++) {
            int32_t p = targets[i] & INT32_MAX;
            if (earliest <= p) targets[p] |= INT32_MIN;
        }
    }
    for (int64_t i = 0; i < n; i++) targets[i] = targets[i] < 0;
    return n;
}

/* ---- counting ------------------------------------------------------------------------------ */

static double log10_inputs(const hop_task *t)
{
    return (double)t->twosum.n * log10((double)t->twosum.mod);
}

static int64_t inputs(const hop_task *t)
{
    int64_t product = 1;
    hop__count_power(&product, t->twosum.mod, t->twosum.n);
    return product;
}

const hop__task_ops hop__twosum_ops = {
    .fields = FIELDS,
    .ready = ready,
    .values = values,
    .sample = sample,
    .solve = solve,
    .log10_inputs = log10_inputs,
    .inputs = inputs,
};
