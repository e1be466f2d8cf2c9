/* Layer 0 as a recurrence: what the last token gets from the state, for every input, by running the mixer's
 * own step.
 *
 * Intervals through sixteen different recurrences would be sixteen proofs. But before layer 0 a token is its
 * two table rows, and a mixer sees of them only the coordinates that its matrices have columns for. So tokens
 * fall into few classes, and a class can simply be run:
 *   1. every class of token that can stand before z_0 leaves the state exactly as it was, zero. By induction
 * the state that meets z_0 is zero, whatever the tables hold and however long they are;
 *   2. each of the m values of z_0 leaves its own state;
 *   3. for each of these and each class of w, the last token's output is what the step says.
 * Nothing is rounded away: these are the program's own float32 numbers. Only the chunked form, which `run`
 * uses, may sum in another order; that it agrees to 1e-5 is a law that tests check for every mixer
 * (tests/test_mixers.c), and ten times as much is allowed for here.
 *
 * Inputs that short convolutions and token shifts remember are part of the state too. They change with every
 * token, so the weights must show that they are not looked at: all older taps, all shifts, zero. */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM_ERROR 1e-4
#define MOST_STEPS ((int64_t)1 << 24)

typedef struct stepping {
    hop__analysis *a;
    const hop_mixer_ops *ops;
    hop_list what;
    hop_mixer_config c;
    const float *params[HOP_MIXER_MAX_PARAMS];
    hop_param list[HOP_MIXER_MAX_PARAMS];
    int param_count;
    int64_t floats, core; /* of the state; core: without remembered inputs */
    int *seen;            /* coordinates that the mixer has columns for */
    int seen_count;
    float *states; /* [m, floats]: after z_0 */
    ival *out;     /* [m, d]: the mixer's output at the last token, over all w */
    ival *out_any; /* [d]: at any token */
    bool *writes;  /* [d] */
    int64_t steps;
} stepping;

/* ---- what the mixer looks at ----------------------------------------------------------------- */

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool all_zero(const float *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (w[i] != 0) return false;
    return true;
}

/* Are remembered inputs without influence? Older taps of short convolutions, and the weights of token shifts.
 */
static bool past_is_idle(const stepping *s)
{
    for (int i = 0; i < s->param_count; i++) {
        const hop_param *p = &s->list[i];
        const float *w = s->params[i];
        if (strstr(p->name, "conv1d.weight") || strstr(p->name, "conv_1d.weight"))
            for (int64_t r = 0; r < p->shape[0]; r++)
                if (!all_zero(w + r * p->shape[1], p->shape[1] - 1)) return false;
        bool shift = starts(s->ops->name, "rwkv") && starts(p->name, "x_");
        if (shift && !all_zero(w, p->shape[0] * (p->shape[1] ? p->shape[1] : 1))) return false;
    }
    return true;
}

static void find_seen(stepping *s)
{
    int64_t d = s->a->d;
    for (int64_t c = 0; c < d; c++) {
        bool used = false;
        for (int i = 0; i < s->param_count && !used; i++)
            for (int64_t r = 0; s->list[i].shape[1] == d && r < s->list[i].shape[0] && !used; r++)
                used = s->params[i][r * d + c] != 0;
        if (used) s->seen[s->seen_count++] = (int)c;
    }
}

/* Coordinates that the output can reach: a non-zero row in any tensor with a row for each coordinate. */
static void find_writes(stepping *s)
{
    int64_t d = s->a->d;
    for (int i = 0; i < s->param_count; i++) {
        int64_t width = s->list[i].shape[1] ? s->list[i].shape[1] : 1;
        for (int64_t c = 0; s->list[i].shape[0] == d && c < d; c++)
            if (!all_zero(s->params[i] + c * width, width)) s->writes[c] = true;
    }
}

/* ---- classes of table rows ------------------------------------------------------------------- */

typedef struct row_key {
    int64_t row;
    const float *key; /* the seen coordinates, copied together */
    size_t bytes;
} row_key;

static int compare_keys(const void *x, const void *y)
{
    const row_key *a = x, *b = y;
    int order = memcmp(a->key, b->key, a->bytes);
    return order ? order : a->row < b->row ? -1 : a->row > b->row;
}

/* One row of every class among rows from .. to-1 of a table, into `out` (room for all); returns how many, -1:
 * no memory. */
