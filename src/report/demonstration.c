/* One instance, played: the prompt, the look-ups one by one, and the same prompt in a network with a full
 * layer fewer, up to where its last token lacks what it would have to ask. The script shows one step at a
 * time; without it all of them stand below each other. */
#include "page.h"

#include <stdio.h>

/* How a token looks in a step. */
typedef enum look { PLAIN, FOUND, ASKED, MAYBE, LACKING } look;
static const char *const look_class[] = {"", " found", " asked", " maybe", " lacking"};

typedef struct frame {
    int known;   /* i_0 .. i_{known-1} were found before */
    int asks;    /* the player that is asked now; -1: none */
    int missing; /* the player whose entry is never asked for; -1: none */
    bool blind;  /* it would have to ask before it knows where: all entries that may be meant */
} frame;

static look look_of(const hop_demonstration *w, const frame *f, int64_t position)
{
    int player = w->players[position];
    if (player < 0 || player > w->hops) return PLAIN;
    const hop_demonstration_step *s = &w->steps[player];
    bool here = position == s->position;
    if (player == f->missing) {
        bool row = s->digit < 0 || w->indices[position] / w->m == s->digit;
        return here ? LACKING : f->blind && row ? MAYBE : PLAIN;
    }
    if (here && player == f->asks) return ASKED;
    return here && player < f->known ? FOUND : PLAIN;
}

/* ---- the prompt ---------------------------------------------------------------------------------- */

static void name_of(char out[32], int player)
{
    if (player < 0)
        snprintf(out, 32, "/{w}");
    else
        snprintf(out, 32, "/{z}_{%d}", player);
}

static void add_token(hop_text *out, const hop_demonstration *w, const frame *f, int64_t position)
{
    hop_text_printf(out, "<span class=\"tok%s\">%d</span>", look_class[look_of(w, f, position)],
                    (int)w->tokens[position]);
}

/* A player's tokens: a table with the numbers of its columns and rows, or a single one. */
static void add_player(hop_text *out, const hop_demonstration *w, const frame *f, int64_t from, int64_t to)
{
    int player = w->players[from];
    char name[32];
    name_of(name, player);
    hop_text_add(out, "<span class=\"player\"><span class=\"who\">");
    hop__html_rich(out, name);
    hop_text_add(out, "</span>");
    int64_t columns = player < 1 ? 1 : w->m;
    if (player > 0) {
        hop_text_add(out, "<span class=\"tokens\"><span class=\"axis\"></span>");
        for (int64_t c = 0; c < columns; c++) hop_text_printf(out, "<span class=\"axis\">%d</span>", (int)c);
    } else {
        hop_text_add(out, "<span class=\"tokens one\">");
    }
    for (int64_t p = from; p < to; p++) {
        int64_t index = w->indices[p];
        if (player > 1 && index % columns == 0)
            hop_text_printf(out, "<span class=\"axis\">%d</span>", (int)(index / columns));
        else if (player == 1 && index == 0)
            hop_text_add(out, "<span class=\"axis\"></span>");
        add_token(out, w, f, p);
    }
    hop_text_add(out, "</span></span>\n");
}

static void add_prompt(hop_text *out, const hop_demonstration *w, const frame *f)
{
    hop_text_printf(out, "<div class=\"prompt\" style=\"--columns:%d\" aria-hidden=\"true\">\n", (int)w->m);
    for (int64_t from = 0, to; from < w->length; from = to) {
        for (to = from + 1; to < w->length && w->players[to] == w->players[from];) to++;
        add_player(out, w, f, from, to);
    }
    hop_text_add(out, "</div>\n");
}

/* ---- words ----------------------------------------------------------------------------------------- */

/* "z_2 at (w_1, i_1) = (2, 3)" */
static void say_address(char *out, size_t size, const hop_demonstration *w, int l)
{
    const hop_demonstration_step *s = &w->steps[l];
    if (l == 0)
        snprintf(out, size, "/{z}_{0}");
    else if (l == 1)
        snprintf(out, size, "/{z}_{1} at /{i}_{0} = %d", (int)s->before);
    else
        snprintf(out, size, "/{z}_{%d} at (/{w}_{%d}, /{i}_{%d}) = (%d, %d)", l, l - 1, l - 1, (int)s->digit,
                 (int)s->before);
}

/* Layers are counted from 0, as everywhere. */
static void open_step(hop_text *out, const char *plan, int layer, const char *kind)
{
    hop_text_add(out, "<li class=\"step\">\n<h3>");
    hop__plan_html(out, plan);
    hop_text_printf(out, " layer %d, %s</h3>\n<p>", layer, kind);
}

static void close_step(hop_text *out, const hop_demonstration *w, const char *rich, const frame *f)
{
    hop__html_rich(out, rich);
    hop_text_add(out, "</p>\n");
    add_prompt(out, w, f);
    hop_text_add(out, "</li>\n");
}

/* A full layer that looks up i_l. */
static void add_look_up(hop_text *out, const hop_demonstration *w, const char *plan, int layer, int l)
{
    char text[400], address[120];
    say_address(address, sizeof address, w, l);
    open_step(out, plan, layer, "full attention");
    snprintf(text, sizeof text, "The last token asks %s and finds /{i}_{%d} = %d%s.", address, l,
             (int)w->steps[l].found, l == w->hops ? ", the answer" : "");
    close_step(out, w, text, &(frame){.known = l, .asks = l, .missing = -1});
}

