/* XXH64 (Y. Collet, https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md): four lanes that do not wait for
 * each other, several gigabytes a second. */
#include <hopbound/base.h>

#include <string.h>

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* `bytes` of them, the first one lowest, on any machine; compilers make one load of it. */
static uint64_t word(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static uint64_t mix(uint64_t lane, uint64_t x)
{
    return rotate(lane + x * P2, 31) * P1;
}

static void take(hop_hash *h, const unsigned char *p)
{
    for (int i = 0; i < 4; i++) h->lanes[i] = mix(h->lanes[i], word(p + 8 * i, 8));
}

void hop_hash_init(hop_hash *h)
{
    *h = (hop_hash){.lanes = {P1 + P2, P2, 0, UINT64_C(0) - P1}};
}

void hop_hash_add(hop_hash *h, const void *data, size_t bytes)
{
    const unsigned char *p = data, *end = p + bytes;
    size_t held = h->total % sizeof h->rest;
    h->total += bytes;
    if (held > 0) {
        size_t n = sizeof h->rest - held < bytes ? sizeof h->rest - held : bytes;
        memcpy(h->rest + held, p, n);
        p += n;
        if (held + n < sizeof h->rest) return;
        take(h, h->rest);
    }
    for (; (size_t)(end - p) >= sizeof h->rest; p += sizeof h->rest) take(h, p);
    if (p < end) memcpy(h->rest, p, (size_t)(end - p));
}

uint64_t hop_hash_end(const hop_hash *h)
{
    static const int turn[4] = {1, 7, 12, 18};
    uint64_t x = P5;
    if (h->total >= sizeof h->rest) {
        x = 0;
        for (int i = 0; i < 4; i++) x += rotate(h->lanes[i], turn[i]);
        for (int i = 0; i < 4; i++) x = (x ^ mix(0, h->lanes[i])) * P1 + P4;
    }
    x += h->total;
    const unsigned char *p = h->rest, *end = p + h->total % sizeof h->rest;
    for (; end - p >= 8; p += 8) x = rotate(x ^ mix(0, word(p, 8)), 27) * P1 + P4;
    for (; end - p >= 4; p += 4) x = rotate(x ^ word(p, 4) * P1, 23) * P2 + P3;
    for (; p < end; p++) x = rotate(x ^ *p * P5, 11) * P1;
    x = (x ^ x >> 33) * P2;
    x = (x ^ x >> 29) * P3;
    return x ^ x >> 32;
}
