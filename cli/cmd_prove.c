/* hopbound prove: is the network in a directory right on every input of the task's sizes? */
#include "cli.h"

#include <string.h>

static const char *const METHODS[] = {"auto", "interval", "enumerate",
                                      NULL}; /* in hop_prove_method's order */

typedef struct prove_args {
    common_args common;
    size_args sizes;
    hop_opt_value method, limit, counterexample, message_bits, precision;
} prove_args;

/* clang-format off */
#define AT(member) offsetof(prove_args, member)
static const hop_opt OPTIONS[] = {
    {"method", 0, HOP_OPT_CHOICE, AT(method), "NAME", "auto", .choices = METHODS,
     .help = "interval arithmetic over the weights; running every input; auto does the first, and the second "
             "too where there are few inputs"},
    {"limit", 0, HOP_OPT_INT, AT(limit), "N", NULL, 1, INT64_MAX,
     .initial_help = "as many as take about ten seconds",
     .help = "auto also runs every input when there are at most N"},
    {"message-bits", 0, HOP_OPT_INT, AT(message_bits), "P", NULL, HOP_MIN_NUMBER_BITS, 32, .initial_help = "nothing is rounded",
     .help = "under the arithmetic of the game: what crosses between players (queries, partial softmaxes, states) is "
             "rounded to numbers of P bits, as `play --bits P` does"},
    {"precision", 0, HOP_OPT_INT, AT(precision), "BITS", "24", 1, 24,
     .help = "under the arithmetic of `run --precision BITS`: tables, activations, attention's weights and states cut to "
             "BITS significant bits; 24 is all of float32"},
    {"counterexample", 0, HOP_OPT_TEXT, AT(counterexample), "FILE", .use = HOP_OPT_WRITES,
     .help = "when refuted, write the input there, a line for `run --input` and `task --check`"},
    {0},
};
/* clang-format on */

static const char *method_name(const hop_proof *p)
{
    if (p->by_interval && p->by_enumeration) return "interval+enumeration";
    return p->by_search ? "search" : p->by_enumeration ? "enumeration" : "interval";
}

/* ---- reports ------------------------------------------------------------------------------- */

static void write_margins(hop_json_writer *w, const hop_proof *p)
{
    hop_json_key(w, "margins");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < p->margin_count; i++) {
        const hop_margin *g = &p->margins[i];
        hop_json_begin_object(w);
        hop_json_integer(w, "layer", g->layer);
        hop_json_integer(w, "player", g->player);
        hop_json_integer(w, "addresses", g->addresses);
        hop_json_number(w, "score_gap", g->score_gap);
        hop_json_number(w, "wrong_mass", g->wrong_mass);
        hop_json_number(w, "clip_margin", g->clip_margin);
        hop_json_number(w, "code_error", g->code_error);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void write_counterexample(hop_json_writer *w, const hop_proof *p, const hop_task *t)
{
    hop_json_key(w, "counterexample");
    if (!p->counterexample) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_object(w);
    hop_json_key(w, "tokens");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < t->length; i++) hop_json_put_int(w, p->counterexample[i]);
    hop_json_end_array(w);
    hop_json_integer(w, "position", p->position);
    hop_json_integer(w, "answer", p->expected);
    hop_json_integer(w, "prediction", p->got);
    hop_json_end_object(w);
}

static void write_lines(hop_json_writer *w, const char *key, const char *const *lines)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (; lines && *lines; lines++) hop_json_put_string(w, *lines);
    hop_json_end_array(w);
}

static int report_json(const prove_args *a, const hop_proof *p, const hop_task *t, double seconds)
{
    hop_json_writer w = {0};
    int64_t inputs = hop_task_inputs(t);
    hop_json_begin_object(&w);
    hop_json_string(&w, "verdict", hop_verdict_name(p->verdict));
    hop_json_string(&w, "method", method_name(p));
    hop_json_key(&w, "inputs");
    if (inputs >= 0)
        hop_json_put_int(&w, inputs);
    else
        hop_json_put_null(&w);
    hop_json_number(&w, "log10_inputs", p->log10_inputs);
    hop_json_integer(&w, "enumerated", p->enumerated);
    if (a->precision.integer < 24) hop_json_integer(&w, "precision", a->precision.integer);
    if (a->message_bits.given) hop_json_integer(&w, "message_bits", a->message_bits.integer);
    write_margins(&w, p);
    hop_json_number(&w, "readout_margin", p->readout_margin);
    write_lines(&w, "covers", p->covers);
    write_lines(&w, "rests_on", p->rests_on);
    hop_json_string(&w, "why", p->why);
    write_counterexample(&w, p, t);
    hop_json_key(&w, "task");
    hop_task_write(t, &w);
    hop_json_string(&w, "dir", a->common.operand);
    hop_json_number(&w, "seconds", seconds);
    hop_json_end_object(&w);
    return print_json(&a->common, &w);
}

