/* hopbound ladder: the main job. For each number of hops: build the network, write it, read it back, prove
 * the file, run it, and show all of it in one table and one page. */
#include "cli.h"
#include "evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RUNGS 16

typedef struct ladder_args {
    common_args common;
    opt_value output, rungs, m, fan, count, precision;
} ladder_args;

static const opt OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPT_TEXT,
     .at = offsetof(ladder_args, output),
     .initial = "ladder",
     .metavar = "DIR",
     .help = "directory to write: networks, report.html, ladder.svg, ladder.json"},
    {.name = "rungs",
     .kind = OPT_INT,
     .at = offsetof(ladder_args, rungs),
     .initial = "3",
     .min = 1,
     .max = MOST_RUNGS,
     .metavar = "L",
     .help = "hops 1, 2, .., L"},
    {.name = "m",
     .kind = OPT_INT,
     .at = offsetof(ladder_args, m),
     .initial = "16",
     .min = 2,
     .max = 1 << 20,
     .metavar = "M",
     .help = "entries of the first function"},
    {.name = "fan",
     .kind = OPT_INT,
     .at = offsetof(ladder_args, fan),
     .initial = "8",
     .min = 2,
     .max = 1 << 20,
     .metavar = "N",
     .help = "how many times larger each next function is"},
    {.name = "count",
     .letter = 'n',
     .kind = OPT_INT,
     .at = offsetof(ladder_args, count),
     .initial = "200",
     .min = 0,
     .max = (int64_t)1 << 40,
     .metavar = "N",
     .help = "instances to run on every rung"},
    {.name = "precision",
     .kind = OPT_INT,
     .at = offsetof(ladder_args, precision),
     .initial = "8",
     .min = 1,
     .max = 23,
     .metavar = "BITS",
     .help = "run them a second time with everything cut to that many significant bits"},
    {.name = NULL},
};

typedef struct ladder {
    const ladder_args *args;
    hop_pool *pool;
    hop_rung rungs[MOST_RUNGS];
    hop_rung_layer layers[MOST_RUNGS * (MOST_RUNGS + 1)];
    int64_t rung_count, layer_count;
    hop_verdict worst;
} ladder;

/* ---- one rung ------------------------------------------------------------------------------- */

/* Builds, writes, and reads back: what is proved and run is the file. */
static hop_status build_rung(const ladder *l, const hop_task *t, hop_model **out, hop_error *err)
{
    char name[32], dir[4096];
    hop_model *built = NULL;
    snprintf(name, sizeof name, "full-%d", t->funccomp.hops);
    hop_status s = hop_path_join(dir, sizeof dir, l->args->output.text, name, err);
    if (s == HOP_OK) s = hop_construct(&built, "full", t, NULL, err);
    if (s == HOP_OK) s = hop_model_save(built, dir, err);
    hop_model_free(built);
    return s == HOP_OK ? hop_model_open(out, dir, err) : s;
}

static void describe(hop_rung *r, const hop_model *m, const hop_task *t)
{
    const hop_config *c = hop_model_config(m);
    hop_text sizes = {0}, pattern = {0};
    sizes_print(&sizes, t);
    hop_pattern_print(&c->pattern, &pattern);
    *r = (hop_rung){.hops = t->funccomp.hops,
                    .m = t->funccomp.m,
                    .tokens = t->length,
                    .kind = "full",
                    .layers = c->pattern.layers,
                    .full_layers = c->pattern.layers,
                    .d_model = c->d_model,
                    .head_dim = c->head_dim,
                    .parameters = hop_model_parameters(m)};
    const char *after_hops = sizes.s ? strstr(sizes.s, "m ") : NULL;
    snprintf(r->sizes, sizeof r->sizes, "%s", after_hops ? after_hops : "");
    snprintf(r->pattern, sizeof r->pattern, "%s", pattern.s ? pattern.s : "");
    hop_text_free(&sizes);
    hop_text_free(&pattern);
}

