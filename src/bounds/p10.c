/* P10: a hop by a state. A linear layer whose state holds a whole table does the hop that a full layer does:
 * a row of B numbers for every entry, one-hot keys. So with L+1 layers in any order, full or such linear
 * ones, L hops are made: the first brings z_0 to the last token, and every hop is served by the next layer
 * that can. The weights are those of `build mixed` (docs/THEORY.md section 5.3), and only what these take is
 * claimed: linear attention whose feature map is a product of two affine maps, without normaliser, in
 * float32; N_{e-1} keys in one head, values of B numbers; full layers as P1 has them; a residual stream with
 * room for the one-hot parts of an address.
 *
 * Served greedily: tables grow from hop to hop, so a layer that can do a hop can do all before it, and to
 * leave one out never helps. */
#include "room.h"

#include <math.h>

#define FLOAT_BITS 32
#define MOST_ROWS  2048 /* that are built: feature maps are matrices of as many rows and columns */

/* What hops ask at given sizes, or at a length: the largest over all sizes that fit. */
typedef struct demand {
    hop__need full;           /* of full layers */
    fmpz table[HOP_MAX_HOPS]; /* N_0 .. N_{L-1} */
    fmpz extra[HOP_MAX_HOPS]; /* columns of the stream for hop e = 1 .. where it is linear; [e - 1] */
    int64_t base;             /* columns without these */
} demand;

static void demand_clear(demand *d, int hops)
{
    for (int l = 0; l < hops; l++) fmpz_clear(&d->table[l]), fmpz_clear(&d->extra[l]);
}

static void set_base(demand *d, int hops, hop__bits bits)
{
    d->full = hop__need_of(hops, bits);
    d->base = hops + 2 + bits.stream + hops * bits.code; /* who, at, val, dig, and L+1 registers */
}

