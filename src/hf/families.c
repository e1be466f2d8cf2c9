/* The families, one row each. A row says how the layer plan follows when no list in the file gives it, how
 * the state's size and attention's widths are called, and what the configuration class assumes. A model_type
 * that has no row is not known, and nothing is guessed about it. */
#include "room.h"

#include <string.h>

#define P(name) hop__hf_plan_##name
#define L(name) hop__hf_linear_##name
#define A(name) hop__hf_attention_##name
#define MUST    (-1)
#define LAST    false
#define FIRST   true
#define PATTERN "sliding_window_pattern|_sliding_window_pattern"
#define WINDOWS(layers)                         \
    {                                           \
        "max_window_layers", layers, NULL, LAST \
    }

/* clang-format off */
static const hop__hf_family families[] = {
    /* delta rules beside attention */
    {" qwen3_next ",                             P(periodic), L(gdn), NULL, {48, 2048, 16, 2, 256, 0}, {"full_attention_interval", 4, "LF", LAST}},
    {" qwen3_5 qwen3_5_text ",                   P(periodic), L(gdn), NULL, {32, 4096, 16, 4, 256, 0}, {"full_attention_interval", 4, "LF", LAST}},
    {" qwen3_5_moe qwen3_5_moe_text ",           P(periodic), L(gdn), NULL, {40, 2048, 16, 2, 256, 0}, {"full_attention_interval", 4, "LF", LAST}},
    {" qwen4_exp qwen4_exp_text ",               P(needs_list), L(gdn), NULL, {0, 0, 0, MUST, MUST, 0}, {0}},
    {" olmo_hybrid ",                            P(olmo_hybrid), L(olmo_hybrid), NULL, {32, 3840, 30, 0, 0, 0}, {0}},
    {" kimi_linear kimi_k3 kimi_k3_text ",       P(kimi), L(kda), A(latent), {27, 2304, 32, 0, 0, 0}, {NULL, 4, "LF", LAST}},
    {" bailing_hybrid bailing_moe_linear bailing_moe_linear_v2 bailing_moe_v2_5 bailing_moe_v3 ",
                                                 P(bailing), L(bailing), NULL, {0, 0, 0, MUST, 0, 0}, {0}},
    {" bailing_moe bailing_moe_v2 ",             P(bailing_moe), L(bailing), NULL, {0, 0, 0, MUST, 0, 0}, {0}},
    {" minimax_text_01 minimax_m1 ",             P(needs_list), L(lightning), NULL, {0, 0, 0, MUST, 0, 0}, {0}},
    {" minimax ",                                P(periodic), L(lightning), NULL, {32, 4096, 32, 8, 0, 0}, {NULL, 2, "LF", FIRST}},
    /* Mamba beside attention */
    {" jamba ",                                  P(jamba), L(jamba), NULL, {32, 4096, 32, 8, 0, 0}, {0}},
    {" zamba ",                                  P(zamba), L(jamba), A(doubled), {76, 3712, 16, 0, 0, 0}, {0}},
    {" zamba2 ",                                 P(zamba2), L(mamba2), A(doubled), {54, 2560, 32, 0, 0, 0}, {0}},
    {" nemotron_h nemotron_h_v2 ",               P(needs_list), L(mamba2), NULL, {0, 4096, 32, 8, 128, 0}, {0}},
    {" falcon_h1 ",                              P(parallel), L(mamba2), NULL, {32, 4096, 32, 8, 0, 0}, {0}},
    {" granitemoehybrid ",                       P(periodic), L(mamba2), NULL, {32, 4096, 32, 0, 0, 0}, {NULL, 1, "LL", LAST}},
    {" bamba ",                                  P(indexed), L(mamba2), NULL, {32, 4096, 32, 8, 0, 0}, {"attn_layer_indices", 0, "LF", FIRST}},
    {" hymba ",                                  P(hymba), L(jamba), NULL, {0, 0, 0, MUST, 0, 0}, {0}},
    {" phi4flash ",                              P(phi4flash), L(jamba), NULL, {32, 2560, 40, 20, 0, 0}, {0}},
    /* other recurrences beside attention */
    {" recurrent_gemma ",                        P(recurrent_gemma), L(rg_lru), NULL, {26, 2560, 10, 0, 0, 0}, {0}},
    {" lfm2_moe ",                               P(needs_list), L(conv), NULL, {32, 2048, 32, 8, 0, 0}, {0}},
    {" lfm2 lfm2_vl ",                           P(indexed), L(conv), NULL, {0, 0, 0, 8, 0, 0}, {"full_attn_idxs", 0, "LF", LAST}},
    /* recurrences alone, or with the layers that attn names */
    {" mamba falcon_mamba ",                     P(fla), L(mamba), A(fla), {0}, {0}},
    {" mamba2 ",                                 P(fla), L(mamba2), A(fla), {0}, {0}},
    {" samba ",                                  P(samba), L(mamba), A(fla), {18, 2304, 18, 0, 0, 2048}, {0}},
    {" xlstm ",                                  P(linear), L(xlstm), NULL, {32, 4096, 8, 0, 0, 0}, {0}},
    {" rwkv ",                                   P(linear), L(rwkv4), NULL, {0}, {0}},
    {" rwkv5 ",                                  P(fla), L(rwkv), A(fla), {0}, {0}},
    {" rwkv6 ",                                  P(fla), L(rwkv), A(fla), {0}, {0}},
    {" rwkv7 rwkv7_fla ",                        P(fla), L(rwkv7), A(fla), {0}, {0}},
    {" gla ",                                    P(fla), L(expanded), A(fla), {24, 2048, 4, 0, 0, 0}, {0}},
    {" retnet ",                                 P(fla), L(expanded), A(fla), {24, 2048, 8, 0, 0, 0}, {0}},
    {" linear_attn ",                            P(fla), L(expanded), A(fla), {24, 2048, 4, 0, 0, 0}, {0}},
    {" delta_net deltanet ",                     P(fla), L(expanded), A(fla), {24, 2048, 0, 0, 0, 0}, {0}},
    {" gated_deltanet gated_delta_net comba ",   P(fla), L(fla_gdn), A(fla), {21, 2048, 6, 0, 0, 0}, {0}},
    {" gated_deltaproduct gated_delta_product ", P(fla), L(fla_gdn), A(fla), {21, 2048, 6, 0, 0, 0}, {0}},
    {" kda ",                                    P(fla), L(fla_gdn), A(fla), {24, 2048, 16, 0, 0, 0}, {0}},
    {" hgrn ",                                   P(fla), L(hgrn), A(fla), {24, 2048, 0, 0, 0, 0}, {0}},
    {" hgrn2 ",                                  P(fla), L(hgrn2), A(fla), {24, 2048, 0, 0, 0, 0}, {0}},
    {" gsa ",                                    P(fla), L(gsa), A(fla), {24, 2048, 4, 0, 0, 0}, {0}},
    /* windows in some layers */
    {" gemma2 vaultgemma ",                      P(periodic), NULL, NULL, {26, 2304, 8, 4, 256, 4096}, {NULL, 2, "SF", LAST}},
    {" gemma3 gemma3_text ",                     P(periodic), NULL, NULL, {26, 2304, 8, 4, 256, 4096}, {PATTERN, 6, "SF", LAST}},
    {" gemma3n gemma3n_text ",                   P(periodic), NULL, NULL, {35, 2048, 8, 2, 256, 512}, {NULL, 5, "SF", LAST}},
    {" gemma4 gemma4_text gemma4_unified_text ", P(periodic), NULL, A(gemma4), {30, 2304, 8, 4, 256, 512}, {PATTERN, 6, "SF", LAST}},
    {" gpt_oss ",                                P(periodic), NULL, NULL, {36, 2880, 64, 8, 64, 128}, {NULL, 2, "SF", LAST}},
    {" olmo3 ",                                  P(periodic), NULL, NULL, {32, 4096, 32, 0, 0, 4096}, {NULL, 4, "SF", LAST}},
    {" cohere2 cohere2_vision ",                 P(periodic), NULL, NULL, {40, 8192, 64, 0, 0, 4096}, {PATTERN "|layer_switch", 4, "SF", LAST}},
    {" cohere2_moe ",                            P(cohere2_moe), NULL, NULL, {40, 8192, 64, 0, 128, 4096}, {PATTERN, 4, "SF", LAST}},
    {" exaone4 exaone_moe ",                     P(exaone4), NULL, NULL, {32, 4096, 32, 32, 0, 4096}, {"sliding_window_pattern", 4, "SF", LAST}},
    {" afmoe ",                                  P(periodic), NULL, NULL, {32, 2048, 16, 0, 128, 1024}, {"global_attn_every_n_layers", 4, "SF", LAST}},
    {" cwm ",                                    P(periodic), NULL, NULL, {64, 6144, 48, 8, 128, 8192}, {NULL, 4, "SF", FIRST}},
    {" granite_swa ",                            P(periodic), NULL, NULL, {24, 2560, 20, 4, 0, 128}, {NULL, 4, "SF", FIRST}},
    {" granitemoe_swa ",                         P(periodic), NULL, NULL, {32, 4096, 32, 0, 0, 128}, {NULL, 4, "SF", FIRST}},
    {" smollm3 ",                                P(smollm3), NULL, NULL, {36, 2048, 16, 4, 0, 0}, {"no_rope_layer_interval", 4, "FS", LAST}},
    {" llama4 llama4_text ",                     P(llama4), NULL, NULL, {48, 5120, 40, 8, 128, 8192}, {"no_rope_layer_interval", 4, "SF", LAST}},
    {" gpt_neo ",                                P(gpt_neo), NULL, NULL, {24, 2048, 16, 0, 0, 0}, {NULL, 2, "SF", FIRST}},
    {" qwen2 mimo ",                             P(windows_above), NULL, NULL, {32, 4096, 32, 32, 0, 4096}, WINDOWS(28)},
    {" qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text ",
                                                 P(windows_above), NULL, NULL, {80, 8192, 64, 8, 0, 4096}, WINDOWS(80)},
    {" qwen2_5_omni_text ",                      P(windows_above), NULL, NULL, {0, 0, 0, MUST, 0, 0}, WINDOWS(28)},
    {" qwen3 ",                                  P(windows_above), NULL, NULL, {32, 4096, 32, 32, 128, 4096}, WINDOWS(28)},
    {" ouro ",                                   P(windows_above), NULL, NULL, {0, 0, 0, MUST, 0, 0}, WINDOWS(28)},
    {" dots1 ",                                  P(windows_above_always), NULL, NULL, {62, 4608, 32, 32, 0, 4096}, WINDOWS(62)},
    {" qwen2_moe ",                              P(windows_below), NULL, NULL, {24, 2048, 16, 16, 0, 4096}, WINDOWS(28)},
    {" mimo_v2 mimo_v2_flash ",                  P(needs_list), NULL, A(mimo), {0, 4096, 64, 4, 192, 128}, {0}},
    {" inkling_text ",                           P(needs_list), NULL, A(inkling), {0, 0, 0, MUST, MUST, 0}, {0}},
    {" step3p5 ",                                P(needs_list), NULL, A(mimo), {45, 4096, 64, 8, 128, 0}, {0}},
    /* windows in all layers or in none */
    {" qwen3_moe ",                              P(windows_if_used), NULL, NULL, {24, 2048, 32, 4, 0, 4096}, {0}},
    {" qwen3_omni_moe_text ",                    P(windows_if_used), NULL, NULL, {0, 0, 0, MUST, MUST, 0}, {0}},
    {" mistral ministral ",                      P(window), NULL, NULL, {32, 4096, 32, 8, 0, 4096}, {0}},
    {" mixtral phimoe ",                         P(window), NULL, NULL, {32, 4096, 32, 8, 0, 0}, {0}},
    {" ministral3 ",                             P(window), NULL, NULL, {34, 4096, 32, 8, 128, 0}, {0}},
    {" starcoder2 ",                             P(window), NULL, NULL, {30, 3072, 24, 2, 0, 0}, {0}},
    {" phi3 phi4_multimodal phi4mm phi3_v ",     P(window), NULL, NULL, {32, 3072, 32, 0, 0, 0}, {0}},
    {" transformer forgetting_transformer ",     P(window), NULL, NULL, {24, 2048, 32, 0, 0, 0}, {0}},
    /* attention that picks or compresses */
    {" phi3small ",                              P(phi3small), NULL, NULL, {0, 0, 0, MUST, 0, 0}, {0}},
    {" deepseek_v32 ",                           P(top_k), NULL, A(latent), {0}, {0}},
    {" glm_moe_dsa axk2 ",                       P(top_k), NULL, A(latent_given), {0}, {0}},
    {" minimax_m3 minimax_m3_text minimax_m3_vl_text ",
                                                 P(needs_list), NULL, NULL, {60, 6144, 64, 4, 128, 0}, {0}},
    {" deepseek_v4 ",                            P(deepseek_v4), NULL, A(deepseek_v4), {43, 4096, 64, 1, 512, 128}, {0}},
    /* every layer attends to everything */
    {" gpt2 gpt-sw3 gptj codegen gpt_neox gpt_neox_japanese openai-gpt ctrl opt bloom biogpt xglm jais phi phi-msft "
     "cohere olmo olmo2 olmoe flex_olmo nanochat internlm internlm2 baichuan xverse qwen orion aquila skywork telechat "
     "minicpm granite granitemoe granitemoeshared nemotron arcee deepseek aria_text ",
                                                 P(full), NULL, NULL, {0}, {0}},
    {" stablelm stablelm_epoch bitnet internlm3 Yi yi exaone glm4v_text ernie4_5_moe hunyuan_v1_dense hunyuan_v1_moe apertus "
     "emu3_text_model chameleon ",               P(full), NULL, NULL, {0, 0, 0, MUST, 0, 0}, {0}},
    {" ernie4_5 ",                               P(full), NULL, NULL, {18, 1024, 16, 2, 128, 0}, {0}},
    {" seed_oss ",                               P(full), NULL, NULL, {64, 4096, 80, 8, 128, 0}, {0}},
    {" glm glm4 glm4_moe glm4v_moe_text helium qwen3_vl_moe_text ",
                                                 P(full), NULL, NULL, {0, 0, 0, MUST, MUST, 0}, {0}},
    {" llama ",                                  P(full), NULL, NULL, {32, 4096, 32, 0, 0, 0}, {0}},
    {" jais2 ",                                  P(full), NULL, NULL, {32, 3328, 26, 0, 0, 0}, {0}},
    {" persimmon ",                              P(full), NULL, NULL, {36, 4096, 64, 0, 0, 0}, {0}},
    {" gemma ",                                  P(full), NULL, NULL, {28, 3072, 16, 16, 256, 0}, {0}},
    {" qwen3_vl_text ",                          P(full), NULL, NULL, {32, 4096, 32, 32, 128, 0}, {0}},
    {" minimax_m2 ",                             P(full), NULL, NULL, {62, 3072, 48, 8, 128, 0}, {0}},
    {" hy_v3 ",                                  P(full), NULL, NULL, {80, 4096, 64, 8, 128, 0}, {0}},
    {" solar_open ",                             P(full), NULL, NULL, {48, 4096, 64, 8, 128, 0}, {0}},
    {" laguna ",                                 P(full), NULL, NULL, {40, 2048, 48, 8, 128, 512}, {0}},
    {" mellum ",                                 P(full), NULL, NULL, {28, 2304, 32, 4, 128, 1024}, {0}},
    {" cosmos3_edge_text ",                      P(full), NULL, NULL, {28, 2048, 16, 8, 128, 0}, {0}},
    {" deepseek_v2 deepseek_v3 kimi_k2 youtu longcat_flash ",
                                                 P(full), NULL, A(latent), {0}, {0}},
    {" glm4_moe_lite mistral4 ",                 P(full), NULL, A(latent_given), {0}, {0}},
    {" minicpm3 ",                               P(full), NULL, A(minicpm3), {0}, {0}},
    {" falcon RefinedWeb RefinedWebModel ",      P(full), NULL, A(falcon), {32, 4544, 71, 0, 0, 0}, {0}},
    {" gpt_bigcode ",                            P(full), NULL, A(falcon), {24, 0, 16, 0, 0, 0}, {0}},
    {" mpt dbrx ",                               P(full), NULL, A(mpt), {0}, {0}},
    {" chatglm ",                                P(full), NULL, A(chatglm), {0}, {0}},
};
/* clang-format on */

const hop__hf_family *hop__hf_family_find(const char *model_type)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (hop__hf_named(families[i].names, model_type)) return &families[i];
    return NULL;
}
