/* Verdicts. Intervals first: they cover any size. Enumeration too where it is affordable: it shares no
 * reasoning with the intervals. And when a bound fails, a search for an input on which the network really
 * errs, because a failed bound alone says nothing. */
#include <hopbound/eval.h>
#include <hopbound/layers.h>
#include <hopbound/refute.h>
#include <hopbound/verdict.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A network and a task, and the way to ask. */
typedef struct subject {
    const hop_model *model;
    const hop_task *task;
    const hop_prove_options *options;
    int64_t generates;
    hop_eval *eval;
} subject;

static hop_status check_fit(const subject *u, hop_error *err)
{
    const hop_config *c = hop_model_config(u->model);
    if (c->vocab < u->task->vocab)
        return hop_fail(err, HOP_EDOMAIN, "the task needs %lld tokens, the vocabulary has %lld",
                        (long long)u->task->vocab, (long long)c->vocab);
    int64_t length = u->task->length + (u->generates ? u->generates - 1 : 0);
    if (c->max_positions < length)
        return hop_fail(err, HOP_EDOMAIN, "the task is %lld tokens long, the network takes %lld",
                        (long long)length, (long long)c->max_positions);
    return HOP_OK;
}

static void refute(hop_proof *p, const hop_wrong *f)
{
    p->verdict = HOP_REFUTED;
    p->by_interval = false;
    p->counterexample = f->tokens;
    p->position = f->position;
    p->expected = f->expected;
    p->got = f->got;
}

static hop_status by_enumeration(hop_proof *p, const subject *u, hop_error *err)
{
    hop_wrong found;
    hop_status s = hop_enumerate(&found, &p->enumerated, u->eval, u->task, err);
    if (s != HOP_OK) return s;
    p->by_enumeration = true;
    p->verdict = HOP_PROVED;
    if (!found.tokens) return HOP_OK;
    char said[24];
    snprintf(said, sizeof said, found.got < 0 ? "by no token" : "%lld", (long long)found.got);
    snprintf(p->why, sizeof p->why, "input %lld of the enumeration is answered %s, not %lld",
             (long long)found.number, said, (long long)found.expected);
    refute(p, &found);
    return HOP_OK;
}

/* ---- what a verdict means -------------------------------------------------------------------- */

/* Of a network that others wrote, whose own library forms other numbers on its way. */
#define THEIRS                                                                                              \
    "config.json's class in float32, in this program's steps: another library's may overflow or underflow " \
    "elsewhere"

/* [1]: of such a network. */
#define COVERS(name, ...)                                                                     \
    static const char *const name[2][8] = {{"every input of these sizes", __VA_ARGS__, NULL}, \
                                           {"every input of these sizes", THEIRS, __VA_ARGS__, NULL}}

COVERS(covers_all, "float32, every order of summation, with or without fused multiply-add",
       "whole sequences, chunks of up to 32 tokens, token by token, up to 128 segments at 32 bits",
       "every instruction set of the kernels, any number of threads");
static const char *const rests_on_bounds[] = {
    "IEEE 754 float32 and double arithmetic, rounded to nearest",
    "the kernels' exponential: within 2^-21, or both below 2^-120 (checked over all floats)",
    "this program: the transfer functions of src/prove, the layers' lists of operations, the matrix product",
    NULL,
};
COVERS(
    covers_game,
    "the game of one player a function, one for z_0 and one for w: what crosses rounded to so many bits, or "
    "to more",
    "float32, every order of summation, with or without fused multiply-add",
    "whole sequences, chunks of up to 32 tokens, token by token, up to 128 segments at 32 bits",
    "every instruction set of the kernels, any number of threads");
COVERS(covers_cut,
       "`run --precision` at so many bits: tables, activations, attention's weights and states cut to them",
       "float32 in between, every order of summation, with or without fused multiply-add",
       "every instruction set of the kernels, any number of threads");
COVERS(covers_run, "what `run` computes on this instruction set, with the same options");
static const char *const rests_on_runs[] = {"this program's forward pass on this machine", NULL};

