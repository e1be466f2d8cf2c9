/* Names of files, and strings that stand in files, may hold anything. On their way to a terminal they pass here:
 * nothing is left that moves a cursor, sets a colour, ends a line or turns the direction of what follows. */
#include "json_string.h"

#include <string.h>

/* Whether a terminal obeys the character of n bytes at s: C0 and DEL, C1, and Unicode's line ends, marks and
 * overrides of direction (U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, U+061C, U+FEFF). */
static bool is_obeyed(const unsigned char *s, size_t n)
{
    if (n == 1) return s[0] < 0x20 || s[0] == 0x7f;
    if (n == 2) return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
    if (n != 3) return false;
    unsigned u = (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u);
    return u == 0x200e || u == 0x200f || (u >= 0x2028 && u <= 0x202e) || (u >= 0x2066 && u <= 0x2069) ||
           u == 0xfeff;
}

static void make_plain(char *s, const char *kept)
{
    for (char *end = s + strlen(s); s < end;) {
        size_t n = hop__utf8_length(s, (size_t)(end - s)), bytes = n ? n : 1;
        if (n == 0)
            *s = '?';
        else if (is_obeyed((const unsigned char *)s, n) && !strchr(kept, *s))
            memset(s, ' ', bytes);
        s += bytes;
    }
}

void hop_plain(char *line)
{
    make_plain(line, "");
}

void hop_plain_lines(char *text)
{
    make_plain(text, "\n\t");
}

void hop_text_name(hop_text *t, const char *name)
{
    size_t before = t->len;
    hop_text_add(t, name);
    if (t->len > before) hop_plain(t->s + before);
}
