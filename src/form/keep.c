/* Memory of an answer: blocks that are freed together. */
#include <hopbound/form.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hop_keep_block {
    struct hop_keep_block *before;
    max_align_t data[];
} block;

void *hop_keep_bytes(hop_keep *k, size_t count, size_t size)
{
    size_t bytes;
    block *b = hop_mul_size(count, size, &bytes) && bytes <= SIZE_MAX - sizeof *b
                   ? calloc(1, sizeof *b + bytes)
                   : NULL;
    if (!b) {
        k->failed = true;
        return NULL;
    }
    b->before = k->last;
    k->last = b;
    return b->data;
}

const char *hop_keep_text(hop_keep *k, const char *s)
{
    if (!s || !*s) return NULL;
    size_t bytes = strlen(s) + 1;
    char *copy = hop_keep_bytes(k, bytes, 1);
    return copy ? memcpy(copy, s, bytes) : NULL;
}

const char *hop_keep_said(hop_keep *k, const char *s)
{
    return s && !*s ? "" : hop_keep_text(k, s);
}

const char *hop_keep_grown(hop_keep *k, hop_text *t)
{
    const char *kept = hop_keep_text(k, t->s);
    k->failed = k->failed || t->failed;
    hop_text_free(t);
    return kept;
}

const char *hop_keep_printf(hop_keep *k, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    char *out = length > 0 ? hop_keep_bytes(k, (size_t)length + 1, 1) : NULL;
    if (out) vsnprintf(out, (size_t)length + 1, fmt, again);
    va_end(again);
    va_end(args);
    return out;
}

void hop_keep_free(hop_keep *k)
{
    while (k->last) {
        block *b = k->last;
        k->last = b->before;
        free(b);
    }
    *k = (hop_keep){0};
}
