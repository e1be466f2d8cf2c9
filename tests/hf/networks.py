"""Small networks of each family with random weights, as transformers saves them."""
SIZES = dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
HEAD = dict(SIZES, head_dim=16)
DELTA = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=12,
             linear_conv_kernel_dim=4)
MAMBA2 = dict(mamba_n_heads=6, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=2, mamba_d_conv=4, mamba_expand=2,
              mamba_chunk_size=16)
JAMBA = dict(SIZES, num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=1, mamba_d_state=8, mamba_d_conv=4,
             mamba_expand=2, mamba_dt_rank=5, use_mamba_kernels=False)
GRANITE = dict(SIZES, num_hidden_layers=3, layer_types=["mamba", "attention", "mamba"], num_local_experts=0,
               shared_intermediate_size=40, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.4,
               attention_multiplier=0.1, **MAMBA2)
RECURRENT = {k: v for k, v in SIZES.items() if k not in ("intermediate_size", "num_attention_heads", "num_key_value_heads",
                                                         "max_position_embeddings")}
MAMBA2_ALONE = dict(num_heads=6, head_dim=16, state_size=8, n_groups=2, conv_kernel=4, expand=2, chunk_size=16)
NEMOTRON = dict(SIZES, head_dim=16, mamba_num_heads=6, mamba_head_dim=12, ssm_state_size=8, n_groups=2, conv_kernel=4, chunk_size=16,
                time_step_min=1e-6, time_step_max=2.0, time_step_floor=0.3)  # no step is as small as the least
FALCON = dict(SIZES, num_hidden_layers=2, head_dim=16, mamba_d_ssm=60, **dict(MAMBA2, mamba_d_head="auto"))
MULTIPLIED = dict(lm_head_multiplier=0.4, embedding_multiplier=2.5, mlp_multipliers=[0.7, 1.3], key_multiplier=0.6,
                  attention_out_multiplier=1.7, attention_in_multiplier=0.9, ssm_multipliers=[0.5, 1.5, 0.8, 1.2, 0.9],
                  ssm_in_multiplier=1.1, ssm_out_multiplier=0.75)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=128)
LONGROPE = dict(rope_type="longrope", rope_theta=10000.0, factor=2.0, original_max_position_embeddings=256,
                short_factor=[1.0 + 0.1 * i for i in range(8)], long_factor=[2.0 + 0.1 * i for i in range(8)])
SHARP = dict(LLAMA3, rope_theta=1.6386344375530564, high_freq_factor=1.000001, original_max_position_embeddings=7)
GROWN = {k: v for k, v in LONGROPE.items() if k != "factor"}  # it follows from the lengths, in every layer

