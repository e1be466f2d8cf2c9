"""What the CLI tests share: running the program, judging what came out, registering cases."""
import json, os, re, shutil, subprocess, sys, tempfile, traceback

PROGRAM = None
CASES = []
TIMEOUT = 300
DATA = os.environ.get("HOPBOUND_TEST_DATA") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")


class Skip(Exception):
    """A case that cannot run here; says why."""


def case(function):
    """Registers a test; its name, read with blanks, is the sentence it tests."""
    CASES.append(function)
    return function


class Result:
    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    def __repr__(self):
        return f"hopbound {' '.join(self.args)}\n  exit {self.code}\n  out {self.out[:600]!r}\n  err {self.err[:600]!r}"


def hopbound(*args, stdin=b"", env=None, **kw):
    """Runs it to the end; out and err as text."""
    args = [str(a) for a in args]
    if isinstance(stdin, str):
        stdin = stdin.encode()
    kw.setdefault("stdout", subprocess.PIPE)
    p = subprocess.run([PROGRAM, *args], input=stdin, stderr=subprocess.PIPE, timeout=TIMEOUT,
                       env={**os.environ, **(env or {})}, **kw)
    return Result(args, p.returncode, (p.stdout or b"").decode(), p.stderr.decode())


def check(condition, result=None, why=""):
    if not condition:
        raise AssertionError(f"{why}\n{result!r}" if result is not None else why)


def one_line(result, code, pattern):
    """Failed with `code`, nothing on stdout, exactly one line on stderr that matches."""
    check(result.code == code, result, f"wanted exit {code}")
    check(result.out == "", result, "wanted nothing on stdout")
    lines = result.err.splitlines()
    check(len(lines) == 1 and result.err.endswith("\n"), result, "wanted one line on stderr")
    check(re.match(r"hopbound: ", lines[0]) and re.search(pattern, lines[0]), result, f"wanted {pattern!r}")


def good(*args, code=0, **kw):
    r = hopbound(*args, **kw)
    check(r.code == code, r, f"wanted exit {code}")
    return r


def good_json(*args, keys=(), code=0, **kw):
    """The object printed; checks that it is the only thing on stdout and has the keys."""
    r = good(*args, "--json", code=code, **kw)
    check(r.out.endswith("\n") and r.out.count("\n") == 1, r, "wanted one line")
    value = json.loads(r.out)
    check(isinstance(value, dict), r, "wanted an object")
    check(set(keys) <= set(value), r, f"missing {set(keys) - set(value)}")
    return value


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def write(path, text):
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


def read(path):
    with open(path, "rb") as f:
        return f.read()


def main():
    global PROGRAM
    if len(sys.argv) < 2:
        sys.exit("usage: run.py PATH_TO_HOPBOUND [PART OF A CASE'S NAME, OR A FILE OF CASES]")
    PROGRAM = os.path.abspath(sys.argv[1])
    wanted = [c for c in CASES if len(sys.argv) < 3 or sys.argv[2] in c.__name__ or sys.argv[2] == c.__module__]
    passed = failed = skipped = 0
    for function in wanted:
        name = function.__name__.replace("_", " ")
        home = tempfile.mkdtemp(prefix="hopbound-cli-")
        os.chdir(home)
        try:
            function()
            passed += 1
            print(f"ok    {name}")
        except Skip as why:
            skipped += 1
            print(f"skip  {name}: {why}")
        except Exception:
            failed += 1
            print(f"FAIL  {name}\n{traceback.format_exc()}")
        finally:
            os.chdir("/")
            shutil.rmtree(home, ignore_errors=True)
        sys.stdout.flush()
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)
