"""The library's tables: every verb with what it takes and what it answers."""
import functools
import json

from ._library import lib, taken


@functools.lru_cache(maxsize=None)
def verbs():
    """{"bound": {"summary", "operand", "takes": [..], "answers": [..], ..}, ..} of this library."""
    return json.loads(taken(lib.hopflat_verbs()))


def operand_of(table):
    """"[PATH..]" is ("path", False, True): its name, whether it must be given, whether there may be several."""
    word = table.get("operand")
    return word and ("".join(c for c in word if c.isalpha()).lower(), word[0] != "[", ".." in word)
