/* The loop: evaluate where it is due, keep where it is due, step. Everything that the next step depends on is
 * in hop__state, so that a training that was stopped goes on as if nothing had been. */
#include "room.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct training {
    const hop_recipe *recipe;
    const hop_train_options *o;
    hop_model *model;
    hop__chain chain;
    float *heads;
    hop__state state;
    hop__gradient *gradient;
    hop__heldout *heldout;
    hop_progress
        forward; /* within a step or an evaluation: shows where training stands, asks whether to stop */
    char label[96];
    hop_measure *last;
    hop_lock lock;      /* of the directory */
    bool keeping;       /* what was stopped is still looked at before it is kept */
    double done, total; /* tokens, as if all tasks were as long as the last */
} training;

/* ---- progress --------------------------------------------------------------------------------- */

static void set_label(training *t, double loss)
{
    if (t->last->instances > 0)
        snprintf(t->label, sizeof t->label, "tokens: loss %.3f, accuracy %.1f %%", loss,
                 100 * t->last->accuracy);
    else
        snprintf(t->label, sizeof t->label, isnan(loss) ? "tokens" : "tokens: loss %.3f", loss);
}

static bool tick(const training *t)
{
    return hop_progress_tick(t->o->progress, t->label, t->done, t->total);
}

static int ranks_of(const training *t)
{
    return t->o->ranks ? t->o->ranks->ranks : 1;
}

static bool writes(const training *t)
{
    return t->o->dir && (!t->o->ranks || t->o->ranks->rank == 0);
}

/* Within a step or an evaluation. Ranks stop together, between steps: what each makes, ends. */
static bool tick_within(void *ctx, const char *what, double done, double total)
{
    const training *t = ctx;
    char label[sizeof t->label];
    const bool counts = *what && total > 0; /* an evaluation; steps are counted by tokens alone */
    if (counts) snprintf(label, sizeof label, "tokens: %s %.0f of %.0f", what, done, total);
    return t->keeping || hop_progress_tick(t->o->progress, counts ? label : t->label, t->done, t->total) ||
           ranks_of(t) > 1;
}

/* ---- making ------------------------------------------------------------------------------------ */

static hop_status make_params(training *t, hop_error *err)
{
    hop__params *p = &t->state.params;
    int64_t network = hop_layout_floats(hop_model_layout(t->model));
    t->heads = t->chain.floats ? hop_alloc(sizeof(float) * (size_t)t->chain.floats) : NULL;
    p->part[0] = hop_model_block(t->model);
    p->part[1] = t->heads;
    p->size[0] = network;
    p->size[1] = t->chain.floats;
    p->start[1] = (network + HOP__CHUNK - 1) / HOP__CHUNK * HOP__CHUNK;
    p->floats = p->start[1] + p->size[1];
    t->state.adam.first = hop_alloc(sizeof(float) * (size_t)p->floats);
    t->state.adam.second = hop_alloc(sizeof(float) * (size_t)p->floats);
    if (!t->state.adam.first || !t->state.adam.second || (t->chain.floats && !t->heads))
        return hop_fail(err, HOP_ENOMEM, "moments of %lld weights: out of memory", (long long)p->floats);
    if (t->heads) hop__chain_draw(&t->chain, t->heads, t->recipe->seed);
    return HOP_OK;
}

/* What cannot be had is said before minutes are spent on drawing weights. */
static hop_status look_for_room(const hop_recipe *r, hop_error *err)
{
    hop_layout *l;
    hop_status s = hop_recipe_layout(r, &l, err);
    if (s != HOP_OK) return s;
    /* Weights as they are and laid out twice, two moments, gradients. */
    const double wanted = sizeof(float) * (5.0 + (double)r->groups) * (double)hop_layout_floats(l);
    const size_t left = hop_memory_left();
    hop_layout_free(l);
    if (left == SIZE_MAX || wanted <= (double)left) return HOP_OK;
    return hop_fail(err, HOP_ENOMEM,
                    "weights, moments and %lld groups' gradients take %.1f GB; %.1f GB of memory are left",
                    (long long)r->groups, wanted / 1e9, (double)left / 1e9);
}

