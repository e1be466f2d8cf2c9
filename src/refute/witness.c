/* The witness file. docs/FORMATS.md, "Witnesses", is its description. */
#include "room.h"

#include <hopbound/check.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536 /* bytes of a file that are hashed at a time */

const char *hop_witness_kind_name(hop_witness_kind k)
{
    return k == HOP_WITNESS_INPUT ? "input" : k == HOP_WITNESS_PAIR ? "pair" : "collision";
}

void hop__witness_free(hop_witness *w)
{
    for (int i = 0; i < 2; i++) hop_free(w->prompt[i].tokens);
    hop_free(w->trace);
    *w = (hop_witness){0};
}

int64_t hop_witness_differences(const hop_witness *w)
{
    int64_t n = 0;
    for (int64_t p = 0; w->prompts == 2 && p < w->length; p++)
        n += w->prompt[0].tokens[p] != w->prompt[1].tokens[p];
    return n;
}

/* ---- hashes --------------------------------------------------------------------------------------- */

static hop_status hash_file(hop_hash *h, const char *dir, const char *name, hop_error *err)
{
    char path[4096];
    unsigned char piece[PIECE];
    hop_input in = {0};
    hop_status s = hop_path_join(path, sizeof path, dir, name, err);
    if (s == HOP_OK) s = hop_input_open(&in, path, err);
    if (s != HOP_OK) return s;
    for (int64_t at = 0, n; s == HOP_OK && at < in.size; at += n) {
        n = in.size - at < PIECE ? in.size - at : PIECE;
        s = hop_input_read(&in, piece, (size_t)n, at, err);
        if (s == HOP_OK) hop_hash_add(h, piece, (size_t)n);
    }
    hop_input_close(&in);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hop_status hash_named(hop_hash *h, const char *dir, const hop_json *map, hop_error *err)
{
    size_t count = 0;
    if (!map || map->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "weight_map: not an object");
    const char **names = hop_alloc(sizeof *names * (map->count + 1));
    if (!names) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (const hop_json *v = map->child; v; v = v->next)
        if (v->type == HOP_JSON_STRING) names[count++] = v->string;
    qsort(names, count, sizeof *names, by_name);
    hop_status s = HOP_OK;
    for (size_t i = 0; s == HOP_OK && i < count; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) s = hash_file(h, dir, names[i], err);
    hop_free(names);
    return s;
}

static hop_status hash_shards(hop_hash *h, const char *dir, const char *index, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_load(&doc, index, err);
    if (s == HOP_OK) s = hash_named(h, dir, hop_json_get(doc.root, "weight_map"), err);
    hop_json_free(&doc);
    return s;
}

static hop_status hash_weights(hop_hash *h, const char *dir, hop_error *err)
{
    char whole[4096], index[4096];
    hop_status s = hop_path_join(whole, sizeof whole, dir, "model.safetensors", err);
    if (s == HOP_OK) s = hop_path_join(index, sizeof index, dir, "model.safetensors.index.json", err);
    if (s != HOP_OK) return s;
    return !hop_is_there(whole) && hop_is_there(index) ? hash_shards(h, dir, index, err)
                                                       : hash_file(h, dir, "model.safetensors", err);
}

hop_status hop_network_hashes(const char *dir, char config[17], char weights[17], hop_error *err)
{
    hop_hash a, b;
    hop_hash_init(&a);
    hop_hash_init(&b);
    hop_status s = hash_file(&a, dir, "config.json", err);
    if (s == HOP_OK) s = hash_weights(&b, dir, err);
    snprintf(config, 17, "%016llx", (unsigned long long)hop_hash_end(&a));
    snprintf(weights, 17, "%016llx", (unsigned long long)hop_hash_end(&b));
    return s;
}

/* ---- writing -------------------------------------------------------------------------------------- */

static void write_arithmetic(const hop_witness *w, const hop_task *task, hop_json_writer *out)
{
    int64_t cuts[HOP_MAX_HOPS + 2], count = 0;
    const hop_funccomp *t = &task->funccomp;
    for (int l = t->hops; w->arithmetic.message_bits && l >= 0; l--) cuts[count++] = t->start[l];
    if (w->arithmetic.message_bits) cuts[count++] = task->length - 1;
    hop_json_key(out, "arithmetic");
    hop_json_begin_object(out);
    hop_json_integer(out, "significant_bits", w->arithmetic.significant_bits);
    hop_json_integer(out, "state_bits", w->arithmetic.state_bits);
    hop_json_integer(out, "message_bits", w->arithmetic.message_bits);
    hop_json_integers(out, "cuts", cuts, count);
    hop_json_end_object(out);
}

static void write_prompts(const hop_witness *w, hop_json_writer *out)
{
    hop_json_key(out, "prompts");
    hop_json_begin_array(out);
    for (int i = 0; i < w->prompts; i++) {
        const hop_witness_prompt *p = &w->prompt[i];
        hop_json_begin_object(out);
        hop_json_key(out, "tokens");
        hop_json_begin_array(out);
        for (int64_t t = 0; t < w->length; t++) hop_json_put_int(out, p->tokens[t]);
        hop_json_end_array(out);
        hop_json_integer(out, "position", p->position);
        hop_json_integer(out, "right", p->right);
        hop_json_integer(out, "answer", p->answer);
        hop_json_end_object(out);
    }
    hop_json_end_array(out);
    hop_json_key(out, "differences");
    hop_json_begin_array(out);
    for (int64_t t = 0; w->prompts == 2 && t < w->length; t++)
        if (w->prompt[0].tokens[t] != w->prompt[1].tokens[t]) hop_json_put_int(out, t);
    hop_json_end_array(out);
}

void hop_witness_trace_write(const hop_witness *w, hop_json_writer *out)
{
    hop_json_key(out, "trace");
    hop_json_begin_array(out);
    for (int64_t i = 0; i < w->trace_count; i++) {
        const hop_witness_layer *t = &w->trace[i];
        hop_json_begin_object(out);
        hop_json_integer(out, "layer", t->layer);
        hop_json_string(out, "mixer", t->mixer);
        hop_json_number(out, "last_token", t->last_token);
        hop_json_number(out, "state", t->state);
        hop_json_number(out, "stream", t->stream);
        hop_json_end_object(out);
    }
    hop_json_end_array(out);
}

void hop_witness_write(const hop_witness *w, const hop_task *task, const char config[17],
                       const char weights[17], hop_json_writer *out)
{
    hop_json_begin_object(out);
    hop_json_string(out, "format", "hopbound-witness");
    hop_json_integer(out, "version", 1);
    hop_json_string(out, "kind", hop_witness_kind_name(w->kind));
    hop_json_key(out, "network");
    hop_json_begin_object(out);
    hop_json_string(out, "config_hash", config);
    hop_json_string(out, "weights_hash", weights);
    hop_json_end_object(out);
    hop_json_key(out, "task");
    hop_task_write(task, out);
    write_arithmetic(w, task, out);
    write_prompts(w, out);
    hop_json_integer(out, "prefix", w->prefix);
    hop_json_key(out, "found");
    hop_json_begin_object(out);
    hop_json_string(out, "by", w->by);
    hop_json_integer(out, "seed", (int64_t)w->seed);
    hop_json_integer(out, "tried", w->tried);
    hop_json_end_object(out);
    hop_witness_trace_write(w, out);
    hop_check_seal(out);
    hop_json_end_object(out);
}

hop_status hop_witness_save(const hop_witness *w, const char *dir, const hop_task *task, const char *path,
                            hop_error *err)
{
    char config[17], weights[17];
    hop_json_writer out = {0};
    hop_status s = hop_network_hashes(dir, config, weights, err);
    if (s != HOP_OK) return s;
    hop_witness_write(w, task, config, weights, &out);
    hop_text_add(&out.text, "\n");
    s = out.text.failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", path)
                        : hop_file_write(path, out.text.s, out.text.len, err);
    hop_text_free(&out.text);
    return s;
}
