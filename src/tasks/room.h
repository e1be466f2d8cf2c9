/* What the tasks share inside this room: one const table each. */
#ifndef HOPBOUND_TASKS_ROOM_H
#define HOPBOUND_TASKS_ROOM_H

#include <hopbound/tasks.h>

#define HOP__MAX_LENGTH ((int64_t)1 << 31) /* of a prompt; also of an alphabet, since tokens are int32 */
#define HOP__MAX_INPUTS ((int64_t)1 << 62) /* more are not counted exactly */

/* Functions get tasks that are ready, but for `ready` itself and `write`; tokens are in range. */
typedef struct hop__task_ops {
    const hop_task_size *sizes;                       /* NULL: the task reads and writes itself */
    hop_status (*ready)(hop_task *t, hop_error *err); /* sizes are in range; sets length and vocab */
    int64_t (*tokens)(
        const hop_task *t); /* any of so many tokens may stand anywhere; then the next two, and the two
                                             that count inputs, are NULL */
    int64_t (*values)(const hop_task *t, int64_t position);
    void (*sample)(const hop_task *t, hop_rng *rng, int32_t *tokens);
    int64_t (*solve)(const hop_task *t, const int32_t *tokens, int32_t *targets);
    hop_status (*check)(const hop_task *t, const int32_t *tokens, hop_error *err); /* NULL: ranges are all */
    double (*log10_inputs)(const hop_task *t);
    int64_t (*inputs)(const hop_task *t);
    bool everywhere; /* answers are wanted at many tokens, not only at the last */
} hop__task_ops;

extern const hop__task_ops hop__twosum_ops, hop__recall_ops, hop__khop_ops;

/* "name", "hops", "m", "fan" into an open object. */
void hop__funccomp_write_members(const hop_funccomp *t, hop_json_writer *w);

/* *product *= base^exponent; false, with *product -1, when that is more than HOP__MAX_INPUTS. base >= 1. */
bool hop__count_power(int64_t *product, int64_t base, int64_t exponent);

#endif
