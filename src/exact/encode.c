/* The labels of an encoding, what ties them together, and how they are named. encode.h says what and
 * why. */
#include "encode.h"

#include <stdlib.h>

/* ---- shapes -------------------------------------------------------------------------------- */

int hop__first_open(const hop_exact_game *g, hop_bits bits, hop__mode mode)
{
    int open = g->players - 1;
    while (open > 1 && (mode == HOP__RELAXED || (double)g->count[open - 1] * (1 << bits.before) <=
                                                    (double)((int64_t)1 << bits.message)))
        open--;
    return open;
}

bool hop__restricted(const hop__encoding *e)
{
    return e->mode == HOP__AFFINE || e->mode == HOP__PICKED;
}

bool hop__in_formula(const hop__encoding *e, int64_t x0)
{
    return e->mode != HOP__AFFINE || (x0 & (x0 - 1)) == 0;
}

int hop__start_bits(const hop__encoding *e)
{
    return e->mode == HOP__PICKED && e->bits.message ? 0 : e->bits.before;
}

/* States in are functions of the inputs after z_L and of what left z_L. Restricted ones are to be affine in
 * z_L, so they have a label for each of its values instead. */
static int64_t state_count(const hop__encoding *e, int p)
{
    if (hop__restricted(e)) return hop__inputs_before(e->game, 0, p);
    return hop__inputs_before(e->game, 1, p) << hop__start_bits(e);
}

const hop__label *hop__state_label(const hop__encoding *e, const int64_t *x, int p, int64_t start)
{
    if (p == 1) return &e->start[x[0]];
    if (hop__restricted(e)) return &e->state[p][hop__index(e->game, x, 0, p)];
    return &e->state[p][(hop__index(e->game, x, 1, p) << hop__start_bits(e)) + start];
}

int64_t hop__states(const hop__encoding *e, int player)
{
    return player ? (int64_t)1 << e->bits.before : 1;
}

int hop__reply_bits(const hop__encoding *e, int to)
{
    return e->bits.message * (int)e->game->tokens[to];
}

bool hop__chain_is_free(const hop__encoding *e, int p)
{
    if (p == 0 || (p < e->game->players - 1 && e->mode == HOP__RELAXED)) return true;
    return p == 1 && hop__reply_bits(e, 1) >= e->bits.after;
}

bool hop__has_reply(const hop__encoding *e, int from, int to)
{
    bool speaks = from == 0 || (from < e->open && e->mode != HOP__PICKED);
    return e->bits.message > 0 && from < to && speaks &&
           (to == e->game->players - 1 || !hop__chain_is_free(e, to));
}

int64_t hop__inputs_before(const hop_exact_game *g, int from, int to)
{
    int64_t r = 1;
    for (int p = from; p < to; p++) r *= g->count[p];
    return r;
}

int64_t hop__index(const hop_exact_game *g, const int64_t *x, int from, int to)
{
    int64_t at = 0;
    for (int p = to - 1; p >= from; p--) at = at * g->count[p] + x[p];
    return at;
}

/* Who asks player 0 with a state that player 0 itself sent need not be told apart by it. */
static int64_t asker_states(const hop__encoding *e, int from, int to)
{
    return from == 0 && to == 1 ? 1 : hop__states(e, to);
}

int64_t hop__reply_at(const hop__encoding *e, const hop__view *v, int from, int to)
{
    int64_t at = v->x[from], askers = asker_states(e, from, to);
    at = at * hop__states(e, from) + (from ? v->state[from] : 0);
    at = at * e->game->count[to] + v->x[to];
    return at * askers + (askers > 1 ? v->state[to] : 0);
}

/* An open player's reply tells its input and its state; the states after it follow from these. */
static int known_state(const hop__encoding *e, int p)
{
    return e->open < p ? e->open : p;
}

int64_t hop__after_at(const hop__encoding *e, const hop__view *v, int p)
{
    int64_t at = v->chain * e->game->count[p] + v->x[p];
    at = at * hop__states(e, p) + v->state[known_state(e, p)];
    for (int i = 0; i < p; i++) {
        if (hop__has_reply(e, i, p)) at = at << hop__reply_bits(e, p) | v->heard[i];
        if (i >= e->open) at = at * e->game->count[i] + v->x[i];
    }
    return at;
}

