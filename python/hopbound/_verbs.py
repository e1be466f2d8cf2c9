"""A Python function for each verb that the library has, made from its tables: name, signature, docstring, answer."""
import inspect
import json
import os
import textwrap
from collections.abc import Mapping
from ctypes import byref, c_int, c_void_p

from . import _calls, answers
from ._library import failed, lib, taken
from ._tables import operand_of, verbs

KINDS = {"flag": bool, "integer": "int | str", "number": "float | str", "text": str, "choice": str, "object": "dict",
         "integers": "int | str | list[int]"}
_NO = inspect.Parameter.empty


def _is_config(value):
    return isinstance(value, Mapping) or (hasattr(value, "to_dict") and not hasattr(value, "__array__"))


def _plain(value):
    """As JSON has it. Paths become texts; a configuration object what it says of itself; numbers of numpy and torch
    numbers."""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if hasattr(value, "to_json_string"):
        return json.loads(value.to_json_string())
    if _is_config(value):
        return _plain(value.to_dict())
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, range, set)):
        return [_plain(v) for v in value]
    if hasattr(value, "__index__"):
        return value.__index__()
    return str(value)


def ask(verb, question, progress=None):
    """Asks a verb with a question as a dictionary; the answer is an object of `hopbound.answers`. This is what all the
    functions of the verbs do. `exit_code` of the answer is the program's: 0 done, 10 a counter-example, 30 undecided."""
    text = json.dumps(_plain(question)).encode()
    out, code = c_void_p(), c_int()
    status = _calls.run(lambda w: lib.hopflat_ask(verb.encode(), text, w, byref(out), byref(code)), progress)
    said = taken(out.value)
    if status:
        raise failed(status, said, verb + ": ")
    return answers.of_verb(verb, json.loads(said), code.value)


def parameters(verb):
    """What a verb's function takes: [inspect.Parameter], the operands first, then what must be given, then the rest."""
    table = verbs()[verb]
    first, named = [], []

    def parameter(name, must, annotation):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if must or not named else inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, kind, default=_NO if must else None, annotation=annotation)

    operand = operand_of(table)
    if operand:
        name, must, many = operand
        config = any(o["kind"] == "object" for o in table["takes"])
        annotation = "str | os.PathLike" + (" | Sequence[str]" if many else "") + (" | dict | Any" if config else "")
        first.append(parameter(name, must, annotation))
        if table.get("second"):
            second = "".join(c for c in table["second"] if c.isalpha()).lower()
            first.append(parameter(second, table["second"][0] != "[", "str | os.PathLike"))
    options = sorted(table["takes"], key=lambda o: not o["required"])  # stable: in the table's order
    if not operand:
        first += [parameter(answers.python_name(o["name"]), True, _annotation(o)) for o in options if o["required"]]
    taken_already = {p.name for p in first}
    for o in options:
        name = answers.python_name(o["name"])
        if name not in taken_already:
            named.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=_annotation(o),
                                           default=_NO if o["required"] else None))
    named.append(inspect.Parameter("progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="bool | None"))
    return first + named


def _annotation(option):
    kind = KINDS[option["kind"]]
    if option["kind"] == "choice":
        return "Literal[" + ", ".join(repr(c) for c in option["choices"]) + "]"
    return kind if isinstance(kind, str) else kind.__name__


def docstring(verb):
    """The verb's help, with a paragraph for each option and each member of the answer."""
    table = verbs()[verb]
    lines = [table["summary"][0].upper() + table["summary"][1:] + ".", ""]
    for paragraph in (table["description"] or "").split("\n\n"):
        lines += textwrap.wrap(paragraph, 100) + [""]
    lines += ["Parameters", "----------"]
    for o in table["takes"]:
        default = o["default"] or o["default_is"]
        lines.append(f"{answers.python_name(o['name'])} : {_annotation(o)}")
        lines += textwrap.wrap(o["help"] + (f" (default: {default})" if default else ""), 96,
                               initial_indent="    ", subsequent_indent="    ")
    lines += ["progress : bool", "    show how far it is; by default before a person's eyes, after two seconds", "",
              "Returns", "-------"]
    when = [None] + [o["when"] for o in table.get("others", [])]
    for (name, members), where in zip(answers.names_of(verb), when):
        lines.append(f"hopbound.answers.{name}" + (f", {where[0].lower()}{where[1:]}" if where else ""))
        lines += [f"    {answers.python_name(m['name'])}: {m['doc']}" for m in members]
    return "\n".join(lines)


def function(verb):
    """The function hopbound.VERB."""
    table, signature = verbs()[verb], inspect.Signature(parameters(verb), return_annotation=answers.names_of(verb)[0][0])
    operand = operand_of(table)
    objects = [o["name"] for o in table["takes"] if o["kind"] == "object"]
    second = "".join(c for c in table["second"] if c.isalpha()).lower() if table.get("second") else None
    dashed = {answers.python_name(o["name"]): o["name"] for o in table["takes"]}

    def call(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        progress = given.pop("progress", None)
        operands = []
        if operand:
            value = given.pop(operand[0], None)
            if objects and _is_config(value):
                given[objects[0]] = value
            elif value is not None:
                operands += value if isinstance(value, (list, tuple)) else [value]
        if second and given.get(second) is not None:
            operands.append(given.pop(second))
        question = {dashed.get(k, k): v for k, v in given.items() if v is not None}
        if operands:
            question["operands"] = [os.fspath(p) if hasattr(p, "__fspath__") else str(p) for p in operands]
        return ask(verb, question, progress)

    call.__name__ = call.__qualname__ = verb
    call.__module__ = "hopbound"
    call.__signature__ = signature
    call.__doc__ = docstring(verb)
    return call


def schema(verb=None):
    """What the library says of its verbs, or of one: {"summary", "takes": [{"name", "kind", "default", "help", ..}],
    "answers": [{"name", "type", "unit", "doc", ..}], ..}. Signatures, docstrings and answers are made from it."""
    return verbs() if verb is None else verbs()[verb]
