/* Queries, keys and values of all tokens, and what a head makes of them: see two_sum.h. */
#include "two_sum.h"

#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------- */

/* Row `row` of a projection of every token, as computed: into column c of `to` the middle, into *rad how far
 * it may be off. x: room for d intervals. */
static void project(const hop__heads *h, const hop__sparse *w, int64_t row, hop__rows *to, int64_t c,
                    double *rad, ival *x)
{
    *rad = 0;
    for (int64_t y = 0; y < h->mod; y++) {
        for (int64_t n = w->start[row]; n < w->start[row + 1]; n++)
            x[w->col[n]] = ival_point(h->tokens[y * h->d + w->col[n]]);
        ival z = hop__sparse_box(w, row, x);
        to->row[y * h->dim + c] = ival_mid(z);
        *rad =
            ival_most(*rad, ival_up(ival_rad(z) + hop__rounding(h->range, h->d, hop__sparse_mag(w, row, x))));
    }
}

static void fill_tables(hop__heads *h, ival *x)
{
    for (int64_t g = 0; g < h->kv; g++) {
        for (int64_t c = 0; c < h->dim; c++) {
            project(h, &h->k, g * h->dim + c, &h->keys[g], c, &h->key_rad[g * h->dim + c], x);
            project(h, &h->v, g * h->dim + c, &h->values[g], c, &h->value_rad[g * h->dim + c], x);
        }
        hop__rows_ready(&h->keys[g]);
        hop__rows_ready(&h->values[g]);
    }
}

/* The kernels sum weights times values and divide: an error relative to the largest value, and where products
 * fall below the normal numbers an absolute one. The sum before the division must not overflow. */
static void fill_hulls(hop__heads *h)
{
    for (int64_t i = 0; i < h->kv * h->dim; i++) {
        const hop__rows *v = &h->values[i / h->dim];
        ival hull = ival_point(v->row[i % h->dim]);
        for (int64_t y = 1; y < h->mod; y++)
            hull = ival_hull(hull, ival_point(v->row[y * h->dim + i % h->dim]));
        hull = ival_widen(hull, h->value_rad[i]);
        double mag = ival_mag(hull);
        h->value_err[i] = mag == 0 ? 0 : 3 * HOP_ATTN_ERROR(h->seen) * mag + (double)h->seen * 0x1p-140;
        hop__rounding(h->range, 1, mag * (double)h->seen);
        h->hull[i] = ival_widen(hull, ival_up(h->value_err[i]));
        h->key_mag[i] = ival_up(h->keys[i / h->dim].mag[i % h->dim] + h->key_rad[i]);
    }
}

static void fill_twins(hop__heads *h, const float *q)
{
    int64_t size = h->dim * h->d, group = h->count / h->kv;
    for (int64_t i = 0; i < h->count; i++) {
        int64_t k = 0;
        while (k < i && (k / group != i / group ||
                         memcmp(q + k * size, q + i * size, sizeof(float) * (size_t)size) != 0))
            k++;
        h->twin[i] = k;
    }
}

static hop_status allocate(hop__heads *h, hop_error *err)
{
    size_t width = (size_t)(h->kv * h->dim);
    h->twin = hop_alloc(sizeof(int64_t) * (size_t)h->count);
    h->keys = hop_alloc(sizeof(hop__rows) * (size_t)h->kv);
    h->values = hop_alloc(sizeof(hop__rows) * (size_t)h->kv);
    h->key_rad = hop_alloc(sizeof(double) * width);
    h->key_mag = hop_alloc(sizeof(double) * width);
    h->value_rad = hop_alloc(sizeof(double) * width);
    h->value_err = hop_alloc(sizeof(double) * width);
    h->hull = hop_alloc(sizeof(ival) * width);
    bool all = h->twin && h->keys && h->values && h->key_rad && h->key_mag && h->value_rad && h->value_err &&
               h->hull;
    hop_status s = all ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t g = 0; s == HOP_OK && g < h->kv; g++) {
        s = hop__rows_new(&h->keys[g], h->mod, h->dim, err);
        if (s == HOP_OK) s = hop__rows_new(&h->values[g], h->mod, h->dim, err);
    }
    return s;
}

