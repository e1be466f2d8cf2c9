/* What an architecture is short of when a hop cannot be made in it, in one line, with numbers.
 *
 * Look-ups are done as early as can be, so that the layers behind the last one that did its part are all that
 * is left for the next: what these lack is the reason, and for the first look-up what all of them lack. */
#include "wiring.h"

typedef struct rest {
    const hop_config *c;
    const hop__stream *s;
    const hop_funccomp *task;
    int e;                       /* the look-up that nobody does */
    int64_t narrow;              /* a layer that attends to all tokens, without room for it; -1: none */
    int64_t windows;             /* layers that attend to some tokens only */
    int64_t tableless;           /* linear ones that keep no table, and .. */
    const char *mixer;           /* .. the first mixer of theirs */
    int64_t thin, widest;        /* linear ones whose values are too narrow, and the numbers of the widest */
    int64_t holders, held, rows; /* linear ones that hold entries, how many, and how many a head holds */
} rest;

static const hop_mixer_ops *mixer_at(const hop_config *c, int64_t layer, hop_mixer_config *own)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    return ops && hop_config_mixer(c, ops, layer, own, NULL) == HOP_OK ? ops : NULL;
}

static void look_at(rest *r, int64_t layer)
{
    hop_mixer_config own;
    const hop_mixer_ops *ops = mixer_at(r->c, layer, &own);
    if (!ops) return;
    if (ops->kind == HOP_MIXER_FULL ||
        (ops->kind == HOP_MIXER_WINDOW && own.option[HOP_OPTION_window] >= r->task->length)) {
        r->narrow = layer;
    } else if (ops->kind != HOP_MIXER_RECURRENT) {
        r->windows++;
    } else if (r->e > 0 && !ops->table) {
        if (r->tableless++ == 0) r->mixer = ops->name;
    } else if (r->e > 0) {
        hop_mixer_table t = ops->table(&own);
        int64_t count = hop__table_entries(r->c, r->s, layer, r->e);
        if (count > 0) r->holders++, r->held += count, r->rows = t.rows;
        if (count == 0) r->thin++, r->widest = t.numbers > r->widest ? t.numbers : r->widest;
    }
}

/* What the linear layers would need for the entries that are not held. */
static void say_states(hop_text *t, const rest *r)
{
    if (r->holders > 0) {
        int64_t lacking = r->task->size[r->e - 1] - r->held, heads = (lacking + r->rows - 1) / r->rows;
        hop_text_printf(t, ", %lld linear with room for %lld (%lld short: %lld head%s of %lld)",
                        (long long)r->holders, (long long)r->held, (long long)lacking, (long long)heads,
                        heads == 1 ? "" : "s", (long long)r->rows);
    }
    if (r->thin > 0)
        hop_text_printf(t, ", %lld linear with values of %lld numbers (an entry takes %d)",
                        (long long)r->thin, (long long)r->widest, 2 * hop__stream_bits(r->s, r->e));
    if (r->tableless > 0)
        hop_text_printf(t, ", %lld linear (%s states hold no table)", (long long)r->tableless, r->mixer);
}

/* Where no linear layer carries the first number, a full layer has to, or nobody does: one that cannot. */
static void say_carrier(hop_text *t, const rest *r, const hop__assignment *assignment)
{
    for (int64_t i = 0; i < r->c->pattern.layers && assignment[i].e != 0; i++) {
        hop_mixer_config own;
        hop_error why = {0};
        const hop_mixer_ops *ops = mixer_at(r->c, i, &own);
        if (!ops || ops->kind != HOP_MIXER_RECURRENT ||
            hop__linear_room(r->c, r->s->f.code.width[0], i, &why) == HOP_OK)
            continue;
        hop_text_printf(t, "; layer %lld cannot bring the first number: %s", (long long)i, why.text);
        return;
    }
}

/* Layers that were passed over, where none is left: mixers that hold no table. */
static void say_idle(hop_text *t, rest *r, const hop__assignment *assignment, int64_t before)
{
    for (int64_t i = 0; i < before; i++)
        if (assignment[i].e < 0) look_at(r, i);
    if (r->tableless > 0)
        hop_text_printf(t, "; %lld linear %s idle (%s states hold no table)", (long long)r->tableless,
                        r->tableless == 1 ? "is" : "are", r->mixer);
}

void hop__stream_short(hop_text *t, const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                       const hop__assignment *assignment, int e)
{
    rest r = {.c = c, .s = s, .task = task, .e = e, .narrow = -1};
    hop_text list = {0};
    hop_error why = {0};
    int64_t from = 0;
    for (int64_t i = 0; i < c->pattern.layers; i++)
        if (assignment[i].e >= 0 && assignment[i].e < e) from = i + 1;
    for (int64_t i = from; i < c->pattern.layers; i++) look_at(&r, i);
    say_states(&list, &r);
    if (r.windows > 0)
        hop_text_printf(&list, ", %lld that see%s fewer than %lld tokens", (long long)r.windows,
                        r.windows == 1 ? "s" : "", (long long)task->length);
    if (r.narrow >= 0 && hop__stream_room(c, s, task, r.narrow, e, &why) != HOP_OK)
        hop_text_printf(&list, ", %s", why.text);
    if (e == 0)
        hop_text_add(t, "no layer brings the first number to the last token");
    else
        hop_text_printf(t, "hop %d looks into %lld entr%s, and %s", e, (long long)task->size[e - 1],
                        task->size[e - 1] == 1 ? "y" : "ies",
                        list.s ? "what is left is" : "no layer is left");
    if (list.s)
        hop_text_printf(t, "%s %s", e == 0 ? ":" : "", hop_text_in(t, &list) + 2);
    else
        say_idle(t, &r, assignment, from);
    say_carrier(t, &r, assignment);
    hop_text_free(&list);
}
