#!/usr/bin/env python3
"""Writes the hand-made seeds of the fuzz corpora: a directory of tests/fuzz/corpus a target.
Files named found-* came from fuzzing runs and are left alone."""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import gguf
from xxh64 import xxh64

here = pathlib.Path(__file__).resolve().parent / "corpus"


def save(kind, name, content):
    path = here / kind / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def tensors(header, data=0, length=None):
    text = header if isinstance(header, str) else json.dumps(header)
    raw = text.encode()
    n = len(raw) if length is None else length
    return struct.pack("<Q", n) + raw + bytes(i % 256 for i in range(data))


def entry(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


DTYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4,
          "U16": 2, "U8": 1, "BOOL": 1, "F8_E5M2": 1, "F8_E4M3": 1}


def every_dtype():
    header, at = {}, 0
    for name, size in DTYPES.items():
        header[name.lower()] = entry(name, [2], [at, at + 2 * size])
        at += 2 * size
    return tensors(header, at)


many = {f"t{i}": entry("U8", [1], [i, i + 1]) for i in range(24)}
one = {"a": entry()}
SAFETENSORS = {
    "one": tensors(one, 8),
    "dtypes": every_dtype(),
    "many": tensors(many, 24),
    "unsorted": tensors({"b": entry(offsets=(8, 16)), "a": entry()}, 16),
    "metadata": tensors({"__metadata__": {"format": "pt", "k": ""}, **one}, 8),
    "metadata-number": tensors({"__metadata__": {"k": 1}}),
    "metadata-null": tensors({"__metadata__": None}),
    "scalar": tensors({"a": entry("F16", [], [0, 2])}, 2),
    "nothing": tensors({}),
    "empties": tensors({"a": entry(shape=[0, 3], offsets=[0, 0]), "b": entry(shape=[0], offsets=[0, 0]),
                        "c": entry("U8", [1], [0, 1])}, 1),
    "blanks": tensors(" \n\t" + json.dumps(one) + "   ", 8),
    "empty-file": b"",
    "one-byte": b"\x01",
    "length-only": bytes(8),
    "length-max": tensors(one, 8, 2**64 - 1),
    "length-limit": tensors(one, 8, 100000001),
    "length-long": tensors(one, 8, 90),
    "length-short": tensors(one, 8, 20),
    "cut-data": tensors(one, 7),
    "left-over": tensors(one, 9),
    "gap": tensors({"a": entry(), "b": entry(offsets=(12, 20))}, 20),
    "overlap": tensors({"a": entry(), "b": entry(offsets=(4, 12))}, 12),
    "same-place": tensors({"a": entry(), "b": entry()}, 8),
    "empty-inside": tensors({"a": entry(), "b": entry(shape=[0], offsets=(4, 4))}, 8),
    "wrong-shape": tensors({"a": entry(shape=[3])}, 8),
    "negative-shape": tensors({"a": entry(shape=[-2, -1])}, 8),
    "real-shape": tensors({"a": entry(shape=[2.0])}, 8),
    "shape-overflow": tensors({"a": entry(shape=[2**32, 2**32])}, 8),
    "shape-overflow-empty": tensors({"a": entry(shape=[0, 2**40, 2**40], offsets=[0, 0])}),
    "shape-beyond-64": tensors({"a": entry(shape=[2**64])}, 8),
    "rank-9": tensors({"a": entry("U8", [1] * 9, [0, 1])}, 1),
    "offsets-swapped": tensors({"a": entry(offsets=(8, 0))}, 8),
    "offsets-three": tensors({"a": entry(offsets=(0, 8, 8))}, 8),
    "offsets-huge": tensors({"a": entry(offsets=(2**63 - 9, 2**63 - 1))}, 8),
    "dtype-unknown": tensors({"a": entry("F4")}, 8),
    "key-extra": tensors({"a": entry(x=1)}, 8),
    "name-twice": tensors('{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},'
                          '"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}', 1),
    "not-json": tensors("{'a': 1}"),
}

