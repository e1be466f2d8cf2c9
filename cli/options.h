/* Options of the verbs. Each is declared once, in a table; parsing, checking, --help and the man page are
 * made from that line alone.
 *
 *     typedef struct args { common_args common; opt_value count; } args;
 *     #define AT(member) offsetof(args, member)
 *     static const opt OPTIONS[] = {
 *         {"count", 'n', OPT_INT, AT(count), "N", "100", 1, INT64_MAX, .help = "how many instances"},
 *         {0},
 *     };
 */
#ifndef HOPBOUND_CLI_OPTIONS_H
#define HOPBOUND_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hopbound/base.h>

#define OPT_LIST_MAX 63

/* What a path that is given for an option is to the verb; operands are read. */
typedef enum opt_use { OPT_NO_FILE, OPT_READS, OPT_WRITES } opt_use;

typedef enum opt_kind { OPT_FLAG, OPT_INT, OPT_REAL, OPT_TEXT, OPT_CHOICE, OPT_LIST } opt_kind;

/* What was given for an option, or its initial value. Text points into argv or into the table. */
typedef struct opt_value {
    bool given; /* by the user */
    union {
        bool flag;
        int64_t integer;
        double real;
        const char *text; /* NULL: no value */
        int choice;       /* index into the choices */
        struct {
            int64_t list[OPT_LIST_MAX];
            int count;
        };
    };
} opt_value;

typedef struct opt {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    opt_kind kind;
    size_t at;                  /* of the opt_value in the arguments' struct, from the group's base */
    const char *metavar;        /* NULL: a flag */
    const char *initial;        /* as the user would write it; NULL: zero, or no text */
    int64_t min, max;           /* of integers, of each number in a list; of reals when they differ */
    const char *initial_help;   /* said instead of `initial` where the default is not a constant */
    const char *const *choices; /* NULL-terminated */
    bool required;
    opt_use use; /* of a text */
    const char *help;
} opt;

/* A table of options (ended by one without a name) and where its struct stands inside the verb's arguments.
 */
typedef struct opt_group {
    const char *title;
    const opt *opts;
    size_t base;
    const char *initial_help; /* said instead of the options' own, where this verb has other defaults */
} opt_group;

typedef struct example {
    const char *command, *says;
} example;

struct common_args;

/* A verb. `run` gets the arguments, whose struct starts with a common_args, and returns the exit code. */
typedef struct verb {
    const char *name, *summary;
    const char *operand, *operand_help; /* "DIR"; NULL: the verb takes none; "[NAME]": it may be missing;
                                           "PATH..": one or more */
    const char *second, *second_help;   /* "[DIR]": another that may be missing; NULL: one is enough */
    const char *description;            /* paragraphs, separated by "\n\n" */
    const opt_group *groups;            /* ended by one without a table */
    const example *examples;            /* ended by one without a command */
    bool colours;                       /* its text has verdicts, which a terminal shows in colour */
    size_t args_size;
    int (*run)(struct common_args *args);
} verb;

/* Fills `args` (zeroed, verb->args_size bytes) from the command line after the verb. False with the reason,
 * "--opt: why", in `err`. Operands come to stand first in argv, `operands` of them; whether there must be one
 * is the caller's to check, because --help needs none. */
bool options_parse(const verb *v, void *args, int argc, char **argv, int *operands, hop_error *err);
/* The first required option that is missing, or NULL. */
const opt *options_missing(const verb *v, const void *args);

/* paths.c: false, with the reason, where something would be written over what is read, or written twice. */
bool options_apart(const verb *v, const void *args, char *const *operands, int count, hop_error *err);

/* The one of `names` (`count` of them) that was probably meant; NULL when none is close. */
const char *closest_name(const char *given, const char *const *names, size_t count);

/* ---- made from the tables (help.c, man.c, completion.c) --------------------------------------------------
 */

void help_verb(hop_text *out, const verb *v);
void help_all(hop_text *out, const verb *const *verbs, size_t count);
void man_verb(hop_text *out, const verb *v);
void man_all(hop_text *out, const verb *const *verbs, size_t count);
/* What a shell can complete: "bash", "zsh" or "fish". */
void completion(hop_text *out, const char *shell, const verb *const *verbs, size_t count);
/* " (default 8; 2 to 64)" and the like; nothing when there is nothing to say. */
void option_facts(hop_text *out, const opt_group *g, const opt *o);

#endif
