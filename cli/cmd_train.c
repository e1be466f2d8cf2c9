/* hopbound train: gradient descent on a task, from flags or a file, with checkpoints. */
#include "cli.h"
#include "outside.h"
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct train_args {
    common_args common;
    hop_size_args sizes;
    hop_opt_value output, resume, config;
#define MEMBER(kind, member, name, metavar, initial, least, most, help) hop_opt_value member;
    struct {
        HOP_RECIPE_LIST(MEMBER)
    } recipe;
#undef MEMBER
} train_args;

/* clang-format off */
#define AT(member) offsetof(train_args, member)
static const hop_opt OPTIONS[] = {
    {"output", 'o', HOP_OPT_TEXT, AT(output), "DIR", .use = HOP_OPT_WRITES,
     .help = "directory to write: the network, the checkpoint, the log"},
    {"resume", 0, HOP_OPT_TEXT, AT(resume), "DIR",
     .help = "continue the training that DIR holds, with its own recipe, to the same bits"},
    {"config", 0, HOP_OPT_TEXT, AT(config), "FILE", .use = HOP_OPT_READS,
     .help = "a recipe as a JSON object: the names below with _ for -, \"task\", \"seed\"; flags win over it"},
    {0},
};

#define WORD_TEXT(id, text) text,
static const char *const WORDS_norm[] = {HOP_NORM_LIST(WORD_TEXT) NULL};
static const char *const WORDS_mlp[] = {HOP_MLP_LIST(WORD_TEXT) NULL};
static const char *const WORDS_supervise[] = {HOP_SUPERVISE_LIST(WORD_TEXT) NULL};
static const char *const WORDS_curriculum[] = {HOP_CURRICULUM_LIST(WORD_TEXT) NULL};

