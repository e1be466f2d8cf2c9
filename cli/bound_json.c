/* What `bound --json` prints: one object for scripts. */
#include "bound.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

static void curve_json(void *to, double bits, double ceiling)
{
    hop_json_writer *w = to;
    hop_json_begin_object(w);
    if (bits < 0x1p53)
        hop_json_integer(w, "state_bits", (int64_t)bits);
    else
        hop_json_number(w, "state_bits", bits);
    hop_json_number(w, "accuracy_ceiling", ceiling);
    hop_json_end_object(w);
}

/* A number where it fits one, else its text; null where there is none. */
static void put_number_text(hop_json_writer *w, const char *text)
{
    if (!text)
        hop_json_put_null(w);
    else if (strlen(text) <= 18 && strspn(text, "0123456789") == strlen(text))
        hop_json_put_int(w, strtoll(text, NULL, 10));
    else
        hop_json_put_string(w, text);
}

static void write_list(hop_json_writer *w, const char *key, const char *const *list, int count)
{
    if (!list) {
        hop_json_null(w, key);
        return;
    }
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int i = 0; i < count && list[i]; i++) put_number_text(w, list[i]);
    hop_json_end_array(w);
}

/* What the proof chooses: {"t": 14, ..}. */
static void write_choices(hop_json_writer *w, const hop_bound *r)
{
    if (!r->choices) {
        hop_json_null(w, "choices");
        return;
    }
    hop_json_key(w, "choices");
    hop_json_begin_object(w);
    for (int i = 0; r->choices[i]; i++) {
        hop_json_key(w, r->choice_names[i]);
        put_number_text(w, r->choices[i]);
    }
    hop_json_end_object(w);
}

static void write_result(hop_json_writer *w, const hop_bound *r, int hops)
{
    hop_json_begin_object(w);
    hop_json_string(w, "id", r->id);
    hop_json_string(w, "statement", r->statement);
    hop_json_boolean(w, "published", r->published);
    hop_json_boolean(w, "applies", r->applies);
    hop_json_string(w, "verdict", hop_answer_name(r->answer));
    hop_json_key(w, "speaks_from_n");
    put_number_text(w, r->speaks_from);
    hop_json_number(w, "log10_n", r->log10_n);
    hop_json_string(w, "needs", r->needs);
    hop_json_string(w, "has", r->has);
    hop_json_string(w, "why", r->why);
    hop_json_key(w, "hypotheses");
    hop_json_begin_array(w);
    for (int i = 0; i < r->hypothesis_count; i++) {
        hop_json_begin_object(w);
        hop_json_string(w, "text", r->hypotheses[i].text);
        hop_json_boolean(w, "met", r->hypotheses[i].met);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
    write_list(w, "sizes", r->sizes, hops);
    write_list(w, "x", r->x, hops);
    write_list(w, "s", r->s, hops - 1);
    write_choices(w, r);
    hop_json_end_object(w);
}

static void write_reach(hop_json_writer *w, const bound_answer *b)
{
    const hop_reach *r = &b->reach;
    hop_json_key(w, "reach");
    hop_json_begin_object(w);
    hop_json_integer(w, "able", r->able);
    hop_json_integer(w, "able_by_layers", r->able_by_layers);
    hop_json_known(w, "unable", r->unable, r->unable > 0);
    hop_json_known(w, "posed", r->fit, r->fit < HOP_MAX_HOPS);
    hop_json_key(w, "between"); /* the fewest and the most hops that are neither; null: no end is known */
    hop_json_begin_array(w);
    if (bound_most_open(r) > r->able) {
        hop_json_put_int(w, r->able + 1);
        if (bound_is_bounded(r))
            hop_json_put_int(w, bound_most_open(r));
        else
            hop_json_put_null(w);
    }
    hop_json_end_array(w);
    hop_json_string(w, "able_by", r->able_by);
    hop_json_string(w, "unable_by", r->unable_by);
    hop_json_integer(w, "needs_dim", r->needs_dim);
    hop_json_integer(w, "needs_bits", r->needs_bits);
    hop_json_integer(w, "needs_width", r->needs_width);
    hop_json_string(w, "why_able", r->why_able);
    hop_json_string(w, "why_unable", r->why_unable);
    hop_json_known(w, "tables_held_up_to", b->held, b->held > 0);
    hop_json_key(w, "tables_outgrow_states_at");
    put_number_text(w, b->outgrown[0] ? b->outgrown : NULL);
    hop_json_number(w, "tables_outgrow_log10_n", b->outgrown_log10);
    hop_json_number(w, "tables_factor", bound_factor(b) > 0 ? bound_factor(b) : INFINITY);
    hop_json_end_object(w);
}

/* One verdict where one is asked for, and the sentence that people read first. */
static void write_verdict(hop_json_writer *w, const bound_answer *b)
{
    hop_text line = {0};
    const char *by = NULL, *verdict = bound_is_asked(b) ? bound_verdict(b, &by) : NULL;
    bound_say_answer(&line, b);
    if (line.len) line.s[--line.len] = 0; /* the newline */
    hop_json_string(w, "verdict", verdict);
    hop_json_string(w, "by", by);
    hop_json_string(w, "answer", hop_text_in(&w->text, &line));
    hop_text_free(&line);
}

static void write_question(hop_json_writer *w, const bound_answer *b)
{
    const hop_question *q = &b->question;
    hop_json_integer(w, "hops", q->hops);
    hop_json_string(w, "pattern", hop_text_in(&w->text, &b->arch->pattern));
    hop_json_integer(w, "full_layers", b->arch->full);
    hop_json_integer(w, "linear_layers", b->arch->linear);
    hop_json_known(w, "n", q->n, q->n > 0);
    if (!q->m) return;
    hop_json_integer(w, "m", q->m);
    hop_json_integers(w, "fan", q->fan, q->hops - 1);
}

int bound_show_json(const common_args *a, const bound_answer *b)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    write_question(&w, b);
    write_verdict(&w, b);
    if (b->automatic) write_reach(&w, b);
    hop_json_key(&w, "results");
    hop_json_begin_array(&w);
    for (int i = 0; i < b->bounds->count; i++) write_result(&w, &b->bounds->results[i], b->question.hops);
    hop_json_end_array(&w);
    hop_json_number(&w, "accuracy_ceiling", b->bounds->accuracy_ceiling);
    write_supposed(&w);
    if (b->curve) {
        hop_json_key(&w, "curve");
        hop_json_begin_array(&w);
        bound_each_of_curve(b, curve_json, &w);
        hop_json_end_array(&w);
    }
    hop_json_end_object(&w);
    return print_json(a, &w);
}
