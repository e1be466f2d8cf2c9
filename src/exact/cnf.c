/* A growing formula in conjunctive normal form, and numbers written as variables in it. */
#include "cnf.h"

#include <stdlib.h>
#include <string.h>

#define ONEHOT_MAX 16 /* values; above, pairwise exclusions outnumber everything else */

/* ---- clauses ------------------------------------------------------------------------------- */

void hop__cnf_free(hop__cnf *f)
{
    free(f->lits);
    hop_text_free(&f->comment);
    *f = (hop__cnf){0};
}

int hop__cnf_var(hop__cnf *f)
{
    return ++f->vars;
}

static bool reserve(hop__cnf *f, size_t more)
{
    if (f->failed) return false;
    if (f->len + more <= f->cap) return true;
    size_t cap = f->cap ? 2 * f->cap : 4096, bytes;
    while (cap < f->len + more) cap *= 2;
    int *lits = hop_mul_size(cap, sizeof *lits, &bytes) ? realloc(f->lits, bytes) : NULL;
    if (!lits) return !(f->failed = true);
    f->lits = lits;
    f->cap = cap;
    return true;
}

void hop__cnf_put(hop__cnf *f, int lit)
{
    if (!reserve(f, 1)) return;
    f->lits[f->len++] = lit;
    f->clauses += lit == 0;
}

void hop__cnf_clause(hop__cnf *f, const int *lits, int count)
{
    if (!reserve(f, (size_t)count + 1)) return;
    if (count) memcpy(f->lits + f->len, lits, (size_t)count * sizeof *lits);
    f->len += (size_t)count;
    f->lits[f->len++] = 0;
    f->clauses++;
}

/* By hand: a formula of millions of literals should not wait for printf. */
static void put_number(char **at, int n)
{
    char digits[12];
    int count = 0;
    unsigned u = n < 0 ? 0u - (unsigned)n : (unsigned)n;
    if (n < 0) *(*at)++ = '-';
    do digits[count++] = (char)('0' + u % 10);
    while (u /= 10);
    while (count) *(*at)++ = digits[--count];
}

bool hop__cnf_write(const hop__cnf *f, FILE *out)
{
    for (const char *line = f->comment.s; line && *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(out, "c %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    fprintf(out, "p cnf %d %lld\n", f->vars, (long long)f->clauses);
    char buffer[4096], *at = buffer;
    for (size_t i = 0; i < f->len; i++) {
        put_number(&at, f->lits[i]);
        *at++ = f->lits[i] ? ' ' : '\n';
        if (at > buffer + sizeof buffer - 16) {
            fwrite(buffer, 1, (size_t)(at - buffer), out);
            at = buffer;
        }
    }
    fwrite(buffer, 1, (size_t)(at - buffer), out);
    return fflush(out) == 0 && !ferror(out);
}

/* ---- labels -------------------------------------------------------------------------------- */

static int bits_for(int values)
{
    int bits = 0;
    while ((int64_t)1 << bits < values) bits++;
    return bits;
}

hop__label hop__label_bits(hop__cnf *f, int values)
{
    hop__label l = {.first = f->vars + 1, .values = values};
    f->vars += bits_for(values);
    return l;
}

hop__label hop__label_new(hop__cnf *f, int values)
{
    if (values <= 2 || values > ONEHOT_MAX) return hop__label_bits(f, values);
    hop__label l = {.first = f->vars + 1, .values = values, .onehot = true};
    f->vars += values;
    for (int v = 0; v < values; v++) hop__cnf_put(f, l.first + v);
    hop__cnf_put(f, 0);
    for (int v = 0; v < values; v++)
        for (int u = 0; u < v; u++) hop__cnf_clause(f, (int[]){-(l.first + u), -(l.first + v)}, 2);
    return l;
}

int hop__label_not(const hop__label *l, int v, int *out)
{
    if (l->onehot) {
        out[0] = -(l->first + v);
        return 1;
    }
    int bits = bits_for(l->values);
    for (int b = 0; b < bits; b++) out[b] = v >> b & 1 ? -(l->first + b) : l->first + b;
    return bits;
}

static void guarded(hop__cnf *f, const int *guard, int n, int a, int b)
{
    for (int i = 0; i < n; i++) hop__cnf_put(f, guard[i]);
    hop__cnf_put(f, a);
    if (b) hop__cnf_put(f, b);
    hop__cnf_put(f, 0);
}

void hop__label_force(hop__cnf *f, const int *guard, int n, const hop__label *l, int v)
{
    int bits = bits_for(l->values);
    if (l->onehot) guarded(f, guard, n, l->first + v, 0);
    for (int b = 0; b < bits && !l->onehot; b++)
        guarded(f, guard, n, v >> b & 1 ? l->first + b : -(l->first + b), 0);
}

void hop__label_equal(hop__cnf *f, const int *guard, int n, const hop__label *l, const hop__label *k)
{
    int vars = l->onehot ? l->values : bits_for(l->values);
    for (int b = 0; b < vars; b++) {
        guarded(f, guard, n, -(l->first + b), k->first + b);
        guarded(f, guard, n, l->first + b, -(k->first + b));
    }
}

void hop__label_at_most(hop__cnf *f, const hop__label *l, int64_t v)
{
    if (v >= l->values - 1) return;
    if (l->onehot) {
        for (int u = (int)v + 1; u < l->values; u++) hop__cnf_clause(f, (int[]){-(l->first + u)}, 1);
        return;
    }
    /* Binary: a bit that v lacks may be set only if a higher one that v has is not. */
    int bits = bits_for(l->values);
    for (int b = 0; b < bits; b++) {
        if (v >> b & 1) continue;
        hop__cnf_put(f, -(l->first + b));
        for (int h = b + 1; h < bits; h++)
            if (v >> h & 1) hop__cnf_put(f, -(l->first + h));
        hop__cnf_put(f, 0);
    }
}

int hop__label_value(const hop__label *l, const signed char *model)
{
    int value = 0, bits = bits_for(l->values);
    if (l->onehot) {
        while (value < l->values - 1 && model[l->first + value] <= 0) value++;
        return value;
    }
    for (int b = 0; b < bits; b++)
        if (model[l->first + b] > 0) value |= 1 << b;
    return value;
}
