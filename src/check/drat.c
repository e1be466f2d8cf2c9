/* A proof in DRAT that a formula has no solution, checked forwards and written for clarity: every added
 * clause must follow by unit propagation from what is there (RUP), or be redundant on its first literal
 * (RAT); the proof must reach the empty clause. Deletions are done, but for clauses that are unit under the
 * top-level assignment, as every checker in use does. It shares no code with what writes formulas or proofs.
 * Text form only. */
#include "room.h"

#include <stdlib.h>

enum { BUCKETS = 1 << 20, MOST_VARS = 1 << 26 };

typedef struct clause {
    int size, next; /* next: in its hash bucket, -1 ends */
    unsigned hash;
    bool dead;
    int *lits; /* the first two are watched */
} clause;

typedef struct list {
    int *v, count, cap;
} list;

typedef struct checker {
    clause *clauses;
    int clause_count, clause_cap, vars, trail_count, propagated;
    long read;          /* clauses of the formula */
    list *watches;      /* by literal index: clauses that watch it */
    signed char *value; /* by literal index */
    int *trail, *buckets;
    list lits, sorted; /* of the clause at hand */
    bool contradiction;
    hop_status failed; /* sticky: what does not hold is HOP_EFORMAT */
    hop_error err;
} checker;

static void *grown(checker *c, void *p, size_t bytes)
{
    void *more = realloc(p, bytes ? bytes : 1);
    if (!more) c->failed = hop_fail(&c->err, HOP_ENOMEM, "out of memory");
    return more;
}

static int index_of(int lit)
{
    return lit > 0 ? 2 * lit : -2 * lit + 1;
}

static void push(checker *c, list *l, int v)
{
    if (l->count == l->cap) {
        int cap = l->cap ? 2 * l->cap : 4;
        int *more = grown(c, l->v, (size_t)cap * sizeof *l->v);
        if (!more) return;
        l->v = more, l->cap = cap;
    }
    l->v[l->count++] = v;
}

/* ---- propagation --------------------------------------------------------------------------------- */

static void assign(checker *c, int lit)
{
    c->value[index_of(lit)] = 1;
    c->value[index_of(-lit)] = -1;
    c->trail[c->trail_count++] = lit;
}

/* Moves the watch of a clause away from the false literal; false when no other literal will do. */
static bool rewatch(checker *c, clause *x, int false_lit, int number)
{
    if (x->lits[0] == false_lit) {
        x->lits[0] = x->lits[1];
        x->lits[1] = false_lit;
    }
    for (int k = 2; k < x->size; k++)
        if (c->value[index_of(x->lits[k])] >= 0) {
            x->lits[1] = x->lits[k];
            x->lits[k] = false_lit;
            push(c, &c->watches[index_of(x->lits[1])], number);
            return true;
        }
    return false;
}

/* True: a conflict. */
static bool propagate(checker *c)
{
    while (c->propagated < c->trail_count && c->failed == HOP_OK) {
        int lit = -c->trail[c->propagated++], kept = 0;
        bool conflict = false;
        list *w = &c->watches[index_of(lit)];
        for (int i = 0; i < w->count; i++) {
            int number = w->v[i];
            clause *x = &c->clauses[number];
            if (x->dead) continue;
            if (conflict || c->value[index_of(x->lits[0] == lit ? x->lits[1] : x->lits[0])] > 0) {
                w->v[kept++] = number;
            } else if (!rewatch(c, x, lit, number)) {
                w->v[kept++] = number;
                if (c->value[index_of(x->lits[0])] < 0)
                    conflict = true;
                else
                    assign(c, x->lits[0]);
            }
        }
        w->count = kept;
        if (conflict) return true;
    }
    return false;
}

static void undo(checker *c, int to)
{
    while (c->trail_count > to) {
        int lit = c->trail[--c->trail_count];
        c->value[index_of(lit)] = c->value[index_of(-lit)] = 0;
    }
    c->propagated = to;
}

/* Do the negations of these literals, but `without`, lead to a conflict? Leaves them assigned. */
static bool refuted(checker *c, const int *lits, int size, int without)
{
    for (int k = 0; k < size; k++) {
        if (lits[k] == without || c->value[index_of(lits[k])] < 0) continue;
        if (c->value[index_of(lits[k])] > 0) return true;
        assign(c, -lits[k]);
    }
    return propagate(c);
}

/* ---- clauses ------------------------------------------------------------------------------------- */

static unsigned hash_of(const int *lits, int size)
{
    unsigned sum = 0, xor = 0;
    for (int k = 0; k < size; k++) {
        sum += (unsigned)lits[k] * 2654435761u;
        xor ^= (unsigned)lits[k] * 40503u;
    }
    return sum + 31 * xor;
}

