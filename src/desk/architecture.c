/* An architecture from a question. */
#include "architecture.h"

#include <hopbound/mixers.h>
#include "desk.h"
#include "like.h"

#include <string.h>

/* clang-format off */
#define AT(member) offsetof(arch_args, member)
const hop_opt hop__arch_options[] = {
    {"pattern", 'p', HOP_OPT_TEXT, AT(pattern), "LAYERS",
     .initial_help = "needed without --like",
     .help = "layers in order: F full, L the linear mixer, W window, S sparse, or a mixer's name; ^k "
             "repeats, parentheses group: \"(gdn^3 full)^12\""},
    {"like", 0, HOP_OPT_TEXT, AT(like), "CONFIG", .use = HOP_OPT_READS,
     .help = "a model's config.json, or its directory: its own layers as `audit` reads them; with --pattern, its full and "
             "linear layers in that order"},
    {"mixer", 0, HOP_OPT_TEXT, AT(mixer), "NAME", "deltanet", .help = "what L stands for"},
    {"heads", 0, HOP_OPT_INT, AT(heads), "H", "1", 1, 1 << 12, .help = "heads of every layer"},
    {"key-heads", 0, HOP_OPT_INT, AT(key_heads), "H", NULL, 1, 1 << 12, .initial_help = "as many as heads",
     .help = "of layers of --mixer: heads of keys, where values have more (gdn, kda)"},
    {"dim", 0, HOP_OPT_INT, AT(dim), "D", "64", 1, 1 << 16, .help = "numbers in a head"},
    {"d-model", 0, HOP_OPT_INT, AT(d_model), "N", NULL, 1, 1 << 28, .initial_help = "heads times dim",
     .help = "width of the residual stream: P1 counts it, and some mixers' states depend on it"},
    {"bits", 0, HOP_OPT_INT, AT(bits), "P", "32", 1, 1024,
     .help = "bits of one number in the accumulator (bfloat16 with float32 sums: 32)"},
    {"accumulators", 0, HOP_OPT_INT, AT(accumulators), "C", "1", 1, 1024,
     .help = "accumulators that are alive at once in a full layer: 2 where chunks of keys are summed up apart and merged. "
             "M is so many times H(d+2)p"},
    {"state-bits", 0, HOP_OPT_INT, AT(state_bits), "S", NULL, 0, 1000000000000000000,
     .initial_help = "as the mixer declares",
     .help = "state bits of each linear layer; a window keeps the rows that --window leaves it"},
    {"window", 0, HOP_OPT_INT, AT(window), "W", "512", 1, (int64_t)1 << 31,
     .help = "positions that a window layer sees, its own included"},
    {"block", 0, HOP_OPT_INT, AT(block), "B", "64", 1, 1 << 20, .help = "tokens in a block of a sparse layer"},
    {0},
};
/* clang-format on */

static hop_status check_mixer(const char *name, hop_error *err)
{
    const hop_mixer_ops *ops = hop_mixer_find(name);
    if (!ops)
        return hop_fail(err, HOP_EUSAGE, "--mixer: %.40s: unknown mixer; `hopbound mixers` lists them", name);
    if ((ops->kind != HOP_MIXER_RECURRENT || ops->forgets) && ops->kind != HOP_MIXER_WINDOW)
        return hop_fail(err, HOP_EUSAGE, "--mixer: %s: is not a linear mixer", name);
    return HOP_OK;
}

hop_status hop__widths(hop_config *c, const arch_widths *w, hop_error *err)
{
    hop_status s = HOP_OK;
    hop_config_init(c);
    c->heads = w->heads;
    c->kv_heads = w->kv_heads ? w->kv_heads : w->heads;
    c->head_dim = w->dim;
    c->d_model = w->d_model ? w->d_model : w->heads * w->dim;
    if (strcmp(w->mixer, "full") != 0 && strcmp(w->mixer, "window") != 0)
        s = hop_config_set(c, -1, w->mixer, "kv_heads", (double)(w->key_heads ? w->key_heads : w->heads),
                           err);
    if (s == HOP_OK) s = hop_config_set(c, -1, "linear", "normalise", 1, err);
    if (s == HOP_OK && w->window) s = hop_config_set(c, -1, "window", "window", (double)w->window, err);
    if (s == HOP_OK && w->block) s = hop_config_set(c, -1, "sparse", "block", (double)w->block, err);
    return s;
}

