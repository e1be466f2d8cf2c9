/* trace_case.h - for test_trace.c: runs the traced table, evaluates the program of each unit that it begins, and compares
 * what it tells. */
#ifndef HOP_TESTS_TRACE_CASE_H
#define HOP_TESTS_TRACE_CASE_H

#include <stdio.h>

#include "scan_case.h"
#include "trace_bound.h"

#define HOP_TRACE
#include <hopbound/arith_trace.h>

extern const hop__kernels hop__kernels_traced;

enum { CHANNELS = 40, PROGRAMS = 64 };

/* An input by its name: n floats of each head or channel, `head` apart, tokens `stride` apart. */
typedef struct given {
    const char *name;
    const float *from;
    int64_t n, head, stride;
} given;

/* One program, evaluated: of a unit's head, or of one channel. */
typedef struct slot {
    hop_arith p;
    bounded b;
    int program; /* which of tracer.program */
    double *room, *off;
} slot;

static struct {
    const hop_program *const *forms;
    given in[12];
    int inputs;
    int64_t keys, values, share; /* share: value heads of a key head */
    bool channels;               /* lanes are channels, each with a program of its own */
    int64_t width;
    hop__trace_start unit;
    int64_t token;
    slot slots[CHANNELS]; /* of a scan: the form's, and steep's */
    int current;
    const hop_program *program[PROGRAMS];
    int64_t seen[PROGRAMS][HOP_ARITH_LINES];
    int programs;
    int64_t compared, wrong, loose;
    double worst;          /* of the bounds, what was used at the most */
    const char *falsified; /* an input that is changed for the program alone; NULL: none */
    bool quiet, met;       /* wrong ones are counted; the falsified input was met */
} tracer;

/* What was seen stays: it is looked at in the end. */
static inline void tracer_reset(void)
{
    tracer.compared = tracer.wrong = tracer.loose = 0;
    tracer.worst = 0;
    tracer.falsified = NULL, tracer.quiet = tracer.met = false;
}

static inline int program_number(const hop_program *p)
{
    for (int i = 0; i < tracer.programs; i++)
        if (tracer.program[i] == p) return i;
    assert_true(tracer.programs < PROGRAMS);
    tracer.program[tracer.programs] = p;
    return tracer.programs++;
}

static inline bool is_key_input(const char *name)
{
    return strcmp(name, "q") == 0 || strcmp(name, "k") == 0 || strcmp(name, "a") == 0 ||
           strcmp(name, "b") == 0;
}

static inline void fill_state(slot *s, int64_t channel)
{
    const hop__trace_start *u = &tracer.unit;
    double *S = s->b.r.value[s->p.state];
    const int64_t V = tracer.channels ? 1 : tracer.values, n = hop_arith_count(&s->b.r, s->p.state);
    for (int64_t i = 0; i < n; i++)
        S[i] = u->state ? u->state[i / V * u->ld + (tracer.channels ? channel : i % V)] : 0;
}

static inline void fill_input(slot *s, int line, int64_t head)
{
    const hop_line *l = s->p.line[line];
    const bool tokens = s->p.axes[line] >> HOP_AXIS_T & 1;
    const int64_t count = hop_arith_count(&s->b.r, line), each = count / (tokens ? tracer.unit.n : 1);
    for (int g = 0; g < tracer.inputs; g++) {
        const given *in = &tracer.in[g];
        if (strcmp(in->name, l->name) != 0) continue;
        const int64_t of = is_key_input(l->name) && !tracer.channels ? head / tracer.share : head;
        for (int64_t i = 0; i < count; i++) {
            const int64_t t = tokens ? tracer.unit.first + i / each : 0, e = i % each;
            s->b.r.value[line][i] =
                e < in->n ? in->from[t * in->stride + of * in->head + e] : 1; /* mlstm's ones */
        }
    }
}

static inline void fill(slot *s, int64_t channel)
{
    for (int i = 0; i < s->p.count; i++) {
        if (s->p.line[i]->prim != HOP_PRIM_INPUT) continue;
        const char *name = s->p.line[i]->name;
        fill_input(s, i, tracer.unit.head + channel);
        if (i == s->p.state) fill_state(s, channel);
        if (strcmp(name, "m") == 0) s->b.r.value[i][0] = tracer.unit.m;
        if (!tracer.falsified || strcmp(name, tracer.falsified) != 0) continue;
        tracer.met = true;
        for (int64_t e = 0; e < hop_arith_count(&s->b.r, i); e++) s->b.r.value[i][e] *= 1 + 0x1p-8;
    }
}

