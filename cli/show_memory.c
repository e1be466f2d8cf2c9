/* What prompts take, for people: of one model a column by each engine, of several a row each. */
#include "show_memory.h"

#include <string.h>
#include "cli.h"

enum { MOST_NAME = 30, CELL = 13, LABEL = 15 };

static const char *bytes_cell(hop_said *said, int64_t v)
{
    if (v == HOP_NO_COUNT) return "?";
    *said = hop_say_bytes(v);
    return v == 0 ? "-" : said->s;
}

static const char *longest_cell(hop_said *said, const hop_memory_use *u)
{
    if (u->any_length) return "any length";
    if (u->longest == HOP_NO_COUNT) return "?";
    *said = hop_say_count(u->longest);
    return u->longest ? said->s : "none";
}

static void add_head(hop_text *out, const char *what, int width, const hop_memory_use *uses, int64_t engines)
{
    hop_text_printf(out, "%-*s", width, what);
    for (int64_t e = 0; e < engines; e++) hop_text_printf(out, " %*s", CELL, uses[e].by);
    hop_text_add(out, "\n");
}

/* ---- one model ------------------------------------------------------------------------------------- */

static const struct {
    const char *label;
    size_t at;
} PARTS[] = {{"keys, values", offsetof(hop_memory_use, kv_bytes)},
             {"keys to pick by", offsetof(hop_memory_use, index_bytes)},
             {"states", offsetof(hop_memory_use, state_bytes)},
             {"convolutions", offsetof(hop_memory_use, conv_bytes)},
             {"padding", offsetof(hop_memory_use, padding_bytes)},
             {"in all", offsetof(hop_memory_use, bytes)}};

/* A line of what none of them takes is left out. */
static void add_part(hop_text *out, const hop_memory_answer *a, size_t part)
{
    hop_text line = {0};
    bool some = false;
    for (int64_t e = 0; e < a->uses.count; e++) {
        int64_t bytes;
        hop_said said;
        memcpy(&bytes, (const char *)&a->uses.at[e] + PARTS[part].at, sizeof bytes);
        some = some || bytes > 0;
        hop_text_printf(&line, " %*s", CELL, bytes_cell(&said, bytes));
    }
    if (some) hop_text_printf(out, "%-*s%s\n", LABEL, PARTS[part].label, hop_text_in(out, &line));
    hop_text_free(&line);
}

/* "each of 12 layers F: keys and values 512 MiB" */
static void say_layers(hop_text *out, const hop_memory_use *u)
{
    for (int64_t i = 0; i < u->layers.count; i++) {
        const hop_memory_layers *l = &u->layers.at[i];
        const struct {
            const char *what;
            int64_t bytes;
        } parts[] = {{"keys and values", l->kv_bytes},
                     {"keys to pick by", l->index_bytes},
                     {"state", l->state_bytes},
                     {"convolutions", l->conv_bytes}};
        bool first = true;
        hop_text_printf(out, "each of %s %s", hop_say_things(l->layers, "layer").s, l->letter);
        if (l->window != HOP_NO_COUNT) hop_text_printf(out, ", window %s", hop_say_count(l->window).s);
        for (int p = 0; p < 4; p++) {
            if (!parts[p].bytes) continue;
            hop_text_printf(out, "%s %s %s", first ? ":" : ",", parts[p].what,
                            hop_say_bytes(parts[p].bytes).s);
            first = false;
        }
        hop_text_add(out, first ? ": nothing of its own.\n" : ".\n");
    }
}

static void show_one(hop_text *out, const hop_memory_answer *a)
{
    const hop_memory_use *uses = a->uses.at;
    int64_t engines = a->uses.count;
    add_head(out, "bytes", LABEL, uses, engines);
    for (size_t p = 0; p < sizeof PARTS / sizeof *PARTS; p++) add_part(out, a, p);
    if (a->budget_bytes != HOP_NO_COUNT) {
        hop_text_printf(out, "%-*s", LABEL, "longest prompt");
        for (int64_t e = 0; e < engines; e++) {
            hop_said said;
            hop_text_printf(out, " %*s", CELL, longest_cell(&said, &uses[e]));
        }
        hop_text_add(out, "\n");
    }
    hop_text_add(out, "\n");
    say_layers(out, &uses[0]);
}

/* ---- several ------------------------------------------------------------------------------------------ */

