/* The task and its sizes, from options, from a network, and in words. Every size is a line in a table: which
 * option gives it, to which task it belongs, what it is when nobody says. */
#include "cli.h"

#include <string.h>

#define TASK_COUNT 4

static const char *const TASK_NAMES[TASK_COUNT + 1] = {
#define TASK_NAME(id, text) text,
    HOP_TASK_LIST(TASK_NAME)
#undef TASK_NAME
        NULL};

#define DEFAULT_HOPS 2
#define DEFAULT_M    8
#define DEFAULT_FAN  4

const opt SIZE_OPTIONS[] = {
    {.name = "task",
     .kind = OPT_CHOICE,
     .at = offsetof(size_args, task),
     .initial_help = "funccomp",
     .choices = TASK_NAMES,
     .metavar = "NAME",
     .help = "the task"},
    {.name = "hops",
     .kind = OPT_INT,
     .at = offsetof(size_args, hops),
     .initial_help = "2",
     .min = 1,
     .max = HOP_MAX_HOPS,
     .metavar = "L",
     .help = "funccomp: functions to compose; khop: steps to take"},
    {.name = "m",
     .kind = OPT_INT,
     .at = offsetof(size_args, m),
     .initial_help = "8",
     .min = 2,
     .max = (int64_t)1 << 31,
     .metavar = "M",
     .help = "funccomp: entries of the first function"},
    {.name = "fan",
     .kind = OPT_LIST,
     .at = offsetof(size_args, fan),
     .initial_help = "4 each",
     .min = 2,
     .max = (int64_t)1 << 31,
     .metavar = "N1,..",
     .help = "funccomp: how many times larger each next function is: L-1 numbers, "
             "or one that is repeated"},
    {.name = "n",
     .kind = OPT_INT,
     .at = offsetof(size_args, n),
     .initial_help = "16; khop 32",
     .min = 1,
     .max = (int64_t)1 << 31,
     .metavar = "N",
     .help = "two-sum, khop: tokens"},
    {.name = "mod",
     .kind = OPT_INT,
     .at = offsetof(size_args, mod),
     .initial_help = "16",
     .min = 2,
     .max = (int64_t)1 << 31,
     .metavar = "M",
     .help = "two-sum: what sums are taken modulo"},
    {.name = "pairs",
     .kind = OPT_INT,
     .at = offsetof(size_args, pairs),
     .initial_help = "8",
     .min = 1,
     .max = (int64_t)1 << 30,
     .metavar = "N",
     .help = "recall: pairs of a key and a value"},
    {.name = "queries",
     .kind = OPT_INT,
     .at = offsetof(size_args, queries),
     .initial_help = "8",
     .min = 1,
     .max = (int64_t)1 << 31,
     .metavar = "N",
     .help = "recall: keys that are asked for"},
    {.name = "keys",
     .kind = OPT_INT,
     .at = offsetof(size_args, keys),
     .initial_help = "16, or as many as pairs",
     .min = 1,
     .max = (int64_t)1 << 31,
     .metavar = "N",
     .help = "recall: different keys"},
    {.name = "values",
     .kind = OPT_INT,
     .at = offsetof(size_args, values),
     .initial_help = "16",
     .min = 1,
     .max = (int64_t)1 << 31,
     .metavar = "N",
     .help = "recall: different values"},
    {.name = "alphabet",
     .kind = OPT_INT,
     .at = offsetof(size_args, alphabet),
     .initial_help = "4",
     .min = 2,
     .max = ((int64_t)1 << 31) - 1,
     .metavar = "N",
     .help = "khop: different tokens"},
    {.name = NULL},
};

/* The whole numbers of the tasks whose sizes are nothing else. khop's steps are an int. */
typedef struct size {
    hop_task_kind kind;
    const char *name; /* as the option */
    size_t given, at; /* in size_args, in hop_task */
    int64_t initial;
    bool narrow;
} size;

#define SIZE(kind, name, member, initial)                                                       \
    {                                                                                           \
        kind, #name, offsetof(size_args, name), offsetof(hop_task, member.name), initial, false \
    }

static const size SIZES[] = {
    SIZE(HOP_TASK_TWOSUM, n, twosum, 16),
    SIZE(HOP_TASK_TWOSUM, mod, twosum, 16),
    SIZE(HOP_TASK_RECALL, pairs, recall, 8),
    SIZE(HOP_TASK_RECALL, queries, recall, 8),
    SIZE(HOP_TASK_RECALL, keys, recall, 16),
    SIZE(HOP_TASK_RECALL, values, recall, 16),
    SIZE(HOP_TASK_KHOP, n, khop, 32),
    SIZE(HOP_TASK_KHOP, alphabet, khop, 4),
    {HOP_TASK_KHOP, "hops", offsetof(size_args, hops), offsetof(hop_task, khop.hops), 2, true},
    {HOP_TASK_FUNCCOMP, "hops", offsetof(size_args, hops), 0, 0,
     false},                                                       /* these know whose option they are; */
    {HOP_TASK_FUNCCOMP, "m", offsetof(size_args, m), 0, 0, false}, /* funccomp puts itself together */
    {HOP_TASK_FUNCCOMP, "fan", offsetof(size_args, fan), 0, 0, false},
};
#define SIZE_COUNT (sizeof SIZES / sizeof SIZES[0])

