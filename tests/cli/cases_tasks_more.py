"""task, run and --check for two-sum, recall and khop, against solvers written here."""
import json, os
from harness import case, check, good, good_json, hopbound, lines_of, one_line, read, write

SIZES = {
    "two-sum": [{"n": 1, "mod": 2}, {"n": 9, "mod": 4}, {"n": 40, "mod": 7}, {"n": 30, "mod": 1000003}],
    "recall": [{"pairs": 1, "queries": 1, "keys": 1, "values": 1}, {"pairs": 5, "queries": 9, "keys": 5, "values": 3},
               {"pairs": 20, "queries": 4, "keys": 1 << 30, "values": 100}],
    "khop": [{"n": 1, "alphabet": 2, "hops": 1}, {"n": 20, "alphabet": 3, "hops": 4}, {"n": 60, "alphabet": 26, "hops": 2}],
}
DEFAULTS = {"two-sum": {"n": 16, "mod": 16}, "recall": {"pairs": 8, "queries": 8, "keys": 16, "values": 16},
            "khop": {"n": 32, "alphabet": 4, "hops": 2}}


def options(task, sizes):
    return ["--task", task] + [x for k, v in sizes.items() for x in (f"--{k}", v)]


def every():
    return [(task, sizes) for task, list_ in SIZES.items() for sizes in list_]


def solve(task, sizes, x):
    """The definitions, word by word."""
    if task == "two-sum":
        return [int(any((x[i] + x[j]) % sizes["mod"] == 0 for j in range(i + 1))) for i in range(len(x))]
    if task == "recall":
        table = dict(zip(x[0:2 * sizes["pairs"]:2], x[1:2 * sizes["pairs"]:2]))
        check(len(table) == sizes["pairs"], why="a key twice")
        return [None] * (2 * sizes["pairs"]) + [table[k] for k in x[2 * sizes["pairs"]:]]
    at, answer = len(x) - 1, None
    for _ in range(sizes["hops"]):
        behind = [j for j in range(1, at + 1) if x[j - 1] == x[at]]
        if not behind:
            answer = sizes["alphabet"]
            break
        at = behind[-1]
    return [None] * (len(x) - 1) + [x[at] if answer is None else answer]


@case
def instances_of_every_task_have_the_targets_that_the_definition_gives():
    for task, sizes in every():
        r = good("task", *options(task, sizes), "--count", 20, "--seed", 3, "--format", "jsonl")
        instances = lines_of(r.out)
        check(len(instances) == 20, r)
        for i in instances:
            check(set(i) == {"tokens", "targets", "name", *sizes} and i["name"] == task, r)
            check(all(i[k] == v for k, v in sizes.items()), r)
            check(i["targets"] == solve(task, sizes, i["tokens"]), r)


@case
def every_task_has_default_sizes_and_the_same_three_formats():
    for task, sizes in DEFAULTS.items():
        whole = good_json("task", "--task", task, "--count", 3, keys=["task", "instances"])
        check(whole["task"] == {"name": task, **sizes}, why=str(whole["task"]))
        check(whole["instances"] == lines_of(good("task", "--task", task, "--count", 3, "--format", "jsonl").out))
        text = good("task", "--task", task, "--count", 2).out
        check(text.count("instance ") == 2 and "tokens" in text and "targets" in text, why=text)
        check(good("task", "--task", task, "--count", 5).out.startswith(text), why="a longer list begins differently")
    check(good_json("task", "--task", "recall", "--pairs", 40)["task"]["keys"] == 40)


GOLDEN = """\
instance 0 (two-sum, n 6, mod 5)
  tokens  1 4 3 3 4 1
  targets 0 1 0 0 1 1
instance 0 (recall, pairs 3, queries 2, keys 6, values 4)
  tokens  5 7 1 8 4 6 5 5
  targets - - - - - - 7 7
instance 0 (khop, n 12, alphabet 3, hops 2)
  tokens  1 2 2 1 2 1 2 0 0 0 0 0
  targets - - - - - - - - - - - 0
"""


@case
def the_sampled_bits_of_every_task_stay_what_they_were():
    said = "".join(good("task", "--task", *a).out for a in (
        ["two-sum", "--n", 6, "--mod", 5], ["recall", "--pairs", 3, "--queries", 2, "--keys", 6, "--values", 4],
        ["khop", "--n", 12, "--alphabet", 3]))
    check(said == GOLDEN, why=f"same seed, same bits: a change here breaks everybody's files\n{said}")


