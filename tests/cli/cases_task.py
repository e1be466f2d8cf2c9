"""The verb task: sampling and checking, against a solver written here."""
import json, os, re
from harness import case, check, good, good_json, hopbound, lines_of, one_line, read, write

SIZES = [(1, 2, []), (1, 5, []), (2, 2, [2]), (2, 5, [3]), (3, 6, [5, 3]), (4, 2, [3, 2, 2]), (8, 2, [2] * 7)]
KEYS = {"tokens", "answer", "chain", "hops", "m", "fan"}


def options(hops, m, fan):
    return ["--hops", hops, "--m", m] + (["--fan", ",".join(map(str, fan))] if fan else [])


def chain_of(instance):
    """The definition, followed on lists: cut the prompt into functions, then walk."""
    hops, sizes = instance["hops"], [instance["m"]]
    for n in instance["fan"]:
        sizes.append(sizes[-1] * n)
    rest, z = list(instance["tokens"]), {}
    for l in range(hops, 0, -1):
        z[l], rest = rest[:sizes[l - 1]], rest[sizes[l - 1]:]
    start, w = rest
    digits = []
    for n in instance["fan"]:
        digits.append(w % n)
        w //= n
    walk = [start, z[1][start]]
    for l in range(2, hops + 1):
        walk.append(z[l][digits[l - 2] * sizes[l - 2] + walk[-1]])
    return walk


EXAMPLE = {"tokens": [3, 0, 2, 1, 1, 0, 0, 1], "answer": 1, "hops": 2, "m": 2, "fan": [2]}


@case
def every_instance_has_the_answer_that_the_definition_gives():
    for hops, m, fan in SIZES:
        r = good("task", *options(hops, m, fan), "--count", 20, "--seed", 3, "--format", "jsonl")
        instances = lines_of(r.out)
        check(len(instances) == 20, r)
        for i in instances:
            check(set(i) == KEYS and (i["hops"], i["m"], i["fan"]) == (hops, m, fan), r)
            check(i["chain"] == chain_of(i) and i["answer"] == i["chain"][-1], r)
        check(len({tuple(i["tokens"]) for i in instances}) > 1, r, "all the same")


@case
def a_shorter_list_is_the_beginning_of_a_longer_one():
    for form in ("jsonl", "text"):
        ten, twenty = (good("task", "--count", n, "--format", form, "--seed", 1).out for n in (10, 20))
        check(twenty.startswith(ten) and len(twenty) > len(ten))
    check(good("task", "--seed", 1).out != good("task", "--seed", 2).out)


@case
def the_sampled_bits_are_those_of_the_first_release():
    r = good("task", "--hops", 2, "--m", 2, "--fan", 2, "--count", 2)
    check(r.out == GOLDEN_TEXT, r, "same seed, same bits: a change here breaks everybody's files")


GOLDEN_TEXT = """\
instance 0 (hops 2, m 2, fan 2)
  z_2 = 1 3 2 2
  z_1 = 1 0
  z_0 = 1
  w = 0 (w_1=0)
  chain 1 -> 0 -> 1
  answer 1
instance 1 (hops 2, m 2, fan 2)
  z_2 = 2 3 0 2
  z_1 = 1 1
  z_0 = 0
  w = 0 (w_1=0)
  chain 0 -> 1 -> 3
  answer 3
"""


@case
def sizes_have_defaults_and_one_fan_is_repeated():
    i = good_json("task")["instances"][0]
    check((i["hops"], i["m"], i["fan"]) == (2, 8, [4]), why=str(i))
    check(good_json("task", "--hops", 4, "--m", 2)["instances"][0]["fan"] == [4, 4, 4])
    check(good_json("task", "--hops", 4, "--m", 2, "--fan", 3)["instances"][0]["fan"] == [3, 3, 3])
    check(good_json("task", "--hops", 1, "--fan", 3)["instances"][0]["fan"] == [])
    check(good_json("task", "--hops", 1, "--fan", "")["instances"][0]["fan"] == [])


@case
def json_is_one_object_with_all_instances_and_agrees_with_jsonl():
    whole = good_json("task", "--count", 5, "--seed", 9, keys=["task", "instances"])
    check(whole["task"] == {"name": "funccomp", "hops": 2, "m": 8, "fan": [4]}, why=str(whole["task"]))
    check(whole["instances"] == lines_of(good("task", "--count", 5, "--seed", 9, "--format", "jsonl").out))
    check(json.loads(good("task", "--count", 5, "--seed", 9, "--format", "json").out) == whole)
    check(good_json("task", "--count", 0)["instances"] == [])
    check(good("task", "--count", 0, "--format", "jsonl").out == "")


