/* Multi-query associative recall: key, value, key, value, .., then keys that ask for their values.
 *
 * Looking keys up takes a table. It has two slots a pair, as many as the pairs have tokens, so sampling and
 * solving, which cannot fail, keep it in the room that their result will fill. */
#include "room.h"

#include <math.h>

#define EMPTY (-1)

static const hop_task_size SIZES[] = {
    {"pairs", offsetof(hop_task, recall.pairs), 1, HOP__MAX_LENGTH / 2, 8},
    {"queries", offsetof(hop_task, recall.queries), 1, HOP__MAX_LENGTH, 8},
    {"keys", offsetof(hop_task, recall.keys), 1, HOP__MAX_LENGTH, 16},
    {"values", offsetof(hop_task, recall.values), 1, HOP__MAX_LENGTH, 16},
    {0},
};

static hop_status ready(hop_task *t, hop_error *err)
{
    const hop_recall *r = &t->recall;
    if (r->keys < r->pairs)
        return hop_fail(err, HOP_EDOMAIN, "keys: %lld are too few for %lld pairs with different ones",
                        (long long)r->keys, (long long)r->pairs);
    if (r->keys + r->values > HOP__MAX_LENGTH)
        return hop_fail(err, HOP_EDOMAIN, "keys and values together are more than 2^31 tokens");
    if (2 * r->pairs + r->queries > HOP__MAX_LENGTH)
        return hop_fail(err, HOP_EDOMAIN, "the sizes make a prompt longer than 2^31 tokens");
    t->length = 2 * r->pairs + r->queries;
    t->vocab = r->keys + r->values;
    return HOP_OK;
}

static bool is_value(const hop_recall *r, int64_t position)
{
    return position < 2 * r->pairs && position % 2 == 1;
}

static int64_t values(const hop_task *t, int64_t position)
{
    return is_value(&t->recall, position) ? t->vocab : t->recall.keys;
}

/* ---- the table ----------------------------------------------------------------------------- */

static int64_t slot_of(int32_t key, int64_t slots)
{
    uint64_t mixed = (uint64_t)(uint32_t)key * 0x9e3779b97f4a7c15u;
    return (int64_t)(((mixed >> 32) * (uint64_t)slots) >> 32);
}

/* The slot where `key` is or would be. A slot holds a place in `tokens`, or, when that is NULL, the key
 * itself. Half of the slots are empty, so the search ends. */
static int64_t find_slot(const int32_t *table, int64_t slots, const int32_t *tokens, int32_t key)
{
    int64_t s = slot_of(key, slots);
    while (table[s] != EMPTY && (tokens ? tokens[table[s]] : table[s]) != key) s = s + 1 < slots ? s + 1 : 0;
    return s;
}

/* Fills `table` with the places of the keys. The place of the first key that was there before, or -1. */
static int64_t table_fill(int32_t *table, const hop_recall *r, const int32_t *tokens)
{
    int64_t slots = 2 * r->pairs, twice = -1;
    for (int64_t i = 0; i < slots; i++) table[i] = EMPTY;
    for (int64_t p = 0; p < slots; p += 2) {
        int64_t s = find_slot(table, slots, tokens, tokens[p]);
        if (table[s] == EMPTY)
            table[s] = (int32_t)p;
        else if (twice < 0)
            twice = p;
    }
    return twice;
}

/* ---- sampling ------------------------------------------------------------------------------ */

/* tokens[0 .. pairs-1]: different keys, every set and every order equally likely. Floyd's algorithm finds the
 * set, in time that does not depend on how many keys there are to choose from. */
static void sample_keys(const hop_recall *r, hop_rng *rng, int32_t *tokens)
{
    int64_t slots = 2 * r->pairs, count = 0;
    for (int64_t i = 0; i < slots; i++) tokens[i] = EMPTY;
    for (int64_t last = r->keys - r->pairs; last < r->keys; last++) {
        int32_t key = (int32_t)hop_rng_below(rng, (uint64_t)last + 1);
        if (tokens[find_slot(tokens, slots, NULL, key)] != EMPTY) key = (int32_t)last;
        tokens[find_slot(tokens, slots, NULL, key)] = key;
    }
    for (int64_t i = 0; i < slots; i++)
        if (tokens[i] != EMPTY) tokens[count++] = tokens[i];
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)hop_rng_below(rng, (uint64_t)i + 1);
        int32_t key = tokens[i];
        tokens[i] = tokens[j];
        tokens[j] = key;
    }
}

