/* What was built: sizes, and what its states hold beside what the theory demands. */
#include "build.h"

#include <hopbound/layers.h>
#include <hopbound/ops.h>

#include <math.h>
#include <string.h>

HOP_RECORD_TABLE(hop_build_answer, HOP_BUILD_ANSWER, "what was built")

#define FLOAT_BITS 32.0

/* The numbers that cross a cut of the sequence in all recurrent layers together, and what else the pattern
 * has. */
typedef struct states {
    double bits;
    const char *mixer; /* the first recurrent one; NULL: none */
    bool others;       /* layers that are no recurrence */
} states;

static double layer_state(const hop_model *m, const hop_mixer_ops *ops, int64_t layer)
{
    hop_mixer_config c = hop_model_mixer_config(m, layer);
    return (double)hop_mixer_state_floats(ops, &c, hop_model_config(m)->max_positions);
}

static double run_state(const hop_model *m, const hop_mixer_ops *ops, int64_t first, int64_t count)
{
    const hop_config *c = hop_model_config(m);
    double sum = 0;
    bool own = false; /* some layer has options of its own */
    for (int64_t i = 0; i < c->setting_count; i++) own = own || c->settings[i].layer >= 0;
    if (!own) return (double)count * layer_state(m, ops, first);
    for (int64_t i = first; i < first + count; i++) sum += layer_state(m, ops, i);
    return sum;
}

static states states_of(const hop_model *m)
{
    const hop_pattern *p = &hop_model_config(m)->pattern;
    states s = {0};
    for (int64_t r = 0, first = 0; r < p->run_count; first += p->runs[r++].count) {
        const hop_mixer_ops *ops = hop_mixer_find(p->runs[r].mixer);
        if (ops && ops->kind == HOP_MIXER_ALONE) continue;
        if (!ops || ops->kind != HOP_MIXER_RECURRENT) {
            s.others = true;
            continue;
        }
        if (!s.mixer) s.mixer = ops->name;
        s.bits += FLOAT_BITS * run_state(m, ops, first, p->runs[r].count);
    }
    return s;
}

/* P2, docs/THEORY.md section 4: without a full layer the states must hold all of the last table. */
static void fill_states(hop_keep *k, hop_build_answer *out, const hop_model *m, const hop_task *task)
{
    states s = states_of(m);
    bool composes = task && task->kind == HOP_TASK_FUNCCOMP;
    out->mixer = hop_keep_text(k, s.mixer);
    out->state_bits = s.bits < 9e18 ? (int64_t)s.bits : HOP_NO_COUNT;
    out->p2_bits = composes ? (double)task->vocab * log2((double)task->vocab) : NAN;
    out->state_ratio = s.mixer && !s.others ? s.bits / out->p2_bits : NAN;
}

/* The lines of a text; an empty list where there are none. */
static hop_texts lines_of(hop_keep *k, const hop_text *t)
{
    int64_t count = 0;
    for (size_t i = 0; i < t->len; i++) count += t->s[i] == '\n';
    const char **lines = hop_keep_bytes(k, (size_t)count + 1, sizeof *lines);
    const char *at = t->s;
    for (int64_t i = 0; lines && i < count; i++) {
        size_t n = strcspn(at, "\n");
        lines[i] = hop_keep_printf(k, "%.*s", (int)n, at);
        at += n + 1;
    }
    return (hop_texts){lines, lines ? count : 0};
}

static void fill_task(hop_keep *k, hop_build_answer *out, const hop_task *task)
{
    hop_json_writer w = {0};
    hop_text sizes = {0};
    hop_task_write(task, &w);
    hop_sizes_say(&sizes, task);
    out->task = hop_keep_grown(k, &w.text);
    out->sizes = hop_keep_grown(k, &sizes);
}

hop_status hop__build_record(hop_response *response, const build_args *a, const hop_model *m,
                             const hop_task *task, const hop_text *notes, hop_error *err)
{
    hop_keep *k = &response->memory;
    const hop_config *c = hop_model_config(m);
    const char *kind = hop_request_operand(&a->ask, 0);
    hop_build_answer *out = hop_response_begin(response, &hop_build_answer_record, err);
    hop_text pattern = {0};
    if (!out) return HOP_ENOMEM;
    hop_pattern_print(&c->pattern, &pattern);
    *out = (hop_build_answer){.kind = hop_keep_text(k, kind ? kind : "like"),
                              .like = hop_keep_text(k, a->like.text),
                              .pattern = hop_keep_grown(k, &pattern),
                              .layers = c->pattern.layers,
                              .d_model = c->d_model,
                              .heads = c->heads,
                              .head_dim = c->head_dim,
                              .mlp_hidden = c->mlp_hidden,
                              .parameters = hop_model_parameters(m),
                              .n = task ? task->length : c->max_positions,
                              .notes = lines_of(k, notes),
                              .dir = hop_keep_text(k, a->output.text)};
    fill_states(k, out, m, task);
    if (task) fill_task(k, out, task);
    return hop_response_end(response, err);
}
