/* Inside the room: families as text, reading keys of a foreign config.json with what was read and what was
 * assumed noted down, and the rules that families are told in.
 *
 * A reader is sticky: the first failure stays in `status` and every later call returns its fallback, so that
 * rules read like the formulas they are and the status is looked at once. */
#ifndef HOP_HF_ROOM_H
#define HOP_HF_ROOM_H

#include <hopbound/hf.h>

#define HOP__HF_MAX_SIZE   ((int64_t)1 << 20) /* of one dimension: products of three fit 64 bits */
#define HOP__HF_MAX_KEYS   256                /* letters of a key with its alternatives */
#define HOP__HF_MAX_VARS   48
#define HOP__HF_MAX_COMMON 160       /* statements for all families */
#define HOP__HF_MAX_WORK   (1 << 22) /* terms that are evaluated for one file, so that no rows hang */

/* Text that is part of a families' file; not terminated. */
typedef struct hop__span {
    const char *at, *end;
} hop__span;

/* A row: `KIND NAME ..` at the beginning of a line, and the indented statements below. */
typedef struct hop__row {
    hop__span kind, names, body;
    bool added; /* from the user's file */
} hop__row;

struct hop_hf_families {
    char *text;
    size_t size;
};

/* A statement: its first word, and what follows. */
typedef struct hop__statement {
    hop__span name, rest;
} hop__statement;

typedef struct hop__var {
    hop__span name;
    int64_t value;
} hop__var;

typedef struct hop__hf {
    const hop_json *root; /* the file */
    const hop_json *text; /* the language model's part of it */
    hop_hf_plan *plan;
    const hop_hf_families *families; /* the user's; NULL: only the built-in ones */
    hop__span built_in;
    hop__row row;                              /* the family's, empty where it is not known */
    hop__row common;                           /* what holds for all .. */
    hop__statement of_all[HOP__HF_MAX_COMMON]; /* .. whose statements are taken apart once */
    int of_all_count;
    bool checking;      /* rows, and no file */
    bool named;         /* the row is of its model_type, not of its keys */
    bool kind_read;     /* one kind of layers is read, .. */
    int64_t kind_layer; /* .. of which this is the first */
    hop__var vars[HOP__HF_MAX_VARS];
    int var_count, work;
    int64_t layer; /* that a row of weights is about; else 0 */
    hop_error *err;
    hop_status status;
} hop__hf;

/* layered.c: from now on keys are those of layers with one of `letters`, where the file gives them layer by
 * layer; NULL: of all. Returns whether it does so of such a layer. Fails where layers of one kind differ. */
bool hop__hf_kind(hop__hf *r, const char *letters);
bool hop__hf_is_layered(const hop__hf *r);
void hop__hf_check_layered(hop__hf *r);                             /* refuses what it cannot be */
const hop_json *hop__hf_of_kind(const hop__hf *r, const char *key); /* NULL: nothing of its own */

/* The part of a file that holds the language model's keys. */
const hop_json *hop__hf_language_model(const hop__hf *r, const hop_json *root);
/* A reader of `root`, and the row of the plan's model_type, if that is known by now. */
void hop__hf_begin(hop__hf *r, hop_hf_plan *p, const hop_json *root, const hop_hf_families *f,
                   hop_error *err);

/* ---- rows (rows.c, check.c) ----------------------------------------------------------------- */

