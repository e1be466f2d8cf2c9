/* What was built: sizes, and what its states hold beside what the theory demands. */
#include "build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
        if (!ops || ops->kind != HOP_MIXER_RECURRENT) {
            s.others = true;
            continue;
        }
        if (!s.mixer) s.mixer = ops->name;
        s.bits += FLOAT_BITS * run_state(m, ops, first, p->runs[r].count);
    }
    return s;
}

/* One number, in both forms. Whole ones are printed whole. */
static void put(hop_json_writer *w, hop_text *out, const char *key, double value)
{
    bool whole = value == floor(value) && fabs(value) < 9e15;
    if (whole)
        hop_json_integer(w, key, (int64_t)value);
    else
        hop_json_number(w, key, value);
    hop_text_printf(out, whole ? "  %-11s %.0f\n" : "  %-11s %.6g\n", key, value);
}

/* P2, docs/THEORY.md section 4: without a full layer the states must hold all of the last table. */
static void put_states(hop_json_writer *w, hop_text *out, const hop_model *m, const hop_task *task)
{
    states s = states_of(m);
    hop_json_string(w, "mixer", s.mixer);
    if (s.mixer) hop_text_printf(out, "  %-11s %s\n", "mixer", s.mixer);
    put(w, out, "state_bits", s.bits);
    if (!task || task->kind != HOP_TASK_FUNCCOMP) return;
    double demanded = (double)task->vocab * log2((double)task->vocab);
    put(w, out, "p2_bits", demanded);
    if (s.mixer && !s.others) put(w, out, "state_ratio", s.bits / demanded);
}

/* What was scaled, assumed and left out: a line each. */
static void put_notes(hop_json_writer *w, hop_text *out, const hop_text *notes)
{
    hop_json_key(w, "notes");
    hop_json_begin_array(w);
    for (const char *at = notes->s; at && *at;) {
        char line[160];
        size_t n = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        hop_json_put_string(w, line);
        hop_text_printf(out, "  %-11s %s\n", "note", line);
        at += at[n] ? n + 1 : n;
    }
    hop_json_end_array(w);
}

int build_report(const build_args *a, const hop_model *m, const hop_task *task, const hop_text *notes)
{
    const char *kind = a->common.operand ? a->common.operand : "like";
    const hop_config *c = hop_model_config(m);
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"layers", c->pattern.layers},
                   {"d_model", c->d_model},
                   {"heads", c->heads},
                   {"head_dim", c->head_dim},
                   {"mlp_hidden", c->mlp_hidden},
                   {"parameters", hop_model_parameters(m)},
                   {"n", task ? task->length : c->max_positions}};
    hop_json_writer w = {0};
    hop_text out = {0}, sizes = {0}, pattern = {0};
    hop_pattern_print(&c->pattern, &pattern);
    if (task) hop_sizes_say(&sizes, task);

    hop_json_begin_object(&w);
    hop_json_string(&w, "kind", kind);
    hop_json_string(&w, "pattern", hop_text_in(&w.text, &pattern));
    hop_text_name(&out, a->output.text);
    hop_text_add(&out, ": built ");
    hop_text_name(&out, a->like.text ? a->like.text : kind);
    hop_text_printf(&out, "%s%s\n  %-11s %s\n", task ? " for " : "", hop_text_in(&out, &sizes), "pattern",
                    hop_text_in(&out, &pattern));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        put(&w, &out, numbers[i].key, (double)numbers[i].value);
    put_states(&w, &out, m, task);
    put_notes(&w, &out, notes);
    hop_json_string(&w, "dir", a->output.text);
    hop_json_key(&w, "task");
    if (task)
        hop_task_write(task, &w);
    else
        hop_json_put_null(&w);
    hop_json_end_object(&w);

    int code = a->common.json.flag    ? print_json(&a->common, &w)
               : a->common.quiet.flag ? EXIT_DONE
                                      : print_text(&a->common, &out);
    hop_text_free(&w.text);
    hop_text_free(&out);
    hop_text_free(&sizes);
    hop_text_free(&pattern);
    return code;
}
