/* hopbound run: evaluates a network on sampled instances or on a file of them, in batches, so that memory
 * does not grow with their number. */
#include "cli.h"
#include "seats.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_TOKENS ((int64_t)1 << 22) /* a batch of long instances ends earlier */
#define ALL_BITS     24                 /* float32's own precision: nothing is rounded */

typedef struct run_args {
    common_args common;
    hop_size_args sizes;
    seat_args seats;
    hop_opt_value count, input, predictions, precision, checkpoint, message_bits;
} run_args;

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

typedef struct evaluation {
    const run_args *args;
    const hop_model *model;
    hop_task task;
    bool sized; /* the task is known */
    int64_t starts[HOP_MAX_PLAYERS];
    hop_cuts cuts;    /* with --message-bits */
    int64_t generate; /* tokens; 0: it answers at once */
    hop_pool *pool;
    hop_jsonl in; /* its file is NULL when instances are sampled */
    bool ended;
    hop_eval *eval; /* from the first batch on */
    hop_instance slots[HOP_EVAL_BATCH];
    int64_t lines[HOP_EVAL_BATCH]; /* of the file, where the slots are from */
    int64_t filled;
    int64_t instances, with_answer, correct, tokens;
    int64_t targets, targets_correct;
    bool keep;  /* predictions are wanted */
    bool usage; /* the options make no players, and that has been said */
    sink predictions;
    hop_json_writer line;
} evaluation;

/* ---- taking instances ---------------------------------------------------------------------- */

static hop_status read_one(evaluation *e, hop_instance *s, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status got = hop_jsonl_next(&e->in, &doc, err);
    if (got != HOP_OK) return got;
    e->ended = !doc.root;
    if (e->ended) return HOP_OK;
    got = hop_instance_read(s, doc.root, err);
    hop_json_free(&doc);
    if (got != HOP_OK) return hop_jsonl_fail(&e->in, got, err);
    e->lines[e->filled] = e->in.number;
    if (s->asked == 0 && e->sized) hop_instance_solve(s, &e->task);
    return HOP_OK;
}

static hop_status fill(evaluation *e, hop_error *err)
{
    bool limited = !e->in.file || e->args->count.given;
    int64_t tokens = 0;
    e->filled = 0;
    while (e->filled < HOP_EVAL_BATCH && tokens < BATCH_TOKENS && !e->ended) {
        int64_t number = e->instances + e->filled;
        hop_instance *s = &e->slots[e->filled];
        if (limited && number >= e->args->count.integer) {
            e->ended = true;
            break;
        }
        hop_status got = e->in.file ? read_one(e, s, err)
                                    : hop_instance_sample(s, &e->task, (uint64_t)e->args->common.seed.integer,
                                                          (uint64_t)number, err);
        if (got != HOP_OK) return got;
        if (e->ended) break;
        tokens += s->count;
        e->filled++;
    }
    return HOP_OK;
}

/* ---- scoring ------------------------------------------------------------------------------- */

/* Members "predictions" and "targets": what the network says at each token, null where it was not asked. */
static void write_several(hop_json_writer *w, const hop_instance *x)
{
    hop_json_key(w, "predictions");
    hop_json_begin_array(w);
    for (int64_t t = 0; t < x->count; t++)
        if (x->answers[t] == HOP_NOT_ASKED)
            hop_json_put_null(w);
        else
            hop_json_put_int(w, x->answers[t]);
    hop_json_end_array(w);
    if (x->asked)
        hop_answers_write(w, "targets", x->targets, x->count);
    else
        hop_json_null(w, "targets");
}

static void write_single(hop_json_writer *w, const hop_instance *x)
{
    int64_t last = x->count - 1;
    hop_json_integer(w, "prediction", x->answers[last]);
    hop_json_known(w, "answer", x->targets[last], x->asked > 0);
}

