/* JSON strings, both ways: escapes to UTF-8 and back. */
#include "json_string.h"

#include <string.h>

/* Bytes of the well-formed character at `s`, of which `size` bytes may be read; 0 when there is none.
 * Overlong forms, surrogates and code points above U+10FFFF are not well formed (RFC 3629): the second byte's
 * range rules them out. */
size_t hop__utf8_length(const char *s, size_t size)
{
    const unsigned char *u = (const unsigned char *)s;
    if (size == 0) return 0;
    if (u[0] < 0x80) return 1;
    if (u[0] < 0xC2 || u[0] > 0xF4) return 0;
    size_t n = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
    if (size < n) return 0;
    unsigned lo = u[0] == 0xE0 ? 0xA0 : u[0] == 0xF0 ? 0x90 : 0x80;
    unsigned hi = u[0] == 0xED ? 0x9F : u[0] == 0xF4 ? 0x8F : 0xBF;
    if (u[1] < lo || u[1] > hi) return 0;
    for (size_t i = 2; i < n; i++)
        if (u[i] < 0x80 || u[i] > 0xBF) return 0;
    return n;
}

static char *utf8_put(char *to, unsigned u)
{
    static const unsigned lead[] = {0, 0xC0, 0xE0, 0xF0};
    int tail = u < 0x80 ? 0 : u < 0x800 ? 1 : u < 0x10000 ? 2 : 3;
    *to++ = (char)(lead[tail] | u >> 6 * tail);
    while (tail-- > 0) *to++ = (char)(0x80 | (u >> 6 * tail & 0x3F));
    return to;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Reads no further than the closing quote, which is no digit. */
static bool hex4(const char *s, unsigned *out)
{
    unsigned u = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        if (c >= '0' && c <= '9')
            u = 16 * u + (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            u = 16 * u + (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            u = 16 * u + (unsigned)(c - 'A') + 10;
        else
            return false;
    }
    *out = u;
    return true;
}

/* The \uXXXX at *from, and the one after it when the two are a surrogate pair. NULL or the reason for
 * refusal. */
static const char *unescape_unicode(char **to, const char **from)
{
    const char *s = *from;
    unsigned u, low;
    if (!hex4(s + 2, &u)) return "\\u needs four hexadecimal digits";
    s += 6;
    if (u == 0) return "\\u0000 in a string";
    if (u >= 0xD800 && u < 0xE000) {
        bool pair =
            u < 0xDC00 && s[0] == '\\' && s[1] == 'u' && hex4(s + 2, &low) && low >= 0xDC00 && low < 0xE000;
        if (!pair) return "half of a surrogate pair";
        u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
        s += 6;
    }
    *to = utf8_put(*to, u);
    *from = s;
    return NULL;
}

static const char escape_names[] = "\"\\/bfnrt", escape_bytes[] = "\"\\/\b\f\n\r\t";

char *hop__json_unescape(char *to, const char **from, const char *close, const char **why)
{
    *why = NULL;
    while (*from < close) {
        const char *s = *from, *escape;
        size_t n;
        if (*s != '\\') {
            n = hop__utf8_length(s, (size_t)(close - s));
            if (n == 0) *why = "not UTF-8";
            *from += n;
            for (; n > 0; n--) *to++ = *s++;
        } else if (s[1] == 'u') {
            *why = unescape_unicode(&to, from);
        } else if (s[1] && (escape = strchr(escape_names, s[1])) != NULL) {
            *to++ = escape_bytes[escape - escape_names];
            *from += 2;
        } else {
            *why = "unknown escape in a string";
        }
        if (*why) return NULL;
    }
    return to;
}

/* ---- writing ------------------------------------------------------------------------------- */

void hop__json_escape(hop_text *out, const char *s)
{
    const char *plain = s, *end = s + strlen(s); /* [plain, s) needs no change and is not yet added */
    hop_text_add(out, "\"");
    while (s < end) {
        size_t n = hop__utf8_length(s, (size_t)(end - s));
        bool special = n == 0 || (unsigned char)*s < 0x20 || *s == '"' || *s == '\\';
        if (!special) {
            s += n;
            continue;
        }
        hop_text_addn(out, plain, (size_t)(s - plain));
        const char *escape = strchr(escape_bytes, *s);
        if (n == 0)
            hop_text_add(out, "\xEF\xBF\xBD");
        else if (escape)
            hop_text_printf(out, "\\%c", escape_names[escape - escape_bytes]);
        else
            hop_text_printf(out, "\\u%04x", (unsigned)(unsigned char)*s);
        plain = ++s;
    }
    hop_text_addn(out, plain, (size_t)(s - plain));
    hop_text_add(out, "\"");
}
