/* The pattern grammar: what parses is printed, and must parse to the same runs. */
#include "fuzz.h"

#include <hopbound/config.h>

static void must_be_well_formed(const hop_pattern *p)
{
    int64_t layers = 0;
    for (int64_t i = 0; i < p->run_count; i++) {
        must(p->runs[i].count >= 1 && p->runs[i].mixer[0]);
        must(memchr(p->runs[i].mixer, 0, HOP_MIXER_NAME_SIZE) != NULL);
        must(i == 0 || strcmp(p->runs[i].mixer, p->runs[i - 1].mixer) != 0);
        layers += p->runs[i].count;
    }
    must(layers == p->layers && layers >= 1 && layers <= HOP_MAX_LAYERS && p->run_count <= HOP_MAX_RUNS);
    must(strcmp(hop_pattern_mixer(p, 0), p->runs[0].mixer) == 0);
    must(strcmp(hop_pattern_mixer(p, layers - 1), p->runs[p->run_count - 1].mixer) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_pattern p = {0}, again = {0};
    hop_text text = {0};
    hop_error err = {0};
    char *copy = malloc(size + 1);
    must(copy != NULL);
    if (size) memcpy(copy, data, size);
    copy[size] = 0;
    hop_status s = hop_pattern_parse(&p, copy, "gdn", &err);
    if (s != HOP_OK) {
        must(s == HOP_EFORMAT && !p.runs && p.run_count == 0 && p.layers == 0);
        must(err.text[0] && !strchr(err.text, '\n'));
    } else {
        must_be_well_formed(&p);
        hop_pattern_print(&p, &text);
        must(!text.failed);
        must(hop_pattern_parse(&again, text.s, NULL, NULL) == HOP_OK);
        must(again.run_count == p.run_count && again.layers == p.layers);
        for (int64_t i = 0; i < p.run_count; i++)
            must(strcmp(p.runs[i].mixer, again.runs[i].mixer) == 0 && p.runs[i].count == again.runs[i].count);
    }
    hop_pattern_free(&p);
    hop_pattern_free(&again);
    hop_text_free(&text);
    free(copy);
    return 0;
}
