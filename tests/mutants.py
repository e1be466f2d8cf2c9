#!/usr/bin/env python3
"""Weakens one rule of the prover at a time and says which test catches it.

    tests/mutants.py BUILD                every mutant of mutants.txt; exit 1 if one survives
    tests/mutants.py BUILD --sample       only those marked * there (and that all texts are found)
    tests/mutants.py BUILD WORD..         only those whose file or rule has one of the words
    tests/mutants.py BUILD --named        only the tests that the table names for a mutant
    tests/mutants.py BUILD --baseline     the tests themselves, linked like mutants but with nothing changed

The tree is not touched: the weakened file is compiled by itself, with the build's own flags, and linked before the
library, whose object of the same names is then not taken. Tests run one after the other, those that the table names
first, then by how long they take; the first that fails has caught the mutant. What does not compile or link, and a
text that does not stand in its file exactly once, is an error."""
import argparse, json, os, pathlib, re, shlex, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# By how long they take, quickest first; `make check` runs them all on what is not weakened.
TESTS = """prove_tools arith prove_charges prove_charged_scans hf_network prove_transfers prove_turned prove_weighed maps attended wired
           prove_readings linear_stack cot prove_head_gains enumeration prove_contained prove_false_proofs prove_walks prove_scaled prove_forged
           prove_sets prove_messages two_sum_edges prove_two_sum mixed prove_edges clipped shaped full encoder""".split()
PATIENCE = 300  # seconds of a test

class Broken(Exception):
    pass

def read_table(path):
    """Blocks of a head `[* ]file | the rule | tests`, lines `- ` of what stands there and `+ ` of what shall."""
    mutants = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line[:2] in ("- ", "+ "):
            mutants[-1]["old" if line[0] == "-" else "new"].append(line[2:])
            continue
        file, rule, tests = (part.strip() for part in line.removeprefix("*").split("|"))
        mutants.append(dict(line=number, sample=line[0] == "*", file=file, rule=rule, tests=tests.split(), old=[], new=[]))
    return mutants

def weakened(m):
    """The file's text with the rule weakened. Where lines are broken, and by how much they are indented, does not count."""
    text, old = (ROOT / m["file"]).read_text(), "\n".join(m["old"])
    found = list(re.finditer(r"\s+".join(map(re.escape, old.split())), text)) if old.strip() else []
    if len(found) != 1:
        raise Broken(f"mutants.txt:{m['line']}: {len(found)} times in {m['file']}, not once: {old}")
    return text[:found[0].start()] + "\n".join(m["new"]) + text[found[0].end():]

