/* What cmd_train.c and the words for it (train_report.c) share. */
#ifndef HOPBOUND_CLI_TRAIN_H
#define HOPBOUND_CLI_TRAIN_H

#include "cli.h"

typedef struct trained {
    const common_args *common;
    const hop_recipe *recipe;
    const char *dir;
    int64_t parameters;
    double ceiling; /* P3's; NaN where it says nothing */
    hop_measure last;
    bool silent; /* nothing on stderr */
    bool said;   /* what is trained */
} trained;

/* A line on stderr for every evaluation, unless --quiet or --json. */
void train_say_measure(void *trained, const hop_measure *m);
int train_report(const trained *t); /* the result; the exit code */

#endif
