"""build --like: networks in the shape of real models, from the files that audit is tested with."""
import os

from harness import case, check, good, good_json, hopbound, one_line, write

CONFIGS = os.path.join(os.environ["HOPBOUND_TEST_DATA"], "configs")
SIZES = ["--hops", "2", "--m", "4", "--fan", "4"]


def config(name):
    return os.path.join(CONFIGS, name + ".json")


# RoPE in part, gates and norms of queries; latent keys; no RoPE, and layers without a mixer; all of a head rotated; a linear
# layer that has to do its part: four full ones for four hops.
BUILT = {
    "qwen3-next-80b-a3b": ("gdn", "(gdn^3 full)^12", 16, SIZES),
    "kimi-linear-48b-a3b": ("kda", None, 32, SIZES),
    "nemotron-3-nano-30b-a3b": ("mamba2", None, 32, SIZES),
    "llama-3.1-8b": (None, "full^32", 32, SIZES),
    "granite-4.0-h-tiny": ("mamba2", None, 12, ["--hops", "4", "--m", "3", "--fan", "2"]),
}


@case
def models_of_many_families_are_built_and_proved():
    for name, (mixer, pattern, heads, sizes) in BUILT.items():
        net = good_json("build", "--like", config(name), *sizes, "--d-model", "96", "-o", "net")
        check(net["mixer"] == mixer and net["heads"] == heads and net["d_model"] == 96, why=str(net))
        check(pattern is None or net["pattern"] == pattern, why=str(net))
        check(any("position table" in n for n in net["notes"]), why=str(net["notes"]))
        proof = good_json("prove", "net", "--method", "interval")
        check(proof["verdict"] == "proved", why=f"{name}: {proof['why']}")
        check(good_json("run", "net", "--count", 2)["accuracy"] == 1, why=name)


@case
def a_look_up_in_plain_sizes_is_said_to_be_one():
    """Mamba cannot make its part with its convolution and gate; where it has none to make, nothing is said."""
    for hops, plain in [("4", ["layer 0, mamba: its look-up is made in the plain sizes"]), ("3", [])]:
        net = good_json("build", "--like", config("jamba-v0.1"), "--hops", hops, "--m", "2", "--fan", "2", "--d-model", "96", "-o", "net")
        said = [n for n in net["notes"] if "plain sizes" in n]
        check(len(said) == len(plain) and all(n.startswith(p) for n, p in zip(said, plain)), why=str(net["notes"]))
    net = good_json("build", "--like", config("granite-4.0-h-tiny"), "--hops", "4", "--m", "3", "--fan", "2", "--d-model", "96", "-o", "net")
    check(not any("plain sizes" in n for n in net["notes"]), why=str(net["notes"]))


@case
def what_cannot_be_built_says_why():
    wrong = {
        "gemma-2-9b": "norms behind mixers and MLPs",
        "gpt-oss-20b": "sink",
        "falcon-h1-0.5b": "layer 0: attention and a recurrence in one layer; ours have one mixer",
        "rwkv7-0.4b-world": "no layer attends, and no weights are known with which its states hold tables",
        "deepseek-v3.2": "layer 0: its attention picks or compresses tokens",
        "llama-4-scout": "layer 0: its attention stays within chunks",
        "mimo-v2-flash": "its layers with a window have other heads",
        "lfm2-2.6b": "its recurrent layers are of a kind that is not taken over: short_conv",
        "ling-3.0-flash": "norms, rotations and gates of their own",
        "ring-mini-linear-2.0": "where its norms stand, what is rotated and what is gated is not known here",
        "minimax-text-01": "its residual stream is what the norms give",
        "olmo-hybrid-7b": "norms behind them",
    }
    for name, why in wrong.items():
        r = hopbound("build", "--like", config(name), "--hops", "4", "--m", "2", "--fan", "2", "-o", "net")
        one_line(r, 2, why)
        check(not os.path.exists("net"), r)
    # Mamba's states hold no table, and there are four layers that attend
    one_line(hopbound("build", "--like", config("jamba-v0.1"), "--hops", "6", "--m", "2", "--fan", "2", "-o", "net"), 2, r"6 hops .*mamba states hold no table")


@case
def states_of_mamba_2_make_the_hops_for_which_attention_is_missing():
    for name, hops in [("bamba-9b", "6"), ("nemotron-nano-9b-v2", "6"), ("mamba-codestral-7b", "5")]:
        good_json("build", "--like", config(name), "--hops", hops, "--m", "4", "--fan", "2", "--d-model", "96", "-o", "net")
        proof = good_json("prove", "net", "--method", "interval")
        check(proof["verdict"] == "proved", why=f"{name}: {proof['why']}")
        model = good_json("audit", config(name), "--n", "1k")
        check(model["hops"]["able"] >= 6 and model["hops"]["able_by"] == "P10", why=str(model["hops"]))


@case
def what_audit_calls_possible_of_a_model_is_built_and_proved():
    """As many hops as audit says, on the shortest prompts, in the model's own layers and heads; HOPBOUND_LONG: all models."""
    names = ["nemotron-3-nano-30b-a3b", "bamba-9b"]
    if os.environ.get("HOPBOUND_LONG"):
        names = sorted(name[:-5] for name in os.listdir(CONFIGS) if name.endswith(".json"))
    built = 0
    for name in names:
        hops = good_json("audit", config(name), "--n", 70)["hops"]["able"]
        sizes = ["--hops", hops, "--m", 2] + (["--fan", ",".join(["2"] * (hops - 1))] if hops and hops > 1 else [])
        r = hopbound("build", "--like", config(name), *sizes, "--d-model", 128, "-o", "net") if hops else None
        if not r or r.code == 2 and "cannot be built" in r.err:
            continue  # its blocks are none of ours
        check(r.code == 0, r, name)
        proof = good_json("prove", "net", "--method", "interval")
        check(proof["verdict"] == "proved", why=f"{name}: {hops} hops: {proof['why']}")
        built += 1
    check(built >= min(2, len(names)), why=str(built))


@case
def like_takes_the_shape_from_the_model():
    qwen = config("qwen3-next-80b-a3b")
    for option, value in [("--pattern", "F"), ("--heads", "2"), ("--rope", "1e4"), ("--norm", "none"), ("--mixer", "gdn")]:
        one_line(hopbound("build", "--like", qwen, option, value, "-o", "net"), 2, f"{option}: --like takes it from the model")
    one_line(hopbound("build", "cot", "--like", qwen, "-o", "net"), 2, "--like: is instead of a kind")
    one_line(hopbound("build", "-o", "net"), 2, "KIND: missing")
    one_line(hopbound("build", "--like", "nowhere.json", "-o", "net"), 1, "nowhere.json")
    one_line(hopbound("build", "--like", write("broken.json", "{"), "-o", "net"), 1, "broken.json: line 1, column 2")



@case
def idle_layers_are_one_line_of_a_proof():
    good("build", "full", "--pattern", "gdn^4 F gdn^2 F^2 gdn", "--hops", 2, "--m", 4, "--fan", 3, "-o", "deep", "-q")
    lines = good("prove", "deep").out.splitlines()
    check([x.split() for x in lines if "idle" in x] == [["0-3", "idle"], ["5-6", "idle"], ["9", "idle"]], why="\n".join(lines))
    margins = good_json("prove", "deep")["margins"]  # for scripts every layer is there
    check([m["layer"] for m in margins] == list(range(10)), why=str(margins))
