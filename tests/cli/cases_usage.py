"""Help, man pages, wrong usage."""
import os, pty, re, shutil, subprocess
import harness
from harness import Skip, case, check, good, good_json, hopbound, one_line

COMMON = ["--json", "--quiet", "--seed", "--threads", "--isa", "--help"]


def verbs():
    listed = good("--help").out.split("Verbs:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.M)


@case
def the_help_lists_every_verb_of_the_first_rung():
    check({"task", "build", "run", "prove", "core", "mixers", "bench", "ladder"} <= set(verbs()), why=str(verbs()))


@case
def every_verb_explains_itself_and_its_common_options():
    for verb in verbs():
        for flag in ("--help", "-h"):
            r = good(verb, flag)
            check(r.err == "" and r.out.startswith(f"Usage: hopbound {verb}"), r)
            check(all(option in r.out for option in COMMON), r, "common options")
            check("Examples:" in r.out, r)
            check(max(map(len, r.out.splitlines())) <= 110, r, "long lines")


@case
def every_verb_has_a_man_page_that_renders_without_warnings():
    groff = shutil.which("groff")
    for verb in ["", *verbs()]:
        page = good(*(["--man", verb] if verb else ["--man"])).out
        check(page.startswith(".TH "), why=page[:80])
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
            check(f".SH {section}\n" in page, why=f"{verb}: no {section}")
        if verb:
            options = set(re.findall(r"^  (?:-\w, |    )--([a-z0-9-]+)", good(verb, "--help").out, re.M))
            manned = {o.replace("\\-", "-") for o in re.findall(r"^(?:\\fB\\-\w\\fR, )?\\fB\\-\\-([a-z0-9\\-]+)\\fR", page, re.M)}
            check(options == manned, why=f"{verb}: help and man differ in {options ^ manned}")
        if groff:
            p = subprocess.run([groff, "-ww", "-man", "-Tutf8"], input=page.encode(), capture_output=True)
            check(p.returncode == 0 and p.stderr == b"", why=f"{verb}: groff: {p.stderr.decode()}")
    if not groff:
        raise Skip("no groff")


@case
def sizes_may_be_written_as_the_field_writes_them():
    for text, value in {"32k": 32768, "32K": 32768, "1M": 1 << 20, "1.5M": 3 << 19, "0.5k": 512, "1e6": 10**6, "1.25e3": 1250,
                        "2G": 2 << 30, "007": 7, "1e0": 1}.items():
        n = good_json("bound", "--pattern", "F", "--hops", "1", "--n", text)["n"]
        check(n == value, why=f"{text}: {n}")
    for text in ("1.5", "1.k", ".5k", "1kk", "1e", "1e+3", "k", "1.5e0", "0.3k", "1 k", "32kb", "1e123"):
        one_line(hopbound("bound", "--pattern", "F", "--n", text), 2, r"--n: .* is not an integer")
    for text in ("1e19", "99999999999999999999", "9e18", "-1k", "10000000000G"):
        one_line(hopbound("bound", "--pattern", "F", "--n", text), 2, r"--n: .* is outside")
    check(good_json("build", "random", "--pattern", "F", "--d-model", "0.5k", "-o", "sized")["d_model"] == 512)
    check("32k is 32768" in good("--help").out and "32768" in good("--man").out)


@case
def the_version_is_printed():
    check(re.fullmatch(r"hopbound \d+\.\d+\.\d+\n", good("--version").out))
    check(good("-V").out == good("--version").out)


@case
def help_of_a_verb_is_the_verbs_help():
    check(good("help", "prove").out == good("prove", "--help").out)
    one_line(hopbound("help", "porve"), 2, r"porve: unknown verb; did you mean prove\?")


def bash_completes(script, *words):
    line = " ".join(f"'{w}'" for w in words)
    run = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hopbound; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", run], capture_output=True, text=True, check=True).stdout.split()


@case
def shells_complete_verbs_options_and_names():
    for shell in ("bash", "zsh", "fish"):
        text = good("completion", shell).out
        check(all(v in text for v in verbs()) and "message-bits" in text, why=shell)
        with open(f"complete.{shell}", "w") as f:
            f.write(text)
        if shutil.which(shell):
            subprocess.run([shell, "-n", f"complete.{shell}"], check=True)
    one_line(hopbound("completion", "cmd"), 2, r"cmd: unknown shell")
    if not shutil.which("bash"):
        raise Skip("no bash")
    check(bash_completes("./complete.bash", "hopbound", "pro") == ["prove"])
    check("--message-bits" in bash_completes("./complete.bash", "hopbound", "prove", "--me"))
    check(bash_completes("./complete.bash", "hopbound", "prove", "--method", "in") == ["interval"])


def on_a_terminal(*args, **env):
    """What hopbound prints when standard output is a terminal."""
    parent, child = pty.openpty()
    p = subprocess.Popen([harness.PROGRAM, *args], stdout=child, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    os.close(child)
    out = b""
    try:
        while block := os.read(parent, 4096):
            out += block
    except OSError:  # the other end is closed
        pass
    os.close(parent)
    p.wait()
    return out.decode()


@case
def a_terminal_shows_verdicts_in_colour_unless_it_is_asked_not_to():
    args = ["separate", "--hops", "1"]
    coloured = on_a_terminal(*args, TERM="xterm", NO_COLOR="")
    check("\x1b[31mimpossible\x1b[0m" in coloured and "\x1b[32mpossible\x1b[0m" in coloured, why=coloured)
    for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}):
        check("\x1b" not in on_a_terminal(*args, **env))
    check("\x1b" not in good(*args).out)
    check("\x1b" not in on_a_terminal(*args, "--json", TERM="xterm", NO_COLOR=""))


