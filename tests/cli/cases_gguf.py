"""GGUF files: the same answers as of the config.json that they were converted from, and one line for all that is none."""
import json, os, struct
import gguf
from harness import *

CONFIGS = os.path.join(DATA, "configs")
# What only the file itself knows: its keys, what they left open, and what the class would say.
OWN = ("path", "model_type", "source", "declared", "assumed", "dtype", "remark")


def language_model(c):
    for key in ("text_config", "llm_config"):
        c = {**c[key], "torch_dtype": c[key].get("torch_dtype", c[key].get("dtype", c.get("torch_dtype")))} if key in c else c
    return c


def told(path, n=131072):
    """What an audit says, without who says so; precisions are asked for alike."""
    a = good_json("audit", path, "--n", n, "--state-dtype", "float32", "--conv-dtype", "bfloat16", "--cache-dtype", "float16")
    for key in OWN:
        a.pop(key)
    a.pop("context"), a["hops"].pop("words"), (a["linear"] or {}).pop("state_dtype_declared_by", None)
    return a


def converted(name):
    """The GGUF of a fixture, and its path; None: of a kind that the writer does not know."""
    path = os.path.join(CONFIGS, name)
    c = language_model(json.load(open(path)))
    plain = good_json("audit", path, "--plan-only")
    try:
        data = gguf.convert(c, plain["pattern"], plain["context"], plain["vocabulary"] or 0)
    except KeyError:
        return None
    write(name[:-5] + ".gguf", data)
    return name[:-5] + ".gguf"


@case
def a_gguf_file_is_told_as_its_config_is():
    same = []
    for name in sorted(os.listdir(CONFIGS)):
        path = converted(name) if name != "expected.json" else None
        if not path:
            continue
        ours, theirs = told(path), told(os.path.join(CONFIGS, name))
        ours["vocabulary"] = ours["vocabulary"] or theirs["vocabulary"]
        for key in theirs:
            check(ours[key] == theirs[key], why=f"{name}: {key}: {ours[key]!r}, by its config {theirs[key]!r}")
        table = [good_json("audit", p, "--table", "--n", "1M")["models"][0] for p in (path, os.path.join(CONFIGS, name))]
        for key in ("plan", "kv_bytes", "hops_possible", "hops_impossible", "impossible_by"):
            check(table[0][key] == table[1][key], why=f"{name}: {key}: {table}")
        same.append(name)
    check(len(same) >= 15, why=str(same))


@case
def a_gguf_file_may_stand_wherever_a_config_may():
    path, config = converted("qwen3-next-80b-a3b.json"), os.path.join(CONFIGS, "qwen3-next-80b-a3b.json")
    point = [{**good_json("plan", "--like", p, "--n", "1M")["points"][0], "name": ""} for p in (path, config)]
    check(point[0] == point[1], why=str(point))
    check(good("audit", path, "--require-hops", 12, "--n", "128k").out.startswith("qwen3-next-80b-a3b: 12 hops are possible"))
    os.mkdir("models")
    os.rename(path, "models/" + path)
    check([m["model"] for m in good_json("audit", "models")["models"]] == ["qwen3-next-80b-a3b"])


BASE = {"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 64, "llama.context_length": 512,
        "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2}


def refused(why, data, code=1):
    write("x.gguf", data)
    one_line(hopbound("audit", "x.gguf"), code, why)


@case
def what_is_not_known_of_a_gguf_file_is_refused():
    write("x.gguf", gguf.header(BASE))
    check(good_json("audit", "x.gguf", "--plan-only")["pattern"] == "FF")
    but = lambda **more: gguf.header({k: v for k, v in {**BASE, **{k.replace("__", "."): v for k, v in more.items()}}.items() if v is not None})
    refused('x.gguf: GGUF of an unknown architecture "walrus" .known: llama, .*qwen3next', but(general__architecture="walrus"))
    refused("llama.block_count: absent", but(llama__block_count=None))
    refused("llama.attention.head_count: absent", but(llama__attention__head_count=None))
    refused("llama.attention.head_count_kv: differs from layer to layer", but(llama__attention__head_count_kv=[2, 4]))
    refused("llama.attention.sliding_window: what it makes of layers is not known", but(llama__attention__sliding_window=16))
    refused("llama.attention.causal: false", but(llama__attention__causal=False))
    refused("llama.block_count: is outside", but(llama__block_count=0))
    refused("num_key_value_heads: 3 does not divide", but(llama__attention__head_count_kv=3))
    refused("layer 1 is F by its metadata, but its tensors are of a recurrence",
            gguf.header(BASE, [("blk.0.attn_k.weight", [4], 0), ("blk.1.ssm_a", [4], 0)]))


@case
def a_broken_gguf_file_is_one_line_wherever_it_ends():
    path = converted("jamba-v0.1.json")
    data = open(path, "rb").read()
    end = data.index(b"tokenizer.ggml.scores") + 40
    for cut in [*range(0, 200, 7), *range(200, end, 101), len(data) - 1]:
        refused(r"GGUF: .*(ends|no such file)|no JSON|ends", data[:cut])
    refused("GGUF: no such file", b"GGUX" + data[4:])
    refused("neither version 2 nor 3", data[:4] + struct.pack("<I", 1) + data[8:])
    refused("absurdly many", data[:8] + struct.pack("<QQ", 1 << 40, 3) + data[24:])
    refused("a length of more than 2.63", data[:8] + struct.pack("<QQ", (1 << 64) - 1, 3) + data[24:])
    one = data[:8] + struct.pack("<QQ", 0, 1)  # no tensor, one key
    refused("a value of an unknown type", one + gguf.text("a") + struct.pack("<I", 13))
    refused("ends", one + gguf.text("a") + struct.pack("<IIQ", 9, 4, 1 << 60))
    refused("no general.architecture", gguf.header({}))
    one_line(hopbound("audit", "nothing.gguf"), 1, "nothing.gguf: No such file")
