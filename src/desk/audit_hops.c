/* The model as the theorems see it, and what they say. */
#include <hopbound/audit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATE_BITS ((int64_t)1 << 60)

/* ---- layers -------------------------------------------------------------------------------- */

/* Bits of the rows that a window carries from token to token: it holds the current one too, which no cut
 * separates from itself. -1: there is no window, or it holds more than can be counted. */
static int64_t window_bits(const hop_audit *u, const hop_audit_layer *l)
{
    int64_t row = l->row * u->cache.bytes * 8;
    if (!l->window || (row && l->window - 1 > MOST_STATE_BITS / row)) return -1;
    return (l->window - 1) * row;
}

static bool attends(hop_audit_kind kind)
{
    return kind <= HOP_AUDIT_COVERED;
}

static hop_layer_kind theorems_kind(hop_audit_kind kind, int64_t state_bits)
{
    switch (kind) {
    case HOP_AUDIT_FULL:
    case HOP_AUDIT_CROSS: return HOP_LAYER_FULL;
    case HOP_AUDIT_COVERED:
    case HOP_AUDIT_BESIDE: return state_bits ? HOP_LAYER_BOTH : HOP_LAYER_FULL;
    case HOP_AUDIT_SPARSE:
    case HOP_AUDIT_UNKNOWN: return HOP_LAYER_OTHER;
    case HOP_AUDIT_LOCAL: return HOP_LAYER_LOCAL;
    default: return HOP_LAYER_LINEAR;
    }
}

/* Of one number: a recurrent state has a type of its own. Other caches are taken to be as wide as attention's
 * numbers, as all activations are. */
static int64_t number_bits(const hop_audit_seen *h, const hop_audit *u, hop_audit_kind kind)
{
    return kind == HOP_AUDIT_RECURRENT ? u->state.bytes * 8 : h->bits;
}

/* Numbers that a token hands on through a window: its values, the smaller part of a row. */
static int64_t written(const hop_audit_layer *l)
{
    int64_t both = l->qk_dim + l->v_dim;
    return both ? l->row * l->v_dim / both : 0;
}

static void add_layer(hop_audit_seen *h, const hop_audit *u, hop_audit_kind kind, const hop_audit_layer *l,
                      int64_t state_bits)
{
    if (theorems_kind(kind, state_bits) == HOP_LAYER_LINEAR && state_bits == 0) kind = HOP_AUDIT_LOCAL;
    hop_arch_layer new = {.kind = theorems_kind(kind, state_bits),
                          .repeat = 1,
                          .number_bits = number_bits(h, u, kind),
                          .state_bits = state_bits,
                          .forgets = kind == HOP_AUDIT_CHUNK};
    if (kind == HOP_AUDIT_WINDOW) new.heads = 1, new.dim = written(l);
    if (kind == HOP_AUDIT_RECURRENT && u->plan.linear.key_rows > 0) {
        new.rows = u->plan.linear.key_rows, new.row_numbers = u->plan.linear.row_numbers / 2;
        new.spread = true;
    }
    if (attends(kind)) {
        new.heads = l->heads;
        new.dim = l->v_dim;
        new.key_dim = l->qk_dim;
        new.reply_dim = l->reply_dim;
        h->full++;
    }
    if (new.kind == HOP_LAYER_LINEAR || new.kind == HOP_LAYER_BOTH) h->linear++;
    if (new.kind == HOP_LAYER_OTHER) h->other++;
    h->counts[kind]++;
    h->kinds[h->arch.count] = kind;
    h->layers[h->arch.count++] = new;
}

/* Attention in a window, alone or beside a recurrence with `state` bits. */
static void see_window(hop_audit_seen *h, const hop_audit *u, const hop_audit_layer *l, int64_t state)
{
    int64_t window = window_bits(u, l);
    if (l->sparse)
        add_layer(h, u, HOP_AUDIT_SPARSE, l, 0);
    else if (l->window > 1 && u->n && l->window >= u->n)
        add_layer(h, u, HOP_AUDIT_COVERED, l, state);
    else if (window < 0)
        add_layer(h, u, HOP_AUDIT_UNKNOWN, l, 0);
    else if (state)
        add_layer(h, u, window ? HOP_AUDIT_WINDOW_BESIDE : HOP_AUDIT_RECURRENT, l, state + window);
    else
        add_layer(h, u, l->chunked ? HOP_AUDIT_CHUNK : HOP_AUDIT_WINDOW, l, window);
    if (l->sparse) h->layers[h->arch.count - 1].block = u->plan.sparse_block;
}

/* Short convolutions around attention, which are in no construction: queries do not pass them. */
static void see_convolution(hop_audit_seen *h, const hop_audit *u, const hop_audit_layer *l, int64_t numbers)
{
    if (!numbers) return;
    add_layer(h, u, HOP_AUDIT_CONVOLUTION, l, numbers * u->conv.bytes * 8);
    h->layers[h->arch.count - 1].forgets = true;
}

