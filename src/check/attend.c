/* Softmax attention: full, over a window, sparse; whole, or cut into segments that exchange partial
 * softmaxes. */
#include "room.h"

typedef struct heads {
    hop__pass *p;
    int64_t dim, wide;    /* numbers of a key, of a value */
    int64_t group, count; /* of keys and values: which one the head reads, and how many there are */
    double scale;
    const double *k, *v, *far_k, *far_v; /* far: as a later segment holds them */
    double *weights;                     /* [tokens] */
    bool *seen;                          /* [tokens] */
    double *scores;                      /* of blocks */
    double *work, *sizes;                /* [dim + 2 (wide + 2)], [wide] */
    uint64_t *marks;                     /* [wide] */
    int64_t terms;                       /* of a sum */
} heads;

/* ---- which keys a query sees --------------------------------------------------------------------- */

/* The key and the value of token j, as the segment that begins at `start` holds them. */
static const double *key_at(const heads *h, int64_t j, int64_t start)
{
    return (j < start ? h->far_k : h->k) + (j * h->count + h->group) * h->dim;
}

static const double *value_at(const heads *h, int64_t j, int64_t start)
{
    return (j < start ? h->far_v : h->v) + (j * h->count + h->group) * h->wide;
}

/* What the query thinks of block b: q·summary, with the scale's sign. */
static double liking(const heads *h, const double *q, int64_t head, int64_t b, int64_t start)
{
    const hop__pass *p = h->p;
    const int64_t *o = p->layer->option, B = o[HOP__block], bits = p->arith->significant_bits;
    double *summary = h->work;
    for (int64_t e = 0; e < h->dim; e++) {
        double sum = 0;
        for (int64_t j = 0; !o[HOP__summary] && j < B; j++)
            sum = hop__keep(p, sum + key_at(h, b * B + j, start)[e]);
        if (o[HOP__summary])
            summary[e] = key_at(h, b * B + head % B, start)[e];
        else
            summary[e] = hop__to_significant(hop__keep(p, sum / (double)B), bits);
    }
    double s = hop__dot(p, q, 1, summary, 1, h->dim, 0);
    return hop__to_significant(h->scale < 0 ? -s : s, bits);
}

/* The k best of the earlier blocks and the own one; of equals the earlier. */
static void choose_blocks(heads *h, const double *q, int64_t head, int64_t t, int64_t start)
{
    const int64_t B = h->p->layer->option[HOP__block], blocks = t / B;
    for (int64_t j = 0; j <= t; j++) h->seen[j] = j / B == blocks;
    for (int64_t b = 0; b < blocks; b++) h->scores[b] = liking(h, q, head, b, start);
    for (int64_t n = 0; n < h->p->layer->option[HOP__topk] && n < blocks; n++) {
        int64_t best = -1;
        for (int64_t b = 0; b < blocks; b++)
            if (!h->seen[b * B] && (best < 0 || h->scores[b] > h->scores[best])) best = b;
        for (int64_t j = best * B; j < (best + 1) * B; j++) h->seen[j] = true;
    }
}

static void choose_keys(heads *h, const double *q, int64_t head, int64_t t, int64_t start)
{
    const hop__pass *p = h->p;
    const char *name = p->layer->mixer->name;
    if (strcmp(name, "sparse") == 0) {
        choose_blocks(h, q, head, t, start);
        return;
    }
    bool window = strcmp(name, "window") == 0;
    for (int64_t j = 0; j < p->tokens; j++)
        h->seen[j] = (j <= t || p->net->bidirectional) && !(window && j <= t - p->layer->option[HOP__window]);
}

/* ---- sums of weighted values --------------------------------------------------------------------- */

static void sums_begin(heads *h, double *o, int64_t n)
{
    for (int64_t e = 0; e < n; e++) o[e] = h->sizes[e] = 0, h->marks[e] = 0;
    h->terms = 0;
}

static void sums_add(heads *h, double *o, double weight, const double *v)
{
    for (int64_t e = 0; e < h->wide; e++) {
        double x = weight * v[e];
        o[e] += x, h->sizes[e] += fabs(x), h->marks[e] = hop__mark(h->marks[e], x);
    }
    h->terms++;
}

static void sums_end(const heads *h, double *o, int64_t n)
{
    for (int64_t e = 0; e < n; e++) o[e] = hop__keep_sum(h->p, o[e], h->sizes[e], h->terms, h->marks[e]);
}

