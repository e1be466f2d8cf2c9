"""damage and refute: a network is broken, and what breaks is found."""
import json, os, re, signal, struct, subprocess, time
import harness
from harness import case, check, good, good_json, hopbound, one_line, read, write

REFUTE_KEYS = ["verdict", "witness", "trace", "tried", "kind", "by", "prompts", "strategies", "task", "dir", "seconds"]
WITNESS_KEYS = {"format", "version", "kind", "network", "task", "arithmetic", "prompts", "differences", "prefix", "found", "trace",
                "seal"}


def build(name, kind="full", *sizes):
    good("build", kind, "-o", name, "-q", *sizes)


@case
def exact_networks_are_exhausted_with_exit_20_or_left_open_with_exit_30():
    for sizes in (["--hops", 1, "--m", 2], ["--hops", 1, "--m", 4], ["--hops", 2, "--m", 2, "--fan", 2]):
        build("net", "full", *sizes)
        got = good_json("refute", "net", keys=REFUTE_KEYS, code=20)
        check(got["verdict"] == "right on every input" and got["witness"] is None and got["trace"] == [], why=str(got))
    build("net", "hybrid", "--hops", 2, "--m", 6, "--fan", 5)
    got = good_json("refute", "net", "--budget", 0.5, "-o", "w.json", keys=REFUTE_KEYS, code=30)
    check(got["verdict"] == "open" and got["tried"] == sum(s["tried"] for s in got["strategies"]) > 0, why=str(got))
    check([s["name"] for s in got["strategies"]] == ["structured", "sampling", "guided"], why=str(got))
    check(not os.path.exists("w.json"), why="a witness of nothing")
    check("open" in good("refute", "net", "--budget", 0.1, code=30).out)


