#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHANGES 6
#define MOST_GROWTH  256 /* bytes that a change adds, at most */

/* What readers stumble over: ends of ranges, words of the formats, what opens and closes. */
static const char *const WORDS[] = {
    "0",
    "-1",
    "-0",
    "1e999",
    "1e-999",
    "0.5",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "null",
    "true",
    "false",
    "NaN",
    "{}",
    "[]",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\",
    ",",
    ":",
    "\n",
    "\\u0000",
    "\\ud800",
    "\xff",
    "\xc2\x9b",
    "[[[[[[[[",
    "\"\"",
    "\"F32\"",
    "\"F64\"",
    "\"U8\"",
    "\"BF16\"",
    "\"BOOL\"",
    "[0, 0]",
    "[0,4611686018427387904,4]",
    "shape",
    "dtype",
    "data_offsets",
    "__metadata__",
    "tokens",
    "targets",
    "position",
    "prompts",
    "cuts",
    "trace",
    "prefix",
};
#define WORD_COUNT (sizeof WORDS / sizeof WORDS[0])

static size_t below(hop_rng *r, size_t n)
{
    return n ? (size_t)hop_rng_below(r, (uint32_t)n) : 0;
}

/* `length` bytes at `at` give way to others. */
static void replace(input *x, size_t at, size_t length, const void *by, size_t bytes)
{
    memmove(x->data + at + bytes, x->data + at + length, x->size - at - length);
    if (bytes) memcpy(x->data + at, by, bytes);
    x->size += bytes - length;
}

static void change_byte(input *x, hop_rng *r)
{
    static const uint8_t ends[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '"', '\\', '}', ']'};
    size_t at = below(r, x->size);
    if (below(r, 2))
        x->data[at] ^= (uint8_t)(1u << below(r, 8));
    else
        x->data[at] = below(r, 2) ? ends[below(r, sizeof ends)] : (uint8_t)below(r, 256);
}

/* A piece is left out, or said twice, or stands elsewhere. */
static void move_piece(input *x, hop_rng *r)
{
    uint8_t piece[MOST_GROWTH];
    size_t from = below(r, x->size), most = x->size - from;
    size_t length = 1 + below(r, most < MOST_GROWTH ? most : MOST_GROWTH);
    size_t kind = below(r, 3);
    memcpy(piece, x->data + from, length);
    if (kind != 1) replace(x, from, length, NULL, 0);
    if (kind != 0) replace(x, below(r, x->size + 1), 0, piece, length);
}

/* A word in, or in the place of a number or of a string. */
static void put_word(input *x, hop_rng *r)
{
    const char *word = WORDS[below(r, WORD_COUNT)];
    size_t at = below(r, x->size + 1), length = 0;
    if (below(r, 4)) { /* from here on, the next number or string */
        while (at < x->size && !strchr("0123456789\"", x->data[at] ? x->data[at] : 'x')) at++;
        bool quoted = at < x->size && x->data[at] == '"';
        while (at + length < x->size &&
               (quoted ? length == 0 || x->data[at + length] != '"'
                       : strchr("0123456789.e+-", x->data[at + length] ? x->data[at + length] : 'x') != NULL))
            length++;
        if (quoted && at + length < x->size) length++;
    }
    replace(x, at, length, word, strlen(word));
}

/* What follows comes from another input. */
static void splice(input *x, hop_rng *r, const input *other)
{
    size_t at = below(r, x->size + 1), from = below(r, other->size + 1), most = other->size - from;
    size_t bytes = most < MOST_GROWTH ? most : MOST_GROWTH;
    replace(x, at, below(r, 2) ? x->size - at : 0, bytes ? other->data + from : NULL, bytes);
}

static void change(input *x, hop_rng *r, const input *other)
{
    size_t kind = below(r, 10);
    if (x->size == 0 || kind == 0)
        splice(x, r, other);
    else if (kind < 4)
        change_byte(x, r);
    else if (kind < 6)
        move_piece(x, r);
    else if (kind < 9)
        put_word(x, r);
    else
        x->size = below(r, x->size + 1);
}

input mutant_of(const input *corpus, int count, uint64_t number)
{
    hop_rng r;
    hop_rng_init(&r, 1, number);
    const input *from = &corpus[below(&r, (size_t)count)];
    int changes = 1 + (int)below(&r, MOST_CHANGES);
    input x = {malloc(from->size + MOST_CHANGES * MOST_GROWTH + 1), from->size};
    if (!x.data) return x;
    if (x.size) memcpy(x.data, from->data, x.size);
    while (changes-- > 0) change(&x, &r, &corpus[below(&r, (size_t)count)]);
    /* A block of the exact size: behind it the sanitizers see what is read. */
    uint8_t *exact = malloc(x.size ? x.size : 1);
    if (exact && x.size) memcpy(exact, x.data, x.size);
    free(x.data);
    x.data = exact;
    return x;
}
