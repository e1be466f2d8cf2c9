#include "code.h"

void hop__code_init(hop__code *c, const hop_funccomp *task)
{
    *c = (hop__code){.digits = task->hops};
    for (int g = 0; g < c->digits; g++) {
        c->radix[g] = g == 0 ? task->m : task->fan[g];
        c->width[g] = 1;
        while (((int64_t)1 << c->width[g]) < c->radix[g]) c->width[g]++;
        c->offset[g + 1] = c->offset[g] + c->width[g];
    }
}

int hop__code_bits(const hop__code *c)
{
    return c->offset[c->digits];
}

void hop__code_digit(const hop__code *c, int digit, int64_t value, float scale, float *out)
{
    for (int i = 0; i < c->width[digit]; i++) out[i] = (value >> i & 1) ? scale : -scale;
}

void hop__code_number(const hop__code *c, int count, int64_t x, float scale, float *out)
{
    for (int g = 0; g < count; g++) {
        hop__code_digit(c, g, x % c->radix[g], scale, out + c->offset[g]);
        x /= c->radix[g];
    }
}