JSON = {
    "values": '{"a": [null, true, false, 0, -12, 1.5, "x"], "b": {}, "c": []}',
    "integers": "[9223372036854775807, -9223372036854775808, 9223372036854775808, -0, 18446744073709551615]",
    "reals": "[0.1, -0.0, 4.0, 1e22, 5e-324, 1.7976931348623157e308, 2.2250738585072011e-308, 1E-400, 0e5]",
    "not-numbers": "[NaN, Infinity, -Infinity]",
    "too-large": "1e999",
    "long-number": "[0." + "1" * 300 + ", " + "9" * 200 + "]",
    "escapes": r'"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00"',
    "half-pair": r'["\ud83d"]',
    "pair-swapped": r'["\ude00\ud83d"]',
    "nul-escape": r'"\u0000"',
    "bad-hex": r'"\u12g4"',
    "utf8": "{\"\u20ac\": \"\u00e9 \U0001F600 \u2028 \x7f\"}",
    "utf8-overlong": b'"\xc0\x80"',
    "utf8-surrogate": b'"\xed\xa0\x80"',
    "utf8-cut": b'"\xe2\x82"',
    "mark": b"\xef\xbb\xbf[1]",
    "control": b'"a\x01"',
    "deep": "[" * 128 + "]" * 128,
    "too-deep": "[" * 129 + "]" * 129,
    "deep-objects": '{"a":' * 60 + "1" + "}" * 60,
    "key-twice": '{"a": 1, "b": 2, "a": 3}',
    "key-twice-escaped": r'{"a": 1, "\u0061": 2}',
    "key-twice-large": "{" + ", ".join(f'"k{i % 60}": {i}' for i in range(61)) + "}",
    "large-object": "{" + ",".join(f'"k{i}":{i}' for i in range(80)) + "}",
    "long-array": "[" + ",".join(str(i * 7919) for i in range(80)) + "]",
    "leading-zero": "[01]",
    "no-digits": "[1.]",
    "no-exponent": "[1e+]",
    "trailing-comma": "[1,]",
    "no-colon": '{"a" 1}',
    "two-values": "1 2",
    "unclosed": '{"a": [1, {"b": "c',
    "blank": " \n ",
    "empty": "",
    "nul": b"1\0",
    "space": " \t\r\n{ \"a\" : [ 1 , 2 ] }\n",
}

full = {"model_type": "hopbound", "pattern": "(L^3 F)^2", "linear_mixer": "gdn", "num_hidden_layers": 8, "vocab_size": 50,
        "hidden_size": 16, "max_position_embeddings": 64, "position_embedding": "learned", "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8, "rope_theta": 10000.0, "attention_scale": 0.25, "norm": "layer",
        "norm_eps": 1e-5, "mlp": "gelu", "intermediate_size": 32, "tie_word_embeddings": True,
        "task": {"name": "funccomp", "m": 2, "fan": [2]}, "construction": {"name": "full"}}
small = {"model_type": "hopbound", "pattern": "F", "vocab_size": 2, "hidden_size": 4}


def config(base=small, **changes):
    return json.dumps({**base, **changes})


