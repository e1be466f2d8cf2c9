"""Links, pipes, devices, files that change under the reader, names that are not plain text."""
import json, os, re, socket, subprocess, threading, time
import harness
from harness import DATA, case, check, good, good_json, hopbound, one_line, read, write

SIZES = ("--hops", 1, "--m", 2)


def build(name, *more):
    good("build", "full", "-o", name, *(more or SIZES))


def network(name):
    return read(f"{name}/config.json"), read(f"{name}/model.safetensors")


@case
def an_output_replaces_a_link_and_never_writes_through_it():
    build("other", "--hops", 2, "--m", 3)
    old = network("other")
    os.mkdir("net")
    for name in ("config.json", "model.safetensors"):
        os.symlink(f"../other/{name}", f"net/{name}")
    build("net")
    check(network("other") == old)
    check(not os.path.islink("net/config.json") and not os.path.islink("net/model.safetensors"))
    good("prove", "net")
    good("prove", "other")


@case
def two_links_to_one_file_become_two_files():
    write("blob", "kept")
    os.mkdir("net")
    for name in ("config.json", "model.safetensors"):
        os.symlink("../blob", f"net/{name}")
    build("net")
    check(read("blob") == b"kept")
    good("prove", "net")


@case
def a_linked_directory_is_written_into():
    os.mkdir("there")
    os.symlink("there", "net")
    build("net")
    check(os.path.islink("net") and sorted(os.listdir("there")) == ["config.json", "model.safetensors"])
    good("prove", "there")


@case
def every_verb_replaces_links():
    build("net")
    good("damage", "net", "-o", "bad", "-q")
    write("kept", "kept")
    for args, code in ((("run", "net", "--predictions", "out"), 0), (("task", *SIZES, "--format", "jsonl", "-o", "out"), 0),
                       (("refute", "bad", "-o", "out"), 10), (("refute", "bad", "--prompts", "out"), 10),
                       (("prove", "bad", "--counterexample", "out"), 10), (("audit", DATA + "/configs", "--report", "out"), 0),
                       (("core", "attention", "--input", DATA + "/cores/attention.safetensors", "-o", "out"), 0)):
        os.symlink("kept", "out")
        good(*args, "-q", code=code)
        check(read("kept") == b"kept" and not os.path.islink("out") and os.path.getsize("out") > 0, why=str(args))
        os.remove("out")


@case
def two_outputs_of_one_name_are_refused():
    build("net")
    good("damage", "net", "-o", "bad", "-q")
    os.symlink(".", "here")
    for one, two in (("w", "./w"), ("w", "here/w"), ("bad/../w", "w")):
        one_line(hopbound("refute", "bad", "-o", one, "--prompts", two), 2, "--prompts: .*w: is where --output writes")
        one_line(hopbound("run", "bad", "-p", one, "--checkpoint", two), 2, "--checkpoint: .*w: is where --predictions writes")
    check(not os.path.exists("w"))


@case
def a_network_is_not_built_over_the_configuration_that_it_is_like():
    os.mkdir("model")
    text = read(DATA + "/configs/qwen3-next-80b-a3b.json")
    write("model/config.json", text)
    one_line(hopbound("build", "--like", "model/config.json", "-o", "./model"), 2, "--output: ./model: holds what is read")
    check(read("model/config.json") == text)


