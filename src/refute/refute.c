/* The hunt: everything, where it can be enumerated; then the strategies in turn, until one finds something or
 * the time is over. */
#include "room.h"

#include <hopbound/words.h>
#include <math.h>
#include <string.h>

#define WORK_PER_SECOND 2e9 /* of hop_enumerate_work */
#define MOST_DOUBLINGS  24  /* turns that do more than the one before */

static bool few(const hop__hunt *h)
{
    return hop_enumerate_work(h->model, h->task, h->generates) <= WORK_PER_SECOND * h->o->budget;
}

static hop_status every_input(hop__hunt *h, int turn, hop_error *err)
{
    if (turn > 0) return HOP_OK;
    hop_status s = hop_enumerate(&h->wrong, &h->tried, h->eval, h->task, err);
    h->exhausted = s == HOP_OK && !h->wrong.tokens;
    return s;
}

static const hop__strategy everything = {.name = "enumeration", .applies = few, .turn = every_input};

/* Those that show the failure as a proof tells it come first; they apply where an arithmetic was declared. */
static const hop__strategy *const STRATEGIES[] = {&hop__collision,  &hop__fooling,  &everything,
                                                  &hop__structured, &hop__sampling, &hop__guided};
#define STRATEGY_COUNT ((int)(sizeof STRATEGIES / sizeof STRATEGIES[0]))

const char *hop_refute_strategy(int index)
{
    return index >= 0 && index < STRATEGY_COUNT ? STRATEGIES[index]->name : NULL;
}

const char *const hop_refute_verdict_words[] = {"witnessed", "right on every input", "open", NULL};

const char *hop_refute_verdict_name(hop_refute_verdict v)
{
    return hop_refute_verdict_words[v];
}

/* ---- what strategies share ---------------------------------------------------------------------- */

int64_t hop__batch(const hop__hunt *h)
{
    int64_t fits = ((int64_t)1 << 18) / h->task->length;
    return fits < 1 ? 1 : fits > HOP_EVAL_BATCH ? HOP_EVAL_BATCH : fits;
}

int64_t hop__quota(const hop__hunt *h, int turn, int64_t tokens)
{
    int64_t least = 16, fits = (tokens / h->task->length) << (turn < MOST_DOUBLINGS ? turn : MOST_DOUBLINGS);
    return fits < least ? least : fits;
}

hop_status hop__ask(hop__hunt *h, hop_instance *batch, int64_t count, hop_error *err)
{
    hop_status s = hop_eval_run(h->eval, batch, count, err);
    if (s != HOP_OK && s != HOP_ESTOPPED) return s;
    hop_status looked = hop_wrong_find(&h->wrong, batch, count, 0, err);
    if (h->wrong.tokens) count = h->wrong.number + 1; /* what other threads ran behind it is chance */
    for (int64_t i = 0; i < count; i++) h->tried += batch[i].status == HOP_OK;
    return looked != HOP_OK ? looked : h->wrong.tokens ? HOP_OK : s;
}

hop_forward_options hop__forward_options(const hop__hunt *h, const hop_progress *progress)
{
    return (hop_forward_options){.max_tokens = h->task->length,
                                 .bits = h->o->arithmetic.significant_bits,
                                 .cuts = h->cuts.starts ? &h->cuts : NULL,
                                 .progress = progress};
}

int64_t hop__entry(const hop_funccomp *t, int l, int64_t w, int64_t i)
{
    return t->start[l] + (l >= 2 ? hop_funccomp_digit(t, w, l - 1) * t->size[l - 2] : 0) + i;
}

