/* The game and its protocols: who knows what, and playing it on every input.
 *
 * What a player may know is kept by construction: a table has an index for each thing its player knows and
 * none for anything else. The check plays with these tables and knows nothing of where they come from. */
#include <hopbound/exact.h>

#include <stdio.h>
#include <stdlib.h>

#define MAX_INPUTS  ((int64_t)1 << 24)
#define MAX_ENTRIES ((int64_t)1 << 28)

/* base^power, or MAX_INPUTS + 1 when that is exceeded. */
static int64_t power(int64_t base, int64_t exponent)
{
    int64_t r = 1;
    while (exponent-- > 0 && r <= MAX_INPUTS) r *= base;
    return r <= MAX_INPUTS ? r : MAX_INPUTS + 1;
}

hop_status hop_exact_game_init(hop_exact_game *g, int hops, int64_t m, int64_t fan, hop_error *err)
{
    *g = (hop_exact_game){0};
    if (hops < 1 || hops > 2) return hop_fail(err, HOP_EDOMAIN, "hops %d: only 1 and 2 can be decided", hops);
    if (m < 2 || m > 1 << 20) return hop_fail(err, HOP_EDOMAIN, "m %lld: outside 2..2^20", (long long)m);
    if (hops == 2 && (fan < 2 || fan > 1 << 20))
        return hop_fail(err, HOP_EDOMAIN, "fan %lld: outside 2..2^20", (long long)fan);
    int64_t size = m, inputs = 1;
    hop_exact_game game = {.hops = hops, .players = hops + 2, .m = m, .fan = hops == 2 ? fan : 1};
    for (int l = 1; l <= hops; l++) {
        int p = hops - l;
        game.count[p] = power(size, size);
        game.tokens[p] = size;
        game.answers = size;
        size *= game.fan;
    }
    game.count[hops] = m;
    game.count[hops + 1] = game.fan;
    game.tokens[hops] = game.tokens[hops + 1] = 1;
    for (int p = 0; p < game.players; p++) {
        if (game.count[p] > MAX_INPUTS / inputs)
            return hop_fail(err, HOP_EDOMAIN,
                            "hops %d, m %lld: more than 2^24 inputs to list (exact ends at one hop with m 7, "
                            "two with m 2 and "
                            "fan 3 or m 3 and fan 2)",
                            hops, (long long)m);
        inputs *= game.count[p];
    }
    *g = game;
    return HOP_OK;
}

static int64_t entry(int64_t table, int64_t size, int64_t index)
{
    while (index-- > 0) table /= size;
    return table % size;
}

int64_t hop_exact_game_answer(const hop_exact_game *g, const int64_t *x)
{
    int64_t i1 = entry(x[g->hops - 1], g->m, x[g->hops]); /* z_1(z_0) */
    if (g->hops == 1) return i1;
    return entry(x[0], g->answers, x[3] * g->m + i1); /* z_2(w_1, i_1) */
}

/* ---- protocols ----------------------------------------------------------------------------- */

/* A table's index has `bits` bits beside `inputs` values. */
static bool table_fits(int64_t inputs, int64_t bits)
{
    return bits <= 28 && inputs <= MAX_ENTRIES >> bits;
}

bool hop_protocol_fits(const hop_exact_game *g, hop_bits b)
{
    bool fits = b.before < 28 && b.after < 28 && b.message < 28;
    for (int j = 0; j < g->players && fits; j++) {
        int64_t state = j ? b.before : 0, reply = b.message * g->tokens[j];
        fits = table_fits(g->count[j], (j ? b.after : 0) + state + j * reply);
        for (int i = 0; i < j && fits && reply; i++)
            fits = reply < 32 && table_fits(g->count[i] * g->count[j], state + (i ? b.before : 0));
    }
    return fits;
}

static int state_values(const hop_protocol *p, int player)
{
    return player ? 1 << p->bits.before : 1;
}

static int reply_bits(const hop_protocol *p, int to)
{
    return p->bits.message * (int)p->game.tokens[to];
}

static uint32_t *table_new(int64_t inputs, int bits)
{
    return hop_alloc((size_t)(inputs << bits) * sizeof(uint32_t));
}

hop_status hop_protocol_new(hop_protocol **out, const hop_exact_game *g, hop_bits bits, hop_error *err)
{
    *out = NULL;
    if (!hop_protocol_fits(g, bits)) return hop_fail(err, HOP_ERANGE, "protocol: tables too large");
    hop_protocol *p = calloc(1, sizeof *p);
    bool ok = p != NULL;
    if (ok) *p = (hop_protocol){.game = *g, .bits = bits};
    for (int j = 0; j < g->players && ok; j++) {
        int state = j ? bits.before : 0;
        if (j + 1 < g->players) ok = (p->before[j] = table_new(g->count[j], state)) != NULL;
        for (int i = 0; i < j && ok && reply_bits(p, j); i++)
            ok = (p->reply[i][j] = table_new(g->count[i] * g->count[j], state + (i ? bits.before : 0))) !=
                 NULL;
        ok = ok && (p->after[j] =
                        table_new(g->count[j], (j ? bits.after : 0) + state + j * reply_bits(p, j))) != NULL;
    }
    if (!ok) {
        hop_protocol_free(p);
        return hop_fail(err, HOP_ENOMEM, "protocol: out of memory");
    }
    *out = p;
    return HOP_OK;
}