def no_file(path, kind):
    if os.path.lexists(path):
        os.remove(path)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        os.symlink("/dev/zero", path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(path)
    else:
        os.symlink("/", path)


@case
def a_network_whose_files_are_none_is_refused_at_once():
    build("net")
    good("damage", "net", "-o", "bad", "-q")
    good("refute", "bad", "-o", "w.json", "-q", code=10)
    config, weights = network("net")
    for kind in ("pipe", "device", "socket", "directory"):
        says = "is a directory" if kind == "directory" else "is not a file"
        for name, other in (("config.json", config), ("model.safetensors", weights)):
            no_file(f"net/{name}", kind)
            for verb in (["run", "net"], ["prove", "net"], ["play", "net"], ["refute", "net"], ["damage", "net", "-o", "more"],
                         ["check", "w.json", "net"]):
                began = time.monotonic()
                one_line(hopbound(*verb), 1, rf"{verb[0]}: net/{name}: {says}")
                check(time.monotonic() - began < 1.5, why=f"{verb} {kind}: too slow")
            os.remove(f"net/{name}")
            write(f"net/{name}", other)
    os.rename("net/model.safetensors", "net/part")
    no_file("net/model.safetensors.index.json", "pipe")
    one_line(hopbound("run", "net"), 1, "run: net/model.safetensors.index.json: is not a file")
    os.remove("net/model.safetensors.index.json")
    write("net/model.safetensors.index.json", json.dumps({"weight_map": {"x": "shard"}}))
    no_file("net/shard", "pipe")
    one_line(hopbound("run", "net"), 1, "run: net/shard: is not a file")


@case
def checkpoints_that_are_no_files_are_refused_at_once():
    build("net")
    no_file("at", "pipe")
    one_line(hopbound("run", "net", "--checkpoint", "at"), 1, "run: at: is not a file")
    os.mkdir("trained")
    no_file("trained/checkpoint.safetensors", "pipe")
    one_line(hopbound("train", "--resume", "trained"), 1, "train: trained/checkpoint.safetensors: is not a file")


def through_a_pipe(text, args, pause):
    """Runs args, in which "pipe" is a pipe that somebody writes `text` to after `pause` seconds."""
    os.mkfifo("pipe")
    write("text", text)
    writer = subprocess.Popen(["sh", "-c", f"exec >pipe; sleep {pause}; cat text"])
    r = hopbound(*args)
    check(writer.wait(timeout=60) == 0, r)
    os.remove("pipe")
    return r


@case
def files_that_are_named_may_be_pipes():
    recipe = {"pattern": "F", "d_model": 8, "heads": 2, "steps": 2, "batch": 2, "eval_count": 2, "task": {"hops": 1, "m": 2}}
    for pause in (0, 3):  # a writer may be slow
        for text, args in ((json.dumps(recipe), ["train", "--config", "pipe", "-o", f"net{pause}", "-q"]),
                           (json.dumps({"runs": [recipe]}), ["sweep", "pipe", "-o", f"{pause}.db", "-q"]),
                           (read(DATA + "/configs/llama-3.1-8b.json"), ["audit", "pipe", "--plan-only"]),
                           (read(DATA + "/cores/attention.safetensors"), ["core", "attention", "--input", "pipe"])):
            r = through_a_pipe(text, args, pause)
            check(r.code == 0 or "built without SQLite" in r.err, r)
    os.mkfifo("pipe")
    for args in (["train", "--config", "pipe", "-o", "net"], ["sweep", "pipe", "-o", "db"], ["core", "attention", "--input", "pipe"],
                 ["check", "pipe", "net0"]):
        one_line(hopbound(*args), 1, f"{args[0]}: pipe: a pipe that nobody writes to")


@case
def a_file_that_is_cut_while_it_is_read_is_one_line():
    good("build", "random", "--pattern", "F^4", "--d-model", 512, *SIZES, "-o", "net", "-q")
    whole = read("net/model.safetensors")
    began, cut = time.monotonic(), 0
    good("run", "net", "--count", 1, "-q")
    takes = time.monotonic() - began
    for k in range(24):
        write("net/model.safetensors", whole)
        p = subprocess.Popen([harness.PROGRAM, "run", "net", "--count", "1", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(takes * k / 24)
        os.truncate("net/model.safetensors", 65536)
        out, err = p.communicate(timeout=60)
        check(p.returncode == 0 or (p.returncode == 1 and err.count(b"\n") == 1), why=f"{k}: {p.returncode} {err!r}")
        cut += p.returncode == 1
    check(cut > 0, why="never in time")


ODD = "o\x1b]0;x\x07\x1b[31m\nproved\u009b2J\u202e"  # a title, a colour, a line, a clear screen, letters turned round


def calm(r, *, lines=None):
    """Nothing that a terminal obeys, and no line that a name made."""
    for text in (r.out, r.err):
        check(not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), r, "an escape came through")
        check(not re.search("^proved", text, re.M), r, "a name made a line")
    return r


@case
def names_reach_the_terminal_without_their_escapes():
    net, bad, out = ODD, ODD + "bad", ODD + ".out"
    calm(good("build", "full", "-o", net, *SIZES))
    calm(good("damage", net, "-o", bad))
    good("task", *SIZES, "--count", 3, "--format", "jsonl", "-o", "in")
    witness = calm(good("refute", bad, "-o", out, code=10))
    check("witness: " in witness.out, witness)
    os.mkdir("dir" + ODD)
    write("dir" + ODD + "/" + ODD + ".json", read(DATA + "/configs/llama-3.1-8b.json"))
    for args in (("run", net), ("prove", net), ("prove", bad), ("play", net), ("check", out, bad), ("task", *SIZES, "-o", out),
                 ("audit", net), ("audit", "dir" + ODD), ("audit", "dir" + ODD, "--format", "markdown"), ("audit", "dir" + ODD, "--format", "csv"),
                 ("audit", net, "--format", "markdown"), ("train", "--pattern", "F", "--d-model", 8, *SIZES, "--steps", 2, "-o", "t" + ODD),
                 ("run", "no" + ODD), ("prove", net, "--" + ODD), ("build", "--like", ODD, "-o", "x"), ("sweep", ODD, "-o", "x"), (ODD,), ("--" + ODD,),
                 ("help", ODD), ("core", ODD, "--input", "x"), ("mixers", ODD), ("bound", "--pattern", ODD), ("run", net, "--input", ODD)):
        r = calm(hopbound(*args))
        check(r.code in (0, 1, 2, 10), r)
    check(good_json("run", net)["correct"] > 0)
    check(json.loads(good("build", "full", "-o", net, *SIZES, "--json").out)["dir"] == net)


@case
def a_sweep_says_names_without_their_escapes():
    write("sweep.json", json.dumps({"runs": [{"pattern": "L", "mixer": "x\x1b[31m\nproved", "steps": 2, "task": {"hops": 1, "m": 2}}]}))
    r = calm(hopbound("sweep", "sweep.json", "-o", ODD + ".db"))
    check(r.code == 0 or "built without SQLite" in r.err, r)
    calm(hopbound("sweep", "sweep.json", "-o", ODD + ".db", "--show", "--picture", ODD + ".svg"))
