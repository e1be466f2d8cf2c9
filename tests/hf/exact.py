#!/usr/bin/env python3
"""Networks that `build rotary --like` writes, loaded by unmodified transformers: proved by `prove` from the same file, right on every
instance that is drawn, and wrong once a weight is damaged.

    tests/hf/exact.py PROGRAM [FAMILY ..] [--count N] [--sample]     exit 1 if one of them is not; 77 without transformers

--sample: two families, 40 instances, unless HOPBOUND_LONG is set; --json FILE: what table.py reads. A row a family is printed: class, hops, tokens, right answers of how many (eager, sdpa; forward, with a cache), verdict."""
import argparse, json, pathlib, shutil, subprocess, sys, tempfile

import own

own.python("hf exact")
import torch
import transformers
from safetensors.torch import load_file, save_file

LLAMA = {"hidden_act": "silu", "rms_norm_eps": 1e-5, "max_position_embeddings": 131072, "hidden_size": 320, "vocab_size": 32000,
         "intermediate_size": 512, "tie_word_embeddings": False, "num_hidden_layers": 5}
MAMBA2 = {"mamba_n_heads": 32, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2,
          "mamba_chunk_size": 16}
# Head counts, head widths and angles of released models; how many layers there are and how wide they are is smaller.
FAMILIES = {
    "llama": {**LLAMA, "model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
              "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                                       "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}},
    "mistral": {**LLAMA, "model_type": "mistral", "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                "rope_theta": 1000000.0, "sliding_window": None},
    "qwen3": {**LLAMA, "model_type": "qwen3", "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
              "rope_theta": 1000000.0, "rms_norm_eps": 1e-6, "tie_word_embeddings": True},
    "bamba": {**LLAMA, **MAMBA2, "model_type": "bamba", "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2,
              "num_hidden_layers": 8, "attn_layer_indices": [1, 3, 5, 7]},
    "granitemoehybrid": {**LLAMA, **MAMBA2, "model_type": "granitemoehybrid", "hidden_size": 1024, "num_attention_heads": 8,
                         "num_key_value_heads": 2, "num_hidden_layers": 8, "layer_types": ["mamba", "attention"] * 4,
                         "position_embedding_type": "rope", "num_local_experts": 0, "shared_intermediate_size": 512,
                         "rope_theta": 10000.0, "embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22,
                         "attention_multiplier": 0.0078125},
}


def run(program, *args, good=(0,)):
    done = subprocess.run([program, *map(str, args), "--quiet"], capture_output=True, text=True)
    if done.returncode not in good: raise SystemExit(f"exact: {' '.join(map(str, args))}: exit {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def load(directory, how, dtype=torch.float32):
    return transformers.AutoModelForCausalLM.from_pretrained(directory, attn_implementation=how, dtype=dtype).eval()


def right(net, instances, cached=False):
    """How many answers are the likeliest tokens; cached: the last token comes by itself, behind a cache of the others."""
    count = 0
    with torch.no_grad():
        for at in range(0, len(instances), 20):
            batch = instances[at:at + 20]
            tokens, wanted = torch.tensor([i["tokens"] for i in batch]), torch.tensor([i["answer"] for i in batch])
            if cached:
                before = net(tokens[:, :-1], use_cache=True, logits_to_keep=1)
                last = torch.full((len(batch), 1), tokens.shape[1] - 1)  # bamba's class counts from 0 at every call
                logits = net(tokens[:, -1:], past_key_values=before.past_key_values, use_cache=True, position_ids=last).logits
            else:
                logits = net(tokens, use_cache=False, logits_to_keep=1).logits
            count += int((logits[:, -1].argmax(-1) == wanted).sum())
    return count


def damage(directory, to):
    """One weight of the last look-up becomes a hundred times the largest of its tensor: a query that is nearly all one angle finds any token."""
    shutil.copytree(directory, to)
    path = str(to / "model.safetensors")
    tensors = load_file(path)
    name = max((n for n in tensors if n.endswith(("q_proj.weight", "qkv_proj.weight")) and tensors[n].any()))
    where = tensors[name].nonzero()[0]
    tensors[name][tuple(where)] = 100 * tensors[name].abs().max()
    save_file(tensors, path, metadata={"format": "pt"})
    return f"{name}[{', '.join(map(str, where.tolist()))}]"


def one(program, name, config, sizes, count, room):
    source, net = room / f"{name}.json", room / name
    source.write_text(json.dumps(config))
    built = json.loads(run(program, "build", "rotary", "--like", source, *sizes, "-o", net, "--json"))
    verdict = json.loads(run(program, "prove", net, "--json", good=(0, 10, 30)))["verdict"]
    instances = [json.loads(l) for l in run(program, "task", *sizes, "--count", count, "--format", "jsonl").splitlines()]
    results = {}
    for how in ("eager", "sdpa"):
        model = load(net, how)
        results[how] = right(model, instances)
        results[how + " cached"] = right(model, instances[:count // 5], True)
    kind = type(model).__name__
    results["bf16"] = right(load(net, "sdpa", torch.bfloat16), instances[:count // 5])
    where = damage(net, room / f"{name}-damaged")
    broken = right(load(room / f"{name}-damaged", "sdpa"), instances[:100])
    fine = (results["eager"] == results["sdpa"] == count and results["eager cached"] == results["sdpa cached"] == count // 5
            and broken < min(100, count) and verdict == "proved")
    print(f"{'ok  ' if fine else 'FAIL'} {name}: {kind}, {built['pattern']}, d_model {built['d_model']}, {built['heads']} heads of {built['head_dim']}; n {built['n']}, "
          f"{built['sizes']}: {verdict}; right of {count} and {count // 5}: {results}; damaged {where}: {broken} of {min(100, count)}", flush=True)
    shutil.rmtree(net), shutil.rmtree(room / f"{name}-damaged")
    return {"model_type": config["model_type"], "pattern": built["pattern"], "n": built["n"], "hops": built["task"]["hops"], "count": count,
            "right": results["sdpa"], "bf16": f"{results['bf16']} of {count // 5}", "damaged": f"{broken} of {min(100, count)}", "verdict": verdict, "fine": fine}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("families", nargs="*")
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--sizes", default="--hops 3 --m 8 --fan 4,4")
    p.add_argument("--sample", action="store_true", help="two families, 40 instances")
    p.add_argument("--json", help="write what was found")
    a = p.parse_args()
    a.sample &= not own.WHOLE
    torch.set_num_threads(2)
    names = a.families or (["llama", "qwen3"] if a.sample else list(FAMILIES))
    with tempfile.TemporaryDirectory() as room:
        results = [one(str(pathlib.Path(a.program).resolve()), n, FAMILIES[n], a.sizes.split(), 40 if a.sample else a.count, pathlib.Path(room))
                   for n in names]
    if a.json: pathlib.Path(a.json).write_text(json.dumps(results))
    print(f"{sum(r['fine'] for r in results)} passed, {sum(not r['fine'] for r in results)} failed")
    return 0 if all(r["fine"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
