/* The task and its sizes, from options, from a network, and in words. An option gives the size of its name. */
#include <string.h>
#include "desk.h"

#define TASK_COUNT 4

static const char *const TASK_NAMES[TASK_COUNT + 1] = {
#define TASK_NAME(id, text) text,
    HOP_TASK_LIST(TASK_NAME)
#undef TASK_NAME
        NULL};

#define DEFAULT_HOPS 2
#define DEFAULT_M    8
#define DEFAULT_FAN  4

/* clang-format off */
#define AT(member) offsetof(hop_size_args, member)
const hop_opt hop_size_options[] = {
    {"task", 0, HOP_OPT_CHOICE, AT(task), "NAME", .choices = TASK_NAMES, .initial_help = "funccomp",
     .help = "the task"},
    {"hops", 0, HOP_OPT_INT, AT(hops), "L", NULL, 1, HOP_MAX_HOPS, .initial_help = "2",
     .help = "funccomp: functions to compose; khop: steps to take"},
    {"m", 0, HOP_OPT_INT, AT(m), "M", NULL, 2, (int64_t)1 << 31, .initial_help = "8",
     .help = "funccomp: entries of the first function"},
    {"fan", 0, HOP_OPT_LIST, AT(fan), "N1,..", NULL, 2, (int64_t)1 << 31, .initial_help = "4 each",
     .help = "funccomp: how many times larger each next function is: L-1 numbers, or one that is repeated"},
    {"n", 0, HOP_OPT_INT, AT(n), "N", NULL, 1, (int64_t)1 << 31, .initial_help = "16; khop 32",
     .help = "two-sum, khop: tokens"},
    {"mod", 0, HOP_OPT_INT, AT(mod), "M", NULL, 2, (int64_t)1 << 31, .initial_help = "16",
     .help = "two-sum: what sums are taken modulo"},
    {"pairs", 0, HOP_OPT_INT, AT(pairs), "N", NULL, 1, (int64_t)1 << 30, .initial_help = "8",
     .help = "recall: pairs of a key and a value"},
    {"queries", 0, HOP_OPT_INT, AT(queries), "N", NULL, 1, (int64_t)1 << 31, .initial_help = "8",
     .help = "recall: keys that are asked for"},
    {"keys", 0, HOP_OPT_INT, AT(keys), "N", NULL, 1, (int64_t)1 << 31, .initial_help = "16, or as many as pairs",
     .help = "recall: different keys"},
    {"values", 0, HOP_OPT_INT, AT(values), "N", NULL, 1, (int64_t)1 << 31, .initial_help = "16",
     .help = "recall: different values"},
    {"alphabet", 0, HOP_OPT_INT, AT(alphabet), "N", NULL, 2, ((int64_t)1 << 31) - 1, .initial_help = "4",
     .help = "khop: different tokens"},
    {0},
};
/* clang-format on */

static const hop_opt_value *value_of(const hop_size_args *s, const hop_opt *o)
{
    return (const hop_opt_value *)(const void *)((const char *)s + o->at);
}

static const hop_opt *option_called(const char *name)
{
    const hop_opt *o = hop_size_options;
    while (strcmp(o->name, name) != 0) o++;
    return o;
}

bool hop_sizes_given(const hop_size_args *s)
{
    bool any = false;
    for (const hop_opt *o = hop_size_options; o->name; o++) any = any || value_of(s, o)->given;
    return any;
}

static bool has_size(hop_task_kind kind, const char *name)
{
    static const hop_task_size funccomp[] = {{.name = "hops"}, {.name = "m"}, {.name = "fan"}, {0}};
    const hop_task_size *z = kind == HOP_TASK_FUNCCOMP ? funccomp : hop_task_sizes(kind);
    while (z->name && strcmp(z->name, name) != 0) z++;
    return z->name != NULL;
}

/* An option that was given and that the task does not have: its name; else NULL. */
static const char *foreign_option(const hop_size_args *s, hop_task_kind kind)
{
    for (const hop_opt *o = hop_size_options + 1; o->name; o++) /* the first is the task itself */
        if (value_of(s, o)->given && !has_size(kind, o->name)) return o->name;
    return NULL;
}

