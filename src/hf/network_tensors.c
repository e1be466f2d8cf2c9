/* Which of their tensors is which of ours.
 *
 *     OURS = model.layers.{i}.self_attn.q_proj.weight every 2*d at 0 take d      of every 2d rows the first d
 *     OURS = a.weight, b.weight                                                  one below the other
 *     OURS = norm.weight plus 1 times logits_scaling:1                           (w + 1) · that
 *     OURS = experts.{e}.up_proj.weight over E                                   for e = 0 .. E-1
 *     OURS = experts.down_proj beside E                                          E parts of the rows, beside each other */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more; NULL: there is none. */
static void *grown(hop__net *w, void *list, int64_t count, int64_t *room, size_t size)
{
    if (count < *room) return list;
    int64_t more = *room ? *room * 2 : 64;
    void *bigger = realloc(list, size * (size_t)more);
    if (!bigger) hop__hf_fail(&w->r, HOP_ENOMEM, "out of memory");
    if (bigger) *room = more;
    return bigger ? bigger : list;
}

static hop_hf_tensor *add_tensor(hop__net *w, const char *ours)
{
    hop_hf_network *n = w->n;
    n->tensors = grown(w, n->tensors, n->tensor_count, &w->tensor_room, sizeof *n->tensors);
    if (w->r.status != HOP_OK) return NULL;
    hop_hf_tensor *t = &n->tensors[n->tensor_count++];
    *t = (hop_hf_tensor){.first = n->piece_count, .beside = 1};
    snprintf(t->ours, sizeof t->ours, "%s", ours);
    return t;
}

void hop__net_ours(hop__net *w, char out[96], hop__span name, int64_t layer)
{
    const char *at = name.at < name.end ? memchr(name.at, '@', (size_t)(name.end - name.at)) : NULL;
    int64_t below = at ? hop__hf_value(&w->r, (hop__span){at + 1, name.end}, 0) : 0;
    int size = (int)((at ? at : name.end) - name.at);
    if (layer < 0)
        snprintf(out, 96, "%.*s", size, name.at);
    else
        snprintf(out, 96, "model.layers.%lld.%.*s", (long long)(w->base[layer] + below), size, name.at);
}

/* The name with {i} and {e} filled in, and with {x}, in which there may be {i}. */
static size_t put_name(const hop__net *w, char out[128], hop__span name, const int64_t layer_expert[2])
{
    size_t n = 0;
    for (const char *at = name.at; at < name.end && n + 40 < 128; at++) {
        const bool hole = name.end - at >= 3 && at[0] == '{' && at[2] == '}';
        char part[128];
        size_t size = 0;
        if (!hole)
            part[size++] = *at;
        else if (at[1] == 'x')
            size = put_name(w, part, w->inside, layer_expert);
        else
            size = (size_t)snprintf(part, sizeof part, "%lld", (long long)layer_expert[at[1] == 'e']);
        if (n + size >= 128) break;
        memcpy(out + n, part, size);
        n += size;
        if (hole) at += 2;
    }
    out[n] = 0;
    return n;
}

/* `WORD EXPRESSION`; false: the text does not begin with the word. */
static bool number(hop__net *w, hop__span *text, const char *word, int64_t layer, int64_t *value)
{
    if (!hop__span_skip(text, word)) return false;
    hop__eval e = {.r = &w->r, .in = *text, .layer = layer < 0 ? 0 : layer};
    *value = hop__evaluate(&e);
    *text = e.in;
    return true;
}

static void put_source(hop__net *w, hop__span text, int64_t layer)
{
    hop_hf_network *n = w->n;
    hop__span name = hop__span_word(&text);
    hop_hf_piece piece = {.times = 1, .most = INFINITY};
    int64_t experts = 1, plus = 0;
    if (number(w, &text, "every", layer, &piece.every)) {
        number(w, &text, "at", layer, &piece.at);
        number(w, &text, "take", layer, &piece.take);
    }
    if (number(w, &text, "plus", layer, &plus)) piece.plus = (double)plus;
    number(w, &text, "over", layer, &experts);
    number(w, &text, "beside", layer, &n->tensors[n->tensor_count - 1].beside);
    if (hop__span_skip(&text, "times")) piece.times = (float)hop__net_factor(w, text);
    if (hop__span_skip(&text, "most")) piece.most = hop__net_factor(w, text);
    if (piece.every < 0 || piece.at < 0 || piece.take < 0 || piece.at + piece.take > piece.every ||
        experts < 1)
        hop__hf_fail(&w->r, HOP_EDOMAIN, "%.*s: its sizes do not fit each other", (int)(name.end - name.at),
                     name.at);
    for (int64_t e = 0; e < experts && w->r.status == HOP_OK; e++) {
        n->pieces = grown(w, n->pieces, n->piece_count, &w->piece_room, sizeof *n->pieces);
        if (w->r.status != HOP_OK) return;
        put_name(w, piece.theirs, name, (const int64_t[]){layer, e});
        n->pieces[n->piece_count++] = piece;
    }
}

void hop__net_tensor(hop__net *w, hop__span rest, int64_t layer)
{
    char ours[96];
    hop__span name = hop__span_until(&rest, '='), source;
    hop__net_ours(w, ours, name, layer);
    if (!add_tensor(w, ours)) return;
    while (w->r.status == HOP_OK && hop__span_part(&rest, &source)) put_source(w, source, layer);
    hop_hf_tensor *t = &w->n->tensors[w->n->tensor_count - 1];
    t->count = w->n->piece_count - t->first;
}

static void put_part(hop__net *w, hop__span name, int64_t layer, int64_t expert)
{
    hop_hf_network *n = w->n;
    n->parts = grown(w, n->parts, n->part_count, &w->part_room, sizeof *n->parts);
    if (w->r.status == HOP_OK) put_name(w, n->parts[n->part_count++], name, (const int64_t[]){layer, expert});
}

void hop__net_join(hop__net *w, hop__span rest, int64_t layer)
{
    hop_hf_network *n = w->n;
    hop__span whole = hop__span_until(&rest, '='), over = hop__span_tail(&rest, " over "), all, part;
    const int64_t experts = over.at < over.end ? hop__hf_value(&w->r, over, layer < 0 ? 0 : layer) : 1;
    n->joins = grown(w, n->joins, n->join_count, &w->join_room, sizeof *n->joins);
    if (w->r.status != HOP_OK) return;
    hop_hf_join *j = &n->joins[n->join_count++];
    *j = (hop_hf_join){.first = n->part_count};
    put_name(w, j->theirs, whole, (const int64_t[]){layer, 0});
    for (int64_t e = 0; e < experts && w->r.status == HOP_OK; e++)
        for (all = rest; w->r.status == HOP_OK && hop__span_part(&all, &part);)
            put_part(w, hop__span_word(&part), layer, e);
    j->count = n->part_count - j->first;
}

void hop__net_fill(hop__net *w, hop__span rest, int64_t layer)
{
    char ours[96];
    hop__net_ours(w, ours, hop__span_word(&rest), layer);
    hop_hf_tensor *t = add_tensor(w, ours);
    if (t) t->fill = (float)hop__net_factor(w, rest);
}

void hop__net_given(hop__net *w, const char *ours, float *data, int64_t count)
{
    hop_hf_tensor *t = data ? add_tensor(w, ours) : NULL;
    if (!data) hop__hf_fail(&w->r, HOP_ENOMEM, "out of memory");
    if (!t) {
        free(data);
        return;
    }
    t->given = data;
    t->given_count = count;
}