/* ---- one query ----------------------------------------------------------------------------------- */

/* e^x of a difference, which is rounded first. */
static double power(const hop__pass *p, double x)
{
    return hop__keep(p, exp(hop__keep(p, x)));
}

/* softmax(scale q·k) v over the keys that are seen. */
static void attend(heads *h, const double *q, int64_t start, int64_t end, double *o)
{
    const hop__pass *p = h->p;
    const int64_t bits = p->arith->significant_bits;
    const double one = 1;
    double top = -INFINITY, *w = h->weights;
    for (int64_t j = 0; j < end; j++) {
        if (!h->seen[j]) continue;
        double s = hop__dot(p, q, 1, key_at(h, j, start), 1, h->dim, 0);
        w[j] = hop__to_significant(hop__keep(p, h->scale * s), bits);
        if (!(w[j] <= top)) top = w[j];
    }
    for (int64_t j = 0; j < end; j++) w[j] = h->seen[j] ? hop__to_significant(power(p, w[j] - top), bits) : 0;
    double sum = hop__dot(p, w, 1, &one, 0, end, 0);
    sums_begin(h, o, h->wide);
    for (int64_t j = 0; j < end; j++) {
        double share = w[j] == 0 ? 0 : hop__to_significant(hop__keep(p, w[j] / sum), bits);
        if (share != 0) sums_add(h, o, share, value_at(h, j, start));
    }
    sums_end(h, o, h->wide);
}

/* (largest score, sum of weights, weighted values) of q over the keys from .. to - 1. */
static void partial(heads *h, const double *q, int64_t from, int64_t to, double *out)
{
    const hop__pass *p = h->p;
    const double one = 1;
    out[0] = -INFINITY;
    for (int64_t j = from; j < to; j++) {
        h->weights[j] = hop__keep(p, h->scale * hop__dot(p, q, 1, key_at(h, j, 0), 1, h->dim, 0));
        if (!(h->weights[j] <= out[0])) out[0] = h->weights[j];
    }
    sums_begin(h, out + 2, h->wide);
    for (int64_t j = from; j < to; j++) {
        double w = h->weights[j] = power(p, h->weights[j] - out[0]);
        if (w != 0) sums_add(h, out + 2, w, value_at(h, j, 0));
    }
    out[1] = hop__dot(p, h->weights + from, 1, &one, 0, to - from, 0);
    sums_end(h, out + 2, h->wide);
}

/* As a message has it: the largest score is rounded first, the sums are taken relative to that. */
static void round_partial(const heads *h, double *x, int64_t bits)
{
    const hop__pass *p = h->p;
    double top = x[0], by;
    x[0] = hop__to_float_bits(top, bits);
    by = power(p, fmax(-60, fmin(60, top - x[0])));
    for (int64_t e = 1; bits < 32 && e < h->wide + 2; e++)
        x[e] = hop__to_float_bits(hop__keep(p, x[e] * by), bits);
}

static void fold(const heads *h, double *x, const double *y)
{
    const hop__pass *p = h->p;
    double top = fmax(x[0], y[0]), a = power(p, x[0] - top), b = power(p, y[0] - top);
    x[0] = top;
    for (int64_t e = 1; e < h->wide + 2; e++)
        x[e] = hop__keep(p, hop__keep(p, x[e] * a) + hop__keep(p, y[e] * b));
}

/* A query of a cut sequence: its own segment, then every earlier one's reply to the rounded query, in order.
 */
static void attend_cut(heads *h, const double *q, int64_t t, double *o)
{
    const hop_rounding *a = h->p->arith;
    double *mine = h->work, *reply = mine + h->wide + 2, *sent = reply + h->wide + 2;
    int64_t start = hop__segment_start(h->p, t);
    for (int64_t e = 0; e < h->dim; e++) sent[e] = hop__to_float_bits(q[e], a->message_bits);
    partial(h, q, start, t + 1, mine);
    for (int64_t from = 0, to; from < start; from = to) {
        to = start;
        for (int64_t i = 0; i < a->cut_count; i++)
            if (a->cuts[i] > from && a->cuts[i] < to) to = a->cuts[i];
        partial(h, sent, from, to, reply);
        round_partial(h, reply, a->message_bits);
        fold(h, mine, reply);
    }
    for (int64_t e = 0; e < h->wide; e++) o[e] = hop__keep(h->p, mine[2 + e] / mine[1]);
}

