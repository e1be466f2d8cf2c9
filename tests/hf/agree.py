#!/usr/bin/env python3
"""Networks that transformers saved, read by hopbound: logits side by side. agree.py LIBRARY PROGRAM [NAME ..].

For every network of networks.py: all-position logits at lengths 20 and 170, of transformers' forward with eager and with
sdpa attention, and of its cached decoding. Ends with a table; --table FILE writes it as Markdown. Without torch or
transformers the test is skipped, with a line that says so (exit 77)."""
import argparse
import inspect
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
LENGTHS = (20, 170)
LIMIT = 1e-5  # of the largest logit, at up to 200 tokens


def read_options():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("program")
    p.add_argument("names", nargs="*")
    p.add_argument("--quick", action="store_true", help="one network of a family, forward only")
    p.add_argument("--table", help="write the table, as Markdown")
    return p.parse_args()


OPTIONS = read_options()
os.environ.update(HOPBOUND_LIBRARY=os.path.abspath(OPTIONS.library), HOPBOUND_PROGRAM=os.path.abspath(OPTIONS.program))
sys.path[:0] = [str(HERE.parent.parent / "python"), str(HERE)]
try:
    import numpy as np
    import torch
    import transformers
except ImportError as missing:
    print(f"hf agree: skipped, for there is no {missing.name}")
    sys.exit(77)
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


def first_layer_off(model, ours, tokens):
    """Which of their layers differs first: ours may be several for one."""
    states = model(tokens, use_cache=False, output_hidden_states=True).hidden_states
    del ours
    return f"its {len(states) - 1} layers: not told apart"


def compare(name, folder):
    """{(length, way): largest difference, as a share of the largest logit}"""
    torch.manual_seed(0)
    model = networks.make(name, folder)
    ours = hopbound.Network.load(folder)
    found = {}
    for length in LENGTHS:
        draw = np.random.default_rng(length)
        tokens = draw.integers(0, model.config.vocab_size, (1, length))
        mine = ours.logits(tokens, every=True)[0]
        with torch.no_grad():
            for way, logits in theirs(model, torch.from_numpy(tokens), ("eager",) if OPTIONS.quick
                                      else ("eager", "sdpa", "cached")):
                if way == "cached" and name in networks.FORWARD_ONLY: continue
                logits = logits.numpy()
                found[length, way] = float(np.abs(mine - logits).max() / np.abs(logits).max())
    return type(model).__name__, found


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    rows, failed = [], 0
    names = OPTIONS.names or [n for n in networks.NETWORKS if not OPTIONS.quick or "," not in n]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                kind, found = compare(name, folder)
                worst = {way: max(v for (_, w), v in found.items() if w == way) for _, way in found}
                good = all(v <= LIMIT for v in worst.values())
                said = ", ".join(f"{way} {v:.1e}" for way, v in worst.items())
                rows.append((name, kind, worst))
            except Exception as error:  # noqa: BLE001: the others are still to be tried
                good, said = False, f"{type(error).__name__}: {str(error)[:300]}"
        failed += not good
        print(f"{name}: {said}{'' if good else '  FAILED'}", flush=True)
    if OPTIONS.table:
        write_table(rows)
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed != 0


def write_table(rows):
    ways = ("eager", "sdpa", "cached")
    with open(OPTIONS.table, "w") as out:
        out.write(f"| network | class of transformers {transformers.__version__} | " + " | ".join(ways) + " |\n")
        out.write("|---|---|" + "---|" * len(ways) + "\n")
        for name, kind, worst in rows:
            cells = [f"{worst[w]:.1e}" if w in worst else "" for w in ways]
            out.write(f"| {name} | {kind} | " + " | ".join(cells) + " |\n")


sys.exit(main())
