/* Lengths of --over, as people write them. */
#include <stdio.h>
#include <string.h>
#include "over.h"

#define LONGEST ((int64_t)1 << 50)
#define SPANS   12 /* between the ends of a range, at most */

static bool read_length(const char *text, size_t size, int64_t *out, hop_error *err)
{
    static const hop_opt tokens = {"over", 0, HOP_OPT_INT, 0, "TOKENS", NULL, 1, LONGEST, .help = ""};
    char item[32];
    hop_opt_value v = {0};
    hop_error why = {0};
    snprintf(item, sizeof item, "%.*s", (int)(size < sizeof item ? size : sizeof item - 1), text);
    bool read = hop_opt_read(&tokens, item, &v, &why);
    if (!read) hop_fail(err, HOP_EUSAGE, "--over: %s; A..B or A,B,..", why.text);
    *out = v.integer;
    return read;
}

static hop_status add(over_lengths *out, int64_t n, hop_error *err)
{
    if (out->count && n <= out->at[out->count - 1]) return hop_fail(err, HOP_EUSAGE, "--over: lengths rise");
    if (out->count == OVER_MOST_LENGTHS)
        return hop_fail(err, HOP_EUSAGE, "--over: more than %d lengths", OVER_MOST_LENGTHS);
    out->at[out->count++] = n;
    return HOP_OK;
}

/* Both ends, and factors between them that are powers of two. */
static hop_status add_range(over_lengths *out, int64_t first, int64_t last, hop_error *err)
{
    int shift = 1;
    while (first < last && (last - 1) / first >> (shift * SPANS < 62 ? shift * SPANS : 62)) shift++;
    hop_status s = HOP_OK;
    for (int64_t n = first; s == HOP_OK && n<last; n = n> last >> shift ? last : n << shift)
        s = add(out, n, err);
    return s == HOP_OK ? add(out, last, err) : s;
}

hop_status hop__over_lengths(over_lengths *out, const char *text, int64_t alone, hop_error *err)
{
    int64_t n, last;
    *out = (over_lengths){{alone}, 1};
    if (!text) return HOP_OK;
    out->count = 0;
    const char *dots = strstr(text, "..");
    if (dots) {
        if (!read_length(text, (size_t)(dots - text), &n, err) ||
            !read_length(dots + 2, strlen(dots + 2), &last, err))
            return HOP_EUSAGE;
        return n <= last ? add_range(out, n, last, err) : hop_fail(err, HOP_EUSAGE, "--over: lengths rise");
    }
    hop_status s = HOP_OK;
    for (const char *at = text; s == HOP_OK; at++) {
        size_t size = strcspn(at, ",");
        if (!read_length(at, size, &n, err)) return HOP_EUSAGE;
        s = add(out, n, err);
        at += size;
        if (!*at) break;
    }
    return s;
}
