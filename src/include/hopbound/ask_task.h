/* hopbound/ask_task.h - what `task` answers (room: desk). */
#ifndef HOPBOUND_ASK_TASK_H
#define HOPBOUND_ASK_TASK_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Instances are written one by one (hop_instance_write), with the sizes that their task has. */
#define HOP_TASK_INSTANCE(X, R)                                                                   \
    X(R, tokens, counts, "", "", "the prompt")                                                    \
    X(R, answer, count, "", "", "funccomp: the right one at the last token")                      \
    X(R, targets, counts, "", "",                                                                 \
      "the other tasks: the right answer at each token, null where none is asked")                \
    X(R, chain, counts, "", "", "funccomp: i_0 .. i_L")                                           \
    X(R, name, text, "", "", "of the task, but for funccomp; a line of a file stands for itself") \
    X(R, hops, count, "hops", "", "a size of funccomp, khop")                                     \
    X(R, m, count, "", "", "a size of funccomp")                                                  \
    X(R, fan, counts, "", "", "a size of funccomp")                                               \
    X(R, n, count, "tokens", "", "a size of two-sum, khop")                                       \
    X(R, mod, count, "", "", "a size of two-sum")                                                 \
    X(R, alphabet, count, "", "", "a size of khop")                                               \
    X(R, pairs, count, "", "", "a size of recall")                                                \
    X(R, queries, count, "", "", "a size of recall")                                              \
    X(R, keys, count, "", "", "a size of recall")                                                 \
    X(R, values, count, "", "", "a size of recall")
HOP_RECORD(hop_task_instance, HOP_TASK_INSTANCE)

#define HOP_TASK_ANSWER(X, R)                                         \
    X(R, task, json, "", "", "its name and sizes, as in config.json") \
    X(R, seed, count, "", "", "as asked for")                         \
    X(R, count, count, "", "", "as asked for")                        \
    X(R, instances, many(hop_task_instance), "", "",                  \
      "instance k depends on the seed and k alone; they are written as they are made")
HOP_RECORD(hop_task_answer, HOP_TASK_ANSWER)

#define HOP_TASK_WRITTEN(X, R)                                        \
    X(R, task, json, "", "", "its name and sizes, as in config.json") \
    X(R, count, count, "", "", "instances in the file")               \
    X(R, format, text, "", "", "text, json or jsonl")                 \
    X(R, file, text, "", "", "that was written")                      \
    X(R, sizes, text, "", "", "the task's sizes in words")
HOP_RECORD(hop_task_written, HOP_TASK_WRITTEN)

#define HOP_TASK_HARNESS_ROW(X, R)                                                           \
    X(R, task, text, "", "task", "its name in the harness")                                  \
    X(R, order, text, "", "order", "hard: the last table first; easy: as the hops ask them") \
    X(R, hops, count, "hops", "hops", "look-ups in a row")                                   \
    X(R, n, count, "tokens", "tokens", "of a prompt, where a number is one token")           \
    X(R, instances, count, "", "instances", "in its file")                                   \
    X(R, chance, real, "", "chance", "accuracy of guessing: one value of those that there are")
HOP_RECORD(hop_task_harness_row, HOP_TASK_HARNESS_ROW)

#define HOP_TASK_HARNESS(X, R)                      \
    X(R, dir, text, "", "", "that was written")     \
    X(R, tasks, many(hop_task_harness_row), "", "", \
      "two a size; the directory's README.md has what P3 leaves to recurrent layers alone")
HOP_RECORD(hop_task_harness, HOP_TASK_HARNESS)

#define HOP_TASK_CHECKED(X, R)                                         \
    X(R, file, text, "", "", "that was read; -: standard input")       \
    X(R, checked, count, "", "", "instances in it")                    \
    X(R, right, count, "", "", "those whose answers are the solver's") \
    X(R, wrong, count, "", "", "the others")                           \
    X(R, first_wrong, count, "", "", "the line of the first; null: none")
HOP_RECORD(hop_task_checked, HOP_TASK_CHECKED)

#ifdef __cplusplus
}
#endif
#endif
