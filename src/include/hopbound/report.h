/* hopbound/report.h - pages for people: self-contained HTML with drawings; a small script of its own moves
 * what is on the page, which is complete without it, and nothing is loaded from anywhere. Numbers come in as
 * plain structs; this room computes nothing. */
#ifndef HOPBOUND_REPORT_H
#define HOPBOUND_REPORT_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rungs --------------------------------------------------------------------------------- */

/* One network's row of a rung: one that was built, or a plan of which only theorems speak. */
typedef struct hop_rung {
    bool built;
    int hops;
    int64_t m, tokens;
    char sizes[64];   /* "m=16, fan 8,8" */
    char kind[32];    /* "full" */
    char mixer[24];   /* of a hybrid's linear layer; "" */
    char pattern[64]; /* "full^4" */
    int64_t layers;   /* 0: more than can be counted */
    int64_t full_layers, d_model, head_dim, parameters;
    char verdict[16];     /* "proved"; of a plan that was not built "impossible", "from_n" or "silent" */
    char why[400];        /* when not proved; or, of a plan that was not built, what is known */
    char theorem[8];      /* of a plan that was not built: who says so */
    bool machine_checked; /* and by a certificate */
    char speaks_from[32]; /* impossible at this width from here on; "": not known */
    /* A hybrid's, where its states are larger than state_limit: one full layer fewer, with this mixer in
     * every gap, is impossible at this length, where the hybrid itself is possible. "": not looked for, or
     * not found */
    char own_from[32], own_theorem[8];
    double state_limit; /* bits of a state that the theorems' rows of this rung count with; 0: none */
    int message_bits;   /* proved, or said by a theorem, with messages of so many bits; 0: not asked */
    double
        state_bits; /* of all recurrent layers together, at message_bits a number, or 32; 0: there are none */
    double log10_inputs; /* inputs the verdict speaks of */
    int64_t enumerated;
    double score_gap, wrong_mass, clip_margin, readout_margin; /* smallest / largest over layers */
    int64_t instances, correct;                                /* run in float32 */
    int64_t cut_instances, cut_correct;                        /* run with activations cut to cut_bits */
    int cut_bits;
    double seconds;
    int64_t looked;    /* inputs in which the refuter looked for a wrong answer, and found none */
    char witness[256]; /* of a plan that was not proved: the file that shows a network of it failing; "": none
                        */
    char shown[200];   /* what it shows */
} hop_rung;

/* A line of the report's margins table. */
typedef struct hop_rung_layer {
    int hops;
    int64_t layer, addresses;
    int player;
    double score_gap, wrong_mass, clip_margin;
} hop_rung_layer;

/* ---- where networks of the lower rows fail ------------------------------------------------- */

#define HOP_FALL_LAYERS 16

/* Two prompts that such a network confuses, and how far they are apart behind each layer. */
typedef struct hop_fall_layer {
    char mixer[24];
    double own;                       /* at the token in which they differ */
    double stream, state, last_token; /* stream: at any behind; state: NaN where there is none */
} hop_fall_layer;

typedef struct hop_fall {
    int hops;
    char pattern[64], file[256];
    char place[32]; /* where the prompts differ: "z_2(17)" */
    int64_t value[2], right[2], answer[2];
    hop_fall_layer layers[HOP_FALL_LAYERS];
    int layer_count;
    char above[64]; /* the network that works, of which this one is a part, and the same prompts in it */
    hop_fall_layer above_layers[HOP_FALL_LAYERS];
    int above_count;
} hop_fall;

/* ---- one instance, played -------------------------------------------------------------------- */

/* Step l is the look-up of i_l: in z_0, or in z_l at the address (digit, before). */
typedef struct hop_walk_step {
    int64_t position; /* of the token that is asked */
    int64_t digit;    /* w_{l-1}; -1: the address has none, l < 2 */
    int64_t before;   /* i_{l-1}; -1: l = 0 */
    int64_t found;    /* i_l */
} hop_walk_step;

