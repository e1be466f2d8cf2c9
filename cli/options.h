/* Options of the verbs. Each is declared once, in a table; parsing, checking, --help and the man page are
 * made from that line alone.
 *
 *     typedef struct args { common_args common; hop_hop_opt_value count; } args;
 *     #define AT(member) offsetof(args, member)
 *     static const hop_opt OPTIONS[] = {
 *         {"count", 'n', HOP_OPT_INT, AT(count), "N", "100", 1, INT64_MAX, .help = "how many instances"},
 *         {0},
 *     };
 */
#ifndef HOPBOUND_CLI_OPTIONS_H
#define HOPBOUND_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hopbound/verb.h>

typedef hop_example example;

struct common_args;

/* What the program adds to every verb that the library answers (hopbound/ask.h); it stands behind the question. */
typedef struct program_args {
    hop_opt_value json, quiet, isa, format, help;
} program_args;

/* A verb. `run` gets the arguments, whose struct starts with a common_args, and returns the exit code. */
typedef struct verb {
    const char *name, *summary;
    const char *operand, *operand_help; /* "DIR"; NULL: the verb takes none; "[NAME]": it may be missing;
                                           "PATH..": one or more, "[PATH..]": any number */
    const char *second, *second_help;   /* "[DIR]": another that may be missing; NULL: one is enough */
    const char *description;            /* paragraphs, separated by "\n\n" */
    const hop_opt_group *groups;        /* ended by one without a table */
    const example *examples;            /* ended by one without a command */
    bool colours;                       /* its text has verdicts, which a terminal shows in colour */
    size_t args_size;
    int (*run)(struct common_args *args);
    const hop_verb
        *asks; /* answered by the library; then there is no `run`, and `show` writes what people read */
    void (*show)(hop_text *out, const hop_response *r);
    void (*page)(hop_text *out, const hop_response *r); /* in Markdown; NULL: the answer's rows are enough */
} verb;

/* Fills `args` (zeroed, verb->args_size bytes) from the command line after the verb. False with the reason,
 * "--opt: why", in `err`. Operands come to stand first in argv, `operands` of them; whether there must be one
 * is the caller's to check, because --help needs none. */
bool options_parse(const verb *v, void *args, int argc, char **argv, int *operands, hop_error *err);
/* paths.c: false, with the reason, where something would be written over what is read, or written twice. */
bool options_apart(const verb *v, const void *args, char *const *operands, int count, hop_error *err);

/* ---- made from the tables (help.c, man.c, completion.c) --------------------------------------------------
 */

void help_verb(hop_text *out, const verb *v);
void help_all(hop_text *out, const verb *const *verbs, size_t count);
void man_verb(hop_text *out, const verb *v);
void man_all(hop_text *out, const verb *const *verbs, size_t count);
/* What a shell can complete: "bash", "zsh" or "fish". */
void completion(hop_text *out, const char *shell, const verb *const *verbs, size_t count);
/* " (default 8; 2 to 64)" and the like; nothing when there is nothing to say. */
void option_facts(hop_text *out, const hop_opt_group *g, const hop_opt *o);

#endif
