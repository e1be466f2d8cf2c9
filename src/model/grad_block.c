/* grad_block.c - what a block does to each token alone, forward and backward, on rows that lie close
 * together. */
#include "grad.h"

void hop__product_backward(float *dx, bool add, const float *dy, const float *x, const float *w, float *dw,
                           const int64_t rows_out_in[3])
{
    int64_t rows = rows_out_in[0], out = rows_out_in[1], in = rows_out_in[2];
    hop_gemm(dx, in, (hop_mat){dy, out, 1}, (hop_mat){w, in, 1}, rows, in, out, add, NULL);
    hop_gemm(dw, in, (hop_mat){dy, 1, out}, (hop_mat){x, in, 1}, out, in, rows, true, NULL);
}

void hop__norm_backward(const hop_model *m, float *dx, const float *dy, const float *x, const float *weight,
                        const float *bias, int64_t rows, float *dblock)
{
    const hop_config *c = &m->layout->config;
    if (c->norm == HOP_NORM_NONE) {
        hop_add(dx, dx, dy, rows * c->d_model);
        return;
    }
    const hop_norm_grad g = {.dy = dy,
                             .dx = dx,
                             .dweight = dblock + (weight - m->data),
                             .dbias = bias ? dblock + (bias - m->data) : NULL,
                             .add = true};
    (c->norm == HOP_NORM_RMS ? hop_rmsnorm_backward : hop_layernorm_backward)(&g, x, weight, rows, c->d_model,
                                                                              (float)c->norm_eps);
}

void hop__mlp_forward(const hop_model *m, const hop__layer *l, const hop__mlp_rows *r,
                      const hop__grad_work *work, float *out, const float *x, const float *y, int64_t rows)
{
    const hop_config *c = &m->layout->config;
    const int64_t d = c->d_model, hidden = c->mlp_hidden;
    hop_add(c->mlp == HOP_MLP_NONE ? out : r->mid, x, y, rows * d);
    if (c->mlp == HOP_MLP_NONE) return;
    const float *in = hop__norm(m, r->normed, r->mid, l->norm2, l->norm2_bias, rows, 0, NULL);
    float *post = c->mlp == HOP_MLP_GELU ? r->post : work->post;
    hop_linear(r->up, in, l->up, l->up_bias, rows, hidden, d, NULL);
    switch (c->mlp) {
    case HOP_MLP_RELU: hop_relu(post, r->up, rows * hidden); break;
    case HOP_MLP_GELU: hop_gelu_keep(post, r->up, r->up, rows * hidden); break;
    case HOP_MLP_SWIGLU:
        hop_linear(r->gate, in, l->gate, NULL, rows, hidden, d, NULL);
        hop_swiglu(post, r->gate, r->up, rows * hidden);
        break;
    case HOP_MLP_NONE: break;
    }
    hop_linear(work->row[2], post, l->down, l->down_bias, rows, d, hidden, NULL);
    hop_add(out, r->mid, work->row[2], rows * d);
}

void hop__mlp_backward(const hop_model *m, const hop__layer *l, const hop__mlp_rows *r,
                       const hop__grad_work *work, float *dx, int64_t rows, float *dblock)
{
    const hop_config *c = &m->layout->config;
    const int64_t d = c->d_model, hidden = c->mlp_hidden, n = rows * hidden;
    if (c->mlp == HOP_MLP_NONE) return;
    const float *in = c->norm == HOP_NORM_NONE ? r->mid : r->normed, *slope = NULL;
    float *dup = work->dup, *dgate = work->dgate, *dnormed = work->row[2], *post = work->post;
    float *dup_bias = l->up_bias ? dblock + (l->up_bias - m->data) : NULL,
          *ddown_bias = l->down_bias ? dblock + (l->down_bias - m->data) : NULL;
    hop_gemm(dup, hidden, (hop_mat){dx, d, 1}, (hop_mat){l->down, hidden, 1}, rows, hidden, d, false, NULL);
    switch (c->mlp) {
    case HOP_MLP_RELU: hop_relu_backward(dup, post, r->up, dup, n); break;
    case HOP_MLP_GELU: slope = r->up, post = r->post; break;
    case HOP_MLP_SWIGLU:
        hop_swiglu_backward(&(hop_swiglu_grad){dgate, dup, post}, r->gate, r->up, dup, n);
        break;
    case HOP_MLP_NONE: break;
    }
    hop_mul_sum(dup, slope, dup_bias, rows, hidden);
    hop_gemm(dblock + (l->down - m->data), hidden, (hop_mat){dx, 1, d}, (hop_mat){post, hidden, 1}, d, hidden,
             rows, true, NULL);
    hop_mul_sum(dx, NULL, ddown_bias, rows, d);
    hop__product_backward(dnormed, false, dup, in, l->up, dblock + (l->up - m->data),
                          (const int64_t[]){rows, hidden, d});
    if (c->mlp == HOP_MLP_SWIGLU)
        hop__product_backward(dnormed, true, dgate, in, l->gate, dblock + (l->gate - m->data),
                              (const int64_t[]){rows, hidden, d});
    hop__norm_backward(m, dx, dnormed, r->mid, l->norm2, l->norm2_bias, rows, dblock);
}
