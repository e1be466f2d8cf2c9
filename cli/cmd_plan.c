/* hopbound plan: layer plans for so many hops at a length, the cheapest first. */
#include "cli.h"

#include <math.h>
#include <string.h>

typedef struct plan_args {
    common_args common;
    opt_value hops, n, layers, full, mixer, d_model, heads, kv_heads, dim, bits, cache_bits;
} plan_args;

/* clang-format off */
#define AT(member) offsetof(plan_args, member)
static const opt OPTIONS[] = {
    {"hops", 0, OPT_INT, AT(hops), "L", NULL, 1, HOP_MAX_HOPS, .required = true, .help = "hops that are wanted"},
    {"n", 0, OPT_INT, AT(n), "N", NULL, 1, (int64_t)1 << 50, .required = true, .help = "at this length, in tokens"},
    {"layers", 0, OPT_INT, AT(layers), "K", NULL, 1, HOP_PLAN_MAX_LAYERS, .initial_help = "as few as it takes",
     .help = "layers in all"},
    {"full", 0, OPT_LIST, AT(full), "F1,..", NULL, 0, HOP_PLAN_MAX_LAYERS, .initial_help = "0 to L+1; where states hold no tables, 0 and those around L",
     .help = "only plans with so many full layers"},
    {"mixer", 0, OPT_TEXT, AT(mixer), "NAME", "gdn", .help = "of the linear layers"},
    {"d-model", 0, OPT_INT, AT(d_model), "N", NULL, 1, 1 << 28, .initial_help = "heads times dim",
     .help = "width of the residual stream"},
    {"heads", 0, OPT_INT, AT(heads), "H", "16", 1, 1 << 12, .help = "heads of every layer"},
    {"kv-heads", 0, OPT_INT, AT(kv_heads), "H", NULL, 1, 1 << 12, .initial_help = "as many as heads",
     .help = "heads that keep keys and values"},
    {"dim", 0, OPT_INT, AT(dim), "D", "128", 1, 1 << 16, .help = "numbers in a head"},
    {"bits", 0, OPT_INT, AT(bits), "P", "32", 1, 1024, .help = "bits of a number in the accumulator and in states"},
    {"cache-bits", 0, OPT_INT, AT(cache_bits), "P", "16", 1, 1024, .help = "bits of a number in the KV cache"},
    {0},
};
/* clang-format on */

static const char *word(hop_answer a)
{
    static const char *const words[] = {"impossible", "proved", "open"};
    return words[a];
}

/* ---- for scripts ------------------------------------------------------------------------------- */

static int show_json(const common_args *a, const hop_plan_question *q, const hop_plan *plans, int count)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "hops", q->hops);
    hop_json_integer(&w, "n", q->n);
    hop_json_known(&w, "layers", q->layers, q->layers > 0);
    hop_json_string(&w, "mixer", q->mixer);
    hop_json_key(&w, "plans");
    hop_json_begin_array(&w);
    for (int i = 0; i < count; i++) {
        const hop_plan *p = &plans[i];
        hop_json_begin_object(&w);
        hop_json_string(&w, "pattern", p->pattern);
        hop_json_string(&w, "verdict", word(p->answer));
        hop_json_string(&w, "by", p->by[0] ? p->by : NULL);
        hop_json_integer(&w, "layers", p->layers);
        hop_json_integer(&w, "full_layers", p->full);
        hop_json_number(&w, "kv_bytes", p->kv_bytes);
        hop_json_number(&w, "state_bytes", p->state_bytes);
        hop_json_number(&w, "flops_per_token", p->flops_per_token);
        hop_json_integer(&w, "hops_proved", p->able);
        hop_json_string(&w, "impossible_from_n", p->impossible_from[0] ? p->impossible_from : NULL);
        hop_json_string(&w, "impossible_by", p->impossible_by[0] ? p->impossible_by : NULL);
        hop_json_number(&w, "impossible_log10_n", p->impossible_log10);
        hop_json_string(&w, "why", p->why);
        hop_json_end_object(&w);
    }
    hop_json_end_array(&w);
    write_supposed(&w);
    hop_json_end_object(&w);
    return print_json(a, &w);
}

