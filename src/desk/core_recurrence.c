/* Runs a recurrence (core_kind) over the sequences of a file, in the form that is asked for, forwards and
 * backwards. */
#include "core.h"

#include <math.h>
#include <string.h>

/* What core_run does not show to the kinds. */
typedef struct work {
    core_job *job;
    core_run run;
    int inputs, states;
    float *o, *finals[CORE_MAX_STATES], *state, *start;
    float *gradients[CORE_MAX_INPUTS]; /* outputs, whole */
    float *parts[CORE_MAX_INPUTS];     /* of one sequence, where they must be summed up */
    float *state_gradients[CORE_MAX_STATES], *d_state;
    int64_t units; /* heads or channels: each has a state of `unit` numbers */
    int64_t unit;
} work;

/* ---- reading ------------------------------------------------------------------------------- */

static hop_status read_all(work *w, hop_error *err)
{
    const core_kind *k = w->run.kind;
    core_run *r = &w->run;
    hop_status s = HOP_OK;
    for (int i = 0; s == HOP_OK && i < w->inputs; i++) {
        s = hop__core_bind(w->job, &k->inputs[i], &r->dims, &r->inputs[i], err);
        if (s == HOP_OK && !r->inputs[i].given && i < k->needed)
            s = hop_fail(err, HOP_EFORMAT, "%s: missing", k->inputs[i].name);
    }
    for (int i = 0; s == HOP_OK && i < w->states; i++)
        s = hop__core_bind(w->job, &k->states[i].initial, &r->dims, &r->initial[i], err);
    const core_spec spec = {.name = "do", .shapes = {k->output}};
    if (s == HOP_OK) s = hop__core_bind(w->job, &spec, &r->dims, &r->d_o, err);
    return s == HOP_OK && k->check ? k->check(r, err) : s;
}

/* ---- memory -------------------------------------------------------------------------------- */

static float *floats(int64_t count, hop_error *err)
{
    size_t bytes;
    float *p = hop_mul_size((size_t)count, sizeof(float), &bytes) ? hop_alloc(bytes) : NULL;
    if (!p) hop_fail(err, HOP_ENOMEM, "out of memory");
    return p;
}

static bool make_gradients(work *w, hop_error *err)
{
    const core_run *r = &w->run;
    const core_kind *k = r->kind;
    bool ok = true;
    for (int i = 0; ok && i < w->inputs; i++) {
        const core_tensor *t = &r->inputs[i];
        if (!t->given) continue;
        w->gradients[i] = hop__core_output_like(w->job, k->inputs[i].gradient, t->given, &r->dims, err);
        ok = w->gradients[i] != NULL;
        if (!ok || (t->given == t->shape && t->shape[0] == 'B')) continue;
        w->parts[i] = floats(hop__core_elements(t->shape, t->shape[0] == 'B', &r->dims), err);
        ok = w->parts[i] != NULL;
    }
    for (int i = 0; ok && i < w->states; i++) {
        const core_spec *spec = &k->states[i].initial;
        if (!r->initial[i].given) continue;
        w->state_gradients[i] = hop__core_output_like(w->job, spec->gradient, spec->shapes[0], &r->dims, err);
        ok = w->state_gradients[i] != NULL;
    }
    if (ok) w->d_state = floats(w->units * w->unit, err);
    return ok && w->d_state;
}

static hop_status make_outputs(work *w, hop_error *err)
{
    core_run *r = &w->run;
    const core_kind *k = r->kind;
    w->units = r->dims.of[(unsigned char)k->states[0].initial.shapes[0][1]];
    for (int i = 0; i < w->states; i++)
        w->unit += hop__core_elements(k->states[i].initial.shapes[0], 2, &r->dims);
    w->o = hop__core_output_like(w->job, "o", k->output, &r->dims, err);
    bool ok = w->o != NULL;
    for (int i = 0; ok && i < w->states; i++) {
        w->finals[i] =
            hop__core_output_like(w->job, k->states[i].final, k->states[i].initial.shapes[0], &r->dims, err);
        ok = w->finals[i] != NULL;
    }
    ok = ok && (w->state = floats(w->units * w->unit, err)) && (w->start = floats(w->units * w->unit, err));
    if (ok && r->d_o.given) ok = make_gradients(w, err);
    r->tokens = r->dims.of['T'];
    ok = ok && (r->scratch = floats((int64_t)k->scratch(r, hop_pool_threads(r->pool)) + 1, err));
    return ok ? HOP_OK : HOP_ENOMEM;
}

