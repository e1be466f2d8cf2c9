/* Fooling pairs: two prompts that differ in one entry of z_L, the one that is asked for, while every message
 * of the player that holds z_L is the same, bit for bit, at the declared precision: the states that it leaves
 * in the linear layers (the popular class of P4's first step) and its replies to every question of every
 * later token in the full ones (docs/BOUNDS.md section 5). Behind z_L nothing differs then, in any layer, and
 * the network answers both alike.
 *
 * The network is played as protocol.h's game over a transport that hashes what player L sends. For each base
 * (an input) the values of the asked entry are tried against each other; bases are random, or as uniform as
 * the asked entry allows. */
#include "room.h"

#include <hopbound/protocol.h>

#include <string.h>

#define VALUES 64 /* of the asked entry, that are tried against each other */

typedef struct lane {
    hop_transport base; /* first: the game knows only this */
    hop_transport *inner;
    hop_hash hash;
    hop_game *game;
    int32_t *tokens;
    hop_status status;
    hop_error err;
} lane;

typedef struct fooling {
    hop__hunt *h;
    hop_player players[HOP_MAX_PLAYERS];
    lane *lanes;
    int32_t *tokens; /* the base */
    int64_t asked;   /* position of the entry */
    int64_t count;   /* values of it that are tried */
    int32_t values[VALUES];
    uint64_t hashes[VALUES];
} fooling;

/* ---- the transport --------------------------------------------------------------------------------- */

static hop_status listen_send(hop_transport *t, hop_route r, const void *bytes, size_t size, hop_error *err)
{
    lane *l = (lane *)t;
    if (r.from == 0 && r.to > 0 && !r.aside) {
        hop_hash_add(&l->hash, &r.to, sizeof r.to);
        hop_hash_add(&l->hash, bytes, size);
    }
    return l->inner->send(l->inner, r, bytes, size, err);
}

static hop_status listen_recv(hop_transport *t, hop_route r, void *bytes, size_t size, hop_error *err)
{
    lane *l = (lane *)t;
    return l->inner->recv(l->inner, r, bytes, size, err);
}

static hop_status listen_broadcast(hop_transport *t, int64_t *x, hop_error *err)
{
    lane *l = (lane *)t;
    return l->inner->broadcast(l->inner, x, err);
}

static hop_status listen_largest(hop_transport *t, int64_t *x, hop_error *err)
{
    lane *l = (lane *)t;
    return l->inner->largest(l->inner, x, err);
}

static hop_status open_lane(fooling *f, lane *l, hop_error *err)
{
    const hop_funccomp *t = &f->h->task->funccomp;
    hop_status s = hop_transport_in_process(&l->inner, err);
    if (s != HOP_OK) return s;
    l->base = (hop_transport){.name = "listening", .ranks = 1};
    l->base.send = listen_send;
    l->base.recv = listen_recv;
    l->base.broadcast = listen_broadcast;
    l->base.largest = listen_largest;
    l->tokens = hop_alloc(sizeof *l->tokens * (size_t)t->length);
    if (!l->tokens) return hop_fail(err, HOP_ENOMEM, "fooling pairs: out of memory");
    hop_game_options o = {
        .players = f->players, .bits = f->h->o->arithmetic.message_bits, .transport = &l->base};
    o.count = hop_players_of_funccomp(t, f->players);
    return hop_game_new(&l->game, f->h->model, &o, err);
}

static void close_lanes(fooling *f)
{
    for (int i = 0; f->lanes && i < hop_pool_threads(f->h->o->pool); i++) {
        hop_game_free(f->lanes[i].game);
        hop_transport_close(f->lanes[i].inner, 0);
        hop_free(f->lanes[i].tokens);
    }
    hop_free(f->lanes);
    hop_free(f->tokens);
}

static hop_status open_lanes(fooling *f, hop_error *err)
{
    int threads = hop_pool_threads(f->h->o->pool);
    f->lanes = hop_alloc(sizeof *f->lanes * (size_t)threads);
    f->tokens = hop_alloc(sizeof *f->tokens * (size_t)f->h->task->length);
    hop_status s = f->lanes && f->tokens ? HOP_OK : hop_fail(err, HOP_ENOMEM, "fooling pairs: out of memory");
    for (int i = 0; s == HOP_OK && i < threads; i++) s = open_lane(f, &f->lanes[i], err);
    return s;
}

