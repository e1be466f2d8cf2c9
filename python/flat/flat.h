/* What Python calls (room: python): functions of numbers, texts and addresses. No struct of the library is read from
 * outside, so nothing here changes when one of these does, and whoever can call C can call it.
 *
 * Statuses are hop_status; objects are addresses. A text that is handed out is taken back by hopflat_free.
 */
#ifndef HOPFLAT_H
#define HOPFLAT_H

#include <hopbound/base.h>

#include <pthread.h>

/* ---- calls that may be long ------------------------------------------------------------------ */

/* How far a call is, for another thread to look at, and its way to say stop. */
typedef struct hopflat_watch {
    pthread_mutex_t lock; /* over the four below */
    bool stop;
    double done, total;
    char what[64];
} hopflat_watch;

hopflat_watch *hopflat_watch_new(void);
void hopflat_watch_free(hopflat_watch *w);
void hopflat_watch_stop(hopflat_watch *w);
/* False: nothing was told so far. `what` holds 64 letters. */
bool hopflat_watch_read(hopflat_watch *w, double *done, double *total, char *what);
hop_progress hopflat__progress(hopflat_watch *w);

char *hopflat__handed_out(
    hop_text *t); /* its memory, which is the caller's then; NULL: there was not enough */
int hopflat__told(hop_status s, const hop_error *err, char *why);

void hopflat_free(void *p);
const char *hopflat_version(void);
const char *hopflat_status_name(int status); /* "EIO" */

/* ---- questions ------------------------------------------------------------------------------- */

char *hopflat_verbs(void); /* hop_verbs_json; NULL: no memory */
/* hop_ask. *out is the answer, or the one line that says why there is none; NULL: no memory. */
int hopflat_ask(const char *verb, const char *question, hopflat_watch *w, char **out, int *code);

/* ---- networks: an open one is read by any number of threads; why[400] has the one line of what went wrong ---- */

int hopflat_network_open(const char *dir, void **out, char *why);
int hopflat_network_save(const void *network, const char *dir, char *why);
void hopflat_network_free(void *network);
int64_t hopflat_network_weights(const void *network);
/* The i-th weight's name and address, which live as long as the network; shape[2]; returns its rank. */
int hopflat_network_weight(const void *network, int64_t i, const char **name, int64_t *shape, float **data);
/* Its vocabulary, width, longest prompt and number of parameters. */
void hopflat_network_sizes(const void *network, int64_t sizes[4]);
char *hopflat_network_config(const void *network); /* as config.json has it; NULL: no memory */

typedef enum hopflat_what { HOPFLAT_LAST, HOPFLAT_ALL, HOPFLAT_HIDDEN } hopflat_what;
/* Passes over `rows` prompts of `count` tokens each, one behind the other; out[rows][vocab], [rows][count][vocab] or
 * [rows][count][width]. threads 0: one a core. */
int hopflat_network_pass(const void *network, const int32_t *tokens, const int64_t shape[2],
                         hopflat_what what, float *out, int threads, hopflat_watch *w, char *why);

/* ---- tasks ----------------------------------------------------------------------------------- */

int hopflat_task_new(const char *json, void **out, char *why);
void hopflat_task_free(void *task);
void hopflat_task_sizes(const void *task, int64_t sizes[3],
                        double *log10_inputs); /* length, vocab, asks everywhere */
char *hopflat_task_json(const void *task);     /* NULL: no memory */
/* Instances first .. first + count - 1 of a seed: tokens[count][length], and targets, -1 where none is wanted. */
int hopflat_task_sample(const void *task, uint64_t seed, const uint64_t range[2], int32_t *tokens,
                        int32_t *targets, char *why);
int hopflat_task_solve(const void *task, const int32_t *tokens, int64_t count, int32_t *targets, char *why);

/* ---- threads --------------------------------------------------------------------------------- */

/* The process's pool of so many threads, made when it is first wanted; NULL: one is enough, or another call has it,
 * whose threads then are busy anyway. A child of fork begins without one. */
