/* hopbound/form.h - questions and answers as data (room: form). A question is a struct whose members a table of
 * options describes; an answer is a record, a struct that is declared by one list of lines:
 *
 *     #define HOP_PLAN_ROW(X, R)                                                          \
 *         X(R, pattern, text, "", "plan", "the layers in order")                          \
 *         X(R, kv_bytes, real, "bytes", "KV", "what attention keeps at token n")
 *     HOP_RECORD(hop_plan_row, HOP_PLAN_ROW)                          // in a header: the struct
 *     HOP_RECORD_TABLE(hop_plan_row, HOP_PLAN_ROW, "a layer plan")    // in one file: its table
 *
 * A line: name, type, unit, how the column is headed in tables ("": it is in none), one line of doc. From the
 * tables follow the command line, --help, man pages and completion (cli), reading a question from JSON, writing
 * an answer as JSON, CSV or Markdown, and docs/JSON.md.
 */
#ifndef HOPBOUND_FORM_H
#define HOPBOUND_FORM_H

#include <hopbound/base.h>
#include <hopbound/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options: what a question takes -------------------------------------------------------- */

#define HOP_OPT_LIST_MAX 63

/* What a path that is given for an option is to the verb; operands are read. */
typedef enum hop_opt_use { HOP_OPT_NO_FILE, HOP_OPT_READS, HOP_OPT_WRITES } hop_opt_use;

typedef enum hop_opt_kind {
    HOP_OPT_FLAG,
    HOP_OPT_INT,
    HOP_OPT_REAL,
    HOP_OPT_TEXT,
    HOP_OPT_CHOICE,
    HOP_OPT_LIST,
    HOP_OPT_JSON /* an object, kept as a text */
} hop_opt_kind;

/* What was given for an option, or its initial value. Texts are the asker's, or the table's. */
typedef struct hop_opt_value {
    bool given; /* by the asker */
    union {
        bool flag;
        int64_t integer;
        double real;
        const char *text; /* NULL: no value */
        int choice;       /* index into the choices */
        struct {
            int64_t list[HOP_OPT_LIST_MAX];
            int count;
        };
    };
} hop_opt_value;

typedef struct hop_opt {
    const char *name; /* as on a command line, without the dashes */
    char letter;      /* 0: none */
    hop_opt_kind kind;
    size_t at;                  /* of the hop_opt_value in its struct, from the group's base */
    const char *metavar;        /* NULL: a flag */
    const char *initial;        /* as a person would write it; NULL: zero, or no text */
    int64_t min, max;           /* of integers, of each number in a list; of reals when they differ */
    const char *initial_help;   /* said instead of `initial` where the default is not a constant */
    const char *const *choices; /* ended by NULL */
    bool required;
    hop_opt_use use; /* of a text */
    const char *help;
} hop_opt;

/* A table of options (ended by one without a name) and where its struct stands among the arguments. */
typedef struct hop_opt_group {
    const char *title;
    const hop_opt *opts;
    size_t base;
    const char *initial_help; /* said instead of the options' own, where this verb has other defaults */
} hop_opt_group;

/* The value of an option of a group in `args`. */
hop_opt_value *hop_opt_at(const hop_opt_group *g, const hop_opt *o, const void *args);
/* Stores what `text` says, which stays the caller's; for a flag NULL or "true", or "false". False, with the
 * reason, and nothing stored. Numbers may be written 32k, 1.5M, 2G (powers of 1024) or 1e6. */
bool hop_opt_read(const hop_opt *o, const char *text, hop_opt_value *v, hop_error *err);
/* Every initial value of the groups, which end with one without a table. */
bool hop_opts_init(const hop_opt_group *groups, void *args, hop_error *err);
/* The option called `name`, whose dashes may be underscores; NULL: there is none. */
const hop_opt *hop_opt_find(const hop_opt_group *groups, const char *name, size_t length,
                            const hop_opt_group **group);
