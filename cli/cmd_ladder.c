/* hopbound ladder: the main job. For each number of hops: build the network, write it, read it back, prove
 * the file, run it, and show all of it in one table and one page. */
#include "cli.h"
#include "ladder.h"

#include <stdlib.h>

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
/* clang-format on */

/* ---- the verb ------------------------------------------------------------------------------- */

static hop_status make_sections(ladder *l, hop_error *err)
{
    hop_status s = ladder_demonstration_make(l, err);
    if (s == HOP_OK) s = ladder_thresholds_make(l, err);
    return s == HOP_OK ? ladder_map_make(l, err) : s;
}

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
    if (code == EXIT_DONE && s == HOP_OK && !l->args->brief.flag) s = make_sections(l, &err);
    if (code == EXIT_DONE && s == HOP_OK && l->args->train.flag) s = ladder_train(l, &err);
    if (code == EXIT_DONE && s != HOP_OK) code = fail_error(common, &err);
    if (code == EXIT_DONE) code = ladder_show(l);
    if (code == EXIT_DONE) code = ladder_train_check(l);
    if (code == EXIT_DONE) code = codes[l->worst];
    ladder_demonstration_free(l);
    ladder_map_free(l);
    ladder_thresholds_free(l);
    hop_pool_free(l->pool);
    free(l);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound ladder", "Three rungs, both halves, and ladder/report.html."},
    {"hopbound ladder --rungs 5 --m 6 --fan 3 -o tall", "Five hops at sizes that are no powers of two."},
    {"hopbound ladder --train", "Beside what is proved, what gradient descent learns: accuracy as the table grows."},
    {0},
};
const verb verb_ladder = {
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
    .colours = true,
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(ladder_args),
    .run = cmd_ladder,
};
/* clang-format on */
