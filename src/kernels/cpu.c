/* cpu.c - which tables exist, which one this CPU and the user allow, and which one is in use.
 *
 * Compiled without any -m flag: it runs before we know what the CPU has. The pointer below is the library's
 * only mutable global; it is set once, by whoever comes first, and readers need no lock. */
#include "room.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const hop__kernels *) in_use;

static const char *const names[HOP_ISA_COUNT] = {"ref", "scalar", "avx2", "avx512"};

const char *hop_isa_name(hop_isa isa)
{
    return (unsigned)isa < HOP_ISA_COUNT ? names[isa] : "unknown";
}

bool hop_isa_from_name(const char *name, hop_isa *out)
{
    for (int i = 0; name && i < HOP_ISA_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (hop_isa)i;
            return true;
        }
    }
    return false;
}

/* The table of `isa`, or NULL where it is not compiled in or must not be run. __builtin_cpu_supports asks the
 * operating system's XCR0, too. */
static const hop__kernels *table_of(hop_isa isa)
{
    switch (isa) {
    case HOP_ISA_REF: return &hop__kernels_ref;
    case HOP_ISA_SCALAR: return &hop__kernels_scalar;
#ifdef HOP__HAVE_X86
    case HOP_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &hop__kernels_avx2 : NULL;
    case HOP_ISA_AVX512: /* what isa_avx512.c is compiled with, no more */
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                       table_of(HOP_ISA_AVX2) /* its narrow columns */
                   ? &hop__kernels_avx512
                   : NULL;
#endif
    default: return NULL;
    }
}

bool hop_isa_available(hop_isa isa)
{
    return table_of(isa) != NULL;
}

hop_isa hop_isa_best(void)
{
    int isa = HOP_ISA_COUNT - 1;
    while (!hop_isa_available((hop_isa)isa)) isa--; /* ends: scalar is always there */
    return (hop_isa)isa;
}

hop_status hop_kernels_select(hop_isa isa, hop_error *err)
{
    const hop__kernels *t = table_of(isa);
    if (!t) return hop_fail(err, HOP_EUNKNOWN, "isa %s: not available on this machine", hop_isa_name(isa));
    hop__kernels_use(t);
    return HOP_OK;
}

void hop__kernels_use(const hop__kernels *t)
{
    atomic_store_explicit(&in_use, t, memory_order_release);
}

const hop__kernels *hop__kernels_get(void)
{
    const hop__kernels *t = atomic_load_explicit(&in_use, memory_order_acquire);
    if (t) return t;
    hop_isa isa = hop_isa_best(), wish;
    if (hop_isa_from_name(getenv("HOPBOUND_ISA"), &wish) && hop_isa_available(wish)) isa = wish;
    const hop__kernels *none = NULL;
    t = table_of(isa);
    /* Of two threads that come here at once, the first one's choice holds for both. */
    return atomic_compare_exchange_strong(&in_use, &none, t) ? t : none;
}

hop_isa hop_kernels_selected(void)
{
    return hop__kernels_get()->isa;
}
