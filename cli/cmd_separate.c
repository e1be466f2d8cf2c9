/* hopbound separate: one length, one width, one precision: what is possible above, what is impossible below.
 */
#include "cli.h"
#include "hybrid_state.h"

#include <math.h>

typedef struct separate_args {
    common_args common;
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

/* ---- one separation ------------------------------------------------------------------------------ */

static const char *verdict_of(const hop_separation_row *r)
{
    return r->answer == HOP_ANSWER_SILENT && r->speaks_from[0] ? "from_n" : hop_answer_name(r->answer);
}

static void write_separation(hop_json_writer *w, const hop_separation *s)
{
    hop_json_integer(w, "hops", s->hops);
    hop_json_integer(w, "bits", s->bits);
    hop_json_integer(w, "linear", s->linear);
    hop_json_string(w, "mixer", s->state_of);
    hop_json_integer(w, "n", s->n);
    hop_json_integer(w, "m", s->m);
    hop_json_key(w, "fan");
    hop_json_begin_array(w);
    for (int l = 1; l < s->hops; l++) hop_json_put_int(w, s->fan[l]);
    hop_json_end_array(w);
    hop_json_integer(w, "dim", s->dim);
    hop_json_integer(w, "d_model", s->width);
    hop_json_integer(w, "message_bits", s->message_bits);
    hop_json_integer(w, "state_bits", s->state_bits);
    hop_json_key(w, "rows");
    hop_json_begin_array(w);
    for (int i = 0; i < HOP_ROWS; i++) {
        const hop_separation_row *r = &s->rows[i];
        hop_json_begin_object(w);
        hop_json_string(w, "pattern", r->pattern);
        hop_json_string(w, "verdict", verdict_of(r));
        hop_json_string(w, "theorem", r->theorem);
        if (r->answer == HOP_ANSWER_IMPOSSIBLE || (r->answer == HOP_ANSWER_SILENT && r->speaks_from[0]))
            hop_json_boolean(w, "machine_checked", r->machine_checked);
        else
            hop_json_null(w, "machine_checked");
        hop_json_string(w, "speaks_from_n", r->speaks_from);
        hop_json_number(w, "log10_n", r->log10_n);
        hop_json_string(w, "needs", r->needs);
        hop_json_string(w, "has", r->has);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void print_sizes(hop_text *out, const hop_separation *s)
{
    hop_text_printf(out, "n = %lld tokens (m %lld", (long long)s->n, (long long)s->m);
    for (int l = 1; l < s->hops; l++)
        hop_text_printf(out, l == 1 ? ", fan %lld" : ",%lld", (long long)s->fan[l]);
    hop_text_add(out, ")");
}

static int show(const common_args *a, const hop_separation *s)
{
    if (a->json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        write_separation(&w, s);
        write_supposed(&w);
        hop_json_end_object(&w);
        return print_json(a, &w);
    }
    hop_text out = {0};
    hop_text_printf(&out, "%d hop%s: ", s->hops, s->hops == 1 ? "" : "s");
    print_sizes(&out, s);
    hop_text_printf(&out,
                    ", one head of %lld numbers in a stream of %lld, %d-bit messages, states of %lld bits\n",
                    (long long)s->dim, (long long)s->width, s->bits, (long long)s->state_bits);
    for (int i = 0; i < HOP_ROWS; i++) {
        const hop_separation_row *r = &s->rows[i];
        if (i == HOP_ROW_LINEAR && s->hops == 1) continue; /* the same as the row before */
        hop_text_printf(&out, "  %-16s ", r->pattern);
        if (r->answer == HOP_ANSWER_SILENT && r->speaks_from[0] && r->log10_n <= log10((double)s->n))
            hop_text_printf(&out, "open         impossible at other sizes of this length (%s, %s)", r->theorem,
                            hop_proof_name(r->machine_checked));
        else if (r->answer == HOP_ANSWER_SILENT && r->speaks_from[0])
            hop_text_printf(&out, "impossible from n = %s on  (%s, %s)", r->speaks_from, r->theorem,
                            hop_proof_name(r->machine_checked));
        else
            hop_text_printf(&out, "%-11s",
                            r->answer == HOP_ANSWER_SILENT ? "open" : hop_answer_name(r->answer));
        if (r->answer == HOP_ANSWER_POSSIBLE) hop_text_printf(&out, "  (%s)", r->theorem);
        if (r->answer == HOP_ANSWER_IMPOSSIBLE)
            hop_text_printf(&out, "  (%s, %s)  needs %s; has %s", r->theorem, hop_proof_name(r->machine_checked),
                            r->needs, r->has);
        hop_text_add(&out, "\n");
    }
    hop_text_add(
        &out,
        "F: full attention; L: a linear layer of any kind with such a state. Possible: `build full` and "
        "`build "
        "hybrid`\nmake it, `prove --message-bits` proves it on every input.\n");
    say_any_weights(&out);
    return print_text(a, &out);
}

/* ---- a table of them ----------------------------------------------------------------------------- */

static int show_table(const separate_args *a, int64_t found[LINES][COLUMNS], const hop_error *missing)
{
    int code = EXIT_UNDECIDED;
    for (int i = 0; i < LINES * COLUMNS; i++)
        if (found[i / COLUMNS][i % COLUMNS]) code = EXIT_DONE;
    if (a->common.json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        hop_json_integer(&w, "hops", a->hops.integer);
        hop_json_key(&w, "table");
        hop_json_begin_array(&w);
        for (int i = 0; i < LINES; i++)
            for (int k = 0; k < COLUMNS; k++) {
                hop_json_begin_object(&w);
                hop_json_integer(&w, "linear", TABLE_LINEAR[i]);
                hop_json_integer(&w, "bits", TABLE_BITS[k]);
                hop_json_key(&w, "n");
                if (found[i][k])
                    hop_json_put_int(&w, found[i][k]);
                else
                    hop_json_put_null(&w);
                hop_json_end_object(&w);
            }
        hop_json_end_array(&w);
        hop_json_end_object(&w);
        int printed = print_json(&a->common, &w);
        return printed == EXIT_DONE ? code : printed;
    }
    hop_text out = {0};
    hop_text_printf(
        &out, "%lld hop%s: the shortest n with a separation, by linear layers a gap and bits of a number\n",
        (long long)a->hops.integer, a->hops.integer == 1 ? "" : "s");
    hop_text_printf(&out, "%8s", "linear");
    for (int k = 0; k < COLUMNS; k++) hop_text_printf(&out, " %17lld bits", (long long)TABLE_BITS[k]);
    hop_text_add(&out, "\n");
    for (int i = 0; i < LINES; i++) {
        hop_text_printf(&out, "%8lld", (long long)TABLE_LINEAR[i]);
        for (int k = 0; k < COLUMNS; k++) {
            if (found[i][k])
                hop_text_printf(&out, " %22lld", (long long)found[i][k]);
            else
                hop_text_printf(&out, " %22s", "none");
        }
        hop_text_add(&out, "\n");
    }
    if (missing->text[0]) hop_text_printf(&out, "none: %s\n", missing->text);
    int printed = print_text(&a->common, &out);
    return printed == EXIT_DONE ? code : printed;
}

/* ---- the verb ------------------------------------------------------------------------------------- */

static hop_status find(const separate_args *a, int64_t bits, int64_t linear, hop_separation *s,
                       hop_error *err)
{
    *s = (hop_separation){.hops = (int)a->hops.integer, .bits = (int)bits, .linear = linear};
    if (a->mixer.text) separation_of_mixer(s, a->mixer.text);
    return hop_separation_find(s, a->fewer.flag, &a->common.progress, err);
}

static int not_found(const separate_args *a, const hop_error *err)
{
    if (a->common.json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        hop_json_integer(&w, "hops", a->hops.integer);
        hop_json_integer(&w, "bits", a->bits.integer);
        hop_json_integer(&w, "linear", a->linear.integer);
        hop_json_key(&w, "n");
        hop_json_put_null(&w);
        hop_json_key(&w, "rows");
        hop_json_begin_array(&w);
        hop_json_end_array(&w);
        hop_json_string(&w, "why", err->text);
        hop_json_end_object(&w);
        int code = print_json(&a->common, &w);
        if (code != EXIT_DONE) return code;
    }
    return fail(&a->common, EXIT_UNDECIDED, "%s", err->text);
}

static int cmd_separate(common_args *common)
{
    const separate_args *a = (const separate_args *)common;
    hop_error err = {0};
    hop_separation s;
    int64_t found[LINES][COLUMNS] = {{0}};
    if (a->mixer.text) {
        const hop_mixer_ops *ops = hop_mixer_find(a->mixer.text);
        if (!ops || ops->kind != HOP_MIXER_RECURRENT)
            return fail(common, EXIT_USAGE, "--mixer: %.60s: %s", a->mixer.text,
                        ops ? "is not a linear mixer" : "unknown mixer; `hopbound mixers` lists them");
    }
    if (!a->table.flag) {
        hop_status got = find(a, a->bits.integer, a->linear.integer, &s, &err);
        if (got == HOP_EDOMAIN) return not_found(a, &err);
        return got == HOP_OK ? show(common, &s) : fail_error(common, &err);
    }
    if (a->bits.given || a->linear.given)
        return fail(common, EXIT_USAGE, "--table: has its own --bits and --linear");
    for (int i = 0; i < LINES; i++)
        for (int k = 0; k < COLUMNS; k++) {
            hop_status got = find(a, TABLE_BITS[k], TABLE_LINEAR[i], &s, &err);
            if (got != HOP_OK && got != HOP_EDOMAIN) return fail_error(common, &err);
            found[i][k] = got == HOP_OK ? s.n : 0;
        }
    return show_table(a, found, &err);
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound separate --hops 2", "4,673 tokens: L F F is possible, L F L is not."},
    {"hopbound separate --hops 1 --bits 32", "One hop at float32."},
    {"hopbound separate --hops 2 --mixer rwkv7", "The same with the larger states of RWKV-7."},
    {"hopbound separate --hops 2 --table", "How the length grows with linear layers and bits."},
    {0},
};
const verb verb_separate = {
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
    .colours = true,
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(separate_args),
    .run = cmd_separate,
};
/* clang-format on */
