/* Which of a head's rotating pairs serve as an address. */
#include "rotary.h"

#include <math.h>

#define SLOWEST    0.3  /* radians over all places: what turns less tells nothing apart */
#define LEAST_LEAD 0.05 /* below this, scores would have to be large for nothing */

static double speed_of(const hop__rotation *r, int64_t pair)
{
    return r->table ? r->table[pair] : pow(r->theta, -2.0 * (double)pair / (double)r->turned);
}

/* Least sum over the pairs of 1 - cos(speed · distance), over all distances. */
static double lead_of(const hop__turns *t, int64_t places)
{
    double least = INFINITY;
    for (int64_t d = 1; d < places; d++) {
        double sum = 0;
        for (int j = 0; j < t->pairs; j++) sum += 1 - cos(t->speed[j] * (double)d);
        least = fmin(least, sum);
    }
    return least;
}

hop_status hop__turns_init(hop__turns *t, const hop__rotation *r, int64_t places, int most, hop_error *err)
{
    int64_t all = r->turned / 2, useful = 0;
    if (most > HOP__MOST_PAIRS) most = HOP__MOST_PAIRS;
    *t = (hop__turns){0};
    while (useful < all && speed_of(r, useful) * (double)places > SLOWEST) useful++;
    for (int64_t step = 1; most > 0 && step <= useful; step++)
        for (int64_t from = 0; from < step && (useful - from + step - 1) / step <= most; from++) {
            hop__turns other = {0};
            for (int64_t j = from; j < useful; j += step) {
                other.pair[other.pairs] = j;
                other.speed[other.pairs++] = speed_of(r, j);
            }
            other.lead = lead_of(&other, places);
            if (other.lead > t->lead) *t = other;
        }
    if (t->lead >= LEAST_LEAD) return HOP_OK;
    return hop_fail(
        err, HOP_EDOMAIN,
        "rotary embedding: of %lld pairs %lld turn enough to tell %lld places apart, by %.3g units of "
        "score with room for %d; %g are needed",
        (long long)all, (long long)useful, (long long)places, t->lead, most, LEAST_LEAD);
}
