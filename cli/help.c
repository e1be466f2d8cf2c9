/* --help, from the tables. */
#include "cli.h"

#include <string.h>

#define WIDTH  100
#define COLUMN 28 /* where the explanations start */

static void add_wrapped(hop_text *out, const char *text, int at, int indent)
{
    add_words(out, text, at, indent, WIDTH);
}

void option_facts(hop_text *out, const hop_opt_group *g, const hop_opt *o)
{
    hop_text facts = {0};
    const char *initial = o->initial_help && g->initial_help ? g->initial_help : o->initial_help;
    if (o->required) hop_text_add(&facts, "required");
    if (o->initial || initial) hop_text_printf(&facts, "default %s", initial ? initial : o->initial);
    if (o->kind == HOP_OPT_CHOICE) {
        hop_text_add(&facts, facts.len ? "; one of " : "one of ");
        for (int i = 0; o->choices[i]; i++) hop_text_printf(&facts, "%s%s", i ? ", " : "", o->choices[i]);
    }
    if ((o->kind == HOP_OPT_INT || o->kind == HOP_OPT_LIST) && o->max != INT64_MAX)
        hop_text_printf(&facts, "%s%lld to %lld", facts.len ? "; " : "", (long long)o->min,
                        (long long)o->max);
    if (facts.len) hop_text_printf(out, " (%s)", facts.s);
    hop_text_free(&facts);
}

static void help_option(hop_text *out, const hop_opt_group *g, const hop_opt *o)
{
    hop_text left = {0}, right = {0};
    if (o->letter)
        hop_text_printf(&left, "  -%c, ", o->letter);
    else
        hop_text_add(&left, "      ");
    hop_text_printf(&left, "--%s%s%s", o->name, o->metavar ? " " : "", o->metavar ? o->metavar : "");
    hop_text_add(&right, o->help);
    option_facts(&right, g, o);
    if (left.s && right.s) {
        hop_text_add(out, left.s);
        if (left.len + 2 > COLUMN)
            hop_text_printf(out, "\n%*s", COLUMN, "");
        else
            hop_text_printf(out, "%*s", COLUMN - (int)left.len, "");
        add_wrapped(out, right.s, COLUMN, COLUMN);
        hop_text_add(out, "\n");
    }
    hop_text_free(&left);
    hop_text_free(&right);
}

static void help_operand(hop_text *out, const char *name, const char *help)
{
    if (!name) return;
    int left = 2 + (int)strlen(name);
    hop_text_printf(out, "  %s%*s", name, left < COLUMN ? COLUMN - left : 1, "");
    add_wrapped(out, help, COLUMN, COLUMN);
    hop_text_add(out, "\n");
}

void help_verb(hop_text *out, const verb *v)
{
    hop_text_printf(out, "Usage: hopbound %s%s%s%s%s [OPTIONS]\n\n", v->name, v->operand ? " " : "",
                    v->operand ? v->operand : "", v->second ? " " : "", v->second ? v->second : "");
    hop_text_printf(out, "%c", v->summary[0] - 'a' + 'A'); /* a sentence here, a phrase in the man page */
    add_wrapped(out, v->summary + 1, 1, 0);
    hop_text_add(out, ".\n\n");
    add_wrapped(out, v->description, 0, 0);
    hop_text_add(out, "\n");
    if (v->operand) hop_text_add(out, "\n");
    help_operand(out, v->operand, v->operand_help);
    help_operand(out, v->second, v->second_help);
    for (const hop_opt_group *g = v->groups; g->opts; g++) {
        hop_text_printf(out, "\n%s:\n", g->title);
        for (const hop_opt *o = g->opts; o->name; o++) help_option(out, g, o);
    }
    hop_text_add(out, "\nExamples:\n");
    for (const example *e = v->examples; e->command; e++)
        hop_text_printf(out, "  %s\n      %s\n", e->command, e->says);
}

void help_all(hop_text *out, const verb *const *verbs, size_t count)
{
    hop_text_add(out,
                 "Usage: hopbound VERB [OPERAND] [OPTIONS]\n\n"
                 "How many hops can an architecture make in one forward pass? Builds networks that solve\n"
                 "function composition, proves that they do, and measures them.\n\nVerbs:\n");
    for (size_t i = 0; i < count; i++) {
        const verb *v = verbs[i];
        hop_text_printf(out, "  %-12s%-9s", v->name, v->operand ? v->operand : "");
        add_wrapped(out, v->summary, 23, 23);
        hop_text_add(out, "\n");
    }
    hop_text_add(out,
                 "\n`hopbound help VERB` explains a verb; `hopbound --version` says which version this is.\n"
                 "Exit: 0 done, or the claim holds; 1 failure; 2 wrong usage; 10 counter-example found;\n"
                 "20 search exhausted, there is none; 30 undecided within the budget.\n"
                 "Numbers may be written 32k, 1.5M, 2G (powers of 1024: 32k is 32768) or 1e6 (1000000).\n");
}
