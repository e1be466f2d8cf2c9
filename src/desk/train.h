/* Inside the room: what the files of the verb `train` share. */
#ifndef HOP_DESK_TRAIN_H
#define HOP_DESK_TRAIN_H

#include <hopbound/ask_train.h>
#include <hopbound/train.h>

#include "desk.h"

typedef struct train_args {
    hop_request ask;
    hop_size_args sizes;
    hop_opt_value output, resume, config;
#define MEMBER(kind, member, name, metavar, initial, least, most, help) hop_opt_value member;
    struct {
        HOP_RECIPE_LIST(MEMBER)
    } recipe;
#undef MEMBER
} train_args;

extern const hop_opt hop__train_options[], hop__recipe_options[];
/* The recipe of the options, of a file, or of the training that is resumed. HOP_EUSAGE also where there is no such network;
 * the layout, of one that there is, is the caller's. */
hop_status hop__train_recipe(hop_recipe *r, hop_layout **l, const train_args *a, hop_error *err);

#endif
