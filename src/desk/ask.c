/* Asking a verb: question in, answer out. */
#include <hopbound/train.h>
#include <hopbound/verb.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "desk.h"

/* clang-format off */
#define AT(member) offsetof(hop_request, member)
const hop_opt hop_request_options[] = {
    {"seed", 0, HOP_OPT_INT, AT(seed), "N", "0", 0, INT64_MAX,
     .help = "of everything random; same seed, same bits, whatever --threads is"},
    {"threads", 0, HOP_OPT_INT, AT(threads), "N", "0", 0, 4096, .help = "threads to use; 0 is one per core"},
    {0},
};
/* clang-format on */

#define VERB(name) extern const hop_verb hop__verb_##name;
HOP_VERB_LIST(VERB)
#undef VERB

static const hop_verb *const VERBS[] = {
#define VERB(name) &hop__verb_##name,
    HOP_VERB_LIST(VERB)
#undef VERB
};

const hop_verb *const *hop_verbs(size_t *count)
{
    *count = sizeof VERBS / sizeof *VERBS;
    return VERBS;
}

const hop_verb *hop_verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++)
        if (strcmp(VERBS[i]->name, name) == 0) return VERBS[i];
    return NULL;
}

const char *hop_request_operand(const hop_request *q, int index)
{
    return index < q->operands.count ? q->operands.at[index] : NULL;
}

void *hop_response_begin(hop_response *r, const hop_record *record, hop_error *err)
{
    void *data = hop_keep_bytes(&r->memory, 1, record->size);
    if (!data) hop_fail(err, HOP_ENOMEM, "out of memory");
    r->record = record;
    r->data = data;
    return data;
}

hop_status hop_response_end(const hop_response *r, hop_error *err)
{
    return r->memory.failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : HOP_OK;
}

void hop_response_free(hop_response *r)
{
    hop_keep_free(&r->memory);
    *r = (hop_response){0};
}

/* ---- from JSON to JSON --------------------------------------------------------------------- */

#define MOST_GROUPS 8

/* The verb's options, and those of every verb. */
static const hop_opt_group *groups_of(const hop_verb *v, hop_opt_group all[MOST_GROUPS])
{
    int count = 0;
    for (; v->groups[count].opts; count++) all[count] = v->groups[count];
    all[count++] = (hop_opt_group){.title = "Common options", .opts = hop_request_options};
    all[count] = (hop_opt_group){0};
    return all;
}

static hop_status check_operands(const hop_verb *v, const hop_texts *given, hop_error *err)
{
    bool many = v->operand && strstr(v->operand, "..");
    int64_t most = many ? INT64_MAX : v->second ? 2 : v->operand ? 1 : 0;
    if (given->count > most) return hop_fail(err, HOP_EUSAGE, "%s: too many operands", given->at[most]);
    if (v->operand && v->operand[0] != '[' && given->count == 0)
        return hop_fail(err, HOP_EUSAGE, "%s: missing", v->operand);
    return HOP_OK;
}

static hop_status read_question(const hop_verb *v, const hop_json *object, hop_request *q, hop_keep *k,
                                hop_error *err)
{
    hop_opt_group all[MOST_GROUPS];
    const hop_opt_group *groups = groups_of(v, all);
    hop_status s = hop_opts_json(groups, v->operand, object, q, &q->operands, k, err);
    if (s != HOP_OK) return s;
    const hop_opt *missing = hop_opt_missing(groups, q);
    if (missing) return hop_fail(err, HOP_EUSAGE, "%s: missing", missing->name);
    return check_operands(v, &q->operands, err);
}

static hop_status answer(const hop_verb *v, const hop_request *q, hop_text *out, hop_exit *code,
                         hop_error *err)
{
    hop_response r = {0};
    hop_status s = v->ask(&r, q, err);
    if (s == HOP_OK && r.record) {
        hop_json_writer w = {.text = *out};
        hop_record_json(&w, r.record, r.data);
        *out = w.text;
    }
    if (s == HOP_OK && !r.record && out->len && out->s[out->len - 1] == '\n') out->s[--out->len] = 0;
    if (s == HOP_OK && code) *code = r.exit;
    if (s == HOP_OK && out->failed) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_response_free(&r);
    return s;
}

bool hop__into_answer(void *out, const char *text, size_t length)
{
    if (text) hop_text_addn(out, text, length);
    return true; /* what did not fit is remembered there */
}

hop_status hop_ask(const char *verb, const char *question, const hop_progress *progress, hop_text *out,
                   hop_exit *code, hop_error *err)
{
    hop_front front = {0};
    if (progress) front.progress = *progress;
    return hop_ask_from(&front, verb, question, out, code, err);
}

hop_status hop_ask_from(const hop_front *given, const char *verb, const char *question, hop_text *out,
                        hop_exit *code, hop_error *err)
{
    hop_front front = *given;
    front.json = true;
    if (!front.lines) front.lines = hop__into_answer, front.ctx = out;
    const hop_verb *v = hop_verb_find(verb);
    hop_json_doc doc = {0};
    hop_keep k = {0};
    if (!v) return hop_fail(err, HOP_EUNKNOWN, "%.60s: unknown verb", verb);
    if (!question || !*question) question = "{}";
    hop_request *q = calloc(1, v->request_size);
    hop_status s = q ? hop_json_parse(&doc, question, strlen(question), err)
                     : hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = read_question(v, doc.root, q, &k, err);
    if (s == HOP_OK) {
        q->progress = front.progress;
        q->front = &front;
        s = answer(v, q, out, code, err);
    }
    hop_json_free(&doc);
    hop_keep_free(&k);
    free(q);
    return s;
}