static hop_status prove_rung(ladder *l, hop_rung *r, const hop_model *m, const hop_task *t, hop_error *err)
{
    const hop_prove_options o = {.seed = (uint64_t)l->args->common.seed.integer,
                                 .pool = l->pool,
                                 .enumerate_limit = 1000000,
                                 .progress = &l->args->common.progress};
    hop_proof p;
    hop_status s = hop_prove(&p, m, t, &o, err);
    if (s != HOP_OK) return s;
    snprintf(r->verdict, sizeof r->verdict, "%s", hop_verdict_name(p.verdict));
    snprintf(r->why, sizeof r->why, "%.199s", p.why);
    r->log10_inputs = p.log10_inputs;
    r->enumerated = p.enumerated;
    r->score_gap = r->clip_margin = p.margin_count ? INFINITY : NAN;
    r->wrong_mass = p.margin_count ? 0 : NAN;
    r->readout_margin = p.readout_margin;
    for (int64_t i = 0; i < p.margin_count; i++) {
        const hop_margin *g = &p.margins[i];
        r->score_gap = fmin(r->score_gap, g->score_gap);
        r->clip_margin = fmin(r->clip_margin, g->clip_margin);
        r->wrong_mass = fmax(r->wrong_mass, g->wrong_mass);
        l->layers[l->layer_count++] = (hop_rung_layer){.hops = t->funccomp.hops,
                                                       .layer = g->layer,
                                                       .addresses = g->addresses,
                                                       .player = g->player,
                                                       .score_gap = g->score_gap,
                                                       .wrong_mass = g->wrong_mass,
                                                       .clip_margin = g->clip_margin};
    }
    if (p.verdict != HOP_PROVED && l->worst != HOP_REFUTED) l->worst = p.verdict;
    hop_proof_free(&p);
    return HOP_OK;
}

/* Right answers out of --count, computed in `bits` bits (0: float32). */
static hop_status run_with(ladder *l, const hop_model *m, const hop_task *t, int bits, int64_t *correct,
                           hop_error *err)
{
    const common_args *a = &l->args->common;
    char label[40];
    predictor p = {.model = m, .pool = l->pool, .bits = bits, .progress = &a->progress, .label = label};
    snprintf(label, sizeof label, bits ? "%d hops: running with %d bits" : "%d hops: running",
             t->funccomp.hops, bits);
    hop_status s = predictor_sampled(&p, t, l->args->count.integer, (uint64_t)a->seed.integer, correct, err);
    predictor_close(&p);
    return s;
}

static hop_status run_rung(ladder *l, hop_rung *r, const hop_model *m, const hop_task *t, hop_error *err)
{
    r->instances = r->cut_instances = l->args->count.integer;
    r->cut_bits = (int)l->args->precision.integer;
    hop_status s = run_with(l, m, t, 0, &r->correct, err);
    return s == HOP_OK ? run_with(l, m, t, r->cut_bits, &r->cut_correct, err) : s;
}

static hop_status climb(ladder *l, int hops, hop_error *err)
{
    int64_t fan[MOST_RUNGS];
    for (int i = 0; i < hops; i++) fan[i] = l->args->fan.integer;
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    hop_model *m = NULL;
    double began = hop_now();
    hop_rung *r = &l->rungs[l->rung_count];
    hop_status s = hop_funccomp_init(&t.funccomp, hops, l->args->m.integer, fan, err);
    if (s == HOP_OK) s = hop_task_ready(&t, err);
    if (s == HOP_OK) s = build_rung(l, &t, &m, err);
    if (s == HOP_OK) {
        describe(r, m, &t);
        s = prove_rung(l, r, m, &t, err);
    }
    if (s == HOP_OK) s = run_rung(l, r, m, &t, err);
    hop_model_free(m);
    r->seconds = hop_now() - began;
    if (s == HOP_OK) l->rung_count++;
    return s;
}

/* ---- showing it ----------------------------------------------------------------------------- */

