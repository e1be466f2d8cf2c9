"""build KIND for every kind and mixer, networks that generate, deep networks: stopped, resumed, the same bits."""
import json, os, re, signal, subprocess, time
import harness
from harness import case, check, good, good_json, hopbound, lines_of, one_line, read, write
from cases_network import BUILD_KEYS

SIZES = (["--hops", 1, "--m", 3], ["--hops", 2, "--m", 5, "--fan", 3], ["--hops", 3, "--m", 4, "--fan", "2,3"])


LINEAR = {"linear", "retnet", "lightning", "gla", "hgrn2", "mamba", "mamba2", "deltanet", "gdn", "kda", "deltaproduct", "rwkv6",
          "rwkv7", "mlstm", "rglru", "based"}


def build(kind, *args, name="net", keys=()):
    value = good_json("build", kind, "-o", name, *args, keys=[*BUILD_KEYS, "mixer", "state_bits", *keys])
    check(set(os.listdir(name)) == {"config.json", "model.safetensors"}, why=str(os.listdir(name)))
    return value


def right_and_proved(count=20):
    got = good_json("run", "net", "--count", count)
    check(got["correct"] == got["instances"] == count, why=str(got))
    check(got["targets_correct"] == got["targets"] >= count, why=str(got))
    proof = good_json("prove", "net")
    check(proof["verdict"] == "proved" and proof["why"] == "", why=str(proof))


def linear_mixers():
    names = [m["name"] for m in good_json("mixers")["mixers"] if m["recurrent"]]
    check(LINEAR <= set(names), why=f"missing {LINEAR - set(names)}")
    return names


# ---- the constructions -----------------------------------------------------------------------

@case
def a_hybrid_of_every_linear_mixer_is_right_and_proved():
    for mixer in linear_mixers():
        for sizes in SIZES:
            made = build("hybrid", "--mixer", mixer, *sizes)
            hops = sizes[1]
            check(made["layers"] == hops + 1 and made["mixer"] == mixer, why=str(made))
            check(made["pattern"] == mixer + " full" + (f"^{hops}" if hops > 1 else ""), why=str(made))
            check(made["state_bits"] > 0 and made["p2_bits"] > 0 and made["state_ratio"] is None, why=str(made))
            right_and_proved()


@case
def linear_only_is_right_and_proved_and_its_state_is_no_less_than_the_bound():
    for sizes in SIZES:
        made = build("linear", *sizes, keys=["p2_bits", "state_ratio"])
        check("full" not in made["pattern"] and made["state_bits"] >= made["p2_bits"], why=str(made))
        check(abs(made["state_ratio"] - made["state_bits"] / made["p2_bits"]) < 1e-9, why=str(made))
        right_and_proved()
    text = good("build", "linear", "-o", "net").out
    check("state_bits" in text and "p2_bits" in text and "state_ratio" in text, why=text)


@case
def a_chain_of_thought_is_generated_and_proved():
    for sizes in SIZES:
        made = build("cot", *sizes)
        check(made["layers"] == 1 and made["heads"] == 2, why=str(made))
        right_and_proved()
        good("task", *sizes, "--count", 9, "--format", "jsonl", "-o", "t.jsonl")
        good("run", "net", "--count", 9, "--predictions", "a.jsonl", "--threads", 1)
        got = good_json("run", "net", "--input", "t.jsonl", "--predictions", "b.jsonl", "--threads", 4)
        check(read("a.jsonl") == read("b.jsonl"), why="sampled and read differ")
        check(got["generated"] == sizes[1] + 1, why=str(got))
        for p, t in zip(lines_of(read("a.jsonl").decode()), lines_of(read("t.jsonl").decode())):
            check(set(p) == {"index", "prediction", "answer", "correct", "chain"}, why=str(p))
            check(len(p["chain"]) == sizes[1] + 1 and p["chain"][-1] == p["prediction"] == t["answer"], why=str(p))
    one_line(hopbound("run", "net", "--precision", 8), 2, r"run: --precision: a network that generates")
    one_line(hopbound("run", "net", "--checkpoint", "x"), 2, r"run: --checkpoint: a network that generates")
    config = read("net/config.json").decode()
    check('"generate"' in config, why=config)
    for bad in ('"generate": 0', '"generate": "3"', '"generate": 99999999', '"generate": -4', '"generate": 2.5'):
        write("net/config.json", re.sub(r'"generate": *\d+', bad, config))
        for verb in ("run", "prove", "play"):
            one_line(hopbound(verb, "net"), 1, rf"{verb}: its construction: generate: ")
    write("net/config.json", re.sub(r'"generate": *\d+', '"given": 3', config))  # it answers at once, whatever its kind
    check(good_json("run", "net", "--count", 50)["correct"] < 50)
    check(good_json("prove", "net", code=10)["verdict"] == "refuted")