CONFIG = {
    "full": config(full),
    "small": config(),
    "pretty": json.dumps(full, indent=2),
    "integer-as-real": config(hidden_size=4.0),
    "nulls": config(head_dim=None, task=None),
    "norm-none": config(norm="none", mlp="none"),
    "norm-unknown": config(norm="batch"),
    "norm-number": config(norm=3),
    "type-other": config(model_type="llama"),
    "type-absent": '{"pattern": "F"}',
    "pattern-absent": '{"model_type": "hopbound"}',
    "pattern-bad": config(pattern="(F"),
    "pattern-empty": config(pattern=""),
    "pattern-huge": config(pattern="F^99999999999"),
    "linear-absent": config(pattern="LF"),
    "linear-odd": config(pattern="LF", linear_mixer="a b^2)"),
    "linear-empty": config(pattern="LF", linear_mixer=""),
    "linear-long": config(pattern="LF", linear_mixer="x" * 40),
    "linear-capital": config(pattern="LF", linear_mixer="F"),
    "layers-disagree": config(num_hidden_layers=2),
    "zero-size": config(hidden_size=0),
    "negative-size": config(vocab_size=-1),
    "size-absent": '{"model_type": "hopbound", "pattern": "F", "vocab_size": 2}',
    "size-string": config(hidden_size="4"),
    "size-huge": config(vocab_size=2**31, hidden_size=2**20),
    "size-beyond": config(vocab_size=2**70),
    "heads-do-not-divide": config(num_attention_heads=3),
    "kv-heads-do-not-divide": config(num_attention_heads=4, num_key_value_heads=3),
    "rope-nan": config(rope_theta=float("nan")),
    "rope-negative": config(rope_theta=-1),
    "scale-infinite": config(attention_scale=float("inf")),
    "scale-negative-zero": config(attention_scale=-0.0),
    "eps-large": config(norm_eps=2),
    "position-unknown": config(position_embedding="alibi"),
    "tied-number": config(tie_word_embeddings=1),
    "task-string": config(task="funccomp"),
    "task-odd": config(task={"x": float("nan"), "y": [1.0, {"": "\u20ac\n"}], "z": {}}),
    "array": "[1]",
    "cut": config(full)[:100],
}

PATTERN = {
    "qwen": "(L^3 F)^12", "letters": "LLLF", "names": "gdn^3 full window sparse rwkv-7 a_b", "single": "F",
    "gap": "(F L^134217728)^2 F", "nested": "((F L)^2 W)^3", "deep": "(" * 64 + "F" + ")" * 64,
    "too-deep": "(" * 65 + "F" + ")" * 65, "merge": "F F^2 (F)^3 F", "merge-around": "(F L F)^3", "most": "F^4294967296",
    "too-many": "F^4294967297", "overflow": "(F^4294967296 L)^4294967296", "digits": "F^" + "9" * 60, "power-0": "F^0",
    "power-absent": "F^", "power-twice": "F^2^3", "power-first": "^2", "power-blank": "F ^ 3", "open": "(F", "close": "F)",
    "empty-group": "()", "empty": "", "blank": " \n", "unknown": "FXF", "name-long": "a" * 24, "name-longest": "b" * 23,
    "name-touches": "fullF", "nul": b"F\0L", "high-bytes": b"F\xff\xfe", "zeros": "F^0003", "runs": "(F L)^524288",
    "runs-too-many": "(F L)^524289", "alternate": "F L " * 40,
}

LINE = '{"tokens":[3,0,2,1,1,0,0,1],"answer":1,"chain":[0,1,1],"hops":2,"m":2,"fan":[2]}'
JSONL = {
    "answer": LINE + "\n", "no-newline": LINE, "many": (LINE + "\n") * 9, "blank-lines": f"\n \t\r\n{LINE}\n\n{LINE}\r\n",
    "targets": '{"tokens":[1,2,3,0],"targets":[0,0,1,1],"name":"two-sum","n":4,"mod":5}\n',
    "nulls": '{"tokens":[0,3,1,4,0],"targets":[null,null,null,null,3]}\n', "no-answer": '{"tokens":[0]}\n',
    "all-null": '{"tokens":[5,6],"targets":[null,-1]}\n', "short": '{"tokens":[1,2],"targets":[1]}\n',
    "empty": '{"tokens":[]}\n', "missing": "{}\n", "text": '{"tokens":["1"]}\n', "real": '{"tokens":[1.0,2e0,2.5]}\n',
    "negative": '{"tokens":[-1]}\n', "large": '{"tokens":[2147483647,2147483648]}\n', "answer-text": '{"tokens":[1],"answer":"1"}\n',
    "answer-large": '{"tokens":[1],"answer":2147483648}\n', "both": '{"tokens":[1],"answer":1,"targets":[2]}\n', "list": "[1]\n",
    "number": "1\n", "twice": '{"tokens":[1],"tokens":[2]}\n', "broken": LINE + "\n{\n" + LINE, "nul": b'{"tokens":[1]}\0\n',
    "high": b"\xff\xfe\n", "after": LINE + LINE + "\n", "deep": "[" * 200 + "\n", "longer": LINE + "\n" + json.dumps({"tokens": list(range(300))}) + "\n",
}