static void write_rung(hop_json_writer *w, const hop_rung *r)
{
    hop_json_begin_object(w);
    hop_json_integer(w, "hops", r->hops);
    hop_json_string(w, "sizes", r->sizes);
    hop_json_integer(w, "n", r->tokens);
    hop_json_string(w, "kind", r->kind);
    hop_json_string(w, "pattern", r->pattern);
    hop_json_integer(w, "layers", r->layers);
    hop_json_integer(w, "full_layers", r->full_layers);
    hop_json_integer(w, "d_model", r->d_model);
    hop_json_integer(w, "head_dim", r->head_dim);
    hop_json_integer(w, "parameters", r->parameters);
    hop_json_string(w, "verdict", r->verdict);
    hop_json_string(w, "why", r->why);
    hop_json_number(w, "log10_inputs", r->log10_inputs);
    hop_json_integer(w, "enumerated", r->enumerated);
    hop_json_number(w, "score_gap", r->score_gap);
    hop_json_number(w, "wrong_mass", r->wrong_mass);
    hop_json_number(w, "clip_margin", r->clip_margin);
    hop_json_number(w, "readout_margin", r->readout_margin);
    hop_json_integer(w, "instances", r->instances);
    hop_json_integer(w, "correct", r->correct);
    hop_json_integer(w, "cut_bits", r->cut_bits);
    hop_json_integer(w, "cut_correct", r->cut_correct);
    hop_json_number(w, "seconds", r->seconds);
    hop_json_end_object(w);
}

static void write_json(hop_json_writer *w, const ladder *l, const char *report)
{
    hop_json_begin_object(w);
    hop_json_key(w, "rungs");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < l->rung_count; i++) write_rung(w, &l->rungs[i]);
    hop_json_end_array(w);
    hop_json_string(w, "report", report);
    hop_json_string(w, "isa", hop_isa_name(hop_kernels_selected()));
    hop_json_string(w, "version", HOP_VERSION);
    hop_json_end_object(w);
}

static void write_table(hop_text *out, const ladder *l)
{
    hop_text_printf(out, "%4s %7s %-8s %7s %8s %10s  %-9s %-10s %9s %10s %9s %9s\n", "hops", "n", "pattern",
                    "d_model", "head_dim", "parameters", "verdict", "of inputs", "score gap", "wrong mass",
                    "float32", "cut");
    for (int64_t i = 0; i < l->rung_count; i++) {
        const hop_rung *r = &l->rungs[i];
        char inputs[32], run[32], cut[32];
        snprintf(inputs, sizeof inputs, "10^%.1f", r->log10_inputs);
        snprintf(run, sizeof run, "%lld/%lld", (long long)r->correct, (long long)r->instances);
        snprintf(cut, sizeof cut, "%lld/%lld", (long long)r->cut_correct, (long long)r->cut_instances);
        hop_text_printf(out, "%4d %7lld %-8s %7lld %8lld %10lld  %-9s %-10s %9.4g %10.2e %9s %9s\n", r->hops,
                        (long long)r->tokens, r->pattern, (long long)r->d_model, (long long)r->head_dim,
                        (long long)r->parameters, r->verdict, inputs, r->score_gap, r->wrong_mass, run, cut);
    }
}

typedef hop_status draw_fn(hop_text *out, const hop_ladder_page *page);

/* DIR/name, drawn by `draw`; the path goes to `path`. */
static hop_status save_page(const ladder *l, draw_fn *draw, const char *name, char *path, size_t size,
                            hop_error *err)
{
    char command[300];
    const ladder_args *a = l->args;
    snprintf(command, sizeof command,
             "hopbound ladder --rungs %lld --m %lld --fan %lld --count %lld --precision %lld --seed %lld",
             (long long)a->rungs.integer, (long long)a->m.integer, (long long)a->fan.integer,
             (long long)a->count.integer, (long long)a->precision.integer, (long long)a->common.seed.integer);
    hop_ladder_page page = {.rungs = l->rungs,
                            .rung_count = l->rung_count,
                            .layers = l->layers,
                            .layer_count = l->layer_count,
                            .version = HOP_VERSION,
                            .isa = hop_isa_name(hop_kernels_selected()),
                            .command = command};
    hop_text text = {0};
    hop_status s = hop_path_join(path, size, a->output.text, name, err);
    if (s == HOP_OK && (draw(&text, &page) != HOP_OK || text.failed))
        s = hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    if (s == HOP_OK) s = hop_file_write(path, text.s, text.len, err);
    hop_text_free(&text);
    return s;
}

