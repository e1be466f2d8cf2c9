/* How far a long call is. It goes on in a thread of its own, since Python hears signals in its main thread only, and
 * in no callback: the main thread waits, looks here and says stop. */
#include "flat.h"

#include <hopbound/version.h>

#include <stdio.h>
#include <stdlib.h>

hopflat_watch *hopflat_watch_new(void)
{
    hopflat_watch *w = calloc(1, sizeof *w);
    if (w) pthread_mutex_init(&w->lock, NULL);
    return w;
}

void hopflat_watch_free(hopflat_watch *w)
{
    if (w) pthread_mutex_destroy(&w->lock);
    free(w);
}

void hopflat_watch_stop(hopflat_watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_mutex_unlock(&w->lock);
}

bool hopflat_watch_read(hopflat_watch *w, double *done, double *total, char *what)
{
    pthread_mutex_lock(&w->lock);
    *done = w->done;
    *total = w->total;
    snprintf(what, sizeof w->what, "%s", w->what);
    pthread_mutex_unlock(&w->lock);
    return *what != 0;
}

static bool tick(void *ctx, const char *what, double done, double total)
{
    hopflat_watch *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->done = done;
    w->total = total;
    snprintf(w->what, sizeof w->what, "%s", what);
    bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return !stop;
}

hop_progress hopflat__progress(hopflat_watch *w)
{
    return w ? (hop_progress){tick, w} : (hop_progress){0};
}

void hopflat_free(void *p)
{
    hop_free(p);
}

char *hopflat__handed_out(hop_text *t)
{
    if (t->failed) hop_text_free(t);
    return t->s;
}

int hopflat__told(hop_status s, const hop_error *err, char *why)
{
    snprintf(why, sizeof err->text, "%s", err->text);
    return (int)s;
}

const char *hopflat_version(void)
{
    return hop_version();
}

const char *hopflat_status_name(int status)
{
#define NAME(name, code, text) \
    if (status == code) return #name;
    HOP_STATUS_LIST(NAME)
#undef NAME
    return "unknown";
}
