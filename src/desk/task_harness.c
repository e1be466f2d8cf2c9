/* task --format lm-eval: a directory of tasks for EleutherAI's lm-evaluation-harness. A size of the task is a file of instances
 * and two tasks, in hard and in easy order; a task asks for the answer's tokens, and counts when they are the likeliest, so
 * that nobody generates a chain of thought. */
#include "task.h"

#include <hopbound/bounds.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

HOP_RECORD_TABLE(hop_task_harness_row, HOP_TASK_HARNESS_ROW, "a task of the harness")
HOP_RECORD_TABLE(hop_task_harness, HOP_TASK_HARNESS, "a directory of tasks for lm-evaluation-harness")

#define MOST_FILES 64
#define MOST_HOPS  26 /* tables are called A to Z */

/* The sizes when nobody says any: last tables of about 8, 32 and 128 entries at 1 to 4 hops. */
static const struct {
    int hops;
    int64_t m, fan[3];
} SIZES[] = {{1, 8, {0}},    {1, 32, {0}},      {1, 128, {0}},     {2, 4, {2}},
             {2, 8, {4}},    {2, 16, {8}},      {3, 2, {2, 2}},    {3, 8, {2, 2}},
             {3, 8, {4, 4}}, {4, 2, {2, 2, 2}}, {4, 4, {2, 2, 2}}, {4, 8, {2, 2, 4}}};
#define SIZE_COUNT (sizeof SIZES / sizeof *SIZES)

static const char *const ORDERS[] = {"hard", "easy"};

static const char RULES[] = "A table lists keys and values, as key=value. The keys of table A are numbers. "
                            "In every later table a key is a "
                            "branch and a number, joined by a comma. Begin with the start and find its value "
                            "in table A. In table B find the "
                            "key that is the branch of B and that value, and so on, until the last table. "
                            "The value found there is the "
                            "answer.";

static const char LOADER[] = "\"\"\"Reads the instances beside this file.\"\"\"\n"
                             "import pathlib\n"
                             "\n"
                             "import datasets\n"
                             "\n"
                             "\n"
                             "def load(instances, **_):\n"
                             "    path = pathlib.Path(__file__).parent / instances\n"
                             "    return {\"test\": datasets.Dataset.from_json(str(path))}\n";

typedef struct harness {
    const hop_request *ask;
    const char *dir;
    int64_t count;
    hop_output files[MOST_FILES];
    int open;
    int64_t vocab; /* the largest so far */
    hop_text readme;
    hop_keep *keep;
    hop_task_harness_row *rows;
    int64_t row_count;
} harness;

/* Opens DIR/name, whose lines are then written to the answer. NULL: it cannot be. */
static hop_output *open_file(harness *h, const char *name, hop_error *err)
{
    char path[4096];
    if (h->open == MOST_FILES || hop_path_join(path, sizeof path, h->dir, name, err) != HOP_OK) return NULL;
    hop_output *o = &h->files[h->open];
    if (hop_output_open(o, path, err) != HOP_OK) return NULL;
    h->open++;
    return o;
}

static hop_status write_file(harness *h, const char *name, const hop_text *t, hop_error *err)
{
    hop_output *o = t->failed ? NULL : open_file(h, name, err);
    if (t->failed) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", name);
    if (!o) return err->status;
    hop_output_write(o, t->s, t->len);
    return HOP_OK;
}

/* ---- a size -------------------------------------------------------------------------------- */

static void add_prompt(hop_json_writer *w, const char *key, const hop_task *t, const int32_t *tokens,
                       bool easy)
{
    hop_text prompt = {0};
    hop__task_prompt(&prompt, &t->funccomp, tokens, easy);
    hop_json_string(w, key, hop_text_in(&w->text, &prompt));
    hop_text_free(&prompt);
}

static hop_status write_instances(harness *h, const hop_task *t, const char *name, hop_error *err)
{
    hop_output *o = open_file(h, name, err);
    hop_json_writer w = {0};
    hop_instance one = {0};
    hop_status s = o ? HOP_OK : err->status;
    for (int64_t i = 0; s == HOP_OK && i < h->count; i++) {
        s = hop_instance_sample(&one, t, (uint64_t)h->ask->seed.integer, (uint64_t)i, err);
        if (s != HOP_OK) break;
        w.comma = false; /* lines are documents of their own */
        hop_json_begin_object(&w);
        for (int k = 0; k < 2; k++) add_prompt(&w, ORDERS[k], t, one.tokens, k);
        hop_instance_write_members(&one, t, &w);
        hop_json_end_object(&w);
        hop_text_add(&w.text, "\n");
        if (w.text.failed) s = hop_fail(err, HOP_ENOMEM, "%s: out of memory", name);
        if (s == HOP_OK) hop_output_write(o, w.text.s, w.text.len);
        w.text.len = 0;
        if (!hop_progress_tick(&h->ask->progress, "instances", (double)i + 1, (double)h->count))
            s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
    }
    hop_instance_free(&one);
    hop_text_free(&w.text);
    return s;
}

