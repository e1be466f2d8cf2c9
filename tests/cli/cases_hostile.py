"""Bad files, full disks, closed pipes, signals, memory, terminals."""
import json, os, pty, re, resource, select, signal, subprocess, time
import harness
from harness import case, check, good, good_json, hopbound, one_line, read, write

ENDLESS = ["task", "--hops", "3", "--m", "16", "--fan", "8", "--count", "1000000000", "--format", "jsonl"]


def build():
    good("build", "full", "-o", "net", "--hops", 2, "--m", 2, "--fan", 2)


@case
def missing_files_and_directories_are_exit_1():
    for verb in ("run", "prove"):
        one_line(hopbound(verb, "nowhere"), 1, rf"{verb}: nowhere.*: ")
    one_line(hopbound("core", "attention", "--input", "nowhere"), 1, r"core: nowhere: No such file")
    one_line(hopbound("task", "--check", "nowhere"), 1, r"task: nowhere: No such file")
    one_line(hopbound("task", "--check", "."), 1, r"task: \.: is a directory")
    one_line(hopbound("core", "attention", "--input", "."), 1, r"core: \.: is a directory")
    build()
    one_line(hopbound("run", "net", "--input", "nowhere"), 1, r"run: nowhere: No such file")
    one_line(hopbound("run", "net/config.json"), 1, r"run: net/config\.json")


@case
def a_pipe_is_read_but_not_waited_for_when_nobody_writes_to_it():
    build()
    os.mkfifo("pipe")
    began = time.monotonic()
    for verb in (["run", "net", "--input", "pipe"], ["play", "net", "--input", "pipe"], ["task", "--check", "pipe"]):
        one_line(hopbound(*verb), 1, rf"{verb[0]}: pipe: a pipe that nobody writes to")
    one_line(hopbound("run", "net", "--input", "/dev/zero"), 1, r"run: /dev/zero: neither a file nor a pipe")
    check(time.monotonic() - began < 20, why="too slow")
    good("task", "--hops", 2, "--m", 2, "--fan", 2, "--count", 7, "--format", "jsonl", "-o", "t.jsonl")
    for pause in ("0", "3"):  # a writer may be slow
        writer = subprocess.Popen(["sh", "-c", f"exec >pipe; sleep {pause}; cat t.jsonl"])
        got = good_json("run", "net", "--input", "pipe")
        check(writer.wait() == 0 and got["correct"] == got["instances"] == 7, why=str(got))
    check(good_json("run", "net", "--input", "/dev/stdin", stdin=read("t.jsonl"))["correct"] == 7)


@case
def outputs_that_cannot_be_written_are_exit_1():
    build()
    write("file", "x")
    one_line(hopbound("task", "-o", "no/such/dir"), 1, r"task: no/such/dir: No such file")
    one_line(hopbound("task", "-o", "net"), 1, r"task: net: is a directory")
    one_line(hopbound("task", "-o", "file/x"), 1, r"task: file/x: Not a directory")
    one_line(hopbound("run", "net", "--predictions", "file/x"), 1, r"run: file/x: ")
    one_line(hopbound("build", "full", "-o", "file"), 1, r"build: file")
    one_line(hopbound("build", "full", "-o", "file/x"), 1, r"build: file/x")
    check(read("file") == b"x")


@case
def broken_networks_are_exit_1_and_one_line():
    build()
    config, weights = read("net/config.json"), read("net/model.safetensors")
    bad_configs = [b"", b"{", b"[]", b"\xff", config[:-20], config.replace(b'"full', b'"fool'), b'{"model_type":"gpt2"}',
                   config.replace(b'"hops"', b'"hips"'), b"{" * 10000]
    bad_weights = [b"", weights[:4], weights[:-1], weights + b"x", b"\xff" * 8 + weights[8:], weights[:8] + b"[" + weights[9:],
                   weights.replace(b'"F32"', b'"F33"', 1), weights.replace(b'"F32"', b'"F16"', 1)]
    for verb in ("run", "prove"):
        for bad in bad_configs:
            write("net/config.json", bad)
            one_line(hopbound(verb, "net"), 1, rf"{verb}: ")
        write("net/config.json", config)
        for bad in bad_weights:
            write("net/model.safetensors", bad)
            one_line(hopbound(verb, "net"), 1, rf"{verb}: net/model\.safetensors")
        write("net/model.safetensors", weights)
    os.remove("net/model.safetensors")
    one_line(hopbound("run", "net"), 1, r"run: net")
    for bad in bad_weights:
        write("in", bad)
        one_line(hopbound("core", "attention", "--input", "in"), 1, r"core: in: ")


PRINTING = [["task"], ["task", "--json"], ["task", "--count", "100000", "--format", "jsonl"], ["--help"], ["--version"],
            ["task", "--help"], ["--man"], ["mixers"], ["mixers", "--json"], ["run", "net"], ["run", "net", "--json"],
            ["prove", "net"], ["prove", "net", "--json"], ["build", "full", "-o", "net2", "--json"]]


@case
def a_full_disk_on_standard_output_is_exit_1():
    build()
    for args in PRINTING:
        with open("/dev/full", "wb") as full:
            one_line(hopbound(*args, stdout=full), 1, r"standard output: No space left")


@case
def a_closed_pipe_on_standard_output_is_exit_1():
    build()
    for args in PRINTING:
        r, w = os.pipe()
        os.close(r)
        with os.fdopen(w, "wb") as out:
            one_line(hopbound(*args, stdout=out), 1, r"standard output: Broken pipe")


