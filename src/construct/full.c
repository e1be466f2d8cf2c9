/* L+1 full-attention layers that solve L-sequential function composition, exactly, for every input.
 *
 * Statement (docs/THEORY.md section 5.1). For any hops L and sizes m, n_1 .. n_{L-1} >= 2 the network built
 * here answers every input rightly in float32, and also with activations cut to 8 significant bits at the
 * sizes tested. One head a layer; with B = bits of a number's code, head_dim = L+2+B and d_model =
 * L+2+3B+(w's bits), which is O(L + log n). Layer e is the look-up of z_e; fields.h says how a look-up works.
 */
#include "shaped.h"

#include <math.h>
#include <stdio.h>

hop_status hop__construct_full(hop_model **out, const hop_task *task, const hop_construct_options *o,
                               hop_error *err)
{
    static const char construction[] = "{\"kind\": \"full\"}";
    if (o->shape) return hop__construct_shaped(out, task, o->shape, construction, err);
    hop__fields f;
    hop_config c;
    char pattern[32];
    int hops = task->funccomp.hops;
    hop__fields_init(&f, &task->funccomp);
    snprintf(pattern, sizeof pattern, "full^%d", hops + 1);
    hop_status s = hop__construct_config(&c, pattern, task, construction, err);
    if (s != HOP_OK) return s;
    c.d_model = f.d_model;
    c.head_dim = f.head_dim;
    c.mlp_hidden = 2 * f.bits;
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;

    float beta = (float)(hop__fields_beta(task->length) *
                         sqrt((double)f.head_dim)); /* the mixer divides by the root */
    hop__fill_tables(*out, &f, &task->funccomp);
    for (int e = 0; e <= hops; e++) {
        hop__fill_look_up(*out, &f, e, e, beta);
        hop__fill_clip(*out, &f, e);
    }
    return HOP_OK;
}
