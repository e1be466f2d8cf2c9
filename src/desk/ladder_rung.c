/* One network of the ladder: built, written, read back, proved, run. */
#include "ladder.h"

#include <math.h>
#include <string.h>

#define MANY        200 /* instances of a rung's main network .. */
#define MEAN_TOKENS 500 /* .. of so many tokens; longer ones are fewer */
#define FLOAT_BITS  32.0

static hop_status build_network(const ladder *l, const hop_task *t, const ladder_job *job, hop_model **out,
                                hop_error *err)
{
    char name[64], dir[4096];
    hop_model *built = NULL;
    const hop_construct_options o = {.mixer = job->mixer};
    snprintf(name, sizeof name, "%s-%d", job->name, t->funccomp.hops);
    hop_status s = hop_path_join(dir, sizeof dir, l->args->output.text, name, err);
    if (s == HOP_OK) s = hop_construct(&built, job->kind, t, &o, err);
    if (s == HOP_OK) s = hop_model_save(built, dir, err);
    hop_model_free(built);
    return s == HOP_OK ? hop_model_open(out, dir, err) : s;
}

/* A row of which nothing is known but its place. */
void hop__ladder_begin(hop_ladder_row *r, int64_t hops, int64_t n, int64_t head_dim)
{
    *r = (hop_ladder_row){.hops = hops,
                          .n = n,
                          .head_dim = head_dim,
                          .why = "",
                          .theorem = "",
                          .machine_checked = HOP_NO_FLAG,
                          .speaks_from_n = "",
                          .state_limit = NAN,
                          .log10_n = NAN,
                          .log10_inputs = NAN,
                          .score_gap = NAN,
                          .wrong_mass = NAN,
                          .clip_margin = NAN,
                          .readout_margin = NAN,
                          .seconds = NAN,
                          .d_model = HOP_NO_COUNT,
                          .parameters = HOP_NO_COUNT,
                          .enumerated = HOP_NO_COUNT,
                          .instances = HOP_NO_COUNT,
                          .correct = HOP_NO_COUNT,
                          .cut_bits = HOP_NO_COUNT,
                          .cut_correct = HOP_NO_COUNT,
                          .looked = HOP_NO_COUNT};
}

static void describe(hop_ladder_row *r, hop_keep *k, const hop_model *m, const hop_task *t,
                     const ladder_job *job)
{
    const hop_config *c = hop_model_config(m);
    hop_text sizes = {0}, pattern = {0};
    hop_sizes_say(&sizes, t);
    hop_pattern_print(&c->pattern, &pattern);
    hop__ladder_begin(r, t->funccomp.hops, t->length, c->head_dim);
    r->built = true;
    r->layers = c->pattern.layers;
    r->d_model = c->d_model;
    r->parameters = hop_model_parameters(m);
    r->kind = job->mixer ? hop_keep_printf(k, "%s, %s", job->kind, job->mixer) : hop_keep_text(k, job->kind);
    r->mixer = hop_keep_text(k, job->mixer);
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, i));
        hop_mixer_config mixer = hop_model_mixer_config(m, i);
        if (ops->kind == HOP_MIXER_RECURRENT)
            r->state_bits += FLOAT_BITS * (double)hop_mixer_state_floats(ops, &mixer, 1);
        else
            r->full_layers++;
    }
    const char *after_hops = sizes.s ? strstr(sizes.s, "m ") : NULL;
    r->sizes = hop_keep_said(k, after_hops ? after_hops : "");
    r->pattern = hop_keep_grown(k, &pattern);
    hop_text_free(&sizes);
}

static void keep_margin(ladder *l, int64_t hops, const hop_margin *g)
{
    l->layers[l->layer_count++] = (hop_ladder_margin){.hops = (int)hops,
                                                      .layer = g->layer,
                                                      .addresses = g->addresses,
                                                      .player = g->player,
                                                      .score_gap = g->score_gap,
                                                      .wrong_mass = g->wrong_mass,
                                                      .clip_margin = g->clip_margin};
}

static void keep_proof(ladder *l, hop_ladder_row *r, const hop_proof *p, bool margins)
{
    static const hop_ladder_verdict verdicts[] = {[HOP_PROVED] = HOP_LADDER_PROVED,
                                                  [HOP_REFUTED] = HOP_LADDER_REFUTED,
                                                  [HOP_UNDECIDED] = HOP_LADDER_UNDECIDED};
    r->verdict = verdicts[p->verdict];
    r->why = hop_keep_said(&l->out->memory, p->why);
    r->log10_inputs = p->log10_inputs;
    r->enumerated = p->enumerated;
    r->score_gap = r->clip_margin = p->margin_count ? INFINITY : NAN;
    r->wrong_mass = p->margin_count ? 0 : NAN;
    r->readout_margin = p->readout_margin;
    for (int64_t i = 0; i < p->margin_count; i++) {
        const hop_margin *g = &p->margins[i];
        r->score_gap = fmin(r->score_gap, g->score_gap);
        r->clip_margin = fmin(r->clip_margin, g->clip_margin);
        r->wrong_mass = fmax(r->wrong_mass, g->wrong_mass);
        if (margins) keep_margin(l, r->hops, g);
    }
}

