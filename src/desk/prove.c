/* The verb prove: is the network in a directory right on every input of the task's sizes? */
#include <hopbound/ask_prove.h>

#include <hopbound/eval.h>
#include <hopbound/protocol.h>
#include <hopbound/verdict.h>

#include <string.h>
#include "desk.h"

HOP_RECORD_TABLE(hop_prove_margin, HOP_PROVE_MARGIN, "the smallest margins at one layer")
HOP_RECORD_TABLE(hop_prove_input, HOP_PROVE_INPUT, "an input")
HOP_RECORD_TABLE(hop_prove_answer, HOP_PROVE_ANSWER, "a verdict on all inputs")

static const char *const METHODS[] = {"auto", "interval", "enumerate",
                                      NULL}; /* in hop_prove_method's order */

typedef struct prove_args {
    hop_request ask;
    hop_size_args sizes;
    hop_opt_value method, limit, counterexample, message_bits, precision;
} prove_args;

/* clang-format off */
#define AT(member) offsetof(prove_args, member)
static const hop_opt OPTIONS[] = {
    {"method", 0, HOP_OPT_CHOICE, AT(method), "NAME", "auto", .choices = METHODS,
     .help = "interval arithmetic over the weights; running every input; auto does the first, and the second "
             "too where there are few inputs"},
    {"limit", 0, HOP_OPT_INT, AT(limit), "N", NULL, 1, INT64_MAX,
     .initial_help = "as many as take about ten seconds",
     .help = "auto also runs every input when there are at most N"},
    {"message-bits", 0, HOP_OPT_INT, AT(message_bits), "P", NULL, HOP_MIN_NUMBER_BITS, 32, .initial_help = "nothing is rounded",
     .help = "under the arithmetic of the game: what crosses between players (queries, partial softmaxes, states) is "
             "rounded to numbers of P bits, as `play --bits P` does"},
    {"precision", 0, HOP_OPT_INT, AT(precision), "BITS", "24", 1, 24,
     .help = "under the arithmetic of `run --precision BITS`: tables, activations, attention's weights and states cut to "
             "BITS significant bits; 24 is all of float32"},
    {"counterexample", 0, HOP_OPT_TEXT, AT(counterexample), "FILE", .use = HOP_OPT_WRITES,
     .help = "when refuted, write the input there, a line for `run --input` and `task --check`"},
    {0},
};
/* clang-format on */

static const char *method_name(const hop_proof *p)
{
    if (p->by_interval && p->by_enumeration) return "interval+enumeration";
    return p->by_search ? "search" : p->by_enumeration ? "enumeration" : "interval";
}

/* ---- the record ---------------------------------------------------------------------------- */

static const hop_prove_margin *margins_of(hop_keep *k, const hop_proof *p)
{
    hop_prove_margin *out = hop_keep_bytes(k, (size_t)p->margin_count + 1, sizeof *out);
    for (int64_t i = 0; out && i < p->margin_count; i++) {
        const hop_margin *g = &p->margins[i];
        out[i] = (hop_prove_margin){g->layer,      g->player,      g->addresses, g->score_gap,
                                    g->wrong_mass, g->clip_margin, g->code_error};
    }
    return out;
}

static const hop_prove_input *input_of(hop_keep *k, const hop_proof *p, const hop_task *t)
{
    hop_prove_input *out = p->counterexample ? hop_keep_bytes(k, 1, sizeof *out) : NULL;
    int64_t *tokens = out ? hop_keep_bytes(k, (size_t)t->length, sizeof *tokens) : NULL;
    if (!tokens) return NULL;
    for (int64_t i = 0; i < t->length; i++) tokens[i] = p->counterexample[i];
    *out = (hop_prove_input){{tokens, t->length}, p->position, p->expected, p->got};
    return out;
}

/* Lines of the library, which live as long as it; NULL ends them. */
static hop_texts lines_of(const char *const *lines)
{
    static const char *const none[] = {NULL};
    int64_t count = 0;
    while (lines && lines[count]) count++;
    return (hop_texts){lines ? lines : none, count};
}