static void work_free(work *w)
{
    for (int i = 0; i < CORE_MAX_INPUTS; i++) {
        hop_free(w->run.inputs[i].data);
        hop_free(w->parts[i]);
    }
    for (int i = 0; i < CORE_MAX_STATES; i++) hop_free(w->run.initial[i].data);
    hop_free(w->run.d_o.data);
    hop_free(w->run.scratch);
    hop_free(w->state);
    hop_free(w->start);
    hop_free(w->d_state);
}

/* ---- states -------------------------------------------------------------------------------- */

/* Moves sequence b's state between the tensors of its parts and the kernel's memory. Absent parts are left
 * alone. */
static void move_state(const work *w, float *const *tensors, float *state, int64_t b, bool out)
{
    for (int64_t u = 0, at = 0; u < w->units; u++)
        for (int i = 0; i < w->states; i++) {
            int64_t n = hop__core_elements(w->run.kind->states[i].initial.shapes[0], 2, &w->run.dims);
            float *part = tensors[i] ? tensors[i] + (b * w->units + u) * n : NULL;
            if (part) memcpy(out ? part : state + at, out ? state + at : part, (size_t)n * sizeof *part);
            at += n;
        }
}

/* ---- computing ----------------------------------------------------------------------------- */

/* Where sequence b, token t of a tensor begins. */
static int64_t offset_of(const work *w, const char *shape, int64_t b, int64_t t)
{
    int64_t at = 0;
    if (shape[0] == 'B') at += b * hop__core_elements(shape, 1, &w->run.dims);
    if (shape[0] == 'B' && shape[1] == 'T') at += t * hop__core_elements(shape, 2, &w->run.dims);
    return at;
}

static void aim(work *w, int64_t b, int64_t t)
{
    core_run *r = &w->run;
    for (int i = 0; i < w->inputs; i++) {
        const core_tensor *x = &r->inputs[i];
        r->in[i] = x->given ? x->data + offset_of(w, x->shape, b, t) : NULL;
    }
    r->o = w->o + offset_of(w, r->kind->output, b, t);
}

static void run_forward(work *w, int64_t b)
{
    core_run *r = &w->run;
    int64_t tokens = r->dims.of['T'];
    r->state = w->state;
    memcpy(w->state, w->start, (size_t)(w->units * w->unit) * sizeof(float));
    r->tokens = w->job->form == CORE_STEP ? 1 : tokens;
    for (int64_t t = 0; t < tokens; t += r->tokens) {
        aim(w, b, t);
        r->kind->forward(r);
    }
    r->tokens = tokens;
    move_state(w, w->finals, w->state, b, true);
}

static void run_backward(work *w, int64_t b)
{
    core_run *r = &w->run;
    aim(w, b, 0);
    r->start = w->start;
    r->do_t = r->d_o.data + offset_of(w, r->kind->output, b, 0);
    r->d_state = w->d_state;
    for (int i = 0; i < w->inputs; i++) {
        const core_tensor *x = &r->inputs[i];
        r->grad[i] = !x->given     ? NULL
                     : w->parts[i] ? w->parts[i]
                                   : w->gradients[i] + offset_of(w, x->shape, b, 0);
    }
    r->kind->backward(r);
    for (int i = 0; i < w->inputs; i++)
        if (w->parts[i])
            hop__core_add_up(w->gradients[i], r->inputs[i].given, w->parts[i], r->inputs[i].shape, b,
                             &r->dims);
    move_state(w, w->state_gradients, w->d_state, b, true);
}

static void run_all(work *w)
{
    float *initial[CORE_MAX_STATES];
    for (int i = 0; i < CORE_MAX_STATES; i++) initial[i] = w->run.initial[i].data;
    for (int64_t b = 0; b < w->run.dims.of['B']; b++) {
        move_state(w, initial, w->start, b, false);
        run_forward(w, b);
        if (w->run.d_o.given) run_backward(w, b);
    }
}

hop_status hop__core_recurrence(core_job *job, const core_kind *kind, hop_error *err)
{
    work w = {.job = job, .run = {.kind = kind, .pool = job->pool}};
    while (w.inputs < CORE_MAX_INPUTS && kind->inputs[w.inputs].name) w.inputs++;
    while (w.states < CORE_MAX_STATES && kind->states[w.states].final) w.states++;
    w.run.form = job->form == CORE_CHUNKED ? HOP_FORM_CHUNKED : HOP_FORM_RECURRENT;
    hop_status s = read_all(&w, err);
    if (s == HOP_OK) {
        if (!job->scaled) job->scale = kind->unscaled ? 1 : 1 / sqrt((double)w.run.dims.of['K']);
        w.run.scale = (float)job->scale;
        s = make_outputs(&w, err);
    }
    if (s == HOP_OK) run_all(&w);
    work_free(&w);
    return s;
}
