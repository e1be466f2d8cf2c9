/* Decides cells: which formulas are put to the solver, in which order, for how long.
 *
 * An impossible cell is shown by any formula that every protocol satisfies, a possible one by any formula
 * whose models are protocols; encode.h has both kinds, and none is best everywhere. They take turns
 * with growing shares of time. A protocol is believed only after it was played on all inputs. */
#include <hopbound/exact.h>
#include <hopbound/words.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "solver.h"
#include "theory.h"

#define MAX_CELLS   4096
#define MAX_BITS    24
#define MAX_CLAUSES 5e6 /* larger formulas were never seen to be solved */
#define FIRST_TURN  3.0 /* seconds; each round three times as long */

struct hop_exact {
    hop_exact_options o;
    hop_exact_game game;
    double deadline;
    char solver[64];
    hop_exact_cell *cells;
    hop_protocol **protocols; /* one a cell, NULL where it has none of its own */
    int count;
};

const char *const hop_cell_verdict_words[] = {"undecided", "impossible", "possible", NULL};

const char *hop_cell_verdict_name(hop_cell_verdict v)
{
    return hop_cell_verdict_words[v];
}

bool hop_exact_refutes(const hop_exact_cell *c)
{
    return c->verdict == HOP_CELL_POSSIBLE &&
           (c->refuted_below || c->p2 == HOP_ANSWER_IMPOSSIBLE || c->p4 == HOP_ANSWER_IMPOSSIBLE ||
            c->p5 == HOP_ANSWER_IMPOSSIBLE);
}

/* ---- formulas ------------------------------------------------------------------------------ */

/* In the order of their turns. RELAXED leaves more to the solver than CORE, which takes the first half of
 * P4's proof for granted: where it is quick enough, it is the better check of P4. */
typedef enum formula { CUT, RELAXED, CORE, PICKED, AFFINE, DIRECT, FORMULAS } formula;

/* clang-format off */
static const struct {
    const char *name;
    hop__mode mode;       /* of those that hop__encoding_new makes */
    bool refutes, builds; /* what its answers are good for */
    double weight;        /* of its turns: those that settle hard cells get more */
} KINDS[FORMULAS] = {
    [CUT] = {"cut", HOP__DIRECT, true, false, 1},
    [CORE] = {"core", HOP__DIRECT, true, false, 8},
    [RELAXED] = {"relaxed", HOP__RELAXED, true, false, 1},
    [PICKED] = {"picked", HOP__PICKED, false, true, 4},
    [AFFINE] = {"affine", HOP__AFFINE, false, true, 8},
    [DIRECT] = {"direct", HOP__DIRECT, true, true, 1},
};
/* clang-format on */

/* Clauses it takes here; infinity where it has nothing to say. */
static double cost(const hop_exact *x, formula k, hop_bits b)
{
    const hop_exact_game *g = &x->game;
    bool silent = b.message == 0;
    switch (k) {
    case CUT: /* as many states as tables: nothing to refute */
        return silent && hop__exact_p2(g, b) == HOP_ANSWER_IMPOSSIBLE
                   ? hop__cut_clauses(g, b.before + b.after)
                   : INFINITY;
    case CORE: return silent ? INFINITY : hop__core_clauses(g, b);
    case RELAXED: return silent ? INFINITY : hop__encoding_clauses(g, b, HOP__RELAXED);
    case PICKED:
    case AFFINE: /* need bits that are the table's own */
        if (g->answers & (g->answers - 1) || (k == AFFINE && !silent) || !hop_protocol_fits(g, b))
            return INFINITY;
        return hop__encoding_clauses(g, b, KINDS[k].mode);
    case DIRECT:
    case FORMULAS: break;
    }
    return hop__encoding_clauses(g, b, HOP__DIRECT);
}

typedef struct turn {
    formula kind;
    hop_bits bits;
    double deadline;
} turn;