/* ---- bases ------------------------------------------------------------------------------------------ */

/* Input number k and the values for its asked entry: those that differ from the first in one bit, then any.
 */
static void choose_base(fooling *f, int64_t k)
{
    const hop_task *task = f->h->task;
    const hop_funccomp *t = &task->funccomp;
    int64_t chain[HOP_MAX_HOPS + 1], values;
    hop_rng rng;
    hop_rng_init(&rng, f->h->o->seed ^ UINT64_C(0xf001), (uint64_t)k);
    hop_task_sample(task, &rng, f->tokens);
    hop_funccomp_solve(t, f->tokens, chain);
    f->asked = hop__entry(t, t->hops, f->tokens[t->length - 1], chain[t->hops - 1]);
    values = hop_funccomp_values(t, f->asked);
    for (int64_t p = 0; k % 2 && p < t->size[t->hops - 1]; p++) f->tokens[p] = f->tokens[f->asked];
    f->count = 0;
    f->values[f->count++] = f->tokens[f->asked];
    for (int32_t bit = 1; bit < values && f->count < VALUES; bit *= 2)
        if ((f->tokens[f->asked] ^ bit) < values) f->values[f->count++] = f->tokens[f->asked] ^ bit;
    for (int64_t v = 0; v < values && f->count < VALUES; v++) {
        bool there = false;
        for (int64_t i = 0; i < f->count; i++) there = there || f->values[i] == v;
        if (!there) f->values[f->count++] = (int32_t)v;
    }
}

static void play_one(void *ctx, int64_t task, int worker)
{
    fooling *f = ctx;
    lane *l = &f->lanes[worker];
    if (l->status != HOP_OK) return;
    memcpy(l->tokens, f->tokens, sizeof *l->tokens * (size_t)f->h->task->length);
    l->tokens[f->asked] = f->values[task];
    hop_hash_init(&l->hash);
    l->status = hop_game_play(l->game, l->tokens, &l->err);
    f->hashes[task] = hop_hash_end(&l->hash);
    if (l->status == HOP_OK && !hop_progress_tick(&f->h->progress, "fooling pairs", (double)f->h->tried, 0))
        l->status = HOP_ESTOPPED;
}

static hop_status keep(fooling *f, int64_t i, int64_t j, hop_error *err)
{
    hop_witness *w = &f->h->found;
    const int64_t pair[2] = {i, j};
    for (int k = 0; k < 2; k++) {
        w->prompt[k].tokens = hop__copy_tokens(f->tokens, f->h->task->length);
        if (!w->prompt[k].tokens) return hop_fail(err, HOP_ENOMEM, "fooling pairs: out of memory");
        w->prompt[k].tokens[f->asked] = f->values[pair[k]];
        w->prompt[k].position = f->h->task->length - 1;
    }
    w->kind = HOP_WITNESS_PAIR;
    w->prefix = f->h->task->funccomp.size[f->h->task->funccomp.hops - 1];
    w->prompts = 2;
    return HOP_OK;
}

static hop_status one_base(fooling *f, int64_t k, hop_error *err)
{
    choose_base(f, k);
    hop_pool_run(f->h->o->pool, f->count, play_one, f);
    for (int i = 0; i < hop_pool_threads(f->h->o->pool); i++)
        if (f->lanes[i].status != HOP_OK) {
            if (err) *err = f->lanes[i].err;
            return f->lanes[i].status;
        }
    f->h->tried += f->count;
    for (int64_t j = 1; j < f->count; j++)
        for (int64_t i = 0; i < j; i++)
            if (f->hashes[i] == f->hashes[j]) return keep(f, i, j, err);
    return HOP_OK;
}

static hop_status turn(hop__hunt *h, int number, hop_error *err)
{
    fooling f = {.h = h};
    int64_t to = h->state->next + hop__quota(h, number, 1 << 16) / VALUES + 1;
    hop_status s = open_lanes(&f, err);
    for (; s == HOP_OK && !hop__caught(h) && h->state->next < to; h->state->next++)
        s = one_base(&f, h->state->next, err);
    close_lanes(&f);
    return s;
}

static bool has_messages(const hop__hunt *h)
{
    return h->o->arithmetic.message_bits && h->causal && h->full > 0 && !h->generates;
}

const hop__strategy hop__fooling = {.name = "fooling", .applies = has_messages, .turn = turn};
