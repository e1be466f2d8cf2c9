/* arith_scans.c - what the recurrences' kernels form on their way: body_scan_step.h, body_scan_gates.h (one gate
 * for all keys), body_scan_keys.h (a gate each, while decays are mild), body_scan_steep.h (and where they are
 * not), body_scan_chunk.h, body_selective.h. Lists are put together from parts, as the bodies are. */
#include <hopbound/arith_lines.h>

/* ---- gates and inputs ----------------------------------------------------------------------------- */

LIST(gate_none, NUMBER("g", 0), LINE("e", EXP, "g"));
LIST(gate_head, IN("g", 0), LINE("e", EXP, "g"));
LIST(gate_token, IN("g", AXIS(T)), LINE("e", EXP, "g"));
LIST(gate_key, IN("g", AXIS(T) | AXIS(K)), LINE("e", EXP, "g"));
LIST(inputs, IN("scale", 0), IN("q", AXIS(T) | AXIS(K)), IN("k", AXIS(T) | AXIS(K)),
     IN("v", AXIS(T) | AXIS(V)), IN("S", AXIS(K) | AXIS(V)));
LIST(input_beta, IN("beta", AXIS(T)));
LIST(inputs_dplr, IN("a", AXIS(T) | AXIS(K)), IN("b", AXIS(T) | AXIS(K)));
LIST(input_bonus, IN("u", AXIS(K)));
/* m moves on and is a float at every token; what its rounding adds to an exponent the gate takes back. */
LIST(gates_mlstm, IN("i", AXIS(T)), IN("f", AXIS(T)), IN("m", 0), LINE("keep", LOGSIG, "f"),
     LINE("m1", RUNMAX, "keep", "i", "m"), LINE("m0", PREV, "m1", "m"), WIDE("kept", ADD, "keep", "m0"),
     WIDE("g", UNDER, "kept", "m1"), WIDE("e", EXP, "g"), WIDE("above", UNDER, "i", "m1"),
     WIDE("key", EXP, "above"));

/* ---- token by token ------------------------------------------------------------------------------- */

LIST(step_read, LINE("qS", MUL, "q", "S1"), SUM("y", "qS", K), LINE("o", MUL, "y", "scale"));
LIST(step_decay, LINE("kv", MUL, "k", "v"), LINE("S1", FADE, "e", "S", "kv"));
LIST(step_delta, LINE("ke", MUL, "k", "e"), LINE("keS", MUL, "ke", "S"), SUM("p", "keS", K),
     LINE("left", SUB, "v", "p"), LINE("x", MUL, "left", "beta"), LINE("kx", MUL, "k", "x"),
     LINE("S1", FADE, "e", "S", "kx"));
LIST(step_dplr, LINE("aS", MUL, "a", "S"), SUM("p", "aS", K), LINE("bp", MUL, "b", "p"),
     LINE("kv", MUL, "k", "v"), LINE("new", ADD, "kv", "bp"), LINE("S1", FADE, "e", "S", "new"));
LIST(step_mlstm, LINE("kk", MUL, "k", "key"), LINE("kv", MUL, "kk", "v"), LINE("S1", FADE, "e", "S", "kv"));
/* RWKV-6 reads the state before its own token, which counts u times instead. */
LIST(step_bonus, LINE("kv", MUL, "k", "v"), LINE("S1", FADE, "e", "S", "kv"), LINE("qS", MUL, "q", "S"),
     SUM("y", "qS", K), LINE("ys", MUL, "y", "scale"));
LIST(own_pair, LINE("qu", MUL, "q", "u"), LINE("quk", MUL, "qu", "k"), SUM("w", "quk", K),
     LINE("ws", MUL, "w", "scale"), LINE("wv", MUL, "ws", "v"));
LIST(add_bonus, LINE("o", ADD, "ys", "wv"));
/* v has a column of ones behind it, so that S has the normaliser. */
LIST(quotient, LINE("least", NEG, "m1"), WIDE("bottom", EXP, "least"), LINE("n", ASIDE, "o"),
     LINE("size", ABS, "n"), LINE("larger", MAX, "size", "bottom"), NUMBER("tiny", 1e-6f),
     LINE("divisor", ADD, "larger", "tiny"), LINE("over", RECIP, "divisor"), LINE("h", MUL, "o", "over"),
     LINE("plain", PLAIN, "o", "m1"));

