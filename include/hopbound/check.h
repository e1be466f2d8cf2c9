/* hopbound/check.h - an independent checker: it confirms or rejects what others claim, and shares no code
 * with those who claim it.
 *
 *     hop_check c;
 *     if (hop_check_witness(&c, "witness.json", "net", NULL, &err) == HOP_OK) puts(c.why);
 *     hop_check_drat(&c, "proof.drat", "proof.cnf", NULL, &err);
 *     hop_check_certificates(&c, "bound.cert", NULL, &err);
 *
 * Witnesses against networks are checked with a forward pass of its own, in double precision and straight
 * from the equations; proofs of `exact` by unit propagation; certificates of `bound` by the algorithm that
 * proofs/Check.v proves sound. What it trusts: docs/ARCHITECTURE.md, room check.
 */
#ifndef HOPBOUND_CHECK_H
#define HOPBOUND_CHECK_H

#include <hopbound/base.h>
#include <hopbound/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a forward pass in double precision ------------------------------------------------------ */

/* The arithmetic under which a network is run; all zero: float32, which rounds nothing on purpose. */
typedef struct hop_rounding {
    int64_t significant_bits; /* 1..23: tables, the result of every operation, attention weights and states
                                 are rounded to so many significant bits, as `run --precision` does */
    int64_t state_bits;   /* 8 (E5M2), 10..32: states of recurrent layers are rounded, after every token, to
                             floats of so many bits; nothing else is */
    int64_t message_bits; /* 10..32: numbers that cross a cut are, as `play --bits` does */
    const int64_t *cuts;  /* where segments begin; increasing, the first may be 0 */
    int64_t cut_count;
} hop_rounding;

/* A network as this room reads it; passes of several threads may share it. */
typedef struct hop_truth hop_truth;

/* A directory with config.json and model.safetensors (or shards). Networks with seeded layers are refused. */
hop_status hop_truth_open(hop_truth **out, const char *dir, hop_error *err);
void hop_truth_free(hop_truth *t);
int64_t hop_truth_vocab(const hop_truth *t);
/* Logits [vocab] at `position` of `count` tokens; `arith` NULL: nothing is rounded. HOP_ERANGE for tokens or
 * lengths that the network does not take; HOP_EFORMAT, HOP_ESHAPE for tensors that are not as they should be.
 */
hop_status hop_truth_logits(const hop_truth *t, const hop_rounding *arith, const int32_t *tokens,
                            int64_t count, int64_t position, double *logits, hop_error *err);

/* ---- verdicts ------------------------------------------------------------------------------- */

typedef struct hop_check {
    bool valid;    /* the claim holds */
    bool rounding; /* it does or does not, depending on how float32 rounds: then valid is false */
    char kind
        [16]; /* "input", "pair", "collision", "drat", "bound", "protocol"; "" when the file was rejected before */
    char by[8];     /* of a certificate: the theorem; "" else */
    char why[400];  /* one line, always */
    double margin;  /* of the network's answer over the next logit, the smallest; NaN where there is none */
    double spread;  /* by how much it moves when the arithmetic is shaken */
    int64_t passes; /* forward passes, lines of the proof, certificates, or inputs */
    /* Of a valid certificate, the two sides of its theorem's inequality: bits that its players can tell, which are fewer
     * than those that the answers take; infinity beyond 10^308. 0 and "": of no certificate, or not valid. */
    double has_bits, needs_bits;
    char has[40], needs[56]; /* "7421", "7424.0312"; long ones "10^22.1042" */
} hop_check;

/* Of a file of certificates: each of them, on which line it stands. */
typedef void hop_certificate_fn(void *ctx, int64_t line, const hop_check *c);

typedef struct hop_check_options {
    hop_pool *pool;               /* passes are shared out; may be NULL */
    const hop_progress *progress; /* may be NULL */
    hop_certificate_fn *each;     /* may be NULL */
    void *ctx;
} hop_check_options;

/* Is the witness in `path` one against the network in `dir`? A file that is no witness, or of another
 * network, is rejected: HOP_OK, valid false, and why. What cannot be looked into is an error: HOP_EIO,
 * HOP_ENOMEM, HOP_ESTOPPED. */
hop_status hop_check_witness(hop_check *out, const char *path, const char *dir, const hop_check_options *o,
                             hop_error *err);
/* Adds the last member of a witness, "seal": a hash of all that was written before it. */
void hop_check_seal(hop_json_writer *w);
/* Does the DRAT proof (text form) show that the formula (DIMACS) has no solution? */
hop_status hop_check_drat(hop_check *out, const char *proof, const char *formula, const hop_check_options *o,
                          hop_error *err);

/* One certificate of a bound, a line as proofs/CERTIFICATE.md says: valid only if `check` of proofs/Check.v
 * accepts it, so that its claim is a theorem. Else why begins with "rejected" or "malformed". HOP_ENOMEM. */
hop_status hop_check_certificate(hop_check *out, const char *line, size_t length, hop_error *err);
/* A file of them: valid if there is one and all are; `why` is about the first that is not, or the last. HOP_EIO,
 * HOP_EFORMAT (a file of more than 64 MB), HOP_ENOMEM, HOP_ESTOPPED. */
hop_status hop_check_certificates(hop_check *out, const char *path, const hop_check_options *o,
                                  hop_error *err);

/* Protocols that `exact --protocol` writes, played on every input: valid if there is one and all are right on all. A file
 * that is none is rejected, or HOP_EFORMAT where it is no JSON; HOP_EIO, HOP_ENOMEM. */
hop_status hop_check_protocols(hop_check *out, const char *path, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
