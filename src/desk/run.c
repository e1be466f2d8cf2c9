/* The verb run: evaluates a network on sampled instances or on a file of them, in batches, so that memory does
 * not grow with their number. */
#include "run.h"

#include <hopbound/isa.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_BITS 24 /* float32's own precision: nothing is rounded */

HOP_RECORD_TABLE(hop_run_answer, HOP_RUN_ANSWER, "how often a network was right")

/* clang-format off */
#define AT(member) offsetof(run_args, member)
static const hop_opt OPTIONS[] = {
    {"count", 'n', HOP_OPT_INT, AT(count), "N", "100", 0, INT64_MAX, .initial_help = "100; with --input, all",
     .help = "instances to sample; with --input, lines to read at most"},
    {"input", 'i', HOP_OPT_TEXT, AT(input), "FILE", .use = HOP_OPT_READS,
     .help = "read instances from FILE, an object a line with \"tokens\" and, if known, \"answer\" or "
             "\"targets\"; - is standard input"},
    {"predictions", 'p', HOP_OPT_TEXT, AT(predictions), "FILE", .use = HOP_OPT_WRITES,
     .help = "write index, prediction, answer and correct of every instance, an object a line; predictions "
             "and targets where there are several, chain where there is one"},
    {"precision", 0, HOP_OPT_INT, AT(precision), "BITS", "24", 1, ALL_BITS,
     .help = "round tables, activations and attention weights to BITS significant bits; 24 is all of float32"},
    {"checkpoint", 0, HOP_OPT_TEXT, AT(checkpoint), "FILE", .use = HOP_OPT_WRITES,
     .help = "for networks of thousands of layers: when it is stopped, keep there how far it came, and go on "
             "from there the next time; instances go one after another, those after the first in FILE.1, .."},
    {"message-bits", 0, HOP_OPT_INT, AT(message_bits), "P", NULL, HOP_MIN_NUMBER_BITS, 32,
     .initial_help = "do not",
     .help = "compute as `play --bits P` does, but without a message: softmax folded player by player, other "
             "mixers token by token, what crosses between players rounded to P bits"},
    {0},
};
/* clang-format on */

/* ---- evaluating ---------------------------------------------------------------------------- */

/* The players of the first instance, whose length all must have. */
static hop_status take_seats(evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    hop_seats s;
    hop_status got = hop__seats_read(&a->seats, e->sized ? &e->task : NULL, e->slots[0].count, &s, err);
    if (got == HOP_OK) e->cuts = hop__seats_cuts(&s, e->starts, (int)a->message_bits.integer);
    return got;
}

/* The first batch is there: its first instance says how many tokens players hold. */
static hop_status open_eval(evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    int64_t bits = a->precision.integer;
    hop_eval_options o = {.pool = e->pool,
                          .bits = bits == ALL_BITS ? 0 : (int)bits,
                          .progress = &a->ask.progress,
                          .everywhere = e->sized && hop_task_asks_everywhere(&e->task),
                          .checkpoint = a->checkpoint.text};
    hop_status s = a->message_bits.given ? take_seats(e, err) : HOP_OK;
    if (s == HOP_OK && a->message_bits.given) {
        o.cuts = &e->cuts;
        o.cut_tokens = e->slots[0].count;
    }
    if (s == HOP_OK) s = hop_eval_open(&e->eval, e->model, &o, err);
    if (s == HOP_OK)
        hop_eval_start(e->eval, "instances", e->in.file && !a->count.given ? 0 : (double)a->count.integer);
    return s;
}

static hop_status evaluate(evaluation *e, hop_error *err)
{
    hop_status s = HOP_OK;
    while (s == HOP_OK && !e->ended && !e->predictions.error) {
        s = hop__run_fill(e, err);
        if (s == HOP_OK && e->filled && !e->eval) s = open_eval(e, err);
        if (s == HOP_OK && e->filled) s = hop_eval_run(e->eval, e->slots, e->filled, err);
        if (s == HOP_OK) s = hop__run_score(e, err);
    }
    return s;
}

