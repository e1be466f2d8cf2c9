/* Which theorem speaks first, and of which kind: asked here and nowhere else. */
#include <hopbound/bounds.h>

static bool is_meant(const hop_bound *r, hop_first which)
{
    switch (which) {
    case HOP_FIRST_POSSIBLE: return r->answer == HOP_ANSWER_POSSIBLE;
    case HOP_FIRST_IMPOSSIBLE: return r->answer == HOP_ANSWER_IMPOSSIBLE && r->speaks_from;
    case HOP_FIRST_CERTIFIED: return r->answer == HOP_ANSWER_IMPOSSIBLE && r->certificate;
    case HOP_FIRST_SILENT: return r->answer == HOP_ANSWER_SILENT && r->speaks_from;
    case HOP_FIRST_SPEAKS: return r->answer != HOP_ANSWER_POSSIBLE && r->speaks_from;
    case HOP_FIRST_FINITE:
        return r->answer != HOP_ANSWER_POSSIBLE && r->speaks_from && r->applies && !r->published;
    }
    return false;
}

const hop_bound *hop_bounds_first(const hop_bounds *b, hop_first which)
{
    const hop_bound *best = NULL;
    for (int i = 0; b && i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        if (!is_meant(r, which)) continue;
        if (!best ||
            (which == HOP_FIRST_POSSIBLE ? r->log10_up_to > best->log10_up_to : r->log10_n < best->log10_n))
            best = r;
    }
    return best || which != HOP_FIRST_CERTIFIED ? best : hop_bounds_first(b, HOP_FIRST_IMPOSSIBLE);
}