static bool write_prediction(evaluation *e, const hop_instance *x)
{
    hop_json_writer *w = &e->line;
    w->comma = false; /* lines are documents of their own */
    hop_json_begin_object(w);
    hop_json_integer(w, "index", e->instances);
    (hop_eval_reads_several(e->eval, x) ? write_several : write_single)(w, x);
    if (x->asked)
        hop_json_boolean(w, "correct", hop_instance_correct(x));
    else
        hop_json_null(w, "correct");
    if (x->chain) hop_answers_write(w, "chain", x->chain, e->generate);
    hop_json_end_object(w);
    hop_text_add(&w->text, "\n");
    return sink_write(&e->predictions, &w->text);
}

/* In input order: counts, writes predictions, and finds the first instance that the network did not take. */
static hop_status score_batch(evaluation *e, hop_error *err)
{
    for (int64_t i = 0; i < e->filled; i++) {
        const hop_instance *s = &e->slots[i];
        if (s->status != HOP_OK) {
            *err = s->err;
            if (!e->in.file) return s->status;
            hop_jsonl at = {.name = e->in.name, .number = e->lines[i]};
            return hop_jsonl_fail(&at, s->status, err);
        }
        e->tokens += s->count + e->generate;
        e->with_answer += s->asked > 0;
        e->correct += hop_instance_correct(s);
        e->targets += s->asked;
        e->targets_correct += s->right;
        if (e->keep && !write_prediction(e, s)) return HOP_OK; /* closing the sink says why */
        e->instances++;
    }
    return HOP_OK;
}

/* The players of the first instance, whose length all must have. */
static int take_seats(evaluation *e)
{
    const run_args *a = e->args;
    seats s;
    int code = seats_from_options(&a->common, &a->seats, e->sized ? &e->task : NULL, e->slots[0].count, &s);
    if (code != EXIT_DONE) return code;
    e->cuts = seats_cuts(&s, e->starts, (int)a->message_bits.integer);
    return EXIT_DONE;
}

/* The first batch is there: its first instance says how many tokens players hold. */
static hop_status open_eval(evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    int64_t bits = a->precision.integer;
    hop_eval_options o = {.pool = e->pool,
                          .bits = bits == ALL_BITS ? 0 : (int)bits,
                          .progress = &a->common.progress,
                          .everywhere = e->sized && hop_task_asks_everywhere(&e->task),
                          .checkpoint = a->checkpoint.text};
    if (a->message_bits.given) {
        e->usage = take_seats(e) != EXIT_DONE;
        if (e->usage) return HOP_ERANGE;
        o.cuts = &e->cuts;
        o.cut_tokens = e->slots[0].count;
    }
    hop_status s = hop_eval_open(&e->eval, e->model, &o, err);
    if (s == HOP_OK)
        hop_eval_start(e->eval, "instances", e->in.file && !a->count.given ? 0 : (double)a->count.integer);
    return s;
}

static hop_status evaluate(evaluation *e, hop_error *err)
{
    hop_status s = HOP_OK;
    while (s == HOP_OK && !e->ended && !e->predictions.error) {
        s = fill(e, err);
        if (s == HOP_OK && e->filled && !e->eval) s = open_eval(e, err);
        if (s == HOP_OK && e->filled) s = hop_eval_run(e->eval, e->slots, e->filled, err);
        if (s == HOP_OK) s = score_batch(e, err);
    }
    return s;
}

