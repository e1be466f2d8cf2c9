/* hopbound/verb.h - a verb as data: what it takes, what it answers, and the function between the two (room: desk). */
#ifndef HOPBOUND_VERB_H
#define HOPBOUND_VERB_H

#include <hopbound/ask.h>
#include <hopbound/form.h>
#include <hopbound/model.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every verb's question begins with this. */
typedef struct hop_request {
    hop_texts operands;
    hop_progress progress;
    const hop_front *front; /* never NULL */
    hop_opt_value seed, threads;
} hop_request;

extern const hop_opt hop_request_options[];                       /* seed, threads: of every verb */
const char *hop_request_operand(const hop_request *q, int index); /* NULL: not given */

/* An answer: the struct that the verb's record describes, and all it points to. Freed by hop_response_free, which
 * is fine with an empty one. */
typedef struct hop_response {
    const hop_record *record; /* NULL: there is nothing to say: the front's lines had it, or rank 0 says it */
    const void *data;
    hop_exit exit;
    const char *complaint; /* a line for standard error beside the answer; NULL: none */
    bool apart;            /* other ranks do not know that it ended: who runs them ends them */
    const char *note;      /* the same, of less weight: a quiet front leaves it out */
    hop_keep memory;
} hop_response;
void hop_response_free(hop_response *r);
/* The zeroed struct of `record`, which becomes the answer's; NULL, with the error, when there is no memory. */
void *hop_response_begin(hop_response *r, const hop_record *record, hop_error *err);
/* HOP_OK, or HOP_ENOMEM where the answer's memory did not suffice: what a verb returns in the end. */
hop_status hop_response_end(const hop_response *r, hop_error *err);

/* ---- the task and its sizes ---------------------------------------------------------------- */

typedef struct hop_size_args {
    hop_opt_value task, hops, m, fan, n, mod, pairs, queries, keys, values, alphabet;
} hop_size_args;

extern const hop_opt hop_size_options[];
#define HOP_SIZE_GROUP(args, member)                                        \
    {                                                                       \
        "Sizes of the task", hop_size_options, offsetof(args, member), NULL \
    }
#define HOP_NETWORK_SIZE_GROUP(args, member)                                           \
    {                                                                                  \
        "Sizes of the task", hop_size_options, offsetof(args, member), "the network's" \
    }

/* What the options say, the rest from `base` (a network's own task), or, when it is NULL, of the task `kind` and from
 * the defaults. HOP_EUSAGE: also for a size that the task does not have. */
hop_status hop_sizes_read(const hop_size_args *s, hop_task_kind kind, const hop_task *base, hop_task *out,
                          hop_error *err);
bool hop_sizes_given(const hop_size_args *s); /* or the task itself */
/* The same for a network that carries the task it was made for. `known` is false when neither it nor the options say
 * any. */
hop_status hop_sizes_of_network(const hop_size_args *s, const hop_model *m, const char *dir, hop_task *out,
                                bool *known, hop_error *err);
void hop_sizes_say(hop_text *out,
                   const hop_task *t); /* "hops 3, m 16, fan 8,8"; "khop, n 32, alphabet 4, hops 2" */

/* hop_model_save, but never over what a training has learnt. */
hop_status hop_save_network(const hop_model *m, const char *dir, hop_error *err);

/* ---- a verb -------------------------------------------------------------------------------- */

typedef struct hop_example {
    const char *command, *says;
} hop_example;

typedef struct hop_other {
    const hop_record *record;
    const char *when; /* "With `--table`" */
} hop_other;

typedef struct hop_verb {
    const char *name, *summary;
    const char *operand, *operand_help; /* "DIR"; NULL: the verb takes none; "[NAME]": it may be missing;
                                           "PATH..": one or more, "[PATH..]": any number */
    const char *second, *second_help;   /* "[DIR]": another that may be missing; NULL: one is enough */
    const char *description;            /* paragraphs, separated by "\n\n" */
    const hop_opt_group *groups;        /* ended by one without a table */
    const hop_example *examples;        /* ended by one without a command */
    const hop_record *answer;
    const hop_other
        *others;      /* what it answers instead, ended by one without a record; NULL: always the one */
    bool of_files;    /* the answer tells of files that were written: a quiet front says nothing */
    bool ranks;       /* several processes may ask it together */
    const char *rows; /* the answer's list that --format csv and markdown print; NULL: none */
    const char
        *rows_flag; /* the option, a flag, with which it is there; NULL: always, or where `answer` has it */
    size_t request_size; /* of the question, which begins with a hop_request */
    /* Fills the (empty) answer. HOP_EUSAGE: the question is wrong. On failure the answer is freed by the caller. */
    hop_status (*ask)(hop_response *out, const void *request, hop_error *err);
} hop_verb;

const hop_verb *const *hop_verbs(size_t *count);
const hop_verb *hop_verb_find(const char *name); /* NULL: there is none */

/* The members of its answer, as docs/JSON.md has them. */
void hop_verb_doc(hop_text *out, const hop_verb *v);

#ifdef __cplusplus
}
#endif
#endif
