/* Shapes, text and verdict marks. Arrow heads and marks are plain paths: no ids, so that several drawings can
 * share a page. */
#include "page.h"

#include <math.h>
#include <string.h>

/* The palette is declared on :root, which is <html> in a page and <svg> in a file of its own. */
static const char style[] =
    ":root{color-scheme:light "
    "dark;--paper:#fffefb;--ink:#1f2024;--soft:#65645f;--hair:#dedbd2;--tint:#f5f3ec;"
    "--full:#2f4f85;--onfull:#fff;--ask:#2f4f85;--proved:#12744f;--refuted:#b4281e;--undecided:#8a5b00}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#15161a;--ink:#e9e7e1;--soft:#a3a19a;--hair:#36373d;"
    "--tint:#1e1f25;--full:#86aae6;--onfull:#11131a;--ask:#86aae6;--proved:#5fc898;--refuted:#ff8d80;"
    "--undecided:#e3b24c}}\n"
    "@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--hair:#bbb;--tint:#f4f4f4;--full:#2f4f85;"
    "--onfull:#fff;--ask:#2f4f85;--proved:#12744f;--refuted:#b4281e;--undecided:#8a5b00}}\n"
    ".d text{fill:var(--ink);font:13px -apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    "font-variant-numeric:lining-nums tabular-nums}\n"
    ".d .math,.d .var{font-family:'Iowan Old Style','Palatino Linotype',Palatino,P052,'Liberation "
    "Serif',Georgia,"
    "serif}.d .math{font-size:14.5px}.d .var{font-style:italic;font-size:112%}.d .math .var{font-size:100%}\n"
    ".d .rung{font-size:20px}.d .soft{fill:var(--soft)}.d .small{font-size:11.5px}.d "
    ".mid{text-anchor:middle}\n"
    ".d .shift{font-size:72%}\n"
    ".d .hair{stroke:var(--hair);stroke-width:1}.d .rail{stroke:var(--full);stroke-width:2.5}\n"
    ".d .stream{stroke:var(--soft);stroke-width:1;stroke-dasharray:1 3;stroke-linecap:round}\n"
    ".d .full{fill:var(--full)}.d .other{fill:var(--paper);stroke:var(--full);stroke-width:1.5}\n"
    ".d .onfull{fill:var(--onfull);font-size:11px;font-weight:600}.d "
    ".onother{fill:var(--full);font-size:11px}\n"
    ".d .token{fill:var(--tint);stroke:var(--soft);stroke-width:1}.d .cell{fill:none;stroke:var(--soft);"
    "stroke-width:.8}\n"
    ".d .ask{stroke:var(--ask);stroke-width:1.5;fill:none}.d .ask.head{fill:var(--ask);stroke:none}\n"
    ".d .meant{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 3;fill:none}\n"
    ".d .meant.head{fill:var(--soft);stroke:none}\n"
    ".d .asked{fill:var(--paper);stroke:var(--ask);stroke-width:1.5}\n"
    ".v-proved{--c:var(--proved)}.v-refuted{--c:var(--refuted)}.v-undecided{--c:var(--undecided)}"
    ".v-other{--c:var(--soft)}\n"
    ".v-solid{fill:var(--c)}.v-ring{fill:none;stroke:var(--c);stroke-width:1.6}.v-dash{stroke-dasharray:2.6 "
    "1.8}\n"
    ".v-cut{fill:none;stroke:var(--paper);stroke-width:1.9;stroke-linecap:round;stroke-linejoin:round}\n"
    ".v-pen{fill:none;stroke:var(--c);stroke-width:1.5;stroke-linecap:round}.v-pen.dot{fill:var(--c)}\n"
    ".d text.word{fill:var(--c);font-size:14px;font-weight:600}\n";

const char *hop__svg_style(void)
{
    return style;
}

void hop__svg_open(hop_text *out, double width, double height, const char *label, bool standalone)
{
    hop_text_add(out, "<svg class=\"d\" role=\"img\" aria-label=\"");
    hop__escape(out, label, 0);
    hop_text_printf(out, "\" viewBox=\"0 0 %.0f %.0f\"", width, height);
    if (standalone) {
        /* Only a file of its own needs the name space and the style; in a page both are there already. */
        hop_text_printf(
            out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n<style>%s</style>\n",
            width, height, style);
        hop_text_add(out, "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>\n");
    } else {
        /* On a phone the text must stay readable: below four fifths of its size the frame scrolls instead. */
        hop_text_printf(out, " style=\"min-width:%.0fpx;max-width:%.0fpx\">\n", width * 0.8,
                        fmax(width, 672));
    }
}