@case
def what_task_writes_task_finds_right_and_changed_answers_wrong():
    for task, sizes in every():
        good("task", *options(task, sizes), "--count", 10, "--format", "jsonl", "-o", "t.jsonl")
        got = good_json("task", "--check", "t.jsonl")
        check((got["checked"], got["wrong"]) == (10, 0), why=str(got))
        lines = lines_of(read("t.jsonl").decode())
        asked = [p for p, t in enumerate(lines[4]["targets"]) if t is not None]
        lines[4]["targets"][asked[-1]] += 1
        write("t.jsonl", "\n".join(map(json.dumps, lines)))
        got = good_json("task", "--check", "t.jsonl", code=10)
        check((got["right"], got["wrong"], got["first_wrong"]) == (9, 1, 5), why=str(got))
    line = {"tokens": [1, 2, 3, 0], "targets": [0, 0, 1, 1]}
    good("task", "--check", "-", "--task", "two-sum", "--n", 4, "--mod", 5, stdin=json.dumps(line))
    good("task", "--check", "-", "--task", "two-sum", "--n", 4, "--mod", 5, code=10,
         stdin=json.dumps({**line, "targets": [None, 0, 1, 1]}))
    good("task", "--check", "-", "--task", "khop", "--n", 3, "--hops", 1, stdin='{"tokens":[1,2,1],"answer":2}')
    good("task", "--check", "-", "--task", "khop", "--n", 3, "--hops", 1, code=10, stdin='{"tokens":[1,2,1],"answer":1}')


SMALL = {"name": "recall", "pairs": 2, "queries": 1, "keys": 3, "values": 2, "tokens": [0, 3, 1, 4, 0],
         "targets": [None, None, None, None, 3]}
MALFORMED = [
    ({"targets": None}, r"targets: missing"), ({"targets": [1]}, r"targets: not a list as long as tokens"),
    ({"targets": "x"}, r"targets"), ({"targets": [None, None, None, None, "x"]}, r"targets: number 4"),
    ({"tokens": [0, 3, 0, 4, 0]}, r"token 2: key 0 was there before"), ({"tokens": [0, 3, 1, 4, 2]}, r"token 4 asks for key 2"),
    ({"tokens": [0, 2, 1, 4, 0]}, r"token 1 is 2"), ({"tokens": [0, 5, 1, 4, 0]}, r"token 1 is 5"),
    ({"tokens": [0, 3, 1, 4], "targets": [None] * 3 + [1]}, r"4 tokens where the sizes ask for 5"),
    ({"name": "sorting"}, r"unknown task"), ({"keys": 1}, r"keys"), ({"values": None}, r"values: missing"), ({"pairs": 0}, r"pairs"),
]


@case
def lines_of_other_tasks_that_are_no_instances_are_exit_1_naming_the_line():
    good("task", "--check", "-", stdin=json.dumps(SMALL))
    for change, pattern in MALFORMED:
        write("bad.jsonl", json.dumps(SMALL) + "\n" + json.dumps({**SMALL, **change}) + "\n")
        one_line(hopbound("task", "--check", "bad.jsonl"), 1, r"task: bad\.jsonl:2: .*" + pattern)


FOREIGN = [("funccomp", "n"), ("funccomp", "mod"), ("funccomp", "pairs"), ("funccomp", "alphabet"), ("two-sum", "hops"),
           ("two-sum", "m"), ("two-sum", "fan"), ("two-sum", "keys"), ("recall", "n"), ("recall", "hops"), ("khop", "mod"),
           ("khop", "m"), ("khop", "values"), ("khop", "queries")]


@case
def a_size_that_the_task_does_not_have_is_wrong_usage():
    for task, size in FOREIGN:
        one_line(hopbound("task", "--task", task, f"--{size}", 3), 2, rf"task: --{size}: the task {task} has no such size")
    one_line(hopbound("task", "--task", "recall", "--pairs", 9, "--keys", 8), 2, r"task: sizes: keys: 8 are too few for 9 pairs")
    one_line(hopbound("task", "--task", "khop", "--alphabet", 1), 2, r"task: --alphabet: 1 is outside")
    one_line(hopbound("task", "--task", "recall", "--keys", 1 << 31, "--values", 1 << 31), 2, r"task: sizes: .*2\^31")
    one_line(hopbound("task", "--task", "recall", "--pairs", 1 << 30, "--queries", 9), 2, r"task: sizes: .*2\^31")


