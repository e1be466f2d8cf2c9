/* The verb exact: is there any protocol with so many bits? A table of cells, decided by a SAT solver. */
#include "exact.h"

#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define AT(member) offsetof(exact_args, member)
static const hop_opt OPTIONS[] = {
    {"hops", 0, HOP_OPT_INT, AT(hops), "L", "1", 1, 2, .help = "functions to compose"},
    {"m", 0, HOP_OPT_INT, AT(m), "M", "2", 2, 64, .help = "entries of the first function"},
    {"fan", 0, HOP_OPT_INT, AT(fan), "N", "2", 2, 64,
     .help = "two hops: how many times larger the second function is"},
    {"full-layers", 0, HOP_OPT_INT, AT(full_layers), "N", NULL, 0, 1,
     .initial_help = "1 for two hops or where message bits are asked for, else 0",
     .help = "0: linear layers only, with the state bits in total; 1: one full layer among them"},
    {"state-bits", 's', HOP_OPT_TEXT, AT(state_bits), "LIST",
     .initial_help = "from 0 to where it must be possible",
     .help = "state bits of the linear layers, such as 5, 3,4,5 or 0..4; with a full layer, as many before "
             "it as after it"},
    {"message-bits", 0, HOP_OPT_TEXT, AT(message_bits), "LIST",
     .initial_help = "from 0 to where it must be possible",
     .help = "bits that a token hears from each earlier player in the full layer"},
    {"before", 0, HOP_OPT_TEXT, AT(before), "LIST", .initial_help = "0",
     .help = "instead of --state-bits: state bits before the full layer"},
    {"after", 0, HOP_OPT_TEXT, AT(after), "LIST", .initial_help = "0",
     .help = "instead of --state-bits: state bits after it"},
    {"budget", 0, HOP_OPT_REAL, AT(budget), "SECONDS", "600", 0, 1000000000,
     .help = "for all cells together; what is left then is undecided; 0 is no limit"},
    {"proof", 0, HOP_OPT_TEXT, AT(proof), "DIR",
     .help = "for every cell found impossible on the way, leave the formula (.cnf, whose comments say why it "
             "follows) and its DRAT proof (.drat) there"},
    {"protocol", 0, HOP_OPT_TEXT, AT(protocol), "FILE", .use = HOP_OPT_WRITES,
     .help = "write the protocols found there, as JSON: every player's tables"},
    {0},
};
/* clang-format on */

/* ---- deciding ------------------------------------------------------------------------------ */

/* Cells that a signal left are undecided; the theorems speak of them all the same. When no cell was small
 * enough to be tried there is nothing to report: HOP_ERANGE. */
static hop_status decide_all(hop_exact *x, exact_table *t, hop_error *err)
{
    hop_status s = HOP_OK;
    int done = 0, big = 0, last = t->count - 1; /* that can use time */
    while (last > 0 && hop_exact_fits(x, t->bits[last], NULL) != HOP_OK) last--;
    for (; done < t->count && s == HOP_OK; done += s == HOP_OK)
        s = hop_exact_decide(x, t->bits[done], done >= last, &t->cells[done], err);
    if (s == HOP_ESTOPPED)
        for (; done < t->count; done++) {
            hop_exact_theorems(x, t->bits[done], &t->cells[done]);
            t->cells[done].by = "stopped";
        }
    if (s != HOP_OK) return s;
    while (big < t->count && t->cells[big].verdict == HOP_CELL_UNDECIDED &&
           hop_exact_fits(x, t->bits[big], NULL) != HOP_OK)
        big++;
    return big == t->count ? hop_exact_fits(x, t->bits[0], err) : HOP_OK;
}

static hop_status save_protocols(hop_output *out, const exact_table *t, hop_error *err)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_key(&w, "protocols");
    hop_json_begin_array(&w);
    for (int i = 0; i < t->count; i++) {
        const hop_protocol *p = t->cells[i].protocol;
        bool again = !p; /* cells may share one */
        for (int j = 0; j < i; j++) again |= t->cells[j].protocol == p;
        if (!again) hop_protocol_write(p, &w);
    }
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    hop_text_add(&w.text, "\n");
    hop_status s = HOP_OK;
    if (w.text.failed) {
        s = hop_fail(err, HOP_ENOMEM, "%s: out of memory", out->path);
        hop_output_abort(out);
    } else {
        hop_output_write(out, w.text.s, w.text.len);
        s = hop_output_commit(out, err);
    }
    hop_text_free(&w.text);
    return s;
}

/* How it ends, and the line beside the answer. */
static void conclude(hop_response *out, const exact_table *t, bool stopped)
{
    int refuted = 0, undecided = 0;
    for (int i = 0; i < t->count; i++) {
        refuted += hop_exact_refutes(&t->cells[i]);
        undecided += t->cells[i].verdict == HOP_CELL_UNDECIDED;
    }
    out->exit = refuted ? HOP_EXIT_COUNTEREXAMPLE : undecided ? HOP_EXIT_UNDECIDED : HOP_EXIT_DONE;
    if (stopped)
        out->exit = HOP_EXIT_FAILED, out->complaint = "stopped: by a signal";
    else if (refuted)
        out->complaint =
            hop_keep_printf(&out->memory,
                            "A THEOREM IS REFUTED: %d cell%s that P2, P4 or P5 call impossible %s a "
                            "protocol, checked on all inputs; keep it with --protocol FILE",
                            refuted, refuted == 1 ? "" : "s", refuted == 1 ? "has" : "have");
}