LIST(selective, IN("x", AXIS(T)), IN("delta", AXIS(T)), IN("A", AXIS(K)), IN("B", AXIS(T) | AXIS(K)),
     IN("C", AXIS(T) | AXIS(K)), IN("D", 0), IN("S", AXIS(K)), LINE("g", MUL, "delta", "A"),
     LINE("e", EXP, "g"), LINE("dx", MUL, "delta", "x"), LINE("new", MUL, "B", "dx"),
     LINE("S1", FADE, "e", "S", "new"), LINE("CS", MUL, "C", "S1"), LINE("skip", MUL, "D", "x"),
     LINE("o", SUM2, "CS", "skip")); /* a sum that begins with skip */
LIST(diagonal, IN("a", AXIS(T)), IN("b", AXIS(T)), IN("S", 0), LINE("S1", FADE, "a", "S", "b"),
     LINE("o", COPY, "S1"));

/* ---- chunks: one gate for all keys ---------------------------------------------------------------- */

LIST(scalar_decays, LINE("far", FAR, "e"), LINE("dec", DEC, "e"));
LIST(scalar_decays_mlstm, LINE("far", FAR, "e"), LINE("dec", DEC, "e", "key"));
LIST(scalar_rows, LINE("qs", MUL, "q", "scale"), LINE("cS", MUL, "qs", "far"), LINE("kj", ROWS, "k"),
     LINE("qk", MUL, "qs", "kj"), SUM("pair", "qk", K), LINE("C", MUL, "pair", "dec"),
     LINE("end", END, "dec"), LINE("right", MUL, "kj", "end"), LINE("fade", END, "far"));
LIST(scalar_solve, LINE("fb", MUL, "far", "beta"), LINE("ca", MUL, "k", "fb"), LINE("kk", MUL, "k", "kj"),
     SUM("meet", "kk", K), LINE("db", MUL, "dec", "beta"), LINE("met", MUL, "meet", "db"),
     LINE("c", STRICT, "met"));

/* ---- chunks: a gate for each key, as quotients of decays from the chunk's start -------------------- */

LIST(mild_decays, LINE("E", FAR, "e"), LINE("Em", MILD, "E"), LINE("back", RECIP, "Em"),
     LINE("qs", MUL, "q", "scale"), LINE("kt", MUL, "k", "back"), LINE("kj", ROWS, "kt"),
     LINE("last", END, "Em"), LINE("right", RATIO, "kj", "last", "back"), LINE("sum", TOTAL, "g"),
     LINE("fade", EXP, "sum"));
LIST(mild_rows, LINE("cS", MUL, "qs", "E"), LINE("cm", MUL, "qs", "Em"),
     LINE("qk", RATIO, "cm", "kj", "back"), SUM("pair", "qk", K), LINE("C", LOWER, "pair"));
LIST(mild_rows_bonus, LINE("Eb", FARB, "e"), LINE("cS", MUL, "qs", "Eb"),
     LINE("qk", RATIO, "cS", "kj", "back"), SUM("pair", "qk", K), LINE("C", STRICT, "pair"));
LIST(mild_solve_delta, LINE("kb", MUL, "k", "beta"), LINE("ca", MUL, "kb", "E"), LINE("cam", MUL, "kb", "Em"),
     LINE("kk", RATIO, "cam", "kj", "back"), SUM("meet", "kk", K), LINE("c", STRICT, "meet"));
LIST(mild_solve_dplr, LINE("Eb", FARB, "e"), LINE("ca", MUL, "a", "Eb"), LINE("bt", MUL, "b", "back"),
     LINE("bj", ROWS, "bt"), LINE("ab", RATIO, "ca", "bj", "back"), SUM("meet", "ab", K),
     LINE("c", STRICT, "meet"), LINE("ak", RATIO, "ca", "kj", "back"), SUM("asked", "ak", K),
     LINE("cv", STRICT, "asked"), LINE("qb", RATIO, "cm", "bj", "back"), SUM("pair_b", "qb", K),
     LINE("Cb", LOWER, "pair_b"), LINE("right_b", RATIO, "bj", "last", "back"));

/* ---- chunks: and where some key has forgotten nearly everything since the chunk's start ------------ */