static inline void slot_run(slot *s, const char *form, int64_t channel, const bounded *also, int64_t from)
{
    const hop_program *program = NULL;
    for (int i = 0; tracer.forms[i]; i++)
        if (strcmp(tracer.forms[i]->form, form) == 0) program = tracer.forms[i];
    if (!program) fail_msg("there is no form %s", form);
    hop_arith_open(&s->p, program);
    s->program = program_number(program);
    s->b.r = (hop_arith_run){.p = &s->p, .size = {tracer.unit.n, tracer.unit.n, tracer.keys, tracer.values}};
    const int64_t room = (int64_t)hop_arith_room(&s->p, s->b.r.size);
    hop_free(s->room), hop_free(s->off);
    s->room = doubles_new(room), s->off = doubles_new(room);
    hop_arith_place(&s->b.r, s->room);
    for (int i = 0; i < s->p.count; i++) s->b.off[i] = s->off + (s->b.r.value[i] - s->room);
    fill(s, channel);
    hop_arith_evaluate(&s->b.r);
    for (int i = 0; i < s->p.count; i++) bound_line(&s->b, i, also, from);
}

void hop__trace_unit(const hop__trace_start *u)
{
    tracer.unit = *u;
    tracer.token = u->first, tracer.current = 0;
    for (int64_t c = 0; c < (tracer.channels ? tracer.width - u->head : 1); c++)
        slot_run(&tracer.slots[c], u->form, c, NULL, 0);
}

void hop__trace_steep(int64_t from)
{
    slot_run(&tracer.slots[1], "steep", 0, &tracer.slots[0].b, from);
    tracer.current = 1;
}

void hop__trace_rows(const char *form)
{
    tracer.current = strcmp(form, "steep") == 0;
}

void hop__trace_token(int64_t t)
{
    tracer.token = t;
}

/* Kernels divide by decays that are not mild, too, before they know, and use none of it. */
static inline bool unused(const slot *s, int line, const int64_t at[HOP_AXES])
{
    const int a = s->p.a[line];
    return s->p.line[line]->prim == HOP_PRIM_RECIP && s->p.line[a]->prim == HOP_PRIM_MILD &&
           bound_num(&s->b, a, at, -1).x < 0x1p-32;
}

static inline void compare(const slot *s, int line, const int64_t at[HOP_AXES], double got)
{
    const int64_t i = bound_index(&s->b, line, at);
    const double want = s->b.r.value[line][i], off = s->b.off[line][i], far = fabs(got - want);
    const hop_line *l = s->p.line[line];
    if (!(off < INFINITY) || !(fabs(want) < INFINITY) || unused(s, line, at)) return;
    tracer.seen[s->program][line]++, tracer.compared++;
    tracer.loose += off > 0.01 * fabs(want) && off > 1e-4;
    if (far <= off) {
        if (off > 0) tracer.worst = fmax(tracer.worst, far / off);
        return;
    }
    tracer.wrong++;
    if (!tracer.quiet)
        fail_msg("%s, %s: %s at %d, %d, %d, %d of %d tokens: got %.9g, want %.9g, off by %.3g > %.3g",
                 tracer.program[s->program]->op, tracer.program[s->program]->form, l->name, (int)at[0],
                 (int)at[1], (int)at[2], (int)at[3], (int)tracer.unit.n, got, want, far, off);
}

static inline void told(const hop__traced *v, const int64_t at[HOP_AXES], double got)
{
    const bool channels = tracer.channels;
    const int64_t lane = at[HOP_AXIS_V], t = at[HOP_AXIS_T], j = at[HOP_AXIS_J];
    if (v->lower == UP_TO_OWN && j > t) return;
    if (v->lower == BEFORE_OWN && j >= t) return;
    if (at[HOP_AXIS_K] >= tracer.keys || lane >= (channels ? tracer.width - tracer.unit.head : tracer.values))
        return; /* what registers are filled up with */
    assert_true(t >= 0 && t < tracer.unit.n && j < tracer.unit.n);
    const slot *s = &tracer.slots[channels ? lane : tracer.current];
    int line = hop_arith_find(&s->p, v->name);
    if (line < 0) line = hop_arith_find(&s->p, v->otherwise);
    if (line < 0) fail_msg("%s: no quantity %s", tracer.program[s->program]->op, v->name);
    compare(s, line, at, v->negated ? -got : got);
}

