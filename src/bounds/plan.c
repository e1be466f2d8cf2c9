/* Layer plans for so many hops at a length, the cheapest first.
 *
 * At one depth and width all plans with as many full layers cost the same, so what is searched is a number of
 * full layers (all up to hops + 1 where states may hold tables, P10; else those around the hops, and 0), and
 * all, which is the cheapest where the prompt is so short that a state is larger than its cache; what
 * theorems ask of their places is that a linear layer stands before the first or the second of them (P1), or
 * none does (P7G); and where states hold tables, that the full layers make the last hops, whose tables are
 * the longest (P10): with as many layers of each kind, states then have the fewest entries to hold. So three
 * placements speak for all: full layers spread evenly behind a linear one, all full layers first, all of them
 * last. tests/test_plan.c compares with every pattern of up to 8 layers. */
#include "room.h"

#include <hopbound/layers.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define AWAY     "does not apply: " /* what a theorem says that does not apply begins so */
#define SEARCHED 4 /* full layers up to which P6 is searched for; with more it begins beyond 10^300 */

typedef struct planner {
    const hop_plan_question *q;
    hop_plan *plans;
    int count, room;
    hop_error *err;
} planner;

/* Plans are judged side by side: a search for sizes takes a tenth of a second, and knows of no other. */
typedef struct jury {
    const planner *s;
    struct verdict {
        hop_status status;
        hop_error err;
    } * verdicts; /* [s->count] */
    atomic_bool stopped;
} jury;

/* ---- what a layer costs -------------------------------------------------------------------------- */

static int64_t weights_of(const hop_mixer_ops *ops, const hop_mixer_config *c)
{
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int64_t sum = 0;
    for (int i = 0, count = ops->params(c, params); i < count; i++)
        if (params[i].shape[1]) sum += params[i].shape[0] * params[i].shape[1];
    return sum;
}

/* Two flops a weight; attention: scores and values of the tokens it sees; a recurrence: six a number of its state, for
 * decay, correction, write and read. */
hop_status hop_plan_cost_add(hop_plan_cost *out, const hop_config *c, int64_t layer, const hop_plan_at *at,
                             hop_error *err)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    hop_mixer_config m;
    if (!ops)
        return hop_fail(err, HOP_EUNKNOWN, "%.40s: unknown mixer", hop_pattern_mixer(&c->pattern, layer));
    hop_status got = hop_config_mixer(c, ops, layer, &m, err);
    if (got != HOP_OK) return got;
    double seen = (double)at->n;
    if (ops->kind == HOP_MIXER_WINDOW) seen = fmin(seen, (double)m.option[HOP_OPTION_window]);
    out->flops_per_token += 2.0 * (double)weights_of(ops, &m);
    if (ops->kind == HOP_MIXER_ALONE) return HOP_OK;
    if (ops->kind == HOP_MIXER_RECURRENT) {
        double numbers = (double)hop_mixer_state_floats(ops, &m, 1);
        out->state_bytes += numbers * (double)at->number_bits / 8;
        out->flops_per_token += 6.0 * numbers;
    } else {
        out->kv_bytes += 2.0 * (double)(m.kv_heads * m.head_dim) * seen * (double)at->cache_bits / 8;
        out->flops_per_token += 4.0 * (double)(m.heads * m.head_dim) * seen;
    }
    return HOP_OK;
}

/* ---- one plan ------------------------------------------------------------------------------------- */

/* Of our own mixers: what is not wanted is NULL. */
static hop_status make_own(hop_arch *arch, hop_plan_cost *cost, const planner *s, const hop_pattern *pattern)
{
    hop_config c;
    const hop_plan_at at = {s->q->n, s->q->number_bits, s->q->cache_bits};
    const hop_arch_options as = {.number_bits = s->q->number_bits, .declared = true};
    hop_status got = hop_config_copy(&c, s->q->widths, s->err);
    hop_pattern_free(&c.pattern);
    c.pattern = *pattern; /* lent */
    for (int64_t i = 0; cost && got == HOP_OK && i < pattern->layers; i++)
        got = hop_plan_cost_add(cost, &c, i, &at, s->err);
    if (arch && got == HOP_OK) got = hop_arch_new(arch, &c, &as, s->err);
    c.pattern = (hop_pattern){0};
    hop_config_free(&c);
    return got;
}

static hop_status make(hop_arch *arch, hop_plan_cost *cost, const planner *s, const char *text)
{
    const hop_plan_layers *others = s->q->others;
    hop_pattern pattern = {0};
    hop_plan_cost unused;
    hop_status got = hop_pattern_parse(&pattern, text, s->q->mixer, s->err);
    if (got == HOP_OK && others) {
        hop_arch made = {0};
        got = others->make(&made, cost ? cost : &unused, others->of, &pattern, s->q->n, s->err);
        if (arch && got == HOP_OK)
            *arch = made;
        else
            hop_arch_free(&made);
    } else if (got == HOP_OK) {
        got = make_own(arch, cost, s, &pattern);
    }
    hop_pattern_free(&pattern);
    return got;
}

