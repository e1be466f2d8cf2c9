/* hopbound/audit.h - a model's configuration as sizes of layers, and what the theorems say of them (room: desk). */
#ifndef HOPBOUND_AUDIT_H
#define HOPBOUND_AUDIT_H

#include <hopbound/ask_audit.h>
#include <hopbound/bounds.h>
#include <hopbound/hf.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_audit_options {
    int64_t n, bits;                                    /* n: 0: the model's own length; p */
    const char *state_dtype, *conv_dtype, *cache_dtype; /* NULL: what the file says, or is usual */
    const hop_hf_families *families;                    /* beside the rows that are built in; NULL: none */
    bool plan_only;                                     /* no theorems */
    int searched;                                       /* as in hop_question */
    const hop_progress *progress;
} hop_audit_options;

/* How wide the numbers of one kind are, and who says so. */
typedef struct hop_audit_precision {
    const char *dtype;
    int bytes;
    hop_audit_how how;
} hop_audit_precision;

typedef struct hop_audit_layer {
    char letter;
    bool sparse;                  /* picks or compresses tokens */
    bool chunked;                 /* the window is a chunk: attention begins anew at its end */
    bool borrows;                 /* attends to rows that another layer keeps */
    int64_t heads, qk_dim, v_dim; /* of attention; 0: it has none */
    int64_t reply_dim;            /* numbers that a softmax sums up, if more than v_dim */
    int64_t row;                  /* numbers kept for a token */
    int64_t index;                /* numbers kept for a token to pick by, beside the row */
    int64_t window;               /* tokens seen; 0: no window */
    int64_t state, conv;          /* numbers carried by the recurrence and by short convolutions */
    int64_t conv_before;          /* of `conv`, what stands before attention in a layer that only attends */
} hop_audit_layer;

typedef struct hop_audit {
    hop_hf_plan plan;
    hop_audit_layer *layers; /* [plan.count], owned */
    hop_audit_precision state, conv, cache;
    int64_t n; /* 0: not known */
    const char *n_from;
    int64_t parameters, weight_bytes; /* of a file that tells; 0: it does not; bytes -1: not known */
    bool rows_known;                  /* what a layer keeps for a token is known */
    /* A network of this program has its task's sizes beside it: what the theorems say of it there, in one pass. */
    bool own_known; /* it is one, with a task of function composition, and no layer shares its weights */
    hop_task own;
    hop_answer own_answer;
    char own_by[8], own_why[240]; /* "": no theorem says anything */
} hop_audit;

/* Reads a parsed config.json, a foreign one or one of this program's; texts of the options are kept. On failure the
 * audit is empty. The same of a file, or of a directory with a config.json: then the error names it. */
hop_status hop_audit_of(hop_audit *u, const hop_json *root, const hop_audit_options *o, hop_error *err);
hop_status hop_audit_read(hop_audit *u, const char *path, const hop_audit_options *o, hop_error *err);
void hop_audit_free(hop_audit *u);

/* Bytes that a layer keeps after n tokens; -1: not known. Saturates. */
int64_t hop_audit_layer_bytes(const hop_audit *u, const hop_audit_layer *l, int64_t n);
int64_t hop_audit_total_bytes(const hop_audit *u, int64_t n); /* the same of all layers */
int64_t hop_audit_all_states(const hop_audit *u); /* of that, what does not grow with n: all states */
int64_t hop_audit_state_bytes(
    const hop_audit *u);                         /* one recurrent layer; -1: there is none, or they differ */
int64_t hop_audit_row_bytes(const hop_audit *u); /* what one more token adds, all layers; -1: not known */

/* ---- what the theorems see, and say ---------------------------------------------------------- */

/* What a layer is, in words and to the theorems. Those up to COVERED attend to everything. */
#define HOP_AUDIT_KIND_LIST(X)                                                                   \
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

typedef enum hop_audit_kind {
#define HOP_AUDIT_KIND(name, one, many) HOP_AUDIT_##name,
    HOP_AUDIT_KIND_LIST(HOP_AUDIT_KIND)
#undef HOP_AUDIT_KIND
        HOP_AUDIT_KINDS
} hop_audit_kind;

typedef struct hop_audit_seen {
    hop_arch_layer *layers; /* owned; with room for one more */
    hop_audit_kind *kinds;  /* [arch.count], owned */
    int64_t counts[HOP_AUDIT_KINDS];
    hop_arch arch;
    int64_t bits;                /* p */
    int64_t full, linear, other; /* layers that the theorems see as such */
    hop_reach reach;             /* whatever the widths */
    int able;            /* hops that are possible at the model's own widths; see hop_audit_uncovered */
    char *able_why;      /* owned */
    int by_states;       /* more hops, some of them by states that hold tables (P10); 0: no more */
    char *by_states_why; /* owned */
    int64_t held;        /* up to this n the states hold the table of a hop; 0: not known to */
    char *narrow_why;    /* owned; why not reach.able at these widths; NULL: it is */
    int asked;           /* hops that `bounds` is about; 0: more than a question may have */
    hop_bounds *bounds;  /* NULL then */
    double unable_ids;   /* entries of the table that shows reach.unable; 0: nothing is impossible */
    hop_bounds *fewer;   /* as many hops as full layers, where no layer carries before the first; or NULL */
} hop_audit_seen;

/* A window, a convolution and a recurrence are linear layers to the theorems, with what they carry from one
 * token to the next as state; a window that is not shorter than n is full attention at that length. */
hop_status hop_audit_see(hop_audit_seen *h, const hop_audit *u, const hop_audit_options *o, hop_error *err);
/* Its layers alone, no theorem: arch, kinds, counts, full, linear, other. */
hop_status hop_audit_layers(hop_audit_seen *h, const hop_audit *u, const hop_audit_options *o,
                            hop_error *err);
void hop_audit_seen_free(hop_audit_seen *h);
/* Why no theorem here says how many hops are possible, so that the number is not known; NULL: one does. */
const char *hop_audit_uncovered(const hop_audit *u, const hop_audit_seen *h);
/* The theorem that speaks first of this model, at any length; *hops of which. NULL: none does. */
const hop_bound *hop_audit_first(const hop_audit_seen *h, int *hops);
const hop_bound *hop_audit_theorem(const hop_bounds *b, const char *id); /* NULL: not there */
/* Entries of the last table at the sizes from which the theorem speaks, at least: so many ids it takes to
 * pose them. 0: it does not speak. */
double hop_audit_ids(const hop_bound *b, int hops);
bool hop_audit_beyond(const hop_audit *u, double ids); /* more than the model's vocabulary has */

#ifdef __cplusplus
}
#endif
#endif
