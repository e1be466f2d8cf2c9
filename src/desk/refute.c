/* The verb refute: searches, within a budget, for an input that a network answers wrongly or for two prompts that it
 * cannot tell apart, and writes what it finds as a witness. */
#include <hopbound/ask_refute.h>

#include <hopbound/eval.h>
#include <hopbound/protocol.h>

#include <string.h>
#include "desk.h"

HOP_RECORD_TABLE(hop_refute_prompt, HOP_REFUTE_PROMPT, "a prompt of a witness")
HOP_RECORD_TABLE(hop_refute_layer, HOP_REFUTE_LAYER, "how far two prompts are apart behind a layer")
HOP_RECORD_TABLE(hop_refute_difference, HOP_REFUTE_DIFFERENCE, "a token in which they differ")
HOP_RECORD_TABLE(hop_refute_turn, HOP_REFUTE_TURN, "a way to search, and what it tried")
HOP_RECORD_TABLE(hop_refute_answer, HOP_REFUTE_ANSWER, "what a search found")

#define SHOWN_DIFFERENCES 4

typedef struct refute_args {
    hop_request ask;
    hop_size_args sizes;
    hop_opt_value budget, output, prompts, by, precision, state_bits, message_bits;
} refute_args;

static const char *const STRATEGIES[] = {"collision", "fooling", "enumeration", "structured",
                                         "sampling",  "guided",  NULL};

/* clang-format off */
#define AT(member) offsetof(refute_args, member)
static const hop_opt OPTIONS[] = {
    {"budget", 'b', HOP_OPT_REAL, AT(budget), "SECONDS", "10", 0, 1000000000,
     .help = "when to give up; the clock decides nothing else"},
    {"output", 'o', HOP_OPT_TEXT, AT(output), "FILE", .use = HOP_OPT_WRITES,
     .help = "write the witness there, for `hopbound check`"},
    {"prompts", 0, HOP_OPT_TEXT, AT(prompts), "FILE", .use = HOP_OPT_WRITES,
     .help = "write its prompts there, a line each for `run --input` and `task --check`"},
    {"by", 0, HOP_OPT_CHOICE, AT(by), "NAME", .choices = STRATEGIES, .initial_help = "all that apply, in turns",
     .help = "one way to search only"},
    {"precision", 0, HOP_OPT_INT, AT(precision), "BITS", "24", 1, 24,
     .help = "everything cut to BITS significant bits, as `run --precision` has it; 24 is all of float32"},
    {"state-bits", 0, HOP_OPT_INT, AT(state_bits), "P", NULL, 8, 32, .initial_help = "float32",
     .help = "token by token, and after each token the states of recurrent layers are kept with P bits a number: 8, or 10 "
             "to 32; networks of recurrent layers only are searched for collisions then"},
    {"message-bits", 0, HOP_OPT_INT, AT(message_bits), "P", NULL, HOP_MIN_NUMBER_BITS, 32, .initial_help = "nothing is rounded",
     .help = "what crosses between players is rounded to P bits a number, as `play --bits P` does; networks with full layers "
             "are searched for fooling pairs then, others for collisions"},
    {0},
};
/* clang-format on */

/* ---- the record ---------------------------------------------------------------------------- */

static void fill_prompts(hop_keep *k, hop_refute_answer *out, const hop_witness *w)
{
    hop_refute_prompt *rows = hop_keep_bytes(k, 2, sizeof *rows);
    for (int i = 0; rows && i < w->prompts; i++) {
        const hop_witness_prompt *p = &w->prompt[i];
        int64_t *tokens = hop_keep_bytes(k, (size_t)w->length, sizeof *tokens);
        for (int64_t t = 0; tokens && t < w->length; t++) tokens[t] = p->tokens[t];
        rows[i] = (hop_refute_prompt){{tokens, w->length}, p->position, p->right, p->answer};
    }
    out->prompts.at = rows;
    out->prompts.count = rows ? w->prompts : 0;
}

static void fill_trace(hop_keep *k, hop_refute_answer *out, const hop_witness *w)
{
    hop_refute_layer *rows = hop_keep_bytes(k, (size_t)w->trace_count + 1, sizeof *rows);
    for (int64_t i = 0; rows && i < w->trace_count; i++) {
        const hop_witness_layer *t = &w->trace[i];
        rows[i] = (hop_refute_layer){t->layer, t->mixer, t->last_token, t->state, t->stream, t->own};
    }
    out->trace.at = rows;
    out->trace.count = rows ? w->trace_count : 0;
}

