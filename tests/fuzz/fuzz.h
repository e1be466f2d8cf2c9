/* What the targets share. */
#ifndef HOPBOUND_FUZZ_H
#define HOPBOUND_FUZZ_H

#include <hopbound/base.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check ends the process, in every build. */
static inline void must(bool holds)
{
    if (!holds) abort();
}

static inline void must_say_why(const hop_error *err)
{
    must(err->text[0] && !strchr(err->text, '\n'));
}

#endif
