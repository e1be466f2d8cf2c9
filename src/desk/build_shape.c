/* The architecture that the options of build describe. */
#include "build.h"

#include <math.h>
#include <stdlib.h>

/* THETA[,PART]: rope_dim of attention follows from the part and head_dim, as partial_rotary_factor has it. */
static hop_status set_rope(hop_config *c, const char *text, hop_error *err)
{
    char *end;
    double part = 1, theta = strtod(text, &end);
    bool fine = end != text && theta > 0 && isfinite(theta);
    if (fine && *end == ',') {
        const char *rest = end + 1;
        part = strtod(rest, &end);
        fine = end != rest && part > 0 && part <= 1;
    }
    if (!fine || *end) return hop_fail(err, HOP_EFORMAT, "--rope: \"%.40s\" is not THETA[,PART]", text);
    c->rope_theta = theta;
    if (part == 1) return HOP_OK;
    if (c->head_dim == 0) return hop_fail(err, HOP_EDOMAIN, "--rope: a part of a head needs --head-dim");
    double rotary = floor((double)c->head_dim * part);
    hop_status s = hop_config_set(c, -1, "full", "rope_dim", rotary, err);
    return s == HOP_OK ? hop_config_set(c, -1, "window", "rope_dim", rotary, err) : s;
}

hop_status hop__build_shape(hop_config *c, const build_args *a, const char *pattern, hop_error *err)
{
    hop_config_init(c);
    hop_status s = hop_pattern_parse(&c->pattern, a->pattern.text ? a->pattern.text : pattern,
                                     a->mixer.text ? a->mixer.text : "deltanet", err);
    c->d_model = a->d_model.integer;
    c->heads = a->heads.integer;
    c->kv_heads = a->kv_heads.integer;
    c->head_dim = a->head_dim.integer;
    c->norm = (hop_norm)a->norm.choice;
    c->mlp = (hop_mlp)a->mlp.choice;
    c->mlp_hidden = a->mlp_hidden.integer;
    if (s == HOP_OK && a->rope.text) s = set_rope(c, a->rope.text, err);
    if (s != HOP_OK) hop_config_free(c);
    return s;
}
