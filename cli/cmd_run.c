/* hopbound run: evaluates a network on sampled instances or on a file of them, in batches, so that memory
 * does not grow with their number. */
#include "cli.h"
#include "evaluate.h"

#include <stdlib.h>

#define BATCH_TOKENS ((int64_t)1 << 22) /* a batch of long instances ends earlier */
#define ALL_BITS     24                 /* float32's own precision: nothing is cut */

typedef struct run_args {
    common_args common;
    size_args sizes;
    opt_value count, input, predictions, precision;
} run_args;

static const opt OPTIONS[] = {
    {.name = "count",
     .letter = 'n',
     .kind = OPT_INT,
     .at = offsetof(run_args, count),
     .initial = "100",
     .min = 0,
     .max = INT64_MAX,
     .metavar = "N",
     .help = "instances to sample; with --input, lines to read at most",
     .initial_help = "100; with --input, all"},
    {.name = "input",
     .letter = 'i',
     .kind = OPT_TEXT,
     .at = offsetof(run_args, input),
     .metavar = "FILE",
     .help = "read instances from FILE, an object a line with \"tokens\" and, if known, \"answer\"; - is "
             "standard input"},
    {.name = "predictions",
     .letter = 'p',
     .kind = OPT_TEXT,
     .at = offsetof(run_args, predictions),
     .metavar = "FILE",
     .help = "write index, prediction, answer and correct of every instance, an object a line"},
    {.name = "precision",
     .kind = OPT_INT,
     .at = offsetof(run_args, precision),
     .initial = "24",
     .min = 1,
     .max = ALL_BITS,
     .metavar = "BITS",
     .help = "cut tables, activations and attention weights to BITS significant "
             "bits; 24 is all of float32"},
    {.name = NULL},
};

typedef struct evaluation {
    const run_args *args;
    const hop_model *model;
    hop_funccomp sizes;
    bool sized; /* the sizes are known */
    hop_pool *pool;
    jsonl in; /* its file is NULL when instances are sampled */
    bool ended;
    predictor predictor;
    prediction slots[PREDICTION_BATCH];
    int64_t filled;
    int64_t instances, with_answer, correct, tokens;
    bool keep; /* predictions are wanted */
    sink predictions;
    hop_json_writer line;
} evaluation;

/* ---- taking instances ---------------------------------------------------------------------- */

static hop_status read_one(evaluation *e, prediction *s, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status got = jsonl_next(&e->in, &doc, err);
    if (got != HOP_OK) return got;
    e->ended = !doc.root;
    if (e->ended) return HOP_OK;
    got = instance_read(&s->one, doc.root, err);
    hop_json_free(&doc);
    if (got != HOP_OK) return jsonl_fail(&e->in, got, err);
    s->line = e->in.number;
    if (s->one.answer < 0 && e->sized &&
        hop_funccomp_check(&e->sizes, s->one.tokens, s->one.count, NULL) == HOP_OK)
        s->one.answer = hop_funccomp_solve(&e->sizes, s->one.tokens, NULL);
    return HOP_OK;
}

static hop_status fill(evaluation *e, hop_error *err)
{
    bool limited = !e->in.file || e->args->count.given;
    int64_t tokens = 0;
    e->filled = 0;
    while (e->filled < PREDICTION_BATCH && tokens < BATCH_TOKENS && !e->ended) {
        int64_t number = e->instances + e->filled;
        prediction *s = &e->slots[e->filled];
        if (limited && number >= e->args->count.integer) {
            e->ended = true;
            break;
        }
        hop_status got = e->in.file
                             ? read_one(e, s, err)
                             : instance_sample(&s->one, &e->sizes, (uint64_t)e->args->common.seed.integer,
                                               (uint64_t)number, err);
        if (got != HOP_OK) return got;
        if (e->ended) break;
        tokens += s->one.count;
        e->filled++;
    }
    return HOP_OK;
}

/* ---- scoring ------------------------------------------------------------------------------- */

static bool write_prediction(evaluation *e, const prediction *s)
{
    hop_json_writer *w = &e->line;
    w->comma = false; /* lines are documents of their own */
    hop_json_begin_object(w);
    hop_json_integer(w, "index", e->instances);
    hop_json_integer(w, "prediction", s->answer);
    if (s->one.answer >= 0) {
        hop_json_integer(w, "answer", s->one.answer);
        hop_json_boolean(w, "correct", s->answer == s->one.answer);
    } else {
        hop_json_key(w, "answer");
        hop_json_put_null(w);
        hop_json_key(w, "correct");
        hop_json_put_null(w);
    }
    hop_json_end_object(w);
    hop_text_add(&w->text, "\n");
    return sink_write(&e->predictions, &w->text);
}

