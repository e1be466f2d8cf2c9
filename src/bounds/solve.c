/* The value at which the verdict changes: one number of the question is moved, all others stay. More state,
 * wider heads, more bits and more full layers make a plan no worse, a longer prompt no better; so a bisection
 * finds the last value that is proved impossible and the first that is proved possible. Each theorem is
 * bisected by itself, and only where it says more than those before it: a search for sizes may take a tenth
 * of a second, and most theorems are asked once. What is said of either value was evaluated at it and, by all
 * theorems, at its neighbour. */
#include "room.h"

#include <hopbound/model.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEARCHED 1 /* P6 of more full layers begins beyond 10^18 tokens, where nothing is asked */

/* What theorems said: passes and directions come by the same values again. A place each by their hash; what
 * another one takes is asked once more. */
#define KEPT 256
typedef struct kept {
    int theorem;
    int64_t value;
    hop__opinion of; /* id NULL: nothing yet */
} kept;

typedef struct solver {
    const hop_solve_question *q;
    hop_error *err;
    hop_status status;
    char by[8]; /* who gave the last verdict that was looked for */
    double
        excess; /* of the last one that was asked: log10 of the n it speaks from, less that of the n asked */
    kept kept[KEPT];
} solver;

static const struct unknown {
    const char *name;
    int64_t least, most;
} unknowns[] = {
#define UNKNOWN(id, name, least, most, help) {name, least, most},
    HOP_UNKNOWN_LIST(UNKNOWN)
#undef UNKNOWN
};

const char *hop_unknown_name(hop_unknown u)
{
    return unknowns[u].name;
}

/* As many layers as before, `full` of them full, the others linear; a linear one first where there is any. */
static hop_status set_full(hop_config *c, const hop_solve_question *q, int64_t full, hop_error *err)
{
    int64_t layers = c->pattern.layers;
    hop_text t = {0};
    for (int64_t i = 0; i < layers; i++)
        hop_text_add(&t, full && (i + 1) * full / layers > i * full / layers ? "F" : "L");
    hop_status s = t.s && !t.failed ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_pattern_free(&c->pattern);
    if (s == HOP_OK) s = hop_pattern_parse(&c->pattern, t.s, q->mixer, err);
    hop_text_free(&t);
    return s;
}

static hop_status arch_at(hop_arch *arch, const hop_solve_question *q, int64_t value, hop_error *err)
{
    hop_config c;
    hop_arch_options o = q->options;
    hop_status s = hop_config_copy(&c, q->config, err);
    if (s != HOP_OK) return s;
    if (q->unknown == HOP_UNKNOWN_DIM) {
        c.head_dim = value;
        if (q->width_follows) c.d_model = c.heads * value;
    }
    if (q->unknown == HOP_UNKNOWN_BITS) o.number_bits = value;
    if (q->unknown == HOP_UNKNOWN_STATE) o.declared = false, o.state_bits = value;
    if (q->unknown == HOP_UNKNOWN_FULL) s = set_full(&c, q, value, err);
    if (s == HOP_OK) s = hop_arch_new(arch, &c, &o, err);
    hop_config_free(&c);
    return s;
}

/* What the theorem says at the value. */
static hop__opinion ask(solver *v, int theorem, int64_t value)
{
    hop_arch arch = {0};
    hop__opinion of = {0};
    kept *k =
        &v->kept[((uint64_t)value * 0x9e3779b97f4a7c15u + (uint64_t)theorem * 0xc2b2ae3d27d4eb4fu) >> 56];
    if (k->of.id && k->theorem == theorem && k->value == value) return k->of;
    bool length = v->q->unknown == HOP_UNKNOWN_N;
    hop_question q = {.arch = &arch,
                      .hops = v->q->hops,
                      .n = length ? value : v->q->n,
                      .m = length ? 0 : v->q->m,
                      .fan = v->q->fan,
                      .progress = v->q->progress,
                      .searched = SEARCHED};
    v->status = arch_at(&arch, v->q, value, v->err);
    if (v->status == HOP_OK) v->status = hop__ask_one(&of, &q, theorem, v->err);
    hop_arch_free(&arch);
    if (v->status == HOP_OK) *k = (kept){theorem, value, of};
    return of;
}