/* "z_2(17)", "z_0", "w"; of other tasks "token 17". */
static void say_place(hop_text *out, const hop_task *t, int64_t p)
{
    int64_t i;
    int l = t->kind == HOP_TASK_FUNCCOMP ? hop_funccomp_player(&t->funccomp, p, &i) : 0;
    if (t->kind != HOP_TASK_FUNCCOMP)
        hop_text_printf(out, "token %lld", (long long)p);
    else if (l > 0)
        hop_text_printf(out, "z_%d(%lld)", l, (long long)i);
    else
        hop_text_add(out, l == 0 ? "z_0" : "w");
}

static void fill_differences(hop_keep *k, hop_refute_answer *out, const hop_witness *w, const hop_task *t)
{
    hop_refute_difference *rows = hop_keep_bytes(k, SHOWN_DIFFERENCES, sizeof *rows);
    int64_t shown = 0;
    out->differences = w->prompts > 1 ? hop_witness_differences(w) : HOP_NO_COUNT;
    for (int64_t p = 0; rows && w->prompts > 1 && p < w->length && shown < SHOWN_DIFFERENCES; p++) {
        hop_text place = {0};
        if (w->prompt[0].tokens[p] == w->prompt[1].tokens[p]) continue;
        say_place(&place, t, p);
        rows[shown++] = (hop_refute_difference){hop_keep_grown(k, &place), w->prompt[0].tokens[p],
                                                w->prompt[1].tokens[p]};
    }
    out->differ.at = rows;
    out->differ.count = shown;
}

static void fill_turns(hop_keep *k, hop_refute_answer *out, const hop_refutation *r)
{
    hop_refute_turn *rows = hop_keep_bytes(k, HOP_REFUTE_STRATEGIES, sizeof *rows);
    for (int i = 0; rows && i < r->strategies; i++)
        rows[i] = (hop_refute_turn){r->by[i].strategy, r->by[i].tried, r->by[i].seconds};
    out->strategies.at = rows;
    out->strategies.count = rows ? r->strategies : 0;
}

