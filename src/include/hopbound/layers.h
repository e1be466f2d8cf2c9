/* hopbound/layers.h - the layers of a network as other rooms see them: the configurations of their mixers, and
 * a pass that is cut into segments.
 */
#ifndef HOPBOUND_LAYERS_H
#define HOPBOUND_LAYERS_H

#include <hopbound/mixers.h>
#include <hopbound/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- mixers of layers ------------------------------------------------------------------------ */

hop_mixer_config hop_model_mixer_config(const hop_model *m, int64_t layer);
/* Was it read from a directory that is written for another library? */
bool hop_model_is_theirs(const hop_model *m);
/* The same for a configuration without weights; `ops` is the layer's mixer. HOP_EDOMAIN, HOP_ERANGE,
 * HOP_EUNKNOWN: it cannot be built so. */
hop_status hop_config_mixer(const hop_config *c, const hop_mixer_ops *ops, int64_t layer,
                            hop_mixer_config *out, hop_error *err);

/* ---- segments of a cut sequence ------------------------------------------------------------- */

/* The segments from .. to-1 of a cut sequence: their rows are here and no others. Layer by layer, with what
 * arrives from the other segments:
 *
 *     hop_split_embed(s, tokens, &err);
 *     for (layer ..) {
 *         hop_split_enter(s, layer);
 *         // a full layer: for every later segment's queries give hop_split_reply; for every row of one's own
 *         // ask all earlier segments, in order, and hop_split_fold what they reply
 *         // any other: hop_split_step with the state that the segment before left
 *         hop_split_leave(s, segment);
 *     }
 *
 * The last layer's rows have the bits of hop_forward_hidden under the same cuts. */
typedef struct hop_split hop_split;

typedef struct hop_split_options {
    hop_cuts cuts;
    int64_t tokens;   /* of the whole sequence */
    int64_t from, to; /* segments held here */
    hop_pool *pool;
} hop_split_options;

hop_status hop_split_new(hop_split **out, const hop_model *m, const hop_split_options *o, hop_error *err);
void hop_split_free(hop_split *s);
/* The rows' tables; `tokens` are those of the whole sequence. HOP_ERANGE. */
hop_status hop_split_embed(hop_split *s, const int32_t *tokens, hop_error *err);

/* Takes the layer's weights; in a full layer queries, keys and values of the segments' rows and what they see
 * of themselves are computed. */
void hop_split_enter(hop_split *s, int64_t layer);
bool hop_split_is_full(const hop_split *s);         /* the layer at hand */
int64_t hop_split_query_floats(const hop_split *s); /* of a row in a full layer: heads * head_dim */
int64_t hop_split_reply_floats(const hop_split *s); /* heads * (value_dim + 2) */
/* Numbers that cross the cut where `segment` begins, any segment of the sequence, in a layer that is not
 * full.
 */
int64_t hop_split_state_floats(const hop_split *s, int64_t segment);
int64_t hop_split_most_state(const hop_split *s); /* floats that `state` below must have room for */
int64_t hop_split_most_reply(const hop_split *s); /* of a row, in any layer; no less than a query's */

const float *hop_split_queries(const hop_split *s, int64_t segment,
                               int64_t row); /* of a row on, not rounded */
/* The partial softmaxes of `rows` rows of another segment's queries over this one's keys, rounded to the
 * cut's bits. */
void hop_split_reply(hop_split *s, int64_t segment, float *partials, const float *queries, int64_t rows);
/* Into what the segment's rows row .. row+rows-1 have seen so far. */
void hop_split_fold(hop_split *s, int64_t segment, int64_t row, const float *partials, int64_t rows);
/* `state` as the segment before left it (zero before the first), then as this one leaves it. */
void hop_split_step(hop_split *s, int64_t segment, float *state);
/* Ends the layer for a segment. */
void hop_split_leave(hop_split *s, int64_t segment);

const float *hop_split_hidden(const hop_split *s, int64_t segment); /* [rows, d_model] */
/* Of one row: [vocab]. */
void hop_split_logits(hop_split *s, int64_t segment, int64_t row, float *logits);

#ifdef __cplusplus
}
#endif
#endif
