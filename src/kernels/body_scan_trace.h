/* body_scan_trace.h - the coefficients of a chunk whose keys have a gate each, told as hopbound/arith_trace.h says. Nothing but
 * in tests. */
#ifdef HOP_TRACE
/* Rows from .. to - 1: what they meet the state with. */
static void trace_rows(const chunk *h, int64_t from, int64_t to)
{
    const int64_t K = h->s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    TRACE_TOKEN(h->first + from);
    TRACE("E", h->decay + (from + 1) * Kp, ALONG(T, to - from, Kp), ALONG(K, K, 1));
    if (h->s->u || h->s->kind == HOP__DPLR)
        TRACE("Eb", h->decay + from * Kp, ALONG(T, to - from, Kp), ALONG(K, K, 1));
    TRACE("cS", h->cq + from * h->row, ALONG(T, to - from, h->row), ALONG(K, K, 1));
    if (h->s->kind != HOP__DECAY)
        TRACE("ca", h->ca + from * h->row, ALONG(T, to - from, h->row), ALONG(K, K, 1),
              .negated = h->s->kind == HOP__DELTA);
}

/* Columns 0 .. cols - 1, divided by their decay. */
static void trace_divided(const chunk *h, int64_t cols)
{
    const int64_t K = h->s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    TRACE_TOKEN(h->first);
    TRACE("kt", h->q, ALONG(T, cols, Kp), ALONG(K, K, 1));
    if (h->s->kind == HOP__DPLR) TRACE("bt", h->a, ALONG(T, cols, Kp), ALONG(K, K, 1));
}

/* Columns 0 .. mild - 1 as they are divided, and the rows' pairs with them. */
static void trace_mild(const chunk *h, int64_t mild)
{
    const int64_t K = h->s->K, keys = K + h->width - CHUNK;
    const bool dplr = h->s->kind == HOP__DPLR, delta = h->s->kind == HOP__DELTA;
    TRACE_ROWS("mild");
    trace_rows(h, 0, mild);
    trace_divided(h, mild);
    TRACE("pair", h->cq + keys, ALONG(T, mild, h->row), ALONG(J, mild, 1), .lower = UP_TO_OWN);
    if (delta)
        TRACE("meet", h->ca + K, ALONG(T, mild, h->row), ALONG(J, mild, 1), .lower = UP_TO_OWN,
              .negated = true);
    if (!dplr) return;
    TRACE("pair_b", h->cq + K, ALONG(T, mild, h->row), ALONG(J, mild, 1), .lower = UP_TO_OWN);
    TRACE("meet", h->ca + K, ALONG(T, mild, h->row), ALONG(J, mild, 1), .lower = UP_TO_OWN);
    TRACE("asked", h->ca + keys, ALONG(T, mild, h->row), ALONG(J, mild, 1), .lower = UP_TO_OWN);
}

/* Coefficients of rows from .. to - 1 and columns 0 .. cols - 1, as the output and the system see them. */
static void trace_coefficients(const chunk *h, int64_t from, int64_t to, int64_t cols)
{
    const int64_t K = h->s->K, row = h->row, keys = K + h->width - CHUNK, n = to - from;
    const bool dplr = h->s->kind == HOP__DPLR, delta = h->s->kind == HOP__DELTA;
    const float *cq = h->cq + from * row, *ca = h->ca + from * row;
    TRACE_TOKEN(h->first + from);
    TRACE("C", cq + keys, ALONG(T, n, row), ALONG(J, cols, 1), .lower = h->s->u ? BEFORE_OWN : 0);
    if (delta) TRACE("c", ca + K, ALONG(T, n, row), ALONG(J, cols, 1), .negated = true);
    if (!dplr) return;
    TRACE("c", ca + K, ALONG(T, n, row), ALONG(J, cols, 1));
    TRACE("cv", ca + keys, ALONG(T, n, row), ALONG(J, cols, 1));
    TRACE("Cb", cq + K, ALONG(T, n, row), ALONG(J, cols, 1));
}

