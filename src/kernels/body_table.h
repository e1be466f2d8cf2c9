/* body_table.h - the bodies, in order, and the table they fill. Included once by each isa_*.c. */
#include <hopbound/arith_trace.h>

#include "body_vec.h"
#include "body_tile.h"
#include "body_gemm.h"
#include "body_attn.h"
#include "body_attn_round.h"
#include "body_attn_row.h"
#include "body_attn_back.h"
#include "body_elem.h"
#include "body_scan.h"
#include "body_scan_step.h"
#include "body_scan_gates.h"
#include "body_scan_trace.h"
#include "body_scan_keys.h"
#include "body_scan_steep.h"
#include "body_scan_chunk.h"
#include "body_scan_back.h"
#include "body_scan_chain.h"
#include "body_scan_grad.h"
#include "body_selective.h"
#include "body_selective_back.h"
#include "body_back.h"

#ifndef TABLE_NARROW
#define TABLE_NARROW NULL
#endif

extern const hop__kernels TABLE;

const hop__kernels TABLE = {
    .name = TABLE_NAME,
    .isa = TABLE_ISA,
    .gemm = gemm,
    .panels = panels,
    .panel = NR,
    .narrow = TABLE_NARROW,
    .matvec = matvec,
    .attn_forward = attn_forward,
    .attn_backward = attn_backward,
    .vexp = vexp,
    .relu = relu,
    .gelu = gelu,
    .gelu_keep = gelu_keep,
    .swiglu = swiglu,
    .add = add,
    .mul_sum = mul_sum,
    .rmsnorm = rmsnorm,
    .layernorm = layernorm,
    .round_significand = round_significand,
    .scan_forward = scan_forward,
    .scan_backward = scan_backward,
    .select_forward = select_forward,
    .select_backward = select_backward,
    .diagonal = diagonal,
    .conv = conv,
    .relu_back = relu_back,
    .gelu_back = gelu_back,
    .silu_back = silu_back,
    .swiglu_back = swiglu_back,
    .rmsnorm_back = rmsnorm_back,
    .layernorm_back = layernorm_back,
    .diagonal_back = diagonal_back,
    .conv_back = conv_back,
    .fma_loop = fma_loop,
};
