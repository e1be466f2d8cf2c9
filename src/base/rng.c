/* Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011): a
 * bijection of a 128-bit counter under a 64-bit key. The counter holds (block number, stream), the key is the
 * seed, so any number of any stream can be had without drawing the ones before it. */
#include <hopbound/base.h>

#include <math.h>

static void philox(uint32_t out[4], uint64_t block, uint64_t stream, uint64_t seed)
{
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)p1;
        c[3] = (uint32_t)p0;
        c[0] = n0;
        c[2] = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

void hop_rng_init(hop_rng *r, uint64_t seed, uint64_t stream)
{
    *r = (hop_rng){.seed = seed, .stream = stream, .used = 4};
}

uint32_t hop_rng_u32(hop_rng *r)
{
    if (r->used == 4) {
        philox(r->block, r->counter++, r->stream, r->seed);
        r->used = 0;
    }
    return r->block[r->used++];
}

uint64_t hop_rng_u64(hop_rng *r)
{
    uint64_t low = hop_rng_u32(r);
    return low | (uint64_t)hop_rng_u32(r) << 32;
}

uint64_t hop_rng_below(hop_rng *r, uint64_t n)
{
    /* Multiply-shift for 32-bit ranges, with rejection of the few products that would bias it (Lemire). */
    if (n <= UINT32_MAX) {
        uint32_t bound = (uint32_t)n, floor = bound ? (uint32_t)(-bound) % bound : 0;
        uint64_t p;
        do p = (uint64_t)hop_rng_u32(r) * bound;
        while ((uint32_t)p < floor);
        return p >> 32;
    }
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do x = hop_rng_u64(r);
    while (x >= limit);
    return x % n;
}

double hop_rng_uniform(hop_rng *r)
{
    return (double)(hop_rng_u64(r) >> 11) * 0x1p-53;
}

double hop_rng_normal(hop_rng *r)
{
    /* Box-Muller; 1 - u keeps the logarithm finite. */
    double u = hop_rng_uniform(r), v = hop_rng_uniform(r);
    return sqrt(-2.0 * log(1.0 - u)) * cos(6.283185307179586 * v);
}
