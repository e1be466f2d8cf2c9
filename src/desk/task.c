/* The verb task: samples instances, or checks the answers in a file. */
#include "task.h"

HOP_RECORD_TABLE(hop_task_instance, HOP_TASK_INSTANCE, "an instance")
HOP_RECORD_TABLE(hop_task_answer, HOP_TASK_ANSWER, "instances of a task")
HOP_RECORD_TABLE(hop_task_written, HOP_TASK_WRITTEN, "a file of instances")
HOP_RECORD_TABLE(hop_task_checked, HOP_TASK_CHECKED, "how many answers in a file are right")

static const char *const FORMATS[] = {"text", "json", "jsonl", "lm-eval", NULL};
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_JSONL, FORMAT_LM_EVAL };
#define HARNESS_COUNT 200 /* instances a size, when nobody says */

typedef struct task_args {
    hop_request ask;
    hop_size_args sizes;
    hop_opt_value count, format, output, check;
} task_args;

#define MOST_TOKENS (1 << 26) /* of an instance: a gigabyte of text */

/* clang-format off */
#define AT(member) offsetof(task_args, member)
static const hop_opt OPTIONS[] = {
    {"count", 'n', HOP_OPT_INT, AT(count), "N", "1", 0, INT64_MAX,
     .help = "how many instances to sample; the first of more are the same"},
    {"format", 0, HOP_OPT_CHOICE, AT(format), "NAME", "text", .choices = FORMATS,
     .help = "text for people, json one object with all instances, jsonl an object a line; --json alone "
             "means json; lm-eval a directory of tasks for EleutherAI's lm-evaluation-harness, in words, in hard and in easy "
             "order: of the sizes given, else of a grid of 1 to 4 hops; 200 instances a size, if --count is not given"},
    {"output", 'o', HOP_OPT_TEXT, AT(output), "FILE", .use = HOP_OPT_WRITES, .initial_help = "standard output",
     .help = "where the instances go; lm-eval: the directory"},
    {"check", 0, HOP_OPT_TEXT, AT(check), "FILE", .use = HOP_OPT_READS,
     .help = "instead of sampling, check the answers in FILE, an instance a line; - is standard input"},
    {0},
};
/* clang-format on */

/* Everything is written through one JSON writer, emptied after each instance: memory does not grow. */
typedef struct sampling {
    const task_args *args;
    const hop_task *task;
    int format;
    hop_lines out;
    hop_json_writer line;
    hop_instance one;
} sampling;

static hop_status write_instance(sampling *w, int64_t number, hop_error *err)
{
    hop_status s =
        hop_instance_sample(&w->one, w->task, (uint64_t)w->args->ask.seed.integer, (uint64_t)number, err);
    if (s != HOP_OK) return s;
    if (!hop_progress_tick(&w->args->ask.progress, "instances", (double)number,
                           (double)w->args->count.integer))
        return hop_fail(err, HOP_ESTOPPED,
                        "stopped: on request"); /* writing a long one takes as long again */
    if (w->format == FORMAT_TEXT) {
        hop__task_say(&w->line.text, w->task, &w->one, number);
        return HOP_OK;
    }
    if (w->format == FORMAT_JSONL) w->line.comma = false; /* lines are documents of their own */
    hop_instance_write(&w->one, w->task, &w->line);
    if (w->format == FORMAT_JSONL) hop_text_add(&w->line.text, "\n");
    return HOP_OK;
}

static hop_status write_all(sampling *w, const char *task, hop_error *err)
{
    const task_args *a = w->args;
    const int64_t count = a->count.integer;
    const hop_task_answer head = {.task = task, .seed = a->ask.seed.integer, .count = count};
    hop_status s = HOP_OK;
    bool going = true;
    if (w->format == FORMAT_JSON) hop_record_json_begin(&w->line, &hop_task_answer_record, &head);
    hop_progress_tick(&a->ask.progress, "instances", 0, (double)count); /* the rate counts from here */
    for (int64_t i = 0; s == HOP_OK && going && i < count; i++) {
        s = write_instance(w, i, err);
        if (s != HOP_OK) break;
        going = hop__lines_write(&w->out, &w->line.text);
        if (!hop_progress_tick(&a->ask.progress, "instances", (double)i + 1, (double)count))
            s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
    }
    if (s == HOP_OK && w->format == FORMAT_JSON) {
        hop_record_json_end(&w->line);
        hop_text_add(&w->line.text, "\n");
        hop__lines_write(&w->out, &w->line.text);
    }
    hop_instance_free(&w->one);
    hop_text_free(&w->line.text);
    return s;
}

