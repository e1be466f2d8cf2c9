"""transformers' recurrences beside hopbound's, on this machine: python -m hopbound.torch.bench [--compile] [--rounds N] [--threads N]
[NAME ..]

Runs alternate, theirs, ours, theirs, ..; the best of each counts, since a machine has other things to do. --compile has
torch.compile make theirs faster first (minutes for long sequences) and compares with the faster of the two. Layers have the
heads of real models; their width, which the projections' time grows with, is told."""
import argparse
import functools
import importlib
import sys
import time

import torch

from . import _patch


def _module(family):
    return importlib.import_module(f"transformers.models.{family}.modeling_{family}")


def _gdn(tokens, decode=False):
    """Qwen3-Next: 16 heads of queries and keys, 32 of values, of 128."""
    q, k, v = (torch.randn(1, tokens, heads, 128) for heads in (16, 16, 32))
    g, beta = -torch.rand(1, tokens, 32), torch.rand(1, tokens, 32)
    state = torch.randn(1, 32, 128, 128) if decode else None
    return (q, k, v), dict(g=g, beta=beta, initial_state=state, output_final_state=decode, use_qk_l2norm_in_kernel=True)


def _kda(tokens, decode=False):
    q, k, v = (torch.randn(1, tokens, 32, 128) for _ in range(3))
    g, beta = -torch.rand(1, tokens, 32, 128), torch.rand(1, tokens, 32)
    state = torch.randn(1, 32, 128, 128) if decode else None
    return (q, k, v), dict(g=g, beta=beta, initial_state=state, output_final_state=decode, use_qk_l2norm_in_kernel=True)


def _mamba2(tokens):
    x, dt, A = torch.randn(1, tokens, 64, 64), torch.randn(1, tokens, 64), -torch.rand(64)
    B, C = torch.randn(1, tokens, 8, 128), torch.randn(1, tokens, 8, 128)
    return (x, dt, A, B, C), dict(chunk_size=256, D=torch.ones(64), dt_bias=torch.zeros(64), dt_softplus=True)


def _mamba2_step():
    def spread(x, *dims):
        return x[(..., *(None,) * len(dims))].expand(*x.shape, *dims)
    x, dt, A = torch.randn(1, 64, 64), spread(torch.randn(1, 64), 64), spread(-torch.rand(64), 64, 128)
    state = torch.randn(1, 64, 128, 64).transpose(2, 3)  # as the prompt leaves it
    one = spread(torch.zeros(64), 64)
    return (state, x, dt, A, torch.randn(1, 8, 128), torch.randn(1, 8, 128)), dict(D=one, dt_bias=one, dt_softplus=True)


def _selective(tokens):
    x, dt, z = (torch.randn(1, 4096, tokens) for _ in range(3))
    B, C = torch.randn(1, 16, tokens), torch.randn(1, 16, tokens)
    return (x, dt, -torch.rand(4096, 16), B, C), dict(D=torch.ones(4096), z=z, delta_bias=torch.zeros(4096), delta_softplus=True)


def _conv(tokens):
    return (torch.randn(1, tokens, 8192).transpose(1, 2), torch.randn(8192, 4)), dict(activation="silu")


def _conv_step():
    return (torch.randn(1, 8192, 1), torch.randn(1, 8192, 4), torch.randn(8192, 4)), dict(activation="silu")


# name, family, function, arguments
_FUNCTIONS = [(f"{name}, T = {tokens}", family, function, functools.partial(make, tokens)) for name, family, function, make in (
    ("gated delta", "qwen3_next", "torch_chunk_gated_delta_rule", _gdn),
    ("KDA", "kimi_linear", "chunk_kimi_delta_attention", _kda),
    ("Mamba-2", "mamba2", "mamba2_chunk_scan", _mamba2),
    ("Mamba", "falcon_mamba", "mamba_selective_scan", _selective),
    ("convolution, 8192 wide", "qwen3_next", "causal_conv1d_fn", _conv)) for tokens in (512, 4096)] + [
    ("gated delta, one token", "qwen3_next", "torch_recurrent_gated_delta_rule", lambda: _gdn(1, True)),
    ("KDA, one token", "kimi_linear", "recurrent_kimi_delta_attention", lambda: _kda(1, True)),
    ("Mamba-2, one token", "mamba2", "mamba2_selective_state_update", _mamba2_step),
    ("convolution, one token", "qwen3_next", "causal_conv1d_update", _conv_step)]


def _qwen3_next(width):
    """A layer, and what its cache is made from."""
    m = _module("qwen3_next")
    config = m.Qwen3NextConfig(hidden_size=width, num_hidden_layers=4)
    return m.Qwen3NextGatedDeltaNet(config, 0), config