static hop_status record(hop_response *response, const prove_args *a, const hop_proof *p, const hop_task *t,
                         double seconds, hop_error *err)
{
    static const hop_exit exits[] = {[HOP_PROVED] = HOP_EXIT_DONE,
                                     [HOP_REFUTED] = HOP_EXIT_COUNTEREXAMPLE,
                                     [HOP_UNDECIDED] = HOP_EXIT_UNDECIDED};
    hop_keep *k = &response->memory;
    hop_prove_answer *out = hop_response_begin(response, &hop_prove_answer_record, err);
    if (!out) return HOP_ENOMEM;
    int64_t inputs = hop_task_inputs(t);
    hop_text sizes = {0};
    hop_json_writer task = {0};
    hop_sizes_say(&sizes, t);
    hop_task_write(t, &task);
    *out = (hop_prove_answer){.verdict = p->verdict,
                              .method = method_name(p),
                              .inputs = inputs >= 0 ? inputs : HOP_NO_COUNT,
                              .log10_inputs = p->log10_inputs,
                              .enumerated = p->enumerated,
                              .precision = a->precision.integer < 24 ? a->precision.integer : HOP_NO_COUNT,
                              .message_bits = a->message_bits.given ? a->message_bits.integer : HOP_NO_COUNT,
                              .readout_margin = p->readout_margin,
                              .covers = lines_of(p->covers),
                              .rests_on = lines_of(p->rests_on),
                              .why = hop_keep_said(k, p->why),
                              .counterexample = input_of(k, p, t),
                              .task = hop_keep_grown(k, &task.text),
                              .sizes = hop_keep_grown(k, &sizes),
                              .dir = hop_keep_text(k, hop_request_operand(&a->ask, 0)),
                              .seconds = seconds};
    out->margins.at = margins_of(k, p);
    out->margins.count = p->margin_count;
    response->exit = exits[p->verdict];
    return hop_response_end(response, err);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static hop_status save_counterexample(const prove_args *a, const hop_proof *p, const hop_task *t,
                                      hop_error *err)
{
    if (!p->counterexample || !a->counterexample.text) return HOP_OK;
    hop_json_writer w = {0};
    hop_instance one = {0};
    hop_status s = hop_instance_reserve(&one, t->length, err);
    if (s == HOP_OK) {
        memcpy(one.tokens, p->counterexample, (size_t)t->length * sizeof *one.tokens);
        hop_task_solve(t, one.tokens, one.targets);
        hop_instance_write(&one, t, &w);
        hop_text_add(&w.text, "\n");
        s = w.text.failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", a->counterexample.text)
                          : hop_file_write(a->counterexample.text, w.text.s, w.text.len, err);
    }
    hop_instance_free(&one);
    hop_text_free(&w.text);
    return s;
}

static hop_status prove(hop_response *out, const prove_args *a, const hop_model *m, const hop_task *t,
                        hop_pool *pool, hop_error *err)
{
    const hop_prove_options o = {.method = (hop_prove_method)a->method.choice,
                                 .enumerate_limit = a->limit.integer,
                                 .message_bits = (int)a->message_bits.integer,
                                 .bits = a->precision.integer < 24 ? (int)a->precision.integer : 0,
                                 .seed = (uint64_t)a->ask.seed.integer,
                                 .pool = pool,
                                 .progress = &a->ask.progress};
    hop_proof p = {0};
    if (o.bits && o.message_bits)
        return hop_fail(err, HOP_EUSAGE, "--precision: not together with --message-bits");
    double began = hop_now();
    hop_status s = hop_prove(&p, m, t, &o, err);
    if (s != HOP_OK) return s;
    double seconds = hop_now() - began;
    s = save_counterexample(a, &p, t, err);
    if (s == HOP_OK) s = record(out, a, &p, t, seconds, err);
    hop_proof_free(&p);
    return s;
}

static hop_status ask_prove(hop_response *out, const void *request, hop_error *err)
{
    const prove_args *a = request;
    const char *dir = hop_request_operand(&a->ask, 0);
    hop_model *m = NULL;
    hop_task t;
    hop_pool *pool = NULL;
    bool known = false;
    hop_status s = hop_model_open(&m, dir, err);
    if (s == HOP_OK) s = hop_sizes_of_network(&a->sizes, m, dir, &t, &known, err);
    if (s == HOP_OK && !known) s = hop_fail(err, HOP_EUSAGE, "--task: missing, and %.200s names none", dir);
    if (s == HOP_OK) s = hop__pool(&pool, &a->ask, err);
    if (s == HOP_OK) s = prove(out, a, m, &t, pool, err);
    hop_pool_free(pool);
    hop_model_free(m);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_NETWORK_SIZE_GROUP(prove_args, sizes),
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound prove net",
     "Proved (exit 0), refuted with an input (exit 10), or undecided (exit 30)."},
    {"hopbound prove net --counterexample bad.jsonl || hopbound run net --input bad.jsonl",
     "Keeps the input on which the network errs, and shows the error."},
    {0},
};
const hop_verb hop__verb_prove = {
    .name = "prove",
    .summary = "decides whether a network is right on every input of the task's sizes",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "Works on the weights in the file, not on the formula that made them: interval arithmetic, with "
        "the rounding of the program's own kernels included, bounds the score gap, the attention on "
        "wrong tokens and the margin of the clip, layer by layer, for every address that the last token "
        "can ask for. Where there are few inputs it also runs each of them. Where a bound fails, an "
        "input that errs is searched for, among at most 4096 inputs and two million tokens (`refute` searches longer). "
        "Layers are counted from 0; idle ones pass the stream as it is.\n\n"
        "Exit 0: proved. Exit 10: refuted, with an input that `hopbound run` gets wrong. Exit 30: "
        "undecided.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_prove_answer_record,
    .rows = "margins",
    .request_size = sizeof(prove_args),
    .ask = ask_prove,
};
/* clang-format on */