static hop_status read_funccomp(const hop_size_args *s, const hop_funccomp *base, hop_funccomp *out,
                                hop_error *err)
{
    int64_t fan[HOP_MAX_HOPS], m = s->m.given ? s->m.integer : base ? base->m : DEFAULT_M;
    int hops = s->hops.given ? (int)s->hops.integer : base ? base->hops : DEFAULT_HOPS;
    bool repeat = s->fan.given && s->fan.count == 1;
    if (s->fan.given && !repeat && s->fan.count != hops - 1)
        return hop_fail(err, HOP_EUSAGE, "--fan: %d numbers where %d hops need %d", s->fan.count, hops,
                        hops - 1);
    for (int l = 0; l < hops - 1; l++)
        fan[l] = s->fan.given                 ? s->fan.list[repeat ? 0 : l]
                 : base && base->hops == hops ? base->fan[l + 1]
                                              : DEFAULT_FAN;
    return hop_funccomp_init(out, hops, m, fan, err) == HOP_OK ? HOP_OK : hop__asked(err, "sizes: ", "");
}

static void numbers_from_options(const hop_size_args *s, const hop_task *base, hop_task *out)
{
    for (const hop_task_size *z = hop_task_sizes(out->kind); z->name; z++) {
        const hop_opt_value *v = value_of(s, option_called(z->name));
        int64_t other = base ? hop_task_size_get(base, z) : z->initial;
        hop_task_size_set(out, z, v->given ? v->integer : other);
    }
    if (out->kind == HOP_TASK_RECALL && !s->keys.given && out->recall.keys < out->recall.pairs)
        out->recall.keys = out->recall.pairs;
}

hop_status hop_sizes_read(const hop_size_args *s, hop_task_kind kind, const hop_task *base, hop_task *out,
                          hop_error *err)
{
    *out = (hop_task){.kind = s->task.given ? (hop_task_kind)s->task.choice : base ? base->kind : kind};
    if (base && base->kind != out->kind) base = NULL; /* another task has other sizes */
    const char *foreign = foreign_option(s, out->kind);
    if (foreign)
        return hop_fail(err, HOP_EUSAGE, "--%s: the task %s has no such size", foreign,
                        hop_task_name(out->kind));
    if (out->kind == HOP_TASK_FUNCCOMP) {
        hop_status got = read_funccomp(s, base ? &base->funccomp : NULL, &out->funccomp, err);
        if (got != HOP_OK) return got;
    } else {
        numbers_from_options(s, base, out);
    }
    return hop_task_ready(out, err) == HOP_OK ? HOP_OK : hop__asked(err, "sizes: ", "");
}

hop_status hop_sizes_of_network(const hop_size_args *s, const hop_model *m, const char *dir, hop_task *out,
                                bool *known, hop_error *err)
{
    const char *text = hop_model_config(m)->task_json;
    hop_json_doc doc = {0};
    hop_task own;
    *known = true;
    if (!text || !*text) {
        *known = hop_sizes_given(s);
        return *known ? hop_sizes_read(s, HOP_TASK_FUNCCOMP, NULL, out, err) : HOP_OK;
    }
    hop_status got = hop_json_parse(&doc, text, strlen(text), err);
    if (got == HOP_OK) got = hop_task_read(&own, doc.root, err);
    hop_json_free(&doc);
    if (got == HOP_OK) return hop_sizes_read(s, own.kind, &own, out, err);
    hop_fail_in(err, got, "its task");
    return hop_fail_in(err, got, dir);
}

void hop_sizes_say(hop_text *out, const hop_task *t)
{
    if (t->kind == HOP_TASK_FUNCCOMP) {
        hop_text_printf(out, "hops %d, m %lld", t->funccomp.hops, (long long)t->funccomp.m);
        for (int l = 1; l < t->funccomp.hops; l++)
            hop_text_printf(out, "%s%lld", l > 1 ? "," : ", fan ", (long long)t->funccomp.fan[l]);
        return;
    }
    hop_text_add(out, hop_task_name(t->kind));
    for (const hop_task_size *z = hop_task_sizes(t->kind); z->name; z++)
        hop_text_printf(out, ", %s %lld", z->name, (long long)hop_task_size_get(t, z));
}
