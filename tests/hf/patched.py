#!/usr/bin/env python3
"""Models of transformers on hopbound.torch beside themselves: prompts, padded prompts, cached decoding, gradients; and what
stood there comes back. patched.py LIBRARY [NAME ..]. All families with HOPBOUND_LONG=1, else one of each recurrence."""
import os
import pathlib
import sys

import own

own.python("hf patched")
os.environ["HOPBOUND_LIBRARY"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, str(own.ROOT / "python"))
import torch  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402
import hopbound.torch  # noqa: E402

NEAR = 5e-6  # of the largest logit: float32 on both sides
GRADS = 5e-3  # of a weight's largest gradient; where that is what is left of larger ones, theirs is as far from the truth

SIZES = dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
DELTA = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=12,
             linear_conv_kernel_dim=4)
LATENT = dict(kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8)
MAMBA = dict(vocab_size=97, hidden_size=48, num_hidden_layers=2, state_size=8, pad_token_id=0, bos_token_id=1, eos_token_id=2)
MAMBA2 = dict(mamba_n_heads=6, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=2, mamba_d_conv=4, mamba_expand=2,
              mamba_chunk_size=16)

SAMPLE = ("qwen3_next", "kimi_linear", "bamba", "jamba", "lfm2")
MODELS = {
    "qwen3_next": dict(SIZES, head_dim=16, num_hidden_layers=4, num_experts=0, **DELTA),
    "qwen3_5_text": dict(SIZES, head_dim=16, num_hidden_layers=4, **DELTA),
    "olmo_hybrid": dict(SIZES, num_hidden_layers=4, **DELTA),
    "kimi_linear": dict(SIZES, num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], linear_num_heads=4,
                        linear_head_dim=8, **{**LATENT, "num_key_value_heads": 4}),
    "mamba2": dict(MAMBA, num_heads=6, head_dim=16, n_groups=2, expand=2, chunk_size=16),
    "bamba": dict(SIZES, num_hidden_layers=2, attn_layer_indices=[1], **MAMBA2),
    "granitemoehybrid": dict(SIZES, num_hidden_layers=2, layer_types=["mamba", "attention"], num_local_experts=0,
                             shared_intermediate_size=40, **MAMBA2),
    "nemotron_h": dict(SIZES, head_dim=12, num_hidden_layers=3, layers_block_type=["mamba", "attention", "mlp"], mamba_num_heads=6,
                       mamba_head_dim=16, ssm_state_size=8, n_groups=2, conv_kernel=4, chunk_size=16),
    "falcon_h1": dict(SIZES, head_dim=12, num_hidden_layers=2, mamba_d_ssm=96, **MAMBA2),
    "zamba2": dict(SIZES, num_hidden_layers=2, layers_block_type=["mamba", "hybrid"], mamba_d_state=8, mamba_headdim=16,
                   mamba_ngroups=2, chunk_size=16, n_mamba_heads=6),
    "jamba": dict(SIZES, num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=1, mamba_d_state=8, mamba_d_conv=4,
                  mamba_expand=2, mamba_dt_rank=5, use_mamba_kernels=False, num_experts=1),
    "mamba": dict(MAMBA, time_step_rank=5),
    "falcon_mamba": dict(MAMBA, time_step_rank=5),
    "lfm2": dict(SIZES, num_hidden_layers=2, layer_types=["conv", "full_attention"]),
}


def make(name):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **MODELS[name])).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:  # what classes begin with hides mistakes
                p.add_(torch.randn(p.shape), alpha=0.3)
    return model


def cached(model, tokens, prompt):
    """A prompt, two more tokens at once, then one after the other."""
    rows, kept, at = [], {}, 0
    for count in (prompt, 2, 1, 1, 1):
        out = model(tokens[:, at:at + count], use_cache=True, **kept)
        kept = {n: out[n] for n in ("past_key_values", "cache_params") if out.get(n) is not None}
        rows.append(out.logits)
        at += count
    return torch.cat(rows, 1)


def outputs(model, tokens):
    mask = torch.ones_like(tokens)
    mask[1, :9] = 0
    with torch.no_grad():
        found = {"a prompt": model(tokens, use_cache=False).logits,
                 "a padded prompt": model(tokens, attention_mask=mask, use_cache=False).logits[:, 9:],
                 "cached": cached(model, tokens, 40), "cached after a short prompt": cached(model, tokens, 2)}
    model.train().zero_grad()
    model(tokens, use_cache=False).logits.square().mean().backward()
    model.eval()
    return found, {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def far(x, y):
    return ((x - y).abs().max() / y.abs().max().clamp(min=1e-30)).item()


def check(name):
    """What is wrong, line after line."""
    model = make(name)
    tokens = torch.randint(3, 97, (2, 70))
    before, grads = outputs(model, tokens)
    if hopbound.torch.patch(model) is not model or hopbound.torch.patch(model) is not model:
        yield "patch does not return the model"
    found, found_grads = outputs(model, tokens)
    hopbound.torch.unpatch(model)
    after, _ = outputs(model, tokens)
    worst = max(far(found[n], before[n]) for n in before)
    worst_grad = max(far(found_grads[n], grads[n]) for n in grads)
    print(f"{name}: logits {worst:.1e}, gradients {worst_grad:.1e}", flush=True)
    for way in before:
        if far(found[way], before[way]) > NEAR:
            yield f"{way}: {far(found[way], before[way]):.1e} of the largest logit apart"
        if torch.equal(found[way], before[way]) and name != "lfm2":
            yield f"{way}: the same bits: nothing was patched"
        if not torch.equal(after[way], before[way]):
            yield f"{way}: unpatched, it is not what it was"
    if worst_grad > GRADS or found_grads.keys() != grads.keys():
        yield f"gradients are {worst_grad:.1e} apart"


def check_others():
    """What is not ours to do goes to what stood there."""
    model = make("qwen3_next")
    tokens = torch.randint(3, 97, (1, 20))
    halved = make("qwen3_next").to(torch.bfloat16)
    with torch.no_grad():
        before, before_halved = model(tokens).logits, halved(tokens).logits
        hopbound.torch.patch(model)
        hopbound.torch.patch(halved)
        if not torch.equal(halved(tokens).logits, before_halved):
            yield "bfloat16 is not left alone"
        hopbound.torch.unpatch(halved)
        if torch.equal(model(tokens).logits, before):
            yield "unpatching one model unpatched another"
        hopbound.torch.unpatch(model)
        hopbound.torch.unpatch(model)
        if not torch.equal(model(tokens).logits, before):
            yield "unpatched, it is not what it was"


def main():
    torch.set_num_threads(1)
    bad = 0
    names = sys.argv[2:] or (MODELS if own.WHOLE else SAMPLE)
    for name in names:
        for line in check(name):
            print(f"{name}: {line}", flush=True)
            bad += 1
    for line in check_others():
        print(line)
        bad += 1
    print(f"{len(names)} models, {bad} wrong")
    return bad != 0


sys.exit(main())
