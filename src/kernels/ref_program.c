/* ref_program.c - the truth of the recurrences, forward: their step programs (hopbound/arith.h), evaluated in
 * double, token by token, whatever form is asked for. The state is in double from the first token to the last.
 *
 * Columns of a state do not depend on each other, so a head is taken in strips of HOP__REF_COLUMNS of them:
 * scratch need not hold every product of a large one. mlstm's normaliser, which all columns are divided by, is
 * a column of ones' and goes with each strip. */
#include "room.h"

#include <hopbound/arith.h>

#include <string.h>

/* Where an input's numbers are: n floats for a token, `stride` to the next token's. */
typedef struct feed {
    double *to;
    const float *from;
    int64_t n, stride;
} feed;

typedef struct machine {
    hop_arith p;
    hop_arith_run r;
    feed in[HOP_ARITH_LINES];
    int count;
    int m, m1; /* mlstm's stabiliser, before and after; -1: there is none */
} machine;

static void machine_open(machine *a, const hop_program *program, int64_t keys, int64_t values)
{
    hop_arith_open(&a->p, program);
    a->r = (hop_arith_run){.p = &a->p, .size = {1, 1, keys, values}};
    a->m = hop_arith_find(&a->p, "m"), a->m1 = hop_arith_find(&a->p, "m1");
    a->count = 0;
}

static void machine_feed(machine *a, int line, const float *from, int64_t n, int64_t stride)
{
    a->in[a->count++] = (feed){a->r.value[line], from, n, stride};
}

/* From the state before token t to that after it. */
static void machine_step(machine *a, int64_t t)
{
    for (int i = 0; i < a->count; i++) {
        const feed *f = &a->in[i];
        for (int64_t k = 0; k < f->n; k++) f->to[k] = f->from[t * f->stride + k];
    }
    hop_arith_evaluate(&a->r);
    double *old = a->r.value[a->p.state];
    a->r.value[a->p.state] = a->r.value[a->p.next], a->r.value[a->p.next] = old;
    if (a->m >= 0) *a->r.value[a->m] = *a->r.value[a->m1];
}

/* ---- scans ----------------------------------------------------------------------------------- */

/* Columns col .. col + cols - 1 of a head. */
typedef struct strip {
    const hop__scan_task *task;
    hop_gate gate;
    int64_t head, key_head, col, cols;
    bool mlstm;
} strip;

static const hop_program *program_of(const strip *s)
{
    static const hop_arith_scan scans[] = {HOP_ARITH_DECAY, HOP_ARITH_DELTA, HOP_ARITH_DPLR, HOP_ARITH_MLSTM};
    return hop_scan_programs(scans[s->task->kind], s->gate, s->task->in->u)[0];
}