@case
def an_unknown_verb_is_one_line_with_a_suggestion_when_one_is_close():
    one_line(hopbound("tsk"), 2, r"tsk: unknown verb; did you mean task\?")
    one_line(hopbound("porve"), 2, r"did you mean prove\?")
    one_line(hopbound("xyzzy"), 2, r"unknown verb; `hopbound --help`")
    one_line(hopbound("ta\nsk"), 2, r"unknown verb")
    one_line(hopbound(), 2, r"no verb")
    one_line(hopbound(""), 2, r"verb")
    one_line(hopbound("--bogus"), 2, r"--bogus: unknown option")
    one_line(hopbound("--man", "bogus"), 2, r"bogus: unknown verb")


WRONG = [
    (["task", "--bogus"], r"task: --bogus: unknown option$"),
    (["task", "--cuont", "3"], r"task: --cuont: unknown option; did you mean --count\?"),
    (["task", "-Z"], r"task: -Z: unknown option"),
    (["task", "--count"], r"task: --count: needs a value, N"),
    (["task", "--count", "many"], r'task: --count: "many" is not an integer'),
    (["task", "--count="], r"task: --count: \"\" is not an integer"),
    (["task", "--count", "1.5"], r"task: --count: .* not an integer"),
    (["task", "--count", " 1"], r"task: --count: .* not an integer"),
    (["task", "--count", "-1"], r"task: --count: -1 is below 0"),
    (["task", "--count", "99999999999999999999"], r"task: --count: 9+ is above"),
    (["task", "--quiet=yes"], r"task: --quiet: takes no value"),
    (["task", "--format", "xml"], r'task: --format: unknown name "xml" \(known: text, json, jsonl, lm-eval\)'),
    (["task", "--task", "sorting"], r"task: --task: unknown name"),
    (["task", "--threads", "-2"], r"task: --threads: -2 is outside 0\.\.4096"),
    (["task", "--isa", "mmx"], r"task: --isa: unknown name"),
    (["task", "operand"], r"task: operand: takes no operand"),
    (["task", "--hops", "0"], r"task: --hops: 0 is outside 1\.\.64"),
    (["task", "--m", "1"], r"task: --m: 1 is outside"),
    (["task", "--fan", "2,,2"], r"task: --fan: .* list of integers"),
    (["task", "--fan", "2,"], r"task: --fan: a comma at the end"),
    (["task", "--fan", "2,1"], r"task: --fan: 1 is outside"),
    (["task", "--fan", "x"], r"task: --fan: .* not an integer"),
    (["task", "--fan", ",".join(["2"] * 64)], r"task: --fan: more than 63"),
    (["task", "--hops", "3", "--fan", "2,2,2"], r"task: --fan: 3 numbers where 3 hops need 2"),
    (["task", "--hops", "2", "--fan", ""], r"task: --fan: 0 numbers where 2 hops need 1"),
    (["task", "--hops", "40"], r"task: sizes: .* 2\^31"),
    (["task", "--m", "2147483647"], r"task: sizes: .* 2\^31"),
    (["build"], r"build: --output: missing"),
    (["build", "full"], r"build: --output: missing"),
    (["build", "castle", "-o", "x"], r"build: castle: unknown kind \(known: .*full"),
    (["build", "full", "again", "-o", "x"], r"build: again: one operand is enough"),
    (["run"], r"run: DIR: missing"),
    (["run", "x", "--precision", "0"], r"run: --precision: 0 is outside 1\.\.24"),
    (["run", "x", "--precision", "25"], r"run: --precision: 25 is outside"),
    (["prove"], r"prove: DIR: missing"),
    (["prove", "x", "--method", "guess"], r"prove: --method: unknown name"),
    (["prove", "x", "--limit", "0"], r"prove: --limit: 0 is below 1"),
    (["core"], r"core: NAME: missing"),
    (["core", "attention"], r"core: --input: missing"),
    (["core", "apple", "--input", "x"], r"core: apple: unknown core \(known: .*attention"),
    (["core", "attention", "--input", "x", "--form", "sung"], r"core: --form: unknown name"),
    (["core", "attention", "--input", "x", "--scale", "nan"], r"core: --scale: .* not a number"),
    (["core", "attention", "--input", "x", "--scale", "1x"], r"core: --scale: .* not a number"),
    (["bench", "--time", "-1"], r"bench: --time: -1 is outside"),
    (["ladder", "--rungs", "0"], r"ladder: --rungs: 0 is outside"),
    (["mixers", "--heads", "0"], r"mixers: --heads: 0 is outside"),
]


