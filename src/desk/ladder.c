/* The verb ladder: for each number of hops build the network, write it, read it back, prove the file, run it, and put
 * all of it into one table and one page. */
#include "ladder.h"

#include <hopbound/learnt.h>

#include <stdlib.h>

HOP_RECORD_TABLE(hop_ladder_learnt, HOP_LADDER_LEARNT, "what a plan has learnt")
HOP_RECORD_TABLE(hop_ladder_answer, HOP_LADDER_ANSWER, "both halves, hop by hop")

/* clang-format off */
#define AT(member) offsetof(ladder_args, member)
static const hop_opt OPTIONS[] = {
    {"output", 'o', HOP_OPT_TEXT, AT(output), "DIR", "ladder",
     .help = "directory to write: networks, report.html, ladder.svg, ladder.json"},
    {"rungs", 0, HOP_OPT_INT, AT(rungs), "L", "3", 1, MOST_RUNGS, .help = "hops 1, 2, .., L"},
    {"m", 0, HOP_OPT_INT, AT(m), "M", NULL, 2, 1 << 20,
     .initial_help = "the shortest sizes at which both halves speak, if they run; else 16",
     .help = "entries of the first function"},
    {"fan", 0, HOP_OPT_INT, AT(fan), "N", NULL, 2, 1 << 20, .initial_help = "as --m has it; else 8",
     .help = "how many times larger each next function is"},
    {"bits", 0, HOP_OPT_INT, AT(bits), "P", "16", HOP_MIN_NUMBER_BITS, 32,
     .help = "bits of a number that crosses between players: the theorems count them, the proofs round to them"},
    {"count", 'n', HOP_OPT_INT, AT(count), "N", NULL, 0, (int64_t)1 << 40,
     .initial_help = "200, fewer of long ones", .help = "instances to run on every rung"},
    {"precision", 0, HOP_OPT_INT, AT(precision), "BITS", "8", 1, 23,
     .help = "run them a second time with everything rounded to that many significant bits"},
    {"brief", 0, HOP_OPT_FLAG, AT(brief), .help = "only the full networks: no hybrids, no others, and the page without its other sections"},
    {"train", 0, HOP_OPT_FLAG, AT(train),
     .help = "train the plans above and below the line, too, for one hop and two: about 20 minutes on two cores; stopped, "
             "the same command goes on"},
    {"train-steps", 0, HOP_OPT_INT, AT(train_steps), "N", NULL, 1, 1000000000, .initial_help = "1,000 to 4,000, by size",
     .help = "with --train: steps of each training, at most"},
    {"seeds", 0, HOP_OPT_INT, AT(seeds), "N", "3", 1, HOP_LEARNT_SEEDS, .help = "with --train: trainings of each plan and size"},
    {0},
};
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
/* clang-format on */

/* ---- the answer ----------------------------------------------------------------------------- */

static void record_learnt(hop_ladder_answer *a, hop_keep *k, const ladder *l)
{
    hop_ladder_learnt *rows =
        l->learnt_count ? hop_keep_bytes(k, (size_t)l->learnt_count, sizeof *rows) : NULL;
    if (!rows) return;
    a->learnt.at = rows, a->learnt.count = l->learnt_count;
    for (int64_t i = 0; i < l->learnt_count; i++) {
        const hop_learnt *r = &l->learnt[i];
        double *each = hop_keep_bytes(k, (size_t)r->seeds + 1, sizeof *each);
        for (int seed = 0; each && seed < r->seeds; seed++) each[seed] = r->accuracy[seed];
        rows[i] = (hop_ladder_learnt){.hops = r->hops,
                                      .pattern = hop_keep_said(k, r->pattern),
                                      .mixer = hop_keep_said(k, r->mixer),
                                      .sizes = hop_keep_said(k, r->sizes),
                                      .n = r->tokens,
                                      .entries = r->entries,
                                      .d_model = r->d_model,
                                      .steps = r->steps,
                                      .accuracies = {each, r->seeds},
                                      .mean = r->mean,
                                      .least = r->least,
                                      .most = r->most,
                                      .chance = r->chance,
                                      .ceiling = r->ceiling,
                                      .seconds = r->seconds};
    }
}

