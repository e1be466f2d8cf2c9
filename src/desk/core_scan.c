/* core decay, delta, dplr, mlstm: the scans over q, k [B,T,G,K] and v [B,T,H,V]; G key heads, H heads in all.
 */
#include "core.h"

#include <string.h>

#define Q_SPEC              \
    {                       \
        "q", {"BTGK"}, "dq" \
    }
#define K_SPEC              \
    {                       \
        "k", {"BTGK"}, "dk" \
    }
#define V_SPEC              \
    {                       \
        "v", {"BTHV"}, "dv" \
    }
#define G_SPEC                          \
    {                                   \
        "g", {"H", "BTH", "BTHK"}, "dg" \
    }
#define HEAD_SPEC(x)      \
    {                     \
        x, {"BTH"}, "d" x \
    }
#define KEY_SPEC(x)        \
    {                      \
        x, {"BTHK"}, "d" x \
    }
#define MATRIX_STATE                                                 \
    {                                                                \
        {"initial_state", {"BHKV"}, "dinitial_state"}, "final_state" \
    }

enum { Q, K, V }; /* the inputs that all have, in this order; the others stand where their kind lists them */

static hop_status check_heads(core_run *r, hop_error *err)
{
    int64_t heads = r->dims.of['H'], key_heads = r->dims.of['G'];
    if (heads % key_heads != 0)
        return hop_fail(err, HOP_ESHAPE, "v: %lld heads are no multiple of k's %lld", (long long)heads,
                        (long long)key_heads);
    return HOP_OK;
}

static hop_scan config_of(const core_run *r)
{
    const int64_t *d = r->dims.of;
    return (hop_scan){.tokens = r->tokens,
                      .heads = d['H'],
                      .key_heads = d['G'],
                      .key_dim = d['K'],
                      .value_dim = d['V'],
                      .q_stride = d['G'] * d['K'],
                      .k_stride = d['G'] * d['K'],
                      .v_stride = d['H'] * d['V'],
                      .o_stride = d['H'] * d['V'],
                      .gate_stride = d['H'],
                      .beta_stride = d['H'],
                      .scale = r->scale,
                      .form = r->form};
}

/* The gate is input number `g`. */
static hop_scan gated_config(const core_run *r, int g)
{
    hop_scan c = config_of(r);
    const core_tensor *t = &r->inputs[g];
    if (!t->given) return c;
    c.gate = strcmp(t->shape, "H") == 0     ? HOP_GATE_HEAD
             : strcmp(t->shape, "BTH") == 0 ? HOP_GATE_TOKEN
                                            : HOP_GATE_KEY;
    if (c.gate == HOP_GATE_KEY) c.gate_stride = c.heads * c.key_dim;
    return c;
}

static size_t scratch(const core_run *r, int threads)
{
    hop_scan c = config_of(r);
    return hop_scan_backward_scratch(&c, threads);
}

/* ---- decay ---------------------------------------------------------------------------------- */

enum { DECAY_G = V + 1, DECAY_U };

static hop_scan_in decay_in(const core_run *r)
{
    return (hop_scan_in){
        .q = r->in[Q], .k = r->in[K], .v = r->in[V], .g = r->in[DECAY_G], .u = r->in[DECAY_U]};
}

static void decay_forward(const core_run *r)
{
    hop_scan c = gated_config(r, DECAY_G);
    hop_scan_in in = decay_in(r);
    hop_decay_forward(r->o, r->state, &in, &c, r->scratch, r->pool);
}

static void decay_backward(const core_run *r)
{
    hop_scan c = gated_config(r, DECAY_G);
    hop_scan_in in = decay_in(r);
    hop_scan_grad g = {.d_o = r->do_t,
                       .dq = r->grad[Q],
                       .dk = r->grad[K],
                       .dv = r->grad[V],
                       .dg = r->grad[DECAY_G],
                       .du = r->grad[DECAY_U],
                       .d_state = r->d_state};
    hop_decay_backward(&g, r->start, &in, &c, r->scratch, r->pool);
}

hop_status hop__core_decay(core_job *job, hop_error *err)
{
    static const core_kind kind = {
        .inputs = {Q_SPEC, K_SPEC, V_SPEC, G_SPEC, {"u", {"HK"}, "du"}},
        .needed = 3,
        .states = {MATRIX_STATE},
        .output = "BTHV",
        .check = check_heads,
        .scratch = scratch,
        .forward = decay_forward,
        .backward = decay_backward,
    };
    return hop__core_recurrence(job, &kind, err);
}

/* ---- delta ---------------------------------------------------------------------------------- */

enum { DELTA_BETA = V + 1, DELTA_G };

static hop_scan_in delta_in(const core_run *r)
{
    return (hop_scan_in){
        .q = r->in[Q], .k = r->in[K], .v = r->in[V], .g = r->in[DELTA_G], .beta = r->in[DELTA_BETA]};
}

static void delta_forward(const core_run *r)
{
    hop_scan c = gated_config(r, DELTA_G);
    hop_scan_in in = delta_in(r);
    hop_delta_forward(r->o, r->state, &in, &c, r->scratch, r->pool);
}

