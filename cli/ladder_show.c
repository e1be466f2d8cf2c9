/* What the ladder leaves behind: the page, its drawing, ladder.json; and the table on standard output. */
#include "ladder.h"

#include <math.h>
#include <string.h>

/* ---- JSON ----------------------------------------------------------------------------------- */

/* What only a network that was built has. */
static void write_measured(hop_json_writer *w, const hop_ladder_row *r)
{
    hop_json_integer(w, "d_model", r->d_model);
    hop_json_integer(w, "parameters", r->parameters);
    hop_json_number(w, "log10_inputs", r->log10_inputs);
    hop_json_integer(w, "enumerated", r->enumerated);
    hop_json_number(w, "score_gap", r->score_gap);
    hop_json_number(w, "wrong_mass", r->wrong_mass);
    hop_json_number(w, "clip_margin", r->clip_margin);
    hop_json_number(w, "readout_margin", r->readout_margin);
    hop_json_integer(w, "instances", r->instances);
    hop_json_integer(w, "correct", r->correct);
    if (r->rounded_instances) hop_json_integer(w, "cut_bits", r->rounded_bits);
    if (r->rounded_instances) hop_json_integer(w, "cut_correct", r->rounded_correct);
    if (r->looked) hop_json_integer(w, "looked", r->looked);
    hop_json_number(w, "seconds", r->seconds);
}

static void write_row(hop_json_writer *w, const hop_ladder_row *r)
{
    hop_json_begin_object(w);
    hop_json_integer(w, "hops", r->hops);
    hop_json_string(w, "sizes", r->sizes);
    hop_json_integer(w, "n", r->tokens);
    hop_json_string(w, "kind", r->kind);
    hop_json_boolean(w, "built", r->built);
    if (r->mixer[0]) hop_json_string(w, "mixer", r->mixer);
    hop_json_string(w, "pattern", r->pattern);
    hop_json_known(w, "layers", r->layers, r->layers > 0);
    hop_json_integer(w, "full_layers", r->full_layers);
    hop_json_integer(w, "head_dim", r->head_dim);
    hop_json_number(w, "state_bits", r->state_bits);
    hop_json_integer(w, "message_bits", r->message_bits);
    hop_json_string(w, "verdict", r->verdict);
    hop_json_string(w, "why", r->why);
    hop_json_string(w, "theorem", r->theorem);
    if (r->theorem[0])
        hop_json_boolean(w, "machine_checked", r->machine_checked);
    else
        hop_json_null(w, "machine_checked");
    hop_json_string(w, "speaks_from_n", r->speaks_from);
    hop_json_number(w, "log10_n", length_log10(r->speaks_from));
    if (r->own_from[0]) hop_json_string(w, "below_impossible_from_n", r->own_from);
    if (r->own_from[0]) hop_json_string(w, "below_theorem", r->own_theorem);
    if (r->witness[0]) hop_json_string(w, "witness", r->witness);
    if (r->witness[0]) hop_json_string(w, "shown", r->shown);
    if (r->built) write_measured(w, r);
    hop_json_end_object(w);
}

static void write_models(hop_json_writer *w, const hop_map *m)
{
    hop_json_key(w, "models");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < m->model_count; i++) {
        const hop_map_model *x = &m->models[i];
        hop_json_begin_object(w);
        hop_json_string(w, "name", x->name);
        hop_json_string(w, "plan", x->plan);
        hop_json_integer(w, "layers", x->layers);
        hop_json_integer(w, "full_layers", x->full);
        hop_json_integer(w, "linear_layers", x->linear);
        hop_json_number(w, "state_bits", x->state_bits);
        hop_json_known(w, "context", x->context, x->context > 0);
        hop_json_key(w, "hops");
        hop_json_begin_array(w);
        for (int h = 0; h < HOP_MAP_HOPS; h++) {
            hop_json_begin_object(w);
            hop_json_integer(w, "hops", h + 1);
            hop_json_string(w, "verdict", x->verdict[h]);
            hop_json_string(w, "theorem", x->theorem[h]);
            if (x->from[h][0])
                hop_json_boolean(w, "machine_checked", x->machine_checked[h]);
            else
                hop_json_null(w, "machine_checked");
            hop_json_string(w, "speaks_from_n", x->from[h]);
            hop_json_number(w, "log10_n", length_log10(x->from[h]));
            hop_json_end_object(w);
        }
        hop_json_end_array(w);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void write_json(hop_json_writer *w, const ladder *l, const char *report)
{
    hop_json_begin_object(w);
    hop_json_key(w, "rungs");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < l->rung_count; i++) write_row(w, &l->rungs[i]);
    for (int64_t i = 0; i < l->other_count; i++) write_row(w, &l->others[i]);
    hop_json_end_array(w);
    if (l->map.page.model_count) write_models(w, &l->map.page);
    if (l->learnt_count) ladder_train_write(w, l);
    write_supposed(w);
    hop_json_string(w, "report", report);
    hop_json_string(w, "isa", hop_isa_name(hop_kernels_selected()));
    hop_json_string(w, "version", HOP_VERSION);
    hop_json_end_object(w);
}