/* In input order: counts, writes predictions, and finds the first instance that the network did not take. */
static hop_status score_batch(evaluation *e, hop_error *err)
{
    for (int64_t i = 0; i < e->filled; i++) {
        const prediction *s = &e->slots[i];
        if (s->status != HOP_OK) {
            *err = s->err;
            if (!e->in.file) return s->status;
            jsonl at = {.name = e->in.name, .number = s->line};
            return jsonl_fail(&at, s->status, err);
        }
        e->tokens += s->one.count;
        e->with_answer += s->one.answer >= 0;
        e->correct += s->one.answer >= 0 && s->answer == s->one.answer;
        if (e->keep && !write_prediction(e, s)) return HOP_OK; /* closing the sink says why */
        e->instances++;
    }
    return HOP_OK;
}

static hop_status evaluate(evaluation *e, hop_error *err)
{
    const run_args *a = e->args;
    int64_t bits = a->precision.integer;
    e->predictor = (predictor){.model = e->model,
                               .pool = e->pool,
                               .bits = bits == ALL_BITS ? 0 : (int)bits,
                               .progress = &a->common.progress,
                               .label = "instances",
                               .total = e->in.file && !a->count.given ? 0 : (double)a->count.integer};
    hop_status s = HOP_OK;
    while (s == HOP_OK && !e->ended && !e->predictions.error) {
        s = fill(e, err);
        if (s == HOP_OK && e->filled) s = predictor_run(&e->predictor, e->slots, e->filled, err);
        if (s == HOP_OK) s = score_batch(e, err);
    }
    return s;
}

static void evaluation_free(evaluation *e)
{
    predictor_close(&e->predictor);
    for (int i = 0; i < PREDICTION_BATCH; i++) instance_free(&e->slots[i].one);
    hop_text_free(&e->line.text);
    jsonl_close(&e->in);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int report(const evaluation *e, double seconds)
{
    const common_args *a = &e->args->common;
    double rate = seconds > 0 ? (double)e->tokens / seconds : 0;
    if (a->json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        hop_json_integer(&w, "instances", e->instances);
        hop_json_integer(&w, "with_answer", e->with_answer);
        hop_json_integer(&w, "correct", e->correct);
        hop_json_key(&w, "accuracy");
        if (e->with_answer)
            hop_json_put_real(&w, (double)e->correct / (double)e->with_answer);
        else
            hop_json_put_null(&w);
        hop_json_number(&w, "tokens_per_second", rate);
        hop_json_number(&w, "seconds", seconds);
        hop_json_integer(&w, "precision", e->args->precision.integer);
        hop_json_integer(&w, "threads", hop_pool_threads(e->pool));
        hop_json_string(&w, "isa", hop_isa_name(hop_kernels_selected()));
        hop_json_string(&w, "dir", a->operand);
        hop_json_end_object(&w);
        return print_json(a, &w);
    }
    hop_text out = {0};
    hop_text_printf(&out, "%s: %lld instances", a->operand, (long long)e->instances);
    if (e->with_answer)
        hop_text_printf(&out, ", %lld of %lld correct, accuracy %.6g", (long long)e->correct,
                        (long long)e->with_answer, (double)e->correct / (double)e->with_answer);
    hop_text_printf(&out, "\n  %lld tokens in %.2f s, %.0f tokens/s, %d threads, %s kernels, %lld bits\n",
                    (long long)e->tokens, seconds, rate, hop_pool_threads(e->pool),
                    hop_isa_name(hop_kernels_selected()), (long long)e->args->precision.integer);
    return print_text(a, &out);
}

/* Opens what is read and written, evaluates, and closes; the predictions appear only when all went well. */
static int run(evaluation *e)
{
    const run_args *a = e->args;
    hop_error err = {0};
    if (a->input.text && jsonl_open(&e->in, a->input.text, &err) != HOP_OK)
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
    return s == HOP_OK ? report(e, seconds) : fail_error(&a->common, &err);
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
    if (code == EXIT_DONE) code = sizes_of_network(common, &e->args->sizes, m, &e->sizes, &e->sized);
    if (code == EXIT_DONE && !e->sized && !e->args->input.text)
        code = fail(common, EXIT_USAGE, "--hops: missing, and %.200s names no task", common->operand);
    if (code == EXIT_DONE) code = pool_open(common, &e->pool);
    if (code == EXIT_DONE) code = run(e);
    evaluation_free(e);
    hop_pool_free(e->pool);
    hop_model_free(m);
    free(e);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    NETWORK_SIZE_GROUP(run_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound run net --count 1000",
     "Accuracy on a thousand sampled instances."},
    {"hopbound run net --count 1000 --precision 8",
     "The same with everything cut to bfloat16's precision."},
    {"hopbound run net --input test.jsonl --predictions out.jsonl",
     "Answers to a file of instances, in its order."},
    {0},
};
const verb verb_run = {
    .name = "run",
    .summary = "evaluates a network on sampled instances or on a file of them",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "The answer is read at the last token: the largest logit. Sizes of sampled instances are those "
        "the network was made for, unless the options say others. A line of --input that has no answer "
        "gets the right one from the solver when its tokens fit the sizes; else it is only predicted. "
        "Accuracy is over the instances whose answer is known; it does not change the exit code.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(run_args),
    .run = cmd_run,
};
/* clang-format on */
