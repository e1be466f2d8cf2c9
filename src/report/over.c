/* Hops against length, drawn: a line a model or plan, steps between the lengths that were asked; dashed: all hops that
 * fit; a mark where some number of hops becomes impossible. Below, what is kept, on logarithmic axes both. Curves that
 * are the same in a panel are one line with all their names. */
#include <hopbound/over.h>
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

HOP_RECORD_TABLE(hop_over_point, HOP_OVER_POINT, "a model or plan at one length")
HOP_RECORD_TABLE(hop_over_curve, HOP_OVER_CURVE, "a model or plan over all lengths")
HOP_RECORD_TABLE(hop_over_answer, HOP_OVER_ANSWER, "hops and bytes against length")

enum { LEFT = 58, PLOT = 396, RIGHT = 262, TOP = 30, PANEL = 210, FOOT = 40, NAME = 14, COLUMN = 216 };
enum { COLOURS = 8, MOST_LINES = 64, MOST_NAME = 33 };

typedef struct line {
    int64_t curve; /* the first of those that are this line */
    int64_t more;  /* how many others */
    double end, y; /* where it ends, and its name stands */
} line;

/* One of the two pictures: what is drawn of a point, NaN where there is nothing. */
typedef struct panel {
    const hop_over_answer *a;
    double (*value)(const hop_over_point *p);
    double low, high, top, height;
    bool steps;
    bool below; /* names stand below it, in two columns, where a phone shows all of it */
    line lines[MOST_LINES];
    int count;
    int64_t left_out;
} panel;

static double hops_of(const hop_over_point *p)
{
    return p->hops_possible == HOP_NO_COUNT ? NAN : (double)p->hops_possible;
}

/* The logarithm; what keeps nothing is drawn at one byte. */
static double bytes_of(const hop_over_point *p)
{
    if (p->kv_bytes == HOP_NO_COUNT || p->state_bytes == HOP_NO_COUNT) return NAN;
    double bytes = (double)p->kv_bytes + (double)p->state_bytes;
    return log2(bytes < 1 ? 1 : bytes);
}

static const hop_over_point *point_of(const panel *p, int64_t curve, int64_t i)
{
    return &p->a->points.at[curve * p->a->lengths.count + i];
}

static double value_of(const panel *p, int64_t curve, int64_t i)
{
    return p->value(point_of(p, curve, i));
}

/* ---- places ------------------------------------------------------------------------------------ */

static double x_at(const hop_over_answer *a, double n)
{
    double first = log2((double)a->lengths.at[0]), last = log2((double)a->lengths.at[a->lengths.count - 1]);
    return LEFT + (last > first ? PLOT * (log2(n) - first) / (last - first) : PLOT / 2.0);
}

static double y_at(const panel *p, double v)
{
    return p->top + p->height * (p->high - v) / (p->high - p->low);
}

static bool same_line(const panel *p, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < p->a->lengths.count; i++) {
        double x = value_of(p, a, i), y = value_of(p, b, i);
        if (!(x == y || (isnan(x) && isnan(y)))) return false;
    }
    return true;
}

/* Lines, ordered by where they end, from the top; their names moved apart. */
static void find_lines(panel *p)
{
    for (int64_t c = 0; c < p->a->curves.count; c++) {
        int at = 0;
        double end = value_of(p, c, p->a->lengths.count - 1);
        if (isnan(end)) continue;
        while (at < p->count && !same_line(p, p->lines[at].curve, c)) at++;
        if (at < p->count) {
            p->lines[at].more++;
        } else if (p->count == MOST_LINES) {
            p->left_out++;
        } else {
            while (at > 0 && p->lines[at - 1].end < end) at--;
            memmove(&p->lines[at + 1], &p->lines[at], sizeof *p->lines * (size_t)(p->count - at));
            p->lines[at] = (line){.curve = c, .end = end};
            p->count++;
        }
    }
    p->height = p->below ? PANEL : fmax(PANEL, NAME * p->count);
}