/* With P-bit messages first, which covers float32 without them, too; if that is not proved, without. */
static hop_status prove_network(ladder *l, hop_ladder_row *r, const hop_model *m, const hop_task *t,
                                const ladder_job *job, hop_error *err)
{
    hop_prove_options o = {.method = job->messages ? HOP_PROVE_INTERVAL : HOP_PROVE_AUTO,
                           .message_bits = job->messages ? (int)l->args->bits.integer : 0,
                           .seed = (uint64_t)l->args->ask.seed.integer,
                           .pool = l->pool,
                           .enumerate_limit = 1000000,
                           .progress = &l->args->ask.progress};
    hop_proof p;
    hop_status s = hop_prove(&p, m, t, &o, err);
    if (s == HOP_OK && p.verdict != HOP_PROVED && o.message_bits) {
        hop_proof_free(&p);
        o.method = HOP_PROVE_AUTO, o.message_bits = 0;
        s = hop_prove(&p, m, t, &o, err);
    }
    if (s != HOP_OK) return s;
    keep_proof(l, r, &p, job->margins);
    if (p.verdict == HOP_PROVED && o.message_bits) {
        r->message_bits = o.message_bits;
        r->state_bits *= o.message_bits / FLOAT_BITS;
    }
    if (p.verdict != HOP_PROVED && l->worst != HOP_REFUTED) l->worst = p.verdict;
    if (p.verdict == HOP_PROVED && job->messages && !o.message_bits) {
        r->why = hop_keep_printf(&l->out->memory, "in float32; not proved with %d-bit messages",
                                 (int)l->args->bits.integer);
        if (l->worst == HOP_PROVED) l->worst = HOP_UNDECIDED;
    }
    hop_proof_free(&p);
    return HOP_OK;
}

/* Right answers out of the job's, computed in `bits` bits (0: float32). */
static hop_status run_network(ladder *l, const hop_model *m, const hop_task *t, const ladder_job *job,
                              int bits, int64_t *correct, hop_error *err)
{
    const hop_request *q = &l->args->ask;
    char label[48];
    hop_eval *e;
    const hop_eval_options o = {.pool = l->pool, .bits = bits, .progress = &q->progress};
    snprintf(label, sizeof label, bits ? "%d hops: %s, %d bits" : "%d hops: %s", t->funccomp.hops, job->name,
             bits);
    hop_status s = hop_eval_open(&e, m, &o, err);
    if (s != HOP_OK) return s;
    hop_eval_start(e, label, (double)job->count);
    s = hop_eval_sampled(e, t, job->count, (uint64_t)q->seed.integer, correct, err);
    hop_eval_close(e);
    return s;
}

hop_status hop__ladder_row(ladder *l, hop_ladder_row *r, const hop_task *t, const ladder_job *job,
                           hop_error *err)
{
    hop_model *m = NULL;
    double began = hop_now();
    hop_status s = build_network(l, t, job, &m, err);
    if (s == HOP_OK) {
        describe(r, &l->out->memory, m, t, job);
        s = prove_network(l, r, m, t, job, err);
    }
    r->instances = job->count;
    if (s == HOP_OK) s = run_network(l, m, t, job, 0, &r->correct, err);
    if (s == HOP_OK && job->rounded) {
        r->cut_bits = l->args->precision.integer;
        s = run_network(l, m, t, job, (int)r->cut_bits, &r->cut_correct, err);
    }
    if (s == HOP_OK && job->look) s = hop__ladder_look(l, r, m, t, err);
    hop_model_free(m);
    r->seconds = hop_now() - began;
    return s == HOP_OK ? hop_response_end(l->out, err) : s;
}

int64_t hop__ladder_count(const ladder *l, int64_t tokens, int64_t most)
{
    if (l->args->count.given)
        return most < MANY && most < l->args->count.integer ? most : l->args->count.integer;
    int64_t fits = 1 + most * MEAN_TOKENS / tokens;
    return fits < most ? fits : most;
}

hop_status hop__ladder_climb(ladder *l, int hops, hop_error *err)
{
    hop_separation sizes;
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    ladder_job job = {
        .kind = "full", .name = "full", .rounded = true, .messages = true, .margins = true, .look = true};
    hop_status s = hop__ladder_sizes(l, hops, &sizes, err);
    job.count = hop__ladder_count(l, s == HOP_OK ? sizes.n : 1, MANY);
    if (s == HOP_OK) s = hop_funccomp_init(&t.funccomp, hops, sizes.m, sizes.fan + 1, err);
    if (s == HOP_OK) s = hop_task_ready(&t, err);
    if (s == HOP_OK) s = hop__ladder_row(l, &l->rungs[l->rung_count], &t, &job, err);
    if (s != HOP_OK) return s;
    l->rungs[l->rung_count].state_limit = (double)sizes.state_bits;
    l->rung_count++;
    s = hop__ladder_known(l, &sizes, err);
    if (s == HOP_OK) s = hop__ladder_below(l, &t, err);
    int64_t from = l->other_count;
    if (s == HOP_OK && !l->args->brief.flag) s = hop__ladder_others(l, &t, err);
    return s == HOP_OK ? hop__ladder_own_lengths(l, &sizes, from, err) : s;
}