static void feed_by_name(machine *a, const strip *s, int line)
{
    const hop_scan *c = s->task->c;
    const hop_scan_in *in = s->task->in;
    const int64_t K = c->key_dim, h = s->head, key = s->key_head * K, gates = s->gate == HOP_GATE_KEY ? K : 1;
    const struct {
        const char *name;
        const float *from;
        int64_t offset, n, stride;
    } inputs[] = {
        {"q", in->q, key, K, c->q_stride},
        {"k", in->k, key, K, c->k_stride},
        {"a", in->a, key, K, c->k_stride},
        {"b", in->b, key, K, c->k_stride},
        {"v", in->v, h * c->value_dim + s->col, s->cols, c->v_stride},
        {"g", in->g, h * gates, gates, s->gate == HOP_GATE_HEAD ? 0 : c->gate_stride},
        {"beta", in->beta, h, 1, c->beta_stride},
        {"u", in->u, h * K, K, 0},
        {"i", in->i, h, 1, c->gate_stride},
        {"f", in->f, h, 1, c->gate_stride},
        {"scale", &c->scale, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(inputs[i].name, a->p.line[line]->name) == 0)
            machine_feed(a, line, inputs[i].from + inputs[i].offset, inputs[i].n, inputs[i].stride);
}

/* The caller's state, a float each [K, V], for mlstm n [K] and m behind it, to and from S and m. */
static void strip_load(const strip *s, machine *a, const float *state)
{
    const int64_t K = s->task->c->key_dim, V = s->task->c->value_dim, ld = a->r.size[HOP_AXIS_V];
    double *S = a->r.value[a->p.state];
    for (int64_t i = 0; i < K * ld; i++) S[i] = 0;
    if (s->mlstm) *a->r.value[a->m] = state ? state[K * V + K] : 0;
    for (int64_t k = 0; state && k < K; k++) {
        for (int64_t e = 0; e < s->cols; e++) S[k * ld + e] = state[k * V + s->col + e];
        if (s->mlstm) S[k * ld + s->cols] = state[K * V + k];
    }
}

/* m only behind the last strip: every strip begins with it. */
static void strip_store(const strip *s, const machine *a, float *state)
{
    const int64_t K = s->task->c->key_dim, V = s->task->c->value_dim, ld = a->r.size[HOP_AXIS_V];
    const double *S = a->r.value[a->p.state];
    const bool last = s->mlstm && s->col + s->cols == V;
    for (int64_t k = 0; k < K; k++) {
        for (int64_t e = 0; e < s->cols; e++) state[k * V + s->col + e] = (float)S[k * ld + e];
        if (last) state[K * V + k] = (float)S[k * ld + s->cols];
    }
    if (last) state[K * V + K] = (float)*a->r.value[a->m];
}

static void strip_run(const strip *s, float *state)
{
    const hop_scan *c = s->task->c;
    machine a;
    machine_open(&a, program_of(s), c->key_dim, s->cols + s->mlstm);
    assert(hop_arith_room(&a.p, a.r.size) * 2 <= (size_t)hop__ref_scan_floats(c->key_dim));
    hop_arith_place(&a.r, (double *)s->task->scratch);
    for (int i = 0; i < a.p.count; i++)
        if (a.p.line[i]->prim == HOP_PRIM_INPUT) feed_by_name(&a, s, i);
    strip_load(s, &a, state);
    if (s->mlstm) a.r.value[hop_arith_find(&a.p, "v")][s->cols] = 1;
    const double *o = a.r.value[s->mlstm ? hop_arith_find(&a.p, "h") : a.p.reads];
    for (int64_t t = 0; t < c->tokens; t++) {
        machine_step(&a, t);
        for (int64_t e = 0; e < s->cols; e++)
            s->task->o[t * c->o_stride + s->head * c->value_dim + s->col + e] = (float)o[e];
    }
    if (state) strip_store(s, &a, state);
}

void hop__ref_scan_forward(const hop__scan_task *t)
{
    const hop_scan *c = t->c;
    const int64_t K = c->key_dim, V = c->value_dim;
    strip s = {.task = t, .gate = t->in->g ? c->gate : HOP_GATE_NONE, .mlstm = t->kind == HOP__MLSTM};
    const int64_t size = K * V + (s.mlstm ? K + 1 : 0);
    for (int64_t h = t->head; h < t->head + t->heads; h++)
        for (s.col = 0; s.col < V; s.col += HOP__REF_COLUMNS) {
            s.head = h, s.key_head = h / (c->heads / c->key_heads);
            s.cols = hop__min(HOP__REF_COLUMNS, V - s.col);
            strip_run(&s, t->state ? t->state + h * size : NULL);
        }
}

/* ---- the selective scan and the elementwise recurrence ------------------------------------------ */

void hop__ref_select_forward(const hop__select_task *t)
{
    const hop_selective *c = t->c;
    const hop_selective_in *in = t->in;
    const int64_t N = c->states;
    machine a;
    machine_open(&a, hop_scan_programs(HOP_ARITH_SELECTIVE, HOP_GATE_NONE, false)[0], N, 1);
    assert(hop_arith_room(&a.p, a.r.size) <=
           (size_t)(N * HOP__SELECT_WIDTH)); /* of floats there are twice as many */
    hop_arith_place(&a.r, (double *)t->scratch);
    for (int64_t ch = t->first; ch < t->first + t->count; ch++) {
        static const float no_skip = 0.0f;
        a.count = 0;
        machine_feed(&a, hop_arith_find(&a.p, "x"), in->x + ch, 1, c->x_stride);
        machine_feed(&a, hop_arith_find(&a.p, "delta"), in->delta + ch, 1, c->delta_stride);
        machine_feed(&a, hop_arith_find(&a.p, "A"), in->A + ch * N, N, 0);
        machine_feed(&a, hop_arith_find(&a.p, "B"), in->B, N, c->b_stride);
        machine_feed(&a, hop_arith_find(&a.p, "C"), in->C, N, c->c_stride);
        machine_feed(&a, hop_arith_find(&a.p, "D"), in->D ? in->D + ch : &no_skip, 1, 0);
        for (int64_t n = 0; n < N; n++) a.r.value[a.p.state][n] = t->state ? t->state[ch * N + n] : 0.0;
        for (int64_t i = 0; i < c->tokens; i++) {
            machine_step(&a, i);
            t->o[i * c->o_stride + ch] = (float)*a.r.value[a.p.reads];
        }
        for (int64_t n = 0; t->state && n < N; n++) t->state[ch * N + n] = (float)a.r.value[a.p.state][n];
    }
}

void hop__ref_diagonal(float *h, const float *start, const float *a, const float *b, const hop__diagonal *c)
{
    double room[16];
    machine x;
    machine_open(&x, hop_scan_programs(HOP_ARITH_DIAGONAL, HOP_GATE_NONE, false)[0], 1, 1);
    assert(hop_arith_room(&x.p, x.r.size) <= sizeof room / sizeof *room);
    hop_arith_place(&x.r, room);
    for (int64_t i = 0; i < c->width; i++) {
        x.count = 0;
        machine_feed(&x, hop_arith_find(&x.p, "a"), a + i, 1, c->stride);
        machine_feed(&x, hop_arith_find(&x.p, "b"), b + i, 1, c->stride);
        *x.r.value[x.p.state] = start ? start[i] : 0.0;
        for (int64_t t = 0; t < c->tokens; t++) {
            machine_step(&x, t);
            h[t * c->stride + i] = (float)*x.r.value[x.p.reads];
        }
    }
}
