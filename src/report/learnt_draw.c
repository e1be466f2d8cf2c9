/* What gradient descent finds, drawn: accuracy as the table grows, a curve a plan with its mean over the
 * seeds and a bar from the worst to the best; chance, and P3's ceiling where it is below 1.
 *
 * A plan's layers give the colour, a cool one above the line, a warm one below it; its mixer gives
 * the mark. The names at the right are in the order of the curves' ends, moved apart where these are close.
 */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* of a chart, in units of the drawing, which shrinks to seven tenths on a phone; and how much it has room for
 */
enum { LEFT = 52, TOP = 16, BOTTOM = 60, CAPTION = 30, NAME = 15, FOOT = 18 };
enum { FOOT_WIDTH = 640, PLOT_WIDTH = 296, PLOT_HEIGHT = 178, BETWEEN = 76 };
enum { MOST_SIZES = 16, MOST_PLANS = 24, MOST_NAME = 40 };

#define SPREAD 24.0 /* of the marks of one size, so that bars do not hide each other */

typedef struct plan {
    const hop_learnt *row; /* any of its rows */
    const hop_learnt *at[MOST_SIZES];
    int last; /* the largest size that it has */
    int mark;
    char colour[8];
    char name[192];
    double y; /* of its name */
} plan;

typedef struct chart {
    const hop_learnt *size[MOST_SIZES]; /* a row of each, in rising order */
    plan plan[MOST_PLANS];
    int sizes, plans;
    bool more; /* than it has room for */
    double width, height, right;
} chart;

/* ---- which rows are one chart, one size, one plan ------------------------------------------------- */

static bool same_chart(const hop_learnt *a, const hop_learnt *b)
{
    return a->hops == b->hops && strcmp(a->task, b->task) == 0;
}

bool hop__learnt_first(const hop_learnt *rows, int64_t i)
{
    for (int64_t k = 0; k < i; k++)
        if (same_chart(&rows[k], &rows[i])) return false;
    return true;
}

static int size_compare(const hop_learnt *a, const hop_learnt *b)
{
    if (a->entries != b->entries) return a->entries < b->entries ? -1 : 1;
    if (a->tokens != b->tokens) return a->tokens < b->tokens ? -1 : 1;
    return strcmp(a->sizes, b->sizes);
}

static void add_size(chart *c, const hop_learnt *r)
{
    int at = 0;
    while (at < c->sizes && size_compare(c->size[at], r) < 0) at++;
    if (at < c->sizes && size_compare(c->size[at], r) == 0) return;
    c->more = c->more || c->sizes == MOST_SIZES;
    if (c->sizes == MOST_SIZES) return;
    memmove(&c->size[at + 1], &c->size[at], sizeof *c->size * (size_t)(c->sizes - at));
    c->size[at] = r;
    c->sizes++;
}

static plan *plan_of(chart *c, const hop_learnt *r)
{
    int at = 0;
    while (at < c->plans && c->plan[at].row->curve != r->curve) at++;
    if (at == MOST_PLANS) c->more = true;
    if (at == MOST_PLANS) return NULL;
    if (at == c->plans) c->plan[c->plans++] = (plan){.row = r};
    return &c->plan[at];
}

static void add_row(chart *c, const hop_learnt *r)
{
    plan *p = plan_of(c, r);
    for (int s = 0; p && s < c->sizes; s++)
        if (size_compare(c->size[s], r) == 0) {
            p->at[s] = r;
            p->last = s > p->last ? s : p->last;
        }
}

/* ---- what tells them apart ------------------------------------------------------------------------- */

/* Plans with the same layers have one colour, those of one colour different marks. */
static void dress(chart *c)
{
    enum { COLOURS = 4 };
    int used[3] = {0};
    for (int i = 0; i < c->plans; i++) {
        plan *p = &c->plan[i];
        bool below = p->row->side == HOP_LEARNT_BELOW;
        int like = 0;
        while (like < i && strcmp(c->plan[like].row->pattern, p->row->pattern) != 0) like++;
        if (like < i) {
            memcpy(p->colour, c->plan[like].colour, sizeof p->colour);
        } else {
            int number = used[p->row->side]++ % (p->row->side == HOP_LEARNT_OPEN ? 2 * COLOURS : COLOURS);
            snprintf(p->colour, sizeof p->colour, "c-%c%d", below || number >= COLOURS ? 'b' : 'a',
                     number % COLOURS);
        }
        for (int k = 0; k < i; k++) p->mark += strcmp(c->plan[k].colour, p->colour) == 0;
    }
}