static hop_status make(training *t, hop_error *err)
{
    const hop_recipe *r = t->recipe;
    hop_status s = look_for_room(r, err);
    if (s == HOP_OK) s = hop_recipe_model(r, &t->model, err);
    if (s != HOP_OK) return s;
    hop__chain_init(&t->chain, r, hop_model_config(t->model));
    s = make_params(t, err);
    t->forward = (hop_progress){.tick = tick_within, .ctx = t};
    if (s == HOP_OK)
        s = hop__gradient_new(&t->gradient, r, t->model, &t->chain, &t->state.params, t->o, &t->forward, err);
    if (s == HOP_OK) s = hop__heldout_new(&t->heldout, t->model, r, t->o->pool, &t->forward, err);
    hop_task any;
    for (int64_t i = 0; s == HOP_OK && i < r->steps; i += 1 + r->steps / 64)
        s = hop__recipe_task(r, i, &any, err);
    t->state.measured = -1;
    t->state.best = -1;
    t->total = (double)r->steps * (double)r->batch * (double)r->task.length;
    set_label(t, NAN);
    return s;
}

static void unmake(training *t)
{
    hop_dir_unlock(&t->lock);
    hop__gradient_free(t->gradient);
    hop__heldout_free(t->heldout);
    hop_free(t->state.adam.first);
    hop_free(t->state.adam.second);
    hop_free(t->heads);
    hop_model_free(t->model);
}

/* ---- keeping ------------------------------------------------------------------------------------ */

/* An update can be the one that breaks the network: then what was kept before it stands. */
static hop_status still_finite(const training *t, hop_error *err)
{
    const hop__params *p = &t->state.params;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < p->size[k]; i++)
            if (!isfinite(p->part[k][i]))
                return hop_fail(err, HOP_ERANGE, "step %lld: a weight is not finite; a lower --lr may help",
                                (long long)t->state.step - 1);
    return HOP_OK;
}

/* The checkpoint first: the network can be made again from it, and not the other way round. */
static hop_status keep(training *t, hop_error *err)
{
    hop_status sound = still_finite(t, err);
    t->keeping = true;
    if (sound == HOP_OK) sound = hop__heldout_probe(t->heldout, t->state.step, err);
    t->keeping = false;
    if (sound != HOP_OK || !writes(t)) return sound;
    hop_status s = hop__checkpoint_save(&t->state, t->recipe, t->o->dir, err);
    return s == HOP_OK ? hop_model_save(t->model, t->o->dir, err) : s;
}

/* What was begun and could not be kept. */
static void forget(const char *dir, bool new)
{
    static const char *const files[] = {HOP__CHECKPOINT, HOP__LOG, "config.json"};
    char path[4096];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (hop_path_join(path, sizeof path, dir, files[i], NULL) == HOP_OK) remove(path);
    if (new) remove(dir);
}

/* Whether the network beside the checkpoint is the training's: another one that was written there since must
 * not be lost. A missing one is written again. */
static hop_status own_network(const training *t, hop_error *err)
{
    char path[4096];
    hop_json_doc doc = {0};
    hop_recipe there;
    hop_status s = hop_path_join(path, sizeof path, t->o->dir, "config.json", err);
    if (s != HOP_OK || !hop_is_there(path)) return s;
    s = hop_json_load(&doc, path, err);
    if (s != HOP_OK) return s;
    hop_recipe_init(&there);
    const hop_json *how = hop_json_get(doc.root, "construction"),
                   *recipe = how ? hop_json_get(how, "recipe") : NULL;
    char *a = recipe && hop_recipe_read(&there, recipe, NULL) == HOP_OK ? hop__recipe_text(&there) : NULL,
         *b = hop__recipe_text(t->recipe);
    if (!b || !a || strcmp(a, b) != 0)
        s = hop_fail(err, HOP_EIO,
                     "%s: is not the network of the checkpoint beside it; move one of them away", path);
    free(a), free(b);
    hop_json_free(&doc);
    return s;
}

static hop_status go_on(training *t, hop_error *err)
{
    const char *dir = t->o->dir;
    if (!t->o->resume)
        return hop_fail(err, HOP_EIO,
                        "%s: holds the checkpoint of a training; resume it, or choose another directory",
                        dir);
    hop_status s = hop__checkpoint_load(&t->state, t->recipe, dir, err);
    if (s == HOP_OK) s = own_network(t, err);
    if (s == HOP_OK) s = hop__log_begin(dir, t->state.measured, err);
    return s == HOP_OK ? hop_model_save(t->model, dir, err) : s; /* it may have been killed in between */
}