static void see_layer(hop_audit_seen *h, const hop_audit *u, const hop_audit_layer *l)
{
    int64_t state = (l->state * u->state.bytes + l->conv * u->conv.bytes) * 8;
    hop_audit_kind recurrence = l->state ? HOP_AUDIT_RECURRENT : HOP_AUDIT_CONVOLUTION;
    switch (l->letter) {
    case 'F':
        see_convolution(h, u, l, l->conv_before);
        add_layer(h, u, HOP_AUDIT_FULL, l, 0);
        see_convolution(h, u, l, l->conv - l->conv_before);
        break;
    case 'C': add_layer(h, u, HOP_AUDIT_CROSS, l, 0); break;
    case 'L': add_layer(h, u, recurrence, l, state); break;
    case 'S':
        see_convolution(h, u, l, l->conv_before);
        see_window(h, u, l, 0);
        see_convolution(h, u, l, l->conv - l->conv_before);
        break;
    case 'h': see_window(h, u, l, state); break;
    case 'H':
        add_layer(h, u, u->plan.in_sequence ? HOP_AUDIT_FULL : HOP_AUDIT_BESIDE, l,
                  u->plan.in_sequence ? 0 : state);
        if (u->plan.in_sequence) add_layer(h, u, recurrence, l, state);
        break;
    default: add_layer(h, u, HOP_AUDIT_LOCAL, l, 0); break;
    }
}

/* ---- asking -------------------------------------------------------------------------------- */

const hop_bound *hop_audit_theorem(const hop_bounds *b, const char *id)
{
    for (int i = 0; b && i < b->count; i++)
        if (strcmp(b->results[i].id, id) == 0) return &b->results[i];
    return NULL;
}

/* The layers and one of unknown kind at the end, which does P1 no harm and keeps every other theorem silent:
 * the search for what is impossible is the long part, and it is made once, for `bounds`. */
static hop_arch for_p1(const hop_audit_seen *h)
{
    hop_arch longer = h->arch;
    h->layers[longer.count++] =
        (hop_arch_layer){.kind = HOP_LAYER_OTHER, .repeat = 1, .number_bits = h->bits};
    return longer;
}

/* The most hops that the layers make at the widths they have, and why not as many as they could. */
static hop_status find_able(hop_audit_seen *h, const hop_question *base, hop_error *err)
{
    hop_status s = HOP_OK;
    hop_arch longer = for_p1(h);
    for (int hops = h->reach.able; hops > 0 && s == HOP_OK && !h->able; hops--) {
        hop_question q = *base;
        hop_bounds *b = NULL;
        q.hops = hops;
        q.arch = &longer;
        s = hop_bounds_new(&b, &q, err);
        const hop_bound *p1 = hop_audit_theorem(b, "P1");
        bool able = p1 && p1->answer == HOP_ANSWER_POSSIBLE;
        char **why = able ? &h->able_why : hops == h->reach.able ? &h->narrow_why : NULL;
        if (able) h->able = hops;
        if (p1 && why && !(*why = strdup(p1->why))) s = hop_fail(err, HOP_ENOMEM, "out of memory");
        hop_bounds_free(b);
    }
    return s;
}

/* What the network that serves at these widths asks of them: P1 knows two. And hops by states that hold
 * tables. */
static hop_status see_widths(hop_audit_seen *h, const hop_audit *u, const hop_question *base, hop_error *err)
{
    hop_reach own;
    if (u->plan.tied) return HOP_OK;
    if (!base->n) return hop_tables_held(&h->arch, &h->held, err);
    hop_status s = hop_reach_possible(&own, &h->arch, base->n, true, err);
    if (s != HOP_OK) return s;
    if (own.able == h->able && h->able > 0 && h->able >= h->reach.able) {
        h->reach.needs_dim = own.needs_dim;
        h->reach.needs_bits = own.needs_bits;
        h->reach.needs_width = own.needs_width;
    }
    if (own.able > h->able) {
        h->by_states = own.able, h->by_states_why = own.why_able;
        own.why_able = NULL;
    }
    hop_reach_free(&own);
    return hop_tables_held(&h->arch, &h->held, err);
}

/* What the layers could do, were they wide enough. P1 gives each layer weights of its own. */
static hop_status find_reach(hop_audit_seen *h, const hop_audit *u, const hop_question *q, hop_error *err)
{
    hop_status s = hop_reach_possible(&h->reach, &h->arch, q->n, false, err);
    if (s != HOP_OK || !u->plan.tied) return s;
    int fit = h->reach.fit;
    hop_reach_free(&h->reach);
    h->reach.fit = fit;
    h->reach.why_able =
        strdup("layers share their weights, and what such layers can do no theorem here says");
    return h->reach.why_able ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
}

double hop_audit_ids(const hop_bound *b, int hops)
{
    double table = 1;
    if (!b || !b->speaks_from) return 0;
    if (!b->sizes) return pow(10, b->log10_n) / 2 - 1; /* all other tables together are no longer */
    for (int l = 0; l < hops && b->sizes[l]; l++) table *= strtod(b->sizes[l], NULL);
    return table;
}

