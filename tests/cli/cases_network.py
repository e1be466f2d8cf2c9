"""build, run, prove, mixers: a network from its construction to its proof."""
import json, os, re, struct
from harness import case, check, good, good_json, hopbound, lines_of, one_line, read, write

BUILD_KEYS = ["kind", "pattern", "layers", "d_model", "heads", "head_dim", "parameters", "dir", "n", "mlp_hidden", "task"]
RUN_KEYS = ["instances", "correct", "accuracy", "tokens_per_second", "seconds", "precision", "threads", "isa", "with_answer"]
PROVE_KEYS = ["verdict", "method", "inputs", "log10_inputs", "enumerated", "margins", "readout_margin", "why",
              "counterexample", "seconds"]
MARGIN_KEYS = {"layer", "player", "addresses", "score_gap", "wrong_mass", "clip_margin", "code_error"}


def build(name, *sizes):
    return good_json("build", "full", "-o", name, *sizes, keys=BUILD_KEYS)


@case
def a_built_network_has_one_layer_more_than_hops_and_one_head():
    for hops, sizes in ((1, ["--m", 5]), (2, []), (3, ["--m", 6, "--fan", "5,3"])):
        made = build("net", "--hops", hops, *sizes)
        check((made["kind"], made["layers"], made["heads"], made["dir"]) == ("full", hops + 1, 1, "net"), why=str(made))
        check(made["task"]["hops"] == hops and made["pattern"] == f"full^{hops + 1}", why=str(made))
        check(set(os.listdir("net")) == {"config.json", "model.safetensors"}, why=str(os.listdir("net")))
    r = good("build", "full", "-o", "net2")
    check("d_model" in r.out and "parameters" in r.out and r.err == "", r)


@case
def building_twice_gives_the_same_bytes():
    build("a")
    build("b")
    for f in ("config.json", "model.safetensors"):
        check(read(f"a/{f}") == read(f"b/{f}"), why=f)


@case
def a_built_network_is_right_on_samples_in_full_and_in_eight_bits():
    build("net", "--hops", 3, "--m", 6, "--fan", "5,3")
    for more in ([], ["--precision", 8], ["--isa", "ref"], ["--isa", "scalar"]):
        got = good_json("run", "net", "--count", 40, *more, keys=RUN_KEYS)
        check((got["instances"], got["with_answer"], got["correct"], got["accuracy"]) == (40, 40, 40, 1), why=str(got))
        check(got["precision"] == (8 if "--precision" in more else 24), why=str(got))
    check("accuracy 1" in good("run", "net", "--count", 5).out)


@case
def run_samples_what_task_samples():
    build("net")
    good("task", "--count", 20, "--seed", 4, "--format", "jsonl", "-o", "t.jsonl")
    good("run", "net", "--count", 20, "--seed", 4, "--predictions", "a.jsonl")
    good("run", "net", "--input", "t.jsonl", "--predictions", "b.jsonl")
    check(read("a.jsonl") == read("b.jsonl"))
    want = [{"index": i, "prediction": t["answer"], "answer": t["answer"], "correct": True}
            for i, t in enumerate(lines_of(read("t.jsonl").decode()))]
    check(lines_of(read("a.jsonl").decode()) == want)


@case
def predictions_do_not_depend_on_threads():
    build("net", "--hops", 2, "--m", 4, "--fan", 3)
    good("task", "--hops", 2, "--m", 4, "--fan", 3, "--count", 700, "--format", "jsonl", "-o", "t.jsonl")
    seen = set()
    for threads in (1, 2, 5, 16):
        for source in (["--input", "t.jsonl"], ["--count", 700]):
            got = good_json("run", "net", *source, "--threads", threads, "--precision", 3, "--predictions", "p")
            check(got["threads"] == threads and got["instances"] == 700, why=str(got))
            seen.add((read("p"), got["correct"]))
    check(len(seen) == 1, why="predictions differ")