/* ---- every verb, for fronts ---------------------------------------------------------------- */

static void put_default(hop_json_writer *w, const hop_opt *o)
{
    hop_json_string(w, "default", o->initial);
    hop_json_string(w, "default_is", o->initial_help);
}

static void put_option(hop_json_writer *w, const hop_opt *o)
{
    static const char *const kinds[] = {"flag", "integer", "number", "text", "choice", "integers", "object"};
    hop_json_begin_object(w);
    hop_json_string(w, "name", o->name);
    hop_json_string(w, "kind", kinds[o->kind]);
    hop_json_boolean(w, "required", o->required);
    put_default(w, o);
    bool ranged =
        o->kind == HOP_OPT_INT || o->kind == HOP_OPT_LIST || (o->kind == HOP_OPT_REAL && o->min != o->max);
    hop_json_known(w, "least", o->min, ranged);
    hop_json_known(w, "most", o->max, ranged && o->max != INT64_MAX);
    if (o->choices) {
        hop_json_key(w, "choices");
        hop_json_begin_array(w);
        for (int i = 0; o->choices[i]; i++) hop_json_put_string(w, o->choices[i]);
        hop_json_end_array(w);
    }
    hop_json_string(w, "help", o->help);
    hop_json_end_object(w);
}

static void put_others(hop_json_writer *w, const hop_other *others)
{
    hop_json_key(w, "others");
    hop_json_begin_array(w);
    for (const hop_other *o = others; o && o->record; o++) {
        hop_json_begin_object(w);
        hop_json_string(w, "record", o->record->name);
        hop_json_string(w, "when", o->when);
        hop_json_key(w, "answers");
        hop_record_schema(w, o->record);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void put_verb(hop_json_writer *w, const hop_verb *v)
{
    hop_opt_group all[MOST_GROUPS];
    hop_json_key(w, v->name);
    hop_json_begin_object(w);
    hop_json_string(w, "summary", v->summary);
    hop_json_string(w, "operand", v->operand);
    hop_json_string(w, "second", v->second);
    hop_json_string(w, "description", v->description);
    hop_json_key(w, "takes");
    hop_json_begin_array(w);
    for (const hop_opt_group *g = groups_of(v, all); g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++) put_option(w, o);
    hop_json_end_array(w);
    hop_json_key(w, "answers");
    hop_record_schema(w, v->answer);
    put_others(w, v->others);
    hop_json_string(w, "rows", v->rows);
    hop_json_end_object(w);
}

void hop_verbs_json(hop_text *out)
{
    hop_json_writer w = {.text = *out};
    hop_json_begin_object(&w);
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++) put_verb(&w, VERBS[i]);
    hop_json_end_object(&w);
    *out = w.text;
}

void hop_verb_doc(hop_text *out, const hop_verb *v)
{
    hop_text_printf(out, "\n## %s\n\n", v->name);
    hop_record_doc(out, v->answer);
    for (const hop_other *o = v->others; o && o->record; o++) {
        hop_text_printf(out, "\n%s, instead:\n\n", o->when);
        hop_record_doc(out, o->record);
    }
}

/* ---- inside the room ----------------------------------------------------------------------- */

hop_status hop__asked(hop_error *err, const char *before, const char *after)
{
    if (!err) return HOP_EUSAGE;
    const hop_error was = *err;
    if (was.status == HOP_ENOMEM || was.status == HOP_ESTOPPED) return was.status;
    return hop_fail(err, HOP_EUSAGE, "%s%s%s", before, was.text, after);
}

hop_transport *hop__ranks(const hop_request *q, hop_transport **own, hop_error *err)
{
    *own = NULL;
    if (q->front->ranks) return q->front->ranks;
    return hop_transport_in_process(own, err) == HOP_OK ? *own : NULL;
}

void hop__news(const hop_request *q, hop_text *line)
{
    if (line->s) hop_plain(line->s);
    if (line->s && q->front->news) q->front->news(line->s);
    hop_text_free(line);
}

hop_exit hop__exit(hop_status s)
{
    return s == HOP_OK           ? HOP_EXIT_DONE
           : s == HOP_EUSAGE     ? HOP_EXIT_USAGE
           : s == HOP_EUNDECIDED ? HOP_EXIT_UNDECIDED
                                 : HOP_EXIT_FAILED;
}

double hop__length_log10(const char *text)
{
    if (!text || !*text) return NAN;
    if (strncmp(text, "10^", 3) != 0) return log10(strtod(text, NULL));
    return strtod(text + 3 + (text[3] == '('), NULL);
}

hop_status hop__pool(hop_pool **pool, const hop_request *q, hop_error *err)
{
    *pool = hop_pool_new((int)q->threads.integer);
    if (*pool) return HOP_OK;
    return hop_fail(err, HOP_EIO, "--threads: cannot start %lld threads", (long long)q->threads.integer);
}

hop_status hop_save_network(const hop_model *m, const char *dir, hop_error *err)
{
    if (hop_train_holds(dir))
        return hop_fail(err, HOP_EIO,
                        "%s: holds a training, whose network this would replace; choose another directory",
                        dir);
    return hop_model_save(m, dir, err);
}
