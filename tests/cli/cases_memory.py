"""Bytes of prompts as the mathematics needs and as engines allocate, and the longest prompt that fits."""
import os
from harness import *

CONFIGS = os.path.join(DATA, "configs")
GiB = 1 << 30


def config(name):
    return os.path.join(CONFIGS, name + ".json")


def uses(*args):
    return {u["by"]: u for u in good_json("audit", *args)["uses"]}


def changed(name, **keys):
    """The same configuration with other keys, as a text."""
    with open(config(name)) as f:
        return json.dumps({**json.load(f), **keys})


@case
def what_is_needed_is_what_audit_counts_and_its_parts_are_the_whole():
    names = [n[:-5] for n in sorted(os.listdir(CONFIGS)) if n not in ("expected.json", "deepseek-v4-flash.json")]
    many = good_json("audit", *map(config, names), "--memory", "--n", 5000)["uses"]
    check(len(many) == 4 * len(names))
    for at, name in enumerate(names):
        audit = good_json("audit", config(name), "--plan-only", "--n", 5000)
        needed = many[4 * at]
        check(needed["bytes"] == audit["bytes_total"], why=name)
        for u in many[4 * at:4 * at + 4]:
            check((u["bytes"] is None) == (u["not_known"] is not None), why=str(u))
            if u["bytes"] is None: continue
            parts = ("kv", "index", "state", "conv")
            check(u["bytes"] == sum(u[p + "_bytes"] for p in (*parts, "padding")), why=str(u))
            for p in parts if u["layers"] else ():
                check(u[p + "_bytes"] == sum(l["layers"] * l[p + "_bytes"] for l in u["layers"]), why=f"{name} {u['by']} {p}")
    check(sum(u["bytes"] is not None for u in many) > 100)


@case
def keys_to_pick_by_are_counted():
    """DeepSeek-V3.2: 128 numbers beside 576, of every token in every layer."""
    a = good_json("audit", config("deepseek-v3.2"), "--plan-only", "--n", 1000)
    check(a["index_elems_per_token"] == 128 and a["bytes_total"] == 61 * 1000 * (576 + 128) * 2)
    u = uses(config("deepseek-v3.2"), "--memory", "--n", 1000)
    check(u["needed"]["index_bytes"] == 61 * 1000 * 128 * 2 and u["vLLM"]["index_bytes"] == 61 * 1024 * 132)
    check(u["llama.cpp"]["index_bytes"] == 61 * 1024 * 128 * 2 and u["transformers"]["index_bytes"] == 61 * 1000 * 256)
    check(good_json("audit", config("llama-3.1-8b"), "--plan-only")["index_elems_per_token"] is None)
    shared = changed("deepseek-v3.2", model_type="glm_moe_dsa", indexer_types=["full", "shared", "shared"] * 20 + ["full"])
    check(uses("--config", shared, "--memory", "--n", 1000)["needed"]["index_bytes"] == 21 * 1000 * 256)
    letters = changed("deepseek-v3.2", model_type="glm_moe_dsa", index_topk_pattern="FSS" * 20 + "F")
    check(uses("--config", letters, "--memory", "--n", 1000)["needed"]["index_bytes"] == 21 * 1000 * 256)


