/* exact: which cells of the table were asked for. */
#include <stdlib.h>
#include <string.h>
#include "exact.h"

typedef struct list {
    int v[MAX_BITS + 1], count;
} list;

/* A number too large, as it was written; some do not fit into a long. */
static hop_status too_large(const char *option, const char *digits, hop_error *err)
{
    const size_t length = strspn(digits, "0123456789"), most = 40;
    return hop_fail(err, HOP_EUSAGE, "--%s: %.*s%s is outside 0..%d", option,
                    (int)(length < most ? length : most), digits, length > most ? ".." : "", MAX_BITS);
}

/* "5", "1,3", "0..4", "0..2,6": rising numbers up to MAX_BITS. */
static hop_status read_list(const char *option, const char *text, list *out, hop_error *err)
{
    const char *at = text;
    for (;;) {
        char *end;
        long lo = strtol(at, &end, 10), hi = lo;
        bool ok = *at >= '0' && *at <= '9';
        if (ok && strncmp(end, "..", 2) == 0) {
            at = end + 2;
            hi = strtol(at, &end, 10);
            ok = *at >= '0' && *at <= '9';
        }
        if (!ok || (*end && *end != ','))
            return hop_fail(err, HOP_EUSAGE, "--%s: \"%.60s\" is not a list such as 3, 0,2 or 0..4", option,
                            text);
        if (hi > MAX_BITS) return too_large(option, at, err);
        if (hi < lo || (out->count && out->v[out->count - 1] >= lo))
            return hop_fail(err, HOP_EUSAGE, "--%s: \"%.60s\" does not rise", option, text);
        while (lo <= hi) out->v[out->count++] = (int)lo++;
        if (!*end) return HOP_OK;
        at = end + 1;
    }
}

/* What the option says, else 0..most. */
static hop_status list_of(const char *option, const hop_opt_value *v, int64_t most, list *out, hop_error *err)
{
    if (v->text) return read_list(option, v->text, out, err);
    if (most > MAX_BITS) most = MAX_BITS;
    for (int k = 0; k <= most; k++) out->v[out->count++] = k;
    return HOP_OK;
}

/* Bits that number `tables` things. */
static int64_t bits_for(int64_t tables)
{
    int64_t bits = 0;
    while (bits < 62 && (int64_t)1 << bits < tables) bits++;
    return bits;
}

/* By default up to where a protocol is obvious: all of z_L in the states, or of what w can ask for in a
 * message. */
hop_status hop__exact_cells(const exact_args *a, const hop_exact_game *g, exact_table *t, hop_error *err)
{
    list before = {0}, after = {0}, message = {0};
    const int64_t all = bits_for(g->count[0]), asked = g->m * bits_for(g->answers);
    bool messages = a->message_bits.given || a->before.given || a->after.given;
    t->full = a->full_layers.given ? a->full_layers.integer == 1 : g->hops == 2 || messages;
    t->split = a->before.given || a->after.given;
    if (g->hops == 1 && a->fan.given)
        return hop_fail(err, HOP_EUSAGE, "--fan: one hop has no second function");
    if (!t->full && messages)
        return hop_fail(err, HOP_EUSAGE, "--full-layers: 0 has no messages, and nothing before or after it");
    if (t->split && a->state_bits.given)
        return hop_fail(err, HOP_EUSAGE, "--state-bits: with --before or --after there are two kinds");
    hop_status s = list_of("message-bits", &a->message_bits, t->full ? asked : 0, &message, err);
    if (s == HOP_OK && t->split) {
        s = list_of("before", &a->before, 0, &before, err);
        if (s == HOP_OK) s = list_of("after", &a->after, 0, &after, err);
    } else if (s == HOP_OK) {
        s = list_of("state-bits", &a->state_bits, t->full ? (all + 1) / 2 : all, &after, err);
        before.count = 1;
    }
    for (int i = 0; i < before.count && s == HOP_OK; i++)
        for (int j = 0; j < after.count; j++)
            for (int k = 0; k < message.count; k++) {
                if (t->count == EXACT_MAX_CELLS)
                    return hop_fail(err, HOP_EUSAGE, "--message-bits: more than %d cells", EXACT_MAX_CELLS);
                int first = t->split ? before.v[i] : t->full ? after.v[j] : 0;
                t->bits[t->count++] = (hop_bits){first, message.v[k], after.v[j]};
            }
    return s;
}
