/* Collisions: two tables z_L that leave the same bits in the state of every layer, in a network whose layers
 * are all recurrent. What follows sees of z_L nothing but these states, so that no continuation tells the two
 * apart, and one is chosen that asks for an entry in which they differ (P2's proof, docs/BOUNDS.md section
 * 3).
 *
 * By birthday: states are hashed, and the first two tables with one hash are compared bit by bit. Tables come
 * in groups that differ from one base in a single entry, or in two that change places; these are the tables
 * whose difference contributes nothing where an entry is not kept, where an entry has decayed below the last
 * bit, or where a recurrence sums what it sees. Memory is a table of hashes of bounded size: when it is full,
 * new tables are only looked up. */
#include "room.h"

#include <string.h>

#define GROUP     64
#define BATCH     512
#define MOST_BITS 22 /* log2 of the slots: 64 MB */

typedef struct slot {
    uint64_t hash;
    int64_t number; /* of the table, from 1 on; 0: free */
} slot;

typedef struct memory {
    slot *slots;
    int64_t used;
} memory;

/* A worker: tables go in, states come out. */
typedef struct lane {
    hop_forward *forward;
    hop_watch watch;
    int32_t *tokens;
    float *states;
    int64_t floats, room;
    hop_status status;
    hop_error err;
} lane;

typedef struct search {
    hop__hunt *h;
    int64_t entries, cut[2]; /* of z_L */
    hop_cuts cuts;
    lane *lanes;
    int64_t first;
    uint64_t hashes[BATCH];
} search;

/* ---- tables --------------------------------------------------------------------------------------- */

/* Table number k, and the token behind it, whose arrival makes the states cross. */
static void fill(const search *s, int64_t k, int32_t *z)
{
    int64_t n = s->entries, group = k / GROUP, j = k % GROUP, style = group % 4;
    hop_rng rng;
    hop_rng_init(&rng, s->h->o->seed ^ UINT64_C(0xc0111de), (uint64_t)group);
    for (int64_t i = 0; i < n; i++) z[i] = style == 0 ? 0 : (int32_t)hop_rng_below(&rng, (uint64_t)n);
    int64_t p = style < 2 ? group / 4 % n : (int64_t)hop_rng_below(&rng, (uint64_t)n);
    if (style == 3) {
        int64_t q = (p + 1 + j) % n;
        int32_t kept = z[p];
        z[p] = z[q];
        z[q] = kept;
    } else {
        z[p] = (int32_t)((z[p] + j) % n);
    }
    z[n] = 0;
}

static void take_state(void *ctx, int64_t layer, const float *state, int64_t floats)
{
    lane *l = ctx;
    (void)layer;
    memcpy(l->states + l->floats, state, sizeof *state * (size_t)floats);
    l->floats += floats;
}

static hop_status states_of(const search *s, lane *l, const int32_t *tokens, hop_error *err)
{
    l->floats = 0;
    /* Nobody reads the logits; l->states + room is where they go. */
    return hop_forward_logits(l->forward, tokens, s->entries + 1, l->states + l->room, err);
}

static void hash_one(void *ctx, int64_t task, int worker)
{
    search *s = ctx;
    lane *l = &s->lanes[worker];
    hop_hash hash;
    if (l->status != HOP_OK) return;
    fill(s, s->first + task, l->tokens);
    l->status = states_of(s, l, l->tokens, &l->err);
    hop_hash_init(&hash);
    hop_hash_add(&hash, l->states, sizeof *l->states * (size_t)l->floats);
    s->hashes[task] = hop_hash_end(&hash);
    if (l->status == HOP_OK &&
        !hop_progress_tick(&s->h->progress, "collisions", (double)(s->first + task), 0))
        l->status = HOP_ESTOPPED;
}

/* ---- two of them ---------------------------------------------------------------------------------- */

/* Whether a and b leave the same bits. */
static hop_status same_states(const search *s, const int32_t *a, const int32_t *b, bool *same, hop_error *err)
{
    lane *l = &s->lanes[0];
    float *kept = hop_alloc_raw(sizeof *kept * (size_t)(l->room + 1));
    if (!kept) return hop_fail(err, HOP_ENOMEM, "collisions: out of memory");
    hop_status got = states_of(s, l, a, err);
    memcpy(kept, l->states, sizeof *kept * (size_t)l->floats);
    if (got == HOP_OK) got = states_of(s, l, b, err);
    *same = got == HOP_OK && memcmp(kept, l->states, sizeof *kept * (size_t)l->floats) == 0;
    hop_free(kept);
    return got;
}

