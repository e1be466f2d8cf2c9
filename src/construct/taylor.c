/* Layer 0 as Based: attention whose weights are 1 + s + s²/2 instead of e^s. They are never 0, so every token
 * leaves its trace in the state, and what has to be shown is that z_0's outweighs all the others together. */
#include "analysis.h"

/* One row of W_k x over tokens at positions from .. to-1 and all values. */
static ival key_box(const hop__analysis *a, int64_t row, int64_t from, int64_t to, ival box)
{
    const hop__sparse *w = &a->w.k;
    for (int64_t p = from; p < to; p++) {
        ival sum = {0, 0};
        for (int64_t n = w->start[row]; n < w->start[row + 1]; n++) {
            ival x = a->token_hull[w->col[n]];
            if (a->position_table) x = ival_add(x, ival_point(a->position_table[p * a->d + w->col[n]]));
            sum = ival_add(sum, ival_scale(x, w->val[n]));
        }
        box = box.lo > box.hi ? sum : ival_hull(box, sum);
    }
    return box;
}

/* 1 + s + s²/2 falls up to s = -1 and rises from there. */
static ival weight(ival s)
{
    double lo = 1 + s.lo + 0.5 * s.lo * s.lo, hi = 1 + s.hi + 0.5 * s.hi * s.hi;
    ival w = {lo < hi ? lo : hi, lo < hi ? hi : lo};
    if (s.lo < -1 && s.hi > -1) w.lo = 0.5;
    /* Features are products of rounded numbers, each sum a dot product of three kinds of them. */
    double mag = 1 + ival_mag(s) + ival_mag(s) * ival_mag(s);
    return ival_widen(w, 64 * HOP_UNIT_ROUNDOFF * mag);
}

hop_status hop__bound_taylor(hop__analysis *a, hop_margin *margin, hop_error *err)
{
    hop_mixer_config c = hop_model_mixer_config(a->model, 0);
    double scale = (float)(c.scale != 0 ? c.scale : 1.0 / sqrt((double)c.head_dim));
    ival right = {0, 0}, wrong = {0, 0};
    int64_t z0 = a->task->start[0];
    /* One head with one number: no sum can cancel, and features are as accurate as s itself. */
    if (c.heads != 1 || c.head_dim != 1 || !(c.scale >= 0 && c.scale <= 16))
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the analysis covers based with one head of one number");
    double all_q = hop__sparse_mag(&a->w.q, 0, a->any), all_k = hop__sparse_mag(&a->w.k, 0, a->any);
    double all_v = 0, reach = 1 + scale * all_q * all_k; /* reach: of any token's s */
    for (int64_t r = 0; r < a->w.v.rows; r++) all_v = fmax(all_v, hop__sparse_mag(&a->w.v, r, a->any));
    /* Squares of queries and of keys, and these times values, must be numbers of float32 for themselves. */
    if (!(all_q < 0x1p30 && all_k < 0x1p30 && all_v < 0x1p30))
        return hop_fail(err, HOP_EDOMAIN,
                        "layer 0: the analysis covers based with queries, keys, values below 2^30");
    hop__rounding(a, 1, reach * reach * (1 + all_v) * (double)a->tokens * 4);
    for (int64_t r = 0; r < a->w.q.rows; r++) {
        ival q = hop__sparse_box(&a->w.q, r, a->last);
        q = ival_widen(q, hop__rounding(a, a->d, hop__sparse_mag(&a->w.q, r, a->last)));
        double err_k = hop__rounding(a, a->d, hop__sparse_mag(&a->w.k, r, a->any));
        ival none = {1, -1}, k = key_box(a, r, z0, z0 + 1, none);
        ival other = key_box(a, r, z0 + 1, a->tokens, key_box(a, r, 0, z0, none));
        right = ival_add(right, ival_scale(ival_mul(q, ival_widen(k, err_k)), scale));
        wrong = ival_add(wrong, ival_scale(ival_mul(q, ival_widen(other, err_k)), scale));
    }
    double mag = ival_mag(right) + ival_mag(wrong);
    if (!(mag * mag * (double)a->tokens < HOP__LARGEST)) a->overflow = true;
    ival mine = weight(ival_widen(right, 16 * HOP_UNIT_ROUNDOFF * mag)),
         theirs = weight(ival_widen(wrong, 16 * HOP_UNIT_ROUNDOFF * mag));
    *margin = (hop_margin){.layer = 0, .player = 0, .addresses = 1, .score_gap = right.lo - wrong.hi};
    /* The quotient's 1e-6 only makes the total larger. Sums of n terms are as attention's. */
    margin->wrong_mass =
        ((double)(a->tokens - 1) * theirs.hi + 1e-6) / mine.lo * (1 + 4 * HOP_ATTN_ERROR(a->tokens));
    if (!(mine.lo > 0)) margin->wrong_mass = INFINITY;
    return HOP_OK;
}
