#!/usr/bin/env python3
"""Bytes that `audit --memory` says transformers allocates, beside those that its cache holds after a forward pass.

    tests/hf/caches.py PROGRAM          small random networks of every family below: a batch of prompts, then one token more;
                                        exit 1 if a byte differs, or fewer than 12 families could be tried

Keys and values, keys to pick by, states and convolutions are compared apart, in bfloat16, and with HOPBOUND_LONG in float32. Without
torch and transformers: 77, which Meson counts as skipped."""
import json, pathlib, subprocess, sys, tempfile, warnings

import own

own.python("hf caches")
warnings.filterwarnings("ignore")
import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache
from transformers.utils import logging

BATCH, TOKENS = 2, 21
SIZES = dict(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
             vocab_size=96, pad_token_id=0, bos_token_id=1, eos_token_id=2)
PLAIN = {k: v for k, v in SIZES.items() if k != "num_key_value_heads"}
HEAD = dict(SIZES, head_dim=16)
DELTA = dict(linear_key_head_dim=8, linear_value_head_dim=12, linear_num_key_heads=2, linear_num_value_heads=4)
LATENT = dict(kv_lora_rank=24, q_lora_rank=20, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=12, head_dim=8,
              num_key_value_heads=4)
EXPERTS = dict(moe_intermediate_size=32, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1,
               first_k_dense_replace=1)
