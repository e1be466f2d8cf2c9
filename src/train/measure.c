/* Held-out evaluation: instances from streams that training never draws from, with an interval and the level
 * of chance beside the accuracy. */
#include "room.h"

#include <math.h>
#include <string.h>

#define CHANCE_SAMPLES 4096
#define Z95            1.959963984540054
/* Seeds of the streams. Instances of different seeds share nothing (Philox's key is the seed). */
#define SEED_OFTEN 0x9e3779b97f4a7c15u
#define SEED_LAST  0xbf58476d1ce4e5b9u
#define SEED_GUESS 0x94d049bb133111ebu

struct hop__heldout {
    const hop_recipe *recipe;
    hop_eval *eval;
    hop_instance *batch; /* [HOP_EVAL_BATCH] */
    double chance;
};

void hop_wilson(int64_t correct, int64_t count, double z, double *low, double *high)
{
    double n = (double)count, p = count > 0 ? (double)correct / n : 0, zz = z * z;
    if (count <= 0) {
        *low = 0;
        *high = 1;
        return;
    }
    double middle = (p + zz / (2 * n)) / (1 + zz / n);
    double half = z * sqrt(p * (1 - p) / n + zz / (4 * n * n)) / (1 + zz / n);
    *low = correct == 0 ? 0 : fmax(0, middle - half);
    *high = correct == count ? 1 : fmin(1, middle + half);
}

/* ---- chance ------------------------------------------------------------------------------------ */

/* The likeliest answer at each position, by count. */
static hop_status find_guess(const hop_task *t, uint64_t seed, hop_instance *x, int32_t *guess,
                             hop_error *err)
{
    int64_t vocab = t->vocab;
    size_t bytes;
    int64_t *seen =
        hop_mul_size((size_t)t->length, (size_t)vocab * sizeof *seen, &bytes) ? hop_alloc(bytes) : NULL;
    hop_status s = seen ? HOP_OK : hop_fail(err, HOP_ENOMEM, "chance: out of memory");
    for (int64_t k = 0; s == HOP_OK && k < CHANCE_SAMPLES; k++) {
        s = hop_instance_sample(x, t, seed, (uint64_t)k, err);
        for (int64_t i = 0; s == HOP_OK && i < t->length; i++)
            if (x->targets[i] >= 0) seen[i * vocab + x->targets[i]]++;
    }
    for (int64_t i = 0; s == HOP_OK && i < t->length; i++) {
        guess[i] = 0;
        for (int64_t v = 1; v < vocab; v++)
            if (seen[i * vocab + v] > seen[i * vocab + guess[i]]) guess[i] = (int32_t)v;
    }
    hop_free(seen);
    return s;
}

/* How often whoever says at each position what is likeliest there has an instance right. Exact where answers
 * are uniform; else guesses are counted on instances that they were not chosen by. */
static hop_status find_chance(const hop_task *t, uint64_t seed, hop_instance *x, double *out, hop_error *err)
{
    if (t->kind == HOP_TASK_FUNCCOMP) {
        *out = 1 / (double)t->vocab;
        return HOP_OK;
    }
    int32_t *guess = hop_alloc(sizeof *guess * (size_t)t->length);
    hop_status s =
        guess ? find_guess(t, seed, x, guess, err) : hop_fail(err, HOP_ENOMEM, "chance: out of memory");
    int64_t right = 0;
    for (uint64_t k = CHANCE_SAMPLES; s == HOP_OK && k < 2 * CHANCE_SAMPLES; k++) {
        s = hop_instance_sample(x, t, seed, k, err);
        bool all = true;
        for (int64_t i = 0; s == HOP_OK && i < t->length; i++)
            all = all && (x->targets[i] < 0 || x->targets[i] == guess[i]);
        right += all;
    }
    hop_free(guess);
    *out = (double)right / CHANCE_SAMPLES;
    return s;
}

/* ---- asking -------------------------------------------------------------------------------------- */

hop_status hop__heldout_new(hop__heldout **out, const hop_model *m, const hop_recipe *r, hop_pool *pool,
                            const hop_progress *progress, hop_error *err)
{
    hop__heldout *e = *out = hop_alloc(sizeof *e);
    if (!e) return hop_fail(err, HOP_ENOMEM, "out of memory");
    e->recipe = r;
    hop_status s = hop_eval_open(&e->eval, m, &(hop_eval_options){.pool = pool, .progress = progress}, err);
    if (s == HOP_OK) s = hop_instances_new(&e->batch, HOP_EVAL_BATCH, r->task.length, err);
    if (s == HOP_OK) s = find_chance(&r->task, r->seed ^ SEED_GUESS, &e->batch[0], &e->chance, err);
    if (s != HOP_OK) {
        hop__heldout_free(e);
        *out = NULL;
    }
    return s;
}

void hop__heldout_free(hop__heldout *e)
{
    if (!e) return;
    hop_eval_close(e->eval);
    hop_instances_free(e->batch, HOP_EVAL_BATCH);
    hop_free(e);
}

static hop_status answers_finite(const hop_instance *x, int64_t step, hop_error *err)
{
    for (int64_t i = 0; i < x->count; i++)
        if (x->answers[i] == -1)
            return hop_fail(err, HOP_ERANGE,
                            "step %lld: the network's answers are not finite; a lower --lr may help",
                            (long long)step - 1);
    return HOP_OK;
}

hop_status hop__heldout_probe(hop__heldout *e, int64_t step, hop_error *err)
{
    hop_instance *x = &e->batch[0];
    hop_status s = hop_instance_sample(x, &e->recipe->task, e->recipe->seed ^ SEED_OFTEN, 0, err);
    if (s == HOP_OK) s = hop_eval_run(e->eval, x, 1, err);
    if (s == HOP_OK && x->status != HOP_OK) {
        s = x->status;
        if (err) *err = x->err;
    }
    return s == HOP_OK ? answers_finite(x, step, err) : s;
}

hop_status hop__heldout_ask(hop__heldout *e, hop_measure *m, hop_error *err)
{
    int64_t count = e->recipe->eval_count * (m->last ? 4 : 1), asked = 0, right = 0;
    uint64_t seed = e->recipe->seed ^ (m->last ? SEED_LAST : SEED_OFTEN);
    hop_status s = HOP_OK;
    hop_eval_start(e->eval, m->last ? "last evaluation," : "evaluation,", (double)count);
    m->instances = count;
    m->correct = 0;
    for (int64_t from = 0; s == HOP_OK && from < count; from += HOP_EVAL_BATCH) {
        int64_t n = count - from < HOP_EVAL_BATCH ? count - from : HOP_EVAL_BATCH;
        for (int64_t i = 0; s == HOP_OK && i < n; i++)
            s = hop_instance_sample(&e->batch[i], &e->recipe->task, seed, (uint64_t)(from + i), err);
        if (s == HOP_OK) s = hop_eval_run(e->eval, e->batch, n, err);
        for (int64_t i = 0; s == HOP_OK && i < n; i++) {
            m->correct += hop_instance_correct(&e->batch[i]);
            asked += e->batch[i].asked;
            right += e->batch[i].right;
            s = e->batch[i].status;
            if (s != HOP_OK && err) *err = e->batch[i].err;
            if (s == HOP_OK) s = answers_finite(&e->batch[i], m->step, err);
        }
    }
    m->accuracy = (double)m->correct / (double)count;
    m->answers = asked > 0 ? (double)right / (double)asked : 0;
    m->chance = e->chance;
    hop_wilson(m->correct, count, Z95, &m->low, &m->high);
    return s;
}
