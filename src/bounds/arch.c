/* A configuration as the theorems see it. The state of a linear layer is what its mixer declares: everything
 * that crosses a cut, caches of short convolutions included; a sliding window is a recurrence whose state is
 * what the next token still sees of its cache, all but one of its rows. */
#include <hopbound/bounds.h>
#include <hopbound/layers.h>

/* `all`: what the mixer's own state takes, which `bits` may fall short of. */
static hop_status state_bits(const hop_mixer_ops *ops, const hop_mixer_config *c, const hop_arch_options *o,
                             int64_t *bits, int64_t *all, hop_error *err)
{
    bool window = ops->kind == HOP_MIXER_WINDOW; /* its rows are its state, whatever is said of states */
    int64_t seen = window ? c->option[HOP_OPTION_window] - 1 : 1;
    bool counted = !__builtin_mul_overflow(hop_mixer_state_floats(ops, c, seen), o->number_bits, all);
    if (!counted) *all = INT64_MAX;
    *bits = o->declared || window ? *all : o->state_bits;
    return counted || *bits < *all
               ? HOP_OK
               : hop_fail(err, HOP_ERANGE, "%s: a state of more than 2^63 bits", ops->name);
}

/* Numbers that a token hands on, of those that the state keeps: a channel each, or a head's values. */
static int64_t written_by(const hop_mixer_ops *ops, const hop_mixer_config *c, int64_t value)
{
    int64_t heads = ops->kind == HOP_MIXER_WINDOW ? c->kv_heads : c->heads; /* others' values are these */
    int64_t inner = c->option[HOP_OPTION_inner], all = inner > 0 ? inner - ops->spare : heads * value;
    return all <= 0 ? 0 : ops->pairs ? all / 2 : all;
}

/* A code's bit takes two numbers of a value that passes an activation. */
static void see_table(hop_arch_layer *out, hop_mixer_table t)
{
    out->rows = t.heads * t.rows, out->row_numbers = t.numbers / 2, out->spread = true;
}

/* One layer. */
static hop_status see_layer(hop_arch_layer *out, const hop_config *c, const hop_arch_options *o,
                            const char *mixer, int64_t layer, hop_error *err)
{
    hop_mixer_config m;
    const hop_mixer_ops *ops = hop_mixer_find(mixer);
    if (!ops) return hop_fail(err, HOP_EUNKNOWN, "%s: unknown mixer", mixer);
    hop_status s = hop_config_mixer(c, ops, layer, &m, err);
    if (s != HOP_OK) return s;
    int64_t value = m.option[HOP_OPTION_value_dim];
    *out = (hop_arch_layer){.kind = HOP_LAYER_OTHER,
                            .heads = m.heads,
                            .dim = value > 0 ? value : m.head_dim, /* values may have their own width */
                            .number_bits = o->number_bits};
    if (ops->kind == HOP_MIXER_FULL) {
        out->kind = HOP_LAYER_FULL;
        /* A norm takes a constant; 0 would mean values' width, and a look-up takes two numbers at least. */
        out->key_dim = m.head_dim - (m.option[HOP_OPTION_qk_norm] > 0 && m.head_dim > 1);
    } else if (ops->kind == HOP_MIXER_RECURRENT || ops->kind == HOP_MIXER_WINDOW) {
        int64_t written = written_by(ops, &m, out->dim);
        if (written != out->heads * out->dim) out->heads = written, out->dim = 1;
        out->forgets = written == 0 || ops->forgets; /* 0 would mean that it is not counted */
        bool window = ops->kind == HOP_MIXER_WINDOW;
        out->convolved = (m.option[HOP_OPTION_conv] > 0 || ops->pairs) && m.option[HOP_OPTION_inner] <= 0;
        out->head_bits = (value > 0 ? value : m.head_dim) / (window ? 1 : 2);
        out->convolved = out->convolved || window; /* one head's values are what is counted */
        int64_t all;
        s = state_bits(ops, &m, o, &out->state_bits, &all, err);
        if (ops->maps && out->state_bits)
            out->rows = m.head_dim, out->row_numbers = m.option[HOP_OPTION_value_dim];
        /* Rows lie across all heads, also those that share keys: a part of the state holds none for sure. */
        if (ops->table && out->state_bits && out->state_bits >= all) see_table(out, ops->table(&m));
        out->kind = out->state_bits ? HOP_LAYER_LINEAR : HOP_LAYER_LOCAL; /* a token that sees itself alone */
    } else if (ops->kind == HOP_MIXER_ALONE) {
        out->kind = HOP_LAYER_LOCAL;
    } else {
        out->block = m.option[HOP_OPTION_block];
    }
    return s;
}

/* Of the layers from .. end-1 the first that has settings of its own; `end` if none has. */
static int64_t next_special(const hop_config *c, int64_t from, int64_t end)
{
    for (int64_t i = 0; i < c->setting_count; i++)
        if (c->settings[i].layer >= from && c->settings[i].layer < end) end = c->settings[i].layer;
    return end;
}

static hop_status see_all(hop_arch_layer *layers, int64_t *count, const hop_config *c,
                          const hop_arch_options *o, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int64_t r = 0, at = 0; s == HOP_OK && r < c->pattern.run_count; r++)
        for (int64_t end = at + c->pattern.runs[r].count; s == HOP_OK && at < end;) {
            int64_t special = next_special(c, at, end), next = special > at ? special : at + 1;
            s = see_layer(&layers[*count], c, o, c->pattern.runs[r].mixer, at, err);
            layers[(*count)++].repeat = next - at;
            at = next;
        }
    return s;
}

hop_status hop_arch_new(hop_arch *out, const hop_config *c, const hop_arch_options *o, hop_error *err)
{
    *out = (hop_arch){.width = c->d_model, .accumulators = o->accumulators};
    if (c->bidirectional)
        return hop_fail(err, HOP_EDOMAIN, "no theorem speaks of a network that looks both ways");
    size_t most = (size_t)(c->pattern.run_count + 2 * c->setting_count);
    hop_arch_layer *layers = hop_alloc(most * sizeof *layers);
    if (!layers) return hop_fail(err, HOP_ENOMEM, "out of memory");
    out->layers = layers;
    hop_status s = see_all(layers, &out->count, c, o, err);
    if (s != HOP_OK) hop_arch_free(out);
    return s;
}

void hop_arch_free(hop_arch *a)
{
    hop_free((void *)a->layers);
    *a = (hop_arch){0};
}
