/* hopbound/ask.h - the verbs: each a question and an answer, both declared as data (room: desk). This is all that a
 * front needs: the program's own command line goes this way, and so can any other.
 *
 *     hop_text answer = {0};
 *     hop_error err = {0};
 *     if (hop_ask("bound", "{\"pattern\": \"(gdn^3 F)^12\", \"hops\": 8, \"n\": \"128k\"}", NULL, &answer, NULL, &err) != HOP_OK)
 *         puts(err.text);
 *
 * The members of the question are the options of the verb, as `hopbound help VERB` lists them; the answer is what
 * the program prints with --json (docs/JSON.md). Two threads may ask at once; which kernels run is one choice for
 * the process (isa.h).
 */
#ifndef HOPBOUND_ASK_H
#define HOPBOUND_ASK_H

#include <hopbound/base.h>
#include <hopbound/ranks.h>
#include <hopbound/sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a verb ends; the program's exit codes. */
typedef enum hop_exit {
    HOP_EXIT_DONE = 0,            /* done; the claim holds */
    HOP_EXIT_FAILED = 1,          /* bad file, no space, .. */
    HOP_EXIT_USAGE = 2,           /* a wrong question */
    HOP_EXIT_COUNTEREXAMPLE = 10, /* a counter-example was found */
    HOP_EXIT_EXHAUSTED = 20,      /* the search was exhausted and there is none */
    HOP_EXIT_UNDECIDED = 30,      /* within the budget */
} hop_exit;

/* What a front has besides the question. All of it may be zero: nothing is there. */
typedef struct hop_front {
    hop_progress progress;
    bool json; /* it reads JSON; false: people do, wherever a verb writes lines of its own */
    /* Takes lines that are too many to be held: instances, predictions. False, with errno, when it cannot; NULL text: that
     * was all. */
    bool (*lines)(void *ctx, const char *text, size_t length);
    void *ctx;
    void (*news)(
        const char *line); /* a line for people now and then, while it works; NULL: nobody reads it */
    hop_transport *ranks;  /* that this process is one of (ranks.h); NULL: it is alone */
    hop_store_open *store; /* where `sweep` keeps results (sweep.h); NULL: nowhere, and sweeps are refused */
} hop_front;

/* Every verb as JSON: {"bound": {"summary": .., "takes": [{"name", "kind", "default", "help", ..}], "answers": [{"name",
 * "type", "unit", "doc", ..}], ..}, ..}, from which a front can be made. "others": what it answers instead, and when. */
void hop_verbs_json(hop_text *out);

/* Asks with a question in JSON, "" or NULL being an empty one; appends the answer to `out`, one line. `progress` and
 * `exit` may be NULL. HOP_EUSAGE: the question is wrong; HOP_EUNKNOWN: no such verb; else what went wrong. */
hop_status hop_ask(const char *verb, const char *question, const hop_progress *progress, hop_text *out,
                   hop_exit *exit, hop_error *err);
/* The same of a front that has more than progress. */
hop_status hop_ask_from(const hop_front *front, const char *verb, const char *question, hop_text *out,
                        hop_exit *exit, hop_error *err);
#ifdef __cplusplus
}
#endif
#endif