def floats(**shapes):
    """A file of F32 tensors with small numbers; a shape may be a list or an entry with another dtype."""
    header, at, values = {}, 0, b""
    for name, shape in shapes.items():
        n = 1
        for d in shape:
            n *= d
        header[name] = entry("F32", shape, [at, at + 4 * n])
        values += struct.pack(f"<{n}f", *((i * 7 % 11 - 5) / 8 for i in range(n)))
        at += 4 * n
    return header, values


def packed(header, values, **metadata):
    return tensors({**({"__metadata__": metadata} if metadata else {}), **header}) + values


def checkpoint(layer="1", digest="DIGESTDIGESTDIGE", checksum="CHECKSUMCHECKSUM", shape=(3, 4), **more):
    metadata = {"layer": layer, "digest": digest, "checksum": checksum, **more}
    return packed(*floats(x=shape), **{k: v for k, v in metadata.items() if v is not None})


good = checkpoint()
CHECKPOINT = {
    "good": good, "second": checkpoint("2"), "more-metadata": checkpoint(who="x"), "empty": b"", "cut": good[:-1], "longer": good + b"x",
    "layer-0": checkpoint("0"), "layer-last": checkpoint("3"), "layer-negative": checkpoint("-4000"),
    "layer-far": checkpoint("3000001"), "layer-text": checkpoint("x"), "layer-blank": checkpoint(" 1"), "layer-plus": checkpoint("+1"),
    "layer-zeros": checkpoint("01"), "layer-tail": checkpoint("1x"), "layer-huge": checkpoint("18446744073709551617"),
    "layer-empty": checkpoint(""), "layer-absent": checkpoint(None), "digest-absent": checkpoint(digest=None),
    "digest-other": checkpoint(digest="0" * 16), "digest-long": checkpoint(digest="DIGESTDIGESTDIGE0"),
    "checksum-absent": checkpoint(checksum=None), "checksum-other": checkpoint(checksum="0" * 16), "checksum-empty": checkpoint(checksum=""),
    "shape-other": checkpoint(shape=(4, 3)), "shape-flat": checkpoint(shape=(12,)), "shape-short": checkpoint(shape=(3, 3)),
    "shape-long": checkpoint(shape=(3, 5)), "shape-none": checkpoint(shape=(0, 4)), "name-other": good.replace(b'"x"', b'"y"'),
    "dtype-other": good.replace(b'"F32"', b'"I32"'), "nan": good[:-4] + b"\x00\x00\xc0\x7f", "flipped": good[:-1] + b"\x7f",
    "no-metadata": packed(*floats(x=(3, 4))), "two": packed(*floats(x=(3, 4), y=(2,)), layer="1", digest="DIGESTDIGESTDIGE", checksum="CHECKSUMCHECKSUM"),
}

WEIGHTS = ["model.embed_tokens.weight", *(f"model.layers.0.mixer.{p}_proj.weight" for p in "qkvo"), "lm_head.weight"]


def shard(names, shape=(2, 2)):
    return packed(*floats(**{n: shape for n in names}))


def shards(weight_map, a=None, b=None, index=None):
    a = shard(WEIGHTS[:3]) if a is None else a
    b = shard(WEIGHTS[3:]) if b is None else b
    text = (json.dumps({"metadata": {"total_size": 96}, "weight_map": weight_map}) if index is None else index).encode()
    return struct.pack("<HH", len(text), len(a)) + text + a + b