static const hop_bound *result(const hop_bounds *b, hop_answer answer)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        bool speaks = answer == HOP_ANSWER_POSSIBLE ? r->answer == answer : r->speaks_from != NULL;
        if (answer == HOP_ANSWER_IMPOSSIBLE && r->answer == HOP_ANSWER_POSSIBLE) speaks = false;
        if (speaks && (!best || r->log10_n < best->log10_n)) best = r;
    }
    return best;
}

static const char *says(const hop_bounds *b, const char *id)
{
    for (int i = 0; i < b->count; i++)
        if (strcmp(b->results[i].id, id) == 0) return b->results[i].why;
    return "";
}

static bool away(const char *why)
{
    return strncmp(why, AWAY, strlen(AWAY)) == 0;
}

/* Why neither full layers nor states are known to do it. */
static void say_open(char *out, size_t size, const char *p1, const char *p10)
{
    const char *full = p1 + (away(p1) ? strlen(AWAY) : 0);
    if (away(p1) && !away(p10))
        snprintf(out, size, "%s (P1); %s (P10)", full, p10);
    else
        snprintf(out, size, "%s", full);
}

/* Proved possible, impossible at this length, or neither, and why. */
static void judge(hop_plan *p, const hop_bounds *b)
{
    const hop_bound *yes = result(b, HOP_ANSWER_POSSIBLE), *no = result(b, HOP_ANSWER_IMPOSSIBLE);
    p->answer = yes                                         ? HOP_ANSWER_POSSIBLE
                : no && no->answer == HOP_ANSWER_IMPOSSIBLE ? HOP_ANSWER_IMPOSSIBLE
                                                            : HOP_ANSWER_SILENT;
    const hop_bound *by = yes ? yes : no;
    if (by) snprintf(p->by, sizeof p->by, "%s", by->id);
    if (no) snprintf(p->impossible_from, sizeof p->impossible_from, "%s", no->speaks_from);
    if (no) snprintf(p->impossible_by, sizeof p->impossible_by, "%s", no->id);
    p->impossible_log10 = no ? no->log10_n : INFINITY;
    if (yes)
        snprintf(p->why, sizeof p->why, "%s", yes->why);
    else if (p->answer == HOP_ANSWER_IMPOSSIBLE)
        snprintf(p->why, sizeof p->why, "%s: %s", no->id, no->why);
    else
        say_open(p->why, sizeof p->why, says(b, "P1"), says(b, "P10"));
}

static hop_status ask(hop_plan *p, const hop_arch *arch, const planner *s, const hop_progress *progress)
{
    hop_question q = {
        .arch = arch, .hops = s->q->hops, .n = s->q->n, .progress = progress, .searched = SEARCHED};
    hop_bounds *b = NULL;
    hop_status got = hop_bounds_new(&b, &q, s->err);
    if (got == HOP_OK) {
        hop_reach r = {0};
        hop__find_able(&r, arch, s->q->n, true);
        p->able = r.able;
        judge(p, b);
        if (!r.why_able) got = hop_fail(s->err, HOP_ENOMEM, "out of memory");
        hop_reach_free(&r);
    }
    hop_bounds_free(b);
    return got;
}

/* What it costs; it is judged later. */
static hop_status add_plan(planner *s, const char *pattern, int64_t layers, int64_t full)
{
    const hop_plan_layers *others = s->q->others;
    hop_plan p = {.layers = layers, .full = full};
    if (others && ((full && !others->full) || (full < layers && !others->linear))) return HOP_OK;
    if (s->count == s->room) return hop_fail(s->err, HOP_ERANGE, "too many plans");
    hop_status got = make(NULL, &p.cost, s, pattern);
    if (got == HOP_OK && !(p.pattern = strdup(pattern))) got = hop_fail(s->err, HOP_ENOMEM, "out of memory");
    if (got == HOP_OK) s->plans[s->count++] = p;
    return got;
}

static hop_status judge_plan(hop_plan *p, const planner *s, const hop_progress *progress)
{
    hop_arch arch = {0};
    hop_status got = make(&arch, NULL, s, p->pattern);
    if (got == HOP_OK) got = ask(p, &arch, s, progress);
    hop_arch_free(&arch);
    return got;
}