static void proof_name(const hop_exact *x, hop_bits b, char *out, size_t size)
{
    snprintf(out, size, "%s/exact-hops%d-m%lld-fan%lld-before%d-message%d-after%d", x->o.proof_dir,
             x->game.hops, (long long)x->game.m, (long long)x->game.fan, b.before, b.message, b.after);
}

static hop_status solve(const hop_exact *x, const turn *t, const hop__cnf *f, hop__sat *answer,
                        signed char **model, hop_error *err)
{
    char what[80], proof[900];
    if (x->o.proof_dir) proof_name(x, t->bits, proof, sizeof proof);
    snprintf(what, sizeof what, "before %d message %d after %d, %s: seconds", t->bits.before, t->bits.message,
             t->bits.after, KINDS[t->kind].name);
    const hop__solve o = {.deadline = t->deadline,
                          .seed = x->o.seed,
                          .proof = x->o.proof_dir && KINDS[t->kind].refutes ? proof : NULL,
                          .what = what,
                          .progress = x->o.progress};
    return hop__solver_run(&o, f, answer, model, err);
}

/* Formulas of one idea each, that no protocol is read from. */
static hop_status refute(const hop_exact *x, const turn *t, hop__sat *answer, hop_error *err)
{
    hop__cnf f = {0};
    signed char *model = NULL;
    if (t->kind == CUT)
        hop__cut_encode(&f, &x->game, t->bits.before + t->bits.after);
    else
        hop__core_encode(&f, &x->game, t->bits);
    hop_status s = solve(x, t, &f, answer, &model, err);
    free(model);
    hop__cnf_free(&f);
    return s;
}

/* The game itself, restricted or relaxed. A protocol comes out only after it was played on all inputs. */
static hop_status encode_and_solve(const hop_exact *x, const turn *t, hop__sat *answer, hop_protocol **found,
                                   hop_error *err)
{
    hop__encoding *e = NULL;
    signed char *model = NULL;
    hop_status s = hop__encoding_new(&e, &x->game, t->bits, KINDS[t->kind].mode, err);
    if (s != HOP_OK) return s;
    s = solve(x, t, e->f, answer, &model, err);
    if (s == HOP_OK && *answer == HOP__SAT_YES && KINDS[t->kind].builds &&
        hop_protocol_fits(&x->game, t->bits)) {
        s = hop__encoding_protocol(e, model, found, err);
        if (s == HOP_OK) s = hop_protocol_check(*found, err);
        if (s != HOP_OK) {
            hop_protocol_free(*found);
            *found = NULL;
        }
    }
    free(model);
    hop__encoding_free(e);
    return s;
}

/* ---- one cell ------------------------------------------------------------------------------ */

/* How long it is looked at: one round of turns; until half of the time that is left is spent; or all. */
typedef enum effort { ROUND, HALF, ALL } effort;

/* How many formulas are small enough to be tried, which, and how big the smallest is. */
static int choose_formulas(const hop_exact *x, hop_bits b, bool *open, double *least)
{
    int count = 0;
    *least = INFINITY;
    for (int k = 0; k < FORMULAS; k++) {
        double clauses = cost(x, (formula)k, b);
        open[k] = clauses <= MAX_CLAUSES;
        count += open[k];
        *least = fmin(*least, clauses);
    }
    return count;
}

/* One call of the solver; what it settles goes into the cell. `open` loses the formulas that have spoken. */
static hop_status take_turn(hop_exact *x, const turn *t, hop_exact_cell *c, hop_protocol **found, bool *open,
                            hop_error *err)
{
    hop__sat answer = HOP__SAT_UNKNOWN;
    hop_status s = t->kind == CUT || t->kind == CORE ? refute(x, t, &answer, err)
                                                     : encode_and_solve(x, t, &answer, found, err);
    if (s != HOP_OK || answer == HOP__SAT_UNKNOWN) return s;
    *open = false;
    if (answer == HOP__SAT_NO && KINDS[t->kind].refutes) c->verdict = HOP_CELL_IMPOSSIBLE;
    if (answer == HOP__SAT_YES && *found) c->verdict = HOP_CELL_POSSIBLE;
    if (c->verdict != HOP_CELL_UNDECIDED) c->by = KINDS[t->kind].name;
    return HOP_OK;
}