void hop__svg_close(hop_text *out)
{
    hop_text_add(out, "</svg>\n");
}

void hop__svg_line(hop_text *out, const char *class_name, double x1, double y1, double x2, double y2)
{
    hop_text_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class_name,
                    x1, y1, x2, y2);
}

void hop__svg_box(hop_text *out, const char *class_name, double x, double y, double w, double h)
{
    hop_text_printf(out,
                    "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\"/>\n",
                    class_name, x, y, w, h, h < 10 ? 0.0 : 4.0);
}

void hop__svg_dot(hop_text *out, const char *class_name, double x, double y, double r)
{
    hop_text_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", class_name, x, y, r);
}

void hop__svg_arrow(hop_text *out, const char *class_name, double from_x, double to_x, double y)
{
    double back = from_x > to_x ? 7 : -7;
    hop__svg_line(out, class_name, from_x, y, to_x + back * 0.8, y);
    hop_text_printf(out, "<path class=\"%s head\" d=\"M%.1f %.1fl%.1f -3.6v7.2z\"/>\n", class_name, to_x, y,
                    back);
}

void hop__svg_rich(hop_text *out, const char *class_name, double x, double y, const char *rich)
{
    hop_text_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class_name, x, y);
    /* dy and not baseline-shift, which not every browser knows; it lasts, so what follows must undo it. */
    static const char *const spans[] = {"<tspan", "<tspan class=\"shift\"", "<tspan class=\"shift\"",
                                        "<tspan class=\"var\""};
    static const int drop[] = {0, 3, -5, 0};
    int at = 0;
    hop__run run;
    while (hop__rich_next(&rich, &run)) {
        int move = drop[run.kind] - at;
        bool span = move != 0 || run.kind != HOP__PLAIN;
        if (span) hop_text_add(out, spans[run.kind]);
        if (move != 0) hop_text_printf(out, " dy=\"%d\"", move);
        if (span) hop_text_add(out, ">");
        hop__escape_run(out, run.s, run.len);
        if (span) hop_text_add(out, "</tspan>");
        at += move;
    }
    hop_text_add(out, "</text>\n");
}

void hop__svg_plain(hop_text *out, const char *class_name, double x, double y, const char *s, int max_chars)
{
    hop_text_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class_name, x, y);
    hop__escape(out, s, max_chars);
    hop_text_add(out, "</text>\n");
}

static const struct mark {
    const char *verdict, *class_name, *shape;
} marks[] = {
    {"proved", "v-proved",
     "<circle class=\"v-solid\" r=\"8\"/><path class=\"v-cut\" d=\"M-3.6 .3l2.6 2.8 4.8-5.8\"/>"},
    {"refuted", "v-refuted",
     "<path class=\"v-solid\" d=\"M0-9.4L9.4 0 0 9.4-9.4 0z\"/><path class=\"v-cut\" d=\"M-3-3l6 6M3-3l-6 "
     "6\"/>"},
    {"undecided", "v-undecided",
     "<circle class=\"v-ring v-dash\" r=\"7.4\"/><path class=\"v-pen\" d=\"M-2.3-1.9c0-3.2 4.7-3 4.6 0"
     "-.1 1.7-2.3 1.6-2.3 3.4\"/><circle class=\"v-pen dot\" cy=\"4\" r=\".4\"/>"},
    {"impossible", "v-refuted", "<circle class=\"v-solid\" r=\"8\"/><path class=\"v-cut\" d=\"M-4 0h8\"/>"},
    {"from_n", "v-undecided",
     "<circle class=\"v-ring\" r=\"7.4\"/><path class=\"v-pen\" d=\"M-3.5 0h6M0-2.6l2.8 2.6-2.8 2.6\"/>"},
    {"", "v-other", "<path class=\"v-ring\" d=\"M-6.5-6.5h13v13h-13z\"/>"},
};

static const struct mark *mark_find(const char *verdict)
{
    const struct mark *m = marks;
    while (*m->verdict && strcmp(m->verdict, verdict) != 0) m++;
    return m;
}

const char *hop__svg_mark_class(const char *verdict)
{
    return mark_find(verdict)->class_name;
}

void hop__svg_mark(hop_text *out, const char *verdict, double x, double y)
{
    const struct mark *m = mark_find(verdict);
    hop_text_printf(out, "<g class=\"%s\" transform=\"translate(%.1f %.1f)\">%s</g>\n", m->class_name, x, y,
                    m->shape);
}
