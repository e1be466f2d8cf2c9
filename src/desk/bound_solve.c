/* bound --solve: the value at which the verdict changes. */
#include <math.h>
#include <string.h>
#include "bound.h"

HOP_RECORD_TABLE(hop_solve_answer, HOP_SOLVE_ANSWER, "where the verdict changes")

static const char *const MEANS[] = {
#define MEANING(id, name, least, most, help) help,
    HOP_UNKNOWN_LIST(MEANING)
#undef MEANING
};

static hop_status record(hop_response *response, const hop_solve_question *q, const hop_solution *s,
                         hop_error *err)
{
    bool length = q->unknown == HOP_UNKNOWN_N, can = s->possible >= 0, cannot = s->impossible >= 0;
    hop_keep *k = &response->memory;
    hop_solve_answer *out = hop_response_begin(response, &hop_solve_answer_record, err);
    if (!out) return HOP_ENOMEM;
    *out = (hop_solve_answer){.solve = hop_unknown_name(q->unknown),
                              .hops = q->hops,
                              .n = hop_known(q->n, q->n > 0),
                              .possible_up_to = hop_known(s->possible, length && can),
                              .possible_from = hop_known(s->possible, !length && can),
                              .possible_by = hop_keep_text(k, s->possible_by),
                              .impossible_from = hop_known(s->impossible, length && cannot),
                              .impossible_up_to = hop_known(s->impossible, !length && cannot),
                              .impossible_from_n = hop_keep_text(k, s->impossible_from),
                              .impossible_log10_n = length ? hop__length_log10(s->impossible_from) : NAN,
                              .impossible_by = hop_keep_text(k, s->impossible_by),
                              .possible_everywhere = s->possible_everywhere,
                              .impossible_everywhere = s->impossible_everywhere,
                              .means = MEANS[q->unknown],
                              .model = HOP_BOUNDS_MODEL,
                              .idealised = HOP_BOUNDS_IDEALISED};
    return hop_response_end(response, err);
}

hop_status hop__bound_solve(hop_response *out, const bound_args *a, const hop_question *asked, hop_error *err)
{
    const arch_args *o = &a->arch;
    hop_config c = {0};
    hop_solution found;
    if (!asked->hops) return hop_fail(err, HOP_EUSAGE, "--solve: needs a number of --hops");
    hop_solve_question q = {.unknown = (hop_unknown)a->solve.choice,
                            .config = &c,
                            .options = {.number_bits = o->bits.integer,
                                        .declared = !o->state_bits.given,
                                        .state_bits = o->state_bits.integer,
                                        .accumulators = o->accumulators.integer},
                            .mixer = o->mixer.text,
                            .width_follows = !o->d_model.given,
                            .hops = asked->hops,
                            .n = asked->n,
                            .m = asked->m,
                            .fan = asked->fan,
                            .progress = &a->ask.progress};
    if (q.unknown == HOP_UNKNOWN_N && (q.n || q.m))
        return hop_fail(err, HOP_EUSAGE, "--solve: n is what is looked for: no --n, no --m");
    if (q.unknown != HOP_UNKNOWN_N && !q.n && !q.m)
        return hop_fail(err, HOP_EUSAGE, "--solve: needs a length, --n, or sizes, --m and --fan");
    hop_status s = hop__architecture_config(&c, o, err);
    if (s == HOP_OK && (s = hop_solve(&found, &q, err)) != HOP_OK) s = hop__asked(err, "--solve: ", "");
    if (s == HOP_OK) s = record(out, &q, &found, err);
    hop_config_free(&c);
    return s;
}
