/* What the files of this room share: escaping, numbers as people write them, shapes, the page's frame.
 *
 * "Rich" text is our own wording, never a caller's: it may hold _{..}, ^{..} and /{..}, which become
 * subscripts, superscripts and variables (serif, italic) in HTML as in SVG. A caller's text goes through
 * hop__escape and is shown as it is. */
#ifndef HOP_REPORT_PAGE_H
#define HOP_REPORT_PAGE_H

#include <hopbound/report.h>

#define HOP__DASH "\u2013" /* stands for: no such number */

/* ---- format.c ------------------------------------------------------------------------------ */

/* A bound must not look better than it is, so a lower one is rounded down and an upper one up. */
typedef enum hop__round { HOP__NEAREST, HOP__LOWER_BOUND, HOP__UPPER_BOUND } hop__round;

typedef struct hop__number {
    char rich[64];
} hop__number;

hop__number hop__number_real(double x, hop__round round); /* three digits; NaN and infinity: a dash */
hop__number hop__number_count(int64_t n);                 /* 1,170 */
hop__number hop__number_power(double log10_n);            /* 10^log10_n, as 3.0 × 10^{20} */
hop__number hop__number_seconds(double s);
hop__number hop__number_digits(const char *text); /* "38215" as 38,215; "10^22.1" as 10^{22.1} */

/* Any bytes (NULL: a dash) as text of HTML or XML: markup is escaped; what is not UTF-8, or may not stand in
 * XML, becomes U+FFFD. At most max_chars characters, the last an ellipsis if some were left out; 0: all. */
void hop__escape(hop_text *out, const char *s, int max_chars);
bool hop__said(const char *s); /* is there such a text? */

/* Cuts rich text into runs: false at its end. */
typedef enum hop__run_kind { HOP__PLAIN, HOP__SUB, HOP__SUP, HOP__VAR } hop__run_kind;
typedef struct hop__run {
    const char *s;
    size_t len;
    hop__run_kind kind;
} hop__run;
bool hop__rich_next(const char **at, hop__run *run);
void hop__escape_run(hop_text *out, const char *s, size_t len); /* of well-formed text */

/* ---- svg.c --------------------------------------------------------------------------------- */

/* Classes are those of hop__svg_style. Coordinates are written with one decimal. */
void hop__svg_open(hop_text *out, double width, double height, const char *label, bool standalone);
void hop__svg_close(hop_text *out);
void hop__svg_line(hop_text *out, const char *class_name, double x1, double y1, double x2, double y2);
void hop__svg_box(hop_text *out, const char *class_name, double x, double y, double w, double h);
void hop__svg_dot(hop_text *out, const char *class_name, double x, double y, double r);
void hop__svg_arrow(hop_text *out, const char *class_name, double from_x, double to_x, double y);
void hop__svg_rich(hop_text *out, const char *class_name, double x, double y, const char *rich);
void hop__svg_plain(hop_text *out, const char *class_name, double x, double y, const char *s, int max_chars);
/* A verdict's mark around (x, y): a disc with a tick, a diamond with a cross, a dashed ring with a question
 * mark; a square where nothing is known. Told apart without colour. */
void hop__svg_mark(hop_text *out, hop_ladder_verdict verdict, double x, double y);
const char *hop__svg_mark_class(hop_ladder_verdict verdict); /* gives its colour to what stands in it */
const char *hop__svg_mark_word(hop_ladder_verdict verdict);  /* "from_n" as people read it */
const char *hop__svg_style(void); /* colours, in light and dark, and the classes of drawings */

/* ---- html.c -------------------------------------------------------------------------------- */

