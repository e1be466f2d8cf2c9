/* hopbound exact: is there any protocol with so many bits? A table of cells, decided by a SAT solver. */
#include "exact.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BITS 24

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

/* ---- which cells --------------------------------------------------------------------------- */

typedef struct list {
    int v[MAX_BITS + 1], count;
} list;

/* A number too large, as it was written; some do not fit into a long. */
static int too_large(const exact_args *a, const char *option, const char *digits)
{
    const size_t length = strspn(digits, "0123456789"), most = 40;
    return fail(&a->common, EXIT_USAGE, "--%s: %.*s%s is outside 0..%d", option,
                (int)(length < most ? length : most), digits, length > most ? ".." : "", MAX_BITS);
}

/* "5", "1,3", "0..4", "0..2,6": rising numbers up to MAX_BITS. */
static int read_list(const exact_args *a, const char *option, const char *text, list *out)
{
    const char *at = text;
    for (;;) {
        char *end;
        long lo = strtol(at, &end, 10), hi = lo;
        bool ok = *at >= '0' && *at <= '9';
        if (ok && strncmp(end, "..", 2) == 0) {
            at = end + 2;
            hi = strtol(at, &end, 10);
            ok = *at >= '0' && *at <= '9';
        }
        if (!ok || (*end && *end != ','))
            return fail(&a->common, EXIT_USAGE, "--%s: \"%.60s\" is not a list such as 3, 0,2 or 0..4",
                        option, text);
        if (hi > MAX_BITS) return too_large(a, option, at);
        if (hi < lo || (out->count && out->v[out->count - 1] >= lo))
            return fail(&a->common, EXIT_USAGE, "--%s: \"%.60s\" does not rise", option, text);
        while (lo <= hi) out->v[out->count++] = (int)lo++;
        if (!*end) return EXIT_DONE;
        at = end + 1;
    }
}

/* What the option says, else 0..most. */
static int list_of(const exact_args *a, const char *option, const hop_opt_value *v, int64_t most, list *out)
{
    if (v->text) return read_list(a, option, v->text, out);
    if (most > MAX_BITS) most = MAX_BITS;
    for (int k = 0; k <= most; k++) out->v[out->count++] = k;
    return EXIT_DONE;
}

/* Bits that number `tables` things. */
static int64_t bits_for(int64_t tables)
{
    int64_t bits = 0;
    while (bits < 62 && (int64_t)1 << bits < tables) bits++;
    return bits;
}

/* By default up to where a protocol is obvious: all of z_L in the states, or of what w can ask for in a
 * message. */
