/* hopbound ladder: the main job. For each number of hops: build the network, write it, read it back, prove
 * the file, run it, and show all of it in one table and one page. */
#include "cli.h"
#include "ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define AT(member) offsetof(ladder_args, member)
static const opt OPTIONS[] = {
    {"output", 'o', OPT_TEXT, AT(output), "DIR", "ladder",
     .help = "directory to write: networks, report.html, ladder.svg, ladder.json"},
    {"rungs", 0, OPT_INT, AT(rungs), "L", "3", 1, MOST_RUNGS, .help = "hops 1, 2, .., L"},
    {"m", 0, OPT_INT, AT(m), "M", "16", 2, 1 << 20, .help = "entries of the first function"},
    {"fan", 0, OPT_INT, AT(fan), "N", "8", 2, 1 << 20, .help = "how many times larger each next function is"},
    {"count", 'n', OPT_INT, AT(count), "N", "200", 0, (int64_t)1 << 40,
     .help = "instances to run on every rung"},
    {"precision", 0, OPT_INT, AT(precision), "BITS", "8", 1, 23,
     .help = "run them a second time with everything cut to that many significant bits"},
    {"brief", 0, OPT_FLAG, AT(brief), .help = "only the full networks, no hybrids and no others"},
    {0},
};
/* clang-format on */

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
    hop_json_number(w, "state_bits", r->state_bits);
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
    for (int64_t i = 0; i < l->other_count; i++) write_rung(w, &l->others[i]);
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

/* Hybrids of one rung that are all proved share a line. */
static void write_others(hop_text *out, const ladder *l)
{
    if (l->other_count)
        hop_text_printf(out, "\n%4s %-34s %-9s %s\n", "hops", "other networks", "verdict", "");
    for (int64_t i = 0; i < l->other_count; i++) {
        const hop_rung *r = &l->others[i];
        int64_t same = 1;
        bool hybrid = strncmp(r->kind, "hybrid, ", 8) == 0;
        while (hybrid && i + same < l->other_count && l->others[i + same].hops == r->hops &&
               strncmp(l->others[i + same].kind, "hybrid, ", 8) == 0 &&
               strcmp(l->others[i + same].verdict, r->verdict) == 0)
            same++;
        char name[64];
        if (same > 1)
            snprintf(name, sizeof name, "1 linear + %d full, %lld mixers", r->hops, (long long)same);
        else
            snprintf(name, sizeof name, "%.31s: %.28s", r->kind, r->pattern);
        hop_text_printf(out, "%4d %-34s %-9s %s", r->hops, name, r->verdict, same > 1 ? "" : r->why);
        for (int64_t k = 0; same > 1 && k < same; k++)
            hop_text_printf(out, "%s%s", k ? " " : "", l->others[i + k].kind + 8);
        hop_text_add(out, "\n");
        i += same - 1;
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
                            .others = l->others,
                            .other_count = l->other_count,
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
    write_others(&out, l);
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
        s = ladder_climb(l, hops, &err);
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
        "inputs, in float32 and with everything cut to a few significant bits. Beside it stand the "
        "other networks of the rung: one linear layer and L full ones for every linear mixer, a chain of "
        "thought, an encoder, a stack of linear layers with its state bits; and what the theorems say of L "
        "full layers and of the extremal hybrid. The page DIR/report.html "
        "shows the ladder and explains every column; DIR/ladder.svg is its drawing, DIR/ladder.json holds "
        "the same numbers, DIR/full-L are the networks.\n\n"
        "Exit 0: every rung is proved. Exit 10: one is refuted. Exit 30: one is undecided.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(ladder_args),
    .run = cmd_ladder,
};
/* clang-format on */
