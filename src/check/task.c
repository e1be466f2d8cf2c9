/* Right answers, from the definitions (docs/THEORY.md section 2, docs/FORMATS.md): dumb loops over the
 * tokens. */
#include "room.h"

#define MOST ((int64_t)1 << 31)

static hop_status size_of(const hop_json *task, const char *key, int64_t least, int64_t most, int64_t *out,
                          hop_error *err)
{
    *out = -1;
    hop_status s = hop_json_read_int(task, key, least, most, out, err);
    return s != HOP_OK || *out >= 0 ? s : hop_fail(err, HOP_EFORMAT, "task: %s: absent", key);
}

static hop_status in_range(const int32_t *tokens, int64_t from, int64_t to, int64_t low, int64_t high,
                           hop_error *err)
{
    for (int64_t t = from; t < to; t++)
        if (tokens[t] < low || tokens[t] >= high)
            return hop_fail(err, HOP_ERANGE, "token %lld is %ld, outside %lld..%lld", (long long)t,
                            (long)tokens[t], (long long)low, (long long)(high - 1));
    return HOP_OK;
}

static hop_status as_long(int64_t count, int64_t wanted, hop_error *err)
{
    if (count == wanted) return HOP_OK;
    return hop_fail(err, HOP_ERANGE, "%lld tokens where the sizes ask for %lld", (long long)count,
                    (long long)wanted);
}

/* z_L, .., z_1, z_0, w: i_0 = z_0, i_1 = z_1(i_0), i_{l+1} = z_{l+1}(w_l N_{l-1} + i_l). */
static hop_status funccomp(const hop_json *task, const int32_t *tokens, int64_t count, int64_t *answer,
                           hop_error *err)
{
    int64_t L, m, fan[HOP_MAX_HOPS] = {0}, N[HOP_MAX_HOPS] = {0}, start[HOP_MAX_HOPS + 1], length = 2,
                  queries = 1;
    const hop_json *list = hop_json_get(task, "fan");
    hop_status s = size_of(task, "hops", 1, HOP_MAX_HOPS, &L, err);
    if (s == HOP_OK) s = size_of(task, "m", 2, MOST, &m, err);
    if (s != HOP_OK) return s;
    if ((list && list->type != HOP_JSON_ARRAY) || (list ? (int64_t)list->count : 0) != L - 1)
        return hop_fail(err, HOP_EFORMAT, "task: fan: not %lld numbers", (long long)(L - 1));
    for (int64_t l = 1; l < L; l++)
        if (!hop_json_int(hop_json_at(list, (size_t)(l - 1)), 2, MOST, &fan[l]))
            return hop_fail(err, HOP_EFORMAT, "task: fan: not numbers from 2 on");
    for (int64_t l = 0; l < L; l++) { /* z_{l+1} has N_l entries */
        N[l] = l == 0 ? m : N[l - 1] * fan[l];
        if (N[l] > MOST || (length += N[l]) > MOST) return hop_fail(err, HOP_EDOMAIN, "task: too long");
        if (l > 0) queries *= fan[l];
    }
    if ((s = as_long(count, length, err)) != HOP_OK) return s;
    int64_t at = 0;
    for (int64_t l = L; l >= 1; l--) {
        start[l] = at;
        at += N[l - 1];
        if ((s = in_range(tokens, start[l], at, 0, N[l - 1], err)) != HOP_OK) return s;
    }
    if ((s = in_range(tokens, at, at + 1, 0, m, err)) != HOP_OK) return s;
    if ((s = in_range(tokens, at + 1, at + 2, 0, queries, err)) != HOP_OK) return s;
    int64_t i = tokens[start[1] + tokens[at]], w = tokens[at + 1];
    for (int64_t l = 1; l < L; l++) {
        i = tokens[start[l + 1] + w % fan[l] * N[l - 1] + i];
        w /= fan[l];
    }
    *answer = i;
    return HOP_OK;
}

/* At every token: is there one up to here that adds up with it to 0 modulo `mod`? */
static hop_status two_sum(const hop_json *task, const int32_t *tokens, int64_t count, int64_t position,
                          int64_t *answer, hop_error *err)
{
    int64_t n, mod;
    hop_status s = size_of(task, "n", 1, MOST, &n, err);
    if (s == HOP_OK) s = size_of(task, "mod", 2, MOST, &mod, err);
    if (s == HOP_OK) s = as_long(count, n, err);
    if (s == HOP_OK) s = in_range(tokens, 0, n, 0, mod, err);
    *answer = 0;
    for (int64_t j = 0; s == HOP_OK && j <= position; j++)
        if (((int64_t)tokens[position] + tokens[j]) % mod == 0) *answer = 1;
    return s;
}

