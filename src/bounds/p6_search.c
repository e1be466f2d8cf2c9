/* Finds P6's numbers: many starts over the reals, then rounding; what comes out is verified. */
#include "p6_search.h"

#include <math.h>
#include <string.h>

/* Longer prompts are not written down: their integers would take minutes, and T2 covers them. A place where the
 * landscape has no end is as long as a double can say. */
#define MOST_LOG2 32768.0

typedef struct seeker {
    hop__p6_ground ground;
    const hop_progress *progress;
    bool *stopped;
    int done;
} seeker;

static double height(const void *ctx, const double *z)
{
    hop__p6_place ignored;
    return hop__p6_height(ctx, z, &ignored);
}

static bool tick(seeker *s)
{
    if (!hop_progress_tick(s->progress, "P6: starts", s->done,
                           HOP__P6_STARTS + (s->ground.fixed ? HOP__P6_STARTS : 0) + 4))
        *s->stopped = true;
    return !*s->stopped;
}

static void ground_init(hop__p6_ground *g, const hop__p6_numbers *p, bool fixed)
{
    fmpz_t sum;
    fmpz_init(sum);
    *g =
        (hop__p6_ground){.hops = p->hops, .whole = p->whole, .reply = hop__to_log2(p->reply), .fixed = fixed};
    for (int l = 0; l < p->hops; l++) {
        fmpz_add(sum, sum, &p->state[l]);
        g->state[l] = hop__to_log2(&p->state[l]);
        g->states_to[l] = hop__to_log2(sum);
        if (fixed) g->sizes[l] = hop__to_log2(&p->sizes[l]);
    }
    if (p->whole) g->state[p->hops] = hop__to_log2(&p->state[p->hops]);
    fmpz_clear(sum);
    if (!fixed) hop__p6_estimate_entry(g);
}

/* The lowest point that the starts lead to: short walks from all, long ones from the best. */
static double descend(seeker *s, double *best)
{
    const hop__p6_ground *g = &s->ground;
    int dims = hop__p6_dims(g);
    double lowest = INFINITY;
    for (int i = 0; i < HOP__P6_STARTS && tick(s); i++, s->done++) {
        double z[HOP__P6_DIMS];
        hop__p6_start(g, i, z);
        double h = hop__simplex(height, g, z, dims, 0.7, 60 * dims);
        if (h >= lowest) continue;
        lowest = h;
        memcpy(best, z, sizeof z);
    }
    for (double step = 0.5; step > 0.1 && tick(s);) {
        double z[HOP__P6_DIMS];
        memcpy(z, best, sizeof z);
        double h = hop__simplex(height, g, z, dims, step, 400 * dims);
        if (h < lowest - 1e-4 * fabs(lowest)) {
            memcpy(best, z, sizeof z);
        } else {
            if (h < lowest) memcpy(best, z, sizeof z);
            step /= 4;
        }
        if (h < lowest) lowest = h;
    }
    return lowest;
}

bool hop__p6_search(hop__p6_numbers *p, const hop_progress *progress, bool *stopped)
{
    seeker s = {.progress = progress, .stopped = stopped};
    double z[HOP__P6_DIMS] = {0};
    hop__p6_place place = {0};
    ground_init(&s.ground, p, false);
    descend(&s, z);
    if (hop__p6_height(&s.ground, z, &place) > MOST_LOG2) return false;
    return !*stopped && hop__p6_round(p, &place) && hop__p6_holds(p);
}

/* From the x that came with p, from the landscape's lowest point, and from each of its starts. */
bool hop__p6_search_fixed(hop__p6_numbers *p, const hop_progress *progress, bool *stopped)
{
    seeker s = {.progress = progress, .stopped = stopped};
    double z[HOP__P6_DIMS] = {0};
    hop__p6_place place = {0};
    bool given = true;
    for (int l = 0; l < p->hops; l++) given = given && fmpz_sgn(&p->x[l]) > 0;
    if (given && (hop__p6_holds(p) || (fmpz_cmp(&p->x[0], &p->sizes[0]) <= 0 && hop__p6_fit(p)))) return true;
    ground_init(&s.ground, p, true);
    descend(&s, z);
    for (int i = -1; i < HOP__P6_STARTS && !*stopped; i++, s.done++) {
        if (i >= 0) hop__p6_start(&s.ground, i, z);
        hop__p6_height(&s.ground, z, &place);
        hop__p6_start_x(p, &place);
        if (tick(&s) && hop__p6_fit(p)) return true;
    }
    return false;
}