def random_network(*sizes):
    return good_json("build", "random", "-o", "net", "--pattern", "F", "--d-model", 16, "--mlp", "none", *sizes)


@case
def tasks_with_several_targets_are_read_at_each_of_them():
    for task, sizes in (("two-sum", {"n": 12, "mod": 5}), ("recall", {"pairs": 3, "queries": 4, "keys": 5, "values": 2})):
        made = random_network(*options(task, sizes), "--vocab", 7, "--positions", 12)
        check(made["task"] == {"name": task, **sizes}, why=str(made))
        good("task", *options(task, sizes), "--count", 300, "--format", "jsonl", "-o", "t.jsonl")
        seen = set()
        for threads in (1, 3):
            for source in (["--count", 300], ["--input", "t.jsonl"]):
                got = good_json("run", "net", *source, "--threads", threads, "--predictions", "p.jsonl",
                                keys=["targets", "targets_correct", "layers_per_second"])
                seen.add((read("p.jsonl"), got["correct"], got["targets"], got["targets_correct"]))
        check(len(seen) == 1, why="threads or sources differ")
        lines, instances = lines_of(read("p.jsonl").decode()), lines_of(read("t.jsonl").decode())
        right = 0
        for p, i in zip(lines, instances):
            check(set(p) == {"index", "predictions", "targets", "correct"} and p["targets"] == i["targets"], why=str(p))
            check([a is None for a in p["predictions"]] == [t is None for t in i["targets"]], why=str(p))
            check(p["correct"] == (p["predictions"] == p["targets"]), why=str(p))
            right += sum(a == t for a, t in zip(p["predictions"], p["targets"]) if t is not None)
        check(got["targets"] == sum(t is not None for i in instances for t in i["targets"]), why=str(got))
        check(got["targets_correct"] == right and got["correct"] == sum(p["correct"] for p in lines), why=str(got))
        check("targets" in good("run", "net", "--count", 3).out)


@case
def answers_missing_are_computed_for_every_task_and_others_only_predicted():
    random_network("--task", "two-sum", "--n", 4, "--mod", 5)
    lines = [{"tokens": [1, 2, 3, 0]}, {"tokens": [1, 2, 3]}, {"tokens": [1, 2, 3], "targets": [None, 0, None]}, {"tokens": [1, 2], "answer": 0}]
    write("in.jsonl", "\n".join(map(json.dumps, lines)))
    got = good_json("run", "net", "--input", "in.jsonl", "--predictions", "p.jsonl")
    check((got["instances"], got["with_answer"], got["targets"]) == (4, 3, 6), why=str(got))
    out = lines_of(read("p.jsonl").decode())
    check(out[0]["targets"] == [0, 0, 1, 1] and out[1]["targets"] is None and out[1]["correct"] is None, why=str(out))
    check(len(out[1]["predictions"]) == 3 and None not in out[1]["predictions"], why=str(out))
    check(out[2]["predictions"][0] is None and out[2]["predictions"][1] is not None and "prediction" in out[3], why=str(out))


@case
def the_options_may_name_another_task_than_the_networks():
    random_network("--vocab", 20, "--positions", 40)
    one_line(hopbound("run", "net"), 2, r"run: --task: missing, and net names none")
    one_line(hopbound("prove", "net"), 2, r"prove: --task: missing, and net names none")
    check(good_json("run", "net", "--task", "khop", "--count", 5)["targets"] == 5)
    check(good_json("run", "net", "--n", 9, "--task", "two-sum", "--count", 5)["targets"] == 45)
    one_line(hopbound("run", "net", "--task", "two-sum", "--hops", 2), 2, r"run: --hops: the task two-sum")
    random_network("--task", "khop", "--n", 9, "--alphabet", 3)
    check(good_json("run", "net", "--count", 4, "--n", 7)["tokens_per_second"] > 0)
    one_line(hopbound("run", "net", "--mod", 3), 2, r"run: --mod: the task khop has no such size")
    check(set(os.listdir("net")) == {"config.json", "model.safetensors"})
