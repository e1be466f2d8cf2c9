/* Which files an audit of many models is about, and what they are called. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit.h"

#define MOST_FILES 4096

static hop_status add_path(audit_files *t, hop_keep *k, const char *path, bool named, hop_error *err)
{
    if (t->count == MOST_FILES) return hop_fail(err, HOP_ERANGE, "more than %d models", MOST_FILES);
    if (t->count == t->room) {
        int room = t->room ? 2 * t->room : 16;
        audit_file *more = hop_keep_bytes(k, (size_t)room, sizeof *more);
        if (!more) return hop_fail(err, HOP_ENOMEM, "out of memory");
        if (t->count) memcpy(more, t->at, (size_t)t->count * sizeof *more);
        t->at = more, t->room = room;
    }
    const char *copy = hop_keep_text(k, path);
    if (!copy) return hop_fail(err, HOP_ENOMEM, "out of memory");
    t->at[t->count++] = (audit_file){copy, named};
    return HOP_OK;
}

static bool holds_config(const char *dir)
{
    char path[4096];
    return hop_path_join(path, sizeof path, dir, "config.json", NULL) == HOP_OK && hop_is_there(path);
}

bool hop__audit_is_collection(const char *path)
{
    return hop_is_dir(path) && !holds_config(path);
}

/* Hidden ones and what is no model by its name are left out. */
static bool may_be_model(const char *dir, const char *name, char *path, size_t size)
{
    size_t n = strlen(name);
    if (name[0] == '.' || hop_path_join(path, size, dir, name, NULL) != HOP_OK) return false;
    if (hop_is_dir(path)) return holds_config(path);
    return n > 5 && (strcmp(name + n - 5, ".json") == 0 || strcmp(name + n - 5, ".gguf") == 0);
}

static hop_status add_directory(audit_files *t, hop_keep *k, const char *dir, hop_error *err)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, NULL, alphasort);
    hop_status s = HOP_OK;
    if (count < 0)
        return hop_fail(err, errno == ENOMEM ? HOP_ENOMEM : HOP_EIO, "%.200s: %s", dir, strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[4096];
        if (s == HOP_OK && may_be_model(dir, names[i]->d_name, path, sizeof path))
            s = add_path(t, k, path, false, err);
        free(names[i]);
    }
    free(names);
    return s;
}

hop_status hop__audit_files(audit_files *t, hop_keep *k, const hop_texts *paths, hop_error *err)
{
    hop_status s = HOP_OK;
    *t = (audit_files){0};
    for (int64_t i = 0; s == HOP_OK && i < paths->count; i++)
        s = hop__audit_is_collection(paths->at[i]) ? add_directory(t, k, paths->at[i], err)
                                                   : add_path(t, k, paths->at[i], true, err);
    if (s == HOP_OK && t->count == 0)
        s = hop_fail(err, HOP_EIO, "%.200s/config.json: No such file, nor any other *.json there",
                     paths->at[0]);
    return s;
}

/* What is in a directory and no model is a line, no end. */
bool hop__audit_is_stray(const audit_file *f, hop_status s)
{
    return !f->named && s != HOP_OK && s != HOP_ENOMEM && s != HOP_EIO;
}

/* A text of a file in one line. */
const char *hop__audit_plain(hop_keep *k, const char *text, size_t length)
{
    char *out = hop_keep_bytes(k, length + 1, 1);
    if (out) hop_plain(memcpy(out, text, length));
    return out;
}

/* The file's name without its end; of a config.json, its directory's. */
const char *hop__audit_name(hop_keep *k, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n > 12 && memcmp(path + n - 12, "/config.json", 12) == 0) n -= 12;
    size_t start = n;
    while (start > 0 && path[start - 1] != '/') start--;
    if (n - start > 5 && (memcmp(path + n - 5, ".json", 5) == 0 || memcmp(path + n - 5, ".gguf", 5) == 0))
        n -= 5;
    return hop__audit_plain(k, path + start, n - start);
}