void hop__trace(const hop__traced *v)
{
    int64_t n[HOP_AXES], i[HOP_AXES];
    for (int x = 0; x < HOP_AXES; x++) n[x] = v->count[x] || v->step[x] ? v->count[x] : 1;
    for (i[0] = 0; i[0] < n[0]; i[0]++)
        for (i[1] = 0; i[1] < n[1]; i[1]++)
            for (i[2] = 0; i[2] < n[2]; i[2]++)
                for (i[3] = 0; i[3] < n[3]; i[3]++) {
                    int64_t at[HOP_AXES] = {tracer.token - tracer.unit.first}, from = 0;
                    for (int x = 0; x < HOP_AXES; x++) at[x] += v->at[x] + i[x], from += i[x] * v->step[x];
                    told(v, at, !v->x ? v->wide : v->lo ? (double)v->x[from] + v->lo[from] : v->x[from]);
                }
}

/* ---- running ----------------------------------------------------------------------------------- */

static inline void tracer_open(hop_arith_scan scan, hop_gate gate, bool bonus)
{
    tracer.forms = hop_scan_programs(scan, gate, bonus);
    tracer.inputs = 0;
    hop__kernels_use(&hop__kernels_traced);
}

static inline void input(const char *name, const float *from, int64_t n, int64_t head, int64_t stride)
{
    if (from) tracer.in[tracer.inputs++] = (given){name, from, n, head, stride};
}

static inline void trace_scan(scan_case *s, int i, hop_form form)
{
    static const hop_arith_scan scans[] = {HOP_ARITH_DECAY, HOP_ARITH_DELTA, HOP_ARITH_DPLR, HOP_ARITH_MLSTM};
    const hop_scan *c = &s->c;
    const int64_t K = c->key_dim, V = c->value_dim, gates = c->gate == HOP_GATE_KEY ? K : 1;
    tracer_open(scans[s->kind], varieties[i].gate, s->bonus);
    tracer.channels = false, tracer.share = c->heads / c->key_heads;
    tracer.keys = K, tracer.values = V + (s->kind == MLSTM);
    input("q", s->p[Q], K, K, c->q_stride), input("k", s->p[KEY], K, K, c->k_stride);
    input("v", s->p[VAL], V, V, c->v_stride), input("beta", s->p[BETA], 1, 1, c->beta_stride);
    input("g", s->p[GATE], gates, gates, c->gate == HOP_GATE_HEAD ? 0 : c->gate_stride);
    input("a", s->p[A_], K, K, c->k_stride), input("b", s->p[B_], K, K, c->k_stride);
    input("u", s->p[U], K, K, 0), input("scale", &c->scale, 1, 0, 0);
    input("i", s->p[IN], 1, 1, c->gate_stride), input("f", s->p[FORGET], 1, 1, c->gate_stride);
    hop_free(case_run(s, form, NULL));
}

static inline void trace_selective(int64_t T, int64_t width, int64_t N, bool skip)
{
    float *x = random_new(T * width, 1, 1), *delta = random_new(T * width, 2, 1),
          *A = random_new(width * N, 3, 8);
    float *B = random_new(T * N, 4, 1), *C = random_new(T * N, 5, 1), *D = random_new(width, 6, 1);
    float *state = random_new(width * N, 7, 1), *o = floats_new(T * width);
    hop_selective c = {T, width, N, width, width, N, N, width};
    float *scratch = floats_new((int64_t)hop_selective_scratch(&c, 1)), none = 0.0f;
    for (int64_t i = 0; i < T * width; i++) delta[i] = fabsf(delta[i]);
    for (int64_t i = 0; i < width * N; i++) A[i] = -fabsf(A[i]);
    tracer_open(HOP_ARITH_SELECTIVE, HOP_GATE_NONE, false);
    tracer.channels = true, tracer.width = width, tracer.keys = N, tracer.values = 1;
    input("x", x, 1, 1, width), input("delta", delta, 1, 1, width), input("A", A, N, N, 0);
    input("B", B, N, 0, N), input("C", C, N, 0, N), input("D", skip ? D : &none, 1, skip, 0);
    hop_selective_forward(o, state, &(hop_selective_in){x, delta, A, B, C, skip ? D : NULL}, &c, scratch,
                          NULL);
    hop_free(x), hop_free(delta), hop_free(A), hop_free(B), hop_free(C), hop_free(D);
    hop_free(state), hop_free(o), hop_free(scratch);
}

static inline void trace_diagonal(int64_t T, int64_t width)
{
    float *a = random_new(T * width, 1, 1), *b = random_new(T * width, 2, 1), *h = floats_new(T * width);
    float *state = random_new(width, 3, 1);
    tracer_open(HOP_ARITH_DIAGONAL, HOP_GATE_NONE, false);
    tracer.channels = true, tracer.width = width, tracer.keys = tracer.values = 1;
    input("a", a, 1, 1, width), input("b", b, 1, 1, width);
    hop_diagonal_forward(h, state, a, b, T, width, width);
    hop_free(a), hop_free(b), hop_free(h), hop_free(state);
}

#endif
