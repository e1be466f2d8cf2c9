"""One architecture, one answer: of audit, of plan --like and of bound --like; and what scripts ask for by exit codes."""
import functools, json, os
from harness import *

CONFIGS, FAMILIES = os.path.join(DATA, "configs"), os.path.join(DATA, "families")
QWEN = os.path.join(CONFIGS, "qwen3-next-80b-a3b.json")


@functools.cache
def readable(directory):
    """Every configuration that is a model, and what a table says of it: every other at a length where more is impossible."""
    tables = [good_json("audit", directory, "--n", n)["models"] for n in ("128k", "1G")]
    return [rows[i % 2] for i, rows in enumerate(zip(*tables))]


@case
def plan_bound_and_audit_say_the_same_of_every_model():
    """Hops that are possible, hops that are impossible, and bytes."""
    seen, able, unable, tied = 0, 0, 0, 0
    for row in readable(CONFIGS) + readable(FAMILIES):
        path, n = row["path"], row["n"]
        point = good_json("plan", "--like", path, "--n", n)["points"][0]
        for ours, theirs in (("hops_possible", "hops_possible"), ("kv_bytes", "kv_bytes"), ("state_bytes", "state_bytes")):
            check(point[ours] == row[theirs], why=f"{path}: {ours}: {point} {row}")
        check((point["hops_impossible"] is not None) == (row["impossible_at_n"] is True), why=f"{path}: {point} {row}")
        if row["hops_not_counted"] and "share" in row["hops_not_counted"]:
            one_line(hopbound("bound", "--like", path, "--hops", "auto", "--n", n), 2, "--like: layers share")
            one_line(hopbound("plan", "--like", path, "--hops", "2", "--n", n), 2, "--like: layers of .* share")
            tied += 1
            continue
        if 4 < row["full_layers"] < 8 and not os.environ.get("HOPBOUND_LONG"):
            continue  # a search for P6's sizes of a second or two
        reach = good_json("bound", "--like", path, "--hops", "auto", "--n", n)["reach"]
        check(row["hops_possible"] in (reach["able"], None), why=f"{path}: {reach} {row}")
        check(reach["unable"] == point["hops_impossible"], why=f"{path}: {reach} {point}")
        seen, able, unable = seen + 1, able + (reach["able"] > 0), unable + (reach["unable"] is not None)
    check(seen > 45 and able > 30 and unable > 3 and tied > 2, why=str((seen, able, unable, tied)))


@case
def a_plan_of_a_models_layers_is_the_model():
    """Its own pattern, spelled out, has its hops and its bytes at every length; and so has one of its ratio."""
    spelled = 0
    for row in readable(CONFIGS):
        plan = row["plan"].replace("x", "^")
        if set(plan) - set("FL()^0123456789") or row["hops_not_counted"] or "L" not in plan or "F" not in plan:
            continue
        args = ("--like", row["path"], "--over", "1k,128k,4M")
        own, named = good_json("plan", *args)["points"], good_json("plan", plan, *args)["points"]
        for a, b in zip(own, named):
            check({**a, "name": ""} == {**b, "name": ""}, why=f"{row['path']}: {a} {b}")
        verdicts = [good_json("bound", "--like", row["path"], *more, "--hops", "3", "--n", "4M") for more in ((), ("--pattern", plan))]
        check(verdicts[0]["results"] == verdicts[1]["results"], why=row["path"])
        spelled += 1
    check(spelled >= 10, why=str(spelled))
    ratio, own = (good_json("plan", *some, "--like", QWEN, "--n", "1M")["points"][0] for some in (("3:1", "--layers", "48"), ()))
    check({**ratio, "name": ""} == {**own, "name": ""})


