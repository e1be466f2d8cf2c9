/* hopbound bench: how close the kernels come to what this machine can do. */
#include "cli.h"

#include "bench.h"

typedef struct bench_args {
    common_args common;
    hop_opt_value time, compare;
} bench_args;

static const char *const PEERS[] = {"torch", NULL};

/* clang-format off */
#define AT(member) offsetof(bench_args, member)
static const hop_opt OPTIONS[] = {
    {"time", 0, HOP_OPT_REAL, AT(time), "SECONDS", "0.3", 0, 3600,
     .help = "repeat each measurement that long; the best run counts"},
    {"compare", 0, HOP_OPT_CHOICE, AT(compare), "WITH", NULL, .choices = PEERS, .initial_help = "nobody",
     .help = "instead of the kernels, a training step in turn with that library's, as /usr/bin/python3 has it "
             "(or the one that HOPBOUND_PYTHON names); it gets AVX-512 where --isa has that, or else AVX2"},
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
        hop_text_printf(&out, "  %-24s %-32s %10.2f", r->name, r->size, r->gflops);
        if (r->percent_of_peak > 0)
            hop_text_printf(&out, " %10.1f\n", r->percent_of_peak);
        else
            hop_text_printf(&out, " %10s\n", "-"); /* counts no flops: 1e9 a second */
    }
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    int code = a->common.json.flag ? print_json(&a->common, &w) : print_text(&a->common, &out);
    hop_text_free(&w.text);
    hop_text_free(&out);
    return code;
}

/* The same for best and median. */
static void say_pair(hop_json_writer *w, hop_text *out, const hop_bench_pair *p)
{
    static const char *const kind[] = {"best", "median"};
    hop_json_begin_object(w);
    hop_json_string(w, "mixer", p->mixer);
    hop_json_integer(w, "d_model", p->d);
    hop_json_number(w, "peak_gflops", p->peak);
    for (int i = 0; i < 2; i++) {
        const double ours = (double)p->tokens / p->ours[i], theirs = (double)p->tokens / p->theirs[i];
        const double part = 1e-7 * p->flops / p->peak;
        hop_json_key(w, kind[i]);
        hop_json_begin_object(w);
        hop_json_number(w, "ratio", ours / theirs);
        hop_json_number(w, "tokens_per_second", ours);
        hop_json_number(w, "torch_tokens_per_second", theirs);
        hop_json_number(w, "percent_of_peak", part / p->ours[i]);
        hop_json_number(w, "torch_percent_of_peak", part / p->theirs[i]);
        hop_json_end_object(w);
        hop_text_printf(out, "  %-8s %5d  %-7s %12.0f %12.0f %8.2fx %9.1f %9.1f\n", i ? "" : p->mixer,
                        (int)p->d, kind[i], ours, theirs, ours / theirs, part / p->ours[i],
                        part / p->theirs[i]);
    }
    hop_json_end_object(w);
}

static int compare_torch(const bench_args *a, hop_pool *pool)
{
    hop_bench_pair pairs[HOP_BENCH_PAIRS];
    hop_bench_compare c = {.pool = pool, .seconds = a->time.real, .progress = &a->common.progress};
    hop_error err;
    char version[32];
    hop_status s = hop_bench_compare_torch(pairs, version, &c, &err);
    if (s == HOP_ESTOPPED) return fail_stopped(&a->common);
    if (s != HOP_OK) return fail_error(&a->common, &err);
    hop_json_writer w = {0};
    hop_text out = {0};
    hop_json_begin_object(&w);
    hop_json_string(&w, "isa", hop_isa_name(hop_kernels_selected()));
    hop_json_integer(&w, "threads", hop_pool_threads(pool));
    hop_json_string(&w, "torch", version);
    hop_json_key(&w, "comparisons");
    hop_json_begin_array(&w);
    hop_text_printf(&out,
                    "a training step (3 layers, 4 heads, 64 sequences of 128 tokens) in turn with PyTorch "
                    "%s, %d threads\n"
                    "  %-8s %5s  %-7s %12s %12s %9s %9s %9s\n",
                    version, hop_pool_threads(pool), "mixer", "d", "", "tokens/s", "PyTorch's", "ratio",
                    "% of peak", "PyTorch's");
    for (int i = 0; i < HOP_BENCH_PAIRS; i++) say_pair(&w, &out, &pairs[i]);
    hop_text_printf(
        &out, "full: attention; gdn: gated DeltaNet; retnet: decays that are given; mamba2: decays that "
              "each token chooses.\n"
              "Linear mixers without convolutions, output gates and norms, on both sides. Ratio: our "
              "tokens a second over PyTorch's;\n"
              "peak: this machine's multiply-adds, measured in the same minute.\n");
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
    if (a->compare.given) {
        code = compare_torch(a, pool);
        hop_pool_free(pool);
        return code;
    }
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
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound bench",
     "All kernels, on all cores."},
    {"hopbound bench --isa avx2 --threads 1 --json",
     "One core, without AVX-512, for scripts."},
    {"hopbound bench --compare torch --time 2",
     "Training steps of attention, gated DeltaNet, RetNet and Mamba-2 beside PyTorch's."},
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