const char *hop__asset(const char *name); /* the text of page.css, page.js, drawing.css, prose.html */
/* Adds the part `name` of prose.html, in which every {word} is filled with the next of the texts that follow. */
void hop__prose(hop_text *out, const char *name, ...);
void hop__html_open(hop_text *out, const char *title);
void hop__html_close(hop_text *out, bool moves); /* `moves`: with the script */
/* A part of the page with a heading, which a link can name. */
void hop__section_open(hop_text *out, const char *id, const char *title);
void hop__section_close(hop_text *out);
void hop__fold_open(hop_text *out, const char *summary); /* what a reader may skip */
void hop__fold_close(hop_text *out);
void hop__html_rich(hop_text *out, const char *rich);
void hop__html_mark(hop_text *out, hop_ladder_verdict verdict);           /* the mark and the word */
void hop__html_data(hop_text *out, const char *id, const hop_text *json); /* for the script to read */
/* A table whose rows turn into cards where it is too wide; a slim one only on a phone. */
void hop__html_table_open(hop_text *out, const char *caption, bool cards);
void hop__html_table_close(hop_text *out);
/* A cell names its column, which a card shows before the value: cell_open, content, then "</td>". */
void hop__html_head(hop_text *out, const char *rich, bool number);
void hop__html_cell_open(hop_text *out, const char *label, bool number);
void hop__html_cell(hop_text *out, const char *label, const char *rich); /* a number, whole */

/* ---- plan.c: layers as chips, F dark and L light ---------------------------------------------- */

#define HOP__MOST_CHIPS 9

typedef struct hop__chip {
    char letter;
    char power[8]; /* of a run that is drawn as one chip: "16", "2^27"; "" */
} hop__chip;

/* Chips of a pattern of F and L; 0: it is not one, or has too many. */
int hop__plan_chips(hop__chip chips[HOP__MOST_CHIPS], const char *pattern);
void hop__plan_html(hop_text *out, const char *pattern);
void hop__plan_svg(hop_text *out, const char *pattern, double x, double y);

/* ---- halves.c: what works above, what cannot below, rung by rung ------------------------------- */

typedef struct hop__half_row {
    hop_ladder_verdict verdict;
    const char *pattern;
    char plan[32];  /* where pattern points to, if the row is not a network's own */
    char note[320]; /* rich */
    bool hybrids;   /* it stands for all of them */
} hop__half_row;

#define HOP__MOST_HALF_ROWS 12

/* Rows of a rung, those above the line first; *above: how many these are. Returns how many there are. */
int hop__half_rows(hop__half_row rows[HOP__MOST_HALF_ROWS], const hop_ladder_page *page,
                   const hop_ladder_row *r, int *above);
bool hop__is_hybrid(const hop_ladder_row *r, int64_t hops); /* proved, of that rung */
void hop__verdicts_html(hop_text *out, const hop_ladder_page *page);
void hop__verdicts_draw(hop_text *out, const hop_ladder_page *page, bool standalone);

/* ---- learnt_draw.c: accuracy against the size of the table, a chart for a task and a number of hops ---- */

/* Whether row `i` is the first of its chart; a chart's title as plain text, "2 hops, width 64, 3 seeds
 * each, at most 4,000 steps"; the chart. */
bool hop__learnt_first(const hop_learnt *rows, int64_t i);
void hop__learnt_title(hop_text *out, const hop_learnt *rows, int64_t count, int64_t first);
void hop__learnt_chart(hop_text *out, const hop_learnt *rows, int64_t count, int64_t first);

/* ---- sections: one file each, listed in ladder.c; each is silent where it has nothing to show ----- */

typedef void hop__section(hop_text *out, const hop_ladder_page *page);
hop__section hop__demonstration_section, hop__failures_section, hop__learnt_section, hop__map_section,
    hop__thresholds_section, hop__details_section;

/* ---- ladder_draw.c, ladder_tables.c: parts of the details -------------------------------------- */

void hop__ladder_draw(hop_text *out, const hop_ladder_page *page, bool standalone);
void hop__ladder_main_table(hop_text *out, const hop_ladder_page *page);
void hop__ladder_margins_table(hop_text *out, const hop_ladder_page *page);
void hop__ladder_others_table(hop_text *out, const hop_ladder_page *page);
void hop__ladder_columns(hop_text *out); /* what each column means */

#endif
