/* From an input that is answered wrongly to two prompts that differ in as little as can be: one token, where
 * one is enough to change the right answer. If the network answers both alike, they are a pair that it
 * confuses. */
#include "room.h"

#include <string.h>

#define MOST_NEIGHBOURS 64   /* that are run */
#define MOST_TRIES      4096 /* changes that are looked at for them */

typedef struct neighbourhood {
    const hop__hunt *h;
    const hop_wrong *wrong;
    hop_instance *list;
    int64_t count;
} neighbourhood;

/* The wrong input with token p changed to v, if that is an input and changes the right answer where it was
 * wrong. */
static void add(neighbourhood *n, int64_t p, int64_t v)
{
    const hop_task *t = n->h->task;
    hop_instance *x = &n->list[n->count];
    if (p >= n->wrong->position) return; /* the token that answers stands behind the difference */
    if (n->count == MOST_NEIGHBOURS || v < 0 || v >= hop_task_values(t, p) || v == n->wrong->tokens[p])
        return;
    memcpy(x->tokens, n->wrong->tokens, sizeof *x->tokens * (size_t)t->length);
    x->tokens[p] = (int32_t)v;
    if (hop_task_check(t, x->tokens, t->length, NULL) != HOP_OK) return;
    x->asked = hop_task_solve(t, x->tokens, x->targets);
    n->count += x->targets[n->wrong->position] != n->wrong->expected;
}

/* Function composition: the entry that is asked for, with the network's own answer in it first. */
static void gather_entry(neighbourhood *n)
{
    const hop_funccomp *t = &n->h->task->funccomp;
    int64_t chain[HOP_MAX_HOPS + 1];
    hop_funccomp_solve(t, n->wrong->tokens, chain);
    int64_t asked = hop__entry(t, t->hops, n->wrong->tokens[t->length - 1], chain[t->hops - 1]);
    add(n, asked, n->wrong->got);
    for (int64_t v = 0; v < hop_funccomp_values(t, asked) && n->count < MOST_NEIGHBOURS; v++)
        if (v != n->wrong->got) add(n, asked, v);
}

/* Other tasks: the tokens before the one that answers, nearest first. */
static void gather_tokens(neighbourhood *n)
{
    int64_t tries = MOST_TRIES;
    for (int64_t p = n->wrong->position - 1; p >= 0 && n->count < MOST_NEIGHBOURS; p--)
        for (int64_t v = 0; v < hop_task_values(n->h->task, p) && tries > 0; v++, tries--) add(n, p, v);
}

static int64_t said(const hop_instance *x, int64_t p)
{
    return x->answers[p] == HOP_NOT_ASKED ? -1 : x->answers[p];
}

/* One after another, so that the first that is answered as the wrong input is ends it. */
static hop_status choose(neighbourhood *n, int64_t *chosen, hop_error *err)
{
    hop_status s = HOP_OK;
    *chosen = n->count ? 0 : -1;
    for (int64_t i = 0; s == HOP_OK && i < n->count; i++) {
        s = hop_eval_run(n->h->eval, &n->list[i], 1, err);
        if (s != HOP_OK || said(&n->list[i], n->wrong->position) != n->wrong->got) continue;
        *chosen = i;
        break;
    }
    return s;
}

static hop_status keep(hop_witness_prompt *p, const int32_t *tokens, int64_t length, hop_error *err)
{
    p->tokens = hop__copy_tokens(tokens, length);
    return p->tokens ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
}

/* Behind the function that holds the last difference; other tasks: behind the difference. */
static int64_t end_of_difference(const hop_task *t, const int32_t *a, const int32_t *b)
{
    int64_t p = t->length - 1;
    while (p > 0 && a[p] == b[p]) p--;
    if (t->kind != HOP_TASK_FUNCCOMP || p >= t->length - 2) return p + 1;
    int l = hop_funccomp_player(&t->funccomp, p, NULL);
    return t->funccomp.start[l] + t->funccomp.size[l - 1];
}

static hop_status build(hop_witness *w, neighbourhood *n, hop_error *err)
{
    const hop_task *t = n->h->task;
    int64_t chosen, p = n->wrong->position;
    if (t->kind == HOP_TASK_FUNCCOMP)
        gather_entry(n);
    else
        gather_tokens(n);
    hop_status s = choose(n, &chosen, err);
    if (s == HOP_OK) s = keep(&w->prompt[0], n->wrong->tokens, t->length, err);
    if (s != HOP_OK) return s;
    w->prompt[0].position = p;
    w->prompt[0].right = n->wrong->expected;
    w->prompt[0].answer = n->wrong->got;
    w->prompts = 1;
    if (chosen < 0) return HOP_OK;
    const hop_instance *x = &n->list[chosen];
    s = keep(&w->prompt[1], x->tokens, t->length, err);
    if (s != HOP_OK) return s;
    w->prompts = 2;
    w->prompt[1].position = p;
    w->prompt[1].right = x->targets[p];
    w->prompt[1].answer = said(x, p);
    w->kind =
        w->prompt[1].answer == n->wrong->got && n->wrong->got >= 0 ? HOP_WITNESS_PAIR : HOP_WITNESS_INPUT;
    w->prefix = end_of_difference(t, n->wrong->tokens, x->tokens);
    return HOP_OK;
}

hop_status hop__witness_of_input(hop_witness *w, const hop__hunt *h, const hop_wrong *wrong, hop_error *err)
{
    neighbourhood n = {.h = h, .wrong = wrong};
    *w = (hop_witness){.kind = HOP_WITNESS_INPUT};
    hop_status s = hop_instances_new(&n.list, MOST_NEIGHBOURS + 1, h->task->length, err);
    if (s == HOP_OK) s = build(w, &n, err);
    hop_instances_free(n.list, MOST_NEIGHBOURS + 1);
    if (s != HOP_OK) hop__witness_free(w);
    return s;
}
