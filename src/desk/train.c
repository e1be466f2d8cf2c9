/* The verb train: gradient descent on a task, with checkpoints. */
#include "train.h"

#include <math.h>
#include <string.h>

HOP_RECORD_TABLE(hop_train_answer, HOP_TRAIN_ANSWER, "what a training has learnt")

typedef struct training {
    const train_args *args;
    const char *dir;
    hop_transport *ranks;
    hop_recipe recipe;
    int64_t parameters;
    double ceiling; /* P3's; NaN where it says nothing */
    hop_measure last;
    bool told; /* what is trained */
} training;

/* ---- while it runs -------------------------------------------------------------------------- */

static void tell_begin(const training *t)
{
    const hop_recipe *r = &t->recipe;
    const bool linear = strchr(r->pattern, 'L') != NULL;
    hop_text line = {0};
    hop_text_printf(&line, "%s%s%s%s, %lld parameters, ", r->pattern, linear ? " (L " : "",
                    linear ? r->mixer : "", linear ? ")" : "", (long long)t->parameters);
    hop_sizes_say(&line, &r->task);
    hop_text_printf(&line, ", %lld tokens, %lld steps of %lld", (long long)r->task.length,
                    (long long)r->steps, (long long)r->batch);
    hop__news(&t->args->ask, &line);
}

