/* A player's table, applied to every input: for each value that the labels it looks at may have, if they have
 * it then the table's entry there is what it sends. And the way back, from a model to a protocol's tables. */
#include "encode.h"

#include <string.h>

#define MAX_STEPS 12

/* Labels in the order in which they are given values: later ones depend on earlier ones' values. */
typedef struct step {
    enum { STATE, REPLY, CHAIN } kind;
    int player;
} step;

typedef struct table_build {
    hop__encoding *e;
    int p;
    step steps[MAX_STEPS];
    int count;
    hop__view view;
    int guard[32 * MAX_STEPS], n;
} table_build;

static void plan(table_build *w)
{
    const hop__encoding *e = w->e;
    for (int q = 1; q <= w->p; q++) {
        bool asked = q == w->p || q == e->open || hop__has_reply(e, q, w->p);
        if ((q == 1 && !hop__restricted(e)) || asked) w->steps[w->count++] = (step){STATE, q};
    }
    for (int i = 0; i < w->p; i++)
        if (hop__has_reply(e, i, w->p)) w->steps[w->count++] = (step){REPLY, i};
    w->steps[w->count++] = (step){CHAIN, w->p - 1};
}

static const hop__label *label_of(const table_build *w, const step *s)
{
    const hop__encoding *e = w->e;
    const int64_t *x = w->view.x;
    switch (s->kind) {
    case STATE: return hop__state_label(e, x, s->player, w->view.state[1]);
    case REPLY: return &e->reply[s->player][w->p][hop__reply_at(e, &w->view, s->player, w->p)];
    case CHAIN: break;
    }
    return &e->chain[w->p - 1][hop__index(e->game, x, 0, w->p)];
}

static void leaf(table_build *w)
{
    hop__encoding *e = w->e;
    const hop__label *entry = &e->after[w->p][hop__after_at(e, &w->view, w->p)];
    if (w->p == e->game->players - 1)
        hop__label_force(e->f, w->guard, w->n, entry, (int)hop_exact_game_answer(e->game, w->view.x));
    else
        hop__label_equal(e->f, w->guard, w->n, entry,
                         &e->chain[w->p][hop__index(e->game, w->view.x, 0, w->p + 1)]);
}

static void branch(table_build *w, int at)
{
    if (at == w->count) {
        leaf(w);
        return;
    }
    const step *s = &w->steps[at];
    const hop__label *l = label_of(w, s);
    const int n = w->n;
    for (int v = 0; v < l->values; v++) {
        *(s->kind == STATE   ? &w->view.state[s->player]
          : s->kind == REPLY ? &w->view.heard[s->player]
                             : &w->view.chain) = v;
        w->n = n + hop__label_not(l, v, w->guard + n);
        branch(w, at + 1);
    }
    w->n = n;
}

void hop__encode_player(hop__encoding *e, int p)
{
    int64_t x[HOP_EXACT_PLAYERS] = {0};
    table_build w = {.e = e, .p = p, .view.x = x};
    plan(&w);
    for (;;) {
        if (hop__in_formula(e, x[0])) branch(&w, 0);
        int j = 0;
        while (j <= p && ++x[j] == e->game->count[j]) x[j++] = 0;
        if (j > p || e->f->failed) return;
    }
}

double hop__encoding_clauses(const hop_exact_game *g, hop_bits bits, hop__mode mode)
{
    const hop__encoding e = {.game = g, .bits = bits, .mode = mode, .open = hop__first_open(g, bits, mode)};
    double total = 0;
    for (int p = 1; p < g->players; p++) {
        if (hop__chain_is_free(&e, p)) continue;
        table_build w = {.e = (hop__encoding *)(uintptr_t)&e, .p = p};
        plan(&w);
        double clauses = (double)hop__inputs_before(g, 1, p + 1), tables = 0;
        for (int64_t x0 = 0; x0 < g->count[0]; x0++) tables += hop__in_formula(&e, x0);
        clauses *= tables;
        for (int k = 0; k < w.count; k++) {
            int b = w.steps[k].kind == STATE   ? (w.steps[k].player == 1 ? hop__start_bits(&e) : bits.before)
                    : w.steps[k].kind == REPLY ? hop__reply_bits(&e, p)
                                               : bits.after;
            clauses *= (double)((int64_t)1 << (b < 62 ? b : 62));
        }
        int width = 0;
        while (p == g->players - 1 && (int64_t)1 << width < g->answers) width++;
        total += clauses * (p == g->players - 1 ? width : 2 * bits.after);
    }
    return total;
}

