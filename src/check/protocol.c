/* Protocols that `exact --protocol` writes, played on every input, from the file and the definition of the game alone
 * (docs/FORMATS.md, "Protocols"): a table has an index for each thing that its player knows then, so what a player may
 * know is a matter of lengths, which are checked, and of messages, which have to fit their bits. */
#include "room.h"

#include <stdlib.h>

enum { PLAYERS = 4, MOST_BITS = 28 };
#define MOST_INPUTS  ((int64_t)1 << 24)
#define MOST_ENTRIES ((int64_t)1 << 28)

typedef struct table {
    uint32_t *of;
    int64_t count;
} table;

typedef struct game {
    int64_t hops, m, fan, players;
    int64_t inputs[PLAYERS], tokens[PLAYERS];
    int64_t answers, before_bits, message_bits, after_bits;
    table before[PLAYERS], after[PLAYERS], reply[PLAYERS][PLAYERS];
} game;

/* ---- the game -------------------------------------------------------------------------------------- */

static bool wrong(hop_check *out, const char *what, int64_t at)
{
    if (out->why[0]) return false;
    if (at < 0)
        snprintf(out->why, sizeof out->why, "%s", what);
    else
        snprintf(out->why, sizeof out->why, "player %lld: %s", (long long)at, what);
    return false;
}

/* size^size, or more than MOST_INPUTS. */
static int64_t functions(int64_t size)
{
    int64_t all = 1;
    for (int64_t i = 0; i < size && all <= MOST_INPUTS; i++) all *= size;
    return all;
}

/* Player 0 holds z_L, .., the last but one z_0, the last w. */
static bool set_up(game *g, hop_check *out)
{
    int64_t size = g->m, all = 1;
    g->players = g->hops + 2;
    for (int64_t l = 1; l <= g->hops; l++) {
        g->inputs[g->hops - l] = functions(size), g->tokens[g->hops - l] = size, g->answers = size;
        size *= g->fan;
    }
    g->inputs[g->hops] = g->m, g->inputs[g->hops + 1] = g->fan;
    g->tokens[g->hops] = g->tokens[g->hops + 1] = 1;
    for (int64_t p = 0; p < g->players; p++) {
        if (g->inputs[p] > MOST_INPUTS / all) return wrong(out, "more than 2^24 inputs", -1);
        all *= g->inputs[p];
    }
    return true;
}

static int64_t digit(int64_t number, int64_t base, int64_t place)
{
    for (; place > 0; place--) number /= base;
    return number % base;
}