/* Progress is told by the thread that called. */
static void judge_task(void *ctx, int64_t task, int worker)
{
    jury *j = ctx;
    planner own = *j->s;
    struct verdict *v = &j->verdicts[task];
    own.err = &v->err;
    if (!j->stopped) v->status = judge_plan(&own.plans[task], &own, worker ? NULL : own.q->progress);
    if (v->status == HOP_ESTOPPED) j->stopped = true;
    if (worker) hop_bounds_leave();
}

/* The first error is the one of the first plan, whatever the threads. */
static hop_status judge_all(planner *s)
{
    jury j = {.s = s, .verdicts = calloc((size_t)s->count + 1, sizeof *j.verdicts)};
    hop_status got = HOP_OK;
    if (!j.verdicts) return hop_fail(s->err, HOP_ENOMEM, "out of memory");
    hop_pool_run(s->q->pool, s->count, judge_task, &j);
    for (int i = 0; got == HOP_OK && i < s->count; i++)
        if ((got = j.verdicts[i].status) != HOP_OK && s->err) *s->err = j.verdicts[i].err;
    free(j.verdicts);
    return got;
}

/* "gdn^3", "full"; nothing for none. */
static void add_power(hop_text *t, const char *what, int64_t times)
{
    if (times > 0) hop_text_printf(t, "%s%s", t->len && t->s[t->len - 1] != '(' ? " " : "", what);
    if (times > 1) hop_text_printf(t, "^%lld", (long long)times);
}

/* As many linear layers before every full one, what is left behind them; where there are fewer, all of them
 * first. */
static hop_status add_spread(planner *s, int64_t layers, int64_t full)
{
    hop_text t = {0};
    int64_t linear = layers - full, each = full ? linear / full : 0;
    if (each > 0 && full > 1) {
        hop_text_add(&t, "(");
        add_power(&t, s->q->mixer, each);
        hop_text_printf(&t, " full)^%lld", (long long)full);
        add_power(&t, s->q->mixer, linear - each * full);
    } else {
        add_power(&t, s->q->mixer, linear);
        add_power(&t, "full", full);
    }
    hop_status got =
        t.s && !t.failed ? add_plan(s, t.s, layers, full) : hop_fail(s->err, HOP_ENOMEM, "out of memory");
    hop_text_free(&t);
    return got;
}

static hop_status add_full_first(planner *s, int64_t layers, int64_t full)
{
    hop_text t = {0};
    add_power(&t, "full", full);
    add_power(&t, s->q->mixer, layers - full);
    hop_status got =
        t.s && !t.failed ? add_plan(s, t.s, layers, full) : hop_fail(s->err, HOP_ENOMEM, "out of memory");
    hop_text_free(&t);
    return got;
}

static hop_status add_full_last(planner *s, int64_t layers, int64_t full)
{
    hop_text t = {0};
    add_power(&t, s->q->mixer, layers - full);
    add_power(&t, "full", full);
    hop_status got =
        t.s && !t.failed ? add_plan(s, t.s, layers, full) : hop_fail(s->err, HOP_ENOMEM, "out of memory");
    hop_text_free(&t);
    return got;
}

/* ---- states that hold tables ------------------------------------------------------------------------ */

/* May several layers' states hold one table? */
static bool spreads(const hop_plan_question *q)
{
    return q->others ? q->others->spread : hop_mixer_find(q->mixer)->table != NULL;
}

/* May a state of one layer hold one, by a product of maps? */
static bool maps(const hop_plan_question *q)
{
    return !q->others && hop_mixer_find(q->mixer)->maps;
}

/* Does P10 make the hops with so many linear layers before the full ones? */
static hop_status state_able(const planner *s, int64_t linear, int64_t full, bool *able)
{
    hop_arch arch = {0};
    hop_text t = {0};
    add_power(&t, s->q->mixer, linear);
    add_power(&t, "full", full);
    hop_status got =
        t.s && !t.failed ? make(&arch, NULL, s, t.s) : hop_fail(s->err, HOP_ENOMEM, "out of memory");
    hop_text_free(&t);
    *able = got == HOP_OK && hop__state_able(&arch, s->q->hops, s->q->n);
    hop_arch_free(&arch);
    return got;
}

/* The fewest linear layers whose states make what so many full ones leave: a linear layer more never hurts.
 */