/* ---- one block a rung ------------------------------------------------------------------------------ */

static bool of_rung(const hop_ladder_row *r, int hops, bool built)
{
    return r->hops == hops && r->built == built;
}

static bool is_hybrid(const hop_ladder_row *r)
{
    return r->mixer[0] != 0;
}

static void write_built(hop_text *out, const hop_ladder_row *r)
{
    char extra[96] = "";
    if (r->message_bits) snprintf(extra, sizeof extra, ", also with %d-bit messages", r->message_bits);
    hop_text_printf(out, "  %-22s %-10s on all 10^%.1f inputs%s; run %lld/%lld", r->pattern, r->verdict,
                    r->log10_inputs, extra, (long long)r->correct, (long long)r->instances);
    if (r->rounded_instances)
        hop_text_printf(out, ", cut to %d bits %lld/%lld", r->rounded_bits, (long long)r->rounded_correct,
                        (long long)r->rounded_instances);
    if (r->looked)
        hop_text_add(out, "; the refuter finds nothing"); /* how far it came depends on the clock */
    if (r->why[0]) hop_text_printf(out, "; %s", r->why);
    hop_text_add(out, "\n");
}

/* Its state at the messages' precision is no larger than what the rows below are impossible with. */
static bool as_narrow(const hop_ladder_row *r, const hop_ladder_row *main)
{
    return r->state_bits <= main->state_limit;
}

static void write_mixers(hop_text *out, const ladder *l, const hop_ladder_row *main, bool narrow)
{
    int64_t count = 0;
    hop_text names = {0};
    for (int64_t i = 0; i < l->other_count; i++) {
        const hop_ladder_row *r = &l->others[i];
        if (r->hops != main->hops || !is_hybrid(r) || strcmp(r->verdict, "proved") != 0 || !r->message_bits)
            continue;
        if (as_narrow(r, main) != narrow) continue;
        count++;
        hop_text_printf(&names, narrow || count == 1 ? " %s" : ", %s", r->mixer);
        if (!narrow) hop_text_printf(&names, " %.0f", r->state_bits);
        if (!narrow && r->own_from[0]) hop_text_printf(&names, " (n = %s)", r->own_from);
    }
    char pattern[32];
    snprintf(pattern, sizeof pattern, main->hops > 1 ? "L full^%d" : "L full", main->hops);
    if (count && narrow)
        hop_text_printf(out, "  %-22s %-10s the same, states of at most %.0f bits, %lld linear mixers:%s\n",
                        pattern, "proved", main->state_limit, (long long)count, names.s ? names.s : "");
    else if (count)
        hop_text_printf(
            out,
            "  %-22s %-10s the same, larger states (bits), for which the rows below begin at longer n:%s\n",
            pattern, "proved", names.s ? names.s : "");
    hop_text_free(&names);
}

static void write_hybrids(hop_text *out, const ladder *l, const hop_ladder_row *main)
{
    for (int64_t i = 0; i < l->other_count; i++) {
        const hop_ladder_row *r = &l->others[i];
        bool shared = strcmp(r->verdict, "proved") == 0 && r->message_bits;
        if (r->hops == main->hops && is_hybrid(r) && !shared) write_built(out, r);
    }
    write_mixers(out, l, main, true);
    write_mixers(out, l, main, false);
}

static void write_known(hop_text *out, const hop_ladder_row *r)
{
    if (strcmp(r->verdict, "impossible") == 0)
        hop_text_printf(out, "  %-22s IMPOSSIBLE %s\n", r->pattern, r->why);
    else if (strcmp(r->verdict, "from_n") == 0)
        hop_text_printf(out, "  %-22s %-10s %s\n", r->pattern, "longer n", r->why);
    else
        hop_text_printf(out, "  %-22s %-10s %s\n", r->pattern, "open", r->why);
    if (r->shown[0]) hop_text_printf(out, "  %-22s %-10s %s\n", "", "  as built", r->shown);
}

