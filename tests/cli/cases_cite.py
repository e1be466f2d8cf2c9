"""For theorists: both sides as numbers, a verdict as a paragraph, protocols checked, transcripts."""
import json, math, re, struct
from harness import *

LFL = ("--hops", 2, "--pattern", "L F L", "--heads", 1, "--dim", 8, "--bits", 16, "--mixer", "linear")


def bound(*args):
    return {r["id"]: r for r in good_json("bound", *args)["results"]}


@case
def both_sides_of_an_inequality_are_numbers():
    """P4 and P4' as docs/BOUNDS.md has them, from the sizes and parameters that are printed."""
    results = bound(*LFL, "--n", 40000)
    p4, parts = results["P4"], results["P4'"]
    m, n = p4["sizes"]
    V = p4["parameters"]["V"]
    check(p4["has_bits"] == n * 160 + V * 1152 + 1152 and abs(p4["needs_bits"] - n * V * math.log2(m * n)) < 1e-6 * p4["needs_bits"])
    check(p4["has_bits"] < p4["needs_bits"])
    m, n = parts["sizes"]
    z = parts["parameters"]
    check(parts["has_bits"] == (n + 1) * z["t"] * 160 + z["x"] * 1152 + 1152, why=str(parts))
    check(abs(parts["needs_bits"] - n * z["Y"] * math.log2(m * n)) < 1e-6 * parts["needs_bits"])
    t2 = results["T2"]
    check(t2["has_bits"] == 128 and abs(t2["needs_bits"] - 40000 ** 2 ** -10) < 1e-9)
    seen = set()
    for args in (("--hops", 3, "--pattern", "L F L F L"), ("--hops", 2, "--pattern", "F L F L"), ("--hops", 1, "--pattern", "L", "--n", 10**6),
                 ("--hops", 1, "--pattern", "F"), ("--hops", 3, "--pattern", "F L F L"), ("--hops", 2, "--pattern", "F")):
        for id, r in bound(*args, "--dim", 8, "--bits", 16).items():
            if r["verdict"] != "impossible" or not r["certificate"]: continue
            seen.add(id)
            check(r["has_bits"] is None and r["log10_n"] > 300 or r["has_bits"] < r["needs_bits"], why=str(r))
            has, needs = (r["certificate"][k] for k in ("has", "needs"))
            check(needs == "more than " + has or float(has.removeprefix("10^")) < float(needs.removeprefix("10^")), why=str((has, needs)))
            check(r["parameters"] == r["certificate"]["integers"], why=id)
    check(seen >= {"P2", "P4", "P4'", "P5", "P6", "P7G", "P8", "P9"}, why=str(seen))
    check("as numbers: has 121440, needs 121727.9092" in good("bound", *LFL, "--n", 40000).out)


@case
def a_verdict_is_a_paragraph_with_all_that_it_supposes():
    c = good_json("bound", *LFL, "--n", 40000, "--cite", "text")
    for piece in ("causal", "in one pass", "p-bit numbers", "MLPs and positions are free", "H = 1", "d = 8", "p = 16", "M = 160",
                  "A_0 = 1152", "n >= 18755", "m = 2679", "n_1 = 6", "t = 57", "121440 bits", "machine-checked"):
        check(piece in c["text"], why=piece)
    for h in c["hypotheses"]: check(h in c["text"], why=h)
    check(c["theorem"] == "P4'" and c["verdict"] == "impossible" and c["machine_checked"] and c["has_bits"] < c["needs_bits"])
    check(c["latex"].startswith("\\begin{theorem}[P4', machine-checked") and c["latex"].endswith("\\end{theorem}"))
    check("$A_{0}$" in c["latex"] and "$\\ge $" in c["latex"] and c["latex"].count("$") % 2 == 0)
    check(not re.search(r"(?<!\\\\)[%&#]", c["latex"]))
    check(" ".join(good("bound", *LFL, "--n", 40000, "--cite", "text").out.split()) == c["text"])
    check(good("bound", *LFL, "--n", 40000, "--cite", "latex").out.strip() == c["latex"])
    yes = good_json("bound", "--hops", 2, "--pattern", "F F F", "--heads", 4, "--dim", 64, "--n", 400, "--cite", "text")
    check(yes["verdict"] == "possible" and "training need not find such weights" in yes["text"] and yes["machine_checked"] is None)
    one_line(hopbound("bound", "--hops", 3, "--pattern", "F F F", "--dim", 4, "--n", 30, "--cite", "text"), 30, "--cite: no theorem says")
    one_line(hopbound("bound", *LFL, "--cite", "text", "--solve", "n"), 2, "--cite: not with --solve")
    one_line(hopbound("bound", *LFL, "--cite", "verse"), 2, "--cite")


