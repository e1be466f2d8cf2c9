/* hopbound/hf_network.h - other people's networks as ours (room: hf): the configuration, exactly, and which of their
 * tensors is which of ours. It says so in data, so that whoever reads their files and whoever writes them go by one
 * table (networks.txt).
 *
 *     hop_hf_network n;
 *     if (hop_hf_network_read(&n, config_json, &err) == HOP_OK) load(&n);   // model/import.c
 *     hop_hf_network_free(&n);
 */
#ifndef HOPBOUND_HF_NETWORK_H
#define HOPBOUND_HF_NETWORK_H

#include <hopbound/hf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_HF_MAX_RENAMES 8

/* Rows of one of their tensors, each number of which becomes (w + plus) · times. Their rows have as many numbers as
 * ours: a tensor of more dimensions is read as one of two. */
typedef struct hop_hf_piece {
    char theirs[128];
    int64_t every, at, take; /* of every `every` rows the `take` from `at` on; every 0: all rows */
    double plus, times;
    double most; /* theirs are no larger: beyond it we would compute something else; INFINITY: they may be */
} hop_hf_piece;

/* Tensors that files may have in the place of one: its parts, one below the other. */
typedef struct hop_hf_join {
    char theirs[128];
    int64_t first, count; /* parts */
} hop_hf_join;

/* One tensor of ours: pieces one below the other; without pieces, numbers that follow from the configuration. Where
 * `beside` > 1, the rows are cut into so many parts, which stand beside each other. */
typedef struct hop_hf_tensor {
    char ours[96];
    int64_t first, count; /* pieces */
    int64_t beside;
    const float *given; /* [given_count]; NULL: all are `fill` */
    int64_t given_count;
    float fill;
} hop_hf_tensor;

typedef struct hop_hf_rename {
    char from[48], to[48]; /* how names begin; with a '.' before, what is in them */
} hop_hf_rename;

/* Owns all that it points to. */
typedef struct hop_hf_network {
    hop_config config;
    hop_hf_tensor *tensors;
    hop_hf_piece *pieces;
    hop_hf_join *joins;
    char (*parts)[128]; /* of joins */
    int64_t tensor_count, piece_count, join_count, part_count;
    hop_hf_rename rename[HOP_HF_MAX_RENAMES];
    int rename_count;
    hop_text ignored; /* a line each: a pattern of names ('*': any letters), a blank, why */
} hop_hf_network;

/* Reads a parsed config.json. HOP_EDOMAIN: no network of ours is that one, and why; HOP_EUNKNOWN: a key that is not
 * understood, by its name; else as hop_hf_read. On failure `n` is empty. */
hop_status hop_hf_network_read(hop_hf_network *n, const hop_json *root, hop_error *err);
void hop_hf_network_free(hop_hf_network *n);
/* The name of one of their tensors as the table has it. */
void hop_hf_network_name(const hop_hf_network *n, char out[128], const char *theirs);
/* Why a tensor of that name is left alone; NULL: it is not. `why` [size]. */
const char *hop_hf_network_ignores(const hop_hf_network *n, const char *theirs, char *why, size_t size);
/* Whether a model_type has a row. */
bool hop_hf_network_known(const char *model_type);

/* Sizes of a network in a model's architecture; 0: as the model has it. */
typedef struct hop_hf_sizes {
    int64_t vocab, width, hidden;
    int64_t head_dim;                          /* for a file that leaves it to its class */
    const char *task_json, *construction_json; /* what it is for and how it was made; NULL: nothing is said */
} hop_hf_sizes;

/* The model's config.json with these sizes, in float32, without tokens of its own; what is ours stands under the key
 * "hopbound", which its class does not look at. The language model's part alone. */
hop_status hop_hf_resize(hop_text *out, const hop_json *root, const hop_hf_sizes *z, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
