/* What was learnt, as rows that the report draws. */
#include <hopbound/learnt.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hopbound/mixers.h>

#include "desk.h"

/* What P1 asks of a plan: a full layer more than hops, or as many and a linear one before the second of them.
 */
static hop_learnt_side side_of(const hop_config *c, int hops)
{
    int64_t full = 0; /* from the last layer backward */
    bool carried = false;
    for (int64_t i = c->pattern.run_count - 1; i >= 0; i--) {
        const hop_mixer_ops *ops = hop_mixer_find(c->pattern.runs[i].mixer);
        if (ops && ops->kind == HOP_MIXER_FULL) full += c->pattern.runs[i].count;
        if (ops && ops->kind == HOP_MIXER_RECURRENT && !ops->forgets && full >= hops - 1) carried = true;
    }
    return full > hops || (full == hops && carried) ? HOP_LEARNT_ABOVE : HOP_LEARNT_BELOW;
}

hop_status hop_learnt_describe(hop_learnt *row, const hop_recipe *r, int curve, hop_error *err)
{
    hop_layout *l = NULL;
    hop_text sizes = {0};
    hop_status s = hop_recipe_layout(r, &l, err);
    if (s != HOP_OK) return s;
    const hop_config *c = hop_layout_config(l);
    const hop_task *t = &r->task;
    *row = (hop_learnt){.curve = curve, .tokens = t->length, .steps = r->steps, .d_model = c->d_model};
    row->chance = NAN;
    row->ceiling = hop_train_ceiling(c, t);
    if (t->kind == HOP_TASK_FUNCCOMP) {
        row->hops = t->funccomp.hops;
        row->entries = t->funccomp.size[row->hops - 1];
        row->side = side_of(c, row->hops);
    } else {
        row->hops = t->kind == HOP_TASK_KHOP ? (int)t->khop.hops : 0;
        snprintf(row->task, sizeof row->task, "%s", hop_task_name(t->kind));
    }
    snprintf(row->pattern, sizeof row->pattern, "%.*s", (int)sizeof row->pattern - 1, r->pattern);
    if (strchr(r->pattern, 'L'))
        snprintf(row->mixer, sizeof row->mixer, "%.*s", (int)sizeof row->mixer - 1, r->mixer);
    hop_sizes_say(&sizes, t);
    snprintf(row->sizes, sizeof row->sizes, "%s", sizes.s ? sizes.s : "");
    s = sizes.failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : HOP_OK;
    hop_text_free(&sizes);
    hop_layout_free(l);
    return s;
}

void hop_learnt_add(hop_learnt *row, const hop_measure *m)
{
    if (row->seeds < HOP_LEARNT_SEEDS) row->accuracy[row->seeds] = m->accuracy;
    row->seeds++;
    row->least = row->seeds == 1 || m->accuracy < row->least ? m->accuracy : row->least;
    row->most = row->seeds == 1 || m->accuracy > row->most ? m->accuracy : row->most;
    row->mean += (m->accuracy - row->mean) / row->seeds;
    row->seconds += m->seconds;
    if (!isnan(m->chance)) row->chance = m->chance;
    row->above = row->above || hop_measure_above(m, row->ceiling);
}

const char *hop_learnt_bug(hop_keep *k, const hop_learnt *rows, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (rows[i].above)
            return hop_keep_printf(k, "a bug: %s at %s answers %.4f of the instances, P3 allows %.4f",
                                   rows[i].pattern, rows[i].sizes, rows[i].most, rows[i].ceiling);
    return NULL;
}
