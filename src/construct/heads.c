/* A look-up by one head of a full-attention layer as real models have it: some of its numbers are rotated by
 * position, queries and keys may be normalised, keys and values may come from a latent vector, the output may
 * be gated.
 *
 * The head's coordinates: one for "the player that this layer asks for", one for each bit of the address.
 * They are taken from those that RoPE does not turn; where these do not suffice, from the pairs that turn
 * least over the whole sequence, one number of each, the other one being 0. A pair that turns by phi keeps
 * cos phi of its product, so that the right token's lead shrinks: from 2 to `lead` units of score, and beta
 * grows by 2/lead. */
#include "shaped.h"

#include <math.h>

#define LEAST_LEAD 0.25   /* below this, scores would have to be large for nothing */
#define CONSTANT   1024.0 /* beside some twenty numbers of size 1: what makes the length of a row known */
#define MOST_SLOTS 256

typedef struct head {
    hop_model *m;
    const hop__stream *s;
    int64_t layer;
    int e;
    hop_mixer_config c;
    int64_t slot[MOST_SLOTS]; /* coordinates: the player's, then those of the address */
    int64_t spare;            /* where a norm's constant goes; -1: nowhere */
    int64_t latent;           /* numbers of the latent vector; 0: there is none */
    double beta;
} head;

static const hop_weight *part(const head *h, const char *name)
{
    return hop_model_layer_weight(h->m, h->layer, name);
}

static int64_t option(const head *h, hop_option o)
{
    return h->c.option[o] > 0 ? h->c.option[o] : 0;
}

static int bits_of(const head *h)
{
    return h->s->f.code.offset[h->e];
}

/* ---- coordinates ---------------------------------------------------------------------------------- */

/* Numbers of a head that are rotated: the first ones, in pairs. */
static int64_t rotary(const head *h)
{
    int64_t some = option(h, HOP_OPTION_rope_dim);
    return h->c.rope_theta > 0 ? (some ? some : h->c.head_dim) / 2 * 2 : 0;
}

/* What is left of a unit of score in coordinate i, at the farthest. */
static double kept(const head *h, int64_t i, int64_t tokens)
{
    int64_t all = option(h, HOP_OPTION_rope_dim) ? option(h, HOP_OPTION_rope_dim) : h->c.head_dim;
    if (i >= rotary(h)) return 1;
    double angle = (double)(tokens - 1) * pow(h->c.rope_theta, -2.0 * (double)i / (double)all);
    return angle < 1.5 ? cos(angle) : -1;
}

/* The right token's lead in units of score: over a token of another player, and over one whose address
 * differs in a bit. Both may stand nearer, where nothing is lost. */
static double lead_of(const head *h, int64_t tokens)
{
    double player = kept(h, h->slot[0], tokens), lost = 0, least = 1;
    for (int i = 1; i <= bits_of(h); i++) {
        double k = kept(h, h->slot[i], tokens);
        lost += 1 - k, least = fmin(least, k);
    }
    return fmin(2 * player - lost, 2 * least - 2 * (1 - player) - lost);
}

static hop_status choose_slots(head *h, int64_t tokens, hop_error *err)
{
    int64_t still = rotary(h), pair = still / 2 - 1, free = still, dim = h->c.head_dim;
    int need = 1 + bits_of(h), norms = option(h, HOP_OPTION_qk_norm) > 0;
    if (need > MOST_SLOTS || (dim - still) + still / 2 < need + norms)
        return hop_fail(err, HOP_EDOMAIN, "layer %lld: a look-up needs %d numbers of a head; %lld are there",
                        (long long)h->layer, need + norms, (long long)((dim - still) + still / 2));
    h->spare = !norms ? -1 : still > 0 ? 0 : free++; /* what turns fastest serves nobody else */
    for (int i = 0; i < need; i++) h->slot[i] = free < dim ? free++ : pair--;
    double lead = lead_of(h, tokens);
    if (lead < LEAST_LEAD)
        return hop_fail(
            err, HOP_EDOMAIN,
            "layer %lld: RoPE turns too much: %lld numbers of a head stand still, a look-up needs %d, and "
            "the slowest pairs turn by up to %.3g over %lld tokens",
            (long long)h->layer, (long long)(dim - still), need,
            (double)(tokens - 1) * pow(h->c.rope_theta, -2.0 * (double)(pair + 1) / (double)still),
            (long long)tokens);
    h->beta = hop__fields_beta(tokens) * 2 / lead;
    return HOP_OK;
}

/* ---- weights -------------------------------------------------------------------------------------- */

/* Behind a norm over `dim` numbers with the constant among them, `times` is what is left of 1. */
static void fill_norm(const hop_weight *w, int64_t dim, double eps, double times)
{
    double root = sqrt(CONSTANT * CONSTANT / (double)dim + eps);
    for (int64_t i = 0; i < w->shape[0]; i++) w->data[i] = (float)(root * times);
}

