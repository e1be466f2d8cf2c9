"""Hops against length: --over of audit, plans that are named, their picture."""
import os, re
import xml.etree.ElementTree as xml
from harness import *

CONFIGS = os.path.join(DATA, "configs")
FOUR = [os.path.join(CONFIGS, name + ".json")
        for name in ("qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "jamba-v0.1", "llama-3.1-8b")]


def able(path, n):
    return good_json("audit", path, "--n", n)["hops"]["able"]


@case
def every_point_is_what_an_audit_at_that_length_says():
    """Of all models at once, against tables of single lengths: hops, and bytes; and impossible where they say so."""
    over = good_json("audit", CONFIGS, "--over", "64,3000,128k,5M,1G")
    check(over["lengths"] == [64, 3000, 131072, 5 << 20, 1 << 30] and len(over["curves"]) == 39)
    points = {(p["name"], p["n"]): p for p in over["points"]}
    check(len(points) == 5 * 39 and ["expected.json: unknown family" in r for r in over["refused"]] == [True])
    unable = 0
    for n in over["lengths"]:
        for row in good_json("audit", CONFIGS, "--n", n)["models"]:
            p = points[row["model"], n]
            for key in ("hops_possible", "hops_that_fit", "kv_bytes", "state_bytes"):
                check(p[key] == row[key], why=f"{row['model']} at {n}: {key} {p[key]} {row[key]}")
            check(p["all_that_fit"] == (p["hops_possible"] == p["hops_that_fit"]))
            check((p["hops_impossible"] is not None) == (row["impossible_at_n"] is True), why=str((p, row)))
            if p["hops_impossible"] is not None:
                unable += 1
                check((p["hops_impossible"], p["impossible_by"]) == (row["hops_impossible"], row["impossible_by"]))
                check(p["hops_possible"] is None or p["hops_possible"] < p["hops_impossible"], why=str(p))
    check(unable > 5)


@case
def where_they_first_differ_is_a_length_at_which_they_do_and_before_which_they_do_not():
    for some in ([FOUR[0], FOUR[1]], [FOUR[0], FOUR[3]], FOUR):
        over = good_json("audit", *some, "--over", "32k..16M")
        n = over["differ_at"]
        check(len({able(path, n) for path in some}) > 1 and len({able(path, n - 1) for path in some}) == 1, why=str(n))
        check(f"n = {n:,}" in over["differ"], why=over["differ"])
    over = good_json("audit", FOUR[0], FOUR[3], "--over", "32k..64k")
    check(over["differ_at"] is None and over["differ"].startswith("They do not differ in the hops"), why=over["differ"])
    check(good_json("audit", FOUR[0], "--over", "32k..64k")["differ"] is None, why="one is compared with none")


@case
def a_curve_follows_what_fits_and_then_falls():
    for c in good_json("audit", *FOUR, "--over", "4..1G")["curves"]:
        end, path = c["all_that_fit_up_to"], c["path"]
        fits = lambda n: len(bin(n)) - 4  # the shortest prompt of L hops has 2^(L+1) tokens
        check(able(path, end) == fits(end), why=str(c))
        check(end == 1 << 30 or able(path, end + 1) < fits(end + 1), why=str(c))


@case
def saturation_is_marked_and_no_row_says_more_are_possible_than_not():
    out = good("audit", *FOUR, "--over", "32k..16M").out
    check(re.search(r"(?m)^kimi-linear-48b-a3b +14 all +15 all +16 all +16 +13 +10 +7 ", out), why=out)
    check("16 all: these are all that fit the length" in out and max(map(len, out.splitlines()[2:13])) <= 130, why=out)
    table = good("audit", *FOUR, "--n", "128k").out
    check(re.search(r"kimi-linear-48b-a3b .* 16 all +- +8: 10", table) and "impossible on prompts of that length" in table, why=table)


@case
def plans_are_compared_by_patterns_or_by_ratios():
    ratios = good_json("plan", "3:1", "7:1", "--layers", "48", "--over", "32k..16M", "--kv-heads", "4")
    patterns = good_json("plan", "(gdn^3 F)^12", "(L^7 full)^6", "--over", "32k..16M", "--kv-heads", "4")
    strip = lambda a: [{k: v for k, v in p.items() if k != "name"} for p in a["points"]]
    check(strip(ratios) == strip(patterns) and ratios["differ_at"] == patterns["differ_at"])
    check([c["plan"] for c in ratios["curves"]] == ["(gdn^3 full)^12", "(gdn^7 full)^6"])
    n = ratios["differ_at"]
    for pattern, at in (("(gdn^3 F)^12", 0), ("(gdn^7 F)^6", 1)):
        for length in (n - 1, n):
            reach = good_json("bound", "--pattern", pattern, "--heads", "16", "--dim", "128", "--hops", "auto", "--n", length)["reach"]
            told = good_json("plan", "3:1", "7:1", "--layers", "48", "--n", length, "--kv-heads", "4")["points"][at]
            check(told["hops_possible"] == reach["able"], why=str((told, reach)))
    left = good_json("plan", "5:1", "--layers", "20", "--n", "32k")["curves"][0]["plan"]
    check(left == "gdn^5 full gdn^5 full gdn^5 full gdn^2", why=left)


@case
def what_makes_no_sense_to_compare_is_one_line():
    path = FOUR[0]
    for args, why in ((("audit", path, "--over", "32k..x"), "--over: \"x\" is not an integer"),
                      (("audit", path, "--over", "2M..1M"), "--over: lengths rise"),
                      (("audit", path, "--over", "1k,1k"), "--over: lengths rise"),
                      (("audit", path, "--over", "1k", "--n", "5"), "--over: not with --n"),
                      (("audit", path, "--picture", "x.svg"), "--picture: needs --over"),
                      (("audit", path, "--over", ",".join(map(str, range(1, 27)))), "--over: more than 24 lengths"),
                      (("plan", "--n", "5"), "--hops: missing"),
                      (("plan", "--hops", "5"), "--n: missing"),
                      (("plan", "3:1", "--n", "1k"), "--layers: missing: 3:1 is a ratio"),
                      (("plan", "3:1", "--layers", "3", "--n", "1k"), "3:1: takes more than 3 layers"),
                      (("plan", "0:0", "--layers", "3", "--n", "1k"), "0:0: no ratio"),
                      (("plan", "F F", "--hops", "2", "--n", "1k"), "--hops: not with plans that are named"),
                      (("plan", "F (", "--n", "1k"), r"column|parenthes"),
                      (("plan", "F nope", "--n", "1k"), r"nope.*`hopbound mixers`"),
                      (("plan", "--hops", "2", "--over", "1k..2k"), "--over: needs plans")):
        one_line(hopbound(*args), 2, why)


@case
def the_picture_is_xml_with_a_line_a_model():
    good("audit", *FOUR, "--over", "32k..16M", "--picture", "a.svg")
    tree = xml.parse("a.svg")
    texts = ["".join(t.itertext()) for t in tree.iter("{http://www.w3.org/2000/svg}text")]
    for path in FOUR:
        check(texts.count(os.path.basename(path)[:-5]) == 2, why=str(texts))  # hops, and bytes below
    check("16M" in texts and any("GiB" in t for t in texts))
    good("plan", "3:1", "7:1", "--layers", "48", "--over", "32k..16M", "--picture", "p.svg")
    check("7:1" in open("p.svg").read())
    one_line(hopbound("audit", *FOUR, "--over", "32k..16M", "--picture", "no/such/dir.svg"), 1, "no/such/dir.svg")