@case
def a_network_that_generates_does_so_whatever_kind_it_calls_itself():
    net = os.path.join(harness.DATA, "false_proofs/generate-kind")
    got = good_json("run", net, "--count", 200)
    check(got["correct"] == 200 and got["generated"] == 3, why=str(got))
    check(good_json("prove", net)["verdict"] == "proved")
    one_line(hopbound("play", net), 1, r"play: .*generates its answer")


@case
def an_encoder_looks_both_ways_and_is_proved():
    for sizes, layers in zip(SIZES, (2, 3, 4)):
        made = build("encoder", *sizes)
        check(made["layers"] == layers, why=str(made))
        right_and_proved()


@case
def two_sum_is_solved_by_full_and_by_sparse_attention():
    for sizes in (["--n", 1, "--mod", 2], ["--n", 9, "--mod", 5], ["--n", 24, "--mod", 16]):
        made = build("two-sum-full", *sizes)
        check(made["task"] == {"name": "two-sum", "n": sizes[1], "mod": sizes[3]} and made["p2_bits"] is None, why=str(made))
        right_and_proved()
    for sizes, block, topk in ((["--n", 12, "--mod", 5], 3, 1), (["--n", 24, "--mod", 16], 4, 2)):
        made = build("two-sum-sparse", *sizes, "--block", block, "--topk", topk)
        check(made["heads"] == block and made["pattern"].startswith("sparse"), why=str(made))
        right_and_proved()
    for n, heads in ((16, 4), (15, 3), (50, 2), (7, 1)):
        check(build("two-sum-sparse", "--n", n)["heads"] == heads)
        right_and_proved()


@case
def a_proof_shows_no_negative_margin():
    build("two-sum-sparse", "--n", 12, "--mod", 5, "--block", 3)
    out = good("prove", "net").out  # its comparison sits on the edge of a hidden unit, and the bounds allow for both sides
    table = [line.split() for line in out.splitlines() if line.strip().startswith("0 token")]
    check(table and table[0][5] == "none" and "\n  clip margin none: " in out and " -0.0" not in out, why=out)
    build("full", "--hops", 1, "--m", 4)
    check("none" not in good("prove", "net").out, why="a clip that restores codes stays off its edges")


@case
def small_networks_of_every_kind_are_also_proved_by_enumeration():
    for kind, sizes in (("hybrid", ["--hops", 1, "--m", 3]), ("linear", ["--hops", 1, "--m", 3]), ("cot", ["--hops", 1, "--m", 3]),
                        ("encoder", ["--hops", 1, "--m", 3]), ("two-sum-full", ["--n", 5, "--mod", 4]),
                        ("two-sum-sparse", ["--n", 4, "--mod", 4, "--block", 2])):
        build(kind, *sizes)
        got = good_json("prove", "net", "--method", "enumerate")
        check(got["verdict"] == "proved" and got["enumerated"] == got["inputs"] > 0, why=f"{kind} {got}")