static void show_many(hop_text *out, const hop_memory_answer *a, int64_t engines)
{
    bool fit = a->budget_bytes != HOP_NO_COUNT;
    int width = 6;
    for (int64_t i = 0; i < a->subjects.count; i++) {
        int length = (int)strlen(a->subjects.at[i].model);
        width = length > width ? length : width;
    }
    width = width > MOST_NAME ? MOST_NAME : width;
    add_head(out, fit ? "longest prompt" : "bytes", width > LABEL ? width : LABEL, a->uses.at, engines);
    for (int64_t i = 0; i < a->subjects.count; i++) {
        hop_text_printf(out, "%-*.*s", width > LABEL ? width : LABEL, MOST_NAME, a->subjects.at[i].model);
        for (int64_t e = 0; e < engines; e++) {
            const hop_memory_use *u = &a->uses.at[i * engines + e];
            hop_said said;
            hop_text_printf(out, " %*s", CELL, fit ? longest_cell(&said, u) : bytes_cell(&said, u->bytes));
        }
        hop_text_add(out, "\n");
    }
}

/* ---- both ------------------------------------------------------------------------------------------------ */

/* "parameters 8,030,261,248, weights 4.2 GiB" */
static void say_model(hop_text *out, const hop_memory_answer *a, const hop_memory_model *m)
{
    hop_text_printf(out, "%s:", m->model);
    if (m->kv_type) hop_text_printf(out, " keys and values %s", m->kv_type);
    if (m->state_type) hop_text_printf(out, "%s states %s", m->kv_type ? "," : "", m->state_type);
    if (m->parameters != HOP_NO_COUNT)
        hop_text_printf(out, "; %s parameters", hop_say_count(m->parameters).s);
    if (m->active_parameters != HOP_NO_COUNT && m->active_parameters != m->parameters)
        hop_text_printf(out, ", %s active", hop_say_count(m->active_parameters).s);
    if (a->budget_bytes != HOP_NO_COUNT && m->weight_bytes == HOP_NO_COUNT)
        hop_text_add(out, "; weights not counted: --weights says how many bytes they take");
    if (a->budget_bytes != HOP_NO_COUNT && m->weight_bytes != HOP_NO_COUNT)
        hop_text_printf(out, "; weights %s", hop_say_bytes(m->weight_bytes).s);
    hop_text_add(out, ".\n");
}

static void say_versions(hop_text *out, const hop_memory_answer *a, int64_t engines)
{
    hop_text_add(out, "needed: by the mathematics. Rules read from");
    for (int64_t e = 1; e < engines; e++)
        hop_text_printf(out, "%s %s %s", e > 1 ? "," : "", a->uses.at[e].by, a->uses.at[e].version);
    hop_text_add(out, " (docs/FAMILIES.md); what a step computes in is not counted.\n");
}

static void say_unknown(hop_text *out, const hop_memory_answer *a)
{
    for (int64_t i = 0; i < a->uses.count; i++)
        if (a->uses.at[i].not_known)
            hop_text_printf(out, "?: %s, %s: %s.\n", a->uses.at[i].model, a->uses.at[i].by,
                            a->uses.at[i].not_known);
}

void show_memory(hop_text *out, const hop_memory_answer *a)
{
    int64_t engines = a->subjects.count ? a->uses.count / a->subjects.count : 0;
    if (engines) {
        bool fit = a->budget_bytes != HOP_NO_COUNT;
        hop_text_add(out, hop_say_things(a->batch, "prompt").s);
        if (!fit || a->subjects.count == 1)
            hop_text_printf(out, " of %s", hop_say_things(a->uses.at[0].n, "token").s);
        if (fit)
            hop_text_printf(out, "; the longest that %s into %s", a->batch == 1 ? "fits" : "fit",
                            hop_say_bytes(a->budget_bytes).s);
        hop_text_add(out, "\n\n");
        if (a->subjects.count == 1)
            show_one(out, a);
        else
            show_many(out, a, engines);
        hop_text_add(out, "\n");
        for (int64_t i = 0; i < a->subjects.count; i++) say_model(out, a, &a->subjects.at[i]);
        say_unknown(out, a);
        say_versions(out, a, engines);
    }
    for (int64_t i = 0; i < a->refused.count; i++)
        hop_text_printf(out, "not read: %s: %s\n", a->refused.at[i].path, a->refused.at[i].why);
}
