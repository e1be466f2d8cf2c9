/* See two_sum.h. Every computed number is an exact linear function of computed numbers, give or take an error
 * that hop__rounding bounds; going backwards these errors are added up with the coefficients they get.
 * Coefficients are intervals themselves, so this file's own rounding is inside as well. */
#include "two_sum.h"

/* ---- making ------------------------------------------------------------------------------------ */

static hop_status take(hop__sparse *to, const hop_model *m, int64_t layer, const char *part, hop_error *err)
{
    const hop_weight *w = hop_model_layer_weight(m, layer, part);
    return w ? hop__sparse_new(to, w, err)
             : hop_fail(err, HOP_EDOMAIN, "layer %lld has no %s", (long long)layer, part);
}

static const float *bias_of(const hop_model *m, int64_t layer, const char *part)
{
    return hop_model_layer_weight(m, layer, part)->data; /* a plain MLP has both */
}

hop_status hop__tail_new(hop__tail *t, const hop_model *m, hop__analysis *range, hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    *t = (hop__tail){.range = range, .d = c->d_model, .hidden = c->mlp_hidden};
    hop_status s = take(&t->out, m, 0, "mixer.o_proj.weight", err);
    t->inputs = t->out.cols;
    for (; s == HOP_OK && t->stages < c->pattern.layers; t->stages++) {
        hop__stage *g = &t->stage[t->stages];
        s = take(&g->up, m, t->stages, "mlp.up_proj.weight", err);
        if (s == HOP_OK) s = take(&g->down, m, t->stages, "mlp.down_proj.weight", err);
        if (s != HOP_OK) break;
        g->up_bias = bias_of(m, t->stages, "mlp.up_proj.bias");
        g->down_bias = bias_of(m, t->stages, "mlp.down_proj.bias");
    }
    if (s != HOP_OK) hop__tail_free(t);
    return s;
}

void hop__tail_free(hop__tail *t)
{
    hop__sparse_free(&t->out);
    for (int i = 0; i < HOP__MAX_STAGES; i++) {
        hop__sparse_free(&t->stage[i].up);
        hop__sparse_free(&t->stage[i].down);
    }
}

hop_status hop__trace_new(hop__trace *r, const hop__tail *t, hop_error *err)
{
    size_t d = (size_t)t->d, hidden = (size_t)t->hidden, stages = (size_t)t->stages;
    r->x = hop_alloc(sizeof(ival) * (stages + 1) * d);
    r->x_err = hop_alloc(sizeof(double) * (stages + 1) * d);
    r->z = hop_alloc(sizeof(ival) * stages * hidden);
    r->z_err = hop_alloc(sizeof(double) * stages * hidden);
    r->coef = hop_alloc(sizeof(ival) * d);
    r->inner = hop_alloc(sizeof(ival) * hidden);
    r->outer = hop_alloc(sizeof(ival) * (size_t)t->inputs);
    if (r->x && r->x_err && r->z && r->z_err && r->coef && r->inner && r->outer) return HOP_OK;
    hop__trace_free(r);
    return hop_fail(err, HOP_ENOMEM, "out of memory");
}

void hop__trace_free(hop__trace *r)
{
    hop_free(r->x);
    hop_free(r->x_err);
    hop_free(r->z);
    hop_free(r->z_err);
    hop_free(r->coef);
    hop_free(r->inner);
    hop_free(r->outer);
    *r = (hop__trace){0};
}

/* ---- backwards --------------------------------------------------------------------------------- */

static bool is_zero(ival a)
{
    return a.lo == 0 && a.hi == 0;
}

/* A row that is all zeros adds exactly nothing. */
static bool mlp_writes(const hop__stage *g, int64_t c)
{
    return g->down.start[c] != g->down.start[c + 1] || g->down_bias[c] != 0;
}

/* A function on its way back: constant + coef·x, minus what errors may take away. */
typedef struct function {
    ival constant;
    double slack;
} function;

/* A line below a·relu(z), z in [lo, hi]: a·slope·z + offset. For a > 0 it needs a line below relu: z itself
 * or 0, and z is better where it is hardly ever negative. For a < 0 one above: the chord, or anything steeper
 * through (lo, 0). */
static void line_below(ival a, ival z, double *slope, ival *offset)
{
    *slope = 0;
    *offset = (ival){0, 0};
    if (z.hi <= 0 || (a.lo >= 0 && z.hi <= -8 * z.lo)) return;
    if (z.lo >= 0 || a.lo >= 0) {
        *slope = 1;
        return;
    }
    double chord = ival_up(ival_up(z.hi) / ival_down(z.hi - z.lo));
    if (a.hi <= 0 && chord > 0 && chord < 2) { /* else the numbers are too small to divide */
        *slope = chord;
        *offset = ival_mul(a, ival_scale(ival_point(-z.lo), chord));
    } else {
        *offset = ival_mul(a, (ival){0, z.hi});
    }
}

