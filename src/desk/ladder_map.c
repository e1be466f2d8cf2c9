/* The map's table: for every stop of the sliders and every number of full layers, up to where a plan is
 * possible and from where on it is impossible. All of it is asked of the theorems here, on all threads. */
#include "ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t LINEAR[] = {0, 1, 3, 16}, DIMS[] = {18, 32, 64, 128}, BITS[] = {16, 32};
enum {
    LINEARS = sizeof LINEAR / sizeof *LINEAR,
    WIDTHS = sizeof DIMS / sizeof *DIMS,
    PRECISIONS = sizeof BITS / sizeof *BITS,
    FULLS = HOP_MAP_HOPS + 2,
    POINTS = HOP_MAP_HOPS * LINEARS * WIDTHS * PRECISIONS,
    ROWS = POINTS * FULLS,
    AT_ONCE = 48 /* rows between two ticks */
};

/* Full layers with `linear` linear ones in every gap; how many runs of layers that is. */
static int64_t make_plan(hop_arch_layer *layers, int hops, int full, int64_t linear, int64_t dim,
                         int64_t bits)
{
    int64_t count = 0, state = dim - hops - 2;
    for (int i = 0; i <= full; i++) {
        if (linear)
            layers[count++] = (hop_arch_layer){.kind = HOP_LAYER_LINEAR,
                                               .repeat = linear,
                                               .heads = 1,
                                               .dim = state,
                                               .number_bits = bits,
                                               .state_bits = state * bits};
        if (i < full)
            layers[count++] = (hop_arch_layer){
                .kind = HOP_LAYER_FULL, .repeat = 1, .heads = 1, .dim = dim, .number_bits = bits};
    }
    return count;
}

/* Up to where possible, from where on impossible, and who says so. */
static void read_bounds(hop_map_row *r, const hop_bounds *b)
{
    for (int i = 0; i < b->count; i++) {
        const hop_bound *x = &b->results[i];
        if (x->answer == HOP_ANSWER_POSSIBLE && x->up_to && !(x->log10_up_to <= r->possible_to)) {
            r->possible_to = x->log10_up_to;
            snprintf(r->to, sizeof r->to, "%s", x->up_to);
        }
        if (x->answer == HOP_ANSWER_IMPOSSIBLE && x->speaks_from && x->log10_n < r->impossible_from) {
            r->impossible_from = x->log10_n;
            snprintf(r->from, sizeof r->from, "%s", x->speaks_from);
            snprintf(r->theorem, sizeof r->theorem, "%s", x->id);
            r->machine_checked = x->certificate != NULL;
        }
    }
}

typedef struct work {
    hop_map_row *rows;
    hop_status *status;
    int64_t first;
} work;

static void ask_row(void *ctx, int64_t task, int worker)
{
    const work *w = ctx;
    int64_t at = w->first + task, rest = at;
    int full = (int)(rest % FULLS);
    int64_t bits = BITS[(rest /= FULLS) % PRECISIONS];
    int64_t dim = DIMS[(rest /= PRECISIONS) % WIDTHS];
    int64_t linear = LINEAR[(rest /= WIDTHS) % LINEARS];
    int hops = (int)(rest / LINEARS) + 1;
    w->rows[at] = (hop_map_row){.possible_to = NAN, .impossible_from = INFINITY};
    if (full > hops + 1 || (full == 0 && linear == 0)) return; /* not on the map */
    hop_arch_layer layers[2 * FULLS + 1];
    const hop_arch arch = {.layers = layers, .count = make_plan(layers, hops, full, linear, dim, bits)};
    hop_bounds *b;
    w->status[at] = hop_bounds_new(&b, &(hop_question){.arch = &arch, .hops = hops}, NULL);
    if (w->status[at] == HOP_OK) read_bounds(&w->rows[at], b), hop_bounds_free(b);
    if (worker) hop_bounds_leave();
}

static hop_status ask_all(ladder *l, hop_map_row *rows, hop_error *err)
{
    static const char label[] = "map";
    hop_status *status = calloc(ROWS, sizeof *status), s = HOP_OK;
    if (!status) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t first = 0; first < ROWS && s == HOP_OK; first += AT_ONCE) {
        work w = {rows, status, first};
        int64_t count = ROWS - first < AT_ONCE ? ROWS - first : AT_ONCE;
        hop_pool_run(l->pool, count, ask_row, &w);
        for (int64_t i = first; i < first + count && s == HOP_OK; i++)
            if (status[i] != HOP_OK)
                s = hop_fail(err, status[i], "map: no answer for row %lld", (long long)i);
        if (s == HOP_OK && !hop_progress_tick(&l->args->ask.progress, label, (double)(first + count), ROWS))
            s = hop_fail(err, HOP_ESTOPPED, "stopped");
    }
    free(status);
    return s;
}

hop_status hop__ladder_map_make(ladder *l, hop_error *err)
{
    hop_map *m = &l->map.page;
    l->map.rows = calloc(ROWS, sizeof *l->map.rows);
    if (!l->map.rows) return hop_fail(err, HOP_ENOMEM, "out of memory");
    *m = (hop_map){.linear_count = LINEARS,
                   .dim_count = WIDTHS,
                   .bit_count = PRECISIONS,
                   .rows = l->map.rows,
                   .row_count = ROWS,
                   .models = l->map.models,
                   .hops = 2,
                   .linear_at = 1,
                   .dim_at = 1};
    memcpy(m->linear, LINEAR, sizeof LINEAR);
    memcpy(m->dims, DIMS, sizeof DIMS);
    memcpy(m->bits, BITS, sizeof BITS);
    hop_status s = ask_all(l, l->map.rows, err);
    if (s == HOP_OK) s = hop__ladder_models(l, err);
    return s;
}

void hop__ladder_map_free(ladder *l)
{
    free(l->map.rows);
}
