/* build --like: the network in the shape of a real model, from its config.json. */
#include "build.h"

#include <hopbound/hf.h>
#include <hopbound/layers.h>
#include <hopbound/ops.h>

#include <string.h>

#define IDLE_HIDDEN 128
#define MOST_WIDTH  1024

hop_status hop__build_like(hop_config *c, hop_text *notes, const build_args *a, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_hf_families *rows = NULL;
    *c = (hop_config){0};
    hop_status s = a->families.text ? hop_hf_families_load(&rows, a->families.text, err) : HOP_OK;
    if (s == HOP_OK) s = hop_hf_open(&doc, a->like.text, err);
    if (s != HOP_OK) {
        hop_hf_families_free(rows);
        return s;
    }
    s = hop_hf_shape(c, notes, doc.root, rows, a->d_model.given ? a->d_model.integer : MOST_WIDTH, err);
    hop_json_free(&doc);
    hop_hf_families_free(rows);
    if (s != HOP_OK) return hop_fail_in(err, s, a->like.text);
    c->mlp_hidden = a->mlp_hidden.given ? a->mlp_hidden.integer : IDLE_HIDDEN;
    if (c->mlp != HOP_MLP_NONE)
        hop_text_printf(notes, "MLPs of %lld hidden units, all idle\n", (long long)c->mlp_hidden);
    hop_text_add(notes, "added: a position table, since nothing else says where a token stands\n");
    return HOP_OK;
}

/* Mixers that cannot make a look-up with their convolutions, gates and norms get sizes of their own. */
void hop__build_like_changed(hop_text *notes, const hop_config *wanted, const hop_model *m)
{
    const hop_config *c = hop_model_config(m);
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, i));
        hop_mixer_config is, was;
        if (!ops || ops->kind != HOP_MIXER_RECURRENT) continue;
        bool same = hop_config_mixer(c, ops, i, &is, NULL) == HOP_OK &&
                    hop_config_mixer(wanted, ops, i, &was, NULL) == HOP_OK && is.heads == was.heads &&
                    is.head_dim == was.head_dim && memcmp(is.option, was.option, sizeof is.option) == 0;
        if (!same)
            hop_text_printf(
                notes,
                "layer %lld, %s: its look-up is made in the plain sizes of docs/THEORY.md 5.2, not "
                "in the model's, without convolutions, gates and norms\n",
                (long long)i, ops->name);
    }
}
