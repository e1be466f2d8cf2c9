/* --transcript: every message as a line of JSON, with its numbers as they crossed, in hexadecimal digits. */
#include "play.h"

#include <string.h>

static const char *const kinds[] = {"reply", "state", "query"};

static void put_line(playing *p, hop_json_writer *w)
{
    hop_json_end_object(w);
    hop_text_add(&w->text, "\n");
    if (w->text.failed)
        p->written.failed = HOP_ENOMEM;
    else
        hop_output_write(&p->written, w->text.s, w->text.len);
    hop_text_free(&w->text);
}

void hop__play_begin(playing *p)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_string(&w, "format", "hopbound transcript 1");
    hop_json_string(&w, "dir", p->dir);
    hop_json_integer(&w, "bits", p->args->bits.integer);
    hop_json_integer(&w, "tokens", p->tokens);
    hop_json_integer(&w, "layers", hop_model_config(p->model)->pattern.layers);
    hop_json_key(&w, "players");
    hop_json_begin_array(&w);
    for (int i = 0; i < p->seats.count; i++) {
        hop_json_begin_object(&w);
        hop_json_integer(&w, "name", p->seats.players[i].name);
        hop_json_integer(&w, "first", p->seats.players[i].first);
        hop_json_integer(&w, "tokens", p->seats.players[i].tokens);
        hop_json_end_object(&w);
    }
    hop_json_end_array(&w);
    put_line(p, &w);
}

void hop__play_instance(playing *p)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "instance", p->instances);
    hop_json_key(&w, "prompt");
    hop_json_begin_array(&w);
    for (int64_t t = 0; t < p->one.count; t++) hop_json_put_int(&w, p->one.tokens[t]);
    hop_json_end_array(&w);
    put_line(p, &w);
}

void hop__play_message(void *ctx, const hop_message *m)
{
    playing *p = ctx;
    hop_json_writer w = {0};
    hop_text hex = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "layer", m->layer);
    hop_json_string(&w, "kind", kinds[m->kind]);
    hop_json_integer(&w, "from", p->seats.players[m->from].name);
    hop_json_integer(&w, "to", p->seats.players[m->to].name);
    hop_json_integer(&w, "numbers", m->count);
    hop_json_integer(&w, "bits", m->count * p->args->bits.integer);
    for (size_t i = 0; i < m->size; i++) hop_text_printf(&hex, "%02x", m->bytes[i]);
    hop_json_string(&w, "packed", hop_text_in(&w.text, &hex));
    hop_text_free(&hex);
    put_line(p, &w);
}