/* ---- for people --------------------------------------------------------------------------------- */

static void say_bytes(char out[16], double v)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    for (; v >= 1024 && unit < 6; unit++) v /= 1024;
    snprintf(out, 16, "%.4g %s", v, units[unit]);
}

static void say_flops(char out[16], double v)
{
    static const char *const units[] = {"", " K", " M", " G", " T", " P"};
    int unit = 0;
    for (; v >= 1000 && unit < 5; unit++) v /= 1000;
    snprintf(out, 16, "%.3g%s", v, units[unit]);
}

/* The answer first: the cheapest plan that is proved, and why the next cheaper one is not. */
static void say_answer(hop_text *out, const hop_plan_question *q, const hop_plan *plans, int count)
{
    int best = 0;
    while (best < count && plans[best].answer != HOP_ANSWER_POSSIBLE) best++;
    const char *s = q->hops > 1 ? "s" : "";
    if (best == count) {
        hop_text_printf(out, "No plan here is proved to make %d hop%s at %lld tokens", q->hops, s,
                        (long long)q->n);
        if (count)
            hop_text_printf(out, ": %s is %s: %s", plans[count - 1].pattern, word(plans[count - 1].answer),
                            plans[count - 1].why);
        hop_text_add(out, ".\n");
        return;
    }
    char bytes[16];
    say_bytes(bytes, plans[best].kv_bytes + plans[best].state_bytes);
    hop_text_printf(out, "Cheapest plan proved for %d hop%s at %lld tokens: %s, %s of cache and states.\n",
                    q->hops, s, (long long)q->n, plans[best].pattern, bytes);
    if (best > 0) {
        const hop_plan *p = &plans[best - 1];
        hop_text_printf(out, "The next cheaper, %s, is %s: %s", p->pattern, word(p->answer), p->why);
        if (p->answer == HOP_ANSWER_SILENT && p->impossible_from[0])
            hop_text_printf(out, "; impossible from n = %s on (%s)", p->impossible_from, p->impossible_by);
        hop_text_add(out, ".\n");
    }
}

static int show_text(const common_args *a, const hop_plan_question *q, const hop_plan *plans, int count)
{
    hop_text out = {0};
    size_t width = 7;
    bool placed = false, states = false;
    say_answer(&out, q, plans, count);
    for (int i = 0; i < count; i++) {
        width = strlen(plans[i].pattern) > width ? strlen(plans[i].pattern) : width;
        placed = placed || (q->hops > 1 && plans[i].full == q->hops && plans[i].layers > plans[i].full);
        states = states || (plans[i].answer == HOP_ANSWER_POSSIBLE && strcmp(plans[i].by, "P10") == 0);
    }
    hop_text_printf(&out, "\n%-*s  %6s %4s  %10s  %10s  %8s  %-10s  %4s  %s\n", (int)width, "plan", "layers",
                    "full", "KV", "states", "flops", "verdict", "hops", "impossible from n");
    for (int i = 0; i < count; i++) {
        const hop_plan *p = &plans[i];
        char kv[16], state[16], flops[16];
        say_bytes(kv, p->kv_bytes);
        say_bytes(state, p->state_bytes);
        say_flops(flops, p->flops_per_token);
        hop_text_printf(&out, "%-*s  %6lld %4lld  %10s  %10s  %8s  %-10s  %4d  %s%s%s\n", (int)width,
                        p->pattern, (long long)p->layers, (long long)p->full, kv, state, flops,
                        word(p->answer), p->able, p->impossible_from[0] ? p->impossible_from : "not known",
                        p->impossible_from[0] ? " " : "", p->impossible_by);
    }
    hop_text_printf(&out,
                    "\nverdict: of %d hop%s; hops: the most that are proved. KV and states at token %lld, "
                    "%lld-bit cache, "
                    "%lld-bit\nstates; flops a token of the mixers alone.\n",
                    q->hops, q->hops > 1 ? "s" : "", (long long)q->n, (long long)q->cache_bits,
                    (long long)q->number_bits);
    if (placed)
        hop_text_printf(
            &out,
            "Where: with %d full layers a linear one must stand before the first or the second of them (P1);"
            " the\nother places do not matter where full layers make all hops.\n",
            q->hops);
    if (states)
        hop_text_add(&out, "With fewer full layers states make the first hops, whose tables are the "
                           "shortest, and full layers do\n"
                           "best behind them (P10).\n");
    say_any_weights(&out);
    say_known_weights(&out, "proved");
    return print_text(a, &out);
}