/* ---- from a model to a protocol -------------------------------------------------------------- */

typedef struct reading {
    const hop__encoding *e;
    const signed char *model;
    hop_protocol *out;
} reading;

static uint32_t value(const reading *r, const hop__label *l)
{
    return (uint32_t)hop__label_value(l, r->model);
}

/* What player 0 sends for z_L = x. Where the formula does not speak of x, it is the sum of what it says of
 * x's bits. */
static uint32_t first_value(const reading *r, const hop__label *l, int64_t x)
{
    if (hop__in_formula(r->e, x)) return value(r, &l[x]);
    return first_value(r, l, x & (x - 1)) ^ value(r, &l[x & -x]) ^ value(r, &l[0]);
}

static void read_reply(const reading *r, int i, int j)
{
    const hop__encoding *e = r->e;
    const hop_exact_game *g = e->game;
    int64_t x[HOP_EXACT_PLAYERS] = {0}, at = 0;
    hop__view v = {.x = x};
    for (x[i] = 0; x[i] < g->count[i]; x[i]++)
        for (v.state[i] = 0; v.state[i] < hop__states(e, i); v.state[i]++)
            for (x[j] = 0; x[j] < g->count[j]; x[j]++)
                for (v.state[j] = 0; v.state[j] < hop__states(e, j); v.state[j]++, at++) {
                    uint32_t said = 0;
                    if (hop__has_reply(e, i, j))
                        said = value(r, &e->reply[i][j][hop__reply_at(e, &v, i, j)]);
                    else if (i == 0) /* the state that the asker wants */
                        said = value(r, &e->chain[1][hop__index(g, x, 0, 2)]);
                    else if (i >= e->open)
                        said = (uint32_t)(x[i] * hop__states(e, i) + v.state[i]);
                    r->out->reply[i][j][at] = said;
                }
}

/* The entry of player p's table when it heard `heard`: open players' replies are taken apart again. */
static uint32_t read_entry(const reading *r, int p, hop__view *v, int64_t *x, int64_t heard)
{
    const hop__encoding *e = r->e;
    const int bits = hop__reply_bits(e, p);
    if (hop__chain_is_free(e, p)) return (uint32_t)(heard & (((int64_t)1 << e->bits.after) - 1));
    for (int i = 0; i < p; i++) {
        int64_t said = heard >> (i * bits) & (((int64_t)1 << bits) - 1);
        v->heard[i] = said;
        if (i < e->open) continue;
        x[i] = said / hop__states(e, i);
        v->state[i] = said % hop__states(e, i);
        if (x[i] >= e->game->count[i]) return 0; /* nobody says that */
    }
    return value(r, &e->after[p][hop__after_at(e, v, p)]);
}

static void read_after(const reading *r, int p)
{
    const hop__encoding *e = r->e;
    int64_t x[HOP_EXACT_PLAYERS] = {0}, at = 0, heard;
    hop__view v = {.x = x};
    for (v.chain = 0; v.chain < (int64_t)1 << e->bits.after; v.chain++)
        for (x[p] = 0; x[p] < e->game->count[p]; x[p]++)
            for (v.state[p] = 0; v.state[p] < hop__states(e, p); v.state[p]++)
                for (heard = 0; heard < (int64_t)1 << (p * hop__reply_bits(e, p)); heard++)
                    r->out->after[p][at++] = read_entry(r, p, &v, x, heard);
}

hop_status hop__encoding_protocol(const hop__encoding *e, const signed char *model, hop_protocol **out,
                                  hop_error *err)
{
    const hop_exact_game *g = e->game;
    hop_status s = hop_protocol_new(out, g, e->bits, err);
    if (s != HOP_OK) return s;
    reading r = {e, model, *out};
    for (int64_t x = 0; x < g->count[0]; x++) {
        (*out)->before[0][x] = first_value(&r, e->start, x);
        (*out)->after[0][x] = first_value(&r, e->chain[0], x);
    }
    for (int p = 1; p < g->players; p++) {
        if (p < g->players - 1)
            for (int64_t k = 0; k < hop__states(e, p) * g->count[p]; k++)
                (*out)->before[p][k] = value(&r, &e->before[p][k]);
        for (int i = 0; i < p && e->bits.message; i++) read_reply(&r, i, p);
        read_after(&r, p);
    }
    return HOP_OK;
}
