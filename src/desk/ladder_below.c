/* Networks of the plans below the line. No weights make them work; with the best that the constructions leave
 * them, the look-ups for which they have layers, the refuter shows where they fail. And above the line it
 * looks, too, and finds nothing. */
#include "ladder.h"

#include <string.h>

#define LINEAR     "deltanet"
#define LOOK_BELOW 5.0 /* seconds; it takes a fraction of one */
#define LOOK_ABOVE 0.2

static hop_refute_options options(const ladder *l, double budget)
{
    return (hop_refute_options){.budget = budget,
                                .seed = (uint64_t)l->args->ask.seed.integer,
                                .pool = l->pool,
                                .progress = &l->args->ask.progress};
}

hop_status hop__ladder_look(ladder *l, hop_ladder_row *r, const hop_model *m, const hop_task *t,
                            hop_error *err)
{
    hop_refutation found;
    hop_refute_options o = options(l, LOOK_ABOVE);
    hop_status s = hop_refute(&found, m, t, &o, err);
    if (s != HOP_OK) return s;
    r->looked = hop_known(found.tried, found.tried > 0);
    if (found.verdict == HOP_REFUTE_FOUND) {
        l->worst = HOP_REFUTED;
        r->verdict = HOP_LADDER_REFUTED;
        r->why = hop_keep_printf(&l->out->memory, "an input is answered %lld, not %lld",
                                 (long long)found.witness.prompt[0].answer,
                                 (long long)found.witness.prompt[0].right);
    }
    s = found.interrupted ? hop_fail(err, HOP_ESTOPPED, "stopped") : HOP_OK;
    hop_refutation_free(&found);
    return s;
}

/* The network above the line, and DIR/below-L-number, what is left of it, read back. */
static hop_status build(const hop_task *t, const hop_ladder_row *r, const char *dir, hop_model **whole,
                        hop_model **out, hop_error *err)
{
    hop_model *part = NULL;
    const char *kind = strchr(r->pattern, 'L') ? "hybrid" : "full";
    hop_status s = hop_construct(whole, kind, t, &(hop_construct_options){.mixer = LINEAR}, err);
    if (s == HOP_OK) s = hop_construct_part(&part, *whole, r->pattern, LINEAR, err);
    if (s == HOP_OK) s = hop_model_save(part, dir, err);
    hop_model_free(part);
    return s == HOP_OK ? hop_model_open(out, dir, err) : s;
}

static void keep_place(hop_failure_trace *f, const hop_witness *w, const hop_task *t)
{
    int64_t p = 0, index;
    while (p + 1 < w->length && w->prompt[0].tokens[p] == w->prompt[1].tokens[p]) p++;
    int player = hop_funccomp_player(&t->funccomp, p, &index);
    snprintf(f->place, sizeof f->place,
             player > 0    ? "z_%d(%lld)"
             : player == 0 ? "z_0"
                           : "w",
             player, (long long)index);
    for (int i = 0; i < 2; i++) {
        f->value[i] = w->prompt[i].tokens[p];
        f->right[i] = w->prompt[i].right;
        f->answer[i] = w->prompt[i].answer;
    }
}

static int keep_layers(hop_failure_layer *out, const hop_witness_layer *list, int64_t count)
{
    int kept = 0;
    for (int64_t i = 0; i < count && kept < HOP_FAILURE_LAYERS; i++) {
        hop_failure_layer *x = &out[kept++];
        *x = (hop_failure_layer){.own = list[i].own, .stream = list[i].stream};
        x->state = list[i].state;
        x->last_token = list[i].last_token;
        snprintf(x->mixer, sizeof x->mixer, "%s", list[i].mixer);
    }
    return kept;
}

static void keep(hop_failure_trace *f, hop_keep *k, hop_ladder_row *r, const hop_witness *w,
                 const hop_task *t, const char *file)
{
    *f = (hop_failure_trace){.hops = (int)r->hops};
    snprintf(f->pattern, sizeof f->pattern, "%s", r->pattern);
    snprintf(f->file, sizeof f->file, "%.250s", file);
    keep_place(f, w, t);
    f->layer_count = keep_layers(f->layers, w->trace, w->trace_count);
    r->witness = hop_keep_text(k, file);
    r->shown =
        hop_keep_printf(k, "two prompts that differ in %s, whose answers are %lld and %lld: it says %lld%s",
                        f->place, (long long)f->right[0], (long long)f->right[1], (long long)f->answer[0],
                        f->answer[0] == f->answer[1] ? " to both" : " to the first");
}

/* The same prompts in the network that works. */
static hop_status keep_above(hop_failure_trace *f, const hop_witness *w, const hop_model *whole,
                             const hop_task *t, hop_pool *pool, hop_error *err)
{
    hop_witness_layer *list;
    int64_t count;
    hop_text pattern = {0};
    hop_status s = hop_witness_trace(&list, &count, w, whole, t, pool, err);
    if (s != HOP_OK) return s;
    hop_pattern_print(&hop_model_config(whole)->pattern, &pattern);
    snprintf(f->above, sizeof f->above, "%s", pattern.s ? pattern.s : "");
    f->above_count = keep_layers(f->above_layers, list, count);
    hop_text_free(&pattern);
    hop_free(list);
    return HOP_OK;
}

static hop_status fall(ladder *l, hop_ladder_row *r, const hop_task *t, int number, hop_error *err)
{
    char name[64], dir[4096], file[4096];
    hop_model *whole = NULL, *m = NULL;
    hop_refutation found = {0};
    hop_refute_options o = options(l, LOOK_BELOW);
    snprintf(name, sizeof name, "below-%d-%d", (int)r->hops, number);
    hop_status s = hop_path_join(dir, sizeof dir, l->args->output.text, name, err);
    if (s == HOP_OK) s = hop_path_join(file, sizeof file, dir, "witness.json", err);
    if (s == HOP_OK) s = build(t, r, dir, &whole, &m, err);
    if (s == HOP_OK) s = hop_refute(&found, m, t, &o, err);
    if (s == HOP_OK && found.interrupted) s = hop_fail(err, HOP_ESTOPPED, "stopped");
    if (s == HOP_OK && found.verdict == HOP_REFUTE_FOUND && found.witness.prompts == 2) {
        hop_failure_trace *f = &l->failures[l->failure_count++];
        keep(f, &l->out->memory, r, &found.witness, t, file);
        s = hop_witness_save(&found.witness, dir, t, file, err);
        if (s == HOP_OK) s = keep_above(f, &found.witness, whole, t, l->pool, err);
    }
    hop_refutation_free(&found);
    hop_model_free(m);
    hop_model_free(whole);
    return s;
}

hop_status hop__ladder_below(ladder *l, const hop_task *t, hop_error *err)
{
    hop_status s = HOP_OK;
    int number = 0;
    for (int64_t i = 0; s == HOP_OK && i < l->other_count; i++) {
        hop_ladder_row *r = &l->others[i];
        bool buildable = strcmp(r->kind, "extremal hybrid") != 0; /* it has thousands of layers and more */
        if (r->hops == t->funccomp.hops && !r->built && buildable) s = fall(l, r, t, ++number, err);
    }
    return s;
}
