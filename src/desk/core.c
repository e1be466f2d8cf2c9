/* The verb core: one kernel on tensors from a file, so that anybody can check it against anything. */
#include "core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hopbound/ask_core.h>

#include "desk.h"

HOP_RECORD_TABLE(hop_core_output, HOP_CORE_OUTPUT, "a tensor")
HOP_RECORD_TABLE(hop_core_answer, HOP_CORE_ANSWER, "what a kernel made of some tensors")

static const char *const FORMS[] = {"chunked", "recurrent", "step", NULL}; /* in core_form's order */

typedef struct core_args {
    hop_request ask;
    hop_opt_value input, output, form, scale;
} core_args;

/* clang-format off */
#define AT(member) offsetof(core_args, member)
static const hop_opt OPTIONS[] = {
    {"input", 'i', HOP_OPT_TEXT, AT(input), "FILE", .required = true, .use = HOP_OPT_READS,
     .help = "safetensors with the inputs, and with the expected outputs if there are any"},
    {"output", 'o', HOP_OPT_TEXT, AT(output), "FILE", .use = HOP_OPT_WRITES, .help = "safetensors to write the outputs to"},
    {"form", 0, HOP_OPT_CHOICE, AT(form), "NAME", "chunked", .choices = FORMS,
     .help = "how to compute: the whole sequence in blocks; the recurrence, over the whole sequence "
             "(attention has none: token by token with the ref kernels); one token a call, through the "
             "state"},
    {"scale", 0, HOP_OPT_REAL, AT(scale), "S", .initial_help = "the file's, else K^(-1/2), or 1 for dplr",
     .help = "factor of the queries"},
    {0},
};
/* clang-format on */

static const struct core {
    const char *name;
    core_fn *compute;
    bool plain; /* its recurrent form is the ref kernels' */
} CORES[] = {
    {"attention", hop__core_attention, true},  {"decay", hop__core_decay, false},
    {"delta", hop__core_delta, false},         {"dplr", hop__core_dplr, false},
    {"selective", hop__core_selective, false}, {"mlstm", hop__core_mlstm, false},
};
#define CORE_COUNT (sizeof CORES / sizeof CORES[0])

static const struct core *find_core(const char *name)
{
    for (size_t i = 0; i < CORE_COUNT; i++)
        if (strcmp(CORES[i].name, name) == 0) return &CORES[i];
    return NULL;
}

static hop_status unknown_core(const char *name, hop_error *err)
{
    hop_text known = {0};
    for (size_t i = 0; i < CORE_COUNT; i++) hop_text_printf(&known, "%s%s", i ? ", " : "", CORES[i].name);
    hop_fail(err, HOP_EUSAGE, "%.60s: unknown core (known: %s)", name, known.s ? known.s : "");
    hop_text_free(&known);
    return HOP_EUSAGE;
}

/* ---- outputs ------------------------------------------------------------------------------- */

static float max_abs(const float *x, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++) {
        float a = x[i] < 0 ? -x[i] : x[i];
        if (!(a <= most)) most = a; /* a NaN stays */
        if (most != most) break;
    }
    return most;
}

/* max |ours - theirs| / max |theirs|; NaN when the file has no tensor of that name. */
static hop_status compare(const core_job *job, const core_output *out, double *error, hop_error *err)
{
    const hop_tensor *t = hop_safetensors_find(job->in, out->tensor.name);
    *error = NAN;
    if (!t) return HOP_OK;
    int64_t n = 1;
    bool same = t->rank == out->tensor.rank;
    for (int r = 0; same && r < t->rank; r++) {
        same = t->shape[r] == out->tensor.shape[r];
        n *= t->shape[r];
    }
    if (!same)
        return hop_fail(err, HOP_ESHAPE, "%s: expected tensor has another shape than the result", t->name);
    float *theirs = malloc((size_t)(n ? n : 1) * sizeof *theirs);
    if (!theirs) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", t->name);
    hop_status s = hop_tensor_floats(t, theirs, err);
    if (s == HOP_OK) {
        float scale = max_abs(theirs, n);
        for (int64_t i = 0; i < n; i++) theirs[i] = out->data[i] - theirs[i];
        *error = (double)max_abs(theirs, n) / (scale > 0 ? (double)scale : 1.0);
    }
    free(theirs);
    return s;
}

static hop_status describe(hop_core_output *out, hop_keep *k, const core_job *job, const core_output *made,
                           hop_error *err)
{
    const hop_tensor_out *t = &made->tensor;
    int64_t n = 1, *shape = hop_keep_bytes(k, (size_t)t->rank, sizeof *shape);
    if (!shape) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int r = 0; r < t->rank; r++) n *= shape[r] = t->shape[r];
    *out = (hop_core_output){.name = hop_keep_text(k, t->name),
                             .shape = {shape, t->rank},
                             .max_abs = (double)max_abs(made->data, n),
                             .compared = hop_safetensors_find(job->in, t->name) != NULL};
    return compare(job, made, &out->max_error, err);
}

static hop_status record(hop_response *response, const core_args *a, const core_job *job, hop_error *err)
{
    hop_keep *k = &response->memory;
    hop_core_answer *out = hop_response_begin(response, &hop_core_answer_record, err);
    hop_core_output *outputs = hop_keep_bytes(k, (size_t)job->output_count + 1, sizeof *outputs);
    if (!out || !outputs) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; i < job->output_count; i++) {
        hop_status s = describe(&outputs[i], k, job, &job->outputs[i], err);
        if (s != HOP_OK) return s;
    }
    *out = (hop_core_answer){.core = hop_keep_text(k, hop_request_operand(&a->ask, 0)),
                             .form = FORMS[job->form],
                             .isa = hop_isa_name(hop_kernels_selected()),
                             .scale = job->scale};
    out->outputs.at = outputs;
    out->outputs.count = job->output_count;
    return hop_response_end(response, err);
}

