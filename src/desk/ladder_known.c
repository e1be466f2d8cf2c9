/* The lower half of a rung: plans that are not built, because theorems say that no weights make them work at
 * this width. A full layer fewer, with and without linear ones; linear layers only; and the hybrid with
 * 2^(3L^2) of them in every gap. */
#include "ladder.h"

#include <hopbound/ask_separate.h>

#include <math.h>
#include <string.h>

#define MOST_GAPS   4      /* hops up to which 2^(3L^2) layers can be counted in a word */
#define MOST_TOKENS 100000 /* that a rung builds and runs */
#define PLAIN_M     16     /* sizes that run, where both halves speak at none that do */
#define PLAIN_FAN   8

hop_status hop__ladder_sizes(ladder *l, int hops, hop_separation *s, hop_error *err)
{
    const ladder_args *a = l->args;
    const hop_progress *progress = &a->ask.progress;
    *s = (hop_separation){.hops = hops, .bits = (int)a->bits.integer, .linear = 1};
    if (!a->m.given && !a->fan.given) {
        hop_status got = hop_separation_find(s, false, progress, err);
        if (got == HOP_OK && s->n <= MOST_TOKENS) return HOP_OK;
        if (got != HOP_OK && got != HOP_EDOMAIN) return got;
    }
    s->m = a->m.given ? a->m.integer : PLAIN_M;
    for (int i = 1; i < hops; i++) s->fan[i] = a->fan.given ? a->fan.integer : PLAIN_FAN;
    return hop_separation_at(s, progress, err);
}

static hop_ladder_row *next_row(ladder *l, const hop_separation *s, const char *kind)
{
    hop_ladder_row *r = &l->others[l->other_count++];
    hop__ladder_begin(r, s->hops, s->n, s->dim);
    r->message_bits = s->bits;
    r->kind = kind;
    r->sizes = l->rungs[l->rung_count - 1].sizes;
    return r;
}

/* "P4: needs ..; has ..", or from which length on, or that nothing is known; then `more`. */
static void say(hop_keep *k, hop_ladder_row *r, const hop_separation_row *x, int64_t state_bits,
                const char *more)
{
    const char *proof = hop_proof_name(x->machine_checked);
    bool impossible = x->answer == HOP_ANSWER_IMPOSSIBLE, later = !impossible && x->speaks_from[0];
    r->verdict = impossible ? HOP_LADDER_IMPOSSIBLE : later ? HOP_LADDER_FROM_N : HOP_LADDER_SILENT;
    r->pattern = hop_keep_said(k, x->pattern);
    r->theorem = hop_keep_said(k, x->theorem);
    if (x->theorem[0]) r->machine_checked = x->machine_checked;
    r->speaks_from_n = hop_keep_said(k, x->speaks_from);
    r->log10_n = hop__length_log10(x->speaks_from);
    r->full_layers = x->full_layers;
    r->layers = hop_known(x->full_layers + x->linear_layers, x->linear_layers >= 0);
    r->state_bits = x->linear_layers < 0 ? NAN : (double)x->linear_layers * (double)state_bits;
    if (impossible)
        r->why = hop_keep_printf(k, "%s, %s, for any weights: it needs %s; it has %s%s", x->theorem, proof,
                                 x->needs, x->has, more);
    else if (later && x->log10_n <= log10((double)r->n))
        r->why = hop_keep_printf(
            k, "%s, %s: impossible at other sizes of this length; nothing is known at these%s", x->theorem,
            proof, more);
    else if (later)
        r->why =
            hop_keep_printf(k, "%s, %s: impossible at this width from n = %s on; not known at n = %lld%s",
                            x->theorem, proof, x->speaks_from, (long long)r->n, more);
    else
        r->why = hop_keep_printf(k, "no theorem speaks at any length%s", more);
}

/* ---- the paper's extremal hybrid --------------------------------------------------------------- */

static void extremal_pattern(char *out, size_t size, int hops)
{
    int gap = 3 * hops * hops; /* 2^(3L^2) linear layers in every gap */
    if (hops == 1)
        snprintf(out, size, "L^(2^%d)", gap);
    else if (hops == 2)
        snprintf(out, size, "L^(2^%d) F L^(2^%d)", gap, gap);
    else
        snprintf(out, size, "(L^(2^%d) F)^%d L^(2^%d)", gap, hops - 1, gap);
}

/* Of the theorems that apply, the one that speaks first. */
static const hop_bound *first_to_speak(const hop_bounds *b, const char *only)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        if (!r->applies || !r->speaks_from || (only && strcmp(r->id, only) != 0)) continue;
        if (r->answer != HOP_ANSWER_POSSIBLE && (!best || r->log10_n < best->log10_n)) best = r;
    }
    return best;
}

/* With the paper's linear attention, a matrix and a normaliser. T2 alone where the layers of a gap cannot be
 * counted: it asks no more of them than that they are at most so many. */
