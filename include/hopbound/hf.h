/* hopbound/hf.h - the layer plan of a real model, from its Hugging Face config.json (room: hf).
 *
 * Every family writes down in its own way which layers attend, over what, and which carry a state. This reads
 * them all into one plan: a letter and a window for each layer, the widths of attention, the size of a state.
 *
 *     hop_hf_plan plan;
 *     if (hop_hf_load(&plan, "config.json", NULL, &err) == HOP_OK) puts(plan.pattern); // "LLLFLLLF.."
 *     hop_hf_free(&plan);
 *
 * It never guesses: a family that it does not know is HOP_EUNKNOWN unless the file itself lists its layers,
 * and so is a network that looks ahead; a known key of a wrong type is HOP_EFORMAT. The text names the keys.
 * What a file leaves to its class's defaults is used, and listed as assumed.
 */
#ifndef HOPBOUND_HF_H
#define HOPBOUND_HF_H

#include <hopbound/base.h>
#include <hopbound/config.h>
#include <hopbound/json.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_HF_MAX_LAYERS 16384
#define HOP_HF_MAX_NOTES  48
#define HOP_HF_MAX_BYTES  (8 << 20)

/* The letters of a pattern. */
#define HOP_HF_LETTER_LIST(X)                              \
    X('F', "full attention")                               \
    X('L', "recurrent")                                    \
    X('S', "sliding, chunked or sparse attention")         \
    X('H', "full attention and recurrent in one layer")    \
    X('h', "sliding attention and recurrent in one layer") \
    X('G', "gated memory unit, mixes no tokens")           \
    X('C', "cross-attention to another layer's cache")     \
    X('E', "experts, no mixer")                            \
    X('-', "MLP, no mixer")

const char *hop_hf_letter_means(char letter); /* NULL: no letter of a pattern */

typedef struct hop_hf_layer {
    char letter;
    bool sparse;        /* S: picks or compresses tokens, so it is no window */
    bool chunked;       /* S: `window` is a chunk, at whose end attention begins anew */
    bool borrows_cache; /* attends to rows that another layer caches */
    int64_t window;     /* S, h: tokens seen, the current one included; 0: not a window */
    int64_t index;      /* S that picks tokens: numbers that the one who picks keeps of each; 0: none */
} hop_hf_layer;

/* Softmax attention of one layer. */
typedef struct hop_hf_attention {
    char kind[8];            /* "mha", "gqa" (also with one key head), "mla"; "": no layer attends */
    int64_t heads, kv_heads; /* kv_heads: 0 for mla */
    int64_t qk_dim, v_dim;   /* of a head */
    int64_t reply_dim;       /* numbers that one softmax may have to sum up, if more than v_dim: the latent
                                vector of MLA in absorbed form, two heads' values of differential attention */
    int64_t cache_elems;     /* numbers kept for a token; 0: differs from layer to layer */
    int64_t conv_before, conv_after; /* numbers that short convolutions in the layer keep, of keys and values,
                                        and of what comes out; 0: it has none */
} hop_hf_attention;

/* The recurrence of one layer. */
typedef struct hop_hf_linear {
    char kind[24];    /* "mamba2", "gated_deltanet", ..; "": no layer has a state */
    int64_t shape[3]; /* heads, key, value; all 0: no recurrent state */
    int64_t recurrent_elems, conv_elems;
    int64_t
        key_rows; /* delta rules and Mamba-2 behind a convolution: numbers in the keys of all heads that have
                     keys of their own, by which the state can be read as a table; 0: not known to be */
    int64_t row_numbers;  /* .. and numbers in a value */
    int64_t window;       /* a short convolution alone: the tokens it sees; else 0 */
    int64_t weight_elems; /* numbers in the matrices of such a layer; 0: not known */
    int64_t taps;         /* of its convolutions, which keep one fewer; 0: not known to be one number */
    char state_dtype[16]; /* of the recurrent state */
    char declared_by[40]; /* the key that says so; "": assumed */
} hop_hf_linear;

typedef struct hop_hf_note {
    char text[88];
} hop_hf_note;

