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

static void describe(hop_ladder_row *r, const hop_model *m, const hop_task *t, const ladder_job *job)
{
    const hop_config *c = hop_model_config(m);
    hop_text sizes = {0}, pattern = {0};
    hop_sizes_say(&sizes, t);
    hop_pattern_print(&c->pattern, &pattern);
    *r = (hop_ladder_row){.built = true,
                          .hops = t->funccomp.hops,
                          .m = t->funccomp.m,
                          .tokens = t->length,
                          .layers = c->pattern.layers,
                          .d_model = c->d_model,
                          .head_dim = c->head_dim,
                          .parameters = hop_model_parameters(m)};
    snprintf(r->kind, sizeof r->kind, job->mixer ? "%s, %s" : "%s", job->kind, job->mixer);
    if (job->mixer) snprintf(r->mixer, sizeof r->mixer, "%s", job->mixer);
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, i));
        hop_mixer_config mixer = hop_model_mixer_config(m, i);
        if (ops->kind == HOP_MIXER_RECURRENT)
            r->state_bits += FLOAT_BITS * (double)hop_mixer_state_floats(ops, &mixer, 1);
        else
            r->full_layers++;
    }
    const char *after_hops = sizes.s ? strstr(sizes.s, "m ") : NULL;
    snprintf(r->sizes, sizeof r->sizes, "%s", after_hops ? after_hops : "");
    snprintf(r->pattern, sizeof r->pattern, "%s", pattern.s ? pattern.s : "");
    hop_text_free(&sizes);
    hop_text_free(&pattern);
}

static void keep_margin(ladder *l, int hops, const hop_margin *g)
{
    l->layers[l->layer_count++] = (hop_ladder_margin){.hops = hops,
                                                      .layer = g->layer,
                                                      .addresses = g->addresses,
                                                      .player = g->player,
                                                      .score_gap = g->score_gap,
                                                      .wrong_mass = g->wrong_mass,
                                                      .clip_margin = g->clip_margin};
}

static void keep_proof(ladder *l, hop_ladder_row *r, const hop_proof *p, bool margins)
{
    snprintf(r->verdict, sizeof r->verdict, "%s", hop_verdict_name(p->verdict));
    snprintf(r->why, sizeof r->why, "%.399s", p->why);
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
                           .seed = (uint64_t)l->args->common.seed.integer,
                           .pool = l->pool,
                           .enumerate_limit = 1000000,
                           .progress = &l->args->common.progress};
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
        snprintf(r->why, sizeof r->why, "in float32; not proved with %d-bit messages",
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
    const common_args *a = &l->args->common;
    char label[48];
    hop_eval *e;
    const hop_eval_options o = {.pool = l->pool, .bits = bits, .progress = &a->progress};
    snprintf(label, sizeof label, bits ? "%d hops: %s, %d bits" : "%d hops: %s", t->funccomp.hops, job->name,
             bits);
    hop_status s = hop_eval_open(&e, m, &o, err);
    if (s != HOP_OK) return s;
    hop_eval_start(e, label, (double)job->count);
    s = hop_eval_sampled(e, t, job->count, (uint64_t)a->seed.integer, correct, err);
    hop_eval_close(e);
    return s;
}

hop_status ladder_row(ladder *l, hop_ladder_row *r, const hop_task *t, const ladder_job *job, hop_error *err)
{
    hop_model *m = NULL;
    double began = hop_now();
    hop_status s = build_network(l, t, job, &m, err);
    if (s == HOP_OK) {
        describe(r, m, t, job);
        s = prove_network(l, r, m, t, job, err);
    }
    r->instances = job->count;
    if (s == HOP_OK) s = run_network(l, m, t, job, 0, &r->correct, err);
    if (s == HOP_OK && job->rounded) {
        r->rounded_instances = job->count;
        r->rounded_bits = (int)l->args->precision.integer;
        s = run_network(l, m, t, job, r->rounded_bits, &r->rounded_correct, err);
    }
    if (s == HOP_OK && job->look) s = ladder_look(l, r, m, t, err);
    hop_model_free(m);
    r->seconds = hop_now() - began;
    return s;
}

int64_t ladder_count(const ladder *l, int64_t tokens, int64_t most)
{
    if (l->args->count.given)
        return most < MANY && most < l->args->count.integer ? most : l->args->count.integer;
    int64_t fits = 1 + most * MEAN_TOKENS / tokens;
    return fits < most ? fits : most;
}

hop_status ladder_climb(ladder *l, int hops, hop_error *err)
{
    hop_separation sizes;
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    ladder_job job = {
        .kind = "full", .name = "full", .rounded = true, .messages = true, .margins = true, .look = true};
    hop_status s = ladder_sizes(l, hops, &sizes, err);
    job.count = ladder_count(l, s == HOP_OK ? sizes.n : 1, MANY);
    if (s == HOP_OK) s = hop_funccomp_init(&t.funccomp, hops, sizes.m, sizes.fan + 1, err);
    if (s == HOP_OK) s = hop_task_ready(&t, err);
    if (s == HOP_OK) s = ladder_row(l, &l->rungs[l->rung_count], &t, &job, err);
    if (s != HOP_OK) return s;
    l->rungs[l->rung_count].state_limit = (double)sizes.state_bits;
    l->rung_count++;
    s = ladder_known(l, &sizes, err);
    if (s == HOP_OK) s = ladder_below(l, &t, err);
    int64_t from = l->other_count;
    if (s == HOP_OK && !l->args->brief.flag) s = ladder_others(l, &t, err);
    return s == HOP_OK ? ladder_own_lengths(l, &sizes, from, err) : s;
}
