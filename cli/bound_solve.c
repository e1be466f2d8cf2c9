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
    hop_json_end_object(&w);
    return print_json(a, &w);
}

static void say(hop_text *out, const char *verdict, const char *where, const hop_solve_question *q,
                int64_t value, const char *by)
{
    if (value < 0)
        hop_text_printf(out, "  %-10s  at no value that was tried\n", verdict);
    else
        hop_text_printf(out, "  %-10s  %s %s = %lld (%s)\n", verdict, where, hop_unknown_name(q->unknown),
                        (long long)value, by);
}

static int show_text(const common_args *a, const hop_solve_question *q, const hop_solution *s)
{
    bool length = q->unknown == HOP_UNKNOWN_N;
    hop_text out = {0};
    hop_text_printf(&out, "%d hop%s", q->hops, q->hops > 1 ? "s" : "");
    if (!length && q->n) hop_text_printf(&out, " within %lld tokens", (long long)q->n);
    hop_text_printf(&out, ", all but %s as given:\n", hop_unknown_name(q->unknown));
    if (s->impossible_from[0])
        hop_text_printf(&out, "  impossible  from n = %s (%s)\n", s->impossible_from, s->impossible_by);
    else if (s->impossible_everywhere)
        hop_text_printf(&out, "  impossible  whatever %s is (%s)\n", hop_unknown_name(q->unknown),
                        s->impossible_by);
    else
        say(&out, "impossible", length ? "from" : "up to", q, s->impossible, s->impossible_by);
    if (s->possible_everywhere)
        hop_text_printf(&out, "  possible    whatever %s is (%s)\n", hop_unknown_name(q->unknown),
                        s->possible_by);
    else
        say(&out, "possible", length ? "up to" : "from", q, s->possible, s->possible_by);
    if (!s->impossible_everywhere && !s->possible_everywhere)
        hop_text_add(&out, "  between them nothing is proved either way\n");
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