class Builder:
    def __init__(self, build, room):
        self.build, self.room = pathlib.Path(build).resolve(), room
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.compile = {os.path.realpath(self.build / c["file"]): shlex.split(c["command"]) for c in commands}
        self.links, self.environment = {}, dict(os.environ, HOPBOUND_TEST_TMP=str(room), CMOCKA_MESSAGE_OUTPUT="STDOUT",
                                                HOPBOUND_TEST_DATA=str(ROOT / "tests/data"))

    def run(self, command, what):
        done = subprocess.run(command, cwd=self.build, capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"{what}:\n{done.stderr[-2000:]}")

    def object_of(self, source, copy, headers):
        """Compiles `copy` as the build does `source`; `headers` is looked into before all other directories."""
        command, out = list(self.compile[str(source)]), self.room / (source.stem + ".o")
        at = command.index("-o")
        command[at + 1], command[command.index("-c") + 1] = str(out), str(copy)
        for flag in ("-MD", "-MQ", "-MF"):
            if flag in command:
                i = command.index(flag)
                del command[i:i + (1 if flag == "-MD" else 2)]
        self.run(command + ["-w", "-iquote", str(headers), "-iquote", str(source.parent)], f"{source.name} does not compile")
        return str(out)

    def objects(self, m, text):
        """What takes the place of the library's objects, and the directory with the weakened header if it is one."""
        source, headers = ROOT / m["file"], self.room / "source"
        shutil.rmtree(headers, ignore_errors=True)
        headers.mkdir()
        if source.suffix == ".c":
            (headers / source.name).write_text(text)
            return [self.object_of(source, headers / source.name, headers)], None
        for other in source.parent.iterdir():  # who includes it looks beside itself first
            if other.suffix in (".c", ".h"):
                shutil.copy(other, headers)
        (headers / source.name).write_text(text)
        users = [s for s in sorted(source.parent.glob("*.c")) if str(s) in self.compile]
        return [self.object_of(s, headers / s.name, headers) for s in users], headers

    def test(self, name, objects, headers):
        """Links test_NAME with these objects and runs it. Returns what it said if it failed, else None."""
        if name not in self.links:
            said = subprocess.run(["ninja", "-t", "commands", f"tests/test_{name}"], cwd=self.build, capture_output=True, text=True)
            self.links[name] = shlex.split(said.stdout.splitlines()[-1])
        command, out = list(self.links[name]), self.room / f"test_{name}"
        command[command.index("-o") + 1] = str(out)
        first = next(i for i, part in enumerate(command) if part.endswith(".o"))
        if headers:
            source = ROOT / f"tests/test_{name}.c"
            command[first] = self.object_of(source, source, headers)
        command[first + 1:first + 1] = objects
        self.run(command, f"test_{name} does not link")
        try:
            done = subprocess.run([str(out)], cwd=self.room, env=self.environment, capture_output=True, text=True, errors="replace",
                                  timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return f"more than {PATIENCE} s"
        if done.returncode == 0:
            return None
        failed = re.findall(r"\[  FAILED  \] (?:\w+: )?(\w+)", done.stdout)
        return failed[0] if failed else f"exit {done.returncode}"

def try_mutant(builder, m, named):
    """Which test catches it and how; None: none does."""
    objects, headers = builder.objects(m, weakened(m))
    for name in m["tests"] + [t for t in TESTS if t not in m["tests"] and not named]:
        how = builder.test(name, objects, headers)
        if how:
            return name, how
    return None

def baseline(builder):
    """Every test must pass when a file is replaced by itself: else it would catch anything."""
    m = dict(file="src/prove/set.c")
    objects, headers = builder.objects(m, (ROOT / m["file"]).read_text())
    bad = [f"test_{t} fails with nothing changed: {how}" for t in TESTS if (how := builder.test(t, objects, headers))]
    print(*bad, f"baseline: {len(TESTS)} tests, {len(bad)} fail", sep="\n")
    return bool(bad)

def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build")
    arguments.add_argument("word", nargs="*")
    arguments.add_argument("--sample", action="store_true")
    arguments.add_argument("--named", action="store_true")
    arguments.add_argument("--baseline", action="store_true")
    o = arguments.parse_intermixed_args()
    mutants = read_table(ROOT / "tests/mutants.txt")
    survived, caught, broken = 0, 0, 0
    with tempfile.TemporaryDirectory() as room:
        builder = Builder(o.build, pathlib.Path(room))
        if o.baseline:
            return baseline(builder)
        for m in mutants:
            began, name = time.monotonic(), f"{m['file']}: {m['rule']}"
            try:
                weakened(m)  # of every mutant: a table whose texts are gone says nothing
                if o.sample and not m["sample"] or o.word and not any(w in name for w in o.word):
                    continue
                found = try_mutant(builder, m, o.named)
            except Broken as e:
                broken += 1
                print(f"BROKEN    {name}\n{e}", flush=True)
                continue
            caught, survived = caught + bool(found), survived + (not found)
            by = f"caught    {time.monotonic() - began:5.1f} s  {name}  [{': '.join(found)}]" if found else f"SURVIVED           {name}"
            print(by, flush=True)
    print(f"mutants: {len(mutants)} in the table, {caught + survived} tried, {caught} caught, {survived} survived, {broken} broken")
    return survived + broken > 0 or caught == 0

sys.exit(main())