# name: (model_type, what its configuration says beside the class)
NETWORKS = {
    "llama": ("llama", dict(HEAD, num_hidden_layers=2)),
    "llama, biases, llama3": ("llama", dict(HEAD, num_hidden_layers=2, attention_bias=True, rope_parameters=LLAMA3)),
    "llama, yarn": ("llama", dict(HEAD, num_hidden_layers=2, rope_parameters=YARN)),
    "llama, longrope": ("llama", dict(HEAD, num_hidden_layers=2, rope_parameters=LONGROPE)),
    "llama, llama3, factors that are close": ("llama", dict(SIZES, head_dim=64, num_hidden_layers=2, rope_parameters=SHARP)),
    "llama, longrope, no factor": ("llama", dict(HEAD, num_hidden_layers=2, rope_parameters=GROWN)),
    "llama, linear": ("llama", dict(HEAD, num_hidden_layers=2,
                                    rope_parameters=dict(rope_type="linear", rope_theta=5e5, factor=4.0))),
    "mistral": ("mistral", dict(HEAD, num_hidden_layers=2, sliding_window=11)),
    "mistral, no window": ("mistral", dict(HEAD, num_hidden_layers=2, sliding_window=None)),
    "qwen3": ("qwen3", dict(HEAD, num_hidden_layers=2)),
    "qwen3, tied": ("qwen3", dict(HEAD, num_hidden_layers=2, tie_word_embeddings=True)),
    "mamba2": ("mamba2", dict(RECURRENT, num_hidden_layers=3, **MAMBA2_ALONE)),
    "mamba2, one group, tied, no biases": ("mamba2", dict(RECURRENT, num_hidden_layers=2, tie_word_embeddings=True,
        **dict(MAMBA2_ALONE, n_groups=1, use_conv_bias=False, conv_kernel=3))),
    "mamba2, limits": ("mamba2", dict(RECURRENT, num_hidden_layers=2, time_step_limit=(0.4, 0.8), **MAMBA2_ALONE)),
    "bamba": ("bamba", dict(SIZES, num_hidden_layers=3, attn_layer_indices=[1], **MAMBA2)),
    "bamba, biases, one group": ("bamba", dict(SIZES, num_hidden_layers=3, attn_layer_indices=[0, 2], attention_bias=True,
        mamba_conv_bias=False, **dict(MAMBA2, mamba_n_groups=1, mamba_d_head="auto"))),
    "jamba": ("jamba", dict(JAMBA, num_experts=1)),
    "jamba, no biases, own rank": ("jamba", dict(JAMBA, num_experts=1, mamba_conv_bias=False, mamba_dt_rank="auto", attn_layer_period=3)),
    "mamba": ("mamba", dict(RECURRENT, num_hidden_layers=2, state_size=8, time_step_rank=5)),
    "mamba, tied, no biases": ("mamba", dict(RECURRENT, num_hidden_layers=2, use_conv_bias=False, tie_word_embeddings=True)),
    "falcon_mamba": ("falcon_mamba", dict(RECURRENT, num_hidden_layers=2, state_size=8, time_step_rank=5)),
    "granitemoehybrid": ("granitemoehybrid", GRANITE),
    "granitemoehybrid, rope, tied": ("granitemoehybrid", dict(GRANITE, position_embedding_type="rope", tie_word_embeddings=True)),
    "nemotron_h": ("nemotron_h", dict(NEMOTRON, hybrid_override_pattern="M-*M-")),
    "nemotron_h, experts": ("nemotron_h", dict(NEMOTRON, hybrid_override_pattern="ME*E", n_routed_experts=6, num_experts_per_tok=2,
        n_group=2, topk_group=1, moe_intermediate_size=20, moe_shared_expert_intermediate_size=28, routed_scaling_factor=2.5)),
    "nemotron_h, small steps": ("nemotron_h", dict(dict(NEMOTRON, time_step_min=0.7), hybrid_override_pattern="MM*-", use_conv_bias=False)),
    "falcon_h1": ("falcon_h1", dict(FALCON, **MULTIPLIED)),
    "falcon_h1, norm before gate": ("falcon_h1", dict(FALCON, mamba_rms_norm=True, tie_word_embeddings=True, attention_bias=True)),
    "falcon_h1, gate before norm": ("falcon_h1", dict(FALCON, mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_d_ssm=None,
        **MULTIPLIED)),
    "qwen3_next": ("qwen3_next", dict(HEAD, num_hidden_layers=4, num_experts=0, **DELTA)),
    "qwen3_next, own plan": ("qwen3_next", dict(HEAD, num_hidden_layers=3, num_experts=0, partial_rotary_factor=0.5, layer_types=[
        "full_attention", "linear_attention", "full_attention"], **dict(DELTA, linear_num_key_heads=4, linear_key_head_dim=16))),
    "qwen3_next, experts": ("qwen3_next", dict(HEAD, num_hidden_layers=4, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24,
                                               shared_expert_intermediate_size=32, mlp_only_layers=[1], **DELTA)),
    "qwen3_next, some experts": ("qwen3_next", dict(HEAD, num_hidden_layers=4, num_experts=5, num_experts_per_tok=2, norm_topk_prob=False,
                                                    moe_intermediate_size=24, shared_expert_intermediate_size=24, decoder_sparse_step=2, **DELTA)),
    "qwen3_5_text": ("qwen3_5_text", dict(HEAD, num_hidden_layers=4, **DELTA)),
    "lfm2": ("lfm2", dict(SIZES, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], block_auto_adjust_ff_dim=False)),
    "lfm2, biases, tied, own widths": ("lfm2", dict(SIZES, num_hidden_layers=3, full_attn_idxs=[2], conv_bias=True, conv_L_cache=4,
        block_multiple_of=24, block_ffn_dim_multiplier=1.5, tie_embedding=True)),
    "olmo_hybrid": ("olmo_hybrid", dict(SIZES, num_hidden_layers=4, rope_parameters={"rope_theta": None, "rope_type": "default"}, **DELTA)),
    "olmo_hybrid, rope": ("olmo_hybrid", dict(SIZES, num_hidden_layers=3, attention_bias=True, linear_allow_neg_eigval=False,
        layer_types=["full_attention", "linear_attention", "full_attention"], **dict(DELTA, linear_num_key_heads=4))),
    "minimax": ("minimax", dict(HEAD, num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=2, block_size=32)),
    "minimax, factors, one expert": ("minimax", dict(HEAD, num_hidden_layers=3, num_local_experts=1, num_experts_per_tok=1, block_size=64,
        full_attn_alpha_factor=3.55, full_attn_beta_factor=0.5, linear_attn_alpha_factor=1.75, linear_attn_beta_factor=1.25,
        mlp_alpha_factor=2.5, mlp_beta_factor=0.75)),
}
# Where decoding by their cache is another function than their forward, which is what we go by.
FORWARD_ONLY = {name: "a step from the cache applies no limit" for name in ("mamba2, limits", "nemotron_h, small steps")}

# Where every head's output is normalised, a state that forgets at once leaves the product of two vectors, which may be near
# 0, and float32 itself is then not good to 1e-5: these decay by some percents a token, and so do chunks' borders count.
REMEMBERING = {"qwen3_next", "qwen3_5_text", "olmo_hybrid"}


def make(name, folder):
    """Saves it there, and returns the model."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, utils
    utils.logging.disable_progress_bar()
    kind, given = NETWORKS[name]
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **given)).eval()
    draw = torch.Generator().manual_seed(sum(map(ord, name)))
    with torch.no_grad():
        for part, p in model.named_parameters():  # what classes begin with hides mistakes
            noise = torch.randn(p.shape, generator=draw)
            if part.endswith("A_log") and kind in REMEMBERING:
                p.copy_(0.5 * noise - 3)
            elif p.dim() == 1 or part.endswith(("A_log", ".D")):
                p.add_(noise, alpha=0.3)
            elif "embed" in part:
                p.copy_(0.5 * noise)
            else:
                fan_in = p[0].numel() if "conv" in part else p.shape[-1]
                p.copy_(noise / fan_in ** 0.5)
    model.save_pretrained(folder)
    return model
