/* Layers that say nothing. Where every weight of the output projection is 0, what it is given does not
 * matter, as long as it is a number: 0 times infinity is none. So one box around all tokens is taken through
 * the layer, which costs next to nothing, and if no number of it can leave float32's range, the stream passes
 * as it is, to the bit (what is cut to fewer bits was cut before). If some may, nothing is claimed, and the
 * layer is analysed as any other. */
#include "analysis.h"

/* Everything that any token may hold, as a box. */
static hop__set *around(hop__memory *m, const hop__facts *f, hop__set *const *x)
{
    int64_t width = x[0]->width;
    ival *all = hop__take(m, width, sizeof *all), *one = hop__take(m, width, sizeof *one);
    hop__set *box = hop__set_new(m, width);
    for (int a = 0; box && a < f->classes; a++) {
        hop__set_ranges(x[a], a ? one : all);
        for (int64_t c = 0; a && c < width; c++) all[c] = ival_hull(all[c], one[c]);
    }
    for (int64_t c = 0; box && c < width; c++) box->mid[c] = ival_mid(all[c]), box->rad[c] = ival_rad(all[c]);
    hop__set_canonical(m, box);
    return m->status == HOP_OK ? box : NULL;
}

static bool zeros(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}

static bool part_is_zero(const hop__analysis *w, const char *part)
{
    const hop_weight *x = hop_model_layer_weight(w->model, w->layer, part);
    return !x || zeros(x->data, x->shape[0] * (x->rank == 2 ? x->shape[1] : 1));
}

static const float *weight(const hop__analysis *w, const char *part)
{
    const hop_weight *x = hop_model_layer_weight(w->model, w->layer, part);
    return x ? x->data : NULL;
}

/* The analysis as one class sees it: all tokens alike, nothing looked up. What crosses is rounded at one cut
 * only, so each rounding counts for all of them. */
static hop__analysis as_one(const hop__analysis *w, hop__memory *m)
{
    hop__analysis one = *w;
    one.facts =
        (hop__facts){.classes = 1, .length = w->facts.length, .bidirectional = w->facts.bidirectional};
    one.facts.class[0] = (hop__class){.start = 0, .count = w->facts.length, .player = 0};
    one.m = m, one.scratch = NULL, one.answering = -1;
    one.message = w->message * (double)w->facts.classes;
    return one;
}

/* What a block beside the one before is given: no normed number is larger than the root of how many there are, times
 * its weight; twice that leaves room for what is rounded. */
static hop__set *any_normed(hop__memory *m, const hop__analysis *w)
{
    hop__analysis of = *w;
    while (of.layer > 0 && !weight(&of, "input_layernorm.weight")) of.layer--;
    const float *scale = weight(&of, "input_layernorm.weight"), *bias = weight(&of, "input_layernorm.bias");
    const int64_t d = hop_model_config(w->model)->d_model;
    hop__set *box = scale ? hop__set_new(m, d) : NULL;
    for (int64_t c = 0; box && c < d; c++)
        box->rad[c] =
            ival_up(2 * (sqrt((double)d) * fabs((double)scale[c]) + (bias ? fabs((double)bias[c]) : 0)));
    hop__set_canonical(m, box);
    return m->status == HOP_OK ? box : NULL;
}

bool hop__mixer_is_silent(const hop__analysis *w, hop__set *const *x)
{
    hop__memory m = {0};
    hop__analysis one = as_one(w, &m);
    hop__layer_sets l;
    bool silent = false;
    /* A norm behind makes something of nothing: its bias, or 0/0 without an eps. A norm that is kept changes the stream. */
    if (hop__layer_norms(w) != HOP_NORMS_BEFORE) return false;
    if (w->m->status == HOP_OK && hop__layer_open(&l, &one)) {
        const hop_op *last = &l.list.op[l.list.op_count - 1];
        silent = last->y == HOP_Y && last->kind == HOP_OP_LINEAR && last->groups <= 1 &&
                 zeros(l.par[last->par[0]] + last->first_row * last->row, last->width * last->row) &&
                 (last->par[1] < 0 || zeros(l.par[last->par[1]], last->width));
        const bool beside = hop__layer_is_beside(&one);
        hop__set *box = !silent ? NULL : beside ? any_normed(&m, &one) : around(&m, &w->facts, x);
        l.buffer[HOP_X][0] = box && !beside ? hop__layer_input(&one, box) : box;
        silent = silent && l.buffer[HOP_X][0] != NULL;
        for (int i = 0; silent && i + 1 < l.list.op_count; i++)
            silent = m.status == HOP_OK && !m.overflow && hop__layer_op(&l, i);
    }
    silent = silent && m.status == HOP_OK && !m.overflow;
    hop__memory_free(&m);
    return silent;
}

static hop__set *units(hop__memory *m, const hop__analysis *of, const hop__set *x, const char *part,
                       const char *bias_part)
{
    const int64_t hidden = hop_model_config(of->model)->mlp_hidden;
    const float *w = weight(of, part), *bias = bias_part ? weight(of, bias_part) : NULL;
    hop__matrix a = {
        .w = w, .bias = bias, .out = hidden, .in = x->width, .row_step = x->width, .col_step = 1};
    a.later = hop__others_units(of);
    return w ? hop__set_linear(m, x, a) : NULL;
}

bool hop__mlp_is_silent(const hop__analysis *w, hop__set *const *x)
{
    const hop_config *c = hop_model_config(w->model);
    hop__memory m = {0};
    if (c->mlp == HOP_MLP_NONE) return true;
    if (hop__layer_norms(w) != HOP_NORMS_BEFORE) return false;
    if (!part_is_zero(w, "mlp.down_proj.weight") || !part_is_zero(w, "mlp.down_proj.bias")) return false;
    const hop__set *box = around(&m, &w->facts, x);
    if (box)
        box = hop__set_norm(&m, box, c->norm, weight(w, "post_mixer_layernorm.weight"),
                            weight(w, "post_mixer_layernorm.bias"), c->norm_eps);
    box = hop__set_rounded(&m, (hop__set *)box, w->bits);
    hop__set *up = box ? units(&m, w, box, "mlp.up_proj.weight", "mlp.up_proj.bias") : NULL;
    hop__set *gate = box ? units(&m, w, box, "mlp.gate_proj.weight", NULL) : NULL;
    bool silent = up && (gate || c->mlp != HOP_MLP_SWIGLU);
    for (int64_t i = 0; silent && gate && i < c->mlp_hidden; i++)
        silent = up->mag[i] * ival_most(1, gate->mag[i]) < HOP__LARGEST;
    silent = silent && m.status == HOP_OK && !m.overflow;
    hop__memory_free(&m);
    return silent;
}
