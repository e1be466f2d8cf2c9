/* Inputs made from others, without a fuzzer at hand: the same number gives the same input everywhere. */
#ifndef HOPBOUND_FUZZ_MUTATE_H
#define HOPBOUND_FUZZ_MUTATE_H

#include <hopbound/base.h>

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

/* The mutant of that number, of one to some changes of an input of the corpus; the caller's to free. Its data is
 * NULL when there is no memory. */
input mutant_of(const input *corpus, int count, uint64_t number);

#endif