/* z_1(z_0), or z_2(w z_1(z_0)) */
static int64_t right_answer(const game *g, const int64_t *x)
{
    int64_t first = digit(x[g->hops - 1], g->m, x[g->hops]);
    return g->hops == 1 ? first : digit(x[0], g->answers, x[3] * g->m + first);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

/* inputs·2^bits numbers; false: that is too many. */
static bool entries(int64_t inputs, int64_t bits, int64_t *out)
{
    bool fits = bits <= MOST_BITS && inputs <= MOST_ENTRIES >> bits;
    *out = fits ? inputs << bits : 0;
    return fits;
}

static bool read_table(table *t, const hop_json *object, const char *key, int64_t count)
{
    const hop_json *list = hop_json_get(object, key);
    int64_t at = 0, v;
    if (!list || list->type != HOP_JSON_ARRAY || (int64_t)list->count != count) return false;
    t->of = calloc((size_t)count + 1, sizeof *t->of);
    t->count = count;
    for (const hop_json *e = t->of ? list->child : NULL; e; e = e->next) {
        if (!hop_json_int(e, 0, UINT32_MAX, &v)) return false;
        t->of[at++] = (uint32_t)v;
    }
    return t->of != NULL;
}

/* States in of the first chain: nobody is before player 0. */
static int64_t state_bits(const game *g, int64_t p)
{
    return p ? g->before_bits : 0;
}

static bool read_replies(game *g, const hop_json *player, int64_t p, hop_check *out)
{
    const hop_json *hears = hop_json_get(player, "hears");
    int64_t i = 0, count, from;
    for (const hop_json *e = hears && hears->type == HOP_JSON_ARRAY ? hears->child : NULL; e;
         e = e->next, i++) {
        if (i >= p || !hop_json_int(hop_json_get(e, "from") ? hop_json_get(e, "from") : e, i, i, &from) ||
            !entries(g->inputs[i] * g->inputs[p], state_bits(g, i) + state_bits(g, p), &count) ||
            !read_table(&g->reply[i][p], e, "reply", count))
            return wrong(
                out, "hears: not a reply of every earlier player, in order, of the length that they know", p);
    }
    bool all = g->message_bits ? i == p : i == 0;
    return all ? true : wrong(out, "hears: not one reply of every earlier player", p);
}

static bool read_player(game *g, const hop_json *player, int64_t p, hop_check *out)
{
    int64_t inputs = 0, tokens = 0, count, heard = p * g->message_bits * g->tokens[p];
    hop_json_read_int(player, "inputs", 0, INT64_MAX, &inputs, NULL);
    hop_json_read_int(player, "tokens", 0, INT64_MAX, &tokens, NULL);
    if (inputs != g->inputs[p] || tokens != g->tokens[p])
        return wrong(out, "other inputs or tokens than the task has", p);
    if (p + 1 < g->players && (!entries(g->inputs[p], state_bits(g, p), &count) ||
                               !read_table(&g->before[p], player, "before", count)))
        return wrong(out, "before: not a list with a number for each thing that it knows", p);
    if (!read_replies(g, player, p, out)) return false;
    if (!entries(g->inputs[p], state_bits(g, p) + (p ? g->after_bits : 0) + heard, &count) ||
        !read_table(&g->after[p], player, "after", count))
        return wrong(out, "after: not a list with a number for each thing that it knows", p);
    return true;
}

static bool read_game(game *g, const hop_json *v, hop_check *out)
{
    const struct {
        const char *key;
        int64_t low, high, *to;
    } sizes[] = {{"hops", 1, 2, &g->hops},
                 {"m", 2, 64, &g->m},
                 {"fan", 1, 64, &g->fan},
                 {"before_bits", 0, MOST_BITS - 1, &g->before_bits},
                 {"message_bits", 0, MOST_BITS - 1, &g->message_bits},
                 {"after_bits", 0, MOST_BITS - 1, &g->after_bits}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const hop_json *number = hop_json_get(v, sizes[i].key);
        if (!number || !hop_json_int(number, sizes[i].low, sizes[i].high, sizes[i].to))
            return wrong(out, "hops, m, fan and the bits: one is absent or no size", -1);
    }
    if (g->hops == 1 && g->fan != 1) return wrong(out, "fan: one hop has no second function", -1);
    if (!set_up(g, out)) return false;
    const hop_json *players = hop_json_get(v, "players");
    if (!players || players->type != HOP_JSON_ARRAY || (int64_t)players->count != g->players)
        return wrong(out, "players: not one for each function, the start and w", -1);
    int64_t p = 0;
    for (const hop_json *e = players->child; e; e = e->next)
        if (!read_player(g, e, p++, out)) return false;
    return true;
}

static void drop(game *g)
{
    for (int i = 0; i < PLAYERS; i++) {
        free(g->before[i].of), free(g->after[i].of);
        for (int j = 0; j < PLAYERS; j++) free(g->reply[i][j].of);
    }
}

/* ---- playing ---------------------------------------------------------------------------------------- */

/* The answer; -1: a message is longer than its bits. */
static int64_t play(const game *g, const int64_t *x)
{
    int64_t state[PLAYERS] = {0}, chain = 0;
    for (int64_t p = 0; p + 1 < g->players; p++) {
        state[p + 1] = g->before[p].of[state[p] * g->inputs[p] + x[p]];
        if (state[p + 1] >> g->before_bits) return -1;
    }
    for (int64_t p = 0; p < g->players; p++) {
        int64_t each = g->message_bits * g->tokens[p], heard = 0, knows = (int64_t)1 << state_bits(g, p);
        for (int64_t i = 0; i < p && each; i++) {
            int64_t other = x[i] * ((int64_t)1 << state_bits(g, i)) + state[i];
            int64_t said = g->reply[i][p].of[(other * g->inputs[p] + x[p]) * knows + state[p]];
            if (each < 32 && said >> each) return -1;
            heard |= said << (i * each);
        }
        int64_t own = (chain * g->inputs[p] + x[p]) * knows + state[p];
        chain = g->after[p].of[(own << (p * each)) + heard];
        if (p + 1 < g->players && chain >> g->after_bits) return -1;
    }
    return chain;
}

static bool play_all(const game *g, hop_check *out)
{
    int64_t x[PLAYERS] = {0};
    for (;;) {
        int64_t got = play(g, x), want = right_answer(g, x);
        out->passes++;
        if (got != want) {
            snprintf(out->why, sizeof out->why, "on inputs %lld, %lld, %lld%s it %s", (long long)x[0],
                     (long long)x[1], (long long)x[2], g->players > 3 ? ", .." : "",
                     got < 0 ? "sends more bits than it may" : "answers wrongly");
            return false;
        }
        int64_t p = 0;
        while (p < g->players && ++x[p] == g->inputs[p]) x[p++] = 0;
        if (p == g->players) return true;
    }
}

/* ---- a file ------------------------------------------------------------------------------------------ */

static hop_status judge(hop_check *out, const hop_json *list)
{
    int64_t number = 0;
    out->valid = true;
    for (const hop_json *v = list->child; v && out->valid; v = v->next, number++) {
        game g = {0};
        out->why[0] = 0;
        out->valid = v->type == HOP_JSON_OBJECT && read_game(&g, v, out) && play_all(&g, out);
        if (!out->valid) {
            char why[sizeof out->why];
            snprintf(why, sizeof why, "protocol %lld: %.350s", (long long)number,
                     out->why[0] ? out->why : "no object");
            memcpy(out->why, why, sizeof why);
        } else {
            snprintf(out->why, sizeof out->why,
                     "%lld protocol%s right on all inputs; the last composes %lld function%s, m %lld, with "
                     "%lld bits before, "
                     "%lld in messages and %lld after",
                     (long long)number + 1, number ? "s are" : " is", (long long)g.hops,
                     g.hops > 1 ? "s" : "", (long long)g.m, (long long)g.before_bits,
                     (long long)g.message_bits, (long long)g.after_bits);
        }
        drop(&g);
    }
    return HOP_OK;
}

hop_status hop_check_protocols(hop_check *out, const char *path, hop_error *err)
{
    hop_json_doc doc = {0};
    *out = (hop_check){.kind = "protocol", .why = "no protocol in it", .margin = NAN, .spread = NAN};
    hop_status s = hop_json_read(&doc, path, err);
    if (s != HOP_OK) return s;
    const hop_json *list = hop_json_get(doc.root, "protocols");
    if (list && list->type == HOP_JSON_ARRAY && list->count) s = judge(out, list);
    hop_json_free(&doc);
    return s;
}