/* Takes back as many differences as can be. */
static hop_status shrink(const search *s, const int32_t *a, int32_t *b, hop_error *err)
{
    hop_status got = HOP_OK;
    int64_t differ = 0;
    for (int64_t p = 0; p < s->entries; p++) differ += a[p] != b[p];
    for (int64_t p = 0; got == HOP_OK && differ > 1 && p < s->entries; p++) {
        int32_t kept = b[p];
        bool same = false;
        if (a[p] == kept) continue;
        b[p] = a[p];
        got = same_states(s, a, b, &same, err);
        if (same)
            differ--;
        else
            b[p] = kept;
    }
    return got;
}

/* What follows z_L and asks for its entry p. */
static void ask_for(const hop_funccomp *t, int64_t p, int32_t *tokens)
{
    int64_t below = t->hops > 1 ? t->size[t->hops - 2] : t->m;
    memset(tokens + t->start[t->hops] + t->size[t->hops - 1], 0,
           sizeof *tokens * (size_t)(t->length - t->size[t->hops - 1]));
    if (t->hops == 1) {
        tokens[t->start[0]] = (int32_t)p;
        return;
    }
    for (int64_t i = 0; i < t->size[t->hops - 2]; i++)
        tokens[t->start[t->hops - 1] + i] = (int32_t)(p % below);
    int64_t w = p / below; /* the highest digit */
    for (int l = 1; l < t->hops - 1; l++) w *= t->fan[l];
    tokens[t->length - 1] = (int32_t)w;
}

static hop_status keep(search *s, const int32_t *a, const int32_t *b, hop_error *err)
{
    const hop_funccomp *t = &s->h->task->funccomp;
    hop_witness *w = &s->h->found;
    int64_t p = 0;
    while (a[p] == b[p]) p++;
    const int32_t *const table[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        int32_t *z = w->prompt[i].tokens = hop_alloc(sizeof *z * (size_t)t->length);
        if (!z) return hop_fail(err, HOP_ENOMEM, "collisions: out of memory");
        memcpy(z, table[i], sizeof *z * (size_t)s->entries);
        ask_for(t, p, z);
        w->prompt[i].position = t->length - 1;
    }
    w->kind = HOP_WITNESS_COLLISION;
    w->prefix = s->entries;
    w->prompts = 2;
    return HOP_OK;
}

static hop_status confirm(search *s, int64_t first, int64_t second, hop_error *err)
{
    int32_t *a = hop_alloc(2 * sizeof *a * (size_t)(s->entries + 1)), *b = a + s->entries + 1;
    bool same = false;
    if (!a) return hop_fail(err, HOP_ENOMEM, "collisions: out of memory");
    fill(s, first, a);
    fill(s, second, b);
    hop_status got = HOP_OK;
    if (memcmp(a, b, sizeof *a * (size_t)s->entries) != 0) got = same_states(s, a, b, &same, err);
    if (got == HOP_OK && same) got = shrink(s, a, b, err);
    if (got == HOP_OK && same) got = keep(s, a, b, err);
    hop_free(a);
    return got;
}

static hop_status insert(search *s, memory *m, int64_t number, uint64_t hash, hop_error *err)
{
    uint64_t mask = ((uint64_t)1 << MOST_BITS) - 1, at = hash & mask;
    for (; m->slots[at].number; at = (at + 1) & mask)
        if (m->slots[at].hash == hash) return confirm(s, m->slots[at].number - 1, number, err);
    if (m->used > (int64_t)(mask - mask / 4)) return HOP_OK;
    m->slots[at] = (slot){.hash = hash, .number = number + 1};
    m->used++;
    return HOP_OK;
}

/* ---- a turn --------------------------------------------------------------------------------------- */

