/* The verb plan: layer plans for so many hops at a length, the cheapest first. */
#include <hopbound/ask_plan.h>

#include <string.h>
#include <hopbound/over.h>
#include "architecture.h"
#include "plan.h"

HOP_RECORD_TABLE(hop_plan_row, HOP_PLAN_ROW, "a layer plan")
HOP_RECORD_TABLE(hop_plan_answer, HOP_PLAN_ANSWER, "the cheapest plans")

const char *const hop_plan_verdict_words[] = {"impossible", "possible", "open", NULL};

/* clang-format off */
#define AT(member) offsetof(plan_args, member)
static const hop_opt OPTIONS[] = {
    {"hops", 0, HOP_OPT_INT, AT(hops), "L", NULL, 1, HOP_MAX_HOPS, .help = "hops that are wanted; needed unless plans are named"},
    {"n", 0, HOP_OPT_INT, AT(n), "N", NULL, 1, (int64_t)1 << 50, .help = "at this length, in tokens"},
    {"over", 0, HOP_OPT_TEXT, AT(over), "A..B",
     .help = "of plans that are named: at lengths from A to B by factors of two or more, or at a list of them A,B,.., and "
             "where they first differ"},
    {"picture", 0, HOP_OPT_TEXT, AT(picture), "FILE.svg", .use = HOP_OPT_WRITES,
     .help = "of plans that are named: also as a drawing"},
    {"like", 0, HOP_OPT_TEXT, AT(like), "CONFIG", .use = HOP_OPT_READS,
     .help = "a model's config.json, or its directory: plans are made of its own layers, L the linear ones; without --hops and "
             "plans, the model as it stands"},
    {"fit", 0, HOP_OPT_TEXT, AT(fit), "SIZE",
     .help = "bytes for keys, values and states, 24GiB: with --hops only plans that fit at --n; of plans that are named, the "
             "longest prompt that fits"},
    {"exit-code", 0, HOP_OPT_FLAG, AT(exit_code),
     .help = "the verdict is the exit code: 0 a plan is possible, 10 all that are shown are impossible, 30 open; with --hops"},
    {"layers", 0, HOP_OPT_INT, AT(layers), "K", NULL, 1, HOP_PLAN_MAX_LAYERS, .initial_help = "as few as it takes",
     .help = "layers in all"},
    {"full", 0, HOP_OPT_LIST, AT(full), "F1,..", NULL, 0, HOP_PLAN_MAX_LAYERS, .initial_help = "0 to L+1; where states hold no tables, 0 and those around L",
     .help = "only plans with so many full layers"},
    {"mixer", 0, HOP_OPT_TEXT, AT(mixer), "NAME", "gdn", .help = "of the linear layers"},
    {"d-model", 0, HOP_OPT_INT, AT(d_model), "N", NULL, 1, 1 << 28, .initial_help = "heads times dim",
     .help = "width of the residual stream"},
    {"heads", 0, HOP_OPT_INT, AT(heads), "H", "16", 1, 1 << 12, .help = "heads of every layer"},
    {"kv-heads", 0, HOP_OPT_INT, AT(kv_heads), "H", NULL, 1, 1 << 12, .initial_help = "as many as heads",
     .help = "of full layers: heads that keep keys and values"},
    {"key-heads", 0, HOP_OPT_INT, AT(key_heads), "H", NULL, 1, 1 << 12, .initial_help = "as many as heads",
     .help = "of linear layers: heads of keys, where values have more (gdn, kda)"},
    {"dim", 0, HOP_OPT_INT, AT(dim), "D", "128", 1, 1 << 16, .help = "numbers in a head"},
    {"bits", 0, HOP_OPT_INT, AT(bits), "P", "32", 1, 1024, .help = "bits of a number in the accumulator and in states"},
    {"cache-bits", 0, HOP_OPT_INT, AT(cache_bits), "P", "16", 1, 1024, .help = "bits of a number in the KV cache"},
    {0},
};
/* clang-format on */

hop_status hop__plan_config(hop_config *c, const plan_args *a, hop_error *err)
{
    return hop__widths(c,
                       &(arch_widths){.mixer = a->mixer.text,
                                      .heads = a->heads.integer,
                                      .kv_heads = a->kv_heads.given ? a->kv_heads.integer : 0,
                                      .key_heads = a->key_heads.given ? a->key_heads.integer : 0,
                                      .dim = a->dim.integer,
                                      .d_model = a->d_model.given ? a->d_model.integer : 0},
                       err);
}

static hop_plan_question question_of(const plan_args *a, const hop_config *shape)
{
    return (hop_plan_question){.hops = (int)a->hops.integer,
                               .n = a->n.integer,
                               .layers = a->layers.given ? a->layers.integer : 0,
                               .full = a->full.list,
                               .full_count = a->full.given ? a->full.count : 0,
                               .mixer = a->mixer.text,
                               .widths = shape,
                               .number_bits = a->bits.integer,
                               .cache_bits = a->cache_bits.integer,
                               .progress = &a->ask.progress};
}