/* Adds the clause at hand for good. Its watches are two literals that are not false, where there are such. */
static void add_clause(checker *c)
{
    const int size = c->lits.count;
    if (c->clause_count == c->clause_cap) {
        int cap = c->clause_cap ? 2 * c->clause_cap : 1024;
        clause *more = grown(c, c->clauses, (size_t)cap * sizeof *more);
        if (!more) return;
        c->clauses = more, c->clause_cap = cap;
    }
    clause *x = &c->clauses[c->clause_count];
    *x = (clause){
        .size = size, .hash = hash_of(c->lits.v, size), .lits = grown(c, NULL, (size_t)size * sizeof(int))};
    if (!x->lits) return;
    if (size) memcpy(x->lits, c->lits.v, (size_t)size * sizeof(int));
    x->next = c->buckets[x->hash % BUCKETS];
    c->buckets[x->hash % BUCKETS] = c->clause_count;
    int open = 0;
    for (int k = 0; k < size; k++)
        if (c->value[index_of(x->lits[k])] >= 0) {
            int l = x->lits[k];
            x->lits[k] = x->lits[open];
            x->lits[open++] = l;
        }
    for (int k = 0; k < 2 && size >= 2; k++) push(c, &c->watches[index_of(x->lits[k])], c->clause_count);
    c->clause_count++;
    if (c->failed != HOP_OK) return;
    if (open == 0) c->contradiction = true;
    if (open == 1 && c->value[index_of(x->lits[0])] == 0) assign(c, x->lits[0]);
    if (!c->contradiction && propagate(c)) c->contradiction = true;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Has the clause the literals at hand, which are sorted? */
static bool same(checker *c, const clause *x)
{
    const int size = c->lits.count;
    c->sorted.count = 0;
    if (x->size != size) return false;
    for (int k = 0; k < size; k++) push(c, &c->sorted, x->lits[k]);
    if (c->failed != HOP_OK || size == 0) return c->failed == HOP_OK;
    qsort(c->sorted.v, (size_t)size, sizeof(int), by_number);
    return memcmp(c->sorted.v, c->lits.v, (size_t)size * sizeof(int)) == 0;
}

static void delete_clause(checker *c, long line)
{
    const int size = c->lits.count;
    int *lits = c->lits.v;
    if (size) qsort(lits, (size_t)size, sizeof *lits, by_number);
    unsigned hash = hash_of(lits, size);
    for (int *at = &c->buckets[hash % BUCKETS]; *at >= 0; at = &c->clauses[*at].next) {
        clause *x = &c->clauses[*at];
        if (x->hash != hash || x->dead || !same(c, x)) continue;
        int open = 0, satisfied = 0;
        for (int k = 0; k < size; k++) {
            open += c->value[index_of(lits[k])] >= 0;
            satisfied += c->value[index_of(lits[k])] > 0;
        }
        if (open == 1 && satisfied == 1) return; /* may be why a literal is true: stays */
        x->dead = true;
        *at = x->next;
        return;
    }
    if (c->failed == HOP_OK)
        c->failed = hop_fail(&c->err, HOP_EFORMAT, "line %ld deletes a clause that is not there", line);
}

/* ---- the two rules ------------------------------------------------------------------------------- */

/* With the negation of the clause assigned: every clause with the negated pivot resolves to one that follows.
 */
static bool is_rat(checker *c, int pivot)
{
    const int here = c->trail_count;
    for (int i = 0; i < c->clause_count; i++) {
        const clause *x = &c->clauses[i];
        bool hit = false;
        for (int k = 0; k < x->size && !x->dead; k++) hit = hit || x->lits[k] == -pivot;
        if (!hit) continue;
        bool ok = refuted(c, x->lits, x->size, -pivot);
        undo(c, here);
        if (!ok) return false;
    }
    return true;
}

static void check_addition(checker *c, long line)
{
    const int top = c->trail_count;
    bool ok = refuted(c, c->lits.v, c->lits.count, 0) || (c->lits.count > 0 && is_rat(c, c->lits.v[0]));
    undo(c, top);
    if (c->failed != HOP_OK) return;
    if (ok)
        add_clause(c);
    else
        c->failed = hop_fail(&c->err, HOP_EFORMAT, "line %ld adds a clause that does not follow", line);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* The literals up to a 0; false at the end of the file, and when it has failed. */
static bool read_clause(checker *c, FILE *f, long line)
{
    long lit; /* wider than a literal, so that none that is too large is taken for another */
    int got;
    c->lits.count = 0;
    while (c->failed == HOP_OK && (got = fscanf(f, "%ld", &lit)) == 1) {
        if (lit == 0) return true;
        if (lit > c->vars || lit < -c->vars)
            c->failed = hop_fail(&c->err, HOP_EFORMAT, "line %ld: literal %ld is out of range", line, lit);
        else
            push(c, &c->lits, (int)lit);
    }
    if (c->failed != HOP_OK) return false;
    if (got == 0)
        c->failed = hop_fail(&c->err, HOP_EFORMAT, "line %ld is not a clause", line);
    else if (c->lits.count)
        c->failed = hop_fail(&c->err, HOP_EFORMAT, "line %ld is cut off", line);
    return false;
}

static void read_formula(checker *c, FILE *f)
{
    char word[8] = "";
    long wanted = 0, read = 0;
    int ch;
    while ((ch = getc(f)) == 'c')
        while (ch != '\n' && ch != EOF) ch = getc(f);
    if (ch != 'p' || fscanf(f, " %7s %d %ld", word, &c->vars, &wanted) != 3 || strcmp(word, "cnf") != 0 ||
        c->vars < 0 || c->vars > MOST_VARS) {
        c->failed = hop_fail(&c->err, HOP_EFORMAT, "no header of a formula");
        return;
    }
    c->watches = calloc((size_t)c->vars * 2 + 2, sizeof *c->watches);
    c->value = calloc((size_t)c->vars * 2 + 2, 1);
    c->trail = calloc((size_t)c->vars + 1, sizeof *c->trail);
    c->buckets = malloc(BUCKETS * sizeof *c->buckets);
    if (!c->watches || !c->value || !c->trail || !c->buckets) {
        c->failed = hop_fail(&c->err, HOP_ENOMEM, "out of memory");
        return;
    }
    memset(c->buckets, 0xff, BUCKETS * sizeof *c->buckets);
    while (read < wanted && read_clause(c, f, read + 1)) {
        add_clause(c);
        read++;
    }
    if (read < wanted && c->failed == HOP_OK)
        c->failed = hop_fail(&c->err, HOP_EFORMAT, "%ld clauses, not %ld", read, wanted);
    c->read = read;
}

static long check_proof(checker *c, FILE *f, const hop_progress *progress)
{
    long line = 0;
    while (!c->contradiction && c->failed == HOP_OK) {
        int ch;
        line++;
        if (line % 4096 == 0 && !hop_progress_tick(progress, "lines of the proof", (double)line, 0))
            c->failed = hop_fail(&c->err, HOP_ESTOPPED, "stopped on request");
        while ((ch = getc(f)) == ' ' || ch == '\n') {}
        bool deletion = ch == 'd';
        if (ch != EOF && !deletion) ungetc(ch, f);
        if (c->failed != HOP_OK) break;
        if (ch == EOF || !read_clause(c, f, line)) {
            if (c->failed == HOP_OK)
                c->failed = hop_fail(&c->err, HOP_EFORMAT, "it ends before the empty clause");
        } else if (deletion) {
            delete_clause(c, line);
        } else {
            check_addition(c, line);
        }
    }
    return line;
}

static void checker_free(checker *c)
{
    for (int i = 0; i < c->clause_count; i++) free(c->clauses[i].lits);
    for (int i = 0; c->watches && i < 2 * c->vars + 2; i++) free(c->watches[i].v);
    free(c->clauses), free(c->watches), free(c->value), free(c->trail), free(c->buckets), free(c->lits.v),
        free(c->sorted.v);
}

hop_status hop__drat_judge(hop_check *out, FILE *formula, FILE *proof, const hop_progress *progress,
                           hop_error *err)
{
    checker c = {0};
    const char *in = "the formula";
    *out = (hop_check){.margin = NAN, .spread = NAN, .kind = "drat"};
    read_formula(&c, formula);
    if (c.failed == HOP_OK) {
        in = "the proof";
        out->passes = check_proof(&c, proof, progress);
    }
    out->valid = c.failed == HOP_OK;
    if (out->valid && out->passes == 0)
        snprintf(out->why, sizeof out->why,
                 "the formula has no solution: its %ld clauses are refuted by unit propagation, which takes "
                 "no line of proof",
                 c.read);
    else if (out->valid)
        snprintf(out->why, sizeof out->why, "the formula has no solution: %ld clauses, %lld line%s of proof",
                 c.read, (long long)out->passes, out->passes == 1 ? "" : "s");
    else
        snprintf(out->why, sizeof out->why, "%s: %.300s", in, c.err.text);
    hop_status s = c.failed == HOP_EFORMAT ? HOP_OK : c.failed;
    if (s != HOP_OK && err) *err = c.err;
    checker_free(&c);
    return s;
}

hop_status hop_check_drat(hop_check *out, const char *proof, const char *formula, const hop_check_options *o,
                          hop_error *err)
{
    void *cnf = NULL, *drat = NULL;
    *out = (hop_check){.margin = NAN, .spread = NAN, .kind = "drat", .why = "not checked"};
    hop_status s = hop_stream_open(&cnf, formula, err);
    if (s == HOP_OK) s = hop_stream_open(&drat, proof, err);
    if (s == HOP_OK) s = hop__drat_judge(out, cnf, drat, o ? o->progress : NULL, err);
    if (cnf) fclose(cnf);
    if (drat) fclose(drat);
    return s;
}
