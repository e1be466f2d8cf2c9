"""Directories as hubs keep them: the same network in one file or in several, in float32 or in fewer bits, under either name of
what holds the layers; and what nobody understands is refused by its name. The weights are drawn here, without torch."""
import json, os, random, struct

from harness import case, check, hopbound, one_line, read, write

ENDS = {"vocab_size": 61, "hidden_size": 24, "num_hidden_layers": 3, "tie_word_embeddings": False, "dtype": "float32"}
MAMBA2 = {**ENDS, "model_type": "mamba2", "num_heads": 6, "head_dim": 8, "state_size": 5, "n_groups": 2, "conv_kernel": 4, "expand": 2,
            "layer_norm_epsilon": 1e-5, "hidden_act": "silu", "time_step_limit": [0.0, float("inf")]}
LLAMA = {**ENDS, "model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 40,
         "rms_norm_eps": 1e-6, "hidden_act": "silu", "rope_theta": 10000.0}


def llama_shapes():
    yield from (("model.embed_tokens.weight", [61, 24]), ("model.norm.weight", [24]), ("lm_head.weight", [61, 24]))
    for i in range(3):
        at = f"model.layers.{i}."
        yield from ((at + f"self_attn.{p}_proj.weight", s) for p, s in (("q", [32, 24]), ("k", [16, 24]), ("v", [16, 24]), ("o", [24, 32])))
        yield from ((at + f"mlp.{p}_proj.weight", s) for p, s in (("gate", [40, 24]), ("up", [40, 24]), ("down", [24, 40])))
        yield from ((at + f"{p}_layernorm.weight", [24]) for p in ("input", "post_attention"))


def mamba2_shapes():
    yield from (("backbone.embeddings.weight", [61, 24]), ("backbone.norm_f.weight", [24]), ("lm_head.weight", [61, 24]))
    for i in range(3):
        at = f"backbone.layers.{i}."
        yield from ((at + "norm.weight", [24]), (at + "mixer.in_proj.weight", [122, 24]), (at + "mixer.conv1d.weight", [68, 1, 4]),
                    (at + "mixer.conv1d.bias", [68]), (at + "mixer.dt_bias", [6]), (at + "mixer.A_log", [6]), (at + "mixer.D", [6]),
                    (at + "mixer.norm.weight", [48]), (at + "mixer.out_proj.weight", [24, 48]))


EXPERTS = {**ENDS, "model_type": "nemotron_h", "num_hidden_layers": 4, "hybrid_override_pattern": "ME-*", "num_attention_heads": 4,
           "num_key_value_heads": 2, "head_dim": 8, "mamba_num_heads": 4, "mamba_head_dim": 6, "ssm_state_size": 5, "n_groups": 2,
           "conv_kernel": 4, "intermediate_size": 20, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 10,
           "moe_shared_expert_intermediate_size": 12, "mlp_hidden_act": "relu2", "layer_norm_epsilon": 1e-5}


def nemotron_shapes():
    yield from (("backbone.embeddings.weight", [61, 24]), ("backbone.norm_f.weight", [24]), ("lm_head.weight", [61, 24]))
    yield from ((f"backbone.layers.{i}.norm.weight", [24]) for i in range(4))
    for part, shape in (("in_proj.weight", [72, 24]), ("conv1d.weight", [44, 1, 4]), ("conv1d.bias", [44]), ("dt_bias", [4]), ("A_log", [4]),
                        ("D", [4]), ("norm.weight", [24]), ("out_proj.weight", [24, 24])):
        yield "backbone.layers.0.mixer." + part, shape
    for part, shape in (("gate.weight", [4, 24]), ("gate.e_score_correction_bias", [4]), ("experts.up_proj", [4, 10, 24]),
                        ("experts.down_proj", [4, 24, 10]), ("shared_experts.up_proj.weight", [12, 24]),
                        ("shared_experts.down_proj.weight", [24, 12])):
        yield "backbone.layers.1.mixer." + part, shape
    yield from (("backbone.layers.2.mixer.up_proj.weight", [20, 24]), ("backbone.layers.2.mixer.down_proj.weight", [24, 20]))
    yield from ((f"backbone.layers.3.mixer.{p}_proj.weight", s) for p, s in (("q", [32, 24]), ("k", [16, 24]), ("v", [16, 24]), ("o", [24, 32])))


def drawn(shapes):
    """Numbers of few bits, so that they are the same in every type."""
    draw = random.Random(7)
    tensors = {}
    for name, shape in shapes:
        count = 1
        for n in shape: count *= n
        tensors[name] = shape, [draw.randint(-31, 31) / 64 + (1 if shape == [24] else 0) for _ in range(count)]
    return tensors


PACK = {"F32": lambda x: struct.pack("<f", x), "F16": lambda x: struct.pack("<e", x), "BF16": lambda x: struct.pack("<f", x)[2:],
        "F64": lambda x: struct.pack("<d", x)}


def file_of(tensors, dtype="F32"):
    header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, (shape, numbers) in tensors.items():
        data = b"".join(map(PACK[dtype], numbers))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + b"".join(parts)


def directory(name, config, tensors, dtype="F32", shards=1):
    os.makedirs(name, exist_ok=True)
    write(f"{name}/config.json", json.dumps(config))
    names, index = list(tensors), {}
    for k in range(shards):
        path = "model.safetensors" if shards == 1 else f"model-{k + 1:05}-of-{shards:05}.safetensors"
        mine = names[k::shards]
        index.update({n: path for n in mine})
        write(f"{name}/{path}", file_of({n: tensors[n] for n in mine}, dtype))
    if shards > 1: write(f"{name}/model.safetensors.index.json", json.dumps({"metadata": {}, "weight_map": index}))
    return name


