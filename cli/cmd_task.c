/* hopbound task: samples instances, or checks the answers in a file. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const char *const FORMATS[] = {"text", "json", "jsonl", NULL};
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_JSONL };

typedef struct task_args {
    common_args common;
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
             "means json"},
    {"output", 'o', HOP_OPT_TEXT, AT(output), "FILE", .use = HOP_OPT_WRITES, .initial_help = "standard output",
     .help = "where the instances go"},
    {"check", 0, HOP_OPT_TEXT, AT(check), "FILE", .use = HOP_OPT_READS,
     .help = "instead of sampling, check the answers in FILE, an instance a line; - is standard input"},
    {0},
};
/* clang-format on */

/* ---- sampling ------------------------------------------------------------------------------ */

static void write_segment(hop_text *out, const hop_funccomp *t, const int32_t *tokens, int l)
{
    hop_text_printf(out, "  z_%d =", l);
    int64_t count = l ? t->size[l - 1] : 1;
    for (int64_t i = 0; i < count; i++) hop_text_printf(out, " %ld", (long)tokens[t->start[l] + i]);
    hop_text_add(out, "\n");
}

static void write_funccomp(hop_text *out, const hop_funccomp *t, const int32_t *tokens)
{
    int64_t chain[HOP_MAX_HOPS + 1], w = tokens[t->length - 1];
    int64_t answer = hop_funccomp_solve(t, tokens, chain);
    for (int l = t->hops; l >= 0; l--) write_segment(out, t, tokens, l);
    hop_text_printf(out, "  w = %lld", (long long)w);
    for (int l = 1; l < t->hops; l++)
        hop_text_printf(out, "%sw_%d=%lld", l == 1 ? " (" : ", ", l, (long long)hop_funccomp_digit(t, w, l));
    hop_text_add(out, t->hops > 1 ? ")\n  chain " : "\n  chain ");
    for (int l = 0; l <= t->hops; l++) hop_text_printf(out, "%s%lld", l ? " -> " : "", (long long)chain[l]);
    hop_text_printf(out, "\n  answer %lld\n", (long long)answer);
}

/* A line of tokens and a line of targets, - where nothing is asked; columns as wide as the largest token. */
static void write_lines(hop_text *out, const hop_task *t, const hop_instance *i)
{
    int width = snprintf(NULL, 0, "%lld", (long long)(t->vocab - 1));
    hop_text_add(out, "  tokens ");
    for (int64_t p = 0; p < i->count; p++) hop_text_printf(out, " %*ld", width, (long)i->tokens[p]);
    hop_text_add(out, "\n  targets");
    for (int64_t p = 0; p < i->count; p++)
        if (i->targets[p] < 0)
            hop_text_printf(out, " %*s", width, "-");
        else
            hop_text_printf(out, " %*ld", width, (long)i->targets[p]);
    hop_text_add(out, "\n");
}

static void write_readable(hop_text *out, const hop_task *t, const hop_instance *i, int64_t number)
{
    hop_text_printf(out, "instance %lld (", (long long)number);
    hop_sizes_say(out, t);
    hop_text_add(out, ")\n");
    if (t->kind == HOP_TASK_FUNCCOMP)
        write_funccomp(out, &t->funccomp, i->tokens);
    else
        write_lines(out, t, i);
}

/* Everything is written through one JSON writer, emptied after each instance: memory does not grow. */
static hop_status sample_all(const task_args *a, const hop_task *t, int format, sink *out, hop_error *err)
{
    hop_json_writer w = {0};
    hop_instance one = {0};
    hop_status s = HOP_OK;
    bool going = true;
    if (format == FORMAT_JSON) {
        hop_json_begin_object(&w);
        hop_json_key(&w, "task");
        hop_task_write(t, &w);
        hop_json_integer(&w, "seed", a->common.seed.integer);
        hop_json_integer(&w, "count", a->count.integer);
        hop_json_key(&w, "instances");
        hop_json_begin_array(&w);
    }
    hop_progress_tick(&a->common.progress, "instances", 0,
                      (double)a->count.integer); /* the rate counts from here */
    for (int64_t i = 0; s == HOP_OK && going && i < a->count.integer; i++) {
        s = hop_instance_sample(&one, t, (uint64_t)a->common.seed.integer, (uint64_t)i, err);
        if (s != HOP_OK) break;
        if (format == FORMAT_TEXT) {
            write_readable(&w.text, t, &one, i);
        } else {
            if (format == FORMAT_JSONL) w.comma = false; /* lines are documents of their own */
            hop_instance_write(&one, t, &w);
            if (format == FORMAT_JSONL) hop_text_add(&w.text, "\n");
        }
        going = sink_write(out, &w.text);
        if (!hop_progress_tick(&a->common.progress, "instances", (double)i + 1, (double)a->count.integer))
            s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
    }
    if (s == HOP_OK && format == FORMAT_JSON) {
        hop_json_end_array(&w);
        hop_json_end_object(&w);
        hop_text_add(&w.text, "\n");
        sink_write(out, &w.text);
    }
    hop_instance_free(&one);
    hop_text_free(&w.text);
    return s;
}

