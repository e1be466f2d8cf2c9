"""train: recipes, what it writes, signals, kill -9, full disks."""
import json, os, random, resource, shutil, signal, subprocess, time
import harness
from harness import case, check, good, good_json, hopbound, lines_of, one_line, read, write
from cases_play import MPI_QUIET, mpirun

LONG = bool(os.environ.get("HOPBOUND_LONG"))
TINY = ("--pattern", "F F", "--d-model", 16, "--heads", 2, "--hops", 1, "--m", 3, "--batch", 8, "--groups", 4, "--warmup", 5,
        "--eval-count", 32, "--eval-every", 20, "--checkpoint-every", 10)
KEYS = ("steps", "loss", "accuracy", "interval", "chance", "tokens_per_second", "seconds", "accuracy_ceiling", "dir")


def same_network(a, b):
    return read(f"{a}/model.safetensors") == read(f"{b}/model.safetensors")


@case
def a_trained_network_is_a_network():
    r = good_json("train", *TINY, "--steps", 40, "-o", "net", keys=KEYS)
    check(r["steps"] == 40 and r["chance"] == 1 / 3 and r["accuracy_ceiling"] is None, why=str(r))
    check(r["interval"][0] <= r["accuracy"] <= r["interval"][1], why=str(r))
    log = lines_of(read("net/log.jsonl").decode())
    check([(x["step"], x["last"]) for x in log] == [(20, False), (40, False), (40, True)], why=str(log))
    check(json.loads(read("net/config.json"))["construction"]["recipe"]["steps"] == 40)
    ran = good_json("run", "net", "--count", 50)
    check(ran["instances"] == 50, why=str(ran))
    check(hopbound("prove", "net", "--quiet").code in (0, 10, 30))
    good("play", "net", "--quiet")


@case
def a_network_that_was_there_is_not_lost():
    good("build", "full", "--hops", 1, "--m", 3, "-q", "-o", "net")
    weights = read("net/model.safetensors")
    one_line(hopbound("train", *TINY, "--steps", 2, "-o", "net"), 1, r"train: net: holds a network; choose another directory")
    check(read("net/model.safetensors") == weights and sorted(os.listdir("net")) == ["config.json", "model.safetensors"])


@case
def what_memory_cannot_hold_is_refused_at_once():
    began = time.time()
    r = hopbound("train", "--pattern", "F F", "--hops", 1, "--m", 100000000, "-o", "net")
    one_line(r, 1, r"train: .*gradients take 998\.4 GB; [0-9.]+ GB of memory are left")
    check(time.time() - began < 5 and not os.path.exists("net"), r)


@case
def the_number_of_threads_changes_no_bit():
    good("train", *TINY, "--steps", 30, "--threads", 1, "-o", "a", "--quiet")
    good("train", *TINY, "--steps", 30, "--threads", 2, "-o", "b", "--quiet")
    check(same_network("a", "b"))
    good("train", *TINY, "--steps", 30, "--seed", 1, "-o", "c", "--quiet")
    check(not same_network("a", "c"), why="another seed, the same bits")


def over_ranks(ranks, verb, *args):
    p = subprocess.run([*mpirun(ranks)[:-1], verb, *map(str, args)], capture_output=True, timeout=120, env={**os.environ, **MPI_QUIET})
    return harness.Result([verb, *map(str, args)], p.returncode, p.stdout.decode(), p.stderr.decode())


@case
def the_number_of_ranks_changes_no_bit():
    mpirun(1)
    good("train", *TINY, "--steps", 30, "-o", "alone", "--quiet")
    for ranks in (2, 3):
        r = over_ranks(ranks, "train", *TINY, "--steps", 30, "--threads", 1, "-o", f"net{ranks}", "--json")
        check(r.code == 0 and json.loads(r.out)["steps"] == 30, r)
        check(same_network("alone", f"net{ranks}"), r)
    r = over_ranks(2, "train", "--resume", "net3", "--json")
    check(r.code == 0 and json.loads(r.out)["steps"] == 30, r)
    r = over_ranks(2, "train", "--pattern", "Q", "-o", "bad")
    check(r.code != 0 and r.err.count("hopbound: train:") == 1, r, "what is wrong is said once")


@case
def a_recipe_comes_from_a_file_and_flags_win():
    write("r.json", json.dumps({"pattern": "L F", "mixer": "gla", "d_model": 16, "heads": 2, "steps": 7, "batch": 4, "eval_count": 8,
                                "task": {"name": "recall", "pairs": 2, "queries": 2, "keys": 3, "values": 3}}))
    r = good_json("train", "--config", "r.json", "--steps", 3, "-o", "net")
    check(r["steps"] == 3 and r["task"]["name"] == "recall", why=str(r))