static int64_t classes(const stepping *s, const float *table, int64_t from, int64_t to, int64_t *out)
{
    size_t n = (size_t)(to - from), width = (size_t)(s->seen_count ? s->seen_count : 1);
    row_key *keys = hop_alloc(sizeof *keys * n);
    float *copy = hop_alloc(sizeof(float) * n * width);
    int64_t count = -1;
    if (keys && copy) {
        count = 0;
        for (int64_t r = from; r < to; r++) {
            float *k = copy + (size_t)(r - from) * width;
            for (int i = 0; i < s->seen_count; i++) k[i] = table ? table[r * s->a->d + s->seen[i]] + 0.0f : 0;
            keys[r - from] = (row_key){r, k, sizeof(float) * width};
        }
        qsort(keys, n, sizeof *keys, compare_keys);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || memcmp(keys[i].key, keys[i - 1].key, keys[i].bytes) != 0)
                out[count++] = keys[i].row;
    }
    hop_free(keys);
    hop_free(copy);
    return count;
}

/* ---- running --------------------------------------------------------------------------------- */

/* A worker: one step at a time. */
typedef struct runner {
    stepping *s;
    hop_arena scratch;
    float *x, *y, *state;
} runner;

static hop_status runner_open(runner *r, stepping *s, hop_error *err)
{
    size_t d = (size_t)s->a->d;
    *r = (runner){.s = s};
    r->x = hop_alloc(sizeof(float) * d);
    r->y = hop_alloc(sizeof(float) * d);
    r->state = hop_alloc(sizeof(float) * (size_t)s->floats);
    if (!r->x || !r->y || !r->state) return hop_fail(err, HOP_ENOMEM, "out of memory");
    return hop_arena_reserve(&r->scratch, hop_list_step_scratch(&s->what, 1, s->a->tokens - 1), err);
}

static void runner_close(runner *r)
{
    hop_arena_free(&r->scratch);
    hop_free(r->x);
    hop_free(r->y);
    hop_free(r->state);
}

/* The token at `position` meets `state` (NULL: zero); leaves the new state in r->state, the output in r->y.
 */
static void run_step(runner *r, int64_t position, int64_t token, const float *state)
{
    stepping *s = r->s;
    const hop__analysis *a = s->a;
    for (int64_t c = 0; c < a->d; c++) {
        r->x[c] = a->token_table[token * a->d + c];
        if (a->position_table) r->x[c] += a->position_table[position * a->d + c];
    }
    if (state)
        memcpy(r->state, state, sizeof(float) * (size_t)s->floats);
    else
        memset(r->state, 0, sizeof(float) * (size_t)s->floats);
    r->scratch.used = 0;
    hop_mixer_io io = {.y = r->y, .x = r->x, .tokens = 1, .scratch = &r->scratch};
    hop_list_step(&s->what, &s->c, s->params, r->state, 0, position, &io);
    s->steps++;
}

/* Zero, or so far from the ends of float32 that a product of several stays within, whichever come first. */
static bool ordinary(double x)
{
    return x == 0 || (fabs(x) >= 0x1p-12 && fabs(x) <= 0x1p12);
}

static bool ordinary_params(const stepping *s)
{
    for (int i = 0; i < s->param_count; i++) {
        int64_t n = s->list[i].shape[0] * (s->list[i].shape[1] ? s->list[i].shape[1] : 1);
        for (int64_t k = 0; k < n; k++)
            if (!ordinary(s->params[i][k])) return false;
    }
    return true;
}

/* A projection of this token adds up at most one term, an ordinary one: rounding and order cannot matter. */
static bool single_terms(const runner *r)
{
    const stepping *s = r->s;
    int64_t d = s->a->d;
    for (int i = 0; i < s->param_count; i++)
        for (int64_t row = 0; s->list[i].shape[1] == d && row < s->list[i].shape[0]; row++) {
            int terms = 0;
            for (int k = 0; k < s->seen_count; k++) {
                double term = (double)s->params[i][row * d + s->seen[k]] * r->x[s->seen[k]];
                terms += term != 0;
                if (!ordinary(term)) return false;
            }
            if (terms > 1) return false;
        }
    return true;
}

static bool finite_row(const float *y, int64_t d)
{
    for (int64_t c = 0; c < d; c++)
        if (!isfinite(y[c])) return false;
    return true;
}

