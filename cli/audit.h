/* The audit of a model: its plan with every layer's sizes, at a length and at given precisions. */
#ifndef HOPBOUND_CLI_AUDIT_H
#define HOPBOUND_CLI_AUDIT_H

#include "cli.h"

typedef struct audit_args {
    common_args common;
    hop_opt_value n, bits, plan_only, state_dtype, conv_dtype, cache_dtype, format, report, families;
    hop_hf_families *rows; /* of --families */
} audit_args;

/* How wide the numbers of one kind are, and who says so. */
typedef struct precision {
    const char *dtype;
    int bytes;
    const char *how; /* "declared", "assumed", "given" */
} precision;

typedef struct audit_layer {
    char letter;
    bool sparse;                  /* picks or compresses tokens */
    bool chunked;                 /* the window is a chunk: attention begins anew at its end */
    bool borrows;                 /* attends to rows that another layer keeps */
    int64_t heads, qk_dim, v_dim; /* of attention; 0: it has none */
    int64_t reply_dim;            /* numbers that a softmax sums up, if more than v_dim */
    int64_t row;                  /* numbers kept for a token */
    int64_t window;               /* tokens seen; 0: no window */
    int64_t state, conv;          /* numbers carried by the recurrence and by short convolutions */
    int64_t conv_before;          /* of `conv`, what stands before attention in a layer that only attends */
} audit_layer;

/* A network of this program has its task's sizes beside it: what the theorems say of it there, in one pass.
 */
typedef struct audit_own {
    bool known; /* it is one, with a task of function composition, and no layer shares its weights */
    hop_task task;
    hop_answer answer;
    char by[8]; /* "": no theorem says anything */
    char why[240];
} audit_own;

typedef struct audit {
    hop_hf_plan plan;
    audit_own own;
    audit_layer *layers; /* [plan.count] */
    hop_text compressed; /* the pattern, shorter */
    precision state, conv, cache;
    int64_t n; /* 0: not known */
    const char *n_from;
    bool rows_known; /* what a layer keeps for a token is known */
} audit;

/* What a layer is, in words and to the theorems. Those up to COVERED attend to everything. */
#define AUDIT_KIND_LIST(X)                                                                       \
    X(FULL, "full-attention layer", "full-attention layers")                                     \
    X(CROSS, "cross-attention layer", "cross-attention layers")                                  \
    X(BESIDE, "of them beside a recurrence", "of them beside recurrences")                       \
    X(COVERED, "window that covers the prompt", "windows that cover the prompt")                 \
    X(RECURRENT, "recurrent layer", "recurrent layers")                                          \
    X(CONVOLUTION, "short convolution", "short convolutions")                                    \
    X(WINDOW, "sliding window", "sliding windows")                                               \
    X(WINDOW_BESIDE, "sliding window beside a recurrence", "sliding windows beside recurrences") \
    X(CHUNK, "layer that attends within chunks", "layers that attend within chunks")             \
    X(SPARSE, "that picks or compresses tokens, which no theorem here covers",                   \
      "that pick or compress tokens, which no theorem here covers")                              \
    X(UNKNOWN, "with a window of unknown length", "with windows of unknown length")              \
    X(LOCAL, "that mixes no tokens", "that mix no tokens")

typedef enum audit_kind {
#define KIND(name, one, many) AUDIT_##name,
    AUDIT_KIND_LIST(KIND)
#undef KIND
        AUDIT_KINDS
} audit_kind;

