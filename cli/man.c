/* Man pages, from the same tables as --help. roff needs three things escaped: backslashes, dashes that must
 * stay ASCII, and dots or quotes at the start of a line. */
#include "options.h"

#include <string.h>
#include <hopbound/version.h>

static void add_roff(hop_text *out, const char *s)
{
    bool line_start = true;
    for (; *s; s++) {
        if (line_start && (*s == '.' || *s == '\'')) hop_text_add(out, "\\&");
        line_start = *s == '\n';
        if (*s == '\\')
            hop_text_add(out, "\\e");
        else if (*s == '-')
            hop_text_add(out, "\\-");
        else if (*s == '^')
            hop_text_add(out, "\\(ha");
        else if (*s == '`' || *s == '~')
            hop_text_add(out, *s == '`' ? "\\(ga" : "\\(ti");
        else
            hop_text_addn(out, s, 1);
    }
}

/* Text with paragraphs: an empty line becomes .PP. */
static void add_paragraphs(hop_text *out, const char *s)
{
    while (*s) {
        const char *end = strstr(s, "\n\n");
        size_t length = end ? (size_t)(end - s) : strlen(s);
        hop_text piece = {0};
        hop_text_addn(&piece, s, length);
        if (piece.s) add_roff(out, piece.s);
        hop_text_free(&piece);
        s += length;
        if (end) {
            hop_text_add(out, "\n.PP\n");
            s += 2;
        }
    }
    hop_text_add(out, "\n");
}

static void add_title(hop_text *out, const char *page)
{
    hop_text_add(out, ".TH \"");
    for (const char *p = page; *p; p++) {
        char upper[2] = {*p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p, 0};
        add_roff(out, upper);
    }
    hop_text_add(out, "\" 1 \"\" \"hopbound " HOP_VERSION "\" \"hopbound\"\n");
}

static void add_option(hop_text *out, const hop_opt_group *g, const hop_opt *o)
{
    hop_text_add(out, ".TP\n");
    if (o->letter) hop_text_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    hop_text_add(out, "\\fB\\-\\-");
    add_roff(out, o->name);
    hop_text_add(out, "\\fR");
    if (o->metavar) {
        hop_text_add(out, " \\fI");
        add_roff(out, o->metavar);
        hop_text_add(out, "\\fR");
    }
    hop_text_add(out, "\n");
    hop_text says = {0};
    hop_text_add(&says, o->help);
    option_facts(&says, g, o);
    if (says.s) add_roff(out, says.s);
    hop_text_add(out, "\n");
    hop_text_free(&says);
}

static void add_exit_status(hop_text *out)
{
    static const struct {
        const char *code, *means;
    } codes[] = {
        {"0", "Done, or the claim holds."},
        {"1",
         "Failure: a bad file, no space, stopped by a signal. One line on standard error says what and why."},
        {"2", "Wrong usage."},
        {"10", "A counter-example was found."},
        {"20", "The search was exhausted and there is none."},
        {"30", "Undecided within the budget."}};
    hop_text_add(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        hop_text_printf(out, ".TP\n\\fB%s\\fR\n", codes[i].code);
        add_roff(out, codes[i].means);
        hop_text_add(out, "\n");
    }
}

static void add_environment(hop_text *out)
{
    hop_text_add(out, ".SH ENVIRONMENT\n.TP\n\\fBHOPBOUND_ISA\\fR\nWhich kernels to use when "
                      "\\fB\\-\\-isa\\fR is not given.\n");
}

static void add_operand(hop_text *out, const char *name, const char *help)
{
    if (!name) return;
    hop_text_printf(out, ".TP\n\\fI%s\\fR\n", name);
    add_roff(out, help);
    hop_text_add(out, "\n");
}

void man_verb(hop_text *out, const verb *v)
{
    hop_text page = {0};
    hop_text_printf(&page, "hopbound-%s", v->name);
    if (!page.s) return;
    add_title(out, page.s);
    hop_text_add(out, ".SH NAME\n");
    add_roff(out, page.s);
    hop_text_add(out, " \\- ");
    add_roff(out, v->summary);
    hop_text_printf(out, "\n.SH SYNOPSIS\n\\fBhopbound %s\\fR", v->name);
    if (v->operand) hop_text_printf(out, " \\fI%s\\fR", v->operand);
    if (v->second) hop_text_printf(out, " \\fI%s\\fR", v->second);
    hop_text_add(out, " [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n");
    add_paragraphs(out, v->description);
    add_operand(out, v->operand, v->operand_help);
    add_operand(out, v->second, v->second_help);
    hop_text_add(out, ".SH OPTIONS\n");
    for (const hop_opt_group *g = v->groups; g->opts; g++) {
        hop_text_printf(out, ".SS %s\n", g->title);
        for (const hop_opt *o = g->opts; o->name; o++) add_option(out, g, o);
    }
    add_exit_status(out);
    add_environment(out);
    hop_text_add(out, ".SH EXAMPLES\n");
    for (const example *e = v->examples; e->command; e++) {
        hop_text_add(out, ".TP\n\\fB");
        add_roff(out, e->command);
        hop_text_add(out, "\\fR\n");
        add_roff(out, e->says);
        hop_text_add(out, "\n");
    }
    hop_text_add(out, ".SH SEE ALSO\n\\fBhopbound\\fR(1)\n");
    hop_text_free(&page);
}

void man_all(hop_text *out, const verb *const *verbs, size_t count)
{
    add_title(out, "hopbound");
    hop_text_add(
        out,
        ".SH NAME\nhopbound \\- how many hops can an architecture make in one forward pass?\n"
        ".SH SYNOPSIS\n\\fBhopbound\\fR \\fIVERB\\fR [\\fIOPERAND\\fR] [\\fIOPTIONS\\fR]\n.br\n"
        "\\fBhopbound\\fR \\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n.SH DESCRIPTION\n"
        "Builds networks that solve function composition, proves that they do, and measures them.\n"
        "Every verb has a page of its own, \\fBhopbound\\-\\fIVERB\\fR(1), and \\fB\\-\\-help\\fR.\n"
        ".PP\nWith \\fB\\-\\-json\\fR a verb prints exactly one JSON object on standard output. Progress "
        "and\n"
        "notes go to standard error; \\fB\\-\\-quiet\\fR stops them. The same \\fB\\-\\-seed\\fR gives the\n"
        "same bits whatever \\fB\\-\\-threads\\fR is. Files appear under their names only when complete.\n"
        ".PP\nNumbers may be written 32k, 1.5M or 2G, which count in powers of 1024 as context lengths do "
        "(32k "
        "is\n"
        "32768), or 1e6, which is 1000000.\n"
        ".SH VERBS\n");
    for (size_t i = 0; i < count; i++) {
        hop_text_printf(out, ".TP\n\\fB%s\\fR%s%s%s\n", verbs[i]->name, verbs[i]->operand ? " \\fI" : "",
                        verbs[i]->operand ? verbs[i]->operand : "", verbs[i]->operand ? "\\fR" : "");
        add_roff(out, verbs[i]->summary);
        hop_text_add(out, ".\n");
    }
    add_exit_status(out);
    add_environment(out);
    hop_text_add(out, ".SH SEE ALSO\n");
    for (size_t i = 0; i < count; i++)
        hop_text_printf(out, "\\fBhopbound\\-%s\\fR(1)%s\n", verbs[i]->name, i + 1 < count ? "," : "");
}