static hop_status extremal(ladder *l, const hop_separation *s, hop_error *err)
{
    hop_ladder_row *r = next_row(l, s, "extremal hybrid");
    int hops = s->hops;
    bool counted = hops <= MOST_GAPS;
    hop_arch_layer layers[2 * MOST_RUNGS + 1] = {{0}};
    for (int i = 0; i < 2 * hops - 1; i++) {
        layers[i] =
            (hop_arch_layer){.kind = i % 2 ? HOP_LAYER_FULL : HOP_LAYER_LINEAR, .heads = 1, .dim = s->dim};
        layers[i].repeat = i % 2 ? 1 : counted ? (int64_t)1 << 3 * hops * hops : INT32_MAX;
        layers[i].number_bits = s->bits;
        layers[i].state_bits = i % 2 ? 0 : (s->dim * s->dim + s->dim) * s->bits;
    }
    const hop_arch arch = {.layers = layers, .count = 2 * hops - 1};
    hop_bounds *b;
    hop_status got = hop_bounds_new(&b, &(hop_question){.arch = &arch, .hops = hops, .n = s->n}, err);
    if (got != HOP_OK) return got;
    hop_separation_row x = {.full_layers = hops - 1,
                            .linear_layers = counted ? layers[0].repeat * hops : -1,
                            .answer = HOP_ANSWER_SILENT};
    const hop_bound *first = first_to_speak(b, counted ? NULL : "T2");
    extremal_pattern(x.pattern, sizeof x.pattern, hops);
    if (first) {
        x.answer = first->answer;
        x.log10_n = first->log10_n;
        x.machine_checked = first->certificate != NULL;
        snprintf(x.theorem, sizeof x.theorem, "%s", first->id);
        snprintf(x.speaks_from, sizeof x.speaks_from, "%s", first->speaks_from);
        snprintf(x.needs, sizeof x.needs, "%s", first->needs ? first->needs : "");
        snprintf(x.has, sizeof x.has, "%s", first->has ? first->has : "");
    }
    say(&l->out->memory, r, &x, layers[0].state_bits, "; with the paper's states of d^2+d numbers");
    hop_bounds_free(b);
    return HOP_OK;
}

hop_status hop__ladder_known(ladder *l, const hop_separation *s, hop_error *err)
{
    const struct {
        const char *kind;
        int row;
        bool shown;
    } plans[] = {{s->hops > 1 ? "linear layers in the gaps" : "linear layers", HOP_ROW_GAPS, true},
                 {"linear layers only", HOP_ROW_LINEAR, s->hops > 1},
                 {"full, one layer fewer", HOP_ROW_FEWER, true}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (plans[i].shown)
            say(&l->out->memory, next_row(l, s, plans[i].kind), &s->rows[plans[i].row], s->state_bits, "");
    hop_status got = extremal(l, s, err);
    return got == HOP_OK ? hop_response_end(l->out, err) : got;
}

/* ---- mixers with larger states ------------------------------------------------------------------ */

typedef struct own_work {
    hop_ladder_row *rows[MOST_OTHERS];
    hop_separation found[MOST_OTHERS]; /* n is 0: none */
    const hop_separation *rung;
} own_work;

static void find_own(void *ctx, int64_t task, int worker)
{
    own_work *w = ctx;
    hop_separation *s = &w->found[task];
    *s = (hop_separation){.hops = w->rung->hops, .bits = w->rung->bits, .linear = w->rung->linear};
    hop_separation_of_mixer(s, w->rows[task]->mixer);
    if (hop_separation_find(s, false, NULL, NULL) != HOP_OK) s->n = 0;
    if (worker) hop_bounds_leave();
}

hop_status hop__ladder_own_lengths(ladder *l, const hop_separation *s, int64_t from, hop_error *err)
{
    own_work w = {.rung = s};
    hop_keep *k = &l->out->memory;
    int64_t count = 0;
    if (s->rows[HOP_ROW_GAPS].answer != HOP_ANSWER_IMPOSSIBLE)
        return HOP_OK; /* the rung itself needs longer n */
    for (int64_t i = from; i < l->other_count; i++) {
        hop_ladder_row *r = &l->others[i];
        if (r->built && r->mixer && r->state_bits > (double)s->state_bits) w.rows[count++] = r;
    }
    hop_pool_run(l->pool, count, find_own, &w);
    for (int64_t i = 0; i < count; i++) {
        if (!w.found[i].n) continue;
        w.rows[i]->below_impossible_from_n = hop_keep_printf(k, "%lld", (long long)w.found[i].n);
        w.rows[i]->below_theorem = hop_keep_said(k, w.found[i].rows[HOP_ROW_GAPS].theorem);
    }
    return hop_progress_tick(&l->args->ask.progress, "own lengths", (double)count, (double)count)
               ? HOP_OK
               : hop_fail(err, HOP_ESTOPPED, "stopped");
}
