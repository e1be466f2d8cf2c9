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

hop_status hop_fail(hop_error *err, hop_status s, const char *fmt, ...)
{
    if (!err) return s;
    err->status = s;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    hop_plain(err->text); /* one line, which quotes what files and arguments say */
    return s;
}

hop_status hop_fail_in(hop_error *err, hop_status s, const char *prefix)
{
    if (!err) return s;
    char rest[sizeof err->text];
    memcpy(rest, err->text, sizeof rest);
    return hop_fail(err, s, "%s: %s", prefix, rest);
}
