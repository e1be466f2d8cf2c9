/* P10: a hop by a state. A linear layer whose state holds a whole table does the hop that a full layer does.
 * So with enough layers in any order, full or linear, L hops are made: the first brings z_0 to the last
 * token, and every hop is served by the next full layer, or by the next states that hold its table. Only what
 * the weights that are written down take is claimed, in float32, and with full layers as P1 has them:
 *
 * - `build mixed`, `build linear` (docs/THEORY.md section 5.3): linear attention whose feature map is a
 * product of two affine maps, without normaliser. One layer holds one table: N_{e-1} keys in one head, values
 * of B numbers (or one number an entry, where no full layer serves), and a residual stream with room for the
 * one-hot parts of an address;
 * - `build hybrid --pattern` (section 5.8): layers whose keys pass a SiLU, so that codes become one-hot
 * there: gdn, kda, deltanet and mamba2 with their convolutions. Rows of all heads that have keys of their own
 * count, and several layers may hold one table.
 *
 * Served as early as can be: tables grow from hop to hop, so a layer that can do a hop can do all before it,
 * and to leave one out never helps. */
#include "room.h"

#include <math.h>

#define FLOAT_BITS 32
#define MOST_ROWS  2048 /* that are built: feature maps are matrices of as many rows and columns */

/* What hops ask at given sizes, or at a length: the largest over all sizes that fit. */
typedef struct demand {
    hop__need full;                 /* of full layers */
    fmpz table[HOP_MAX_HOPS];       /* N_0 .. N_{L-1} */
    fmpz extra[HOP_MAX_HOPS];       /* columns of the stream for hop e = 1 .. where it is linear; [e - 1] */
    int64_t base;                   /* columns without these */
    int64_t code[HOP_MAX_HOPS + 1]; /* bits of i_0, .., i_L */
    int64_t narrow;                 /* columns where codes are all the stream holds (SPREAD), .. */
    hop__need registers;            /* .. and what full layers need then */
    hop__bits bits;
} demand;

static void demand_clear(demand *d, int hops)
{
    for (int l = 0; l < hops; l++) fmpz_clear(&d->table[l]), fmpz_clear(&d->extra[l]);
}

/* With `code` filled. */
static void set_base(demand *d, int hops, hop__bits bits)
{
    d->bits = bits;
    d->full = hop__need_of(hops, bits);
    d->base = hops + 2 + bits.stream + hops * bits.code; /* who, at, val, dig, and L+1 registers */
    d->registers = hop__need_of_registers(hops, bits);
    d->narrow = d->registers.width;
}

/* One-hot parts twice over: 2 m for the first hop, 2 (n_{e-1} + N_{e-2}) for hop e. */
static void demand_of_sizes(demand *d, const fmpz *sizes, int hops)
{
    *d = (demand){0};
    for (int e = 0; e <= hops; e++) d->code[e] = hop__bits_of(sizes, e > 0 ? e : 1).code;
    set_base(d, hops, hop__bits_of(sizes, hops));
    for (int l = 0; l < hops; l++) {
        if (l == 0)
            fmpz_set(&d->table[0], &sizes[0]), fmpz_set(&d->extra[0], &sizes[0]);
        else
            fmpz_mul(&d->table[l], &d->table[l - 1], &sizes[l]),
                fmpz_add(&d->extra[l], &d->table[l - 1], &sizes[l]);
        fmpz_mul_2exp(&d->extra[l], &d->extra[l], 1);
    }
}

/* N_l, of which all that follow are at least the double: N_l (1 + 2 + .. + 2^(L-1-l)) <= n - 2. No sum x +
 * N/x, x >= 2, is more than N/2 + 2; the first hop's is 2 m. */
static bool demand_of_length(demand *d, int hops, const fmpz_t n)
{
    fmpz sizes[HOP_MAX_HOPS] = {0};
    fmpz_t table;
    fmpz_init(table);
    *d = (demand){0};
    bool fits = hop__largest_table(table, sizes, hops, n);
    const hop__bits bits = fits ? hop__most_bits(hops, n) : (hop__bits){0};
    for (int e = 0; fits && e <= hops; e++) d->code[e] = bits.code;
    if (fits) set_base(d, hops, bits);
    for (int l = 0; fits && l < hops; l++) {
        fmpz_t parts;
        fmpz_init_set_ui(parts, 1);
        fmpz_mul_2exp(parts, parts, (ulong)(hops - l));
        fmpz_sub_ui(parts, parts, 1);
        fmpz_sub_ui(&d->table[l], n, 2);
        fmpz_fdiv_q(&d->table[l], &d->table[l], parts);
        if (fmpz_cmp(&d->table[l], table) > 0) fmpz_set(&d->table[l], table);
        fmpz_mul_2exp(&d->extra[l], &d->table[l], l == 0);
        fmpz_add_ui(&d->extra[l], &d->extra[l], 4);
        fmpz_clear(parts);
    }
    for (int l = 0; l < hops; l++) fmpz_clear(&sizes[l]);
    fmpz_clear(table);
    return fits;
}

