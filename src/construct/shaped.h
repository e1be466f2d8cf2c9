/* A network in a given architecture: which layers look something up, and the weights of a look-up there.
 *
 * The stream has a field more than fields.h tells: `one`, a constant. Where there are norms it is so large
 * that a row's length is known to a part in 10^6 whatever else the row holds, and a norm is a product with a
 * known number. Every hop has a register of its own, so that nothing is ever overwritten and no MLP has to
 * clean up: errors are not carried on, because values come from the token table alone. */
#ifndef HOP_CONSTRUCT_SHAPED_H
#define HOP_CONSTRUCT_SHAPED_H

#include "fields.h"

#define HOP__LARGE_ONE 32768.0 /* beside the stream's other numbers, some hundred of size 1 */

typedef struct hop__stream {
    hop__fields f;         /* f.reg: where the answer goes */
    int one;               /* the constant */
    int reg[HOP_MAX_HOPS]; /* i_0, .., i_{L-1} */
    double constant;       /* what stands in `one` */
    double root;           /* what a norm divides rows by */
    float gain;            /* of the answer: a tied table's own code stands there already */
} hop__stream;

/* Fields for these sizes: the answer gets a register of its own, or is written over the code that the token
 * table has put there, where tables are tied or `width` has no room for more; 0: any. */
void hop__stream_init(hop__stream *s, const hop_funccomp *task, bool tied, int64_t width);
int hop__stream_bits(const hop__stream *s, int e); /* of what look-up e brings */

/* What a layer does: look-up e, of entries first .. first + count - 1 of the table. e < 0: nothing. */
typedef struct hop__assignment {
    int e;
    int64_t first, count;
} hop__assignment;
/* What every layer does: assignment [layers]. Full layers where they are enough; else every look-up is done as
 * early as can be, by the next full layer or by states that hold its table. HOP_EDOMAIN: there are too few.
 */
hop_status hop__assign_layers(const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                              hop__assignment *assignment, hop_error *err);
/* short.c: adds to `t` what the layers lack for look-up e, the first that `assignment` leaves undone. */
void hop__stream_short(hop_text *t, const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                       const hop__assignment *assignment, int e);
/* Look-up e in full-attention layer `layer`. HOP_EDOMAIN: its heads have no room for it. */
hop_status hop__stream_room(const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                            int64_t layer, int e, hop_error *err);
hop_status hop__stream_look_up(hop_model *m, const hop__stream *s, const hop_funccomp *task, int64_t layer,
                               int e, hop_error *err);

/* wiring.c: the linear layer `layer` brings i_0 to the last token. Some mixers do so with all that they have
 * in the models that use them, convolutions, gates and norms; the others get the plainest sizes of their own.
 */
bool hop__linear_can_dress(const char *mixer);
hop_status hop__linear_ready(hop_config *c, const hop__fields *f, int64_t layer, hop_error *err);
/* Is there room for a code of so many bits? HOP_EDOMAIN: no. */
hop_status hop__linear_room(const hop_config *c, int bits, int64_t layer, hop_error *err);
bool hop__linear_carries(const hop_config *c, int bits, int64_t layer);
/* Do bits arrive as ±1, or only with the right sign? */
bool hop__linear_is_exact(const hop_config *c, int64_t layer);
/* one: the column of the constant, -1: there is none, nor any gate. */
void hop__fill_linear(hop_model *m, const hop__fields *f, int64_t layer, int one, int64_t tokens);

/* table.c: entries of z_e, e >= 1, that the state of linear layer `layer` can hold; 0: none. */
int64_t hop__table_entries(const hop_config *c, const hop__stream *s, int64_t layer, int e);
void hop__fill_table(hop_model *m, const hop__stream *s, int64_t layer, hop__assignment assignment);

/* clipped.c: the network with one register, in the architecture that *c is, sizes chosen where none are given.
 * HOP_EDOMAIN: it does not fit; *c may have changed. */
hop_status hop__construct_clipped(hop_model **out, const hop_task *task, hop_config *c, hop_error *err);

/* shaped.c: the network for `task` in the architecture `shape`. */
hop_status hop__construct_shaped(hop_model **out, const hop_task *task, const hop_config *shape,
                                 const char *construction, hop_error *err);

#endif
