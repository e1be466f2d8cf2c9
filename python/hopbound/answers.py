"""What verbs answer: a class for each record of the library's tables, with its members as attributes. `PlanAnswer` is what
`plan` answers, `PlanRow` one of its plans; all are made from the tables when they are first asked for."""
import html
import keyword

from . import _tables

_ROWS_SHOWN = 100  # of a table in a notebook


def python_name(name):
    """A member's or option's name as Python can write it: `from` is `from_`, `d-model` is `d_model`."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def class_name(record):
    """hop_plan_row: PlanRow."""
    return "".join(part.capitalize() for part in record.removeprefix("hop_").split("_"))


class Answer:
    """One record. Members are attributes; `to_dict` is the JSON that the program prints."""

    __slots__ = ("_data", "exit_code")
    _members = {}  # name in JSON: the table's line
    _rows = None   # the list that tables show

    def __init__(self, data, exit_code=0):
        self._data, self.exit_code = data, exit_code

    def to_dict(self):
        """The same as plain dictionaries, lists, numbers and texts."""
        return self._data

    def rows(self):
        """The records of the answer's list, as dictionaries; an answer without one is one row."""
        if self._rows and isinstance(self._data.get(self._rows), list):
            return self._data[self._rows]
        return [self._data]

    def to_pandas(self):
        """`rows` as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("hopbound: to_pandas needs pandas, which is not installed") from None
        return pandas.DataFrame(self.rows())

    def __eq__(self, other):
        return type(self) is type(other) and self._data == other._data

    __hash__ = None

    def __reduce__(self):
        return _again, (type(self).__name__, self._data, self.exit_code)

    def __repr__(self):
        parts = []
        for name in self._members:
            value = self._data.get(name)
            if value is None or isinstance(value, dict):
                continue
            if isinstance(value, list):
                value = f"<{len(value)}>" if value else "[]"
            else:
                value = repr(value) if len(repr(value)) < 80 else repr(value)[:76] + "..'"
            parts.append(f"{python_name(name)}={value}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self):
        return _html_of(self)


def _again(name, data, exit_code):
    return by_name(name)(data, exit_code)


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(_cell(v) for v in value) if len(value) < 10 else f"{len(value)} of them"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_cell(v)}" for k, v in value.items() if v is not None)
    if isinstance(value, bool):
        return "true" if value else "false"
    return html.escape(f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else value)


def _html_of(answer):
    members = answer._members
    plain = [(n, answer._data.get(n)) for n in members if n != answer._rows and "record" not in members[n]]
    out = ["<table>"]
    out += [f'<tr><th style="text-align:left" title="{html.escape(members[n]["doc"], quote=True)}">{html.escape(n)}</th>'
            f'<td style="text-align:left">{_cell(v)}</td></tr>' for n, v in plain if v not in (None, [], "")]
    out.append("</table>")
    rows = answer._data.get(answer._rows) if answer._rows else None
    if rows:
        heads = [n for n in rows[0] if any(row.get(n) not in (None, [], "") for row in rows)]
        out.append("<table><tr>" + "".join(f"<th>{html.escape(n)}</th>" for n in heads) + "</tr>")
        out += ["<tr>" + "".join(f'<td style="text-align:left">{_cell(row.get(n))}</td>' for n in heads) + "</tr>"
                for row in rows[:_ROWS_SHOWN]]
        out.append("</table>" + (f"<p>{len(rows):,} rows in all</p>" if len(rows) > _ROWS_SHOWN else ""))
    return "".join(out)


# ---- classes, from the tables ------------------------------------------------------------------

_classes = {}


def _member(line):
    name, record = line["name"], line.get("record")
    nested = _class_of(class_name(record), line["members"]) if record else None

    def get(self):
        value = self._data.get(name)
        if nested is None or value is None:
            return value
        return [nested(v) for v in value] if isinstance(value, list) else nested(value)

    unit = f" ({line['unit']})" if line.get("unit") else ""
    return property(get, doc=line["doc"] + unit)


def _class_of(name, lines, doc="One record of an answer.", rows=None):
    made = _classes.get(name)
    if made is None:
        space = {"__slots__": (), "__doc__": doc, "__module__": __name__, "_rows": rows,
                 "_members": {line["name"]: line for line in lines}}
        space.update((python_name(line["name"]), _member(line)) for line in lines)
        made = _classes[name] = type(name, (Answer,), space)
    return made


def names_of(verb):
    """The classes of a verb's answers, [(name, its lines)]: the usual one, then those where it answers otherwise."""
    table = _tables.verbs()[verb]
    found = [(verb.capitalize() + "Answer", table["answers"])]
    return found + [(class_name(o["record"]), o["answers"]) for o in table.get("others", [])]


def _answer_class(verb, name, lines):
    rows = _tables.verbs()[verb].get("rows")
    return _class_of(name, lines, f"What `{verb}` answers.", rows if any(m["name"] == rows for m in lines) else None)


def of_verb(verb, data, exit_code=0):
    """The answer to a verb as an object."""
    kinds = names_of(verb)
    name, lines = next((k for k in kinds if {line["name"] for line in k[1]} >= set(data)), kinds[0])
    return _answer_class(verb, name, lines)(data, exit_code)


def by_name(name):
    """The class of that name; AttributeError: there is none."""
    for verb in _tables.verbs():
        for kind, lines in names_of(verb):
            _answer_class(verb, kind, lines)
    if name in _classes:
        return _classes[name]
    raise AttributeError(f"hopbound has no answer called {name}")


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return by_name(name)


def __dir__():
    try:
        by_name("")
    except AttributeError:
        pass
    return sorted(["Answer", *_classes])