static hop_status record(hop_response *response, const refute_args *a, const hop_refutation *r,
                         const hop_task *t, double seconds, hop_error *err)
{
    hop_keep *k = &response->memory;
    bool found = r->verdict == HOP_REFUTE_FOUND;
    hop_refute_answer *out = hop_response_begin(response, &hop_refute_answer_record, err);
    hop_text sizes = {0};
    hop_json_writer task = {0};
    if (!out) return HOP_ENOMEM;
    hop_sizes_say(&sizes, t);
    hop_task_write(t, &task);
    *out = (hop_refute_answer){.verdict = r->verdict,
                               .witness = found ? hop_keep_text(k, a->output.text) : NULL,
                               .kind = found ? hop_witness_kind_name(r->witness.kind) : NULL,
                               .by = found ? r->witness.by : NULL,
                               .tried = r->tried,
                               .task = hop_keep_grown(k, &task.text),
                               .sizes = hop_keep_grown(k, &sizes),
                               .dir = hop_keep_text(k, hop_request_operand(&a->ask, 0)),
                               .seconds = seconds};
    fill_prompts(k, out, &r->witness);
    fill_trace(k, out, &r->witness);
    fill_differences(k, out, &r->witness, t);
    fill_turns(k, out, r);
    return hop_response_end(response, err);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static hop_status save_prompts(const hop_witness *w, const hop_task *t, const char *path, hop_error *err)
{
    hop_json_writer out = {0};
    hop_instance one = {0};
    hop_status s = hop_instance_reserve(&one, t->length, err);
    for (int i = 0; s == HOP_OK && i < w->prompts; i++) {
        memcpy(one.tokens, w->prompt[i].tokens, (size_t)t->length * sizeof *one.tokens);
        hop_task_solve(t, one.tokens, one.targets);
        hop_instance_write(&one, t, &out);
        hop_text_add(&out.text, "\n");
        out.comma = false;
    }
    if (s == HOP_OK)
        s = out.text.failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", path)
                            : hop_file_write(path, out.text.s, out.text.len, err);
    hop_instance_free(&one);
    hop_text_free(&out.text);
    return s;
}

static hop_status save(const refute_args *a, const hop_refutation *r, const hop_task *t, hop_error *err)
{
    hop_status s = HOP_OK;
    if (r->verdict != HOP_REFUTE_FOUND) return s;
    if (a->output.text)
        s = hop_witness_save(&r->witness, hop_request_operand(&a->ask, 0), t, a->output.text, err);
    if (s == HOP_OK && a->prompts.text) s = save_prompts(&r->witness, t, a->prompts.text, err);
    return s;
}

static hop_status refute(hop_response *out, const refute_args *a, const hop_model *m, const hop_task *t,
                         hop_pool *pool, hop_error *err)
{
    static const hop_exit exits[] = {[HOP_REFUTE_FOUND] = HOP_EXIT_COUNTEREXAMPLE,
                                     [HOP_REFUTE_NONE] = HOP_EXIT_EXHAUSTED,
                                     [HOP_REFUTE_OPEN] = HOP_EXIT_UNDECIDED};
    hop_refute_options o = {.budget = a->budget.real,
                            .seed = (uint64_t)a->ask.seed.integer,
                            .only = a->by.given ? STRATEGIES[a->by.choice] : NULL,
                            .pool = pool,
                            .progress = &a->ask.progress};
    o.arithmetic.significant_bits = a->precision.integer < 24 ? (int)a->precision.integer : 0;
    o.arithmetic.state_bits = (int)a->state_bits.integer;
    o.arithmetic.message_bits = (int)a->message_bits.integer;
    hop_refutation r = {0};
    double began = hop_now();
    hop_status s = hop_refute(&r, m, t, &o, err);
    if (s != HOP_OK) return s;
    out->exit = exits[r.verdict];
    if (r.interrupted && r.verdict == HOP_REFUTE_OPEN)
        s = hop_fail(err, HOP_ESTOPPED, "stopped");
    else if ((s = save(a, &r, t, err)) == HOP_OK)
        s = record(out, a, &r, t, hop_now() - began, err);
    hop_refutation_free(&r);
    return s;
}

static hop_status ask_refute(hop_response *out, const void *request, hop_error *err)
{
    const refute_args *a = request;
    const char *dir = hop_request_operand(&a->ask, 0);
    hop_model *m = NULL;
    hop_task t;
    hop_pool *pool = NULL;
    bool known = false;
    if (a->state_bits.integer == 9) return hop_fail(err, HOP_EUSAGE, "--state-bits: 8, or 10 to 32");
    if ((a->precision.integer < 24) + a->state_bits.given + a->message_bits.given > 1)
        return hop_fail(err, HOP_EUSAGE, "--precision, --state-bits and --message-bits: one at a time");
    hop_status s = hop_model_open(&m, dir, err);
    if (s == HOP_OK) s = hop_sizes_of_network(&a->sizes, m, dir, &t, &known, err);
    if (s == HOP_OK && !known) s = hop_fail(err, HOP_EUSAGE, "--task: missing, and %.200s names none", dir);
    if (s == HOP_OK) s = hop__pool(&pool, &a->ask, err);
    if (s == HOP_OK) s = refute(out, a, m, &t, pool, err);
    hop_pool_free(pool);
    hop_model_free(m);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_NETWORK_SIZE_GROUP(refute_args, sizes),
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound refute damaged --budget 30 -o witness.json",
     "Searches for half a minute at most; exit 10 and a file for `hopbound check` when something is found."},
    {"hopbound refute linear --state-bits 8", "Two tables that leave the same states, when a number of a state has 8 bits."},
    {"hopbound refute hybrid --message-bits 10",
     "Two prompts that differ in the entry that is asked for, while all messages about it are the same."},
    {0},
};
const hop_verb hop__verb_refute = {
    .name = "refute",
    .summary = "searches for an input that a network answers wrongly, or for two that it confuses",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "Runs every input where there are few enough for the budget. Else, in turns that grow: structured inputs (constant "
        "tables, permutations, cycles, edges), samples, guided search (it lowers the margin of the answer by changing the "
        "entries that matter), collisions (two tables that leave the same bits in every recurrent layer) and fooling pairs "
        "(two prompts about which all messages are the same). What is found is made small, two prompts that differ in as few "
        "tokens as possible, and traced: how far the two are apart behind each layer, at the last token and in the layer's "
        "state, so that one sees where the difference died. A signal ends the search; what was found before is written.\n\n"
        "Exit 10: there is a witness. Exit 20: every input was run, and is right. Exit 30: nothing was found within the "
        "budget, which proves nothing.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_refute_answer_record,
    .rows = "strategies",
    .request_size = sizeof(refute_args),
    .ask = ask_refute,
};
/* clang-format on */