both = {n: "a" if i < 3 else "b" for i, n in enumerate(WEIGHTS)}
SHARDS = {
    "good": shards(both), "all-in-a": shards({n: "a" for n in WEIGHTS}, a=shard(WEIGHTS)), "index-lies": shards({n: "ba"[i % 2] for i, n in enumerate(WEIGHTS)}),
    "one-entry-each": shards({"x": "a", "y": "b"}), "one-missing": shards({n: "a" for n in WEIGHTS}), "no-entry": shards({}),
    "tensor-twice": shards(both, b=shard(WEIGHTS[2:])), "tensor-missing": shards(both, b=shard(WEIGHTS[4:])),
    "tensor-unknown": shards(both, b=shard([*WEIGHTS[3:], "model.layers.1.mixer.q_proj.weight"])), "shape-other": shards(both, b=shard(WEIGHTS[3:], (2, 3))),
    "rank-other": shards(both, b=shard(WEIGHTS[3:], (4,))), "rank-deep": shards(both, b=shard(WEIGHTS[3:], (1,) * 8)), "empty-shard": shards(both, b=b""),
    "cut-shard": shards(both, b=shard(WEIGHTS[3:])[:-1]), "no-such-file": shards({**both, "x": "c"}), "other-directory": shards({"x": "../a"}),
    "absolute": shards({"x": "/etc/passwd"}), "hidden": shards({"x": ".a"}), "dots": shards({"x": ".."}), "empty-name": shards({"x": ""}),
    "itself": shards({"x": "model.safetensors.index.json"}), "config": shards({"x": "config.json"}), "nul-name": shards({"x": "a\0b"}), "long-name": shards({"x": "a" * 5000}),
    "number": shards({"x": 1}), "null": shards({"x": None}), "map-list": shards(["a", "b"]), "map-text": shards("a"), "map-null": shards(None),
    "map-absent": shards(None, index="{}"), "list": shards(None, index="[]"), "not-json": shards(None, index="{"), "empty-index": shards(None, index=""),
    "control-name": shards({"x\ny": 1}), "control-file": shards({"x": "a\nb"}), "same-many-times": shards({f"t{i}": "ab"[i % 2] for i in range(60)}),
    "bf16": shards(both, b=tensors({n: entry("BF16", (2, 2), (8 * i, 8 * i + 8)) for i, n in enumerate(WEIGHTS[3:])}, 24)),
    "bool": shards(both, b=tensors({n: entry("BOOL", (2, 2), (4 * i, 4 * i + 4)) for i, n in enumerate(WEIGHTS[3:])}, 12)), "short": b"\x00\x00\x00", "lengths-lie": b"\xff\xff\xff\xff{}",
}

CORES = ["attention", "decay", "delta", "dplr", "selective", "mlstm"]
scan = {"q": (2, 3, 1, 2), "k": (2, 3, 1, 2), "v": (2, 3, 2, 3), "do": (2, 3, 2, 3), "initial_state": (2, 2, 2, 3)}
own = {**scan, "q": (2, 3, 2, 2), "k": (2, 3, 2, 2)}
INPUTS = {
    "attention": {"q": (2, 3, 2, 2), "k": (2, 3, 1, 2), "v": (2, 3, 1, 3), "do": (2, 3, 2, 3)},
    "decay": {**scan, "g": (2, 3, 2), "u": (2, 2)}, "delta": {**scan, "beta": (2, 3, 2), "g": (2,)},
    "dplr": {**own, "a": (2, 3, 2, 2), "b": (2, 3, 2, 2), "g": (2,)},
    "selective": {"x": (2, 3, 4), "delta": (2, 3, 4), "A": (4, 2), "B": (2, 3, 2), "C": (2, 3, 2), "D": (4,), "do": (2, 3, 4), "initial_state": (2, 4, 2)},
    "mlstm": {**scan, "i": (2, 3, 2), "f": (2, 3, 2), "initial_n": (2, 2, 2), "initial_m": (2, 2)},
}


