/* Witness files: what is read is consistent in itself, what is refused is one line. No changed input would get
 * past its seal: one that has DIGITS for it gets the right one put there. */
#include "fuzz.h"

#include "room.h"

#include <stdio.h>

#define SEAL   "\"seal\""
#define DIGITS "SEALSEALSEALSEAL"

static char *last(char *text, size_t size, const char *word)
{
    size_t n = strlen(word);
    for (size_t at = size; at-- > 0;)
        if (size - at >= n && memcmp(text + at, word, n) == 0) return text + at;
    return NULL;
}

static void put_seal(char *text, size_t size)
{
    char *digits = last(text, size, DIGITS), *seal = last(text, size, SEAL), sum[17];
    hop_hash h;
    if (!digits || !seal) return;
    hop_hash_init(&h);
    hop_hash_add(&h, text, (size_t)(seal - text));
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)hop_hash_end(&h));
    memcpy(digits, sum, 16);
}

static void parse_one(const char *text, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    must(copy != NULL);
    if (size) memcpy(copy, data, size);
    put_seal(copy, size);
    parse_one(copy, size);
    free(copy);
    return 0;
}

static void parse_one(const char *text, size_t size)
{
    hop__claim w;
    hop_error err = {0};
    hop_status s = hop__claim_parse(&w, text, size, &err);
    if (s != HOP_OK) {
        must(s == HOP_EFORMAT || s == HOP_ENOMEM);
        must_say_why(&err);
        return;
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
}
