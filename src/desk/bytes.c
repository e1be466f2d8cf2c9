/* Bytes as people write them. */
#include "desk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((double)((int64_t)1 << 60))

bool hop__bytes_read(const char *text, int64_t *out)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"", 1},         {"B", 1},      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                 {"TiB", 0x1p40}, {"k", 0x1p10}, {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},
                 {"kB", 1e3},     {"MB", 1e6},   {"GB", 1e9},     {"TB", 1e12}};
    char *end = NULL;
    double v = strtod(text, &end);
    if (end == text || !(v > 0) || !isfinite(v)) return false;
    while (*end == ' ') end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && v * units[i].bytes < MOST_BYTES && v * units[i].bytes >= 1) {
            *out = (int64_t)(v * units[i].bytes);
            return true;
        }
    return false;
}