/* Pairs (key, value), then queries: the value of the key that is asked for. */
static hop_status recall(const hop_json *task, const int32_t *tokens, int64_t count, int64_t position,
                         int64_t *answer, hop_error *err)
{
    int64_t pairs, queries, keys, values;
    hop_status s = size_of(task, "pairs", 1, MOST, &pairs, err);
    if (s == HOP_OK) s = size_of(task, "queries", 1, MOST, &queries, err);
    if (s == HOP_OK) s = size_of(task, "keys", 1, MOST, &keys, err);
    if (s == HOP_OK) s = size_of(task, "values", 1, MOST, &values, err);
    if (s == HOP_OK) s = as_long(count, 2 * pairs + queries, err);
    for (int64_t t = 0; s == HOP_OK && t < count; t++)
        s = t < 2 * pairs && t % 2 ? in_range(tokens, t, t + 1, keys, keys + values, err)
                                   : in_range(tokens, t, t + 1, 0, keys, err);
    for (int64_t i = 0; s == HOP_OK && i < pairs; i++)
        for (int64_t j = 0; j < i; j++)
            if (tokens[2 * i] == tokens[2 * j])
                return hop_fail(err, HOP_ERANGE, "token %lld: a key that was there before",
                                (long long)(2 * i));
    if (s == HOP_OK && position < 2 * pairs)
        return hop_fail(err, HOP_ERANGE, "position: nothing is asked at token %lld", (long long)position);
    for (int64_t t = 2 * pairs; s == HOP_OK && t < count; t++) {
        int64_t found = -1;
        for (int64_t i = 0; i < pairs; i++)
            if (tokens[2 * i] == tokens[t]) found = tokens[2 * i + 1];
        if (found < 0)
            s = hop_fail(err, HOP_ERANGE, "token %lld asks for a key that no pair has", (long long)t);
        if (t == position) *answer = found;
    }
    return s;
}

/* `hops` times: from token at to the one behind the last earlier token that equals it. */
static hop_status khop(const hop_json *task, const int32_t *tokens, int64_t count, int64_t *answer,
                       hop_error *err)
{
    int64_t n, alphabet, hops;
    hop_status s = size_of(task, "n", 1, MOST, &n, err);
    if (s == HOP_OK) s = size_of(task, "alphabet", 2, MOST - 1, &alphabet, err);
    if (s == HOP_OK) s = size_of(task, "hops", 1, HOP_MAX_HOPS, &hops, err);
    if (s == HOP_OK) s = as_long(count, n, err);
    if (s == HOP_OK) s = in_range(tokens, 0, n, 0, alphabet, err);
    if (s != HOP_OK) return s;
    int64_t at = n - 1;
    for (int64_t hop = 0; hop < hops && at >= 0; hop++) {
        int64_t next = -1;
        for (int64_t j = 1; j <= at; j++)
            if (tokens[j - 1] == tokens[at]) next = j;
        at = next;
    }
    *answer = at < 0 ? alphabet : tokens[at];
    return HOP_OK;
}

hop_status hop__task_answer(const hop_json *task, const int32_t *tokens, int64_t count, int64_t position,
                            int64_t *answer, hop_error *err)
{
    const char *name = "funccomp";
    hop_status s = hop_json_read_string(task, "name", &name, err);
    if (s != HOP_OK) return s;
    bool pairs = strcmp(name, "recall") == 0, sums = strcmp(name, "two-sum") == 0;
    if (position < 0 || position >= count || (!pairs && !sums && position != count - 1))
        return hop_fail(err, HOP_ERANGE, "position: nothing is asked at token %lld", (long long)position);
    if (pairs) return recall(task, tokens, count, position, answer, err);
    if (sums) return two_sum(task, tokens, count, position, answer, err);
    if (strcmp(name, "khop") == 0) return khop(task, tokens, count, answer, err);
    if (strcmp(name, "funccomp") == 0) return funccomp(task, tokens, count, answer, err);
    return hop_fail(err, HOP_EFORMAT, "task: unknown name \"%.40s\"", name);
}
