#include "build.h"
#include "registry.h"

#include <string.h>

static const hop_mixer_ops *const mixers[] = {
#define ENTRY(name) &hop__mixer_##name,
    HOP_MIXER_LIST(ENTRY)};

static const hop_mixer_ops *const others[] = {HOP_OTHER_LIST(ENTRY)
#undef ENTRY
};

const hop_mixer_ops *hop_mixer_at(int index)
{
    return index >= 0 && (size_t)index < sizeof mixers / sizeof *mixers ? mixers[index] : NULL;
}

const hop_mixer_ops *hop_mixer_other(int index)
{
    return index >= 0 && (size_t)index < sizeof others / sizeof *others ? others[index] : NULL;
}

const hop_mixer_ops *hop_mixer_find(const char *name)
{
    for (int i = 0; hop_mixer_at(i); i++)
        if (strcmp(mixers[i]->name, name) == 0) return mixers[i];
    for (int i = 0; hop_mixer_other(i); i++)
        if (strcmp(others[i]->name, name) == 0) return others[i];
    return NULL;
}

/* ---- options ------------------------------------------------------------------------------- */

static const struct option_facts {
    const char *name, *help;
    int64_t lo, hi;
} facts[] = {
#define FACTS(name, lo, hi, help) {#name, help, lo, hi},
    HOP_MIXER_OPTION_LIST(FACTS)
#undef FACTS
};

const char *hop_option_name(hop_option o)
{
    return facts[o].name;
}

const char *hop_option_help(hop_option o)
{
    return facts[o].help;
}

void hop_mixer_config_init(hop_mixer_config *c)
{
    *c = (hop_mixer_config){.layers = 1};
    for (int i = 0; i < HOP_OPTION_COUNT; i++) c->option[i] = HOP_OPTION_UNSET;
}

hop_status hop_mixer_option_set(hop_mixer_config *c, const hop_mixer_ops *ops, const char *name,
                                int64_t value, hop_error *err)
{
    for (const struct hop_option_default *o = ops->options; o && o->option != HOP_OPTION_COUNT; o++) {
        const struct option_facts *f = &facts[o->option];
        if (strcmp(f->name, name) != 0) continue;
        if (value < f->lo || value > f->hi)
            return hop_fail(err, HOP_ERANGE, "%s: %s: %lld is not between %lld and %lld", ops->name, name,
                            (long long)value, (long long)f->lo, (long long)f->hi);
        c->option[o->option] = value;
        return HOP_OK;
    }
    return hop_fail(err, HOP_EUNKNOWN, "%s: takes no option \"%s\"", ops->name, name);
}

static const char *const foreign_names[] = {
#define NAME(name, help) #name,
    HOP_FOREIGN_LIST(NAME)
#undef NAME
};

hop_status hop_mixer_foreign_set(hop_mixer_config *c, const hop_mixer_ops *ops, const char *name,
                                 double value, bool *known, hop_error *err)
{
    int i = 0;
    while (i < HOP_FOREIGN_COUNT && strcmp(foreign_names[i], name) != 0) i++;
    *known = i < HOP_FOREIGN_COUNT;
    if (!*known) return HOP_OK;
    if (i == HOP_FOREIGN_norms && value != HOP_NORMS_BEFORE && value != HOP_NORMS_BEHIND &&
        value != HOP_NORMS_KEPT)
        return hop_fail(err, HOP_ERANGE, "%s: norms: not 0, 1 or 2", ops->name);
    if (!((ops->foreign | HOP_FOREIGN_OF_BLOCKS) >> i & 1))
        return hop_fail(err, HOP_EUNKNOWN, "%s: takes no option \"%s\"", ops->name, name);
    if (!(value >= 0 && value <= 1e9))
        return hop_fail(err, HOP_ERANGE, "%s: %s: not between 0 and 10^9", ops->name, name);
    c->foreign[i] = value;
    return HOP_OK;
}

hop_status hop_mixer_config_ready(hop_mixer_config *c, const hop_mixer_ops *ops, hop_error *err)
{
    for (const struct hop_option_default *o = ops->options; o && o->option != HOP_OPTION_COUNT; o++)
        if (c->option[o->option] == HOP_OPTION_UNSET) c->option[o->option] = o->value;
    if (c->heads < 1 || c->kv_heads < 1 || c->head_dim < 1 || c->d_model < 1)
        return hop_fail(err, HOP_EDOMAIN, "%s: widths and head counts must be at least 1", ops->name);
    if (c->heads % c->kv_heads)
        return hop_fail(err, HOP_EDOMAIN, "%s: %lld heads are no multiple of %lld key heads", ops->name,
                        (long long)c->heads, (long long)c->kv_heads);
    hop_status s = ops->ready ? ops->ready(c, err) : HOP_OK;
    if (s != HOP_OK) return s;
    hop_list l;
    hop_mixer_list(&l, ops, c);
    if (l.state_floats >= HOP__TOO_MANY || l.row_floats >= HOP__TOO_WIDE)
        return hop_fail(err, HOP_EDOMAIN, "%s: a layer of more than 2^54 numbers", ops->name);
    return HOP_OK;
}
