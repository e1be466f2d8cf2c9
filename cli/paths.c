/* What a verb writes must be none of what it reads: neither a file that is named, nor a part of a network's
 * directory that is. */
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Devices and pipes may be both. */
static bool same(const char *a, const char *b)
{
    struct stat x, y;
    if (stat(a, &x) != 0 || stat(b, &y) != 0) return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino && (S_ISREG(x.st_mode) || S_ISDIR(x.st_mode));
}

static bool is_dir(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The name in its directory, whose path `parent` receives; NULL when that is too long. */
static const char *split(const char *path, char parent[4096])
{
    const char *slash = strrchr(path, '/');
    int n =
        slash ? snprintf(parent, 4096, "%.*s", (int)(slash + 1 - path), path) : snprintf(parent, 4096, ".");
    return n >= 4096 ? NULL : slash ? slash + 1 : path;
}

/* Two ways to write down one name, be there a file or not: `a` and `./a`, or through a linked directory. */
static bool same_name(const char *a, const char *b)
{
    char x[4096], y[4096];
    const char *first = split(a, x), *second = split(b, y);
    return first && second && strcmp(first, second) == 0 && same(x, y);
}

/* Whether `path` names a file that a network in `dir` consists of, or is trained from. */
static bool part_of(const char *path, const char *dir)
{
    char parent[4096];
    const char *name = split(path, parent);
    if (!name) return false;
    const bool own = strcmp(name, "config.json") == 0 || strcmp(name, "checkpoint.safetensors") == 0 ||
                     (strncmp(name, "model", 5) == 0 && strstr(name, ".safetensors"));
    return own && is_dir(dir) && same(parent, dir);
}

static const char *text_of(const hop_opt_group *g, const hop_opt *o, const void *args, hop_opt_use use)
{
    if (o->kind != HOP_OPT_TEXT || o->use != use) return NULL;
    const hop_opt_value *v = (const hop_opt_value *)(const void *)((const char *)args + g->base + o->at);
    return v->text && strcmp(v->text, "-") != 0 ? v->text : NULL;
}

static bool apart(const hop_opt *o, const char *path, const char *input, hop_error *err)
{
    const char *why = NULL;
    if (same(path, input))
        why = is_dir(input) ? "is the network itself" : "is what is read";
    else if (part_of(path, input))
        why = "is the network's own";
    else if (part_of(input, path))
        why = "holds what is read";
    return !why || hop_fail(err, HOP_EDOMAIN, "--%s: %.200s: %s", o->name, path, why) == HOP_OK;
}

/* `path` beside all that is read, and what other options before `o` write. */
static bool apart_from_all(const verb *v, const void *args, const hop_opt *o, const char *path,
                           hop_error *err)
{
    bool before = true;
    for (const hop_opt_group *g = v->groups; g->opts; g++)
        for (const hop_opt *other = g->opts; other->name; other++) {
            const char *read = text_of(g, other, args, HOP_OPT_READS);
            const char *written = text_of(g, other, args, HOP_OPT_WRITES);
            if (other == o) before = false;
            if (read && !apart(o, path, read, err)) return false;
            if (before && written && (same_name(path, written) || same(path, written)))
                return hop_fail(err, HOP_EDOMAIN, "--%s: %.200s: is where --%s writes", o->name, path,
                                other->name) == HOP_OK;
        }
    return true;
}

bool options_apart(const verb *v, const void *args, char *const *operands, int count, hop_error *err)
{
    for (const hop_opt_group *g = v->groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++) {
            const char *path = text_of(g, o, args, HOP_OPT_WRITES);
            if (!path) continue;
            for (int i = 0; i < count; i++)
                if (!apart(o, path, operands[i], err)) return false;
            if (!apart_from_all(v, args, o, path, err)) return false;
        }
    return true;
}