@case
def answers_given_are_used_answers_missing_are_computed_and_others_only_predicted():
    build("net", "--hops", 2, "--m", 2, "--fan", 2)
    fits = [3, 0, 2, 1, 1, 0, 0, 1]
    lines = [{"tokens": fits, "answer": 1}, {"tokens": fits, "answer": 0}, {"tokens": fits}, {"tokens": fits[:5]}]
    write("in.jsonl", "\n\n".join(map(json.dumps, lines)))
    got = good_json("run", "net", "--input", "in.jsonl", "--predictions", "out.jsonl")
    check((got["instances"], got["with_answer"], got["correct"]) == (4, 3, 2), why=str(got))
    out = lines_of(read("out.jsonl").decode())
    check([o["answer"] for o in out] == [1, 0, 1, None] and [o["correct"] for o in out] == [True, False, True, None])
    check([o["index"] for o in out] == [0, 1, 2, 3] and out[0]["prediction"] == 1, why=str(out))
    check(good_json("run", "net", "--input", "-", stdin=read("in.jsonl"))["instances"] == 4)
    check(good_json("run", "net", "--input", "in.jsonl", "--count", 2)["instances"] == 2)
    empty = good_json("run", "net", "--input", "-", stdin="")
    check((empty["instances"], empty["accuracy"]) == (0, None), why=str(empty))


@case
def inputs_that_the_network_does_not_take_are_exit_1_naming_the_line():
    build("net", "--hops", 2, "--m", 2, "--fan", 2)
    good_line = json.dumps({"tokens": [3, 0, 2, 1, 1, 0, 0, 1]})
    for bad in ('{"tokens":[9999999]}', json.dumps({"tokens": [0] * 1000}), '{"tokens":[0', "{}", '{"tokens":[0],"answer":"x"}'):
        write("in.jsonl", f"{good_line}\n{bad}\n{good_line}\n")
        one_line(hopbound("run", "net", "--input", "in.jsonl", "--predictions", "p"), 1, r"run: in\.jsonl:2: ")
        check(not os.path.exists("p") and sorted(os.listdir(".")) == ["in.jsonl", "net"], why=str(os.listdir(".")))
    one_line(hopbound("run", "net", "--hops", 3), 1, r"run: ")


@case
def built_networks_are_proved():
    for sizes in (["--hops", 1, "--m", 3], ["--hops", 2, "--m", 2, "--fan", 2], ["--hops", 3, "--m", 6, "--fan", "5,3"]):
        build("net", *sizes)
        got = good_json("prove", "net", keys=PROVE_KEYS)
        check(got["verdict"] == "proved" and got["counterexample"] is None and got["why"] == "", why=str(got))
        check(got["margins"] and all(MARGIN_KEYS <= set(m) for m in got["margins"]), why=str(got))
        check(len(got["margins"]) == sizes[1] + 1, why=str(got))
        if sizes[1] == 2:
            check(got["inputs"] == 4096 and got["enumerated"] == 4096 and got["method"] == "interval+enumeration", why=str(got))
        if sizes[1] == 3:
            check(got["inputs"] is None and got["log10_inputs"] > 200 and got["method"] == "interval", why=str(got))
        check("proved" in good("prove", "net").out)


@case
def each_method_of_proof_can_be_asked_for():
    build("net", "--hops", 1, "--m", 4)
    check(good_json("prove", "net", "--method", "interval")["method"] == "interval")
    by_hand = good_json("prove", "net", "--method", "enumerate")
    check(by_hand["method"] == "enumeration" and by_hand["enumerated"] == by_hand["inputs"] == 4 ** 5, why=str(by_hand))
    check(good_json("prove", "net", "--limit", 10)["enumerated"] == 0)


def tensors_of(path):
    data = read(path)
    size = struct.unpack("<Q", data[:8])[0]
    return data, 8 + size, json.loads(data[8:8 + size])


def negate(path, name):
    """The tensor times -1: the network errs, or at least can no longer be proved."""
    data, base, header = tensors_of(path)
    start, end = (base + o for o in header[name]["data_offsets"])
    changed = bytes(b ^ 0x80 if i % 4 == 3 else b for i, b in enumerate(data[start:end]))
    write(path, data[:start] + changed + data[end:])


