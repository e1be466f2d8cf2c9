/* The verb separate: one length, one width, one precision: what is possible above, what is impossible below. */
#include <hopbound/ask_separate.h>

#include <hopbound/construct.h>
#include <hopbound/mixers.h>
#include <hopbound/model.h>
#include <hopbound/protocol.h>
#include <hopbound/tasks.h>

#include <math.h>
#include "desk.h"

HOP_RECORD_TABLE(hop_separate_row, HOP_SEPARATE_ROW, "a layer plan")
HOP_RECORD_TABLE(hop_separate_answer, HOP_SEPARATE_ANSWER, "a separation")
HOP_RECORD_TABLE(hop_separate_cell, HOP_SEPARATE_CELL, "a length")
HOP_RECORD_TABLE(hop_separate_table, HOP_SEPARATE_TABLE, "lengths")

const char *const hop_row_verdict_words[] = {"impossible", "possible", "from_n", "silent", NULL};

typedef struct separate_args {
    hop_request ask;
    hop_opt_value hops, bits, linear, mixer, fewer, table;
} separate_args;

/* clang-format off */
#define AT(member) offsetof(separate_args, member)
static const hop_opt OPTIONS[] = {
    {"hops", 0, HOP_OPT_INT, AT(hops), "L", "2", 1, HOP_MAX_HOPS - 1, .help = "functions to compose"},
    {"bits", 0, HOP_OPT_INT, AT(bits), "P", "16", HOP_MIN_NUMBER_BITS, 32,
     .help = "bits of a number that crosses between players"},
    {"linear", 0, HOP_OPT_INT, AT(linear), "K", "1", 1, 1 << 20, .help = "linear layers in every gap of the row below"},
    {"mixer", 0, HOP_OPT_TEXT, AT(mixer), "NAME", .initial_help = "the narrowest state of all: one code",
     .help = "linear layers keep what `build hybrid --mixer NAME` keeps at these sizes"},
    {"fewer", 0, HOP_OPT_FLAG, AT(fewer), .help = "L full layers without a linear one must be impossible, too"},
    {"table", 0, HOP_OPT_FLAG, AT(table), .help = "the shortest n over linear layers a gap and bits, instead of one separation"},
    {0},
};
/* clang-format on */

static const int64_t TABLE_BITS[] = {13, 16, 20, 24, 32}, TABLE_LINEAR[] = {1, 2, 4, 8, 16};
enum { COLUMNS = sizeof TABLE_BITS / sizeof *TABLE_BITS, LINES = sizeof TABLE_LINEAR / sizeof *TABLE_LINEAR };

/* ---- a mixer's own state ------------------------------------------------------------------------- */

static int64_t state_numbers(const hop_separation *s, const void *mixer)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    int64_t numbers = 0;
    if (hop_funccomp_init(&t.funccomp, s->hops, s->m, s->fan + 1, NULL) != HOP_OK) return 0;
    if (hop_task_ready(&t, NULL) != HOP_OK) return 0;
    return hop_construct_hybrid_state(&numbers, mixer, &t, NULL) == HOP_OK ? numbers : 0;
}

void hop_separation_of_mixer(hop_separation *s, const char *mixer)
{
    s->state_numbers = state_numbers;
    s->state_of = mixer;
}

/* ---- one separation ------------------------------------------------------------------------------ */

static void fill_row(hop_keep *k, hop_separate_row *out, const hop_separation_row *r)
{
    bool later = r->answer == HOP_ANSWER_SILENT && r->speaks_from[0];
    *out = (hop_separate_row){
        .pattern = hop_keep_text(k, r->pattern),
        .verdict = later ? HOP_ROW_FROM_N : (hop_row_verdict)r->answer,
        .theorem = hop_keep_said(k, r->theorem),
        .machine_checked = r->answer == HOP_ANSWER_IMPOSSIBLE || later ? r->machine_checked : HOP_NO_FLAG,
        .speaks_from_n = hop_keep_said(k, r->speaks_from),
        .log10_n = r->log10_n,
        .needs = hop_keep_said(k, r->needs),
        .has = hop_keep_said(k, r->has)};
    if (r->answer == HOP_ANSWER_SILENT && !later) out->verdict = HOP_ROW_SILENT;
}