/* What was climbed as the answer: the rungs' own rows first. */
static hop_status record(ladder *l, hop_error *err)
{
    static const hop_exit codes[] = {[HOP_PROVED] = HOP_EXIT_DONE,
                                     [HOP_REFUTED] = HOP_EXIT_COUNTEREXAMPLE,
                                     [HOP_UNDECIDED] = HOP_EXIT_UNDECIDED};
    hop_keep *k = &l->out->memory;
    hop_ladder_answer *a = hop_response_begin(l->out, &hop_ladder_answer_record, err);
    int64_t rungs = l->rung_count, count = rungs + l->other_count;
    hop_ladder_row *rows = a ? hop_keep_bytes(k, (size_t)count, sizeof *rows) : NULL;
    if (!rows) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < count; i++) rows[i] = i < rungs ? l->rungs[i] : l->others[i - rungs];
    *a = (hop_ladder_answer){.rungs = {rows, count},
                             .model = HOP_BOUNDS_MODEL,
                             .idealised = HOP_BOUNDS_IDEALISED,
                             .isa = hop_isa_name(hop_kernels_selected()),
                             .version = HOP_VERSION};
    if (l->map.page.model_count) a->models.at = l->map.models, a->models.count = l->map.page.model_count;
    record_learnt(a, k, l);
    hop_status s = hop__ladder_save(l, a, GROUPS, err);
    l->out->complaint = hop_learnt_bug(k, l->learnt, l->learnt_count);
    l->out->exit = l->out->complaint ? HOP_EXIT_FAILED : codes[l->worst];
    return s == HOP_OK ? hop_response_end(l->out, err) : s;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static hop_status climb(ladder *l, hop_error *err)
{
    const ladder_args *a = l->args;
    hop_status s = hop_make_dir(a->output.text, err);
    for (int hops = 1; s == HOP_OK && hops <= a->rungs.integer; hops++) s = hop__ladder_climb(l, hops, err);
    if (s == HOP_OK && !a->brief.flag) s = hop__ladder_demonstration_make(l, err);
    if (s == HOP_OK && !a->brief.flag) s = hop__ladder_thresholds_make(l, err);
    if (s == HOP_OK && !a->brief.flag) s = hop__ladder_map_make(l, err);
    if (s == HOP_OK && a->train.flag) s = hop__ladder_train(l, err);
    return s == HOP_OK ? record(l, err) : s;
}

static hop_status ask_ladder(hop_response *out, const void *request, hop_error *err)
{
    ladder *l = hop_keep_bytes(&out->memory, 1, sizeof *l);
    if (!l) return hop_fail(err, HOP_ENOMEM, "out of memory");
    l->args = request;
    l->out = out;
    l->worst = HOP_PROVED;
    hop_status s = hop__pool(&l->pool, &l->args->ask, err);
    if (s != HOP_OK) return s;
    s = climb(l, err);
    hop__ladder_demonstration_free(l);
    hop__ladder_map_free(l);
    hop__ladder_thresholds_free(l);
    hop_pool_free(l->pool);
    return s;
}

/* clang-format off */
static const hop_example EXAMPLES[] = {
    {"hopbound ladder", "Three rungs, both halves, and ladder/report.html."},
    {"hopbound ladder --rungs 5 --m 6 --fan 3 -o tall", "Five hops at sizes that are no powers of two."},
    {"hopbound ladder --train", "Beside what is proved, what gradient descent learns: accuracy as the table grows."},
    {0},
};
const hop_verb hop__verb_ladder = {
    .name = "ladder",
    .summary = "builds, proves and runs the hierarchy hop by hop; one table and a report",
    .description =
        "Both halves of the hierarchy, at one length, one width and one precision. For each number of hops L it takes the "
        "shortest sizes at which both speak (`separate`), if they run. Above: the network of L+1 full-attention layers, and "
        "one linear layer with L full ones for every linear mixer, each built, written, read back, proved from the file on "
        "every input, in float32 and with P-bit messages between players, and run on sampled inputs. Below: a full layer "
        "fewer, with linear layers in the gaps, without any, linear layers only, and the paper's extremal hybrid: which "
        "theorem says that it is impossible at this width, or from which length on, for any weights of networks that are "
        HOP_BOUNDS_MODEL ". Beside them, at smaller sizes: a "
        "chain of thought, an encoder, a stack of linear layers with its state bits. The page DIR/report.html shows the "
        "ladder and explains every column; DIR/ladder.svg is its drawing, DIR/ladder.json holds the same numbers, DIR/full-L "
        "are the networks, DIR/exact the proofs of the page\'s staircase.\n\n"
        "Exit 0: every rung is proved. Exit 10: one is refuted. Exit 30: one is undecided.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_ladder_answer_record,
    .rows = "rungs",
    .request_size = sizeof(ladder_args),
    .ask = ask_ladder,
};
/* clang-format on */
