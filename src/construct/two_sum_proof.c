/* The proof that a network answers every input of 2-Sum rightly, from its weights.
 *
 * Without positions the residual stream of a token before the first layer is its row of the token table. So
 * queries, keys and values are M each, and an input matters only through the tokens that a head sees. For
 * each of the M tokens x that may ask, with right = -x mod M:
 *   - There is no match. Every head returns a mixture of values of tokens other than `right`; nothing more is
 *     supposed. Logit 0 must lead. (Not possible when x is its own match: the own token is always seen.)
 *   - There is one. A head that sees a match returns nearly the match's value: all matches have the same one,
 *     each outscores any other token by the gap, and there are at most seen-1 others. Logit 1 must lead.
 *
 * Which heads see a match when there is one? In full attention all. In sparse attention every token that has
 * to choose (there are more than k complete earlier blocks) sees its own block, and by head h the k blocks
 * whose key at offset h mod B scores highest. If the match is in the own block, all heads see it. If it is in
 * an earlier one at offset r, then for a head h = r (mod B) every summary that is a match scores above every
 * one that is not, as computed (`choice` > 0 covers the rounding of both, so equal keys need not even give
 * equal bits), and the best of the chosen blocks has a match at r. Of the other heads nothing is supposed but
 * that they return a mixture of any values; that includes what they return when they do see a match. So a
 * match anywhere falls under one of B cases, r = 0 .. B-1, which are all proved.
 *
 * Later layers must not mix tokens: their mixers are zeros. two_sum_tail.c bounds the rest. */
#include "prove.h"
#include "two_sum.h"

#include <stdio.h>
#include <string.h>

#define MAX_TERMS  50000 /* HOP_DOT_ERROR holds up to twice as many */
#define MAX_RIVALS 64    /* different rows of the read-out, besides those of 0 and 1 */
#define CHUNK      16    /* tokens a task */

/* ---- what is covered ----------------------------------------------------------------------------- */

static bool all_below(const hop_weight *w, int64_t rows, float bound)
{
    int64_t n = rows * (w->rank == 2 ? w->shape[1] : 1);
    for (int64_t i = 0; i < n; i++)
        if (!(w->data[i] >= -bound && w->data[i] <= bound)) return false;
    return true;
}

static bool mixes_nothing(const hop_model *m, int64_t layer)
{
    static const char *const parts[] = {"mixer.q_proj.weight", "mixer.k_proj.weight", "mixer.v_proj.weight",
                                        "mixer.o_proj.weight"};
    const char *mixer = hop_pattern_mixer(&hop_model_config(m)->pattern, layer);
    if (strcmp(mixer, "full") != 0 && strcmp(mixer, "sparse") != 0 && strcmp(mixer, "window") != 0)
        return false;
    if (!(fabs(hop_model_mixer_config(m, layer).scale) < 1e30)) return false; /* 0 times infinity */
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const hop_weight *w = hop_model_layer_weight(m, layer, parts[i]);
        if (!w || !all_below(w, w->shape[0], 0)) return false;
    }
    return true;
}

/* The layer that attends; returns how many tokens a head sees. */
static int64_t check_heads(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    hop_mixer_config c = hop_model_mixer_config(m, 0);
    const char *mixer = hop_pattern_mixer(&hop_model_config(m)->pattern, 0);
    bool sparse = strcmp(mixer, "sparse") == 0;
    int64_t most = sparse ? (c.option[HOP_OPTION_topk] + 1) * c.option[HOP_OPTION_block] : task->length;
    if (!sparse && strcmp(mixer, "full") != 0)
        snprintf(why, size, "the analysis of 2-Sum does not cover %s in layer 0", mixer);
    if (sparse && most < task->length && c.option[HOP_OPTION_summary] != 1)
        snprintf(why, size, "the analysis of 2-Sum does not cover sparse attention with mean summaries");
    if (c.rope_theta != 0) snprintf(why, size, "the analysis of 2-Sum does not cover RoPE");
    if (c.scale < 0) snprintf(why, size, "the analysis of 2-Sum does not cover negative attention scales");
    if (c.bidirectional)
        snprintf(why, size, "the analysis of 2-Sum does not cover attention that looks both ways");
    if (c.heads * c.head_dim > MAX_TERMS)
        snprintf(why, size, "the kernels' error bound does not cover sums of more than %d terms", MAX_TERMS);
    return most < task->length ? most : task->length;
}

