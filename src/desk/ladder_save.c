/* What the ladder leaves behind: the page, its drawings, ladder.json. */
#include "ladder.h"

typedef hop_status draw_fn(hop_text *out, const hop_ladder_page *page);

static hop_status draw_learnt(hop_text *out, const hop_ladder_page *page)
{
    return hop_report_learnt_svg(out, page->learnt, page->learnt_count, "");
}

/* DIR/name with that text, which is freed; `path` keeps it. */
static hop_status save(const ladder *l, hop_text *text, const char *name, char path[4096], hop_error *err)
{
    hop_status s = hop_path_join(path, 4096, l->args->output.text, name, err);
    if (s == HOP_OK && text->failed) s = hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    if (s == HOP_OK) s = hop_file_write(path, text->s, text->len, err);
    hop_text_free(text);
    return s;
}

static hop_status save_pages(ladder *l, hop_ladder_answer *a, const char *command, hop_error *err)
{
    const hop_ladder_page page = {.rungs = l->rungs,
                                  .rung_count = l->rung_count,
                                  .layers = l->layers,
                                  .layer_count = l->layer_count,
                                  .others = l->others,
                                  .other_count = l->other_count,
                                  .failures = l->failures,
                                  .failure_count = l->failure_count,
                                  .demonstration =
                                      l->demonstration.page.length ? &l->demonstration.page : NULL,
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
    static const struct {
        draw_fn *draw;
        const char *name;
    } files[] = {{hop_report_ladder_svg, "ladder.svg"},
                 {draw_learnt, "learnt.svg"},
                 {hop_report_ladder, "report.html"}};
    char path[4096];
    hop_status s = HOP_OK;
    for (size_t i = 0; i < sizeof files / sizeof *files && s == HOP_OK; i++) {
        hop_text text = {0};
        if (files[i].draw == draw_learnt && !l->learnt_count) continue;
        if (files[i].draw(&text, &page) != HOP_OK) text.failed = true;
        s = save(l, &text, files[i].name, path, err);
    }
    a->report = hop_keep_text(&l->out->memory, path);
    return s == HOP_OK ? hop_response_end(l->out, err) : s;
}

hop_status hop__ladder_save(ladder *l, hop_ladder_answer *a, const hop_opt_group *groups, hop_error *err)
{
    static const char *const but[] = {"output", "threads", NULL}; /* which change no number */
    const hop_opt_group common[] = {{.title = "Common options", .opts = hop_request_options}, {0}};
    char path[4096];
    hop_text command = {0};
    hop_text_add(&command, "hopbound ladder");
    hop_opts_command(&command, groups, l->args, but);
    hop_opts_command(&command, common, l->args, but);
    hop_status s =
        command.failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : save_pages(l, a, command.s, err);
    hop_text_free(&command);
    if (s != HOP_OK) return s;
    hop_json_writer w = {.pretty = true};
    hop_record_json(&w, &hop_ladder_answer_record, a);
    hop_text_add(&w.text, "\n");
    return save(l, &w.text, "ladder.json", path, err);
}