typedef struct hop_walk {
    int hops;
    int64_t m, fan;         /* every n_l is `fan` */
    const int32_t *tokens;  /* [length], the prompt */
    const int *players;     /* [length]: whose token it is; -1: w */
    const int64_t *indices; /* [length]: its place in the player's table */
    int64_t length;
    const hop_walk_step *steps; /* [hops + 1] */
    char upper[32], lower[32];  /* patterns: the network that was built, and the one that cannot be */
    char theorem[8];            /* who says so, at the rung's sizes; "": nobody at this run's */
    int64_t lower_tokens;       /* and at which length */
    double log10_inputs;
    char verdict[16]; /* of the network that was built */
    bool right;       /* what it answered here */
    char dir[64];     /* where it is, beside the page */
} hop_walk;

/* ---- the map ------------------------------------------------------------------------------- */

#define HOP_MAP_STOPS 8 /* of a slider, at most */

/* What is known of `full` full layers with linear ones in every gap: log10 of lengths. */
typedef struct hop_map_row {
    double possible_to;     /* proved possible up to here; NaN: not known to be */
    double impossible_from; /* proved impossible from here on; infinity: at no length */
    char from[32];          /* the same length as it is written */
    char to[32];            /* and the one up to which it is possible */
    char theorem[8];        /* who says impossible */
    bool machine_checked;   /* by a certificate */
} hop_map_row;

#define HOP_MAP_HOPS 3 /* 1, 2, 3 hops */

/* A model as its config.json describes it, judged at its own widths. */
typedef struct hop_map_model {
    char name[48], plan[64];
    int64_t context; /* 0: the file gives none */
    int64_t layers, full, linear;
    double state_bits; /* of all its recurrent layers and windows */
    char verdict[HOP_MAP_HOPS][16], theorem[HOP_MAP_HOPS][8], from[HOP_MAP_HOPS][32];
    bool machine_checked[HOP_MAP_HOPS]; /* what is impossible, or is from `from` on */
    double log10_from[HOP_MAP_HOPS]; /* infinity: at no length */
} hop_map_model;

/* rows: [hops - 1][linear][dims][bits][full layers 0 .. HOP_MAP_HOPS + 1]; those above hops + 1 are unused.
 */
typedef struct hop_map {
    int64_t linear[HOP_MAP_STOPS], dims[HOP_MAP_STOPS], bits[HOP_MAP_STOPS];
    int linear_count, dim_count, bit_count;
    const hop_map_row *rows;
    int64_t row_count;
    const hop_map_model *models;
    int64_t model_count;
    int hops, linear_at, dim_at, bit_at; /* what is shown first: hops, and which stops */
} hop_map;

/* ---- tiny sizes, decided ------------------------------------------------------------------- */

typedef struct hop_stair {
    int message, after; /* bits */
    char verdict[16];   /* "impossible", "possible", "undecided" */
    char theorems[16];  /* that say impossible: "P2 P4"; "": none */
    char proof[96];     /* its DRAT file, beside the page; "": none */
} hop_stair;

/* All message bits 0 .. most_message for all state bits 0 .. most_after, in that order. */
typedef struct hop_stairs {
    int hops;
    int64_t m, fan;
    int most_message, most_after;
    const hop_stair *cells;
    int64_t cell_count;
} hop_stairs;

/* ---- what was learnt ------------------------------------------------------------------------ */

#define HOP_LEARNT_SEEDS 16

/* Which side of the line a plan is on, by its layers alone. */
typedef enum hop_learnt_side {
    HOP_LEARNT_OPEN,  /* there is none: another task than function composition */
    HOP_LEARNT_ABOVE, /* as many full layers as hops, and one more or a linear one that P1 has a use for */
    HOP_LEARNT_BELOW, /* fewer */
} hop_learnt_side;

