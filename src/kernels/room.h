/* room.h - what the kernels' files share: the table that dispatch chooses, and the block sizes that the
 * entry points (which reserve scratch and split work) and the bodies (which use them) must agree on.
 *
 * A table entry does one task in the calling thread. Splitting work over the pool is done by the entry
 * points. A task may be larger or smaller for other numbers of threads, but it computes whole elements of the
 * output, and each element's sum in an order that depends on the shapes only: so bits never depend on the
 * number of threads. */
#ifndef HOP_KERNELS_ROOM_H
#define HOP_KERNELS_ROOM_H

#include <hopbound/arith.h>
#include <hopbound/kernels.h>
#include <hopbound/scans.h>

#include <assert.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HOP__HAVE_X86 1 /* isa_avx2.c and isa_avx512.c are compiled in */
#endif

enum {
    HOP__PANEL_MAX = 32,   /* the widest panel of any body: 2 registers of 16 lanes */
    HOP__ATTN_ROWS = 128,  /* query rows of one forward task; every panel width divides it */
    HOP__BACK_ROWS = 64,   /* query rows of one block of the backward pass; likewise */
    HOP__ATTN_KEYS = 96,   /* keys between two rescalings; >= HOP_ATTN_BLOCK, a multiple of 4, 6 and 12 */
    HOP__BACK_KEYS = 32,   /* keys of one block of the backward pass: as many as a panel has rows, at most */
    HOP__ATTN_FEW = 3,     /* up to so many query rows are done row by row */
    HOP__GEMM_ROWS = 264,  /* rows of one product task: a block of a[264, 256] stays in a 512 KB L2 */
    HOP__GEMM_COLS = 512,  /* columns of one product task */
    HOP__GEMM_DEPTH = 256, /* terms summed in registers before c is touched */
    HOP__SCAN_CHUNK = HOP_ARITH_CHUNK, /* tokens of a chunk; a multiple of HOP__PANEL_MAX */
    HOP__SCAN_HEADS = 4,               /* heads that a task of a scan takes together, at most */
    HOP__SCAN_BACK = 16, /* tokens between the states that backward keeps: 16 states of 64 x 64 fit in L2 */
    HOP__AHEAD = 8,      /* arrays that are asked for while tiles are computed */
    HOP__SELECT_WIDTH = 32, /* channels of one task of the selective scan */
    HOP__REF_COLUMNS = 16   /* columns of a state that ref takes together */
};

/* Rows row .. row + rows - 1 of one head. `scratch` belongs to the worker. `partial`: o receives partial
 * softmaxes, [queries, heads, value_dim + 2], and no sum is divided by. */