def core(name, form=0, ref=0, scaled=0, shapes=None, **changes):
    shapes = {**(INPUTS[name] if shapes is None else shapes), **changes}
    choice = CORES.index(name) + 6 * form + 18 * ref + 128 * scaled
    return bytes([choice]) + packed(*floats(**{n: s for n, s in shapes.items() if s is not None}))


CORE = {f"{name}-{form}{ref}": core(name, form, ref, form == 1) for name in CORES for form in range(3) for ref in range(2)}
for name in CORES:
    for which, shape in INPUTS[name].items():
        CORE[f"{name}-no-{which}"] = core(name, **{which: None})
        CORE[f"{name}-flat-{which}"] = core(name, **{which: shape[1:]})
        CORE[f"{name}-other-{which}"] = core(name, **{which: (*shape[:-1], shape[-1] + 1)})
        CORE[f"{name}-empty-{which}"] = core(name, **{which: (*shape[:-1], 0)})
    CORE[f"{name}-nothing"] = core(name, shapes={})
CORE["decay-g-key"] = core("decay", g=(2, 3, 2, 2))
CORE["decay-g-head"] = core("decay", g=(2,))
CORE["dplr-g-token"] = core("dplr", g=(2, 3, 2))
CORE["long"] = core("delta", shapes={"q": (1, 70, 1, 2), "k": (1, 70, 1, 2), "v": (1, 70, 1, 1), "beta": (1, 70, 1), "do": (1, 70, 1, 1)})
CORE["heads-do-not-divide"] = core("decay", v=(2, 3, 3, 3), do=None, g=None, u=None, initial_state=None, q=(2, 3, 2, 2), k=(2, 3, 2, 2))
CORE["dtype"] = core("attention").replace(b'"F32"', b'"I32"')
CORE["dtype-bool"] = b"\0" + tensors({n: entry("BOOL", (1, 1, 1, 1), (i, i + 1)) for i, n in enumerate("qkv")}, 3)

fixtures = sorted(p for d in ("configs", "families") for p in (here.parent.parent / "data" / d).glob("*.json"))
HF = {p.stem: json.dumps(json.loads(p.read_text()), separators=(",", ":")) for p in fixtures if p.stem != "expected"}
decoders = json.loads((here.parent.parent / "data/decoders.json").read_text())
HF.update({name: json.dumps(d["config"], separators=(",", ":")) for name, d in decoders.items()})
for value in (None, True, 0, -1, 2.5, 10**18, "x", [], [0], {}, [None, "x", -7]):  # the wrong type everywhere
    for model in ("kimi-linear-48b-a3b", "nemotron-3-nano-30b-a3b", "phi-4-mini-flash-reasoning", "mimo-v2-flash"):
        keys = json.loads(HF[model])
        wrong = {k: v if k in ("model_type", "num_hidden_layers") else value for k, v in keys.items()}
        HF[f"wrong-{model[:4]}-{str(value).replace(' ', '')[:12].replace('/', '')}"] = json.dumps(wrong)
    spec = {"layers": value, "num_heads": value, "num_kv_heads": value, "window_size": value}
    for form, attn in enumerate((spec, [spec], [{"layers": [1], "num_heads": 2}, spec], [value])):
        keys = {"model_type": "gla", "num_hidden_layers": 3, "hidden_size": 64, "attn": attn}
        HF[f"attn-{form}-{str(value).replace(' ', '')[:12]}"] = json.dumps(keys)