static hop_status record(hop_response *response, const hop_separation *s, hop_error *err)
{
    hop_keep *k = &response->memory;
    hop_separate_answer *out = hop_response_begin(response, &hop_separate_answer_record, err);
    hop_separate_row *rows = hop_keep_bytes(k, HOP_ROWS, sizeof *rows);
    int64_t *fan = hop_keep_bytes(k, HOP_MAX_HOPS, sizeof *fan);
    if (!out || !rows || !fan) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; i < HOP_ROWS; i++) fill_row(k, &rows[i], &s->rows[i]);
    for (int l = 1; l < s->hops; l++) fan[l - 1] = s->fan[l];
    *out = (hop_separate_answer){.hops = s->hops,
                                 .bits = s->bits,
                                 .linear = s->linear,
                                 .mixer = hop_keep_text(k, s->state_of),
                                 .n = s->n,
                                 .m = s->m,
                                 .fan = {fan, s->hops - 1},
                                 .dim = s->dim,
                                 .d_model = s->width,
                                 .message_bits = s->message_bits,
                                 .state_bits = s->state_bits,
                                 .model = HOP_BOUNDS_MODEL,
                                 .idealised = HOP_BOUNDS_IDEALISED};
    out->rows.at = rows;
    out->rows.count = HOP_ROWS;
    return hop_response_end(response, err);
}

static hop_status not_found(hop_response *response, const separate_args *a, const char *why, hop_error *err)
{
    hop_keep *k = &response->memory;
    hop_separate_answer *out = hop_response_begin(response, &hop_separate_answer_record, err);
    if (!out) return HOP_ENOMEM;
    *out = (hop_separate_answer){.hops = a->hops.integer,
                                 .bits = a->bits.integer,
                                 .linear = a->linear.integer,
                                 .mixer = hop_keep_text(k, a->mixer.text),
                                 .n = HOP_NO_COUNT,
                                 .m = HOP_NO_COUNT,
                                 .dim = HOP_NO_COUNT,
                                 .d_model = HOP_NO_COUNT,
                                 .message_bits = HOP_NO_COUNT,
                                 .state_bits = HOP_NO_COUNT,
                                 .why = hop_keep_text(k, why),
                                 .model = HOP_BOUNDS_MODEL,
                                 .idealised = HOP_BOUNDS_IDEALISED};
    response->exit = HOP_EXIT_UNDECIDED;
    response->complaint = out->why;
    return hop_response_end(response, err);
}

static hop_status find(const separate_args *a, int64_t bits, int64_t linear, hop_separation *s,
                       hop_error *err)
{
    *s = (hop_separation){.hops = (int)a->hops.integer, .bits = (int)bits, .linear = linear};
    if (a->mixer.text) hop_separation_of_mixer(s, a->mixer.text);
    return hop_separation_find(s, a->fewer.flag, &a->ask.progress, err);
}

static hop_status ask_one(hop_response *out, const separate_args *a, hop_error *err)
{
    hop_separation s;
    hop_error why = {0};
    hop_status got = find(a, a->bits.integer, a->linear.integer, &s, &why);
    if (got == HOP_EDOMAIN) return not_found(out, a, why.text, err);
    if (got != HOP_OK) return hop_fail(err, got, "%s", why.text);
    return record(out, &s, err);
}

/* ---- a table of them ----------------------------------------------------------------------------- */

static bool all_machine_checked(const hop_separation *s)
{
    for (int i = 0; i < HOP_ROWS; i++)
        if (s->rows[i].answer == HOP_ANSWER_IMPOSSIBLE && !s->rows[i].machine_checked) return false;
    return true;
}

