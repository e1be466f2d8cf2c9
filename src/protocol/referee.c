/* What is asked when the game is over: how much was said, what the answers are, and whether they are those of
 * the plain pass. Everything goes to the referee, who sits with rank 0; no bit of it is counted. */
#include "room.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 1024 /* of the residual stream that travel at once */

static bool sits_here(const hop_game *g)
{
    return g->o.transport->rank == 0;
}

/* ---- counts ------------------------------------------------------------------------------------------ */

hop_status hop_game_count(hop_game *g, hop_error *err)
{
    int64_t count, *mine = hop__transcript_counts(g->transcript, &count), *theirs = NULL;
    size_t size = sizeof *mine * (size_t)count;
    hop_status s = HOP_OK;
    if (g->o.transport->ranks == 1) return HOP_OK;
    if (sits_here(g) && !(theirs = malloc(size)))
        return hop_fail(err, HOP_ENOMEM, "the counts: out of memory");
    /* A rank speaks through its first player. */
    for (int rank = 1; s == HOP_OK && hop__game_first(g, rank) < g->o.count; rank++) {
        int player = hop__game_first(g, rank);
        if (hop__game_holds(g, player)) s = hop__game_send(g, player, HOP__REFEREE, mine, size, err);
        if (!sits_here(g)) continue;
        s = hop__game_recv(g, player, HOP__REFEREE, theirs, size, err);
        for (int64_t i = 0; s == HOP_OK && i < count; i++) mine[i] += theirs[i];
    }
    free(theirs);
    return s;
}

const hop_transcript *hop_game_transcript(const hop_game *g)
{
    return g->transcript;
}

/* ---- answers ----------------------------------------------------------------------------------------- */

static void read_answers(hop_game *g, int player, const int32_t *wanted, int32_t *answers)
{
    const hop_player *p = &g->players[player];
    for (int64_t r = 0; r < p->tokens; r++) {
        if (wanted[p->first + r] < 0) continue;
        hop_split_logits(g->split, player, r, g->logits);
        answers[p->first + r] = (int32_t)hop_argmax(g->logits, hop_model_config(g->model)->vocab);
    }
}

hop_status hop_game_answers(hop_game *g, const int32_t *wanted, int32_t *answers, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int p = 0; s == HOP_OK && p < g->o.count; p++) {
        int64_t first = g->players[p].first;
        size_t size = sizeof *answers * (size_t)g->players[p].tokens;
        if (hop__game_holds(g, p)) {
            read_answers(g, p, wanted, answers);
            s = hop__game_send(g, p, HOP__REFEREE, answers + first, size, err);
        }
        if (s == HOP_OK && sits_here(g)) s = hop__game_recv(g, p, HOP__REFEREE, answers + first, size, err);
    }
    return s;
}

/* ---- the residual stream ---------------------------------------------------------------------------------
 */

/* What rank 0 compares with; NULL elsewhere. */
typedef struct comparison {
    const float *hidden; /* of the plain pass */
    unsigned char *copy; /* of a player's rows */
    bool same;
} comparison;

/* Rows of one player, from where they are to where they are judged. */
static hop_status compare_rows(hop_game *g, int player, int64_t row, int64_t rows, comparison *k,
                               hop_error *err)
{
    int64_t d = hop_model_config(g->model)->d_model, first = g->players[player].first;
    size_t size = sizeof(float) * (size_t)(rows * d);
    hop_status s = HOP_OK;
    if (hop__game_holds(g, player))
        s = hop__game_send(g, player, HOP__REFEREE, hop_split_hidden(g->split, player) + row * d, size, err);
    if (s != HOP_OK || !sits_here(g)) return s;
    s = hop__game_recv(g, player, HOP__REFEREE, k->copy, size, err);
    if (s == HOP_OK && memcmp(k->copy, k->hidden + (first + row) * d, size) != 0) k->same = false;
    return s;
}

hop_status hop_game_compare(hop_game *g, const float *hidden, bool *identical, hop_error *err)
{
    size_t size = sizeof(float) * (size_t)(ROWS * hop_model_config(g->model)->d_model);
    comparison k = {.hidden = hidden, .copy = sits_here(g) ? malloc(size) : NULL, .same = true};
    hop_status s = HOP_OK;
    if (sits_here(g) && !k.copy) return hop_fail(err, HOP_ENOMEM, "rows to compare: out of memory");
    for (int p = 0; s == HOP_OK && p < g->o.count; p++)
        for (int64_t row = 0; s == HOP_OK && row < g->players[p].tokens; row += ROWS) {
            int64_t left = g->players[p].tokens - row;
            s = compare_rows(g, p, row, left < ROWS ? left : ROWS, &k, err);
        }
    *identical = k.same;
    free(k.copy);
    return s;
}

/* ---- logits ------------------------------------------------------------------------------------------ */

static double difference(const float *a, const float *b, int64_t n)
{
    double largest = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(b[i])) size = fmax(size, fabs((double)b[i]));
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) continue;
        double d = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(d)) return DBL_MAX;
        largest = fmax(largest, d);
    }
    return largest > 0 && size > 0 ? largest / size : largest;
}

hop_status hop_game_difference(hop_game *g, int64_t t, const float *logits, double *part, hop_error *err)
{
    int64_t vocab = hop_model_config(g->model)->vocab;
    size_t size = sizeof(float) * (size_t)vocab;
    int player = 0;
    hop_status s = HOP_OK;
    *part = 0;
    while (player + 1 < g->o.count && g->players[player + 1].first <= t) player++;
    if (hop__game_holds(g, player)) {
        hop_split_logits(g->split, player, t - g->players[player].first, g->logits);
        s = hop__game_send(g, player, HOP__REFEREE, g->logits, size, err);
    }
    if (s != HOP_OK || !sits_here(g)) return s;
    s = hop__game_recv(g, player, HOP__REFEREE, g->logits, size, err); /* rank 0 always holds a player */
    if (s == HOP_OK) *part = difference(g->logits, logits, vocab);
    return s;
}
