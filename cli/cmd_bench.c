/* hopbound bench: how close the kernels come to what this machine can do. */
#include "cli.h"

#include "bench.h"

typedef struct bench_args {
    common_args common;
    opt_value time;
} bench_args;

/* clang-format off */
#define AT(member) offsetof(bench_args, member)
static const opt OPTIONS[] = {
    {"time", 0, OPT_REAL, AT(time), "SECONDS", "0.3", 0, 3600,
     .help = "repeat each measurement that long; the best run counts"},
    {0},
};
/* clang-format on */

static int report(const bench_args *a, const hop_bench_row *rows, int count, double peak, int threads)
{
    hop_json_writer w = {0};
    hop_text out = {0};
    const char *isa = hop_isa_name(hop_kernels_selected());
    hop_json_begin_object(&w);
    hop_json_string(&w, "isa", isa);
    hop_json_integer(&w, "threads", threads);
    hop_json_number(&w, "peak_gflops", peak);
    hop_json_key(&w, "results");
    hop_json_begin_array(&w);
    hop_text_printf(&out, "%s kernels, %d threads, multiply-add peak %.1f GFLOP/s\n", isa, threads, peak);
    hop_text_printf(&out, "  %-24s %-32s %10s %10s\n", "kernel", "size", "GFLOP/s", "% of peak");
    for (int i = 0; i < count; i++) {
        const hop_bench_row *r = &rows[i];
        hop_json_begin_object(&w);
        hop_json_string(&w, "name", r->name);
        hop_json_string(&w, "size", r->size);
        hop_json_number(&w, "gflops", r->gflops);
        hop_json_number(&w, "percent_of_peak", r->percent_of_peak);
        hop_json_number(&w, "seconds", r->seconds);
        hop_json_end_object(&w);
        hop_text_printf(&out, "  %-24s %-32s %10.2f %10.1f\n", r->name, r->size, r->gflops,
                        r->percent_of_peak);
    }
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    int code = a->common.json.flag ? print_json(&a->common, &w) : print_text(&a->common, &out);
    hop_text_free(&w.text);
    hop_text_free(&out);
    return code;
}

static int cmd_bench(common_args *common)
{
    const bench_args *a = (const bench_args *)common;
    hop_pool *pool = NULL;
    hop_bench_row rows[HOP_BENCH_MAX];
    int code = pool_open(common, &pool);
    if (code != EXIT_DONE) return code;
    double peak = hop_peak_gflops(pool);
    int count = hop_bench_kernels(rows, HOP_BENCH_MAX, pool, a->time.real);
    if (terminal_stopped())
        code = fail_stopped(common);
    else if (count < 0)
        code = fail(common, EXIT_FAILED, "measuring: out of memory");
    else
        code = report(a, rows, count, peak, hop_pool_threads(pool));
    hop_pool_free(pool);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound bench",
     "All kernels, on all cores."},
    {"hopbound bench --isa avx2 --threads 1 --json",
     "One core, without AVX-512, for scripts."},
    {0},
};
const verb verb_bench = {
    .name = "bench",
    .summary = "measures the kernels against this machine's own peak",
    .description =
        "The peak is that of fused multiply-adds, measured beside each kernel, since clocks change. "
        "Attention counts the flops of the causal half only.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(bench_args),
    .run = cmd_bench,
};
/* clang-format on */
