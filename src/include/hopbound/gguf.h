/* hopbound/gguf.h - GGUF files as the config.json they were converted from: metadata and the names of tensors, no weights
 * (room: hf). */
#ifndef HOPBOUND_GGUF_H
#define HOPBOUND_GGUF_H

#include <hopbound/hf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_GGUF_MAX_HEADER ((int64_t)256 << 20) /* bytes that are looked through */

/* A number, or a list of numbers, or the length of another list. */
typedef struct hop_gguf_value {
    char key[96];
    int64_t number;      /* whole numbers and truths; of a list its length */
    int64_t *list;       /* [number], owned; NULL: no list of whole numbers */
    bool is_list, whole; /* a number that is not whole, or a text, is there and no more */
} hop_gguf_value;

typedef struct hop_gguf {
    char architecture[64];
    hop_gguf_value *values; /* [count], owned */
    int64_t count;
    int64_t splits;           /* files of the model; 1: this one */
    int64_t parameters;       /* of the tensors in this file */
    int64_t weight_bytes;     /* the same; -1: of a type whose size is not known */
    int64_t layers;           /* one more than the highest that a tensor names */
    unsigned char *layer_has; /* [layers], owned */
} hop_gguf;

/* What the tensors of a layer show. */
enum { HOP_GGUF_ATTENDS = 1, HOP_GGUF_RECURS = 2, HOP_GGUF_OTHER = 4 };

bool hop_gguf_is(const char *path); /* a regular file that begins as one */
/* HOP_EFORMAT: it is none, or broken; HOP_EDOMAIN: absurd; HOP_EIO, HOP_ENOMEM. The line does not name the file. */
hop_status hop_gguf_open(hop_gguf *g, const char *path, hop_error *err);
hop_status hop_gguf_parse(hop_gguf *g, const void *data, size_t size, hop_error *err);
void hop_gguf_free(hop_gguf *g);

/* The configuration; HOP_EUNKNOWN: no row for the architecture, or a key that no row reads; HOP_EFORMAT: a key is missing. */
hop_status hop_gguf_config(hop_json_doc *doc, const hop_gguf *g, hop_error *err);
/* Is there a row whose files are made of such models? `windows`: their metadata has the windows' length. */
bool hop_gguf_knows(const char *model_type, bool *windows);
/* Do the tensors show the layers of the plan? HOP_EFORMAT: which do not. */
hop_status hop_gguf_check(const hop_gguf *g, const hop_hf_plan *p, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