def witness(drop=(), seal=None, **more):
    """A sealed witness against nobody: one hop over three values."""
    prompt = {"tokens": [2, 0, 1, 1, 0], "position": 4, "right": 0, "answer": 1}
    other = {"tokens": [2, 1, 1, 1, 0], "position": 4, "right": 1, "answer": 1}
    w = {"format": "hopbound-witness", "version": 1, "kind": "pair",
         "network": {"config_hash": "0123456789abcdef", "weights_hash": "fedcba9876543210"},
         "task": {"name": "funccomp", "hops": 1, "m": 3, "fan": []},
         "arithmetic": {"significant_bits": 0, "state_bits": 0, "message_bits": 0, "cuts": []},
         "prompts": [prompt, other], "differences": [1], "prefix": 2, "found": {"by": "guided", "seed": 0, "tried": 9},
         "trace": [{"layer": 0, "mixer": "full", "last_token": 0.0, "state": None, "stream": 0.25}], **more}
    text = json.dumps({k: v for k, v in w.items() if k not in drop}, separators=(",", ":"))[:-1] + ","
    return text + f'"seal":"{seal or xxh64(text.encode())}"}}'


one_prompt = {"kind": "input", "prompts": [{"tokens": [2, 0, 1, 1, 0], "position": 4, "right": 0, "answer": 1}],
              "differences": [], "prefix": 0, "trace": []}
WITNESS = {
    "pair": witness(), "collision": witness(kind="collision"), "input": witness(**one_prompt), "neighbour": witness(kind="input"),
    "messages": witness(arithmetic={"significant_bits": 0, "state_bits": 0, "message_bits": 16, "cuts": [0, 3, 4]}),
    "states": witness(arithmetic={"significant_bits": 0, "state_bits": 8, "message_bits": 0, "cuts": []}),
    "two-sum": witness(**{**one_prompt, "task": {"name": "two-sum", "n": 3, "mod": 5},
                          "prompts": [{"tokens": [2, 3, 1], "position": 1, "right": 1, "answer": 0}]}),
    "recall": witness(**{**one_prompt, "task": {"name": "recall", "pairs": 2, "queries": 1, "keys": 3, "values": 2},
                         "prompts": [{"tokens": [0, 3, 1, 4, 0], "position": 4, "right": 3, "answer": -1}]}),
    "khop": witness(**{**one_prompt, "task": {"name": "khop", "n": 4, "alphabet": 3, "hops": 1},
                       "prompts": [{"tokens": [0, 2, 1, 0], "position": 3, "right": 2, "answer": 1}]}),
    "seal-other": witness(seal="0" * 16), "seal-short": witness(seal="0"), "cut": witness()[:200], "empty": "", "list": "[]",
    **{f"no-{key}": witness(drop=(key,)) for key in ("format", "kind", "network", "task", "arithmetic", "prompts", "trace")},
    **{f"wrong-{key}": witness(**{key: value}) for key, value in
       (("version", 2), ("kind", 7), ("task", []), ("task-name", "x"), ("prompts", []), ("differences", [0]), ("prefix", 1),
        ("found", {}), ("trace", {}), ("extra", 1), ("network", {"config_hash": 1}))},
}

# Without a seal: the target puts the right one there, so that what was changed before it is read to the end.
WITNESS.update({f"unsealed-{name}": WITNESS[name].replace(WITNESS[name][-18:-2], "SEALSEALSEALSEAL")
                for name in ("pair", "collision", "input", "messages", "states", "two-sum", "recall", "khop")})