hop__span hop__hf_built_in(void);
bool hop__span_is(hop__span s, const char *text);
bool hop__span_same(hop__span a, hop__span b);
hop__span hop__span_word(hop__span *s);              /* takes the first word off; empty at the end */
bool hop__span_sign(hop__span *s, char c);           /* takes `c` off if it is the first letter */
bool hop__span_next(hop__span *s, hop__span *word);  /* the same; false at the end */
bool hop__span_part(hop__span *s, hop__span *part);  /* what is before the next comma; false at the end */
bool hop__span_skip(hop__span *s, const char *word); /* takes `word` off if it is the first */
hop__span hop__span_until(hop__span *s, char stop);  /* takes what is before `stop`, and it, off; trimmed */
hop__span hop__span_tail(hop__span *s, const char *word); /* takes what follows ` word ` off the end */
void hop__span_copy(char *out, size_t size, hop__span s);
/* The next row of a text, and the next statement of a row: its first word, and what follows. */
bool hop__row_next(hop__span *text, hop__row *row);
bool hop__statement_next(hop__span *body, hop__span *name, hop__span *rest);
/* The row called so, the user's before the built-in; `not_this` (may be NULL) is passed over. */
bool hop__hf_row(const hop__hf *r, const char *kind, hop__span name, const hop__row *not_this, hop__row *row);
/* Does some row give that name a value? */
bool hop__hf_assigned(const hop__hf *r, hop__span name);
/* The row that this one is like. */
bool hop__hf_like(const hop__hf *r, hop__row *row);
/* The statement called `name` of the family, or of what it is like; of all families. */
bool hop__hf_fact(const hop__hf *r, const char *name, hop__span *rest);
bool hop__hf_common(const hop__hf *r, const char *name, hop__span *rest);
/* The same as text, "" when absent. */
const char *hop__hf_keys(const hop__hf *r, const char *name, char keys[HOP__HF_MAX_KEYS]);
/* The number behind a word of a statement, "class layers 48, heads 16": 1 without a number, 0 without the
 * word, -1 for '?', the file has to say. */
double hop__hf_number(const hop__hf *r, const char *statement, const char *word);
int64_t hop__hf_class(const hop__hf *r, const char *word);

/* The k-th word of a statement for all families; false: it has no more. */
bool hop__hf_word(const hop__hf *r, const char *statement, int k, char word[64]);
/* `*` stands for any letters. Of a list the last pattern that fits counts; behind a '!' it takes back. */
bool hop__glob(hop__span pattern, const char *name);
bool hop__hf_listed(const hop__hf *r, const char *statement, const char *name);
bool hop__hf_known(const hop__hf *r, const char *key); /* in the family's `known` */

/* ---- expressions (expr.c) ------------------------------------------------------------------- */

/* Takes an expression off the text; `layer`: what i is. By a checking reader it is only read through, and
 * what is wrong with it is told in `wrong`. */
typedef struct hop__eval {
    hop__hf *r;
    hop__span in;
    int64_t layer;
    int depth, skip;
    const char *wrong;
} hop__eval;
int64_t hop__evaluate(hop__eval *e);
int64_t hop__hf_value(hop__hf *r, hop__span text, int64_t layer);
/* A statement of the family, else of all; `absent` without one. */
int64_t hop__hf_fact_value(hop__hf *r, const char *name, int64_t layer, int64_t absent);
const hop__var *hop__hf_var(const hop__hf *r, hop__span name);
int64_t hop__hf_out(const hop__hf *r, const char *name, int64_t absent);
void hop__hf_assign(hop__hf *r, hop__span name, int64_t value);
void hop__hf_refuse_if(hop__hf *r, hop__span text); /* "CONDITION, why"; `{x}`: the variable or key x */
double hop__span_real(hop__span s);                 /* NaN: not a number */

/* ---- refusals (refuse.c) ---------------------------------------------------------------- */

void hop__hf_refuse(hop__hf *r);       /* by what the file says of itself */
void hop__hf_refuse_types(hop__hf *r); /* known keys with values of another type */
void hop__hf_refuse_class(hop__hf *r); /* unknown families whose class is not known to be a decoder's */
/* A key that says that a layer does something else than attend to everything; NULL: none. */
const char *hop__hf_telltale(const hop__hf *r);
void hop__hf_unknown_rule(hop__hf *r, const char *key); /* fails: the file has a key that nobody can read */
/* Keys of attention of an unknown kind, once every rule has read its own. */
void hop__hf_refuse_unread(hop__hf *r);

