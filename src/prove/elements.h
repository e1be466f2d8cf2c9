/* Programs of operations on rows, read with intervals: all that float32 can make of a line. */
#ifndef HOP_PROVE_ELEMENTS_H
#define HOP_PROVE_ELEMENTS_H

#include "set.h"

#include <hopbound/arith.h>
#include <hopbound/ops.h>

typedef struct hop__elements {
    hop_arith p;
    int64_t size[HOP_AXES];             /* of K and V */
    const ival *value[HOP_ARITH_LINES]; /* inputs' are given, the others' lie in room */
    ival *room;
} hop__elements;

/* False: m says why. */
bool hop__elements_open(hop__memory *m, hop__elements *e, const hop_program *program, int64_t keys,
                        int64_t values);
/* The numbers of an input, which stay the caller's; a name that the program does not know is passed over. */
void hop__elements_give(hop__elements *e, const char *name, const ival *x);
/* All lines; returns the result's numbers. What may leave float32's range is [-infinity, infinity]. */
const ival *hop__elements_run(hop__elements *e);

/* local.c: f(x) of a primitive that is a function of one number, as float32 has it. */
ival hop__function_bounds(hop_prim f, ival x);

#endif