static void give_name(plan *p)
{
    const hop_learnt *r = p->row;
    snprintf(p->name, sizeof p->name, "%s%s%s%s%s", r->pattern, *r->mixer ? " " : "", r->mixer,
             *r->more ? ", " : "", r->more);
}

static chart chart_of(const hop_learnt *rows, int64_t count, int64_t first)
{
    chart c = {0};
    size_t longest = 0;
    for (int64_t i = first; i < count; i++)
        if (same_chart(&rows[i], &rows[first])) add_size(&c, &rows[i]);
    for (int64_t i = first; i < count; i++)
        if (same_chart(&rows[i], &rows[first])) add_row(&c, &rows[i]);
    dress(&c);
    for (int i = 0; i < c.plans; i++) {
        give_name(&c.plan[i]);
        size_t n = strlen(c.plan[i].name);
        longest = n > longest ? n : longest;
    }
    c.right = 48 + 8.2 * (double)(longest < MOST_NAME ? longest : MOST_NAME);
    c.width = LEFT + fmax(PLOT_WIDTH, BETWEEN * c.sizes) + c.right;
    c.height = TOP + fmax(PLOT_HEIGHT, NAME * c.plans) + BOTTOM;
    return c;
}

/* ---- places ------------------------------------------------------------------------------------------ */

static double x_of(const chart *c, int size)
{
    double room = c->width - LEFT - c->right - 40;
    return LEFT + 20 + (c->sizes > 1 ? room * size / (c->sizes - 1) : room / 2);
}

static double x_beside(const chart *c, int size, int number)
{
    return x_of(c, size) + fmin(3.0, SPREAD / c->plans) * (number - (c->plans - 1) / 2.0);
}

static double y_of(const chart *c, double accuracy)
{
    return c->height - BOTTOM - (c->height - TOP - BOTTOM) * accuracy;
}