/* Columns were divided by a mild decay and are multiplied by it again; then they are carried. Near columns
 * meet the row itself, far ones a row that is decayed from a block's start. */
LIST(steep_decays, LINE("E", FAR, "e"), LINE("Em", MILD, "E"), LINE("back", RECIP, "Em"),
     LINE("qs", MUL, "q", "scale"), LINE("kt", MUL, "k", "back"), LINE("km", RATIO, "kt", "Em", "back"),
     LINE("kj", ROWS, "km"), LINE("dec", DEC, "e"), LINE("near", DEC, "e", "kj"),
     LINE("held", PART, "near", "kj"), LINE("right", END, "near"), LINE("sum", TOTAL, "g"),
     LINE("fade", EXP, "sum"));
LIST(steep_rows, LINE("cS", MUL, "qs", "E"), LINE("qn", MUL, "q", "near"), SUM("near_pair", "qn", K),
     LINE("near_C", MUL, "near_pair", "scale"), LINE("qd", MUL, "qs", "dec"), LINE("qk", MUL, "qd", "held"),
     SUM("far_pair", "qk", K), LINE("pair", EITHER, "far_pair", "near_C"), LINE("C", LOWER, "pair"));
LIST(steep_rows_bonus, LINE("Eb", FARB, "e"), LINE("cS", MUL, "qs", "Eb"), LINE("nb", PREV, "near", "near"),
     LINE("qn", MUL, "q", "nb"), SUM("near_pair", "qn", K), LINE("near_C", MUL, "near_pair", "scale"),
     LINE("db", PREV, "dec", "dec"), LINE("qd", MUL, "qs", "db"), LINE("qk", MUL, "qd", "held"),
     SUM("far_pair", "qk", K), LINE("pair", EITHER, "far_pair", "near_C"), LINE("C", STRICT, "pair"));
LIST(steep_solve_delta, LINE("kb", MUL, "k", "beta"), LINE("ca", MUL, "kb", "E"),
     LINE("kn", MUL, "k", "near"), SUM("near_meet", "kn", K), LINE("near_c", MUL, "near_meet", "beta"),
     LINE("kd", MUL, "kb", "dec"), LINE("kk", MUL, "kd", "held"), SUM("far_meet", "kk", K),
     LINE("meet", EITHER, "far_meet", "near_c"), LINE("c", STRICT, "meet"));
LIST(steep_solve_dplr, LINE("Eb", FARB, "e"), LINE("ca", MUL, "a", "Eb"), LINE("bt", MUL, "b", "back"),
     LINE("bm", RATIO, "bt", "Em", "back"), LINE("bj", ROWS, "bm"), LINE("near_b", DEC, "e", "bj"),
     LINE("held_b", PART, "near_b", "bj"), LINE("nb", PREV, "near", "near"),
     LINE("nbb", PREV, "near_b", "near_b"), LINE("an", MUL, "a", "nbb"), SUM("near_meet", "an", K),
     LINE("akn", MUL, "a", "nb"), SUM("near_asked", "akn", K), LINE("db", PREV, "dec", "dec"),
     LINE("ad", MUL, "a", "db"), LINE("ab", MUL, "ad", "held_b"), SUM("far_meet", "ab", K),
     LINE("meet", EITHER, "far_meet", "near_meet"), LINE("c", STRICT, "meet"), LINE("ak", MUL, "ad", "held"),
     SUM("far_asked", "ak", K), LINE("asked", EITHER, "far_asked", "near_asked"), LINE("cv", STRICT, "asked"),
     LINE("qb", MUL, "qd", "held_b"), SUM("far_pair_b", "qb", K), LINE("qnb", MUL, "q", "near_b"),
     SUM("near_pair_b", "qnb", K), LINE("near_Cb", MUL, "near_pair_b", "scale"),
     LINE("pair_b", EITHER, "far_pair_b", "near_Cb"), LINE("Cb", LOWER, "pair_b"),
     LINE("right_b", END, "near_b"));

/* ---- chunks: the triangular system, the output, the state ------------------------------------------ */

LIST(x_is_v, LINE("xj", ROWS, "v"));
LIST(x_of_delta, LINE("bv", MUL, "beta", "v"), LINE("caS", MUL, "ca", "S"), SOLVE("x", -1, "bv", "caS", "c"),
     LINE("xj", ROWS, "x"));
