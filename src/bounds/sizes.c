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

int64_t hop__code_bits_of(const fmpz *sizes, int hops)
{
    int64_t bits = 0;
    fmpz_t last;
    fmpz_init(last);
    for (int l = 0; l < hops; l++) {
        fmpz_sub_ui(last, &sizes[l], 1);
        bits += (int64_t)fmpz_bits(last); /* of the largest digit; sizes are >= 2, so at least one */
    }
    fmpz_clear(last);
    return bits;
}

/* With n = 2 + m·T_1, T_l = 1 + n_l·T_{l+1}, T_L = 1, the shortest tail with a given number of bits is the
 * best one whatever stands before it. A digit of w bits has at least 2^(w-1) + 1 values (2 for one bit). */
void hop__length_for_code_bits(fmpz_t n, int hops, int64_t bits)
{
    fmpz *tail = _fmpz_vec_init(bits + 1), *next = _fmpz_vec_init(bits + 1);
    fmpz_t trial, digit;
    fmpz_init(trial), fmpz_init(digit);
    fmpz_one(&tail[0]); /* 0: no such tail; a tail without digits has no bits */
    for (int l = hops - 1; l >= 0; l--) {
        for (int64_t b = 0; b <= bits; b++) {
            fmpz_zero(&next[b]);
            for (int64_t w = 1; w <= b; w++) {
                if (fmpz_is_zero(&tail[b - w])) continue;
                fmpz_one_2exp(digit, (ulong)(w - 1));
                fmpz_add_ui(digit, digit, 1);
                fmpz_mul(trial, digit, &tail[b - w]);
                fmpz_add_ui(trial, trial, l > 0 ? 1 : 2);
                if (fmpz_is_zero(&next[b]) || fmpz_cmp(trial, &next[b]) < 0) fmpz_set(&next[b], trial);
            }
        }
        fmpz *swap = tail;
        tail = next, next = swap;
    }
    fmpz_set(n, &tail[bits]);
    _fmpz_vec_clear(tail, bits + 1);
    _fmpz_vec_clear(next, bits + 1);
    fmpz_clear(trial), fmpz_clear(digit);
}

int64_t hop__most_code_bits(int hops, const fmpz_t n)
{
    fmpz_t least;
    fmpz_init(least);
    int64_t bits = hops - 1;
    do hop__length_for_code_bits(least, hops, ++bits);
    while (fmpz_cmp(least, n) <= 0);
    fmpz_clear(least);
    return bits > hops ? bits - 1 : 0;
}