static void fill_row(hop_keep *k, hop_plan_row *out, const hop_plan *p)
{
    *out = (hop_plan_row){.pattern = hop_keep_text(k, p->pattern),
                          .verdict = p->answer,
                          .by = hop_keep_text(k, p->by),
                          .layers = p->layers,
                          .full_layers = p->full,
                          .kv_bytes = p->cost.kv_bytes,
                          .state_bytes = p->cost.state_bytes,
                          .flops_per_token = p->cost.flops_per_token,
                          .hops_proved = p->able,
                          .impossible_from_n = hop_keep_text(k, p->impossible_from),
                          .impossible_by = hop_keep_text(k, p->impossible_by),
                          .impossible_log10_n = p->impossible_log10,
                          .why = hop_keep_said(k, p->why)};
}

static hop_status record(hop_response *response, const hop_plan_question *q, const plan_args *a,
                         const hop_plan *plans, int count, hop_error *err)
{
    hop_keep *k = &response->memory;
    hop_plan_answer *out = hop_response_begin(response, &hop_plan_answer_record, err);
    hop_plan_row *rows = hop_keep_bytes(k, (size_t)count + 1, sizeof *rows);
    if (!out || !rows) return hop_fail(err, HOP_ENOMEM, "out of memory");
    int64_t budget = 0, kept = 0;
    if (a->fit.text) hop__bytes_read(a->fit.text, &budget);
    for (int i = 0; i < count; i++)
        if (!budget || plans[i].cost.kv_bytes + plans[i].cost.state_bytes <= (double)budget)
            fill_row(k, &rows[kept++], &plans[i]);
    *out = (hop_plan_answer){.hops = q->hops,
                             .n = q->n,
                             .layers = q->layers > 0 ? q->layers : HOP_NO_COUNT,
                             .like = hop_keep_text(k, a->like.text),
                             .mixer = hop_keep_text(k, q->mixer),
                             .bits = q->number_bits,
                             .cache_bits = hop_known(q->cache_bits, !a->like.text),
                             .budget_bytes = hop_known(budget, budget > 0),
                             .too_large = hop_known(count - kept, budget > 0),
                             .model = HOP_BOUNDS_MODEL,
                             .idealised = HOP_BOUNDS_IDEALISED};
    out->plans.at = rows;
    out->plans.count = kept;
    return hop_response_end(response, err);
}

/* Is there a plan, is there known to be none of those that are shown? */
static hop_exit verdict_code(const hop_plan_answer *a)
{
    bool all = a->plans.count > 0;
    for (int64_t i = 0; i < a->plans.count; i++) {
        if (a->plans.at[i].verdict == HOP_ANSWER_POSSIBLE) return HOP_EXIT_DONE;
        all = all && a->plans.at[i].verdict == HOP_ANSWER_IMPOSSIBLE;
    }
    return all ? HOP_EXIT_COUNTEREXAMPLE : HOP_EXIT_UNDECIDED;
}

/* What a question about a model's layers has of its own. */
static hop_status ask_like(hop_plan_question *q, hop_plan_layers *layers, const like_model *m, hop_error *err)
{
    if (m->own.audit.plan.tied)
        return hop_fail(err, HOP_EUSAGE,
                        "--like: layers of %.60s share their weights: plans of them are not read",
                        m->own.audit.plan.model_type);
    *layers = hop__like_layers(m);
    q->others = layers;
    q->mixer = m->mixer;
    return HOP_OK;
}

static hop_status find_plans(hop_response *out, const plan_args *a, const like_model *m, hop_error *err)
{
    hop_plan_layers layers;
    hop_config shape = {0};
    hop_plan *plans = NULL;
    int count = 0;
    hop_status s = hop__plan_config(&shape, a, err);
    hop_plan_question q = question_of(a, &shape);
    if (s == HOP_OK && m) s = ask_like(&q, &layers, m, err);
    if (s == HOP_OK) s = hop__pool(&q.pool, &a->ask, err);
    if (s == HOP_OK && (s = hop_plans_find(&plans, &count, &q, err)) != HOP_OK) {
        /* What a mixer refuses begins with its name, all else with the option's. */
        size_t name = strlen(q.mixer);
        bool by_mixer = err && strncmp(err->text, q.mixer, name) == 0 && err->text[name] == ':';
        s = hop__asked(err, by_mixer ? "--mixer: " : "--", "");
    }
    hop_pool_free(q.pool);
    if (s == HOP_OK) s = record(out, &q, a, plans, count, err);
    if (s == HOP_OK && a->exit_code.flag) out->exit = verdict_code(out->data);
    hop_plans_free(plans, count);
    hop_config_free(&shape);
    return s;
}

/* Plans that are named are compared, else the cheapest are found; a model that is named alone is its own plan. */
static bool compares(const plan_args *a)
{
    return a->ask.operands.count || (a->like.text && !a->hops.given);
}