LIST(x_of_dplr, LINE("vj", ROWS, "v"), LINE("cvv", MUL, "cv", "vj"), SUM("from_v", "cvv", J),
     LINE("caS", MUL, "ca", "S"), SOLVE("p", 1, "from_v", "caS", "c"), LINE("pj", ROWS, "p"));
LIST(chunk_end, LINE("cSS", MUL, "cS", "S"), LINE("Cx", MUL, "C", "xj"), LINE("o", SUM2, "cSS", "Cx"),
     LINE("rx", MUL, "right", "xj"), SUM("new", "rx", J), LINE("S1", FADE, "fade", "S", "new"));
/* The token's own product is a term of the sum, as `ws` is the last coefficient of its row. */
LIST(chunk_end_bonus, LINE("cSS", MUL, "cS", "S"), LINE("Cx", MUL, "C", "xj"),
     LINE("o", SUM2, "cSS", "Cx", "wv"), LINE("rx", MUL, "right", "xj"), SUM("new", "rx", J),
     LINE("S1", FADE, "fade", "S", "new"));
LIST(chunk_end_dplr, LINE("cSS", MUL, "cS", "S"), LINE("Cp", MUL, "Cb", "pj"), LINE("op", SUM2, "cSS", "Cp"),
     LINE("Cv", MUL, "C", "vj"), SUM("ov", "Cv", J), LINE("o", ADD, "op", "ov"),
     LINE("rp", MUL, "right_b", "pj"), SUM("new_b", "rp", J), LINE("Sb", FADE, "fade", "S", "new_b"),
     LINE("rv", MUL, "right", "vj"), SUM("new_v", "rv", J), LINE("S1", ADD, "Sb", "new_v"));

/* ---- which programs a recurrence has ---------------------------------------------------------------- */

#define STEP(name, ...)                                                                        \
    {                                                                                          \
        .op = name, .form = "step", .unit_is_token = true, .part = {__VA_ARGS__}, .reads = "o" \
    }
#define CHUNK(name, how, ...)                                        \
    {                                                                \
        .op = name, .form = how, .part = {__VA_ARGS__}, .reads = "o" \
    }
/* One for each way in which gates are given. */
#define PROGRAM(name, maker) \
    static const hop_program name[] = {maker(gate_none), maker(gate_head), maker(gate_token), maker(gate_key)}

#define DECAY_STEP(gate) STEP("decay", gate, inputs, step_decay, step_read)
#define DECAY_SCALAR(gate) \
    CHUNK("decay", "chunk", gate, inputs, scalar_decays, scalar_rows, x_is_v, chunk_end)
#define DECAY_MILD(gate)  CHUNK("decay", "mild", gate, inputs, mild_decays, mild_rows, x_is_v, chunk_end)
#define DECAY_STEEP(gate) CHUNK("decay", "steep", gate, inputs, steep_decays, steep_rows, x_is_v, chunk_end)
#define BONUS_STEP(gate)  STEP("bonus", gate, inputs, input_bonus, step_bonus, own_pair, add_bonus)
#define BONUS_MILD(gate)                                                                              \
    CHUNK("bonus", "mild", gate, inputs, input_bonus, mild_decays, mild_rows_bonus, x_is_v, own_pair, \
          chunk_end_bonus)
#define BONUS_STEEP(gate)                                                                                \
    CHUNK("bonus", "steep", gate, inputs, input_bonus, steep_decays, steep_rows_bonus, x_is_v, own_pair, \
          chunk_end_bonus)
#define DELTA_STEP(gate) STEP("delta", gate, inputs, input_beta, step_delta, step_read)
#define DELTA_SCALAR(gate)                                                                                  \
    CHUNK("delta", "chunk", gate, inputs, input_beta, scalar_decays, scalar_rows, scalar_solve, x_of_delta, \
          chunk_end)
#define DELTA_MILD(gate)                                                                                   \
    CHUNK("delta", "mild", gate, inputs, input_beta, mild_decays, mild_rows, mild_solve_delta, x_of_delta, \
          chunk_end)
#define DELTA_STEEP(gate)                                                                          \
    CHUNK("delta", "steep", gate, inputs, input_beta, steep_decays, steep_rows, steep_solve_delta, \
          x_of_delta, chunk_end)
