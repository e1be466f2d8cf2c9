/* body_attn_trace.h - what attention's panels form, told as hopbound/arith_trace.h says: a unit is a block of keys as one
 * query sees it, and a token is a query. Nothing but in tests. */
#ifdef HOP_TRACE
/* Keys [*from, *end) of [j, j + n) are those that row r of the panel sees; its first score is returned. */
static const float *trace_seen(const attn_panel *p, const hop_attn *c, int64_t r, const float *s, int64_t j,
                               int64_t n, int64_t *count)
{
    int64_t lo, hi;
    hop__attn_range(c, p->pos + r, &lo, &hi);
    lo = hop__max(lo, j), hi = hop__min(hi, j + n);
    *count = hop__max(0, hi - lo);
    return s + (lo - j) * NR + r;
}

/* Scores of keys j .. j + n - 1, and what each row has summed up so far. */
static void trace_scores(const char *form, const attn_panel *p, const hop_attn *c, const float *s, int64_t j,
                         int64_t n)
{
    for (int64_t r = 0, count; r < p->rows; r++) {
        const float *at = trace_seen(p, c, r, s, j, n, &count);
        if (count == 0) continue;
        TRACE_UNIT(.form = form, .head = p->pos - c->first + r, .first = j + (at - r - s) / NR, .n = count,
                   .state = p->ot + r, .ld = NR, .m = p->top[r], .z = p->sum[r]);
        TRACE("qs", p->qt + r, ALONG(K, c->key_dim, NR));
        TRACE("s", at, ALONG(J, count, NR));
    }
}

/* Numbers of those keys, of one name. */
static void trace_keys(const char *name, const attn_panel *p, const hop_attn *c, const float *s, int64_t j,
                       int64_t n)
{
    for (int64_t r = 0, count; r < p->rows; r++) {
        const float *at = trace_seen(p, c, r, s, j, n, &count);
        if (count == 0) continue;
        TRACE_TOKEN(p->pos - c->first + r);
        TRACE(name, at, ALONG(J, count, NR));
    }
}

/* The same of the rows of register w alone. */
static void trace_lanes(const char *name, const attn_panel *p, const hop_attn *c, const float *s, int64_t j,
                        int64_t n, int w)
{
    for (int64_t r = w * LANES, count; r < hop__min(p->rows, (w + 1) * LANES); r++) {
        const float *at = trace_seen(p, c, r, s, j, n, &count);
        if (count == 0) continue;
        TRACE_TOKEN(p->pos - c->first + r);
        TRACE(name, at, ALONG(J, count, NR));
    }
}

/* One number of each row that sees any of these keys. */
static void trace_each(const char *name, const attn_panel *p, const hop_attn *c, const float *x, int64_t j,
                       int64_t n)
{
    for (int64_t r = 0, count; r < p->rows; r++) {
        trace_seen(p, c, r, x, j, n, &count);
        if (count == 0) continue;
        TRACE_TOKEN(p->pos - c->first + r);
        TRACE(name, x + r, AT(J, 0));
    }
}

static void trace_softmax(const attn_panel *p, const hop_attn *c, const float *s, const float *alpha,
                          int64_t j, int64_t n)
{
    trace_each("m", p, c, p->top, j, n);
    trace_keys("w", p, c, s, j, n);
    trace_each("shrink", p, c, alpha, j, n);
    trace_each("z", p, c, p->sum, j, n);
}

/* Sums of values, or what they are divided by their weights: of rows that see any of these keys. */
static void trace_sums(const char *name, const attn_panel *p, const hop_attn *c, int64_t j, int64_t n)
{
    for (int64_t r = 0, count; r < p->rows; r++) {
        trace_seen(p, c, r, p->ot, j, n, &count);
        if (count == 0) continue;
        TRACE_TOKEN(p->pos - c->first + r);
        TRACE(name, p->ot + r, ALONG(V, c->value_dim, NR));
    }
}
#else
#define trace_scores(...)  ((void)0)
#define trace_keys(...)    ((void)0)
#define trace_each(...)    ((void)0)
#define trace_lanes(...)   ((void)0)
#define trace_softmax(...) ((void)0)
#define trace_sums(...)    ((void)0)
#endif