/* ---- keys (keys.c) ---------------------------------------------------------------------- */

/* `keys`: alternatives with '|' between, the first that is present and not null counts; a '.' descends, into
 * a list by a number. */
const hop_json *hop__hf_find(const hop__hf *r, const char *keys);
bool hop__hf_has(const hop__hf *r, const char *keys);
bool hop__hf_is_null(const hop__hf *r, const char *key); /* there, and null: not left to the class */
/* An integer in [1, HOP__HF_MAX_SIZE]; `assumed` > 0 when absent, 0: then it is an error that names the key,
 * -1: then it is 0 and nothing is noted. */
int64_t hop__hf_size(hop__hf *r, const char *keys, int64_t assumed);
/* The same with its own range, no default: `absent` is returned and nothing is noted. */
int64_t hop__hf_range(hop__hf *r, const char *keys, int64_t lo, int64_t hi, int64_t absent);
double hop__hf_real(hop__hf *r, const char *keys, double assumed); /* in (0, HOP__HF_MAX_SIZE] */
double hop__hf_real_to(hop__hf *r, const char *keys, double most, double assumed); /* in (0, most] */
bool hop__hf_flag(hop__hf *r, const char *keys, bool absent);
const char *hop__hf_string(hop__hf *r, const char *keys); /* NULL when absent */
/* The array, with at least one member; NULL when absent or empty. */
const hop_json *hop__hf_list(hop__hf *r, const char *keys);
/* Marks the members of a list of layer numbers, counted from `base`. */
void hop__hf_indices(hop__hf *r, const hop_json *list, int64_t base, bool *marked);
void hop__hf_assume(hop__hf *r, const char *fmt, ...) HOP_PRINTF(2, 3);
void hop__hf_fail(hop__hf *r, hop_status s, const char *fmt, ...) HOP_PRINTF(3, 4);
void hop__hf_source(hop__hf *r, const char *source);

/* ---- plans (plans.c, lists.c) -------------------------------------------------------------- */

void hop__hf_plan(hop__hf *r);                               /* letters and a source */
void hop__hf_letter(hop__hf *r, int64_t layer, char letter); /* also P: picks tokens, K: chunks */
bool hop__hf_any(const hop_hf_plan *p, const char *letters); /* a layer has one of them */
void hop__hf_all(hop__hf *r, char letter, const char *source);
/* The letter that `map` ("word=L ..") has for a word; 0: none. */
char hop__hf_letter_of(hop__span map, const char *word);
/* A statement `plan FORM KEY ..`; false: the file has not got the key. */
typedef bool hop__hf_form(hop__hf *r, const char *key, hop__span map);
hop__hf_form *hop__hf_form_find(hop__span word);
const char *hop__hf_rule(hop__hf *r, hop__span text); /* why a rule is none; else NULL */

/* ---- sizes (sizes.c, specs.c) -------------------------------------------------------------- */

int64_t hop__hf_hidden(hop__hf *r);
int64_t hop__hf_hidden_if_known(hop__hf *r); /* else 0, and no failure */
int64_t hop__hf_heads(hop__hf *r);
int64_t hop__hf_kv_heads(hop__hf *r);
int64_t hop__hf_head_dim(hop__hf *r);
void hop__hf_grouped(hop__hf *r, hop_hf_attention *a, int64_t heads, int64_t kv_heads, int64_t dim);
void hop__hf_attention(hop__hf *r);
void hop__hf_linear(hop__hf *r);
void hop__hf_run(hop__hf *r, const char *kind,
                 hop__span name); /* a row's statements, whose values are then `hop__hf_out` */
void hop__hf_weights(hop__hf *r); /* last of all; weights.c */
/* fla's attn: which layers attend, and with which heads. */
hop__hf_form hop__hf_specs;
void hop__hf_attention_specs(hop__hf *r);
/* a*b of sizes; a failure when absurd. */
int64_t hop__hf_mul(hop__hf *r, int64_t a, int64_t b);

#endif