/* Does the state hold `rows` rows of B numbers, behind one-hot keys of the stream? */
static bool holds(const hop_arch_layer *l, const fmpz_t rows, int64_t bits)
{
    if (l->kind != HOP_LAYER_LINEAR || l->spread || l->number_bits < FLOAT_BITS || l->row_numbers < bits)
        return false;
    if (fmpz_cmp_si(rows, l->rows < MOST_ROWS ? l->rows : MOST_ROWS) > 0) return false;
    fmpz_t all;
    fmpz_init(all);
    fmpz_mul_si(all, rows, bits);
    fmpz_mul_si(all, all, l->number_bits);
    bool enough = fmpz_cmp_si(all, l->state_bits) <= 0;
    fmpz_clear(all);
    return enough;
}

/* Rows for codes of B bits that a state adds to those of other layers; 0: none. A state that was declared
 * smaller than what the layer has is none. */
static int64_t spread_rows(const hop_arch_layer *l, int64_t bits)
{
    int64_t all;
    if (l->kind != HOP_LAYER_LINEAR || !l->spread || l->forgets || l->number_bits < FLOAT_BITS) return 0;
    if (l->row_numbers < bits || __builtin_mul_overflow(l->rows, 2 * l->row_numbers, &all) ||
        __builtin_mul_overflow(all, l->number_bits, &all) || all > l->state_bits)
        return 0;
    return l->rows;
}

/* Three ways to write tables into states. */
typedef enum style {
    CODES,   /* `build mixed` */
    NUMBERS, /* `build linear`: an entry in one number, where no full layer is among those that serve */
    SPREAD,  /* `build hybrid --pattern` */
    STYLES
} style;

static const char *const built[STYLES] = {"mixed", "linear", "hybrid --pattern"};

typedef struct service {
    style by;
    int hops;       /* served, of those asked */
    int64_t linear; /* hops by a state */
    fmpz layers;    /* that hold tables */
    fmpz bits;      /* of these layers' states together */
    bool narrow;    /* the stream is too narrow for all of them */
    bool kept;      /* rounding leaves codes as they are */
} service;

static void service_clear(service *s)
{
    fmpz_clear(&s->layers), fmpz_clear(&s->bits);
}

/* Entries of the next table that the layer holds are added to `held`, all of them where it holds them alone:
 * does it do anything? */
static bool add_rows(const service *s, const hop_arch_layer *l, const demand *d, fmpz_t held)
{
    if (s->by == SPREAD) {
        int64_t rows = spread_rows(l, d->code[s->hops + 1]);
        fmpz_add_si(held, held, rows);
        return rows > 0;
    }
    if (!holds(l, &d->table[s->hops], d->full.value)) return false;
    fmpz_set(held, &d->table[s->hops]);
    return true;
}

/* Can it bring z_0 to the last token, as a code of bits that are exact? */
static bool carries(const service *s, const hop_arch_layer *l, const demand *d)
{
    fmpz one = 1;
    return s->by == SPREAD ? spread_rows(l, d->code[0]) > 0 : holds(l, &one, d->full.value);
}

/* Can a full layer make the next look-up? Where every one has a register of its own, its keys hold the bits of
 * one address and its values those of one answer, which are fewer the earlier the look-up. */
static bool full_serves(const service *s, const hop_arch_layer *l, const demand *d)
{
    hop__need need = d->full;
    int e = s->hops + 1;
    if (s->by == SPREAD) need.key = 1 + (e > 0 ? d->code[e] : 0), need.value = d->code[e];
    return hop__full_serves(l, &need);
}