typedef struct hop__attn_task {
    const hop_attn *c;
    float *o, *lse; /* lse may be NULL */
    bool partial;
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

typedef enum hop__scan_kind { HOP__DECAY, HOP__DELTA, HOP__DPLR, HOP__MLSTM } hop__scan_kind;

/* Heads head .. head + heads - 1 of a scan. They share nothing but the worker's time: a chunk of each in turn
 * uses what one page of the inputs has for all of them. */
typedef struct hop__scan_task {
    hop__scan_kind kind;
    const hop_scan *c;
    const hop_scan_in *in;
    float *o, *state; /* state may be NULL */
    float *scratch;
    int64_t head, heads; /* heads <= HOP__SCAN_HEADS */
} hop__scan_task;

/* All gradients of one key head and of the value heads that share it. */
typedef struct hop__scan_back {
    hop__scan_kind kind;
    const hop_scan *c;
    const hop_scan_in *in;
    const hop_scan_grad *g;
    const float *state;
    float *scratch;
    int64_t key_head;
} hop__scan_back;

/* Channels first .. first + count - 1 of the selective scan, count <= HOP__SELECT_WIDTH. Backward sums dB and
 * dC over channels, so a task writes its part [tokens, 2 states]: dB, then dC. */
typedef struct hop__select_task {
    const hop_selective *c;
    const hop_selective_in *in;
    const hop_selective_grad *g; /* backward only */
    float *o, *state;
    const float *start; /* backward: the initial state, may be NULL */
    float *scratch, *part;
    int64_t first, count;
} hop__select_task;

typedef struct hop__diagonal {
    int64_t tokens, width, stride;
} hop__diagonal;

typedef struct hop__norm {
    const float *weight, *bias; /* bias: layer norm only, may be NULL */
    int64_t rows, dim;
    float eps;
} hop__norm;

typedef struct hop__kernels {
    const char *name;
    hop_isa isa;
    void (*gemm)(const hop_product *p); /* m <= HOP__GEMM_ROWS */
    void (*panels)(float *to, hop_mat b, int64_t k, int64_t n);
    int64_t panel; /* columns of a panel; 0: it has none */
    /* Half as wide, for columns that do not fill a register (see multiply); NULL: there is none. */
    const struct hop__kernels *narrow;
    /* y[out] = w[out, in] x[in] + bias */
    void (*matvec)(float *y, const float *x, const float *w, const float *bias, int64_t out, int64_t in);
    void (*attn_forward)(const hop__attn_task *t);
    void (*attn_backward)(const hop__attn_back *t);
    void (*vexp)(float *y, const float *x, int64_t n);
    void (*relu)(float *y, const float *x, int64_t n);
    void (*gelu)(float *y, const float *x, int64_t n);
    void (*gelu_keep)(float *y, float *slope, const float *x, int64_t n);
    void (*swiglu)(float *y, const float *gate, const float *up, int64_t n);
    void (*add)(float *y, const float *a, const float *b, int64_t n);
    void (*mul_sum)(float *x, const float *by, float *sum, int64_t rows, int64_t width);
    void (*rmsnorm)(float *y, const float *x, const hop__norm *c);
    void (*layernorm)(float *y, const float *x, const hop__norm *c);
    void (*round_significand)(float *x, int64_t n, int bits);
    void (*scan_forward)(const hop__scan_task *t);
    void (*scan_backward)(const hop__scan_back *t);
    void (*select_forward)(const hop__select_task *t);
    void (*select_backward)(const hop__select_task *t);
    void (*diagonal)(float *h, const float *start, const float *a, const float *b, const hop__diagonal *c);
    void (*conv)(float *y, const float *past, const float *x, const float *w, const float *bias,
                 const hop_conv *c);
    void (*relu_back)(float *dx, float *y, const float *x, const float *dy, int64_t n);
    void (*gelu_back)(float *dx, float *y, const float *x, const float *dy, int64_t n);
    void (*silu_back)(float *dx, float *y, const float *x, const float *dy, int64_t n);
    void (*swiglu_back)(const hop_swiglu_grad *g, const float *gate, const float *up, const float *dy,
                        int64_t n);
    void (*rmsnorm_back)(const hop_norm_grad *g, const float *x, const hop__norm *c);
    void (*layernorm_back)(const hop_norm_grad *g, const float *x, const hop__norm *c);
    void (*diagonal_back)(const hop_diagonal_grad *g, const float *start, const float *a, const float *h,
                          const hop__diagonal *c);
    void (*conv_back)(const hop_conv_grad *g, const float *past, const float *x, const float *w,
                      const float *bias, const hop_conv *c);
    double (*fma_loop)(int64_t rounds); /* returns the flops it did */
} hop__kernels;

extern const hop__kernels hop__kernels_ref, hop__kernels_scalar, hop__kernels_avx2, hop__kernels_avx512;

/* ref's scans and gradients, in files of their own. */
/* Floats of scratch for a strip of a state: no step program has more than 8 quantities along K and V, 16 along
 * K, 24 along V and 32 others; asserted where they are placed. */
static inline int64_t hop__ref_scan_floats(int64_t keys)
{
    return 2 * ((8 * keys + 24) * (HOP__REF_COLUMNS + 1) + 16 * keys + 32);
}
void hop__ref_scan_forward(const hop__scan_task *t);
void hop__ref_scan_backward(const hop__scan_back *t);
void hop__ref_select_forward(const hop__select_task *t);
void hop__ref_select_backward(const hop__select_task *t);
void hop__ref_diagonal(float *h, const float *start, const float *a, const float *b, const hop__diagonal *c);
void hop__ref_conv(float *y, const float *past, const float *x, const float *w, const float *bias,
                   const hop_conv *c);
void hop__ref_gelu_keep(float *y, float *slope, const float *x, int64_t n);
void hop__ref_relu_back(float *dx, float *y, const float *x, const float *dy, int64_t n);
void hop__ref_gelu_back(float *dx, float *y, const float *x, const float *dy, int64_t n);
void hop__ref_silu_back(float *dx, float *y, const float *x, const float *dy, int64_t n);
void hop__ref_swiglu_back(const hop_swiglu_grad *g, const float *gate, const float *up, const float *dy,
                          int64_t n);
void hop__ref_rmsnorm_back(const hop_norm_grad *g, const float *x, const hop__norm *c);
void hop__ref_layernorm_back(const hop_norm_grad *g, const float *x, const hop__norm *c);
void hop__ref_diagonal_back(const hop_diagonal_grad *g, const float *start, const float *a, const float *h,
                            const hop__diagonal *c);
void hop__ref_conv_back(const hop_conv_grad *g, const float *past, const float *x, const float *w,
                        const float *bias, const hop_conv *c);

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
