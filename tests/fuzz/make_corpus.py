#!/usr/bin/env python3
"""Writes the hand-made seeds of the fuzz corpora: tests/fuzz/corpus/{safetensors,json,jsonl,config,hf,pattern}/.
Files named found-* came from fuzzing runs and are left alone."""
import json
import pathlib
import struct

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

for kind, seeds in (("safetensors", SAFETENSORS), ("json", JSON), ("jsonl", JSONL), ("config", CONFIG), ("hf", HF), ("pattern", PATTERN)):
    for name, content in seeds.items():
        save(kind, name, content)
    print(f"{kind}: {len(seeds)} seeds")