/* What the theorems say of it. */
typedef struct audit_hops {
    hop_arch_layer *layers; /* owned; with room for one more */
    audit_kind *kinds;      /* [arch.count], owned */
    int64_t counts[AUDIT_KINDS];
    hop_arch arch;
    int64_t bits;                /* p */
    int64_t full, linear, other; /* layers that the theorems see as such */
    hop_reach reach;             /* whatever the widths */
    int able;                    /* hops that are possible at the model's own widths; see audit_uncovered */
    char *able_why;              /* owned */
    int by_states;               /* more hops, some of them by states that hold tables (P10); 0: no more */
    char *by_states_why;         /* owned */
    int64_t held;                /* up to this n the states hold the table of a hop; 0: not known to */
    char *narrow_why;            /* owned; why not reach.able at these widths; NULL: it is */
    int asked;                   /* hops that `bounds` is about; 0: more than a question may have */
    hop_bounds *bounds;          /* NULL then */
    double unable_ids; /* entries of the table that shows reach.unable; 0: nothing is impossible */
    hop_bounds *fewer; /* as many hops as full layers, where no layer carries before the first; or NULL */
} audit_hops;

/* ---- audit_read.c -------------------------------------------------------------------------- */

/* Reads a config.json, a foreign one or one of this program's; PATH may be its directory. */
hop_status audit_read(audit *u, const audit_args *a, const char *path, hop_error *err);
hop_status audit_of(audit *u, const hop_json *root, const audit_args *a, hop_error *err); /* parsed already */
void audit_free(audit *u);
/* Bytes that a layer keeps after n tokens; -1: not known. Saturates. */
int64_t audit_layer_bytes(const audit *u, const audit_layer *l, int64_t n);
int64_t audit_total_bytes(const audit *u, int64_t n); /* the same of all layers */
int64_t audit_all_states(const audit *u);             /* of that, what does not grow with n: all states */
int64_t audit_state_bytes(const audit *u);            /* one recurrent layer; -1: there is none */
int64_t audit_row_bytes(const audit *u); /* what one more token adds, all layers; -1: not known */

/* ---- audit_hops.c -------------------------------------------------------------------------- */

/* A window, a convolution and a recurrence are linear layers to the theorems, with what they carry from one
 * token to the next as state; a window that is not shorter than n is full attention at that length. */
hop_status audit_hops_find(audit_hops *h, const audit *u, const audit_args *a, int searched, hop_error *err);
void audit_hops_free(audit_hops *h);
/* Why no theorem here says how many hops are possible, so that the number is not known; NULL: one does. */
const char *audit_uncovered(const audit *u, const audit_hops *h);
/* The theorem that speaks first of this model, at any length; *hops of which. NULL: none does. */
const hop_bound *audit_first(const audit_hops *h, int *hops);
const hop_bound *audit_result(const hop_bounds *b, const char *id); /* NULL: not there */
/* Entries of the last table at the sizes from which the theorem speaks, at least: so many ids it takes to
 * pose them. 0: it does not speak. */
double audit_ids(const hop_bound *b, int hops);
bool audit_beyond(const audit *u, double ids); /* more than the model's vocabulary has */

/* ---- audit_say.c --------------------------------------------------------------------------- */

/* The verdicts in plain words, one sentence a line; returns how many. */
#define AUDIT_MAX_LINES 10
int audit_hops_say(hop_text lines[AUDIT_MAX_LINES], const audit *u, const audit_hops *h);
void say_count(hop_text *out, int64_t v);                     /* 262,144 */
void say_digits(hop_text *out, const char *number);           /* the same; "10^12" as it is */
void say_things(hop_text *out, int64_t n, const char *thing); /* 1 token, 2,048 tokens */

/* ---- audit_json.c, audit_text.c ------------------------------------------------------------ */

int audit_print_json(const audit_args *a, const audit *u, const audit_hops *h);
int audit_print_text(const audit_args *a, const audit *u, const audit_hops *h);
int audit_print_markdown(const audit_args *a, const audit *u, const audit_hops *h);
void audit_say_bytes(hop_text *out, int64_t v);             /* 2.05 MiB */
void audit_say_pattern(hop_text *out, const char *letters); /* "(FSSSS)x2S" */

/* ---- audit_table.c -------------------------------------------------------------------------- */

bool audit_holds_config(const char *dir); /* a config.json, readable or not */
/* Many models: one row each, at a common length. */
int audit_table(const audit_args *a);

#endif
