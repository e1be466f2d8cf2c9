/* What `train` says: a line an evaluation, the result, and P3's ceiling beside it. */
#include "train.h"

#include <math.h>
#include <string.h>

/* ---- while it runs ------------------------------------------------------------------------------- */

static void say_begin(const trained *t)
{
    hop_text sizes = {0};
    hop_sizes_say(&sizes, &t->recipe->task);
    const bool linear = strchr(t->recipe->pattern, 'L') != NULL;
    fprintf(stderr, "hopbound: train: %s%s%s%s, %lld parameters, %s, %lld tokens, %lld steps of %lld\n",
            t->recipe->pattern, linear ? " (L " : "", linear ? t->recipe->mixer : "", linear ? ")" : "",
            (long long)t->parameters, sizes.s ? sizes.s : "", (long long)t->recipe->task.length,
            (long long)t->recipe->steps, (long long)t->recipe->batch);
    hop_text_free(&sizes);
}

void train_say_measure(void *ctx, const hop_measure *m)
{
    trained *t = ctx;
    if (t->silent || m->last) return;
    terminal_clear();
    if (!t->said) say_begin(t); /* not before: what cannot begin says one line */
    t->said = true;
    fprintf(stderr, "step %6lld  loss %7.4f  accuracy %6.2f %% (%.2f to %.2f)  %.0f tokens/s  %.0f s\n",
            (long long)m->step, m->loss, 100 * m->accuracy, 100 * m->low, 100 * m->high, m->tokens_per_second,
            m->seconds);
}

/* ---- the result ----------------------------------------------------------------------------------- */

static void write_json(hop_json_writer *w, const trained *t)
{
    const hop_measure *m = &t->last;
    hop_json_begin_object(w);
    hop_json_string(w, "pattern", t->recipe->pattern);
    hop_json_string(w, "mixer", t->recipe->mixer);
    hop_json_key(w, "task");
    hop_task_write(&t->recipe->task, w);
    hop_json_integer(w, "seed", (int64_t)t->recipe->seed);
    hop_json_integer(w, "parameters", t->parameters);
    hop_json_integer(w, "steps", m->step);
    hop_json_number(w, "loss", m->loss);
    hop_json_integer(w, "instances", m->instances);
    hop_json_integer(w, "correct", m->correct);
    hop_json_number(w, "accuracy", m->accuracy);
    hop_json_key(w, "interval");
    hop_json_begin_array(w);
    hop_json_put_real(w, m->low);
    hop_json_put_real(w, m->high);
    hop_json_end_array(w);
    hop_json_number(w, "answers", m->answers);
    hop_json_number(w, "chance", m->chance);
    hop_json_number(w, "accuracy_ceiling", t->ceiling);
    hop_json_number(w, "tokens_per_second", m->tokens_per_second);
    hop_json_number(w, "seconds", m->seconds);
    hop_json_string(w, "dir", t->dir);
    hop_json_end_object(w);
}

static void write_text(hop_text *out, const trained *t)
{
    const hop_measure *m = &t->last;
    hop_text_printf(out, "accuracy %.2f %% (%.2f to %.2f at 95 %%, %lld instances), chance %.2f %%",
                    100 * m->accuracy, 100 * m->low, 100 * m->high, (long long)m->instances, 100 * m->chance);
    if (!isnan(t->ceiling)) /* rounded up: a ceiling that is printed is one */
        hop_text_printf(out, ", at most %.2f %% by P3", ceil(1e4 * t->ceiling) / 100);
    hop_text_printf(out, "\n%lld step%s, loss %.4f, %.0f tokens/s, %.0f s; ", (long long)m->step,
                    m->step == 1 ? "" : "s", m->loss, m->tokens_per_second, m->seconds);
    hop_text_name(out, t->dir);
    hop_text_add(out, "\n");
}

int train_report(const trained *t)
{
    hop_json_writer w = {0};
    hop_text out = {0};
    if (t->common->json.flag)
        write_json(&w, t);
    else
        write_text(&out, t);
    int code = t->common->json.flag ? print_json(t->common, &w) : print_text(t->common, &out);
    if (code == EXIT_DONE && hop_measure_above(&t->last, t->ceiling))
        code = fail(t->common, EXIT_FAILED,
                    "%.200s: the accuracy lies above P3's ceiling: one of the two is a bug", t->dir);
    return code;
}