int64_t hop__after_size(const hop__encoding *e, int p)
{
    int64_t n = (e->game->count[p] * hop__states(e, p)) << e->bits.after;
    for (int i = 0; i < p; i++) {
        if (hop__has_reply(e, i, p)) n <<= hop__reply_bits(e, p);
        if (i >= e->open) n *= e->game->count[i];
    }
    return n;
}

/* ---- labels -------------------------------------------------------------------------------- */

static hop__label *labels_new(hop__encoding *e, int64_t count, int bits)
{
    hop__label *l = malloc((size_t)count * sizeof *l);
    if (!l) e->f->failed = true;
    for (int64_t k = 0; k < count && l; k++)
        l[k] = hop__restricted(e) ? hop__label_bits(e->f, 1 << bits) : hop__label_new(e->f, 1 << bits);
    return l;
}

static void make_labels(hop__encoding *e)
{
    const hop_exact_game *g = e->game;
    const int last = g->players - 1;
    e->start = labels_new(e, g->count[0], hop__start_bits(e));
    for (int p = 1; p < last; p++) {
        e->before[p] = labels_new(e, hop__states(e, p) * g->count[p], e->bits.before);
        e->state[p + 1] = labels_new(e, state_count(e, p + 1), e->bits.before);
    }
    for (int j = 1; j <= last; j++)
        for (int i = 0; i < j; i++)
            if (hop__has_reply(e, i, j))
                e->reply[i][j] =
                    labels_new(e, g->count[i] * hop__states(e, i) * g->count[j] * asker_states(e, i, j),
                               hop__reply_bits(e, j));
    for (int p = e->mode == HOP__RELAXED ? last - 1 : 0; p < last; p++)
        e->chain[p] = labels_new(e, hop__inputs_before(g, 0, p + 1), e->bits.after);
    for (int p = 1; p <= last; p++) {
        if (hop__chain_is_free(e, p)) continue;
        int64_t size = hop__after_size(e, p);
        e->after[p] = malloc((size_t)size * sizeof(hop__label));
        if (!e->after[p]) e->f->failed = true;
        for (int64_t k = 0; k < size && e->after[p]; k++)
            e->after[p][k] = p == last            ? hop__label_bits(e->f, (int)g->answers)
                             : hop__restricted(e) ? hop__label_bits(e->f, 1 << e->bits.after)
                                                  : hop__label_new(e->f, 1 << e->bits.after);
    }
}

/* The state out of p that `in` and x_p give is the state in of the next player. */
static void tie_state(hop__encoding *e, const int64_t *x, int p, int64_t start)
{
    const hop__label *in = hop__state_label(e, x, p, start), *out = hop__state_label(e, x, p + 1, start);
    const bool known = p == 1 && !hop__restricted(e); /* in is start itself */
    for (int v = 0; v < in->values; v++) {
        int guard[32], n = 0;
        if (known && v != start) continue;
        if (!known) n = hop__label_not(in, v, guard);
        hop__label_equal(e->f, guard, n, out, &e->before[p][v * e->game->count[p] + x[p]]);
    }
}

static void tie_states(hop__encoding *e)
{
    const hop_exact_game *g = e->game;
    const int first = hop__restricted(e) ? 0 : 1;
    const int64_t starts = first ? (int64_t)1 << hop__start_bits(e) : 1;
    for (int p = 1; p < g->players - 1 && e->bits.before; p++) {
        int64_t x[HOP_EXACT_PLAYERS] = {0};
        for (int j = 0; j <= p;) {
            for (int64_t start = 0; start < starts && hop__in_formula(e, x[0]); start++)
                tie_state(e, x, p, start);
            for (j = first; j <= p && ++x[j] == g->count[j]; j++) x[j] = 0;
        }
    }
}

/* ---- names --------------------------------------------------------------------------------- */

static void name_in_order(hop__encoding *e, const hop__label *l, int64_t count, int64_t stride)
{
    for (int64_t k = 0; k < count && l; k++) hop__label_at_most(e->f, &l[k * stride], k);
}