/* "" when the network is of the kind analysed here, else what is in the way. */
static void out_of_scope(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    why[0] = 0;
    if (task->kind != HOP_TASK_TWOSUM)
        snprintf(why, size, "the analysis of 2-Sum does not cover the task %s", hop_task_name(task->kind));
    if (c->seeded) snprintf(why, size, "the analysis of 2-Sum needs stored weights");
    if (c->norm != HOP_NORM_NONE) snprintf(why, size, "the analysis of 2-Sum does not cover norms");
    if (c->mlp != HOP_MLP_RELU)
        snprintf(why, size, "the analysis of 2-Sum covers ReLU MLPs, not %s", hop_mlp_name(c->mlp));
    if (c->d_model > MAX_TERMS || c->mlp_hidden > MAX_TERMS)
        snprintf(why, size, "the kernels' error bound does not cover sums of more than %d terms", MAX_TERMS);
    if (c->pattern.layers > HOP__MAX_STAGES)
        snprintf(why, size, "the analysis of 2-Sum covers up to %d layers, not %lld", HOP__MAX_STAGES,
                 (long long)c->pattern.layers);
    if (why[0]) return;
    int64_t seen = check_heads(m, task, why, size);
    if (HOP_ATTN_ERROR(seen) > 0.1)
        snprintf(why, size, "the sequence is too long for the kernels' error bound");
    if (positions && !all_below(positions, task->length, 0))
        snprintf(why, size, "the analysis of 2-Sum does not cover position tables");
    for (int64_t i = 1; !why[0] && i < c->pattern.layers; i++)
        if (!mixes_nothing(m, i))
            snprintf(why, size,
                     "the analysis of 2-Sum covers one layer that mixes, and layer %lld is another",
                     (long long)i);
    for (int64_t i = 0; !why[0] && i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        if (!all_below(w, w->shape[0], 1e12f))
            snprintf(why, size, "tensor %s has a number that is not finite or beyond 10^12", w->name);
    }
}

/* ---- one token, all cases ------------------------------------------------------------------------- */

/* The worst of a chunk of tokens. */
typedef struct result {
    double gap, mass, error, lead, clip[HOP__MAX_STAGES];
    int64_t token; /* where the lead is smallest */
    int answer;
} result;

typedef struct worker {
    hop__trace trace;
    ival *found, *box; /* [inputs]: what a head returns when it sees a match; a case's */
    double *choice;    /* [heads] */
    double *work;      /* [2 dim] */
    int *index;        /* [dim] */
    const hop__heads *heads;
    int64_t right;
} worker;

typedef struct judging {
    const hop_prove_options *options;
    hop__analysis range;
    hop__heads heads;
    hop__tail tail;
    const float *readout[2], *rival[MAX_RIVALS]; /* rows of 0 and 1; the others, without repetitions */
    int64_t rivals;
    worker *workers;
    result *results; /* one a task */
    int64_t first_task;
} judging;

static double least_mixture(void *ctx, const ival *coef)
{
    worker *w = ctx;
    return hop__heads_least(w->heads, coef, w->right, w->work, w->index);
}

/* How far the units of the MLPs after the first are from the other side: all dark without a match, one lit
 * with one. */
static void note_units(const judging *j, const hop__trace *r, int answer, result *to)
{
    const hop__tail *t = &j->tail;
    for (int64_t s = 1; s < t->stages; s++) {
        double dark = INFINITY, lit = -INFINITY;
        for (int64_t u = 0; u < t->hidden; u++) {
            if (t->stage[s].up.start[u] == t->stage[s].up.start[u + 1]) continue;
            dark = ival_least(dark, -r->z[s * t->hidden + u].hi);
            lit = ival_most(lit, r->z[s * t->hidden + u].lo);
        }
        to->clip[s - 1] = ival_least(to->clip[s - 1], answer ? lit : dark);
    }
}

/* Does `answer` lead whatever the heads return? */
static void judge_case(const judging *j, worker *w, int64_t token, int answer, result *to)
{
    hop__reach from = {.token = j->heads.tokens + token * j->heads.d,
                       .box = w->box,
                       .least = answer ? NULL : least_mixture,
                       .ctx = w};
    hop__trace_run(&w->trace, &j->tail, &from);
    note_units(j, &w->trace, answer, to);
    for (int64_t i = -1; i < j->rivals; i++) {
        const float *other = i < 0 ? j->readout[1 - answer] : j->rival[i];
        double lead = hop__trace_lead(&w->trace, &j->tail, &from, j->readout[answer], other);
        if (!(lead >= to->lead)) to->token = token, to->answer = answer;
        to->lead = ival_least(to->lead, lead);
    }
}