/* All formulas in turn, until one settles it. */
static hop_status search(hop_exact *x, hop_exact_cell *c, effort how, hop_protocol **found, hop_error *err)
{
    bool open[FORMULAS];
    double least, began = hop_now(), deadline = x->deadline;
    int left = choose_formulas(x, c->bits, open, &least);
    c->by = left ? "budget spent" : "too big";
    if (!left || (deadline > 0 && began > deadline)) return HOP_OK;
    if (deadline > 0 && how != ALL) {
        deadline = began + (deadline - began) / 2;
        c->by = "share spent";
    }
    for (double share = FIRST_TURN; left && (how != ROUND || share == FIRST_TURN); share *= 3)
        for (int k = 0; k < FORMULAS; k++) {
            double now = hop_now(), until = left == 1 && how != ROUND ? 0 : now + share * KINDS[k].weight;
            if (!open[k]) continue;
            if (deadline > 0 && now > deadline) return HOP_OK;
            if (deadline > 0 && (until == 0 || until > deadline)) until = deadline;
            hop_status s = take_turn(x, &(turn){(formula)k, c->bits, until}, c, found, &open[k], err);
            if (s != HOP_OK || c->verdict != HOP_CELL_UNDECIDED) return s;
            left -= !open[k];
        }
    if (!left) c->by = "no formula decides it";
    return HOP_OK;
}

/* ---- cells that rest on each other ----------------------------------------------------------- */

/* The cell's place in the list, or where it would go. */
static int place_of(const hop_exact *x, hop_bits b)
{
    int i = 0;
    while (i < x->count && memcmp(&x->cells[i].bits, &b, sizeof b) != 0) i++;
    return i;
}

static hop_status decide(hop_exact *x, hop_bits b, effort how, const hop_exact_cell **out, hop_error *err);

/* A protocol that needs fewer bits is one here. Cells that nobody asked for get one round of turns each. */
static hop_status inherit(hop_exact *x, hop_exact_cell *c, hop_error *err)
{
    const hop_bits b = c->bits;
    const hop_bits fewer[] = {
        {b.before, b.message - 1, b.after},
        {b.before ? b.before - 1 : 0, b.message, b.after ? b.after - 1 : 0},
    };
    const bool there[] = {b.message > 0, b.before + b.after > 0};
    for (int i = 0; i < 2 && c->verdict == HOP_CELL_UNDECIDED; i++) {
        const hop_exact_cell *less = NULL;
        hop_status s = there[i] ? decide(x, fewer[i], ROUND, &less, err) : HOP_OK;
        if (s != HOP_OK) return s;
        if (!less || less->verdict != HOP_CELL_POSSIBLE) continue;
        c->verdict = HOP_CELL_POSSIBLE;
        c->by = "fewer bits";
        c->from = less->from;
        c->protocol = less->protocol;
        c->refuted_below = hop_exact_refutes(less);
    }
    return HOP_OK;
}

static hop_status decide(hop_exact *x, hop_bits b, effort how, const hop_exact_cell **out, hop_error *err)
{
    int at = place_of(x, b);
    hop_exact_cell c;
    hop_protocol *found = NULL;
    *out = &x->cells[at];
    if (at < x->count && (how == ROUND || (*out)->verdict != HOP_CELL_UNDECIDED)) return HOP_OK;
    hop_exact_theorems(x, b, &c);
    hop_status s = inherit(x, &c, err);
    double began = hop_now();
    if (s == HOP_OK && c.verdict == HOP_CELL_UNDECIDED) s = search(x, &c, how, &found, err);
    at = place_of(x, b); /* those with fewer bits came first */
    if (s == HOP_OK && at == MAX_CELLS) s = hop_fail(err, HOP_ERANGE, "more than %d cells", MAX_CELLS);
    if (s != HOP_OK) {
        hop_protocol_free(found);
        return s;
    }
    c.seconds = hop_now() - began;
    if (found) c.protocol = x->protocols[at] = found;
    x->cells[at] = c;
    x->count += at == x->count;
    *out = &x->cells[at];
    return HOP_OK;
}

