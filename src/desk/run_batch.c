/* run: a batch of instances, sampled or read, and what the network said to them. */
#include "run.h"

#define BATCH_TOKENS ((int64_t)1 << 22) /* a batch of long instances ends earlier */

/* ---- taking instances ---------------------------------------------------------------------- */

static hop_status read_one(evaluation *e, hop_instance *s, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status got = hop_jsonl_next(&e->in, &doc, err);
    if (got != HOP_OK) return got;
    e->ended = !doc.root;
    if (e->ended) return HOP_OK;
    got = hop_instance_read(s, doc.root, err);
    hop_json_free(&doc);
    if (got != HOP_OK) return hop_jsonl_fail(&e->in, got, err);
    e->lines[e->filled] = e->in.number;
    if (s->asked == 0 && e->sized) hop_instance_solve(s, &e->task);
    return HOP_OK;
}

hop_status hop__run_fill(evaluation *e, hop_error *err)
{
    bool limited = !e->in.file || e->args->count.given;
    int64_t tokens = 0;
    e->filled = 0;
    while (e->filled < HOP_EVAL_BATCH && tokens < BATCH_TOKENS && !e->ended) {
        int64_t number = e->instances + e->filled;
        hop_instance *s = &e->slots[e->filled];
        if (limited && number >= e->args->count.integer) {
            e->ended = true;
            break;
        }
        hop_status got = e->in.file ? read_one(e, s, err)
                                    : hop_instance_sample(s, &e->task, (uint64_t)e->args->ask.seed.integer,
                                                          (uint64_t)number, err);
        if (got != HOP_OK) return got;
        if (e->ended) break;
        tokens += s->count;
        e->filled++;
    }
    return HOP_OK;
}

/* ---- scoring ------------------------------------------------------------------------------- */

/* Members "predictions" and "targets": what the network says at each token, null where it was not asked. */
static void write_several(hop_json_writer *w, const hop_instance *x)
{
    hop_json_key(w, "predictions");
    hop_json_begin_array(w);
    for (int64_t t = 0; t < x->count; t++)
        if (x->answers[t] == HOP_NOT_ASKED)
            hop_json_put_null(w);
        else
            hop_json_put_int(w, x->answers[t]);
    hop_json_end_array(w);
    if (x->asked)
        hop_answers_write(w, "targets", x->targets, x->count);
    else
        hop_json_null(w, "targets");
}

static void write_single(hop_json_writer *w, const hop_instance *x)
{
    int64_t last = x->count - 1;
    hop_json_integer(w, "prediction", x->answers[last]);
    hop_json_known(w, "answer", x->targets[last], x->asked > 0);
}

static bool write_prediction(evaluation *e, const hop_instance *x)
{
    hop_json_writer *w = &e->line;
    w->comma = false; /* lines are documents of their own */
    hop_json_begin_object(w);
    hop_json_integer(w, "index", e->instances);
    (hop_eval_reads_several(e->eval, x) ? write_several : write_single)(w, x);
    if (x->asked)
        hop_json_boolean(w, "correct", hop_instance_correct(x));
    else
        hop_json_null(w, "correct");
    if (x->chain) hop_answers_write(w, "chain", x->chain, e->generate);
    hop_json_end_object(w);
    hop_text_add(&w->text, "\n");
    return hop__lines_write(&e->predictions, &w->text);
}

hop_status hop__run_score(evaluation *e, hop_error *err)
{
    for (int64_t i = 0; i < e->filled; i++) {
        const hop_instance *s = &e->slots[i];
        if (s->status != HOP_OK) {
            *err = s->err;
            if (!e->in.file) return s->status;
            hop_jsonl at = {.name = e->in.name, .number = e->lines[i]};
            return hop_jsonl_fail(&at, s->status, err);
        }
        e->tokens += s->count + e->generate;
        e->with_answer += s->asked > 0;
        e->correct += hop_instance_correct(s);
        e->targets += s->asked;
        e->targets_correct += s->right;
        if (e->keep && !write_prediction(e, s)) return HOP_OK; /* closing the sink says why */
        e->instances++;
    }
    return HOP_OK;
}