#define LARGEST_COEFFICIENT 1e200 /* so that no product with a bound overflows and becomes NaN */

static bool too_large(ival a)
{
    return !(ival_mag(a) < LARGEST_COEFFICIENT);
}

/* From the residual stream after MLP `s` to the one before it. */
static void back_through(hop__trace *r, const hop__tail *t, int64_t s, function *f)
{
    const hop__stage *g = &t->stage[s];
    const ival *z = r->z + s * t->hidden;
    const double *z_err = r->z_err + s * t->hidden, *x_err = r->x_err + (s + 1) * t->d;
    for (int64_t u = 0; u < t->hidden; u++) r->inner[u] = (ival){0, 0};
    for (int64_t c = 0; c < t->d; c++) {
        if (is_zero(r->coef[c]) || !mlp_writes(g, c)) continue;
        if (too_large(r->coef[c])) f->slack = INFINITY;
        f->constant = ival_add(f->constant, ival_scale(r->coef[c], g->down_bias[c]));
        f->slack = ival_up(f->slack + ival_up(ival_mag(r->coef[c]) * x_err[c]));
        for (int64_t n = g->down.start[c]; n < g->down.start[c + 1]; n++) {
            ival *to = &r->inner[g->down.col[n]];
            *to = ival_add(*to, ival_scale(r->coef[c], g->down.val[n]));
        }
    }
    for (int64_t u = 0; u < t->hidden; u++) {
        if (is_zero(r->inner[u])) continue;
        if (too_large(r->inner[u])) f->slack = INFINITY;
        double slope;
        ival offset;
        line_below(r->inner[u], z[u], &slope, &offset);
        f->constant = ival_add(f->constant, offset);
        if (slope == 0) continue;
        ival a = ival_scale(r->inner[u], slope);
        f->constant = ival_add(f->constant, ival_scale(a, g->up_bias[u]));
        f->slack = ival_up(f->slack + ival_up(ival_mag(a) * z_err[u]));
        for (int64_t n = g->up.start[u]; n < g->up.start[u + 1]; n++) {
            ival *to = &r->coef[g->up.col[n]];
            *to = ival_add(*to, ival_scale(a, g->up.val[n]));
        }
    }
}

/* Lower bound of f + r->coef·(residual stream after `stages` MLPs). */
static double least_of(hop__trace *r, const hop__tail *t, const hop__reach *from, int64_t stages, function f)
{
    for (int64_t s = stages - 1; s >= 0; s--) back_through(r, t, s, &f);
    for (int64_t i = 0; i < t->inputs; i++) r->outer[i] = (ival){0, 0};
    for (int64_t c = 0; c < t->d; c++) {
        if (is_zero(r->coef[c])) continue;
        if (too_large(r->coef[c])) return -INFINITY;
        f.constant = ival_add(f.constant, ival_scale(r->coef[c], from->token[c]));
        f.slack = ival_up(f.slack + ival_up(ival_mag(r->coef[c]) * r->x_err[c]));
        for (int64_t n = t->out.start[c]; n < t->out.start[c + 1]; n++) {
            ival *to = &r->outer[t->out.col[n]];
            *to = ival_add(*to, ival_scale(r->coef[c], t->out.val[n]));
        }
    }
    if (from->least) return ival_down(ival_down(f.constant.lo + from->least(from->ctx, r->outer)) - f.slack);
    for (int64_t i = 0; i < t->inputs; i++)
        if (!is_zero(r->outer[i])) f.constant = ival_add(f.constant, ival_mul(r->outer[i], from->box[i]));
    return ival_down(f.constant.lo - f.slack);
}

/* ---- forwards ---------------------------------------------------------------------------------- */

static void after_mixer(hop__trace *r, const hop__tail *t, const hop__reach *from)
{
    for (int64_t c = 0; c < t->d; c++) {
        double mag = hop__sparse_mag(&t->out, c, from->box);
        r->x[c] = ival_point(from->token[c]);
        r->x_err[c] =
            mag == 0 ? 0 : hop__rounding(t->range, t->inputs, ival_up(mag + fabs((double)from->token[c])));
        if (mag != 0)
            r->x[c] = ival_widen(ival_add(r->x[c], hop__sparse_box(&t->out, c, from->box)), r->x_err[c]);
    }
}

