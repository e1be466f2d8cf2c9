"""The verb check: witnesses that are confirmed, rejected with the reason, or hang on rounding."""
import json, os, shutil, struct, sys
from harness import case, check, good, good_json, hopbound, one_line, read, write

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from xxh64 import xxh64

KEYS = {"valid", "why", "rounding", "kind", "margin", "spread", "passes", "file", "seconds"}


def weights(path):
    """The header of a safetensors file, and its data."""
    raw = read(path)
    n = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + n]), raw[:8 + n], bytearray(raw[8 + n:])


def broken(name="net", kind="full"):
    """A network whose read-out says something else than what the last token knows, and an input that shows it."""
    good("build", kind, "--hops", 1, "--m", 5, "-o", name)
    header, head, data = weights(f"{name}/model.safetensors")
    first, last = header["lm_head.weight"]["data_offsets"]
    rows, width = header["lm_head.weight"]["shape"]
    numbers = list(struct.unpack(f"<{rows * width}f", data[first:last]))
    numbers = numbers[width:] + numbers[:width]  # every answer is one too small
    data[first:last] = struct.pack(f"<{rows * width}f", *numbers)
    write(f"{name}/model.safetensors", head + data)
    good("task", "--hops", 1, "--m", 5, "--count", 1, "--format", "jsonl", "-o", "one.jsonl")
    good("run", name, "--input", "one.jsonl", "--predictions", "said.jsonl")
    return json.loads(read("one.jsonl")), json.loads(read("said.jsonl"))["prediction"]


def witness(name, instance, answer, **more):
    """Text, sealed."""
    tokens = instance["tokens"]
    w = {"format": "hopbound-witness", "version": 1, "kind": "input",
         "network": {"config_hash": xxh64(read(f"{name}/config.json")), "weights_hash": xxh64(read(f"{name}/model.safetensors"))},
         "task": {"name": "funccomp", "hops": 1, "m": 5, "fan": []},
         "arithmetic": {"significant_bits": 0, "state_bits": 0, "message_bits": 0, "cuts": []},
         "prompts": [{"tokens": tokens, "position": len(tokens) - 1, "right": instance["answer"], "answer": answer}],
         "differences": [], "prefix": 0, "found": {"by": "sampling", "seed": 0, "tried": 1}, "trace": [], **more}
    text = json.dumps(w)[:-1] + ","
    return text + f'"seal":"{xxh64(text.encode())}"}}\n'


@case
def a_witness_is_confirmed_in_text_and_json_wherever_the_network_is_named():
    instance, answer = broken()
    check(answer != instance["answer"], why="it does not err")
    write("w.json", witness("net", instance, answer))
    r = good("check", "w.json", "net")
    check(f"valid: the network answers {answer} where {instance['answer']} is right" in r.out, r)
    r = good_json("check", "w.json", "net", keys=KEYS)
    check(r["valid"] and not r["rounding"] and r["kind"] == "input" and r["passes"] == 6 and r["margin"] > 0, why=str(r))
    shutil.copy("w.json", "net/w.json")
    check(good_json("check", "net/w.json")["valid"], why="the network is beside the witness")
    os.chdir("net")
    check(good_json("check", "w.json")["valid"], why="and here")


@case
def networks_that_generate_and_that_look_both_ways_are_checked_as_they_are_asked():
    for kind in ("cot", "encoder", "hybrid"):
        instance, answer = broken(kind, kind)
        check(answer != instance["answer"], why=kind)
        write("w.json", witness(kind, instance, answer))
        r = good_json("check", "w.json", kind)
        check(r["valid"] and not r["rounding"], why=f"{kind}: {r}")
        write("w.json", witness(kind, instance, (answer + 1) % 5 if (answer + 1) % 5 != instance["answer"] else (answer + 2) % 5))
        one_line(hopbound("check", "w.json", kind), 1, f"the network answers {answer}, not")


@case
def other_networks_other_answers_and_other_files_are_rejected_in_one_line():
    instance, answer = broken()
    write("w.json", witness("net", instance, answer))
    good("build", "full", "--hops", 1, "--m", 5, "-o", "sound")
    one_line(hopbound("check", "w.json", "sound"), 1, "w.json: the weights are not the witness's")
    r = good_json("check", "w.json", "sound", code=1, keys=KEYS)
    check(not r["valid"] and not r["rounding"], why=str(r))
    write("right.json", witness("sound", instance, answer))
    one_line(hopbound("check", "right.json", "sound"), 1, f"the network answers {instance['answer']}, not {answer}")
    write("same.json", witness("net", instance, instance["answer"]))
    one_line(hopbound("check", "same.json", "net"), 1, "its answer is the right one")
    write("long.json", witness("net", {**instance, "tokens": instance["tokens"] + [0]}, answer))
    one_line(hopbound("check", "long.json", "net"), 1, "tokens where the sizes ask for")
    write("cut.json", witness("net", instance, answer)[:-40])
    one_line(hopbound("check", "cut.json", "net"), 1, r"cut.json: line 1, column \d+")
    one_line(hopbound("check", "nothing.json", "net"), 1, "nothing.json: No such file")
    one_line(hopbound("check", "w.json", "nowhere"), 1, "nowhere/config.json: No such file")
    one_line(hopbound("check", "net/model.safetensors", "net"), 1, "model.safetensors: line 1")
    one_line(hopbound("check", "w.json", "net", "more"), 2, "two operands are enough")
    one_line(hopbound("check"), 2, "FILE: missing")