/* The first that is required and was not given; NULL: none. */
const hop_opt *hop_opt_missing(const hop_opt_group *groups, const void *args);
/* Adds what was given as on a command line, " --name value", but for the options called `but`, ended by NULL. */
void hop_opts_command(hop_text *out, const hop_opt_group *groups, const void *args, const char *const *but);
/* The one of `names` that was probably meant; NULL when none is close. */
const char *hop_closest_name(const char *given, const char *const *names, size_t count);

/* ---- memory of an answer ------------------------------------------------------------------- */

/* Memory that is freed as a whole. When it runs out `failed` is set and stays set, and NULL is handed out. */
typedef struct hop_keep {
    struct hop_keep_block *last;
    bool failed;
} hop_keep;

void *hop_keep_bytes(hop_keep *k, size_t count, size_t size); /* zeroed */
const char *hop_keep_text(hop_keep *k, const char *s);        /* a copy; NULL and "" give NULL */
const char *hop_keep_said(hop_keep *k, const char *s);        /* the same, but "" stays "" */
const char *hop_keep_printf(hop_keep *k, const char *fmt, ...) HOP_PRINTF(2, 3);
const char *hop_keep_grown(hop_keep *k, hop_text *t); /* of a growing text, which is freed */
void hop_keep_free(hop_keep *k);

/* ---- records: what an answer is made of ---------------------------------------------------- */

#define HOP_NO_COUNT INT64_MIN         /* a count that is not known, or does not exist: null */
#define HOP_NO_FLAG  (-1)              /* the same of `maybe` */
int64_t hop_known(int64_t v, bool is); /* v, or HOP_NO_COUNT */

typedef struct hop_counts {
    const int64_t *at; /* NULL: null */
    int64_t count;
} hop_counts;
typedef struct hop_reals {
    const double *at; /* NULL: null */
    int64_t count;
} hop_reals;
typedef struct hop_texts {
    const char *const *at; /* NULL: null */
    int64_t count;
} hop_texts;

/* The type of a line, what it is in C, and what it is in JSON. Besides: word(E), an enum E whose names are the
 * list E##_words; one(R), a record or null; many(R), a list of them. */
#define HOP_TYPE_LIST(X)                                                           \
    X(flag, bool, "true or false")                                                 \
    X(maybe, signed char, "true, false or null")                                   \
    X(count, int64_t, "an integer")                                                \
    X(real, double, "a number")                                                    \
    X(text, const char *, "a text")                                                \
    X(digits, const char *, "an integer; a text where it has more than 18 digits") \
    X(counts, hop_counts, "a list of integers")                                    \
    X(reals, hop_reals, "a list of numbers")                                       \
    X(texts, hop_texts, "a list of texts")                                         \
    X(digit_list, hop_texts, "a list of integers, texts beyond 18 digits")         \
    X(json, const char *, "JSON of its own")

typedef enum hop_type {
#define HOP_TYPE_ENUM(name, c, json) HOP_TYPE_##name,
    HOP_TYPE_LIST(HOP_TYPE_ENUM)
#undef HOP_TYPE_ENUM
        HOP_TYPE_word,
    HOP_TYPE_one,
    HOP_TYPE_many
} hop_type;

typedef struct hop_field {
    const char *name;
    hop_type type;
    size_t at;
    const char *unit, *head, *doc;
    const struct hop_record *of; /* one, many: of which record */
    const char *const *words;    /* word: the names, ended by NULL */
} hop_field;

typedef struct hop_record {
    const char *name, *doc;
    size_t size;
    const hop_field *fields; /* ended by one without a name */
} hop_record;

typedef struct hop_records {
    const void *at; /* NULL: null */
    int64_t count;
} hop_records;

/* HOP_RECORD and HOP_RECORD_TABLE, as shown at the top. */
typedef bool hop_c_flag;
typedef signed char hop_c_maybe;
typedef int64_t hop_c_count;
typedef double hop_c_real;
typedef const char *hop_c_text;
typedef const char *hop_c_digits;
typedef hop_counts hop_c_counts;
typedef hop_reals hop_c_reals;
typedef hop_texts hop_c_texts;
typedef hop_texts hop_c_digit_list;
typedef const char *hop_c_json;
#define hop_c_word(e) e
#define hop_c_one(r)  const r *
#define hop_c_many(r)  \
    struct {           \
        const r *at;   \
        int64_t count; \
    }