static void name_labels(hop__encoding *e)
{
    const hop_exact_game *g = e->game;
    const int last = g->players - 1;
    name_in_order(e, e->start, g->count[0], 1);
    for (int p = 1; p < last; p++) name_in_order(e, e->before[p], hop__states(e, p) * g->count[p], 1);
    for (int j = 1; j <= last; j++) {
        int64_t questions = g->count[j] * asker_states(e, 0, j);
        for (int64_t q = 0; q < questions && e->reply[0][j]; q++)
            name_in_order(e, e->reply[0][j] + q, g->count[0], questions);
    }
    for (int p = 0; p < last; p++) {
        int64_t prefixes = hop__inputs_before(g, 0, p + 1), run = prefixes;
        if (e->mode == HOP__RELAXED)
            run = g->count[0]; /* w knows the other inputs and may have names for each */
        for (int64_t at = 0; at < prefixes && e->chain[p]; at += run)
            name_in_order(e, e->chain[p] + at, run, 1);
    }
}

/* ---- restrictions -------------------------------------------------------------------------- */

/* a + b + c + d = 0 over GF(2). */
static void add_parity(hop__cnf *f, const int *v)
{
    for (int odd = 0; odd < 16; odd++) {
        if (__builtin_popcount((unsigned)odd) % 2 == 0) continue;
        for (int k = 0; k < 4; k++) hop__cnf_put(f, odd >> k & 1 ? -v[k] : v[k]);
        hop__cnf_put(f, 0);
    }
}

/* The table's entries for one input are an affine function of `bits` bits of state: each follows from those
 * at 0 and at powers of two. Entry u stands at (u >> low) * stride + u's lowest bits. */
static void make_affine(hop__encoding *e, const hop__label *t, int bits, int low, int64_t stride)
{
    const int64_t mask = ((int64_t)1 << low) - 1;
    for (int64_t u = 3; u < (int64_t)1 << bits; u++) {
        const int64_t parts[] = {u, u & (u - 1), u & -u, 0};
        int v[4];
        if (!parts[1]) continue;
        for (int b = 0; 1 << b < t->values; b++) {
            for (int k = 0; k < 4; k++) v[k] = t[(parts[k] >> low) * stride + (parts[k] & mask)].first + b;
            add_parity(e->f, v);
        }
    }
}

static void make_tables_affine(hop__encoding *e)
{
    const hop_exact_game *g = e->game;
    const int before = e->bits.before, after = e->bits.after;
    for (int p = 1; p < g->players; p++)
        for (int64_t x = 0; x < g->count[p]; x++) {
            if (e->before[p]) make_affine(e, e->before[p] + x, before, 0, g->count[p]);
            if (e->after[p])
                make_affine(e, e->after[p] + (x << before), before + after, before, g->count[p] << before);
        }
}

/* Bit b of l[x * stride] is the value at 0, plus one bit of x or nothing: a variable for each says which. */
static void make_picked(hop__encoding *e, const hop__label *l, int64_t stride, int b)
{
    int width = 0, first = e->f->vars + 1;
    while ((int64_t)1 << width < e->game->count[0]) width++;
    e->f->vars += width + 1;
    for (int k = 0; k <= width; k++) hop__cnf_put(e->f, first + k);
    hop__cnf_put(e->f, 0);
    for (int k = 0; k <= width; k++)
        for (int64_t x = 1; x < e->game->count[0]; x++) {
            int here = l[x * stride].first + b, zero = l[0].first + b;
            if (x >> k & 1) zero = -zero; /* k = width: no x has that bit */
            hop__cnf_clause(e->f, (int[]){-(first + k), -here, zero}, 3);
            hop__cnf_clause(e->f, (int[]){-(first + k), here, -zero}, 3);
        }
}

static void pick_labels(hop__encoding *e, const hop__label *l, int64_t stride)
{
    for (int b = 0; l && 1 << b < l->values; b++) make_picked(e, l, stride, b);
}

static void pick_all(hop__encoding *e)
{
    const hop_exact_game *g = e->game;
    const int last = g->players - 1;
    pick_labels(e, e->start, 1);
    for (int j = 1; j <= last; j++) {
        int64_t questions = g->count[j] * asker_states(e, 0, j);
        for (int64_t q = 0; q < questions && e->reply[0][j]; q++)
            pick_labels(e, e->reply[0][j] + q, questions);
    }
    for (int p = 0; p < last; p++)
        for (int64_t at = 0; at < hop__inputs_before(g, 0, p + 1); at += g->count[0]) {
            pick_labels(e, e->chain[p] + at, 1);
            if (p) pick_labels(e, e->state[p + 1] + at, 1);
        }
}