static void describe(hop_text *y, const hop_task *t, const char *task, const char *order, const char *file)
{
    hop_text sizes = {0};
    hop_sizes_say(&sizes, t);
    hop_text_printf(y,
                    "# %s, %s order: %lld tokens where a number is one\n"
                    "task: %s\n"
                    "tag: hopbound\n"
                    "custom_dataset: !function load.load\n"
                    "dataset_kwargs:\n"
                    "  instances: %s\n"
                    "test_split: test\n"
                    "output_type: loglikelihood\n"
                    "description: \"%s\\n\\n\"\n"
                    "doc_to_text: \"{{%s}}\"\n"
                    "doc_to_target: \" {{answer}}\"\n"
                    "target_delimiter: \"\"\n"
                    "num_fewshot: 0\n"
                    "metric_list:\n"
                    "  - metric: acc\n"
                    "    aggregation: mean\n"
                    "    higher_is_better: true\n"
                    "metadata:\n"
                    "  version: 1\n",
                    hop_text_in(y, &sizes), order, (long long)t->length, task, file, RULES, order);
    hop_text_free(&sizes);
}

/* A line of README.md: what guessing gets, and what P3 leaves to recurrent layers alone with so many bits. */
static hop_status tell(harness *h, const hop_task *t, const char *task, hop_error *err)
{
    static const double parts[] = {0.1, 0.25, 0.5};
    const double whole = (double)t->vocab * log2((double)t->vocab);
    hop_text sizes = {0};
    hop_sizes_say(&sizes, t);
    hop_text_printf(&h->readme, "| `%s_hard`, `_easy` | %s | %lld | %.4f | %.0f |", task,
                    hop_text_in(&h->readme, &sizes), (long long)t->length, 1 / (double)t->vocab, ceil(whole));
    hop_text_free(&sizes);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double most;
        char text[32];
        hop_status s = hop_accuracy_ceiling(&most, t->vocab, floor(parts[i] * whole), err);
        if (s != HOP_OK) return s;
        hop_accuracy_print(text, most);
        hop_text_printf(&h->readme, " %s |", text);
    }
    hop_text_add(&h->readme, "\n");
    return HOP_OK;
}

/* An instance file, a task for each order. */
static hop_status write_size(harness *h, const hop_task *t, hop_error *err)
{
    const hop_funccomp *f = &t->funccomp;
    char base[64], task[80], file[96];
    snprintf(base, sizeof base, "hopbound_%dhop_n%lld", f->hops, (long long)f->length);
    snprintf(file, sizeof file, "%s.jsonl", base);
    if (f->vocab > h->vocab) h->vocab = f->vocab;
    hop_status s = write_instances(h, t, file, err);
    for (int k = 0; k < 2 && s == HOP_OK; k++) {
        hop_text y = {0};
        snprintf(task, sizeof task, "%s_%s", base, ORDERS[k]);
        describe(&y, t, task, ORDERS[k], file);
        snprintf(file, sizeof file, "%s.yaml", task);
        s = write_file(h, file, &y, err);
        snprintf(file, sizeof file, "%s.jsonl", base);
        hop_text_free(&y);
        h->rows[h->row_count++] = (hop_task_harness_row){.task = hop_keep_text(h->keep, task),
                                                         .order = ORDERS[k],
                                                         .hops = f->hops,
                                                         .n = f->length,
                                                         .instances = h->count,
                                                         .chance = 1 / (double)f->vocab};
    }
    return s == HOP_OK ? tell(h, t, base, err) : s;
}

/* ---- the directory ------------------------------------------------------------------------- */

static void begin_readme(harness *h)
{
    hop_text_printf(
        &h->readme,
        "# Hops in one forward pass\n\n"
        "Function composition for lm-evaluation-harness: `lm_eval --model hf --model_args pretrained=MODEL "
        "--include_path THIS_DIRECTORY --tasks hopbound`. %s\n\n"
        "In hard order the last table comes first and start and branches last: no table can be composed with "
        "the next while "
        "it is read. In easy order start and branches come first, then the tables in the order in which they "
        "are "
        "asked, so that one number carried on suffices. An answer counts (acc) when its tokens are the "
        "likeliest ones "
        "at once: nothing is generated, there is no chain of thought.\n\n"
        "Chance is one in as many values as the last table has. Bits: what layers whose states cross a cut, "
        "with no full "
        "attention among them, must keep of the last table to be always right in hard order (N log2 N, P2); "
        "with a "
        "tenth, a quarter, half of these bits no weights get more than the accuracy beside (P3), over all "
        "tables.\n\n"
        "A network with one token a number reads these prompts with the tokenizer in `tokenizer/`, which "
        "drops all "
        "but an instance's own tokens: `--model_args "
        "pretrained=MODEL,tokenizer=THIS_DIRECTORY/tokenizer`.\n\n"
        "| tasks | sizes | tokens | chance | bits | with 0.1 | with 0.25 | with 0.5 |\n"
        "|---|---|---|---|---|---|---|---|\n",
        RULES);
}