/* One-hot parts twice over: 2 m for the first hop, 2 (n_{e-1} + N_{e-2}) for hop e. */
static void demand_of_sizes(demand *d, const fmpz *sizes, int hops)
{
    *d = (demand){0};
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

/* No table is longer than the largest, and no sum x + N/x, x >= 2, is more than N/2 + 2; the first hop's is 2
 * m. */
static bool demand_of_length(demand *d, int hops, const fmpz_t n)
{
    fmpz sizes[HOP_MAX_HOPS] = {0};
    fmpz_t table;
    fmpz_init(table);
    *d = (demand){0};
    bool fits = hop__largest_table(table, sizes, hops, n);
    if (fits) set_base(d, hops, hop__most_bits(hops, n));
    for (int l = 0; fits && l < hops; l++) {
        fmpz_set(&d->table[l], table);
        fmpz_mul_2exp(&d->extra[l], table, l == 0);
        fmpz_add_ui(&d->extra[l], &d->extra[l], 4);
    }
    for (int l = 0; l < hops; l++) fmpz_clear(&sizes[l]);
    fmpz_clear(table);
    return fits;
}

/* Does the state hold `rows` rows of B numbers? */
static bool holds(const hop_arch_layer *l, const fmpz_t rows, int64_t bits)
{
    if (l->kind != HOP_LAYER_LINEAR || l->number_bits < FLOAT_BITS || l->row_numbers < bits) return false;
    if (fmpz_cmp_si(rows, l->rows < MOST_ROWS ? l->rows : MOST_ROWS) > 0) return false;
    fmpz_t all;
    fmpz_init(all);
    fmpz_mul_si(all, rows, bits);
    fmpz_mul_si(all, all, l->number_bits);
    bool enough = fmpz_cmp_si(all, l->state_bits) <= 0;
    fmpz_clear(all);
    return enough;
}

typedef struct service {
    int hops;       /* served, of those asked */
    int64_t linear; /* hops by a state */
    bool narrow;    /* the stream is too narrow for all of them */
} service;

static service serve(const hop_arch *a, const demand *d, int hops)
{
    service s = {.hops = -1};
    fmpz_t width, one;
    fmpz_init_set_si(width, d->base);
    fmpz_init_set_ui(one, 1);
    for (int64_t i = 0; i < a->count && s.hops < hops; i++)
        for (int64_t k = 0; k < a->layers[i].repeat && s.hops < hops; k++) {
            const hop_arch_layer *l = &a->layers[i];
            bool full = hop__full_serves(l, &d->full);
            bool state = !full && holds(l, s.hops < 0 ? one : &d->table[s.hops], d->full.value);
            if (!full && !state) break; /* nor do those that repeat it */
            if (state && s.hops >= 0) fmpz_add(width, width, &d->extra[s.hops]), s.linear++;
            s.hops++;
        }
    s.narrow = a->width && fmpz_cmp_si(width, a->width) > 0;
    fmpz_clear(width), fmpz_clear(one);
    return s;
}

static bool served(const service *s, int hops)
{
    return s->hops == hops && !s->narrow;
}

/* With codes, or, where no full layer is among those that serve, an entry in one number (`build linear`):
 * rows of one number, and who, one value and L+1 registers in the stream. *numbers: of a row. */
static service serve_best(const hop_arch *a, const demand *d, int hops, int64_t *numbers)
{
    service s = serve(a, d, hops);
    demand whole = *d; /* only looked at */
    whole.full.value = 1;
    whole.full.key = INT64_MAX;
    whole.base = 2 * (int64_t)hops + 4;
    service t = serve(a, &whole, hops);
    bool better = !served(&s, hops) && served(&t, hops);
    *numbers = better ? 1 : d->full.value;
    return better ? t : s;
}

static bool able_at(const hop_arch *a, int hops, const fmpz_t n, service *s)
{
    demand d;
    bool fits = demand_of_length(&d, hops, n);
    int64_t numbers;
    *s = fits ? serve_best(a, &d, hops, &numbers) : (service){.hops = -1};
    demand_clear(&d, hops);
    return fits && served(s, hops);
}

bool hop__state_able(const hop_arch *a, int hops, int64_t n)
{
    service s;
    fmpz_t length;
    fmpz_init_set_si(length, n);
    bool able = hops > 0 && n > 0 && able_at(a, hops, length, &s);
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

static const char *way(hop__case *c, const service *s, int64_t numbers)
{
    return hop__say(c, "%lld of the hops by states that hold their tables (`build %s`)", (long long)s->linear,
                    numbers == 1 ? "linear" : "mixed");
}

/* 32 times the numbers of a row times (N_0 + .. + N_{L-1}) over N_{L-1} log2 N_{L-1}. */
static double factor(const demand *d, int hops, int64_t numbers)
{
    double last = hop__to_log2(&d->table[hops - 1]), sum = 0;
    for (int l = 0; l < hops; l++) sum += exp2(hop__to_log2(&d->table[l]) - last);
    return FLOAT_BITS * (double)numbers * sum / last;
}

static void answer(hop__case *c, hop_bound *b, const demand *d)
{
    int64_t numbers;
    service s = serve_best(c->q->arch, d, c->hops, &numbers);
    b->needs =
        hop__say(c, "%d layers in a row that serve; states of up to %s rows of %lld number%s, 32 bits each",
                 c->hops + 1, hop__say_integer(c, &d->table[c->hops - 1]), (long long)numbers,
                 numbers == 1 ? "" : "s");
    if (s.hops == c->hops && !s.narrow) {
        b->answer = HOP_ANSWER_POSSIBLE;
        b->why = c->by_sizes && s.linear == c->hops
                     ? hop__say(c, "possible: %s; they take %.4g times the bits that P2 demands",
                                way(c, &s, numbers), factor(d, c->hops, numbers))
                     : hop__say(c, "possible: %s", way(c, &s, numbers));
    } else if (s.hops == c->hops) {
        b->why =
            hop__say(c, "enough layers, but a residual width of %lld is too narrow for one-hot addresses",
                     (long long)c->q->arch->width);
    } else {
        b->why =
            hop__say(c, "only %d hops are served by layers wide enough, or by states that hold their tables",
                     s.hops > 0 ? s.hops : 0);
    }
}

void hop__p10(hop__case *c, hop_bound *b)
{
    int64_t most = 0;
    for (int64_t i = 0; i < c->q->arch->count; i++)
        if (c->q->arch->layers[i].rows > most) most = c->q->arch->layers[i].rows;
    b->has = hop__say(c, "states of up to %lld rows", (long long)most);
    if (!hop__suppose(c, b, most > 0,
                      "a linear layer whose keys can be one-hot: linear attention with a product of maps"))
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
        b->answer = n ? HOP_ANSWER_POSSIBLE : HOP_ANSWER_SILENT;
        b->why = n ? hop__say(c, "possible up to n = %lld by states that hold tables", (long long)n)
                   : "too few layers, or too narrow ones, for the shortest prompt";
    }
}