@case
def every_task_can_be_trained():
    for name, more in (("two-sum", ("--n", 6, "--mod", 4)), ("recall", ("--pairs", 2, "--queries", 3)), ("khop", ("--n", 8,))):
        r = good_json("train", "--task", name, *more, "--pattern", "F F", "--d-model", 16, "--steps", 5, "--batch", 4, "--eval-count", 64,
                      "-o", name)
        check(0 < r["chance"] < 1 if name == "khop" else 0 <= r["chance"] < 1, why=str(r))


@case
def easier_tasks_come_first_when_a_curriculum_says_so():
    for over in ("hops", "sizes"):
        args = ("--pattern", "L F F", "--mixer", "gla", "--d-model", 16, "--hops", 3, "--m", 4, "--fan", 2, "--steps", 40, "--batch", 8, "--warmup", 2,
                "--eval-every", 0, "--eval-count", 16, "--checkpoint-every", 5, "--curriculum", over)
        good("train", *args, "-o", over, "--quiet")
        good("train", *args, "--threads", 1, "-o", over + "1", "--quiet")
        check(same_network(over, over + "1"), why=over)
        good("train", *args, "--curriculum", "none", "-o", over + "2", "--quiet")
        check(not same_network(over, over + "2"), why=over)


@case
def linear_layers_only_are_shown_beside_p3s_ceiling():
    r = good_json("train", "--pattern", "L", "--mixer", "retnet", "--d-model", 4, "--heads", 1, "--hops", 1, "--m", 512, "--steps", 2,
                  "--batch", 2, "--eval-count", 16, "-o", "net")
    check(0 < r["accuracy_ceiling"] < 1, why=str(r))


@case
def bad_recipes_are_one_line():
    for args, pattern, code in (
            (("--pattern", "Q"), "column 1", 2), (("--lr", -1), "--lr", 2), (("--beta1", 1), "--beta1", 2),
            (("--mixer", "nope", "--pattern", "L"), "nope", 2), (("--steps", 0), "--steps", 2), (("--norm", "x"), "--norm", 2),
            (("--d-model", 10), "head_dim", 2), (("--config", "none.json"), "none.json", 1), (("--config", "bad.json"), "stpes", 1),
            (("--config", "list.json"), "object", 1), (("--supervise", "all"), "--supervise", 2), (("--mixer", "nope", "--pattern", "F"), "nope", 2),
            (("--config", "fan.json", "--hops", 2), "--fan: missing: the one in fan.json is for 3 hops", 2), (("--config", "twice.json"), "d-model: stands twice", 1), (("--config", "task.json"), "task: bogus: unknown key", 1)):
        write("bad.json", '{"stpes": 3}')
        write("fan.json", '{"task": {"hops": 3, "m": 2, "fan": [2, 3]}}')
        write("twice.json", '{"d_model": 8, "d-model": 16}')
        write("task.json", '{"task": {"name": "khop", "n": 8, "alphabet": 4, "hops": 2, "bogus": 3}}')
        write("list.json", "[1]")
        one_line(hopbound("train", *args, "-o", "net"), code, pattern)
        check(not os.path.exists("net"), why=str(args))
    one_line(hopbound("train"), 2, "--output: missing")
    one_line(hopbound("train", "--resume", "nothing"), 1, "nothing")
    good("train", *TINY, "--steps", 3, "-o", "net", "--quiet")
    before = read("net/checkpoint.safetensors")
    one_line(hopbound("train", *TINY, "--steps", 3, "-o", "net"), 1, "holds the checkpoint of a training")
    good("build", "full", "--hops", 1, "--m", 3, "-o", "built")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(f"built/{name}", f"net/{name}")
    built = read("net/model.safetensors")
    one_line(hopbound("train", "--resume", "net"), 1, "config.json: is not the network of the checkpoint beside it")
    check(read("net/model.safetensors") == built, why="a network that was built there is lost")
    one_line(hopbound("train", "--resume", "net", "--lr", 1), 2, "--lr: not with --resume")
    one_line(hopbound("train", "--resume", "net", "--m", 3), 2, "--task: not with --resume")
    check(read("net/checkpoint.safetensors") == before)


