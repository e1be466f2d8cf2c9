/* T5: one layer of (B,k)-sparse attention needs Hdp = Ω(B log n) for 2-Sum [YHLWL26, Theorem 1.2]. It is a
 * statement about another task, and its constant is not in it. So it never has a verdict on hops: what is
 * given is the comparison that it makes, for a constant of 1. */
#include "room.h"

static const hop_arch_layer *only_sparse(const hop_arch *a)
{
    const hop_arch_layer *found = NULL;
    for (int64_t i = 0; i < a->count; i++) {
        const hop_arch_layer *l = &a->layers[i];
        if (l->kind == HOP_LAYER_LOCAL) continue;
        if (found || l->kind != HOP_LAYER_OTHER || l->block < 1 || l->repeat != 1) return NULL;
        found = l;
    }
    return found;
}

void hop__t5(hop__case *c, hop_bound *b)
{
    const hop_arch_layer *l = only_sparse(c->q->arch);
    if (!hop__suppose(c, b, l != NULL, "one layer of (B,k)-sparse attention and no other mixer")) return;
    hop__suppose(c, b, true, "the task is 2-Sum, whatever hops were asked for");
    fmpz_t width;
    fmpz_init_set_si(width, l->heads);
    fmpz_mul_si(width, width, l->dim);
    fmpz_mul_si(width, width, l->number_bits);
    b->has = hop__say(c, "Hdp = %s", hop__say_integer(c, width));
    if (c->asked) {
        arb_t bits;
        arb_init(bits);
        hop__log2(bits, &c->n, 64);
        arb_mul_si(bits, bits, l->block, 64);
        b->needs =
            hop__say(c, "Hdp of order B log2 n = %.0f (2-Sum)", arf_get_d(arb_midref(bits), ARF_RND_NEAR));
        b->has_bits = fmpz_get_d(width), b->needs_bits = arf_get_d(arb_midref(bits), ARF_RND_NEAR);
        arb_clear(bits);
    } else {
        b->needs = hop__say(c, "Hdp of order B log2 n, B = %lld (2-Sum)", (long long)l->block);
    }
    b->why = "silent on hops: it is about 2-Sum, and its constant is not stated";
    fmpz_clear(width);
}