/* The plans from the most accurate at their largest table down, and where their names stand. */
static void place_names(chart *c, int *order)
{
    for (int i = 0; i < c->plans; i++) {
        int k = i;
        for (; k > 0; k--) {
            const plan *a = &c->plan[order[k - 1]], *b = &c->plan[i];
            if (a->at[a->last]->mean >= b->at[b->last]->mean) break;
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
    double above = TOP + 4 - NAME, below = c->height - BOTTOM + 4 + NAME;
    for (int i = 0; i < c->plans; i++) {
        plan *p = &c->plan[order[i]];
        above = p->y = fmax(y_of(c, p->at[p->last]->mean) + 4, above + NAME);
    }
    for (int i = c->plans - 1; i >= 0; i--) {
        plan *p = &c->plan[order[i]];
        below = p->y = fmin(p->y, below - NAME);
    }
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static void draw_mark(hop_text *out, int number, double x, double y)
{
    static const char *const shapes[] = {
        "<circle class=\"v-solid\" r=\"3.4\"",
        "<path class=\"v-solid\" d=\"M-3.2-3.2h6.4v6.4h-6.4z\"",
        "<path class=\"v-solid\" d=\"M0-4.4L4 3h-8z\"",
        "<path class=\"c-hollow\" d=\"M0-4L4 0 0 4-4 0z\"",
        "<circle class=\"c-hollow\" r=\"3\"",
        "<path class=\"c-hollow\" d=\"M-2.8-2.8h5.6v5.6h-5.6z\"",
    };
    hop_text_printf(out, "%s transform=\"translate(%.1f %.1f)\"/>\n",
                    shapes[number % (int)(sizeof shapes / sizeof *shapes)], x, y);
}

static void draw_axes(hop_text *out, const chart *c)
{
    char text[96];
    double end = c->width - c->right;
    for (int p = 0; p <= 4; p++) {
        hop__svg_line(out, "hair", LEFT, y_of(c, p / 4.0), end, y_of(c, p / 4.0));
        snprintf(text, sizeof text, "%d %%", 25 * p);
        hop__svg_rich(out, "soft small", 12, y_of(c, p / 4.0) + 4, text);
    }
    bool tables = c->size[0]->entries > 0;
    for (int s = 0; s < c->sizes; s++) {
        const hop_learnt *r = c->size[s];
        hop__svg_rich(out, "small mid", x_of(c, s), c->height - BOTTOM + 18,
                      hop__number_count(tables ? r->entries : r->tokens).rich);
        if (!tables) continue;
        snprintf(text, sizeof text, "/{n} = %s", hop__number_count(r->tokens).rich);
        hop__svg_rich(out, "soft small mid", x_of(c, s), c->height - BOTTOM + 33, text);
    }
    hop__svg_rich(out, "soft small mid", (LEFT + end) / 2, c->height - 8,
                  tables ? "entries of the largest table; tokens of the prompt" : "tokens of the prompt");
}

static void draw_ceilings(hop_text *out, const chart *c)
{
    for (int p = 0; p < c->plans; p++)
        for (int s = 0; s < c->sizes; s++) {
            const hop_learnt *r = c->plan[p].at[s];
            if (!r || !(r->ceiling < 1)) continue;
            double x = x_of(c, s), y = y_of(c, r->ceiling);
            hop__svg_line(out, "ask", x - 16, y, x + 16, y);
            hop__svg_rich(out, "soft small mid", x, y - 4, "P3");
        }
}

/* Any plan's, since it is the task's. */
static double chance_of(const chart *c, int size)
{
    for (int p = 0; p < c->plans; p++)
        if (c->plan[p].at[size] && !isnan(c->plan[p].at[size]->chance)) return c->plan[p].at[size]->chance;
    return NAN;
}

static void draw_chance(hop_text *out, const chart *c)
{
    int before = -1;
    for (int s = 0; s < c->sizes; s++) {
        if (isnan(chance_of(c, s))) continue;
        if (before >= 0)
            hop__svg_line(out, "meant", x_of(c, before), y_of(c, chance_of(c, before)), x_of(c, s),
                          y_of(c, chance_of(c, s)));
        before = s;
    }
}

/* What a pointer that rests on the curve reads: the name, and a number for each size. */
static void draw_title(hop_text *out, const chart *c, const plan *p)
{
    hop_text_add(out, "<title>");
    hop__escape(out, p->name, 0);
    for (int s = 0; s < c->sizes; s++) {
        const hop_learnt *r = p->at[s];
        if (!r) continue;
        hop_text_add(out, "\n");
        hop__escape(out, r->sizes, 0);
        hop_text_printf(out, ": %.2f %% (%.2f to %.2f), %d seed%s", 100 * r->mean, 100 * r->least,
                        100 * r->most, r->seeds, r->seeds == 1 ? "" : "s");
    }
    hop_text_add(out, "</title>\n");
}

static void draw_plan(hop_text *out, const chart *c, int number)
{
    const plan *p = &c->plan[number];
    double end = c->width - c->right, x = 0, y = 0;
    bool begun = false;
    hop_text_printf(out, "<g class=\"%s curve\">\n", p->colour);
    draw_title(out, c, p);
    for (int s = 0; s < c->sizes; s++) {
        const hop_learnt *r = p->at[s];
        if (!r) continue;
        double to_x = x_beside(c, s, number), to_y = y_of(c, r->mean);
        if (begun) hop__svg_line(out, "v-pen", x, y, to_x, to_y);
        hop__svg_line(out, "v-pen", to_x, y_of(c, r->least), to_x, y_of(c, r->most));
        draw_mark(out, p->mark, to_x, to_y);
        x = to_x, y = to_y, begun = true;
    }
    if (p->last == c->sizes - 1) hop__svg_line(out, "c-lead", x + 5, y, end + 18, p->y - 4);
    draw_mark(out, p->mark, end + 26, p->y - 4);
    hop__svg_plain(out, "name", end + 36, p->y, p->name, MOST_NAME);
    hop_text_add(out, "</g>\n");
}

static void draw(hop_text *out, chart *c)
{
    int order[MOST_PLANS];
    place_names(c, order);
    draw_axes(out, c);
    draw_ceilings(out, c);
    draw_chance(out, c);
    for (int i = c->plans - 1; i >= 0; i--) draw_plan(out, c, order[i]);
}

/* ---- words --------------------------------------------------------------------------------------------- */

static void add_range(hop_text *out, const char *before, int64_t least, int64_t most, const char *after)
{
    hop_text_printf(out, "%s%s", before, hop__number_count(least).rich);
    if (least != most) hop_text_printf(out, " to %s", hop__number_count(most).rich);
    hop_text_printf(out, "%s%s", after, *after && most != 1 ? "s" : "");
}

void hop__learnt_title(hop_text *out, const hop_learnt *rows, int64_t count, int64_t first)
{
    const hop_learnt *f = &rows[first];
    int64_t least[3] = {INT64_MAX, INT64_MAX, INT64_MAX}, most[3] = {0};
    for (int64_t i = first; i < count; i++) {
        const int64_t has[3] = {rows[i].d_model, rows[i].seeds, rows[i].steps};
        if (!same_chart(&rows[i], f)) continue;
        for (int k = 0; k < 3; k++) {
            least[k] = has[k] < least[k] ? has[k] : least[k];
            most[k] = has[k] > most[k] ? has[k] : most[k];
        }
    }
    hop_text_add(out, f->task);
    if (f->hops) add_range(out, *f->task ? ", " : "", f->hops, f->hops, " hop");
    add_range(out, ", width ", least[0], most[0], "");
    add_range(out, ", ", least[1], most[1], " seed");
    add_range(out, " each, at most ", least[2], most[2], " step");
}

void hop__learnt_chart(hop_text *out, const hop_learnt *rows, int64_t count, int64_t first)
{
    chart c = chart_of(rows, count, first);
    hop_text label = {0};
    hop_text_add(&label, "Accuracy learnt as the table grows: ");
    hop__learnt_title(&label, rows, count, first);
    hop__svg_open(out, c.width, c.height, hop_text_in(out, &label), false);
    draw(out, &c);
    hop__svg_close(out);
    hop_text_free(&label);
}

/* A few lines below all charts. */
static void draw_foot(hop_text *out, double y, bool more, const char *note)
{
    hop__svg_rich(out, "soft small", 12, y += FOOT,
                  "A point: mean of the seeds; a bar: worst seed to best. Dashed: chance. Short blue line: "
                  "P3's ceiling.");
    hop__svg_rich(
        out, "soft small", 12, y += FOOT,
        "Cool colours: as many full layers as hops, and one more or a linear one. Warm colours: fewer.");
    if (more)
        hop__svg_rich(out, "soft small", 12, y += FOOT, "There are more plans or sizes than are drawn here.");
    if (*note) hop__svg_plain(out, "soft small", 12, y + FOOT, note, 0);
}

hop_status hop_report_learnt_svg(hop_text *out, const hop_learnt *rows, int64_t count, const char *note)
{
    double width = FOOT_WIDTH, height = 0;
    bool more = false;
    for (int64_t i = 0; i < count; i++) {
        if (!hop__learnt_first(rows, i)) continue;
        chart c = chart_of(rows, count, i);
        width = fmax(width, c.width);
        height += CAPTION + c.height;
        more = more || c.more;
    }
    hop__svg_open(out, width, height + FOOT * (more ? 4.5 : 3.5), "Accuracy learnt as the table grows", true);
    double y = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!hop__learnt_first(rows, i)) continue;
        chart c = chart_of(rows, count, i);
        hop_text title = {0};
        hop__learnt_title(&title, rows, count, i);
        hop_text_printf(out, "<g transform=\"translate(0 %.0f)\">\n", y + CAPTION);
        hop__svg_plain(out, "", 12, -8, hop_text_in(out, &title), 0);
        draw(out, &c);
        hop_text_add(out, "</g>\n");
        hop_text_free(&title);
        y += CAPTION + c.height;
    }
    draw_foot(out, y, more, note);
    hop__svg_close(out);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}