def start(*args):
    return subprocess.Popen([harness.PROGRAM, "train", *map(str, args), "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path):
    for _ in range(3000):
        if os.path.exists(path):
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} did not come")


@case
def two_processes_do_not_train_in_one_directory():
    p = start(*TINY, "--steps", 1000000, "-o", "net")
    wait_for("net/model.safetensors")
    one_line(hopbound("train", "--resume", "net"), 1, "net: another process works in it")
    one_line(hopbound("train", *TINY, "--steps", 3, "-o", "net"), 1, "net: another process works in it")
    p.kill()
    p.wait()
    p = start("--resume", "net")  # a lock ends with its process
    time.sleep(0.2)
    p.send_signal(signal.SIGINT)
    check(b"stopped" in p.communicate(timeout=60)[1])


@case
def a_signal_is_heard_within_a_step():
    p = start(*TINY, "--batch", 1 << 20, "--steps", 5, "-o", "net")
    wait_for("net/model.safetensors")
    time.sleep(0.2)
    p.send_signal(signal.SIGTERM)
    check(b"stopped" in p.communicate(timeout=60)[1])
    check(b'"step":"0"' in read("net/checkpoint.safetensors")[:4096], why="the step was finished first")


@case
def what_a_signal_stops_is_kept_at_that_step():
    p = start(*TINY, "--checkpoint-every", 0, "--steps", 1000000, "-o", "net")
    wait_for("net/log.jsonl")
    while not read("net/log.jsonl"):
        time.sleep(0.01)
    p.send_signal(signal.SIGTERM)
    check(b"stopped" in p.communicate(timeout=60)[1])
    check(b'"step":"0"' not in read("net/checkpoint.safetensors")[:4096])


@case
def a_network_that_breaks_is_not_kept():
    wild = ("--lr", 1e30, "--lr-end", 1, "--warmup", 0)
    one_line(hopbound("train", *TINY, *wild, "--steps", 1, "-o", "one"), 1, "step 0: .* not finite")
    one_line(hopbound("train", *TINY, *wild, "--steps", 9, "--checkpoint-every", 1, "-o", "nine"), 1, "not finite")
    check(b'"step":"0"' in read("nine/checkpoint.safetensors")[:4096], why="what was before stands")
    for pattern, mixer in (("F F", "full"), ("L F", "gla")):
        r = hopbound("train", *TINY, *wild, "--clip", 0, "--pattern", pattern, "--mixer", "gla", "--steps", 5, "-o", mixer)
        one_line(r, 1, rf"step 1: what comes out of layer 0 \({mixer}\) is not finite")


@case
def a_signal_keeps_a_checkpoint_that_resumes_to_the_same_bits():
    good("train", *TINY, "--steps", 1500, "-o", "whole", "--quiet")
    for number in (signal.SIGINT, signal.SIGTERM):
        shutil.rmtree("net", ignore_errors=True)
        p = start(*TINY, "--steps", 1500, "-o", "net")
        wait_for("net/checkpoint.safetensors")
        time.sleep(random.random() * 0.1)
        p.send_signal(number)
        err = p.communicate(timeout=60)[1].decode()
        if p.returncode != 0:  # it may have been faster
            check(p.returncode == 1 and err == "hopbound: train: stopped: by a signal; `hopbound train --resume net` continues\n",
                  why=f"{p.returncode} {err!r}")
        good("train", "--resume", "net", "--quiet")
        check(same_network("whole", "net"))


@case
def kill_9_at_any_moment_loses_at_most_one_interval():
    args = (*TINY, "--steps", 400)
    good("train", *args, "-o", "whole", "--quiet")
    took = time.time()
    good("train", *args, "-o", "timed", "--quiet")
    took = time.time() - took
    dice = random.Random(11)
    p = start(*args, "-o", "net")
    for _ in range(50 if LONG else 8):
        time.sleep(dice.random() * took / 4)
        p.kill()
        p.communicate()
        if p.returncode == 0:  # it was done
            check(same_network("whole", "net"))
            shutil.rmtree("net")
        resumes = os.path.exists("net/checkpoint.safetensors")
        if not resumes:
            shutil.rmtree("net", ignore_errors=True)
        p = start("--resume", "net") if resumes else start(*args, "-o", "net")
    err = p.communicate(timeout=120)[1].decode()
    check(p.returncode == 0, why=f"{p.returncode} {err!r}")
    check(same_network("whole", "net"))
    check(lines_of(read("net/log.jsonl").decode())[-1]["last"])


@case
def a_full_disk_is_one_line_and_the_last_checkpoint_stands():
    good("train", *TINY, "--steps", 60, "-o", "whole", "--quiet")
    p = start(*TINY, "--steps", 60, "--checkpoint-every", 30, "-o", "net")
    wait_for("net/checkpoint.safetensors")
    p.kill()
    p.communicate()
    before, there = read("net/checkpoint.safetensors"), sorted(os.listdir("net"))

    def small():  # files can grow to half a checkpoint; writing more fails, as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))

    if b'"step":"60"' not in before:
        one_line(hopbound("train", "--resume", "net", "--quiet", preexec_fn=small), 1, "checkpoint.safetensors: ")
        check(read("net/checkpoint.safetensors") == before)
        ours = {"checkpoint.safetensors", "config.json", "log.jsonl", "model.safetensors"}  # it was killed early: some came later
        check(set(os.listdir("net")) <= set(there) | ours, why=f"{there} became {os.listdir('net')}")
    good("train", "--resume", "net", "--quiet")
    check(same_network("whole", "net"))
    one_line(hopbound("train", *TINY, "-o", "new", "--quiet", preexec_fn=small), 1, "new/")
    check(not os.path.exists("new"))


@case
def what_is_not_finite_stops_with_step_and_tensor():
    one_line(hopbound("train", *TINY, "--steps", 50, "--lr", 1e30, "--clip", 0, "-o", "net", "--quiet"), 1, r"step \d+: .* is not finite")
    good("run", "net", "--count", 5)


@case
def passes_at_once_are_not_promised_more_memory_than_there_is():
    """From what one pass cannot have down to what one could and two cannot: it never comes to a pass."""
    m, said = 1 << 23, []
    while not said or "cannot hold" in said[-1].err:
        said.append(hopbound("train", "--pattern", "F^64", "--hops", 1, "--m", m, "--d-model", 8, "--heads", 1, "--batch", 2,
                             "--groups", 2, "--steps", 1, "--eval-count", 1, "--threads", 2, "-o", "net", "-q"))
        m //= 2
    one_line(said[-1], 1, r"train: 2 passes at once take \d+[.]\d GB each, and there is not so much memory: fewer threads")
    check(len(said) > 1 and not os.path.exists("net"), said[0])


@case
def the_ladder_draws_what_was_learnt():
    args = ("ladder", "--rungs", 1, "--brief", "--count", 1, "--train", "--train-steps", 3, "--seeds", 2, "-o", "ladder")
    got = good_json(*args)
    rows = got["learnt"]
    check({r["pattern"] for r in rows} == {"F F", "L F", "F", "L L"} and len(rows) == 12, why=str(rows)[:600])
    for r in rows:
        check(len(r["accuracies"]) == 2 and r["least"] <= r["mean"] <= r["most"] and r["chance"] == 1 / r["entries"],
              why=str(r))
        check((r["ceiling"] is not None) == (r["pattern"] == "L L"), why=str(r))
    check(min(r["ceiling"] for r in rows if r["pattern"] == "L L") < 0.9, why="a state that narrow has a ceiling")
    page = read("ladder/report.html").decode()
    check('id="learnt"' in page and "What gradient descent finds" in page)
    check(read("ladder/learnt.svg").startswith(b"<svg"))
    again = good_json(*args, "--threads", 1)  # trainings that are done are not repeated, and threads change nothing
    check([r["accuracies"] for r in again["learnt"]] == [r["accuracies"] for r in rows])
    check("learnt by gradient descent, 1 hop" in good(*args).out)


@case
def what_a_recipe_file_says_wrong_is_named_with_its_file():
    small = ("--d-model", 8, "--heads", 2, "--steps", 2)
    write("r.json", json.dumps({"pattern": "L", "mixer": "nope", "task": {"hops": 1, "m": 2}}))
    one_line(hopbound("train", "--config", "r.json", "-o", "net", *small), 2, 'train: r.json: mixer: unknown name "nope"')
    one_line(hopbound("train", "--config", "r.json", "--mixer", "nil", "-o", "net", *small), 2, 'train: mixer: unknown name "nil"')
    good("train", "--config", "r.json", "--mixer", "gla", "-o", "net", "-q", *small)


@case
def a_curriculum_over_hops_needs_a_task_that_has_some():
    small = ("--pattern", "F", "--d-model", 8, "--steps", 2, "--curriculum", "hops")
    for task in ("recall", "two-sum"):
        one_line(hopbound("train", *small, "--task", task, "-o", "net"), 2, f"train: curriculum: hops: {task} has none; sizes can grow")
    check(not os.path.exists("net"))
    good("train", *small, "--task", "khop", "-o", "net", "-q")


@case
def nothing_is_built_over_what_was_learnt():
    good("train", "--pattern", "F", "--d-model", 8, "--hops", 1, "--m", 2, "--steps", 2, "-o", "net", "-q")
    learnt = read("net/model.safetensors")
    good("build", "full", "--hops", 1, "--m", 2, "-o", "other")
    for args in (("build", "full", "--hops", 1, "--m", 2, "-o", "net"), ("build", "random", "--pattern", "F", "-o", "net"),
                 ("damage", "other", "-o", "net")):
        one_line(hopbound(*args), 1, f"{args[0]}: net: holds a training, whose network this would replace; choose another directory")
    check(read("net/model.safetensors") == learnt)
    good("run", "net", "--count", 1)