/* ---- public -------------------------------------------------------------------------------- */

/* Messages that have no labels, because whoever sends them may be taken to say all. */
static void describe_reductions(hop__encoding *e)
{
    const hop_exact_game *g = e->game;
    hop_text *out = &e->f->comment;
    for (int p = e->open; p < g->players - 1; p++)
        hop_text_printf(
            out,
            "Open: z_%d with its state fits into the message bits, so it loses nothing by replying "
            "with both to everybody,\nwho know what they asked; those after it know them, and its "
            "replies have no labels.\n",
            g->hops - p);
    if (hop__chain_is_free(e, 1))
        hop_text_printf(
            out,
            "Free: the tokens of z_%d hear %d bits of z_%d, no fewer than the state that leaves "
            "them after the epoch has, so z_%d,\nwhich knows the question and hence z_%d, may send "
            "that state: it is any function of the two, and has no table.\n",
            g->hops - 1, hop__reply_bits(e, 1), g->hops, g->hops, g->hops - 1);
}

static void describe(hop__encoding *e)
{
    static const char *const says[] = {
        [HOP__DIRECT] = "Satisfiable exactly when there is a protocol.",
        [HOP__RELAXED] =
            "Every protocol satisfies it, so unsatisfiable means that there is none: w is told for "
            "free what all players\nbut the first knew before the epoch, and the last state is any "
            "function of z_L, .., z_0.",
        [HOP__AFFINE] = ("Satisfiable only if there is a protocol (with affine tables; z_L with at most one "
                         "bit set are enough)."),
        [HOP__PICKED] = "Satisfiable only if there is a protocol (with messages that are bits of z_L)."};
    const hop_exact_game *g = e->game;
    hop_text *out = &e->f->comment;
    hop_text_printf(
        out,
        "%d-hop function composition, m %lld, fan %lld: is there a protocol? State bits before the "
        "epoch: %d,\nmessage bits in it: %d, state bits after it: %d.\n%s\n"
        "Each message has a label for each thing its sender can know; a receiver's table maps what "
        "it knows to what it sends,\nthe last one's to the answer. Labels are named in the order "
        "of first use, so the k-th is at most k.\n",
        g->hops, (long long)g->m, (long long)g->fan, e->bits.before, e->bits.message, e->bits.after,
        says[e->mode]);
    if (e->mode == HOP__DIRECT) describe_reductions(e);
}

hop_status hop__encoding_new(hop__encoding **out, const hop_exact_game *g, hop_bits bits, hop__mode mode,
                             hop_error *err)
{
    hop__encoding *e = calloc(1, sizeof *e);
    *out = e;
    if (!e) return hop_fail(err, HOP_ENOMEM, "no memory for the formula");
    *e = (hop__encoding){.game = g, .bits = bits, .mode = mode, .open = hop__first_open(g, bits, mode)};
    e->f = calloc(1, sizeof *e->f);
    if (e->f) {
        describe(e);
        make_labels(e);
    }
    if (e->f && !e->f->failed) {
        tie_states(e);
        if (mode == HOP__AFFINE)
            make_tables_affine(e);
        else if (mode == HOP__PICKED)
            pick_all(e);
        else
            name_labels(e);
        for (int p = 1; p < g->players; p++)
            if (e->after[p]) hop__encode_player(e, p);
    }
    if (e->f && !e->f->failed && !e->f->comment.failed) return HOP_OK;
    hop__encoding_free(e);
    *out = NULL;
    return hop_fail(err, HOP_ENOMEM, "no memory for the formula");
}

void hop__encoding_free(hop__encoding *e)
{
    if (!e) return;
    free(e->start);
    for (int p = 0; p < HOP_EXACT_PLAYERS; p++) {
        free(e->before[p]);
        free(e->state[p]);
        free(e->chain[p]);
        free(e->after[p]);
        for (int j = 0; j < HOP_EXACT_PLAYERS; j++) free(e->reply[p][j]);
    }
    if (e->f) hop__cnf_free(e->f);
    free(e->f);
    free(e);
}