static void delta_backward(const core_run *r)
{
    hop_scan c = gated_config(r, DELTA_G);
    hop_scan_in in = delta_in(r);
    hop_scan_grad g = {.d_o = r->do_t,
                       .dq = r->grad[Q],
                       .dk = r->grad[K],
                       .dv = r->grad[V],
                       .dg = r->grad[DELTA_G],
                       .dbeta = r->grad[DELTA_BETA],
                       .d_state = r->d_state};
    hop_delta_backward(&g, r->start, &in, &c, r->scratch, r->pool);
}

hop_status hop__core_delta(core_job *job, hop_error *err)
{
    static const core_kind kind = {
        .inputs = {Q_SPEC, K_SPEC, V_SPEC, HEAD_SPEC("beta"), G_SPEC},
        .needed = 4,
        .states = {MATRIX_STATE},
        .output = "BTHV",
        .check = check_heads,
        .scratch = scratch,
        .forward = delta_forward,
        .backward = delta_backward,
    };
    return hop__core_recurrence(job, &kind, err);
}

/* ---- dplr ----------------------------------------------------------------------------------- */

enum { DPLR_A = V + 1, DPLR_B, DPLR_G };

/* Every head has a key of its own, and the gate is one for every element of it. */
static hop_status dplr_check(core_run *r, hop_error *err)
{
    if (r->dims.of['H'] != r->dims.of['G'])
        return hop_fail(err, HOP_ESHAPE, "v: %lld heads where k has %lld", (long long)r->dims.of['H'],
                        (long long)r->dims.of['G']);
    core_tensor *g = &r->inputs[DPLR_G];
    return g->given && strcmp(g->given, "BTHK") != 0 ? hop__core_expand(g, "BTHK", &r->dims, err) : HOP_OK;
}

static hop_scan_in dplr_in(const core_run *r)
{
    return (hop_scan_in){.q = r->in[Q],
                         .k = r->in[K],
                         .v = r->in[V],
                         .a = r->in[DPLR_A],
                         .b = r->in[DPLR_B],
                         .g = r->in[DPLR_G]};
}

static void dplr_forward(const core_run *r)
{
    hop_scan c = gated_config(r, DPLR_G);
    hop_scan_in in = dplr_in(r);
    hop_dplr_forward(r->o, r->state, &in, &c, r->scratch, r->pool);
}

static void dplr_backward(const core_run *r)
{
    hop_scan c = gated_config(r, DPLR_G);
    hop_scan_in in = dplr_in(r);
    hop_scan_grad g = {.d_o = r->do_t,
                       .dq = r->grad[Q],
                       .dk = r->grad[K],
                       .dv = r->grad[V],
                       .da = r->grad[DPLR_A],
                       .db = r->grad[DPLR_B],
                       .dg = r->grad[DPLR_G],
                       .d_state = r->d_state};
    hop_dplr_backward(&g, r->start, &in, &c, r->scratch, r->pool);
}

hop_status hop__core_dplr(core_job *job, hop_error *err)
{
    static const core_kind kind = {
        .inputs = {Q_SPEC, K_SPEC, V_SPEC, KEY_SPEC("a"), KEY_SPEC("b"), G_SPEC},
        .needed = 5,
        .states = {MATRIX_STATE},
        .output = "BTHV",
        .unscaled = true,
        .check = dplr_check,
        .scratch = scratch,
        .forward = dplr_forward,
        .backward = dplr_backward,
    };
    return hop__core_recurrence(job, &kind, err);
}

/* ---- mlstm ---------------------------------------------------------------------------------- */

enum { MLSTM_I = V + 1, MLSTM_F };

static hop_scan_in mlstm_in(const core_run *r)
{
    return (hop_scan_in){
        .q = r->in[Q], .k = r->in[K], .v = r->in[V], .i = r->in[MLSTM_I], .f = r->in[MLSTM_F]};
}

static void mlstm_forward(const core_run *r)
{
    hop_scan c = config_of(r);
    hop_scan_in in = mlstm_in(r);
    hop_mlstm_forward(r->o, r->state, &in, &c, r->scratch, r->pool);
}

static void mlstm_backward(const core_run *r)
{
    hop_scan c = config_of(r);
    hop_scan_in in = mlstm_in(r);
    hop_scan_grad g = {.d_o = r->do_t,
                       .dq = r->grad[Q],
                       .dk = r->grad[K],
                       .dv = r->grad[V],
                       .di = r->grad[MLSTM_I],
                       .df = r->grad[MLSTM_F],
                       .d_state = r->d_state};
    hop_mlstm_backward(&g, r->start, &in, &c, r->scratch, r->pool);
}

hop_status hop__core_mlstm(core_job *job, hop_error *err)
{
    static const core_kind kind = {
        .inputs = {Q_SPEC, K_SPEC, V_SPEC, HEAD_SPEC("i"), HEAD_SPEC("f")},
        .needed = 5,
        .states = {MATRIX_STATE,
                   {{"initial_n", {"BHK"}, "dinitial_n"}, "final_n"},
                   {{"initial_m", {"BH"}, "dinitial_m"}, "final_m"}},
        .output = "BTHV",
        .check = check_heads,
        .scratch = scratch,
        .forward = mlstm_forward,
        .backward = mlstm_backward,
    };
    return hop__core_recurrence(job, &kind, err);
}