static void tell_measure(void *ctx, const hop_measure *m)
{
    training *t = ctx;
    hop_text line = {0};
    if (t->ranks->rank > 0 || m->last) return;
    if (!t->told) tell_begin(t); /* not before: what cannot begin says one line */
    t->told = true;
    hop_text_printf(&line, "step %6lld  loss %7.4f  accuracy %6.2f %% (%.2f to %.2f)  %.0f tokens/s  %.0f s",
                    (long long)m->step, m->loss, 100 * m->accuracy, 100 * m->low, 100 * m->high,
                    m->tokens_per_second, m->seconds);
    hop__news(&t->args->ask, &line);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static hop_status record(hop_response *out, const training *t, hop_error *err)
{
    hop_keep *k = &out->memory;
    const hop_measure *m = &t->last;
    hop_json_writer task = {0};
    hop_train_answer *a = hop_response_begin(out, &hop_train_answer_record, err);
    double *interval = hop_keep_bytes(k, 2, sizeof *interval);
    if (!a || !interval) return hop_fail(err, HOP_ENOMEM, "out of memory");
    interval[0] = m->low;
    interval[1] = m->high;
    hop_task_write(&t->recipe.task, &task);
    *a = (hop_train_answer){.pattern = hop_keep_text(k, t->recipe.pattern),
                            .mixer = hop_keep_text(k, t->recipe.mixer),
                            .task = hop_keep_grown(k, &task.text),
                            .seed = (int64_t)t->recipe.seed,
                            .parameters = t->parameters,
                            .steps = m->step,
                            .loss = m->loss,
                            .instances = m->instances,
                            .correct = m->correct,
                            .accuracy = m->accuracy,
                            .interval = {interval, 2},
                            .answers = m->answers,
                            .chance = m->chance,
                            .accuracy_ceiling = t->ceiling,
                            .tokens_per_second = m->tokens_per_second,
                            .seconds = m->seconds,
                            .dir = hop_keep_text(k, t->dir)};
    if (hop_measure_above(m, t->ceiling)) {
        out->exit = HOP_EXIT_FAILED;
        out->complaint = hop_keep_printf(
            k, "%.200s: the accuracy lies above P3's ceiling: one of the two is a bug", t->dir);
    }
    return hop_response_end(out, err);
}

/* ---- the verb ------------------------------------------------------------------------------- */

/* Whether every rank comes to this end by itself: a loss that is not finite is everybody's, a full disk rank
 * 0's. */
static bool ends_together(hop_status s)
{
    return s == HOP_OK || s == HOP_ERANGE || s == HOP_ESTOPPED;
}

static hop_status prepare(training *t, hop_error *err)
{
    hop_layout *l = NULL;
    hop_status s = hop__train_recipe(&t->recipe, &l, t->args, err);
    if (s != HOP_OK) return s;
    for (int64_t i = 0; i < hop_layout_count(l); i++) t->parameters += hop_slot_floats(hop_layout_at(l, i));
    t->ceiling = hop_train_ceiling(hop_layout_config(l), &t->recipe.task);
    hop_layout_free(l);
    return HOP_OK;
}

static hop_status train(hop_response *out, training *t, hop_error *err)
{
    const train_args *a = t->args;
    hop_pool *pool;
    out->apart = true; /* from here on a rank may fail by itself */
    hop_status s = hop__pool(&pool, &a->ask, err);
    if (s != HOP_OK) return s;
    const hop_train_options o = {.pool = pool,
                                 .progress = &a->ask.progress,
                                 .dir = t->dir,
                                 .resume = a->resume.given,
                                 .measured = tell_measure,
                                 .ctx = t,
                                 .ranks = t->ranks};
    s = hop_train_run(&t->recipe, &o, &t->last, err);
    hop_pool_free(pool);
    out->apart = !ends_together(s);
    if (s != HOP_OK && t->ranks->rank > 0 && ends_together(s)) {
        out->exit = HOP_EXIT_FAILED; /* rank 0 says why */
        return HOP_OK;
    }
    if (s == HOP_ESTOPPED)
        return hop_fail(err, s, "stopped: on request; `hopbound train --resume %.200s` continues", t->dir);
    return s == HOP_OK && t->ranks->rank == 0 ? record(out, t, err) : s;
}

/* What is wrong everywhere is said once. */
static hop_status ask_train(hop_response *out, const void *request, hop_error *err)
{
    const train_args *a = request;
    hop_transport *own;
    training t = {.args = a, .dir = a->resume.given ? a->resume.text : a->output.text};
    t.ranks = hop__ranks(&a->ask, &own, err);
    if (!t.ranks) return HOP_ENOMEM;
    hop_status s = t.ranks->rank == 0 ? prepare(&t, err) : HOP_OK;
    int64_t said = hop__exit(s);
    hop_status got = t.ranks->broadcast(t.ranks, &said, s == HOP_OK ? err : NULL);
    out->exit = (hop_exit)said;
    if (s == HOP_OK) s = got;
    if (s == HOP_OK && !said && t.ranks->rank > 0) s = prepare(&t, err);
    if (s == HOP_OK && !said) s = train(out, &t, err);
    hop_transport_close(own, 0);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = hop__train_options},
    HOP_SIZE_GROUP(train_args, sizes),
    {.title = "The recipe", .opts = hop__recipe_options},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound train -o net",
     "Three full-attention layers learn two hops at m 8, fan 4, taught every hop."},
    {"hopbound train --pattern 'F F' --hops 1 --m 16 --steps 2000 -o net",
     "Two learn one hop."},
    {"hopbound train --pattern 'L F F' --mixer gdn --seed 3 -o net",
     "One linear layer and two full ones learn two hops."},
    {"hopbound train --resume net",
     "After a signal, a power cut or kill -9: goes on to the same bits."},
    {"mpirun -n 4 hopbound train --groups 16 --batch 256 -o net",
     "Four processes share a batch."},
    {"hopbound train --config recipe.json --lr 3e-4 -o net",
     "A recipe from a file, with another learning rate."},
    {0},
};
const hop_verb hop__verb_train = {
    .name = "train",
    .summary = "trains a pattern on a task, on fresh samples, with checkpoints",
    .description =
        "AdamW with a warm-up and a cosine, on a batch of new instances each step: instance s * batch + i of the seed "
        "is sample i of step s, so there is no data set. The loss is the answer's cross entropy; with --supervise "
        "chain also that of heads that read the hops before it, i_l after the layer that should know it, at the last "
        "token. Such heads are the training's, not the network's.\n\n"
        "Accuracy is that on held-out instances, with Wilson's interval of 95 %; chance is that of whoever has not "
        "read the input. For networks of linear layers only, P3's ceiling stands beside it, and an accuracy above it, "
        "by five standard deviations, is exit 1: that would be a bug.\n\n"
        "The directory is a network's, which `run`, `play`, `prove` take, with checkpoint.safetensors and log.jsonl "
        "beside it, and one process at a time trains there. A checkpoint is written at intervals and on SIGINT and SIGTERM "
        "(a second one ends it at once); --resume continues to the bits of a "
        "training that was never stopped. kill -9 loses at most one interval. No bit depends on --threads.\n\n"
        "Under mpirun the ranks share each batch, to the bits of one process, and rank 0 alone writes; --threads is each "
        "rank's.\n\n"
        "Loss, gradient, weight or answer that is not finite ends the training with the step and where it was met; the "
        "checkpoint before stands.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_train_answer_record,
    .ranks = true,
    .request_size = sizeof(train_args),
    .ask = ask_train,
};
/* clang-format on */