/* With -o, standard output says what was written where. */
static int report_sampled(const task_args *a, const hop_task *t, int format)
{
    if (a->common.json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        hop_json_key(&w, "task");
        hop_task_write(t, &w);
        hop_json_integer(&w, "count", a->count.integer);
        hop_json_string(&w, "format", FORMATS[format]);
        hop_json_string(&w, "file", a->output.text);
        hop_json_end_object(&w);
        return print_json(&a->common, &w);
    }
    hop_text out = {0};
    hop_text_name(&out, a->output.text);
    hop_text_printf(&out, ": %lld instances of ", (long long)a->count.integer);
    hop_sizes_say(&out, t);
    hop_text_add(&out, "\n");
    return print_text(&a->common, &out);
}

static int sample(const task_args *a, const hop_task *t)
{
    hop_error err = {0};
    sink out;
    int format = a->format.choice;
    if (a->common.json.flag && (!a->output.text || !a->format.given)) format = FORMAT_JSON;
    if (sink_open(&out, a->output.text, &err) != HOP_OK) return fail_error(&a->common, &err);
    hop_status s = sample_all(a, t, format, &out, &err);
    hop_status closed = sink_close(&out, s == HOP_OK, &err);
    if (s != HOP_OK || closed != HOP_OK) return fail_error(&a->common, &err);
    return a->output.text ? report_sampled(a, t, format) : EXIT_DONE;
}

/* ---- checking ------------------------------------------------------------------------------ */

typedef struct tally {
    int64_t checked, right, wrong, first_wrong; /* its line, 0: none */
} tally;

/* The line's chain, where it has one, must be the solver's. */
static hop_status check_chain(const hop_json *line, const int64_t *chain, int hops, bool *right,
                              hop_error *err)
{
    const hop_json *given = hop_json_get(line, "chain");
    if (!given) return HOP_OK;
    if (given->type != HOP_JSON_ARRAY) return hop_fail(err, HOP_EFORMAT, "chain: not a list of numbers");
    if (given->count != (size_t)hops + 1) *right = false;
    int l = 0;
    for (const hop_json *e = given->child; e; e = e->next, l++) {
        int64_t value = 0;
        if (!hop_json_int(e, INT64_MIN, INT64_MAX, &value))
            return hop_fail(err, HOP_EFORMAT, "chain: number %d is no integer", l);
        if (l <= hops && value != chain[l]) *right = false;
    }
    return HOP_OK;
}

/* The line's own sizes where it has some, else those of the options. */
static hop_status sizes_of_line(const hop_json *line, const hop_task *sizes, hop_task *out, hop_error *err)
{
    bool named = hop_json_get(line, "name") != NULL;
    bool first = hop_json_get(line, "hops") || hop_json_get(line, "m") || hop_json_get(line, "fan");
    *out = *sizes;
    return named || (first && sizes->kind == HOP_TASK_FUNCCOMP) ? hop_task_read(out, line, err) : HOP_OK;
}

