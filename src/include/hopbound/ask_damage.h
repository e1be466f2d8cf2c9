/* hopbound/ask_damage.h - what `damage` answers (room: desk). */
#ifndef HOPBOUND_ASK_DAMAGE_H
#define HOPBOUND_ASK_DAMAGE_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_DAMAGE_CHANGE(X, R)                      \
    X(R, tensor, text, "", "tensor", "its name")     \
    X(R, index, count, "", "index", "of the weight") \
    X(R, from, real, "", "from", "what it was")      \
    X(R, to, real, "", "to", "what it is")
#define HOP_DAMAGE_ANSWER(X, R)                                         \
    X(R, changed, many(hop_damage_change), "", "", "weights, in order") \
    X(R, dir, text, "", "", "where the damaged network is")
HOP_RECORD(hop_damage_change, HOP_DAMAGE_CHANGE)
HOP_RECORD(hop_damage_answer, HOP_DAMAGE_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