static void fill_query(const head *h, double times)
{
    const hop__fields *f = &h->s->f;
    const hop_weight *q = part(h, "mixer.q_proj.weight");
    int e = h->e;
    *hop__cell(q, h->slot[0], hop__fields_who(f, -1)) = (float)(2 * times); /* only the last token asks */
    for (int g = 0; g < e; g++) {
        bool from_w = g > 0 && g == e - 1;
        int source = from_w ? hop__fields_digit(f, g) : h->s->reg[e - 1] + f->code.offset[g];
        for (int i = 0; i < f->code.width[g]; i++)
            *hop__cell(q, h->slot[1 + f->code.offset[g] + i], source + i) = (float)times;
    }
    if (h->spare >= 0) *hop__cell(q, h->spare, h->s->one) = (float)CONSTANT;
}

/* Row `row` of keys or values is column `from` of the stream, by way of the latent vector if there is one:
 * the next of its numbers, which *used counts. */
static void fetch(const head *h, const char *name, int64_t row, int64_t from, float times, int64_t *used)
{
    const hop_weight *to = part(h, name);
    if (!h->latent) {
        *hop__cell(to, row, from) = times;
        return;
    }
    *hop__cell(part(h, "mixer.kv_a_proj.weight"), *used, from) = 1;
    *hop__cell(to, row, (*used)++) = times;
}

static void fill_keys_and_values(const head *h, int value_bits)
{
    const hop__fields *f = &h->s->f;
    int64_t used = 0;
    fetch(h, "mixer.k_proj.weight", h->slot[0], hop__fields_who(f, h->e), 1, &used);
    for (int i = 0; i < bits_of(h); i++) fetch(h, "mixer.k_proj.weight", h->slot[1 + i], f->at + i, 1, &used);
    for (int i = 0; i < value_bits; i++) fetch(h, "mixer.v_proj.weight", i, f->val + i, 1, &used);
    if (h->spare >= 0) fetch(h, "mixer.k_proj.weight", h->spare, h->s->one, (float)CONSTANT, &used);
    if (!h->latent) return;
    *hop__cell(part(h, "mixer.kv_a_proj.weight"), used, h->s->one) = (float)CONSTANT;
    fill_norm(part(h, "mixer.kv_a_norm.weight"), h->latent, 1e-5, 1);
}

static hop_status check_room(const head *h, int value_bits, hop_error *err)
{
    int64_t values = option(h, HOP_OPTION_value_dim) ? option(h, HOP_OPTION_value_dim) : h->c.head_dim;
    int64_t latent = 3 + bits_of(h) + value_bits;
    if (values < value_bits)
        return hop_fail(err, HOP_EDOMAIN, "layer %lld: a value needs %d numbers of a head, which has %lld",
                        (long long)h->layer, value_bits, (long long)values);
    if (h->latent && h->latent < latent)
        return hop_fail(err, HOP_EDOMAIN, "layer %lld: a latent vector needs %lld numbers, and has %lld",
                        (long long)h->layer, (long long)latent, (long long)h->latent);
    return HOP_OK;
}

/* Coordinates for look-up e. */
static hop_status make_room(head *h, int64_t tokens, hop_error *err)
{
    h->latent = option(h, HOP_OPTION_latent);
    hop_status status = choose_slots(h, tokens, err);
    return status == HOP_OK ? check_room(h, hop__stream_bits(h->s, h->e), err) : status;
}

hop_status hop__stream_room(const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                            int64_t layer, int e, hop_error *err)
{
    head h = {.s = s, .layer = layer, .e = e};
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    hop_status status = hop_config_mixer(c, ops, layer, &h.c, err);
    return status == HOP_OK ? make_room(&h, task->length, err) : status;
}

hop_status hop__stream_look_up(hop_model *m, const hop__stream *s, const hop_funccomp *task, int64_t layer,
                               int e, hop_error *err)
{
    const hop__fields *f = &s->f;
    head h = {.m = m, .s = s, .layer = layer, .e = e, .c = hop_model_mixer_config(m, layer)};
    int value_bits = hop__stream_bits(s, e), to = e == f->hops ? f->reg : s->reg[e];
    hop_status status = make_room(&h, task->length, err);
    if (status != HOP_OK) return status;
    double scale = h.c.scale != 0 ? h.c.scale : 1 / sqrt((double)h.c.head_dim), times = h.beta / scale;
    fill_query(&h, h.spare >= 0 ? 1 : times);
    fill_keys_and_values(&h, value_bits);
    if (h.spare >= 0) {
        fill_norm(part(&h, "mixer.q_norm.weight"), h.c.head_dim, 1e-5, times);
        fill_norm(part(&h, "mixer.k_norm.weight"), h.c.head_dim, 1e-5, 1);
        part(&h, "mixer.q_norm.weight")->data[h.spare] = part(&h, "mixer.k_norm.weight")->data[h.spare] = 0;
    }
    float gain =
        (e == f->hops ? s->gain : 1) * (option(&h, HOP_OPTION_gate) ? 2 : 1); /* a gate at 0 is 1/2 */
    for (int i = 0; i < value_bits; i++) *hop__cell(part(&h, "mixer.o_proj.weight"), to + i, i) = gain;
    return HOP_OK;
}