hop_status hop__heads_new(hop__heads *h, const hop_model *m, const hop_twosum *task, hop__analysis *range,
                          hop_error *err)
{
    hop_mixer_config c = hop_model_mixer_config(m, 0);
    const hop_weight *q = hop_model_layer_weight(m, 0, "mixer.q_proj.weight");
    *h = (hop__heads){.range = range,
                      .mod = task->mod,
                      .d = c.d_model,
                      .count = c.heads,
                      .kv = c.kv_heads,
                      .dim = c.head_dim};
    h->tokens = hop_model_weight(m, "model.embed_tokens.weight")->data;
    h->scale = (float)(c.scale != 0 ? c.scale : 1.0 / sqrt((double)c.head_dim)); /* as the mixer has it */
    h->seen = task->n;
    if (strcmp(hop_pattern_mixer(&hop_model_config(m)->pattern, 0), "sparse") == 0) {
        int64_t most =
            (c.option[HOP_OPTION_topk] + 1) * c.option[HOP_OPTION_block]; /* rows before this one see all */
        if (most < task->n) h->block = c.option[HOP_OPTION_block], h->seen = most;
    }
    hop_status s = hop__sparse_new(&h->q, q, err);
    if (s == HOP_OK) s = hop__sparse_new(&h->k, hop_model_layer_weight(m, 0, "mixer.k_proj.weight"), err);
    if (s == HOP_OK) s = hop__sparse_new(&h->v, hop_model_layer_weight(m, 0, "mixer.v_proj.weight"), err);
    if (s == HOP_OK) s = allocate(h, err);
    ival *x = hop_alloc(sizeof(ival) * (size_t)h->d);
    if (s == HOP_OK && !x) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) {
        fill_tables(h, x);
        fill_hulls(h);
        fill_twins(h, q->data);
    }
    hop_free(x);
    if (s != HOP_OK) hop__heads_free(h);
    return s;
}

void hop__heads_free(hop__heads *h)
{
    for (int64_t g = 0; g < h->kv; g++) {
        if (h->keys) hop__rows_free(&h->keys[g]);
        if (h->values) hop__rows_free(&h->values[g]);
    }
    void *const all[] = {h->twin,    h->keys,      h->values,    h->key_rad,
                         h->key_mag, h->value_rad, h->value_err, h->hull};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hop_free(all[i]);
    hop__sparse_free(&h->q);
    hop__sparse_free(&h->k);
    hop__sparse_free(&h->v);
    *h = (hop__heads){0};
}

/* ---- scores ------------------------------------------------------------------------------------- */

/* Query of a token: middle and radius. */
static void query_of(const hop__heads *h, int64_t head, int64_t token, double *q, double *rad)
{
    const float *x = h->tokens + token * h->d;
    for (int64_t r = 0; r < h->dim; r++) {
        int64_t row = head * h->dim + r;
        ival z = {0, 0};
        double mag = 0;
        for (int64_t n = h->q.start[row]; n < h->q.start[row + 1]; n++) {
            z = ival_add(z, ival_scale(ival_point(x[h->q.col[n]]), h->q.val[n]));
            mag = ival_up(mag + ival_up(fabs(h->q.val[n] * (double)x[h->q.col[n]])));
        }
        q[r] = ival_mid(z);
        rad[r] = ival_up(ival_rad(z) + hop__rounding(h->range, h->d, mag));
    }
}

/* How far a difference of two scores, unscaled, may be from the one of the middles. */
typedef struct doubt {
    double spread;  /* queries and keys are not the middles */
    double product; /* sum of |q||k|, at most: rounding is relative to it */
    double tiny;    /* sum of |q| + |k| + 1: products below the normal numbers lose absolutely */
} doubt;

