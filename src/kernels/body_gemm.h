/* body_gemm.h - one task of a matrix product, and the product of a matrix with one vector.
 *
 * b is copied into panels of GEMM_DEPTH x NR floats (16 KB on AVX2: half of L1) unless its rows can be read
 * as they lie, or all its panels were laid out before; a is broadcast in place. So nothing is allocated, and
 * the copy of a panel serves up to HOP__GEMM_ROWS rows. */

/* Copies b[p0 .. p0+depth, j .. j+n) into rows of NR floats, zeros behind. */
static void pack_panel(float *dst, hop_mat b, int64_t p0, int64_t depth, int64_t j, int64_t n)
{
    const float *src = b.p + p0 * b.rs + j * b.cs;
    if (n < NR) memset(dst, 0, sizeof(float) * (size_t)(depth * NR));
    if (b.rs == 1) {
        transpose(dst, NR, src, b.cs, n, depth);
        return;
    }
    for (int64_t p = 0; p < depth; p++, src += b.rs, dst += NR) {
        if (b.cs == 1 && n == NR) {
            UNROLL for (int w = 0; w < NV; w++) v_store(dst + w * LANES, v_load(src + w * LANES));
        } else {
            for (int64_t i = 0; i < n; i++) dst[i] = src[i * b.cs];
        }
    }
}

/* b as products read it: panel after panel. */
static void panels(float *to, hop_mat b, int64_t k, int64_t n)
{
    for (int64_t j = 0; j < n; j += NR) pack_panel(to + j * k, b, 0, k, j, hop__min(NR, n - j));
}

/* Columns j .. j + n - 1 of a product: `part` has the sums of the terms at hand. */
static void finish_columns(const hop_product *g, const float *part, int64_t j, int64_t n, bool first,
                           bool last)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t e = j; e < j + n; e++) {
            float x = part[i * NR + e - j], *c = &g->c[i * g->ldc + e];
            x += !first ? *c : g->from.p ? g->from.p[i * g->from.stride + e] : 0.0f;
            if (last && g->plus.p) x += g->plus.p[i * g->plus.stride + e];
            if (last && g->times.p) x *= g->times.p[i * g->times.stride + e];
            if (last && g->sum) g->sum[e] += x;
            *c = x;
        }
}

/* While this panel's rows are computed the next one, from column j on, is asked for: weights come from the
 * third level of cache, or from memory. */
static void panel_ahead(ahead *a, const hop_product *g, int64_t p0, int64_t depth, int64_t j)
{
    const float *p = g->b.p + p0 * g->b.rs + j * g->b.cs;
    const int64_t cols = hop__min(NR, g->n - j);
    a->count = 0, a->tiles = g->m / MR;
    if (g->b.rs == 1)
        ahead_add(a, p, g->b.cs, depth, cols);
    else if (g->b.cs == 1)
        ahead_add(a, p, g->b.rs, cols, depth);
    ahead_begin(a);
}

/* What the sums of columns from j on begin with and end with. */
static tile_end end_at(const hop_product *g, int64_t j)
{
    return (tile_end){.plus = g->plus.p ? g->plus.p + j : NULL,
                      .times = g->times.p ? g->times.p + j : NULL,
                      .plus_stride = g->plus.stride,
                      .times_stride = g->times.stride,
                      .sum = g->sum ? g->sum + j : NULL};
}

static void whole_panel(const hop_product *g, tile_job *t, int64_t j, int64_t cols, bool first, bool last)
{
    const hop_rows from = first ? g->from : (hop_rows){g->c, g->ldc};
    const tile_end end = end_at(g, j);
    if (from.p) t->mode = TILE_ADD, t->from = from.p + j, t->ldf = from.stride;
    if (last && (end.plus || end.times || end.sum)) t->end = &end;
    if (from.p == g->c)
        t->meets = t->from, t->meets_stride = t->ldf;
    else if (t->end && end.times)
        t->meets = end.times, t->meets_stride = end.times_stride;
    else if (t->end)
        t->meets = end.plus, t->meets_stride = end.plus_stride;
    panel(t, g->m, width_for(cols));
}

