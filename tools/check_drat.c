/* check_drat FORMULA.cnf PROOF.drat: does the proof show that the formula has no solution?
 *
 * Forward checking, written for clarity: every added clause must follow by unit propagation from what is
 * there (RUP), or be redundant on its first literal (RAT); the proof must reach the empty clause. Deletions
 * are done, but for clauses that are unit under the top-level assignment, as every checker in use does. It
 * shares no code with what writes formulas or proofs. Text proofs only. Exit 0: "verified". Exit 1: what is
 * wrong, and where. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct clause {
    int size, next; /* next: in its hash bucket, -1 ends */
    unsigned hash;
    int dead;
    int *lits; /* the first two are watched */
} clause;

typedef struct list {
    int *v, count, cap;
} list;

static clause *clauses;
static int clause_count, clause_cap, vars, trail_count, propagated;
static list *watches;      /* by literal index: clauses that watch it */
static signed char *value; /* by literal index */
static int *trail, contradiction;
static int *buckets;
enum { BUCKETS = 1 << 20 };

static void stop(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "check_drat: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static void *grown(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (!p) stop("out of memory");
    return p;
}

static int index_of(int lit)
{
    return lit > 0 ? 2 * lit : -2 * lit + 1;
}

static void push(list *l, int v)
{
    if (l->count == l->cap) l->v = grown(l->v, (size_t)(l->cap = l->cap ? 2 * l->cap : 4) * sizeof *l->v);
    l->v[l->count++] = v;
}

/* ---- propagation --------------------------------------------------------------------------- */

static void assign(int lit)
{
    value[index_of(lit)] = 1;
    value[index_of(-lit)] = -1;
    trail[trail_count++] = lit;
}

/* Moves the watch of a clause away from the false literal; 0 when no other literal will do. */
static int rewatch(clause *c, int false_lit, int number)
{
    if (c->lits[0] == false_lit) {
        c->lits[0] = c->lits[1];
        c->lits[1] = false_lit;
    }
    for (int k = 2; k < c->size; k++)
        if (value[index_of(c->lits[k])] >= 0) {
            c->lits[1] = c->lits[k];
            c->lits[k] = false_lit;
            push(&watches[index_of(c->lits[1])], number);
            return 1;
        }
    return 0;
}

/* 1: a conflict. */
static int propagate(void)
{
    while (propagated < trail_count) {
        int lit = -trail[propagated++], kept = 0, conflict = 0;
        list *w = &watches[index_of(lit)];
        for (int i = 0; i < w->count; i++) {
            int number = w->v[i];
            clause *c = &clauses[number];
            if (c->dead) continue;
            if (conflict || value[index_of(c->lits[0] == lit ? c->lits[1] : c->lits[0])] > 0) {
                w->v[kept++] = number;
            } else if (!rewatch(c, lit, number)) {
                w->v[kept++] = number;
                if (value[index_of(c->lits[0])] < 0)
                    conflict = 1;
                else
                    assign(c->lits[0]);
            }
        }
        w->count = kept;
        if (conflict) return 1;
    }
    return 0;
}

static void undo(int to)
{
    while (trail_count > to) {
        int lit = trail[--trail_count];
        value[index_of(lit)] = value[index_of(-lit)] = 0;
    }
    propagated = to;
}

/* Do the negations of these literals, but `without`, lead to a conflict? Leaves them assigned. */
static int refuted(const int *lits, int size, int without)
{
    for (int k = 0; k < size; k++) {
        if (lits[k] == without || value[index_of(lits[k])] < 0) continue;
        if (value[index_of(lits[k])] > 0) return 1;
        assign(-lits[k]);
    }
    return propagate();
}

/* ---- clauses ------------------------------------------------------------------------------- */

static unsigned hash_of(const int *lits, int size)
{
    unsigned sum = 0, xor = 0;
    for (int k = 0; k < size; k++) {
        sum += (unsigned)lits[k] * 2654435761u;
        xor ^= (unsigned)lits[k] * 40503u;
    }
    return sum + 31 * xor;
}