@case
def seeded_layers_and_weights_of_another_shape_are_errors():
    instance, answer = broken()
    write("w.json", witness("net", instance, answer))
    config = json.loads(read("net/config.json"))
    for change, why in (({"weights": {"kind": "seeded"}}, "the checker draws none"), ({"hidden_size": 7}, "is not"),
                        ({"pattern": "full magic"}, "unknown mixer"), ({"norm": "rms"}, "is missing")):
        shutil.rmtree("other", ignore_errors=True)
        shutil.copytree("net", "other")
        write("other/config.json", json.dumps({**config, **change}))
        write("other.json", witness("other", instance, answer))
        one_line(hopbound("check", "other.json", "other"), 1, why)


@case
def a_declared_precision_is_run_at_that_precision():
    instance, answer = broken()
    for bits in (3, 8, 23):
        arithmetic = {"significant_bits": bits, "state_bits": 0, "message_bits": 0, "cuts": []}
        write("w.json", witness("net", instance, answer, arithmetic=arithmetic))
        check(good_json("check", "w.json", "net")["valid"], why=f"{bits} bits")
    for bits in (10, 32):
        arithmetic = {"significant_bits": 0, "state_bits": 0, "message_bits": bits, "cuts": [0, 5, 6]}
        write("w.json", witness("net", instance, answer, arithmetic=arithmetic))
        check(good_json("check", "w.json", "net")["valid"], why=f"messages of {bits} bits")


@case
def what_refute_finds_is_confirmed():
    for kind in ("full", "hybrid", "cot", "encoder", "linear"):
        good("build", kind, "--hops", 1, "--m", 4, "-o", kind)
        for seed in (3, 4):
            good("damage", kind, "-o", f"{kind}{seed}", "--flip", 4, "--seed", seed)
            r = hopbound("refute", f"{kind}{seed}", "--budget", 2, "-o", "w.json")
            check(r.code in (10, 20, 30), r)
            if r.code == 10:
                check(good_json("check", "w.json", f"{kind}{seed}")["valid"], r)


@case
def a_witness_against_a_network_in_a_models_shape_is_confirmed():
    """Qwen3-Next: norms of queries and keys, a part of them rotated, gates; Kimi Linear: keys and values from a latent vector."""
    for name, wanted in (("qwen3-next-80b-a3b", {"qk_norm", "rope_dim", "gate"}), ("kimi-linear-48b-a3b", {"latent"})):
        path = os.path.join(os.environ["HOPBOUND_TEST_DATA"], "configs", name + ".json")
        good("build", "--like", path, "--hops", 1, "--m", 2, "--d-model", 32, "--mlp-hidden", 1, "-o", "net", "-q")
        check(wanted <= set(json.loads(read("net/config.json"))["mixer_options"]["full"]), why=name)
        good("damage", "net", "-o", "bad", "--flip", 10000, "--layer", 3, "--seed", 1)  # the first that attends
        good("refute", "bad", "--budget", 30, "-o", "w.json", code=10)
        got = good_json("check", "w.json", "bad")
        check(got["valid"] and got["margin"] > 4 * got["spread"], why=f"{name}: {got}")
        for where in ("net", "bad"):
            shutil.rmtree(where)


@case
def collisions_that_refute_finds_are_confirmed_and_others_are_not():
    good("build", "random", "--pattern", "L", "--mixer", "deltanet", "--d-model", 8, "--heads", 1, "--head-dim", 2, "--hops", 1,
         "--m", 16, "-o", "net")
    for bits in (("--state-bits", 8), ("--message-bits", 10)):
        good("refute", "net", *bits, "--by", "collision", "--budget", 60, "-o", "w.json", code=10)
        r = good_json("check", "w.json", "net")
        check(r["valid"] and r["kind"] == "collision" and "leave the same states" in r["why"], why=str(r))
    w = json.loads(read("w.json"))
    at, tokens = w["prefix"] - 1, [p["tokens"] for p in w["prompts"]]  # what came last is in the state for sure
    tokens[0][at] = (tokens[1][at] + 3) % 16
    w["differences"] = [i for i in range(len(tokens[0])) if tokens[0][i] != tokens[1][i]]
    text = json.dumps({k: v for k, v in w.items() if k != "seal"})[:-1] + ","
    write("other.json", text + f'"seal":"{xxh64(text.encode())}"}}')
    one_line(hopbound("check", "other.json", "net"), 1, "the two prefixes leave different states|the network answers")


@case
def a_witness_without_its_network_asks_for_it():
    write("w.json", witness("net", *broken()))
    one_line(hopbound("check", "w.json"), 1, "check: w.json: no network lies beside it; which one is it against\\? check FILE DIR")
    one_line(hopbound("check", "nowhere.json"), 1, "check: nowhere.json: No such file")
    good("check", "w.json", "net")
    os.rename("w.json", "net/w.json")
    good("check", "net/w.json")
