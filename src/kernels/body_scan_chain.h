/* body_scan_chain.h - sums of several products, in one chain and without leaving the registers.
 *
 * A row of a gradient is a product with a state, decayed, plus products with rows of the chunk, of which a
 * triangle is empty; and it may be the row of a triangular system that is solved from the last row up. */

/* Which of the chunk's tokens are terms of a tile's rows; where a holds zeros, they need not be. */
typedef enum reach { EVERY, UP_TO_LAST, FROM_FIRST, BEHIND } reach;

/* A product with a state, and what tokens of the chunk add to it, in one chain of sums. */
typedef struct chain {
    tile_job t;          /* a[n, ..] times a state, and where it all goes; chain_tile is called with this */
    const float *factor; /* [n]: rows of that product are multiplied by it; NULL: they are not */
    const float *with;   /* if `parts`: partial sums of that product's rows times these, Kp apart, .. */
    float *parts;        /* .. are added to [n, LANES]; may be NULL */
    int64_t Kp;
    int count; /* of what follows */
    tile_job more[2];
    reach reach[2];
    bool solve; /* the last of these multiplies the rows of c: strictly upper, solved from the last row up */
} chain;

INLINE void chain_more(const tile_job *more, reach r, int64_t first, vf sum[MR][NV], const int rows,
                       const int wide)
{
    tile_job t = *more;
    const int64_t skip = r == FROM_FIRST ? first : r == BEHIND ? first + rows : 0;
    t.a += skip * t.cs, t.b += skip * t.ldb;
    t.k = (r == UP_TO_LAST ? first + rows : t.k) - skip;
    tile_terms(&t, first, sum, rows, wide);
}

/* The rows among themselves, last first. */
INLINE void chain_solve(const tile_job *t, int64_t first, vf sum[MR][NV], const int rows, const int wide)
{
    const float *own = t->a + first * (t->rs + t->cs);
    UNROLL for (int i = rows - 2; i >= 0; i--)
    {
        UNROLL for (int j = i + 1; j < rows; j++)
        {
            UNROLL for (int w = 0; w < wide; w++) sum[i][w] += own[i * t->rs + j * t->cs] * sum[j][w];
        }
    }
}

INLINE void chain_tile(const tile_job *t, int64_t first, const int rows, const int wide)
{
    const chain *h = (const chain *)t;
    vf sum[MR][NV];
    tile_sums(t, first, sum, rows, wide);
    UNROLL for (int i = 0; i < rows; i++)
    {
        if (!h->parts) break;
        const float *with = h->with + (first + i) * h->Kp;
        vf part = v_load(h->parts + (first + i) * LANES);
        UNROLL for (int w = 0; w < wide; w++) part += sum[i][w] * v_load(with + w * LANES);
        v_store(h->parts + (first + i) * LANES, part);
    }
    UNROLL for (int i = 0; i < rows; i++)
    {
        if (!h->factor) break;
        UNROLL for (int w = 0; w < wide; w++) sum[i][w] *= h->factor[first + i];
    }
    for (int m = 0; m < h->count; m++) chain_more(&h->more[m], h->reach[m], first, sum, rows, wide);
    if (h->solve) chain_solve(&h->more[h->count - 1], first, sum, rows, wide);
    tile_write(t, first, sum, rows, wide);
}

static void chain_wide(const tile_job *t, int64_t rows)
{
    tile_rows_up(t, rows, NV, chain_tile);
}
static void chain_half(const tile_job *t, int64_t rows)
{
    tile_rows_up(t, rows, 1, chain_tile);
}
