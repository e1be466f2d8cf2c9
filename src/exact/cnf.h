/* Clauses, and labels made of variables. Shared by the encoders of exact. */
#ifndef HOPBOUND_EXACT_CNF_H
#define HOPBOUND_EXACT_CNF_H

#include <stdio.h>
#include <hopbound/base.h>

/* A formula that grows. On failure to grow `failed` is set and stays set; check it once at the end. */
typedef struct hop__cnf {
    int *lits; /* clauses one after another, each ended by 0 */
    size_t len, cap;
    int64_t clauses;
    int vars;
    bool failed;
    hop_text comment; /* what the formula says, in lines, for the head of the file */
} hop__cnf;

void hop__cnf_free(hop__cnf *f);
int hop__cnf_var(hop__cnf *f);
void hop__cnf_put(hop__cnf *f, int lit); /* 0 ends the clause */
void hop__cnf_clause(hop__cnf *f, const int *lits, int count);
/* DIMACS, with the comment before it. */
bool hop__cnf_write(const hop__cnf *f, FILE *out);

/* A number below `values`. Few values: a variable each, exactly one true, which propagates best. Many: the
 * bits of the number. One value: no variable at all. */
typedef struct hop__label {
    int first, values;
    bool onehot;
} hop__label;

hop__label hop__label_new(hop__cnf *f, int values);
/* A number that nothing but implications constrain: bits, also for few values. */
hop__label hop__label_bits(hop__cnf *f, int values);
/* Writes into `out` the literals of which one is true iff l is not v; how many (at most 32). */
int hop__label_not(const hop__label *l, int v, int *out);
/* guard (a clause's beginning: the negated premises) or l = v. */
void hop__label_force(hop__cnf *f, const int *guard, int n, const hop__label *l, int v);
/* guard or l = k, two labels of the same kind. */
void hop__label_equal(hop__cnf *f, const int *guard, int n, const hop__label *l, const hop__label *k);
/* l <= v */
void hop__label_at_most(hop__cnf *f, const hop__label *l, int64_t v);
/* Its value in a model, where model[variable] says which are true. */
int hop__label_value(const hop__label *l, const signed char *model);

#endif