static hop_status open_lanes(search *s, hop_error *err)
{
    const hop_config *c = hop_model_config(s->h->model);
    int threads = hop_pool_threads(s->h->o->pool);
    int64_t floats = 0;
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        hop_mixer_config mixer = hop_model_mixer_config(s->h->model, i);
        floats +=
            hop_mixer_state_floats(hop_mixer_find(hop_pattern_mixer(&c->pattern, i)), &mixer, s->entries);
    }
    s->lanes = hop_alloc(sizeof *s->lanes * (size_t)threads);
    if (!s->lanes) return hop_fail(err, HOP_ENOMEM, "collisions: out of memory");
    hop_status got = HOP_OK;
    for (int i = 0; got == HOP_OK && i < threads; i++) {
        lane *l = &s->lanes[i];
        l->watch = (hop_watch){.state = take_state, .at = s->entries, .ctx = l};
        l->room = floats;
        l->tokens = hop_alloc(sizeof *l->tokens * (size_t)(s->entries + 1));
        l->states = hop_alloc(sizeof *l->states * (size_t)(floats + c->vocab));
        const hop_forward_options o = {.max_tokens = s->entries + 1, .cuts = &s->cuts, .watch = &l->watch};
        got = l->tokens && l->states ? hop_forward_new(&l->forward, s->h->model, &o, err)
                                     : hop_fail(err, HOP_ENOMEM, "collisions: out of memory");
    }
    return got;
}

static void close_lanes(search *s)
{
    for (int i = 0; s->lanes && i < hop_pool_threads(s->h->o->pool); i++) {
        hop_forward_free(s->lanes[i].forward);
        hop_free(s->lanes[i].tokens);
        hop_free(s->lanes[i].states);
    }
    hop_free(s->lanes);
}

static hop_status run(search *s, memory *m, int64_t count, hop_error *err)
{
    hop_status got = HOP_OK;
    for (int64_t done = 0; got == HOP_OK && !hop__caught(s->h) && done < count; done += BATCH) {
        s->first = s->h->state->next;
        hop_pool_run(s->h->o->pool, BATCH, hash_one, s);
        for (int i = 0; got == HOP_OK && i < hop_pool_threads(s->h->o->pool); i++)
            if (s->lanes[i].status != HOP_OK) {
                got = s->lanes[i].status;
                if (err) *err = s->lanes[i].err;
            }
        for (int64_t i = 0; got == HOP_OK && !hop__caught(s->h) && i < BATCH; i++) {
            got = insert(s, m, s->first + i, s->hashes[i], err);
            s->h->tried++;
        }
        s->h->state->next += BATCH;
    }
    return got;
}

static hop_status turn(hop__hunt *h, int number, hop_error *err)
{
    const hop_funccomp *t = &h->task->funccomp;
    search s = {.h = h, .entries = t->size[t->hops - 1]};
    memory *m = h->state->memory;
    s.cut[1] = s.entries;
    s.cuts = (hop_cuts){.starts = s.cut, .count = h->o->arithmetic.message_bits ? 2 : 1, .bits = 32};
    if (h->o->arithmetic.message_bits) s.cuts.bits = h->o->arithmetic.message_bits;
    s.cuts.kept = h->o->arithmetic.state_bits;
    if (!m) m = h->state->memory = hop_alloc(sizeof *m);
    if (m && !m->slots) m->slots = hop_alloc(sizeof *m->slots << MOST_BITS);
    if (!m || !m->slots) return hop_fail(err, HOP_ENOMEM, "collisions: out of memory");
    hop_status got = open_lanes(&s, err);
    if (got == HOP_OK) got = run(&s, m, hop__quota(h, number, 1 << 18), err);
    close_lanes(&s);
    return got;
}

static void end(void *kept)
{
    memory *m = kept;
    if (m) hop_free(m->slots);
    hop_free(m);
}

static bool has_states(const hop__hunt *h)
{
    const hop_arithmetic *a = &h->o->arithmetic;
    return h->recurrent && h->causal && !h->generates && h->task->kind == HOP_TASK_FUNCCOMP &&
           (a->state_bits || a->message_bits) && hop_model_config(h->model)->pattern.layers <= 4096;
}

const hop__strategy hop__collision = {.name = "collision", .applies = has_states, .turn = turn, .end = end};