/* Does this theorem give this answer at the value? */
static bool says(solver *v, hop_answer answer, int theorem, int64_t value)
{
    v->excess = NAN;
    if (v->status != HOP_OK || !hop__speaks_of(theorem, answer)) return false;
    hop__opinion of = ask(v, theorem, value);
    int64_t n = v->q->unknown == HOP_UNKNOWN_N ? value : v->q->n;
    if (v->status == HOP_OK && of.answer != HOP_ANSWER_POSSIBLE && n)
        v->excess = of.log10_n - log10((double)n);
    bool found = v->status == HOP_OK && of.answer == answer;
    if (found) snprintf(v->by, sizeof v->by, "%s", of.id);
    return found;
}

typedef struct range {
    int64_t least, most;
} range;

/* A prompt of L hops has 2^(L+1) tokens at least. */
static range range_of(const hop_solve_question *q)
{
    range r = {unknowns[q->unknown].least, unknowns[q->unknown].most};
    if (q->unknown == HOP_UNKNOWN_FULL) r.most = q->config->pattern.layers;
    if (q->unknown == HOP_UNKNOWN_N) r.least = q->hops < 58 ? (int64_t)1 << (q->hops + 1) : r.most;
    return r;
}

/* A place between good and bad: halfway by their bits where they are far apart, else halfway. */
static int64_t between(int64_t good, int64_t bad)
{
    int64_t low = good < bad ? good : bad, high = good < bad ? bad : good;
    if (low < high / 4) {
        int bits = 0, most = 0;
        while (low >> bits) bits++;
        while (high >> most) most++;
        int64_t half = (int64_t)1 << ((bits + most) / 2);
        if (half > low && half < high) return half;
    }
    return low + (high - low) / 2;
}

typedef struct place {
    int64_t value;
    double excess;
} place;

/* Where the n from which the theorem speaks would be the n asked, if its logarithm were a line over that of
 * the value. Every third time thrice as far from the nearer end, so that the farther one comes near, too;
 * every sixth time, and where there is no line, halfway. */
static int64_t guess(place good, place bad, int turn)
{
    int64_t low = (good.value < bad.value ? good : bad).value,
            high = (good.value < bad.value ? bad : good).value;
    if (turn % 6 == 5 || !(good.excess <= 0 && bad.excess > 0 && isfinite(bad.excess)))
        return between(low, high);
    double x = log2((double)good.value + 1), y = log2((double)bad.value + 1),
           part = good.excess / (good.excess - bad.excess);
    if (turn % 3 == 2) part = part < 0.5 ? fmin(0.5, 3 * part) : fmax(0.5, 3 * part - 2);
    double z = exp2(x + (y - x) * part) - 1;
    return z <= (double)low + 1 ? low + 1 : z >= (double)high - 1 ? high - 1 : (int64_t)z;
}

/* The last value, from a good one towards `to`, at which the theorem gives the answer; or, unless `fine`, one
 * within a hundredth of it. */
static int64_t climb(solver *v, hop_answer answer, int theorem, place good, int64_t to, bool fine)
{
    int64_t step = good.value <= to ? 1 : -1;
    if (good.value == to || says(v, answer, theorem, to)) return to;
    place bad = {to, v->excess};
    for (int turn = 0, side = 0; v->status == HOP_OK; turn++) {
        if ((bad.value - good.value) * step <= (fine ? 1 : 1 + (good.value >> 7))) break;
        int64_t half = guess(good, bad, turn);
        bool found = says(v, answer, theorem, half);
        int now = found ? 1 : -1;
        if (found) {
            good = (place){half, v->excess};
            if (side == now) bad.excess /= 2; /* the end that stays is pulled nearer */
        } else {
            bad = (place){half, v->excess};
            if (side == now) good.excess /= 2;
        }
        side = now;
    }
    return good.value;
}

/* Searches for sizes are not smooth: a theorem may still speak a little beyond where it first falls silent.
 */
static int64_t look_beyond(solver *v, hop_answer answer, int theorem, int64_t last, int64_t to)
{
    int64_t step = last <= to ? 1 : -1;
    for (int k = 6; k < 10 && answer == HOP_ANSWER_IMPOSSIBLE; k++) {
        int64_t next = last + step * (last >> k);
        if (next != last && (to - next) * step >= 0 && says(v, answer, theorem, next))
            last = climb(v, answer, theorem, (place){next, v->excess}, to, true);
    }
    return last;
}

