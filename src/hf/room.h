/* Inside the room: reading keys of a foreign config.json with what was read and what was assumed noted down,
 * and the families' rules.
 *
 * A reader is sticky: the first failure stays in `status` and every later call returns its fallback, so that
 * rules read like the formulas they are and the status is looked at once. */
#ifndef HOP_HF_ROOM_H
#define HOP_HF_ROOM_H

#include <hopbound/hf.h>

#define HOP__HF_MAX_SIZE ((int64_t)1 << 20) /* of one dimension: products of three fit 64 bits */

typedef struct hop__hf {
    const hop_json *root; /* the file */
    const hop_json *text; /* the language model's part of it */
    hop_hf_plan *plan;
    const struct hop__hf_family *family;
    hop_error *err;
    hop_status status;
} hop__hf;

/* A family: how its plan, attention and state follow from the keys. Defaults are those of the family's
 * configuration class; 0: it has none that is sensible. */
typedef struct hop__hf_family {
    const char *names;             /* model_types, blank between and around */
    void (*plan)(hop__hf *r);      /* when no list says the plan */
    void (*linear)(hop__hf *r);    /* sizes of the state; NULL: found by the keys */
    void (*attention)(hop__hf *r); /* NULL: the usual keys */
    struct { /* kv_heads 0: heads; head_dim 0: their share of the width; -1, MUST: the file has to say */
        int64_t layers, hidden, heads, kv_heads, head_dim, window;
    } assume;
    /* periodic: of `length` layers (or as many as one of `keys` says) the last, or the first, has the second
     * of two letters. indexed: the layers that `keys` lists have it; without a list all or, if `first`, none
     * have. windows_above, windows_below: `length` is max_window_layers. */
    struct {
        const char *keys;
        int64_t length;
        const char *letters;
        bool first;
    } period;
} hop__hf_family;

/* The part of a file that holds the language model's keys. */
const hop_json *hop__hf_language_model(const hop_json *root);
const hop__hf_family *hop__hf_family_find(const char *model_type); /* NULL: not known */

/* ---- refusals (refuse.c) ---------------------------------------------------------------- */

bool hop__hf_named(const char *names, const char *name); /* one of names with blanks between and around */
bool hop__hf_ends_with(const char *s, const char *end);
void hop__hf_refuse(hop__hf *r);       /* by what the file says of itself */
void hop__hf_refuse_types(hop__hf *r); /* known keys with values of another type */
/* A key that says that a layer does something else than attend to everything; NULL: none. */
const char *hop__hf_telltale(const hop__hf *r);
void hop__hf_unknown_rule(hop__hf *r, const char *key); /* fails: the file has a key that nobody can read */
/* Keys of attention of an unknown kind, once every rule has read its own. */
void hop__hf_refuse_unread(hop__hf *r);

/* ---- keys (keys.c) ---------------------------------------------------------------------- */

/* `keys`: alternatives with '|' between, the first that is present and not null counts; a '.' descends, into
 * a list by a number. */
const hop_json *hop__hf_find(const hop__hf *r, const char *keys);
bool hop__hf_has(const hop__hf *r, const char *keys);
bool hop__hf_is_null(const hop__hf *r, const char *key); /* there, and null: not left to the class */
/* An integer in [1, HOP__HF_MAX_SIZE]; `assumed` > 0 when absent, 0: then it is an error that names the key,
 * -1: then it is 0 and nothing is noted. */
int64_t hop__hf_size(hop__hf *r, const char *keys, int64_t assumed);
/* The same with its own range, no default: `absent` is returned and nothing is noted. */
int64_t hop__hf_range(hop__hf *r, const char *keys, int64_t lo, int64_t hi, int64_t absent);
double hop__hf_real(hop__hf *r, const char *keys, double assumed); /* in (0, HOP__HF_MAX_SIZE] */
double hop__hf_real_to(hop__hf *r, const char *keys, double most, double assumed); /* in (0, most] */
bool hop__hf_flag(hop__hf *r, const char *keys, bool absent);
const char *hop__hf_string(hop__hf *r, const char *keys); /* NULL when absent */
/* The array, with at least one member; NULL when absent or empty. */
const hop_json *hop__hf_list(hop__hf *r, const char *keys);
/* Marks the members of a list of layer numbers, counted from `base`. */
void hop__hf_indices(hop__hf *r, const hop_json *list, int64_t base, bool *marked);
void hop__hf_assume(hop__hf *r, const char *fmt, ...) HOP_PRINTF(2, 3);
void hop__hf_fail(hop__hf *r, hop_status s, const char *fmt, ...) HOP_PRINTF(3, 4);
void hop__hf_source(hop__hf *r, const char *source);

