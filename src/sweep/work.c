/* One run: a training in a directory of its own, which goes when it is done. */
#include "room.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *hop__run_text(const hop_recipe *r)
{
    hop_json_writer w = {0};
    hop_recipe_write(r, &w);
    if (w.text.failed) hop_text_free(&w.text);
    return w.text.s;
}

/* Named by the recipe, not by the row: a database that was made anew still finds what is its own. */
hop_status hop__run_dir(char *out, size_t size, const char *database, const char *text, hop_error *err)
{
    hop_hash h;
    hop_hash_init(&h);
    hop_hash_add(&h, text, strlen(text));
    int n = snprintf(out, size, "%s.d/%016" PRIx64, database, hop_hash_end(&h));
    return n > 0 && (size_t)n < size ? HOP_OK
                                     : hop_fail(err, HOP_ERANGE, "%.200s: the name is too long", database);
}

void hop__remove_dir(const char *dir)
{
    char path[4096];
    DIR *d = opendir(dir);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            hop_path_join(path, sizeof path, dir, e->d_name, NULL) == HOP_OK)
            unlink(path);
    if (d) closedir(d);
    rmdir(dir);
}

static hop_status train(const hop__work *w, const hop_recipe *r, const char *dir, hop_measure *last,
                        hop_error *err)
{
    hop_pool *pool = w->threads > 1 ? hop_pool_new(w->threads) : NULL;
    const hop_train_options o = {.pool = pool,
                                 .progress = w->progress,
                                 .dir = dir,
                                 .resume = true,
                                 .measured = w->measured,
                                 .ctx = w->ctx};
    hop_status s = hop_train_run(r, &o, last, err);
    hop_pool_free(pool);
    return s;
}

hop_status hop__work_run(const hop__work *w, const hop_recipe *r, hop_measure *last, char reason[400])
{
    char dir[4096] = "", *text = hop__run_text(r);
    hop_error err = {0};
    *last = (hop_measure){0};
    hop_status s = text ? hop__run_dir(dir, sizeof dir, w->o->database, text, &err)
                        : hop_fail(&err, HOP_ENOMEM, "out of memory");
    free(text);
    if (s == HOP_OK) s = train(w, r, dir, last, &err);
    if (s == HOP_ESTOPPED) return s;
    if (s == HOP_OK && hop_measure_above(last, last->ceiling))
        s = hop_fail(&err, HOP_EDOMAIN, "the accuracy lies above P3's ceiling: one of the two is a bug");
    snprintf(reason, 400, "%s", s == HOP_OK ? "" : err.text[0] ? err.text : hop_status_text(s));
    /* What a full disk or lack of memory ended can go on from its checkpoint. */
    if (s == HOP_OK ? !w->o->keep : s != HOP_EIO && s != HOP_ENOMEM) hop__remove_dir(dir);
    return HOP_OK;
}