WRONG = [
    (["full", "--mixer", "gdn"], r"build: --mixer: full takes no such option"),
    (["cot", "--pattern", "F"], r"build: --pattern: cot takes no such option"),
    (["full", "--pattern", "F"], r"build: 2 hops need 3 layers that attend to all tokens.*the pattern has 1 that attend and 0 linear, which make 0 hops; hop 1 looks into \d+ entries, and no layer is left$"),
    (["mixed", "--pattern", "F^3 L", "--hops", "3", "--m", "16", "--fan", "16,16"], r"build: mixed: layer 3 is linear, and its table has 4096 entries; more than 2048"),
    (["full", "--rope", "fast"], r"build: --rope: \"fast\" is not THETA"),
    (["full", "--rope", "1e4,0.5"], r"build: --rope: a part of a head needs --head-dim"),
    (["full", "--rope", "10", "--head-dim", "64"], r"build: layer \d: RoPE turns too much"),
    (["full", "--d-model", "5"], r"build: hidden_size: these sizes need \d+ numbers, not 5"),
    (["full", "--norm", "layer"], r"build: norm: layer takes the mean off"),
    (["hybrid", "--block", "4"], r"build: --block: hybrid takes no such option"),
    (["two-sum-sparse", "--n", "50", "--block", "7"], r"build: --block 7: does not divide the 50 tokens$"),
    (["two-sum-sparse", "--n", "50", "--block", "1000000"], r"build: --block 1000000: does not divide the 50 tokens$"),
    (["two-sum-full", "--topk", "4"], r"build: --topk: two-sum-full takes no such option"),
    (["linear", "--d-model", "8"], r"build: --d-model: linear takes no such option"),
    (["full", "--task", "khop"], r"build: --task: full is for funccomp"),
    (["two-sum-full", "--task", "funccomp"], r"build: --task: two-sum-full is for two-sum"),
    (["two-sum-full", "--hops", "2"], r"build: --hops: the task two-sum has no such size"),
    (["hybrid", "--mod", "2"], r"build: --mod: the task funccomp has no such size"),
    (["hybrid", "--mixer", "zip"], r"build: .*zip.*unknown mixer|build: .*unknown mixer.*zip"),
    (["hybrid", "--mixer", "full"], r"build: .*full"),
    (["random"], r"build: --pattern: missing"),
    (["random", "--pattern", "zip F"], r"build: .*unknown mixer.*zip"),
    (["random", "--pattern", "F("], r"build: .*column 3"),
    (["random", "--pattern", "F^0"], r"build: .*column"),
    (["random", "--pattern", "   "], r"build: "),
    (["random", "--pattern", "L^1000000000000"], r"build: .*more than 4294967296 layers"),
    (["random", "--pattern", "L^2000000", "--d-model", "8"], r"build: .*2000000 layers"),
    (["random", "--pattern", "F", "--heads", "3", "--d-model", "16"], r"build: .*3 heads do not divide"),
    (["random", "--pattern", "F", "--tie", "3"], r"build: --tie: needs --seeded"),
    (["random", "--pattern", "F", "--norm", "batch"], r"build: --norm: unknown name"),
    (["random", "--pattern", "F", "--mlp", "deep"], r"build: --mlp: unknown name"),
    (["random", "--pattern", "F", "--task", "khop", "--m", "3"], r"build: --m: the task khop has no such size"),
]


@case
def what_a_kind_does_not_take_is_wrong_usage_and_writes_nothing():
    for args, pattern in WRONG:
        one_line(hopbound("build", *args, "-o", "net"), 2, pattern)
        check(os.listdir(".") == [], why=f"{args}: {os.listdir('.')}")


@case
def networks_in_a_given_shape_are_right_and_proved():
    shapes = [
        ["full", "--norm", "rms", "--mlp", "gelu", "--heads", "4", "--kv-heads", "2"],
        ["full", "--rope", "1e6", "--head-dim", "64", "--pattern", "F^5"],
        ["hybrid", "--pattern", "(gdn^3 F)^3", "--heads", "2", "--kv-heads", "1", "--head-dim", "16", "--rope", "1e4,0.25"],
        ["hybrid", "--mixer", "mamba2", "--d-model", "128", "--head-dim", "16"],
    ]
    for args in shapes:
        good("build", *args, "--hops", "2", "--m", "6", "--fan", "4", "-o", "net")
        check(good_json("prove", "net")["verdict"] == "proved", why=str(args))
        check(good_json("run", "net", "--count", 20)["accuracy"] == 1, why=str(args))


# ---- random networks -------------------------------------------------------------------------

def predictions(*args, name="net"):
    good_json("run", name, *args, "--predictions", "p.jsonl")
    return read("p.jsonl")


