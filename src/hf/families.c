/* The families, one row each. A row says how the layer plan follows when no list in the file gives it, how
 * the state's size and attention's widths are called, and what the configuration class assumes. */
#include "room.h"

#include <string.h>

#define P(name) hop__hf_plan_##name
#define L(name) hop__hf_linear_##name
#define A(name) hop__hf_attention_##name

/* clang-format off */
static const hop__hf_family families[] = {
    /* delta rules beside attention */
    {" qwen3_next ",                             P(interval), L(gdn), NULL, {48, 2048, 16, 2, 256, 0}},
    {" qwen3_5 qwen3_5_text ",                   P(interval), L(gdn), NULL, {32, 4096, 16, 4, 256, 0}},
    {" qwen3_5_moe qwen3_5_moe_text ",           P(interval), L(gdn), NULL, {40, 2048, 16, 2, 256, 0}},
    {" olmo_hybrid ",                            P(olmo_hybrid), L(olmo_hybrid), NULL, {32, 3840, 30, 0, 0, 0}},
    {" kimi_linear kimi_k3 kimi_k3_text ",       P(kimi), L(kda), A(latent), {27, 2304, 32, 0, 0, 0}},
    {" bailing_hybrid bailing_moe_linear bailing_moe_linear_v2 bailing_moe_v2_5 bailing_moe_v3 bailing_moe bailing_moe_v2 ",
                                                 P(bailing), L(bailing), NULL, {0}},
    {" minimax_text_01 minimax_m1 ",             P(needs_list), L(lightning), NULL, {0}},
    {" minimax ",                                P(minimax), L(lightning), NULL, {32, 4096, 32, 8, 0, 0}},
    /* Mamba beside attention */
    {" jamba ",                                  P(jamba), L(jamba), NULL, {32, 4096, 32, 8, 0, 0}},
    {" zamba ",                                  P(zamba), L(jamba), A(doubled), {76, 3712, 16, 0, 0, 0}},
    {" zamba2 ",                                 P(zamba2), L(zamba2), A(doubled), {54, 2560, 32, 0, 0, 0}},
    {" nemotron_h nemotron_h_v2 ",               P(needs_list), L(nemotron), NULL, {0, 4096, 32, 8, 128, 0}},
    {" falcon_h1 ",                              P(parallel), L(falcon_h1), NULL, {32, 4096, 32, 8, 0, 0}},
    {" granitemoehybrid ",                       P(granite), L(bamba), NULL, {32, 4096, 32, 0, 0, 0}},
    {" bamba ",                                  P(bamba), L(bamba), NULL, {32, 4096, 32, 8, 0, 0}},
    {" hymba ",                                  P(hymba), L(jamba), NULL, {0}},
    {" phi4flash ",                              P(phi4flash), L(jamba), NULL, {32, 2560, 40, 20, 0, 0}},
    /* other recurrences beside attention */
    {" recurrent_gemma ",                        P(recurrent_gemma), L(rg_lru), NULL, {26, 2560, 10, 0, 256, 0}},
    {" lfm2 lfm2_moe lfm2_vl ",                  P(lfm2), L(conv), NULL, {0, 0, 0, 8, 0, 0}},
    /* recurrences alone, or with the layers that attn.layers names */
    {" mamba falcon_mamba ",                     P(fla), L(mamba), A(fla), {0}},
    {" mamba2 ",                                 P(fla), L(mamba2), A(fla), {0}},
    {" samba ",                                  P(samba), L(mamba), A(fla), {18, 2304, 18, 0, 0, 2048}},
    {" xlstm ",                                  P(linear), L(xlstm), NULL, {32, 4096, 8, 0, 0, 0}},
    {" rwkv ",                                   P(linear), L(rwkv4), NULL, {0}},
    {" rwkv5 ",                                  P(fla), L(rwkv), A(fla), {0}},
    {" rwkv6 ",                                  P(fla), L(rwkv), A(fla), {0}},
    {" rwkv7 ",                                  P(fla), L(rwkv7), A(fla), {0}},
    {" gla ",                                    P(fla), L(expanded), A(fla), {24, 2048, 4, 0, 0, 0}},
    {" retnet ",                                 P(fla), L(expanded), A(fla), {24, 2048, 8, 0, 0, 0}},
    {" linear_attn ",                            P(fla), L(expanded), A(fla), {24, 2048, 4, 0, 0, 0}},
    {" delta_net deltanet ",                     P(fla), L(expanded), A(fla), {24, 2048, 4, 0, 0, 0}},
    {" gated_deltanet gated_delta_net comba ",   P(fla), L(fla_gdn), A(fla), {21, 2048, 6, 0, 0, 0}},
    {" gated_deltaproduct gated_delta_product ", P(fla), L(fla_gdn), A(fla), {21, 2048, 6, 0, 0, 0}},
    {" kda ",                                    P(fla), L(fla_gdn), A(fla), {24, 2048, 16, 0, 0, 0}},
    {" hgrn ",                                   P(fla), L(hgrn), A(fla), {24, 2048, 0, 0, 0, 0}},
    {" hgrn2 ",                                  P(fla), L(hgrn2), A(fla), {24, 2048, 0, 0, 0, 0}},
    {" gsa ",                                    P(fla), L(gsa), A(fla), {24, 2048, 4, 0, 0, 0}},
    /* windows */
    {" gemma2 ",                                 P(gemma2), NULL, NULL, {26, 2304, 8, 4, 256, 4096}},
    {" gemma3 gemma3_text ",                     P(gemma3), NULL, NULL, {26, 2304, 8, 4, 256, 4096}},
    {" gemma3n gemma3n_text ",                   P(gemma3n), NULL, NULL, {35, 2048, 8, 2, 256, 512}},
    {" gemma4 gemma4_text gemma4_unified_text ", P(gemma3), NULL, A(gemma4), {30, 2304, 8, 4, 256, 512}},
    {" gpt_oss ",                                P(gemma2), NULL, NULL, {36, 2880, 64, 8, 64, 128}},
    {" olmo3 ",                                  P(olmo3), NULL, NULL, {32, 4096, 32, 0, 0, 4096}},
    {" cohere2 cohere2_moe cohere2_vision ",     P(cohere2), NULL, NULL, {40, 8192, 64, 0, 0, 4096}},
    {" exaone4 ",                                P(exaone4), NULL, NULL, {32, 4096, 32, 32, 0, 4096}},
    {" qwen2 qwen2_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text ",
                                                 P(windows_above), NULL, NULL, {32, 4096, 32, 32, 0, 4096}},
    {" qwen3 ",                                  P(windows_above), NULL, NULL, {32, 4096, 32, 32, 128, 4096}},
    {" qwen3_moe qwen3_vl_text qwen3_vl_moe_text ",
                                                 P(windows_if_used), NULL, NULL, {24, 2048, 32, 4, 0, 4096}},
    {" mistral mixtral ministral ministral3 phimoe ",
                                                 P(window), NULL, NULL, {32, 4096, 32, 8, 0, 0}},
    {" starcoder2 ",                             P(window), NULL, NULL, {30, 3072, 24, 2, 0, 0}},
    {" phi3 phi4_multimodal phi4mm phi3_v ",     P(window), NULL, NULL, {32, 3072, 32, 0, 0, 0}},
    {" llama4 llama4_text ",                     P(llama4), NULL, NULL, {48, 5120, 40, 8, 128, 8192}},
    {" gpt_neo ",                                P(gpt_neo), NULL, NULL, {24, 2048, 16, 0, 0, 0}},
    {" mimo_v2 mimo_v2_flash ",                  P(needs_list), NULL, A(mimo), {0, 4096, 64, 4, 192, 128}},
    /* attention that picks or compresses */
    {" phi3small ",                              P(phi3small), NULL, NULL, {0}},
    {" deepseek_v32 glm_moe_dsa ",               P(top_k), NULL, A(latent), {0}},
    {" minimax_m3 minimax_m3_text minimax_m3_vl_text ", P(full), NULL, NULL, {60, 6144, 64, 4, 128, 0}},
    {" deepseek_v4 ",                            P(deepseek_v4), NULL, A(deepseek_v4), {43, 4096, 64, 1, 512, 128}},
    /* every layer attends to everything */
    {" gpt2 gptj codegen gpt_neox gpt_neox_japanese opt bloom arcee cohere olmo olmo2 olmoe phi persimmon "
     "stablelm stablelm_epoch internlm internlm2 internlm3 baichuan xverse yi granite granitemoe granitemoeshared "
     "nemotron helium glm glm4 glm4_moe ernie4_5 ernie4_5_moe seed_oss smollm3 apertus deepseek deepseek_v2 "
     "deepseek_v3 kimi_k2 minimax_m2 hunyuan_v1_dense hunyuan_v1_moe jais gptsan biogpt xglm ",
                                                 P(full), NULL, NULL, {0}},
    {" llama ",                                  P(full), NULL, NULL, {32, 4096, 32, 0, 0, 0}},
    {" longcat_flash ",                          P(full), NULL, NULL, {0}},
    {" minicpm3 ",                               P(full), NULL, NULL, {0}},
    {" gemma ",                                  P(full), NULL, NULL, {28, 3072, 16, 16, 256, 0}},
    {" falcon RefinedWeb RefinedWebModel ",      P(full), NULL, A(falcon), {32, 4544, 71, 0, 0, 0}},
    {" gpt_bigcode ",                            P(full), NULL, A(bigcode), {24, 0, 16, 0, 0, 0}},
    {" mpt dbrx ",                               P(full), NULL, A(mpt), {0}},
    {" chatglm ",                                P(full), NULL, A(chatglm), {0}},
    {" transformer forgetting_transformer ",     P(window), NULL, NULL, {24, 2048, 32, 0, 0, 0}},
};
/* clang-format on */

const hop__hf_family *hop__hf_family_find(const char *model_type)
{
    char name[72] = " ";
    if (!*model_type || strlen(model_type) > 68 || strchr(model_type, ' ')) return NULL;
    strcat(strcat(name, model_type), " ");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strstr(families[i].names, name)) return &families[i];
    return NULL;
}
