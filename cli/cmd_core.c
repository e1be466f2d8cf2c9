/* hopbound core: runs one kernel on tensors from a file, so that anybody can check it against anything. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include "core.h"

static const char *const FORMS[] = {"chunked", "recurrent", "step", NULL}; /* in core_form's order */

typedef struct core_args {
    common_args common;
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
    {"attention", core_attention, true}, {"decay", core_decay, false},         {"delta", core_delta, false},
    {"dplr", core_dplr, false},          {"selective", core_selective, false}, {"mlstm", core_mlstm, false},
};
#define CORE_COUNT (sizeof CORES / sizeof CORES[0])

static const struct core *find_core(const char *name)
{
    for (size_t i = 0; i < CORE_COUNT; i++)
        if (strcmp(CORES[i].name, name) == 0) return &CORES[i];
    return NULL;
}

static int unknown_core(const common_args *a)
{
    hop_text known = {0};
    for (size_t i = 0; i < CORE_COUNT; i++) hop_text_printf(&known, "%s%s", i ? ", " : "", CORES[i].name);
    int code = fail(a, EXIT_USAGE, "%.60s: unknown core (known: %s)", a->operand, known.s ? known.s : "");
    hop_text_free(&known);
    return code;
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

/* max |ours - theirs| / max |theirs|, when the file has a tensor of that name; `known` says whether. */
static hop_status compare(const core_job *job, const core_output *out, double *error, bool *known,
                          hop_error *err)
{
    const hop_tensor *t = hop_safetensors_find(job->in, out->tensor.name);
    *known = t != NULL;
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

static void describe(hop_json_writer *w, hop_text *text, const core_output *out, const double *error)
{
    const hop_tensor_out *t = &out->tensor;
    int64_t n = 1;
    hop_json_begin_object(w);
    hop_json_string(w, "name", t->name);
    hop_json_key(w, "shape");
    hop_json_begin_array(w);
    hop_text_printf(text, "  %-11s [", t->name);
    for (int r = 0; r < t->rank; r++) {
        n *= t->shape[r];
        hop_json_put_int(w, t->shape[r]);
        hop_text_printf(text, "%s%lld", r ? "," : "", (long long)t->shape[r]);
    }
    hop_json_end_array(w);
    double most = (double)max_abs(out->data, n);
    hop_json_number(w, "max_abs", most);
    hop_text_printf(text, "]  max |x| %.6g", most);
    if (error) {
        hop_json_number(w, "max_error", *error);
        hop_text_printf(text, "  max error %.3g", *error);
    }
    hop_json_end_object(w);
    hop_text_add(text, "\n");
}

static int report(const core_args *a, const core_job *job)
{
    hop_json_writer w = {0};
    hop_text text = {0};
    hop_error err = {0};
    hop_status s = HOP_OK;
    const char *isa = hop_isa_name(hop_kernels_selected());
    hop_json_begin_object(&w);
    hop_json_string(&w, "core", a->common.operand);
    hop_json_string(&w, "form", FORMS[a->form.choice]);
    hop_json_string(&w, "isa", isa);
    hop_json_number(&w, "scale", job->scale);
    hop_json_key(&w, "outputs");
    hop_json_begin_array(&w);
    hop_text_printf(&text, "%s, %s form, %s kernels, scale %.9g\n", a->common.operand, FORMS[a->form.choice],
                    isa, job->scale);
    for (int i = 0; s == HOP_OK && i < job->output_count; i++) {
        double error = 0;
        bool known = false;
        s = compare(job, &job->outputs[i], &error, &known, &err);
        if (s == HOP_OK) describe(&w, &text, &job->outputs[i], known ? &error : NULL);
    }
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    int code = s != HOP_OK           ? fail_error(&a->common, &err)
               : a->common.json.flag ? print_json(&a->common, &w)
                                     : print_text(&a->common, &text);
    hop_text_free(&w.text);
    hop_text_free(&text);
    return code;
}

static hop_status save(const core_args *a, const core_job *job, hop_error *err)
{
    if (!a->output.text) return HOP_OK;
    hop_tensor_out tensors[CORE_MAX_OUTPUTS];
    char scale[40];
    snprintf(scale, sizeof scale, "%.17g", job->scale);
    const char *const metadata[] = {"core", a->common.operand, "scale", scale, NULL};
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

static hop_status compute(const core_args *a, core_job *job, const struct core *core, hop_error *err)
{
    hop_status s = find_scale(a, job, err);
    if (s == HOP_OK && job->form == CORE_RECURRENT && core->plain) s = hop_kernels_select(HOP_ISA_REF, err);
    if (s == HOP_OK) s = core->compute(job, err);
    if (s != HOP_OK) return hop_fail_in(err, s, a->input.text);
    return save(a, job, err);
}

static int cmd_core(common_args *common)
{
    const core_args *a = (const core_args *)common;
    const struct core *core = find_core(common->operand);
    hop_error err = {0};
    hop_safetensors in = {0};
    if (!core) return unknown_core(common);
    if (hop_safetensors_read(&in, a->input.text, &err) != HOP_OK) return fail_error(common, &err);
    core_job job = {.in = &in, .form = (core_form)a->form.choice};
    int code = pool_open(common, &job.pool);
    if (code == EXIT_DONE)
        code = compute(a, &job, core, &err) == HOP_OK ? report(a, &job) : fail_error(common, &err);
    for (int i = 0; i < job.output_count; i++) hop_free(job.outputs[i].data);
    hop_pool_free(job.pool);
    hop_safetensors_close(&in);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound core attention --input attention.safetensors --json",
     "Compares with the expected tensors in the file: max_error of each output."},
    {"hopbound core delta --input delta.safetensors --form step --isa scalar -o out.safetensors",
     "The delta rule, a token at a time, with the portable kernels."},
    {0},
};
const verb verb_core = {
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
    .args_size = sizeof(core_args),
    .run = cmd_core,
};
/* clang-format on */
