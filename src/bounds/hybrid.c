/* An architecture as the theorems see it: full layers, and between them how many bits of state.
 *
 * A layer that has both kinds side by side counts as a full layer followed by a linear one. That is a machine
 * of at least its power: the full layer writes where the linear one does not read, so that both see the same
 * input as they do side by side, and what crosses a cut is the same. Whatever is impossible for the two in a
 * row is impossible for the layer. */
#include "room.h"

static void keep_largest(fmpz *most, int64_t a, int64_t b, int64_t c)
{
    fmpz_t product;
    fmpz_init_set_si(product, a);
    fmpz_mul_si(product, product, b);
    fmpz_mul_si(product, product, c);
    if (fmpz_cmp(product, most) > 0) fmpz_set(most, product);
    fmpz_clear(product);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_full(hop__hybrid *s, const hop_arch_layer *l, int64_t times)
{
    int64_t dim = larger(l->dim, l->reply_dim);
    s->full += times;
    s->heads = larger(s->heads, l->heads);
    s->dim = larger(s->dim, dim);
    s->bits = larger(s->bits, l->number_bits);
    keep_largest(&s->reply, l->heads, dim + 2, l->number_bits);
    keep_largest(&s->width, l->heads, dim, l->number_bits);
}

static void add_linear(hop__hybrid *s, const hop_arch_layer *l, int64_t times)
{
    if (l->state_bits == 0) return; /* it mixes no tokens */
    fmpz_t bits;
    fmpz_init_set_si(bits, l->state_bits);
    if (fmpz_cmp(bits, &s->largest) > 0) fmpz_set(&s->largest, bits);
    fmpz_mul_si(bits, bits, times);
    s->linear += times;
    s->bits = larger(s->bits, l->number_bits);
    fmpz_add(&s->total, &s->total, bits);
    if (s->full < HOP__GAPS) {
        s->layers[s->full] += times;
        fmpz_add(&s->state[s->full], &s->state[s->full], bits);
    }
    fmpz_clear(bits);
}

void hop__hybrid_init(hop__hybrid *s, const hop_arch *a)
{
    *s = (hop__hybrid){.heads = 1, .dim = 1, .bits = 1}; /* an fmpz of zero bits is 0 */
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        switch (l->kind) {
        case HOP_LAYER_FULL: add_full(s, l, l->repeat); break;
        case HOP_LAYER_LINEAR: add_linear(s, l, l->repeat); break;
        case HOP_LAYER_BOTH:
            for (int64_t k = 0; k < l->repeat && k < HOP__GAPS; k++) {
                add_full(s, l, 1);
                add_linear(s, l, 1);
            }
            if (l->repeat > HOP__GAPS) { /* no gap beyond is kept */
                add_full(s, l, l->repeat - HOP__GAPS);
                add_linear(s, l, l->repeat - HOP__GAPS);
            }
            break;
        case HOP_LAYER_OTHER: s->other += l->repeat; break;
        case HOP_LAYER_LOCAL: break;
        }
    }
    if (a->accumulators > 1) { /* what crosses a cut is all of them */
        fmpz_mul_si(&s->reply, &s->reply, a->accumulators);
        fmpz_mul_si(&s->width, &s->width, a->accumulators);
    }
}

void hop__hybrid_clear(hop__hybrid *s)
{
    for (int e = 0; e < HOP__GAPS; e++) fmpz_clear(&s->state[e]);
    fmpz_clear(&s->total);
    fmpz_clear(&s->largest);
    fmpz_clear(&s->reply);
    fmpz_clear(&s->width);
}
