/* trace_rows.h - for test_trace_rows.c: runs one operation on rows that tells what it forms, evaluates its programs row
 * by row, and compares. A row is what a program is about: a number, a group, a channel of a token. */
#ifndef HOP_TESTS_TRACE_ROWS_H
#define HOP_TESTS_TRACE_ROWS_H

#include "test.h"
#include "trace_bound.h"

#include <stdio.h>

#define HOP_TRACE
#include <hopbound/arith_trace.h>

#include "kernel_tables.h"
#include "scan_case.h"
#include "exec.h"

extern const hop__kernels hop__kernels_traced;
void hop__row_op_traced(const hop__exec *w, const hop_op *op, int64_t s, int64_t from, int64_t count);

enum { ROWS_MOST = 4096, ROW_PARTS = 4, ROW_PROGRAMS = 64, ROW_INPUTS = 16 };

/* An input by its name. Row `each` t + r of each token's first element lies at t stride + r / share * per, and the
 * others lie `apart`; each 0: one for all rows. */
typedef struct row_input {
    const char *name;
    const float *from;
    int64_t each, stride, per, share, apart;
} row_input;

/* One row's programs: of parts that follow each other the result of one is x of the next. */
typedef struct row_slot {
    hop_arith p[ROW_PARTS];
    bounded b[ROW_PARTS];
    double *room[ROW_PARTS], *off[ROW_PARTS];
} row_slot;

static struct {
    const hop_program *part[ROW_PARTS];
    int parts, number[ROW_PARTS];
    bool chained;
    row_input in[ROW_INPUTS];
    const double *wide[ROW_INPUTS]; /* of the same input, in place of that: a number for each row */
    int inputs;
    int64_t rows, keys, values, token;
    row_slot *slot;
    const hop_program *program[ROW_PROGRAMS];
    int64_t seen[ROW_PROGRAMS][HOP_ARITH_LINES];
    int programs;
    int64_t compared, wrong, loose;
    double worst;
    const char *falsified;
    bool quiet, met;
} tracer;

static inline int program_number(const hop_program *p)
{
    for (int i = 0; i < tracer.programs; i++)
        if (tracer.program[i] == p) return i;
    assert_true(tracer.programs < ROW_PROGRAMS);
    tracer.program[tracer.programs] = p;
    return tracer.programs++;
}

static inline void row_fill(row_slot *s, int part, int line, int64_t row)
{
    const char *name = s->p[part].line[line]->name;
    double *to = s->b[part].r.value[line];
    const int64_t count = hop_arith_count(&s->b[part].r, line);
    const bool before = tracer.chained && part > 0 && strcmp(name, "x") == 0;
    for (int g = 0; g < tracer.inputs && !before; g++) {
        const row_input *in = &tracer.in[g];
        if (strcmp(in->name, name) != 0) continue;
        const float *from = in->from;
        if (tracer.wide[g]) {
            to[0] = tracer.wide[g][row];
            continue;
        }
        if (in->each > 0)
            from += row / in->each * in->stride + row % in->each / (in->share > 0 ? in->share : 1) * in->per;
        for (int64_t e = 0; e < count; e++) to[e] = from[e * in->apart];
    }
    for (int64_t e = 0; before && e < count; e++) to[e] = s->b[part - 1].r.value[s->p[part - 1].reads][e];
    if (!tracer.falsified || strcmp(name, tracer.falsified) != 0) return;
    tracer.met = true;
    for (int64_t e = 0; e < count; e++) to[e] *= 1 + 0x1p-5;
}

static inline void row_run(row_slot *s, int part, int64_t row)
{
    bounded *b = &s->b[part];
    hop_arith *p = &s->p[part];
    hop_arith_open(p, tracer.part[part]);
    b->r = (hop_arith_run){.p = p, .size = {1, 1, tracer.keys, tracer.values}};
    const int64_t room = (int64_t)hop_arith_room(p, b->r.size);
    s->room[part] = doubles_new(room), s->off[part] = doubles_new(room);
    hop_arith_place(&b->r, s->room[part]);
    for (int i = 0; i < p->count; i++) b->off[i] = s->off[part] + (b->r.value[i] - s->room[part]);
    for (int i = 0; i < p->count; i++)
        if (p->line[i]->prim == HOP_PRIM_INPUT) row_fill(s, part, i, row);
    hop_arith_evaluate(&b->r);
    for (int i = 0; i < p->count; i++) {
        const bool before = tracer.chained && part > 0 && strcmp(p->line[i]->name, "x") == 0;
        bound_line(b, i, NULL, 0);
        for (int64_t e = 0; before && e < hop_arith_count(&b->r, i); e++)
            b->off[i][e] = s->b[part - 1].off[s->p[part - 1].reads][e];
    }
}

