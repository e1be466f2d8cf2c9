/* Aligned memory, fixed-size arenas, growing strings. */
#include <hopbound/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((size_t)1 << 21)
#define LARGE     ((size_t)1 << 27) /* so much is worth a question */

/* Many heads walk through far apart rows: large blocks ask for large pages, where the system has them, before
 * they are touched. */
static void ask_for_huge_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(p, bytes, MADV_HUGEPAGE); /* a wish: without it everything works, a little slower */
#else
    (void)p, (void)bytes;
#endif
}

void *hop_alloc_raw(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    size_t align = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : HOP_ALIGN;
    size_t rounded = bytes == 0 ? align : (bytes + align - 1) / align * align;
    void *p = aligned_alloc(align, rounded);
    if (!p) return NULL;
    if (align == HUGE_PAGE) ask_for_huge_pages(p, rounded);
    return p;
}

size_t hop_memory_left(void)
{
    size_t kilobytes = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return SIZE_MAX;
    while (fgets(line, sizeof line, f)) {
        unsigned long long n;
        if (sscanf(line, "MemAvailable: %llu", &n) == 1 || sscanf(line, "SwapFree: %llu", &n) == 1)
            kilobytes += (size_t)n;
    }
    fclose(f);
    return kilobytes > 0 && kilobytes < SIZE_MAX / 1024 ? kilobytes * 1024 : SIZE_MAX;
}

bool hop_memory_has(size_t bytes)
{
    return bytes < LARGE || bytes <= hop_memory_left();
}

/* All of it will be written: what is not there is refused now, since the system may promise it and kill who
 * takes it at its word. */
void *hop_alloc(size_t bytes)
{
    if (!hop_memory_has(bytes)) return NULL;
    void *p = hop_alloc_raw(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

void hop_free(void *p)
{
    free(p);
}

bool hop_mul_size(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a) return false;
    *out = a * b;
    return true;
}

/* ---- arena --------------------------------------------------------------------------------- */

static size_t align_up(size_t n)
{
    return (n + HOP_ALIGN - 1) / HOP_ALIGN * HOP_ALIGN;
}

hop_status hop_arena_reserve(hop_arena *a, size_t bytes, hop_error *err)
{
    hop_arena_free(a);
    a->base = hop_memory_has(bytes) ? hop_alloc_raw(bytes) : NULL;
    if (!a->base) return hop_fail(err, HOP_ENOMEM, "cannot reserve %zu bytes of scratch memory", bytes);
    a->size = align_up(bytes);
    return HOP_OK;
}

void *hop_arena_alloc(hop_arena *a, size_t bytes)
{
    size_t need = align_up(bytes);
    if (need > a->size - a->used) {
        fprintf(stderr, "hopbound: bug: scratch of %zu bytes exhausted (%zu used, %zu asked)\n", a->size,
                a->used, need);
        abort();
    }
    void *p = a->base + a->used;
    a->used += need;
    return p;
}

float *hop_arena_floats(hop_arena *a, size_t count)
{
    return hop_arena_alloc(a, count * sizeof(float));
}

void hop_arena_free(hop_arena *a)
{
    hop_free(a->base);
    *a = (hop_arena){0};
}

size_t hop_arena_floats_size(size_t count)
{
    return align_up(count * sizeof(float));
}

/* ---- text ---------------------------------------------------------------------------------- */

static bool text_room(hop_text *t, size_t extra)
{
    if (t->failed) return false;
    if (extra > SIZE_MAX / 2 - t->len - 1) return !(t->failed = true);
    size_t need = t->len + extra + 1;
    if (need <= t->cap) return true;
    size_t cap = t->cap ? t->cap : 64;
    while (cap < need) cap *= 2;
    char *s = realloc(t->s, cap);
    if (!s) return !(t->failed = true);
    t->s = s;
    t->cap = cap;
    return true;
}

void hop_text_addn(hop_text *t, const char *s, size_t n)
{
    if (!text_room(t, n)) return;
    if (n) memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = 0;
}

void hop_text_add(hop_text *t, const char *s)
{
    hop_text_addn(t, s, strlen(s));
}

void hop_text_integer(hop_text *t, int64_t v)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0) *--at = '-';
    hop_text_addn(t, at, (size_t)(digits + sizeof digits - at));
}

void hop_text_printf(hop_text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0 || !text_room(t, (size_t)n)) {
        t->failed = true;
        return;
    }
    va_start(args, fmt);
    vsnprintf(t->s + t->len, (size_t)n + 1, fmt, args);
    va_end(args);
    t->len += (size_t)n;
}

const char *hop_text_in(hop_text *whole, const hop_text *part)
{
    whole->failed = whole->failed || part->failed;
    return part->s ? part->s : "";
}

void hop_text_free(hop_text *t)
{
    free(t->s);
    *t = (hop_text){0};
}
