/* Shapes, text and verdict marks. Arrow heads and marks are plain paths: no ids, so that several drawings can
 * share a page. */
#include "page.h"

#include <math.h>
#include <string.h>

const char *hop__svg_style(void)
{
    return hop__asset("drawing.css");
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
            width, height, hop__svg_style());
        hop_text_add(out, "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>\n");
    } else {
        /* On a phone the text must stay readable: below seven tenths of its size the frame scrolls instead.
         */
        hop_text_printf(out, " style=\"min-width:%.0fpx;max-width:%.0fpx\">\n", width * 0.7,
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

#define TICK "<circle class=\"v-solid\" r=\"8\"/><path class=\"v-cut\" d=\"M-3.6 .3l2.6 2.8 4.8-5.8\"/>"
static const struct mark {
    const char *class_name, *shape, *word; /* word: NULL, or what people read instead of the verdict */
} marks[] = {
    [HOP_LADDER_PROVED] = {"v-proved", TICK, NULL},
    [HOP_LADDER_POSSIBLE] = {"v-proved", TICK, NULL},
    [HOP_LADDER_REFUTED] = {"v-refuted",
                            "<path class=\"v-solid\" d=\"M0-9.4L9.4 0 0 9.4-9.4 0z\"/><path class=\"v-cut\" "
                            "d=\"M-3-3l6 6M3-3l-6 6\"/>",
                            NULL},
    [HOP_LADDER_UNDECIDED] =
        {"v-undecided",
         "<circle class=\"v-ring v-dash\" r=\"7.4\"/><path class=\"v-pen\" d=\"M-2.3-1.9c0-3.2 "
         "4.7-3 4.6 0-.1 1.7-2.3 1.6-2.3 3.4\"/><circle class=\"v-pen dot\" cy=\"4\" r=\".4\"/>",
         NULL},
    [HOP_LADDER_IMPOSSIBLE] = {"v-refuted",
                               "<circle class=\"v-solid\" r=\"8\"/><path class=\"v-cut\" d=\"M-4 0h8\"/>",
                               NULL},
    [HOP_LADDER_FROM_N] =
        {"v-undecided",
         "<circle class=\"v-ring\" r=\"7.4\"/><path class=\"v-pen\" d=\"M-3.5 0h6M0-2.6l2.8 2.6-2.8 "
         "2.6\"/>",
         "longer n"},
    [HOP_LADDER_SILENT] = {"v-other", "<path class=\"v-ring\" d=\"M-6.5-6.5h13v13h-13z\"/>", "open"},
};

const char *hop__svg_mark_class(hop_ladder_verdict verdict)
{
    return marks[verdict].class_name;
}

const char *hop__svg_mark_word(hop_ladder_verdict verdict)
{
    const char *word = marks[verdict].word;
    return word ? word : hop_ladder_verdict_words[verdict];
}

void hop__svg_mark(hop_text *out, hop_ladder_verdict verdict, double x, double y)
{
    const struct mark *m = &marks[verdict];
    hop_text_printf(out, "<g class=\"%s\" transform=\"translate(%.1f %.1f)\">%s</g>\n", m->class_name, x, y,
                    m->shape);
}
