/* train: the recipe, from options or a file. */
#include "train.h"

#include <string.h>

/* clang-format off */
#define AT(member) offsetof(train_args, member)
const hop_opt hop__train_options[] = {
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
const hop_opt hop__recipe_options[] = {HOP_RECIPE_LIST(ROW) {0}};
/* clang-format on */

static const hop_opt_value *value_of(const train_args *a, const hop_opt *o)
{
    return (const hop_opt_value *)(const void *)((const char *)a + o->at);
}

/* The flags that were given, as the object that a file would hold. */
static void write_flags(hop_json_writer *w, const train_args *a)
{
    hop_json_begin_object(w);
    for (const hop_opt *o = hop__recipe_options; o->name; o++) {
        const hop_opt_value *v = value_of(a, o);
        if (!v->given) continue;
        switch (o->kind) {
        case HOP_OPT_INT: hop_json_integer(w, o->name, v->integer); break;
        case HOP_OPT_REAL: hop_json_number(w, o->name, v->real); break;
        case HOP_OPT_CHOICE: hop_json_string(w, o->name, o->choices[v->choice]); break;
        default: hop_json_string(w, o->name, v->text); break;
        }
    }
    if (a->ask.seed.given) hop_json_integer(w, "seed", a->ask.seed.integer);
    hop_json_end_object(w);
}

static hop_status read_flags(hop_recipe *r, const train_args *a, hop_error *err)
{
    hop_json_writer w = {0};
    hop_json_doc doc = {0};
    write_flags(&w, a);
    hop_status s = w.text.failed ? hop_fail(err, HOP_ENOMEM, "out of memory")
                                 : hop_json_parse(&doc, w.text.s, w.text.len, err);
    if (s == HOP_OK) s = hop_recipe_read(r, doc.root, err);
    hop_json_free(&doc);
    hop_text_free(&w.text);
    return s == HOP_OK ? HOP_OK : hop__asked(err, "--", "");
}

static hop_status read_config(hop_recipe *r, const train_args *a, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_read(&doc, a->config.text, err);
    if (s != HOP_OK) return s;
    s = hop_recipe_read(r, doc.root, err);
    hop_json_free(&doc);
    return s == HOP_OK ? HOP_OK : hop_fail_in(err, s, a->config.text);
}

/* What was given beside --resume, whose recipe stands in the checkpoint: its name; else NULL. */
static const char *beside_resume(const train_args *a)
{
    for (const hop_opt *o = hop__recipe_options; o->name; o++)
        if (value_of(a, o)->given) return o->name;
    return a->output.given              ? "output"
           : a->config.given            ? "config"
           : a->ask.seed.given          ? "seed"
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

static hop_status find(hop_recipe *r, const train_args *a, hop_error *err)
{
    hop_recipe_init(r);
    if (a->resume.given) {
        const char *more = beside_resume(a);
        if (!more) return hop_train_recipe(r, a->resume.text, err);
        return hop_fail(err, HOP_EUSAGE,
                        "--%s: not with --resume: directory and recipe are those of the checkpoint", more);
    }
    if (!a->output.given) return hop_fail(err, HOP_EUSAGE, "--output: missing");
    hop_status s = a->config.given ? read_config(r, a, err) : HOP_OK;
    const hop_task base = r->task;
    if (s == HOP_OK && loses_fan(a, &base))
        return hop_fail(err, HOP_EUSAGE, "--fan: missing: the one in %.200s is for %d hops", a->config.text,
                        base.funccomp.hops);
    if (s == HOP_OK) s = hop_sizes_read(&a->sizes, base.kind, &base, &r->task, err);
    return s == HOP_OK ? read_flags(r, a, err) : s;
}

/* The file that a reason, "key: why", comes from; NULL: a flag, which wins over it. */
static const char *said_in(const train_args *a, const hop_error *err)
{
    size_t n = strcspn(err->text, ":");
    bool flag = false;
    for (const hop_opt *o = hop__recipe_options; o->name; o++)
        if (strlen(o->name) == n && memcmp(o->name, err->text, n) == 0) flag = value_of(a, o)->given;
    return a->config.given && !flag ? a->config.text : NULL;
}

/* What the recipe cannot be is a wrong question, said before anything is written. */
hop_status hop__train_recipe(hop_recipe *r, hop_layout **l, const train_args *a, hop_error *err)
{
    hop_status s = find(r, a, err);
    if (s != HOP_OK) return s;
    s = hop_recipe_layout(r, l, err);
    const char *file = s == HOP_OK || !err ? NULL : said_in(a, err);
    if (file) hop_fail_in(err, s, file);
    return s == HOP_OK ? HOP_OK : hop__asked(err, "", "");
}