hop_status hop__architecture_config(hop_config *c, const arch_args *o, hop_error *err)
{
    hop_status s = hop__widths(c,
                               &(arch_widths){.mixer = o->mixer.text,
                                              .heads = o->heads.integer,
                                              .key_heads = o->key_heads.given ? o->key_heads.integer : 0,
                                              .dim = o->dim.integer,
                                              .d_model = o->d_model.given ? o->d_model.integer : 0,
                                              .window = o->window.integer,
                                              .block = o->block.integer},
                               err);
    if (s == HOP_OK) s = hop_pattern_parse(&c->pattern, o->pattern.text, o->mixer.text, err);
    return s == HOP_OK ? s : hop__asked(err, "--", "");
}

static void count_layers(architecture *out)
{
    for (int64_t i = 0; i < out->arch.count; i++) {
        const hop_arch_layer *l = &out->arch.layers[i];
        if (l->kind == HOP_LAYER_FULL || l->kind == HOP_LAYER_BOTH) out->full += l->repeat;
        if (l->kind == HOP_LAYER_LINEAR || l->kind == HOP_LAYER_BOTH) out->linear += l->repeat;
        if (l->kind == HOP_LAYER_OTHER) out->other += l->repeat;
    }
}

static hop_status like_model_itself(architecture *out, like_model *m, int64_t n, hop_error *err)
{
    over_view seen;
    if (m->own.audit.plan.tied)
        return hop_fail(err, HOP_EUSAGE,
                        "--like: layers share their weights, which no theorem here knows; see `audit`");
    hop_status s = hop__model_look(&seen, &m->own, n, err);
    if (s == HOP_OK) s = hop__like_take(&out->arch, &m->own, err);
    if (s == HOP_OK) hop_hf_short(m->own.audit.plan.pattern, &out->pattern);
    return s;
}

static hop_status like_pattern(architecture *out, like_model *m, const char *text, int64_t n, hop_error *err)
{
    hop_pattern p = {0};
    model_view v = {0};
    over_view seen;
    hop_status s = hop_pattern_parse(&p, text, m->mixer, err);
    if (s != HOP_OK) return hop__asked(err, "--", "");
    s = hop__like_pattern(&v, m, &p, err);
    if (s == HOP_OK) s = hop__model_look(&seen, &v, n, err);
    if (s == HOP_OK) s = hop__like_take(&out->arch, &v, err);
    if (s == HOP_OK) hop_pattern_print(&p, &out->pattern);
    hop__model_view_free(&v);
    hop_pattern_free(&p);
    return s;
}

/* --like: widths and states are the model's. */
static hop_status architecture_like(architecture *out, const arch_args *o, int64_t n, hop_error *err)
{
    const like_other others[] = {
        {"mixer", &o->mixer},   {"heads", &o->heads},     {"key-heads", &o->key_heads},
        {"dim", &o->dim},       {"d-model", &o->d_model}, {"state-bits", &o->state_bits},
        {"window", &o->window}, {"block", &o->block},     {0}};
    like_model m = {0};
    hop_status s = hop__like_alone(others, err);
    if (s == HOP_OK) s = hop__like_open(&m, o->like.text, o->bits.integer, err);
    if (s == HOP_OK)
        s = o->pattern.given ? like_pattern(out, &m, o->pattern.text, n, err)
                             : like_model_itself(out, &m, n, err);
    if (s == HOP_OK) out->arch.accumulators = o->accumulators.integer;
    if (s == HOP_OK) count_layers(out);
    hop__like_close(&m);
    return s;
}

hop_status hop__architecture(architecture *out, const arch_args *o, int64_t n, hop_error *err)
{
    hop_config c = {0};
    const hop_arch_options as = {.number_bits = o->bits.integer,
                                 .declared = !o->state_bits.given,
                                 .state_bits = o->state_bits.integer,
                                 .accumulators = o->accumulators.integer};
    *out = (architecture){0};
    if (o->like.text) return architecture_like(out, o, n, err);
    if (!o->pattern.given) return hop_fail(err, HOP_EUSAGE, "--pattern: missing");
    hop_status s = check_mixer(o->mixer.text, err);
    if (s == HOP_OK) s = hop__architecture_config(&c, o, err);
    if (s == HOP_OK && (s = hop_arch_new(&out->arch, &c, &as, err)) != HOP_OK)
        s = hop__asked(err, "--pattern: ", s == HOP_EUNKNOWN ? "; `hopbound mixers` lists them" : "");
    if (s == HOP_OK) hop_pattern_print(&c.pattern, &out->pattern);
    count_layers(out);
    hop_config_free(&c);
    return s;
}

void hop__architecture_free(architecture *a)
{
    hop_arch_free(&a->arch);
    hop_text_free(&a->pattern);
}
