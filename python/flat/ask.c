/* Questions and answers, which are JSON already. */
#include "flat.h"

#include <hopbound/ask.h>

char *hopflat_verbs(void)
{
    hop_text t = {0};
    hop_verbs_json(&t);
    return hopflat__handed_out(&t);
}

int hopflat_ask(const char *verb, const char *question, hopflat_watch *w, char **out, int *code)
{
    hop_text answer = {0};
    hop_error err = {0};
    hop_progress progress = hopflat__progress(w);
    hop_exit ended = HOP_EXIT_DONE;
    hop_status s = hop_ask(verb, question, &progress, &answer, &ended, &err);
    if (s != HOP_OK) {
        hop_text_free(&answer);
        hop_text_add(&answer, err.text);
    }
    *out = hopflat__handed_out(&answer);
    *code = (int)ended;
    return (int)s;
}