square = "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n"
pigeons = "c three pigeons, two holes\np cnf 6 9\n1 2 0 3 4 0 5 6 0\n-1 -3 0 -1 -5 0 -3 -5 0\n-2 -4 0 -2 -6 0 -4 -6 0\n"
DRAT = {
    "proof": square + "\0" + "2 0\n0\n", "empty-clause": square + "\0" + "0\n", "short": square + "\0" + "2 0\n", "unit": "p cnf 1 2\n1 0\n-1 0\n\0\n",
    "pigeons": pigeons + "\0" + "1 0\n2 0\n0\n", "delete": square + "\0" + "2 0\nd 1 2 0\n0\n", "delete-none": square + "\0" + "d 1 0\n0\n",
    "satisfiable": "p cnf 2 1\n1 2 0\n\0" + "1 0\n0\n", "rat": "p cnf 3 2\n1 2 0\n-1 3 0\n\0" + "-2 1 0\n0\n", "range": square + "\0" + "7 0\n",
    "huge": square + "\0" + "4294967297 0\n", "huge-formula": "p cnf 1 1\n4294967297 0\n\0" + "0\n", "text": square + "\0x", "cut": square + "\0" + "1 2",
    "no-header": "1 2 0\n\0" + "0\n", "few": "p cnf 2 9\n1 0\n\0" + "0\n", "many-vars": "p cnf 99999999 1\n1 0\n\0" + "0\n", "negative": "p cnf -1 0\n\0" + "0\n",
    "twice": "p cnf 2 3\n1 1 0\n-1 -1 0\n2 -2 0\n\0" + "0\n", "none": "p cnf 0 1\n0\n\0\n", "comment": "c\nc x\n" + square + "\0" + "1 0 0",
}

# Without a length: the target puts that of the header there, which ends before the first NUL.
def unmeasured(file):
    (length,) = struct.unpack("<Q", file[:8])
    return b"LENGTH: " + file[8:8 + length] + b"\0" + file[8 + length:]


SAFETENSORS.update({f"unmeasured-{name}": unmeasured(SAFETENSORS[name])
                    for name in ("one", "dtypes", "many", "unsorted", "metadata", "scalar", "nothing", "empties", "blanks")})


TRUTH = {"whole": shard(WEIGHTS), "missing": shard(WEIGHTS[:5]), "more": shard([*WEIGHTS, "x"]), "flat": shard(WEIGHTS, (4,)),
         "long": shard(WEIGHTS, (2, 3)), "empty": b"", "integers": shard(WEIGHTS).replace(b'"F32"', b'"I32"'),
         "halves": shard(WEIGHTS).replace(b'"F32"', b'"F16"')}
TRUTH.update({f"unmeasured-{name}": unmeasured(TRUTH[name]) for name in ("whole", "missing", "more", "flat", "halves")})

def small_gguf():
    """A file of some layers of every family that the writer knows, and what ends in odd places."""
    configs = here.parent.parent / "data" / "configs"
    expected, out = json.loads((configs / "expected.json").read_text()), {}
    for name, want in expected.items():
        c = json.loads((configs / f"{name}.json").read_text())
        c = c.get("text_config", c)
        try:
            out[name] = gguf.convert(c, want["pattern"][:5], 4096, 3)
        except KeyError:
            pass  # of another kind, or keys left to the class
    plain = {"general.architecture": "llama", "llama.block_count": 2, "llama.attention.head_count": 2}
    out.update({"plain": gguf.header(plain), "version-2": gguf.header(plain, version=2), "empty": b"", "magic": b"GGUF",
                "lists": gguf.header({**plain, "llama.attention.head_count_kv": [2, 0], "a": ["x", ""], "b": [0.5], "c": [True, False]}),
                "types": gguf.header(plain, [(f"blk.0.t{t}", [256], t) for t in (0, 1, 2, 12, 14, 30, 39, 77)]),
                "split": gguf.header({**plain, "split.count": 3, "split.no": 0})})
    return out


for kind, seeds in (("safetensors", SAFETENSORS), ("json", JSON), ("jsonl", JSONL), ("config", CONFIG), ("gguf", small_gguf()), ("hf", HF), ("pattern", PATTERN),
                    ("checkpoint", CHECKPOINT), ("shards", SHARDS), ("core", CORE), ("witness", WITNESS), ("drat", DRAT), ("truth", TRUTH)):
    for name, content in seeds.items():
        save(kind, name, content)
    print(f"{kind}: {len(seeds)} seeds")
