/* core selective: Mamba's scan over x, delta [B,T,D] with A [D,N], B, C [B,T,N] and, if there is one, D [D].
 */
#include "core.h"

enum { X, DELTA, A, B, C, SKIP };

static hop_selective config_of(const core_run *r)
{
    int64_t width = r->dims.of['D'], states = r->dims.of['N'];
    return (hop_selective){.tokens = r->tokens,
                           .width = width,
                           .states = states,
                           .x_stride = width,
                           .delta_stride = width,
                           .b_stride = states,
                           .c_stride = states,
                           .o_stride = width};
}

static hop_selective_in inputs(const core_run *r)
{
    return (hop_selective_in){
        .x = r->in[X], .delta = r->in[DELTA], .A = r->in[A], .B = r->in[B], .C = r->in[C], .D = r->in[SKIP]};
}

static size_t scratch(const core_run *r, int threads)
{
    hop_selective c = config_of(r);
    return hop_selective_backward_scratch(&c, threads);
}

static void forward(const core_run *r)
{
    hop_selective c = config_of(r);
    hop_selective_in in = inputs(r);
    hop_selective_forward(r->o, r->state, &in, &c, r->scratch, r->pool);
}

static void backward(const core_run *r)
{
    hop_selective c = config_of(r);
    hop_selective_in in = inputs(r);
    hop_selective_grad g = {.d_o = r->do_t,
                            .dx = r->grad[X],
                            .ddelta = r->grad[DELTA],
                            .dA = r->grad[A],
                            .dB = r->grad[B],
                            .dC = r->grad[C],
                            .dD = r->grad[SKIP],
                            .d_state = r->d_state};
    hop_selective_backward(&g, r->start, &in, &c, r->scratch, r->pool);
}

hop_status hop__core_selective(core_job *job, hop_error *err)
{
    static const core_kind kind = {
        .inputs = {{"x", {"BTD"}, "dx"},
                   {"delta", {"BTD"}, "ddelta"},
                   {"A", {"DN"}, "dA"},
                   {"B", {"BTN"}, "dB"},
                   {"C", {"BTN"}, "dC"},
                   {"D", {"D"}, "dD"}},
        .needed = 5,
        .states = {{{"initial_state", {"BDN"}, "dinitial_state"}, "final_state"}},
        .output = "BTD",
        .unscaled = true,
        .scratch = scratch,
        .forward = forward,
        .backward = backward,
    };
    return hop__core_recurrence(job, &kind, err);
}
