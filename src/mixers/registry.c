#include "registry.h"

#include <string.h>

static const hop_mixer_ops *const mixers[] = {
#define ENTRY(name) &hop__mixer_##name,
    HOP_MIXER_LIST(ENTRY)
#undef ENTRY
};

const hop_mixer_ops *hop_mixer_at(int index)
{
    return index >= 0 && (size_t)index < sizeof mixers / sizeof *mixers ? mixers[index] : NULL;
}

const hop_mixer_ops *hop_mixer_find(const char *name)
{
    for (int i = 0; hop_mixer_at(i); i++)
        if (strcmp(mixers[i]->name, name) == 0) return mixers[i];
    return NULL;
}
