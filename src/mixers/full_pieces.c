/* Full attention for a segment of a sequence: the layer of full.c, taken apart where messages go. */
#include "attention_parts.h"

void hop_full_project(const hop_full_rows *out, const hop_mixer_config *c, const float *const *w,
                      const hop_mixer_io *io, int64_t position)
{
    const hop__qkv to = {out->q, out->k, out->v};
    hop__attention_project(&to, c, w, io, position, true);
}

hop_attn hop_full_shape(const hop_mixer_config *c, int64_t keys, int64_t queries, bool own)
{
    hop_attn a = hop__attention_shape(c, keys, 0, hop__kv_width(c), 0);
    a.queries = queries;
    a.bidirectional = !own;
    return a;
}

void hop_full_output(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io,
                     const float *triples, float *o)
{
    hop_triple_close(o, triples, io->tokens * c->heads, c->head_dim);
    hop__attention_output(c, w, io, o, true);
}