static hop_status check_line(const hop_json *line, const hop_task *sizes, hop_instance *one, bool *right,
                             hop_error *err)
{
    hop_task t;
    hop_status s = sizes_of_line(line, sizes, &t, err);
    if (s == HOP_OK) s = hop_instance_read(one, line, err);
    if (s == HOP_OK && one->asked == 0)
        s = hop_fail(err, HOP_EFORMAT, "%s: missing", t.kind == HOP_TASK_FUNCCOMP ? "answer" : "targets");
    if (s == HOP_OK) s = hop_task_check(&t, one->tokens, one->count, err);
    if (s != HOP_OK) return s;
    int32_t *solved = malloc((size_t)t.length * sizeof *solved);
    if (!solved) return hop_fail(err, HOP_ENOMEM, "%lld tokens: out of memory", (long long)t.length);
    hop_task_solve(&t, one->tokens, solved);
    *right = memcmp(solved, one->targets, (size_t)t.length * sizeof *solved) == 0;
    free(solved);
    if (t.kind != HOP_TASK_FUNCCOMP) return HOP_OK;
    int64_t chain[HOP_MAX_HOPS + 1];
    hop_funccomp_solve(&t.funccomp, one->tokens, chain);
    return check_chain(line, chain, t.funccomp.hops, right, err);
}

static hop_status check_all(const task_args *a, const hop_task *sizes, hop_jsonl *in, tally *sum,
                            hop_error *err)
{
    hop_instance one = {0};
    hop_json_doc doc = {0};
    hop_status s;
    while ((s = hop_jsonl_next(in, &doc, err)) == HOP_OK && doc.root) {
        bool right = false;
        s = check_line(doc.root, sizes, &one, &right, err);
        hop_json_free(&doc);
        if (s != HOP_OK) {
            s = hop_jsonl_fail(in, s, err);
            break;
        }
        sum->checked++;
        sum->right += right;
        sum->wrong += !right;
        if (!right && !sum->first_wrong) sum->first_wrong = in->number;
        if (!hop_progress_tick(&a->common.progress, "checked", (double)sum->checked, 0)) {
            s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
            break;
        }
    }
    hop_instance_free(&one);
    return s;
}

static int report_checked(const task_args *a, const tally *sum)
{
    int printed;
    if (a->common.json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        hop_json_string(&w, "file", a->check.text);
        hop_json_integer(&w, "checked", sum->checked);
        hop_json_integer(&w, "right", sum->right);
        hop_json_integer(&w, "wrong", sum->wrong);
        hop_json_known(&w, "first_wrong", sum->first_wrong, sum->first_wrong > 0);
        hop_json_end_object(&w);
        printed = print_json(&a->common, &w);
    } else {
        hop_text out = {0};
        hop_text_printf(&out, "checked %lld: %lld right, %lld wrong", (long long)sum->checked,
                        (long long)sum->right, (long long)sum->wrong);
        if (sum->first_wrong) hop_text_printf(&out, ", the first in line %lld", (long long)sum->first_wrong);
        hop_text_add(&out, "\n");
        printed = print_text(&a->common, &out);
    }
    return printed != EXIT_DONE ? printed : sum->wrong ? EXIT_COUNTEREXAMPLE : EXIT_DONE;
}

static int check(const task_args *a, const hop_task *sizes)
{
    hop_error err = {0};
    hop_jsonl in;
    tally sum = {0};
    if (hop_jsonl_open(&in, a->check.text, &err) != HOP_OK) return fail_error(&a->common, &err);
    hop_status s = check_all(a, sizes, &in, &sum, &err);
    hop_jsonl_close(&in);
    return s == HOP_OK ? report_checked(a, &sum) : fail_error(&a->common, &err);
}

static int cmd_task(common_args *common)
{
    const task_args *a = (const task_args *)common;
    hop_task sizes;
    int code = sizes_from_options(common, &a->sizes, HOP_TASK_FUNCCOMP, NULL, &sizes);
    if (code != EXIT_DONE) return code;
    if (!a->check.text && sizes.length > MOST_TOKENS)
        return fail(common, EXIT_USAGE,
                    "sizes: a prompt of %lld tokens; instances of up to %d are written out",
                    (long long)sizes.length, MOST_TOKENS);
    return a->check.text ? check(a, &sizes) : sample(a, &sizes);
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_SIZE_GROUP(task_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound task --hops 2 --m 2 --fan 2",
     "One small instance, for people."},
    {"hopbound task --task khop --n 64 --alphabet 8 --hops 3",
     "Another task; each has sizes of its own."},
    {"hopbound task --count 1000 --format jsonl -o test.jsonl",
     "A thousand instances, one a line."},
    {"hopbound task --check answers.jsonl",
     "Says how many answers in the file are right."},
    {0},
};
const verb verb_task = {
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
    .args_size = sizeof(task_args),
    .run = cmd_task,
};
/* clang-format on */