static hop_status ask_table(hop_response *response, const separate_args *a, hop_error *err)
{
    hop_keep *k = &response->memory;
    hop_separate_table *out = hop_response_begin(response, &hop_separate_table_record, err);
    hop_separate_cell *cells = hop_keep_bytes(k, LINES * COLUMNS, sizeof *cells);
    hop_error why = {0};
    if (!out || !cells) return hop_fail(err, HOP_ENOMEM, "out of memory");
    response->exit = HOP_EXIT_UNDECIDED;
    for (int i = 0; i < LINES * COLUMNS; i++) {
        hop_separation s;
        cells[i] = (hop_separate_cell){TABLE_LINEAR[i / COLUMNS], TABLE_BITS[i % COLUMNS], HOP_NO_COUNT,
                                       HOP_NO_FLAG};
        hop_status got = find(a, cells[i].bits, cells[i].linear, &s, &why);
        if (got != HOP_OK && got != HOP_EDOMAIN) return hop_fail(err, got, "%s", why.text);
        if (got != HOP_OK) continue;
        cells[i].n = s.n;
        cells[i].machine_checked = all_machine_checked(&s);
        response->exit = HOP_EXIT_DONE;
    }
    *out = (hop_separate_table){.hops = a->hops.integer, .why = hop_keep_text(k, why.text)};
    out->table.at = cells;
    out->table.count = LINES * COLUMNS;
    return hop_response_end(response, err);
}

static hop_status ask_separate(hop_response *out, const void *request, hop_error *err)
{
    const separate_args *a = request;
    if (a->mixer.text) {
        const hop_mixer_ops *ops = hop_mixer_find(a->mixer.text);
        if (!ops || ops->kind != HOP_MIXER_RECURRENT || ops->forgets)
            return hop_fail(err, HOP_EUSAGE, "--mixer: %.60s: %s", a->mixer.text,
                            ops ? "is not a linear mixer" : "unknown mixer; `hopbound mixers` lists them");
    }
    if (!a->table.flag) return ask_one(out, a, err);
    if (a->bits.given || a->linear.given)
        return hop_fail(err, HOP_EUSAGE, "--table: has its own --bits and --linear");
    return ask_table(out, a, err);
}

/* clang-format off */
static const hop_other OTHERS[] = {{&hop_separate_table_record, "With `--table`"}, {0}};
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound separate --hops 2", "4,673 tokens: L F F is possible, L F L is not."},
    {"hopbound separate --hops 1 --bits 32", "One hop at float32."},
    {"hopbound separate --hops 2 --mixer rwkv7", "The same with the larger states of RWKV-7."},
    {"hopbound separate --hops 2 --table", "How the length grows with linear layers and bits."},
    {0},
};
const hop_verb hop__verb_separate = {
    .name = "separate",
    .summary = "finds a length at which some layer plans are possible and others are not",
    .description =
        "The theorem has two halves. This finds sizes at which both speak: the same length, the same width of head and "
        "state, the same bits of a number. Above, L+1 full layers, and one linear layer with L full ones, whose weights are "
        "known; below, plans with a full layer fewer, impossible there or from a longer prompt on. The width is the one that the networks "
        "of `build full` and `build hybrid` have at these sizes, and the theorem speaks about any weights of networks that are " HOP_BOUNDS_MODEL ", and "
        "no wider. Each row names its theorem; `bound` with the same sizes shows the rest.\n\n"
        "The sizes are the shortest that the theorems' own searches give, and for two hops of those whose code just fits the "
        "width; shorter ones may exist.\n\n"
        "Exit 0: found. Exit 30: no theorem speaks at a length below 2^62.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_separate_answer_record,
    .others = OTHERS,
    .rows = "rows",
    .request_size = sizeof(separate_args),
    .ask = ask_separate,
};
/* clang-format on */
