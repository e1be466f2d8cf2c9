"""--json: what is printed is what docs/JSON.md says, and what it says is printed."""
import json, os, re, shutil
import harness
from harness import DATA, case, check, good, hopbound

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "JSON.md")


def documented():
    """verb -> members, from the tables of the page"""
    verbs, members = {}, None
    for line in open(PAGE, encoding="utf-8"):
        if line.startswith("## "):
            members = verbs.setdefault(line[3:].strip(), set())
        elif line.startswith("| `") and members is not None:
            members.update(re.findall(r"`([^`]+)`", line.split("|")[1]))
    return verbs


def members_of(value, at=""):
    if isinstance(value, dict):
        for key, v in value.items():
            yield at + key
            yield from members_of(v, at + key + ".")
    elif isinstance(value, list):
        for v in value:
            yield from members_of(v, at[:-1] + "[]." if at else "[].")


def is_documented(member, known):
    parents = [member[:i] for i, c in enumerate(member) if c == "."]
    inside = any(k == member or k.startswith(member + ".") or k.startswith(member + "[].") for k in known)
    return inside or any(p + ".*" in known for p in parents)


def data(*path):
    return os.path.join(DATA, *path)


# What is run for each verb: together these print every member that the page names.
COMMANDS = {
    "task": [["--count", 2], ["--task", "recall"], ["--task", "khop"], ["--task", "two-sum"],
             ["--format", "jsonl", "-o", "one.jsonl"], ["--check", "one.jsonl"], ["--format", "lm-eval", "-o", "tasks", "--count", 2]],
    "build": [["full", "-o", "x"], ["linear", "--hops", 1, "--m", 4, "-o", "y"]],
    "run": [["net", "--count", 5], ["net", "--count", 5, "--message-bits", 16]],
    "prove": [["full"], ["net", "--message-bits", 16], ["net", "--precision", 12], ["broken"]],
    "bound": [["--hops", 2, "--pattern", "L F L", "--m", 173, "--fan", 26, "--dim", 17],
              ["--hops", "auto", "--pattern", "L F", "--n", 1000], ["--pattern", "L", "--n", 1000, "--hops", 1, "--curve"],
              ["--hops", 3, "--pattern", "L F L F L"], ["--hops", 2, "--pattern", "L F L", "--solve", "n"],
              ["--hops", 2, "--pattern", "L F L", "--dim", 17, "--cite", "text"]],
    "separate": [[], ["--hops", 1, "--table"], ["--hops", 5]],
    "audit": [[data("configs", "qwen3-next-80b-a3b.json"), data("configs", "deepseek-v3.2.json")],
              [data("configs", "qwen3-next-80b-a3b.json")], [data("configs", "mimo-v2-flash.json"), "--plan-only"], ["net"],
              ["models", "--n", 300], ["models", "--over", "1k..2k"],
              ["models", "--require-hops", 2], ["models", "--memory"],
              [data("configs", "qwen3-next-80b-a3b.json"), "--fit", "24GiB", "--weights", "1GiB"]],
    "play": [["net", "--count", 2]],
    "exact": [["--hops", 1, "--m", 2], ["--hops", 2, "--m", 2, "--fan", 2, "--message-bits", 1, "--state-bits", 0]],
    "core": [["attention", "--input", data("cores", "attention.safetensors"), "--output", "o.safetensors"]],
    "mixers": [[], ["--heads", 3, "--head-dim", 1]],
    "bench": [["--time", "0.01"]],
    "ladder": [["--rungs", 2, "-o", "ladder"],
               ["--rungs", 1, "--brief", "-o", "learnt", "--train", "--train-steps", 1, "--seeds", 1]],
    "plan": [["--hops", 2, "--n", 1000], ["--hops", 2, "--n", 1000, "--fit", "1GiB"], ["F", "--n", 1000, "--fit", "1GiB"], ["F F", "F", "--over", "1k..2k"],
             ["--like", "models/llama-3.1-8b.json", "--hops", 1, "--n", 100]],
    "train": [["--pattern", "L", "--mixer", "linear", "--hops", 1, "--m", 4, "--steps", 2, "--d-model", 8, "--heads", 1,
               "--eval-count", 16, "-o", "trained"]],
    "sweep": [["sweep.json", "-o", "runs.db", "--picture", "runs.svg"]],
    "damage": [["net", "-o", "damaged"]],
    "refute": [["broken", "--budget", 5, "-o", "w.json"], ["full", "--budget", 5]],
    "check": [["w.json", "broken"], ["b.cert"]],
}
SILENT = {"completion"}  # prints a script, not an answer


def prepare():
    good("build", "hybrid", "--hops", 2, "--m", 4, "--fan", 2, "-o", "net", "-q")
    good("bound", "--hops", 1, "--pattern", "F", "--certificate", "b.cert")
    good("build", "full", "--hops", 1, "--m", 4, "-o", "full", "-q")
    os.mkdir("models")
    for name in "llama-3.1-8b.json", "expected.json":
        shutil.copy(data("configs", name), "models")
    with open("sweep.json", "w") as f:
        json.dump({"runs": [{"pattern": "F", "task": {"name": "funccomp", "hops": 1, "m": 4}, "steps": 2, "d_model": 8,
                             "heads": 1, "eval_count": 8}]}, f)
    good("build", "random", "--pattern", "F", "--hops", 1, "--m", 3, "--d-model", 8, "-o", "broken", "-q")


@case
def every_verb_has_its_section():
    listed = good("--help").out.split("Verbs:\n")[1].split("\n\n")[0]
    verbs = set(re.findall(r"^  ([a-z]+) ", listed, re.M)) - SILENT
    check(verbs == set(documented()), why=f"{verbs ^ set(documented())}")
    check(verbs == set(COMMANDS), why=f"{verbs ^ set(COMMANDS)}")


@case
def what_is_printed_is_what_is_documented():
    prepare()
    pages = documented()
    for verb, lines in COMMANDS.items():
        known, seen = pages[verb], set()
        for args in lines:
            r = hopbound(verb, *args, "--json", "--quiet")
            check(r.code in (0, 10, 20, 30), r)
            printed = set(members_of(json.loads(r.out)))
            odd = {m for m in printed if not is_documented(m, known)}
            check(not odd, r, f"{verb}: not documented: {sorted(odd)}")
            seen |= printed
        missing = {k for k in known if k not in seen and not (k.endswith(".*") and any(s.startswith(k[:-1]) for s in seen))}
        check(not missing, why=f"{verb}: documented and never printed: {sorted(missing)}")
