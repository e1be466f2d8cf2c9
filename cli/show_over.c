/* What hops against length are for people: a row a model or plan, a column a length. */
#include "show_over.h"

#include <string.h>
#include "cli.h"

enum { MOST_NAME = 26, CELL = 9, MOST_SAID = 8 };

/* "32k", "16M", "100000" */
static void name_length(char out[24], int64_t n)
{
    static const char units[] = "kMG";
    int unit = -1;
    while (n >= 1024 && n % 1024 == 0 && unit < 2) n /= 1024, unit++;
    snprintf(out, 24, "%lld%.1s", (long long)n, unit < 0 ? "" : &units[unit]);
}

static void add_name(hop_text *out, const char *name, int width)
{
    int length = (int)strlen(name);
    if (length > width)
        hop_text_printf(out, "%.*s..", width - 2, name);
    else
        hop_text_printf(out, "%-*s", width, name);
}

static void add_head(hop_text *out, const hop_over_answer *a, const char *what, int width)
{
    hop_text_printf(out, "%-*s", width, what);
    for (int64_t i = 0; i < a->lengths.count; i++) {
        char name[24];
        name_length(name, a->lengths.at[i]);
        hop_text_printf(out, " %*s", CELL, name);
    }
    hop_text_add(out, "\n");
}

/* "16 all", "12", "3 not 4", "- not 8" */
static void hops_cell(char out[64], const hop_over_point *p)
{
    char able[32] = "-", unable[32] = "";
    if (p->hops_possible != HOP_NO_COUNT)
        snprintf(able, sizeof able, "%lld%s", (long long)p->hops_possible, p->all_that_fit ? " all" : "");
    if (p->hops_impossible != HOP_NO_COUNT && p->hops_impossible <= p->hops_that_fit)
        snprintf(unable, sizeof unable, " not %lld", (long long)p->hops_impossible);
    snprintf(out, 64, "%s%s", able, unable);
}

static void bytes_cell(char out[64], const hop_over_point *p)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    if (p->kv_bytes == HOP_NO_COUNT || p->state_bytes == HOP_NO_COUNT) {
        strcpy(out, "?");
        return;
    }
    double bytes = (double)p->kv_bytes + (double)p->state_bytes;
    for (; bytes >= 1024 && unit < 5; unit++) bytes /= 1024;
    snprintf(out, 64, "%.*f %s", bytes < 10 && unit ? 2 : bytes < 100 && unit ? 1 : 0, bytes, units[unit]);
}

static void add_rows(hop_text *out, const hop_over_answer *a, int width,
                     void cell(char[64], const hop_over_point *))
{
    for (int64_t c = 0; c < a->curves.count; c++) {
        add_name(out, a->curves.at[c].name, width);
        for (int64_t i = 0; i < a->lengths.count; i++) {
            char text[64];
            cell(text, &a->points.at[c * a->lengths.count + i]);
            hop_text_printf(out, " %*s", CELL, text);
        }
        hop_text_add(out, "\n");
    }
}

/* What the numbers do beyond the table. */
static void say_curve(hop_text *out, const hop_over_curve *c)
{
    if (c->all_that_fit_up_to == HOP_NO_COUNT && !c->later_from_n && !c->not_counted) return;
    hop_text_printf(out, "%s:", c->name);
    if (c->all_that_fit_up_to != HOP_NO_COUNT)
        hop_text_printf(out, " all hops that fit are possible up to %s",
                        hop_say_things(c->all_that_fit_up_to, "token").s);
    if (c->not_counted) hop_text_printf(out, " no theorem here says how many, where %s", c->not_counted);
    if (c->later_from_n)
        hop_text_printf(out, "%s on longer prompts, from n = %s on, %lld hop%s impossible (%s)",
                        c->all_that_fit_up_to != HOP_NO_COUNT || c->not_counted ? ";" : "",
                        hop_say_digits(c->later_from_n).s, (long long)c->later_hops,
                        c->later_hops == 1 ? " is" : "s are", c->later_by);
    hop_text_add(out, ".\n");
}

static void say_cells(hop_text *out, const hop_over_answer *a)
{
    bool all = false, unable = false, uncounted = false;
    for (int64_t i = 0; i < a->points.count; i++) {
        const hop_over_point *p = &a->points.at[i];
        all = all || p->all_that_fit;
        unable = unable || (p->hops_impossible != HOP_NO_COUNT && p->hops_impossible <= p->hops_that_fit);
        uncounted = uncounted || p->hops_possible == HOP_NO_COUNT;
    }
    hop_text_add(out, "12: so many hops are possible (P1, P10), more are open");
    if (all) hop_text_add(out, "; 16 all: these are all that fit the length");
    if (unable) hop_text_add(out, "; not 13: so many are impossible there, for any weights");
    if (uncounted) hop_text_add(out, "; -: not counted");
    hop_text_add(out, ".\n");
}

/* --fit */
static void say_longest(hop_text *out, const hop_over_answer *a)
{
    bool first = true;
    for (int64_t c = 0; c < a->curves.count; c++) {
        const hop_over_curve *one = &a->curves.at[c];
        if (one->longest == HOP_NO_COUNT && !one->any_length) continue;
        hop_text_printf(out, "%s%s %s", first ? "Longest prompt that fits: " : ", ", one->name,
                        one->any_length ? "any"
                        : one->longest  ? hop_say_things(one->longest, "token").s
                                        : "none");
        first = false;
    }
    if (!first) hop_text_add(out, ".\n\n");
}

void show_over(hop_text *out, const hop_over_answer *a)
{
    int width = 6;
    for (int64_t c = 0; c < a->curves.count; c++) {
        int length = (int)strlen(a->curves.at[c].name);
        width = length > width ? length : width;
    }
    if (width > MOST_NAME) width = MOST_NAME;
    if (a->differ) hop_text_printf(out, "%s\n\n", a->differ);
    add_head(out, a, "hops", width);
    add_rows(out, a, width, hops_cell);
    hop_text_add(out, "\n");
    add_head(out, a, "bytes", width);
    add_rows(out, a, width, bytes_cell);
    hop_text_add(out, "\n");
    say_longest(out, a);
    say_cells(out, a);
    for (int64_t c = 0; a->curves.count <= MOST_SAID && c < a->curves.count; c++)
        say_curve(out, &a->curves.at[c]);
    say_any_weights(out);
    say_known_weights(out, "possible");
    for (int64_t i = 0; i < a->refused.count; i++) hop_text_printf(out, "not read: %s\n", a->refused.at[i]);
}