/* A network that was not trained here is somebody's. */
static hop_status no_network(const char *dir, hop_error *err)
{
    char path[4096];
    hop_status s = hop_path_join(path, sizeof path, dir, "config.json", err);
    return s == HOP_OK && hop_is_there(path)
               ? hop_fail(err, HOP_EIO, "%s: holds a network; choose another directory", dir)
               : s;
}

static hop_status start(training *t, hop_error *err)
{
    const char *dir = t->o->dir;
    hop_status s = hop__checkpoint_save(&t->state, t->recipe, dir, err);
    if (s == HOP_OK) s = hop__log_begin(dir, -1, err);
    return s == HOP_OK ? hop_model_save(t->model, dir, err) : s;
}

/* Rank 0's part, or that of one process. */
static hop_status begin_first(training *t, hop_error *err)
{
    const char *dir = t->o->dir;
    bool new = !hop_is_dir(dir);
    hop_status s = hop_make_dir(dir, err);
    if (s != HOP_OK) return s;
    s = hop_dir_lock(&t->lock, dir, err);
    if (s == HOP_OK && hop_train_holds(dir)) return go_on(t, err);
    if (s == HOP_OK && (s = no_network(dir, err)) != HOP_OK) return s;
    bool mine = s == HOP_OK;
    if (mine) s = start(t, err);
    if (s != HOP_OK && mine) forget(dir, new);
    if (s != HOP_OK && !mine && new) remove(dir);
    return s;
}

/* Other ranks go where the first is. */
static hop_status begin(training *t, hop_error *err)
{
    hop_transport *ranks = t->o->ranks;
    if (!t->o->dir) return HOP_OK;
    if (ranks_of(t) == 1) return begin_first(t, err);
    hop_error why = {0};
    hop_status s = ranks->rank == 0 ? begin_first(t, &why) : HOP_OK;
    int64_t at = s == HOP_OK ? t->state.step : -1;
    hop_status told = ranks->broadcast(ranks, &at, err);
    if (s != HOP_OK && err) *err = why;
    if (s != HOP_OK || told != HOP_OK) return s != HOP_OK ? s : told;
    if (ranks->rank == 0) return HOP_OK;
    if (at < 0) return hop_fail(err, HOP_ESTOPPED, "rank 0 could not begin");
    if (at > 0) s = hop__checkpoint_load(&t->state, t->recipe, t->o->dir, err);
    if (s == HOP_OK && t->state.step != at)
        s = hop_fail(err, HOP_EIO, "rank %d: reads another checkpoint than rank 0", ranks->rank);
    return s;
}

/* ---- measuring ----------------------------------------------------------------------------------- */

