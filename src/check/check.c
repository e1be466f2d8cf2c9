/* Verdicts on witnesses. Every prompt is run several times: in double precision, with every result rounded to
 * float32, and with results moved at random by as much as float32 arithmetic might move them. Where all of
 * them say the same, and by a margin that is large beside what moves it, that is what the network answers;
 * where they do not, the outcome hangs on rounding, and the witness is not confirmed. */
#include "room.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { PASSES = 6, MOST_BYTES = 1 << 30 };

typedef struct outcome {
    hop__pass pass;
    double *logits; /* [vocab] */
    int64_t answer; /* -1: there is none */
    int64_t made;   /* tokens, of which the answer is the last */
    struct step {
        int64_t token;
        double margin; /* its logit above the others' */
    } * steps;
} outcome;

typedef struct session {
    const hop__claim *w;
    const hop_truth *net;
    const hop_check_options *o;
    outcome of[PASSES][2];
    _Atomic int done;
    _Atomic bool stopped;
} session;

static bool settle(hop_check *c, bool valid, bool rounding, const char *fmt, ...) HOP_PRINTF(4, 5);
static bool settle(hop_check *c, bool valid, bool rounding, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->why, sizeof c->why, fmt, args);
    va_end(args);
    hop_plain(c->why);
    c->valid = valid, c->rounding = rounding;
    return false;
}

/* ---- running ------------------------------------------------------------------------------------- */

/* The first of the largest; -1 when one is no number. */
static int64_t largest(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i]) return -1;
        if (x[i] > x[best]) best = i;
    }
    return best;
}

/* By how much the logit of `answer` is above the others'. */
static double margin_of(const outcome *r, int64_t answer)
{
    double next = -INFINITY;
    for (int64_t i = 0; i < r->pass.net->vocab; i++)
        if (i != answer && !(r->logits[i] <= next)) next = r->logits[i];
    return r->pass.net->vocab > 1 ? r->logits[answer] - next : INFINITY;
}

static hop_status answer_of(outcome *r, const hop__prompt *p)
{
    const hop_truth *n = r->pass.net;
    int64_t made = 0, count = p->count, wanted = n->generate ? n->generate : 1;
    int32_t *tokens = malloc(sizeof *tokens * (size_t)(count + wanted));
    if (!tokens) return hop_fail(&r->pass.err, HOP_ENOMEM, "prompt: out of memory");
    memcpy(tokens, p->tokens, sizeof *tokens * (size_t)count);
    hop_status s = HOP_OK;
    r->steps = malloc(sizeof *r->steps * (size_t)wanted);
    if (!r->steps) s = hop_fail(&r->pass.err, HOP_ENOMEM, "prompt: out of memory");
    for (r->answer = 0; s == HOP_OK && made < wanted && r->answer >= 0; made++) {
        if (made) tokens[count++] = (int32_t)r->answer;
        s = hop__pass_run(&r->pass, tokens, count, n->generate ? count - 1 : p->position, r->logits);
        if (s == HOP_OK) r->answer = largest(r->logits, n->vocab);
        r->steps[made] = (struct step){r->answer, r->answer < 0 ? 0 : margin_of(r, r->answer)};
        r->pass.watch = -1, r->pass.traces = false; /* states and streams are of the prompt */
    }
    r->made = made;
    free(tokens);
    return s;
}

static void run_job(void *ctx, int64_t task, int worker)
{
    session *z = ctx;
    outcome *r = &z->of[task / z->w->prompts][task % z->w->prompts];
    (void)worker;
    if (z->stopped) return;
    r->pass.failed = answer_of(r, &z->w->prompt[task % z->w->prompts]);
    int done = ++z->done;
    if (!hop_progress_tick(z->o->progress, "passes", done, (double)(PASSES * z->w->prompts)))
        z->stopped = true;
}

/* ---- what was answered --------------------------------------------------------------------------- */

/* The larger; what is no number stays. */
static double wider(double spread, double off)
{
    return off != off || spread != spread ? NAN : fmax(spread, off);
}