@case
def output_goes_to_a_file_that_holds_the_same_bytes():
    for form in ("text", "json", "jsonl"):
        r = good("task", "--count", 3, "--format", form, "-o", "out")
        check(read("out").decode() == good("task", "--count", 3, "--format", form).out, r)
        check("3 instances" in r.out and os.listdir(".") == ["out"], r)
    said = good_json("task", "--count", 3, "--format", "jsonl", "-o", "out", keys=["file", "count", "format"])
    check(said["format"] == "jsonl" and len(read("out").splitlines()) == 3)


@case
def the_worked_example_is_right_and_its_other_answers_wrong():
    for answer in range(4):
        line = json.dumps({**EXAMPLE, "answer": answer})
        got = good_json("task", "--check", "-", stdin=line, code=0 if answer == 1 else 10,
                        keys=["checked", "right", "wrong", "first_wrong"])
        check((got["checked"], got["right"], got["wrong"]) == (1, int(answer == 1), int(answer != 1)))
        check(got["first_wrong"] == (None if answer == 1 else 1))


@case
def what_task_writes_task_finds_right():
    for hops, m, fan in SIZES:
        good("task", *options(hops, m, fan), "--count", 30, "--format", "jsonl", "-o", "t.jsonl")
        got = good_json("task", "--check", "t.jsonl")
        check((got["checked"], got["wrong"]) == (30, 0))


@case
def the_first_wrong_line_is_counted_with_blank_lines():
    bad = json.dumps({**EXAMPLE, "answer": 2})
    right = json.dumps(EXAMPLE)
    text = f"{right}\n\n  \n{right}\n{bad}\r\n{bad}"
    got = good_json("task", "--check", "-", stdin=text, code=10)
    check((got["checked"], got["right"], got["wrong"], got["first_wrong"]) == (4, 2, 2, 5), why=str(got))
    r = hopbound("task", "--check", "-", stdin=text)
    check(r.code == 10 and "2 wrong, the first in line 5" in r.out, r)


@case
def a_wrong_chain_is_wrong_and_sizes_may_come_from_the_options():
    good("task", "--check", "-", stdin=json.dumps({**EXAMPLE, "chain": [0, 1, 1]}))
    good("task", "--check", "-", stdin=json.dumps({**EXAMPLE, "chain": [0, 0, 1]}), code=10)
    good("task", "--check", "-", stdin=json.dumps({**EXAMPLE, "chain": [0, 1]}), code=10)
    bare = json.dumps({"tokens": EXAMPLE["tokens"], "answer": 1})
    good("task", "--check", "-", "--m", 2, "--fan", 2, stdin=bare)
    one_line(hopbound("task", "--check", "-", stdin=bare), 1, r"standard input:1: 8 tokens where")


MALFORMED = [
    ("{", r"column"), ("[]", r"not a JSON object"), ("3", r"not a JSON object"), ("{} {}", r"column"),
    ("{}", r"tokens"), ('{"tokens":3,"answer":1}', r"tokens"), ('{"tokens":[],"answer":1}', r"tokens"),
    ('{"tokens":[1,"x"],"answer":1}', r"tokens: number 1"), ('{"tokens":[1,-1],"answer":1}', r"tokens: number 1"),
    ('{"tokens":[1,99999999999],"answer":1}', r"tokens: number 1"), ('{"tokens":[1],"tokens":[2]}', r"tokens"),
    (json.dumps({**EXAMPLE, "answer": None}), r"answer: missing"),
    (json.dumps({**EXAMPLE, "answer": "1"}), r"answer"),
    (json.dumps({**EXAMPLE, "answer": -1}), r"answer"),
    (json.dumps({**EXAMPLE, "hops": 3}), r"fan"),
    (json.dumps({**EXAMPLE, "m": None}), r"m: missing"),
    (json.dumps({**EXAMPLE, "fan": [1]}), r"fan"),
    (json.dumps({**EXAMPLE, "chain": 3}), r"chain"),
    (json.dumps({**EXAMPLE, "chain": ["x"]}), r"chain"),
    (json.dumps({**EXAMPLE, "tokens": [4, 0, 2, 1, 1, 0, 0, 1]}), r"token 0 is 4, outside 0\.\.3"),
    (json.dumps({**EXAMPLE, "tokens": [3, 0, 2, 1, 1, 0, 0, 2]}), r"token 7 is 2, outside 0\.\.1"),
    ("\xff\xfe", r"."), ("[" * 100000, r"."), ("\0", r"."),
]


