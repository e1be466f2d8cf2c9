/* What `prove` prints for people. */
#include <hopbound/ask_prove.h>

#include <math.h>
#include <string.h>
#include "cli.h"

static void print_inputs(hop_text *out, const hop_prove_answer *p)
{
    if (p->inputs != HOP_NO_COUNT && p->inputs < 1000000000)
        hop_text_printf(out, "%lld inputs of %s", (long long)p->inputs, p->sizes);
    else
        hop_text_printf(out, "10^%.1f inputs of %s", p->log10_inputs, p->sizes);
}

/* A layer at which no token asks for anything: it passes the stream as it is. */
static bool is_idle(const hop_prove_margin *g)
{
    return g->addresses == 0 && g->player == HOP_PLAYER_NONE;
}

/* Returns the first margin behind the run of idle layers from i on, which is one line. */
static int64_t print_idle(hop_text *out, const hop_prove_answer *p, int64_t i)
{
    int64_t end = i + 1;
    while (end < p->margins.count && is_idle(&p->margins.at[end])) end++;
    char layers[48];
    long long first = (long long)p->margins.at[i].layer, last = (long long)p->margins.at[end - 1].layer;
    if (first == last)
        snprintf(layers, sizeof layers, "%lld", first);
    else
        snprintf(layers, sizeof layers, "%lld-%lld", first, last);
    hop_text_printf(out, "  %5s  idle\n", layers);
    return end;
}

/* No margin where a hidden unit may be on either side: a comparison, which 2-Sum makes, sits on its edge. */
static void print_clip(char out[16], const hop_prove_margin *g)
{
    if (g->clip_margin > 0)
        snprintf(out, 16, "%.4g", g->clip_margin);
    else
        strcpy(out, "none");
}

static void explain_clip(hop_text *out, const hop_prove_answer *p)
{
    bool crossed = false;
    for (int64_t i = 0; i < p->margins.count; i++) crossed = crossed || !(p->margins.at[i].clip_margin > 0);
    if (crossed)
        hop_text_add(out, "  clip margin none: a hidden unit may be on either side there; both are followed, "
                          "and the read-out margin decides\n");
}

/* What the last token looks for there: a table, w, or in other tasks a token. */
static void print_asks(char out[16], const hop_prove_margin *g, bool tables)
{
    const char *says = g->player == HOP_PLAYER_NONE ? "-"
                       : !tables                    ? "token"
                       : g->player >= 0             ? "z_%lld"
                                                    : "w";
    snprintf(out, 16, says, (long long)g->player);
}

static void print_margins(hop_text *out, const hop_prove_answer *p)
{
    bool tables = strstr(p->task, "funccomp") != NULL;
    if (p->margins.count)
        hop_text_printf(out, "  %5s %5s %12s %12s %12s %12s %12s\n", "layer", "asks", "addresses",
                        "score gap", "wrong mass", "clip margin", "code error");
    for (int64_t i = 0; i < p->margins.count;) {
        const hop_prove_margin *g = &p->margins.at[i];
        char asks[16], clip[16];
        if (is_idle(g)) {
            i = print_idle(out, p, i);
            continue;
        }
        i++;
        print_asks(asks, g, tables);
        print_clip(clip, g);
        hop_text_printf(out, "  %5lld %5s %12lld %12.4g %12.3g %12s %12.3g\n", (long long)g->layer, asks,
                        (long long)g->addresses, g->score_gap, g->wrong_mass, clip, g->code_error);
    }
    explain_clip(out, p);
}

static void print_lines(hop_text *out, const char *head, const hop_texts *lines)
{
    for (int64_t i = 0; i < lines->count; i++)
        hop_text_printf(out, "  %-9s %s\n", i ? "" : head, lines->at[i]);
}

void show_prove(hop_text *out, const hop_response *r)
{
    const hop_prove_answer *p = r->data;
    hop_text_name(out, p->dir);
    hop_text_printf(out, ": %s %s ", hop_verdict_words[p->verdict],
                    p->verdict == HOP_PROVED    ? "for all"
                    : p->verdict == HOP_REFUTED ? "by one of"
                                                : "for the");
    print_inputs(out, p);
    hop_text_printf(out, "\n  method %s, %.2f s", p->method, p->seconds);
    if (p->enumerated) hop_text_printf(out, ", %lld inputs run", (long long)p->enumerated);
    hop_text_add(out, "\n");
    print_margins(out, p);
    if (p->margins.count && p->verdict == HOP_PROVED && strncmp(p->method, "interval", 8) == 0)
        hop_text_printf(out, "  read-out margin %.4g\n", p->readout_margin);
    print_lines(out, "covers:", &p->covers);
    print_lines(out, "rests on:", &p->rests_on);
    if (p->why[0]) hop_text_printf(out, "  why: %s\n", p->why);
    if (p->counterexample) {
        char said[ANSWER_SIZE];
        print_answer(said, p->counterexample->prediction);
        hop_text_printf(out, "  counter-example: the answer at token %lld is %lld, the network says %s\n",
                        (long long)p->counterexample->position, (long long)p->counterexample->answer, said);
    }
}
