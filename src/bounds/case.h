/* Texts of an answer, freed together. */
#ifndef HOP_BOUNDS_CASE_H
#define HOP_BOUNDS_CASE_H

#include "room.h"

struct hop__strings {
    void **blocks;
    size_t count;
    bool failed;
};

void hop__strings_free(hop__strings *s);

#endif
