/* room.h - what the kernels' files share: the table that dispatch chooses, and the block sizes that the
 * entry points (which reserve scratch and split work) and the bodies (which use them) must agree on.
 *
 * A table entry does one task in the calling thread. Splitting work over the pool is done by the entry
 * points, by sizes that depend on the shapes only: so bits never depend on the number of threads. */
#ifndef HOP_KERNELS_ROOM_H
#define HOP_KERNELS_ROOM_H

#include <hopbound/kernels.h>

#include <assert.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HOP__HAVE_X86 1 /* isa_avx2.c and isa_avx512.c are compiled in */
#endif

enum {
    HOP__PANEL_MAX = 32,  /* the widest panel of any body: 2 registers of 16 lanes */
    HOP__ATTN_ROWS = 128, /* query rows of one forward task; every panel width divides it */
    HOP__BACK_ROWS = 64,  /* query rows of one block of the backward pass; likewise */
    HOP__ATTN_KEYS = 96,  /* keys between two rescalings; >= HOP_ATTN_BLOCK, a multiple of 4, 6 and 12 */
    HOP__BACK_KEYS = 48,  /* keys of one block of the backward pass */
    HOP__ATTN_FEW = 3,    /* up to so many query rows are done row by row */
    HOP__GEMM_ROWS = 240, /* rows of one product task: a block of a[240, 256] stays in a 512 KB L2 */
    HOP__GEMM_COLS = 512, /* columns of one product task */
    HOP__GEMM_DEPTH = 256 /* terms summed in registers before c is touched */
};

/* Rows row .. row + rows - 1 of one head. `scratch` belongs to the worker. */
typedef struct hop__attn_task {
    const hop_attn *c;
    float *o, *lse; /* lse may be NULL */
    const float *q, *k, *v;
    float *scratch;
    int64_t head, row, rows;
} hop__attn_task;

/* All gradients that belong to one key head: its dk, dv, and dq of the query heads that share it. */
typedef struct hop__attn_back {
    const hop_attn *c;
    const hop_attn_grad *g;
    const float *o, *lse, *q, *k, *v;
    float *scratch;
    int64_t kv_head;
} hop__attn_back;

typedef struct hop__norm {
    const float *weight, *bias; /* bias: layer norm only, may be NULL */
    int64_t rows, dim;
    float eps;
} hop__norm;

typedef struct hop__kernels {
    const char *name;
    hop_isa isa;
    void (*gemm)(float *c, int64_t ldc, hop_mat a, hop_mat b, const int64_t mnk[3], bool accumulate);
    /* y[out] = w[out, in] x[in] + bias */
    void (*matvec)(float *y, const float *x, const float *w, const float *bias, int64_t out, int64_t in);
    void (*attn_forward)(const hop__attn_task *t);
    void (*attn_backward)(const hop__attn_back *t);
    void (*vexp)(float *y, const float *x, int64_t n);
    void (*relu)(float *y, const float *x, int64_t n);
    void (*gelu)(float *y, const float *x, int64_t n);
    void (*swiglu)(float *y, const float *gate, const float *up, int64_t n);
    void (*add)(float *y, const float *a, const float *b, int64_t n);
    void (*rmsnorm)(float *y, const float *x, const hop__norm *c);
    void (*layernorm)(float *y, const float *x, const hop__norm *c);
    void (*cut)(float *x, int64_t n, int bits);
    double (*fma_loop)(int64_t rounds); /* returns the flops it did */
} hop__kernels;

extern const hop__kernels hop__kernels_ref, hop__kernels_scalar, hop__kernels_avx2, hop__kernels_avx512;

/* The table in use; chosen at the first call if nobody chose before. */
const hop__kernels *hop__kernels_get(void);
/* Any table, also one that only tests link. */
void hop__kernels_use(const hop__kernels *t);

/* The keys that the query row at position `pos` sees: [*lo, *hi). */
static inline void hop__attn_range(const hop_attn *c, int64_t pos, int64_t *lo, int64_t *hi)
{
    *lo = !c->bidirectional && c->window > 0 && pos + 1 > c->window ? pos + 1 - c->window : 0;
    *hi = c->bidirectional ? c->tokens : pos + 1;
}

static inline int64_t hop__round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}
static inline int64_t hop__min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t hop__max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