#define DPLR_STEP(gate) STEP("dplr", gate, inputs, inputs_dplr, step_dplr, step_read)
#define DPLR_MILD(gate)                                                                                  \
    CHUNK("dplr", "mild", gate, inputs, inputs_dplr, mild_decays, mild_rows, mild_solve_dplr, x_of_dplr, \
          chunk_end_dplr)
#define DPLR_STEEP(gate)                                                                                     \
    CHUNK("dplr", "steep", gate, inputs, inputs_dplr, steep_decays, steep_rows, steep_solve_dplr, x_of_dplr, \
          chunk_end_dplr)

PROGRAM(decay_step, DECAY_STEP);
PROGRAM(decay_scalar, DECAY_SCALAR);
PROGRAM(decay_mild, DECAY_MILD);
PROGRAM(decay_steep, DECAY_STEEP);
PROGRAM(bonus_step, BONUS_STEP);
PROGRAM(bonus_mild, BONUS_MILD);
PROGRAM(bonus_steep, BONUS_STEEP);
PROGRAM(delta_step, DELTA_STEP);
PROGRAM(delta_scalar, DELTA_SCALAR);
PROGRAM(delta_mild, DELTA_MILD);
PROGRAM(delta_steep, DELTA_STEEP);
PROGRAM(dplr_step, DPLR_STEP);
PROGRAM(dplr_mild, DPLR_MILD);
PROGRAM(dplr_steep, DPLR_STEEP);

static const hop_program mlstm_step = {.op = "mlstm",
                                       .form = "step",
                                       .unit_is_token = true,
                                       .reads = "plain",
                                       .part = {gates_mlstm, inputs, step_mlstm, step_read, quotient}},
                         mlstm_chunk = {.op = "mlstm",
                                        .form = "chunk",
                                        .reads = "plain",
                                        .part = {gates_mlstm, inputs, scalar_decays_mlstm, scalar_rows,
                                                 x_is_v, chunk_end, quotient}},
                         selective_step = STEP("selective", selective),
                         diagonal_step = STEP("diagonal", diagonal);

/* As body_scan_chunk.h chooses: gates of keys, a bonus and dplr go the way of vectors. */
#define VECTORS(step, mild, steep, gate)             \
    {                                                \
        &step[gate], &mild[gate], &steep[gate], NULL \
    }
#define SCALARS(step, chunk, gate)      \
    {                                   \
        &step[gate], &chunk[gate], NULL \
    }
#define EITHER(step, chunk, mild, steep)                                           \
    {                                                                              \
        SCALARS(step, chunk, 0), SCALARS(step, chunk, 1), SCALARS(step, chunk, 2), \
            VECTORS(step, mild, steep, 3)                                          \
    }
#define ALWAYS(step, mild, steep)                                                                    \
    {                                                                                                \
        VECTORS(step, mild, steep, 0), VECTORS(step, mild, steep, 1), VECTORS(step, mild, steep, 2), \
            VECTORS(step, mild, steep, 3)                                                            \
    }

const hop_program *const *hop_scan_programs(hop_arith_scan scan, hop_gate gate, bool bonus)
{
    static const hop_program
        *const of_decay[][4] = EITHER(decay_step, decay_scalar, decay_mild, decay_steep),
               *const of_bonus[][4] = ALWAYS(bonus_step, bonus_mild, bonus_steep),
               *const of_delta[][4] = EITHER(delta_step, delta_scalar, delta_mild, delta_steep),
               *const of_dplr[][4] = ALWAYS(dplr_step, dplr_mild, dplr_steep),
               *const of_mlstm[] = {&mlstm_step, &mlstm_chunk, NULL},
               *const of_selective[] = {&selective_step, NULL}, *const of_diagonal[] = {&diagonal_step, NULL};
    switch (scan) {
    case HOP_ARITH_DECAY: return bonus ? of_bonus[gate] : of_decay[gate];
    case HOP_ARITH_DELTA: return of_delta[gate];
    case HOP_ARITH_DPLR: return of_dplr[gate];
    case HOP_ARITH_MLSTM: return of_mlstm;
    case HOP_ARITH_SELECTIVE: return of_selective;
    case HOP_ARITH_DIAGONAL: return of_diagonal;
    }
    return NULL;
}
