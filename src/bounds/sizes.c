/* Which sizes (m, n_1 .. n_{L-1}) serve a theorem best, exactly.
 *
 * A prompt has N_0 + .. + N_{L-1} + 2 tokens. For the largest last table the first L-1 sizes should be as
 * small as possible. 2, 2, .., 2 wastes less than N_{L-2} = 2^(L-1) tokens, so whatever does better has an
 * N_{L-2} below twice that: then all of its first sizes are 2, but for one that may be 3. */
#include "room.h"

void hop__length(fmpz_t out, const fmpz *sizes, int hops)
{
    fmpz_t table;
    fmpz_init_set_ui(table, 1);
    fmpz_set_ui(out, 2);
    for (int l = 0; l < hops; l++) {
        fmpz_mul(table, table, &sizes[l]);
        fmpz_add(out, out, table);
    }
    fmpz_clear(table);
}

/* 2, 2, .. with a 3 at `three` (-1: nowhere); sums them up: N_{L-2} (1 when L is 1), and N_0 + .. + N_{L-2}
 * + 2. */
static void small_start(fmpz *sizes, int hops, int three, fmpz_t table, fmpz_t tokens)
{
    for (int l = 0; l < hops - 1; l++) fmpz_set_ui(&sizes[l], l == three ? 3 : 2);
    hop__length(tokens, sizes, hops - 1);
    fmpz_one(table);
    for (int l = 0; l < hops - 1; l++) fmpz_mul(table, table, &sizes[l]);
}

void hop__sizes_for_table(fmpz *sizes, int hops, const fmpz_t wanted)
{
    fmpz_t table, tokens, last, best, best_last;
    int best_three = -1;
    fmpz_init(table), fmpz_init(tokens), fmpz_init(last), fmpz_init(best), fmpz_init(best_last);
    for (int three = -1; three < hops - 1; three++) {
        small_start(sizes, hops, three, table, tokens);
        fmpz_cdiv_q(last, wanted, table);
        if (fmpz_cmp_ui(last, 2) < 0) fmpz_set_ui(last, 2);
        fmpz_addmul(tokens, table, last);
        if (three >= 0 && fmpz_cmp(tokens, best) >= 0) continue;
        fmpz_set(best, tokens);
        fmpz_set(best_last, last);
        best_three = three;
    }
    small_start(sizes, hops, best_three, table, tokens);
    fmpz_set(&sizes[hops - 1], best_last);
    fmpz_clear(table), fmpz_clear(tokens), fmpz_clear(last), fmpz_clear(best), fmpz_clear(best_last);
}

bool hop__largest_table(fmpz_t out, fmpz *sizes, int hops, const fmpz_t n)
{
    fmpz_t table, tokens, last;
    int best_three = -2;
    fmpz_init(table), fmpz_init(tokens), fmpz_init(last);
    fmpz_zero(out);
    for (int three = -1; three < hops - 1; three++) {
        small_start(sizes, hops, three, table, tokens);
        fmpz_sub(last, n, tokens);
        fmpz_fdiv_q(last, last, table);
        if (fmpz_cmp_ui(last, 2) < 0) continue;
        fmpz_mul(last, last, table);
        if (fmpz_cmp(last, out) <= 0) continue;
        fmpz_set(out, last);
        best_three = three;
    }
    if (best_three >= -1) {
        small_start(sizes, hops, best_three, table, tokens);
        fmpz_divexact(&sizes[hops - 1], out, table);
    }
    fmpz_clear(table), fmpz_clear(tokens), fmpz_clear(last);
    return best_three >= -1;
}

/* ---- bits of a code ------------------------------------------------------------------------- */

hop__bits hop__bits_of(const fmpz *sizes, int hops)
{
    hop__bits bits = {0};
    fmpz_t last;
    fmpz_init(last);
    for (int l = 0; l < hops; l++) {
        fmpz_sub_ui(last, &sizes[l], 1);
        int64_t digit = (int64_t)fmpz_bits(last); /* of the largest one; sizes are >= 2, so at least 1 */
        bits.code += digit;
        bits.stream += l == 0 ? 3 * digit : 4 * digit;
        if (l == 0) bits.first = bits.registers = digit;
        if (l < hops - 1) bits.registers += bits.code;
    }
    hop__length(last, sizes, hops);
    bits.log2_n = hop__to_log2(last) + 1e-9;
    fmpz_clear(last);
    return bits;
}