static int choose_cells(const exact_args *a, const hop_exact_game *g, exact_table *t)
{
    list before = {0}, after = {0}, message = {0};
    const int64_t all = bits_for(g->count[0]), asked = g->m * bits_for(g->answers);
    bool messages = a->message_bits.given || a->before.given || a->after.given;
    t->full = a->full_layers.given ? a->full_layers.integer == 1 : g->hops == 2 || messages;
    t->split = a->before.given || a->after.given;
    if (g->hops == 1 && a->fan.given)
        return fail(&a->common, EXIT_USAGE, "--fan: one hop has no second function");
    if (!t->full && messages)
        return fail(&a->common, EXIT_USAGE,
                    "--full-layers: 0 has no messages, and nothing before or after it");
    if (t->split && a->state_bits.given)
        return fail(&a->common, EXIT_USAGE, "--state-bits: with --before or --after there are two kinds");
    int code = list_of(a, "message-bits", &a->message_bits, t->full ? asked : 0, &message);
    if (code == EXIT_DONE && t->split) {
        code = list_of(a, "before", &a->before, 0, &before);
        if (code == EXIT_DONE) code = list_of(a, "after", &a->after, 0, &after);
    } else if (code == EXIT_DONE) {
        code = list_of(a, "state-bits", &a->state_bits, t->full ? (all + 1) / 2 : all, &after);
        before.count = 1;
    }
    for (int i = 0; i < before.count && code == EXIT_DONE; i++)
        for (int j = 0; j < after.count; j++)
            for (int k = 0; k < message.count; k++) {
                if (t->count == EXACT_MAX_CELLS)
                    return fail(&a->common, EXIT_USAGE, "--message-bits: more than %d cells",
                                EXACT_MAX_CELLS);
                int first = t->split ? before.v[i] : t->full ? after.v[j] : 0;
                t->bits[t->count++] = (hop_bits){first, message.v[k], after.v[j]};
            }
    return code;
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* Cells that a signal left are undecided; the theorems speak of them all the same. When no cell was small
 * enough to be tried there is nothing to report: HOP_ERANGE. */
static hop_status decide_all(hop_exact *x, exact_table *t, hop_error *err)
{
    hop_status s = HOP_OK;
    int done = 0, big = 0, last = t->count - 1; /* that can use time */
    while (last > 0 && hop_exact_fits(x, t->bits[last], NULL) != HOP_OK) last--;
    for (; done < t->count && s == HOP_OK; done += s == HOP_OK)
        s = hop_exact_decide(x, t->bits[done], done >= last, &t->cells[done], err);
    if (s == HOP_ESTOPPED || terminal_stopped())
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

static int shout(const exact_args *a, const exact_table *t)
{
    int refuted = 0, undecided = 0;
    for (int i = 0; i < t->count; i++) {
        refuted += hop_exact_refutes(&t->cells[i]);
        undecided += t->cells[i].verdict == HOP_CELL_UNDECIDED;
    }
    if (refuted)
        return fail(
            &a->common, EXIT_COUNTEREXAMPLE,
            "A THEOREM IS REFUTED: %d cell%s that P2, P4 or P5 call impossible %s a protocol, checked on all "
            "inputs; keep it with --protocol FILE",
            refuted, refuted == 1 ? "" : "s", refuted == 1 ? "has" : "have");
    return undecided ? EXIT_UNDECIDED : EXIT_DONE;
}

/* The table, and then the protocols, also those found before a signal. */
static int report(const exact_args *a, const exact_table *t, hop_output *protocols)
{
    hop_error err = {0};
    int code = (a->common.json.flag ? exact_report_json : exact_report_text)(a, t);
    if (protocols && code != EXIT_DONE) hop_output_abort(protocols);
    if (protocols && code == EXIT_DONE && save_protocols(protocols, t, &err) != HOP_OK)
        code = fail_error(&a->common, &err);
    return code;
}

/* `protocols` is where they go, or NULL; closed here. */
static int decide_and_report(const exact_args *a, exact_table *t, hop_output *protocols)
{
    const hop_exact_options o = {.hops = (int)a->hops.integer,
                                 .m = a->m.integer,
                                 .fan = a->fan.integer,
                                 .linear_only = !t->full,
                                 .budget = a->budget.real,
                                 .seed = (uint64_t)a->common.seed.integer,
                                 .proof_dir = a->proof.text,
                                 .progress = &a->common.progress};
    hop_exact *x = NULL;
    hop_error err = {0};
    double began = hop_now();
    int code = EXIT_DONE;
    hop_status s = hop_exact_new(&x, &o, &err);
    bool ready = s == HOP_OK;
    if (ready) {
        snprintf(t->solver, sizeof t->solver, "%s", hop_exact_solver(x));
        t->exact = x;
        s = decide_all(x, t, &err);
        t->seconds = hop_now() - began;
    }
    if (s == HOP_OK || (ready && terminal_stopped()))
        code = report(a, t, protocols);
    else if (protocols)
        hop_output_abort(protocols);
    if (code == EXIT_DONE) code = s == HOP_OK ? shout(a, t) : fail_error(&a->common, &err);
    hop_exact_free(x);
    return code;
}

static int cmd_exact(common_args *common)
{
    const exact_args *a = (const exact_args *)common;
    hop_exact_game g;
    hop_error err = {0};
    if (hop_exact_game_init(&g, (int)a->hops.integer, a->m.integer, a->fan.integer, &err) != HOP_OK)
        return fail_error(common, &err);
    exact_table *t = calloc(1, sizeof *t);
    if (!t) return fail(common, EXIT_FAILED, "out of memory");
    int code = choose_cells(a, &g, t);
    hop_output protocols; /* opened first: a search whose result cannot be kept would be for nothing */
    if (code == EXIT_DONE && a->protocol.text &&
        hop_output_open(&protocols, a->protocol.text, &err) != HOP_OK)
        code = fail_error(common, &err);
    if (code == EXIT_DONE) code = decide_and_report(a, t, a->protocol.text ? &protocols : NULL);
    free(t);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound exact --hops 1 --m 3",
     "27 functions need 5 state bits: the threshold of a stack of linear layers."},
    {"hopbound exact --hops 2 --before 0 --after 0,1 --message-bits 3 --protocol found.json",
     "Two hops, one full layer, 3 message bits: impossible without state, possible with one bit after it."},
    {"hopbound exact --hops 1 --m 2 --state-bits 1 --proof proofs",
     "Leaves a formula and the proof that it has no solution."},
    {0},
};
const verb verb_exact = {
    .name = "exact",
    .summary = "decides for tiny sizes whether any protocol with the given bits composes the functions",
    .description =
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
    .colours = true,
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(exact_args),
    .run = cmd_exact,
};
/* clang-format on */