/* A tokenizer file: every number a token of its own, and one for the end, which no prompt has. */
static hop_status write_tokenizer(harness *h, hop_error *err)
{
    static const char *const dropped[][2] = {{"\\\\([^)]*\\\\)", " "}, {"[0-9,]+=", " "}, {"[^0-9]+", " "}};
    hop_text t = {0};
    hop_text_add(&t, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [");
    hop_text_printf(&t,
                    "{\"id\": %lld, \"content\": \"<end>\", \"single_word\": false, \"lstrip\": false, "
                    "\"rstrip\": false, \"normalized\": false, \"special\": true}],\n",
                    (long long)h->vocab);
    hop_text_add(&t, "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [");
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        hop_text_printf(&t,
                        "%s{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"%s\"}, \"content\": \"%s\"}",
                        i ? ", " : "", dropped[i][0], dropped[i][1]);
    hop_text_add(&t, "]},\n\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"post_processor\": null, "
                     "\"decoder\": null,\n\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"<end>\", "
                     "\"vocab\": {");
    for (int64_t i = 0; i < h->vocab; i++)
        hop_text_printf(&t, "\"%lld\": %lld, ", (long long)i, (long long)i);
    hop_text_printf(&t, "\"<end>\": %lld}}}\n", (long long)h->vocab);
    hop_status s = write_file(h, "tokenizer/tokenizer.json", &t, err);
    hop_text_free(&t);
    if (s != HOP_OK) return s;
    hop_text_add(
        &t, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"eos_token\": \"<end>\", "
            "\"pad_token\": \"<end>\", \"unk_token\": \"<end>\", \"clean_up_tokenization_spaces\": false}\n");
    s = write_file(h, "tokenizer/tokenizer_config.json", &t, err);
    hop_text_free(&t);
    return s;
}

static hop_status write_sizes(harness *h, const hop_task *only, hop_error *err)
{
    if (only) return write_size(h, only, err);
    hop_status s = HOP_OK;
    for (size_t i = 0; i < SIZE_COUNT && s == HOP_OK; i++) {
        hop_task t = {.kind = HOP_TASK_FUNCCOMP};
        s = hop_funccomp_init(&t.funccomp, SIZES[i].hops, SIZES[i].m, SIZES[i].fan, err);
        if (s == HOP_OK) s = hop_task_ready(&t, err);
        if (s == HOP_OK) s = write_size(h, &t, err);
    }
    return s;
}

static hop_status write_rest(harness *h, hop_error *err)
{
    hop_text loader = {0};
    hop_text_add(&loader, LOADER);
    hop_status s = write_tokenizer(h, err);
    if (s == HOP_OK) s = write_file(h, "load.py", &loader, err);
    if (s == HOP_OK) s = write_file(h, "README.md", &h->readme, err);
    hop_text_free(&loader);
    return s;
}

static hop_status make_directories(const char *dir, hop_error *err)
{
    char inner[4096];
    hop_status s = hop_path_join(inner, sizeof inner, dir, "tokenizer", err);
    return s == HOP_OK ? hop_make_dir(inner, err) : s;
}

hop_status hop__task_harness(hop_response *out, const hop_request *q, const char *dir, const hop_task *only,
                             int64_t count, hop_error *err)
{
    if (only && only->kind != HOP_TASK_FUNCCOMP)
        return hop_fail(err, HOP_EUSAGE, "--format lm-eval: %s is not written in words; funccomp is",
                        hop_task_name(only->kind));
    if (only && only->funccomp.hops > MOST_HOPS)
        return hop_fail(err, HOP_EUSAGE, "--format lm-eval: at most %d hops", MOST_HOPS);
    hop_task_harness *said = hop_response_begin(out, &hop_task_harness_record, err);
    hop_task_harness_row *rows = hop_keep_bytes(&out->memory, 2 * SIZE_COUNT, sizeof *rows);
    if (!said || !rows) return hop_fail(err, HOP_ENOMEM, "out of memory");
    harness h = {.ask = q, .dir = dir, .count = count, .keep = &out->memory, .rows = rows};
    hop_status s = make_directories(dir, err);
    if (s == HOP_OK) begin_readme(&h);
    if (s == HOP_OK) s = write_sizes(&h, only, err);
    if (s == HOP_OK) s = write_rest(&h, err);
    if (s == HOP_OK) {
        s = hop_output_commit_all(h.files, h.open, err);
    } else {
        for (int i = 0; i < h.open; i++) hop_output_abort(&h.files[i]);
    }
    hop_text_free(&h.readme);
    if (s != HOP_OK) return s;
    *said = (hop_task_harness){.dir = hop_keep_text(&out->memory, dir), .tasks = {rows, h.row_count}};
    return hop_response_end(out, err);
}