int32_t *hop__copy_tokens(const int32_t *tokens, int64_t count)
{
    int32_t *copy = hop_alloc_raw(sizeof *copy * (size_t)count);
    if (copy) memcpy(copy, tokens, sizeof *copy * (size_t)count);
    return copy;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static bool tick(void *ctx, const char *what, double done, double total)
{
    hop__hunt *h = ctx;
    if (!hop_progress_tick(h->o->progress, what, done, total)) h->interrupted = true;
    if (hop_now() > h->deadline) h->late = true;
    return !h->interrupted && !h->late;
}

static hop_status choose_arithmetic(hop__hunt *h, hop_error *err)
{
    const hop_arithmetic *a = &h->o->arithmetic;
    if ((a->significant_bits != 0) + (a->state_bits != 0) + (a->message_bits != 0) > 1)
        return hop_fail(err, HOP_EDOMAIN, "one arithmetic at a time: significant, state or message bits");
    if (a->significant_bits < 0 || a->significant_bits > 23)
        return hop_fail(err, HOP_ERANGE, "%d significant bits: 1 to 23", a->significant_bits);
    if (a->message_bits && h->task->kind != HOP_TASK_FUNCCOMP)
        return hop_fail(err, HOP_EDOMAIN, "messages are counted between the players of funccomp, not of %s",
                        hop_task_name(h->task->kind));
    if (!a->message_bits && !a->state_bits) return HOP_OK;
    h->cuts = (hop_cuts){
        .starts = h->starts, .bits = a->message_bits ? a->message_bits : 32, .kept = a->state_bits};
    const hop_funccomp *t = &h->task->funccomp;
    for (int l = t->hops; a->message_bits && l >= 0; l--) h->starts[h->cuts.count++] = t->start[l];
    h->starts[h->cuts.count++] = a->message_bits ? h->task->length - 1 : 0;
    return HOP_OK;
}

static void read_layers(hop__hunt *h)
{
    const hop_config *c = hop_model_config(h->model);
    h->causal = !c->bidirectional;
    h->recurrent = true;
    for (int64_t r = 0; r < c->pattern.run_count; r++) {
        const hop_mixer_ops *ops = hop_mixer_find(c->pattern.runs[r].mixer);
        if (ops->kind == HOP_MIXER_ALONE) continue;
        h->recurrent = h->recurrent && ops->kind == HOP_MIXER_RECURRENT;
        h->keeps = h->keeps || ops->kind == HOP_MIXER_RECURRENT;
        h->full += ops->kind == HOP_MIXER_FULL ? c->pattern.runs[r].count : 0;
    }
}

hop_status hop__hunt_ready(hop__hunt *h, hop_error *err)
{
    read_layers(h);
    return choose_arithmetic(h, err);
}

static hop_status check_fit(const hop__hunt *h, hop_error *err)
{
    const hop_config *c = hop_model_config(h->model);
    int64_t length = h->task->length + (h->generates ? h->generates - 1 : 0);
    if (c->vocab < h->task->vocab)
        return hop_fail(err, HOP_EDOMAIN, "the task needs %lld tokens, the vocabulary has %lld",
                        (long long)h->task->vocab, (long long)c->vocab);
    if (c->max_positions < length)
        return hop_fail(err, HOP_EDOMAIN, "the task is %lld tokens long, the network takes %lld",
                        (long long)length, (long long)c->max_positions);
    return HOP_OK;
}

static hop_status open_eval(hop__hunt *h, const hop_progress *progress, bool until_wrong, hop_error *err)
{
    const hop_eval_options ask = {.pool = h->o->pool,
                                  .bits = h->o->arithmetic.significant_bits,
                                  .progress = progress,
                                  .until_wrong = until_wrong,
                                  .cuts = h->cuts.starts ? &h->cuts : NULL,
                                  .cut_tokens = h->task->length};
    return hop_eval_open(&h->eval, h->model, &ask, err);
}

/* ---- the hunt ------------------------------------------------------------------------------------ */

static hop_status one_turn(hop__hunt *h, const hop__strategy *strategy, int turn, struct hop_refute_tried *by,
                           hop_error *err)
{
    double began = hop_now();
    h->tried = 0;
    hop_status s = strategy->turn(h, turn, err);
    by->tried += h->tried;
    by->seconds += hop_now() - began;
    if (s != HOP_OK || hop__caught(h) || h->exhausted) return s;
    return tick(h, strategy->name, (double)by->tried, 0) ? HOP_OK : HOP_ESTOPPED;
}

static hop_status in_turns(hop__hunt *h, hop_refutation *r, hop_error *err)
{
    const hop__strategy *list[STRATEGY_COUNT];
    struct hop__strategy_state states[STRATEGY_COUNT] = {{0}};
    int count = 0;
    for (int i = 0; i < STRATEGY_COUNT; i++) {
        const hop__strategy *x = STRATEGIES[i];
        if ((h->o->only && strcmp(h->o->only, x->name) != 0) || !x->applies(h)) continue;
        r->by[count].strategy = x->name;
        list[count++] = x;
    }
    r->strategies = count;
    if (count == 0)
        return hop_fail(err, HOP_EDOMAIN, "%s: does not apply to this network, task, arithmetic and budget",
                        h->o->only);
    hop_status s = HOP_OK;
    for (int turn = 0; s == HOP_OK && r->verdict == HOP_REFUTE_OPEN; turn++)
        for (int i = 0; s == HOP_OK && r->verdict == HOP_REFUTE_OPEN && i < count; i++) {
            h->state = &states[i];
            s = one_turn(h, list[i], turn, &r->by[i], err);
            if (s == HOP_OK && h->exhausted) r->verdict = HOP_REFUTE_NONE;
            if (s == HOP_OK && hop__caught(h)) r->verdict = HOP_REFUTE_FOUND;
            if (r->verdict == HOP_REFUTE_FOUND) r->witness.by = list[i]->name;
        }
    for (int i = 0; i < count; i++)
        if (list[i]->end) list[i]->end(states[i].memory);
    return s;
}

/* Of a witness that came as two prompts: the right answers, and what the network says. */
static hop_status answer_both(const hop__hunt *h, hop_witness *w, hop_error *err)
{
    hop_instance *both;
    hop_status s = hop_instances_new(&both, 2, h->task->length, err);
    for (int i = 0; s == HOP_OK && i < 2; i++) {
        memcpy(both[i].tokens, w->prompt[i].tokens, sizeof *both[i].tokens * (size_t)h->task->length);
        both[i].asked = hop_task_solve(h->task, both[i].tokens, both[i].targets);
    }
    if (s == HOP_OK) s = hop_eval_run(h->eval, both, 2, err);
    for (int i = 0; s == HOP_OK && i < 2; i++) {
        s = both[i].status;
        w->prompt[i].right = both[i].targets[w->prompt[i].position];
        w->prompt[i].answer = both[i].answers[w->prompt[i].position];
    }
    hop_instances_free(both, 2);
    if (s == HOP_OK &&
        (w->prompt[0].answer != w->prompt[1].answer || w->prompt[0].right == w->prompt[1].right))
        s = hop_fail(err, HOP_EFORMAT,
                     "two prompts that should be confused are not: an error of this program");
    return s;
}

/* From what was found to a witness; no longer under the budget, since it is short. */
static hop_status make_witness(hop__hunt *h, hop_refutation *r, hop_error *err)
{
    const char *by = r->witness.by;
    hop_eval_close(h->eval);
    h->eval = NULL;
    h->deadline = INFINITY;
    h->late = h->interrupted = false;
    hop_status s = open_eval(h, NULL, false, err);
    r->witness = h->found;
    h->found = (hop_witness){0};
    if (s == HOP_OK && h->wrong.tokens)
        s = hop__witness_of_input(&r->witness, h, &h->wrong, err);
    else if (s == HOP_OK)
        s = answer_both(h, &r->witness, err);
    r->witness.by = by;
    r->witness.arithmetic = h->o->arithmetic;
    r->witness.length = h->task->length;
    r->witness.seed = h->o->seed;
    r->witness.tried = r->tried;
    if (s == HOP_OK && r->witness.prompts == 2)
        s = hop__trace(&r->witness.trace, &r->witness.trace_count, &r->witness, h, err);
    return s;
}

static hop_status hunt(hop__hunt *h, hop_refutation *r, hop_error *err)
{
    hop_status s = in_turns(h, r, err);
    if (s == HOP_ESTOPPED) s = HOP_OK; /* the time is over, or the caller said so: what was found counts */
    r->interrupted = h->interrupted;
    for (int i = 0; i < r->strategies; i++) r->tried += r->by[i].tried;
    if (s == HOP_OK && r->verdict == HOP_REFUTE_FOUND) s = make_witness(h, r, err);
    return s;
}

hop_status hop_refute(hop_refutation *r, const hop_model *m, const hop_task *task,
                      const hop_refute_options *o, hop_error *err)
{
    hop__hunt h = {.model = m, .task = task, .o = o, .deadline = hop_now() + o->budget};
    h.progress = (hop_progress){.tick = tick, .ctx = &h};
    *r = (hop_refutation){.verdict = HOP_REFUTE_OPEN};
    hop_status s = hop__hunt_ready(&h, err);
    if (s == HOP_OK) s = open_eval(&h, &h.progress, true, err);
    if (s == HOP_OK) {
        h.generates = hop_eval_generates(h.eval);
        s = check_fit(&h, err);
    }
    if (s == HOP_OK) s = hunt(&h, r, err);
    hop_eval_close(h.eval);
    hop_free(h.wrong.tokens);
    hop__witness_free(&h.found);
    if (s != HOP_OK) hop_refutation_free(r);
    return s;
}

void hop_refutation_free(hop_refutation *r)
{
    hop__witness_free(&r->witness);
    *r = (hop_refutation){0};
}
