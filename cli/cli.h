/* What the verbs share: arguments common to all, exit codes, errors, sizes of the task, output. */
#ifndef HOPBOUND_CLI_H
#define HOPBOUND_CLI_H

#include <stdio.h>
#include <hopbound/inside.h>
#include "options.h"

/* The contract with scripts. */
typedef enum exit_code {
    EXIT_DONE = 0,            /* done; the claim holds */
    EXIT_FAILED = 1,          /* bad file, no space, .. */
    EXIT_USAGE = 2,           /* wrong usage */
    EXIT_COUNTEREXAMPLE = 10, /* a counter-example was found */
    EXIT_EXHAUSTED = 20,      /* the search was exhausted and there is none */
    EXIT_UNDECIDED = 30,      /* within the budget */
} exit_code;

typedef struct common_args {
    const verb *verb;
    const char *operand; /* the first; NULL when there is none */
    char **operands;     /* [operand_count] */
    int operand_count;
    const char *second; /* of a verb that takes two; NULL when it was not given */
    hop_progress progress;
    hop_opt_value json, quiet, seed, threads, isa, help;
} common_args;

extern const hop_opt COMMON_OPTIONS[];
extern const char *const ISA_NAMES[];
#define COMMON_GROUP                              \
    {                                             \
        "Common options", COMMON_OPTIONS, 0, NULL \
    }

/* ---- errors and output --------------------------------------------------------------------- */

/* Prints the one line `hopbound: VERB: ..` and returns `code`. */
int fail(const common_args *a, exit_code code, const char *fmt, ...) HOP_PRINTF(3, 4);
int fail_error(const common_args *a, const hop_error *err); /* or says that a signal stopped it */
int fail_stopped(const common_args *a);

/* Adds `text` word by word, breaking lines at `width`; continuation lines start at `indent`. A newline in the text is a
 * line break. `at` is the column the text starts in. A word that is longer than a line stays whole. */
void add_words(hop_text *out, const char *text, int at, int indent, int width);
/* Writes the text, or the JSON and a newline, to standard output, and frees it. EXIT_DONE or EXIT_FAILED. */
int print_text(const common_args *a, hop_text *t);
int print_json(const common_args *a, hop_json_writer *w);

/* What a network said to a prompt: a token's number, or that there was none. */
#define ANSWER_SIZE 48
void print_answer(char out[ANSWER_SIZE], int64_t answer);

/* What verdicts suppose (supposed.c): the networks that "any weights" is about, and what is left aside where
 * weights are known; a paragraph each. */
void say_any_weights(hop_text *out);
void say_known_weights(hop_text *out, const char *verdict); /* "possible", "proved", .. */

/* As many threads as --threads says. */
int pool_open(const common_args *a, hop_pool **pool);

/* ---- terminal.c ---------------------------------------------------------------------------- */

/* From now on SIGINT and SIGTERM ask for a clean stop (a second one kills), and ticks draw on stderr unless
 * `quiet`. Notes that must not collide with the bar call terminal_clear first. */
hop_progress terminal_start(const char *name, bool quiet);
void terminal_clear(void);
/* Standard output is a terminal that wants colours: NO_COLOR is not set, nor is TERM "dumb". */
bool terminal_colours(void);
/* Verdicts among the words, in colour: green what is, red what is not, yellow what is not known. */
void terminal_paint(hop_text *t);
void terminal_mute(void); /* no more progress: something else is being written to the terminal */
bool terminal_stopped(void);

/* ---- the verbs ----------------------------------------------------------------------------- */

const verb *const *all_verbs(size_t *count);

/* All of them, as --help lists them. RUN: by a function here, verb_NAME; ASK: by the library (hopbound/ask.h), and
 * show_NAME says for people what it answered; PAGE: the same, and page_NAME says it in Markdown, for a model's card. */
#define VERB_LIST(RUN, ASK, PAGE) \
    ASK(ladder)                   \
    ASK(task)                     \
    ASK(build)                    \
    ASK(run)                      \
    ASK(prove)                    \
    ASK(damage)                   \
    ASK(refute)                   \
    ASK(bound)                    \
    ASK(separate)                 \
    ASK(plan)                     \
    PAGE(audit)                   \
    ASK(play)                     \
    ASK(train)                    \
    ASK(sweep)                    \
    ASK(exact)                    \
    ASK(check)                    \
    ASK(core)                     \
    ASK(mixers)                   \
    RUN(bench)                    \
    RUN(completion)
#define RUN_DECLARE(name)  extern const verb verb_##name;
#define ASK_DECLARE(name)  void show_##name(hop_text *out, const hop_response *r);
#define PAGE_DECLARE(name) ASK_DECLARE(name) void page_##name(hop_text *out, const hop_response *r);
VERB_LIST(RUN_DECLARE, ASK_DECLARE, PAGE_DECLARE)
#undef RUN_DECLARE
#undef ASK_DECLARE
#undef PAGE_DECLARE

/* answer.c: such a verb, from its table to its exit code. */
verb answered_verb(const hop_verb *v, void (*show)(hop_text *out, const hop_response *r));
int answer_verb(const verb *v, int argc, char **argv);
/* What follows the command line in any verb. */
int choose_kernels(const verb *v, const hop_opt_value *isa);

#endif