void hop_protocol_free(hop_protocol *p)
{
    if (!p) return;
    for (int j = 0; j < HOP_EXACT_PLAYERS; j++) {
        hop_free(p->before[j]);
        hop_free(p->after[j]);
        for (int i = 0; i < j; i++) hop_free(p->reply[i][j]);
    }
    free(p);
}

/* ---- playing ------------------------------------------------------------------------------- */

/* What player j hears in the epoch, as one number; false when a reply is longer than its bits. */
static bool hear(const hop_protocol *p, const int64_t *x, const uint32_t *state, int j, uint32_t *heard)
{
    *heard = 0;
    for (int i = 0; i < j && reply_bits(p, j); i++) {
        int64_t at = x[i] * state_values(p, i) + state[i];
        at = (at * p->game.count[j] + x[j]) * state_values(p, j) + state[j];
        uint32_t reply = p->reply[i][j][at];
        if (reply >> reply_bits(p, j)) return false;
        *heard |= reply << (i * reply_bits(p, j));
    }
    return true;
}

/* The answer to one input, or -1 when a message is longer than its bits. */
static int64_t play(const hop_protocol *p, const int64_t *x)
{
    uint32_t state[HOP_EXACT_PLAYERS] = {0}, chain = 0, heard;
    const int last = p->game.players - 1;
    for (int j = 0; j < last; j++) {
        state[j + 1] = p->before[j][(int64_t)state[j] * p->game.count[j] + x[j]];
        if (state[j + 1] >> p->bits.before) return -1;
    }
    for (int j = 0; j <= last; j++) {
        if (!hear(p, x, state, j, &heard)) return -1;
        int64_t at = (int64_t)chain * p->game.count[j] + x[j];
        at = (at * state_values(p, j) + state[j]) << (j * reply_bits(p, j)) | heard;
        chain = p->after[j][at];
        if (j < last && chain >> p->bits.after) return -1;
    }
    return chain;
}

hop_status hop_protocol_check(const hop_protocol *p, hop_error *err)
{
    int64_t x[HOP_EXACT_PLAYERS] = {0};
    const hop_exact_game *g = &p->game;
    for (;;) {
        int64_t got = play(p, x), want = hop_exact_game_answer(g, x);
        if (got != want)
            return hop_fail(
                err, HOP_EDOMAIN, "protocol: on inputs %lld, %lld, %lld, %lld it %s %lld, not %lld",
                (long long)x[0], (long long)x[1], (long long)x[2], (long long)x[3],
                got < 0 ? "sends too long a message:" : "answers", (long long)got, (long long)want);
        int j = 0;
        while (j < g->players && ++x[j] == g->count[j]) x[j++] = 0;
        if (j == g->players) return HOP_OK;
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_table(hop_json_writer *w, const char *key, const uint32_t *t, int64_t entries)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int64_t k = 0; k < entries; k++) hop_json_put_int(w, t[k]);
    hop_json_end_array(w);
}

static void write_player(hop_json_writer *w, const hop_protocol *p, int j)
{
    const hop_exact_game *g = &p->game;
    int64_t known = g->count[j] * state_values(p, j);
    char holds[8];
    snprintf(holds, sizeof holds, j == g->players - 1 ? "w" : "z_%d", g->hops - j);
    hop_json_begin_object(w);
    hop_json_string(w, "holds", holds);
    hop_json_integer(w, "inputs", g->count[j]);
    hop_json_integer(w, "tokens", g->tokens[j]);
    if (p->before[j]) write_table(w, "before", p->before[j], known);
    hop_json_key(w, "hears");
    hop_json_begin_array(w);
    for (int i = 0; i < j && p->reply[i][j]; i++) {
        hop_json_begin_object(w);
        hop_json_integer(w, "from", i);
        write_table(w, "reply", p->reply[i][j], g->count[i] * state_values(p, i) * known);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
    write_table(w, "after", p->after[j], known << ((j ? p->bits.after : 0) + j * reply_bits(p, j)));
    hop_json_end_object(w);
}

void hop_protocol_write(const hop_protocol *p, hop_json_writer *w)
{
    hop_json_begin_object(w);
    hop_json_integer(w, "hops", p->game.hops);
    hop_json_integer(w, "m", p->game.m);
    hop_json_integer(w, "fan", p->game.fan);
    hop_json_integer(w, "before_bits", p->bits.before);
    hop_json_integer(w, "message_bits", p->bits.message);
    hop_json_integer(w, "after_bits", p->bits.after);
    hop_json_key(w, "players");
    hop_json_begin_array(w);
    for (int j = 0; j < p->game.players; j++) write_player(w, p, j);
    hop_json_end_array(w);
    hop_json_end_object(w);
}
