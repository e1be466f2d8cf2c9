/* body_attn_back.h - attention backward, one task: all gradients of one key head.
 *
 * With P = exp(scale·QKᵀ - lse), D = rowsum(o ⊙ do), dS = P ⊙ (do Vᵀ - D):
 *   dv = Pᵀ do,  dk = dSᵀ (scale q),  dq = scale · dS k.
 * Blocks of 64 query rows x 32 keys. Scores are recomputed, never stored: per block five products, all
 * through the same tile. Lanes are query rows for S, dP and dq, dimensions for dk and dv. One task owns dk
 * and dv of its key head and walks the query heads that share it in order, so sums have one order whatever
 * the pool.
 *
 * Scratch: dk and dv of the head, padded to whole panels (linear in tokens), and one block of everything
 * else. */

typedef struct back_block {
    const hop_attn *c;
    const float *k, *v;        /* of this key head */
    float *dk, *dv;            /* [tokens, kp], [tokens, vp]: sums */
    float *qt, *dot;           /* panels [dim, NR] of scale·q and do */
    float *q, *d_o;            /* the same as rows [64, kp], [64, vp], zero padded */
    float *dqt;                /* panels [key_dim, NR] */
    float *p, *ds;             /* [32, 64] */
    float *lse, *dsum;         /* [64] */
    float *copy;               /* [32, key_dim + value_dim]: keys and values at hand */
    int64_t kp, vp, row, rows; /* padded dims; the query rows at hand */
} back_block;

enum { BACK_LD = HOP__BACK_ROWS };

static void back_open(back_block *b, const hop__attn_back *t)
{
    const hop_attn *c = t->c;
    *b = (back_block){.c = c, .k = t->k + t->kv_head * c->key_dim, .v = t->v + t->kv_head * c->value_dim};
    b->kp = hop__round_up(c->key_dim, LANES);
    b->vp = hop__round_up(c->value_dim, LANES);
    float *at = t->scratch;
    b->dk = at, at += c->tokens * b->kp;
    b->dv = at, at += c->tokens * b->vp;
    memset(b->dk, 0, sizeof(float) * (size_t)(at - b->dk));
    b->qt = at, at += BACK_LD * c->key_dim;
    b->dot = at, at += BACK_LD * c->value_dim;
    b->q = at, at += BACK_LD * b->kp;
    b->d_o = at, at += BACK_LD * b->vp;
    memset(b->q, 0, sizeof(float) * (size_t)(at - b->q));
    b->dqt = at, at += BACK_LD * c->key_dim;
    b->p = at, at += HOP__BACK_KEYS * BACK_LD;
    b->ds = at, at += HOP__BACK_KEYS * BACK_LD;
    b->lse = at, at += BACK_LD;
    b->dsum = at, at += BACK_LD;
    b->copy = at;
}

/* Loads query rows [row, row + rows) of a head. */
static void back_rows(back_block *b, const hop__attn_back *t, int64_t head, int64_t row, int64_t rows)
{
    const hop_attn *c = b->c;
    const float *q = t->q + row * c->q_stride + head * c->key_dim;
    const float *o = t->o + row * c->o_stride + head * c->value_dim;
    const float *d_o = t->g->d_o + row * c->o_stride + head * c->value_dim;
    b->row = row;
    b->rows = rows;
    panels_from_rows(b->qt, q, c->q_stride, rows, c->key_dim, c->scale);
    panels_from_rows(b->dot, d_o, c->o_stride, rows, c->value_dim, 1.0f);
    memset(b->dqt, 0, sizeof(float) * (size_t)(BACK_LD * c->key_dim));
    for (int64_t r = 0; r < BACK_LD; r++) b->lse[r] = b->dsum[r] = 0.0f;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e = 0; e < c->key_dim; e++) b->q[r * b->kp + e] = q[r * c->q_stride + e] * c->scale;
        row_copy(b->d_o + r * b->vp, d_o + r * c->o_stride, c->value_dim);
        b->lse[r] = t->lse[head * c->queries + row + r];
        dots(b->dsum + r, o + r * c->o_stride, d_o + r * c->o_stride, 0, c->value_dim, 1);
    }
}

/* P and dS of keys [j, j + n) for one panel of rows, dq's part. Weights of keys that a whole register does
 * not see are zero, for the products over rows. */
