/* Progress on standard error, and the wish to stop.
 *
 * There is one terminal and one process to be interrupted, so the state is a file-level variable: a signal
 * handler cannot be handed a pointer. Ticks come from any thread and often; all but about ten a second
 * leave after reading the clock. */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW     0.1 /* seconds between drawings of the bar */
#define FIRST_BAR  0.3 /* work that is over by then needs no bar */
#define FIRST_LINE 2.0
#define NEXT_LINE  5.0
#define LABEL_SIZE 48

/* Written by the handler, read by every thread that ticks. */
static atomic_int stop_wanted;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may not wait for a lock");

static struct terminal {
    const char *verb;
    bool quiet, is_terminal;
    pthread_mutex_t lock; /* guards what follows */
    char label[LABEL_SIZE];
    double began, done_then; /* when this label first ticked, and where it stood */
    bool drawn;
    double next; /* nobody draws before */
} terminal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop_wanted, 1);
}

bool terminal_stopped(void)
{
    return atomic_load(&stop_wanted) != 0;
}

/* ---- words --------------------------------------------------------------------------------- */

static void format_rate(char *out, size_t size, double rate)
{
    static const char *const unit[] = {"", "k", "M", "G", "T"};
    int u = 0;
    while (rate >= 1000 && u < 4) {
        rate /= 1000;
        u++;
    }
    snprintf(out, size, rate < 10 ? "%.2f%s/s" : rate < 100 ? "%.1f%s/s" : "%.0f%s/s", rate, unit[u]);
}

static void format_time(char *out, size_t size, double seconds)
{
    if (seconds < 90)
        snprintf(out, size, "%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(out, size, "%d min %02d s", (int)seconds / 60, (int)seconds % 60);
    else if (seconds < 360000)
        snprintf(out, size, "%d h %02d min", (int)seconds / 3600, (int)seconds / 60 % 60);
    else
        snprintf(out, size, "%.0f days", seconds / 86400);
}

/* "1200/10000, 350/s, 25 s left" */
static void format_state(char *out, size_t size, double now, double done, double total)
{
    char rate_text[32] = "", left_text[32] = "";
    double spent = now - terminal.began, rate = spent > 0 ? (done - terminal.done_then) / spent : 0;
    if (rate > 0) format_rate(rate_text, sizeof rate_text, rate);
    if (rate > 0 && total > done) format_time(left_text, sizeof left_text, (total - done) / rate);
    char of[32] = "";
    if (total > 0) snprintf(of, sizeof of, "/%.0f", total);
    snprintf(out, size, "%.0f%s%s%s%s%s%s", done, of, *rate_text ? ", " : "", rate_text,
             *left_text ? ", " : "", left_text, *left_text ? " left" : "");
}

/* ---- drawing ------------------------------------------------------------------------------- */

static int columns(void)
{
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}

static void draw_bar(const char *state, double done, double total)
{
    char bar[128] = "";
    int room = columns() - (int)strlen(terminal.label) - (int)strlen(state) - 8;
    if (total > 0 && room >= 10) {
        int width = room < 40 ? room : 40, full = (int)(width * (done < total ? done / total : 1));
        bar[0] = '[';
        memset(bar + 1, '#', (size_t)full);
        memset(bar + 1 + full, '.', (size_t)(width - full));
        memcpy(bar + 1 + width, "]  ", 4);
    }
    fprintf(stderr, "\r%s  %s%s\033[K", terminal.label, bar, state);
    fflush(stderr);
    terminal.drawn = true;
}

/* What stands before a colon names the work, what follows it only says how it goes. */
static bool same_work(const char *label, const char *what)
{
    size_t n = strcspn(what, ":");
    if (n > LABEL_SIZE - 1) n = LABEL_SIZE - 1;
    return strcspn(label, ":") == n && memcmp(label, what, n) == 0;
}

/* Called with the lock held. */
static void draw(const char *what, double now, double done, double total)
{
    char state[160];
    if (!same_work(terminal.label, what)) { /* rate and time left start anew */
        terminal.began = now;
        terminal.done_then = done;
    }
    snprintf(terminal.label, LABEL_SIZE, "%s", what);
    format_state(state, sizeof state, now, done, total);
    if (terminal.is_terminal)
        draw_bar(state, done, total);
    else
        fprintf(stderr, "hopbound: %s: %s: %s\n", terminal.verb, terminal.label, state);
    terminal.next = now + (terminal.is_terminal ? REDRAW : NEXT_LINE);
}

static bool tick(void *ctx, const char *what, double done, double total)
{
    (void)ctx;
    if (!terminal.quiet && pthread_mutex_trylock(&terminal.lock) == 0) {
        double now = hop_now();
        if (terminal.label[0] == 0) {
            snprintf(terminal.label, LABEL_SIZE, "%s", what);
            terminal.began = now;
            terminal.done_then = done;
        }
        if (now >= terminal.next) draw(what, now, done, total);
        pthread_mutex_unlock(&terminal.lock);
    }
    return atomic_load(&stop_wanted) == 0;
}

/* ---- public -------------------------------------------------------------------------------- */

hop_progress terminal_start(const char *name, bool quiet)
{
    /* SA_RESETHAND: the second signal finds the default action and kills. No SA_RESTART: a read that waits
     * for input must notice. */
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    terminal.verb = name;
    terminal.quiet = quiet;
    terminal.is_terminal = isatty(STDERR_FILENO);
    terminal.next = hop_now() + (terminal.is_terminal ? FIRST_BAR : FIRST_LINE);
    return (hop_progress){.tick = tick};
}

void terminal_mute(void)
{
    terminal_clear();
    terminal.quiet = true;
}

void terminal_clear(void)
{
    pthread_mutex_lock(&terminal.lock);
    if (terminal.drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        terminal.drawn = false;
    }
    pthread_mutex_unlock(&terminal.lock);
}