static const opt_value *option_of(const size_args *s, const size *z)
{
    return (const opt_value *)(const void *)((const char *)s + z->given);
}

static int64_t size_get(const hop_task *t, const size *z)
{
    const void *at = (const char *)t + z->at;
    return z->narrow ? *(const int *)at : *(const int64_t *)at;
}

static void size_set(hop_task *t, const size *z, int64_t value)
{
    void *at = (char *)t + z->at;
    if (z->narrow)
        *(int *)at = (int)value;
    else
        *(int64_t *)at = value;
}

bool sizes_given(const size_args *s)
{
    bool any = s->task.given;
    for (size_t i = 0; i < SIZE_COUNT; i++) any = any || option_of(s, &SIZES[i])->given;
    return any;
}

/* An option that was given and that the task does not have: its name; else NULL. */
static const char *foreign_option(const size_args *s, hop_task_kind kind)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        bool has = false;
        for (size_t j = 0; j < SIZE_COUNT; j++)
            has = has || (SIZES[j].kind == kind && SIZES[j].given == SIZES[i].given);
        if (!has && option_of(s, &SIZES[i])->given) return SIZES[i].name;
    }
    return NULL;
}

static int funccomp_from_options(const common_args *a, const size_args *s, const hop_funccomp *base,
                                 hop_funccomp *out)
{
    int64_t fan[HOP_MAX_HOPS], m = s->m.given ? s->m.integer : base ? base->m : DEFAULT_M;
    int hops = s->hops.given ? (int)s->hops.integer : base ? base->hops : DEFAULT_HOPS;
    bool repeat = s->fan.given && s->fan.count == 1;
    if (s->fan.given && !repeat && s->fan.count != hops - 1)
        return fail(a, EXIT_USAGE, "--fan: %d numbers where %d hops need %d", s->fan.count, hops, hops - 1);
    for (int l = 0; l < hops - 1; l++)
        fan[l] = s->fan.given                 ? s->fan.list[repeat ? 0 : l]
                 : base && base->hops == hops ? base->fan[l + 1]
                                              : DEFAULT_FAN;
    hop_error err = {0};
    if (hop_funccomp_init(out, hops, m, fan, &err) != HOP_OK)
        return fail(a, EXIT_USAGE, "sizes: %s", err.text);
    return EXIT_DONE;
}

static void numbers_from_options(const size_args *s, const hop_task *base, hop_task *out)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        const size *z = &SIZES[i];
        const opt_value *v = option_of(s, z);
        if (z->kind == out->kind)
            size_set(out, z, v->given ? v->integer : base ? size_get(base, z) : z->initial);
    }
    if (out->kind == HOP_TASK_RECALL && !s->keys.given && out->recall.keys < out->recall.pairs)
        out->recall.keys = out->recall.pairs;
}

int sizes_from_options(const common_args *a, const size_args *s, hop_task_kind kind, const hop_task *base,
                       hop_task *out)
{
    *out = (hop_task){.kind = s->task.given ? (hop_task_kind)s->task.choice : base ? base->kind : kind};
    if (base && base->kind != out->kind) base = NULL; /* another task has other sizes */
    const char *foreign = foreign_option(s, out->kind);
    if (foreign)
        return fail(a, EXIT_USAGE, "--%s: the task %s has no such size", foreign, hop_task_name(out->kind));
    if (out->kind == HOP_TASK_FUNCCOMP) {
        int code = funccomp_from_options(a, s, base ? &base->funccomp : NULL, &out->funccomp);
        if (code != EXIT_DONE) return code;
    } else {
        numbers_from_options(s, base, out);
    }
    hop_error err = {0};
    return hop_task_ready(out, &err) == HOP_OK ? EXIT_DONE : fail(a, EXIT_USAGE, "sizes: %s", err.text);
}

int sizes_of_network(const common_args *a, const size_args *s, const hop_model *m, hop_task *out, bool *known)
{
    const char *text = hop_model_config(m)->task_json;
    hop_error err = {0};
    hop_json_doc doc = {0};
    hop_task own;
    *known = true;
    if (!text || !*text) {
        *known = sizes_given(s);
        return *known ? sizes_from_options(a, s, HOP_TASK_FUNCCOMP, NULL, out) : EXIT_DONE;
    }
    hop_status got = hop_json_parse(&doc, text, strlen(text), &err);
    if (got == HOP_OK) got = hop_task_read(&own, doc.root, &err);
    hop_json_free(&doc);
    if (got != HOP_OK) return fail(a, EXIT_FAILED, "%s: its task: %s", a->operand, err.text);
    return sizes_from_options(a, s, own.kind, &own, out);
}

void sizes_print(hop_text *out, const hop_task *t)
{
    if (t->kind == HOP_TASK_FUNCCOMP) {
        hop_text_printf(out, "hops %d, m %lld", t->funccomp.hops, (long long)t->funccomp.m);
        for (int l = 1; l < t->funccomp.hops; l++)
            hop_text_printf(out, "%s%lld", l > 1 ? "," : ", fan ", (long long)t->funccomp.fan[l]);
        return;
    }
    hop_text_add(out, hop_task_name(t->kind));
    for (size_t i = 0; i < SIZE_COUNT; i++)
        if (SIZES[i].kind == t->kind)
            hop_text_printf(out, ", %s %lld", SIZES[i].name, (long long)size_get(t, &SIZES[i]));
}