@case
def a_damaged_network_is_never_proved_and_its_counterexample_is_one():
    sizes = ["--hops", 2, "--m", 2, "--fan", 2]
    build("net", *sizes)
    names = [n for n in tensors_of("net/model.safetensors")[2] if n != "__metadata__"]
    refuted = harmless = 0
    for name in names:
        build("net", *sizes)
        negate("net/model.safetensors", name)
        if os.path.exists("bad.jsonl"):
            os.remove("bad.jsonl")
        r = hopbound("prove", "net", "--json", "--counterexample", "bad.jsonl")
        got = json.loads(r.out)
        wrong = good_json("run", "net", "--count", 300)["correct"] < 300
        check(r.code == {"proved": 0, "refuted": 10, "undecided": 30}[got["verdict"]], r)
        check(not (wrong and got["verdict"] == "proved"), r, f"{name} negated errs, yet is proved")
        harmless += not wrong
        if got["verdict"] == "refuted":
            refuted += 1
            found = got["counterexample"]
            check(found["answer"] != found["prediction"] and got["why"], r)
            check(good_json("run", "net", "--input", "bad.jsonl")["correct"] == 0, r, "run gets it right")
            check(good_json("task", "--check", "bad.jsonl")["right"] == 1, r)
            check(lines_of(read("bad.jsonl").decode())[0]["tokens"] == found["tokens"], r)
        else:
            check(got["counterexample"] is None and not os.path.exists("bad.jsonl"), r)
    check(refuted > 0 and harmless < len(names), why=f"{refuted} refuted, {harmless} harmless of {len(names)}")


@case
def sizes_that_the_network_cannot_take_are_a_failure():
    build("net", "--hops", 2, "--m", 2, "--fan", 2)
    one_line(hopbound("prove", "net", "--m", 1000), 1, r"prove: ")
    one_line(hopbound("prove", "net", "--fan", "2,2"), 2, r"prove: --fan")


@case
def the_ladder_is_built_proved_run_and_reported():
    got = good_json("ladder", "--rungs", 2, "--m", 3, "--fan", 2, "--count", 20, "-o", "lad", keys=["rungs"])
    main = [r for r in got["rungs"] if r["kind"] == "full"]
    check([r["hops"] for r in main] == [1, 2] and all(r["verdict"] == "proved" for r in main), why=str(main))
    others = [r for r in got["rungs"] if r["kind"] != "full"]
    known = [r for r in others if not r["built"]]  # what theorems say
    check(all(r["sizes"] and r["layers"] and r["message_bits"] == 16 and r["parameters"] is None for r in known), why=str(known))
    check(all((r["state_bits"] > 0) == (r["layers"] > r["full_layers"]) for r in known), why=str(known))
    check(all(r["verdict"] == "from_n" and r["theorem"] and r["speaks_from_n"] for r in known), why=str(known))
    check(len(known) == 7 and all(r["verdict"] == "proved" for r in others if r not in known), why=str(others))
    hybrids = [r for r in others if r["kind"].startswith("hybrid, ")]
    check(len(hybrids) == 32 and all(r["full_layers"] == r["hops"] for r in hybrids), why=str(len(hybrids)))
    check({r["kind"] for r in others if r not in known and r not in hybrids} == {"cot", "encoder", "linear"}, why=str(others))
    page = read("lad/report.html").decode()
    check("<svg" in page and "</html>" in page and not re.search(r'(src|href)="https?:', page), why="not self-contained")
    check(json.loads(read("lad/ladder.json"))["rungs"] == got["rungs"], why="ladder.json differs")
    # The page's table: as many rows as its sliders have settings, and every proof that it links is there.
    data = json.loads(re.search(r'id="map-data">(.*?)</script>', page, re.S)[1])
    check(len(data["rows"]) == 3 * len(data["linear"]) * len(data["dims"]) * len(data["bits"]) * 5, why=str(len(data["rows"])))
    proofs = re.findall(r'href="(exact/[^"]+[.]drat)"', page)
    check(len(proofs) == 11 + 4 and all(read("lad/" + p) and read("lad/" + p[:-4] + "cnf") for p in proofs), why=str(proofs))
    # Today's models, as the fixtures that they are have them.
    expected = json.loads(read(os.path.join(os.environ["HOPBOUND_TEST_DATA"], "configs/expected.json")))
    for name, file in {"Qwen3-Next 80B-A3B": "qwen3-next-80b-a3b", "Jamba v0.1": "jamba-v0.1", "xLSTM 7B": "xlstm-7b"}.items():
        model = [m for m in got["models"] if m["name"] == name][0]
        check(model["layers"] == len(expected[file]["pattern"]), why=f"{model} {expected[file]}")
    check(good_json("prove", "lad/full-2")["verdict"] == "proved")
    both = good_json("ladder", "--rungs", 2, "--brief", "--count", 2, "-o", "lad")["rungs"]
    said = {(r["hops"], r["pattern"]): (r["n"], r["verdict"], r["theorem"], r["message_bits"]) for r in both}
    for key, what in {(1, "full^2"): (37, "proved", "", 16), (1, "F"): (37, "impossible", "P5", 16),
                      (1, "L"): (37, "impossible", "P2", 16), (2, "full^3"): (4673, "proved", "", 16),
                      (2, "L F L"): (4673, "impossible", "P4", 16), (2, "L^3"): (4673, "impossible", "P2", 16)}.items():
        check(said[key] == what, why=f"{key}: {said[key]}")
    r = good("ladder", "--rungs", 1, "--m", 3, "--count", 5, "--brief", "-o", "lad", "--quiet")
    check("proved" in r.out and "lad/report.html" in r.out and r.err == "", r)
    write("file", "x")
    one_line(hopbound("ladder", "--rungs", 1, "-o", "file"), 1, r"ladder: file")
    with open("/dev/full", "wb") as full:
        one_line(hopbound("ladder", "--rungs", 1, "--m", 3, "--count", 5, "--brief", "-o", "lad", "--quiet", stdout=full), 1, r"standard output")