/* Opens what is read and written, evaluates, and closes; the predictions appear only when all went well. */
static hop_status run(evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    hop_status s = a->input.text ? hop_jsonl_open(&e->in, a->input.text, err) : HOP_OK;
    e->keep = a->predictions.text != NULL;
    if (s == HOP_OK && e->keep) s = hop__lines_open(&e->predictions, a->predictions.text, &a->ask, err);
    if (s != HOP_OK) return s;
    s = evaluate(e, err);
    if (e->keep) {
        hop_status closed = hop__lines_close(&e->predictions, s == HOP_OK, err);
        if (s == HOP_OK) s = closed;
    }
    /* A pass that was stopped and kept can be taken up again. */
    const char *kept = e->eval ? hop_eval_kept(e->eval) : "";
    if (s == HOP_ESTOPPED && a->checkpoint.text && *kept && hop_is_there(kept))
        return hop_fail(err, s, "stopped: on request; the same command resumes from %s", kept);
    return s;
}

static void evaluation_free(evaluation *e)
{
    hop_eval_close(e->eval);
    for (int i = 0; i < HOP_EVAL_BATCH; i++) hop_instance_free(&e->slots[i]);
    hop_text_free(&e->line.text);
    hop_jsonl_close(&e->in);
    hop_pool_free(e->pool);
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* Answers are equally likely where sampled instances have so many; NaN: not known. */
static double chance_of(const evaluation *e)
{
    bool sampled = e->sized && !e->args->input.text;
    if (!sampled || e->task.kind != HOP_TASK_FUNCCOMP) return NAN;
    return 1.0 / (double)e->task.funccomp.size[e->task.funccomp.hops - 1];
}

static hop_status record(hop_response *out, const evaluation *e, double seconds, hop_error *err)
{
    const run_args *a = e->args;
    const bool crosses = a->message_bits.given;
    const int64_t layers = hop_model_config(e->model)->pattern.layers;
    hop_run_answer *r = hop_response_begin(out, &hop_run_answer_record, err);
    if (!r) return HOP_ENOMEM;
    *r = (hop_run_answer){.instances = e->instances,
                          .with_answer = e->with_answer,
                          .correct = e->correct,
                          .accuracy = (double)e->correct / (double)e->with_answer, /* 0/0: null */
                          .chance = chance_of(e),
                          .targets = e->targets,
                          .targets_correct = e->targets_correct,
                          .tokens = e->tokens,
                          .tokens_per_second = seconds > 0 ? (double)e->tokens / seconds : 0,
                          .layers_per_second =
                              seconds > 0 ? (double)layers * (double)e->instances / seconds : 0,
                          .seconds = seconds,
                          .layers = layers,
                          .generated = e->generate,
                          .precision = a->precision.integer,
                          .message_bits = hop_known(a->message_bits.integer, crosses),
                          .players = hop_known(e->cuts.count, crosses),
                          .threads = hop_pool_threads(e->pool),
                          .isa = hop_isa_name(hop_kernels_selected()),
                          .dir = hop_keep_text(&out->memory, hop_request_operand(&a->ask, 0))};
    return hop_response_end(out, err);
}

/* A network is right at the sizes it was made for; at others, nobody said so. */
static hop_status note_other_sizes(hop_response *out, const evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    const hop_size_args none = {0};
    hop_task own;
    bool known = false;
    if (!hop_sizes_given(&a->sizes)) return HOP_OK;
    hop_status s = hop_sizes_of_network(&none, e->model, hop_request_operand(&a->ask, 0), &own, &known, err);
    if (s != HOP_OK || !known) return s;
    hop_text here = {0}, built = {0};
    hop_sizes_say(&here, &e->task);
    hop_sizes_say(&built, &own);
    if (here.s && built.s && strcmp(here.s, built.s) != 0)
        out->note = hop_keep_printf(&out->memory, "made for %s, and run at %s", built.s, here.s);
    hop_text_free(&here);
    hop_text_free(&built);
    return hop_response_end(out, err);
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* What the network says of itself, and whether that goes with the options. */
static hop_status ask_network(evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    const char *dir = hop_request_operand(&a->ask, 0);
    const bool cut = a->precision.integer != ALL_BITS;
    hop_status s = hop_sizes_of_network(&a->sizes, e->model, dir, &e->task, &e->sized, err);
    if (s == HOP_OK && !e->sized && !a->input.text)
        return hop_fail(err, HOP_EUSAGE, "--task: missing, and %.200s names none", dir);
    if (s == HOP_OK) s = hop_generated_tokens(hop_model_config(e->model), &e->generate, err);
    if (s != HOP_OK) return s;
    if (e->generate && cut)
        return hop_fail(err, HOP_EUSAGE, "--precision: a network that generates runs in float32 only");
    if (a->message_bits.given && (cut || a->checkpoint.text || e->generate))
        return hop_fail(
            err, HOP_EUSAGE,
            "--message-bits: not with --precision or --checkpoint, nor for a network that generates");
    if (!a->message_bits.given && (a->seats.players.given || a->seats.cut.given))
        return hop_fail(err, HOP_EUSAGE, "--%s: needs --message-bits",
                        a->seats.players.given ? "players" : "cut");
    if (e->generate && a->checkpoint.text)
        return hop_fail(err, HOP_EUSAGE, "--checkpoint: a network that generates is not kept");
    return HOP_OK;
}

static hop_status ask_run(hop_response *out, const void *request, hop_error *err)
{
    evaluation *e = calloc(1, sizeof *e);
    if (!e) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_model *m = NULL;
    double began = 0;
    e->args = request;
    hop_status s = hop_model_open(&m, hop_request_operand(&e->args->ask, 0), err);
    e->model = m;
    if (s == HOP_OK) s = ask_network(e, err);
    if (s == HOP_OK) s = hop__pool(&e->pool, &e->args->ask, err);
    if (s == HOP_OK) began = hop_now(), s = run(e, err);
    if (s == HOP_OK) s = record(out, e, hop_now() - began, err);
    if (s == HOP_OK) s = note_other_sizes(out, e, err);
    evaluation_free(e);
    hop_model_free(m);
    free(e);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_SEAT_GROUP(run_args, seats),
    HOP_NETWORK_SIZE_GROUP(run_args, sizes),
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound run net --count 1000",
     "Accuracy on a thousand sampled instances."},
    {"hopbound run net --count 1000 --precision 8",
     "The same with everything rounded to bfloat16's precision."},
    {"hopbound run net --input test.jsonl --predictions out.jsonl",
     "Answers to a file of instances, in its order."},
    {"hopbound run net --message-bits 16",
     "The arithmetic of `play --bits 16`, on whole arrays."},
    {"hopbound run deep --count 1 --checkpoint deep.part",
     "A network of millions of layers; stopped and started again, it goes on where it was."},
    {0},
};
const hop_verb hop__verb_run = {
    .name = "run",
    .summary = "evaluates a network on sampled instances or on a file of them",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "The answer is read at the last token: the largest logit. Tasks that ask at several tokens are read "
        "at each of them, and an instance is correct when all its answers are. A network whose config.json "
        "says `generate` (kind cot) continues the prompt with the likeliest token, as many times; the last is "
        "the answer.\n\n"
        "Sizes of sampled instances are those the network was made for, unless the options say others. A "
        "line of --input without answers gets the right ones from the solver when its tokens fit the task; "
        "else it is only predicted. Accuracy is over the instances whose answers are known; it does not "
        "change the exit code.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_run_answer_record,
    .request_size = sizeof(run_args),
    .ask = ask_run,
};
/* clang-format on */