static hop_status check(const plan_args *a, hop_error *err)
{
    const like_other others[] = {{"mixer", &a->mixer},           {"d-model", &a->d_model},
                                 {"heads", &a->heads},           {"kv-heads", &a->kv_heads},
                                 {"key-heads", &a->key_heads},   {"dim", &a->dim},
                                 {"cache-bits", &a->cache_bits}, {0}};
    bool named = compares(a);
    int64_t bytes;
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        {!named && a->over.text, "--over: needs plans: patterns, or ratios such as 3:1"},
        {!named && a->picture.text, "--picture: needs plans: patterns, or ratios such as 3:1"},
        {!named && !a->hops.given, "--hops: missing"},
        {!a->n.given && !(named && a->over.text), "--n: missing"},
        {named && a->hops.given, "--hops: not with plans that are named, whose hops are counted"},
        {named && a->full.given, "--full: not with plans that are named"},
        {named && a->exit_code.flag, "--exit-code: needs --hops"},
        {a->n.given && a->over.text, "--over: not with --n"},
        {a->fit.text && !hop__bytes_read(a->fit.text, &bytes), "--fit: not a size, like 24GiB"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong) return hop_fail(err, HOP_EUSAGE, "%s", rules[i].why);
    if (a->like.text) return hop__like_alone(others, err);
    if (a->kv_heads.given && a->heads.integer % a->kv_heads.integer)
        return hop_fail(err, HOP_EUSAGE, "--kv-heads: %lld heads are no multiple of %lld",
                        (long long)a->heads.integer, (long long)a->kv_heads.integer);
    return HOP_OK;
}

static hop_status ask_plan(hop_response *out, const void *request, hop_error *err)
{
    const plan_args *a = request;
    like_model like = {0};
    hop_status s = check(a, err);
    if (s == HOP_OK && a->like.text) s = hop__like_open(&like, a->like.text, a->bits.integer, err);
    const like_model *model = a->like.text ? &like : NULL;
    if (s == HOP_OK) s = compares(a) ? hop__plan_over(out, a, model, err) : find_plans(out, a, model, err);
    hop__like_close(&like);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound plan --hops 8 --n 128k",
     "The cheapest plan for 8 hops at 131072 tokens, and why the next cheaper one fails."},
    {"hopbound plan --hops 12 --n 128k --layers 48 --full 6,12",
     "What is lost with 6 full layers instead of 12 in 48?"},
    {"hopbound plan --hops 6 --n 128k --layers 48 --full 6",
     "Where should they stand? Both placements that differ to any theorem."},
    {"hopbound plan --like config.json --hops 8 --n 128k",
     "The same of layers like this model's: its heads, groups, value widths and types."},
    {"hopbound plan 3:1 7:1 --layers 48 --n 1M --like config.json",
     "3:1 or 7:1 at a million tokens, with this model's layers?"},
    {"hopbound plan 3:1 7:1 --layers 48 --over 32k..16M --kv-heads 4",
     "3:1 or 7:1? Hops and bytes of both against length, and where they first differ."},
    {0},
};
static const hop_other OTHERS[] = {
    {&hop_over_answer_record, "Of plans that are named"},
    {0},
};
const hop_verb hop__verb_plan = {
    .name = "plan",
    .summary = "finds the cheapest layer plans that make so many hops at a length, or compares plans",
    .operand = "[PLAN..]",
    .operand_help = "layer patterns as `bound` reads them, or ratios of linear layers to full ones, \"3:1\", of --layers: how "
                    "many hops they make at --n, or at the lengths of --over",
    .description =
        "Plans of full and linear layers, the cheapest first: bytes of KV cache and states at that length, then "
        "flops. Each is possible (weights that do it are known: P1 and P10 of docs/BOUNDS.md), impossible (no weights do it "
        "at that length, of networks that are " HOP_BOUNDS_MODEL "), or open; an open one says from which length on it is impossible, where that is known. "
        "Possible supposes that " HOP_BOUNDS_IDEALISED ". "
        "The first lines say which plan is the cheapest that is possible, and why the next cheaper one is not.\n\n"
        "A hop costs one full layer, or linear layers whose states hold its table: gdn, kda, deltanet and mamba2 layers share "
        "a table among as many of them as it takes. Without --layers the fewest such layers are found for each number "
        "of full ones: the exchange rate between the two.\n\n"
        "At one depth all plans with as many full layers cost the same, and their places matter in two ways. With as "
        "many full layers as hops, a linear layer must stand before the first or the second of them; with fewer, "
        "states make the first hops, whose tables are the shortest, and full layers do best behind them. Then two "
        "placements are shown, one of each kind.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_plan_answer_record,
    .others = OTHERS,
    .rows = "plans",
    .request_size = sizeof(plan_args),
    .ask = ask_plan,
};
/* clang-format on */
