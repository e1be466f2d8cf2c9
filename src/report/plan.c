/* Layer plans as chips: "(L F)^2 L" is five of them, "L^(2^12) F" a chip with a power and another. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_APART 5 /* layers of one kind in a row that are drawn one by one */
#define CHIP       22.0
#define POWER      6.5 /* width of a character of a power */

typedef struct parser {
    const char *at;
    hop__chip *chips;
    int count;
    bool bad;
} parser;

static void add_chip(parser *p, hop__chip c)
{
    if (p->count == HOP__MOST_CHIPS)
        p->bad = true;
    else
        p->chips[p->count++] = c;
}

/* "^12" or "^(2^27)" behind a layer or a group: as it is shown, and as a number (0: a power of two). */
static long read_power(parser *p, char shown[8])
{
    char *end;
    shown[0] = 0;
    if (*p->at != '^') return 1;
    bool inner = strncmp(p->at, "^(2^", 4) == 0;
    p->at += inner ? 4 : 1;
    long number = strtol(p->at, &end, 10);
    p->bad = p->bad || end == p->at || number < 1 || number > 9999 || (inner && *end != ')');
    snprintf(shown, 8, inner ? "2^%d" : "%d", (int)(number % 10000));
    p->at = end + (inner && !p->bad);
    return inner ? 0 : number;
}

static void read_layers(parser *p, bool in_group)
{
    char shown[8];
    while (*p->at && *p->at != ')' && !p->bad) {
        char c = *p->at++;
        if (c == ' ') continue;
        int first = p->count;
        if (c == '(') {
            read_layers(p, true);
            p->bad = p->bad || in_group || *p->at++ != ')';
        } else {
            p->bad = c != 'F' && c != 'L';
            add_chip(p, (hop__chip){.letter = c});
        }
        if (p->bad) return;
        int read = p->count - first;
        long times = read_power(p, shown);
        bool one = c != '(' && (times == 0 || times > MOST_APART);
        if (one)
            memcpy(p->chips[first].power, shown, sizeof shown);
        else if (times == 0 || read == 0)
            p->bad = true;
        for (long i = read; !one && i < times * read && !p->bad; i++) add_chip(p, p->chips[first + i - read]);
    }
}

int hop__plan_chips(hop__chip chips[HOP__MOST_CHIPS], const char *pattern)
{
    parser p = {.at = pattern, .chips = chips};
    read_layers(&p, false);
    return p.bad || *p.at ? 0 : p.count;
}

void hop__plan_html(hop_text *out, const char *pattern)
{
    hop__chip chips[HOP__MOST_CHIPS];
    int count = hop__plan_chips(chips, pattern);
    hop_text_add(out, "<span class=\"plan\">");
    for (int i = 0; i < count; i++) {
        hop_text_printf(out, "<span class=\"chip %s\">%c", chips[i].letter == 'F' ? "f" : "l",
                        chips[i].letter);
        const char *power = chips[i].power, *inner = strchr(power, '^');
        if (inner)
            hop_text_printf(out, "<sup>%.*s<sup>%s</sup></sup>", (int)(inner - power), power, inner + 1);
        else if (*power)
            hop_text_printf(out, "<sup>%s</sup>", power);
        hop_text_add(out, i + 1 < count ? "</span> " : "</span>");
    }
    if (!count) {
        hop_text_add(out, "<code>");
        hop__escape(out, pattern, 60);
        hop_text_add(out, "</code>");
    }
    hop_text_add(out, "</span>");
}

void hop__plan_svg(hop_text *out, const char *pattern, double x, double y)
{
    hop__chip chips[HOP__MOST_CHIPS];
    int count = hop__plan_chips(chips, pattern);
    if (!count) {
        hop__svg_plain(out, "math", x, y + 4.5, pattern, 30);
        return;
    }
    for (int i = 0; i < count; i++) {
        char text[16];
        bool full = chips[i].letter == 'F', raised = chips[i].power[0] != 0;
        double width = CHIP - 3 + (raised ? POWER * (double)strlen(chips[i].power) - 2 : 0);
        snprintf(text, sizeof text, raised ? "%c^{%s}" : "%c", chips[i].letter, chips[i].power);
        hop__svg_box(out, full ? "full" : "other", x, y - 9, width, 18);
        hop__svg_rich(out, full ? "onfull mid" : "onother mid", x + width / 2, y + (raised ? 5 : 4), text);
        x += width + 3;
    }
}