/* ---- public -------------------------------------------------------------------------------- */

hop_status hop_exact_new(hop_exact **out, const hop_exact_options *o, hop_error *err)
{
    hop_exact *x = calloc(1, sizeof *x);
    hop_status s = x ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    *out = NULL;
    if (s == HOP_OK) {
        x->o = *o;
        x->deadline = o->budget > 0 ? hop_now() + o->budget : 0;
        s = hop_exact_game_init(&x->game, o->hops, o->m, o->fan, err);
    }
    if (s == HOP_OK) s = hop__solver_version(x->solver, sizeof x->solver, err);
    if (s == HOP_OK && o->proof_dir && strlen(o->proof_dir) > 700)
        s = hop_fail(err, HOP_ERANGE, "%.60s..: the directory's name is too long", o->proof_dir);
    if (s == HOP_OK && o->proof_dir) s = hop_make_dir(o->proof_dir, err);
    if (s == HOP_OK) {
        x->cells = calloc(MAX_CELLS + 1, sizeof *x->cells);
        x->protocols = calloc(MAX_CELLS, sizeof *x->protocols);
        if (!x->cells || !x->protocols) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    if (s != HOP_OK) {
        hop_exact_free(x);
        return s;
    }
    *out = x;
    return HOP_OK;
}

void hop_exact_free(hop_exact *x)
{
    if (!x) return;
    for (int i = 0; i < x->count; i++) hop_protocol_free(x->protocols[i]);
    free(x->protocols);
    free(x->cells);
    free(x);
}

const char *hop_exact_solver(const hop_exact *x)
{
    return x->solver;
}

void hop_exact_theorems(const hop_exact *x, hop_bits b, hop_exact_cell *out)
{
    *out = (hop_exact_cell){.bits = b,
                            .from = b,
                            .by = "not looked at",
                            .p2 = hop__exact_p2(&x->game, b),
                            .p4 = hop__exact_p4(&x->game, b),
                            .p5 = x->o.linear_only ? HOP_ANSWER_SILENT : hop__exact_p5(&x->game, b)};
}

hop_status hop_exact_fits(const hop_exact *x, hop_bits b, hop_error *err)
{
    bool open[FORMULAS];
    double least;
    if (choose_formulas(x, b, open, &least)) return HOP_OK;
    return hop_fail(
        err, HOP_ERANGE,
        "before %d, message %d, after %d bits: too big, the smallest formula for %lld tables z_%d has "
        "about %.2g clauses (at most %.2g are tried)",
        b.before, b.message, b.after, (long long)x->game.count[0], x->game.hops, least, MAX_CLAUSES);
}

hop_status hop_exact_decide(hop_exact *x, hop_bits b, bool last, hop_exact_cell *out, hop_error *err)
{
    const hop_exact_cell *c = NULL;
    if (b.before < 0 || b.message < 0 || b.after < 0 || b.before > MAX_BITS || b.message > MAX_BITS ||
        b.after > MAX_BITS)
        return hop_fail(err, HOP_ERANGE, "bits: outside 0..%d", MAX_BITS);
    if (x->o.linear_only && (b.message || b.before))
        return hop_fail(err, HOP_EDOMAIN,
                        "bits: without a full layer there are no messages, and nothing before it");
    hop_status s = decide(x, b, last ? ALL : HALF, &c, err);
    if (s == HOP_OK) *out = *c;
    return s;
}