/* Rows t0 .. t1 - 1 as they are seen from the start of their block, and the block's decay. */
static void trace_weighed(const chunk *h, int64_t t0, int64_t t1)
{
    const int64_t K = h->s->K, Kp = hop__round_up(K, HOP__PANEL_MAX);
    const bool dplr = h->s->kind == HOP__DPLR, delta = h->s->kind == HOP__DELTA;
    if (t0 == 0) return; /* no column before it meets them */
    TRACE_TOKEN(h->first + t0);
    TRACE("qd", h->q + t0 * Kp, AT(J, t0 - 1), ALONG(T, t1 - t0, Kp), ALONG(K, K, 1));
    if (delta)
        TRACE("kd", h->a + t0 * Kp, AT(J, t0 - 1), ALONG(T, t1 - t0, Kp), ALONG(K, K, 1), .negated = true);
    if (dplr) TRACE("ad", h->a + t0 * Kp, AT(J, t0 - 1), ALONG(T, t1 - t0, Kp), ALONG(K, K, 1));
    TRACE("dec", h->near, AT(T, t1 - 1 - t0), AT(J, t0 - 1), ALONG(K, K, 1));
}

/* Columns 0 .. to - 1 as they are behind token to - 1. */
static void trace_columns(const chunk *h, int64_t to)
{
    const int64_t K = h->s->K;
    TRACE_TOKEN(h->first);
    if (to == 0) return;
    TRACE("near", h->right + h->width - CHUNK, AT(T, to - 1), ALONG(K, K, h->width), ALONG(J, to, 1));
    if (h->s->kind == HOP__DPLR)
        TRACE("near_b", h->right, AT(T, to - 1), ALONG(K, K, h->width), ALONG(J, to, 1));
}

/* Rows from .. t1 - 1 of the block that begins at t0: pairs with columns before it, and with its own. */
static void trace_block(const chunk *h, int64_t t0, int64_t t1, int64_t from)
{
    const int64_t K = h->s->K, row = h->row, keys = K + h->width - CHUNK, n = t1 - from, own = t1 - t0;
    const bool dplr = h->s->kind == HOP__DPLR, delta = h->s->kind == HOP__DELTA;
    const float *cq = h->cq + from * row + t0, *ca = h->ca + from * row + t0;
    const enum hop__lower till = h->s->u ? BEFORE_OWN : UP_TO_OWN;
    trace_coefficients(h, from, t1, t0);
    TRACE("near_C", cq + keys, AT(J, t0), ALONG(T, n, row), ALONG(J, own, 1), .lower = till);
    if (delta)
        TRACE("near_c", ca + K, AT(J, t0), ALONG(T, n, row), ALONG(J, own, 1), .lower = BEFORE_OWN,
              .negated = true);
    if (!dplr) return;
    TRACE("near_Cb", cq + K, AT(J, t0), ALONG(T, n, row), ALONG(J, own, 1), .lower = till);
    TRACE("near_meet", ca + K, AT(J, t0), ALONG(T, n, row), ALONG(J, own, 1), .lower = BEFORE_OWN);
    TRACE("near_asked", ca + keys, AT(J, t0), ALONG(T, n, row), ALONG(J, own, 1), .lower = BEFORE_OWN);
}

/* What the new state is made of. */
static void trace_right(const chunk *h)
{
    const int64_t K = h->s->K;
    TRACE_TOKEN(h->first);
    TRACE("right", h->right + h->width - CHUNK, ALONG(K, K, h->width), ALONG(J, h->n, 1));
    if (h->s->kind == HOP__DPLR) TRACE("right_b", h->right, ALONG(K, K, h->width), ALONG(J, h->n, 1));
    TRACE("sum", h->near, ALONG(K, K, 1));
    TRACE("fade", h->hi, .lo = h->lo, ALONG(K, K, 1));
}
#else
#define trace_mild(h, mild)                   ((void)0)
#define trace_rows(h, from, to)               ((void)0)
#define trace_coefficients(h, from, to, cols) ((void)0)
#define trace_divided(h, cols)                ((void)0)
#define trace_weighed(h, t0, t1)              ((void)0)
#define trace_columns(h, to)                  ((void)0)
#define trace_block(h, t0, t1, from)          ((void)0)
#define trace_right(h)                        ((void)0)
#endif