/* True: every token on the way to the answer is the same in all passes, by as large a margin. */
static bool way_holds(hop_check *c, const session *z, int64_t prompt)
{
    const outcome *first = &z->of[0][prompt];
    for (int64_t k = 0; k + 1 < first->made; k++) {
        const struct step *a = &first->steps[k];
        double spread = 0;
        bool same = true;
        for (int i = 1; i < PASSES; i++) {
            const outcome *r = &z->of[i][prompt];
            same = same && r->made == first->made && r->steps[k].token == a->token;
            if (same) spread = wider(spread, fabs(r->steps[k].margin - a->margin));
        }
        if (!same || !(spread == 0 || a->margin > 4 * spread))
            return settle(c, false, true,
                          "prompt %d: which token is generated %lld tokens before the answer hangs on "
                          "rounding",
                          (int)prompt, (long long)(first->made - 1 - k));
    }
    return true;
}

/* True: the network gives this prompt the answer that the witness says. */
static bool answers_hold(hop_check *c, const session *z, int64_t prompt)
{
    const int64_t said = z->w->prompt[prompt].answer, got = z->of[0][prompt].answer, vocab = z->net->vocab;
    int agree = 0;
    for (int i = 0; i < PASSES; i++) agree += z->of[i][prompt].answer == said;
    if (said >= vocab)
        return settle(c, false, false, "prompt %d: answer %lld is no token", (int)prompt, (long long)said);
    if (said < 0 || got < 0) {
        if (agree == PASSES) return way_holds(c, z, prompt);
        return settle(c, false, agree > 0, "prompt %d: %s", (int)prompt,
                      agree      ? "whether a logit is no number hangs on rounding"
                      : said < 0 ? "the network has an answer"
                                 : "a logit is no number, so there is no answer");
    }
    double margin = margin_of(&z->of[0][prompt], said), spread = 0;
    for (int i = 1; i < PASSES; i++)
        spread = wider(spread, fabs(margin_of(&z->of[i][prompt], said) - margin));
    if (!(c->margin <= fabs(margin))) c->margin = fabs(margin), c->spread = spread;
    if (agree == PASSES && (spread == 0 || margin > 4 * spread)) return way_holds(c, z, prompt);
    if (agree > 0 || !(fabs(margin) > 4 * spread))
        return settle(
            c, false, true,
            "prompt %d: whether the network answers %lld hangs on rounding: its logit is %.3g above the "
            "others', and rounding moves that by %.3g",
            (int)prompt, (long long)said, margin, spread);
    return settle(c, false, false, "prompt %d: the network answers %lld, not %lld", (int)prompt,
                  (long long)got, (long long)said);
}

/* ---- collisions ---------------------------------------------------------------------------------- */

static bool states_equal(const outcome *a, const outcome *b)
{
    bool same = a->pass.state_count == b->pass.state_count;
    for (int64_t i = 0; same && i < a->pass.state_count; i++) same = a->pass.states[i] == b->pass.states[i];
    return same;
}

static bool collides(hop_check *c, const session *z)
{
    int agree = 0;
    for (int i = 0; i < PASSES; i++) agree += states_equal(&z->of[i][0], &z->of[i][1]);
    if (agree == PASSES) return true;
    return settle(c, false, agree > 0,
                  agree ? "whether the states are the same hangs on rounding (%d of %d passes)"
                        : "the two prefixes leave different states (%d of %d passes)",
                  agree, (int)PASSES);
}

/* ---- the trace ----------------------------------------------------------------------------------- */

/* The norm of a - b; *size is raised to the norms of a and b together. */
static double distance(const double *a, const double *b, int64_t n, double *size)
{
    double sum = 0, left = 0, right = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]), left += a[i] * a[i], right += b[i] * b[i];
    *size = fmax(*size, sqrt(left) + sqrt(right));
    return sqrt(sum);
}

/* A number of the trace against ours; null stands for what is not finite, or, if it may, for nothing. */
static bool traced(hop_check *c, const hop_json *row, const char *key, double ours, double tolerance,
                   bool null)
{
    double said = NAN;
    int64_t layer = 0;
    const hop_json *v = hop_json_get(row, key);
    bool holds =
        v ? hop_json_read_real(row, key, &said, NULL) == HOP_OK && fabs(said - ours) <= tolerance + 1e-6
          : null || !isfinite(ours);
    hop_json_int(hop_json_get(row, "layer"), 0, INT32_MAX, &layer);
    return holds || settle(c, false, false, "trace: layer %lld: %s is %.4g, not %.4g", (long long)layer, key,
                           ours, said);
}