static hop_status measure(training *t, bool last, hop_error *err)
{
    hop__state *s = &t->state;
    hop_measure m = {.step = s->step, .last = last, .seconds = s->seconds};
    m.ceiling = hop_train_ceiling(hop_model_config(t->model), &t->recipe->task);
    hop_status got = hop__heldout_ask(t->heldout, &m, err);
    if (got != HOP_OK) return got;
    if (s->loss_count) s->loss = s->loss_sum / (double)s->loss_count;
    s->loss_sum = 0;
    s->loss_count = 0;
    m.loss = s->loss;
    m.tokens_per_second = s->seconds > 0 ? s->tokens / s->seconds : 0;
    if (!last) {
        s->measured = s->step;
        if (m.accuracy > s->best) s->best = m.accuracy;
        if (t->recipe->target > 0 && m.accuracy >= t->recipe->target) s->reached = 1;
    }
    *t->last = m;
    if (t->o->measured) t->o->measured(t->o->ctx, &m);
    return writes(t) ? hop__log_add(t->o->dir, &m, hop__learning_rate(t->recipe, s->step), err) : HOP_OK;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

/* The tensor whose gradient is the first on the way back that is not finite; NULL: none is. */
static const char *broken_gradient(const training *t, const float *sum)
{
    const hop_layout *l = hop_model_layout(t->model);
    for (int64_t i = hop_layout_count(l) - 1; i >= 0; i--) {
        const hop_slot *slot = hop_layout_at(l, i);
        for (int64_t k = 0; k < hop_slot_floats(slot); k++)
            if (!isfinite(sum[slot->offset + k])) return slot->name;
    }
    for (int64_t k = 0; k < t->chain.floats; k++)
        if (!isfinite(sum[t->state.params.start[1] + k])) return "a chain's head";
    return NULL;
}

/* Says where: a layer that puts out what is not finite, or else a gradient. */
static hop_status not_finite(const training *t, const hop__batch_result *b, const hop_task *task,
                             hop_error *err)
{
    const long long step = (long long)t->state.step;
    const int64_t behind = hop__gradient_breaks(t->gradient, task, t->state.step);
    const char *tensor = behind < 0 ? broken_gradient(t, b->sum) : NULL;
    char where[160] = "the loss";
    if (behind == 0)
        snprintf(where, sizeof where, "the sum of the tables");
    else if (behind > 0)
        snprintf(where, sizeof where, "what comes out of layer %lld (%s)", (long long)behind - 1,
                 hop_pattern_mixer(&hop_model_config(t->model)->pattern, behind - 1));
    else if (tensor)
        snprintf(where, sizeof where, "the gradient of %s", tensor);
    return hop_fail(err, HOP_ERANGE, "step %lld: %s is not finite; a lower --lr may help", step, where);
}

static hop_status step(training *t, hop_error *err)
{
    hop__state *s = &t->state;
    hop__batch_result b;
    hop_task task;
    double began = hop_now();
    hop_status got = hop__recipe_task(t->recipe, s->step, &task, err);
    if (got == HOP_OK) got = hop__gradient_batch(t->gradient, &task, s->step, &b, err);
    if (got != HOP_OK) return got;
    if (!isfinite(b.loss) || !isfinite(b.norm)) return not_finite(t, &b, &task, err);
    hop__adamw_step(&s->adam, t->recipe, &s->params, &b, s->step, t->o->pool);
    s->step++;
    s->loss_sum += b.loss;
    s->loss_count++;
    s->seconds += hop_now() - began;
    s->tokens += (double)t->recipe->batch * (double)task.length;
    t->done = (double)s->step * (double)t->recipe->batch * (double)t->recipe->task.length;
    set_label(t, b.loss);
    int64_t stop = !tick(t);
    if (ranks_of(t) > 1) got = t->o->ranks->largest(t->o->ranks, &stop, err);
    if (got != HOP_OK) return got;
    return stop ? hop_fail(err, HOP_ESTOPPED, "stopped on request") : HOP_OK;
}

static bool due(int64_t step, int64_t every)
{
    return every > 0 && step > 0 && step % every == 0;
}

static hop_status loop(training *t, hop_error *err)
{
    const hop_recipe *r = t->recipe;
    hop__state *s = &t->state;
    hop_status got = HOP_OK;
    int64_t kept = s->step;
    while (got == HOP_OK) {
        if (due(s->step, r->eval_every) && s->measured < s->step) got = measure(t, false, err);
        if (got == HOP_OK && due(s->step, r->checkpoint_every) && kept < s->step) {
            got = keep(t, err);
            kept = s->step;
        }
        if (got != HOP_OK || s->step >= r->steps || s->reached) break;
        got = step(t, err);
    }
    if (got == HOP_OK && kept < s->step) got = keep(t, err);
    if (got == HOP_OK) got = measure(t, true, err);
    if (got == HOP_ESTOPPED && kept < s->step) {
        hop_error why = {0};
        if (keep(t, &why) != HOP_OK) {
            if (err) *err = why;
            return why.status;
        }
    }
    return got;
}

hop_status hop_train_run(const hop_recipe *r, const hop_train_options *o, hop_measure *last, hop_error *err)
{
    training *t = hop_alloc(sizeof *t);
    *last =
        (hop_measure){.loss = NAN, .accuracy = NAN, .low = NAN, .high = NAN, .chance = NAN, .ceiling = NAN};
    if (!t) return hop_fail(err, HOP_ENOMEM, "out of memory");
    t->recipe = r;
    t->o = o;
    t->last = last;
    hop_status s = make(t, err);
    if (s == HOP_OK) s = begin(t, err);
    if (s == HOP_OK) s = loop(t, err);
    unmake(t);
    hop_free(t);
    return s;
}
