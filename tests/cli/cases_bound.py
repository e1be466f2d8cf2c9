"""bound: the headline numbers, checked again in Python; what is refused; what is printed."""
import os, re
from math import log, log2
from harness import case, check, good, good_json, hopbound, one_line

IDS = ["T1", "T2", "T5", "T6", "P1", "P2", "P3", "P4", "P4'", "P5", "P6", "P7", "P7G", "P8", "P9", "P10"]
RESULT_KEYS = {"id", "verdict", "speaks_from_n", "log10_n", "needs", "has", "why", "hypotheses", "sizes", "x", "s", "machine_checked", "certificate"}
SMALL = ["--heads", 1, "--dim", 8, "--bits", 16, "--mixer", "linear"]


def bound(*args):
    value = good_json("bound", *args, keys=["hops", "pattern", "results", "accuracy_ceiling"])
    check([r["id"] for r in value["results"]] == IDS, why=str(value))
    for r in value["results"]:
        check(RESULT_KEYS <= set(r), why=str(r))
        check(r["verdict"] in ("impossible", "possible", "silent") and r["why"], why=str(r))
    return value, {r["id"]: r for r in value["results"]}


def p6_holds(sizes, x, s, states, reply):
    """The conditions of P6, written down again: exact integers but for the logarithms."""
    m, fan, hops = int(sizes[0]), [1] + [int(v) for v in sizes[1:]], len(sizes)
    x, s = [int(v) for v in x], [int(x[0])] + [int(v) for v in s]
    tables = [m]
    for v in fan[1:]:
        tables.append(tables[-1] * v)
    queries = tables[-1] // m
    joint, each = 0, states[0]  # d_l, g_l
    for l in range(1, hops):
        table, ratio = tables[l - 1], (s[l] - 1) / tables[l - 1]
        entropy = -(ratio * log2(ratio) + (1 - ratio) * log(1 - ratio) / log(2))
        if table * entropy + x[l] * fan[l - 1] * s[l - 1] * log2(ratio) > -x[l] * (joint + each) - 1:
            return False
        asked = 0
        for i in range(-1, l):
            product = 1 if i < 1 else tables[i - 1]
            for j in range(i, l):
                product *= queries if j == -1 else x[j]
            asked += product
        if l == 1 < hops - 1:
            joint, each = states[1], each + reply * (x[1] * table + asked)
            continue
        replies = (x[l] * l * (hops - l) * table * reply if l < hops - 1
                   else x[l] * ((hops - 2) * table * reply + states[-1]))
        fixed = sum(states[:l + 1]) if l < hops - 1 else sum(states[:l])
        joint, each = (hops - l) * each + x[l] * joint + 1 + fixed + replies + reply * (hops - l) * asked, 0
    return x[0] <= m and joint < fan[-1] * s[-1] * log2(tables[-1])