/* Row `layer`, from the token on at which it is asked, or which is behind the prefix, whichever is first. */
static bool trace_row_holds(hop_check *c, const session *z, const hop_json *row, int64_t layer,
                            double tolerance)
{
    const hop__pass *a = &z->of[0][0].pass, *b = &z->of[0][1].pass;
    const hop_truth *n = z->net;
    const hop__mixer *m = n->layers[layer].mixer;
    const int64_t T = z->w->prompt[0].count, at = layer * T * n->d, asked = z->w->prompt[0].position;
    int64_t said;
    if (!hop_json_int(hop_json_get(row, "layer"), layer, layer, &said) ||
        strcmp(hop_json_get(row, "mixer")->string, m->name) != 0)
        return settle(c, false, false, "trace: layer %lld: not there, or of another mixer", (long long)layer);
    double most = 0, last = 0, size = 0, state_size = 0;
    for (int64_t t = asked < z->w->prefix ? asked : z->w->prefix; t < T; t++) {
        double off = distance(a->streams + at + t * n->d, b->streams + at + t * n->d, n->d, &size);
        if (!(off <= most)) most = off;
        if (t == asked) last = off;
    }
    const int64_t first = layer ? a->state_ends[layer - 1] : 0, count = a->state_ends[layer] - first;
    double state = m->recurrent ? distance(a->states + first, b->states + first, count, &state_size) : NAN;
    return traced(c, row, "last_token", last, tolerance * size, false) &&
           traced(c, row, "stream", most, tolerance * size, false) &&
           traced(c, row, "state", state, tolerance * state_size,
                  n->bidirectional || z->w->arith.significant_bits ||
                      z->w->prefix == T); /* it could not be taken */
}

/* One row a layer; of deep networks the first and the last 64. */
static bool trace_holds(hop_check *c, const session *z)
{
    const int64_t layers = z->net->layer_count, rows = layers > 128 ? 128 : layers;
    const hop_rounding *a = &z->w->arith;
    int64_t bits = a->significant_bits, i = 0;
    if (z->w->prompts == 1) return true;
    if (a->state_bits || a->message_bits) bits = a->state_bits == 8 ? 3 : a->state_bits + a->message_bits - 8;
    double tolerance = 1e-3 + (bits ? ldexp(4, (int)-bits) : 0);
    if ((int64_t)z->w->trace->count != rows)
        return settle(c, false, false, "trace: not %lld layers", (long long)rows);
    for (const hop_json *row = z->w->trace->child; row; row = row->next, i++) {
        int64_t layer = i < 64 || rows == layers ? i : layers - 128 + i;
        if (!trace_row_holds(c, z, row, layer, tolerance)) return false;
    }
    return true;
}

/* ---- the verdict --------------------------------------------------------------------------------- */

static void judge(hop_check *c, const session *z)
{
    static const char *const says[] = {
        [HOP__INPUT] = "the network answers %lld where %lld is right",
        [HOP__PAIR] = "the network answers %lld to both prompts, where %lld and %lld are right",
        [HOP__COLLISION] =
            ("both prefixes leave the same states, so that both prompts are answered %lld, where %lld "
             "and %lld are right")};
    const hop__claim *w = z->w;
    char claim[200];
    c->passes = PASSES * w->prompts;
    for (int64_t i = 0; i < w->prompts; i++)
        if (!answers_hold(c, z, i)) return;
    if (w->kind == HOP__COLLISION && !collides(c, z)) return;
    if (!trace_holds(c, z)) return;
    snprintf(claim, sizeof claim, says[w->kind], (long long)w->prompt[0].answer,
             (long long)w->prompt[0].right, (long long)w->prompt[1].right);
    settle(c, true, false, "%s", claim);
}

static hop_status open_passes(session *z, hop_error *err)
{
    const hop_truth *n = z->net;
    for (int i = 0; i < PASSES; i++)
        for (int64_t k = 0; k < z->w->prompts; k++) {
            outcome *r = &z->of[i][k];
            bool traces = i == 0 && z->w->prompts == 2;
            r->pass = (hop__pass){.net = n, .arith = &z->w->arith, .seed = (uint64_t)i * 0x2545f4914f6cdd1du};
            r->pass.how = i < 2 ? (hop__how)i : HOP__SHAKEN;
            r->pass.watch = z->w->prompts == 2 ? z->w->prefix : -1;
            r->pass.traces = traces;
            r->logits = malloc(sizeof(double) * (size_t)n->vocab);
            size_t rows = (size_t)n->layer_count * (size_t)z->w->prompt[k].count, numbers;
            if (traces && hop_mul_size(rows, sizeof(double) * (size_t)n->d, &numbers)) {
                r->pass.streams = malloc(numbers);
                r->pass.state_ends = calloc((size_t)n->layer_count, sizeof(int64_t));
            }
            if (!r->logits || (traces && (!r->pass.streams || !r->pass.state_ends)))
                return hop_fail(err, HOP_ENOMEM, "out of memory");
        }
    return HOP_OK;
}