@case
def a_random_network_of_every_mixer_runs_and_depends_on_the_seed_only():
    names = [m["name"] for m in good_json("mixers", "--d-model", 16, "--heads", 2, "--head-dim", 8)["mixers"]]
    for mixer in names:
        shape = ["--pattern", f"{mixer} full {mixer}", "--d-model", 16, "--heads", 2, "--task", "recall"]
        made = build("random", *shape, "--seed", 1)
        check(made["layers"] == 3 and made["task"]["name"] == "recall" and made["n"] == 24, why=str(made))
        seen = {predictions("--count", 9, "--threads", t) for t in (1, 3)}
        build("random", *shape, "--seed", 1, name="again")
        check(read("net/model.safetensors") == read("again/model.safetensors"), why=f"{mixer}: same seed, other bytes")
        build("random", *shape, "--seed", 2, name="other")
        check(read("net/model.safetensors") != read("other/model.safetensors"), why=mixer)
        check(len(seen) == 1, why=f"{mixer}: depends on threads")


@case
def the_letter_L_is_the_mixer_asked_for_and_sizes_may_be_given():
    made = build("random", "--pattern", "(L^2 F)^2", "--mixer", "linear", "--d-model", 12, "--heads", 3, "--head-dim", 5, "--vocab", 9,
                 "--positions", 20, "--norm", "layer", "--mlp", "gelu", "--mlp-hidden", 7)
    check(made["pattern"] == "(linear^2 full)^2" and made["mixer"] == "linear" and made["task"] is None, why=str(made))
    check((made["d_model"], made["heads"], made["head_dim"], made["mlp_hidden"], made["n"]) == (12, 3, 5, 7, 20), why=str(made))
    config = json.loads(read("net/config.json"))
    check((config["vocab_size"], config["norm"], config["mlp"]) == (9, "layer", "gelu"), why=str(config))


@case
def seeded_networks_are_the_stored_ones_without_the_weights():
    shape = ["--pattern", "L^7 F L^5", "--d-model", 8, "--task", "khop", "--n", 12, "--seed", 5]
    build("random", *shape, name="stored")
    build("random", *shape, "--seeded", name="seeded")
    check(os.path.getsize("seeded/model.safetensors") < os.path.getsize("stored/model.safetensors") / 4)
    check(predictions("--count", 20, name="stored") == predictions("--count", 20, name="seeded"))
    tied = build("random", *shape, "--seeded", "--tie", 2, name="tied")
    check(json.loads(read("tied/config.json"))["weights"] == {"kind": "seeded", "seed": 5, "tie": 2}, why=str(tied))


# ---- deep networks ---------------------------------------------------------------------------

DEEP = ["--d-model", 4, "--mlp", "none", "--seeded", "--tie", 8, "--task", "khop", "--n", 6, "--alphabet", 3]


def deep(layers, name="deep"):
    return build("random", "--pattern", f"L^{layers} F L^{layers}", *DEEP, name=name)


@case
def the_extremal_hybrid_of_two_hops_runs_out_of_the_box():
    made = deep(4096)
    check(made["layers"] == 8193 and made["pattern"] == "deltanet^4096 full deltanet^4096", why=str(made))
    got = good_json("run", "deep", "--count", 1)
    check(got["layers"] == 8193 and got["layers_per_second"] > 0, why=str(got))
    check(abs(got["layers_per_second"] * got["seconds"] / 8193 - 1) < 1e-6, why=str(got))
    check("layers/s" in good("run", "deep", "--count", 1).out)