INDEX = dict(index_head_dim=16, index_n_heads=2, index_topk=4)
MAMBA2 = dict(mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=8, mamba_d_conv=4, mamba_expand=2)
NETWORKS = {
    "llama": HEAD, "qwen3": HEAD, "mistral": dict(HEAD, sliding_window=8), "mixtral": dict(HEAD, num_local_experts=4),
    "gpt2": dict(n_embd=64, n_layer=4, n_head=4, vocab_size=96),
    "gemma2": dict(HEAD, sliding_window=8), "gemma3_text": dict(HEAD, num_hidden_layers=7, sliding_window=8),
    "gpt_oss": dict(HEAD, sliding_window=8, num_local_experts=4), "cohere2": dict(SIZES, sliding_window=8),
    "olmo3": dict(SIZES, sliding_window=8), "gemma4_text": dict(HEAD, global_head_dim=24, sliding_window=8),
    "falcon": dict(SIZES, multi_query=True), "phi3": dict(SIZES, sliding_window=9),
    "deepseek_v2": dict(PLAIN, **LATENT, **EXPERTS), "deepseek_v3": dict(PLAIN, **LATENT, **EXPERTS),
    "deepseek_v32": dict(PLAIN, **LATENT, **EXPERTS, **INDEX), "axk2": dict(PLAIN, **LATENT, **EXPERTS, **INDEX),
    "glm_moe_dsa": dict(PLAIN, **LATENT, **EXPERTS, **INDEX, index_topk_freq=2),
    "hy_v4": dict(PLAIN, **LATENT, **EXPERTS, **INDEX),
    "minimax_m3_vl_text": dict(HEAD, num_local_experts=4, num_experts_per_tok=2, index_head_dim=16, index_block_size=4,
                               index_topk_blocks=2, index_n_heads=2,
                               layer_types=["full_attention", "minimax_m3_sparse", "full_attention", "minimax_m3_sparse"]),
    "qwen3_next": dict(HEAD, **DELTA, moe_intermediate_size=32, shared_expert_intermediate_size=16, num_experts=4,
                       num_experts_per_tok=2),
    "qwen3_5_text": dict(HEAD, **DELTA), "olmo_hybrid": dict(SIZES, **DELTA),
    "kimi_linear": dict(PLAIN, **LATENT, num_experts=4, moe_intermediate_size=32, num_experts_per_token=2, linear_num_heads=2,
                        linear_head_dim=8, num_hidden_layers=6),
    "bamba": dict(SIZES, **MAMBA2, attn_layer_indices=[1]),
    "granitemoehybrid": dict(SIZES, **MAMBA2, layer_types=["mamba", "attention", "mamba", "mamba"], num_local_experts=0,
                             shared_intermediate_size=40),
    "falcon_h1": dict(HEAD, **MAMBA2, mamba_d_ssm=128),
    "zamba2": dict(SIZES, num_hidden_layers=6, layers_block_type=["mamba", "mamba", "hybrid", "mamba", "mamba", "hybrid"],
                   mamba_d_state=8, mamba_headdim=16, mamba_ngroups=1, n_mamba_heads=8, num_mem_blocks=1, num_key_value_heads=4),
    "jamba": dict(SIZES, attn_layer_period=2, attn_layer_offset=1, mamba_d_state=8, mamba_dt_rank=5, num_experts=4,
                  use_mamba_kernels=False),
    "nemotron_h": dict(HEAD, mamba_num_heads=8, mamba_head_dim=16, ssm_state_size=8, n_groups=2,
                       layers_block_type=["mamba", "attention", "mlp", "mamba"], num_hidden_layers=4),
    "mamba": dict(SIZES, state_size=8, time_step_rank=4), "falcon_mamba": dict(SIZES, state_size=8, time_step_rank=4),
    "mamba2": dict(hidden_size=64, num_hidden_layers=3, num_heads=8, head_dim=16, state_size=8, n_groups=2, vocab_size=96,
                   pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "lfm2": dict(SIZES, layer_types=["conv", "full_attention", "conv", "conv"], block_auto_adjust_ff_dim=False),
    "mimo_v2_flash": dict(HEAD, v_head_dim=12, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, n_group=1,
                          topk_group=1, sliding_window=8),
    "minicpm3": dict(PLAIN, **{k: v for k, v in LATENT.items() if k != "head_dim"}),
}
RECURRENT = {"mamba", "falcon_mamba", "mamba2"}
PARTS = {"kv_bytes": ("keys", "values"), "index_bytes": ("indexer_keys", "idx_keys"), "state_bytes": ("recurrent_states",),
         "conv_bytes": ("conv_states",)}


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for v in value.values() if isinstance(value, dict) else value: yield from tensors(v)


def held(cache):
    """Bytes of each part; what a layer holds beside is told."""
    out = dict.fromkeys(PARTS, 0)
    known = {name for part in PARTS.values() for name in part}
    for layer in cache.layers:
        for part, members in PARTS.items():
            out[part] += sum(t.nbytes for m in members for t in tensors(getattr(layer, m, None)))
        for member, value in vars(layer).items():
            if member not in known and any(t.numel() > 1 for t in tensors(value)): out[member] = "not counted"
    return out


def said(program, path, n, dtype):
    done = subprocess.run([program, "audit", str(path), "--memory", "--json", "--quiet", "--n", str(n), "--batch", str(BATCH),
                           "--kv-type", dtype, "--conv-dtype", dtype], capture_output=True, text=True)
    if done.returncode: return done.stderr.strip()
    row = next(u for u in json.loads(done.stdout)["uses"] if u["by"] == "transformers")
    return row["not_known"] or {part: row[part] for part in PARTS}


def judge(program, room, name, given, dtype):
    """"" or what differs."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(name, **given)
    config.save_pretrained(room)
    model = AutoModelForCausalLM.from_config(config).to(getattr(torch, dtype)).eval()
    ids = torch.randint(3, 90, (BATCH, TOKENS + 1))
    with torch.no_grad():
        cache = DynamicCache(config=config)
        for n in (TOKENS, TOKENS + 1):
            own = "cache_params" if name in RECURRENT else "past_key_values"
            model(ids[:, TOKENS if n > TOKENS else 0:n], use_cache=True, **{own: cache})
            theirs, ours = held(cache), said(program, room / "config.json", n, dtype)
            if theirs != ours: return f"{n} tokens: the cache holds {theirs}, audit says {ours}"
    return ""


def main():
    program, wrong, tried = sys.argv[1], 0, 0
    logging.set_verbosity_error()
    for name, given in NETWORKS.items():
        for dtype in ("bfloat16", "float32") if own.WHOLE else ("bfloat16",):
            with tempfile.TemporaryDirectory() as room:
                why = judge(program, pathlib.Path(room), name, given, dtype)
            wrong += bool(why)
            if why: print(f"caches: {name}, {dtype}: {why}")
        tried += 1
    print(f"caches: {tried} families, {wrong} differ")
    return 1 if wrong or tried < 12 else 0


if __name__ == "__main__":
    sys.exit(main())
