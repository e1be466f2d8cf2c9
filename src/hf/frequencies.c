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
    double nudge;       /* what powers are off by, relative, to see what becomes of it */
    bool scaled;        /* frequencies are not plain powers */
} rotation;

static double number(const hop_json *v, double absent)
{
    return !v                         ? absent
           : v->type == HOP_JSON_INT  ? (double)v->integer
           : v->type == HOP_JSON_REAL ? v->real
                                      : NAN;
}

/* A key of the object. Some may stand beside it instead: which of two counts is told by no file, so they must agree. */
static const hop_json *find(const rotation *r, const char *key)
{
    static const char *const beside[] = {"rope_theta", "partial_rotary_factor",
                                         "original_max_position_embeddings"};
    char path[LONGEST_KEY];
    const hop_json *outer = NULL;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (strcmp(key, beside[i]) == 0) outer = hop__hf_find(&r->w->r, key);
    snprintf(path, sizeof path, "%s.%s", r->inside, key);
    const hop_json *inner = hop__hf_find(&r->w->r, path);
    if (inner && outer && number(inner, 0) != number(outer, 0))
        hop__hf_fail(&r->w->r, HOP_EDOMAIN, "%s: there is another one beside it", path);
    return inner ? inner : outer;
}

static double real(rotation *r, const char *key, double absent)
{
    double value = number(find(r, key), absent);
    if (!(isfinite(value) && value > 0))
        hop__hf_fail(&r->w->r, HOP_EFORMAT, "%s.%s: not a positive number", r->inside, key);
    return value;
}

/* base^(-2e / dim); powers and quotients are rounded to float32 as there. */
static float power_of(const rotation *r, double base, int64_t e)
{
    float power = powf((float)base, (float)(2 * e) / (float)(2 * r->half));
    return r->nudge == 0 ? power : (float)(power * (1 + r->nudge));
}

static void plain(rotation *r, double base)
{
    for (int64_t e = 0; e < r->half; e++) r->f[e] = 1.0f / power_of(r, base, e);
}

/* Operation for operation as there (a number over a tensor is its reciprocal times the number): where the two factors are
 * close, what is left of a difference hangs on each. */
static void llama3(rotation *r)
{
    const double factor = real(r, "factor", NAN), low = real(r, "low_freq_factor", NAN),
                 high = real(r, "high_freq_factor", NAN),
                 old = real(r, "original_max_position_embeddings", NAN);
    for (int64_t e = 0; e < r->half; e++) {
        const float f = r->f[e], wavelength = 1 / f * (float)(2 * 3.14159265358979323846);
        const float turns = 1 / wavelength * (float)old, beyond = turns - (float)low,
                    smooth = beyond / (float)(high - low);
        if (wavelength > (float)(old / low))
            r->f[e] = f / (float)factor;
        else if (!(wavelength < (float)(old / high)))
            r->f[e] = (1 - smooth) * f / (float)factor + smooth * f;
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

/* By how much the context has grown; `old`: what it was. */
static double growth(rotation *r, double old)
{
    const double context = number(hop__hf_find(&r->w->r, "max_position_embeddings"), NAN);
    return find(r, "factor") ? real(r, "factor", NAN) : real(r, "factor", context / old);
}

static void yarn(rotation *r, double base)
{
    const double old = real(r, "original_max_position_embeddings", NAN), factor = growth(r, old);
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
static void longrope(rotation *r, double base)
{
    const double old = real(r, "original_max_position_embeddings", NAN), factor = growth(r, old);
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
    const double told = (double)hop__hf_out(&r->w->r, "theta", 0);
    const double base = real(r, "rope_theta", told > 0 ? told : hop__hf_number(&r->w->r, "block", "theta"));
    plain(r, base);
    r->scaled = strcmp(type, "default") != 0;
    if (strcmp(type, "linear") == 0)
        for (int64_t e = 0; e < r->half; e++) r->f[e] /= (float)real(r, "factor", NAN);
    else if (strcmp(type, "llama3") == 0)
        llama3(r);
    else if (strcmp(type, "yarn") == 0)
        yarn(r, base);
    else if (strcmp(type, "longrope") == 0)
        longrope(r, base);
    else if (r->scaled)
        hop__hf_fail(&r->w->r, HOP_EDOMAIN, "%s.rope_type: \"%.40s\" cannot be run", r->inside, type);
}

/* ---- what other libraries make of it ------------------------------------------------------------------- */

#define UNIT   0x1p-24
#define POWERS 12 /* units: two powers, their reciprocals, and what is formed of these before it is mixed */
#define MIXED  16 /* units more: where two frequencies are mixed, and of the angle */
#define WIDEST 1  /* nothing is known of an angle */

/* How far theirs may be from r's, relative: powers may be some units away, and where r mixes two frequencies by a
 * difference, what is left of it is as far as that makes them. */
static double spread_of(const rotation *r)
{
    double widest = 0;
    for (int sign = -1; sign <= 1 && r->scaled; sign += 2) {
        rotation moved = *r;
        moved.nudge = sign * POWERS * UNIT;
        moved.f = malloc(sizeof *moved.f * (size_t)r->half);
        if (!moved.f) return WIDEST;
        compute(&moved);
        for (int64_t e = 0; e < r->half; e++) {
            double off = fabs((double)moved.f[e] - r->f[e]) / fabs((double)r->f[e]);
            if (moved.f[e] != r->f[e]) widest = off <= WIDEST ? fmax(widest, off) : WIDEST;
        }
        free(moved.f);
    }
    return r->scaled ? fmin(widest + MIXED * UNIT, WIDEST) : 0;
}

/* Classes turn as much of a head as they like, whatever a file says: only what they do is run. */
static void check_part(rotation *r)
{
    const double part = number(find(r, "partial_rotary_factor"), 1), head = (double)r->w->n->config.head_dim;
    if (find(r, "partial_rotary_factor") && (int64_t)(part * head) != 2 * r->half)
        hop__hf_fail(&r->w->r, HOP_EDOMAIN,
                     "%s: partial_rotary_factor: %g of %g numbers, where the class turns %lld", r->inside,
                     part, head, (long long)(2 * r->half));
}

static void give(hop__net *w, int64_t layer, const char *name, double value, double absent)
{
    if (w->r.status == HOP_OK && value != absent)
        w->r.status = hop_config_set(&w->n->config, w->base[layer], "", name, value, w->r.err);
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
    check_part(&r);
    r.f = malloc(sizeof *r.f * (size_t)r.half);
    if (r.f) compute(&r);
    const double spread = r.f ? spread_of(&r) : 0;
    hop__net_given(w, ours, r.f, r.half);
    give(w, layer, "rope_scale", r.scale, 1);
    give(w, layer, "rope_spread", spread, 0);
}