/* What every head of `token` returns when it sees a match. */
static void look_for_match(const judging *j, worker *w, int64_t token, result *to)
{
    const hop__heads *h = &j->heads;
    for (int64_t i = 0; i < h->count; i++) {
        ival *out = w->found + i * h->dim;
        if (h->twin[i] < i) {
            memcpy(out, w->found + h->twin[i] * h->dim, sizeof(ival) * (size_t)h->dim);
            w->choice[i] = w->choice[h->twin[i]];
            continue;
        }
        hop__match m = hop__heads_match(h, i, token, w->right, out, w->work, w->index);
        w->choice[i] = m.choice;
        to->gap = ival_least(to->gap, m.gap);
        to->mass = ival_most(to->mass, m.mass);
        for (int64_t c = 0; c < h->dim; c++) to->error = ival_most(to->error, ival_rad(out[c]));
    }
}

static void judge_token(const judging *j, worker *w, int64_t token, result *to)
{
    const hop__heads *h = &j->heads;
    int64_t group = h->count / h->kv;
    w->right = token ? h->mod - token : 0;
    look_for_match(j, w, token, to);
    for (int64_t r = 0; r < (h->block ? h->block : 1); r++) {
        for (int64_t i = 0; i < h->count; i++) {
            bool sees = !h->block || (i % h->block == r && w->choice[i] > 0);
            memcpy(w->box + i * h->dim, sees ? w->found + i * h->dim : h->hull + i / group * h->dim,
                   sizeof(ival) * (size_t)h->dim);
        }
        judge_case(j, w, token, 1, to);
    }
    if (w->right == token) return;
    for (int64_t i = 0; i < h->count; i++)
        memcpy(w->box + i * h->dim, h->hull + i / group * h->dim, sizeof(ival) * (size_t)h->dim);
    judge_case(j, w, token, 0, to);
}

/* ---- all tokens ------------------------------------------------------------------------------------ */

static result no_result(void)
{
    result r = {.gap = INFINITY, .lead = INFINITY, .token = -1};
    for (int i = 0; i < HOP__MAX_STAGES; i++) r.clip[i] = INFINITY;
    return r;
}

static void judge_chunk(void *ctx, int64_t number, int thread)
{
    judging *j = ctx;
    int64_t task = j->first_task + number,
            end = (task + 1) * CHUNK < j->heads.mod ? (task + 1) * CHUNK : j->heads.mod;
    result r = no_result();
    for (int64_t x = task * CHUNK; x < end; x++) judge_token(j, &j->workers[thread], x, &r);
    j->results[task] = r;
}

static hop_status judge_all(judging *j, result *all, hop_error *err)
{
    int64_t tasks = (j->heads.mod + CHUNK - 1) / CHUNK, batch = 4 * hop_pool_threads(j->options->pool);
    j->results = hop_alloc(sizeof(result) * (size_t)tasks);
    if (!j->results) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t done = 0; done < tasks; done += batch) {
        int64_t n = tasks - done < batch ? tasks - done : batch;
        j->first_task = done;
        hop_pool_run(j->options->pool, n, judge_chunk, j);
        if (!hop_progress_tick(j->options->progress, "tokens that may ask", (double)(done + n),
                               (double)tasks))
            return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    *all = no_result();
    for (int64_t i = 0; i < tasks; i++) {
        const result *r = &j->results[i];
        if (!(r->lead >= all->lead)) all->token = r->token, all->answer = r->answer;
        all->gap = ival_least(all->gap, r->gap);
        all->lead = ival_least(all->lead, r->lead);
        all->mass = ival_most(all->mass, r->mass);
        all->error = ival_most(all->error, r->error);
        for (int s = 0; s < HOP__MAX_STAGES; s++) all->clip[s] = ival_least(all->clip[s], r->clip[s]);
    }
    return HOP_OK;
}

/* ---- the verdict ------------------------------------------------------------------------------------ */

static hop_status open_workers(judging *j, hop_error *err)
{
    int threads = hop_pool_threads(j->options->pool);
    size_t inputs = sizeof(ival) * (size_t)j->tail.inputs, dim = (size_t)j->heads.dim;
    j->workers = hop_alloc(sizeof(worker) * (size_t)threads);
    if (!j->workers) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; i < threads; i++) {
        worker *w = &j->workers[i];
        w->heads = &j->heads;
        w->found = hop_alloc(inputs);
        w->box = hop_alloc(inputs);
        w->choice = hop_alloc(sizeof(double) * (size_t)j->heads.count);
        w->work = hop_alloc(sizeof(double) * 2 * dim);
        w->index = hop_alloc(sizeof(int) * dim);
        if (!w->found || !w->box || !w->choice || !w->work || !w->index)
            return hop_fail(err, HOP_ENOMEM, "out of memory");
        hop_status s = hop__trace_new(&w->trace, &j->tail, err);
        if (s != HOP_OK) return s;
    }
    return HOP_OK;
}

