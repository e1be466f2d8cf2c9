/* import.h - other people's networks (room: model). */
#ifndef HOP_MODEL_IMPORT_H
#define HOP_MODEL_IMPORT_H

#include "network.h"

/* The network of a directory whose config.json, `config`, is not ours. HOP_EUNKNOWN, HOP_EDOMAIN, HOP_EFORMAT,
 * HOP_ESHAPE name the key or the tensor. On failure *out is as it was. */
hop_status hop__model_import(hop_model **out, const char *dir, const hop_json *config, hop_error *err);

#endif
