/* hopbound/json.h - reading and writing JSON (room: base).
 *
 * Why our own reader: weight files must be refused when a key occurs twice, errors must name line and
 * column, depth and size must be bounded, integers must stay exact, and real config files contain bare
 * NaN and Infinity. No library in Debian does all five.
 *
 *     hop_json_doc doc = {0};
 *     if (hop_json_parse(&doc, text, size, &err) == HOP_OK) {
 *         const hop_json *v = hop_json_get(doc.root, "vocab_size");
 *     }
 *     hop_json_free(&doc);
 */
#ifndef HOPBOUND_JSON_H
#define HOPBOUND_JSON_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hop_json_type {
    HOP_JSON_NULL,
    HOP_JSON_BOOL,
    HOP_JSON_INT,
    HOP_JSON_REAL,
    HOP_JSON_STRING,
    HOP_JSON_ARRAY,
    HOP_JSON_OBJECT
} hop_json_type;

/* A value; children of arrays and objects are a linked list in file order. Strings are UTF-8, unescaped,
 * NUL-terminated, and `len` long (an escaped \u0000 is refused). Numbers that are integers and fit are INT;
 * others REAL. Everything belongs to the document. */
typedef struct hop_json {
    hop_json_type type;
    const char *key; /* in an object, else NULL */
    const struct hop_json *next, *child;
    size_t count; /* children, or bytes of the string */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string;
    };
} hop_json;

typedef struct hop_json_doc {
    const hop_json *root;
    void *memory; /* private */
} hop_json_doc;

#define HOP_JSON_MAX_DEPTH 128

/* Parses one value that fills the text (white space around it is fine). Refuses with HOP_EFORMAT and
 * "line L, column C: why": syntax errors, duplicate keys, nesting deeper than HOP_JSON_MAX_DEPTH, bad UTF-8.
 * On failure the document is empty. */
hop_status hop_json_parse(hop_json_doc *doc, const char *text, size_t size, hop_error *err);
/* A regular file of at most HOP_JSON_MOST bytes (hop_file_load); and the same of one that may be a pipe. */
#define HOP_JSON_MOST ((size_t)1 << 28)
hop_status hop_json_load(hop_json_doc *doc, const char *path, hop_error *err);
hop_status hop_json_read(hop_json_doc *doc, const char *path, hop_error *err);
void hop_json_free(hop_json_doc *doc);

/* The member called `key` of an object; NULL when it is absent, null, or `object` is no object. */
const hop_json *hop_json_get(const hop_json *object, const char *key);
const hop_json *hop_json_at(const hop_json *array, size_t index);

/* Typed reading for configs: absent or null leaves *out as it is (the default). A wrong type or a number
 * outside [lo, hi] is HOP_EFORMAT and names the key. An integer written as 4.0 is an integer. */
hop_status hop_json_read_int(const hop_json *object, const char *key, int64_t lo, int64_t hi, int64_t *out,
                             hop_error *err);
hop_status hop_json_read_real(const hop_json *object, const char *key, double *out, hop_error *err);
hop_status hop_json_read_bool(const hop_json *object, const char *key, bool *out, hop_error *err);
hop_status hop_json_read_string(const hop_json *object, const char *key, const char **out, hop_error *err);
/* The value itself as an integer in [lo, hi]; false if it is not one. */
bool hop_json_int(const hop_json *v, int64_t lo, int64_t hi, int64_t *out);

/* ---- writing ------------------------------------------------------------------------------- */

/* Builds a text; commas, quoting and indentation are its business. `pretty` puts members on lines. */
typedef struct hop_json_writer {
    hop_text text;
    bool pretty;
    int depth;
    bool comma, after_key;
} hop_json_writer;

void hop_json_begin_object(hop_json_writer *w);
void hop_json_end_object(hop_json_writer *w);
void hop_json_begin_array(hop_json_writer *w);
void hop_json_end_array(hop_json_writer *w);
void hop_json_key(hop_json_writer *w, const char *key);
void hop_json_put_string(hop_json_writer *w, const char *s);
void hop_json_put_int(hop_json_writer *w, int64_t v);
/* The shortest text that reads back; NaN and Inf become null. */
void hop_json_put_real(hop_json_writer *w, double v);
void hop_json_put_bool(hop_json_writer *w, bool v);
void hop_json_put_null(hop_json_writer *w);
void hop_json_put_value(hop_json_writer *w, const hop_json *v); /* copies a parsed value */

/* Key and value in one call. */
void hop_json_string(hop_json_writer *w, const char *key, const char *s); /* NULL: null */
void hop_json_integer(hop_json_writer *w, const char *key, int64_t v);
void hop_json_known(hop_json_writer *w, const char *key, int64_t v, bool known); /* null when it is not */
void hop_json_integers(hop_json_writer *w, const char *key, const int64_t *list, int64_t count);
void hop_json_number(hop_json_writer *w, const char *key, double v);
void hop_json_null(hop_json_writer *w, const char *key);
void hop_json_boolean(hop_json_writer *w, const char *key, bool v);

#ifdef __cplusplus
}
#endif
#endif
