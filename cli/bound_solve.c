/* bound --solve: the value at which the verdict changes. */
#include "bound.h"

#include <string.h>

static int show_json(const common_args *a, const hop_solve_question *q, const hop_solution *s)
{
    bool length = q->unknown == HOP_UNKNOWN_N;
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_string(&w, "solve", hop_unknown_name(q->unknown));
    hop_json_integer(&w, "hops", q->hops);
    hop_json_known(&w, "n", q->n, q->n > 0);
    hop_json_known(&w, length ? "possible_up_to" : "possible_from", s->possible, s->possible >= 0);
    hop_json_string(&w, "possible_by", s->possible_by[0] ? s->possible_by : NULL);
    hop_json_known(&w, length ? "impossible_from" : "impossible_up_to", s->impossible, s->impossible >= 0);
    if (length) hop_json_string(&w, "impossible_from_n", s->impossible_from[0] ? s->impossible_from : NULL);
    if (length) hop_json_number(&w, "impossible_log10_n", length_log10(s->impossible_from));
    hop_json_string(&w, "impossible_by", s->impossible_by[0] ? s->impossible_by : NULL);
    hop_json_boolean(&w, "possible_everywhere", s->possible_everywhere);
    hop_json_boolean(&w, "impossible_everywhere", s->impossible_everywhere);
    write_supposed(&w);
    hop_json_end_object(&w);
    return print_json(a, &w);
}

/* "possible from full = 8 on (P1)"; for the length the other way round. */
static void say_from(hop_text *out, const char *verdict, const hop_solve_question *q, const char *value,
                     const char *by)
{
    hop_text_printf(out, "%s from %s = %s on (%s)", verdict, hop_unknown_name(q->unknown), value, by);
}

static void say_up_to(hop_text *out, const char *verdict, const hop_solve_question *q, const char *value,
                      const char *by)
{
    hop_text_printf(out, "%s up to %s = %s (%s)", verdict, hop_unknown_name(q->unknown), value, by);
}

/* What comes first along the value, what comes last, and what is open. */
static void say_values(hop_text *out, const hop_solve_question *q, const hop_solution *s)
{
    bool length = q->unknown == HOP_UNKNOWN_N, can = s->possible >= 0,
         cannot = s->impossible >= 0 || s->impossible_from[0];
    char able[32], unable[32];
    snprintf(able, sizeof able, "%lld", (long long)s->possible);
    snprintf(unable, sizeof unable, "%lld", (long long)s->impossible);
    const char *from = length ? s->impossible_from : able, *to = length ? able : unable;
    bool first = length ? can : cannot, last = length ? cannot : can;
    if (first)
        say_up_to(out, length ? "possible" : "impossible", q, to, length ? s->possible_by : s->impossible_by);
    if (first && last) hop_text_add(out, ", ");
    if (last)
        say_from(out, length ? "impossible" : "possible", q, from,
                 length ? s->impossible_by : s->possible_by);
    bool meet = !length && first && last && s->impossible + 1 == s->possible;
    hop_text_add(out, meet            ? ""
                      : first && last ? "; between them open"
                      : first         ? "; beyond that open"
                                      : "; below that open");
}

static int show_text(const common_args *a, const hop_solve_question *q, const hop_solution *s)
{
    static const char *const means[] = {
#define MEANS(id, name, least, most, help) help,
        HOP_UNKNOWN_LIST(MEANS)
#undef MEANS
    };
    hop_text out = {0};
    const char *name = hop_unknown_name(q->unknown);
    hop_text_printf(&out, "%d hop%s", q->hops, q->hops > 1 ? "s" : "");
    if (q->unknown != HOP_UNKNOWN_N && q->n) hop_text_printf(&out, " within %lld tokens", (long long)q->n);
    hop_text_printf(&out, "%s ", q->hops > 1 ? " are" : " is");
    if (s->possible_everywhere)
        hop_text_printf(&out, "possible whatever %s is (%s)", name, s->possible_by);
    else if (s->impossible_everywhere)
        hop_text_printf(&out, "impossible whatever %s is (%s)", name, s->impossible_by);
    else if (s->possible < 0 && s->impossible < 0 && !s->impossible_from[0])
        hop_text_printf(&out, "open whatever %s is: no theorem here says possible, none says impossible",
                        name);
    else
        say_values(&out, q, s);
    hop_text_printf(&out, ".\n%s: %s; all else is as given. Open: neither proved possible nor impossible.\n",
                    name, means[q->unknown]);
    if (s->impossible >= 0 || s->impossible_from[0] || s->impossible_everywhere) say_any_weights(&out);
    if (s->possible >= 0) say_known_weights(&out, "possible");
    return print_text(a, &out);
}

int bound_solve(const bound_args *args, const hop_question *asked)
{
    const common_args *a = &args->common;
    const arch_args *o = &args->arch;
    hop_config c = {0};
    hop_error err = {0};
    hop_solution s;
    if (!asked->hops) return fail(a, EXIT_USAGE, "--solve: needs a number of --hops");
    hop_solve_question q = {.unknown = (hop_unknown)args->solve.choice,
                            .config = &c,
                            .options = {.number_bits = o->bits.integer,
                                        .declared = !o->state_bits.given,
                                        .state_bits = o->state_bits.integer},
                            .mixer = o->mixer.text,
                            .width_follows = !o->d_model.given,
                            .hops = asked->hops,
                            .n = asked->n,
                            .m = asked->m,
                            .fan = asked->fan,
                            .progress = &a->progress};
    if (q.unknown == HOP_UNKNOWN_N && (q.n || q.m))
        return fail(a, EXIT_USAGE, "--solve: n is what is looked for: no --n, no --m");
    if (q.unknown != HOP_UNKNOWN_N && !q.n && !q.m)
        return fail(a, EXIT_USAGE, "--solve: needs a length, --n, or sizes, --m and --fan");
    hop_status got = architecture_config(&c, o, &err);
    if (got == HOP_OK) got = hop_solve(&s, &q, &err);
    int code = EXIT_DONE;
    if (got != HOP_OK)
        code = got == HOP_ESTOPPED ? fail_error(a, &err) : fail_given(a, "--solve: ", &err, "");
    else
        code = a->json.flag ? show_json(a, &q, &s) : show_text(a, &q, &s);
    hop_config_free(&c);
    return code;
}
