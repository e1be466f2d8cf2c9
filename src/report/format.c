/* Text that is safe in HTML and XML, and numbers as people write them. */
#include "page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- escaping ------------------------------------------------------------------------------ */

/* Bytes of the character at s if it is well-formed UTF-8 (no overlong form, no surrogate, at most U+10FFFF),
 * else 0. Fixed-size fields cut their text anywhere, so half a character is an ordinary thing to meet. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] >= 0xa0) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] >= 0x90) return 0;
    if (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe) return 0; /* U+FFFE, U+FFFF: not for XML */
    return n;
}

/* Adds one character, returns how many bytes it took. */
static size_t escape_one(hop_text *out, const unsigned char *s)
{
    size_t n = utf8_length(s);
    switch (s[0]) {
    case '&': hop_text_add(out, "&amp;"); return 1;
    case '<': hop_text_add(out, "&lt;"); return 1;
    case '>': hop_text_add(out, "&gt;"); return 1;
    case '"': hop_text_add(out, "&quot;"); return 1;
    case '\'': hop_text_add(out, "&#39;"); return 1;
    default: break;
    }
    bool control = s[0] == 0x7f || (s[0] < 0x20 && s[0] != '\t' && s[0] != '\n') ||
                   (s[0] == 0xc2 && s[1] < 0xa0); /* C1: not for HTML */
    if (n == 0 || control) {
        hop_text_add(out, "\ufffd");
        return n ? n : 1;
    }
    hop_text_addn(out, (const char *)s, n);
    return n;
}

static size_t char_length(const unsigned char *s)
{
    size_t n = utf8_length(s);
    return n ? n : 1;
}

bool hop__said(const char *s)
{
    return s && *s;
}

void hop__escape(hop_text *out, const char *s, int max_chars)
{
    if (!s) s = HOP__DASH;
    const unsigned char *p = (const unsigned char *)s;
    int chars = 0;
    for (const unsigned char *q = p; *q; q += char_length(q)) chars++;
    bool cut = max_chars > 0 && chars > max_chars;
    for (int i = 0; *p && !(cut && i == max_chars - 1); i++) p += escape_one(out, p);
    if (cut) hop_text_add(out, "\u2026");
}

void hop__escape_run(hop_text *out, const char *s, size_t len)
{
    for (const char *end = s + len; s < end;) s += escape_one(out, (const unsigned char *)s);
}

static hop__run_kind rich_kind(const char *s)
{
    if (s[0] == '\0' || s[1] != '{') return HOP__PLAIN;
    return s[0] == '_' ? HOP__SUB : s[0] == '^' ? HOP__SUP : s[0] == '/' ? HOP__VAR : HOP__PLAIN;
}

bool hop__rich_next(const char **at, hop__run *run)
{
    const char *s = *at;
    if (!*s) return false;
    run->kind = rich_kind(s);
    run->s = run->kind == HOP__PLAIN ? s : s + 2;
    if (run->kind == HOP__PLAIN)
        while (*s && rich_kind(s) == HOP__PLAIN) s++;
    else
        s = run->s + strcspn(run->s, "}");
    run->len = (size_t)(s - run->s);
    *at = *s == '}' && run->kind != HOP__PLAIN ? s + 1 : s;
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static hop__number number_text(const char *s)
{
    hop__number n;
    snprintf(n.rich, sizeof n.rich, "%s", s);
    return n;
}

/* x to three digits as C writes them, "5.73e+00", moved by one unit where the nearest is on the wrong side.
 */
static double round_bound(double x, hop__round round)
{
    char s[32];
    snprintf(s, sizeof s, "%.2e", x);
    double shown = strtod(s, NULL);
    double unit = pow(10.0, floor(log10(fabs(shown))) - 2);
    if (round == HOP__LOWER_BOUND && shown > x) shown -= unit;
    if (round == HOP__UPPER_BOUND && shown < x) shown += unit;
    return shown;
}

hop__number hop__number_real(double x, hop__round round)
{
    if (!isfinite(x)) return number_text(HOP__DASH);
    if (x == 0) return number_text("0");
    char s[32];
    snprintf(s, sizeof s, "%.2e", round_bound(x, round));
    int exponent = atoi(strchr(s, 'e') + 1);
    hop__number n;
    const char *sign = x < 0 ? "\u2212" : "";
    const char *digits = x < 0 ? s + 1 : s;
    if (exponent >= -3 && exponent <= 5) {
        int decimals = exponent < 2 ? 2 - exponent : 0;
        snprintf(n.rich, sizeof n.rich, "%s%.*f", sign, decimals, fabs(strtod(s, NULL)));
    } else {
        snprintf(n.rich, sizeof n.rich, "%s%.4s\u2009\u00d7\u200910^{%s%d}", sign, digits,
                 exponent < 0 ? "\u2212" : "", abs(exponent));
    }
    return n;
}

hop__number hop__number_count(int64_t n)
{
    char digits[24];
    uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    int len = snprintf(digits, sizeof digits, "%" PRIu64, size);
    hop__number out = number_text(n < 0 ? "\u2212" : "");
    size_t at = strlen(out.rich);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) out.rich[at++] = ',';
        out.rich[at++] = digits[i];
    }
    out.rich[at] = '\0';
    return out;
}

hop__number hop__number_power(double log10_n)
{
    if (!isfinite(log10_n) || log10_n < 0) return number_text(HOP__DASH);
    if (log10_n < 6) return hop__number_count(llround(pow(10.0, log10_n)));
    double exponent = floor(log10_n);
    hop__number n;
    if (log10_n >= 1e9) { /* the exponent's own rounding has eaten the leading digits */
        snprintf(n.rich, sizeof n.rich, "10^{%.6g}", log10_n);
        return n;
    }
    double tenths = round(10 * pow(10.0, log10_n - exponent));
    if (tenths >= 100) {
        tenths = 10;
        exponent += 1;
    }
    snprintf(n.rich, sizeof n.rich, "%.1f\u2009\u00d7\u200910^{%.0f}", tenths / 10, exponent);
    return n;
}

hop__number hop__number_seconds(double s)
{
    if (!isfinite(s) || s < 0) return number_text(HOP__DASH);
    if (s >= 1e15) return hop__number_real(s, HOP__NEAREST);
    if (s >= 1e3) return hop__number_count(llround(s));
    hop__number n;
    snprintf(n.rich, sizeof n.rich, "%.*f", s < 10 ? 2 : s < 100 ? 1 : 0, s);
    return n;
}

hop__number hop__number_digits(const char *text)
{
    hop__number n;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits < 19 && !text[digits]) return hop__number_count(strtoll(text, NULL, 10));
    const char *power = strstr(text, "10^");
    if (power == text && text[3] != '(')
        snprintf(n.rich, sizeof n.rich, "10^{%.40s}", text + 3);
    else
        snprintf(n.rich, sizeof n.rich, "%.60s", text);
    return n;
}
