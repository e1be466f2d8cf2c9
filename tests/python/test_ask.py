"""Verbs as functions: signatures, answers, errors."""
import ast
import inspect
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

import hopbound
from hopbound import _network, _tables, _verbs, answers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "tests/data/configs/qwen3-next-80b-a3b.json"


class Verbs(unittest.TestCase):
    def test_every_verb_is_a_function_with_its_options_and_help(self):
        for verb, table in hopbound.schema().items():
            function = getattr(hopbound, verb)
            names = inspect.signature(function).parameters
            for option in table["takes"]:
                name = answers.python_name(option["name"])
                self.assertTrue(name in names or option["name"] in (table["operand"] or "").lower(), (verb, name))
                self.assertIn(name + " : ", function.__doc__)
            for member in table["answers"]:
                self.assertIn(f"    {answers.python_name(member['name'])}: ", function.__doc__)
            self.assertIn(verb, dir(hopbound))

    def test_an_answer_has_the_members_that_the_program_prints(self):
        answer = hopbound.bound(pattern="(gdn^3 F)^12", hops=8, n="128k")
        said = subprocess.run([os.environ["HOPBOUND_PROGRAM"], "bound", "--pattern", "(gdn^3 F)^12", "--hops", "8", "--n", "128k",
                               "--json"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(answer.to_dict(), json.loads(said))
        self.assertEqual(answer.n, 131072)
        self.assertEqual([r.id for r in answer.results], [r["id"] for r in json.loads(said)["results"]])
        self.assertIsInstance(answer.results[0], answers.BoundResult)
        self.assertIn("P10", answer._repr_html_())
        self.assertEqual(pickle.loads(pickle.dumps(answer)), answer)
        with self.assertRaises(AttributeError):
            answer.verdicts

    def test_a_model_is_audited_by_path_by_dictionary_and_by_object(self):
        class Config:  # as transformers has them
            def to_json_string(self):
                return CONFIG.read_text()

            def to_dict(self):
                raise AssertionError("dtypes are no JSON")

        by_path = hopbound.audit(CONFIG)
        self.assertEqual(by_path.plan, "(LLLF)x12")
        for other in (json.loads(CONFIG.read_text()), Config()):
            self.assertEqual(hopbound.audit(other).hops.to_dict(), by_path.hops.to_dict())
        table = hopbound.audit([CONFIG, CONFIG], table=True)
        self.assertEqual(len(table.rows()), 2)
        self.assertIsInstance(table, answers.ModelsAnswer)

    def test_members_that_are_words_of_python_have_a_line_behind(self):
        self.assertIn("from_", dir(answers.DamageChange))

    def test_what_goes_wrong_is_one_line_and_of_its_kind(self):
        for kind, call in ((hopbound.BadQuestion, lambda: hopbound.bound(pattern="x(")),
                           (ValueError, lambda: hopbound.plan(hops=0, n=10)),
                           (hopbound.FileError, lambda: hopbound.audit("/no/such/model")),
                           (OSError, lambda: hopbound.prove("/no/such/network")),
                           (TypeError, lambda: hopbound.separate(3)),
                           (TypeError, lambda: hopbound.bound(pattern="F", hopps=3)),
                           (hopbound.BadQuestion, lambda: hopbound.ask("bounds", {}))):
            with self.assertRaises(kind) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
            self.assertGreater(len(str(caught.exception)), 5)

    def test_stubs_name_every_verb_option_and_member(self):
        with tempfile.TemporaryDirectory() as where:
            subprocess.run([sys.executable, ROOT / "python/stubs.py", os.environ["HOPBOUND_LIBRARY"], where], check=True)
            module = ast.parse(pathlib.Path(where, "__init__.pyi").read_text())
            of_answers = ast.parse(pathlib.Path(where, "answers.pyi").read_text())
        functions = {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}
        classes = {c.name: c for c in of_answers.body if isinstance(c, ast.ClassDef)}
        for verb, table in hopbound.schema().items():
            named = functions[verb].args
            self.assertEqual([a.arg for a in named.args + named.kwonlyargs], [p.name for p in _verbs.parameters(verb)])
            members = {f.name for f in classes[verb.capitalize() + "Answer"].body}
            self.assertEqual(members, {answers.python_name(m["name"]) for m in table["answers"]})
        methods = {f.name for c in module.body if isinstance(c, ast.ClassDef) for f in c.body if isinstance(f, ast.FunctionDef)}
        self.assertEqual(methods, {v for v in _tables.verbs() if _network.takes_network(v)})

    def test_two_thousand_random_bad_calls_raise(self):
        ended = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=500)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        self.assertGreaterEqual(int(ended.stdout.split()[0]), 2000)

    def test_the_program_is_run_by_m(self):
        for arguments in (["--version"], ["bound", "--pattern", "F F", "--hops", "1", "--json"], ["bound", "--pattern", "("]):
            ours, program = (subprocess.run([*command, *arguments], capture_output=True, text=True)
                             for command in ([sys.executable, "-m", "hopbound"], [os.environ["HOPBOUND_PROGRAM"]]))
            self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (program.returncode, program.stdout, program.stderr))


NASTY = [None, -1, 0, 2**63, 2**200, 1e400, float("nan"), "", " ", "(", "\0", "\ud800", "x" * 100000, "F^9999999999", [], [[]], {},
         {"a": {}}, [None], [-1, 2**70], object(), b"\xff", True, "10^10^10", "../..", "/dev/null", "/", lambda: 0, 3.5, "-", "é"]


def bad_calls(count):
    """So many random calls, none of which asks anything sensible: returns how many raised. The rest answered, which is fine."""
    rng, raised = random.Random(int(sys.argv[1]) if sys.argv[1:] else 24), 0
    net = hopbound.Network.build("full", hops=1, m=2)
    task = hopbound.Task(hops=2, m=2, fan=2)
    methods = [net.logits, net.hidden, net.save, net.answer, task.answers, task.sample, task.batch, hopbound.Network, hopbound.Task,
               hopbound.Network.load, net.weights.__getitem__, hopbound.Task.from_dict, net.prove, net.damage, net.refute]
    verbs = list(hopbound.schema())
    while raised < count:
        verb = rng.choice(verbs)
        names = [p.name for p in _verbs.parameters(verb) if p.name != "progress"]
        options = {rng.choice(names): rng.choice(NASTY) for _ in range(rng.randint(1, 4))}
        target = rng.choice(methods) if rng.random() < 0.4 else getattr(hopbound, verb)
        args = [rng.choice(NASTY) for _ in range(rng.randint(0, 3))]
        try:
            target(*args, **(options if rng.random() < 0.7 else {}))
        except (hopbound.Error, TypeError, KeyError, ValueError, OSError, AttributeError, MemoryError) as why:
            assert isinstance(why, hopbound.Error) or type(why) in (TypeError, KeyError), (target, args, options, repr(why))
            raised += 1
    return raised


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        os.chdir(where)
        print(bad_calls(2000), "calls raised")
