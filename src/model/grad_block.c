/* grad_block.c - what a block does to each token alone, forward and backward, on rows that lie close
 * together. */
#include "grad.h"

void hop__product_backward(const hop_grad *g, float *dx, bool add, const float *dy, const float *x,
                           const float *w, float *dblock, const int64_t rows_out_in[3])
{
    int64_t rows = rows_out_in[0], out = rows_out_in[1], in = rows_out_in[2];
    const hop_product back = {.c = dx,
                              .ldc = in,
                              .a = {dy, out, 1},
                              .b = {w, in, 1},
                              .panels = hop__packed_backward(g->packed, w, in),
                              .m = rows,
                              .n = in,
                              .k = out,
                              .from = {add ? dx : NULL, in}};
    hop_multiply(&back, NULL);
    hop_gemm(dblock + (w - g->model->data), in, (hop_mat){dy, 1, out}, (hop_mat){x, in, 1}, out, in, rows,
             true, NULL);
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

/* y = plus + x wᵀ + bias. */
static void project(const hop_grad *g, float *y, const float *plus, const float *x, const float *w,
                    const float *bias, const int64_t rows_out_in[3])
{
    const int64_t out = rows_out_in[1], in = rows_out_in[2];
    hop_linear_onto(y, plus, x, &(hop_weights){w, hop__packed_forward(g->packed, w, out), bias, out, in},
                    rows_out_in[0], NULL);
}

void hop__mlp_forward(const hop_grad *g, const hop__block *l, const hop__mlp_rows *r, float *out,
                      int64_t rows)
{
    const hop_model *m = g->model;
    const hop_config *c = &m->layout->config;
    const int64_t up[] = {rows, c->mlp_hidden, c->d_model}, down[] = {rows, c->d_model, c->mlp_hidden};
    const int64_t n = rows * c->mlp_hidden;
    const float *in = hop__norm(m, r->normed, r->mid, l->norm2, l->norm2_bias, rows, 0, NULL);
    float *post = c->mlp == HOP_MLP_GELU ? r->post : g->work.post;
    project(g, r->up, NULL, in, l->up, l->up_bias, up);
    switch (c->mlp) {
    case HOP_MLP_RELU: hop_relu(post, r->up, n); break;
    case HOP_MLP_GELU: hop_gelu_keep(post, r->up, r->up, n); break;
    case HOP_MLP_SWIGLU:
        project(g, r->gate, NULL, in, l->gate, NULL, up);
        hop_swiglu(post, r->gate, r->up, n);
        break;
    case HOP_MLP_NONE: break;
    }
    project(g, out, r->mid, post, l->down, l->down_bias, down);
}

void hop__mlp_backward(const hop_grad *g, const hop__block *l, const hop__mlp_rows *r, float *dx,
                       int64_t rows, float *dblock)
{
    const hop_model *m = g->model;
    const hop__grad_work *work = &g->work;
    const hop_config *c = &m->layout->config;
    const int64_t d = c->d_model, hidden = c->mlp_hidden, n = rows * hidden;
    if (c->mlp == HOP_MLP_NONE) return;
    const bool gelu = c->mlp == HOP_MLP_GELU;
    const float *in = c->norm == HOP_NORM_NONE ? r->mid : r->normed;
    float *dup = work->dup, *dgate = work->dgate, *dnormed = work->row[2],
          *post = gelu ? r->post : work->post;
    float *dup_bias = l->up_bias ? dblock + (l->up_bias - m->data) : NULL,
          *ddown_bias = l->down_bias ? dblock + (l->down_bias - m->data) : NULL;
    const hop_product down = {.c = dup,
                              .ldc = hidden,
                              .a = {dx, d, 1},
                              .b = {l->down, hidden, 1},
                              .panels = hop__packed_backward(g->packed, l->down, hidden),
                              .m = rows,
                              .n = hidden,
                              .k = d,
                              .times = {gelu ? r->up : NULL, hidden}, /* the slopes */
                              .sum = gelu ? dup_bias : NULL};
    hop_multiply(&down, NULL);
    if (c->mlp == HOP_MLP_RELU) {
        hop_relu_backward(dup, post, r->up, dup, n);
        hop_mul_sum(dup, NULL, dup_bias, rows, hidden);
    }
    if (c->mlp == HOP_MLP_SWIGLU)
        hop_swiglu_backward(&(hop_swiglu_grad){dgate, dup, post}, r->gate, r->up, dup, n);
    hop_gemm(dblock + (l->down - m->data), hidden, (hop_mat){dx, 1, d}, (hop_mat){post, hidden, 1}, d, hidden,
             rows, true, NULL);
    hop_mul_sum(dx, NULL, ddown_bias, rows, d);
    hop__product_backward(g, dnormed, false, dup, in, l->up, dblock, (const int64_t[]){rows, hidden, d});
    if (c->mlp == HOP_MLP_SWIGLU)
        hop__product_backward(g, dnormed, true, dgate, in, l->gate, dblock,
                              (const int64_t[]){rows, hidden, d});
    hop__norm_backward(m, dx, dnormed, r->mid, l->norm2, l->norm2_bias, rows, dblock);
}