/* Lines of the next panel that a tile asks for. A term of a large tile takes as long as a line of the third
 * level does, so the first tiles ask with every term: a loop that ends early costs more. Small ones would ask
 * too fast, and share them out. */
INLINE int64_t lines_a_tile(int64_t m, int64_t depth)
{
    return MR * NR >= 12 * 32 ? depth : (depth * NR / LINE + m / MR - 1) / (m / MR);
}

static void gemm(const hop_product *g)
{
    enum { few = 2 * MR }; /* so few rows do not repay the copy of a panel that lies well */
    const hop_mat a = g->a, b = g->b;
    const int64_t m = g->m, n = g->n, k = g->k;
    const bool far = m > 4 * MR && g->from.p != g->c; /* sums of many steps are of rows that are at hand */
    float packed[HOP__GEMM_DEPTH * NR], part[HOP__GEMM_ROWS * NR];
    ahead next = {.count = 0};
    assert(m <= HOP__GEMM_ROWS);
    if (k == 0) memset(part, 0, sizeof part);
    for (int64_t j = 0; k == 0 && j < n; j += NR) finish_columns(g, part, j, hop__min(NR, n - j), true, true);
    for (int64_t p = 0; p < k; p += HOP__GEMM_DEPTH) {
        const int64_t depth = hop__min(HOP__GEMM_DEPTH, k - p);
        for (int64_t j = 0; j < n; j += NR) {
            const int64_t cols = hop__min(NR, n - j);
            const bool whole = cols == NR || cols == LANES, more = j + NR < n;
            tile_job t = {.c = g->c + j, .ldc = g->ldc, .a = a.p + p * a.cs, .rs = a.rs, .cs = a.cs};
            t.k = depth, t.b = packed, t.ldb = NR;
            if (g->panels) {
                t.b = g->panels + j * k + p * NR;
                if (more && m >= MR) t.soon = t.b + NR * k, t.soon_lines = lines_a_tile(m, depth);
            } else if (b.cs == 1 && whole && m <= few) {
                t.b = b.p + p * b.rs + j, t.ldb = b.rs;
            } else {
                pack_panel(packed, b, p, depth, j, cols);
                if (far && more) t.ahead = &next, panel_ahead(&next, g, p, depth, j + NR);
            }
            if (whole) {
                whole_panel(g, &t, j, cols, p == 0, p + depth == k);
            } else { /* a panel writes whole registers */
                t.c = part, t.ldc = NR;
                panel(&t, m, width_for(cols));
                finish_columns(g, part, j, cols, p == 0, p + depth == k);
            }
        }
    }
}

/* Sums over `in` of `rows` rows of w with x; lanes run along the row. */
INLINE void dots(float *y, const float *x, const float *w, int64_t ld, int64_t in, const int rows)
{
    vf sum[4];
    UNROLL for (int r = 0; r < rows; r++) sum[r] = (vf){0};
    int64_t i = 0;
    for (; i + LANES <= in; i += LANES)
        UNROLL for (int r = 0; r < rows; r++) sum[r] += v_load(x + i) * v_load(w + r * ld + i);
    float tail[4] = {0};
    for (; i < in; i++)
        for (int r = 0; r < rows; r++) tail[r] += x[i] * w[r * ld + i];
    UNROLL for (int r = 0; r < rows; r++) y[r] = v_sum(sum[r]) + tail[r];
}

static void matvec(float *y, const float *x, const float *w, const float *bias, int64_t out, int64_t in)
{
    int64_t o = 0;
    for (; o + 4 <= out; o += 4) dots(y + o, x, w + o * in, in, in, 4);
    for (; o < out; o++) dots(y + o, x, w + o * in, in, in, 1);
    for (o = 0; bias && o < out; o++) y[o] += bias[o];
}