static hop_status add_fewest(planner *s, int64_t full)
{
    int64_t no = 0, yes = HOP_PLAN_MAX_LAYERS - full;
    bool able;
    if (s->q->others && (!s->q->others->linear || (full && !s->q->others->full))) return HOP_OK;
    hop_status got = state_able(s, yes, full, &able);
    if (got != HOP_OK || !able) return got;
    while (got == HOP_OK && yes - no > 1) {
        int64_t half = no + (yes - no) / 2;
        got = state_able(s, half, full, &able);
        if (able)
            yes = half;
        else
            no = half;
    }
    return got == HOP_OK ? add_full_last(s, full + yes, full) : got;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static bool wanted(const hop_plan_question *q, int64_t full)
{
    bool held = maps(q) || spreads(q); /* then fewer full layers may do */
    if (q->full_count == 0)
        return full == 0 || full == q->layers || (full <= q->hops + 1 && (held || full >= q->hops - 2));
    for (int i = 0; i < q->full_count; i++)
        if (q->full[i] == full) return true;
    return false;
}

static hop_status add_all(planner *s)
{
    const hop_plan_question *q = s->q;
    hop_status got = HOP_OK;
    int64_t most = q->layers ? q->layers : q->full_count ? HOP_PLAN_MAX_LAYERS - 1 : q->hops + 1;
    for (int64_t full = 0; got == HOP_OK && full <= most; full++) {
        if (!wanted(q, full)) continue;
        if (q->layers) {
            got = add_spread(s, q->layers, full);
            if (got == HOP_OK && full == q->hops && full >= 2 && full < q->layers)
                got = add_full_first(s, q->layers, full);
            if (got == HOP_OK && spreads(q) && full >= 2 && full < q->hops && q->layers - full >= full)
                got = add_full_last(s, q->layers, full);
            continue;
        }
        if (full > 0) got = add_spread(s, full, full);
        if (got == HOP_OK) got = add_spread(s, full + 1, full);
        if (got == HOP_OK && maps(q) && full < q->hops) got = add_spread(s, q->hops + 1, full);
        if (got == HOP_OK && spreads(q) && full < q->hops) got = add_fewest(s, full);
    }
    return got;
}

static int by_cost(const void *left, const void *right)
{
    const hop_plan *a = left, *b = right;
    double x = a->cost.kv_bytes + a->cost.state_bytes, y = b->cost.kv_bytes + b->cost.state_bytes;
    if (x != y) return x < y ? -1 : 1;
    if (a->cost.flops_per_token != b->cost.flops_per_token)
        return a->cost.flops_per_token < b->cost.flops_per_token ? -1 : 1;
    if (a->answer != b->answer)
        return a->answer == HOP_ANSWER_POSSIBLE ? -1 : b->answer == HOP_ANSWER_POSSIBLE ? 1 : 0;
    return strcmp(a->pattern, b->pattern);
}

static hop_status check(const hop_plan_question *q, hop_error *err)
{
    if (q->hops < 1 || q->hops > HOP_MAX_HOPS)
        return hop_fail(err, HOP_EDOMAIN, "hops: %d is outside 1..%d", q->hops, HOP_MAX_HOPS);
    if (q->n < 1) return hop_fail(err, HOP_EDOMAIN, "n: below 1");
    if (q->layers < 0 || q->layers > HOP_PLAN_MAX_LAYERS)
        return hop_fail(err, HOP_EDOMAIN, "layers: %lld is outside 1..%d", (long long)q->layers,
                        HOP_PLAN_MAX_LAYERS);
    for (int i = 0; i < q->full_count; i++)
        if (q->full[i] < 0 || q->full[i] > (q->layers ? q->layers : HOP_PLAN_MAX_LAYERS - 1))
            return hop_fail(err, HOP_EDOMAIN, "full: %lld of %lld layers", (long long)q->full[i],
                            (long long)q->layers);
    const hop_mixer_ops *ops = hop_mixer_find(q->mixer);
    if (q->others) return HOP_OK;
    if (!ops) return hop_fail(err, HOP_EUNKNOWN, "mixer: %.40s: unknown mixer", q->mixer);
    if (ops->kind != HOP_MIXER_RECURRENT || ops->forgets)
        return hop_fail(err, HOP_EDOMAIN, "mixer: %s: is not a linear mixer", q->mixer);
    return HOP_OK;
}

hop_status hop_plans_find(hop_plan **out, int *count, const hop_plan_question *q, hop_error *err)
{
    planner s = {.q = q, .room = 5 * HOP_MAX_HOPS + 3 * q->full_count + 8, .err = err};
    *out = NULL, *count = 0;
    hop_status got = check(q, err);
    if (got != HOP_OK) return got;
    s.plans = calloc((size_t)s.room, sizeof *s.plans);
    if (!s.plans) return hop_fail(err, HOP_ENOMEM, "out of memory");
    got = add_all(&s);
    if (got == HOP_OK) got = judge_all(&s);
    qsort(s.plans, (size_t)s.count, sizeof *s.plans, by_cost);
    if (got == HOP_OK)
        *out = s.plans, *count = s.count;
    else
        hop_plans_free(s.plans, s.count);
    return got;
}

void hop_plans_free(hop_plan *plans, int count)
{
    for (int i = 0; i < count; i++) free(plans[i].pattern);
    free(plans);
}
