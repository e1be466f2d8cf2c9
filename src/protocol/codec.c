/* Numbers at p bits, one behind the other, most significant bit first: count * p bits really are what a
 * message holds, but for the last byte's rest. */
#include <hopbound/protocol.h>

#include <assert.h>
#include <string.h>

size_t hop_packed_size(int64_t count, int bits)
{
    return ((size_t)count * (size_t)bits + 7) / 8;
}

/* The upper `bits` bits of x, rounded: nearest, ties to even. A NaN stays one. */
static uint32_t code_of(float x, int bits)
{
    uint32_t u, drop = (uint32_t)(32 - bits);
    memcpy(&u, &x, sizeof u);
    if (drop == 0) return u;
    uint32_t kept = u >> drop, rest = u & ((1u << drop) - 1), half = 1u << (drop - 1);
    if (x != x) return kept | 1u << (bits - 10); /* the fraction's first bit */
    return kept + (rest > half || (rest == half && (kept & 1u)));
}

void hop_pack(unsigned char *out, const float *x, int64_t count, int bits)
{
    assert(bits >= HOP_MIN_NUMBER_BITS && bits <= 32);
    uint64_t held = 0; /* bits not yet written, in the low end */
    int n = 0;
    for (int64_t i = 0; i < count; i++) {
        held = held << bits | code_of(x[i], bits);
        for (n += bits; n >= 8; n -= 8) *out++ = (unsigned char)(held >> (n - 8));
    }
    if (n > 0) *out = (unsigned char)(held << (8 - n));
}

void hop_unpack(float *x, const unsigned char *in, int64_t count, int bits)
{
    assert(bits >= HOP_MIN_NUMBER_BITS && bits <= 32);
    uint64_t held = 0;
    int n = 0;
    for (int64_t i = 0; i < count; i++) {
        for (; n < bits; n += 8) held = held << 8 | *in++;
        n -= bits;
        uint32_t u = (uint32_t)(held >> n) << (32 - bits);
        memcpy(&x[i], &u, sizeof u);
    }
}