@case
def a_closed_standard_output_is_exit_1_and_never_lands_in_a_file():
    build()
    one_line(hopbound("mixers", preexec_fn=lambda: os.close(1), stdout=None), 1, r"standard output: ")
    r = hopbound("task", "--json", "--format", "jsonl", "-o", "out", preexec_fn=lambda: os.close(1), stdout=None)
    check(r.code == 1, r)
    check(not os.path.exists("out") or len(read("out").splitlines()) == 1, r)


@case
def devices_as_output_are_written_and_left_in_place():
    good("task", "-o", "/dev/null")
    one_line(hopbound("task", "-o", "/dev/full"), 1, r"task: /dev/full: No space left")
    check(not os.path.isfile("/dev/null") and not os.path.isfile("/dev/full"))


def start(args, **kw):
    return subprocess.Popen([harness.PROGRAM, *args], stderr=subprocess.PIPE, **kw)


@case
def interrupting_stops_cleanly_and_leaves_nothing():
    for number in (signal.SIGINT, signal.SIGTERM):
        p = start([*ENDLESS, "--quiet", "-o", "out"])
        while not os.listdir("."):
            time.sleep(0.01)
        time.sleep(0.2)
        p.send_signal(number)
        err = p.communicate(timeout=60)[1].decode()
        check(p.returncode == 1 and err == "hopbound: task: stopped: by a signal\n", why=f"{p.returncode} {err!r}")
        check(os.listdir(".") == [], why=str(os.listdir(".")))


@case
def interrupting_a_wait_for_input_stops_too():
    p = start(["task", "--check", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    p.wait(timeout=20)
    err = p.stderr.read().decode()
    check(p.returncode == 1 and err.count("\n") == 1, why=f"{p.returncode} {err!r}")
    for f in (p.stdin, p.stdout, p.stderr):
        f.close()


@case
def killing_leaves_the_old_file_or_none():
    for old in (None, b"old"):
        for f in os.listdir("."):
            os.remove(f)
        if old:
            write("out", old)
        p = start([*ENDLESS, "--quiet", "-o", "out"])
        time.sleep(0.4)
        p.kill()
        p.communicate(timeout=60)
        check((read("out") if os.path.exists("out") else None) == old)


@case
def progress_is_a_line_now_and_then_and_quiet_stops_it():
    for quiet in (False, True):
        with open("/dev/null", "wb") as null:
            p = start(ENDLESS + (["--quiet"] if quiet else []), stdout=null)
            time.sleep(3)
            p.send_signal(signal.SIGINT)
            lines = p.communicate(timeout=60)[1].decode().splitlines()
        check(lines[-1] == "hopbound: task: stopped: by a signal", why=str(lines))
        if quiet:
            check(len(lines) == 1, why=str(lines))
        else:
            pattern = r"hopbound: task: instances: \d+/1000000000, [\d.]+[kM]?/s, .* left"
            check(len(lines) == 2 and re.fullmatch(pattern, lines[0]), why=str(lines))


@case
def progress_on_a_terminal_is_a_bar_that_is_cleared():
    main, child = pty.openpty()
    with open("/dev/null", "wb") as null:
        p = subprocess.Popen([harness.PROGRAM, *ENDLESS], stdout=null, stderr=child)
    os.close(child)
    seen, until = b"", time.time() + 1.5
    while time.time() < until:
        if select.select([main], [], [], 0.1)[0]:
            seen += os.read(main, 65536)
    p.send_signal(signal.SIGINT)
    p.wait(timeout=60)
    try:
        while True:
            seen += os.read(main, 65536)
    except OSError:
        pass  # the terminal is gone
    os.close(main)
    text = seen.decode()
    check("\rinstances  [" in text and " left\x1b[K" in text, why=repr(text[:300]))
    check(text.count("\r") <= 2 * 15 + 4, why=f"{text.count(chr(13))} drawings in 1.5 s")
    check(text.rstrip().endswith("\r\x1b[Khopbound: task: stopped: by a signal"), why=repr(text[-200:]))


def peak_memory(args):
    env = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"}  # else freed memory counts in sanitizer builds
    p = subprocess.Popen([harness.PROGRAM, *map(str, args)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    check(p.returncode == 0, why=f"{args}: exit {p.returncode}")
    return usage.ru_maxrss / 1024


@case
def memory_does_not_grow_with_the_number_of_instances():
    build()
    good("task", "--hops", 2, "--m", 2, "--fan", 2, "--count", 60000, "--format", "jsonl", "-o", "t.jsonl")
    few, many = ([["task", "--count", n, "--format", f] for f in ("text", "json", "jsonl")] for n in (10, 60000))
    few += [["run", "net", "--count", 300], ["run", "net", "--input", "t.jsonl", "--count", 300], ["task", "--check", "t.jsonl"]]
    many += [["run", "net", "--count", 60000], ["run", "net", "--input", "t.jsonl"], ["task", "--check", "t.jsonl"]]
    for small, large in zip(few, many):
        before, after = peak_memory(small), peak_memory(large)
        check(after < before + 16, why=f"{large}: {before:.0f} -> {after:.0f} MiB")


@case
def a_huge_prompt_without_the_memory_for_it_is_a_failure_not_a_crash():
    if b"__asan_init" in read(harness.PROGRAM):
        raise harness.Skip("the sanitizer needs the address space")
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
    r = hopbound("task", "--hops", 1, "--m", (1 << 26) - 2, preexec_fn=limit)
    one_line(r, 1, r"task: .*out of memory")


@case
def instances_that_fill_the_memory_are_refused():
    one_line(hopbound("task", "--hops", 1, "--m", "1e9"), 2, r"task: sizes: a prompt of 1000000002 tokens; instances of up to 67108864")
