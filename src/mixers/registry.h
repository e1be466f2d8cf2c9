/* Every mixer, once. A new one: its file, its line here, its line in meson.build. */
#ifndef HOP_MIXERS_REGISTRY_H
#define HOP_MIXERS_REGISTRY_H

#include <hopbound/mixers.h>

/* clang-format off */
#define HOP_MIXER_LIST(X)                                                    \
    X(full) X(window) X(sparse)                                              \
    X(deltanet) X(gdn) X(kda) X(deltaproduct) X(rwkv7) X(mamba) X(rglru)     \
    X(linear) X(retnet) X(lightning) X(gla) X(hgrn2) X(mamba2) X(rwkv6) X(mlstm) X(based)
/* What only other people's blocks have, and stands in a pattern like a mixer: no construction knows how to use it. */
#define HOP_OTHER_LIST(X) X(mlp) X(moe) X(shortconv)
/* clang-format on */

#define HOP_MIXER_DECLARE(name) extern const hop_mixer_ops hop__mixer_##name;
HOP_MIXER_LIST(HOP_MIXER_DECLARE)
HOP_OTHER_LIST(HOP_MIXER_DECLARE)
#undef HOP_MIXER_DECLARE

#endif
