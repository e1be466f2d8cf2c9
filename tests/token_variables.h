/* token_variables.h - what the variables of src/prove/facts.h are in an input: the chain of look-ups, token by token. */
#ifndef HOPBOUND_TOKEN_VARIABLES_H
#define HOPBOUND_TOKEN_VARIABLES_H

#include "facts.h"

/* What a variable is for the token at `position` of a class; -1: the class has no such variable. */
static inline int64_t token_variable(const hop__facts *f, const hop__class *k, const int32_t *tokens,
                                     int64_t position, int var)
{
    const hop_funccomp *t = f->task;
    if (var == HOP__POS) return position - k->start;
    if (!t) return var == HOP__R0 ? tokens[position] : -1;
    int64_t w = tokens[t->length - 1];
    int b = k->chain ? 0 : k->player;
    int64_t x = k->chain ? tokens[t->start[0]] : tokens[position];
    if (var == HOP__W) return w;
    for (; b < var - HOP__R0; b++)
        x = tokens[t->start[b + 1] + (b == 0 ? x : hop_funccomp_digit(t, w, b) * t->size[b - 1] + x)];
    return b == var - HOP__R0 ? x : -1;
}

#endif
