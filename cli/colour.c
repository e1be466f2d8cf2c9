/* Verdicts in colour, on a terminal that wants it. What is printed is the same but for the colours. */
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

static const struct {
    const char *word, *colour;
} WORDS[] = {
    {"proved", "32"},    {"possible", "32"}, {"confirmed", "32"}, {"impossible", "31"},
    {"refuted", "31"},   {"rejected", "31"}, {"wrong", "31"},     {"counter-example", "31"},
    {"undecided", "33"}, {"silent", "33"},   {"open", "33"},
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '/';
}

static const char *colour_of(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strlen(WORDS[i].word) == length && memcmp(WORDS[i].word, word, length) == 0)
            return WORDS[i].colour;
    return NULL;
}

void terminal_paint(hop_text *t)
{
    hop_text out = {0};
    for (size_t i = 0; i < t->len;) {
        size_t n = 0;
        while (i + n < t->len && in_word(t->s[i + n])) n++;
        const char *colour = n ? colour_of(t->s + i, n) : NULL;
        if (colour) hop_text_printf(&out, "\033[%sm", colour);
        hop_text_addn(&out, t->s + i, n ? n : 1);
        if (colour) hop_text_add(&out, "\033[0m");
        i += n ? n : 1;
    }
    hop_text_free(t);
    *t = out;
}
