/* By how much one box leads all others against a query that is a box itself.
 *
 * The lead is not centre times row with the radius as slack, as in rows.h: the radius would count in all
 * coordinates, while in those where the right key and the wrong one agree any query will do. It is the sum
 * over the coordinates of the least value of q·(right - wrong), for q, right and wrong anywhere in their
 * intervals. Rows are grouped into blocks of neighbours as in rows.h. */
#include "encoder_proof.h"

#define BLOCK 64

hop_status hop__boxes_new(hop__boxes *r, int64_t count, int64_t width, hop_error *err)
{
    *r = (hop__boxes){.count = count, .width = width, .blocks = (count + BLOCK - 1) / BLOCK};
    r->row = hop_alloc(sizeof(ival) * (size_t)(count * width));
    r->block = hop_alloc(sizeof(ival) * (size_t)(r->blocks * width));
    r->mag = hop_alloc(sizeof(double) * (size_t)width);
    return r->row && r->block && r->mag
               ? HOP_OK
               : hop_fail(err, HOP_ENOMEM, "cannot hold %lld rows", (long long)count);
}

void hop__boxes_free(hop__boxes *r)
{
    hop_free(r->row);
    hop_free(r->block);
    hop_free(r->mag);
    *r = (hop__boxes){0};
}

void hop__boxes_ready(hop__boxes *r)
{
    for (int64_t i = 0; i < r->count; i++)
        for (int64_t k = 0; k < r->width; k++) {
            ival x = r->row[i * r->width + k], *b = &r->block[i / BLOCK * r->width + k];
            *b = i % BLOCK ? ival_hull(*b, x) : x;
            r->mag[k] = ival_most(r->mag[k], ival_mag(x));
        }
}

typedef struct contest {
    const hop__contest *of;
    const ival *right;
    double least; /* smallest lead seen, unscaled */
    double mass;
} contest;

/* Least q·(right - other). */
static double lead_over(const contest *c, const ival *other)
{
    double sum = 0;
    for (int i = 0; i < c->of->n; i++) {
        int k = c->of->index[i];
        ival q = c->of->q[k];
        double lo = c->right[k].lo - other[k].hi, hi = c->right[k].hi - other[k].lo;
        double a = q.lo * (q.lo >= 0 ? lo : hi), b = q.hi * (q.hi >= 0 ? lo : hi);
        sum += ival_least(a, b); /* linear in each factor: the least value is at a corner */
    }
    return sum;
}

static double weight(const contest *c, double lead)
{
    return exp(c->of->slack - c->of->scale * lead) * (1 + 1e-12); /* libm's exp errs by far less */
}

static void look_at_block(contest *c, int64_t b, int64_t right)
{
    const hop__boxes *r = c->of->boxes;
    int64_t end = (b + 1) * BLOCK < r->count ? (b + 1) * BLOCK : r->count;
    for (int64_t j = b * BLOCK; j < end; j++) {
        if (j == right) continue;
        double lead = lead_over(c, r->row + j * r->width);
        c->least = ival_least(c->least, lead);
        c->mass += weight(c, lead);
    }
}

double hop__contest_lead(const hop__contest *of, int64_t right, double *mass)
{
    const hop__boxes *r = of->boxes;
    contest c = {.of = of, .right = r->row + right * r->width, .least = INFINITY, .mass = 0};
    int64_t home = right / BLOCK;
    look_at_block(&c, home, right);
    for (int64_t b = 0; b < r->blocks; b++) {
        if (b == home) continue;
        double lead = lead_over(&c, r->block + b * r->width);
        if (lead >= c.least)
            c.mass += BLOCK * weight(&c, lead);
        else
            look_at_block(&c, b, right);
    }
    *mass = c.mass * (1 + 1e-9);
    return of->scale * c.least - of->slack;
}