/* ---- the layer ----------------------------------------------------------------------------------- */

static double *far_rows(hop__pass *p, const double *x, int64_t n)
{
    double *y = hop__rows(p, n);
    for (int64_t i = 0; y && i < n; i++) y[i] = hop__to_float_bits(x[i], p->arith->message_bits);
    return y;
}

/* Queries or keys: their norm, a weight for all heads, then their rotation. */
static double *rotated(hop__pass *p, double *x, int64_t groups, const char *norm)
{
    const hop__truth_layer *l = p->layer;
    int64_t d = l->head_dim, turns = l->option[HOP__rope_dim] ? l->option[HOP__rope_dim] : d;
    if (l->option[HOP__qk_norm]) x = hop__rms_groups(p, x, groups, d, norm);
    return l->theta > 0 ? hop__rotate(p, x, groups, d, turns, l->theta) : x;
}

/* Keys and values are made of the layer's input, or of a few numbers of it behind a norm. */
static void keys_and_values(hop__pass *p, const double *x, double **k, double **v)
{
    const hop__truth_layer *l = p->layer;
    int64_t latent = l->option[HOP__latent], in = latent ? latent : p->net->d;
    int64_t kw = l->kv_heads * l->head_dim, vw = l->kv_heads * l->option[HOP__value_dim];
    if (latent)
        x = hop__rms_groups(p, hop__project(p, x, "kv_a_proj.weight", latent), 1, latent, "kv_a_norm.weight");
    const double *wk = hop__mixer_tensor(p, "k_proj.weight", kw, in),
                 *wv = hop__mixer_tensor(p, "v_proj.weight", vw, in);
    *k = rotated(p, hop__affine(p, x, p->tokens, in, wk, in, NULL, kw), l->kv_heads, "k_norm.weight");
    *v = hop__affine(p, x, p->tokens, in, wv, in, NULL, vw);
}

/* Every head's sums of values, [tokens, heads, value_dim]. */
static double *attended(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    const int64_t T = p->tokens, H = l->heads, G = l->kv_heads, d = l->head_dim,
                  wide = l->option[HOP__value_dim];
    bool full = strcmp(l->mixer->name, "full") == 0, cut = p->arith->message_bits != 0;
    double *q = rotated(p, hop__project(p, x, "q_proj.weight", H * d), H, "q_norm.weight"), *k, *v;
    keys_and_values(p, x, &k, &v);
    double *o = hop__rows(p, T * H * wide);
    heads h = {.p = p, .dim = d, .wide = wide, .count = G, .k = k, .v = v, .far_k = k, .far_v = v};
    if (cut && !full) h.far_k = far_rows(p, k, T * G * d), h.far_v = far_rows(p, v, T * G * wide);
    h.scale = hop__layer_scale(p, 1 / sqrt((double)d));
    h.weights = hop__rows(p, T), h.scores = hop__rows(p, T), h.seen = (bool *)hop__rows(p, T);
    h.work = hop__rows(p, d + 2 * (wide + 2)), h.sizes = hop__rows(p, wide);
    h.marks = (uint64_t *)hop__rows(p, wide);
    if (p->failed != HOP_OK) return NULL;
    for (int64_t t = p->only < 0 ? 0 : p->only; t < (p->only < 0 ? T : p->only + 1); t++)
        for (int64_t head = 0; head < H; head++) {
            const double *row = q + (t * H + head) * d;
            double *to = o + (t * H + head) * wide;
            h.group = head / (H / G);
            if (cut && full) {
                attend_cut(&h, row, t, to);
                continue;
            }
            int64_t start = hop__segment_start(p, t);
            choose_keys(&h, row, head, t, start);
            attend(&h, row, start, p->net->bidirectional ? T : t + 1, to);
        }
    return hop__done(p, o, T * H * wide);
}

const double *hop__mix_attention(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    const int64_t T = p->tokens, width = l->heads * l->option[HOP__value_dim];
    double *o = attended(p, x);
    if (l->option[HOP__gate]) {
        double *z = hop__apply(p, hop__project(p, x, "g_proj.weight", width), T * width, hop__sigmoid);
        o = hop__multiply(p, o, z, T * width);
    }
    const double *w = hop__mixer_tensor(p, "o_proj.weight", p->net->d, width);
    return hop__affine(p, o, T, width, w, width, NULL, p->net->d);
}