/* The least number of values that a digit of w bits has. */
static void least_digit(fmpz_t out, int64_t w)
{
    fmpz_one_2exp(out, (ulong)(w - 1));
    fmpz_add_ui(out, out, 1);
}

/* With n = 2 + m·T_1, T_l = 1 + n_l·T_{l+1}, T_L = 1, the shortest tail with a given number of bits is the
 * best one whatever stands before it. tail[b], b <= bits: the least T_1 whose digits have b bits together, 0
 * where there is none; _fmpz_vec_clear'ed by the caller. */
static fmpz *shortest_tails(int hops, int64_t bits)
{
    fmpz *tail = _fmpz_vec_init(bits + 1), *next = _fmpz_vec_init(bits + 1);
    fmpz_t trial;
    fmpz_init(trial);
    fmpz_one(&tail[0]); /* a tail without digits has no bits */
    for (int l = hops - 1; l >= 1; l--) {
        for (int64_t b = 0; b <= bits; b++) {
            fmpz_zero(&next[b]);
            for (int64_t w = 1; w <= b; w++) {
                if (fmpz_is_zero(&tail[b - w])) continue;
                least_digit(trial, w);
                fmpz_mul(trial, trial, &tail[b - w]);
                fmpz_add_ui(trial, trial, 1);
                if (fmpz_is_zero(&next[b]) || fmpz_cmp(trial, &next[b]) < 0) fmpz_set(&next[b], trial);
            }
        }
        fmpz *swap = tail;
        tail = next, next = swap;
    }
    _fmpz_vec_clear(next, bits + 1);
    fmpz_clear(trial);
    return tail;
}

/* The shortest prompt whose first digit has w bits, before that tail. */
static void length_with(fmpz_t n, int64_t w, const fmpz_t tail)
{
    least_digit(n, w);
    fmpz_mul(n, n, tail);
    fmpz_add_ui(n, n, 2);
}

static void keep_least(fmpz_t least, const fmpz_t n)
{
    if (fmpz_is_zero(least) || fmpz_cmp(n, least) < 0) fmpz_set(least, n);
}

void hop__length_for_code_bits(fmpz_t n, int hops, int64_t bits)
{
    fmpz *tail = shortest_tails(hops, bits);
    fmpz_t trial;
    fmpz_init(trial);
    fmpz_zero(n);
    for (int64_t w = 1; w <= bits; w++) {
        if (fmpz_is_zero(&tail[bits - w])) continue;
        length_with(trial, w, &tail[bits - w]);
        keep_least(n, trial);
    }
    fmpz_clear(trial);
    _fmpz_vec_clear(tail, bits + 1);
}

void hop__length_for_stream_bits(fmpz_t n, int hops, int64_t bits)
{
    int64_t most = bits / 4 > hops - 1 ? bits / 4 : hops - 1; /* with more, the first digit has one bit */
    fmpz *tail = shortest_tails(hops, most + 1);
    fmpz_t trial;
    fmpz_init(trial);
    fmpz_zero(n);
    for (int64_t b = hops - 1; b <= most + 1; b++) {
        if (fmpz_is_zero(&tail[b])) continue;
        int64_t rest = bits - 4 * b;
        length_with(trial, rest > 3 ? (rest + 2) / 3 : 1, &tail[b]);
        keep_least(n, trial);
    }
    fmpz_clear(trial);
    _fmpz_vec_clear(tail, most + 2);
}

hop__bits hop__most_bits(int hops, const fmpz_t n)
{
    hop__bits most = {0};
    int64_t cap = (int64_t)fmpz_bits(n) + hops; /* w bits have more than 2^(w-1) values */
    fmpz *tail = shortest_tails(hops, cap);
    fmpz_t trial;
    fmpz_init(trial);
    for (int64_t b = hops - 1; b <= cap; b++)
        for (int64_t w = 1; !fmpz_is_zero(&tail[b]) && w <= cap; w++) {
            length_with(trial, w, &tail[b]);
            if (fmpz_cmp(trial, n) > 0) break;
            if (w + b > most.code) most.code = w + b;
            if (3 * w + 4 * b > most.stream) most.stream = 3 * w + 4 * b;
            if (w > most.first) most.first = w;
        }
    most.registers = hops * most.code;
    most.log2_n = hop__to_log2(n) + 1e-9;
    fmpz_clear(trial);
    _fmpz_vec_clear(tail, cap + 1);
    return most;
}
