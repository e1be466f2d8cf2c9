/* hopbound/verdict.h - is a network right on every input? Bounds (prove), enumeration and search (refute) together.
 *
 *     hop_proof proof;
 *     hop_prove(&proof, model, &task, &(hop_prove_options){0}, &err);
 *     // proof.verdict == HOP_PROVED
 */
#ifndef HOPBOUND_VERDICT_H
#define HOPBOUND_VERDICT_H

#include <hopbound/prove.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Is every input of these sizes answered rightly by this network, as this program computes it in float32?
 * HOP_EDOMAIN when the network cannot take the task at all (vocabulary or length too small). A bound that
 * fails is no failure of the call: the verdict says undecided, or refuted with an input on which
 * hop_forward_logits errs. p is the caller's to free (hop_proof_free). */
hop_status hop_prove(hop_proof *p, const hop_model *m, const hop_task *task, const hop_prove_options *o,
                     hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