/* The function sign·z_u of MLP s, bounded from below by going back to the heads. */
static double unit_least(hop__trace *r, const hop__tail *t, const hop__reach *from, const int64_t s_u[2],
                         double sign)
{
    const hop__stage *g = &t->stage[s_u[0]];
    int64_t u = s_u[1];
    function f = {ival_scale(ival_point(g->up_bias[u]), sign), r->z_err[s_u[0] * t->hidden + u]};
    for (int64_t c = 0; c < t->d; c++) r->coef[c] = (ival){0, 0};
    for (int64_t n = g->up.start[u]; n < g->up.start[u + 1]; n++)
        r->coef[g->up.col[n]] = ival_point(sign * g->up.val[n]);
    return least_of(r, t, from, s_u[0], f);
}

/* Where a box leaves open on which side a unit is, and more than boxes is known, that decides. */
static void sharpen(hop__trace *r, const hop__tail *t, const hop__reach *from, int64_t s, int64_t u)
{
    ival *z = &r->z[s * t->hidden + u];
    if (!from->least || s == 0 || !(z->lo < 0 && z->hi > 0)) return;
    const int64_t at[2] = {s, u};
    double lo = unit_least(r, t, from, at, 1), hi = -unit_least(r, t, from, at, -1);
    if (!(lo <= hi)) return;
    if (lo > z->lo) z->lo = lo;
    if (hi < z->hi) z->hi = hi;
}

static void hidden_units(hop__trace *r, const hop__tail *t, const hop__reach *from, int64_t s)
{
    const hop__stage *g = &t->stage[s];
    const ival *x = r->x + s * t->d;
    for (int64_t u = 0; u < t->hidden; u++) {
        double bias = g->up_bias[u], mag = hop__sparse_mag(&g->up, u, x) + fabs(bias);
        double err = mag == 0 ? 0 : hop__rounding(t->range, t->d + 1, ival_up(mag));
        ival z = ival_widen(ival_add(hop__sparse_box(&g->up, u, x), ival_point(bias)), err);
        if (!(z.lo <= z.hi)) t->range->overflow = true; /* NaN */
        r->z[s * t->hidden + u] = z;
        r->z_err[s * t->hidden + u] = err;
        sharpen(r, t, from, s, u);
    }
}

static void after_mlp(hop__trace *r, const hop__tail *t, int64_t s)
{
    const hop__stage *g = &t->stage[s];
    const ival *x = r->x + s * t->d, *z = r->z + s * t->hidden;
    for (int64_t c = 0; c < t->d; c++) {
        ival y = x[c];
        double err = 0, mag = ival_mag(x[c]) + fabs((double)g->down_bias[c]);
        if (mlp_writes(g, c)) {
            y = ival_add(y, ival_point(g->down_bias[c]));
            for (int64_t n = g->down.start[c]; n < g->down.start[c + 1]; n++) {
                ival h = z[g->down.col[n]];
                h = (ival){h.lo > 0 ? h.lo : 0, h.hi > 0 ? h.hi : 0};
                y = ival_add(y, ival_scale(h, g->down.val[n]));
                mag = ival_up(mag + ival_up(fabs(g->down.val[n]) * h.hi));
            }
            err = hop__rounding(t->range, t->hidden + 2, ival_up(mag));
        }
        r->x[(s + 1) * t->d + c] = ival_widen(y, err);
        r->x_err[(s + 1) * t->d + c] = err;
    }
}

void hop__trace_run(hop__trace *r, const hop__tail *t, const hop__reach *from)
{
    after_mixer(r, t, from);
    for (int64_t s = 0; s < t->stages; s++) {
        hidden_units(r, t, from, s);
        after_mlp(r, t, s);
    }
}

double hop__trace_lead(hop__trace *r, const hop__tail *t, const hop__reach *from, const float *a,
                       const float *b)
{
    const ival *x = r->x + t->stages * t->d;
    double mag_a = 0, mag_b = 0;
    for (int64_t c = 0; c < t->d; c++) {
        bool same = a[c] == b[c];
        r->coef[c] = same ? (ival){0, 0} : ival_add(ival_point(a[c]), ival_point(-(double)b[c]));
        mag_a = ival_up(mag_a + ival_up(fabs((double)a[c]) * ival_mag(x[c])));
        mag_b = ival_up(mag_b + ival_up(fabs((double)b[c]) * ival_mag(x[c])));
    }
    function f = {.slack =
                      ival_up(hop__rounding(t->range, t->d, mag_a) + hop__rounding(t->range, t->d, mag_b))};
    return least_of(r, t, from, t->stages, f);
}
