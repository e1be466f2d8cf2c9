/* hopbound refute: searches, within a budget, for an input that a network answers wrongly or for two prompts
 * that it cannot tell apart, and writes what it finds as a witness. */
#include "cli.h"

#include <math.h>
#include <string.h>

typedef struct refute_args {
    common_args common;
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

/* ---- reports ------------------------------------------------------------------------------- */

static void write_prompts(hop_json_writer *w, const hop_witness *x)
{
    hop_json_key(w, "prompts");
    hop_json_begin_array(w);
    for (int i = 0; i < x->prompts; i++) {
        hop_json_begin_object(w);
        hop_json_key(w, "tokens");
        hop_json_begin_array(w);
        for (int64_t t = 0; t < x->length; t++) hop_json_put_int(w, x->prompt[i].tokens[t]);
        hop_json_end_array(w);
        hop_json_integer(w, "position", x->prompt[i].position);
        hop_json_integer(w, "right", x->prompt[i].right);
        hop_json_integer(w, "answer", x->prompt[i].answer);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void write_tried(hop_json_writer *w, const hop_refutation *r)
{
    hop_json_key(w, "strategies");
    hop_json_begin_array(w);
    for (int i = 0; i < r->strategies; i++) {
        hop_json_begin_object(w);
        hop_json_string(w, "name", r->by[i].strategy);
        hop_json_integer(w, "tried", r->by[i].tried);
        hop_json_number(w, "seconds", r->by[i].seconds);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static int report_json(const refute_args *a, const hop_refutation *r, const hop_task *t, double seconds)
{
    hop_json_writer w = {0};
    bool found = r->verdict == HOP_REFUTE_FOUND;
    hop_json_begin_object(&w);
    hop_json_string(&w, "verdict", hop_refute_verdict_name(r->verdict));
    hop_json_string(&w, "witness", found ? a->output.text : NULL);
    hop_json_string(&w, "kind", found ? hop_witness_kind_name(r->witness.kind) : NULL);
    hop_json_string(&w, "by", found ? r->witness.by : NULL);
    write_prompts(&w, &r->witness);
    hop_witness_trace_write(&r->witness, &w);
    hop_json_integer(&w, "tried", r->tried);
    write_tried(&w, r);
    hop_json_key(&w, "task");
    hop_task_write(t, &w);
    hop_json_string(&w, "dir", a->common.operand);
    hop_json_number(&w, "seconds", seconds);
    hop_json_end_object(&w);
    return print_json(&a->common, &w);
}

/* "z_2(17)", "z_0", "w"; of other tasks "token 17". */
static void print_place(hop_text *out, const hop_task *t, int64_t p)
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

static void print_differences(hop_text *out, const hop_witness *w, const hop_task *t)
{
    int64_t count = hop_witness_differences(w), shown = 0;
    hop_text_printf(out, "  they differ in %lld token%s:", (long long)count, count == 1 ? "" : "s");
    for (int64_t p = 0; p < w->length && shown < 4; p++) {
        if (w->prompt[0].tokens[p] == w->prompt[1].tokens[p]) continue;
        hop_text_add(out, shown++ ? ", " : " ");
        print_place(out, t, p);
        hop_text_printf(out, " is %d, %d", w->prompt[0].tokens[p], w->prompt[1].tokens[p]);
    }
    hop_text_add(out, count > 4 ? ", ..\n" : "\n");
}

/* From left to right the way that the difference would have to go. */
static void print_trace(hop_text *out, const hop_witness *w)
{
    hop_text_printf(out, "  how far they are apart behind each layer\n  %7s  %-12s %12s %12s %12s %12s\n",
                    "layer", "mixer", "where it is", "any behind", "its state", "last token");
    for (int64_t i = 0; i < w->trace_count; i++) {
        const hop_witness_layer *t = &w->trace[i];
        const double far[] = {t->own, t->stream, t->state, t->last_token};
        hop_text_printf(out, "  %7lld  %-12s", (long long)t->layer, t->mixer);
        for (size_t k = 0; k < sizeof far / sizeof far[0]; k++) {
            char text[32] = "-"; /* there is no state, or no number */
            if (!isnan(far[k])) snprintf(text, sizeof text, "%.4g", far[k]);
            hop_text_printf(out, " %12s", text);
        }
        hop_text_add(out, "\n");
    }
}

static void print_witness(hop_text *out, const hop_witness *w, const hop_task *t)
{
    const hop_witness_prompt *a = &w->prompt[0], *b = &w->prompt[1];
    char said[2][ANSWER_SIZE];
    print_answer(said[0], a->answer), print_answer(said[1], b->answer);
    if (w->kind == HOP_WITNESS_INPUT)
        hop_text_printf(out, "  an input: the answer at token %lld is %lld, the network says %s\n",
                        (long long)a->position, (long long)a->right, said[0]);
    else
        hop_text_printf(
            out, "  a %s: the answers to two prompts are %lld and %lld, the network says %s to both%s\n",
            hop_witness_kind_name(w->kind), (long long)a->right, (long long)b->right, said[0],
            w->kind == HOP_WITNESS_COLLISION ? ": they leave the same states" : "");
    if (w->prompts < 2) return;
    if (w->kind == HOP_WITNESS_INPUT)
        hop_text_printf(out, "  beside it: another, whose answer is %lld; the network says %s\n",
                        (long long)b->right, said[1]);
    print_differences(out, w, t);
    print_trace(out, w);
}

static int report_text(const refute_args *a, const hop_refutation *r, const hop_task *t, double seconds)
{
    hop_text out = {0};
    hop_text_name(&out, a->common.operand);
    hop_text_printf(&out, ": %s", hop_refute_verdict_name(r->verdict));
    if (r->verdict == HOP_REFUTE_FOUND) hop_text_printf(&out, ", by %s", r->witness.by);
    hop_text_printf(&out, "; %lld tried, %.2f s, ", (long long)r->tried, seconds);
    hop_sizes_say(&out, t);
    hop_text_add(&out, "\n");
    if (r->verdict == HOP_REFUTE_FOUND) print_witness(&out, &r->witness, t);
    for (int i = 0; r->verdict == HOP_REFUTE_OPEN && i < r->strategies; i++)
        hop_text_printf(&out, "  %-12s %12lld tried, %.1f s\n", r->by[i].strategy, (long long)r->by[i].tried,
                        r->by[i].seconds);
    if (r->verdict == HOP_REFUTE_FOUND && a->output.text) {
        hop_text_add(&out, "  witness: ");
        hop_text_name(&out, a->output.text);
        hop_text_add(&out, "\n");
    }
    return print_text(&a->common, &out);
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
    if (a->output.text) s = hop_witness_save(&r->witness, a->common.operand, t, a->output.text, err);
    if (s == HOP_OK && a->prompts.text) s = save_prompts(&r->witness, t, a->prompts.text, err);
    return s;
}

static int refute(const refute_args *a, const hop_model *m, const hop_task *t, hop_pool *pool)
{
    static const int codes[] = {[HOP_REFUTE_FOUND] = EXIT_COUNTEREXAMPLE,
                                [HOP_REFUTE_NONE] = EXIT_EXHAUSTED,
                                [HOP_REFUTE_OPEN] = EXIT_UNDECIDED};
    hop_refute_options o = {.budget = a->budget.real,
                            .seed = (uint64_t)a->common.seed.integer,
                            .only = a->by.given ? STRATEGIES[a->by.choice] : NULL,
                            .pool = pool,
                            .progress = &a->common.progress};
    o.arithmetic.significant_bits = a->precision.integer < 24 ? (int)a->precision.integer : 0;
    o.arithmetic.state_bits = (int)a->state_bits.integer;
    o.arithmetic.message_bits = (int)a->message_bits.integer;
    hop_refutation r = {0};
    hop_error err = {0};
    double began = hop_now();
    if (hop_refute(&r, m, t, &o, &err) != HOP_OK) return fail_error(&a->common, &err);
    int code = codes[r.verdict];
    if (r.interrupted && r.verdict == HOP_REFUTE_OPEN)
        code = fail_stopped(&a->common);
    else if (save(a, &r, t, &err) != HOP_OK)
        code = fail(&a->common, EXIT_FAILED, "%s", err.text);
    else if ((a->common.json.flag ? report_json : report_text)(a, &r, t, hop_now() - began) != EXIT_DONE)
        code = EXIT_FAILED;
    hop_refutation_free(&r);
    return code;
}

static int cmd_refute(common_args *common)
{
    const refute_args *a = (const refute_args *)common;
    hop_error err = {0};
    hop_model *m = NULL;
    hop_task t;
    hop_pool *pool = NULL;
    bool known = false;
    if (a->state_bits.integer == 9) return fail(common, EXIT_USAGE, "--state-bits: 8, or 10 to 32");
    if ((a->precision.integer < 24) + a->state_bits.given + a->message_bits.given > 1)
        return fail(common, EXIT_USAGE, "--precision, --state-bits and --message-bits: one at a time");
    if (hop_model_open(&m, common->operand, &err) != HOP_OK) return fail_error(common, &err);
    int code = sizes_of_network(common, &a->sizes, m, &t, &known);
    if (code == EXIT_DONE && !known)
        code = fail(common, EXIT_USAGE, "--task: missing, and %.200s names none", common->operand);
    if (code == EXIT_DONE) code = pool_open(common, &pool);
    if (code == EXIT_DONE) code = refute(a, m, &t, pool);
    hop_pool_free(pool);
    hop_model_free(m);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_NETWORK_SIZE_GROUP(refute_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound refute damaged --budget 30 -o witness.json",
     "Searches for half a minute at most; exit 10 and a file for `hopbound check` when something is found."},
    {"hopbound refute linear --state-bits 8", "Two tables that leave the same states, when a number of a state has 8 bits."},
    {"hopbound refute hybrid --message-bits 10",
     "Two prompts that differ in the entry that is asked for, while all messages about it are the same."},
    {0},
};
const verb verb_refute = {
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
    .args_size = sizeof(refute_args),
    .run = cmd_refute,
};
/* clang-format on */