static void note_output(stepping *s, ival *box, const float *y, bool first)
{
    for (int64_t c = 0; c < s->a->d; c++) {
        box[c] = first ? ival_point(y[c]) : ival_hull(box[c], ival_point(y[c]));
        if (y[c] != 0) s->writes[c] = true;
    }
}

/* Step 1: every class of token before z_0 leaves the zero state alone. */
static hop_status run_before(stepping *s, runner *r, int64_t *positions, int64_t *tokens, hop_error *err)
{
    const hop__analysis *a = s->a;
    int64_t places = classes(s, a->position_table, 0, a->task->start[0], positions);
    int64_t values = classes(s, a->token_table, 0, a->task->vocab, tokens);
    if (places < 0 || values < 0) return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (places > MOST_STEPS / values)
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the %s layer tells too many tokens apart", s->ops->name);
    for (int64_t p = 0; p < places; p++) {
        for (int64_t t = 0; t < values; t++) {
            run_step(r, positions[p], tokens[t], NULL);
            for (int64_t i = 0; i < s->core; i++)
                if (!(r->state[i] == 0))
                    return hop_fail(err, HOP_EDOMAIN,
                                    "layer 0: token %lld at position %lld leaves a trace in the state",
                                    (long long)tokens[t], (long long)positions[p]);
            if (!finite_row(r->y, a->d) || !single_terms(r))
                return hop_fail(err, HOP_EDOMAIN,
                                "layer 0: an output is not finite, or a projection is not one ordinary term");
            note_output(s, s->out_any, r->y, p == 0 && t == 0);
        }
        if (!hop_progress_tick(a->options->progress, "tokens before z_0", (double)(p + 1), (double)places))
            return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    return HOP_OK;
}

/* Steps 2 and 3: z_0, then w. */
static hop_status run_after(stepping *s, runner *r, int64_t *queries, hop_error *err)
{
    const hop__analysis *a = s->a;
    int64_t n = classes(s, a->token_table, 0, a->task->queries, queries);
    if (n < 0) return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (n > MOST_STEPS / a->task->m)
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the %s layer tells too many w apart", s->ops->name);
    for (int64_t v = 0; v < a->task->m; v++) {
        float *after = s->states + v * s->floats;
        run_step(r, a->task->start[0], v, NULL);
        if (!single_terms(r))
            return hop_fail(err, HOP_EDOMAIN, "layer 0: a projection is not one ordinary term");
        memcpy(after, r->state, sizeof(float) * (size_t)s->floats);
        note_output(s, s->out_any, r->y, false);
        for (int64_t w = 0; w < n; w++) {
            run_step(r, a->tokens - 1, queries[w], after);
            if (!finite_row(r->y, a->d) || !single_terms(r))
                return hop_fail(err, HOP_EDOMAIN,
                                "layer 0: an output is not finite, or a projection is not one ordinary term");
            note_output(s, s->out + v * a->d, r->y, w == 0);
            note_output(s, s->out_any, r->y, false);
        }
    }
    return HOP_OK;
}

static hop_status run_all(stepping *s, hop_error *err)
{
    runner r;
    int64_t most = s->a->tokens > s->a->task->vocab ? s->a->tokens : s->a->task->vocab;
    int64_t *positions = hop_alloc(sizeof(int64_t) * (size_t)most),
            *tokens = hop_alloc(sizeof(int64_t) * (size_t)most);
    hop_status got = runner_open(&r, s, err);
    if (!positions || !tokens) got = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (got == HOP_OK) got = run_before(s, &r, positions, tokens, err);
    if (got == HOP_OK) got = run_after(s, &r, tokens, err);
    runner_close(&r);
    hop_free(positions);
    hop_free(tokens);
    return got;
}

/* ---- taking over ------------------------------------------------------------------------------ */

/* A coordinate that no matrix can write is exactly 0 in every form; all others get the allowance. */
static ival with_form_error(const stepping *s, const ival *row, int64_t c)
{
    int64_t d = s->a->d;
    double most = 0;
    if (!s->writes[c]) return row[c];
    for (int64_t i = 0; i < d; i++) most = fmax(most, ival_mag(row[i]));
    return ival_widen(row[c], FORM_ERROR * most);
}

static ival sum(hop__analysis *a, ival x, ival y)
{
    if (y.lo == 0 && y.hi == 0) return x;
    return ival_widen(ival_add(x, y), hop__rounding(a, 1, ival_mag(x) + ival_mag(y)));
}

static void last_after(void *ctx, int64_t t, ival *y, ival *work)
{
    stepping *s = ctx;
    const ival *row = s->out + t * s->a->d;
    (void)work;
    for (int64_t c = 0; c < s->a->d; c++) y[c] = sum(s->a, s->a->last[c], with_form_error(s, row, c));
}

static void any_after(void *ctx, ival *y, ival *work)
{
    stepping *s = ctx;
    (void)work;
    for (int64_t c = 0; c < s->a->d; c++) y[c] = sum(s->a, s->a->any[c], with_form_error(s, s->out_any, c));
}

static bool step_writes(void *ctx, int64_t c)
{
    return ((stepping *)ctx)->writes[c];
}

/* Floats of the state that are remembered inputs; they stand at its end. */
static int64_t past_floats(const stepping *s)
{
    int64_t n = 0;
    for (int i = 0; i < s->param_count; i++)
        if (strstr(s->list[i].name, "conv1d.weight") || strstr(s->list[i].name, "conv_1d.weight"))
            n += s->list[i].shape[0] * (s->list[i].shape[1] - 1);
    if (starts(s->ops->name, "rwkv")) n += s->a->d;
    return n;
}

/* Numbers in a key. Step and chunked form can differ where products of several are added up, or where a scale
 * takes one of them out of range: only one number and ordinary scales are covered. */
static int64_t key_numbers(const stepping *s)
{
    if (starts(s->ops->name, "mamba")) return s->c.option[HOP_OPTION_state_dim];
    return starts(s->ops->name, "rglru") ? 1 : s->c.head_dim;
}

static hop_status prepare(stepping *s, hop_error *err)
{
    hop__analysis *a = s->a;
    s->ops = hop_mixer_find(hop_pattern_mixer(&hop_model_config(a->model)->pattern, 0));
    s->c = hop_model_mixer_config(a->model, 0);
    s->param_count = s->ops->params(&s->c, s->list);
    for (int i = 0; i < s->param_count; i++) {
        char name[96];
        snprintf(name, sizeof name, "mixer.%s", s->list[i].name);
        s->params[i] = hop_model_layer_weight(a->model, 0, name)->data;
    }
    hop_mixer_list(&s->what, s->ops, &s->c);
    s->floats = s->what.state_floats;
    s->core = s->floats - past_floats(s);
    s->seen = hop_alloc(sizeof(int) * (size_t)a->d);
    s->states = hop_alloc(sizeof(float) * (size_t)(a->task->m * s->floats));
    s->out = hop_alloc(sizeof(ival) * (size_t)(a->task->m * a->d));
    s->out_any = hop_alloc(sizeof(ival) * (size_t)a->d);
    s->writes = hop_alloc(sizeof(bool) * (size_t)a->d);
    if (!s->seen || !s->states || !s->out || !s->out_any || !s->writes)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (!past_is_idle(s))
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the %s layer looks at earlier inputs beside its state",
                        s->ops->name);
    /* Rotated keys depend on the position itself, which classes forget. */
    if (s->c.option[HOP_OPTION_rope] == 1 && s->c.head_dim > 1)
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the analysis does not cover rotated keys");
    if (s->c.heads != 1 || key_numbers(s) != 1 || !(s->c.scale >= 0 && s->c.scale <= 16))
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the analysis covers one head with keys of one number");
    if (!ordinary_params(s))
        return hop_fail(err, HOP_EDOMAIN, "layer 0: the analysis covers weights of 2^-12 to 2^12 and zeros");
    find_seen(s);
    find_writes(s);
    return HOP_OK;
}

hop_status hop__bound_recurrent(hop__analysis *a, hop_margin *margin, hop_error *err)
{
    stepping s = {.a = a};
    /* No other token competes: gap and mass have nothing to measure. */
    *margin = (hop_margin){.layer = 0, .player = 0, .score_gap = INFINITY, .wrong_mass = 0};
    hop_status got = prepare(&s, err);
    if (got == HOP_OK) got = run_all(&s, err);
    if (got == HOP_OK) {
        hop__after_mixer after = {
            .cases = a->task->m, .last = last_after, .any = any_after, .writes = step_writes, .ctx = &s};
        margin->addresses = s.steps;
        got = hop__bound_mlp(a, &after, margin, err);
    }
    hop_free(s.seen);
    hop_free(s.states);
    hop_free(s.out);
    hop_free(s.out_any);
    hop_free(s.writes);
    return got;
}