static double bottom(const panel *p)
{
    return p->top + p->height + 22 + (p->below ? NAME * ((p->count + 1) / 2) + 8 : 0);
}

static void place_names(panel *p)
{
    double above = p->top - NAME, below = p->top + p->height + NAME;
    for (int i = 0; i < p->count; i++)
        above = p->lines[i].y = fmax(y_at(p, p->lines[i].end) + 4, above + NAME);
    for (int i = p->count - 1; i >= 0; i--) below = p->lines[i].y = fmin(p->lines[i].y, below - NAME);
}

static void find_range(panel *p)
{
    p->low = INFINITY, p->high = -INFINITY;
    for (int64_t i = 0; i < p->a->points.count; i++) {
        double v = p->value(&p->a->points.at[i]);
        if (isnan(v)) continue;
        p->low = fmin(p->low, v), p->high = fmax(p->high, v);
    }
    if (p->steps) p->low = 0;
    p->low = floor(p->low), p->high = ceil(p->high);
    if (!(p->high > p->low)) p->low = 0, p->high = 1;
}

/* ---- drawing ------------------------------------------------------------------------------------ */

/* 32k, 16M, 100,000 */
static void name_length(char out[64], int64_t n)
{
    static const struct {
        int shift;
        char unit;
    } units[] = {{30, 'G'}, {20, 'M'}, {10, 'k'}};
    for (int i = 0; i < 3; i++) {
        if (n & (((int64_t)1 << units[i].shift) - 1)) continue;
        snprintf(out, 64, "%lld%c", (long long)(n >> units[i].shift), units[i].unit);
        return;
    }
    snprintf(out, 64, "%s", hop__number_count(n).rich);
}

static void draw_lengths(hop_text *out, const panel *p)
{
    double before = -100;
    for (int64_t i = 0; i < p->a->lengths.count; i++) {
        char name[64];
        double x = x_at(p->a, (double)p->a->lengths.at[i]);
        hop__svg_line(out, "hair", x, p->top, x, p->top + p->height);
        name_length(name, p->a->lengths.at[i]);
        if (x - before < 30) continue;
        hop__svg_rich(out, "small soft mid", x, p->top + p->height + 16, name);
        before = x;
    }
}

static void draw_levels(hop_text *out, const panel *p)
{
    double span = p->high - p->low, step = p->steps ? 1 : 2;
    while (span / step > 8) step *= 2;
    for (double v = ceil(p->low / step) * step; v <= p->high; v += step) {
        char name[64];
        hop__svg_line(out, "hair", LEFT, y_at(p, v), LEFT + PLOT, y_at(p, v));
        if (p->steps)
            snprintf(name, sizeof name, "%.0f", v);
        else
            snprintf(name, sizeof name, "%s", v > 62 ? "" : hop_say_bytes((int64_t)1 << (int)v).s);
        hop__svg_rich(out, "small soft", 4, y_at(p, v) + 4, name);
    }
}

static void add_path(hop_text *out, const panel *p, int64_t curve, const char *class_name,
                     double (*value)(const hop_over_point *))
{
    bool begun = false;
    double y = 0;
    hop_text_printf(out, "<path class=\"%s\" style=\"fill:none\" d=\"", class_name);
    for (int64_t i = 0; i < p->a->lengths.count; i++) {
        double v = value(point_of(p, curve, i)), x = x_at(p->a, (double)p->a->lengths.at[i]);
        if (isnan(v)) {
            begun = false;
            continue;
        }
        if (begun && p->steps) hop_text_printf(out, "L%.1f %.1f", x, y);
        y = y_at(p, fmin(v, p->high));
        hop_text_printf(out, "%c%.1f %.1f", begun ? 'L' : 'M', x, y);
        begun = true;
    }
    hop_text_add(out, "\"/>\n");
}