@case
def llama_cpp_pads_cells_and_keeps_states_in_float32():
    u = uses(config("gemma-3-27b-it"), "--memory", "--n", 100000, "--batch", 3)["llama.cpp"]
    row = 2 * 16 * 128 * 2
    check(u["kv_bytes"] == 3 * row * (10 * 100096 + 52 * 1536), why="a window of 1,024 and a step of 512, by 256")
    check(uses(config("gemma-3-27b-it"), "--memory", "--n", 100)["llama.cpp"]["kv_bytes"] == row * 62 * 256)
    u = uses(config("qwen3-next-80b-a3b"), "--memory", "--n", 256, "--state-type", "bfloat16", "--kv-type", "q8_0")
    check(u["llama.cpp"]["state_bytes"] == 36 * 4 * 32 * 128 * 128 and u["needed"]["state_bytes"] * 2 == u["llama.cpp"]["state_bytes"])
    check(u["llama.cpp"]["kv_bytes"] == 12 * 256 * 1024 * 34 // 32 and u["vLLM"]["not_known"])
    u = uses(config("mistral-7b-v0.1"), "--memory", "--n", 32768)
    check(u["llama.cpp"]["kv_bytes"] == 32 * 32768 * 4096, why="its files have no windows")
    check(u["needed"]["kv_bytes"] == 32 * 4096 * 4096 and u["transformers"]["kv_bytes"] == 32 * 4095 * 4096)


@case
def vllm_has_pages_of_one_size():
    """A page of Qwen3-Next is made 544 tokens long, which holds a state of 1 MiB and its convolutions."""
    u = uses(config("qwen3-next-80b-a3b"), "--memory", "--n", 544 * 10)["vLLM"]
    page = 544 * 2048
    check(u["kv_bytes"] == 12 * 10 * page and u["bytes"] == (10 + 3) * 12 * page, why=str(u))
    check(u["state_bytes"] == 36 << 20 and u["conv_bytes"] == 36 * 3 * 8192 * 2)
    u = uses(config("qwen3-next-80b-a3b"), "--memory", "--n", 544, "--state-type", "float32")["vLLM"]
    check(u["bytes"] == (1 + 3) * 12 * 1056 * 2048, why="a longer page of 1056 tokens")
    u = uses(config("llama-3.1-8b"), "--memory", "--n", 17)["vLLM"]
    check(u["bytes"] == 32 * 32 * 4096 and u["padding_bytes"] == 0)
    u = uses(config("gemma-3-27b-it"), "--memory", "--n", 65536)["vLLM"]
    row, windows = 2 * 16 * 128 * 2, 16 * ((1023 + 4096 + 15) // 16 + 1)
    check(u["kv_bytes"] == row * (10 * 65536 + 52 * windows) and u["padding_bytes"] == row * 8 * windows, why="52 layers in groups of 10")


@case
def the_longest_prompt_fits_and_one_token_more_does_not():
    for name in ("qwen3-next-80b-a3b", "gemma-3-27b-it", "deepseek-v3.2", "nemotron-nano-9b-v2", "kimi-linear-48b-a3b", "lfm2-2.6b"):
        for budget, weights, batch in ((24 * GiB, 14 * GiB, 1), (3 * GiB, GiB, 4)):
            fit = uses(config(name), "--fit", budget, "--weights", f"{weights // GiB}GiB", "--batch", batch)
            for by, u in fit.items():
                if u["longest"] is None: continue
                at = uses(config(name), "--memory", "--n", u["longest"], "--batch", batch)[by]["bytes"] if u["longest"] else 0
                after = uses(config(name), "--memory", "--n", u["longest"] + 1, "--batch", batch)[by]["bytes"]
                check(at <= budget - weights < after, why=f"{name} {by} {u['longest']} {at} {after}")
    u = uses(config("mamba-codestral-7b"), "--fit", "16GiB", "--weights", "14.6GB")
    check(u["needed"]["any_length"] and u["needed"]["longest"] is None)
    u = uses(config("llama-3.1-8b"), "--fit", "8G", "--weights", "9GiB")
    check(u["needed"]["longest"] == 0 and not u["needed"]["any_length"])


@case
def one_command_says_what_fits_into_24_gib():
    out = good("audit", *map(config, ("qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "jamba-v0.1", "llama-3.1-8b")), "--fit", "24GiB",
               "--weights", "16GiB").out
    check(len(out.splitlines()) <= 24 and "longest prompt" in out and "llama.cpp" in out and "weights 16 GiB" in out, why=out)
    rows = good("audit", config("llama-3.1-8b"), config("jamba-v0.1"), "--fit", "24GiB", "--weights", "16GiB", "--format", "csv").out
    check(len(rows.splitlines()) == 9 and rows.startswith("model,by,version,n,kv_bytes"), why=rows)
    out = good("audit", config("llama-3.1-8b"), "--memory", "--n", 1000).out
    check("keys, values" in out and "states" not in out.split("needed:")[0], why=out)


@case
def sizes_and_types_that_make_no_sense_are_one_line():
    path = config("llama-3.1-8b")
    for args, why in ((("--fit", "many"), "--fit: many: not a size"), (("--fit", "0GiB"), "--fit: 0GiB"), (("--fit", "nan"), "--fit: nan"),
                      (("--fit", "1e30"), "--fit: 1e30"), (("--fit", "-1G"), "--fit: -1G"),
                      (("--fit", "24GiB", "--weights", "heavy"), "--weights: heavy: neither"),
                      (("--fit", "24GiB", "--weights", "0bpw"), "--weights: 0bpw: neither"),
                      (("--memory", "--kv-type", "q9"), "--kv-type: q9: unknown"),
                      (("--memory", "--state-type", "q8_0"), "--state-type: q8_0: states are kept in no blocks"),
                      (("--memory", "--batch", "0"), "--batch"), (("--batch", "2"), "--batch: needs --memory or --fit"),
                      (("--memory", "--weights", "1GiB"), "--weights: needs --fit"),
                      (("--memory", "--over", "1k..2k"), "--memory: not with --over")):
        one_line(hopbound("audit", path, *args), 2, why)


@case
def parameters_are_counted_where_the_rule_is_known_and_weights_follow_from_bits():
    def subject(*args):
        return good_json("audit", *args)["subjects"][0]
    jamba = changed("jamba-v0.1", num_experts=16, num_experts_per_tok=2, intermediate_size=14336)
    a = subject("--config", jamba, "--fit", "80GiB", "--weights", "4.5bpw")
    check(a["parameters"] == 51569360896 and a["active_parameters"] == 12109348864, why=str(a))
    check(a["weight_bytes"] == 51569360896 * 9 // 16)
    check(subject(config("mamba-codestral-7b"), "--memory", "--n", 1000)["parameters"] == 7283933184)
    own = subject("--config", jamba, "--fit", "80GiB")
    check(own["weight_bytes"] == 2 * own["parameters"], why="two bytes each, as the file says")
    check(subject(config("gpt-oss-20b"), "--memory", "--n", 1000)["parameters"] is None, why="the file does not say how many experts there are")
    text = changed("gpt-oss-20b", num_local_experts=32, num_experts_per_tok=4, intermediate_size=2880)
    check(subject("--config", text, "--memory", "--n", 1000)["parameters"] == 20914421760)
    one_line(hopbound("audit", config("rwkv7-0.4b-world"), "--fit", "8GiB", "--weights", "4bpw"), 2, "--weights: how many parameters rwkv7 has is not known")
    check("weights not counted" in good("audit", config("rwkv7-0.4b-world"), "--fit", "8GiB").out)


@case
def plans_that_fit_are_told_from_those_that_do_not():
    """The longest prompt of each that is named; of those that are looked for, only what fits at the length."""
    like = config("qwen3-next-80b-a3b")
    over = good_json("plan", "3:1", "7:1", "--layers", 48, "--n", "1M", "--like", like, "--fit", "8GiB")
    for c in over["curves"]:
        for n, fits in ((c["longest"], True), (c["longest"] + 1, False)):
            p = good_json("plan", c["name"], "--layers", 48, "--n", n, "--like", like)["points"][0]
            check((p["kv_bytes"] + p["state_bytes"] <= 8 * GiB) == fits, why=str((c["name"], n, p)))
    check(over["curves"][1]["longest"] > 1.9 * over["curves"][0]["longest"] and "Longest prompt that fits: 3:1 " in good(
        "plan", "3:1", "7:1", "--layers", 48, "--n", "1M", "--like", like, "--fit", "8GiB").out)
    check(good_json("plan", "L^4", "--n", "1k", "--fit", "1GiB")["curves"][0]["any_length"])
    check(good_json("plan", "L^4", "--n", "1k")["curves"][0]["longest"] is None)
    all = good_json("plan", "--hops", 4, "--n", "128k", "--layers", 12)
    sums = [p["kv_bytes"] + p["state_bytes"] for p in all["plans"]]
    middle = sorted(sums)[len(sums) // 2]
    some = good_json("plan", "--hops", 4, "--n", "128k", "--layers", 12, "--fit", int(middle))
    check([p["pattern"] for p in some["plans"]] == [p["pattern"] for p, b in zip(all["plans"], sums) if b <= middle])
    check(some["too_large"] == sum(b > middle for b in sums) > 0 and all["too_large"] is None)
    one_line(hopbound("plan", "F", "--n", 9, "--fit", "much"), 2, "--fit: not a size")
