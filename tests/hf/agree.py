#!/usr/bin/env python3
"""Networks that transformers saved, read by hopbound: logits side by side. agree.py LIBRARY PROGRAM [NAME ..].

For every network of networks.py: all-position logits at lengths 20 and 170, of transformers' forward with eager and with
sdpa attention, and of its cached decoding; `audit` says of the directory what it says of its config.json. --quick: the first
network of each family, unless HOPBOUND_LONG is set; --json FILE: what table.py reads. Without torch or transformers the test
is skipped, with a line that says so (exit 77)."""
import argparse
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import own

HERE = pathlib.Path(__file__).resolve().parent
LENGTHS = (20, 170)
LIMIT = 1e-5  # of the largest logit, at up to 200 tokens


def read_options():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("program")
    p.add_argument("names", nargs="*")
    p.add_argument("--quick", action="store_true", help="one network of a family, by eager and by its cache")
    p.add_argument("--json", help="write what was found")
    options = p.parse_args()
    options.quick &= not own.WHOLE
    return options


OPTIONS = read_options()
os.environ.update(HOPBOUND_LIBRARY=os.path.abspath(OPTIONS.library), HOPBOUND_PROGRAM=os.path.abspath(OPTIONS.program))
sys.path[:0] = [str(HERE.parent.parent / "python"), str(HERE)]
own.python("hf agree")
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import hopbound  # noqa: E402
import networks  # noqa: E402


def decoded(model, tokens):
    """Logits of one token after the other, from a cache; the first half as a prompt."""
    half = tokens.shape[1] // 2
    out = model(tokens[:, :half], use_cache=True)
    rows = [out.logits[0]]
    placed = "position_ids" in inspect.signature(model.forward).parameters  # some classes count from 0 at every call
    for t in range(half, tokens.shape[1]):
        cache = "past_key_values" if "past_key_values" in out else "cache_params"
        more = {cache: out[cache], **({"position_ids": torch.tensor([[t]])} if placed else {})}
        out = model(tokens[:, t:t + 1], use_cache=True, **more)
        rows.append(out.logits[0])
    return torch.cat(rows)


def theirs(model, tokens, ways):
    for way in ways:
        if way in ("eager", "sdpa"):
            try:
                model.set_attn_implementation(way)
            except (ValueError, AttributeError):
                continue
            yield way, model(tokens, use_cache=False).logits[0]
        else:
            yield way, decoded(model, tokens)


def audited(folder):
    """What `audit` says otherwise of the directory than of its config.json; "": nothing."""
    said = []
    for path in (folder, os.path.join(folder, "config.json")):
        done = subprocess.run([OPTIONS.program, "audit", path, "--json", "--quiet"], capture_output=True, text=True)
        said.append(json.loads(done.stdout) if done.returncode == 0 else done.stderr)
    keys = [k for k in said[0] if k not in ("path", "file") and said[0][k] != said[1].get(k)] \
        if all(isinstance(s, dict) for s in said) else ["it is refused"]
    return ", ".join(keys)


def compare(name, folder):
    """The class, and {way: largest difference, as a share of the largest logit}"""
    torch.manual_seed(0)
    model = networks.make(name, folder)
    ours = hopbound.Network.load(folder)
    off = audited(folder)
    assert not off, f"audit: of the directory otherwise than of config.json: {off}"
    worst = {}
    for length in LENGTHS:
        draw = np.random.default_rng(length)
        tokens = draw.integers(0, model.config.vocab_size, (1, length))
        mine = ours.logits(tokens, every=True)[0]
        with torch.no_grad():
            for way, logits in theirs(model, torch.from_numpy(tokens), ("eager", "cached") if OPTIONS.quick
                                      else ("eager", "sdpa", "cached")):
                if way == "cached" and name in networks.FORWARD_ONLY: continue
                logits = logits.numpy()
                off = float(np.abs(mine - logits).max() / np.abs(logits).max())
                worst[way] = max(worst.get(way, 0.0), off)
    assert worst, "its class has none of these ways"
    return type(model).__name__, worst


def families():
    """The first network of each model_type."""
    first = {}
    for name, (kind, _) in networks.NETWORKS.items():
        first.setdefault(kind, name)
    return list(first.values())


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    rows, failed = [], 0
    names = OPTIONS.names or (families() if OPTIONS.quick else list(networks.NETWORKS))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                kind, worst = compare(name, folder)
                good = all(v <= LIMIT for v in worst.values())
                said = ", ".join(f"{way} {v:.1e}" for way, v in worst.items())
                rows.append({"network": name, "model_type": networks.NETWORKS[name][0], "class": kind, **worst})
            except Exception as error:  # noqa: BLE001: the others are still to be tried
                good, said = False, f"{type(error).__name__}: {str(error)[:300]}"
        failed += not good
        print(f"{name}: {said}{'' if good else '  FAILED'}", flush=True)
    if OPTIONS.json:
        pathlib.Path(OPTIONS.json).write_text(json.dumps({"transformers": transformers.__version__, "torch": torch.__version__, "whole": not OPTIONS.quick, "rows": rows}))
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