static void evaluation_free(evaluation *e)
{
    hop_eval_close(e->eval);
    for (int i = 0; i < HOP_EVAL_BATCH; i++) hop_instance_free(&e->slots[i]);
    hop_text_free(&e->line.text);
    hop_jsonl_close(&e->in);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Answers that are equally likely, where sampled instances have them; 0: not known. */
static int64_t answers_of(const evaluation *e)
{
    bool sampled = e->sized && !e->args->input.text;
    return sampled && e->task.kind == HOP_TASK_FUNCCOMP ? e->task.funccomp.size[e->task.funccomp.hops - 1]
                                                        : 0;
}

static int report_json(const evaluation *e, double seconds, double tokens_rate, double layers_rate)
{
    const common_args *a = &e->args->common;
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "instances", e->instances);
    hop_json_integer(&w, "with_answer", e->with_answer);
    hop_json_integer(&w, "correct", e->correct);
    hop_json_number(&w, "accuracy", (double)e->correct / (double)e->with_answer); /* 0/0: null */
    if (answers_of(e)) hop_json_number(&w, "chance", 1.0 / (double)answers_of(e));
    hop_json_integer(&w, "targets", e->targets);
    hop_json_integer(&w, "targets_correct", e->targets_correct);
    hop_json_number(&w, "tokens_per_second", tokens_rate);
    hop_json_number(&w, "layers_per_second", layers_rate);
    hop_json_number(&w, "seconds", seconds);
    hop_json_integer(&w, "layers", hop_model_config(e->model)->pattern.layers);
    hop_json_integer(&w, "generated", e->generate);
    hop_json_integer(&w, "precision", e->args->precision.integer);
    if (e->args->message_bits.given) hop_json_integer(&w, "message_bits", e->cuts.bits);
    hop_json_integer(&w, "threads", hop_pool_threads(e->pool));
    hop_json_string(&w, "isa", hop_isa_name(hop_kernels_selected()));
    hop_json_string(&w, "dir", a->operand);
    hop_json_end_object(&w);
    return print_json(a, &w);
}

/* A network is right at the sizes it was made for; at others, nobody said so. */
static void note_other_sizes(const evaluation *e)
{
    const common_args *a = &e->args->common;
    hop_size_args none = {0};
    hop_task own;
    bool known = false;
    hop_text here = {0}, built = {0};
    if (a->quiet.flag || !hop_sizes_given(&e->args->sizes) ||
        sizes_of_network(a, &none, e->model, &own, &known) != EXIT_DONE || !known)
        return;
    hop_sizes_say(&here, &e->task);
    hop_sizes_say(&built, &own);
    if (here.s && built.s && strcmp(here.s, built.s) != 0)
        terminal_clear(),
            fprintf(stderr, "hopbound: run: note: made for %s, and run at %s\n", built.s, here.s);
    hop_text_free(&here);
    hop_text_free(&built);
}

static int report(const evaluation *e, double seconds)
{
    const common_args *a = &e->args->common;
    int64_t layers = hop_model_config(e->model)->pattern.layers;
    double tokens_rate = seconds > 0 ? (double)e->tokens / seconds : 0;
    double layers_rate = seconds > 0 ? (double)layers * (double)e->instances / seconds : 0;
    note_other_sizes(e);
    if (a->json.flag) return report_json(e, seconds, tokens_rate, layers_rate);
    hop_text out = {0};
    hop_text_name(&out, a->operand);
    hop_text_printf(&out, ": %lld instance%s", (long long)e->instances, plural(e->instances));
    if (e->with_answer)
        hop_text_printf(&out, ", %lld of %lld correct, accuracy %.6g", (long long)e->correct,
                        (long long)e->with_answer, (double)e->correct / (double)e->with_answer);
    if (answers_of(e)) hop_text_printf(&out, " (by chance 1 in %lld)", (long long)answers_of(e));
    if (e->targets > e->with_answer)
        hop_text_printf(&out, "; %lld of %lld targets", (long long)e->targets_correct, (long long)e->targets);
    int threads = hop_pool_threads(e->pool);
    hop_text_printf(&out, "\n  %lld token%s in %.2f s, %.0f tokens/s, %d thread%s, %s kernels, %lld bits",
                    (long long)e->tokens, plural(e->tokens), seconds, tokens_rate, threads, plural(threads),
                    hop_isa_name(hop_kernels_selected()), (long long)e->args->precision.integer);
    if (e->args->message_bits.given)
        hop_text_printf(&out, ", %d bits between %lld player%s", e->cuts.bits, (long long)e->cuts.count,
                        plural(e->cuts.count));
    hop_text_printf(&out, "\n  %lld layer%s, %.0f layers/s\n", (long long)layers, plural(layers),
                    layers_rate);
    return print_text(a, &out);
}