/* One layer more. Returns false: it does nothing, nor do those that repeat it. */
static bool serve_layer(service *s, const hop_arch_layer *l, const demand *d, fmpz_t held, fmpz_t width)
{
    bool full = full_serves(s, l, d);
    if (full || s->hops < 0) {
        if (!full && !carries(s, l, d)) return false;
        fmpz_zero(held);
        s->hops++;
        return true;
    }
    if (!add_rows(s, l, d, held)) return false;
    fmpz_add_ui(&s->layers, &s->layers, 1);
    fmpz_add_si(&s->bits, &s->bits, l->state_bits);
    if (fmpz_cmp(held, &d->table[s->hops]) < 0) return true;
    if (s->by != SPREAD) fmpz_add(width, width, &d->extra[s->hops]);
    fmpz_zero(held);
    s->linear++, s->hops++;
    return true;
}

/* Entries that are numbers are whole ones, all below 2^24: nothing is rounded. */
static bool keeps(style by, hop__bits bits)
{
    return by == NUMBERS || hop__codes_are_kept(by == SPREAD ? HOP__BY_STATES : HOP__BY_MAPS, bits);
}

static service serve(const hop_arch *a, const demand *given, int hops, style by)
{
    service s = {.by = by, .hops = -1};
    demand d = *given; /* only looked at */
    fmpz_t width, held;
    if (by == NUMBERS) d.full.value = 1, d.full.key = INT64_MAX, d.base = 2 * (int64_t)hops + 4;
    if (by == SPREAD) d.full = d.registers, d.base = d.narrow;
    fmpz_init_set_si(width, d.base);
    fmpz_init(held);
    for (int64_t i = 0; i < a->count && s.hops < hops; i++)
        for (int64_t k = 0; k < a->layers[i].repeat && s.hops < hops; k++)
            if (!serve_layer(&s, &a->layers[i], &d, held, width)) break;
    s.narrow = a->width && fmpz_cmp_si(width, a->width) > 0;
    s.kept = s.hops == hops && keeps(by, given->bits);
    fmpz_clear(width), fmpz_clear(held);
    return s;
}

static bool served(const service *s, int hops)
{
    return s->hops == hops && !s->narrow && s->kept;
}

/* The first style that serves all hops, else the one that serves most. */
static service serve_best(const hop_arch *a, const demand *d, int hops)
{
    service best = serve(a, d, hops, CODES);
    for (style by = NUMBERS; by < STYLES && !served(&best, hops); by++) {
        service s = serve(a, d, hops, by);
        if (served(&s, hops) || s.hops > best.hops) {
            service_clear(&best);
            best = s;
        } else {
            service_clear(&s);
        }
    }
    return best;
}

bool hop__state_able(const hop_arch *a, int hops, int64_t n)
{
    demand d = {0};
    fmpz_t length;
    fmpz_init_set_si(length, n);
    bool able = hops > 0 && n > 0 && demand_of_length(&d, hops, length);
    if (able) {
        service s = serve_best(a, &d, hops);
        able = served(&s, hops);
        service_clear(&s);
    }
    if (hops > 0) demand_clear(&d, hops);
    fmpz_clear(length);
    return able;
}

/* The longest prompt at which all sizes are solved, by bisection; 0: not even the shortest. */
static int64_t longest(const hop_arch *a, int hops)
{
    int64_t good = 0, bad = (int64_t)1 << 50;
    while (bad - good > 1) {
        int64_t half = good + (bad - good) / 2;
        if (half < (int64_t)1 << (hops < 48 ? hops + 1 : 49) || hop__state_able(a, hops, half))
            good = half;
        else
            bad = half;
    }
    return hop__state_able(a, hops, good) ? good : 0;
}

static const char *way(hop__case *c, const service *s)
{
    if (s->linear == 0) return hop__say(c, "every hop by a full layer (`build %s`)", built[s->by]);
    return hop__say(c, "%lld of the hops by states that hold their tables, %s (`build %s`)",
                    (long long)s->linear, hop__say_layers(c, fmpz_get_si(&s->layers), "linear"),
                    built[s->by]);
}

/* What the states have, over N_{L-1} log2 N_{L-1}, which P2 demands. */
static double factor(const demand *d, int hops, const service *s)
{
    double last = hop__to_log2(&d->table[hops - 1]), sum = 0;
    if (s->by == SPREAD) return exp2(hop__to_log2(&s->bits) - last) / last;
    for (int l = 0; l < hops; l++) sum += exp2(hop__to_log2(&d->table[l]) - last);
    return FLOAT_BITS * (double)(s->by == NUMBERS ? 1 : d->full.value) * sum / last;
}