static int show(const ladder *l)
{
    const common_args *a = &l->args->common;
    char page[4096], drawing[4096], data[4096];
    hop_error err = {0};
    hop_json_writer w = {.pretty = true};
    hop_status s = save_page(l, hop_report_ladder, "report.html", page, sizeof page, &err);
    if (s == HOP_OK) s = save_page(l, hop_report_ladder_svg, "ladder.svg", drawing, sizeof drawing, &err);
    if (s == HOP_OK) s = hop_path_join(data, sizeof data, l->args->output.text, "ladder.json", &err);
    if (s == HOP_OK) {
        write_json(&w, l, page);
        hop_text_add(&w.text, "\n");
        s = w.text.failed ? hop_fail(&err, HOP_ENOMEM, "%s: out of memory", data)
                          : hop_file_write(data, w.text.s, w.text.len, &err);
    }
    hop_text_free(&w.text);
    if (s != HOP_OK) return fail_error(a, &err);
    if (a->json.flag) {
        w = (hop_json_writer){0};
        write_json(&w, l, page);
        return print_json(a, &w);
    }
    hop_text out = {0};
    write_table(&out, l);
    hop_text_printf(&out, "\nreport: %s\n", page);
    return print_text(a, &out);
}

/* ---- the verb ------------------------------------------------------------------------------- */

static int cmd_ladder(common_args *common)
{
    static const int codes[] = {
        [HOP_PROVED] = EXIT_DONE, [HOP_REFUTED] = EXIT_COUNTEREXAMPLE, [HOP_UNDECIDED] = EXIT_UNDECIDED};
    hop_error err = {0};
    ladder *l = calloc(1, sizeof *l);
    if (!l) return fail(common, EXIT_FAILED, "out of memory");
    l->args = (const ladder_args *)common;
    l->worst = HOP_PROVED;
    int code = pool_open(common, &l->pool);
    hop_status s = HOP_OK;
    if (code == EXIT_DONE) s = hop_make_dir(l->args->output.text, &err);
    for (int hops = 1; code == EXIT_DONE && s == HOP_OK && hops <= l->args->rungs.integer; hops++)
        s = climb(l, hops, &err);
    if (code == EXIT_DONE && s != HOP_OK) code = fail_error(common, &err);
    if (code == EXIT_DONE) code = show(l);
    if (code == EXIT_DONE) code = codes[l->worst];
    hop_pool_free(l->pool);
    free(l);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound ladder", "Three rungs, a table, and ladder/report.html."},
    {"hopbound ladder --rungs 5 --m 6 --fan 3 -o tall", "Five hops at sizes that are no powers of two."},
    {0},
};
const verb verb_ladder = {
    .name = "ladder",
    .summary = "builds, proves and runs the hierarchy hop by hop; one table and a report",
    .description =
        "For each number of hops L it builds the network of L+1 full-attention layers, writes it, reads "
        "it back, proves from the file that it answers every input rightly, and runs it on sampled "
        "inputs, in float32 and with everything cut to a few significant bits. The page DIR/report.html "
        "shows the ladder and explains every column; DIR/ladder.svg is its drawing, DIR/ladder.json holds "
        "the same numbers, DIR/full-L are the networks.\n\n"
        "Exit 0: every rung is proved. Exit 10: one is refuted. Exit 30: one is undecided.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(ladder_args),
    .run = cmd_ladder,
};
/* clang-format on */
