/* Verdicts. Intervals first: they cover any size. Enumeration too where it is affordable: it shares no
 * reasoning with the intervals. And when a bound fails, a search for an input on which the network really
 * errs, because a failed bound alone says nothing. */
#include <hopbound/construct.h>

#include "prove.h"

#include <stdio.h>
#include <string.h>

const char *hop_verdict_name(hop_verdict v)
{
    return v == HOP_PROVED ? "proved" : v == HOP_REFUTED ? "refuted" : "undecided";
}

void hop_proof_free(hop_proof *p)
{
    hop_free(p->margins);
    hop_free(p->counterexample);
    *p = (hop_proof){0};
}

static hop_status check_fit(const hop_model *m, const hop_task *task, hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    if (c->vocab < task->vocab)
        return hop_fail(err, HOP_EDOMAIN, "the task needs %lld tokens, the vocabulary has %lld",
                        (long long)task->vocab, (long long)c->vocab);
    int64_t length = task->length + (hop__generated(m) ? hop__generated(m) - 1 : 0);
    if (c->max_positions < length)
        return hop_fail(err, HOP_EDOMAIN, "the task is %lld tokens long, the network takes %lld",
                        (long long)length, (long long)c->max_positions);
    return HOP_OK;
}

static void refute(hop_proof *p, const hop__found *f)
{
    p->verdict = HOP_REFUTED;
    p->by_interval = false;
    p->counterexample = f->tokens;
    p->position = f->reply.position;
    p->expected = f->reply.expected;
    p->got = f->reply.got;
}

static hop_status by_enumeration(hop_proof *p, const hop_model *m, const hop_task *task,
                                 const hop_prove_options *o, hop_error *err)
{
    hop__found found = {0};
    hop_status s = hop__enumerate(&found, &p->enumerated, m, task, o, !p->by_interval, err);
    if (s != HOP_OK) return s;
    if (!found.tokens) {
        p->by_enumeration = true;
        p->verdict = HOP_PROVED;
        return HOP_OK;
    }
    if (found.confirmed) {
        snprintf(p->why, sizeof p->why, "input %lld of the enumeration is answered %lld, not %lld",
                 (long long)found.number, (long long)found.reply.got, (long long)found.reply.expected);
        p->by_enumeration = true;
        refute(p, &found);
        return HOP_OK;
    }
    hop_free(found.tokens);
    p->verdict = HOP_UNDECIDED; /* step and forward disagree: the input sits on the edge of rounding */
    snprintf(p->why, sizeof p->why, "input %lld is wrong token by token but right as a whole",
             (long long)found.number);
    return HOP_OK;
}

/* Which reasoning fits the network; each one checks for itself that it applies. */
static hop__analyse_fn *analysis_for(const hop_model *m, const hop_task *task)
{
    const hop_config *c = hop_model_config(m);
    bool full = false;
    for (int64_t r = 0; r < c->pattern.run_count; r++)
        full = full || strcmp(c->pattern.runs[r].mixer, "full") == 0;
    if (task->kind == HOP_TASK_TWOSUM) return hop__prove_twosum;
    if (c->bidirectional) return hop__prove_encoder;
    if (hop__generated(m)) return hop__prove_cot;
    return full ? hop__prove_chain : hop__prove_linear;
}

/* About ten seconds of one core. The estimate counts and does not measure, so that a network gets the same
 * proof on every machine and with any number of threads: a multiplication for each weight and token, and what
 * a layer costs however small it is. Weights that are drawn anew for each input cost as much as some tokens
 * more. */
#define ENUMERATE_WORK 2e10
#define LAYER_WORK     4000.0
#define SEEDED_WORK    16.0

static bool affordable(const hop_model *m, const hop_task *task, int64_t inputs)
{
    const hop_config *c = hop_model_config(m);
    double tokens = (double)(task->length + hop__generated(m)) + (c->seeded ? SEEDED_WORK : 0);
    double one = (double)c->pattern.layers * LAYER_WORK + tokens * (double)hop_model_parameters(m);
    return (double)inputs * one <= ENUMERATE_WORK;
}

static hop_status prove(hop_proof *p, const hop_model *m, const hop_task *task, const hop_prove_options *o,
                        hop_error *err)
{
    int64_t inputs = hop_task_inputs(task);
    bool few =
        inputs >= 0 && (o->enumerate_limit ? inputs <= o->enumerate_limit : affordable(m, task, inputs));
    if (o->method == HOP_PROVE_ENUMERATE && inputs < 0)
        return hop_fail(err, HOP_EDOMAIN, "there are 10^%.1f inputs: too many to enumerate", p->log10_inputs);

    hop__hint hints[HOP__HINTS];
    int hint_count = 0;
    bool proved = false;
    hop_status s = HOP_OK;
    if (o->method != HOP_PROVE_ENUMERATE) {
        s = analysis_for(m, task)(p, m, task, o, &proved, hints, &hint_count, err);
        if (s != HOP_OK) return s;
        p->by_interval = proved;
        p->verdict = proved ? HOP_PROVED : HOP_UNDECIDED;
    }
    if (o->method == HOP_PROVE_ENUMERATE || (o->method == HOP_PROVE_AUTO && few)) {
        s = by_enumeration(p, m, task, o, err);
        if (s != HOP_OK || p->verdict != HOP_UNDECIDED) return s;
        p->by_interval = false;
    }
    if (p->verdict == HOP_UNDECIDED) {
        hop__found found = {0};
        s = hop__search(&found, m, task, o, hints, hint_count, err);
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
    hop_status s = check_fit(m, task, err);
    if (s == HOP_OK) s = prove(p, m, task, o, err);
    if (s != HOP_OK) hop_proof_free(p);
    if (s == HOP_OK && p->verdict == HOP_PROVED) p->why[0] = 0;
    return s;
}