static int cmd_plan(common_args *common)
{
    const plan_args *a = (const plan_args *)common;
    hop_plan_question q = {.hops = (int)a->hops.integer,
                           .n = a->n.integer,
                           .layers = a->layers.given ? a->layers.integer : 0,
                           .full = a->full.list,
                           .full_count = a->full.given ? a->full.count : 0,
                           .mixer = a->mixer.text,
                           .heads = a->heads.integer,
                           .kv_heads = a->kv_heads.given ? a->kv_heads.integer : a->heads.integer,
                           .dim = a->dim.integer,
                           .d_model =
                               a->d_model.given ? a->d_model.integer : a->heads.integer * a->dim.integer,
                           .number_bits = a->bits.integer,
                           .cache_bits = a->cache_bits.integer,
                           .progress = &common->progress};
    hop_error err = {0};
    hop_plan *plans;
    int count, opened = pool_open(common, &q.pool);
    if (opened != EXIT_DONE) return opened;
    hop_status got = hop_plans_find(&plans, &count, &q, &err);
    hop_pool_free(q.pool);
    if (got != HOP_OK) {
        /* What a mixer refuses begins with its name, all else with the option's. */
        size_t name = strlen(q.mixer);
        bool by_mixer = strncmp(err.text, q.mixer, name) == 0 && err.text[name] == ':';
        return err.status == HOP_ESTOPPED ? fail_error(common, &err)
                                          : fail_given(common, by_mixer ? "--mixer: " : "--", &err, "");
    }
    int code = common->json.flag ? show_json(common, &q, plans, count) : show_text(common, &q, plans, count);
    hop_plans_free(plans, count);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound plan --hops 8 --n 128k",
     "The cheapest plan for 8 hops at 131072 tokens, and why the next cheaper one fails."},
    {"hopbound plan --hops 12 --n 128k --layers 48 --full 6,12",
     "What is lost with 6 full layers instead of 12 in 48?"},
    {"hopbound plan --hops 6 --n 128k --layers 48 --full 6",
     "Where should they stand? Both placements that differ to any theorem."},
    {0},
};
const verb verb_plan = {
    .name = "plan",
    .summary = "finds the cheapest layer plans that make so many hops at a length",
    .description =
        "Plans of full and linear layers, the cheapest first: bytes of KV cache and states at that length, then "
        "flops. Each is proved (weights that do it are known: P1 and P10 of docs/BOUNDS.md), impossible (no weights do it "
        "at that length, of networks that are " HOP_BOUNDS_MODEL "), or open; an open one says from which length on it is impossible, where that is known. "
        "Proved supposes that " HOP_BOUNDS_IDEALISED ". "
        "The first lines say which plan is the cheapest that is proved, and why the next cheaper one is not.\n\n"
        "A hop costs one full layer, or linear layers whose states hold its table: gdn, kda, deltanet and mamba2 layers share "
        "a table among as many of them as it takes. Without --layers the fewest such layers are found for each number "
        "of full ones: the exchange rate between the two.\n\n"
        "At one depth all plans with as many full layers cost the same, and their places matter in two ways. With as "
        "many full layers as hops, a linear layer must stand before the first or the second of them; with fewer, "
        "states make the first hops, whose tables are the shortest, and full layers do best behind them. Then two "
        "placements are shown, one of each kind.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .colours = true,
    .args_size = sizeof(plan_args),
    .run = cmd_plan,
};
/* clang-format on */