@case
def a_line_that_is_no_instance_is_exit_1_naming_file_and_line():
    for text, pattern in MALFORMED:
        write("bad.jsonl", (json.dumps(EXAMPLE) + "\n").encode() + text.encode("latin-1") + b"\n")
        one_line(hopbound("task", "--check", "bad.jsonl"), 1, r"task: bad\.jsonl:2: .*" + pattern)


# ---- in words, for lm-evaluation-harness ----

def read_words(prompt):
    """A prompt's tables {letter: {key: value}}, its start, the branches {letter: digit} and w, line by line."""
    tables, start, branches, w = {}, None, {}, None
    for line in prompt.splitlines():
        name, _, rest = line.partition(":")
        if len(name) == 1:
            tables[name] = {k: int(v) for k, v in (e.split("=") for e in rest.split())}
        elif name == "start":
            start = int(rest)
        elif name.startswith("branches ("):
            inner = line[len("branches ("):line.index(")")]
            branches = {} if inner == "none" else {b.split()[0]: b.split()[1] for b in inner.split(", ")}
            w = int(line.split("): ")[1])
    return tables, start, branches, w


def answer_in_words(prompt):
    tables, at, branches, _ = read_words(prompt)
    for letter in sorted(tables):
        at = tables[letter][f"{branches[letter]},{at}" if letter != "A" else str(at)]
    return at


def numbers_alone(prompt):
    """What the tokenizer of the directory leaves."""
    return [int(x) for x in re.sub(r"[0-9,]+=", " ", re.sub(r"\([^)]*\)", " ", prompt)).split() if x.isdigit()]


@case
def a_directory_for_lm_eval_has_both_orders_of_every_size():
    r = good_json("task", "--format", "lm-eval", "-o", "words", "--count", 5, keys=["dir", "tasks"])
    check({t["hops"] for t in r["tasks"]} == {1, 2, 3, 4} and len(r["tasks"]) == 24, why=str(r))
    for t in r["tasks"]:
        yaml = read(f"words/{t['task']}.yaml").decode()
        instances = lines_of(read("words/" + re.search(r"instances: (.*)", yaml).group(1)))
        check(f"task: {t['task']}\n" in yaml and f"{{{{{t['order']}}}}}" in yaml and len(instances) == 5, why=yaml)
        for i in instances:
            check(i["answer"] == chain_of(i)[-1] == answer_in_words(i[t["order"]]), why=str(i))
            tables, start, _, w = read_words(i[t["order"]])
            check(len(tables) == t["hops"] and [start, w] == i["tokens"][-2:] and t["n"] == len(i["tokens"]), why=str(i))
        check(numbers_alone(instances[0]["hard"]) == instances[0]["tokens"], why=str(instances[0]))
        check(abs(t["chance"] * len(tables[max(tables)]) - 1) < 1e-9, why=str(t))
    good("task", "--check", "words/hopbound_3hop_n170.jsonl")
    ceilings = [float(x) for x in re.findall(r"n170_hard.*", read("words/README.md").decode())[0].split("|")[-4:-1]]
    check(ceilings == sorted(ceilings) and 1 / 128 < ceilings[0] < ceilings[2] < 1, why=str(ceilings))


@case
def sizes_that_are_given_are_the_only_ones_for_lm_eval():
    r = good_json("task", "--format", "lm-eval", "-o", "one", "--hops", 2, "--m", 3, "--fan", 4, keys=["tasks"])
    check([t["task"] for t in r["tasks"]] == ["hopbound_2hop_n17_hard", "hopbound_2hop_n17_easy"], why=str(r))
    check(r["tasks"][0]["instances"] == 200 == len(lines_of(read("one/hopbound_2hop_n17.jsonl"))), why=str(r))
    check(json.loads(read("one/tokenizer/tokenizer.json"))["model"]["vocab"] == {**{str(i): i for i in range(12)}, "<end>": 12})
    for options_, why in ((["--task", "khop", "-o", "two"], "khop"), ([], "--output")):
        one_line(hopbound("task", "--format", "lm-eval", *options_), 2, why)
    check(not os.path.exists("two"))
