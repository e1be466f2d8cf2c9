/* build --like: the network in the shape of a real model, from its config.json. */
#include "build.h"

#include <string.h>

#define IDLE_HIDDEN 128
#define MOST_WIDTH  1024

hop_status build_like(hop_config *c, hop_text *notes, const build_args *a, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_hf_open(&doc, a->like.text, err);
    *c = (hop_config){0};
    if (s != HOP_OK) return s;
    s = hop_hf_shape(c, notes, doc.root, a->d_model.given ? a->d_model.integer : MOST_WIDTH, err);
    hop_json_free(&doc);
    if (s != HOP_OK) return hop_fail_in(err, s, a->like.text);
    c->mlp_hidden = a->mlp_hidden.given ? a->mlp_hidden.integer : IDLE_HIDDEN;
    hop_text_printf(notes, "MLPs of %lld hidden units, all idle\n", (long long)c->mlp_hidden);
    hop_text_add(notes, "added: a position table, since nothing else says where a token stands\n");
    return HOP_OK;
}
