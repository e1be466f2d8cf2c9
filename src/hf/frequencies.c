/* Frequencies of rotary embeddings as Hugging Face computes them, in float32: plain, and scaled in the ways that
 * configurations call linear, llama3, yarn and longrope. */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_KEY 96

typedef struct rotation {
    hop__net *w;
    const char *inside; /* the object with its keys, "rope_parameters" */
    int64_t half;       /* pairs */
    float *f;           /* [half] */
    double scale;       /* of cosines and sines */
} rotation;

static const hop_json *find(const rotation *r, const char *key)
{
    char path[LONGEST_KEY];
    snprintf(path, sizeof path, "%s.%s", r->inside, key);
    return hop__hf_find(&r->w->r, path);
}

static double real(rotation *r, const char *key, double absent)
{
    const hop_json *v = find(r, key);
    double value = !v                         ? absent
                   : v->type == HOP_JSON_INT  ? (double)v->integer
                   : v->type == HOP_JSON_REAL ? v->real
                                              : NAN;
    if (!(isfinite(value) && value > 0))
        hop__hf_fail(&r->w->r, HOP_EFORMAT, "%s.%s: not a positive number", r->inside, key);
    return value;
}

/* base^(-2e / dim); powers and quotients are rounded to float32 as there. */
static float power_of(const rotation *r, double base, int64_t e)
{
    return powf((float)base, (float)(2 * e) / (float)(2 * r->half));
}

static void plain(rotation *r, double base)
{
    for (int64_t e = 0; e < r->half; e++) r->f[e] = 1.0f / power_of(r, base, e);
}

static void llama3(rotation *r)
{
    const double factor = real(r, "factor", NAN), low = real(r, "low_freq_factor", NAN),
                 high = real(r, "high_freq_factor", NAN),
                 old = real(r, "original_max_position_embeddings", NAN);
    for (int64_t e = 0; e < r->half; e++) {
        const float f = r->f[e], wavelength = (float)(2 * 3.14159265358979323846) / f;
        const float smooth = (float)((old / wavelength - low) / (high - low));
        if (wavelength > (float)(old / low))
            r->f[e] = f / (float)factor;
        else if (!(wavelength < (float)(old / high)))
            r->f[e] = (1 - smooth) * (f / (float)factor) + smooth * f;
    }
}

/* Which pair makes so many turns in `length` tokens. */
static double pair_of(const rotation *r, double turns, double base, double length)
{
    return (double)(2 * r->half) * log(length / (turns * 2 * 3.14159265358979323846)) / (2 * log(base));
}

static double mscale(double scale, double by)
{
    return scale <= 1 ? 1 : 0.1 * by * log(scale) + 1;
}

static void yarn(rotation *r, double base, double context)
{
    const double old = real(r, "original_max_position_embeddings", NAN);
    const double factor = find(r, "factor") ? real(r, "factor", NAN) : context / old;
    const hop_json *cut = find(r, "truncate");
    double low = pair_of(r, real(r, "beta_fast", 32), base, old);
    double high = pair_of(r, real(r, "beta_slow", 1), base, old);
    if (!cut || cut->type != HOP_JSON_BOOL || cut->boolean) low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, (double)(2 * r->half - 1));
    if (low == high) high += 0.001;
    for (int64_t e = 0; e < r->half; e++) {
        const float power = power_of(r, base, e), ramp = ((float)e - (float)low) / (float)(high - low);
        const float kept = 1 - fminf(fmaxf(ramp, 0), 1);
        r->f[e] = 1.0f / ((float)factor * power) * (1 - kept) + 1.0f / power * kept;
    }
    const bool both = find(r, "mscale") && find(r, "mscale_all_dim");
    r->scale = find(r, "attention_factor") ? real(r, "attention_factor", NAN)
               : both
                   ? mscale(factor, real(r, "mscale", NAN)) / mscale(factor, real(r, "mscale_all_dim", NAN))
                   : mscale(factor, 1);
}

/* Its short factors hold up to the old length; prompts beyond it have others, so the network ends there. */
static void longrope(rotation *r, double base, double context)
{
    const double old = real(r, "original_max_position_embeddings", NAN);
    const double factor = find(r, "factor") ? real(r, "factor", NAN) : context / old;
    const hop_json *list = find(r, "short_factor");
    if (!list || list->type != HOP_JSON_ARRAY || (int64_t)list->count != r->half) {
        hop__hf_fail(&r->w->r, HOP_EFORMAT, "%s.short_factor: not a list of %lld numbers", r->inside,
                     (long long)r->half);
        return;
    }
    int64_t e = 0;
    for (const hop_json *v = list->child; v; v = v->next, e++) {
        const double by = v->type == HOP_JSON_INT    ? (double)v->integer
                          : v->type == HOP_JSON_REAL ? v->real
                                                     : NAN;
        if (!(by > 0)) hop__hf_fail(&r->w->r, HOP_EFORMAT, "%s.short_factor: not a number", r->inside);
        r->f[e] = 1.0f / ((float)by * power_of(r, base, e));
    }
    r->scale = find(r, "attention_factor") ? real(r, "attention_factor", NAN)
               : factor <= 1               ? 1
                                           : sqrt(1 + log(factor) / log(old));
    if ((double)r->w->n->config.max_positions > old) r->w->n->config.max_positions = (int64_t)old;
}

static void compute(rotation *r)
{
    const hop_json *kind = find(r, "rope_type");
    if (!kind) kind = find(r, "type");
    const char *type = kind && kind->type == HOP_JSON_STRING ? kind->string : "default";
    const double context = (double)r->w->n->config.max_positions;
    const double base = find(r, "rope_theta") ? real(r, "rope_theta", NAN)
                                              : hop__hf_real_to(&r->w->r, "rope_theta", 1e15, 10000);
    plain(r, base);
    if (strcmp(type, "linear") == 0)
        for (int64_t e = 0; e < r->half; e++) r->f[e] /= (float)real(r, "factor", NAN);
    else if (strcmp(type, "llama3") == 0)
        llama3(r);
    else if (strcmp(type, "yarn") == 0)
        yarn(r, base, context);
    else if (strcmp(type, "longrope") == 0)
        longrope(r, base, context);
    else if (strcmp(type, "default") != 0)
        hop__hf_fail(&r->w->r, HOP_EDOMAIN, "%s.rope_type: \"%.40s\" cannot be run", r->inside, type);
}

void hop__net_rotate(hop__net *w, hop__span rest, int64_t layer)
{
    char inside[LONGEST_KEY / 2], ours[96];
    hop__span_copy(inside, sizeof inside, hop__span_word(&rest));
    const char *name = "mixer.rope.inv_freq";
    rotation r = {.w = w, .inside = inside, .scale = 1};
    r.half = hop__hf_value(&w->r, rest, layer) / 2;
    hop__net_ours(w, ours, (hop__span){name, name + strlen(name)}, layer);
    if (w->r.status != HOP_OK || r.half < 1 || r.half > HOP__HF_MAX_SIZE) {
        hop__hf_fail(&w->r, HOP_EDOMAIN, "%s: rotates %lld pairs", inside, (long long)r.half);
        return;
    }
    r.f = malloc(sizeof *r.f * (size_t)r.half);
    if (r.f) compute(&r);
    hop__net_given(w, ours, r.f, r.half);
    if (w->r.status == HOP_OK && r.scale != 1)
        w->r.status = hop_config_set(&w->n->config, w->base[layer], "", "rope_scale", r.scale, w->r.err);
}