@case
def a_deep_run_that_is_interrupted_is_resumed_to_the_same_bits():
    deep(20000)
    layers = max(20000, int(good_json("run", "deep", "--count", 1)["layers_per_second"] * 2))
    deep(layers)  # about four seconds here
    want = predictions("--count", 1, name="deep")
    p = subprocess.Popen([harness.PROGRAM, "run", "deep", "--count", "1", "--checkpoint", "at", "--quiet"], stderr=subprocess.PIPE)
    time.sleep(1.5)
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=100)[1].decode()
    check(p.returncode == 1 and err == "hopbound: run: stopped: by a signal; the same command resumes from at\n", why=f"{p.returncode} {err!r}")
    check(os.path.exists("at"))
    kept = read("at")
    one_line(hopbound("run", "deep", "--count", 1, "--seed", 9, "--checkpoint", "at"), 1, r"run: at: ")
    check(read("at") == kept, why="another run touched it")
    for bad, why in [(kept[:-1] + bytes([kept[-1] ^ 1]), "is damaged"), (kept[:-4], ""), (kept.replace(b'"layer":"', b'"layer":"-', 1), "")]:
        write("at", bad)
        one_line(hopbound("run", "deep", "--count", 1, "--checkpoint", "at"), 1, r"run: at: .*" + why)
        check(read("at") == bad, why="a refused checkpoint was touched")
    write("at", kept)
    check(predictions("--count", 1, "--checkpoint", "at", name="deep") == want, why="resumed to other bits")
    check(not os.path.exists("at"), why="it is done, yet the checkpoint stays")
    write("at", b"nonsense")
    one_line(hopbound("run", "deep", "--count", 1, "--checkpoint", "at"), 1, r"run: at: ")


@case
def a_checkpoint_runs_instances_one_after_another_with_the_same_answers():
    deep(600)
    check(predictions("--count", 5, "--checkpoint", "at", name="deep") == predictions("--count", 5, name="deep"))
    check(not [f for f in os.listdir(".") if f.startswith("at")], why=str(os.listdir(".")))


# ---- the registry ----------------------------------------------------------------------------

@case
def mixers_list_options_with_defaults_and_say_what_cannot_be_built():
    got = good_json("mixers", "--d-model", 64, "--heads", 2, "--head-dim", 32)
    for m in got["mixers"]:
        check({"name", "equation", "recurrent", "options"} <= set(m), why=str(m))
        check("why" in m or {"tensors", "parameters", "state_floats", "state_bytes"} <= set(m), why=str(m))
        for o in m["options"]:
            check({"name", "default", "help"} == set(o) and o["help"], why=str(o))
    text = good("mixers").out
    check(all(f"\n{m['name']} " in "\n" + text for m in got["mixers"]), why=text[:500])
    check(good("mixers", "gdn").out.startswith("gdn\n") and "options" in good("mixers", "gdn").out)
    check([m["name"] for m in good_json("mixers", "gdn")["mixers"]] == ["gdn"])
    one_line(hopbound("mixers", "gdnn"), 2, r"mixers: gdnn: unknown mixer; did you mean gdn\?")
    window = [m for m in got["mixers"] if m["name"] == "window"]
    check(not window or [o["name"] for o in window[0]["options"]][0] == "window", why=str(window))
    odd = good_json("mixers", "--d-model", 7, "--heads", 3, "--head-dim", 5)  # what cannot be built says so, and is no failure
    check(len(odd["mixers"]) == len(got["mixers"]))


@case
def a_signal_is_heard_while_what_is_large_is_set_up():
    def stopped(*args, pages):  # once it holds so much memory
        p = subprocess.Popen([harness.PROGRAM, *args, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while p.poll() is None and int(read(f"/proc/{p.pid}/statm").split()[1]) < pages:
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        err = p.stderr.read()
        most = os.wait4(p.pid, 0)
        p.stdout.close(), p.stderr.close()
        p.returncode = os.waitstatus_to_exitcode(most[1])
        one_line(harness.Result(args, p.returncode, "", err.decode()), 1, "stopped: by a signal")
        return most[2].ru_maxrss
    stopped("build", "random", "--pattern", "(L F)^10000", "--d-model", "16", "-o", "net", pages=25000)  # weights are drawn
    check(not os.path.exists("net"), why="a network that was not made was written")
    # An instance of 50 million tokens: 600 MB as numbers, and 430 as text, which is not begun.
    most = stopped("task", "--m", "10000000", "-o", "t.txt", pages=15000)
    check(most < 700000 and not os.path.exists("t.txt"), why=f"{most} kB")
    write("grid.json", json.dumps({"base": {"pattern": "F", "task": {"name": "funccomp", "hops": 1, "m": 4}},
                                   "grid": {"seed": list(range(1000)), "steps": list(range(1, 1001))}}))
    most = stopped("sweep", "grid.json", "-o", "runs.db", pages=40000)  # of 2.4 GB that a million recipes take
    check(most < 1500000 and not os.path.exists("runs.db"), why=f"{most} kB")