@case
def damage_says_what_it_changed_and_changes_nothing_else():
    build("net", "full", "--hops", 2, "--m", 3, "--fan", 2)
    got = good_json("damage", "net", "-o", "bad", "--flip", 3, "--seed", 4, "--layer", 1, keys=["changed", "dir"])
    check(len(got["changed"]) == 3 and got["dir"] == "bad", why=str(got))
    check(all(c["tensor"].startswith("model.layers.1.") and c["from"] != c["to"] for c in got["changed"]), why=str(got))
    old, new = read("net/model.safetensors"), read("bad/model.safetensors")
    places = {i // 4 for i in range(len(old)) if old[i] != new[i]}
    check(len(old) == len(new) and len(places) == 3 and read("net/config.json") == read("bad/config.json"), why=str(places))
    good("damage", "net", "-o", "bad2", "--flip", 3, "--seed", 4, "--layer", 1)
    check(read("bad2/model.safetensors") == new)
    check("weight changed" in good("damage", "net", "-o", "bad2").out)
    one_line(hopbound("damage", "net"), 2, r"damage: --output: missing")
    one_line(hopbound("damage", "net", "-o", "./net/"), 2, r"damage: --output: \./net/: is the network itself")
    one_line(hopbound("damage", "net", "-o", "x", "--layer", 9), 2, r"damage: --layer or --flip: layer 9: ")
    one_line(hopbound("damage", "net", "-o", "x", "--flip", 9999, "--layer", 1), 2, r"damage: --layer or --flip: 9999 weights: ")
    one_line(hopbound("damage", "nowhere", "-o", "x"), 1, r"damage: nowhere: ")
    check(not os.path.exists("x"), why="half a network")


def with_all_weights(name, value):
    b = read(f"{name}/model.safetensors")
    data = 8 + int.from_bytes(b[:8], "little")
    with open(f"{name}/model.safetensors", "wb") as f:
        f.write(b[:data] + struct.pack("<f", value) * ((len(b) - data) // 4))


@case
def a_network_whose_logits_are_no_numbers_says_no_token_and_not_minus_one():
    build("net", "full", "--hops", 1, "--m", 2)
    with_all_weights("net", 3e38)
    r = good("refute", "net", code=10)
    check("the network says no token" in r.out and "-1" not in r.out and "nan" not in r.out, r)
    r = good("prove", "net", "--method", "enumerate", code=10)
    check("is answered by no token, not " in r.out and "the network says no token" in r.out and "-1" not in r.out, r)
    check(good_json("refute", "net", keys=REFUTE_KEYS, code=10)["prompts"][0]["answer"] == -1)


@case
def nothing_is_written_over_what_is_read():
    build("net", "full", "--hops", 1, "--m", 2)
    good("damage", "net", "-o", "bad", "-q")
    weights, config = read("bad/model.safetensors"), read("bad/config.json")
    good("run", "bad", "--predictions", "bad/p.jsonl", "-q")
    good("run", "bad", "--predictions", "bad/p.jsonl", "-q")  # a file beside the network is nobody's
    write("in.jsonl", '{"tokens": [0, 1, 1, 0]}\n')
    os.symlink("bad/config.json", "link")
    for args, wrong in ((("run", "bad", "-p", "bad/model.safetensors"), r"--predictions: .*: is the network's own"),
                        (("run", "bad", "-p", "./bad/../bad/config.json"), r"--predictions: .*: is the network's own"),
                        (("run", "bad", "-i", "in.jsonl", "-p", "./in.jsonl"), r"--predictions: \./in\.jsonl: is what is read"),
                        (("run", "bad", "--checkpoint", "bad/checkpoint.safetensors"), r"--checkpoint: .*: is the network's own"),
                        (("refute", "bad", "-o", "bad/config.json"), r"--output: .*: is the network's own"),
                        (("refute", "bad", "-o", "w", "--prompts", "w"), r"--prompts: w: is where --output writes"),
                        (("prove", "bad", "--counterexample", "bad/config.json"), r"--counterexample: .*: is the network's own"),
                        (("audit", "bad/config.json", "--report", "link"), r"--report: link: is what is read")):
        one_line(hopbound(*args), 2, args[0] + ": " + wrong)
    check(read("bad/model.safetensors") == weights and read("bad/config.json") == config)
    good("run", "bad", "-i", "in.jsonl", "-p", "/dev/null", "-q")


@case
def a_broken_network_is_named_by_prove_witnessed_by_refute_and_wrong_in_run():
    build("net", "full", "--hops", 3, "--m", 4, "--fan", "3,3")
    good("damage", "net", "-o", "bad", "--layer", 1, "--seed", 3)
    said = good_json("prove", "bad", code=10)
    check("layer 1" in said["why"], why=said["why"])
    got = good_json("refute", "bad", "-o", "w.json", "--prompts", "in.jsonl", keys=REFUTE_KEYS, code=10)
    w = json.loads(read("w.json"))
    check(set(w) == WITNESS_KEYS and (w["format"], w["version"]) == ("hopbound-witness", 1), why=str(set(w)))
    check(got["witness"] == "w.json" and w["kind"] == got["kind"] and w["prompts"] == got["prompts"], why=str(got))
    trace = [{k: x for k, x in layer.items() if k != "own"} for layer in got["trace"]]
    check(w["trace"] == trace and len(w["trace"]) == 4 and w["found"]["by"] == got["by"], why=str(w))
    check(len(w["differences"]) == 1 and w["prompts"][0]["right"] != w["prompts"][1]["right"], why=str(w["differences"]))
    check([json.loads(line)["tokens"] for line in read("in.jsonl").decode().splitlines()] == [p["tokens"] for p in w["prompts"]])
    good("run", "bad", "--input", "in.jsonl", "--predictions", "out.jsonl")
    said = [json.loads(line) for line in read("out.jsonl").decode().splitlines()]
    check([(s["prediction"], s["answer"]) for s in said] == [(p["answer"], p["right"]) for p in w["prompts"]], why=str(said))
    check(not all(s["correct"] for s in said), why="run gets both right")
    r = good("refute", "bad", "-o", "w2.json", code=10)
    check("witness: w2.json" in r.out and "last token" in r.out and read("w2.json") == read("w.json"), r)


@case
def the_same_witness_for_any_number_of_threads():
    build("net", "hybrid", "--hops", 2, "--m", 6, "--fan", 5)
    good("damage", "net", "-o", "bad", "--flip", 4, "--layer", 2, "--seed", 1)
    seen = set()
    for threads in (1, 2, 5):
        hopbound("refute", "bad", "--threads", threads, "--budget", 60, "-o", "w.json")
        seen.add(read("w.json"))
    check(len(seen) == 1, why="witnesses differ")


@case
def networks_that_theorems_rule_out_are_refuted_as_the_proofs_tell():
    good("build", "random", "--pattern", "deltanet", "--d-model", 8, "--heads", 1, "--head-dim", 2, "--hops", 1, "--m", 64, "-o", "lin")
    bounds = good_json("bound", "--hops", 1, "--pattern", "deltanet", "--heads", 1, "--dim", 2, "--bits", 8, "--m", 64)["results"]
    check([b["verdict"] for b in bounds if b["id"] == "P2"] == ["impossible"], why=str(bounds))
    w = good_json("refute", "lin", "--state-bits", 8, "-o", "w.json", code=10)
    check((w["kind"], w["by"]) == ("collision", "collision") and all(t["state"] == 0 for t in w["trace"]), why=str(w["trace"]))
    check(json.loads(read("w.json"))["arithmetic"]["state_bits"] == 8)
    good("check", "w.json", "lin")
    good("build", "random", "--pattern", "linear F linear", "--d-model", 8, "--heads", 1, "--head-dim", 2, "--hops", 2,
         "--m", 39, "--fan", 11, "-o", "hyb")
    bounds = good_json("bound", "--hops", 2, "--pattern", "linear F linear", "--heads", 1, "--dim", 2, "--bits", 10, "--m", 39,
                       "--fan", 11)["results"]
    check([b["verdict"] for b in bounds if b["id"] == "P4"] == ["impossible"], why=str(bounds))
    w = good_json("refute", "hyb", "--message-bits", 10, "-o", "w.json", code=10)
    check((w["kind"], w["by"]) == ("pair", "fooling") and all(t["stream"] == 0 for t in w["trace"]), why=str(w["trace"]))
    file = json.loads(read("w.json"))
    check(len(file["differences"]) == 1 and file["prefix"] == 429 and file["arithmetic"]["cuts"] == [0, 429, 468, 469], why=str(file["arithmetic"]))
    good("check", "w.json", "hyb")


@case
def a_signal_ends_the_search_and_bad_words_are_refused():
    build("net", "full", "--hops", 3, "--m", 16, "--fan", "8,8")
    p = subprocess.Popen([harness.PROGRAM, "refute", "net", "--budget", "600", "-o", "w.json"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    check(p.returncode == 1 and out == b"" and b"stopped" in err and not os.path.exists("w.json"), why=f"{p.returncode} {err}")
    one_line(hopbound("refute", "net", "--state-bits", 9), 2, r"refute: --state-bits")
    one_line(hopbound("refute", "net", "--state-bits", 8, "--precision", 8), 2, r"one at a time")
    one_line(hopbound("refute", "net", "--by", "collision"), 1, r"refute: collision: does not apply")
    one_line(hopbound("refute", "net", "--by", "luck"), 2, r"refute: --by")
    one_line(hopbound("refute", "nowhere"), 1, r"refute: nowhere")
    one_line(hopbound("refute", "net", "--m", 4000), 1, r"refute: the task needs")
    good("damage", "net", "-o", "bad", "--flip", 30, "--layer", 1)
    one_line(hopbound("refute", "bad", "-o", "no/such/w.json", "-q"), 1, r"refute: no/such/w.json")


@case
def what_refute_writes_is_what_check_confirms():
    sizes = ["--hops", 2, "--m", 4, "--fan", 3]
    for kind, more in (("full", sizes), ("hybrid", sizes), ("linear", sizes), ("encoder", sizes), ("two-sum-full", ["--n", 12, "--mod", 8])):
        build("net", kind, *more)
        found = 0
        for seed in range(6):
            good("damage", "net", "-o", "bad", "--flip", 3, "--seed", seed)
            if hopbound("refute", "bad", "--budget", 0.3, "-o", "w.json").code != 10:
                continue
            r = hopbound("check", "w.json", "bad")
            check(r.code in (0, 30), r, f"{kind}, seed {seed}: rejected")
            found += r.code == 0
        check(found > 0, why=f"{kind}: nothing confirmed")
    one_line(hopbound("check", "w.json", "net"), 1, r"check: ")  # it is not against the network that is whole


@case
def plans_below_the_line_are_built_and_their_failure_is_shown():
    rows = good_json("ladder", "--rungs", 2, "--m", 3, "--fan", 2, "--brief", "--count", 5, "-o", "lad")["rungs"]
    shown = {(r["hops"], r["pattern"]): r["witness"] for r in rows if r.get("witness")}
    check(set(shown) == {(1, "L"), (1, "F"), (2, "L F L"), (2, "L^3"), (2, "F^2")}, why=str(shown))
    for (hops, pattern), file in shown.items():
        good("check", file)
        w = json.loads(read(file))
        check(w["prompts"][0]["right"] != w["prompts"][1]["right"] and len(w["trace"]) == 2 * hops - 1 - (pattern == "F^2"), why=file)
    full = [r for r in rows if r["kind"] == "full" and r["built"]]
    check(all(r["looked"] > 0 and r["verdict"] == "proved" for r in full) and len(full) == 2, why=str(full))
    page = read("lad/report.html").decode()
    check("Where they fail" in page and page.count(", which works") == len(shown), why="not drawn")
