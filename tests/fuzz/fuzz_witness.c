/* Witness files: what is read is consistent in itself, what is refused is one line. */
#include "fuzz.h"

#include "room.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop__claim w;
    hop_error err = {0};
    hop_status s = hop__claim_parse(&w, (const char *)data, size, &err);
    if (s != HOP_OK) {
        must(s == HOP_EFORMAT || s == HOP_ENOMEM);
        must_say_why(&err);
        return 0;
    }
    must(w.prompts == 1 || w.prompts == 2);
    must(w.task && w.trace && w.kind <= HOP__COLLISION);
    for (int64_t i = 0; i < w.prompts; i++) {
        const hop__prompt *p = &w.prompt[i];
        int64_t right;
        must(p->count >= 1 && p->position >= 0 && p->position < p->count && p->answer >= -1);
        must(hop__task_answer(w.task, p->tokens, p->count, p->position, &right, NULL) == HOP_OK &&
             right == p->right);
    }
    if (w.prompts == 2) must(w.prompt[0].right != w.prompt[1].right && w.prefix <= w.prompt[0].count);
    hop__claim_free(&w);
    must(w.prompts == 0);
    return 0;
}
