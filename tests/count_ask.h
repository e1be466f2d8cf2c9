/* Random numbers, and certificates that are judged. */
#ifndef HOP_TESTS_COUNT_ASK_H
#define HOP_TESTS_COUNT_ASK_H

#include "bounds_ask.h"

#include <hopbound/check.h>

#include <math.h>

static inline int random_below(uint64_t *seed, int most)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return (int)((*seed >> 11) % (uint64_t)most);
}

static inline double random_part(uint64_t *seed)
{
    return (1 + random_below(seed, 1 << 20)) / (double)((1 << 20) + 1);
}

/* Does the checker, which reads nothing but the text, accept it? */
static inline bool accepted(const char *text)
{
    hop_check check;
    hop_error err = {0};
    if (hop_check_certificate(&check, text, strlen(text), &err) != HOP_OK) fail_msg("%s", err.text);
    return check.valid;
}

/* The answer has a certificate of its sizes, and it is accepted. */
static inline bool answer_is_certified(const hop_bound *r)
{
    const hop_certificate *c = r->certificate;
    if (!c || strcmp(c->m, r->sizes[0]) != 0 || !accepted(c->text)) return false;
    for (int l = 0; c->fan[l]; l++)
        if (strcmp(c->fan[l], r->sizes[l + 1]) != 0) return false;
    return true;
}

#endif
