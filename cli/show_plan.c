/* What `plan` prints for people. */
#include <hopbound/ask_plan.h>

#include <math.h>
#include <string.h>
#include "cli.h"
#include "show_over.h"

static void say_bytes(char out[16], double v)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    for (; v >= 1024 && unit < 6; unit++) v /= 1024;
    snprintf(out, 16, "%.4g %s", v, units[unit]);
}

static void say_flops(char out[16], double v)
{
    static const char *const units[] = {"", " K", " M", " G", " T", " P"};
    int unit = 0;
    for (; isfinite(v) && v >= 1000 && unit < 5; unit++) v /= 1000;
    if (isfinite(v))
        snprintf(out, 16, "%.3g%s", v, units[unit]);
    else
        strcpy(out, "-");
}

static const char *word(const hop_plan_row *p)
{
    return hop_plan_verdict_words[p->verdict];
}

/* The answer first: the cheapest plan that is possible, and why the next cheaper one is not. */
static void say_answer(hop_text *out, const hop_plan_answer *a)
{
    const hop_plan_row *best = a->plans.at, *end = best + a->plans.count;
    const char *s = a->hops > 1 ? "s" : "";
    while (best < end && best->verdict != HOP_ANSWER_POSSIBLE) best++;
    if (best == end) {
        hop_text_printf(out, "No plan here is known to make %lld hop%s at %lld tokens", (long long)a->hops, s,
                        (long long)a->n);
        if (a->plans.count)
            hop_text_printf(out, ": %s is %s: %s", end[-1].pattern, word(&end[-1]), end[-1].why);
        hop_text_add(out, ".\n");
        return;
    }
    char bytes[16];
    say_bytes(bytes, best->kv_bytes + best->state_bytes);
    hop_text_printf(out, "Cheapest plan for %lld hop%s at %lld tokens: %s, %s of cache and states.\n",
                    (long long)a->hops, s, (long long)a->n, best->pattern, bytes);
    if (best == a->plans.at) return;
    const hop_plan_row *p = best - 1;
    hop_text_printf(out, "The next cheaper, %s, is %s: %s", p->pattern, word(p), p->why);
    if (p->verdict == HOP_ANSWER_SILENT && p->impossible_from_n)
        hop_text_printf(out, "; impossible from n = %s on (%s)", p->impossible_from_n, p->impossible_by);
    hop_text_add(out, ".\n");
}

static void say_row(hop_text *out, const hop_plan_row *p, int width)
{
    char kv[16], state[16], flops[16];
    say_bytes(kv, p->kv_bytes);
    say_bytes(state, p->state_bytes);
    say_flops(flops, p->flops_per_token);
    hop_text_printf(out, "%-*s  %6lld %4lld  %10s  %10s  %8s  %-10s  %4lld  %s%s%s\n", width, p->pattern,
                    (long long)p->layers, (long long)p->full_layers, kv, state, flops, word(p),
                    (long long)p->hops_proved, p->impossible_from_n ? p->impossible_from_n : "not known",
                    p->impossible_from_n ? " " : "", p->impossible_by ? p->impossible_by : "");
}

static void show_plans(hop_text *out, const hop_plan_answer *a)
{
    size_t width = 7;
    bool placed = false, states = false;
    say_answer(out, a);
    for (int64_t i = 0; i < a->plans.count; i++) {
        const hop_plan_row *p = &a->plans.at[i];
        width = strlen(p->pattern) > width ? strlen(p->pattern) : width;
        placed = placed || (a->hops > 1 && p->full_layers == a->hops && p->layers > p->full_layers);
        states = states || (p->verdict == HOP_ANSWER_POSSIBLE && p->by && strcmp(p->by, "P10") == 0);
    }
    hop_text_printf(out, "\n%-*s  %6s %4s  %10s  %10s  %8s  %-10s  %4s  %s\n", (int)width, "plan", "layers",
                    "full", "KV", "states", "flops", "verdict", "hops", "impossible from n");
    for (int64_t i = 0; i < a->plans.count; i++) say_row(out, &a->plans.at[i], (int)width);
    if (a->too_large > 0)
        hop_text_printf(out, "%s found and larger than %s.\n", hop_say_things(a->too_large, "more plan").s,
                        hop_say_bytes(a->budget_bytes).s);
    hop_text_printf(out,
                    "\nverdict: of %lld hop%s; hops: the most that are possible. KV and states at token %lld",
                    (long long)a->hops, a->hops > 1 ? "s" : "", (long long)a->n);
    if (a->like)
        hop_text_printf(out, ", of layers\nlike those of %s.\n", a->like);
    else
        hop_text_printf(out, ", %lld-bit cache, %lld-bit\nstates; flops a token of the mixers alone.\n",
                        (long long)a->cache_bits, (long long)a->bits);
    if (placed)
        hop_text_printf(
            out,
            "Where: with %lld full layers a linear one must stand before the first or the second of "
            "them (P1); the\nother places do not matter where full layers make all hops.\n",
            (long long)a->hops);
    if (states)
        hop_text_add(out,
                     "With fewer full layers states make the first hops, whose tables are the shortest, and "
                     "full layers do\nbest behind them (P10).\n");
    say_any_weights(out);
    say_known_weights(out, "possible");
}

void show_plan(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_over_answer_record)
        show_over(out, r->data);
    else
        show_plans(out, r->data);
}