static double fit_of(const hop_over_point *p)
{
    return (double)p->hops_that_fit;
}

/* Where some number of hops becomes impossible, at the first of the lengths where it is. */
static void draw_impossible(hop_text *out, const panel *p, int64_t curve)
{
    for (int64_t i = 0; i < p->a->lengths.count; i++) {
        const hop_over_point *at = point_of(p, curve, i);
        if (at->hops_impossible == HOP_NO_COUNT) continue;
        hop__svg_mark(out, HOP_LADDER_IMPOSSIBLE, x_at(p->a, (double)at->n),
                      y_at(p, fmin((double)at->hops_impossible, p->high)));
        return;
    }
}

static void draw_line(hop_text *out, const panel *p, int number)
{
    static const char *const colours[COLOURS] = {"c-a0", "c-b1", "c-a2", "c-b2",
                                                 "c-a1", "c-b0", "c-a3", "c-b3"};
    const line *l = &p->lines[number];
    const char *name = p->a->curves.at[l->curve].name;
    char more[32] = "";
    hop_text_printf(out, "<g class=\"%s curve\">\n<title>", colours[l->curve % COLOURS]);
    for (int64_t c = 0; c < p->a->curves.count; c++) {
        if (!same_line(p, l->curve, c)) continue;
        hop_text_add(out, c == l->curve ? "" : ", ");
        hop__escape(out, p->a->curves.at[c].name, 0);
    }
    hop_text_add(out, "</title>\n");
    add_path(out, p, l->curve, "v-pen", p->value);
    for (int64_t c = 0; p->steps && c < p->a->curves.count; c++)
        if (same_line(p, l->curve, c)) draw_impossible(out, p, c);
    double x = LEFT + PLOT + 22, y = l->y;
    if (p->below) x = 22 + number % 2 * COLUMN, y = p->top + p->height + 34 + NAME * (number / 2);
    hop__svg_line(out, p->below ? "v-pen" : "c-lead", p->below ? x - 18 : LEFT + PLOT + 1,
                  p->below ? y - 4 : y_at(p, l->end), x - 4, y - 4);
    if (l->more) snprintf(more, sizeof more, " and %lld more", (long long)l->more);
    hop_text_printf(out, "<text class=\"name\" x=\"%.0f\" y=\"%.1f\">", x, y);
    hop__escape(out, name, MOST_NAME - (int)strlen(more));
    hop_text_printf(out, "%s</text>\n</g>\n", more);
}

static void draw_panel(hop_text *out, panel *p, const char *title)
{
    find_range(p);
    place_names(p);
    hop__svg_plain(out, "", LEFT, p->top - 10, title, 0);
    draw_lengths(out, p);
    draw_levels(out, p);
    if (p->steps && p->a->curves.count) add_path(out, p, 0, "meant", fit_of);
    for (int i = p->count - 1; i >= 0; i--) draw_line(out, p, i);
}

hop_status hop_report_over_svg(hop_text *out, const hop_over_answer *a, bool standalone)
{
    panel hops = {.a = a, .value = hops_of, .top = TOP, .steps = true, .below = !standalone},
          bytes = {.a = a, .value = bytes_of, .below = !standalone};
    find_lines(&hops);
    find_lines(&bytes);
    bytes.top = bottom(&hops) + TOP;
    hop__svg_open(out, LEFT + PLOT + (standalone ? RIGHT : 14), bottom(&bytes) + 16,
                  "Hops and bytes against length", standalone);
    draw_panel(out, &hops, "Hops that are possible; dashed: all that fit");
    draw_panel(out, &bytes, "Keys, values and states");
    hop__svg_plain(out, "small soft", LEFT, bottom(&bytes) + 10,
                   hops.left_out || bytes.left_out ? "across: tokens of the prompt; more curves are not drawn"
                                                   : "across: tokens of the prompt",
                   0);
    hop__svg_close(out);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}
