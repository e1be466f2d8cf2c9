/* CaDiCaL as a child process. */
#ifndef HOPBOUND_EXACT_SOLVER_H
#define HOPBOUND_EXACT_SOLVER_H

#include "cnf.h"

typedef enum hop__sat { HOP__SAT_UNKNOWN, HOP__SAT_YES, HOP__SAT_NO } hop__sat;

/* One call of the solver. */
typedef struct hop__solve {
    double deadline; /* on hop_now's clock; 0: none. After it the answer is unknown */
    uint64_t seed;
    const char *proof; /* NULL, or PATH: for an unsatisfiable formula leave PATH.cnf and PATH.drat */
    const char *what;  /* for the progress */
    const hop_progress *progress;
} hop__solve;

/* The answer, and for YES the model: model[v] is 1 or -1 for variables 1..vars; free it with free(). Nothing
 * of the child or of its files is left when this returns, but the proof. HOP_EIO, HOP_ENOMEM, HOP_ESTOPPED.
 */
hop_status hop__solver_run(const hop__solve *o, const hop__cnf *f, hop__sat *answer, signed char **model,
                           hop_error *err);
/* "cadical 1.5.3". HOP_EIO with the package to install when there is none. */
hop_status hop__solver_version(char *out, size_t size, hop_error *err);

#endif
