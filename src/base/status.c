/* Status texts and one-line errors. */
#include <hopbound/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hop_status_text(hop_status s)
{
    switch (s) {
#define CASE(name, code, text) \
    case HOP_##name: return text;
        HOP_STATUS_LIST(CASE)
#undef CASE
    }
    return "unknown status";
}

/* Texts reach users as one line, and they quote what files and arguments say: blank control characters. */
static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = ' ';
}

hop_status hop_fail(hop_error *err, hop_status s, const char *fmt, ...)
{
    if (!err) return s;
    err->status = s;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    one_line(err->text);
    return s;
}

hop_status hop_fail_in(hop_error *err, hop_status s, const char *prefix)
{
    if (!err) return s;
    char rest[sizeof err->text];
    memcpy(rest, err->text, sizeof rest);
    return hop_fail(err, s, "%s: %s", prefix, rest);
}