static hop_status save(const core_args *a, const core_job *job, hop_error *err)
{
    if (!a->output.text) return HOP_OK;
    hop_tensor_out tensors[CORE_MAX_OUTPUTS];
    char scale[40];
    snprintf(scale, sizeof scale, "%.17g", job->scale);
    const char *const metadata[] = {"core", hop_request_operand(&a->ask, 0), "scale", scale, NULL};
    for (int i = 0; i < job->output_count; i++) {
        tensors[i] = job->outputs[i].tensor;
        tensors[i].data = job->outputs[i].data;
    }
    return hop_safetensors_write(a->output.text, tensors, job->output_count, metadata, err);
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* --scale, else the file's metadata, else 0: the core's own default. */
static hop_status find_scale(const core_args *a, core_job *job, hop_error *err)
{
    const char *text = hop_safetensors_meta(job->in, "scale");
    job->scale = a->scale.given ? a->scale.real : 0;
    job->scaled = a->scale.given;
    if (a->scale.given || !text) return HOP_OK;
    char *end = NULL;
    job->scale = strtod(text, &end);
    job->scaled = true;
    bool finite = job->scale - job->scale == 0;
    return end != text && !*end && finite
               ? HOP_OK
               : hop_fail(err, HOP_EFORMAT, "scale: \"%.40s\" is not a number", text);
}

static hop_status compute(hop_response *out, const core_args *a, core_job *job, const struct core *core,
                          hop_error *err)
{
    hop_status s = find_scale(a, job, err);
    if (s == HOP_OK) s = core->compute(job, err);
    if (s != HOP_OK) return hop_fail_in(err, s, a->input.text);
    s = save(a, job, err);
    return s == HOP_OK ? record(out, a, job, err) : s;
}

static hop_status ask_core(hop_response *out, const void *request, hop_error *err)
{
    const core_args *a = request;
    const char *name = hop_request_operand(&a->ask, 0);
    const struct core *core = find_core(name);
    const hop_isa before = hop_kernels_selected();
    hop_safetensors in = {0};
    if (!core) return unknown_core(name, err);
    hop_status s = hop_safetensors_read(&in, a->input.text, err);
    if (s != HOP_OK) return s;
    core_job job = {.in = &in, .form = (core_form)a->form.choice};
    const bool plain = job.form == CORE_RECURRENT && core->plain;
    s = hop__pool(&job.pool, &a->ask, err);
    if (s == HOP_OK && plain) s = hop_kernels_select(HOP_ISA_REF, err);
    if (s == HOP_OK) s = compute(out, a, &job, core, err);
    if (plain) hop_kernels_select(before, NULL);
    for (int i = 0; i < job.output_count; i++) hop_free(job.outputs[i].data);
    hop_pool_free(job.pool);
    hop_safetensors_close(&in);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound core attention --input attention.safetensors --json",
     "Compares with the expected tensors in the file: max_error of each output."},
    {"hopbound core delta --input delta.safetensors --form step --isa scalar -o out.safetensors",
     "The delta rule, a token at a time, with the portable kernels."},
    {0},
};
const hop_verb hop__verb_core = {
    .name = "core",
    .summary = "runs one kernel on tensors from a safetensors file",
    .operand = "NAME",
    .operand_help =
        "attention: causal softmax attention; decay: S = diag(e^g) S + k v', o = q'S; delta: S = "
        "diag(e^g) S, then S += beta k (v - S'k)', o = q'S; dplr: S = diag(e^g) S + b (a'S) + k v', o = "
        "q'S; mlstm: decay with an input gate, a normaliser and a stabiliser; selective: h = e^(delta A) "
        "h + delta B x, o = C h + D x",
    .description =
        "All tensors are float32. attention takes q [B,T,H,K], k [B,T,G,K] and v [B,T,G,V], where H is a "
        "multiple of G and consecutive query heads share a key head, and gives o [B,T,H,V]. The "
        "recurrences take q, k [B,T,G,K] and v [B,T,H,V], where H is a multiple of G (equal for dplr) and "
        "consecutive heads share a key head, and give o [B,T,H,V] and final_state [B,H,K,V]. decay, delta "
        "and dplr take g, the log decay, [H], [B,T,H] or [B,T,H,K], if it is there; delta needs beta "
        "[B,T,H]; dplr a, b [B,T,H,K]; mlstm i, f [B,T,H], before their activations; decay takes u [H,K], "
        "with which the output reads the state before the update plus diag(u) k v'. They start at "
        "initial_state [B,H,K,V], if it is there; mlstm also at initial_n [B,H,K] and initial_m [B,H], "
        "and gives final_n and final_m. selective takes x, delta [B,T,D], A [D,N], B, C [B,T,N], and D "
        "[D] and initial_state [B,D,N] if they are there.\n\n"
        "When the file also has do, shaped as o, the gradients of the sum of o times do follow, named as "
        "the inputs with a d before: dq, dk, .., dinitial_state. Where the input holds tensors named as "
        "the outputs, each output's max_error is the largest difference from them over their largest "
        "number.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_core_answer_record,
    .rows = "outputs",
    .request_size = sizeof(core_args),
    .ask = ask_core,
};
/* clang-format on */
