/* The ladder's trained half: what gradient descent finds, beside what is proved. For one hop and for two, the
 * plans above and below the line, at a width that stays while the table grows, several seeds each. */
#include "ladder.h"

#include <hopbound/learnt.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A plan of a rung. Linear layers alone have a state so narrow that P3's ceiling comes down within the sizes
 * below; all others have the recipe's own width. */
typedef struct plan {
    int hops;
    const char *pattern, *mixer;
    int64_t heads, head_dim; /* 0: the recipe's */
} plan;

static const plan PLANS[] = {
    {1, "F F", "", 0, 0},       {1, "L F", "gla", 0, 0}, {1, "F", "", 0, 0},
    {1, "L L", "linear", 1, 1}, {2, "F F F", "", 0, 0},  {2, "L F F", "gla", 0, 0},
    {2, "L F L", "gla", 0, 0},  {2, "F F", "", 0, 0},    {2, "L L L", "linear", 1, 1},
};

typedef struct size {
    int hops;
    int64_t m, fan, steps;
} size;

static const size SIZES[] = {
    {1, 8, 0, 1000}, {1, 16, 0, 1000}, {1, 32, 0, 2000}, {2, 4, 2, 1000}, {2, 8, 2, 1500}, {2, 8, 4, 4000},
};

#define TARGET 0.9995 /* a run that is right so often has learnt it */

typedef struct run {
    hop_learnt *row;
    hop_recipe recipe;
    int seed;
    char dir[4096];
    hop_measure last;
    hop_status status;
    hop_error err;
} run;

typedef struct job {
    ladder *l;
    run *runs;
    int64_t count;
    atomic_llong done;
    hop_progress quiet; /* of one training: asks whether to go on, and shows how far all are */
} job;

/* ---- one run ------------------------------------------------------------------------------------- */

static bool tick_all(job *j)
{
    return hop_progress_tick(&j->l->args->ask.progress, "trainings", (double)atomic_load(&j->done),
                             (double)j->count);
}

static bool still_wanted(void *ctx, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    return tick_all(ctx);
}

static void train_one(void *ctx, int64_t number, int worker)
{
    job *j = ctx;
    run *r = &j->runs[number];
    (void)worker;
    const hop_train_options o = {.progress = &j->quiet, .dir = r->dir, .resume = true};
    r->status = hop_train_run(&r->recipe, &o, &r->last, &r->err);
    atomic_fetch_add(&j->done, 1);
    tick_all(j);
}

static hop_status make_recipe(run *r, const plan *p, const size *z, int seed, const ladder_args *a,
                              hop_error *err)
{
    hop_recipe *c = &r->recipe;
    hop_recipe_init(c);
    snprintf(c->pattern, sizeof c->pattern, "%s", p->pattern);
    if (*p->mixer) snprintf(c->mixer, sizeof c->mixer, "%s", p->mixer);
    if (p->heads) c->heads = p->heads, c->head_dim = p->head_dim;
    c->steps = a->train_steps.given ? a->train_steps.integer : z->steps;
    if (c->warmup > c->steps) c->warmup = c->steps;
    c->target = TARGET, c->seed = (uint64_t)(a->ask.seed.integer + seed);
    c->task = (hop_task){.kind = HOP_TASK_FUNCCOMP};
    hop_status s = hop_funccomp_init(&c->task.funccomp, z->hops, z->m, &z->fan, err);
    return s == HOP_OK ? hop_task_ready(&c->task, err) : s;
}

/* ---- a row: a plan at a size, over its seeds ------------------------------------------------------ */

/* A run whose numbers left the floats is a row's business too: it learnt nothing. */
static hop_status gather(hop_learnt *row, const run *r, hop_error *err)
{
    if (r->status != HOP_OK && r->status != HOP_ERANGE) {
        if (err) *err = r->err;
        return r->status;
    }
    const hop_measure nothing = {
        .chance = NAN, .ceiling = r->last.ceiling, .seconds = r->last.seconds, .instances = 1};
    hop_learnt_add(row, r->status == HOP_OK ? &r->last : &nothing);
    return HOP_OK;
}

/* ---- all of them ---------------------------------------------------------------------------------- */

/* DIR/learnt/2-LFF-m8-f4-s0: taken up again when the ladder was stopped. */
static hop_status place(run *r, const ladder *l, const plan *p, const size *z, int seed, hop_error *err)
{
    char name[96], letters[32] = "";
    for (const char *c = p->pattern; *c; c++)
        if (*c != ' ') strncat(letters, c, 1);
    snprintf(name, sizeof name, LEARNT_DIR "/%d-%s-m%d-f%d-s%d", z->hops, letters, (int)z->m, (int)z->fan,
             seed);
    return hop_path_join(r->dir, sizeof r->dir, l->args->output.text, name, err);
}

static hop_status fill(ladder *l, run *runs, int64_t *count, hop_error *err)
{
    int seeds = (int)l->args->seeds.integer;
    hop_status s = HOP_OK;
    for (size_t i = 0; i < sizeof PLANS / sizeof *PLANS; i++)
        for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
            const plan *p = &PLANS[i];
            const size *z = &SIZES[k];
            if (p->hops != z->hops || p->hops > l->args->rungs.integer) continue;
            hop_learnt *row = &l->learnt[l->learnt_count++];
            int64_t first = *count;
            for (int seed = 0; s == HOP_OK && seed < seeds; seed++) {
                run *r = &runs[(*count)++];
                r->row = row, r->seed = seed;
                s = make_recipe(r, p, z, seed, l->args, err);
                if (s == HOP_OK) s = place(r, l, p, z, seed, err);
            }
            if (s == HOP_OK) s = hop_learnt_describe(row, &runs[first].recipe, (int)i, err);
            if (s != HOP_OK) return s;
        }
    return HOP_OK;
}

hop_status hop__ladder_train(ladder *l, hop_error *err)
{
    char dir[4096];
    int64_t most =
        (int64_t)(sizeof PLANS / sizeof *PLANS * (sizeof SIZES / sizeof *SIZES)) * l->args->seeds.integer;
    run *runs = calloc((size_t)most, sizeof *runs);
    if (!runs) return hop_fail(err, HOP_ENOMEM, "out of memory");
    job j = {.l = l, .runs = runs, .quiet = {.tick = still_wanted}};
    j.quiet.ctx = &j;
    hop_status s = hop_path_join(dir, sizeof dir, l->args->output.text, LEARNT_DIR, err);
    if (s == HOP_OK) s = hop_make_dir(dir, err);
    if (s == HOP_OK) s = fill(l, runs, &j.count, err);
    if (s == HOP_OK) {
        tick_all(&j);
        hop_pool_run(l->pool, j.count, train_one, &j); /* a run a thread */
    }
    for (int64_t i = 0; s == HOP_OK && i < j.count; i++) s = gather(runs[i].row, &runs[i], err);
    free(runs);
    return s;
}