static hop_status run_passes(session *z, hop_error *err)
{
    hop_status s = open_passes(z, err);
    if (s != HOP_OK) return s;
    hop_pool_run(z->o->pool, PASSES * z->w->prompts, run_job, z);
    if (z->stopped) return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    for (int i = 0; i < PASSES; i++)
        for (int64_t k = 0; k < z->w->prompts; k++)
            if (z->of[i][k].pass.failed != HOP_OK) {
                if (err) *err = z->of[i][k].pass.err;
                return z->of[i][k].pass.failed;
            }
    return HOP_OK;
}

/* Is this the network that the witness is of, and one that the claim can be about? */
static bool same_network(hop_check *c, const hop__claim *w, const hop_truth *n)
{
    if (w->config_hash != n->config_hash) return settle(c, false, false, "config.json is not the witness's");
    if (w->weights_hash != n->weights_hash)
        return settle(c, false, false, "the weights are not the witness's");
    for (int64_t i = 0; w->kind == HOP__COLLISION && i < n->layer_count; i++)
        if (!n->layers[i].mixer->recurrent)
            return settle(c, false, false, "a collision: layer %lld is not recurrent", (long long)i);
    if (w->arith.message_bits && n->bidirectional)
        return settle(c, false, false, "arithmetic: a network that looks both ways has no cuts");
    return true;
}

static hop_status check_network(hop_check *c, const hop__claim *w, const hop_truth *n,
                                const hop_check_options *o, hop_error *err)
{
    if (!same_network(c, w, n)) return HOP_OK;
    session *z = calloc(1, sizeof *z);
    if (!z) return hop_fail(err, HOP_ENOMEM, "out of memory");
    z->w = w, z->net = n, z->o = o;
    hop_error why = {0};
    hop_status s = run_passes(z, &why);
    if (s == HOP_OK) {
        judge(c, z);
    } else if (s == HOP_ERANGE) { /* the network takes no such prompt */
        settle(c, false, false, "%s", why.text);
        s = HOP_OK;
    } else if (err) {
        *err = why;
    }
    for (int i = 0; i < PASSES; i++)
        for (int k = 0; k < 2; k++) {
            hop__pass_close(&z->of[i][k].pass);
            free(z->of[i][k].logits);
            free(z->of[i][k].steps);
        }
    free(z);
    return s;
}

static hop_status check_bytes(hop_check *out, const hop_file *f, const char *dir, const hop_check_options *o,
                              hop_error *err)
{
    static const char *const kinds[] = {"input", "pair", "collision"};
    hop__claim w;
    hop_truth *n = NULL;
    hop_error why = {0};
    hop_status s = hop__claim_parse(&w, (const char *)f->data, f->size, &why);
    if (s != HOP_OK) {
        if (s == HOP_ENOMEM) return hop_fail(err, s, "%s", why.text);
        settle(out, false, false, "%s", why.text);
        return HOP_OK;
    }
    snprintf(out->kind, sizeof out->kind, "%s", kinds[w.kind]);
    s = hop_truth_open(&n, dir, err);
    if (s == HOP_OK)
        s = check_network(out, &w, n, o, err);
    else if (s != HOP_EIO) /* which names the file */
        hop_fail_in(err, s, dir);
    hop_truth_free(n);
    hop__claim_free(&w);
    return s;
}

hop_status hop_check_witness(hop_check *out, const char *path, const char *dir, const hop_check_options *o,
                             hop_error *err)
{
    const hop_check_options none = {0};
    hop_file f = {0};
    *out = (hop_check){.margin = NAN, .spread = NAN, .why = "not checked"};
    hop_status s = hop_file_read(&f, path, MOST_BYTES, err);
    if (s != HOP_OK) return s;
    s = check_bytes(out, &f, dir, o ? o : &none, err);
    hop_file_free(&f);
    return s;
}