/* A plan at one size of the task, trained from several seeds. */
typedef struct hop_learnt {
    int curve;                              /* rows of one number are the same plan, at several sizes */
    int hops, seeds;                        /* hops 0: the task has none */
    char task[24];                          /* its name; "": function composition */
    char pattern[64], mixer[24], sizes[96]; /* mixer: what L stands for; "" */
    char more[64];                          /* what else tells it from plans with the same layers; "" */
    hop_learnt_side side;
    int64_t tokens, entries; /* of a prompt; of the largest table, 0: there are no tables */
    int64_t d_model, steps;  /* steps: at most */
    double accuracy[HOP_LEARNT_SEEDS], mean, least, most; /* accuracy: of the first seeds */
    double chance, ceiling;                               /* ceiling: P3's; NaN: there is none */
    double seconds;                                       /* of all seeds together */
    bool above;                                           /* some seed is above the ceiling: a bug */
} hop_learnt;

/* The drawing (an <svg> element): a chart for every task and number of hops, a curve a plan, the table grows
 * to the right. `note`: a sentence of the caller's below it; "". HOP_ENOMEM or HOP_OK. */
hop_status hop_report_learnt_svg(hop_text *out, const hop_learnt *rows, int64_t count, const char *note);

/* ---- the page ------------------------------------------------------------------------------ */

typedef struct hop_ladder_page {
    const hop_rung *rungs;
    int64_t rung_count;
    const hop_rung_layer *layers;
    int64_t layer_count;
    const hop_rung *others; /* other networks on the same rungs, and plans that were not built */
    int64_t other_count;
    const hop_fall *falls;
    int64_t fall_count;
    const hop_walk *walk; /* NULL: no such section; so for the next two */
    const hop_map *map;
    const hop_learnt *learnt;
    int64_t learnt_count;
    const hop_stairs *stairs;
    int64_t stairs_count;
    const char *solver;    /* that decided the stairs */
    const char *no_stairs; /* why there are none; NULL: they were not asked for */
    const char *version, *isa;
    const char *command; /* what made it */
    const char *model, *idealised; /* clauses: the networks that "any weights" is about, and what is left aside
                                      where weights are said to be known */
} hop_ladder_page;

/* The drawing alone (an <svg> element), and the page. HOP_ENOMEM or HOP_OK. */
hop_status hop_report_ladder_svg(hop_text *out, const hop_ladder_page *page);
hop_status hop_report_ladder(hop_text *out, const hop_ladder_page *page);

/* ---- models side by side --------------------------------------------------------------------- */

/* One model at a common length. Numbers that may be long are texts, "" where there is none. */
typedef struct hop_model_row {
    char name[96], model_type[64], plan[128];
    int64_t layers, full, linear;
    int64_t context;               /* 0: not known */
    int64_t kv_bytes, state_bytes; /* kv: -1: not known */
    int able;                      /* hops possible at the length */
    char uncovered[80];            /* why no theorem says how many; "": one does */
    int own_able; /* hops of its own task that are possible at that task's sizes; 0: no task */
    int unable;   /* so many are impossible from unable_from on; 0: nothing is known */
    char unable_from[32], unable_by[8];
    bool machine_checked; /* by a certificate */
    double unable_log10;
    int64_t held;      /* up to this n the states are known to hold the table of a hop; 0: not known to */
    char outgrown[32]; /* the n from which no table fits all states; "": there are no states */
    double outgrown_log10;
    int64_t vocabulary;                   /* ids; 0: not known */
    bool unable_beyond, outgrown_beyond;  /* at sizes that take more ids than that */
    char refused[400]; /* not read, and why; all else is empty then */
} hop_model_row;

/* The page, with a picture: lengths on a logarithmic axis; `model`, `idealised` as in hop_ladder_page. HOP_ENOMEM
 * or HOP_OK. */
hop_status hop_report_models(hop_text *out, const hop_model_row *rows, int count, int64_t n,
                             const char *model, const char *idealised);

#ifdef __cplusplus
}
#endif
#endif
