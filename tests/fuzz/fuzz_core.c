/* Inputs of `core`: the first byte chooses the core, its form and the kernels, a safetensors file follows.
 * What is computed is as large as it says, what is refused is one line. */
#include "fuzz.h"

#include "core.h"

static core_fn *const cores[] = {hop__core_attention, hop__core_decay,     hop__core_delta,
                                 hop__core_dplr,      hop__core_selective, hop__core_mlstm};
static const hop_isa isas[] = {HOP_ISA_SCALAR, HOP_ISA_REF}; /* those that are compiled with checks */

#define CORES 6
#define FORMS 3
/* The work may grow with the third power of the input's size; what is slow finds nothing. */
#define MOST_BYTES 8192

static volatile float sink; /* so that the numbers are really read */

static void must_be_readable(const core_output *o)
{
    int64_t n = 1;
    float sum = 0;
    must(o->tensor.name && o->tensor.rank >= 1 && o->tensor.rank <= HOP_TENSOR_MAX_RANK);
    for (int r = 0; r < o->tensor.rank; r++) {
        must(o->tensor.shape[r] >= 1);
        n *= o->tensor.shape[r];
    }
    for (int64_t i = 0; i < n; i++) sum += o->data[i];
    sink = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_safetensors in;
    hop_error err = {0};
    if (size < 1 || size > MOST_BYTES) return 0;
    unsigned choice = data[0];
    if (hop_safetensors_parse(&in, data + 1, size - 1, NULL) != HOP_OK) return 0;
    core_job job = {.in = &in, .form = (core_form)(choice / CORES % FORMS)};
    must(hop_kernels_select(isas[choice / CORES / FORMS % 2], NULL) == HOP_OK);
    if (choice & 128) {
        job.scaled = true;
        job.scale = -0.75;
    }
    hop_status s = cores[choice % CORES](&job, &err);
    if (s == HOP_OK) {
        must(job.output_count >= 1 && job.output_count <= CORE_MAX_OUTPUTS);
        for (int i = 0; i < job.output_count; i++) must_be_readable(&job.outputs[i]);
    } else {
        must(s == HOP_EFORMAT || s == HOP_ESHAPE);
        must_say_why(&err);
    }
    for (int i = 0; i < job.output_count; i++) hop_free(job.outputs[i].data);
    hop_safetensors_close(&in);
    return 0;
}