/* Adds a clause for good. Its watches are two literals that are not false, where there are such. */
static void add_clause(const int *lits, int size)
{
    if (clause_count == clause_cap)
        clauses = grown(clauses, (size_t)(clause_cap = clause_cap ? 2 * clause_cap : 1024) * sizeof *clauses);
    clause *c = &clauses[clause_count];
    *c = (clause){.size = size, .hash = hash_of(lits, size)};
    c->lits = grown(NULL, (size_t)(size ? size : 1) * sizeof *c->lits);
    memcpy(c->lits, lits, (size_t)size * sizeof *lits);
    c->next = buckets[c->hash % BUCKETS];
    buckets[c->hash % BUCKETS] = clause_count;
    int open = 0;
    for (int k = 0; k < size; k++)
        if (value[index_of(c->lits[k])] >= 0) {
            int l = c->lits[k];
            c->lits[k] = c->lits[open];
            c->lits[open++] = l;
        }
    for (int k = 0; k < 2 && size >= 2; k++) push(&watches[index_of(c->lits[k])], clause_count);
    clause_count++;
    if (open == 0) contradiction = 1;
    if (open == 1 && value[index_of(c->lits[0])] == 0) assign(c->lits[0]);
    if (!contradiction && propagate()) contradiction = 1;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static int same(const clause *c, const int *sorted, int size)
{
    if (c->size != size) return 0;
    int *copy = grown(NULL, (size_t)(size ? size : 1) * sizeof *copy);
    memcpy(copy, c->lits, (size_t)size * sizeof *copy);
    qsort(copy, (size_t)size, sizeof *copy, by_number);
    int equal = memcmp(copy, sorted, (size_t)size * sizeof *copy) == 0;
    free(copy);
    return equal;
}

static void delete_clause(int *lits, int size, long line)
{
    qsort(lits, (size_t)size, sizeof *lits, by_number);
    unsigned hash = hash_of(lits, size);
    for (int *at = &buckets[hash % BUCKETS]; *at >= 0; at = &clauses[*at].next) {
        clause *c = &clauses[*at];
        if (c->hash != hash || c->dead || !same(c, lits, size)) continue;
        int open = 0, satisfied = 0;
        for (int k = 0; k < size; k++) {
            open += value[index_of(lits[k])] >= 0;
            satisfied += value[index_of(lits[k])] > 0;
        }
        if (open == 1 && satisfied == 1) return; /* may be why a literal is true: stays */
        c->dead = 1;
        *at = c->next;
        return;
    }
    stop("line %ld deletes a clause that is not there", line);
}

/* ---- the two rules ------------------------------------------------------------------------- */

/* With the negation of the clause assigned: every clause with the negated pivot resolves to one that follows.
 */
static int is_rat(int pivot)
{
    const int here = trail_count;
    for (int i = 0; i < clause_count; i++) {
        const clause *c = &clauses[i];
        int hit = 0;
        for (int k = 0; k < c->size && !c->dead; k++) hit |= c->lits[k] == -pivot;
        if (!hit) continue;
        int ok = refuted(c->lits, c->size, -pivot);
        undo(here);
        if (!ok) return 0;
    }
    return 1;
}

static void check_addition(const int *lits, int size, long line)
{
    const int top = trail_count;
    int ok = refuted(lits, size, 0) || (size > 0 && is_rat(lits[0]));
    undo(top);
    if (!ok) stop("line %ld adds a clause that does not follow", line);
    add_clause(lits, size);
}

/* ---- files --------------------------------------------------------------------------------- */

/* The literals up to a 0. 0 at the end of the file. */
static int read_clause(FILE *f, list *out, long line)
{
    int lit, got;
    out->count = 0;
    while ((got = fscanf(f, "%d", &lit)) == 1) {
        if (lit == 0) return 1;
        if (lit > vars || -lit > vars) stop("line %ld: literal %d is out of range", line, lit);
        push(out, lit);
    }
    if (got == 0) stop("line %ld is not a clause", line);
    if (out->count) stop("line %ld is cut off", line);
    return 0;
}

static void read_formula(const char *path)
{
    FILE *f = fopen(path, "r");
    char word[8];
    long wanted = 0, read = 0;
    int ch;
    list lits = {0};
    if (!f) stop("%s: cannot be read", path);
    while ((ch = getc(f)) == 'c')
        while (ch != '\n' && ch != EOF) ch = getc(f);
    if (ch != 'p' || fscanf(f, " %7s %d %ld", word, &vars, &wanted) != 3) stop("%s: no header", path);
    watches = calloc((size_t)vars * 2 + 2, sizeof *watches);
    value = calloc((size_t)vars * 2 + 2, 1);
    trail = calloc((size_t)vars + 1, sizeof *trail);
    buckets = malloc(BUCKETS * sizeof *buckets);
    if (!watches || !value || !trail || !buckets) stop("out of memory");
    memset(buckets, 0xff, BUCKETS * sizeof *buckets);
    while (read < wanted && read_clause(f, &lits, read + 1)) {
        add_clause(lits.v, lits.count);
        read++;
    }
    if (read < wanted) stop("%s: %ld clauses, not %ld", path, read, wanted);
    fclose(f);
}

static long check_proof(const char *path)
{
    FILE *f = fopen(path, "r");
    list lits = {0};
    long line = 0;
    if (!f) stop("%s: cannot be read", path);
    while (!contradiction) {
        int ch;
        line++;
        while ((ch = getc(f)) == ' ' || ch == '\n') {}
        if (ch == EOF) stop("%s ends before the empty clause", path);
        int deletion = ch == 'd';
        if (!deletion) ungetc(ch, f);
        if (!read_clause(f, &lits, line)) stop("%s ends before the empty clause", path);
        if (deletion)
            delete_clause(lits.v, lits.count, line);
        else
            check_addition(lits.v, lits.count, line);
    }
    fclose(f);
    return line;
}

int main(int argc, char **argv)
{
    if (argc != 3) stop("usage: check_drat FORMULA.cnf PROOF.drat");
    read_formula(argv[1]);
    printf("verified: %d clauses, %ld lines of proof\n", clause_count, check_proof(argv[2]));
    return 0;
}