static void add_upper(hop_text *out, const hop_demonstration *w)
{
    for (int l = 0; l <= w->hops; l++) add_look_up(out, w, w->upper, l, l);
}

static void add_lower(hop_text *out, const hop_demonstration *w)
{
    char text[900], address[120], entries[80];
    int L = w->hops, layer = 0;
    say_address(address, sizeof address, w, L);
    snprintf(entries, sizeof entries, "%s entries", hop__number_count(w->m).rich);
    if (L == 1) {
        open_step(out, w->lower, 0, "full attention");
        snprintf(
            text, sizeof text,
            "The only question there is must be asked now, and the last token does not know /{z}_{0} yet. It "
            "would "
            "have to ask %s; any of the %s may be meant, and all of them would have to fit into one reply.",
            address, entries);
        close_step(out, w, text, &(frame){.asks = -1, .missing = 1, .blind = true});
        return;
    }
    open_step(out, w->lower, layer++, "linear");
    snprintf(text, sizeof text,
             "A linear layer asks nobody. Its state goes from token to token, and here it carries /{i}_{0} = "
             "%d from "
             "/{z}_{0} to the last token: one look-up saved.",
             (int)w->steps[0].found);
    close_step(out, w, text, &(frame){.asks = 0, .missing = -1});
    for (int l = 1; l < L; l++) {
        add_look_up(out, w, w->lower, layer++, l);
        if (l + 1 < L) layer++; /* the linear layer of the gap, which has nothing to do here */
    }
    open_step(out, w->lower, layer, "linear");
    snprintf(text, sizeof text,
             "Now the last token knows where to look, and cannot: it lacks the entry of %s, no full layer is "
             "left to ask "
             "for it, and the state was written while /{z}_{%d} was read, before /{i}_{%d} was known. Asking "
             "earlier does "
             "not help: without /{i}_{%d} any of %s may be meant.",
             address, L, L - 1, L - 1, entries);
    close_step(out, w, text, &(frame){.known = L, .asks = -1, .missing = L, .blind = true});
}

/* ---- the section ------------------------------------------------------------------------------- */

static void add_legend(hop_text *out)
{
    static const char *const words[] = {NULL, "found before", "asked now", "may be meant", "lacking"};
    static const look order[] = {ASKED, FOUND, LACKING, MAYBE};
    hop_text_add(out, "<p class=\"legend\" aria-hidden=\"true\">");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        hop_text_printf(out, "<span class=\"key\"><span class=\"tok%s\">3</span> %s</span> ",
                        look_class[order[i]], words[order[i]]);
    hop_text_add(out, "</p>\n");
}

void hop__demonstration_section(hop_text *out, const hop_ladder_page *page)
{
    const hop_demonstration *w = page->demonstration;
    if (!w) return;
    hop__section_open(out, "play", "Play one instance");
    hop_text_printf(
        out,
        "<p>A small prompt of %s tokens, drawn by this run\u2019s seed. It gives a table "
        "<var>z</var><sub>%d</sub>%s, a "
        "start <var>z</var><sub>0</sub> and a query <var>w</var>, in this order, so that no table can be "
        "composed with "
        "the next while it is read. Row and column numbers are addresses%s. The answer sought is at the end "
        "of the chain: "
        "what <var>z</var><sub>0</sub> says is looked up in <var>z</var><sub>1</sub>%s.</p>\n",
        hop__number_count(w->length).rich, w->hops, w->hops > 1 ? ", a table <var>z</var><sub>1</sub>" : "",
        w->hops > 1 ? "; rows are chosen by <var>w</var>" : "",
        w->hops > 1 ? ", and the result, together with <var>w</var>, in <var>z</var><sub>2</sub>" : "");
    hop_text_add(out, "<div class=\"stepper\" id=\"stepper\">\n<div class=\"controls\" hidden>\n"
                      "<button type=\"button\" data-step=\"-1\">Back</button>\n"
                      "<button type=\"button\" data-step=\"1\">Next</button>\n"
                      "<p class=\"count\" role=\"status\"></p>\n</div>\n<ol class=\"steps\">\n");
    add_upper(out, w);
    add_lower(out, w);
    hop_text_add(out, "</ol>\n");
    add_legend(out);
    hop_text_add(out, "</div>\n<p>The first network was built at these sizes (");
    hop__escape(out, w->dir, 0);
    hop_text_add(out, "), ");
    hop__html_mark(out, w->verdict);
    hop_text_add(out, " on all ");
    hop__html_rich(out, hop__number_power(w->log10_inputs).rich);
    hop_text_printf(out, " inputs, and it answered this one %s. At sizes as small as these ",
                    w->right ? "rightly" : "wrongly");
    hop__prose(out, "ways around");
    if (*w->theorem) {
        hop_text_printf(out, ": at <var>n</var> = %s, in Figure 1, theorem %s leaves no way for ",
                        hop__number_count(w->lower_tokens).rich, w->theorem);
        hop__plan_html(out, w->lower);
    }
    hop_text_add(out, ".</p>\n");
    hop__section_close(out);
}