#define ROW_INT(member, least, most) .kind = HOP_OPT_INT, .min = least, .max = most
#define ROW_REAL(member, least, most) .kind = HOP_OPT_REAL
#define ROW_TEXT(member, least, most) .kind = HOP_OPT_TEXT
#define ROW_WORD(member, least, most) .kind = HOP_OPT_CHOICE, .choices = WORDS_##member
#define ROW(k, member, n, m, start, least, most, text) \
    {.name = n, ROW_##k(member, least, most), .at = AT(recipe.member), .metavar = m, .initial = start, .help = text},
static const hop_opt RECIPE_OPTIONS[] = {HOP_RECIPE_LIST(ROW) {0}};
/* clang-format on */

static const hop_opt_value *value_of(const train_args *a, const hop_opt *o)
{
    return (const hop_opt_value *)(const void *)((const char *)a + o->at);
}

/* ---- the recipe ------------------------------------------------------------------------------- */

/* The flags that were given, as the object that a file would hold. */
static void write_flags(hop_json_writer *w, const train_args *a)
{
    hop_json_begin_object(w);
    for (const hop_opt *o = RECIPE_OPTIONS; o->name; o++) {
        const hop_opt_value *v = value_of(a, o);
        if (!v->given) continue;
        switch (o->kind) {
        case HOP_OPT_INT: hop_json_integer(w, o->name, v->integer); break;
        case HOP_OPT_REAL: hop_json_number(w, o->name, v->real); break;
        case HOP_OPT_CHOICE: hop_json_string(w, o->name, o->choices[v->choice]); break;
        default: hop_json_string(w, o->name, v->text); break;
        }
    }
    if (a->common.seed.given) hop_json_integer(w, "seed", a->common.seed.integer);
    hop_json_end_object(w);
}

static int read_flags(hop_recipe *r, const train_args *a)
{
    hop_json_writer w = {0};
    hop_json_doc doc = {0};
    hop_error err = {0};
    write_flags(&w, a);
    hop_status s = w.text.failed ? hop_fail(&err, HOP_ENOMEM, "out of memory")
                                 : hop_json_parse(&doc, w.text.s, w.text.len, &err);
    if (s == HOP_OK) s = hop_recipe_read(r, doc.root, &err);
    hop_json_free(&doc);
    hop_text_free(&w.text);
    return s == HOP_OK ? EXIT_DONE : fail_given(&a->common, s == HOP_ENOMEM ? "" : "--", &err, "");
}

static int read_config(hop_recipe *r, const train_args *a)
{
    hop_json_doc doc = {0};
    hop_error err = {0};
    hop_status s = hop_json_read(&doc, a->config.text, &err);
    if (s != HOP_OK) return fail_error(&a->common, &err);
    s = hop_recipe_read(r, doc.root, &err);
    hop_json_free(&doc);
    if (s == HOP_OK) return EXIT_DONE;
    hop_fail_in(&err, s, a->config.text);
    return fail_error(&a->common, &err);
}

/* What was given beside --resume, whose recipe stands in the checkpoint: its name; else NULL. */
static const char *beside_resume(const train_args *a)
{
    for (const hop_opt *o = RECIPE_OPTIONS; o->name; o++)
        if (value_of(a, o)->given) return o->name;
    return a->output.given              ? "output"
           : a->config.given            ? "config"
           : a->common.seed.given       ? "seed"
           : hop_sizes_given(&a->sizes) ? "task"
                                        : NULL;
}

/* Whether a file's own fan would be lost to another number of hops. */
static bool loses_fan(const train_args *a, const hop_task *from_file)
{
    hop_recipe plain;
    hop_recipe_init(&plain);
    const hop_funccomp *f = &from_file->funccomp, *p = &plain.task.funccomp;
    bool own =
        from_file->kind == HOP_TASK_FUNCCOMP && f->hops > 1 && (f->hops != p->hops || f->fan[1] != p->fan[1]);
    return a->config.given && own && a->sizes.hops.given && a->sizes.hops.integer != f->hops &&
           a->sizes.hops.integer > 1 && !a->sizes.fan.given;
}

static int find_recipe(hop_recipe *r, const train_args *a)
{
    const common_args *c = &a->common;
    hop_error err = {0};
    hop_recipe_init(r);
    if (a->resume.given) {
        const char *more = beside_resume(a);
        if (more)
            return fail(c, EXIT_USAGE,
                        "--%s: not with --resume: directory and recipe are those of the checkpoint", more);
        return hop_train_recipe(r, a->resume.text, &err) == HOP_OK ? EXIT_DONE : fail_error(c, &err);
    }
    if (!a->output.given) return fail(c, EXIT_USAGE, "--output: missing");
    int code = a->config.given ? read_config(r, a) : EXIT_DONE;
    hop_task base = r->task;
    if (code == EXIT_DONE && loses_fan(a, &base))
        return fail(c, EXIT_USAGE, "--fan: missing: the one in %.200s is for %d hops", a->config.text,
                    base.funccomp.hops);
    if (code == EXIT_DONE) code = sizes_from_options(c, &a->sizes, base.kind, &base, &r->task);
    return code == EXIT_DONE ? read_flags(r, a) : code;
}

/* ---- the verb ---------------------------------------------------------------------------------- */

/* Whether every rank comes to this end by itself: a loss that is not finite is everybody's, a full disk rank
 * 0's. */
static bool ends_together(hop_status s)
{
    return s == HOP_OK || s == HOP_ERANGE || s == HOP_ESTOPPED;
}

static int train(const train_args *a, trained *t, hop_transport *ranks, hop_status *s)
{
    const common_args *c = &a->common;
    hop_pool *pool;
    hop_error err = {0};
    int code = pool_open(c, &pool);
    *s = code == EXIT_DONE ? HOP_OK : HOP_ENOMEM;
    if (code != EXIT_DONE) return code;
    const hop_train_options o = {.pool = pool,
                                 .progress = &c->progress,
                                 .dir = t->dir,
                                 .resume = a->resume.given,
                                 .measured = train_say_measure,
                                 .ctx = t,
                                 .ranks = ranks};
    *s = hop_train_run(t->recipe, &o, &t->last, &err);
    hop_pool_free(pool);
    if (*s != HOP_OK && ranks->rank > 0 && ends_together(*s)) return EXIT_FAILED; /* rank 0 says why */
    if (*s == HOP_ESTOPPED)
        return fail(c, EXIT_FAILED, "stopped: by a signal; `hopbound train --resume %.200s` continues",
                    t->dir);
    if (*s != HOP_OK) return fail_error(c, &err);
    return ranks->rank == 0 ? train_report(t) : EXIT_DONE;
}

/* The file that a reason, "key: why", comes from; NULL: a flag, which wins over it. */
static const char *said_in(const train_args *a, const hop_error *err)
{
    size_t n = strcspn(err->text, ":");
    bool flag = false;
    for (const hop_opt *o = RECIPE_OPTIONS; o->name; o++)
        if (strlen(o->name) == n && memcmp(o->name, err->text, n) == 0) flag = value_of(a, o)->given;
    return a->config.given && !flag ? a->config.text : NULL;
}

/* What the recipe cannot be is wrong usage, said before anything is written. */
static int prepare(const train_args *a, hop_recipe *r, trained *t)
{
    const common_args *c = &a->common;
    int code = find_recipe(r, a);
    if (code != EXIT_DONE) return code;
    hop_layout *l = NULL;
    hop_error err = {0};
    hop_status s = hop_recipe_layout(t->recipe, &l, &err);
    const char *file = s == HOP_OK ? NULL : said_in(a, &err);
    if (file) hop_fail_in(&err, s, file);
    if (s != HOP_OK) return fail_given(c, "", &err, "");
    for (int64_t i = 0; i < hop_layout_count(l); i++) t->parameters += hop_slot_floats(hop_layout_at(l, i));
    t->ceiling = hop_train_ceiling(hop_layout_config(l), &t->recipe->task);
    hop_layout_free(l);
    return EXIT_DONE;
}

static int cmd_train(common_args *common)
{
    const train_args *a = (const train_args *)common;
    hop_recipe r;
    trained t = {.common = common, .recipe = &r, .dir = a->resume.given ? a->resume.text : a->output.text};
    hop_transport *ranks;
    hop_error err = {0};
    hop_status s = HOP_OK;
    if (ranks_open(&ranks, &err) != HOP_OK) return fail_error(common, &err);
    if (ranks->rank > 0) terminal_mute();
    t.silent = ranks->rank > 0 || common->quiet.flag || common->json.flag;
    int64_t said =
        ranks->rank == 0 ? prepare(a, &r, &t) : EXIT_DONE; /* what is wrong everywhere is said once */
    if (ranks->broadcast(ranks, &said, &err) != HOP_OK) return fail_error(common, &err);
    int code = (int)said;
    if (code == EXIT_DONE && ranks->rank > 0) code = prepare(a, &r, &t);
    if (code == EXIT_DONE) code = train(a, &t, ranks, &s);
    hop_transport_close(ranks, s == HOP_ESTOPPED ? HOP_TRANSPORT_LEAVE : ends_together(s) ? 0 : code);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_SIZE_GROUP(train_args, sizes),
    {.title = "The recipe", .opts = RECIPE_OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound train -o net",
     "Three full-attention layers learn two hops at m 8, fan 4, taught every hop."},
    {"hopbound train --pattern 'F F' --hops 1 --m 16 --steps 2000 -o net",
     "Two learn one hop."},
    {"hopbound train --pattern 'L F F' --mixer gdn --seed 3 -o net",
     "One linear layer and two full ones learn two hops."},
    {"hopbound train --resume net",
     "After a signal, a power cut or kill -9: goes on to the same bits."},
    {"mpirun -n 4 hopbound train --groups 16 --batch 256 -o net",
     "Four processes share a batch."},
    {"hopbound train --config recipe.json --lr 3e-4 -o net",
     "A recipe from a file, with another learning rate."},
    {0},
};
const verb verb_train = {
    .name = "train",
    .summary = "trains a pattern on a task, on fresh samples, with checkpoints",
    .description =
        "AdamW with a warm-up and a cosine, on a batch of new instances each step: instance s * batch + i of the seed "
        "is sample i of step s, so there is no data set. The loss is the answer's cross entropy; with --supervise "
        "chain also that of heads that read the hops before it, i_l after the layer that should know it, at the last "
        "token. Such heads are the training's, not the network's.\n\n"
        "Accuracy is that on held-out instances, with Wilson's interval of 95 %; chance is that of whoever has not "
        "read the input. For networks of linear layers only, P3's ceiling stands beside it, and an accuracy above it, "
        "by five standard deviations, is exit 1: that would be a bug.\n\n"
        "The directory is a network's, which `run`, `play`, `prove` take, with checkpoint.safetensors and log.jsonl "
        "beside it, and one process at a time trains there. A checkpoint is written at intervals and on SIGINT and SIGTERM "
        "(a second one ends it at once); --resume continues to the bits of a "
        "training that was never stopped. kill -9 loses at most one interval. No bit depends on --threads.\n\n"
        "Under mpirun the ranks share each batch, to the bits of one process, and rank 0 alone writes; --threads is each "
        "rank's.\n\n"
        "Loss, gradient, weight or answer that is not finite ends the training with the step and where it was met; the "
        "checkpoint before stands.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(train_args),
    .run = cmd_train,
};
/* clang-format on */
