/* Nelder and Mead's simplex, with the coefficients that Gao and Han (2012) give for many dimensions. Used to
 * find good numbers, never to claim anything about them. */
#include "p6_search.h"

#include <math.h>
#include <string.h>

typedef struct corner {
    double z[HOP__P6_DIMS], height;
} corner;

typedef struct simplex {
    hop__height_fn *f;
    const void *ctx;
    int dims, left; /* evaluations left */
    corner corners[HOP__P6_DIMS + 1];
} simplex;

static double height_of(simplex *s, const double *z)
{
    s->left--;
    return s->f(s->ctx, z);
}

/* Sorts by height; the simplex is small. */
static void sort_corners(simplex *s)
{
    for (int i = 1; i <= s->dims; i++)
        for (int j = i; j > 0 && s->corners[j].height < s->corners[j - 1].height; j--) {
            corner swap = s->corners[j];
            s->corners[j] = s->corners[j - 1];
            s->corners[j - 1] = swap;
        }
}

/* centre + by·(centre - worst) */
static corner moved(simplex *s, const double *centre, double by)
{
    corner c;
    const corner *worst = &s->corners[s->dims];
    memset(c.z, 0, sizeof c.z);
    for (int k = 0; k < s->dims; k++) c.z[k] = centre[k] + by * (centre[k] - worst->z[k]);
    c.height = height_of(s, c.z);
    return c;
}

static void shrink(simplex *s, double by)
{
    for (int i = 1; i <= s->dims; i++) {
        for (int k = 0; k < s->dims; k++)
            s->corners[i].z[k] = s->corners[0].z[k] + by * (s->corners[i].z[k] - s->corners[0].z[k]);
        s->corners[i].height = height_of(s, s->corners[i].z);
    }
}

static void step_once(simplex *s)
{
    int n = s->dims;
    double centre[HOP__P6_DIMS] = {0}, many = n > 1 ? n : 2;
    corner *worst = &s->corners[n];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) centre[k] += s->corners[i].z[k] / n;
    corner there = moved(s, centre, 1);
    if (there.height < s->corners[0].height) {
        corner further = moved(s, centre, 1 + 2 / many);
        *worst = further.height < there.height ? further : there;
    } else if (there.height < s->corners[n - 1].height) {
        *worst = there;
    } else {
        double by = 0.75 - 0.5 / many;
        bool outside = there.height < worst->height;
        corner near = moved(s, centre, outside ? by : -by);
        if (near.height < (outside ? there.height : worst->height))
            *worst = near;
        else
            shrink(s, 1 - 1 / many);
    }
    sort_corners(s);
}

double hop__simplex(hop__height_fn *f, const void *ctx, double *z, int dims, double step, int evaluations)
{
    simplex s = {.f = f, .ctx = ctx, .dims = dims, .left = evaluations};
    for (int i = 0; i <= dims; i++) {
        memcpy(s.corners[i].z, z, sizeof(double) * (size_t)dims);
        if (i) s.corners[i].z[i - 1] += step;
        s.corners[i].height = height_of(&s, s.corners[i].z);
    }
    sort_corners(&s);
    while (s.left > 0 && s.corners[dims].height - s.corners[0].height > 1e-13 * fabs(s.corners[0].height))
        step_once(&s);
    memcpy(z, s.corners[0].z, sizeof(double) * (size_t)dims);
    return s.corners[0].height;
}