static void answer(hop__case *c, hop_bound *b, const demand *d)
{
    service s = serve_best(c->q->arch, d, c->hops);
    int64_t numbers = s.by == NUMBERS ? 1 : s.by == SPREAD ? 2 * d->full.value : d->full.value;
    b->needs =
        hop__say(c,
                 "a layer for z_0, then for each hop a full layer or states with rows for its table, up to "
                 "%s rows of %lld number%s, 32 bits each",
                 hop__say_integer(c, &d->table[c->hops - 1]), (long long)numbers, numbers == 1 ? "" : "s");
    if (served(&s, c->hops)) {
        b->answer = HOP_ANSWER_POSSIBLE;
        b->why = c->by_sizes && s.linear == c->hops
                     ? hop__say(c, "possible: %s; their states have %.4g times the bits that P2 demands",
                                way(c, &s), factor(d, c->hops, &s))
                     : hop__say(c, "possible: %s", way(c, &s));
    } else if (s.hops == c->hops && !s.narrow) {
        b->why = hop__say(c, HOP__NOT_KEPT, (long long)d->bits.code);
    } else if (s.hops == c->hops) {
        b->why = hop__say(c, "enough layers, but a residual width of %lld is too narrow for %s",
                          (long long)c->q->arch->width, s.by == SPREAD ? "the codes" : "one-hot addresses");
    } else {
        b->why =
            hop__say(c, "only %d hop%s served by layers wide enough, or by states that hold their tables",
                     s.hops > 0 ? s.hops : 0, s.hops == 1 ? " is" : "s are");
    }
    service_clear(&s);
}

/* Rows of all layers together. */
static void all_rows(fmpz_t out, const hop_arch *a)
{
    fmpz_t rows;
    fmpz_init(rows);
    fmpz_zero(out);
    for (int64_t i = 0; i < a->count; i++) {
        fmpz_set_si(rows, a->layers[i].rows);
        fmpz_mul_si(rows, rows, a->layers[i].repeat);
        fmpz_add(out, out, rows);
    }
    fmpz_clear(rows);
}

void hop__p10(hop__case *c, hop_bound *b)
{
    fmpz_t rows;
    fmpz_init(rows);
    all_rows(rows, c->q->arch);
    bool any = fmpz_sgn(rows) > 0;
    b->has = hop__say(c, "states of %s rows in all", hop__say_integer(c, rows));
    fmpz_clear(rows);
    if (!hop__suppose(
            c, b, any,
            "a linear layer whose keys can be one-hot: behind a SiLU (gdn, kda, deltanet, mamba2, with their "
            "convolutions), or linear attention with a product of maps"))
        return;
    demand d;
    if (c->by_sizes) {
        demand_of_sizes(&d, c->sizes, c->hops);
        answer(c, b, &d);
        demand_clear(&d, c->hops);
    } else if (c->asked) {
        if (demand_of_length(&d, c->hops, &c->n))
            answer(c, b, &d);
        else
            b->why = "no sizes of that many hops fit the length";
        demand_clear(&d, c->hops);
    } else {
        int64_t n = longest(c->q->arch, c->hops);
        fmpz_t length;
        fmpz_init_set_si(length, n);
        b->answer = n ? HOP_ANSWER_POSSIBLE : HOP_ANSWER_SILENT;
        if (n) b->up_to = hop__say_integer(c, length), b->log10_up_to = hop__log10(length);
        b->why = n ? hop__say(c, "possible up to n = %lld by states that hold tables", (long long)n)
                   : "too few layers, or too narrow ones, for the shortest prompt";
        fmpz_clear(length);
    }
}

hop_status hop_tables_held(const hop_arch *a, int64_t *n, hop_error *err)
{
    *n = 0;
    hop_status s = hop__arch_check(a, err);
    hop_arch_layer *linear = s == HOP_OK ? hop_alloc((size_t)(a->count + 1) * sizeof *linear) : NULL;
    if (s != HOP_OK) return s;
    if (!linear) return hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    hop_arch states = {.layers = linear, .width = a->width};
    for (int64_t i = 0; i < a->count; i++)
        if (a->layers[i].kind == HOP_LAYER_LINEAR) linear[states.count++] = a->layers[i];
    *n = longest(&states, 1);
    hop_free(linear);
    return HOP_OK;
}