hop_pool *hopflat__pool_take(int threads);
void hopflat__pool_give(hop_pool *p);

/* ---- operators (hopbound.torch) -------------------------------------------------------------- */

/* Arrays are another's. Each is told by three numbers: its address (0: there is none) and how far sequences of the batch
 * and tokens are apart in it; what stands for one token is dense. All of them return a hop_status, HOP_OK or HOP_ENOMEM.
 * threads: as many of the team's as the caller may have. */

/* Threads that another library has already started: the address of OpenMP's GOMP_parallel. Without it operators run in the
 * process's pool. */
void hopflat_team(void *gomp_parallel);

typedef enum hopflat_recurrence {
    HOPFLAT_DECAY,
    HOPFLAT_DELTA,
    HOPFLAT_DPLR,
    HOPFLAT_MLSTM
} hopflat_recurrence;
/* hop_decay_forward and the others. sizes: recurrence, gate (hop_gate), form (hop_form), sequences, tokens, heads, key
 * heads, key dim, value dim; arrays: o, state, q, k, v, g, beta, a, b, u, i, f; the state is read and overwritten. */
int hopflat_scan(const int64_t sizes[9], double scale, const int64_t *arrays, int threads);
/* The same arrays, where o is its gradient, and then those of the state, q, k, v, g, beta, a, b, u, i, f. A gradient lies
 * as its array does, but one of what all sequences share is each sequence's own. */
int hopflat_scan_backward(const int64_t sizes[9], double scale, const int64_t *arrays, int threads);

/* hop_selective_forward. sizes: sequences, tokens, width, states; arrays: o, state, x, delta, A, B, C, D; backward as
 * above. */
int hopflat_selective(const int64_t sizes[4], const int64_t *arrays, int threads);
int hopflat_selective_backward(const int64_t sizes[4], const int64_t *arrays, int threads);

/* hop_conv_forward. sizes: sequences, tokens, width, taps, whether SiLU follows; arrays: y, past, x, w, bias. Backward
 * then: of past, x, w, bias; of w and bias over all sequences. */
int hopflat_conv(const int64_t sizes[5], const int64_t *arrays, int threads);
int hopflat_conv_backward(const int64_t sizes[5], const int64_t *arrays, int threads);
/* One token, where the inputs are kept as [width, kept] of each sequence, oldest first and the token's last: they move on
 * by one. sizes: sequences, width, taps, kept (no fewer), whether SiLU follows; arrays: y, inputs, x, w, bias. */
int hopflat_conv_step(const int64_t sizes[5], const int64_t *arrays, int threads);

/* hop_attn_forward. sizes: sequences, tokens, queries, heads, key heads, key dim, value dim, window, whether it looks both
 * ways; arrays: o, lse [heads, queries], q, k, v. Backward: o, lse, q, k, v, gradients of o, q, k, v. */
int hopflat_attention(const int64_t sizes[9], double scale, const int64_t *arrays, int threads);
int hopflat_attention_backward(const int64_t sizes[9], double scale, const int64_t *arrays, int threads);

typedef struct hopflat__array {
    float *p;
    int64_t sequence, token;
} hopflat__array;
hopflat__array hopflat__array_at(const int64_t *arrays, int i);
float *hopflat__of(hopflat__array a, int64_t sequence); /* NULL: there is none */

/* A call for each sequence of a batch: one after the other, each by all threads, or side by side where there are enough of
 * them. `scratch` tells the floats that one needs for so many threads. */
typedef struct hopflat__batch {
    int64_t sequences;
    size_t (*scratch)(const void *call, int threads);
    void (*run)(const void *call, int64_t sequence, float *scratch, hop_pool *pool);
    const void *call;
} hopflat__batch;
int hopflat__batch_run(const hopflat__batch *b, int threads);

/* A pool over the team's threads, or the process's. */
typedef struct hopflat__share {
    hop_pool *pool;
    bool team;
} hopflat__share;
hopflat__share hopflat__share_take(int threads);
void hopflat__share_give(hopflat__share s);

#endif