static void write_table(hop_text *out, const ladder *l)
{
    for (int64_t i = 0; i < l->rung_count; i++) {
        const hop_ladder_row *r = &l->rungs[i];
        hop_text_printf(out, "%s%d hop%s at n = %lld tokens (%s), one head of %lld numbers\n", i ? "\n" : "",
                        r->hops, r->hops == 1 ? "" : "s", (long long)r->tokens, r->sizes,
                        (long long)r->head_dim);
        write_built(out, r);
        write_hybrids(out, l, r);
        for (int64_t k = 0; k < l->other_count; k++)
            if (of_rung(&l->others[k], r->hops, false)) write_known(out, &l->others[k]);
        for (int64_t k = 0; k < l->other_count; k++) {
            const hop_ladder_row *x = &l->others[k];
            if (!of_rung(x, r->hops, true) || is_hybrid(x)) continue;
            hop_text_printf(out, "  %-22s %-10s %s, n = %lld, %s%s%s\n", x->pattern, x->verdict, x->kind,
                            (long long)x->tokens, x->sizes, x->why[0] ? "; " : "", x->why);
        }
    }
}

typedef hop_status draw_fn(hop_text *out, const hop_ladder_page *page);

/* DIR/name, drawn by `draw`; the path goes to `path`. */
static hop_status save_page(const ladder *l, draw_fn *draw, const char *name, char *path, size_t size,
                            hop_error *err)
{
    char command[300];
    const ladder_args *a = l->args;
    snprintf(command, sizeof command, "hopbound ladder --rungs %lld --bits %lld --precision %lld --seed %lld",
             (long long)a->rungs.integer, (long long)a->bits.integer, (long long)a->precision.integer,
             (long long)a->common.seed.integer);
    size_t used = strlen(command);
    if (a->train.flag)
        used += (size_t)snprintf(command + used, sizeof command - used, " --train --seeds %lld",
                                 (long long)a->seeds.integer);
    if (a->train_steps.given)
        used += (size_t)snprintf(command + used, sizeof command - used, " --train-steps %lld",
                                 (long long)a->train_steps.integer);
    if (a->brief.flag) used += (size_t)snprintf(command + used, sizeof command - used, " --brief");
    if (a->count.given)
        used += (size_t)snprintf(command + used, sizeof command - used, " --count %lld",
                                 (long long)a->count.integer);
    if (a->m.given)
        used += (size_t)snprintf(command + used, sizeof command - used, " --m %lld", (long long)a->m.integer);
    if (a->fan.given)
        snprintf(command + used, sizeof command - used, " --fan %lld", (long long)a->fan.integer);
    hop_ladder_page page = {.rungs = l->rungs,
                            .rung_count = l->rung_count,
                            .layers = l->layers,
                            .layer_count = l->layer_count,
                            .others = l->others,
                            .other_count = l->other_count,
                            .failures = l->failures,
                            .failure_count = l->failure_count,
                            .demonstration = l->demonstration.page.length ? &l->demonstration.page : NULL,
                            .map = l->map.page.row_count ? &l->map.page : NULL,
                            .learnt = l->learnt,
                            .learnt_count = l->learnt_count,
                            .thresholds = l->thresholds.page,
                            .thresholds_count = l->thresholds.count,
                            .solver = l->thresholds.solver,
                            .no_thresholds = l->thresholds.missing[0] ? l->thresholds.missing : NULL,
                            .version = HOP_VERSION,
                            .isa = hop_isa_name(hop_kernels_selected()),
                            .command = command,
                            .model = HOP_BOUNDS_MODEL,
                            .idealised = HOP_BOUNDS_IDEALISED};
    hop_text text = {0};
    hop_status s = hop_path_join(path, size, a->output.text, name, err);
    if (s == HOP_OK && (draw(&text, &page) != HOP_OK || text.failed))
        s = hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    if (s == HOP_OK) s = hop_file_write(path, text.s, text.len, err);
    hop_text_free(&text);
    return s;
}

static hop_status draw_learnt(hop_text *out, const hop_ladder_page *page)
{
    return hop_report_learnt_svg(out, page->learnt, page->learnt_count, "");
}

int ladder_show(const ladder *l)
{
    const common_args *a = &l->args->common;
    char page[4096], drawing[4096], data[4096];
    hop_error err = {0};
    hop_json_writer w = {.pretty = true};
    hop_status s = save_page(l, hop_report_ladder, "report.html", page, sizeof page, &err);
    if (s == HOP_OK) s = save_page(l, hop_report_ladder_svg, "ladder.svg", drawing, sizeof drawing, &err);
    if (s == HOP_OK && l->learnt_count)
        s = save_page(l, draw_learnt, "learnt.svg", drawing, sizeof drawing, &err);
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
    hop_text_add(&out, "\n");
    say_any_weights(&out);
    ladder_train_print(&out, l);
    hop_text_add(&out, "\nreport: ");
    hop_text_name(&out, page);
    hop_text_add(&out, "\n");
    return print_text(a, &out);
}