bool hop_audit_beyond(const hop_audit *u, double ids)
{
    return u->plan.vocabulary > 0 && ids > (double)u->plan.vocabulary;
}

/* The theorem that speaks of the shortest length, if it speaks of this one; of the fewest hops. */
static hop_status find_unable(hop_audit_seen *h, int64_t n, hop_error *err)
{
    const hop_bound *best = n ? hop_bounds_first(h->fewer, HOP_FIRST_IMPOSSIBLE) : NULL;
    int hops = best ? (int)h->full : h->asked;
    if (!best && n) best = hop_bounds_first(h->bounds, HOP_FIRST_IMPOSSIBLE);
    h->reach.why_unable = strdup(best ? best->why
                                 : n  ? "no theorem speaks at this length"
                                      : "no length is given");
    if (!h->reach.why_unable) return hop_fail(err, HOP_ENOMEM, "out of memory");
    h->reach.unable = best ? hops : 0;
    h->unable_ids = hop_audit_ids(best, hops);
    h->reach.machine_checked = best && best->certificate;
    snprintf(h->reach.unable_by, sizeof h->reach.unable_by, "%s", best ? best->id : "");
    return HOP_OK;
}

/* Does no layer carry anything before the first full one? Then P5, P7 and P7G speak of as many hops as there
 * are full layers. */
static bool nothing_first(const hop_audit_seen *h)
{
    for (int64_t i = 0; i < h->arch.count; i++) {
        if (h->layers[i].kind == HOP_LAYER_FULL || h->layers[i].kind == HOP_LAYER_BOTH) return true;
        if (h->layers[i].kind == HOP_LAYER_LINEAR) return false;
    }
    return false;
}

const hop_bound *hop_audit_first(const hop_audit_seen *h, int *hops)
{
    const hop_bound *all = hop_bounds_first(h->bounds, HOP_FIRST_SPEAKS),
                    *fewer = hop_bounds_first(h->fewer, HOP_FIRST_SPEAKS);
    bool first = fewer && (!all || fewer->log10_n < all->log10_n);
    *hops = first ? (int)h->full : h->asked;
    return first ? fewer : all;
}

hop_status hop_audit_layers(hop_audit_seen *h, const hop_audit *u, const hop_audit_options *o, hop_error *err)
{
    *h = (hop_audit_seen){.bits = o->bits};
    h->layers = calloc(3 * (size_t)u->plan.count + 1, sizeof *h->layers);
    h->kinds = calloc(3 * (size_t)u->plan.count + 1, sizeof *h->kinds);
    if (!h->layers || !h->kinds) {
        hop_audit_seen_free(h);
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    h->arch.layers = h->layers;
    h->arch.width = u->plan.hidden;
    for (int64_t i = 0; i < u->plan.count; i++) see_layer(h, u, &u->layers[i]);
    return HOP_OK;
}

hop_status hop_audit_see(hop_audit_seen *h, const hop_audit *u, const hop_audit_options *o, hop_error *err)
{
    hop_status s = hop_audit_layers(h, u, o, err);
    if (s != HOP_OK) return s;
    hop_question q = {.arch = &h->arch, .n = u->n, .progress = o->progress, .searched = o->searched};
    s = find_reach(h, u, &q, err);
    if (s == HOP_OK) s = find_able(h, &q, err);
    if (s == HOP_OK) s = see_widths(h, u, &q, err);
    /* The first number of hops of which T1 or T2 speaks. */
    int64_t asked = h->full + (h->linear > 0);
    if (asked < 1) asked = 1;
    if (s == HOP_OK && asked <= HOP_MAX_HOPS) {
        q.hops = h->asked = (int)asked;
        s = hop_bounds_new(&h->bounds, &q, err);
    }
    if (s == HOP_OK && h->full && h->full < asked && h->full <= HOP_MAX_HOPS && nothing_first(h)) {
        q.hops = (int)h->full;
        s = hop_bounds_new(&h->fewer, &q, err);
        if (s == HOP_OK && !hop_bounds_first(h->fewer, HOP_FIRST_SPEAKS)) {
            hop_bounds_free(h->fewer);
            h->fewer = NULL;
        }
    }
    if (s == HOP_OK) s = find_unable(h, u->n, err);
    if (s != HOP_OK) hop_audit_seen_free(h);
    return s;
}

const char *hop_audit_uncovered(const hop_audit *u, const hop_audit_seen *h)
{
    if (u->plan.tied) return "layers share their weights";
    if (h->able || h->by_states || h->other == 0) return NULL;
    return h->counts[HOP_AUDIT_SPARSE] ? "layers pick or compress tokens" : "windows are of unknown length";
}

void hop_audit_seen_free(hop_audit_seen *h)
{
    hop_bounds_free(h->bounds);
    hop_bounds_free(h->fewer);
    hop_reach_free(&h->reach);
    free(h->able_why);
    free(h->by_states_why);
    free(h->narrow_why);
    free(h->layers);
    free(h->kinds);
    *h = (hop_audit_seen){0};
}
