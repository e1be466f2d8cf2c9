/* Bounds a layer pattern; then builds a network with one full layer more, and proves it.
 *     cc two_hops.c $(pkg-config --cflags --libs hopbound) && ./a.out */
#include <hopbound/hopbound.h>
#include <stdio.h>

static const char question[] = "{\"pattern\": \"L F L\", \"hops\": 2, \"n\": \"32k\", \"heads\": 1, "
                               "\"dim\": 17, \"bits\": 16, \"state_bits\": 208}";

int main(void)
{
    hop_error err = {0};
    hop_text answer = {0};
    hop_json_doc doc;
    hop_model *model;
    hop_proof proof;
    hop_task task = {.kind = HOP_TASK_FUNCCOMP};
    if (hop_ask("bound", question, NULL, &answer, NULL, &err) ||
        hop_json_parse(&doc, answer.s, answer.len, &err) ||
        hop_funccomp_init(&task.funccomp, 2, 32, (int64_t[]){8}, &err) || hop_task_ready(&task, &err) ||
        hop_construct(&model, "hybrid", &task, NULL, &err) ||
        hop_prove(&proof, model, &task, &(hop_prove_options){0}, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    printf("L F L: %s\n", hop_json_get(doc.root, "answer")->string);
    printf("L F F: %s for 10^%.1f inputs\n", hop_verdict_name(proof.verdict), proof.log10_inputs);
    hop_json_free(&doc);
    hop_text_free(&answer);
    hop_proof_free(&proof);
    hop_model_free(model);
    return 0;
}
