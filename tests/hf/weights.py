#!/usr/bin/env python3
"""Parameters that `audit --memory` counts, beside those of the classes of transformers: every class whose family has a row `weights`,
in its default sizes, on a device that holds no numbers.

    tests/hf/weights.py PROGRAM [FAMILY ..]      exit 1 if one differs, or fewer than 20 agree

Compared are numbers in tensors of two and more dimensions, all, and those that one token passes: of experts as many as it is sent
to. Vectors (norms, biases), which the count leaves out, must be under 0.2 %. Without torch and transformers: 77."""
import json, pathlib, subprocess, sys, tempfile, warnings

import own

own.python("hf weights")
warnings.filterwarnings("ignore")
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

# What a class leaves to the one who trains it.
GIVEN = {"nemotron_h": dict(layers_block_type=["mamba", "mlp", "attention", "mlp"]), "bamba": dict(attn_layer_indices=[2, 9]),
         "granitemoehybrid": dict(num_hidden_layers=4, layer_types=["mamba", "attention", "mamba", "mamba"]),
         "lfm2": dict(layer_types=["conv", "full_attention"] * 16)}
FAMILIES = ["llama", "smollm3", "seed_oss", "hyperclovax", "mistral", "ministral3", "olmo3", "olmo2", "qwen2", "qwen3",
            "phi3", "iquestcoder", "ernie4_5", "gemma", "gemma2", "gemma3_text", "cohere2", "starcoder2", "mixtral", "qwen3_moe",
            "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "deepseek_v2", "deepseek_v3", "deepseek_v32", "axk2", "gpt_oss",
            "granitemoehybrid", "jamba", "bamba", "falcon_h1", "lfm2", "mamba", "falcon_mamba", "mamba2", "nemotron_h", "olmo_hybrid",
            "minimax_m2", "phimoe", "glm_moe_dsa", "hy_v4"]


def counted(model, config):
    """Matrices, what a token passes of them, and vectors."""
    of = lambda *names: next((getattr(config, n) for n in names if getattr(config, n, None)), 0)
    experts, taken = of("num_local_experts", "num_experts", "n_routed_experts"), of("num_experts_per_tok", "num_experts_per_token")
    all, active, vectors = 0, 0, 0
    for name, p in model.named_parameters():
        if p.dim() < 2:
            vectors += p.numel()
            continue
        all += p.numel()
        routed = ".experts." in name and "shared" not in name
        active += p.numel() * taken // experts if routed and experts else p.numel()
    return all, active, vectors


def judge(program, name, room):
    config = AutoConfig.for_model(name, **GIVEN.get(name, {}))
    config.save_pretrained(room)
    text = json.loads((room / "config.json").read_text())
    (room / "config.json").write_text(json.dumps({**config.to_dict(), **text}, default=str))
    done = subprocess.run([program, "audit", str(room / "config.json"), "--memory", "--json", "--quiet", "--n", "1000"], capture_output=True, text=True)
    if done.returncode: return done.stderr.strip()
    row = json.loads(done.stdout)["subjects"][0]
    if row["parameters"] is None: return None
    with torch.device("meta"):
        all, active, vectors = counted(AutoModelForCausalLM.from_config(config), config)
    said = row["parameters"], row["active_parameters"]
    if vectors > 0.002 * all: return f"{vectors} of {all} are in vectors"
    return "" if said == (all, active) else f"the class has {all}, {active} active; audit says {said[0]}, {said[1]} active ({said[0] - all:+}, {said[1] - active:+})"


def main():
    logging.set_verbosity_error()
    wrong = agree = 0
    for name in sys.argv[2:] or FAMILIES:
        with tempfile.TemporaryDirectory() as room:
            why = judge(sys.argv[1], name, pathlib.Path(room))
        agree += why == ""
        wrong += bool(why)
        if why or why is None: print(f"weights: {name}: {why or 'not counted'}", flush=True)
    print(f"weights: {agree} families agree, {wrong} differ")
    return 1 if wrong or (agree < 20 and not sys.argv[2:]) else 0


if __name__ == "__main__":
    sys.exit(main())