@case
def protocols_that_exact_writes_are_confirmed_and_damaged_ones_rejected():
    good("exact", "--hops", 1, "--m", 3, "--state-bits", "4,5", "--protocol", "one.json", "-q", code=0)
    good("exact", "--hops", 2, "--before", 0, "--after", "0,1", "--message-bits", 3, "--protocol", "two.json", "-q")
    for name, hops in (("one.json", 1), ("two.json", 2)):
        c = good_json("check", name)
        check(c["valid"] and c["kind"] == "protocol" and f"composes {hops} function" in c["why"], why=str(c))
        whole = json.load(open(name))
        inputs = math.prod(p["inputs"] for p in whole["protocols"][-1]["players"])
        check(c["passes"] % inputs == 0 and c["passes"] >= inputs)

        def rejected(change, why):
            broken = json.loads(json.dumps(whole))
            change(broken["protocols"][0])
            json.dump(broken, open("broken.json", "w"))
            one_line(hopbound("check", "broken.json"), 1, why)
        last = len(whole["protocols"][0]["players"]) - 1
        rejected(lambda p: p["players"][last]["after"].__setitem__(slice(None), [1 - v % 2 for v in p["players"][last]["after"]]),
                 "answers wrongly")
        rejected(lambda p: p["players"][0]["after"].append(0), "after: not a list with a number for each thing")
        rejected(lambda p: p["players"][0]["after"].__setitem__(slice(None), [1 << p["after_bits"]] * len(p["players"][0]["after"])),
                 "sends more bits than it may")
        rejected(lambda p: p["players"][0].update(inputs=5), "other inputs or tokens")
        rejected(lambda p: p.update(m=64), "more than 2.24 inputs")
        rejected(lambda p: p["players"].pop(), "players: not one for each")
        rejected(lambda p: p.pop("m"), "hops, m, fan and the bits")
        if hops == 2: rejected(lambda p: p["players"][last]["hears"].pop(), "hears")
    open("none.json", "w").write('{"protocols": []}')
    one_line(hopbound("check", "none.json"), 1, "no protocol in it")
    open("cut.json", "w").write('{"protocols": [')
    one_line(hopbound("check", "cut.json"), 1, "cut.json")


@case
def a_formula_that_propagation_refutes_is_said_to_be_one():
    good("exact", "--hops", 1, "--m", 2, "--state-bits", "0,1", "--proof", "proofs", "-q")
    names = [n for n in os.listdir("proofs") if n.endswith(".drat")]
    check(len(names) == 2)
    for n in names:
        clauses = sum(line[0] not in "cp" for line in open(os.path.join("proofs", n[:-5] + ".cnf")))
        why = good_json("check", os.path.join("proofs", n))["why"]
        check(f"its {clauses} clauses are refuted by unit propagation" in why, why=why)
    good("exact", "--hops", 1, "--m", 3, "--state-bits", "4", "--proof", "more", "-q", code=0)
    why = [good_json("check", os.path.join("more", n))["why"] for n in os.listdir("more") if n.endswith(".drat")]
    check(any(re.search(r"[1-9][0-9]* clauses", w) for w in why), why=str(why))


@case
def where_exact_ends_is_said():
    check("one hop with m from 2 to 7; two hops with m 2 and fan 2 or 3" in re.sub(r"\s+", " ", good("exact", "--help").out))
    one_line(hopbound("exact", "--hops", 2, "--m", 3, "--fan", 3), 1, "exact ends at one hop with m 7")
    for args in (("--hops", 1, "--m", 7), ("--hops", 2, "--m", 2, "--fan", 3), ("--hops", 2, "--m", 3, "--fan", 2)):
        r = hopbound("exact", *args, "--state-bits", 0, "--budget", 1)
        check("inputs to list" not in r.err, r)


@case
def a_transcript_has_every_message_with_its_bits():
    good("build", "hybrid", "--hops", 2, "--m", 4, "--fan", 2, "-o", "net", "-q")
    for bits in (32, 16):
        answer = good_json("play", "net", "--count", 2, "--bits", bits, "--transcript", "said.jsonl")
        head, *lines = [json.loads(line) for line in open("said.jsonl")]
        check(head["format"] == "hopbound transcript 1" and head["bits"] == bits and head["players"] == answer["players"], why=str(head))
        starts = [i for i, line in enumerate(lines) if "instance" in line]
        check(len(starts) == 2 and len(lines[0]["prompt"]) == answer["tokens"])
        for begin, end in zip(starts, starts[1:] + [len(lines)]):
            said = lines[begin + 1:end]
            for m in said:
                check(m["bits"] == m["numbers"] * bits and len(m["packed"]) == 2 * ((m["bits"] + 7) // 8), why=str(m))
            check(sum(m["bits"] for m in said if m["kind"] == "query") == answer["query_bits"])
            edges = {}
            for m in said:
                if m["kind"] != "query": edges[m["layer"], m["kind"], m["from"], m["to"]] = edges.get((m["layer"], m["kind"], m["from"], m["to"]), 0) + m["bits"]
            check(edges == {(e["layer"], e["kind"], e["from"], e["to"]): e["bits"] for e in answer["edges"]})
        if bits == 32:
            numbers = [v for m in said for v in struct.unpack(f">{m['numbers']}f", bytes.fromhex(m["packed"]))]
            check(sum(math.isfinite(v) for v in numbers) > len(numbers) // 2 and any(v not in (0.0, 1.0) for v in numbers))
    one_line(hopbound("play", "net", "--transcript", "no/such/place.jsonl"), 1, "place.jsonl")


@case
def the_citation_is_of_this_version():
    text = open(os.path.join(DATA, "..", "..", "CITATION.cff")).read()
    version = re.search(r"^version: (.+)$", text, re.M).group(1)
    check(version in good("--version").out and re.search(r"^license: MIT$", text, re.M) and "authors:" in text, why=version)
