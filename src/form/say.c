/* Numbers as people read them. */
#include <hopbound/form.h>

#include <stdio.h>
#include <string.h>

hop_said hop_say_digits(const char *number)
{
    hop_said out = {{0}};
    size_t n = strlen(number), at = 0;
    bool whole = strspn(number, "0123456789") == n;
    for (size_t i = 0; i < n && at + 2 < sizeof out.s; i++) {
        if (whole && i && (n - i) % 3 == 0) out.s[at++] = ',';
        out.s[at++] = number[i];
    }
    return out;
}

hop_said hop_say_count(int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    return hop_say_digits(digits);
}

hop_said hop_say_things(int64_t n, const char *thing)
{
    hop_said out;
    snprintf(out.s, sizeof out.s, "%.30s %.20s%s", hop_say_count(n).s, thing, n == 1 ? "" : "s");
    return out;
}

hop_said hop_say_bytes(int64_t v)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    hop_said out;
    double x = (double)v / 1024;
    int unit = 0;
    if (v < 10240) return hop_say_things(v, "byte");
    for (; x >= 1024 && unit < 5; unit++) x /= 1024;
    snprintf(out.s, sizeof out.s, "%.4g %s", x, units[unit]);
    return out;
}
