"""hopbound: how many hops can an architecture make in one forward pass, and how many full-attention layers does that take?

    >>> import hopbound
    >>> hopbound.bound(pattern="(gdn^3 F)^12", hops=8, n="128k").answer
    >>> net = hopbound.Network.build("full", hops=2, m=4, fan=2)
    >>> net.prove().verdict
    'proved'

Every verb of the program is a function here, with the library's own tables as signature and docstring; answers are objects
(`hopbound.answers`). Networks are `Network`, inputs `Task`. `hopbound.torch` has the recurrences as operators of PyTorch,
`hopbound.testing` what tests of models need. See docs/PYTHON.md.
"""
from . import _tables, errors
from ._library import lib as _lib
from .errors import BadFile, BadQuestion, Error, FileError, OutOfMemory, Stopped

__version__ = _lib.hopflat_version().decode()

_OTHERS = {"Network": "_network", "Task": "_task", "Instance": "_task", "ask": "_verbs", "schema": "_verbs"}
__all__ = ["BadFile", "BadQuestion", "Error", "FileError", "Instance", "Network", "OutOfMemory", "Stopped", "Task",
           "answers", "ask", "errors", "schema", "testing"]


def __getattr__(name):  # what is not asked for is not imported
    import importlib
    if name in _OTHERS:
        found = getattr(importlib.import_module("." + _OTHERS[name], __name__), name)
    elif name in ("answers", "testing", "torch"):
        return importlib.import_module("." + name, __name__)
    elif not name.startswith("_") and name in _tables.verbs():
        from . import _verbs
        found = _verbs.function(name)
    else:
        raise AttributeError(f"module 'hopbound' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return sorted({*__all__, *_tables.verbs(), "torch", "__version__"})