def answers(name):
    """Its likeliest tokens behind 30 prompts: a fingerprint."""
    r = hopbound("run", name, "--task", "khop", "--n", 40, "--alphabet", 60, "--hops", 2, "--count", 30, "--predictions", "-", "--json")
    check(r.code == 0, r)
    return [json.loads(line)["prediction"] for line in r.out.splitlines()[:30]]


def renamed(tensors, old, new):
    return {new + n[len(old):] if n.startswith(old) else n: t for n, t in tensors.items()}


@case
def shards_and_types_hold_the_same_network():
    for config, shapes in ((LLAMA, llama_shapes()), (MAMBA2, mamba2_shapes())):
        tensors = drawn(shapes)
        want = answers(directory("whole", config, tensors))
        check(len(set(want)) > 5, why=str(want))
        for n, (dtype, shards) in enumerate((("F32", 3), ("F16", 1), ("BF16", 1), ("F64", 1), ("BF16", 4))):
            check(answers(directory(f"net{config['model_type']}{n}", config, tensors, dtype, shards)) == want, why=f"{dtype}, {shards}")


@case
def either_name_of_what_holds_the_layers_is_taken():
    tensors = drawn(mamba2_shapes())
    want = answers(directory("backbone", MAMBA2, tensors))
    check(answers(directory("model", MAMBA2, renamed(tensors, "backbone.", "model."))) == want)
    twice = {**tensors, "model.norm_f.weight": tensors["backbone.norm_f.weight"]}
    one_line(hopbound("run", directory("twice", MAMBA2, twice)), 1, r'tensor "backbone.norm_f.weight": occurs twice')


@case
def experts_may_be_tensors_of_their_own():
    tensors = drawn(nemotron_shapes())
    want = answers(directory("packed", EXPERTS, tensors))
    apart = {}
    for name, (shape, numbers) in tensors.items():
        if ".experts." not in name:
            apart[name] = shape, numbers
            continue
        each = len(numbers) // shape[0]
        before, part = name.split(".experts.")
        for e in range(shape[0]):
            apart[f"{before}.experts.{e}.{part}.weight"] = shape[1:], numbers[e * each:(e + 1) * each]
    check(len(apart) == len(tensors) + 6 and len(set(want)) > 5, why=str(want))
    check(answers(directory("apart", EXPERTS, apart)) == want)
    check(answers(directory("torn", EXPERTS, renamed(apart, "backbone.", "model."), "BF16", 3)) == want)
    lacking = {n: t for n, t in apart.items() if ".experts.2.up" not in n}
    one_line(hopbound("run", directory("lacking", EXPERTS, lacking)), 1, "experts")


@case
def decays_that_their_class_and_we_take_otherwise_are_refused():
    """Decays that we hold below e^69, and theirs, infinite, times a step of 0 is no number."""
    tensors = drawn(mamba2_shapes())
    for least, code in ((69.0, 0), (69.5, 1)):
        steep = {**tensors, "backbone.layers.1.mixer.A_log": ([6], [0.5, least, 1, 2, 3, 4])}
        r = hopbound("run", directory("steep", MAMBA2, steep), "--task", "khop", "--n", 20, "--alphabet", 20, "--hops", 1, "--count", 5)
        check(r.code == code, r)
        if code: one_line(r, 1, r'tensor "backbone.layers.1.mixer.A_log": 69.5 is larger than 69')


@case
def what_is_not_understood_is_refused_by_its_name():
    tensors = drawn(mamba2_shapes())
    for key, value in (("walrus_tusks", 2), ("hidden_act", "gelu"), ("use_bias", True)):
        one_line(hopbound("run", directory("key", {**MAMBA2, key: value}, tensors)), 1, key)
    more = {**tensors, "backbone.layers.1.mixer.tusk": ([2], [0, 1])}
    one_line(hopbound("run", directory("more", MAMBA2, more)), 1, r'tensor "backbone.layers.1.mixer.tusk": not understood')
    less = {n: t for n, t in tensors.items() if n != "backbone.layers.2.mixer.D"}
    one_line(hopbound("run", directory("less", MAMBA2, less)), 1, r'tensor "backbone.layers.2.mixer.D" is missing')
    other = {**tensors, "backbone.layers.2.mixer.norm.weight": ([47], [1] * 47)}
    one_line(hopbound("run", directory("other", MAMBA2, other)), 1, r'backbone.layers.2.mixer.norm.weight": 47 rows')
    shards = directory("torn", MAMBA2, tensors, shards=3)
    os.remove(f"{shards}/model-00002-of-00003.safetensors")
    one_line(hopbound("run", shards), 1, "model-00002-of-00003.safetensors")
    check(read("torn/config.json"))


@case
def an_imported_network_is_audited_damaged_and_refuted_like_our_own():
    directory("net", MAMBA2, drawn(mamba2_shapes()))
    said = [json.loads(hopbound("audit", path, "--n", 4096, "--json").out) for path in ("net", "net/config.json")]
    check(all(s.pop("path", None) for s in said) and said[0] == said[1])
    sizes = ("--task", "khop", "--n", 20, "--alphabet", 20, "--hops", 1)
    r = hopbound("refute", "net", *sizes, "--json")
    check(r.code == 10, r)
    r = hopbound("damage", "net", "-o", "hurt", "--layer", 1, "--flip", 200, "--seed", 1)
    check(r.code == 0, r)
    check(answers("hurt") != answers("net"))
    for of in (sizes, ("--task", "funccomp", "--m", 4, "--fan", 4, "--hops", 2)):
        r = hopbound("prove", "net", *of, "--json")
        check(r.code == 10 and json.loads(r.out)["verdict"] == "refuted", r)
