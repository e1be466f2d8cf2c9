#!/usr/bin/env python3
"""Writes the package's type stubs, __init__.pyi and answers.pyi, from the library's tables: stubs.py LIBRARY DIRECTORY.
What is no verb and no answer is taken from the modules themselves."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # the source tree stays clean
os.environ["HOPBOUND_LIBRARY"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from hopbound import _tables, _network, _verbs, answers  # noqa: E402

TYPES = {"true or false": "bool", "true, false or null": "bool | None", "an integer": "int", "a number": "float",
         "a text": "str", "an integer; a text where it has more than 18 digits": "int | str",
         "a list of integers": "list[int]", "a list of numbers": "list[float]", "a list of texts": "list[str]",
         "a list of integers, texts beyond 18 digits": "list[int | str]", "JSON of its own": "Any"}
HEAD = '# Written by python/stubs.py from the library\'s tables.\nfrom __future__ import annotations\n\nimport os\n' \
       'from collections.abc import Mapping, Sequence\nfrom typing import Any, Literal\n\n'


def type_of(member):
    """A member as Python's types have it; None, too, where the table does not exclude it."""
    if "record" in member:
        name = answers.class_name(member["record"])
        return f"list[{name}]" if member["type"].startswith("a list") else f"{name} | None"
    if "words" in member:
        return "Literal[" + ", ".join(map(repr, member["words"])) + "]"
    found = TYPES[member["type"]]
    return found if found in ("bool", "Any") or found.endswith("None") else found + " | None"


def records():
    """{class: its members}, those of members before those that have them."""
    found = {}

    def add(name, members):
        for m in members:
            if "record" in m:
                add(answers.class_name(m["record"]), m["members"])
        found.setdefault(name, members)

    for verb in _tables.verbs():
        for name, members in answers.names_of(verb):
            add(name, members)
    return found


def answers_stub():
    out = [HEAD, "class Answer:\n    exit_code: int\n    def to_dict(self) -> dict[str, Any]: ...\n"
           "    def rows(self) -> list[dict[str, Any]]: ...\n    def to_pandas(self) -> Any: ...\n"
           "    def _repr_html_(self) -> str: ...\n"]
    for name, members in records().items():
        out.append(f"\nclass {name}(Answer):\n" + "".join(
            f"    @property\n    def {answers.python_name(m['name'])}(self) -> {type_of(m)}: ...\n" for m in members))
    return "".join(out)


def taken(parameters):
    """A function's parameters, with a * before those that go by name only."""
    out, star = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star:
            out, star = out + ["*"], True
        must = p.default is p.empty
        out.append(f"{p.name}: {p.annotation}" + ("" if must else " = ..." if "None" in p.annotation else " | None = ..."))
    return ", ".join(out)


def verb_stub(verb, indent="", method=False):
    parameters = _verbs.parameters(verb)
    head = "self" + (", " if len(parameters) > 1 else "") if method else ""
    result = " | ".join(f"_answers.{name}" for name, _ in answers.names_of(verb))
    return f"{indent}def {verb}({head}{taken(parameters[1:] if method else parameters)}) -> {result}: ...\n"


def init_stub():
    out = [HEAD, "from . import answers as answers, answers as _answers, errors as errors, _network as _network, "
           "testing as testing\n"
           "from ._verbs import ask as ask, schema as schema\n"
           "from .errors import BadFile as BadFile, BadQuestion as BadQuestion, Error as Error, FileError as FileError, "
           "OutOfMemory as OutOfMemory, Stopped as Stopped\n"
           "from ._task import Instance as Instance, Task as Task\n\n__version__: str\n\n"]
    out += [verb_stub(v) for v in _tables.verbs()]
    out.append("\nclass Network(_network.Network):\n    built: _answers.BuildAnswer\n")
    out += [verb_stub(v, "    ", True) for v in _tables.verbs() if _network.takes_network(v)]
    return "".join(out)


where = pathlib.Path(sys.argv[2])
(where / "__init__.pyi").write_text(init_stub())
(where / "answers.pyi").write_text(answers_stub())