@case
def wrong_usage_is_exit_2_and_one_line_naming_verb_and_option():
    for args, pattern in WRONG:
        one_line(hopbound(*args), 2, pattern)


@case
def a_wrong_HOPBOUND_ISA_is_wrong_usage_and_a_right_one_is_used():
    one_line(hopbound("task", env={"HOPBOUND_ISA": "mmx"}), 2, r"task: HOPBOUND_ISA: unknown name")
    good("task", env={"HOPBOUND_ISA": "scalar"})
    good("task", env={"HOPBOUND_ISA": ""})


@case
def options_may_be_spelt_in_every_usual_way():
    want = good("task", "--hops", "2", "--m", "3", "--fan", "2", "--count", "2", "--seed", "5", "--format", "jsonl").out
    for args in (
        ["--hops=2", "--m=3", "--fan=2", "--count=2", "--seed=5", "--format=jsonl"],
        ["--m", "3", "--fan", "2", "-n", "2", "--seed", "5", "--format", "jsonl", "--"],
        ["-qn2", "--m", "3", "--fan", "2", "--seed", "5", "--format", "jsonl"],
        ["-n", "9", "--m", "3", "--fan", "2", "--seed", "5", "--format", "jsonl", "--count", "2"],
    ):
        check(good("task", *args).out == want, why=str(args))


@case
def options_may_follow_the_operand_and_two_dashes_end_them():
    one_line(hopbound("run", "nowhere", "--json"), 1, r"run: nowhere")
    one_line(hopbound("run", "--json", "--", "--nowhere"), 1, r"run: --nowhere")
    one_line(hopbound("run", "--", "a", "b"), 2, r"run: b: one operand")