/* A pass that was stopped and kept can be taken up again. */
static int stopped(const evaluation *e, const hop_error *err)
{
    const common_args *a = &e->args->common;
    const char *kept = e->eval ? hop_eval_kept(e->eval) : "";
    if (err->status == HOP_ESTOPPED && e->args->checkpoint.text && *kept && access(kept, F_OK) == 0)
        return fail(a, EXIT_FAILED, "stopped: by a signal; the same command resumes from %s", kept);
    return fail_error(a, err);
}

/* Opens what is read and written, evaluates, and closes; the predictions appear only when all went well. */
static int run(evaluation *e)
{
    const run_args *a = e->args;
    hop_error err = {0};
    if (a->input.text && hop_jsonl_open(&e->in, a->input.text, &err) != HOP_OK)
        return fail_error(&a->common, &err);
    e->keep = a->predictions.text != NULL;
    if (e->keep && sink_open(&e->predictions, a->predictions.text, &err) != HOP_OK)
        return fail_error(&a->common, &err);
    double began = hop_now();
    hop_status s = evaluate(e, &err);
    double seconds = hop_now() - began;
    if (e->keep) {
        hop_status closed = sink_close(&e->predictions, s == HOP_OK, &err);
        if (s == HOP_OK) s = closed;
    }
    if (e->usage) return EXIT_USAGE;
    return s == HOP_OK ? report(e, seconds) : stopped(e, &err);
}

/* What the network says of itself, and whether that goes with the options. */
static int ask_network(evaluation *e)
{
    const run_args *a = e->args;
    hop_error err = {0};
    int code = sizes_of_network(&a->common, &a->sizes, e->model, &e->task, &e->sized);
    if (code != EXIT_DONE) return code;
    if (!e->sized && !a->input.text)
        return fail(&a->common, EXIT_USAGE, "--task: missing, and %.200s names none", a->common.operand);
    if (hop_generated_tokens(hop_model_config(e->model), &e->generate, &err) != HOP_OK)
        return fail_error(&a->common, &err);
    if (e->generate && a->precision.integer != ALL_BITS)
        return fail(&a->common, EXIT_USAGE, "--precision: a network that generates runs in float32 only");
    if (a->message_bits.given && (a->precision.integer != ALL_BITS || a->checkpoint.text || e->generate))
        return fail(&a->common, EXIT_USAGE,
                    "--message-bits: not with --precision or --checkpoint, nor for a network that generates");
    if (!a->message_bits.given && (a->seats.players.given || a->seats.cut.given))
        return fail(&a->common, EXIT_USAGE, "--%s: needs --message-bits",
                    a->seats.players.given ? "players" : "cut");
    if (e->generate && a->checkpoint.text)
        return fail(&a->common, EXIT_USAGE, "--checkpoint: a network that generates is not kept");
    return EXIT_DONE;
}

static int cmd_run(common_args *common)
{
    evaluation *e = calloc(1, sizeof *e);
    if (!e) return fail(common, EXIT_FAILED, "out of memory");
    hop_error err = {0};
    hop_model *m = NULL;
    int code = EXIT_DONE;
    e->args = (const run_args *)common;
    if (hop_model_open(&m, common->operand, &err) != HOP_OK) code = fail_error(common, &err);
    e->model = m;
    if (code == EXIT_DONE) code = ask_network(e);
    if (code == EXIT_DONE) code = pool_open(common, &e->pool);
    if (code == EXIT_DONE) code = run(e);
    evaluation_free(e);
    hop_pool_free(e->pool);
    hop_model_free(m);
    free(e);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    SEAT_GROUP(run_args, seats),
    HOP_NETWORK_SIZE_GROUP(run_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
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
const verb verb_run = {
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
    .args_size = sizeof(run_args),
    .run = cmd_run,
};
/* clang-format on */
