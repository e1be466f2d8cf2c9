/* What the tests share. cmocka wants these headers before its own. */
#ifndef HOPBOUND_TEST_H
#define HOPBOUND_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path inside the build's scratch directory; HOPBOUND_TEST_TMP is set by Meson, the default is for running
 * by hand. */
static inline const char *test_path(char *out, size_t size, const char *name)
{
    const char *dir = getenv("HOPBOUND_TEST_TMP");
    snprintf(out, size, "%s/%s", dir ? dir : "/tmp", name);
    return out;
}

static inline const char *test_data(char *out, size_t size, const char *name)
{
    const char *dir = getenv("HOPBOUND_TEST_DATA");
    snprintf(out, size, "%s/%s", dir ? dir : "tests/data", name);
    return out;
}

#endif