static void sample(const hop_task *t, hop_rng *rng, int32_t *tokens)
{
    const hop_recall *r = &t->recall;
    sample_keys(r, rng, tokens);
    for (int64_t i = r->pairs - 1; i >= 0; i--)
        tokens[2 * i] = tokens[i]; /* from the back: none is overwritten */
    for (int64_t i = 0; i < r->pairs; i++)
        tokens[2 * i + 1] = (int32_t)(r->keys + (int64_t)hop_rng_below(rng, (uint64_t)r->values));
    for (int64_t p = 2 * r->pairs; p < t->length; p++)
        tokens[p] = tokens[2 * hop_rng_below(rng, (uint64_t)r->pairs)];
}

/* ---- solving and checking ------------------------------------------------------------------ */

static int64_t solve(const hop_task *t, const int32_t *tokens, int32_t *targets)
{
    int64_t slots = 2 * t->recall.pairs, asked = 0;
    table_fill(targets, &t->recall, tokens);
    for (int64_t p = slots; p < t->length; p++) {
        int32_t at = targets[find_slot(targets, slots, tokens, tokens[p])];
        targets[p] = at == EMPTY ? -1 : tokens[at + 1];
        asked += at != EMPTY;
    }
    for (int64_t p = 0; p < slots; p++) targets[p] = -1;
    return asked;
}

static hop_status check_with(int32_t *table, const hop_task *t, const int32_t *tokens, hop_error *err)
{
    int64_t slots = 2 * t->recall.pairs, twice;
    for (int64_t p = 1; p < slots; p += 2)
        if (tokens[p] < t->recall.keys)
            return hop_fail(err, HOP_ERANGE, "token %lld is %ld, a key where a value belongs", (long long)p,
                            (long)tokens[p]);
    twice = table_fill(table, &t->recall, tokens);
    if (twice >= 0)
        return hop_fail(err, HOP_ERANGE, "token %lld: key %ld was there before", (long long)twice,
                        (long)tokens[twice]);
    for (int64_t p = slots; p < t->length; p++)
        if (table[find_slot(table, slots, tokens, tokens[p])] == EMPTY)
            return hop_fail(err, HOP_ERANGE, "token %lld asks for key %ld, which no pair has", (long long)p,
                            (long)tokens[p]);
    return HOP_OK;
}

static hop_status check(const hop_task *t, const int32_t *tokens, hop_error *err)
{
    int32_t *table = hop_alloc((size_t)t->recall.pairs * 2 * sizeof *table);
    if (!table) return hop_fail(err, HOP_ENOMEM, "%lld pairs: out of memory", (long long)t->recall.pairs);
    hop_status s = check_with(table, t, tokens, err);
    hop_free(table);
    return s;
}

/* ---- counting: keys!/(keys-pairs)! orders of keys, values^pairs, pairs^queries -------------- */

static double log10_inputs(const hop_task *t)
{
    const hop_recall *r = &t->recall;
    double orders = 0; /* lgamma would lose digits */
    for (int64_t i = 0; i < r->pairs; i++) orders += log10((double)(r->keys - i));
    return orders + (double)r->pairs * log10((double)r->values) +
           (double)r->queries * log10((double)r->pairs);
}

static int64_t inputs(const hop_task *t)
{
    const hop_recall *r = &t->recall;
    int64_t product = 1;
    for (int64_t i = 0; i < r->pairs; i++)
        if (!hop__count_power(&product, r->keys - i, 1)) return -1;
    return hop__count_power(&product, r->values, r->pairs) && hop__count_power(&product, r->pairs, r->queries)
               ? product
               : -1;
}

const hop__task_ops hop__recall_ops = {
    .sizes = SIZES,
    .ready = ready,
    .values = values,
    .sample = sample,
    .solve = solve,
    .check = check,
    .log10_inputs = log10_inputs,
    .inputs = inputs,
    .everywhere = true,
};