static void print_inputs(hop_text *out, const hop_task *t, double log10_inputs)
{
    int64_t inputs = hop_task_inputs(t);
    if (inputs >= 0 && inputs < 1000000000)
        hop_text_printf(out, "%lld inputs of ", (long long)inputs);
    else
        hop_text_printf(out, "10^%.1f inputs of ", log10_inputs);
    sizes_print(out, t);
}

/* A layer at which no token asks for anything: it passes the stream as it is. */
static bool is_idle(const hop_margin *g)
{
    return g->addresses == 0 && g->player < -1;
}

/* Returns the first margin behind the run of idle layers from i on, which is one line. */
static int64_t print_idle(hop_text *out, const hop_proof *p, int64_t i)
{
    int64_t end = i + 1;
    while (end < p->margin_count && is_idle(&p->margins[end])) end++;
    char layers[48];
    long long first = (long long)p->margins[i].layer, last = (long long)p->margins[end - 1].layer;
    if (first == last)
        snprintf(layers, sizeof layers, "%lld", first);
    else
        snprintf(layers, sizeof layers, "%lld-%lld", first, last);
    hop_text_printf(out, "  %5s  idle\n", layers);
    return end;
}

/* No margin where a hidden unit may be on either side: a comparison, which 2-Sum makes, sits on its edge. */
static void print_clip(char out[16], const hop_margin *g)
{
    if (g->clip_margin > 0)
        snprintf(out, 16, "%.4g", g->clip_margin);
    else
        strcpy(out, "none");
}

static void explain_clip(hop_text *out, const hop_proof *p)
{
    bool crossed = false;
    for (int64_t i = 0; i < p->margin_count; i++) crossed = crossed || !(p->margins[i].clip_margin > 0);
    if (crossed)
        hop_text_add(out, "  clip margin none: a hidden unit may be on either side there; both are followed, "
                          "and the read-out margin decides\n");
}

