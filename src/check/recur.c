/* The recurrences over matrices, one token after the other. */
#include "room.h"

/* One head, one token: S [K, V] in place, o [V]; seen [V], and behind it [K]. */
static void head(hop__pass *p, const hop__recurrence *r, double *S, double *seen, double *o, int64_t t,
                 int64_t h)
{
    const int64_t K = r->K, V = r->V, key = h / (r->heads / r->key_heads), at = (t * r->key_heads + key) * K;
    const double *q = r->q + at;
    if (r->u) { /* o = scale qᵀ(S + diag(u) k vᵀ) */
        double *qu = seen + V;
        for (int64_t i = 0; i < K; i++) qu[i] = hop__keep(p, q[i] * r->u[h * K + i]);
        double bonus = hop__dot(p, qu, 1, r->k + at, 1, K, 0);
        for (int64_t e = 0; e < V; e++)
            o[e] = hop__keep(p, hop__dot(p, q, 1, S + e, V, K, 0) +
                                    hop__keep(p, bonus * r->v[(t * r->heads + h) * V + e]));
    }
    for (int64_t e = 0; r->a && e < V; e++) seen[e] = hop__dot(p, r->a + at, 1, S + e, V, K, 0);
    for (int64_t i = 0; r->gates && i < K * V; i++)
        if (S[i] != 0)
            S[i] = hop__keep(
                p, S[i] * hop__keep(p, exp(r->g[(t * r->heads + h) * r->gates + (i / V) % r->gates])));
    for (int64_t s = 0; s < r->steps; s++) {
        const double *k = r->k + ((t * r->steps + s) * r->key_heads + key) * K;
        const double *v = r->v + ((t * r->steps + s) * r->heads + h) * V;
        for (int64_t e = 0; e < V; e++) {
            double x = v[e];
            if (r->beta) {
                double off = hop__keep(p, v[e] - hop__dot(p, k, 1, S + e, V, K, 0));
                x = hop__keep(p, r->beta[(t * r->steps + s) * r->heads + h] * off);
            }
            for (int64_t i = 0; i < K; i++) {
                double *cell = S + i * V + e, more = hop__keep(p, k[i] * x);
                if (r->b) more = hop__keep(p, more + hop__keep(p, r->b[at + i] * seen[e]));
                *cell = hop__keep(p, *cell + more);
            }
        }
    }
    for (int64_t e = 0; !r->u && e < V; e++) o[e] = hop__dot(p, q, 1, S + e, V, K, 0);
    for (int64_t e = 0; e < V; e++) o[e] = hop__keep(p, r->scale * o[e]);
}

double *hop__recur(hop__pass *p, const hop__recurrence *r)
{
    const int64_t T = p->tokens, size = r->K * r->V;
    double *o = hop__rows(p, T * r->heads * r->V), *S = hop__rows(p, r->heads * size),
           *seen = hop__rows(p, r->V + r->K);
    if (!o || !S || !seen) return NULL;
    for (int64_t t = 0; t < T; t++) {
        for (int64_t h = 0; h < r->heads; h++)
            head(p, r, S + h * size, seen, o + (t * r->heads + h) * r->V, t, h);
        hop__state_after(p, S, r->heads * size, t);
    }
    return hop__done(p, o, T * r->heads * r->V);
}
