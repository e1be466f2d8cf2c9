/* Inside the room: what the files of the verb `task` share. */
#ifndef HOP_DESK_TASK_H
#define HOP_DESK_TASK_H

#include <hopbound/ask_task.h>
#include <hopbound/eval.h>

#include "desk.h"

/* Instance `number` as people read it. */
void hop__task_say(hop_text *out, const hop_task *t, const hop_instance *i, int64_t number);
/* The answers in a file, an instance a line; `sizes` of those that do not say theirs. */
hop_status hop__task_check(hop_response *out, const hop_request *q, const char *path, const hop_task *sizes,
                           hop_error *err);

/* The prompt in words, in hard order or in easy one. */
void hop__task_prompt(hop_text *out, const hop_funccomp *t, const int32_t *tokens, bool easy);
/* A directory for lm-evaluation-harness, `count` instances a size; `only` NULL: a grid of sizes. */
hop_status hop__task_harness(hop_response *out, const hop_request *q, const char *dir, const hop_task *only,
                             int64_t count, hop_error *err);

#endif