def _mamba2_layer(width):
    m = _module("mamba2")
    config = m.Mamba2Config(hidden_size=width, num_heads=64, head_dim=64, state_size=128, n_groups=8, expand=4096 // width,
                            num_hidden_layers=2)
    return m.Mamba2Mixer(config, 0), config


def _forward(layer, x):
    with torch.no_grad():
        layer(x)


def _train(layer, x):
    layer.zero_grad(set_to_none=True)
    layer(x).square().mean().backward()


def _decode(layer, x, cache):
    with torch.no_grad():
        layer(x, cache_params=cache)


_LAYERS = [(f"{name} layer {width} wide, {what}T = {tokens}", make, width, tokens, run)
           for name, make in (("Qwen3-Next", _qwen3_next), ("Mamba-2", _mamba2_layer)) for width in (512, 2048)
           for what, tokens, run in (("", 512, _forward), ("", 4096, _forward), ("training step, ", 512, _train))] + [
    (f"{name} layer {width} wide, one token", make, width, 1, _decode)
    for name, make in (("Qwen3-Next", _qwen3_next), ("Mamba-2", _mamba2_layer)) for width in (512, 2048)]


def _clock():
    """Of one thread neighbours on the machine do not take away processor time; of several the slowest counts."""
    return time.perf_counter() if torch.get_num_threads() > 1 else time.process_time()


def _best(runs, rounds):
    """Seconds of each, alternating; of what is quick there are more rounds, at least a second of them."""
    best = {}
    for run in runs.values():
        run()
    begun, done = time.perf_counter(), 0
    while done < rounds or time.perf_counter() - begun < 1:
        for name, run in runs.items():
            start = _clock()
            run()
            best[name] = min(best.get(name, float("inf")), _clock() - start)
        done += 1
    return best


def _function_runs(row, compiled):
    _, family, function, make = row
    args, options = make()
    theirs = getattr(_module(family), function)
    ours = functools.partial(_patch._OURS[function], theirs)

    def run(f):
        with torch.no_grad():
            f(*args, **options)
    runs = {"theirs": functools.partial(run, theirs), "ours": functools.partial(run, ours)}
    if compiled:
        runs["compiled"] = functools.partial(run, torch.compile(theirs))
    return runs


def _layer_runs(row, compiled):
    _, make, width, tokens, run = row
    (layer, config), x = make(width), torch.randn(1, tokens, width)
    rest = ()
    if run is _decode:
        from transformers.cache_utils import DynamicCache
        rest = (DynamicCache(config=config),)
        with torch.no_grad():
            layer(torch.randn(1, 8, width), cache_params=rest[0])

    def theirs(f=layer):
        run(f, x, *rest)

    def ours():
        _patch.patch(layer)
        try:
            run(layer, x, *rest)
        finally:
            _patch.unpatch(layer)
    runs = {"theirs": theirs, "ours": ours}
    if compiled:
        runs["compiled"] = functools.partial(theirs, torch.compile(layer))
    return runs


def _shown(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds else "-"


def measure(names=(), rounds=7, compiled=False):
    """Yields name and seconds of `theirs`, `ours` and, if asked for, `compiled`, row after row."""
    for rows, make in ((_FUNCTIONS, _function_runs), (_LAYERS, _layer_runs)):
        for row in rows:
            if not names or any(n.lower() in row[0].lower() for n in names):
                torch.manual_seed(0)
                torch._dynamo.reset()
                yield row[0], _best(make(row, compiled), rounds)


def main(arguments=None):
    p = argparse.ArgumentParser(prog="python -m hopbound.torch.bench", description=__doc__.split("\n\n")[0])
    p.add_argument("names", nargs="*", help="only rows with one of these in their names")
    p.add_argument("--compile", action="store_true", help="theirs compiled, too")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--threads", type=int, help="torch's; of one, processor time is measured")
    options = p.parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        import transformers
    except ImportError:
        sys.exit("hopbound.torch.bench: there is no transformers to compare with: pip install transformers")
    transformers.logging.set_verbosity_error()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, float32, {torch.get_num_threads()} threads, "
          f"best of {options.rounds} alternating runs\n")
    print("| | transformers | compiled | hopbound | ratio |\n|---|---|---|---|---|")
    for name, took in measure(options.names, options.rounds, options.compile):
        faster = min(took["theirs"], took.get("compiled", took["theirs"]))
        print(f"| {name} | {_shown(took['theirs'])} | {_shown(took.get('compiled'))} | {_shown(took['ours'])} "
              f"| {faster / took['ours']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
