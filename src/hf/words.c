/* Plans in words: what letters mean, how wide types are, patterns made shorter. */
#include <hopbound/hf.h>

#include <string.h>

const char *hop_hf_letter_means(char letter)
{
    switch (letter) {
#define MEANS(c, text) \
    case c: return text;
        HOP_HF_LETTER_LIST(MEANS)
#undef MEANS
    default: return NULL;
    }
}

int64_t hop_hf_count(const hop_hf_plan *p, char letter)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->count; i++) n += p->layers[i].letter == letter;
    return n;
}

int hop_hf_dtype_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"float64", 8},  {"float32", 4},       {"float16", 2},
                 {"bfloat16", 2}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(dtype, types[i].name) == 0) return types[i].bytes;
    return 0;
}

/* How often the first `period` letters repeat at the head. */
static size_t repeats(const char *s, size_t length, size_t period)
{
    size_t n = 1;
    while ((n + 1) * period <= length && memcmp(s, s + n * period, period) == 0) n++;
    return n;
}

void hop_hf_short(const char *pattern, hop_text *out)
{
    size_t length = strlen(pattern), best = 0, period = 0;
    for (size_t p = 1; p <= length / 2; p++) {
        size_t n = repeats(pattern, length, p),
               cost = p + 3 + (n > 9) + (n > 99) + (n > 999) + (n > 9999) + 1;
        if (n < 2 || n * p <= cost || n * p - cost <= best) continue;
        best = n * p - cost;
        period = p;
    }
    if (period) {
        size_t n = repeats(pattern, length, period);
        hop_text_printf(out, "(%.*s)x%zu", (int)period, pattern, n);
        pattern += n * period;
    }
    hop_text_add(out, pattern);
}
