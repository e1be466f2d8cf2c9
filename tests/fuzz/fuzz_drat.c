/* Formulas and proofs, a NUL between them: what is verified has no solution, which is tried out where there
 * are few variables; what is refused is one line. */
#include "fuzz.h"

#include "room.h"

enum { FEW = 10 };

/* Does some assignment satisfy every clause? Reads what the checker has read, and as loosely. */
static bool has_solution(const char *text, size_t size)
{
    FILE *f = fmemopen((void *)(uintptr_t)text, size, "r");
    long vars = 0, count = 0, lit;
    int ch;
    bool found = false;
    must(f != NULL);
    while ((ch = getc(f)) == 'c')
        while (ch != '\n' && ch != EOF) ch = getc(f);
    must(fscanf(f, " cnf %ld %ld", &vars, &count) == 2);
    long start = ftell(f);
    for (unsigned a = 0; vars <= FEW && a < 1u << vars && !found; a++) {
        long clauses = 0;
        bool all = true, any = false;
        must(fseek(f, start, SEEK_SET) == 0);
        while (clauses < count && fscanf(f, "%ld", &lit) == 1) {
            if (lit != 0) any = any || (a >> (labs(lit) - 1) & 1) == (lit > 0);
            if (lit == 0) all = all && any, any = false, clauses++;
        }
        found = all;
    }
    fclose(f);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = memchr(data, 0, size);
    if (!nul || nul == data || nul + 1 == data + size) return 0; /* fmemopen wants a byte */
    FILE *formula = fmemopen((void *)(uintptr_t)data, (size_t)(nul - data), "r");
    FILE *proof = fmemopen((void *)(uintptr_t)(nul + 1), size - 1 - (size_t)(nul - data), "r");
    hop_check c;
    hop_error err = {0};
    must(formula && proof);
    hop_status s = hop__drat_judge(&c, formula, proof, NULL, &err);
    must(s == HOP_OK || s == HOP_ENOMEM);
    if (s == HOP_OK) must(c.why[0] && !strchr(c.why, '\n'));
    if (s == HOP_OK && c.valid) must(!has_solution((const char *)data, (size_t)(nul - data)));
    fclose(formula);
    fclose(proof);
    return 0;
}