/* ---- plans (lists.c, plans.c, hybrids.c) --------------------------------------------------- */

/* Plans written out in the file; false: there is none. */
bool hop__hf_plan_from_lists(hop__hf *r);
void hop__hf_letter(hop__hf *r, int64_t layer, char letter);
bool hop__hf_any(const hop_hf_plan *p, const char *letters); /* a layer has one of them */
void hop__hf_all(hop__hf *r, char letter, const char *source);
/* fla's attn: the path of its k-th member, or false; a size of that member, 0 when absent. */
bool hop__hf_spec(hop__hf *r, int k, char path[16]);
int64_t hop__hf_spec_size(hop__hf *r, const char *path, const char *name);

/* The families' own rules; each ends with a source. */
/* clang-format off */
#define HOP__HF_PLAN_LIST(X)                                                                                  \
    X(full) X(needs_list) X(periodic) X(indexed) X(window) X(windows_above) X(windows_above_always)           \
    X(windows_below) X(windows_if_used) X(cohere2_moe) X(exaone4) X(llama4) X(smollm3) X(phi3small)           \
    X(gpt_neo) X(top_k) X(deepseek_v4) X(linear) X(parallel) X(olmo_hybrid) X(kimi) X(bailing)                \
    X(bailing_moe) X(jamba) X(zamba) X(zamba2) X(recurrent_gemma) X(hymba) X(phi4flash) X(fla) X(samba)       \
    X(mamba_ssm)
/* clang-format on */
#define DECLARE(name) void hop__hf_plan_##name(hop__hf *r);
HOP__HF_PLAN_LIST(DECLARE)
#undef DECLARE

/* ---- sizes (attention.c, states.c, fla.c) -------------------------------------------------- */

int64_t hop__hf_hidden(hop__hf *r);
int64_t hop__hf_hidden_if_known(hop__hf *r); /* else 0, and no failure */
int64_t hop__hf_heads(hop__hf *r);
/* heads x key x value numbers, and `conv` behind short convolutions. */
void hop__hf_state(hop__hf *r, const char *kind, const int64_t shape[3], int64_t conv);
/* .. which can be read as a table by so many keys in each of these heads, if they are convolved; values:
 * numbers of a row. */
void hop__hf_table(hop__hf *r, int64_t heads, int64_t keys, int64_t values);
/* What a softmax sums up where that is more than a head's values, once those are known. */
void hop__hf_widen_replies(hop__hf *r);
/* a*b of sizes; a failure when absurd. */
int64_t hop__hf_mul(hop__hf *r, int64_t a, int64_t b);

/* latent: with DeepSeek's defaults; latent_given: the file has to say all; usual: mha, gqa or latent_given.
 */
/* clang-format off */
#define HOP__HF_ATTENTION_LIST(X)                                                                             \
    X(usual) X(latent) X(latent_given) X(minicpm3) X(doubled) X(falcon) X(mpt) X(chatglm) X(mimo)  \
    X(gemma4) X(deepseek_v4) X(inkling) X(fla) X(mamba_ssm)
#define HOP__HF_LINEAR_LIST(X)                                                                                \
    X(by_keys) X(gdn) X(olmo_hybrid) X(kda) X(bailing) X(lightning) X(mamba) X(jamba) X(mamba2) X(mamba_ssm)  \
    X(rg_lru) X(conv) X(xlstm) X(rwkv4) X(rwkv) X(rwkv7) X(expanded) X(fla_gdn) X(hgrn) X(hgrn2) X(gsa)
/* clang-format on */
#define DECLARE(name) void hop__hf_attention_##name(hop__hf *r);
HOP__HF_ATTENTION_LIST(DECLARE)
#undef DECLARE
#define DECLARE(name) void hop__hf_linear_##name(hop__hf *r);
HOP__HF_LINEAR_LIST(DECLARE)
#undef DECLARE

#endif
