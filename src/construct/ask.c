#include "ask.h"

#include <string.h>

int64_t hop__generated(const hop_model *m)
{
    const char *text = hop_model_config(m)->construction_json;
    hop_json_doc doc = {0};
    int64_t n = 0;
    if (text && hop_json_parse(&doc, text, strlen(text), NULL) == HOP_OK)
        hop_json_read_int(doc.root, "generate", 0, 1 << 20, &n, NULL);
    hop_json_free(&doc);
    return n;
}

static bool many_targets(const hop_task *t)
{
    return t->kind == HOP_TASK_TWOSUM || t->kind == HOP_TASK_RECALL;
}

hop_status hop__asker_open(hop__asker *a, const hop_model *m, const hop_task *task, hop_pool *pool,
                           hop_error *err)
{
    *a = (hop__asker){.model = m, .task = task, .generate = hop__generated(m)};
    int64_t rows = many_targets(task) ? task->length : 1;
    a->logits = hop_alloc(sizeof(float) * (size_t)(rows * hop_model_config(m)->vocab));
    a->targets = hop_alloc(sizeof(int32_t) * (size_t)task->length);
    hop_status s = a->logits && a->targets ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK && a->generate)
        s = hop_decoder_new(&a->decoder, m, task->length + a->generate, false, err);
    if (s == HOP_OK && !a->generate)
        s = hop_forward_new(&a->forward, m, &(hop_forward_options){.max_tokens = task->length, .pool = pool},
                            err);
    if (s != HOP_OK) hop__asker_close(a);
    return s;
}

void hop__asker_close(hop__asker *a)
{
    hop_forward_free(a->forward);
    hop_decoder_free(a->decoder);
    hop_free(a->logits);
    hop_free(a->targets);
    *a = (hop__asker){0};
}

/* The last of the generated tokens. */
static hop_status generate(hop__asker *a, const int32_t *tokens, int64_t *answer, hop_error *err)
{
    int64_t vocab = hop_model_config(a->model)->vocab, length = a->task->length;
    hop_status s = hop_decoder_rewind(a->decoder, 0, err);
    *answer = -1;
    for (int64_t t = 0; s == HOP_OK && t < length + a->generate - 1; t++) {
        if (t >= length && *answer < 0) return HOP_OK; /* NaN: there is no next token */
        s = hop_decoder_step(a->decoder, t < length ? tokens[t] : (int32_t)*answer,
                             t >= length - 1 ? a->logits : NULL, err);
        if (t >= length - 1) *answer = hop_argmax(a->logits, vocab);
    }
    return s;
}

static void compare(hop__reply *r, int64_t position, int64_t expected, int64_t got)
{
    if (!r->right || expected == got) return;
    *r = (hop__reply){.right = false, .position = position, .expected = expected, .got = got};
}

hop_status hop__ask(hop__asker *a, const int32_t *tokens, hop__reply *r, hop_error *err)
{
    int64_t n = a->task->length, vocab = hop_model_config(a->model)->vocab, got = -1;
    hop_status s;
    hop_task_solve(a->task, tokens, a->targets);
    *r = (hop__reply){.right = true};
    if (a->generate) {
        s = generate(a, tokens, &got, err);
        compare(r, n - 1, a->targets[n - 1], got);
        return s;
    }
    if (!many_targets(a->task)) {
        s = hop_forward_logits(a->forward, tokens, n, a->logits, err);
        if (s == HOP_OK) compare(r, n - 1, a->targets[n - 1], hop_argmax(a->logits, vocab));
        return s;
    }
    s = hop_forward_all(a->forward, tokens, n, a->logits, err);
    for (int64_t p = 0; s == HOP_OK && p < n; p++)
        if (a->targets[p] >= 0) compare(r, p, a->targets[p], hop_argmax(a->logits + p * vocab, vocab));
    return s;
}