#define HOP_TYPE_word(e)                                 HOP_TYPE_word
#define HOP_TYPE_one(r)                                  HOP_TYPE_one
#define HOP_TYPE_many(r)                                 HOP_TYPE_many
#define HOP_OF_flag                                      NULL, NULL
#define HOP_OF_maybe                                     NULL, NULL
#define HOP_OF_count                                     NULL, NULL
#define HOP_OF_real                                      NULL, NULL
#define HOP_OF_text                                      NULL, NULL
#define HOP_OF_digits                                    NULL, NULL
#define HOP_OF_counts                                    NULL, NULL
#define HOP_OF_reals                                     NULL, NULL
#define HOP_OF_texts                                     NULL, NULL
#define HOP_OF_digit_list                                NULL, NULL
#define HOP_OF_json                                      NULL, NULL
#define HOP_OF_word(e)                                   NULL, e##_words
#define HOP_OF_one(r)                                    &r##_record, NULL
#define HOP_OF_many(r)                                   &r##_record, NULL
#define HOP_FIELD_MEMBER(R, name, type, unit, head, doc) hop_c_##type name;
#define HOP_FIELD_ROW(R, name, type, unit, head, doc) \
    {#name, HOP_TYPE_##type, offsetof(R, name), unit, head, doc, HOP_OF_##type},
#define HOP_RECORD(R, LIST)       \
    typedef struct R {            \
        LIST(HOP_FIELD_MEMBER, R) \
    } R;                          \
    extern const hop_record R##_record;
#define HOP_RECORD_TABLE(R, LIST, doc)                                            \
    static const hop_field R##_fields[] = {LIST(HOP_FIELD_ROW, R){.name = NULL}}; \
    const hop_record R##_record = {#R, doc, sizeof(R), R##_fields};

/* ---- an answer as text --------------------------------------------------------------------- */

typedef enum hop_format { HOP_FORMAT_CSV, HOP_FORMAT_MARKDOWN } hop_format;

void hop_record_json(hop_json_writer *w, const hop_record *r, const void *data); /* an object */
/* The same of a record whose last member is a list that is too long to be held: all before its items, which the caller
 * writes, and all behind. */
void hop_record_json_begin(hop_json_writer *w, const hop_record *r, const void *data);
void hop_record_json_end(hop_json_writer *w);
/* The rows of a record's list called `name`, else of its first one, a line each: CSV with every field that is no
 * record, Markdown with those that have a head. False: it has no list. */
bool hop_record_rows(hop_text *out, const hop_record *r, const void *data, const char *name, hop_format f);
/* One field of a record in `data` as a cell of a table: a number in full, nothing where there is none. */
void hop_field_cell(hop_text *out, const hop_field *f, const void *data);
/* The list of members as docs/JSON.md has it: rows of a Markdown table, members of lists as `a[].b`. */
void hop_record_doc(hop_text *out, const hop_record *r);
void hop_record_schema(hop_json_writer *w,
                       const hop_record *r); /* the same for programs: a list of objects */

/* ---- numbers as people read them ------------------------------------------------------------ */

/* To be used within the expression: printf("%s", hop_say_count(n).s). */
typedef struct hop_said {
    char s[64];
} hop_said;
hop_said hop_say_count(int64_t v);                     /* 262,144 */
hop_said hop_say_digits(const char *number);           /* the same; "10^12" as it is */
hop_said hop_say_things(int64_t n, const char *thing); /* 1 token, 2,048 tokens */
hop_said hop_say_bytes(int64_t v);                     /* 2.05 MiB; exact below ten KiB */

/* ---- a question from JSON ------------------------------------------------------------------ */

/* Members of the object go to the options of their names, a list of texts called as the operand is (in lower
 * letters), or a text, to the operands. Texts are kept in `k`. */
hop_status hop_opts_json(const hop_opt_group *groups, const char *operand, const hop_json *object, void *args,
                         hop_texts *operands, hop_keep *k, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
