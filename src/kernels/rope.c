/* rope.c - rotations by position. A row of their programs (hopbound/arith_trace.h) is a pair. */
#include "room.h"

#include <hopbound/arith_trace.h>

#include <math.h>

/* Angles are taken in double from the position itself, not by turning a previous row, so that a row's bits do
 * not depend on the rows before it: a step by step run equals a whole one. The sines dominate, so one body
 * serves all tables. */
static void turn(float *x, int64_t heads, int64_t dim, int64_t half, double co, double si)
{
    for (int64_t h = 0; h < heads; h++) {
        float *p = x + h * dim;
        double a = p[0], b = p[half];
        TRACE_WIDE("ac", a * co, AT(T, h * half));
        TRACE_WIDE("bs", b * si, AT(T, h * half));
        TRACE_WIDE("as", a * si, AT(T, h * half));
        TRACE_WIDE("bc", b * co, AT(T, h * half));
        TRACE_WIDE("less", a * co - b * si, AT(T, h * half));
        TRACE_WIDE("more", a * si + b * co, AT(T, h * half));
        p[0] = TOLD("first", (float)(a * co - b * si), AT(T, h * half));
        p[half] = TOLD("second", (float)(a * si + b * co), AT(T, h * half));
    }
}

void hop_rope_part(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t rotary,
                   int64_t first, double theta)
{
    for (int64_t e = 0; e < rotary / 2; e++) {
        double rate = pow(theta, -2.0 * (double)e / (double)rotary);
        for (int64_t r = 0; r < rows; r++) {
            double angle = (double)(first + r) * rate;
            TRACE_TOKEN(r * heads * (rotary / 2) + e);
            TRACE_WIDE("angle", angle, AT(T, 0));
            turn(x + r * stride + e, heads, dim, rotary / 2, cos(angle), sin(angle));
        }
    }
}

void hop_rope(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t first, double theta)
{
    hop_rope_part(x, rows, stride, heads, dim, dim, first, theta);
}

void hop_rope_table(double *table, int64_t rows, int64_t dim, double theta)
{
    int64_t half = dim / 2;
    for (int64_t e = 0; e < half; e++) {
        double rate = pow(theta, -2.0 * (double)e / (double)dim);
        for (int64_t r = 0; r < rows; r++) {
            table[(r * half + e) * 2] = cos((double)r * rate);
            table[(r * half + e) * 2 + 1] = sin((double)r * rate);
        }
    }
}

void hop_rope_part_by(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t rotary,
                      const double *table, int64_t first, bool back)
{
    int64_t half = rotary / 2;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t e = 0; e < half; e++) {
            const double *t = table + ((first + r) * half + e) * 2;
            TRACE_TOKEN(r * heads * half + e);
            turn(x + r * stride + e, heads, dim, half, t[0], back ? -t[1] : t[1]);
        }
}

void hop_rope_by(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, const double *table,
                 int64_t first, bool back)
{
    hop_rope_part_by(x, rows, stride, heads, dim, dim, table, first, back);
}