/* Also after a signal there is a table, of what was decided before. `protocols`: where they go, or NULL; closed here. */
static hop_status decide(hop_response *out, const exact_args *a, exact_table *t, hop_output *protocols,
                         hop_error *err)
{
    const hop_exact_options o = {.hops = (int)a->hops.integer,
                                 .m = a->m.integer,
                                 .fan = a->fan.integer,
                                 .linear_only = !t->full,
                                 .budget = a->budget.real,
                                 .seed = (uint64_t)a->ask.seed.integer,
                                 .proof_dir = a->proof.text,
                                 .progress = &a->ask.progress};
    hop_exact *x = NULL;
    double began = hop_now();
    hop_status s = hop_exact_new(&x, &o, err);
    bool ready = s == HOP_OK;
    if (ready) {
        snprintf(t->solver, sizeof t->solver, "%s", hop_exact_solver(x));
        t->exact = x;
        s = decide_all(x, t, err);
        t->seconds = hop_now() - began;
    }
    bool stopped = ready && s == HOP_ESTOPPED;
    if (stopped) s = HOP_OK;
    if (s == HOP_OK) s = hop__exact_record(out, a, t, err);
    if (s == HOP_OK) conclude(out, t, stopped);
    if (protocols && s == HOP_OK)
        s = save_protocols(protocols, t, err);
    else if (protocols)
        hop_output_abort(protocols);
    hop_exact_free(x);
    return s;
}

static hop_status ask_exact(hop_response *out, const void *request, hop_error *err)
{
    const exact_args *a = request;
    hop_exact_game g;
    hop_output protocols; /* opened first: a search whose result cannot be kept would be for nothing */
    hop_status s = hop_exact_game_init(&g, (int)a->hops.integer, a->m.integer, a->fan.integer, err);
    if (s != HOP_OK) return s;
    exact_table *t = calloc(1, sizeof *t);
    if (!t) return hop_fail(err, HOP_ENOMEM, "out of memory");
    s = hop__exact_cells(a, &g, t, err);
    if (s == HOP_OK && a->protocol.text) s = hop_output_open(&protocols, a->protocol.text, err);
    if (s == HOP_OK) s = decide(out, a, t, a->protocol.text ? &protocols : NULL, err);
    free(t);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound exact --hops 1 --m 3",
     "27 functions need 5 state bits: the threshold of a stack of linear layers."},
    {"hopbound exact --hops 2 --before 0 --after 0,1 --message-bits 3 --protocol found.json",
     "Two hops, one full layer, 3 message bits: impossible without state, possible with one bit after it."},
    {"hopbound exact --hops 1 --m 2 --state-bits 1 --proof proofs",
     "Leaves a formula and the proof that it has no solution."},
    {0},
};
const hop_verb hop__verb_exact = {
    .name = "exact",
    .summary = "decides for tiny sizes whether any protocol with the given bits composes the functions",
    .description =
        "For tiny sizes only, since all inputs are listed, 2^24 at most: one hop with m from 2 to 7; two hops with m 2 and fan 2 "
        "or 3, or m 3 and fan 2. Beyond, nothing is decided, and `bound` and `separate` say what theorems know.\n\n"
        "The players hold z_L, .., z_1, z_0, w. Linear layers are a chain of state bits from player to player; the "
        "full layer lets every token hear message bits from each earlier player, which answers from what it knew "
        "before to a question that may hold all that the asker knew. Nothing else is limited, so impossible holds "
        "for every causal network of those widths, in one pass; possible comes with the players' tables, played on all inputs.\n\n"
        "Decided by the SAT solver CaDiCaL, which must be installed. The column \"by\" says how: cut, core and relaxed are "
        "formulas that every protocol would satisfy; picked, affine and direct are formulas whose solutions are protocols "
        "(direct decides both ways); fewer bits: a smaller cell has a protocol already. Smaller cells are decided "
        "first. Of an undecided cell it says why: share spent (a cell may take half of what is left of the budget, the "
        "last one all of it), budget spent, too big (no formula is small enough to be tried), no formula decides it "
        "(those that are small enough have all been answered), stopped.\n\n"
        "Exit 0: all cells decided, and the theorems P2, P4, P5 stand. Exit 10: a cell that a theorem calls impossible "
        "has a protocol. Exit 30: a cell is undecided. Exit 1 with one line: among other failures, all cells are too big.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_exact_answer_record,
    .rows = "results",
    .request_size = sizeof(exact_args),
    .ask = ask_exact,
};
/* clang-format on */