@case
def plans_for_hops_are_made_of_the_models_layers():
    plans = good_json("plan", "--like", QWEN, "--hops", "8", "--n", "128k", "--layers", "48")
    check(plans["like"] == QWEN and plans["cache_bits"] is None and plans["mixer"] == "gated_deltanet")
    for p in plans["plans"]:
        point = good_json("plan", p["pattern"].replace("gated_deltanet", "L"), "--like", QWEN, "--n", "128k")["points"][0]
        check((p["kv_bytes"], p["state_bytes"], p["hops_proved"]) == (point["kv_bytes"], point["state_bytes"], point["hops_possible"]),
              why=str((p, point)))
        said = good_json("bound", "--like", QWEN, "--pattern", p["pattern"], "--hops", "8", "--n", "128k")
        check(said["verdict"] == p["verdict"] or p["verdict"] == "open", why=str((p, said["answer"])))
        check(p["flops_per_token"] is None)
    for name, why in (("llama-3.1-8b", None), ("mamba-130m-original", None), ("gemma-3-27b-it", None)):
        found = good_json("plan", "--like", os.path.join(CONFIGS, name + ".json"), "--hops", "2", "--n", "4k")["plans"]
        check(found and all((p["full_layers"] == p["layers"]) if "llama" in name else True for p in found), why=str(found))
    check(all(p["full_layers"] == 0 for p in good_json("plan", "--like", os.path.join(CONFIGS, "mamba-130m-original.json"),
                                                       "--hops", "1", "--n", "1k")["plans"]))


@case
def exit_codes_say_what_the_verdict_is():
    for args, code in ((("--hops", "2", "--n", "4k"), 0), (("--hops", "1", "--n", "1G", "--layers", "1", "--full", "0"), 10),
                       (("--hops", "2", "--n", "1k", "--layers", "1"), 30)):
        got = hopbound("plan", *args, "--exit-code")
        check(got.code == code, got)
        check(hopbound("plan", *args).code == 0)
    model = lambda name: os.path.join(CONFIGS, name + ".json")
    for name, hops, n, code in (("qwen3-next-80b-a3b", 12, "128k", 0), ("qwen3-next-80b-a3b", 17, "128k", 30),
                                ("mamba-130m-original", 1, "16M", 10), ("mamba-130m-original", 12, "128k", 30),
                                ("zamba2-2.7b", 2, "128k", 30), ("llama-3.1-8b", 31, "128k", 30)):
        got = hopbound("audit", model(name), "--require-hops", hops, "--n", n)
        check(got.code == code, got, f"{name}: {hops} hops at {n}")
        row = good_json("audit", model(name), "--require-hops", hops, "--n", n, code=code)["models"][0]
        check(row["verdict"] == {0: "possible", 10: "impossible", 30: "open"}[code], got)
        if "share" not in row["answer"]:
            told = hopbound("bound", "--like", model(name), "--hops", hops, "--n", n, "--exit-code")
            check(told.code == code, told, f"{name}: {hops} hops at {n}: bound")
    worst = hopbound("audit", model("qwen3-next-80b-a3b"), model("mamba-130m-original"), "--require-hops", 1, "--n", "16M")
    check(worst.code == 10 and "qwen3-next-80b-a3b: 1 hop is possible at 16777216 tokens, by P1" in worst.out, worst)
    check("cannot be posed" in hopbound("audit", model("llama-3.1-8b"), "--require-hops", 31, "--n", "128k").out)
    text = json.dumps(json.load(open(model("llama-3.1-8b"))))
    check(hopbound("audit", "--config", text, "--require-hops", 8).code == 0)


@case
def what_a_model_has_is_not_asked_for():
    for args, why in ((("plan", "--like", QWEN, "--n", "1k", "--heads", "3"), "--heads: not with --like"),
                      (("plan", "--like", QWEN, "--n", "1k", "--cache-bits", "8"), "--cache-bits: not with --like"),
                      (("bound", "--like", QWEN, "--hops", "2", "--dim", "8"), "--dim: not with --like"),
                      (("bound", "--like", QWEN, "--hops", "2", "--n", "9", "--solve", "dim"), "--solve: not with --like"),
                      (("bound", "--hops", "2"), "--pattern: missing"),
                      (("plan", "W F", "--like", QWEN, "--n", "1k"), "has no window layer; it has full and gated_deltanet"),
                      (("plan", "(L", "--like", QWEN, "--n", "1k"), "column|parenthes"),
                      (("plan", "--like", QWEN, "--n", "1k", "--exit-code"), "--exit-code: needs --hops"),
                      (("audit", QWEN, "--require-hops", "2", "--over", "1k..2k"), "--require-hops: not with --over")):
        one_line(hopbound(*args), 2, why)
    one_line(hopbound("plan", "--like", "/no/such", "--n", "1k"), 1, "/no/such")
