/* hopbound/config.h - what a network is, before it has weights: the layer pattern and the sizes.
 *
 *     hop_pattern p = {0};
 *     hop_pattern_parse(&p, "(L^3 F)^12", "gdn", &err);    // 48 layers in 24 runs
 *     hop_pattern_print(&p, &text);                        // "(gdn^3 full)^12"
 *     hop_pattern_free(&p);
 */
#ifndef HOPBOUND_CONFIG_H
#define HOPBOUND_CONFIG_H

#include <hopbound/base.h>
#include <hopbound/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layer patterns ------------------------------------------------------------------------ */

#define HOP_MIXER_NAME_SIZE 24
#define HOP_MAX_LAYERS      ((int64_t)1 << 32) /* in a pattern; more is refused */
#define HOP_MAX_RUNS        ((int64_t)1 << 20)

/* `count` equal layers in a row. */
typedef struct hop_run {
    char mixer[HOP_MIXER_NAME_SIZE];
    int64_t count;
} hop_run;

/* A pattern: its runs in order, neighbours different. `layers` is the sum of the counts. */
typedef struct hop_pattern {
    hop_run *runs;
    int64_t run_count, layers;
} hop_pattern;

/* Layers in order: `F` full, `W` window, `S` sparse, `L` the mixer called `linear`, or a mixer's name in
 * lower case; ^k repeats the item before it, parentheses group, blanks separate. Single letters need no blank
 * between them: "LLLF". Refuses with HOP_EFORMAT (naming the column): syntax errors, no layer, a power of 0,
 * more than HOP_MAX_LAYERS layers. Names are not checked here but by whoever owns the registry.
 * On failure `p` is empty. */
hop_status hop_pattern_parse(hop_pattern *p, const char *text, const char *linear, hop_error *err);
/* The shortest form of ours: names, powers, and a group when the whole repeats. Parses back to the same. */
void hop_pattern_print(const hop_pattern *p, hop_text *out);
const char *hop_pattern_mixer(const hop_pattern *p, int64_t layer); /* 0-based */
void hop_pattern_free(hop_pattern *p);

/* ---- the network's configuration ----------------------------------------------------------- */

#define HOP_NORM_LIST(X) X(NONE, "none") X(RMS, "rms") X(LAYER, "layer")
#define HOP_MLP_LIST(X)  X(NONE, "none") X(RELU, "relu") X(GELU, "gelu") X(SWIGLU, "swiglu")

typedef enum hop_norm {
#define HOP_NORM_ENUM(name, text) HOP_NORM_##name,
    HOP_NORM_LIST(HOP_NORM_ENUM)
#undef HOP_NORM_ENUM
} hop_norm;

typedef enum hop_mlp {
#define HOP_MLP_ENUM(name, text) HOP_MLP_##name,
    HOP_MLP_LIST(HOP_MLP_ENUM)
#undef HOP_MLP_ENUM
} hop_mlp;

/* An option for one layer (layer >= 0) or for all layers of a mixer (layer -1). "heads", "kv_heads",
 * "head_dim", "scale", "rope_theta", or one of the mixer's own (mixers.h); which exist is for the registry's
 * owner to check. */
typedef struct hop_setting {
    int64_t layer;
    char mixer[HOP_MIXER_NAME_SIZE];
    char name[HOP_MIXER_NAME_SIZE];
    double value;
} hop_setting;

/* Multipliers go into the weights that they stand before. Their class forms m(Wx), or W(mx), in float32: the weight was
 * rounded, and so are m, mx, Wx and m(Wx); no more than these units, as long as multipliers are within this and its inverse. */
#define HOP_FOREIGN_UNITS    8
#define HOP_FOREIGN_MULTIPLE 0x1p20

/* A block is x += mixer(norm(x)); x += mlp(norm(x)). Heads and their widths are the same in all layers unless
 * a setting says otherwise. */
typedef struct hop_config {
    hop_pattern pattern;
    int64_t vocab, d_model;
    int64_t max_positions; /* the longest sequence; also the rows of the position table when there is one */
    bool position_table;
    int64_t heads, kv_heads, head_dim;
    double rope_theta;      /* 0: no RoPE */
    double attention_scale; /* 0: head_dim^(-1/2) */
    hop_norm norm;
    double norm_eps;
    hop_mlp mlp;
    int64_t mlp_hidden;
    bool tied;             /* the read-out is the token table */
    bool bidirectional;    /* attention looks both ways */
    hop_setting *settings; /* those for mixers first; a later one beats an earlier one */
    int64_t setting_count;
    /* Layers whose weights are not stored but drawn from a seed when they are needed, so that depth costs no
     * memory. tie > 0: layer i has the weights of layer i mod tie. */
    bool seeded;
    uint64_t seed;
    int64_t tie;
    /* What the network is for and how it was made: JSON objects as text, "" when absent. Owned. */
    char *task_json, *construction_json;
} hop_config;

/* Sane values for everything but sizes: RMS norm, SwiGLU, position table off, one head. */
void hop_config_init(hop_config *c);
void hop_config_free(hop_config *c);
hop_status hop_config_copy(hop_config *to, const hop_config *from, hop_error *err);

/* Adds a setting; mixer "" when `layer` is given. */
hop_status hop_config_set(hop_config *c, int64_t layer, const char *mixer, const char *name, double value,
                          hop_error *err);

/* Fills 0 kv_heads (= heads), head_dim (= d_model/heads) and mlp_hidden (= 4 d_model), then refuses with
 * HOP_EDOMAIN what cannot be built: no layers, sizes below 1 or absurd, heads not a multiple of kv_heads, ..
 */
hop_status hop_config_validate(hop_config *c, hop_error *err);

/* config.json in Hugging Face's manner: "model_type": "hopbound", "hidden_size", "num_attention_heads", ..,
 * and "pattern". Reading validates. On failure `c` is empty; HOP_EFORMAT, HOP_EDOMAIN or HOP_EIO. */
hop_status hop_config_read(hop_config *c, const hop_json *root, hop_error *err);
hop_status hop_config_load(hop_config *c, const char *path, hop_error *err);
void hop_config_write(const hop_config *c, hop_json_writer *w);

const char *hop_norm_name(hop_norm n);
const char *hop_mlp_name(hop_mlp m);

#ifdef __cplusplus
}
#endif
#endif
