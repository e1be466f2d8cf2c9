/* hopbound/report.h - pages for people: self-contained HTML with drawings, no script and no network needed.
 * Numbers come in as plain structs; this room computes nothing. */
#ifndef HOPBOUND_REPORT_H
#define HOPBOUND_REPORT_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One network's row of a rung. */
typedef struct hop_rung {
    int hops;
    int64_t m, tokens;
    char sizes[64];   /* "m=16, fan 8,8" */
    char kind[32];    /* "full" */
    char pattern[64]; /* "full^4" */
    int64_t layers, full_layers, d_model, head_dim, parameters;
    char verdict[16];     /* "proved"; of a plan that was not built "impossible", "from_n" or "silent" */
    char why[400];        /* when not proved; or, of a plan that was not built, what is known */
    char theorem[8];      /* of a plan that was not built: who says so */
    char speaks_from[32]; /* impossible at this width from here on; "": not known */
    double state_limit;   /* bits of a state that the theorems' rows of this rung count with; 0: none */
    int message_bits;     /* proved under messages of so many bits, too; 0: not asked */
    double state_bits;    /* of all recurrent layers together; 0: there are none */
    double log10_inputs;  /* inputs the verdict speaks of */
    int64_t enumerated;
    double score_gap, wrong_mass, clip_margin, readout_margin; /* smallest / largest over layers */
    int64_t instances, correct;                                /* run in float32 */
    int64_t cut_instances, cut_correct;                        /* run with activations cut to cut_bits */
    int cut_bits;
    double seconds;
} hop_rung;

/* A line of the report's margins table. */
typedef struct hop_rung_layer {
    int hops;
    int64_t layer, addresses;
    int player;
    double score_gap, wrong_mass, clip_margin;
} hop_rung_layer;

typedef struct hop_ladder_page {
    const hop_rung *rungs;
    int64_t rung_count;
    const hop_rung_layer *layers;
    int64_t layer_count;
    const hop_rung *others; /* other networks on the same rungs: a table, no drawing */
    int64_t other_count;
    const char *version, *isa;
    const char *command; /* what made it */
} hop_ladder_page;

/* The drawing alone (an <svg> element), and the page. HOP_ENOMEM or HOP_OK. */
hop_status hop_report_ladder_svg(hop_text *out, const hop_ladder_page *page);
hop_status hop_report_ladder(hop_text *out, const hop_ladder_page *page);

#ifdef __cplusplus
}
#endif
#endif