typedef struct hop_hf_plan {
    char model_type[64];  /* "" when the file has none */
    char source[96];      /* the key or rule that the plan comes from */
    int64_t count;        /* layers that one forward pass goes through */
    int64_t loops;        /* how often it goes through the stack: `count / loops` layers have weights */
    hop_hf_layer *layers; /* [count], owned */
    char *pattern;        /* [count + 1], owned: the letters */
    bool tied;            /* layers share weights */
    bool in_sequence;     /* H: attention first, then the recurrence; else side by side */
    int64_t
        sparse_block; /* tokens in the blocks that sparse attention picks; 0: single tokens, or not known */
    hop_hf_attention attention;
    hop_hf_attention sliding; /* of the layers S and h where it differs; kind "" when it does not */
    hop_hf_linear linear;
    int64_t hidden;     /* width of the residual stream; 0: the file does not say */
    int64_t vocabulary; /* ids that a token may have; 0: the file does not say */
    int64_t window;     /* 0: none */
    int64_t index_topk; /* tokens or entries that sparse attention picks; 0: none */
    bool topk_tokens;   /* they are tokens: in a prompt of no more, such a layer attends to everything */
    int64_t parameters,
        active_parameters; /* numbers in its weights, and of these what a token passes; 0: not known */
    int64_t context;       /* longest sequence; 0: the file does not say, nor does its class */
    bool context_assumed;
    char dtype[16];      /* of the weights; "": the file does not say */
    char remark[160];    /* what the numbers do not say; "" */
    char kept_apart[96]; /* what is allocated for it is other than what its layers need, and why; "" */
    /* "key = value": read from the file, and taken from the class's defaults or from the rule. */
    hop_hf_note declared[HOP_HF_MAX_NOTES], assumed[HOP_HF_MAX_NOTES];
    int declared_count, assumed_count;
} hop_hf_plan;

/* What is known about model families, beside the rows that are built in: a text like src/hf/families.txt,
 * whose rows count before the built-in ones of the same name. It does not change: any number of threads may read it
 * at once. */
typedef struct hop_hf_families hop_hf_families;
#define HOP_HF_MAX_FAMILIES (64 << 10) /* bytes of such a file */
/* Every row is checked: HOP_EFORMAT names row and statement. HOP_EIO, HOP_ENOMEM. On failure *f is NULL. */
hop_status hop_hf_families_parse(hop_hf_families **f, const char *text, size_t size, hop_error *err);
hop_status hop_hf_families_load(hop_hf_families **f, const char *path, hop_error *err);
void hop_hf_families_free(hop_hf_families *f);

/* Reads a parsed config.json; `f` may be NULL. HOP_EUNKNOWN: not a known architecture; HOP_EFORMAT,
 * HOP_EDOMAIN: the file contradicts itself or makes no sense; HOP_ENOMEM. On failure the plan is empty. */
hop_status hop_hf_read(hop_hf_plan *p, const hop_json *root, const hop_hf_families *f, hop_error *err);
/* Parses a file, or config.json in a directory. Larger than HOP_HF_MAX_BYTES is HOP_EFORMAT: no model needs
 * that, and what is parsed takes many times its size. */
hop_status hop_hf_open(hop_json_doc *doc, const char *path, hop_error *err);
/* Both in one. */
hop_status hop_hf_load(hop_hf_plan *p, const char *path, const hop_hf_families *f, hop_error *err);
void hop_hf_free(hop_hf_plan *p);

/* The architecture of a parsed config.json as one of ours: its layers, heads, rotary embedding, norms and
 * recurrences, with its own width or `most`, if that is smaller and not 0, and recurrent heads scaled by as
 * much. `notes` receives a line for each scale, assumption and thing left out. What is not there yet:
 * vocabulary, positions, mlp_hidden. HOP_EDOMAIN: it cannot be, and why; else as hop_hf_read. On failure `c`
 * is empty. */
hop_status hop_hf_shape(hop_config *c, hop_text *notes, const hop_json *root, const hop_hf_families *f,
                        int64_t most, hop_error *err);

int64_t hop_hf_count(const hop_hf_plan *p, char letter);
/* The pattern with its repeating head in parentheses, where that is shorter: "(LLLF)x6LLF". */
void hop_hf_short(const char *pattern, hop_text *out);
/* Bytes of a number: 4 for "float32"; 0: not a type that is known. */
int hop_hf_dtype_bytes(const char *dtype);

#ifdef __cplusplus
}
#endif
#endif