/* Values are walked from `from`, where the answer may be, to `to`: the last that has it, however far, and at
 * whose neighbour no theorem gives it; `none` if none gives it at `from`. First all theorems roughly, then
 * the one that led, and those that say more. */
static int64_t last_with(solver *v, hop_answer answer, int64_t from, int64_t to, int64_t none)
{
    int64_t step = from <= to ? 1 : -1, best = none;
    bool found = true;
    for (int pass = 0, leader = 0; (found || pass == 1) && v->status == HOP_OK; pass++) {
        found = false;
        for (int k = 0, first = leader; k < HOP__THEOREMS && best != to; k++) {
            int i = (first + k) % HOP__THEOREMS;
            int64_t next = best == none ? from : pass == 1 && k == 0 ? best : best + step;
            if (!says(v, answer, i, next)) continue;
            found = true;
            leader = i;
            best = climb(v, answer, i, (place){next, v->excess}, to, pass > 0);
            if (pass > 0) best = look_beyond(v, answer, i, best, to);
        }
        if (best == none) break;
    }
    return best;
}

/* The theorem that gives it there. */
static void name_theorem(char by[8], solver *v, hop_answer answer, int64_t value)
{
    for (int i = 0; i < HOP__THEOREMS; i++)
        if (says(v, answer, i, value)) {
            memcpy(by, v->by, sizeof v->by);
            return;
        }
}

/* Along n the theorems say themselves from where on they speak. */
static void solve_length(hop_solution *out, solver *v)
{
    hop_arch arch = {0};
    hop_bounds *b = NULL;
    const hop_bound *best = NULL;
    hop_question q = {.arch = &arch, .hops = v->q->hops, .progress = v->q->progress};
    v->status = arch_at(&arch, v->q, 0, v->err);
    if (v->status == HOP_OK) v->status = hop_bounds_new(&b, &q, v->err);
    for (int i = 0; b && i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        if (r->answer == HOP_ANSWER_IMPOSSIBLE && r->speaks_from && (!best || r->log10_n < best->log10_n))
            best = r;
    }
    if (best) {
        snprintf(out->impossible_from, sizeof out->impossible_from, "%s", best->speaks_from);
        snprintf(out->impossible_by, sizeof out->impossible_by, "%s", best->id);
        if (best->log10_n < 18) out->impossible = strtoll(best->speaks_from, NULL, 10);
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    range r = range_of(v->q);
    out->possible = last_with(v, HOP_ANSWER_POSSIBLE, r.least, r.most, -1);
    out->possible_everywhere = out->possible == r.most;
}

/* Along all others what is impossible comes first, and what is possible reaches down from the most. */
static void solve_width(hop_solution *out, solver *v)
{
    range r = range_of(v->q);
    out->possible = last_with(v, HOP_ANSWER_POSSIBLE, r.most, r.least, -1);
    out->possible_everywhere = out->possible == r.least;
    if (out->possible_everywhere) return; /* nothing is left to be impossible */
    out->impossible = last_with(v, HOP_ANSWER_IMPOSSIBLE, r.least, r.most, -1);
    out->impossible_everywhere = out->impossible == r.most;
    if (out->impossible >= 0) name_theorem(out->impossible_by, v, HOP_ANSWER_IMPOSSIBLE, out->impossible);
}

hop_status hop_solve(hop_solution *out, const hop_solve_question *q, hop_error *err)
{
    solver v = {.q = q, .err = err};
    *out = (hop_solution){.impossible = -1, .possible = -1};
    if (q->unknown != HOP_UNKNOWN_N && !q->n && !q->m)
        return hop_fail(err, HOP_EDOMAIN, "a length or sizes are needed");
    if (q->unknown == HOP_UNKNOWN_N)
        solve_length(out, &v);
    else
        solve_width(out, &v);
    if (out->possible >= 0) name_theorem(out->possible_by, &v, HOP_ANSWER_POSSIBLE, out->possible);
    return v.status;
}