static void close_judging(judging *j)
{
    for (int i = 0; j->workers && i < hop_pool_threads(j->options->pool); i++) {
        worker *w = &j->workers[i];
        void *const all[] = {w->found, w->box, w->choice, w->work, w->index};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) hop_free(all[k]);
        hop__trace_free(&w->trace);
    }
    hop_free(j->workers);
    hop_free(j->results);
    hop__heads_free(&j->heads);
    hop__tail_free(&j->tail);
}

/* HOP_EDOMAIN: too many different rows. */
static hop_status take_readout(judging *j, const hop_model *m, hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    const float *rows = hop_model_weight(m, c->tied ? "model.embed_tokens.weight" : "lm_head.weight")->data;
    size_t bytes = sizeof(float) * (size_t)c->d_model;
    j->readout[0] = rows;
    j->readout[1] = rows + c->d_model;
    for (int64_t t = 2; t < c->vocab; t++) {
        const float *row = rows + t * c->d_model;
        bool seen = false;
        for (int64_t k = j->rivals; k > 0 && !seen; k--) seen = memcmp(row, j->rival[k - 1], bytes) == 0;
        if (seen) continue;
        if (j->rivals == MAX_RIVALS)
            return hop_fail(
                err, HOP_EDOMAIN,
                "the analysis of 2-Sum covers a read-out with up to %d different rows of other tokens",
                MAX_RIVALS);
        j->rival[j->rivals++] = row;
    }
    return HOP_OK;
}

static hop_status fill_proof(hop_proof *p, judging *j, const result *r, bool *proved, hop_error *err)
{
    int64_t layers = j->tail.stages;
    p->margins = hop_alloc(sizeof(hop_margin) * (size_t)layers);
    if (!p->margins) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t l = 0; l < layers; l++) { /* later layers do not look at tokens */
        hop_margin *g = &p->margins[p->margin_count++];
        *g = (hop_margin){.layer = l, .player = -1, .addresses = j->heads.mod, .score_gap = INFINITY};
        if (l == 0) g->score_gap = r->gap, g->wrong_mass = r->mass, g->code_error = r->error;
        g->clip_margin = l + 1 < layers ? r->clip[l] : r->lead;
    }
    p->readout_margin = r->lead;
    *proved = r->lead > 0 && !j->range.overflow;
    if (j->range.overflow)
        snprintf(p->why, sizeof p->why, "a number may leave the range of float32");
    else if (!(r->gap > 0))
        snprintf(p->why, sizeof p->why,
                 "layer 0: at one of %lld tokens another key's score may reach the match's (gap %.4g)",
                 (long long)j->heads.mod, r->gap);
    else if (!*proved)
        snprintf(p->why, sizeof p->why,
                 "read-out: token %lld %s a match may get a wrong answer (margin %.4g, wrong mass %.4g)",
                 (long long)r->token, r->answer ? "with" : "without", r->lead, r->mass);
    return HOP_OK;
}

hop_status hop__prove_twosum(hop_proof *p, const hop_model *m, const hop_task *task,
                             const hop_prove_options *o, bool *proved, hop__hint *hints, int *hint_count,
                             hop_error *err)
{
    (void)hints; /* they are about function composition */
    *proved = false;
    *hint_count = 0;
    out_of_scope(m, task, p->why, sizeof p->why);
    if (p->why[0]) return HOP_OK;
    hop_error local = {0};
    if (!err) err = &local;
    judging j = {.options = o};
    result all = no_result();
    hop_status s = take_readout(&j, m, err);
    if (s == HOP_OK) s = hop__tail_new(&j.tail, m, &j.range, err);
    if (s == HOP_OK) s = hop__heads_new(&j.heads, m, &task->twosum, &j.range, err);
    if (s == HOP_OK) s = open_workers(&j, err);
    if (s == HOP_OK) s = judge_all(&j, &all, err);
    if (s == HOP_OK) s = fill_proof(p, &j, &all, proved, err);
    close_judging(&j);
    if (s != HOP_EDOMAIN) return s;
    snprintf(p->why, sizeof p->why, "%s", err->text); /* a limit of the method, not a failure of the call */
    return HOP_OK;
}
