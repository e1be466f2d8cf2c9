/* The labels of an encoding, what ties them together, and how they are named. exact_encode.h says what and
 * why. */
#include "exact_encode.h"

#include <stdlib.h>

/* ---- shapes -------------------------------------------------------------------------------- */

int hop__first_open(const hop_game *g, hop_bits bits, hop__mode mode)
{
    int open = g->players - 1;
    while (open > 1 && (mode == HOP__RELAXED || (double)g->count[open - 1] * (1 << bits.before) <=
                                                    (double)((int64_t)1 << bits.message)))
        open--;
    return open;
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
    return e->bits.message > 0 && from < to && (from == 0 || from < e->open) &&
           (to == e->game->players - 1 || !hop__chain_is_free(e, to));
}

int64_t hop__inputs_before(const hop_game *g, int from, int to)
{
    int64_t r = 1;
    for (int p = from; p < to; p++) r *= g->count[p];
    return r;
}

int64_t hop__index(const hop_game *g, const int64_t *x, int from, int to)
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
        l[k] = e->mode == HOP__AFFINE ? hop__label_bits(e->f, 1 << bits) : hop__label_new(e->f, 1 << bits);
    return l;
}

static void make_labels(hop__encoding *e)
{
    const hop_game *g = e->game;
    const int last = g->players - 1;
    e->start = labels_new(e, g->count[0], e->bits.before);
    for (int p = 1; p < last; p++) {
        e->before[p] = labels_new(e, hop__states(e, p) * g->count[p], e->bits.before);
        e->state[p + 1] = labels_new(e, hop__inputs_before(g, 1, p + 1) * hop__states(e, 1), e->bits.before);
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
            e->after[p][k] = p == last                ? hop__label_bits(e->f, (int)g->answers)
                             : e->mode == HOP__AFFINE ? hop__label_bits(e->f, 1 << e->bits.after)
                                                      : hop__label_new(e->f, 1 << e->bits.after);
    }
}

/* The states before the epoch: state[p + 1][.., x_p][start] = before[p][state[p][..][start]][x_p]. */
static void tie_states(hop__encoding *e)
{
    const hop_game *g = e->game;
    const int64_t states = hop__states(e, 1);
    for (int p = 1; p < g->players - 1; p++) {
        int64_t earlier = hop__inputs_before(g, 1, p);
        for (int64_t at = 0; at < earlier * g->count[p] * states; at++) {
            int64_t start = at % states, inputs = at / states, x = inputs / earlier;
            const hop__label *out = &e->state[p + 1][at];
            for (int64_t in = 0; in < states; in++) {
                int guard[32], n = 0;
                if (p == 1 && in != start) continue;
                if (p > 1)
                    n = hop__label_not(&e->state[p][inputs % earlier * states + start], (int)in, guard);
                hop__label_equal(e->f, guard, n, out, &e->before[p][in * g->count[p] + x]);
            }
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
    const hop_game *g = e->game;
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

/* ---- affine -------------------------------------------------------------------------------- */

/* a + b + c + d = 0 over GF(2). */
static void add_parity(hop__cnf *f, const int *v)
{
    for (int odd = 0; odd < 16; odd++) {
        if (__builtin_popcount((unsigned)odd) % 2 == 0) continue;
        for (int k = 0; k < 4; k++) hop__cnf_put(f, odd >> k & 1 ? -v[k] : v[k]);
        hop__cnf_put(f, 0);
    }
}

/* l[x * stride] is an affine function of the bits of x: it follows from its values at 0 and at powers of two.
 */
static void make_affine(hop__encoding *e, const hop__label *l, int64_t stride)
{
    if (!l || l->values == 1) return;
    for (int64_t x = 3; x < e->game->count[0]; x++) {
        int64_t low = x & -x, rest = x & (x - 1);
        if (!rest) continue;
        for (int b = 0; 1 << b < l->values; b++)
            add_parity(e->f, (int[]){l[x * stride].first + b, l[rest * stride].first + b,
                                     l[low * stride].first + b, l[0].first + b});
    }
}

static void make_all_affine(hop__encoding *e)
{
    const hop_game *g = e->game;
    const int last = g->players - 1;
    make_affine(e, e->start, 1);
    for (int j = 1; j <= last; j++) {
        int64_t questions = g->count[j] * asker_states(e, 0, j);
        for (int64_t q = 0; q < questions && e->reply[0][j]; q++)
            make_affine(e, e->reply[0][j] + q, questions);
    }
    for (int p = 0; p < last; p++)
        for (int64_t at = 0; at < hop__inputs_before(g, 0, p + 1); at += g->count[0])
            make_affine(e, e->chain[p] + at, 1);
}

/* ---- public -------------------------------------------------------------------------------- */

static void describe(hop__encoding *e)
{
    static const char *const says[] = {
        "Satisfiable exactly when there is a protocol.",
        "Satisfiable only if there is a protocol (every message an affine function of z_L's bits).",
        "Every protocol satisfies it, so unsatisfiable means that there is none: w is told for free what all "
        "players "
        "but the first knew\nbefore the epoch, and the last state is any function of z_L, .., z_0."};
    hop_text_printf(
        &e->f->comment,
        "%d-hop function composition, m %lld, fan %lld: is there a protocol with %d state bits before "
        "the epoch,\n%d message bits in it and %d state bits after it?\n%s\n"
        "Each message has a label for each thing its sender can know; a receiver's table maps what it "
        "knows to what it sends,\nthe last one's to the answer. Labels are named in the order of first "
        "use, so the k-th is at most k.\n",
        e->game->hops, (long long)e->game->m, (long long)e->game->fan, e->bits.before, e->bits.message,
        e->bits.after, says[e->mode]);
}

hop_status hop__encoding_new(hop__encoding **out, const hop_game *g, hop_bits bits, hop__mode mode,
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
            make_all_affine(e);
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