@case
def the_kernels_are_measured_against_the_peak():
    got = good_json("bench", "--time", "0.01", keys=["results", "isa", "peak_gflops"])
    check(got["results"] and got["peak_gflops"] > 0, why=str(got))
    for row in got["results"]:
        check({"name", "size", "gflops", "percent_of_peak"} <= set(row) and row["gflops"] > 0, why=str(row))
    check("% of peak" in good("bench", "--time", "0.01", "--isa", "scalar").out)


@case
def a_comparison_without_its_peer_says_what_to_install():
    def peer(does):
        write("peer", "#!/bin/sh\n" + does)
        os.chmod("peer", 0o755)
        return hopbound("bench", "--compare", "torch", "--time", "0.01", "--quiet", env={**os.environ, "HOPBOUND_PYTHON": "./peer"})
    one_line(peer("exit 1\n"), 1, r"bench: torch: ./peer does not answer: install the Debian packages python3-torch")
    one_line(peer("echo none\n"), 1, r"bench: torch: ./peer has no torch: install the Debian packages python3-torch")
    one_line(peer("echo ready 0\nread line\n"), 1, r"bench: torch: python ended in the middle of a step")
    one_line(peer("echo ready 0\nread line\necho words\nread line\n"), 1, r"python ended in the middle of a step")


@case
def sizes_that_a_network_was_not_made_for_are_noted_and_chance_is_said():
    good("build", "full", "--hops", 1, "--m", 8, "-o", "net", "--quiet")
    r = hopbound("run", "net", "--m", 4)
    check(r.code == 0 and re.search(r"note: made for hops 1, m 8, and run at hops 1, m 4\n$", r.err), r)
    check("by chance 1 in 4)" in r.out and good_json("run", "net", "--m", 8)["chance"] == 1 / 8, r)
    check(hopbound("run", "net", "--m", 4, "--quiet").err == "" and hopbound("run", "net", "--m", 8).err == "")
    check(good("build", "full", "-q", "-o", "net").out == "")


@case
def the_mixers_are_listed_with_their_costs():
    got = good_json("mixers", "--d-model", 32, "--heads", 2, "--head-dim", 8, "--tokens", 10)
    full = [m for m in got["mixers"] if m["name"] == "full"][0]
    check({"name", "equation", "recurrent", "parameters", "state_floats"} <= set(full), why=str(full))
    check(full["parameters"] == 4 * 32 * 16 and full["state_floats"] == 2 * 10 * 16 and not full["recurrent"], why=str(full))
    check("full\n" in good("mixers", "full").out and "\nwindow " in good("mixers").out)
