/* Bounds a layer pattern; then builds a network with one full layer more, and proves it.
 *     cc two_hops.c $(pkg-config --cflags --libs hopbound) && ./a.out */
#include <hopbound/hopbound.h>
#include <stdio.h>

int main(void)
{
    const hop_arch_layer full = {HOP_LAYER_FULL, .repeat = 1, .heads = 1, .dim = 17, .number_bits = 16},
                         linear = {HOP_LAYER_LINEAR, 1, 1, 17, 16, .state_bits = 208};
    const hop_arch arch = {(hop_arch_layer[]){linear, full, linear}, .count = 3};
    hop_error err = {0};
    hop_bounds *b;
    hop_model *model;
    hop_proof proof;
    hop_task task = {HOP_TASK_FUNCCOMP};
    if (hop_bounds_new(&b, &(hop_question){.arch = &arch, .hops = 2, .n = 1 << 15}, &err) ||
        hop_funccomp_init(&task.funccomp, 2, 32, (int64_t[]){8}, &err) || hop_task_ready(&task, &err) ||
        hop_construct(&model, "hybrid", &task, NULL, &err) ||
        hop_prove(&proof, model, &task, &(hop_prove_options){0}, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    for (int i = 0; i < b->count; i++)
        if (b->results[i].answer == HOP_ANSWER_IMPOSSIBLE) printf("L F L: %s\n", b->results[i].why);
    printf("L F F: %s for 10^%.1f inputs\n", hop_verdict_name(proof.verdict), proof.log10_inputs);
    hop_proof_free(&proof);
    hop_model_free(model);
    hop_bounds_free(b);
    return 0;
}