static void say_what_it_means(hop_proof *p, const subject *u)
{
    const hop_prove_options *o = u->options;
    const bool theirs = hop_model_is_theirs(u->model);
    if (p->verdict != HOP_PROVED) return;
    p->covers = !p->by_interval           ? covers_run[theirs]
                : o->message_bits         ? covers_game[theirs]
                : o->bits && o->bits < 24 ? covers_cut[theirs]
                                          : covers_all[theirs];
    p->rests_on = p->by_interval ? rests_on_bounds : rests_on_runs;
}

/* About ten seconds of one core; counted, so that a network gets the same proof on every machine. */
#define ENUMERATE_WORK 2e10

static hop_status prove(hop_proof *p, const subject *u, hop_error *err)
{
    const hop_prove_options *o = u->options;
    int64_t inputs = hop_task_inputs(u->task);
    bool few = inputs >= 0 &&
               (o->enumerate_limit ? inputs <= o->enumerate_limit
                                   : hop_enumerate_work(u->model, u->task, u->generates) <= ENUMERATE_WORK);
    if (o->method == HOP_PROVE_ENUMERATE && inputs < 0)
        return hop_fail(err, HOP_EDOMAIN, "there are 10^%.1f inputs: too many to enumerate", p->log10_inputs);

    hop_bounds_said a = {.proved = false};
    hop_status s = HOP_OK;
    if (o->method != HOP_PROVE_ENUMERATE) {
        s = hop_prove_bounds(p, &a, u->model, u->task, u->generates, o, err);
        if (s != HOP_OK) return s;
        p->by_interval = a.proved;
        p->verdict = a.proved ? HOP_PROVED : HOP_UNDECIDED;
    }
    if (o->method == HOP_PROVE_ENUMERATE || (o->method == HOP_PROVE_AUTO && few))
        return by_enumeration(p, u, err);
    if (p->verdict == HOP_UNDECIDED) {
        hop_wrong found;
        s = hop_search(&found, u->eval, u->task, o->seed, a.hints, a.hint_count, err);
        if (s == HOP_OK && found.tokens) {
            refute(p, &found);
            p->by_search = true;
        }
    }
    return s;
}

hop_status hop_prove(hop_proof *p, const hop_model *m, const hop_task *task, const hop_prove_options *o,
                     hop_error *err)
{
    *p = (hop_proof){
        .verdict = HOP_UNDECIDED, .log10_inputs = hop_task_log10_inputs(task), .readout_margin = NAN};
    subject u = {.model = m, .task = task, .options = o};
    hop_eval_options ask = {.pool = o->pool, .progress = o->progress, .until_wrong = true, .bits = o->bits};
    int64_t starts[HOP_MAX_HOPS + 2];
    hop_cuts cuts = {.starts = starts, .bits = o->message_bits};
    if (o->message_bits && task->kind != HOP_TASK_FUNCCOMP)
        return hop_fail(err, HOP_EDOMAIN, "messages are counted between the players of funccomp, not of %s",
                        hop_task_name(task->kind));
    if (o->message_bits && hop_model_config(m)->bidirectional)
        return hop_fail(err, HOP_EDOMAIN, "a network that looks both ways has no cut that only looks back");
    if (o->message_bits && (o->message_bits < 10 || o->message_bits > 32))
        return hop_fail(err, HOP_ERANGE, "%d bits: numbers that cross have 10 to 32", o->message_bits);
    if (o->bits < 0 || o->bits > 24 || (o->bits && o->message_bits))
        return hop_fail(err, HOP_ERANGE, "%d bits: 1 to 24, and not together with messages'", o->bits);
    if (o->message_bits) {
        for (int l = task->funccomp.hops; l >= 0; l--) starts[cuts.count++] = task->funccomp.start[l];
        starts[cuts.count++] = task->length - 1;
        ask.cuts = &cuts;
        ask.cut_tokens = task->length;
    }
    hop_status s = hop_eval_open(&u.eval, m, &ask, err); /* what `run` refuses has no verdict */
    if (s == HOP_OK) {
        u.generates = hop_eval_generates(u.eval);
        s = check_fit(&u, err);
    }
    if (s == HOP_OK) s = prove(p, &u, err);
    hop_eval_close(u.eval);
    if (s != HOP_OK) hop_proof_free(p);
    if (s == HOP_OK && p->verdict == HOP_PROVED) p->why[0] = 0;
    if (s == HOP_OK) say_what_it_means(p, &u);
    return s;
}