/* With -o, the answer says what was written where. */
static hop_status sample(hop_response *out, const task_args *a, const hop_task *t, hop_error *err)
{
    hop_keep *k = &out->memory;
    hop_text sizes = {0};
    hop_json_writer task = {0};
    hop_task_written *said = hop_response_begin(out, &hop_task_written_record, err);
    if (!said) return HOP_ENOMEM;
    hop_sizes_say(&sizes, t);
    hop_task_write(t, &task);
    sampling w = {.args = a, .task = t, .format = a->format.choice};
    if (a->ask.front->json && (!a->output.text || !a->format.given)) w.format = FORMAT_JSON;
    *said = (hop_task_written){.task = hop_keep_grown(k, &task.text),
                               .count = a->count.integer,
                               .format = FORMATS[w.format],
                               .file = hop_keep_text(k, a->output.text),
                               .sizes = hop_keep_grown(k, &sizes)};
    hop_status s = hop_response_end(out, err);
    if (s == HOP_OK) s = hop__lines_open(&w.out, a->output.text, &a->ask, err);
    if (s != HOP_OK) return s;
    s = write_all(&w, said->task, err);
    hop_status closed = hop__lines_close(&w.out, s == HOP_OK, err);
    if (!a->output.text) out->record = NULL; /* that was the answer */
    return s == HOP_OK ? closed : s;
}

static hop_status ask_task(hop_response *out, const void *request, hop_error *err)
{
    const task_args *a = request;
    hop_task sizes;
    hop_status s = hop_sizes_read(&a->sizes, HOP_TASK_FUNCCOMP, NULL, &sizes, err);
    if (s != HOP_OK) return s;
    if (a->check.text) return hop__task_check(out, &a->ask, a->check.text, &sizes, err);
    if (sizes.length > MOST_TOKENS)
        return hop_fail(err, HOP_EUSAGE,
                        "sizes: a prompt of %lld tokens; instances of up to %d are written out",
                        (long long)sizes.length, MOST_TOKENS);
    if (a->format.choice != FORMAT_LM_EVAL) return sample(out, a, &sizes, err);
    if (!a->output.text) return hop_fail(err, HOP_EUSAGE, "--output: missing; lm-eval is a directory");
    return hop__task_harness(out, &a->ask, a->output.text, hop_sizes_given(&a->sizes) ? &sizes : NULL,
                             a->count.given ? a->count.integer : HARNESS_COUNT, err);
}

/* clang-format off */
static const hop_other OTHERS[] = {
    {&hop_task_written_record, "With `--output`"},
    {&hop_task_harness_record, "With `--format lm-eval`"},
    {&hop_task_checked_record, "With `--check`"},
    {0},
};
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_SIZE_GROUP(task_args, sizes),
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound task --hops 2 --m 2 --fan 2",
     "One small instance, for people."},
    {"hopbound task --task khop --n 64 --alphabet 8 --hops 3",
     "Another task; each has sizes of its own."},
    {"hopbound task --count 1000 --format jsonl -o test.jsonl",
     "A thousand instances, one a line."},
    {"hopbound task --format lm-eval -o tasks",
     "For language models: lm_eval --include_path tasks --tasks hopbound."},
    {"hopbound task --check answers.jsonl",
     "Says how many answers in the file are right."},
    {0},
};
const hop_verb hop__verb_task = {
    .name = "task",
    .summary = "samples instances of the task, or checks the answers in a file",
    .description =
        "funccomp is L-sequential function composition: the prompt lists functions z_L, .., z_1, then a "
        "start z_0 and a query w; the answer is where the start leads through all functions, each "
        "choosing its branch by a digit of w. two-sum asks at every token whether one so far, itself "
        "included, adds up with it to 0 modulo M: 1 or 0. recall lists pairs of a key and a value, with "
        "different keys, then asks for the values of some keys. khop goes, from the last token, to the "
        "token behind the last earlier occurrence of the same one, again and again; the answer is the "
        "token it ends at, or the number of the alphabet's tokens when a step leads nowhere. Instance i "
        "depends on the seed and on i only, so a shorter list is the beginning of a longer one.\n\n"
        "An instance of funccomp has the keys tokens, answer, chain (i_0 .. i_L), hops, m and fan; of the "
        "others tokens, targets (the answer at each token, null where nothing is asked), name and their "
        "sizes. With --check every line needs tokens and answer or targets; chain is checked where it is "
        "given; task and sizes come from the line, or else from the options. Exit 10 when an answer is "
        "wrong, 1 when a line cannot be read.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_task_answer_record,
    .others = OTHERS,
    .request_size = sizeof(task_args),
    .ask = ask_task,
};
/* clang-format on */