@case
def two_hops_with_one_full_layer_are_impossible_from_38215_on():
    value, r = bound("--hops", 2, "--pattern", "L F L", *SMALL)
    check(value["pattern"] == "linear full linear", why=str(value))
    check(r["P4"]["speaks_from_n"] == 38215 and r["P4"]["sizes"] == [371, 102], why=str(r["P4"]))
    m, fan = r["P4"]["sizes"]
    kept = -(-m // 2 ** (1152 / m))
    check(fan * kept * log2(m * fan) > fan * 160 + kept * 1152 + 1152 and m * (1 + fan) + 2 == 38215, why=str(r["P4"]))
    check(r["T2"]["speaks_from_n"] == "10^2157.8" and abs(r["T2"]["log10_n"] - 2157.783) < 0.001, why=str(r["T2"]))
    check(r["P6"]["log10_n"] < 5.21 and p6_holds(r["P6"]["sizes"], r["P6"]["x"], r["P6"]["s"], [1152] * 2, 160), why=str(r["P6"]))
    for n, verdict in ((38214, "silent"), (38215, "impossible")):
        check(bound("--hops", 2, "--pattern", "L F L", *SMALL, "--n", n)[1]["P4"]["verdict"] == verdict)
    for sizes, verdict in ((["--m", 371, "--fan", 102], "impossible"), (["--m", 371, "--fan", 101], "silent")):
        check(bound("--hops", 2, "--pattern", "L F L", *SMALL, *sizes)[1]["P4"]["verdict"] == verdict)


@case
def three_hops_with_two_full_layers_are_impossible_below_10_to_the_21_4():
    value, r = bound("--hops", 3, "--pattern", "L F L F L", *SMALL)
    p6 = r["P6"]
    check(p6["verdict"] == "impossible" and p6["log10_n"] <= 21.32 and p6["speaks_from_n"].startswith("10^21."), why=str(p6))
    check(len(p6["sizes"]) == len(p6["x"]) == 3 and len(p6["s"]) == 2, why=str(p6))
    check(p6_holds(p6["sizes"], p6["x"], p6["s"], [1152] * 3, 160), why=str(p6))
    check(not p6_holds(p6["sizes"], p6["x"], p6["s"], [1152] * 3, 170), why="the check is blind")
    check(abs(r["T2"]["log10_n"] - 34524.528) < 0.001, why=str(r["T2"]))
    check(r["P4"]["verdict"] == "silent" and r["P4"]["sizes"] is None, why=str(r["P4"]))
    again, _ = bound("--hops", 3, "--pattern", "L F L F L", *SMALL, "--threads", 3, "--seed", 9)
    check(again == value, why="not the same answer twice")


@case
def real_widths_and_more_hops():
    wide = ["--heads", 8, "--dim", 64, "--bits", 16, "--mixer", "linear"]
    check(bound("--hops", 2, "--pattern", "L F L", *wide)[1]["P6"]["log10_n"] < 9.28)
    check(bound("--hops", 3, "--pattern", "L F L F L", *wide)[1]["P6"]["log10_n"] < 40.01)
    check(bound("--hops", 4, "--pattern", "(L F)^3 L", *SMALL)[1]["P6"]["log10_n"] < 57.65)
    value, r = bound("--hops", 64, "--pattern", "L F L", "--mixer", "linear")
    check(r["T2"]["speaks_from_n"].startswith("10^("), why=str(r["T2"]))
    value, r = bound("--hops", 13, "--pattern", "(gdn^3 full)^12", "--n", 262144)
    check(r["P6"]["verdict"] == "silent" and "up to" in r["P6"]["why"], why=str(r["P6"]))
    check(r["T2"]["verdict"] == "silent" and "silent at n = 262144" in r["T2"]["why"], why=str(r["T2"]))


@case
def two_accumulators_double_a_reply():
    states = ["--hops", 2, "--pattern", "L F L", "--bits", 16, "--state-bits", 208]
    twice = bound(*states, "--dim", 17, "--accumulators", 2)[1]
    wide = bound(*states, "--dim", 36)[1]  # 36 + 2 = 2 (17 + 2)
    for which in ("P4", "P4'", "P6"):
        check(twice[which]["certificate"] == wide[which]["certificate"] and twice[which]["machine_checked"] is True, why=which)
    check(bound(*states, "--dim", 17, "--accumulators", 1) == bound(*states, "--dim", 17), why="1 is the default")
    alone = ["--hops", 1, "--pattern", "F", "--dim", 9, "--bits", 16]
    check(bound(*alone, "--accumulators", 2)[1]["P5"]["has"] == "M = 2 H(d+2)p = 352 bits")
    value = good_json("bound", *alone, "--accumulators", 2, "--m", 64, "--solve", "bits", keys=["impossible_up_to"])
    check(value["impossible_up_to"] == good_json("bound", *alone, "--m", 64, "--solve", "bits", keys=["impossible_up_to"])["impossible_up_to"] // 2, why=str(value))


@case
def what_is_possible_is_what_is_built():
    for kind, pattern in (("full", "F^3"), ("hybrid", "L F^2")):
        made = good_json("build", kind, "--hops", 2, "--m", 9, "--fan", 5, "-o", kind)
        dim, width = made["head_dim"], made["d_model"]
        for d, w, lacks in ((dim, width, None), (dim - 1, width, "head dimension"), (dim, width - 1, "residual width")):
            p1 = bound("--pattern", pattern, "--hops", 2, "--m", 9, "--fan", 5, "--dim", d, "--d-model", w)[1]["P1"]
            check(p1["verdict"] == ("silent" if lacks else "possible"), why=f"{kind} {d} {w}: {p1}")
            check(not lacks or "short of " + lacks in p1["why"], why=str(p1))
            check([h["text"].split(" >= ")[0] for h in p1["hypotheses"] if not h["met"]] == ([lacks] if lacks else []), why=str(p1))
    p1 = bound("--pattern", "F^3", "--hops", 2, "--m", 9, "--fan", 5, "--dim", dim)[1]["P1"]
    check(p1["verdict"] == "silent" and "residual width" in p1["why"], why="the width is heads times dim")
    check(bound("--hops", 2, "--pattern", "F^3", "--bits", 8, "--n", 1000)[1]["P1"]["verdict"] == "silent", why="8 bits")
    check("up to n = " in bound("--hops", 2, "--pattern", "F^3", "--dim", 16)[1]["P1"]["why"])


@case
def hops_auto_says_what_is_possible_what_is_not_and_what_lies_between():
    value, _ = bound("--hops", "auto", "--pattern", "(gdn^3 full)^2", "--heads", 4, "--n", 100000)
    check(value["reach"]["able"] == 2 and value["reach"]["unable"] is None and value["reach"]["able_by"] == "P1", why=str(value["reach"]))
    value, r = bound("--hops", "auto", "--pattern", "L F L", *SMALL, "--n", 40000)
    check(value["reach"]["able"] == 0 and value["reach"]["unable"] == 2 and value["reach"]["unable_by"] == "P4'", why=str(value["reach"]))
    check(value["hops"] == 2 and r["P4"]["verdict"] == "impossible", why=str(value["hops"]))
    text = good("bound", "--hops", "auto", "--pattern", "L F L", *SMALL, "--n", 40000).out
    check(text.startswith("At 40000 tokens no hop is proved possible, 1 is open, 2 hops are impossible (P4').\n"), why=text)
    check("  posed       14 hops at most fit the length" in text and "between" not in text.split("\n\n")[0], why=text)
    value, _ = bound("--hops", "auto", "--pattern", "L F L", "--mixer", "linear", "--dim", 64)
    check(value["reach"]["able"] == 1 and value["reach"]["unable"] == 2 and value["reach"]["between"] == [], why=str(value["reach"]))
    value, _ = bound("--hops", "auto", "--pattern", "L F L", *SMALL, "--n", 40000)
    check(value["reach"]["between"] == [1, 1], why=str(value["reach"]))
    value, _ = bound("--hops", "auto", "--pattern", "W F", "--window", 1, "--n", 100)
    check(value["reach"]["able"] == 0, why="a window of one token carries nothing")
    value, _ = bound("--hops", "auto", "--pattern", "L F", "--n", 3)
    check(value["reach"]["able"] == 0 and "fits" in value["reach"]["why_able"], why=str(value["reach"]))


@case
def without_full_layers_there_is_an_accuracy_ceiling_and_a_curve():
    value, r = bound("--hops", 2, "--pattern", "L^2", "--dim", 8, "--n", 1000, "--curve")
    check(abs(value["accuracy_ceiling"] - 0.9183526966826385) < 1e-14, why=str(value["accuracy_ceiling"]))
    check(r["P2"]["speaks_from_n"] == 894 and r["P2"]["verdict"] == "impossible" and r["P3"]["verdict"] == "impossible", why=str(r["P2"]))
    curve = value["curve"]
    check(all(set(c) == {"state_bits", "accuracy_ceiling"} for c in curve) and len(curve) > 10, why=str(curve))
    check(all(a["accuracy_ceiling"] < b["accuracy_ceiling"] for a, b in zip(curve, curve[1:])), why=str(curve))
    check(curve[0]["state_bits"] == 0 and curve[-1]["accuracy_ceiling"] == 1, why=str(curve))
    check(bound("--pattern", "L F", "--n", 1000)[0]["accuracy_ceiling"] is None)
    check(bound("--pattern", "L")[0]["accuracy_ceiling"] is None)
    check(bound("--pattern", "L", "--n", 7)[0]["accuracy_ceiling"] is None, why="two hops take 8 tokens")


@case
def states_come_from_the_mixers_or_from_the_option():
    _, r = bound("--pattern", "L", "--mixer", "linear", "--dim", 8, "--bits", 16, "--n", 100)
    check("Q = 1152 " in r["P2"]["has"], why=str(r["P2"]))  # 64 + 8 numbers: the normaliser counts
    for mixer in ("mamba", "mamba2", "rwkv7", "gdn", "window"):
        check("Q = 0 " not in bound("--pattern", mixer, "--n", 100)[1]["P2"]["has"])
    _, r = bound("--pattern", "L^3", "--state-bits", 77, "--n", 100)
    check("Q = 231 " in r["P2"]["has"], why=str(r["P2"]))
    _, r = bound("--pattern", "W", "--window", 3, "--heads", 2, "--dim", 4, "--bits", 8, "--n", 100)
    check("Q = 256 " in r["P2"]["has"], why=str(r["P2"]))  # 2 rows of a key and a value of 8 numbers: the third is new
    _, r = bound("--hops", 1, "--pattern", "W F", "--window", 1, "--n", 100000000)
    check(r["P1"]["verdict"] == "silent" and r["P5"]["verdict"] == "impossible", why="a window of one token carries nothing")
    for window, verdict in ((1, "silent"), (2, "possible")):
        check(bound("--hops", 1, "--pattern", "W F", "--window", window, "--n", 100)[1]["P1"]["verdict"] == verdict)
    _, r = bound("--pattern", "S", "--block", 4, "--n", 1024)
    check(r["T5"]["applies"] and r["T5"]["verdict"] == "silent" and "= 40 " in r["T5"]["needs"], why=str(r["T5"]))
    check(all(v["verdict"] == "silent" for v in r.values()), why="sparse layers are not covered")


@case
def a_linear_layer_without_state_is_none():
    for hops in (1, 2):
        value, idle = bound("--hops", hops, "--pattern", "L F", "--state-bits", 0, "--n", 100000)
        check(value["linear_layers"] == 0, why=str(value))
        check(idle == bound("--hops", hops, "--pattern", "F", "--n", 100000)[1], why=str(idle))


@case
def what_is_short_is_what_is_named():
    starved = ["--pattern", "L F", "--state-bits", 1, "--n", 100]
    _, r = bound("--hops", 1, *starved)
    check("short of a linear state of >= 7 numbers (here 0)" in r["P1"]["why"] and "dimension" not in r["P1"]["why"], why=str(r["P1"]))
    reach = bound("--hops", "auto", *starved)[0]["reach"]
    check("short of a linear state of >= 7" in reach["why_able"] and "dimension" not in reach["why_able"], why=str(reach))
    # lightning's values pass an activation: a bit of the code takes two numbers
    for mixer, verdict in (("gla", "possible"), ("lightning", "silent")):
        args = ["--hops", 1, "--pattern", "L F", "--mixer", mixer, "--dim", 13, "--d-model", 99, "--n", 1000]
        check(bound(*args)[1]["P1"]["verdict"] == verdict, why=mixer)
    reach = bound("--hops", "auto", "--pattern", "F^4", "--dim", 30, "--n", 1000)[0]["reach"]
    check(reach["able"] == 0 and reach["able_by_layers"] == 3 and "residual width >= " in reach["why_able"], why=str(reach))
    reach = bound("--hops", "auto", "--pattern", "F^4", "--dim", 30, "--d-model", 60, "--n", 1000)[0]["reach"]
    check(reach["able"] == 3 and reach["needs_width"] <= 60, why=str(reach))


@case
def auto_speaks_only_of_hops_that_fit_the_length():
    for pattern in ("F^5", "F", "L"):
        reach = bound("--hops", "auto", "--pattern", pattern, "--n", 3)[0]["reach"]
        check("no task fits 3 tokens" in reach["why_able"] and reach["between"] == [], why=str(reach))
    value, _ = bound("--hops", "auto", "--pattern", "F^2", "--n", 20)
    check(value["reach"]["able"] == 1 and value["reach"]["between"] == [2, 3] and value["hops"] == 2, why=str(value["reach"]))
    value, r = bound("--hops", "auto", "--pattern", "F^5", "--n", 9)
    check(value["reach"]["between"] == [] and value["hops"] == 2 and r["P1"]["verdict"] == "possible", why=str(value["reach"]))
    check(bound("--hops", "auto", "--pattern", "F^2 S")[0]["reach"]["between"] == [2, None])
    reach = bound("--hops", "auto", "--pattern", "L^3", "--mixer", "linear", "--n", 20)[0]["reach"]
    check((reach["able"], reach["able_by"], reach["able_by_layers"]) == (2, "P10", 2), why=str(reach))
    good("build", "linear", "--hops", 2, "--m", 2, "--fan", 2, "-o", "tables")  # three linear layers, and it is right
    check(good_json("prove", "tables")["verdict"] == "proved")


@case
def p6_speaks_at_the_sizes_that_it_prints():
    for pattern, widths in (("L F L", ["--dim", 8, "--bits", 8, "--state-bits", 5]), ("L F L F L", SMALL[2:])):
        hops = 1 + pattern.count("F")
        m, *fan = bound("--hops", hops, "--pattern", pattern, *widths)[1]["P6"]["sizes"]
        sizes = ["--m", m, "--fan", ",".join(map(str, fan))]
        p6 = bound("--hops", hops, "--pattern", pattern, *widths, *sizes)[1]["P6"]
        check(p6["verdict"] == "impossible" and p6["sizes"] == [m, *fan], why=str(p6))
    p6 = bound("--hops", 2, "--pattern", "L F L", "--dim", 8, "--bits", 8, "--state-bits", 5, "--m", 50, "--fan", 3)[1]["P6"]
    check(p6["verdict"] == "silent" and "the search found no x, s at these sizes" in p6["why"], why=str(p6))


@case
def ceilings_are_rounded_up_and_the_curve_has_all_its_rows():
    args = ["bound", "--hops", 1, "--pattern", "L", "--state-bits", 10 ** 18, "--n", 10 ** 18, "--curve"]
    curve = good_json(*args, keys=["curve"])["curve"]
    check(len(curve) == 21 and curve[-1]["accuracy_ceiling"] == 1 and curve[-1]["state_bits"] > 2 ** 64, why=str(curve))
    rows = [line.split() for line in good(*args).out.splitlines()[1:] if line.split()[:1] and line.split()[0].isdigit()]
    check(len(rows) == 21 and rows[0][1] == "1.00001e-18", why=str(rows))
    for row, exact in zip(rows, curve):
        check(exact["accuracy_ceiling"] <= float(row[1]) <= exact["accuracy_ceiling"] * 1.0001, why=str(row))
    huge = ["--hops", 2, "--pattern", "L", "--m", 10 ** 18, "--fan", 10 ** 18, "--curve"]
    one_line(hopbound("bound", *huge), 2, r"bound: --curve: the last function has 2\^63 entries or more")


@case
def one_is_one_layer():
    for args in (["--hops", 1, "--pattern", "L F", "--n", 100], ["--hops", 2, "--pattern", "L F", "--n", 100],
                 ["--hops", "auto", "--pattern", "L F", "--state-bits", 1, "--n", 4], ["--hops", "auto", "--pattern", "F"]):
        text = good("bound", *args).out
        for wrong in (" 1 full layers", " 1 linear layers", "1 hops", "here are 1)", " 1 layers"):
            check(wrong not in text, why=text)


@case
def the_answer_for_people_fits_a_screen():
    for pattern in ("F", "L", "L F", "L F L", "F^3", "S", "(gdn^3 full)^12"):
        lines = good("bound", "--hops", 3, "--pattern", pattern, "--n", 4096).out.splitlines()
        check(lines.index(next(x for x in lines if x.startswith("Symbols"))) <= 40 and len(lines) <= 60, why="\n".join(lines))
        check(sum("do not apply" in line for line in lines) == 1, why="\n".join(lines))
    text = good("bound", "--hops", 3, "--pattern", "L F L F L", *SMALL).out
    lines = text.splitlines()
    check(len(lines) <= 44 and max(map(len, lines)) <= 140, why=text)
    text = text.split("why\n", 1)[1]
    check(text.index("P8") < text.index("P6") < text.index("T2  ") < text.index("do not apply"), why=text)


WRONG = [
    (["--hops", "0"], r"--hops: 0 is outside 1\.\.64"),
    (["--hops", "65"], r"--hops: 65 is outside 1\.\.64"),
    (["--hops", "-1"], r"--hops: -1 is outside"),
    (["--hops", "two"], r'--hops: "two" is not an integer, nor auto'),
    (["--hops", "2x"], r"--hops: .* not an integer"),
    (["--n", "0"], r"--n: 0 is outside"),
    (["--n", "1" + "0" * 30], r"--n: 10+ is outside"),
    (["--m", "4"], r"--fan: 0 numbers where 2 hops need 1"),
    (["--fan", "4"], r"--fan: needs --m"),
    (["--m", "4", "--fan", "2,2"], r"--fan: 2 numbers where 2 hops need 1"),
    (["--m", "1", "--fan", "2"], r"--m: 1 is outside"),
    (["--m", "4", "--fan", "1"], r"--fan: 1 is outside"),
    (["--n", "9", "--m", "4", "--fan", "2"], r"--n: a length or sizes"),
    (["--hops", "auto", "--m", "4"], r"--m: --hops auto takes a length"),
    (["--hops", "1", "--m", "2", "--fan", "2"], r"--fan: one hop has one function"),
    (["--state-bits", "-1"], r"--state-bits: -1 is outside"),
    (["--bits", "0"], r"--bits: 0 is outside"),
    (["--heads", "0"], r"--heads: 0 is outside"),
    (["--dim", "0"], r"--dim: 0 is outside"),
    (["--mixer", "apple"], r"--mixer: apple: unknown mixer"),
    (["--mixer", "full"], r"--mixer: full: is not a linear mixer"),
    (["--curve"], r"--curve: the pattern has layers that are not linear"),
]


@case
def wrong_questions_are_one_line():
    for args, pattern in WRONG:
        one_line(hopbound("bound", "--pattern", "L F", *args), 2, "bound: " + pattern)
    one_line(hopbound("bound"), 2, r"bound: --pattern: missing")
    one_line(hopbound("bound", "--pattern", "L", "--curve"), 2, r"bound: --curve: needs a length")
    for bad in ("L F)", "", "(L", "L^0", "Q", "L^99999999999", "apple F", "L^"):
        one_line(hopbound("bound", "--pattern", bad), 2, r"bound: --pattern: ")


@case
def separate_finds_one_length_where_both_halves_speak():
    got = good_json("separate", "--hops", 2, keys=["n", "m", "fan", "dim", "message_bits", "state_bits", "rows"])
    check((got["n"], got["m"], got["fan"], got["dim"]) == (4673, 173, [26], 17), why=str(got))
    rows = {r["pattern"]: (r["verdict"], r["theorem"]) for r in got["rows"]}
    check(rows["F^3"] == rows["L F^2"] == ("possible", "P1"), why=str(rows))
    check(rows["L F L"] == ("impossible", "P4") and rows["L^3"] == ("impossible", "P2"), why=str(rows))
    one = good_json("separate", "--hops", 1)
    check(one["n"] == 37 and [r["verdict"] for r in one["rows"]] == ["possible"] * 2 + ["impossible"] * 3, why=str(one))
    # what is called possible is built and proved at these very sizes; what is called impossible is so for `bound`, too
    good("build", "hybrid", "--hops", 2, "--m", 173, "--fan", 26, "-o", "net", "--quiet")
    check(good_json("prove", "net", "--message-bits", 16)["verdict"] == "proved")
    all_of_it = good_json("bound", "--hops", 2, "--pattern", "L F L", "--heads", 1, "--dim", 17, "--bits", 16,
                          "--state-bits", 208, "--m", 173, "--fan", 26)["results"]
    check(any(r["id"] == "P4" and r["verdict"] == "impossible" for r in all_of_it), why=str(all_of_it))
    check(good_json("separate", "--hops", 2, "--bits", 13)["n"] == 2954)
    check(got["d_model"] == good_json("build", "full", "--hops", 2, "--m", 173, "--fan", 26, "-o", "full")["d_model"])
    one_line(hopbound("separate", "--table", "--bits", 20), 2, r"--table: has its own")
    table = good_json("separate", "--hops", 1, "--table")["table"]
    check(len(table) == 25 and all(x["n"] for x in table), why=str(table))
    check(hopbound("separate", "--hops", 5).code == 30)
    none = hopbound("separate", "--hops", 5, "--table")
    check(none.code == 30 and "none" in none.out, why=none.out)
    one_line(hopbound("separate", "--bits", 9), 2, r"--bits: 9 is outside")


def has_certificates(got):
    """Every row that `separate` calls impossible: `bound` has a certificate at its sizes, and `check` accepts it."""
    sizes = ["--m", got["m"], *(["--fan", ",".join(map(str, got["fan"]))] if got["fan"] else [])]
    rows = [r for r in got["rows"] if r["verdict"] == "impossible"]
    check(rows and all(r["machine_checked"] is True for r in rows), why=str(got))
    for r in rows:
        good("bound", "--hops", got["hops"], "--pattern", r["pattern"], "--heads", 1, "--dim", got["dim"], "--bits", got["bits"],
             "--state-bits", got["state_bits"], *sizes, "--certificate", "row.cert")
        said = good_json("check", "row.cert")
        check(said["valid"] and said["certificates"][0]["by"] == r["theorem"], why=f"{got}: {said}")


@case
def every_impossible_row_of_every_cell_of_the_table_has_a_certificate():
    for hops in (1, 2, 3) if os.environ.get("HOPBOUND_LONG", "0") not in ("", "0") else (1, 2):
        table = good_json("separate", "--hops", hops, "--table")["table"]
        check(all(c["machine_checked"] is (None if c["n"] is None else True) for c in table), why=str(table))
        found = [c for c in table if c["n"]]
        for c in found if hops == 1 else found[::7]:
            got = good_json("separate", "--hops", hops, "--bits", c["bits"], "--linear", c["linear"])
            check(got["n"] == c["n"], why=f"{c} {got}")
            has_certificates(got)
    text = good("separate", "--hops", 1, "--table").out
    check(text.count("+") == 26 and "+: what is impossible there is machine-checked" in text, why=text)


@case
def a_mixer_with_a_larger_state_has_its_own_length():
    for mixer, n in {"deltanet": 4673, "rglru": 5102, "mlstm": 5552, "lightning": 12602, "based": 21296, "rwkv7": 28460}.items():
        got = good_json("separate", "--hops", 2, "--mixer", mixer)
        check((got["n"], got["mixer"]) == (n, mixer), why=str(got))
        verdicts = [r["verdict"] for r in got["rows"]]
        check(verdicts[:2] == ["possible"] * 2 and verdicts[3:] == ["impossible"] * 2, why=str(got["rows"]))
        # its state is the one of the network that `build` makes at these sizes
        m, fan, p, S, M = got["m"], got["fan"][0], 16, got["state_bits"], got["message_bits"]
        good("build", "hybrid", "--mixer", mixer, "--hops", 2, "--m", m, "--fan", fan, "-o", "net", "--quiet")
        check(good_json("audit", "net", "--plan-only")["linear"]["recurrent_elems"] * p == S, why=str(got))
        if got["rows"][3]["theorem"] == "P4":  # once more, by its inequality
            v = -(-m // 2 ** (S / m))
            check(any(fan * V * log2(m * fan) > fan * M + V * S + S for V in (1, v)), why=str(got))
    for bad, why in (("full", "is not a linear mixer"), ("apple", "unknown mixer")):
        one_line(hopbound("separate", "--mixer", bad), 2, rf"separate: --mixer: {bad}: {why}")


@case
def plans_are_the_same_for_any_threads():
    for args in (["--hops", 3, "--n", "1e9"], ["--hops", 4, "--n", "128k", "--layers", 12, "--mixer", "mamba2"]):
        one, *others = [hopbound("plan", *args, "--json", "--threads", threads) for threads in (1, 2, 5)]
        check(one.code == 0 and all(o.out == one.out for o in others), one, "threads change a plan")


@case
def plans_are_ranked_and_the_next_cheaper_one_fails_for_a_reason():
    p = good_json("plan", "--hops", "8", "--n", "128k", keys=("plans", "hops", "n"))
    plans = p["plans"]
    # with every number of full layers below eight the fewest linear ones whose states hold the first tables
    held = {x["full_layers"]: x["pattern"] for x in plans if x["by"] == "P10"}
    check(p["n"] == 131072 and list(held) == list(range(8)) and held[3] == "gdn^13 full^3" and held[0] == "gdn^109", why=str(plans))
    check([x["verdict"] for x in plans].count("possible") == 8 + 3, why=str(plans))
    best = next(x for x in plans if x["by"] == "P1")
    check(best["pattern"] == "gdn full^8" and best["kv_bytes"] == 8 * 2 * 2048 * 131072 * 2 and best["hops_proved"] == 8)
    costs = [x["kv_bytes"] + x["state_bytes"] for x in plans]
    check(costs == sorted(costs))
    long = good("bound", "--hops", "auto", "--pattern", "gdn^48", "--heads", "16", "--dim", "128", "--n", "1M").out
    check("too small for those of this length" in " ".join(long.split()) and "which is known of gdn" not in long, why=long)
    text = good("plan", "--hops", "8", "--n", "128k").out
    check(text.startswith("Cheapest plan for 8 hops at 131072 tokens: gdn^109") and "next cheaper, gdn, is open" in text)
    check("before the first or second (P1); only 0 hops are served" in text and "hold their tables (P10);" in text, why=text)
    check("Where:" not in good("plan", "--hops", "1", "--n", "4k").out, why="one hop: a linear layer may stand anywhere")
    retnet = good_json("plan", "--hops", "8", "--n", "128k", "--mixer", "retnet")["plans"]  # whose states nobody reads as tables
    check(next(x for x in retnet if x["verdict"] == "possible")["pattern"] == "retnet full^8", why=str(retnet))
    both = good_json("plan", "--hops", "12", "--n", "128k", "--layers", "48", "--full", "6,12")["plans"]
    check({x["pattern"]: (x["verdict"], x["hops_proved"]) for x in both} ==
          {"(gdn^7 full)^6": ("possible", 16), "gdn^42 full^6": ("possible", 16), "(gdn^3 full)^12": ("possible", 16),
           "full^12 gdn^36": ("open", 11)}, why=str(both))
    one_line(hopbound("plan", "--hops", "2"), 2, r"--n: missing")
    for more, why in ((["full"], "full: is not a linear mixer"), (["apple"], "apple: unknown mixer"),
                      (["gdn", "--key-heads", "3"], "gdn: 16 heads are no multiple of 3 key heads")):
        one_line(hopbound("plan", "--hops", "2", "--n", "4k", "--mixer", *more), 2, rf"plan: --mixer: {why}")
    one_line(hopbound("plan", "--hops", "2", "--n", "4k", "--kv-heads", "3"), 2, r"--kv-heads: 16 heads are no multiple of 3")
    one_line(hopbound("plan", "--hops", "2", "--n", "4k", "--layers", "4", "--full", "5"), 2, r"--full: 5 of 4 layers")


@case
def the_value_at_which_a_verdict_changes_is_where_it_changes():
    def verdicts(*args):
        return {r["verdict"] for r in good_json("bound", *args)["results"]}
    small = ["--hops", "2", "--pattern", "L F L", "--bits", "16", "--n", "8k"]
    state = good_json("bound", *small, "--dim", "17", "--solve", "state")["impossible_up_to"]
    check("impossible" in verdicts(*small, "--dim", "17", "--state-bits", str(state)))
    check("impossible" not in verdicts(*small, "--dim", "17", "--state-bits", str(state + 1)))
    wide = ["--hops", "2", "--pattern", "L F F", "--d-model", "200", "--n", "8k"]
    for what in ("dim", "bits"):
        least = good_json("bound", *wide, "--solve", what)["possible_from"]
        check("possible" in verdicts(*wide, "--" + what, str(least)) and "possible" not in verdicts(*wide, "--" + what, str(least - 1)))
    length = good_json("bound", "--hops", "3", "--pattern", "L F^3", "--dim", "40", "--d-model", "200", "--solve", "n")["possible_up_to"]
    long = ["--hops", "3", "--pattern", "L F^3", "--dim", "40", "--d-model", "200", "--n"]
    check("possible" in verdicts(*long, str(length)) and "possible" not in verdicts(*long, str(length + 1)), why=str(length))
    check(good_json("bound", "--hops", "8", "--pattern", "(gdn^3 F)^12", "--heads", "16", "--dim", "128", "--n", "128k",
                    "--solve", "full")["possible_from"] == 1)
    one_line(hopbound("bound", "--pattern", "F", "--solve", "n", "--n", "5"), 2, r"--solve: n is what is looked for")
    one_line(hopbound("bound", "--pattern", "F", "--solve", "dim"), 2, r"--solve: needs a length")
    one_line(hopbound("bound", "--pattern", "F", "--hops", "auto", "--solve", "n"), 2, r"--solve: needs a number of --hops")


@case
def states_are_counted_as_long_as_they_hold_the_tables():
    # what `build mixed` builds and `prove` proves, `bound` calls possible at the same sizes and widths
    built = good_json("build", "mixed", "--pattern", "L F L", "--hops", "2", "--m", "6", "--fan", "4", "-o", "net")
    check(good_json("prove", "net")["verdict"] == "proved" and built["pattern"] == "linear full linear")
    sizes = ["--hops", "2", "--m", "6", "--fan", "4", "--dim", "24"]
    def p10(*args):
        return next(r for r in good_json("bound", *sizes, *args)["results"] if r["id"] == "P10")
    check(p10("--pattern", "linear F linear", "--d-model", str(built["d_model"]))["verdict"] == "possible")
    check(p10("--pattern", "linear F linear", "--d-model", str(built["d_model"] - 1))["verdict"] == "silent")
    check(p10("--pattern", "linear F", "--d-model", "1000")["verdict"] == "silent")
    check(p10("--pattern", "linear F linear", "--d-model", "1000", "--bits", "16")["verdict"] == "silent")
    check(not p10("--pattern", "gla F gla", "--d-model", "1000")["applies"])
    check(p10("--pattern", "mamba2 F mamba2", "--d-model", "1000")["verdict"] == "possible")
    check(p10("--pattern", "gdn F gdn", "--d-model", "1000")["verdict"] == "possible")
    check(p10("--pattern", "gdn F gdn", "--d-model", "1000", "--bits", "16")["verdict"] == "silent")
    check("times the bits that P2 demands" in p10("--pattern", "linear^3", "--d-model", "1000")["why"])
    reach = good_json("bound", "--hops", "auto", "--pattern", "linear^4", "--dim", "64", "--d-model", "400", "--n", "60")["reach"]
    check((reach["able"], reach["able_by"]) == (3, "P10"), why=str(reach))
    # a real shape: what is not known of its states is not claimed, and from which n on they cannot help is said
    deep = good_json("bound", "--hops", "auto", "--pattern", "gdn^48", "--heads", "16", "--dim", "128", "--n", "32768")["reach"]
    n = deep["tables_outgrow_states_at"] - 2
    check(deep["able"] == 14 == deep["posed"] and deep["able_by"] == "P10" and n > 10**7 > deep["tables_held_up_to"] > 32768, why=str(deep))
    text = good("bound", "--hops", "auto", "--pattern", "gdn^48", "--heads", "16", "--dim", "128", "--n", "32768").out
    check(f"states      from n = {n + 2} on no table" in text and "P10" in text)
    check(text.startswith("At 32768 tokens 14 hops are possible (P10)."), why=text)
    check(f"states      up to n = {deep['tables_held_up_to']} they hold" in text)
    check(abs(deep["tables_factor"] * deep["tables_held_up_to"] / (n + 2) - 1) < 1e-5 and f"a factor of {deep['tables_factor']:.3g}, it is open" in text)
    still = good_json("bound", "--hops", "auto", "--pattern", "rwkv7^24", "--heads", "16", "--dim", "64", "--n", "4096")["reach"]
    check(still["able"] == 0 and still["tables_held_up_to"] is None and still["tables_factor"] is None, why="what is not known of its states is not claimed")


FIRST_LINES = [  # question, the answer, and the exit code with --exit-code
    (["--hops", 2, "--pattern", "L F F", "--n", 4096], "2 hops are possible within 4096 tokens, by P1: weights are known", 0),
    (["--hops", 2, "--pattern", "L F L", *SMALL, "--n", 40000], "2 hops are impossible within 40000 tokens, by P4': no weights", 10),
    (["--hops", 2, "--pattern", "L F L", *SMALL, "--m", 371, "--fan", 102], "2 hops are impossible at m 371, fan 102, by P4", 10),
    (["--hops", 2, "--pattern", "F F", "--n", "32k"],
     "2 hops are open within 32768 tokens: no theorem here says possible, none says impossible; impossible from n = 194250842 on, by P7.", 30),
    (["--hops", 1, "--pattern", "L F", "--m", 9], "1 hop is possible at m 9, by P1", 0),
    (["--hops", 5, "--pattern", "F", "--n", 10], "5 hops cannot be posed within 10 tokens: the shortest prompt has 2^6.", 30),
    (["--hops", 3, "--pattern", "L F L F L", *SMALL], "3 hops are impossible from n = 9166097730 on, by P8; below that open.", None),
    (["--hops", 2, "--pattern", "F^3"], "2 hops are possible up to n = 20491, by P1; beyond that open.", None),
    (["--hops", 2, "--pattern", "S"], "2 hops are open: no theorem here speaks of this pattern.", None),
    (["--hops", "auto", "--pattern", "F^2", "--n", 20], "At 20 tokens 1 hop is possible (P1), 2 to 3 are open.", None),
    (["--hops", "auto", "--pattern", "F", "--n", 3], "At 3 tokens no hop can be posed: one takes 4 tokens.", None),
]


@case
def the_first_line_is_the_answer_and_the_exit_code_if_asked_for():
    for args, line, code in FIRST_LINES:
        text = good("bound", *args).out
        check(text.startswith(line), why=text)
        value = good_json("bound", *args, keys=["verdict", "by", "answer"])
        check(value["answer"] == text.split("\n")[0], why=str(value["answer"]))
        check(value["verdict"] == {0: "possible", 10: "impossible", 30: "open", None: None}[code], why=str(value["verdict"]))
        asked = hopbound("bound", *args, "--exit-code")
        check(asked.code == (2 if code is None else code), asked)
        check(code is None or asked.out == text, asked)
    one_line(hopbound("bound", "--pattern", "F", "--hops", "auto", "--exit-code"), 2, r"--exit-code: needs a number of --hops")
    one_line(hopbound("bound", "--pattern", "F", "--exit-code"), 2, r"--exit-code: needs a length, --n, or sizes")
    one_line(hopbound("bound", "--pattern", "F", "--exit-code", "--solve", "n"), 2, r"--exit-code: --solve has no one verdict")


def symbols_of(text):
    """letters with an index or without, as the theorems' inequalities have them; words are left out"""
    words = {"log", "bits", "an", "image", "that", "fails", "or", "state", "a", "gap", "entry", "of", "order", "count", "as", "states",
             "dimension", "full", "layers", "layer", "linear", "carrying", "numbers", "width", "head", "residual", "values", "also", "in",
             "s", "up", "to", "rows", "Sum", "then", "for", "each", "hop", "with", "its", "table", "all"}
    found = set(re.findall(r"[A-Za-z]+_?(?:[0-9]|\{L-1\}|[A-Z])?", text))
    names = {re.sub(r"(?<=_).*", "", re.sub(r"[0-9]$", "", x) if "_" not in x else x) for x in found}
    return names - words


@case
def every_symbol_that_is_printed_is_explained():
    for args in (["--hops", 3, "--pattern", "L F L F L", *SMALL], ["--hops", 3, "--pattern", "F F L"], ["--hops", 2, "--pattern", "L F L"],
                 ["--hops", 2, "--pattern", "F"], ["--hops", 1, "--pattern", "L", "--n", 100], ["--hops", 3, "--pattern", "F F L F L"],
                 ["--hops", 2, "--pattern", "S", "--n", 100], ["--hops", 2, "--pattern", "L F F", "--n", 100]):
        text = good("bound", *args).out
        value = good_json("bound", *args)
        legend = re.sub(r"\s+", " ", text.split("\nSymbols", 1)[1])
        shown = {re.sub(r"(?<=_).*", "", s) for s in re.findall(r"([A-Za-z]+(?:_[a-z0-9])?)(?:, x_1|\(D\))?: ", legend)}
        for r in value["results"]:
            if not r["applies"]:
                continue
            used = symbols_of(r["needs"] + " " + r["has"]) | {re.sub(r"(?<=_).*", "", k) for k in (r["certificate"] or {"integers": {}})["integers"]}
            check(used <= shown, why=f"{args} {r['id']}: {used - shown} of {used}\n{legend}")
    check("x_0" not in good("bound", "--hops", 2, "--pattern", "L F F", "--n", 100).out.split("Symbols")[1], why="only what occurs")


SOLVED = [
    (["--hops", 8, "--pattern", "(gdn^3 F)^12", "--heads", 16, "--dim", 128, "--n", "128k", "--solve", "full"],
     "8 hops within 131072 tokens are possible from full = 1 on (P10); below that open."),
    (["--hops", 2, "--pattern", "L F L", *SMALL, "--solve", "n"], "2 hops are impossible from n = 18755 on (P4'); below that open."),
    (["--hops", 2, "--pattern", "L F F", "--d-model", 200, "--n", "8k", "--solve", "state"], "2 hops within 8192 tokens are possible from state = "),
    (["--hops", 2, "--pattern", "S F", "--n", 1000, "--solve", "state"], "2 hops within 1000 tokens are open whatever state is: no theorem"),
    (["--hops", 1, "--pattern", "F^5", "--n", 1000, "--solve", "state"], "1 hop within 1000 tokens is possible whatever state is (P1)"),
]


@case
def what_is_solved_is_said_in_the_first_line():
    for args, line in SOLVED:
        text = good("bound", *args).out
        check(text.startswith(line) and "all else is as given" in text, why=text)