static doubt doubt_of(const hop__heads *h, int64_t kv, const double *q, const double *rad)
{
    doubt d = {0};
    double factor = 1 + 2 * h->scale; /* queries may be scaled before or after the product */
    for (int64_t r = 0; r < h->dim; r++) {
        double top = ival_up(fabs(q[r]) + rad[r]), key = h->key_mag[kv * h->dim + r];
        hop__rounding(h->range, 1, top * factor);
        d.spread += 2 * (top * h->key_rad[kv * h->dim + r] + rad[r] * key);
        d.product += top * key;
        d.tiny += top + key + 1;
    }
    hop__rounding(h->range, h->dim, d.product * factor);
    return d;
}

static void match_box(const hop__heads *h, int64_t kv, int64_t right, double mass, ival *out)
{
    double wrong = mass < 1 ? mass : 1; /* a share is never more */
    for (int64_t c = 0; c < h->dim; c++) {
        int64_t i = kv * h->dim + c;
        ival own = ival_widen(ival_point(h->values[kv].row[right * h->dim + c]), h->value_rad[i]);
        ival away = ival_add(h->hull[i], ival_scale(own, -1));
        out[c] = ival_widen(ival_add(own, ival_mul((ival){0, wrong}, away)), ival_up(h->value_err[i]));
    }
}

hop__match hop__heads_match(const hop__heads *h, int64_t head, int64_t token, int64_t right, ival *out,
                            double *work, int *index)
{
    int64_t kv = head / (h->count / h->kv);
    double *q = work, *rad = work + h->dim, seen = (double)h->seen;
    query_of(h, head, token, q, rad);
    doubt d = doubt_of(h, kv, q, rad);
    double lead = hop__rows_lead(&h->keys[kv], q, right, 1, 0, index).gap;
    /* Two scores, each a dot product with its scale, the logarithm's base and the maximum's subtraction; and
     * the sums of hop__rows_lead. */
    double error = 2 * (HOP_DOT_ERROR(h->dim + 1) + 16 * HOP_UNIT_ROUNDOFF) + (double)(h->dim + 4) * 0x1p-50;
    double off = (d.spread + error * d.product) * (1 + 1e-9), tiny = d.tiny * (1 + h->scale) * 0x1p-140;
    hop__match m = {.gap = h->scale * (lead - off) - tiny, .choice = lead - off - tiny};
    m.gap = ival_down(ival_down(m.gap) - fabs(h->scale * lead) * 0x1p-50);
    m.mass = (seen - 1) * exp(-m.gap) * (1 + 1e-9) * (1 + 4 * HOP_ATTN_ERROR(seen)) + seen * 0x1p-118;
    match_box(h, kv, right, m.mass, out);
    return m;
}

/* ---- mixtures ------------------------------------------------------------------------------------ */

double hop__heads_least(const hop__heads *h, const ival *coef, int64_t right, double *work, int *index)
{
    double least = 0, slack = 0;
    for (int64_t head = 0; head < h->count; head++) {
        int64_t kv = head / (h->count / h->kv);
        double own = 0, mag = 0;
        bool any = false;
        for (int64_t c = 0; c < h->dim; c++) {
            ival a = coef[head * h->dim + c];
            int64_t i = kv * h->dim + c;
            double rad = ival_rad(a), top = ival_mag(h->hull[i]);
            work[c] = -ival_mid(a);
            any = any || a.lo != 0 || a.hi != 0;
            own -= work[c] * h->values[kv].row[right * h->dim + c];
            mag += fabs(work[c]) * top;
            slack += fabs(work[c]) * (h->value_rad[i] + h->value_err[i]) + rad * top;
        }
        if (!any) continue;
        hop__lead lead = hop__rows_lead(&h->values[kv], work, right, 1, 0, index);
        least += own + lead.gap;                                  /* gap: -own - max of -coef·value */
        slack += (double)(h->dim + h->count + 4) * 0x1p-49 * mag; /* this routine's own sums */
    }
    return ival_down(least - slack * (1 + 1e-9));
}