static int report_text(const prove_args *a, const hop_proof *p, const hop_task *t, double seconds)
{
    hop_text out = {0};
    hop_text_name(&out, a->common.operand);
    hop_text_printf(&out, ": %s %s ", hop_verdict_name(p->verdict),
                    p->verdict == HOP_PROVED    ? "for all"
                    : p->verdict == HOP_REFUTED ? "by one of"
                                                : "for the");
    print_inputs(&out, t, p->log10_inputs);
    hop_text_printf(&out, "\n  method %s, %.2f s", method_name(p), seconds);
    if (p->enumerated) hop_text_printf(&out, ", %lld inputs run", (long long)p->enumerated);
    hop_text_add(&out, "\n");
    if (p->margin_count)
        hop_text_printf(&out, "  %5s %5s %12s %12s %12s %12s %12s\n", "layer", "asks", "addresses",
                        "score gap", "wrong mass", "clip margin", "code error");
    for (int64_t i = 0; i < p->margin_count;) {
        const hop_margin *g = &p->margins[i];
        char asks[16], clip[16];
        if (is_idle(g)) {
            i = print_idle(&out, p, i);
            continue;
        }
        i++;
        snprintf(asks, sizeof asks,
                 g->player < -1                 ? "-"
                 : t->kind != HOP_TASK_FUNCCOMP ? "token"
                 : g->player >= 0               ? "z_%d"
                                                : "w",
                 g->player);
        print_clip(clip, g);
        hop_text_printf(&out, "  %5lld %5s %12lld %12.4g %12.3g %12s %12.3g\n", (long long)g->layer, asks,
                        (long long)g->addresses, g->score_gap, g->wrong_mass, clip, g->code_error);
    }
    explain_clip(&out, p);
    if (p->margin_count && p->verdict == HOP_PROVED && p->by_interval)
        hop_text_printf(&out, "  read-out margin %.4g\n", p->readout_margin);
    for (const char *const *line = p->covers; line && *line; line++)
        hop_text_printf(&out, "  %s %s\n", line == p->covers ? "covers:  " : "         ", *line);
    for (const char *const *line = p->rests_on; line && *line; line++)
        hop_text_printf(&out, "  %s %s\n", line == p->rests_on ? "rests on:" : "         ", *line);
    if (p->why[0]) hop_text_printf(&out, "  why: %s\n", p->why);
    if (p->counterexample) {
        char said[ANSWER_SIZE];
        print_answer(said, p->got);
        hop_text_printf(&out, "  counter-example: the answer at token %lld is %lld, the network says %s\n",
                        (long long)p->position, (long long)p->expected, said);
    }
    return print_text(&a->common, &out);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static hop_status save_counterexample(const prove_args *a, const hop_proof *p, const hop_task *t,
                                      hop_error *err)
{
    if (!p->counterexample || !a->counterexample.text) return HOP_OK;
    hop_json_writer w = {0};
    hop_instance one = {0};
    hop_status s = hop_instance_reserve(&one, t->length, err);
    if (s == HOP_OK) {
        memcpy(one.tokens, p->counterexample, (size_t)t->length * sizeof *one.tokens);
        hop_task_solve(t, one.tokens, one.targets);
        hop_instance_write(&one, t, &w);
        hop_text_add(&w.text, "\n");
        s = w.text.failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", a->counterexample.text)
                          : hop_file_write(a->counterexample.text, w.text.s, w.text.len, err);
    }
    hop_instance_free(&one);
    hop_text_free(&w.text);
    return s;
}

static int prove(const prove_args *a, const hop_model *m, const hop_task *t, hop_pool *pool)
{
    static const int codes[] = {
        [HOP_PROVED] = EXIT_DONE, [HOP_REFUTED] = EXIT_COUNTEREXAMPLE, [HOP_UNDECIDED] = EXIT_UNDECIDED};
    const hop_prove_options o = {.method = (hop_prove_method)a->method.choice,
                                 .enumerate_limit = a->limit.integer,
                                 .message_bits = (int)a->message_bits.integer,
                                 .bits = a->precision.integer < 24 ? (int)a->precision.integer : 0,
                                 .seed = (uint64_t)a->common.seed.integer,
                                 .pool = pool,
                                 .progress = &a->common.progress};
    hop_proof p = {0};
    hop_error err = {0};
    if (o.bits && o.message_bits)
        return fail(&a->common, EXIT_USAGE, "--precision: not together with --message-bits");
    double began = hop_now();
    if (hop_prove(&p, m, t, &o, &err) != HOP_OK) return fail_error(&a->common, &err);
    double seconds = hop_now() - began;
    int code = codes[p.verdict];
    if (save_counterexample(a, &p, t, &err) != HOP_OK)
        code = fail_error(&a->common, &err);
    else if ((a->common.json.flag ? report_json : report_text)(a, &p, t, seconds) != EXIT_DONE)
        code = EXIT_FAILED;
    hop_proof_free(&p);
    return code;
}

static int cmd_prove(common_args *common)
{
    const prove_args *a = (const prove_args *)common;
    hop_error err = {0};
    hop_model *m = NULL;
    hop_task t;
    hop_pool *pool = NULL;
    bool known = false;
    if (hop_model_open(&m, common->operand, &err) != HOP_OK) return fail_error(common, &err);
    int code = sizes_of_network(common, &a->sizes, m, &t, &known);
    if (code == EXIT_DONE && !known)
        code = fail(common, EXIT_USAGE, "--task: missing, and %.200s names none", common->operand);
    if (code == EXIT_DONE) code = pool_open(common, &pool);
    if (code == EXIT_DONE) code = prove(a, m, &t, pool);
    hop_pool_free(pool);
    hop_model_free(m);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    NETWORK_SIZE_GROUP(prove_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound prove net",
     "Proved (exit 0), refuted with an input (exit 10), or undecided (exit 30)."},
    {"hopbound prove net --counterexample bad.jsonl || hopbound run net --input bad.jsonl",
     "Keeps the input on which the network errs, and shows the error."},
    {0},
};
const verb verb_prove = {
    .name = "prove",
    .summary = "decides whether a network is right on every input of the task's sizes",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "Works on the weights in the file, not on the formula that made them: interval arithmetic, with "
        "the rounding of the program's own kernels included, bounds the score gap, the attention on "
        "wrong tokens and the margin of the clip, layer by layer, for every address that the last token "
        "can ask for. Where there are few inputs it also runs each of them. Where a bound fails, an "
        "input that errs is searched for, among at most 4096 inputs and two million tokens (`refute` searches longer). "
        "Layers are counted from 0; idle ones pass the stream as it is.\n\n"
        "Exit 0: proved. Exit 10: refuted, with an input that `hopbound run` gets wrong. Exit 30: "
        "undecided.",
    .colours = true,
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(prove_args),
    .run = cmd_prove,
};
/* clang-format on */