static inline void compare(const row_slot *s, int part, int line, const int64_t at[HOP_AXES], double got)
{
    const bounded *b = &s->b[part];
    const int64_t i = bound_index(b, line, at);
    const double want = b->r.value[line][i], off = b->off[line][i], far = fabs(got - want);
    if (!(fabs(want) < 1e38)) return;
    tracer.seen[tracer.number[part]][line]++, tracer.compared++;
    tracer.loose += off > 0.01 * fabs(want) && off > 1e-4;
    if (far <= off) {
        if (off > 0) tracer.worst = fmax(tracer.worst, far / off);
        return;
    }
    tracer.wrong++;
    if (!tracer.quiet)
        fail_msg("%s, %s: %s at row %d, %d, %d: got %.9g, want %.9g, off by %.3g > %.3g",
                 tracer.part[part]->op, tracer.part[part]->form, s->p[part].line[line]->name,
                 (int)(tracer.token + at[0]), (int)at[2], (int)at[3], got, want, far, off);
}

/* One number, in every part that knows its name: inputs of one are no results of another. */
static inline void told(const hop__traced *v, const int64_t at[HOP_AXES], double got)
{
    const int64_t row = tracer.token + at[HOP_AXIS_T],
                  place[HOP_AXES] = {0, 0, at[HOP_AXIS_K], at[HOP_AXIS_V]};
    bool known = false;
    assert_true(row >= 0 && row < tracer.rows);
    for (int name = 0; name < 2 && !known; name++)
        for (int part = 0; part < tracer.parts; part++) {
            int line = hop_arith_find(&tracer.slot[row].p[part], name ? v->otherwise : v->name);
            if (line < 0 || tracer.slot[row].p[part].line[line]->prim == HOP_PRIM_INPUT) continue;
            compare(&tracer.slot[row], part, line, place, got), known = true;
        }
    /* A difference from a mean that is not taken off is x itself. */
    if (!known && !(v->otherwise && strcmp(v->otherwise, "x") == 0))
        fail_msg("%s: no quantity %s", tracer.part[0]->op, v->name);
}

void hop__trace_unit(const hop__trace_start *u)
{
    (void)u;
    fail();
}

#include "trace_none.h"

void hop__trace(const hop__traced *v)
{
    int64_t n[HOP_AXES], i[HOP_AXES];
    for (int x = 0; x < HOP_AXES; x++) n[x] = v->count[x] || v->step[x] ? v->count[x] : 1;
    for (i[0] = 0; i[0] < n[0]; i[0]++)
        for (i[2] = 0; i[2] < n[2]; i[2]++)
            for (i[3] = 0; i[3] < n[3]; i[3]++) {
                int64_t at[HOP_AXES] = {0}, from = 0;
                for (int x = 0; x < HOP_AXES; x++)
                    at[x] = v->at[x] + (x == 1 ? 0 : i[x]), from += x == 1 ? 0 : i[x] * v->step[x];
                told(v, at, (v->negated ? -1 : 1) * (v->x ? v->x[from] : v->wide));
            }
}

/* ---- running ----------------------------------------------------------------------------------- */

static inline void tracer_reset(void)
{
    tracer.compared = tracer.wrong = tracer.loose = 0;
    tracer.worst = 0, tracer.falsified = NULL, tracer.quiet = tracer.met = false;
}

static inline void rows_input(row_input in)
{
    assert_true(tracer.inputs < ROW_INPUTS);
    tracer.wide[tracer.inputs] = NULL, tracer.in[tracer.inputs++] = in;
}

static inline void rows_wide(const char *name, const double *x)
{
    rows_input((row_input){.name = name});
    tracer.wide[tracer.inputs - 1] = x;
}

/* The same number for all rows. */
static inline void rows_constant(const char *name, const float *x)
{
    rows_input((row_input){.name = name, .from = x});
}

/* Begins with programs that are `count`, and with inputs given by rows_input before. */
static inline void rows_open(const hop_program *const *part, int count, bool chained, int64_t rows,
                             int64_t keys, int64_t values)
{
    tracer.parts = count, tracer.chained = chained;
    tracer.rows = rows, tracer.keys = keys, tracer.values = values, tracer.token = 0;
    tracer.slot = hop_alloc(sizeof *tracer.slot * (size_t)rows);
    assert_true(tracer.slot && rows <= ROWS_MOST);
    for (int i = 0; i < count; i++) tracer.part[i] = part[i], tracer.number[i] = program_number(part[i]);
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < count; i++) row_run(&tracer.slot[r], i, r);
}

static inline void rows_close(void)
{
    for (int64_t r = 0; r < tracer.rows; r++)
        for (int i = 0; i < tracer.parts; i++)
            hop_free(tracer.slot[r].room[i]), hop_free(tracer.slot[r].off[i]);
    hop_free(tracer.slot);
    tracer.inputs = 0, tracer.slot = NULL;
}

#endif
