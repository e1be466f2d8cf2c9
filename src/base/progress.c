/* Progress goes to whoever listens; the library itself never prints. */
#include <hopbound/base.h>

bool hop_progress_tick(const hop_progress *p, const char *what, double done, double total)
{
    return !p || !p->tick || p->tick(p->ctx, what, done, total);
}
