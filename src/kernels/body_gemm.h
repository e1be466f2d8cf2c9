/* body_gemm.h - one task of a matrix product, and the product of a matrix with one vector.
 *
 * b is copied into panels of GEMM_DEPTH x NR floats (16 KB on AVX2: half of L1) unless its rows can be read
 * as they lie; a is broadcast in place. So nothing is allocated, and the copy of a panel serves up to
 * HOP__GEMM_ROWS rows. */

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

/* c[m, n] = from + or = the narrow block `t` computes, through `part` because a panel writes whole registers.
 */
static void panel_to_columns(tile_job t, float *part, int64_t m, int64_t n)
{
    float *c = t.c;
    const int64_t ldc = t.ldc, ldf = t.ldf;
    const float *from = t.mode == TILE_ADD ? t.from : NULL;
    t.c = part;
    t.ldc = NR;
    t.mode = TILE_SET;
    panel(&t, m, width_for(n));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = (from ? from[i * ldf + j] : 0.0f) + part[i * NR + j];
}

/* While this panel's m rows are computed the next one, columns j .. n - 1 of b, is asked for: weights and
 * gradients of a network in training come from the third level of cache. */
static void panel_ahead(ahead *a, hop_mat b, int64_t p0, int64_t depth, int64_t j, int64_t n, int64_t m)
{
    const float *p = b.p + p0 * b.rs + j * b.cs;
    const int64_t cols = hop__min(NR, n - j);
    a->count = 0, a->tiles = m / MR;
    if (b.rs == 1)
        ahead_add(a, p, b.cs, depth, cols);
    else if (b.cs == 1)
        ahead_add(a, p, b.rs, cols, depth);
    ahead_begin(a);
}

static void gemm(float *c, int64_t ldc, hop_mat a, hop_mat b, const int64_t mnk[3], hop__start start)
{
    enum { few = 2 * MR }; /* so few rows do not repay the copy of a panel that lies well */
    const int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    float packed[HOP__GEMM_DEPTH * NR], part[HOP__GEMM_ROWS * NR];
    ahead next = {.count = 0};
    assert(m <= HOP__GEMM_ROWS);
    for (int64_t i = 0; k == 0 && start.p != c && i < m; i++)
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = start.p ? start.p[i * start.stride + j] : 0.0f;
    for (int64_t p = 0; p < k; p += HOP__GEMM_DEPTH) {
        int64_t depth = hop__min(HOP__GEMM_DEPTH, k - p);
        for (int64_t j = 0; j < n; j += NR) {
            int64_t cols = hop__min(NR, n - j);
            bool direct = b.cs == 1 && (cols == NR || cols == LANES) && m <= few;
            if (!direct) pack_panel(packed, b, p, depth, j, cols);
            tile_job t = {.c = c + j, .ldc = ldc, .a = a.p + p * a.cs, .rs = a.rs, .cs = a.cs, .k = depth};
            t.b = direct ? b.p + p * b.rs + j : packed;
            t.ldb = direct ? b.rs : NR;
            const hop__start now = p > 0 ? (hop__start){c, ldc} : start;
            t.mode = now.p ? TILE_ADD : TILE_SET;
            if (now.p) t.from = now.p + j, t.ldf = now.stride;
            if (m > 4 * MR && j + NR < n) t.ahead = &next, panel_ahead(&next, b, p, depth, j + NR, n, m);
            if (cols == NR || cols == LANES)
                panel(&t, m, width_for(cols));
            else
                panel_to_columns(t, part, m, cols);
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