static void back_weights(const back_block *b, const attn_panel *p, const attn_keys *keys, int64_t at,
                         int64_t n)
{
    const hop_attn *c = b->c;
    const int64_t few = keys_seen(p, c, 0, keys->first, n),
                  all = keys_seen(p, c, p->wide - 1, keys->first, n);
    tile_job t = {.c = b->p + at, .ldc = BACK_LD, .rs = keys->k_stride, .cs = 1, .ldb = NR, .k = c->key_dim};
    t.a = keys->k;
    t.b = b->qt + at * c->key_dim;
    panel_stair(t, few, all, p->wide);
    t.c = b->ds + at;
    t.a = keys->v;
    t.rs = keys->v_stride;
    t.b = b->dot + at * c->value_dim;
    t.k = c->value_dim;
    panel_stair(t, few, all, p->wide);
    for (int w = 0; w < p->wide; w++) {
        float *s = b->p + at + w * LANES, *ds = b->ds + at + w * LANES;
        const int64_t seen = w ? all : few;
        mask_register(s, BACK_LD, p, c, w, keys->first, seen);
        vf lse = v_load(b->lse + at + w * LANES), dsum = v_load(b->dsum + at + w * LANES);
        for (int64_t i = 0; i < seen; i++, s += BACK_LD, ds += BACK_LD) {
            vf e = v_exp_low(v_load(s) - lse);
            v_store(s, e);
            v_store(ds, e * (v_load(ds) - dsum));
        }
        for (int64_t i = seen; i < n; i++, s += BACK_LD, ds += BACK_LD)
            v_store(s, (vf){0}), v_store(ds, (vf){0});
    }
    t = (tile_job){.c = b->dqt + at * c->key_dim, .ldc = NR, .a = keys->k, .rs = 1, .cs = keys->k_stride};
    t.b = b->ds + at, t.ldb = BACK_LD, t.k = few, t.more = all - few, t.mode = TILE_ADD;
    if (t.more > 0)
        panel_more(&t, c->key_dim);
    else
        panel(&t, c->key_dim, p->wide);
}

/* sum[j .. j + n, dim] += wᵀ x over the block's rows that see these keys: w is [keys, 64], x is [64, pad]. A
 * tile of keys leaves out the rows before its first one. */
static void back_keys(const back_block *b, float *sum, const float *w, const float *x, int64_t pad, int64_t j,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i += MR) {
        const int64_t first = b->c->bidirectional ? 0 : hop__max(0, j + i - b->row);
        if (first >= b->rows) return;
        for (int64_t e = 0; e < pad; e += NR) {
            tile_job t = {.c = sum + i * pad + e, .ldc = pad, .a = w + i * BACK_LD + first, .rs = BACK_LD};
            t.cs = 1, t.ldb = pad;
            t.b = x + first * pad + e;
            t.k = b->rows - first;
            t.mode = TILE_ADD;
            panel(&t, hop__min(MR, n - i), width_for(pad - e));
        }
    }
}

static void back_run(const back_block *b)
{
    const hop_attn *c = b->c;
    int64_t lo, hi, unused;
    hop__attn_range(c, b->row, &lo, &unused);
    hop__attn_range(c, b->row + b->rows - 1, &unused, &hi);
    for (int64_t j = lo; j < hi; j += HOP__BACK_KEYS) {
        int64_t n = hop__min(HOP__BACK_KEYS, hi - j);
        /* Panels that see none of the keys are left out. */
        int64_t first = c->bidirectional ? 0 : hop__max(0, j - b->row) / NR * NR;
        attn_keys keys = {.k_stride = c->k_stride, .v_stride = c->v_stride, .first = j};
        keys.k = rows_gather(b->copy, b->k + j * c->k_stride, &keys.k_stride, n, c->key_dim);
        keys.v =
            rows_gather(b->copy + n * c->key_dim, b->v + j * c->v_stride, &keys.v_stride, n, c->value_dim);
        for (int64_t r = first; r < b->rows; r += NR) {
            attn_panel p = {.pos = b->row + r, .rows = hop__min(NR, b->rows - r)};
            p.wide = width_for(p.rows);
            back_weights(b, &p, &keys, r, n);
        }
        back_keys(b, b->dv + j * b->vp, b->p, b->d_o, b->vp, j, n);
        back_keys(b, b->dk + j * b->kp, b->ds, b->q, b->kp, j, n);
    }
}

static void attn_backward(const hop__attn_back *t)
{
    const hop_attn *c = t->c;
    back_block b;
    back_open(&b, t);
    int64_t group = c->heads / c->kv_heads;
    for (int64_t head = t->kv_head * group; head < (t->kv_head + 1) * group; head++) {
        for (int64_t row = 0; row < c->queries; row += HOP__BACK_ROWS) {
            int64_t rows = hop__min(HOP__BACK_ROWS, c->queries - row);
            back_rows(&b, t, head, row, rows);
            back_run(&b);
            for (int64_t i = 0; i < BACK_LD * c->key_dim; i += LANES)
                v_store(b.dqt + i, v_load(b.dqt + i) * c->scale);
            for (int64_t r = 0; r < rows; r += NR)
                transpose(t->g->dq + (row + r) * c->q_stride + head * c->key_dim, c->q_stride,
                          b.dqt + r * c->key_dim, NR, c->key_dim, hop__min(NR, rows - r));
        }
    }
    for (int64_t j = 0; j < c->tokens; j++) {
        memcpy(t->g->dk + j * c->k_stride + t->kv_head * c->key_dim, b.dk + j * b.kp,
               sizeof(float) * (size_t)c->key_dim);
        memcpy(t->g->dv + j * c->v_stride + t->kv_head * c->value_dim, b.dv + j * b.vp,
               sizeof(float) * (size_t)c->value_dim);
    }
}
